//! The directory of the window: which block has which entry and which place.
//!
//! ```text
//! question -> query -> search -> answer
//! ```
//!
//! Takes one question a cycle from the planner. The answer comes 3 cycles later, together with the pieces that passed
//! with the question. *Search* finds the block among those of the window, or gives it the next entry and the next
//! place. Nothing here ever waits. The block must not be asked for a new entry when it is full.

use super::{ENTRIES, LANES, PIECES};
use crate::primitive::{Cam, Lutram, Pack};
use drdma_emit::prelude::*;
use num_bigint::BigUint;

/// Answers the planner's questions; see the module.
#[derive(LogicBlock, BlockDefault)]
pub struct Directory {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,

    /// A block is asked for.
    pub ask: Signal<In, Bit>,
    /// The question is a probe: its block must not get a new entry.
    pub ask_probe: Signal<In, Bit>,
    /// Number of the block.
    pub ask_block: Signal<In, Bits<56>>,
    /// Lanes that need the block, one bit each.
    pub ask_lanes: Signal<In, Bits<LANES>>,
    /// Pieces pass, together with their last question if they have one.
    pub pass: Signal<In, Bit>,
    /// The pieces that pass.
    pub pass_pieces: Signal<In, Bits<PIECES>>,
    /// The window ends before anything that follows.
    pub ask_close: Signal<In, Bit>,

    /// Questions are on the way.
    pub on_the_way: Signal<Out, Bit>,
    /// A question was answered.
    pub answered: Signal<Out, Bit>,
    /// With `answered`: the block was there.
    pub answered_hit: Signal<Out, Bit>,
    /// With `answered`: the question was a probe.
    pub answered_probe: Signal<Out, Bit>,
    /// With `answered`: lanes of the question, one bit each.
    pub answered_lanes: Signal<Out, Bits<LANES>>,

    /// Lanes that take the answer, one bit each.
    pub answer_lanes: Signal<Out, Bits<LANES>>,
    /// Entry of the block, under the parity of its window.
    pub answer_entry: Signal<Out, Bits<8>>,
    /// Place of the entry, in words of the window.
    pub answer_place: Signal<Out, Bits<13>>,
    /// Pieces pass.
    pub out_valid: Signal<Out, Bit>,
    /// The pieces that pass.
    pub out_pieces: Signal<Out, Bits<PIECES>>,
    /// The window ends before anything that follows.
    pub out_close: Signal<Out, Bit>,
    /// With `out_close`: number of the window's entries.
    pub out_entries: Signal<Out, Bits<7>>,

    /// A new entry is made.
    pub list_write: Signal<Out, Bit>,
    /// Number of the new entry, under the parity of its window.
    pub list_index: Signal<Out, Bits<8>>,
    /// Block of the new entry.
    pub list_block: Signal<Out, Bits<56>>,
    /// Place of the new entry, in words of the window.
    pub list_place: Signal<Out, Bits<13>>,
    /// The new entry is the successor of the one before, in host memory and in the window.
    pub list_follows: Signal<Out, Bit>,

    // Query.
    query: DFF<Bit>,
    query_probe: DFF<Bit>,
    query_block: DFF<Bits<56>>,
    query_lanes: DFF<Bits<LANES>>,
    query_beat: DFF<Bit>,
    query_pieces: DFF<Bits<PIECES>>,
    query_close: DFF<Bit>,

