//! The windows between a placer and columns that the bench plays.

mod ends;
mod ring;

use super::{Merge, ReadBox, WINDOW_COUNT, Windows};
use crate::testing;
use drdma_verilated::testbench::{Beat, Bench, Random, STALLS};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// Model of the blocks around: the placer's part, and the windows in the order of opening.
#[derive(Default)]
struct World {
    /// Row beats that have no window yet; whether the placer's window is open.
    waiting: u64,
    placer_open: bool,
    opens_now: bool,
    /// Opened windows {number, of columns} whose boxes, bytes and memory are still due.
    to_box: VecDeque<bool>,
    to_gather: VecDeque<bool>,
    used: u64,
    /// Windows in use that have no size yet: perhaps the last one, and windows of columns, which get theirs later.
    unsized_windows: u64,
    sizes: bool,
    /// The placer closed its window in the cycle before, and reports that now.
    closes: bool,
    frees: bool,
    opened: u64,
    rows: u64,
    headers: u64,
    /// Ends that a window of columns carries, and whether the last window that was opened is one.
    ridden: u64,
    last_column: bool,
    /// Row beats since the last header: none of them may be overtaken.
    flushed: u64,
    /// The registers, and the settings of the cycle before.
    registers: Settings,
    settings: Settings,
    changes: u64,
    /// No beat was being planned in the cycle before.
    drained: bool,
    /// Requests whose last beat has passed, and those whose plans are still to be written.
    passed: usize,
    written: usize,
}

/// Windows that may be in use.
const WINDOWS: u64 = WINDOW_COUNT as u64;

/// Longest read, widest gap.
type Settings = (u64, u64);

/// Slots that requests share.
const SLOTS: usize = 8;

/// Draws the fetch plan of a request: longest read and widest gap, or none.
fn random_plan(random: &mut Random) -> Option<Settings> {
    let log = 6 + random.below(7);
    let gap = [0, 256, random.below(4096)][random.below(3) as usize];
    random.chance(0.5).then_some((1 << log, gap))
}

fn encode(plan: Option<Settings>) -> u64 {
    plan.map_or(0, |(most, gap)| gap << 5 | u64::from(most.ilog2()) << 1 | 1)
}

