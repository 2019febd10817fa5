//! What the blocks of the receive path give to each other.
//!
//! ```text
//! parser --Packet--> responder --Placing--> receives (scatter) --WriteOrder--> writer --> host memory
//!                        |  \--Answer--> packetizer                               \--Receipt--> completion
//!                        \--Ack--> completion
//! ```
//!
//! A frame lies in the frame store as it came, from its first word on, until the writer has used the last of
//! what it was to write of it. Every [`Packet`] leads to at least one [`Placing`], in the order of
//! packets; the last one has `frame_end`, so every frame's place is given back in order.

use crate::context::{CQ, QP, QUEUE};
use crate::receive::responder::keys::KEY_REGION;
use drdma_abi::described::APPEND_REGIONS;
use drdma_emit::prelude::*;

/// Bits of a byte address in the frame store.
pub const STORE: usize = 17;
/// Bits of the number of a 64 B word of the frame store.
pub const STORE_WORD: usize = STORE - 6;
/// Bits of the place of a byte in the memory of columns.
pub use crate::transpose::PLACE;
/// First address at which the DMA engine sees the memory of columns: behind completions, in the last 16 KiB of an
/// address space as large as the frame store. So both memories end at the same address, and an access beyond the end is
/// cut in the same way for both.
pub const COLUMNS_AT: u64 = (1 << STORE) - (1 << PLACE);
/// Bits of a count of rows of the memory of columns.
pub const COLUMN_ROWS: usize = 8;
/// Bits of a count of words of a frame.
pub const FRAME_WORDS: usize = 7;
/// Bits of the slot of an atomic: as many atomics can be under way at once.
pub const SLOT: usize = 5;
/// Bits of the number of a READ or an atomic among those of its queue pair; the number wraps.
pub const RESOURCE: usize = 9;
/// Bits of a count of READs and atomics that are kept for their repetition: up to 16.
pub const KEPT: usize = 5;
/// Bits of the number of an append region.
pub const APPEND: usize = APPEND_REGIONS.index_bits();
/// Bits of the number of a word in an append region's entry.
pub const APPEND_WORD: usize = 7;
/// Bits of an append region's life: how often the host has written its last word. Leftovers of an earlier life are
/// recognized by it, unless a multiple of 65,536 lives lie between.
pub const APPEND_LIFE: usize = 16;
/// Longest payload of a packet, in bytes: the longest MTU. A longer payload is reported as one byte more.
pub const LONGEST: u64 = 4096;

/// A word of a frame that is written to the frame store.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct StoreWrite {
    /// Number of the word in the store.
    pub word: Bits<STORE_WORD>,
    /// The 64 bytes, the first one lowest.
    pub data: Bits<512>,
}

/// A packet for the card: its frame is whole, its lengths, IPv4 checksum, transport version and
/// invariant CRC are right, and its transport is RC, UC or UD. Fields of headers that its opcode does not have mean
/// nothing.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Packet {
    /// BTH: opcode, which is transport and operation.
    pub opcode: Bits<8>,
    /// BTH: the packet asks for a solicited event.
    pub solicited: Bit,
    /// BTH: the packet asks for an acknowledgement.
    pub ack_req: Bit,
    /// BTH: there are pad bytes behind the payload.
    pub padded: Bit,
    /// BTH: partition key.
    pub pkey: Bits<16>,
    /// BTH: destination queue pair number.
    pub qpn: Bits<24>,
    /// Index of the queue pair that has this number.
    pub qp: Bits<QP>,
    /// BTH: sequence number.
    pub psn: Bits<24>,
    /// IPv4: source address.
    pub source_ip: Bits<32>,
    /// IPv4: the packet has met congestion (ECN 3).
    pub congested: Bit,
    /// 802.1Q: number of the VLAN; 0: none.
    pub vlan: Bits<12>,
    /// 802.1Q: the frame has a tag, so that its IPv4 header starts 4 bytes later.
    pub tagged: Bit,
    /// RETH or AtomicETH: remote address.
    pub addr: Bits<64>,
    /// RETH or AtomicETH: remote key. IETH: the key to invalidate.
    pub rkey: Bits<32>,
    /// RETH: bytes of the message.
    pub len: Bits<32>,
    /// AtomicETH: the value that is swapped in or added.
    pub swap_or_add: Bits<64>,
    /// AtomicETH: the value that is compared with. AtomicAckETH: the value before the atomic.
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
    /// Number of the frame's first word in the store.
    pub start: Bits<STORE_WORD>,
    /// Place of the payload's first byte in the frame, in bytes.
    pub offset: Bits<7>,
    /// Bytes of payload without padding, 0 to 4,096, or 4,097 for any more.
    pub bytes: Bits<13>,
    /// Words of 64 B of the frame in the store.
    pub words: Bits<FRAME_WORDS>,
}

