//! Arbitrates four requesters of a memory of 32 banks: which are served, and which row each bank reads.

use std::fmt::Write as _;

use array_init::array_init;
use drdma_emit::prelude::*;

use super::quad::first_of_four;

/// Number of requesters.
const N: usize = 4;
/// Number of classes of banks; banks that are equal modulo 8 are a class.
const CLASSES: usize = 8;
/// Bits of the number of a row.
const ROW: usize = 10;
/// Bits of a word in its class: {row, bank of the class}.
const WORD: usize = 2 + ROW;

/// Serves requesters that each may want a word of each class of banks; see [`quad`](super::quad). If two want different
/// rows of a bank, the younger waits, or, at the same age, the one at the later port. All others are served; those that
/// want the same word are served together.
///
/// Combinational, all pairs at once.
///
/// # Inputs
/// `pending` (a bit for each class), `words` (8 x 12 bits), `ages` (the smaller is the older).
///
/// # Outputs
/// `left`: the classes that wait, one bit each; `free`: nothing of this requester waits. `reads`: the banks that are
/// read; `chosen` (8 classes x 4 banks x 2 bits): the requester that each bank reads for.
#[derive(LogicBlock, BlockDefault)]
pub struct Banks {
    /// Classes of which each requester wants a word, one bit each.
    pub pending: [Signal<In, Bits<8>>; N],
    /// Word that each requester wants of each class (8 x 12 bits): row and bank of the class.
    pub words: [Signal<In, Bits<96>>; N],
    /// Age of each requester; the smaller is the older.
    pub ages: [Signal<In, Bits<2>>; N],
    /// Classes of each requester that wait, one bit each.
    pub left: [Signal<Out, Bits<8>>; N],
    /// No class of the requester waits.
    pub free: [Signal<Out, Bit>; N],
    /// Banks that are read, one bit each.
    pub reads: Signal<Out, Bits<32>>,
    /// Requester whose row each bank reads, by class (8 x 4 x 2 bits).
    pub chosen: Signal<Out, Bits<64>>,
}

