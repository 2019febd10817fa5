//! Gives every piece its address in the window, and collects which words are needed.
//!
//! The words that lanes have collected go to the window's word memory, which has four parts: lanes 0, 4, 8
//! and 12 share the first one, and so on. Each part takes one entry a cycle; the words of all its lanes that wait with
//! the same entry go together. So five columns whose lanes leave their blocks every two rows need two cycles for these
//! rows. The highest lane that waits goes first: columns of variable length, whose blocks change most often, usually
//! stand behind those of fixed width. Words of two entries can wait in each lane. Pieces are not taken while a lane in
//! which both wait is to take another block, or to go back to one; nor is the end of a window while one does. The last
//! placed beat is held back until it is known whether its window ends with it.

use super::lane::Lane;
use super::{BACK, FIELDS, LANES, NUMBERS, PIECES, PLACED, SHAPE, SLOT, SLOTS_AT};
use crate::layout::windows::WINDOW_INDEX;
use crate::primitive::{Concat, EqualPairs, Fifo, Lutram, Pack, Select};
use drdma_emit::prelude::*;

/// Parts of the word memory.
const PARTS: usize = 4;
/// Lanes whose words go to one part of the word memory.
const PART_LANES: usize = LANES / PARTS;

/// Turns pieces with answers into placed beats and needed words; see the module.
#[derive(LogicBlock, BlockDefault)]
pub struct Translator {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// The answer that is offered is taken at the end of this cycle.
    pub step: Signal<Out, Bit>,

    /// Lanes that take the answer, one bit each, as from `Directory`.
    pub answer_lanes: Signal<In, Bits<LANES>>,
    /// Entry of the answer, under the parity of its window, as from `Directory`.
    pub answer_entry: Signal<In, Bits<8>>,
    /// Place of the entry, in words of the window, as from `Directory`.
    pub answer_place: Signal<In, Bits<13>>,
    /// Pieces pass, as from `Directory`.
    pub in_valid: Signal<In, Bit>,
    /// The pieces that pass, as from `Directory`.
    pub in_pieces: Signal<In, Bits<PIECES>>,
    /// The window ends before anything that follows, as from `Directory`.
    pub in_close: Signal<In, Bit>,
    /// With `in_close`: number of the window's entries, as from `Directory`.
    pub in_entries: Signal<In, Bits<7>>,

    /// A window is opened, at least two cycles before its first pieces.
    pub opened: Signal<In, Bit>,
    /// With `opened`: number of the window.
    pub opened_number: Signal<In, Bits<WINDOW_INDEX>>,

    /// A placed beat is emitted; no back-pressure.
    pub placed_valid: Signal<Out, Bit>,
    /// The placed beat, from the lowest bit: addresses in the window, lengths, positions, fields, window, end of beat,
    /// end of window.
    pub placed: Signal<Out, Bits<PLACED>>,

    /// The needed words of a closed window are complete.
    pub window_valid: Signal<Out, Bit>,
    /// The closed window is taken in this cycle.
    pub window_ready: Signal<In, Bit>,
    /// Number of the closed window.
    pub window: Signal<Out, Bits<WINDOW_INDEX>>,
    /// Parity of the closed window: windows that are planned one after another differ in it.
    pub window_parity: Signal<Out, Bit>,
    /// Number of the closed window's entries.
    pub window_entries: Signal<Out, Bits<7>>,
    /// Entry whose words are read, under the parity of its window.
    pub words_entry: Signal<In, Bits<8>>,
    /// Needed words of `words_entry`, one bit each; valid with `words_any`.
    pub words: Signal<Out, Bits<64>>,
    /// A word of `words_entry` is needed.
    pub words_any: Signal<Out, Bit>,
    /// Bit `p`: words of windows of parity `p` are not needed any more.
    pub forget: Signal<In, Bits<2>>,

    lanes: [Lane; LANES],
    /// Lanes in which words of two entries wait.
    full: Pack<LANES, 1, LANES>,
    close: Signal<Local, Bit>,
    stalled: Signal<Local, Bit>,
    go: Signal<Local, Bit>,

    /// Lanes that go back to a block, one bit each.
    back: Signal<Local, Bits<LANES>>,

