//! The placer against the properties of a plan.

mod check;
mod windows;

use super::Placer;
use crate::layout::windows::WINDOW_COUNT;
use crate::request::DEST_COUNT;
use crate::testing;
use check::{Box, EARLY, Input, Placed, Window, check};
use drdma_verilated::testbench::{Beat, Bench, Random, STALLS};
use drdma_verilated::{Library, Word};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

const FIELDS: [(&str, usize); 11] = [
    ("dest", 10),
    ("slot", 8),
    ("bytes", 7),
    ("unit_end", 1),
    ("message_start", 1),
    ("message_end", 1),
    ("message_bytes", 32),
    ("request_end", 1),
    ("dest_end", 1),
    ("status", 8),
    ("bad_dest", DEST_COUNT),
];

fn library() -> Library {
    // Settings count in words.
    testing::library("placer", Placer::default)
}

fn beat(input: &Input) -> Beat {
    let (mut addr, mut len, mut pos) = (Word::zero(), Word::zero(), Word::zero());
    for &(lane, a, l, p) in &input.fragments {
        addr.set_bits(64 * lane, 64, &Word::from(a));
        len.set_bits(7 * lane, 7, &Word::from(l));
        pos.set_bits(6 * lane, 6, &Word::from(p));
    }
    let mut beat = Beat::new().with("addr", addr).with("len", len).with("pos", pos);
    for (&name, &value) in &input.fields {
        beat.set(name, value);
    }
    beat.set("chunk_start", input.chunk.is_some());
    beat.set("chunk_blocks", input.chunk.unwrap_or(0));
    beat
}

fn placed(beat: &Beat) -> Placed {
    let bits = |field: &str, lo, len| beat.get(field).bits(lo, len).to_u64();
    let fragment = |k: usize| {
        let len = bits("len", 7 * k, 7);
        (len > 0).then(|| (k, bits("ram", 17 * k, 17), len, bits("pos", 6 * k, 6)))
    };
    Placed {
        fragments: (0..16).filter_map(fragment).collect(),
        fields: FIELDS.iter().map(|&(name, _)| (name, beat.u64(name))).collect(),
        window: beat.u64("window"),
        window_end: beat.u64("window_end") == 1,
        beat_end: beat.u64("beat_end") == 1,
    }
}

fn read(beat: &Beat) -> Box {
    Box {
        addr: beat.u64("addr"),
        ram: beat.u64("ram"),
        len: beat.u64("len"),
        window: beat.u64("window"),
        window_end: beat.u64("window_end") == 1,
    }
}

/// The destination of all beats for which nothing else is said.
const DEST: u64 = 0x2a5;

/// A beat of these fragments, one lane each, and random fields, within a request.
fn input(random: &mut Random, fragments: &[(u64, u64)]) -> Input {
    let mut input = Input::default();
    for (name, width) in FIELDS {
        input.fields.insert(name, random.below(1 << width));
    }
    input.fields.insert("request_end", 0);
    input.fields.insert("dest", DEST);
    let mut pos = 0;
    for (lane, &(addr, len)) in fragments.iter().enumerate() {
        input.fragments.push((lane, addr, len, pos));
        pos += len;
    }
    assert!(pos <= 64 && fragments.len() <= 16);
    input.fields.insert("bytes", pos);
    input
}

/// The end of a request, which closes the last window.
fn end(random: &mut Random) -> Input {
    let mut input = input(random, &[]);
    input.fields.insert("request_end", 1);
    input
}

struct Run {
    windows: Vec<Window>,
    sent_at: Vec<u64>,
}

#[derive(Clone, Copy)]
struct Settings {
    max_read: u64,
    threshold: u64,
    /// Bytes that reads should have on average; 0: any.
    mean: u64,
    /// The settings are a request's own.
    planned: bool,
    seed: u64,
    stalls: (f64, f64),
    /// Cycles from a window's last box to its data.
    latency: u64,
}

const CALM: Settings = Settings {
    max_read: 512,
    threshold: 256,
    mean: 0,
    planned: false,
    seed: 1,
    stalls: (0.0, 0.0),
    latency: 0,
};

/// Number of windows that are numbered.
const WINDOWS: u64 = WINDOW_COUNT as u64;

