//! A host with rings and keys, and `host_read`, around the block.

use super::transposer::Transposer;
use crate::context::testing::clear_tables;
use crate::context::{ATTRIBUTES_TABLE, QUEUE_PAIR_TABLE, RECEIVE_QUEUE_TABLE, REGION_TABLE};
use crate::receive::receives::Receives;
use crate::testing;
use drdma_abi::Layout;
use drdma_abi::receive::{AttributesEntry, ReceiveCompletion, ReceiveQueueEntry, rights};
use drdma_abi::register::{MemoryRegionEntry, QueuePairEntry};
use drdma_semantics::checks::{Directory, QueuePair};
use drdma_verilated::testbench::{Beat, Bench, DriverId, MonitorId};
use drdma_verilated::{Library, Word};
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

/// The protection domain of all queue pairs.
pub const PD: u32 = 7;
/// Codes of the kinds of placings.
pub const NOTHING: u64 = 0;
pub const WRITE: u64 = 1;
pub const RECEIVE: u64 = 2;

pub fn library() -> Library {
    testing::library("receives", Receives::default)
}

/// Memory regions.
#[derive(Default)]
pub struct Keys(pub Vec<MemoryRegionEntry>);

impl Directory for Keys {
    fn memory_region(&self, lkey: u32) -> Option<MemoryRegionEntry> {
        let found = self.0.iter().find(|key| key.lkey == lkey && key.valid == 1);
        found.copied()
    }

    fn queue_pair(&self, _: u32) -> Option<QueuePair> {
        None
    }
}

/// A granule, as [`Host`] keeps it: see its field `granules`.
pub type Granule = (Vec<u8>, u64, bool);

/// A run of bytes that was ordered: address, first byte in the store, bytes, and whether the frame ends.
pub type Run = (u64, u64, u64, bool);

/// The block, its host, and a memory of rings.
pub struct Host<'a> {
    pub bench: Bench<'a>,
    pub doorbell: DriverId,
    pub take: DriverId,
    pub taken: MonitorId,
    pub placing: DriverId,
    /// Driver of the pieces of placings that are placed piece by piece.
    pub piece: DriverId,
    pub order: MonitorId,
    /// Granules of receives whose regions are walked, by queue pair and number: they, the type of their region, and
    /// whether that is the last one.
    pub granules: Rc<RefCell<HashMap<(u64, u64), Granule>>>,
    read: MonitorId,
    beat: DriverId,
    pub transposer: Transposer,
    /// Blocks of rings, by address. Others cannot be read.
    pub memory: HashMap<u64, [u8; 64]>,
    /// Cycles from a read to what it brings.
    pub latency: u64,
    under_way: VecDeque<(u64, Vec<Beat>)>,
    /// Blocks that were read.
    pub blocks_read: usize,
}

