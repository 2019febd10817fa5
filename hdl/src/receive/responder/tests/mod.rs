mod ahead;
mod host;
mod limits;
mod rates;
mod traffic;
mod world;

use drdma_abi::completion::Status;
use drdma_abi::described::DESCRIBED;
use drdma_abi::receive::receive_flags::APPENDED;
use drdma_abi::receive::{AttributesEntry, ReceiveQueueEntry, rights};
use drdma_abi::register::{MemoryRegionEntry, QueuePairEntry};
use drdma_abi::roce::{TTL, Transport, operation};
use drdma_abi::work_request::MAX_MESSAGE;
use drdma_semantics::packets::{Flow, psn_distance};
use drdma_semantics::region::{Extent, Region};
use drdma_semantics::responder::packet::packets;
use drdma_semantics::responder::{Outcome, Received, Responder as Semantics, Settings, is_for};
use drdma_semantics::scatter::allows;
use drdma_verilated::Library;
use drdma_verilated::testbench::{Beat, Bench, DriverId, MonitorId, Random, STALLS};
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use super::Responder;
use crate::context::testing::{Flagged, answer_flag, clear_tables};
use crate::context::{ATTRIBUTES_TABLE, QUEUE_PAIR_TABLE, RECEIVE_QUEUE_TABLE, REGION_TABLE};
use crate::testing;
use traffic::{Packet, Peer, is_response, stretch};
use world::{Answered, Card, Lab, Posted, SIZE, STORE_BYTES, What};

fn library() -> Library {
    testing::library("responder", Responder::default)
}

/// A queue pair as the host has made it, its peer, and what the semantics know of it.
#[derive(Clone)]
struct Pair {
    index: u64,
    entry: QueuePairEntry,
    attributes: AttributesEntry,
    shared: bool,
    peer: Peer,
    responder: Semantics,
    broken: bool,
}

impl Pair {
    fn random(index: u64, random: &mut Random, errors: f64) -> Self {
        let transport = [Transport::Rc, Transport::Rc, Transport::Uc, Transport::Ud];
        let transport = transport[random.below(4) as usize];
        let shared = random.chance(0.4);
        let vlan = random.chance(0.3).then(|| random.below(4096) as u16);
        let log_mtu = [8, 8, 8, 9, 10, 12][random.below(6) as usize];
        let entry = QueuePairEntry {
            dest_ip: random.u64() as u32,
            // Few lists of the finder, and all different.
            qpn: (random.below(1 << 8) << 16 | index << 2 | random.below(4)) as u32,
            qkey: random.u64() as u32,
            pkey: (random.below(1 << 15) | 0x8000) as u16,
            transport: transport as u8,
            log_mtu,
            vlan: vlan.unwrap_or(random.below(4096) as u16),
            tagged: vlan.is_some().into(),
            pd: random.below(2) as u32,
            state: 1 + random.below(2) as u32,
            ..Default::default()
        };
        let rights = if random.chance(0.1) { 0 } else { rights::ALL };
        let attributes = AttributesEntry {
            rq_psn: if random.chance(0.3) { 0xff_fffc } else { random.below(1 << 24) as u32 },
            receive_queue: if shared { 4000 + index as u16 % 2 } else { index as u16 },
            receives: random.chance(0.95).into(),
            rights: rights as u8,
            min_rnr_timer: random.below(32) as u8,
            // None of them is ever crowded here: `limits` has those that are.
            max_dest_rd_atomic: [0, 16, 16, 16, 16][random.below(5) as usize],
            state: 1,
            ..Default::default()
        };
        let flow = Flow {
            source_mac: 1,
            dest_mac: 2,
            source_ip: 0x0a00_0001,
            dest_ip: entry.dest_ip,
            tos: 0,
            ttl: TTL,
            vlan,
            qpn: entry.qpn,
            dest_qpn: random.below(1 << 24) as u32,
            // The peer is a full or a limited member.
            pkey: entry.pkey,
            qkey: entry.qkey,
            transport,
            mtu: 1 << log_mtu,
        };
        let psn = attributes.rq_psn;
        let (peer, responder) = (Peer::new(flow, psn, errors), Semantics::new(psn));
        Self { index, entry, attributes, shared, peer, responder, broken: false }
    }

    fn settings(&self) -> Settings {
        Settings {
            transport: self.peer.flow.transport,
            mtu: self.peer.flow.mtu,
            rights: u32::from(self.attributes.rights),
            pd: self.entry.pd,
            min_rnr_timer: self.attributes.min_rnr_timer,
            max_dest_rd_atomic: self.attributes.max_dest_rd_atomic,
            shared: self.shared,
        }
    }

