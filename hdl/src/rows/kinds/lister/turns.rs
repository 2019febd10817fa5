//! Turns of destinations that share a region.
//!
//! The rows of a partitioned request are walked chunk by chunk: each destination has a turn in each chunk, so that the
//! entries of neighbouring rows are read at about the same time. If a destination fails where rows are judged in turns,
//! all destinations are judged anew without turns: the first one that fails decides the status. While the rows of a turn
//! are asked for, the finder reads the ids for the next one, also across the end of a chunk, but not in the last chunk.
//!
//! A request whose values are kept is sent in the turns in which it is judged, of up to 64 destinations. A chunk has
//! 256 rows, or 128 or 64 if more of the rows of the last such request would not have fitted a window of the placer.
//! The placer is told where a chunk begins, or where several of them begin that fit a window together, unless less than
//! half of the rows are sent or a chunk is longer than a window.
//!
//! The destinations of other WRITEs are judged one after the other, because the lengths of each one's messages are kept
//! side by side.
//!
//! Where the rows of other requests are sent in turns, the placer fetches neighbouring bytes of a chunk once for all
//! destinations. A chunk has a power of two of rows. Their bytes fit a window of the placer if the rows are as long as
//! they were on average when they were judged. Rows are sent without turns if a chunk would have fewer than 64 rows,
//! because rows of that length can be fetched by themselves; if it would have fewer than four rows for each
//! destination; if less than half of the rows are sent; or if the lengths of a WRITE's messages are not kept.

use super::super::giver::TOTAL;
use super::super::record::{CHUNK_BYTES, LOG_CHUNK_PART};
use super::{
    CHUNKS, KEPT_LOG_CHUNK, LEAST_LOG_CHUNK, LOG_ROWS_OF_TURN, Lister, ListerPhase, ListerState,
    MOST_CHECK_TURNS, MOST_LOG_BITS, SETTLED,
};
use crate::request::{DEST_COUNT, DEST_INDEX};
use drdma_emit::prelude::*;

impl<const RECORDS: usize> Lister<RECORDS> {
    /// Finds the destination whose turn is next, and the end of the chunk of rows.
    #[hdl_gen]
    pub(super) fn look_at_turn(&mut self) {
        self.last_dest.next = self.index.q.val() + 1 == self.dests_now.val();
        self.next_index.next = self.index.q.val() + 1;
        if self.last_dest.val() {
            self.next_index.next = 0.into();
        }
        self.dest_read.next = self.dest_at.val();
        if self.turns.q.val()
            && (self.state.q.val() != ListerState::DestRead)
            && (self.state.q.val() != ListerState::Return)
        {
            self.dest_read.next =
                self.first_now.val() + bit_cast::<10, DEST_COUNT>(self.next_index.val());
        }
        self.chunk_end.d.next = self.chunk.q.val() + (bits::<33>(1) << self.log_chunk.q.val());
        self.finder.stop.next = self.no_stop.val();
        if self.turns.q.val() {
            self.finder.stop.next = self.chunk_end.d.val();
            if self.finder.ran_on.val() && self.last_dest.val() {
                self.finder.stop.next =
                    self.chunk_end.q.val() + (bits::<33>(1) << self.log_chunk.q.val());
            }
        }
        self.last_chunk.next =
            self.chunk_end.q.val() >= bit_cast::<33, 32>(self.set_info.val().count);
        self.passes.next = false;
        self.reopens.next = false;
        self.runs_on.next = false;
        self.end_next.next = false;
        // A destination without regions names a set that may be another request's.
        self.shares.next = self.set_info.val().ids.any()
            && self.head.q.val().sets.any()
            && (self.dests_now.val() != 1);
        self.starts.next = self.judging.val()
            && !self.plainly.q.val()
            && !self.turns.q.val()
            && !self.index.q.val().any()
            && self.shares.val()
            && !self.head.q.val().column_order
            && (self.dests_now.val() <= MOST_CHECK_TURNS)
            && (!self.head.q.val().is_write || self.keeps_now.val());
        // In this state no row, list or chain is begun, so that what is quiet stays so.
        self.rests.d.next = (self.state.q.val() == ListerState::Finish)
            && self.quiet.val()
            && !self.finder.busy.val()
            && !self.finder.pending.val();
        self.restarts.next = (self.state.q.val() == ListerState::Finish)
            && self.rests.q.val()
            && self.judging.val()
            && self.turns.q.val()
            && !self.abandons.q.val()
            && !self.is_sent.q.val();
        self.clears.next = self.begins.val() || self.restarts.val();
        self.goes_on.next = self.chunk.q.val().any() || self.last_dest.val();
        self.standing_new.next.units = self.units.q.val();
        self.standing_new.next.some = self.some.q.val();
        self.standing_new.next.sum = self.sum.q.val();
        self.standing_in.record.next = self.standing_new.val();
        self.standings.write_lanes.next = 0.into();
        self.standings.write_address.next = self.index.q.val().get_bits::<DEST_INDEX>(0);
        self.standings.write_data.next = self.standing_in.bits.val();
        self.standings.read_enable.next = true;
        self.standings.read_address.next = self.next_index.val().get_bits::<DEST_INDEX>(0);
        self.standing.bits.next = self.standings.read_data.val();
    }

