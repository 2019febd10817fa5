//! A sequencer with a decoder before it and memory beside it.

use super::column_path::ColumnPath;
use super::partitioned::Shared;
use crate::context::testing::{Flagged, answer_flag};
use crate::rows::sequencer::reference::{Dest, Region, beat_starts, chunk_rows};
use drdma_abi::work_request::{KeyType, RegionType};
use drdma_verilated::testbench::{Beat, Bench, MonitorId, Random};
use drdma_verilated::{Library, Word};
use std::collections::BTreeMap;

/// A request, as the decoder passes it on.
#[derive(Clone, Debug)]
pub struct Request {
    pub dests: Vec<Dest>,
    /// Status of the decoder, and the destination that failed.
    pub status: (u8, u8),
    /// The ids of a partitioned request, whose destinations have bitmaps as they would be made of
    /// them.
    pub shared: Option<Shared>,
    /// The decoder has found its destinations to be apart.
    pub apart: bool,
    /// State that the columns before it have left, if the request is a column of a WRITE by columns.
    pub column: Option<Earlier>,
}

/// State of the rows of a WRITE by columns after its columns so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Earlier {
    /// One of the columns so far went the column path.
    pub packed: bool,
    /// The rows of all destinations were counted.
    pub counted: bool,
}

impl Request {
    /// Rows of its chunks, if the column path packs them.
    pub fn chunk_rows(&self, min_rows: u32) -> Option<u32> {
        chunk_rows(&self.dests, self.apart, self.shared.is_some(), min_rows)
    }
}

/// Bits as a bitmap.
fn bytes(bits: &[bool]) -> Vec<u8> {
    let byte = |c: &[bool]| c.iter().rev().fold(0, |byte, &bit| byte << 1 | u8::from(bit));
    bits.chunks(8).map(byte).collect()
}

/// A sequencer with a decoder before it and memory beside it.
pub struct Card<'a> {
    pub bench: Bench<'a>,
    pub tokens: MonitorId,
    /// Queue pairs in error.
    pub qp_errors: Flagged,
    random: Random,
    pub memory: BTreeMap<u64, (Vec<u8>, bool)>,
    /// Cycles from a read to its answer.
    pub latency: u64,
    answers: std::collections::VecDeque<(u64, Beat)>,
    pub request: drdma_verilated::testbench::DriverId,
    req: MonitorId,
    resp: drdma_verilated::testbench::DriverId,
    /// Number of the next set.
    pub next_set: u16,
    next_dest: u16,
    next_slot: u8,
    /// First set of each destination, by its place.
    pub first_sets: BTreeMap<u16, u16>,
    next_addr: u64,
    /// Requests that have ended, but have not left the segmenter.
    releases: u32,
    pub columns: ColumnPath,
    /// Bytes that were read.
    pub read: u64,
    /// Ids of partitioned requests are made of keys that are equal to them. They are below 256.
    pub makes_ids: bool,
    /// Requests are given as if some of their columns had kinds.
    pub has_kinds: bool,
}

/// Partitions of the range that makes each key its own id.
const PARTITIONS: u16 = 256;

