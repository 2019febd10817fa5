//! The logic of the admission, state by state. Its parts stand in files by what they do.

use super::super::record::Message;
use super::{Admission, AdmissionState};
use drdma_emit::prelude::*;

impl Logic for Admission {
    #[hdl_gen]
    fn update(&mut self) {
        self.cfg.join(&mut self.contexts.cfg);
        self.contexts.begins.join(&mut self.begins);
        self.write_foreseen();
        self.write_progress();

        // Read.
        self.now.next = self.restore.record.val();
        if self.contexts.settings.fresh.val() {
            self.now.next.expected = self.contexts.settings.start_psn.val();
            self.now.next.msn = 0.into();
            self.now.next.asked = false;
            self.now.next.message = Message::None;
            self.now.next.in_use = false;
            self.now.next.appends = false;
            self.now.next.pieces = false;
            self.now.next.accepted = 0.into();
        }
        self.count_waiting();

        // Decide: whose packet it is.
        self.known.next = self.of_number.q.val()
            && self.settings.q.val().exists
            && self.of_pkey.q.val()
            && self.of_vlan.q.val()
            && (((self.reliable.q.val() || self.connected.q.val()) && self.of_peer.q.val())
                || (self.datagram.q.val() && self.of_qkey.q.val()));

        self.make_job();
        self.judge_order();
        self.name_range();

        // Packets that are the next ones of RC queue pairs follow each other without waiting.
        self.regular.next = self.known.val()
            && self.receiving.q.val()
            && self.reliable.q.val()
            && !self.ahead.q.val().any()
            && self.in_sequence.val()
            && (!self.operation.write.val() || self.settings.q.val().writable);
        self.able.next = self.regular.val()
            && !self.settings.q.val().fresh
            && !(self.contexts.shared.val()
                && ((self.operation.send.val() && self.operation.first.val())
                    || self.operation.with_imm.val()));
        // How much the receive holds that is taken now is not known, and without a queue there is no receive. An append
        // region may have no
        // rows in the middle of a message.
        self.work.next.foreseen = self.regular.val()
            && (self.settings.q.val().has_queue
                || !((self.operation.send.val() && self.operation.first.val())
                    || self.operation.with_imm.val()))
            && !(self.operation.send.val()
                && ((self.operation.first.val() && !self.operation.last.val())
                    || (!self.operation.first.val() && self.here.q.val().appends)));

        // The three steps of the check.
        self.restarts.next = (self.begins.valid.val()
            && (self.begins.qp.val() == self.located.qp.val()))
            || (self.fails.valid.val() && (self.fails.qp.val() == self.located.qp.val()));
        self.decides.next = (self.state.q.val() == AdmissionState::Decide)
            && !self.restarts.val()
            && !self.flights.full.val()
            && (self.able.val() || !self.shares.q.val());
        self.job.valid.next = self.decides.val();
        self.job.next = self.work.val();
        self.leaves.next = self.decides.val() && self.job.ready.val();
        self.located.ready.next = self.leaves.val();
        self.count_dropped.next = self.leaves.val() && self.drops.val();
        self.count_ignored.next = self.leaves.val() && self.counts.val();
        if self.leaves.val() {
            self.foresees.d.next = self.work.val().foreseen;
            self.foreseen.d.next.qp = self.work.val().qp;
            self.foreseen.d.next.progress = self.work.val().progress;
            self.foreseen.d.next.psn = self.work.val().psn;
            self.foreseen.d.next.bytes = self.work.val().bytes;
            self.foreseen.d.next.write = self.work.val().write;
            self.foreseen.d.next.last = self.work.val().last;
            self.foreseen.d.next.completes =
                self.work.val().last && (!self.work.val().write || self.work.val().with_imm);
        }
        match self.state.q.val() {
            AdmissionState::Wait => {
                if self.located.valid.val()
                    && !self.restarts.val()
                    && !self.flights.blocks.val()
                    && !(self.alone.q.val() && (self.flights.shares.val() || self.lingering.val()))
                {
                    self.state.d.next = AdmissionState::Read;
                }
            }
            AdmissionState::Read => {
                if !self.waits.val() {
                    self.state.d.next = AdmissionState::Decide;
                }
                if self.restarts.val() {
                    self.state.d.next = AdmissionState::Wait;
                }
            }
            AdmissionState::Decide => {
                if self.restarts.val() {
                    self.state.d.next = AdmissionState::Wait;
                } else if self.shares.q.val() && !self.able.val() {
                    self.alone.d.next = true;
                    self.state.d.next = AdmissionState::Wait;
                } else if self.leaves.val() {
                    self.alone.d.next = false;
                    self.state.d.next = AdmissionState::Wait;
                }
            }
        }

        // The jobs that are under way.
        self.flights.begun.valid.next = self.leaves.val();
        self.flights.begun.qp.next = self.located.qp.val();
        self.flights.begun.ahead.next = self.work.val().foreseen;
        self.flights.begun.takes.next = self.work.val().takes;
        self.flights.ended.next = self.ended.val();
        self.flights.begins.valid.next = self.begins.valid.val();
        self.flights.begins.qp.next = self.begins.qp.val();
        self.fails.join(&mut self.flights.fails);
        self.flights.qp.next = self.located.qp.val();
        self.fate.next = self.flights.fate.val();
        if self.rst.val() {
            self.state.d.next = AdmissionState::Wait;
            self.foresees.d.next = false;
            self.executes.d.next = false;
            self.alone.d.next = false;
        }
    }
}
