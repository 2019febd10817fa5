//! Many lookups in one small table, and many sums of a product.

use drdma_emit::prelude::*;

/// Looks up an entry of a table of 2^`I` entries of `W` bits for each index: field `p` of `results` is the entry that
/// field `p` of `indices` names.
///
/// The results follow after one cycle with `enable`, and hold without it. All vectors are packed, field 0 lowest, so
/// that nothing is simulated while nothing changes. `E` = 2^`I` * `W` bits; `X` = `I` bits for each lookup; `R` = `W`
/// bits for each lookup.
///
/// # Inputs
/// `clk`, `enable`, `entries`, `indices`.
///
/// # Outputs
/// `results`.
#[derive(LogicBlock)]
pub struct Lookups<const I: usize, const W: usize, const E: usize, const X: usize, const R: usize> {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// The lookups are made in this cycle.
    pub enable: Signal<In, Bit>,
    /// Entries of the table, entry 0 lowest.
    pub entries: Signal<In, Bits<E>>,
    /// Number of the entry for each lookup.
    pub indices: Signal<In, Bits<X>>,
    /// Entry of each lookup.
    pub results: Signal<Out, Bits<R>>,
}

impl<const I: usize, const W: usize, const E: usize, const X: usize, const R: usize> Default
    for Lookups<I, W, E, X, R>
{
    fn default() -> Self {
        assert_eq!(E, W << I, "Lookups: 2^{I} entries of {W} bits are not {E} bits");
        assert_eq!(X % I, 0, "Lookups: {X} bits are no indices of {I} bits");
        assert_eq!(R, X / I * W, "Lookups: {} results of {W} bits are not {R} bits", X / I);
        Self {
            clk: Signal::default(),
            enable: Signal::default(),
            entries: Signal::default(),
            indices: Signal::default(),
            results: Signal::default(),
        }
    }
}

impl<const I: usize, const W: usize, const E: usize, const X: usize, const R: usize> Logic
    for Lookups<I, W, E, X, R>
{
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.results.connect();
    }

    fn hdl(&self) -> Verilog {
        let last = (1_usize << I) - 1;
        let mut text = format!("    wire [{}:0] words [0:{last}];\n", W - 1);
        for k in 0..=last {
            text.push_str(&format!(
                "    assign words[{k}] = entries[{}:{}];\n",
                k * W + W - 1,
                k * W
            ));
        }
        text.push_str("    always @(posedge clk) begin\n        if (enable) begin\n");
        for p in 0..X / I {
            let (top, low) = (p * W + W - 1, p * W);
            text.push_str(&format!(
                "            results[{top}:{low}] <= words[indices[{}:{}]];\n",
                p * I + I - 1,
                p * I
            ));
        }
        text.push_str("        end\n    end");
        Verilog::Custom(text)
    }
}

/// Computes `a` * `b` + `c` modulo 2^`C`, field by field: fields of `A`, `B` and `C` bits, packed in vectors of `NA`,
/// `NB` and `NC` bits; `C` is the widest.
///
/// Three stages, each with its bit of `enable`, without which it holds. One DSP slice for each field.
///
/// # Inputs
/// `clk`, `enable`, `a`, `b`, `c`.
///
/// # Outputs
/// `sums`.
#[derive(LogicBlock)]
pub struct ProductSums<
    const A: usize,
    const B: usize,
    const C: usize,
    const NA: usize,
    const NB: usize,
    const NC: usize,
> {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Stages that advance, one bit each.
    pub enable: Signal<In, Bits<3>>,
    /// First factor of each field.
    pub a: Signal<In, Bits<NA>>,
    /// Second factor of each field.
    pub b: Signal<In, Bits<NB>>,
    /// Summand of each field.
    pub c: Signal<In, Bits<NC>>,
    /// Sum of each field.
    pub sums: Signal<Out, Bits<NC>>,
}

impl<
    const A: usize,
    const B: usize,
    const C: usize,
    const NA: usize,
    const NB: usize,
    const NC: usize,
> Default for ProductSums<A, B, C, NA, NB, NC>
{
    fn default() -> Self {
        let fields = NC / C;
        assert!(A < C && B < C, "ProductSums: {C} bits are not more than {A}, {B}");
        assert_eq!(
            (NA, NB, NC),
            (fields * A, fields * B, fields * C),
            "ProductSums: not {fields} fields of {A}, {B} and {C} bits"
        );
        Self {
            clk: Signal::default(),
            enable: Signal::default(),
            a: Signal::default(),
            b: Signal::default(),
            c: Signal::default(),
            sums: Signal::default(),
        }
    }
}

