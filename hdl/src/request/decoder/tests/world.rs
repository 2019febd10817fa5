//! The decoder between a queue, a sequencer and a completion block.

use super::reference::{
    Batch, Card, Column, Dest, Function, Key, Lane, Records, Request, Set, Source, Special,
};
use crate::context::testing::{Flagged, answer_flag, clear_tables};
use crate::request::{KEY_BITS, decoder::Decoder};
use crate::testing;
use drdma_abi::Layout;
use drdma_abi::receive::AddressHandle;
use drdma_abi::work_request::{BLOCK, Chain, GRANULE, MAX_WQE_GRANULES, WqeHeader};
use drdma_verilated::testbench::{Beat, Bench, DriverId, MonitorId, Random};
use drdma_verilated::{Library, Model, Word};
use std::cell::RefCell;
use std::collections::{HashSet, VecDeque};
use std::rc::Rc;

/// Contents of the tables that the write ports have written.
struct Written {
    lanes: Vec<[Lane; 16]>,
    sets: Vec<(Set, u8)>,
    dests: Vec<(Dest, u8, u16, u8)>,
    /// For each set: its payload is inline; for each slot: the inline payload.
    inline: Vec<bool>,
    payloads: Vec<Vec<u8>>,
    fetches: [u64; 256],
    addresses: Vec<Option<AddressHandle>>,
    /// Functions with the numbers of their keys, which are in `keys`.
    functions: Vec<(Function, usize)>,
    keys: Vec<[Key; 16]>,
}

fn record(written: &mut Written, model: &Model) {
    let get = |port: &str| model.get(port);
    if get("fetch_write_valid") == 1 {
        written.fetches[get("fetch_write_slot") as usize] = get("fetch_write_plan");
    }
    if get("address_write_valid") == 1 {
        let field = |name: &str| get(&format!("address_write_{name}"));
        let handle = AddressHandle {
            dest_mac: field("dest_mac"),
            tos: field("tos") as u8,
            ttl: field("ttl") as u8,
            dest_ip: field("dest_ip") as u32,
            dest_qpn: field("dest_qpn") as u32,
            qkey: field("qkey") as u32,
            ..Default::default()
        };
        written.addresses[field("slot") as usize] = (field("named") == 1).then_some(handle);
    }
    if get("function_write_valid") == 1 {
        let field = |name: &str| get(&format!("function_write_{name}"));
        let function = Function {
            range: field("range") == 1,
            partitions: field("partitions") as u32,
            group: field("group") as u16,
            seed: field("seed") as u32,
            keys: Vec::new(),
        };
        written.functions[field("slot") as usize] = (function, field("keys") as usize);
    }
    if get("key_write_valid") == 1 {
        let field = |name: &str| get(&format!("key_write_{name}"));
        let log = field("log_width");
        written.keys[field("slot") as usize][field("key") as usize] = Key {
            addr: field("addr"),
            bytes: (log != KEY_BITS).then_some(1 << log),
            first: field("first") as u8,
            key_type: field("key_type") as u8,
            validity: (field("nullable") == 1)
                .then_some((field("validity"), field("validity_first") as u8)),
        };
    }
    if get("lane_write_valid") == 1 {
        let (base, step) = (get("lane_write_base"), get("lane_write_step"));
        let kind = model.get_word("lane_write_kind");
        let field = |at: usize, bits: usize| kind.bits(at, bits).to_u64();
        let source = Source {
            kind: field(0, 3) as u8,
            log: field(3, 2) as u8,
            width: field(5, 24) as u32,
            addr: field(29, 64),
            number: field(93, 32) as u32,
        };
        let lane = Lane { base, step, len: get("lane_write_len") as u32, source };
        written.lanes[get("lane_write_set") as usize][get("lane_write_lane") as usize] = lane;
        written.inline[get("lane_write_set") as usize] = get("lane_write_inline") == 1;
    }
    if get("inline_write_valid") == 1 {
        let data = model.get_word("inline_write_data");
        let byte = |i: usize| data.bits(8 * i, 8).to_u64() as u8;
        written.payloads[get("inline_write_slot") as usize] = (0..BLOCK).map(byte).collect();
    }
    if get("set_write_valid") == 1 {
        let kind = get("set_write_kind") as u8;
        let records = Records {
            target_addr: get("set_write_target_addr"),
            target_len: get("set_write_target_len"),
            low: get("set_write_low"),
            high: model.get_word("set_write_high").to_u128(),
        };
        let kinds = model.get_word("set_write_kinds");
        let field = |at: usize, bits: usize| kinds.bits(at, bits).to_u64();
        let (next, limit) = (field(68, 32) as u32, field(100, 25) as u32);
        let special = Special {
            pd: field(125, 32) as u32,
            first: if kind == 2 { field(0, 3) as u8 } else { 0 },
            period: if kind == 1 { field(4, 64) } else { 0 },
            chain: (kind == 3 && field(3, 1) == 1).then_some(Chain {
                end: field(4, 64),
                next,
                limit,
            }),
        };
        assert!(kind != 2 || records.low == 0, "nothing is taken off the fetch rows' address");
        let set = Set {
            kind,
            ids: get("set_write_ids") as u8,
            made: get("set_write_made") == 1,
            addr: get("set_write_addr"),
            count: get("set_write_count") as u32,
            row_bytes: get("set_write_row_bytes"),
            beat_start: get("set_write_beat_start") as u16,
            fetch_rows: (get("set_write_fetch") == 1).then_some(records.target_addr),
            records: (kind == 3).then_some(records),
            special: Some(special),
            inline: None,
            lanes: Vec::new(),
        };
        written.sets[get("set_write_set") as usize] = (set, get("set_write_lanes") as u8);
    }
    if get("dest_write_valid") == 1 && get("dest_write_again") == 1 {
        // The fields that the segmenter has are not written again.
        let (dest, sets, first_set, slot) = &mut written.dests[get("dest_write_dest") as usize];
        dest.element_mask = get("dest_write_element_mask") == 1;
        dest.same_lanes = get("dest_write_same_lanes") == 1;
        *sets = get("dest_write_sets") as u8;
        assert_eq!(*first_set, get("dest_write_first_set") as u16);
        assert_eq!(*slot, get("dest_write_slot") as u8);
    } else if get("dest_write_valid") == 1 {
        let dest = Dest {
            qp: get("dest_write_qp") as u8,
            opcode: get("dest_write_opcode") as u8,
            imm: get("dest_write_imm") as u32,
            remote_addr: get("dest_write_remote_addr"),
            rkey: get("dest_write_rkey") as u32,
            transport: get("dest_write_transport") as u8,
            log_mtu: get("dest_write_log_mtu") as u8,
            element_mask: get("dest_write_element_mask") == 1,
            rows_per_message: get("dest_write_rows_per_message") as u32,
            same_lanes: get("dest_write_same_lanes") == 1,
            partition: get("dest_write_partition") as u16,
            fenced: get("dest_write_fenced") == 1,
            solicited: get("dest_write_solicited") == 1,
            invalidates: get("dest_write_invalidates") == 1,
            empty: get("dest_write_empty") == 1,
            column_order: get("dest_write_column_order") == 1,
            sets: Vec::new(),
            columns: Vec::new(),
        };
        let first_set = get("dest_write_first_set") as u16;
        written.dests[get("dest_write_dest") as usize] =
            (dest, get("dest_write_sets") as u8, first_set, get("dest_write_slot") as u8);
    }
}

