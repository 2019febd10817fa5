//! Masks of rows.

use super::super::record::MASK_BITS;
use super::{PAIR_BITS, SHARED_BITS, Source};
use crate::rows::sequencer::record::CONTEXT_BITS;
use drdma_emit::prelude::*;

impl Source {
    /// Masks do not need the other fields of the item.
    #[hdl_gen]
    pub(super) fn make_masks(&mut self) {
        self.unused.next = bit_cast::<162, 32>(self.item.val().first)
            | (bit_cast::<162, 64>(self.item.val().low) << 32)
            | (bit_cast::<162, 64>(self.item.val().high) << 96);
        self.unused.next = self.unused.val().replace_bit(160, self.item.val().never);
        self.unused.next = self.unused.val().replace_bit(161, self.item.val().column);

        if self.advance.val() {
            self.raw_valid.d.next = self.step.val();
            self.raw_fetch.d.next = self.fetches.out_data.val().get_bits::<512>(0);
            self.raw_has_fetch.d.next =
                self.has_fetch.q.val() && !self.fetches.out_data.val().get_bit(512);
            self.raw.d.next = self.ones.val();
            if self.by_ids.q.val() {
                self.raw.d.next = self.ids.out_data.val();
            } else if self.by_kept.q.val() {
                self.raw.d.next = self.bitmaps.out_data.val();
            } else if self.bitmapped.q.val() {
                self.raw.d.next = self.resp_data.val();
            }
            for k in 0..8 {
                self.whole.d.next = self.whole.d.val().replace_bit(
                    k,
                    !self.failing.val()
                        && (self.many.val() || (self.left.q.val().get_bits::<4>(6) > k.to_bits())),
                );
                self.part.d.next = self.part.d.val().replace_bit(
                    k,
                    !self.failing.val()
                        && !self.many.val()
                        && (self.left.q.val().get_bits::<4>(6) == k.to_bits()),
                );
            }
            self.part_bits.d.next = self.short_ones.val()
                ^ (self.short_ones.val() << self.left.q.val().get_bits::<6>(0));
            self.tag.d.next.bits = 0.into();
            self.tag.d.next.word = self.word.q.val().get_bits::<3>(0);
            self.tag.d.next.chunk_start = self.chunk_start.q.val();
            self.tag.d.next.turn_end = self.final_word.val();
            self.tag.d.next.chunk_end = self.final_word.val() && self.chunk_end.q.val();
            self.tag.d.next.last =
                self.final_word.val() && self.last.q.val() && !self.failing.val();
            self.raw_context.d.next = self.context.q.val();
            self.raw_sparse.d.next = self.sparse.q.val();
            self.raw_counts.d.next = self.counts.q.val();
            self.count_tag.d.next.first = self.first_word.q.val();
            self.count_tag.d.next.end = self.final_word.val();
            self.count_tag.d.next.bad = self.failing.val();
            self.count_tag.d.next.opens = self.opens.q.val();
            self.count_tag.d.next.closes = self.last.q.val();
            self.count_tag.d.next.kept = self.stores.q.val();
            self.count_tag.d.next.beat = self.word.q.val();
            self.count_tag.d.next.set = self.context.q.val().set;
            self.count_tag.d.next.index = self.context.q.val().index;
        }

        // Rows beyond the item's do not count.
        for k in 0..8 {
            self.cut.parts[k].next = 0.into();
            self.cut_fetch.parts[k].next = 0.into();
            if self.whole.q.val().get_bit(k) {
                self.cut.parts[k].next = self.raw.q.val().get_bits::<64>(k * 64);
                self.cut_fetch.parts[k].next = self.raw.q.val().get_bits::<64>(k * 64);
                if self.raw_has_fetch.q.val() {
                    self.cut_fetch.parts[k].next = self.raw.q.val().get_bits::<64>(k * 64)
                        | self.raw_fetch.q.val().get_bits::<64>(k * 64);
                }
            } else if self.part.q.val().get_bit(k) {
                self.cut.parts[k].next =
                    self.raw.q.val().get_bits::<64>(k * 64) & self.part_bits.q.val();
                self.cut_fetch.parts[k].next =
                    self.raw.q.val().get_bits::<64>(k * 64) & self.part_bits.q.val();
                if self.raw_has_fetch.q.val() {
                    self.cut_fetch.parts[k].next = (self.raw.q.val().get_bits::<64>(k * 64)
                        | self.raw_fetch.q.val().get_bits::<64>(k * 64))
                        & self.part_bits.q.val();
                }
            }
        }
        self.mask.next = self.tag.q.val();
        self.mask.next.bits = self.cut.whole.val();
        self.mask_in.record.next = self.mask.val();
        self.context_in.record.next = self.raw_context.q.val();
        self.masks.in_valid.next = self.raw_valid.q.val() && !self.raw_counts.q.val();
        self.masks.in_data.next = bit_cast::<PAIR_BITS, MASK_BITS>(self.mask_in.bits.val())
            | (bit_cast::<PAIR_BITS, 512>(self.cut_fetch.whole.val()) << 519);
        self.contexts.in_valid.next = self.raw_valid.q.val() && !self.raw_counts.q.val();
        self.counter.mask_valid.next = self.raw_valid.q.val() && self.raw_counts.q.val();
        self.counter.mask_bits.next = self.cut.whole.val();
        self.counter.mask_tag.next = self.count_tag.q.val();
        self.counter.counted.join(&mut self.counted);
        self.bitmaps.store_valid.next = self.counter.kept_valid.val();
        self.bitmaps.store_index.next = self.counter.kept_index.val();
        self.bitmaps.store_beat.next = self.counter.kept_beat.val();
        self.bitmaps.store_data.next = self.counter.kept_data.val();
        self.bitmaps.store_error.next = self.counter.kept_error.val();
        self.contexts.in_data.next =
            bit_cast::<SHARED_BITS, CONTEXT_BITS>(self.context_in.bits.val()) << 1
                | bit_cast::<SHARED_BITS, 1>(self.raw_sparse.q.val().into());
        self.masks.out_ready.next = self.mask_ready.val();
        self.contexts.out_ready.next = self.mask_ready.val();
        self.mask_out.bits.next = self.masks.out_data.val().get_bits::<MASK_BITS>(0);
        self.mask_fetch.next = self.masks.out_data.val().get_bits::<512>(519);
        self.context_out.bits.next = self.contexts.out_data.val().get_bits::<CONTEXT_BITS>(1);
        self.mask_sparse.next = self.contexts.out_data.val().get_bit(0);
        self.mask_valid.next = self.masks.out_valid.val();
        self.mask_bits.next = self.mask_out.record.val().bits;
        self.mask_word.next = self.mask_out.record.val().word;
        self.mask_chunk_start.next = self.mask_out.record.val().chunk_start;
        self.mask_turn_end.next = self.mask_out.record.val().turn_end;
        self.mask_chunk_end.next = self.mask_out.record.val().chunk_end;
        self.mask_last.next = self.mask_out.record.val().last;
        self.mask_context.next = self.context_out.record.val();

        self.failed.next = self.has_failed.q.val();
        self.fail_index.next = self.failed_index.q.val();
        self.idle.next = !self.busy.q.val()
            && !self.raw_valid.q.val()
            && !self.masks.out_valid.val()
            && !self.items.count.val().any();
        if self.clear.val() {
            self.has_failed.d.next = false;
        }
    }
}
