use std::cell::RefCell;
use std::collections::VecDeque;

use drdma_verilated::testbench::{Beat, Bench, Random, STALLS};
use drdma_verilated::{Library, Word};

use super::Gather;
use crate::testing;

/// Bytes of the segmented memory.
const MEMORY: usize = 128 * 1024;
const FLAGS: [&str; 5] = ["unit_end", "message_start", "message_end", "request_end", "dest_end"];
const FIELDS: [(&str, usize); 6] = [
    ("dest", 10),
    ("slot", 8),
    ("bytes", 7),
    ("message_bytes", 32),
    ("status", 8),
    ("bad_dest", 7),
];

fn library() -> Library {
    testing::library("gather", Gather::default)
}

/// One fragment: place, length, position.
type Fragment = (usize, usize, usize);

/// A beat as it should come out.
struct Expected {
    side: Beat,
    /// Payload bytes by position.
    payload: Vec<Option<u8>>,
    failed: bool,
}

/// What a run is fed with.
#[derive(Default)]
struct Script {
    placed: Vec<Beat>,
    expected: Vec<Expected>,
    /// Per window, in order: failed reads {place, length}.
    windows: Vec<Vec<(usize, usize)>>,
}

/// Makes fragments of one beat, 64 B in total.
fn fragments(random: &mut Random, kind: u64) -> Vec<Fragment> {
    let mut fragments = vec![];
    let mut pos = 0;
    let wanted = 1 + random.below(16) as usize;
    while pos < 64 && fragments.len() < wanted {
        let room = 64 - pos;
        let len = match kind {
            0 => room,
            1 => 4.min(room),
            _ => 1 + random.below(room.min(1 + 64 / wanted) as u64) as usize,
        };
        let ram = match kind {
            // All in few banks, so that they clash.
            2 => (random.below(900) as usize) * 128 + random.below(8) as usize,
            _ => random.below((MEMORY - 64) as u64) as usize,
        };
        fragments.push((ram, len, pos));
        pos += len;
    }
    fragments
}

fn placed(random: &mut Random, fragments: &[Fragment]) -> Beat {
    let (mut ram, mut len, mut pos) = (Word::zero(), Word::zero(), Word::zero());
    // Lanes are used in order, but some stay empty.
    let mut lane = 0;
    for (left, fragment) in (0..fragments.len()).rev().zip(fragments) {
        lane += random.below((16 - lane - left) as u64) as usize;
        ram.set_bits(lane * 17, 17, &Word::from(fragment.0 as u64));
        len.set_bits(lane * 7, 7, &Word::from(fragment.1 as u64));
        pos.set_bits(lane * 6, 6, &Word::from(fragment.2 as u64));
        lane += 1;
    }
    Beat::new().with("ram", ram).with("len", len).with("pos", pos)
}

fn script(random: &mut Random, memory: &[u8], windows: usize, failing: bool) -> Script {
    let mut script = Script::default();
    for window in 0..windows {
        let beats = 1 + random.below(12) as usize;
        let mut errors = vec![];
        if failing && random.chance(0.5) {
            for _ in 0..=random.below(3) {
                errors
                    .push(((random.below(400) * 256) as usize, 4 + 4 * random.below(800) as usize));
            }
        }
        let hit = |f: &Fragment| errors.iter().any(|e| f.0 < e.0 + e.1 && f.0 + f.1 > e.0);
        for index in 0..beats {
            let kind = random.below(4);
            let all = if random.chance(0.1) { vec![] } else { fragments(random, kind) };
            let mut side = Beat::new();
            for (name, width) in FIELDS {
                side.set(name, random.word(width));
            }
            for name in FLAGS {
                side.set(name, random.chance(0.3));
            }
            let mut payload = vec![None; 64];
            for &(ram, len, pos) in &all {
                for k in 0..len {
                    payload[pos + k] = Some(memory[ram + k]);
                }
            }
            let failed = all.iter().any(hit);
            let last = index + 1 == beats;
            // Some beats come in two placed beats.
            let cut = if all.len() > 1 && random.chance(0.3) { all.len() / 2 } else { all.len() };
            let pieces: Vec<&[Fragment]> =
                if cut < all.len() { vec![&all[..cut], &all[cut..]] } else { vec![&all] };
            for (k, piece) in pieces.iter().enumerate() {
                let end = k + 1 == pieces.len();
                let mut beat = placed(random, piece)
                    .with("window", window as u64 % 4)
                    .with("window_end", last && end)
                    .with("beat_end", end);
                side.fields().for_each(|(name, value)| beat.set(name, value.clone()));
                script.placed.push(beat);
            }
            script.expected.push(Expected { side, payload, failed });
        }
        script.windows.push(errors);
    }
    script
}

