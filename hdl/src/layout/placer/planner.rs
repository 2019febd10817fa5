//! Decides which blocks to ask for and when a window ends.
//!
//! Pieces whose lanes all know their block pass at one per cycle. For the others one block is
//! asked for per cycle, for all lanes that need it; pieces go along with their last question, so
//! that the directory's answers arrive with them and nothing needs to wait.
//!
//! A window whose last request has ended is closed if no beat comes within 4 cycles, as the splitter
//! knows, so that it does not wait, but not
//! while no other window could be opened: small requests that come meanwhile share it, and its reads. Where requests follow
//! one another without such a pause, a window is closed between two of them 192 cycles after its opening if another one
//! is free, and once it has 128 beats in any case: else one window would take all requests that the card can have
//! open, and none of them would be read meanwhile.
//!
//! A window that is closed gives back what its entries did not take of its 32 KiB.
//!
//! A question is only asked if there is an entry left even if every question on the way gets a
//! new one. When the directory is full, a *probe* asks without that right; its failure closes the
//! window, and the pieces are placed anew in the next one.

use super::{FIELDS, LANES, PIECES};

/// Bits of what passes beside a piece: fields, lanes used, end of beat.
const REST: usize = FIELDS + LANES + 1;
/// Where the lanes that are used start in it.
const USED_AT: u64 = FIELDS as u64;
/// Where the end of the beat stands in it.
const END_AT: u64 = (FIELDS + LANES) as u64;

use crate::primitive::{Concat, Pack, Select};
use drdma_emit::prelude::*;

/// Pieces in, questions out; see the module.
#[derive(LogicBlock, Default)]
pub struct Planner {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Whether there is room for what is issued.
    pub go: Signal<In, Bit>,

    /// Pieces are offered; fields as in `Splitter`.
    pub piece_valid: Signal<In, Bit>,
    /// Others come within 3 cycles.
    pub more_pieces: Signal<In, Bit>,
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
    /// Another one may be opened as soon as the open one is closed.
    pub may_close: Signal<In, Bit>,
    /// The open window is to be closed as soon as nothing comes.
    pub flush: Signal<In, Bit>,
    /// A window is opened.
    pub opened: Signal<Out, Bit>,
    /// A window is closed,
    pub closed: Signal<Out, Bit>,
    /// and takes so much of the segmented memory, in units of 128 B.
    pub size: Signal<Out, Bits<9>>,
    /// A window is open.
    pub is_open: Signal<Out, Bit>,

    /// A block is asked for.
    pub ask: Signal<Out, Bit>,
    /// It must not get a new entry.
    pub ask_probe: Signal<Out, Bit>,
    /// The block.
    pub ask_block: Signal<Out, Bits<56>>,
    /// The lanes that need it.
    pub ask_lanes: Signal<Out, Bits<LANES>>,
    /// Pieces pass, with their last question if they have one.
    pub pass: Signal<Out, Bit>,
    /// The pieces.
    pub pass_pieces: Signal<Out, Bits<PIECES>>,

    /// Questions are on the way.
    pub on_the_way: Signal<In, Bit>,
    /// A question was answered,
    pub answered: Signal<In, Bit>,
    /// and the block was there;
    pub answered_hit: Signal<In, Bit>,
    /// it was a probe,
    pub answered_probe: Signal<In, Bit>,
    /// for these lanes.
    pub answered_lanes: Signal<In, Bits<LANES>>,

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
    /// Cycles since it was opened, at most 192.
    age: DFF<Bits<8>>,
    /// It may be closed between two requests.
    ripe: DFF<Bit>,
    after_end: DFF<Bit>,
    /// A probe is on the way.
    /// A window was closed in one of the last two cycles.
    late: DFF<Bits<2>>,
    probing: DFF<Bit>,
    /// The window must be closed.
    full: DFF<Bit>,
    need: Signal<Local, Bits<LANES>>,
    // Lanes that ask or have one below that asks within 1, 3, 7 lanes.
    some: Signal<Local, Bits<LANES>>,
    more: Signal<Local, Bits<LANES>>,
    most: Signal<Local, Bits<LANES>>,
    first: Signal<Local, Bits<LANES>>,
    group: Signal<Local, Bits<LANES>>,
    differ: Pack<LANES, 1, LANES>,
    is_last: Signal<Local, Bit>,
    overflow: Signal<Local, Bit>,
    wanted: Signal<Local, Bits<9>>,
    /// Words that the window takes at most.
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
        // Which lanes must ask, which one is first, and who shares its block.
        self.need.next = (self.piece_used.val() & !(self.piece_same.val() & self.known.q.val()))
            & !self.asked.q.val();
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
        // No two lanes ask for different blocks. (Shorter than to wait for the first one's group.)
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
                // The last window stays open for further requests: closed or not, they would wait for
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
        if self.issue_beat.val() {
            self.known.d.next = self.known.q.val() | self.piece_used.val();
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
        // Answers that come in the 2 cycles after a close are of the window before.
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
            self.known.d.next = 0.into();
            self.asked.d.next = 0.into();
            self.fresh.d.next = true;
            self.beats.d.next = 0.into();
            self.reserved.d.next = 0.into();
            self.after_end.d.next = false;
        }

        self.ask.next = self.issue_question.val() || self.issue_probe.val();
        self.ask_probe.next = self.issue_probe.val();
        self.ask_block.next = self.pick_block.value.val();
        self.ask_lanes.next = self.group.val();
        self.rest.next = bit_cast::<REST, FIELDS>(self.piece_fields.val())
            | (bit_cast::<REST, LANES>(self.piece_used.val()) << USED_AT)
            | (bit_cast::<REST, 1>(self.piece_end.val().into()) << END_AT);
        self.pieces.a.next = self.piece_offset.val();
        self.pieces.b.next = self.piece_len.val();
        self.pieces.c.next = self.piece_pos.val();
        self.pieces.d.next = self.rest.val();
        self.pass.next = self.issue_beat.val();
        self.pass_pieces.next = self.pieces.whole.val();

        if self.rst.val() {
            self.open.d.next = false;
            self.known.d.next = 0.into();
            self.asked.d.next = 0.into();
            self.fresh.d.next = true;
            self.reserved.d.next = 0.into();
            self.beats.d.next = 0.into();
            self.idle.d.next = 0.into();
            self.after_end.d.next = false;
            self.late.d.next = 0.into();
            self.probing.d.next = false;
            self.full.d.next = false;
        }
    }
}