    /// Its receive queue.
    fn queue(&self) -> u64 {
        self.attributes.receive_queue.into()
    }
}

/// What the semantics say of the packets so far.
struct Oracle {
    lab: Lab,
    pairs: Vec<Pair>,
    broken: Vec<u64>,
    dropped: u64,
    /// Receives in use of queue pairs that broke, whose own queues decide what becomes of them.
    flushed: u64,
    outcomes: [u64; 4],
}

impl Oracle {
    fn new(random: &mut Random) -> Self {
        let lab = Lab { memory: RefCell::new(random.bytes(SIZE as usize)), ..Lab::default() };
        let (pairs, broken) = Default::default();
        Self { lab, pairs, broken, dropped: 0, flushed: 0, outcomes: [0; 4] }
    }

    fn take(&mut self, packet: &Packet) {
        let frame = packet.frame();
        let pair = self.pairs.iter_mut().find(|pair| is_for(&frame, &pair.peer.flow));
        let Some(pair) = pair else {
            self.dropped += 1;
            return;
        };
        if pair.broken {
            self.dropped += 1;
            return;
        }
        let settings = pair.settings();
        if settings.transport == Transport::Rc && is_response(packet) {
            return;
        }
        let lab = &mut self.lab;
        (lab.qp, lab.pd) = (pair.index, settings.pd);
        lab.queue = (pair.attributes.receives == 1).then(|| pair.queue());
        let before = lab.answered.len();
        let again = any_read_again(packet, pair, lab);
        let outcome = pair.responder.take(&frame, &settings, lab);
        if lab.answered.len() == before {
            lab.answered.extend(again);
        }
        // All packets of READs' answers are sent at once.
        for (_, _, psn, _, what) in &lab.answered[before..] {
            if matches!(what, What::Read(..)) {
                pair.responder.answered(*psn);
            }
        }
        self.outcomes[outcome as usize] += 1;
        if outcome == Outcome::Error {
            pair.broken = true;
            self.broken.push(pair.index);
            lab.appends.iter_mut().flatten().for_each(|region| region.abandon(pair.index as u32));
            let in_use = pair.responder.take_receive();
            if let Some(name) = in_use {
                if pair.shared || settings.transport != Transport::Rc {
                    let flushed = drdma_abi::completion::Status::WrFlushError;
                    lab.completed(Received::failed(name, flushed));
                } else {
                    self.flushed += 1;
                    let posted = lab.last[&pair.index];
                    lab.queues.entry(pair.queue()).or_default().push_front(posted);
                }
            }
        }
    }
}

/// What the block answers to a READ from before the packet that is expected: it does not know which it has answered.
fn any_read_again(packet: &Packet, pair: &Pair, lab: &Lab) -> Option<Answered> {
    let settings = pair.settings();
    let behind = psn_distance(pair.responder.expected(), packet.psn);
    let reads = settings.transport == Transport::Rc
        && packet.opcode == operation::READ_REQUEST
        && settings.rights & rights::REMOTE_READ != 0
        && settings.max_dest_rd_atomic > 0;
    let (addr, len, rkey) = (packet.addr, packet.len, packet.rkey);
    let key = lab.keys.get(&rkey);
    let may =
        |key: &MemoryRegionEntry| allows(key, rights::REMOTE_READ, settings.pd, addr, len.into());
    let good = reads
        && behind > 0
        && packets(len, settings.mtu) <= behind as u32
        && u64::from(len) <= MAX_MESSAGE
        && packet.payload.is_empty()
        && (len == 0 || key.is_some_and(may));
    good.then(|| (pair.index, 0x1f, packet.psn, pair.responder.msn(), What::Read(addr, len, rkey)))
}

