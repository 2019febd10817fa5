//! Wide combinational helpers: concatenation, one-hot selection, pairwise comparison, bit ranges.

use drdma_emit::prelude::*;

/// Joins four vectors; `a` is lowest. `O` = `A` + `B` + `C` + `D`.
///
/// Combinational.
///
/// # Inputs
/// `a`, `b`, `c`, `d`.
///
/// # Outputs
/// `whole`.
#[derive(LogicBlock)]
pub struct Concat<const A: usize, const B: usize, const C: usize, const D: usize, const O: usize> {
    /// The lowest bits.
    pub a: Signal<In, Bits<A>>,
    /// The bits above `a`.
    pub b: Signal<In, Bits<B>>,
    /// The bits above `b`.
    pub c: Signal<In, Bits<C>>,
    /// The highest bits.
    pub d: Signal<In, Bits<D>>,
    /// All four vectors joined.
    pub whole: Signal<Out, Bits<O>>,
}

impl<const A: usize, const B: usize, const C: usize, const D: usize, const O: usize> Default
    for Concat<A, B, C, D, O>
{
    fn default() -> Self {
        assert_eq!(O, A + B + C + D, "Concat: {A} + {B} + {C} + {D} bits are not {O}");
        Self {
            a: Signal::default(),
            b: Signal::default(),
            c: Signal::default(),
            d: Signal::default(),
            whole: Signal::default(),
        }
    }
}

impl<const A: usize, const B: usize, const C: usize, const D: usize, const O: usize> Logic
    for Concat<A, B, C, D, O>
{
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.whole.connect();
    }

    fn hdl(&self) -> Verilog {
        Verilog::Custom("    always @(*) whole = {d, c, b, a};".to_owned())
    }
}

/// The bitwise OR of those of `N` values of `W` bits that `choice` selects: with one bit set, a multiplexer.
///
/// Combinational. Groups of three values joined by a carry chain would take half of the lookup tables where there are
/// many, but make the simulation of the whole card half as fast.
///
/// # Inputs
/// `choice`, `values`.
///
/// # Outputs
/// `value`.
#[derive(LogicBlock, BlockDefault)]
pub struct Select<const N: usize, const W: usize> {
    /// Values that are selected, one bit each.
    pub choice: Signal<In, Bits<N>>,
    /// The values.
    pub values: [Signal<In, Bits<W>>; N],
    /// OR of the selected values.
    pub value: Signal<Out, Bits<W>>,
}

impl<const N: usize, const W: usize> Logic for Select<N, W> {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.value.connect();
    }

    fn hdl(&self) -> Verilog {
        let terms: Vec<_> =
            (0..N).map(|k| format!("({{{W}{{choice[{k}]}}}} & values${k})")).collect();
        Verilog::Custom(format!("    always @(*) value = {};", terms.join("\n        | ")))
    }
}

/// Compares each of `N` values of `W` bits with all others.
///
/// Combinational.
///
/// # Inputs
/// `values`.
///
/// # Outputs
/// `equal`: bit `j` of `equal[i]` is set if values `i` and `j` are the same.
#[derive(LogicBlock, BlockDefault)]
pub struct EqualPairs<const N: usize, const W: usize> {
    /// Values to compare.
    pub values: [Signal<In, Bits<W>>; N],
    /// Bit `j` of element `i` is set if values `i` and `j` are the same.
    pub equal: [Signal<Out, Bits<N>>; N],
}

impl<const N: usize, const W: usize> Logic for EqualPairs<N, W> {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.equal.iter_mut().for_each(Logic::connect);
    }

    fn hdl(&self) -> Verilog {
        let mut text = String::new();
        for i in 0..N {
            for j in i + 1..N {
                let (a, b) = (format!("values${i}"), format!("values${j}"));
                text.push_str(&format!("    wire same_{i}_{j} = {a} == {b};\n"));
            }
        }
        for i in 0..N {
            let bits: Vec<_> = (0..N)
                .rev()
                .map(|j| match i.cmp(&j) {
                    std::cmp::Ordering::Less => format!("same_{i}_{j}"),
                    std::cmp::Ordering::Equal => "1'b1".to_owned(),
                    std::cmp::Ordering::Greater => format!("same_{j}_{i}"),
                })
                .collect();
            text.push_str(&format!("    always @(*) equal${i} = {{{}}};\n", bits.join(", ")));
        }
        Verilog::Custom(text)
    }
}

/// Sets bits `from` to `to` of `N`, or none if `to` is below `from`. `I` bits count to `N` - 1.
///
/// Combinational.
///
/// # Inputs
/// `from`, `to`.
///
/// # Outputs
/// `mask`.
#[derive(LogicBlock, BlockDefault)]
#[check(N == 1 << I, "BitRange: {I} bits do not number {N}")]
pub struct BitRange<const N: usize, const I: usize> {
    /// Lowest bit that is set.
    pub from: Signal<In, Bits<I>>,
    /// Highest bit that is set.
    pub to: Signal<In, Bits<I>>,
    /// The mask.
    pub mask: Signal<Out, Bits<N>>,
}

