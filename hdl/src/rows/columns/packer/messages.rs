//! Messages: their ends, and the progress of those of each destination.

use super::Packer;
use drdma_emit::prelude::*;

impl Packer {
    /// The state of the message after this cycle.
    #[hdl_gen]
    pub(super) fn advance_message(&mut self) {
        self.more.next = (self.near.q.val() < 192) && (self.far.q.val() != 0);
        self.near_more.next = self.near.q.val();
        if self.more.val() {
            self.near_more.next = self.near.q.val() + 128;
        }
        self.near_whole.next = self.near_more.val() - bit_cast::<9, 7>(self.whole_rows.q.val());
        self.near_flush.next = self.near_more.val() - bit_cast::<9, 8>(self.waiting.q.val());
        self.after.next.far = self.far.q.val();
        if self.more.val() {
            self.after.next.far = self.far.q.val() - 1;
        }
        // At the end of a message, the rows of the next message follow.
        self.after.next.near = self.near_more.val();
        if self.whole.val() {
            self.after.next.near = self.near_whole.val();
        } else if self.flush.val() {
            self.after.next.near = self.near_flush.val();
        }
        self.after.next.open = self.open.q.val();
        self.after.next.set = self.turn.q.val().set;
        self.after.next.fulls = self.fulls.q.val();
        if self.beat.val() {
            self.after.next.open = !self.message_end.val();
            if !self.open.q.val() && (self.fulls.q.val() != 0) {
                self.after.next.fulls = self.fulls.q.val() - 1;
            }
        }
        if self.message_end.val() {
            self.after.next.near = self.turn.q.val().unit_near;
            self.after.next.far = self.turn.q.val().unit_far;
        }
    }
}
