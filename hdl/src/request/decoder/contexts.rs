//! The decoder's copies of the queue pairs' and send queues' tables.

use super::slice::{in_word, word_of};
use crate::context::{Flags, INDEX, QP, QUEUE, Stamps, Table};
use drdma_abi::register::{QueuePairEntry, SendQueueEntry};
use rust_hdl_core::prelude::*;
use rust_hdl_widgets::prelude::*;

/// What the tables and the states say of one queue and one queue pair.
///
/// What the tables say is of `queue` and `qp` as they are, which `next_queue` and `next_qp` tell a cycle
/// before; `halted`, `ready` and `stamp` are of those of the cycle before.
///
/// A queue pair is ready once its entry's last word says so, until any word of it is written again; a
/// reset does not change that: the last words have to be written after it.
///
/// # Inputs
/// `clk`, `rst`, `cfg_*`, `queue_halted`; `next_queue`, `next_qp`, `queue`, `qp`.
///
/// # Outputs
/// `shared`, `owned`, `owner`, `halted` of the queue; `ready`, `transport`, `log_mtu`, `stamp` of the
/// queue pair.
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
    /// It is `enable`.
    pub cfg_enable: Signal<In, Bit>,
    /// An entry of every table is cleared.
    pub cfg_every: Signal<In, Bit>,
    /// The entry.
    pub cfg_index: Signal<In, Bits<INDEX>>,
    /// The word of the entry.
    pub cfg_word: Signal<In, Bits<4>>,
    /// The word's value.
    pub cfg_data: Signal<In, Bits<32>>,
    /// The queue of the cycle before is halted.
    pub queue_halted: Signal<In, Bit>,
    /// A queue is stopped, until it is enabled anew.
    pub stop_valid: Signal<In, Bit>,
    /// The queue.
    pub stop_queue: Signal<In, Bits<QUEUE>>,

    /// What `queue` is in the next cycle.
    pub next_queue: Signal<In, Bits<QUEUE>>,
    /// The queue that is asked for.
    pub queue: Signal<In, Bits<QUEUE>>,
    /// It is a shared one.
    pub shared: Signal<Out, Bit>,
    /// It has an owner.
    pub owned: Signal<Out, Bit>,
    /// The owner.
    pub owner: Signal<Out, Bits<QP>>,
    /// It is halted or stopped.
    pub halted: Signal<Out, Bit>,
    /// What `qp` is in the next cycle.
    pub next_qp: Signal<In, Bits<QP>>,
    /// The queue pair that is asked for.
    pub qp: Signal<In, Bits<QP>>,
    /// It was made ready.
    pub ready: Signal<Out, Bit>,
    /// Its transport.
    pub transport: Signal<Out, Bits<2>>,
    /// Its MTU.
    pub log_mtu: Signal<Out, Bits<4>>,
    /// Tells this context from later ones; see [`Stamps`].
    pub stamp: Signal<Out, Bits<32>>,

    shared_bits: Table<1, QUEUE>,
    /// The owner, and whether there is one.
    owners: Table<OWNER, QUEUE>,
    /// Transport 2, MTU 4, and whether there are such.
    shapes: Table<SHAPE, QP>,
    ready_bits: Table<1, QP>,
    legal: DFF<Bit>,
    stopped: Flags<QUEUE, 1>,
    stamps: Stamps<32, QP, 1>,

    shared_word: Constant<Bits<4>>,
    shared_at: Constant<Bits<5>>,
    owner_word: Constant<Bits<4>>,
    transport_word: Constant<Bits<4>>,
    transport_at: Constant<Bits<5>>,
    mtu_at: Constant<Bits<5>>,
    state_word: Constant<Bits<4>>,
}

/// Bits of a queue's owner, and whether there is one.
const OWNER: usize = QP + 1;
/// Bits of what a queue pair's packets are like.
const SHAPE: usize = 7;

const _: () = assert!(QP == 12, "the owner's bits stand elsewhere");

impl Default for Contexts {
    fn default() -> Self {
        Self {
            clk: Signal::default(),
            rst: Signal::default(),
            cfg_qp: Signal::default(),
            cfg_queue: Signal::default(),
            cfg_enable: Signal::default(),
            cfg_every: Signal::default(),
            queue_halted: Signal::default(),
            next_queue: Signal::default(),
            next_qp: Signal::default(),
            cfg_index: Signal::default(),
            cfg_word: Signal::default(),
            cfg_data: Signal::default(),
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
            stamp: Signal::default(),
            shared_bits: Table::default(),
            owners: Table::default(),
            ready_bits: Table::default(),
            shapes: Table::default(),
            legal: DFF::default(),
            stopped: Flags::default(),
            stamps: Stamps::default(),
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
        }
    }
}

