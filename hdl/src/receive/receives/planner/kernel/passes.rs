//! Passes over queues: what begins them.

use super::super::{Planner, PlannerState};
use crate::context::{QP, QUEUE};
use drdma_emit::prelude::*;

impl Planner {
    /// The host writes a queue's entry.
    #[hdl_gen]
    pub(super) fn write_entry(&mut self) {
        self.select.valid.next = self.cfg.valid.val();
        self.select.number.next = self.cfg.table.val();
        self.select.word.next = self.cfg.word.val();
        self.rings.selected.next = self.select.receive_queue.val();
        self.rings.word.next = self.cfg.word.val();
        self.rings.index.next = self.cfg.index.val().get_bits::<QUEUE>(0);
        self.rings.data.next = self.cfg.data.val();
        self.owners.write_lanes.next = 0.into();
        if self.select.receive_queue.val() && (self.cfg.word.val() == self.owner_word.val()) {
            self.owners.write_lanes.next = 1.into();
        }
        self.owners.write_address.next = self.cfg.index.val().get_bits::<QUEUE>(0);
        self.owners.write_data.next = self.cfg.data.val().get_bits::<QP>(0);
    }

    /// Chooses between doorbells and listed queues, which take turns.
    #[hdl_gen]
    pub(super) fn choose(&mut self) {
        self.rings_bell.d.next = false;
        self.queue.d.next = self.work.output.data.val().queue;
        self.position.d.next = self.bells.output.data.val().position;
        if self.bells.output.valid.val()
            && !(self.work.output.valid.val() && self.bell_last.q.val())
        {
            self.bells.output.ready.next = true;
            self.rings_bell.d.next = true;
            self.bell_last.d.next = true;
            self.queue.d.next = self.bells.output.data.val().queue;
            self.state.d.next = PlannerState::Look;
        } else if self.work.output.valid.val() {
            self.work.output.ready.next = true;
            self.bell_last.d.next = false;
            self.state.d.next = PlannerState::Look;
        }
    }

    /// Decides whether the doorbell is dropped.
    #[hdl_gen]
    pub(super) fn judge(&mut self) {
        self.good.d.next = self.rings_bell.q.val()
            && self.then.q.val().enabled
            && !self.then.q.val().halted
            && (self.log.q.val() <= 16)
            && self.step.q.val().any()
            && (self.step.q.val() <= bit_cast::<32, 17>(self.blocks.q.val()))
            && (self.posted.q.val() <= bit_cast::<32, 17>(self.blocks.q.val()));
        self.offset.d.next = self.fetched.q.val() & (self.blocks.q.val() - 1);
        self.state.d.next = PlannerState::Cut;
    }
}
