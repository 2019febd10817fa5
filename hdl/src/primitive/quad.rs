//! Fetches four bytes from a memory of 32 banks of 4 B, through ports that four positions share.
//!
//! The place of a word has 15 bits: the bank in 4:0, the row in 14:5. Banks that are equal modulo 8 are a class: bits
//! 2:0 are the class, bits 4:3 the bank among its four. Four positions share one port for each class, so that each
//! selects from 8 words instead of 32. Within its class a word is {row, bank of the class}, bits 14:3 of its place.
//!
//! Where many bits are selected, the selection has a net that is kept or a module of its own, and so has each
//! multiplexer of four, which a LUT holds: synthesis that maps for depth would need twice as many LUTs.

use std::fmt::Write as _;

use array_init::array_init;
use drdma_emit::prelude::*;

/// Number of positions.
const POSITIONS: usize = 4;
/// Number of classes of banks.
const CLASSES: usize = 8;

/// Gives each of four places its turn: places that need different words of a class take turns.
///
/// A place's turn is the lowest in which no earlier place clashes with it. So places in one word have the same turn,
/// and every turn up to the last has a place. Combinational.
///
/// # Inputs
/// `valid`, `place`.
///
/// # Outputs
/// `turns` (4 x 2 bits; 0 for places that are not valid), `last`: the last turn.
#[derive(LogicBlock, BlockDefault)]
pub struct Turns {
    /// Places that are present, one bit each.
    pub valid: Signal<In, Bits<4>>,
    /// Place of each word, in words.
    pub place: [Signal<In, Bits<15>>; POSITIONS],
    /// Turn of each place (4 x 2 bits).
    pub turns: Signal<Out, Bits<8>>,
    /// The highest turn.
    pub last: Signal<Out, Bits<2>>,
}

impl Logic for Turns {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.turns.connect();
        self.last.connect();
    }

    fn hdl(&self) -> Verilog {
        let mut text = String::new();
        for p in 1..POSITIONS {
            for q in 0..p {
                let [class_p, class_q] = [p, q].map(|k| format!("place${k}[2:0]"));
                let [word_p, word_q] = [p, q].map(|k| format!("place${k}[14:3]"));
                let _ = writeln!(
                    text,
                    "    wire c{p}{q} = valid[{p}] && valid[{q}] && {class_p} == {class_q} && {word_p} != {word_q};"
                );
            }
        }
        text.push_str(
            "    wire two0 = c20 | (c21 & ~c10);
    wire two1 = c21 & c10;
    wire [1:0] two = {two0 & two1, two0 & ~two1};
    wire three0 = c30 | (c31 & ~c10) | (c32 & two == 2'd0);
    wire three1 = (c31 & c10) | (c32 & two == 2'd1);
    wire three2 = c32 & two == 2'd2;
    wire [1:0] three = {three0 & three1, three0 & (~three1 | three2)};
    always @(*) turns = {three, two, 1'b0, c10, 2'd0};
    always @(*) last = {two[1] | three[1], (&three) | (~two[1] & ~three[1] & (c10 | two[0] | three[0]))};",
        );
        Verilog::Custom(text)
    }
}

/// Finds which of four places names the word of each class. Places of one class are in one word.
///
/// Combinational.
///
/// # Inputs
/// `active`, `class` (bits 2:0 of the places).
///
/// # Outputs
/// `used`: the classes with a word; `chosen` (8 x 2 bits): the first place in each, or 3 if a class is not used.
#[derive(LogicBlock, BlockDefault)]
pub struct Classes {
    /// Places that count, one bit each.
    pub active: Signal<In, Bits<4>>,
    /// Class of each place.
    pub class: [Signal<In, Bits<3>>; POSITIONS],
    /// Classes with a word, one bit each.
    pub used: Signal<Out, Bits<8>>,
    /// First place in each class (8 x 2 bits); 3 if the class is not used.
    pub chosen: Signal<Out, Bits<16>>,
}

impl Logic for Classes {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.used.connect();
        self.chosen.connect();
    }

    fn hdl(&self) -> Verilog {
        let mut text = String::new();
        for c in 0..CLASSES {
            for k in 0..POSITIONS {
                let _ = writeln!(text, "    wire h{c}_{k} = active[{k}] && class${k} == 3'd{c};");
            }
            let _ = writeln!(
                text,
                "    always @(*) used[{c}] = h{c}_0 | h{c}_1 | h{c}_2 | h{c}_3;
    always @(*) chosen[{}:{}] = {};",
                2 * c + 1,
                2 * c,
                first_of_four(&format!("h{c}"))
            );
        }
        Verilog::Custom(text)
    }
}

/// Selects `M` times one of the same four values of `W` bits. `S` = 2 `M`, `O` = `M` `W`.
///
/// Combinational: one LUT for each bit.
///
/// # Inputs
/// `value`; `select`, 2 bits for each selection.
///
/// # Outputs
/// `whole`.
#[derive(LogicBlock)]
pub struct Choose<const M: usize, const W: usize, const S: usize, const O: usize> {
    /// The four values.
    pub value: [Signal<In, Bits<W>>; 4],
    /// Number of the value for each selection, 2 bits each.
    pub select: Signal<In, Bits<S>>,
    /// Value of each selection, packed.
    pub whole: Signal<Out, Bits<O>>,
}

