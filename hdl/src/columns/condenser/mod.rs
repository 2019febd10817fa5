//! Leaves out, of long stretches, the rows that nobody needs, before windows are cut of them.
//!
//! A window holds rows as they lie in host memory, so that one of a bitmap with few ones would be
//! mostly empty. A *sparse* chunk is therefore a stretch of any number of rows, and its windows are
//! cut here: blocks of 64 rows go into one window until it is full, and runs of empty blocks between
//! them are left out if no read would go through them. What remains is numbered anew: the block with
//! number `k` in the window was `shift` + `k` in the stretch, counted from the window's first block.
//!
//! ```text
//! mask -> now -> found -> gap -> place -> mask that is kept
//!  header -> measures --------^     |-> window
//! ```
//!
//! *Now* gives the needed blocks of a mask one by one; *gap* says how far each is from the one before,
//! and whether what is between is left out; *place* gives it its number, or a new window.
//!
//! *Needed* are rows that are selected, and rows that are to be read although they are not.
//!
//! A block of whose last three rows one is needed is followed by an empty one, if any is left out there:
//! the word that holds its last bytes may hold bytes of the next block.

mod measures;

use crate::primitive::{Fifo, FirstSet, Pack};
use crate::sequencer::record::Context;
use array_init::array_init;
use measures::Measures;
use rust_hdl_core::prelude::*;
use rust_hdl_widgets::prelude::*;

/// Bits of the number of a block of 64 rows in its stretch.
pub const BLOCK_BITS: usize = 26;
/// Bits of the number of a block counted from its window's first one.
pub const SPREAD_BITS: usize = 12;

/// The block; see the module.
///
/// **Throughput.** A mask a cycle that is not of a sparse chunk; of one that is, a mask without
/// needed rows a cycle, and each needed block of 64 rows a cycle. Some 10 cycles between stretches.
///
/// **Latency.** A mask leaves 2 cycles after it was taken; in a sparse chunk it leaves when the next
/// block behind it, or the stretch's end, is known, 7 cycles after that was taken. The first needs what
/// [`Measures`] finds out of the header.
///
/// **Back-pressure.** May stall at any time.
///
/// # Inputs
/// `mask`: the fields of [`Mask`](super::record::Mask), `fetch` (rows that are to be read, among them all
/// of `bits`), `sparse` (of its chunk, which has one turn;
/// `word` is not used) and `context`. `header` stream: a header a chunk, which is offered until it is used
/// up (see `header_last`); its other fields go beside this block. `merge_threshold`. `window_ready`,
/// `kept_ready`.
///
/// # Outputs
/// `kept` stream: masks as they went in, or of sparse chunks those of its windows, each a chunk of one
/// turn; `shift` (12 bits for each 64 rows, see the module; 0 elsewhere). `header_ready`: with the header
/// a window is opened (`header_opens`), or it is used up (`header_last`), or both. `window` stream: a window that
/// is opened, its `base`. `idle`: nothing is at work.
#[derive(LogicBlock)]
pub struct Condenser {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Widest gap in bytes that is read through.
    pub merge_threshold: Signal<In, Bits<13>>,
    /// A mask is offered.
    pub mask_valid: Signal<In, Bit>,
    /// It is taken.
    pub mask_ready: Signal<Out, Bit>,
    /// The rows that are selected.
    pub mask_bits: Signal<In, Bits<512>>,
    /// The rows that are needed: those, and others that are to be read.
    pub mask_fetch: Signal<In, Bits<512>>,
    /// Bit 0 is the row with offset 512 * `mask_word` in its chunk.
    pub mask_word: Signal<In, Bits<3>>,
    /// The first mask of a chunk.
    pub mask_chunk_start: Signal<In, Bit>,
    /// The last mask of a turn.
    pub mask_turn_end: Signal<In, Bit>,
    /// The last mask of a chunk.
    pub mask_chunk_end: Signal<In, Bit>,
    /// The last mask of a destination.
    pub mask_last: Signal<In, Bit>,
    /// Of a sparse chunk.
    pub mask_sparse: Signal<In, Bit>,
    /// What the rows have in common.
    pub mask_context: Signal<In, Context>,

