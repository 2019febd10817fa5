//! Rows: by number, by a bitmap, by pointers.

use super::super::ROW;
use super::{
    BITMAPPED, CONTIGUOUS, FEW, FIRST_ELEMENT, MANY_ROWS, REACH_PLACE, STRIDED, Walk, WalkState,
};
use drdma_emit::prelude::*;

impl Walk {
    /// The bits of the current bitmap, and the next piece of a bitmap or of pointers that is read.
    #[hdl_gen]
    pub(super) fn look_at_bits(&mut self) {
        self.ones_in_word.bits.next = self.bits.q.val().get_bits::<64>(0);
        self.ones_in_next.bits.next = self.bits.q.val().get_bits::<64>(64);
        self.passes_word.next = (self.have.q.val() >= 64)
            && (bit_cast::<33, 7>(self.ones.q.val()) <= self.skip.q.val());
        self.ones.d.next = self.ones_in_word.count.val();
        if (self.state.q.val() == WalkState::Bits) && self.passes_word.val() {
            self.ones.d.next = self.ones_in_next.count.val();
        }
        self.lists.next =
            (self.kind_held.q.val() != CONTIGUOUS) && (self.kind_held.q.val() != STRIDED);
        self.beyond.next = self.row.q.val() >= bit_cast::<33, 32>(self.count.q.val());
        if self.kind_held.q.val() == CONTIGUOUS {
            self.beyond.next = self.row.q.val().any();
        }
        self.rows_left.next = bit_cast::<33, 32>(self.count.q.val()) - self.row.q.val();
        self.few_rows.d.next = MANY_ROWS.into();
        if self.rows_left.val() < bits::<33>(MANY_ROWS) {
            self.few_rows.d.next = self.rows_left.val().get_bits::<FEW>(0);
        }
        // A bitmap is read from the byte of the current row on.
        self.ahead.next = 0.into();
        self.side_bytes.d.next = bit_cast::<14, FEW>(self.few_rows.q.val()) << 3;
        if self.kind_held.q.val() == BITMAPPED {
            self.ahead.next = self.row.q.val().get_bits::<3>(0);
            self.side_bytes.d.next = (bit_cast::<14, FEW>(self.few_rows.q.val())
                + bit_cast::<14, 3>(self.ahead.val())
                + 7)
                >> 3;
        }
        self.most_bits.next = bits::<10>(512) - bit_cast::<10, 3>(self.ahead.val());
    }

    /// Looks the current row up.
    #[hdl_gen]
    pub(super) fn seek(&mut self) {
        self.wait.d.next = 0.into();
        self.state.d.next = WalkState::Multiply;
        if self.fresh.q.val() {
            if self.lists.val() && self.have.q.val().any() {
                self.fresh.d.next = false;
                if self.kind_held.q.val() == BITMAPPED {
                    self.fresh.d.next = true;
                    self.state.d.next = WalkState::Bits;
                }
            } else if self.beyond.val() && self.held.q.val().receive && !self.last_region.q.val() {
                // The walk goes on to the next region of the receive.
                self.enters.d.next = true;
                self.header.d.next = self.following.val();
                self.at.d.next = self.following.val();
                self.state.d.next = WalkState::Header;
            } else if self.beyond.val() {
                self.outside.d.next = true;
                self.state.d.next = WalkState::Fail;
            } else if self.lists.val() {
                self.state.d.next = WalkState::Measure;
            } else {
                self.fresh.d.next = false;
            }
        }
        if self.by_columns.val()
            && self.level.q.val()
            && (!self.fresh.q.val() || !self.beyond.val())
        {
            // Rows are counted from the first byte of the current one on.
            self.state.d.next = WalkState::Rows;
            self.level.d.next = false;
            self.rest.d.next = 0.into();
            self.quotient.d.next = 0.into();
            self.dividend.d.next = (bit_cast::<64, 13>(self.left.q.val())
                + bit_cast::<64, ROW>(self.rest.q.val()))
                << REACH_PLACE;
            self.round.d.next = 0.into();
            self.reach.d.next = 0.into();
            self.at.d.next = self.header.q.val() + FIRST_ELEMENT;
        }
        if self.by_runs.val() {
            self.state.d.next = WalkState::Hand;
        }
    }

