//! Queues what the responder answers until [`replies`](super::replies) takes it: ACKs and NAKs that wait for their turn
//! on the wire, READs and atomics that wait to be answered.
//!
//! Answers leave in the order in which they came, with one exception: an ACK that still waits gives way to a newer one
//! of its queue pair, which gets its place (docs/semantics.md, "Receiving"). An ACK covers all before it, so nothing is
//! lost; and as the place is kept, a queue pair that is acknowledged all the time waits no longer than the others.
//! NAKs, READs and atomics never give way, and no ACK passes one: it gets a place behind.
//!
//! Contract: an answer every 3 cycles; 2 replies every 3 cycles, the first one 5 cycles after its answer. There are
//! 4,096 places; while all are taken, the next answer waits. Answers that have left their places, up to two of them, do
//! not give way any more. Every reply has the stamp that its queue pair's entry had when the packet was checked; the
//! packetizer drops the reply if the host has written to the entry since.
//!
//! Nothing is cleared after a reset: the table of the queue pairs' last answers is believed only if the place that it
//! names is taken, and by that queue pair.

use crate::context::{QP, Table};
use crate::primitive::{Flatten, Ram, RamStyle, Restore, StreamStage};
use crate::receive::record::Answer;
use drdma_emit::prelude::*;

#[cfg(test)]
mod tests;

/// Bits of the number of a place.
const PLACE: usize = 12;
/// Bits of the count of places that are taken.
const TAKEN: usize = PLACE + 1;
/// Bits of a place's key: queue pair, and whether an ACK has the place.
const KEY: usize = QP + 1;
/// Bits of an [`Answer`].
const ANSWER: usize = 307 + QP;

/// An ACK or a NAK, with the stamp of the queue pair's entry that it belongs to.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Acknowledgement {
    /// The queue pair that sends it.
    pub qp: Bits<QP>,
    /// The stamp of the queue pair's entry when the packet was checked.
    pub stamp: Bits<32>,
    /// Syndrome of the AETH.
    pub syndrome: Bits<8>,
    /// Sequence number.
    pub psn: Bits<24>,
    /// Messages completed so far, modulo 2^24, for the AETH.
    pub msn: Bits<24>,
}

/// Steps in which the current answer is handled.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum AnswersState {
    /// Accepts an answer.
    Accept,
    /// Reads the place of the queue pair's last answer.
    Find,
    /// Writes the answer to that place or to a new one.
    Place,
}

/// Queues answers. See the [module](self).
#[derive(LogicBlock, BlockDefault)]
pub struct Answers {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Answers of the responder.
    pub answer: Stream<In, Answer>,
    /// Answers for `replies`, in the order in which they leave.
    pub reply: Stream<Out, Answer>,

    // The answer that looks for a place.
    state: DFF<AnswersState>,
    held: DFF<Answer>,
    is_ack: Signal<Local, Bit>,
    key: Signal<Local, Bits<KEY>>,
    /// Of each queue pair: the place of its last answer, which may have left.
    lasts: Table<PLACE, QP>,
    last: DFF<Bits<PLACE>>,
    /// Of each place: the queue pair that has it, or had it last.
    keys: Table<KEY, PLACE>,
    behind: Signal<Local, Bits<PLACE>>,
    /// The place of the queue pair's last answer is taken; maybe by another queue pair by now.
    waits: DFF<Bit>,
    gives_way: Signal<Local, Bit>,
    place: Signal<Local, Bits<PLACE>>,

    // The places: those from `head` up to `tail` are taken.
    head: DFF<Bits<PLACE>>,
    tail: DFF<Bits<PLACE>>,
    taken: DFF<Bits<TAKEN>>,
    going: Flatten<Answer, ANSWER>,
    #[init(Ram::new(RamStyle::Ultra))]
    places: Ram<ANSWER, 1, PLACE>,
    coming: Restore<Answer, ANSWER>,

