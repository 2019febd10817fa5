//! Gives every piece its address in the window, and collects which words are needed.
//!
//! The words that lanes have collected go to the window's word memory, one entry a cycle; the words of all lanes that
//! wait with the same entry go together. Pieces are not taken while a lane that still waits is to take another block.
//! The last placed beat is held back until it is known whether its window ends with it.

use super::lane::Lane;
use super::{FIELDS, LANES, NUMBERS, PIECES, PLACED, SHAPE};
use crate::layout::windows::WINDOW_INDEX;
use crate::primitive::{Concat, EqualPairs, Fifo, Lutram, Pack, Select};
use drdma_emit::prelude::*;

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
    waiting: Pack<LANES, 1, LANES>,
    close: Signal<Local, Bit>,
    stalled: Signal<Local, Bit>,
    go: Signal<Local, Bit>,

    // The entry to flush.
    pick_entry: Select<LANES, 8>,
    pick_equal: Select<LANES, LANES>,
    equal: EqualPairs<LANES, 8>,
    shares: Signal<Local, Bits<LANES>>,
    // Lanes that wait, or above one that waits within 1, 3, 7 lanes.
    some_below: Signal<Local, Bits<LANES>>,
    more_below: Signal<Local, Bits<LANES>>,
    most_below: Signal<Local, Bits<LANES>>,
    first: Signal<Local, Bits<LANES>>,
    flush: DFF<Bit>,
    flush_entry: DFF<Bits<8>>,
    flush_lanes: DFF<Bits<LANES>>,
    pick_words: Select<LANES, 64>,
    merge: DFF<Bit>,
    merge_entry: DFF<Bits<8>>,
    merge_words: DFF<Bits<64>>,
    words_ram: Lutram<64, 8, 2>,
    /// Entries that have words, for each of the two parities.
    some: [DFF<Bits<128>>; 2],
    had: Signal<Local, Bit>,
    merges: Signal<Local, Bit>,

    // The closed window that waits to be complete.
    ended: DFF<Bit>,
    ended_window: DFF<Bits<WINDOW_INDEX>>,
    ended_parity: DFF<Bit>,
    ended_entries: DFF<Bits<7>>,
    draining: Pack<LANES, 1, LANES>,
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