#[test]
fn windows_are_opened_in_the_order_of_beats() {
    let library = testing::library("windows", Windows::default);
    for seed in 1..=12 {
        let mut random = Random::new(seed);
        let columns = [0.0, 0.1, 0.5, 0.9][random.below(4) as usize];
        // Beats by request; a request has a plan or none.
        let longest = [1, 4, 60][seed as usize % 3];
        let (mut beats, mut plans) = (Vec::new(), Vec::new());
        while beats.len() < 400 {
            for _ in 0..1 + random.below(longest) {
                beats.push((plans.len(), random.chance(columns), false));
            }
            if random.chance(0.7) {
                beats.push((plans.len(), false, true));
            }
            plans.push(match plans.last() {
                Some(&plan) if random.chance(0.4) => plan,
                _ => random_plan(&mut random),
            });
        }
        // Plans that are written before the first beat may have changed the settings already.
        let world = Rc::new(RefCell::new(World { drained: true, ..World::default() }));
        let mut bench = Bench::new(library.instance(seed), seed);
        bench.limit(100_000);
        for (slot, plan) in plans.iter().take(SLOTS).enumerate() {
            bench.set("fetch_write_valid", 1);
            bench.set("fetch_write_slot", slot as u64);
            bench.set("fetch_write_plan", encode(*plan));
            bench.step();
        }
        let driver = bench.driver("beat");
        let stalls = STALLS[seed as usize % STALLS.len()];
        bench.stall(stalls);
        let beat = |&(request, column, end): &(usize, bool, bool)| {
            let slot = (request % SLOTS) as u64;
            Beat::from([("column", column.into()), ("end", end.into()), ("slot", slot)])
        };
        bench.send_all(driver, beats.iter().map(beat));
        bench.before({
            let (world, mut random) = (world.clone(), Random::new(seed ^ 77));
            let plans = plans.clone();
            move |model, _| {
                let mut w = world.borrow_mut();
                // A slot is used again when its last request has passed.
                let next = w.written + SLOTS;
                let write = w.written < w.passed && next < plans.len();
                model.set("fetch_write_valid", u64::from(write));
                if write {
                    model.set("fetch_write_slot", (next % SLOTS) as u64);
                    model.set("fetch_write_plan", encode(plans[next]));
                    w.written += 1;
                }
                if w.registers == (0, 0) || random.chance(0.01) {
                    w.registers = (64 << random.below(7), random.below(4097));
                }
                model.set("max_read", w.registers.0);
                model.set("merge_threshold", w.registers.1);
                model.set("row_ready", u64::from(random.chance(0.7)));
                model.set("end_accepted", u64::from(random.chance(0.7)));
                model.set("header_ready", u64::from(random.chance(0.7)));
                let last = random.chance(0.5);
                model.set("header_last", u64::from(last));
                model.set("header_opens", u64::from(!last || random.chance(0.7)));
                w.opens_now = !w.placer_open
                    && w.waiting > 0
                    && w.used < WINDOWS
                    && w.unsized_windows == 0
                    && random.chance(0.5);
                model.set("opened", u64::from(w.opens_now));
                model.set("placer_busy", u64::from(w.placer_open || w.waiting > 0));
                model.set("box_end", u64::from(!w.to_box.is_empty() && random.chance(0.1)));
                // Bytes of a window leave after its boxes.
                let ready = w.to_gather.len() > w.to_box.len();
                let gathers = ready && random.chance(0.1);
                model.set("bytes_end", u64::from(gathers));
                w.frees = w.used > w.to_gather.len() as u64
                    && w.used > w.unsized_windows
                    && random.chance(0.1);
                // A window of columns gets its size in a while, one of rows when the placer closes it.
                w.sizes = w.unsized_windows > 0 && w.last_column && random.chance(0.3);
                model.set("sized", u64::from(w.sizes));
                model.set("size", random.below(20));
                model.set("closed", u64::from(w.closes));
                model.set("closed_size", random.below(20));
                model.set("window_free", u64::from(w.frees));
            }
        });
        bench.observe({
            let (world, mut random) = (world.clone(), Random::new(seed ^ 99));
            let (beats, plans) = (beats.clone(), plans.clone());
            move |model, _| {
                let w = &mut *world.borrow_mut();
                let on = |port: &str| model.get(port) == 1;
                let settings = (model.get("plan_max_read"), model.get("plan_merge_threshold"));
                if settings != w.settings {
                    assert!(w.drained, "{settings:?} instead of {:?} in use", w.settings);
                    (w.settings, w.changes) = (settings, w.changes + 1);
                }
                w.drained = w.to_box.is_empty() && !w.placer_open && w.waiting == 0;
                let granted = w.used < WINDOWS && w.unsized_windows == 0;
                assert_eq!(on("granted"), granted, "granted with {} windows in use", w.used);
                assert_eq!(on("another"), w.used < WINDOWS, "{} windows in use", w.used);
                assert_eq!(model.get("number"), w.opened % WINDOWS, "numbers go round");
                assert_eq!(on("box_open"), !w.to_box.is_empty());
                assert_eq!(on("bytes_open"), !w.to_gather.is_empty());
                if let Some(&column) = w.to_box.front() {
                    assert_eq!(on("box_column"), column, "boxes come from the other path");
                }
                if let Some(&column) = w.to_gather.front() {
                    assert_eq!(on("bytes_column"), column, "bytes come from the other path");
                }
                if on("box_end") {
                    w.to_box.pop_front();
                }
                if on("bytes_end") {
                    w.to_gather.pop_front();
                }
                let header = on("header_valid") && on("header_ready");
                let row = on("row_valid") && on("row_ready");
                assert!(!(header && row));
                let idle = !w.placer_open && w.waiting == 0;
                if on("end_offered") {
                    assert!(idle && w.last_column, "no window of columns is the last one");
                    assert!(!on("row_valid") || !on("end_accepted"), "an end goes both ways");
                    assert_eq!(model.get("last_window"), (w.opened + WINDOWS - 1) % WINDOWS);
                }
                let rides = on("end_offered") && on("end_accepted");
                // A header opens windows until it is used up.
                let (opens, last) = (header && on("header_opens"), header && on("header_last"));
                if header || row || rides {
                    let passed = (w.headers + w.rows + w.ridden) as usize;
                    let (request, _, end) = beats[passed];
                    assert!(end || !rides, "beat {passed} is no end");
                    let wanted = plans[request].unwrap_or(w.registers);
                    assert_eq!(settings, wanted, "beat {passed} of request {request}");
                    let ends = beats.get(passed + 1).is_none_or(|next| next.0 != request);
                    w.passed += usize::from(ends && (last || row || rides));
                }
                assert_eq!(last || row || rides, on("beat_valid") && on("beat_ready"));
                if header {
                    assert!(!w.placer_open && w.waiting == 0, "a header overtakes rows");
                    assert!(granted, "a header without a free window");
                    w.headers += u64::from(last);
                }
                if opens || w.opens_now {
                    w.to_box.push_back(opens);
                    w.to_gather.push_back(opens);
                    w.last_column = opens;
                    w.opened += 1;
                    w.used += 1;
                    w.unsized_windows += 1;
                }
                if w.sizes || w.closes {
                    w.unsized_windows -= 1;
                    w.closes = false;
                }
                if w.frees {
                    w.used -= 1;
                }
                if w.opens_now {
                    w.placer_open = true;
                    w.waiting = 0;
                }
                if row {
                    w.rows += 1;
                    w.waiting += u64::from(!w.placer_open);
                }
                w.ridden += u64::from(rides);
                // The placer closes by itself now and then, and at last when it is asked to.
                if w.placer_open && !row && w.waiting == 0 {
                    let asked = on("flush") && random.chance(0.3);
                    w.flushed += u64::from(asked);
                    w.closes = asked || random.chance(0.02);
                    w.placer_open = !w.closes;
                }
            }
        });
        bench.run_until(|bench| bench.pending(driver) == 0);
        bench.run(10);
        let w = world.borrow();
        let headers = beats.iter().filter(|(_, column, _)| *column).count() as u64;
        let others = beats.len() as u64 - headers;
        assert_eq!((w.headers, w.rows + w.ridden), (headers, others), "seed {seed}");
        assert!(headers < 100 || longest > 4 || w.ridden > 0, "no end was carried");
        assert!(headers == 0 || headers > 300 || w.flushed > 0, "the placer was never asked");
        assert!(w.changes > 2, "{} changes of the settings", w.changes);
    }
}

