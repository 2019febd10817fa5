//! Consequences for a packet, its receive, its peer and its queue pair.

use super::super::checks::Verdict;
use super::super::record::{JobKind, Message};
use super::{
    ACK, Execution, ExecutionState, FLUSHED, FORBIDDEN, INVALID, MALFORMED, MOST, NAK_ACCESS,
    NAK_INVALID, NAK_OPERATION, NO_ACCESS, RNR_NAK, TOO_LONG,
};
use crate::receive::record::AppendVerdict;
use drdma_emit::prelude::*;

impl Execution {
    /// Decodes the packet, and takes the verdict on it.
    #[hdl_gen]
    pub(super) fn judge(&mut self) {
        self.at.next = self.held.q.val();
        // If the queue pair was broken by something else, what is on its way for it is dropped as well, if that is
        // noticed.
        self.lost.next = self.fate.stale.val()
            || self.fate.void.val()
            || (self.asked.q.val() && (self.told.q.val().verdict == AppendVerdict::Gone));
        self.unused.next = self.at.val();
        self.cfg.join(&mut self.checks.cfg);
        self.checks.at.next = self.at.val();
        self.checks.sample.next = self.state.q.val() == ExecutionState::Key;
        // This condition comes late, and so is not among the checks.
        self.verdict.next = self.checks.verdict.val();
        if ((self.at.val().kind != JobKind::Execute) && (self.at.val().kind != JobKind::Again))
            || self.lost.val()
        {
            self.verdict.next = Verdict::Invalid;
        }
        self.executes.next = self.at.val().kind == JobKind::Execute;
        self.appends.next = self.executes.val()
            && self.at.val().progress.appends
            && self.at.val().progress.in_use
            && !self.at.val().write
            && !self.at.val().read
            && !self.at.val().atomic
            && !self.at.val().missing
            && !self.at.val().status.any();
        self.checks.found.next = self.found.q.val();
        self.pieces.next = self.executes.val()
            && (self.checks.described.val()
                || (self.at.val().progress.pieces
                    && self.at.val().progress.in_use
                    && !self.at.val().write
                    && !self.at.val().read
                    && !self.at.val().atomic));
        self.of_header.next = self.at.val().datagram && !self.sought_header.q.val();
        self.seeks.next = self.pieces.val()
            && (self.verdict.val() == Verdict::Good)
            && (self.of_header.val() || (self.at.val().bytes.any() && !self.sought.q.val()));
        self.returns.next = false;
        self.takes.next = 1.into();
        if self.at.val().read {
            self.takes.next = self.checks.packets.val();
        }
        self.behind.next = self.at.val().progress.expected - self.at.val().psn;
        // Both are known two cycles before the job is finished, at least.
        self.answerable.d.next = self.takes.val() <= self.behind.val();
        self.changes.next =
            self.executes.val() && self.at.val().atomic && (self.verdict.val() == Verdict::Good);
        self.accepts.next = self.changes.val()
            || (self.executes.val() && self.at.val().read && (self.verdict.val() == Verdict::Good));
    }

    /// Decides about the receive, the answer to the peer, and the queue pair.
    #[hdl_gen]
    pub(super) fn decide(&mut self) {
        self.completes.next = false;
        self.status.next = INVALID.into();
        self.answers.next = false;
        self.syndrome.next = NAK_INVALID.into();
        self.breaks.next = false;
        self.next_msn.next = self.at.val().progress.msn;
        match self.verdict.val() {
            Verdict::Good => {
                self.status.next = 0.into();
                self.completes.next =
                    self.at.val().last && (!self.at.val().write || self.at.val().with_imm);
                self.answers.next = self.at.val().reliable
                    && (self.at.val().ack_req || self.at.val().read || self.at.val().atomic);
                self.syndrome.next = ACK.into();
                if self.at.val().last || self.at.val().read || self.at.val().atomic {
                    self.next_msn.next = self.at.val().progress.msn + 1;
                }
            }
            Verdict::Missing => {
                self.answers.next = self.at.val().reliable;
                self.syndrome.next = bit_cast::<8, 5>(self.at.val().rnr_timer) | RNR_NAK;
                // There is a receive, but the append region has no rows.
                self.returns.next = self.at.val().taken;
                self.completes.next = !self.at.val().reliable
                    && self.at.val().shared
                    && self.at.val().progress.in_use
                    && !self.at.val().taken;
            }
            Verdict::Malformed => {
                self.completes.next = true;
                self.status.next = self.at.val().status;
                if self.appends.val() {
                    self.status.next = FORBIDDEN.into();
                    if self.at.val().first
                        && (self.told.q.val().verdict == AppendVerdict::Malformed)
                    {
                        self.status.next = MALFORMED.into();
                    }
                }
                self.answers.next = self.at.val().reliable;
                self.syndrome.next = NAK_OPERATION.into();
                self.breaks.next = true;
            }
            Verdict::Invalid => {
                self.completes.next = !self.at.val().reliable
                    && self.at.val().shared
                    && self.at.val().progress.in_use;
                self.answers.next = self.at.val().reliable;
                self.breaks.next = self.at.val().reliable;
            }
            Verdict::TooLong => {
                self.completes.next = (self.at.val().reliable || self.at.val().shared)
                    && self.at.val().progress.in_use;
                self.status.next = TOO_LONG.into();
                self.answers.next = self.at.val().reliable;
                self.breaks.next = self.at.val().reliable;
            }
            Verdict::Access => {
                self.completes.next = (self.at.val().reliable || self.at.val().shared)
                    && self.at.val().progress.in_use;
                self.status.next = NO_ACCESS.into();
                self.answers.next = self.at.val().reliable;
                self.syndrome.next = NAK_ACCESS.into();
                self.breaks.next = self.at.val().reliable;
            }
            Verdict::Unreachable => {
                self.completes.next = self.at.val().progress.in_use;
                self.status.next = FORBIDDEN.into();
                self.answers.next = self.at.val().reliable;
                self.syndrome.next = NAK_OPERATION.into();
                self.breaks.next = true;
            }
            Verdict::Irrevocable => {
                self.completes.next = self.at.val().progress.in_use;
                self.breaks.next = true;
            }
        }
        self.writes.next = self.executes.val();
    }

