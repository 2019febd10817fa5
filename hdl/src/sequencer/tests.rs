mod columns;
mod partitioned;
mod pointers;
mod selector;

use super::reference::{Dest, Event, Region, beat_starts, chunk_rows};
use super::*;
use crate::testing;
use columns::ColumnPath;
use drdma_abi::completion::Status;
use drdma_abi::work_request::RegionType;
use drdma_verilated::testbench::{Beat, Bench, MonitorId, Random, STALLS};
use drdma_verilated::{Library, Word};
use partitioned::{Shared, partition};
use std::collections::BTreeMap;

fn library() -> Library {
    testing::library("sequencer", Sequencer::default)
}

/// A request, as the decoder passes it on.
#[derive(Clone, Debug)]
struct Request {
    dests: Vec<Dest>,
    /// The decoder's status and destination that failed.
    status: (u8, u8),
    /// The ids of a partitioned request, whose destinations have bitmaps as they would be made of
    /// them.
    shared: Option<Shared>,
}

/// Bits as a bitmap.
fn bytes(bits: &[bool]) -> Vec<u8> {
    let byte = |c: &[bool]| c.iter().rev().fold(0, |byte, &bit| byte << 1 | u8::from(bit));
    bits.chunks(8).map(byte).collect()
}

/// A sequencer with a decoder before it and memory beside it.
struct Card<'a> {
    bench: Bench<'a>,
    tokens: MonitorId,
    random: Random,
    memory: BTreeMap<u64, (Vec<u8>, bool)>,
    /// Cycles from a read to its answer.
    latency: u64,
    answers: std::collections::VecDeque<(u64, Beat)>,
    request: drdma_verilated::testbench::DriverId,
    req: MonitorId,
    resp: drdma_verilated::testbench::DriverId,
    next_set: u16,
    next_dest: u16,
    next_slot: u8,
    /// First set of each destination, by its place.
    first_sets: BTreeMap<u16, u16>,
    next_addr: u64,
    /// Requests that have ended and not left the segmenter.
    releases: u32,
    columns: ColumnPath,
    /// Bytes that were read.
    read: u64,
}

