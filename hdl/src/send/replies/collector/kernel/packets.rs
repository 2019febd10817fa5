//! Packets that are offered, and their ends.

use super::super::{
    ACKNOWLEDGE, BROKEN, Collector, CollectorState, NAK_ACCESS, NAK_OPERATION, ORIGINAL,
};
use drdma_emit::prelude::*;

impl Collector {
    /// The packet that is offered, or the NAK in its place.
    #[hdl_gen]
    pub(super) fn offer_packet(&mut self) {
        self.paged.next =
            (self.plan.bytes.val().any() || self.plan.atomic.val()) && !self.refuses.q.val();
        self.response.valid.next = self.state.q.val() == CollectorState::Offer;
        self.response.qp.next = self.plan.qp.val();
        self.response.stamp.next = self.plan.stamp.val();
        self.response.operation.next = self.plan.operation.val();
        self.response.psn.next = self.plan.psn.val();
        self.response.has_aeth.next = self.plan.has_aeth.val() || self.refuses.q.val();
        self.response.syndrome.next = self.plan.syndrome.val();
        self.response.msn.next = self.plan.msn.val();
        self.response.bytes.next = self.plan.bytes.val();
        if self.plan.atomic.val() {
            self.response.bytes.next = ORIGINAL.into();
        }
        self.response.paged.next = self.paged.val();
        self.response.page.next = self.page.q.val();
        if self.refuses.q.val() {
            self.response.operation.next = ACKNOWLEDGE.into();
            self.response.bytes.next = 0.into();
            self.response.syndrome.next = NAK_ACCESS.into();
            if self.unread.q.val() {
                self.response.syndrome.next = NAK_OPERATION.into();
            }
        }
        self.taken.next =
            (self.state.q.val() == CollectorState::Offer) && self.response.ready.val();
        self.broken.valid.next = self.taken.val() && self.refuses.q.val();
        self.broken.qp.next = self.plan.qp.val();
        self.broken.stamp.next = self.plan.stamp.val();
        self.stamps.write_enable.next = self.clear_valid.val() || self.broken.valid.val();
        self.stamps.write_address.next = self.plan.qp.val();
        self.stamps.write_data.next =
            bit_cast::<BROKEN, 32>(self.plan.stamp.val()) | (bits::<BROKEN>(1) << 32);
        if self.clear_valid.val() {
            self.stamps.write_address.next = self.clear_qp.val();
            self.stamps.write_data.next = 0.into();
        }
        self.set_qp_error.valid.next = self.state.q.val() == CollectorState::Break;
        self.set_qp_error.qp.next = self.plan.qp.val();
    }

    /// Chooses the next step of a packet.
    #[hdl_gen]
    pub(super) fn decide(&mut self) {
        self.drops.d.next = self.dead.val();
        if self.plan.drops.val() {
            self.done.next = true;
        } else if self.plan.handed.val() {
            self.state.d.next = CollectorState::Hand;
        } else if self.plan.bytes.val().any() {
            self.state.d.next = CollectorState::Beats;
        } else if self.plan.atomic.val() && self.plan.again.val() {
            self.state.d.next = CollectorState::Seek;
        } else if self.dead.val() {
            self.done.next = true;
        } else {
            self.state.d.next = CollectorState::Offer;
        }
    }

    /// Reports that a reply or an atomic has ended.
    #[hdl_gen]
    pub(super) fn report_end(&mut self) {
        self.left.valid.next = self.done.val()
            && (self.plan.ends.val() || (self.state.q.val() == CollectorState::Break));
        self.left.qp.next = self.plan.qp.val();
        self.left.number.next = self.plan.number.val();
        self.answered.valid.next = self.left.valid.val()
            && (self.plan.reads.val() || self.plan.atomic.val())
            && !self.plan.again.val();
        self.answered.qp.next = self.plan.qp.val();
        self.answered.resource.next = self.plan.resource.val();
        // The slot of an atomic that writes no word is given back here; that of another one is given back by the write.
        self.given_up.valid.next = self.executes.val()
            && ((self.stored.val() && !self.writes.q.val())
                || (self.done.val() && !self.written.q.val()));
        self.given_up.slot.next = self.plan.slot.val();
    }
}