    // For each part: its lanes that wait, and the entry to flush.
    quarters: [Pack<PART_LANES, 1, PART_LANES>; PARTS],
    pick_entry: [Select<PART_LANES, 8>; PARTS],
    pick_equal: [Select<PART_LANES, PART_LANES>; PARTS],
    alike: [EqualPairs<PART_LANES, 8>; PARTS],
    /// Lanes that wait, or whose next higher lane of the part waits.
    some_above: [Signal<Local, Bits<PART_LANES>>; PARTS],
    last: [Signal<Local, Bits<PART_LANES>>; PARTS],
    flush: [DFF<Bit>; PARTS],
    flush_entry: [DFF<Bits<8>>; PARTS],
    flush_lanes: [DFF<Bits<PART_LANES>>; PARTS],
    pick_words: [Select<PART_LANES, 64>; PARTS],
    merge: [DFF<Bit>; PARTS],
    merge_entry: [DFF<Bits<8>>; PARTS],
    merge_words: [DFF<Bits<64>>; PARTS],
    words_ram: [Lutram<64, 8, 2>; PARTS],
    /// Entries that have words, for each part, of windows of parity 0 and 1.
    some_even: [DFF<Bits<128>>; PARTS],
    some_odd: [DFF<Bits<128>>; PARTS],
    had: [Signal<Local, Bit>; PARTS],
    merges: [Signal<Local, Bit>; PARTS],
    /// The part has words of `words_entry`.
    has_words: [Signal<Local, Bit>; PARTS],
    words_of: [Signal<Local, Bits<64>>; PARTS],

    // The closed window that waits to be complete.
    ended: DFF<Bit>,
    ended_window: DFF<Bits<WINDOW_INDEX>>,
    ended_parity: DFF<Bit>,
    ended_entries: DFF<Bits<7>>,
    draining: Pack<LANES, 1, LANES>,
    /// Parts with words of the closed window between a lane and the memory.
    flushing: Pack<PARTS, 1, PARTS>,
    /// Numbers of the windows that were opened and not closed here.
    windows: Fifo<WINDOW_INDEX, 2, 3>,
    parity: DFF<Bit>,

    rams: Pack<LANES, 15, 240>,
    held: DFF<Bit>,
    held_ram: DFF<Bits<240>>,
    held_len: DFF<Bits<112>>,
    held_pos: DFF<Bits<96>>,
    held_fields: DFF<Bits<FIELDS>>,
    held_end: DFF<Bit>,
    numbers: Concat<240, 112, 96, FIELDS, NUMBERS>,
    joined: Concat<NUMBERS, WINDOW_INDEX, 1, 1, PLACED>,
}

impl Translator {
    /// A lane that is full cannot take another block, nor can the window close.
    #[hdl_gen]
    fn advance(&mut self) {
        for i in 0..16 {
            self.full.parts[i].next = self.lanes[i].full.val().into();
        }
        self.back.next = 0.into();
        if self.in_valid.val() {
            self.back.next = self.in_pieces.val().get_bits::<LANES>(BACK);
        }
        self.stalled.next = ((self.answer_lanes.val() | self.back.val()) & self.full.whole.val())
            .any()
            || (self.in_close.val() && (self.full.whole.val().any() || self.ended.q.val()));
        self.go.next = !self.stalled.val();
        self.step.next = self.go.val();
        self.close.next = self.in_close.val() && self.go.val();
    }

    /// Gives the beat and the answer to the lanes.
    #[hdl_gen]
    fn tell_lanes(&mut self) {
        for i in 0..16 {
            self.lanes[i].step.next = self.go.val();
            self.lanes[i].slot.next = self.in_pieces.val().get_bits::<SLOT>(i * 3 + SLOTS_AT);
            self.lanes[i].back.next = self.back.val().get_bit(i);
            self.lanes[i].load.next = self.answer_lanes.val().get_bit(i);
            self.lanes[i].entry.next = self.answer_entry.val();
            self.lanes[i].place.next = self.answer_place.val();
            self.lanes[i].piece.next =
                self.in_valid.val() && self.in_pieces.val().get_bit(i + SHAPE);
            self.lanes[i].offset.next = self.in_pieces.val().get_bits::<8>(i * 8);
            self.lanes[i].len.next = self.in_pieces.val().get_bits::<7>(i * 7 + 128);
            self.lanes[i].close.next = self.in_close.val();
            self.rams.parts[i].next = self.lanes[i].ram.val();
            // Words that wait behind others in a lane belong to the window of those, or to a later one.
            self.draining.parts[i].next = (self.lanes[i].waiting.val()
                && (self.lanes[i].waiting_entry.val().get_bit(7) == self.ended_parity.q.val()))
            .into();
        }
    }

