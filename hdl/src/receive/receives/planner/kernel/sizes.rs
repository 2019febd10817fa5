//! How many blocks a queue may hold, and how many are read.

use super::super::{MOST, Planner, PlannerState, RESERVE};
use crate::receive::receives::pool::MANY;
use crate::receive::receives::record::HELD;
use drdma_emit::prelude::*;

impl Planner {
    /// Blocks that a queue may hold.
    #[hdl_gen]
    pub(super) fn find_cap(&mut self) {
        self.cap.d.next = 0.into();
        if self.unreserved.val() > RESERVE {
            self.cap.d.next = 1.into();
        }
        if self.unreserved.val() > 512 {
            self.cap.d.next = 4.into();
        }
        if self.unreserved.val() > 1024 {
            self.cap.d.next = 16.into();
        }
        if self.unreserved.val() > 2048 {
            self.cap.d.next = 64.into();
        }
        // A read takes 350 cycles, in which a queue pair's messages take 70 receives of a block.
        if self.unreserved.val() > MANY {
            self.cap.d.next = 112.into();
        }
        self.spare.d.next = self.unreserved.val() > 1;
    }

    /// The least of the limits of a read.
    #[hdl_gen]
    pub(super) fn find_least(&mut self) {
        self.few.next = (self.wanted.q.val() < MOST)
            || (self.to_end.q.val() < MOST)
            || (self.room.q.val() < MOST);
        self.ends_first.next = self.to_end.q.val() < self.wanted.q.val();
        self.fills_first.next = bit_cast::<17, HELD>(self.room.q.val()) < self.wanted.q.val();
        self.least.next = self.wanted.q.val();
        if self.ends_first.val() {
            self.least.next = self.to_end.q.val();
            self.fills_first.next = bit_cast::<17, HELD>(self.room.q.val()) < self.to_end.q.val();
        }
        if self.fills_first.val() {
            self.least.next = bit_cast::<17, HELD>(self.room.q.val());
        }
        self.unused_least.next = self.least.val();
    }

    /// Computes how many blocks could be read.
    #[hdl_gen]
    pub(super) fn limit(&mut self) {
        self.target.d.next = self.then.q.val().producer;
        self.wanted.d.next = self.then.q.val().producer.get_bits::<17>(0) - self.fetched.q.val();
        if self.good.q.val() {
            self.target.d.next = self.position.q.val();
            self.wanted.d.next = self.position.q.val().get_bits::<17>(0) - self.fetched.q.val();
        }
        self.to_end.d.next = self.blocks.q.val() - self.offset.q.val();
        self.addr.d.next = self.ring.q.val() + (bit_cast::<64, 17>(self.offset.q.val()) << 6);
        self.room.d.next = 0.into();
        if self.then.q.val().enabled && !self.then.q.val().halted {
            if self.then.q.val().held < self.cap.q.val() {
                self.room.d.next = self.cap.q.val() - self.then.q.val().held;
            } else if !self.then.q.val().held.any()
                && self.waits.val()
                && (self.waits_for.val() == self.queue.q.val())
                && self.spare.q.val()
            {
                self.room.d.next = 1.into();
            }
        }
        self.state.d.next = PlannerState::Size;
    }
}