    /// Tells the finder the next turn: that of the destination behind, in the next chunk after the last destination.
    #[hdl_gen]
    pub(super) fn look_behind(&mut self) {
        self.settled.next = self.since.q.val() == SETTLED;
        self.knows_next.next = self.turns.q.val()
            && !self.last_chunk.val()
            && self.settled.val()
            && self.finder.ahead.val()
            && !self.looks_between.val()
            && self.dest_info.val().sets.any()
            && !self.dest_info.val().column_order;
        self.finder.behind.next.known = self.knows_next.val();
        self.finder.behind.next.partition = self.dest_info.val().partition;
        self.finder.behind.next.block = self.chunk.q.val() >> 6;
        if self.last_dest.val() {
            self.finder.behind.next.block = self.chunk_end.q.val() >> 6;
        }
        if self.set_info.val().ids.get_bit(1) {
            self.finder.behind.next.block = self.chunk.q.val() >> 5;
            if self.last_dest.val() {
                self.finder.behind.next.block = self.chunk_end.q.val() >> 5;
            }
        }
    }

    /// Ends a turn: the next destination has its own. Only regions with ids have turns, and these have no chains.
    #[hdl_gen]
    pub(super) fn end_turn(&mut self) {
        if self.finder.ran_on.val() {
            self.ask_head();
            self.runs_on.next = self.wanted.ready.val();
            self.passes.next = self.wanted.ready.val();
        } else if self.looks_between.val() {
            self.streaming.d.next = true;
            self.look_ahead();
        } else if !self.knows_next.val() {
            self.passes.next = true;
            self.reopens.next = true;
        }
    }

    /// Computes the number of rows of a chunk where rows are sent, and whether turns are worthwhile there.
    #[hdl_gen]
    pub(super) fn size_chunk(&mut self) {
        if self.takes.val() && self.judging.val() && (self.phase.q.val() == ListerPhase::Check) {
            self.selected.d.next = self.selected.q.val() + 1;
        }
        // The results are used in state `Settle` when all is quiet: nothing that they depend on changes then.
        self.room.d.next = (bit_cast::<TOTAL, 33>(self.selected.q.val()) << LOG_CHUNK_PART)
            + (bit_cast::<TOTAL, 33>(self.selected.q.val()) << (LOG_CHUNK_PART + 1));
        self.total_now.d.next = self.total.val();
        if self.streaming.q.val() || (self.suits.q.val() && self.suits_now.val()) {
            // All rows have the same bytes.
            self.room.d.next = CHUNK_BYTES.into();
            self.total_now.d.next = bit_cast::<TOTAL, 33>(self.whole_row.q.val());
        }
        self.many.next =
            self.selected.q.val() >= bit_cast::<33, 32>(self.set_info.val().count >> 1);
        self.fits.d.next = false;
        self.log_new.d.next = 0.into();
        self.most_total[0].next = self.room.q.val() >> LEAST_LOG_CHUNK;
        self.most_dests[0].next = bits::<11>(1) << (LEAST_LOG_CHUNK - LOG_ROWS_OF_TURN);
        for k in 1..CHUNKS {
            self.most_total[k].next = self.most_total[k - 1].val() >> 1;
            self.most_dests[k].next = self.most_dests[k - 1].val() << 1;
        }
        for k in 0..CHUNKS {
            if self.total_now.q.val() <= self.most_total[k].val() {
                self.log_new.d.next = bits::<4>(LEAST_LOG_CHUNK) + k.to_bits();
                self.fits.d.next =
                    bit_cast::<11, DEST_COUNT>(self.dests_now.val()) <= self.most_dests[k].val();
            }
        }
        if self.plan_now.val().bits.any() && (self.log_new.d.val() > MOST_LOG_BITS) {
            self.log_new.d.next = MOST_LOG_BITS.into();
        }
        self.log_kept.next = self.log_new.q.val();
        if self.log_new.q.val() > KEPT_LOG_CHUNK {
            self.log_kept.next = KEPT_LOG_CHUNK.into();
        } else if !self.log_new.q.val().any() {
            self.log_kept.next = LEAST_LOG_CHUNK.into();
        }
    }

    /// Judges all destinations anew, one after the other.
    #[hdl_gen]
    pub(super) fn restart(&mut self) {
        self.turns.d.next = false;
        self.plainly.d.next = true;
        self.keeps.d.next = false;
        self.index.d.next = 0.into();
        self.chunk.d.next = 0.into();
        self.selected.d.next = 0.into();
        self.planned.d.next = 0.into();
        self.failure.d.next = 0.into();
        self.state.d.next = ListerState::DestRead;
    }

    /// Gives the next destination its turn.
    #[hdl_gen]
    pub(super) fn pass_turn(&mut self) {
        self.finder.passes.next = self.runs_on.val();
        if self.passes.val() {
            self.since.d.next = 0.into();
        } else if !self.settled.val() {
            self.since.d.next = self.since.q.val() + 1;
        }
        if self.reopens.val() {
            self.finder.open.next = true;
            if self.last_dest.val() {
                self.finder.from.next.block = self.chunk_end.q.val() >> 6;
                if self.set_info.val().ids.get_bit(1) {
                    self.finder.from.next.block = self.chunk_end.q.val() >> 5;
                }
            }
        }
        if self.passes.val() {
            self.standings.write_lanes.next = 1.into();
            self.head.d.next = self.dest_info.val();
            self.index.d.next = self.next_index.val();
            self.region.d.next = 0.into();
            self.set.d.next = self.head.q.val().first_set;
            self.units.d.next = 0.into();
            self.some.d.next = false;
            self.sum.d.next = 0.into();
            self.over.d.next = false;
            if self.goes_on.val() {
                self.units.d.next = self.standing.record.val().units;
                self.some.d.next = self.standing.record.val().some;
                self.sum.d.next = self.standing.record.val().sum;
            }
            if self.last_dest.val() {
                self.chunk.d.next = self.chunk_end.q.val();
            }
            self.state.d.next = ListerState::Head;
            if self.runs_on.val() {
                self.state.d.next = ListerState::Rows;
            }
            if self.dest_info.val().column_order {
                // Messages by columns are not divided: all destinations are judged anew.
                self.state.d.next = ListerState::Finish;
            }
        }
    }
}
