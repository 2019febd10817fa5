//! The planner against a plan made byte by byte.

mod lines;
mod reference;

use super::Planner;
use crate::testing;
use drdma_verilated::testbench::{Beat, Bench, Random, STALLS};
use drdma_verilated::{Library, Word};
use reference::{Box, Chunk, Lane, Near, check, groups, plan};
use std::cell::RefCell;
use std::rc::Rc;

fn library() -> Library {
    testing::library("columns_planner", Planner::default)
}

#[derive(Clone, Copy, Debug)]
struct Settings {
    max_read: u64,
    threshold: u64,
    seed: u64,
    stalls: (f64, f64),
    /// The request brings its settings.
    planned: bool,
    /// Bytes that reads should have on average.
    mean: u64,
}

const CALM: Settings = Settings {
    max_read: 512,
    threshold: 256,
    seed: 1,
    stalls: (0.0, 0.0),
    planned: false,
    mean: 256,
};

struct Run {
    boxes: Vec<Box>,
    /// Cycles of the boxes.
    at: Vec<u64>,
    header_at: Vec<u64>,
    mark_at: Vec<u64>,
    lanes_at: Vec<u64>,
}

fn header(chunk: &Chunk, random: &mut Random) -> Beat {
    let (mut addr, mut len, mut step) = (random.word(1024), Word::zero(), random.word(128));
    for (j, lane) in chunk.lanes.iter().enumerate() {
        // The stretch's first row.
        let start = lane.addr.wrapping_sub(64 * chunk.base * lane.step);
        addr.set_bits(64 * j, 64, &Word::from(start));
        len.set_bits(7 * j, 7, &Word::from(lane.len));
        step.set_bits(8 * j, 8, &Word::from(lane.step));
    }
    Beat::new()
        .with("addr", addr)
        .with("len", len)
        .with("step", step)
        .with("rows", chunk.rows)
        .with("base", chunk.base)
        .with("window", chunk.window)
        .with("gap", chunk.gap.unwrap_or(8191))
}

fn marks(chunk: &Chunk) -> Vec<Beat> {
    let words = chunk.rows.div_ceil(512);
    let mut beats = Vec::new();
    for (t, turn) in chunk.turns.iter().enumerate() {
        for word in 0..words {
            let mut bits = Word::zero();
            for (i, _) in turn.iter().skip(512 * word as usize).take(512).enumerate() {
                let needed = turn[512 * word as usize + i];
                bits.set_bits(i, 1, &Word::from(u64::from(needed)));
            }
            let mut shift = Word::zero();
            for (k, &blocks) in chunk.shifts.iter().skip(8 * word as usize).take(8).enumerate() {
                shift.set_bits(12 * k, 12, &blocks.into());
            }
            beats.push(
                Beat::new()
                    .with("bits", bits)
                    .with("shift", shift)
                    .with("word", word)
                    .with("chunk_start", t == 0 && word == 0)
                    .with("chunk_end", t + 1 == chunk.turns.len() && word + 1 == words),
            );
        }
    }
    beats
}

/// Checks the lanes of a window against the groups.
fn check_lanes(chunk: &Chunk, beat: &Beat, threshold: u64) {
    let field = |name: &str, width: usize, j: usize| beat.get(name).bits(width * j, width).to_u64();
    let last = chunk.lanes.iter().rposition(|lane| lane.len > 0).expect("a lane");
    assert_eq!(beat.u64("lanes"), last as u64 + 1);
    assert_eq!(beat.u64("window"), chunk.window);
    assert_eq!(beat.u64("row_bytes"), chunk.lanes.iter().map(|l| l.len).sum::<u64>());
    for group in groups(chunk, threshold) {
        for j in group.lanes {
            let lane = chunk.lanes[j];
            let start: u64 = chunk.lanes[..j].iter().map(|l| l.len).sum();
            assert_eq!(field("place", 17, j), group.ram + (lane.addr - group.lo), "{chunk:x?}");
            assert_eq!(field("start", 10, j), start);
            assert_eq!(field("step", 8, j), lane.step);
        }
    }
}

