//! Inputs of the walker of units.

use super::super::{Plan, PlanState};
use crate::rows::sequencer::record::{BOUNDS, CHECK, LOAD, UNITS};
use drdma_emit::prelude::*;

impl Plan {
    /// Gives the walker the bounds and the region of a set.
    #[hdl_gen]
    pub(super) fn load(&mut self) {
        self.next_item.next.task = BOUNDS.into();
        self.next_item.next.first = bit_cast::<32, 4>(self.loaded.q.val());
        self.next_item.next.rows = 0.into();
        self.next_item.next.last = false;
        self.next_item.next.chunk_start = false;
        if self.is_pointers.val() && !self.bounds_given.q.val() {
            if self.free.val() {
                self.push.next = true;
                self.bounds_given.d.next = true;
            }
        } else if self.free.val() {
            self.next_item.next.task = LOAD.into();
            self.next_item.next.rows = self.rows.val();
            self.next_item.next.low = self.set_info.val().addr;
            self.next_item.next.high = bit_cast::<64, 36>(self.set_info.val().row_bytes);
            self.elements_before.d.next = self.elements.val();
            self.bounds_given.d.next = false;
            self.push.next = true;
            self.set.d.next = self.set.q.val() + 1;
            self.loaded.d.next = self.loaded.q.val() + 1;
            self.sets_left.d.next = self.sets_left.q.val() - 1;
            self.state.d.next = PlanState::LoadRead;
            if self.last_set.val() {
                self.state.d.next = PlanState::LoadUnits;
            }
        }
    }

    /// Starts the walker.
    #[hdl_gen]
    pub(super) fn load_units(&mut self) {
        self.next_item.next.task = UNITS.into();
        self.next_item.next.last = true;
        if self.loading_check.q.val() {
            self.next_item.next.task = CHECK.into();
            self.next_item.next.chunk_start = false;
        }
        self.next_item.next.low = bit_cast::<64, 36>(self.elements_before.q.val());
        self.next_item.next.high = bit_cast::<64, 32>(self.limit.q.val());
        self.next_item.next.never =
            self.findings_out.record.val().announce && self.findings_out.record.val().uneven;
        if self.free.val() {
            self.push.next = true;
            self.state.d.next = PlanState::LoadWait;
        }
    }

    /// Waits until the walker is done.
    #[hdl_gen]
    pub(super) fn await_walker(&mut self) {
        if self.walked_valid.val() {
            if self.loading_check.q.val() {
                self.bad_dest.d.next = 0.into();
                self.state.d.next = PlanState::JudgeNext;
                if self.walked_too_long.val() {
                    self.bad_dest.d.next = self.index.q.val();
                    self.status.d.next = self.length.val();
                    self.state.d.next = PlanState::Finish;
                }
            } else {
                self.turn_begins.d.next = false;
                self.turn_new.next.done = true;
                self.turns.write_enable.next = true;
                self.state.d.next = PlanState::TurnNext;
            }
        }
    }
}
