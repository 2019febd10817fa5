//! Against plain Rust: every packet, number and byte of random requests.

use super::*;
use crate::testing;
use drdma_abi::Layout;
use drdma_abi::completion::Status;
use drdma_abi::register::QueuePairEntry;
use drdma_abi::roce::{Transport, operation};
use drdma_abi::work_request::Opcode;
use drdma_verilated::testbench::{Beat, Bench, DriverId, Random, STALLS};
use drdma_verilated::{Library, Word};
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

/// Cycles from a beat to the packet that it completes.
const LATENCY: u64 = 5;

/// A destination of a request.
#[derive(Clone, Debug)]
pub(crate) struct Dest {
    pub number: u64,
    pub index: u64,
    pub qp: usize,
    pub opcode: Opcode,
    pub imm: u32,
    pub remote_addr: u64,
    pub rkey: u32,
    pub transport: Transport,
    pub log_mtu: u32,
    /// The queue pair has changed since the request was checked.
    pub gone: bool,
}

/// A beat before it is split into parts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Whole {
    pub dest: u64,
    pub slot: u64,
    pub bytes: Vec<u8>,
    pub message_start: bool,
    pub message_end: bool,
    pub message_bytes: u32,
    pub dest_end: bool,
    pub request_end: bool,
    pub error: bool,
    pub status: u64,
    pub bad_dest: u64,
}

/// What leaves: packets with their payload, and `sent` items.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Item {
    Packet(Packet),
    Acknowledge { slot: u64, qp: usize, psn: u32 },
    Ended { slot: u64, status: u64, bad_dest: u64, total: u64 },
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Packet {
    pub payload: Vec<u8>,
    pub qp: usize,
    pub operation: u8,
    pub ack_req: bool,
    pub psn: u32,
    /// Address, key, length.
    pub reth: Option<(u64, u32, u32)>,
    pub imm: Option<u32>,
}

/// What a destination has so far.
#[derive(Default)]
struct Progress {
    open: Option<(Vec<u8>, u32)>,
    inside: bool,
    started: bool,
    flushed: bool,
    bytes: u64,
}

/// The segmenter as a plain function of beats.
pub(crate) struct Reference {
    pub dests: HashMap<u64, Dest>,
    pub psns: Vec<u32>,
    pub qp_error: Vec<bool>,
    progress: HashMap<u64, Progress>,
    failure: Option<(Status, u64)>,
    failed: bool,
    total: u64,
    pub items: Vec<Item>,
    /// Queue pairs that are put in the error state.
    pub failing: Vec<usize>,
}

impl Reference {
    pub fn new(dests: &[Dest], psns: &[u32], qp_error: &[bool]) -> Self {
        Self {
            dests: dests.iter().map(|d| (d.number, d.clone())).collect(),
            psns: psns.to_vec(),
            qp_error: qp_error.to_vec(),
            progress: HashMap::new(),
            failure: None,
            failed: false,
            total: 0,
            items: Vec::new(),
            failing: Vec::new(),
        }
    }

    fn packet(&mut self, number: u64, payload: Vec<u8>, message_bytes: u32, last: bool) {
        let dest = &self.dests[&number];
        let progress = self.progress.get_mut(&number).expect("it has an open message");
        if !progress.flushed && (self.qp_error[dest.qp] || dest.gone) {
            progress.flushed = true;
            self.failure.get_or_insert((Status::WrFlushError, dest.index));
        }
        progress.started = true;
        if self.failed || progress.flushed {
            return;
        }
        let place = match (progress.inside, last) {
            (false, false) => operation::SEND_FIRST,
            (true, false) => operation::SEND_MIDDLE,
            (true, true) => operation::SEND_LAST,
            (false, true) => operation::SEND_ONLY,
        };
        let imm = (last && dest.opcode.has_imm()).then_some(dest.imm);
        let base = if dest.opcode.is_write() { operation::WRITE_FIRST } else { 0 };
        let length = if message_bytes == 0 { payload.len() as u32 } else { message_bytes };
        let address = dest.remote_addr.wrapping_add(progress.bytes);
        let reth =
            (dest.opcode.is_write() && !progress.inside).then_some((address, dest.rkey, length));
        progress.inside = !last;
        progress.bytes += payload.len() as u64;
        self.total += payload.len() as u64;
        let psn = self.psns[dest.qp];
        self.psns[dest.qp] = (psn + 1) & 0xff_ffff;
        self.items.push(Item::Packet(Packet {
            payload,
            qp: dest.qp,
            operation: base + place + u8::from(imm.is_some()),
            ack_req: last && dest.transport == Transport::Rc,
            psn,
            reth,
            imm,
        }));
    }

