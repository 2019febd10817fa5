//! Compares the records of many chains that are followed at once with those of following one after the other.

use crate::rows::kinds::chaser::Chaser;
use crate::testing;
use drdma_verilated::testbench::{Beat, Bench, DriverId, MonitorId, Random, STALLS};
use drdma_verilated::{Library, Word};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

const LOW: u64 = 0x7_0000_0000;
const HIGH: u64 = LOW + (1 << 20);
const LINK: u64 = 24;
const MARK: u64 = 0x55;

fn library() -> Library {
    testing::library("chaser", Chaser::default)
}

/// Heads of chains, and for each record the pointer to the next one; `None` if it cannot be read.
#[derive(Default)]
struct Lists {
    heads: Vec<u64>,
    next: BTreeMap<u64, Option<u64>>,
    limit: u64,
}

impl Lists {
    /// Adds a chain of `records` records, the last of which leads to `last`.
    fn chain(&mut self, random: &mut Random, records: u64, last: Option<u64>) {
        let mut places = Vec::new();
        for _ in 0..records {
            let mut at = LOW + random.below(HIGH - LOW + 1);
            while self.next.contains_key(&at) {
                at = LOW + random.below(HIGH - LOW + 1);
            }
            self.next.insert(at, last);
            places.push(at);
        }
        self.heads.push(places.first().copied().or(last).unwrap_or(MARK));
        for pair in places.windows(2) {
            self.next.insert(pair[0], Some(pair[1]));
        }
    }

    /// Records in their order, up to the first pointer that leads nowhere, and whether there is such a pointer.
    fn found(&self) -> (Vec<u64>, bool) {
        let mut found = Vec::new();
        for head in &self.heads {
            let (mut at, mut before) = (Some(*head), 0);
            while at != Some(MARK) {
                let Some(pointer) = at.filter(|at| (LOW..=HIGH).contains(at)) else {
                    return (found, true);
                };
                if before == self.limit {
                    return (found, true);
                }
                found.push(pointer);
                before += 1;
                at = self.next[&pointer];
            }
        }
        (found, false)
    }
}

struct Around<'a> {
    bench: Bench<'a>,
    head: DriverId,
    found: MonitorId,
    read: MonitorId,
    random: Random,
    under_way: VecDeque<(u64, (u64, Option<u64>))>,
    most_under_way: usize,
    reads: usize,
    latency: (u64, u64),
    /// Bytes from a record's start to its pointer, and to the first byte that is read.
    link: u64,
    first: u64,
    /// Bytes of a record that are read with its pointer, if they are.
    whole: Option<u64>,
    records: usize,
}

/// Slot of the request.
const SLOT: u64 = 0x5a;

