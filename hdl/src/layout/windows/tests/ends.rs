//! Ends of requests behind the bytes of windows.

use super::super::{Ends, WINDOW_COUNT};
use crate::testing;
use drdma_verilated::testbench::{Beat, Bench, Random, STALLS};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

const WINDOWS: u64 = WINDOW_COUNT as u64;

/// State of the bench: windows are opened in order, and their beats pass in order.
#[derive(Default)]
struct World {
    opened: u64,
    /// The windows whose ends were accepted.
    ended: BTreeSet<u64>,
    refused: usize,
    /// Windows whose last beat, with their end if one was accepted, has left.
    left: u64,
    /// Number of beats of payload of the present window that have left.
    beat: u64,
    payload_left: bool,
}

#[test]
fn an_end_follows_the_last_payload_of_its_window_and_ends_the_window_instead() {
    let library = testing::library("ends", Ends::default);
    for (seed, stalls) in (1..).zip(STALLS) {
        let mut random = Random::new(seed);
        let lengths: Vec<u64> = (0..200).map(|_| 1 + random.below(5)).collect();
        let mut bench = Bench::new(library.instance(seed), seed);
        let bytes = bench.driver("bytes");
        let out = bench.monitor("out");
        bench.stall(stalls);
        let lead = if seed % 2 == 0 { WINDOWS } else { 2 };
        let world = Rc::new(RefCell::new(World::default()));
        bench.before({
            let (world, windows, mut random) =
                (world.clone(), lengths.len() as u64, Random::new(seed ^ 5));
            move |model, _| {
                let w = world.borrow();
                // A window is opened before its bytes come, and a number is used again when it is free. With few
                // windows at a time an end may come when its window's last beat has passed.
                let opens = w.opened < windows && w.opened < w.left + lead && random.chance(0.05);
                model.set("opened", u64::from(opens));
                model.set("opened_window", w.opened % WINDOWS);
                let ends =
                    w.opened > 0 && !w.ended.contains(&(w.opened - 1)) && random.chance(0.08);
                model.set("end_offered", u64::from(ends));
                model.set("end_window", (w.opened + WINDOWS - 1) % WINDOWS);
                let (slot, status, bad_dest) = (w.opened % 251, w.opened % 7, w.opened % 61);
                model.set(
                    "request",
                    slot | status << 8
                        | (w.opened % 997) << 16
                        | (w.opened % 3 / 2) << 26
                        | bad_dest << 27,
                );
            }
        });
        bench.observe({
            let (world, lengths) = (world.clone(), lengths.clone());
            move |model, _| {
                let w = &mut *world.borrow_mut();
                let on = |port: &str| model.get(port) == 1;
                if on("end_offered") {
                    let last = w.opened - 1;
                    match on("end_accepted") {
                        true => {
                            assert!(w.left <= last, "the window has passed");
                            w.ended.insert(last);
                        }
                        false => w.refused += 1,
                    }
                }
                if on("out_valid") && on("out_ready") {
                    assert_eq!(model.get("out_window"), w.left % WINDOWS);
                    assert!(on("out_beat_end"));
                    let due = std::mem::take(&mut w.payload_left);
                    assert_eq!(on("out_request_end"), due, "window {}", w.left);
                    if due {
                        assert_eq!(model.get("out_mask"), 0);
                        assert_eq!(model.get("out_bytes"), 0);
                        assert!(on("out_window_end"));
                        let of = w.left + 1;
                        assert_eq!(model.get("out_slot"), of % 251);
                        assert_eq!(model.get("out_status"), of % 7);
                        assert_eq!(model.get("out_dest"), of % 997);
                        assert_eq!(model.get("out_dest_end"), of % 3 / 2);
                        assert_eq!(model.get("out_bad_dest"), of % 61);
                    } else {
                        assert_eq!(model.get("out_dest"), w.beat, "window {}", w.left);
                        assert_eq!(model.get("out_bytes"), 64);
                        w.beat += 1;
                        let last = w.beat == lengths[w.left as usize];
                        assert_eq!(on("out_dest_end"), last);
                        w.payload_left = last && w.ended.contains(&w.left);
                        assert_eq!(on("out_window_end"), last && !w.payload_left);
                    }
                    if on("out_window_end") {
                        (w.left, w.beat) = (w.left + 1, 0);
                    }
                }
                w.opened += u64::from(on("opened"));
            }
        });
        for (window, &beats) in lengths.iter().enumerate() {
            bench.run_until(|_| world.borrow().opened > window as u64);
            for beat in 0..beats {
                bench.send(
                    bytes,
                    Beat::from([
                        ("window", window as u64 % WINDOWS),
                        ("window_end", u64::from(beat + 1 == beats)),
                        ("beat_end", 1),
                        ("mask", u64::MAX),
                        ("bytes", 64),
                        ("dest", beat),
                        ("dest_end", u64::from(beat + 1 == beats)),
                    ]),
                );
            }
        }
        bench.run_until(|bench| bench.pending(bytes) == 0);
        bench.run(20);
        let w = world.borrow();
        assert_eq!(w.left, lengths.len() as u64, "seed {seed}");
        let beats = lengths.iter().sum::<u64>() as usize + w.ended.len();
        assert_eq!(bench.received(out).len(), beats, "seed {seed}");
        assert!(
            w.ended.len() > 20 && (w.refused > 0 || lead == WINDOWS),
            "{} accepted, {} refused",
            w.ended.len(),
            w.refused
        );
    }
}
