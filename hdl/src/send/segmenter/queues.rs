//! Which requests may not begin any more.

use rust_hdl_core::prelude::*;
use rust_hdl_widgets::prelude::*;

use drdma_abi::Layout;
use drdma_abi::register::SendQueueEntry;

use crate::context::Stamps;
use crate::primitive::{Lutram, Ram};

/// Tells whether a request's send queue has halted, or was written anew, since the request was opened.
///
/// The decoder runs ahead: behind a request that fails late it has checked others of the same queue.
/// They are never begun. A queue counts as halted from the cycle after `fail`, before `completion` has
/// made it known.
///
/// # Inputs
/// `clk`; `open_*`: a request is opened; `cfg_*`; `queue_halted`; `read_enable`, `slot`: the request
/// at hand; `fail` pulse: it has ended with a status.
///
/// # Outputs
/// `over`: no request of that queue may begin. From the cycle after `read_enable` until the next one.
#[derive(LogicBlock)]
pub struct Queues {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// A request is opened.
    pub open_valid: Signal<In, Bit>,
    /// Its slot.
    pub open_slot: Signal<In, Bits<8>>,
    /// Its queue.
    pub open_queue: Signal<In, Bits<8>>,
    /// A word is written.
    pub cfg_valid: Signal<In, Bit>,
    /// To this table.
    pub cfg_table: Signal<In, Bits<3>>,
    /// To this entry.
    pub cfg_index: Signal<In, Bits<10>>,
    /// Its word.
    pub cfg_word: Signal<In, Bits<4>>,
    /// Queues that are halted.
    pub queue_halted: Signal<In, Bits<256>>,
    /// Another request is asked for.
    pub read_enable: Signal<In, Bit>,
    /// Which.
    pub slot: Signal<In, Bits<8>>,
    /// The request at hand has ended with a status.
    pub fail: Signal<In, Bit>,
    /// It may not begin.
    pub over: Signal<Out, Bit>,

    /// Of each slot: `queue` 8, the queue's stamp 32.
    opened: Ram<40, 1, 8>,
    /// Here the stamps of send queues: they change with the last word of an entry.
    stamps: Stamps<2>,
    /// Of each queue: the stamp with which the request that failed last was opened; none, all bits set,
    /// since its entry was written.
    failed: Lutram<32, 8, 1>,
    none: Constant<Bits<32>>,
    /// An entry was written, and its queue's `failed` is still to be set.
    clears: DFF<Bit>,
    cleared_queue: DFF<Bits<8>>,
    enabled: Signal<Local, Bit>,
    queue: Signal<Local, Bits<8>>,
    rewritten: Signal<Local, Bit>,
    queue_table: Constant<Bits<3>>,
    enable_word: Constant<Bits<4>>,
}

impl Default for Queues {
    fn default() -> Self {
        Self {
            clk: Signal::default(),
            open_valid: Signal::default(),
            open_slot: Signal::default(),
            open_queue: Signal::default(),
            cfg_valid: Signal::default(),
            cfg_table: Signal::default(),
            cfg_index: Signal::default(),
            cfg_word: Signal::default(),
            queue_halted: Signal::default(),
            read_enable: Signal::default(),
            slot: Signal::default(),
            fail: Signal::default(),
            over: Signal::default(),
            opened: Ram::default(),
            stamps: Stamps::default(),
            failed: Lutram::default(),
            none: Constant::new(u32::MAX.to_bits()),
            clears: DFF::default(),
            cleared_queue: DFF::default(),
            enabled: Signal::default(),
            queue: Signal::default(),
            rewritten: Signal::default(),
            queue_table: Constant::new(2.into()),
            enable_word: Constant::new((SendQueueEntry::field("enable").start / 32).to_bits()),
        }
    }
}

impl Logic for Queues {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, clears, cleared_queue);
        self.enabled.next = self.cfg_valid.val()
            && (self.cfg_table.val() == self.queue_table.val())
            && (self.cfg_word.val() == self.enable_word.val())
            && !self.cfg_index.val().get_bits::<2>(8).any();
        self.stamps.clk.next = self.clk.val();
        // Never reset: a stamp of before a reset, in `failed`, is none of those after it.
        self.stamps.rst.next = false;
        self.stamps.cfg_valid.next = self.enabled.val();
        self.stamps.cfg_table.next = 0.into();
        self.stamps.cfg_index.next = self.cfg_index.val();
        self.stamps.qp[0].next = self.open_queue.val();

        self.opened.clk.next = self.clk.val();
        self.opened.write_lanes.next = 0.into();
        if self.open_valid.val() {
            self.opened.write_lanes.next = 1.into();
        }
        self.opened.write_address.next = self.open_slot.val();
        self.opened.write_data.next = bit_cast::<40, 8>(self.open_queue.val())
            | (bit_cast::<40, 32>(self.stamps.stamp[0].val()) << 8);
        self.opened.read_enable.next = self.read_enable.val();
        self.opened.read_address.next = self.slot.val();

        self.queue.next = self.opened.read_data.val().get_bits::<8>(0);
        self.stamps.qp[1].next = self.queue.val();
        self.rewritten.next =
            self.stamps.stamp[1].val() != self.opened.read_data.val().get_bits::<32>(8);
        self.failed.clk.next = self.clk.val();
        self.failed.write_enable.next = self.fail.val() || self.clears.q.val();
        self.failed.write_address.next = self.cleared_queue.q.val();
        self.failed.write_data.next = self.none.val();
        if self.fail.val() {
            self.failed.write_address.next = self.queue.val();
            self.failed.write_data.next = self.opened.read_data.val().get_bits::<32>(8);
        } else {
            self.clears.d.next = false;
        }
        // Entries are written at least 4 cycles apart, requests end at least 2 apart.
        if self.enabled.val() {
            self.clears.d.next = true;
            self.cleared_queue.d.next = self.cfg_index.val().get_bits::<8>(0);
        }
        self.failed.read_address[0].next = self.queue.val();
        self.over.next = self.rewritten.val()
            || (self.failed.read_data[0].val() == self.opened.read_data.val().get_bits::<32>(8))
            || self.queue_halted.val().get_bit(self.queue.val().index());
    }
}
