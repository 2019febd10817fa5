//! Judgement of an answer.

use super::super::{NAK_PSN, Reads, ReadsEvent, ReadsState};
use crate::receive::record::STORE;
use drdma_emit::prelude::*;

impl Reads {
    /// Judges the answer: all that is needed has been read.
    #[hdl_gen]
    pub(super) fn judge(&mut self) {
        self.left.d.next = 0.into();
        self.ram.d.next = self.here.val().answer.ram;
        if self.at.q.val().atomic {
            // From the least significant byte on, which is the last one before the payload.
            self.ram.d.next = self.here.val().answer.ram - 1;
        }
        if self.event.q.val() == ReadsEvent::Answer {
            self.state.d.next = ReadsState::Cut;
            if !self.has.q.val()
                || !self.beyond.val()
                || !self.fits_kind.q.val()
                || (self.here.val().stamp != self.list.q.val().stamp)
            {
                // An answer that no READ or atomic waits for.
                self.good.d.next = false;
            } else if !self.is_next.val() {
                self.implied.d.next = true;
            } else if (self.here.val().answer.bytes != self.due.q.val())
                || (self.is_last.val() != self.ends.q.val())
            {
                self.bad.d.next = true;
            } else {
                self.good.d.next = true;
                self.left.d.next = self.due.q.val();
                if self.at.q.val().atomic {
                    self.left.d.next = 8.into();
                }
            }
        } else {
            self.state.d.next = ReadsState::Idle;
            if !self.beyond.val() || (self.is_next.val() && !self.is_ack.val()) {
                self.tells.input.valid.next = true;
                self.parked.d.next = false;
            } else if !self.parked.q.val() {
                self.parked.d.next = true;
                self.target.d.next = self.arrived.q.val();
            } else {
                self.tells.input.valid.next = true;
                self.tells.input.data.next.psn = self.at.q.val().expected;
                if !self.is_fatal.val() {
                    self.tells.input.data.next.syndrome = NAK_PSN.into();
                }
                self.parked.d.next = false;
            }
        }
    }

    /// Cuts an order at the end of a region.
    #[hdl_gen]
    pub(super) fn cut(&mut self) {
        self.addr.d.next =
            self.span.val().get_bits::<64>(0) + bit_cast::<64, 32>(self.at.q.val().into);
        self.bytes.d.next = self.fits.val();
        // Compared with what `fits` would be, because that is known late.
        self.last.d.next = !self.ends_early.val();
        self.next_piece.d.next =
            self.ends_early.val() || (self.room.val() == bit_cast::<32, 13>(self.left.q.val()));
        if self.at.q.val().atomic && self.left.q.val().any() {
            self.last.d.next = self.left.q.val() == 1;
            self.next_piece.d.next = self.room.val() == 1;
        }
        self.left.d.next = 0.into();
        if self.ends_early.val() {
            self.left.d.next = self.left.q.val() - self.room.val().get_bits::<13>(0);
        }
        if self.at.q.val().atomic && self.left.q.val().any() {
            self.left.d.next = self.left.q.val() - 1;
        }
        self.state.d.next = ReadsState::Offer;
    }

    /// Offers the order.
    #[hdl_gen]
    pub(super) fn offer(&mut self) {
        self.order.valid.next = true;
        if self.order.ready.val() {
            self.ram.d.next = self.ram.q.val() + bit_cast::<STORE, 13>(self.bytes.q.val());
            if self.at.q.val().atomic {
                self.ram.d.next = self.ram.q.val() - 1;
            }
            if self.good.q.val() {
                self.at.d.next.left = self.at.q.val().left - bit_cast::<32, 13>(self.bytes.q.val());
                self.at.d.next.into = self.at.q.val().into + bit_cast::<32, 13>(self.bytes.q.val());
                if self.next_piece.q.val() {
                    self.at.d.next.piece = self.at.q.val().piece + 1;
                    self.at.d.next.into = 0.into();
                }
            }
            self.state.d.next = ReadsState::Cut;
            if self.last.q.val() || self.gives_up.q.val() {
                self.good.d.next = self.good.q.val() && !self.gives_up.q.val();
                self.orders.output.ready.next = true;
                self.answers.output.ready.next = true;
                self.finishing.d.next = true;
                self.state.d.next = ReadsState::Idle;
            }
        }
    }
}
