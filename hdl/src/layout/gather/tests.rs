use crate::layout::windows::WINDOW_COUNT;
use crate::request::DEST_COUNT;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::ops::Range;

use drdma_verilated::testbench::{Beat, Bench, Random, STALLS};
use drdma_verilated::{Library, Word};

use super::Gather;
use crate::testing;

mod pace;
mod rates;

/// Slot of requests whose beats have made bytes.
const MAKER: u64 = 77;
/// Bytes of the segmented memory.
const MEMORY: usize = 128 * 1024;
const FLAGS: [&str; 4] = ["message_start", "message_end", "request_end", "dest_end"];
const FIELDS: [(&str, usize); 6] = [
    ("dest", 10),
    ("slot", 8),
    ("bytes", 7),
    ("message_bytes", 32),
    ("status", 8),
    ("bad_dest", DEST_COUNT),
];

fn library() -> Library {
    testing::library("gather", Gather::default)
}

/// Place of each byte of a beat, by position.
type Places = [Option<usize>; 64];

/// Failed reads of a window: place, length.
type Failures = Vec<(usize, usize)>;

/// A beat, or a part of one.
#[derive(Clone)]
struct Part {
    window: usize,
    window_end: bool,
    beat_end: bool,
    places: Places,
    side: Beat,
    /// Positions of the bytes that the sequencer has made, if this is the last part of the beat.
    hole: Range<usize>,
}

impl Part {
    /// A whole beat of a window, with a sideband of zeros but for its bytes.
    fn new(window: usize, places: Places) -> Self {
        let mut side = Beat::new();
        FIELDS.iter().for_each(|(name, _)| side.set(*name, 0_u64));
        FLAGS.iter().for_each(|name| side.set(*name, 0_u64));
        side.set("bytes", places.iter().flatten().count() as u64);
        Self { window, window_end: false, beat_end: true, places, side, hole: 0..0 }
    }

    /// The part as an input of the block; places of positions without a byte have any value.
    fn beat(&self, random: &mut Random) -> Beat {
        let mut ram = random.word(1088);
        let mut mask = 0_u64;
        for (p, place) in self.places.iter().enumerate() {
            if let Some(place) = *place {
                ram.set_bits(p * 17, 17, &Word::from(place as u64));
                mask |= 1 << p;
            }
        }
        let mut beat = self.side.clone().with("mask", mask).with("ram", ram);
        beat.set("window", self.window as u64 % WINDOW_COUNT as u64);
        beat.set("window_end", self.window_end);
        beat.set("beat_end", self.beat_end);
        beat
    }

    /// True if the beat's bytes stand in the request.
    fn is_inline(&self) -> bool {
        let none = self.places.iter().all(Option::is_none);
        none && self.beat_end && self.side.u64("bytes") != 0 && self.hole.is_empty()
    }

    /// True if the beat carries nothing but the end of its window.
    fn is_void(&self) -> bool {
        let ends = FLAGS[1..].iter().any(|name| self.side.u64(name) == 1);
        self.places.iter().all(Option::is_none) && self.side.u64("bytes") == 0 && !ends
    }
}

/// Expected outputs: payload by position, whether a byte failed, the part.
fn expected(parts: &[Part], windows: &[Failures], memory: &[u8]) -> Vec<(Word, bool, Part)> {
    let mut carry = false;
    let mut number = 0;
    let mut expected = vec![];
    for part in parts {
        let failures = &windows[part.window];
        let hit = |at: usize| failures.iter().any(|&(from, len)| from <= at && at < from + len);
        let reads = part.places.iter().any(Option::is_some);
        let flooded = failures.len() > 255 && reads;
        let failed = carry || flooded || part.places.iter().flatten().any(|&at| hit(at));
        carry = failed && !part.beat_end;
        let mut data = Word::zero();
        for (p, place) in part.places.iter().enumerate() {
            if let Some(at) = *place {
                data.set_bits(8 * p, 8, &Word::from(u64::from(memory[at])));
            }
        }
        if part.is_inline() {
            data = inline(part.side.u64("slot"));
        }
        if !part.hole.is_empty() {
            let bytes = made(number).to_le_bytes();
            for (p, byte) in part.hole.clone().zip(bytes) {
                data.set_bits(8 * p, 8, &Word::from(u64::from(byte)));
            }
            number += 1;
        }
        if !part.is_void() {
            expected.push((data, failed, part.clone()));
        }
    }
    expected
}

