//! The first set bit, and the number of set bits.

use drdma_emit::prelude::*;

/// Finds the lowest set bit of `N`; `I` bits count to `N` - 1.
///
/// Combinational.
///
/// # Inputs
/// `bits`.
///
/// # Outputs
/// `any` (a bit is set), `index` (of the lowest one; 0 if there is none).
#[derive(LogicBlock, BlockDefault)]
#[check(N <= 1 << I, "FirstSet: {I} bits do not count to {}", N - 1)]
pub struct FirstSet<const N: usize, const I: usize> {
    /// Bits to examine.
    pub bits: Signal<In, Bits<N>>,
    /// A bit is set.
    pub any: Signal<Out, Bit>,
    /// Number of the lowest set bit; 0 if none is set.
    pub index: Signal<Out, Bits<I>>,
}

impl<const N: usize, const I: usize> Logic for FirstSet<N, I> {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.any.connect();
        self.index.connect();
    }

    fn hdl(&self) -> Verilog {
        // Bit i of the index is set if the number of the first set bit has bit i.
        let mut text = String::from("    always @(*) any = |bits;\n");
        text.push_str(&format!("    wire [{}:0] first = bits & (~bits + {N}'d1);\n", N - 1));
        for i in 0..I {
            let mask: String =
                (0..N).rev().map(|k| if k >> i & 1 == 1 { '1' } else { '0' }).collect();
            text.push_str(&format!("    always @(*) index[{i}] = |(first & {N}'b{mask});\n"));
        }
        Verilog::Custom(text)
    }
}

/// Counts the set bits of `N`; `C` bits count to `N`.
///
/// Combinational.
///
/// # Inputs
/// `bits`.
///
/// # Outputs
/// `count`.
#[derive(LogicBlock, BlockDefault)]
#[check(N < 1 << C, "CountOnes: {C} bits do not count to {N}")]
pub struct CountOnes<const N: usize, const C: usize> {
    /// Bits to count.
    pub bits: Signal<In, Bits<N>>,
    /// Number of bits that are set.
    pub count: Signal<Out, Bits<C>>,
}

impl<const N: usize, const C: usize> Logic for CountOnes<N, C> {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.count.connect();
    }

    fn hdl(&self) -> Verilog {
        // A tree of additions.
        let mut terms: Vec<String> =
            (0..N)
                .map(|k| {
                    if C == 1 {
                        format!("bits[{k}]")
                    } else {
                        format!("{{{}'d0, bits[{k}]}}", C - 1)
                    }
                })
                .collect();
        while terms.len() > 1 {
            terms = terms
                .chunks(2)
                .map(|pair| match pair {
                    [a, b] => format!("({a} + {b})"),
                    rest => rest[0].clone(),
                })
                .collect();
        }
        Verilog::Custom(format!("    always @(*) count = {};", terms[0]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use drdma_verilated::testbench::Random;

    #[test]
    fn the_first_set_bit_is_found() {
        let mut model = testing::library("first_set", FirstSet::<40, 6>::default).instance(1);
        let mut random = Random::new(1);
        for _ in 0..2000 {
            let bits = random.below(1 << 40) & !((1_u64 << random.below(41)) - 1);
            model.set("bits", bits);
            model.eval();
            assert_eq!(model.get("any"), u64::from(bits != 0));
            let index = if bits == 0 { 0 } else { bits.trailing_zeros() };
            assert_eq!(model.get("index"), u64::from(index));
        }
    }

    #[test]
    fn the_set_bits_are_counted() {
        let mut model = testing::library("count_ones", CountOnes::<37, 6>::default).instance(1);
        let mut random = Random::new(1);
        for bits in (0..2000).map(|_| random.below(1 << 37)).chain([0, (1 << 37) - 1]) {
            model.set("bits", bits);
            model.eval();
            assert_eq!(model.get("count"), u64::from(bits.count_ones()));
        }
    }
}
