//! Against `drdma_semantics::append`: queue pairs that append, and a host that empties regions and gives rows back.

use super::Appends;
use crate::context::testing::{Flagged, answer_flag, clear_tables};
use crate::context::{ATTRIBUTES_TABLE, QUEUE_PAIR_TABLE, REGION_TABLE};
use crate::testing;
use drdma_abi::receive::{AttributesEntry, rights};
use drdma_abi::register::{MemoryRegionEntry, QueuePairEntry};
use drdma_semantics::append::{Append, NoRows};
use drdma_semantics::checks::{Directory, QueuePair};
use drdma_semantics::region::Column;
use drdma_verilated::testbench::{Beat, Bench, DriverId, Random};
use std::collections::HashMap;

const PD: u32 = 9;
/// `AppendVerdict`.
const ROOM: u64 = 0;
const LATER: u64 = 1;
const TOO_LONG: u64 = 2;
const MALFORMED: u64 = 3;
const FORBIDDEN: u64 = 4;
const LOST: u64 = 5;
const GONE: u64 = 6;
/// `AppendOutcome`.
const STAYS: u64 = 0;
const HOLDS: u64 = 1;
const COMMITS: u64 = 2;
const DROPS: u64 = 3;
/// Numbers of regions that are used, and of queue pairs.
const REGIONS: u64 = 5;
const PAIRS: u64 = 6;

/// Memory regions.
#[derive(Default)]
struct Keys(HashMap<u32, MemoryRegionEntry>);

impl Directory for Keys {
    fn memory_region(&self, lkey: u32) -> Option<MemoryRegionEntry> {
        self.0.get(&lkey).filter(|key| key.valid == 1).copied()
    }

    fn queue_pair(&self, _: u32) -> Option<QueuePair> {
        None
    }
}

/// The block's answer about a packet.
#[derive(Debug, PartialEq)]
struct Told {
    verdict: u64,
    whole: bool,
    first_row: u64,
}

/// The block, and its host.
struct Host<'a> {
    bench: Bench<'a>,
    ask: DriverId,
    errors: Flagged,
    keys: Keys,
}

impl Host<'_> {
    fn write(&mut self, ports: [(&str, u64); 5]) {
        for (port, value) in ports {
            self.bench.set(port, value);
        }
        self.bench.step();
        self.bench.set(ports[0].0, 0);
        self.bench.run(3);
    }

    fn table(&mut self, table: u64, index: u64, entry: &[u8]) {
        for (word, bytes) in (0_u64..).zip(entry.chunks(4)) {
            let data = u32::from_le_bytes(bytes.try_into().expect("4 bytes")).into();
            self.write([
                ("cfg_valid", 1),
                ("cfg_table", table),
                ("cfg_index", index),
                ("cfg_word", word),
                ("cfg_data", data),
            ]);
        }
    }

    fn key(&mut self, entry: MemoryRegionEntry) {
        self.table(REGION_TABLE, u64::from(entry.lkey % 4096), &entry.to_bytes());
        self.keys.0.retain(|lkey, _| lkey % 4096 != entry.lkey % 4096);
        self.keys.0.insert(entry.lkey, entry);
    }

    /// Makes a queue pair ready to receive.
    fn pair(&mut self, qp: u64) {
        let entry = QueuePairEntry { state: 2, ..Default::default() };
        self.table(QUEUE_PAIR_TABLE, qp, &entry.to_bytes());
        let attributes = AttributesEntry { state: 1, ..Default::default() };
        self.table(ATTRIBUTES_TABLE, qp, &attributes.to_bytes());
        self.errors.borrow_mut().remove(&qp);
    }

    fn word(&mut self, bell: bool, region: u64, word: u64, data: u32) {
        self.write([
            ("word_valid", 1),
            ("word_bell", bell.into()),
            ("word_region", region),
            ("word_word", word),
            ("word_data", data.into()),
        ]);
    }

    fn entry(&mut self, region: u64, entry: &[u8]) {
        for (word, bytes) in (0_u64..).zip(entry.chunks(4)) {
            // Words that no column has are not kept.
            let data = u32::from_le_bytes(bytes.try_into().expect("4 bytes"));
            self.word(false, region, word, data);
        }
    }

    /// Asks for rows; returns the answer, and the cycles that it takes.
    fn ask(&mut self, qp: u64, pd: u32, number: u32, bytes: u64, first: bool) -> (Told, u64) {
        let beat = Beat::from([
            ("request", 0),
            ("qp", qp),
            ("pd", pd.into()),
            ("number", number.into()),
            ("bytes", bytes),
            ("first", first.into()),
        ]);
        self.bench.send(self.ask, beat);
        self.told()
    }

    fn told(&mut self) -> (Told, u64) {
        while self.bench.pending(self.ask) > 0 {
            self.bench.step();
        }
        let start = self.bench.cycles();
        while self.bench.get("told_valid") == 0 {
            self.bench.step();
        }
        let cycles = self.bench.cycles() - start;
        let told = Told {
            verdict: self.bench.get("told_verdict"),
            whole: self.bench.get("told_whole") == 1,
            first_row: self.bench.get("told_first_row"),
        };
        self.bench.step();
        (told, cycles)
    }

    fn settle(&mut self, outcome: u64) {
        self.bench.set("settle_valid", 1);
        self.bench.set("settle_outcome", outcome);
        self.bench.step();
        self.bench.set("settle_valid", 0);
    }

    fn release(&mut self, qp: u64, number: u32) {
        let beat = Beat::from([("request", 1), ("qp", qp), ("number", number.into())]);
        self.bench.send(self.ask, beat);
        self.told();
    }
}

