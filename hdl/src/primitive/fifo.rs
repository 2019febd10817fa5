//! A synchronous FIFO with valid/ready streams.

use super::RamStyle;
use rust_hdl_core::prelude::*;

/// Depth up to which a FIFO is made of lookup tables by default.
const DISTRIBUTED_DEPTH: usize = 64;
/// Bits from which a FIFO is made of UltraRAM by default.
const ULTRA_BITS: usize = 1 << 20;

/// Holds up to 2^`A` beats of `W` bits; `C` = `A` + 1 is the width of the counters.
///
/// 1 beat per cycle; may stall at any time. `in_ready`, `out_valid`, `out_data`, `count` and
/// `free` come from registers, so that no combinational path joins the two sides. The first
/// output follows the first input after 2 cycles (lookup tables) or 3 (block and UltraRAM).
///
/// # Inputs
/// `clk`, `rst` (synchronous, empties the FIFO), `in_valid`, `in_data`, `out_ready`.
///
/// # Outputs
/// `in_ready`, `out_valid`, `out_data`; `count` (beats held), `free` (beats that it can still
/// take).
#[derive(LogicBlock)]
pub struct Fifo<const W: usize, const A: usize, const C: usize> {
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
    _style: RamStyle,
}

impl<const W: usize, const A: usize, const C: usize> Default for Fifo<W, A, C> {
    /// A FIFO in what suits its size.
    fn default() -> Self {
        let depth = 1_usize << A;
        Self::new(match () {
            () if depth <= DISTRIBUTED_DEPTH => RamStyle::Distributed,
            () if W * depth >= ULTRA_BITS => RamStyle::Ultra,
            () => RamStyle::Block,
        })
    }
}

