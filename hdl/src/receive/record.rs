//! What the blocks of the receive path hand on.
//!
//! ```text
//! parser --Packet--> responder --Placing--> receives (scatter) --WriteOrder--> writer --> host memory
//!                        |  \--Answer--> packetizer                               \--Receipt--> completion
//!                        \--Ack--> completion
//! ```
//!
//! A frame lies in the frame store as it came, from its first word on, until the writer has used the last of
//! what it was told to write of it. Every [`Packet`] leads to at least one [`Placing`], in the order of
//! packets, of which the last one has `frame_end`; so every frame's place is given back in order.

use crate::context::{CQ, QP, QUEUE};
use crate::receive::responder::keys::KEY_REGION;
use drdma_abi::described::APPEND_REGIONS;
use drdma_emit::prelude::*;

/// Bits of a byte address in the frame store.
pub const STORE: usize = 17;
/// Bits of the number of a 64 B word of the frame store.
pub const STORE_WORD: usize = STORE - 6;
/// Bits of a byte's place in the memory of columns.
pub use crate::transpose::PLACE;
/// Where the DMA engine finds that memory: behind completions, in the last 16 KiB of as many bytes as the frame store has. So both end at the
/// same address, and what runs over the end of one is cut like what runs over that of the other.
pub const COLUMNS_AT: u64 = (1 << STORE) - (1 << PLACE);
/// Bits of a number of rows of the memory of columns.
pub const COLUMN_ROWS: usize = 8;
/// Bits of the number of words of a frame.
pub const FRAME_WORDS: usize = 7;
/// Bits of a slot: as many atomics are under way at once as there are slots.
pub const SLOT: usize = 5;
/// Bits of the number of a READ or an atomic among those of its queue pair, which goes round.
pub const RESOURCE: usize = 9;
/// Bits of a number of READs and atomics that are kept for their repetition: up to 16.
pub const KEPT: usize = 5;
/// Bits of an append region's number.
pub const APPEND: usize = APPEND_REGIONS.index_bits();
/// Bits of the number of a word of an append region's entry.
pub const APPEND_WORD: usize = 7;
/// Bits of an append region's life: how often the host has written its last word. What is left of an earlier life is known
/// by it, unless 65,536 of them lie between.
pub const APPEND_LIFE: usize = 16;
/// Payload of a packet, in bytes: at most the longest MTU. A longer one is told as one byte more.
pub const LONGEST: u64 = 4096;

/// A word of a frame for the frame store.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct StoreWrite {
    /// Which word of the store.
    pub word: Bits<STORE_WORD>,
    /// Its bytes, the first one lowest.
    pub data: Bits<512>,
}

/// A packet for the card: its frame is whole, and its lengths, IPv4 checksum, transport version and
/// invariant CRC are right, and its transport is RC, UC or UD. Fields of headers that its opcode does not have mean nothing.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Packet {
    /// BTH: transport and operation.
    pub opcode: Bits<8>,
    /// BTH: solicited event.
    pub solicited: Bit,
    /// BTH: an acknowledgement is asked for.
    pub ack_req: Bit,
    /// BTH: there are pad bytes behind the payload.
    pub padded: Bit,
    /// BTH: partition key.
    pub pkey: Bits<16>,
    /// BTH: destination queue pair number.
    pub qpn: Bits<24>,
    /// The queue pair that has this number.
    pub qp: Bits<QP>,
    /// BTH: sequence number.
    pub psn: Bits<24>,
    /// IPv4: source address.
    pub source_ip: Bits<32>,
    /// IPv4: congestion was experienced.
    pub congested: Bit,
    /// 802.1Q: VLAN; 0: none.
    pub vlan: Bits<12>,
    /// 802.1Q: the frame has a tag, so that its IPv4 header starts 4 bytes later.
    pub tagged: Bit,
    /// RETH or AtomicETH: remote address.
    pub addr: Bits<64>,
    /// RETH or AtomicETH: remote key. IETH: the key to invalidate.
    pub rkey: Bits<32>,
    /// RETH: bytes of the message.
    pub len: Bits<32>,
    /// AtomicETH: what is swapped in or added.
    pub swap_or_add: Bits<64>,
    /// AtomicETH: what is compared with. AtomicAckETH: the value before.
    pub compare: Bits<64>,
    /// DETH: queue key.
    pub qkey: Bits<32>,
    /// DETH: the sender's queue pair number.
    pub source_qp: Bits<24>,
    /// Immediate data.
    pub imm: Bits<32>,
    /// AETH: syndrome.
    pub syndrome: Bits<8>,
    /// AETH: message sequence number.
    pub msn: Bits<24>,
    /// The frame's first word in the store.
    pub start: Bits<STORE_WORD>,
    /// The payload's first byte, in the frame.
    pub offset: Bits<7>,
    /// Bytes of payload without padding, 0 to 4,096, or 4,097 for any more.
    pub bytes: Bits<13>,
    /// Words of the frame in the store.
    pub words: Bits<FRAME_WORDS>,
}