    pub fn take(&mut self, beat: &Whole) {
        if beat.request_end {
            if beat.dest_end && beat.status != 0 && !self.dests[&beat.dest].gone {
                self.failing.push(self.dests[&beat.dest].qp);
            }
            let failure = match beat.status {
                0 => self.failure.map_or((0, 0), |(status, dest)| (status as u64, dest)),
                status => (status, beat.bad_dest),
            };
            let (status, bad_dest) = failure;
            let total = if status == 0 { self.total } else { 0 };
            self.items.push(Item::Ended { slot: beat.slot, status, bad_dest, total });
            self.progress.clear();
            (self.failure, self.failed, self.total) = (None, false, 0);
            return;
        }
        let dest = self.dests[&beat.dest].clone();
        if beat.error {
            if !dest.gone {
                self.failing.push(dest.qp);
            }
            self.failure.get_or_insert((Status::LocalProtectionError, dest.index));
            self.failed = true;
        }
        let progress = self.progress.entry(beat.dest).or_default();
        if beat.message_start {
            assert!(progress.open.is_none());
            progress.open = Some((Vec::new(), beat.message_bytes));
        }
        if let Some((mut bytes, message_bytes)) = progress.open.take() {
            bytes.extend(&beat.bytes);
            while bytes.len() > 1 << dest.log_mtu {
                let rest = bytes.split_off(1 << dest.log_mtu);
                self.packet(beat.dest, bytes, message_bytes, false);
                bytes = rest;
            }
            if beat.message_end {
                self.packet(beat.dest, bytes, message_bytes, true);
            } else {
                self.progress.get_mut(&beat.dest).expect("known").open =
                    Some((bytes, message_bytes));
            }
        }
        let progress = &self.progress[&beat.dest];
        let sent = progress.started && !progress.flushed && !self.failed;
        if beat.dest_end && sent && dest.transport == Transport::Rc {
            let psn = self.psns[dest.qp].wrapping_sub(1) & 0xff_ffff;
            self.items.push(Item::Acknowledge { slot: beat.slot, qp: dest.qp, psn });
        }
    }
}

/// Queue pairs, destinations and beats of some requests.
pub(crate) struct Traffic {
    pub transports: Vec<Transport>,
    pub psns: Vec<u32>,
    pub qp_error: Vec<bool>,
    pub dests: Vec<Dest>,
    pub beats: Vec<Whole>,
}

/// What may happen to requests.
#[derive(Clone, Copy)]
pub(crate) struct Chances {
    pub dests: u64,
    pub error: f64,
    pub status: f64,
    pub qp_error: f64,
    pub gone: f64,
}

/// A length: tiny, around a multiple of the MTU, or anything.
fn length(random: &mut Random, mtu: u64, datagram: bool) -> u64 {
    let most = if datagram { mtu } else { 3 * mtu };
    let length = match random.below(3) {
        0 => 1 + random.below(100),
        1 => (1 + random.below(3)) * mtu + random.below(5) - 2,
        _ => 1 + random.below(most),
    };
    length.clamp(1, most)
}

/// The beats of one message; bytes fall where they like.
fn message(random: &mut Random, dest: &Dest, slot: u64, dense: bool) -> Vec<Whole> {
    let mtu = 1 << dest.log_mtu;
    let length = length(random, mtu, dest.transport == Transport::Ud);
    let mut left = random.bytes(length as usize);
    let mut beats = Vec::new();
    while !left.is_empty() {
        let most = left.len().min(64) as u64;
        let take = if dense || random.chance(0.5) { most } else { 1 + random.below(most) };
        let rest = left.split_off(take as usize);
        let bytes = std::mem::replace(&mut left, rest);
        beats.push(Whole { dest: dest.number, slot, bytes, ..Whole::default() });
    }
    beats[0].message_start = true;
    if length > mtu || random.chance(0.5) {
        beats[0].message_bytes = length as u32;
    }
    if random.chance(0.2) {
        beats.push(Whole { dest: dest.number, slot, ..Whole::default() });
    }
    beats.last_mut().expect("a message has bytes").message_end = true;
    beats
}

