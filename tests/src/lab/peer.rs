//! Connection to `tests/peer/peer.c`: a line is a command, an answer is a line of JSON.

use std::{
    io::{BufRead, BufReader, Write},
    os::unix::net::UnixStream,
    time::Duration,
};

use serde_json::Value;

use super::QKEY;
use crate::expect::unhex;

/// Time that the peer waits for what must come.
const SOON: Duration = Duration::from_secs(20);

/// The program in the guest.
#[derive(Debug)]
pub struct Peer {
    stream: BufReader<UnixStream>,
    /// Its first message: the verbs device and the GID.
    pub hello: Value,
}

/// A queue pair of the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerQueuePair {
    /// Index in the peer's list.
    pub index: u64,
    /// Queue pair number.
    pub qpn: u32,
}

/// Memory of the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerMemory {
    /// Index in the peer's list.
    pub index: u64,
    /// Address of the first byte.
    pub addr: u64,
    /// Remote key.
    pub rkey: u32,
    /// Length in bytes.
    pub size: usize,
}

/// A completed receive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// Index of the queue pair in the peer's list.
    pub qp: u64,
    /// Status, in the words of the verbs.
    pub status: String,
    /// "send" or "write" (with immediate data); empty if it failed.
    pub opcode: String,
    /// Immediate data.
    pub imm: Option<u32>,
    /// The sender's queue pair (UD).
    pub source_qp: Option<u32>,
    /// Bytes of the message.
    pub bytes: u64,
    /// The message; a WRITE's is in memory.
    pub data: Vec<u8>,
}

/// A request of the peer: bytes of one of its memories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Post<'a> {
    /// `send`, `send_imm`, `write`, `write_imm`, `read`, `cas` or `faa`.
    pub op: &'a str,
    /// Memory whose bytes are sent, or that takes the answer.
    pub memory: &'a PeerMemory,
    /// Offset in the memory, in bytes.
    pub offset: usize,
    /// Number of bytes.
    pub bytes: usize,
    /// Remote address of a WRITE, READ or atomic.
    pub remote_addr: u64,
    /// Remote key of a WRITE, READ or atomic.
    pub rkey: u32,
    /// Immediate data.
    pub imm: u32,
    /// Operands of an atomic: what it compares with or adds, and what it swaps in.
    pub operands: [u64; 2],
}

/// A completed request of the peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Posted {
    /// Number of the request, from 0, of all since the lab was made ready.
    pub post: u64,
    /// Status, in the words of the verbs.
    pub status: String,
}

impl Peer {
    /// The program at the other end of `stream`.
    pub(super) fn new(stream: UnixStream) -> Self {
        let mut peer = Self { stream: BufReader::new(stream), hello: Value::Null };
        peer.hello = peer.answer("its start");
        println!("peer: {}", peer.hello);
        peer
    }

    fn answer(&mut self, command: &str) -> Value {
        let mut line = String::new();
        let read = self.stream.read_line(&mut line);
        read.unwrap_or_else(|error| panic!("the peer does not answer `{command}`: {error}"));
        let answer: Value = serde_json::from_str(&line)
            .unwrap_or_else(|error| panic!("`{command}`: the peer says {line:?}: {error}"));
        assert!(answer.get("error").is_none(), "`{command}`: {answer}");
        answer
    }

    fn ask(&mut self, command: &str) -> Value {
        let stream = self.stream.get_mut();
        stream.write_all(format!("{command}\n").as_bytes()).expect("the peer listens");
        self.answer(command)
    }

    /// Destroys all queue pairs, memories and receives.
    pub(super) fn reset(&mut self) {
        self.ask("reset");
    }

    /// New memory of zeros.
    pub fn memory(&mut self, size: usize) -> PeerMemory {
        let answer = self.ask(&format!("memory {size}"));
        let (index, rkey) = (number(&answer["memory"]), number(&answer["rkey"]) as u32);
        PeerMemory { index, addr: number(&answer["addr"]), rkey, size }
    }

    /// Sets every byte of a memory.
    pub fn fill(&mut self, memory: &PeerMemory, byte: u8) {
        self.ask(&format!("fill {} {byte}", memory.index));
    }

