//! Runs, from bank to bank.

use super::super::PIECES;
use super::{BYTES, CutState, ROW, Runs, RunsState, STAGES, USED};
use crate::receive::record::{PLACE, STORE};
use drdma_emit::prelude::*;

impl Runs {
    /// Runs that are under way advance.
    #[hdl_gen]
    pub(super) fn advance(&mut self) {
        self.run.valid.next = self.run_valid.q.val();
        self.run.next = self.run_held.q.val();
        self.column.valid.next = self.column_valid.q.val();
        self.column.next = self.column_held.q.val();
        self.moves.next = (!self.run_valid.q.val() || self.run.ready.val())
            && (!self.column_valid.q.val() || self.column.ready.val());
        if self.run.ready.val() {
            self.run_valid.d.next = false;
        }
        if self.column.ready.val() {
            self.column_valid.d.next = false;
        }
        self.widths.read_address[0].next = bit_cast::<5, 4>(self.issued.q.val().get_bits::<4>(0))
            | (bit_cast::<5, 1>(self.cut_set.q.val().into()) << 4);
        self.kept.read_address[0].next = bit_cast::<5, 4>(self.at.q.val().get_bits::<4>(0))
            | (bit_cast::<5, 1>(self.cut_set.q.val().into()) << 4);
        self.multiplier.enable.next = self.moves.val();
        self.multiplier.a.next = self.cut_rows.q.val();
        self.multiplier.b.next = self.widths.read_data[0].val();
        self.unused_product.next = self.multiplier.product.val();
        self.width.next = self.kept.read_data[0].val().get_bits::<7>(64);
        self.earlier.next = self.kept.read_data[0].val().get_bits::<ROW>(71);
        self.into.next =
            bit_cast::<12, ROW>(self.cut_start.q.val()) - bit_cast::<12, ROW>(self.earlier.val());
        self.head.next = self.width.val();
        if self.cut_start.q.val() <= self.earlier.val() {
            self.head.next = 0.into();
        } else if self.into.val() < bit_cast::<12, 7>(self.width.val()) {
            self.head.next = self.into.val().get_bits::<7>(0);
        }
        self.into_end.next =
            bit_cast::<12, ROW>(self.cut_rest.q.val()) - bit_cast::<12, ROW>(self.earlier.val());
        self.tail.next = self.width.val();
        if self.cut_rest.q.val() < self.earlier.val() {
            self.tail.next = 0.into();
        } else if self.into_end.val() < bit_cast::<12, 7>(self.width.val()) {
            self.tail.next = self.into_end.val().get_bits::<7>(0);
        }
        self.at_next.next = self.at.q.val() + 1;
    }