#[test]
fn a_requests_first_beat_waits_a_cycle_unless_idle_and_a_slots_next_request_is_another_one() {
    let mut bench = Bench::new(testing::library("windows", Windows::default).instance(1), 1);
    for (port, value) in [("row_ready", 1), ("max_read", 512), ("merge_threshold", 256)] {
        bench.set(port, value);
    }
    let driver = bench.driver("beat");
    let write = |bench: &mut Bench<'_>, plan| {
        bench.set("fetch_write_valid", 1);
        bench.set("fetch_write_slot", 5);
        bench.set("fetch_write_plan", encode(plan));
        bench.step();
        bench.set("fetch_write_valid", 0);
    };
    for plan in [None, None, Some((64, 4)), Some((64, 4)), Some((4096, 4095)), None] {
        write(&mut bench, plan);
        let before = (bench.get("plan_max_read"), bench.get("plan_merge_threshold"));
        let start = bench.cycles();
        bench.send_all(driver, [5, 5].map(|slot| Beat::from([("column", 0), ("slot", slot)])));
        bench.run_until(|bench| bench.pending(driver) == 0);
        let now = (bench.get("plan_max_read"), bench.get("plan_merge_threshold"));
        assert_eq!(now, plan.unwrap_or((512, 256)));
        // No beat is being planned: two beats pass, and a cycle before them in which the settings change.
        assert_eq!(bench.cycles() - start, if now == before { 2 } else { 3 }, "{plan:?}");
        // Beats are being planned: two beats pass, and a cycle before them in which the table is read.
        bench.set("placer_busy", 1);
        write(&mut bench, plan);
        let start = bench.cycles();
        bench.send_all(driver, [5, 5].map(|slot| Beat::from([("column", 0), ("slot", slot)])));
        bench.run_until(|bench| bench.pending(driver) == 0);
        assert_eq!(bench.cycles() - start, 3, "{plan:?}");
        bench.set("placer_busy", 0);
    }
}

#[test]
fn two_streams_become_one_window_by_window() {
    let library = testing::library("merge", Merge::<ReadBox>::default);
    for (seed, stalls) in (1..).zip(STALLS) {
        let mut random = Random::new(seed);
        // Windows of the two streams in random order; each beat has window, place and end.
        let windows: Vec<(bool, u64)> =
            (0..60).map(|_| (random.chance(0.5), 1 + random.below(6))).collect();
        let mut bench = Bench::new(library.instance(seed), seed);
        let (a, b) = (bench.driver("a"), bench.driver("b"));
        let out = bench.monitor("out");
        bench.stall(stalls);
        let mut expected = Vec::new();
        for (index, &(is_b, beats)) in windows.iter().enumerate() {
            for beat in 0..beats {
                let data = (index as u64) << 8 | beat;
                let end = u64::from(beat + 1 == beats);
                let driver = if is_b { b } else { a };
                bench.send(driver, Beat::from([("data", data), ("end", end)]));
                expected.push(data);
            }
        }
        let done = Rc::new(RefCell::new(0_usize));
        bench.before({
            let (done, windows) = (done.clone(), windows.clone());
            move |model, cycle| {
                // A window is opened some cycles after the one before has ended.
                let present = windows.get(*done.borrow());
                model.set("open", u64::from(present.is_some() && cycle % 3 != 0));
                model.set("is_b", u64::from(present.is_some_and(|w| w.0)));
            }
        });
        bench.observe({
            let done = done.clone();
            move |model, _| *done.borrow_mut() += model.get("done") as usize
        });
        bench.run_until_received(out, expected.len());
        let got: Vec<_> = bench.received(out).iter().map(|beat| beat.u64("data")).collect();
        assert_eq!(got, expected, "seed {seed}");
        assert_eq!(*done.borrow(), windows.len(), "seed {seed}");
    }
}
