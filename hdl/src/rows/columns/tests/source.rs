use super::*;
use crate::rows::columns::reference::{masks_to_read, survivors};
use crate::rows::columns::source::Source;
use crate::rows::sequencer::record::SCAN;
use crate::testing;
use drdma_verilated::Library;
use drdma_verilated::testbench::{Bench, DriverId, MonitorId, STALLS};
use std::cell::RefCell;
use std::rc::Rc;

fn library() -> Library {
    testing::library("column_source", Source::default)
}

struct Card<'a> {
    bench: Bench<'a>,
    item: DriverId,
    resp: DriverId,
    mask: MonitorId,
}

impl Card<'_> {
    fn new(library: &Library, seed: u64) -> Self {
        let mut bench = Bench::new(library.instance(seed), seed);
        bench.limit(1_000_000);
        let (item, resp) = (bench.driver("item"), bench.driver("resp"));
        Self { item, resp, mask: bench.monitor("mask"), bench }
    }

    /// Sends the turns and checks their masks.
    fn run(&mut self, turns: &[Turn], random: &mut Random) {
        let (rest, failed) = survivors(turns);
        let mut expected = Vec::new();
        for (turn, left) in turns.iter().zip(&rest) {
            let item = item(turn, random);
            let context = item.get("context").clone();
            self.bench.send(self.item, item);
            self.bench.send_all(self.resp, answers(turn, random));
            let beat =
                |mask: Beat| mask.with("context", context.clone()).with("sparse", turn.sparse);
            expected.extend(masks_to_read(left).into_iter().map(beat));
        }
        self.bench.run_until_received(self.mask, expected.len());
        assert!(self.bench.take(self.mask) == expected, "of {} turns", turns.len());
        assert_eq!(self.bench.pending(self.resp), 0, "every answer is taken");
        assert_eq!(self.bench.get("failed"), u64::from(failed.is_some()));
        if let Some(index) = failed {
            assert_eq!(self.bench.get("fail_index"), index);
        }
        assert_eq!(self.bench.get("idle"), 1);
    }
}

#[test]
fn masks_are_the_selected_rows_under_stalls() {
    let library = library();
    let (mut failures, mut by_ids, mut fetched) = (0, [0; 3], [0; 2]);
    for (seed, stalls) in (1..).zip(STALLS) {
        println!("seed {seed}");
        let mut random = Random::new(seed);
        let mut card = Card::new(&library, seed);
        card.bench.stall(stalls);
        for _ in 0..20 {
            let fails = random.chance(0.4);
            let turns = request(&mut random, fails);
            failures += u32::from(survivors(&turns).1.is_some());
            by_ids[usize::from(turns[0].ids)] += 1;
            for (_, fails) in turns.iter().filter_map(|turn| turn.fetch.as_ref()) {
                fetched[usize::from(fails.is_empty())] += 1;
            }
            card.run(&turns, &mut random);
            card.bench.set("clear", 1);
            card.bench.step();
            card.bench.set("clear", 0);
        }
    }
    assert!(failures > 10, "{failures} requests failed");
    assert!(by_ids[1] > 5 && by_ids[2] > 5, "requests with ids: {by_ids:?}");
    assert!(fetched[0] > 10 && fetched[1] > 50, "turns with fetch rows: {fetched:?}");
}

#[test]
fn a_sparse_chunk_has_any_number_of_rows() {
    let library = library();
    let mut random = Random::new(6);
    let mut card = Card::new(&library, 6);
    for rows in [1, 511, 512, 513, 4096, 4097, 8192, 8193, 70_000] {
        for fetched in [false, true] {
            let turn = Turn {
                sparse: true,
                chunk_start: true,
                chunk_end: true,
                last: true,
                fetch: fetched.then(|| (selection(rows, 0.5, &mut random), vec![])),
                ..Turn { bits: selection(rows, 0.5, &mut random), ..Default::default() }
            };
            card.run(&[turn], &mut random);
        }
    }
}

#[test]
fn fetch_rows_cost_a_cycle_for_512_of_them() {
    let library = library();
    let mut random = Random::new(1);
    let mut card = Card::new(&library, 1);
    let turn = |_| Turn {
        bits: vec![true; 4096],
        fetch: Some((vec![true; 4096], vec![])),
        row_bytes: 20,
        ..Default::default()
    };
    let turns: Vec<_> = (0..40).map(turn).collect();
    card.run(&turns, &mut random);
    let (sent, got) = (card.bench.sent_at(card.resp), card.bench.received_at(card.mask));
    let cycles = got[got.len() - 1] - sent[0];
    println!("320 masks with fetch rows in {cycles} cycles");
    assert!(cycles <= 2 * 320 + 10, "{cycles} cycles");
}