/// The block, and what is around it.
struct Around<'a> {
    bench: Bench<'a>,
    packet: DriverId,
    taken: DriverId,
    placing: MonitorId,
    take: MonitorId,
    answer: MonitorId,
    accepted: MonitorId,
    answered: DriverId,
    /// Answers that came and were not compared yet.
    answers: Vec<Beat>,
    /// If answers are not told to have left: those.
    held: Option<VecDeque<Beat>>,
    /// How often no slot is offered.
    slot_stall: f64,
    /// Slots that are free.
    free: VecDeque<u64>,
    /// Atomics that each queue pair has executed: number, sequence number, whether they swap, value before.
    kept: HashMap<u64, Vec<(u64, u64, u64, u64)>>,
    invalidate: MonitorId,
    set_qp_error: MonitorId,
    append_ask: MonitorId,
    region_ask: MonitorId,
    /// Cycles until it is told whether bytes can be placed piece by piece, and what.
    finding: Option<(u64, u64)>,
    /// What is told of the next ones, whatever is asked.
    verdicts: Option<VecDeque<u64>>,
    /// What was settled of that in this cycle.
    settled_pieces: Rc<RefCell<Option<bool>>>,
    /// Cycles until an append region tells, and what.
    telling: Option<(u64, (u64, bool, u32))>,
    /// Takes that wait until it is known what becomes of a receive that appends.
    takes: VecDeque<Beat>,
    /// What the block has settled in this cycle: of the packet that was asked for, and of the receive that was taken.
    settled: Rc<RefCell<(Option<u64>, Option<bool>)>>,
    errors: Flagged,
    card: Card,
    broken: Vec<u64>,
    start: u64,
    /// Packets sent, and the numbers of those with a sequence number.
    sent: u64,
    numbers: HashMap<u32, Vec<u64>>,
    counted: Rc<RefCell<[u64; 2]>>,
    /// Words that were written to entries of queue pairs, and the last one of each.
    stamps: Rc<RefCell<(u64, HashMap<u64, u64>)>>,
}

impl<'a> Around<'a> {
    fn new(library: &'a Library, seed: u64, stalls: (f64, f64)) -> Self {
        let mut bench = Bench::new(library.instance(seed), seed);
        bench.limit(20_000_000);
        let stamps: Rc<RefCell<(u64, HashMap<u64, u64>)>> = Rc::default();
        let stamping = Rc::clone(&stamps);
        bench.observe(move |model, _| {
            if model.get("cfg_valid") == 1 && [0, 7].contains(&model.get("cfg_table")) {
                let (writes, last) = &mut *stamping.borrow_mut();
                last.insert(model.get("cfg_index"), *writes);
                *writes += 1;
            }
        });
        clear_tables(&mut bench);
        let errors = answer_flag(&mut bench, "error_next", "qp_error");
        let [packet, taken, answered] =
            ["packet", "taken", "answered"].map(|base| bench.driver(base));
        let outputs =
            ["placing", "take", "answer", "accepted", "invalidate", "set_qp_error", "append_ask"];
        let [placing, take, answer, accepted, invalidate, set_qp_error, append_ask] =
            outputs.map(|base| bench.monitor(base));
        let region_ask = bench.monitor("region_ask");
        let settled_pieces: Rc<RefCell<Option<bool>>> = Rc::default();
        let settling = Rc::clone(&settled_pieces);
        bench.observe(move |model, _| {
            if model.get("region_settle_valid") == 1 {
                *settling.borrow_mut() = Some(model.get("region_settle_placed") == 1);
            }
        });
        let settled: Rc<RefCell<(Option<u64>, Option<bool>)>> = Rc::default();
        let settling = Rc::clone(&settled);
        bench.observe(move |model, _| {
            let mut settled = settling.borrow_mut();
            if model.get("append_settle_valid") == 1 {
                settled.0 = Some(model.get("append_settle_outcome"));
            }
            if model.get("append_taken_valid") == 1 {
                settled.1 = Some(model.get("append_taken_returned") == 1);
            }
        });
        bench.stall(stalls);
        // What is answered is told at once.
        bench.stall_driver(answered, 0.0);
        let counted = Rc::new(RefCell::new([0; 2]));
        let counting = Rc::clone(&counted);
        let ports = ["count_dropped", "count_ignored"].map(|port| bench.port(port));
        bench.observe(move |model, _| {
            for (count, port) in counting.borrow_mut().iter_mut().zip(ports) {
                *count += model.get(port);
            }
        });
        let card = Card { store: vec![0; STORE_BYTES], ..Card::default() };
        Self {
            bench,
            packet,
            taken,
            placing,
            take,
            answer,
            accepted,
            answered,
            answers: Vec::new(),
            held: None,
            slot_stall: stalls.1,
            free: (0..32).collect(),
            kept: HashMap::new(),
            invalidate,
            set_qp_error,
            append_ask,
            region_ask,
            finding: None,
            verdicts: None,
            settled_pieces,
            telling: None,
            takes: VecDeque::new(),
            settled,
            errors,
            card,
            broken: Vec::new(),
            start: 0,
            sent: 0,
            numbers: HashMap::new(),
            counted,
            stamps,
        }
    }

    /// The stamp of a queue pair's entry.
    fn stamp(&self, qp: u64) -> u64 {
        self.stamps.borrow().1[&qp]
    }

