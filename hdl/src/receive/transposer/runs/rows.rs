//! The rows of a packet: how many, and which bytes of the first and the last one.

use super::super::PIECES;
use super::{BYTES, ROW, Runs, RunsState, STEP};
use drdma_emit::prelude::*;

impl Runs {
    /// Finds the bit at which the division begins: the skipped part of the dividend is less than the row.
    #[hdl_gen]
    pub(super) fn divide_step(&mut self) {
        self.sum.next = self.bytes.q.val() + bit_cast::<BYTES, ROW>(self.start.q.val());
        self.by_row.next = 0.into();
        if self.row.q.val().get_bits::<3>(8).any() {
            self.by_row.next = 4.into();
        } else if self.row.q.val().get_bits::<2>(6).any() {
            self.by_row.next = 3.into();
        } else if self.row.q.val().get_bits::<2>(4).any() {
            self.by_row.next = 2.into();
        } else if self.row.q.val().get_bits::<2>(2).any() {
            self.by_row.next = 1.into();
        }
        self.skipped.next = self.by_row.val();
        if !self.sum.val().get_bits::<2>(12).any() {
            self.skipped.next = self.by_row.val() + 1;
        }

        // A step of the division: two bits.
        self.rest_in.next = (bit_cast::<STEP, ROW>(self.rest.q.val()) << 2)
            | bit_cast::<STEP, 2>(self.dividend.q.val().get_bits::<2>(12));
        self.twice.next = bit_cast::<STEP, ROW>(self.row.q.val()) << 1;
        self.thrice.d.next = self.twice.val() + bit_cast::<STEP, ROW>(self.row.q.val());
        self.digit.next = 0.into();
        self.rest_out.next = self.rest_in.val();
        if self.rest_in.val() >= self.thrice.q.val() {
            self.digit.next = 3.into();
            self.rest_out.next = self.rest_in.val() - self.thrice.q.val();
        } else if self.rest_in.val() >= self.twice.val() {
            self.digit.next = 2.into();
            self.rest_out.next = self.rest_in.val() - self.twice.val();
        } else if self.rest_in.val() >= bit_cast::<STEP, ROW>(self.row.q.val()) {
            self.digit.next = 1.into();
            self.rest_out.next = self.rest_in.val() - bit_cast::<STEP, ROW>(self.row.q.val());
        }
        self.unused_high.next = self.rest_out.val();
    }

    /// Takes the columns.
    #[hdl_gen]
    pub(super) fn load(&mut self) {
        if self.target.valid.val() {
            self.job.d.next = self.target.val();
            self.row.d.next = self.row_next.val();
            self.pieces.d.next = self.pieces_next.val();
            self.index.d.next = self.index.q.val() + 1;
            for k in 0..PIECES {
                if self.index.q.val() == k.to_bits() {
                    self.begins[k].d.next = self.row.q.val();
                }
            }
            if self.index.q.val() == bit_cast::<5, 4>(self.target.column.val()) {
                self.start.d.next = self.row.q.val() + bit_cast::<ROW, 6>(self.target.offset.val());
                self.piece.d.next = self.pieces.q.val()
                    + bit_cast::<9, 4>(self.target.offset.val().get_bits::<4>(2));
            }
            if self.target.last.val() {
                self.columns.d.next = self.index.q.val() + 1;
                self.bytes.d.next = bit_cast::<BYTES, 13>(self.target.bytes.val());
                self.state.d.next = RunsState::Divide;
                if self.target.dropped.val() {
                    self.index.d.next = 0.into();
                    self.row.d.next = 0.into();
                    self.pieces.d.next = 0.into();
                    self.state.d.next = RunsState::Load;
                }
            }
        }
        self.round.d.next = 0.into();
    }

    /// Divides the bytes into rows.
    #[hdl_gen]
    pub(super) fn divide(&mut self) {
        self.round.d.next = self.round.q.val() + 1;
        if self.round.q.val() == 0 {
            self.round.d.next = bit_cast::<4, 3>(self.skipped.val()) + 1;
            self.quotient.d.next = 0.into();
            self.dividend.d.next = self.sum.val();
            self.rest.d.next = 0.into();
            if self.skipped.val() == 1 {
                self.dividend.d.next = self.sum.val() << 2;
                self.rest.d.next = bit_cast::<ROW, 2>(self.sum.val().get_bits::<2>(12));
            } else if self.skipped.val() == 2 {
                self.dividend.d.next = self.sum.val() << 4;
                self.rest.d.next = bit_cast::<ROW, 4>(self.sum.val().get_bits::<4>(10));
            } else if self.skipped.val() == 3 {
                self.dividend.d.next = self.sum.val() << 6;
                self.rest.d.next = bit_cast::<ROW, 6>(self.sum.val().get_bits::<6>(8));
            } else if self.skipped.val() == 4 {
                self.dividend.d.next = self.sum.val() << 8;
                self.rest.d.next = bit_cast::<ROW, 8>(self.sum.val().get_bits::<8>(6));
            } else if self.skipped.val() == 5 {
                self.dividend.d.next = self.sum.val() << 10;
                self.rest.d.next = bit_cast::<ROW, 10>(self.sum.val().get_bits::<10>(4));
            }
        } else {
            self.dividend.d.next = self.dividend.q.val() << 2;
            self.rest.d.next = self.rest_out.val().get_bits::<ROW>(0);
            self.quotient.d.next =
                (self.quotient.q.val() << 2) | bit_cast::<BYTES, 2>(self.digit.val());
        }
        if self.round.q.val() == 7 {
            self.state.d.next = RunsState::Compare;
        }
    }

    /// Checks whether the region ends before the payload; if not, finds the column in which the payload ends.
    #[hdl_gen]
    pub(super) fn compare(&mut self) {
        self.ends.d.next = self.beyond.val()
            || ((self.job.q.val().rows.get_bits::<18>(14) == 0)
                && (self.quotient.q.val() == self.job.q.val().rows.get_bits::<BYTES>(0)));
        self.whole.d.next = 0.into();
        self.factor.d.next = self.job.q.val().rows.get_bits::<BYTES>(0);
        self.round.d.next = 0.into();
        for k in 0..PIECES {
            if self.reached[k].val() && (self.columns.q.val() > k.to_bits()) {
                self.ending.d.next = k.to_bits();
                self.nearest.d.next = self.begins[k].q.val();
            }
        }
        self.state.d.next = RunsState::Tell;
        if self.beyond.val() {
            self.quotient.d.next = self.job.q.val().rows.get_bits::<BYTES>(0);
            self.rest.d.next = 0.into();
            self.state.d.next = RunsState::Clip;
        }
    }

    /// Counts the bytes up to the region's end.
    #[hdl_gen]
    pub(super) fn clip(&mut self) {
        // Rows times bytes, a bit a cycle; the product is less than the dividend, so no bit is lost.
        self.round.d.next = self.round.q.val() + 1;
        self.factor.d.next = self.factor.q.val() << 1;
        self.whole.d.next = self.whole.q.val() << 1;
        if self.factor.q.val().get_bit(13) {
            self.whole.d.next =
                (self.whole.q.val() << 1) + bit_cast::<BYTES, ROW>(self.row.q.val());
        }
        if self.round.q.val() == 14 {
            self.bytes.d.next = self.whole.q.val() - bit_cast::<BYTES, ROW>(self.start.q.val());
            self.state.d.next = RunsState::Tell;
        }
        // The payload ends behind a row.
        self.ending.d.next = 0.into();
        self.nearest.d.next = 0.into();
    }
}
