//! Cuts beats at blocks, for the planner: first the pieces in the blocks where the fragments start; then, if any
//! fragment crosses into the next block, the pieces there.
//!
//! Three stages before a register slice: cut; add one to the block of second pieces; compare with the block before in
//! the same slot of the lane and with the blocks of the other lanes. A beat without a crossing takes 1 cycle, one with
//! a crossing 2.

use super::{FIELDS, LANES, SHAPE, SLOT, TAG};
use crate::primitive::{Concat, EqualPairs, Lutram, Pack, Skid};
use drdma_emit::prelude::*;

/// Bits of a piece that is offered.
const OFFERED: usize = 896 + 256 + 58 + SHAPE;
/// Bit of a piece that is offered at which its shape starts.
const SHAPE_AT: usize = OFFERED - SHAPE;

/// Cuts beats into pieces; see the module.
#[derive(LogicBlock, Default)]
pub struct Splitter {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,

    /// A beat is offered.
    pub beat_valid: Signal<In, Bit>,
    /// The beat is taken in this cycle.
    pub beat_ready: Signal<Out, Bit>,
    /// Host addresses of the fragments (16 x 64 bits).
    pub beat_addr: Signal<In, Bits<1024>>,
    /// Lengths of the fragments in bytes (16 x 7 bits); 0: no fragment.
    pub beat_len: Signal<In, Bits<112>>,
    /// Positions of the fragments in the payload (16 x 6 bits).
    pub beat_pos: Signal<In, Bits<96>>,
    /// Fields that pass beside the fragments.
    pub beat_fields: Signal<In, Bits<FIELDS>>,
    /// Estimated number of blocks of the chunk that the beat starts.
    pub beat_chunk_blocks: Signal<In, Bits<8>>,
    /// The beat starts a chunk.
    pub beat_chunk_start: Signal<In, Bit>,

    /// Pieces are offered.
    pub piece_valid: Signal<Out, Bit>,
    /// Other pieces are behind the offered ones.
    pub more_pieces: Signal<Out, Bit>,
    /// The pieces are taken at the end of this cycle.
    pub piece_ready: Signal<In, Bit>,
    /// Bit `i`: lane `i` has a piece.
    pub piece_used: Signal<Out, Bits<LANES>>,
    /// Bit `i`: the block of lane `i` is that of its last piece in the same slot.
    pub piece_same: Signal<Out, Bits<LANES>>,
    /// Bit `i`: the last piece of lane `i` had another slot.
    pub piece_moves: Signal<Out, Bits<LANES>>,
    /// Number of each lane's block.
    pub piece_block: [Signal<Out, Bits<56>>; LANES],
    /// Lanes with the same block as lane `i`, one bit each.
    pub piece_equal: [Signal<Out, Bits<LANES>>; LANES],
    /// Offset of each piece in its block, in bytes (16 x 8 bits).
    pub piece_offset: Signal<Out, Bits<128>>,
    /// Length of each piece in bytes (16 x 7 bits).
    pub piece_len: Signal<Out, Bits<112>>,
    /// Position of each piece in the payload (16 x 6 bits).
    pub piece_pos: Signal<Out, Bits<96>>,
    /// Fields that pass beside the pieces.
    pub piece_fields: Signal<Out, Bits<FIELDS>>,
    /// The pieces are the last ones of their beat.
    pub piece_end: Signal<Out, Bit>,
    /// The pieces are the first ones of a chunk.
    pub piece_chunk_start: Signal<Out, Bit>,
    /// Estimated number of blocks of the chunk.
    pub piece_chunk_blocks: Signal<Out, Bits<8>>,