    /// Decides about jobs that execute no packet.
    #[hdl_gen]
    pub(super) fn decide_kind(&mut self) {
        match self.at.val().kind {
            JobKind::Nothing => {
                self.completes.next = false;
                self.answers.next = false;
                self.breaks.next = false;
            }
            JobKind::Answer => {
                self.completes.next = false;
                self.answers.next = true;
                self.syndrome.next = self.at.val().syndrome;
                self.breaks.next = false;
                self.writes.next = true;
            }
            JobKind::Again => {
                self.completes.next = false;
                self.answers.next =
                    (self.verdict.val() == Verdict::Good) && self.answerable.q.val();
                if self.at.val().atomic {
                    self.answers.next = true;
                    self.syndrome.next = ACK.into();
                }
                self.next_msn.next = self.at.val().progress.msn;
                self.breaks.next = false;
            }
            JobKind::Forget => {
                self.completes.next = false;
                self.answers.next = false;
                self.breaks.next = false;
                self.writes.next = true;
            }
            JobKind::Abandon => {
                self.completes.next = true;
                self.answers.next = false;
                self.breaks.next = false;
            }
            JobKind::Refuse | JobKind::Execute => {}
        }
        // The host has let the queue pair begin anew, or a packet before has failed: a receive that was taken is given
        // back.
        if self.lost.val() && (self.at.val().kind != JobKind::Abandon) {
            self.completes.next = self.at.val().taken;
            self.status.next = FLUSHED.into();
            self.answers.next = false;
            self.breaks.next = false;
            self.writes.next = false;
            self.returns.next = false;
        }
    }

    /// The queue pair's progress after the job.
    #[hdl_gen]
    pub(super) fn advance(&mut self) {
        self.then.next = self.at.val().progress;
        if self.executes.val() {
            self.then.next.expected = self.at.val().psn + self.takes.val();
            self.then.next.msn = self.next_msn.val();
            self.then.next.message = Message::None;
            if self.completes.val() {
                self.then.next.in_use = false;
            }
            if self.verdict.val() == Verdict::Good {
                if !self.at.val().last && !self.at.val().read && !self.at.val().atomic {
                    self.then.next.message = Message::Send;
                    if self.at.val().write {
                        self.then.next.message = Message::Write;
                    }
                }
                if self.at.val().write {
                    self.then.next.addr =
                        self.at.val().progress.addr + bit_cast::<64, 13>(self.at.val().bytes);
                    self.then.next.remaining =
                        self.at.val().progress.remaining - bit_cast::<32, 13>(self.at.val().bytes);
                } else {
                    self.then.next.len = self.checks.sum.val();
                }
            }
            if (self.verdict.val() == Verdict::Missing) && self.at.val().reliable {
                // The packet will come again: those behind it are dropped without an answer until then.
                self.then.next = self.at.val().progress;
                self.then.next.asked = true;
            }
            if self.returns.val() {
                self.then.next.in_use = false;
            }
        }

        if self.accepts.val() && (self.at.val().progress.accepted < MOST) {
            self.then.next.accepted = self.at.val().progress.accepted + 1;
        }
    }
}
