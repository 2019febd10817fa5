//! Walks units of elements of several regions (row mask `Element`), element by element.

mod kernel;
mod rows;
mod units;

use super::record::{CONTEXT_BITS, Context, Item, Row};
use crate::primitive::{FirstSet, Flatten, Lutram, Ram, RamStyle, Restore};
use crate::request::DEST_INDEX;
use drdma_emit::prelude::*;
use num_bigint::BigUint;

/// State of the walker.
#[derive(Clone, Copy, Debug, PartialEq, LogicState)]
pub enum WalkerState {
    /// Takes the regions of a destination.
    Idle,
    /// Adds up the length of a message without emitting it.
    Dry,
    /// Waits until the last lengths are added.
    DryEnd,
    /// Emits an element a cycle.
    Give,
    /// Finds out which line of a bitmap or of pointers is needed.
    Miss,
    /// Limits the line to the end of the bitmap or the pointer array.
    Limit,
    /// Asks for the line.
    Ask,
    /// Waits for the line.
    Answer,
    /// All units are done.
    Done,
}

/// A region that is walked.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct Walked {
    /// Type of the region, a `RegionType` of the ABI.
    pub kind: Bits<2>,
    /// Host address of the bitmap or pointer array.
    pub addr: Bits<64>,
    /// Bits or pointers of the region.
    pub count: Bits<32>,
    /// Bytes of a row.
    pub row_bytes: Bits<36>,
}

/// Bits of a [`Walked`].
const WALKED_BITS: usize = 134;

/// Progress of the walk of a region.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct Place {
    /// Next period or pointer.
    pub row: Bits<32>,
    /// Next lane.
    pub lane: Bits<4>,
    /// Bits that are left of the bitmap's current word.
    pub bits: Bits<64>,
    /// Number of the word after the current one.
    pub word: Bits<27>,
}

/// Bits of a [`Place`].
const PLACE_BITS: usize = 127;