/// A set with its lanes, and with the fields that only sets with kinds have.
fn with_lanes(mut set: Set, lanes: Vec<Lane>) -> Set {
    set.lanes = lanes;
    set.special = set.special.and_then(|special| set.special(special));
    set
}

impl Written {
    fn dest(&self, number: usize, slot: u8) -> Dest {
        let (dest, sets, first, of) = &self.dests[number % 1024];
        assert_eq!(*of, slot, "the destination's slot");
        let set = |k: usize| {
            let number = (usize::from(*first) + k) % 2048;
            let (set, lanes) = &self.sets[number];
            let lanes = self.lanes[number][..usize::from(*lanes)].to_vec();
            // Of a request that failed its set may be an older one's, and its payload missing.
            let payload = self.payloads[usize::from(slot)].get(..set.row_bytes as usize);
            let inline = payload.filter(|_| self.inline[number]).map(<[u8]>::to_vec);
            // The byte that stands for an empty payload may have any value.
            let inline = inline.map(|bytes| if dest.empty { Vec::new() } else { bytes });
            with_lanes(Set { inline, ..set.clone() }, lanes)
        };
        Dest { sets: (0..usize::from(*sets)).map(set).collect(), ..dest.clone() }
    }

    /// The function that makes the ids of the request in a slot.
    fn function(&self, slot: u8) -> Function {
        let (function, keys) = &self.functions[usize::from(slot)];
        Function { keys: self.keys[usize::from(slot)][..*keys].to_vec(), ..function.clone() }
    }

