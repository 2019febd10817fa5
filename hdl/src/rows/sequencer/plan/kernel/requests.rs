//! Requests: how one begins and ends.

use super::super::{Plan, PlanState};
use crate::request::DEST_COUNT;
use crate::rows::sequencer::record::END;
use drdma_emit::prelude::*;

impl Plan {
    /// Reads of the tables, and their answers; for a column of a WRITE, with the set of that column.
    #[hdl_gen]
    pub(super) fn read_tables(&mut self) {
        self.here.next = self.dest_info.val();
        self.here.next.first_set =
            self.dest_info.val().first_set + bit_cast::<11, 5>(self.pass_set.q.val());
        self.mtu.d.next = bit_cast::<13, 1>(1.into()) << self.head.q.val().log_mtu;
        self.dest_at.next =
            self.first_dest.q.val() + bit_cast::<10, DEST_COUNT>(self.index.q.val());
        self.dest_read.next = self.dest_at.val();
        self.set_read.next = self.set.q.val();
        // While idle, the plan reads the next request's first destination; together with a head it reads the head's
        // set.
        if self.state.q.val() == PlanState::Idle {
            self.dest_read.next = self.request_first_dest.val();
        }
        if (self.state.q.val() == PlanState::InspectHead)
            || (self.state.q.val() == PlanState::ColumnHead)
            || (self.state.q.val() == PlanState::TallyHead)
            || (self.state.q.val() == PlanState::QuickHead)
        {
            self.set_read.next = self.here.val().first_set;
        }
        // The next destination's head is read during the last state of this one.
        if (self.state.q.val() == PlanState::Weigh)
            || (self.state.q.val() == PlanState::ColumnTurn)
            || (self.state.q.val() == PlanState::TallyTurn)
            || (self.state.q.val() == PlanState::QuickTimes)
        {
            self.dest_read.next = self.dest_at.val() + 1;
        }
    }

    /// Takes a request.
    #[hdl_gen]
    pub(super) fn take_request(&mut self) {
        self.slot.d.next = self.request_slot.val();
        self.dests.d.next = self.request_dests.val();
        self.first_dest.d.next = self.request_first_dest.val();
        self.columns.d.next = self.request_columns.val();
        self.pass.d.next = 0.into();
        self.pass_dest.d.next = self.request_first_dest.val();
        self.pass_set.d.next = 0.into();
        if self.request_columns.val().any() {
            self.pass_set.d.next = 1.into();
        }
        self.all_counted.d.next = false;
        self.kept_before.d.next = false;
        self.status.d.next = self.request_status.val();
        self.bad_dest.d.next = self.request_bad_dest.val();
        self.breaks.d.next = !self.request_status.val().any() || self.request_dests.val().any();
        self.single.d.next = self.request_dests.val() == 1;
        self.apart.d.next = self.request_apart.val();
        self.kinds.d.next = self.request_kinds.val();
        self.begins.next = true;
        if self.request_valid.val() {
            self.state.d.next = PlanState::InspectHead;
            if self.request_status.val().any() && self.request_dests.val().any() {
                self.state.d.next = PlanState::RecallRead;
            } else if self.request_status.val().any() || (self.request_dests.val() == 0) {
                self.state.d.next = PlanState::Finish;
            }
        }
    }

    /// A queue pair that has failed since goes before the decoder's verdict.
    #[hdl_gen]
    pub(super) fn recall(&mut self) {
        self.index.d.next = self.index.q.val() + 1;
        self.state.d.next = PlanState::RecallRead;
        if self.index.q.val() == self.bad_dest.q.val() {
            self.state.d.next = PlanState::Finish;
        }
        if self.qp_error.val() {
            self.status.d.next = self.flush.val();
            self.bad_dest.d.next = self.index.q.val();
            self.breaks.d.next = false;
            self.state.d.next = PlanState::Finish;
        }
    }

    /// Emits the end of the request, or of a column.
    #[hdl_gen]
    pub(super) fn finish(&mut self) {
        self.next_item.next.task = END.into();
        self.next_item.next.low = bit_cast::<64, 8>(self.status.q.val())
            | (bit_cast::<64, DEST_COUNT>(self.bad_dest.q.val()) << 9);
        if self.status.q.val().any() && self.breaks.q.val() {
            self.next_item.next.low = bit_cast::<64, 8>(self.status.q.val())
                | (bit_cast::<64, DEST_COUNT>(self.bad_dest.q.val()) << 9)
                | 0x100;
        }
        self.next_item.next.rows = 0.into();
        self.next_item.next.last = false;
        self.next_item.next.chunk_start = false;
        self.next_item.next.chunk_end = false;
        self.shared.next.dest = self.first_dest.q.val();
        // Between columns the request does not end, but the answers for the column are used up.
        self.next_item.next.never = self.passes.val();
        if self.free.val() || (self.item_ready.val() && !self.has_stretch.q.val()) {
            self.push.next = true;
            if self.passes.val() {
                self.begins.next = true;
                self.pass.d.next = self.pass.q.val() + 1;
                self.pass_set.d.next = self.pass_set.q.val() + 1;
                self.pass_dest.d.next =
                    self.pass_dest.q.val() + bit_cast::<10, DEST_COUNT>(self.dests.q.val());
                self.all_counted.d.next = self.all_counted.q.val() || self.counted.q.val();
                self.kept_before.d.next = self.kept_before.q.val() || self.column.q.val();
                self.single.d.next = self.dests.q.val() == 1;
                self.state.d.next = PlanState::InspectRead;
            } else {
                self.finished.next = true;
                self.state.d.next = PlanState::Idle;
                if self.status.q.val().any() && self.breaks.q.val() {
                    self.state.d.next = PlanState::Settle;
                }
            }
        }
    }

    /// Begins a request, or a column of it.
    #[hdl_gen]
    pub(super) fn begin(&mut self) {
        if self.begins.val() {
            self.index.d.next = 0.into();
            self.judge.d.next = false;
            self.partitioned.d.next = false;
            self.same.d.next = false;
            self.counted.d.next = true;
            self.uncounted.d.next = false;
            self.counting.d.next = false;
            self.stored.d.next = false;
            self.chunks.start.next = true;
            self.column.d.next = false;
            self.first_turn.d.next = true;
            self.fresh.d.next = true;
            self.turn.d.next.region = 0.into();
            self.turn.d.next.row = 0.into();
        }
    }
}