    /// A cycle of everything.
    fn step(&mut self) {
        let wait = self.slot_stall;
        let has_slot = !self.free.is_empty() && !self.bench.random().chance(wait);
        self.bench.set("has_slot", u64::from(has_slot));
        self.bench.set("slot", self.free.front().map_or(3, |slot| *slot));
        self.bench.step();
        for accepted in self.bench.take(self.accepted) {
            assert!(has_slot, "{accepted:?} without a slot");
            assert_eq!(self.free.pop_front(), Some(accepted.u64("slot")));
            let operands = ["addr", "swap_or_add", "compare"].map(|field| accepted.u64(field));
            self.card.slots.insert(accepted.u64("slot"), operands.into());
        }
        self.find_pieces();
        for placing in self.bench.take(self.placing) {
            self.card.place(&placing);
            if placing.u64("atomic") == 1 {
                self.free.push_back(placing.u64("slot"));
            }
        }
        for answer in self.bench.take(self.answer) {
            let waits = ["reads", "atomic"].iter().any(|field| answer.u64(field) == 1);
            if waits && answer.u64("again") == 0 {
                let fields = ["qp", "resource"].map(|field| (field, answer.u64(field)));
                match &mut self.held {
                    Some(held) => held.push_back(Beat::from(fields)),
                    None => self.bench.send(self.answered, Beat::from(fields)),
                }
            }
            self.answers.push(answer);
        }
        self.append();
        let takes = self.bench.take(self.take);
        self.takes.extend(takes);
        while self.card.pending.is_none()
            && let Some(take) = self.takes.pop_front()
        {
            let taken = self.card.take(&take);
            self.bench.send(self.taken, taken);
        }
        for broken in self.bench.take(self.set_qp_error) {
            let qp = broken.u64("qp");
            self.errors.borrow_mut().insert(qp);
            self.card.flush(qp);
            self.card.abandon(qp);
            self.broken.push(qp);
        }
    }

    /// Whether bytes can be placed piece by piece is asked, told and settled.
    fn find_pieces(&mut self) {
        if let Some(placed) = self.settled_pieces.borrow_mut().take() {
            self.card.settle_pieces(placed);
        }
        self.bench.set("region_told_valid", 0);
        if let Some((wait, verdict)) = self.finding.take() {
            if wait > 0 {
                self.finding = Some((wait - 1, verdict));
            } else {
                self.bench.set("region_told_valid", 1);
                self.bench.set("region_told_verdict", verdict);
            }
        }
        for ask in self.bench.take(self.region_ask) {
            assert!(self.finding.is_none(), "{ask:?}");
            let wait = 1 + self.bench.random().below(30);
            let verdict = self.card.seek(&ask);
            let fixed = self.verdicts.as_mut().and_then(VecDeque::pop_front);
            self.finding = Some((wait, fixed.unwrap_or(verdict)));
        }
    }

    /// What append regions are asked, tell and are told.
    fn append(&mut self) {
        let (outcome, returned) = std::mem::take(&mut *self.settled.borrow_mut());
        if let Some(outcome) = outcome {
            self.card.outcome(outcome);
        }
        if let Some(returned) = returned {
            self.card.settle(returned);
        }
        self.bench.set("append_told_valid", 0);
        if let Some((wait, told)) = self.telling.take() {
            if wait > 0 {
                self.telling = Some((wait - 1, told));
            } else {
                self.bench.set("append_told_valid", 1);
                self.bench.set("append_told_verdict", told.0);
                self.bench.set("append_told_whole", u64::from(told.1));
                self.bench.set("append_told_first_row", u64::from(told.2));
            }
        }
        for ask in self.bench.take(self.append_ask) {
            assert!(self.telling.is_none(), "{ask:?}");
            let wait = 1 + self.bench.random().below(30);
            self.telling = Some((wait, self.card.ask(&ask)));
        }
    }

    fn write(&mut self, table: u64, index: u64, word: u64, data: u32) {
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
        for _ in 0..3 {
            self.step();
        }
    }

    fn write_entry(&mut self, table: u64, index: u64, entry: &[u8]) {
        for (word, value) in entry.chunks(4).enumerate() {
            let value = u32::from_le_bytes(value.try_into().unwrap());
            self.write(table, index, word as u64, value);
        }
    }

    fn write_key(&mut self, entry: &MemoryRegionEntry) {
        self.write_entry(REGION_TABLE, u64::from(entry.lkey) & 0xfff, &entry.to_bytes());
    }

