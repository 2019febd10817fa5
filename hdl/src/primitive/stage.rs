//! A register of a stream.

use drdma_emit::prelude::*;

/// Holds a beat of `W` bits. `in_ready` depends on `out_ready`: if that comes from another block's port, use a
/// [`Skid`](super::Skid), which costs a lookup table for each bit.
///
/// Latency 1 cycle; 1 beat per cycle; may stall at any time.
///
/// # Inputs
/// `clk`, `rst` (synchronous, empties the register), `in_valid`, `in_data`, `out_ready`.
///
/// # Outputs
/// `in_ready`, `out_valid`, `out_data`.
#[derive(LogicBlock, Default)]
pub struct Stage<const W: usize> {
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
    /// The held beat is offered at the output.
    pub out_valid: Signal<Out, Bit>,
    /// The held beat.
    pub out_data: Signal<Out, Bits<W>>,
    /// The beat at the output is taken at the end of this cycle.
    pub out_ready: Signal<In, Bit>,
    valid: DFF<Bit>,
    data: DFF<Bits<W>>,
}

impl<const W: usize> Logic for Stage<W> {
    #[hdl_gen]
    fn update(&mut self) {
        self.in_ready.next = !self.valid.q.val() || self.out_ready.val();
        self.out_valid.next = self.valid.q.val();
        self.out_data.next = self.data.q.val();
        if self.in_ready.val() {
            self.valid.d.next = self.in_valid.val();
            self.data.d.next = self.in_data.val();
        }
        if self.rst.val() {
            self.valid.d.next = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use drdma_verilated::testbench::{Beat, Bench, Random, STALLS};

    #[test]
    fn every_beat_passes_once_and_in_order_a_cycle_later() {
        let library = testing::library("stage", Stage::<100>::default);
        for (seed, stalls) in (1..).zip(STALLS) {
            let mut random = Random::new(seed);
            let mut bench = Bench::new(library.instance(seed), seed);
            let (input, output) = (bench.driver("in"), bench.monitor("out"));
            bench.stall(stalls);
            let beats: Vec<_> =
                (0..500).map(|_| Beat::new().with("data", random.word(100))).collect();
            bench.send_all(input, beats.clone());
            bench.run_until_received(output, beats.len());
            assert_eq!(bench.take(output), beats);
            if stalls == (0.0, 0.0) {
                assert!((1..=500).eq(bench.received_at(output).iter().copied()));
            }
        }
    }
}
