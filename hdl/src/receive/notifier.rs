//! Chooses which packets that met congestion are answered with a congestion notification packet (DCQCN's notification
//! point; docs/semantics.md, "Congestion control").
//!
//! Stands beside the responder: the parser names the queue pair of every right packet and acknowledgement that met
//! congestion; notices go to the packetizer, which sends them between acknowledgements.
//!
//! Contract: takes a packet in each cycle. A notice is at the output 3 cycles after its packet was named. There is none
//! if the queue pair's last one was made less than `interval` cycles before. 16 notices wait; while there is no room
//! for another, none is made, and none counts as made. Each belongs to the entry that its queue pair had when the
//! packet came. A notice may also be left out if its queue pair's last one was made a multiple of 2^32 cycles (17 s)
//! before.

use crate::context::{ConfigWrite, QP, QueuePairIndex, Stamps, Table, TableSelect};
use crate::primitive::StreamFifo;
use drdma_emit::prelude::*;

#[cfg(test)]
mod tests;

/// Binary logarithm of the notices that wait, and bits of their count.
const WAITING: usize = 4;
const COUNT: usize = WAITING + 1;
/// Bits of a time in cycles.
const TIME: usize = 32;
/// Bits of a time and a flag that says whether there is one.
const LAST: usize = TIME + 1;

/// A congestion notification packet that is to be sent.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Notice {
    /// The queue pair that sends it.
    pub qp: Bits<QP>,
    /// The stamp of the queue pair's entry when the packet came.
    pub stamp: Bits<32>,
}

/// Chooses which packets are answered with a notice. See the [module](self).
#[derive(LogicBlock, BlockDefault)]
pub struct Notifier {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Words that the host writes into tables.
    pub cfg: Flow<In, ConfigWrite>,
    /// Least number of cycles between two notices of one queue pair.
    pub interval: Signal<In, Bits<16>>,
    /// A packet for this queue pair has met congestion.
    pub congested: Flow<In, QueuePairIndex>,
    /// Congestion notification packets to send.
    pub notice: Stream<Out, Notice>,

    select: TableSelect,
    unused: Signal<Local, Bits<32>>,
    stamps: Stamps<32, QP, 1>,
    clock: DFF<Bits<TIME>>,
    /// The queue pair of a packet is being looked up.
    looks: DFF<Bit>,
    qp: DFF<Bits<QP>>,
    /// Of each queue pair: the time of its last notice, if one was made.
    lasts: Table<LAST, QP>,
    /// A packet whose queue pair was looked up in the cycle before, and the time of that.
    known: DFF<Bit>,
    known_qp: DFF<Bits<QP>>,
    known_stamp: DFF<Bits<32>>,
    time: DFF<Bits<TIME>>,
    /// The queue pair had a notice, `since` cycles before.
    had_one: DFF<Bit>,
    since: DFF<Bits<TIME>>,
    /// A notice was made for the queue pair in the cycle before; `since` does not count it.
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

        // A packet is named.
        self.looks.d.next = self.congested.valid.val();
        self.qp.d.next = self.congested.qp.val();
        self.lasts.ahead.next = self.congested.qp.val();
        self.stamps.ahead[0].next = self.congested.qp.val();

        // A cycle later, its queue pair has been looked up.
        self.known.d.next = self.looks.q.val();
        self.known_qp.d.next = self.qp.q.val();
        self.known_stamp.d.next = self.stamps.stamp[0].val();
        self.time.d.next = self.clock.q.val();
        self.had_one.d.next = self.lasts.read_data.val().get_bit(TIME);
        self.since.d.next = self.clock.q.val() - self.lasts.read_data.val().get_bits::<TIME>(0);

        // Another cycle later, a notice is made, if it is due.
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

        // No notice was made before a reset.
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
