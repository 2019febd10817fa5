//! Decides which block goes where and when a window ends.
//!
//! ```text
//! pieces -> issue -> query -> search -> answer
//! ```
//!
//! Pieces whose lanes all know their block pass at one per cycle. For the others, *issue* asks
//! for one block per cycle, for all lanes that need it; pieces go along with their last question,
//! so that the answers arrive in order and nothing needs to wait for them. *Search* looks the
//! block up in the window's directory, or gives it the next entry and place. `step` low freezes
//! everything.
//!
//! A question is only asked if there is an entry left even if every question on the way gets a
//! new one. When the directory is full, a *probe* asks without that right; its failure closes the
//! window, and the pieces are placed anew in the next one.

use super::{ENTRIES, FIELDS, LANES};
use crate::primitive::{Cam, FirstSet, Lutram, Select};
use rust_hdl_core::prelude::*;
use rust_hdl_widgets::prelude::*;

/// Pieces in, pieces with answers out; see the module.
#[derive(LogicBlock, Default)]
pub struct Planner {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// Whether the stages behind *issue* move.
    pub step: Signal<In, Bit>,

    /// Pieces are offered; fields as in `Splitter`.
    pub piece_valid: Signal<In, Bit>,
    /// They are taken.
    pub piece_ready: Signal<Out, Bit>,
    /// Lanes that have a piece.
    pub piece_used: Signal<In, Bits<LANES>>,
    /// Lanes whose block did not change.
    pub piece_same: Signal<In, Bits<LANES>>,
    /// Block numbers.
    pub piece_block: [Signal<In, Bits<56>>; LANES],
    /// Lanes with equal blocks.
    pub piece_equal: [Signal<In, Bits<LANES>>; LANES],
    /// Byte offsets.
    pub piece_offset: Signal<In, Bits<128>>,
    /// Lengths.
    pub piece_len: Signal<In, Bits<112>>,
    /// Places in the payload.
    pub piece_pos: Signal<In, Bits<96>>,
    /// What passes through.
    pub piece_fields: Signal<In, Bits<FIELDS>>,
    /// The pieces end a request.
    pub piece_request_end: Signal<In, Bit>,
    /// The last pieces of the beat.
    pub piece_end: Signal<In, Bit>,
    /// The first pieces of a chunk.
    pub piece_chunk_start: Signal<In, Bit>,
    /// The chunk's estimate.
    pub piece_chunk_blocks: Signal<In, Bits<8>>,

    /// Placed beats have room.
    pub room: Signal<In, Bit>,
    /// A window may be opened.
    pub may_open: Signal<In, Bit>,
    /// A window is opened.
    pub opened: Signal<Out, Bit>,
    /// A window is closed.
    pub closed: Signal<Out, Bit>,
    /// Pieces are passed on.
    pub passed: Signal<Out, Bit>,

    /// Lanes that take the answer.
    pub answer_lanes: Signal<Out, Bits<LANES>>,
    /// The entry, under the parity of the window.
    pub answer_entry: Signal<Out, Bits<8>>,
    /// Its place in words.
    pub answer_place: Signal<Out, Bits<13>>,
    /// Pieces pass, with their last answer.
    pub out_valid: Signal<Out, Bit>,
    /// Lanes that have a piece.
    pub out_used: Signal<Out, Bits<LANES>>,
    /// Byte offsets.
    pub out_offset: Signal<Out, Bits<128>>,
    /// Lengths.
    pub out_len: Signal<Out, Bits<112>>,
    /// Places in the payload.
    pub out_pos: Signal<Out, Bits<96>>,
    /// What passes through.
    pub out_fields: Signal<Out, Bits<FIELDS>>,
    /// The last pieces of the beat.
    pub out_end: Signal<Out, Bit>,
    /// The window ends before anything that follows.
    pub out_close: Signal<Out, Bit>,
    /// With `out_close`: how many entries it has.
    pub out_entries: Signal<Out, Bits<7>>,

    /// A new entry.
    pub list_write: Signal<Out, Bit>,
    /// Its number, under the parity of the window.
    pub list_index: Signal<Out, Bits<8>>,
    /// Its block.
    pub list_block: Signal<Out, Bits<56>>,
    /// Its place in words.
    pub list_place: Signal<Out, Bits<13>>,
    /// It is the successor of the entry before, in host memory and in the window.
    pub list_follows: Signal<Out, Bit>,

