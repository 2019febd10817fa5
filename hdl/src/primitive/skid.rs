//! A register slice: cuts every path between two stages of a stream.

use drdma_emit::prelude::*;

/// Holds up to two beats of `W` bits, so that `in_ready` and `out_valid`, `out_data` come
/// straight from registers.
///
/// Latency 1 cycle; 1 beat per cycle; may stall at any time; no combinational path between the
/// two sides.
///
/// # Inputs
/// `clk`, `rst` (synchronous, empties the slice), `in_valid`, `in_data`, `out_ready`.
///
/// # Outputs
/// `in_ready`, `out_valid`, `out_data`.
#[derive(LogicBlock, Default)]
pub struct Skid<const W: usize> {
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
    valid: DFF<Bit>,
    data: DFF<Bits<W>>,
    spare_valid: DFF<Bit>,
    spare: DFF<Bits<W>>,
    take: Signal<Local, Bit>,
    accept: Signal<Local, Bit>,
}

impl<const W: usize> Logic for Skid<W> {
    #[hdl_gen]
    fn update(&mut self) {
        self.in_ready.next = !self.spare_valid.q.val();
        self.out_valid.next = self.valid.q.val();
        self.out_data.next = self.data.q.val();
        self.accept.next = self.in_valid.val() && !self.spare_valid.q.val();
        // The output register is free at the end of this cycle.
        self.take.next = self.out_ready.val() || !self.valid.q.val();

        if self.take.val() {
            self.valid.d.next = self.spare_valid.q.val() || self.accept.val();
            self.spare_valid.d.next = false;
            if self.spare_valid.q.val() {
                self.data.d.next = self.spare.q.val();
            } else {
                self.data.d.next = self.in_data.val();
            }
        } else if self.accept.val() {
            self.spare_valid.d.next = true;
        }
        if !self.spare_valid.q.val() {
            self.spare.d.next = self.in_data.val();
        }
        if self.rst.val() {
            self.valid.d.next = false;
            self.spare_valid.d.next = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use drdma_verilated::Library;
    use drdma_verilated::testbench::{Beat, Bench, Random, STALLS};

    fn library() -> Library {
        testing::library("skid", Skid::<100>::default)
    }

    #[test]
    fn every_beat_passes_once_and_in_order_under_stalls() {
        let library = library();
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
        }
    }

    #[test]
    fn one_beat_per_cycle_after_one_cycle() {
        let library = library();
        let mut bench = Bench::new(library.instance(1), 1);
        let (input, output) = (bench.driver("in"), bench.monitor("out"));
        bench.send_all(input, (0..100_u64).map(|i| Beat::from([("data", i)])));
        bench.run_until_received(output, 100);
        assert_eq!(bench.sent_at(input).first(), Some(&0));
        assert_eq!(bench.received_at(output), (1..=100).collect::<Vec<_>>());
    }
}
