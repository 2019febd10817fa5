//! Requests, random ones and streams of one kind, and how they are given to the segmenter.

use super::reference::{Dest, PartOf, Reference, Whole};
use crate::context::testing::answer_flag;
use drdma_abi::Layout;
use drdma_abi::completion::Status;
use drdma_abi::register::{QueuePairEntry, SendQueueEntry};
use drdma_abi::roce::Transport;
use drdma_abi::work_request::Opcode;
use drdma_verilated::testbench::{Beat, Bench, DriverId, Random};
use std::collections::VecDeque;

/// Queue pairs, destinations and beats of some requests.
pub(crate) struct Traffic {
    pub transports: Vec<Transport>,
    pub psns: Vec<u32>,
    pub qp_error: Vec<bool>,
    /// The send queue of each slot.
    pub queues: Vec<u64>,
    /// The part of a message that the request of each slot sends.
    pub parts: Vec<PartOf>,
    /// Send queues that have halted.
    pub halted: Vec<u64>,
    pub dests: Vec<Dest>,
    pub beats: Vec<Whole>,
}

/// The segmenter's inputs, once they are in use.
pub(crate) struct Inputs {
    pub cfg: DriverId,
    pub open: DriverId,
    pub payload: DriverId,
}

/// Limits and probabilities of random requests.
#[derive(Clone, Copy)]
pub(crate) struct Chances {
    pub dests: u64,
    pub error: f64,
    pub status: f64,
    pub qp_error: f64,
    pub gone: f64,
    /// Send queues; with 256 each slot has its own.
    pub queues: u64,
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

/// The byte that stands for a message of none.
fn stand_in(random: &mut Random, dest: &Dest, slot: u64) -> Whole {
    let (dest, bytes) = (dest.number, random.bytes(1));
    Whole { dest, slot, bytes, message_start: true, message_end: true, ..Whole::default() }
}

impl Traffic {
    pub fn random(random: &mut Random, requests: u64, chances: Chances) -> Self {
        let transports: Vec<_> =
            (0..256).map(|_| Transport::ALL[random.below(3) as usize]).collect();
        let mtus: Vec<_> = (0..256).map(|_| 8 + random.below(5) as u32).collect();
        let psns = (0..256).map(|_| random.below(1 << 24) as u32 | 0xff_fff0).collect();
        let qp_error = (0..256).map(|_| random.chance(chances.qp_error)).collect();
        let queues = (0..256).map(|slot| slot % chances.queues).collect();
        let halted = (0..chances.queues / 8).map(|k| 8 * k + random.below(8)).collect();
        let halted = if chances.queues < 256 { halted } else { Vec::new() };
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
                let opcode = Opcode::ALL[random.below(opcodes) as usize];
                let plain = opcode == Opcode::Send && transport == Transport::Rc;
                let dest = Dest {
                    number: next_dest,
                    index,
                    qp,
                    opcode,
                    solicited: random.chance(0.3),
                    invalidates: plain && random.chance(0.5),
                    empty: random.chance(0.1),
                    more: random.chance(0.2),
                    imm: random.u64() as u32,
                    remote_addr: random.u64() | 0xffff_ffff_ffff_0000,
                    rkey: random.u64() as u32,
                    transport,
                    log_mtu: mtus[qp],
                    gone: random.chance(chances.gone),
                };
                next_dest = (next_dest + 1) % 1024;
                let dense = random.chance(0.5);
                let mut queue: Vec<_> = match dest.empty {
                    true => vec![stand_in(random, &dest, slot)],
                    false => (0..random.below(4))
                        .flat_map(|_| message(random, &dest, slot, dense))
                        .collect(),
                };
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
                end.bad_dest = random.below(256);
                if count > 0 && random.chance(0.3) {
                    // The destination that failed before any packet was sent.
                    end.dest = dests[dests.len() - 1].number;
                    end.dest_end = true;
                }
            }
            beats.extend(mixed);
            beats.push(end);
        }
        assert!(dests.len() <= 1024);
        let parts = vec![PartOf::default(); 256];
        Self { transports, psns, qp_error, queues, parts, halted, dests, beats }
    }

    pub fn reference(&self) -> Reference {
        let mut reference = Reference::new(self);
        self.beats.iter().for_each(|beat| reference.take(beat));
        reference
    }

    /// Writes the entries of queue pairs, then queues the payload; `before` words of queue pairs were written.
    pub fn start(&self, bench: &mut Bench, before: u64, parts: f64) -> Inputs {
        let errors = self.qp_error.iter().enumerate().filter(|(_, e)| **e);
        answer_flag(bench, "error_next", "qp_error")
            .borrow_mut()
            .extend(errors.map(|(qp, _)| qp as u64));
        answer_flag(bench, "halted_next", "queue_halted").borrow_mut().extend(&self.halted);
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
        let enable = SendQueueEntry::field("enable").start / 32;
        for queue in 0..256 {
            let word = Beat::from([("table", 2), ("index", queue), ("word", enable as u64)]);
            bench.send(cfg, word.with("data", 1));
        }
        bench.run_until(|b| b.pending(cfg) == 0);
        let open = bench.driver("open");
        for (slot, queue) in (0_u64..).zip(&self.queues) {
            bench.send(open, Beat::from([("slot", slot), ("queue", *queue)]));
        }
        let part = bench.driver("part_write");
        for (slot, of) in (0_u64..).zip(&self.parts) {
            let beat = Beat::from([("slot", slot), ("whole", of.whole)])
                .with("resumes", of.resumes)
                .with("pauses", of.pauses);
            bench.send(part, beat);
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
                .with("solicited", dest.solicited)
                .with("invalidates", dest.invalidates)
                .with("empty", dest.empty)
                .with("more", dest.more)
                .with("stamp", stamp(dest.qp) - u64::from(dest.gone));
            bench.send(writes, beat);
        }
        let pending = [open, writes, part];
        bench.run_until(|b| pending.iter().all(|of| b.pending(*of) == 0));
        let payload = bench.driver("payload");
        for beat in &self.beats {
            for part in split(bench.random(), beat, parts) {
                bench.send(payload, part);
            }
        }
        Inputs { cfg, open, payload }
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
        solicited: false,
        invalidates: false,
        empty: false,
        more: false,
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
        queues: (0..256).collect(),
        parts: vec![PartOf::default(); 256],
        halted: Vec::new(),
        dests: vec![dest],
        beats,
    }
}