impl Logic for Translator {
    #[hdl_gen]
    fn update(&mut self) {
        // A lane that waits cannot take another block, nor can the window close.
        self.stalled.next = (self.answer_lanes.val() & self.waiting.whole.val()).any()
            || (self.in_close.val() && (self.waiting.whole.val().any() || self.ended.q.val()));
        self.go.next = !self.stalled.val();
        self.step.next = self.go.val();
        self.close.next = self.in_close.val() && self.go.val();

        self.some_below.next = self.waiting.whole.val() | (self.waiting.whole.val() << 1);
        self.more_below.next = self.some_below.val() | (self.some_below.val() << 2);
        self.most_below.next = self.more_below.val() | (self.more_below.val() << 4);
        self.first.next = self.waiting.whole.val()
            & !((self.most_below.val() | (self.most_below.val() << 8)) << 1);
        for i in 0..16 {
            self.lanes[i].step.next = self.go.val();
            self.lanes[i].load.next = self.answer_lanes.val().get_bit(i);
            self.lanes[i].entry.next = self.answer_entry.val();
            self.lanes[i].place.next = self.answer_place.val();
            self.lanes[i].piece.next =
                self.in_valid.val() && self.in_pieces.val().get_bit(i + SHAPE);
            self.lanes[i].offset.next = self.in_pieces.val().get_bits::<8>(i * 8);
            self.lanes[i].len.next = self.in_pieces.val().get_bits::<7>(i * 7 + 128);
            self.lanes[i].close.next = self.in_close.val();
            self.waiting.parts[i].next = self.lanes[i].waiting.val().into();
            self.rams.parts[i].next = self.lanes[i].ram.val();
        }

        // Flush: the entry of the first waiting lane, for all lanes that wait with it.
        self.pick_entry.choice.next = self.first.val();
        self.pick_equal.choice.next = self.first.val();
        self.pick_words.choice.next = self.flush_lanes.q.val();
        for i in 0..16 {
            self.equal.values[i].next = self.lanes[i].waiting_entry.val();
        }
        for i in 0..16 {
            self.pick_equal.values[i].next = self.equal.equal[i].val();
            self.pick_entry.values[i].next = self.lanes[i].waiting_entry.val();
            self.pick_words.values[i].next = self.lanes[i].waiting_words.val();
            self.draining.parts[i].next = (self.lanes[i].waiting.val()
                && (self.lanes[i].waiting_entry.val().get_bit(7) == self.ended_parity.q.val()))
            .into();
        }
        self.shares.next = self.waiting.whole.val() & self.pick_equal.value.val();
        for i in 0..16 {
            self.lanes[i].taken.next = self.pick_equal.value.val().get_bit(i);
        }
        self.flush.d.next = self.first.val().any();
        self.flush_entry.d.next = self.pick_entry.value.val();
        self.flush_lanes.d.next = self.shares.val();
        self.merge.d.next = self.flush.q.val();
        self.merge_entry.d.next = self.flush_entry.q.val();
        self.merge_words.d.next = self.pick_words.value.val();

        // The words are merged with those that the entry has.
        self.words_ram.write_enable.next = self.merge.q.val();
        self.words_ram.write_address.next = self.merge_entry.q.val();
        self.words_ram.read_address[0].next = self.merge_entry.q.val();
        self.words_ram.read_address[1].next = self.words_entry.val();
        self.had.next =
            self.some[0].q.val().get_bit(self.merge_entry.q.val().get_bits::<7>(0).index());
        self.words_any.next =
            self.some[0].q.val().get_bit(self.words_entry.val().get_bits::<7>(0).index());
        if self.merge_entry.q.val().get_bit(7) {
            self.had.next =
                self.some[1].q.val().get_bit(self.merge_entry.q.val().get_bits::<7>(0).index());
        }
        if self.words_entry.val().get_bit(7) {
            self.words_any.next =
                self.some[1].q.val().get_bit(self.words_entry.val().get_bits::<7>(0).index());
        }
        self.words_ram.write_data.next = self.merge_words.q.val();
        if self.had.val() {
            self.words_ram.write_data.next =
                self.merge_words.q.val() | self.words_ram.read_data[0].val();
        }
        // Words that are merged in this cycle can be read already.
        self.merges.next =
            self.merge.q.val() && (self.merge_entry.q.val() == self.words_entry.val());
        self.words.next = self.words_ram.read_data[1].val();
        if self.merges.val() {
            self.words.next = self.words_ram.write_data.val();
            self.words_any.next = true;
        }
        for i in 0..2 {
            if self.merge.q.val() && (self.merge_entry.q.val().get_bits::<1>(7) == i.to_bits()) {
                self.some[i].d.next = self.some[i]
                    .q
                    .val()
                    .replace_bit(self.merge_entry.q.val().get_bits::<7>(0).index(), true);
            }
            if self.forget.val().get_bit(i) || self.rst.val() {
                self.some[i].d.next = 0.into();
            }
        }

        // A closed window is complete when none of its words is on the way. Words that are merged in this cycle can be
        // read.
        self.window_valid.next = self.ended.q.val()
            && !self.draining.whole.val().any()
            && !(self.flush.q.val()
                && (self.flush_entry.q.val().get_bit(7) == self.ended_parity.q.val()));
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

        // The held beat leaves with the next one, or with the end of its window.
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

        if self.rst.val() {
            self.flush.d.next = false;
            self.merge.d.next = false;
            self.ended.d.next = false;
            self.parity.d.next = false;
            self.held.d.next = false;
        }
    }
}
