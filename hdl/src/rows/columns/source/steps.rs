//! Steps of items, and the answers that they take.

use super::{FIELDS_BITS, Source, WAITING_BITS};
use crate::request::BITMAPPED;
use crate::rows::sequencer::record::{CONTEXT_BITS, SCAN};
use drdma_emit::prelude::*;

impl Source {
    /// A step takes 512 rows of the item.
    #[hdl_gen]
    pub(super) fn step(&mut self) {
        self.advance.next =
            !self.raw_valid.q.val() || self.raw_counts.q.val() || self.masks.in_ready.val();
        self.final_word.next = self.left.q.val() <= 512;
        self.many.next = self.left.q.val().get_bits::<23>(9).any();
        self.resp_ready.next = self.busy.q.val()
            && self.bitmapped.q.val()
            && !self.by_ids.q.val()
            && !self.by_kept.q.val()
            && (!self.has_fetch.q.val() || self.fetches.out_valid.val())
            && self.advance.val();
        self.given.next = self.resp_valid.val()
            && !self.resp_fetch.val()
            && !self.resp_ids.val().any()
            && !self.resp_kept.val()
            && (!self.has_fetch.q.val() || self.fetches.out_valid.val());
        self.error.next = self.bitmapped.q.val() && self.resp_error.val();
        if self.by_ids.q.val() {
            self.given.next = self.ids.out_valid.val();
            self.error.next = self.ids.out_error.val();
        }
        if self.by_kept.q.val() {
            self.given.next = self.bitmaps.out_valid.val();
            self.error.next = self.bitmaps.out_error.val();
        }
        self.step.next = self.busy.q.val()
            && self.advance.val()
            && (!self.bitmapped.q.val() || self.given.val());
        self.failing.next = self.has_failed.q.val() || self.error.val();
        self.ids.out_ready.next = self.busy.q.val() && self.by_ids.q.val() && self.advance.val();
        self.ids.resp_valid.next = self.resp_valid.val() && self.resp_ids.val().any();
        self.ids.resp_data.next = self.resp_data.val();
        self.ids.resp_error.next = self.resp_error.val();
        self.ids.resp_last.next = self.resp_last.val();
        if self.resp_ids.val().any() {
            self.resp_ready.next = self.ids.resp_ready.val();
        }
    }

