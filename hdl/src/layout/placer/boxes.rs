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
//! Boxes are cut at cache lines, so that no two reads wait for the same line. What lies behind the cut may be so short
//! that a single read would have brought both: a box that is full waits for the next one, and both leave as one if that
//! is not longer than the longest box.

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
    /// Widest gap in bytes that is worth reading through; may change at any time. A window uses the value at the end of
    /// the window before.
    pub worth: Signal<In, Bits<13>>,

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

    widest: Signal<Local, Bits<13>>,
    // Settings in words.
    most: DFF<Bits<11>>,
    gap: DFF<Bits<7>>,
    through: DFF<Bit>,
    reach: Signal<Local, Bits<7>>,
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
    gaps_free: Signal<Local, Bit>,

    ends_valid: DFF<Bit>,
    ends_bits: DFF<Bits<64>>,
    ends_ends: DFF<Bits<64>>,
    ends_entry: DFF<Bits<70>>,
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

    queue: PromptFifo<BOX, 3, 4>,
    /// The queue takes what is on its way to it, and another one.
    vacant: Signal<Local, Bit>,
    fields: Concat<64, 17, 13, TAG, BOX>,
    /// Takes the bits of the settings that are not used, and the upper bits of a length.
    unused: Signal<Local, Bits<11>>,
}

