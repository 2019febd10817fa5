use std::collections::{HashMap, VecDeque};

use drdma_abi::Layout;
use drdma_abi::completion::{Completion as Entry, Status};
use drdma_abi::receive::AttributesEntry;
use drdma_abi::register::{CompletionQueueEntry, QueuePairEntry, SendQueueEntry};
use drdma_abi::roce::Transport;
use drdma_verilated::testbench::{Beat, Bench, DriverId, MonitorId, Random, STALLS};
use drdma_verilated::{Library, Word};

use super::Completion;
use crate::context::testing::clear_tables;
use crate::testing;

mod cycles;
mod failures;
mod parts;
mod receipts;
mod renewals;
mod traffic;

const QUEUE_PAIRS: u64 = 0;
const SEND_QUEUES: u64 = 2;
const COMPLETION_QUEUES: u64 = 3;
const ATTRIBUTES: u64 = 4;

fn library() -> Library {
    testing::library("completion", Completion::default)
}

/// The block with its streams, seen as the host, the pipeline and the peers see it.
struct Card<'a> {
    bench: Bench<'a>,
    open: DriverId,
    sent: DriverId,
    ack: DriverId,
    receipt: DriverId,
    slots: MonitorId,
    write: MonitorId,
    free: VecDeque<u64>,
    /// Completions written, by their address.
    log: Vec<(u64, Entry)>,
    /// Completions written, as raw bits, by their address.
    lines: Vec<(u64, Word)>,
}

impl<'a> Card<'a> {
    fn new(library: &Library, seed: u64, stalls: (f64, f64)) -> Self {
        let mut bench = Bench::new(library.instance(seed), seed);
        bench.limit(400_000);
        let (open, sent, ack) = (bench.driver("open"), bench.driver("sent"), bench.driver("ack"));
        let receipt = bench.driver("receipt");
        let (slots, write) = (bench.monitor("slot_free"), bench.monitor("write"));
        clear_tables(&mut bench);
        bench.stall(stalls);
        bench.run(110);
        let (free, log, lines) = Default::default();
        Self { bench, open, sent, ack, receipt, slots, write, free, log, lines }
    }

    fn table(&mut self, table: u64, index: u64, bytes: &[u8]) {
        for (word, value) in bytes.chunks(4).enumerate() {
            self.word(table, index, word as u64, u32::from_le_bytes(value.try_into().unwrap()));
        }
        // A doorbell takes longer than this to become a request.
        self.bench.run(10);
    }

    fn word(&mut self, table: u64, index: u64, word: u64, value: u32) {
        for (port, value) in
            [("table", table), ("index", index), ("word", word), ("data", u64::from(value))]
        {
            self.bench.set(format!("cfg_{port}").as_str(), value);
        }
        self.bench.set("cfg_valid", 1_u64);
        self.bench.step();
        self.bench.set("cfg_valid", 0_u64);
    }

    fn queue(&mut self, queue: u64, cq: u16) {
        let entry = SendQueueEntry { completion_queue: cq, enable: 1, ..Default::default() };
        self.table(SEND_QUEUES, queue, &entry.to_bytes());
    }

    fn completion_queue(&mut self, cq: u64, addr: u64, log_entries: u8) {
        let entry = CompletionQueueEntry { addr, log_entries, enable: 1, ..Default::default() };
        self.table(COMPLETION_QUEUES, cq, &entry.to_bytes());
    }

    fn consumed(&mut self, cq: u64, consumer: u32) {
        let word = CompletionQueueEntry::field("consumer").start as u64 / 32;
        self.word(COMPLETION_QUEUES, cq, word, consumer);
    }

    fn slot(&mut self) -> u64 {
        loop {
            self.settle();
            if let Some(slot) = self.free.pop_front() {
                return slot;
            }
            self.bench.step();
        }
    }