/// Grants up to four windows at a time, numbered round. The windows in use come back: whoever frees one
/// takes it off.
fn grant_windows(bench: &mut Bench) -> Rc<Cell<u64>> {
    let (used, next) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
    bench.before({
        let (used, next) = (used.clone(), next.clone());
        move |model, _| {
            model.set("window_granted", u64::from(used.get() < 4));
            model.set("window_another", u64::from(used.get() < 4));
            model.set("window_number", next.get() % WINDOWS);
        }
    });
    bench.observe({
        let used = used.clone();
        move |model, _| {
            let opened = model.get("window_opened");
            used.set(used.get() + opened);
            next.set(next.get() + opened);
        }
    });
    used
}

/// Sends `inputs`, with a reader and a gather around that take a window's beats only when its
/// boxes were read.
fn run(library: &Library, inputs: &[Input], settings: Settings) -> Run {
    let Settings { max_read, threshold, mean, seed, stalls, latency, .. } = settings;
    let mut bench = Bench::new(library.instance(seed), seed);
    bench.limit(400_000);
    bench.set("max_read", max_read);
    bench.set("merge_threshold", threshold);
    bench.set("mean", mean);
    bench.set("planned", u64::from(settings.planned));
    let windows_used = grant_windows(&mut bench);
    let sizes = Rc::new(RefCell::new(Vec::new()));
    bench.observe({
        let sizes = sizes.clone();
        move |model, _| {
            if model.get("window_closed") == 1 {
                sizes.borrow_mut().push(model.get("window_size"));
            }
        }
    });
    let (beats, out) = (bench.driver("beat"), bench.monitor("placed"));
    let boxes = bench.monitor("reads");
    bench.stall(stalls);
    bench.send_all(beats, inputs.iter().map(beat));
    let (mut all_placed, mut all_boxes) = (Vec::new(), Vec::new());
    let mut arrivals: Vec<u64> = Vec::new();
    let (mut done, mut quiet, mut planned) = (0, 0, 0);
    while bench.pending(beats) > 0 || done < arrivals.len() || quiet < 100 {
        let here = arrivals.get(done).is_some_and(|&at| at <= bench.cycles());
        bench.stall_monitor(out, if here { stalls.1 } else { 1.0 });
        bench.step();
        planned += bench.get("count_windows");
        quiet = if bench.pending(beats) > 0 { 0 } else { quiet + 1 };
        for beat in bench.take(out) {
            let beat = placed(&beat);
            if beat.window_end {
                done += 1;
                windows_used.set(windows_used.get() - 1);
            }
            all_placed.push(beat);
            quiet = 0;
        }
        for beat in bench.take(boxes) {
            let read = read(&beat);
            if read.window_end {
                arrivals.push(bench.cycles() + latency);
            }
            all_boxes.push(read);
            quiet = 0;
        }
    }
    // No box is as long as 24 B more than 511.
    let worth = match mean {
        0 => [u64::MAX; 2],
        _ if settings.planned => [u64::MAX; 2],
        511 => [96, 496],
        _ => [0, 496],
    };
    let thresholds = worth.map(|gap| threshold.min(gap));
    let windows = check(inputs, &all_placed, &all_boxes, &sizes.borrow(), max_read, thresholds);
    assert_eq!(planned, windows.len() as u64, "windows are counted");
    Run { windows, sent_at: bench.sent_at(beats).to_vec() }
}

/// Divides beats into requests: of one destination, of two that take turns, or in chunks.
fn divide(random: &mut Random, inputs: &mut [Input]) {
    let (mut left, mut kind, mut dest) = (0, 0, 0);
    for input in inputs {
        let begins = left == 0;
        if begins {
            (left, kind, dest) = (1 + random.below(400), random.below(3), random.below(1 << 10));
        }
        left -= 1;
        if kind == 1 && random.chance(0.1) {
            dest ^= 1;
        }
        if kind == 2 && (begins || random.chance(0.02)) {
            input.chunk = Some(random.below(150));
        }
        input.fields.insert("dest", dest);
        input.fields.insert("request_end", u64::from(left == 0));
    }
}

/// Fragments all over a small stretch: overlapping, repeated, crossing, with unused lanes.
fn scattered(random: &mut Random, count: usize, base: u64, span: u64) -> Vec<Input> {
    let mut inputs = Vec::new();
    for _ in 0..count {
        let (mut fragments, mut left) = (Vec::new(), 64);
        for _ in 0..random.below(17) {
            let longest = if random.chance(0.8) { 12 } else { 64 };
            let len = random.below(left.min(longest) + 1);
            fragments.push((base.wrapping_add(random.below(span)), len));
            left -= len;
            if left == 0 {
                break;
            }
        }
        inputs.push(input(random, &fragments));
    }
    inputs.push(end(random));
    inputs
}

