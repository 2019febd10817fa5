//! Compares the messages of the walk with those of the semantics, one by one.

mod bench;
mod chaser;
mod cycles;
mod generate;
mod lines;
mod turns;

use crate::context::REGION_TABLE;
use crate::context::testing::clear_tables;
use crate::testing;
use bench::WithTables;
use drdma_abi::register::MemoryRegionEntry;
use drdma_abi::roce::Transport;
use drdma_abi::work_request::{MessageLayout, Opcode, RegionType};
use drdma_semantics::checks::{Directory, QueuePair, check_contents};
use drdma_semantics::kinds::{Entry, Kind, Kinds, Selection};
use drdma_semantics::memory::{HostMemory, Segments};
use drdma_semantics::partitioned::Partitioned;
use drdma_semantics::region::{Region, RowMask};
use drdma_semantics::request::{Destination, Request};
use drdma_verilated::testbench::{Beat, Bench, DriverId, MonitorId, Random, STALLS};
use drdma_verilated::{Library, Word};
use generate::{Maker, TAIL_BYTES};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// Host address at which memory begins.
const BASE: u64 = 0x0012_3400_0000_0ff0;
/// Number of random bytes at the beginning of memory.
const POOL: u64 = 1 << 14;
/// Bytes of memory.
const SIZE: u64 = 1 << 19;
const PD: u32 = 9;
/// Key of all memory.
const ALL: u32 = 0x0100_0003;
/// Key of memory that does not exist.
const NOWHERE: u32 = 0x0300_0005;
const LOG_MTU: u32 = 8;
/// Places of the ring of destinations.
const DESTS: u64 = 1024;

/// Records of chains that are kept: few enough that many requests have more.
const FEW_RECORDS: usize = 12;

fn library() -> Library {
    testing::library("kinds", WithTables::<FEW_RECORDS>::default)
}

struct Memories {
    ud: bool,
}

impl Directory for Memories {
    fn memory_region(&self, lkey: u32) -> Option<MemoryRegionEntry> {
        entries().into_iter().find(|entry| entry.lkey == lkey)
    }

    fn queue_pair(&self, _: u32) -> Option<QueuePair> {
        let transport = if self.ud { Transport::Ud } else { Transport::Rc };
        Some(QueuePair { ready: true, transport, mtu: 1 << LOG_MTU, error: false, pd: PD })
    }
}

fn entries() -> Vec<MemoryRegionEntry> {
    let entry =
        |lkey, addr, len| MemoryRegionEntry { addr, len, lkey, rights: 0, pd: PD, valid: 1 };
    vec![entry(ALL, BASE, SIZE), entry(NOWHERE, BASE + SIZE, SIZE)]
}

/// A lane as the decoder writes it: `kind` has its kind, `log_entry`, `width`, `addr` and `number`.
struct LaneOf {
    base: u64,
    step: u64,
    len: u64,
    kind: [u64; 5],
}

fn kind_of(kind: &Kind) -> ([u64; 5], u64) {
    match *kind {
        Kind::Fixed { width } => ([0, 0, width.into(), 0, 0], width.into()),
        Kind::Bits { first } => ([1, 0, first.into(), 0, 0], 0),
        Kind::Offsets { log_entry, data, lkey } => {
            ([2, log_entry.into(), 0, data, lkey.into()], 1 << log_entry)
        }
        Kind::Views { table, count, .. } => ([3, 0, 0, table, count.into()], 16),
        Kind::Dictionary { log_entry, values, width, count, .. } => {
            ([4, log_entry.into(), width.into(), values, count.into()], 1 << log_entry)
        }
    }
}

fn column(entry: &Entry) -> LaneOf {
    let (kind, step) = kind_of(&entry.kind);
    LaneOf { base: entry.offset, step, len: entry.kind.entry_len(), kind }
}

fn plain(base: u64, step: u64, len: u64) -> LaneOf {
    LaneOf { base, step, len, kind: [0; 5] }
}

/// Exchanges the host's memory for `memory` in cycle `due`, and again every `every` cycles.
struct Change {
    due: u64,
    every: u64,
    memory: Segments,
}

