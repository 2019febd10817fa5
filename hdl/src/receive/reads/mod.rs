//! Takes what peers answer to the READs and atomics of this card into local memory, and reports it to the keeper.
//!
//! Stands behind the parser, between the receive queues and `host_write`, and between the acknowledgements and the
//! keeper. It keeps, for each queue pair, a list of the READs and atomics that were given to the keeper and have no
//! answer, the oldest first, and of each of them how much of the answer has come. An answer must be the next packet for
//! the oldest one, or it is not written.
//!
//! ```text
//! settled ----> [answers] ---\
//! came ---------------------> state machine --> order (host_write)
//! asked --> [asked, lists] --/      |   \
//! piece --> [pieces] ------/        |    \--> response (keeper)
//! ack ------------------------------/
//! ```
//!
//! The frame of an answer lies in the frame store as any other. The responder does nothing with it; so it comes here as
//! an order without bytes, which ends its frame. In its place come orders for its bytes, the last of which ends the
//! frame. An atomic's value stands in network order in the answer's headers, and is written byte by byte, the last one
//! first.
//!
//! The keeper gets each packet of an answer as an acknowledgement of its number, when the packet's last order has come
//! to `host_write`, which lets no completion overtake it. An acknowledgement beyond an answer that has not come, or an
//! answer beyond it, is an implied NAK, and reported as NAK 0x60 of the number that is missing (IBTA 1.4 section
//! 9.7.5.1). But an acknowledgement, which is faster than an answer, waits first until all answers that came before it
//! have had their turn. An answer of a wrong length is reported as [`BAD_RESPONSE`]. NAKs with reserved codes are
//! dropped.
//!
//! A list is believed only as long as its queue pair's entry is as it was, and the keeper has not closed the queue
//! pair; answers that come later are not written. A queue pair in the error state for another reason still gets the
//! answers that it waits for.
//!
//! Contract: other orders pass in their own cycle, behind a register. A READ or an atomic is noted in 2 cycles. An
//! acknowledgement takes 2 cycles for a queue pair without such requests, and 4 for others. A packet of an answer takes
//! 6 cycles, and 2 for each further region that it reaches; the answer to an atomic takes 20. May stall at any time,
//! except `asked` (256 wait) and `settled` (1,024). Lists are cleared in the cycles after a reset that clear all
//! tables.

use crate::context::{ConfigWrite, QP, Stamps, Table, TableSelect};
use crate::primitive::{Flatten, Lutram, Ram, RamStyle, Restore, StreamFifo, StreamSkid};
use crate::receive::record::{Ack, STORE, Settled, WriteOrder};
use crate::request::PieceWrite;
use drdma_abi::roce::{operation, syndrome};
use drdma_emit::prelude::*;

mod kernel;
#[cfg(test)]
mod tests;

/// A syndrome that no peer sends. It stands for an answer to a READ that does not fit the READ.
pub const BAD_RESPONSE: u8 = syndrome::NAK_PSN | 4;

/// Constants of the kernel.
const BAD: u64 = BAD_RESPONSE as u64;
const NAK_PSN: u64 = syndrome::NAK_PSN as u64;
const ACK: u64 = (syndrome::ACK | 31) as u64;
const READ_LAST: u64 = operation::READ_RESPONSE_LAST as u64;
const READ_ONLY: u64 = operation::READ_RESPONSE_ONLY as u64;
const ATOMIC: u64 = operation::ATOMIC_ACKNOWLEDGE as u64;
/// Bits of the slot of a request.
const SLOT: usize = 8;
/// Bits of the number of a region among those of all slots.
const PIECE: usize = SLOT + 4;
/// Bits of a count of packets.
const INDEX: usize = 12;
/// Bits of a [`List`], of what is kept of a READ, and of what is kept of a region.
const LIST: usize = 1 + 2 * SLOT + 32;
const HEAD: usize = 24 + 24 + 32 + 4 + 32 + 1 + 4;
const SPAN: usize = 96;

/// A READ or an atomic that is sent.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Asking {
    /// The queue pair that sends it.
    pub qp: Bits<QP>,
    /// The stamp of the queue pair's entry that the request was checked with.
    pub stamp: Bits<32>,
    /// Slot of the request.
    pub slot: Bits<SLOT>,
    /// First sequence number that the request takes.
    pub psn: Bits<24>,
    /// Last sequence number that the request takes.
    pub last: Bits<24>,
    /// Bytes that the request asks for.
    pub len: Bits<32>,
    /// The request is an atomic; otherwise a READ.
    pub atomic: Bit,
    /// Binary logarithm of the queue pair's MTU in bytes.
    pub log_mtu: Bits<4>,
}

/// The list of a queue pair's READs and atomics.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
struct List {
    used: Bit,
    head: Bits<SLOT>,
    tail: Bits<SLOT>,
    stamp: Bits<32>,
}

/// A READ or an atomic in a list.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
struct Head {
    /// The next sequence number of its answer, and the last one.
    expected: Bits<24>,
    last: Bits<24>,
    /// Bytes of its answer that have not come.
    left: Bits<32>,
    /// Place of the next byte: number of the region, and byte in it.
    piece: Bits<4>,
    into: Bits<32>,
    atomic: Bit,
    log_mtu: Bits<4>,
}

/// A packet of an answer, with its number among all packets.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
struct Told {
    index: Bits<INDEX>,
    stamp: Bits<32>,
    answer: Settled,
}

/// Steps of an event.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum ReadsState {
    /// Waits for an event.
    Idle,
    /// The queue pair's list has been read.
    Look,
    /// The list's oldest READ or atomic has been read.
    Head,
    /// Judges the answer: all that is needed has been read.
    Judge,
    /// Cuts an order at the end of a region.
    Cut,
    /// Offers the order.
    Offer,
}

