//! Packets that are offered by columns, or handed over.

use super::super::ROW;
use super::super::entries::GRANULE_INDEX;
use super::{BITMAPPED, COLUMN_BYTES, FIRST_ELEMENT, KEY, REACH, SHORT, STRIDED, Walk, WalkState};
use drdma_emit::prelude::*;

impl Walk {
    /// Decides whether a packet goes by columns or is handed over, and gives out the fields of one that is handed over.
    #[hdl_gen]
    pub(super) fn hand_over(&mut self) {
        self.by_columns.next = self.held.q.val().columns
            && self.dense.q.val()
            // A read of a packet's bytes in one column might be longer than a packet.
            && (self.held.q.val().writes || (self.elements.q.val() > 1))
            && (self.kind_held.q.val() == STRIDED)
            && !self.piecewise.q.val();
        self.by_runs.next = self.held.q.val().columns
            && !self.held.q.val().writes
            && self.uniform.q.val()
            && (self.kind_held.q.val() == BITMAPPED);
        self.hands.next = self.state.q.val() == WalkState::Hand;
        self.handed.bitmap.next = self.base.q.val();
        self.handed.count.next = self.count.q.val();
        self.handed.lkey.next = self.lkey.q.val();
        self.handed.width.next = self.value.q.val();
        self.handed.columns.next = self.elements.q.val().get_bits::<5>(0);
        self.handed.row_bytes.next = self.row_bytes.q.val().get_bits::<SHORT>(0);
        self.handed.bytes.next = self.left.q.val();
        self.handed.continues.next = self.continued.q.val();
        self.handed.row.next = self.row.q.val();
        self.handed.skip.next = self.skip.q.val();
        self.handed.element.next = self.element.q.val();
        self.handed.inside.next = self.inside.q.val().get_bits::<6>(0);
        self.is_column.next = (self.state.q.val() == WalkState::Columns)
            || (self.state.q.val() == WalkState::Judge)
            || (self.state.q.val() == WalkState::Close);
    }

    /// Columns that are offered.
    #[hdl_gen]
    pub(super) fn look_at_column(&mut self) {
        self.column.next = self.is_column.val();
        self.rows.next = self.rows_left.val().get_bits::<32>(0);
        self.first.next = self.element.q.val();
        self.offset.next = self.inside.q.val().get_bits::<6>(0);
        self.again.next = false;
        self.row_base.d.next = self.base.q.val() + self.product.val().get_bits::<64>(0);
        self.end_row.d.next =
            self.row.q.val() + bit_cast::<33, REACH>(self.quotient.q.val().get_bits::<REACH>(0));
        self.ends.next =
            self.begins.q.val() + bit_cast::<SHORT, 7>(self.period.q.val().get_bits::<7>(0));
        self.looks.d.next = false;
        self.looked[0].d.next = self.looks.q.val();
        for k in 1..KEY as usize {
            self.looked[k].d.next = self.looked[k - 1].q.val();
        }
        if self.looked[KEY as usize - 1].q.val() && !self.may.val() {
            self.missed.d.next = true;
        }
    }

    /// Waits until the packet that was handed over comes back.
    #[hdl_gen]
    pub(super) fn handed_over(&mut self) {
        if self.back.valid.val() {
            self.state.d.next = WalkState::Idle;
            if !self.back.failed.val() {
                self.row.d.next = self.back.row.val();
                self.element.d.next = self.back.element.val();
                self.inside.d.next = bit_cast::<ROW, 6>(self.back.inside.val());
                self.known.d.next = !self.spoiled.q.val();
                self.walked_qp.d.next = self.held.q.val().qp;
                self.walked_receive.d.next = false;
                self.ended.valid.next = true;
            }
        }
    }