struct Around<'a> {
    bench: Bench<'a>,
    read: MonitorId,
    beat: DriverId,
    token: MonitorId,
    made: MonitorId,
    memory: Segments,
    latency: u64,
    under_way: VecDeque<(u64, Beat)>,
    /// Base, step and length of each lane, by set and lane.
    lanes: BTreeMap<(u64, u64), [u64; 3]>,
    next_set: u64,
    next_dest: u64,
    /// Change that the host makes to memory, if any.
    change: Option<Change>,
    /// All bytes of memory, for answers with an error; empty if these have zeros.
    behind: Vec<u8>,
    /// Ranges that may be read, as in [`Maker::named`]; empty if all of memory may be read.
    named: Vec<Range<u64>>,
    /// Ranges of all reads, in their order.
    reads: Vec<Range<u64>>,
}

impl<'a> Around<'a> {
    fn new(library: &'a Library, seed: u64) -> Self {
        let mut bench = Bench::new(library.instance(seed), seed);
        bench.limit(20_000_000);
        for flow in ["lane", "set", "dest", "asked", "next"] {
            bench.set(format!("{flow}_valid"), 0_u64);
        }
        bench.set("forget", 0_u64);
        clear_tables(&mut bench);
        let beat = bench.driver("beat");
        let [read, token, made] = ["read", "token", "made"].map(|base| bench.monitor(base));
        bench.stall(STALLS[seed as usize % STALLS.len()]);
        let latency = [300, 1, 40][seed as usize % 3];
        let (memory, under_way, lanes) = (Segments::new(), VecDeque::new(), BTreeMap::new());
        let (next_set, next_dest) = (7, 1000);
        let mut around = Self {
            bench,
            read,
            beat,
            token,
            made,
            memory,
            latency,
            under_way,
            lanes,
            next_set,
            next_dest,
            change: None,
            named: Vec::new(),
            reads: Vec::new(),
            behind: Vec::new(),
        };
        for entry in entries() {
            for (word, bytes) in entry.to_bytes().chunks(4).enumerate() {
                let data = u32::from_le_bytes(bytes.try_into().unwrap());
                around.pulse(
                    "cfg",
                    &[
                        ("table", REGION_TABLE.into()),
                        ("index", (u64::from(entry.lkey) & 0xfff).into()),
                        ("word", (word as u64).into()),
                        ("data", data.into()),
                    ],
                );
            }
        }
        around
    }

    fn pulse(&mut self, flow: &str, fields: &[(&str, Word)]) {
        for (name, value) in fields {
            self.bench.set(format!("{flow}_{name}"), value.clone());
        }
        self.bench.set(format!("{flow}_valid"), 1_u64);
        self.step();
        self.bench.set(format!("{flow}_valid"), 0_u64);
    }

    fn step(&mut self) {
        self.bench.step();
        let now = self.bench.cycles();
        if let Some(change) = self.change.as_mut().filter(|change| change.due <= now) {
            std::mem::swap(&mut self.memory, &mut change.memory);
            change.due += change.every;
        }
        for read in self.bench.take(self.read) {
            let (addr, bytes) = (read.u64("addr"), read.u64("bytes"));
            assert!((1..=2048).contains(&bytes), "a read of {bytes} B");
            self.reads.push(addr..addr + bytes);
            let is_in = |range: &Range<u64>| range.start <= addr && addr + bytes <= range.end;
            assert!(
                self.named.is_empty() || self.named.iter().any(is_in),
                "{bytes} B at {addr:#x} are read, which no region names"
            );
            let mut data = vec![0; bytes as usize];
            let error = self.memory.read(addr, &mut data).is_err();
            if error && !self.behind.is_empty() {
                // The answer with an error has the valid bytes, which must not be used.
                let from = (addr - BASE) as usize;
                data.copy_from_slice(&self.behind[from..from + bytes as usize]);
            }
            let beats = data.chunks(64).len();
            for (number, part) in data.chunks(64).enumerate() {
                let mut part = part.to_vec();
                part.resize(64, 0xee);
                let last = number + 1 == beats;
                let beat = Beat::from([("last", u64::from(last)), ("error", error.into())])
                    .with("data", Word::from_bytes(&part));
                self.under_way.push_back((now + self.latency, beat));
            }
        }
        while self.under_way.front().is_some_and(|(due, _)| *due <= now) {
            let (_, beat) = self.under_way.pop_front().unwrap();
            self.bench.send(self.beat, beat);
        }
    }

