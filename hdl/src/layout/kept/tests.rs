//! Keys in random pieces, records, boxes over them, and a DMA engine that writes beside the copies.

use super::{Kept, KeptRecord, KeyBeat, SegmentWrites};
use crate::layout::windows::{ReadBox, WINDOW_COUNT};
use crate::testing;
use drdma_emit::prelude::*;
use drdma_verilated::testbench::{Beat, Bench, DriverId, MonitorId, Random, STALLS};
use drdma_verilated::{Library, Model, Word};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

mod scene;
use scene::{Load, Scene};

/// The store of keys and records with the port that it shares with the DMA engine.
#[derive(LogicBlock, Default)]
struct KeptWithWrites {
    clk: Signal<In, Clock>,
    rst: Signal<In, Bit>,
    beat: Flow<In, KeyBeat>,
    record: Flow<In, KeptRecord>,
    release_valid: Signal<In, Bit>,
    release_slot: Signal<In, Bits<8>>,
    reads: Stream<In, ReadBox>,
    read: Stream<Out, ReadBox>,
    dma_be: Signal<In, Bits<128>>,
    dma_addr: Signal<In, Bits<20>>,
    dma_data: Signal<In, Bits<1024>>,
    dma_valid: Signal<In, Bits<2>>,
    dma_ready: Signal<Out, Bits<2>>,
    dma_done: Signal<Out, Bits<2>>,
    be: Signal<Out, Bits<128>>,
    row: Signal<Out, Bits<20>>,
    data: Signal<Out, Bits<1024>>,
    valid: Signal<Out, Bits<2>>,
    kept: Kept,
    writes: SegmentWrites,
}

impl Logic for KeptWithWrites {
    #[hdl_gen]
    fn update(&mut self) {
        self.beat.join(&mut self.kept.beat);
        self.record.join(&mut self.kept.record);
        self.kept.release_valid.next = self.release_valid.val();
        self.kept.release_slot.next = self.release_slot.val();
        self.reads.join(&mut self.kept.reads);
        self.kept.read.join(&mut self.read);
        self.writes.copy_valid.next = self.kept.copy_valid.val();
        self.writes.copy_be.next = self.kept.copy_be.val();
        self.writes.copy_row.next = self.kept.copy_row.val();
        self.writes.copy_data.next = self.kept.copy_data.val();
        self.kept.copied.next = self.writes.copied.val();
        self.writes.dma_be.next = self.dma_be.val();
        self.writes.dma_addr.next = self.dma_addr.val();
        self.writes.dma_data.next = self.dma_data.val();
        self.writes.dma_valid.next = self.dma_valid.val();
        self.dma_ready.next = self.writes.dma_ready.val();
        self.dma_done.next = self.writes.dma_done.val();
        self.be.next = self.writes.be.val();
        self.row.next = self.writes.row.val();
        self.data.next = self.writes.data.val();
        self.valid.next = self.writes.valid.val();
    }
}

fn library() -> Library {
    testing::library("kept_keys", KeptWithWrites::default)
}

#[test]
fn boxes_of_kept_keys_are_copied_and_all_others_pass_in_order() {
    let library = library();
    for (seed, stalls) in (1..).zip(STALLS.into_iter().chain(STALLS)) {
        for (engine, load) in [(0.0, Load::Ahead), (0.5, Load::Ahead), (1.0, Load::Far)] {
            let mut scene = Scene::new(&library, seed, stalls, engine);
            (0..4).for_each(|_| scene.phase(load));
            assert!(scene.copied() > 40, "{} of {} boxes copied", scene.copied(), scene.sent());
            assert!(scene.passed() > 40, "{} of {} boxes read", scene.passed(), scene.sent());
        }
    }
}

#[test]
fn boxes_pass_in_the_same_cycle_while_nothing_is_kept_and_one_a_cycle_else() {
    let library = library();
    let mut scene = Scene::new(&library, 1, (0.0, 0.0), 0.0);
    scene.run(5);
    assert_eq!(scene.other_boxes(64), 0, "cycles while nothing is kept");
    scene.keys(1 << 20, 64);
    scene.run(3);
    assert_eq!(scene.other_boxes(64), 5, "cycles while something is kept");
    scene.release();
    scene.run(3);
    assert_eq!(scene.other_boxes(64), 0, "cycles after the release");
}

#[test]
fn only_boxes_that_lie_in_a_range_are_found() {
    let library = library();
    let mut scene = Scene::new(&library, 1, (0.0, 0.0), 0.0);
    let start = (1 << 20) + 3;
    scene.keys(start, 300);
    scene.keys(start + 300, 64);
    scene.run(4);
    // Reads that follow each other are one range, but only as long as the lines before are full.
    for (addr, len, found) in [
        (start, 300, false),
        (start + 300, 64, true),
        (start + 299, 2, false),
        (start + 301, 63, true),
        (start + 301, 64, false),
        (start + 300 + (1 << 32), 64, false),
    ] {
        assert_eq!(scene.finds(addr, len), found, "{len} bytes at {}", addr - start);
    }
    scene.keys(start + 364, 128);
    scene.keys(start + 492, 5);
    scene.run(4);
    for (addr, len, found) in
        [(start + 300, 197, true), (start + 495, 2, true), (start + 495, 3, false)]
    {
        assert_eq!(scene.finds(addr, len), found, "{len} bytes at {}", addr - start);
    }
    scene.release();
    scene.run(2);
    assert!(!scene.finds(start + 364, 8), "what was released is forgotten");
}

