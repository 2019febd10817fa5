//! Turns marks into runs of rows that are read together, for *boxes*.
//!
//! ```text
//! fetch -> rows -> gaps -> ends -> first -> line -> limit -> cut
//! ```
//!
//! A *run* is a stretch of rows, within 64, without a distance above the pace's. Each run comes with the limit of a box
//! that starts with it: the *limit* is the last row that begins before the box's greatest end, and the phase of that
//! end in this row. Limits are whole cache lines.

// The accessors that `LogicStruct` derives have no documentation.
#![allow(missing_docs)]

use super::lines::Lines;
use super::paces::{PACE_BITS, Pace};
use super::pages::Pages;
use crate::primitive::{FirstSet, Lutram, Multiplier, Restore};
use drdma_emit::prelude::hdl_gen;
use rust_hdl_core::prelude::*;
use rust_hdl_widgets::prelude::*;

/// A stretch of rows that are read together, or the end of a chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct Run {
    /// There are rows, not only an end.
    pub any: Bit,
    /// The chunk ends with the run.
    pub last: Bit,
    /// Part of the run.
    pub index: Bits<5>,
    /// Block of 64 rows in host memory, counted from the window's first block.
    pub block: Bits<12>,
    /// Number of blocks before it that are not in the window.
    pub shift: Bits<12>,
    /// Needed rows of the block, one bit each.
    pub bits: Bits<64>,
    /// First row of the run in the block, 0 to 63.
    pub from: Bits<6>,
    /// Last row of the run in the block, 0 to 63.
    pub to: Bits<6>,
    /// Cache line in which the first row starts, counted from the line in which the block starts.
    pub from_line: Bits<8>,
    /// Cache line in which the last row ends, counted from the line in which the block starts.
    pub to_line: Bits<8>,
    /// A row that certainly has no bytes behind the run's end.
    pub reach: Bits<20>,
    /// Limit of a box that starts with the run: its row.
    pub limit_row: Bits<20>,
    /// Limit of a box that starts with the run: its phase.
    pub limit_phase: Bits<8>,
    /// Next 4 KiB boundary: its row.
    pub page_row: Bits<20>,
    /// Next 4 KiB boundary: its phase.
    pub page_phase: Bits<8>,
    /// The run may exceed its limit.
    pub cut: Bit,
    /// Pace of the part, a flattened [`Pace`].
    pub pace: Bits<PACE_BITS>,
}

/// Bits of a [`Run`].
pub const RUN_BITS: usize = 337;

/// Turns parts of groups into runs; see the module.
///
/// 64 rows a cycle, a run a cycle. A cycle more for each 16 KiB, and for each 4 KiB of the rest, by which a part's
/// first row lies behind the part's start or behind the run before.
#[derive(LogicBlock, Default)]
pub struct Runs {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// A part is offered, whose pace is written.
    pub group_valid: Signal<In, Bit>,
    /// The part is taken in this cycle.
    pub group_ready: Signal<Out, Bit>,
    /// Number of the part, under the parity of its chunk.
    pub group_index: Signal<In, Bits<5>>,
    /// The part is the last one of its chunk.
    pub group_last: Signal<In, Bit>,
    /// Blocks of 64 rows of the window, at least one.
    pub group_blocks: Signal<In, Bits<7>>,
    /// A pace is written.
    pub pace_write: Signal<In, Bit>,
    /// Number of the pace's part.
    pub pace_index: Signal<In, Bits<5>>,
    /// The pace, flattened.
    pub pace_data: Signal<In, Bits<PACE_BITS>>,
    /// Bit `h`: half `h` of the marks has a whole chunk.
    pub marks_full: Signal<In, Bits<2>>,
    /// Bit `h`: half `h` of the marks is not needed any more.
    pub marks_forget: Signal<Out, Bits<2>>,
    /// 64 rows of the marks to read: half (1 bit), then their number in the chunk (6 bits).
    pub marks_address: Signal<Out, Bits<7>>,
    /// Marks of these 64 rows.
    pub marks: Signal<In, Bits<64>>,
    /// Number of blocks before these 64 rows that are not in the window.
    pub marks_shift: Signal<In, Bits<12>>,