/// State of the memory, the windows and what they owe.
#[derive(Default)]
struct Around {
    reads: VecDeque<Word>,
    opened: usize,
    freed: usize,
    errors: VecDeque<(usize, usize)>,
    announced: bool,
}

fn run(library: &Library, seed: u64, stalls: (f64, f64), script: &Script, memory: &[u8]) -> u64 {
    let around = RefCell::new(Around::default());
    let mut hold = Random::new(seed + 1);
    let mut bench = Bench::new(library.instance(seed), seed);
    let (input, output) = (bench.driver("placed"), bench.monitor("payload"));
    bench.stall(stalls);
    bench.limit(400_000);
    bench.before(|model, _| {
        let mut around = around.borrow_mut();
        if around.reads.len() == 2 {
            let word = around.reads.pop_front().unwrap();
            model.set_word("read_data", &word);
        }
        model.set("window_ready_valid", 0);
        model.set("read_error_valid", 0);
        if around.opened < script.windows.len() && around.opened < around.freed + 4 {
            let window = around.opened;
            if !around.announced {
                around.errors = script.windows[window].iter().copied().collect();
                around.announced = true;
            }
            if let Some((ram, len)) = around.errors.pop_front() {
                model.set("read_error_valid", 1);
                model.set("read_error_window", window as u64 % 4);
                model.set("read_error_ram", ram as u64);
                model.set("read_error_len", len as u64);
            } else if hold.chance(1.0 - stalls.0) {
                model.set("window_ready_valid", 1);
                model.set("window_ready_window", window as u64 % 4);
                around.opened += 1;
                around.announced = false;
            }
        }
    });
    bench.observe(|model, _| {
        let mut around = around.borrow_mut();
        let (rows, enables) = (model.get_word("read_row"), model.get("read_enable"));
        let mut words = Word::zero();
        for bank in 0..32 {
            // A bank that is not read holds something else.
            let at = match enables >> bank & 1 {
                1 => rows.bits(bank * 10, 10).to_u64() as usize * 128 + bank * 4,
                _ => 64 * bank,
            };
            words.set_bits(bank * 32, 32, &Word::from_bytes(&memory[at..at + 4]));
        }
        around.reads.push_back(words);
        around.freed += model.get("window_free") as usize;
    });
    bench.send_all(input, script.placed.clone());
    let ends = |beats: &[Beat]| beats.iter().filter(|beat| beat.u64("part_end") == 1).count();
    bench.run_until(|bench| ends(bench.received(output)) == script.expected.len());
    bench.run(20);
    let parts = bench.take(output);
    let mut expected = script.expected.iter();
    let mut payload = vec![None; 64];
    let mut failed = false;
    for part in &parts {
        let (mask, data) = (part.u64("mask"), part.get("data"));
        for (k, byte) in payload.iter_mut().enumerate().filter(|(k, _)| mask >> k & 1 == 1) {
            assert!(byte.is_none(), "byte {k} came twice");
            *byte = Some(data.bits(k * 8, 8).to_u64() as u8);
        }
        failed |= part.u64("error") == 1;
        if part.u64("part_end") == 0 {
            continue;
        }
        let beat = expected.next().expect("no more beats than were placed");
        assert_eq!(payload, beat.payload);
        assert_eq!(failed, beat.failed);
        beat.side.fields().for_each(|(name, value)| assert_eq!(part.get(name), value, "{name}"));
        payload.fill(None);
        failed = false;
    }
    assert!(expected.next().is_none());
    assert_eq!(around.borrow().freed, script.windows.len(), "every window was freed");
    bench.received_at(output).last().copied().unwrap_or(0)
}