impl Card<'_> {
    fn new(library: &Library, seed: u64) -> Self {
        let mut bench = Bench::new(library.instance(seed), seed);
        bench.limit(3_000_000);
        let tokens = bench.monitor("token");
        let request = bench.driver("request");
        let (req, resp) = (bench.monitor("read_req"), bench.driver("read_resp"));
        let mut random = Random::new(seed);
        let columns = ColumnPath::new(&mut bench, seed);
        Self {
            columns,
            tokens,
            request,
            req,
            resp,
            bench,
            memory: BTreeMap::new(),
            latency: 325,
            answers: Default::default(),
            next_set: random.below(2048) as u16,
            next_dest: random.below(1024) as u16,
            next_slot: random.u64() as u8,
            first_sets: BTreeMap::new(),
            next_addr: 0x7000_0000_0000,
            releases: 0,
            read: 0,
            random,
        }
    }

    fn step(&mut self) {
        self.bench.step();
        let now = self.bench.cycles();
        for read in self.bench.take(self.req) {
            let (addr, bytes) = (read.u64("addr"), read.u64("bytes") as usize);
            assert!((1..=4096).contains(&bytes));
            self.read += bytes as u64;
            let (start, (data, fails)) = self.memory.range(..=addr).next_back().unwrap();
            let from = (addr - start) as usize;
            assert!(from + bytes <= data.len(), "a read beyond the array");
            for (i, part) in data[from..from + bytes].chunks(64).enumerate() {
                let mut padded = self.random.bytes(64);
                padded[..part.len()].copy_from_slice(part);
                let beat = Beat::from([("data", Word::from_bytes(&padded))])
                    .with("last", (i + 1) * 64 >= bytes)
                    .with("error", *fails);
                self.answers.push_back((now + self.latency, beat));
            }
        }
        self.columns.step(&mut self.bench);
        while self.answers.front().is_some_and(|(due, _)| *due <= now) {
            let (_, beat) = self.answers.pop_front().unwrap();
            self.bench.send(self.resp, beat);
        }
    }

    fn pulse(&mut self, stream: &str, fields: &[(&str, Word)]) {
        for (name, value) in fields {
            self.bench.set(format!("{stream}_{name}"), value.clone());
        }
        self.bench.set(format!("{stream}_valid"), 1);
        self.step();
        self.bench.set(format!("{stream}_valid"), 0);
    }

    /// Writes a request's tables and posts it.
    fn post(&mut self, request: &mut Request) -> (u8, u16) {
        let (slot, first_dest) = (self.next_slot, self.next_dest);
        self.next_slot = slot.wrapping_add(1);
        let first = request.dests.first().cloned();
        let shared_set = self.next_set;
        for (index, dest) in request.dests.iter_mut().enumerate() {
            let first_set = if request.shared.is_some() { shared_set } else { self.next_set };
            let alike = first.as_ref().is_some_and(|first| dest.is_alike(first));
            // One region for all.
            let own = if request.shared.is_some() && index > 0 { 0 } else { dest.regions.len() };
            for region in &mut dest.regions[..own] {
                let set = self.next_set;
                self.next_set = (set + 1) % 2048;
                let data = match region.kind {
                    _ if request.shared.is_some() => {
                        request.shared.as_ref().map_or(Vec::new(), Shared::bytes)
                    }
                    RegionType::Bitmapped => bytes(&region.bits),
                    _ => region.pointers.iter().flat_map(|p| p.to_le_bytes()).collect::<Vec<_>>(),
                };
                region.addr = self.next_addr + self.random.below(100);
                self.next_addr = region.addr + data.len() as u64 + 64;
                self.memory.insert(region.addr, (data, region.fails));
                let mut target_addr = region.target_addr;
                let fetch = region.fetch.as_ref().filter(|_| request.shared.is_none());
                if let Some((rows, fails)) = fetch {
                    let data = bytes(rows);
                    target_addr = self.next_addr + self.random.below(100);
                    self.next_addr = target_addr + data.len() as u64 + 64;
                    self.memory.insert(target_addr, (data, *fails));
                }
                for (lane, &(base, step, len)) in region.lanes.iter().enumerate() {
                    self.pulse(
                        "lane_write",
                        &[
                            ("set", set.into()),
                            ("lane", lane.into()),
                            ("base", base.into()),
                            ("step", step.into()),
                            ("len", len.into()),
                        ],
                    );
                }
                self.pulse(
                    "set_write",
                    &[
                        ("set", set.into()),
                        ("kind", (region.kind as u8).into()),
                        ("addr", region.addr.into()),
                        ("count", region.count.into()),
                        ("ids", request.shared.as_ref().map_or(0, |s| s.width).into()),
                        ("lanes", region.lanes.len().into()),
                        ("row_bytes", region.row_bytes().into()),
                        ("beat_start", beat_starts(&region.lanes).into()),
                        ("fetch", u64::from(fetch.is_some()).into()),
                        ("target_addr", target_addr.into()),
                        ("target_len", region.target_len.into()),
                        ("low", if fetch.is_some() { 0 } else { region.low }.into()),
                        ("high", region.high.into()),
                    ],
                );
            }
            let partition = request.shared.as_ref().map_or(0, |s| s.partitions[index]);
            let place = self.next_dest;
            self.next_dest = (place + 1) % 1024;
            self.first_sets.insert(place, first_set);
            self.pulse(
                "dest_write",
                &[
                    ("dest", place.into()),
                    ("sets", dest.regions.len().into()),
                    ("first_set", first_set.into()),
                    ("opcode", (if dest.is_write { 2_u8 } else { 0 }).into()),
                    ("transport", (if dest.is_ud { 2_u8 } else { 0 }).into()),
                    ("log_mtu", dest.log_mtu.into()),
                    ("element_mask", dest.element_mask.into()),
                    ("rows_per_message", dest.units.into()),
                    ("alike", u64::from(alike).into()),
                    ("partition", partition.into()),
                ],
            );
        }
        let beat = Beat::from([("slot", u64::from(slot)), ("dests", request.dests.len() as u64)])
            .with("first_dest", first_dest)
            .with("status", request.status.0)
            .with("bad_dest", request.status.1);
        self.bench.send(self.request, beat);
        (slot, first_dest)
    }

    /// Runs until `count` requests have ended, and gives their tokens.
    fn finish(&mut self, count: usize) -> Vec<Vec<Beat>> {
        let mut requests = vec![Vec::new()];
        while requests.len() <= count {
            self.step();
            for token in self.bench.take(self.tokens) {
                let ends = token.u64("request_end") == 1;
                requests.last_mut().unwrap().push(token);
                if ends {
                    requests.push(Vec::new());
                    self.releases += 1;
                }
            }
            // What has ended leaves the segmenter some time later.
            let release = self.releases > 0 && self.random.chance(0.1);
            self.releases -= u32::from(release);
            self.bench.set("release_valid", release);
        }
        for _ in 0..40 {
            let release = self.releases > 0;
            self.releases -= u32::from(release);
            self.bench.set("release_valid", release);
            self.step();
        }
        assert_eq!(self.bench.take(self.tokens), [], "tokens too many");
        requests.pop();
        requests
    }
}