    /// A run, or the end of a chunk, is offered.
    pub run_valid: Signal<Out, Bit>,
    /// The run is taken in this cycle.
    pub run_ready: Signal<In, Bit>,
    /// The run.
    pub run: Signal<Out, Run>,

    paces: Lutram<PACE_BITS, 5, 3>,
    next_block: DFF<Bits<6>>,
    fetching: Signal<Local, Bit>,
    last_block: Signal<Local, Bit>,

    rows_valid: DFF<Bit>,
    rows_bits: DFF<Bits<64>>,
    rows_index: DFF<Bits<5>>,
    rows_block: DFF<Bits<12>>,
    rows_shift: DFF<Bits<12>>,
    rows_end: DFF<Bit>,
    rows_free: Signal<Local, Bit>,
    rows_pace: Restore<Pace, PACE_BITS>,
    window_0: Signal<Local, Bits<64>>,
    window_1: Signal<Local, Bits<64>>,
    window_2: Signal<Local, Bits<64>>,
    window_3: Signal<Local, Bits<64>>,
    window_4: Signal<Local, Bits<64>>,
    window_5: Signal<Local, Bits<64>>,
    window_6: Signal<Local, Bits<64>>,

    gaps_valid: DFF<Bit>,
    gaps_bits: DFF<Bits<64>>,
    gaps_index: DFF<Bits<5>>,
    gaps_block: DFF<Bits<12>>,
    gaps_shift: DFF<Bits<12>>,
    gaps_end: DFF<Bit>,
    gaps_window: DFF<Bits<64>>,
    gaps_rest: DFF<Bits<6>>,
    gaps_free: Signal<Local, Bit>,

    ends_valid: DFF<Bit>,
    ends_bits: DFF<Bits<64>>,
    ends_ends: DFF<Bits<64>>,
    ends_index: DFF<Bits<5>>,
    ends_block: DFF<Bits<12>>,
    ends_shift: DFF<Bits<12>>,
    ends_end: DFF<Bit>,
    ends_free: Signal<Local, Bit>,
    find_from: FirstSet<64, 6>,
    find_to: FirstSet<64, 6>,
    other_ends: Signal<Local, Bits<64>>,
    to_end: Signal<Local, Bits<64>>,

    first_valid: DFF<Bit>,
    first_any: DFF<Bit>,
    first_end: DFF<Bit>,
    first_bits: DFF<Bits<64>>,
    first_index: DFF<Bits<5>>,
    first_block: DFF<Bits<12>>,
    first_shift: DFF<Bits<12>>,
    first_from: DFF<Bits<6>>,
    first_to: DFF<Bits<6>>,
    first_free: Signal<Local, Bit>,
    first_pace_bits: DFF<Bits<PACE_BITS>>,
    first_pace: Restore<Pace, PACE_BITS>,
    row: Signal<Local, Bits<20>>,
    ends_pace: Restore<Pace, PACE_BITS>,
    pages: Pages,

    line_valid: DFF<Bit>,
    line_any: DFF<Bit>,
    line_end: DFF<Bit>,
    line_bits: DFF<Bits<64>>,
    line_index: DFF<Bits<5>>,
    line_block: DFF<Bits<12>>,
    line_shift: DFF<Bits<12>>,
    line_from: DFF<Bits<6>>,
    line_to: DFF<Bits<6>>,
    line_reach: DFF<Bits<20>>,
    line_row: DFF<Bits<20>>,
    line_phase: DFF<Bits<8>>,
    line_step: DFF<Bits<8>>,
    line_page_row: DFF<Bits<20>>,
    line_page_phase: DFF<Bits<8>>,
    line_free: Signal<Local, Bit>,
    lines: Lines,
    /// Bytes from the block's first row to the run's first and last one.
    from_bytes: Multiplier<6, 8, 14>,
    to_bytes: Multiplier<6, 8, 14>,
    line_skew: DFF<Bits<6>>,
    /// Bytes from the line in which a row starts to the row's last byte.
    line_tail: DFF<Bits<8>>,

