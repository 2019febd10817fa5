//! Rows of a packet.

use super::super::coverage::ROW;
use super::super::{Appends, AppendsState, BYTES, ROWS};
use crate::receive::record::AppendVerdict;
use drdma_emit::prelude::*;

impl Appends {
    /// The packet's bytes beyond the row that the message has begun.
    #[hdl_gen]
    pub(super) fn divide_bytes(&mut self) {
        if self.state.q.val() == AppendsState::Walk {
            self.over.d.next = self.asked.q.val().bytes - self.room.q.val().get_bits::<BYTES>(0);
            if self.room.q.val() >= bit_cast::<ROW, BYTES>(self.asked.q.val().bytes) {
                self.over.d.next = 0.into();
            }
        }
        self.single.next = bit_cast::<ROW, BYTES>(self.over.q.val()) < self.coverage.row.val();
        self.division.starts.next = false;
        self.division.number.next = self.over.q.val();
        self.division.divisor.next = self.coverage.row.val().get_bits::<BYTES>(0);
        self.quotient.next = 0.into();
        self.remainder.next = self.over.q.val();
        if self.divides.q.val() {
            self.quotient.next = self.division.quotient.val();
            self.remainder.next = self.division.remainder.val();
        }
    }

    /// Counts the rows of the message up to the end of the packet.
    #[hdl_gen]
    pub(super) fn count_rows(&mut self) {
        self.rows.d.next = bit_cast::<ROWS, 32>(self.so_far.q.val())
            + bit_cast::<ROWS, BYTES>(self.quotient.val());
        if self.remainder.val().any() {
            self.rows.d.next = bit_cast::<ROWS, 32>(self.so_far.q.val())
                + bit_cast::<ROWS, BYTES>(self.quotient.val())
                + 1;
        }
        self.room.d.next = 0.into();
        if self.remainder.val().any() {
            self.room.d.next =
                self.coverage.row.val() - bit_cast::<ROW, BYTES>(self.remainder.val());
        } else if !self.over.q.val().any() {
            self.room.d.next = self.room.q.val() - bit_cast::<ROW, BYTES>(self.asked.q.val().bytes);
        }
        self.free.d.next = self.entry.q.val().capacity - self.used.q.val();
        self.state.d.next = AppendsState::Compare;
    }

    /// Compares the rows with the free ones.
    #[hdl_gen]
    pub(super) fn compare(&mut self) {
        self.verdict.d.next = AppendVerdict::Room;
        if !self.coverage.proper.val() {
            self.verdict.d.next = AppendVerdict::Malformed;
        } else if (self.entry.q.val().pd != self.asked.q.val().pd) || !self.coverage.covered.val() {
            self.verdict.d.next = AppendVerdict::Forbidden;
        } else if self.rows.q.val() > bit_cast::<ROWS, 32>(self.entry.q.val().capacity) {
            self.verdict.d.next = AppendVerdict::TooLong;
        } else if self.held.q.val() || (self.rows.q.val() > bit_cast::<ROWS, 32>(self.free.q.val()))
        {
            self.verdict.d.next = AppendVerdict::Later;
        }
        self.sum.d.next = bit_cast::<ROWS, 32>(self.now.q.val().first) + self.rows.q.val();
        self.state.d.next = AppendsState::Tell;
    }
}
