//! The addresser against where each byte must lie.

use super::{Addresser, MAX_ROW_BYTES};
use crate::testing;
use drdma_verilated::testbench::{Beat, Bench, Random, STALLS};
use drdma_verilated::{Library, Word};

fn library() -> Library {
    testing::library("addresser", Addresser::default)
}

#[derive(Clone, Debug)]
struct Lanes {
    place: Vec<u64>,
    len: Vec<u64>,
    step: Vec<u64>,
    window: u64,
}

impl Lanes {
    fn row_bytes(&self) -> u64 {
        self.len.iter().sum()
    }

    fn starts(&self) -> Vec<u64> {
        (0..self.len.len()).map(|j| self.len[..j].iter().sum()).collect()
    }

    /// Lanes of random lengths, or those of `like`, at random places.
    fn random(random: &mut Random, row_bytes: u64, window: u64, like: Option<&Self>) -> Self {
        // Short rows of up to 16 short lanes, long ones of as many lanes as they need, or more.
        let fewest = row_bytes.div_ceil(if row_bytes > 64 { 127 } else { 12 }).min(16);
        let lanes = fewest + random.below(17 - fewest);
        let (mut len, mut left) = (Vec::new(), row_bytes);
        for behind in (0..lanes.min(row_bytes)).rev() {
            let least = left.saturating_sub(127 * behind).max(1);
            let most = if behind == 0 { left } else { (left - behind).min(127) };
            len.push(least + random.below(most + 1 - least));
            left -= len[len.len() - 1];
        }
        if let Some(like) = like {
            len.clone_from(&like.len);
        }
        // A lane that is not used.
        if like.is_none() && len.len() < 16 && random.chance(0.2) {
            len.insert(random.below(len.len() as u64) as usize, 0);
        }
        let place = len.iter().map(|_| random.below(1000)).collect();
        let step = len.iter().map(|l| (l + random.below(5)).clamp(1, 255)).collect();
        Self { place, len, step, window }
    }

    fn beat(&self, random: &mut Random) -> Beat {
        let (mut place, mut start, mut step) = (random.word(272), Word::zero(), random.word(128));
        for j in 0..16 {
            start.set_bits(10 * j, 10, &Word::from(self.row_bytes()));
        }
        for (j, at) in self.starts().into_iter().enumerate() {
            place.set_bits(17 * j, 17, &Word::from(self.place[j]));
            start.set_bits(10 * j, 10, &Word::from(at));
            step.set_bits(8 * j, 8, &Word::from(self.step[j]));
        }
        Beat::new()
            .with("place", place)
            .with("start", start)
            .with("step", step)
            .with("lanes", self.len.len() as u64)
            .with("row_bytes", self.row_bytes())
            .with("window", self.window)
    }

    /// Address of byte `x` of rows at these offsets.
    fn ram(&self, offsets: &[u64], x: u64) -> u64 {
        let (row, byte) = ((x / self.row_bytes()) as usize, x % self.row_bytes());
        let starts = self.starts();
        let j = (0..starts.len()).rev().find(|&j| starts[j] <= byte).expect("a lane");
        self.place[j] + offsets[row] * self.step[j] + byte - starts[j]
    }
}

const SIDE: [(&str, usize); 6] = [
    ("dest", 10),
    ("slot", 8),
    ("message_start", 1),
    ("message_end", 1),
    ("message_bytes", 32),
    ("dest_end", 1),
];

/// A beat of these lanes, and what must come of it.
fn beat(random: &mut Random, lanes: &Lanes, window_end: bool) -> (Beat, Vec<u64>) {
    let row_bytes = lanes.row_bytes();
    // Beats of thin rows are whole rows, as many as fit; others touch at most 16.
    let thin = row_bytes < 4;
    let start = if thin { 0 } else { random.below(row_bytes) };
    let most = if thin { 64 / row_bytes * row_bytes } else { (16 * row_bytes - start).min(64) };
    let bytes = if random.chance(0.6) { most } else { random.below(most + 1) };
    let farthest = 30_000 / lanes.step.iter().max().expect("a lane");
    let mut offsets: Vec<u64> = (0..64).map(|_| random.below(farthest.min(4096))).collect();
    offsets.sort_unstable();
    let mut packed = Word::zero();
    for (k, &offset) in offsets.iter().enumerate() {
        packed.set_bits(12 * k, 12, &Word::from(offset));
    }
    let mut beat = Beat::new()
        .with("offset", packed)
        .with("start", start)
        .with("bytes", bytes)
        .with("window_end", window_end);
    for (name, width) in SIDE {
        beat.set(name, random.below(1 << width));
    }
    (beat, (0..bytes).map(|p| lanes.ram(&offsets, start + p)).collect())
}