/// The payload that stands in the request of a slot.
fn inline(slot: u64) -> Word {
    Word::from_bytes(&Random::new(slot).bytes(64))
}

/// The bytes that are made for the beat of this number among those with made bytes.
fn made(number: u64) -> u64 {
    Random::new(number).u64() & 0xffff_ffff
}

/// The places of a beat: runs of bytes, of a kind.
fn places(random: &mut Random, kind: u64) -> Places {
    let mut places = [None; 64];
    let runs = 1 + random.below(16) as usize;
    let mut pos = 0;
    for _ in 0..runs {
        let room = 64 - pos;
        if room == 0 {
            break;
        }
        let len = match kind {
            0 => room,
            1 => 4.min(room),
            _ => 1 + random.below(room.min(1 + 64 / runs) as u64) as usize,
        };
        let ram = match kind {
            // All bytes lie in a few banks, so that they clash.
            2 => (random.below(900) as usize) * 128 + random.below(8) as usize,
            // Bytes lie in the same few words again and again.
            3 => random.below(300) as usize,
            _ => random.below((MEMORY - 64) as u64) as usize,
        };
        (0..len).for_each(|k| places[pos + k] = Some(ram + k));
        pos += len;
    }
    places
}

/// Windows of beats, some of them in two parts, some without a byte.
fn parts(random: &mut Random, windows: usize) -> Vec<Part> {
    let mut parts = vec![];
    for window in 0..windows {
        for _ in 0..1 + random.below(12) {
            let kind = random.below(5);
            let all = if random.chance(0.1) { [None; 64] } else { places(random, kind) };
            let mut part = Part::new(window, all);
            for (name, width) in FIELDS {
                part.side.set(name, random.word(width));
            }
            part.side.set("bytes", random.below(65));
            // Made bytes: up to four, alone, or anywhere among those in the memory.
            if part.side.u64("slot") == MAKER || random.chance(0.3) {
                part.side.set("slot", MAKER);
                let made = 1 + random.below(4) as usize;
                let others = part.places.iter().flatten().count().min(64 - made);
                part.places[others..].fill(None);
                let at = random.below(others as u64 + 1) as usize;
                part.places[at..].rotate_right(made);
                part.hole = at..at + made;
                part.side.set("bytes", (others + made) as u64);
            }
            for name in FLAGS {
                part.side.set(name, random.chance(0.3));
            }
            // A beat of two parts has bytes in both.
            let count = part.places.iter().flatten().count() as u64;
            if count > 1 && random.chance(0.3) {
                let nth = 1 + random.below(count - 1) as usize;
                let used = (0..64).filter(|p| part.places[*p].is_some());
                let cut = used.into_iter().nth(nth).expect("so many are used");
                let mut first = Part { beat_end: false, hole: 0..0, ..part.clone() };
                first.places[cut..].fill(None);
                part.places[..cut].fill(None);
                parts.push(first);
            }
            parts.push(part);
        }
        // A part without bytes ends the window, as if the last beat had not carried the end.
        if random.chance(0.3) {
            parts.push(Part::new(window, [None; 64]));
        }
        parts.last_mut().expect("windows have beats").window_end = true;
    }
    parts
}

fn failures(random: &mut Random, windows: usize) -> Vec<Failures> {
    let range = |random: &mut Random| {
        ((random.below(400) * 256) as usize, 4 + 4 * random.below(800) as usize)
    };
    (0..windows)
        .map(|_| match random.chance(0.5) {
            true => (0..=random.below(3)).map(|_| range(random)).collect(),
            false => vec![],
        })
        .collect()
}