/// What the tokens of a request say, by destination; checks what is the same for all.
fn events(tokens: &[Beat], request: &Request, posted: (u8, u16), card: &Card) -> Vec<Vec<Event>> {
    let mut events = vec![Vec::new(); request.dests.len()];
    for token in &tokens[..tokens.len() - 1] {
        assert_eq!(token.u64("slot"), u64::from(posted.0));
        let index = (token.u64("dest") as u16).wrapping_sub(posted.1) % 1024;
        let dest = &request.dests[index as usize];
        let events = &mut events[index as usize];
        if token.u64("message_start") == 1 {
            events.push(Event::MessageStart(token.u64("message_bytes") as u32));
        } else {
            assert_eq!(token.u64("message_bytes"), 0);
        }
        if token.u64("bytes") != 0 {
            let set = token.u64("set") as u16;
            let first_set = card.first_sets[&(token.u64("dest") as u16)];
            let region = &dest.regions[(set.wrapping_sub(first_set) % 2048) as usize];
            let (first, last) = (token.u64("first") as usize, token.u64("last") as usize);
            let piece = token.u64("piece") == 1;
            assert!(!piece || first == last);
            let mut sum = 0;
            for lane in first..=last {
                let bytes = if piece { token.u64("bytes") as u32 } else { region.lanes[lane].2 };
                let offset = token.u64("offset") as u32;
                assert!(piece || offset == 0);
                sum += bytes;
                let (row, pointer) = (token.u64("row") as u32, token.u64("pointer"));
                if region.kind != RegionType::PointerMapped {
                    assert_eq!(pointer, 0, "only a pointer-mapped region has pointers");
                }
                let lane = lane as u8;
                events.push(Event::Fragment { set, lane, row, pointer, offset, bytes });
            }
            assert_eq!(u64::from(sum), token.u64("bytes"));
            assert!(sum <= 64);
            events.push(Event::Beat);
        } else {
            assert_eq!((token.u64("dest_end"), token.u64("unit_end")), (1, 0), "an empty token");
        }
        let flags = [
            ("unit_end", Event::UnitEnd),
            ("message_end", Event::MessageEnd),
            ("dest_end", Event::DestEnd),
        ];
        for (flag, event) in flags {
            if token.u64(flag) == 1 {
                events.push(event);
            }
        }
    }
    events
}

