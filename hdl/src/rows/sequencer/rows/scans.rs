//! Scans: how many rows there are, and whether their pointers are in bounds.

use super::{Rows, RowsState};
use drdma_emit::prelude::*;

impl Rows {
    /// Scans.
    #[hdl_gen]
    pub(super) fn scan(&mut self) {
        self.ones_in_word.bits.next = self.scanned.q.val();
        self.scanned.d.next = self.masked.val();
        self.scanned_valid.d.next = false;
        if self.scanned_valid.q.val() {
            self.count.d.next =
                self.count.q.val() + bit_cast::<32, 7>(self.ones_in_word.count.val());
        }
        for k in 0..8 {
            self.beyond[k].next = self.work.q.val().never
                || (self.beat.q.val().get_bits::<64>(k * 64) < self.work.q.val().low)
                || (self.beat.q.val().get_bits::<64>(k * 64) > self.work.q.val().high);
            self.outside[k].next = (self.left.q.val() > k.to_bits()) && self.beyond[k].val();
        }
        self.beyond_all.next = 0.into();
        for k in 0..8 {
            self.beyond_all.next = self.beyond_all.val().replace_bit(k, self.beyond[k].val());
        }
        self.outside_all.next = 0.into();
        for k in 0..8 {
            self.outside_all.next = self.outside_all.val().replace_bit(k, self.outside[k].val());
        }
        self.wrong.d.next = 0.into();
        if self.wrong.q.val().any() {
            self.bad.d.next = true;
        }
        self.result_valid.next = false;
        self.result_set.next = self.shared.q.val().set;
        self.result_count.next = self.count.q.val();
        self.result_bad.next = self.bad.q.val();
    }

    /// Gives the result of a scan.
    #[hdl_gen]
    pub(super) fn give_result(&mut self) {
        // The last words are still being counted and compared.
        self.wait.d.next = self.wait.q.val() + 1;
        if self.wait.q.val() == 2 {
            self.result_valid.next = true;
            self.state.d.next = RowsState::Idle;
        }
    }
}