    // Search.
    tags: Cam<ENTRIES, 56, 7>,
    search: DFF<Bit>,
    search_probe: DFF<Bit>,
    search_block: DFF<Bits<56>>,
    search_successor: DFF<Bits<56>>,
    search_lanes: DFF<Bits<LANES>>,
    search_beat: DFF<Bit>,
    search_pieces: DFF<Bits<PIECES>>,
    search_close: DFF<Bit>,
    /// The question asks for the same block as the question just ahead of it.
    repeats: DFF<Bit>,
    /// The question asks for the successor of that block.
    follows_ahead: DFF<Bit>,
    /// The question asks for the successor of the block that was placed last when it was a query.
    follows_last: DFF<Bit>,
    /// The question ahead got a new entry.
    ahead_new: DFF<Bit>,
    entries: DFF<Bits<7>>,
    last_valid: DFF<Bit>,
    last_successor: DFF<Bits<56>>,
    /// Place of a successor (`near`), and of any other block (`far`).
    near: DFF<Bits<13>>,
    far: DFF<Bits<13>>,
    parity: DFF<Bit>,
    /// For each bit of an entry's number, the entries that have it set.
    #[init(std::array::from_fn(|i| Constant::new(number(i).into())))]
    numbers: [Constant<Bits<ENTRIES>>; 7],
    numbered: Pack<7, 1, 7>,
    found: Signal<Local, Bit>,
    hit: Signal<Local, Bit>,
    create: Signal<Local, Bit>,
    follows: Signal<Local, Bit>,
    place: Signal<Local, Bits<13>>,
    index: Signal<Local, Bits<7>>,

    // Answer.
    places: Lutram<13, 7, 1>,
    answer: DFF<Bit>,
    answer_hit: DFF<Bit>,
    answer_probe: DFF<Bit>,
    answer_group: DFF<Bits<LANES>>,
    answer_index: DFF<Bits<7>>,
    answer_parity: DFF<Bit>,
    beat: DFF<Bit>,
    pieces: DFF<Bits<PIECES>>,
    close: DFF<Bit>,
    close_entries: DFF<Bits<7>>,
}

/// Mask of the entries whose number has bit `i`.
fn number(i: usize) -> BigUint {
    let has = (0..ENTRIES).filter(|entry| entry >> i & 1 == 1);
    has.fold(BigUint::ZERO, |mask, entry| mask | BigUint::from(1_u32) << entry)
}

