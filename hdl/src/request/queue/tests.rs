//! Against a plain account of what each doorbell adds to its ring.

use super::Queue;
use crate::context::testing::{Flagged, answer_flag, clear_tables};
use crate::testing;
use drdma_abi::register::{SEND_QUEUES, SendQueueEntry};
use drdma_verilated::testbench::{Beat, Bench, DriverId, MonitorId, Random, STALLS};
use drdma_verilated::{Library, Word};
use std::collections::{HashMap, VecDeque};

mod parking;
mod parts;
mod turns;

/// A block that must come: queue, position, remaining, the address that it was read from.
pub(super) type Block = (u64, u64, u64, u64);

/// Model of a send queue: the blocks that follow from its doorbells, without their times.
#[derive(Clone, Default)]
pub(super) struct Ring {
    pub base: u64,
    pub log: u32,
    pub position: u32,
}

impl Ring {
    pub fn ring(&mut self, queue: u64, target: u32, out: &mut Vec<Block>) {
        let count = target.wrapping_sub(self.position);
        if u64::from(count) > 1 << self.log {
            return;
        }
        for i in 0..count {
            let position = self.position.wrapping_add(i);
            let slot = u64::from(position) % (1 << self.log);
            let addr = self.base.wrapping_add(64 * slot);
            out.push((queue, position.into(), (count - i).into(), addr));
        }
        self.position = target;
    }
}

/// The words of a send queue's entry.
pub(super) fn words_of_entry(base: u64, log: u32) -> Vec<u64> {
    let entry =
        SendQueueEntry { addr: base, log_blocks: log as u8, enable: 1, ..Default::default() };
    let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("4 bytes")).into();
    entry.to_bytes().chunks(4).map(word).collect()
}

fn block_at(addr: u64) -> Vec<u8> {
    Random::new(addr).bytes(64)
}

/// A queue with the ports of `host_read` answered by this test, after `latency` cycles.
struct Setup<'a> {
    bench: Bench<'a>,
    doorbell: DriverId,
    request: MonitorId,
    response: DriverId,
    wqe: MonitorId,
    latency: u64,
    asked: VecDeque<(u64, Beat)>,
    /// Reads that touch this range fail.
    broken: std::ops::Range<u64>,
    reads: Vec<(u64, u64)>,
    /// Halted queues, as the fetching unit and the batches see them.
    halted: [Flagged; 2],
    /// Blocks with contents of their own, by address.
    memory: HashMap<u64, Vec<u8>>,
}

impl Setup<'_> {
    fn new(library: &Library, seed: u64) -> Self {
        let mut bench = Bench::new(library.instance(seed), seed);
        let doorbell = bench.driver("doorbell");
        let request = bench.monitor("read_req");
        let response = bench.driver("read_resp");
        let wqe = bench.monitor("wqe");
        let (asked, reads, broken) = (VecDeque::new(), Vec::new(), 0..0);
        let halted = ["fetch", "batch"]
            .map(|who| answer_flag(&mut bench, &format!("{who}_next"), &format!("{who}_halted")));
        clear_tables(&mut bench);
        let (latency, memory) = (0, HashMap::new());
        Self {
            bench,
            doorbell,
            request,
            response,
            wqe,
            latency,
            asked,
            broken,
            reads,
            halted,
            memory,
        }
    }

    fn step(&mut self) {
        self.bench.step();
        let now = self.bench.cycles();
        for request in self.bench.take(self.request) {
            self.asked.push_back((now + self.latency, request));
        }
        while self.asked.front().is_some_and(|(due, _)| *due <= now) {
            let (_, request) = self.asked.pop_front().expect("there is one");
            let (addr, bytes) = (request.u64("addr"), request.u64("bytes"));
            assert!(bytes % 64 == 0 && (64..=1024).contains(&bytes), "{bytes} bytes");
            self.reads.push((addr, bytes));
            for at in (0..bytes).step_by(64) {
                let end = addr + bytes;
                let error = addr < self.broken.end && end > self.broken.start;
                let block = self.memory.get(&(addr + at)).cloned();
                let block = block.unwrap_or_else(|| block_at(addr + at));
                let beat = Beat::new()
                    .with("data", Word::from_bytes(&block))
                    .with("last", at + 64 == bytes)
                    .with("error", error);
                self.bench.send(self.response, beat);
            }
        }
    }

    fn run_until(&mut self, done: impl Fn(&Bench<'_>) -> bool) {
        while !done(&self.bench) {
            self.step();
        }
    }

    fn run(&mut self, cycles: u64) {
        (0..cycles).for_each(|_| self.step());
    }

    fn configure(&mut self, queue: u64, base: u64, log: u32) {
        for (word, data) in words_of_entry(base, log).into_iter().enumerate() {
            self.write(2, queue, word as u64, data);
        }
    }

    fn write(&mut self, table: u64, index: u64, word: u64, data: u64) {
        let inputs = [("table", table), ("index", index), ("word", word), ("data", data)];
        for (name, value) in inputs {
            self.bench.set(format!("cfg_{name}"), value);
        }
        self.bench.set("cfg_valid", 1);
        self.step();
        self.bench.set("cfg_valid", 0);
        self.step();
    }

    fn doorbell(&mut self, queue: u64, position: u32) {
        let beat = Beat::from([("queue", queue), ("position", position.into())]);
        self.bench.send(self.doorbell, beat);
    }

    fn blocks(&self) -> Vec<Block> {
        let beats = self.bench.received(self.wqe).iter();
        beats
            .map(|beat| {
                let of = |name| beat.u64(name);
                (of("queue"), of("position"), of("remaining"), beat.get("data").to_u64())
            })
            .collect()
    }
}

