//! How the pieces of a row are written into a table.

use super::super::{ENTRY, Pieces, ROW, TableState};
use crate::receive::transposer::PIECES;
use drdma_emit::prelude::*;

impl Pieces {
    /// The column whose pieces are written: one that comes or, after the first row, one that is kept.
    #[hdl_gen]
    pub(super) fn look_at_column(&mut self) {
        self.column.ready.next = self.state.q.val() == TableState::Load;
        for k in 0..PIECES {
            self.all_widths.parts[k].next = bit_cast::<8, 7>(self.widths[k].q.val());
            self.all_ahead.parts[k].next = bit_cast::<8, 7>(self.ahead[k].q.val());
        }
        self.width.next = self.column.width.val();
        self.from.next = 0.into();
        self.writes.next = self.column.valid.val();
        if self.state.q.val() != TableState::Load {
            self.writes.next = self.state.q.val() == TableState::Extend;
            self.width.next = self
                .all_widths
                .whole
                .val()
                .get_bits::<7>(self.index.q.val().get_bits::<4>(0).index() * 8);
            self.from.next = self
                .all_ahead
                .whole
                .val()
                .get_bits::<7>(self.index.q.val().get_bits::<4>(0).index() * 8);
        }
        self.next_ahead.next = self.from.val() + self.width.val();
        self.rounded.next = self.width.val() + 3;
        self.unused_rounded.next = self.rounded.val();
        self.count.next = self.rounded.val().get_bits::<5>(2);
        self.last_piece.next = self.count.val() - 1;
        self.short_len.next = self.width.val().get_bits::<2>(0) - 1;
        self.behind.next = self.at.q.val() + bit_cast::<9, 5>(self.count.val());
        self.next_index.next = self.index.q.val() + 1;
    }

    /// Writes a column's pieces, each into its bank.
    #[hdl_gen]
    pub(super) fn write_pieces(&mut self) {
        for k in 0..PIECES {
            self.nth[k].next = k.to_bits();
            self.nth[k].next = self.nth[k].val() - self.at.q.val().get_bits::<4>(0);
            self.within[k].next = bit_cast::<6, 4>(self.nth[k].val()) << 2;
            // Banks in front of the first piece's have their entry in the next row.
            self.inverse[k].next = 15.into();
            self.inverse[k].next = self.inverse[k].val() - bit_cast::<9, 4>(k.to_bits());
            self.write_sum[k].next = self.at.q.val() + self.inverse[k].val();
            self.unused_write[k].next = self.write_sum[k].val();
            self.write_row[k].next = self.write_sum[k].val().get_bits::<ROW>(4);
            self.entry_from[k].next = self.from.val() + bit_cast::<7, 6>(self.within[k].val());
            self.entry_x[k].next = self.x.q.val() + self.within[k].val();
            self.entry_len[k].next = 3.into();
            if bit_cast::<5, 4>(self.nth[k].val()) == self.last_piece.val() {
                self.entry_len[k].next = self.short_len.val();
            }
            self.tables[k].write_enable.next =
                self.writes.val() && (bit_cast::<5, 4>(self.nth[k].val()) < self.count.val());
            self.tables[k].write_address.next = bit_cast::<6, ROW>(self.write_row[k].val())
                | (bit_cast::<6, 1>(self.set.q.val().into()) << 5);
            self.tables[k].write_data.next =
                bit_cast::<ENTRY, 4>(self.index.q.val().get_bits::<4>(0))
                    | (bit_cast::<ENTRY, 7>(self.entry_from[k].val()) << 4)
                    | (bit_cast::<ENTRY, 6>(self.entry_x[k].val()) << 11)
                    | (bit_cast::<ENTRY, 2>(self.entry_len[k].val()) << 17);
        }
    }

    /// Goes on behind the pieces that are written, and keeps the column for the next rows.
    #[hdl_gen]
    pub(super) fn keep_column(&mut self) {
        if self.writes.val() {
            self.at.d.next = self.behind.val();
            self.x.d.next = self.x.q.val() + self.width.val().get_bits::<6>(0);
            self.index.d.next = self.next_index.val();
        }
        for k in 0..PIECES {
            if self.writes.val() && (self.index.q.val() == k.to_bits()) {
                self.ahead[k].d.next = self.next_ahead.val();
                if self.state.q.val() == TableState::Load {
                    self.widths[k].d.next = self.column.width.val();
                    self.places[k].d.next = self.column.place.val();
                    self.steps[k].d.next = 0.into();
                } else if self.times.q.val() == self.whole.q.val() {
                    self.steps[k].d.next = self.from.val();
                }
            }
        }
    }

    /// Takes the columns of a job.
    #[hdl_gen]
    pub(super) fn take_column(&mut self) {
        if self.column.valid.val() {
            self.job.d.next = self.column.val();
            if self.column.last.val() {
                self.columns.d.next = self.next_index.val();
                self.row_pieces.d.next = self.behind.val();
                self.announces.d.next = true;
                self.state.d.next = TableState::Count;
            }
        }
    }

    /// Writes further rows, until enough pieces follow the first one.
    #[hdl_gen]
    pub(super) fn extend(&mut self) {
        if self.next_index.val() == self.columns.q.val() {
            self.index.d.next = 0.into();
            self.times.d.next = self.times.q.val() + 1;
        }
        self.needed.d.next = self.needed.q.val() - self.count.val();
        if self.count.val() >= self.needed.q.val() {
            self.state.d.next = TableState::Ready;
        }
    }

    /// 16 pieces are whole rows, and some pieces more.
    #[hdl_gen]
    pub(super) fn count_whole_rows(&mut self) {
        self.whole.d.next = 0.into();
        self.rest.d.next = 16.into();
        if (self.row_pieces.q.val() > 8) && (self.row_pieces.q.val() <= 16) {
            self.whole.d.next = 1.into();
            self.rest.d.next = 16 - self.row_pieces.q.val().get_bits::<5>(0);
        }
        if self.row_pieces.q.val() == 1 {
            self.whole.d.next = 16.into();
            self.rest.d.next = 0.into();
        }
        if self.row_pieces.q.val() == 2 {
            self.whole.d.next = 8.into();
            self.rest.d.next = 0.into();
        }
        if self.row_pieces.q.val() == 3 {
            self.whole.d.next = 5.into();
            self.rest.d.next = 1.into();
        }
        if self.row_pieces.q.val() == 4 {
            self.whole.d.next = 4.into();
            self.rest.d.next = 0.into();
        }
        if self.row_pieces.q.val() == 5 {
            self.whole.d.next = 3.into();
            self.rest.d.next = 1.into();
        }
        if self.row_pieces.q.val() == 6 {
            self.whole.d.next = 2.into();
            self.rest.d.next = 4.into();
        }
        if self.row_pieces.q.val() == 7 {
            self.whole.d.next = 2.into();
            self.rest.d.next = 2.into();
        }
        if self.row_pieces.q.val() == 8 {
            self.whole.d.next = 2.into();
            self.rest.d.next = 0.into();
        }
    }
}