impl Traffic {
    pub fn random(random: &mut Random, requests: u64, chances: Chances) -> Self {
        let transports: Vec<_> =
            (0..256).map(|_| Transport::ALL[random.below(3) as usize]).collect();
        let mtus: Vec<_> = (0..256).map(|_| 8 + random.below(5) as u32).collect();
        let psns = (0..256).map(|_| random.below(1 << 24) as u32 | 0xff_fff0).collect();
        let qp_error = (0..256).map(|_| random.chance(chances.qp_error)).collect();
        let (mut dests, mut beats) = (Vec::new(), Vec::new());
        let mut next_dest = random.below(1024);
        for request in 0..requests {
            let slot = request % 256;
            let (count, first_qp) = (random.below(chances.dests + 1), random.below(256));
            let mut queues = Vec::new();
            for index in 0..count {
                let qp = ((first_qp + index) % 256) as usize;
                let transport = transports[qp];
                let opcodes = if transport == Transport::Ud { 2 } else { 4 };
                let dest = Dest {
                    number: next_dest,
                    index,
                    qp,
                    opcode: Opcode::ALL[random.below(opcodes) as usize],
                    imm: random.u64() as u32,
                    remote_addr: random.u64() | 0xffff_ffff_ffff_0000,
                    rkey: random.u64() as u32,
                    transport,
                    log_mtu: mtus[qp],
                    gone: random.chance(chances.gone),
                };
                next_dest = (next_dest + 1) % 1024;
                let dense = random.chance(0.5);
                let mut queue: Vec<_> = (0..random.below(4))
                    .flat_map(|_| message(random, &dest, slot, dense))
                    .collect();
                if !queue.is_empty() && random.chance(0.3) {
                    queue.push(Whole { dest: dest.number, slot, ..Whole::default() });
                }
                if let Some(last) = queue.last_mut() {
                    last.dest_end = true;
                }
                queues.push(VecDeque::from(queue));
                dests.push(dest);
            }
            // Destinations take turns.
            let mut mixed = Vec::new();
            while queues.iter().any(|q| !q.is_empty()) {
                let queue = random.below(queues.len() as u64) as usize;
                let turn = 1 + random.below(8) as usize;
                let turn = turn.min(queues[queue].len());
                mixed.extend(queues[queue].drain(..turn));
            }
            let mut end = Whole { slot, request_end: true, ..Whole::default() };
            end.dest = random.below(1024);
            if !mixed.is_empty() && random.chance(chances.error) {
                let at = random.below(mixed.len() as u64) as usize;
                mixed[at].error = true;
            }
            if random.chance(chances.status) {
                mixed.truncate(random.below(mixed.len() as u64 + 1) as usize);
                end.status = Status::LocalProtectionError as u64;
                end.bad_dest = random.below(64);
                if count > 0 && random.chance(0.3) {
                    // The destination that failed before anything was sent.
                    end.dest = dests[dests.len() - 1].number;
                    end.dest_end = true;
                }
            }
            beats.extend(mixed);
            beats.push(end);
        }
        assert!(dests.len() <= 1024);
        Self { transports, psns, qp_error, dests, beats }
    }

    pub fn reference(&self) -> Reference {
        let mut reference = Reference::new(&self.dests, &self.psns, &self.qp_error);
        self.beats.iter().for_each(|beat| reference.take(beat));
        reference
    }

