//! Frames of every kind and frames that were damaged in every way: each is accounted for.

use super::frames::{self, Fate, Sent};
use super::{Pace, Wire, library};
use drdma_verilated::testbench::Random;

/// Number of random frames, unless `DRDMA_TEST_FRAMES` gives it.
const FRAMES: u64 = 100_000;
/// Frames of a run: fewer than packets that can wait.
const BATCH: u64 = 400;

/// Damages a frame in one place or several.
fn damage(frame: &mut Vec<u8>, random: &mut Random) {
    let link = frames::link(frame);
    for _ in 0..=random.below(3) {
        let len = frame.len() as u64;
        if len < 2 {
            return;
        }
        let at = match random.below(10) {
            // A bit anywhere, or in the headers.
            0 | 1 => random.below(len) as usize,
            2..=4 => random.below(len.min(90)) as usize,
            // The frame is cut, or made longer.
            5 => {
                frame.truncate(1 + random.below(len) as usize);
                continue;
            }
            6 => {
                frame.truncate(1 + random.below(len.min(100)) as usize);
                continue;
            }
            7 => {
                let more = random.below(300) as usize;
                frame.extend(random.bytes(more));
                continue;
            }
            // Lengths that nearly fit.
            8 => {
                for at in [link + 2, link + 24] {
                    if let Some(low) = frame.get_mut(at + 1) {
                        *low = low.wrapping_add([1, 2, 4, 8, 0xfc, 0xf0][random.below(6) as usize]);
                    }
                }
                continue;
            }
            // Opcode, pad count and version; flags and fragment; lengths.
            _ => {
                let fields = [28, 29, 6, 7, 2, 3, 24, 25, 0, 1, 9];
                link + fields[random.below(fields.len() as u64) as usize]
            }
        };
        if let Some(byte) = frame.get_mut(at) {
            *byte ^= 1 << random.below(8);
        }
    }
}

/// A random frame of any kind.
fn any(random: &mut Random) -> Sent {
    let mut bytes = frames::right(random);
    match random.below(10) {
        0..5 => {}
        // Random bytes.
        5 => {
            let len = 1 + random.below(200) as usize;
            bytes = random.bytes(len);
        }
        // A second tag.
        6 => drop(bytes.splice(12..12, [0x81, 0, 1, 2])),
        // Damaged, and then often made right where that is possible.
        _ => {
            damage(&mut bytes, random);
            if random.chance(0.7) {
                frames::fix_checksum(&mut bytes);
            }
            if random.chance(0.7) {
                frames::fix_icrc(&mut bytes);
            }
        }
    }
    let bad = u64::from(random.chance(0.03));
    Sent { bytes, user: random.below(1 << 40) << 1 | bad }
}

#[test]
fn every_frame_is_the_hosts_a_packet_or_counted() {
    let total = std::env::var("DRDMA_TEST_FRAMES").map_or(FRAMES, |text| {
        text.parse().unwrap_or_else(|_| panic!("DRDMA_TEST_FRAMES={text} is no number"))
    });
    let library = library();
    let mut random = Random::new(1);
    let (mut packets, mut dropped, mut acks, mut left) = (0, 0, 0, 0);
    let (mut congested, mut notified) = (0, 0);
    for batch in 0..total.div_ceil(BATCH) {
        let pace = [
            Pace::FAST,
            Pace { wire: 0.5, ..Pace::FAST },
            Pace { host: 0.5, ..Pace::FAST },
            Pace { wire: 0.1, host: 0.3, responder: 0.5, writer: 0.3 },
            Pace { wire: 0.0, host: 0.0, responder: 0.6, writer: 0.6 },
        ][batch as usize % 5];
        let mut wire = Wire::new(&library, batch, pace);
        for _ in 0..2 {
            let sent: Vec<Sent> = (0..BATCH / 2).map(|_| any(&mut random)).collect();
            let fates: Vec<Fate> = sent.iter().map(frames::fate).collect();
            let of = |fate| sent.iter().zip(&fates).filter(move |f| *f.1 == fate).map(|f| f.0);
            let outcome = wire.pass(&sent);
            let passes = |fate: &Fate| [Fate::Host, Fate::Left].contains(fate);
            let host: Vec<_> = sent
                .iter()
                .zip(&fates)
                .filter(|(_, fate)| passes(fate))
                .map(|(f, _)| (f.bytes.clone(), f.user))
                .collect();
            assert_eq!(outcome.host, host, "batch {batch}");
            assert_eq!(outcome.overrun, 0, "batch {batch}: there is room");
            assert_eq!(outcome.dropped, of(Fate::Dropped).count() as u64, "batch {batch}");
            assert_eq!(outcome.left, of(Fate::Left).count() as u64, "batch {batch}");
            assert_eq!(outcome.acks.len(), of(Fate::Ack).count(), "batch {batch}");
            for (ack, sent) in outcome.acks.iter().zip(of(Fate::Ack)) {
                frames::check_ack(ack.0, &sent.bytes);
            }
            let marked: Vec<u64> = sent.iter().filter_map(frames::congested).collect();
            assert_eq!(outcome.congested, marked, "batch {batch}");
            let notifications: Vec<u64> = sent.iter().filter_map(frames::notified).collect();
            assert_eq!(outcome.notified, notifications, "batch {batch}");
            congested += marked.len() as u64;
            notified += notifications.len() as u64;
            acks += outcome.acks.len() as u64;
            left += outcome.left;
            assert_eq!(outcome.packets.len(), of(Fate::Packet).count(), "batch {batch}");
            for (taken, sent) in outcome.packets.iter().zip(of(Fate::Packet)) {
                frames::check(taken, &sent.bytes);
            }
            assert!(wire.held.is_empty(), "every frame was freed");
            packets += outcome.packets.len() as u64;
            dropped += outcome.dropped;
        }
    }
    // The random frames reach every case.
    let counts = format!(
        "{packets} packets, {acks} acknowledgements, {notified} notifications, {congested} with congestion, {dropped} \
         dropped, {left} left"
    );
    assert!(packets > total / 5 && dropped > total / 12 && left > total / 8, "{counts}");
    assert!(acks > total / 40 && congested > total / 25 && notified > total / 200, "{counts}");
}