    limit_valid: DFF<Bit>,
    limit_any: DFF<Bit>,
    limit_end: DFF<Bit>,
    limit_bits: DFF<Bits<64>>,
    limit_index: DFF<Bits<5>>,
    limit_block: DFF<Bits<12>>,
    limit_shift: DFF<Bits<12>>,
    limit_from: DFF<Bits<6>>,
    limit_to: DFF<Bits<6>>,
    limit_from_line: DFF<Bits<8>>,
    limit_to_line: DFF<Bits<8>>,
    limit_reach: DFF<Bits<20>>,
    limit_row: DFF<Bits<20>>,
    limit_phase: DFF<Bits<8>>,
    limit_page_row: DFF<Bits<20>>,
    limit_page_phase: DFF<Bits<8>>,
    limit_free: Signal<Local, Bit>,

    cut_valid: DFF<Bit>,
    cut_any: DFF<Bit>,
    cut_end: DFF<Bit>,
    cut_bits: DFF<Bits<64>>,
    cut_index: DFF<Bits<5>>,
    cut_block: DFF<Bits<12>>,
    cut_shift: DFF<Bits<12>>,
    cut_from: DFF<Bits<6>>,
    cut_to: DFF<Bits<6>>,
    cut_from_line: DFF<Bits<8>>,
    cut_to_line: DFF<Bits<8>>,
    cut_reach: DFF<Bits<20>>,
    cut_row: DFF<Bits<20>>,
    cut_phase: DFF<Bits<8>>,
    cut_page_row: DFF<Bits<20>>,
    cut_page_phase: DFF<Bits<8>>,
    cut_pace: DFF<Bits<PACE_BITS>>,
    cut_free: Signal<Local, Bit>,
    cut_record: Restore<Pace, PACE_BITS>,
    unused_0: Signal<Local, Pace>,
    unused_1: Signal<Local, Pace>,
}