/// What the parser reports of each right packet, beside its [`Packet`]: whether it answers a READ or an atomic, and
/// how.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Settled {
    /// The packet is an answer of the queue pair's peer. Otherwise the fields below mean nothing.
    pub answers: Bit,
    /// The queue pair that the answer is for.
    pub qp: Bits<QP>,
    /// BTH: operation.
    pub operation: Bits<5>,
    /// BTH: sequence number.
    pub psn: Bits<24>,
    /// Bytes of payload, 0 to 4,096, or 4,097 for any more.
    pub bytes: Bits<13>,
    /// Byte address of the payload in the frame store.
    pub ram: Bits<STORE>,
}

/// Destination of a packet's payload.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum PlacingKind {
    /// Nowhere: nothing is written.
    Nothing,
    /// To the address `addr` of host memory.
    Write,
    /// To the receive that the queue pair has in use, behind the bytes that it has.
    Receive,
}

/// Instruction of the responder about a packet's payload.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Placing {
    /// Destination of the payload.
    pub kind: PlacingKind,
    /// The queue pair that the packet is for.
    pub qp: Bits<QP>,
    /// Of a `Write`: address in host memory of the first byte.
    pub addr: Bits<64>,
    /// Of a `Receive`: the payload goes to the beginning of the receive, behind `skip` bytes that are left as they are.
    pub first: Bit,
    /// With `first`: bytes that are left as they are; 0, or 20 in front of a datagram's IPv4 header.
    pub skip: Bits<6>,
    /// Byte address of the payload in the frame store.
    pub ram: Bits<STORE>,
    /// Bytes of payload, 0 to 4,096.
    pub bytes: Bits<13>,
    /// The frame is not needed any more when these bytes are written.
    pub frame_end: Bit,
    /// With `frame_end`: words of the frame in the store.
    pub words: Bits<FRAME_WORDS>,
    /// The queue pair's receive completes behind these bytes, with the fields below, which are as in
    /// `ReceiveCompletion`.
    pub completes: Bit,
    /// With `completes`: status of the completion.
    pub status: Bits<8>,
    /// With `completes`: the opcode is `ReceiveWithImm`.
    pub with_imm: Bit,
    /// With `completes`: bytes of the message.
    pub byte_len: Bits<32>,
    /// With `completes`: immediate data.
    pub imm: Bits<32>,
    /// With `completes`: flags of the completion.
    pub flags: Bits<8>,
    /// With `completes`: source queue pair. Of bytes that are appended: the message's first row.
    pub source: Bits<32>,
    /// Of a `Receive`: the bytes go to rows of the append region `region`.
    pub appends: Bit,
    /// With `appends`: number of the append region.
    pub region: Bits<APPEND>,
    /// With `appends`: life of the append region.
    pub life: Bits<APPEND_LIFE>,
    /// The queue pair gives its receive up without a completion: the receive stays in its queue.
    pub returns: Bit,
    /// The payload goes to the places of its [`PiecePlace`]s: of a described key with `Write`, of the receive else.
    pub pieces: Bit,
    /// The packet is an atomic: payload that is placed before it is written before it, and later payload after it.
    pub atomic: Bit,
    /// With `atomic`: slot of the atomic.
    pub slot: Bits<SLOT>,
}

/// The completion of a receive, without its phase, and where it goes.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Receipt {
    /// The completion queue that it goes to.
    pub cq: Bits<CQ>,
    /// The queue pair of the receive.
    pub qp: Bits<QP>,
    /// The completion's 32 bytes: a `ReceiveCompletion` with phase 0.
    pub line: Bits<256>,
}

/// A run of bytes of the frame store, or of the memory of columns, that goes to one place of host memory.
///
/// For a dense column, scatter gives the transposer an order of `column` without bytes, which stands for the runs of
/// its job: see [`ColumnWriter`](super::transposer::writer::ColumnWriter).
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct WriteOrder {
    /// Address in host memory of the first byte.
    pub addr: Bits<64>,
    /// Byte address in the frame store or, from [`COLUMNS_AT`] on, in the memory of columns.
    pub ram: Bits<STORE>,
    /// The bytes are in the memory of columns.
    pub column: Bit,
    /// Rows of the memory of columns that are free when these bytes have been read.
    pub rows: Bits<COLUMN_ROWS>,
    /// Bytes to write, 0 to 4,096.
    pub bytes: Bits<13>,
    /// The frame is not needed any more when these bytes are written.
    pub frame_end: Bit,
    /// With `frame_end`: words of the frame in the store.
    pub words: Bits<FRAME_WORDS>,
    /// A receive completes behind these bytes.
    pub completes: Bit,
    /// With `completes`: the receive's completion.
    pub receipt: Receipt,
    /// The order is of an atomic: see [`Placing::atomic`].
    pub atomic: Bit,
    /// With `atomic`: slot of the atomic.
    pub slot: Bits<SLOT>,
}