impl Logic for Banks {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.left.iter_mut().for_each(Logic::connect);
        self.free.iter_mut().for_each(Logic::connect);
        self.reads.connect();
        self.chosen.connect();
    }

    fn hdl(&self) -> Verilog {
        let mut text = String::new();
        for p in 0..N {
            for q in 0..p {
                let _ = writeln!(text, "    wire older{q}_{p} = ages${q} <= ages${p};");
            }
        }
        for c in 0..CLASSES {
            let bits = |k: usize, from: usize, len: usize| {
                let from = WORD * c + from;
                format!("words${k}[{}:{from}]", from + len - 1)
            };
            let mut lose: [Vec<String>; N] = array_init(|_| Vec::new());
            for p in 0..N {
                for q in 0..p {
                    // Compared in parts that fill a LUT each.
                    let name = format!("{c}_{q}_{p}");
                    let part = |i: usize| {
                        format!("{} != {}", bits(p, 2 + 3 * i, 3), bits(q, 2 + 3 * i, 3))
                    };
                    let _ = writeln!(
                        text,
                        "    (* keep *) wire bank{name} = pending${p}[{c}] && pending${q}[{c}] && {} == {};
    (* keep *) wire low{name} = {};
    (* keep *) wire middle{name} = {};
    (* keep *) wire high{name} = {};
    (* keep *) wire row{name} = low{name} || middle{name} || {} != {};
    wire clash{name} = bank{name} && (row{name} || high{name});",
                        bits(p, 0, 2),
                        bits(q, 0, 2),
                        part(0),
                        part(1),
                        part(2),
                        bits(p, 11, 1),
                        bits(q, 11, 1)
                    );
                    lose[p].push(format!("(clash{name} && older{q}_{p})"));
                    lose[q].push(format!("(clash{name} && !older{q}_{p})"));
                }
            }
            for (k, terms) in lose.iter().enumerate() {
                let _ = writeln!(
                    text,
                    "    wire lose{c}_{k} = {};
    always @(*) left${k}[{c}] = pending${k}[{c}] && lose{c}_{k};",
                    terms.join(" || ")
                );
            }
            for h in 0..4 {
                let bank = CLASSES * h + c;
                for k in 0..N {
                    let _ = writeln!(
                        text,
                        "    wire hit{bank}_{k} = pending${k}[{c}] && !lose{c}_{k} && {} == 2'd{h};",
                        bits(k, 0, 2)
                    );
                }
                let at = 2 * (4 * c + h);
                let _ = writeln!(
                    text,
                    "    always @(*) reads[{bank}] = hit{bank}_0 | hit{bank}_1 | hit{bank}_2 | hit{bank}_3;
    always @(*) chosen[{}:{at}] = {};",
                    at + 1,
                    first_of_four(&format!("hit{bank}"))
                );
            }
        }
        for k in 0..N {
            let _ = writeln!(text, "    always @(*) free${k} = left${k} == 8'd0;");
        }
        Verilog::Custom(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use drdma_verilated::Word;
    use drdma_verilated::testbench::Random;

    #[test]
    fn the_younger_of_two_rows_of_a_bank_waits_and_every_other_word_is_read() {
        let mut model = testing::library("banks", Banks::default).instance(1);
        let mut random = Random::new(1);
        let (mut losers, mut shared) = (0, 0);
        for _ in 0..5000 {
            let rows = [2, 3, 1024][random.below(3) as usize];
            let high = random.below(10);
            let mut requests = [[(false, 0, 0); CLASSES]; N];
            let ages: [u64; N] = array_init(|_| random.below(4));
            for (k, words) in requests.iter_mut().enumerate() {
                let (mut pending, mut all) = (0, Word::zero());
                for (c, word) in words.iter_mut().enumerate() {
                    // Rows that differ in one bit, which may be any, must be distinguished.
                    let row = (random.below(rows) << high) % 1024;
                    *word = (random.chance(0.7), row, random.below(4));
                    pending |= u64::from(word.0) << c;
                    all.set_bits(WORD * c, WORD, &(word.1 << 2 | word.2).into());
                }
                model.set(format!("pending_{k}"), pending);
                model.set_word(format!("words_{k}"), &all);
                model.set(format!("ages_{k}"), ages[k]);
            }
            model.eval();
            let mut banks = [None; 32];
            for (k, words) in requests.iter().enumerate() {
                for (c, &(_, row, bank)) in words.iter().enumerate().filter(|(_, word)| word.0) {
                    let waits = requests.iter().enumerate().any(|(other, words)| {
                        let (pending, r, b) = words[c];
                        pending && b == bank && r != row && (ages[other], other) < (ages[k], k)
                    });
                    let left = model.get(format!("left_{k}")) >> c & 1 == 1;
                    assert_eq!(left, waits, "{requests:?}, {ages:?}: {k}, class {c}");
                    losers += u64::from(waits);
                    let place = &mut banks[8 * bank as usize + c];
                    if !waits {
                        shared += u64::from(place.is_some());
                        *place = Some(row);
                    }
                }
            }
            for (k, words) in requests.iter().enumerate() {
                let left = model.get(format!("left_{k}"));
                let pending = (0..CLASSES).filter(|&c| words[c].0).fold(0, |all, c| all | 1 << c);
                assert_eq!(left & !pending, 0, "{requests:?}");
                assert_eq!(model.get(format!("free_{k}")) == 1, left == 0, "{requests:?}");
            }
            let (reads, chosen) = (model.get("reads"), model.get_word("chosen"));
            for (bank, row) in banks.iter().enumerate() {
                assert_eq!(reads >> bank & 1 == 1, row.is_some(), "{requests:?}: bank {bank}");
                let class = bank % CLASSES;
                let who = chosen.bits(2 * (4 * class + bank / CLASSES), 2).to_u64();
                let got = requests[who as usize][class].1;
                assert_eq!(row.unwrap_or(got), got, "{requests:?}: bank {bank}");
            }
        }
        assert!(losers > 1000 && shared > 1000, "{losers}, {shared}");
    }
}