    /// A header is offered to the planner.
    pub header_valid: Signal<In, Bit>,
    /// Bytes of each lane; 0: not used.
    pub header_len: Signal<In, Bits<112>>,
    /// Bytes from row to row of each lane.
    pub header_step: Signal<In, Bits<128>>,
    /// Rows of a window.
    pub header_rows: Signal<In, Bits<13>>,
    /// Something is done with it:
    pub header_ready: Signal<Out, Bit>,
    /// a window is opened,
    pub header_opens: Signal<Out, Bit>,
    /// and it is used up.
    pub header_last: Signal<Out, Bit>,
    /// A window is opened with the header at hand.
    pub window_valid: Signal<Out, Bit>,
    /// It is.
    pub window_ready: Signal<In, Bit>,
    /// Its first block in the stretch.
    pub window_base: Signal<Out, Bits<BLOCK_BITS>>,

    /// A mask is offered.
    pub kept_valid: Signal<Out, Bit>,
    /// It is taken.
    pub kept_ready: Signal<In, Bit>,
    /// The rows that are selected.
    pub kept_bits: Signal<Out, Bits<512>>,
    /// The rows that are needed.
    pub kept_fetch: Signal<Out, Bits<512>>,
    /// Bit 0 is the row with offset 512 * `kept_word` in its window.
    pub kept_word: Signal<Out, Bits<3>>,
    /// The first mask of a window.
    pub kept_chunk_start: Signal<Out, Bit>,
    /// The last mask of a turn.
    pub kept_turn_end: Signal<Out, Bit>,
    /// The last mask of a window.
    pub kept_chunk_end: Signal<Out, Bit>,
    /// The last mask of a destination.
    pub kept_last: Signal<Out, Bit>,
    /// What the rows have in common.
    pub kept_context: Signal<Out, Context>,
    /// How many blocks were left out before each 64 rows in its window.
    pub kept_shift: Signal<Out, Bits<96>>,
    /// Nothing is at work.
    pub idle: Signal<Out, Bit>,

    measures: Measures,
    /// Headers that are to be used up before that of the chunk at hand.
    ahead: DFF<Bits<4>>,
    used: Signal<Local, Bit>,
    taken: Signal<Local, Bit>,
    windows: Fifo<28, 3, 4>,

    // The mask at hand, and which of its blocks have needed rows that were not given yet.
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
    /// The stretch's end was given.
    closing: DFF<Bit>,
    /// 512 rows of the stretch before this mask.
    number: DFF<Bits<23>>,
    find: FirstSet<8, 3>,
    rest: Signal<Local, Bits<8>>,
    gives: Signal<Local, Bit>,
    passes: Signal<Local, Bit>,
    now_done: Signal<Local, Bit>,
    take: Signal<Local, Bit>,

    // A block with needed rows, or the end of the stretch.
    found_valid: DFF<Bit>,
    found_any: DFF<Bit>,
    found_end: DFF<Bit>,
    found_bits: DFF<Bits<64>>,
    found_fetch: DFF<Bits<64>>,
    found_block: DFF<Bits<BLOCK_BITS>>,
    found_free: Signal<Local, Bit>,
    /// The block before it: there is one, its number, one of its last rows is needed.
    before: DFF<Bit>,
    before_block: DFF<Bits<BLOCK_BITS>>,
    before_tail: DFF<Bit>,

    // How many empty blocks lie between.
    far_valid: DFF<Bit>,
    far_any: DFF<Bit>,
    far_end: DFF<Bit>,
    far_bits: DFF<Bits<64>>,
    far_fetch: DFF<Bits<64>>,
    far_block: DFF<Bits<BLOCK_BITS>>,
    far_first: DFF<Bit>,
    far_tail: DFF<Bit>,
    far_empty: DFF<Bits<BLOCK_BITS>>,
    far_free: Signal<Local, Bit>,
    many: Signal<Local, Bit>,
    out: Signal<Local, Bit>,