    /// Writes a set. `ids` are the address and the bytes of an id of a partitioned region.
    fn set(&mut self, region: &Region, ids: Option<(u64, u64)>) {
        let set = self.next_set;
        self.next_set = (set + 1) % 2048;
        let columns = |entries: &[Entry]| entries.iter().map(column).collect::<Vec<_>>();
        let extents = |entries: &[Entry], base: u64, step: u64| {
            let lane = |entry: &Entry| {
                let (kind, _) = kind_of(&entry.kind);
                LaneOf { base: base + entry.offset, step, len: entry.kind.entry_len(), kind }
            };
            entries.iter().map(lane).collect::<Vec<_>>()
        };
        let mut first = 0_u64;
        let (mut chain, mut stride) = (None, 0);
        let (kind, addr, count, lanes) = match region {
            Region::Contiguous { addr, len, .. } => {
                (RegionType::Contiguous, *addr, 1, vec![plain(*addr, 0, (*len).into())])
            }
            Region::Strided { base, period, count, pattern, .. } => {
                let lane = |e: &drdma_semantics::region::Extent| {
                    plain(base + e.offset, *period, e.len.into())
                };
                (RegionType::Strided, *base, *count, pattern.iter().map(lane).collect())
            }
            Region::Bitmapped { bitmap, rows, columns, .. } => {
                let lane = |c: &drdma_semantics::region::Column| {
                    plain(c.base, c.width.into(), c.width.into())
                };
                (RegionType::Bitmapped, *bitmap, *rows, columns.iter().map(lane).collect())
            }
            Region::PointerMapped { pointers, count, pattern, .. } => {
                let lane = |e: &drdma_semantics::region::Extent| plain(e.offset, 0, e.len.into());
                (RegionType::PointerMapped, *pointers, *count, pattern.iter().map(lane).collect())
            }
            Region::Kinds(kinds) => match kinds.rows {
                Selection::Periods { base, period, count, .. } => {
                    stride = period;
                    (RegionType::Strided, base, count, extents(&kinds.entries, base, period))
                }
                Selection::Bitmap { bitmap, first: bit, rows, .. } => {
                    first = bit.into();
                    (RegionType::Bitmapped, bitmap, rows, columns(&kinds.entries))
                }
                Selection::Pointers { pointers, count, .. } => {
                    (RegionType::PointerMapped, pointers, count, extents(&kinds.entries, 0, 0))
                }
                Selection::Chains { pointers, count, chain: of, .. } => {
                    chain = Some(of);
                    (RegionType::PointerMapped, pointers, count, extents(&kinds.entries, 0, 0))
                }
            },
        };
        let link = chain.map(|chain| (u64::from(chain.next), u64::from(chain.next) + 8));
        let low = lanes.iter().map(|lane| lane.base).chain(link.map(|l| l.0)).min().unwrap();
        let high = lanes.iter().map(|l| l.base + l.len).chain(link.map(|l| l.1)).max().unwrap();
        for (lane, of) in lanes.iter().enumerate() {
            self.lanes.insert((set, lane as u64), [of.base, of.step, of.len]);
            self.pulse(
                "lane",
                &[
                    ("set", set.into()),
                    ("lane", (lane as u64).into()),
                    ("base", of.base.into()),
                    ("step", of.step.into()),
                    ("len", of.len.into()),
                    ("kind", of.kind[0].into()),
                    ("log_entry", of.kind[1].into()),
                    ("width", of.kind[2].into()),
                    ("addr", of.kind[3].into()),
                    ("number", of.kind[4].into()),
                ],
            );
        }
        let (addr, ids) = ids.unwrap_or((addr, 0));
        self.pulse(
            "set",
            &[
                ("set", set.into()),
                ("kind", (kind as u64).into()),
                ("addr", addr.into()),
                ("count", count.into()),
                ("lanes", (lanes.len() as u64).into()),
                ("ids", ids.into()),
                ("target_addr", BASE.into()),
                ("target_len", SIZE.into()),
                ("low", low.into()),
                ("high", high.into()),
                ("first", first.into()),
                ("chase", u64::from(chain.is_some()).into()),
                ("period_or_end", chain.map_or(stride, |c| c.end).into()),
                ("link", chain.map_or(0, |c| u64::from(c.next)).into()),
                ("limit", chain.map_or(0, |c| u64::from(c.limit)).into()),
                ("pd", PD.into()),
            ],
        );
    }

    /// Walks a request. Returns its status with the destination that failed, and for each destination its messages with
    /// their announced lengths, the message without an end if there is one, and whether the destination has ended.
    fn walk(&mut self, request: &Request, ud: bool) -> Walked {
        let first_dest = self.place(request, ud);
        (0..6).for_each(|_| self.step());
        self.walk_placed(request, first_dest)
    }