    /// Walks the bitmap.
    #[hdl_gen]
    pub(super) fn walk_bits(&mut self) {
        self.wait.d.next = 0.into();
        if !self.have.q.val().any() {
            self.state.d.next = WalkState::Seek;
        } else if self.passes_word.val() {
            self.skip.d.next = self.skip.q.val() - bit_cast::<33, 7>(self.ones.q.val());
            self.bits.d.next = self.bits.q.val() >> 64;
            self.have.d.next = self.have.q.val() - 64;
            self.row.d.next = self.row.q.val() + 64;
        } else if self.bits.q.val().get_bit(0) && !self.skip.q.val().any() {
            self.fresh.d.next = false;
            self.state.d.next = WalkState::Multiply;
        } else {
            if self.bits.q.val().get_bit(0) {
                self.skip.d.next = self.skip.q.val() - 1;
            }
            self.bits.d.next = self.bits.q.val() >> 1;
            self.have.d.next = self.have.q.val() - 1;
            self.row.d.next = self.row.q.val() + 1;
        }
    }

    /// Finds the piece of the bitmap or of the pointers from the current row on.
    #[hdl_gen]
    pub(super) fn measure(&mut self) {
        self.wait.d.next = 0.into();
        // Address of the next piece of the bitmap or of the pointers.
        self.addr.d.next = self.base.q.val() + (bit_cast::<64, 33>(self.row.q.val()) << 3);
        if self.kind_held.q.val() == BITMAPPED {
            self.addr.d.next = self.base.q.val() + bit_cast::<64, 33>(self.row.q.val() >> 3);
        }
        self.key.d.next = self.lkey.q.val();
        self.side_bits.d.next = self.most_bits.val();
        self.aligned.d.next = self.ahead.val();
        if (self.kind_held.q.val() == BITMAPPED)
            && (self.few_rows.q.val() < bit_cast::<FEW, 10>(self.most_bits.val()))
        {
            self.side_bits.d.next = self.few_rows.q.val().get_bits::<10>(0);
        } else if self.kind_held.q.val() != BITMAPPED && (self.few_rows.q.val() < 8) {
            self.side_bits.d.next = self.few_rows.q.val().get_bits::<10>(0) << 6;
        }
        self.state.d.next = WalkState::Size;
    }

    /// Takes the bytes of that piece.
    #[hdl_gen]
    pub(super) fn size(&mut self) {
        self.wait.d.next = 0.into();
        self.bytes.d.next = 64.into();
        if self.side_bytes.q.val() < 64 {
            self.bytes.d.next = self.side_bytes.q.val().get_bits::<13>(0);
        }
        self.state.d.next = WalkState::Ask;
    }

    /// Requests the read of that piece.
    #[hdl_gen]
    pub(super) fn fetch(&mut self) {
        self.step.last.next = false;
        if !self.was_covered.q.val() {
            self.state.d.next = WalkState::Fail;
        } else if self.step.ready.val() {
            self.state.d.next = WalkState::Come;
        }
    }

    /// Waits for the bytes of that piece.
    #[hdl_gen]
    pub(super) fn come(&mut self) {
        self.bits.d.next = self.side.data.val();
        self.have.d.next = self.side_bits.q.val();
        if self.side.valid.val() {
            self.state.d.next = WalkState::Align;
            if self.side.error.val() {
                self.state.d.next = WalkState::Fail;
            }
        } else {
            self.bits.d.next = self.bits.q.val();
        }
    }

    /// Shifts the bits so that they begin with the current row.
    #[hdl_gen]
    pub(super) fn align(&mut self) {
        self.aligned.d.next = self.aligned.q.val() - 1;
        self.bits.d.next = self.bits.q.val() >> 1;
        if !self.aligned.q.val().any() {
            self.bits.d.next = self.bits.q.val();
            self.state.d.next = WalkState::Seek;
        }
    }
}