fn any_entry(random: &mut Random) -> Vec<u8> {
    let most = [4, 16][random.below(2) as usize];
    // Rows of more bytes than are counted.
    let wide = random.chance(0.05);
    let columns: Vec<_> = (0..1 + random.below(most))
        .map(|_| {
            let width = match random.below(12) {
                _ if wide => u32::MAX - random.below(3) as u32,
                0 => [1 << 31, random.u64() as u32][random.below(2) as usize],
                1..=4 => 1 + random.below(600) as u32,
                _ => 1 + random.below(16) as u32,
            };
            let lkey = match random.below(60) {
                0 => 3,
                1 => 4,
                2 => 4098,
                3 => 2,
                _ => 1,
            };
            let base = if lkey == 2 { 0x4000 + random.below(0x2000) } else { random.u64() >> 8 };
            Column { base, width, lkey }
        })
        .collect();
    let capacity = match random.below(8) {
        0 => 1,
        1 => random.u64() as u32,
        2 => 1 + random.below(5) as u32,
        _ => 1 + random.below(2_000) as u32,
    };
    let mut entry = Append::encode(&columns, capacity, if random.chance(0.05) { 1 } else { PD });
    if random.chance(0.1) {
        let at = [0, 4, 4, 6, 12, 16 + 8, 508, 500][random.below(8) as usize];
        let len = if at == 0 || at == 24 { 4 } else { 1 };
        let value = if len == 4 { 0 } else { random.below(20) as u8 };
        entry[at..at + len].fill(value);
    }
    entry
}

/// The answer about a packet, as the semantics define it.
fn expected(
    model: &mut [Option<Append>],
    keys: &Keys,
    (qp, pd): (u64, u32),
    number: u32,
    len: u64,
) -> Told {
    let told = |verdict| Told { verdict, whole: false, first_row: 0 };
    let Some(region) = model.get_mut(number as usize).and_then(Option::as_mut) else {
        return told(MALFORMED);
    };
    if region.pd != pd || !region.is_allowed(keys) {
        return told(FORBIDDEN);
    }
    match region.take(qp as u32, len) {
        Ok(first) => Told {
            verdict: ROOM,
            whole: len.is_multiple_of(region.row_len()),
            first_row: first.into(),
        },
        Err(NoRows::Ever) => told(TOO_LONG),
        Err(NoRows::Yet) => told(LATER),
    }
}