/// State of the memory, the windows and what they owe.
#[derive(Default)]
struct Around {
    reads: VecDeque<Vec<Word>>,
    opened: usize,
    freed: usize,
    errors: VecDeque<(usize, usize)>,
    announced: bool,
    conflicts: u64,
}

/// Cycles of a run.
struct Run {
    /// Cycles from the first beat in to the last one out.
    cycles: u64,
    /// Cycles in which a byte waited for its bank.
    conflicts: u64,
}

/// As [`run_at`], with all the words that a beat has in a cycle.
fn run(
    library: &Library,
    seed: u64,
    stalls: (f64, f64),
    parts: &[Part],
    windows: &[Failures],
    memory: &[u8],
) -> Run {
    run_at(16, library, seed, stalls, parts, windows, memory)
}

/// Sends all parts and checks all beats, at `words` words a cycle. All windows may be open at
/// once, each is ready some time after its failures were given, and its memory gets other contents
/// when it is freed.
fn run_at(
    words: u64,
    library: &Library,
    seed: u64,
    stalls: (f64, f64),
    parts: &[Part],
    windows: &[Failures],
    memory: &[u8],
) -> Run {
    let around = RefCell::new(Around::default());
    let mut random = Random::new(seed + 1);
    let mut hold = Random::new(seed + 2);
    let mut bench = Bench::new(library.instance(seed), seed);
    let (input, output) = (bench.driver("bytes"), bench.monitor("payload"));
    let makes = bench.driver("made");
    bench.stall(stalls);
    bench.limit(400_000);
    bench.set("words", words);
    bench.before(|model, _| {
        let mut around = around.borrow_mut();
        if around.reads.len() == 2 {
            let words = around.reads.pop_front().expect("two are there");
            for (group, words) in words.iter().enumerate() {
                model.set_word(format!("read_data_{group}"), words);
            }
        }
        model.set("window_ready_valid", 0);
        model.set("read_error_valid", 0);
        if around.opened < windows.len() && around.opened < around.freed + WINDOW_COUNT {
            let window = around.opened;
            if !around.announced {
                around.errors = windows[window].iter().copied().collect();
                around.announced = true;
            }
            if let Some((ram, len)) = around.errors.pop_front() {
                model.set("read_error_valid", 1);
                model.set("read_error_window", window as u64 % WINDOW_COUNT as u64);
                model.set("read_error_ram", ram as u64);
                model.set("read_error_len", len as u64);
            } else if hold.chance(1.0 - stalls.0) {
                model.set("window_ready_valid", 1);
                model.set("window_ready_window", window as u64 % WINDOW_COUNT as u64);
                around.opened += 1;
                around.announced = false;
            }
        }
    });
    bench.observe(|model, _| {
        let mut around = around.borrow_mut();
        let words = (0..4).map(|group| read(model, group, memory)).collect();
        around.reads.push_back(words);
        around.freed += model.get("window_free") as usize;
        around.conflicts += model.get("count_conflict");
    });
    for slot in 0..256_u64 {
        bench.set("inline_write_valid", 1);
        bench.set("inline_write_slot", slot);
        bench.set("inline_write_data", inline(slot));
        bench.step();
    }
    bench.set("inline_write_valid", 0);
    // The bytes of a beat are made before it.
    let count = parts.iter().filter(|part| !part.hole.is_empty()).count() as u64;
    let bytes = |number| Beat::from([("slot", MAKER), ("data", made(number))]);
    bench.send_all(makes, (0..count).map(bytes).collect::<Vec<_>>());
    bench.run_until(|bench| bench.sent_at(makes).len() as u64 == count);
    bench.send_all(input, parts.iter().map(|part| part.beat(&mut random)).collect::<Vec<_>>());
    let expected = expected(parts, windows, memory);
    let others = |part: &Part| match part.is_inline() {
        true => 0..part.side.u64("bytes") as usize,
        false => part.hole.clone(),
    };
    bench.run_until_received(output, expected.len());
    bench.run(20);
    let received = bench.take(output);
    assert_eq!(received.len(), expected.len(), "seed {seed}: nothing comes behind the last");
    for (index, (beat, (data, failed, part))) in received.iter().zip(&expected).enumerate() {
        for (p, place) in part.places.iter().enumerate() {
            let there = beat.u64("mask") >> p & 1 == 1;
            assert_eq!(
                there,
                place.is_some() || others(part).contains(&p),
                "seed {seed}: beat {index}, byte {p}"
            );
            let bytes = (beat.get("data").bits(8 * p, 8), data.bits(8 * p, 8));
            assert!(!there || bytes.0 == bytes.1, "seed {seed}: beat {index}, byte {p}: {bytes:?}");
        }
        assert_eq!(beat.u64("error") == 1, *failed, "seed {seed}: beat {index}");
        assert_eq!(beat.u64("part_end") == 1, part.beat_end, "seed {seed}: beat {index}");
        part.side.fields().for_each(|(name, value)| {
            assert_eq!(beat.get(name), value, "seed {seed}: beat {index}, {name}");
        });
    }
    let around = around.borrow();
    assert_eq!(around.freed, windows.len(), "seed {seed}: every window was freed");
    let last = bench.received_at(output).last().copied().unwrap_or(0);
    Run {
        cycles: last + 1 - bench.sent_at(input).first().copied().unwrap_or(0),
        conflicts: around.conflicts,
    }
}

