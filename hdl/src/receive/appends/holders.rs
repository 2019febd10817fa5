//! Finds out whether a queue pair may still hold an append region.

use crate::context::{ConfigWrite, QP, Stamps, Table, TableSelect};
use drdma_emit::prelude::*;

/// State of attributes that leaves the receives and regions that a queue pair has in use unchanged.
const GOES_ON: u64 = 2;
/// Bits of a stamp.
pub const STAMP: usize = 32;

/// Watches queue pairs: one holds a region no longer when it is broken, or when the host resets it or its attributes.
///
/// Contract: one queue pair a cycle, asked for a cycle ahead.
///
/// # Inputs
/// `clk`, `rst`; `cfg`; `next_qp`; `qp_error`: the queue pair of the cycle before is in the error state.
///
/// # Outputs
/// `error_next`; `lives`: the queue pair of the cycle before receives; `stamp`: changes whenever that queue pair is
/// reset.
#[derive(LogicBlock, BlockDefault)]
pub struct Holders {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset; all tables are cleared after it.
    pub rst: Signal<In, Bit>,
    /// Words that the host writes into tables.
    pub cfg: Flow<In, ConfigWrite>,
    /// The queue pair that is asked about in the next cycle.
    pub next_qp: Signal<In, Bits<QP>>,
    /// The queue pair whose `qp_error` is asked for in the next cycle: that of `next_qp`.
    pub error_next: Signal<Out, Bits<QP>>,
    /// The queue pair of `error_next`, one cycle before, is in the error state.
    pub qp_error: Signal<In, Bit>,
    /// The queue pair of `next_qp`, one cycle before, receives: its entry and attributes are valid, and it is not in
    /// the error state.
    pub lives: Signal<Out, Bit>,
    /// The stamp of that queue pair's last reset.
    pub stamp: Signal<Out, Bits<STAMP>>,

    select: TableSelect,
    resets: Signal<Local, Bit>,
    stamps: Stamps<STAMP, QP, 1>,
    /// Of each queue pair: its entry is valid; its attributes are.
    exists: Table<1, QP>,
    receives: Table<1, QP>,
}

impl Logic for Holders {
    #[hdl_gen]
    fn update(&mut self) {
        self.select.valid.next = self.cfg.valid.val();
        self.select.number.next = self.cfg.table.val();
        self.select.word.next = self.cfg.word.val();
        self.resets.next = self.select.every.val()
            || (self.select.state.val() && !self.cfg.data.val().any())
            || (self.select.receive_state.val() && (self.cfg.data.val() != GOES_ON));
        self.stamps.written.next = self.resets.val();
        self.stamps.index.next = self.cfg.index.val().get_bits::<QP>(0);
        self.stamps.ahead[0].next = self.next_qp.val();
        self.stamp.next = self.stamps.stamp[0].val();
        self.exists.write_enable.next = self.select.state.val();
        self.exists.write_address.next = self.cfg.index.val().get_bits::<QP>(0);
        self.exists.write_data.next = 0.into();
        self.receives.write_enable.next = self.select.receive_state.val();
        self.receives.write_address.next = self.cfg.index.val().get_bits::<QP>(0);
        self.receives.write_data.next = 0.into();
        if self.cfg.data.val().any() {
            self.exists.write_data.next = 1.into();
            self.receives.write_data.next = 1.into();
        }
        self.exists.ahead.next = self.next_qp.val();
        self.receives.ahead.next = self.next_qp.val();
        self.error_next.next = self.next_qp.val();
        self.lives.next = (self.exists.read_data.val() == 1)
            && (self.receives.read_data.val() == 1)
            && !self.qp_error.val();
    }
}
