//! Counts the bits that are set before each byte of a vector.

use drdma_emit::prelude::*;

/// Counts the set bits of 512 in front of each of their 64 bytes.
///
/// Four cycles with `enable`; without it every stage holds. Bytes are counted first, then summed up within pieces of
/// 64 bits, then the pieces, and at last both are added, so that no cycle has more than a tree of a few sums.
///
/// # Inputs
/// `clk`, `enable`, `bits`.
///
/// # Outputs
/// For the bits of four cycles before: `ahead` (64 x 7 bits: for each byte the number of bits set in those below it,
/// modulo 128), `piece` (8 x 3 bits: the same for each 64 bits, divided by 64 and rounded down), `total` (number of set
/// bits); and `delayed`, those bits.
#[derive(LogicBlock, BlockDefault)]
pub struct Ranks {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// The stages advance in this cycle.
    pub enable: Signal<In, Bit>,
    /// Bits to count.
    pub bits: Signal<In, Bits<512>>,
    /// Number of bits set below each byte, modulo 128 (64 x 7 bits).
    pub ahead: Signal<Out, Bits<448>>,
    /// Number of bits set below each 64, divided by 64 and rounded down (8 x 3 bits).
    pub piece: Signal<Out, Bits<24>>,
    /// Number of all set bits.
    pub total: Signal<Out, Bits<10>>,
    /// The bits that the other outputs belong to.
    pub delayed: Signal<Out, Bits<512>>,
}

impl Logic for Ranks {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.ahead.connect();
        self.piece.connect();
        self.total.connect();
        self.delayed.connect();
    }

    fn hdl(&self) -> Verilog {
        // The sum of signals, as a tree.
        fn sum(terms: &[String]) -> String {
            match terms {
                [] => unreachable!("a sum has a term"),
                [term] => term.clone(),
                _ => {
                    let (low, high) = terms.split_at(terms.len().div_ceil(2));
                    format!("({} + {})", sum(low), sum(high))
                }
            }
        }
        let (mut declared, mut moves) = (String::new(), String::new());
        for byte in 0..64 {
            declared.push_str(&format!(
                "    reg [3:0] count{byte};\n    reg [5:0] within{byte};\n    reg [5:0] later{byte};\n"
            ));
            let bits: Vec<_> =
                (0..8).map(|bit| format!("{{3'd0, bits[{}]}}", 8 * byte + bit)).collect();
            moves.push_str(&format!("            count{byte} <= {};\n", sum(&bits)));
            // Set bits below the byte in its piece.
            let first = byte / 8 * 8;
            let below: Vec<_> = (first..byte).map(|k| format!("{{2'd0, count{k}}}")).collect();
            let below = if below.is_empty() { "6'd0".to_owned() } else { sum(&below) };
            moves.push_str(&format!("            within{byte} <= {below};\n"));
            moves.push_str(&format!("            later{byte} <= within{byte};\n"));
            moves.push_str(&format!(
                "            ahead[{}:{}] <= base{}[6:0] + {{1'b0, later{byte}}};\n",
                7 * byte + 6,
                7 * byte,
                byte / 8
            ));
        }
        for piece in 0..8 {
            declared.push_str(&format!("    reg [6:0] ones{piece};\n    reg [9:0] base{piece};\n"));
            let counts: Vec<_> =
                (0..8).map(|k| format!("{{3'd0, count{}}}", 8 * piece + k)).collect();
            moves.push_str(&format!("            ones{piece} <= {};\n", sum(&counts)));
            let below: Vec<_> = (0..piece).map(|k| format!("{{3'd0, ones{k}}}")).collect();
            let below = if below.is_empty() { "10'd0".to_owned() } else { sum(&below) };
            moves.push_str(&format!("            base{piece} <= {below};\n"));
            moves.push_str(&format!(
                "            piece[{}:{}] <= base{piece}[8:6];\n",
                3 * piece + 2,
                3 * piece
            ));
        }
        // Half of the pieces at a time.
        let some = |pieces: std::ops::Range<usize>| -> String {
            sum(&pieces.map(|k| format!("{{3'd0, ones{k}}}")).collect::<Vec<_>>())
        };
        Verilog::Custom(format!(
            "{declared}    reg [9:0] lower;
    reg [9:0] upper;
    reg [511:0] bits1;
    reg [511:0] bits2;
    reg [511:0] bits3;
    // Before a piece there are at most 448 bits.
    wire unused = {};
    always @(posedge clk) begin
        if (enable) begin
            bits1 <= bits;
            bits2 <= bits1;
            bits3 <= bits2;
            delayed <= bits3;
            lower <= {};
            upper <= {};
            total <= lower + upper;
{moves}        end
    end",
            (0..8).map(|k| format!("base{k}[9]")).collect::<Vec<_>>().join(" | "),
            some(0..4),
            some(4..8)
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use drdma_verilated::Word;
    use drdma_verilated::testbench::Random;
    use std::collections::VecDeque;

    /// Set bits among the first `end` ones.
    fn ones(bits: &Word, end: usize) -> u64 {
        (0..end).map(|k| bits.bits(k, 1).to_u64()).sum()
    }

    #[test]
    fn the_bits_before_each_byte_are_counted() {
        let mut model = testing::library("ranks", Ranks::default).instance(1);
        let mut random = Random::new(1);
        let mut inside = VecDeque::new();
        for cycle in 0..600 {
            let density = [0.0, 0.02, 0.5, 0.98, 1.0][random.below(5) as usize];
            let mut bits = Word::zero();
            for k in 0..512 {
                bits.set_bits(k, 1, &random.chance(density).into());
            }
            let enable = random.chance(0.7);
            model.set("enable", enable.into());
            model.set_word("bits", &bits);
            model.cycle();
            if enable {
                inside.push_back(bits);
            }
            if inside.len() < 4 {
                continue;
            }
            while inside.len() > 4 {
                inside.pop_front();
            }
            let bits = &inside[0];
            assert_eq!(&model.get_word("delayed"), bits, "cycle {cycle}");
            assert_eq!(model.get("total"), ones(bits, 512));
            for byte in 0..64 {
                let before = model.get_word("ahead").bits(7 * byte, 7).to_u64();
                assert_eq!(before, ones(bits, 8 * byte) % 128, "byte {byte}");
            }
            for piece in 0..8 {
                let by = model.get_word("piece").bits(3 * piece, 3).to_u64();
                assert_eq!(by, ones(bits, 64 * piece) / 64, "piece {piece}");
            }
        }
    }
}
