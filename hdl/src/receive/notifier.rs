//! Which packets that met congestion are answered with a congestion notification packet (DCQCN's notification point;
//! docs/semantics.md, "Congestion control").
//!
//! Its place is beside the responder: the parser tells of every right packet and acknowledgement that met congestion, and what is to be sent
//! goes to the packetizer, between acknowledgements.
//!
//! Contract: takes one in each cycle. A notice is at the output 3 cycles after its packet was told, and leaves it out where its queue
//! pair's last one was made less than `interval` cycles before. 16 notices wait; while there is no room for another, none is made, and
//! none counts as made. Each belongs to the context that its queue pair's entry had when the packet came. A notice may also be left out if
//! its queue pair's last one was made a multiple of 2^32 cycles (17 s) before.

use crate::context::{ConfigWrite, QP, QueuePairIndex, Stamps, Table, TableSelect};
use crate::primitive::StreamFifo;
use drdma_emit::prelude::*;

#[cfg(test)]
mod tests;

/// Notices that wait, as a power of 2, and the bits of their number.
const WAITING: usize = 4;
const COUNT: usize = WAITING + 1;
/// Bits of a time in cycles.
const TIME: usize = 32;
/// The same, and whether there is one.
const LAST: usize = TIME + 1;

/// A congestion notification packet that is to be sent.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Notice {
    /// Queue pair.
    pub qp: Bits<QP>,
    /// The stamp of its entry.
    pub stamp: Bits<32>,
}

/// See the [module](self).
#[derive(LogicBlock, BlockDefault)]
pub struct Notifier {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Words that the host writes into tables.
    pub cfg: Flow<In, ConfigWrite>,
    /// Cycles between two notices of one queue pair, at least.
    pub interval: Signal<In, Bits<16>>,
    /// A packet of the queue pair's peer has met congestion.
    pub congested: Flow<In, QueuePairIndex>,
    /// What is sent.
    pub notice: Stream<Out, Notice>,

    select: TableSelect,
    unused: Signal<Local, Bits<32>>,
    stamps: Stamps<32, QP, 1>,
    clock: DFF<Bits<TIME>>,
    /// A packet whose queue pair is looked up.
    looks: DFF<Bit>,
    qp: DFF<Bits<QP>>,
    /// Of each queue pair: when its last notice was made, if one was.
    lasts: Table<LAST, QP>,
    /// A packet whose queue pair was looked up in the cycle before, and when that was.
    known: DFF<Bit>,
    known_qp: DFF<Bits<QP>>,
    known_stamp: DFF<Bits<32>>,
    time: DFF<Bits<TIME>>,
    /// Its queue pair had a notice, so many cycles before;
    had_one: DFF<Bit>,
    since: DFF<Bits<TIME>>,
    /// but one was made for it in the cycle before.
    has_one: DFF<Bit>,
    due: Signal<Local, Bit>,
    makes: Signal<Local, Bit>,
    #[init(StreamFifo::prompt())]
    waiting: StreamFifo<Notice, WAITING, COUNT>,
}

impl Logic for Notifier {
    #[hdl_gen]
    fn update(&mut self) {
        self.select.valid.next = self.cfg.valid.val();
        self.select.number.next = self.cfg.table.val();
        self.select.word.next = self.cfg.word.val();
        self.unused.next = self.cfg.data.val();
        self.stamps.written.next = self.select.queue_pair.val();
        self.stamps.index.next = self.cfg.index.val().get_bits::<QP>(0);
        self.clock.d.next = self.clock.q.val() + 1;

        // A packet is told,
        self.looks.d.next = self.congested.valid.val();
        self.qp.d.next = self.congested.qp.val();
        self.lasts.ahead.next = self.congested.qp.val();
        self.stamps.ahead[0].next = self.congested.qp.val();

        // looked up,
        self.known.d.next = self.looks.q.val();
        self.known_qp.d.next = self.qp.q.val();
        self.known_stamp.d.next = self.stamps.stamp[0].val();
        self.time.d.next = self.clock.q.val();
        self.had_one.d.next = self.lasts.read_data.val().get_bit(TIME);
        self.since.d.next = self.clock.q.val() - self.lasts.read_data.val().get_bits::<TIME>(0);

        // and answered, if it is time.
        self.due.next = !self.had_one.q.val()
            || self.since.q.val().get_bits::<16>(16).any()
            || (self.since.q.val().get_bits::<16>(0) >= self.interval.val());
        if self.has_one.q.val() {
            self.due.next = self.interval.val() <= 1;
        }
        self.makes.next = self.known.q.val() && self.waiting.input.ready.val() && self.due.val();
        self.has_one.d.next = self.makes.val() && (self.known_qp.q.val() == self.qp.q.val());
        self.waiting.input.valid.next = self.makes.val();
        self.waiting.input.data.next.qp = self.known_qp.q.val();
        self.waiting.input.data.next.stamp = self.known_stamp.q.val();
        self.waiting.output.join(&mut self.notice);
        self.lasts.write_enable.next = self.makes.val();
        self.lasts.write_address.next = self.known_qp.q.val();
        self.lasts.write_data.next =
            bit_cast::<LAST, TIME>(self.time.q.val()) | (bits::<LAST>(1) << TIME as u64);

        // After a reset none was made.
        if self.select.every.val() {
            self.lasts.write_enable.next = true;
            self.lasts.write_address.next = self.cfg.index.val().get_bits::<QP>(0);
            self.lasts.write_data.next = 0.into();
        }
        if self.rst.val() {
            self.clock.d.next = 0.into();
            self.looks.d.next = false;
            self.known.d.next = false;
        }
    }
}