    /// Destination `index` of `dests`, with its remote columns.
    fn dest_of(
        &self,
        first: usize,
        index: usize,
        (dests, columns): (usize, usize),
        slot: u8,
    ) -> Dest {
        let mut dest = self.dest(first + index, slot);
        let set = usize::from(self.dests[(first + index) % 1024].2);
        let column = |j: usize| {
            let other = self.dest(first + j * dests + index, slot);
            let number = (set + 1 + j) % 2048;
            let (own, lanes) = &self.sets[number];
            let lanes = self.lanes[number][..usize::from(*lanes)].to_vec();
            let of = |dest: &Dest| (dest.qp, dest.imm, dest.transport, dest.log_mtu);
            assert_eq!(of(&other), of(&dest), "column {j}");
            let Dest { remote_addr, rkey, opcode, .. } = other;
            Column { remote_addr, rkey, opcode, set: with_lanes(own.clone(), lanes) }
        };
        dest.columns = (0..columns).map(column).collect();
        if columns > 0 {
            // These fields were those of the first column alone.
            (dest.remote_addr, dest.rkey, dest.opcode) = (0, 0, 0);
        }
        dest
    }
}

/// A request that has not been released.
struct Held {
    beat: Beat,
    dests: Vec<Dest>,
}

pub struct World {
    pub bench: Bench<'static>,
    written: Rc<RefCell<Written>>,
    qp_errors: Flagged,
    /// Queues that are halted.
    pub halted: Flagged,
    pub wqe: DriverId,
    slot_free: DriverId,
    pub open: MonitorId,
    pub request: MonitorId,
    random: Random,
    held: VecDeque<Held>,
    slots: HashSet<u8>,
    opened: VecDeque<Beat>,
    /// Probability with which the oldest request is released in a cycle.
    pub release: f64,
}

pub fn library() -> Library {
    testing::library("decoder", Decoder::default)
}

impl World {
    pub fn new(library: &Library, seed: u64, card: &Card) -> Self {
        let mut bench = Bench::new(library.instance(seed), seed);
        bench.limit(20_000_000);
        let written = Rc::new(RefCell::new(Written {
            lanes: vec![[Lane::default(); 16]; 2048],
            sets: vec![Default::default(); 2048],
            dests: vec![Default::default(); 1024],
            inline: vec![false; 2048],
            payloads: vec![Vec::new(); 256],
            fetches: [0; 256],
            addresses: vec![None; 256],
            functions: vec![Default::default(); 256],
            keys: vec![[Key::default(); 16]; 256],
        }));
        let seen = Rc::clone(&written);
        bench.observe(move |model, _| record(&mut seen.borrow_mut(), model));
        let qp_errors = answer_flag(&mut bench, "error_next", "qp_error");
        let halted = answer_flag(&mut bench, "halted_next", "queue_halted");
        clear_tables(&mut bench);
        let (wqe, slot_free) = (bench.driver("wqe"), bench.driver("slot_free"));
        let (open, request) = (bench.monitor("open"), bench.monitor("request"));
        let mut world = Self {
            bench,
            written,
            qp_errors,
            halted,
            wqe,
            slot_free,
            open,
            request,
            random: Random::new(seed + 1000),
            held: VecDeque::new(),
            slots: HashSet::new(),
            opened: VecDeque::new(),
            release: 0.3,
        };
        let tables: [(u64, Vec<Vec<u8>>); 3] = [
            (0, card.queue_pairs.iter().map(|e| e.to_bytes().to_vec()).collect()),
            (1, card.regions.iter().map(|e| e.to_bytes().to_vec()).collect()),
            (2, card.queues.iter().map(|e| e.to_bytes().to_vec()).collect()),
        ];
        for (table, entries) in tables {
            for (index, entry) in entries.iter().enumerate() {
                for (word, bytes) in entry.chunks_exact(4).enumerate() {
                    let data = u32::from_le_bytes(bytes.try_into().expect("a word"));
                    world.configure(table, index as u64, word as u64, data);
                }
            }
        }
        for slot in 0..=255_u8 {
            world.bench.send(world.slot_free, Beat::from([("slot", slot)]));
        }
        world
    }

    pub fn configure(&mut self, table: u64, index: u64, word: u64, data: u32) {
        self.bench.set("cfg_valid", 1);
        self.bench.set("cfg_table", table);
        self.bench.set("cfg_index", index);
        self.bench.set("cfg_word", word);
        self.bench.set("cfg_data", data);
        self.bench.step();
        self.bench.set("cfg_valid", 0);
    }

    /// Sets the queue pairs in error.
    pub fn set_qp_errors(&mut self, errors: &HashSet<u8>) {
        *self.qp_errors.borrow_mut() = errors.iter().map(|qp| u64::from(*qp)).collect();
    }

    /// Enables a queue anew.
    pub fn enable(&mut self, queue: u8) {
        let word = drdma_abi::register::SendQueueEntry::field("enable").start / 32;
        self.configure(2, queue.into(), word as u64, 1);
    }