fn check(tokens: &[Beat], request: &Request, posted: (u8, u16), card: &Card) {
    let end = tokens.last().unwrap();
    assert_eq!(end.u64("bytes"), 0);
    assert_eq!(end.u64("slot"), u64::from(posted.0));
    let (mut status, mut bad_dest) = request.status;
    if status == 0 {
        let first = request.dests.iter().enumerate().find_map(|(i, d)| Some((i, d.check()?)));
        if let Some((i, failed)) = first {
            (status, bad_dest) = (failed as u8, i as u8);
            if request.shared.is_some() && failed == Status::LocalProtectionError {
                // Ids that cannot be read are the first destination's failure.
                bad_dest = 0;
            }
        }
    }
    let rows = chunk_rows(&request.dests, card.columns.min_rows).filter(|_| status == 0);
    let tokens = card.columns.check(tokens, request, posted, card, rows);
    let found = events(&tokens, request, posted, card);
    let ended = (end.u64("status") as u8, end.u64("bad_dest") as u8);
    // A failure of a destination names it, so that its queue pair fails.
    let breaks = ended.0 != 0 && (request.status.0 == 0 || !request.dests.is_empty());
    assert_eq!(end.u64("dest_end") == 1, breaks);
    if breaks {
        assert_eq!(end.u64("dest"), u64::from((posted.1 + u16::from(ended.1)) % 1024));
    }
    if status != 0 {
        assert_eq!(ended, (status, bad_dest));
        assert!(found.iter().all(Vec::is_empty), "tokens of a request that fails");
        return;
    }
    let fails = |d: &Dest| d.regions.iter().any(|r| r.fails && r.count > 0);
    let failing = request.dests.iter().position(fails);
    match failing {
        Some(dest) => assert_eq!(ended, (Status::LocalProtectionError as u8, dest as u8)),
        None => assert_eq!(ended, (0, 0)),
    }
    if rows.is_some() {
        assert!(found.iter().all(Vec::is_empty), "tokens of a column request's rows");
        return;
    }
    for (i, dest) in request.dests.iter().enumerate() {
        let first_set = card.first_sets[&((posted.1 + i as u16) % 1024)];
        let expected = dest.events(first_set, request.dests.len() == 1);
        if failing.is_some() {
            assert!(expected.starts_with(&found[i]), "destination {i}");
        } else if let Some(at) =
            (0..expected.len().max(found[i].len())).find(|&k| expected.get(k) != found[i].get(k))
        {
            let from = at.saturating_sub(5);
            panic!(
                "destination {i} {dest:?}, event {at}:\nexpected {:#?}\nfound {:#?}",
                &expected[from.min(expected.len())..(at + 5).min(expected.len())],
                &found[i][from.min(found[i].len())..(at + 5).min(found[i].len())],
            );
        }
    }
}

fn random_region(random: &mut Random, scale: u64) -> Region {
    let kind = RegionType::ALL[random.below(4) as usize];
    let lanes = if kind == RegionType::Contiguous { 1 } else { 1 + random.below(16) };
    let len = |random: &mut Random| -> u32 {
        1 + match random.below(20) {
            0 => random.below(3000) as u32,
            4 => [62, 63, 64, 127, 128, 191, 4095][random.below(7) as usize],
            1..=3 => random.below(100) as u32,
            _ => random.below(12) as u32,
        }
    };
    let lanes: Vec<(u64, u64, u32)> = (0..lanes)
        .map(|_| {
            let len = len(random);
            let step = match kind {
                RegionType::Strided => 1 + random.below(400),
                RegionType::Bitmapped => u64::from(len),
                _ => 0,
            };
            (random.u64(), step, len)
        })
        .collect();
    let count = match random.below(6) {
        0 => random.below(3),
        1 => random.below(scale),
        _ => random.below(40),
    } as u32;
    let density = [0.0, 0.02, 0.3, 1.0][random.below(4) as usize];
    let bits = (0..count).map(|_| random.chance(density)).collect();
    let low = random.below(100);
    let high = u128::from(low) + 200;
    let (target_addr, target_len) = match random.below(3) {
        0 => (0, 100_000),
        1 => (u64::MAX - 99_999, 100_000),
        _ => (random.u64() >> 1, 100_000 + random.below(1 << 20)),
    };
    let first = target_addr.saturating_sub(low);
    let pointers = (0..if kind == RegionType::PointerMapped { count } else { 0 })
        .map(|i| match i {
            0 => first,
            1 => (u128::from(target_addr) + u128::from(target_len) - high) as u64,
            _ => target_addr + random.below(target_len - high as u64),
        })
        .collect();
    let count = if kind == RegionType::Contiguous { random.u64() as u32 } else { count };
    Region {
        kind,
        addr: 0,
        count,
        lanes,
        bits,
        fetch: None,
        pointers,
        target_addr,
        target_len,
        low,
        high,
        fails: false,
    }
}

