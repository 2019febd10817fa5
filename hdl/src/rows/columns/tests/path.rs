//! Source, scanner and packer together.

use super::*;
use crate::request::DEST_INDEX;
use crate::rows::columns::packer::Packer;
use crate::rows::columns::reference::{check, survivors};
use crate::rows::columns::scanner::Scanner;
use crate::rows::columns::source::Source;
use crate::rows::sequencer::record::{Context, Item};
use crate::testing;
use drdma_emit::prelude::*;
use drdma_verilated::Library;
use drdma_verilated::testbench::{Bench, DriverId, MonitorId, STALLS};

/// The three blocks in a row.
#[derive(LogicBlock, Default)]
struct Path {
    clk: Signal<In, Clock>,
    rst: Signal<In, Bit>,
    item_valid: Signal<In, Bit>,
    item_ready: Signal<Out, Bit>,
    item: Signal<In, Item>,
    item_context: Signal<In, Context>,
    resp_valid: Signal<In, Bit>,
    resp_ready: Signal<Out, Bit>,
    resp_data: Signal<In, Bits<512>>,
    resp_error: Signal<In, Bit>,
    resp_ids: Signal<In, Bits<2>>,
    resp_last: Signal<In, Bit>,
    resp_fetch: Signal<In, Bit>,
    resp_kept: Signal<In, Bit>,
    beat_valid: Signal<Out, Bit>,
    beat_ready: Signal<In, Bit>,
    beat_offset: Signal<Out, Bits<768>>,
    beat_start: Signal<Out, Bits<10>>,
    beat_bytes: Signal<Out, Bits<7>>,
    beat_row_bytes: Signal<Out, Bits<10>>,
    beat_dest: Signal<Out, Bits<10>>,
    beat_slot: Signal<Out, Bits<8>>,
    beat_message_start: Signal<Out, Bit>,
    beat_message_end: Signal<Out, Bit>,
    beat_message_bytes: Signal<Out, Bits<32>>,
    beat_dest_end: Signal<Out, Bit>,
    beat_window_end: Signal<Out, Bit>,
    clear: Signal<In, Bit>,
    failed: Signal<Out, Bit>,
    fail_index: Signal<Out, Bits<DEST_INDEX>>,
    idle: Signal<Out, Bit>,
    source: Source,
    scanner: Scanner,
    packer: Packer,
}

impl Logic for Path {
    #[hdl_gen]
    fn update(&mut self) {
        self.source.item_valid.next = self.item_valid.val();
        self.item_ready.next = self.source.item_ready.val();
        self.source.item.next = self.item.val();
        self.source.item_context.next = self.item_context.val();
        self.source.resp_valid.next = self.resp_valid.val();
        self.resp_ready.next = self.source.resp_ready.val();
        self.source.resp_data.next = self.resp_data.val();
        self.source.resp_error.next = self.resp_error.val();
        self.source.resp_ids.next = self.resp_ids.val();
        self.source.resp_last.next = self.resp_last.val();
        self.source.resp_fetch.next = self.resp_fetch.val();
        self.source.resp_kept.next = self.resp_kept.val();
        self.source.clear.next = self.clear.val();
        self.failed.next = self.source.failed.val();
        self.fail_index.next = self.source.fail_index.val();

        self.scanner.mask_valid.next = self.source.mask_valid.val();
        self.source.mask_ready.next = self.scanner.mask_ready.val();
        self.scanner.mask_bits.next = self.source.mask_bits.val();
        self.scanner.mask_word.next = self.source.mask_word.val();
        self.scanner.mask_chunk_start.next = self.source.mask_chunk_start.val();
        self.scanner.mask_turn_end.next = self.source.mask_turn_end.val();
        self.scanner.mask_chunk_end.next = self.source.mask_chunk_end.val();
        self.scanner.mask_last.next = self.source.mask_last.val();
        self.scanner.mask_context.next = self.source.mask_context.val();

        self.packer.rows_valid.next = self.scanner.rows_valid.val();
        self.scanner.rows_ready.next = self.packer.rows_ready.val();
        self.packer.rows_count.next = self.scanner.rows_count.val();
        self.packer.rows_offset.next = self.scanner.rows_offset.val();
        self.packer.rows_word.next = self.scanner.rows_word.val();
        self.packer.rows_turn_end.next = self.scanner.rows_turn_end.val();
        self.packer.rows_chunk_end.next = self.scanner.rows_chunk_end.val();
        self.packer.rows_last.next = self.scanner.rows_last.val();
        self.packer.rows_context.next = self.scanner.rows_context.val();

        self.beat_valid.next = self.packer.beat_valid.val();
        self.packer.beat_ready.next = self.beat_ready.val();
        self.beat_offset.next = self.packer.beat_offset.val();
        self.beat_start.next = self.packer.beat_start.val();
        self.beat_bytes.next = self.packer.beat_bytes.val();
        self.beat_row_bytes.next = self.packer.beat_row_bytes.val();
        self.beat_dest.next = self.packer.beat_dest.val();
        self.beat_slot.next = self.packer.beat_slot.val();
        self.beat_message_start.next = self.packer.beat_message_start.val();
        self.beat_message_end.next = self.packer.beat_message_end.val();
        self.beat_message_bytes.next = self.packer.beat_message_bytes.val();
        self.beat_dest_end.next = self.packer.beat_dest_end.val();
        self.beat_window_end.next = self.packer.beat_window_end.val();
        self.idle.next =
            self.source.idle.val() && self.scanner.idle.val() && self.packer.idle.val();
    }
}

