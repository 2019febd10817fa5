//! The mask that is filled with blocks.

use super::super::Condenser;
use drdma_emit::prelude::*;

impl Condenser {
    /// Whether the mask that is being filled leaves, and a block is put into the next one.
    #[hdl_gen]
    pub(super) fn keep_or_leave(&mut self) {
        // A mask of a sparse chunk leaves when the next block belongs to another mask.
        self.other.next = self.places.out_valid.val()
            && (self.places.out_opens.val()
                || (self.places.out_place.val().get_bits::<3>(3) != self.word.q.val()));
        self.kept_valid.next = self.full.q.val()
            && (!self.sparse.q.val()
                || (self.end.q.val() && self.windows.in_ready.val())
                || (!self.end.q.val() && self.other.val()));
        self.leaves.next = self.kept_valid.val() && self.kept_ready.val();
        self.places.out_ready.next = (!self.places.out_opens.val() || self.windows.in_ready.val())
            && (!self.full.q.val()
                || (self.sparse.q.val() && !self.end.q.val() && !self.other.val())
                || self.leaves.val());
        self.placed.next = self.places.out_valid.val() && self.places.out_ready.val();
    }

    /// Puts blocks into the mask that is being filled.
    #[hdl_gen]
    pub(super) fn fill_mask(&mut self) {
        if self.leaves.val() {
            self.full.d.next = false;
        }
        if self.placed.val() {
            self.full.d.next = true;
            self.sparse.d.next = true;
            self.word.d.next = self.places.out_place.val().get_bits::<3>(3);
            self.end.d.next = self.places.out_end.val();
            self.last.d.next = self.now_last.q.val();
            self.start.d.next = self.places.out_opens.val();
            if self.full.q.val() && !self.leaves.val() {
                self.start.d.next = self.start.q.val();
            }
            for k in 0..8 {
                if !self.full.q.val() || self.leaves.val() {
                    self.bits[k].d.next = 0.into();
                    self.fetch[k].d.next = 0.into();
                    self.shifts[k].d.next = 0.into();
                }
                if self.places.out_any.val()
                    && (self.places.out_place.val().get_bits::<3>(0) == k.to_bits::<3>())
                {
                    self.bits[k].d.next = self.places.out_bits.val();
                    self.fetch[k].d.next = self.places.out_fetch.val();
                    self.shifts[k].d.next = self.places.out_shift.val();
                }
            }
            if self.places.out_opens.val() {
                self.context.d.next = self.now_context.q.val();
                if self.opened.q.val() {
                    self.context.d.next.first_stretch = false;
                }
                self.opened.d.next = true;
            }
        }
        if self.ends.val() {
            self.opened.d.next = false;
        }
        if self.passes.val() {
            self.full.d.next = true;
            self.sparse.d.next = false;
            self.word.d.next = self.now_word.q.val();
            self.start.d.next = self.now_start.q.val();
            self.turn_end.d.next = self.now_turn_end.q.val();
            self.end.d.next = self.now_end.q.val();
            self.last.d.next = self.now_last.q.val();
            self.context.d.next = self.now_context.q.val();
            for k in 0..8 {
                self.bits[k].d.next = self.now.q.val().get_bits::<64>(k * 64);
                self.fetch[k].d.next = self.now_fetch.q.val().get_bits::<64>(k * 64);
                self.shifts[k].d.next = 0.into();
            }
        }
        for k in 0..8 {
            self.all_bits.parts[k].next = self.bits[k].q.val();
            self.all_fetch.parts[k].next = self.fetch[k].q.val();
            self.all_shifts.parts[k].next = self.shifts[k].q.val();
        }
    }

    /// Offers the mask that was filled.
    #[hdl_gen]
    pub(super) fn offer_mask(&mut self) {
        self.kept_bits.next = self.all_bits.whole.val();
        self.kept_fetch.next = self.all_fetch.whole.val();
        self.kept_shift.next = self.all_shifts.whole.val();
        self.kept_word.next = self.word.q.val();
        self.kept_chunk_start.next = self.start.q.val();
        self.kept_turn_end.next = self.turn_end.q.val();
        self.kept_chunk_end.next = self.end.q.val();
        self.kept_last.next = self.last.q.val();
        if self.sparse.q.val() {
            self.kept_chunk_end.next =
                self.end.q.val() || (self.places.out_valid.val() && self.places.out_opens.val());
            self.kept_turn_end.next = self.kept_chunk_end.val();
            self.kept_last.next = self.end.q.val() && self.last.q.val();
        }
        self.kept_context.next = self.context.q.val();
    }
}