fn check(sent: &Beat, rams: &[u64], lanes: &Lanes, got: &Beat) {
    for (name, _) in SIDE {
        assert_eq!(got.u64(name), sent.u64(name), "{name}");
    }
    assert_eq!(got.u64("window_end"), sent.u64("window_end"));
    assert_eq!(got.u64("window"), lanes.window);
    assert_eq!(got.u64("bytes"), rams.len() as u64);
    assert_eq!(u128::from(got.u64("mask")), (1_u128 << rams.len()) - 1);
    let fixed = ["beat_end", "request_end", "status", "bad_dest"].map(|name| got.u64(name));
    assert_eq!(fixed, [1, 0, 0, 0]);
    for (p, &ram) in rams.iter().enumerate() {
        let place = got.get("ram").bits(17 * p, 17).to_u64();
        assert_eq!(place, ram % (1 << 17), "byte {p} of {sent:?} in {lanes:?}");
    }
}

struct Run {
    sent_at: Vec<u64>,
    received_at: Vec<u64>,
    lanes_at: Vec<u64>,
}

fn run(
    library: &Library,
    random: &mut Random,
    windows: &[(Lanes, usize)],
    seed: u64,
    stalls: (f64, f64),
) -> Run {
    let mut bench = Bench::new(library.instance(seed), seed);
    let (lanes, beats) = (bench.driver("lanes"), bench.driver("beat"));
    let bytes = bench.monitor("bytes");
    bench.limit(400_000);
    bench.stall(stalls);
    let mut expected = Vec::new();
    for (window, count) in windows {
        bench.send(lanes, window.beat(random));
        for k in 0..*count {
            let (sent, rams) = beat(random, window, k + 1 == *count);
            bench.send(beats, sent.clone());
            expected.push((sent, rams, window));
        }
    }
    bench.run_until_received(bytes, expected.len());
    bench.run(50);
    assert_eq!(bench.received(bytes).len(), expected.len());
    for ((sent, rams, window), got) in expected.iter().zip(bench.received(bytes)) {
        check(sent, rams, window, got);
    }
    Run {
        sent_at: bench.sent_at(beats).to_vec(),
        received_at: bench.received_at(bytes).to_vec(),
        lanes_at: bench.sent_at(lanes).to_vec(),
    }
}

#[test]
fn every_byte_is_found_under_stalls() {
    let library = library();
    for (seed, stalls) in (1..).zip((0..12).flat_map(|_| STALLS)) {
        println!("seed {seed}, stalls {stalls:?}");
        let mut random = Random::new(seed);
        let mut windows: Vec<(Lanes, usize)> = Vec::new();
        for window in 0..5 {
            // Rows of 1 to 64 B, all of them over the seeds.
            let row_bytes = 1 + (5 * seed + window) % 64;
            let like = windows.last().filter(|_| random.chance(0.5)).map(|w| w.0.clone());
            let lanes = Lanes::random(&mut random, row_bytes, window % 4, like.as_ref());
            windows.push((lanes, 1 + random.below(30) as usize));
        }
        run(&library, &mut random, &windows, seed, stalls);
    }
}

