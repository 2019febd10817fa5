//! Chooses which replies wait for others.

use super::{Broken, Left, NUMBER, Waiting};
use crate::context::{QP, Table};
use crate::receive::record::Answer;
use crate::send::answers::Acknowledgement;
use drdma_emit::prelude::*;

/// Bits of a stamp and a flag that says whether there is one.
const BROKEN: usize = 33;

/// Gives READs and atomics a place in the queue of replies, and whatever follows one of the same queue pair a place
/// behind it. Acknowledgements of other queue pairs pass. Replies of a queue pair whose READ or atomic got a NAK are
/// dropped.
///
/// Contract: a reply every 2 cycles, at an output 2 cycles after it was accepted. One that waits leaves when the
/// acknowledgements before it have left.
///
/// # Inputs
/// `clk`, `rst`; stream `reply`; `left`, `broken`; `clear_valid`, `clear_qp`: clears a table entry, and nothing else
/// may come meanwhile.
///
/// # Outputs
/// Streams `acknowledgement`, `waiting`; `busy`: a reply is held.
#[derive(LogicBlock, BlockDefault)]
pub struct Turns {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// The entry `clear_qp` of all tables is cleared.
    pub clear_valid: Signal<In, Bit>,
    /// Queue pair of the entry that is cleared.
    pub clear_qp: Signal<In, Bits<QP>>,
    /// Replies, in their order.
    pub reply: Stream<In, Answer>,
    /// Acknowledgements that wait for no READ or atomic.
    pub acknowledgement: Stream<Out, Acknowledgement>,
    /// Replies that wait for their turn.
    pub waiting: Stream<Out, Waiting>,
    /// A reply that waited has left.
    pub left: Flow<In, Left>,
    /// A queue pair, with the stamp of its entry, whose READ or atomic got a NAK.
    pub broken: Flow<In, Broken>,
    /// A reply is held in this block.
    pub busy: Signal<Out, Bit>,

    full: DFF<Bit>,
    held: DFF<Answer>,
    next_qp: Signal<Local, Bits<QP>>,
    /// Of each queue pair: the number of the last reply that waits or waited, and of the last one that has left.
    entered: Table<NUMBER, QP>,
    gone: Table<NUMBER, QP>,
    /// Of each queue pair: the stamp of the entry with which a NAK left.
    stamps: Table<BROKEN, QP>,
    waits: Signal<Local, Bit>,
    dead: Signal<Local, Bit>,
    passes: Signal<Local, Bit>,
    stays: Signal<Local, Bit>,
    leaves: Signal<Local, Bit>,
    offered: DFF<Bit>,
    offer: DFF<Acknowledgement>,
}

impl Logic for Turns {
    #[hdl_gen]
    fn update(&mut self) {
        self.waits.next = self.held.q.val().reads
            || self.held.q.val().atomic
            || (self.entered.read_data.val() != self.gone.read_data.val());
        // The slot of an atomic is given back where the atomic is dropped.
        self.dead.next = self.stamps.read_data.val().get_bit(32)
            && !self.held.q.val().atomic
            && (self.stamps.read_data.val().get_bits::<32>(0) == self.held.q.val().stamp);

        // An acknowledgement that is on offer stays on offer.
        self.stays.next =
            self.full.q.val() && !self.dead.val() && self.waits.val() && !self.offered.q.val();
        self.passes.next =
            self.full.q.val() && !self.dead.val() && !self.waits.val() && !self.offered.q.val();
        self.waiting.valid.next = self.stays.val();
        self.held.q.share(&mut self.waiting);
        self.waiting.number.next = self.entered.read_data.val() + 1;
        self.leaves.next = self.passes.val()
            || (self.full.q.val() && self.dead.val())
            || (self.stays.val() && self.waiting.ready.val());
        if self.acknowledgement.ready.val() {
            self.offered.d.next = false;
        }
        if self.passes.val() {
            self.offered.d.next = true;
            self.held.q.share(&mut self.offer.d);
        }
        self.acknowledgement.valid.next = self.offered.q.val();
        self.acknowledgement.next = self.offer.q.val();

        self.reply.ready.next = !self.full.q.val();
        self.next_qp.next = self.held.q.val().qp;
        if self.leaves.val() {
            self.full.d.next = false;
        }
        if !self.full.q.val() {
            self.full.d.next = self.reply.valid.val();
            self.held.d.next = self.reply.val();
            self.next_qp.next = self.reply.qp.val();
        }
        self.busy.next = self.full.q.val() || self.offered.q.val();

        self.entered.ahead.next = self.next_qp.val();
        self.entered.write_enable.next =
            self.clear_valid.val() || (self.stays.val() && self.waiting.ready.val());
        self.entered.write_address.next = self.held.q.val().qp;
        self.entered.write_data.next = self.waiting.number.val();
        self.gone.ahead.next = self.next_qp.val();
        self.gone.write_enable.next = self.clear_valid.val() || self.left.valid.val();
        self.gone.write_address.next = self.left.qp.val();
        self.gone.write_data.next = self.left.number.val();
        self.stamps.ahead.next = self.next_qp.val();
        self.stamps.write_enable.next = self.clear_valid.val() || self.broken.valid.val();
        self.stamps.write_address.next = self.broken.qp.val();
        self.stamps.write_data.next =
            bit_cast::<BROKEN, 32>(self.broken.stamp.val()) | (bits::<BROKEN>(1) << 32);
        if self.clear_valid.val() {
            self.entered.write_address.next = self.clear_qp.val();
            self.entered.write_data.next = 0.into();
            self.gone.write_address.next = self.clear_qp.val();
            self.gone.write_data.next = 0.into();
            self.stamps.write_address.next = self.clear_qp.val();
            self.stamps.write_data.next = 0.into();
        }
        if self.rst.val() {
            self.full.d.next = false;
            self.offered.d.next = false;
        }
    }
}