    /// Collects the slots, entries and states that the block has given.
    fn settle(&mut self) {
        self.free.extend(self.bench.take(self.slots).iter().map(|beat| beat.u64("slot")));
        for beat in self.bench.take(self.write) {
            self.lines.push((beat.u64("addr"), beat.get("data").clone()));
            self.log.push((beat.u64("addr"), Entry::decode(&beat.get("data").to_bytes(32))));
        }
    }

    fn open(&mut self, queue: u64, wr_id: u64) -> u64 {
        let slot = self.slot();
        let beat = Beat::from([("slot", slot), ("queue", queue), ("wr_id", wr_id)]);
        self.bench.send(self.open, beat);
        self.drain();
        slot
    }

    /// Reports that a packet of queue pair `qp` leaves with sequence number `psn`.
    fn sending(&mut self, qp: u64, psn: u64) {
        self.bench.set("sending_qp", qp);
        self.bench.set("sending_psn", psn);
        self.bench.set("sending_valid", 1_u64);
        self.bench.step();
        self.bench.set("sending_valid", 0_u64);
    }

    fn packet(&mut self, slot: u64, qp: u64, psn: u64, dest: u64) {
        self.sending(qp, psn);
        self.bench.send(self.sent, sent(slot, qp, 0, psn, 0, dest, 0));
        self.drain();
    }

    fn end(&mut self, slot: u64, status: u64, total: u64) {
        self.bench.send(self.sent, sent(slot, 0, 1, 0, status, 3, total));
        self.drain();
    }

    fn ack(&mut self, qp: u64, psn: u64, syndrome: u64) {
        let beat = Beat::from([("qp", qp), ("psn", psn), ("syndrome", syndrome)]);
        self.bench.send(self.ack, beat);
        self.drain();
    }

    fn drain(&mut self) {
        let all = [self.open, self.sent, self.ack];
        self.bench.run_until(|bench| all.iter().all(|id| bench.pending(*id) == 0));
    }

    fn entries(&mut self) -> Vec<Entry> {
        self.bench.run(300);
        self.settle();
        std::mem::take(&mut self.log).into_iter().map(|(_, entry)| entry).collect()
    }

    fn statuses(&mut self) -> Vec<(u64, u8)> {
        self.entries().iter().map(|entry| (entry.wr_id, entry.status)).collect()
    }
}

fn sent(slot: u64, qp: u64, kind: u64, psn: u64, status: u64, dest: u64, total: u64) -> Beat {
    Beat::from([
        ("slot", slot),
        ("qp", qp),
        ("kind", kind),
        ("psn", psn),
        ("status", status),
        ("bad_dest", dest),
        ("total", total),
    ])
}

const OK: u8 = Status::Success as u8;
const FLUSH: u8 = Status::WrFlushError as u8;

