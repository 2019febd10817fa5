//! Rows that are needed, and the gaps between them.

use super::Runs;
use drdma_emit::prelude::*;

impl Runs {
    /// Fetch.
    #[hdl_gen]
    pub(super) fn fetch(&mut self) {
        self.fetching.next = self.group_valid.val()
            && self.marks_full.val().get_bit(self.group_index.val().get_bits::<1>(4).index());
        self.last_block.next =
            bit_cast::<7, 6>(self.next_block.q.val()) + 1 == self.group_blocks.val();
        self.marks_address.next = bit_cast::<7, 6>(self.next_block.q.val())
            | (bit_cast::<7, 1>(self.group_index.val().get_bits::<1>(4)) << 6);
        self.group_ready.next = false;
        self.marks_forget.next = 0.into();
        if self.rows_free.val() {
            self.rows_valid.d.next = self.fetching.val()
                && (self.marks.val().any() || (self.last_block.val() && self.group_last.val()));
            self.rows_bits.d.next = self.marks.val();
            self.rows_index.d.next = self.group_index.val();
            self.rows_block.d.next =
                self.marks_shift.val() + bit_cast::<12, 6>(self.next_block.q.val());
            self.rows_shift.d.next = self.marks_shift.val();
            self.rows_end.d.next = self.last_block.val() && self.group_last.val();
            if self.fetching.val() {
                self.next_block.d.next = self.next_block.q.val() + 1;
                if self.last_block.val() {
                    self.next_block.d.next = 0.into();
                    self.group_ready.next = true;
                    if self.group_last.val() {
                        self.marks_forget.next = 1.into();
                        if self.group_index.val().get_bit(4) {
                            self.marks_forget.next = 2.into();
                        }
                    }
                }
            }
        }
    }

    /// Gaps. Bit i of window k: one of the 2^k rows behind row i is needed.
    #[hdl_gen]
    pub(super) fn find_gaps(&mut self) {
        self.window_0.next = self.rows_bits.q.val() >> 1;
        self.window_1.next = self.window_0.val() | (self.window_0.val() >> 1);
        self.window_2.next = self.window_1.val() | (self.window_1.val() >> 2);
        self.window_3.next = self.window_2.val() | (self.window_2.val() >> 4);
        self.window_4.next = self.window_3.val() | (self.window_3.val() >> 8);
        self.window_5.next = self.window_4.val() | (self.window_4.val() >> 16);
        self.window_6.next = self.window_5.val() | (self.window_5.val() >> 32);
        if self.gaps_free.val() {
            self.gaps_valid.d.next = self.rows_valid.q.val();
            self.gaps_bits.d.next = self.rows_bits.q.val();
            self.gaps_index.d.next = self.rows_index.q.val();
            self.gaps_block.d.next = self.rows_block.q.val();
            self.gaps_shift.d.next = self.rows_shift.q.val();
            self.gaps_end.d.next = self.rows_end.q.val();
            self.gaps_rest.d.next = self.rows_pace.record.val().rest;
            self.gaps_window.d.next = 0.into();
            if self.rows_pace.record.val().size == 0 {
                self.gaps_window.d.next = self.window_0.val();
            }
            if self.rows_pace.record.val().size == 1 {
                self.gaps_window.d.next = self.window_1.val();
            }
            if self.rows_pace.record.val().size == 2 {
                self.gaps_window.d.next = self.window_2.val();
            }
            if self.rows_pace.record.val().size == 3 {
                self.gaps_window.d.next = self.window_3.val();
            }
            if self.rows_pace.record.val().size == 4 {
                self.gaps_window.d.next = self.window_4.val();
            }
            if self.rows_pace.record.val().size == 5 {
                self.gaps_window.d.next = self.window_5.val();
            }
            if self.rows_pace.record.val().size == 6 {
                self.gaps_window.d.next = self.window_6.val();
            }
        }
    }

    /// The ends of runs; then one run after the other.
    #[hdl_gen]
    pub(super) fn find_ends(&mut self) {
        self.find_from.bits.next = self.ends_bits.q.val();
        self.find_to.bits.next = self.ends_ends.q.val();
        self.to_end.next = self.ends_ends.q.val() ^ (self.ends_ends.q.val() - 1);
        if self.first_free.val() {
            self.first_valid.d.next = self.ends_valid.q.val();
            self.first_any.d.next = self.ends_bits.q.val().any();
            self.first_end.d.next = self.ends_end.q.val() && !self.other_ends.val().any();
            self.first_bits.d.next = self.ends_bits.q.val() & self.to_end.val();
            self.first_index.d.next = self.ends_index.q.val();
            self.first_block.d.next = self.ends_block.q.val();
            self.first_shift.d.next = self.ends_shift.q.val();
            self.first_pace_bits.d.next = self.paces.read_data[1].val();
            self.first_from.d.next = self.find_from.index.val();
            self.first_to.d.next = self.find_to.index.val();
            self.ends_ends.d.next = self.other_ends.val();
            self.ends_bits.d.next = self.ends_bits.q.val() & !self.to_end.val();
        }
        if self.ends_free.val() {
            self.ends_valid.d.next = self.gaps_valid.q.val();
            self.ends_bits.d.next = self.gaps_bits.q.val();
            self.ends_index.d.next = self.gaps_index.q.val();
            self.ends_block.d.next = self.gaps_block.q.val();
            self.ends_shift.d.next = self.gaps_shift.q.val();
            self.ends_end.d.next = self.gaps_end.q.val();
            self.ends_ends.d.next = self.gaps_bits.q.val()
                & !(self.gaps_window.q.val()
                    | (self.gaps_window.q.val() >> self.gaps_rest.q.val()));
        }
    }
}