#[test]
fn payload_comes_out_in_order_whatever_the_banks() {
    let library = library();
    for (seed, stalls) in (1..).zip(STALLS) {
        let mut random = Random::new(seed);
        let memory = random.bytes(MEMORY);
        let script = script(&mut random, &memory, 40, false);
        run(&library, seed, stalls, &script, &memory);
    }
}

#[test]
fn a_failed_read_marks_exactly_the_beats_that_need_it() {
    let library = library();
    for (seed, stalls) in (11..).zip(STALLS) {
        let mut random = Random::new(seed);
        let memory = random.bytes(MEMORY);
        let script = script(&mut random, &memory, 40, true);
        assert!(script.expected.iter().any(|beat| beat.failed));
        run(&library, seed, stalls, &script, &memory);
    }
}

#[test]
fn a_window_with_more_failed_reads_than_are_kept_fails_as_a_whole() {
    let library = library();
    let mut random = Random::new(5);
    let memory = random.bytes(MEMORY);
    for failures in [255, 256, 400] {
        let mut script = script(&mut random, &memory, 3, false);
        // Nothing is read from the memory's last bytes.
        script.windows[1] = vec![(MEMORY - 1, 1); failures];
        let ends: Vec<_> =
            (0..script.placed.len()).filter(|&at| script.placed[at].u64("beat_end") == 1).collect();
        for (beat, &at) in script.expected.iter_mut().zip(&ends) {
            let reads = beat.payload.iter().any(Option::is_some);
            beat.failed = failures > 255 && script.placed[at].u64("window") == 1 && reads;
        }
        run(&library, 5, (0.0, 0.0), &script, &memory);
    }
}

/// Cycles for `count` beats of the same fragments, each moved on by `step` bytes.
fn cycles(library: &Library, first: &[Fragment], step: usize, count: usize) -> u64 {
    let mut random = Random::new(5);
    let memory = random.bytes(MEMORY);
    let mut script = Script { windows: vec![vec![]], ..Script::default() };
    for index in 0..count {
        let moved: Vec<_> =
            first.iter().map(|f| ((f.0 + index * step) % (MEMORY - 64), f.1, f.2)).collect();
        let mut side = Beat::new();
        FIELDS.iter().for_each(|(name, _)| side.set(*name, 0_u64));
        FLAGS.iter().for_each(|name| side.set(*name, 0_u64));
        let mut payload = vec![None; 64];
        for &(ram, len, pos) in &moved {
            (0..len).for_each(|k| payload[pos + k] = Some(memory[ram + k]));
        }
        let mut beat = placed(&mut random, &moved)
            .with("window", 0_u64)
            .with("window_end", index + 1 == count)
            .with("beat_end", true);
        side.fields().for_each(|(name, value)| beat.set(name, value.clone()));
        script.placed.push(beat);
        script.expected.push(Expected { side, payload, failed: false });
    }
    run(library, 5, (0.0, 0.0), &script, &memory)
}

#[test]
fn one_beat_a_cycle_unless_banks_clash() {
    let library = library();
    let count = 1000;
    // Contiguous, at an odd address.
    assert!(cycles(&library, &[(3, 64, 0)], 64, count) < count as u64 + 40);
    // Five columns of 4 B, nine banks apart.
    let columns: Vec<_> = (0..5).map(|c| (c * 1024 + c * 36, 4, c * 4)).collect();
    assert!(cycles(&library, &columns, 4, count) < count as u64 + 40);
    // Sixteen single bytes of the same four words.
    let narrow: Vec<_> = (0..16).map(|k| (k, 1, k)).collect();
    assert!(cycles(&library, &narrow, 16, count) < count as u64 + 40);
    // Five columns in the same bank take five cycles a beat.
    let clash: Vec<_> = (0..5).map(|c| (c * 1024, 4, c * 4)).collect();
    let taken = cycles(&library, &clash, 4, count);
    assert!(taken > 5 * count as u64 && taken < 5 * count as u64 + 40, "{taken}");
}
