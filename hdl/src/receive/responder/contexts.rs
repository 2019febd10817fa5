//! Keeps the responder's copies of the queue pairs' tables.

use super::record::Settings;
use crate::context::{
    ATTRIBUTES_TABLE, ConfigWrite, EVERY_TABLE, QP, QUEUE, QUEUE_PAIR_TABLE, QueuePairIndex,
    RECEIVE_QUEUE_TABLE, Table, word_of,
};
use crate::primitive::{Pack, Ram, RamStyle};
use crate::receive::record::KEPT;
use drdma_abi::Layout;
use drdma_abi::receive::{AttributesEntry, MAX_RD_ATOMIC, ReceiveQueueEntry, rights};
use drdma_abi::register::QueuePairEntry;
use drdma_emit::prelude::*;

/// Words of a queue pair's entry that are kept, and words of its attributes.
const ENTRY_WORDS: usize = 6;
const ATTRIBUTES_WORDS: usize = 2;
/// Bits of these words.
const ENTRY: usize = 32 * ENTRY_WORDS;
const ATTRIBUTES: usize = 32 * ATTRIBUTES_WORDS;

/// Places of the words among those that are kept.
const DEST_IP: usize = 0;
const QKEY: usize = 32;
const SHAPE: usize = 64;
const VLAN: usize = 96;
const PD: usize = 128;
const QPN: usize = 160;
const QUEUE_OF: usize = 0;
const TIMER: usize = 32;

/// Bits of `rights` that allow WRITEs, READs and atomics.
const WRITE_RIGHT: usize = 24 + rights::REMOTE_WRITE.trailing_zeros() as usize;
const READ_RIGHT: usize = 24 + rights::REMOTE_READ.trailing_zeros() as usize;
const ATOMIC_RIGHT: usize = 24 + rights::REMOTE_ATOMIC.trailing_zeros() as usize;
/// Place of the number of READs and atomics that are kept, and the largest such number.
const LIMIT: usize = TIMER + 8;
const MOST: u64 = MAX_RD_ATOMIC as u64;

fn stands<L: Layout>(field: &str, at: usize) -> bool {
    L::field(field).start % 32 == at
}

/// Knows what the host has written about a queue pair, and the sequence number with which its packets begin.
///
/// An entry and attributes are valid from the write of their last word, if that says so, until any word of them is
/// written. Attributes take effect a cycle later than other words, because the first sequence number is looked up.
///
/// Contract: one queue pair a cycle, asked for a cycle ahead. `used` must not come in a cycle with `begins`.
///
/// # Inputs
/// `clk`; `cfg`; `next_qp`; `used`: a packet of the queue pair has come.
///
/// # Outputs
/// `settings` of the queue pair of `next_qp` one cycle before; `shared`: the receive queue of `settings` one cycle
/// before is a shared one. `begins`: the queue pair begins anew, from the next cycle on.
#[derive(LogicBlock, BlockDefault)]
#[check(stands::<QueuePairEntry>("dest_ip", 0) && stands::<QueuePairEntry>("qkey", 0))]
#[check(stands::<QueuePairEntry>("pkey", 0) && stands::<QueuePairEntry>("transport", 16))]
#[check(stands::<QueuePairEntry>("log_mtu", 24) && stands::<QueuePairEntry>("pd", 0))]
#[check(stands::<QueuePairEntry>("qpn", 0))]
#[check(stands::<QueuePairEntry>("vlan", 0) && stands::<QueuePairEntry>("tagged", 16))]
#[check(stands::<AttributesEntry>("rq_psn", 0) && stands::<AttributesEntry>("receive_queue", 0))]
#[check(stands::<AttributesEntry>("receives", 16) && stands::<AttributesEntry>("rights", 24))]
#[check(stands::<AttributesEntry>("max_dest_rd_atomic", 8))]
#[check(stands::<AttributesEntry>("min_rnr_timer", 0) && stands::<ReceiveQueueEntry>("shared", 8))]
pub struct Contexts {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Words that the host writes into tables.
    pub cfg: Flow<In, ConfigWrite>,
    /// The queue pair whose settings are asked for in the next cycle.
    pub next_qp: Signal<In, Bits<QP>>,
    /// Settings of the queue pair of `next_qp`, one cycle before.
    pub settings: Signals<Out, Settings>,
    /// The receive queue of the `settings` of the cycle before is a shared one.
    pub shared: Signal<Out, Bit>,
    /// A queue pair that begins anew, from the next cycle on.
    pub begins: Flow<Out, QueuePairIndex>,
    /// A queue pair of which a packet has come.
    pub used: Flow<In, QueuePairIndex>,

