//! Keeps the decoder's copies of the queue pairs' and send queues' tables.

use super::slice::in_word;
use crate::context::{ByteTable, Flags, INDEX, QP, QUEUE, Stamps, Table, word_of};
use drdma_abi::receive::AttributesEntry;
use drdma_abi::register::{QueuePairEntry, SendQueueEntry};
use drdma_emit::prelude::*;

/// Tells what the tables and the states say of one queue and one queue pair.
///
/// The outputs of the tables are for `queue` and `qp`, which `next_queue` and `next_qp` must announce a cycle
/// before; `halted`, `ready` and `stamp` are for those of the cycle before.
///
/// A queue pair is ready for a queue of its protection domain, once its entry's last word says so and until any
/// word of it is written again; a reset does not change that: the last words have to be written after it.
///
/// # Inputs
/// `clk`, `rst`, `cfg_*`, `queue_halted`; `next_queue`, `next_qp`, `queue`, `qp`.
///
/// # Outputs
/// `shared`, `owned`, `owner`, `queue_pd`, `halted` of the queue; `ready`, `transport`, `log_mtu`, `asks`, `stamp` of
/// the queue pair.
#[derive(LogicBlock, BlockDefault)]
#[check(
    word_of::<QueuePairEntry>("transport").val() == word_of::<QueuePairEntry>("log_mtu").val(),
    "transport and log_mtu are in one word"
)]
pub struct Contexts {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// A word of the queue pairs' table is written.
    pub cfg_qp: Signal<In, Bit>,
    /// A word of the attributes' table is written.
    pub cfg_attributes: Signal<In, Bit>,
    /// A word of the send queues' table is written.
    pub cfg_queue: Signal<In, Bit>,
    /// The word is `enable`.
    pub cfg_enable: Signal<In, Bit>,
    /// An entry of every table is cleared.
    pub cfg_every: Signal<In, Bit>,
    /// Entry that is written.
    pub cfg_index: Signal<In, Bits<INDEX>>,
    /// The word of the entry.
    pub cfg_word: Signal<In, Bits<4>>,
    /// The word's value.
    pub cfg_data: Signal<In, Bits<32>>,
    /// The queue of the cycle before is halted.
    pub queue_halted: Signal<In, Bit>,
    /// A queue is stopped, until it is enabled anew.
    pub stop_valid: Signal<In, Bit>,
    /// With `stop_valid`: the queue.
    pub stop_queue: Signal<In, Bits<QUEUE>>,

    /// The value of `queue` in the next cycle.
    pub next_queue: Signal<In, Bits<QUEUE>>,
    /// The queue that is asked about.
    pub queue: Signal<In, Bits<QUEUE>>,
    /// The queue is a shared one.
    pub shared: Signal<Out, Bit>,
    /// The queue has an owner.
    pub owned: Signal<Out, Bit>,
    /// With `owned`: the queue pair that owns the queue.
    pub owner: Signal<Out, Bits<QP>>,
    /// The queue's protection domain.
    pub queue_pd: Signal<Out, Bits<32>>,
    /// The queue of the cycle before is halted or stopped.
    pub halted: Signal<Out, Bit>,
    /// The value of `qp` in the next cycle.
    pub next_qp: Signal<In, Bits<QP>>,
    /// The queue pair that is asked about.
    pub qp: Signal<In, Bits<QP>>,
    /// The queue pair of the cycle before was made ready, and is of the queue's protection domain.
    pub ready: Signal<Out, Bit>,
    /// Transport of the queue pair.
    pub transport: Signal<Out, Bits<2>>,
    /// Binary logarithm of the queue pair's MTU in bytes.
    pub log_mtu: Signal<Out, Bits<4>>,
    /// The queue pair may have READs and atomics outstanding.
    pub asks: Signal<Out, Bit>,
    /// The stamp of the queue pair of the cycle before; see [`Stamps`].
    pub stamp: Signal<Out, Bits<32>>,

    /// Of each queue: its protection domain; its owner, with a flag that says whether there is one; and whether it is
    /// shared.
    queues: ByteTable<QUEUE_WORD, QUEUE_BYTES, QUEUE>,
    /// Of each queue pair: its protection domain; transport 2 and MTU 4, with a flag that says whether both are legal;
    /// and whether it may ask.
    pairs: ByteTable<PAIR_WORD, PAIR_BYTES, QP>,
    ready_bits: Table<1, QP>,
    queue_owner: Signal<Local, Bits<OWNER>>,
    shape: Signal<Local, Bits<SHAPE>>,
    may_ask: Signal<Local, Bits<1>>,
    /// The words without the bits that no field has.
    unused_queue: Signal<Local, Bits<QUEUE_WORD>>,
    unused_pair: Signal<Local, Bits<PAIR_WORD>>,
    /// The queue pair's transport and MTU are legal; its protection domain is the queue's.
    legal: DFF<Bit>,
    stopped: Flags<QUEUE, 1>,
    stamps: Stamps<32, QP, 1>,