impl<const M: usize, const W: usize, const S: usize, const O: usize> Default
    for Choose<M, W, S, O>
{
    fn default() -> Self {
        assert_eq!(S, 2 * M, "Choose: {S} bits do not select {M} times among four");
        assert_eq!(O, M * W, "Choose: {M} values of {W} bits are not {O} bits");
        Self {
            value: array_init(|_| Signal::default()),
            select: Signal::default(),
            whole: Signal::default(),
        }
    }
}

impl<const M: usize, const W: usize, const S: usize, const O: usize> Logic for Choose<M, W, S, O> {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.whole.connect();
    }

    fn hdl(&self) -> Verilog {
        let mut text = String::new();
        for m in 0..M {
            let select = [2 * m + 1, 2 * m].map(|bit| format!("select[{bit}]"));
            let chosen = of_four(&select, |k| format!("value${k}"));
            let _ =
                writeln!(text, "    always @(*) whole[{}:{}] = {chosen};", W * m + W - 1, W * m);
        }
        Verilog::Custom(text)
    }
}

/// The crossbar of four positions: selects one bank of each class, then a byte of these for every position.
///
/// One result a cycle, after [`LATENCY`](Self::LATENCY) cycles.
///
/// # Inputs
/// `clk`; `data` (32 banks x 4 B), `banks` (8 x 2: the bank of each class), `selects` (class and byte
/// of each position).
///
/// # Outputs
/// `result`: 4 bytes.
#[derive(LogicBlock, Default)]
pub struct QuadMux {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Word of each bank (32 x 32 bits).
    pub data: Signal<In, Bits<1024>>,
    /// Bank of each class (8 x 2 bits).
    pub banks: Signal<In, Bits<16>>,
    /// Class and byte of each position: 3 bits, 2 bits.
    pub selects: [Signal<In, Bits<5>>; 4],
    /// Byte of each position (4 x 8 bits).
    pub result: Signal<Out, Bits<32>>,
}

impl QuadMux {
    /// Cycles from `data` to `result`.
    pub const LATENCY: usize = 2;
}

impl Logic for QuadMux {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.result.connect();
    }

    fn hdl(&self) -> Verilog {
        let (mut text, mut steps) =
            (format!("    reg [{}:0] words;\n", 32 * CLASSES - 1), String::new());
        for c in 0..CLASSES {
            let bank = |h: usize| slice("data", 32 * (CLASSES * h + c), 32);
            let select = [1, 0].map(|bit| format!("banks[{}]", 2 * c + bit));
            let _ = writeln!(
                steps,
                "        words[{}:{}] <= {};",
                32 * c + 31,
                32 * c,
                of_four(&select, bank)
            );
        }
        for k in 0..POSITIONS {
            let _ = writeln!(text, "    reg [4:0] select{k};");
            let _ = writeln!(steps, "        select{k} <= selects${k};");
            let select = |low: usize| [low + 1, low].map(|bit| format!("select{k}[{bit}]"));
            for c in 0..CLASSES {
                let byte = |b: usize| slice("words", 32 * c + 8 * b, 8);
                let chosen = of_four(&select(0), byte);
                let _ = writeln!(text, "    (* keep *) wire [7:0] byte{k}_{c} = {chosen};");
            }
            for half in 0..2 {
                let chosen = of_four(&select(2), |i| format!("byte{k}_{}", 4 * half + i));
                let _ = writeln!(text, "    (* keep *) wire [7:0] half{k}_{half} = {chosen};");
            }
            let _ = writeln!(
                steps,
                "        result[{}:{}] <= select{k}[4] ? half{k}_1 : half{k}_0;",
                8 * k + 7,
                8 * k
            );
        }
        Verilog::Custom(format!("{text}    always @(posedge clk) begin\n{steps}    end"))
    }
}

/// Verilog of `len` bits of a vector, from bit `from` on.
fn slice(vector: &str, from: usize, len: usize) -> String {
    format!("{vector}[{}:{from}]", from + len - 1)
}

/// Verilog of the number of the first of four wires, `{name}_0` to `{name}_3`; 3 if none is set.
pub(super) fn first_of_four(name: &str) -> String {
    format!("{{~({name}_0 | {name}_1), ~{name}_0 & ({name}_1 | ~{name}_2)}}")
}

