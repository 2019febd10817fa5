//! The READs and atomics of a queue pair, and where their bytes go.

use super::super::{ATOMIC, READ_LAST, READ_ONLY, Reads, ReadsEvent, ReadsState};
use drdma_emit::prelude::*;

impl Reads {
    /// Reads the list of the current queue pair.
    #[hdl_gen]
    pub(super) fn look_at_list(&mut self) {
        self.list_out.bits.next = self.lists.read_data.val();
        self.fresh.next = !self.closed.val();
        self.live.next = self.list_out.record.val().used
            && (self.list_out.record.val().stamp == self.stamps.stamp[0].val())
            && self.fresh.val();
        self.lists.write_enable.next = false;
        self.lists.write_address.next = self.qp.q.val();
        self.list_in.record.next = self.list.q.val();
        self.heads.read_enable.next = true;
        self.heads.read_address.next = self.list_out.record.val().head;
        self.head_out.bits.next = self.heads.read_data.val();
        self.heads.write_lanes.next = 0.into();
        self.heads.write_address.next = self.list.q.val().head;
        self.head_in.record.next = self.at.q.val();
        self.followers.read_address[0].next = self.list.q.val().head;
        self.followers.write_enable.next = false;
        self.followers.write_address.next = self.list_out.record.val().tail;
        self.followers.write_data.next = self.asking.q.val().slot;

        // The oldest READ or atomic of the list.
        self.subject.next = self.held.q.val().psn;
        if self.event.q.val() == ReadsEvent::Answer {
            self.subject.next = self.here.val().answer.psn;
        }
        self.mtu.next = bit_cast::<13, 1>(1.into()) << self.head_out.record.val().log_mtu;
        self.beyond.next = !self.ahead.q.val().get_bit(23);
        self.is_next.next = !self.ahead.q.val().any();
        self.is_ack.next = !self.held.q.val().syndrome.get_bits::<2>(5).any();
        self.is_fatal.next = (self.held.q.val().syndrome.get_bits::<2>(5) == 3)
            && self.held.q.val().syndrome.get_bits::<2>(0).any();
        self.is_last.next = (self.here.val().answer.operation == READ_LAST)
            || (self.here.val().answer.operation == READ_ONLY)
            || self.at.q.val().atomic;

        // The region where the next bytes go.
        self.span.next = self.pieces.read_data.val();
        self.room.next = self.span.val().get_bits::<32>(64) - self.at.q.val().into;
        self.fits.next = self.left.q.val();
        self.ends_early.next = self.room.val() < bit_cast::<32, 13>(self.left.q.val());
        if self.ends_early.val() {
            self.fits.next = self.room.val().get_bits::<13>(0);
        }
        if self.at.q.val().atomic && self.left.q.val().any() {
            self.fits.next = 1.into();
        }
        self.gives_up.d.next = self.good.q.val() && !self.live.val();
    }

    /// Waits for an event.
    #[hdl_gen]
    pub(super) fn choose(&mut self) {
        if self.chooses.val() {
            self.good.d.next = false;
            self.implied.d.next = false;
            self.bad.d.next = false;
            if self.askings.output.valid.val() {
                self.askings.output.ready.next = true;
                self.asking.d.next = self.askings.output.data.val();
                self.qp.d.next = self.askings.output.data.val().qp;
                self.event.d.next = ReadsEvent::Asking;
                self.state.d.next = ReadsState::Look;
            } else if self.orders.output.valid.val()
                && self.is_answer.val()
                && self.tells_roomy.val()
            {
                self.qp.d.next = self.here.val().answer.qp;
                self.event.d.next = ReadsEvent::Answer;
                self.state.d.next = ReadsState::Look;
            } else if self.parked.q.val() {
                self.qp.d.next = self.held.q.val().qp;
                if self.drained.val() && self.tells_roomy.val() {
                    self.event.d.next = ReadsEvent::Acknowledgement;
                    self.state.d.next = ReadsState::Look;
                }
            } else if self.ack.valid.val() && self.tells_roomy.val() && !self.finishing.q.val() {
                // `ready` must not depend on `passed`, which comes from another block.
                self.ack.ready.next = true;
                self.held.d.next = self.ack.val();
                self.qp.d.next = self.ack.qp.val();
                if !self.reserved.val() {
                    self.event.d.next = ReadsEvent::Acknowledgement;
                    self.state.d.next = ReadsState::Look;
                }
            }
        }
    }

    /// The queue pair's list has been read.
    #[hdl_gen]
    pub(super) fn look(&mut self) {
        self.list.d.next = self.list_out.record.val();
        self.has.d.next = self.live.val();
        self.state.d.next = ReadsState::Head;
        if self.event.q.val() == ReadsEvent::Asking {
            self.state.d.next = ReadsState::Idle;
            self.heads.write_address.next = self.asking.q.val().slot;
            self.head_in.record.next.expected = self.asking.q.val().psn;
            self.head_in.record.next.last = self.asking.q.val().last;
            self.head_in.record.next.left = self.asking.q.val().len;
            self.head_in.record.next.piece = 0.into();
            self.head_in.record.next.into = 0.into();
            self.head_in.record.next.atomic = self.asking.q.val().atomic;
            self.head_in.record.next.log_mtu = self.asking.q.val().log_mtu;
            self.list_in.record.next.used = true;
            self.list_in.record.next.head = self.asking.q.val().slot;
            self.list_in.record.next.tail = self.asking.q.val().slot;
            self.list_in.record.next.stamp = self.asking.q.val().stamp;
            if self.live.val() {
                self.list_in.record.next.head = self.list_out.record.val().head;
            }
            if self.fresh.val() && (self.asking.q.val().stamp == self.stamps.stamp[0].val()) {
                self.heads.write_lanes.next = 1.into();
                self.lists.write_enable.next = true;
                self.followers.write_enable.next = self.live.val();
            }
        } else if (self.event.q.val() == ReadsEvent::Acknowledgement) && !self.live.val() {
            self.tells.input.valid.next = true;
            self.parked.d.next = false;
            self.state.d.next = ReadsState::Idle;
        }
    }

    /// The list's oldest READ or atomic has been read.
    #[hdl_gen]
    pub(super) fn take_head(&mut self) {
        self.at.d.next = self.head_out.record.val();
        self.ahead.d.next = self.subject.val() - self.head_out.record.val().expected;
        self.due.d.next = self.mtu.val();
        if self.head_out.record.val().left < bit_cast::<32, 13>(self.mtu.val()) {
            self.due.d.next = self.head_out.record.val().left.get_bits::<13>(0);
        }
        if self.head_out.record.val().atomic {
            self.due.d.next = 0.into();
        }
        self.ends.d.next = self.subject.val() == self.head_out.record.val().last;
        self.fits_kind.d.next =
            self.head_out.record.val().atomic == (self.here.val().answer.operation == ATOMIC);
        self.state.d.next = ReadsState::Judge;
    }
}
