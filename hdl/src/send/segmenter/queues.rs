//! Finds out which requests must not begin any more.

use crate::context::{INDEX, QUEUE, Stamps, TableSelect};
use crate::primitive::{Lutram, Ram, RamStyle};
use drdma_emit::prelude::*;

/// Tells whether a request's send queue has halted, or was written anew, since the request was opened.
///
/// The decoder runs ahead: behind a request that fails late it has checked others of the same queue,
/// which must never begin. A queue counts as halted from the cycle after `fail`, before `completion` has
/// made it known.
///
/// # Inputs
/// `clk`, `rst`; `open_*`: a request is opened; `cfg_*`: the host writes a word; `queue_halted`, of the cycle after
/// `halted_next`; `read_enable`, `slot`: the request that is current next; `fail`, a pulse: the current request has
/// ended with a status.
///
/// # Outputs
/// `over`: no request of that queue may begin; valid from the cycle after `read_enable` until the next one.
#[derive(LogicBlock, BlockDefault)]
pub struct Queues {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// A request is opened.
    pub open_valid: Signal<In, Bit>,
    /// Slot of the request that is opened.
    pub open_slot: Signal<In, Bits<8>>,
    /// Send queue of the request that is opened.
    pub open_queue: Signal<In, Bits<QUEUE>>,
    /// The host writes a word of a table.
    pub cfg_valid: Signal<In, Bit>,
    /// Number of the table that is written.
    pub cfg_table: Signal<In, Bits<3>>,
    /// Entry of the table that is written.
    pub cfg_index: Signal<In, Bits<INDEX>>,
    /// Word of the entry that is written.
    pub cfg_word: Signal<In, Bits<4>>,
    /// The queue whose `queue_halted` is asked for in the next cycle.
    pub halted_next: Signal<Out, Bits<QUEUE>>,
    /// The queue of `halted_next`, one cycle before, is halted.
    pub queue_halted: Signal<In, Bit>,
    /// Another request is current from the next cycle on.
    pub read_enable: Signal<In, Bit>,
    /// Slot of that next request.
    pub slot: Signal<In, Bits<8>>,
    /// The current request has ended with a status.
    pub fail: Signal<In, Bit>,
    /// The current request must not begin.
    pub over: Signal<Out, Bit>,

    /// Of each slot: the queue of its request, and, written a cycle later, the queue's stamp.
    slot_queues: Lutram<QUEUE, 8, 1>,
    slot_stamps: Ram<32, 1, 8>,
    opens: DFF<Bit>,
    opens_slot: DFF<Bits<8>>,
    /// The stamps of send queues, which change with the last word of an entry.
    stamps: Stamps<32, QUEUE, 2>,
    /// Of each queue: the stamp with which the request that failed last was opened; all bits set if none has failed
    /// since the queue's entry was written.
    #[init(Ram::new(RamStyle::Ultra))]
    failed: Ram<32, 1, QUEUE>,
    /// The current entry of `failed` was written in the cycle in which it was read.
    passed: DFF<Bit>,
    passing: DFF<Bits<32>>,
    found: Signal<Local, Bits<32>>,
    #[init(Constant::new(u32::MAX.to_bits()))]
    none: Constant<Bits<32>>,
    /// An entry was written, and its queue's `failed` has still to be cleared.
    clears: DFF<Bit>,
    cleared_queue: DFF<Bits<QUEUE>>,
    select: TableSelect,
    /// The queue of the current request.
    queue: DFF<Bits<QUEUE>>,
    rewritten: Signal<Local, Bit>,
}

impl Logic for Queues {
    #[hdl_gen]
    fn update(&mut self) {
        self.select.valid.next = self.cfg_valid.val();
        self.select.number.next = self.cfg_table.val();
        self.select.word.next = self.cfg_word.val();
        // Never reset: so a stamp in `failed` from before a reset equals none that comes after it.
        self.stamps.rst.next = false;
        self.stamps.written.next = self.select.enable.val();
        self.stamps.index.next = self.cfg_index.val().get_bits::<QUEUE>(0);
        self.stamps.ahead[0].next = self.open_queue.val();

        self.slot_queues.write_enable.next = self.open_valid.val();
        self.slot_queues.write_address.next = self.open_slot.val();
        self.slot_queues.write_data.next = self.open_queue.val();
        self.opens.d.next = self.open_valid.val();
        self.opens_slot.d.next = self.open_slot.val();
        self.slot_stamps.write_lanes.next = 0.into();
        if self.opens.q.val() {
            self.slot_stamps.write_lanes.next = 1.into();
        }
        self.slot_stamps.write_address.next = self.opens_slot.q.val();
        self.slot_stamps.write_data.next = self.stamps.stamp[0].val();
        self.slot_stamps.read_enable.next = self.read_enable.val();
        self.slot_stamps.read_address.next = self.slot.val();

        // The queue of the next request is looked up.
        self.slot_queues.read_address[0].next = self.slot.val();
        if self.read_enable.val() {
            self.queue.d.next = self.slot_queues.read_data[0].val();
        }
        self.stamps.ahead[1].next = self.queue.d.val();
        self.halted_next.next = self.queue.d.val();
        self.rewritten.next = self.stamps.stamp[1].val() != self.slot_stamps.read_data.val();
        self.failed.read_enable.next = true;
        self.failed.read_address.next = self.queue.d.val();
        // `fail` comes late; that is why both writes of `failed` are prepared without it.
        self.failed.write_lanes.next = 0.into();
        self.failed.write_address.next = self.cleared_queue.q.val();
        self.failed.write_data.next = self.none.val();
        self.passed.d.next =
            self.clears.q.val() && (self.cleared_queue.q.val() == self.queue.d.val());
        self.passing.d.next = self.none.val();
        if self.fail.val() {
            self.failed.write_lanes.next = 1.into();
            self.failed.write_address.next = self.queue.q.val();
            self.failed.write_data.next = self.slot_stamps.read_data.val();
            self.passed.d.next = self.queue.q.val() == self.queue.d.val();
            self.passing.d.next = self.slot_stamps.read_data.val();
        } else if self.clears.q.val() {
            self.failed.write_lanes.next = 1.into();
            self.clears.d.next = false;
        }
        self.found.next = self.failed.read_data.val();
        if self.passed.q.val() {
            self.found.next = self.passing.q.val();
        }
        // Entries are written at least 4 cycles apart, and requests end at least 2 cycles apart.
        if self.select.enable.val() {
            self.clears.d.next = true;
            self.cleared_queue.d.next = self.cfg_index.val().get_bits::<QUEUE>(0);
        }
        self.over.next = self.rewritten.val()
            || (self.found.val() == self.slot_stamps.read_data.val())
            || self.queue_halted.val();
        if self.rst.val() {
            self.opens.d.next = false;
        }
    }
}
