//! Turns marks into runs of rows that are read together, for *boxes*.
//!
//! ```text
//! fetch -> rows -> gaps -> ends -> first -> line -> limit -> cut
//! ```
//!
//! A *run* is a stretch of rows, within 64, without a distance above the pace's. Each run comes with the limit of a box
//! that starts with it: the *limit* is the last row that begins before the box's greatest end, and the phase of that
//! end in this row. Limits are whole cache lines.

mod gaps;
mod kernel;
mod limits;

use super::lines::Lines;
use super::paces::{PACE_BITS, Pace};
use super::pages::Pages;
use crate::primitive::{FirstSet, Lutram, Multiplier, Restore};
use drdma_emit::prelude::*;

/// A stretch of rows that are read together, or the end of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
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