    // How many places further it goes; 64 and more: to a new window.
    gap_valid: DFF<Bit>,
    gap_any: DFF<Bit>,
    gap_end: DFF<Bit>,
    gap_bits: DFF<Bits<64>>,
    gap_fetch: DFF<Bits<64>>,
    gap_block: DFF<Bits<BLOCK_BITS>>,
    gap_first: DFF<Bit>,
    gap_step: DFF<Bits<7>>,
    gap_free: Signal<Local, Bit>,
    base: DFF<Bits<BLOCK_BITS>>,
    last_place: DFF<Bits<6>>,
    next_place: Signal<Local, Bits<8>>,
    spread: Signal<Local, Bits<BLOCK_BITS>>,
    opens: Signal<Local, Bit>,

    // It has its place in a window.
    place_valid: DFF<Bit>,
    place_any: DFF<Bit>,
    place_end: DFF<Bit>,
    place_opens: DFF<Bit>,
    place_block: DFF<Bits<BLOCK_BITS>>,
    place_bits: DFF<Bits<64>>,
    place_fetch: DFF<Bits<64>>,
    place: DFF<Bits<6>>,
    place_spread: DFF<Bits<SPREAD_BITS>>,
    place_free: Signal<Local, Bit>,
    placed: Signal<Local, Bit>,
    other: Signal<Local, Bit>,
    shift: Signal<Local, Bits<SPREAD_BITS>>,

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

impl Default for Condenser {
    fn default() -> Self {
        Self {
            clk: Signal::default(),
            rst: Signal::default(),
            merge_threshold: Signal::default(),
            mask_valid: Signal::default(),
            mask_ready: Signal::default(),
            mask_bits: Signal::default(),
            mask_fetch: Signal::default(),
            kept_fetch: Signal::default(),
            now_fetch: DFF::default(),
            found_fetch: DFF::default(),
            far_fetch: DFF::default(),
            gap_fetch: DFF::default(),
            place_fetch: DFF::default(),
            fetch: array_init(|_| DFF::default()),
            all_fetch: Pack::default(),
            mask_word: Signal::default(),
            mask_chunk_start: Signal::default(),
            mask_turn_end: Signal::default(),
            mask_chunk_end: Signal::default(),
            mask_last: Signal::default(),
            mask_sparse: Signal::default(),
            mask_context: Signal::default(),
            header_valid: Signal::default(),
            header_len: Signal::default(),
            header_step: Signal::default(),
            header_rows: Signal::default(),
            header_ready: Signal::default(),
            header_opens: Signal::default(),
            header_last: Signal::default(),
            window_valid: Signal::default(),
            window_ready: Signal::default(),
            window_base: Signal::default(),
            kept_valid: Signal::default(),
            kept_ready: Signal::default(),
            kept_bits: Signal::default(),
            kept_word: Signal::default(),
            kept_chunk_start: Signal::default(),
            kept_turn_end: Signal::default(),
            kept_chunk_end: Signal::default(),
            kept_last: Signal::default(),
            kept_context: Signal::default(),
            kept_shift: Signal::default(),
            idle: Signal::default(),
            measures: Measures::default(),
            ahead: DFF::default(),
            used: Signal::default(),
            taken: Signal::default(),
            windows: Fifo::default(),
            now_valid: DFF::default(),
            now: DFF::default(),
            now_some: DFF::default(),
            now_word: DFF::default(),
            now_start: DFF::default(),
            now_turn_end: DFF::default(),
            now_end: DFF::default(),
            now_last: DFF::default(),
            now_sparse: DFF::default(),
            now_context: DFF::default(),
            closing: DFF::default(),
            number: DFF::default(),
            find: FirstSet::default(),
            rest: Signal::default(),
            gives: Signal::default(),
            passes: Signal::default(),
            now_done: Signal::default(),
            take: Signal::default(),
            found_valid: DFF::default(),
            found_any: DFF::default(),
            found_end: DFF::default(),
            found_bits: DFF::default(),
            found_block: DFF::default(),
            found_free: Signal::default(),
            before: DFF::default(),
            before_block: DFF::default(),
            before_tail: DFF::default(),
            far_valid: DFF::default(),
            far_any: DFF::default(),
            far_end: DFF::default(),
            far_bits: DFF::default(),
            far_block: DFF::default(),
            far_first: DFF::default(),
            far_tail: DFF::default(),
            far_empty: DFF::default(),
            far_free: Signal::default(),
            many: Signal::default(),
            out: Signal::default(),
            gap_valid: DFF::default(),
            gap_any: DFF::default(),
            gap_end: DFF::default(),
            gap_bits: DFF::default(),
            gap_block: DFF::default(),
            gap_first: DFF::default(),
            gap_step: DFF::default(),
            gap_free: Signal::default(),
            base: DFF::default(),
            last_place: DFF::default(),
            next_place: Signal::default(),
            spread: Signal::default(),
            opens: Signal::default(),
            place_valid: DFF::default(),
            place_any: DFF::default(),
            place_end: DFF::default(),
            place_opens: DFF::default(),
            place_block: DFF::default(),
            place_bits: DFF::default(),
            place: DFF::default(),
            place_spread: DFF::default(),
            place_free: Signal::default(),
            placed: Signal::default(),
            other: Signal::default(),
            shift: Signal::default(),
            full: DFF::default(),
            bits: array_init(|_| DFF::default()),
            shifts: array_init(|_| DFF::default()),
            word: DFF::default(),
            start: DFF::default(),
            turn_end: DFF::default(),
            end: DFF::default(),
            last: DFF::default(),
            sparse: DFF::default(),
            context: DFF::default(),
            opened: DFF::default(),
            leaves: Signal::default(),
            ends: Signal::default(),
            all_bits: Pack::default(),
            all_shifts: Pack::default(),
        }
    }
}

impl Logic for Condenser {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, ahead, now_valid, now, now_some, now_word, now_start, now_turn_end);
        dff_setup!(self, clk, now_end, now_last, now_sparse, now_context, closing, number);
        dff_setup!(self, clk, found_valid, found_any, found_end, found_bits, found_block);
        dff_setup!(self, clk, before, before_block, before_tail);
        dff_setup!(self, clk, far_valid, far_any, far_end, far_bits, far_block, far_first);
        dff_setup!(self, clk, far_tail, far_empty);
        dff_setup!(self, clk, gap_valid, gap_any, gap_end, gap_bits, gap_block, gap_first);
        dff_setup!(self, clk, gap_step, base, last_place);
        dff_setup!(self, clk, place_valid, place_any, place_end, place_opens, place_bits, place);
        dff_setup!(
            self,
            clk,
            place_block,
            place_spread,
            full,
            word,
            start,
            turn_end,
            end,
            last,
            sparse
        );
        dff_setup!(self, clk, context, opened);
        dff_setup!(self, clk, now_fetch, found_fetch, far_fetch, gap_fetch, place_fetch);
        for k in 0..8 {
            self.bits[k].clock.next = self.clk.val();
            self.bits[k].d.next = self.bits[k].q.val();
            self.fetch[k].clock.next = self.clk.val();
            self.fetch[k].d.next = self.fetch[k].q.val();
            self.shifts[k].clock.next = self.clk.val();
            self.shifts[k].d.next = self.shifts[k].q.val();
        }

