//! Frames in, and where each of them went, against an independent reading of its bytes.

use std::collections::VecDeque;

use drdma_verilated::testbench::{Beat, Bench, Random};
use drdma_verilated::{Library, Word};

use super::Parser;
use crate::testing;

mod frames;
mod fuzz;
mod rates;
mod room;
mod wrong;

use crate::context::QUEUE_PAIR_TABLE;
use crate::context::testing::clear_tables;
use drdma_abi::register::QueuePairEntry;
use frames::{IP, MAC, Sent, queue_pairs};

/// Words of the frame store.
const WORDS: usize = 2048;

fn library() -> Library {
    testing::library("parser", Parser::default)
}

/// Probabilities with which each side waits in a cycle.
#[derive(Clone, Copy)]
struct Pace {
    /// Probability of a gap between beats from the wire.
    wire: f64,
    /// Probability that the host does not take a beat.
    host: f64,
    /// Probability that the responder does not take a packet.
    responder: f64,
    /// Probability that a packet's frame is not freed.
    writer: f64,
}

impl Pace {
    /// No side ever waits.
    const FAST: Self = Self { wire: 0.0, host: 0.0, responder: 0.0, writer: 0.0 };
}

/// A packet, and its frame as it was in the store when the packet came.
#[derive(Clone, Debug)]
struct Taken {
    packet: Beat,
    frame: Vec<u8>,
    /// Cycle in which the packet was taken.
    at: u64,
}

/// Frames and packets that have left the block.
#[derive(Default)]
struct Outcome {
    host: Vec<(Vec<u8>, u64)>,
    packets: Vec<Taken>,
    /// ACKs and NAKs, and when they came: queue pair, sequence number, syndrome.
    acks: Vec<((u64, u64, u64), u64)>,
    /// The queue pairs of frames that have met congestion, and of congestion notifications.
    congested: Vec<u64>,
    notified: Vec<u64>,
    dropped: u64,
    overrun: u64,
    left: u64,
    /// Cycles in which the last beat of each frame was taken.
    ends: Vec<u64>,
    /// Cycles in which a beat was offered and not taken.
    stopped: u64,
}

/// The block, the wire, the host, the responder, and the frame store with its writer.
struct Wire<'a> {
    bench: Bench<'a>,
    random: Random,
    pace: Pace,
    store: Vec<Vec<u8>>,
    /// Frames that were not freed: first word, bytes.
    held: VecDeque<(usize, Vec<u8>)>,
    /// The packet at the output, which stays until it is taken.
    offered: Option<Beat>,
    cycle: u64,
    /// Beats to send: bytes, last, user bits; the first one is being offered.
    beats: VecDeque<(Vec<u8>, bool, u64)>,
    offering: bool,
    /// Bytes that the bus carries right behind a frame's last byte, followed by random ones.
    behind: Vec<u8>,
    /// Bytes of a frame that the host has in part.
    partly: Vec<u8>,
    outcome: Outcome,
}

/// The fields of a packet.
const FIELDS: [&str; 26] = [
    "opcode",
    "solicited",
    "ack_req",
    "padded",
    "pkey",
    "qpn",
    "qp",
    "psn",
    "source_ip",
    "congested",
    "vlan",
    "tagged",
    "addr",
    "rkey",
    "len",
    "swap_or_add",
    "compare",
    "qkey",
    "source_qp",
    "imm",
    "syndrome",
    "msn",
    "start",
    "offset",
    "bytes",
    "words",
];

/// Writes a queue pair's entry as the host does, word by word.
fn write_entry(bench: &mut Bench<'_>, index: u64, entry: &QueuePairEntry) {
    for (word, value) in entry.to_bytes().chunks(4).enumerate() {
        bench.set("cfg_valid", 1_u64);
        bench.set("cfg_table", QUEUE_PAIR_TABLE);
        bench.set("cfg_index", index);
        bench.set("cfg_word", word as u64);
        bench.set("cfg_data", u64::from(u32::from_le_bytes(value.try_into().unwrap())));
        bench.model().cycle();
        bench.set("cfg_valid", 0_u64);
        (0..3).for_each(|_| bench.model().cycle());
    }
}