#[test]
fn idle_says_that_nothing_is_at_work() {
    let library = library();
    let mut random = Random::new(1);
    let mut card = Card::new(&library, 1);
    let turn = Turn { strided: true, bits: vec![true; 10], ..Default::default() };
    card.bench.stall_monitor(card.mask, 1.0);
    card.bench.send(card.item, item(&turn, &mut random));
    card.bench.step();
    for _ in 0..10 {
        card.bench.step();
        assert_eq!(card.bench.get("idle"), 0);
    }
    card.bench.stall_monitor(card.mask, 0.0);
    card.bench.run_until_received(card.mask, 1);
    assert_eq!(card.bench.get("idle"), 1);
}

#[test]
fn a_mask_a_cycle_from_item_to_item() {
    let library = library();
    for (strided, latency) in [(true, 5), (false, 2)] {
        let mut random = Random::new(1);
        let mut card = Card::new(&library, 1);
        let turn = |k: usize| Turn {
            strided,
            bits: vec![true; 1 + (k * 397) % 4096],
            row_bytes: 20,
            ..Default::default()
        };
        let turns: Vec<_> = (0..40).map(turn).collect();
        card.run(&turns, &mut random);
        let times = card.bench.received_at(card.mask);
        let first = times[0];
        assert_eq!(times, (first..first + times.len() as u64).collect::<Vec<_>>());
        let from = if strided { card.item } else { card.resp };
        assert_eq!(first - card.bench.sent_at(from)[0], latency);
    }
}

#[test]
fn turns_by_ids_follow_each_other_without_gaps() {
    let library = library();
    // 3 masks of 1,472 rows: 512 ids of one byte a cycle, or 256 of two.
    for (ids, cycles) in [(1, 3), (2, 6)] {
        let mut random = Random::new(1);
        let mut card = Card::new(&library, 1);
        let mut turns = Vec::new();
        for chunk in 0..5 {
            let row_ids: Vec<_> = (0..1472).map(|_| random.below(64) as u16).collect();
            for index in 0..64_u16 {
                turns.push(Turn {
                    ids,
                    partition: index,
                    bits: row_ids.iter().map(|&id| id == index).collect(),
                    chunk_ids: if index == 0 { row_ids.clone() } else { Vec::new() },
                    chunk_start: index == 0,
                    chunk_end: index == 63,
                    last: chunk == 4,
                    index: index.into(),
                    ..Default::default()
                });
            }
        }
        card.run(&turns, &mut random);
        let times = card.bench.received_at(card.mask);
        let took = times[times.len() - 1] - times[0];
        println!("ids of {ids} B: 320 turns in {took} cycles");
        assert!(took <= 320 * cycles, "{took} cycles for 320 turns");
    }
}

/// A destination's sum as {set of the scan, rows, a read failed}.
type Sum = (u64, u64, bool);

/// A turn's item as that of a scan, the destination's first and last one or not.
fn scan(turn: &Turn, opens: bool, closes: bool, random: &mut Random) -> Beat {
    let beat = item(turn, random);
    let mut word = beat.get("item").clone();
    let flags = [(69, closes), (222, true), (232, opens)];
    word.set_bits(0, 3, &SCAN.into());
    flags.iter().for_each(|&(at, flag)| word.set_bits(at, 1, &u64::from(flag).into()));
    beat.with("item", word)
}

/// A turn of a stretch that is there.
fn kept(turn: &Turn, random: &mut Random) -> Beat {
    let beat = item(turn, random);
    let mut word = beat.get("item").clone();
    word.set_bits(232, 1, &0_u64.into());
    beat.with("item", word)
}

/// Scans of some destinations, by their bitmaps or by ids, and the counts that must come of them.
fn scans(dests: &[Turn], ids: &[u16], card: &mut Card, random: &mut Random) -> Vec<Sum> {
    let rows = dests[0].bits.len();
    let chunk = if dests[0].ids > 0 { 4096 } else { rows };
    let mut sums: Vec<Sum> = dests.iter().map(|dest| (dest.set, 0, false)).collect();
    for first in (0..rows).step_by(chunk) {
        let range = first..(first + chunk).min(rows);
        let fails = random.chance(0.1);
        for (k, dest) in dests.iter().enumerate() {
            let brings = dest.ids == 0 || k == 0;
            let mut turn = Turn {
                bits: dest.bits[range.clone()].to_vec(),
                chunk_ids: if dest.ids > 0 && k == 0 {
                    ids[range.clone()].to_vec()
                } else {
                    vec![]
                },
                chunk_start: k == 0,
                chunk_end: k + 1 == dests.len(),
                ..dest.clone()
            };
            let fails = fails && (dest.ids > 0 || k % 2 == 0);
            if fails && brings {
                turn.fails.push(0);
            }
            let beat = scan(&turn, first == 0, range.end == rows, random);
            card.bench.send(card.item, beat);
            card.bench.send_all(card.resp, answers(&turn, random));
            // Rows of a beat that could not be read do not count, selected or not.
            sums[k].1 += turn.bits.iter().filter(|bit| **bit).count() as u64;
            sums[k].2 |= fails;
        }
    }
    sums
}

