//! What the parts of the responder hand on, and what they keep of a queue pair.

use crate::context::{QP, QUEUE};
use crate::receive::record::{FRAME_WORDS, KEPT, RESOURCE, STORE, STORE_WORD};
use drdma_emit::prelude::*;

/// Bits of a number of bytes of payload.
pub const PAYLOAD: usize = 13;

/// What the responder needs of a packet. Fields as in [`Packet`](crate::receive::record::Packet).
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Located {
    /// See `Packet`.
    pub qpn: Bits<24>,
    /// See `Packet`. It may have got another number meanwhile.
    pub qp: Bits<QP>,
    /// See `Packet`.
    pub opcode: Bits<8>,
    /// See `Packet`.
    pub ack_req: Bit,
    /// See `Packet`.
    pub padded: Bit,
    /// See `Packet`.
    pub pkey: Bits<16>,
    /// See `Packet`.
    pub psn: Bits<24>,
    /// See `Packet`.
    pub source_ip: Bits<32>,
    /// See `Packet`.
    pub vlan: Bits<12>,
    /// See `Packet`.
    pub tagged: Bit,
    /// See `Packet`.
    pub addr: Bits<64>,
    /// See `Packet`.
    pub rkey: Bits<32>,
    /// See `Packet`.
    pub len: Bits<32>,
    /// See `Packet`.
    pub swap_or_add: Bits<64>,
    /// See `Packet`.
    pub compare: Bits<64>,
    /// See `Packet`.
    pub qkey: Bits<32>,
    /// See `Packet`.
    pub source_qp: Bits<24>,
    /// See `Packet`.
    pub imm: Bits<32>,
    /// See `Packet`.
    pub start: Bits<STORE_WORD>,
    /// See `Packet`.
    pub offset: Bits<7>,
    /// See `Packet`.
    pub bytes: Bits<PAYLOAD>,
    /// See `Packet`.
    pub words: Bits<FRAME_WORDS>,
}

/// What the host has said of a queue pair.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Settings {
    /// Its entry is valid: ready to receive, or to send.
    pub exists: Bit,
    /// Its attributes are valid.
    pub receiving: Bit,
    /// No packet has come since the host said where to begin.
    pub fresh: Bit,
    /// Where: the first sequence number.
    pub start_psn: Bits<24>,
    /// Its number on the wire.
    pub qpn: Bits<24>,
    /// The code of its transport.
    pub transport: Bits<8>,
    /// Binary logarithm of its MTU.
    pub log_mtu: Bits<4>,
    /// Partition key.
    pub pkey: Bits<16>,
    /// VLAN; 0: none.
    pub vlan: Bits<12>,
    /// The peer's IPv4 address.
    pub dest_ip: Bits<32>,
    /// Queue key.
    pub qkey: Bits<32>,
    /// Protection domain.
    pub pd: Bits<32>,
    /// The peer may WRITE.
    pub writable: Bit,
    /// The peer may READ, and READs are kept for their repetition.
    pub readable: Bit,
    /// The peer may execute atomics, and these are kept for their repetition.
    pub changeable: Bit,
    /// READs and atomics that are kept, at most 16.
    pub limit: Bits<KEPT>,
    /// There is a receive queue.
    pub has_queue: Bit,
    /// Which.
    pub queue: Bits<QUEUE>,
    /// What an RNR NAK asks for.
    pub rnr_timer: Bits<5>,
}

/// The message of which packets are still to come.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum Message {
    /// There is none.
    None,
    /// A SEND.
    Send,
    /// A WRITE.
    Write,
}

/// How far a queue pair has come.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Progress {
    /// The sequence number of the next packet.
    pub expected: Bits<24>,
    /// Messages completed so far.
    pub msn: Bits<24>,
    /// The packet that is expected was asked for: silence until it comes.
    pub asked: Bit,
    /// The message of which packets are still to come.
    pub message: Message,
    /// A receive was taken, and has not completed: that of the message, or one that can be used again.
    pub in_use: Bit,
    /// Bytes that it holds, or the number of the append region.
    pub capacity: Bits<32>,
    /// It appends.
    pub appends: Bit,
    /// Its bytes are placed piece by piece.
    pub pieces: Bit,
    /// Of a WRITE: where the next byte goes. Of a READ or an atomic: its first byte.
    pub addr: Bits<64>,
    /// Of a WRITE, a READ or an atomic: its key.
    pub rkey: Bits<32>,
    /// Of a WRITE, a READ or an atomic: its bytes. Of a SEND: those that have come.
    pub len: Bits<32>,
    /// Of a WRITE: the bytes that are still to come.
    pub remaining: Bits<32>,
    /// READs and atomics that were accepted, or 16 if these are more.
    pub accepted: Bits<KEPT>,
}