impl Logic for Runs {
    #[hdl_gen]
    fn update(&mut self) {
        self.paces.write_enable.next = self.pace_write.val();
        self.paces.write_address.next = self.pace_index.val();
        self.paces.write_data.next = self.pace_data.val();
        self.paces.read_address[0].next = self.rows_index.q.val();
        self.paces.read_address[1].next = self.ends_index.q.val();
        self.paces.read_address[2].next = self.limit_index.q.val();
        self.rows_pace.bits.next = self.paces.read_data[0].val();
        self.first_pace.bits.next = self.first_pace_bits.q.val();
        self.ends_pace.bits.next = self.paces.read_data[1].val();

        // Stages before are stopped until the next 4 KiB boundary lies behind the run's start.
        self.row.next = (bit_cast::<20, 12>(self.first_block.q.val()) << 6)
            | bit_cast::<20, 6>(self.first_from.q.val());
        self.pages.next_index.next = self.ends_index.q.val();
        self.pages.next_pace.next = self.ends_pace.record.val();
        self.pages.valid.next = self.first_valid.q.val();
        self.pages.any.next = self.first_any.q.val();
        self.pages.last.next = self.first_end.q.val();
        self.pages.index.next = self.first_index.q.val();
        self.pages.row.next = self.row.val();
        self.pages.pace.next = self.first_pace.record.val();

        // Which stages advance.
        self.cut_free.next = !self.cut_valid.q.val() || self.run_ready.val();
        self.limit_free.next = !self.limit_valid.q.val() || self.cut_free.val();
        self.line_free.next = !self.line_valid.q.val() || self.limit_free.val();
        self.first_free.next =
            !self.first_valid.q.val() || (self.line_free.val() && !self.pages.behind.val());
        self.pages.load.next = self.first_free.val();
        self.pages.enable.next = self.line_free.val();
        self.other_ends.next = self.ends_ends.q.val() & (self.ends_ends.q.val() - 1);
        self.ends_free.next =
            !self.ends_valid.q.val() || (self.first_free.val() && !self.other_ends.val().any());
        self.gaps_free.next = !self.gaps_valid.q.val() || self.ends_free.val();
        self.rows_free.next = !self.rows_valid.q.val() || self.gaps_free.val();

        // Fetch.
        self.fetching.next = self.group_valid.val()
            && self.marks_full.val().get_bit(self.group_index.val().get_bits::<1>(4).index());
        self.last_block.next =
            bit_cast::<7, 6>(self.next_block.q.val()) + 1 == self.group_blocks.val();
        self.marks_address.next = bit_cast::<7, 6>(self.next_block.q.val())
            | (bit_cast::<7, 1>(self.group_index.val().get_bits::<1>(4)) << 6);
        self.group_ready.next = false;
        self.marks_forget.next = 0.into();
        if self.rows_free.val() {
            self.rows_valid.d.next = self.fetching.val()
                && (self.marks.val().any() || (self.last_block.val() && self.group_last.val()));
            self.rows_bits.d.next = self.marks.val();
            self.rows_index.d.next = self.group_index.val();
            self.rows_block.d.next =
                self.marks_shift.val() + bit_cast::<12, 6>(self.next_block.q.val());
            self.rows_shift.d.next = self.marks_shift.val();
            self.rows_end.d.next = self.last_block.val() && self.group_last.val();
            if self.fetching.val() {
                self.next_block.d.next = self.next_block.q.val() + 1;
                if self.last_block.val() {
                    self.next_block.d.next = 0.into();
                    self.group_ready.next = true;
                    if self.group_last.val() {
                        self.marks_forget.next = 1.into();
                        if self.group_index.val().get_bit(4) {
                            self.marks_forget.next = 2.into();
                        }
                    }
                }
            }
        }

        // Gaps. Bit i of window k: one of the 2^k rows behind row i is needed.
        self.window_0.next = self.rows_bits.q.val() >> 1;
        self.window_1.next = self.window_0.val() | (self.window_0.val() >> 1);
        self.window_2.next = self.window_1.val() | (self.window_1.val() >> 2);
        self.window_3.next = self.window_2.val() | (self.window_2.val() >> 4);
        self.window_4.next = self.window_3.val() | (self.window_3.val() >> 8);
        self.window_5.next = self.window_4.val() | (self.window_4.val() >> 16);
        self.window_6.next = self.window_5.val() | (self.window_5.val() >> 32);
        if self.gaps_free.val() {
            self.gaps_valid.d.next = self.rows_valid.q.val();
            self.gaps_bits.d.next = self.rows_bits.q.val();
            self.gaps_index.d.next = self.rows_index.q.val();
            self.gaps_block.d.next = self.rows_block.q.val();
            self.gaps_shift.d.next = self.rows_shift.q.val();
            self.gaps_end.d.next = self.rows_end.q.val();
            self.gaps_rest.d.next = self.rows_pace.record.val().rest;
            self.gaps_window.d.next = 0.into();
            if self.rows_pace.record.val().size == 0 {
                self.gaps_window.d.next = self.window_0.val();
            }
            if self.rows_pace.record.val().size == 1 {
                self.gaps_window.d.next = self.window_1.val();
            }
            if self.rows_pace.record.val().size == 2 {
                self.gaps_window.d.next = self.window_2.val();
            }
            if self.rows_pace.record.val().size == 3 {
                self.gaps_window.d.next = self.window_3.val();
            }
            if self.rows_pace.record.val().size == 4 {
                self.gaps_window.d.next = self.window_4.val();
            }
            if self.rows_pace.record.val().size == 5 {
                self.gaps_window.d.next = self.window_5.val();
            }
            if self.rows_pace.record.val().size == 6 {
                self.gaps_window.d.next = self.window_6.val();
            }
        }

        // The ends of runs; then one run after the other.
        self.find_from.bits.next = self.ends_bits.q.val();
        self.find_to.bits.next = self.ends_ends.q.val();
        self.to_end.next = self.ends_ends.q.val() ^ (self.ends_ends.q.val() - 1);
        if self.first_free.val() {
            self.first_valid.d.next = self.ends_valid.q.val();
            self.first_any.d.next = self.ends_bits.q.val().any();
            self.first_end.d.next = self.ends_end.q.val() && !self.other_ends.val().any();
            self.first_bits.d.next = self.ends_bits.q.val() & self.to_end.val();
            self.first_index.d.next = self.ends_index.q.val();
            self.first_block.d.next = self.ends_block.q.val();
            self.first_shift.d.next = self.ends_shift.q.val();
            self.first_pace_bits.d.next = self.paces.read_data[1].val();
            self.first_from.d.next = self.find_from.index.val();
            self.first_to.d.next = self.find_to.index.val();
            self.ends_ends.d.next = self.other_ends.val();
            self.ends_bits.d.next = self.ends_bits.q.val() & !self.to_end.val();
        }
        if self.ends_free.val() {
            self.ends_valid.d.next = self.gaps_valid.q.val();
            self.ends_bits.d.next = self.gaps_bits.q.val();
            self.ends_index.d.next = self.gaps_index.q.val();
            self.ends_block.d.next = self.gaps_block.q.val();
            self.ends_shift.d.next = self.gaps_shift.q.val();
            self.ends_end.d.next = self.gaps_end.q.val();
            self.ends_ends.d.next = self.gaps_bits.q.val()
                & !(self.gaps_window.q.val()
                    | (self.gaps_window.q.val() >> self.gaps_rest.q.val()));
        }

        // The longest box from the run's first row.
        if self.line_free.val() {
            self.line_valid.d.next = self.first_valid.q.val() && !self.pages.behind.val();
            self.line_any.d.next = self.first_any.q.val();
            self.line_end.d.next = self.first_end.q.val();
            self.line_bits.d.next = self.first_bits.q.val();
            self.line_index.d.next = self.first_index.q.val();
            self.line_block.d.next = self.first_block.q.val();
            self.line_shift.d.next = self.first_shift.q.val();
            self.line_from.d.next = self.first_from.q.val();
            self.line_to.d.next = self.first_to.q.val();
            // Where rows overlap, rows up to 63 before may have bytes behind a row's start.
            self.line_reach.d.next = (bit_cast::<20, 12>(self.first_block.q.val()) << 6)
                + (bit_cast::<20, 1>(self.first_pace.record.val().overlap.into()) << 6)
                + bit_cast::<20, 6>(self.first_to.q.val());
            self.line_row.d.next =
                self.row.val() + bit_cast::<20, 13>(self.first_pace.record.val().rows);
            self.line_phase.d.next = self.first_pace.record.val().phase;
            self.line_step.d.next = self.first_pace.record.val().step;
            self.line_skew.d.next = self.first_pace.record.val().skew;
            self.line_tail.d.next = bit_cast::<8, 6>(self.first_pace.record.val().skew)
                + bit_cast::<8, 7>(self.first_pace.record.val().len)
                - 1;
            self.line_page_row.d.next = self.pages.page_row.val();
            self.line_page_phase.d.next = self.pages.page_phase.val();
        }

        // The lines of the first byte and of the last one. 64 rows are whole lines, so that the lines of every block
        // start alike.
        self.from_bytes.enable.next = self.line_free.val();
        self.from_bytes.a.next = self.first_from.q.val();
        self.from_bytes.b.next = self.first_pace.record.val().step;
        self.to_bytes.enable.next = self.line_free.val();
        self.to_bytes.a.next = self.first_to.q.val();
        self.to_bytes.b.next = self.first_pace.record.val().step;

        // Limits.
        self.lines.enable.next = self.line_free.val();
        self.lines.row.next = self.first_from.q.val();
        self.lines.lo.next = self.first_pace.record.val().skew;
        self.lines.step.next = self.first_pace.record.val().step;
        self.lines.triple.next = self.first_pace.record.val().triple;
        self.lines.end_row.next = self.line_row.q.val();
        self.lines.end_phase.next = self.line_phase.q.val();
        self.lines.end_step.next = self.line_step.q.val();
        if self.limit_free.val() {
            self.limit_valid.d.next = self.line_valid.q.val();
            self.limit_any.d.next = self.line_any.q.val();
            self.limit_end.d.next = self.line_end.q.val();
            self.limit_bits.d.next = self.line_bits.q.val();
            self.limit_index.d.next = self.line_index.q.val();
            self.limit_block.d.next = self.line_block.q.val();
            self.limit_shift.d.next = self.line_shift.q.val();
            self.limit_from.d.next = self.line_from.q.val();
            self.limit_to.d.next = self.line_to.q.val();
            self.limit_from_line.d.next = (self.from_bytes.product.val()
                + bit_cast::<14, 6>(self.line_skew.q.val()))
            .get_bits::<8>(6);
            self.limit_to_line.d.next = (self.to_bytes.product.val()
                + bit_cast::<14, 8>(self.line_tail.q.val()))
            .get_bits::<8>(6);
            self.limit_reach.d.next = self.line_reach.q.val();
            self.limit_page_row.d.next = self.line_page_row.q.val();
            self.limit_page_phase.d.next = self.line_page_phase.q.val();
            self.limit_row.d.next = self.lines.limit_row.val();
            self.limit_phase.d.next = self.lines.limit_phase.val();
        }
        if self.cut_free.val() {
            self.cut_valid.d.next = self.limit_valid.q.val();
            self.cut_any.d.next = self.limit_any.q.val();
            self.cut_end.d.next = self.limit_end.q.val();
            self.cut_bits.d.next = self.limit_bits.q.val();
            self.cut_index.d.next = self.limit_index.q.val();
            self.cut_block.d.next = self.limit_block.q.val();
            self.cut_shift.d.next = self.limit_shift.q.val();
            self.cut_from.d.next = self.limit_from.q.val();
            self.cut_to.d.next = self.limit_to.q.val();
            self.cut_from_line.d.next = self.limit_from_line.q.val();
            self.cut_to_line.d.next = self.limit_to_line.q.val();
            self.cut_reach.d.next = self.limit_reach.q.val();
            self.cut_page_row.d.next = self.limit_page_row.q.val();
            self.cut_page_phase.d.next = self.limit_page_phase.q.val();
            self.cut_pace.d.next = self.paces.read_data[2].val();
            self.cut_row.d.next = self.limit_row.q.val();
            self.cut_phase.d.next = self.limit_phase.q.val();
            if (self.limit_page_row.q.val() < self.limit_row.q.val())
                || ((self.limit_page_row.q.val() == self.limit_row.q.val())
                    && (self.limit_page_phase.q.val() < self.limit_phase.q.val()))
            {
                self.cut_row.d.next = self.limit_page_row.q.val();
                self.cut_phase.d.next = self.limit_page_phase.q.val();
            }
        }

        self.cut_record.bits.next = self.cut_pace.q.val();
        // Each stage uses only some fields of the pace.
        self.unused_0.next = self.rows_pace.record.val();
        self.unused_1.next = self.cut_record.record.val();
        self.run_valid.next = self.cut_valid.q.val();
        self.run.next.any = self.cut_any.q.val();
        self.run.next.last = self.cut_end.q.val();
        self.run.next.index = self.cut_index.q.val();
        self.run.next.block = self.cut_block.q.val();
        self.run.next.shift = self.cut_shift.q.val();
        self.run.next.bits = self.cut_bits.q.val();
        self.run.next.from = self.cut_from.q.val();
        self.run.next.to = self.cut_to.q.val();
        self.run.next.from_line = self.cut_from_line.q.val();
        self.run.next.to_line = self.cut_to_line.q.val();
        self.run.next.reach = self.cut_reach.q.val();
        self.run.next.limit_row = self.cut_row.q.val();
        self.run.next.limit_phase = self.cut_phase.q.val();
        self.run.next.page_row = self.cut_page_row.q.val();
        self.run.next.page_phase = self.cut_page_phase.q.val();
        self.run.next.pace = self.cut_pace.q.val();
        self.run.next.cut = (self.cut_row.q.val() < self.cut_reach.q.val())
            || ((self.cut_row.q.val() == self.cut_reach.q.val())
                && (self.cut_phase.q.val() < bit_cast::<8, 7>(self.cut_record.record.val().len)));

        if self.rst.val() {
            self.next_block.d.next = 0.into();
            self.rows_valid.d.next = false;
            self.gaps_valid.d.next = false;
            self.ends_valid.d.next = false;
            self.first_valid.d.next = false;
            self.line_valid.d.next = false;
            self.limit_valid.d.next = false;
            self.cut_valid.d.next = false;
        }
    }
}
