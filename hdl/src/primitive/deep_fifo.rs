//! A deep FIFO that delivers a beat in every cycle.

use super::{Fifo, PromptFifo};
use drdma_emit::prelude::*;

/// Holds at least 2^`A` beats of `W` bits in block RAM or UltraRAM, behind a [`PromptFifo`] of 32 in lookup
/// tables; `C` = `A` + 1 is the width of the counter.
///
/// The first output follows the first input after 1 cycle, and in every cycle in which a beat is held there is one at
/// the output: reading the memory costs time only while 32 older beats are ready to be taken. (A [`PromptFifo`] of
/// block RAM has a cycle without a beat if the second one comes just before the first one is taken.) 1 beat a cycle;
/// may stall at any time. All outputs come from registers; `in_data` and `in_valid` feed a multiplexer and that of the
/// [`PromptFifo`].
///
/// # Inputs
/// `clk`, `rst` (synchronous, empties the FIFO), `in_valid`, `in_data`, `out_ready`.
///
/// # Outputs
/// `in_ready`, `out_valid`, `out_data`; `free` (least number of beats that it can still take).
#[derive(LogicBlock, BlockDefault)]
pub struct DeepFifo<const W: usize, const A: usize, const C: usize> {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// A beat is offered.
    pub in_valid: Signal<In, Bit>,
    /// The offered beat.
    pub in_data: Signal<In, Bits<W>>,
    /// The offered beat is accepted at the end of this cycle.
    pub in_ready: Signal<Out, Bit>,
    /// A beat is at the output.
    pub out_valid: Signal<Out, Bit>,
    /// The beat at the output.
    pub out_data: Signal<Out, Bits<W>>,
    /// The beat at the output is accepted at the end of this cycle.
    pub out_ready: Signal<In, Bit>,
    /// Least number of beats that can still be accepted.
    pub free: Signal<Out, Bits<C>>,

    near: PromptFifo<W, 5, 6>,
    far: Fifo<W, A, C>,
    /// Older beats are in the memory, or on their way from it.
    behind: Signal<Local, Bit>,
}

impl<const W: usize, const A: usize, const C: usize> Logic for DeepFifo<W, A, C> {
    #[hdl_gen]
    fn update(&mut self) {
        self.behind.next = self.far.count.val().any();
        self.in_ready.next = self.far.in_ready.val();
        self.free.next = self.far.free.val();
        self.far.in_valid.next =
            self.in_valid.val() && (self.behind.val() || !self.near.in_ready.val());
        self.far.in_data.next = self.in_data.val();
        self.far.out_ready.next = self.near.in_ready.val();
        self.near.in_valid.next = self.in_valid.val();
        self.near.in_data.next = self.in_data.val();
        if self.behind.val() {
            self.near.in_valid.next = self.far.out_valid.val();
            self.near.in_data.next = self.far.out_data.val();
        }
        self.out_valid.next = self.near.out_valid.val();
        self.out_data.next = self.near.out_data.val();
        self.near.out_ready.next = self.out_ready.val();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use drdma_verilated::testbench::{Beat, Bench, Random, STALLS};
    use std::cell::Cell;

    #[test]
    fn a_beat_is_there_whenever_one_is_held() {
        const DEPTH: u64 = 128;
        let library = testing::library("deep_fifo", DeepFifo::<40, 7, 8>::default);
        for (seed, stalls) in (1..).zip(STALLS) {
            let mut random = Random::new(seed);
            let (held, fullest, in_memory) = (Cell::new(0), Cell::new(0), Cell::new(false));
            let mut bench = Bench::new(library.instance(seed), seed);
            let (input, output) = (bench.driver("in"), bench.monitor("out"));
            bench.stall(stalls);
            bench.observe(|model, cycle| {
                assert_eq!(model.get("out_valid"), u64::from(held.get() > 0), "cycle {cycle}");
                let free = model.get("free");
                assert!(free + held.get() >= DEPTH, "{free} free beside {}", held.get());
                assert_eq!(model.get("in_ready"), u64::from(free > 0), "cycle {cycle}");
                in_memory.set(in_memory.get() || free < DEPTH);
                fullest.set(held.get().max(fullest.get()));
                held.set(held.get() + (model.get("in_valid") & model.get("in_ready")));
                held.set(held.get() - (model.get("out_valid") & model.get("out_ready")));
            });
            let beats: Vec<_> =
                (0..3000).map(|_| Beat::new().with("data", random.word(40))).collect();
            bench.send_all(input, beats.clone());
            // The output stops now and then, so that the memory fills and drains at full speed.
            for _ in 0..4 {
                bench.stall_monitor(output, 1.0);
                bench.run(40 + seed * 20);
                bench.stall_monitor(output, stalls.1);
                bench.run(150);
            }
            bench.run_until_received(output, beats.len());
            assert_eq!(bench.take(output), beats);
            if stalls.0 < 0.5 {
                assert!(in_memory.get(), "the memory is used");
            }
            if stalls.1 > 0.8 {
                assert!(fullest.get() >= DEPTH, "the whole depth is used");
            }
        }
    }
}
