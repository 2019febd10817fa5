//! Rows that are only counted.

use super::*;
use crate::rows::columns::counter::Counter;
use crate::testing;
use drdma_verilated::Library;
use drdma_verilated::testbench::Bench;

fn library() -> Library {
    testing::library("column_counter", Counter::default)
}

/// A mask, and what is known of it.
fn mask(
    bits: &[bool],
    flags: [bool; 6],
    beat: u64,
    set: u64,
    index: u64,
) -> [(&'static str, Word); 3] {
    let mut data = Word::zero();
    bits.iter().enumerate().for_each(|(i, &bit)| data.set_bits(i, 1, &bit.into()));
    let flags = flags.map(|flag| (u64::from(flag).into(), 1));
    let mut fields = flags.to_vec();
    fields.extend([(beat.into(), 4), (set.into(), 11), (index.into(), DEST_INDEX)]);
    [("mask_valid", 1.into()), ("mask_bits", data), ("mask_tag", record(&fields))]
}

/// Expected outputs: the sums in their order, and the masks that are kept.
#[derive(Default)]
struct Expected {
    counted: Vec<(u64, u64, u64)>,
    kept: Vec<(u64, u64, Word, u64)>,
}

struct Card<'a> {
    bench: Bench<'a>,
    random: Random,
    expected: Expected,
    found: Expected,
}

impl Card<'_> {
    fn step(&mut self) {
        let get = |name: &str| self.bench.get(name);
        if get("counted_valid") == 1 {
            let sum = (get("counted_set"), get("counted_count"), get("counted_bad"));
            self.found.counted.push(sum);
        }
        if get("kept_valid") == 1 {
            let data = self.bench.get_word("kept_data");
            let kept = (get("kept_index"), get("kept_beat"), data, get("kept_error"));
            self.found.kept.push(kept);
        }
        self.bench.step();
    }

    /// Turns of a request of `dests` destinations, in chunks of `chunk` rows.
    fn request(&mut self, dests: u64, rows: usize, chunk: usize, kept: bool, gaps: f64) {
        let random = &mut self.random;
        let all: Vec<_> = (0..dests)
            .map(|index| {
                let density = [0.0, 0.1, 0.5, 1.0][random.below(4) as usize];
                (index ^ random.below(2) << 7, random.below(2048), selection(rows, density, random))
            })
            .collect();
        let mut bad = vec![0; all.len()];
        for first in (0..rows).step_by(chunk) {
            for (k, (index, set, bits)) in all.iter().enumerate() {
                let turn = &bits[first..(first + chunk).min(rows)];
                let closes = first + chunk >= rows;
                let mut turn_bad = 0;
                for (word, mask_bits) in turn.chunks(512).enumerate() {
                    let fails = self.random.chance(0.02);
                    let end = (word + 1) * 512 >= turn.len();
                    let beat = (first / 512 + word) as u64 % 16;
                    let flags = [word == 0, end, fails, first == 0, closes, kept];
                    turn_bad |= u64::from(fails);
                    let fields = mask(mask_bits, flags, beat, *set, *index);
                    if kept {
                        let data = fields[1].1.clone();
                        self.expected.kept.push((*index, beat, data, turn_bad));
                    }
                    fields.into_iter().for_each(|(name, value)| self.bench.set(name, value));
                    self.step();
                    while self.random.chance(gaps) {
                        self.bench.set("mask_valid", 0);
                        self.step();
                    }
                    self.bench.set("mask_valid", 0);
                }
                bad[k] |= turn_bad;
                if closes {
                    let count = bits.iter().filter(|bit| **bit).count() as u64;
                    self.expected.counted.push((*set, count, bad[k]));
                }
            }
        }
    }
}

#[test]
fn rows_are_counted_for_each_destination_over_all_chunks() {
    let library = library();
    for seed in 1..=6 {
        let bench = Bench::new(library.instance(seed), seed);
        let (expected, found) = Default::default();
        let mut card = Card { bench, random: Random::new(seed), expected, found };
        let gaps = [0.0, 0.4][seed as usize % 2];
        for _ in 0..30 {
            let (dests, most) =
                [(1, 70_000), (5, 9000), (40, 1500), (128, 300)][card.random.below(4) as usize];
            let rows = 1 + card.random.below(most) as usize;
            let chunk = if card.random.chance(0.5) { rows } else { 4096 };
            let kept = card.random.chance(0.5);
            let dests = 1 + card.random.below(dests);
            card.request(dests, rows, chunk, kept, gaps);
        }
        (0..8).for_each(|_| card.step());
        assert_eq!(card.found.counted, card.expected.counted);
        assert!(card.found.kept == card.expected.kept, "masks that are kept");
        assert!(card.found.counted.iter().any(|sum| sum.2 == 1), "some cannot be read");
    }
}