#[test]
fn only_boxes_that_lie_in_one_record_are_found() {
    let library = library();
    let mut scene = Scene::new(&library, 1, (0.0, 0.0), 0.0);
    // The second record goes on in another line of memory, and ends where a third one begins.
    let (first, second) = (1 << 20, (1 << 20) + 104);
    let third = second + 40;
    // This one goes over the beginning of a block.
    let over = (1 << 22) + 200;
    for (addr, bytes, skip) in [(first, 64, 0), (second, 40, 0), (third, 64, 27), (over, 64, 0)] {
        scene.read_record(0, addr, bytes, skip);
        scene.run(1);
    }
    scene.run(4);
    for (addr, len, found) in [
        (first, 64, true),
        (first + 7, 57, true),
        (first + 7, 58, false),
        (first - 1, 2, false),
        (second, 40, true),
        (second, 1, true),
        (second, 41, false),
        (third + 27, 37, true),
        (third + 24, 10, true),
        (third + 27, 38, false),
        (first + (1 << 40), 64, false),
        (first, 4032, false),
        // Boxes are found by the word in which they begin, or at the beginning of a block.
        (first + 8, 8, false),
        (over, 56, true),
        (over + 56, 8, true),
        (over + 56, 9, false),
        (over + 8, 8, false),
        (third, 64, false),
    ] {
        assert_eq!(scene.finds(addr, len), found, "{len} bytes at {addr:#x}");
    }
    // A shorter record at the same address takes the place of the first one.
    scene.read_record(0, first, 8, 0);
    scene.run(5);
    assert!(scene.finds(first, 8) && !scene.finds(first, 9));
    scene.release();
    scene.run(2);
    assert!(!scene.finds(second, 9), "what was released is forgotten");
}

#[test]
fn a_record_is_found_two_cycles_after_it_was_taken() {
    let library = library();
    for (cycles, found) in [(2, true), (1, false)] {
        let mut scene = Scene::new(&library, 1, (0.0, 0.0), 0.0);
        scene.read_record(0, 1 << 21, 8, 0);
        scene.run(10);
        scene.read_record(0, 1 << 20, 64, 0);
        scene.run(cycles);
        assert_eq!(scene.finds(1 << 20, 64), found, "{cycles} cycles");
    }
}

#[test]
fn two_requests_keep_2048_records_each() {
    let library = library();
    let mut scene = Scene::new(&library, 1, (0.0, 0.0), 0.0);
    let at = |slot: u64, k: u64| (1 << 20) + (slot << 17) + 64 * k;
    for slot in 0..3 {
        for k in 0..2050 {
            scene.read_record(slot, at(slot, k), 64, 0);
            scene.run(1);
        }
    }
    scene.run(4);
    let found = |scene: &mut Scene, slot| {
        [0, 1, 2046, 2047, 2048, 2049].map(|k| scene.finds(at(slot, k), 64))
    };
    let full = [true, true, true, true, false, false];
    assert_eq!(found(&mut scene, 1), full);
    assert_eq!(found(&mut scene, 2), [false; 6], "there is no room for a third request");
    scene.release_slot(1);
    scene.run(4);
    assert_eq!(found(&mut scene, 1), [false; 6]);
    scene.read_record(2, at(2, 7), 64, 0);
    scene.run(4);
    assert!(scene.finds(at(2, 7), 64));
    assert!(!scene.finds(at(1, 0), 64), "the line has another record");
}

#[test]
fn records_that_wait_to_be_copied_are_not_overwritten() {
    let library = library();
    // Beside an engine that always writes, a copy takes 17 cycles. Its request is released meanwhile, and two requests
    // read records.
    let mut scene = Scene::new(&library, 1, (0.0, 0.0), 1.0);
    let at = |k: u64| (1 << 20) + 64 * k;
    for k in 0..8 {
        scene.read_record(9, at(k), 64, 0);
        scene.run(1);
    }
    scene.run(4);
    (0..8).for_each(|k| scene.send(at(k), 64, k == 7));
    scene.run(12);
    scene.release_slot(9);
    for k in 0..40 {
        scene.read_record(10 + k % 2, at(100 + k), 64, 0);
        scene.run(1);
    }
    scene.settle();
    assert_eq!(scene.copied(), 8);
}

#[test]
fn a_line_a_cycle_is_copied_beside_an_engine_that_is_idle() {
    let library = library();
    let mut scene = Scene::new(&library, 1, (0.0, 0.0), 0.0);
    scene.keys(1 << 20, 4096);
    scene.run(5);
    assert_eq!(scene.copy_cycles((1 << 20) + 64, 2048 - 64), (10, 31), "first write, and how many");
}

#[test]
fn keys_that_wait_to_be_copied_are_not_overwritten() {
    let library = library();
    // An engine that always writes lets a line pass in 17 cycles, while a line of keys comes in each.
    let mut scene = Scene::new(&library, 1, (0.0, 0.0), 1.0);
    let (start, lines, boxes) = (1 << 20, 1780, 8);
    scene.keys(start, lines * 64);
    for k in 0..boxes {
        scene.send(start + 900 * k, 900, k % 4 == 3);
    }
    scene.run(20);
    scene.keys(start + lines * 64, 700 * 64);
    scene.settle();
    assert_eq!(scene.copied() as u64, boxes);
}
