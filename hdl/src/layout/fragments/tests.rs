use crate::request::DEST_COUNT;
use drdma_verilated::testbench::{Beat, Bench, Random, STALLS};
use drdma_verilated::{Library, Word};

use super::Fragments;
use crate::testing;

/// Fields that pass unchanged, with their widths.
const FIELDS: [(&str, usize); 13] = [
    ("window", 4),
    ("window_end", 1),
    ("beat_end", 1),
    ("dest", 10),
    ("slot", 8),
    ("bytes", 7),
    ("message_start", 1),
    ("message_end", 1),
    ("message_bytes", 32),
    ("request_end", 1),
    ("dest_end", 1),
    ("status", 8),
    ("bad_dest", DEST_COUNT),
];

fn library() -> Library {
    testing::library("fragments", Fragments::default)
}

/// Lanes of a placed beat: place, length, position; lanes without a fragment have length 0.
type Lanes = [(u64, u64, u64); 16];

/// Fragments that do not overlap, in some of the lanes; with gaps, as the parts of a beat have.
fn lanes(random: &mut Random) -> Lanes {
    // Lanes without a fragment hold anything.
    let mut lanes = [(); 16].map(|()| (random.below(1 << 17), 0, random.below(64)));
    let longest = [1, 4, 16, 64][random.below(4) as usize];
    let mut pos = random.below(3);
    for lane in &mut lanes {
        if pos < 64 && random.chance(0.8) {
            let len = 1 + random.below(longest.min(64 - pos));
            *lane = (random.below((1 << 17) - 64), len, pos);
            pos += len + if random.chance(0.2) { random.below(9) } else { 0 };
        }
    }
    lanes
}

fn placed(lanes: &Lanes, side: &Beat) -> Beat {
    let (mut ram, mut len, mut pos) = (Word::zero(), Word::zero(), Word::zero());
    for (k, lane) in lanes.iter().enumerate() {
        ram.set_bits(k * 17, 17, &Word::from(lane.0));
        len.set_bits(k * 7, 7, &Word::from(lane.1));
        pos.set_bits(k * 6, 6, &Word::from(lane.2));
    }
    let mut beat = side.clone().with("ram", ram).with("len", len);
    beat.set("pos", pos);
    beat
}

/// The place of every payload byte that a fragment brings.
fn places(lanes: &Lanes) -> [Option<u64>; 64] {
    let mut places = [None; 64];
    for &(ram, len, pos) in lanes {
        (0..len).for_each(|k| places[(pos + k) as usize] = Some(ram + k));
    }
    places
}

fn side(random: &mut Random) -> Beat {
    let mut side = Beat::new();
    FIELDS.iter().for_each(|&(name, width)| side.set(name, random.word(width)));
    side
}

#[test]
fn every_byte_has_the_place_that_its_fragment_gives_it() {
    let library = library();
    for (seed, stalls) in (1..).zip(STALLS) {
        let mut random = Random::new(seed);
        let mut bench = Bench::new(library.instance(seed), seed);
        let (input, output) = (bench.driver("placed"), bench.monitor("bytes"));
        bench.stall(stalls);
        let beats: Vec<_> = (0..600).map(|_| (lanes(&mut random), side(&mut random))).collect();
        bench.send_all(input, beats.iter().map(|(lanes, side)| placed(lanes, side)));
        bench.run_until_received(output, beats.len());
        for (beat, (lanes, side)) in bench.take(output).iter().zip(&beats) {
            side.fields().for_each(|(name, value)| {
                assert_eq!(beat.get(name), value, "seed {seed}: {name}");
            });
            for (p, place) in places(lanes).into_iter().enumerate() {
                let valid = beat.u64("mask") >> p & 1 == 1;
                let at = beat.get("ram").bits(p * 17, 17).to_u64();
                assert_eq!(valid.then_some(at), place, "seed {seed}: byte {p} of {lanes:?}");
            }
        }
    }
}

#[test]
fn a_beat_a_cycle_after_four_cycles() {
    let library = library();
    let mut random = Random::new(9);
    let mut bench = Bench::new(library.instance(1), 1);
    let (input, output) = (bench.driver("placed"), bench.monitor("bytes"));
    let beats: Vec<_> = (0..200).map(|_| placed(&lanes(&mut random), &side(&mut random))).collect();
    bench.send_all(input, beats);
    bench.run_until_received(output, 200);
    assert_eq!(bench.sent_at(input).first(), Some(&0));
    assert_eq!(bench.received_at(output), (4..204).collect::<Vec<_>>());
}