/// Rows of columns {base, width, step}; each row with this probability.
fn columns(random: &mut Random, rows: u64, columns: &[(u64, u64, u64)], p: f64) -> Vec<Input> {
    let mut inputs = Vec::new();
    for row in 0..rows {
        if random.chance(p) {
            let fragments: Vec<_> =
                columns.iter().map(|&(base, width, step)| (base + row * step, width)).collect();
            inputs.push(input(random, &fragments));
        }
    }
    inputs.push(end(random));
    inputs
}

fn cycles_per_beat(run: &Run, from: usize, to: usize) -> f64 {
    (run.sent_at[to] - run.sent_at[from]) as f64 / (to - from) as f64
}

fn settings(random: &mut Random, seed: u64, stalls: (f64, f64)) -> Settings {
    let thresholds = [0, 4, 7, 8, 12, 64, 100, 251, 252, 256, 500, 4096, 8191];
    Settings {
        max_read: 64 << random.below(7),
        threshold: thresholds[random.below(thresholds.len() as u64) as usize],
        mean: [0, 1, 100, 256, 511][random.below(5) as usize],
        planned: random.chance(0.2),
        seed,
        stalls,
        latency: random.below(400),
    }
}

#[test]
fn scattered_fragments_are_planned_right_under_stalls() {
    let library = library();
    for (seed, stalls) in (1..).zip(STALLS.into_iter().chain(STALLS)) {
        let mut random = Random::new(seed);
        let span = [300, 5_000, 20_000, 200_000][random.below(4) as usize];
        let base = [0x1_2345_6700, 0xffff_ffff_fff0_0000, 77][random.below(3) as usize];
        let mut inputs = scattered(&mut random, 600, base, span);
        divide(&mut random, &mut inputs[..600]);
        let settings = settings(&mut random, seed, stalls);
        run(&library, &inputs, settings);
    }
}

#[test]
fn columns_rows_and_bitmaps_are_planned_right() {
    let library = library();
    for (seed, stalls) in (20..).zip(STALLS.into_iter().chain(STALLS)) {
        let mut random = Random::new(seed);
        let count = 1 + random.below(8);
        let step = [1, 2, 4, 8, 20, 64, 100, 256][random.below(8) as usize];
        let lanes: Vec<_> = (0..count)
            .map(|k| {
                let base = 0x7f00_0000_0000 + (k << random.below(24)) + random.below(300);
                (base, 1 + random.below(8), step)
            })
            .collect();
        let p = [1.0, 0.5, 0.1][random.below(3) as usize];
        let mut inputs = columns(&mut random, 1500, &lanes, p);
        let count = inputs.len() - 1;
        divide(&mut random, &mut inputs[..count]);
        let settings = settings(&mut random, seed, stalls);
        run(&library, &inputs, settings);
    }
}

#[test]
fn five_dense_columns_pass_at_a_beat_a_cycle() {
    let library = library();
    let mut random = Random::new(1);
    let lanes: Vec<_> = [4, 4, 8, 8, 4]
        .iter()
        .enumerate()
        .map(|(k, &width)| (0x10_0000 * (k as u64 + 1), width, width))
        .collect();
    let inputs = columns(&mut random, 6000, &lanes, 1.0);
    let run = run(&library, &inputs, CALM);
    let cycles = cycles_per_beat(&run, 1000, 6000);
    println!("five columns: {cycles}");
    assert!(cycles <= 1.1, "{cycles} cycles a beat");
    let read: u64 = run.windows.iter().flat_map(|w| &w.boxes).map(|b| b.len).sum();
    assert!(read <= 6000 * 28 * 102 / 100, "{read} bytes read for {}", 6000 * 28);
}

#[test]
fn contiguous_data_pass_at_four_beats_in_five_cycles() {
    let library = library();
    for (name, base) in [("aligned", 0x4000), ("unaligned", 0x4011)] {
        let mut random = Random::new(2);
        let inputs = columns(&mut random, 4000, &[(base, 64, 64)], 1.0);
        let run = run(&library, &inputs, CALM);
        let cycles = cycles_per_beat(&run, 1000, 4000);
        println!("contiguous, {name}: {cycles}");
        assert!(cycles <= 1.0 / 0.8 + 0.02, "{cycles} cycles a beat");
        let boxes: usize = run.windows.iter().map(|w| w.boxes.len()).sum();
        let least = 4000 * 64 / 512;
        assert!(boxes <= least + 2 * run.windows.len() + 4000 * 64 / 4096, "{boxes} boxes");
    }
}

