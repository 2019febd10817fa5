//! The numbers of the selected rows, up to 16 a cycle.

use super::compact::Compact;
use super::record::{MASK_BITS, Mask, ROW_GROUP_BITS, RowGroup, Tag};
use crate::primitive::{CountOnes, Fifo, Flatten, Pack, Restore, Select, Stage};
use crate::rows::sequencer::record::{CONTEXT_BITS, Context};
use rust_hdl_core::prelude::*;
use rust_hdl_widgets::prelude::*;

/// Takes masks apart into the offsets of their rows.
///
/// A mask is 32 pieces of 16 bits. Each cycle the next 5 pieces that are not empty make a batch; a
/// batch goes out in as few groups of whole pieces as hold at most 16 rows each. A mask without
/// rows costs a cycle; masks follow each other without a gap. Rows a cycle: 16 if all bits are
/// set, 11 of every second at random, 7 of one in 16, 4 of one in 64. 13 cycles from a mask to its
/// first rows. May stall at any time.
/// A group without rows is given only where a turn ends so.
///
/// # Inputs
/// `mask` stream: the fields of [`Mask`] and `context`; `rows_ready`.
///
/// # Outputs
/// `mask_ready`; `rows` stream: the fields of [`RowGroup`] (offsets beyond `count` mean nothing)
/// and `context`. `idle`: no mask is held, and no rows wait.
#[derive(LogicBlock)]
pub struct Scanner {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// A mask is offered.
    pub mask_valid: Signal<In, Bit>,
    /// It is taken.
    pub mask_ready: Signal<Out, Bit>,
    /// The rows that are selected.
    pub mask_bits: Signal<In, Bits<512>>,
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
    /// What the rows have in common.
    pub mask_context: Signal<In, Context>,
    /// Rows are offered.
    pub rows_valid: Signal<Out, Bit>,
    /// They are taken.
    pub rows_ready: Signal<In, Bit>,
    /// How many, 0 to 16.
    pub rows_count: Signal<Out, Bits<5>>,
    /// Their offsets in the chunk, 12 bits each.
    pub rows_offset: Signal<Out, Bits<192>>,
    /// The last rows of a turn.
    pub rows_turn_end: Signal<Out, Bit>,
    /// The last rows of a chunk.
    pub rows_chunk_end: Signal<Out, Bit>,
    /// The last rows of a destination.
    pub rows_last: Signal<Out, Bit>,
    /// What the rows have in common.
    pub rows_context: Signal<Out, Context>,
    /// Nothing is at work.
    pub idle: Signal<Out, Bit>,

