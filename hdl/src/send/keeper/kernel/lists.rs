//! Lists of packets: their reads and writes.

use super::super::{CLOSED_READERS, Keeper, KeeperEvent, KeeperState};
use crate::context::QP;
use drdma_emit::prelude::*;

impl Keeper {
    /// Whether new requests of the queue pair are held back. A peer that has just sent a NAK is there.
    #[hdl_gen]
    pub(super) fn hold_back(&mut self) {
        if self.writes.val() {
            self.after.next.held = self.after.val().used
                && (self.crowded.val()
                    || (self.after.val().retrying && !self.after.val().refused)
                    || self.after.val().paused
                    || (self.that.val().limited
                        && self.after.val().resending
                        && !self.all_sent.val()));
        }
        if self.all_sent.val() {
            self.after.next.resending = false;
            self.after.next.queued = false;
        }
        self.wrote.d.next = self.writes.val();
        self.was_held.d.next = self.that.val().held;
        self.was_silent.d.next = self.that.val().silent;
        self.change.d.next.qp = self.who.val();
        self.change.d.next.held = self.after.val().held;
        if self.writes.val() {
            self.walk.d.next.held = self.after.val().held;
            self.walk.d.next.silent = self.after.val().silent;
        }
        self.hush.d.next.qp = self.who.val();
        self.hush.d.next.silent = self.after.val().silent;
        self.silence.valid.next =
            self.wrote.q.val() && (self.hush.q.val().silent != self.was_silent.q.val());
        self.silence.next = self.hush.q.val();
        self.hold.valid.next =
            self.wrote.q.val() && (self.change.q.val().held != self.was_held.q.val());
        self.hold.next = self.change.q.val();
    }

    /// The list of the next event, and the page that it needs.
    #[hdl_gen]
    pub(super) fn read_list(&mut self) {
        // The next event of the same queue pair goes on with the list as it is now.
        if self.runs.val() {
            self.list.d.next = self.list_out.record.val();
            if self.follows.q.val() {
                self.list.d.next = self.after.val();
            }
        } else if (self.state.q.val() == KeeperState::Conclude)
            && (self.act_qp.q.val() == self.walk_qp.q.val())
        {
            self.list.d.next = self.after.val();
            if self.quit.val() {
                self.fits.d.next = false;
            }
        }

        // The page that the chosen event needs. A write of the same cycle is not seen by the read.
        self.wanted.next = self.list_out.record.val().head;
        if self.follows.q.val() {
            self.wanted.next = self.after.val().head;
        } else if self.event.q.val() == KeeperEvent::Resend {
            self.wanted.next = self.list_out.record.val().cursor;
        }
        if self.state.q.val() == KeeperState::Resume {
            self.wanted.next = self.list.q.val().head;
            if self.act_event.q.val() == KeeperEvent::Resend {
                self.wanted.next = self.list.q.val().cursor;
            }
        } else if !self.runs.val() {
            self.wanted.next = self.walk.q.val().head;
        }
        self.records.read_enable.next = true;
        self.records.read_address.next = self.wanted.val();
        self.kinds.read_enable.next = true;
        self.kinds.read_address.next = self.wanted.val();
        self.followers.read_enable.next = true;
        self.followers.read_address.next = self.wanted.val();
        self.pages.ahead.next = self.wanted.val();
        self.at.d.next = self.wanted.val();
        self.linked.d.next = self.followers.write_lanes.val().any()
            && (self.followers.write_address.val() == self.wanted.val());
        self.linked_page.d.next = self.followers.write_data.val();
        self.fresh.d.next = self.records.write_lanes.val().any()
            && (self.records.write_address.val() == self.wanted.val());
    }

    /// The list is written.
    #[hdl_gen]
    pub(super) fn write_list(&mut self) {
        self.list_in.record.next = self.after.val();
        self.lists.write_enable.next = self.writes.val();
        self.lists.write_address.next = self.who.val();
        self.lists.write_data.next = self.list_in.bits.val();
        if self.select.every.val() {
            self.lists.write_enable.next = true;
            self.lists.write_address.next = self.cfg.index.val().get_bits::<QP>(0);
            self.lists.write_data.next = 0.into();
            self.quit.next = true;
            self.quit_index.next = self.cfg.index.val().get_bits::<QP>(0);
            self.quit_data.next = 0.into();
        }
        self.quits.write_enable.next = self.quit.val();
        self.quits.write_address.next = self.quit_index.val();
        self.quits.write_data.next = self.quit_data.val();
        for k in 0..CLOSED_READERS {
            self.quits_copies[k].write_enable.next = self.quit.val();
            self.quits_copies[k].write_address.next = self.quit_index.val();
            self.quits_copies[k].write_data.next = self.quit_data.val();
        }
    }
}
