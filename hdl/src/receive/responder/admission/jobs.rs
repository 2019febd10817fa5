//! The job that a packet makes.

use super::super::record::{JobKind, Message};
use super::{ACK_SYNDROME, ATOMIC_BYTES, Admission, HEADER, NAK_PSN, ROUTE, TAGGED_HEADER};
use crate::receive::record::STORE;
use drdma_emit::prelude::*;

impl Admission {
    /// The job, as if the packet were the next one and all in order.
    #[hdl_gen]
    pub(super) fn make_job(&mut self) {
        self.work.next.kind = JobKind::Nothing;
        self.work.next.qp = self.located.qp.val();
        self.work.next.stamp = self.stamp.q.val();
        self.work.next.progress = self.here.q.val();
        self.work.next.write = self.operation.write.val();
        self.work.next.read = self.operation.read.val();
        self.work.next.atomic = self.operation.atomic.val();
        self.work.next.swaps = self.operation.swaps.val();
        self.work.next.swap_or_add = self.located.swap_or_add.val();
        self.work.next.compare = self.located.compare.val();
        self.work.next.resource = self.resource.q.val();
        self.kept.next = self.here.q.val().accepted;
        if self.settings.q.val().limit < self.kept.val() {
            self.kept.next = self.settings.q.val().limit;
        }
        self.work.next.kept = self.kept.val();
        self.work.next.first = self.operation.first.val();
        self.work.next.last = self.operation.last.val();
        self.work.next.reliable = self.reliable.q.val();
        self.work.next.datagram = self.datagram.q.val();
        self.work.next.with_imm = self.operation.with_imm.val();
        self.work.next.invalidates = self.operation.invalidates.val();
        self.work.next.ack_req = self.located.ack_req.val();
        self.work.next.padded = self.located.padded.val();
        self.work.next.psn = self.located.psn.val();
        self.work.next.syndrome = ACK_SYNDROME.into();
        self.work.next.ram = (bit_cast::<STORE, 11>(self.located.start.val()) << 6)
            + bit_cast::<STORE, 7>(self.located.offset.val());
        self.work.next.header = (bit_cast::<STORE, 11>(self.located.start.val()) << 6) + HEADER;
        if self.located.tagged.val() {
            self.work.next.header =
                (bit_cast::<STORE, 11>(self.located.start.val()) << 6) + TAGGED_HEADER;
        }
        self.work.next.bytes = self.located.bytes.val();
        self.work.next.words = self.located.words.val();
        self.work.next.imm = self.located.imm.val();
        self.work.next.source_qp = self.located.source_qp.val();
        self.work.next.pd = self.settings.q.val().pd;
        self.work.next.log_mtu = self.settings.q.val().log_mtu;
        self.work.next.rnr_timer = self.settings.q.val().rnr_timer;
        self.work.next.queue = self.settings.q.val().queue;
        self.work.next.shared = self.contexts.shared.val();
        self.work.next.abandons = false;
        self.work.next.releases = false;
        self.work.next.takes = false;
        self.work.next.missing = false;
        self.work.next.taken = false;
        self.work.next.status = 0.into();
        self.work.next.follows = self.follows.q.val();
        if self.operation.first.val() {
            self.work.next.progress.len = 0.into();
            if self.operation.write.val() {
                self.work.next.progress.addr = self.located.addr.val();
                self.work.next.progress.rkey = self.located.rkey.val();
                self.work.next.progress.len = self.located.len.val();
                self.work.next.progress.remaining = self.located.len.val();
            }
        }
        if self.operation.invalidates.val() {
            self.work.next.progress.rkey = self.located.rkey.val();
        }
    }

