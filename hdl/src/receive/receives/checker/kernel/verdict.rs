//! Verdicts on entries.

use super::super::{Checker, FORBIDDEN, MALFORMED};
use drdma_emit::prelude::*;

impl Checker {
    /// The verdict on the entry.
    #[hdl_gen]
    pub(super) fn judge(&mut self) {
        self.done.d.next = self.ended.q.val() && self.ended_last.q.val();
        if self.ended.q.val() && self.ended_region.q.val() {
            if !self.known.q.val()
                || (!self.ended_header.q.val()
                    && (self.end_of_region.q.val() > self.end_of_key.q.val()))
            {
                self.forbidden.d.next = true;
            }
            self.capacity.d.next =
                self.capacity.q.val() + bit_cast::<37, 32>(self.ended_len.q.val());
        }
        if self.strided.done.val() && self.strided.some.val() {
            if (self.strided.limit.val() > self.end_of_header.q.val())
                || (self.strided.start.val() < bit_cast::<65, 64>(self.start_of_header.q.val()))
            {
                self.forbidden.d.next = true;
            }
            self.capacity.d.next =
                self.capacity.q.val() + bit_cast::<37, 32>(self.strided.bytes.val());
        }
    }

    /// Puts the entry into use, and gives its answer.
    #[hdl_gen]
    pub(super) fn answer_entry(&mut self) {
        // The entry is in use, and its answer leaves.
        // A piece that could be accepted is looked up whether it comes or not; if it does not, nothing is written next.
        self.next_qp.next = self.qp.q.val();
        if self.piece.ready.val() {
            self.next_qp.next = self.piece.qp.val();
        }
        self.named.valid.next = self.done.q.val() && self.found.q.val();
        self.named.next = self.name.q.val();
        self.named.places.next = self.index.q.val();
        if self.name.q.val().pieces {
            self.named.places.next = 0.into();
        }
        self.answer.found.next = self.found.q.val();
        self.answer.appends.next = self.appends.q.val() && self.found.q.val();
        self.answer.status.next = 0.into();
        self.answer.capacity.next = self.capacity.q.val().get_bits::<32>(0);
        self.answer.pieces.next =
            self.name.q.val().pieces && self.found.q.val() && !self.malformed.q.val();
        if self.capacity.q.val().get_bits::<5>(32).any() || self.answer.pieces.val() {
            self.answer.capacity.next = 0xffff_ffff.into();
        }
        if self.malformed.q.val() {
            self.answer.status.next = MALFORMED.into();
        } else if self.forbidden.q.val() {
            self.answer.status.next = FORBIDDEN.into();
        }
        if !self.found.q.val() {
            self.answer.status.next = 0.into();
        }
        self.answers.input.valid.next = self.done.q.val() && !self.flush.q.val();
        self.answers.input.data.next = self.answer.val();
        self.answers.output.join(&mut self.taken);
        self.room.next = self.answers.free.val() >= 4;
    }
}
