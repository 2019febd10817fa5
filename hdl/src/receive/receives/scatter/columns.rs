//! Dense columns, into which rows are turned.

use super::super::record::PLACES;
use super::{Scatter, ScatterState};
use drdma_emit::prelude::*;

impl Scatter {
    /// Connects the block that gives dense columns to the transposer.
    #[hdl_gen]
    pub(super) fn look_at_columns(&mut self) {
        self.dense.cursor.next = self.cursor.q.val();
        if self.current.q.val().pieces {
            self.dense.cursor.next.rows = self.piece.rows.val();
            self.dense.cursor.next.first = 0.into();
            self.dense.cursor.next.behind = bit_cast::<PLACES, 4>(self.piece.first.val());
            self.dense.cursor.next.into = self.piece.offset.val();
        }
        self.dense.appends.next = self.appends.val();
        self.dense.capacity.next = self.columns.capacity.val();
        self.dense.ram.next = self.ram.q.val();
        self.dense.bytes.next = self.bytes.q.val();
        self.dense.begins.next =
            (self.state.q.val() == ScatterState::Cut) || (self.state.q.val() == ScatterState::Load);
        self.dense.comes.next = false;
        self.dense.odd.next = false;
        self.dense.last.next = false;
        self.dense.addr.next = self.region.addr.val() + self.cursor.q.val().row;
        self.dense.width.next = self.region.len.val().get_bits::<7>(0);
        if self.appends.val() {
            self.dense.addr.next = self.columns.opened_place.val();
            self.dense.width.next = self.columns.opened_width.val();
        }
        self.dense.target.join(&mut self.target);
        self.planned.join(&mut self.dense.planned);
        self.aim_place.next = self.cursor.q.val().first + bit_cast::<PLACES, 5>(self.aimed.q.val());
        self.unused_place.next = self.aim_place.val();
        self.extents.next = self.cursor.q.val().past - self.cursor.q.val().first;
        self.unused_extents.next = self.extents.val();
    }

    /// Gives the transposer dense extents.
    #[hdl_gen]
    pub(super) fn aim(&mut self) {
        // An extent comes in the cycle after it was asked for.
        self.aimed.d.next = self.aimed.q.val() + 1;
        if self.aimed.q.val().any() {
            self.dense.comes.next = true;
            self.dense.odd.next = self.region.len.val()
                != bit_cast::<32, 7>(self.cursor.q.val().period.get_bits::<7>(0));
            if self.aimed.q.val() == self.extents.val().get_bits::<5>(0) {
                self.dense.last.next = true;
                self.state.d.next = ScatterState::Plan;
            }
        }
    }

    /// Waits for the transposer's plan.
    #[hdl_gen]
    pub(super) fn plan(&mut self) {
        self.part.d.next = self.dense.planned_bytes.val();
        self.last.d.next = self.dense.planned_bytes.val() == self.bytes.q.val();
        if self.dense.ended.val() {
            self.more.next = self.cursor.q.val().past < self.held.q.val().places;
            if self.appends.val() {
                self.more.next = self.dense.after.rows.val().any();
            }
            if !self.more.val() {
                self.last.d.next = true;
            }
        }
        if self.dense.moved.val() {
            self.cursor.d.next = self.dense.after.val();
            self.bytes.d.next = self.bytes.q.val() - self.dense.planned_bytes.val();
            self.turned.d.next = true;
            self.state.d.next = ScatterState::Offer;
        }
        if self.dense.refused.val() {
            // The columns are not for the transposer.
            self.cursor.d.next.dense = false;
            self.state.d.next = ScatterState::Cut;
        }
    }
}