/// Verilog of the one of four values that two bits select, the higher bit first.
fn of_four([high, low]: &[String; 2], value: impl Fn(usize) -> String) -> String {
    format!(
        "{high} ? ({low} ? {} : {}) : ({low} ? {} : {})",
        value(3),
        value(2),
        value(1),
        value(0)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use drdma_verilated::testbench::Random;

    /// Four places in few words, which clash and are shared.
    fn places(random: &mut Random) -> (u64, Vec<u64>) {
        let kind = random.below(3);
        let start = random.below(1 << 15);
        // All places lie in one class, or in two.
        let busy = random.below(2);
        let places: Vec<_> = (0..4)
            .map(|k| match kind {
                0 => random.below(1 << 15),
                1 => (start + k / 2) % (1 << 15),
                // A few rows of two banks of each of two classes.
                _ => random.below(4) << 13 | random.below(2) << 4 | (random.below(2) * busy),
            })
            .collect();
        (random.below(16), places)
    }

    fn class(place: u64) -> u64 {
        place & 7
    }

    #[test]
    fn places_have_the_same_turn_unless_they_need_two_words_of_a_class() {
        let mut model = testing::library("quad_turns", Turns::default).instance(1);
        let mut random = Random::new(1);
        let mut seen = [0; 4];
        for _ in 0..20_000 {
            let (valid, places) = places(&mut random);
            model.set("valid", valid);
            places.iter().enumerate().for_each(|(k, &at)| model.set(format!("place_{k}"), at));
            model.eval();
            let mut turns = vec![];
            for (k, &p) in places.iter().enumerate() {
                let clashes = |q: usize| {
                    let two = valid >> k & 1 == 1 && valid >> q & 1 == 1;
                    two && class(places[q]) == class(p) && places[q] != p
                };
                let taken: Vec<u64> = (0..k).filter(|&q| clashes(q)).map(|q| turns[q]).collect();
                turns.push((0..4).find(|turn| !taken.contains(turn)).expect("there are four"));
            }
            let last = *turns.iter().max().expect("there are four");
            let got: Vec<_> = (0..4).map(|k| model.get("turns") >> (2 * k) & 3).collect();
            assert_eq!(got, turns, "{places:x?}, {valid:04b}");
            assert_eq!(model.get("last"), last, "{places:x?}, {valid:04b}");
            seen[last as usize] += 1;
        }
        assert!(seen.iter().all(|&count| count > 50), "{seen:?}");
    }

    #[test]
    fn the_first_place_of_a_class_tells_its_word() {
        let mut model = testing::library("quad_classes", Classes::default).instance(1);
        let mut random = Random::new(1);
        let mut shared = 0;
        for _ in 0..20_000 {
            let (mut active, places) = places(&mut random);
            // Of places in two words of a class, only the first ones count.
            for k in 0..4 {
                let clashes =
                    |q: usize| class(places[q]) == class(places[k]) && places[q] != places[k];
                if (0..k).any(|q| active >> q & 1 == 1 && clashes(q)) {
                    active &= !(1 << k);
                }
            }
            model.set("active", active);
            places
                .iter()
                .enumerate()
                .for_each(|(k, &at)| model.set(format!("class_{k}"), class(at)));
            model.eval();
            let mut used = 0;
            for k in (0..4).filter(|k| active >> k & 1 == 1) {
                let class = class(places[k]);
                let chosen = model.get("chosen") >> (2 * class) & 3;
                shared += used >> class & 1;
                let first = (used >> class & 1 == 0).then_some(k as u64);
                assert_eq!(chosen, first.unwrap_or(chosen), "{places:x?}, {active:04b}");
                assert_eq!(places[chosen as usize], places[k], "{places:x?}, {active:04b}");
                used |= 1 << class;
            }
            assert_eq!(model.get("used"), used, "{places:x?}, {active:04b}");
        }
        assert!(shared > 1000);
    }

    #[test]
    fn every_choice_is_its_own() {
        let mut model = testing::library("choose", Choose::<3, 7, 6, 21>::default).instance(1);
        let mut random = Random::new(1);
        for _ in 0..200 {
            let values: Vec<_> = (0..4).map(|_| random.below(128)).collect();
            let select = random.below(64);
            values
                .iter()
                .enumerate()
                .for_each(|(k, &value)| model.set(format!("value_{k}"), value));
            model.set("select", select);
            model.eval();
            let whole =
                (0..3).map(|m| values[(select >> (2 * m) & 3) as usize] << (7 * m)).sum::<u64>();
            assert_eq!(model.get("whole"), whole);
        }
    }

    #[test]
    #[should_panic(expected = "3 values of 7 bits are not 20 bits")]
    fn widths_are_checked() {
        let _ = Choose::<3, 7, 6, 20>::default();
    }

    #[test]
    fn every_position_gets_its_byte_of_its_class() {
        let mut model = testing::library("quad_mux", QuadMux::default).instance(1);
        let mut random = Random::new(1);
        let mut due = std::collections::VecDeque::new();
        for _ in 0..2000 {
            let data = random.bytes(128);
            let banks = random.below(1 << 16);
            model.set_word("data", &data.as_slice().into());
            model.set("banks", banks);
            let mut result = vec![];
            for k in 0..4 {
                let (class, byte) = (random.below(8), random.below(4));
                model.set(format!("selects_{k}"), class << 2 | byte);
                let bank = (banks >> (2 * class) & 3) * 8 + class;
                result.push(data[(4 * bank + byte) as usize]);
            }
            due.push_back(result);
            model.cycle();
            if due.len() == QuadMux::LATENCY {
                assert_eq!(Some(model.get_word("result").to_bytes(4)), due.pop_front());
            }
        }
    }
}