/// Walks units that consist of one element of each of up to 16 regions, in place of the row source.
///
/// One element a cycle. Bitmaps and pointers are read in lines of 64 bytes when they are needed: a line is asked for 3
/// cycles later. Where the lengths of messages must be known and elements differ, a message is first added up, an
/// element a cycle. Items: a `LOAD` for each region, then a `CHECK` or `UNITS`.
///
/// # Inputs
/// `item` stream, `lane_write`, `may_start`, `failed`, `stretch_ready`, `resp_*`, `row_ready`.
///
/// # Outputs
/// `item_ready`, `busy`, `stretch` stream, `wants`, `fail`, `row_waits`, `row` stream, `done`, `too_long`.
#[derive(LogicBlock, BlockDefault)]
pub struct Walker {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// An item for the walker is offered.
    pub item_valid: Signal<In, Bit>,
    /// The item is taken in this cycle.
    pub item_ready: Signal<Out, Bit>,
    /// The item.
    pub item: Signal<In, Item>,
    /// Context that the rows of the item share.
    pub item_context: Signal<In, Context>,
    /// All rows of earlier items have left the row source.
    pub may_start: Signal<In, Bit>,
    /// The walker is at work: the row source waits.
    pub busy: Signal<Out, Bit>,
    /// The request has failed: the walker emits no rows.
    pub failed: Signal<In, Bit>,
    /// The decoder writes a lane.
    pub lane_write_valid: Signal<In, Bit>,
    /// Set that the lane belongs to.
    pub lane_write_set: Signal<In, Bits<11>>,
    /// Number of the lane, 0 to 15.
    pub lane_write_lane: Signal<In, Bits<4>>,
    /// Bytes of the lane in a row.
    pub lane_write_len: Signal<In, Bits<32>>,
    /// A line that must be read is offered.
    pub stretch_valid: Signal<Out, Bit>,
    /// The line is taken to be read in this cycle.
    pub stretch_ready: Signal<In, Bit>,
    /// Host address of the bitmap or pointer array.
    pub stretch_addr: Signal<Out, Bits<64>>,
    /// First bit or pointer of the line.
    pub stretch_first: Signal<Out, Bits<32>>,
    /// Bits or pointers of the line, at most 64 bytes.
    pub stretch_rows: Signal<Out, Bits<32>>,
    /// The line is of bits, not of pointers.
    pub stretch_bitmap: Signal<Out, Bit>,
    /// The next answer is for the walker.
    pub wants: Signal<Out, Bit>,
    /// A line that was read is offered; it is always taken when `wants` is set.
    pub resp_valid: Signal<In, Bit>,
    /// The line.
    pub resp_data: Signal<In, Bits<512>>,
    /// The read failed.
    pub resp_error: Signal<In, Bit>,
    /// A read has failed, or a pointer or bitmap has changed since it was judged.
    pub fail: Signal<Out, Bit>,
    /// With `fail`: number of the destination in its request.
    pub fail_dest: Signal<Out, Bits<DEST_INDEX>>,
    /// A row is ready, which is offered unless the walk fails with it.
    pub row_waits: Signal<Out, Bit>,
    /// The row is offered.
    pub row_valid: Signal<Out, Bit>,
    /// The row is taken in this cycle.
    pub row_ready: Signal<In, Bit>,
    /// Context of the row's region.
    pub row_context: Signal<Out, Context>,
    /// The row.
    pub row: Signal<Out, Row>,
    /// All units have been emitted or checked.
    pub done: Signal<Out, Bit>,
    /// With `done` of a check: a message is longer than the limit.
    pub too_long: Signal<Out, Bit>,
    state: DFF<WalkerState>,
    check: DFF<Bit>,
    announce: DFF<Bit>,
    chunk: DFF<Bit>,
    ends: DFF<Bit>,
    // The regions of the destination.
    last_region: DFF<Bits<4>>,
    region: DFF<Bits<4>>,
    infos: Lutram<WALKED_BITS, 4, 1>,
    // Bounds of pointers: the lowest (64 bits), the highest (64), and whether all are out of bounds.
    bounds: Lutram<129, 4, 1>,
    outside: Signal<Local, Bit>,
    #[init(Constant::new((BigUint::from(1_u8) << 128_u32).into()))]
    never: Constant<Bits<129>>,
    info_new: Signal<Local, Walked>,
    info_in: Flatten<Walked, WALKED_BITS>,
    info: Restore<Walked, WALKED_BITS>,
    contexts: Lutram<CONTEXT_BITS, 4, 1>,
    shared_in: Flatten<Context, CONTEXT_BITS>,
    shared: Restore<Context, CONTEXT_BITS>,
    last_of_unit: Signal<Local, Bit>,
    // Progress of each region, and the line that was read last for it.
    places: Lutram<PLACE_BITS, 4, 1>,
    place_in: Flatten<Place, PLACE_BITS>,
    place_out: Restore<Place, PLACE_BITS>,
    place: Signal<Local, Place>,
    place_new: Signal<Local, Place>,
    fresh: DFF<Bits<16>>,
    /// The current region has not begun.
    fresh_here: DFF<Bit>,
    fresh_after: Signal<Local, Bit>,
    region_after: Signal<Local, Bits<4>>,
    lines: Lutram<512, 4, 1>,
    line: Signal<Local, Bits<512>>,
    line_ready: DFF<Bit>,
    line_first: Signal<Local, Bits<32>>,
    line_rows: Signal<Local, Bits<10>>,
    ask_first: DFF<Bits<32>>,
    ask_rows: DFF<Bits<32>>,
    fails: DFF<Bit>,
    in_line: Signal<Local, Bits<3>>,
    word: Signal<Local, Bits<64>>,
    last_word: Signal<Local, Bits<27>>,
    last_mask: Signal<Local, Bits<64>>,
    masked: Signal<Local, Bits<64>>,
    #[init(Constant::new(u64::MAX.to_bits()))]
    ones: Constant<Bits<64>>,
    first_one: FirstSet<64, 6>,
    // Units that are left: of all, and of the message.
    left: DFF<Bits<36>>,
    unit_left: DFF<Bits<32>>,
    // Lengths of lanes, of two in a word, and of the message.
    #[init(Ram::new(RamStyle::Ultra))]
    lens: Ram<64, 2, 14>,
    /// The lane whose length was read is the second one of its word.
    second: DFF<Bit>,
    len: Signal<Local, Bits<32>>,
    dry_left: DFF<Bits<36>>,
    dry_unit: DFF<Bits<32>>,
    dry_lanes: Lutram<4, 4, 1>,
    dry_lane: Signal<Local, Bits<4>>,
    dry_fresh: DFF<Bits<16>>,
    adds: DFF<Bit>,
    adds_lane: DFF<Bit>,
    adds_bytes: DFF<Bits<36>>,
    sum: DFF<Bits<37>>,
    sum_new: Signal<Local, Bits<37>>,
    limit: DFF<Bits<32>>,
    over: DFF<Bit>,
    // The row that is offered.
    found: Signal<Local, Bit>,
    advance: Signal<Local, Bit>,
    next_row: Signal<Local, Row>,
    out_valid: DFF<Bit>,
    /// The row's pointer is out of its region's bounds: the row is not offered.
    out_outside: DFF<Bit>,
    out_row: DFF<Row>,
    out_context: DFF<Context>,
    /// Takes fields that items of the column path alone have.
    unused: Signal<Local, Item>,
}
