//! Keys in random pieces, boxes over them, and a DMA engine that writes beside the copies.

use super::{KeptKeys, KeyBeat, SegmentWrites};
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

/// The store of keys with the port that it shares with the DMA engine.
#[derive(LogicBlock, Default)]
struct KeptWithWrites {
    clk: Signal<In, Clock>,
    rst: Signal<In, Bit>,
    beat: Flow<In, KeyBeat>,
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
    kept: KeptKeys,
    writes: SegmentWrites,
}

impl Logic for KeptWithWrites {
    #[hdl_gen]
    fn update(&mut self) {
        self.beat.join(&mut self.kept.beat);
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
    assert_eq!(scene.other_boxes(64), 3, "cycles while something is kept");
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
fn a_line_a_cycle_is_copied_beside_an_engine_that_is_idle() {
    let library = library();
    let mut scene = Scene::new(&library, 1, (0.0, 0.0), 0.0);
    scene.keys(1 << 20, 4096);
    scene.run(5);
    assert_eq!(scene.copy_cycles((1 << 20) + 64, 2048 - 64), (8, 31), "first write, and how many");
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