    /// Writes what is configured, then queues the payload; `before` words of queue pairs were written.
    pub fn start(&self, bench: &mut Bench, before: u64, parts: f64) -> DriverId {
        let errors = self.qp_error.iter().enumerate().filter(|(_, e)| **e);
        let mut bits = Word::zero();
        errors.for_each(|(qp, _)| bits.set_bits(qp, 1, &Word::from(1)));
        bench.set("qp_error", bits);
        let cfg = bench.driver("cfg");
        let word = |name| QueuePairEntry::field(name).start / 32;
        for (qp, psn) in self.psns.iter().enumerate() {
            let write = |word: usize, data: u32| {
                Beat::from([
                    ("table", 0),
                    ("index", qp as u64),
                    ("word", word as u64),
                    ("data", data.into()),
                ])
            };
            bench.send(cfg, write(word("start_psn"), *psn));
            bench.send(cfg, write(word("state"), 1));
        }
        // Two words each; the second one counts.
        let stamp = |qp: usize| before + 2 * qp as u64 + 1;
        let writes = bench.driver("dest_write");
        for dest in &self.dests {
            let beat = Beat::new()
                .with("dest", dest.number)
                .with("index", dest.index)
                .with("qp", dest.qp)
                .with("opcode", dest.opcode as u8)
                .with("imm", dest.imm)
                .with("remote_addr", dest.remote_addr)
                .with("rkey", dest.rkey)
                .with("transport", dest.transport as u8)
                .with("log_mtu", dest.log_mtu)
                .with("stamp", stamp(dest.qp) - u64::from(dest.gone));
            bench.send(writes, beat);
        }
        bench.run_until(|b| b.pending(cfg) == 0 && b.pending(writes) == 0);
        let payload = bench.driver("payload");
        for beat in &self.beats {
            for part in split(bench.random(), beat, parts) {
                bench.send(payload, part);
            }
        }
        payload
    }
}

/// The parts of a beat: bytes in any of them, and only the last one counts.
fn split(random: &mut Random, beat: &Whole, chance: f64) -> Vec<Beat> {
    let mut masks = vec![0_u64];
    for _ in 0..3 {
        if beat.bytes.len() > 1 && random.chance(chance) {
            masks.push(0);
        }
    }
    let count = masks.len() as u64;
    (0..beat.bytes.len()).for_each(|k| masks[random.below(count) as usize] |= 1 << k);
    let bad = random.below(count) as usize;
    let part = |(k, mask): (usize, &u64), random: &mut Random| {
        let mut data = random.bytes(64);
        for (at, byte) in beat.bytes.iter().enumerate().filter(|(at, _)| mask >> at & 1 == 1) {
            data[at] = *byte;
        }
        Beat::new()
            .with("data", data.as_slice())
            .with("mask", *mask)
            .with("part_end", k + 1 == masks.len())
            .with("error", beat.error && k == bad)
            .with("dest", beat.dest)
            .with("slot", beat.slot)
            .with("bytes", beat.bytes.len())
            .with("message_start", beat.message_start)
            .with("message_end", beat.message_end)
            .with("message_bytes", beat.message_bytes)
            .with("request_end", beat.request_end)
            .with("dest_end", beat.dest_end)
            .with("status", beat.status)
            .with("bad_dest", beat.bad_dest)
    };
    masks.iter().enumerate().map(|m| part(m, random)).collect()
}

/// Reads the pages of packets as the packetizer does.
#[derive(Default)]
struct Reader {
    waiting: VecDeque<(u64, usize)>,
    row: usize,
    /// The cycle in which a row comes, and whether it is its page's first.
    due: VecDeque<(u64, bool)>,
    payloads: Vec<Vec<u8>>,
}

/// Messages of one length to one RC destination of MTU 2^`log_mtu`, in beats of `beat` bytes.
pub(crate) fn stream(messages: usize, length: usize, beat: usize, log_mtu: u32) -> Traffic {
    let mut random = Random::new(1);
    let dest = Dest {
        number: 7,
        index: 0,
        qp: 3,
        opcode: Opcode::WriteImm,
        imm: 1,
        remote_addr: 0x1000,
        rkey: 5,
        transport: Transport::Rc,
        log_mtu,
        gone: false,
    };
    let mut beats = Vec::new();
    for _ in 0..messages {
        let first = beats.len();
        for start in (0..length).step_by(beat) {
            let bytes = random.bytes(beat.min(length - start));
            beats.push(Whole { dest: 7, bytes, ..Whole::default() });
        }
        beats[first].message_start = true;
        beats[first].message_bytes = length as u32;
        beats.last_mut().expect("a message has bytes").message_end = true;
    }
    beats.last_mut().expect("there are messages").dest_end = true;
    beats.push(Whole { request_end: true, ..Whole::default() });
    Traffic {
        transports: vec![Transport::Rc; 256],
        psns: vec![0; 256],
        qp_error: vec![false; 256],
        dests: vec![dest],
        beats,
    }
}