    // Issue.
    open: DFF<Bit>,
    /// Lanes that know the block of their last piece in this window.
    known: DFF<Bits<LANES>>,
    /// Lanes of the present pieces whose question has been asked.
    asked: DFF<Bits<LANES>>,
    /// Nothing has been asked for the present pieces.
    fresh: DFF<Bit>,
    /// Entries, were every question on the way to get a new one.
    reserved: DFF<Bits<7>>,
    /// Placed beats of the window.
    beats: DFF<Bits<12>>,
    idle: DFF<Bits<4>>,
    after_end: DFF<Bit>,
    /// A probe is on the way.
    probing: DFF<Bit>,
    /// The window must be closed.
    full: DFF<Bit>,
    need: Signal<Local, Bits<LANES>>,
    first: Signal<Local, Bits<LANES>>,
    group: Signal<Local, Bits<LANES>>,
    is_last: Signal<Local, Bit>,
    on_the_way: Signal<Local, Bit>,
    overflow: Signal<Local, Bit>,
    wanted: Signal<Local, Bits<9>>,
    issue_question: Signal<Local, Bit>,
    issue_probe: Signal<Local, Bit>,
    issue_beat: Signal<Local, Bit>,
    issue_close: Signal<Local, Bit>,
    issue_open: Signal<Local, Bit>,
    pick_group: Select<LANES, LANES>,
    pick_block: Select<LANES, 56>,
    grow: Signal<Local, Bit>,
    shrink: Signal<Local, Bit>,

    // Query.
    query: DFF<Bit>,
    query_probe: DFF<Bit>,
    query_block: DFF<Bits<56>>,
    query_lanes: DFF<Bits<LANES>>,
    query_beat: DFF<Bit>,
    query_used: DFF<Bits<LANES>>,
    query_offset: DFF<Bits<128>>,
    query_len: DFF<Bits<112>>,
    query_pos: DFF<Bits<96>>,
    query_fields: DFF<Bits<FIELDS>>,
    query_end: DFF<Bit>,
    query_close: DFF<Bit>,

    // Search.
    directory: Cam<ENTRIES, 56, 7>,
    search: DFF<Bit>,
    search_probe: DFF<Bit>,
    search_block: DFF<Bits<56>>,
    search_successor: DFF<Bits<56>>,
    search_lanes: DFF<Bits<LANES>>,
    search_beat: DFF<Bit>,
    search_used: DFF<Bits<LANES>>,
    search_offset: DFF<Bits<128>>,
    search_len: DFF<Bits<112>>,
    search_pos: DFF<Bits<96>>,
    search_fields: DFF<Bits<FIELDS>>,
    search_end: DFF<Bit>,
    search_close: DFF<Bit>,
    /// The question asks for the block of the one just ahead of it.
    repeats: DFF<Bit>,
    /// It asks for the successor of that block.
    follows_ahead: DFF<Bit>,
    /// It asks for the successor of the block that was placed last when it was a query.
    follows_last: DFF<Bit>,
    /// The question ahead got a new entry.
    ahead_new: DFF<Bit>,
    entries: DFF<Bits<7>>,
    last_valid: DFF<Bit>,
    last_successor: DFF<Bits<56>>,
    /// The place of a successor, and of any other block.
    near: DFF<Bits<13>>,
    far: DFF<Bits<13>>,
    parity: DFF<Bit>,
    encoder: FirstSet<ENTRIES, 7>,
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
    used: DFF<Bits<LANES>>,
    offset: DFF<Bits<128>>,
    len: DFF<Bits<112>>,
    pos: DFF<Bits<96>>,
    fields: DFF<Bits<FIELDS>>,
    last_pieces: DFF<Bit>,
    close: DFF<Bit>,
    close_entries: DFF<Bits<7>>,
}

