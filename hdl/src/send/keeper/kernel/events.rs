//! Effects of events on the list of their queue pair.

use super::super::{Keeper, KeeperEvent, KeeperState};
use drdma_emit::prelude::*;

impl Keeper {
    /// A new packet: it is kept, and sent unless others of its queue pair go first.
    #[hdl_gen]
    pub(super) fn keep_packet(&mut self) {
        if self.fits.q.val() {
            self.records.write_lanes.next = 1.into();
            self.kinds.write_lanes.next = 1.into();
            self.pages.hold.valid.next = true;
            self.writes.next = true;
            self.after.next.used = true;
            self.after.next.tail = self.act_held.q.val().page;
            self.after.next.count = self.more_count.val();
            if self.list.q.val().used {
                self.followers.write_lanes.next = 1.into();
            } else {
                self.after.next.count = 1.into();
                self.after.next.head = self.act_held.q.val().page;
                self.after.next.oldest = self.act_held.q.val().psn;
                self.after.next.newest = self.act_held.q.val().psn - 1;
                self.after.next.answers = 0.into();
                self.after.next.retrying = false;
                self.after.next.retries = self.policy.q.val().retry_cnt;
                self.after.next.rnr_retries = self.policy.q.val().rnr_retry;
            }
            // While packets are sent again, the new one waits for its turn.
            self.sent.next = self.new_packet.val();
            self.sends.next = !self.list.q.val().paced
                && (!self.list.q.val().used
                    || (!self.list.q.val().resending && !self.new_waits.val()));
            if (self.new_waits.val() || self.list.q.val().paced) && !self.list.q.val().resending {
                self.after.next.resending = true;
                self.after.next.cursor = self.act_held.q.val().page;
            }
        } else {
            // The packet passes as it is.
            self.makes_item.next = true;
            self.leaves.next = true;
        }
    }

    /// An acknowledgement: of the oldest packet alone it is done with here.
    #[hdl_gen]
    pub(super) fn take_answer(&mut self) {
        if !self.fits.q.val() {
            self.tells.input.valid.next = true;
        } else if self.list.q.val().used && self.plain.val() {
            self.tells.input.valid.next = true;
            self.writes.next = true;
            if self.ends_there.val() {
                self.pages.release.valid.next = true;
                self.after.next.used = !self.alone.val();
                self.after.next.count = self.fewer_count.val();
                self.after.next.head = self.follower.val();
                if self.record_asks.val() {
                    self.after.next.answers = self.list.q.val().answers - 1;
                }
            }
            self.after.next.oldest = self.list.q.val().oldest + 1;
            self.after.next.silent = false;
            self.after.next.retrying = false;
            self.after.next.retries = self.policy.q.val().retry_cnt;
            self.after.next.rnr_retries = self.policy.q.val().rnr_retry;
            self.after.next.waiting = self.list.q.val().waiting
                && !(self.alone.val() && self.ends_there.val())
                && self.still_asked.val()
                && (self.list.q.val().asked != self.list.q.val().oldest);
            if self.list.q.val().waiting {
                self.after.next.time = self.now.val();
            }
        } else if self.list.q.val().used && self.awaited.val() {
            self.state.d.next = KeeperState::Read;
        }
    }

    /// The host has written the queue pair, or it has failed: its packets are forgotten.
    #[hdl_gen]
    pub(super) fn forget(&mut self) {
        self.quit.next = true;
        self.quit_data.next = 0.into();
        if self.list.q.val().used {
            self.state.d.next = KeeperState::Read;
        } else {
            self.writes.next = true;
            self.after.next.silent = self.policy.q.val().keeps;
            self.after.next.resending = false;
            self.after.next.waiting = false;
            self.after.next.paused = false;
        }
    }

    /// The pacer lets the queue pair send again.
    #[hdl_gen]
    pub(super) fn go_on(&mut self) {
        self.writes.next = true;
        self.after.next.paced = false;
        if self.list.q.val().used && self.list.q.val().resending && !self.list.q.val().paused {
            self.after.next.queued = true;
            self.turn.d.next = !self.list.q.val().queued;
        }
    }

    /// The list has its turn: its next packet is sent.
    #[hdl_gen]
    pub(super) fn send_again(&mut self) {
        self.writes.next = true;
        // The packet as it would be sent: whether it leaves is known later in the cycle.
        self.sent.next = self.record.val();
        self.sent_end.next = self.record_end.val();
        self.sent.next.again = !self.first_time.val();
        if !self.first_time.val() && self.record_reads.val() {
            // A READ goes on behind the answers that have come.
            self.sent.next.imm = 0.into();
            if self.list.q.val().cursor == self.list.q.val().head {
                self.sent.next.psn = self.list.q.val().oldest;
                self.sent.next.imm =
                    bit_cast::<32, 24>(self.list.q.val().oldest - self.record.val().psn);
            }
        }
        self.sent.next.late = true;
        self.sends.next = self.may_go.val() && !(self.first_time.val() && self.record_waits.val());
        if self.list.q.val().used && self.list.q.val().resending && !self.list.q.val().paused {
            self.turn.d.next = true;
            if (self.first_time.val() && self.record_waits.val()) || self.list.q.val().paced {
                // The packet waits for an answer, or for `go`. A packet that is under way is sent again
                // when the packetizer has done with it.
                self.after.next.queued = false;
                self.turn.d.next = false;
            } else if !self.pages.under_way.val() {
                self.after.next.cursor = self.follower.val();
                if self.list.q.val().cursor == self.list.q.val().tail {
                    self.all_sent.next = true;
                    self.turn.d.next = false;
                }
            }
        } else {
            self.after.next.queued = false;
        }
    }

    /// Looks whether the queue pair has waited for too long, or for long enough.
    #[hdl_gen]
    pub(super) fn watch(&mut self) {
        // The queue pair may have become held, or not held, without an event of its own.
        self.writes.next = self.list.q.val().used;
        if self.list.q.val().used && self.pause_over.val() {
            self.after.next.paused = false;
            self.after.next.queued = true;
            self.turn.d.next = !self.list.q.val().queued;
        } else if self.list.q.val().used && self.overdue.val() {
            if self.list.q.val().retries.any() {
                self.after.next.retries = self.list.q.val().retries - 1;
                self.after.next.retrying = true;
                self.after.next.refused = false;
                self.after.next.waiting = false;
                self.after.next.resending = true;
                self.after.next.cursor = self.list.q.val().head;
                self.after.next.queued = true;
                self.turn.d.next = !self.list.q.val().queued;
            } else {
                // All tries are used up.
                self.quit.next = true;
                self.tells.input.valid.next = true;
                self.tells.input.data.next.qp = self.act_qp.q.val();
                self.tells.input.data.next.psn = self.list.q.val().oldest;
                self.tells.input.data.next.syndrome = self.sequence_nak.val();
                self.walk_event.d.next = KeeperEvent::Forget;
                self.walk_keeps.d.next = false;
                self.state.d.next = KeeperState::Read;
            }
        }
    }
}