fn with_data(blocks: &[Block]) -> Vec<Block> {
    let data = |addr| Word::from_bytes(&block_at(addr)).to_u64();
    blocks
        .iter()
        .map(|&(queue, position, left, addr)| (queue, position, left, data(addr)))
        .collect()
}

fn library() -> Library {
    testing::library("queue", Queue::default)
}

#[test]
fn every_batch_comes_in_the_order_of_the_doorbells_of_its_queue() {
    let library = library();
    for (seed, stalls) in (1..).zip(STALLS) {
        let mut random = Random::new(seed);
        let mut setup = Setup::new(&library, seed);
        let mut rings = vec![Ring::default(); SEND_QUEUES.entries as usize];
        let used: Vec<u64> = (0..6).map(|_| random.below(SEND_QUEUES.entries.into())).collect();
        // Words of other tables and other queues have no effect.
        setup.write(1, used[0], 7, 1);
        for &queue in &used {
            let log = [0, 1, 3, 5, 7, 16][random.below(6) as usize];
            let ring = &mut rings[queue as usize];
            *ring = Ring { base: random.u64() & !0x3f, log, position: 0 };
            setup.configure(queue, ring.base, ring.log);
            setup.write(3, queue, 0, 12);
        }
        setup.latency = random.below(200);
        setup.bench.stall(stalls);
        let mut expected = Vec::new();
        for _ in 0..120 {
            let queue = used[random.below(6) as usize];
            let ring = &mut rings[queue as usize];
            let count = match random.below(8) {
                0 => 1 << ring.log.min(5),
                1 => (1 << ring.log) + 1,
                2 => 0,
                3 => random.u64() as u32 | 0x8000_0000,
                _ => 1 + random.below(1 << ring.log.min(5)) as u32,
            };
            let target = ring.position.wrapping_add(count);
            // Blocks in the ring that were not fetched yet are not overwritten.
            let wqe = setup.wqe;
            let (position, blocks) = (ring.position, 1 << ring.log);
            setup.run_until(|bench| {
                let of_queue = |beat: &&Beat| beat.u64("queue") == queue;
                let seen = bench.received(wqe).iter().filter(of_queue).count() as u32;
                position + count.min(blocks) - seen <= blocks
            });
            setup.doorbell(queue, target);
            ring.ring(queue, target, &mut expected);
        }
        let wqe = setup.wqe;
        setup.run_until(|bench| bench.received(wqe).len() >= expected.len());
        setup.run(100);
        for queue in used {
            let of_queue = |blocks: &[Block]| -> Vec<_> {
                let blocks = blocks.iter().filter(|block| block.0 == queue);
                blocks.map(|block| (block.1, block.3)).collect()
            };
            assert_eq!(of_queue(&setup.blocks()), of_queue(&with_data(&expected)));
        }
        let error = |beat: &Beat| beat.u64("error") == 1;
        assert!(!setup.bench.received(wqe).iter().any(error));
    }
}

#[test]
fn reads_end_where_the_ring_does() {
    let mut setup = Setup::new(&library(), 1);
    setup.configure(9, 0x1000, 5);
    setup.doorbell(9, 20);
    setup.doorbell(9, 52);
    let wqe = setup.wqe;
    setup.run_until(|bench| bench.received(wqe).len() == 52);
    let expected = [(0x1000, 1024), (0x1400, 256), (0x1500, 768), (0x1000, 1024), (0x1400, 256)];
    assert_eq!(setup.reads, expected);
}