    /// Divides the packet's bytes in dense columns into rows.
    #[hdl_gen]
    pub(super) fn divide_rows(&mut self) {
        self.round.d.next = self.round.q.val() + 1;
        self.dividend.d.next = self.dividend.q.val() << 1;
        self.rest.d.next = self.rest_out.val().get_bits::<ROW>(0);
        self.quotient.d.next =
            (self.quotient.q.val() << 1) | bit_cast::<64, 1>(self.fits.val().into());
        self.reach.d.next = self.reach.q.val() << 1;
        if self.fits.val() {
            self.reach.d.next = (self.reach.q.val() << 1)
                + bit_cast::<COLUMN_BYTES, 7>(self.period.q.val().get_bits::<7>(0));
        }
        if self.round.q.val() == REACH as u64 - 1 {
            self.state.d.next = WalkState::Reach;
        }
    }

    /// Takes the number of rows from the division.
    #[hdl_gen]
    pub(super) fn reach(&mut self) {
        // The last row may be reached in part.
        if self.rest.q.val().any() {
            self.reach.d.next = self.reach.q.val()
                + bit_cast::<COLUMN_BYTES, 7>(self.period.q.val().get_bits::<7>(0));
        }
        self.key.d.next = self.lkey.q.val();
        self.told.d.next = 0.into();
        self.begins.d.next = 0.into();
        self.missed.d.next = false;
        self.state.d.next = WalkState::Fit;
    }

    /// Checks that the region has these rows.
    #[hdl_gen]
    pub(super) fn fit(&mut self) {
        if (self.end_row.q.val() > bit_cast::<33, 32>(self.count.q.val()))
            || ((self.end_row.q.val() == bit_cast::<33, 32>(self.count.q.val()))
                && self.rest.q.val().any())
        {
            self.piecewise.d.next = true;
            self.at.d.next = self.at.q.val() + bit_cast::<GRANULE_INDEX, 4>(self.element.q.val());
            self.state.d.next = WalkState::Seek;
        } else if self.roomy.val() {
            self.at.d.next = self.at.q.val() + 1;
            self.state.d.next = WalkState::Columns;
        }
    }

    /// Offers the columns, all but the last one.
    #[hdl_gen]
    pub(super) fn offer_columns(&mut self) {
        self.step.last.next = false;
        self.addr.d.next = self.row_base.q.val() + self.data.val().get_bits::<64>(0);
        self.bytes.d.next = self.period.q.val().get_bits::<13>(0);
        self.looks.d.next = true;
        self.at.d.next = self.at.q.val() + 1;
        self.told.d.next = self.told.q.val() + 1;
        self.begins.d.next = self.ends.val();
        if (self.rest.q.val().get_bits::<SHORT>(0) >= self.begins.q.val())
            && (self.rest.q.val().get_bits::<SHORT>(0) < self.ends.val())
        {
            self.end_element.d.next = self.told.q.val().get_bits::<4>(0);
            self.end_inside.d.next = self.rest.q.val().get_bits::<SHORT>(0) - self.begins.q.val();
        }
        self.wait.d.next = 0.into();
        if bit_cast::<16, 5>(self.told.d.val()) == self.elements.q.val() {
            self.state.d.next = WalkState::Judge;
        }
    }

    /// Takes the keys' answer: offers the last column, or withdraws all of them.
    #[hdl_gen]
    pub(super) fn close(&mut self) {
        self.step.last.next = true;
        self.wait.d.next = 0.into();
        if self.missed.q.val() {
            self.again.next = true;
            self.piecewise.d.next = true;
            self.at.d.next = self.header.q.val()
                + FIRST_ELEMENT
                + bit_cast::<GRANULE_INDEX, 4>(self.element.q.val());
            self.state.d.next = WalkState::Seek;
        } else if self.step.ready.val() {
            self.row.d.next = self.end_row.q.val();
            self.element.d.next = self.end_element.q.val();
            self.inside.d.next = bit_cast::<ROW, SHORT>(self.end_inside.q.val());
            self.at.d.next = self.header.q.val()
                + FIRST_ELEMENT
                + bit_cast::<GRANULE_INDEX, 4>(self.end_element.q.val());
            self.fresh.d.next = true;
            self.level.d.next = true;
            self.known.d.next = !self.spoiled.q.val();
            self.walked_qp.d.next = self.held.q.val().qp;
            self.walked_receive.d.next = false;
            self.ended.valid.next = true;
            self.state.d.next = WalkState::Idle;
        }
    }
}
