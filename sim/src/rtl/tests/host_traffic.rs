//! The host's own Ethernet traffic shares the port with the card's.

use super::*;
use crate::{
    cards::rig::{CARD_IP, MAC, contiguous, send, to},
    rtl::mac::HostFrame,
};
use drdma_abi::{completion::Status, roce::Transport};
use drdma_semantics::{request::Request, testing::SIZE};
use drdma_verilated::testbench::Random;

/// A frame that is not the card's; some look much like it.
fn foreign(random: &mut Random, number: usize) -> Vec<u8> {
    let len = [60, 61, 63, 64, 65, 128, 1514, 60 + random.below(1400) as usize][number % 8];
    let mut frame = random.bytes(len);
    if number.is_multiple_of(3) {
        // UDP to port 4791, but of another host, or with IPv4 options, or TCP.
        frame[..6].copy_from_slice(&MAC.to_be_bytes()[2..]);
        frame[12..15].copy_from_slice(&[8, 0, 0x45]);
        frame[23] = 17;
        frame[30..34].copy_from_slice(&CARD_IP.to_be_bytes());
        frame[36..38].copy_from_slice(&4791_u16.to_be_bytes());
        match number / 3 % 5 {
            0 => frame[5] ^= 1,
            1 => frame[33] ^= 1,
            2 => frame[14] = 0x46,
            3 => frame[23] = 6,
            _ => frame[37] ^= 1,
        }
    }
    frame
}

#[test]
fn the_hosts_frames_pass_unharmed_while_the_card_sends_at_full_rate() {
    for (seed, stall) in [(1, 0.0), (2, 0.3)] {
        let pcie = pcie::Config { stall, seed, ..pcie::Config::default() };
        let mut rig = rig(pcie, 256);
        let mut random = Random::new(seed);
        let peer = rig.add_queue_pair(1, Transport::Rc, 0);
        rig.add_queue(1, Some(1));
        let regions = (0..8).map(|i| contiguous(i, SIZE as u32 - 8)).collect::<Vec<_>>();
        rig.post(1, &Request { rows_per_message: 3, ..send(1, vec![to(1, regions)]) });
        rig.progress(4);
        let frames: Vec<_> = (0..120).map(|number| foreign(&mut random, number)).collect();
        for (tag, frame) in (0..).zip(&frames) {
            rig.card.mac().send_as_host(frame.clone(), tag);
            rig.network.inject(frame.clone(), 0);
        }
        let before = rig.network.traffic().frames;
        let completion = rig.run_until_completed(1)[0];
        assert_eq!(completion.status, Status::Success as u8);
        rig.progress(20);

        let sent = (0..).zip(&frames).map(|(tag, bytes)| HostFrame { bytes: bytes.clone(), tag });
        assert_eq!(rig.card.mac().sent_by_host(), sent.collect::<Vec<_>>());
        let received: Vec<_> =
            rig.card.mac().received_by_host().into_iter().map(|frame| frame.bytes).collect();
        assert_eq!(received, frames);
        // A completion of one of the card's own frames would confuse the host's driver.
        assert_eq!(rig.card.mac().completed_to_host(), (0..120).collect::<Vec<_>>());
        assert!(rig.network.traffic().frames > before + 300, "the card was sending meanwhile");
        assert_eq!(rig.sent(peer).iter().map(Vec::len).sum::<usize>(), 8 * (SIZE as usize - 8));
        assert_eq!(rig.network.errors(), []);
    }
}