    /// Writes the tables of a request. Returns the place of its first destination.
    fn place(&mut self, request: &Request, ud: bool) -> u64 {
        let is_write = request.opcode.is_write();
        let shared = self.next_set;
        if let Some(region) = &request.partitioned {
            let rows = Selection::Bitmap { bitmap: 0, first: 0, rows: region.rows, lkey: ALL };
            let entries = region.entries.clone();
            let set = Region::Kinds(drdma_semantics::kinds::Kinds { rows, entries });
            self.set(&set, Some((region.ids, region.width)));
        }
        let first_dest = self.next_dest;
        for dest in &request.destinations {
            let place = self.next_dest;
            self.next_dest = (place + 1) % DESTS;
            let (mut first_set, mut sets) = (self.next_set, dest.regions.len() as u64);
            if request.partitioned.is_some() {
                (first_set, sets) = (shared, 1);
            }
            dest.regions.iter().for_each(|region| self.set(region, None));
            self.pulse(
                "dest",
                &[
                    ("dest", place.into()),
                    ("sets", sets.into()),
                    ("first_set", first_set.into()),
                    ("is_write", u64::from(is_write).into()),
                    ("is_ud", u64::from(ud).into()),
                    ("log_mtu", LOG_MTU.into()),
                    ("element_mask", u64::from(request.row_mask == RowMask::Element).into()),
                    ("units", request.rows_per_message.into()),
                    ("partition", dest.partition.into()),
                ],
            );
        }
        first_dest
    }

    /// Tells that the request whose first destination has this place will be walked next, until `forget`.
    fn tell_next(&mut self, request: &Request, first_dest: u64) {
        self.bench.set("next_valid", 1_u64);
        self.bench.set("next_dests", request.destinations.len() as u64);
        self.bench.set("next_first_dest", first_dest);
    }

    /// Tells that no request is known that will be walked next.
    fn tell_none(&mut self) {
        self.bench.set("next_valid", 0_u64);
    }

    /// Tells that the request that was known is not walked.
    fn forget(&mut self) {
        self.tell_none();
        self.bench.set("forget", 1_u64);
        self.step();
        self.bench.set("forget", 0_u64);
    }

    /// Walks requests, of which each is known while the one before is walked. Now and then one is not walked, or is
    /// not known before.
    fn walk_all(&mut self, requests: &[(Request, bool)]) -> Vec<Option<Walked>> {
        let mut random = Random::new(self.bench.cycles());
        let places: Vec<_> =
            requests.iter().map(|(request, ud)| self.place(request, *ud)).collect();
        (0..6).for_each(|_| self.step());
        let mut drops = false;
        let mut all = Vec::new();
        for (index, (request, _)) in requests.iter().enumerate() {
            if drops {
                self.forget();
                all.push(None);
            } else {
                self.tell_none();
                if index + 1 < requests.len() && random.below(8) != 0 {
                    self.tell_next(&requests[index + 1].0, places[index + 1]);
                }
                all.push(Some(self.walk_placed(request, places[index])));
            }
            drops = !drops && random.below(8) == 0;
        }
        all
    }

