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

impl Logic for Condenser {
    #[hdl_gen]
    fn update(&mut self) {
        self.taken.next = self.header_valid.val()
            && self.windows.out_valid.val()
            && self.windows.out_data.val().get_bit(1)
            && (!self.windows.out_data.val().get_bit(0) || self.window_ready.val());
        self.measures.merge_threshold.next = self.merge_threshold.val();
        self.measures.header_valid.next = self.header_valid.val();
        self.measures.header_len.next = self.header_len.val();
        self.measures.header_step.next = self.header_step.val();
        self.measures.header_rows.next = self.header_rows.val();
        self.measures.header_taken.next = self.taken.val();
        self.places.most.next = self.measures.most.val();
        self.places.enough.next = self.measures.enough.val();
        self.places.never.next = self.measures.never.val();

        // A mask of a sparse chunk leaves when the next block belongs to another mask.
        self.other.next = self.places.out_valid.val()
            && (self.places.out_opens.val()
                || (self.places.out_place.val().get_bits::<3>(3) != self.word.q.val()));
        self.kept_valid.next = self.full.q.val()
            && (!self.sparse.q.val()
                || (self.end.q.val() && self.windows.in_ready.val())
                || (!self.end.q.val() && self.other.val()));
        self.leaves.next = self.kept_valid.val() && self.kept_ready.val();
        self.places.out_ready.next = (!self.places.out_opens.val() || self.windows.in_ready.val())
            && (!self.full.q.val()
                || (self.sparse.q.val() && !self.end.q.val() && !self.other.val())
                || self.leaves.val());
        self.placed.next = self.places.out_valid.val() && self.places.out_ready.val();

        // Masks of other chunks pass when no part of a sparse chunk is on its way.
        self.passes.next = self.now_valid.q.val()
            && !self.now_sparse.q.val()
            && (!self.full.q.val() || self.leaves.val())
            && (!self.now_start.q.val() || self.windows.in_ready.val());
        self.find.bits.next = self.now_some.q.val();
        self.rest.next = self.now_some.q.val() & (self.now_some.q.val() - 1);
        self.offers.next = self.now_valid.q.val()
            && self.now_sparse.q.val()
            && !self.closing.q.val()
            && self.measures.known.val()
            && !self.ahead.q.val().any();
        self.gives.next = self.offers.val() && self.places.in_ready.val();
        self.ends.next = self.leaves.val() && self.sparse.q.val() && self.end.q.val();
        self.now_done.next = self.passes.val()
            || self.ends.val()
            || (self.gives.val() && !self.rest.val().any() && !self.now_turn_end.q.val());
        self.mask_ready.next = !self.now_valid.q.val() || self.now_done.val();
        self.take.next = self.mask_valid.val() && self.mask_ready.val();

        // The current mask.
        if self.now_done.val() {
            self.now_valid.d.next = false;
        }
        if self.gives.val() {
            self.now_some.d.next = self.rest.val();
            self.closing.d.next = self.now_turn_end.q.val() && !self.rest.val().any();
        }
        if self.ends.val() {
            self.closing.d.next = false;
        }
        if self.take.val() {
            self.now_valid.d.next = true;
            self.now.d.next = self.mask_bits.val();
            self.now_fetch.d.next = self.mask_fetch.val();
            for k in 0..8 {
                self.now_some.d.next = self
                    .now_some
                    .d
                    .val()
                    .replace_bit(k, self.mask_fetch.val().get_bits::<64>(k * 64).any());
            }
            self.now_word.d.next = self.mask_word.val();
            self.now_start.d.next = self.mask_chunk_start.val();
            self.now_turn_end.d.next = self.mask_turn_end.val();
            self.now_end.d.next = self.mask_chunk_end.val();
            self.now_last.d.next = self.mask_last.val();
            self.now_sparse.d.next = self.mask_sparse.val();
            self.now_context.d.next = self.mask_context.val();
            self.number.d.next = self.number.q.val() + 1;
            if self.mask_chunk_start.val() {
                self.number.d.next = 0.into();
            }
        }

        // Needed blocks are emitted one by one.
        self.places.in_valid.next =
            self.offers.val() && (self.find.any.val() || self.now_turn_end.q.val());
        self.places.in_any.next = self.find.any.val();
        self.places.in_end.next = self.now_turn_end.q.val() && !self.rest.val().any();
        self.places.in_bits.next =
            self.now.q.val().get_bits::<64>(self.find.index.val().index() * 64);
        self.places.in_fetch.next =
            self.now_fetch.q.val().get_bits::<64>(self.find.index.val().index() * 64);
        self.places.in_block.next = (bit_cast::<26, 23>(self.number.q.val()) << 3)
            | bit_cast::<26, 3>(self.find.index.val());

        // Blocks are put into the mask that is being filled.
        if self.leaves.val() {
            self.full.d.next = false;
        }
        if self.placed.val() {
            self.full.d.next = true;
            self.sparse.d.next = true;
            self.word.d.next = self.places.out_place.val().get_bits::<3>(3);
            self.end.d.next = self.places.out_end.val();
            self.last.d.next = self.now_last.q.val();
            self.start.d.next = self.places.out_opens.val();
            if self.full.q.val() && !self.leaves.val() {
                self.start.d.next = self.start.q.val();
            }
            for k in 0..8 {
                if !self.full.q.val() || self.leaves.val() {
                    self.bits[k].d.next = 0.into();
                    self.fetch[k].d.next = 0.into();
                    self.shifts[k].d.next = 0.into();
                }
                if self.places.out_any.val()
                    && (self.places.out_place.val().get_bits::<3>(0) == k.to_bits::<3>())
                {
                    self.bits[k].d.next = self.places.out_bits.val();
                    self.fetch[k].d.next = self.places.out_fetch.val();
                    self.shifts[k].d.next = self.places.out_shift.val();
                }
            }
            if self.places.out_opens.val() {
                self.context.d.next = self.now_context.q.val();
                if self.opened.q.val() {
                    self.context.d.next.first_stretch = false;
                }
                self.opened.d.next = true;
            }
        }
        if self.ends.val() {
            self.opened.d.next = false;
        }
        if self.passes.val() {
            self.full.d.next = true;
            self.sparse.d.next = false;
            self.word.d.next = self.now_word.q.val();
            self.start.d.next = self.now_start.q.val();
            self.turn_end.d.next = self.now_turn_end.q.val();
            self.end.d.next = self.now_end.q.val();
            self.last.d.next = self.now_last.q.val();
            self.context.d.next = self.now_context.q.val();
            for k in 0..8 {
                self.bits[k].d.next = self.now.q.val().get_bits::<64>(k * 64);
                self.fetch[k].d.next = self.now_fetch.q.val().get_bits::<64>(k * 64);
                self.shifts[k].d.next = 0.into();
            }
        }
        for k in 0..8 {
            self.all_bits.parts[k].next = self.bits[k].q.val();
            self.all_fetch.parts[k].next = self.fetch[k].q.val();
            self.all_shifts.parts[k].next = self.shifts[k].q.val();
        }
        self.kept_bits.next = self.all_bits.whole.val();
        self.kept_fetch.next = self.all_fetch.whole.val();
        self.kept_shift.next = self.all_shifts.whole.val();
        self.kept_word.next = self.word.q.val();
        self.kept_chunk_start.next = self.start.q.val();
        self.kept_turn_end.next = self.turn_end.q.val();
        self.kept_chunk_end.next = self.end.q.val();
        self.kept_last.next = self.last.q.val();
        if self.sparse.q.val() {
            self.kept_chunk_end.next =
                self.end.q.val() || (self.places.out_valid.val() && self.places.out_opens.val());
            self.kept_turn_end.next = self.kept_chunk_end.val();
            self.kept_last.next = self.end.q.val() && self.last.q.val();
        }
        self.kept_context.next = self.context.q.val();

        // Windows, and the ends of headers.
        self.windows.in_valid.next = false;
        self.windows.in_data.next = (bit_cast::<28, 26>(self.places.out_block.val()) << 2) | 1;
        self.used.next = false;
        if self.passes.val() && self.now_start.q.val() {
            self.windows.in_valid.next = true;
            self.windows.in_data.next = 3.into();
            self.used.next = true;
        }
        if self.placed.val() && self.places.out_opens.val() {
            self.windows.in_valid.next = true;
        }
        if self.ends.val() {
            self.windows.in_valid.next = true;
            self.windows.in_data.next = 2.into();
            self.used.next = true;
        }
        self.header_opens.next = self.windows.out_data.val().get_bit(0);
        self.header_last.next = self.windows.out_data.val().get_bit(1);
        self.window_base.next = self.windows.out_data.val().get_bits::<26>(2);
        self.window_valid.next =
            self.windows.out_valid.val() && self.header_opens.val() && self.header_valid.val();
        self.header_ready.next =
            self.windows.out_valid.val() && (!self.header_opens.val() || self.window_ready.val());
        self.windows.out_ready.next = self.header_valid.val() && self.header_ready.val();
        if self.used.val() && !self.taken.val() {
            self.ahead.d.next = self.ahead.q.val() + 1;
        }
        if self.taken.val() && !self.used.val() {
            self.ahead.d.next = self.ahead.q.val() - 1;
        }

        self.idle.next = !self.now_valid.q.val() && !self.full.q.val();

        if self.rst.val() {
            self.ahead.d.next = 0.into();
            self.now_valid.d.next = false;
            self.closing.d.next = false;
            self.full.d.next = false;
            self.opened.d.next = false;
        }
    }
}