    /// A run begins in its bank, in this row or the next one.
    #[hdl_gen]
    pub(super) fn begin(&mut self) {
        self.start_row.next = self.place.q.val().get_bits::<7>(7);
        if self.bank.q.val() < self.place.q.val().get_bits::<7>(0) {
            self.start_row.next = self.place.q.val().get_bits::<7>(7) + 1;
        }
        self.start_place.next = bit_cast::<PLACE, 7>(self.bank.q.val())
            | (bit_cast::<PLACE, 7>(self.start_row.val()) << 7);
        self.behind.next = self.start_place.val() + self.cut_bytes.q.val();
        self.rounded_up.next = self.run_behind.q.val() + 127;
        self.unused_up.next = self.rounded_up.val();
        self.taken.next = self.rounded_up.val().get_bits::<7>(7) - self.run_row.q.val();
        self.run.rows.next = bit_cast::<USED, 7>(self.taken.val());
        if self.moves.val() {
            self.issued.d.next = self.issued.q.val() + 1;
            self.coming[0].d.next = (self.cuts.q.val() == CutState::Cut)
                && (self.issued.q.val() < self.cut_columns.q.val());
            for k in 1..STAGES {
                self.coming[k].d.next = self.coming[k - 1].q.val();
            }
            self.cut.d.next = self.coming[STAGES - 1].q.val();
            self.looked_last.d.next = self.at_next.val() == self.cut_columns.q.val();
            self.looked_addr.d.next = self.kept.read_data[0].val().get_bits::<64>(0);
            self.looked_width.d.next = self.width.val();
            self.looked_head.d.next = self.head.val();
            self.looked_tail.d.next = self.tail.val();
            if self.coming[STAGES - 2].q.val() {
                self.at.d.next = self.at_next.val();
            }
            self.cut_last.d.next = self.looked_last.q.val();
            self.cut_addr.d.next = self.looked_addr.q.val();
            self.cut_width.d.next = self.looked_width.q.val();
            self.cut_head.d.next = self.looked_head.q.val();
            self.cut_bytes.d.next = self.multiplier.product.val().get_bits::<BYTES>(0)
                + bit_cast::<BYTES, 7>(self.looked_tail.q.val())
                - bit_cast::<BYTES, 7>(self.looked_head.q.val());
            if self.cut.q.val() {
                self.place.d.next = self.behind.val();
                self.bank.d.next = self.bank.q.val() + self.apart.q.val();
                self.run_valid.d.next = true;
                self.run_held.d.next.addr =
                    self.cut_addr.q.val() + bit_cast::<64, 7>(self.cut_head.q.val());
                self.run_held.d.next.place = self.start_place.val();
                self.run_held.d.next.bytes = self.cut_bytes.q.val().get_bits::<13>(0);
                self.run_held.d.next.last = self.cut_last.q.val();
                self.run_behind.d.next = self.behind.val();
                self.run_row.d.next = self.first_row.q.val();
                self.column_valid.d.next = true;
                self.column_held.d.next.width = self.cut_width.q.val();
                self.column_held.d.next.place =
                    self.start_place.val() - bit_cast::<PLACE, 7>(self.cut_head.q.val());
                self.column_held.d.next.last = self.cut_last.q.val();
                self.column_held.d.next.skip = self.cut_job.q.val().offset.get_bits::<2>(0);
                self.column_held.d.next.ram = self.cut_job.q.val().ram
                    - bit_cast::<STORE, 2>(self.cut_job.q.val().offset.get_bits::<2>(0));
                self.column_held.d.next.bytes = self.cut_payload.q.val().get_bits::<13>(0)
                    + bit_cast::<13, 2>(self.cut_job.q.val().offset.get_bits::<2>(0));
                self.column_held.d.next.piece = self.cut_piece.q.val().get_bits::<8>(0);
            }
        }
        self.unused_piece.next = self.cut_piece.q.val();
        self.unused_bytes.next = self.cut_payload.q.val();

        self.given.next = 0.into();
        if self.freed.val() {
            self.given.next = self.freed_rows.val();
        }
        self.used.d.next = self.used.q.val() - self.given.val();
        self.closes.d.next = false;
        if self.closes.q.val() {
            // The next job begins in a row of its own.
            self.place.d.next = bit_cast::<PLACE, 7>(self.rounded_up.val().get_bits::<7>(7)) << 7;
            self.used.d.next =
                self.used.q.val() - self.given.val() + bit_cast::<USED, 7>(self.taken.val());
        }
        self.total.next =
            bit_cast::<9, USED>(self.used.q.val()) + bit_cast::<9, USED>(self.needed.q.val());
        self.beyond.next = !self.job.q.val().rows.get_bits::<18>(14).any()
            && ((self.quotient.q.val() > self.job.q.val().rows.get_bits::<BYTES>(0))
                || ((self.quotient.q.val() == self.job.q.val().rows.get_bits::<BYTES>(0))
                    && self.rest.q.val().any()));
        for k in 0..PIECES {
            self.reached[k].next = self.begins[k].q.val() <= self.rest.q.val();
        }
        self.end_offset.next = self.rest.q.val() - self.nearest.q.val();
        self.unused_offset.next = self.end_offset.val();
        self.planned.valid.next =
            (self.state.q.val() == RunsState::Tell) && (self.cuts.q.val() == CutState::Idle);
        self.planned.bytes.next = self.bytes.q.val().get_bits::<13>(0);
        self.planned.rows.next = self.quotient.q.val().get_bits::<13>(0);
        self.planned.column.next = self.ending.q.val();
        self.planned.offset.next = self.end_offset.val().get_bits::<6>(0);
        self.planned.ends.next = self.ends.q.val();
        self.shape.row.next = self.row.q.val();
        self.shape.width.next = self.job.q.val().width;
        self.shape.columns.next = self.columns.q.val();
        self.shape.start.next = self.start.q.val();
        self.hands.next = self.planned.valid.val() && self.planned.ready.val();
    }

    /// 128 banks, divided by the number of columns.
    #[hdl_gen]
    pub(super) fn share_banks(&mut self) {
        self.apart.d.next = 8.into();
        if self.cut_columns.q.val() <= 2 {
            self.apart.d.next = 64.into();
        } else if self.cut_columns.q.val() == 3 {
            self.apart.d.next = 42.into();
        } else if self.cut_columns.q.val() == 4 {
            self.apart.d.next = 32.into();
        } else if self.cut_columns.q.val() == 5 {
            self.apart.d.next = 25.into();
        } else if self.cut_columns.q.val() == 6 {
            self.apart.d.next = 21.into();
        } else if self.cut_columns.q.val() == 7 {
            self.apart.d.next = 18.into();
        } else if self.cut_columns.q.val() == 8 {
            self.apart.d.next = 16.into();
        } else if self.cut_columns.q.val() <= 10 {
            self.apart.d.next = 12.into();
        } else if self.cut_columns.q.val() <= 12 {
            self.apart.d.next = 10.into();
        }
    }
}
