//! A synchronous FIFO with valid/ready streams.

use super::RamStyle;
use drdma_emit::prelude::*;

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
/// `in_ready`, `out_valid`, `out_data`; `count` (beats held), `free` (beats that can still be taken).
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

impl<const W: usize, const A: usize, const C: usize> Default for Fifo<W, A, C> {
    /// A FIFO in the memory that suits its size.
    fn default() -> Self {
        Self::new(RamStyle::for_fifo(W, 1_usize << A))
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
        Verilog::Custom(text(self._style, W, A, false))
    }
}

/// The Verilog of a FIFO of 2^`a` beats of `w` bits. With `prompt` a beat that finds the FIFO empty goes straight to
/// the output.
pub(super) fn text(ram: RamStyle, w: usize, a: usize, prompt: bool) -> String {
    let (style, depth) = (ram.attribute(), 1_usize << a);
    let (word, pointer, counter) = (w - 1, a - 1, a);
    let direct = match (prompt, ram) {
        (false, _) => "1'b0",
        (true, RamStyle::Distributed) => "push && out_free && empty",
        (true, _) => "push && out_free && empty && !fetched",
    };
    // Source of the output: the memory (or its own register), or the input itself.
    let choice = |stored: &str, from: &str| match prompt {
        false => from.to_owned(),
        true => format!("{stored} ? {from} : in_data"),
    };
    let either = |stored: &str| match prompt {
        false => stored.to_owned(),
        true => format!("{stored} || push"),
    };
    // The output register, and before it the memory's own register where there is one.
    let (declared, read) = match ram {
        RamStyle::Distributed => (
            "    wire fetch = out_free && !empty;".to_owned(),
            format!(
                "    always @(posedge clk) begin
        if (out_free) begin
            out_valid <= {};
            out_data <= {};
        end
        if (rst) out_valid <= 1'b0;
    end",
                either("!empty"),
                choice("!empty", "memory[read]"),
            ),
        ),
        RamStyle::Block | RamStyle::Ultra => (
            format!(
                "    reg fetched;
    reg [{word}:0] fetched_data;
    wire fetch = (out_free || !fetched) && !empty;"
            ),
            format!(
                "    always @(posedge clk) begin
        if (fetch) fetched_data <= memory[read];
    end
    always @(posedge clk) begin
        if (out_free || !fetched) fetched <= !empty;
        if (out_free) begin
            out_valid <= {};
            out_data <= {};
        end
        if (rst) begin
            fetched <= 1'b0;
            out_valid <= 1'b0;
        end
    end",
                match prompt {
                    false => "fetched".to_owned(),
                    true => "fetched || (push && empty)".to_owned(),
                },
                choice("fetched", "fetched_data"),
            ),
        ),
    };
    format!(
        "    (* ram_style = \"{style}\" *) reg [{word}:0] memory [0:{last}];
    reg [{pointer}:0] write;
    reg [{pointer}:0] read;
    // Beats in the memory that are not being fetched; none.
    reg [{counter}:0] stored;
    reg empty;
    wire push = in_valid && in_ready;
    wire pop = out_valid && out_ready;
    wire out_free = !out_valid || out_ready;
{declared}
    // What does not go straight to the output.
    wire direct = {direct};
    wire store = push && !direct;
    // What comes after a push or a pop is known before: these come late. Without adders, which a
    // synthesis would share, behind a choice of operands.
    wire [{counter}:0] stored_up = {stored_up};
    wire [{counter}:0] stored_down = {stored_down};
    wire [{counter}:0] count_up = {count_up};
    wire [{counter}:0] count_down = {count_down};
    wire [{counter}:0] free_up = {free_up};
    wire [{counter}:0] free_down = {free_down};
    always @(posedge clk) begin
        if (store) memory[write] <= in_data;
    end
{read}
    always @(posedge clk) begin
        if (store) write <= write + {a}'d1;
        if (fetch) read <= read + {a}'d1;
        if (store && !fetch) begin
            stored <= stored_up;
            empty <= 1'b0;
        end
        if (fetch && !store) begin
            stored <= stored_down;
            empty <= stored == {width}'d1;
        end
        if (push && !pop) begin
            count <= count_up;
            free <= free_down;
            in_ready <= free != {width}'d1;
        end
        if (pop && !push) begin
            count <= count_down;
            free <= free_up;
            in_ready <= 1'b1;
        end
        if (rst) begin
            write <= {a}'d0;
            read <= {a}'d0;
            stored <= {width}'d0;
            empty <= 1'b1;
            count <= {width}'d0;
            free <= {width}'d{depth};
            in_ready <= 1'b1;
        end
    end",
        width = a + 1,
        last = depth - 1,
        stored_up = counted("stored", a + 1, '&'),
        stored_down = counted("stored", a + 1, '|'),
        count_up = counted("count", a + 1, '&'),
        count_down = counted("count", a + 1, '|'),
        free_up = counted("free", a + 1, '&'),
        free_down = counted("free", a + 1, '|'),
    )
}

/// Verilog for `name`, a number of `bits` bits, plus one if `all` is `&`, and less one if it is `|`: a bit toggles if
/// all bits below it are ones, or zeros.
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
pub(super) mod tests {
    use super::*;
    use crate::testing;
    use drdma_verilated::Library;
    use drdma_verilated::testbench::{Beat, Bench, Random, STALLS};
    use std::cell::Cell;

    /// Checks a FIFO of 2^`A` beats of `W` bits whose first beat comes after `latency` cycles.
    pub(in crate::primitive) fn check<const W: usize, const A: usize>(
        library: &Library,
        latency: u64,
    ) {
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
        let fifo = || Fifo::<40, 3, 4>::new(RamStyle::Distributed);
        check::<40, 3>(&testing::library("fifo_distributed", fifo), 2);
    }

    #[test]
    fn beats_pass_in_order_and_are_counted_in_block_ram() {
        let fifo = || Fifo::<512, 5, 6>::new(RamStyle::Block);
        check::<512, 5>(&testing::library("fifo_block", fifo), 3);
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