/// A packet that was right, beside its [`Packet`]: what an answer to a READ or an atomic says.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Settled {
    /// It is an answer of the queue pair's peer. Else all fields below mean nothing.
    pub answers: Bit,
    /// The queue pair.
    pub qp: Bits<QP>,
    /// BTH: operation.
    pub operation: Bits<5>,
    /// BTH: sequence number.
    pub psn: Bits<24>,
    /// Bytes of payload, or more than the longest MTU.
    pub bytes: Bits<13>,
    /// The payload's first byte in the store.
    pub ram: Bits<STORE>,
}

/// What becomes of a packet's payload, or of the receive that is in use.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum PlacingKind {
    /// Nothing is written.
    Nothing,
    /// The bytes go to `addr`.
    Write,
    /// The bytes go on in the receive that the queue pair has in use.
    Receive,
}

/// What the responder wants done with a packet's bytes.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Placing {
    /// Where the bytes go.
    pub kind: PlacingKind,
    /// The queue pair.
    pub qp: Bits<QP>,
    /// Of a `Write`: the host's address.
    pub addr: Bits<64>,
    /// Of a `Receive`: the bytes go to its beginning, behind `skip` bytes that are left as they are.
    pub first: Bit,
    /// See `first`: 0, or 20 in front of a datagram's IPv4 header.
    pub skip: Bits<6>,
    /// The first byte in the store.
    pub ram: Bits<STORE>,
    /// Bytes, 0 to 4,096.
    pub bytes: Bits<13>,
    /// The frame is used up with these bytes.
    pub frame_end: Bit,
    /// Its words.
    pub words: Bits<FRAME_WORDS>,
    /// The queue pair's receive completes behind these bytes; fields as in `ReceiveCompletion`.
    pub completes: Bit,
    /// See `completes`.
    pub status: Bits<8>,
    /// See `completes`: the opcode is `ReceiveWithImm`.
    pub with_imm: Bit,
    /// See `completes`: bytes of the message.
    pub byte_len: Bits<32>,
    /// See `completes`.
    pub imm: Bits<32>,
    /// See `completes`.
    pub flags: Bits<8>,
    /// See `completes`; or, of bytes that are appended, the message's first row.
    pub source: Bits<32>,
    /// Of a `Receive`: the bytes go to rows of an append region,
    pub appends: Bit,
    /// this one,
    pub region: Bits<APPEND>,
    /// in this life.
    pub life: Bits<APPEND_LIFE>,
    /// The queue pair has its receive not in use any more, without a completion: it stays in its queue.
    pub returns: Bit,
    /// Where the bytes go is told piece by piece: [`PiecePlace`]. They go to a described key with `Write`, and else to the receive.
    pub pieces: Bit,
    /// The packet is an atomic: what was placed before is written before it, and what is placed behind it, behind.
    pub atomic: Bit,
    /// Its slot.
    pub slot: Bits<SLOT>,
}

/// A completion of a receive but for its phase, and where it goes.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Receipt {
    /// The completion queue.
    pub cq: Bits<CQ>,
    /// The queue pair.
    pub qp: Bits<QP>,
    /// A `ReceiveCompletion` with phase 0.
    pub line: Bits<256>,
}

/// Bytes of the frame store, or of the memory of columns, that go to host memory.
///
/// What scatter hands to the transposer is an order of `column` without bytes, which stands for the runs of its job: see
/// [`ColumnWriter`](super::transposer::writer::ColumnWriter).
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct WriteOrder {
    /// Where they go.
    pub addr: Bits<64>,
    /// The first byte in the store, or, from [`COLUMNS_AT`] on, in the memory of columns.
    pub ram: Bits<STORE>,
    /// They are in the memory of columns.
    pub column: Bit,
    /// Rows of the memory of columns that are not needed any more when these bytes are read.
    pub rows: Bits<COLUMN_ROWS>,
    /// Bytes, 0 to 4,096.
    pub bytes: Bits<13>,
    /// The frame is used up with these bytes.
    pub frame_end: Bit,
    /// Its words.
    pub words: Bits<FRAME_WORDS>,
    /// A receive completes behind these bytes.
    pub completes: Bit,
    /// Its completion.
    pub receipt: Receipt,
    /// See `Placing`.
    pub atomic: Bit,
    /// See `Placing`.
    pub slot: Bits<SLOT>,
}