    #[init(word_of::<AttributesEntry>("max_rd_atomic"))]
    asks_word: Constant<Bits<4>>,
    #[init(in_word::<AttributesEntry>("max_rd_atomic", 8))]
    asks_at: Constant<Bits<5>>,
    #[init(word_of::<SendQueueEntry>("shared"))]
    shared_word: Constant<Bits<4>>,
    #[init(in_word::<SendQueueEntry>("shared", 8))]
    shared_at: Constant<Bits<5>>,
    #[init(word_of::<SendQueueEntry>("qp"))]
    owner_word: Constant<Bits<4>>,
    #[init(word_of::<SendQueueEntry>("pd"))]
    queue_pd_word: Constant<Bits<4>>,
    #[init(word_of::<QueuePairEntry>("pd"))]
    qp_pd_word: Constant<Bits<4>>,
    #[init(word_of::<QueuePairEntry>("transport"))]
    transport_word: Constant<Bits<4>>,
    #[init(in_word::<QueuePairEntry>("transport", 8))]
    transport_at: Constant<Bits<5>>,
    #[init(in_word::<QueuePairEntry>("log_mtu", 8))]
    mtu_at: Constant<Bits<5>>,
    #[init(word_of::<QueuePairEntry>("state"))]
    state_word: Constant<Bits<4>>,
}

/// Bits of a queue's owner and of a flag that says whether there is one.
const OWNER: usize = QP + 1;
/// Bits of transport and MTU of a queue pair, and of a flag.
const SHAPE: usize = 7;
/// Bytes and bits of what is kept of a queue, and first bits of its fields behind the protection domain.
const QUEUE_BYTES: usize = 7;
const QUEUE_WORD: usize = 8 * QUEUE_BYTES;
const OWNER_AT: usize = 32;
const SHARED_AT: usize = 48;
/// Likewise of a queue pair.
const PAIR_BYTES: usize = 6;
const PAIR_WORD: usize = 8 * PAIR_BYTES;
const SHAPE_AT: usize = 32;
const ASKS_AT: usize = 40;

const _: () = assert!(QP == 12, "the owner's bits stand elsewhere");