        self.taken.next = self.header_valid.val()
            && self.windows.out_valid.val()
            && self.windows.out_data.val().get_bit(1)
            && (!self.windows.out_data.val().get_bit(0) || self.window_ready.val());
        self.measures.clk.next = self.clk.val();
        self.measures.rst.next = self.rst.val();
        self.measures.merge_threshold.next = self.merge_threshold.val();
        self.measures.header_valid.next = self.header_valid.val();
        self.measures.header_len.next = self.header_len.val();
        self.measures.header_step.next = self.header_step.val();
        self.measures.header_rows.next = self.header_rows.val();
        self.measures.header_taken.next = self.taken.val();

        // Its place in the window, or another window.
        self.next_place.next =
            bit_cast::<8, 6>(self.last_place.q.val()) + bit_cast::<8, 7>(self.gap_step.q.val());
        self.spread.next = self.gap_block.q.val() - self.base.q.val();
        self.opens.next = self.gap_valid.q.val()
            && (self.gap_first.q.val()
                || (self.gap_any.q.val()
                    && ((self.next_place.val() >= bit_cast::<8, 7>(self.measures.most.val()))
                        || self.spread.val().get_bits::<14>(12).any())));

        // What moves. A mask of a sparse chunk leaves when the next block belongs to another.
        self.other.next = self.place_valid.q.val()
            && (self.place_opens.q.val()
                || (self.place.q.val().get_bits::<3>(3) != self.word.q.val()));
        self.kept_valid.next = self.full.q.val()
            && (!self.sparse.q.val()
                || (self.end.q.val() && self.windows.in_ready.val())
                || (!self.end.q.val() && self.other.val()));
        self.leaves.next = self.kept_valid.val() && self.kept_ready.val();
        self.placed.next = self.place_valid.q.val()
            && (!self.place_opens.q.val() || self.windows.in_ready.val())
            && (!self.full.q.val()
                || (self.sparse.q.val() && !self.end.q.val() && !self.other.val())
                || self.leaves.val());
        self.place_free.next = !self.place_valid.q.val() || self.placed.val();
        self.gap_free.next = !self.gap_valid.q.val() || self.place_free.val();
        self.far_free.next = !self.far_valid.q.val() || self.gap_free.val();
        self.found_free.next = !self.found_valid.q.val() || self.far_free.val();

