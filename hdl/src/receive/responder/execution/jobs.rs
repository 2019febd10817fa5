//! Jobs: how one begins, is looked up, and ends.

use super::super::checks::Verdict;
use super::super::record::JobKind;
use super::{Execution, ExecutionState};
use drdma_emit::prelude::*;

impl Execution {
    /// The next job.
    #[hdl_gen]
    pub(super) fn take_next(&mut self) {
        self.job.ready.next = self.ends.val();
        if self.ends.val() {
            self.state.d.next = ExecutionState::Empty;
            self.revoked.d.next = false;
            if self.job.valid.val() {
                self.held.d.next = self.job.val();
                self.state.d.next = ExecutionState::Finish;
                if (self.job.kind.val() == JobKind::Execute)
                    || (self.job.kind.val() == JobKind::Again)
                {
                    self.state.d.next = ExecutionState::Sums;
                }
                if self.job.releases.val() {
                    self.state.d.next = ExecutionState::Release;
                }
            }
        }
    }

    /// Compares lengths.
    #[hdl_gen]
    pub(super) fn measure(&mut self) {
        self.state.d.next = ExecutionState::Bounds;
        if !self.at.val().write
            && !self.at.val().read
            && !self.at.val().atomic
            && !self.at.val().invalidates
        {
            self.state.d.next = ExecutionState::Finish;
        }
        if self.appends.val() && !self.lost.val() {
            self.state.d.next = ExecutionState::Rows;
        }
    }

    /// Waits for the append region's answer.
    #[hdl_gen]
    pub(super) fn take_rows(&mut self) {
        self.told.d.next = self.append_told.val();
        if self.append_told.valid.val() {
            self.asked.d.next = true;
            self.state.d.next = ExecutionState::Finish;
            if self.at.val().invalidates {
                self.state.d.next = ExecutionState::Bounds;
            }
        }
    }

    /// Everything is known: the first placing is made.
    #[hdl_gen]
    pub(super) fn finish(&mut self) {
        if (self.verdict.val() == Verdict::Good)
            && self.at.val().invalidates
            && !self.revoked.q.val()
        {
            self.state.d.next = ExecutionState::Revoke;
        } else if self.seeks.val() {
            self.state.d.next = ExecutionState::Find;
        } else if !self.begins.val()
            && !self.placing_full.q.val()
            && !(self.answers.val() && self.answer_full.q.val())
            && !(self.changes.val() && !self.has_slot.val())
        {
            self.finishes.next = true;
            if self.breaks.val() {
                self.state.d.next = ExecutionState::Break;
            } else if self.splits.val() {
                self.state.d.next = ExecutionState::Payload;
            } else {
                self.ends.next = true;
            }
        }
    }

    /// Waits for that answer.
    #[hdl_gen]
    pub(super) fn take_region(&mut self) {
        if self.region_told.valid.val() {
            self.found.d.next = self.region_told.verdict.val();
            self.sought_header.d.next = true;
            self.sought.d.next = !self.of_header.val();
            self.state.d.next = ExecutionState::Finish;
        }
    }
}