/// Runs a [`stream`]; gives the cycles in which parts were taken and items came.
fn timed(traffic: &Traffic) -> (Vec<u64>, Vec<u64>) {
    let mut bench = Bench::new(library().instance(1), 1);
    let reader = attach(&mut bench);
    let packet = bench.monitor("packet");
    let payload = traffic.start(&mut bench, 0, 0.0);
    let expected = traffic.reference().items;
    bench.run_until_received(packet, expected.len());
    bench.run(100);
    let got = items(&bench.take(packet), &reader.borrow().payloads);
    compare(&got, &expected);
    (bench.sent_at(payload).to_vec(), bench.received_at(packet).to_vec())
}

#[test]
fn a_beat_is_taken_every_cycle_through_packet_cuts() {
    for (length, beat, log_mtu) in [(10_000, 60, 12), (5_000, 64, 8), (4_096, 63, 10)] {
        let traffic = stream(20, length, beat, log_mtu);
        let (taken, _) = timed(&traffic);
        let cycles = taken.last().unwrap() - taken[0] + 1;
        assert_eq!(cycles, traffic.beats.len() as u64, "beats of {beat} bytes, MTU 2^{log_mtu}");
    }
}

#[test]
fn small_messages_take_two_cycles_each() {
    let (taken, came) = timed(&stream(400, 20, 20, 10));
    assert_eq!(came[0] - taken[0], LATENCY, "latency");
    let cycles = came[399] - came[0];
    assert_eq!(cycles, 2 * 399);
}

fn library() -> Library {
    testing::library("segmenter", Segmenter::default)
}

/// Attaches a reader: whoever takes a packet must read all of its page and give it back.
fn attach(bench: &mut Bench) -> Rc<RefCell<Reader>> {
    let reader = Rc::new(RefCell::new(Reader::default()));
    let state = Rc::clone(&reader);
    bench.before(move |model, cycle| {
        let mut reader = state.borrow_mut();
        model.set("page_free_valid", 0);
        model.set("page_read_enable", 0);
        model.set("page_read_address", cycle % 8192);
        if let Some((page, bytes)) = reader.waiting.front().copied() {
            model.set("page_read_enable", 1);
            model.set("page_read_address", page << 6 | reader.row as u64);
            let first = reader.row == 0;
            reader.due.push_back((cycle + 2, first));
            reader.row += 1;
            if reader.row * 64 >= bytes {
                model.set("page_free_valid", 1);
                model.set("page_free_page", page);
                reader.waiting.pop_front();
                reader.row = 0;
            }
        }
    });
    let state = Rc::clone(&reader);
    bench.observe(move |model, cycle| {
        let mut reader = state.borrow_mut();
        if reader.due.front().is_some_and(|due| due.0 == cycle) {
            let (_, first) = reader.due.pop_front().expect("it is due");
            if first {
                reader.payloads.push(Vec::new());
            }
            let row = model.get_word("page_read_data").to_bytes(64);
            reader.payloads.last_mut().expect("a page has rows").extend(row);
        }
        if model.get("packet_valid") & model.get("packet_ready") & !model.get("packet_marker") == 1
        {
            let (page, bytes) = (model.get("packet_page"), model.get("packet_bytes"));
            reader.waiting.push_back((page, bytes as usize));
        }
    });
    reader
}

