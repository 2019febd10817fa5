//! Shares of requests in the rings of sets and destinations.

use super::super::{ALMOST, COLUMN_ROOM, DEST_SHARE, Requests};
use crate::request::PARTS_AHEAD;
use drdma_emit::prelude::*;

impl Requests {
    /// Keeps the share of each request in the rings.
    #[hdl_gen]
    pub(super) fn keep_shares(&mut self) {
        self.set_shares.write_enable.next = self.settling.val();
        self.set_shares.write_address.next = self.share_write.q.val();
        self.set_shares.write_data.next = self.waiting_sets.q.val();
        self.set_shares.read_address[0].next = self.share_read.q.val();
        self.dest_shares.write_enable.next = self.settling.val();
        self.dest_shares.write_address.next = self.share_write.q.val();
        self.dest_shares.write_data.next = self.waiting_share.q.val();
        self.dest_shares.read_address[0].next = self.share_read.q.val();
        self.part_shares.write_enable.next = self.settling.val();
        self.part_shares.write_address.next = self.share_write.q.val();
        self.part_shares.write_data.next = bit_cast::<1, 1>(self.waiting_parted.q.val().into());
        self.part_shares.read_address[0].next = self.share_read.q.val();
        self.part_settles.next = self.settling.val() && self.waiting_parted.q.val();
        self.part_leaves.next =
            self.release_valid.val() && self.part_shares.read_data[0].val().any();
        if self.part_settles.val() && !self.part_leaves.val() {
            self.parts.d.next = self.parts.q.val() + 1;
        } else if self.part_leaves.val() && !self.part_settles.val() {
            self.parts.d.next = self.parts.q.val() - 1;
        }
        self.full.d.next = (self.parts.q.val() >= PARTS_AHEAD)
            || ((self.parts.q.val() == ALMOST)
                && (self.part_comes.val()
                    || (self.waiting.q.val() && self.waiting_parted.q.val())));
        self.parts_full.next = self.full.q.val();
        if self.settling.val() {
            self.share_write.d.next = self.share_write.q.val() + 1;
        }
        self.sets_back.d.next = 0.into();
        self.dests_back.d.next = 0.into();
        if self.release_valid.val() {
            self.share_read.d.next = self.share_read.q.val() + 1;
            self.sets_back.d.next = self.set_shares.read_data[0].val();
            self.dests_back.d.next = self.dest_shares.read_data[0].val();
        }
    }

    /// Counts what is used of the rings. The limits leave room for sets and destinations that are counted a cycle
    /// later.
    #[hdl_gen]
    pub(super) fn count_shares(&mut self) {
        self.sets_freed.next = self.sets_used.q.val() - bit_cast::<12, 11>(self.sets_back.q.val());
        self.sets_used.d.next = self.sets_freed.val();
        if self.set_done.val() {
            self.sets_used.d.next = self.sets_freed.val() + 1;
        }
        self.dests_freed.next =
            self.dests_used.q.val() - bit_cast::<11, DEST_SHARE>(self.dests_back.q.val());
        self.dests_used.d.next =
            self.dests_freed.val() + bit_cast::<11, DEST_SHARE>(self.dests_added.q.val());
        self.set_room.d.next = self.sets_used.q.val() < 2040;
        self.dest_room.d.next = self.dests_used.q.val() < 1016;
        self.column_room.d.next = self.dests_used.q.val() < bits::<11>(COLUMN_ROOM);
        self.set_space.next = self.set_room.q.val();
        self.dest_space.next = self.dest_room.q.val();
        self.column_space.next = self.column_room.q.val();
    }
}
