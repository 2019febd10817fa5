//! Turns the needed words of a closed window into boxes, for the reader.
//!
//! ```text
//! fetch -> words -> gaps -> ends -> first, end -> runs -> boxes
//! ```
//!
//! A *run* is a stretch of words of one block without a gap above the threshold. It ends with a needed word behind
//! which a window of threshold + 1 words is empty; windows of any length are made of two overlapping ones of 2^k words.
//! *Runs* takes one run a cycle, a further run of the same block 2 cycles later, and 3 more cycles where a box reaches
//! its greatest length inside a run. It lengthens the open box, or sends it and opens the next. A box that is cut ends
//! with its last needed word, and the next one starts with a needed word.
//!
//! Each block has a threshold of its own: [`Worth`] finds how wide a gap is worth reading through, from the lengths of
//! the boxes that have left. So where all gaps are equally wide, as many of them are read through as the host's limits
//! ask for.
//!
//! Boxes are cut at cache lines, so that no two reads wait for the same line. What lies behind the cut may be so short
//! that a single read would have brought both: a box that is full waits for the next one, and both leave as one if that
//! is not longer than the longest box.

mod kernel;
mod merging;
mod runs;
mod worth;

pub use worth::Worth;

use crate::layout::windows::{ReadBox, WINDOW_INDEX};
use crate::primitive::{BitRange, Concat, FirstSet, LastSet, PromptFifo, Ram};
use drdma_emit::prelude::*;

/// Bits of a window and its end.
const TAG: usize = WINDOW_INDEX + 1;
/// Bits of a box: address, place, bytes, window and its end.
const BOX: usize = 64 + 17 + 13 + TAG;

/// State of *runs*.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum RunState {
    /// The next run of the block is known.
    Use,
    /// The next run is being found.
    Find,
    /// The last word of a cut box is being found.
    Trim,
}

/// Turns closed windows into boxes; see the module.
#[derive(LogicBlock, Default)]
pub struct Boxes {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Longest box in bytes, rounded down to whole cache lines.
    pub max_read: Signal<In, Bits<13>>,
    /// Widest gap in bytes that is read through; unless it is 0, gaps within a cache line are read through as well.
    pub merge_threshold: Signal<In, Bits<13>>,
    /// Bytes that reads should have on average; 0: any.
    pub mean: Signal<In, Bits<9>>,
    /// The settings are a request's own: all gaps up to `merge_threshold` are read through.
    pub planned: Signal<In, Bit>,

    /// A new entry of the directory is listed; its fields are as from `Directory`.
    pub list_write: Signal<In, Bit>,
    /// Number of the new entry, under the parity of its window.
    pub list_index: Signal<In, Bits<8>>,
    /// Block of the new entry.
    pub list_block: Signal<In, Bits<56>>,
    /// Place of the new entry, in words of the window.
    pub list_place: Signal<In, Bits<13>>,
    /// The new entry is the successor of the one before.
    pub list_follows: Signal<In, Bit>,

    /// A closed window is offered.
    pub window_valid: Signal<In, Bit>,
    /// The window is taken in this cycle.
    pub window_ready: Signal<Out, Bit>,
    /// Number of the window.
    pub window: Signal<In, Bits<WINDOW_INDEX>>,
    /// Parity of the window, under which its words and its list are kept.
    pub window_parity: Signal<In, Bit>,
    /// Number of the window's entries.
    pub window_entries: Signal<In, Bits<7>>,
    /// Entry whose words are read, under the parity of its window.
    pub words_entry: Signal<Out, Bits<8>>,
    /// Needed words of `words_entry`, one bit each, as from `Translator`.
    pub words: Signal<In, Bits<64>>,
    /// A word of `words_entry` is needed, as from `Translator`.
    pub words_any: Signal<In, Bit>,
    /// Bit `p`: the window of parity `p` is done, and its list and words may be overwritten.
    pub forget: Signal<Out, Bits<2>>,

    /// Boxes for the reader.
    pub reads: Stream<Out, ReadBox>,

    worth: Worth,
    // Settings in words.
    most: DFF<Bits<11>>,
    gap: DFF<Bits<7>>,
    through: DFF<Bit>,
    reach: Signal<Local, Bits<7>>,
    /// The gap for which `size` and `rest` are.
    sized_gap: DFF<Bits<7>>,
    size: DFF<Bits<3>>,
    rest: DFF<Bits<6>>,

    list: Ram<70, 1, 8>,
    busy: DFF<Bit>,
    number: DFF<Bits<WINDOW_INDEX>>,
    parity: DFF<Bit>,
    total: DFF<Bits<7>>,

    next_entry: DFF<Bits<7>>,
    fetching: Signal<Local, Bit>,

    words_valid: DFF<Bit>,
    words_bits: DFF<Bits<64>>,
    words_gap: DFF<Bits<7>>,
    words_size: DFF<Bits<3>>,
    words_rest: DFF<Bits<6>>,
    words_free: Signal<Local, Bit>,