    /// All bytes of a memory.
    pub fn read(&mut self, memory: &PeerMemory) -> Vec<u8> {
        let answer = self.ask(&format!("read {} 0 {}", memory.index, memory.size));
        unhex(answer["data"].as_str().expect("hexadecimal"))
    }

    /// A UD queue pair that waits for datagrams.
    pub fn ud(&mut self, qkey: u32) -> PeerQueuePair {
        let answer = self.ask(&format!("ud {qkey}"));
        queue_pair(&answer)
    }

    /// An RC queue pair for the card's queue pair `qpn` whose first packet is `psn`; it takes
    /// WRITEs if it is `writable`.
    pub fn rc(&mut self, qpn: u32, psn: u32, mtu: u32, writable: bool) -> PeerQueuePair {
        let writable = u8::from(writable);
        let answer = self.ask(&format!("rc {qpn} 10.0.0.1 {psn} {mtu} {writable}"));
        queue_pair(&answer)
    }

    /// Posts `count` receives of `bytes` bytes each.
    pub fn receive(&mut self, qp: &PeerQueuePair, count: usize, bytes: usize) {
        self.ask(&format!("receive {} {count} {bytes}", qp.index));
    }

    /// Waits until `count` receives have completed, and returns all that have.
    pub fn received(&mut self, count: usize) -> Vec<Received> {
        self.received_within(count, SOON)
    }

    /// Like [`received`](Self::received), but waits for at most `time`.
    pub fn received_within(&mut self, count: usize, time: Duration) -> Vec<Received> {
        let answer = self.ask(&format!("completions {count} {}", time.as_millis()));
        let list = answer["completions"].as_array().expect("a list");
        list.iter().map(received).collect()
    }

    /// Makes a queue pair ready to send from the sequence number `psn` on. It sends again after `timeout` (the code of
    /// `ibv_modify_qp`), if it is RC.
    pub fn ready(&mut self, qp: &PeerQueuePair, psn: u32, timeout: u8) {
        self.ask(&format!("ready {} {psn} {timeout}", qp.index));
    }

    /// Posts a request.
    pub fn post(&mut self, qp: &PeerQueuePair, post: &Post) {
        let Post { op, memory, offset, bytes, remote_addr, rkey, imm, operands: [a, b] } = post;
        let memory = memory.index;
        let what = format!("{op} {memory} {offset} {bytes} {remote_addr} {rkey} {imm} {a} {b}");
        self.ask(&format!("post {} {what}", qp.index));
    }

    /// Posts a SEND to the card's UD queue pair `qpn`.
    pub fn post_datagram(&mut self, qp: &PeerQueuePair, memory: &PeerMemory, len: usize, qpn: u32) {
        let (index, memory) = (qp.index, memory.index);
        self.ask(&format!("datagram {index} {memory} 0 {len} 10.0.0.1 {qpn} {QKEY}"));
    }

    /// The requests that have completed since the last call.
    pub fn posted(&mut self) -> Vec<Posted> {
        let answer = self.ask("completions 0 0");
        let list = answer["completions"].as_array().expect("a list");
        let posted = |value: &Value| {
            let status = value["status"].as_str().unwrap_or_default().to_owned();
            Posted { post: number(&value["post"]), status }
        };
        list.iter().map(posted).collect()
    }

    /// The device's own counters.
    pub fn counters(&mut self) -> Value {
        self.ask("counters")["counters"].take()
    }
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("not a number: {value}"))
}

fn queue_pair(answer: &Value) -> PeerQueuePair {
    PeerQueuePair { index: number(&answer["qp"]), qpn: number(&answer["qpn"]) as u32 }
}

fn received(value: &Value) -> Received {
    let text = |field: &str| value[field].as_str().unwrap_or_default().to_owned();
    let number32 = |field: &str| value[field].as_u64().map(|number| number as u32);
    Received {
        qp: number(&value["qp"]),
        status: text("status"),
        opcode: text("opcode"),
        imm: number32("imm"),
        source_qp: number32("source_qp"),
        bytes: value["bytes"].as_u64().unwrap_or(0),
        data: unhex(&text("data")),
    }
}