/// Rows of four columns of 8 B and a string of 5 to 60 B, in turns of eight destinations: a turn has the rows of one of
/// them among 256 neighbouring ones. Each destination goes through the same blocks of the four columns.
#[test]
fn lanes_return_to_blocks_that_other_destinations_had() {
    let library = library();
    let mut random = Random::new(13);
    let rows = 2048;
    let rows: Vec<_> = (0..rows)
        .scan(0x90_0000, |end, row| {
            let start = *end;
            *end += 5 + random.below(56);
            Some((row, random.below(8), start, *end - start))
        })
        .collect();
    let mut inputs = Vec::new();
    for chunk in rows.chunks(256) {
        for dest in 0..8 {
            for &(row, _, start, len) in chunk.iter().filter(|row| row.1 == dest) {
                let lane = |k: u64| (k as usize, 0x10_0000 * (k + 1) + 8 * row, 8, 8 * k);
                let mut fixed = input(&mut random, &[]);
                fixed.fragments = (0..4).map(lane).collect();
                fixed.chunk = (dest == 0 && row == chunk[0].0).then_some(104);
                let mut text = input(&mut random, &[]);
                text.fragments = vec![(4, start, len, 4)];
                fixed.fields.insert("dest", dest);
                text.fields.insert("dest", dest);
                inputs.extend([fixed, text]);
            }
        }
    }
    let count = inputs.len();
    inputs.push(end(&mut random));
    let run = run(&library, &inputs, CALM);
    let cycles = run.sent_at[count] - run.sent_at[0];
    println!("columns and strings: {cycles} cycles for {} rows", rows.len());
    assert!(cycles < 5000, "{cycles} cycles for {} rows", rows.len());
}

/// Turns of 16 destinations in chunks of 256 rows of five columns: a lane leaves a block every two rows. The 40 blocks of
/// a chunk cost up to a cycle each, and words of five blocks are stored in two rows.
#[test]
fn lanes_that_leave_a_block_every_two_rows_pass_a_row_a_cycle() {
    let library = library();
    let mut random = Random::new(14);
    let mut inputs = Vec::new();
    let rows: Vec<_> = (0..2048_u64).map(|row| (row, random.below(16))).collect();
    for chunk in rows.chunks(256) {
        for dest in 0..16 {
            for &(row, _) in chunk.iter().filter(|row| row.1 == dest) {
                let mut beat = input(&mut random, &[]);
                let lane = |k: u64| (k as usize, 0x10_0000 * (k + 1) + 8 * row, 8, 8 * k);
                beat.fragments = (0..5).map(lane).collect();
                beat.fields.insert("dest", dest);
                inputs.push(beat);
            }
        }
    }
    let count = inputs.len();
    inputs.push(end(&mut random));
    let run = run(&library, &inputs, CALM);
    let cycles = run.sent_at[count] - run.sent_at[0];
    println!("turns of 16 destinations: {cycles} cycles for {count} rows");
    assert!(cycles < count as u64 + 8 * 40 + 300, "{cycles} cycles for {count} rows");
}

#[test]
fn a_row_store_asks_once_for_all_lanes() {
    let library = library();
    let mut random = Random::new(3);
    let lanes: Vec<_> = (0..16).map(|k| (0x8000 + 4 * k, 4, 64)).collect();
    let inputs = columns(&mut random, 3000, &lanes, 1.0);
    let run = run(&library, &inputs, CALM);
    let cycles = cycles_per_beat(&run, 1000, 3000);
    println!("row store: {cycles}");
    assert!(cycles <= 1.05, "{cycles} cycles a beat");
}

#[test]
fn random_pointers_pass_at_two_cycles_a_block() {
    let library = library();
    for (chunk, most) in [(None, EARLY), (Some(104), 112)] {
        let mut random = Random::new(4);
        let mut inputs = Vec::new();
        for _ in 0..2000 {
            let fragments: Vec<_> = (0..4).map(|_| (random.u64() & !0xff, 16)).collect();
            inputs.push(input(&mut random, &fragments));
        }
        inputs[0].chunk = chunk;
        inputs.push(end(&mut random));
        let run = run(&library, &inputs, CALM);
        let cycles = cycles_per_beat(&run, 500, 2000);
        println!("random pointers, windows of {most} blocks: {cycles}");
        // Two cycles a box, as the DMA engine takes them.
        assert!(cycles <= 8.4, "{cycles} cycles for 4 blocks");
        // Less what a beat that did not fit would have needed.
        for window in &run.windows[..run.windows.len() - 1] {
            assert!(window.blocks.len() > most - 4, "{} blocks", window.blocks.len());
        }
    }
}

