//! Events: which one is next, when it must wait, and what it changes.

use super::super::{Completion, CompletionEvent, CompletionState, GOES_ON, PART_ENDS, RESULT};
use crate::context::{QP, QUEUE};
use crate::request::DEST_COUNT;
use drdma_emit::prelude::*;

impl Completion {
    /// The event of the cycle before takes effect; all of these take one cycle. The end of a request right behind
    /// its packet joins it.
    #[hdl_gen]
    pub(super) fn take_effect(&mut self) {
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
    }

    /// Finds out whether the next event must wait.
    #[hdl_gen]
    pub(super) fn pause(&mut self) {
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
        // Longer events wait until all events before them are over, and all others wait for them.
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
    }

    /// Moves events through the pipeline.
    #[hdl_gen]
    pub(super) fn run(&mut self) {
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
        if self.more.q.val() && !(self.look_list.val() && (self.qp.q.val() == self.more_qp.q.val()))
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
        } else if self.sent_valid.val() && (self.sent_kind.val() != 0) && self.end_fits.val() {
            self.sent_ready.next = true;
            self.event.d.next = CompletionEvent::End;
            self.look_valid.d.next = true;
        } else if self.open_valid.val() {
            // A request is opened at once in a cycle that no other event can use.
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
}