/// Asks for a receive for a message that begins.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Take {
    /// The queue pair, which has the receive in use until a [`Placing`] completes it.
    pub qp: Bits<QP>,
    /// The receive queue to take it from.
    pub queue: Bits<QUEUE>,
    /// Protection domain of the queue pair.
    pub pd: Bits<32>,
    /// An earlier message of the queue pair may have found no receive: then none is found for this one either.
    pub follows: Bit,
}

/// The answer to a [`Take`].
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Taken {
    /// A receive was posted, and is taken. Otherwise no state has changed.
    pub found: Bit,
    /// 0: the receive can be used. Otherwise it is in use as well, and is to be completed with this status.
    pub status: Bits<8>,
    /// Bytes that the receive holds, at most 2^32 - 1. Of a receive that appends: number of the append region.
    pub capacity: Bits<32>,
    /// Where the bytes of the receive go must be asked by [`RegionAsk`]. How many it holds is not known.
    pub pieces: Bit,
    /// The receive appends. It stays in its queue, and no other one is taken, until [`AppendTaken`] decides about it.
    pub appends: Bit,
}

/// Decides about the receive that appends and was taken last.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct AppendTaken {
    /// The receive is not used, and is the next one of its queue again. The queue pair's [`Placing`] has `returns`.
    pub returned: Bit,
    /// The receive completes with `local_qp_operation_error`, which halts its queue.
    pub halts: Bit,
}

/// A word that the host writes to `APPEND_REGIONS` or `APPEND_DOORBELLS`.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct AppendWord {
    /// The word is a doorbell: rows that were given back. Otherwise it is a word of an entry.
    pub bell: Bit,
    /// Number of the append region.
    pub region: Bits<APPEND>,
    /// Number of the word in the region's entry.
    pub word: Bits<APPEND_WORD>,
    /// Value of the word.
    pub data: Bits<32>,
}

/// Kinds of requests to the append regions.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum AppendRequest {
    /// Rows are wanted for a packet of a SEND.
    Rows,
    /// The queue pair's message will not come: the queue pair holds the region no longer.
    Release,
}

/// Asks whether a packet of a SEND can be appended.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct AppendAsk {
    /// The request that is made.
    pub request: AppendRequest,
    /// The queue pair that the packet is for.
    pub qp: Bits<QP>,
    /// Protection domain of the queue pair.
    pub pd: Bits<32>,
    /// Number of the append region, as the receive names it.
    pub number: Bits<32>,
    /// Bytes of payload of the packet.
    pub bytes: Bits<13>,
    /// The packet is the first one of its message.
    pub first: Bit,
}

/// Whether a packet can be appended.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum AppendVerdict {
    /// The packet can be appended.
    Room,
    /// Too few rows are free, or the region takes another queue pair's message.
    Later,
    /// The message has more rows than the region.
    TooLong,
    /// There is no such region, or its entry is malformed.
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
    /// Verdict: whether the packet can be appended.
    pub verdict: AppendVerdict,
    /// The message has whole rows up to this packet's end.
    pub whole: Bit,
    /// Number of the row that the message's first row becomes.
    pub first_row: Bits<32>,
    /// Life of the append region.
    pub life: Bits<APPEND_LIFE>,
}

/// Consequence of a packet that was asked about.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum AppendOutcome {
    /// No change: a message that was on its way still is.
    Stays,
    /// The packet is appended, and its message goes on.
    Holds,
    /// The packet was the last one: the message's rows are in use.
    Commits,
    /// The message will not come: its rows are free again.
    Drops,
}

/// Decision about a packet that was asked about.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct AppendSettle {
    /// Consequence of the packet.
    pub outcome: AppendOutcome,
}

/// Asks whether a packet's bytes can go to a region, or to a receive of regions, piece by piece.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct RegionAsk {
    /// The bytes go on in the receive that the queue pair has in use; otherwise to a described key.
    pub receive: Bit,
    /// The queue pair that the packet is for.
    pub qp: Bits<QP>,
    /// Protection domain of the queue pair.
    pub pd: Bits<32>,
    /// Of a described key: number of its region.
    pub region: Bits<KEY_REGION>,
    /// Of a described key: place of the first byte in the region.
    pub addr: Bits<64>,
    /// Bytes of payload, 1 to 4,096.
    pub bytes: Bits<13>,
    /// The bytes are the first ones of their message.
    pub first: Bit,
    /// Of a receive, with `first`: bytes in front of these that are left as they are.
    pub skip: Bits<6>,
}

