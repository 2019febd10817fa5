//! Leaves out rows of long stretches that nobody needs, before windows are cut from them.
//!
//! A window holds rows as they lie in host memory, so that a window of a bitmap with few ones would be mostly empty. A
//! *sparse* chunk is therefore a stretch of any number of rows, and its windows are cut here: blocks of 64 rows go into
//! one window until it is full, and runs of empty blocks between them are left out if no read would go through them.
//! What remains is numbered anew: block `k` of the window was block `shift` + `k` of the stretch, counted from the
//! window's first block.
//!
//! ```text
//! mask -> now ----> places -> mask that is kept
//! header -> measures -^ |-> window
//! ```
//!
//! *Now* emits the needed blocks of a mask one by one. *Places* finds how far each is from the one before and whether
//! the blocks between are left out, and gives it its number, or opens a new window.
//!
//! *Needed* rows are those that are selected, and those that are to be read although they are not.
//!
//! A block with a needed row among its last three is followed by an empty block, if any is left out there: the word
//! that holds its last bytes may hold bytes of the next block.

mod kernel;
mod measures;
mod places;

use crate::primitive::{Fifo, FirstSet, Pack};
use crate::rows::sequencer::record::Context;
use drdma_emit::prelude::*;
use measures::Measures;
use places::BlockPlaces;

/// Bits of the number of a block of 64 rows in its stretch.
pub const BLOCK_BITS: usize = 26;
/// Bits of the number of a block counted from its window's first one.
pub const SPREAD_BITS: usize = 12;

/// Condenser of the column path; see the module.
///
/// **Throughput.** A mask a cycle if it is not of a sparse chunk. Of a sparse chunk, a mask without needed rows a
/// cycle, and each needed block of 64 rows a cycle. Some 10 cycles between stretches.
///
/// **Latency.** A mask leaves 2 cycles after it was taken. In a sparse chunk it leaves when the next block behind it,
/// or the stretch's end, is known, 7 cycles after that was taken. The first mask needs what [`Measures`] finds out
/// about the header.
///
/// **Back-pressure.** May stall at any time.
///
/// # Inputs
/// `mask`: the fields of [`Mask`](super::record::Mask), `fetch` (rows that are to be read, including all of `bits`),
/// `sparse` (the chunk is sparse, and has one turn; `word` is not used) and `context`. `header` stream: one header for
/// each chunk, which is offered until it is used up (see `header_last`); its other fields bypass this block.
/// `merge_threshold`. `window_ready`, `kept_ready`.
///
/// # Outputs
/// `kept` stream: masks as they came or, for sparse chunks, masks of windows, each window a chunk of one turn; `shift`
/// (12 bits for each 64 rows, see the module; 0 elsewhere). `header_ready`: with the header a window is opened
/// (`header_opens`), or it is used up (`header_last`), or both. `window` stream: a window that is opened, its `base`.
/// `idle`: no mask is held.
#[derive(LogicBlock, BlockDefault)]
pub struct Condenser {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Widest gap in bytes that is read through.
    pub merge_threshold: Signal<In, Bits<13>>,
    /// A mask is offered.
    pub mask_valid: Signal<In, Bit>,
    /// The mask is taken in this cycle.
    pub mask_ready: Signal<Out, Bit>,
    /// Rows that are selected, one bit each.
    pub mask_bits: Signal<In, Bits<512>>,
    /// Rows that are needed, one bit each: the selected ones, and others that are to be read.
    pub mask_fetch: Signal<In, Bits<512>>,
    /// Number of the mask in its chunk: bit 0 is the row with offset 512 * `mask_word`.
    pub mask_word: Signal<In, Bits<3>>,
    /// The mask is the first one of its chunk.
    pub mask_chunk_start: Signal<In, Bit>,
    /// The mask is the last one of its turn.
    pub mask_turn_end: Signal<In, Bit>,
    /// The mask is the last one of its chunk.
    pub mask_chunk_end: Signal<In, Bit>,
    /// The mask is the last one of its destination.
    pub mask_last: Signal<In, Bit>,
    /// The mask is of a sparse chunk.
    pub mask_sparse: Signal<In, Bit>,
    /// Context that the rows share.
    pub mask_context: Signal<In, Context>,