#[test]
fn requests_complete_in_order_per_queue_once_everything_is_acknowledged() {
    let library = library();
    for (seed, stalls) in (1..).zip(STALLS) {
        let mut random = Random::new(seed);
        let mut card = Card::new(&library, seed, stalls);
        let rings: [u64; 2] = [0x1_0000_0000, 0xffff_f000];
        card.completion_queue(0, rings[0], 9);
        card.completion_queue(5, rings[1], 4);
        (0..4).for_each(|queue| card.queue(queue, if queue < 2 { 0 } else { 5 }));
        let mut psn: Vec<u64> = (0..6).map(|_| random.below(1 << 24)).collect();
        let mut unacknowledged: Vec<VecDeque<u64>> = vec![VecDeque::new(); 6];
        let mut expected: HashMap<u64, VecDeque<(u64, u64)>> = HashMap::new();
        let (mut received, mut taken) = (0, 0);
        for wr_id in 0..300 {
            let queue = random.below(4);
            let slot = card.open(queue, wr_id);
            let total = random.below(1 << 40);
            for dest in 0..random.below(4) {
                let qp = random.below(6) as usize;
                psn[qp] = (psn[qp] + 1 + random.below(50)) & 0xff_ffff;
                card.packet(slot, qp as u64, psn[qp], dest);
                unacknowledged[qp].push_back(psn[qp]);
            }
            card.end(slot, 0, total);
            expected.entry(queue).or_default().push_back((wr_id, total));
            for (qp, waiting) in unacknowledged.iter_mut().enumerate() {
                if random.chance(0.3) && !waiting.is_empty() {
                    let covered = 1 + random.below(waiting.len() as u64) as usize;
                    let last = waiting.drain(..covered).next_back().unwrap();
                    card.ack(qp as u64, last, 0x1f);
                }
            }
            if wr_id == 299 {
                for (qp, waiting) in unacknowledged.iter_mut().enumerate() {
                    if let Some(last) = waiting.pop_back() {
                        card.ack(qp as u64, last, 0);
                    }
                }
            }
            for _ in 0..if wr_id == 299 { 20 } else { 1 } {
                if wr_id == 299 {
                    card.bench.run(300);
                }
                card.settle();
                let log = std::mem::take(&mut card.log);
                for (addr, entry) in log {
                    let (cq, log_size) = if entry.queue < 2 { (0, 9) } else { (1, 4) };
                    let count = if cq == 0 { &mut taken } else { &mut received };
                    assert_eq!(addr, rings[cq] + *count % (1 << log_size) * 32);
                    assert_eq!(u64::from(entry.phase), (*count >> log_size & 1) ^ 1, "phase");
                    *count += 1;
                    let (wr_id, total) =
                        expected.get_mut(&u64::from(entry.queue)).unwrap().pop_front().unwrap();
                    assert_eq!((entry.wr_id, entry.bytes, entry.status), (wr_id, total, OK));
                    if cq == 1 {
                        card.consumed(5, received as u32);
                    }
                }
            }
        }
        assert!(expected.values().all(VecDeque::is_empty), "every request completed");
        assert_eq!(taken + received, 300);
        assert_eq!(card.bench.get("busy"), 0);
    }
}

#[test]
fn a_full_completion_queue_keeps_others_going_and_loses_nothing() {
    let mut card = Card::new(&library(), 4, (0.0, 0.3));
    card.completion_queue(0, 0x1000, 1);
    card.completion_queue(1, 0x2000, 6);
    card.queue(0, 0);
    card.queue(1, 1);
    for wr_id in 0..6 {
        let slot = card.open(wr_id % 2, wr_id);
        card.end(slot, 0, 1);
    }
    let mut statuses = card.statuses();
    statuses.sort_unstable();
    assert_eq!(statuses, [(0, OK), (1, OK), (2, OK), (3, OK), (5, OK)]);
    card.consumed(0, 1);
    assert_eq!(card.statuses(), [(4, OK)]);
}

#[test]
fn an_acknowledgement_may_come_before_the_destinations_end_but_not_before_its_packet() {
    let mut card = Card::new(&library(), 7, (0.0, 0.0));
    card.completion_queue(0, 0x1000, 6);
    card.queue(0, 0);
    card.word(QUEUE_PAIRS, 9, 15, 1);
    card.bench.run(10);
    let slot = card.open(0, 1);
    // An acknowledgement and a NAK before any packet was sent are ignored.
    card.ack(9, 0xff_fffe, 0);
    card.ack(9, 0xff_ffff, 0x62);
    card.sending(9, 0xff_fffe);
    card.ack(9, 0xff_ffff, 0);
    card.bench.send(card.sent, sent(slot, 9, 0, 0xff_fffe, 0, 0, 0));
    card.drain();
    card.end(slot, 0, 8);
    assert_eq!(card.statuses(), [], "only packets that were never sent were acknowledged");
    card.ack(9, 0xff_fffe, 0);
    assert_eq!(card.statuses(), [(1, OK)]);
    // The next packet is acknowledged before its destination ends.
    let slot = card.open(0, 2);
    card.sending(9, 0xff_ffff);
    card.sending(9, 0);
    card.ack(9, 0, 0);
    // A stale acknowledgement changes nothing.
    card.ack(9, 0xff_fffe, 0);
    card.bench.send(card.sent, sent(slot, 9, 0, 0, 0, 0, 0));
    card.drain();
    card.end(slot, 0, 8);
    assert_eq!(card.statuses(), [(2, OK)]);
}