/// What came, in the form of the reference.
fn items(beats: &[Beat], payloads: &[Vec<u8>]) -> Vec<Item> {
    let mut payloads = payloads.iter();
    let item = |beat: &Beat| match (beat.u64("marker"), beat.u64("kind")) {
        (0, _) => {
            let mut payload = payloads.next().expect("every packet's page was read").clone();
            payload.truncate(beat.u64("bytes") as usize);
            let imm = beat.u64("imm") as u32;
            let reth = (
                beat.u64("remote_addr"),
                beat.u64("rkey") as u32,
                beat.u64("message_bytes") as u32,
            );
            Item::Packet(Packet {
                payload,
                qp: beat.u64("qp") as usize,
                operation: beat.u64("operation") as u8,
                ack_req: beat.u64("ack_req") == 1,
                psn: beat.u64("psn") as u32,
                reth: (beat.u64("has_reth") == 1).then_some(reth),
                imm: (beat.u64("has_imm") == 1).then_some(imm),
            })
        }
        (_, 0) => Item::Acknowledge {
            slot: beat.u64("slot"),
            qp: beat.u64("qp") as usize,
            psn: beat.u64("psn") as u32,
        },
        _ => Item::Ended {
            slot: beat.u64("slot"),
            status: beat.u64("status"),
            bad_dest: beat.u64("bad_dest"),
            total: beat.u64("total"),
        },
    };
    beats.iter().map(item).collect()
}

pub(crate) fn compare(got: &[Item], expected: &[Item]) {
    for (k, (got, expected)) in got.iter().zip(expected).enumerate() {
        if let (Item::Packet(a), Item::Packet(b)) = (got, expected) {
            let differs = a.payload.iter().zip(&b.payload).position(|(a, b)| a != b);
            assert_eq!(differs, None, "item {k}: payload of {} bytes", b.payload.len());
        }
        assert_eq!(got, expected, "item {k}");
    }
    assert_eq!(got.len(), expected.len());
}

fn run(library: &Library, seed: u64, stalls: (f64, f64), requests: u64, chances: Chances) {
    let mut random = Random::new(seed);
    let traffic = Traffic::random(&mut random, requests, chances);
    let Reference { items: expected, failing, .. } = traffic.reference();
    let mut bench = Bench::new(library.instance(seed), seed);
    bench.limit(4_000_000);
    let released = Rc::new(RefCell::new(0));
    let count = Rc::clone(&released);
    bench.observe(move |model, _| *count.borrow_mut() += model.get("release_valid"));
    let reader = attach(&mut bench);
    let (packet, errors) = (bench.monitor("packet"), bench.monitor("set_qp_error"));
    traffic.start(&mut bench, 0, 0.2);
    bench.stall(stalls);
    bench.run_until_received(packet, expected.len());
    bench.run(100_u64);
    bench.run_until(|_| reader.borrow().waiting.is_empty() && reader.borrow().due.is_empty());
    let got = items(&bench.take(packet), &reader.borrow().payloads);
    compare(&got, &expected);
    let errors: Vec<_> = bench.take(errors).iter().map(|e| e.u64("index") as usize).collect();
    assert_eq!(errors, failing, "queue pairs put in the error state");
    assert_eq!(*released.borrow(), requests, "requests released");
}

const QUIET: Chances = Chances { dests: 4, error: 0.0, status: 0.0, qp_error: 0.0, gone: 0.0 };

#[test]
fn packets_are_those_of_the_reference_under_stalls() {
    let library = library();
    for (seed, stalls) in (1..).zip(STALLS) {
        run(&library, seed, stalls, 40, QUIET);
    }
}

#[test]
fn many_destinations_have_open_messages() {
    let library = library();
    for seed in 1..4 {
        run(&library, seed, (0.0, 0.3), 6, Chances { dests: 64, ..QUIET });
    }
}

#[test]
fn failures_end_a_request_and_lose_no_page() {
    let library = library();
    for seed in 1..5 {
        let chances = Chances { dests: 16, error: 0.3, status: 0.3, qp_error: 0.2, gone: 0.1 };
        run(&library, seed, (0.1, 0.1), 60, chances);
    }
    // A page lost with every failure would stop this one.
    let chances = Chances { dests: 4, error: 0.3, status: 0.7, qp_error: 0.2, gone: 0.1 };
    run(&library, 5, (0.0, 0.0), 250, chances);
}
