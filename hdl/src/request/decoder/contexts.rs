//! The decoder's copies of the queue pairs' and send queues' tables.

use super::slice::{in_word, word_of};
use crate::context::Stamps;
use crate::primitive::Lutram;
use drdma_abi::register::{QueuePairEntry, SendQueueEntry};
use rust_hdl_core::prelude::*;
use rust_hdl_widgets::prelude::*;

/// What the tables and the error flags say of one queue and one queue pair.
///
/// The tables' answers come in the same cycle, `halted`, `ready`, `error` and `stamp` one cycle later.
///
/// A queue pair is ready once its entry's last word says so, until any word of it is written again; a
/// reset does not change that: the last words have to be written after it.
///
/// # Inputs
/// `clk`, `rst`, `cfg_*`, `qp_error`, `queue_halted`; `queue`, `qp`.
///
/// # Outputs
/// `shared`, `owned`, `owner`, `halted` of the queue; `ready`, `transport`, `log_mtu`, `error`,
/// `stamp` of the queue pair.
#[derive(LogicBlock)]
pub struct Contexts {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// A word of the queue pairs' table is written.
    pub cfg_qp: Signal<In, Bit>,
    /// A word of the send queues' table is written.
    pub cfg_queue: Signal<In, Bit>,
    /// The entry.
    pub cfg_index: Signal<In, Bits<8>>,
    /// The word of the entry.
    pub cfg_word: Signal<In, Bits<4>>,
    /// The word's value.
    pub cfg_data: Signal<In, Bits<32>>,
    /// Queue pairs in the error state.
    pub qp_errors: Signal<In, Bits<256>>,
    /// Queues that are halted.
    pub queues_halted: Signal<In, Bits<256>>,
    /// A queue is stopped, until it is enabled anew.
    pub stop_valid: Signal<In, Bit>,
    /// The queue.
    pub stop_queue: Signal<In, Bits<8>>,

    /// The queue that is asked for.
    pub queue: Signal<In, Bits<8>>,
    /// It is a shared one.
    pub shared: Signal<Out, Bit>,
    /// It has an owner.
    pub owned: Signal<Out, Bit>,
    /// The owner.
    pub owner: Signal<Out, Bits<8>>,
    /// It is halted or stopped.
    pub halted: Signal<Out, Bit>,
    /// The queue pair that is asked for.
    pub qp: Signal<In, Bits<8>>,
    /// It was made ready.
    pub ready: Signal<Out, Bit>,
    /// Its transport.
    pub transport: Signal<Out, Bits<2>>,
    /// Its MTU.
    pub log_mtu: Signal<Out, Bits<4>>,
    /// It is in the error state.
    pub error: Signal<Out, Bit>,
    /// Tells this context from later ones; see [`Stamps`].
    pub stamp: Signal<Out, Bits<32>>,

    shared_bits: Lutram<1, 8, 1>,
    owners: Lutram<8, 8, 1>,
    owned_bits: Lutram<1, 8, 1>,
    transports: Lutram<2, 8, 1>,
    mtus: Lutram<4, 8, 1>,
    legal_bits: Lutram<1, 8, 1>,
    ready_bits: Lutram<1, 8, 1>,
    stopped: DFF<Bits<256>>,
    stops: Signal<Local, Bits<256>>,
    halted_bit: DFF<Bit>,
    error_bit: DFF<Bit>,
    ready_bit: DFF<Bit>,
    stamps: Stamps<1>,
    stamp_held: DFF<Bits<32>>,

    shared_word: Constant<Bits<4>>,
    shared_at: Constant<Bits<5>>,
    owner_word: Constant<Bits<4>>,
    transport_word: Constant<Bits<4>>,
    transport_at: Constant<Bits<5>>,
    mtu_at: Constant<Bits<5>>,
    state_word: Constant<Bits<4>>,
    enable_word: Constant<Bits<4>>,
}

impl Default for Contexts {
    fn default() -> Self {
        Self {
            clk: Signal::default(),
            rst: Signal::default(),
            cfg_qp: Signal::default(),
            cfg_queue: Signal::default(),
            cfg_index: Signal::default(),
            cfg_word: Signal::default(),
            cfg_data: Signal::default(),
            qp_errors: Signal::default(),
            queues_halted: Signal::default(),
            stop_valid: Signal::default(),
            stop_queue: Signal::default(),
            queue: Signal::default(),
            shared: Signal::default(),
            owned: Signal::default(),
            owner: Signal::default(),
            halted: Signal::default(),
            qp: Signal::default(),
            ready: Signal::default(),
            transport: Signal::default(),
            log_mtu: Signal::default(),
            error: Signal::default(),
            stamp: Signal::default(),
            shared_bits: Lutram::default(),
            owners: Lutram::default(),
            owned_bits: Lutram::default(),
            transports: Lutram::default(),
            mtus: Lutram::default(),
            legal_bits: Lutram::default(),
            ready_bits: Lutram::default(),
            stopped: DFF::default(),
            stops: Signal::default(),
            halted_bit: DFF::default(),
            error_bit: DFF::default(),
            ready_bit: DFF::default(),
            stamps: Stamps::default(),
            stamp_held: DFF::default(),
            shared_word: word_of::<SendQueueEntry>("shared"),
            shared_at: in_word::<SendQueueEntry>("shared", 8),
            owner_word: word_of::<SendQueueEntry>("qp"),
            transport_word: {
                let word = word_of::<QueuePairEntry>("transport");
                let mtu = word_of::<QueuePairEntry>("log_mtu");
                assert_eq!(word.val(), mtu.val(), "transport and log_mtu are in one word");
                word
            },
            transport_at: in_word::<QueuePairEntry>("transport", 8),
            mtu_at: in_word::<QueuePairEntry>("log_mtu", 8),
            state_word: word_of::<QueuePairEntry>("state"),
            enable_word: word_of::<SendQueueEntry>("enable"),
        }
    }
}