/// Messages of up to 10 packets to 12 queue pairs, each message in a request of its own for every `most` packets or
/// fewer; those of the others come between them.
pub(crate) fn in_parts(random: &mut Random, messages: usize, most: u64) -> Traffic {
    let mut traffic = stream(1, 1, 1, 8);
    (traffic.dests, traffic.beats) = (Vec::new(), Vec::new());
    let mut queues = vec![VecDeque::new(); 12];
    for qp in 0..12 {
        let (transport, log_mtu) = (Transport::ALL[qp % 2], 8 + random.below(3) as u32);
        traffic.transports[qp] = transport;
        for _ in 0..messages {
            let opcode = Opcode::ALL[random.below(4) as usize];
            let (bytes, mtu) = (1 + random.below(10 << log_mtu), 1_u64 << log_mtu);
            let dest = Dest {
                number: 0,
                index: 0,
                qp,
                opcode,
                imm: random.u64() as u32,
                remote_addr: random.u64() | 0xffff_ffff_ffff_0000,
                rkey: random.u64() as u32,
                transport,
                log_mtu,
                solicited: random.chance(0.5),
                invalidates: opcode == Opcode::Send && transport == Transport::Rc,
                empty: false,
                more: false,
                gone: false,
            };
            let bytes = random.bytes(bytes as usize);
            let (mut at, mut parts) = (0, Vec::new());
            while at < bytes.len() {
                let len = ((1 + random.below(most)) * mtu).min((bytes.len() - at) as u64) as usize;
                parts.push((at, bytes[at..at + len].to_vec()));
                at += len;
            }
            for (at, part) in parts {
                let pauses = at + part.len() < bytes.len();
                let whole = if pauses || at > 0 { bytes.len() as u64 } else { 0 };
                queues[qp].push_back((
                    dest.clone(),
                    PartOf { whole, resumes: at > 0, pauses },
                    part,
                ));
            }
        }
    }
    while queues.iter().any(|queue| !queue.is_empty()) {
        let Some((dest, part, bytes)) = queues[random.below(12) as usize].pop_front() else {
            continue;
        };
        let number = traffic.dests.len() as u64;
        traffic.parts[number as usize] = part;
        let first = traffic.beats.len();
        for chunk in bytes.chunks(64) {
            let bytes = chunk.to_vec();
            let beat = Whole { dest: number, slot: number, bytes, ..Whole::default() };
            traffic.beats.push(beat);
        }
        traffic.beats[first].message_start = true;
        traffic.beats[first].message_bytes = bytes.len() as u32;
        let last = traffic.beats.last_mut().expect("a part has bytes");
        (last.message_end, last.dest_end) = (true, true);
        traffic.beats.push(Whole { slot: number, request_end: true, ..Whole::default() });
        traffic.dests.push(Dest { number, ..dest });
    }
    traffic
}

/// Requests of one message of `length` bytes, at most 64, each to the same destination.
pub(crate) fn requests(count: usize, length: usize, transport: Transport) -> Traffic {
    let mut traffic = stream(1, length, length, 12);
    traffic.dests[0].transport = transport;
    traffic.transports = vec![transport; 256];
    traffic.beats = (0..count).flat_map(|_| traffic.beats.clone()).collect();
    traffic
}
