//! What the block does in every cycle.

use rust_hdl_core::prelude::*;
use rust_hdl_widgets::prelude::*;

use super::{Completion, CompletionEvent, CompletionState};

impl Logic for Completion {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, state, event, step, open_count, qp, psn, syndrome, refused, status);
        dff_setup!(self, clk, queue, slot, written, quiet, first, failing, no_room);
        dff_setup!(self, clk, clock, ticked, watched, turn);
        dff_setup!(self, clk, record, is_silent, name, result, failed, waiting, waits_none);
        dff_setup!(self, clk, waits_one, follower, is_refused, awaited, is_gone);
        self.names.clk.next = self.clk.val();
        self.names.write_enable.next = false;
        self.results.clk.next = self.clk.val();
        self.results.write_enable.next = false;
        self.waits.clk.next = self.clk.val();
        self.waits.write_enable.next = false;
        self.slot_next.clk.next = self.clk.val();
        self.slot_next.write_enable.next = false;
        self.queues.clk.next = self.clk.val();
        self.queues.write_enable.next = false;
        self.silent.clk.next = self.clk.val();
        self.silent.write_enable.next = false;
        self.refused_pairs.clk.next = self.clk.val();
        self.refused_pairs.write_enable.next = false;
        self.pending.clk.next = self.clk.val();
        self.pending.write_enable.next = false;
        self.events.clk.next = self.clk.val();
        self.events.rst.next = self.rst.val();
        self.events.in_valid.next = false;
        self.events.out_ready.next = false;
        self.slots.clk.next = self.clk.val();
        self.slots.rst.next = self.rst.val();
        self.slots.in_valid.next = false;
        self.slots.out_ready.next = self.slot_free_ready.val();
        self.done.clk.next = self.clk.val();
        self.done.rst.next = self.rst.val();
        self.done.in_valid.next = false;
        self.done.out_ready.next = false;
        self.rings.clk.next = self.clk.val();
        self.rings.advance.next = false;
        self.rings.restart_valid.next = false;
        self.rings.restart_index.next = self.queue.q.val().get_bits::<6>(0);
        self.packets.clk.next = self.clk.val();
        self.packets.rst.next = self.rst.val();
        self.packets.push.next = false;
        self.packets.pop.next = false;
        self.packets.tick.next = false;
        self.packets.clear.next = false;
        self.packets.clear_index.next = self.step.q.val();
        self.progress.clk.next = self.clk.val();
        self.progress.rst.next = self.rst.val();
        self.progress.acknowledge.next = false;
        self.progress.forget.next = false;
        self.open_ready.next = false;
        self.sent_ready.next = false;
        self.ack_ready.next = false;
        self.write_valid.next = false;
        self.set_qp_error_valid.next = false;
        self.set_queue_halted_valid.next = false;
        self.count_work_requests.next = false;
        self.count_acks.next = false;
        self.busy.next = self.open_count.q.val().any();
        self.slot_free_valid.next = self.slots.out_valid.val();
        self.slot_free_slot.next = self.slots.out_data.val();

        // The host's table writes: addresses are kept, what starts something becomes an event.
        self.unused.next = self.cfg_index.val().get_bits::<2>(8);
        self.rings.cfg_valid.next = self.cfg_valid.val();
        self.rings.cfg_table.next = self.cfg_table.val();
        self.rings.cfg_index.next = self.cfg_index.val().get_bits::<8>(0);
        self.rings.cfg_word.next = self.cfg_word.val();
        self.rings.cfg_data.next = self.cfg_data.val();
        self.events.in_data.next = self.cfg_index.val().get_bits::<8>(0).get_bits::<10>(0);
        if self.cfg_valid.val() {
            if (self.cfg_table.val() == 0) && (self.cfg_word.val() == 15) {
                self.events.in_valid.next = true;
            }
            if (self.cfg_table.val() == 2) && (self.cfg_word.val() == 7) {
                self.events.in_valid.next = true;
                self.events.in_data.next =
                    self.cfg_index.val().get_bits::<8>(0).get_bits::<10>(0) | 0x100;
            }
            if (self.cfg_table.val() == 3) && (self.cfg_word.val() == 7) {
                self.events.in_valid.next = true;
                self.events.in_data.next =
                    self.cfg_index.val().get_bits::<8>(0).get_bits::<10>(0) | 0x200;
            }
        }

        // What the memories say of the queue pair at hand. An acknowledgement of a packet that was not
        // sent is none; one may come before the destination's end does.
        self.progress.sending_valid.next = self.sending_valid.val();
        self.progress.sending_qp.next = self.sending_qp.val();
        self.progress.sending_psn.next = self.sending_psn.val();
        self.progress.qp.next = self.qp.q.val();
        self.progress.psn.next = self.psn.q.val();
        self.progress.refuses.next = self.refused.q.val();
        self.verdict.syndrome.next = self.syndrome.q.val();
        self.packets.qp.next = self.qp.q.val();
        self.packets.push_psn.next = self.sent_psn.val();
        self.packets.push_slot.next = self.sent_slot.val();
        self.packets.push_dest.next = self.sent_bad_dest.val();
        self.refused_pairs.read_address[0].next = self.qp.q.val();
        self.refused_pairs.write_address.next = self.qp.q.val();
        self.refused_pairs.write_data.next = 0.into();
        self.is_refused.d.next = self.refused_pairs.read_data[0].val().get_bit(0);
        self.pending.read_address[0].next = self.qp.q.val();
        self.pending.write_address.next = self.qp.q.val();
        self.pending.write_data.next = self.status.q.val();
        self.awaited.d.next = self.pending.read_data[0].val();
        self.is_gone.d.next = self.gone.val();

        // ... of the queue,
        self.queues.read_address[0].next = self.queue.q.val();
        self.record.d.next = self.queues.read_data[0].val();
        self.queue_tail.next = self.record.q.val().get_bits::<8>(0);
        self.queue_head.next = self.record.q.val().get_bits::<8>(8);
        self.queue_used.next = self.record.q.val().get_bit(16);
        self.silent.read_address[0].next = self.queue.q.val();
        self.silent.write_address.next = self.queue.q.val();
        self.silent.write_data.next = 0.into();
        self.is_silent.d.next = self.silent.read_data[0].val().get_bit(0);
        self.rings.queue.next = self.queue.q.val();

        // ... and of the slot.
        self.names.read_address[0].next = self.slot.q.val();
        self.name.d.next = self.names.read_data[0].val();
        self.results.read_address[0].next = self.slot.q.val();
        self.found_result.next = self.results.read_data[0].val();
        self.result.d.next = self.found_result.val();
        self.failed.d.next = self.found_result.val().get_bits::<8>(47).any();
        self.waits.read_address[0].next = self.slot.q.val();
        self.found_waiting.next = self.waits.read_data[0].val();
        self.waiting.d.next = self.found_waiting.val();
        self.waits_none.d.next = !self.found_waiting.val().any();
        self.waits_one.d.next = self.found_waiting.val() == 1;
        self.slot_next.read_address[0].next = self.slot.q.val();
        self.follower.d.next = self.slot_next.read_data[0].val();
        self.shown.next = !self.result.q.val().get_bit(56) && !self.is_silent.q.val();

        // The entry of the request at hand.
        self.write_addr.next = self.rings.addr.val();
        self.write_data.next = bit_cast::<256, 64>(self.name.q.val().get_bits::<64>(0))
            | (bit_cast::<256, 8>(self.name.q.val().get_bits::<8>(64)) << 128)
            | (bit_cast::<256, 8>(self.result.q.val().get_bits::<8>(47)) << 176);
        if self.failed.q.val() {
            self.write_data.next = self.write_data.val()
                | (bit_cast::<256, 7>(self.result.q.val().get_bits::<7>(40)) << 160);
        } else {
            self.write_data.next = self.write_data.val()
                | (bit_cast::<256, 40>(self.result.q.val().get_bits::<40>(0)) << 64);
        }
        if !self.rings.lap.val() {
            self.write_data.next = self.write_data.val() | self.phase.val();
        }

        // Defaults of the memories' writes.
        self.names.write_address.next = self.slot.q.val();
        self.names.write_data.next = bit_cast::<72, 64>(self.open_wr_id.val())
            | (bit_cast::<72, 8>(self.open_queue.val()) << 64);
        self.results.write_address.next = self.slot.q.val();
        self.results.write_data.next = self.result.q.val();
        self.waits.write_address.next = self.slot.q.val();
        self.waits.write_data.next = self.waiting.q.val() - 1;
        self.slot_next.write_address.next = self.queue_tail.val();
        self.slot_next.write_data.next = self.slot.q.val();
        self.queues.write_address.next = self.queue.q.val();
        self.queue_rest.next = (bit_cast::<17, 8>(self.queue_head.val()) << 8)
            | bit_cast::<17, 8>(self.slot.q.val())
            | self.queue_is_used.val();
        self.queues.write_data.next = self.queue_rest.val();
        self.slots.in_data.next = self.slot.q.val();
        self.done.in_data.next = self.slot.q.val();
        self.set_qp_error_index.next = self.qp.q.val();
        self.set_queue_halted_index.next = self.name.q.val().get_bits::<8>(64);
        self.pop_request.next = false;

        // An acknowledgement covers a packet up to its own number, a refusal those before it.
        self.since.next = self.psn.q.val() - self.packets.psn.val();
        self.covered.next =
            !self.since.val().get_bit(23) && (!self.refused.q.val() || self.since.val().any());
        self.new_status.next = self.result.q.val().get_bits::<8>(47);
        if !self.failed.q.val() {
            self.new_status.next = self.sent_status.val();
        }

        // The clock: every 1,024 cycles all queue pairs are looked at once, as there is time.
        self.clock.d.next = self.clock.q.val() + 1;
        if self.clock.q.val().get_bits::<10>(0) == 0x3ff {
            self.ticked.d.next = true;
        }

        match self.state.q.val() {
            CompletionState::Clear => {
                self.step.d.next = self.step.q.val() + 1;
                self.qp.d.next = self.qp.q.val() + 1;
                self.queue.d.next = self.queue.q.val() + 1;
                self.packets.clear.next = true;
                self.progress.forget.next = true;
                self.refused_pairs.write_enable.next = true;
                self.silent.write_enable.next = true;
                self.queues.write_enable.next = true;
                self.queues.write_data.next = 0.into();
                self.rings.restart_valid.next = true;
                if self.step.q.val() < 256 {
                    self.slots.in_valid.next = true;
                    self.slots.in_data.next = self.step.q.val().get_bits::<8>(0);
                }
                if self.step.q.val() == 1023 {
                    self.state.d.next = CompletionState::Wait;
                }
            }
            CompletionState::Wait => {
                self.turn.d.next = !self.turn.q.val();
                self.no_room.d.next = false;
                self.quiet.d.next = false;
                self.first.d.next = false;
                self.failing.d.next = false;
                self.qp.d.next = self.sent_qp.val();
                self.psn.d.next = self.sent_psn.val();
                self.syndrome.d.next = self.ack_syndrome.val();
                self.queue.d.next = self.open_queue.val();
                self.slot.d.next = self.sent_slot.val();
                self.written.d.next = self.events.out_data.val().get_bits::<2>(8);
                if self.events.out_valid.val() {
                    self.events.out_ready.next = true;
                    self.queue.d.next = self.events.out_data.val().get_bits::<8>(0);
                    self.qp.d.next = self.events.out_data.val().get_bits::<8>(0);
                    self.status.d.next = self.flush.val();
                    self.quiet.d.next = true;
                    self.event.d.next = CompletionEvent::Written;
                    self.state.d.next = CompletionState::Look;
                } else if self.sent_valid.val() && !self.no_room.q.val() {
                    self.event.d.next = CompletionEvent::Sent;
                    self.state.d.next = CompletionState::Look;
                } else if self.open_valid.val() {
                    self.slot.d.next = self.open_slot.val();
                    self.event.d.next = CompletionEvent::Opened;
                    self.state.d.next = CompletionState::Look;
                } else if self.ack_valid.val() && (self.turn.q.val() || !self.done.out_valid.val())
                {
                    self.ack_ready.next = true;
                    self.count_acks.next = true;
                    self.qp.d.next = self.ack_qp.val();
                    self.psn.d.next = self.ack_psn.val();
                    self.first.d.next = true;
                    self.event.d.next = CompletionEvent::Walk;
                    self.state.d.next = CompletionState::Look;
                } else if self.done.out_valid.val() {
                    self.done.out_ready.next = true;
                    self.slot.d.next = self.done.out_data.val();
                    self.event.d.next = CompletionEvent::Done;
                    self.state.d.next = CompletionState::Look;
                } else if self.ticked.q.val() {
                    self.watched.d.next = self.watched.q.val() + 1;
                    if self.watched.q.val() == 255 {
                        self.ticked.d.next = false;
                    }
                    self.qp.d.next = self.watched.q.val();
                    self.status.d.next = self.retry.val();
                    self.event.d.next = CompletionEvent::Tick;
                    self.state.d.next = CompletionState::Look;
                }
            }
            CompletionState::Look => {
                self.state.d.next = CompletionState::Act;
                if self.event.q.val() == CompletionEvent::Walk {
                    self.state.d.next = CompletionState::Walk;
                }
                if self.first.q.val() {
                    self.refused.d.next = self.verdict.refuses.val();
                    self.status.d.next = self.verdict.status.val();
                }
            }
            CompletionState::Act => {
                self.state.d.next = CompletionState::Wait;
                match self.event.q.val() {
                    CompletionEvent::Written => {
                        if self.written.q.val() == 0 {
                            self.refused_pairs.write_enable.next = true;
                            self.progress.forget.next = true;
                            self.failing.d.next = true;
                            self.event.d.next = CompletionEvent::Walk;
                            self.state.d.next = CompletionState::Walk;
                        }
                        if self.written.q.val() == 1 {
                            self.silent.write_enable.next = true;
                            self.slot.d.next = self.queue_head.val();
                            if self.queue_used.val() {
                                self.state.d.next = CompletionState::ForgetLook;
                            }
                        }
                        if self.written.q.val() == 2 {
                            self.rings.restart_valid.next = true;
                        }
                    }
                    CompletionEvent::Opened => {
                        self.open_ready.next = true;
                        self.open_count.d.next = self.open_count.q.val() + 1;
                        self.names.write_enable.next = true;
                        self.results.write_enable.next = true;
                        self.results.write_data.next = 0.into();
                        self.waits.write_enable.next = true;
                        self.waits.write_data.next = 0.into();
                        self.queues.write_enable.next = true;
                        if self.queue_used.val() {
                            self.slot_next.write_enable.next = true;
                        } else {
                            self.queues.write_data.next = (bit_cast::<17, 8>(self.slot.q.val())
                                << 8)
                                | bit_cast::<17, 8>(self.slot.q.val())
                                | self.queue_is_used.val();
                        }
                    }
                    CompletionEvent::Sent => {
                        if self.sent_kind.val() != 0 {
                            self.sent_ready.next = true;
                            self.results.write_enable.next = true;
                            self.results.write_data.next =
                                bit_cast::<58, 40>(self.sent_total.val())
                                    | (bit_cast::<58, 8>(self.new_status.val()) << 47)
                                    | self.ended.val()
                                    | (self.result.q.val() & self.forgotten.val());
                            if self.failed.q.val() {
                                self.results.write_data.next = self.results.write_data.val()
                                    | (bit_cast::<58, 7>(self.result.q.val().get_bits::<7>(40))
                                        << 40);
                            } else if self.sent_status.val().any() {
                                self.results.write_data.next = self.results.write_data.val()
                                    | (bit_cast::<58, 7>(self.sent_bad_dest.val()) << 40);
                            }
                            self.done.in_valid.next = self.waits_none.q.val();
                            self.set_queue_halted_valid.next =
                                self.new_status.val().any() && !self.result.q.val().get_bit(56);
                        } else if self.is_gone.q.val() {
                            self.sent_ready.next = true;
                            self.results.write_enable.next = !self.failed.q.val();
                            self.results.write_data.next = self.result.q.val()
                                | (bit_cast::<58, 8>(self.flush.val()) << 47)
                                | (bit_cast::<58, 7>(self.sent_bad_dest.val()) << 40);
                        } else if self.progress.early.val() {
                            // Acknowledged already.
                            self.sent_ready.next = true;
                        } else if self.is_refused.q.val() {
                            // Nobody will acknowledge it any more.
                            self.sent_ready.next = true;
                            self.results.write_enable.next = !self.failed.q.val();
                            self.results.write_data.next = self.result.q.val()
                                | (bit_cast::<58, 8>(self.awaited.q.val()) << 47)
                                | (bit_cast::<58, 7>(self.sent_bad_dest.val()) << 40);
                            self.pending.write_enable.next = !self.failed.q.val();
                            self.pending.write_data.next = self.flush.val();
                        } else if self.packets.room.val() {
                            self.sent_ready.next = true;
                            self.packets.push.next = true;
                            self.waits.write_enable.next = true;
                            self.waits.write_data.next = self.waiting.q.val() + 1;
                        } else {
                            self.no_room.d.next = true;
                        }
                    }
                    CompletionEvent::Done => {
                        self.queue.d.next = self.name.q.val().get_bits::<8>(64);
                        if !self.result.q.val().get_bit(56) {
                            self.state.d.next = CompletionState::Queue;
                        } else if !self.result.q.val().get_bit(57) {
                            // Forgotten: its queue does not know it any more. Freed once.
                            self.results.write_enable.next = true;
                            self.results.write_data.next = self.result.q.val() | self.freed.val();
                            self.slots.in_valid.next = true;
                            self.open_count.d.next = self.open_count.q.val() - 1;
                        }
                    }
                    CompletionEvent::Tick => {
                        self.packets.tick.next = self.packets.used.val();
                        if self.packets.used.val()
                            && self.timeout.val().any()
                            && (bit_cast::<32, 16>(self.packets.age.val()) >= self.timeout.val())
                        {
                            self.failing.d.next = true;
                            self.event.d.next = CompletionEvent::Walk;
                            self.state.d.next = CompletionState::Walk;
                        }
                    }
                    _ => {}
                }
            }
            CompletionState::Walk => {
                self.first.d.next = false;
                self.slot.d.next = self.packets.slot.val();
                self.state.d.next = CompletionState::Wait;
                if self.failing.q.val() {
                    self.set_qp_error_valid.next = !self.quiet.q.val();
                    self.refused_pairs.write_enable.next = !self.quiet.q.val();
                    self.refused_pairs.write_data.next = 1.into();
                    if self.packets.used.val() {
                        self.state.d.next = CompletionState::WalkLook;
                    } else {
                        self.pending.write_enable.next = true;
                    }
                } else if !self.first.q.val() || self.progress.genuine.val() {
                    self.progress.acknowledge.next = self.first.q.val();
                    if self.packets.used.val() && self.covered.val() {
                        self.state.d.next = CompletionState::WalkLook;
                    } else if self.refused.q.val() {
                        // What it refuses may not have come to its end.
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
                self.waits.write_enable.next = true;
                self.done.in_valid.next = self.waits_one.q.val() && self.result.q.val().get_bit(55);
                if self.failing.q.val() {
                    self.results.write_enable.next = !self.failed.q.val();
                    self.results.write_data.next = self.result.q.val()
                        | (bit_cast::<58, 8>(self.status.q.val()) << 47)
                        | (bit_cast::<58, 7>(self.packets.dest.val()) << 40);
                    self.set_queue_halted_valid.next =
                        !self.quiet.q.val() && !self.result.q.val().get_bit(56);
                    self.status.d.next = self.flush.val();
                }
                self.state.d.next = CompletionState::Look;
                if self.packets.lone.val() && !self.failing.q.val() && !self.refused.q.val() {
                    self.state.d.next = CompletionState::Wait;
                }
            }
            CompletionState::Queue => {
                self.state.d.next = CompletionState::Oldest;
            }
            CompletionState::Oldest => {
                self.slot.d.next = self.queue_head.val();
                self.state.d.next = CompletionState::Wait;
                if self.queue_used.val() {
                    self.state.d.next = CompletionState::OldestLook;
                }
            }
            CompletionState::OldestLook => {
                self.state.d.next = CompletionState::OldestAct;
            }
            CompletionState::OldestAct => {
                if !self.result.q.val().get_bit(55) || !self.waits_none.q.val() {
                    self.state.d.next = CompletionState::Wait;
                } else if !self.shown.val() {
                    self.pop_request.next = true;
                    self.state.d.next = CompletionState::Queue;
                } else if self.rings.full.val() {
                    // No room: later again, after others.
                    self.done.in_valid.next = true;
                    self.state.d.next = CompletionState::Wait;
                } else {
                    self.state.d.next = CompletionState::Complete;
                }
            }
            CompletionState::Complete => {
                self.write_valid.next = true;
                self.silent.write_data.next = 1.into();
                if self.write_ready.val() {
                    self.count_work_requests.next = true;
                    self.rings.advance.next = true;
                    self.pop_request.next = true;
                    self.silent.write_enable.next = self.failed.q.val();
                    self.state.d.next = CompletionState::Queue;
                }
            }
            CompletionState::ForgetLook => {
                self.state.d.next = CompletionState::Forget;
            }
            CompletionState::Forget => {
                self.results.write_enable.next = true;
                self.results.write_data.next = self.result.q.val() | self.forgotten.val();
                self.done.in_valid.next =
                    self.result.q.val().get_bit(55) && self.waits_none.q.val();
                self.slot.d.next = self.follower.q.val();
                self.state.d.next = CompletionState::ForgetLook;
                if self.slot.q.val() == self.queue_tail.val() {
                    self.queues.write_enable.next = true;
                    self.queues.write_data.next = 0.into();
                    self.state.d.next = CompletionState::Wait;
                }
            }
        }

        if self.pop_request.val() {
            self.slots.in_valid.next = true;
            self.open_count.d.next = self.open_count.q.val() - 1;
            self.queues.write_enable.next = true;
            self.queues.write_data.next = 0.into();
            if self.queue_head.val() != self.queue_tail.val() {
                self.queues.write_data.next = (bit_cast::<17, 8>(self.follower.q.val()) << 8)
                    | bit_cast::<17, 8>(self.queue_tail.val())
                    | self.queue_is_used.val();
            }
        }

        if self.rst.val() {
            self.state.d.next = CompletionState::Clear;
            self.step.d.next = 0.into();
            self.qp.d.next = 0.into();
            self.queue.d.next = 0.into();
            self.open_count.d.next = 0.into();
            self.clock.d.next = 0.into();
            self.ticked.d.next = false;
            self.watched.d.next = 0.into();
            self.turn.d.next = false;
            self.no_room.d.next = false;
        }
    }
}
