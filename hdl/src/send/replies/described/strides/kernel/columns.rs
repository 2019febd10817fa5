//! Beats of columns, and the pieces that they have.

use super::super::{PIECE, Strides, StridesState, WIDTH};
use crate::transpose::PIECES;
use drdma_emit::prelude::*;

impl Strides {
    /// Takes beats of the current column.
    #[hdl_gen]
    pub(super) fn take_beat(&mut self) {
        self.left.next = self.strip.bytes.val();
        if self.begun_strip.q.val() {
            self.left.next = self.rest.q.val();
        }
        self.empty.next = !self.left.val().any();
        self.ends.next = self.left.val() <= bit_cast::<13, 7>(self.most.val());
        self.rounded.next = self.left.val().get_bits::<7>(0);
        if self.shape.grain.val() == 1 {
            self.rounded.next = (self.left.val().get_bits::<7>(0) + 1) >> 1;
        }
        if self.shape.grain.val() == 2 {
            self.rounded.next = (self.left.val().get_bits::<7>(0) + 3) >> 2;
        }
        self.unused_rounded.next = self.rounded.val();
        self.count.next = 16.into();
        if self.ends.val() {
            self.count.next = self.rounded.val().get_bits::<5>(0);
        }
        self.moves.next = !self.out_valid.q.val() || self.flows.val();
        self.fires.next = (self.state.q.val() == StridesState::Runs)
            && self.strip.valid.val()
            && (self.empty.val() || self.beat.valid.val())
            && self.moves.val();
        self.beat.ready.next = self.fires.val()
            && !self.empty.val()
            && (self.ends.val() || (self.part.q.val() == self.last_part.val()));
        self.strip.ready.next = self.fires.val() && self.ends.val();
        self.bad_now.next = self.bad.q.val()
            || self.strip.failed.val()
            || (!self.empty.val() && self.beat.error.val());
        self.packet.valid.next = self.fires.val() && self.ends.val() && self.strip.last.val();
        self.packet.bytes.next = self.shape.bytes.val();
        self.packet.turned.next = self.shape.turned.val();
        self.packet.error.next = self.bad_now.val();
        self.packet.outside.next = self.strip.outside.val();
        self.shape.ready.next = self.packet.valid.val();
        self.unused.next = self.beat.last.val();
        if self.fires.val() {
            self.begun_strip.d.next = !self.ends.val();
            self.rest.d.next = self.left.val() - bit_cast::<13, 7>(self.most.val());
            self.bad.d.next = self.bad_now.val();
            self.part.d.next = self.part.q.val() + 1;
            if self.ends.val() || (self.part.q.val() == self.last_part.val()) {
                self.part.d.next = 0.into();
            }
        }
    }

    /// The pieces of the current column.
    #[hdl_gen]
    pub(super) fn move_pieces(&mut self) {
        self.resets.next = self.fires.val() && self.ends.val();
        for k in 0..PIECES {
            self.wraps[k].next =
                bit_cast::<WIDTH, PIECE>(self.piece_nth[k].q.val()) >= self.wraps_from.q.val();
            self.moved_nth[k].next = bit_cast::<WIDTH, PIECE>(self.piece_nth[k].q.val())
                + bit_cast::<WIDTH, 5>(self.nth_step.q.val());
            if self.wraps[k].val() {
                self.moved_nth[k].next =
                    bit_cast::<WIDTH, PIECE>(self.piece_nth[k].q.val()) - self.wraps_from.q.val();
            }
            self.unused_nth[k].next = self.moved_nth[k].val();
            if self.fires.val() {
                self.piece_nth[k].d.next = self.moved_nth[k].val().get_bits::<PIECE>(0);
                self.piece_at[k].d.next = self.piece_at[k].q.val() + self.step.q.val();
                if self.wraps[k].val() {
                    self.piece_at[k].d.next = self.piece_at[k].q.val() + self.wrapped_step.q.val();
                }
            }
            if self.resets.val() || (self.state.q.val() == StridesState::Await) {
                self.piece_nth[k].d.next = self.first_nth[k].q.val();
                self.piece_at[k].d.next = self.first_at[k].q.val();
            }
        }
    }
}