/// Verdict on whether bytes can go to a region.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum RegionVerdict {
    /// All bytes can be written.
    Reached,
    /// The region, or the last one of the receive, ends before the bytes do.
    Outside,
    /// Memory for the bytes is not there, or its keys do not allow the access; or there is no such region.
    Unreachable,
}

/// The answer to a [`RegionAsk`].
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct RegionTold {
    /// Verdict: whether the bytes can be written.
    pub verdict: RegionVerdict,
}

/// Decides about the bytes that were asked about since the last packet was settled.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct RegionSettle {
    /// A [`Placing`] with `pieces` follows for each [`RegionAsk`].
    pub placed: Bit,
}

/// A piece of the payload of a [`Placing`] with `pieces`, or a dense column. In the second case all columns of the
/// region follow each other, in the order of a row, and the payload of the placing is divided between them.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct PiecePlace {
    /// Address in host memory of the piece; of a column, of its value in the row in which the payload begins.
    pub addr: Bits<64>,
    /// Bytes of the piece, 1 to 4,096; of a column, bytes of a value, 1 to 64.
    pub bytes: Bits<13>,
    /// The piece is the last one of its placing.
    pub last: Bit,
    /// The piece is a column. Then the fields below are the same in all columns of a placing.
    pub column: Bit,
    /// Rows of the region from that row on.
    pub rows: Bits<32>,
    /// Number of the column in which the payload begins.
    pub first: Bits<4>,
    /// Number of the byte of that column's value with which the payload begins.
    pub offset: Bits<6>,
}

/// An ACK or a NAK to send, or a READ or an atomic to answer.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Answer {
    /// The queue pair.
    pub qp: Bits<QP>,
    /// The stamp of the queue pair's entry with which the packet was checked.
    pub stamp: Bits<32>,
    /// Syndrome of the AETH.
    pub syndrome: Bits<8>,
    /// Sequence number; for a READ or an atomic, that of its answer's first packet.
    pub psn: Bits<24>,
    /// Messages completed so far, modulo 2^24.
    pub msn: Bits<24>,
    /// A READ is to be answered.
    pub reads: Bit,
    /// An atomic is to be answered. If neither is, the fields below mean nothing.
    pub atomic: Bit,
    /// The READ or atomic was accepted before, and is answered again. An atomic is not executed then: only `resource`,
    /// `kept` and `swaps` are valid.
    pub again: Bit,
    /// The atomic is a compare and swap; otherwise a fetch and add.
    pub swaps: Bit,
    /// Slot of the atomic.
    pub slot: Bits<SLOT>,
    /// Number of the READ or atomic among those of its queue pair; of one that comes again, the number of the last one.
    pub resource: Bits<RESOURCE>,
    /// Of an atomic that comes again: how many, up to `resource`, are kept.
    pub kept: Bits<KEPT>,
    /// Address of the first byte of the READ or atomic.
    pub addr: Bits<64>,
    /// Remote key of the READ or atomic.
    pub rkey: Bits<32>,
    /// Bytes of the READ or atomic.
    pub len: Bits<32>,
    /// The queue pair's protection domain.
    pub pd: Bits<32>,
    /// Binary logarithm of the queue pair's MTU in bytes.
    pub log_mtu: Bits<4>,
    /// Frames since the reset, modulo 2^32, that came before the READ or atomic (an atomic's own included). When so
    /// many are used up, what they wrote is in memory.
    pub earlier: Bits<32>,
}

/// An acknowledgement that the peer has sent.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Ack {
    /// The queue pair.
    pub qp: Bits<QP>,
    /// Sequence number that is acknowledged, or refused by a NAK.
    pub psn: Bits<24>,
    /// Syndrome of the AETH.
    pub syndrome: Bits<8>,
}

/// The operands of an atomic that was accepted.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Operands {
    /// Slot of the atomic.
    pub slot: Bits<SLOT>,
    /// Address of the atomic's 8 bytes in host memory; a multiple of 8.
    pub addr: Bits<64>,
    /// The value that is swapped in or added.
    pub swap_or_add: Bits<64>,
    /// The value that is compared with.
    pub compare: Bits<64>,
}

/// Names an atomic that is under way.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct SlotIndex {
    /// Slot of the atomic.
    pub slot: Bits<SLOT>,
}

/// All of the answer to a READ or an atomic has left, or the answer is given up.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Answered {
    /// The queue pair.
    pub qp: Bits<QP>,
    /// The number of the READ or atomic among those of its queue pair.
    pub resource: Bits<RESOURCE>,
}