/// A receive is asked for, for the message that begins.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Take {
    /// The queue pair, which then has it in use until a [`Placing`] completes it.
    pub qp: Bits<QP>,
    /// The receive queue.
    pub queue: Bits<QUEUE>,
    /// The queue pair's protection domain.
    pub pd: Bits<32>,
    /// The message comes behind one whose own take may have found nothing: then nothing is found for this one either.
    pub follows: Bit,
}

/// The answer to a [`Take`].
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Taken {
    /// Something was posted. If not, nothing has changed.
    pub found: Bit,
    /// 0: it can be used. Else it is in use all the same, and is to be completed with this status.
    pub status: Bits<8>,
    /// Bytes that it holds, at most 2^32 - 1. Of a receive that appends: the append region's number.
    pub capacity: Bits<32>,
    /// Where its bytes go is told piece by piece: see [`RegionAsk`]. How many it holds is not known.
    pub pieces: Bit,
    /// The receive appends. It stays in its queue, and no other one is taken, until [`AppendTaken`] says what becomes of it.
    pub appends: Bit,
}

/// What becomes of the receive that appends and was taken last.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct AppendTaken {
    /// It is not used: it is the next one of its queue again. Its queue pair's [`Placing`] has `returns`.
    pub returned: Bit,
    /// It completes with `local_qp_operation_error`, which halts its queue.
    pub halts: Bit,
}

/// A word that the host writes to `APPEND_REGIONS` or `APPEND_DOORBELLS`.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct AppendWord {
    /// It is a doorbell: rows that were given back.
    pub bell: Bit,
    /// The region.
    pub region: Bits<APPEND>,
    /// The word of its entry.
    pub word: Bits<APPEND_WORD>,
    /// Its value.
    pub data: Bits<32>,
}

/// What is asked of the append regions.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum AppendRequest {
    /// Rows for a packet of a SEND.
    Rows,
    /// The queue pair's message will not come: it holds the region no longer.
    Release,
}

/// A packet of a SEND is to be appended.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct AppendAsk {
    /// What is asked.
    pub request: AppendRequest,
    /// The queue pair.
    pub qp: Bits<QP>,
    /// Its protection domain.
    pub pd: Bits<32>,
    /// The append region.
    pub number: Bits<32>,
    /// Bytes of the packet.
    pub bytes: Bits<13>,
    /// It is the first one of its message.
    pub first: Bit,
}

/// Whether a packet can be appended.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum AppendVerdict {
    /// It can.
    Room,
    /// Too few rows are free, or another queue pair's message is on its way.
    Later,
    /// The message has more rows than the region.
    TooLong,
    /// There is no such region, or its entry is wrong.
    Malformed,
    /// The region is of another protection domain, or its columns are not in the memory of their keys.
    Forbidden,
    /// The host has emptied the region in the middle of the message.
    Lost,
    /// The queue pair is broken, or was reset, in the middle of the message.
    Gone,
}

/// The answer to an [`AppendAsk`].
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct AppendTold {
    /// Whether it can be appended.
    pub verdict: AppendVerdict,
    /// The message has whole rows up to this packet's end.
    pub whole: Bit,
    /// The row that the message's first one becomes.
    pub first_row: Bits<32>,
    /// The region's life.
    pub life: Bits<APPEND_LIFE>,
}

/// What follows from a packet that was asked for.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum AppendOutcome {
    /// Nothing: the message, if one was on its way, still is.
    Stays,
    /// The packet is appended, and the message goes on.
    Holds,
    /// It was the last one: the message's rows are in use.
    Commits,
    /// The message will not come.
    Drops,
}

/// See [`AppendOutcome`].
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct AppendSettle {
    /// What follows.
    pub outcome: AppendOutcome,
}

