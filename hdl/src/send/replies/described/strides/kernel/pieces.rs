//! Bytes and places of pieces.

use super::super::{SLOT, Strides};
use crate::send::replies::described::OFFSET;
use crate::transpose::{LANES, PIECES, WORD_PLACE};
use drdma_emit::prelude::*;

impl Strides {
    /// Bytes of the pieces. A piece of fewer than 4 bytes is repeated in each place of its word that it may go to.
    #[hdl_gen]
    pub(super) fn spread_bytes(&mut self) {
        self.half.next = self.beat.data.val().get_bits::<256>(0);
        if self.part.q.val().get_bit(0) {
            self.half.next = self.beat.data.val().get_bits::<256>(256);
        }
        self.quarter.next = self.beat.data.val().get_bits::<128>(self.part.q.val().index() * 128);
        for k in 0..PIECES {
            self.twice[k].next = bit_cast::<32, 16>(self.half.val().get_bits::<16>(k * 16))
                | (bit_cast::<32, 16>(self.half.val().get_bits::<16>(k * 16)) << 16);
            self.fourfold[k].next = bit_cast::<32, 8>(self.quarter.val().get_bits::<8>(k * 8))
                | (bit_cast::<32, 8>(self.quarter.val().get_bits::<8>(k * 8)) << 8)
                | (bit_cast::<32, 8>(self.quarter.val().get_bits::<8>(k * 8)) << 16)
                | (bit_cast::<32, 8>(self.quarter.val().get_bits::<8>(k * 8)) << 24);
            self.data.parts[k].next = self.fourfold[k].val();
            if self.shape.grain.val() == 1 {
                self.data.parts[k].next = self.twice[k].val();
            }
            if self.shape.grain.val() == 2 {
                self.data.parts[k].next = self.beat.data.val().get_bits::<32>(k * 32);
            }
        }
        if self.moves.val() {
            self.out_valid.d.next = self.fires.val();
        }
        if self.fires.val() {
            self.out_over.d.next = self.packet.valid.val();
            self.out_bytes.d.next = self.data.whole.val();
            self.out_grain.d.next = self.shape.grain.val();
            self.out_turned.d.next = self.shape.turned.val();
            self.out_slot.d.next = self.slot.val();
            for k in 0..PIECES {
                self.out_at[k].d.next = self.piece_at[k].q.val() + self.strip.offset.val();
                self.out_used[k].d.next = self.count.val() > k.to_bits();
            }
        }
    }

    /// The places of the pieces.
    #[hdl_gen]
    pub(super) fn place_pieces(&mut self) {
        for k in 0..PIECES {
            self.row[k].next = self.out_at[k].q.val().get_bits::<5>(7);
            self.word[k].next = self.out_at[k].q.val().get_bits::<5>(2);
            if self.out_turned.q.val() {
                self.word[k].next =
                    self.out_at[k].q.val().get_bits::<5>(2) + (self.row[k].val() << 1);
            }
            self.place_parts.parts[k].next = bit_cast::<WORD_PLACE, 5>(self.word[k].val())
                | (bit_cast::<WORD_PLACE, 5>(self.row[k].val()) << 5)
                | (bit_cast::<WORD_PLACE, SLOT>(self.out_slot.q.val()) << 10);
            // A piece before the packet has a negative place, and is not written.
            self.lanes[k].next = 0.into();
            if self.out_used[k].q.val() && !self.out_at[k].q.val().get_bit(OFFSET - 1) {
                self.lanes[k].next = 15.into();
                if self.out_grain.q.val() == 1 {
                    self.lanes[k].next = bits::<LANES>(3)
                        << bit_cast::<3, 2>(self.out_at[k].q.val().get_bits::<2>(0));
                }
                if self.out_grain.q.val() == 0 {
                    self.lanes[k].next = bits::<LANES>(1)
                        << bit_cast::<3, 2>(self.out_at[k].q.val().get_bits::<2>(0));
                }
            }
            self.mask_parts.parts[k].next = self.lanes[k].val();
        }
        self.valid.next = self.out_valid.q.val();
        self.over.next = self.out_over.q.val();
        self.bytes.next = self.out_bytes.q.val();
        self.masks.next = self.mask_parts.whole.val();
        self.places.next = self.place_parts.whole.val();
    }
}
