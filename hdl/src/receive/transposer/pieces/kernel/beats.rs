//! How pieces are read, 16 a cycle.

use super::super::{ENTRY, PIECE, Pieces, ROW, TableState};
use crate::receive::record::PLACE;
use crate::receive::transposer::PIECES;
use drdma_emit::prelude::*;

impl Pieces {
    /// The next table is read once the job before has ended.
    #[hdl_gen]
    pub(super) fn begin(&mut self) {
        self.moves.next = !self.out_valid.q.val() || self.flows.val();
        self.starts.next = (self.state.q.val() == TableState::Ready) && !self.running.q.val();
        self.begins.next = self.starts.val();
        self.bytes.next = self.job.q.val().bytes;
        self.skip.next = self.job.q.val().skip;
        if self.starts.val() {
            self.state.d.next = TableState::Load;
            self.set.d.next = !self.set.q.val();
            self.index.d.next = 0.into();
            self.times.d.next = 0.into();
            self.at.d.next = 0.into();
            self.x.d.next = 0.into();
        }
    }

    /// Reads 16 pieces, and finds where the next ones begin.
    #[hdl_gen]
    pub(super) fn read_entries(&mut self) {
        self.q_next.next =
            bit_cast::<9, PIECE>(self.q.q.val()) + bit_cast::<9, 5>(self.q_rest.q.val());
        self.wraps.next = self.q_next.val() >= self.q_pieces.q.val();
        self.q_wrapped.next = self.q_next.val();
        if self.wraps.val() {
            self.q_wrapped.next = self.q_next.val() - self.q_pieces.q.val();
        }
        self.unused_wrapped.next = self.q_wrapped.val();
        for k in 0..PIECES {
            self.read_sum[k].next = bit_cast::<9, PIECE>(self.q.q.val()) + self.inverse[k].val();
            self.unused_read[k].next = self.read_sum[k].val();
            self.read_row[k].next = self.read_sum[k].val().get_bits::<ROW>(4);
            self.tables[k].read_address[0].next = bit_cast::<6, ROW>(self.read_row[k].val())
                | (bit_cast::<6, 1>(self.reads_set.q.val().into()) << 5);
        }
        self.turn.next = 0.into();
        self.turn.next = self.turn.val() - self.q.q.val().get_bits::<4>(0);
        if self.moves.val() {
            self.read.d.next = self.running.q.val();
            self.read_fresh.d.next = self.fresh.q.val();
            self.read_wraps.d.next = self.wraps.val();
            self.read_turn.d.next = self.turn.val();
            self.fresh.d.next = false;
            self.q.d.next = self.q_wrapped.val().get_bits::<PIECE>(0);
            for k in 0..PIECES {
                self.entries[k].d.next = self.tables[k].read_data[0].val();
            }
        }
    }

    /// Rotates the entries, so that that of the first piece is first.
    #[hdl_gen]
    pub(super) fn turn_entries(&mut self) {
        for k in 0..PIECES {
            self.by_banks.parts[k].next = bit_cast::<32, ENTRY>(self.entries[k].q.val());
        }
        self.turn_fours.data.next = self.by_banks.whole.val();
        self.turn_fours.count.next = self.read_turn.q.val().get_bits::<2>(2);
        self.turn_ones.data.next = self.turn_fours.result.val();
        self.turn_ones.count.next = self.read_turn.q.val().get_bits::<2>(0);
        self.unused_turned.next = self.turn_ones.result.val();
    }

    /// The places of the pieces.
    #[hdl_gen]
    pub(super) fn place_pieces(&mut self) {
        for k in 0..PIECES {
            self.pieces[k].next = self.turn_ones.result.val().get_bits::<ENTRY>(k * 32);
            self.all_places.parts[k].next = bit_cast::<16, PLACE>(self.run_places[k].q.val());
            self.all_lens.parts[k].next = self.pieces[k].val().get_bits::<2>(17);
        }
        self.first_x.next = self.pieces[0].val().get_bits::<6>(11);
        self.last_x.next = self.pieces[15].val().get_bits::<6>(11);
        self.last_len.next = self.pieces[15].val().get_bits::<2>(17);
        self.spans.next = self.last_x.val() - self.first_x.val();
        for k in 0..PIECES {
            self.further[k].next = 0.into();
            if self.read_wraps.q.val() {
                self.further[k].next = self.run_widths[k].q.val();
            }
            self.strides[k].next = bit_cast::<8, 7>(self.run_steps[k].q.val())
                + bit_cast::<8, 7>(self.further[k].val());
            self.shifted[k].next = self.pieces[k].val().get_bits::<6>(11) - self.first_x.val();
            self.out_from.parts[k].next = self.shifted[k].val();
            self.out_places.parts[k].next = self
                .all_places
                .whole
                .val()
                .get_bits::<PLACE>(self.pieces[k].val().get_bits::<4>(0).index() * 16)
                + bit_cast::<PLACE, 7>(self.pieces[k].val().get_bits::<7>(4));
        }
    }

    /// Offers 16 pieces.
    #[hdl_gen]
    pub(super) fn offer_beat(&mut self) {
        if self.moves.val() {
            self.out_valid.d.next = self.read.q.val();
            self.out.d.next.from = self.out_from.whole.val();
            self.out.d.next.places = self.out_places.whole.val();
            self.out.d.next.lens = self.all_lens.whole.val();
            self.out.d.next.bytes =
                bit_cast::<7, 6>(self.spans.val()) + bit_cast::<7, 2>(self.last_len.val()) + 1;
            self.out.d.next.first = self.read_fresh.q.val();
            for k in 0..PIECES {
                if self.read.q.val() {
                    self.run_places[k].d.next =
                        self.run_places[k].q.val() + bit_cast::<PLACE, 8>(self.strides[k].val());
                }
            }
        }
        self.valid.next = self.out_valid.q.val();
        self.beat.next = self.out.q.val();
    }

    /// Ends a job, or begins with the next one.
    #[hdl_gen]
    pub(super) fn change_job(&mut self) {
        if self.ends.val() {
            self.running.d.next = false;
            self.read.d.next = false;
            self.out_valid.d.next = false;
        }
        if self.starts.val() {
            self.running.d.next = true;
            self.fresh.d.next = true;
            self.reads_set.d.next = self.set.q.val();
            self.q.d.next = self.job.q.val().piece;
            self.q_pieces.d.next = self.row_pieces.q.val();
            self.q_rest.d.next = self.rest.q.val();
            for k in 0..PIECES {
                self.run_widths[k].d.next = self.widths[k].q.val();
                self.run_steps[k].d.next = self.steps[k].q.val();
                self.run_places[k].d.next = self.places[k].q.val();
            }
        }
    }
}