    /// Writes a queue pair's entries, and that of its receive queue.
    fn write_pair(&mut self, pair: &Pair) {
        self.write_entry(QUEUE_PAIR_TABLE, pair.index, &pair.entry.to_bytes());
        let queue =
            ReceiveQueueEntry { shared: pair.shared.into(), enable: 1, ..Default::default() };
        self.write_entry(RECEIVE_QUEUE_TABLE, pair.queue(), &queue.to_bytes());
        self.write_entry(ATTRIBUTES_TABLE, pair.index, &pair.attributes.to_bytes());
        self.errors.borrow_mut().remove(&pair.index);
        self.card.broken.remove(&pair.index);
        self.card.abandon(pair.index);
        self.card.reliable.remove(&pair.index);
        if pair.peer.flow.transport == Transport::Rc {
            self.card.reliable.insert(pair.index);
        }
    }

    /// Sends a packet; gives the words that it takes.
    fn send(&mut self, packet: &Packet, qp: u64, random: &mut Random) -> u64 {
        let (beat, words) = packet.store(self.start, &mut self.card.store, random);
        self.start = (self.start + words) % (STORE_BYTES as u64 / 64);
        let swaps = packet.opcode & 0x1f == operation::COMPARE_AND_SWAP;
        self.card.frames.push_back((words, swaps));
        self.numbers.entry(packet.psn).or_default().push(self.sent);
        self.sent += 1;
        self.bench.send(self.packet, beat.with("qp", qp));
        words
    }

    /// Until everything has come out.
    fn drain(&mut self) {
        let mut quiet = 0;
        while quiet < 200 {
            let before = self.answers.len();
            self.step();
            let moved = before != self.answers.len();
            quiet = if self.card.frames.is_empty() && !moved { quiet + 1 } else { 0 };
        }
    }
}

impl Around<'_> {
    /// Drops the answers so far.
    fn forget(&mut self) {
        self.answers.clear();
        self.card.originals.clear();
        self.kept.clear();
    }

    /// The answers so far, as the semantics give them. Those to atomics that come again and are not kept lead to nothing.
    fn answered(&mut self) -> Vec<Answered> {
        let mut answered = Vec::new();
        for beat in std::mem::take(&mut self.answers) {
            let get = |field| beat.u64(field);
            let (qp, psn) = (get("qp"), get("psn"));
            assert_eq!(get("stamp"), self.stamp(qp), "{beat:?}");
            let what = match (get("reads"), get("atomic"), get("again")) {
                (1, 0, _) => {
                    assert!(self.numbers[&(psn as u32)].contains(&get("earlier")), "{beat:?}");
                    What::Read(get("addr"), get("len") as u32, get("rkey") as u32)
                }
                (0, 1, 0) => {
                    let frame = get("earlier") - 1;
                    assert!(self.numbers[&(psn as u32)].contains(&frame), "{beat:?}");
                    let originals = self.card.originals.get_mut(&qp).expect("it was executed");
                    let original = originals.pop_front().expect("it was executed");
                    let kept = (get("resource"), psn, get("swaps"), original);
                    self.kept.entry(qp).or_default().push(kept);
                    What::Atomic(original)
                }
                (0, 1, _) => {
                    let (resource, most) = (get("resource"), get("kept"));
                    assert!((1..=16).contains(&most), "{beat:?}");
                    let kept = self.kept.get(&qp).map_or(&[][..], |kept| kept);
                    let found = kept.iter().rev().find(|(number, of, swaps, _)| {
                        let back = resource.wrapping_sub(*number) % 512;
                        back < most && *of == psn && *swaps == get("swaps")
                    });
                    let Some((.., original)) = found else { continue };
                    What::Atomic(*original)
                }
                _ => What::Nothing,
            };
            answered.push((qp, get("syndrome") as u8, psn as u32, get("msn") as u32, what));
        }
        answered
    }
}

/// Everything that a block gave, as the semantics give it.
fn compare(around: &mut Around<'_>, oracle: &mut Oracle, what: &str) {
    let answered = around.answered();
    assert_eq!(answered, std::mem::take(&mut oracle.lab.answered), "answers {what}");
    let regions: Vec<_> =
        around.bench.take(around.invalidate).iter().map(|beat| beat.u64("region")).collect();
    assert_eq!(regions, std::mem::take(&mut oracle.lab.invalidated), "keys {what}");
    assert_eq!(around.broken, oracle.broken, "queue pairs that break {what}");
    around.broken.clear();
    oracle.broken.clear();
    let mut completed = [&mut around.card.completed, &mut oracle.lab.completed].map(std::mem::take);
    // In the order of each queue pair.
    completed.iter_mut().for_each(|list| list.sort_by_key(|entry| entry.0));
    assert_eq!(completed[0], completed[1], "completions {what}");
    assert!(around.card.memory == *oracle.lab.memory.borrow(), "memory {what}");
    assert_eq!(around.counted.borrow()[0], oracle.dropped, "dropped {what}");
}

