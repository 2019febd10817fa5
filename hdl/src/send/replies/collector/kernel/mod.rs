//! The logic of the collector, state by state.

mod bytes;
mod keepsakes;
mod packets;

use super::{Collector, CollectorState};
use drdma_emit::prelude::*;

impl Logic for Collector {
    #[hdl_gen]
    fn update(&mut self) {
        self.stamps.ahead.next = self.plan.qp.val();
        self.dead.next = self.stamps.read_data.val().get_bit(32)
            && (self.stamps.read_data.val().get_bits::<32>(0) == self.plan.stamp.val());

        self.accept_beats();
        self.compute_atomic();
        self.address_keepsakes();
        self.offer_packet();

        self.done.next = false;
        match self.state.q.val() {
            CollectorState::Look => {
                self.row.d.next = 0.into();
                self.unread.d.next = false;
                self.looked.d.next = 0.into();
                self.number.d.next = self.plan.resource.val();
                self.refuses.d.next = self.plan.refused.val();
                if self.plan.valid.val() {
                    self.state.d.next = CollectorState::Decide;
                }
            }
            CollectorState::Decide => self.decide(),
            CollectorState::Beats => self.take_beats(),
            CollectorState::Hand => {
                self.refuses.d.next = !self.is_known.val();
                self.unread.d.next = !self.is_known.val();
                self.done.next = self.drops.q.val();
                self.state.d.next = CollectorState::Offer;
                if self.is_known.val() {
                    self.state.d.next = CollectorState::Change;
                }
            }
            CollectorState::Change => {
                self.state.d.next = CollectorState::Store;
            }
            CollectorState::Store => {
                if self.stored.val() {
                    self.state.d.next = CollectorState::Offer;
                }
            }
            CollectorState::Seek => {
                self.done.next = self.none.val();
                self.looked.d.next = self.looked.q.val() + 1;
                self.number.d.next = self.number.q.val() - 1;
                self.state.d.next = CollectorState::Found;
            }
            CollectorState::Found => {
                self.state.d.next = CollectorState::Seek;
                if self.is_it.val() {
                    self.original.d.next = self.known.record.val().original;
                    self.state.d.next = CollectorState::Offer;
                }
            }
            CollectorState::Offer => {
                if self.taken.val() {
                    if self.refuses.q.val() {
                        self.state.d.next = CollectorState::Break;
                    } else {
                        self.done.next = true;
                        if self.paged.val() {
                            self.page.d.next = self.page.q.val() + 1;
                        }
                    }
                }
            }
            CollectorState::Break => {
                self.done.next = self.set_qp_error.ready.val();
            }
        }
        if self.done.val() {
            self.state.d.next = CollectorState::Look;
        }
        self.plan.ready.next = self.done.val();
        self.write_keepsake();
        self.report_end();
        if self.state.q.val() == CollectorState::Look {
            self.written.d.next = false;
        }
        if self.stored.val() {
            self.written.d.next = true;
        }
        if self.rst.val() {
            self.state.d.next = CollectorState::Look;
            self.page.d.next = 0.into();
            self.keeps.d.next = false;
        }
    }
}