impl Logic for Planner {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, open, known, asked, fresh, reserved, beats, idle, after_end);
        dff_setup!(self, clock, probing, full);
        dff_setup!(self, clock, query, query_probe, query_block, query_lanes, query_beat);
        dff_setup!(self, clock, query_used, query_offset, query_len, query_pos, query_fields);
        dff_setup!(self, clock, query_end, query_close);
        dff_setup!(self, clock, search, search_probe, search_block, search_successor);
        dff_setup!(self, clock, search_lanes, search_beat, search_used, search_offset, search_len);
        dff_setup!(self, clock, search_pos, search_fields, search_end, search_close);
        dff_setup!(self, clock, repeats, follows_ahead, follows_last, ahead_new, entries);
        dff_setup!(self, clock, last_valid, last_successor, near, far, parity);
        dff_setup!(self, clock, answer, answer_hit, answer_probe, answer_group, answer_index);
        dff_setup!(self, clock, answer_parity, beat, used, offset, len, pos, fields);
        dff_setup!(self, clock, last_pieces, close, close_entries);

        // Which lanes must ask, which one is first, and who shares its block.
        self.need.next = (self.piece_used.val() & !(self.piece_same.val() & self.known.q.val()))
            & !self.asked.q.val();
        self.first.next = self.need.val() & (!self.need.val() + 1);
        self.pick_group.choice.next = self.first.val();
        self.pick_block.choice.next = self.first.val();
        for i in 0..16 {
            self.pick_group.values[i].next = self.piece_equal[i].val();
            self.pick_block.values[i].next = self.piece_block[i].val();
        }
        self.group.next = self.pick_group.value.val() & self.need.val();
        self.is_last.next = !(self.need.val() & !self.pick_group.value.val()).any();
        self.on_the_way.next = self.query.q.val() || self.search.q.val() || self.answer.q.val();
        self.wanted.next = bit_cast::<9, 7>(self.reserved.q.val())
            + bit_cast::<9, 8>(self.piece_chunk_blocks.val());
        self.overflow.next = self.piece_chunk_start.val()
            && self.reserved.q.val().any()
            && (self.wanted.val() > 112);

        // Issue.
        self.issue_question.next = false;
        self.issue_probe.next = false;
        self.issue_beat.next = false;
        self.issue_close.next = false;
        self.issue_open.next = false;
        if self.step.val() {
            if !self.open.q.val() {
                self.issue_open.next = self.piece_valid.val() && self.may_open.val();
            } else if self.full.q.val() {
                self.issue_close.next = !self.on_the_way.val();
            } else if self.probing.q.val() {
                self.issue_close.next = false;
            } else if !self.piece_valid.val() {
                self.issue_close.next = self.after_end.q.val()
                    && self.idle.q.val().get_bit(3)
                    && !self.on_the_way.val();
            } else if self.fresh.q.val() && (self.beats.q.val().get_bit(11) || self.overflow.val())
            {
                self.issue_close.next = !self.on_the_way.val();
            } else if !self.need.val().any() {
                self.issue_beat.next = self.room.val();
            } else if self.reserved.q.val() < 112 {
                self.issue_question.next = self.room.val();
                self.issue_beat.next = self.room.val() && self.is_last.val();
            } else {
                self.issue_probe.next = !self.on_the_way.val();
            }
        }
        self.piece_ready.next = self.issue_beat.val();
        self.opened.next = self.issue_open.val();
        self.closed.next = self.issue_close.val();
        self.passed.next = self.issue_beat.val();

        self.idle.d.next = 0.into();
        if !self.piece_valid.val() {
            self.idle.d.next = self.idle.q.val();
            if !self.idle.q.val().get_bit(3) {
                self.idle.d.next = self.idle.q.val() + 1;
            }
        }
        if self.issue_open.val() {
            self.open.d.next = true;
        }
        if self.issue_question.val() {
            self.asked.d.next = self.asked.q.val() | self.group.val();
            self.fresh.d.next = false;
        }
        if self.issue_probe.val() {
            self.probing.d.next = true;
        }
        if self.issue_beat.val() {
            self.known.d.next = self.known.q.val() | self.piece_used.val();
            self.asked.d.next = 0.into();
            self.fresh.d.next = true;
            self.beats.d.next = self.beats.q.val() + 1;
            self.after_end.d.next = self.piece_request_end.val() && self.piece_end.val();
        }
        // A question that found its block did not need the entry.
        self.grow.next = self.issue_question.val();
        self.shrink.next = self.step.val()
            && self.answer.q.val()
            && self.answer_hit.q.val()
            && !self.answer_probe.q.val();
        if self.grow.val() && !self.shrink.val() {
            self.reserved.d.next = self.reserved.q.val() + 1;
        }
        if self.shrink.val() && !self.grow.val() {
            self.reserved.d.next = self.reserved.q.val() - 1;
        }
        if self.step.val() && self.answer.q.val() && self.answer_probe.q.val() {
            self.probing.d.next = false;
            if self.answer_hit.q.val() {
                self.asked.d.next = self.asked.q.val() | self.answer_group.q.val();
                self.fresh.d.next = false;
            } else {
                self.full.d.next = true;
            }
        }
        if self.issue_close.val() {
            self.open.d.next = false;
            self.full.d.next = false;
            self.known.d.next = 0.into();
            self.asked.d.next = 0.into();
            self.fresh.d.next = true;
            self.beats.d.next = 0.into();
            self.reserved.d.next = 0.into();
            self.after_end.d.next = false;
        }

        // Query.
        self.directory.clk.next = self.clock.val();
        self.directory.enable.next = self.step.val() && self.query.q.val();
        self.directory.key.next = self.query_block.q.val();
        if self.step.val() {
            self.query.d.next = self.issue_question.val() || self.issue_probe.val();
            self.query_probe.d.next = self.issue_probe.val();
            self.query_block.d.next = self.pick_block.value.val();
            self.query_lanes.d.next = self.group.val();
            self.query_beat.d.next = self.issue_beat.val();
            self.query_used.d.next = self.piece_used.val();
            self.query_offset.d.next = self.piece_offset.val();
            self.query_len.d.next = self.piece_len.val();
            self.query_pos.d.next = self.piece_pos.val();
            self.query_fields.d.next = self.piece_fields.val();
            self.query_end.d.next = self.piece_end.val();
            self.query_close.d.next = self.issue_close.val();

            self.search.d.next = self.query.q.val();
            self.search_probe.d.next = self.query_probe.q.val();
            self.search_block.d.next = self.query_block.q.val();
            self.search_successor.d.next = self.query_block.q.val() + 1;
            self.search_lanes.d.next = self.query_lanes.q.val();
            self.search_beat.d.next = self.query_beat.q.val();
            self.search_used.d.next = self.query_used.q.val();
            self.search_offset.d.next = self.query_offset.q.val();
            self.search_len.d.next = self.query_len.q.val();
            self.search_pos.d.next = self.query_pos.q.val();
            self.search_fields.d.next = self.query_fields.q.val();
            self.search_end.d.next = self.query_end.q.val();
            self.search_close.d.next = self.query_close.q.val();
            self.repeats.d.next =
                self.search.q.val() && (self.query_block.q.val() == self.search_block.q.val());
            self.follows_ahead.d.next =
                self.search.q.val() && (self.query_block.q.val() == self.search_successor.q.val());
            self.follows_last.d.next = self.last_valid.q.val()
                && (self.query_block.q.val() == self.last_successor.q.val());
        }

        // Search: found, or a new entry.
        self.encoder.bits.next = self.directory.found.val();
        self.hit.next = self.encoder.any.val() || self.repeats.q.val();
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
        if self.encoder.any.val() {
            self.index.next = self.encoder.index.val();
        } else if self.repeats.q.val() {
            self.index.next = self.answer_index.q.val();
        }
        self.directory.write_enable.next = self.step.val() && self.create.val();
        self.directory.write_index.next = self.entries.q.val();
        self.directory.write_key.next = self.search_block.q.val();
        self.directory.clear.next =
            self.reset.val() || (self.step.val() && self.search_close.q.val());
        self.places.clk.next = self.clock.val();
        self.places.write_enable.next = self.step.val() && self.create.val();
        self.places.write_address.next = self.entries.q.val();
        self.places.write_data.next = self.place.val();
        self.list_write.next = self.step.val() && self.create.val();
        self.list_index.next = (bit_cast::<8, 1>(self.parity.q.val().into()) << 7)
            | bit_cast::<8, 7>(self.entries.q.val());
        self.list_block.next = self.search_block.q.val();
        self.list_place.next = self.place.val();
        self.list_follows.next = self.follows.val();
        if self.step.val() {
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
            self.used.d.next = self.search_used.q.val();
            self.offset.d.next = self.search_offset.q.val();
            self.len.d.next = self.search_len.q.val();
            self.pos.d.next = self.search_pos.q.val();
            self.fields.d.next = self.search_fields.q.val();
            self.last_pieces.d.next = self.search_end.q.val();
            self.close.d.next = self.search_close.q.val();
            self.close_entries.d.next = self.entries.q.val();
        }

        // Answer.
        self.places.read_address[0].next = self.answer_index.q.val();
        self.answer_place.next = self.places.read_data[0].val();
        self.answer_entry.next = (bit_cast::<8, 1>(self.answer_parity.q.val().into()) << 7)
            | bit_cast::<8, 7>(self.answer_index.q.val());
        self.answer_lanes.next = 0.into();
        if self.answer.q.val() && (self.answer_hit.q.val() || !self.answer_probe.q.val()) {
            self.answer_lanes.next = self.answer_group.q.val();
        }
        self.out_valid.next = self.beat.q.val();
        self.out_used.next = self.used.q.val();
        self.out_offset.next = self.offset.q.val();
        self.out_len.next = self.len.q.val();
        self.out_pos.next = self.pos.q.val();
        self.out_fields.next = self.fields.q.val();
        self.out_end.next = self.last_pieces.q.val();
        self.out_close.next = self.close.q.val();
        self.out_entries.next = self.close_entries.q.val();

        if self.reset.val() {
            self.open.d.next = false;
            self.known.d.next = 0.into();
            self.asked.d.next = 0.into();
            self.fresh.d.next = true;
            self.reserved.d.next = 0.into();
            self.beats.d.next = 0.into();
            self.idle.d.next = 0.into();
            self.after_end.d.next = false;
            self.probing.d.next = false;
            self.full.d.next = false;
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