fn library() -> Library {
    testing::library("column_stream", Path::default)
}

struct Card<'a> {
    bench: Bench<'a>,
    item: DriverId,
    resp: DriverId,
    beat: MonitorId,
}

impl Card<'_> {
    fn new(library: &Library, seed: u64) -> Self {
        let mut bench = Bench::new(library.instance(seed), seed);
        bench.limit(3_000_000);
        let (item, resp) = (bench.driver("item"), bench.driver("resp"));
        Self { item, resp, beat: bench.monitor("beat"), bench }
    }

    /// Sends a request and checks its beats.
    fn run(&mut self, turns: &[Turn], random: &mut Random) -> Vec<Beat> {
        for turn in turns {
            self.bench.send(self.item, item(turn, random));
            self.bench.send_all(self.resp, answers(turn, random));
        }
        let drivers = (self.item, self.resp);
        self.bench.run_until(|b| b.pending(drivers.0) + b.pending(drivers.1) == 0);
        self.bench.step();
        self.bench.run_until(|bench| bench.get("idle") == 1);
        let beats = self.bench.take(self.beat);
        self.bench.run(40);
        assert!(self.bench.received(self.beat).is_empty(), "a beat while idle");
        let (left, failed) = survivors(turns);
        check(&left, &beats);
        assert_eq!(self.bench.get("failed"), u64::from(failed.is_some()));
        if let Some(index) = failed {
            assert_eq!(self.bench.get("fail_index"), index);
        }
        self.bench.set("clear", 1);
        self.bench.step();
        self.bench.set("clear", 0);
        self.bench.step();
        assert_eq!(self.bench.get("failed"), 0);
        beats
    }
}

#[test]
fn beats_tell_the_selected_rows_of_every_request() {
    let library = library();
    let mut failures = 0;
    for (seed, stalls) in (1..).zip(STALLS) {
        println!("seed {seed}");
        let mut random = Random::new(seed);
        let mut card = Card::new(&library, seed);
        card.bench.stall(stalls);
        for _ in 0..25 {
            let fails = random.chance(0.4);
            let turns = request(&mut random, fails);
            failures += u32::from(survivors(&turns).1.is_some());
            card.run(&turns, &mut random);
        }
    }
    assert!(failures > 10, "{failures} requests failed");
}

#[test]
fn a_beat_a_cycle_of_dense_and_of_sparse_rows() {
    let library = library();
    for (row_bytes, density, least) in
        [(20, 1.0, 1.0), (20, 0.25, 0.99), (64, 0.02, 0.99), (5, 0.5, 0.87)]
    {
        let mut random = Random::new(9);
        let mut card = Card::new(&library, 9);
        let turn = |k: usize, random: &mut Random| Turn {
            bits: selection(1600, density, random),
            row_bytes,
            units: 1 << 20,
            total: 1 << 20,
            index: k as u64 % 4,
            first: k < 4,
            chunk_start: k.is_multiple_of(4),
            chunk_end: k % 4 == 3,
            ..Default::default()
        };
        let turns: Vec<_> = (0..40).map(|k| turn(k, &mut random)).collect();
        let beats = card.run(&turns, &mut random);
        let times = card.bench.received_at(card.beat);
        let cycles = times[times.len() - 1] + 1 - times[0];
        let rate = beats.len() as f64 / cycles as f64;
        println!("{row_bytes} B, density {density}: {rate:.3} beats a cycle");
        assert!(rate >= least, "{row_bytes} B, density {density}: {rate} beats a cycle");
    }
}
