//! The progress of queue pairs: read, foreseen and written.

use super::super::record::Message;
use super::{Admission, AdmissionState, RC, RC_BITS, UC, UC_BITS, UD, UD_BITS};
use crate::context::{EVERY_TABLE, QP};
use crate::receive::record::{KEPT, RESOURCE};
use drdma_emit::prelude::*;

impl Admission {
    /// Writes the foreseen progress when no other progress is written.
    #[hdl_gen]
    pub(super) fn write_foreseen(&mut self) {
        self.then.next = self.foreseen.q.val().progress;
        self.then.next.expected = self.foreseen.q.val().psn + 1;
        self.then.next.message = Message::None;
        if self.foreseen.q.val().last {
            self.then.next.msn = self.foreseen.q.val().progress.msn + 1;
        } else if self.foreseen.q.val().write {
            self.then.next.message = Message::Write;
        } else {
            self.then.next.message = Message::Send;
        }
        if self.foreseen.q.val().completes {
            self.then.next.in_use = false;
        }
        if self.foreseen.q.val().write {
            self.then.next.addr = self.foreseen.q.val().progress.addr
                + bit_cast::<64, 13>(self.foreseen.q.val().bytes);
            self.then.next.remaining = self.foreseen.q.val().progress.remaining
                - bit_cast::<32, 13>(self.foreseen.q.val().bytes);
        } else {
            self.then.next.len = self.foreseen.q.val().progress.len
                + bit_cast::<32, 13>(self.foreseen.q.val().bytes);
        }
        self.revokes.next = (self.begins.valid.val()
            && (self.begins.qp.val() == self.foreseen.q.val().qp))
            || (self.fails.valid.val() && (self.fails.qp.val() == self.foreseen.q.val().qp));
        self.writes.next = !self.begins.valid.val()
            && (self.executes.q.val() || (self.foresees.q.val() && !self.revokes.val()));
        self.written_qp.next = self.foreseen.q.val().qp;
        self.flatten.record.next = self.then.val();
        if self.executes.q.val() {
            self.written_qp.next = self.executed.q.val().qp;
            self.flatten.record.next = self.executed.q.val().progress;
        }
        if (!self.executes.q.val() && !self.begins.valid.val()) || self.revokes.val() {
            self.foresees.d.next = false;
        }
    }

    /// Execution's progress is written a cycle later, or two if a queue pair begins anew in the first.
    #[hdl_gen]
    pub(super) fn write_progress(&mut self) {
        if !self.begins.valid.val() || (self.begins.qp.val() == self.executed.q.val().qp) {
            self.executes.d.next = false;
        }
        if self.write.valid.val() {
            self.executes.d.next = true;
            self.executed.d.next = self.write.val();
        }
        self.waits.next = self.foresees.q.val()
            || (self.executes.q.val() && (self.executed.q.val().qp == self.located.qp.val()));
        self.contexts.used.valid.next = self.writes.val();
        self.contexts.used.qp.next = self.written_qp.val();
        self.contexts.next_qp.next = self.located.qp.val();
        self.error_next.next = self.located.qp.val();
        self.select.valid.next = self.cfg.valid.val();
        self.select.number.next = self.cfg.table.val();
        self.select.word.next = self.cfg.word.val();
        self.stamps.written.next = self.select.queue_pair.val();
        self.stamps.index.next = self.cfg.index.val().get_bits::<QP>(0);
        self.stamps.ahead[0].next = self.located.qp.val();
        self.unused.next = self.cfg.data.val();
        self.progress.write_enable.next = self.writes.val();
        self.progress.write_address.next = self.written_qp.val();
        self.progress.write_data.next = self.flatten.bits.val();
        self.progress.ahead.next = self.located.qp.val();
        self.restore.bits.next = self.progress.read_data.val();
        self.clears.next = self.cfg.valid.val() && (self.cfg.table.val() == EVERY_TABLE);
        self.accepted.write_enable.next = self.clears.val() || self.executes.q.val();
        self.accepted.write_address.next = self.executed.q.val().qp;
        self.accepted.write_data.next = self.executed.q.val().resource;
        self.gone.write_enable.next = self.clears.val() || self.answered.valid.val();
        self.gone.write_address.next = self.answered.qp.val();
        self.gone.write_data.next = self.answered.resource.val();
        if self.clears.val() {
            self.accepted.write_address.next = self.cfg.index.val().get_bits::<QP>(0);
            self.accepted.write_data.next = 0.into();
            self.gone.write_address.next = self.cfg.index.val().get_bits::<QP>(0);
            self.gone.write_data.next = 0.into();
        }
        self.accepted.ahead.next = self.located.qp.val();
        self.gone.ahead.next = self.located.qp.val();
        self.operation.code.next = self.located.opcode.val().get_bits::<5>(0);
        self.high.next = self.located.opcode.val().get_bits::<3>(5);
    }

    /// Of the READs and atomics that wait, only those count that were accepted since the queue pair began.
    #[hdl_gen]
    pub(super) fn count_waiting(&mut self) {
        self.waiting.next = self.accepted.read_data.val() - self.gone.read_data.val();
        self.lingering.next =
            self.lingers.valid.val() && (self.lingers.qp.val() == self.located.qp.val());
        if self.state.q.val() == AdmissionState::Read {
            self.settings.d.next = self.contexts.settings.val();
            self.stamp.d.next = self.stamps.stamp[0].val();
            self.here.d.next = self.now.val();
            self.ahead.d.next = self.located.psn.val() - self.now.val().expected;
            self.reliable.d.next =
                (self.contexts.settings.transport.val() == RC) && (self.high.val() == RC_BITS);
            self.connected.d.next =
                (self.contexts.settings.transport.val() == UC) && (self.high.val() == UC_BITS);
            self.datagram.d.next =
                (self.contexts.settings.transport.val() == UD) && (self.high.val() == UD_BITS);
            // One of two members of a partition must be a full one.
            self.of_pkey.d.next = (self.contexts.settings.pkey.val().get_bits::<15>(0)
                == self.located.pkey.val().get_bits::<15>(0))
                && (self.contexts.settings.pkey.val().get_bit(15)
                    || self.located.pkey.val().get_bit(15));
            self.of_vlan.d.next = self.contexts.settings.vlan.val() == self.located.vlan.val();
            self.of_number.d.next = self.contexts.settings.qpn.val() == self.located.qpn.val();
            self.of_peer.d.next =
                self.contexts.settings.dest_ip.val() == self.located.source_ip.val();
            self.of_qkey.d.next = self.contexts.settings.qkey.val() == self.located.qkey.val();
            self.receiving.d.next = self.contexts.settings.receiving.val() && !self.qp_error.val();
            self.crowded.d.next = (self.waiting.val()
                >= bit_cast::<RESOURCE, KEPT>(self.contexts.settings.limit.val()))
                && (self.now.val().accepted >= self.contexts.settings.limit.val());
            self.resource.d.next = self.accepted.read_data.val();
            self.shares.d.next = self.flights.shares.val() || self.lingering.val();
            self.follows.d.next = self.flights.takes.val();
        }
    }
}