    #[init(Ram::new(RamStyle::Ultra))]
    entries: Ram<ENTRY, ENTRY_WORDS, QP>,
    #[init([
        word_of::<QueuePairEntry>("dest_ip"),
        word_of::<QueuePairEntry>("qkey"),
        word_of::<QueuePairEntry>("pkey"),
        word_of::<QueuePairEntry>("vlan"),
        word_of::<QueuePairEntry>("pd"),
        word_of::<QueuePairEntry>("qpn"),
    ])]
    entry_word: [Constant<Bits<4>>; ENTRY_WORDS],
    entry_data: Pack<ENTRY_WORDS, 32, ENTRY>,
    #[init(word_of::<QueuePairEntry>("state"))]
    state_word: Constant<Bits<4>>,
    exists: Table<1, QP>,

    #[init(Ram::new(RamStyle::Ultra))]
    attributes: Ram<ATTRIBUTES, ATTRIBUTES_WORDS, QP>,
    #[init([
        word_of::<AttributesEntry>("receive_queue"),
        word_of::<AttributesEntry>("min_rnr_timer"),
    ])]
    attributes_word: [Constant<Bits<4>>; ATTRIBUTES_WORDS],
    attributes_data: Pack<ATTRIBUTES_WORDS, 32, ATTRIBUTES>,
    #[init(word_of::<AttributesEntry>("rq_psn"))]
    psn_word: Constant<Bits<4>>,
    #[init(word_of::<AttributesEntry>("state"))]
    receive_state_word: Constant<Bits<4>>,
    receiving: Table<1, QP>,
    /// Sequence numbers as they were written, and as they were when packets were to begin.
    written_psns: Table<24, QP>,
    start_psns: Table<24, QP>,
    fresh: Table<1, QP>,

    #[init(word_of::<ReceiveQueueEntry>("shared"))]
    shared_word: Constant<Bits<4>>,
    shared_queues: Table<1, QUEUE>,

    /// A word of attributes was written in the cycle before; it was `state`; or all entries are cleared.
    late: DFF<Bit>,
    late_state: DFF<Bit>,
    late_every: DFF<Bit>,
    late_index: DFF<Bits<QP>>,
    late_data: DFF<Bits<2>>,

    every: Signal<Local, Bit>,
    entry: Signal<Local, Bit>,
    attribute: Signal<Local, Bit>,
    /// The word makes its entry valid.
    live: Signal<Local, Bit>,
    index: Signal<Local, Bits<QP>>,
    unused: Signal<Local, Bits<ENTRY>>,
    unused_attributes: Signal<Local, Bits<ATTRIBUTES>>,
}

