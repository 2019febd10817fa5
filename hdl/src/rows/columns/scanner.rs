//! Finds the numbers of the selected rows, up to 64 a cycle.

use super::compact::Compact;
use super::record::{MASK_BITS, Mask, ROW_GROUP_BITS, RowGroup, Tag};
use crate::primitive::{Fifo, Flatten, Pack, Ranks, Restore, Stage};
use crate::rows::sequencer::record::{CONTEXT_BITS, Context};
use array_init::array_init;
use drdma_emit::prelude::*;

/// Takes masks apart into the offsets of their rows, for the packer.
///
/// The rank of a row is the number of rows that its mask selects before it. Each of the 8 pieces of 64 bits moves its
/// rows' numbers to the places that their ranks give, modulo 64 ([`Compact`]), where no two rows of one group of 64
/// meet. A group is then the OR of what the pieces have of it.
///
/// A mask a cycle, or 64 rows of one: masks follow each other without a gap, and one without rows costs a cycle. 11
/// cycles from a mask to its first rows. May stall at any time. A group without rows is emitted only where a turn ends
/// with it.
///
/// # Inputs
/// `mask` stream: the fields of [`Mask`] and `context`; `rows_ready`.
///
/// # Outputs
/// `mask_ready`; `rows` stream: the fields of [`RowGroup`] (offsets beyond `count` are undefined) and `context`.
/// `idle`: no mask is held, and no rows wait.
#[derive(LogicBlock, BlockDefault)]
pub struct Scanner {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// A mask is offered.
    pub mask_valid: Signal<In, Bit>,
    /// The mask is taken in this cycle.
    pub mask_ready: Signal<Out, Bit>,
    /// Rows that are selected, one bit each.
    pub mask_bits: Signal<In, Bits<512>>,
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
    /// Context that the rows share.
    pub mask_context: Signal<In, Context>,
    /// A group of rows is offered.
    pub rows_valid: Signal<Out, Bit>,
    /// The rows are taken in this cycle.
    pub rows_ready: Signal<In, Bit>,
    /// Number of rows, 0 to 64.
    pub rows_count: Signal<Out, Bits<7>>,
    /// Offsets of the rows from row 512 * `rows_word` of the chunk, 9 bits each.
    pub rows_offset: Signal<Out, Bits<576>>,
    /// Number of the rows' mask in its chunk, 0 to 7.
    pub rows_word: Signal<Out, Bits<3>>,
    /// The rows are the last ones of their turn.
    pub rows_turn_end: Signal<Out, Bit>,
    /// The rows are the last ones of their chunk.
    pub rows_chunk_end: Signal<Out, Bit>,
    /// The rows are the last ones of their destination.
    pub rows_last: Signal<Out, Bit>,
    /// Context that the rows share.
    pub rows_context: Signal<Out, Context>,
    /// No mask is held, and no rows wait.
    pub idle: Signal<Out, Bit>,

    mask: Signal<Local, Mask>,
    mask_in: Flatten<Mask, MASK_BITS>,
    masks: Stage<MASK_BITS>,
    mask_out: Restore<Mask, MASK_BITS>,
    context_in: Flatten<Context, CONTEXT_BITS>,
    contexts_in: Stage<CONTEXT_BITS>,
    // Contexts bypass the pipeline, one for each turn.
    contexts: Fifo<CONTEXT_BITS, 5, 6>,
    context_out: Restore<Context, CONTEXT_BITS>,
    turn_begins: DFF<Bit>,
    load: Signal<Local, Bit>,
    /// The pipeline advances in this cycle.
    go: Signal<Local, Bit>,
    // Masks in the pipeline: four stages of ranks, three of moves.
    tag: Signal<Local, Tag>,
    stage_valid: [DFF<Bit>; 7],
    stage_tag: [DFF<Tag>; 7],
    ranks: Ranks,
    stage_total: [DFF<Bits<10>>; 3],
    stage_piece: [DFF<Bits<24>>; 3],
    pieces: [Compact; 8],
    // The mask at the end, whose groups are emitted.
    group: DFF<Bits<3>>,
    // Rows of that mask from this group on.
    left: Signal<Local, Bits<10>>,
    final_group: Signal<Local, Bit>,
    empty: Signal<Local, Bit>,
    room: Signal<Local, Bit>,
    issue: Signal<Local, Bit>,
    first: [Signal<Local, Bits<3>>; 8],
    hit: [Signal<Local, Bit>; 8],
    parity: Signal<Local, Bits<64>>,
    take: [Signal<Local, Bits<64>>; 8],
    #[init(array_init(|k| Constant::new(k.to_bits())))]
    numbers: [Constant<Bits<3>>; 8],
    // The group: bit planes of its rows' numbers in the mask.
    out_valid: DFF<Bit>,
    out_count: DFF<Bits<7>>,
    out_plane: [DFF<Bits<64>>; 9],
    out_tag: DFF<Tag>,
    group_out: Signal<Local, RowGroup>,
    rows_in: Flatten<RowGroup, ROW_GROUP_BITS>,
    rows: Fifo<ROW_GROUP_BITS, 2, 3>,
    rows_out: Restore<RowGroup, ROW_GROUP_BITS>,
    number: [Signal<Local, Bits<9>>; 64],
    offsets: Pack<64, 9, 576>,
    offered: Signal<Local, Bit>,
    unused: Signal<Local, Bit>,
}

