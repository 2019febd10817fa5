//! Verdicts about packets, and their outcomes.

use super::super::{Appends, AppendsState, ROWS};
use crate::receive::record::{AppendOutcome, AppendRequest, AppendVerdict};
use drdma_emit::prelude::*;

impl Appends {
    /// The verdict, and the state of the region after the packet.
    #[hdl_gen]
    pub(super) fn prepare_verdict(&mut self) {
        // The outcome of a packet is known late in its cycle.
        self.settles.d.next = self.settle.valid.val();
        self.outcome.d.next = self.settle.outcome.val();
        self.ask.ready.next = false;
        self.told.valid.next = false;
        self.told.verdict.next = self.verdict.q.val();
        self.told.whole.next = !self.room.q.val().any();
        self.told.first_row.next = self.now.q.val().first;
        self.told.life.next = self.entry.q.val().life;
        self.writes.next = false;
        self.then.next = self.now.q.val();
        self.then.next.life = self.entry.q.val().life;
        self.then.next.taken = false;
        self.then.next.holder = self.asked.q.val().qp;
        self.then.next.stamp = self.stamp.q.val();
        self.then.next.rows = self.rows.q.val().get_bits::<32>(0);
        self.then.next.room = self.room.q.val();
        self.wrapped.next = self.sum.q.val().get_bits::<32>(0) - self.entry.q.val().capacity;
    }

    /// Gives the answer.
    #[hdl_gen]
    pub(super) fn tell(&mut self) {
        self.told.valid.next = true;
        self.behind.d.next = self.sum.q.val().get_bits::<32>(0);
        if self.sum.q.val() >= bit_cast::<ROWS, 32>(self.entry.q.val().capacity) {
            self.behind.d.next = self.wrapped.val();
        }
        if !self.asked.q.val().first && !self.lives_on.q.val() {
            self.told.verdict.next = AppendVerdict::Gone;
        } else if !self.asked.q.val().first && !self.holds.q.val() {
            self.told.verdict.next = AppendVerdict::Lost;
        }
        self.state.d.next = AppendsState::Settle;
        if self.asked.q.val().request == AppendRequest::Release {
            self.writes.next = self.holds.q.val();
            self.state.d.next = AppendsState::Idle;
        }
    }

    /// Changes the state of the region by the outcome of the packet.
    #[hdl_gen]
    pub(super) fn apply_outcome(&mut self) {
        match self.outcome.q.val() {
            AppendOutcome::Stays => {}
            AppendOutcome::Holds => {
                self.writes.next = true;
                self.then.next.taken = true;
            }
            AppendOutcome::Commits => {
                self.writes.next = true;
                self.then.next.first = self.behind.q.val();
                self.then.next.appended =
                    self.now.q.val().appended + self.rows.q.val().get_bits::<32>(0);
            }
            AppendOutcome::Drops => {
                self.writes.next = self.holds.q.val();
            }
        }
    }
}
