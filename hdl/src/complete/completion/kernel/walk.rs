//! The events that take longer, state by state.

use super::super::{Completion, CompletionEvent, CompletionState, RESULT};
use crate::context::{QP, QUEUE};
use crate::request::DEST_COUNT;
use drdma_emit::prelude::*;

impl Completion {
    /// Clears the tables.
    #[hdl_gen]
    pub(super) fn clear(&mut self) {
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

    /// Lets a rare event take effect.
    #[hdl_gen]
    pub(super) fn act(&mut self) {
        self.state.d.next = CompletionState::Run;
        if self.renews.val() {
            // The marks of new entries are being written in this cycle: the event waits.
            self.state.d.next = CompletionState::Act;
        } else if self.event.q.val() == CompletionEvent::Tick {
            // The packet may have been acknowledged since the event was chosen.
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

    /// Examines whether the event concerns the oldest packet of a queue pair's list.
    #[hdl_gen]
    pub(super) fn walk(&mut self) {
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

    /// Removes the oldest packet from its queue pair's list.
    #[hdl_gen]
    pub(super) fn walk_act(&mut self) {
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

    /// Forgets the open request that was looked up.
    #[hdl_gen]
    pub(super) fn forget(&mut self) {
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
