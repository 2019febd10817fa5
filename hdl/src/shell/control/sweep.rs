//! Clears the tables after a reset.

use drdma_emit::prelude::*;

use crate::context::INDEX;

/// Counts through the entries, one a cycle. Control clears that entry of every table, so that nothing is ready, valid
/// or enabled until the host says so. A table of fewer entries is cleared more than once.
#[derive(LogicBlock, BlockDefault)]
pub struct Sweep {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset: the count starts anew.
    pub rst: Signal<In, Bit>,
    /// Entry `index` is being cleared; high until all entries are.
    pub busy: Signal<Out, Bit>,
    /// Number of the entry that is cleared.
    pub index: Signal<Out, Bits<INDEX>>,
    active: DFF<Bit>,
    at: DFF<Bits<INDEX>>,
}

impl Logic for Sweep {
    #[hdl_gen]
    fn update(&mut self) {
        self.busy.next = self.active.q.val();
        self.index.next = self.at.q.val();
        if self.active.q.val() {
            self.at.d.next = self.at.q.val() + 1;
            if self.at.q.val().all() {
                self.active.d.next = false;
            }
        }
        if self.rst.val() {
            self.active.d.next = true;
            self.at.d.next = 0.into();
        }
    }
}