    window_0: Signal<Local, Bits<64>>,
    window_1: Signal<Local, Bits<64>>,
    window_2: Signal<Local, Bits<64>>,
    window_3: Signal<Local, Bits<64>>,
    window_4: Signal<Local, Bits<64>>,
    window_5: Signal<Local, Bits<64>>,
    window_6: Signal<Local, Bits<64>>,
    gaps_valid: DFF<Bit>,
    gaps_bits: DFF<Bits<64>>,
    gaps_window: DFF<Bits<64>>,
    /// Bit `i`: a word behind word `i` is needed in the same cache line.
    gaps_line: DFF<Bits<64>>,
    line: [Signal<Local, Bits<16>>; 4],
    gaps_entry: DFF<Bits<70>>,
    gaps_gap: DFF<Bits<7>>,
    gaps_rest: DFF<Bits<6>>,
    gaps_free: Signal<Local, Bit>,

    ends_valid: DFF<Bit>,
    ends_bits: DFF<Bits<64>>,
    ends_ends: DFF<Bits<64>>,
    ends_entry: DFF<Bits<70>>,
    ends_gap: DFF<Bits<7>>,
    ends_free: Signal<Local, Bit>,

    // The runs of one block.
    find_first: FirstSet<64, 6>,
    find_end: FirstSet<64, 6>,
    // The first run of the next block.
    next_first: FirstSet<64, 6>,
    next_end: FirstSet<64, 6>,
    state: DFF<RunState>,
    run_valid: DFF<Bit>,
    run_bits: DFF<Bits<64>>,
    run_ends: DFF<Bits<64>>,
    run_from: DFF<Bits<6>>,
    run_to: DFF<Bits<6>>,
    run_block: DFF<Bits<56>>,
    run_place: DFF<Bits<13>>,
    run_follows: DFF<Bit>,
    run_gap: DFF<Bits<7>>,
    run_is_first: DFF<Bit>,
    run_free: Signal<Local, Bit>,
    other_ends: Signal<Local, Bits<64>>,
    below_fresh: BitRange<64, 6>,
    below_joined: BitRange<64, 6>,
    below: Signal<Local, Bits<64>>,
    last: LastSet<64, 6>,
    cut_bits: DFF<Bits<64>>,
    // The last word that was left of the open box, whose words are not counted yet.
    trimmed: DFF<Bits<6>>,
    trims: DFF<Bit>,

    // The open box.
    open: DFF<Bit>,
    open_block: DFF<Bits<56>>,
    open_from: DFF<Bits<6>>,
    open_place: DFF<Bits<13>>,
    open_words: DFF<Bits<11>>,
    /// Words from the box's start to the start of the present block, or of the next one.
    before: DFF<Bits<11>>,
    /// Words that the box can still take from the start of the next block.
    room: DFF<Bits<11>>,
    /// Last word of the box, plus the gap that may follow it.
    slack: DFF<Bits<8>>,
    joins: Signal<Local, Bit>,
    limit: Signal<Local, Bits<12>>,
    fresh_cuts: Signal<Local, Bit>,
    joined_cuts: Signal<Local, Bit>,
    cuts: Signal<Local, Bit>,
    near: Signal<Local, Bit>,
    /// The box was cut within the run.
    full: DFF<Bit>,
    base: Signal<Local, Bits<11>>,
    to_send: Signal<Local, Bit>,
    fresh_room: Signal<Local, Bits<12>>,
    finish: Signal<Local, Bit>,

    // A box on its way: first word, places of the first word and of the end, up to where it may be lengthened, whether
    // the next one continues it, window and its end.
    sent_valid: DFF<Bit>,
    sent_word: DFF<Bits<62>>,
    sent_place: DFF<Bits<13>>,
    sent_to: DFF<Bits<14>>,
    sent_reach: DFF<Bits<14>>,
    sent_full: DFF<Bit>,
    sent_tag: DFF<Bits<TAG>>,
    // The box before, until it is known whether the next one lengthens it.
    held_valid: DFF<Bit>,
    held_word: DFF<Bits<62>>,
    held_place: DFF<Bits<13>>,
    held_to: DFF<Bits<14>>,
    held_reach: DFF<Bits<14>>,
    held_full: DFF<Bit>,
    held_tag: DFF<Bits<TAG>>,
    lengthens: Signal<Local, Bit>,
    held_words: Signal<Local, Bits<14>>,

    passes: Signal<Local, Bit>,
    last_word: Signal<Local, Bits<62>>,
    last_place: Signal<Local, Bits<13>>,
    last_to: Signal<Local, Bits<14>>,
    last_tag: Signal<Local, Bits<TAG>>,

    /// Boxes of a whole window, so that the window after the next may be planned while the host serves them.
    queue: PromptFifo<BOX, 7, 8>,
    /// The queue has room for the boxes that are on their way to it, and for another one.
    vacant: Signal<Local, Bit>,
    fields: Concat<64, 17, 13, TAG, BOX>,
    /// Takes the bits of the settings that are not used, and the upper bits of a length.
    unused: Signal<Local, Bits<11>>,
}
