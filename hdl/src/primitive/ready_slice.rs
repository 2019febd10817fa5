//! Half a register slice: cuts the path of `ready` alone.

use drdma_emit::prelude::*;

/// Passes beats of `W` bits, and holds one that comes while the output is stalled, so that `in_ready` comes straight
/// from a register.
///
/// Latency 0; 1 beat a cycle; may stall at any time. `out_valid` and `out_data` follow the input through a multiplexer,
/// so that the logic of both sides is in one path.
///
/// # Inputs
/// `clk`, `rst` (synchronous, empties the slice), `in_valid`, `in_data`, `out_ready`.
///
/// # Outputs
/// `in_ready`, `out_valid`, `out_data`.
#[derive(LogicBlock, Default)]
pub struct ReadySlice<const W: usize> {
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
    held: DFF<Bit>,
    data: DFF<Bits<W>>,
}

impl<const W: usize> Logic for ReadySlice<W> {
    #[hdl_gen]
    fn update(&mut self) {
        self.in_ready.next = !self.held.q.val();
        self.out_valid.next = self.held.q.val() || self.in_valid.val();
        self.out_data.next = self.in_data.val();
        if self.held.q.val() {
            self.out_data.next = self.data.q.val();
        } else {
            self.data.d.next = self.in_data.val();
        }
        self.held.d.next = !self.out_ready.val() && (self.held.q.val() || self.in_valid.val());
        if self.rst.val() {
            self.held.d.next = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use drdma_verilated::testbench::{Beat, Bench, Random, STALLS};

    #[test]
    fn every_beat_passes_once_and_in_order_under_stalls() {
        let library = testing::library("ready_slice", ReadySlice::<100>::default);
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
                assert_eq!(bench.received_at(output), (0..500).collect::<Vec<_>>());
            }
        }
    }
}