/// Kinds of events.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum ReadsEvent {
    /// A READ or an atomic is sent.
    Asking,
    /// A packet of an answer has come.
    Answer,
    /// An acknowledgement has come.
    Acknowledgement,
}

/// Takes answers. See the [module](self).
#[derive(LogicBlock, BlockDefault)]
pub struct Reads {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Words that the host writes into tables.
    pub cfg: Flow<In, ConfigWrite>,

    /// READs and atomics that are given to the keeper.
    pub asked: Flow<In, Asking>,
    /// Regions for the bytes of a READ's answer; written before `asked`.
    pub piece: Flow<In, PieceWrite>,

    /// Packets that were right.
    pub settled: Flow<In, Settled>,
    /// Orders of the receive queues: one with `frame_end` for each of these packets, in order.
    pub came: Stream<In, WriteOrder>,
    /// Orders of `came`, and those for the bytes of answers.
    pub order: Stream<Out, WriteOrder>,
    /// All orders that were accepted before have come to `host_write`.
    pub passed: Signal<In, Bit>,

    /// ACKs and NAKs that have come.
    pub ack: Stream<In, Ack>,
    /// ACKs and NAKs for the keeper, and acknowledgements that follow from answers.
    pub response: Stream<Out, Ack>,

    /// The queue pair whose `closed` is asked for in the next cycle.
    pub closed_next: Signal<Out, Bits<QP>>,
    /// The keeper has closed the queue pair of `closed_next`, one cycle before.
    pub closed: Signal<In, Bit>,
    /// An answer has come and has not had its turn.
    pub busy: Signal<Out, Bit>,

    select: TableSelect,
    unused: Signal<Local, Bits<32>>,
    stamps: Stamps<32, QP, 2>,

    // Packets and requests that come.
    settles: DFF<Bit>,
    told: DFF<Settled>,
    told_index: DFF<Bits<INDEX>>,
    answers: StreamFifo<Told, 10, 11>,
    /// Counts of packets that came, of answers among them, and of answers that have had their turn.
    packets: DFF<Bits<INDEX>>,
    arrived: DFF<Bits<16>>,
    done: DFF<Bits<16>>,
    /// Count of orders that ended a frame.
    ended: DFF<Bits<INDEX>>,
    orders: StreamSkid<WriteOrder>,
    askings: StreamFifo<Asking, 8, 9>,
    tells: StreamFifo<Ack, 3, 4>,
    tells_roomy: Signal<Local, Bit>,

    lists: Table<LIST, QP>,
    list_in: Flatten<List, LIST>,
    list_out: Restore<List, LIST>,
    heads: Ram<HEAD, 1, SLOT>,
    head_in: Flatten<Head, HEAD>,
    head_out: Restore<Head, HEAD>,
    followers: Lutram<SLOT, SLOT, 1>,
    #[init(Ram::new(RamStyle::Ultra))]
    pieces: Ram<SPAN, 1, PIECE>,

    state: DFF<ReadsState>,
    event: DFF<ReadsEvent>,
    qp: DFF<Bits<QP>>,
    asking: DFF<Asking>,
    held: DFF<Ack>,
    /// An acknowledgement waits until `done` is `target`; or it has waited.
    parked: DFF<Bit>,
    target: DFF<Bits<16>>,
    unused_behind: Signal<Local, Bits<16>>,
    drained: Signal<Local, Bit>,
    reserved: Signal<Local, Bit>,
    is_answer: Signal<Local, Bit>,
    /// The next answer is known, or none has come.
    known: Signal<Local, Bit>,
    /// An order that belongs to no answer is offered; it was in the cycle before.
    passes: Signal<Local, Bit>,
    offered: DFF<Bit>,
    here: Signal<Local, Told>,
    unused_here: Signal<Local, Bit>,

    live: Signal<Local, Bit>,
    fresh: Signal<Local, Bit>,
    list: DFF<List>,
    has: DFF<Bit>,
    at: DFF<Head>,
    ahead: DFF<Bits<24>>,
    subject: Signal<Local, Bits<24>>,
    mtu: Signal<Local, Bits<13>>,
    due: DFF<Bits<13>>,
    ends: DFF<Bit>,
    fits_kind: DFF<Bit>,
    beyond: Signal<Local, Bit>,
    is_next: Signal<Local, Bit>,
    is_ack: Signal<Local, Bit>,
    is_fatal: Signal<Local, Bit>,
    is_last: Signal<Local, Bit>,

    /// The answer is written; otherwise it is reported as an implied NAK, or as [`BAD_RESPONSE`].
    good: DFF<Bit>,
    implied: DFF<Bit>,
    bad: DFF<Bit>,
    left: DFF<Bits<13>>,
    ram: DFF<Bits<STORE>>,
    room: Signal<Local, Bits<32>>,
    fits: Signal<Local, Bits<13>>,
    /// The region ends before the answer's bytes do.
    ends_early: Signal<Local, Bit>,
    span: Signal<Local, Bits<SPAN>>,
    addr: DFF<Bits<64>>,
    bytes: DFF<Bits<13>>,
    last: DFF<Bit>,
    next_piece: DFF<Bit>,
    gives_up: DFF<Bit>,
    /// An answer has had its turn, and is reported when all of its orders have come to `host_write`, in a cycle in
    /// which the next event is chosen.
    finishing: DFF<Bit>,
    finishes: Signal<Local, Bit>,
    /// The next event is chosen in this cycle.
    chooses: Signal<Local, Bit>,
}
