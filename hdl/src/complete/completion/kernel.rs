//! Logic of the completion block.

use crate::request::DEST_COUNT;
use drdma_emit::prelude::*;

use super::{Completion, CompletionEvent, CompletionState, GOES_ON, PART_ENDS, RESULT, WRITTEN};
use crate::context::{CQ, QP, QUEUE};

impl Logic for Completion {
    #[hdl_gen]
    fn update(&mut self) {
        self.results.write_enable.next = false;
        self.sent_counts.write_enable.next = false;
        self.acked_counts.write_enable.next = false;
        self.owners.write_enable.next = false;
        self.refused_pairs.write_enable.next = false;
        self.pending.write_enable.next = false;
        // The mark of the event at hand is cleared, unless the host writes again.
        self.new_queues.write_enable.next = false;
        self.new_queues.write_address.next = self.queue.q.val();
        self.new_queues.write_data.next = 0.into();
        self.new_pairs.write_enable.next = false;
        self.new_pairs.write_address.next = self.act_qp.q.val();
        self.new_pairs.write_data.next = 0.into();
        self.halts.next =
            !self.result.q.val().get_bit(49) && !self.new_queues.read_data.val().get_bit(0);
        self.events.in_valid.next = false;
        self.events.out_ready.next = false;
        self.packets.push.next = false;
        self.packets.pop.next = false;
        self.packets.clear.next = false;
        self.packets.clear_index.next = self.step.q.val();
        self.progress.acknowledge.next = false;
        self.progress.forget.next = false;
        self.progress.clear.next = false;
        self.progress.clear_index.next = self.step.q.val();
        self.open_ready.next = false;
        self.sent_ready.next = false;
        self.ack_ready.next = false;
        self.set_qp_error_valid.next = false;
        self.set_queue_halted_valid.next = false;
        self.count_acks.next = false;

        // Table writes of the host: addresses are kept, and words that start something become events.
        self.select.valid.next = self.cfg_valid.val();
        self.select.number.next = self.cfg_table.val();
        self.select.word.next = self.cfg_word.val();
        self.events.in_data.next = bit_cast::<WRITTEN, 12>(self.cfg_index.val());
        self.renews.next =
            (self.select.state.val() || self.select.enable.val()) && !self.select.every.val();
        // After a reset, an entry that is cleared needs no event.
        if !self.select.every.val() {
            if self.select.state.val() {
                self.events.in_valid.next = true;
            }
            if self.select.enable.val() {
                self.events.in_valid.next = true;
                self.events.in_data.next = bit_cast::<WRITTEN, 12>(self.cfg_index.val()) | 0x1000;
            }
            if self.select.ring.val() {
                self.events.in_valid.next = true;
                self.events.in_data.next = bit_cast::<WRITTEN, 12>(self.cfg_index.val()) | 0x2000;
            }
        }

        // Requests that are done.
        self.retire.cfg_valid.next = self.cfg_valid.val();
        self.retire.cfg_table.next = self.cfg_table.val();
        self.retire.cfg_index.next = self.cfg_index.val();
        self.retire.cfg_word.next = self.cfg_word.val();
        self.retire.cfg_data.next = self.cfg_data.val();
        self.retire.open.next = false;
        self.retire.open_slot.next = self.act_slot.q.val();
        self.retire.open_queue.next = self.act_queue.q.val();
        self.retire.open_wr_id.next = self.act_wr_id.q.val();
        self.retire.open_position.next = self.act_position.q.val();
        self.retire.open_unsignaled.next = self.act_unsignaled.q.val();
        self.retire.done.next = false;
        self.retire.done_slot.next = self.act_slot.q.val();
        self.slot_free_valid.next = self.retire.slot_free_valid.val();
        self.retire.slot_free_ready.next = self.slot_free_ready.val();
        self.slot_free_slot.next = self.retire.slot_free_slot.val();
        self.write_valid.next = self.retire.write_valid.val();
        self.retire.write_ready.next = self.write_ready.val();
        self.write_addr.next = self.retire.write_addr.val();
        self.write_data.next = self.retire.write_data.val();
        self.busy.next = self.retire.busy.val();
        self.count_work_requests.next = self.retire.retired.val();
        self.retire.queue.next = self.queue.q.val();
        self.retire.slot.next = self.slot.q.val();
        self.retire.renew.next = false;
        self.retire.unpark.next = false;
        self.retire.restart.next = false;
        self.retire.restart_index.next = self.queue.q.val().get_bits::<CQ>(0);
        self.retire.clear.next = false;
        self.retire.clear_index.next = self.step.q.val();

        // Receipts: a restart of a completion queue has the rings to itself. A receipt that finds no room fails its
        // queue pair, unless another queue pair fails in this cycle.
        self.receipt.join(&mut self.retire.receipt);
        self.restarts.next = (self.event.q.val() == CompletionEvent::Written)
            && (self.written.q.val() == 2)
            && ((self.state.q.val() == CompletionState::Look)
                || (self.state.q.val() == CompletionState::Act));
        self.retire.hold_receipts.next =
            self.restarts.val() || (self.state.q.val() == CompletionState::Clear);
        self.retire.overrun_ready.next = self.state.q.val() != CompletionState::Walk;

        // Lookup of the queue pair at hand. An acknowledgement of a packet that was not sent is ignored; a genuine one
        // may come before the destination's end does.
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

        // A packet is awaited, unless it was acknowledged already, or nobody will acknowledge it.
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

        // Lookup of the slot. A request's end counts already one cycle ahead.
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

        // The time, and whether the oldest packet has waited too long. If the keeper has a clock for the queue pair,
        // that clock counts.
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

        // The event of the cycle before takes effect; all of these take one cycle. The end of a request right behind
        // its packet joins it.
        self.joins.next = self.look_valid.q.val()
            && (self.event.q.val() == CompletionEvent::Packet)
            && self.sent_valid.val()
            && (self.sent_kind.val() != 0)
            && (self.sent_slot.val() == self.slot.q.val())
            && !self.sent_status.val().any();
        self.act_joined.d.next = self.joins.val();
        self.act_valid.d.next = self.look_valid.q.val();
        self.act_event.d.next = self.event.q.val();
        self.act_qp.d.next = self.qp.q.val();
        self.act_psn.d.next = self.psn.q.val();
        self.act_slot.d.next = self.slot.q.val();
        self.act_queue.d.next = self.queue.q.val();
        self.act_wr_id.d.next = self.wr_id.q.val();
        self.act_position.d.next = self.position.q.val();
        self.act_unsignaled.d.next = self.unsignaled.q.val();
        self.act_code.d.next = self.code.q.val();
        self.act_bad_dest.d.next = self.bad_dest.q.val();
        self.act_total.d.next = self.total.q.val();
        self.act_goes_on.d.next = self.goes_on.q.val();
        if self.joins.val() {
            self.act_total.d.next = self.sent_total.val();
            self.act_goes_on.d.next = self.sent_kind.val() == PART_ENDS;
        }
        self.act_gone.d.next = self.is_gone.q.val();
        self.act_first.d.next = self.first.q.val();
        self.acknowledging.next =
            self.act_valid.q.val() && (self.act_event.q.val() == CompletionEvent::Acknowledge);
        self.packets.may_pop.next =
            self.acknowledging.val() || (self.state.q.val() == CompletionState::WalkAct);
        self.pops.next = false;
        if self.act_valid.q.val() {
            match self.act_event.q.val() {
                CompletionEvent::Opened => {
                    self.retire.open.next = true;
                    self.owners.write_enable.next = true;
                    self.results.write_enable.next = true;
                    self.results.write_data.next = 0.into();
                }
                CompletionEvent::Packet => {
                    self.results.write_enable.next =
                        self.act_joined.q.val() || (self.lost.val() && !self.failed.q.val());
                    self.results.write_data.next = self.result.q.val();
                    if self.lost.val() && !self.failed.q.val() {
                        self.results.write_data.next = self.result.q.val()
                            | (bit_cast::<RESULT, 8>(self.lost_status.val()) << 40)
                            | (bit_cast::<RESULT, DEST_COUNT>(self.act_bad_dest.q.val()) << 50);
                    }
                    self.pending.write_enable.next =
                        self.lost.val() && !self.act_gone.q.val() && !self.failed.q.val();
                    self.pending.write_data.next = self.flush.val();
                    self.packets.push.next = self.waits.val();
                    self.sent_counts.write_enable.next = self.waits.val();
                    if self.act_joined.q.val() {
                        self.results.write_data.next = self.results.write_data.val()
                            | bit_cast::<RESULT, 40>(self.act_total.q.val())
                            | (bit_cast::<RESULT, 1>(self.act_goes_on.q.val().into())
                                << GOES_ON as u64)
                            | self.ended.val();
                        self.retire.done.next = self.waits_none.q.val() && !self.waits.val();
                        self.set_queue_halted_valid.next =
                            (self.lost.val() || self.failed.q.val()) && self.halts.val();
                    }
                }
                CompletionEvent::End => {
                    self.results.write_enable.next = true;
                    self.results.write_data.next = bit_cast::<RESULT, 40>(self.act_total.q.val())
                        | (bit_cast::<RESULT, 8>(self.new_status.val()) << 40)
                        | (bit_cast::<RESULT, 1>(self.act_goes_on.q.val().into())
                            << GOES_ON as u64)
                        | self.ended.val()
                        | (self.result.q.val() & self.forgotten.val());
                    if self.failed.q.val() {
                        self.results.write_data.next = self.results.write_data.val()
                            | (bit_cast::<RESULT, DEST_COUNT>(
                                self.result.q.val().get_bits::<DEST_COUNT>(50),
                            ) << 50);
                    } else if self.act_code.q.val().any() {
                        self.results.write_data.next = self.results.write_data.val()
                            | (bit_cast::<RESULT, DEST_COUNT>(self.act_bad_dest.q.val()) << 50);
                    }
                    self.retire.done.next = self.waits_none.q.val();
                    self.set_queue_halted_valid.next =
                        self.new_status.val().any() && self.halts.val();
                }
                CompletionEvent::Acknowledge => {
                    if !self.act_first.q.val() || self.progress.genuine.val() {
                        self.progress.acknowledge.next = self.act_first.q.val();
                        self.pops.next = self.covered.val();
                        self.packets.pop.next = self.covered.val();
                    }
                }
                CompletionEvent::Tick => {
                    if self.overdue.val() {
                        self.late.d.next = true;
                        self.late_qp.d.next = self.act_qp.q.val();
                    }
                }
                CompletionEvent::Covered => {
                    self.acked_counts.write_enable.next = true;
                    self.retire.done.next = self.waits_one.q.val() && self.is_ended.q.val();
                }
                _ => {}
            }
        }

        // An event must not directly follow one that is about to write what it would read.
        self.look_list.next = self.look_valid.q.val()
            && ((self.event.q.val() == CompletionEvent::Packet)
                || (self.event.q.val() == CompletionEvent::Acknowledge));
        self.look_slot.next = self.look_valid.q.val()
            && ((self.event.q.val() == CompletionEvent::Opened)
                || (self.event.q.val() == CompletionEvent::Packet)
                || (self.event.q.val() == CompletionEvent::Covered))
            && (self.slot.q.val() == self.sent_slot.val());
        // The walk of one acknowledgement ends before that of the next begins.
        self.ack_fits.next = !self.acknowledging.val()
            && !(self.look_list.val()
                && ((self.event.q.val() == CompletionEvent::Acknowledge)
                    || (self.qp.q.val() == self.ack_qp.val())));
        self.end_fits.next = !self.look_slot.val();
        self.packet_fits.next = !self.look_slot.val()
            && !(self.look_list.val() && (self.qp.q.val() == self.sent_qp.val()))
            && (self.packets.roomy.val()
                || (self.packets.room.val()
                    && !self.look_valid.q.val()
                    && !self.act_valid.q.val()));
        self.refusal.next = self.ack_syndrome.val().get_bits::<3>(5).any();
        // Longer events wait until everything before them is over, and everything else waits for them.
        self.slow.next = self.late.q.val()
            || self.events.out_valid.val()
            || (self.ack_valid.val() && self.refusal.val());
        self.drained.next = !self.look_valid.q.val()
            && !self.act_valid.q.val()
            && !self.more.q.val()
            && !self.cover.q.val()
            && self.retire.idle.val();
        self.retire.hold.next = self.slow.val() || (self.state.q.val() != CompletionState::Run);

        self.look_valid.d.next = false;
        if self.joins.val() {
            self.sent_ready.next = true;
        }
        match self.state.q.val() {
            CompletionState::Clear => {
                self.step.d.next = self.step.q.val() + 1;
                self.packets.clear.next = true;
                self.progress.clear.next = true;
                self.retire.clear.next = true;
                self.refused_pairs.write_enable.next = true;
                self.refused_pairs.write_address.next = self.step.q.val().get_bits::<QP>(0);
                self.new_queues.write_enable.next = true;
                self.new_queues.write_address.next = self.step.q.val().get_bits::<QUEUE>(0);
                self.new_pairs.write_enable.next = true;
                self.new_pairs.write_address.next = self.step.q.val().get_bits::<QP>(0);
                self.sent_counts.write_enable.next = true;
                self.sent_counts.write_address.next = self.step.q.val().get_bits::<8>(0);
                self.sent_counts.write_data.next = 0.into();
                self.acked_counts.write_enable.next = true;
                self.acked_counts.write_address.next = self.step.q.val().get_bits::<8>(0);
                self.acked_counts.write_data.next = 0.into();
                if self.step.q.val().all() {
                    self.state.d.next = CompletionState::Run;
                }
            }
            CompletionState::Run => {
                self.quiet.d.next = false;
                self.failing.d.next = false;
                self.refused.d.next = false;
                self.first.d.next = true;
                self.qp.d.next = self.sent_qp.val();
                self.psn.d.next = self.sent_psn.val();
                self.slot.d.next = self.sent_slot.val();
                self.code.d.next = self.sent_status.val();
                self.bad_dest.d.next = self.sent_bad_dest.val();
                self.total.d.next = self.sent_total.val();
                self.is_gone.d.next = self.gone.val();
                self.goes_on.d.next = self.sent_kind.val() == PART_ENDS;
                self.queue.d.next = self.open_queue.val();
                self.wr_id.d.next = self.open_wr_id.val();
                self.position.d.next = self.open_position.val();
                self.unsignaled.d.next = self.open_unsignaled.val();
                self.syndrome.d.next = self.ack_syndrome.val();
                self.written.d.next = self.events.out_data.val().get_bits::<2>(12);
                if self.acknowledging.val() {
                    // The request of the packet that has left its list.
                    self.cover.d.next = self.pops.val();
                    self.cover_slot.d.next = self.packets.slot.val();
                    self.more.d.next =
                        self.pops.val() && !self.packets.lone.val() && self.since.val().any();
                    self.more_qp.d.next = self.act_qp.q.val();
                    self.more_psn.d.next = self.act_psn.q.val();
                }
                // The next packet, unless its list is about to change; then the packet before is dealt with first.
                if self.more.q.val()
                    && !(self.look_list.val() && (self.qp.q.val() == self.more_qp.q.val()))
                {
                    self.more.d.next = false;
                    self.qp.d.next = self.more_qp.q.val();
                    self.psn.d.next = self.more_psn.q.val();
                    self.first.d.next = false;
                    self.event.d.next = CompletionEvent::Acknowledge;
                    self.look_valid.d.next = true;
                } else if self.cover.q.val()
                    && (self.more.q.val()
                        || self.slow.val()
                        || !self.ack_valid.val()
                        || !self.ack_fits.val())
                {
                    self.cover.d.next = false;
                    self.slot.d.next = self.cover_slot.q.val();
                    self.event.d.next = CompletionEvent::Covered;
                    self.look_valid.d.next = true;
                } else if self.slow.val() {
                    if self.drained.val() && self.late.q.val() {
                        self.late.d.next = false;
                        self.qp.d.next = self.late_qp.q.val();
                        self.status.d.next = self.retry.val();
                        self.first.d.next = false;
                        self.event.d.next = CompletionEvent::Tick;
                        self.state.d.next = CompletionState::Look;
                    } else if self.drained.val() && self.events.out_valid.val() {
                        self.events.out_ready.next = true;
                        self.queue.d.next = self.events.out_data.val().get_bits::<QUEUE>(0);
                        self.qp.d.next = self.events.out_data.val().get_bits::<QP>(0);
                        self.status.d.next = self.flush.val();
                        self.quiet.d.next = true;
                        self.first.d.next = false;
                        self.event.d.next = CompletionEvent::Written;
                        self.state.d.next = CompletionState::Look;
                    } else if self.drained.val() {
                        self.ack_ready.next = true;
                        self.count_acks.next = true;
                        self.qp.d.next = self.ack_qp.val();
                        self.psn.d.next = self.ack_psn.val();
                        self.event.d.next = CompletionEvent::Refused;
                        self.state.d.next = CompletionState::Look;
                    }
                } else if self.open_valid.val() && self.open_waits.q.val() {
                    // The request has waited for a cycle: the decoder starts no further request until it is opened.
                    self.open_ready.next = true;
                    self.slot.d.next = self.open_slot.val();
                    self.event.d.next = CompletionEvent::Opened;
                    self.look_valid.d.next = true;
                } else if self.sent_valid.val()
                    && (self.sent_kind.val() == 0)
                    && self.packet_fits.val()
                    && !self.cover.q.val()
                {
                    self.sent_ready.next = true;
                    self.event.d.next = CompletionEvent::Packet;
                    self.look_valid.d.next = true;
                } else if self.ack_valid.val() && self.ack_fits.val() {
                    self.ack_ready.next = true;
                    self.count_acks.next = true;
                    self.qp.d.next = self.ack_qp.val();
                    self.psn.d.next = self.ack_psn.val();
                    self.event.d.next = CompletionEvent::Acknowledge;
                    self.look_valid.d.next = true;
                } else if self.sent_valid.val()
                    && (self.sent_kind.val() != 0)
                    && self.end_fits.val()
                {
                    self.sent_ready.next = true;
                    self.event.d.next = CompletionEvent::End;
                    self.look_valid.d.next = true;
                } else if self.open_valid.val() {
                    // A request is opened at once in a cycle that nothing else can use.
                    self.open_ready.next = true;
                    self.slot.d.next = self.open_slot.val();
                    self.event.d.next = CompletionEvent::Opened;
                    self.look_valid.d.next = true;
                } else if !self.sent_valid.val() {
                    self.watched.d.next = self.watched.q.val() + 1;
                    self.qp.d.next = self.watched.q.val();
                    self.event.d.next = CompletionEvent::Tick;
                    self.look_valid.d.next = true;
                }
            }
            CompletionState::Look => {
                self.state.d.next = CompletionState::Act;
                if self.event.q.val() == CompletionEvent::Refused {
                    self.state.d.next = CompletionState::Walk;
                }
                if self.first.q.val() {
                    self.refused.d.next = self.verdict.refuses.val();
                    self.status.d.next = self.verdict.status.val();
                }
            }
            CompletionState::Act => {
                self.state.d.next = CompletionState::Run;
                if self.renews.val() {
                    // The marks are being written.
                    self.state.d.next = CompletionState::Act;
                } else if self.event.q.val() == CompletionEvent::Tick {
                    // The packet may have been acknowledged meanwhile.
                    if self.overdue.val() {
                        self.failing.d.next = true;
                        self.event.d.next = CompletionEvent::Refused;
                        self.state.d.next = CompletionState::Walk;
                    }
                } else {
                    if self.written.q.val() == 0 {
                        self.new_pairs.write_enable.next = true;
                        self.refused_pairs.write_enable.next = true;
                        self.progress.forget.next = true;
                        self.failing.d.next = true;
                        self.event.d.next = CompletionEvent::Refused;
                        self.state.d.next = CompletionState::Walk;
                    }
                    if self.written.q.val() == 1 {
                        self.new_queues.write_enable.next = true;
                        self.slot.d.next = self.retire.head.val();
                        self.retire.renew.next = !self.retire.used.val();
                        if self.retire.used.val() {
                            self.state.d.next = CompletionState::ForgetLook;
                        }
                    }
                    if self.written.q.val() == 2 {
                        self.retire.restart.next = !self.retire.receiving.val();
                        if self.retire.receiving.val() {
                            self.state.d.next = CompletionState::Act;
                        }
                    }
                }
            }
            CompletionState::Walk => {
                self.first.d.next = false;
                self.slot.d.next = self.packets.slot.val();
                self.state.d.next = CompletionState::Run;
                if self.failing.q.val() {
                    self.set_qp_error_valid.next =
                        !self.quiet.q.val() && !self.new_pairs.read_data.val().get_bit(0);
                    self.refused_pairs.write_enable.next = !self.quiet.q.val();
                    self.refused_pairs.write_data.next = 1.into();
                    if self.packets.used.val() {
                        self.state.d.next = CompletionState::WalkLook;
                    } else {
                        self.pending.write_enable.next = true;
                    }
                } else if !self.first.q.val() || self.progress.genuine.val() {
                    self.progress.acknowledge.next = self.first.q.val();
                    if self.covered.val() {
                        self.state.d.next = CompletionState::WalkLook;
                    } else {
                        // The refused packet may not have been sent to its end.
                        self.failing.d.next = true;
                        self.state.d.next = CompletionState::Walk;
                    }
                }
            }
            CompletionState::WalkLook => {
                self.state.d.next = CompletionState::WalkAct;
            }
            CompletionState::WalkAct => {
                self.packets.pop.next = true;
                self.acked_counts.write_enable.next = true;
                self.retire.done.next = self.waits_one.q.val() && self.is_ended.q.val();
                if self.failing.q.val() {
                    self.results.write_enable.next = !self.failed.q.val();
                    self.results.write_data.next = self.result.q.val()
                        | (bit_cast::<RESULT, 8>(self.status.q.val()) << 40)
                        | (bit_cast::<RESULT, DEST_COUNT>(self.packets.dest.val()) << 50);
                    self.set_queue_halted_valid.next = !self.quiet.q.val() && self.halts.val();
                    self.status.d.next = self.flush.val();
                }
                self.state.d.next = CompletionState::Look;
            }
            CompletionState::ForgetLook => {
                self.state.d.next = CompletionState::Forget;
            }
            CompletionState::Forget => {
                self.results.write_enable.next = true;
                self.results.write_data.next = self.result.q.val() | self.forgotten.val();
                self.retire.unpark.next = self.retire.parked.val();
                self.retire.done.next = self.retire.parked.val();
                self.slot.d.next = self.retire.follower.val();
                self.state.d.next = CompletionState::ForgetLook;
                if self.slot.q.val() == self.retire.tail.val() {
                    self.retire.renew.next = true;
                    self.state.d.next = CompletionState::Run;
                }
            }
        }

        if self.retire.overrun.val() && self.retire.overrun_ready.val() {
            self.set_qp_error_valid.next = true;
            self.set_qp_error_index.next = self.retire.overrun_qp.val();
        }

        // The host's word counts at once.
        if self.renews.val() {
            if self.select.state.val() {
                self.new_pairs.write_enable.next = true;
                self.new_pairs.write_address.next = self.cfg_index.val().get_bits::<QP>(0);
                self.new_pairs.write_data.next = 1.into();
            } else {
                self.new_queues.write_enable.next = true;
                self.new_queues.write_address.next = self.cfg_index.val().get_bits::<QUEUE>(0);
                self.new_queues.write_data.next = 1.into();
            }
        }

        self.open_waits.d.next = self.open_valid.val() && !self.open_ready.val();

        if self.rst.val() {
            self.state.d.next = CompletionState::Clear;
            self.step.d.next = 0.into();
            self.qp.d.next = 0.into();
            self.look_valid.d.next = false;
            self.act_valid.d.next = false;
            self.more.d.next = false;
            self.cover.d.next = false;
            self.late.d.next = false;
            self.clock.d.next = 0.into();
            self.watched.d.next = 0.into();
        }

        // Addresses of the tables for the next cycle.
        self.refused_pairs.ahead.next = self.qp.d.val();
        self.new_queues.ahead.next = self.owner.d.val();
        self.new_pairs.ahead.next = self.act_qp.d.val();
        self.pending.ahead.next = self.qp.d.val();
        self.packets.next_qp.next = self.qp.d.val();
        self.policies.next_qp.next = self.qp.d.val();
        self.closed_next.next = self.qp.d.val();
        self.progress.next_qp.next = self.qp.d.val();
        self.retire.next_queue.next = self.queue.d.val();
        self.retire.next_open_queue.next = self.act_queue.d.val();
    }
}