    // The oldest answer leaves its place.
    fetch: Signal<Local, Bit>,
    fetched: DFF<Bit>,
    stage: StreamStage<Answer>,
}

impl Logic for Answers {
    #[hdl_gen]
    fn update(&mut self) {
        // Accepting an answer: the place of its queue pair's last answer is looked up.
        self.lasts.ahead.next = self.answer.qp.val();
        self.answer.ready.next =
            (self.state.q.val() == AnswersState::Accept) && !self.taken.q.val().get_bit(PLACE);
        // A cycle later: who has that place, and whether it is taken.
        self.keys.ahead.next = self.lasts.read_data.val();
        self.behind.next = self.lasts.read_data.val() - self.head.q.val();
        self.is_ack.next = !self.held.q.val().syndrome.get_bits::<2>(5).any()
            && !self.held.q.val().reads
            && !self.held.q.val().atomic;
        self.key.next = bit_cast::<KEY, QP>(self.held.q.val().qp);
        if self.is_ack.val() {
            self.key.next =
                bit_cast::<KEY, QP>(self.held.q.val().qp) | (bits::<KEY>(1) << QP as u64);
        }
        self.gives_way.next = self.is_ack.val()
            && (self.keys.read_data.val() == self.key.val())
            && self.waits.q.val();
        self.place.next = self.tail.q.val();
        if self.gives_way.val() {
            self.place.next = self.last.q.val();
        }

        self.going.record.next = self.held.q.val();
        self.places.write_lanes.next = 0.into();
        self.places.write_address.next = self.place.val();
        self.places.write_data.next = self.going.bits.val();
        self.keys.write_enable.next = false;
        self.keys.write_address.next = self.place.val();
        self.keys.write_data.next = self.key.val();
        self.lasts.write_enable.next = false;
        self.lasts.write_address.next = self.held.q.val().qp;
        self.lasts.write_data.next = self.place.val();

        // No answer leaves its place in the cycle in which one is written: it could be the one that gives way.
        self.fetch.next = self.taken.q.val().any()
            && (self.state.q.val() != AnswersState::Place)
            && (!self.fetched.q.val() || self.stage.input.ready.val());
        self.places.read_enable.next = self.fetch.val();
        self.places.read_address.next = self.head.q.val();
        if self.stage.input.ready.val() {
            self.fetched.d.next = false;
        }
        if self.fetch.val() {
            self.fetched.d.next = true;
            self.head.d.next = self.head.q.val() + 1;
            self.taken.d.next = self.taken.q.val() - 1;
        }
        self.coming.bits.next = self.places.read_data.val();
        self.stage.input.valid.next = self.fetched.q.val();
        self.stage.input.data.next = self.coming.record.val();
        self.stage.output.join(&mut self.reply);

        match self.state.q.val() {
            AnswersState::Accept => {
                self.held.d.next = self.answer.val();
                if self.answer.valid.val() && self.answer.ready.val() {
                    self.state.d.next = AnswersState::Find;
                }
            }
            AnswersState::Find => {
                self.last.d.next = self.lasts.read_data.val();
                // The answer in that place may leave in this cycle.
                self.waits.d.next = (bit_cast::<TAKEN, PLACE>(self.behind.val())
                    < self.taken.q.val())
                    && (self.behind.val().any() || !self.fetch.val());
                self.state.d.next = AnswersState::Place;
            }
            AnswersState::Place => {
                self.places.write_lanes.next = 1.into();
                self.keys.write_enable.next = true;
                self.lasts.write_enable.next = true;
                if !self.gives_way.val() {
                    self.tail.d.next = self.tail.q.val() + 1;
                    self.taken.d.next = self.taken.q.val() + 1;
                }
                self.state.d.next = AnswersState::Accept;
            }
        }

        if self.rst.val() {
            self.state.d.next = AnswersState::Accept;
            self.head.d.next = 0.into();
            self.tail.d.next = 0.into();
            self.taken.d.next = 0.into();
            self.fetched.d.next = false;
        }
    }
}
