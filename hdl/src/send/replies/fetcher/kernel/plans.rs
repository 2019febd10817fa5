//! Plans of packets.

use super::super::{ACKNOWLEDGE, ATOMIC, FIRST, Fetcher, FetcherState, LAST, MIDDLE, ONLY};
use drdma_emit::prelude::*;

impl Fetcher {
    /// The plan of the packet.
    #[hdl_gen]
    pub(super) fn fill_plan(&mut self) {
        self.plan.drops.next = self.drops.val();
        self.plan.reads.next = self.at.val().reads;
        self.plan.atomic.next = self.at.val().atomic;
        self.plan.again.next = self.at.val().again;
        self.plan.swaps.next = self.at.val().swaps;
        self.plan.slot.next = self.at.val().slot;
        self.plan.resource.next = self.at.val().resource;
        self.plan.kept.next = self.at.val().kept;
        self.plan.addr.next = self.addr.q.val();
        self.plan.number.next = self.at.val().number;
        self.plan.ends.next = self.last.q.val() || self.refused.val() || self.drops.val();
        self.plan.refused.next = self.refused.val();
        self.plan.qp.next = self.at.val().qp;
        self.plan.stamp.next = self.at.val().stamp;
        self.plan.psn.next = self.psn.q.val();
        self.plan.syndrome.next = self.at.val().syndrome;
        self.plan.msn.next = self.at.val().msn;
        self.plan.bytes.next = 0.into();
        if self.reads.val() && !self.refused.val() {
            self.plan.bytes.next = self.bytes.q.val();
        }
        self.plan.handed.next = self.reads.val() && !self.refused.val() && self.hands.val();
        self.plan.from.next = self.from.val();
        self.plan.has_aeth.next = self.first.q.val() || self.last.q.val();
        self.plan.operation.next = ACKNOWLEDGE.into();
        if self.at.val().reads {
            self.plan.operation.next = MIDDLE.into();
            if self.first.q.val() && self.last.q.val() {
                self.plan.operation.next = ONLY.into();
            } else if self.first.q.val() {
                self.plan.operation.next = FIRST.into();
            } else if self.last.q.val() {
                self.plan.operation.next = LAST.into();
            }
        } else if self.at.val().atomic {
            self.plan.operation.next = ATOMIC.into();
        }
    }

    /// Offers the plan of the packet and its read.
    #[hdl_gen]
    pub(super) fn offer_plan(&mut self) {
        self.goes.next = (self.state.q.val() == FetcherState::Plan)
            && (!self.paged.val() || (self.has_page.q.val() && !self.waits.val()));
        self.plan.valid.next = self.goes.val()
            && (!self.reads.val()
                || self.refused.val()
                || self.hands.val()
                || self.read.ready.val());
        self.read.valid.next = self.goes.val()
            && self.reads.val()
            && !self.refused.val()
            && !self.hands.val()
            && self.plan.ready.val();
        self.begun.valid.next = self.plan.valid.val()
            && self.plan.ready.val()
            && self.reads.val()
            && !self.refused.val()
            && self.at.val().atomic;
        self.begun.slot.next = self.at.val().slot;
        self.decided.d.next = self.goes.val()
            && self.reads.val()
            && !self.refused.val()
            && !(self.plan.valid.val() && self.plan.ready.val());
        self.takes_page.next = self.plan.valid.val() && self.plan.ready.val() && self.paged.val();
        self.read.addr.next = self.addr.q.val();
        self.read.bytes.next = self.bytes.q.val();
        self.read.described.next = self.described.q.val();
        self.read.region.next = self.region.q.val();
        self.read.pd.next = self.at.val().pd;
        self.read.first.next = self.first.q.val();
    }
}