    /// A header is offered.
    pub header_valid: Signal<In, Bit>,
    /// Bytes of each lane (16 x 7 bits); 0 if the lane is not used.
    pub header_len: Signal<In, Bits<112>>,
    /// Step of each lane in bytes (16 x 8 bits).
    pub header_step: Signal<In, Bits<128>>,
    /// Rows of a window.
    pub header_rows: Signal<In, Bits<13>>,
    /// The header serves in this cycle: `header_opens`, `header_last`, or both.
    pub header_ready: Signal<Out, Bit>,
    /// With `header_ready`: a window is opened.
    pub header_opens: Signal<Out, Bit>,
    /// With `header_ready`: the header is used up.
    pub header_last: Signal<Out, Bit>,
    /// A window is to be opened with the current header.
    pub window_valid: Signal<Out, Bit>,
    /// The planner opens the window in this cycle.
    pub window_ready: Signal<In, Bit>,
    /// Number of the window's first block in the stretch.
    pub window_base: Signal<Out, Bits<BLOCK_BITS>>,

    /// A mask is offered.
    pub kept_valid: Signal<Out, Bit>,
    /// The mask is taken in this cycle.
    pub kept_ready: Signal<In, Bit>,
    /// Rows that are selected, one bit each.
    pub kept_bits: Signal<Out, Bits<512>>,
    /// Rows that are needed, one bit each.
    pub kept_fetch: Signal<Out, Bits<512>>,
    /// Number of the mask in its window: bit 0 is the row with offset 512 * `kept_word`.
    pub kept_word: Signal<Out, Bits<3>>,
    /// The mask is the first one of its window.
    pub kept_chunk_start: Signal<Out, Bit>,
    /// The mask is the last one of its turn.
    pub kept_turn_end: Signal<Out, Bit>,
    /// The mask is the last one of its window.
    pub kept_chunk_end: Signal<Out, Bit>,
    /// The mask is the last one of its destination.
    pub kept_last: Signal<Out, Bit>,
    /// Context that the rows share.
    pub kept_context: Signal<Out, Context>,
    /// Number of blocks left out of the window before each 64 rows (8 x 12 bits).
    pub kept_shift: Signal<Out, Bits<96>>,
    /// No mask is held.
    pub idle: Signal<Out, Bit>,

    measures: Measures,
    /// Headers that are to be used up before the one of the current chunk.
    ahead: DFF<Bits<4>>,
    used: Signal<Local, Bit>,
    taken: Signal<Local, Bit>,
    windows: Fifo<28, 3, 4>,

    // The current mask, and which of its blocks have needed rows and were not emitted yet.
    now_valid: DFF<Bit>,
    now: DFF<Bits<512>>,
    now_fetch: DFF<Bits<512>>,
    now_some: DFF<Bits<8>>,
    now_word: DFF<Bits<3>>,
    now_start: DFF<Bit>,
    now_turn_end: DFF<Bit>,
    now_end: DFF<Bit>,
    now_last: DFF<Bit>,
    now_sparse: DFF<Bit>,
    now_context: DFF<Context>,
    /// The end of the stretch was emitted.
    closing: DFF<Bit>,
    /// Number of this mask in its stretch.
    number: DFF<Bits<23>>,
    find: FirstSet<8, 3>,
    rest: Signal<Local, Bits<8>>,
    offers: Signal<Local, Bit>,
    gives: Signal<Local, Bit>,
    passes: Signal<Local, Bit>,
    now_done: Signal<Local, Bit>,
    take: Signal<Local, Bit>,

    places: BlockPlaces,
    placed: Signal<Local, Bit>,
    other: Signal<Local, Bit>,

    // The mask that is being filled.
    full: DFF<Bit>,
    bits: [DFF<Bits<64>>; 8],
    fetch: [DFF<Bits<64>>; 8],
    shifts: [DFF<Bits<SPREAD_BITS>>; 8],
    word: DFF<Bits<3>>,
    start: DFF<Bit>,
    turn_end: DFF<Bit>,
    end: DFF<Bit>,
    last: DFF<Bit>,
    sparse: DFF<Bit>,
    context: DFF<Context>,
    /// A window of the stretch was opened.
    opened: DFF<Bit>,
    leaves: Signal<Local, Bit>,
    ends: Signal<Local, Bit>,
    all_bits: Pack<8, 64, 512>,
    all_fetch: Pack<8, 64, 512>,
    all_shifts: Pack<8, SPREAD_BITS, 96>,
}
