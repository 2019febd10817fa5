//! A pipelined multiplier that keeps the lower part of the product.

use rust_hdl_core::prelude::*;

/// Cycles from the factors to the product.
pub const STAGES: usize = 5;

/// Multiplies two unsigned numbers of `A` = 64 and `B` = 32 bits, modulo 2^`A`.
///
/// The product follows its factors after [`STAGES`] cycles; one product per cycle. Five DSP slices of 26
/// by 16 bits: of the six parts of the product, one is beyond it, two lie end to end, so that three
/// sums remain, none of them over all bits.
///
/// # Inputs
/// `clk`, `a`, `b`.
///
/// # Outputs
/// `product`.
#[derive(LogicBlock)]
pub struct LowProduct<const A: usize, const B: usize> {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// First factor.
    pub a: Signal<In, Bits<A>>,
    /// Second factor.
    pub b: Signal<In, Bits<B>>,
    /// The lower bits of the product.
    pub product: Signal<Out, Bits<A>>,
}

impl<const A: usize, const B: usize> Default for LowProduct<A, B> {
    fn default() -> Self {
        assert_eq!((A, B), (64, 32), "LowProduct: factors of {A} and {B} bits");
        Self {
            clk: Signal::default(),
            a: Signal::default(),
            b: Signal::default(),
            product: Signal::default(),
        }
    }
}

impl<const A: usize, const B: usize> Logic for LowProduct<A, B> {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.product.connect();
    }

    fn hdl(&self) -> Verilog {
        // Parts `a` 0, 26, 52 and `b` 0, 16: a part's name says of which bits it is, counted in them.
        // Two registers for the synthesiser to move into the DSP slices.
        Verilog::Custom(
            "    reg [63:0] held_a;
    reg [31:0] held_b;
    reg [41:0] part_00;
    reg [37:0] part_10;
    reg [11:0] part_20;
    reg [41:0] part_01;
    reg [21:0] part_11;
    reg [41:0] late_00;
    reg [37:0] late_10;
    reg [11:0] late_20;
    reg [41:0] late_01;
    reg [21:0] late_11;
    reg [63:0] sum_0;
    reg [47:0] sum_16;
    always @(posedge clk) begin
        held_a <= a;
        held_b <= b;
        part_00 <= {16'd0, held_a[25:0]} * {26'd0, held_b[15:0]};
        part_10 <= {12'd0, held_a[51:26]} * {22'd0, held_b[15:0]};
        part_20 <= held_a[63:52] * held_b[11:0];
        part_01 <= {16'd0, held_a[25:0]} * {26'd0, held_b[31:16]};
        part_11 <= held_a[47:26] * {6'd0, held_b[31:16]};
        late_00 <= part_00;
        late_10 <= part_10;
        late_20 <= part_20;
        late_01 <= part_01;
        late_11 <= part_11;
        sum_0 <= {{late_11, late_00[41:26]} + late_10, late_00[25:0]};
        sum_16 <= {{6'd0, late_01[41:36]} + late_20, late_01[35:0]};
        product <= {sum_0[63:16] + sum_16, sum_0[15:0]};
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
    fn the_product_modulo_the_width_follows_after_the_stages() {
        let library = testing::library("low_product", LowProduct::<64, 32>::default);
        let (mut model, mut random) = (library.instance(1), Random::new(1));
        let mut factors: Vec<_> = (0..2000).map(|_| (random.u64(), random.u64() as u32)).collect();
        factors.extend([(u64::MAX, u32::MAX), (u64::MAX, 1), (1, u32::MAX), (0, 0), (0, 0)]);
        factors.extend([(0, 0); STAGES]);
        for (i, &(a, b)) in factors.iter().enumerate() {
            model.set("a", a);
            model.set("b", u64::from(b));
            model.cycle();
            if let Some(before) = i.checked_sub(STAGES - 1) {
                let (a, b) = factors[before];
                assert_eq!(model.get("product"), a.wrapping_mul(u64::from(b)));
            }
        }
    }
}