    /// Answers come in the order of items: a kept stretch waits at the input until its item is at work.
    #[hdl_gen]
    pub(super) fn take_answers(&mut self) {
        self.bitmaps.out_ready.next =
            self.busy.q.val() && self.by_kept.q.val() && self.advance.val();
        self.bitmaps.resp_valid.next = self.resp_valid.val()
            && !self.resp_ids.val().any()
            && !self.resp_fetch.val()
            && self.resp_kept.val();
        self.bitmaps.resp_data.next = self.resp_data.val();
        self.bitmaps.resp_error.next = self.resp_error.val();
        self.bitmaps.resp_last.next = self.resp_last.val();
        if self.resp_kept.val() {
            self.resp_ready.next = self.bitmaps.resp_ready.val();
        }
        self.fetches.in_valid.next = self.resp_valid.val() && self.resp_fetch.val();
        self.fetches.in_data.next = bit_cast::<513, 512>(self.resp_data.val())
            | (bit_cast::<513, 1>(self.resp_error.val().into()) << 512);
        if self.resp_fetch.val() {
            self.resp_ready.next = self.fetches.in_ready.val();
        }
        self.fetches.out_ready.next = self.step.val() && self.has_fetch.q.val();
        if self.step.val() {
            self.left.d.next = self.left.q.val() - 512;
            self.word.d.next = self.word.q.val() + 1;
            self.chunk_start.d.next = false;
            if self.final_word.val() {
                self.busy.d.next = false;
            }
            self.first_word.d.next = false;
            if self.failing.val() && !self.has_failed.q.val() && !self.counts.q.val() {
                self.has_failed.d.next = true;
                self.failed_index.d.next = self.context.q.val().index;
            }
        }
        self.take_item.next = !self.busy.q.val() || (self.step.val() && self.final_word.val());
        self.has_ids.next = self.item.val().ids.any();
        self.scans.next = self.item.val().task == SCAN;
        self.has_kept.next = self.item.val().kept && !self.scans.val();
        self.item_fields.next = 0.into();
        self.item_fields.next = self.item_fields.val().replace_bit(0, self.item.val().chunk_start);
        self.item_fields.next = self.item_fields.val().replace_bit(1, self.item.val().chunk_end);
        self.item_fields.next = self.item_fields.val().replace_bit(2, self.item.val().last);
        self.item_fields.next =
            self.item_fields.val().replace_bit(3, self.item.val().kind == BITMAPPED);
        self.item_fields.next = self.item_fields.val().replace_bit(4, self.has_ids.val());
        self.item_fields.next =
            self.item_fields.val() | (bit_cast::<FIELDS_BITS, 32>(self.item.val().rows) << 5);
        self.item_fields.next = self.item_fields.val().replace_bit(37, self.item.val().sparse);
        self.item_fields.next = self.item_fields.val().replace_bit(38, self.item.val().fetch);
        self.item_fields.next = self.item_fields.val().replace_bit(39, self.has_kept.val());
        self.item_fields.next = self.item_fields.val().replace_bit(40, self.scans.val());
        self.item_fields.next = self.item_fields.val().replace_bit(41, self.item.val().loads);
        self.item_fields.next =
            self.item_fields.val().replace_bit(42, self.scans.val() && self.item.val().kept);
        self.item_in.record.next = self.item_context.val();
        self.queued.next = (!self.has_ids.val() || self.ids.turn_ready.val())
            && (!self.has_kept.val() || self.bitmaps.turn_ready.val());
        self.items.in_valid.next = self.item_valid.val() && self.queued.val();
        self.items.in_data.next = bit_cast::<WAITING_BITS, FIELDS_BITS>(self.item_fields.val())
            | (bit_cast::<WAITING_BITS, CONTEXT_BITS>(self.item_in.bits.val()) << 43);
        self.ids.turn_valid.next =
            self.item_valid.val() && self.has_ids.val() && self.items.in_ready.val();
        self.ids.turn_partition.next = self.item.val().partition;
        self.ids.turn_wide.next = self.item.val().ids.get_bit(1);
        self.ids.turn_rows.next = self.item.val().rows.get_bits::<13>(0);
        self.ids.turn_chunk_end.next = self.item.val().chunk_end;
        self.bitmaps.turn_valid.next =
            self.item_valid.val() && self.has_kept.val() && self.items.in_ready.val();
        self.bitmaps.turn_index.next = self.item_context.val().index;
        self.bitmaps.turn_phase.next = self.item.val().phase;
        self.bitmaps.turn_rows.next = self.item.val().rows.get_bits::<13>(0);
        self.bitmaps.turn_loads.next = self.item.val().loads;
        self.item_ready.next = self.items.in_ready.val() && self.queued.val();
        self.next.next = self.items.out_data.val().get_bits::<FIELDS_BITS>(0);
        self.next_context.bits.next = self.items.out_data.val().get_bits::<CONTEXT_BITS>(43);
        self.items.out_ready.next = self.take_item.val();
        if self.take_item.val() {
            self.busy.d.next = self.items.out_valid.val();
            self.chunk_start.d.next = self.next.val().get_bit(0);
            self.chunk_end.d.next = self.next.val().get_bit(1);
            self.last.d.next = self.next.val().get_bit(2);
            self.bitmapped.d.next = self.next.val().get_bit(3);
            self.by_ids.d.next = self.next.val().get_bit(4);
            self.left.d.next = self.next.val().get_bits::<32>(5);
            self.sparse.d.next = self.next.val().get_bit(37);
            self.has_fetch.d.next = self.next.val().get_bit(38);
            self.by_kept.d.next = self.next.val().get_bit(39);
            self.counts.d.next = self.next.val().get_bit(40);
            self.opens.d.next = self.next.val().get_bit(41);
            self.stores.d.next = self.next.val().get_bit(42);
            self.first_word.d.next = true;
            // A destination's second scan has its rows from 4,096 on.
            self.word.d.next = 0.into();
            if self.next.val().get_bit(40) && !self.next.val().get_bit(41) {
                self.word.d.next = 8.into();
            }
            self.context.d.next = self.next_context.record.val();
        }
    }
}
