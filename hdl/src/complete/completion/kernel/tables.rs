//! Tables: their contents for the current queue pair and slot.

use super::super::{Completion, CompletionEvent};
use drdma_emit::prelude::*;

impl Completion {
    /// Lookup of the current queue pair. An acknowledgement of a packet that was not sent is ignored; a genuine
    /// one may come before the destination's end does.
    #[hdl_gen]
    pub(super) fn look_up_queue_pair(&mut self) {
        self.progress.sending_valid.next = self.sending_valid.val();
        self.progress.sending_qp.next = self.sending_qp.val();
        self.progress.sending_psn.next = self.sending_psn.val();
        self.progress.qp.next = self.qp.q.val();
        self.progress.psn.next = self.act_psn.q.val();
        self.progress.early_psn.next = self.psn.q.val();
        self.progress.refuses.next = self.refused.q.val();
        self.verdict.syndrome.next = self.syndrome.q.val();
        self.packets.qp.next = self.qp.q.val();
        self.packets.push_psn.next = self.act_psn.q.val();
        self.packets.push_slot.next = self.act_slot.q.val();
        self.packets.push_dest.next = self.act_bad_dest.q.val();
        self.is_refused.d.next = self.refused_pairs.read_data.val().get_bit(0);
        self.awaited.d.next = self.pending.read_data.val();

        // A packet is awaited, unless it was acknowledged already, or can no longer be acknowledged.
        self.lost.next =
            self.act_gone.q.val() || (!self.progress.early.val() && self.is_refused.q.val());
        self.lost_status.next = self.awaited.q.val();
        if self.act_gone.q.val() {
            self.lost_status.next = self.flush.val();
        }
        self.waits.next = !self.lost.val() && !self.progress.early.val();
        // A request that ends with a packet that is awaited is not over: that counts from the next cycle on.
        self.ends.next = self.act_valid.q.val()
            && ((self.act_event.q.val() == CompletionEvent::End)
                || ((self.act_event.q.val() == CompletionEvent::Packet)
                    && self.act_joined.q.val()
                    && !self.waits.val()));
    }

    /// Lookup of the slot. A request's end counts already one cycle ahead.
    #[hdl_gen]
    pub(super) fn look_up_slot(&mut self) {
        self.owners.read_address[0].next = self.slot.q.val();
        self.owner.d.next = self.owners.read_data[0].val();
        self.results.read_address[0].next = self.slot.q.val();
        self.found_result.next = self.results.read_data[0].val();
        self.result.d.next = self.found_result.val();
        self.is_ended.d.next = self.found_result.val().get_bit(48)
            || (self.ends.val() && (self.act_slot.q.val() == self.slot.q.val()));
        self.failed.d.next = self.found_result.val().get_bits::<8>(40).any();
        self.results.read_address[1].next = self.retire.result_slot.val();
        self.retire.result.next = self.results.read_data[1].val();
        self.sent_counts.read_address[0].next = self.slot.q.val();
        self.sent_count.d.next = self.sent_counts.read_data[0].val();
        self.acked_counts.read_address[0].next = self.slot.q.val();
        self.acked_count.d.next = self.acked_counts.read_data[0].val();
        self.waits_none.d.next =
            self.sent_counts.read_data[0].val() == self.acked_counts.read_data[0].val();
        self.waits_one.d.next =
            self.sent_counts.read_data[0].val() - self.acked_counts.read_data[0].val() == 1;

        // Defaults of the memories' writes.
        self.results.write_address.next = self.act_slot.q.val();
        self.results.write_data.next = self.result.q.val();
        self.sent_counts.write_address.next = self.act_slot.q.val();
        self.sent_counts.write_data.next = self.sent_count.q.val() + 1;
        self.acked_counts.write_address.next = self.act_slot.q.val();
        self.acked_counts.write_data.next = self.acked_count.q.val() + 1;
        self.owners.write_address.next = self.act_slot.q.val();
        self.owners.write_data.next = self.act_queue.q.val();
        self.refused_pairs.write_address.next = self.act_qp.q.val();
        self.refused_pairs.write_data.next = 0.into();
        self.pending.write_address.next = self.act_qp.q.val();
        self.pending.write_data.next = self.status.q.val();
        self.set_qp_error_index.next = self.act_qp.q.val();
        self.set_queue_halted_index.next = self.owner.q.val();

        // An acknowledgement covers packets up to its own number, a refusal those before it.
        self.since.next = self.act_psn.q.val() - self.packets.psn.val();
        self.covered.next = self.packets.used.val()
            && !self.since.val().get_bit(23)
            && (!self.refused.q.val() || self.since.val().any());
        self.new_status.next = self.result.q.val().get_bits::<8>(40);
        if !self.failed.q.val() {
            self.new_status.next = self.act_code.q.val();
        }
    }

    /// The time, and whether the oldest packet has waited too long. If the keeper has a clock for the queue pair,
    /// that clock counts.
    #[hdl_gen]
    pub(super) fn watch_time(&mut self) {
        self.policies.cfg.valid.next = self.cfg_valid.val();
        self.policies.cfg.table.next = self.cfg_table.val();
        self.policies.cfg.index.next = self.cfg_index.val();
        self.policies.cfg.word.next = self.cfg_word.val();
        self.policies.cfg.data.next = self.cfg_data.val();
        self.unused.next = self.policies.policy.val();
        self.timed.d.next = self.policies.policy.val().keeps
            && self.policies.policy.val().timeout.any()
            && !self.closed.val();
        self.clock.d.next = self.clock.q.val() + 1;
        self.now.next = self.clock.q.val().get_bits::<32>(10);
        self.packets.now.next = self.now.val();
        self.age.next = self.now.val() - self.packets.since.val();
        self.overdue.next = self.packets.used.val()
            && self.timeout.val().any()
            && !self.timed.q.val()
            && (self.age.val() >= self.timeout.val());
    }
}