/// Sends the chunks and checks everything that comes.
fn run(library: &Library, chunks: &[Chunk], settings: Settings) -> Run {
    let Settings { max_read, threshold, seed, stalls, planned, mean } = settings;
    let mut random = Random::new(seed);
    let mut bench = Bench::new(library.instance(seed), seed);
    bench.limit(1_000_000);
    bench.set("max_read", max_read);
    bench.set("merge_threshold", threshold);
    bench.set("planned", u64::from(planned));
    bench.set("mean", mean);
    let (headers, mark) = (bench.driver("header"), bench.driver("mark"));
    let (lanes, out) = (bench.monitor("lanes"), bench.monitor("box"));
    bench.stall(stalls);
    let sizes = Rc::new(RefCell::new(Vec::new()));
    bench.observe({
        let sizes = sizes.clone();
        move |model, _| {
            if model.get("sized") == 1 {
                sizes.borrow_mut().push(model.get("size"));
            }
        }
    });
    let beats: Vec<_> = chunks.iter().map(|c| header(c, &mut random)).collect();
    bench.send_all(headers, beats);
    bench.send_all(mark, chunks.iter().flat_map(marks));
    let ends =
        |bench: &Bench| bench.received(out).iter().filter(|b| b.u64("window_end") == 1).count();
    bench.run_until(|bench| ends(bench) == chunks.len());
    bench.run_until_received(lanes, chunks.len());
    bench.run(100);

    let boxes: Vec<Box> = bench
        .received(out)
        .iter()
        .map(|beat| Box {
            addr: beat.u64("addr"),
            ram: beat.u64("ram"),
            len: beat.u64("len"),
            window: beat.u64("window"),
            window_end: beat.u64("window_end") == 1,
        })
        .collect();
    let given: Vec<_> = boxes.split_inclusive(|b| b.window_end).collect();
    assert_eq!(given.len(), chunks.len(), "windows: {settings:?}");
    assert_eq!(bench.received(lanes).len(), chunks.len());
    // Size of a window: up to where its last group ends, in units of 128 B.
    let taken = |chunk: &Chunk| {
        let end = groups(chunk, threshold).last().map_or(0, |group| group.end);
        end.div_ceil(128)
    };
    assert_eq!(*sizes.borrow(), chunks.iter().map(taken).collect::<Vec<_>>());
    for ((chunk, given), lanes) in chunks.iter().zip(given).zip(bench.received(lanes)) {
        let near = Near::new(threshold, chunk.gap, mean, planned);
        check_lanes(chunk, lanes, near.lanes);
        check(chunk, given, max_read, near);
        let expected = plan(chunk, max_read, near);
        if expected[0].len == 0 {
            assert_eq!((given.len(), given[0].len, given[0].window), (1, 0, chunk.window));
        } else {
            let first = given.iter().zip(&expected).position(|(a, b)| a != b);
            assert_eq!(
                (given.len(), first),
                (expected.len(), None),
                "{settings:?} {:x?} {:x?} {:x?}",
                chunk.lanes,
                first.map(|i| given[i]),
                first.map(|i| expected[i])
            );
        }
    }
    Run {
        boxes,
        at: bench.received_at(out).to_vec(),
        header_at: bench.sent_at(headers).to_vec(),
        mark_at: bench.sent_at(mark).to_vec(),
        lanes_at: bench.received_at(lanes).to_vec(),
    }
}

/// Bytes a row of all groups.
fn steps(lanes: &[Lane]) -> u64 {
    let chunk = Chunk { lanes: lanes.to_vec(), rows: 1, ..Default::default() };
    groups(&chunk, 0).iter().map(|group| group.step).sum()
}