impl Logic for Contexts {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, legal);
        // Queues.
        self.shared_bits.clk.next = self.clk.val();
        self.shared_bits.write_enable.next =
            self.cfg_queue.val() && (self.cfg_word.val() == self.shared_word.val());
        self.shared_bits.write_address.next = self.cfg_index.val().get_bits::<QUEUE>(0);
        self.shared_bits.write_data.next =
            self.cfg_data.val().get_bits::<1>(self.shared_at.val().index());
        self.shared_bits.ahead.next = self.next_queue.val();
        self.shared.next = self.shared_bits.read_data.val() == 1;
        self.owners.clk.next = self.clk.val();
        self.owners.write_enable.next =
            self.cfg_queue.val() && (self.cfg_word.val() == self.owner_word.val());
        self.owners.write_address.next = self.cfg_index.val().get_bits::<QUEUE>(0);
        self.owners.write_data.next = bit_cast::<OWNER, QP>(self.cfg_data.val().get_bits::<QP>(0));
        if !self.cfg_data.val().get_bits::<20>(12).any() {
            self.owners.write_data.next =
                bit_cast::<OWNER, QP>(self.cfg_data.val().get_bits::<QP>(0)) | 0x1000;
        }
        self.owners.ahead.next = self.next_queue.val();
        self.owner.next = self.owners.read_data.val().get_bits::<QP>(0);
        self.owned.next = self.owners.read_data.val().get_bit(12);
        self.stopped.clk.next = self.clk.val();
        self.stopped.set_valid.next = self.stop_valid.val();
        self.stopped.set_index.next = self.stop_queue.val();
        self.stopped.clear_valid.next = self.cfg_enable.val() && !self.cfg_every.val();
        self.stopped.clear_index.next = self.cfg_index.val().get_bits::<QUEUE>(0);
        self.stopped.wipe_valid.next = self.cfg_every.val();
        self.stopped.wipe_index.next = self.cfg_index.val().get_bits::<QUEUE>(0);
        self.stopped.ahead[0].next = self.queue.val();
        self.halted.next = self.queue_halted.val() || self.stopped.flag[0].val();

        // Queue pairs: whether there are such a transport and such an MTU, once they are written.
        self.shapes.clk.next = self.clk.val();
        self.shapes.write_enable.next =
            self.cfg_qp.val() && (self.cfg_word.val() == self.transport_word.val());
        self.shapes.write_address.next = self.cfg_index.val().get_bits::<QP>(0);
        self.shapes.write_data.next = bit_cast::<SHAPE, 2>(
            self.cfg_data.val().get_bits::<2>(self.transport_at.val().index()),
        ) | (bit_cast::<SHAPE, 4>(
            self.cfg_data.val().get_bits::<4>(self.mtu_at.val().index()),
        ) << 2);
        if (self.cfg_data.val().get_bits::<8>(self.transport_at.val().index()) < 3)
            && (self.cfg_data.val().get_bits::<8>(self.mtu_at.val().index()) >= 8)
            && (self.cfg_data.val().get_bits::<8>(self.mtu_at.val().index()) <= 12)
        {
            self.shapes.write_data.next = self.shapes.write_data.val() | 0x40;
        }
        self.shapes.ahead.next = self.next_qp.val();
        self.transport.next = self.shapes.read_data.val().get_bits::<2>(0);
        self.log_mtu.next = self.shapes.read_data.val().get_bits::<4>(2);
        self.legal.d.next = self.shapes.read_data.val().get_bit(6);

        // Readiness and stamp are of the same cycle: what is checked with a stamp was ready then.
        self.ready_bits.clk.next = self.clk.val();
        self.ready_bits.write_enable.next = self.cfg_qp.val();
        self.ready_bits.write_address.next = self.cfg_index.val().get_bits::<QP>(0);
        self.ready_bits.write_data.next = 0.into();
        if (self.cfg_word.val() == self.state_word.val()) && (self.cfg_data.val() == 1) {
            self.ready_bits.write_data.next = 1.into();
        }
        self.ready_bits.ahead.next = self.qp.val();
        self.ready.next = (self.ready_bits.read_data.val() == 1) && self.legal.q.val();
        self.stamps.clk.next = self.clk.val();
        self.stamps.rst.next = self.rst.val();
        self.stamps.written.next = self.cfg_qp.val();
        self.stamps.index.next = self.cfg_index.val().get_bits::<QP>(0);
        self.stamps.ahead[0].next = self.qp.val();
        self.stamp.next = self.stamps.stamp[0].val();
    }
}
