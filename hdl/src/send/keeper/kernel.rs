//! The logic of the keeper.

use drdma_abi::roce::{operation, syndrome};
use drdma_emit::prelude::*;

use super::{
    CLOSED_READERS, FEW, FOR_EVER, Keeper, KeeperEvent, KeeperState, NEXT_TURN, PAUSES, PRESSED,
    TIME, TIMEOUT_UNIT, UNIT, UNITS,
};
use crate::context::QP;
use crate::receive::reads::BAD_RESPONSE;

/// Operations that are answered.
const READ_REQUEST: u64 = operation::READ_REQUEST as u64;
const COMPARE_AND_SWAP: u64 = operation::COMPARE_AND_SWAP as u64;
const FETCH_AND_ADD: u64 = operation::FETCH_AND_ADD as u64;

/// Syndrome that stands for an answer to a READ that is not what was asked for.
const BAD: u64 = BAD_RESPONSE as u64;

/// The last queue pair, whose entries are cleared last after a reset.
const LAST: u64 = (1 << QP) - 1;

impl Logic for Keeper {
    #[hdl_gen]
    #[rustfmt::skip]
    fn update(&mut self) {

        // What the host writes.
        self.unused.next = self.cfg.data.val();
        self.cfg.join(&mut self.policies.cfg);
        self.select.valid.next = self.cfg.valid.val();
        self.select.number.next = self.cfg.table.val();
        self.select.word.next = self.cfg.word.val();
        self.stamps.written.next = self.select.queue_pair.val();
        self.stamps.index.next = self.cfg.index.val().get_bits::<QP>(0);
        self.renewed.input.valid.next = self.select.state.val() && !self.select.every.val();
        self.renewed.input.data.next.qp = self.cfg.index.val().get_bits::<QP>(0);
        self.renewed.output.ready.next = !self.early.q.val();

        // Pages.
        self.done.join(&mut self.pages.done);
        self.pages.free.join(&mut self.free);
        self.pages.hold.valid.next = false;
        self.pages.hold.page.next = self.act_held.q.val().page;
        self.pages.release.valid.next = false;
        self.pages.release.page.next = self.at.q.val();
        self.pages.send.valid.next = false;
        self.pages.wipe.valid.next = self.state.q.val() == KeeperState::Clear;
        self.pages.wipe.page.next = self.sweep.q.val();
        self.sweep.d.next = self.sweep.q.val() + 1;
        self.pressed.d.next = self.kept.q.val() >= PRESSED;
        self.room.d.next = self.all_pages.val() - self.kept.q.val();

        // Time.
        self.clock.d.next = self.clock.q.val() + 1;
        self.now.next = self.clock.q.val().get_bits::<TIME>(UNIT);
        self.late.next = self.age.q.val() >> self.policy.q.val().timeout;
        self.overdue.next = self.list.q.val().waiting
            && self.policy.q.val().timeout.any()
            && (self.late.val() >> TIMEOUT_UNIT as u64).any();
        self.pause_over.next =
            self.list.q.val().paused && (self.left.q.val().get_bit(TIME - 1) || !self.left.q.val().any());

        // Streams.
        self.sends_roomy.next = self.items.free.val() >= 4;
        self.tells_roomy.next = self.tells.free.val() >= 4;
        self.packet.ready.next = false;
        self.response.ready.next = false;
        self.turns.output.ready.next = false;
        self.turns.input.valid.next = self.turn.q.val();
        self.turns.input.data.next.qp = self.turn_qp.q.val();
        self.turn.d.next = false;
        self.items.output.join(&mut self.shorten.item);
        self.shorten.out.join(&mut self.item);
        self.tells.output.join(&mut self.told);
        self.tells.input.valid.next = false;
        self.items.input.valid.next = false;
        self.sends.next = false;
        self.leaves.next = false;
        if self.recent.q.val().any() {
            self.recent.d.next = self.recent.q.val() - 1;
        }
        self.lists_wait.next = self.turns.output.valid.val() || self.recent.q.val().any();
        self.backed_up.next = self.lists_wait.val() && (self.sending.q.val() >= FEW);
        self.runs.next = self.state.q.val() == KeeperState::Run;

        // The event at hand: the one in the pipeline, or the one that takes longer.
        self.that.next = self.list.q.val();
        self.reply.next = self.act_answer.q.val();
        self.who.next = self.act_qp.q.val();
        if !self.runs.val() {
            self.that.next = self.walk.q.val();
            self.reply.next = self.walk_answer.q.val();
            self.who.next = self.walk_qp.q.val();
        }
        self.turn_qp.d.next = self.who.val();
        self.tells.input.data.next = self.reply.val();

        // What the tables hold of the queue pair of the chosen event.
        self.list_out.bits.next = self.lists.read_data.val();
        self.is_current.next = self.stamps.stamp[0].val() == self.held.q.val().total.get_bits::<32>(0);
        self.keeps.next = self.policies.policy.val().keeps && !self.quits.read_data.val().get_bit(0);

        // The packet of the queue pair's list that matters: the oldest one, or the one that is sent next.
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
        self.sent.next = self.act_held.q.val();
        self.sent_end.next = self.act_held.q.val().psn;
        if self.new_reads.val() {
            self.sent_end.next = self.act_held.q.val().imm.get_bits::<24>(0);
        }

        // What an acknowledgement means.
        self.is_ack.next =
            self.reply.val().syndrome.get_bits::<3>(5) == usize::from(syndrome::ACK >> 5).to_bits();
        self.is_rnr.next =
            self.reply.val().syndrome.get_bits::<3>(5) == usize::from(syndrome::RNR_NAK >> 5).to_bits();
        self.is_sequence.next = self.reply.val().syndrome == self.sequence_nak.val();
        // A wrong answer, as `receive::reads` reports it, is as final as a NAK.
        self.is_fatal.next = (!self.is_sequence.val()
            && (self.reply.val().syndrome.get_bits::<6>(2)
                == usize::from(syndrome::NAK_PSN >> 2).to_bits()))
            || (self.reply.val().syndrome == BAD);
        self.beyond.next = (self.list.q.val().newest - self.act_answer.q.val().psn).get_bit(23);
        // `beyond` and `awaited` are for the event in the pipeline; `covers` is for the one that takes longer.
        self.awaited.next = !(self.act_answer.q.val().psn - self.list.q.val().oldest).get_bit(23)
            && !self.beyond.val()
            && (self.is_ack.val() || self.is_rnr.val() || self.is_sequence.val() || self.is_fatal.val());
        self.covers.next = !(self.walk_answer.q.val().psn - self.walk.q.val().oldest).get_bit(23)
            && (self.is_ack.val() || (self.walk_answer.q.val().psn != self.walk.q.val().oldest));
        // An acknowledgement of the oldest packet alone, of a list in its normal state.
        self.plain.next = self.is_ack.val()
            && !self.list.q.val().resending
            && !self.list.q.val().paused
            && !self.fresh.q.val()
            && (self.act_answer.q.val().psn == self.list.q.val().oldest);
        // Whether the acknowledgement reaches the end of the oldest packet.
        self.is_short.next = (self.walk_answer.q.val().psn - self.record.val().psn).get_bit(23);
        if self.record_reads.val() {
            self.is_short.next =
                (self.walk_answer.q.val().psn - self.record.val().imm.get_bits::<24>(0)).get_bit(23);
        }
        self.ends_there.next = self.reply.val().psn == self.record.val().psn;
        if self.record_reads.val() {
            self.ends_there.next = self.reply.val().psn == self.record.val().imm.get_bits::<24>(0);
        }
        self.reaches.next = !self.is_short.val() && (self.is_ack.val() || !self.ends_there.val());
        self.still_asked.next = !(self.that.val().asked - self.that.val().oldest).get_bit(23);
        self.unsent.next = (self.walk.q.val().newest - self.walk.q.val().oldest).get_bit(23);
        self.quiet.next = !self.walk.q.val().used || self.unsent.val();
        self.first_time.next = (self.list.q.val().newest - self.record.val().psn).get_bit(23);
        self.retries.next = self.that.val().retries;
        self.rnr_retries.next = self.that.val().rnr_retries;
        if self.progressed.q.val() {
            self.retries.next = self.walk_retry_cnt.q.val();
            self.rnr_retries.next = self.walk_rnr_retry.q.val();
        }
        self.blocked.next = self.that.val().paused
            || (self.is_sequence.val() && self.that.val().retrying && !self.progressed.q.val());
        self.fails.next = self.is_fatal.val()
            || (!self.blocked.val()
                && ((self.is_sequence.val() && !self.retries.val().any())
                    || (self.is_rnr.val() && !self.rnr_retries.val().any())));
        self.goes_back.next = !self.is_ack.val() && !self.blocked.val() && !self.fails.val();
        // The pause of an event that takes longer, computed a cycle ahead.
        self.pause.next = 0.into();
        for k in 0..32 {
            if self.walk_answer.q.val().syndrome.get_bits::<5>(0) == k.to_bits() {
                self.pause.next = PAUSES[k].into();
            }
        }
        self.pause_end.d.next = self.now.val() + self.pause.val();

        self.after.next = self.that.val();
        self.writes.next = false;
        self.quit.next = false;
        self.quit_index.next = self.who.val();
        self.quit_data.next = 1.into();
        self.early_taken.next = false;

        // The event that was chosen goes to the third stage, with what was read for it.
        if self.runs.val() {
            self.act.d.next = self.look.q.val();
            self.act_event.d.next = self.event.q.val();
            self.act_qp.d.next = self.qp.q.val();
            self.act_held.d.next = self.held.q.val();
            self.act_answer.d.next = self.answer.q.val();
            self.act_carries.d.next = self.carries.q.val();
            self.age.d.next = self.now.val() - self.list_out.record.val().time;
            self.left.d.next = self.list_out.record.val().time - self.now.val();
            self.policy.d.next = self.policies.policy.val();
            self.is_limited.d.next = self.limited.val();
            self.fits.d.next = self.keeps.val()
                && ((self.event.q.val() != KeeperEvent::Packet) || self.is_current.val());
            self.walk.d.next = self.list.q.val();
            self.walk_event.d.next = self.act_event.q.val();
            self.walk_qp.d.next = self.act_qp.q.val();
            self.walk_answer.d.next = self.act_answer.q.val();
            self.walk_keeps.d.next = self.policy.q.val().keeps;
            self.walk_retry_cnt.d.next = self.policy.q.val().retry_cnt;
            self.walk_rnr_retry.d.next = self.policy.q.val().rnr_retry;
            self.progressed.d.next = false;
        }

        // An event takes effect.
        if self.runs.val() && self.act.q.val() {
            // A `sent` item goes along.
            self.items.input.valid.next = self.act_carries.q.val();
            match self.act_event.q.val() {
                KeeperEvent::Packet => {
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
                        if (self.new_waits.val() || self.list.q.val().paced)
                            && !self.list.q.val().resending
                        {
                            self.after.next.resending = true;
                            self.after.next.cursor = self.act_held.q.val().page;
                        }
                    } else {
                        // The packet passes as it is.
                        self.items.input.valid.next = true;
                        self.leaves.next = true;
                    }
                }
                KeeperEvent::Response => {
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
                KeeperEvent::Forget => {
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
                KeeperEvent::Go => {
                    self.writes.next = true;
                    self.after.next.paced = false;
                    if self.list.q.val().used && self.list.q.val().resending && !self.list.q.val().paused {
                        self.after.next.queued = true;
                        self.turn.d.next = !self.list.q.val().queued;
                    }
                }
                KeeperEvent::Resend => {
                    self.writes.next = true;
                    // The packet as it would be sent: whether it leaves is known later in the cycle.
                    self.sent.next = self.record.val();
                    self.sent_end.next = self.record_end.val();
                    self.sent.next.again = !self.first_time.val();
                    if !self.first_time.val()
                        && self.record_reads.val()
                    {
                        // A READ goes on behind the answers that have come.
                        self.sent.next.imm = 0.into();
                        if self.list.q.val().cursor == self.list.q.val().head {
                            self.sent.next.psn = self.list.q.val().oldest;
                            self.sent.next.imm = bit_cast::<32, 24>(
                                self.list.q.val().oldest - self.record.val().psn,
                            );
                        }
                    }
                    self.sent.next.late = true;
                    if self.list.q.val().used && self.list.q.val().resending && !self.list.q.val().paused {
                        self.turn.d.next = true;
                        if (self.first_time.val() && self.record_waits.val()) || self.list.q.val().paced {
                            // The packet waits for an answer, or for `go`. A packet that is under way is sent again
                            // when the packetizer has done with it.
                            self.after.next.queued = false;
                            self.turn.d.next = false;
                        } else if !self.pages.under_way.val() {
                            self.sends.next = true;
                            self.after.next.cursor = self.follower.val();
                            if self.list.q.val().cursor == self.list.q.val().tail {
                                self.after.next.resending = false;
                                self.after.next.queued = false;
                                self.turn.d.next = false;
                            }
                        }
                    } else {
                        self.after.next.queued = false;
                    }
                }
                KeeperEvent::Tick => {
                    // Whether the queue pair is held may have changed without an event of its own.
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
                KeeperEvent::Item => {}
            }
        }

        match self.state.q.val() {
            KeeperState::Clear => {
                if self.select.every.val() && (self.cfg.index.val() == LAST) {
                    self.state.d.next = KeeperState::Run;
                }
            }
            KeeperState::Run => {}
            KeeperState::Read => {
                self.state.d.next = KeeperState::Act;
                if (self.walk_event.q.val() != KeeperEvent::Forget) && !self.covers.val() {
                    self.state.d.next = KeeperState::Conclude;
                }
            }
            KeeperState::Act => {
                // The oldest packet leaves the list.
                self.state.d.next = KeeperState::Read;
                if (self.walk_event.q.val() != KeeperEvent::Forget) && !self.reaches.val() {
                    // The acknowledgement covers a part of a READ's answer.
                    self.progressed.d.next = true;
                    self.walk.d.next.oldest = self.reply.val().psn;
                    if self.is_ack.val() {
                        self.walk.d.next.oldest = self.reply.val().psn + 1;
                    }
                    self.state.d.next = KeeperState::Conclude;
                } else if self.pages.roomy.val() {
                    self.pages.release.valid.next = true;
                    if self.record_asks.val() {
                        self.walk.d.next.answers = self.walk.q.val().answers - 1;
                    }
                    self.progressed.d.next = true;
                    self.walk.d.next.head = self.follower.val();
                    self.walk.d.next.count = self.fewer_count.val();
                    self.walk.d.next.oldest = self.record_end.val() + 1;
                    if self.walk.q.val().cursor == self.walk.q.val().head {
                        self.walk.d.next.cursor = self.follower.val();
                    }
                    if self.alone.val() {
                        self.walk.d.next.used = false;
                        self.state.d.next = KeeperState::Conclude;
                    }
                }
            }
            KeeperState::Conclude => {
                self.state.d.next = KeeperState::Resume;
                self.writes.next = true;
                if self.walk_event.q.val() == KeeperEvent::Forget {
                    self.after.next.used = false;
                    self.after.next.silent = self.walk_keeps.q.val();
                    self.after.next.resending = false;
                    self.after.next.waiting = false;
                    self.after.next.paused = false;
                } else {
                    self.after.next.retries = self.retries.val();
                    self.after.next.rnr_retries = self.rnr_retries.val();
                    if !self.walk.q.val().used {
                        self.after.next.resending = false;
                    }
                    if self.progressed.q.val() {
                        // A packet that has waited for an answer may go on.
                        if self.walk.q.val().used
                            && self.walk.q.val().resending
                            && !self.walk.q.val().paused
                        {
                            self.after.next.queued = true;
                            self.turn.d.next = !self.walk.q.val().queued;
                        }
                        self.after.next.silent = false;
                        self.after.next.retrying = false;
                        self.after.next.waiting = self.walk.q.val().waiting
                            && !self.quiet.val()
                            && self.still_asked.val();
                        if self.walk.q.val().waiting {
                            self.after.next.time = self.now.val();
                        }
                        if self.quiet.val() {
                            self.after.next.paused = false;
                            if self.walk.q.val().used && self.walk.q.val().resending {
                                self.after.next.queued = true;
                                self.turn.d.next = !self.walk.q.val().queued;
                            }
                        }
                    }
                    if self.goes_back.val() {
                        self.after.next.retrying = true;
                        self.after.next.refused = self.is_sequence.val();
                        self.after.next.waiting = false;
                        self.after.next.resending = true;
                        self.after.next.cursor = self.walk.q.val().head;
                        if self.is_rnr.val() {
                            self.after.next.paused = true;
                            self.after.next.time = self.pause_end.q.val();
                            if self.rnr_retries.val() != FOR_EVER {
                                self.after.next.rnr_retries = self.rnr_retries.val() - 1;
                            }
                        } else {
                            self.after.next.retries = self.retries.val() - 1;
                            self.after.next.queued = true;
                            self.turn.d.next = !self.walk.q.val().queued;
                        }
                    }

                    // A NAK that leads to another try acknowledges what is before it, and no more.
                    self.tells.input.valid.next =
                        self.is_ack.val() || self.fails.val() || self.progressed.q.val();
                    if !self.is_ack.val() && !self.fails.val() {
                        self.tells.input.data.next.psn = self.walk_answer.q.val().psn - 1;
                        self.tells.input.data.next.syndrome = self.plain_ack.val();
                    }
                    if self.fails.val() {
                        self.quit.next = true;
                        self.walk_event.d.next = KeeperEvent::Forget;
                        self.walk_keeps.d.next = false;
                        self.state.d.next = KeeperState::Read;
                    }
                }
            }
            KeeperState::Resume => {
                // The event that waits in the pipeline gets its packet again.
                self.state.d.next = KeeperState::Run;
            }
        }

        // Choice of the next event, unless the list of its queue pair is about to change.
        self.due.next = self.events.q.val().all() && self.tells_roomy.val();
        self.leads.next = (self.event.q.val() == KeeperEvent::Packet)
            || (self.event.q.val() == KeeperEvent::Response);
        if self.runs.val() {
            self.held.d.next = self.packet.val();
            self.answer.d.next = self.response.val();
            self.carries.d.next = false;
            self.look.d.next = false;
            self.follows.d.next = false;
            self.event.d.next = KeeperEvent::Item;
            if !self.events.q.val().all() {
                self.events.d.next = self.events.q.val() + 1;
            }
            if self.early.q.val() && !(self.look.q.val() && (self.qp.q.val() == self.early_qp.q.val())) {
                self.early_taken.next = true;
                self.qp.d.next = self.early_qp.q.val();
                self.event.d.next = self.early_event.q.val();
                self.look.d.next = true;
            } else if self.response.valid.val()
                && self.tells_roomy.val()
                && self.pages.roomy.val()
                && !self.due.val()
                && !(self.look.q.val() && !self.leads.val() && (self.qp.q.val() == self.response.qp.val()))
            {
                self.follows.d.next =
                    self.look.q.val() && (self.qp.q.val() == self.response.qp.val());
                self.response.ready.next = true;
                self.qp.d.next = self.response.qp.val();
                self.event.d.next = KeeperEvent::Response;
                self.look.d.next = true;
            } else if self.turns.output.valid.val()
                && self.sends_roomy.val()
                && !self.backed_up.val()
                && !self.due.val()
                && (self.was_new.q.val() || !self.packet.valid.val())
                && !(self.look.q.val() && (self.qp.q.val() == self.turns.output.data.val().qp))
            {
                self.turns.output.ready.next = true;
                self.recent.d.next = NEXT_TURN.into();
                self.was_new.d.next = false;
                self.qp.d.next = self.turns.output.data.val().qp;
                self.event.d.next = KeeperEvent::Resend;
                self.look.d.next = true;
            } else if self.packet.valid.val()
                && !self.packet.marker.val()
                && self.sends_roomy.val()
                && !self.backed_up.val()
                && !(self.lists_wait.val() && self.was_new.q.val())
                && !self.due.val()
                && !(self.look.q.val() && !self.leads.val() && (self.qp.q.val() == self.packet.qp.val()))
            {
                self.follows.d.next =
                    self.look.q.val() && (self.qp.q.val() == self.packet.qp.val());
                self.packet.ready.next = true;
                self.was_new.d.next = true;
                self.qp.d.next = self.packet.qp.val();
                self.event.d.next = KeeperEvent::Packet;
                self.look.d.next = true;
            } else if self.tells_roomy.val()
                && !(self.look.q.val() && (self.qp.q.val() == self.watched.q.val()))
            {
                self.qp.d.next = self.watched.q.val();
                self.watched.d.next = self.watched.q.val() + 1;
                self.events.d.next = 0.into();
                self.event.d.next = KeeperEvent::Tick;
                self.look.d.next = true;
            }
            // A `sent` item goes along with an event that sends nothing itself.
            if self.packet.valid.val()
                && self.packet.marker.val()
                && self.sends_roomy.val()
                && (self.event.d.val() != KeeperEvent::Resend)
            {
                self.packet.ready.next = true;
                self.was_new.d.next = true;
                self.carries.d.next = true;
                self.look.d.next = true;
            }
        }

        // The event that has priority waits in a register, which is filled when it is empty.
        self.go.ready.next = !self.early.q.val() && !self.renewed.output.valid.val();
        if self.early_taken.val() {
            self.early.d.next = false;
        }
        if !self.early.q.val() {
            self.early.d.next = self.renewed.output.valid.val() || self.go.valid.val();
            self.early_event.d.next = KeeperEvent::Go;
            self.early_qp.d.next = self.go.qp.val();
            if self.renewed.output.valid.val() {
                self.early_event.d.next = KeeperEvent::Forget;
                self.early_qp.d.next = self.renewed.output.data.val().qp;
            }
        }

        // A packet of a queue pair that keeps is sent.
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
        self.pacer_packet.d.next.units = bit_cast::<UNITS, 7>(self.sent.val().bytes.get_bits::<7>(6)) + 2;
        self.paced.valid.next = self.tells_pacer.q.val();
        self.paced.next = self.pacer_packet.q.val();
        if self.sends.val() {
            self.items.input.valid.next = true;
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
        self.items.input.data.next = self.sent.val();
        if self.leaves.val() && !self.done.valid.val() {
            self.sending.d.next = self.sending.q.val() + 1;
        } else if self.done.valid.val() && !self.leaves.val() && self.sending.q.val().any() {
            self.sending.d.next = self.sending.q.val() - 1;
        }
        if self.pages.hold.valid.val() {
            self.kept.d.next = self.kept.q.val() + 1;
        } else if self.pages.release.valid.val() {
            self.kept.d.next = self.kept.q.val() - 1;
        }

        // Whether new requests of the queue pair are held back. A peer that has just sent a NAK is there.
        if self.writes.val() {
            self.after.next.held = self.after.val().used
                && (self.crowded.val()
                    || (self.after.val().retrying && !self.after.val().refused)
                    || self.after.val().paused
                    || (self.that.val().limited && self.after.val().resending));
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

        // The page that the chosen event needs. What is written in the same cycle is not read.
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

        // The list is written.
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

        if self.rst.val() {
            self.state.d.next = KeeperState::Clear;
            self.event.d.next = KeeperEvent::Item;
            self.look.d.next = false;
            self.turn.d.next = false;
            self.follows.d.next = false;
            self.linked.d.next = false;
            self.fresh.d.next = false;
            self.early.d.next = false;
            self.tells_pacer.d.next = false;
            self.act.d.next = false;
            self.sweep.d.next = 0.into();
            self.kept.d.next = 0.into();
            self.sending.d.next = 0.into();
            self.recent.d.next = 0.into();
            self.pressed.d.next = false;
            self.wrote.d.next = false;
            self.clock.d.next = 0.into();
            self.watched.d.next = 0.into();
            self.was_new.d.next = false;
            self.events.d.next = 0.into();
        }

        // The tables are addressed for the next cycle.
        self.lists.ahead.next = self.qp.d.val();
        self.policies.next_qp.next = self.qp.d.val();
        self.stamps.ahead[0].next = self.qp.d.val();
        self.quits.ahead.next = self.qp.d.val();
        self.limited_next.next = self.qp.d.val();
        for k in 0..CLOSED_READERS {
            self.quits_copies[k].ahead.next = self.closed_next[k].val();
            self.closed[k].next = self.quits_copies[k].read_data.val().get_bit(0);
        }
    }
}