impl Host<'_> {
    /// A card after reset, with one key that allows everything: 1.
    pub fn new(library: &Library, seed: u64) -> Self {
        let mut bench = Bench::new(library.instance(seed), seed);
        bench.limit(3_000_000);
        clear_tables(&mut bench);
        let [doorbell, take, placing, piece, beat] =
            ["doorbell", "take", "placing", "piece", "beat"].map(|name| bench.driver(name));
        let granules: Rc<RefCell<HashMap<(u64, u64), Granule>>> = Rc::default();
        let passing = Rc::clone(&granules);
        bench.observe(move |model, _| {
            if model.get("granule_valid") == 1 {
                let data = model.get_word("granule_data").to_bytes(16);
                let of_last = model.get("granule_of_last") == 1;
                let granule = (data, model.get("granule_kind"), of_last);
                let at = (model.get("granule_qp"), model.get("granule_index"));
                passing.borrow_mut().insert(at, granule);
            }
        });
        let [taken, order, read] = ["taken", "order", "read"].map(|name| bench.monitor(name));
        let transposer = Transposer::new(&mut bench);
        let (memory, under_way) = (HashMap::new(), VecDeque::new());
        let mut host = Self {
            bench,
            doorbell,
            take,
            taken,
            placing,
            piece,
            order,
            granules,
            read,
            beat,
            transposer,
            memory,
            latency: 0,
            under_way,
            blocks_read: 0,
        };
        host.region(everything(1));
        host
    }

    /// Runs a cycle of the block and of the host's memory.
    pub fn step(&mut self) {
        self.bench.step();
        self.transposer.step(&mut self.bench);
        let now = self.bench.cycles();
        for read in self.bench.take(self.read) {
            let (addr, bytes) = (read.u64("addr"), read.u64("bytes"));
            assert!((64..=1024).contains(&bytes) && bytes % 64 == 0, "{bytes} bytes");
            self.blocks_read += bytes as usize / 64;
            let blocks: Vec<_> =
                (0..bytes / 64).map(|k| self.memory.get(&(addr + 64 * k))).collect();
            let error = blocks.iter().any(Option::is_none);
            let count = blocks.len();
            let beats = blocks.iter().enumerate().map(|(k, block)| {
                Beat::new()
                    .with("data", Word::from_bytes(block.unwrap_or(&[0; 64])))
                    .with("last", u64::from(k + 1 == count))
                    .with("error", u64::from(error))
            });
            self.under_way.push_back((now + self.latency, beats.collect()));
        }
        while self.under_way.front().is_some_and(|(due, _)| *due <= now) {
            let (_, beats) = self.under_way.pop_front().expect("it is there");
            self.bench.send_all(self.beat, beats);
        }
    }

    pub fn run(&mut self, cycles: u64) {
        (0..cycles).for_each(|_| self.step());
    }

    /// Runs until the block has no work, and some cycles more.
    pub fn settle(&mut self) {
        let mut quiet = 0;
        while quiet < 20 {
            self.step();
            let pending = [self.doorbell, self.take, self.placing, self.piece, self.beat]
                .iter()
                .any(|driver| self.bench.pending(*driver) > 0);
            let busy = pending || self.bench.get("busy") == 1;
            quiet = if busy { 0 } else { quiet + 1 };
        }
    }

    fn write(&mut self, table: u64, index: u64, entry: &[u8]) {
        for (word, bytes) in (0_u64..).zip(entry.chunks(4)) {
            let data = u32::from_le_bytes(bytes.try_into().expect("4 bytes"));
            for (port, value) in [
                ("cfg_valid", 1),
                ("cfg_table", table),
                ("cfg_index", index),
                ("cfg_word", word),
                ("cfg_data", data.into()),
            ] {
                self.bench.set(port, value);
            }
            self.step();
            self.bench.set("cfg_valid", 0);
            self.run(3);
        }
    }

    pub fn region(&mut self, entry: MemoryRegionEntry) {
        self.write(REGION_TABLE, u64::from(entry.lkey) % 4096, &entry.to_bytes());
    }

    /// Makes a receive queue ready. Its ring is at [`ring`].
    pub fn queue(&mut self, queue: u16, log_blocks: u8, shared_or_owner: Option<u32>) {
        let entry = ReceiveQueueEntry {
            addr: ring(queue, 0, 0),
            log_blocks,
            shared: shared_or_owner.is_none().into(),
            completion_queue: queue % 1024,
            qp: shared_or_owner.unwrap_or(0),
            enable: 1,
            ..Default::default()
        };
        self.write(RECEIVE_QUEUE_TABLE, queue.into(), &entry.to_bytes());
    }

    /// Makes a queue pair receive into a queue.
    pub fn attributes(&mut self, qp: u64, receive_queue: u16, state: u32) {
        let entry = AttributesEntry { receive_queue, receives: 1, state, ..Default::default() };
        self.write(ATTRIBUTES_TABLE, qp, &entry.to_bytes());
    }

    /// Writes a queue pair's entry.
    pub fn queue_pair(&mut self, qp: u64, state: u32) {
        let entry = QueuePairEntry { state, ..Default::default() };
        self.write(QUEUE_PAIR_TABLE, qp, &entry.to_bytes());
    }

    /// Puts an entry's blocks into a ring.
    pub fn put(&mut self, queue: u16, log_blocks: u8, position: u32, entry: &[u8]) {
        for (k, block) in (0..).zip(entry.chunks(64)) {
            let at = ring(queue, position.wrapping_add(k), log_blocks);
            self.memory.insert(at, block.try_into().expect("a block"));
        }
    }

    pub fn ring_doorbell(&mut self, queue: u16, position: u32) {
        let beat = Beat::from([("queue", u64::from(queue)), ("position", position.into())]);
        self.bench.send(self.doorbell, beat);
    }

    pub fn ask(&mut self, qp: u64, queue: u16) {
        let beat = Beat::from([("qp", qp), ("queue", queue.into()), ("pd", PD.into())]);
        self.bench.send(self.take, beat);
    }

    /// Takes a receive; returns whether there is one, its status and its capacity.
    pub fn take(&mut self, qp: u64, queue: u16) -> (bool, u64, u64) {
        self.ask(qp, queue);
        while self.bench.received(self.taken).is_empty() {
            self.step();
        }
        answer(&self.bench.take(self.taken)[0])
    }

    pub fn give_up(&mut self, qp: u64) {
        self.bench.set("broken_valid", 1);
        self.bench.set("broken_qp", qp);
        self.step();
        self.bench.set("broken_valid", 0);
    }

    /// The orders so far: runs of bytes, and completions with their completion queue.
    pub fn orders(&mut self) -> (Vec<Run>, Vec<(u64, ReceiveCompletion)>) {
        let (mut runs, mut completions) = (Vec::new(), Vec::new());
        for order in self.bench.take(self.order) {
            let field = |name: &str| order.u64(name);
            runs.extend(self.runs_of(&order));
            if field("completes") == 1 {
                completions.push(completion(order.get("receipt")));
            }
        }
        (runs, completions)
    }

    /// The runs of an order: one, or those of all values that go to the transposer.
    pub fn runs_of(&mut self, order: &Beat) -> Vec<Run> {
        let field = |name: &str| order.u64(name);
        match field("column") {
            0 => vec![(field("addr"), field("ram"), field("bytes"), field("frame_end") == 1)],
            _ => self.transposer.runs(order),
        }
    }

    pub fn completions(&mut self) -> Vec<(u64, ReceiveCompletion)> {
        self.orders().1
    }
}

/// Fields of a `Taken`: found, status, capacity.
pub fn answer(taken: &Beat) -> (bool, u64, u64) {
    (taken.u64("found") == 1, taken.u64("status"), taken.u64("capacity"))
}

/// A `Receipt`: completion queue, and the line.
pub fn completion(receipt: &Word) -> (u64, ReceiveCompletion) {
    let line = receipt.bits(22, 256).to_bytes(32);
    let completion = ReceiveCompletion::decode(&line);
    assert_eq!(receipt.bits(10, 12).to_u64(), u64::from(completion.qp));
    (receipt.bits(0, 10).to_u64(), completion)
}

/// A block of a queue's ring.
pub fn ring(queue: u16, position: u32, log_blocks: u8) -> u64 {
    let slot = u64::from(position & ((1 << log_blocks) - 1));
    0x10_0000_0000 + (u64::from(queue) << 24) + 64 * slot
}

/// A key of all memory.
pub fn everything(lkey: u32) -> MemoryRegionEntry {
    MemoryRegionEntry { addr: 0, len: u64::MAX, lkey, rights: rights::ALL, pd: PD, valid: 1 }
}
