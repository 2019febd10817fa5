//! Buffers ACKs and NAKs that have come for the sending side, which takes longer over one than the wire.
//!
//! Contract: takes one in each cycle while `roomy`, which does not count up to [`SLACK`] later ones. The first is at
//! the output 5 cycles later. They leave in order, with one exception: an ACK takes the place of its queue pair's ACK
//! that still waits, and the higher sequence number counts. An ACK covers all before it, so nothing is lost by that. A
//! NAK waits until what came before it for its queue pair has left; whatever comes behind a NAK of the same queue pair
//! waits until the NAK has left, and all behind a waiting one wait as well. At most one waits for each queue pair, so
//! that there is always room for the next ACK.
//!
//! Each belongs to the entry that its queue pair had when it came: it is dropped if the host has written to the entry
//! since.

use crate::context::{ConfigWrite, QP, Stamps, Table, TableSelect};
use crate::primitive::{Flatten, Restore, StreamFifo, StreamSkid};
use crate::receive::record::Ack;
use drdma_emit::prelude::*;

#[cfg(test)]
mod tests;

/// ACKs and NAKs that may come after `roomy` has ended.
const SLACK: u64 = 16;
/// Binary logarithm of the ACKs and NAKs that wait for those before them, and bits of their count.
const ARRIVING: usize = 6;
const ARRIVING_COUNT: usize = ARRIVING + 1;
/// Bits of a count of queue pairs.
const TURNS: usize = QP + 1;
/// Bits of a [`Waiting`].
const WAITING: usize = 24 + 8 + 32;

/// An ACK or a NAK that waits for its queue pair's turn.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
struct Waiting {
    psn: Bits<24>,
    syndrome: Bits<8>,
    stamp: Bits<32>,
}

/// The turn of a queue pair.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
struct Turn {
    qp: Bits<QP>,
    /// Value of the queue pair's bit in `given` from this turn on.
    round: Bits<1>,
}

/// Buffers ACKs and NAKs. See the [module](self).
#[derive(LogicBlock, BlockDefault)]
pub struct Acks {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Words that the host writes into tables.
    pub cfg: Flow<In, ConfigWrite>,
    /// An ACK or a NAK that has come.
    pub come: Flow<In, Ack>,
    /// There is room for [`SLACK`] more.
    pub roomy: Signal<Out, Bit>,
    /// ACKs and NAKs for the sending side.
    pub ack: Stream<Out, Ack>,

    select: TableSelect,
    unused: Signal<Local, Bits<32>>,
    #[init(StreamFifo::prompt())]
    arriving: StreamFifo<Ack, ARRIVING, ARRIVING_COUNT>,
    room: DFF<Bit>,
    stamps: Stamps<32, QP, 2>,

    /// `held` is an ACK or a NAK whose queue pair is looked up.
    full: DFF<Bit>,
    held: DFF<Ack>,
    next: Signal<Local, Bits<QP>>,
    accepts: Signal<Local, Bit>,
    /// Of each queue pair two bits, which differ while something of it waits: the first changes when something gets a
    /// place, the second when that has left.
    asked: Table<1, QP>,
    given: Table<1, QP>,
    /// ACK or NAK that waits of each queue pair: one copy for the next ACK or NAK, one for the turn.
    kept: Table<WAITING, QP>,
    waiting: Table<WAITING, QP>,
    old: Restore<Waiting, WAITING>,
    stored: Flatten<Waiting, WAITING>,
    waits: Signal<Local, Bit>,
    is_ack: Signal<Local, Bit>,
    both: Signal<Local, Bit>,
    ahead: Signal<Local, Bits<24>>,
    unused_ahead: Signal<Local, Bits<24>>,
    unused_old: Signal<Local, Bits<8>>,
    stores: Signal<Local, Bit>,
    settles: Signal<Local, Bit>,

    #[init(StreamFifo::prompt())]
    turns: StreamFifo<Turn, QP, TURNS>,
    has_turn: DFF<Bit>,
    turn: DFF<Turn>,
    turn_next: Signal<Local, Bits<QP>>,
    its: Restore<Waiting, WAITING>,
    leaves: Signal<Local, Bit>,
    out: StreamSkid<Ack>,
}