impl<const N: usize, const I: usize> Logic for BitRange<N, I> {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.mask.connect();
    }

    fn hdl(&self) -> Verilog {
        Verilog::Custom(format!(
            "    always @(*) mask = ({{{N}{{1'b1}}}} << from) & ({{{N}{{1'b1}}}} >> ({I}'d{} - to));",
            N - 1
        ))
    }
}

/// Finds the highest set bit of `N`; `I` bits count to `N` - 1.
///
/// Combinational.
///
/// # Inputs
/// `bits`.
///
/// # Outputs
/// `index` (of the highest set bit; 0 if there is none).
#[derive(LogicBlock, BlockDefault)]
#[check(N == 1 << I, "LastSet: {I} bits do not number {N}")]
pub struct LastSet<const N: usize, const I: usize> {
    /// Bits to examine.
    pub bits: Signal<In, Bits<N>>,
    /// Number of the highest set bit; 0 if none is set.
    pub index: Signal<Out, Bits<I>>,
}

impl<const N: usize, const I: usize> Logic for LastSet<N, I> {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.index.connect();
    }

    fn hdl(&self) -> Verilog {
        // By halves: whether the upper half of what is left is empty.
        let mut text = String::new();
        let mut from = "bits".to_owned();
        for i in (0..I).rev() {
            let half = 1_usize << i;
            let (low, high) =
                (format!("{from}[{}:0]", half - 1), format!("{from}[{}:{half}]", 2 * half - 1));
            text.push_str(&format!("    always @(*) index[{i}] = |{high};\n"));
            if i > 0 {
                text.push_str(&format!(
                    "    wire [{}:0] rest_{i} = |{high} ? {high} : {low};\n",
                    half - 1
                ));
            }
            from = format!("rest_{i}");
        }
        // The lowest bit is not examined: with nothing above it, the answer is 0 either way.
        Verilog::Custom(format!(
            "    /* verilator lint_off UNUSEDSIGNAL */\n{text}    /* verilator lint_on UNUSEDSIGNAL */"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use drdma_verilated::Word;
    use drdma_verilated::testbench::Random;

    #[test]
    fn vectors_are_joined_from_the_lowest() {
        let mut model = testing::library("concat", Concat::<5, 70, 1, 9, 85>::default).instance(1);
        let mut random = Random::new(1);
        for _ in 0..100 {
            let mut whole = Word::zero();
            for (port, lo, bits) in [("a", 0, 5), ("b", 5, 70), ("c", 75, 1), ("d", 76, 9)] {
                let part = random.word(bits);
                model.set_word(port, &part);
                whole.set_bits(lo, bits, &part);
            }
            model.eval();
            assert_eq!(model.get_word("whole"), whole);
        }
    }

    fn check_select<const N: usize, const W: usize>() {
        let name = format!("select_{N}_{W}");
        let mut model = testing::library(&name, Select::<N, W>::default).instance(1);
        let mut random = Random::new(1);
        for _ in 0..500 {
            // One value, or several.
            let mut choice = 1 << random.below(N as u64);
            if random.chance(0.3) {
                choice = random.below(1 << N) & random.below(1 << N);
            }
            model.set("choice", choice);
            let mut expected = 0;
            for k in 0..N {
                let value = random.below(1 << W) & random.below(1 << W);
                model.set(format!("values_{k}"), value);
                expected |= if choice >> k & 1 == 1 { value } else { 0 };
            }
            model.eval();
            assert_eq!(model.get("value"), expected, "choice {choice:#x}");
        }
    }

    #[test]
    fn selected_values_are_joined_by_or() {
        check_select::<5, 20>();
        check_select::<7, 4>();
        check_select::<32, 16>();
    }

    #[test]
    fn every_pair_is_compared() {
        let mut model = testing::library("equal_pairs", EqualPairs::<4, 8>::default).instance(1);
        let mut random = Random::new(1);
        for _ in 0..200 {
            let values: Vec<_> = (0..4).map(|_| (random.below(3) * 85) ^ random.below(2)).collect();
            for (k, &value) in values.iter().enumerate() {
                model.set(format!("values_{k}"), value);
            }
            model.eval();
            for i in 0..4 {
                let row: u64 = (0..4).map(|j| u64::from(values[i] == values[j]) << j).sum();
                assert_eq!(model.get(format!("equal_{i}")), row);
            }
        }
    }

    #[test]
    fn ranges_and_last_bits_are_those_of_rust() {
        let mut range = testing::library("bit_range", BitRange::<64, 6>::default).instance(1);
        let mut last = testing::library("last_set", LastSet::<64, 6>::default).instance(1);
        let mut random = Random::new(1);
        for _ in 0..2000 {
            let (from, to) = (random.below(64), random.below(64));
            range.set("from", from);
            range.set("to", to);
            range.eval();
            assert_eq!(range.get("mask"), (u64::MAX << from) & (u64::MAX >> (63 - to)));
            let bits = random.u64() >> from;
            last.set("bits", bits);
            last.eval();
            assert_eq!(last.get("index"), u64::from(bits.max(1).ilog2()));
        }
    }
}