impl<
    const A: usize,
    const B: usize,
    const C: usize,
    const NA: usize,
    const NB: usize,
    const NC: usize,
> Logic for ProductSums<A, B, C, NA, NB, NC>
{
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.sums.connect();
    }

    fn hdl(&self) -> Verilog {
        let slice = |width: usize, p: usize| format!("[{}:{}]", p * width + width - 1, p * width);
        let (mut multiply, mut sum) = (String::new(), String::new());
        for p in 0..NC / C {
            let (a, b, c) = (slice(A, p), slice(B, p), slice(C, p));
            multiply.push_str(&format!(
                "            product{c} <= {{{}'d0, a_0{a}}} * {{{}'d0, b_0{b}}};\n",
                C - A,
                C - B
            ));
            sum.push_str(&format!("            sums{c} <= product{c} + c_1{c};\n"));
        }
        Verilog::Custom(format!(
            "    reg [{}:0] a_0;
    reg [{}:0] b_0;
    reg [{top}:0] c_0;
    reg [{top}:0] c_1;
    reg [{top}:0] product;
    always @(posedge clk) begin
        if (enable[0]) begin
            a_0 <= a;
            b_0 <= b;
            c_0 <= c;
        end
        if (enable[1]) begin
            c_1 <= c_0;
{multiply}        end
        if (enable[2]) begin
{sum}        end
    end",
            NA - 1,
            NB - 1,
            top = NC - 1
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use drdma_verilated::testbench::Random;
    use std::collections::VecDeque;

    #[test]
    fn every_index_gets_its_entry() {
        let library = testing::library("lookups", Lookups::<3, 5, 40, 27, 45>::default);
        let mut model = library.instance(1);
        let mut random = Random::new(1);
        let mut before = None;
        for _ in 0..500 {
            let (entries, indices) = (random.word(40), random.word(27));
            let enable = random.chance(0.7);
            model.set("enable", enable.into());
            model.set_word("entries", &entries);
            model.set_word("indices", &indices);
            model.cycle();
            if enable {
                before = Some((entries, indices));
            }
            let Some((entries, indices)) = &before else { continue };
            for p in 0..9 {
                let index = indices.bits(3 * p, 3).to_u64() as usize;
                let result = model.get_word("results").bits(5 * p, 5);
                assert_eq!(result, entries.bits(5 * index, 5), "field {p}");
            }
        }
    }

    #[test]
    fn products_and_summands_are_added_field_by_field() {
        type Sums = ProductSums<5, 4, 11, 15, 12, 33>;
        let mut model = testing::library("product_sums", Sums::default).instance(1);
        let mut random = Random::new(1);
        // The operands in each stage of the pipeline.
        let mut stages: VecDeque<Option<[u64; 3]>> = VecDeque::from([None, None, None]);
        for _ in 0..1000 {
            let words = [random.word(15), random.word(12), random.word(33)];
            for (name, word) in ["a", "b", "c"].into_iter().zip(&words) {
                model.set_word(name, word);
            }
            let enable = random.chance(0.6);
            model.set("enable", if enable { 7 } else { 0 });
            model.cycle();
            if enable {
                let field = |k: usize, width: usize, p| words[k].bits(width * p, width).to_u64();
                let sum = |p| (field(0, 5, p) * field(1, 4, p) + field(2, 11, p)) % 2048;
                stages.push_back(Some([sum(0), sum(1), sum(2)]));
                stages.pop_front();
            }
            if let Some(sums) = stages[0] {
                let got = model.get_word("sums");
                assert_eq!([0, 1, 2].map(|p| got.bits(11 * p, 11).to_u64()), sums);
            }
        }
    }

    #[test]
    #[should_panic(expected = "2^3 entries of 5 bits are not 39 bits")]
    fn the_tables_width_is_checked() {
        let _ = Lookups::<3, 5, 39, 27, 45>::default();
    }

    #[test]
    #[should_panic(expected = "not 3 fields of 5, 4 and 11 bits")]
    fn the_fields_are_checked() {
        let _ = ProductSums::<5, 4, 11, 15, 11, 33>::default();
    }
}