        // Whole masks go on when nothing of a sparse chunk is on its way.
        self.passes.next = self.now_valid.q.val()
            && !self.now_sparse.q.val()
            && (!self.full.q.val() || self.leaves.val())
            && (!self.now_start.q.val() || self.windows.in_ready.val());
        self.find.bits.next = self.now_some.q.val();
        self.rest.next = self.now_some.q.val() & (self.now_some.q.val() - 1);
        self.gives.next = self.now_valid.q.val()
            && self.now_sparse.q.val()
            && !self.closing.q.val()
            && self.measures.known.val()
            && !self.ahead.q.val().any()
            && self.found_free.val();
        self.ends.next = self.leaves.val() && self.sparse.q.val() && self.end.q.val();
        self.now_done.next = self.passes.val()
            || self.ends.val()
            || (self.gives.val() && !self.rest.val().any() && !self.now_turn_end.q.val());
        self.mask_ready.next = !self.now_valid.q.val() || self.now_done.val();
        self.take.next = self.mask_valid.val() && self.mask_ready.val();

        // The mask at hand.
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

        // Block by block.
        if self.found_free.val() {
            self.found_valid.d.next =
                self.gives.val() && (self.find.any.val() || self.now_turn_end.q.val());
            self.found_any.d.next = self.find.any.val();
            self.found_end.d.next = self.now_turn_end.q.val() && !self.rest.val().any();
            self.found_bits.d.next =
                self.now.q.val().get_bits::<64>(self.find.index.val().index() * 64);
            self.found_fetch.d.next =
                self.now_fetch.q.val().get_bits::<64>(self.find.index.val().index() * 64);
            self.found_block.d.next = (bit_cast::<26, 23>(self.number.q.val()) << 3)
                | bit_cast::<26, 3>(self.find.index.val());
        }

        // How far from the one before?
        if self.far_free.val() {
            self.far_valid.d.next = self.found_valid.q.val();
            self.far_any.d.next = self.found_any.q.val();
            self.far_end.d.next = self.found_end.q.val();
            self.far_bits.d.next = self.found_bits.q.val();
            self.far_fetch.d.next = self.found_fetch.q.val();
            self.far_block.d.next = self.found_block.q.val();
            self.far_first.d.next = !self.before.q.val();
            self.far_tail.d.next = self.before_tail.q.val();
            self.far_empty.d.next = self.found_block.q.val() + !self.before_block.q.val();
            if self.found_valid.q.val() {
                self.before.d.next = !self.found_end.q.val();
                self.before_block.d.next = self.found_block.q.val();
                self.before_tail.d.next = self.found_fetch.q.val().get_bits::<3>(61).any();
            }
        }