#[test]
fn every_byte_of_long_rows_is_found_under_stalls() {
    let library = library();
    for (seed, stalls) in (1..).zip((0..4).flat_map(|_| STALLS)) {
        println!("seed {seed}, stalls {stalls:?}");
        let mut random = Random::new(100 + seed);
        let mut windows: Vec<(Lanes, usize)> = Vec::new();
        for window in 0..5 {
            let row_bytes = match window {
                0 => 65,
                1 => MAX_ROW_BYTES as u64,
                _ => 65 + random.below(MAX_ROW_BYTES as u64 - 64),
            };
            let like = windows.last().filter(|_| random.chance(0.3)).map(|w| w.0.clone());
            let lanes = Lanes::random(&mut random, row_bytes, window % 4, like.as_ref());
            windows.push((lanes, 1 + random.below(60) as usize));
        }
        run(&library, &mut random, &windows, seed, stalls);
    }
}

#[test]
fn a_beat_a_cycle_from_window_to_window() {
    let library = library();
    let mut random = Random::new(7);
    let first = Lanes::random(&mut random, 20, 0, None);
    let windows: Vec<_> = (0..6)
        .map(|window| (Lanes::random(&mut random, 20, window % 4, Some(&first)), 40))
        .collect();
    let run = run(&library, &mut random, &windows, 7, (0.0, 0.0));
    let last = run.received_at.len() - 1;
    assert_eq!(run.received_at[last] - run.received_at[0], last as u64, "a beat a cycle");
    assert_eq!(run.received_at[0] - run.sent_at[0], 7, "latency");
    assert_eq!(
        run.sent_at[0] - run.lanes_at[0],
        (20_u64 + 63).next_multiple_of(4) + 8,
        "new lengths"
    );
}

#[test]
fn lanes_of_known_lengths_are_at_work_soon() {
    let library = library();
    let mut random = Random::new(8);
    let lanes = Lanes::random(&mut random, 33, 1, None);
    let other = Lanes::random(&mut random, 33, 1, Some(&lanes));
    let table = (33_u64 + 63).div_ceil(4);
    // Every second window lies at another place, or all of them lie at the same one.
    for (second, cycles) in [(&other, table + 3), (&lanes, 2)] {
        let of = |k| if k % 2 == 0 { &lanes } else { second };
        let windows: Vec<_> = (0..40).map(|k| (of(k).clone(), 1)).collect();
        let run = run(&library, &mut random, &windows, 8, (0.0, 0.0));
        assert_eq!(run.sent_at[39] - run.sent_at[9], 30 * cycles, "a window");
    }

    let mut bench = Bench::new(library.instance(8), 8);
    let (headers, beats) = (bench.driver("lanes"), bench.driver("beat"));
    let bytes = bench.monitor("bytes");
    for (count, lanes) in (1..).zip([&lanes, &other, &other]) {
        bench.send(headers, lanes.beat(&mut random));
        bench.send(beats, beat(&mut random, lanes, true).0);
        bench.run_until_received(bytes, count);
    }
    let waited = |k: usize| bench.sent_at(beats)[k] - bench.sent_at(headers)[k];
    assert_eq!(waited(1), table + 5, "the next window");
    assert_eq!(waited(2), 4, "one that lies as the one before");
}

#[test]
fn windows_that_lie_alike_share_a_table_and_others_do_not() {
    let library = library();
    for (seed, stalls) in (1..).zip((0..8).flat_map(|_| STALLS)) {
        println!("seed {seed}, stalls {stalls:?}");
        let mut random = Random::new(300 + seed);
        // Three windows that differ from each other only in a place, a step or a length, in any order.
        let row_bytes = 4 + random.below(200);
        let first = Lanes::random(&mut random, row_bytes, 0, None);
        let (mut moved, mut stepped, mut longer) = (first.clone(), first.clone(), first.clone());
        let lane = random.below(first.len.len() as u64) as usize;
        moved.place[lane] ^= 1 << random.below(9);
        stepped.step[lane] = (first.step[lane] + 1).min(255);
        longer.len[lane] += 1;
        let kinds = [first, moved, stepped, longer];
        let windows: Vec<_> = (0..30)
            .map(|window| {
                let lanes = kinds[random.below(4) as usize].clone();
                (Lanes { window: window % 16, ..lanes }, 1 + random.below(8) as usize)
            })
            .collect();
        run(&library, &mut random, &windows, seed, stalls);
    }
}
