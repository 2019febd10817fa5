//! FIFO and register slices of streams of records.

use super::{RamStyle, fifo};
use drdma_emit::prelude::*;

/// Holds up to 2^`A` records `T`; `C` = `A` + 1 is the width of the counters.
///
/// Otherwise a [`Fifo`](super::Fifo) or a [`PromptFifo`](super::PromptFifo).
#[derive(LogicBlock)]
pub struct StreamFifo<T: Synth, const A: usize, const C: usize> {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset; empties the FIFO.
    pub rst: Signal<In, Bit>,
    /// Records that enter.
    pub input: Channel<In, T>,
    /// The oldest record that is held.
    pub output: Channel<Out, T>,
    /// Number of records held.
    pub count: Signal<Out, Bits<C>>,
    /// Number of records that can still be accepted.
    pub free: Signal<Out, Bits<C>>,
    _style: RamStyle,
    _prompt: bool,
}

impl<T: Synth, const A: usize, const C: usize> Default for StreamFifo<T, A, C> {
    /// A FIFO in the memory that suits its size.
    fn default() -> Self {
        Self::new(RamStyle::for_fifo(T::BITS, 1_usize << A))
    }
}

impl<T: Synth, const A: usize, const C: usize> StreamFifo<T, A, C> {
    /// A FIFO in memory of `style`.
    ///
    /// # Panics
    /// `C` is not `A` + 1, or `A` is 0.
    pub fn new(style: RamStyle) -> Self {
        assert!(A > 0, "StreamFifo: the depth is 1");
        let right = A + 1;
        assert_eq!(
            C, right,
            "StreamFifo: a depth of 2^{A} needs counters of {right} bits, not {C}"
        );
        Self {
            clk: Signal::default(),
            rst: Signal::default(),
            input: Channel::default(),
            output: Channel::default(),
            count: Signal::default(),
            free: Signal::default(),
            _style: style,
            _prompt: false,
        }
    }

    /// A FIFO whose first output follows its first input after 1 cycle.
    pub fn prompt() -> Self {
        Self { _prompt: true, ..Self::default() }
    }
}

impl<T: Synth, const A: usize, const C: usize> Logic for StreamFifo<T, A, C> {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.input.ready.connect();
        self.output.valid.connect();
        self.output.data.connect();
        self.count.connect();
        self.free.connect();
    }

    fn hdl(&self) -> Verilog {
        let mut text = fifo::text(self._style, T::BITS, A, self._prompt);
        for wire in ["valid", "ready", "data"] {
            text = text.replace(&format!("in_{wire}"), &format!("input${wire}"));
            text = text.replace(&format!("out_{wire}"), &format!("output${wire}"));
        }
        Verilog::Custom(text)
    }
}

/// Holds up to two records, so that `input.ready` and the output come straight from registers.
///
/// Latency 1 cycle; 1 record per cycle; may stall at any time; no combinational path between the two
/// sides.
#[derive(LogicBlock, Default)]
pub struct StreamSkid<T: Synth> {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset; empties the slice.
    pub rst: Signal<In, Bit>,
    /// Records that enter.
    pub input: Channel<In, T>,
    /// The oldest record that is held.
    pub output: Channel<Out, T>,
    valid: DFF<Bit>,
    data: DFF<T>,
    spare_valid: DFF<Bit>,
    spare: DFF<T>,
    free: Signal<Local, Bit>,
    accept: Signal<Local, Bit>,
}

impl<T: Synth> Logic for StreamSkid<T> {
    #[hdl_gen]
    fn update(&mut self) {
        self.input.ready.next = !self.spare_valid.q.val();
        self.output.valid.next = self.valid.q.val();
        self.output.data.next = self.data.q.val();
        self.accept.next = self.input.valid.val() && !self.spare_valid.q.val();
        // The output register is free at the end of this cycle.
        self.free.next = self.output.ready.val() || !self.valid.q.val();

        if self.free.val() {
            self.valid.d.next = self.spare_valid.q.val() || self.accept.val();
            self.spare_valid.d.next = false;
            if self.spare_valid.q.val() {
                self.data.d.next = self.spare.q.val();
            } else {
                self.data.d.next = self.input.data.val();
            }
        } else if self.accept.val() {
            self.spare_valid.d.next = true;
        }
        if !self.spare_valid.q.val() {
            self.spare.d.next = self.input.data.val();
        }
        if self.rst.val() {
            self.valid.d.next = false;
            self.spare_valid.d.next = false;
        }
    }
}

/// Holds a record. `input.ready` depends on `output.ready`: if that comes from another block's port, use a
/// [`StreamSkid`], which costs a lookup table for each bit.
///
/// Latency 1 cycle; 1 record per cycle; may stall at any time.
#[derive(LogicBlock, Default)]
pub struct StreamStage<T: Synth> {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset; empties the register.
    pub rst: Signal<In, Bit>,
    /// Records that enter.
    pub input: Channel<In, T>,
    /// The record that is held.
    pub output: Channel<Out, T>,
    valid: DFF<Bit>,
    data: DFF<T>,
}

impl<T: Synth> Logic for StreamStage<T> {
    #[hdl_gen]
    fn update(&mut self) {
        self.input.ready.next = !self.valid.q.val() || self.output.ready.val();
        self.output.valid.next = self.valid.q.val();
        self.output.data.next = self.data.q.val();
        if self.input.ready.val() {
            self.valid.d.next = self.input.valid.val();
            self.data.d.next = self.input.data.val();
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
    use drdma_verilated::Library;
    use drdma_verilated::testbench::{Beat, Bench, Random, STALLS};

    #[derive(Copy, Clone, Debug, PartialEq, Record)]
    struct Pair {
        low: Bits<5>,
        high: Bits<40>,
    }

    /// Random pairs pass in order, the first one after `latency` cycles, and one a cycle.
    fn check(library: &Library, latency: u64) {
        for (seed, stalls) in (1..).zip(STALLS) {
            let mut random = Random::new(seed);
            let mut bench = Bench::new(library.instance(seed), seed);
            let (input, output) = (bench.driver("input"), bench.monitor("output"));
            bench.stall(stalls);
            let beats: Vec<_> =
                (0..300).map(|_| Beat::new().with("data", random.word(45))).collect();
            bench.send_all(input, beats.clone());
            bench.run_until_received(output, beats.len());
            assert_eq!(bench.take(output), beats);
            if stalls == (0.0, 0.0) {
                assert_eq!(bench.received_at(output), (latency..300 + latency).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn records_pass_a_fifo() {
        check(&testing::library("stream_fifo", StreamFifo::<Pair, 3, 4>::default), 2);
    }

    #[test]
    fn records_pass_a_prompt_fifo() {
        check(&testing::library("prompt_stream_fifo", StreamFifo::<Pair, 3, 4>::prompt), 1);
    }

    #[test]
    fn records_pass_a_skid() {
        check(&testing::library("stream_skid", StreamSkid::<Pair>::default), 1);
    }

    #[test]
    fn records_pass_a_stage() {
        check(&testing::library("stream_stage", StreamStage::<Pair>::default), 1);
    }
}
