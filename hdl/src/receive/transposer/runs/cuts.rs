//! Columns, cut to runs.

use super::{CutState, KEPT, ROW, ROWS, Runs, RunsState, USED};
use drdma_emit::prelude::*;

impl Runs {
    /// Columns come.
    #[hdl_gen]
    pub(super) fn take_columns(&mut self) {
        self.target.ready.next = self.state.q.val() == RunsState::Load;
        self.rounded.next = self.target.width.val() + 3;
        self.unused_rounded.next = self.rounded.val();
        self.row_next.next = self.row.q.val() + bit_cast::<ROW, 7>(self.target.width.val());
        self.pieces_next.next =
            self.pieces.q.val() + bit_cast::<9, 5>(self.rounded.val().get_bits::<5>(2));
        self.kept.write_enable.next =
            self.target.valid.val() && (self.state.q.val() == RunsState::Load);
        self.kept.write_address.next = bit_cast::<5, 4>(self.index.q.val().get_bits::<4>(0))
            | (bit_cast::<5, 1>(self.set.q.val().into()) << 4);
        self.kept.write_data.next = bit_cast::<KEPT, 64>(self.target.addr.val())
            | (bit_cast::<KEPT, 7>(self.target.width.val()) << 64)
            | (bit_cast::<KEPT, ROW>(self.row.q.val()) << 71);
        self.widths.write_enable.next =
            self.target.valid.val() && (self.state.q.val() == RunsState::Load);
        self.widths.write_address.next = bit_cast::<5, 4>(self.index.q.val().get_bits::<4>(0))
            | (bit_cast::<5, 1>(self.set.q.val().into()) << 4);
        self.widths.write_data.next = self.target.width.val();
    }

    /// Cuts columns to runs.
    #[hdl_gen]
    pub(super) fn cut_columns(&mut self) {
        match self.cuts.q.val() {
            CutState::Idle => {
                self.cut_set.d.next = self.set.q.val();
                self.cut_job.d.next = self.job.q.val();
                self.cut_columns.d.next = self.columns.q.val();
                self.cut_start.d.next = self.start.q.val();
                self.cut_rest.d.next = self.rest.q.val();
                self.cut_piece.d.next = self.piece.q.val();
                self.cut_rows.d.next = self.quotient.q.val();
                self.cut_payload.d.next = self.bytes.q.val();
                self.needed.d.next = bit_cast::<USED, 6>(self.bytes.q.val().get_bits::<6>(7))
                    + bit_cast::<USED, 5>(self.columns.q.val())
                    + 2;
                if self.hands.val() {
                    self.cuts.d.next = CutState::Room;
                }
            }
            CutState::Room => {
                self.issued.d.next = 0.into();
                self.at.d.next = 0.into();
                self.bank.d.next = 0.into();
                self.first_row.d.next = self.place.q.val().get_bits::<7>(7);
                if (self.total.val() <= ROWS) && self.moves.val() {
                    self.cuts.d.next = CutState::Cut;
                }
            }
            CutState::Cut => {
                if self.moves.val() && self.cut.q.val() && self.cut_last.q.val() {
                    self.closes.d.next = true;
                    self.cuts.d.next = CutState::Idle;
                }
            }
        }
    }
}
