//! A pipelined multiplier that adds a summand and keeps the lower part of the sum.

use drdma_emit::prelude::*;

/// Cycles from the factors to the sum.
pub const STAGES: usize = 5;

/// Computes `a` * `b` + `c` modulo 2^`A`, for unsigned numbers of `A` = 64 and `B` = 32 bits.
///
/// The sum follows its factors after [`STAGES`] cycles; the summand is given a cycle later than the factors. One sum a
/// cycle. Five DSP slices of 26 by 16 bits: of the six parts of the product, one lies beyond it and two lie end to end,
/// so that there are four sums, three of them of fewer bits.
///
/// # Inputs
/// `clk`, `a`, `b`, `c`.
///
/// # Outputs
/// `sum`.
#[derive(LogicBlock, BlockDefault)]
#[check((A, B) == (64, 32), "MultiplyAdd: factors of {A} and {B} bits")]
pub struct MultiplyAdd<const A: usize, const B: usize> {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// First factor.
    pub a: Signal<In, Bits<A>>,
    /// Second factor.
    pub b: Signal<In, Bits<B>>,
    /// Summand for the factors of the cycle before.
    pub c: Signal<In, Bits<A>>,
    /// The lower bits of the sum.
    pub sum: Signal<Out, Bits<A>>,
}

impl<const A: usize, const B: usize> Logic for MultiplyAdd<A, B> {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.sum.connect();
    }

    fn hdl(&self) -> Verilog {
        // The parts that bits 0, 26 and 52 of `a` and 0 and 16 of `b` begin. Behind them: the parts at
        // 0 and 42, end to end; those at 26 and 52; that at 16. Then all but the first.
        Verilog::Custom(
            "    reg [63:0] held_a;
    reg [31:0] held_b;
    reg [41:0] part_0_0;
    reg [37:0] part_26_0;
    reg [11:0] part_52_0;
    reg [41:0] part_0_16;
    reg [21:0] part_26_16;
    reg [63:0] from_0;
    reg [37:0] from_26;
    reg [41:0] from_16;
    reg [47:0] others;
    reg [63:0] c_1;
    reg [63:0] c_2;
    reg [63:0] first;
    always @(posedge clk) begin
        held_a <= a;
        held_b <= b;
        part_0_0 <= {16'd0, held_a[25:0]} * {26'd0, held_b[15:0]};
        part_26_0 <= {12'd0, held_a[51:26]} * {22'd0, held_b[15:0]};
        part_52_0 <= held_a[63:52] * held_b[11:0];
        part_0_16 <= {16'd0, held_a[25:0]} * {26'd0, held_b[31:16]};
        part_26_16 <= held_a[47:26] * {6'd0, held_b[31:16]};
        c_1 <= c;
        from_0 <= {part_26_16, part_0_0};
        from_26 <= {part_26_0[37:26] + part_52_0, part_26_0[25:0]};
        from_16 <= part_0_16;
        c_2 <= c_1;
        first <= from_0 + c_2;
        others <= {from_26 + {6'd0, from_16[41:10]}, from_16[9:0]};
        sum <= {first[63:16] + others, first[15:0]};
    end"
            .to_owned(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use drdma_verilated::testbench::Random;

    #[test]
    fn the_sum_modulo_the_width_follows_after_the_stages() {
        let library = testing::library("multiply_add", MultiplyAdd::<64, 32>::default);
        let (mut model, mut random) = (library.instance(1), Random::new(1));
        let mut given: Vec<_> =
            (0..2000).map(|_| (random.u64(), random.u64() as u32, random.u64())).collect();
        given.extend([(u64::MAX, u32::MAX, u64::MAX), (u64::MAX, 1, 1), (1, u32::MAX, 1)]);
        given.extend([(0, 0, 0); STAGES]);
        for (i, &(a, b, _)) in given.iter().enumerate() {
            model.set("a", a);
            model.set("b", u64::from(b));
            model.set("c", i.checked_sub(1).map_or(0, |before| given[before].2));
            model.cycle();
            if let Some(before) = i.checked_sub(STAGES - 1) {
                let (a, b, c) = given[before];
                assert_eq!(model.get("sum"), a.wrapping_mul(u64::from(b)).wrapping_add(c));
            }
        }
    }
}