    mask: Signal<Local, Mask>,
    mask_in: Flatten<Mask, MASK_BITS>,
    masks: Stage<MASK_BITS>,
    // The pieces of a mask that are not empty.
    found: Signal<Local, Bits<32>>,
    flags_in: Stage<32>,
    mask_out: Restore<Mask, MASK_BITS>,
    context_in: Flatten<Context, CONTEXT_BITS>,
    contexts_in: Stage<CONTEXT_BITS>,
    // Contexts go round the pipeline: one a turn.
    contexts: Fifo<CONTEXT_BITS, 5, 6>,
    context_out: Restore<Context, CONTEXT_BITS>,
    turn_begins: DFF<Bit>,
    free: Signal<Local, Bit>,
    load: Signal<Local, Bit>,
    // The mask, and its pieces that are still to go.
    work_valid: DFF<Bit>,
    work: DFF<Bits<512>>,
    work_tag: DFF<Tag>,
    flags: DFF<Bits<32>>,
    // How many.
    left: DFF<Bits<6>>,
    all_pieces: CountOnes<32, 6>,
    ends: Signal<Local, Bit>,
    // Pieces to go below each piece, up to 7, as planes: of the 2, 4, .. 32 pieces below.
    low: [Signal<Local, Bits<32>>; 6],
    mid: [Signal<Local, Bits<32>>; 6],
    high: [Signal<Local, Bits<32>>; 6],
    mid_carry: [Signal<Local, Bits<32>>; 5],
    high_carry: [Signal<Local, Bits<32>>; 5],
    over: [Signal<Local, Bits<32>>; 5],
    steps: [Constant<Bits<5>>; 5],
    ones: Constant<Bits<32>>,
    few: Signal<Local, Bits<32>>,
    rest: Signal<Local, Bits<32>>,
    go: Signal<Local, Bit>,
    // The batch: which pieces.
    picked_valid: DFF<Bit>,
    picked: [DFF<Bits<32>>; 5],
    held: DFF<Bits<512>>,
    picked_tag: DFF<Tag>,
    select: Vec<Select<32, 16>>,
    // The pieces, and their numbers.
    piece_valid: DFF<Bit>,
    piece: [DFF<Bits<16>>; 5],
    piece_number: [DFF<Bits<5>>; 5],
    piece_tag: DFF<Tag>,
    numbers: [Constant<Bits<32>>; 5],
    count_ones: Vec<CountOnes<16, 5>>,
    // The rows of each.
    counted_valid: DFF<Bit>,
    counted: [DFF<Bits<16>>; 5],
    counted_number: [DFF<Bits<5>>; 5],
    counted_rows: [DFF<Bits<5>>; 5],
    counted_tag: DFF<Tag>,
    two: [Signal<Local, Bits<7>>; 4],
    three: [Signal<Local, Bits<7>>; 3],
    four: [Signal<Local, Bits<7>>; 2],
    five: Signal<Local, Bits<7>>,
    // The batch that goes out; which pieces fit together with the first one to go.
    batch_valid: DFF<Bit>,
    batch: [DFF<Bits<16>>; 5],
    batch_number: [DFF<Bits<5>>; 5],
    batch_rows: [DFF<Bits<5>>; 5],
    batch_tag: DFF<Tag>,
    fits: [DFF<Bits<5>>; 5],
    start: DFF<Bits<5>>,
    take: Signal<Local, Bits<5>>,
    room: Signal<Local, Bit>,
    issue: Signal<Local, Bit>,
    // A group: its pieces, their rows; then the places of their first rows.
    group_valid: DFF<Bit>,
    group: [DFF<Bits<16>>; 5],
    group_rows: [DFF<Bits<5>>; 5],
    group_number: [DFF<Bits<5>>; 5],
    group_tag: DFF<Tag>,
    listed_valid: DFF<Bit>,
    listed_count: DFF<Bits<5>>,
    listed_base: [DFF<Bits<5>>; 5],
    listed_number: [DFF<Bits<5>>; 5],
    listed_tag: DFF<Tag>,
    lists: Vec<Compact>,
    settled_valid: DFF<Bit>,
    settled_count: DFF<Bits<5>>,
    settled_base: [DFF<Bits<5>>; 5],
    settled_number: [DFF<Bits<5>>; 5],
    settled_tag: DFF<Tag>,
    placed_valid: DFF<Bit>,
    placed_count: DFF<Bits<5>>,
    placed_base: [DFF<Bits<5>>; 5],
    placed_number: [DFF<Bits<5>>; 5],
    placed_tag: DFF<Tag>,
    // Joined: planes of the lower bits, and which piece a place belongs to.
    joined_valid: DFF<Bit>,
    joined_count: DFF<Bits<5>>,
    joined_place: [DFF<Bits<16>>; 4],
    joined_of: [DFF<Bits<16>>; 5],
    joined_number: [DFF<Bits<5>>; 5],
    joined_tag: DFF<Tag>,
    number: [Signal<Local, Bits<12>>; 16],
    offsets: Pack<16, 12, 192>,
    group_out: Signal<Local, RowGroup>,
    rows_in: Flatten<RowGroup, ROW_GROUP_BITS>,
    rows: Fifo<ROW_GROUP_BITS, 4, 5>,
    rows_out: Restore<RowGroup, ROW_GROUP_BITS>,
    offered: Signal<Local, Bit>,
    unused: Signal<Local, Bit>,
}