impl Logic for Contexts {
    #[hdl_gen]
    fn update(&mut self) {
        self.index.next = self.cfg.index.val().get_bits::<QP>(0);
        self.every.next = self.cfg.valid.val() && (self.cfg.table.val() == EVERY_TABLE);
        self.entry.next = self.every.val()
            || (self.cfg.valid.val() && (self.cfg.table.val() == QUEUE_PAIR_TABLE));
        self.attribute.next = self.every.val()
            || (self.cfg.valid.val() && (self.cfg.table.val() == ATTRIBUTES_TABLE));
        self.live.next = (self.cfg.data.val() == 1) || (self.cfg.data.val() == 2);

        // Entries of queue pairs.
        self.entries.write_lanes.next = 0.into();
        for k in 0..ENTRY_WORDS {
            self.entry_data.parts[k].next = self.cfg.data.val();
            if self.entry.val() && (self.cfg.word.val() == self.entry_word[k].val()) {
                self.entries.write_lanes.next = self.entries.write_lanes.val().replace_bit(k, true);
            }
        }
        self.entries.write_address.next = self.index.val();
        self.entries.write_data.next = self.entry_data.whole.val();
        self.entries.read_enable.next = true;
        self.entries.read_address.next = self.next_qp.val();
        self.exists.write_enable.next = self.entry.val();
        self.exists.write_address.next = self.index.val();
        self.exists.write_data.next = 0.into();
        if self.live.val() && (self.cfg.word.val() == self.state_word.val()) {
            self.exists.write_data.next = 1.into();
        }
        self.exists.ahead.next = self.next_qp.val();

        // Attributes: their words at once, and whether they are valid a cycle later.
        self.attributes.write_lanes.next = 0.into();
        for k in 0..ATTRIBUTES_WORDS {
            self.attributes_data.parts[k].next = self.cfg.data.val();
            if self.attribute.val() && (self.cfg.word.val() == self.attributes_word[k].val()) {
                self.attributes.write_lanes.next =
                    self.attributes.write_lanes.val().replace_bit(k, true);
            }
        }
        self.attributes.write_address.next = self.index.val();
        self.attributes.write_data.next = self.attributes_data.whole.val();
        self.attributes.read_enable.next = true;
        self.attributes.read_address.next = self.next_qp.val();
        self.written_psns.write_enable.next =
            self.attribute.val() && (self.cfg.word.val() == self.psn_word.val());
        self.written_psns.write_address.next = self.index.val();
        self.written_psns.write_data.next = self.cfg.data.val().get_bits::<24>(0);
        self.written_psns.ahead.next = self.index.val();
        self.late.d.next = self.attribute.val();
        self.late_every.d.next = self.every.val();
        self.late_state.d.next = self.cfg.word.val() == self.receive_state_word.val();
        self.late_index.d.next = self.index.val();
        self.late_data.d.next = 0.into();
        if self.live.val() {
            self.late_data.d.next = self.cfg.data.val().get_bits::<2>(0);
        }
        self.receiving.write_enable.next = self.late.q.val();
        self.receiving.write_address.next = self.late_index.q.val();
        self.receiving.write_data.next = 0.into();
        if self.late_state.q.val() && self.late_data.q.val().any() {
            self.receiving.write_data.next = 1.into();
        }
        self.receiving.ahead.next = self.next_qp.val();

        // A queue pair begins anew.
        self.begins.valid.next = self.late.q.val()
            && (self.late_every.q.val()
                || (self.late_state.q.val() && self.late_data.q.val().get_bit(0)));
        self.begins.qp.next = self.late_index.q.val();
        self.start_psns.write_enable.next = self.begins.valid.val();
        self.start_psns.write_address.next = self.late_index.q.val();
        self.start_psns.write_data.next = self.written_psns.read_data.val();
        self.start_psns.ahead.next = self.next_qp.val();
        self.fresh.write_enable.next = self.begins.valid.val() || self.used.valid.val();
        self.fresh.write_address.next = self.used.qp.val();
        self.fresh.write_data.next = 0.into();
        if self.begins.valid.val() {
            self.fresh.write_address.next = self.late_index.q.val();
            self.fresh.write_data.next = 1.into();
        }
        self.fresh.ahead.next = self.next_qp.val();

        // Receive queues.
        self.shared_queues.write_enable.next = self.cfg.valid.val()
            && (self.cfg.table.val() == RECEIVE_QUEUE_TABLE)
            && (self.cfg.word.val() == self.shared_word.val());
        self.shared_queues.write_address.next = self.cfg.index.val().get_bits::<QUEUE>(0);
        self.shared_queues.write_data.next = 0.into();
        if self.cfg.data.val().get_bits::<8>(8) == 1 {
            self.shared_queues.write_data.next = 1.into();
        }
        self.shared_queues.ahead.next = self.attributes.read_data.val().get_bits::<QUEUE>(QUEUE_OF);
        self.shared.next = self.shared_queues.read_data.val() == 1;

        self.settings.exists.next = self.exists.read_data.val() == 1;
        self.settings.receiving.next = self.receiving.read_data.val() == 1;
        self.settings.fresh.next = self.fresh.read_data.val() == 1;
        self.settings.start_psn.next = self.start_psns.read_data.val();
        self.settings.qpn.next = self.entries.read_data.val().get_bits::<24>(QPN);
        self.settings.dest_ip.next = self.entries.read_data.val().get_bits::<32>(DEST_IP);
        self.settings.qkey.next = self.entries.read_data.val().get_bits::<32>(QKEY);
        self.settings.pkey.next = self.entries.read_data.val().get_bits::<16>(SHAPE);
        self.settings.transport.next = self.entries.read_data.val().get_bits::<8>(SHAPE + 16);
        self.settings.log_mtu.next = self.entries.read_data.val().get_bits::<4>(SHAPE + 24);
        self.settings.vlan.next = 0.into();
        if self.entries.read_data.val().get_bit(VLAN + 16) {
            self.settings.vlan.next = self.entries.read_data.val().get_bits::<12>(VLAN);
        }
        self.settings.pd.next = self.entries.read_data.val().get_bits::<32>(PD);
        self.settings.queue.next = self.attributes.read_data.val().get_bits::<QUEUE>(QUEUE_OF);
        self.settings.has_queue.next =
            self.attributes.read_data.val().get_bits::<8>(QUEUE_OF + 16) == 1;
        self.settings.writable.next = self.attributes.read_data.val().get_bit(WRITE_RIGHT);
        self.settings.readable.next = self.attributes.read_data.val().get_bit(READ_RIGHT)
            && self.attributes.read_data.val().get_bits::<8>(LIMIT).any();
        self.settings.changeable.next = self.attributes.read_data.val().get_bit(ATOMIC_RIGHT)
            && self.attributes.read_data.val().get_bits::<8>(LIMIT).any();
        self.settings.limit.next = self.attributes.read_data.val().get_bits::<KEPT>(LIMIT);
        if self.attributes.read_data.val().get_bits::<8>(LIMIT) > MOST {
            self.settings.limit.next = MOST.into();
        }
        self.settings.rnr_timer.next = self.attributes.read_data.val().get_bits::<5>(TIMER);
        self.unused.next = self.entries.read_data.val();
        self.unused_attributes.next = self.attributes.read_data.val();
    }
}