    pub fn post(&mut self, batch: &Batch) {
        let total = batch.bytes.len() / BLOCK;
        let mut head = 0;
        for (index, block) in batch.bytes.chunks_exact(BLOCK).enumerate() {
            let error = batch.unread.contains(&index);
            // Now and then a turn ends between two entries. One whose length is wrong is taken for a block.
            let mut begins = index == 0;
            if index == head {
                begins |= self.random.chance(0.3);
                let granules = WqeHeader::decode(&block[..32]).granules;
                let blocks = (granules as usize).div_ceil(BLOCK / GRANULE);
                let sane = (2..=MAX_WQE_GRANULES).contains(&(granules as usize));
                head += if sane && !error && index + blocks <= total { blocks } else { 1 };
            }
            let beat = Beat::new()
                .with("data", Word::from_bytes(block))
                .with("queue", batch.queue)
                .with("position", batch.position.wrapping_add(index as u32))
                .with("remaining", (total - index) as u32)
                .with("error", error)
                .with("begins", begins)
                .with("part", batch.part.block(index + 1 == total));
            self.bench.send(self.wqe, beat);
        }
    }

    /// Runs a cycle, and plays the sequencer and the completion block in it.
    pub fn step(&mut self, expected: &mut VecDeque<Request>) {
        let release = !self.held.is_empty() && self.random.chance(self.release);
        if release {
            let held = self.held.pop_front().expect("there is one");
            let slot = held.beat.u64("slot") as u8;
            let (written, first) = (self.written.borrow(), held.beat.u64("first_dest") as usize);
            let size = (held.dests.len(), held.beat.u64("columns") as usize);
            for (index, dest) in held.dests.iter().enumerate() {
                assert_eq!(
                    written.dest_of(first, index, size, slot),
                    *dest,
                    "overwritten before its release"
                );
            }
            drop(written);
            self.slots.remove(&slot);
            self.bench.send(self.slot_free, Beat::from([("slot", slot)]));
        }
        self.bench.set("release_valid", release);
        self.bench.step();
        for beat in self.bench.take(self.open) {
            assert!(self.slots.insert(beat.u64("slot") as u8), "{beat:?}: the slot is taken");
            self.opened.push_back(beat);
        }
        for beat in self.bench.take(self.request) {
            let expected = expected.pop_front().unwrap_or_else(|| panic!("unexpected: {beat:?}"));
            self.check(beat, expected);
        }
    }

    fn check(&mut self, beat: Beat, expected: Request) {
        let opened = self.opened.pop_front().expect("a request is opened first");
        for field in ["slot", "queue", "wr_id"] {
            assert_eq!(beat.get(field), opened.get(field), "{field} of the opened request");
        }
        let (slot, first) = (beat.u64("slot") as u8, beat.u64("first_dest") as usize);
        let (status, dests) = (beat.u64("status"), beat.u64("dests") as usize);
        let columns = beat.u64("columns") as usize;
        let written = self.written.borrow();
        let made = status == 0 && written.dest(first, slot).sets.first().is_some_and(|s| s.made);
        let got = Request {
            queue: beat.u64("queue") as u8,
            wr_id: beat.u64("wr_id"),
            position: opened.u64("position") as u32,
            unsignaled: expected.unsignaled.map(|_| opened.u64("unsignaled") == 1),
            status: beat.u64("status") as u8,
            bad_dest: beat.u64("bad_dest") as u8,
            fetch: Some(written.fetches[usize::from(slot)])
                .filter(|fetch| status == 0 && fetch & 1 == 1)
                .map(|fetch| (1 << (fetch >> 1 & 15), fetch >> 5)),
            apart: status == 0 && beat.u64("apart") == 1,
            address: written.addresses[usize::from(slot)].filter(|_| status == 0),
            function: made.then(|| written.function(slot)),
            qp_error: (status != 0 && dests == 1)
                .then(|| written.dest(first + beat.u64("bad_dest") as usize, slot).qp),
            dests: match status {
                0 => {
                    (0..dests).map(|k| written.dest_of(first, k, (dests, columns), slot)).collect()
                }
                _ => Vec::new(),
            },
        };
        if got.dests.iter().any(|dest| dest.column_order) {
            assert_eq!(beat.u64("kinds"), 1, "rows are sent as those with kinds are");
        }
        assert_eq!(got, expected);
        self.held.push_back(Held { beat, dests: got.dests });
    }

    /// Runs until all that is expected has come and all blocks have gone.
    pub fn run(&mut self, expected: &mut VecDeque<Request>) {
        while !expected.is_empty() || self.bench.pending(self.wqe) > 0 {
            self.step(expected);
        }
        for _ in 0..40 {
            self.step(expected);
        }
    }
}
