//! Keeps the counters of the register map.

use drdma_abi::register::COUNTERS;
use drdma_emit::prelude::*;

/// Number of counters.
const COUNT: usize = COUNTERS.len();

/// Keeps counters of 64 bits; each adds up to 65,535 a cycle, and wraps. An amount shows two cycles after it is given.
#[derive(LogicBlock, Default)]
pub struct CounterBank {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// All counters are set to 0.
    pub clear: Signal<In, Bit>,
    /// Amount to add to each counter in this cycle.
    pub amounts: [Signal<In, Bits<16>>; COUNT],
    /// Number of the counter that is read.
    pub index: Signal<In, Bits<5>>,
    /// Value of the counter `index`, in the same cycle.
    pub value: Signal<Out, Bits<64>>,
    sums: [DFF<Bits<64>>; COUNT],
    added: [DFF<Bits<16>>; COUNT],
}

impl Logic for CounterBank {
    #[hdl_gen]
    fn update(&mut self) {
        for k in 0..COUNT {
            self.added[k].d.next = self.amounts[k].val();
            self.sums[k].d.next = self.sums[k].q.val() + self.added[k].q.val().get_bits::<64>(0);
            if self.clear.val() {
                self.added[k].d.next = bits::<16>(0);
                self.sums[k].d.next = bits::<64>(0);
            }
        }
        self.value.next = self.sums[0].q.val();
        for k in 1..COUNT {
            if self.index.val() == k.to_bits() {
                self.value.next = self.sums[k].q.val();
            }
        }
    }
}
