//! How operations are chosen.

use super::super::{Pool, PoolOperation};
use crate::context::QUEUE;
use drdma_emit::prelude::*;

impl Pool {
    /// Chooses the operation.
    #[hdl_gen]
    pub(super) fn choose(&mut self) {
        self.halt.join(&mut self.halts.input);
        self.chosen.next = PoolOperation::Rest;
        self.chosen_queue.next = self.queue.q.val();
        self.open.next = (self.operation.q.val() != PoolOperation::Pop) && !self.renews.q.val();
        self.marks.next = self.open.val() && !self.plan.valid.val();
        self.looks.next =
            self.marks.val() && !self.halts.output.valid.val() && !self.mark.valid.val();
        self.pops.next = self.looks.val() && !self.look.valid.val();
        self.plan.ready.next = self.open.val();
        self.halts.output.ready.next = self.marks.val();
        self.mark.ready.next = self.marks.val() && !self.halts.output.valid.val();
        self.look.ready.next = self.looks.val();
        self.pop.ready.next = self.pops.val();
        self.append.ready.next = !self.has_arrived.q.val();
        if self.operation.q.val() == PoolOperation::Pop {
            self.chosen.next = PoolOperation::Give;
        } else if self.renews.q.val() {
            self.chosen.next = PoolOperation::Renew;
            self.chosen_queue.next = self.renewed.q.val();
            self.renews.d.next = false;
        } else if self.plan.valid.val() {
            self.chosen.next = PoolOperation::Plan;
            self.chosen_queue.next = self.plan.queue.val();
        } else if self.halts.output.valid.val() {
            self.chosen.next = PoolOperation::Mark;
            self.chosen_queue.next = self.halts.output.data.val().queue;
        } else if self.mark.valid.val() {
            self.chosen.next = PoolOperation::Mark;
            self.chosen_queue.next = self.mark.queue.val();
        } else if self.look.valid.val() {
            self.chosen.next = PoolOperation::Look;
            self.chosen_queue.next = self.look.queue.val();
        } else if self.has_arrived.q.val() {
            self.chosen.next = PoolOperation::Append;
            self.chosen_queue.next = self.arrived.q.val().queue;
        }
    }

    /// Takes the operation that was chosen, which is carried out in the next cycle.
    #[hdl_gen]
    pub(super) fn take_operation(&mut self) {
        // `pop` comes late: the queue is looked up whether it comes or not.
        if self.pops.val() && self.may_pop.val() {
            self.chosen.next = PoolOperation::Rest;
            self.chosen_queue.next = self.pop.queue.val();
            self.asked.d.next = self.pop.val();
            if self.pop.valid.val() {
                self.chosen.next = PoolOperation::Pop;
            }
        }
        self.operation.d.next = self.chosen.val();
        self.queue.d.next = self.chosen_queue.val();
        self.wiping.d.next = self.wipes.q.val();
        self.enabling.d.next = self.enables.q.val();
        self.planned.d.next = self.plan.val();
        self.marked.d.next = self.mark.val();
        if self.halts.output.valid.val() {
            self.marked.d.next = self.halts.output.data.val();
        }
        if self.pops.val() && !self.may_pop.val() {
            self.has_arrived.d.next = false;
        }
        // The block stays until its operation is carried out.
        if !self.has_arrived.q.val() {
            self.has_arrived.d.next = self.append.valid.val();
            self.arrived.d.next = self.append.val();
        }
        self.states.ahead.next = self.chosen_queue.val();
        if self.select.receive_enable.val() {
            self.renews.d.next = true;
            self.wipes.d.next = self.select.every.val();
            self.enables.d.next = self.cfg.data.val() == 1;
            self.renewed.d.next = self.cfg.index.val().get_bits::<QUEUE>(0);
        }
    }
}
