//! Comparison of wide values.

use rust_hdl_core::prelude::*;

/// Verilog that declares `name`: whether the expressions `a` and `b` are the same, and `also`, an expression
/// of a bit, if there is one.
///
/// Plain comparison. Groups of three bits that a carry chain joins would take a third of the lookup
/// tables, and four times as long to simulate.
pub fn equal(name: &str, a: &str, b: &str, also: Option<&str>) -> String {
    match also {
        Some(also) => format!("    wire {name} = {also} && ({a} == {b});\n"),
        None => format!("    wire {name} = {a} == {b};\n"),
    }
}

/// Tells whether two values of `W` bits are the same.
///
/// Combinational.
///
/// # Inputs
/// `a`, `b`.
///
/// # Outputs
/// `same`.
#[derive(LogicBlock, Default)]
pub struct Equal<const W: usize> {
    /// A value.
    pub a: Signal<In, Bits<W>>,
    /// Another one.
    pub b: Signal<In, Bits<W>>,
    /// They are the same.
    pub same: Signal<Out, Bit>,
}

impl<const W: usize> Logic for Equal<W> {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.same.connect();
    }

    fn hdl(&self) -> Verilog {
        let text = equal("equal", "a", "b", None);
        Verilog::Custom(format!("{text}    always @(*) same = equal;"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use drdma_verilated::Word;
    use drdma_verilated::testbench::Random;

    fn check<const W: usize>() {
        let name = format!("equal_{W}");
        let mut model = testing::library(&name, Equal::<W>::default).instance(1);
        let mut random = Random::new(1);
        for round in 0..500 {
            let a = random.word(W);
            model.set_word("a", &a);
            model.set_word("b", &a);
            model.eval();
            assert_eq!(model.get("same"), 1, "{a:?}");
            // Every bit matters.
            let mut b = a.clone();
            b.set_bits(round % W, 1, &Word::from(1 - a.bits(round % W, 1).to_u64()));
            model.set_word("b", &b);
            model.eval();
            assert_eq!(model.get("same"), 0, "{a:?} {b:?}");
            let b = random.word(W);
            model.set_word("b", &b);
            model.eval();
            assert_eq!(model.get("same"), u64::from(a == b), "{a:?} {b:?}");
        }
    }

    #[test]
    fn values_are_the_same_in_every_bit() {
        check::<56>();
        check::<57>();
        check::<4>();
    }
}
