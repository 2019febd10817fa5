//! How requests are opened.

use super::super::{DEST_SHARE, Requests};
use crate::request::{DEST_COUNT, DEST_INDEX};
use drdma_emit::prelude::*;

impl Requests {
    /// Takes a slot ahead.
    #[hdl_gen]
    pub(super) fn take_slot(&mut self) {
        self.slot_free_ready.next = !self.has_slot.q.val();
        if !self.has_slot.q.val() {
            self.has_slot.d.next = self.slot_free_valid.val();
            self.next_slot.d.next = self.slot_free_slot.val();
        } else if self.start.val() {
            self.has_slot.d.next = false;
        }
    }

    /// Opens a request.
    #[hdl_gen]
    pub(super) fn open(&mut self) {
        if self.open_ready.val() {
            self.opened.d.next = false;
        }
        self.slot.next = self.current_slot.q.val();
        if self.start.val() {
            self.slot.next = self.next_slot.q.val();
            self.current_slot.d.next = self.next_slot.q.val();
            self.first_dest.d.next = self.dest_tail.q.val();
            self.opened.d.next = true;
            self.opened_slot.d.next = self.next_slot.q.val();
            self.opened_queue.d.next = self.queue.val();
            self.opened_wr_id.d.next = self.wr_id.val();
            self.opened_position.d.next = self.position.val();
            self.opened_unsignaled.d.next = self.unsignaled.val();
        }
    }

    /// The place of a destination in the ring of destinations.
    #[hdl_gen]
    pub(super) fn place_destination(&mut self) {
        // Of a WRITE by columns the places of all destinations follow each other for each column: the first
        // destination's columns make them, and the others have theirs behind it.
        self.dest.next = self.dest_tail.q.val();
        if self.by_columns.val() && self.later.val() {
            self.dest.next =
                self.first_dest.q.val() + bit_cast::<10, DEST_INDEX>(self.dest_index.val());
        }
        self.dests_added.d.next = 0.into();
        if self.dest_accept.val() && !self.by_columns.val() {
            self.dests_added.d.next = 1.into();
        }
        if self.column_accept.val() && !self.later.val() {
            self.dests_added.d.next = bit_cast::<DEST_SHARE, DEST_COUNT>(self.column_dests.val());
        }
        self.dest_tail.d.next = self.dest_tail.q.val() + self.dests_added.q.val();
        self.share_now.next = self.dest_share.q.val() + self.dests_added.q.val();
        self.dest_share.d.next = self.share_now.val();
        if self.start.val() {
            self.dest_share.d.next = 0.into();
        }
    }
}
