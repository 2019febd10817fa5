//! Sums over the lanes of sets, whose lanes may come behind those of others.

use super::*;
use crate::rows::sequencer::reference::group_steps;
use crate::testing;
use drdma_verilated::Model;
use drdma_verilated::testbench::Random;
use std::collections::HashMap;

/// A lane's base, step and length.
type Lane = (u64, u64, u32);

/// The span and the steps of a row (`None`: none of a column request), whether a lane is longer than its step, and
/// of each lane the bytes of its beat so far.
fn sums(lanes: &[Lane]) -> (u64, (Option<u64>, bool), Vec<u64>) {
    // A lane of more than 255 bytes counts as 256.
    let span = lanes.iter().map(|&(_, step, len)| step.max(len.into()).min(256)).sum();
    let split = |k: usize| group_steps(&lanes[..=k]) != group_steps(&lanes[..k]);
    let columns = lanes.iter().all(|lane| lane.1 <= 128 && lane.2 <= 127)
        && !(1..lanes.len()).any(|k| lanes[k].1 == 128 && split(k));
    let steps = columns.then(|| group_steps(lanes) as u64);
    let overlaps = lanes.iter().any(|&(_, step, len)| u64::from(len) > step.min(127));
    let mut beat = 0;
    let add = |&(_, _, len): &Lane| {
        let len = u64::from(len);
        beat = match beat + len {
            _ if len > 64 => 64,
            joined if joined > 64 => len,
            joined => joined,
        };
        beat
    };
    (span, (steps, overlaps), lanes.iter().map(add).collect())
}

/// A lane, perhaps near another one.
fn random_lane(random: &mut Random, other: Option<&Lane>) -> Lane {
    let len = match random.below(4) {
        0 => 1 + random.below(200),
        1 => 1 + random.below(64),
        _ => 1 + random.below(12),
    };
    let step = match random.below(5) {
        0 => 1 + random.below(1 << 40),
        1 => 0,
        2 => 120 + random.below(12),
        _ => random.below(60),
    };
    match other {
        Some(&(base, step, _)) if random.chance(0.7) => {
            let far = [step.min(300), 20][random.below(2) as usize];
            let base = base.wrapping_add(random.below(1 + far)).wrapping_sub(random.below(1 + far));
            (base, if random.chance(0.9) { step } else { step + 1 }, 1 + random.below(20) as u32)
        }
        _ => (random.u64(), step, len as u32),
    }
}

fn random_lanes(random: &mut Random, count: usize) -> Vec<Lane> {
    let mut lanes: Vec<Lane> = Vec::new();
    for _ in 0..count {
        lanes.push(random_lane(random, lanes.last()));
    }
    lanes
}

/// Lengths that were written for the beat cutter, by set and lane: the bytes of the lane and of its beat.
type Lengths = HashMap<(u64, usize), (u64, u64)>;

/// Writes one lane, as the decoder does, then waits some cycles.
fn write(
    model: &mut Model,
    random: &mut Random,
    lengths: &mut Lengths,
    (set, lane): (u64, usize),
    (base, step, len): Lane,
) {
    model.set("lane_write_valid", 1);
    model.set("lane_write_set", set);
    model.set("lane_write_lane", lane as u64);
    model.set("lane_write_base", base);
    model.set("lane_write_step", step);
    model.set("lane_write_len", len.into());
    model.cycle();
    model.set("lane_write_valid", 0);
    model.set("lane_write_base", random.u64());
    model.set("lane_write_step", random.u64());
    model.settle();
    assert_eq!(model.get("length_write"), 1);
    assert_eq!(model.get("length_address"), set << 4 | lane as u64);
    let length = model.get_word("length_data");
    lengths.insert((set, lane), (length.bits(0, 32).to_u64(), length.bits(32, 7).to_u64()));
    (0..random.below(3)).for_each(|_| model.cycle());
}

/// Reads a set's sums.
fn read(model: &mut Model, set: u64) -> (u64, (Option<u64>, bool)) {
    (0..6).for_each(|_| model.cycle());
    model.set("set_read", set);
    model.set("extent_read", set);
    model.cycle();
    model.settle();
    let steps = Some(model.get("steps")).filter(|&steps| steps != 2047);
    (model.get("span"), (steps, model.get("overlaps") == 1))
}

#[test]
fn sums_of_lanes_that_come_behind_other_sets_are_those_of_their_own_set() {
    let library = testing::library("tables", Tables::default);
    for seed in 1..=5 {
        let mut random = Random::new(seed);
        let mut model = library.instance(seed);
        model.set("set_write_valid", 0);
        model.set("dest_write_valid", 0);
        let mut lengths = Lengths::new();
        for round in 0..200 {
            // A destination whose regions, from the second on, are told again as lanes of the first: behind
            // each region's own lanes comes what it adds to the first set.
            let first = (20 * round) % 2048;
            let regions = 1 + random.below(16) as usize;
            let own = random_lanes(&mut random, regions);
            for (index, lane) in own.iter().enumerate() {
                let set = (first + index as u64) % 2048;
                write(&mut model, &mut random, &mut lengths, (set, 0), *lane);
                if index > 0 {
                    write(&mut model, &mut random, &mut lengths, (first, index), *lane);
                }
            }
            // An ordinary set of several lanes comes after it.
            let count = 1 + random.below(16) as usize;
            let plain = random_lanes(&mut random, count);
            let last = (first + 19) % 2048;
            for (lane, value) in plain.iter().enumerate() {
                write(&mut model, &mut random, &mut lengths, (last, lane), *value);
            }
            let told = [(first, &own[..]), (last, &plain[..])];
            let alone = (1..regions).map(|k| ((first + k as u64) % 2048, &own[k..=k]));
            for (set, lanes) in told.into_iter().chain(alone) {
                let (span, steps, beats) = sums(lanes);
                assert_eq!(read(&mut model, set), (span, steps), "seed {seed}: set {set}");
                for (lane, beat) in beats.into_iter().enumerate() {
                    let expected = (lanes[lane].2.into(), beat);
                    assert_eq!(lengths[&(set, lane)], expected, "seed {seed}: {set}, {lane}");
                }
            }
        }
    }
}
