//! Pieces of a placing.

use super::super::record::PLACES;
use super::{Scatter, ScatterState};
use crate::receive::record::{PlacingKind, STORE};
use drdma_emit::prelude::*;

impl Scatter {
    /// Cuts an order off.
    #[hdl_gen]
    pub(super) fn cut(&mut self) {
        self.addr.d.next = self.cursor.q.val().addr;
        self.part.d.next = 0.into();
        self.last.d.next = true;
        self.turned.d.next = false;
        self.state.d.next = ScatterState::Offer;
        if self.receives.q.val() && self.cursor.q.val().dense && self.bytes.q.val().any() {
            // Columns for the transposer.
            self.aims.d.next = true;
            self.aimed.d.next = 0.into();
            self.sought.d.next = 0.into();
            self.state.d.next = ScatterState::Aim;
            if self.appends.val() {
                self.state.d.next = ScatterState::Seek;
            }
            if !self.dense.roomy.val() {
                self.state.d.next = ScatterState::Cut;
            }
        } else if self.receives.q.val()
            && !self.cursor.q.val().left.any()
            && (self.skip.q.val().any() || self.bytes.q.val().any())
            && self.more.val()
        {
            // The cursor goes to the next region or extent.
            self.cursor.d.next = self.following.val();
            self.begins.next = true;
            self.state.d.next = ScatterState::Cut;
            if self.is_shape.val() {
                self.cursor.d.next.past = bit_cast::<PLACES, 5>(self.region.extents.val());
                self.state.d.next = ScatterState::Open;
            }
        } else if self.skip.q.val().any() && self.cursor.q.val().left.any() {
            self.skip.d.next = self.skip.q.val() - self.skips.val();
            self.cursor.d.next.addr =
                self.cursor.q.val().addr + bit_cast::<64, 6>(self.skip.q.val());
            if !self.skips_all.val() {
                self.cursor.d.next.addr = self.past_left.val();
            }
            self.cursor.d.next.left =
                self.cursor.q.val().left - bit_cast::<32, 6>(self.skips.val());
            self.state.d.next = ScatterState::Cut;
        } else if self.cursor.q.val().left.any() {
            self.part.d.next = self.fits.val();
            self.last.d.next = self.whole.val() || !self.more.val();
            self.bytes.d.next = self.bytes.q.val() - self.fits.val();
            self.cursor.d.next.addr =
                self.cursor.q.val().addr + bit_cast::<64, 13>(self.bytes.q.val());
            if !self.whole.val() {
                self.cursor.d.next.addr = self.past_left.val();
            }
            self.cursor.d.next.left =
                self.cursor.q.val().left - bit_cast::<32, 13>(self.fits.val());
        }
    }

    /// Gets a piece.
    #[hdl_gen]
    pub(super) fn take_piece(&mut self) {
        // Pieces of a receive that is not in use any more are passed over.
        self.piece.ready.next = true;
        self.addr.d.next = self.piece.addr.val();
        self.part.d.next = self.piece.bytes.val();
        self.last.d.next = self.piece.last.val();
        self.turned.d.next = false;
        if !self.receives.q.val() && (self.current.q.val().kind == PlacingKind::Receive) {
            self.part.d.next = 0.into();
            if self.piece.valid.val() && self.piece.last.val() {
                self.state.d.next = ScatterState::Offer;
            }
        } else if self.piece.column.val() {
            // The transposer must have room for all columns before the first one goes there.
            self.piece.ready.next = self.dense.roomy.val() || self.aimed.q.val().any();
            self.dense.addr.next = self.piece.addr.val();
            self.dense.width.next = self.piece.bytes.val().get_bits::<7>(0);
            self.dense.last.next = self.piece.last.val();
            if self.piece.valid.val() && self.piece.ready.val() {
                self.dense.comes.next = true;
                self.aimed.d.next = self.aimed.q.val() + 1;
                if self.piece.last.val() {
                    self.state.d.next = ScatterState::Plan;
                }
            }
        } else if self.piece.valid.val() {
            self.state.d.next = ScatterState::Offer;
        }
    }

    /// Offers the order.
    #[hdl_gen]
    pub(super) fn offer(&mut self) {
        self.order.valid.next = true;
        if self.order.ready.val() {
            self.ram.d.next = self.ram.q.val() + bit_cast::<STORE, 13>(self.part.q.val());
            self.state.d.next = ScatterState::Cut;
            if self.current.q.val().pieces {
                self.state.d.next = ScatterState::Piece;
            } else if self.receives.q.val()
                && !self.turned.q.val()
                && !self.cursor.q.val().left.any()
                && self.more.val()
                && !self.is_shape.val()
            {
                self.cursor.d.next = self.following.val();
                self.begins.next = true;
            }
            if self.last.q.val() {
                self.cursors.write_enable.next = self.receives.q.val();
                self.cleared.next =
                    self.uses_up.val() && (self.silent.q.val() || !self.fails.val());
                self.state.d.next = ScatterState::Idle;
                if self.gives_up.q.val() {
                    self.state.d.next = ScatterState::Recount;
                }
                if self.completes.val() && self.fails.val() {
                    self.state.d.next = ScatterState::Halt;
                }
            }
        }
    }
}