#[test]
fn scans_are_counted_and_their_rows_kept_for_the_turns_behind_them() {
    let library = library();
    let (mut failures, mut by_ids) = (0, 0);
    for (seed, stalls) in (1..).zip(STALLS) {
        println!("seed {seed}");
        let mut random = Random::new(seed);
        let mut card = Card::new(&library, seed);
        card.bench.stall(stalls);
        let sums = Rc::new(RefCell::new(Vec::<Sum>::new()));
        let told = sums.clone();
        card.bench.observe(move |model, _| {
            if model.get("counted_valid") == 1 {
                let sum = ["set", "count", "bad"].map(|of| model.get(format!("counted_{of}")));
                told.borrow_mut().push((sum[0], sum[1], sum[2] == 1));
            }
        });
        for _ in 0..12 {
            let most = [8192, 5000, 600][random.below(3) as usize];
            let rows = if random.chance(0.2) { most } else { 1 + random.below(most) } as usize;
            let width = random.below(3) as u8;
            let count = 1 + random.below(5);
            let ids: Vec<_> = (0..rows).map(|_| random.below(count + 1) as u16).collect();
            let dest = |index: u64, random: &mut Random| Turn {
                ids: width,
                partition: index as u16,
                bits: match width {
                    0 => selection(rows, 0.3, random),
                    _ => ids.iter().map(|&id| u64::from(id) == index).collect(),
                },
                index,
                set: random.below(2048),
                row_bytes: 8,
                ..Default::default()
            };
            let dests: Vec<_> = (0..count).map(|index| dest(index, &mut random)).collect();
            let expected = scans(&dests, &ids, &mut card, &mut random);
            while sums.borrow().len() < dests.len() {
                card.bench.step();
            }
            let found = sums.take();
            for (found, expected) in found.iter().zip(&expected) {
                assert_eq!((found.0, found.2), (expected.0, expected.2));
                assert!(found.2 || found.1 == expected.1, "{found:?} for {expected:?}");
            }
            assert_eq!(card.bench.received(card.mask).len(), 0, "a scan gives no mask");
            assert_eq!((card.bench.get("failed"), card.bench.get("idle")), (0, 1));
            by_ids += u32::from(width > 0);
            failures += u32::from(expected.iter().any(|sum| sum.2));
            // A request that could not be counted ends here; others send their rows, perhaps twice.
            let again = if expected.iter().any(|sum| sum.2) { 0 } else { 1 + random.below(2) };
            let chunk = 64 * (1 + random.below(60)) as usize;
            let mut masks = Vec::new();
            for first in (0..again).flat_map(|_| (0..rows).step_by(chunk)) {
                for dest in &dests {
                    let bits = dest.bits[first..(first + chunk).min(rows)].to_vec();
                    let phase = Some(first as u64 / 16);
                    let turn = Turn { ids: 0, kept: phase, bits, ..dest.clone() };
                    let beat = kept(&turn, &mut random);
                    let context = beat.get("context").clone();
                    card.bench.send(card.item, beat);
                    let told =
                        |mask: Beat| mask.with("context", context.clone()).with("sparse", false);
                    masks.extend(masks_to_read(&turn).into_iter().map(told));
                }
            }
            card.bench.run_until_received(card.mask, masks.len());
            assert!(card.bench.take(card.mask) == masks, "masks of {rows} rows");
        }
    }
    assert!(failures > 3 && by_ids > 15, "{failures} failed, {by_ids} by ids");
}

#[test]
fn a_scan_takes_a_cycle_for_512_rows_and_destination() {
    let library = library();
    let mut random = Random::new(1);
    let mut card = Card::new(&library, 1);
    let turn = |index: u64| Turn {
        bits: selection(8192, 0.1, &mut Random::new(index + 1)),
        index,
        row_bytes: 8,
        ..Default::default()
    };
    let dests: Vec<_> = (0..40).map(turn).collect();
    for dest in &dests {
        let beat = scan(dest, true, true, &mut random);
        card.bench.send(card.item, beat);
        card.bench.send_all(card.resp, answers(dest, &mut random));
    }
    let start = card.bench.cycles();
    let mut told = 0;
    while told < dests.len() {
        told += card.bench.get("counted_valid") as usize;
        card.bench.step();
    }
    let cycles = card.bench.cycles() - start;
    println!("40 scans of 8,192 rows in {cycles} cycles");
    assert!(cycles <= 40 * 16 + 12, "{cycles} cycles");
}
