//! Values to the places that they name.

use array_init::array_init;
use rust_hdl_core::prelude::*;

/// Bits that a simulator handles at once.
const WORD: usize = 64;

/// Moves each of `N` values of `W` bits that `valid` names to one of `M` = 2^`A` places; `O` =
/// `M` `W`. Where several meet, their OR appears.
///
/// Combinational: a decoder per value, and an OR of `N` per place.
///
/// # Inputs
/// `valid`, `place`, `value`.
///
/// # Outputs
/// `used`: places that a value went to; `whole`: all places, 0 where there is none.
#[derive(LogicBlock)]
pub struct Scatter<const N: usize, const A: usize, const W: usize, const M: usize, const O: usize> {
    /// The values there are.
    pub valid: Signal<In, Bits<N>>,
    /// Where each goes.
    pub place: [Signal<In, Bits<A>>; N],
    /// What goes there.
    pub value: [Signal<In, Bits<W>>; N],
    /// Places with a value.
    pub used: Signal<Out, Bits<M>>,
    /// The places.
    pub whole: Signal<Out, Bits<O>>,
}

impl<const N: usize, const A: usize, const W: usize, const M: usize, const O: usize> Default
    for Scatter<N, A, W, M, O>
{
    fn default() -> Self {
        assert!(A > 0, "Scatter: there is one place only");
        assert_eq!(M, 1 << A, "Scatter: {A} bits do not number {M} places");
        assert_eq!(O, M * W, "Scatter: {M} places of {W} bits are not {O} bits");
        Self {
            valid: Signal::default(),
            place: array_init(|_| Signal::default()),
            value: array_init(|_| Signal::default()),
            used: Signal::default(),
            whole: Signal::default(),
        }
    }
}

impl<const N: usize, const A: usize, const W: usize, const M: usize, const O: usize> Logic
    for Scatter<N, A, W, M, O>
{
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.used.connect();
        self.whole.connect();
    }

    fn hdl(&self) -> Verilog {
        // In two steps, which a simulator does with words of up to 64 bits: to one of the places of a
        // segment, and to a segment.
        let low = (WORD / W).max(1).ilog2().min(A as u32 - 1) as usize;
        let (bits, segments) = (W << low, 1_usize << (A - low));
        let mut text = String::new();
        for k in 0..N {
            let mut moved = format!("{{{}'d0, value${k}}}", bits - W);
            if low == 0 {
                moved = format!("value${k}");
            }
            for i in 0..low {
                moved = format!("({moved} << (place${k}[{i}] ? {0} : 0))", W << i);
            }
            text.push_str(&format!("    wire [{}:0] moved{k} = {moved};\n", bits - 1));
        }
        for s in 0..segments {
            let terms: Vec<_> = (0..N)
                .map(|k| {
                    let place = format!("place${k}[{}:{low}]", A - 1);
                    let here = format!("valid[{k}] && {place} == {}'d{s}", A - low);
                    format!("({{{bits}{{{here}}}}} & moved{k})")
                })
                .collect();
            text.push_str(&format!(
                "    always @(*) whole[{}:{}] = {};\n",
                bits * (s + 1) - 1,
                bits * s,
                terms.join("\n        | ")
            ));
        }
        let used: Vec<_> =
            (0..N).map(|k| format!("({{{}'d0, valid[{k}]}} << place${k})", M - 1)).collect();
        text.push_str(&format!("    always @(*) used = {};", used.join("\n        | ")));
        Verilog::Custom(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use drdma_verilated::testbench::Random;

    #[test]
    fn every_value_is_in_its_place() {
        let library = testing::library("scatter", Scatter::<5, 3, 7, 8, 56>::default);
        let mut model = library.instance(1);
        let mut random = Random::new(1);
        for _ in 0..1000 {
            let valid = random.below(32);
            let (mut used, mut places) = (0, [0; 8]);
            model.set("valid", valid);
            for k in 0..5 {
                let (place, value) = (random.below(8), random.below(128));
                model.set(format!("place_{k}"), place);
                model.set(format!("value_{k}"), value);
                if valid >> k & 1 == 1 {
                    used |= 1 << place;
                    places[place as usize] |= value;
                }
            }
            model.eval();
            assert_eq!(model.get("used"), used);
            let whole = model.get_word("whole");
            for (m, &place) in places.iter().enumerate() {
                assert_eq!(whole.bits(7 * m, 7).to_u64(), place);
            }
        }
    }

    #[test]
    #[should_panic(expected = "8 places of 7 bits are not 55 bits")]
    fn widths_are_checked() {
        let _ = Scatter::<5, 3, 7, 8, 55>::default();
    }
}
