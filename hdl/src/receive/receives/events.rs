//! Queues what happens to queue pairs while they may have a receive in use, in the order in which it happened.
//!
//! Contract: an event is at the output 4 or more cycles later; up to two may come in a cycle, of which the breaking of
//! a queue pair was the earlier one. 4,096 cycles with events wait; `posted` waits for room, the others do not.
//! `is_broken` is the present state of the queue pair of the cycle before, whatever events are still waiting.

use super::record::*;
use crate::context::{ConfigWrite, Flags, QP, QueuePairIndex, TableSelect};
use crate::primitive::{Lutram, StreamFifo};
use drdma_emit::prelude::*;

/// State of a queue pair: ready to send.
const READY_TO_SEND: u64 = 1;
/// State of a queue pair: ready to receive.
const READY_TO_RECEIVE: u64 = 2;
/// State of attributes that leaves the receives and regions that a queue pair has in use unchanged.
const GOES_ON: u64 = 2;

/// The events of a cycle.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Together {
    /// A queue pair has entered the error state.
    pub breaks: Bit,
    /// With `breaks`: that queue pair.
    pub broken: Bits<QP>,
    /// Another event has happened, behind `breaks`.
    pub other: Bit,
    /// With `other`: the queue pair that it happened to.
    pub qp: Bits<QP>,
    /// With `other`: kind of that event.
    pub kind: GiveUpKind,
}

/// Queues events. See the [module](self).
#[derive(LogicBlock, BlockDefault)]
pub struct Events {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset; all tables are cleared after it.
    pub rst: Signal<In, Bit>,
    /// Words that the host writes into tables.
    pub cfg: Flow<In, ConfigWrite>,
    /// Queue pairs that have entered the error state.
    pub broken: Flow<In, QueuePairIndex>,
    /// Broken queue pairs to whose queues receives were posted.
    pub posted: Stream<In, QueuePairIndex>,
    /// Events, in order.
    pub event: Stream<Out, GiveUp>,
    /// The queue pair whose `is_broken` is asked for in the next cycle.
    pub next_qp: Signal<In, Bits<QP>>,
    /// The queue pair of `next_qp`, one cycle before, is broken.
    pub is_broken: Signal<Out, Bit>,
    /// Events wait.
    pub busy: Signal<Out, Bit>,

    select: TableSelect,
    /// Queue pairs that the host has made ready to receive: becoming ready to send does not mend these.
    receiving: Lutram<1, QP, 1>,
    /// The host resets a queue pair or its attributes.
    resets: Signal<Local, Bit>,
    /// A queue pair is not broken any more.
    mends: Signal<Local, Bit>,
    goes_on: Signal<Local, Bit>,
    tells: Signal<Local, Bit>,
    /// A reset, a mended queue pair or a posted one is queued as an event.
    others: Signal<Local, Bit>,
    flags: Flags<QP, 1>,
    /// Events that begin to wait in the next cycle.
    comes: DFF<Bit>,
    coming: DFF<Together>,
    waiting: StreamFifo<Together, 12, 13>,
    /// Of the oldest cycle's events, the first one has left.
    half: DFF<Bit>,
    breaks: Signal<Local, Bit>,
    splits: Signal<Local, Bit>,
}

impl Logic for Events {
    #[hdl_gen]
    fn update(&mut self) {
        // Events that follow from words that the host writes.
        self.select.valid.next = self.cfg.valid.val();
        self.select.number.next = self.cfg.table.val();
        self.select.word.next = self.cfg.word.val();
        self.receiving.read_address[0].next = self.cfg.index.val().get_bits::<QP>(0);
        self.receiving.write_enable.next = self.select.state.val();
        self.receiving.write_address.next = self.cfg.index.val().get_bits::<QP>(0);
        self.receiving.write_data.next = 0.into();
        if self.cfg.data.val() == READY_TO_RECEIVE {
            self.receiving.write_data.next = 1.into();
        }
        self.resets.next = !self.select.every.val()
            && ((self.select.state.val() && !self.cfg.data.val().any())
                || (self.select.receive_state.val() && (self.cfg.data.val() != GOES_ON)));
        self.goes_on.next =
            (self.cfg.data.val() == READY_TO_SEND) && (self.receiving.read_data[0].val() == 1);
        self.mends.next =
            self.select.state.val() && !self.select.every.val() && !self.goes_on.val();
        self.tells.next = self.resets.val() || self.mends.val();

        // Flags of the queue pairs that are broken.
        self.flags.set_valid.next = self.broken.valid.val();
        self.flags.set_index.next = self.broken.qp.val();
        self.flags.clear_valid.next =
            self.select.state.val() && (self.select.every.val() || !self.goes_on.val());
        self.flags.clear_index.next = self.cfg.index.val().get_bits::<QP>(0);
        self.flags.wipe_valid.next = self.select.every.val();
        self.flags.ahead[0].next = self.next_qp.val();
        self.is_broken.next = self.flags.flag[0].val();

        // Events wait.
        self.posted.ready.next =
            self.waiting.input.ready.val() && !self.comes.q.val() && !self.tells.val();
        self.others.next = self.tells.val() || (self.posted.valid.val() && self.posted.ready.val());
        self.comes.d.next = self.broken.valid.val() || self.others.val();
        self.coming.d.next.breaks = self.broken.valid.val();
        self.coming.d.next.broken = self.broken.qp.val();
        self.coming.d.next.other = self.others.val();
        self.coming.d.next.qp = self.posted.qp.val();
        self.coming.d.next.kind = GiveUpKind::Posted;
        if self.tells.val() {
            self.coming.d.next.qp = self.cfg.index.val().get_bits::<QP>(0);
            self.coming.d.next.kind = GiveUpKind::Ready;
        }
        if self.resets.val() {
            self.coming.d.next.kind = GiveUpKind::Reset;
        }
        self.waiting.input.valid.next = self.comes.q.val();
        self.waiting.input.data.next = self.coming.q.val();

        // The events of a cycle leave one by one.
        self.breaks.next = self.waiting.output.data.val().breaks && !self.half.q.val();
        self.splits.next = self.breaks.val() && self.waiting.output.data.val().other;
        self.event.valid.next = self.waiting.output.valid.val();
        self.event.qp.next = self.waiting.output.data.val().qp;
        self.event.kind.next = self.waiting.output.data.val().kind;
        if self.breaks.val() {
            self.event.qp.next = self.waiting.output.data.val().broken;
            self.event.kind.next = GiveUpKind::Broken;
        }
        self.waiting.output.ready.next = self.event.ready.val() && !self.splits.val();
        if self.waiting.output.valid.val() && self.event.ready.val() {
            self.half.d.next = self.splits.val();
        }
        self.busy.next = self.waiting.output.valid.val() || self.comes.q.val();

        if self.rst.val() {
            self.half.d.next = false;
            self.comes.d.next = false;
        }
    }
}