impl Logic for Contexts {
    #[hdl_gen]
    fn update(&mut self) {
        // Queues.
        self.queue_owner.next = bit_cast::<OWNER, QP>(self.cfg_data.val().get_bits::<QP>(0));
        if !self.cfg_data.val().get_bits::<20>(12).any() {
            self.queue_owner.next =
                bit_cast::<OWNER, QP>(self.cfg_data.val().get_bits::<QP>(0)) | 0x1000;
        }
        self.queues.write_bytes.next = 0.into();
        if self.cfg_queue.val() && (self.cfg_word.val() == self.queue_pd_word.val()) {
            self.queues.write_bytes.next = self.queues.write_bytes.val() | 0b1111;
        }
        if self.cfg_queue.val() && (self.cfg_word.val() == self.owner_word.val()) {
            self.queues.write_bytes.next = self.queues.write_bytes.val() | 0b11_0000;
        }
        if self.cfg_queue.val() && (self.cfg_word.val() == self.shared_word.val()) {
            self.queues.write_bytes.next = self.queues.write_bytes.val() | 0b100_0000;
        }
        self.queues.write_address.next = self.cfg_index.val().get_bits::<QUEUE>(0);
        self.queues.write_data.next = bit_cast::<QUEUE_WORD, 32>(self.cfg_data.val())
            | (bit_cast::<QUEUE_WORD, OWNER>(self.queue_owner.val()) << OWNER_AT as u64)
            | (bit_cast::<QUEUE_WORD, 1>(
                self.cfg_data.val().get_bits::<1>(self.shared_at.val().index()),
            ) << SHARED_AT as u64);
        self.queues.ahead.next = self.next_queue.val();
        self.queue_pd.next = self.queues.read_data.val().get_bits::<32>(0);
        self.owner.next = self.queues.read_data.val().get_bits::<QP>(OWNER_AT);
        self.owned.next = self.queues.read_data.val().get_bit(OWNER_AT + QP);
        self.shared.next = self.queues.read_data.val().get_bit(SHARED_AT);
        self.unused_queue.next = self.queues.read_data.val();
        self.stopped.set_valid.next = self.stop_valid.val();
        self.stopped.set_index.next = self.stop_queue.val();
        self.stopped.clear_valid.next = self.cfg_enable.val();
        self.stopped.clear_index.next = self.cfg_index.val().get_bits::<QUEUE>(0);
        self.stopped.wipe_valid.next = self.cfg_every.val();
        self.stopped.ahead[0].next = self.queue.val();
        self.halted.next = self.queue_halted.val() || self.stopped.flag[0].val();

        // Queue pairs: whether there are such a transport and such an MTU, once they are written.
        self.shape.next = bit_cast::<SHAPE, 2>(
            self.cfg_data.val().get_bits::<2>(self.transport_at.val().index()),
        ) | (bit_cast::<SHAPE, 4>(
            self.cfg_data.val().get_bits::<4>(self.mtu_at.val().index()),
        ) << 2);
        if (self.cfg_data.val().get_bits::<8>(self.transport_at.val().index()) < 3)
            && (self.cfg_data.val().get_bits::<8>(self.mtu_at.val().index()) >= 8)
            && (self.cfg_data.val().get_bits::<8>(self.mtu_at.val().index()) <= 12)
        {
            self.shape.next = self.shape.val() | 0x40;
        }
        // READs and atomics: none until the host says so after a reset.
        self.may_ask.next = 0.into();
        if self.cfg_data.val().get_bits::<8>(self.asks_at.val().index()).any()
            && !self.cfg_every.val()
        {
            self.may_ask.next = 1.into();
        }
        self.pairs.write_bytes.next = 0.into();
        if self.cfg_qp.val() && (self.cfg_word.val() == self.qp_pd_word.val()) {
            self.pairs.write_bytes.next = self.pairs.write_bytes.val() | 0b1111;
        }
        if self.cfg_qp.val() && (self.cfg_word.val() == self.transport_word.val()) {
            self.pairs.write_bytes.next = self.pairs.write_bytes.val() | 0b1_0000;
        }
        if self.cfg_every.val()
            || (self.cfg_attributes.val() && (self.cfg_word.val() == self.asks_word.val()))
        {
            self.pairs.write_bytes.next = self.pairs.write_bytes.val() | 0b10_0000;
        }
        self.pairs.write_address.next = self.cfg_index.val().get_bits::<QP>(0);
        self.pairs.write_data.next = bit_cast::<PAIR_WORD, 32>(self.cfg_data.val())
            | (bit_cast::<PAIR_WORD, SHAPE>(self.shape.val()) << SHAPE_AT as u64)
            | (bit_cast::<PAIR_WORD, 1>(self.may_ask.val()) << ASKS_AT as u64);
        self.pairs.ahead.next = self.next_qp.val();
        self.unused_pair.next = self.pairs.read_data.val();
        self.transport.next = self.pairs.read_data.val().get_bits::<2>(SHAPE_AT);
        self.log_mtu.next = self.pairs.read_data.val().get_bits::<4>(SHAPE_AT + 2);
        self.legal.d.next = self.pairs.read_data.val().get_bit(SHAPE_AT + 6)
            && (self.pairs.read_data.val().get_bits::<32>(0)
                == self.queues.read_data.val().get_bits::<32>(0));
        self.asks.next = self.pairs.read_data.val().get_bit(ASKS_AT);

        // Readiness and stamp are of the same cycle: a request that is checked with a stamp was ready then.
        self.ready_bits.write_enable.next = self.cfg_qp.val();
        self.ready_bits.write_address.next = self.cfg_index.val().get_bits::<QP>(0);
        self.ready_bits.write_data.next = 0.into();
        if (self.cfg_word.val() == self.state_word.val()) && (self.cfg_data.val() == 1) {
            self.ready_bits.write_data.next = 1.into();
        }
        self.ready_bits.ahead.next = self.qp.val();
        self.ready.next = (self.ready_bits.read_data.val() == 1) && self.legal.q.val();
        self.stamps.written.next = self.cfg_qp.val();
        self.stamps.index.next = self.cfg_index.val().get_bits::<QP>(0);
        self.stamps.ahead[0].next = self.qp.val();
        self.stamp.next = self.stamps.stamp[0].val();
    }
}