/// Data that a copy of the memory delivers for the current read.
fn read(model: &drdma_verilated::Model, group: usize, memory: &[u8]) -> Word {
    let rows = model.get_word(format!("read_row_{group}"));
    let enables = model.get(format!("read_enable_{group}"));
    let mut words = Word::zero();
    for bank in 0..32 {
        // A bank that is not read gives other bytes.
        let at = match enables >> bank & 1 {
            1 => rows.bits(bank * 10, 10).to_u64() as usize * 128 + bank * 4,
            _ => 64 * bank,
        };
        words.set_bits(bank * 32, 32, &Word::from_bytes(&memory[at..at + 4]));
    }
    words
}

#[test]
fn payload_comes_out_in_order_whatever_the_banks() {
    let library = library();
    for (seed, stalls) in (1..).zip(STALLS) {
        let mut random = Random::new(seed);
        let memory = random.bytes(MEMORY);
        let parts = parts(&mut random, 60);
        let run = run(&library, seed, stalls, &parts, &vec![vec![]; 60], &memory);
        assert!(run.conflicts > 50, "seed {seed}");
        assert!(parts.iter().filter(|part| part.is_inline()).count() > 10, "seed {seed}");
        let within = |part: &&Part| part.hole.start > 0 && part.side.u64("bytes") > 4;
        assert!(parts.iter().filter(within).count() > 10, "seed {seed}");
    }
}

#[test]
fn payload_is_the_same_however_few_words_are_read_in_a_cycle() {
    let library = library();
    for (words, (seed, stalls)) in [1, 3, 8, 15].into_iter().zip((41..).zip(STALLS)) {
        let mut random = Random::new(seed);
        let memory = random.bytes(MEMORY);
        let parts = parts(&mut random, 40);
        let windows = failures(&mut random, 40);
        run_at(words, &library, seed, stalls, &parts, &windows, &memory);
    }
}

#[test]
fn a_failed_read_marks_exactly_the_beats_that_need_it() {
    let library = library();
    for (seed, stalls) in (11..).zip(STALLS) {
        let mut random = Random::new(seed);
        let memory = random.bytes(MEMORY);
        let parts = parts(&mut random, 60);
        let windows = failures(&mut random, 60);
        let failed = expected(&parts, &windows, &memory).iter().filter(|beat| beat.1).count();
        assert!(failed > 5, "seed {seed}: {failed}");
        run(&library, seed, stalls, &parts, &windows, &memory);
    }
}