/// The bytes of a packet fill regions piece by piece: can they?
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct RegionAsk {
    /// They go on in the receive that the queue pair has in use, else to a described key.
    pub receive: Bit,
    /// The queue pair.
    pub qp: Bits<QP>,
    /// Its protection domain.
    pub pd: Bits<32>,
    /// Of a described key: its region,
    pub region: Bits<KEY_REGION>,
    /// and the first byte's place there.
    pub addr: Bits<64>,
    /// Bytes, 1 to 4,096.
    pub bytes: Bits<13>,
    /// They are the first ones of their message.
    pub first: Bit,
    /// Of a receive: bytes that are left as they are, before them.
    pub skip: Bits<6>,
}

/// Whether bytes can fill regions.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum RegionVerdict {
    /// They can.
    Reached,
    /// The region, or the last one of the receive, ends before them.
    Outside,
    /// Memory that they need is not there, or its keys do not allow it; or there is no such region.
    Unreachable,
}

/// The answer to a [`RegionAsk`].
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct RegionTold {
    /// Whether they can.
    pub verdict: RegionVerdict,
}

/// What becomes of the bytes that were asked for since the last packet was settled.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct RegionSettle {
    /// A [`Placing`] with `pieces` comes for each [`RegionAsk`].
    pub placed: Bit,
}

/// A piece of what a [`Placing`] with `pieces` has, or a dense column: then all columns of the region follow each other, in the order of a row, and
/// have all bytes of the placing between them.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct PiecePlace {
    /// Where it goes; of a column, where its value of the row goes in which the bytes begin.
    pub addr: Bits<64>,
    /// Bytes, 1 to 4,096; of a column those of a value, 1 to 64.
    pub bytes: Bits<13>,
    /// The last one of its placing.
    pub last: Bit,
    /// It is a column. The same in all columns of a placing:
    pub column: Bit,
    /// rows of the region from that one on,
    pub rows: Bits<32>,
    /// the column that the bytes begin in,
    pub first: Bits<4>,
    /// and the byte of its value.
    pub offset: Bits<6>,
}

/// An ACK or a NAK to send, or a READ or an atomic to answer.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Answer {
    /// The queue pair.
    pub qp: Bits<QP>,
    /// The stamp of its entry with which the packet was checked.
    pub stamp: Bits<32>,
    /// Syndrome.
    pub syndrome: Bits<8>,
    /// Sequence number; of a READ or an atomic, that of its answer's first packet.
    pub psn: Bits<24>,
    /// Messages completed so far.
    pub msn: Bits<24>,
    /// It is a READ.
    pub reads: Bit,
    /// It is an atomic. If it is no READ either, all fields below mean nothing.
    pub atomic: Bit,
    /// The READ or atomic was accepted before, and is answered again. An atomic is not executed then: only `resource`,
    /// `kept` and `swaps` mean something.
    pub again: Bit,
    /// Of an atomic: it compares and swaps, else it adds.
    pub swaps: Bit,
    /// Of an atomic: its slot.
    pub slot: Bits<SLOT>,
    /// Its number among the READs and atomics of its queue pair; if it comes again, that of the last one.
    pub resource: Bits<RESOURCE>,
    /// Of an atomic that comes again: how many, up to `resource`, are kept.
    pub kept: Bits<KEPT>,
    /// Its first byte.
    pub addr: Bits<64>,
    /// Its remote key.
    pub rkey: Bits<32>,
    /// Its bytes.
    pub len: Bits<32>,
    /// The queue pair's protection domain.
    pub pd: Bits<32>,
    /// Binary logarithm of its MTU.
    pub log_mtu: Bits<4>,
    /// Frames that came before it since the reset, modulo 2^32; of an atomic, its own too. When so many are used up, what they wrote is in memory.
    pub earlier: Bits<32>,
}

/// What an acknowledgement from the peer says.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Ack {
    /// The queue pair.
    pub qp: Bits<QP>,
    /// Sequence number.
    pub psn: Bits<24>,
    /// Syndrome.
    pub syndrome: Bits<8>,
}

/// An atomic that is accepted: what the responder knows of it, and the answer's side will need.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Operands {
    /// Its slot.
    pub slot: Bits<SLOT>,
    /// Its 8 bytes in host memory; a multiple of 8.
    pub addr: Bits<64>,
    /// What is swapped in or added.
    pub swap_or_add: Bits<64>,
    /// What is compared with.
    pub compare: Bits<64>,
}

/// An atomic that is under way.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct SlotIndex {
    /// Its slot.
    pub slot: Bits<SLOT>,
}

/// All of the answer to a READ or an atomic has left, or it is given up.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Answered {
    /// The queue pair.
    pub qp: Bits<QP>,
    /// The number of the READ or atomic among those of its queue pair.
    pub resource: Bits<RESOURCE>,
}
