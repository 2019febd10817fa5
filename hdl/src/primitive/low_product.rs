//! A pipelined multiplier that keeps the lower part of the product.

use rust_hdl_core::prelude::*;

/// Multiplies two unsigned numbers of `A` and `B` bits, modulo 2^`A`; `B` is at most `A`.
///
/// The product follows its factors after `stages` cycles; one product per cycle.
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
    _stages: usize,
}

impl<const A: usize, const B: usize> LowProduct<A, B> {
    /// A multiplier of `stages` register stages.
    ///
    /// # Panics
    /// `B` is more than `A`, or `stages` is less than 2.
    pub fn new(stages: usize) -> Self {
        assert!(B <= A, "LowProduct: a factor of {B} bits is longer than the product of {A}");
        assert!(stages >= 2, "LowProduct: {stages} stages");
        Self {
            clk: Signal::default(),
            a: Signal::default(),
            b: Signal::default(),
            product: Signal::default(),
            _stages: stages,
        }
    }
}

impl<const A: usize, const B: usize> Logic for LowProduct<A, B> {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.product.connect();
    }

    fn hdl(&self) -> Verilog {
        let (top_a, top_b) = (A - 1, B - 1);
        let mut declarations =
            format!("    reg [{top_a}:0] held_a;\n    reg [{top_b}:0] held_b;\n");
        let mut steps = String::from("        held_a <= a;\n        held_b <= b;\n");
        let mut value = match A - B {
            0 => "held_a * held_b".to_owned(),
            more => format!("held_a * {{{more}'d0, held_b}}"),
        };
        // Registers for the synthesiser to move into the DSP slices.
        for stage in 0..self._stages - 2 {
            declarations.push_str(&format!("    reg [{top_a}:0] stage{stage};\n"));
            steps.push_str(&format!("        stage{stage} <= {value};\n"));
            value = format!("stage{stage}");
        }
        steps.push_str(&format!("        product <= {value};\n"));
        Verilog::Custom(format!("{declarations}    always @(posedge clk) begin\n{steps}    end"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use drdma_verilated::testbench::Random;

    #[test]
    fn the_product_modulo_the_width_follows_after_the_stages() {
        let library = testing::library("low_product", || LowProduct::<64, 32>::new(5));
        let (mut model, mut random) = (library.instance(1), Random::new(1));
        let factors: Vec<_> = (0..200).map(|_| (random.u64(), random.u64() as u32)).collect();
        for (i, &(a, b)) in factors.iter().enumerate() {
            model.set("a", a);
            model.set("b", u64::from(b));
            model.cycle();
            if let Some(before) = i.checked_sub(4) {
                let (a, b) = factors[before];
                assert_eq!(model.get("product"), a.wrapping_mul(u64::from(b)));
            }
        }
    }
}