impl Logic for Directory {
    #[hdl_gen]
    fn update(&mut self) {
        // Query.
        self.tags.enable.next = self.query.q.val();
        self.tags.key.next = self.query_block.q.val();
        self.query.d.next = self.ask.val();
        self.query_probe.d.next = self.ask_probe.val();
        self.query_block.d.next = self.ask_block.val();
        self.query_lanes.d.next = self.ask_lanes.val();
        self.query_beat.d.next = self.pass.val();
        self.query_pieces.d.next = self.pass_pieces.val();
        self.query_close.d.next = self.ask_close.val();

        self.search.d.next = self.query.q.val();
        self.search_probe.d.next = self.query_probe.q.val();
        self.search_block.d.next = self.query_block.q.val();
        self.search_successor.d.next = self.query_block.q.val() + 1;
        self.search_lanes.d.next = self.query_lanes.q.val();
        self.search_beat.d.next = self.query_beat.q.val();
        self.search_pieces.d.next = self.query_pieces.q.val();
        self.search_close.d.next = self.query_close.q.val();
        self.repeats.d.next =
            self.search.q.val() && (self.query_block.q.val() == self.search_block.q.val());
        self.follows_ahead.d.next =
            self.search.q.val() && (self.query_block.q.val() == self.search_successor.q.val());
        self.follows_last.d.next =
            self.last_valid.q.val() && (self.query_block.q.val() == self.last_successor.q.val());

        // Search: the block is found, or gets a new entry.
        self.found.next = self.tags.found.val().any();
        for i in 0..7 {
            self.numbered.parts[i].next =
                (self.tags.found.val() & self.numbers[i].val()).any().into();
        }
        self.hit.next = self.found.val() || self.repeats.q.val();
        self.create.next = self.search.q.val() && !self.hit.val() && !self.search_probe.q.val();
        self.follows.next = self.follows_last.q.val();
        if self.ahead_new.q.val() {
            self.follows.next = self.follows_ahead.q.val();
        }
        self.place.next = self.far.q.val();
        if self.follows.val() {
            self.place.next = self.near.q.val();
        }
        self.index.next = self.entries.q.val();
        if self.found.val() {
            self.index.next = self.numbered.whole.val();
        } else if self.repeats.q.val() {
            self.index.next = self.answer_index.q.val();
        }
        self.tags.write_enable.next = self.create.val();
        self.tags.write_index.next = self.entries.q.val();
        self.tags.write_key.next = self.search_block.q.val();
        self.tags.clear.next = self.rst.val() || self.search_close.q.val();
        self.places.write_enable.next = self.create.val();
        self.places.write_address.next = self.entries.q.val();
        self.places.write_data.next = self.place.val();
        self.list_write.next = self.create.val();
        self.list_index.next = (bit_cast::<8, 1>(self.parity.q.val().into()) << 7)
            | bit_cast::<8, 7>(self.entries.q.val());
        self.list_block.next = self.search_block.q.val();
        self.list_place.next = self.place.val();
        self.list_follows.next = self.follows.val();
        self.ahead_new.d.next = self.create.val();
        if self.create.val() {
            self.entries.d.next = self.entries.q.val() + 1;
            self.last_valid.d.next = true;
            self.last_successor.d.next = self.search_successor.q.val();
            self.near.d.next = self.place.val() + 64;
            self.far.d.next = self.place.val() + 73;
        }
        if self.search_close.q.val() {
            self.entries.d.next = 0.into();
            self.last_valid.d.next = false;
            self.near.d.next = 0.into();
            self.far.d.next = 0.into();
            self.parity.d.next = !self.parity.q.val();
        }

        self.answer.d.next = self.search.q.val();
        self.answer_hit.d.next = self.hit.val();
        self.answer_probe.d.next = self.search_probe.q.val();
        self.answer_group.d.next = self.search_lanes.q.val();
        self.answer_index.d.next = self.index.val();
        self.answer_parity.d.next = self.parity.q.val();
        self.beat.d.next = self.search_beat.q.val();
        self.pieces.d.next = self.search_pieces.q.val();
        self.close.d.next = self.search_close.q.val();
        self.close_entries.d.next = self.entries.q.val();

        // Answer.
        self.on_the_way.next = self.query.q.val() || self.search.q.val() || self.answer.q.val();
        self.answered.next = self.answer.q.val();
        self.answered_hit.next = self.answer_hit.q.val();
        self.answered_probe.next = self.answer_probe.q.val();
        self.answered_lanes.next = self.answer_group.q.val();
        self.places.read_address[0].next = self.answer_index.q.val();
        self.answer_place.next = self.places.read_data[0].val();
        self.answer_entry.next = (bit_cast::<8, 1>(self.answer_parity.q.val().into()) << 7)
            | bit_cast::<8, 7>(self.answer_index.q.val());
        self.answer_lanes.next = 0.into();
        if self.answer.q.val() && (self.answer_hit.q.val() || !self.answer_probe.q.val()) {
            self.answer_lanes.next = self.answer_group.q.val();
        }
        self.out_valid.next = self.beat.q.val();
        self.out_pieces.next = self.pieces.q.val();
        self.out_close.next = self.close.q.val();
        self.out_entries.next = self.close_entries.q.val();

        if self.rst.val() {
            self.query.d.next = false;
            self.query_beat.d.next = false;
            self.query_close.d.next = false;
            self.search.d.next = false;
            self.search_beat.d.next = false;
            self.search_close.d.next = false;
            self.ahead_new.d.next = false;
            self.entries.d.next = 0.into();
            self.last_valid.d.next = false;
            self.near.d.next = 0.into();
            self.far.d.next = 0.into();
            self.parity.d.next = false;
            self.answer.d.next = false;
            self.beat.d.next = false;
            self.close.d.next = false;
        }
    }
}
