//! The segmenter as a plain function of beats.

use super::traffic::Traffic;
use drdma_abi::completion::Status;
use drdma_abi::roce::{Transport, operation};
use drdma_abi::work_request::Opcode;
use std::collections::{HashMap, HashSet};

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
    /// The last packets of the destination's messages ask for a solicited event.
    pub solicited: bool,
    /// The destination's messages make the key in `imm` invalid; only of a SEND without immediate data.
    pub invalidates: bool,
    /// The destination's message is a byte that is not sent.
    pub empty: bool,
    /// The destination's queue pair gets another column of the request, whose acknowledgement counts.
    pub more: bool,
    /// The queue pair has changed since the request was checked.
    pub gone: bool,
}

/// Part of a message that a request sends.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PartOf {
    /// Bytes of the message; 0: the request sends no part.
    pub whole: u64,
    pub resumes: bool,
    pub pauses: bool,
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

/// Outputs of the block: packets with their payload, and `sent` items.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Item {
    Packet(Packet),
    Acknowledge {
        slot: u64,
        qp: usize,
        psn: u32,
    },
    /// If the request succeeds, its message may go on in another part.
    Ended {
        slot: u64,
        status: u64,
        bad_dest: u64,
        total: u64,
        goes_on: bool,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Packet {
    pub payload: Vec<u8>,
    pub qp: usize,
    pub operation: u8,
    pub ack_req: bool,
    pub psn: u32,
    /// Fields of the RETH as {address, key, length}.
    pub reth: Option<(u64, u32, u32)>,
    /// Immediate data, or a key.
    pub imm: Option<u32>,
    pub solicited: bool,
    pub slot: u64,
}

/// Progress of a destination.
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
    /// The queue of each slot.
    queues: Vec<u64>,
    /// The part of each slot.
    parts: Vec<PartOf>,
    /// Queue pairs whose last packet has a message that goes on.
    midway: HashSet<usize>,
    /// Queues of which no request may begin any more.
    halted: HashSet<u64>,
    begun: bool,
    barred: bool,
    progress: HashMap<u64, Progress>,
    failure: Option<(Status, u64)>,
    failed: bool,
    total: u64,
    pub items: Vec<Item>,
    /// Queue pairs that are put in the error state.
    pub failing: Vec<usize>,
}

impl Reference {
    pub fn new(traffic: &Traffic) -> Self {
        let Traffic { dests, psns, qp_error, .. } = traffic;
        Self {
            dests: dests.iter().map(|d| (d.number, d.clone())).collect(),
            psns: psns.clone(),
            qp_error: qp_error.clone(),
            queues: traffic.queues.clone(),
            parts: traffic.parts.clone(),
            midway: HashSet::new(),
            halted: traffic.halted.iter().copied().collect(),
            begun: false,
            barred: false,
            progress: HashMap::new(),
            failure: None,
            failed: false,
            total: 0,
            items: Vec::new(),
            failing: Vec::new(),
        }
    }

    fn packet(&mut self, whole: &Whole, mut payload: Vec<u8>, message_bytes: u32, last: bool) {
        let number = whole.dest;
        let dest = &self.dests[&number];
        if dest.empty {
            payload.clear();
        }
        let part = self.parts[whole.slot as usize];
        let progress = self.progress.get_mut(&number).expect("it has an open message");
        let mut astray = false;
        if !progress.started {
            progress.inside = part.resumes;
            astray = self.midway.contains(&dest.qp) != part.resumes;
        }
        let ends = last && !part.pauses;
        if !progress.flushed && (self.qp_error[dest.qp] || dest.gone || astray) {
            progress.flushed = true;
            self.failure.get_or_insert((Status::WrFlushError, dest.index));
        }
        progress.started = true;
        if self.failed || self.barred || progress.flushed {
            return;
        }
        let place = match (progress.inside, ends) {
            (false, false) => operation::SEND_FIRST,
            (true, false) => operation::SEND_MIDDLE,
            (true, true) => operation::SEND_LAST,
            (false, true) => operation::SEND_ONLY,
        };
        let imm = (ends && (dest.opcode.has_imm() || dest.invalidates)).then_some(dest.imm);
        let operation = match (dest.invalidates && ends, progress.inside) {
            (true, false) => operation::SEND_ONLY_INVALIDATE,
            (true, true) => operation::SEND_LAST_INVALIDATE,
            (false, _) => place + u8::from(imm.is_some()),
        };
        let base = if dest.opcode.is_write() { operation::WRITE_FIRST } else { 0 };
        let length = match (part.whole as u32, message_bytes) {
            (0, 0) => payload.len() as u32,
            (0, length) | (length, _) => length,
        };
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
            operation: base + operation,
            ack_req: last && dest.transport == Transport::Rc,
            psn,
            reth,
            imm,
            solicited: dest.solicited && ends,
            slot: whole.slot,
        }));
        if last && part.pauses {
            self.midway.insert(dest.qp);
        } else if last && part.resumes {
            self.midway.remove(&dest.qp);
        }
    }

    pub fn take(&mut self, beat: &Whole) {
        let queue = self.queues[beat.slot as usize];
        if !self.begun {
            self.barred = self.halted.contains(&queue);
            self.failure = self.barred.then_some((Status::WrFlushError, 0));
        }
        self.begun = !beat.request_end;
        if beat.request_end {
            let breaks = beat.dest_end && beat.status != 0 && !self.barred;
            if breaks && !self.dests[&beat.dest].gone {
                self.failing.push(self.dests[&beat.dest].qp);
            }
            let failure = match beat.status {
                0 => self.failure.map_or((0, 0), |(status, dest)| (status as u64, dest)),
                status => (status, beat.bad_dest),
            };
            let (status, bad_dest) = failure;
            let part = self.parts[beat.slot as usize];
            let total = match (status, part.whole) {
                (0, 0) => self.total,
                (0, whole) => whole,
                _ => 0,
            };
            let goes_on = status == 0 && part.pauses;
            self.items.push(Item::Ended { slot: beat.slot, status, bad_dest, total, goes_on });
            if status != 0 {
                self.halted.insert(queue);
            }
            self.progress.clear();
            (self.failure, self.failed, self.total) = (None, false, 0);
            return;
        }
        let dest = self.dests[&beat.dest].clone();
        if beat.error {
            if !dest.gone && !self.barred {
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
                self.packet(beat, bytes, message_bytes, false);
                bytes = rest;
            }
            if beat.message_end {
                self.packet(beat, bytes, message_bytes, true);
            } else {
                self.progress.get_mut(&beat.dest).expect("known").open =
                    Some((bytes, message_bytes));
            }
        }
        let progress = &self.progress[&beat.dest];
        let dropped = self.failed || self.barred || progress.flushed;
        let sent = progress.started && !dropped;
        if beat.dest_end && sent && dest.transport == Transport::Rc && !dest.more {
            let psn = self.psns[dest.qp].wrapping_sub(1) & 0xff_ffff;
            self.items.push(Item::Acknowledge { slot: beat.slot, qp: dest.qp, psn });
        }
    }
}