impl Logic for Boxes {
    #[hdl_gen]
    fn update(&mut self) {
        // Settings: at least 16 words a box; gaps above 126 words are never read through.
        self.most.d.next = self.max_read.val().get_bits::<11>(2) & 0x7f0;
        if !self.max_read.val().get_bits::<7>(6).any() {
            self.most.d.next = 16.into();
        }
        self.widest.next = self.merge_threshold.val();
        if self.worth.val() < self.merge_threshold.val() {
            self.widest.next = self.worth.val();
        }
        self.unused.next = (bit_cast::<11, 6>(self.max_read.val().get_bits::<6>(0)) << 5)
            | (bit_cast::<11, 2>(self.widest.val().get_bits::<2>(0)) << 3)
            | bit_cast::<11, 3>(self.held_words.val().get_bits::<3>(11));
        self.through.d.next = self.merge_threshold.val().any();
        // A window of `reach` words is two of 2^`size`, the second `rest` words further.
        self.reach.next = self.gap.q.val() + 1;
        if self.gap.q.val().get_bit(6) {
            self.reach.next = 64.into();
        }
        self.size.d.next = 0.into();
        self.rest.d.next = 0.into();
        if self.reach.val().get_bit(6) {
            self.size.d.next = 6.into();
        } else if self.reach.val().get_bit(5) {
            self.size.d.next = 5.into();
            self.rest.d.next = bit_cast::<6, 5>(self.reach.val().get_bits::<5>(0));
        } else if self.reach.val().get_bit(4) {
            self.size.d.next = 4.into();
            self.rest.d.next = bit_cast::<6, 4>(self.reach.val().get_bits::<4>(0));
        } else if self.reach.val().get_bit(3) {
            self.size.d.next = 3.into();
            self.rest.d.next = bit_cast::<6, 3>(self.reach.val().get_bits::<3>(0));
        } else if self.reach.val().get_bit(2) {
            self.size.d.next = 2.into();
            self.rest.d.next = bit_cast::<6, 2>(self.reach.val().get_bits::<2>(0));
        } else if self.reach.val().get_bit(1) {
            self.size.d.next = 1.into();
            self.rest.d.next = bit_cast::<6, 1>(self.reach.val().get_bits::<1>(0));
        }

        // The list of the window that is being planned, and of the one that is at work here.
        self.list.write_lanes.next = self.list_write.val().into();
        self.list.write_address.next = self.list_index.val();
        self.list.write_data.next = bit_cast::<70, 56>(self.list_block.val())
            | (bit_cast::<70, 13>(self.list_place.val()) << 56)
            | (bit_cast::<70, 1>(self.list_follows.val().into()) << 69);

        // The present run and the open box.
        self.vacant.next = self.queue.free.val() > 3;
        self.near.next = self.open.q.val()
            && self.run_is_first.q.val()
            && self.run_follows.q.val()
            && self.run_block.q.val().get_bits::<4>(0).any()
            && (bit_cast::<8, 6>(self.run_from.q.val()) + 63 < self.slack.q.val());
        self.joins.next =
            self.near.val() && (bit_cast::<11, 6>(self.run_from.q.val()) < self.room.q.val());
        // What a box of its own, and the open box, can take of the run: it is known late whether the run joins.
        self.limit.next =
            bit_cast::<12, 6>(self.run_from.q.val() & 0x30) + bit_cast::<12, 11>(self.most.q.val());
        self.fresh_room.next = self.limit.val() - 64;
        self.fresh_cuts.next = !(bit_cast::<12, 6>(self.run_to.q.val()) < self.limit.val());
        self.joined_cuts.next = !(bit_cast::<11, 6>(self.run_to.q.val()) < self.room.q.val());
        self.below_fresh.from.next = 0.into();
        self.below_fresh.to.next = self.run_to.q.val();
        if self.fresh_cuts.val() {
            self.below_fresh.to.next = self.limit.val().get_bits::<6>(0) - 1;
        }
        self.below_joined.from.next = 0.into();
        self.below_joined.to.next = self.run_to.q.val();
        if self.joined_cuts.val() {
            self.below_joined.to.next = self.room.q.val().get_bits::<6>(0) - 1;
        }
        self.base.next = bits::<11>(0) - bit_cast::<11, 6>(self.run_from.q.val());
        self.cuts.next = self.fresh_cuts.val();
        self.below.next = self.below_fresh.mask.val();
        if self.joins.val() {
            self.base.next = self.before.q.val();
            self.cuts.next = self.joined_cuts.val();
            self.below.next = self.below_joined.mask.val();
        }
        self.other_ends.next = self.run_ends.q.val() & (self.run_ends.q.val() - 1);
        self.last.bits.next = self.cut_bits.q.val();

        self.find_first.bits.next = self.run_bits.q.val();
        self.find_end.bits.next = self.run_ends.q.val();
        self.next_first.bits.next = self.ends_bits.q.val();
        self.next_end.bits.next = self.ends_ends.q.val();
        self.run_free.next = !self.run_valid.q.val();
        self.to_send.next = false;
        match self.state.q.val() {
            RunState::Use => {
                if self.run_valid.q.val()
                    && (self.joins.val() || !self.open.q.val() || self.vacant.val())
                {
                    self.open.d.next = true;
                    self.before.d.next = self.base.val() + 64;
                    self.slack.d.next = bit_cast::<8, 6>(self.run_to.q.val())
                        + bit_cast::<8, 7>(self.gap.q.val())
                        + 1;
                    self.open_words.d.next =
                        self.base.val() + bit_cast::<11, 6>(self.run_to.q.val()) + 1;
                    self.room.d.next = 0.into();
                    if self.joins.val() {
                        if self.room.q.val().get_bits::<5>(6).any() {
                            self.room.d.next = self.room.q.val() - 64;
                        }
                    } else {
                        self.to_send.next = self.open.q.val();
                        self.open_block.d.next = self.run_block.q.val();
                        self.open_from.d.next = self.run_from.q.val();
                        self.open_place.d.next =
                            self.run_place.q.val() + bit_cast::<13, 6>(self.run_from.q.val());
                        if !self.fresh_room.val().get_bit(11) {
                            self.room.d.next = self.fresh_room.val().get_bits::<11>(0);
                        }
                    }
                    self.full.d.next = self.cuts.val();
                    self.run_is_first.d.next = false;
                    self.run_bits.d.next = self.run_bits.q.val() & !self.below.val();
                    if self.cuts.val() {
                        self.state.d.next = RunState::Trim;
                        self.cut_bits.d.next = self.run_bits.q.val() & self.below.val();
                        self.before.d.next = self.base.val();
                        self.room.d.next = 0.into();
                    } else {
                        self.run_ends.d.next = self.other_ends.val();
                        if self.other_ends.val().any() {
                            self.state.d.next = RunState::Find;
                        } else {
                            self.run_valid.d.next = false;
                            self.run_free.next = true;
                        }
                    }
                }
            }
            RunState::Trim => {
                self.trims.d.next = true;
                self.trimmed.d.next = self.last.index.val();
                self.state.d.next = RunState::Find;
            }
            RunState::Find => {
                if self.trims.q.val() {
                    self.open_words.d.next =
                        self.before.q.val() + bit_cast::<11, 6>(self.trimmed.q.val()) + 1;
                    self.trims.d.next = false;
                }
                self.run_from.d.next = self.find_first.index.val();
                self.run_to.d.next = self.find_end.index.val();
                self.state.d.next = RunState::Use;
            }
        }

        // Which stages advance.
        self.ends_free.next = !self.ends_valid.q.val() || self.run_free.val();
        self.gaps_free.next = !self.gaps_valid.q.val() || self.ends_free.val();
        self.words_free.next = !self.words_valid.q.val() || self.gaps_free.val();
        // The first entry is fetched as the window comes.
        self.fetching.next = (self.busy.q.val() && (self.next_entry.q.val() != self.total.q.val()))
            || (!self.busy.q.val() && self.window_valid.val() && self.window_entries.val().any());

        // Fetch.
        self.window_ready.next = !self.busy.q.val();
        if !self.busy.q.val() {
            self.busy.d.next = self.window_valid.val();
            self.number.d.next = self.window.val();
            self.parity.d.next = self.window_parity.val();
            self.total.d.next = self.window_entries.val();
            self.next_entry.d.next = 0.into();
        }
        self.words_entry.next = (bit_cast::<8, 1>(self.parity.q.val().into()) << 7)
            | bit_cast::<8, 7>(self.next_entry.q.val());
        if !self.busy.q.val() {
            self.words_entry.next = bit_cast::<8, 1>(self.window_parity.val().into()) << 7;
        }
        self.list.read_address.next = self.words_entry.val();
        self.list.read_enable.next = self.words_free.val();
        if self.words_free.val() {
            // Entries without words belong to a beat that did not fit.
            self.words_valid.d.next = self.fetching.val() && self.words_any.val();
            self.words_bits.d.next = self.words.val();
            if self.fetching.val() {
                self.next_entry.d.next = self.next_entry.q.val() + 1;
                if !self.busy.q.val() {
                    self.next_entry.d.next = 1.into();
                }
            }
        }

        // Gaps. Bit i of window k: one of the 2^k words behind word i is needed.
        self.window_0.next = self.words_bits.q.val() >> 1;
        self.window_1.next = self.window_0.val() | (self.window_0.val() >> 1);
        self.window_2.next = self.window_1.val() | (self.window_1.val() >> 2);
        self.window_3.next = self.window_2.val() | (self.window_2.val() >> 4);
        self.window_4.next = self.window_3.val() | (self.window_3.val() >> 8);
        self.window_5.next = self.window_4.val() | (self.window_4.val() >> 16);
        self.window_6.next = self.window_5.val() | (self.window_5.val() >> 32);
        for k in 0..4 {
            self.line[k].next = self.words_bits.q.val().get_bits::<16>(k * 16) >> 1;
            self.line[k].next = self.line[k].val() | (self.line[k].val() >> 1);
            self.line[k].next = self.line[k].val() | (self.line[k].val() >> 2);
            self.line[k].next = self.line[k].val() | (self.line[k].val() >> 4);
            self.line[k].next = self.line[k].val() | (self.line[k].val() >> 8);
        }
        if self.gaps_free.val() {
            self.gaps_line.d.next = 0.into();
            if self.through.q.val() {
                self.gaps_line.d.next = bit_cast::<64, 16>(self.line[0].val())
                    | (bit_cast::<64, 16>(self.line[1].val()) << 16)
                    | (bit_cast::<64, 16>(self.line[2].val()) << 32)
                    | (bit_cast::<64, 16>(self.line[3].val()) << 48);
            }
            self.gaps_valid.d.next = self.words_valid.q.val();
            self.gaps_bits.d.next = self.words_bits.q.val();
            self.gaps_entry.d.next = self.list.read_data.val();
            self.gaps_window.d.next = self.window_0.val();
            if self.size.q.val() == 1 {
                self.gaps_window.d.next = self.window_1.val();
            }
            if self.size.q.val() == 2 {
                self.gaps_window.d.next = self.window_2.val();
            }
            if self.size.q.val() == 3 {
                self.gaps_window.d.next = self.window_3.val();
            }
            if self.size.q.val() == 4 {
                self.gaps_window.d.next = self.window_4.val();
            }
            if self.size.q.val() == 5 {
                self.gaps_window.d.next = self.window_5.val();
            }
            if self.size.q.val() == 6 {
                self.gaps_window.d.next = self.window_6.val();
            }
        }

        // Ends of runs.
        if self.ends_free.val() {
            self.ends_valid.d.next = self.gaps_valid.q.val();
            self.ends_bits.d.next = self.gaps_bits.q.val();
            self.ends_entry.d.next = self.gaps_entry.q.val();
            self.ends_ends.d.next = self.gaps_bits.q.val()
                & !(self.gaps_line.q.val()
                    | self.gaps_window.q.val()
                    | (self.gaps_window.q.val() >> self.rest.q.val()));
        }

        // The runs of the next block.
        if self.run_free.val() && self.ends_valid.q.val() {
            self.run_valid.d.next = true;
            self.run_is_first.d.next = true;
            self.run_bits.d.next = self.ends_bits.q.val();
            self.run_ends.d.next = self.ends_ends.q.val();
            self.run_block.d.next = self.ends_entry.q.val().get_bits::<56>(0);
            self.run_place.d.next = self.ends_entry.q.val().get_bits::<13>(56);
            self.run_follows.d.next = self.ends_entry.q.val().get_bit(69);
            self.run_from.d.next = self.next_first.index.val();
            self.run_to.d.next = self.next_end.index.val();
            self.state.d.next = RunState::Use;
        }

        // The end of the window.
        self.finish.next = self.busy.q.val()
            && !self.fetching.val()
            && !self.words_valid.q.val()
            && !self.gaps_valid.q.val()
            && !self.ends_valid.q.val()
            && !self.run_valid.q.val()
            && self.vacant.val();
        self.forget.next = 0.into();
        if self.finish.val() {
            self.busy.d.next = false;
            self.open.d.next = false;
            self.forget.next = 1.into();
            if self.parity.q.val() {
                self.forget.next = 2.into();
            }
        }

        // The gap stays the same for all words of a window.
        if self.finish.val() || (!self.busy.q.val() && !self.window_valid.val()) {
            self.gap.d.next = self.widest.val().get_bits::<7>(2);
            if self.widest.val().get_bits::<4>(9).any() {
                self.gap.d.next = 127.into();
            }
        }

        // Boxes leave.
        self.sent_valid.d.next = self.to_send.val() || self.finish.val();
        self.sent_word.d.next = (bit_cast::<62, 56>(self.open_block.q.val()) << 6)
            | bit_cast::<62, 6>(self.open_from.q.val());
        self.sent_place.d.next = self.open_place.q.val();
        self.sent_to.d.next = bit_cast::<14, 13>(self.open_place.q.val());
        if self.open.q.val() {
            self.sent_to.d.next = bit_cast::<14, 13>(self.open_place.q.val())
                + bit_cast::<14, 11>(self.open_words.q.val());
        }
        self.sent_reach.d.next =
            bit_cast::<14, 13>(self.open_place.q.val()) + bit_cast::<14, 11>(self.most.q.val());
        self.sent_full.d.next = !self.finish.val() && (self.full.q.val() || self.near.val());
        self.sent_tag.d.next = bit_cast::<TAG, WINDOW_INDEX>(self.number.q.val())
            | (bit_cast::<TAG, 1>(self.finish.val().into()) << 4);

        // Neighbours in host memory are neighbours in the window.
        self.lengthens.next = self.held_valid.q.val()
            && self.held_full.q.val()
            && !(self.held_reach.q.val() < self.sent_to.q.val());
        self.queue.in_valid.next = self.held_valid.q.val()
            && (!self.held_full.q.val() || (self.sent_valid.q.val() && !self.lengthens.val()));
        if self.queue.in_valid.val() {
            self.held_valid.d.next = false;
        }
        // A box that need not wait, and finds no other before it, passes.
        self.passes.next =
            self.sent_valid.q.val() && !self.sent_full.q.val() && !self.held_valid.q.val();
        self.last_word.next = self.held_word.q.val();
        self.last_place.next = self.held_place.q.val();
        self.last_to.next = self.held_to.q.val();
        self.last_tag.next = self.held_tag.q.val();
        if self.passes.val() {
            self.queue.in_valid.next = true;
        }
        if !self.held_valid.q.val() {
            self.last_word.next = self.sent_word.q.val();
            self.last_place.next = self.sent_place.q.val();
            self.last_to.next = self.sent_to.q.val();
            self.last_tag.next = self.sent_tag.q.val();
        }
        if self.sent_valid.q.val() && !self.passes.val() {
            self.held_valid.d.next = true;
            self.held_to.d.next = self.sent_to.q.val();
            self.held_full.d.next = self.sent_full.q.val();
            self.held_tag.d.next = self.sent_tag.q.val();
            if !self.lengthens.val() {
                self.held_word.d.next = self.sent_word.q.val();
                self.held_place.d.next = self.sent_place.q.val();
                self.held_reach.d.next = self.sent_reach.q.val();
            }
        }
        self.held_words.next = self.last_to.val() - bit_cast::<14, 13>(self.last_place.val());
        self.fields.a.next = bit_cast::<64, 62>(self.last_word.val()) << 2;
        self.fields.b.next = bit_cast::<17, 13>(self.last_place.val()) << 2;
        self.fields.c.next = bit_cast::<13, 11>(self.held_words.val().get_bits::<11>(0)) << 2;
        self.fields.d.next = self.last_tag.val();
        self.queue.in_data.next = self.fields.whole.val();
        self.queue.out_ready.next = self.reads.ready.val();
        self.reads.valid.next = self.queue.out_valid.val();
        self.reads.addr.next = self.queue.out_data.val().get_bits::<64>(0);
        self.reads.ram.next = self.queue.out_data.val().get_bits::<17>(64);
        self.reads.len.next = self.queue.out_data.val().get_bits::<13>(81);
        self.reads.window.next = self.queue.out_data.val().get_bits::<WINDOW_INDEX>(94);
        self.reads.window_end.next = self.queue.out_data.val().get_bit(98);

        if self.rst.val() {
            self.busy.d.next = false;
            self.words_valid.d.next = false;
            self.gaps_valid.d.next = false;
            self.ends_valid.d.next = false;
            self.run_valid.d.next = false;
            self.open.d.next = false;
            self.trims.d.next = false;
            self.sent_valid.d.next = false;
            self.held_valid.d.next = false;
            self.state.d.next = RunState::Use;
        }
    }
}
