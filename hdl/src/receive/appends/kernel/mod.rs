//! The logic of append regions, state by state.

mod region;
mod rows;
mod tables;
mod verdict;

use super::{Appends, AppendsState};
use drdma_emit::prelude::*;

impl Logic for Appends {
    #[hdl_gen]
    fn update(&mut self) {
        self.connect_tables();
        self.look_at_region();
        self.divide_bytes();
        self.prepare_verdict();

        self.holders.next_qp.next = self.asked.q.val().qp;
        match self.state.q.val() {
            AppendsState::Idle => self.take_packet(),
            AppendsState::Look => self.take_entry(),
            AppendsState::Holder => self.check_holder(),
            AppendsState::Walk => self.walk_columns(),
            AppendsState::Divide => {
                if (self.known.q.val() || self.coverage.done.val())
                    && (!self.divides.q.val() || self.division.done.val())
                {
                    self.state.d.next = AppendsState::Count;
                }
            }
            AppendsState::Count => self.count_rows(),
            AppendsState::Compare => self.compare(),
            AppendsState::Tell => self.tell(),
            AppendsState::Settle => {
                if self.settles.q.val() {
                    self.state.d.next = AppendsState::Idle;
                    self.apply_outcome();
                }
            }
        }

        self.write_state();

        if self.rst.val() {
            self.state.d.next = AppendsState::Idle;
            self.known.d.next = false;
            self.settles.d.next = false;
        }
    }
}