#[test]
fn packets_get_the_rows_that_the_semantics_say() {
    let library = testing::library("appends", Appends::default);
    let (mut seen, mut emptied) = ([0_u32; 7], 0);
    for seed in 1..=3 {
        let mut random = Random::new(seed);
        let mut bench = Bench::new(library.instance(seed), seed);
        bench.limit(3_000_000);
        for port in ["word_valid", "settle_valid"] {
            bench.set(port, 0);
        }
        clear_tables(&mut bench);
        let errors = answer_flag(&mut bench, "error_next", "qp_error");
        let ask = bench.driver("ask");
        let mut host = Host { bench, ask, errors, keys: Keys::default() };
        let all = MemoryRegionEntry {
            len: u64::MAX,
            lkey: 1,
            rights: rights::ALL,
            pd: PD,
            valid: 1,
            ..Default::default()
        };
        host.key(all);
        host.key(MemoryRegionEntry { addr: 0x4000, len: 0x4000, lkey: 2, ..all });
        host.key(MemoryRegionEntry { lkey: 3, rights: rights::ALL & !rights::LOCAL_WRITE, ..all });
        host.key(MemoryRegionEntry { lkey: 4, pd: PD + 1, ..all });
        let mut model: Vec<Option<Append>> = vec![None; 512];
        // Rows that were appended and given back since a region was enabled.
        let mut totals = [(0_u32, 0_u32); REGIONS as usize];
        // Of each queue pair: the region of its message, and its bytes; and whether it is broken or reset.
        let mut messages: [Option<(u32, u64)>; PAIRS as usize] = Default::default();
        let mut ended = [false; PAIRS as usize];
        (0..PAIRS).for_each(|qp| host.pair(100 * qp));
        for region in 0..REGIONS {
            let entry = any_entry(&mut random);
            host.entry(region, &entry);
            model[region as usize] = Append::decode(&entry);
        }
        for _ in 0..2_500 {
            let region = random.below(REGIONS);
            let who = random.below(PAIRS);
            let (at, qp) = (who as usize, 100 * who);
            match random.below(100) {
                0..=1 => {
                    let entry = any_entry(&mut random);
                    host.entry(region, &entry);
                    emptied += u64::from(model[region as usize].is_some());
                    model[region as usize] = Append::decode(&entry);
                    totals[region as usize] = (0, 0);
                }
                2..=20 => {
                    let (appended, given) = &mut totals[region as usize];
                    let total = match random.below(6) {
                        0 => random.u64() as u32,
                        1 => appended.wrapping_add(1),
                        2 => *given,
                        3 => *appended,
                        _ => *given + random.below(u64::from(*appended - *given) + 1) as u32,
                    };
                    host.word(true, region, 0, total);
                    if let Some(model) = &mut model[region as usize] {
                        model.give_back(total);
                    }
                    let rows = total.wrapping_sub(*given);
                    if (1..=*appended - *given).contains(&rows) {
                        *given = total;
                    }
                }
                21..=22 => {
                    // The queue pair breaks, is reset, or begins anew.
                    match random.below(3) {
                        0 => {
                            host.errors.borrow_mut().insert(qp);
                        }
                        1 => host.write([
                            ("cfg_valid", 1),
                            ("cfg_table", QUEUE_PAIR_TABLE),
                            ("cfg_index", qp),
                            ("cfg_word", 15),
                            ("cfg_data", 0),
                        ]),
                        _ => host.write([
                            ("cfg_valid", 1),
                            ("cfg_table", ATTRIBUTES_TABLE),
                            ("cfg_index", qp),
                            ("cfg_word", 7),
                            ("cfg_data", 0),
                        ]),
                    }
                    for region in model.iter_mut().flatten() {
                        region.abandon(qp as u32);
                    }
                    ended[at] = true;
                }
                23..=24 => {
                    if let Some((number, _)) = messages[at].take() {
                        host.release(qp, number);
                        if let Some(region) = &mut model[number as usize] {
                            region.abandon(qp as u32);
                        }
                    }
                }
                _ if ended[at] => {
                    if let Some((number, _)) = messages[at].take() {
                        let (told, _) = host.ask(qp, PD, number, 64, false);
                        assert_eq!(told.verdict, GONE);
                        seen[GONE as usize] += 1;
                        host.settle(STAYS);
                    }
                    host.pair(qp);
                    ended[at] = false;
                }
                _ => {
                    let first = messages[at].is_none();
                    let fresh =
                        if random.chance(0.01) { random.u64() as u32 } else { region as u32 };
                    let (number, before) = messages[at].unwrap_or((fresh, 0));
                    let known = model.get(number as usize).and_then(Option::as_ref);
                    let row = known.map_or(1, |region| region.row_len().min(5_000)).max(1);
                    let bytes = match random.below(4) {
                        0 => random.below(4_097),
                        1 => random.below(40),
                        _ => row * (1 + random.below(4_096 / row + 1)),
                    };
                    let bytes = bytes.min(4_096);
                    let pd = if random.chance(0.02) { PD + 1 } else { PD };
                    let len = before + bytes;
                    let holds = known.is_some_and(|region| region.is_taken_by(qp as u32));
                    let right = match first || holds {
                        true => expected(&mut model, &host.keys, (qp, pd), number, len),
                        false => Told { verdict: LOST, whole: false, first_row: 0 },
                    };
                    let (told, cycles) = host.ask(qp, pd, number, bytes, first);
                    assert!(cycles < 50, "{cycles} cycles");
                    assert_eq!(told.verdict, right.verdict, "{right:?}");
                    seen[told.verdict as usize] += 1;
                    let room = told.verdict == ROOM;
                    if room {
                        assert_eq!(told, right);
                    }
                    let last = random.chance(0.5);
                    if random.chance(0.2) {
                        host.bench.run(random.below(20));
                    }
                    let region = model.get_mut(number as usize).and_then(Option::as_mut);
                    if room && last && told.whole {
                        host.settle(COMMITS);
                        let region = region.expect("it has room");
                        totals[number as usize].0 += (len / region.row_len()) as u32;
                        region.commit(qp as u32, len);
                        messages[at] = None;
                    } else if room && !last && bytes > 0 {
                        host.settle(HOLDS);
                        messages[at] = Some((number, len));
                    } else if told.verdict == LATER && random.chance(0.7) {
                        host.settle(STAYS);
                    } else {
                        host.settle(DROPS);
                        region.into_iter().for_each(|region| region.abandon(qp as u32));
                        messages[at] = None;
                    }
                }
            }
        }
    }
    for (verdict, count) in seen.iter().enumerate() {
        assert!(*count > 4, "{count} of verdict {verdict}: {seen:?}");
    }
    assert!(emptied > 10, "{emptied} regions");
}
