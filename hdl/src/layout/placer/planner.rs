//! Decides which blocks to ask for, and when a window ends.
//!
//! A lane knows the last block of each of its 8 slots; a block's slot is the lower bits of its number. Pieces whose
//! lanes all know their block pass at one a cycle. For the others one block a cycle is asked for, for all lanes that
//! need it. Pieces go along with their last question, so that the directory's answers arrive with them and nothing
//! needs to wait.
//!
//! A window whose last request has ended is closed if no beat comes within 4 cycles, which the splitter reports, so
//! that the request does not wait. While no other window could be opened it stays open: small requests that come
//! meanwhile share it, and its reads. Where requests follow one another without such a pause, a window is closed
//! between two of them 192 cycles after its opening if another one is free, and in any case once it has 128 beats.
//! Otherwise one window would take all requests that the card can have open, and none of them would be read meanwhile.
//!
//! A window that is closed gives back the part of its 32 KiB that its entries did not take.
//!
//! A request *returns* to blocks once it has begun a chunk, or had a beat of a second destination, or one whose lanes
//! all know their blocks, of which one lies in another slot than the block that was asked for last. As long as it does
//! not, a window is full at 40 blocks, and is closed at once. Nothing but its last block is asked for again then, its
//! bytes are gathered sooner, and nine such windows are in use instead of four. A window that has a whole request takes
//! all blocks that fit it, because small requests that follow may share its blocks.
//!
//! A question is only asked if an entry is left even if every question on the way gets a new one. When the directory is
//! full, a *probe* asks without the right to a new entry. If it fails, the window is closed, and the pieces are placed
//! anew in the next one.

use super::{ALL_SLOTS, FIELDS, LANES, PIECES, SLOT, SLOTS};

/// Blocks of a full window of a request that returns to none.
const EARLY: u64 = 40;
/// Bits that pass beside a piece: fields, lanes used, end of beat, lanes that return to a block, slots of the blocks.
const REST: usize = FIELDS + 2 * LANES + ALL_SLOTS + 1;
/// Bit of `REST` at which the lanes used start.
const USED_AT: u64 = FIELDS as u64;
/// Bit of `REST` that is the end of the beat.
const END_AT: u64 = (FIELDS + LANES) as u64;
/// Bit of `REST` at which the lanes start that return to a block.
const BACK_AT: u64 = END_AT + 1;
/// Bit of `REST` at which the slots of the blocks start.
const SLOTS_AT: u64 = BACK_AT + LANES as u64;

use crate::primitive::{Concat, Pack, Select};
use drdma_emit::prelude::*;

/// Turns pieces into questions; see the module.
#[derive(LogicBlock, Default)]
pub struct Planner {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// There is room for what is issued in this cycle.
    pub go: Signal<In, Bit>,

    /// Pieces are offered; their fields are as in `Splitter`.
    pub piece_valid: Signal<In, Bit>,
    /// Other pieces come within 3 cycles.
    pub more_pieces: Signal<In, Bit>,
    /// The pieces are taken in this cycle.
    pub piece_ready: Signal<Out, Bit>,
    /// Bit `i`: lane `i` has a piece.
    pub piece_used: Signal<In, Bits<LANES>>,
    /// Bit `i`: the block of lane `i` is that of its last piece in the same slot.
    pub piece_same: Signal<In, Bits<LANES>>,
    /// Bit `i`: the last piece of lane `i` had another slot.
    pub piece_moves: Signal<In, Bits<LANES>>,
    /// Number of each lane's block.
    pub piece_block: [Signal<In, Bits<56>>; LANES],
    /// Lanes with the same block as lane `i`, one bit each.
    pub piece_equal: [Signal<In, Bits<LANES>>; LANES],
    /// Offset of each piece in its block, in bytes (16 x 8 bits).
    pub piece_offset: Signal<In, Bits<128>>,
    /// Length of each piece in bytes (16 x 7 bits).
    pub piece_len: Signal<In, Bits<112>>,
    /// Position of each piece in the payload (16 x 6 bits).
    pub piece_pos: Signal<In, Bits<96>>,
    /// Fields that pass beside the pieces.
    pub piece_fields: Signal<In, Bits<FIELDS>>,
    /// The pieces end a request.
    pub piece_request_end: Signal<In, Bit>,
    /// The pieces are the last ones of their beat.
    pub piece_end: Signal<In, Bit>,
    /// The pieces are the first ones of a chunk.
    pub piece_chunk_start: Signal<In, Bit>,
    /// Estimated number of blocks of the chunk.
    pub piece_chunk_blocks: Signal<In, Bits<8>>,