    /// Finds the last lane of each part that waits.
    #[hdl_gen]
    fn find_last(&mut self) {
        for h in 0..PARTS {
            for k in 0..PART_LANES {
                self.quarters[h].parts[k].next = self.lanes[k * PARTS + h].waiting.val().into();
            }
            self.some_above[h].next =
                self.quarters[h].whole.val() | (self.quarters[h].whole.val() >> 1);
            self.last[h].next = self.quarters[h].whole.val()
                & !((self.some_above[h].val() | (self.some_above[h].val() >> 2)) >> 1);
        }
    }

    /// Flush: the entry of the last waiting lane of each part, for all lanes of the part that wait with it.
    #[hdl_gen]
    fn flush(&mut self) {
        for h in 0..PARTS {
            for k in 0..PART_LANES {
                self.alike[h].values[k].next = self.lanes[k * PARTS + h].waiting_entry.val();
            }
            self.pick_entry[h].choice.next = self.last[h].val();
            self.pick_equal[h].choice.next = self.last[h].val();
            self.pick_words[h].choice.next = self.flush_lanes[h].q.val();
            for k in 0..PART_LANES {
                self.pick_equal[h].values[k].next = self.alike[h].equal[k].val();
                self.pick_entry[h].values[k].next = self.lanes[k * PARTS + h].waiting_entry.val();
                self.pick_words[h].values[k].next = self.lanes[k * PARTS + h].waited_words.val();
            }
            for k in 0..PART_LANES {
                self.lanes[k * PARTS + h].taken.next = self.pick_equal[h].value.val().get_bit(k);
            }
            self.flush[h].d.next = self.quarters[h].whole.val().any();
            self.flush_entry[h].d.next = self.pick_entry[h].value.val();
            self.flush_lanes[h].d.next =
                self.quarters[h].whole.val() & self.pick_equal[h].value.val();
            self.merge[h].d.next = self.flush[h].q.val();
            self.merge_entry[h].d.next = self.flush_entry[h].q.val();
            self.merge_words[h].d.next = self.pick_words[h].value.val();
        }
    }

    /// The words are merged with those that the entry has.
    #[hdl_gen]
    fn merge_words(&mut self) {
        for h in 0..PARTS {
            self.words_ram[h].write_enable.next = self.merge[h].q.val();
            self.words_ram[h].write_address.next = self.merge_entry[h].q.val();
            self.words_ram[h].read_address[0].next = self.merge_entry[h].q.val();
            self.words_ram[h].read_address[1].next = self.words_entry.val();
            self.had[h].next = self.some_even[h]
                .q
                .val()
                .get_bit(self.merge_entry[h].q.val().get_bits::<7>(0).index());
            self.has_words[h].next =
                self.some_even[h].q.val().get_bit(self.words_entry.val().get_bits::<7>(0).index());
            if self.merge_entry[h].q.val().get_bit(7) {
                self.had[h].next = self.some_odd[h]
                    .q
                    .val()
                    .get_bit(self.merge_entry[h].q.val().get_bits::<7>(0).index());
            }
            if self.words_entry.val().get_bit(7) {
                self.has_words[h].next = self.some_odd[h]
                    .q
                    .val()
                    .get_bit(self.words_entry.val().get_bits::<7>(0).index());
            }
            self.words_ram[h].write_data.next = self.merge_words[h].q.val();
            if self.had[h].val() {
                self.words_ram[h].write_data.next =
                    self.merge_words[h].q.val() | self.words_ram[h].read_data[0].val();
            }
            // Words that are merged in this cycle can be read already.
            self.merges[h].next =
                self.merge[h].q.val() && (self.merge_entry[h].q.val() == self.words_entry.val());
            self.words_of[h].next = 0.into();
            if self.merges[h].val() {
                self.words_of[h].next = self.words_ram[h].write_data.val();
            } else if self.has_words[h].val() {
                self.words_of[h].next = self.words_ram[h].read_data[1].val();
            }
            if self.merge[h].q.val() && self.merge_entry[h].q.val().get_bit(7) {
                self.some_odd[h].d.next = self.some_odd[h]
                    .q
                    .val()
                    .replace_bit(self.merge_entry[h].q.val().get_bits::<7>(0).index(), true);
            } else if self.merge[h].q.val() {
                self.some_even[h].d.next = self.some_even[h]
                    .q
                    .val()
                    .replace_bit(self.merge_entry[h].q.val().get_bits::<7>(0).index(), true);
            }
            if self.forget.val().get_bit(0) || self.rst.val() {
                self.some_even[h].d.next = 0.into();
            }
            if self.forget.val().get_bit(1) || self.rst.val() {
                self.some_odd[h].d.next = 0.into();
            }
        }
        self.words.next = (self.words_of[0].val() | self.words_of[1].val())
            | (self.words_of[2].val() | self.words_of[3].val());
        self.words_any.next = false;
        for h in 0..PARTS {
            if self.merges[h].val() || self.has_words[h].val() {
                self.words_any.next = true;
            }
        }
    }

