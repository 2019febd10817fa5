//! The row source: emits the rows of one stretch after another.

mod items;
mod kernel;
mod scans;
mod walk;

use super::record::{Context, Item, Row};
use crate::primitive::CountOnes;
use crate::request::{DEST_COUNT, DEST_INDEX};
use drdma_emit::prelude::*;

/// State of the row source.
#[derive(Clone, Copy, Debug, PartialEq, LogicState)]
pub enum RowsState {
    /// Waits for an item.
    Idle,
    /// Contiguous or strided region: the next row follows by number.
    Count,
    /// Bitmapped region: the next row is the next set bit.
    Bits,
    /// Pointer-mapped region: the next row has the next pointer.
    Pointers,
    /// Emits the end that follows the last row.
    Close,
    /// Gives the result of a scan.
    Result,
}

/// Walks stretches for the message packer and emits their rows; scans bitmaps and pointers for the plan.
///
/// A chunk's header ([`HEAD`](super::record::HEAD)) passes as a row without bytes.
///
/// One row a cycle whatever the type of the region, and one 64-bit word of a bitmap without set bits a cycle; 2 cycles
/// more for each item. A scan takes a word of a bitmap or up to 8 pointers a cycle. Answers of reads come in the order
/// of items. After a read that failed, no rows follow until the end of the request, which then carries
/// `local_protection_error`.
///
/// # Inputs
/// `item` stream {`item`, `context`}, `resp` stream {`data`, `last`, `error`}, `row_ready`.
///
/// # Outputs
/// `item_ready`, `resp_ready`; `row` stream {`context`, `row`}; `result_*`, one pulse for each scan.
#[derive(LogicBlock, BlockDefault)]
pub struct Rows {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// An item is offered.
    pub item_valid: Signal<In, Bit>,
    /// The item is taken in this cycle.
    pub item_ready: Signal<Out, Bit>,
    /// The item.
    pub item: Signal<In, Item>,
    /// Context that the rows of the item share.
    pub item_context: Signal<In, Context>,
    /// A beat of 64 bytes that were read is offered.
    pub resp_valid: Signal<In, Bit>,
    /// The beat is taken in this cycle.
    pub resp_ready: Signal<Out, Bit>,
    /// Bytes that were read.
    pub resp_data: Signal<In, Bits<512>>,
    /// The read failed.
    pub resp_error: Signal<In, Bit>,
    /// A row is offered.
    pub row_valid: Signal<Out, Bit>,
    /// The row is taken in this cycle.
    pub row_ready: Signal<In, Bit>,
    /// Context of the row's item.
    pub row_context: Signal<Out, Context>,
    /// The row.
    pub row: Signal<Out, Row>,
    /// The row source waits for an item.
    pub idle: Signal<Out, Bit>,
    /// The request has failed.
    pub has_failed: Signal<Out, Bit>,
    /// A read of the walker or of the column path has failed.
    pub fail: Signal<In, Bit>,
    /// With `fail`: number of the destination in its request.
    pub fail_dest: Signal<In, Bits<DEST_INDEX>>,
    /// A scan has ended.
    pub result_valid: Signal<Out, Bit>,
    /// Set that was scanned.
    pub result_set: Signal<Out, Bits<11>>,
    /// Number of set bits that the scan found.
    pub result_count: Signal<Out, Bits<32>>,
    /// The scan found a pointer out of bounds, or one of its reads failed.
    pub result_bad: Signal<Out, Bit>,

    state: DFF<RowsState>,
    work: DFF<Item>,
    shared: DFF<Context>,
    load: Signal<Local, Bit>,
    /// The request ends with the item.
    ends: Signal<Local, Bit>,
    item_words: Signal<Local, Bits<27>>,
    item_end: Signal<Local, Bits<33>>,
    // Rows that are left, or words of 64 bits; the next row.
    left: DFF<Bits<32>>,
    next: DFF<Bits<32>>,
    lane: DFF<Bits<4>>,
    chunk: DFF<Bit>,
    last_lane: Signal<Local, Bit>,
    last_row: Signal<Local, Bit>,
    // The beat that is being taken apart.
    beat_valid: DFF<Bit>,
    beat_error: DFF<Bit>,
    beat: DFF<Bits<512>>,
    place: DFF<Bits<3>>,
    word: Signal<Local, Bits<64>>,
    take_word: Signal<Local, Bit>,
    take_beat: Signal<Local, Bit>,
    // A bitmap's word: the bits that are left of it, and the bits to leave out of the next word.
    bits: DFF<Bits<64>>,
    base: DFF<Bits<32>>,
    bits_error: DFF<Bit>,
    rest: Signal<Local, Bits<64>>,
    mask_first: DFF<Bits<64>>,
    mask_last: DFF<Bits<64>>,
    masked: Signal<Local, Bits<64>>,
    #[init(Constant::new(u64::MAX.to_bits()))]
    ones: Constant<Bits<64>>,
    // A scan.
    count: DFF<Bits<32>>,
    ones_in_word: CountOnes<64, 7>,
    scanned: DFF<Bits<64>>,
    scanned_valid: DFF<Bit>,
    bad: DFF<Bit>,
    wrong: DFF<Bits<8>>,
    beyond: [Signal<Local, Bit>; 8],
    beyond_all: Signal<Local, Bits<8>>,
    outside: [Signal<Local, Bit>; 8],
    outside_all: Signal<Local, Bits<8>>,
    wait: DFF<Bits<2>>,
    // A read failed: no more rows of this request.
    failed: DFF<Bit>,
    bad_dest: DFF<Bits<DEST_COUNT>>,
    failing: Signal<Local, Bit>,
    // The row that is found, then the row with its number.
    found: Signal<Local, Bit>,
    found_row: Signal<Local, Row>,
    found_bitmap: Signal<Local, Bit>,
    advance: Signal<Local, Bit>,
    out_valid: DFF<Bit>,
    out_context: DFF<Context>,
    out_row: DFF<Row>,
    out_bitmap: DFF<Bit>,
    #[init(std::array::from_fn(|bit| Constant::new(rows_with_bit(bit).to_bits())))]
    numbers: [Constant<Bits<64>>; 6],
    number: Signal<Local, Bits<6>>,
    #[init(Constant::new((drdma_abi::completion::Status::LocalProtectionError as u64).to_bits()))]
    protection: Constant<Bits<8>>,
}

/// The rows of 64 whose numbers have this bit.
fn rows_with_bit(bit: usize) -> u64 {
    (0..64).filter(|k| k >> bit & 1 == 1).fold(0, |mask, k| mask | 1 << k)
}
