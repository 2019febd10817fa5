//! Queues of work that wait for a turn: doorbells, parked doorbells, rests and cuts of batches.

use super::super::Queue;
use drdma_emit::prelude::*;

impl Queue {
    /// Keeps doorbells, with the lives of their queues.
    #[hdl_gen]
    pub(super) fn take_doorbell(&mut self) {
        self.doorbells.input.valid.next = self.doorbell_valid.val();
        self.doorbells.input.data.next.position = self.doorbell_position.val();
        self.doorbells.input.data.next.queue = self.doorbell_queue.val();
        self.doorbell_ready.next = self.doorbells.input.ready.val();
        self.lives.ahead[0].next = self.doorbell_queue.val();
        self.rung.d.next = self.doorbell_valid.val() && self.doorbells.input.ready.val();
        self.doorbell_lives.in_valid.next = self.rung.q.val();
        self.doorbell_lives.in_data.next = self.lives.stamp[0].val();
    }

    /// Parks doorbells of queue pairs that are held or silent, and chooses the one with the next turn.
    #[hdl_gen]
    pub(super) fn park(&mut self) {
        self.parking.cfg.valid.next = self.cfg_valid.val();
        self.parking.cfg.table.next = self.cfg_table.val();
        self.parking.cfg.index.next = self.cfg_index.val();
        self.parking.cfg.word.next = self.cfg_word.val();
        self.parking.cfg.data.next = self.cfg_data.val();
        self.parking.hold.valid.next = self.hold_valid.val();
        self.parking.hold.qp.next = self.hold_qp.val();
        self.parking.hold.held.next = self.hold_held.val();
        self.parking.silence.valid.next = self.silence_valid.val();
        self.parking.silence.qp.next = self.silence_qp.val();
        self.parking.silence.silent.next = self.silence_silent.val();
        self.parking.tries.next = false;
        self.parked.input.valid.next = false;
        // A message that was begun goes on if a shared queue waits for its end.
        self.is_held.next =
            self.parking.held.val() && !(self.resumes.q.val() && self.waits.q.val());
        self.defers.next = self.parking.silent.val()
            && self.parking.tried.val()
            && self.rivals.q.val()
            && !self.waits.q.val();
        self.parked.input.data.next.doorbell.target = self.target.q.val();
        self.parked.input.data.next.doorbell.queue = self.queue.q.val();
        self.parked.input.data.next.doorbell.life = self.life.q.val();
        self.parked.input.data.next.deferred = self.defers.val() && !self.is_held.val();
        self.parked.input.data.next.resumes = self.resumes.q.val();
        self.parked.input.data.next.heard = !self.parking.silent.val();
        self.parked.output.ready.next = false;
        self.takes_cut.next = self.cuts.output.valid.val();
        self.takes_rest.next = !self.cuts.output.valid.val()
            && self.rests.output.valid.val()
            && (!self.rest_before.q.val()
                || self.waits.q.val()
                || (!self.doorbells.output.valid.val() && !self.parked.output.valid.val()));
        self.must_wait.next = self.rests.output.valid.val()
            || self.is_cutting.q.val()
            || self.cuts.output.valid.val()
            || self.deferred.q.val().any()
            || self.midways.q.val().any()
            || self.batches.own_at_work.val();
        self.takes_waiting.next = self.waits.q.val() && !self.must_wait.val();
        self.takes_parked.next = !self.takes_cut.val()
            && !self.takes_rest.val()
            && self.parked.output.valid.val()
            && ((self.waits.q.val()
                && (self.deferred.q.val().any() || self.midways.q.val().any()))
                || (!self.waits.q.val()
                    && (!self.doorbells.output.valid.val() || !self.turn.q.val().any())));
    }

    /// Keeps the batches that are not over.
    #[hdl_gen]
    pub(super) fn keep_rests(&mut self) {
        self.rests.input.valid.next = false;
        self.rests.input.data.next.queue = self.queue.q.val();
        self.rests.input.data.next.life = self.life.q.val();
        self.rests.input.data.next.heard = !self.silent.q.val();
        self.rests.output.ready.next = false;
        self.is_cutting.d.next = self.batches.cut_turn.valid.val();
        self.cutting.d.next = self.batches.cut_turn.val();
        self.cuts.input.valid.next = self.is_cutting.q.val();
        self.cuts.input.data.next = self.cutting.q.val();
        self.cuts.output.ready.next = false;
        self.blocked.d.next = (self.doorbells.output.valid.val()
            && (self.doorbells.output.data.val().queue != self.queue.q.val()))
            || (self.rests.output.valid.val()
                && (self.rests.output.data.val().queue != self.queue.q.val()));
        self.rivals.d.next = (self.doorbells.output.valid.val()
            && (self.doorbells.output.data.val().queue != self.queue.q.val()))
            || self.heard_rests.q.val().any()
            || self.heard_midways.q.val().any()
            || self.batches.heard_at_work.val();
        if self.is_cutting.q.val()
            && (self.cutting.q.val().queue == self.queue.q.val())
            && (self.cutting.q.val().life == self.life.q.val())
        {
            self.aborted.d.next = true;
        }
    }
}
