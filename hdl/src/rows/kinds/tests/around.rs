//! The host around the block: it writes requests, answers reads of its memory, and sorts tokens into messages.

use super::{ALL, BASE, DESTS, LOG_MTU, PD, SIZE, entries};
use crate::context::REGION_TABLE;
use crate::context::testing::clear_tables;
use drdma_abi::work_request::{MessageLayout, RegionType};
use drdma_semantics::kinds::{Entry, Kind, Selection};
use drdma_semantics::memory::{HostMemory, Segments};
use drdma_semantics::partitioned::Partitioned;
use drdma_semantics::region::{Region, RowMask};
use drdma_semantics::request::Request;
use drdma_verilated::testbench::{Beat, Bench, DriverId, MonitorId, Random, STALLS};
use drdma_verilated::{Library, Word};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

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

/// Slot of the request whose first destination has this place.
fn slot(first_dest: u64) -> u64 {
    first_dest % 256
}

/// Exchanges the host's memory for `memory` in cycle `due`, and again every `every` cycles.
pub(super) struct Change {
    pub(super) due: u64,
    pub(super) every: u64,
    pub(super) memory: Segments,
}

/// The block, and the host around it.
pub(super) struct Around<'a> {
    pub(super) bench: Bench<'a>,
    read: MonitorId,
    beat: DriverId,
    token: MonitorId,
    made: MonitorId,
    pub(super) memory: Segments,
    pub(super) latency: u64,
    under_way: VecDeque<(u64, Beat)>,
    /// Base, step and length of each lane, by set and lane.
    lanes: BTreeMap<(u64, u64), [u64; 3]>,
    pub(super) next_set: u64,
    pub(super) next_dest: u64,
    /// Change that the host makes to memory, if any.
    pub(super) change: Option<Change>,
    /// All bytes of memory, for answers with an error; empty if these have zeros.
    pub(super) behind: Vec<u8>,
    /// Ranges that may be read, as in [`Maker::named`]; empty if all of memory may be read.
    pub(super) named: Vec<Range<u64>>,
    /// Ranges of all reads, in their order.
    pub(super) reads: Vec<Range<u64>>,
    /// The regions whose ids are made from keys, by the slots of their requests.
    keyed: BTreeMap<u64, Partitioned>,
    /// First rows and numbers of rows whose ids were made, in their order.
    pub(super) made_ids: Vec<(u64, u64)>,
}