/// Posts receives to a queue.
fn post(
    around: &mut Around<'_>,
    lab: &mut Lab,
    queue: u64,
    count: u64,
    random: &mut Random,
    errors: f64,
) {
    for _ in 0..count {
        let most = [300, 1200, 5000][random.below(3) as usize];
        let (addr, len) = stretch(random, most);
        let status = [
            drdma_abi::completion::Status::LocalQpOperationError,
            drdma_abi::completion::Status::LocalProtectionError,
        ];
        let malformed = random.chance(0.5 * errors).then(|| status[random.below(2) as usize]);
        let appends = !around.card.appends.is_empty() && random.chance(0.3);
        let append = appends.then(|| random.below(REGIONS + 1) as u32);
        let pieces = malformed.is_none() && append.is_none() && random.chance(0.3);
        let name = random.u64();
        let posted = Posted { name, addr, len: len as u32, malformed, append, pieces };
        lab.queues.entry(queue).or_default().push_back(posted);
        around.card.queues.entry(queue).or_default().push_back(posted);
    }
}

/// Append regions that there are; one number more is of none.
const REGIONS: u64 = 5;

/// Makes append regions for both, of which the first two are of the one protection domain and the others of the other one.
fn make_appends(around: &mut Around<'_>, lab: &mut Lab, random: &mut Random) {
    for number in 0..REGIONS {
        // Of half of them most messages are whole rows, and few messages fill them.
        let (most, capacity) = match number % 2 {
            0 => (1, 300 + random.below(3000) as u32),
            _ => (40, 20 + random.below(200) as u32),
        };
        let pd = number as u32 / 3;
        let lkey = world::LOCAL + pd;
        let rights = rights::LOCAL_WRITE;
        let key = MemoryRegionEntry { addr: world::BASE, len: SIZE, lkey, rights, pd, valid: 1 };
        lab.keys.insert(lkey, key);
        around.card.keys.push(key);
        let mut columns = Vec::new();
        for _ in 0..1 + random.below(if most == 1 { 2 } else { 4 }) {
            let width = 1 + random.below(most) as u32;
            let (base, _) = stretch(random, u64::from(capacity * width));
            let base = base.min(world::BASE + SIZE - u64::from(capacity * width));
            columns.push(drdma_semantics::region::Column { base, width, lkey });
        }
        let region = drdma_semantics::append::Append::new(columns, capacity, pd);
        lab.appends.push(Some(region));
    }
    around.card.appends.clone_from(&lab.appends);
}

/// All rows are given back, on both sides; `given` are those of each region so far.
fn give_back(around: &mut Around<'_>, lab: &mut Lab, given: &mut [u32]) {
    for (region, given) in lab.appends.iter_mut().flatten().zip(given) {
        // As many as are in use: more are not taken.
        let taken = (1..=3300).rev().find(|rows| {
            let same = region.clone();
            region.give_back(*given + rows);
            *region != same
        });
        *given += taken.unwrap_or(0);
    }
    around.card.appends.clone_from(&lab.appends);
}

/// Makes keys for a queue pair's peer: good ones, and such as allow nothing.
fn make_keys(
    around: &mut Around<'_>,
    lab: &mut Lab,
    pair: &mut Pair,
    random: &mut Random,
    errors: f64,
) {
    pair.peer.keys.clear();
    for k in 0..3 {
        let (addr, len) = stretch(random, 8192);
        let lkey = ((random.below(1 << 20) << 12) | (pair.index % 64 * 4 + k)) as u32;
        let right = if random.chance(errors) { random.below(16) as u32 } else { rights::ALL };
        let pd = if random.chance(errors) { 1 - pair.entry.pd } else { pair.entry.pd };
        let mut entry = MemoryRegionEntry { addr, len, lkey, rights: right, pd, valid: 1 };
        if random.chance(0.3) {
            // A described key. It may say to have more bytes than its region, whose memory may be of another protection domain.
            let of = if random.chance(errors) { 1 - pd } else { pd };
            let region = strided(random, of);
            let at = u64::from(lkey & 0xff);
            let most = region.row_len() * 40;
            let len = if random.chance(errors) { most + 300 } else { most };
            entry = MemoryRegionEntry { addr: at, len, valid: DESCRIBED, ..entry };
            lab.regions.insert(at, region);
        }
        let (addr, len) = if entry.valid == 1 { (addr, len) } else { (0, entry.len) };
        lab.keys.retain(|key, _| key & 0xfff != lkey & 0xfff);
        lab.keys.insert(lkey, entry);
        around.write_key(&entry);
        pair.peer.keys.push((lkey, addr, len));
    }
    around.card.regions.clone_from(&lab.regions);
}

