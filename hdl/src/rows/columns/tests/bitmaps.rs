//! Bitmaps that are read in long stretches.

use super::*;
use crate::rows::columns::bitmaps::Bitmaps;
use crate::testing;
use drdma_verilated::Library;
use drdma_verilated::testbench::{Bench, DriverId, MonitorId, STALLS};

fn library() -> Library {
    testing::library("column_bitmaps", Bitmaps::default)
}

struct Card<'a> {
    bench: Bench<'a>,
    turn: DriverId,
    resp: DriverId,
    out: MonitorId,
    /// Masks that must come: rows, and whether their read failed.
    expected: Vec<(Vec<bool>, bool)>,
}

impl Card<'_> {
    fn new(library: &Library, seed: u64) -> Self {
        let mut bench = Bench::new(library.instance(seed), seed);
        bench.limit(4_000_000);
        let (turn, resp, out) = (bench.driver("turn"), bench.driver("resp"), bench.monitor("out"));
        Self { bench, turn, resp, out, expected: Vec::new() }
    }

    /// Turns of `dests` destinations, in chunks of `chunk` rows, of one stretch; perhaps all of them a second time.
    fn stretch(&mut self, dests: u64, rows: usize, chunk: usize, fails: f64, random: &mut Random) {
        let bitmaps: Vec<_> =
            (0..dests).map(|_| (selection(rows, 0.5, random), random.chance(fails))).collect();
        let again = usize::from(fails > 0.0 && random.chance(0.3));
        let phases = (0..rows).step_by(chunk).enumerate();
        let all = (0..=again).flat_map(|again| phases.clone().map(move |phase| (again, phase)));
        for (again, (phase, first)) in all {
            let loads = again == 0 && phase == 0;
            for (index, (bits, fails)) in (0_u64..).zip(&bitmaps) {
                let range = first..(first + chunk).min(rows);
                let turn = Beat::from([("index", index)])
                    .with("phase", (phase * chunk / 16) as u64)
                    .with("rows", range.len())
                    .with("loads", loads);
                self.bench.send(self.turn, turn);
                self.expected.extend(bits[range].chunks(512).map(|rows| (rows.to_vec(), *fails)));
                if loads {
                    self.load(bits, *fails, random);
                }
            }
        }
    }

    fn load(&mut self, bits: &[bool], fails: bool, random: &mut Random) {
        let count = bits.len().div_ceil(512);
        let bad = random.below(count as u64) as usize;
        for (k, rows) in bits.chunks(512).enumerate() {
            let mut data = random.word(512);
            rows.iter().enumerate().for_each(|(i, &bit)| data.set_bits(i, 1, &bit.into()));
            let beat = Beat::from([("data", data)])
                .with("error", fails && k == bad)
                .with("last", k + 1 == count);
            self.bench.send(self.resp, beat);
        }
    }

    fn check(&mut self) {
        self.bench.run_until_received(self.out, self.expected.len());
        for ((rows, fails), beat) in self.expected.iter().zip(self.bench.received(self.out)) {
            assert_eq!(beat.u64("error") == 1, *fails);
            for (row, &bit) in rows.iter().enumerate() {
                assert_eq!(beat.get("data").bits(row, 1).to_u64() == 1, bit, "row {row}");
            }
        }
    }
}

#[test]
fn a_stretch_serves_all_turns_of_its_chunks_under_stalls() {
    let library = library();
    for (seed, stalls) in (1..).zip((0..2).flat_map(|_| STALLS)) {
        println!("seed {seed}");
        let mut random = Random::new(seed);
        let mut card = Card::new(&library, seed);
        card.bench.stall(stalls);
        for _ in 0..12 {
            let chunk =
                [16, 32, 64, 128, 192, 640, 1408, 2048, 3712, 4096][random.below(10) as usize];
            let most = if chunk >= 128 { 8192 } else { (4096 / chunk * chunk) as u64 };
            let rows = if random.chance(0.5) { most } else { 1 + random.below(most) };
            let dests = if random.chance(0.1) { 256 } else { 1 + random.below(6) };
            card.stretch(dests, rows as usize, chunk, 0.2, &mut random);
        }
        card.check();
    }
}

#[test]
fn a_turn_a_cycle_from_a_stretch_that_is_there() {
    let library = library();
    let mut random = Random::new(1);
    let mut card = Card::new(&library, 1);
    card.stretch(64, 4032, 192, 0.0, &mut random);
    card.check();
    let times = card.bench.received_at(card.out);
    // Each turn of the first chunk stores 8 beats first.
    assert_eq!(times[63] - times[0], 63 * 9, "turns that load");
    assert_eq!(times[times.len() - 1] - times[64], times.len() as u64 - 65, "all others");
}
