//! The logic of requests, in the order of their steps.

mod opening;
mod settling;
mod shares;

use super::Requests;
use drdma_emit::prelude::*;

impl Logic for Requests {
    #[hdl_gen]
    fn update(&mut self) {
        self.take_slot();
        self.open();
        self.place_destination();
        self.end_parsing();

        // Sets and destinations that are written once more are in the tables before the request is given out.
        self.told[0].d.next = self.set_told_again.val();
        self.told[1].d.next = self.told[0].q.val();
        self.told[2].d.next = self.told[1].q.val();
        self.writing.next = self.told[0].q.val() || self.told[1].q.val() || self.told[2].q.val();

        self.find_failure();
        self.settle();
        self.settled.next = !self.waiting.q.val() && (self.wait.q.val() == 0);
        self.may_open.next = self.has_slot.q.val() && !self.opened.q.val();

        self.keep_shares();
        self.count_shares();

        if self.rst.val() {
            self.has_slot.d.next = false;
            self.dest_tail.d.next = 0.into();
            self.dests_added.d.next = 0.into();
            self.sets_used.d.next = 0.into();
            self.dests_used.d.next = 0.into();
            self.sets_back.d.next = 0.into();
            self.dests_back.d.next = 0.into();
            self.set_room.d.next = false;
            self.dest_room.d.next = false;
            self.column_room.d.next = false;
            self.share_write.d.next = 0.into();
            self.share_read.d.next = 0.into();
            self.parts.d.next = 0.into();
            self.opened.d.next = false;
            for k in 0..3 {
                self.told[k].d.next = false;
            }
            self.waiting.d.next = false;
            self.ready.d.next = false;
            self.queue_fails.d.next = false;
            self.wait.d.next = 0.into();
        }

        self.give_out();
    }
}
