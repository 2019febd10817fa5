//! Takes what peers answer to the READs and atomics of this card into local memory, and reports it to the keeper.
//!
//! Stands behind the parser, between the receive queues and `host_write`, and between the acknowledgements and the
//! keeper. It
//! keeps, for each queue pair, a list of the READs and atomics that were given to the keeper and have no answer, the
//! oldest first, and of each of them how much of the answer has come. An answer must be the next packet for the oldest
//! one, or it is not written.
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
//! an order
//! without bytes, which ends its frame. In its place come orders for its bytes, the last of which ends the frame. An
//! atomic's value stands in network order in the answer's headers, and is written byte by byte, the last one first.
//!
//! The keeper gets each packet of an answer as an acknowledgement of its number, when the packet's last order has come
//! to `host_write`, which lets no
//! completion overtake it. An acknowledgement beyond an answer that has not come, or an answer beyond it, is an implied
//! NAK, and reported as NAK 0x60 of
//! the number that is missing (IBTA 1.4 section 9.7.5.1). But an acknowledgement, which is faster than an answer, waits
//! first until all answers that came before
//! it have had their turn. An answer of a wrong length is reported as [`BAD_RESPONSE`]. NAKs with reserved codes are
//! dropped.
//!
//! A list is believed only as long as its queue pair's entry is as it was, and the keeper has not closed the queue
//! pair; answers that
//! come later are not written. A queue pair in the error state for another reason still gets the answers that it waits
//! for.
//!
//! Contract: other orders pass in their own cycle, behind a register. A READ or an atomic is noted in 2 cycles. An
//! acknowledgement takes 2 cycles for a queue pair without
//! such requests, and 4 for others. A packet of an answer takes 6 cycles, and 2 for each further region that it
//! reaches; the answer to an atomic takes 20. May stall at any time, except `asked` (256 wait) and `settled` (1,024).
//! Lists are cleared in the cycles after a reset that clear all tables.

use crate::context::{ConfigWrite, QP, Stamps, Table, TableSelect};
use crate::primitive::{Flatten, Lutram, Ram, RamStyle, Restore, StreamFifo, StreamSkid};
use crate::receive::record::{Ack, STORE, Settled, WriteOrder};
use crate::request::PieceWrite;
use drdma_abi::roce::{operation, syndrome};
use drdma_emit::prelude::*;

#[cfg(test)]
mod tests;

/// A syndrome that no peer sends. It stands for an answer to a READ that is not what was asked for.
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
    /// Where the next byte goes: number of the region, and byte in it.
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
    /// No event is at hand.
    Idle,
    /// The queue pair's list has been read.
    Look,
    /// The list's oldest READ or atomic has been read.
    Head,
    /// It is known what to do.
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
    /// Where the bytes of a READ's answer go; written before `asked`.
    pub piece: Flow<In, PieceWrite>,

    /// Packets that were right.
    pub settled: Flow<In, Settled>,
    /// Orders of the receive queues: one with `frame_end` for each of these packets, in order.
    pub came: Stream<In, WriteOrder>,
    /// The same orders, and those for the bytes of answers.
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

    // What comes.
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
    /// which
    /// the next event is chosen.
    finishing: DFF<Bit>,
    finishes: Signal<Local, Bit>,
    /// The next event is chosen in this cycle.
    chooses: Signal<Local, Bit>,
}