impl Logic for Contexts {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, stopped, halted_bit, error_bit, ready_bit, stamp_held);
        self.shared_bits.clk.next = self.clk.val();
        self.shared_bits.write_enable.next =
            self.cfg_queue.val() && (self.cfg_word.val() == self.shared_word.val());
        self.shared_bits.write_address.next = self.cfg_index.val();
        self.shared_bits.write_data.next =
            self.cfg_data.val().get_bits::<1>(self.shared_at.val().index());
        self.shared_bits.read_address[0].next = self.queue.val();
        self.shared.next = self.shared_bits.read_data[0].val() == 1;

        self.owners.clk.next = self.clk.val();
        self.owners.write_enable.next =
            self.cfg_queue.val() && (self.cfg_word.val() == self.owner_word.val());
        self.owners.write_address.next = self.cfg_index.val();
        self.owners.write_data.next = self.cfg_data.val().get_bits::<8>(0);
        self.owners.read_address[0].next = self.queue.val();
        self.owner.next = self.owners.read_data[0].val();

        self.owned_bits.clk.next = self.clk.val();
        self.owned_bits.write_enable.next =
            self.cfg_queue.val() && (self.cfg_word.val() == self.owner_word.val());
        self.owned_bits.write_address.next = self.cfg_index.val();
        self.owned_bits.write_data.next = 0.into();
        if self.cfg_data.val() < 256 {
            self.owned_bits.write_data.next = 1.into();
        }
        self.owned_bits.read_address[0].next = self.queue.val();
        self.owned.next = self.owned_bits.read_data[0].val() == 1;

        self.transports.clk.next = self.clk.val();
        self.transports.write_enable.next =
            self.cfg_qp.val() && (self.cfg_word.val() == self.transport_word.val());
        self.transports.write_address.next = self.cfg_index.val();
        self.transports.write_data.next =
            self.cfg_data.val().get_bits::<2>(self.transport_at.val().index());
        self.transports.read_address[0].next = self.qp.val();
        self.transport.next = self.transports.read_data[0].val();

        self.mtus.clk.next = self.clk.val();
        self.mtus.write_enable.next =
            self.cfg_qp.val() && (self.cfg_word.val() == self.transport_word.val());
        self.mtus.write_address.next = self.cfg_index.val();
        self.mtus.write_data.next = self.cfg_data.val().get_bits::<4>(self.mtu_at.val().index());
        self.mtus.read_address[0].next = self.qp.val();
        self.log_mtu.next = self.mtus.read_data[0].val();

        // A transport and an MTU that there are.
        self.legal_bits.clk.next = self.clk.val();
        self.legal_bits.write_enable.next = self.transports.write_enable.val();
        self.legal_bits.write_address.next = self.cfg_index.val();
        self.legal_bits.write_data.next = 0.into();
        if (self.cfg_data.val().get_bits::<8>(self.transport_at.val().index()) < 3)
            && (self.cfg_data.val().get_bits::<8>(self.mtu_at.val().index()) >= 8)
            && (self.cfg_data.val().get_bits::<8>(self.mtu_at.val().index()) <= 12)
        {
            self.legal_bits.write_data.next = 1.into();
        }
        self.legal_bits.read_address[0].next = self.qp.val();

        self.ready_bits.clk.next = self.clk.val();
        self.ready_bits.write_enable.next = self.cfg_qp.val();
        self.ready_bits.write_address.next = self.cfg_index.val();
        self.ready_bits.write_data.next = 0.into();
        if (self.cfg_word.val() == self.state_word.val()) && (self.cfg_data.val() == 1) {
            self.ready_bits.write_data.next = 1.into();
        }
        self.ready_bits.read_address[0].next = self.qp.val();
        self.stamps.clk.next = self.clk.val();
        self.stamps.rst.next = self.rst.val();
        self.stamps.cfg_valid.next = self.cfg_qp.val();
        self.stamps.cfg_table.next = 0.into();
        self.stamps.cfg_index.next = bit_cast::<10, 8>(self.cfg_index.val());
        self.stamps.qp[0].next = self.qp.val();
        self.stamp_held.d.next = self.stamps.stamp[0].val();
        self.stamp.next = self.stamp_held.q.val();
        self.stops.next = self.stopped.q.val();
        if self.stop_valid.val() {
            self.stops.next = self.stops.val().replace_bit(self.stop_queue.val().index(), true);
        }
        if self.cfg_queue.val() && (self.cfg_word.val() == self.enable_word.val()) {
            self.stops.next = self.stops.val().replace_bit(self.cfg_index.val().index(), false);
        }
        self.stopped.d.next = self.stops.val();
        self.halted_bit.d.next = self.queues_halted.val().get_bit(self.queue.val().index())
            || self.stopped.q.val().get_bit(self.queue.val().index());
        self.ready_bit.d.next =
            (self.ready_bits.read_data[0].val() == 1) && (self.legal_bits.read_data[0].val() == 1);
        self.error_bit.d.next = self.qp_errors.val().get_bit(self.qp.val().index());
        if self.rst.val() {
            self.stopped.d.next = 0.into();
        }
        self.ready.next = self.ready_bit.q.val();
        self.halted.next = self.halted_bit.q.val();
        self.error.next = self.error_bit.q.val();
    }
}