impl Default for Scanner {
    fn default() -> Self {
        let number =
            |b: usize| (0..32_usize).filter(|i| i >> b & 1 == 1).fold(0, |m, i| m | 1 << i);
        Self {
            clk: Default::default(),
            rst: Default::default(),
            mask_valid: Default::default(),
            mask_ready: Default::default(),
            mask_bits: Default::default(),
            mask_word: Default::default(),
            mask_chunk_start: Default::default(),
            mask_turn_end: Default::default(),
            mask_chunk_end: Default::default(),
            mask_last: Default::default(),
            mask_context: Default::default(),
            rows_valid: Default::default(),
            rows_ready: Default::default(),
            rows_count: Default::default(),
            rows_offset: Default::default(),
            rows_turn_end: Default::default(),
            rows_chunk_end: Default::default(),
            rows_last: Default::default(),
            rows_context: Default::default(),
            idle: Default::default(),
            mask: Default::default(),
            mask_in: Default::default(),
            masks: Default::default(),
            found: Default::default(),
            flags_in: Default::default(),
            mask_out: Default::default(),
            context_in: Default::default(),
            contexts_in: Default::default(),
            contexts: Default::default(),
            context_out: Default::default(),
            turn_begins: Default::default(),
            free: Default::default(),
            load: Default::default(),
            work_valid: Default::default(),
            work: Default::default(),
            work_tag: Default::default(),
            flags: Default::default(),
            left: Default::default(),
            all_pieces: Default::default(),
            ends: Default::default(),
            low: Default::default(),
            mid: Default::default(),
            high: Default::default(),
            mid_carry: Default::default(),
            high_carry: Default::default(),
            over: Default::default(),
            few: Default::default(),
            rest: Default::default(),
            go: Default::default(),
            picked_valid: Default::default(),
            picked: Default::default(),
            held: Default::default(),
            picked_tag: Default::default(),
            piece_valid: Default::default(),
            piece: Default::default(),
            piece_number: Default::default(),
            piece_tag: Default::default(),
            counted_valid: Default::default(),
            counted: Default::default(),
            counted_number: Default::default(),
            counted_rows: Default::default(),
            counted_tag: Default::default(),
            two: Default::default(),
            three: Default::default(),
            four: Default::default(),
            five: Default::default(),
            batch_valid: Default::default(),
            batch: Default::default(),
            batch_number: Default::default(),
            batch_rows: Default::default(),
            batch_tag: Default::default(),
            fits: Default::default(),
            start: Default::default(),
            take: Default::default(),
            room: Default::default(),
            issue: Default::default(),
            group_valid: Default::default(),
            group: Default::default(),
            group_rows: Default::default(),
            group_number: Default::default(),
            group_tag: Default::default(),
            listed_valid: Default::default(),
            listed_count: Default::default(),
            listed_base: Default::default(),
            listed_number: Default::default(),
            listed_tag: Default::default(),
            settled_valid: Default::default(),
            settled_count: Default::default(),
            settled_base: Default::default(),
            settled_number: Default::default(),
            settled_tag: Default::default(),
            placed_valid: Default::default(),
            placed_count: Default::default(),
            placed_base: Default::default(),
            placed_number: Default::default(),
            placed_tag: Default::default(),
            joined_valid: Default::default(),
            joined_count: Default::default(),
            joined_place: Default::default(),
            joined_of: Default::default(),
            joined_number: Default::default(),
            joined_tag: Default::default(),
            number: Default::default(),
            offsets: Default::default(),
            group_out: Default::default(),
            rows_in: Default::default(),
            rows: Default::default(),
            rows_out: Default::default(),
            offered: Default::default(),
            unused: Default::default(),
            steps: array_init::array_init(|k| Constant::new((1_usize << k).to_bits())),
            ones: Constant::new(u64::from(u32::MAX).to_bits()),
            numbers: array_init::array_init(|b| {
                let mask: usize = number(b);
                Constant::new(mask.to_bits())
            }),
            select: (0..5).map(|_| Default::default()).collect(),
            count_ones: (0..5).map(|_| Default::default()).collect(),
            lists: (0..5).map(|_| Default::default()).collect(),
        }
    }
}

