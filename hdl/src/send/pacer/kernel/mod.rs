//! The logic of the pacer.

mod events;
mod rates;

use drdma_emit::prelude::*;

use super::{BURST, LINE, PRODUCT, Pacer, PacerEvent, PacerState, TIME};
use crate::context::QP;

impl Logic for Pacer {
    #[hdl_gen]
    fn update(&mut self) {
        self.take_words();
        self.queue_events();
        self.look_at_time();
        self.compute();
        self.access_tables();

        // The `go` that is offered.
        self.go.valid.next = self.going.q.val();
        self.go.qp.next = self.going_qp.q.val();
        if self.go.ready.val() {
            self.going.d.next = false;
        }

        self.step.d.next = self.step.q.val() + 1;
        match self.state.q.val() {
            PacerState::Choose => self.choose(),
            PacerState::Load => {
                self.it.d.next = self.read.record.val();
                self.behind.d.next = self.now.val() - self.read.record.val().due;
                self.reacts.d.next = self.marks.read_data.val().get_bit(0);
                self.is_free.d.next = !self.read.record.val().rings;
                self.step.d.next = 0.into();
                self.state.d.next = PacerState::Act;
            }
            PacerState::Act => {
                self.state.d.next = PacerState::Store;
                self.step.d.next = 0.into();
                self.is_stale.d.next = !self.behind.q.val().get_bit(TIME - 1)
                    && self.behind.q.val().get_bits::<11>(BURST).any();
                match self.event.q.val() {
                    PacerEvent::Notified => self.begin_cut(),
                    PacerEvent::Packet => {
                        // The queue pair may have left the ring in the event before.
                        self.it.d.next.rings = true;
                        self.state.d.next = PacerState::Multiply;
                    }
                    PacerEvent::Renewed => {
                        self.it.d.next.rate = LINE.into();
                        self.it.d.next.target = LINE.into();
                    }
                    PacerEvent::Look => self.look_at_ring(),
                }
            }
            PacerState::Multiply => {
                if self.step.q.val() == PRODUCT {
                    self.step.d.next = 0.into();
                    self.state.d.next = PacerState::Cut;
                }
            }
            PacerState::Cut => {
                self.step.d.next = 0.into();
                if self.event.q.val() == PacerEvent::Notified {
                    self.cut_rate();
                } else {
                    self.count_packet();
                }
            }
            PacerState::Raise => self.raise_rate(),
            PacerState::Divide => self.divide(),
            PacerState::Store => {
                self.limits.write_enable.next = true;
                self.is_limited.write_enable.next = true;
                self.state.d.next = PacerState::Choose;
                if self.it.q.val().rings
                    && ((self.event.q.val() == PacerEvent::Look) || self.is_free.q.val())
                {
                    self.ring.input.valid.next = true;
                }
            }
        }

        if self.select.every.val() {
            self.limits.write_enable.next = true;
            self.limits.write_address.next = self.cfg.index.val().get_bits::<QP>(0);
            self.limits.write_data.next = 0.into();
            self.is_limited.write_enable.next = true;
            self.is_limited.write_address.next = self.cfg.index.val().get_bits::<QP>(0);
            self.is_limited.write_data.next = 0.into();
        }
        if self.rst.val() {
            self.state.d.next = PacerState::Choose;
            self.clock.d.next = 0.into();
            self.looked.d.next = false;
            self.going.d.next = false;
        }
        self.limits.ahead.next = self.qp.d.val();
        self.marks.ahead.next = self.qp.d.val();
    }
}