    /// Walks a request whose tables are written.
    fn walk_placed(&mut self, request: &Request, first_dest: u64) -> Walked {
        let count = request.destinations.len() as u64;
        self.pulse(
            "asked",
            &[("slot", 5.into()), ("dests", count.into()), ("first_dest", first_dest.into())],
        );
        let mut cycles = 0_u64;
        while self.bench.get("done") == 0 {
            self.step();
            cycles += 1;
            assert!(cycles < 4_000_000, "it does not end: {request:?}");
        }
        let status = (self.bench.get("status") as u8, self.bench.get("bad_dest") as u16);
        (0..20).for_each(|_| self.step());
        let mut made: VecDeque<_> = self.bench.take(self.made).into();
        let mut given: Vec<Dest> = vec![Dest::default(); request.destinations.len()];
        let mut chunks = Vec::new();
        for token in self.bench.take(self.token) {
            assert_eq!((token.u64("slot"), token.u64("offset")), (5, 0));
            let index = (token.u64("dest") + DESTS - first_dest) % DESTS;
            let dest = &mut given[index as usize];
            assert!(!dest.ended, "a token behind the destination's end");
            if token.u64("chunk_start") == 1 {
                chunks.push(token.u64("chunk_blocks"));
            }
            let bytes = token.u64("bytes") as usize;
            if token.u64("message_start") == 1 {
                assert!(dest.open.is_none(), "a message begins within another");
                dest.open = Some((token.u64("message_bytes"), Vec::new()));
            }
            if bytes > 0 {
                let (first, last) = (token.u64("first"), token.u64("last"));
                let leads = token.u64("lead") == 1;
                let mut data = vec![0; bytes];
                let mut at = 0;
                if first > last || leads {
                    let word = made.pop_front().expect("made bytes");
                    assert_eq!(word.u64("slot"), 5);
                    at = if leads { 4 } else { bytes };
                    data[..at].copy_from_slice(&word.u64("data").to_le_bytes()[..at]);
                }
                if first <= last {
                    // The token has one lane, a part of one lane, or several whole lanes.
                    assert_eq!(token.u64("piece") == 1, first == last);
                    assert!(!leads || first == last && bytes > at, "a piece behind made bytes");
                    let row = token.u64("row");
                    for lane in first..=last {
                        let [base, step, len] = self.lanes[&(token.u64("set"), lane)];
                        let len = if first == last { bytes - at } else { len as usize };
                        let addr = base.wrapping_add(row.wrapping_mul(step));
                        let addr = addr.wrapping_add(token.u64("pointer"));
                        let part = &mut data[at..at + len];
                        self.memory.read(addr, part).expect("it is in memory");
                        at += len;
                    }
                    assert!(bytes <= 64 && at == bytes);
                }
                dest.open.as_mut().expect("a message").1.extend(data);
            }
            if token.u64("message_end") == 1 {
                let message = dest.open.take().expect("a message");
                dest.messages.push(message);
            }
            dest.ended = token.u64("dest_end") == 1;
        }
        assert!(made.is_empty(), "bytes that no token has");
        Walked { status, given, cycles, chunks }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Dest {
    messages: Vec<(u64, Vec<u8>)>,
    open: Option<(u64, Vec<u8>)>,
    ended: bool,
}

struct Walked {
    status: (u8, u16),
    given: Vec<Dest>,
    cycles: u64,
    /// Estimated number of blocks of each chunk.
    chunks: Vec<u64>,
}

/// Messages of each destination by the semantics, or the status and the destination that fails.
fn expected(
    request: &Request,
    ud: bool,
    memory: &Segments,
) -> Result<Vec<Vec<Vec<u8>>>, (u8, u16)> {
    let admitted = check_contents(request, PD, &Memories { ud }, memory)
        .map_err(|failure| (failure.status as u8, failure.destination))?;
    Ok((0..request.destinations.len())
        .map(|index| {
            let units = request.units(index, request.row_mask, &admitted[index].limits);
            let shape = drdma_semantics::stream::Shape {
                layout: MessageLayout::Rows,
                remote_columns: 0,
                immediate: false,
                rows_per_message: request.rows_per_message,
            };
            let mut stream = drdma_semantics::stream::MessageStream::new(units, shape);
            let mut messages = Vec::new();
            while let Some(begun) = stream.next(memory).expect("it was admitted") {
                let mut bytes = vec![0; begun.len as usize];
                stream.fill(memory, &mut bytes).expect("it was admitted");
                messages.push(bytes);
            }
            messages
        })
        .collect())
}

fn random_request(maker: &mut Maker<'_>) -> (Request, bool) {
    let ud = maker.random.below(6) == 0;
    let is_write = !ud && maker.random.below(2) == 0;
    let mut row_mask = RowMask::Period;
    let (mut partitioned, mut destinations) = (None, Vec::new());
    let destination = |partition, regions| Destination {
        qp: 1,
        remote_addr: 0,
        rkey: 0,
        partition,
        layout: MessageLayout::Rows,
        remote_columns: Vec::new(),
        regions,
    };
    if maker.random.below(5) == 0 {
        let (rows, width) = (maker.random.below(150), 1 + maker.random.below(2));
        let entries = maker.columns(rows as u32);
        let ids: Vec<u8> = (0..rows)
            .flat_map(|_| maker.random.below(4).to_le_bytes()[..width as usize].to_vec())
            .collect();
        let at = maker.put_read(&ids);
        partitioned = Some(Partitioned {
            ids: at,
            width,
            rows: rows as u32,
            lkey: ALL,
            columns: Vec::new(),
            entries,
            by: None,
        });
        destinations = (0..1 + maker.random.below(3) as u16)
            .map(|partition| destination(partition, Vec::new()))
            .collect();
    } else {
        if maker.random.below(3) == 0 {
            row_mask = RowMask::Element;
        }
        for _ in 0..1 + maker.random.below(3) {
            // Some destinations have no regions.
            let regions = if maker.random.below(15) == 0 { 0 } else { 1 + maker.random.below(3) };
            let mut units = None;
            if row_mask == RowMask::Element && regions > 1 {
                units = Some(maker.random.below(12));
            }
            let mut list: Vec<Region> = (0..regions).map(|_| maker.region(units)).collect();
            if units.is_some() && maker.random.below(15) == 0 {
                list[0] = maker.region(units.map(|units| units + 1));
            }
            // The regions have the same rows, like columns of values and of their validity.
            if units.is_some() && maker.random.below(2) == 0 {
                let rows = loop {
                    match maker.region(units) {
                        Region::Kinds(Kinds { rows: rows @ Selection::Bitmap { .. }, .. }) => {
                            break rows;
                        }
                        _ => continue,
                    }
                };
                let Selection::Bitmap { rows: count, .. } = rows else { unreachable!() };
                list.iter_mut().for_each(|region| {
                    let entries = maker.columns(count);
                    *region = Region::Kinds(Kinds { rows, entries });
                });
            }
            destinations.push(destination(0, list));
        }
    }
    let opcode = if is_write { Opcode::Write } else { Opcode::Send };
    let rows_per_message = if ud { 1 } else { 1 + maker.random.below(9) as u32 };
    let request = Request {
        wr_id: 0,
        opcode,
        imm: 0,
        row_mask,
        rows_per_message,
        signaled: true,
        fetch: None,
        inline: None,
        partitioned,
        destinations,
    };
    (request, ud)
}

/// Random requests, each with whether it is for a queue pair of UD, and the host's memory.
struct Made {
    requests: Vec<(Request, bool)>,
    memory: Vec<u8>,
    hole: Option<Range<usize>>,
    named: Vec<Range<u64>>,
}

fn make(random: &mut Random) -> Made {
    let memory = random.bytes(POOL as usize);
    let mut maker = Maker { random, memory, hole: None, named: Vec::new() };
    let count = 1 + maker.random.below(3);
    let requests = (0..count).map(|_| random_request(&mut maker)).collect();
    let Maker { mut memory, hole, named, .. } = maker;
    assert!(memory.len() < (SIZE - TAIL_BYTES) as usize);
    memory.resize(SIZE as usize, 0x77);
    Made { requests, memory, hole, named }
}

fn segments(memory: &[u8], hole: Option<Range<usize>>) -> Segments {
    let hole = hole.unwrap_or(memory.len()..memory.len());
    Segments::new()
        .with(BASE, &memory[..hole.start])
        .with(BASE + hole.end as u64, &memory[hole.end..])
}

#[test]
fn messages_are_those_of_the_semantics() {
    let library = library();
    let (mut failures, mut bytes) = (BTreeMap::new(), 0);
    for seed in 0..9 {
        let mut around = Around::new(&library, seed);
        let mut random = Random::new(seed + 100);
        for number in 0..30 {
            let Made { requests, memory, hole, named } = make(&mut random);
            around.memory = segments(&memory, hole);
            around.named = named;
            around.behind = memory;
            for ((request, ud), walked) in requests.iter().zip(around.walk_all(&requests)) {
                let expected = expected(request, *ud, &around.memory);
                println!("seed {seed}, requests {number}: {:?}", expected.as_ref().err());
                let Some(walked) = walked else { continue };
                match expected {
                    Err(status) => {
                        *failures.entry(status.0).or_insert(0) += 1;
                        assert_eq!(walked.status, status, "seed {seed}, {number}: {request:?}");
                        let nothing = vec![Dest::default(); request.destinations.len()];
                        assert_eq!(walked.given, nothing, "seed {seed}, requests {number}");
                    }
                    Ok(messages) => {
                        assert_eq!(walked.status, (0, 0), "seed {seed}, {number}: {request:?}");
                        for (dest, messages) in walked.given.iter().zip(messages) {
                            assert_eq!(dest.ended, !messages.is_empty());
                            assert_eq!(dest.open, None);
                            let is_write = request.opcode.is_write();
                            let told =
                                |bytes: &Vec<u8>| if is_write { bytes.len() as u64 } else { 0 };
                            let all: Vec<_> =
                                messages.iter().map(|m| (told(m), m.clone())).collect();
                            assert_eq!(dest.messages, all, "seed {seed}, {number}: {request:?}");
                            bytes += all.iter().map(|message| message.1.len()).sum::<usize>();
                        }
                    }
                }
            }
        }
    }
    println!("{failures:?}, {bytes} bytes");
    assert!(failures.len() == 3 && bytes > 50_000, "{failures:?}, {bytes} bytes");
}

/// The host changes lists and entries while values are found: whatever they become, no token leaves the memory of the
/// request's keys, and no message has another length than the announced one.
#[test]
fn memory_that_changes_leads_nowhere_else() {
    let library = library();
    let mut statuses = BTreeMap::new();
    for seed in 0..9 {
        let mut around = Around::new(&library, seed);
        let mut random = Random::new(seed + 200);
        for number in 0..30 {
            let Made { requests, memory, .. } = make(&mut random);
            let mut changed = memory.clone();
            let rarity = 20 << random.below(7);
            for word in changed[POOL as usize..(SIZE - TAIL_BYTES) as usize].chunks_exact_mut(4) {
                let value = match random.below(rarity) {
                    0..=7 => random.below(4200) as u32,
                    8 => random.u64() as u32,
                    _ => continue,
                };
                word.copy_from_slice(&value.to_le_bytes());
            }
            let valid = |(request, ud): &(Request, bool)| {
                expected(request, *ud, &segments(&memory, None)).is_ok()
            };
            let requests: Vec<_> = requests.into_iter().filter(valid).collect();
            around.memory = segments(&memory, None);
            let longest = 1 << (4 + random.below(10));
            let due = around.bench.cycles() + random.below(longest);
            let every = 1 + random.below(longest);
            around.change = Some(Change { due, every, memory: segments(&changed, None) });
            let walked = around.walk_all(&requests);
            around.change = None;
            for ((request, ud), walked) in requests.iter().zip(walked) {
                let Some(Walked { status, given, .. }) = walked else { continue };
                *statuses.entry(status.0).or_insert(0) += 1;
                let context = format!("seed {seed}, request {number}, {status:?}: {request:?}");
                let is_write = request.opcode.is_write();
                for dest in given {
                    for (announced, bytes) in dest.messages.iter().chain(&dest.open) {
                        assert!(!ud || bytes.len() <= 1 << LOG_MTU, "{context}");
                        assert!(!is_write || bytes.len() as u64 <= *announced, "{context}");
                    }
                    for (announced, bytes) in &dest.messages {
                        assert!(!is_write || bytes.len() as u64 == *announced, "{context}");
                    }
                    assert!(status.0 != 0 || dest.open.is_none(), "{context}");
                    assert!(status.0 != 0 || dest.ended || dest.messages.is_empty(), "{context}");
                }
            }
        }
    }
    println!("{statuses:?}");
    assert!(statuses[&0] > 50 && statuses[&4] > 50, "{statuses:?}");
}

/// A SEND of a column of 4 B, with a bitmap of `rows` rows for each destination, at the addresses of `bitmaps`.
fn by_bitmaps(bitmaps: &[u64], rows: u32, column: Entry) -> Request {
    let region = |bitmap| {
        let rows = Selection::Bitmap { bitmap, first: 0, rows, lkey: ALL };
        Region::Kinds(Kinds { rows, entries: vec![column] })
    };
    let destination = |bitmap: &u64| Destination {
        qp: 1,
        remote_addr: 0,
        rkey: 0,
        partition: 0,
        layout: MessageLayout::Rows,
        remote_columns: Vec::new(),
        regions: vec![region(*bitmap)],
    };
    Request {
        wr_id: 0,
        opcode: Opcode::Send,
        imm: 0,
        row_mask: RowMask::Period,
        rows_per_message: 3,
        signaled: true,
        fetch: None,
        inline: None,
        partitioned: None,
        destinations: bitmaps.iter().map(destination).collect(),
    }
}

/// A list is asked for before it is known whether the walk comes to it: a list that cannot be read fails the request
/// for its own destination, and only if no earlier destination fails.
#[test]
fn a_list_that_cannot_be_read_counts_when_the_walk_comes_to_it() {
    const ROWS: u32 = 40_000;
    const BYTES: u64 = ROWS as u64 / 8;
    let library = library();
    let mut random = Random::new(5);
    let mut memory = random.bytes(POOL as usize);
    memory.resize(SIZE as usize, 0);
    // A few rows are selected by each list, which is as long as ten windows.
    let lists: Vec<u64> = (0..40).map(|index| BASE + POOL + 5008 * index).collect();
    for list in &lists {
        for _ in 0..6 {
            let at = (list - BASE + random.below(BYTES)) as usize;
            memory[at] |= 1 << random.below(8);
        }
    }
    let of = |index: u64| (lists[index as usize] - BASE) as usize;
    let values = Entry { offset: BASE + POOL, lkey: ALL, kind: Kind::Fixed { width: 4 } };
    // Some rows have indices of which the dictionary has no value.
    let dictionary = Kind::Dictionary { log_entry: 0, values: BASE, width: 4, count: 1, lkey: ALL };
    let indices = Entry { offset: BASE + POOL, lkey: ALL, kind: dictionary };
    // Bytes that cannot be read: in the first window of a list, or in a later one.
    let holes = [
        None,
        Some(of(0)..of(0) + 1000),
        Some(of(0) + 4600..of(0) + 5000),
        Some(of(1)..of(1) + 100),
        Some(of(3) + 4999..of(3) + 5000),
        Some(of(33)..of(33) + 10),
        Some(of(39) + 2000..of(39) + 2001),
    ];
    let mut statuses = BTreeMap::new();
    for seed in 0..2 {
        let mut around = Around::new(&library, seed);
        for column in [values, indices] {
            for hole in &holes {
                around.memory = segments(&memory, hole.clone());
                around.behind = memory.clone();
                let request = by_bitmaps(&lists, ROWS, column);
                let expected = expected(&request, false, &around.memory);
                let walked = around.walk(&request, false);
                *statuses.entry(walked.status).or_insert(0) += 1;
                let status = expected.as_ref().err().copied().unwrap_or((0, 0));
                assert_eq!(walked.status, status, "seed {seed}, {hole:?}");
                for (given, messages) in walked.given.iter().zip(expected.unwrap_or_default()) {
                    let bytes: Vec<_> = messages.into_iter().map(|m| (0, m)).collect();
                    assert_eq!(given.messages, bytes, "seed {seed}, {hole:?}");
                }
            }
        }
    }
    println!("{statuses:?}");
    assert!(statuses.len() >= 6, "{statuses:?}");
}

/// What was read ahead of a request serves that request only, even if another one has sets of the same numbers.
#[test]
fn what_is_read_ahead_serves_one_request() {
    const ROWS: u32 = 496;
    const BYTES: usize = ROWS as usize / 8;
    let library = library();
    let mut random = Random::new(6);
    let mut memory = random.bytes(POOL as usize);
    let lists = [0, 1, 2, 3].map(|index| BASE + POOL + 128 * index);
    memory.extend(random.bytes(lists.len() * 128));
    memory.resize(SIZE as usize, 0);
    let mut changed = memory.clone();
    changed[POOL as usize..][..lists.len() * 128].copy_from_slice(&random.bytes(lists.len() * 128));
    let bits = |list: u64| {
        let kind = Kind::Bits { first: 5 };
        Entry { offset: list + 64, lkey: ALL, kind }
    };
    let first = by_bitmaps(&lists[..2], ROWS, bits(lists[0]));
    let second = by_bitmaps(&lists[2..], ROWS, bits(lists[2]));
    let mut around = Around::new(&library, 0);
    let check = |around: &Around<'_>, walked: Walked, request: &Request| {
        assert_eq!(walked.status, (0, 0));
        let expected = expected(request, false, &around.memory).unwrap();
        for (given, messages) in walked.given.iter().zip(expected) {
            let bytes: Vec<_> = messages.into_iter().map(|message| (0, message)).collect();
            assert!(given.messages == bytes);
        }
    };
    for forgotten in [false, true] {
        around.memory = segments(&memory, None);
        let first_place = around.place(&first, false);
        let (set, dest) = (around.next_set, around.next_dest);
        let second_place = around.place(&second, false);
        (0..6).for_each(|_| around.step());
        around.tell_next(&second, second_place);
        around.reads.clear();
        let walked = around.walk_placed(&first, first_place);
        check(&around, walked, &first);
        let list = lists[2]..lists[2] + BYTES as u64;
        assert!(around.reads.contains(&list), "the list is read ahead");
        let line = lists[2] + 64;
        assert!(around.reads.iter().any(|read| read.contains(&line)), "and the bits");
        around.tell_none();
        if forgotten {
            around.forget();
        } else {
            around.reads.clear();
            let walked = around.walk_placed(&second, second_place);
            check(&around, walked, &second);
            assert_eq!(around.reads, [], "the lists are there");
        }
        // Other lists lie at the same addresses.
        around.memory = segments(&changed, None);
        (around.next_set, around.next_dest) = (set, dest);
        let walked = around.walk(&second, false);
        check(&around, walked, &second);
    }
}