/// Any lanes that a column request may have: 64 B a row at most, groups of 128 B together.
fn lanes(random: &mut Random) -> Vec<Lane> {
    let base = [0x7f00_0000_0000, 0xffff_ffff_0000_0000, 77, 0x1234_5678_9ff0]
        [random.below(4) as usize]
        + random.below(5000);
    let mut bytes = 64;
    let mut lanes: Vec<Lane> = Vec::new();
    for _ in 0..1 + random.below(16) {
        if bytes == 0 {
            break;
        }
        if !lanes.is_empty() && random.chance(0.05) {
            lanes.push(Lane { addr: 0, len: 0, step: 0 });
            continue;
        }
        let longest = if random.chance(0.7) { 8 } else { 64 };
        let len = 1 + random.below(bytes.min(longest));
        let step = match lanes.last() {
            Some(lane) if lane.len > 0 && random.chance(0.6) => lane.step,
            _ if random.chance(0.2) => 1 + random.below(128),
            _ => len + random.below(30),
        };
        let addr = match lanes.iter().rfind(|lane| lane.len > 0) {
            // Near the lane before, on either side, over it or apart.
            Some(lane) if random.chance(0.6) => {
                let reach = if random.chance(0.3) { step } else { 40.min(step) };
                (lane.addr + random.below(1 + reach)).saturating_sub(random.below(30)).max(1)
            }
            _ => base + random.below(200_000),
        };
        lanes.push(Lane { addr, len, step });
        bytes -= len;
        if self::steps(&lanes) > 128 {
            lanes.pop();
            break;
        }
    }
    if lanes.is_empty() { vec![Lane { addr: base, len: 3, step: 128 }] } else { lanes }
}

/// A chunk of these lanes with any rows that fit a window.
fn chunk(random: &mut Random, lanes: Vec<Lane>, window: u64) -> Chunk {
    let most = ((32768 - 16 * 132) / steps(&lanes) / 64 * 64).min(4096);
    let rows = if random.chance(0.5) { most } else { 1 + random.below(most) };
    let turns = (0..1 + random.below(3))
        .map(|_| {
            let p = [0.0, 0.004, 0.016, 0.06, 0.25, 0.9, 1.0][random.below(7) as usize];
            let burst = 1 + random.below(200);
            let mut on = false;
            (0..rows)
                .map(|row| {
                    if burst < 100 || row % burst == 0 {
                        on = random.chance(p);
                    }
                    on
                })
                .collect()
        })
        .collect();
    let gap = random.chance(0.8).then(|| [0, 16, 48, 64, 80, 128, 496][random.below(7) as usize]);
    Chunk { lanes, rows, window, turns, gap, ..Default::default() }
}

#[test]
fn any_lanes_and_rows_are_planned_right_under_stalls() {
    let library = library();
    for (seed, stalls) in (1..).zip((0..8).flat_map(|_| STALLS)) {
        let mut random = Random::new(seed);
        let thresholds = [0, 1, 3, 4, 7, 12, 31, 64, 100, 256, 1000, 4096, 8191];
        let settings = Settings {
            max_read: 64 << random.below(7),
            threshold: thresholds[random.below(thresholds.len() as u64) as usize],
            seed,
            stalls,
            planned: seed % 4 == 0,
            mean: [256, 100, 0, 511][random.below(4) as usize],
        };
        println!("{settings:?}");
        let mut chunks = Vec::new();
        for window in 0..6 {
            let lanes = lanes(&mut random);
            chunks.push(chunk(&mut random, lanes, window % 4));
        }
        run(&library, &chunks, settings);
    }
}

/// Lets blocks of rows out of a chunk where no read goes through them, and moves it in its stretch.
fn leave_out(random: &mut Random, chunk: &mut Chunk, threshold: u64) {
    chunk.base = [0, 1, 77, random.below(1 << 26)][random.below(4) as usize];
    let used = || chunk.lanes.iter().filter(|lane| lane.len > 0);
    if used().any(|lane| lane.len > lane.step) {
        return;
    }
    let least = used().map(|lane| lane.step).min().expect("a lane");
    let enough = threshold.clamp(3, 4095) / (64 * least) + 1;
    let needed = chunk.needed_here();
    let mut shift = 0;
    for block in 0..chunk.rows.div_ceil(64) {
        // The last three rows of the block before must not be needed.
        let near = |row: &u64| (64 * block).saturating_sub(3) <= *row && *row < 64 * block;
        let most = [3, 40, 4000][random.below(3) as usize];
        let wider = enough + random.below(most);
        let fits = shift + wider + chunk.rows.div_ceil(64) <= 4095;
        if block > 0 && fits && random.chance(0.8) && !needed.iter().any(near) {
            shift += wider;
        }
        chunk.shifts.push(shift);
    }
}