impl<'a> Around<'a> {
    pub(super) fn new(library: &'a Library, seed: u64) -> Self {
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
            keyed: BTreeMap::new(),
            made_ids: Vec::new(),
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

    pub(super) fn pulse(&mut self, flow: &str, fields: &[(&str, Word)]) {
        for (name, value) in fields {
            self.bench.set(format!("{flow}_{name}"), value.clone());
        }
        self.bench.set(format!("{flow}_valid"), 1_u64);
        self.step();
        self.bench.set(format!("{flow}_valid"), 0_u64);
    }

    pub(super) fn step(&mut self) {
        self.bench.step();
        let now = self.bench.cycles();
        if let Some(change) = self.change.as_mut().filter(|change| change.due <= now) {
            std::mem::swap(&mut self.memory, &mut change.memory);
            change.due += change.every;
        }
        for read in self.bench.take(self.read) {
            let (addr, bytes) = (read.u64("addr"), read.u64("bytes"));
            if read.u64("made") == 1 {
                let ids = self.make_ids(&read);
                let zeros = vec![0; bytes as usize];
                self.answer(ids.as_ref().unwrap_or(&zeros), ids.is_none());
                continue;
            }
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
            self.answer(&data, error);
        }
        while self.under_way.front().is_some_and(|(due, _)| *due <= now) {
            let (_, beat) = self.under_way.pop_front().unwrap();
            self.bench.send(self.beat, beat);
        }
    }

    /// Answers a read with its bytes.
    fn answer(&mut self, data: &[u8], error: bool) {
        let due = self.bench.cycles() + self.latency;
        let beats = data.chunks(64).len();
        for (number, part) in data.chunks(64).enumerate() {
            let mut part = part.to_vec();
            part.resize(64, 0xee);
            let last = number + 1 == beats;
            let beat = Beat::from([("last", u64::from(last)), ("error", error.into())])
                .with("data", Word::from_bytes(&part));
            self.under_way.push_back((due, beat));
        }
    }

    /// The ids of the rows that a read names; `None` if keys cannot be read.
    fn make_ids(&mut self, read: &Beat) -> Option<Vec<u8>> {
        let [addr, bytes, wide, first, slot] =
            ["addr", "bytes", "wide", "first", "slot"].map(|field| read.u64(field));
        let region = &self.keyed[&slot];
        assert_eq!(addr, region.ids, "the address of splitters");
        let by = region.by.as_ref().expect("keys");
        assert_eq!(wide == 1, by.partitions > 256, "two bytes");
        let (rows, most) = (bytes >> wide, 512 >> wide);
        assert_eq!(first % most, 0);
        assert_eq!(rows, (u64::from(region.rows) - first).min(most), "rows from {first} on");
        self.made_ids.push((first, rows));
        let ids = by.ids(region.rows, addr, &[], &self.memory).ok()?;
        let of_rows = &ids[first as usize..(first + rows) as usize];
        Some(of_rows.iter().flat_map(|id| id.to_le_bytes()[..1 + wide as usize].to_vec()).collect())
    }

    /// Writes a set. `ids` are the address and the bytes of an id of a partitioned region, and whether they are made.
    fn set(&mut self, region: &Region, ids: Option<(u64, u64, bool)>) {
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
        let (addr, ids, made) = ids.unwrap_or((addr, 0, false));
        self.pulse(
            "set",
            &[
                ("set", set.into()),
                ("kind", (kind as u64).into()),
                ("addr", addr.into()),
                ("count", count.into()),
                ("lanes", (lanes.len() as u64).into()),
                ("ids", ids.into()),
                ("made", u64::from(made).into()),
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
    pub(super) fn walk(&mut self, request: &Request, ud: bool) -> Walked {
        let first_dest = self.place(request, ud);
        (0..6).for_each(|_| self.step());
        self.walk_placed(request, first_dest)
    }

    /// Writes the tables of a request. Returns the place of its first destination.
    pub(super) fn place(&mut self, request: &Request, ud: bool) -> u64 {
        let is_write = request.opcode.is_write();
        let shared = self.next_set;
        if let Some(region) = &request.partitioned {
            let rows = Selection::Bitmap { bitmap: 0, first: 0, rows: region.rows, lkey: ALL };
            let entries = region.entries.clone();
            let set = Region::Kinds(drdma_semantics::kinds::Kinds { rows, entries });
            let width = match &region.by {
                Some(by) => 1 + u64::from(by.partitions > 256),
                None => region.width,
            };
            self.set(&set, Some((region.ids, width, region.by.is_some())));
        }
        let first_dest = self.next_dest;
        if let Some(region) = &request.partitioned {
            self.keyed.insert(slot(first_dest), region.clone());
        }
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
                    ("column_order", u64::from(dest.layout == MessageLayout::Columns).into()),
                ],
            );
        }
        first_dest
    }

    /// Announces the request whose first destination has this place as the next one, until `forget`.
    pub(super) fn announce(&mut self, request: &Request, first_dest: u64) {
        self.bench.set("next_valid", 1_u64);
        self.bench.set("next_slot", slot(first_dest));
        self.bench.set("next_dests", request.destinations.len() as u64);
        self.bench.set("next_first_dest", first_dest);
    }

    /// Announces no request.
    pub(super) fn announce_none(&mut self) {
        self.bench.set("next_valid", 0_u64);
    }

    /// Cancels the request that was announced.
    pub(super) fn forget(&mut self) {
        self.announce_none();
        self.bench.set("forget", 1_u64);
        self.step();
        self.bench.set("forget", 0_u64);
    }

    /// Walks requests, of which each is known while the one before is walked. Now and then one is not walked, or is
    /// not known before.
    pub(super) fn walk_all(&mut self, requests: &[(Request, bool)]) -> Vec<Option<Walked>> {
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
                self.announce_none();
                if index + 1 < requests.len() && random.below(8) != 0 {
                    self.announce(&requests[index + 1].0, places[index + 1]);
                }
                all.push(Some(self.walk_placed(request, places[index])));
            }
            drops = !drops && random.below(8) == 0;
        }
        all
    }

    /// Walks a request whose tables are written.
    pub(super) fn walk_placed(&mut self, request: &Request, first_dest: u64) -> Walked {
        self.ask(request, first_dest);
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
            assert_eq!((token.u64("slot"), token.u64("offset")), (slot(first_dest), 0));
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
                let data = self.bytes_of(&token, &mut made);
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

    /// Starts a request that was placed.
    fn ask(&mut self, request: &Request, first_dest: u64) {
        let count = request.destinations.len() as u64;
        self.pulse(
            "asked",
            &[
                ("slot", slot(first_dest).into()),
                ("dests", count.into()),
                ("first_dest", first_dest.into()),
            ],
        );
    }

    /// Walks a request; returns the number of cycles before its first token.
    pub(super) fn first_token(&mut self, request: &Request) -> u64 {
        let first_dest = self.place(request, false);
        (0..6).for_each(|_| self.step());
        self.ask(request, first_dest);
        let mut cycles = 0;
        while self.bench.take(self.token).is_empty() {
            assert_eq!(self.bench.get("done"), 0, "no token");
            self.step();
            cycles += 1;
        }
        while self.bench.get("done") == 0 {
            self.step();
        }
        (0..20).for_each(|_| self.step());
        self.bench.take(self.token);
        self.bench.take(self.made);
        cycles
    }

    /// The bytes of a token: those in memory, and those that are made for it.
    fn bytes_of(&self, token: &Beat, made: &mut VecDeque<Beat>) -> Vec<u8> {
        let bytes = token.u64("bytes") as usize;
        let (first, last) = (token.u64("first"), token.u64("last"));
        // The token has a part of one lane, or whole lanes and perhaps a part of one more.
        let piece = token.u64("piece") == 1;
        assert!(bytes <= 64 && (!piece || first >= last));
        let leads = token.u64("lead") == 1;
        let mut data = Vec::new();
        let mut make = |count: usize| {
            let word = made.pop_front().expect("made bytes");
            assert_eq!(word.u64("slot"), token.u64("slot"));
            word.u64("data").to_le_bytes()[..count].to_vec()
        };
        for lane in first..=last {
            let [base, step, len] = self.lanes[&(token.u64("set"), lane)];
            let is_led = leads && lane == last;
            let (row, pointer) = match (leads, is_led) {
                (true, true) => (0, token.u64("pointer")),
                (true, false) => (token.u64("row"), 0),
                _ => (token.u64("row"), token.u64("pointer")),
            };
            if is_led {
                data.extend(make(4));
            }
            let len = match (is_led, piece) {
                (true, _) => token.u64("behind"),
                (_, true) => token.u64("bytes"),
                _ => len,
            };
            assert!(len > 0, "a lane without bytes: {token:?}");
            let addr = base.wrapping_add(row.wrapping_mul(step)).wrapping_add(pointer);
            let mut part = vec![0; len as usize];
            self.memory.read(addr, &mut part).expect("it is in memory");
            data.extend(part);
        }
        if data.len() < bytes {
            assert!(!leads && bytes - data.len() <= 4, "made bytes at the end: {token:?}");
            let rest = make(bytes - data.len());
            data.extend(rest);
        }
        assert_eq!(data.len(), bytes, "{token:?}");
        data
    }
}

/// Messages of a destination, each with its announced length.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Dest {
    pub(super) messages: Vec<(u64, Vec<u8>)>,
    pub(super) open: Option<(u64, Vec<u8>)>,
    pub(super) ended: bool,
}

/// Result of a walk.
pub(super) struct Walked {
    pub(super) status: (u8, u16),
    pub(super) given: Vec<Dest>,
    pub(super) cycles: u64,
    /// Estimated number of blocks of each chunk.
    pub(super) chunks: Vec<u64>,
}