    // The beat that is being cut.
    cut_valid: DFF<Bit>,
    cut_second: DFF<Bit>,
    cut_used: DFF<Bits<LANES>>,
    cut_cross: DFF<Bits<LANES>>,
    cut_block: [DFF<Bits<56>>; LANES],
    cut_offset: [DFF<Bits<8>>; LANES],
    cut_len: [DFF<Bits<7>>; LANES],
    cut_pos: [DFF<Bits<6>>; LANES],
    cut_fields: DFF<Bits<FIELDS>>,
    cut_chunk: DFF<Bits<9>>,
    crosses: Pack<LANES, 1, LANES>,
    uses: Pack<LANES, 1, LANES>,
    ends: [Signal<Local, Bits<9>>; LANES],
    left: [Signal<Local, Bits<7>>; LANES],
    over: [Signal<Local, Bits<7>>; LANES],
    cut_last: Signal<Local, Bit>,
    cut_move: Signal<Local, Bit>,
    cut_free: Signal<Local, Bit>,

    // Pieces with their final blocks.
    whole_valid: DFF<Bit>,
    whole_used: DFF<Bits<LANES>>,
    whole_block: [DFF<Bits<56>>; LANES],
    whole_offset: DFF<Bits<128>>,
    whole_len: DFF<Bits<112>>,
    whole_pos: DFF<Bits<96>>,
    whole_fields: DFF<Bits<FIELDS>>,
    whole_end: DFF<Bit>,
    whole_chunk: DFF<Bits<9>>,
    offsets: Pack<LANES, 8, 128>,
    lens: Pack<LANES, 7, 112>,
    positions: Pack<LANES, 6, 96>,
    whole_move: Signal<Local, Bit>,

    // Pieces before the register slice.
    out_valid: DFF<Bit>,
    out_used: DFF<Bits<LANES>>,
    out_same: DFF<Bits<LANES>>,
    out_moves: DFF<Bits<LANES>>,
    out_block: [DFF<Bits<56>>; LANES],
    out_equal: [DFF<Bits<LANES>>; LANES],
    out_offset: DFF<Bits<128>>,
    out_len: DFF<Bits<112>>,
    out_pos: DFF<Bits<96>>,
    out_fields: DFF<Bits<FIELDS>>,
    out_end: DFF<Bit>,
    out_chunk: DFF<Bits<9>>,
    /// For each lane and slot: the upper bits of the last piece's block.
    tags: [Lutram<TAG, SLOT, 1>; LANES],
    /// Slot of each lane's last piece.
    last: [DFF<Bits<SLOT>>; LANES],
    sames: Pack<LANES, 1, LANES>,
    moves: Pack<LANES, 1, LANES>,
    pairs: EqualPairs<LANES, 56>,
    out_move: Signal<Local, Bit>,

    // Offered pieces go through a register slice, because it is known late whether they are taken.
    blocks: Pack<LANES, 56, 896>,
    equals: Pack<LANES, LANES, 256>,
    flags: Concat<LANES, LANES, LANES, 10, 58>,
    shape: Concat<128, 112, 96, FIELDS, SHAPE>,
    pieces: Concat<896, 256, 58, SHAPE, OFFERED>,
    offered: Skid<OFFERED>,
}