#[test]
fn blocks_that_are_left_out_bring_rows_together_under_stalls() {
    let library = library();
    let mut out = 0;
    for (seed, stalls) in (100..).zip((0..8).flat_map(|_| STALLS)) {
        let mut random = Random::new(seed);
        let thresholds = [0, 3, 12, 64, 256, 1000, 4096];
        let threshold = thresholds[random.below(thresholds.len() as u64) as usize];
        let max_read = 64 << random.below(7);
        let settings = Settings {
            max_read,
            threshold,
            seed,
            stalls,
            planned: seed % 4 == 0,
            mean: [256, 100, 0, 511][random.below(4) as usize],
        };
        println!("{settings:?}");
        let mut chunks = Vec::new();
        for window in 0..6 {
            let lanes = lanes(&mut random);
            let mut chunk = chunk(&mut random, lanes, window % 4);
            leave_out(&mut random, &mut chunk, threshold);
            out += u32::from(chunk.shifts.last().is_some_and(|&shift| shift > 0));
            chunks.push(chunk);
        }
        run(&library, &chunks, settings);
    }
    assert!(out > 50, "{out} chunks");
}

#[test]
fn nothing_is_read_through_a_block_that_is_left_out() {
    let library = library();
    // The gap of 944 B would be: the threshold may have been another one when the block was left out.
    let lanes = vec![Lane { addr: 0x1_0000, len: 4, step: 4 }];
    let turn = (0..128).map(|row| !(40..84).contains(&row)).collect();
    let shifts = vec![0, 3];
    let chunk =
        Chunk { lanes, rows: 128, window: 0, turns: vec![turn], base: 0, shifts, gap: None };
    let run = run(&library, &[chunk], Settings { max_read: 4096, threshold: 4095, ..CALM });
    assert_eq!(run.boxes.len(), 2);
}

#[test]
fn rows_far_apart_take_a_cycle_for_16_kib() {
    let library = library();
    let rows = 1472;
    let lanes = vec![Lane { addr: 0x1_0000, len: 4, step: 4 }];
    // Runs of 64 rows, about 6,336 rows between them.
    let shifts = (0..rows / 64).map(|block| 99 * block).collect();
    let turns = vec![vec![true; rows as usize]];
    let chunk = Chunk { lanes, rows, window: 1, turns, base: 5, shifts, gap: None };
    let run = run(&library, &[chunk], Settings { threshold: 64, ..CALM });
    let cycles = (run.at.last().unwrap() - run.at[0]) as f64 / run.boxes.len() as f64;
    println!("{cycles} cycles a run");
    assert!(run.boxes.len() >= 23 && cycles < 7.0, "{cycles} cycles");
}

#[test]
fn a_group_spans_up_to_127_bytes_and_no_more_than_its_step() {
    let library = library();
    for (step, far, together) in
        [(128, 123, true), (128, 124, false), (127, 123, true), (126, 123, false), (64, 60, true)]
    {
        let lane = |at: u64| Lane { addr: 0x7_0000 + at, len: 4, step };
        // Two groups of 128 bytes would not fit a window of as many rows.
        let rows = if together { 128 } else { 64 };
        let chunk = Chunk {
            lanes: vec![lane(0), lane(far)],
            rows,
            window: 1,
            turns: vec![vec![true; rows as usize]],
            ..Default::default()
        };
        assert_eq!(groups(&chunk, 256).len() == 1, together, "{step}, {far}");
        for threshold in [4, 256] {
            run(&library, std::slice::from_ref(&chunk), Settings { threshold, ..CALM });
        }
    }
}

fn column(base: u64, len: u64, step: u64, rows: u64) -> Chunk {
    let lanes = vec![Lane { addr: base, len, step }];
    let turns = vec![vec![true; rows as usize]];
    Chunk { lanes, rows, window: 2, turns, ..Default::default() }
}

