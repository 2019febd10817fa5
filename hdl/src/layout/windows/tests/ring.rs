//! Places of windows: no two windows in use have a byte in common.

use super::super::{Ring, Starts, WINDOW_COUNT};
use crate::testing;
use drdma_verilated::Word;
use drdma_verilated::testbench::{Beat, Bench, Random, STALLS};
use std::collections::VecDeque;

/// Units of 128 B: of the memory, and of the largest window.
const MEMORY: u64 = 1024;
const LARGEST: u64 = 256;

/// A window in use: its start, and its size once that is known.
#[derive(Clone, Copy, Debug)]
struct Window {
    start: u64,
    size: Option<u64>,
}

impl Window {
    /// Units of the memory that no other window may have.
    fn range(&self) -> std::ops::Range<u64> {
        let own = self.size.filter(|size| 2 * size <= LARGEST).unwrap_or(LARGEST);
        self.start..self.start + own
    }
}

#[test]
fn windows_of_any_size_never_overlap_and_the_memory_is_used_up() {
    let library = testing::library("ring", Ring::default);
    for seed in 1..=20 {
        let mut random = Random::new(seed);
        let mut bench = Bench::new(library.instance(seed), seed);
        let mut windows: VecDeque<Window> = VecDeque::new();
        let (mut opened, mut at, mut most, mut most_bytes) = (0, 0, 0, 0);
        let (least, largest) = [(0, 0), (0, 3), (0, 60), (0, 200), (200, 256)][seed as usize % 5];
        for _ in 0..5000 {
            let in_use: u64 = windows
                .iter()
                .filter(|window| window.size.is_some())
                .map(|window| window.range().end - window.start)
                .sum();
            let unsized_window = windows.back().is_some_and(|window| window.size.is_none());
            let granted = bench.get("granted") == 1;
            if granted {
                assert!(!unsized_window, "the window before has no size");
                let window = Window { start: bench.get("start"), size: None };
                assert_eq!(window.start, at, "windows lie behind each other");
                assert!(window.range().end <= MEMORY);
                for other in &windows {
                    let (a, b) = (window.range(), other.range());
                    assert!(a.end <= b.start || b.end <= a.start, "{window:?} and {other:?}");
                }
                assert!(windows.len() < WINDOW_COUNT);
            }
            // Units left over at the memory's end are fewer than a window, and so are those that are not granted.
            let number = windows.len();
            if !unsized_window && number < WINDOW_COUNT && in_use + 2 * LARGEST <= MEMORY {
                assert!(granted, "{in_use} in use, of {number} windows");
            }
            if bench.get("another") == 1 {
                assert!(number < WINDOW_COUNT && in_use + LARGEST <= MEMORY);
            }
            // Large windows are four at a time, as if the memory were divided.
            if least > LARGEST / 2 && !unsized_window {
                assert_eq!(granted, number < 4, "{number} large windows");
            }
            (most, most_bytes) = (most.max(number), most_bytes.max(in_use));

            let opens = granted && random.chance(0.7);
            // A window is free after its size is known.
            let pace = if seed % 2 == 0 { 0.02 } else { 0.15 };
            let frees =
                windows.front().is_some_and(|window| window.size.is_some()) && random.chance(pace);
            let size = (unsized_window && random.chance(0.5))
                .then(|| least + random.below(largest - least + 1));
            bench.set("opens", u64::from(opens));
            bench.set("free", u64::from(frees));
            bench.set("sized", u64::from(size.is_some()));
            bench.set("size", size.unwrap_or_else(|| random.below(512)));
            if opens {
                assert_eq!(bench.get("number"), opened % WINDOW_COUNT as u64);
                opened += 1;
                windows.push_back(Window { start: at, size: None });
            }
            if size.is_some() {
                let last = windows.back_mut().expect("an open window");
                last.size = size;
                at = last.range().end;
                at = if at + LARGEST > MEMORY { 0 } else { at };
            }
            if frees {
                windows.pop_front();
            }
            bench.step();
        }
        assert!(opened > 60, "seed {seed}: {opened} windows");
        if largest <= 60 {
            assert_eq!(
                most, WINDOW_COUNT,
                "seed {seed}: small windows are limited by their number"
            );
        } else {
            assert!(
                most_bytes > MEMORY - LARGEST - LARGEST / 2,
                "seed {seed}: {most_bytes} in use"
            );
        }
    }
}

#[test]
fn places_of_boxes_and_bytes_are_moved_by_their_windows_start() {
    let library = testing::library("starts", Starts::default);
    for (seed, stalls) in (1..).zip(STALLS) {
        let mut random = Random::new(seed);
        let mut bench = Bench::new(library.instance(seed), seed);
        let starts: Vec<u64> = (0..WINDOW_COUNT).map(|_| random.below(769)).collect();
        for (number, &start) in starts.iter().enumerate() {
            bench.set("opened", 1);
            bench.set("number", number as u64);
            bench.set("start", start);
            bench.step();
        }
        bench.set("opened", 0);
        bench.set("start", 5);
        let (reads, read) = (bench.driver("reads"), bench.monitor("read"));
        let (bytes, byte) = (bench.driver("bytes"), bench.monitor("byte"));
        bench.stall(stalls);
        let window = |random: &mut Random| random.below(WINDOW_COUNT as u64);
        let boxes: Vec<Beat> = (0..200)
            .map(|_| {
                Beat::new()
                    .with("addr", random.u64())
                    .with("ram", random.below(32_768))
                    .with("len", random.below(4097))
                    .with("window", window(&mut random))
                    .with("window_end", random.below(2))
            })
            .collect();
        let beats: Vec<(Beat, Vec<u64>)> = (0..100)
            .map(|_| {
                let places: Vec<u64> = (0..64).map(|_| random.below(32_768)).collect();
                let mut ram = Word::zero();
                for (k, &place) in places.iter().enumerate() {
                    ram.set_bits(17 * k, 17, &place.into());
                }
                let beat = Beat::new()
                    .with("ram", ram)
                    .with("mask", random.u64())
                    .with("window", window(&mut random))
                    .with("bytes", random.below(65));
                (beat, places)
            })
            .collect();
        bench.send_all(reads, boxes.clone());
        bench.send_all(bytes, beats.iter().map(|(beat, _)| beat.clone()));
        bench.run_until_received(read, boxes.len());
        bench.run_until_received(byte, beats.len());
        let start = |beat: &Beat| 128 * starts[beat.u64("window") as usize];
        for (sent, got) in boxes.iter().zip(bench.received(read)) {
            assert_eq!(got.u64("ram"), sent.u64("ram") + start(sent));
            for field in ["addr", "len", "window", "window_end"] {
                assert_eq!(got.u64(field), sent.u64(field), "{field}");
            }
        }
        for ((sent, places), got) in beats.iter().zip(bench.received(byte)) {
            for (k, place) in places.iter().enumerate() {
                let moved = got.get("ram").bits(17 * k, 17).to_u64();
                assert_eq!(moved, place + start(sent), "byte {k}");
            }
            for field in ["mask", "window", "bytes"] {
                assert_eq!(got.u64(field), sent.u64(field), "{field}");
            }
        }
    }
}