impl Logic for Splitter {
    #[hdl_gen]
    fn update(&mut self) {
        // Stages that advance at the end of this cycle.
        self.out_move.next = !self.out_valid.q.val() || self.offered.in_ready.val();
        self.whole_move.next = !self.whole_valid.q.val() || self.out_move.val();
        self.cut_move.next = self.cut_valid.q.val() && self.whole_move.val();
        self.cut_last.next = self.cut_second.q.val() || !self.cut_cross.q.val().any();
        self.cut_free.next =
            !self.cut_valid.q.val() || (self.cut_move.val() && self.cut_last.val());
        self.beat_ready.next = self.cut_free.val();

        // Cut: which fragments reach beyond the block of their first byte.
        for i in 0..16 {
            self.ends[i].next = self.beat_addr.val().get_bits::<8>(i * 64).get_bits::<9>(0)
                + self.beat_len.val().get_bits::<7>(i * 7).get_bits::<9>(0);
            self.crosses.parts[i].next =
                (self.ends[i].val().get_bit(8) && self.ends[i].val().get_bits::<8>(0).any()).into();
            self.uses.parts[i].next = self.beat_len.val().get_bits::<7>(i * 7).any().into();
        }
        if self.cut_move.val() {
            self.cut_second.d.next = true;
        }
        if self.cut_free.val() {
            self.cut_valid.d.next = self.beat_valid.val();
            self.cut_second.d.next = false;
            self.cut_used.d.next = self.uses.whole.val();
            self.cut_cross.d.next = self.crosses.whole.val();
            self.cut_fields.d.next = self.beat_fields.val();
            self.cut_chunk.d.next = (bit_cast::<9, 8>(self.beat_chunk_blocks.val()) << 1)
                | bit_cast::<9, 1>(self.beat_chunk_start.val().into());
            for i in 0..16 {
                self.cut_block[i].d.next = self.beat_addr.val().get_bits::<56>(i * 64 + 8);
                self.cut_offset[i].d.next = self.beat_addr.val().get_bits::<8>(i * 64);
                self.cut_len[i].d.next = self.beat_len.val().get_bits::<7>(i * 7);
                self.cut_pos[i].d.next = self.beat_pos.val().get_bits::<6>(i * 6);
            }
        }

        // First pieces end at the end of their block; second ones start at 0.
        for i in 0..16 {
            // Used only if the fragment crosses: at most 63.
            self.left[i].next = bits::<7>(0) - self.cut_offset[i].q.val().get_bits::<7>(0);
            self.over[i].next = self.cut_len[i].q.val() - self.left[i].val();
            self.offsets.parts[i].next = self.cut_offset[i].q.val();
            self.lens.parts[i].next = self.cut_len[i].q.val();
            self.positions.parts[i].next = self.cut_pos[i].q.val();
            if self.cut_second.q.val() {
                self.offsets.parts[i].next = 0.into();
                self.lens.parts[i].next = self.over[i].val();
                self.positions.parts[i].next =
                    self.cut_pos[i].q.val() + self.left[i].val().get_bits::<6>(0);
                if !self.cut_cross.q.val().get_bit(i) {
                    self.lens.parts[i].next = 0.into();
                }
            } else if self.cut_cross.q.val().get_bit(i) {
                self.lens.parts[i].next = self.left[i].val();
            }
        }
        if self.whole_move.val() {
            self.whole_valid.d.next = self.cut_valid.q.val();
            self.whole_offset.d.next = self.offsets.whole.val();
            self.whole_len.d.next = self.lens.whole.val();
            self.whole_pos.d.next = self.positions.whole.val();
            self.whole_fields.d.next = self.cut_fields.q.val();
            self.whole_end.d.next = self.cut_last.val();
            self.whole_chunk.d.next = self.cut_chunk.q.val();
            self.whole_used.d.next = self.cut_used.q.val();
            if self.cut_second.q.val() {
                self.whole_used.d.next = self.cut_cross.q.val();
                self.whole_chunk.d.next = 0.into();
            }
            for i in 0..16 {
                self.whole_block[i].d.next = self.cut_block[i].q.val() + self.cut_second.q.val();
            }
        }

        // Comparison.
        for i in 0..16 {
            self.pairs.values[i].next = self.whole_block[i].q.val();
            self.tags[i].read_address[0].next = self.whole_block[i].q.val().get_bits::<SLOT>(0);
            self.tags[i].write_address.next = self.whole_block[i].q.val().get_bits::<SLOT>(0);
            self.tags[i].write_data.next = self.whole_block[i].q.val().get_bits::<TAG>(SLOT);
            self.tags[i].write_enable.next = self.out_move.val()
                && self.whole_valid.q.val()
                && self.whole_used.q.val().get_bit(i);
            self.sames.parts[i].next = (self.whole_block[i].q.val().get_bits::<TAG>(SLOT)
                == self.tags[i].read_data[0].val())
            .into();
            self.moves.parts[i].next =
                (self.whole_block[i].q.val().get_bits::<SLOT>(0) != self.last[i].q.val()).into();
        }
        if self.out_move.val() {
            self.out_valid.d.next = self.whole_valid.q.val();
            self.out_used.d.next = self.whole_used.q.val();
            self.out_same.d.next = self.sames.whole.val();
            self.out_moves.d.next = self.moves.whole.val();
            self.out_offset.d.next = self.whole_offset.q.val();
            self.out_len.d.next = self.whole_len.q.val();
            self.out_pos.d.next = self.whole_pos.q.val();
            self.out_fields.d.next = self.whole_fields.q.val();
            self.out_end.d.next = self.whole_end.q.val();
            self.out_chunk.d.next = self.whole_chunk.q.val();
            for i in 0..16 {
                self.out_block[i].d.next = self.whole_block[i].q.val();
                self.out_equal[i].d.next = self.pairs.equal[i].val();
                if self.whole_valid.q.val() && self.whole_used.q.val().get_bit(i) {
                    self.last[i].d.next = self.whole_block[i].q.val().get_bits::<SLOT>(0);
                }
            }
        }

        // The register slice.
        for i in 0..16 {
            self.blocks.parts[i].next = self.out_block[i].q.val();
            self.equals.parts[i].next = self.out_equal[i].q.val();
        }
        self.flags.a.next = self.out_used.q.val();
        self.flags.b.next = self.out_same.q.val();
        self.flags.c.next = self.out_moves.q.val();
        self.flags.d.next = (bit_cast::<10, 9>(self.out_chunk.q.val()) << 1)
            | bit_cast::<10, 1>(self.out_end.q.val().into());
        self.shape.a.next = self.out_offset.q.val();
        self.shape.b.next = self.out_len.q.val();
        self.shape.c.next = self.out_pos.q.val();
        self.shape.d.next = self.out_fields.q.val();
        self.pieces.a.next = self.blocks.whole.val();
        self.pieces.b.next = self.equals.whole.val();
        self.pieces.c.next = self.flags.whole.val();
        self.pieces.d.next = self.shape.whole.val();
        self.offered.in_valid.next = self.out_valid.q.val();
        self.offered.in_data.next = self.pieces.whole.val();
        self.offered.out_ready.next = self.piece_ready.val();
        self.piece_valid.next = self.offered.out_valid.val();
        self.more_pieces.next =
            self.cut_valid.q.val() || self.whole_valid.q.val() || self.out_valid.q.val();
        for i in 0..16 {
            self.piece_block[i].next = self.offered.out_data.val().get_bits::<56>(i * 56);
            self.piece_equal[i].next =
                self.offered.out_data.val().get_bits::<LANES>((i * 16) + 896);
        }
        self.piece_used.next = self.offered.out_data.val().get_bits::<LANES>(1152);
        self.piece_same.next = self.offered.out_data.val().get_bits::<LANES>(1168);
        self.piece_moves.next = self.offered.out_data.val().get_bits::<LANES>(1184);
        self.piece_end.next = self.offered.out_data.val().get_bit(1200);
        self.piece_chunk_start.next = self.offered.out_data.val().get_bit(1201);
        self.piece_chunk_blocks.next = self.offered.out_data.val().get_bits::<8>(1202);
        self.piece_offset.next = self.offered.out_data.val().get_bits::<128>(SHAPE_AT);
        self.piece_len.next = self.offered.out_data.val().get_bits::<112>(SHAPE_AT + 128);
        self.piece_pos.next = self.offered.out_data.val().get_bits::<96>(SHAPE_AT + 240);
        self.piece_fields.next = self.offered.out_data.val().get_bits::<FIELDS>(SHAPE_AT + 336);

        if self.rst.val() {
            self.cut_valid.d.next = false;
            self.whole_valid.d.next = false;
            self.out_valid.d.next = false;
        }
    }
}