impl Logic for Scanner {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self,
            clk,
            turn_begins,
            work_valid,
            work,
            work_tag,
            flags,
            left,
            picked_valid,
            held,
            picked_tag,
            piece_valid,
            piece_tag,
            counted_valid,
            counted_tag,
            batch_valid,
            batch_tag,
            start,
            group_valid,
            group_tag,
            listed_valid,
            listed_count,
            listed_tag,
            settled_valid,
            settled_count,
            settled_tag,
            placed_valid,
            placed_count,
            placed_tag,
            joined_valid,
            joined_count,
            joined_tag
        );
        self.masks.clk.next = self.clk.val();
        self.masks.rst.next = self.rst.val();
        self.flags_in.clk.next = self.clk.val();
        self.flags_in.rst.next = self.rst.val();
        self.contexts_in.clk.next = self.clk.val();
        self.contexts_in.rst.next = self.rst.val();
        self.contexts.clk.next = self.clk.val();
        self.contexts.rst.next = self.rst.val();
        self.rows.clk.next = self.clk.val();
        self.rows.rst.next = self.rst.val();
        for k in 0..5 {
            self.picked[k].clock.next = self.clk.val();
            self.picked[k].d.next = self.picked[k].q.val();
            self.piece[k].clock.next = self.clk.val();
            self.piece[k].d.next = self.piece[k].q.val();
            self.piece_number[k].clock.next = self.clk.val();
            self.piece_number[k].d.next = self.piece_number[k].q.val();
            self.counted[k].clock.next = self.clk.val();
            self.counted[k].d.next = self.counted[k].q.val();
            self.counted_number[k].clock.next = self.clk.val();
            self.counted_number[k].d.next = self.counted_number[k].q.val();
            self.counted_rows[k].clock.next = self.clk.val();
            self.counted_rows[k].d.next = self.counted_rows[k].q.val();
            self.batch[k].clock.next = self.clk.val();
            self.batch[k].d.next = self.batch[k].q.val();
            self.batch_number[k].clock.next = self.clk.val();
            self.batch_number[k].d.next = self.batch_number[k].q.val();
            self.batch_rows[k].clock.next = self.clk.val();
            self.batch_rows[k].d.next = self.batch_rows[k].q.val();
            self.fits[k].clock.next = self.clk.val();
            self.fits[k].d.next = self.fits[k].q.val();
            self.group[k].clock.next = self.clk.val();
            self.group[k].d.next = self.group[k].q.val();
            self.group_rows[k].clock.next = self.clk.val();
            self.group_rows[k].d.next = self.group_rows[k].q.val();
            self.group_number[k].clock.next = self.clk.val();
            self.group_number[k].d.next = self.group_number[k].q.val();
            self.listed_base[k].clock.next = self.clk.val();
            self.listed_base[k].d.next = self.listed_base[k].q.val();
            self.listed_number[k].clock.next = self.clk.val();
            self.listed_number[k].d.next = self.listed_number[k].q.val();
            self.settled_base[k].clock.next = self.clk.val();
            self.settled_base[k].d.next = self.settled_base[k].q.val();
            self.placed_base[k].clock.next = self.clk.val();
            self.placed_base[k].d.next = self.placed_base[k].q.val();
            self.settled_number[k].clock.next = self.clk.val();
            self.settled_number[k].d.next = self.settled_number[k].q.val();
            self.placed_number[k].clock.next = self.clk.val();
            self.placed_number[k].d.next = self.placed_number[k].q.val();
            self.joined_of[k].clock.next = self.clk.val();
            self.joined_of[k].d.next = self.joined_of[k].q.val();
            self.joined_number[k].clock.next = self.clk.val();
            self.joined_number[k].d.next = self.joined_number[k].q.val();
        }
        for b in 0..4 {
            self.joined_place[b].clock.next = self.clk.val();
        }

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
        self.found.next = 0.into();
        for k in 0..32 {
            self.found.next =
                self.found.val().replace_bit(k, self.mask_bits.val().get_bits::<16>(k * 16).any());
        }
        self.flags_in.in_valid.next = self.mask_valid.val();
        self.flags_in.in_data.next = self.found.val();
        self.all_pieces.bits.next = self.flags_in.out_data.val();
        self.unused.next = self.mask_out.record.val().chunk_start;

        // The batch goes out whole: the pipeline before it moves on.
        self.room.next = self.rows.free.val() >= 8;
        self.take.next = 0.into();
        for j in 0..5 {
            if self.start.q.val().get_bit(j) {
                self.take.next = self.take.val() | self.fits[j].q.val();
            }
        }
        self.issue.next = self.batch_valid.q.val() && self.room.val();
        self.go.next =
            !self.batch_valid.q.val() || (self.issue.val() && self.take.val().get_bit(4));

        // The first five pieces of those that are still to go.
        self.ends.next = self.left.q.val() <= 5;
        self.low[0].next = self.flags.q.val() << 1;
        self.mid[0].next = 0.into();
        self.high[0].next = 0.into();
        for k in 0..5 {
            self.mid_carry[k].next = self.low[k].val() & (self.low[k].val() << self.steps[k].val());
            self.high_carry[k].next = (self.mid[k].val()
                & (self.mid[k].val() << self.steps[k].val()))
                | (self.mid_carry[k].val()
                    & (self.mid[k].val() ^ (self.mid[k].val() << self.steps[k].val())));
            self.over[k].next = (self.high[k].val() & (self.high[k].val() << self.steps[k].val()))
                | (self.high_carry[k].val()
                    & (self.high[k].val() ^ (self.high[k].val() << self.steps[k].val())));
            self.low[k + 1].next = (self.low[k].val() ^ (self.low[k].val() << self.steps[k].val()))
                | self.over[k].val();
            self.mid[k + 1].next = (self.mid[k].val()
                ^ (self.mid[k].val() << self.steps[k].val())
                ^ self.mid_carry[k].val())
                | self.over[k].val();
            self.high[k + 1].next = (self.high[k].val()
                ^ (self.high[k].val() << self.steps[k].val())
                ^ self.high_carry[k].val())
                | self.over[k].val();
        }
        self.few.next = self.flags.q.val() & (self.high[5].val() ^ self.ones.val());
        self.rest.next =
            self.flags.q.val() & self.high[5].val() & (self.low[5].val() | self.mid[5].val());
        if self.go.val() {
            self.picked_valid.d.next = self.work_valid.q.val();
            self.picked[0].d.next =
                self.few.val() & ((self.low[5].val() | self.mid[5].val()) ^ self.ones.val());
            self.picked[1].d.next =
                self.few.val() & self.low[5].val() & (self.mid[5].val() ^ self.ones.val());
            self.picked[2].d.next =
                self.few.val() & self.mid[5].val() & (self.low[5].val() ^ self.ones.val());
            self.picked[3].d.next = self.few.val() & self.low[5].val() & self.mid[5].val();
            self.picked[4].d.next =
                self.flags.q.val() & self.high[5].val() & (self.rest.val() ^ self.ones.val());
            self.held.d.next = self.work.q.val();
            self.picked_tag.d.next = self.work_tag.q.val();
            if !self.ends.val() {
                self.picked_tag.d.next.turn_end = false;
                self.picked_tag.d.next.chunk_end = false;
                self.picked_tag.d.next.last = false;
            }
            self.flags.d.next = self.rest.val();
            self.left.d.next = self.left.q.val() - 5;
        }

        // The next mask.
        self.free.next = !self.work_valid.q.val() || (self.go.val() && self.ends.val());
        self.load.next =
            self.masks.out_valid.val() && self.free.val() && self.contexts.in_ready.val();
        self.masks.out_ready.next = self.free.val() && self.contexts.in_ready.val();
        self.flags_in.out_ready.next = self.free.val() && self.contexts.in_ready.val();
        self.contexts_in.out_ready.next = self.free.val() && self.contexts.in_ready.val();
        self.contexts.in_valid.next =
            self.masks.out_valid.val() && self.free.val() && self.turn_begins.q.val();
        self.contexts.in_data.next = self.contexts_in.out_data.val();
        if self.free.val() {
            self.work_valid.d.next = self.load.val();
            self.work.d.next = self.mask_out.record.val().bits;
            self.work_tag.d.next.word = self.mask_out.record.val().word;
            self.work_tag.d.next.turn_end = self.mask_out.record.val().turn_end;
            self.work_tag.d.next.chunk_end = self.mask_out.record.val().chunk_end;
            self.work_tag.d.next.last = self.mask_out.record.val().last;
            self.flags.d.next = self.flags_in.out_data.val();
            self.left.d.next = self.all_pieces.count.val();
        }
        if self.load.val() {
            self.turn_begins.d.next = self.mask_out.record.val().turn_end;
        }

        // The batch's pieces, their numbers, their rows, and which of them fit a group.
        for k in 0..5 {
            self.select[k].choice.next = self.picked[k].q.val();
            for i in 0..32 {
                self.select[k].values[i].next = self.held.q.val().get_bits::<16>(i * 16);
            }
            self.count_ones[k].bits.next = self.piece[k].q.val();
        }
        for j in 0..4 {
            self.two[j].next = self.counted_rows[j].q.val().get_bits::<7>(0)
                + self.counted_rows[j + 1].q.val().get_bits::<7>(0);
        }
        for j in 0..3 {
            self.three[j].next =
                self.two[j].val() + self.counted_rows[j + 2].q.val().get_bits::<7>(0);
        }
        for j in 0..2 {
            self.four[j].next = self.two[j].val() + self.two[j + 2].val();
        }
        self.five.next = self.four[0].val() + self.counted_rows[4].q.val().get_bits::<7>(0);
        if self.go.val() {
            self.piece_valid.d.next = self.picked_valid.q.val();
            self.piece_tag.d.next = self.picked_tag.q.val();
            self.counted_valid.d.next = self.piece_valid.q.val();
            self.counted_tag.d.next = self.piece_tag.q.val();
            self.batch_valid.d.next = self.counted_valid.q.val();
            self.batch_tag.d.next = self.counted_tag.q.val();
            for k in 0..5 {
                self.piece[k].d.next = self.select[k].value.val();
                for b in 0..5 {
                    self.piece_number[k].d.next = self.piece_number[k]
                        .d
                        .val()
                        .replace_bit(b, (self.picked[k].q.val() & self.numbers[b].val()).any());
                }
                self.counted[k].d.next = self.piece[k].q.val();
                self.counted_number[k].d.next = self.piece_number[k].q.val();
                self.counted_rows[k].d.next = self.count_ones[k].count.val();
                self.batch[k].d.next = self.counted[k].q.val();
                self.batch_number[k].d.next = self.counted_number[k].q.val();
                self.batch_rows[k].d.next = self.counted_rows[k].q.val();
                self.fits[k].d.next = 0.into();
                self.fits[k].d.next = self.fits[k].d.val().replace_bit(k, true);
            }
            for j in 0..4 {
                self.fits[j].d.next =
                    self.fits[j].d.val().replace_bit(j + 1, self.two[j].val() <= 16);
            }
            for j in 0..3 {
                self.fits[j].d.next =
                    self.fits[j].d.val().replace_bit(j + 2, self.three[j].val() <= 16);
            }
            for j in 0..2 {
                self.fits[j].d.next =
                    self.fits[j].d.val().replace_bit(j + 3, self.four[j].val() <= 16);
            }
            self.fits[0].d.next = self.fits[0].d.val().replace_bit(4, self.five.val() <= 16);
        }

        // A group: as many of the batch's pieces as fit.
        if self.issue.val() {
            // The first piece behind the last one taken.
            self.start.d.next =
                (self.take.val() << 1) & (self.take.val() ^ self.ones.val().get_bits::<5>(0));
            if self.take.val().get_bit(4) {
                self.start.d.next = 1.into();
            }
        }
        self.group_valid.d.next = self.issue.val();
        self.group_tag.d.next = self.batch_tag.q.val();
        if !self.take.val().get_bit(4) {
            self.group_tag.d.next.turn_end = false;
            self.group_tag.d.next.chunk_end = false;
            self.group_tag.d.next.last = false;
        }
        for k in 0..5 {
            self.group[k].d.next = 0.into();
            self.group_rows[k].d.next = 0.into();
            if self.take.val().get_bit(k) {
                self.group[k].d.next = self.batch[k].q.val();
                self.group_rows[k].d.next = self.batch_rows[k].q.val();
            }
            self.group_number[k].d.next = self.batch_number[k].q.val();
        }

        // Each piece becomes a list; the lists are joined.
        self.listed_valid.d.next = self.group_valid.q.val();
        self.listed_tag.d.next = self.group_tag.q.val();
        self.listed_base[0].d.next = 0.into();
        self.listed_base[1].d.next = self.group_rows[0].q.val();
        self.listed_base[2].d.next = self.group_rows[0].q.val() + self.group_rows[1].q.val();
        self.listed_base[3].d.next =
            (self.group_rows[0].q.val() + self.group_rows[1].q.val()) + self.group_rows[2].q.val();
        self.listed_base[4].d.next = (self.group_rows[0].q.val() + self.group_rows[1].q.val())
            + (self.group_rows[2].q.val() + self.group_rows[3].q.val());
        self.listed_count.d.next = ((self.group_rows[0].q.val() + self.group_rows[1].q.val())
            + (self.group_rows[2].q.val() + self.group_rows[3].q.val()))
            + self.group_rows[4].q.val();
        // A group without rows counts only as the end of a turn.
        self.settled_valid.d.next = self.listed_valid.q.val()
            && ((self.listed_count.q.val() != 0) || self.listed_tag.q.val().turn_end);
        self.settled_tag.d.next = self.listed_tag.q.val();
        self.settled_count.d.next = self.listed_count.q.val();
        self.placed_valid.d.next = self.settled_valid.q.val();
        self.placed_tag.d.next = self.settled_tag.q.val();
        self.placed_count.d.next = self.settled_count.q.val();
        self.joined_valid.d.next = self.placed_valid.q.val();
        self.joined_tag.d.next = self.placed_tag.q.val();
        self.joined_count.d.next = self.placed_count.q.val();
        for b in 0..4 {
            self.joined_place[b].d.next = 0.into();
        }
        for k in 0..5 {
            self.lists[k].clk.next = self.clk.val();
            self.lists[k].bits.next = self.group[k].q.val();
            self.listed_number[k].d.next = self.group_number[k].q.val();
            self.settled_base[k].d.next = self.listed_base[k].q.val();
            self.placed_base[k].d.next = self.settled_base[k].q.val();
            self.settled_number[k].d.next = self.listed_number[k].q.val();
            self.placed_number[k].d.next = self.settled_number[k].q.val();
            for b in 0..4 {
                self.joined_place[b].d.next = self.joined_place[b].d.val()
                    | (self.lists[k].place[b].val() << self.placed_base[k].q.val());
            }
            self.joined_of[k].d.next = self.lists[k].valid.val() << self.placed_base[k].q.val();
            self.joined_number[k].d.next = self.placed_number[k].q.val();
        }

        // Word, piece, bit.
        for s in 0..16 {
            self.number[s].next = 0.into();
            for k in 0..5 {
                if self.joined_of[k].q.val().get_bit(s) {
                    self.number[s].next = self.number[s].val()
                        | (self.joined_number[k].q.val().get_bits::<12>(0) << 4);
                }
            }
            for b in 0..4 {
                self.number[s].next =
                    self.number[s].val().replace_bit(b, self.joined_place[b].q.val().get_bit(s));
            }
            self.offsets.parts[s].next =
                self.number[s].val() | (bit_cast::<12, 3>(self.joined_tag.q.val().word) << 9);
        }
        self.group_out.next.count = self.joined_count.q.val();
        self.group_out.next.offset = self.offsets.whole.val();
        self.group_out.next.turn_end = self.joined_tag.q.val().turn_end;
        self.group_out.next.chunk_end = self.joined_tag.q.val().chunk_end;
        self.group_out.next.last = self.joined_tag.q.val().last;
        self.rows_in.record.next = self.group_out.val();
        self.rows.in_valid.next = self.joined_valid.q.val();
        self.rows.in_data.next = self.rows_in.bits.val();

        // Out, with the turn's context.
        self.offered.next = self.rows.out_valid.val() && self.contexts.out_valid.val();
        self.rows_valid.next = self.offered.val();
        self.rows_out.bits.next = self.rows.out_data.val();
        self.context_out.bits.next = self.contexts.out_data.val();
        self.rows_count.next = self.rows_out.record.val().count;
        self.rows_offset.next = self.rows_out.record.val().offset;
        self.rows_turn_end.next = self.rows_out.record.val().turn_end;
        self.rows_chunk_end.next = self.rows_out.record.val().chunk_end;
        self.rows_last.next = self.rows_out.record.val().last;
        self.rows_context.next = self.context_out.record.val();
        self.rows.out_ready.next = self.rows_ready.val() && self.contexts.out_valid.val();
        self.contexts.out_ready.next = self.rows_ready.val()
            && self.rows.out_valid.val()
            && self.rows_out.record.val().turn_end;

        // A turn holds its context from its first mask to its last rows. A mask in the middle of
        // a turn may leave nothing else behind, and another is to come.
        self.idle.next = !self.masks.out_valid.val()
            && !self.work_valid.q.val()
            && (self.contexts.count.val() == 0);

        if self.rst.val() {
            self.turn_begins.d.next = true;
            self.work_valid.d.next = false;
            self.picked_valid.d.next = false;
            self.piece_valid.d.next = false;
            self.counted_valid.d.next = false;
            self.batch_valid.d.next = false;
            self.start.d.next = 1.into();
            self.group_valid.d.next = false;
            self.listed_valid.d.next = false;
            self.settled_valid.d.next = false;
            self.placed_valid.d.next = false;
            self.joined_valid.d.next = false;
        }
    }
}