/// Records that lie apart, one a beat: the lane takes another block in each cycle.
#[test]
fn beats_of_one_lane_in_other_blocks_pass_one_a_cycle() {
    let library = library();
    let mut random = Random::new(4);
    let mut inputs: Vec<_> = (0..2000)
        .map(|_| {
            let record = (random.u64() & !0xff, 56);
            input(&mut random, &[record])
        })
        .collect();
    inputs.push(end(&mut random));
    let run = run(&library, &inputs, CALM);
    let cycles = cycles_per_beat(&run, 500, 2000);
    // A change of window costs about 10 cycles, one in 40 beats.
    assert!(cycles <= 1.25, "{cycles} cycles a beat");
}

#[test]
fn a_gap_within_a_line_is_read_through_unless_the_threshold_is_0() {
    let library = library();
    let mut random = Random::new(6);
    // The third pair lies in two lines.
    let fragments = [0, 60, 68, 120, 188, 196].map(|offset| (0x9_0000 + offset, 4));
    let inputs = [input(&mut random, &fragments), end(&mut random)];
    let lens = |threshold| -> Vec<u64> {
        let run = run(&library, &inputs, Settings { threshold, ..CALM });
        run.windows[0].boxes.iter().map(|read| read.len).collect()
    };
    assert_eq!(lens(1), [64, 56, 4, 4]);
    assert_eq!(lens(0), [4; 6]);
}

/// Records of 32 B, 96 B apart: read through all gaps, boxes have 416 B; through none, 32 B.
#[test]
fn of_gaps_that_are_equally_wide_a_part_is_read_through_in_each_window() {
    let library = library();
    let mut random = Random::new(15);
    let mut inputs = columns(&mut random, 3000, &[(0x10_0000, 32, 128)], 1.0);
    // A window of 40 blocks is too short to have both.
    inputs[0].chunk = Some(112);
    let run = run(&library, &inputs, Settings { mean: 256, ..CALM });
    assert!(run.windows.len() > 10);
    for window in &run.windows[..run.windows.len() - 1] {
        assert!(window.boxes.iter().any(|read| read.len == 32), "{:?}", window.boxes);
        assert!(window.boxes.iter().any(|read| read.len > 280), "{:?}", window.boxes);
    }
    let boxes = || run.windows.iter().flat_map(|window| &window.boxes);
    let mean = boxes().map(|read| read.len).sum::<u64>() / boxes().count() as u64;
    assert!((270..290).contains(&mean), "{mean} B, 24 B more than 256 were asked for");
}

#[test]
fn boxes_of_dense_blocks_come_every_other_cycle() {
    let library = library();
    let mut random = Random::new(10);
    let mut inputs = columns(&mut random, 448, &[(0x10_0000, 64, 64)], 1.0);
    // All in one window.
    inputs[0].chunk = Some(112);
    let mut bench = Bench::new(library.instance(1), 1);
    bench.set("max_read", 256);
    grant_windows(&mut bench);
    bench.set("merge_threshold", 256);
    let (beats, boxes) = (bench.driver("beat"), bench.monitor("reads"));
    bench.send_all(beats, inputs.iter().map(beat));
    bench.run_until_received(boxes, 112);
    let at = bench.received_at(boxes);
    assert!(at[111] - at[0] <= 2 * 112, "{} cycles for 112 boxes", at[111] - at[0]);

    // Every other word of every block: 32 runs each.
    let lanes: Vec<_> = (0..8).map(|k| (0x10_0000 + 8 * k, 4, 64)).collect();
    let inputs = columns(&mut random, 100, &lanes, 1.0);
    let mut bench = Bench::new(library.instance(1), 1);
    bench.set("max_read", 256);
    grant_windows(&mut bench);
    let (beats, boxes) = (bench.driver("beat"), bench.monitor("reads"));
    bench.send_all(beats, inputs.iter().map(beat));
    bench.run_until_received(boxes, 800);
    let at = bench.received_at(boxes);
    assert!(at[799] - at[0] <= 2 * 800 + 25, "{} cycles for 800 boxes", at[799] - at[0]);
}