    /// The buffer of placed beats has room.
    pub room: Signal<In, Bit>,
    /// A window may be opened.
    pub may_open: Signal<In, Bit>,
    /// Another window may be opened as soon as the open one is closed.
    pub may_close: Signal<In, Bit>,
    /// The open window is to be closed as soon as no piece has come for 8 cycles.
    pub flush: Signal<In, Bit>,
    /// A window is opened in this cycle.
    pub opened: Signal<Out, Bit>,
    /// The open window is closed in this cycle.
    pub closed: Signal<Out, Bit>,
    /// With `closed`: size of the window in units of 128 B.
    pub size: Signal<Out, Bits<9>>,
    /// A window is open.
    pub is_open: Signal<Out, Bit>,

    /// A block is asked for.
    pub ask: Signal<Out, Bit>,
    /// The question is a probe: its block must not get a new entry.
    pub ask_probe: Signal<Out, Bit>,
    /// Number of the block.
    pub ask_block: Signal<Out, Bits<56>>,
    /// Lanes that need the block, one bit each.
    pub ask_lanes: Signal<Out, Bits<LANES>>,
    /// Pieces pass, together with their last question if they have one.
    pub pass: Signal<Out, Bit>,
    /// The pieces that pass.
    pub pass_pieces: Signal<Out, Bits<PIECES>>,

    /// Questions are on the way.
    pub on_the_way: Signal<In, Bit>,
    /// A question was answered.
    pub answered: Signal<In, Bit>,
    /// With `answered`: the block was there.
    pub answered_hit: Signal<In, Bit>,
    /// With `answered`: the question was a probe.
    pub answered_probe: Signal<In, Bit>,
    /// With `answered`: lanes of the question, one bit each.
    pub answered_lanes: Signal<In, Bits<LANES>>,

