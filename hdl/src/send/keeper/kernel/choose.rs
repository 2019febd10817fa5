//! Choice of the next event.

use super::super::{Keeper, KeeperEvent, NEXT_TURN};
use drdma_emit::prelude::*;

impl Keeper {
    /// The event that was chosen goes to the third stage, with the entries that were read for it.
    #[hdl_gen]
    pub(super) fn pass_on(&mut self) {
        if self.runs.val() {
            self.act.d.next = self.look.q.val();
            self.act_event.d.next = self.event.q.val();
            self.act_qp.d.next = self.qp.q.val();
            self.act_held.d.next = self.held.q.val();
            self.act_answer.d.next = self.answer.q.val();
            self.act_carries.d.next = self.carries.q.val();
            self.age.d.next = self.now.val() - self.list_out.record.val().time;
            self.left.d.next = self.list_out.record.val().time - self.now.val();
            self.policy.d.next = self.policies.policy.val();
            self.is_limited.d.next = self.limited.val();
            self.fits.d.next = self.keeps.val()
                && ((self.event.q.val() != KeeperEvent::Packet) || self.is_current.val());
            self.walk.d.next = self.list.q.val();
            self.walk_event.d.next = self.act_event.q.val();
            self.walk_qp.d.next = self.act_qp.q.val();
            self.walk_answer.d.next = self.act_answer.q.val();
            self.walk_keeps.d.next = self.policy.q.val().keeps;
            self.walk_retry_cnt.d.next = self.policy.q.val().retry_cnt;
            self.walk_rnr_retry.d.next = self.policy.q.val().rnr_retry;
            self.progressed.d.next = false;
        }
    }

    /// Choice of the next event, unless the list of its queue pair is about to change.
    #[hdl_gen]
    pub(super) fn choose(&mut self) {
        self.due.next = self.events.q.val().all() && self.tells_roomy.val();
        self.leads.next = (self.event.q.val() == KeeperEvent::Packet)
            || (self.event.q.val() == KeeperEvent::Response);
        if self.runs.val() {
            self.held.d.next = self.packet.val();
            self.answer.d.next = self.response.val();
            self.carries.d.next = false;
            self.look.d.next = false;
            self.follows.d.next = false;
            self.event.d.next = KeeperEvent::Item;
            if !self.events.q.val().all() {
                self.events.d.next = self.events.q.val() + 1;
            }
            if self.early.q.val()
                && !(self.look.q.val() && (self.qp.q.val() == self.early_qp.q.val()))
            {
                self.early_taken.next = true;
                self.qp.d.next = self.early_qp.q.val();
                self.event.d.next = self.early_event.q.val();
                self.look.d.next = true;
            } else if self.response.valid.val()
                && self.tells_roomy.val()
                && self.pages.roomy.val()
                && !self.due.val()
                && !(self.look.q.val()
                    && !self.leads.val()
                    && (self.qp.q.val() == self.response.qp.val()))
            {
                self.follows.d.next =
                    self.look.q.val() && (self.qp.q.val() == self.response.qp.val());
                self.response.ready.next = true;
                self.qp.d.next = self.response.qp.val();
                self.event.d.next = KeeperEvent::Response;
                self.look.d.next = true;
            } else if self.next_turns.output.valid.val()
                && self.sends_roomy.val()
                && !self.backed_up.val()
                && !self.due.val()
                && (self.was_new.q.val() || !self.packet.valid.val())
                && !(self.look.q.val() && (self.qp.q.val() == self.next_turns.output.data.val().qp))
            {
                self.next_turns.output.ready.next = true;
                self.recent.d.next = NEXT_TURN.into();
                self.was_new.d.next = false;
                self.qp.d.next = self.next_turns.output.data.val().qp;
                self.event.d.next = KeeperEvent::Resend;
                self.look.d.next = true;
            } else if self.packet.valid.val()
                && !self.packet.marker.val()
                && self.sends_roomy.val()
                && !self.backed_up.val()
                && !(self.lists_wait.val() && self.was_new.q.val())
                && !self.due.val()
                && !(self.look.q.val()
                    && !self.leads.val()
                    && (self.qp.q.val() == self.packet.qp.val()))
            {
                self.follows.d.next =
                    self.look.q.val() && (self.qp.q.val() == self.packet.qp.val());
                self.packet.ready.next = true;
                self.was_new.d.next = true;
                self.qp.d.next = self.packet.qp.val();
                self.event.d.next = KeeperEvent::Packet;
                self.look.d.next = true;
            } else if self.tells_roomy.val()
                && !(self.look.q.val() && (self.qp.q.val() == self.watched.q.val()))
            {
                self.qp.d.next = self.watched.q.val();
                self.watched.d.next = self.watched.q.val() + 1;
                self.events.d.next = 0.into();
                self.event.d.next = KeeperEvent::Tick;
                self.look.d.next = true;
            }
            // A `sent` item goes along with an event that sends no packet.
            if self.packet.valid.val()
                && self.packet.marker.val()
                && self.sends_roomy.val()
                && (self.event.d.val() != KeeperEvent::Resend)
            {
                self.packet.ready.next = true;
                self.was_new.d.next = true;
                self.carries.d.next = true;
                self.look.d.next = true;
            }
        }
    }

    /// The event that has priority waits in a register, which is filled when it is empty.
    #[hdl_gen]
    pub(super) fn choose_early(&mut self) {
        self.go.ready.next = !self.early.q.val() && !self.renewed.output.valid.val();
        if self.early_taken.val() {
            self.early.d.next = false;
        }
        if !self.early.q.val() {
            self.early.d.next = self.renewed.output.valid.val() || self.go.valid.val();
            self.early_event.d.next = KeeperEvent::Go;
            self.early_qp.d.next = self.go.qp.val();
            if self.renewed.output.valid.val() {
                self.early_event.d.next = KeeperEvent::Forget;
                self.early_qp.d.next = self.renewed.output.data.val().qp;
            }
        }
    }
}
