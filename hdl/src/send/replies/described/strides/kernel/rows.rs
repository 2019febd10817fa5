//! The shape of rows.

use super::super::{PIECE, Strides, StridesState, WIDTH};
use crate::send::replies::described::{OFFSET, ROW};
use crate::transpose::PIECES;
use drdma_emit::prelude::*;

impl Strides {
    /// The shape of the rows: how their values are cut into pieces, and whether they are like those before.
    #[hdl_gen]
    pub(super) fn look_at_shape(&mut self) {
        // The rows are like those that were computed last.
        self.same.next = self.known.q.val()
            && (self.of.q.val().row == self.shape.row.val())
            && (self.of.q.val().width == self.shape.width.val())
            && (self.of.q.val().grain == self.shape.grain.val());
        self.unused_of.next =
            self.of.q.val().bytes | bit_cast::<13, 1>(self.of.q.val().turned.into());
        self.piece_bytes.next = 1.into();
        self.value_pieces.next = self.shape.width.val();
        self.last_part.next = 3.into();
        self.most.next = 16.into();
        if self.shape.grain.val() == 1 {
            self.piece_bytes.next = 2.into();
            self.value_pieces.next = self.shape.width.val() >> 1;
            self.last_part.next = 1.into();
            self.most.next = 32.into();
        }
        if self.shape.grain.val() == 2 {
            self.piece_bytes.next = 4.into();
            self.value_pieces.next = self.shape.width.val() >> 2;
            self.last_part.next = 0.into();
            self.most.next = 64.into();
        }
        self.gap.next = bit_cast::<OFFSET, ROW>(self.shape.row.val())
            - bit_cast::<OFFSET, WIDTH>(self.shape.width.val());
        self.nth_next.next = bit_cast::<WIDTH, PIECE>(self.nth.q.val()) + 1;
    }

    /// Computes the places of the first 16 pieces, one a cycle, and the steps to the next ones.
    #[hdl_gen]
    pub(super) fn prepare(&mut self) {
        self.index.d.next = self.index.q.val() + 1;
        for k in 0..PIECES {
            if self.index.q.val() == k.to_bits() {
                self.first_at[k].d.next = self.at.q.val();
                self.first_nth[k].d.next = self.nth.q.val();
            }
        }
        self.nth.d.next = self.nth_next.val().get_bits::<PIECE>(0);
        self.at.d.next = self.at.q.val() + bit_cast::<OFFSET, 3>(self.piece_bytes.val());
        if self.nth_next.val() == self.value_pieces.val() {
            self.nth.d.next = 0.into();
            self.at.d.next =
                self.at.q.val() + bit_cast::<OFFSET, 3>(self.piece_bytes.val()) + self.gap.val();
        }
        // The piece behind the first 16 gives the steps.
        if self.index.q.val() == PIECES as u64 {
            self.nth_step.d.next = self.nth.q.val().get_bits::<5>(0);
            self.step.d.next = self.at.q.val();
            self.wraps_from.d.next =
                self.value_pieces.val() - bit_cast::<WIDTH, PIECE>(self.nth.q.val());
            self.wrapped_step.d.next = self.at.q.val() + self.gap.val();
            self.known.d.next = true;
            self.state.d.next = StridesState::Await;
        }
    }
}