    open: DFF<Bit>,
    /// For each lane: slots whose last block it knows in this window.
    known: [DFF<Bits<SLOTS>>; LANES],
    knows: Pack<LANES, 1, LANES>,
    slots: Pack<LANES, SLOT, ALL_SLOTS>,
    /// Lanes that return to a block that they know.
    back: Signal<Local, Bits<LANES>>,
    /// Lanes of the present pieces whose question was asked.
    asked: DFF<Bits<LANES>>,
    /// No question was asked for the present pieces.
    fresh: DFF<Bit>,
    /// Number of entries, if every question on the way gets a new one.
    reserved: DFF<Bits<7>>,
    /// Placed beats of the window.
    beats: DFF<Bits<12>>,
    idle: DFF<Bits<4>>,
    /// Cycles since the window was opened, at most 192.
    age: DFF<Bits<8>>,
    /// The window may be closed between two requests.
    ripe: DFF<Bit>,
    after_end: DFF<Bit>,
    /// The present request returns to blocks, as its pieces before show.
    returns: DFF<Bit>,
    /// The present request has had pieces: the last ones were for destination `dest`.
    begun: DFF<Bit>,
    dest: DFF<Bits<10>>,
    /// Slot of the block that was asked for last.
    slot: DFF<Bits<SLOT>>,
    /// As `returns`, with the chunk and the destination of the pieces that are offered.
    returns_now: Signal<Local, Bit>,
    /// Lanes whose block lies in another slot than the one that was asked for last.
    elsewhere: Pack<LANES, 1, LANES>,
    /// The present request, or the last one, has begun in the window.
    begun_here: DFF<Bit>,
    /// A whole request is in the window.
    shared: DFF<Bit>,
    /// The window has as many blocks as one request takes that does not return to blocks.
    enough: Signal<Local, Bit>,
    /// Bit 0: a window was closed in the cycle before; bit 1: in the one before that.
    late: DFF<Bits<2>>,
    /// A probe is on the way.
    probing: DFF<Bit>,
    /// The window must be closed.
    full: DFF<Bit>,
    need: Signal<Local, Bits<LANES>>,
    // Lanes that must ask, or above one that must ask within 1, 3, 7 lanes.
    some: Signal<Local, Bits<LANES>>,
    more: Signal<Local, Bits<LANES>>,
    most: Signal<Local, Bits<LANES>>,
    first: Signal<Local, Bits<LANES>>,
    group: Signal<Local, Bits<LANES>>,
    differ: Pack<LANES, 1, LANES>,
    is_last: Signal<Local, Bit>,
    overflow: Signal<Local, Bit>,
    wanted: Signal<Local, Bits<9>>,
    /// Largest number of words that the window takes.
    words: Signal<Local, Bits<13>>,
    issue_question: Signal<Local, Bit>,
    issue_probe: Signal<Local, Bit>,
    issue_beat: Signal<Local, Bit>,
    issue_close: Signal<Local, Bit>,
    issue_open: Signal<Local, Bit>,
    pick_group: Select<LANES, LANES>,
    pick_block: Select<LANES, 56>,
    grow: Signal<Local, Bit>,
    shrink: Signal<Local, Bit>,
    rest: Signal<Local, Bits<REST>>,
    pieces: Concat<128, 112, 96, REST, PIECES>,
}