/// Makes all regions have as many elements.
fn equalize(random: &mut Random, regions: &mut [Region]) {
    if regions.len() < 2 {
        return;
    }
    let contiguous = regions.iter().any(|r| r.kind == RegionType::Contiguous);
    let mut elements = if contiguous { 1 } else { random.below(200) as usize };
    let strided = regions.iter().filter(|r| r.kind == RegionType::Strided);
    let widths: Vec<_> = strided.map(|r| r.lanes.len()).collect();
    if !contiguous {
        // A multiple of every pattern's length; few, where there is none.
        let fits = |n: &usize| widths.iter().all(|w| n.is_multiple_of(*w));
        elements = (elements..elements + 400).find(fits).unwrap_or(0);
    }
    for region in regions {
        match region.kind {
            RegionType::Contiguous => {}
            RegionType::Strided => {
                if !elements.is_multiple_of(region.lanes.len()) {
                    region.lanes.truncate(1);
                }
                region.count = (elements / region.lanes.len()) as u32;
            }
            RegionType::Bitmapped => {
                let gap = random.below(100);
                region.bits.clear();
                for _ in 0..elements {
                    for _ in 0..random.below(gap + 1) {
                        region.bits.push(false);
                    }
                    region.bits.push(true);
                }
                region.count = region.bits.len() as u32;
            }
            RegionType::PointerMapped => {
                let room = region.target_len - region.high as u64;
                let low = region.target_addr;
                region.pointers = (0..elements).map(|_| low + random.below(room)).collect();
                region.count = elements as u32;
            }
        }
    }
}

fn random_dest(random: &mut Random, element_mask: bool, several: bool, units: u32) -> Dest {
    let regions = match random.below(5) {
        0 => 0,
        1 | 2 => 1,
        3 => random.below(4),
        _ => random.below(17),
    };
    let scale = if several { 500 } else { 3000 };
    let is_write = random.chance(0.4);
    let is_ud = !is_write && random.chance(0.3);
    let mut all: Vec<_> = (0..regions).map(|_| random_region(random, scale)).collect();
    if element_mask && random.chance(0.9) {
        equalize(random, &mut all);
    }
    Dest { regions: all, is_write, is_ud, log_mtu: 8 + random.below(5) as u32, element_mask, units }
}

fn random_request(random: &mut Random) -> Request {
    if random.chance(0.05) {
        let status = (2, random.below(64) as u8);
        return Request { dests: Vec::new(), status, shared: None };
    }
    let dests = match random.below(8) {
        0..=4 => 1,
        5 => 2 + random.below(3),
        6 => 2 + random.below(10),
        _ => 64,
    };
    let element_mask = random.chance(0.3);
    let units = match random.below(6) {
        0..=2 => 1,
        3 => 2 + random.below(5) as u32,
        4 => 2 + random.below(300) as u32,
        _ => u32::MAX,
    };
    let dests = (0..dests).map(|_| random_dest(random, element_mask, dests > 1, units)).collect();
    let mut request = Request { dests, status: (0, 0), shared: None };
    for region in request.dests.iter_mut().flat_map(|dest| &mut dest.regions) {
        if region.kind == RegionType::Bitmapped && random.chance(0.3) {
            region.fetch = Some((vec![true; region.bits.len()], random.chance(0.3)));
        }
    }
    if random.chance(0.3) {
        partition(random, &mut request);
    }
    request
}

/// Spoils a request in one way, perhaps.
fn spoil(random: &mut Random, request: &mut Request) {
    let n = request.dests.len() as u64;
    if n == 0 || random.chance(0.6) {
        return;
    }
    if request.shared.is_some() {
        request.dests.iter_mut().for_each(|dest| dest.regions[0].fails = true);
        return;
    }
    let dest = random.below(n) as usize;
    let regions = &mut request.dests[dest].regions;
    if regions.is_empty() {
        return;
    }
    let region = random.below(regions.len() as u64) as usize;
    let region = &mut regions[region];
    match region.kind {
        RegionType::PointerMapped if !region.pointers.is_empty() && random.chance(0.8) => {
            let at = random.below(region.pointers.len() as u64) as usize;
            let end = u128::from(region.target_addr) + u128::from(region.target_len);
            region.pointers[at] = match random.below(3) {
                0 if region.target_addr > region.low => region.target_addr - region.low - 1,
                1 => (end - region.high + 1) as u64,
                _ => region.target_addr ^ 1 << 63,
            };
        }
        RegionType::PointerMapped | RegionType::Bitmapped => region.fails = true,
        _ => {}
    }
}

