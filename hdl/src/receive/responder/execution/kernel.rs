//! The logic of the execution, state by state. Its parts stand in files by what they do.

use super::super::checks::Verdict;
use super::super::record::JobKind;
use super::{Execution, ExecutionState, MALFORMED};
use crate::context::REGION;
use crate::receive::record::{AppendOutcome, RegionVerdict};
use drdma_emit::prelude::*;

impl Logic for Execution {
    #[hdl_gen]
    fn update(&mut self) {
        self.judge();
        self.decide();
        self.decide_kind();
        self.advance();
        self.place();

        // The streams.
        self.placing.valid.next = self.placing_full.q.val();
        self.placing.next = self.placed.q.val();
        if self.placing.ready.val() {
            self.placing_full.d.next = false;
        }
        self.answer.valid.next = self.answer_full.q.val();
        self.answer.next = self.answered.q.val();
        if self.answer.ready.val() {
            self.answer_full.d.next = false;
        }
        self.checks.revoke_valid.next = self.state.q.val() == ExecutionState::Revoke;
        self.invalidate.valid.next = self.state.q.val() == ExecutionState::Tell;
        self.invalidate.region.next = self.at.val().progress.rkey.get_bits::<REGION>(0);
        // The queue pair breaks when placing and answer of the packet were taken.
        self.set_qp_error.valid.next = (self.state.q.val() == ExecutionState::Break)
            && !self.placing_full.q.val()
            && !self.answer_full.q.val();
        self.set_qp_error.qp.next = self.at.val().qp;

        self.ask_regions();
        self.begins_at.next = ExecutionState::Finish;
        if (self.at.val().kind == JobKind::Execute) || (self.at.val().kind == JobKind::Again) {
            self.begins_at.next = ExecutionState::Sums;
        }

        self.finishes.next = false;
        self.ends.next = self.state.q.val() == ExecutionState::Empty;
        match self.state.q.val() {
            ExecutionState::Empty => {}
            ExecutionState::Release => {
                if self.append_ask.ready.val() {
                    self.state.d.next = ExecutionState::Released;
                }
            }
            ExecutionState::Released => {
                if self.append_told.valid.val() {
                    self.state.d.next = self.begins_at.val();
                }
            }
            ExecutionState::Sums => {
                self.state.d.next = ExecutionState::Lengths;
            }
            ExecutionState::Lengths => self.measure(),
            ExecutionState::Rows => {
                if self.append_ask.ready.val() {
                    self.state.d.next = ExecutionState::Told;
                }
            }
            ExecutionState::Told => self.take_rows(),
            ExecutionState::Bounds => {
                self.state.d.next = ExecutionState::Key;
            }
            ExecutionState::Key => {
                self.state.d.next = ExecutionState::Finish;
            }
            ExecutionState::Finish => self.finish(),
            ExecutionState::Find => {
                if self.region_ask.ready.val() {
                    self.state.d.next = ExecutionState::Found;
                }
            }
            ExecutionState::Found => self.take_region(),
            ExecutionState::Payload => {
                self.ends.next = !self.placing_full.q.val();
            }
            ExecutionState::Revoke => {
                if self.checks.revoke_ready.val() {
                    self.state.d.next = ExecutionState::Tell;
                }
            }
            ExecutionState::Tell => {
                if self.invalidate.ready.val() {
                    self.revoked.d.next = true;
                    self.state.d.next = ExecutionState::Finish;
                }
            }
            ExecutionState::Break => {
                if self.set_qp_error.valid.val() && self.set_qp_error.ready.val() {
                    self.state.d.next = ExecutionState::Empty;
                }
            }
        }
        if self.finishes.val()
            || ((self.state.q.val() == ExecutionState::Payload) && !self.placing_full.q.val())
        {
            self.placing_full.d.next = true;
            self.placed.d.next = self.place.val();
        }
        self.region_settle.valid.next = self.finishes.val() && self.sought_header.q.val();
        self.region_settle.placed.next = self.verdict.val() == Verdict::Good;
        self.append_settle.valid.next = self.finishes.val() && self.asked.q.val();
        self.append_settle.outcome.next = AppendOutcome::Stays;
        if self.verdict.val() == Verdict::Good {
            self.append_settle.outcome.next = AppendOutcome::Holds;
            if self.at.val().last {
                self.append_settle.outcome.next = AppendOutcome::Commits;
            }
        } else if !self.at.val().reliable && !self.lost.val() {
            self.append_settle.outcome.next = AppendOutcome::Drops;
        }
        if self.finishes.val() {
            self.asked.d.next = false;
            self.sought.d.next = false;
            self.sought_header.d.next = false;
            self.found.d.next = RegionVerdict::Reached;
        }
        self.append_taken.valid.next =
            self.finishes.val() && self.at.val().taken && self.at.val().progress.appends;
        self.append_taken.returned.next = self.returns.val();
        self.append_taken.halts.next = self.completes.val() && (self.status.val() == MALFORMED);
        if self.finishes.val() && self.answers.val() {
            self.answer_full.d.next = true;
            self.answered.d.next.qp = self.at.val().qp;
            self.answered.d.next.stamp = self.at.val().stamp;
            self.answered.d.next.syndrome = self.syndrome.val();
            self.answered.d.next.psn = self.at.val().psn;
            self.answered.d.next.msn = self.next_msn.val();
            self.answered.d.next.reads =
                self.at.val().read && (self.verdict.val() == Verdict::Good);
            self.answered.d.next.atomic = self.changes.val()
                || (self.at.val().atomic && (self.at.val().kind == JobKind::Again));
            self.answered.d.next.again = self.at.val().kind == JobKind::Again;
            self.answered.d.next.swaps = self.at.val().swaps;
            self.answered.d.next.slot = self.slot.val();
            self.answered.d.next.resource = self.at.val().resource;
            if self.accepts.val() {
                self.answered.d.next.resource = self.at.val().resource + 1;
            }
            self.answered.d.next.kept = self.at.val().kept;
            self.answered.d.next.addr = self.at.val().progress.addr;
            self.answered.d.next.rkey = self.at.val().progress.rkey;
            self.answered.d.next.len = self.at.val().progress.len;
            self.answered.d.next.pd = self.at.val().pd;
            self.answered.d.next.log_mtu = self.at.val().log_mtu;
            self.answered.d.next.earlier = self.frames.q.val();
            if self.changes.val() {
                self.answered.d.next.earlier = self.frames.q.val() + 1;
            }
        }
        self.accepted.valid.next = self.finishes.val() && self.changes.val();
        self.accepted.slot.next = self.slot.val();
        self.accepted.addr.next = self.at.val().progress.addr;
        self.accepted.swap_or_add.next = self.at.val().swap_or_add;
        self.accepted.compare.next = self.at.val().compare;
        if self.placing.valid.val() && self.placing.ready.val() && self.placed.q.val().frame_end {
            self.frames.d.next = self.frames.q.val() + 1;
        }
        self.count_dropped.next =
            self.finishes.val() && self.fate.void.val() && self.fate.broken.val();
        self.count_ignored.next = self.finishes.val()
            && (((self.at.val().kind == JobKind::Again) && !self.answers.val())
                || (self.fate.void.val() && !self.fate.broken.val())
                || (self.executes.val()
                    && !self.lost.val()
                    && !self.at.val().reliable
                    && (self.verdict.val() != Verdict::Good)
                    && !self.breaks.val()));
        // Foreseen progress is in the table already, and perhaps that of later packets.
        self.write.valid.next = self.finishes.val()
            && self.writes.val()
            && (!self.at.val().foreseen || (self.verdict.val() != Verdict::Good));
        self.failed.d.next = self.finishes.val()
            && self.executes.val()
            && !self.lost.val()
            && (self.verdict.val() != Verdict::Good);
        self.failure.d.next.qp = self.at.val().qp;
        self.failure.d.next.breaks = self.breaks.val();
        self.fails.valid.next = self.failed.q.val();
        self.fails.next = self.failure.q.val();
        self.write.qp.next = self.at.val().qp;
        self.write.progress.next = self.then.val();
        self.write.resource.next = self.at.val().resource;
        if self.accepts.val() {
            self.write.resource.next = self.at.val().resource + 1;
        }

        // Giving up another message's receive is the first half of a job.
        self.ended.next = (self.ends.val()
            && (self.state.q.val() != ExecutionState::Empty)
            && (self.at.val().kind != JobKind::Abandon))
            || ((self.state.q.val() == ExecutionState::Break)
                && self.set_qp_error.valid.val()
                && self.set_qp_error.ready.val());

        self.take_next();
        self.lingers.valid.next = self.placing_full.q.val();
        self.lingers.qp.next = self.placed.q.val().qp;
        self.idle.next =
            (self.state.q.val() == ExecutionState::Empty) && !self.placing_full.q.val();
        if self.rst.val() {
            self.state.d.next = ExecutionState::Empty;
            self.placing_full.d.next = false;
            self.answer_full.d.next = false;
            self.failed.d.next = false;
            self.asked.d.next = false;
            self.sought.d.next = false;
            self.sought_header.d.next = false;
            self.found.d.next = RegionVerdict::Reached;
            self.frames.d.next = 0.into();
        }
        // The answer is given to the checks a cycle ahead.
        self.checks.append.next = self.told.d.val();
    }
}
