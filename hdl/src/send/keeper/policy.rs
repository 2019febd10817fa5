//! Keeps which queue pairs keep the packets that they send, and how often they send them again.

use drdma_abi::Layout;
use drdma_abi::receive::AttributesEntry;
use drdma_abi::register::QueuePairEntry;
use drdma_abi::roce::Transport;
use drdma_emit::prelude::*;

use crate::context::{ATTRIBUTES_TABLE, ConfigWrite, EVERY_TABLE, QP, QUEUE_PAIR_TABLE, Table};

/// The number of the word that has a field.
fn word<L: Layout>(name: &str) -> Constant<Bits<4>> {
    Constant::new((L::field(name).start / 32).to_bits())
}

fn table(number: u64) -> Constant<Bits<3>> {
    Constant::new(number.into())
}

/// Fails at compile time unless the fields stand where the kernel takes them from.
fn fields_stand() -> bool {
    assert_eq!(QueuePairEntry::field("transport").start % 32, 16, "transport stands elsewhere");
    for (name, bit) in
        [("max_rd_atomic", 16), ("timeout", 24), ("retry_cnt", 0), ("rnr_retry", 8), ("state", 0)]
    {
        assert_eq!(AttributesEntry::field(name).start % 32, bit, "{name} stands elsewhere");
    }
    let [outstanding, timeout] =
        ["max_rd_atomic", "timeout"].map(|name| AttributesEntry::field(name).start / 32);
    assert_eq!(outstanding, timeout, "max_rd_atomic is in another word than timeout");
    true
}

/// Policy of a queue pair for lost packets.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Policy {
    /// The queue pair keeps its packets: it is reliable, has attributes, and sends again, or READs.
    pub keeps: Bit,
    /// READs and atomics that the queue pair may have outstanding; 0: it sends none.
    pub max_rd_atomic: Bits<5>,
    /// Tries after a timeout or a NAK without progress, 0 to 7.
    pub retry_cnt: Bits<3>,
    /// Tries after an RNR NAK, 0 to 6; 7: no limit.
    pub rnr_retry: Bits<3>,
    /// Binary logarithm of the time to wait for an acknowledgement, in units of 4.096 us; 0: there is no timeout, as
    /// without tries.
    pub timeout: Bits<5>,
}

/// Knows the policy of each queue pair.
///
/// # Inputs
/// `clk`; `cfg`; `next_qp`: the queue pair whose policy is asked for in the next cycle.
///
/// # Outputs
/// `policy`: that of `next_qp` one cycle before, with all writes of earlier cycles.
#[derive(LogicBlock, BlockDefault)]
#[check(fields_stand())]
pub struct Policies {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Words that the host writes into tables.
    pub cfg: Flow<In, ConfigWrite>,
    /// The queue pair whose policy is asked for in the next cycle.
    pub next_qp: Signal<In, Bits<QP>>,
    /// The policy of the queue pair of `next_qp`, one cycle before.
    pub policy: Signal<Out, Policy>,

    every: Signal<Local, Bit>,
    pair: Signal<Local, Bit>,
    attributes: Signal<Local, Bit>,
    is_reliable: Signal<Local, Bit>,
    is_live: Signal<Local, Bit>,
    counts_data: Signal<Local, Bits<6>>,
    reliable: Table<1, QP>,
    times: Table<5, QP>,
    outstanding: Table<5, QP>,
    counts: Table<6, QP>,
    live: Table<1, QP>,
    unused: Signal<Local, Bits<32>>,
    #[init(table(EVERY_TABLE))]
    all_tables: Constant<Bits<3>>,
    #[init(table(QUEUE_PAIR_TABLE))]
    pair_table: Constant<Bits<3>>,
    #[init(table(ATTRIBUTES_TABLE))]
    attributes_table: Constant<Bits<3>>,
    #[init(word::<QueuePairEntry>("transport"))]
    transport_word: Constant<Bits<4>>,
    #[init(word::<AttributesEntry>("timeout"))]
    timeout_word: Constant<Bits<4>>,
    #[init(word::<AttributesEntry>("retry_cnt"))]
    retry_word: Constant<Bits<4>>,
    #[init(word::<AttributesEntry>("state"))]
    state_word: Constant<Bits<4>>,
}

impl Logic for Policies {
    #[hdl_gen]
    fn update(&mut self) {
        self.unused.next = self.cfg.data.val();
        self.every.next = self.cfg.valid.val() && (self.cfg.table.val() == self.all_tables.val());
        self.pair.next = self.cfg.valid.val() && (self.cfg.table.val() == self.pair_table.val());
        self.attributes.next =
            self.cfg.valid.val() && (self.cfg.table.val() == self.attributes_table.val());

        self.is_reliable.next =
            self.cfg.data.val().get_bits::<2>(16) == (Transport::Rc as usize).to_bits();
        self.reliable.write_enable.next =
            self.pair.val() && (self.cfg.word.val() == self.transport_word.val());
        self.reliable.write_address.next = self.cfg.index.val().get_bits::<QP>(0);
        self.reliable.write_data.next = bit_cast::<1, 1>(self.is_reliable.val().into());
        self.times.write_enable.next =
            self.attributes.val() && (self.cfg.word.val() == self.timeout_word.val());
        self.times.write_address.next = self.cfg.index.val().get_bits::<QP>(0);
        self.times.write_data.next = self.cfg.data.val().get_bits::<5>(24);
        // `max_rd_atomic` is in the same word.
        self.outstanding.write_enable.next = self.times.write_enable.val();
        self.outstanding.write_address.next = self.cfg.index.val().get_bits::<QP>(0);
        self.outstanding.write_data.next = self.cfg.data.val().get_bits::<5>(16);
        self.counts_data.next = bit_cast::<6, 3>(self.cfg.data.val().get_bits::<3>(0))
            | (bit_cast::<6, 3>(self.cfg.data.val().get_bits::<3>(8)) << 3);
        self.counts.write_enable.next =
            self.attributes.val() && (self.cfg.word.val() == self.retry_word.val());
        self.counts.write_address.next = self.cfg.index.val().get_bits::<QP>(0);
        self.counts.write_data.next = self.counts_data.val();
        self.is_live.next = self.cfg.data.val().any() && !self.every.val();
        self.live.write_enable.next = self.every.val()
            || (self.attributes.val() && (self.cfg.word.val() == self.state_word.val()));
        self.live.write_address.next = self.cfg.index.val().get_bits::<QP>(0);
        self.live.write_data.next = bit_cast::<1, 1>(self.is_live.val().into());

        self.reliable.ahead.next = self.next_qp.val();
        self.times.ahead.next = self.next_qp.val();
        self.outstanding.ahead.next = self.next_qp.val();
        self.counts.ahead.next = self.next_qp.val();
        self.live.ahead.next = self.next_qp.val();
        self.policy.next.keeps = self.reliable.read_data.val().any()
            && self.live.read_data.val().any()
            && (self.counts.read_data.val().any() || self.outstanding.read_data.val().any());
        self.policy.next.max_rd_atomic = self.outstanding.read_data.val();
        self.policy.next.retry_cnt = self.counts.read_data.val().get_bits::<3>(0);
        self.policy.next.rnr_retry = self.counts.read_data.val().get_bits::<3>(3);
        self.policy.next.timeout = 0.into();
        if self.counts.read_data.val().any() {
            self.policy.next.timeout = self.times.read_data.val();
        }
    }
}
