//! The logic of the planner, state by state.

mod passes;
mod reads;
mod sizes;

use super::super::record::HELD;
use super::{MOST, Planner, PlannerState};
use drdma_emit::prelude::*;

impl Logic for Planner {
    #[hdl_gen]
    fn update(&mut self) {
        self.write_entry();
        self.find_cap();
        self.fill_plan();
        self.find_least();
        match self.state.q.val() {
            PlannerState::Idle => self.choose(),
            PlannerState::Look => {
                self.look.valid.next = true;
                if self.look.ready.val() {
                    self.state.d.next = PlannerState::See;
                }
            }
            PlannerState::See => {
                self.then.d.next = self.seen.val();
                self.ring.d.next = self.rings.addr.val();
                self.log.d.next = self.rings.log.val();
                self.owner.d.next = self.owners.read_data.val();
                self.state.d.next = PlannerState::Measure;
            }
            PlannerState::Measure => {
                self.blocks.d.next = self.one.val() << self.log.q.val().get_bits::<5>(0);
                self.step.d.next = self.position.q.val() - self.then.q.val().producer;
                self.posted.d.next = self.position.q.val() - self.then.q.val().position;
                self.fetched.d.next = self.then.q.val().position.get_bits::<17>(0)
                    + bit_cast::<17, HELD>(self.then.q.val().held);
                self.state.d.next = PlannerState::Judge;
            }
            PlannerState::Judge => self.judge(),
            PlannerState::Cut => self.limit(),
            PlannerState::Size => {
                self.cut.d.next = MOST.into();
                if self.few.val() {
                    self.cut.d.next = self.least.val().get_bits::<5>(0);
                }
                self.state.d.next = PlannerState::Commit;
            }
            PlannerState::Commit => {
                self.plan.valid.next = self.reads.input.ready.val();
                if self.plan.ready.val() && self.reads.input.ready.val() {
                    self.state.d.next = PlannerState::Tell;
                    if self.cut.q.val().any() {
                        self.state.d.next = PlannerState::Request;
                    }
                }
            }
            PlannerState::Request => {
                self.read.valid.next = true;
                if self.read.ready.val() {
                    self.reads.input.valid.next = true;
                    self.state.d.next = PlannerState::Tell;
                }
            }
            PlannerState::Tell => {
                self.flush.valid.next = self.tells.val();
                if !self.tells.val() || self.flush.ready.val() {
                    self.state.d.next = PlannerState::Idle;
                }
            }
        }
        self.rings.ahead.next = self.queue.q.val();
        self.owners.read_enable.next = true;
        self.owners.read_address.next = self.queue.q.val();

        self.append_blocks();

        self.busy.next = self.bells.output.valid.val()
            || self.reads.output.valid.val()
            || !self.append.ready.val()
            || (self.state.q.val() != PlannerState::Idle);

        if self.rst.val() {
            self.state.d.next = PlannerState::Idle;
            self.bell_last.d.next = false;
            self.is_listed.d.next = false;
        }
    }
}