impl Wire<'_> {
    fn new(library: &Library, seed: u64, pace: Pace) -> Self {
        let mut bench = Bench::new(library.instance(seed), seed);
        bench.set("mac", MAC);
        bench.set("ip", u64::from(IP));
        bench.set("acks_roomy", true);
        clear_tables(&mut bench);
        for (index, entry) in queue_pairs() {
            write_entry(&mut bench, index, &entry);
        }
        // The block reports room a cycle after a reset.
        bench.model().cycle();
        bench.model().cycle();
        Self {
            bench,
            random: Random::new(seed),
            pace,
            store: vec![vec![0; 64]; WORDS],
            held: VecDeque::new(),
            offered: None,
            cycle: 0,
            beats: VecDeque::new(),
            offering: false,
            behind: Vec::new(),
            partly: Vec::new(),
            outcome: Outcome::default(),
        }
    }

    /// The bytes of the store from a word on.
    fn stored(&self, start: usize, words: usize) -> Vec<u8> {
        (start..start + words).flat_map(|word| self.store[word % WORDS].clone()).collect()
    }

    /// Frames to send.
    fn send(&mut self, frames: &[Sent]) {
        for sent in frames {
            let count = sent.bytes.len().div_ceil(64);
            for (k, chunk) in sent.bytes.chunks(64).enumerate() {
                self.beats.push_back((chunk.to_vec(), k + 1 == count, sent.user));
            }
        }
    }

    fn run(&mut self, cycles: u64) {
        for _ in 0..cycles {
            self.step();
        }
    }

    /// Waits until no beat moves any more; returns the outcome since the last call.
    fn settle(&mut self) -> Outcome {
        let mut quiet = 0;
        while quiet < 60 {
            quiet = if self.step() || !self.beats.is_empty() { 0 } else { quiet + 1 };
        }
        assert!(self.partly.is_empty(), "the last frame of the host's ends");
        std::mem::take(&mut self.outcome)
    }

    /// Sends frames, and waits until nothing comes any more.
    fn pass(&mut self, frames: &[Sent]) -> Outcome {
        self.send(frames);
        self.settle()
    }

    fn drive(&mut self, chunk: &[u8], last: bool, user: u64) {
        let mut data = chunk.to_vec();
        data.extend(&self.behind);
        let noise = 64 - data.len().min(64);
        data.extend(self.random.bytes(noise));
        self.bench.set("s_axis_if_rx_tdata", Word::from_bytes(&data[..64]));
        self.bench.set("s_axis_if_rx_tkeep", u64::MAX >> (64 - chunk.len()));
        self.bench.set("s_axis_if_rx_tlast", last);
        // The MAC says only with the last beat that a frame is bad.
        self.bench.set("s_axis_if_rx_tuser", if last { user } else { user ^ 1 });
        self.bench.set("s_axis_if_rx_tid", user & 1);
        self.bench.set("s_axis_if_rx_tdest", user >> 1 & 0x1ff);
    }

    /// Runs a cycle; true if anything moved but a beat from the wire.
    fn step(&mut self) -> bool {
        let go = !self.random.chance(self.pace.wire);
        self.offering = !self.beats.is_empty() && (self.offering || go);
        self.bench.set("s_axis_if_rx_tvalid", self.offering);
        match self.beats.front().filter(|_| self.offering).cloned() {
            Some((chunk, last, user)) => self.drive(&chunk, last, user),
            None => {
                let (noise, last) = (self.random.bytes(64), self.random.chance(0.5));
                self.drive(&noise, last, 1);
            }
        }
        let host_ready = !self.random.chance(self.pace.host);
        let packet_ready = !self.random.chance(self.pace.responder);
        self.bench.set("m_axis_if_rx_tready", host_ready);
        self.bench.set("packet_ready", packet_ready);
        let frees = self.free();
        self.bench.model().settle();
        self.outcome.dropped += self.bench.get("count_dropped");
        self.outcome.overrun += self.bench.get("count_overrun");
        self.outcome.left += self.bench.get("count_left");
        let acknowledged = self.bench.get("ack_valid") == 1;
        if acknowledged {
            let [qp, psn, syndrome] =
                ["ack_qp", "ack_psn", "ack_syndrome"].map(|port| self.bench.get(port));
            self.outcome.acks.push(((qp, psn, syndrome), self.cycle));
        }
        let congested = self.bench.get("congested_valid") == 1;
        if congested {
            self.outcome.congested.push(self.bench.get("congested_qp"));
        }
        let notified = self.bench.get("notified_valid") == 1;
        if notified {
            self.outcome.notified.push(self.bench.get("notified_qp"));
        }
        let writes = self.write();
        let passes = host_ready && self.pass_to_host();
        let taken = self.look_at_packet(packet_ready);
        if self.offering && self.bench.get("s_axis_if_rx_tready") == 1 {
            self.offering = false;
            let (_, last, _) = self.beats.pop_front().expect("one is offered");
            if last {
                self.outcome.ends.push(self.cycle);
            }
        } else {
            self.outcome.stopped += u64::from(self.offering);
        }
        self.bench.model().tick();
        self.cycle += 1;
        frees || writes || passes || taken || acknowledged || congested || notified
    }

    /// The writer frees the oldest frame, whose words must not have been overwritten.
    fn free(&mut self) -> bool {
        let free = !self.held.is_empty() && !self.random.chance(self.pace.writer);
        self.bench.set("freed_valid", free);
        if free {
            let (start, bytes) = self.held.pop_front().expect("one is held");
            assert_eq!(self.stored(start, bytes.len() / 64), bytes, "it was overwritten");
        }
        free
    }

    fn write(&mut self) -> bool {
        let writes = self.bench.get("write_valid") == 1;
        if writes {
            let word = self.bench.get("write_word") as usize;
            self.store[word] = self.bench.get_word("write_data").to_bytes(64);
        }
        writes
    }

    /// The host takes a beat, if there is one.
    fn pass_to_host(&mut self) -> bool {
        let passes = self.bench.get("m_axis_if_rx_tvalid") == 1;
        if passes {
            let len = self.bench.get("m_axis_if_rx_tkeep").count_ones() as usize;
            self.partly.extend(self.bench.get_word("m_axis_if_rx_tdata").to_bytes(len));
            if self.bench.get("m_axis_if_rx_tlast") == 1 {
                let user = self.bench.get("m_axis_if_rx_tuser");
                assert_eq!(self.bench.get("m_axis_if_rx_tid"), user & 1);
                assert_eq!(self.bench.get("m_axis_if_rx_tdest"), user >> 1 & 0x1ff);
                self.outcome.host.push((std::mem::take(&mut self.partly), user));
            }
        }
        passes
    }

    /// Looks at the packet at the output; whether it is taken.
    fn look_at_packet(&mut self, ready: bool) -> bool {
        if self.bench.get("packet_valid") == 0 {
            assert!(self.offered.is_none(), "a packet was withdrawn");
            return false;
        }
        let mut packet = Beat::new();
        for field in FIELDS {
            packet.set(field, self.bench.get_word(format!("packet_{field}")));
        }
        if let Some(before) = self.offered.take() {
            assert_eq!(before, packet, "a packet changed before it was taken");
        }
        if !ready {
            self.offered = Some(packet);
            return false;
        }
        let (start, words) = (packet.u64("start") as usize, packet.u64("words") as usize);
        let frame = self.stored(start, words);
        self.held.push_back((start, frame.clone()));
        self.outcome.packets.push(Taken { packet, frame, at: self.cycle });
        true
    }
}
