//! Rows of the region that are selected.

use super::{Finder, FinderState};
use crate::request::CONTIGUOUS;
use drdma_emit::prelude::*;

impl<const RECORDS: usize> Finder<RECORDS> {
    /// Computes the number of rows and of bytes of the list.
    #[hdl_gen]
    pub(super) fn count_rows(&mut self) {
        self.rows_new.next = bit_cast::<33, 32>(self.info.val().count);
        if self.info.val().kind == CONTIGUOUS {
            self.rows_new.next = 1.into();
        }
        self.list_bytes.d.next = bit_cast::<36, 33>(self.rows_new.val()) << 3;
        if self.is_bits.val() {
            self.rows_new.next = bit_cast::<33, 32>(self.info.val().count)
                + bit_cast::<33, 3>(self.kinds.val().first);
            self.list_bytes.d.next = (bit_cast::<36, 33>(self.rows_new.val()) + 7) >> 3;
        } else if self.is_ids.val() {
            self.list_bytes.d.next = bit_cast::<36, 33>(self.rows_new.val());
            if self.info.val().ids.get_bit(1) {
                self.list_bytes.d.next = bit_cast::<36, 33>(self.rows_new.val()) << 1;
            }
        }
        self.rows.d.next = self.rows_new.val();
        if (self.info.val().count == 0) && (self.info.val().kind != CONTIGUOUS) {
            self.rows.d.next = 0.into();
        }
        self.last_block.d.next = self.rows.q.val() >> 6;
        self.end_mask.d.next =
            !(self.ones_64.val() << bit_cast::<6, 6>(self.rows.q.val().get_bits::<6>(0)));
    }

    /// Finds the selected rows of a block: its 64 bits, or which of its 64 or 32 ids are the partition's. For pointers,
    /// the word is the pointer.
    #[hdl_gen]
    pub(super) fn compare(&mut self) {
        self.picked.next = self.line_now.val().get_bits::<64>(
            bit_cast::<9, 3>(self.read_block.q.val().get_bits::<3>(0)).index() * 64,
        );
        self.wanted_id.next = self.partition.val();
        if self.read_behind.q.val() {
            self.wanted_id.next = self.behind.val().partition;
        }
        if self.is_ids.val() {
            self.picked.next = 0.into();
            for k in 0..64 {
                if self.line_now.val().get_bits::<8>(8 * k) == self.wanted_id.val().get_bits::<8>(0)
                {
                    self.picked.next = self.picked.val().replace_bit(k, true);
                }
            }
            if self.info.val().ids.get_bit(1) {
                self.picked.next = 0.into();
                for k in 0..32 {
                    if self.line_now.val().get_bits::<16>(16 * k) == self.wanted_id.val() {
                        self.picked.next = self.picked.val().replace_bit(k, true);
                    }
                }
            }
        }
        self.start_mask.next = self.ones_64.val();
        if self.is_bits.val() && !self.read_block.q.val().any() {
            self.start_mask.next = self.ones_64.val() << bit_cast::<6, 3>(self.kinds.val().first);
        }
        if !self.is_pointers.val() && (self.read_block.q.val() == self.last_block.q.val()) {
            self.start_mask.next = self.start_mask.val() & self.end_mask.q.val();
        }
    }

    /// Finds the next row of the current block. The next block becomes the current one when no row is left.
    #[hdl_gen]
    pub(super) fn leave(&mut self) {
        self.lowest.bits.next = self.word.q.val();
        self.found.next =
            (self.word_block.q.val() << 6) | bit_cast::<33, 6>(self.lowest.index.val());
        if self.info.val().ids.get_bit(1) {
            self.found.next =
                (self.word_block.q.val() << 5) | bit_cast::<33, 6>(self.lowest.index.val());
        }
        self.chain_ends.next =
            self.is_chain.val() && (self.word.q.val() == self.kinds.val().period_or_end);
        self.outside.next = self.bounds.val().never
            || (self.word.q.val() < self.bounds.val().low)
            || (self.word.q.val() > self.bounds.val().high);
        self.last_lane.next = !self.by_lane.val()
            || (bit_cast::<5, 4>(self.next_lane.q.val()) + 1 == self.info.val().lanes);
        if self.take.val() {
            self.row_valid.d.next = false;
        }
        if self.loads.val() {
            self.known.d.next = true;
            self.word.d.next = self.next_word.q.val();
            self.has_rows.d.next = self.next_word.q.val().any();
            self.word_block.d.next = self.next_block.q.val();
            self.word_behind.d.next = self.next_behind.q.val();
            self.passed.d.next = 0.into();
        }
    }

    /// Offers the next row, and begins to read the next record of its chain.
    #[hdl_gen]
    pub(super) fn flow(&mut self) {
        self.links.d.next = false;
        // The rows before a window that could not be read have left.
        if self.wants.val()
            && !self.seen.q.val()
            && self.unread.q.val()
            && !self.block_behind.q.val()
            && !self.read_valid.q.val()
            && !self.next_valid.q.val()
            && (self.chases.val() || (self.over.val() && !self.row_valid.q.val()))
        {
            self.state.d.next = FinderState::Unread;
        }
        if self.may_find.val() {
            self.row_bad.d.next = false;
            self.row_pointer.d.next = 0.into();
            self.row_lane.d.next = self.next_lane.q.val();
            self.row_at.d.next = self.block.q.val();
            self.row_behind.d.next = self.word_behind.q.val();
            if !self.has_list.val() {
                self.row_valid.d.next = self.more.val();
                if self.more.val() {
                    self.next_lane.d.next = self.next_lane.q.val() + 1;
                    if self.last_lane.val() {
                        self.next_lane.d.next = 0.into();
                        self.block.d.next = self.block.q.val() + 1;
                    }
                }
            } else if !self.is_pointers.val() {
                self.row_at.d.next = self.found.val();
                self.row_valid.d.next = !self.over.val();
                if !self.over.val() && !self.loads.val() {
                    self.word.d.next = self.word_behind_row.val();
                    self.has_rows.d.next = self.word_behind_row.val().any();
                }
            } else if self.known.q.val() {
                // The next pointer of the list waits until the chain has ended; see `over`.
                self.row_pointer.d.next = self.word.q.val();
                self.row_bad.d.next = self.outside.val();
                self.row_valid.d.next = true;
                self.known.d.next = false;
                if self.chain_ends.val() {
                    self.row_valid.d.next = false;
                } else if self.is_chain.val() {
                    // If this is a record, its pointer to the next one is read.
                    self.links.d.next = true;
                    self.asked_addr.d.next =
                        self.word.q.val() + bit_cast::<64, 32>(self.kinds.val().link);
                    self.state.d.next = FinderState::Ask;
                    if self.passed.q.val() == self.kinds.val().limit {
                        self.row_bad.d.next = true;
                    }
                    if self.row_bad.d.val() {
                        self.state.d.next = FinderState::Flow;
                    }
                }
            }
        }
    }
}
