//! The mask that is taken apart into blocks.

use super::super::Condenser;
use drdma_emit::prelude::*;

impl Condenser {
    /// Whether the current mask passes, or gives a block.
    #[hdl_gen]
    pub(super) fn look_at_mask(&mut self) {
        // Masks of other chunks pass when no part of a sparse chunk is on its way.
        self.passes.next = self.now_valid.q.val()
            && !self.now_sparse.q.val()
            && (!self.full.q.val() || self.leaves.val())
            && (!self.now_start.q.val() || self.windows.in_ready.val());
        self.find.bits.next = self.now_some.q.val();
        self.rest.next = self.now_some.q.val() & (self.now_some.q.val() - 1);
        self.offers.next = self.now_valid.q.val()
            && self.now_sparse.q.val()
            && !self.closing.q.val()
            && self.measures.known.val()
            && !self.ahead.q.val().any();
        self.gives.next = self.offers.val() && self.places.in_ready.val();
        self.ends.next = self.leaves.val() && self.sparse.q.val() && self.end.q.val();
        self.now_done.next = self.passes.val()
            || self.ends.val()
            || (self.gives.val() && !self.rest.val().any() && !self.now_turn_end.q.val());
        self.mask_ready.next = !self.now_valid.q.val() || self.now_done.val();
        self.take.next = self.mask_valid.val() && self.mask_ready.val();
    }

    /// The current mask.
    #[hdl_gen]
    pub(super) fn take_mask(&mut self) {
        if self.now_done.val() {
            self.now_valid.d.next = false;
        }
        if self.gives.val() {
            self.now_some.d.next = self.rest.val();
            self.closing.d.next = self.now_turn_end.q.val() && !self.rest.val().any();
        }
        if self.ends.val() {
            self.closing.d.next = false;
        }
        if self.take.val() {
            self.now_valid.d.next = true;
            self.now.d.next = self.mask_bits.val();
            self.now_fetch.d.next = self.mask_fetch.val();
            for k in 0..8 {
                self.now_some.d.next = self
                    .now_some
                    .d
                    .val()
                    .replace_bit(k, self.mask_fetch.val().get_bits::<64>(k * 64).any());
            }
            self.now_word.d.next = self.mask_word.val();
            self.now_start.d.next = self.mask_chunk_start.val();
            self.now_turn_end.d.next = self.mask_turn_end.val();
            self.now_end.d.next = self.mask_chunk_end.val();
            self.now_last.d.next = self.mask_last.val();
            self.now_sparse.d.next = self.mask_sparse.val();
            self.now_context.d.next = self.mask_context.val();
            self.number.d.next = self.number.q.val() + 1;
            if self.mask_chunk_start.val() {
                self.number.d.next = 0.into();
            }
        }
    }

    /// Emits needed blocks one by one.
    #[hdl_gen]
    pub(super) fn emit_block(&mut self) {
        self.places.in_valid.next =
            self.offers.val() && (self.find.any.val() || self.now_turn_end.q.val());
        self.places.in_any.next = self.find.any.val();
        self.places.in_end.next = self.now_turn_end.q.val() && !self.rest.val().any();
        self.places.in_bits.next =
            self.now.q.val().get_bits::<64>(self.find.index.val().index() * 64);
        self.places.in_fetch.next =
            self.now_fetch.q.val().get_bits::<64>(self.find.index.val().index() * 64);
        self.places.in_block.next = (bit_cast::<26, 23>(self.number.q.val()) << 3)
            | bit_cast::<26, 3>(self.find.index.val());
    }
}