/// Words that the host writes shortly one behind the other take effect one after the other.
#[test]
fn two_queues_that_are_enabled_in_any_distance_forget_their_requests() {
    let library = library();
    for distance in 0..16 {
        let mut card = Card::new(&library, 10, (0.0, 0.0));
        card.completion_queue(0, 0x1000, 6);
        (0..2).for_each(|queue| card.queue(queue, 0));
        let slots = [0, 1].map(|queue| card.open(queue, queue));
        for queue in 0..2 {
            card.word(SEND_QUEUES, queue, 7, 1);
            card.bench.run(if queue == 0 { distance } else { 40 });
        }
        slots.iter().for_each(|slot| card.end(*slot, 0, 1));
        assert_eq!(card.statuses(), []);
        card.bench.run(100);
        assert_eq!(card.bench.get("busy"), 0, "distance {distance}");
    }
}

#[test]
fn a_packet_that_finds_no_room_waits_and_acknowledgements_pass_it() {
    let mut card = Card::new(&library(), 9, (0.0, 0.0));
    card.completion_queue(0, 0x1000, 6);
    card.queue(0, 0);
    // 16 requests of 64 destinations.
    let slots: Vec<_> = (0..17).map(|wr_id| card.open(0, wr_id)).collect();
    for psn in 0..1024 {
        card.packet(slots[psn as usize / 64], psn % 4, psn / 4, psn % 64);
    }
    card.sending(5, 7);
    card.bench.send(card.sent, sent(slots[16], 5, 0, 7, 0, 0, 0));
    card.bench.run(100);
    assert_eq!(card.bench.pending(card.sent), 1, "1,024 packets wait already");
    card.ack(0, 0, 0);
    assert_eq!(card.bench.pending(card.sent), 0, "one of them does not any more");
    slots.iter().for_each(|slot| card.end(*slot, 0, 8));
    (0..4).for_each(|qp| card.ack(qp, 255, 0));
    card.bench.run(5000);
    assert_eq!(card.statuses(), (0..16).map(|wr_id| (wr_id, OK)).collect::<Vec<_>>());
    card.ack(5, 7, 0);
    assert_eq!(card.statuses(), [(16, OK)]);
}

#[test]
fn unsignaled_requests_leave_without_an_entry_unless_they_fail() {
    let mut card = Card::new(&library(), 12, (0.2, 0.2));
    card.completion_queue(0, 0x1000, 1);
    card.queue(0, 0);
    let protection = Status::LocalProtectionError as u64;
    // The ring of two entries has no room for a third, which unsignaled ones do not need.
    for (wr_id, unsignaled, status) in
        [(0, 1, 0), (1, 0, 0), (2, 1, 0), (3, 0, 0), (4, 1, 0), (5, 1, 0), (6, 1, protection)]
    {
        let slot = card.slot();
        let beat = Beat::from([
            ("slot", slot),
            ("queue", 0),
            ("wr_id", wr_id),
            ("position", (0xffff_fffe + 3 * wr_id) & 0xffff_ffff),
            ("unsignaled", unsignaled),
        ]);
        card.bench.send(card.open, beat);
        card.drain();
        if wr_id % 2 == 0 {
            card.packet(slot, 1, wr_id, 0);
            card.ack(1, wr_id, 0);
        }
        card.end(slot, status, 64);
    }
    let told = |entries: Vec<Entry>| -> Vec<_> {
        entries.iter().map(|entry| (entry.wr_id, entry.status, entry.position)).collect()
    };
    assert_eq!(told(card.entries()), [(1, OK, 1), (3, OK, 7)]);
    assert_eq!(card.bench.get("busy"), 1, "the one that failed waits for room");
    card.consumed(0, 1);
    assert_eq!(told(card.entries()), [(6, protection as u8, 16)]);
    assert_eq!(card.bench.get("busy"), 0, "no slot is lost");
}
