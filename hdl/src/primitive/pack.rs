//! Concatenation of equal fields.

use drdma_emit::prelude::*;

/// Joins `N` fields of `W` bits to one vector of `O` = `N * W` bits; field 0 is lowest.
///
/// Combinational.
///
/// # Inputs
/// `parts`.
///
/// # Outputs
/// `whole`.
#[derive(LogicBlock, BlockDefault)]
#[check(O == N * W, "Pack: the result has {O} bits, {N} fields of {W} bits do not")]
pub struct Pack<const N: usize, const W: usize, const O: usize> {
    /// Fields to join.
    pub parts: [Signal<In, Bits<W>>; N],
    /// All fields joined, field 0 lowest.
    pub whole: Signal<Out, Bits<O>>,
}

impl<const N: usize, const W: usize, const O: usize> Logic for Pack<N, W, O> {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.whole.connect();
    }

    fn hdl(&self) -> Verilog {
        let parts: Vec<_> = (0..N).rev().map(|k| format!("parts${k}")).collect();
        Verilog::Custom(format!("    always @(*) whole = {{{}}};", parts.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use drdma_verilated::Word;
    use drdma_verilated::testbench::Random;

    #[test]
    fn field_k_is_at_bit_k_times_w() {
        let mut model = testing::library("pack", Pack::<5, 13, 65>::default).instance(1);
        let mut random = Random::new(1);
        for _ in 0..100 {
            let mut whole = Word::zero();
            for k in 0..5 {
                let part = random.word(13);
                model.set_word(format!("parts_{k}"), &part);
                whole.set_bits(13 * k, 13, &part);
            }
            model.eval();
            assert_eq!(model.get_word("whole"), whole);
        }
    }

    #[test]
    #[should_panic(expected = "the result has 64 bits, 5 fields of 13 bits do not")]
    fn widths_are_checked() {
        let _ = Pack::<5, 13, 64>::default();
    }
}
