//! Queue pairs that the host takes away, or makes anew, while the card works for them.

use super::*;
use crate::cards::rig::{CARD_IP, MAC, bytes, contiguous, send, to};
use drdma_abi::{
    completion::Status,
    register::{QUEUE_PAIRS, QueuePairEntry},
    roce::Transport,
};
use drdma_soft::wire::{Behaviour, PeerConfig, PeerId};
use drdma_verilated::testbench::Random;

/// Bytes of every request that is in progress when its queue pair is taken away.
const LONG: u32 = 9_000;
/// The transports of queue pairs 1 to 3.
const TRANSPORTS: [Transport; 3] = [Transport::Rc, Transport::Uc, Transport::Ud];

/// Queue pairs 1 to 3, each with the queue of its number, behind a MAC that is slower than the card.
fn slow(seed: u64) -> (Rig<RtlCard>, Vec<PeerId>) {
    let mut rig = rig(pcie::Config { seed, ..pcie::Config::default() }, 1);
    rig.card.mac().set_rate(4.0);
    let peers = (1..)
        .zip(TRANSPORTS)
        .map(|(index, transport)| {
            rig.add_queue(index, Some(index));
            rig.add_queue_pair(index, transport, 0xff_fff0)
        })
        .collect();
    (rig, peers)
}

/// Posts four requests to each queue pair: long ones, of many packets each.
fn work(rig: &mut Rig<RtlCard>) {
    for wr_id in 0..4 {
        for (qp, transport) in (1..).zip(TRANSPORTS) {
            let regions = match transport {
                Transport::Ud => (0..16).map(|k| contiguous(100 * k, 200)).collect(),
                _ => vec![contiguous(0, LONG)],
            };
            rig.write_request(qp, &send(wr_id * 10 + u64::from(qp), vec![to(qp, regions)]));
        }
    }
    (1..=3).for_each(|qp| rig.ring(qp));
}

/// A new peer, different from all before.
fn stranger(qp: u32, transport: Transport) -> PeerConfig {
    PeerConfig {
        mtu: 1024,
        start_psn: Some(0x1234),
        card_mac: Some(MAC),
        card_ip: Some(CARD_IP),
        ..PeerConfig::new(transport, 0x0200_0000_0099, 0x0a00_0099, qp + 0x900, qp + 0x800)
    }
}

/// Takes a queue pair away under traffic, or only gives it another peer, and checks the frames.
fn change(seed: u64) {
    let mut random = Random::new(seed);
    let (mut rig, peers) = slow(seed);
    work(&mut rig);
    rig.progress(random.below(12_000) as usize);
    let qp = 1 + random.below(3) as u32;
    let transport = TRANSPORTS[qp as usize - 1];
    if random.chance(0.7) {
        rig.write_entry(&QUEUE_PAIRS, qp, &QueuePairEntry::default());
        rig.progress(random.below(3_000) as usize);
    }
    // The transport may change as well.
    let other = TRANSPORTS[random.below(3) as usize];
    let transport = if random.chance(0.5) { other } else { transport };
    let new = rig.add_queue_pair_to(qp, 0x1234, stranger(qp, transport));
    rig.add_queue(qp, Some(qp));
    rig.post(qp, &send(99, vec![to(qp, vec![contiguous(3, 700)])]));
    rig.progress(random.below(4_000) as usize);
    rig.card.mac().set_rate(100.0);
    let mut ended: Vec<_> =
        rig.settle().iter().map(|completion| (completion.wr_id, completion.status)).collect();
    ended.sort_unstable();
    assert_eq!(rig.network.errors(), [], "seed {seed}");
    assert_eq!(rig.sent(new), [bytes(3, 700)], "seed {seed}: the new peer");
    assert_eq!(rig.network.messages(new)[0].psn, 0x1234, "seed {seed}");
    assert!(!rig.queue_pair_error(qp) && !rig.queue_halted(qp), "seed {seed}");
    assert!(ended.contains(&(99, 0)), "seed {seed}: {ended:?}");
    for other in (1..=3).filter(|other| *other != qp) {
        assert!((0..4).all(|k| ended.contains(&(k * 10 + u64::from(other), 0))), "seed {seed}");
        assert!(!rig.queue_pair_error(other), "seed {seed}");
    }
    // The messages of the old peer are whole and right.
    for message in rig.sent(peers[qp as usize - 1]) {
        let right = match TRANSPORTS[qp as usize - 1] {
            Transport::Ud => (0..16).any(|k| message == bytes(100 * k, 200)),
            _ => message == bytes(0, LONG as usize),
        };
        assert!(right, "seed {seed}");
    }
}

#[test]
fn a_queue_pair_that_changes_under_traffic_sends_nothing_to_nobody_or_to_its_new_peer() {
    (1..=16).for_each(change);
}

#[test]
fn a_shared_request_whose_queue_pair_goes_ends_with_a_flush_and_names_it() {
    for seed in 1..=8 {
        let mut random = Random::new(seed);
        let (mut rig, _) = slow(seed);
        rig.add_queue(4, None);
        let gone = 1 + random.below(2) as u32;
        let peers = rig.network.peers();
        if gone == 1 {
            // Packets are never acknowledged.
            rig.network.with_peer(peers[0], |peer| peer.set_behaviour(Behaviour::Dead));
        }
        let kept = 3 - gone;
        let list =
            vec![to(kept, vec![contiguous(9, 300)]), to(gone, vec![contiguous(0, 12_000); 6])];
        rig.post(4, &send(7, list));
        // The queue pair goes while packets leave, or wait for their acknowledgements on RC.
        rig.progress(2_500 + random.below(8_000) as usize);
        assert_eq!(rig.poll(), [], "seed {seed}");
        rig.write_entry(&QUEUE_PAIRS, gone, &QueuePairEntry::default());
        rig.card.mac().set_rate(100.0);
        rig.progress(40_000);
        if kept == 1 {
            assert_eq!(rig.sent(peers[0]), [bytes(9, 300)], "seed {seed}");
        }
        let ended = rig.poll();
        let ended: Vec<_> = ended.iter().map(|c| (c.wr_id, c.status, c.destination)).collect();
        assert_eq!(ended, [(7, Status::WrFlushError as u8, 1)], "seed {seed}");
        assert!(rig.queue_halted(4), "seed {seed}");
        assert!(!rig.queue_pair_error(kept) && !rig.queue_pair_error(gone), "seed {seed}");
        assert_eq!(rig.network.errors(), [], "seed {seed}");
        assert_eq!(rig.get(&drdma_abi::register::STATUS), 0, "seed {seed}: the card is idle");
    }
}