impl Logic for Scanner {
    #[hdl_gen]
    fn update(&mut self) {
        // Masks enter.
        self.mask.next.bits = self.mask_bits.val();
        self.mask.next.word = self.mask_word.val();
        self.mask.next.chunk_start = self.mask_chunk_start.val();
        self.mask.next.turn_end = self.mask_turn_end.val();
        self.mask.next.chunk_end = self.mask_chunk_end.val();
        self.mask.next.last = self.mask_last.val();
        self.mask_in.record.next = self.mask.val();
        self.masks.in_valid.next = self.mask_valid.val();
        self.masks.in_data.next = self.mask_in.bits.val();
        self.mask_out.bits.next = self.masks.out_data.val();
        self.context_in.record.next = self.mask_context.val();
        self.contexts_in.in_valid.next = self.mask_valid.val();
        self.contexts_in.in_data.next = self.context_in.bits.val();
        self.mask_ready.next = self.masks.in_ready.val();
        self.unused.next = self.mask_out.record.val().chunk_start;

        // Groups of the last mask leave one a cycle; with its last group the masks behind advance.
        self.left.next = self.stage_total[2].q.val() - (bit_cast::<10, 3>(self.group.q.val()) << 6);
        self.final_group.next = self.left.val() <= 64;
        self.empty.next = !self.stage_total[2].q.val().any() && !self.stage_tag[6].q.val().turn_end;
        self.room.next = self.rows.free.val() >= 2;
        self.issue.next = self.stage_valid[6].q.val() && !self.empty.val() && self.room.val();
        self.go.next = !self.stage_valid[6].q.val()
            || self.empty.val()
            || (self.room.val() && self.final_group.val());
        if self.issue.val() {
            self.group.d.next = self.group.q.val() + 1;
            if self.final_group.val() {
                self.group.d.next = 0.into();
            }
        }

        // A mask is loaded, together with its context if it is the first one of its turn.
        self.load.next =
            self.masks.out_valid.val() && self.go.val() && self.contexts.in_ready.val();
        self.masks.out_ready.next = self.go.val() && self.contexts.in_ready.val();
        self.contexts_in.out_ready.next = self.go.val() && self.contexts.in_ready.val();
        self.contexts.in_valid.next =
            self.masks.out_valid.val() && self.go.val() && self.turn_begins.q.val();
        self.contexts.in_data.next = self.contexts_in.out_data.val();
        if self.load.val() {
            self.turn_begins.d.next = self.mask_out.record.val().turn_end;
        }

        // Ranks, then moves.
        self.tag.next.word = self.mask_out.record.val().word;
        self.tag.next.turn_end = self.mask_out.record.val().turn_end;
        self.tag.next.chunk_end = self.mask_out.record.val().chunk_end;
        self.tag.next.last = self.mask_out.record.val().last;
        self.ranks.enable.next = self.go.val();
        self.ranks.bits.next = self.mask_out.record.val().bits;
        for i in 0..8 {
            self.pieces[i].enable.next = self.go.val();
            self.pieces[i].bits.next = self.ranks.delayed.val().get_bits::<64>(i * 64);
            self.pieces[i].ahead.next = self.ranks.ahead.val().get_bits::<56>(i * 56);
        }
        if self.go.val() {
            self.stage_valid[0].d.next = self.load.val();
            self.stage_tag[0].d.next = self.tag.val();
            for k in 0..6 {
                self.stage_valid[k + 1].d.next = self.stage_valid[k].q.val();
                self.stage_tag[k + 1].d.next = self.stage_tag[k].q.val();
            }
            self.stage_total[0].d.next = self.ranks.total.val();
            self.stage_piece[0].d.next = self.ranks.piece.val();
            for k in 0..2 {
                self.stage_total[k + 1].d.next = self.stage_total[k].q.val();
                self.stage_piece[k + 1].d.next = self.stage_piece[k].q.val();
            }
        }

        // The rows of the group in each piece: the ranks of a piece belong to at most two groups.
        self.parity.next = 0.into();
        if self.group.q.val().get_bit(0) {
            self.parity.next = !self.parity.val();
        }
        for i in 0..8 {
            self.first[i].next = self.stage_piece[2].q.val().get_bits::<3>(i * 3);
            self.hit[i].next = (self.first[i].val() == self.group.q.val())
                || ((self.first[i].val() + 1) == self.group.q.val());
            self.take[i].next = 0.into();
            if self.hit[i].val() {
                self.take[i].next =
                    self.pieces[i].valid.val() & !(self.pieces[i].odd.val() ^ self.parity.val());
            }
        }
        for b in 0..9 {
            self.out_plane[b].d.next = 0.into();
        }
        for i in 0..8 {
            for b in 0..6 {
                self.out_plane[b].d.next = self.out_plane[b].d.val()
                    | (self.pieces[i].place[b].val() & self.take[i].val());
            }
            for b in 0..3 {
                if self.numbers[i].val().get_bit(b) {
                    self.out_plane[b + 6].d.next =
                        self.out_plane[b + 6].d.val() | self.take[i].val();
                }
            }
        }
        self.out_valid.d.next = self.issue.val();
        self.out_tag.d.next = self.stage_tag[6].q.val();
        self.out_count.d.next = self.left.val().get_bits::<7>(0);
        if !self.final_group.val() {
            self.out_count.d.next = 64.into();
            self.out_tag.d.next.turn_end = false;
            self.out_tag.d.next.chunk_end = false;
            self.out_tag.d.next.last = false;
        }

        // The planes become numbers.
        for s in 0..64 {
            self.number[s].next = 0.into();
            for b in 0..9 {
                self.number[s].next =
                    self.number[s].val().replace_bit(b, self.out_plane[b].q.val().get_bit(s));
            }
            self.offsets.parts[s].next = self.number[s].val();
        }
        self.group_out.next.count = self.out_count.q.val();
        self.group_out.next.offset = self.offsets.whole.val();
        self.group_out.next.word = self.out_tag.q.val().word;
        self.group_out.next.turn_end = self.out_tag.q.val().turn_end;
        self.group_out.next.chunk_end = self.out_tag.q.val().chunk_end;
        self.group_out.next.last = self.out_tag.q.val().last;
        self.rows_in.record.next = self.group_out.val();
        self.rows.in_valid.next = self.out_valid.q.val();
        self.rows.in_data.next = self.rows_in.bits.val();

        // Rows leave with the context of their turn.
        self.offered.next = self.rows.out_valid.val() && self.contexts.out_valid.val();
        self.rows_valid.next = self.offered.val();
        self.rows_out.bits.next = self.rows.out_data.val();
        self.context_out.bits.next = self.contexts.out_data.val();
        self.rows_count.next = self.rows_out.record.val().count;
        self.rows_offset.next = self.rows_out.record.val().offset;
        self.rows_word.next = self.rows_out.record.val().word;
        self.rows_turn_end.next = self.rows_out.record.val().turn_end;
        self.rows_chunk_end.next = self.rows_out.record.val().chunk_end;
        self.rows_last.next = self.rows_out.record.val().last;
        self.rows_context.next = self.context_out.record.val();
        self.rows.out_ready.next = self.rows_ready.val() && self.contexts.out_valid.val();
        self.contexts.out_ready.next = self.rows_ready.val()
            && self.rows.out_valid.val()
            && self.rows_out.record.val().turn_end;

        // A turn holds its context from its first mask to its last rows. A mask in the middle of a turn may leave
        // nothing else behind, but then another mask follows.
        self.idle.next = !self.masks.out_valid.val() && (self.contexts.count.val() == 0);

        if self.rst.val() {
            self.turn_begins.d.next = true;
            self.group.d.next = 0.into();
            self.out_valid.d.next = false;
            for k in 0..7 {
                self.stage_valid[k].d.next = false;
            }
        }
    }
}
