//! Concatenation of two fields.

use drdma_emit::prelude::*;

/// Joins `low` of `A` bits and `high` of `B` bits to one vector of `O` = `A` + `B` bits.
///
/// Combinational.
///
/// # Inputs
/// `low`, `high`.
///
/// # Outputs
/// `whole`.
#[derive(LogicBlock, BlockDefault)]
#[check(O == A + B, "Join: the result has {O} bits, {A} and {B} bits do not")]
pub struct Join<const A: usize, const B: usize, const O: usize> {
    /// The field in the least significant bits.
    pub low: Signal<In, Bits<A>>,
    /// The field in the most significant bits.
    pub high: Signal<In, Bits<B>>,
    /// The joined field: `high` above `low`.
    pub whole: Signal<Out, Bits<O>>,
}

impl<const A: usize, const B: usize, const O: usize> Logic for Join<A, B, O> {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.whole.connect();
    }

    fn hdl(&self) -> Verilog {
        Verilog::Custom("    always @(*) whole = {high, low};".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use drdma_verilated::Word;
    use drdma_verilated::testbench::Random;

    #[test]
    fn the_second_field_is_above_the_first() {
        let mut model = testing::library("join_two", Join::<70, 9, 79>::default).instance(1);
        let mut random = Random::new(1);
        for _ in 0..100 {
            let (low, high) = (random.word(70), random.word(9));
            model.set_word("low", &low);
            model.set_word("high", &high);
            model.eval();
            let mut whole: Word = low;
            whole.set_bits(70, 9, &high);
            assert_eq!(model.get_word("whole"), whole);
        }
    }
}