#[test]
fn tokens_are_the_rows_of_the_request() {
    let library = library();
    let mut by_ids = 0;
    for seed in (1..=18).chain([223]) {
        let mut card = Card::new(&library, seed);
        let mut random = Random::new(seed + 1000);
        let stalls = STALLS[seed as usize % STALLS.len()];
        card.bench.stall(stalls);
        card.latency = [325, 1, 40][seed as usize % 3];
        let mut requests: Vec<_> = (0..12).map(|_| random_request(&mut random)).collect();
        requests.iter_mut().for_each(|r| spoil(&mut random, r));
        by_ids += requests.iter().filter(|r| r.shared.is_some()).count();
        let mut sets = 0;
        requests.retain(|r| {
            sets += r.dests.iter().map(|d| d.regions.len()).sum::<usize>();
            sets <= 2000
        });
        let posted: Vec<_> = requests.iter_mut().map(|r| card.post(r)).collect();
        let tokens = card.finish(requests.len());
        for (i, request) in requests.iter().enumerate() {
            println!("seed {seed}, request {i}, {} tokens", tokens[i].len());
            check(&tokens[i], request, posted[i], &card);
        }
    }
    assert!(by_ids > 20, "{by_ids} partitioned requests");
}

fn region(kind: RegionType, lanes: Vec<(u64, u64, u32)>, count: u32) -> Region {
    Region {
        kind,
        addr: 0,
        count,
        lanes,
        bits: vec![true; count as usize],
        fetch: None,
        pointers: (0..u64::from(count)).map(|i| 4096 + i * 1000).collect(),
        target_addr: 0,
        target_len: 1 << 40,
        low: 0,
        high: 64,
        fails: false,
    }
}

fn dest(regions: Vec<Region>, element_mask: bool) -> Dest {
    Dest { regions, is_write: false, is_ud: false, log_mtu: 12, element_mask, units: 1 }
}

/// Runs a request at 325 cycles of latency: cycles from the first to the last token.
fn cycles(library: &Library, mut request: Request) -> (u64, u64) {
    let mut card = Card::new(library, 7);
    let posted = card.post(&mut request);
    let before = card.bench.cycles();
    let tokens = card.finish(1);
    check(&tokens[0], &request, posted, &card);
    let at = card.bench.received_at(card.tokens);
    (at[0] - before, at[at.len() - 1] - at[0])
}

fn one(dest: Dest) -> Request {
    Request { dests: vec![dest], status: (0, 0), shared: None }
}

#[test]
fn a_request_behind_a_failed_queue_pair_is_flushed() {
    let library = library();
    let mut card = Card::new(&library, 7);
    let rows = || region(RegionType::Strided, vec![(0, 8, 8)], 4);
    let mut request = one(dest(vec![rows()], false));
    // The queue pair fails while the request waits behind one that failed.
    let mut bad = one(dest(vec![rows()], false));
    bad.status = (Status::LocalProtectionError as u8, 0);
    card.post(&mut bad);
    card.post(&mut request);
    card.post(&mut bad);
    card.bench.run(200);
    card.bench.set("qp_error", 1_u64);
    let tokens = card.finish(3);
    let end = |k: usize| tokens[k].last().unwrap();
    assert_eq!(end(0).u64("status"), Status::LocalProtectionError as u64);
    assert_eq!(end(0).u64("dest_end"), 1);
    assert_eq!((tokens[1].len(), end(1).u64("status")), (1, Status::WrFlushError as u64));
    assert_eq!(end(1).u64("dest_end"), 0, "the queue pair has failed already");
    assert_eq!((tokens[2].len(), end(2).u64("status")), (1, Status::WrFlushError as u64));
}

#[test]
fn a_row_a_cycle_of_every_kind() {
    let library = library();
    let columns = || vec![(0, 8, 8), (1 << 20, 4, 4), (1 << 21, 4, 4)];
    for kind in [RegionType::Strided, RegionType::Bitmapped, RegionType::PointerMapped] {
        let (first, rest) =
            cycles(&library, one(dest(vec![region(kind, columns(), 20_000)], false)));
        println!("{kind:?}: first token after {first} cycles, then {rest}");
        assert!((20_000..20_040).contains(&rest), "{kind:?}: {rest} cycles for 20,000 rows");
        // Pointers are scanned first, eight a cycle.
        let scan = if kind == RegionType::PointerMapped { 325 + 2500 + 20 } else { 0 };
        let read = if kind == RegionType::Strided { 0 } else { 325 };
        assert!(first < 40 + scan + read, "{kind:?}: {first} cycles");
    }
}

