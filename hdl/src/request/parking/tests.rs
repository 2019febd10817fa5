//! Doorbells as they pass, wait and leave.

use super::*;
use crate::context::testing::clear_tables;
use crate::testing;
use drdma_verilated::Library;
use drdma_verilated::testbench::{Beat, Bench, DriverId, MonitorId, Random, STALLS};
use std::collections::HashMap;

fn library() -> Library {
    testing::library("parking", Parking::default)
}

/// The block between registers and a queue block that a test plays.
struct Park<'a> {
    bench: Bench<'a>,
    cfg: DriverId,
    hold: DriverId,
    doorbell: DriverId,
    passed: MonitorId,
}

fn park(library: &Library, seed: u64) -> Park<'_> {
    let mut bench = Bench::new(library.instance(seed), seed);
    clear_tables(&mut bench);
    Park {
        cfg: bench.driver("cfg"),
        hold: bench.driver("hold"),
        doorbell: bench.driver("doorbell"),
        passed: bench.monitor("passed"),
        bench,
    }
}

impl Park<'_> {
    /// The host writes a send queue's entry: that of a queue pair, or a shared one.
    fn queue(&mut self, queue: u64, owner: Option<u32>) {
        let entry = SendQueueEntry {
            shared: u8::from(owner.is_none()),
            qp: owner.unwrap_or(0),
            enable: 1,
            ..SendQueueEntry::default()
        };
        for (word, data) in entry.to_bytes().chunks(4).enumerate() {
            let data = u32::from_le_bytes(data.try_into().expect("4 bytes"));
            let beat = Beat::from([("table", 2), ("index", queue), ("word", word as u64)]);
            self.bench.send(self.cfg, beat.with("data", data));
            let cfg = self.cfg;
            self.bench.run_until(|bench| bench.pending(cfg) == 0);
            self.bench.run(3);
        }
    }

    fn hold(&mut self, qp: u64, held: bool) {
        self.bench.send(self.hold, Beat::from([("qp", qp)]).with("held", held));
        self.bench.run(3);
    }

    fn ring(&mut self, queue: u64, position: u64) {
        let beat = Beat::from([("queue", queue), ("position", position)]);
        self.bench.send(self.doorbell, beat);
    }

    /// What leaves in so many cycles.
    fn run(&mut self, cycles: u64) -> Vec<(u64, u64)> {
        self.bench.run(cycles);
        let passed = self.bench.take(self.passed);
        passed.iter().map(|beat| (beat.u64("queue"), beat.u64("position"))).collect()
    }
}

#[test]
fn a_doorbell_of_a_held_queue_pair_waits_and_those_of_others_pass() {
    let library = library();
    let mut park = park(&library, 1);
    for (queue, owner) in [(5, Some(1_000)), (6, Some(1_001)), (7, None)] {
        park.queue(queue, owner);
    }
    park.ring(5, 1);
    assert_eq!(park.run(10), [(5, 1)]);
    park.hold(1_000, true);
    for position in 2..5 {
        for queue in 5..8 {
            park.ring(queue, position);
        }
    }
    assert_eq!(
        park.run(100),
        [6, 7, 6, 7, 6, 7].into_iter().zip([2, 2, 3, 3, 4, 4]).collect::<Vec<_>>()
    );
    assert_eq!(park.bench.get("busy"), 1);
    assert!(park.run(1_000).is_empty(), "it is still held");
    park.hold(1_000, false);
    let mut left = park.run(100);
    left.sort_unstable();
    assert_eq!(left, [(5, 2), (5, 3), (5, 4)]);
    assert_eq!(park.bench.get("busy"), 0);
}

#[test]
fn a_parked_doorbell_is_dropped_when_its_queue_is_enabled_anew() {
    let library = library();
    let mut park = park(&library, 2);
    park.queue(5, Some(9));
    park.hold(9, true);
    park.ring(5, 7);
    assert!(park.run(50).is_empty());
    park.queue(5, Some(9));
    park.ring(5, 1);
    assert!(park.run(50).is_empty());
    park.hold(9, false);
    assert_eq!(park.run(50), [(5, 1)]);
    assert_eq!(park.bench.get("busy"), 0);
}

#[test]
fn a_doorbell_that_finds_no_room_among_those_that_wait_leaves() {
    let library = library();
    let mut park = park(&library, 3);
    park.queue(5, Some(9));
    park.hold(9, true);
    for position in 0..1_030 {
        park.ring(5, position);
    }
    let left = park.run(20_000);
    assert!((1..=6).contains(&left.len()), "{left:?}");
    park.hold(9, false);
    let mut all = left;
    all.extend(park.run(20_000));
    all.sort_unstable();
    assert_eq!(all, (0..1_030).map(|position| (5, position)).collect::<Vec<_>>());
}

#[test]
fn a_doorbell_takes_a_cycle_while_nothing_is_held_and_three_while_something_is() {
    let library = library();
    let mut park = park(&library, 4);
    park.queue(5, Some(9));
    for (held, latency, pace) in [(false, 1, 2), (true, 3, 4)] {
        if held {
            park.hold(77, true);
        }
        let before = park.bench.sent_at(park.doorbell).len();
        for position in 0..64 {
            park.ring(5, position);
        }
        assert_eq!(park.run(400).len(), 64);
        let (sent, left) = (
            &park.bench.sent_at(park.doorbell)[before..],
            &park.bench.received_at(park.passed)[before..],
        );
        assert!(
            sent.iter().zip(left).all(|(sent, left)| left - sent == latency),
            "{sent:?} {left:?}"
        );
        assert!(left.windows(2).all(|pair| pair[1] - pair[0] == pace), "{left:?}");
    }
}

/// Every doorbell leaves once, at a time when its queue pair is not held, or is of a shared queue.
#[test]
fn doorbells_leave_once_whatever_is_held_when() {
    let library = library();
    for (seed, (driver, monitor)) in (0..).zip(STALLS) {
        let mut random = Random::new(seed);
        let mut park = park(&library, 10 + seed);
        for queue in 0..16 {
            park.queue(queue, (queue != 0).then_some(queue as u32 % 5));
        }
        park.bench.stall_driver(park.doorbell, driver);
        park.bench.stall_monitor(park.passed, monitor);
        let mut held = HashMap::new();
        let (mut rung, mut left) = (Vec::new(), Vec::new());
        for position in 0..600 {
            let queue = random.below(16);
            park.ring(queue, position);
            rung.push((queue, position));
            if random.chance(0.3) {
                let qp = random.below(5);
                let is = held.entry(qp).or_insert(false);
                *is = !*is;
                let is = *is;
                park.hold(qp, is);
            }
            left.extend(park.run(random.below(12)));
        }
        let waits = rung.len() - left.len();
        assert!(waits > 10, "{waits} wait");
        for (qp, _) in held.into_iter().filter(|(_, held)| *held) {
            park.hold(qp, false);
        }
        left.extend(park.run(10_000));
        left.sort_unstable();
        rung.sort_unstable();
        assert_eq!(left, rung, "seed {seed}");
        assert_eq!(park.bench.get("busy"), 0);
    }
}