    /// A closed window is complete when none of its words is on the way. Words that are merged in this cycle can be
    /// read.
    #[hdl_gen]
    fn end_window(&mut self) {
        for h in 0..PARTS {
            self.flushing.parts[h].next = (self.flush[h].q.val()
                && (self.flush_entry[h].q.val().get_bit(7) == self.ended_parity.q.val()))
            .into();
        }
        self.window_valid.next = self.ended.q.val()
            && !self.draining.whole.val().any()
            && !self.flushing.whole.val().any();
        self.window.next = self.ended_window.q.val();
        self.window_parity.next = self.ended_parity.q.val();
        self.window_entries.next = self.ended_entries.q.val();
        if self.window_valid.val() && self.window_ready.val() {
            self.ended.d.next = false;
        }
        if self.close.val() {
            self.ended.d.next = true;
            self.ended_window.d.next = self.windows.out_data.val();
            self.ended_parity.d.next = self.parity.q.val();
            self.ended_entries.d.next = self.in_entries.val();
            self.parity.d.next = !self.parity.q.val();
        }
        self.windows.in_valid.next = self.opened.val();
        self.windows.in_data.next = self.opened_number.val();
        self.windows.out_ready.next = self.close.val();
    }

    /// The held beat leaves with the next one, or with the end of its window.
    #[hdl_gen]
    fn give_beat(&mut self) {
        self.numbers.a.next = self.held_ram.q.val();
        self.numbers.b.next = self.held_len.q.val();
        self.numbers.c.next = self.held_pos.q.val();
        self.numbers.d.next = self.held_fields.q.val();
        self.joined.a.next = self.numbers.whole.val();
        self.joined.b.next = self.windows.out_data.val();
        self.joined.c.next = self.held_end.q.val().into();
        self.joined.d.next = self.close.val().into();
        self.placed.next = self.joined.whole.val();
        self.placed_valid.next =
            self.held.q.val() && self.go.val() && (self.in_valid.val() || self.in_close.val());
        if self.close.val() {
            self.held.d.next = false;
        }
        if self.in_valid.val() && self.go.val() {
            self.held.d.next = true;
            self.held_ram.d.next = self.rams.whole.val();
            self.held_len.d.next = self.in_pieces.val().get_bits::<112>(128);
            self.held_pos.d.next = self.in_pieces.val().get_bits::<96>(240);
            self.held_fields.d.next = self.in_pieces.val().get_bits::<FIELDS>(336);
            self.held_end.d.next = self.in_pieces.val().get_bit(SHAPE + LANES);
        }
    }
}

impl Logic for Translator {
    #[hdl_gen]
    fn update(&mut self) {
        self.advance();
        self.tell_lanes();
        self.find_last();
        self.flush();
        self.merge_words();
        self.end_window();
        self.give_beat();

        if self.rst.val() {
            for h in 0..PARTS {
                self.flush[h].d.next = false;
                self.merge[h].d.next = false;
            }
            self.ended.d.next = false;
            self.parity.d.next = false;
            self.held.d.next = false;
        }
    }
}
