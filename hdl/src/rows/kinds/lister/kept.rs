//! Requests whose values are kept as they are judged, and requests that are judged ahead of their start.
//!
//! While a request is sent from what was kept of it, the next one is judged. Its verdict waits for its start. A request
//! is not judged ahead, or no further, if it is found that its values are not kept, that it has chains, or that a
//! region has many rows: the request before ends only when its successor is judged.

use super::{KEPT_LOG_CHUNK, LOG_ROWS_OF_TURN, Lister, ListerPhase, ListerState, MOST_AHEAD};
use crate::request::BITMAPPED;
use drdma_emit::prelude::*;

/// Largest number of destinations with lists of their own of a request of few rows.
const FEW_DESTS: u64 = 2;
/// Largest number of destinations that take turns if their values are kept.
const MOST_KEPT_TURNS: u64 = 1 << (KEPT_LOG_CHUNK - LOG_ROWS_OF_TURN);

impl<const RECORDS: usize> Lister<RECORDS> {
    /// Decides whether a request begins to be judged, and whether the one that is sent has ended.
    #[hdl_gen]
    pub(super) fn look_at_request(&mut self) {
        self.begins_ahead.next = self.next_valid.val()
            && self.sending.q.val()
            && !self.sent.val()
            && !self.streamed.q.val()
            && !self.hopeless.q.val();
        self.begins.next = (self.state.q.val() == ListerState::Idle)
            && (self.start.val() || self.begins_ahead.val());
        self.dests_now.next = self.dests.val();
        self.first_now.next = self.first_dest.val();
        if self.ahead.q.val() {
            self.dests_now.next = self.ahead_dests.q.val();
            self.first_now.next = self.ahead_first.q.val();
        }
        self.ends_sent.next = self.sending.q.val()
            && self.sent.val()
            && ((self.state.q.val() == ListerState::Idle)
                || (self.state.q.val() == ListerState::Judged));
        self.send.next = false;
    }

    /// Finds whether each row of the destination is one group of fixed width, of up to 64 bytes, and other groups that
    /// are bits or are followed. Where values are kept, the first group is not asked for: it is sent before the value
    /// that it precedes, or with it.
    #[hdl_gen]
    pub(super) fn look_at_lead(&mut self) {
        self.lead_now.next.lane = self.plan_now.val().lasts.get_bits::<4>(0);
        self.lead_now.next.bytes = self.plan_now.val().fills.get_bits::<7>(0);
        self.lead_now.next.exists = (self.set_info.val().kind == BITMAPPED)
            && (self.head.q.val().sets == 1)
            && self.plan_now.val().leads;
        self.lead.next = self.lead_of_all.q.val();
        self.keeping.next = self.asks_all.q.val()
            && self.judging.val()
            && (self.phase.q.val() == ListerPhase::Check);
        self.leads.next = self.keeping.val() && self.lead_now.val().exists;
        self.gives.next =
            (self.phase.q.val() == ListerPhase::Give) || self.keeping.val() || self.columns.val();
        self.counts.next = self.judging.val() && !self.follows.q.val() && !self.keeping.val();
    }

    /// The rows of all destinations begin with the same group that is not asked for, or with none: the values of a
    /// request where they differ are not kept.
    #[hdl_gen]
    pub(super) fn compare_lead(&mut self) {
        if self.keeping.val() {
            self.has_lead.d.next = true;
            self.lead_of_all.d.next = self.lead_now.val();
            if self.has_lead.q.val()
                && ((self.lead_now.val().exists != self.lead_of_all.q.val().exists)
                    || (self.lead_now.val().exists
                        && ((self.lead_now.val().lane != self.lead_of_all.q.val().lane)
                            || (self.lead_now.val().bytes != self.lead_of_all.q.val().bytes))))
            {
                self.keeps.d.next = false;
            }
        }
    }