/// Bytes of a record that begins at `at`, as they are read.
fn record(at: u64, bytes: u64, link: u64, next: u64) -> Word {
    let byte = |k| (at.wrapping_add(k).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8;
    let mut record: Vec<u8> = (0..64).map(byte).collect();
    record[link as usize..][..8].copy_from_slice(&next.to_le_bytes());
    record[bytes as usize..].fill(0xee);
    Word::from_bytes(&record)
}

impl<'a> Around<'a> {
    fn new(library: &'a Library, seed: u64) -> Self {
        let mut bench = Bench::new(library.instance(seed), seed);
        bench.limit(20_000_000);
        for port in ["clear", "halt", "linked_valid", "never"] {
            bench.set(port, 0_u64);
        }
        for (port, value) in [("mark", MARK), ("low", LOW), ("high", HIGH), ("request", SLOT)] {
            bench.set(port, value);
        }
        let head = bench.driver("head");
        let [found, read] = ["found", "read"].map(|base| bench.monitor(base));
        Self {
            bench,
            head,
            found,
            read,
            random: Random::new(seed + 70),
            under_way: VecDeque::new(),
            most_under_way: 0,
            reads: 0,
            latency: (1, 1),
            link: LINK,
            first: LINK,
            whole: None,
            records: 0,
        }
    }

    /// Records have their pointer at `link`, and what is wanted of them begins at `skip` and ends at `reach`.
    fn layout(&mut self, link: u64, skip: u64, reach: u64) {
        self.link = link;
        self.first = link.min(skip);
        let near = link <= 56 && (link - self.first).is_multiple_of(8) && reach <= 64;
        self.whole = near.then(|| reach.max(link + 8) - self.first);
        if !near {
            self.first = link;
        }
        for (port, value) in [("link", link), ("skip", skip), ("reach", reach)] {
            self.bench.set(port, value);
        }
    }

    fn step(&mut self, lists: &Lists) {
        let now = self.bench.cycles();
        let due = self.under_way.front().filter(|(due, _)| *due <= now).copied();
        self.bench.set("linked_valid", u64::from(due.is_some()));
        let mut expected = None;
        if let Some((_, (at, pointer))) = due {
            self.under_way.pop_front();
            // A pointer that could not be read looks valid, and must not be used.
            let next = pointer.unwrap_or(LOW);
            let data = record(at, self.whole.unwrap_or(8), self.link - self.first, next);
            expected = (self.whole.is_some() && pointer.is_some()).then_some((at, data.clone()));
            self.bench.set("linked_data", data);
            self.bench.set("linked_error", u64::from(pointer.is_none()));
        }
        self.bench.step();
        let valid = self.bench.get("record_valid") == 1;
        assert_eq!(valid, expected.is_some(), "a record leaves a cycle after its answer");
        if let Some((at, data)) = expected {
            let found = ["addr", "bytes", "skip", "slot"]
                .map(|name| self.bench.get(format!("record_{name}")));
            let bytes = self.whole.expect("a whole record");
            let skip = self.bench.get("skip") - self.first;
            assert_eq!(found, [at + self.first, bytes, skip, SLOT]);
            assert!(self.bench.get_word("record_data") == data, "the record at {at:#x}");
            self.records += 1;
        }
        for read in self.bench.take(self.read) {
            assert_eq!(read.u64("bytes"), self.whole.unwrap_or(8));
            let record = read.u64("addr") - self.first;
            let next = *lists.next.get(&record).expect("the pointer of a record");
            let (least, most) = self.latency;
            let due = self.bench.cycles() + least + self.random.below(most - least + 1);
            self.under_way.push_back((due, (record, next)));
            self.reads += 1;
        }
        self.most_under_way = self.most_under_way.max(self.under_way.len());
    }

    /// Follows all chains. Returns the cycles that this takes.
    fn follow(&mut self, lists: &Lists) -> u64 {
        let (expected, fails) = lists.found();
        self.bench.set("limit", lists.limit);
        let heads = lists.heads.iter().map(|head| Beat::from([("pointer", *head)]));
        self.bench.send_all(self.head, heads.collect::<Vec<_>>());
        let (began, mut found) = (self.bench.cycles(), Vec::new());
        let mut bad = false;
        while !bad {
            self.step(lists);
            for beat in self.bench.take(self.found) {
                bad = bad || beat.u64("bad") == 1;
                if !bad {
                    found.push(beat.u64("pointer"));
                }
            }
            let idle = self.bench.get("empty") == 1 && self.bench.pending(self.head) == 0;
            if idle && found.len() >= expected.len() {
                break;
            }
            assert!(self.bench.cycles() - began < 2_000_000, "it does not end");
        }
        let cycles = self.bench.cycles() - began;
        assert_eq!((found.len(), bad), (expected.len(), fails));
        assert_eq!(found, expected);
        self.bench.set("halt", 1_u64);
        while self.bench.get("busy") == 1 || self.bench.pending(self.head) > 0 {
            self.step(lists);
        }
        (0..4).for_each(|_| self.step(lists));
        let reads = self.reads;
        assert!(self.under_way.is_empty() && self.bench.get("busy") == 0);
        (0..50).for_each(|_| self.step(lists));
        assert_eq!(self.reads, reads, "nothing is read any more");
        // A record that waits to leave must not be dropped while it is offered to the monitor.
        let mut silent = 0;
        while silent < 4 {
            self.step(lists);
            silent = if self.bench.get("found_valid") == 0 { silent + 1 } else { 0 };
        }
        self.bench.take(self.found);
        self.bench.set("clear", 1_u64);
        self.step(lists);
        self.bench.set("clear", 0_u64);
        self.bench.set("halt", 0_u64);
        self.bench.take(self.found);
        cycles
    }
}

#[test]
fn records_are_those_of_one_chain_after_the_other() {
    let library = library();
    let (mut failed, mut all, mut whole) = (BTreeSet::new(), 0, 0);
    for seed in 0..8 {
        let mut around = Around::new(&library, seed);
        around.bench.stall(STALLS[seed as usize % STALLS.len()]);
        let mut random = Random::new(seed);
        for round in 0..30 {
            around.latency = [(1, 1), (1, 90), (300, 330)][random.below(3) as usize];
            let skip = random.below(57);
            let link = match random.below(4) {
                0 => random.below(skip + 1),
                1 => random.below(70),
                _ => skip % 8 + 8 * random.below(8),
            };
            around.layout(link, skip, skip + 1 + random.below(64 - skip + 9));
            let chains = random.below(150);
            let longest = [2, 9, 100, 300][random.below(4) as usize];
            let mut lists = Lists { limit: longest, ..Lists::default() };
            for _ in 0..chains {
                let records = random.below(longest.min(12) + 1);
                let records = if random.below(20) == 0 { longest } else { records };
                let mut last = Some(MARK);
                if random.below(400) == 0 {
                    let kind = random.below(5);
                    failed.insert(kind);
                    last = match kind {
                        0 => None,
                        1 => Some(LOW - 1),
                        2 => Some(HIGH + 1),
                        3 => Some(u64::MAX - 3),
                        // The chain leads into a chain that exists already.
                        _ => lists.next.keys().next().copied().or(last),
                    };
                }
                lists.chain(&mut random, records, last);
            }
            // Some chains have more records than the limit.
            if random.below(8) == 0 {
                lists.limit = longest - 1;
            }
            println!("seed {seed}, round {round}: {chains} chains, {:?}", around.latency);
            around.follow(&lists);
            all += lists.found().0.len();
        }
        whole += around.records;
    }
    println!("{failed:?}, {all} records, {whole} of them read whole");
    assert!(failed.len() == 5 && all > 20_000, "{failed:?}, {all} records");
    assert!(whole > all / 4 && whole < all * 3 / 4, "{whole} of {all} records are read whole");
}

#[test]
fn hops_of_64_chains_share_a_round_trip() {
    const LATENCY: u64 = 300;
    let library = library();
    let mut random = Random::new(3);
    // Chains, records of each, round trips, and largest number of reads at once.
    for (chains, records, trips, most) in
        [(64, 8, 8, 64), (1, 8, 8, 1), (16, 8, 8, 16), (128, 8, 16, 64), (1, 500, 500, 1)]
    {
        let mut around = Around::new(&library, 0);
        around.bench.stall((0.0, 0.0));
        around.latency = (LATENCY, LATENCY);
        around.layout(LINK, 0, 64);
        let mut lists = Lists { limit: 1000, ..Lists::default() };
        (0..chains).for_each(|_| lists.chain(&mut random, records, Some(MARK)));
        let cycles = around.follow(&lists);
        println!(
            "{chains} chains of {records}: {cycles} cycles, {} reads at once",
            around.most_under_way
        );
        // A hop takes a few cycles beside its round trip, and each record takes a cycle to leave.
        let least = trips * (LATENCY + 8) + chains * records + 64;
        assert!(cycles <= least, "{cycles} cycles");
        assert_eq!(around.most_under_way, most);
        assert_eq!(around.reads as u64, chains * records);
    }
}
