//! Packets: fields of the current one, and of the one that is sent.

use super::super::{Keeper, KeeperEvent, UNITS};
use super::{COMPARE_AND_SWAP, FETCH_AND_ADD, READ_REQUEST};
use drdma_emit::prelude::*;

impl Keeper {
    /// The packet of the list that matters: the oldest one, or the one that is sent next.
    #[hdl_gen]
    pub(super) fn look_at_packet(&mut self) {
        self.follower.next = self.followers.read_data.val();
        if self.linked.q.val() {
            self.follower.next = self.linked_page.q.val();
        }
        self.record_out.bits.next = self.records.read_data.val();
        self.record_reads.next = self.kinds.read_data.val().get_bit(0);
        self.record_asks.next = self.kinds.read_data.val().any();
        self.record.next = self.record_out.record.val();
        self.new_packet.next = self.act_held.q.val();
        if self.pressed.q.val() {
            self.new_packet.next.ack_req = true;
        }
        self.records.write_lanes.next = 0.into();
        self.kinds.write_lanes.next = 0.into();
        self.kinds.write_address.next = self.act_held.q.val().page;
        self.records.write_address.next = self.act_held.q.val().page;
        self.record_in.record.next = self.new_packet.val();
        self.records.write_data.next = self.record_in.bits.val();
        self.followers.write_lanes.next = 0.into();
        self.followers.write_address.next = self.list.q.val().tail;
        self.followers.write_data.next = self.act_held.q.val().page;
        self.alone.next = self.that.val().head == self.that.val().tail;
        self.crowded.next = self.that.val().count >= self.room.q.val();
        self.more_count.next = self.that.val().count + 1;
        self.fewer_count.next = self.that.val().count - 1;

        // READs, atomics and fences.
        self.record_end.next = self.record.val().psn;
        if self.record_reads.val() {
            self.record_end.next = self.record.val().imm.get_bits::<24>(0);
        }
        self.new_reads.next = self.act_held.q.val().operation == READ_REQUEST;
        self.new_asks.next = self.new_reads.val()
            || (self.act_held.q.val().operation == COMPARE_AND_SWAP)
            || (self.act_held.q.val().operation == FETCH_AND_ADD);
        self.kinds.write_data.next = 0.into();
        if self.new_reads.val() {
            self.kinds.write_data.next = 1.into();
        } else if self.new_asks.val() {
            self.kinds.write_data.next = 2.into();
        }
        self.no_answers.next = !self.list.q.val().answers.any();
        self.all_answers.next = !self.no_answers.val()
            && (self.list.q.val().answers >= self.policy.q.val().max_rd_atomic);
        self.record_waits.next = (self.record_asks.val() && self.all_answers.val())
            || (self.record.val().fenced && !self.no_answers.val());
        self.new_waits.next = self.list.q.val().used
            && ((self.new_asks.val() && self.all_answers.val())
                || (self.act_held.q.val().fenced && !self.no_answers.val()));
        self.may_go.next = self.list.q.val().used
            && self.list.q.val().resending
            && !self.list.q.val().paused
            && !self.list.q.val().paced
            && !self.pages.under_way.val();
        self.sent.next = self.act_held.q.val();
        self.sent_end.next = self.act_held.q.val().psn;
        if self.new_reads.val() {
            self.sent_end.next = self.act_held.q.val().imm.get_bits::<24>(0);
        }
    }

    /// A packet of a queue pair that keeps is sent.
    #[hdl_gen]
    pub(super) fn send(&mut self) {
        self.is_older.next =
            (self.act_event.q.val() == KeeperEvent::Resend) && !self.first_time.val();
        self.asks_anew.next = self.new_asks.val();
        if self.act_event.q.val() == KeeperEvent::Resend {
            self.asks_anew.next = self.record_asks.val() && self.first_time.val();
        }
        self.answers_before.next = 0.into();
        if self.list.q.val().used {
            self.answers_before.next = self.list.q.val().answers;
        }
        self.tells_pacer.d.next = self.sends.val() && self.is_limited.q.val();
        self.pacer_packet.d.next.qp = self.act_qp.q.val();
        self.pacer_packet.d.next.units =
            bit_cast::<UNITS, 7>(self.sent.val().bytes.get_bits::<7>(6)) + 2;
        self.paced.valid.next = self.tells_pacer.q.val();
        self.paced.next = self.pacer_packet.q.val();
        if self.sends.val() {
            self.makes_item.next = true;
            self.leaves.next = true;
            self.pages.send.valid.next = true;
            if !self.is_older.val() {
                self.after.next.newest = self.sent_end.val();
            }
            self.after.next.paced = self.is_limited.q.val();
            self.after.next.limited = self.is_limited.q.val();
            if self.asks_anew.val() {
                self.after.next.answers = self.answers_before.val() + 1;
            }
            if self.sent.val().ack_req {
                self.after.next.asked = self.sent_end.val();
                self.after.next.waiting = true;
                if !self.list.q.val().waiting {
                    self.after.next.time = self.now.val();
                }
            }
        }
        self.pages.send.page.next = self.act_held.q.val().page;
        if self.act_event.q.val() == KeeperEvent::Resend {
            self.pages.send.page.next = self.at.q.val();
        }
        self.item_made.d.next = self.makes_item.val();
        self.made.d.next = self.sent.val();
        self.items.input.valid.next = self.item_made.q.val();
        self.items.input.data.next = self.made.q.val();
        self.has_left.d.next = self.leaves.val();
        if self.has_left.q.val() && !self.done.valid.val() {
            self.sending.d.next = self.sending.q.val() + 1;
        } else if self.done.valid.val() && !self.has_left.q.val() && self.sending.q.val().any() {
            self.sending.d.next = self.sending.q.val() - 1;
        }
        if self.pages.hold.valid.val() {
            self.kept.d.next = self.kept.q.val() + 1;
        } else if self.pages.release.valid.val() {
            self.kept.d.next = self.kept.q.val() - 1;
        }
    }
}