impl Logic for Reads {
    #[hdl_gen]
    fn update(&mut self) {
        // What the host writes.
        self.unused.next = self.cfg.data.val();
        self.select.valid.next = self.cfg.valid.val();
        self.select.number.next = self.cfg.table.val();
        self.select.word.next = self.cfg.word.val();
        self.stamps.written.next = self.select.queue_pair.val();
        self.stamps.index.next = self.cfg.index.val().get_bits::<QP>(0);

        // Packets that come: answers wait for the orders of their frames.
        self.settles.d.next = self.settled.valid.val() && self.settled.answers.val();
        self.told.d.next = self.settled.val();
        self.told_index.d.next = self.packets.q.val();
        if self.settled.valid.val() {
            self.packets.d.next = self.packets.q.val() + 1;
            if self.settled.answers.val() {
                self.arrived.d.next = self.arrived.q.val() + 1;
            }
        }
        self.stamps.ahead[1].next = self.settled.qp.val();
        self.answers.input.valid.next = self.settles.q.val();
        self.answers.input.data.next.index = self.told_index.q.val();
        self.answers.input.data.next.stamp = self.stamps.stamp[1].val();
        self.answers.input.data.next.answer = self.told.q.val();
        self.answers.output.ready.next = false;
        self.here.next = self.answers.output.data.val();
        self.unused_here.next = self.here.val().answer.answers;
        self.askings.input.valid.next = self.asked.valid.val();
        self.askings.input.data.next = self.asked.val();
        self.askings.output.ready.next = false;
        self.pieces.write_lanes.next = 0.into();
        if self.piece.valid.val() {
            self.pieces.write_lanes.next = 1.into();
        }
        self.pieces.write_address.next = (bit_cast::<PIECE, SLOT>(self.piece.slot.val()) << 4)
            | bit_cast::<PIECE, 4>(self.piece.index.val());
        self.pieces.write_data.next = bit_cast::<SPAN, 64>(self.piece.addr.val())
            | (bit_cast::<SPAN, 32>(self.piece.len.val()) << 64);

        // Orders: those that belong to no answer pass, once this is known.
        self.known.next = self.answers.output.valid.val() || !self.answers.count.val().any();
        self.came.join(&mut self.orders.input);
        self.is_answer.next = self.answers.output.valid.val()
            && self.orders.output.data.val().frame_end
            && (self.here.val().index == self.ended.q.val());
        self.order.next = self.orders.output.data.val();
        // An order that is on offer stays on offer, whatever becomes known.
        self.passes.next = self.orders.output.valid.val()
            && (self.offered.q.val() || (self.known.val() && !self.is_answer.val()));
        self.offered.d.next = self.passes.val() && !self.order.ready.val();
        self.order.valid.next = self.passes.val();
        self.orders.output.ready.next = self.order.ready.val() && self.passes.val();

        // The keeper.
        // An answer that finishes may take a place in the cycle in which this is computed.
        self.tells_roomy.next = self.tells.free.val() >= 3;
        self.tells.output.join(&mut self.response);
        self.tells.input.valid.next = false;
        self.tells.input.data.next = self.held.q.val();
        self.ack.ready.next = false;
        self.unused_behind.next = self.done.q.val() - self.target.q.val();
        self.drained.next = !self.unused_behind.val().get_bit(15);
        self.reserved.next = (self.ack.syndrome.val().get_bits::<2>(5) == 2)
            || self.ack.syndrome.val().get_bit(7)
            || ((self.ack.syndrome.val().get_bits::<2>(5) == 3)
                && self.ack.syndrome.val().get_bits::<3>(2).any());

        // What is kept of the queue pair at hand.
        self.list_out.bits.next = self.lists.read_data.val();
        self.fresh.next = !self.closed.val();
        self.live.next = self.list_out.record.val().used
            && (self.list_out.record.val().stamp == self.stamps.stamp[0].val())
            && self.fresh.val();
        self.lists.write_enable.next = false;
        self.lists.write_address.next = self.qp.q.val();
        self.list_in.record.next = self.list.q.val();
        self.heads.read_enable.next = true;
        self.heads.read_address.next = self.list_out.record.val().head;
        self.head_out.bits.next = self.heads.read_data.val();
        self.heads.write_lanes.next = 0.into();
        self.heads.write_address.next = self.list.q.val().head;
        self.head_in.record.next = self.at.q.val();
        self.followers.read_address[0].next = self.list.q.val().head;
        self.followers.write_enable.next = false;
        self.followers.write_address.next = self.list_out.record.val().tail;
        self.followers.write_data.next = self.asking.q.val().slot;

        // The oldest READ or atomic of the list.
        self.subject.next = self.held.q.val().psn;
        if self.event.q.val() == ReadsEvent::Answer {
            self.subject.next = self.here.val().answer.psn;
        }
        self.mtu.next = bit_cast::<13, 1>(1.into()) << self.head_out.record.val().log_mtu;
        self.beyond.next = !self.ahead.q.val().get_bit(23);
        self.is_next.next = !self.ahead.q.val().any();
        self.is_ack.next = !self.held.q.val().syndrome.get_bits::<2>(5).any();
        self.is_fatal.next = (self.held.q.val().syndrome.get_bits::<2>(5) == 3)
            && self.held.q.val().syndrome.get_bits::<2>(0).any();
        self.is_last.next = (self.here.val().answer.operation == READ_LAST)
            || (self.here.val().answer.operation == READ_ONLY)
            || self.at.q.val().atomic;

        // The region where the next bytes go.
        self.span.next = self.pieces.read_data.val();
        self.room.next = self.span.val().get_bits::<32>(64) - self.at.q.val().into;
        self.fits.next = self.left.q.val();
        self.ends_early.next = self.room.val() < bit_cast::<32, 13>(self.left.q.val());
        if self.ends_early.val() {
            self.fits.next = self.room.val().get_bits::<13>(0);
        }
        if self.at.q.val().atomic && self.left.q.val().any() {
            self.fits.next = 1.into();
        }
        self.gives_up.d.next = self.good.q.val() && !self.live.val();

        // An answer has had its turn.
        self.finishes.next = self.finishing.q.val() && (!self.good.q.val() || self.passed.val());
        if self.finishes.val() {
            self.tells.input.valid.next =
                self.good.q.val() || self.implied.q.val() || self.bad.q.val();
            self.tells.input.data.next.qp = self.qp.q.val();
            self.tells.input.data.next.psn = self.at.q.val().expected;
            self.tells.input.data.next.syndrome = ACK.into();
            if self.implied.q.val() {
                self.tells.input.data.next.syndrome = NAK_PSN.into();
            }
            if self.bad.q.val() {
                self.tells.input.data.next.syndrome = BAD.into();
            }
            if self.good.q.val() && self.live.val() {
                self.heads.write_lanes.next = 1.into();
                self.head_in.record.next.expected = self.at.q.val().expected + 1;
                if self.ends.q.val() {
                    self.lists.write_enable.next = true;
                    self.list_in.record.next = self.list_out.record.val();
                    self.list_in.record.next.head = self.followers.read_data[0].val();
                    self.list_in.record.next.used =
                        self.list_out.record.val().head != self.list_out.record.val().tail;
                }
            }
            self.done.d.next = self.done.q.val() + 1;
            self.finishing.d.next = false;
        }
        self.chooses.next = !self.finishing.q.val() || self.finishes.val();

        match self.state.q.val() {
            ReadsState::Idle => {
                if self.chooses.val() {
                    self.good.d.next = false;
                    self.implied.d.next = false;
                    self.bad.d.next = false;
                    if self.askings.output.valid.val() {
                        self.askings.output.ready.next = true;
                        self.asking.d.next = self.askings.output.data.val();
                        self.qp.d.next = self.askings.output.data.val().qp;
                        self.event.d.next = ReadsEvent::Asking;
                        self.state.d.next = ReadsState::Look;
                    } else if self.orders.output.valid.val()
                        && self.is_answer.val()
                        && self.tells_roomy.val()
                    {
                        self.qp.d.next = self.here.val().answer.qp;
                        self.event.d.next = ReadsEvent::Answer;
                        self.state.d.next = ReadsState::Look;
                    } else if self.parked.q.val() {
                        self.qp.d.next = self.held.q.val().qp;
                        if self.drained.val() && self.tells_roomy.val() {
                            self.event.d.next = ReadsEvent::Acknowledgement;
                            self.state.d.next = ReadsState::Look;
                        }
                    } else if self.ack.valid.val()
                        && self.tells_roomy.val()
                        && !self.finishing.q.val()
                    {
                        // `ready` must not depend on `passed`, which comes from another block.
                        self.ack.ready.next = true;
                        self.held.d.next = self.ack.val();
                        self.qp.d.next = self.ack.qp.val();
                        if !self.reserved.val() {
                            self.event.d.next = ReadsEvent::Acknowledgement;
                            self.state.d.next = ReadsState::Look;
                        }
                    }
                }
            }
            ReadsState::Look => {
                self.list.d.next = self.list_out.record.val();
                self.has.d.next = self.live.val();
                self.state.d.next = ReadsState::Head;
                if self.event.q.val() == ReadsEvent::Asking {
                    self.state.d.next = ReadsState::Idle;
                    self.heads.write_address.next = self.asking.q.val().slot;
                    self.head_in.record.next.expected = self.asking.q.val().psn;
                    self.head_in.record.next.last = self.asking.q.val().last;
                    self.head_in.record.next.left = self.asking.q.val().len;
                    self.head_in.record.next.piece = 0.into();
                    self.head_in.record.next.into = 0.into();
                    self.head_in.record.next.atomic = self.asking.q.val().atomic;
                    self.head_in.record.next.log_mtu = self.asking.q.val().log_mtu;
                    self.list_in.record.next.used = true;
                    self.list_in.record.next.head = self.asking.q.val().slot;
                    self.list_in.record.next.tail = self.asking.q.val().slot;
                    self.list_in.record.next.stamp = self.asking.q.val().stamp;
                    if self.live.val() {
                        self.list_in.record.next.head = self.list_out.record.val().head;
                    }
                    if self.fresh.val() && (self.asking.q.val().stamp == self.stamps.stamp[0].val())
                    {
                        self.heads.write_lanes.next = 1.into();
                        self.lists.write_enable.next = true;
                        self.followers.write_enable.next = self.live.val();
                    }
                } else if (self.event.q.val() == ReadsEvent::Acknowledgement) && !self.live.val() {
                    self.tells.input.valid.next = true;
                    self.parked.d.next = false;
                    self.state.d.next = ReadsState::Idle;
                }
            }
            ReadsState::Head => {
                self.at.d.next = self.head_out.record.val();
                self.ahead.d.next = self.subject.val() - self.head_out.record.val().expected;
                self.due.d.next = self.mtu.val();
                if self.head_out.record.val().left < bit_cast::<32, 13>(self.mtu.val()) {
                    self.due.d.next = self.head_out.record.val().left.get_bits::<13>(0);
                }
                if self.head_out.record.val().atomic {
                    self.due.d.next = 0.into();
                }
                self.ends.d.next = self.subject.val() == self.head_out.record.val().last;
                self.fits_kind.d.next = self.head_out.record.val().atomic
                    == (self.here.val().answer.operation == ATOMIC);
                self.state.d.next = ReadsState::Judge;
            }
            ReadsState::Judge => {
                self.left.d.next = 0.into();
                self.ram.d.next = self.here.val().answer.ram;
                if self.at.q.val().atomic {
                    // From the least significant byte on, which is the last one before the payload.
                    self.ram.d.next = self.here.val().answer.ram - 1;
                }
                if self.event.q.val() == ReadsEvent::Answer {
                    self.state.d.next = ReadsState::Cut;
                    if !self.has.q.val()
                        || !self.beyond.val()
                        || !self.fits_kind.q.val()
                        || (self.here.val().stamp != self.list.q.val().stamp)
                    {
                        // An answer that nobody waits for.
                        self.good.d.next = false;
                    } else if !self.is_next.val() {
                        self.implied.d.next = true;
                    } else if (self.here.val().answer.bytes != self.due.q.val())
                        || (self.is_last.val() != self.ends.q.val())
                    {
                        self.bad.d.next = true;
                    } else {
                        self.good.d.next = true;
                        self.left.d.next = self.due.q.val();
                        if self.at.q.val().atomic {
                            self.left.d.next = 8.into();
                        }
                    }
                } else {
                    self.state.d.next = ReadsState::Idle;
                    if !self.beyond.val() || (self.is_next.val() && !self.is_ack.val()) {
                        self.tells.input.valid.next = true;
                        self.parked.d.next = false;
                    } else if !self.parked.q.val() {
                        self.parked.d.next = true;
                        self.target.d.next = self.arrived.q.val();
                    } else {
                        self.tells.input.valid.next = true;
                        self.tells.input.data.next.psn = self.at.q.val().expected;
                        if !self.is_fatal.val() {
                            self.tells.input.data.next.syndrome = NAK_PSN.into();
                        }
                        self.parked.d.next = false;
                    }
                }
            }
            ReadsState::Cut => {
                self.addr.d.next =
                    self.span.val().get_bits::<64>(0) + bit_cast::<64, 32>(self.at.q.val().into);
                self.bytes.d.next = self.fits.val();
                self.last.d.next = self.fits.val() == self.left.q.val();
                self.next_piece.d.next = bit_cast::<32, 13>(self.fits.val()) == self.room.val();
                self.left.d.next = 0.into();
                if self.ends_early.val() {
                    self.left.d.next = self.left.q.val() - self.room.val().get_bits::<13>(0);
                }
                if self.at.q.val().atomic && self.left.q.val().any() {
                    self.left.d.next = self.left.q.val() - 1;
                }
                self.state.d.next = ReadsState::Offer;
            }
            ReadsState::Offer => {
                self.order.valid.next = true;
                if self.order.ready.val() {
                    self.ram.d.next = self.ram.q.val() + bit_cast::<STORE, 13>(self.bytes.q.val());
                    if self.at.q.val().atomic {
                        self.ram.d.next = self.ram.q.val() - 1;
                    }
                    if self.good.q.val() {
                        self.at.d.next.left =
                            self.at.q.val().left - bit_cast::<32, 13>(self.bytes.q.val());
                        self.at.d.next.into =
                            self.at.q.val().into + bit_cast::<32, 13>(self.bytes.q.val());
                        if self.next_piece.q.val() {
                            self.at.d.next.piece = self.at.q.val().piece + 1;
                            self.at.d.next.into = 0.into();
                        }
                    }
                    self.state.d.next = ReadsState::Cut;
                    if self.last.q.val() || self.gives_up.q.val() {
                        self.good.d.next = self.good.q.val() && !self.gives_up.q.val();
                        self.orders.output.ready.next = true;
                        self.answers.output.ready.next = true;
                        self.finishing.d.next = true;
                        self.state.d.next = ReadsState::Idle;
                    }
                }
            }
        }

        // The order for an answer's bytes.
        if self.state.q.val() == ReadsState::Offer {
            self.order.addr.next = self.addr.q.val();
            self.order.ram.next = self.ram.q.val();
            self.order.bytes.next = self.bytes.q.val();
            self.order.frame_end.next = self.last.q.val();
            if self.gives_up.q.val() {
                self.order.bytes.next = 0.into();
                self.order.frame_end.next = true;
            }
        }
        if self.orders.output.valid.val()
            && self.orders.output.ready.val()
            && self.orders.output.data.val().frame_end
        {
            self.ended.d.next = self.ended.q.val() + 1;
        }

        self.lists.write_data.next = self.list_in.bits.val();
        if self.select.every.val() {
            self.lists.write_enable.next = true;
            self.lists.write_address.next = self.cfg.index.val().get_bits::<QP>(0);
            self.lists.write_data.next = 0.into();
        }
        self.heads.write_data.next = self.head_in.bits.val();
        self.pieces.read_enable.next = true;
        self.pieces.read_address.next = (bit_cast::<PIECE, SLOT>(self.list.q.val().head) << 4)
            | bit_cast::<PIECE, 4>(self.at.d.val().piece);
        self.busy.next = self.answers.output.valid.val()
            || (self.state.q.val() != ReadsState::Idle)
            || self.finishing.q.val()
            || self.askings.output.valid.val()
            || self.settles.q.val();

        if self.rst.val() {
            self.state.d.next = ReadsState::Idle;
            self.finishing.d.next = false;
            self.settles.d.next = false;
            self.offered.d.next = false;
            self.packets.d.next = 0.into();
            self.ended.d.next = 0.into();
            self.arrived.d.next = 0.into();
            self.done.d.next = 0.into();
            self.parked.d.next = false;
        }

        // The tables are addressed for the next cycle.
        self.lists.ahead.next = self.qp.d.val();
        self.stamps.ahead[0].next = self.qp.d.val();
        self.closed_next.next = self.qp.d.val();
    }
}