/// Bits of it.
pub const PROGRESS: usize = 24 + 24 + 1 + 2 + 1 + 32 + 1 + 1 + 64 + 32 + 32 + 32 + KEPT;

/// How far which queue pair has come.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct ProgressWrite {
    /// The queue pair.
    pub qp: Bits<QP>,
    /// How far it has come.
    pub progress: Progress,
    /// The number of the last READ or atomic that was accepted of it. It goes on when the queue pair begins anew.
    pub resource: Bits<RESOURCE>,
}

/// What is to be done about a packet.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum JobKind {
    /// Nothing: its frame's place is given back.
    Nothing,
    /// An answer is sent.
    Answer,
    /// It is an invalid request: it breaks its queue pair.
    Refuse,
    /// A message is given up, of which nothing is in use.
    Forget,
    /// The receive in use completes as that of a message that was given up; the packet's own job follows.
    Abandon,
    /// It is the next one of a message, and is executed if all else is right.
    Execute,
    /// It is a READ or an atomic that was accepted before: it is answered again if all else is right, or dropped.
    Again,
}

/// A packet whose order was checked, and what the rest of the work needs.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Job {
    /// What is to be done.
    pub kind: JobKind,
    /// The queue pair.
    pub qp: Bits<QP>,
    /// The stamp that its entry had when the packet was checked.
    pub stamp: Bits<32>,
    /// How far the queue pair has come; what a WRITE's first packet says is already in it, and for a datagram
    /// `len` is that of its route.
    pub progress: Progress,
    /// It is of a WRITE, else of a SEND, a READ or an atomic.
    pub write: Bit,
    /// It is a READ, of which all is already in `progress`, as of a WRITE.
    pub read: Bit,
    /// It is an atomic, likewise.
    pub atomic: Bit,
    /// It compares and swaps.
    pub swaps: Bit,
    /// See `Packet`.
    pub swap_or_add: Bits<64>,
    /// See `Packet`.
    pub compare: Bits<64>,
    /// The number of the queue pair's last READ or atomic.
    pub resource: Bits<RESOURCE>,
    /// How many of these are kept for their repetition.
    pub kept: Bits<KEPT>,
    /// It is the first packet of its message.
    pub first: Bit,
    /// It is the last one.
    pub last: Bit,
    /// The queue pair is RC.
    pub reliable: Bit,
    /// The queue pair is UD.
    pub datagram: Bit,
    /// It has immediate data.
    pub with_imm: Bit,
    /// It invalidates the key `rkey`.
    pub invalidates: Bit,
    /// It asks for an acknowledgement.
    pub ack_req: Bit,
    /// It has pad bytes.
    pub padded: Bit,
    /// Sequence number, or that of an `Answer`.
    pub psn: Bits<24>,
    /// Of an `Answer`.
    pub syndrome: Bits<8>,
    /// The first byte of its payload in the store.
    pub ram: Bits<STORE>,
    /// The first byte of its IPv4 header there.
    pub header: Bits<STORE>,
    /// Bytes of payload, or more than the longest MTU.
    pub bytes: Bits<PAYLOAD>,
    /// Words of the frame.
    pub words: Bits<FRAME_WORDS>,
    /// Immediate data.
    pub imm: Bits<32>,
    /// The sender's queue pair number.
    pub source_qp: Bits<24>,
    /// The queue pair's protection domain.
    pub pd: Bits<32>,
    /// Binary logarithm of its MTU.
    pub log_mtu: Bits<4>,
    /// What an RNR NAK asks for.
    pub rnr_timer: Bits<5>,
    /// Its receive queue.
    pub queue: Bits<QUEUE>,
    /// That is a shared one.
    pub shared: Bit,
    /// Before it, the receive in use completes as that of a message that was given up.
    pub abandons: Bit,
    /// The message that is given up before it was appended: it holds its append region no longer.
    pub releases: Bit,
    /// A receive has to be taken.
    pub takes: Bit,
    /// It needs a receive, and there is none.
    pub missing: Bit,
    /// A receive was taken.
    pub taken: Bit,
    /// The status with which that one completes, if it cannot be used; else 0.
    pub status: Bits<8>,
    /// How far its queue pair comes with it is known already, if it is executed.
    pub foreseen: Bit,
    /// A job before it in its queue pair, which is still under way, takes a receive, too.
    pub follows: Bit,
}

/// How far a queue pair will have come, if a job is executed.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Foreseen {
    /// The queue pair.
    pub qp: Bits<QP>,
    /// How far it has come, as in the `Job`.
    pub progress: Progress,
    /// The packet's sequence number.
    pub psn: Bits<24>,
    /// Bytes of its payload.
    pub bytes: Bits<PAYLOAD>,
    /// It is of a WRITE, else of a SEND.
    pub write: Bit,
    /// It is the last packet of its message.
    pub last: Bit,
    /// A receive completes with it.
    pub completes: Bit,
}
