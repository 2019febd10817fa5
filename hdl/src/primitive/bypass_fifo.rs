//! A FIFO that beats pass while it is empty.

use super::PromptFifo;
use rust_hdl_core::prelude::*;

/// A FIFO of 2^`A` beats of `W` bits whose output is its input while it is empty; `C` = `A` + 1.
///
/// Latency 0 while empty, else what the beats before take; 1 beat per cycle; may stall at any time.
/// `in_ready` and `count` come from registers. `out_valid` and `out_data` follow the input through a
/// multiplexer: both sides' logic in between counts as one path.
///
/// # Inputs
/// `clk`, `rst` (synchronous, empties the FIFO), `in_valid`, `in_data`, `out_ready`.
///
/// # Outputs
/// `in_ready`, `out_valid`, `out_data`; `count` (beats held), `free` (beats that it can still take).
#[derive(LogicBlock, Default)]
pub struct BypassFifo<const W: usize, const A: usize, const C: usize> {
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
    /// That beat.
    pub out_data: Signal<Out, Bits<W>>,
    /// The beat at the output is taken at the end of this cycle.
    pub out_ready: Signal<In, Bit>,
    /// Beats held.
    pub count: Signal<Out, Bits<C>>,
    /// Beats that can still be taken.
    pub free: Signal<Out, Bits<C>>,
    held: PromptFifo<W, A, C>,
}

impl<const W: usize, const A: usize, const C: usize> Logic for BypassFifo<W, A, C> {
    #[hdl_gen]
    fn update(&mut self) {
        self.held.clk.next = self.clk.val();
        self.held.rst.next = self.rst.val();
        self.held.in_data.next = self.in_data.val();
        self.held.out_ready.next = self.out_ready.val();
        self.in_ready.next = self.held.in_ready.val();
        self.count.next = self.held.count.val();
        self.free.next = self.held.free.val();
        // What is held is at the output at once, so that nothing is where that holds nothing.
        if self.held.out_valid.val() {
            self.out_valid.next = true;
            self.out_data.next = self.held.out_data.val();
            self.held.in_valid.next = self.in_valid.val();
        } else {
            self.out_valid.next = self.in_valid.val();
            self.out_data.next = self.in_data.val();
            self.held.in_valid.next = self.in_valid.val() && !self.out_ready.val();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fifo::tests::check;
    use super::*;
    use crate::testing;

    #[test]
    fn beats_pass_at_once_in_order_and_are_counted() {
        check::<40, 3>(&testing::library("bypass_fifo", BypassFifo::<40, 3, 4>::default), 0);
    }
}
