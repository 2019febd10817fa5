//! A pipelined multiplier.

use drdma_emit::prelude::*;

/// Multiplies two unsigned numbers of `A` and `B` bits; `P` = `A` + `B` bits is the product.
///
/// The product follows its factors after `stages` enabled cycles; one product a cycle. While `enable` is low, the whole
/// pipeline holds.
///
/// # Inputs
/// `clk`, `enable`, `a`, `b`.
///
/// # Outputs
/// `product`.
#[derive(LogicBlock)]
pub struct Multiplier<const A: usize, const B: usize, const P: usize> {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// The pipeline advances in this cycle.
    pub enable: Signal<In, Bit>,
    /// First factor.
    pub a: Signal<In, Bits<A>>,
    /// Second factor.
    pub b: Signal<In, Bits<B>>,
    /// The product.
    pub product: Signal<Out, Bits<P>>,
    _stages: usize,
}

impl<const A: usize, const B: usize, const P: usize> Default for Multiplier<A, B, P> {
    /// One stage, which suits small factors.
    fn default() -> Self {
        Self::new(1)
    }
}

impl<const A: usize, const B: usize, const P: usize> Multiplier<A, B, P> {
    /// A multiplier of `stages` register stages: 3 for one DSP slice, more for wide factors.
    ///
    /// # Panics
    /// `P` is not `A` + `B`, or `stages` is 0.
    pub fn new(stages: usize) -> Self {
        assert_eq!(P, A + B, "Multiplier: {A} by {B} bits have {} bits, not {P}", A + B);
        assert!(stages > 0, "Multiplier: 0 stages");
        Self {
            clk: Signal::default(),
            enable: Signal::default(),
            a: Signal::default(),
            b: Signal::default(),
            product: Signal::default(),
            _stages: stages,
        }
    }
}

impl<const A: usize, const B: usize, const P: usize> Logic for Multiplier<A, B, P> {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.product.connect();
    }

    fn hdl(&self) -> Verilog {
        let (top_a, top_b, top) = (A - 1, B - 1, P - 1);
        let mut declarations = String::new();
        let mut steps = String::new();
        let (mut a, mut b) = ("a", "b");
        if self._stages > 1 {
            declarations
                .push_str(&format!("    reg [{top_a}:0] held_a;\n    reg [{top_b}:0] held_b;\n"));
            steps.push_str("            held_a <= a;\n            held_b <= b;\n");
            (a, b) = ("held_a", "held_b");
        }
        // The product, then registers for the synthesiser to move into the DSP slices.
        // The factors keep their width, so that synthesis sees how many DSP slices they need.
        let mut value = format!(
            "\n                /* verilator lint_off WIDTH */ {a} * {b} /* verilator lint_on WIDTH */"
        );
        for stage in 0..self._stages.saturating_sub(2) {
            declarations.push_str(&format!("    reg [{top}:0] stage{stage};\n"));
            steps.push_str(&format!("            stage{stage} <= {value};\n"));
            value = format!("stage{stage}");
        }
        steps.push_str(&format!("            product <= {value};\n"));
        Verilog::Custom(format!(
            "{declarations}    always @(posedge clk) begin
        if (enable) begin
{steps}        end
    end"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use drdma_verilated::testbench::Random;
    use std::collections::VecDeque;

    fn check<const A: usize, const B: usize, const P: usize>(stages: usize) {
        let name = format!("multiplier_{A}_{B}_{stages}");
        let library = testing::library(&name, || Multiplier::<A, B, P>::new(stages));
        let mut model = library.instance(1);
        let mut random = Random::new(1);
        let mut pipeline = VecDeque::new();
        for _ in 0..2000 {
            let (a, b) = (random.word(A), random.word(B));
            let enable = random.chance(0.7);
            model.set("enable", enable.into());
            model.set_word("a", &a);
            model.set_word("b", &b);
            model.cycle();
            if enable {
                pipeline.push_back(a.to_u128() * b.to_u128());
            }
            if pipeline.len() > stages {
                pipeline.pop_front();
            }
            if pipeline.len() == stages {
                assert_eq!(model.get_word("product").to_u128(), pipeline[0]);
            }
        }
    }

    #[test]
    fn products_follow_after_the_stages_under_stalls() {
        check::<16, 16, 32>(1);
        check::<27, 18, 45>(3);
        check::<32, 64, 96>(5);
    }
}