impl<const W: usize, const A: usize, const C: usize> Fifo<W, A, C> {
    /// A FIFO in memory of `style`.
    ///
    /// # Panics
    /// `C` is not `A` + 1, or `A` is 0.
    pub fn new(style: RamStyle) -> Self {
        assert!(A > 0, "Fifo: the depth is 1");
        assert_eq!(C, A + 1, "Fifo: a depth of 2^{A} needs counters of {} bits, not {C}", A + 1);
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

impl<const W: usize, const A: usize, const C: usize> Logic for Fifo<W, A, C> {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.in_ready.connect();
        self.out_valid.connect();
        self.out_data.connect();
        self.count.connect();
        self.free.connect();
    }

    fn hdl(&self) -> Verilog {
        let (style, depth) = (self._style.attribute(), 1_usize << A);
        let (word, pointer, counter) = (W - 1, A - 1, C - 1);
        // The output register, and before it the memory's own one where there is one.
        let read = match self._style {
            RamStyle::Distributed => "    wire fetch = out_free && !empty;
    always @(posedge clk) begin
        if (out_free) begin
            out_valid <= !empty;
            out_data <= memory[read];
        end
        if (rst) out_valid <= 1'b0;
    end"
            .to_owned(),
            RamStyle::Block | RamStyle::Ultra => format!(
                "    reg fetched;
    reg [{word}:0] fetched_data;
    wire fetch = (out_free || !fetched) && !empty;
    always @(posedge clk) begin
        if (fetch) fetched_data <= memory[read];
    end
    always @(posedge clk) begin
        if (out_free || !fetched) fetched <= !empty;
        if (out_free) begin
            out_valid <= fetched;
            out_data <= fetched_data;
        end
        if (rst) begin
            fetched <= 1'b0;
            out_valid <= 1'b0;
        end
    end"
            ),
        };
        Verilog::Custom(format!(
            "    (* ram_style = \"{style}\" *) reg [{word}:0] memory [0:{last}];
    reg [{pointer}:0] write;
    reg [{pointer}:0] read;
    // Beats in the memory that are not being fetched; none.
    reg [{counter}:0] stored;
    reg empty;
    wire push = in_valid && in_ready;
    wire pop = out_valid && out_ready;
    wire out_free = !out_valid || out_ready;
    // What comes after a push or a pop is known before: these come late. Without adders, which a
    // synthesis would share, behind a choice of operands.
    wire [{counter}:0] stored_up = {stored_up};
    wire [{counter}:0] stored_down = {stored_down};
    wire [{counter}:0] count_up = {count_up};
    wire [{counter}:0] count_down = {count_down};
    wire [{counter}:0] free_up = {free_up};
    wire [{counter}:0] free_down = {free_down};
    always @(posedge clk) begin
        if (push) memory[write] <= in_data;
    end
{read}
    always @(posedge clk) begin
        if (push) write <= write + {A}'d1;
        if (fetch) read <= read + {A}'d1;
        if (push && !fetch) begin
            stored <= stored_up;
            empty <= 1'b0;
        end
        if (fetch && !push) begin
            stored <= stored_down;
            empty <= stored == {C}'d1;
        end
        if (push && !pop) begin
            count <= count_up;
            free <= free_down;
            in_ready <= free != {C}'d1;
        end
        if (pop && !push) begin
            count <= count_down;
            free <= free_up;
            in_ready <= 1'b1;
        end
        if (rst) begin
            write <= {A}'d0;
            read <= {A}'d0;
            stored <= {C}'d0;
            empty <= 1'b1;
            count <= {C}'d0;
            free <= {C}'d{depth};
            in_ready <= 1'b1;
        end
    end",
            last = depth - 1,
            stored_up = counted("stored", C, '&'),
            stored_down = counted("stored", C, '|'),
            count_up = counted("count", C, '&'),
            count_down = counted("count", C, '|'),
            free_up = counted("free", C, '&'),
            free_down = counted("free", C, '|'),
        ))
    }
}

/// Verilog for `name`, a number of `bits` bits, plus one if `all` is `&`, and less one if it is `|`: a bit
/// turns if all below it are ones, or zeros.
fn counted(name: &str, bits: usize, all: char) -> String {
    let turned = |bit: usize| match (bit, all) {
        (0, _) => format!("!{name}[0]"),
        (_, '&') => format!("{name}[{bit}] ^ (&{name}[{}:0])", bit - 1),
        _ => format!("{name}[{bit}] ^ !(|{name}[{}:0])", bit - 1),
    };
    let bits: Vec<_> = (0..bits).rev().map(turned).collect();
    format!("{{{}}}", bits.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use drdma_verilated::testbench::{Beat, Bench, Random, STALLS};
    use std::cell::Cell;

    fn check<const W: usize, const A: usize, const C: usize>(
        name: &str,
        style: RamStyle,
        latency: u64,
    ) {
        let library = testing::library(name, move || Fifo::<W, A, C>::new(style));
        for (seed, stalls) in (1..).zip(STALLS) {
            let mut random = Random::new(seed);
            let (held, fullest) = (Cell::new(0), Cell::new(0));
            let mut bench = Bench::new(library.instance(seed), seed);
            let (input, output) = (bench.driver("in"), bench.monitor("out"));
            bench.stall(stalls);
            bench.observe(|model, cycle| {
                assert_eq!(model.get("count"), held.get(), "count in cycle {cycle}");
                assert_eq!(model.get("free"), (1 << A) - held.get(), "free in cycle {cycle}");
                assert_eq!(model.get("in_ready"), u64::from(held.get() < 1 << A));
                fullest.set(held.get().max(fullest.get()));
                held.set(held.get() + (model.get("in_valid") & model.get("in_ready")));
                held.set(held.get() - (model.get("out_valid") & model.get("out_ready")));
            });
            let beats: Vec<_> =
                (0..600).map(|_| Beat::new().with("data", random.word(W))).collect();
            bench.send_all(input, beats.clone());
            bench.run_until_received(output, beats.len());
            assert_eq!(bench.take(output), beats);
            if stalls == (0.0, 0.0) {
                let cycles: Vec<_> = (latency..600 + latency).collect();
                assert_eq!(bench.received_at(output), cycles, "one beat per cycle");
            }
            if stalls.1 > 0.8 {
                assert_eq!(fullest.get(), 1 << A, "the whole depth is used");
            }
        }
    }

    #[test]
    fn beats_pass_in_order_and_are_counted_in_lookup_tables() {
        check::<40, 3, 4>("fifo_distributed", RamStyle::Distributed, 2);
    }

    #[test]
    fn beats_pass_in_order_and_are_counted_in_block_ram() {
        check::<512, 5, 6>("fifo_block", RamStyle::Block, 3);
    }

    #[test]
    fn the_smallest_fifo_works() {
        let library = testing::library("fifo_two", Fifo::<8, 1, 2>::default);
        let mut bench = Bench::new(library.instance(1), 1);
        let (input, output) = (bench.driver("in"), bench.monitor("out"));
        bench.send_all(input, (0..50_u64).map(|i| Beat::from([("data", i)])));
        bench.run_until_received(output, 50);
    }
}
