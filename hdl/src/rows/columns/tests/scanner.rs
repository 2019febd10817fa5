use super::*;
use crate::rows::columns::reference::masks;
use crate::rows::columns::scanner::Scanner;
use crate::testing;
use drdma_verilated::Library;
use drdma_verilated::testbench::{Bench, DriverId, MonitorId, STALLS};

fn library() -> Library {
    testing::library("column_scanner", Scanner::default)
}

struct Card<'a> {
    bench: Bench<'a>,
    mask: DriverId,
    rows: MonitorId,
}

impl Card<'_> {
    fn new(library: &Library, seed: u64) -> Self {
        let mut bench = Bench::new(library.instance(seed), seed);
        bench.limit(1_000_000);
        Self { mask: bench.driver("mask"), rows: bench.monitor("rows"), bench }
    }

    /// Sends the turns' masks and checks their rows; returns how many there are.
    fn run(&mut self, turns: &[Turn], random: &mut Random) -> usize {
        let mut contexts = Vec::new();
        for turn in turns {
            let context = context(turn, random);
            let masks = masks(turn).into_iter().map(|m| m.with("context", context.clone()));
            self.bench.send_all(self.mask, masks);
            contexts.push(context);
        }
        let mut groups = Vec::new();
        let mut count = 0;
        for (turn, context) in turns.iter().zip(contexts) {
            let mut rows = Vec::new();
            loop {
                let (bench, monitor) = (&mut self.bench, self.rows);
                while groups.is_empty() {
                    bench.run_until(|bench| !bench.received(monitor).is_empty());
                    groups = bench.take(monitor);
                    groups.reverse();
                }
                let group = groups.pop().unwrap();
                let (ends, number) = (group.u64("turn_end") == 1, group.u64("count") as usize);
                assert!(number <= 64 && (number > 0 || ends), "{group:?}");
                assert_eq!(group.get("context"), &context);
                assert_eq!(group.u64("chunk_end") == 1, ends && turn.chunk_end);
                assert_eq!(group.u64("last") == 1, ends && turn.last);
                let first = 512 * group.u64("word");
                let row = |k| first + group.get("offset").bits(9 * k, 9).to_u64();
                rows.extend((0..number).map(row));
                if ends {
                    break;
                }
            }
            assert_eq!(rows, turn.rows());
            count += rows.len();
        }
        self.bench.run(32);
        assert!(groups.is_empty() && self.bench.received(self.rows).is_empty());
        assert_eq!(self.bench.get("idle"), 1);
        count
    }
}

#[test]
fn rows_are_those_of_the_masks_under_stalls() {
    let library = library();
    for (seed, stalls) in (1..).zip(STALLS) {
        println!("seed {seed}");
        let mut random = Random::new(seed);
        let mut card = Card::new(&library, seed);
        card.bench.stall(stalls);
        for _ in 0..25 {
            let turns = request(&mut random, false);
            card.run(&turns, &mut random);
        }
    }
}

#[test]
fn idle_says_that_nothing_is_at_work() {
    let library = library();
    let mut random = Random::new(1);
    let mut card = Card::new(&library, 1);
    let turn = Turn { bits: vec![false; 100], ..Default::default() };
    let mask = masks(&turn).pop().unwrap().with("context", context(&turn, &mut random));
    card.bench.stall_monitor(card.rows, 1.0);
    card.bench.send(card.mask, mask);
    card.bench.step();
    for _ in 0..40 {
        card.bench.step();
        assert_eq!(card.bench.get("idle"), 0);
    }
    card.bench.stall_monitor(card.rows, 0.0);
    card.bench.run_until_received(card.rows, 1);
    assert_eq!(card.bench.get("idle"), 1);
}

/// Cycles from the first rows of 40 turns of 8 masks with `rows` rows each to the end, and from the first mask to its
/// first rows.
fn pace(library: &Library, rows: usize) -> (u64, u64) {
    let mut random = Random::new(7);
    let mut card = Card::new(library, 7);
    let mut turn = || {
        let mut bits = vec![false; 4096];
        for mask in bits.chunks_mut(512) {
            let mut left = rows;
            while left > 0 {
                let bit = &mut mask[random.below(512) as usize];
                left -= usize::from(!*bit);
                *bit = true;
            }
        }
        Turn { bits, ..Default::default() }
    };
    let turns: Vec<_> = (0..40).map(|_| turn()).collect();
    let count = card.run(&turns, &mut Random::new(8));
    assert_eq!(count, 40 * 8 * rows);
    let times = card.bench.received_at(card.rows);
    let (first, last) = (times[0], times[times.len() - 1]);
    (last + 1 - first, first - card.bench.sent_at(card.mask)[0])
}

#[test]
fn a_mask_a_cycle_or_64_of_its_rows() {
    let library = library();
    for rows in [512, 449, 300, 129, 128, 65, 64, 40, 12, 1] {
        let (cycles, latency) = pace(&library, rows);
        println!("masks of {rows} rows: 320 in {cycles} cycles, the first after {latency}");
        assert_eq!(cycles, 320 * rows.div_ceil(64) as u64, "masks of {rows} rows");
        assert_eq!(latency, 11);
    }
}

#[test]
fn a_mask_without_rows_costs_a_cycle() {
    let library = library();
    let mut random = Random::new(1);
    let mut card = Card::new(&library, 1);
    let turn = Turn { bits: vec![false; 4096], ..Default::default() };
    card.run(&vec![turn; 20], &mut random);
    let times = card.bench.received_at(card.rows);
    assert!(times.windows(2).all(|t| t[1] - t[0] == 8), "8 masks a turn: {times:?}");
}
