//! Shifts of wide values, faster than those of Verilator's run time.
//!
//! A record is packed by shifting each of its fields to its place, all of them as wide as the record.
//! Verilator (5.006) shifts left by masking and inserting every word twice, by a function that is too
//! large to be inlined; in a whole card that is a tenth of the time. The model's units are compiled
//! with this one in its place.

/// The file that is included behind the model's header.
pub(crate) const NAME: &str = "wide.h";

/// Text of the file. The operands do not overlap; bits above the result's width mean nothing, as in Verilator.
pub(crate) const TEXT: &str = r"#pragma once
static inline WDataOutP drdma_shiftl(int obits, WDataOutP owp, WDataInP const lwp, IData rd) {
    const int words = VL_WORDS_I(obits);
    const int from = rd < static_cast<IData>(obits) ? static_cast<int>(VL_BITWORD_E(rd)) : words;
    const int left = VL_BITBIT_E(rd);
    const int right = VL_EDATASIZE - left;
    for (int i = 0; i < from; ++i) owp[i] = 0;
    if (left == 0) {
        for (int i = from; i < words; ++i) owp[i] = lwp[i - from];
    } else if (from < words) {
        owp[from] = lwp[0] << left;
        for (int i = from + 1; i < words; ++i) {
            owp[i] = (lwp[i - from] << left) | (lwp[i - from - 1] >> right);
        }
    }
    return owp;
}
#define VL_SHIFTL_WWI(obits, lbits, rbits, owp, lwp, rd) drdma_shiftl(obits, owp, lwp, rd)
";

#[cfg(test)]
mod tests {
    use crate::{Options, Port, Source, Word, testbench::Random};

    const WIDTH: usize = 737;
    /// Shifts by words and by other numbers, to the first and the last bits, and beyond.
    const SHIFTS: [usize; 9] = [0, 1, 31, 32, 33, 640, 700, 736, 737];

    /// A word shifted, and cut at the width.
    fn shifted(value: &Word, by: usize) -> Word {
        let mut result = Word::zero();
        if by < WIDTH {
            result.set_bits(by, WIDTH - by, &value.bits(0, WIDTH - by));
        }
        result
    }

    /// Shifts to the left by each of the constants, and by an input.
    fn source() -> Source {
        let last = WIDTH - 1;
        let port = |k: usize| format!("output wire [{last}:0] by_{k}");
        let ports: Vec<String> = SHIFTS.map(port).into();
        let assign = |k: usize| format!("assign by_{k} = x << 32'd{k};\n");
        let text = format!(
            "module shifts(input wire [{last}:0] x, input wire [31:0] k,\n\
             output wire [{last}:0] by_input, {});\nassign by_input = x << k;\n{}endmodule\n",
            ports.join(", "),
            SHIFTS.map(assign).concat()
        );
        let outputs = SHIFTS.map(|k| Port::output(format!("by_{k}"), WIDTH));
        let inputs = [Port::input("x", WIDTH), Port::input("k", 32)];
        let by_input = [Port::output("by_input", WIDTH)];
        Source::new("shifts")
            .verilog("shifts.v", text)
            .ports(inputs.into_iter().chain(by_input).chain(outputs))
    }

    #[test]
    fn wide_values_are_shifted_by_constants_and_by_inputs() {
        let mut model = source().build(&Options::default()).expect("a model").instance(1);
        let seed = 77;
        let mut random = Random::new(seed);
        for _ in 0..200 {
            let x = Word::from_bytes(&random.bytes(WIDTH.div_ceil(8))).bits(0, WIDTH);
            let by = match random.below(4) {
                0 => u32::MAX as usize - random.below(99) as usize,
                _ => random.below(WIDTH as u64 + 40) as usize,
            };
            model.set_word("x", &x);
            model.set("k", by as u64);
            model.eval();
            assert_eq!(model.get_word("by_input"), shifted(&x, by), "{x:?} by {by}, seed {seed}");
            for by in SHIFTS {
                let found = model.get_word(format!("by_{by}").as_str());
                assert_eq!(found, shifted(&x, by), "{x:?} by {by}, seed {seed}");
            }
        }
    }
}
