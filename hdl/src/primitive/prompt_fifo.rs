//! A FIFO of latency 1 while it is empty.

use super::{RamStyle, fifo};
use drdma_emit::prelude::*;

/// A [`Fifo`](super::Fifo) whose first output follows its first input after 1 cycle, whatever its memory is: a beat
/// that finds the FIFO empty goes straight to the output register.
///
/// `in_data` and `in_valid` feed the multiplexer of that register, and should come from little logic. Inputs and
/// outputs are those of [`Fifo`](super::Fifo); the outputs come from registers as well.
#[derive(LogicBlock)]
pub struct PromptFifo<const W: usize, const A: usize, const C: usize> {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// A beat is offered.
    pub in_valid: Signal<In, Bit>,
    /// The offered beat.
    pub in_data: Signal<In, Bits<W>>,
    /// The offered beat is taken at the end of this cycle.
    pub in_ready: Signal<Out, Bit>,
    /// A beat is at the output.
    pub out_valid: Signal<Out, Bit>,
    /// The beat at the output.
    pub out_data: Signal<Out, Bits<W>>,
    /// The beat at the output is taken at the end of this cycle.
    pub out_ready: Signal<In, Bit>,
    /// Number of beats held.
    pub count: Signal<Out, Bits<C>>,
    /// Number of beats that can still be taken.
    pub free: Signal<Out, Bits<C>>,
    _style: RamStyle,
}

impl<const W: usize, const A: usize, const C: usize> Default for PromptFifo<W, A, C> {
    fn default() -> Self {
        Self::new(RamStyle::for_fifo(W, 1_usize << A))
    }
}

impl<const W: usize, const A: usize, const C: usize> PromptFifo<W, A, C> {
    /// A FIFO in memory of `style`.
    ///
    /// # Panics
    /// `C` is not `A` + 1, or `A` is 0.
    pub fn new(style: RamStyle) -> Self {
        assert!(A > 0, "PromptFifo: the depth is 1");
        assert_eq!(
            C,
            A + 1,
            "PromptFifo: a depth of 2^{A} needs counters of {} bits, not {C}",
            A + 1
        );
        Self {
            clk: Signal::default(),
            rst: Signal::default(),
            in_valid: Signal::default(),
            in_data: Signal::default(),
            in_ready: Signal::default(),
            out_valid: Signal::default(),
            out_data: Signal::default(),
            out_ready: Signal::default(),
            count: Signal::default(),
            free: Signal::default(),
            _style: style,
        }
    }
}

impl<const W: usize, const A: usize, const C: usize> Logic for PromptFifo<W, A, C> {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.in_ready.connect();
        self.out_valid.connect();
        self.out_data.connect();
        self.count.connect();
        self.free.connect();
    }

    fn hdl(&self) -> Verilog {
        Verilog::Custom(fifo::text(self._style, W, A, true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn beats_pass_after_a_cycle_in_order_and_are_counted_in_lookup_tables() {
        let fifo = || PromptFifo::<40, 3, 4>::new(RamStyle::Distributed);
        fifo::tests::check::<40, 3>(&testing::library("prompt_fifo_distributed", fifo), 1);
    }

    #[test]
    fn beats_pass_after_a_cycle_in_order_and_are_counted_in_block_ram() {
        let fifo = || PromptFifo::<512, 5, 6>::new(RamStyle::Block);
        fifo::tests::check::<512, 5>(&testing::library("prompt_fifo_block", fifo), 1);
    }
}