impl Logic for Planner {
    #[hdl_gen]
    fn update(&mut self) {
        // Which lanes must ask, which one is first, and which share its block.
        for i in 0..16 {
            self.slots.parts[i].next = self.piece_block[i].val().get_bits::<SLOT>(0);
            self.knows.parts[i].next = self.known[i]
                .q
                .val()
                .get_bit(self.piece_block[i].val().get_bits::<SLOT>(0).index())
                .into();
        }
        self.need.next = (self.piece_used.val()
            & !(self.piece_same.val() & self.knows.whole.val()))
            & !self.asked.q.val();
        self.back.next = self.piece_used.val()
            & self.piece_moves.val()
            & (self.piece_same.val() & self.knows.whole.val());
        self.some.next = self.need.val() | (self.need.val() << 1);
        self.more.next = self.some.val() | (self.some.val() << 2);
        self.most.next = self.more.val() | (self.more.val() << 4);
        self.first.next = self.need.val() & !((self.most.val() | (self.most.val() << 8)) << 1);
        self.pick_group.choice.next = self.first.val();
        self.pick_block.choice.next = self.first.val();
        for i in 0..16 {
            self.pick_group.values[i].next = self.piece_equal[i].val();
            self.pick_block.values[i].next = self.piece_block[i].val();
        }
        self.group.next = self.pick_group.value.val() & self.need.val();
        // True if no two lanes ask for different blocks. (A shorter path than over the first lane's group.)
        for i in 0..16 {
            self.differ.parts[i].next = (self.need.val().get_bit(i)
                && (self.need.val() & !self.piece_equal[i].val()).any())
            .into();
        }
        self.is_last.next = !self.differ.whole.val().any();
        self.wanted.next = bit_cast::<9, 7>(self.reserved.q.val())
            + bit_cast::<9, 8>(self.piece_chunk_blocks.val());
        self.overflow.next = self.piece_chunk_start.val()
            && self.reserved.q.val().any()
            && (self.wanted.val() > 112);
        self.returns_now.next = self.returns.q.val()
            || self.piece_chunk_start.val()
            || (self.begun.q.val()
                && (self.piece_fields.val().get_bits::<10>(0) != self.dest.q.val()));
        self.enough.next =
            !self.returns_now.val() && !self.shared.q.val() && (self.reserved.q.val() >= EARLY);
        for i in 0..16 {
            self.elsewhere.parts[i].next =
                (self.piece_block[i].val().get_bits::<SLOT>(0) != self.slot.q.val()).into();
        }

        // Issue.
        self.issue_question.next = false;
        self.issue_probe.next = false;
        self.issue_beat.next = false;
        self.issue_close.next = false;
        self.issue_open.next = false;
        if self.go.val() {
            // A window is opened with its first question, unless one was closed just before.
            self.issue_open.next =
                !self.open.q.val() && self.piece_valid.val() && self.may_open.val();
            if !self.open.q.val() && (!self.issue_open.val() || self.late.q.val().any()) {
                self.issue_close.next = false;
            } else if self.full.q.val() {
                self.issue_close.next = !self.on_the_way.val();
            } else if self.probing.q.val() {
                self.issue_close.next = false;
            } else if !self.piece_valid.val() {
                // The last window stays open for further requests: whether it is closed or not, they would wait for
                // another one.
                self.issue_close.next =
                    (self.after_end.q.val() && self.may_close.val() && !self.more_pieces.val())
                        || (self.flush.val() && self.idle.q.val().get_bit(3));
            } else if self.fresh.q.val()
                && (self.beats.q.val().get_bit(11)
                    || self.overflow.val()
                    || (self.ripe.q.val() && self.after_end.q.val()))
            {
                self.issue_close.next = !self.on_the_way.val();
            } else if !self.need.val().any() {
                self.issue_beat.next = self.room.val();
            } else if self.enough.val() {
                // Answers that are on the way belong to this window. Of blocks that have an entry little is lost.
                self.issue_close.next = true;
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
        self.is_open.next = self.open.q.val();
        // Entries are at most 73 words apart, and a unit of 128 B is 32 words.
        self.words.next = (bit_cast::<13, 7>(self.reserved.q.val()) << 6)
            + (bit_cast::<13, 7>(self.reserved.q.val()) << 3)
            + bit_cast::<13, 7>(self.reserved.q.val());
        self.size.next = ((self.words.val().get_bits::<14>(0) + 31) >> 5).get_bits::<9>(0);

        self.idle.d.next = 0.into();
        if !self.piece_valid.val() {
            self.idle.d.next = self.idle.q.val();
            if !self.idle.q.val().get_bit(3) {
                self.idle.d.next = self.idle.q.val() + 1;
            }
        }
        if !self.age.q.val().get_bits::<2>(6).all() {
            self.age.d.next = self.age.q.val() + 1;
        }
        self.ripe.d.next = self.beats.q.val().get_bits::<5>(7).any()
            || (self.age.q.val().get_bits::<2>(6).all() && self.may_close.val());
        if self.issue_open.val() {
            self.age.d.next = 0.into();
            self.ripe.d.next = false;
            self.open.d.next = true;
        }
        if self.issue_question.val() {
            self.asked.d.next = self.asked.q.val() | self.group.val();
            self.fresh.d.next = false;
        }
        if self.issue_probe.val() {
            self.probing.d.next = true;
        }
        if self.issue_question.val() || self.issue_probe.val() {
            self.slot.d.next = self.pick_block.value.val().get_bits::<SLOT>(0);
        }
        if self.piece_valid.val() && self.returns_now.val() {
            self.returns.d.next = true;
        }
        if self.issue_beat.val() {
            if !self.issue_question.val()
                && (self.piece_used.val() & self.elsewhere.whole.val()).any()
            {
                self.returns.d.next = true;
            }
            self.begun.d.next = true;
            self.dest.d.next = self.piece_fields.val().get_bits::<10>(0);
            if self.piece_request_end.val() && self.piece_end.val() {
                self.begun.d.next = false;
                self.returns.d.next = false;
                self.shared.d.next =
                    self.shared.q.val() || self.begun_here.q.val() || !self.begun.q.val();
            }
            if !self.begun.q.val() {
                self.begun_here.d.next = true;
            }
            for i in 0..16 {
                if self.piece_used.val().get_bit(i) {
                    self.known[i].d.next = self.known[i]
                        .q
                        .val()
                        .replace_bit(self.piece_block[i].val().get_bits::<SLOT>(0).index(), true);
                }
            }
            self.asked.d.next = 0.into();
            self.fresh.d.next = true;
            self.beats.d.next = self.beats.q.val() + 1;
            self.after_end.d.next = self.piece_request_end.val() && self.piece_end.val();
        }
        // A question that found its block did not need the entry.
        self.grow.next = self.issue_question.val();
        self.shrink.next = self.answered.val()
            && self.answered_hit.val()
            && !self.answered_probe.val()
            && !self.late.q.val().any();
        // Answers in the 2 cycles after a close belong to the window before.
        self.late.d.next =
            (self.late.q.val() << 1) | bit_cast::<2, 1>(self.issue_close.val().into());
        if self.grow.val() && !self.shrink.val() {
            self.reserved.d.next = self.reserved.q.val() + 1;
        }
        if self.shrink.val() && !self.grow.val() {
            self.reserved.d.next = self.reserved.q.val() - 1;
        }
        if self.answered.val() && self.answered_probe.val() {
            self.probing.d.next = false;
            if self.answered_hit.val() {
                self.asked.d.next = self.asked.q.val() | self.answered_lanes.val();
                self.fresh.d.next = false;
            } else {
                self.full.d.next = true;
            }
        }
        if self.issue_close.val() {
            self.open.d.next = false;
            self.full.d.next = false;
            for i in 0..16 {
                self.known[i].d.next = 0.into();
            }
            self.asked.d.next = 0.into();
            self.fresh.d.next = true;
            self.beats.d.next = 0.into();
            self.reserved.d.next = 0.into();
            self.after_end.d.next = false;
            self.shared.d.next = false;
            self.begun_here.d.next = false;
        }

        self.ask.next = self.issue_question.val() || self.issue_probe.val();
        self.ask_probe.next = self.issue_probe.val();
        self.ask_block.next = self.pick_block.value.val();
        self.ask_lanes.next = self.group.val();
        self.rest.next = bit_cast::<REST, FIELDS>(self.piece_fields.val())
            | (bit_cast::<REST, LANES>(self.piece_used.val()) << USED_AT)
            | (bit_cast::<REST, 1>(self.piece_end.val().into()) << END_AT)
            | (bit_cast::<REST, LANES>(self.back.val()) << BACK_AT)
            | (bit_cast::<REST, ALL_SLOTS>(self.slots.whole.val()) << SLOTS_AT);
        self.pieces.a.next = self.piece_offset.val();
        self.pieces.b.next = self.piece_len.val();
        self.pieces.c.next = self.piece_pos.val();
        self.pieces.d.next = self.rest.val();
        self.pass.next = self.issue_beat.val();
        self.pass_pieces.next = self.pieces.whole.val();

        if self.rst.val() {
            self.open.d.next = false;
            for i in 0..16 {
                self.known[i].d.next = 0.into();
            }
            self.asked.d.next = 0.into();
            self.fresh.d.next = true;
            self.reserved.d.next = 0.into();
            self.beats.d.next = 0.into();
            self.idle.d.next = 0.into();
            self.after_end.d.next = false;
            self.shared.d.next = false;
            self.begun_here.d.next = false;
            self.returns.d.next = false;
            self.begun.d.next = false;
            self.late.d.next = 0.into();
            self.probing.d.next = false;
            self.full.d.next = false;
        }
    }
}