#[test]
fn a_failed_read_marks_its_blocks() {
    let mut setup = Setup::new(&library(), 1);
    setup.configure(0, 0x1_0000, 6);
    setup.broken = 0x1_0400..0x1_0401;
    setup.doorbell(0, 40);
    let wqe = setup.wqe;
    setup.run_until(|bench| bench.received(wqe).len() == 40);
    let errors: Vec<_> = setup.bench.received(wqe).iter().map(|beat| beat.u64("error")).collect();
    let expected: Vec<_> = (0..40).map(|i| u64::from((16..32).contains(&i))).collect();
    assert_eq!(errors, expected);
}

#[test]
fn a_halted_queue_loses_what_has_not_begun_and_others_do_not() {
    let mut setup = Setup::new(&library(), 1);
    setup.configure(7, 0x1_0000, 6);
    setup.configure(8, 0x2_0000, 6);
    let wqe = setup.wqe;
    setup.doorbell(7, 20);
    setup.doorbell(7, 30);
    setup.doorbell(8, 5);
    setup.bench.stall_monitor(wqe, 1.0);
    setup.run(200);
    for halted in &setup.halted {
        halted.borrow_mut().insert(7);
    }
    setup.doorbell(7, 40);
    setup.doorbell(8, 6);
    setup.run(50);
    setup.bench.stall_monitor(wqe, 0.0);
    setup.run(200);
    let mut expected = Vec::new();
    Ring { base: 0x1_0000, log: 6, position: 0 }.ring(7, 20, &mut expected);
    let mut other = Ring { base: 0x2_0000, log: 6, position: 0 };
    other.ring(8, 5, &mut expected);
    other.ring(8, 6, &mut expected);
    assert_eq!(setup.blocks(), with_data(&expected));
}

#[test]
fn a_queue_that_is_enabled_anew_starts_at_0_without_the_old_doorbells() {
    let mut setup = Setup::new(&library(), 1);
    setup.configure(7, 0x1_0000, 6);
    let wqe = setup.wqe;
    setup.bench.stall_monitor(wqe, 1.0);
    setup.doorbell(7, 3);
    setup.doorbell(7, 9);
    setup.doorbell(7, 11);
    setup.run(100);
    setup.configure(7, 0x3_0000, 4);
    setup.doorbell(7, 2);
    setup.run(100);
    setup.bench.stall_monitor(wqe, 0.0);
    setup.run(200);
    let mut expected = Vec::new();
    // The first batch was begun before the queue was enabled anew.
    Ring { base: 0x1_0000, log: 6, position: 0 }.ring(7, 3, &mut expected);
    Ring { base: 0x3_0000, log: 4, position: 0 }.ring(7, 2, &mut expected);
    assert_eq!(setup.blocks(), with_data(&expected));
}

#[test]
fn a_thousand_doorbells_wait() {
    let mut setup = Setup::new(&library(), 1);
    setup.configure(0, 0x1_0000, 16);
    let wqe = setup.wqe;
    setup.bench.stall_monitor(wqe, 1.0);
    for i in 1..=1200 {
        setup.doorbell(0, i);
    }
    setup.run(3000);
    let waiting = 1200 - setup.bench.pending(setup.doorbell);
    assert!(waiting >= 1024, "{waiting} doorbells were taken");
    setup.bench.stall_monitor(wqe, 0.0);
    setup.run_until(|bench| bench.received(wqe).len() == 1200);
}

#[test]
fn a_doorbell_becomes_a_read_in_4_cycles_and_a_long_batch_a_block_per_cycle() {
    let mut setup = Setup::new(&library(), 1);
    setup.configure(0, 0x1_0000, 16);
    let wqe = setup.wqe;
    setup.doorbell(0, 1600);
    setup.run_until(|bench| bench.received(wqe).len() == 1600);
    let rung = setup.bench.sent_at(setup.doorbell)[0];
    let asked = setup.bench.received_at(setup.request)[0];
    assert_eq!(asked - rung, 4);
    let at = setup.bench.received_at(wqe);
    assert_eq!(at[1599] - at[0], 1599);
}

#[test]
fn single_blocks_come_at_one_per_5_cycles() {
    let mut setup = Setup::new(&library(), 1);
    setup.configure(0, 0x1_0000, 16);
    let wqe = setup.wqe;
    (1..=100).for_each(|i| setup.doorbell(0, i));
    setup.run_until(|bench| bench.received(wqe).len() == 100);
    let at = setup.bench.received_at(wqe);
    assert!(at[99] - at[0] <= 99 * 5, "{} cycles", at[99] - at[0]);
}