#[test]
fn a_dense_column_takes_no_more_reads_than_its_bytes() {
    let library = library();
    for (len, max_read) in [(1, 512), (2, 512), (4, 512), (5, 512), (8, 64), (7, 4096), (64, 256)] {
        let rows = (30_000 / len).min(4096);
        let chunk = column(0x5_0000_0000, len, len, rows);
        let run = run(&library, &[chunk], Settings { max_read, ..CALM });
        assert_eq!(run.boxes.len() as u64, (len * rows).div_ceil(max_read), "{len} B");
    }
}

#[test]
fn a_column_that_starts_within_a_line_is_cut_at_lines() {
    let library = library();
    for (base, len, step) in [(0x5_0000_0007_u64, 4, 4), (0x5_0000_0ff9, 5, 7), (0x4d, 64, 64)] {
        let chunk = column(base, len, step, 400);
        let run = run(&library, &[chunk], CALM);
        let last = run.boxes.len() - 1;
        for (i, read) in run.boxes.iter().enumerate() {
            assert!(i == 0 || read.addr % 64 == 0, "{read:x?}");
            assert!(i == 0 || i == last || read.len == 512 || (read.addr + read.len) % 4096 == 0);
        }
    }
}

#[test]
fn a_stretch_that_fits_a_box_is_not_cut_at_a_line() {
    let library = library();
    for (base, rows, boxes) in [(0x1_003c, 128, 1), (0x1_003c, 129, 2), (0x1_0004, 128, 1)] {
        let run = run(&library, &[column(base, 4, 4, rows)], CALM);
        assert_eq!(run.boxes.len(), boxes, "{rows} rows at {base:#x}");
    }
}

#[test]
fn a_dense_chunk_of_five_columns_takes_less_than_350_cycles() {
    let library = library();
    let chunks: Vec<_> = (0..8)
        .map(|k| {
            let lanes = (0..5)
                .map(|j| Lane { addr: 0x100_0000 * j + 6400 * k + 36 * j, len: 4, step: 4 })
                .collect();
            let turns = vec![vec![true; 1600]];
            Chunk { lanes, rows: 1600, window: k % 4, turns, ..Default::default() }
        })
        .collect();
    let run = run(&library, &chunks, CALM);
    let ends: Vec<_> =
        run.boxes.iter().zip(&run.at).filter(|(b, _)| b.window_end).map(|(_, &at)| at).collect();
    let cycles = (ends[7] - ends[2]) / 5;
    println!("{cycles} cycles a chunk");
    assert!(cycles < 350, "{cycles} cycles");
}

#[test]
fn long_runs_with_short_gaps_are_planned_faster_than_they_are_sent() {
    let library = library();
    for threshold in [16, 36, 256] {
        let mut random = Random::new(7);
        let chunks: Vec<_> = (0..8)
            .map(|k| {
                let lanes = (0..5)
                    .map(|j| Lane { addr: 0x100_0000 * j + 5632 * k + 36 * j, len: 4, step: 4 })
                    .collect();
                // Nine rows of ten, in runs of 64.
                let mut turn = Vec::new();
                while turn.len() < 1408 {
                    turn.extend(vec![true; 1 + random.below(127) as usize]);
                    turn.extend(vec![false; 1 + random.below(13) as usize]);
                }
                turn.truncate(1408);
                Chunk { lanes, rows: 1408, window: k % 4, turns: vec![turn], ..Default::default() }
            })
            .collect();
        let run = run(&library, &chunks, Settings { threshold, ..CALM });
        let ends: Vec<_> = run
            .boxes
            .iter()
            .zip(&run.at)
            .filter(|(b, _)| b.window_end)
            .map(|(_, &at)| at)
            .collect();
        let cycles = (ends[7] - ends[2]) / 5;
        // 25,300 B at 48.8 B a cycle are 519.
        println!("threshold {threshold}: {cycles} cycles a chunk of {} boxes", run.boxes.len() / 8);
        assert!(cycles < 260, "{cycles} cycles");
    }
}