impl Logic for Acks {
    #[hdl_gen]
    fn update(&mut self) {
        self.select.valid.next = self.cfg.valid.val();
        self.select.number.next = self.cfg.table.val();
        self.select.word.next = self.cfg.word.val();
        self.stamps.written.next = self.select.queue_pair.val();
        self.stamps.index.next = self.cfg.index.val().get_bits::<QP>(0);
        self.unused.next = self.cfg.data.val();
        self.arriving.input.valid.next = self.come.valid.val();
        self.arriving.input.data.next = self.come.val();
        self.room.d.next = self.arriving.free.val() >= SLACK;
        self.roomy.next = self.room.q.val();

        // The turn of a queue pair: its ACK or NAK leaves, unless the queue pair's entry was written since.
        self.its.bits.next = self.waiting.read_data.val();
        self.leaves.next = self.has_turn.q.val() && self.out.input.ready.val();
        self.out.input.valid.next =
            self.has_turn.q.val() && (self.its.record.val().stamp == self.stamps.stamp[1].val());
        self.out.input.data.next.qp = self.turn.q.val().qp;
        self.out.input.data.next.psn = self.its.record.val().psn;
        self.out.input.data.next.syndrome = self.its.record.val().syndrome;
        self.out.output.join(&mut self.ack);
        self.turns.output.ready.next = self.leaves.val() || !self.has_turn.q.val();
        self.turn_next.next = self.turn.q.val().qp;
        if self.turns.output.ready.val() {
            self.has_turn.d.next = self.turns.output.valid.val();
            self.turn.d.next = self.turns.output.data.val();
            self.turn_next.next = self.turns.output.data.val().qp;
        }
        self.waiting.ahead.next = self.turn_next.val();
        self.stamps.ahead[1].next = self.turn_next.val();
        self.given.write_enable.next = self.leaves.val();
        self.given.write_address.next = self.turn.q.val().qp;
        self.given.write_data.next = self.turn.q.val().round;

        // The next ACK or NAK: whether another one of its queue pair waits that does not leave in this cycle.
        self.old.bits.next = self.kept.read_data.val();
        self.waits.next = (self.asked.read_data.val() != self.given.read_data.val())
            && !(self.leaves.val() && (self.turn.q.val().qp == self.held.q.val().qp));
        self.is_ack.next = !self.held.q.val().syndrome.get_bits::<3>(5).any();
        self.both.next =
            self.is_ack.val() && !self.old.record.val().syndrome.get_bits::<3>(5).any();
        self.ahead.next = self.held.q.val().psn - self.old.record.val().psn;
        self.unused_ahead.next = self.ahead.val();
        self.unused_old.next = self.old.record.val().syndrome;
        self.settles.next = self.full.q.val() && (!self.waits.val() || self.both.val());
        self.stores.next = self.settles.val();
        if self.waits.val()
            && self.ahead.val().get_bit(23)
            && (self.old.record.val().stamp == self.stamps.stamp[0].val())
        {
            self.stores.next = false;
        }
        self.stored.record.next.psn = self.held.q.val().psn;
        self.stored.record.next.syndrome = self.held.q.val().syndrome;
        self.stored.record.next.stamp = self.stamps.stamp[0].val();
        self.kept.write_enable.next = self.stores.val();
        self.kept.write_address.next = self.held.q.val().qp;
        self.kept.write_data.next = self.stored.bits.val();
        self.waiting.write_enable.next = self.stores.val();
        self.waiting.write_address.next = self.held.q.val().qp;
        self.waiting.write_data.next = self.stored.bits.val();
        self.asked.write_enable.next = self.settles.val() && !self.waits.val();
        self.asked.write_address.next = self.held.q.val().qp;
        self.asked.write_data.next = !self.asked.read_data.val();
        self.turns.input.valid.next = self.settles.val() && !self.waits.val();
        self.turns.input.data.next.qp = self.held.q.val().qp;
        self.turns.input.data.next.round = !self.asked.read_data.val();

        self.accepts.next = self.settles.val() || !self.full.q.val();
        self.arriving.output.ready.next = self.accepts.val();
        self.next.next = self.held.q.val().qp;
        if self.accepts.val() {
            self.full.d.next = self.arriving.output.valid.val();
            self.held.d.next = self.arriving.output.data.val();
            self.next.next = self.arriving.output.data.val().qp;
        }
        self.asked.ahead.next = self.next.val();
        self.given.ahead.next = self.next.val();
        self.kept.ahead.next = self.next.val();
        self.stamps.ahead[0].next = self.next.val();

        // All acknowledgements and NAKs are forgotten after a reset.
        if self.select.every.val() {
            self.asked.write_enable.next = true;
            self.asked.write_address.next = self.cfg.index.val().get_bits::<QP>(0);
            self.asked.write_data.next = 0.into();
            self.given.write_enable.next = true;
            self.given.write_address.next = self.cfg.index.val().get_bits::<QP>(0);
            self.given.write_data.next = 0.into();
        }
        if self.rst.val() {
            self.room.d.next = false;
            self.full.d.next = false;
            self.has_turn.d.next = false;
        }
    }
}
