//! Frames that find no room, and room that is freed and used again.

use drdma_abi::roce::operation;
use drdma_verilated::testbench::Random;

use super::frames::{self, Fate, Sent, check, frame};
use super::{Outcome, Pace, Wire, library};

/// Packets that can wait.
const PACKETS: usize = 512;

/// Frames of 65 words that an empty store takes: the last one begins while fewer than 1,976 are in use.
const FIT: u32 = 31;

/// A SEND whose payload begins with its number.
fn numbered(number: u32, payload: usize) -> Sent {
    let mut bytes = vec![0x5a; payload];
    bytes[..4].copy_from_slice(&number.to_le_bytes());
    Sent::good(frame(operation::SEND_ONLY, None, &[], &bytes))
}

/// The numbers of the frames that became packets.
fn numbers(outcome: &Outcome, sent: &[Sent]) -> Vec<usize> {
    let number = |frame: &[u8]| u32::from_le_bytes(frame[54..58].try_into().unwrap()) as usize;
    let numbers: Vec<usize> = outcome.packets.iter().map(|taken| number(&taken.frame)).collect();
    for (taken, number) in outcome.packets.iter().zip(&numbers) {
        check(taken, &sent[*number].bytes);
    }
    numbers
}

#[test]
fn a_full_store_drops_frames_and_stops_nobody() {
    let mut wire = Wire::new(&library(), 1, Pace { writer: 1.0, ..Pace::FAST });
    let mut sent: Vec<Sent> = (0..60).map(|k| numbered(k, 4096)).collect();
    let host = Sent { bytes: vec![9; 300], user: 6 };
    sent.insert(50, host.clone());
    let outcome = wire.pass(&sent);
    assert_eq!(outcome.stopped, 0);
    assert_eq!(outcome.host, [(host.bytes, 6)]);
    sent.remove(50);
    // The first ones are there, and stay as they were; for the others there was no room.
    let got = numbers(&outcome, &sent);
    assert_eq!(got, (0..got.len()).collect::<Vec<_>>());
    assert_eq!(got.len(), FIT as usize);
    assert_eq!(outcome.overrun, 60 - got.len() as u64);
    assert_eq!(outcome.dropped, outcome.overrun);
    // Words that are freed can be used again, and each frame is checked as it is freed.
    wire.pace.writer = 0.0;
    let outcome = wire.pass(&sent);
    assert!(wire.held.is_empty());
    assert!(outcome.overrun <= 2, "{} dropped", outcome.overrun);
}

/// While packets or acknowledgements find no room, frames for the card are dropped; the host's frames pass.
#[test]
fn a_full_queue_drops_the_cards_frames_and_stops_nobody() {
    for acks in [false, true] {
        let mut wire = Wire::new(&library(), 1, Pace { responder: 1.0, ..Pace::FAST });
        wire.bench.set("acks_roomy", !acks);
        let mut sent: Vec<Sent> =
            (0..700).map(|k| numbered(k, 4 + 60 * (k as usize % 3))).collect();
        let host = Sent { bytes: vec![9; 300], user: 6 };
        sent.insert(300, host.clone());
        sent.insert(600, host.clone());
        let outcome = wire.pass(&sent);
        assert_eq!(outcome.stopped, 0);
        assert_eq!(outcome.host, [(host.bytes.clone(), 6), (host.bytes, 6)]);
        assert_eq!(outcome.dropped, outcome.overrun);
        wire.pace.responder = 0.5;
        let rest = wire.settle();
        sent.remove(600);
        sent.remove(300);
        let got = numbers(&rest, &sent);
        assert_eq!(got.len() as u64 + outcome.overrun, 700, "each is there or counted");
        assert_eq!(got, (0..got.len()).collect::<Vec<_>>());
        let room = if acks { 0..1 } else { PACKETS - 16..PACKETS + 1 };
        assert!(room.contains(&got.len()), "{} packets", got.len());
        // There is room for acknowledgements again.
        wire.bench.set("acks_roomy", true);
        wire.run(3);
        let outcome = wire.pass(&sent[..50]);
        assert_eq!((numbers(&outcome, &sent).len(), outcome.dropped), (50, 0));
    }
}

/// Frames that are wrong take up no room, even if no right one ever follows.
#[test]
fn wrong_frames_leave_nothing_in_the_store() {
    let mut wire = Wire::new(&library(), 1, Pace::FAST);
    let mut wrong = numbered(0, 1000);
    wrong.bytes[200] ^= 1;
    let outcome = wire.pass(&vec![wrong.clone(); 1000]);
    assert_eq!((outcome.dropped, outcome.overrun, outcome.packets.len()), (1000, 0, 0));
    // Between right ones, some of which stay for long.
    let mut random = Random::new(3);
    for round in 0..20 {
        wire.pace.writer = [0.97, 0.5][round % 2];
        let sent: Vec<Sent> = (0..40)
            .map(|k| {
                let mut sent = numbered(k, 4 + random.below(1500) as usize);
                sent.bytes[58 + random.below(2) as usize] ^= random.below(2) as u8;
                sent
            })
            .collect();
        let outcome = wire.pass(&sent);
        assert_eq!(outcome.overrun, 0);
        let right: Vec<_> = sent.iter().filter(|f| frames::fate(f) == Fate::Packet).collect();
        assert_eq!(outcome.packets.len(), right.len());
        for (taken, sent) in outcome.packets.iter().zip(right) {
            check(taken, &sent.bytes);
        }
    }
    // As many long frames as an empty store takes.
    wire.pace.writer = 1.0;
    let sent: Vec<Sent> = (0..FIT).map(|k| numbered(k, 4096)).collect();
    assert_eq!(wire.pass(&sent).packets.len(), FIT as usize);
}

/// The host's reset drops the card's frames at every stage, and no other frames.
#[test]
fn the_hosts_reset_empties_store_and_queue_and_passes_the_hosts_frames() {
    let library = library();
    for length in 1..40 {
        let pace = Pace { responder: 1.0, writer: 1.0, ..Pace::FAST };
        let mut wire = Wire::new(&library, length, pace);
        let own: Vec<Sent> = (0..4).map(|k| numbered(k, 300)).collect();
        let host = Sent { bytes: vec![9; 700], user: 6 };
        let mut sent =
            vec![own[0].clone(), own[1].clone(), host.clone(), own[2].clone(), own[3].clone()];
        wire.send(&sent[..3]);
        wire.run(length);
        wire.bench.set("card_reset", 1_u64);
        wire.run(1);
        wire.offered = None;
        wire.run(3);
        wire.bench.set("card_reset", 0_u64);
        let outcome = wire.settle();
        assert_eq!(outcome.host, [(host.bytes, 6)], "a reset behind {length} cycles");
        assert_eq!(outcome.packets.len(), 0);
        // After the reset the block behaves as after power-up.
        wire.pace = Pace::FAST;
        sent.drain(..3);
        let left = wire.pass(&sent);
        assert_eq!(numbers(&left, &own).split_off(left.packets.len() - 2), [2, 3]);
    }
}
