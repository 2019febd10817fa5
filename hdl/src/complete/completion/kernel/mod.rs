//! Logic of the completion block.

mod events;
mod inputs;
mod tables;
mod walk;

use drdma_emit::prelude::*;

use super::{Completion, CompletionEvent, CompletionState, WRITTEN};
use crate::context::{QP, QUEUE};

impl Logic for Completion {
    #[hdl_gen]
    fn update(&mut self) {
        self.results.write_enable.next = false;
        self.sent_counts.write_enable.next = false;
        self.acked_counts.write_enable.next = false;
        self.owners.write_enable.next = false;
        self.refused_pairs.write_enable.next = false;
        self.pending.write_enable.next = false;
        // The mark of the current event is cleared, unless the host writes again.
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

        self.take_words();
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

        self.take_done();
        self.take_receipt();
        self.look_up_queue_pair();
        self.look_up_slot();
        self.watch_time();
        self.take_effect();
        self.pause();
        match self.state.q.val() {
            CompletionState::Clear => self.clear(),
            CompletionState::Run => self.run(),
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
            CompletionState::Act => self.act(),
            CompletionState::Walk => self.walk(),
            CompletionState::WalkLook => {
                self.state.d.next = CompletionState::WalkAct;
            }
            CompletionState::WalkAct => self.walk_act(),
            CompletionState::ForgetLook => {
                self.state.d.next = CompletionState::Forget;
            }
            CompletionState::Forget => self.forget(),
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