/// 40 rows of a region in memory that a key of that protection domain has.
fn strided(random: &mut Random, pd: u32) -> Region {
    let pattern: Vec<_> = (0..1 + random.below(5))
        .map(|_| Extent { offset: random.below(60), len: 1 + random.below(40) as u32 })
        .collect();
    let base = world::BASE + random.below(SIZE - 41 * 100);
    Region::Strided { base, period: 100, count: 40, lkey: world::LOCAL + pd, pattern }
}

#[test]
fn packets_good_and_bad_mean_what_they_mean_in_the_semantics() {
    let library = library();
    let (mut outcomes, mut statuses, mut syndromes) = ([0; 4], [0; 256], [0; 256]);
    let (mut reads, mut atomics) = (0, 0);
    let mut returned = 0;
    let (mut stayed, mut rows) = (0, 0);
    let mut sought = [0; 4];
    for (seed, stalls) in (1..).zip(STALLS.into_iter().chain(STALLS)) {
        let mut random = Random::new(seed);
        let mut around = Around::new(&library, seed, stalls);
        let mut oracle = Oracle::new(&mut random);
        around.card.memory = oracle.lab.memory.borrow().clone();
        let errors = [0.02, 0.08, 0.2][seed as usize % 3];
        make_appends(&mut around, &mut oracle.lab, &mut random);
        let mut given = [0; REGIONS as usize];
        for k in 0..16 {
            let index = [k, 64 + k * 3, 4032 + k][random.below(3) as usize];
            if oracle.pairs.iter().any(|pair| pair.index == index) {
                continue;
            }
            let mut pair = Pair::random(index, &mut random, errors);
            around.write_pair(&pair);
            make_keys(&mut around, &mut oracle.lab, &mut pair, &mut random, errors);
            oracle.pairs.push(pair);
        }
        for round in 0..48 {
            let what = format!("in round {round} of seed {seed}");
            for k in 0..oracle.pairs.len() {
                let mut pair = oracle.pairs[k].clone();
                if pair.broken || random.chance(0.03) {
                    // What it had in use was given back with the reset.
                    around.card.used.remove(&pair.index);
                    oracle.lab.appends.iter_mut().flatten().for_each(|region| {
                        region.abandon(pair.index as u32);
                    });
                    pair = Pair::random(pair.index, &mut random, errors);
                    around.write_pair(&pair);
                    make_keys(&mut around, &mut oracle.lab, &mut pair, &mut random, errors);
                } else if random.chance(0.1) {
                    // It goes on with other attributes.
                    pair.attributes.state = 2;
                    pair.attributes.min_rnr_timer = random.below(32) as u8;
                    pair.attributes.rq_psn = random.below(1 << 24) as u32;
                    let bytes = pair.attributes.to_bytes();
                    around.write_entry(ATTRIBUTES_TABLE, pair.index, &bytes);
                }
                let count = random.below(14);
                post(&mut around, &mut oracle.lab, pair.queue(), count, &mut random, errors);
                oracle.pairs[k] = pair;
            }
            let mut words = 0;
            for _ in 0..250 {
                let k = random.below(oracle.pairs.len() as u64) as usize;
                // Sometimes several of one queue pair.
                let most = if random.chance(0.1) { 12 } else { 3 };
                for _ in 0..=random.below(most) {
                    let pair = &mut oracle.pairs[k];
                    let packet = pair.peer.next(pair.responder.expected(), &mut random);
                    let index = pair.index;
                    oracle.take(&packet);
                    words += around.send(&packet, index, &mut random);
                    if words > 1700 {
                        break;
                    }
                }
                if words > 1700 {
                    break;
                }
            }
            oracle.lab.answered.iter().for_each(|answer| syndromes[usize::from(answer.1)] += 1);
            for (.., what) in &oracle.lab.answered {
                reads += usize::from(matches!(what, What::Read(..)));
                atomics += usize::from(matches!(what, What::Atomic(_)));
            }
            oracle.lab.completed.iter().for_each(|entry| statuses[usize::from(entry.2)] += 1);
            let appended = oracle.lab.completed.iter().filter(|done| done.6 & APPENDED != 0);
            rows += appended.count();
            around.drain();
            compare(&mut around, &mut oracle, &what);
            assert_eq!(around.card.appends, oracle.lab.appends, "append regions {what}");
            if random.chance(0.2) {
                give_back(&mut around, &mut oracle.lab, &mut given);
            }
        }
        stayed += oracle.lab.returned;
        (0..4).for_each(|k| outcomes[k] += oracle.outcomes[k]);
        returned += around.card.returned;
        (0..4).for_each(|k| sought[k] += around.card.sought[k]);
        statuses[5] += oracle.flushed;
    }
    assert!(rows > 200 && stayed > 10, "{rows} messages appended, {stayed} receives stayed");
    assert!(sought.iter().all(|count| *count > 20), "{sought:?} packets placed piece by piece");
    assert!(returned > 10, "{returned} receives were taken ahead in vain");
    // Everything has happened.
    assert!(reads > 150 && atomics > 150, "{reads} READs, {atomics} atomics");
    assert!(outcomes.iter().all(|count| *count > 200), "{outcomes:?}");
    let seen = |codes: &[usize], counts: &[u64; 256]| {
        codes.iter().map(|code| (*code, counts[*code])).collect::<Vec<_>>()
    };
    for (status, count) in seen(&[0, 1, 2, 4, 5, 9, 10], &statuses) {
        assert!(count > 10, "{count} receives with status {status}");
    }
    for (syndrome, count) in seen(&[0x1f, 0x60, 0x61, 0x62, 0x63], &syndromes) {
        assert!(count > 15, "{count} answers with {syndrome:#x}");
    }
    assert!(syndromes[0x20..0x40].iter().sum::<u64>() > 100);
}