impl Card<'_> {
    pub fn new(library: &Library, seed: u64) -> Self {
        let mut bench = Bench::new(library.instance(seed), seed);
        let qp_errors = answer_flag(&mut bench, "error_next", "qp_error");
        bench.limit(3_000_000);
        let tokens = bench.monitor("token");
        let request = bench.driver("request");
        let (req, resp) = (bench.monitor("read_req"), bench.driver("read_resp"));
        let mut random = Random::new(seed);
        let columns = ColumnPath::new(&mut bench, seed);
        Self {
            columns,
            qp_errors,
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
            makes_ids: false,
            has_kinds: false,
            random,
        }
    }

    pub fn step(&mut self) {
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
    pub fn post(&mut self, request: &mut Request) -> (u8, u16) {
        self.post_as(request, false)
    }

    /// Writes a request's tables and posts it, perhaps as a WRITE by columns of destinations that have one region of as
    /// many lanes.
    pub fn post_as(&mut self, request: &mut Request, by_columns: bool) -> (u8, u16) {
        let lanes = request.dests.first().and_then(|dest| dest.regions.first());
        let columns = lanes.filter(|_| by_columns).map_or(0, |region| region.lanes.len() as u16);
        let count = request.dests.len() as u16;
        let (slot, first_dest) = (self.next_slot, self.next_dest);
        self.next_slot = slot.wrapping_add(1);
        let first = request.dests.first().cloned();
        let shared_set = self.next_set;
        for (index, dest) in request.dests.iter_mut().enumerate() {
            let first_set = if request.shared.is_some() { shared_set } else { self.next_set };
            let same_lanes = first.as_ref().is_some_and(|first| dest.has_same_lanes(first));
            // A partitioned request has one region for all destinations.
            let own = if request.shared.is_some() && index > 0 { 0 } else { dest.regions.len() };
            for region in &mut dest.regions[..own] {
                let set = self.next_set;
                self.next_set = (set + 1 + columns) % 2048;
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
                let makes_ids = self.makes_ids && request.shared.is_some();
                if makes_ids {
                    self.make_ids(slot, region, request.shared.as_ref().map_or(1, |s| s.width));
                }
                let mut target_addr = region.target_addr;
                let fetch = region.fetch.as_ref().filter(|_| request.shared.is_none());
                if let Some((rows, fails)) = fetch {
                    let data = bytes(rows);
                    target_addr = self.next_addr + self.random.below(100);
                    self.next_addr = target_addr + data.len() as u64 + 64;
                    self.memory.insert(target_addr, (data, *fails));
                }
                // The region's set, and behind it one for each of its lanes.
                let mut sets = vec![(set, region.lanes.clone())];
                for (lane, &(base, step, len)) in region.lanes.iter().enumerate() {
                    let alone = (set + 1 + lane as u16) % 2048;
                    let also = (alone, 0_usize);
                    sets.extend((columns > 0).then(|| (alone, vec![(base, step, len)])));
                    for (set, lane) in [also, (set, lane)].into_iter().skip((columns == 0).into()) {
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
                }
                for (set, lanes) in sets {
                    let row_bytes: u64 = lanes.iter().map(|lane| u64::from(lane.2)).sum();
                    self.pulse(
                        "set_write",
                        &[
                            ("set", set.into()),
                            ("kind", (region.kind as u8).into()),
                            ("addr", region.addr.into()),
                            ("count", region.count.into()),
                            (
                                "ids",
                                match &request.shared {
                                    Some(_) if makes_ids => 1_u8,
                                    shared => shared.as_ref().map_or(0, |s| s.width),
                                }
                                .into(),
                            ),
                            ("lanes", lanes.len().into()),
                            ("row_bytes", row_bytes.into()),
                            ("beat_start", beat_starts(&lanes).into()),
                            ("made", u64::from(makes_ids).into()),
                            ("fetch", u64::from(fetch.is_some()).into()),
                            ("target_addr", target_addr.into()),
                            ("target_len", region.target_len.into()),
                            ("low", if fetch.is_some() { 0 } else { region.low }.into()),
                            ("high", region.high.into()),
                        ],
                    );
                }
            }
            let partition = request.shared.as_ref().map_or(0, |s| s.partitions[index]);
            let place = self.next_dest;
            self.next_dest = (place + 1) % 1024;
            self.first_sets.insert(place, first_set);
            for column in 0..columns {
                self.first_sets
                    .insert((place + column * count) % 1024, (first_set + 1 + column) % 2048);
            }
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
                    ("same_lanes", u64::from(same_lanes).into()),
                    ("column_order", 0.into()),
                    ("partition", partition.into()),
                ],
            );
        }
        let beat = Beat::from([("slot", u64::from(slot)), ("dests", request.dests.len() as u64)])
            .with("first_dest", first_dest)
            .with("status", request.status.0)
            .with("bad_dest", request.status.1)
            .with("apart", u64::from(request.apart))
            .with("kinds", u64::from(self.has_kinds))
            .with("columns", columns);
        self.next_dest = (first_dest + count.max(count * columns)) % 1024;
        // The decoder gives a request at least so long after its last lane, but for contiguous regions.
        let regions = request.dests.iter().flat_map(|dest| &dest.regions);
        if { regions }.any(|region| region.kind != RegionType::Contiguous) {
            (0..6).for_each(|_| self.step());
        }
        self.bench.send(self.request, beat);
        (slot, first_dest)
    }

    /// Tells that the ids of a request are the ranges of one key, whose values lie where `region` has its ids: as many
    /// splitters are below each value as it says. They take the place of the ids.
    fn make_ids(&mut self, slot: u8, region: &mut Region, width: u8) {
        let values = region.addr;
        let splitters: Vec<_> = (0..PARTITIONS - 1)
            .flat_map(|splitter| splitter.to_le_bytes().into_iter().take(width.into()))
            .collect();
        region.addr = self.next_addr + self.random.below(100);
        self.next_addr = region.addr + splitters.len() as u64 + 64;
        self.memory.insert(region.addr, (splitters, false));
        self.pulse(
            "function_write",
            &[
                ("slot", slot.into()),
                ("keys", 1.into()),
                ("partitions", PARTITIONS.into()),
                ("group", 1.into()),
                ("seed", 0.into()),
                ("range", 1.into()),
            ],
        );
        self.pulse(
            "key_write",
            &[
                ("slot", slot.into()),
                ("key", 0.into()),
                ("addr", values.into()),
                ("log_width", width.ilog2().into()),
                ("first", 0.into()),
                ("key_type", (KeyType::Unsigned as u8).into()),
                ("nullable", 0.into()),
                ("validity", 0.into()),
                ("validity_first", 0.into()),
            ],
        );
    }

    /// Runs until `count` requests have ended, and gives their tokens.
    pub fn finish(&mut self, count: usize) -> Vec<Vec<Beat>> {
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
            // A request that has ended leaves the segmenter some time later.
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
