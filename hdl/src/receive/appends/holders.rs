//! Whether a queue pair may still hold an append region.

use crate::context::{ConfigWrite, QP, Stamps, Table, TableSelect};
use drdma_emit::prelude::*;

/// The state of attributes that change nothing of what a queue pair has in use.
const GOES_ON: u64 = 2;
/// Bits of a stamp.
pub const STAMP: usize = 32;

/// A queue pair holds a region no longer when it is broken, or when the host resets it or its attributes.
///
/// Contract: asked a cycle ahead, one queue pair a cycle.
///
/// # Inputs
/// `clk`, `rst`; `cfg`; `next_qp`; `qp_error`: the queue pair of the cycle before is in error.
///
/// # Outputs
/// `error_next`; `lives`: the queue pair of the cycle before receives; `stamp`: another one whenever it was reset.
#[derive(LogicBlock, BlockDefault)]
pub struct Holders {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset; all tables are cleared after it.
    pub rst: Signal<In, Bit>,
    /// Words that the host writes into tables.
    pub cfg: Flow<In, ConfigWrite>,
    /// The queue pair that is asked for in the next cycle.
    pub next_qp: Signal<In, Bits<QP>>,
    /// The same.
    pub error_next: Signal<Out, Bits<QP>>,
    /// That of the cycle before is in error.
    pub qp_error: Signal<In, Bit>,
    /// It receives.
    pub lives: Signal<Out, Bit>,
    /// The number of its last reset.
    pub stamp: Signal<Out, Bits<STAMP>>,

    select: TableSelect,
    resets: Signal<Local, Bit>,
    stamps: Stamps<STAMP, QP, 1>,
    /// Its entry is valid, and so are its attributes.
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