        // Is what is between left out?
        self.many.next = self.far_empty.q.val().get_bits::<20>(6).any();
        self.out.next = !self.measures.never.val()
            && (self.many.val()
                || (bit_cast::<7, 6>(self.far_empty.q.val().get_bits::<6>(0))
                    >= self.measures.enough.val()));
        if self.gap_free.val() {
            self.gap_valid.d.next = self.far_valid.q.val();
            self.gap_any.d.next = self.far_any.q.val();
            self.gap_end.d.next = self.far_end.q.val();
            self.gap_bits.d.next = self.far_bits.q.val();
            self.gap_fetch.d.next = self.far_fetch.q.val();
            self.gap_block.d.next = self.far_block.q.val();
            self.gap_first.d.next = self.far_first.q.val();
            self.gap_step.d.next = bit_cast::<7, 6>(self.far_empty.q.val().get_bits::<6>(0)) + 1;
            if self.many.val() {
                self.gap_step.d.next = 64.into();
            }
            if self.out.val() {
                self.gap_step.d.next = 1.into();
                if self.far_tail.q.val() {
                    self.gap_step.d.next = 2.into();
                }
            }
        }

        // It has its place.
        if self.place_free.val() {
            self.place_valid.d.next = self.gap_valid.q.val();
            self.place_any.d.next = self.gap_any.q.val();
            self.place_end.d.next = self.gap_end.q.val();
            self.place_opens.d.next = self.opens.val();
            self.place_block.d.next = self.gap_block.q.val();
            self.place_bits.d.next = self.gap_bits.q.val();
            self.place_fetch.d.next = self.gap_fetch.q.val();
            self.place.d.next = self.next_place.val().get_bits::<6>(0);
            self.place_spread.d.next = self.spread.val().get_bits::<12>(0);
            if self.opens.val() {
                self.place.d.next = 0.into();
                self.place_spread.d.next = 0.into();
            } else if !self.gap_any.q.val() {
                self.place.d.next = self.last_place.q.val();
            }
        }
        if self.gap_valid.q.val() && self.gap_free.val() {
            self.last_place.d.next = self.next_place.val().get_bits::<6>(0);
            if self.opens.val() {
                self.last_place.d.next = 0.into();
                self.base.d.next = self.gap_block.q.val();
            }
        }

        // Into the mask.
        self.shift.next = self.place_spread.q.val() - bit_cast::<12, 6>(self.place.q.val());
        if self.leaves.val() {
            self.full.d.next = false;
        }
        if self.placed.val() {
            self.full.d.next = true;
            self.sparse.d.next = true;
            self.word.d.next = self.place.q.val().get_bits::<3>(3);
            self.end.d.next = self.place_end.q.val();
            self.last.d.next = self.now_last.q.val();
            self.start.d.next = self.place_opens.q.val();
            if self.full.q.val() && !self.leaves.val() {
                self.start.d.next = self.start.q.val();
            }
            for k in 0..8 {
                if !self.full.q.val() || self.leaves.val() {
                    self.bits[k].d.next = 0.into();
                    self.fetch[k].d.next = 0.into();
                    self.shifts[k].d.next = 0.into();
                }
                if self.place_any.q.val()
                    && (self.place.q.val().get_bits::<3>(0) == k.to_bits::<3>())
                {
                    self.bits[k].d.next = self.place_bits.q.val();
                    self.fetch[k].d.next = self.place_fetch.q.val();
                    self.shifts[k].d.next = self.shift.val();
                }
            }
            if self.place_opens.q.val() {
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
                self.end.q.val() || (self.place_valid.q.val() && self.place_opens.q.val());
            self.kept_turn_end.next = self.kept_chunk_end.val();
            self.kept_last.next = self.end.q.val() && self.last.q.val();
        }
        self.kept_context.next = self.context.q.val();

        // Windows, and the ends of headers.
        self.windows.clk.next = self.clk.val();
        self.windows.rst.next = self.rst.val();
        self.windows.in_valid.next = false;
        self.windows.in_data.next = (bit_cast::<28, 26>(self.place_block.q.val()) << 2) | 1;
        self.used.next = false;
        if self.passes.val() && self.now_start.q.val() {
            self.windows.in_valid.next = true;
            self.windows.in_data.next = 3.into();
            self.used.next = true;
        }
        if self.placed.val() && self.place_opens.q.val() {
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
            self.found_valid.d.next = false;
            self.before.d.next = false;
            self.far_valid.d.next = false;
            self.gap_valid.d.next = false;
            self.place_valid.d.next = false;
            self.full.d.next = false;
            self.opened.d.next = false;
        }
    }
}