    /// Decides about the job if the packet is not the next one, or its message does not go on with it.
    #[hdl_gen]
    pub(super) fn judge_order(&mut self) {
        self.breaks_off.next = self.ahead.q.val().any() || self.operation.first.val();
        self.left.next = self.here.q.val().message;
        if self.connected.q.val() && self.breaks_off.val() {
            self.left.next = Message::None;
        }
        self.goes_on.next = (self.left.val() == Message::Send && self.operation.send.val())
            || (self.left.val() == Message::Write && self.operation.write.val());
        self.in_sequence.next = (self.operation.send.val() || self.operation.write.val())
            && ((self.left.val() == Message::None && self.operation.first.val())
                || (self.goes_on.val() && !self.operation.first.val()));

        self.drops.next = false;
        self.counts.next = false;
        if !self.known.val() || !self.receiving.q.val() {
            self.drops.next = true;
        } else if self.reliable.q.val() {
            self.work.next.progress.asked = false;
            if self.operation.responds.val() {
                self.counts.next = true;
            } else if self.ahead.q.val().get_bit(23) {
                // A duplicate: the last packet is acknowledged again.
                self.work.next.progress = self.here.q.val();
                self.work.next.psn = self.here.q.val().expected - 1;
                if self.located.ack_req.val()
                    && (self.operation.send.val() || self.operation.write.val())
                {
                    self.work.next.kind = JobKind::Answer;
                } else if self.operation.read.val() && self.settings.q.val().readable {
                    self.work.next.psn = self.located.psn.val();
                    self.work.next.kind = JobKind::Again;
                } else if self.operation.atomic.val() && self.kept.val().any() {
                    // Whether the atomic's answer is kept is found out where these are.
                    self.work.next.psn = self.located.psn.val();
                    self.work.next.kind = JobKind::Again;
                } else {
                    self.counts.next = true;
                }
            } else if self.ahead.q.val().any() {
                self.work.next.progress = self.here.q.val();
                self.work.next.progress.asked = true;
                self.work.next.psn = self.here.q.val().expected;
                self.work.next.syndrome = NAK_PSN.into();
                if self.here.q.val().asked {
                    self.counts.next = true;
                } else {
                    self.work.next.kind = JobKind::Answer;
                }
            } else if (self.in_sequence.val()
                && (!self.operation.write.val() || self.settings.q.val().writable))
                || (((self.operation.read.val() && self.settings.q.val().readable)
                    || (self.operation.atomic.val() && self.settings.q.val().changeable))
                    && (self.here.q.val().message == Message::None)
                    && !self.crowded.q.val())
            {
                self.work.next.kind = JobKind::Execute;
            } else {
                self.work.next.kind = JobKind::Refuse;
            }
        } else if self.connected.q.val() {
            self.work.next.progress.message = self.left.val();
            if self.operation.invalidates.val()
                || !(self.operation.send.val() || self.operation.write.val())
            {
                self.counts.next = true;
            } else if !self.in_sequence.val() {
                self.counts.next = true;
                self.work.next.kind = JobKind::Forget;
                self.work.next.progress.message = Message::None;
            } else {
                self.work.next.progress.expected = self.located.psn.val();
                self.work.next.kind = JobKind::Execute;
                if self.operation.write.val() && !self.settings.q.val().writable {
                    self.counts.next = true;
                    self.work.next.kind = JobKind::Forget;
                    self.work.next.progress.expected = self.located.psn.val() + 1;
                    self.work.next.progress.message = Message::None;
                }
            }
            if (self.work.val().kind != JobKind::Nothing)
                && self.contexts.shared.val()
                && self.here.q.val().in_use
                && (self.breaks_off.val() || !self.in_sequence.val())
            {
                self.work.next.abandons = true;
                self.work.next.progress.in_use = false;
            }
            self.work.next.releases = (self.work.val().kind != JobKind::Nothing)
                && (self.here.q.val().message == Message::Send)
                && self.here.q.val().appends
                && (self.breaks_off.val() || !self.in_sequence.val());
        } else {
            self.work.next.progress.len = ROUTE.into();
            if self.operation.send.val()
                && self.operation.first.val()
                && self.operation.last.val()
                && !self.operation.invalidates.val()
            {
                self.work.next.kind = JobKind::Execute;
            } else {
                self.counts.next = true;
            }
        }
    }

    /// The range that a READ or an atomic names.
    #[hdl_gen]
    pub(super) fn name_range(&mut self) {
        if (self.operation.read.val() || self.operation.atomic.val())
            && (self.work.val().kind != JobKind::Answer)
        {
            self.work.next.progress.addr = self.located.addr.val();
            self.work.next.progress.rkey = self.located.rkey.val();
            self.work.next.progress.len = self.located.len.val();
            self.work.next.progress.remaining = self.located.len.val();
        }
        if self.operation.atomic.val() && (self.work.val().kind != JobKind::Answer) {
            self.work.next.progress.len = ATOMIC_BYTES.into();
            self.work.next.progress.remaining = ATOMIC_BYTES.into();
        }
        if (self.work.val().kind == JobKind::Execute)
            && !self.work.val().progress.in_use
            && ((self.operation.send.val() && self.operation.first.val())
                || (self.operation.write.val() && self.operation.with_imm.val()))
        {
            self.work.next.takes = self.settings.q.val().has_queue;
            self.work.next.missing = !self.settings.q.val().has_queue;
        }
    }
}