    /// Decides whether the values of the current destination are kept. There must be room for a value of each id, and
    /// destinations that share a region must take turns. A request of few rows is not worth it. Of a request that was
    /// abandoned, only values can be kept that are sent as they are judged.
    #[hdl_gen]
    pub(super) fn look_at_room(&mut self) {
        self.keeps_now.next = self.keeps.q.val() && !self.head.q.val().column_order;
        if self.set_info.val().ids.any()
            && self.head.q.val().sets.any()
            && ((self.set_info.val().count > MOST_AHEAD)
                || (self.dests_now.val() > MOST_KEPT_TURNS))
        {
            self.keeps_now.next = false;
        }
        if self.was_hopeless.q.val() && !self.set_info.val().ids.any() {
            self.keeps_now.next = false;
        }
        // The lists of a request that is judged while another one is sent take a round trip, those of others do not.
        if (bit_cast::<33, 32>(self.set_info.val().count) < self.least_rows.val())
            && self.head.q.val().sets.any()
            && (self.set_info.val().ids.any() || (self.dests_now.val() <= FEW_DESTS))
        {
            self.keeps_now.next = false;
        }
    }

    /// The request was judged before its start: waits for that.
    #[hdl_gen]
    pub(super) fn await_start(&mut self) {
        if self.start.val() {
            self.ahead.d.next = false;
            self.state.d.next = ListerState::Settle;
            if self.refused.val() || self.failure.q.val().any() {
                self.state.d.next = ListerState::Finish;
            }
        } else if self.forget.val() {
            self.ahead.d.next = false;
            self.state.d.next = ListerState::Idle;
        }
    }

    /// Ends the request, or what is judged ahead of it.
    #[hdl_gen]
    pub(super) fn finish(&mut self) {
        if self.rests.q.val() && !self.restarts.val() && (!self.is_sent.q.val() || self.sent.val())
        {
            if self.abandons.q.val() {
                self.abandons.d.next = false;
                self.hopeless.d.next = true;
                self.ahead.d.next = false;
                self.state.d.next = ListerState::Idle;
            } else if self.ahead.q.val() {
                self.state.d.next = ListerState::Judged;
            } else {
                self.done.next = true;
                self.sending.d.next = false;
                self.state.d.next = ListerState::Idle;
            }
        }
    }

    /// Ends a walk whose values are not kept, if they must be.
    #[hdl_gen]
    pub(super) fn look_at_kept(&mut self) {
        self.marks.next = self.turns.q.val()
            && ((self.many.val() && !self.streaming.q.val())
                || (self.dense.q.val() && self.streaming.q.val()))
            && self.fits.q.val()
            && (self.log_new.q.val() >= self.log_chunk.q.val());
        self.merges.next = self.log_new.q.val() - self.log_chunk.q.val();
        self.may_stop.next = self.judging.val()
            && ((self.state.q.val() == ListerState::Region)
                || (self.state.q.val() == ListerState::Rows)
                || (self.state.q.val() == ListerState::DestRead));
        self.is_long.next = (self.state.q.val() == ListerState::Region)
            && (self.set_kinds.val().chase || (self.set_info.val().count > MOST_AHEAD));
        if self.judging.val() && self.full.val() {
            self.keeps.d.next = false;
        }
        if self.may_stop.val()
            && self.ahead.q.val()
            && (!self.keeps.q.val() || self.full.val() || self.is_long.val())
        {
            self.abandons.d.next = true;
            self.state.d.next = ListerState::Finish;
        } else if self.may_stop.val()
            && self.full.val()
            && self.turns.q.val()
            && self.head.q.val().is_write
        {
            // The lengths of messages that are judged in turns are not kept otherwise: all are judged anew.
            self.state.d.next = ListerState::Finish;
        }
        if self.ends_sent.val() {
            self.sending.d.next = false;
            self.done.next = true;
            self.status.next = 0.into();
            self.bad_dest.next = 0.into();
        }
    }
}