#[test]
fn a_beat_a_cycle_of_long_rows() {
    let library = library();
    let wide = vec![(0, 4000, 1000), (1 << 20, 4000, 40), (1 << 21, 4000, 30), (1 << 22, 4000, 30)];
    let (_, rest) =
        cycles(&library, one(dest(vec![region(RegionType::Strided, wide, 300)], false)));
    assert!((300 * 18..300 * 18 + 20).contains(&rest), "{rest} cycles for 300 rows of 18 beats");
}

#[test]
fn an_element_a_cycle_of_several_regions() {
    let library = library();
    let column = |i: u64| region(RegionType::Strided, vec![(i << 20, 4, 4)], 4000);
    let (_, rest) = cycles(&library, one(dest((0..5).map(column).collect(), true)));
    assert!((20_000..20_020).contains(&rest), "{rest} cycles for 20,000 elements");
}

#[test]
fn destinations_take_turns_and_their_bitmaps_are_read_ahead() {
    let library = library();
    let mut request = Request { dests: Vec::new(), status: (0, 0), shared: None };
    let mut rows = 0;
    for i in 0..64_u64 {
        let columns = vec![(0, 8, 8), (1 << 24, 8, 8), (1 << 25, 4, 4)];
        let mut region = region(RegionType::Bitmapped, columns, 16_384);
        for (row, bit) in region.bits.iter_mut().enumerate() {
            *bit = ((row as u64 * 0x9e37_79b9) >> 7) & 63 == i;
            rows += u64::from(*bit);
        }
        request.dests.push(dest(vec![region], false));
    }
    assert_eq!(rows, 16_384);
    let (_, rest) = cycles(&library, request);
    println!("64 destinations, 16,384 rows in all: {rest} cycles");
    // 32 chunks of 512 rows: 64 x 8 words of each bitmap chunk, and few cycles a turn.
    assert!(rest < 32 * 64 * 20, "{rest} cycles");
}

#[test]
fn chunks_begin_at_the_first_destination_and_fit_a_window() {
    let library = library();
    let mut card = Card::new(&library, 3);
    let columns = || vec![(0, 8, 8), (1 << 24, 8, 8), (1 << 25, 4, 4)];
    let regions = || vec![region(RegionType::Strided, columns(), 2000)];
    let dests = (0..3).map(|_| dest(regions(), false)).collect();
    let mut request = Request { dests, status: (0, 0), shared: None };
    let posted = card.post(&mut request);
    let tokens = card.finish(1);
    check(&tokens[0], &request, posted, &card);
    let starts: Vec<_> = tokens[0].iter().filter(|t| t.u64("chunk_start") == 1).collect();
    let rows: Vec<_> = starts.iter().map(|t| t.u64("row")).collect();
    assert_eq!(rows, [0, 512, 1024, 1536], "12 KiB hold 512 rows that span 20 bytes");
    assert!(starts.iter().all(|t| t.u64("dest") == u64::from(posted.1)));
    assert!(starts.iter().all(|t| t.u64("chunk_blocks") == 512 * 20 / 256 + 3));
}

#[test]
fn short_requests_follow_each_other_closely() {
    let library = library();
    let mut card = Card::new(&library, 5);
    let mut requests: Vec<_> = (0..100)
        .map(|_| one(dest(vec![region(RegionType::Contiguous, vec![(0, 0, 64)], 1)], false)))
        .collect();
    let posted: Vec<_> = requests.iter_mut().map(|r| card.post(r)).collect();
    let tokens = card.finish(100);
    (0..100).for_each(|i| check(&tokens[i], &requests[i], posted[i], &card));
    let at = card.bench.received_at(card.tokens);
    let each = (at[199] - at[1]) / 99;
    println!("{each} cycles a request");
    assert!(each <= 8, "{each} cycles a request");
}

#[test]
fn a_short_message_waits_for_nothing() {
    let library = library();
    let of = |bytes| region(RegionType::Contiguous, vec![(0, 0, bytes)], 1);
    let (first, end) = cycles(&library, one(dest(vec![of(64)], false)));
    assert_eq!((first, end), (8, 1), "its token, and that of the request's end");
    let (first, _) = cycles(&library, one(dest(vec![of(65)], false)));
    assert_eq!(first, 10, "a unit that is cut");
}
