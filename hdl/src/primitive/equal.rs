//! Comparison of wide values.

use rust_hdl_core::prelude::*;

/// Bits of each value that a lookup table compares.
const BITS: usize = 3;

/// Verilog that declares `name`: whether the expressions `a` and `b`, of `width` bits, are the same, and
/// `also`, an expression of up to two bits, if there is one.
///
/// Groups of three bits are compared, then joined by a carry, which only a group that differs stops:
/// a lookup table for each, and none to join them.
pub fn equal(name: &str, a: &str, b: &str, width: usize, also: Option<&str>) -> String {
    let groups = width.div_ceil(BITS);
    let same: Vec<_> = (0..groups)
        .rev()
        .map(|group| {
            let (low, top) = (group * BITS, (group * BITS + BITS).min(width) - 1);
            let same = format!("{a}[{top}:{low}] == {b}[{top}:{low}]");
            match also {
                Some(also) if group + 1 == groups => format!("{also} && {same}"),
                _ => same,
            }
        })
        .collect();
    format!(
        "    wire {name};
    wire [{top}:0] {name}_same = {{{}}};
    wire [{top}:0] {name}_unused;
    assign {{{name}, {name}_unused}} = {{1'b0, {name}_same}} + {}'d1;\n",
        same.join(", "),
        groups + 1,
        top = groups - 1,
    )
}

/// Tells whether two values of `W` bits are the same.
///
/// Combinational: a lookup table and a carry chain.
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
        let text = equal("equal", "a", "b", W, None);
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