#[test]
fn the_bounds_of_a_failed_read_are_exact() {
    let library = library();
    let memory = Random::new(3).bytes(MEMORY);
    // One byte a beat, around both ends of a range.
    let around = [4095, 4096, 4200, 4599, 4600, 0, MEMORY - 1];
    let mut parts: Vec<_> = around
        .iter()
        .enumerate()
        .map(|(k, &at)| {
            let mut places = [None; 64];
            places[9 * k] = Some(at);
            Part::new(0, places)
        })
        .collect();
    parts.last_mut().expect("there are some").window_end = true;
    let windows = [vec![(4096, 504), (MEMORY - 4, 4)]];
    let failed: Vec<_> = expected(&parts, &windows, &memory).iter().map(|beat| beat.1).collect();
    assert_eq!(failed, [false, true, true, true, false, false, true]);
    run(&library, 3, (0.0, 0.0), &parts, &windows, &memory);
}

#[test]
fn a_window_with_more_failed_reads_than_are_kept_fails_as_a_whole() {
    let library = library();
    let mut random = Random::new(5);
    let memory = random.bytes(MEMORY);
    for failures in [255, 256, 400] {
        let mut parts = parts(&mut random, 3);
        // No place is the memory's last byte, in which the reads fail.
        for place in parts.iter_mut().flat_map(|part| part.places.iter_mut()).flatten() {
            *place = (*place).min(MEMORY - 2);
        }
        let windows = [vec![], vec![(MEMORY - 1, 1); failures], vec![]];
        let failed = expected(&parts, &windows, &memory).iter().filter(|beat| beat.1).count();
        assert_eq!(failed > 0, failures > 255);
        run(&library, 5, (0.0, 0.0), &parts, &windows, &memory);
    }
}

#[test]
fn a_window_is_freed_when_its_last_byte_has_been_read() {
    let library = library();
    for (seed, stalls) in (21..).zip(STALLS) {
        let mut random = Random::new(seed);
        let parts = parts(&mut random, 30);
        let ends = parts.iter().filter(|part| part.window_end).count();
        let last = RefCell::new((0, Vec::new()));
        let opened = Cell::new(0);
        let mut bench = Bench::new(library.instance(seed), seed);
        let (input, output) = (bench.driver("bytes"), bench.monitor("payload"));
        bench.stall(stalls);
        bench.limit(400_000);
        bench.set("words", 16);
        bench.before(|model, cycle| {
            let (_, freed) = &*last.borrow();
            model.set("read_error_valid", 0);
            // One window is open at a time, so that all reads belong to it.
            let open = opened.get() == freed.len() && freed.len() < ends && cycle % 4 == 0;
            opened.set(opened.get() + usize::from(open));
            model.set("window_ready_valid", open.into());
            model.set("window_ready_window", freed.len() as u64 % WINDOW_COUNT as u64);
        });
        bench.observe(|model, cycle| {
            let (read, freed) = &mut *last.borrow_mut();
            if (0..4).any(|group| model.get(format!("read_enable_{group}")) != 0) {
                assert!(freed.len() < opened.get(), "seed {seed}: nothing is read once it is free");
                *read = cycle;
            }
            if model.get("window_free") == 1 {
                assert!(*read < cycle, "seed {seed}: read in cycle {cycle}, when it was freed");
                freed.push(cycle);
            }
        });
        bench.send_all(input, parts.iter().map(|part| part.beat(&mut random)).collect::<Vec<_>>());
        let beats = parts.iter().filter(|part| !part.is_void()).count();
        bench.run_until_received(output, beats);
        bench.run(20);
        let freed = &last.borrow().1;
        assert_eq!(freed.len(), ends, "seed {seed}");
        // No window is freed before its beats have entered.
        let mut entered = bench.sent_at(input).iter();
        for (part, at) in parts.iter().map(|part| (part, entered.next().expect("all went in"))) {
            assert!(freed[part.window] > *at, "seed {seed}: window {}", part.window);
        }
    }
}