/// A column of a row store. Each row by itself would be too short a read, whatever the balance of reads says.
#[test]
fn adjacent_rows_are_read_together_unless_they_are_too_far_apart() {
    let library = library();
    let lens = |step, settings| {
        let lanes = vec![Lane { addr: 0x10000, len: 8, step }];
        let chunk = Chunk {
            lanes,
            rows: 16,
            turns: vec![vec![true; 16]],
            gap: Some(16),
            ..Chunk::default()
        };
        let run = run(&library, &[chunk], settings);
        run.boxes.iter().map(|read| read.len).collect::<Vec<_>>()
    };
    assert_eq!(lens(96, CALM), [296; 4]);
    assert_eq!(lens(96, Settings { max_read: 256, ..CALM }), [200, 200, 200, 200, 200, 8]);
    assert_eq!(lens(96, Settings { mean: 96, ..CALM }), [104; 8]);
    assert_eq!(lens(96, Settings { mean: 95, ..CALM }), [8; 16]);
    assert_eq!(lens(96, Settings { threshold: 88, ..CALM }), [296; 4]);
    assert_eq!(lens(96, Settings { threshold: 87, ..CALM }), [8; 16]);
    assert_eq!(lens(255, Settings { threshold: 4096, ..CALM }).len(), 9);
    assert_eq!(lens(24, Settings { mean: 0, ..CALM }), [368]);
    assert_eq!(lens(96, Settings { planned: true, ..CALM }), [488, 488, 296]);
}

#[test]
fn a_gap_within_a_line_is_read_through_unless_the_threshold_is_0() {
    let library = library();
    let rows = 128;
    // Rows 11, 27, 43 and so on start a line; the third pair lies in two blocks of 64 rows, the last
    // one in two lines.
    let needed = [0, 10, 27, 42, 59, 74, 106, 108];
    let turn: Vec<_> = (0..rows).map(|row| needed.contains(&row)).collect();
    let lanes = vec![Lane { addr: 0x1_0014, len: 4, step: 4 }];
    let chunk = Chunk { lanes, rows, window: 1, turns: vec![turn], ..Default::default() };
    let lens = |threshold| -> Vec<u64> {
        let run = run(&library, std::slice::from_ref(&chunk), Settings { threshold, ..CALM });
        run.boxes.iter().map(|read| read.len).collect()
    };
    assert_eq!(lens(1), [44, 64, 64, 4, 4]);
    assert_eq!(lens(0), [4; 8]);
}

#[test]
fn single_rows_take_a_cycle_a_box() {
    let library = library();
    let mut random = Random::new(5);
    let rows = 1472;
    let turn: Vec<_> = (0..rows).map(|_| random.chance(0.25)).collect();
    let lanes = vec![Lane { addr: 0x1_0000, len: 4, step: 20 }];
    let chunks = vec![Chunk { lanes, rows, window: 1, turns: vec![turn], ..Default::default() }];
    let run = run(&library, &chunks, Settings { threshold: 0, ..CALM });
    let cycles = (run.at.last().unwrap() - run.at[0]) as f64 / run.boxes.len() as f64;
    println!("{cycles} cycles a box of {}", run.boxes.len());
    assert!(run.boxes.len() > 250 && cycles < 1.1, "{cycles} cycles a box");
}

#[test]
fn the_first_box_and_the_lanes_come_soon() {
    let library = library();
    let run = run(&library, &[column(0x1_0000, 4, 4, 64)], CALM);
    let latency = (run.lanes_at[0] - run.header_at[0], run.at[0] - run.header_at[0]);
    assert!(run.mark_at[0] <= run.header_at[0] + 1);
    assert_eq!(latency, (26, 43));
    // A chunk with so many turns that the marks come last.
    let mut chunk = column(0x1_0000, 4, 4, 64);
    chunk.turns = vec![vec![true; 64]; 100];
    let run = self::run(&library, &[chunk], CALM);
    assert_eq!(run.at[0] - run.mark_at[99], 24);
}