/// A SEND that fills regions piece by piece fails as they say, whole, and so does a datagram whose payload they have no room for.
#[test]
fn a_receive_that_is_placed_piece_by_piece_fails_as_its_regions_say() {
    let library = library();
    let cases = [
        (Transport::Rc, [0, 0], Status::Success, Some(0x1f)),
        (Transport::Rc, [1, 0], Status::LocalLengthError, Some(0x61)),
        (Transport::Rc, [2, 0], Status::LocalProtectionError, Some(0x63)),
        (Transport::Uc, [2, 0], Status::LocalProtectionError, None),
        // First the header's verdict, then the payload's.
        (Transport::Ud, [0, 0], Status::Success, None),
        (Transport::Ud, [2, 0], Status::LocalProtectionError, None),
        (Transport::Ud, [0, 2], Status::LocalProtectionError, None),
    ];
    for (transport, verdicts, status, syndrome) in cases {
        let mut random = Random::new(5);
        let mut around = Around::new(&library, 1, (0.0, 0.0));
        around.card.memory = vec![0; SIZE as usize];
        let mut pair = loop {
            let pair = Pair::random(9, &mut random, 0.0);
            let flow = &pair.peer.flow;
            if flow.transport == transport && !pair.shared && pair.attributes.receives == 1 {
                break pair;
            }
        };
        around.write_pair(&pair);
        pair.peer.keys.push((1, world::BASE, 100));
        let posted = Posted {
            name: 77,
            addr: world::BASE,
            len: 4096,
            malformed: None,
            append: None,
            pieces: true,
        };
        around.card.queues.entry(pair.queue()).or_default().push_back(posted);
        around.verdicts = Some(verdicts.into());
        let mut packet = pair.peer.clone().next(pair.attributes.rq_psn, &mut random);
        (packet.opcode, packet.psn) =
            (transport.opcode_bits() | operation::SEND_ONLY, pair.attributes.rq_psn);
        (packet.payload, packet.pad, packet.ack_req) = (vec![5; 100], 0, true);
        around.send(&packet, pair.index, &mut random);
        around.drain();
        let what = format!("{transport:?}, {verdicts:?}");
        let completed = &around.card.completed;
        assert_eq!(completed.len(), 1, "{what}");
        assert_eq!((completed[0].1, completed[0].2), (77, status as u8), "{what}");
        let answers: Vec<_> = around.answers.iter().map(|answer| answer.u64("syndrome")).collect();
        assert_eq!(answers, syndrome.into_iter().collect::<Vec<_>>(), "{what}");
        assert_eq!(around.broken.len(), usize::from(status != Status::Success), "{what}");
        let skipped = if transport == Transport::Ud { 40 } else { 0 };
        let written = around.card.memory[skipped..skipped + 100] == [5; 100];
        assert_eq!(written, status == Status::Success, "{what}");
    }
}
