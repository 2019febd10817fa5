//! Joins runs to boxes, and cuts boxes at their limits.
//!
//! A run takes a cycle. A run that exceeds the limit of its box takes two more for each cut that falls on a needed
//! byte, five where the cut falls into a gap, and three more again where rows overlap.

mod cuts;
mod kernel;
mod limits;

use super::lines::Lines;
use super::paces::{PACE_BITS, Pace};
use super::runs::Run;
use crate::primitive::{BitRange, Fifo, FirstSet, LastSet, Multiplier, Restore};
use drdma_emit::prelude::*;

/// State of the block.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum CutState {
    /// Takes a run.
    Run,
    /// Finds out whether the byte at the limit is needed.
    Probe,
    /// Finds the last row before the limit, and the first behind it.
    Split,
    /// Overlapping rows: finds the distance of the last row from the limit.
    Far,
    /// Overlapping rows: multiplies that distance, for bytes.
    Reach,
    /// Overlapping rows: finds out whether the last row continues behind the limit.
    Tail,
    /// Ends the box.
    Cut,
    /// Starts the next box, and finds its limits.
    Start,
    /// Ends the chunk.
    End,
}

/// Bits of a box of rows.
pub const SPAN_BITS: usize = 74;

/// Joins runs to boxes of rows and phases, for *spans*; see the module.
///
/// Fields of a box: whether the next one continues the same stretch before the next 4 KiB boundary; the chunk's end;
/// whether there are bytes; the part; the start (row, bytes behind its start); the end (the same); and how many blocks
/// of rows before it are not in the window, which is the same for all rows of a box.
#[derive(LogicBlock, BlockDefault)]
pub struct Boxes {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// A run is offered.
    pub run_valid: Signal<In, Bit>,
    /// The run is taken in this cycle.
    pub run_ready: Signal<Out, Bit>,
    /// The run.
    pub run: Signal<In, Run>,

    /// A box is offered.
    pub span_valid: Signal<Out, Bit>,
    /// The box is taken in this cycle.
    pub span_ready: Signal<In, Bit>,
    /// The box.
    pub span: Signal<Out, Bits<SPAN_BITS>>,

    state: DFF<CutState>,
    valid: DFF<Bit>,
    any: DFF<Bit>,
    last: DFF<Bit>,
    index: DFF<Bits<5>>,
    block: DFF<Bits<12>>,
    shift: DFF<Bits<12>>,
    bits: DFF<Bits<64>>,
    from: DFF<Bits<6>>,
    to: DFF<Bits<6>>,
    to_line: DFF<Bits<8>>,
    /// The run starts in the cache line in which the one before ends.
    same_line: DFF<Bit>,
    block_behind: Signal<Local, Bits<12>>,
    line_behind: Signal<Local, Bits<9>>,
    reach: DFF<Bits<20>>,
    new_limit_row: DFF<Bits<20>>,
    new_limit_phase: DFF<Bits<8>>,
    new_page_row: DFF<Bits<20>>,
    new_page_phase: DFF<Bits<8>>,
    new_cut: DFF<Bit>,
    pace_bits: DFF<Bits<PACE_BITS>>,
    pace: Restore<Pace, PACE_BITS>,
    /// Takes fields of the pace that this block does not use.
    unused: Signal<Local, Pace>,
    /// The open box continues with this run.
    resume: DFF<Bit>,

    // The open box.
    open: DFF<Bit>,
    open_index: DFF<Bits<5>>,
    open_shift: DFF<Bits<12>>,
    open_row: DFF<Bits<19>>,
    open_phase: DFF<Bits<8>>,
    last_row: DFF<Bits<18>>,
    open_len: DFF<Bits<7>>,
    slack: DFF<Bits<20>>,
    limit_row: DFF<Bits<20>>,
    limit_phase: DFF<Bits<8>>,
    page_row: DFF<Bits<20>>,
    page_phase: DFF<Bits<8>>,

    from_row: Signal<Local, Bits<20>>,
    to_row: Signal<Local, Bits<20>>,
    len: Signal<Local, Bits<8>>,
    follows: Signal<Local, Bit>,
    joins: Signal<Local, Bit>,
    // Rows and phases in one number, which is compared in one carry chain.
    run_end: Signal<Local, Bits<28>>,
    limit: Signal<Local, Bits<28>>,
    page: Signal<Local, Bits<28>>,
    over_limit: Signal<Local, Bit>,
    over_page: Signal<Local, Bit>,
    cuts: Signal<Local, Bit>,
    free: Signal<Local, Bit>,
    done: Signal<Local, Bit>,

    // The limit, and the one behind it.
    here: Signal<Local, Bit>,
    at_limit: Signal<Local, Bit>,
    behind_limit: Signal<Local, Bit>,
    place: Signal<Local, Bits<6>>,
    sum: Signal<Local, Bits<9>>,
    sum_row: Signal<Local, Bits<20>>,
    page_sum: Signal<Local, Bits<9>>,
    next_page_row: Signal<Local, Bits<20>>,
    next_page_phase: Signal<Local, Bits<8>>,
    at_page: Signal<Local, Bit>,

    below: BitRange<64, 6>,
    mask: Signal<Local, Bits<64>>,
    low_bits: DFF<Bits<64>>,
    high_bits: DFF<Bits<64>>,
    find_last: LastSet<64, 6>,
    find_next: FirstSet<64, 6>,
    trim: DFF<Bits<6>>,
    next: DFF<Bits<6>>,
    more: DFF<Bit>,
    distance: DFF<Bits<20>>,
    #[init(Multiplier::new(1))]
    far: Multiplier<6, 8, 14>,
    /// A row that starts this many bytes or more before the limit's row ends before the limit.
    room: DFF<Bits<8>>,
    close: DFF<Bit>,
    tail: DFF<Bit>,
    next_row: Signal<Local, Bits<20>>,
    lines: Lines,

    room_for: Signal<Local, Bit>,
    send: Signal<Local, Bit>,
    sent_valid: DFF<Bit>,
    sent: DFF<Bits<SPAN_BITS>>,
    goes_on: Signal<Local, Bit>,
    cut_end: Signal<Local, Bit>,
    end_row: Signal<Local, Bits<19>>,
    end_phase: Signal<Local, Bits<8>>,
    group: Signal<Local, Bits<5>>,
    queue: Fifo<SPAN_BITS, 4, 5>,
}
