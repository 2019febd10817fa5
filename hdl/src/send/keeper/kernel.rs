//! What the keeper does in every cycle.

use drdma_abi::roce::syndrome;
use drdma_emit::prelude::*;

use super::{FOR_EVER, Keeper, KeeperEvent, KeeperState, PAUSES, TIME, TIMEOUT_UNIT, UNIT};
use crate::context::QP;

/// The last entry of the tables that are cleared after a reset.
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
        self.renewed.output.ready.next = false;

        // Pages.
        self.done.join(&mut self.pages.done);
        self.pages.free.join(&mut self.free);
        self.pages.hold.valid.next = false;
        self.pages.hold.page.next = self.held.q.val().page;
        self.pages.release.valid.next = false;
        self.pages.release.page.next = self.at.q.val();
        self.pages.send.valid.next = false;
        self.pages.wipe.valid.next = self.state.q.val() == KeeperState::Clear;
        self.pages.wipe.page.next = self.sweep.q.val();
        self.sweep.d.next = self.sweep.q.val() + 1;

        // Time.
        self.clock.d.next = self.clock.q.val() + 1;
        self.now.next = self.clock.q.val().get_bits::<TIME>(UNIT);
        self.age.next = self.now.val() - self.list.q.val().time;
        self.late.next = self.age.val() >> self.policy.q.val().timeout;
        self.overdue.next = self.list.q.val().waiting
            && self.policy.q.val().timeout.any()
            && (self.late.val() >> TIMEOUT_UNIT as u64).any();
        self.left.next = self.list.q.val().time - self.now.val();
        self.pause_over.next =
            self.list.q.val().paused && (self.left.val().get_bit(TIME - 1) || !self.left.val().any());

        // Streams.
        self.sends_roomy.next = self.items.free.val() >= 4;
        self.tells_roomy.next = self.tells.free.val() >= 2;
        self.packet.ready.next = false;
        self.response.ready.next = false;
        self.broken.ready.next = false;
        self.turns.output.ready.next = false;
        self.turns.input.valid.next = false;
        self.turns.input.data.next.qp = self.qp.q.val();
        self.items.output.join(&mut self.item);
        self.tells.output.join(&mut self.told);
        self.tells.input.valid.next = false;
        self.tells.input.data.next = self.answer.q.val();
        self.items.input.valid.next = false;
        self.sent.next = self.held.q.val();
        self.sends.next = false;

        // What the tables say of the queue pair at hand.
        self.list_out.bits.next = self.lists.read_data.val();
        self.is_current.next = self.stamps.stamp[0].val() == self.held.q.val().total.get_bits::<32>(0);
        self.keeps.next = self.policies.policy.val().keeps && !self.qp_error.val();

        // The packet of the list that is at hand.
        self.wanted.next = self.list.q.val().head;
        if self.event.q.val() == KeeperEvent::Resend {
            self.wanted.next = self.list.q.val().cursor;
        }
        self.records.read_enable.next = true;
        self.records.read_address.next = self.wanted.val();
        self.followers.read_enable.next = true;
        self.followers.read_address.next = self.wanted.val();
        self.pages.ahead.next = self.wanted.val();
        self.at.d.next = self.wanted.val();
        self.record_out.bits.next = self.records.read_data.val();
        self.record.next = self.record_out.record.val();
        self.records.write_lanes.next = 0.into();
        self.records.write_address.next = self.held.q.val().page;
        self.record_in.record.next = self.held.q.val();
        self.records.write_data.next = self.record_in.bits.val();
        self.followers.write_lanes.next = 0.into();
        self.followers.write_address.next = self.list.q.val().tail;
        self.followers.write_data.next = self.held.q.val().page;
        self.alone.next = self.list.q.val().head == self.list.q.val().tail;

        // What an acknowledgement means.
        self.is_ack.next =
            self.answer.q.val().syndrome.get_bits::<3>(5) == usize::from(syndrome::ACK >> 5).to_bits();
        self.is_rnr.next =
            self.answer.q.val().syndrome.get_bits::<3>(5) == usize::from(syndrome::RNR_NAK >> 5).to_bits();
        self.is_sequence.next = self.answer.q.val().syndrome == self.sequence_nak.val();
        self.is_fatal.next = !self.is_sequence.val()
            && (self.answer.q.val().syndrome.get_bits::<6>(2) == usize::from(syndrome::NAK_PSN >> 2).to_bits());
        self.since.next = self.answer.q.val().psn - self.record.val().psn;
        self.beyond.next = (self.list.q.val().newest - self.answer.q.val().psn).get_bit(23);
        self.awaited.next = !self.since.val().get_bit(23)
            && !self.beyond.val()
            && (self.is_ack.val() || self.is_rnr.val() || self.is_sequence.val() || self.is_fatal.val());
        self.covers.next = !self.since.val().get_bit(23) && (self.is_ack.val() || self.since.val().any());
        self.still_asked.next = !(self.list.q.val().asked - self.oldest.q.val()).get_bit(23);
        self.unsent.next = (self.list.q.val().newest - self.oldest.q.val()).get_bit(23);
        self.quiet.next = !self.list.q.val().used || self.unsent.val();
        self.first_time.next = (self.list.q.val().newest - self.record.val().psn).get_bit(23);
        self.retries.next = self.list.q.val().retries;
        self.rnr_retries.next = self.list.q.val().rnr_retries;
        if self.progressed.q.val() {
            self.retries.next = self.policy.q.val().retry_cnt;
            self.rnr_retries.next = self.policy.q.val().rnr_retry;
        }
        self.blocked.next = self.list.q.val().paused
            || (self.is_sequence.val() && self.list.q.val().retrying && !self.progressed.q.val());
        self.fails.next = self.is_fatal.val()
            || (!self.blocked.val()
                && ((self.is_sequence.val() && !self.retries.val().any())
                    || (self.is_rnr.val() && !self.rnr_retries.val().any())));
        self.goes_back.next = !self.is_ack.val() && !self.blocked.val() && !self.fails.val();
        self.pause.next = 0.into();
        for k in 0..32 {
            if self.answer.q.val().syndrome.get_bits::<5>(0) == k.to_bits() {
                self.pause.next = PAUSES[k].into();
            }
        }

        self.after.next = self.list.q.val();
        self.writes.next = false;

        match self.state.q.val() {
            KeeperState::Clear => {
                if self.select.every.val() && (self.cfg.index.val() == LAST) {
                    self.state.d.next = KeeperState::Choose;
                }
            }
            KeeperState::Choose => {
                self.begun.d.next = false;
                self.progressed.d.next = false;
                self.held.d.next = self.packet.val();
                self.answer.d.next = self.response.val();
                if !self.events.q.val().all() {
                    self.events.d.next = self.events.q.val() + 1;
                }
                if self.renewed.output.valid.val() {
                    self.renewed.output.ready.next = true;
                    self.qp.d.next = self.renewed.output.data.val().qp;
                    self.event.d.next = KeeperEvent::Forget;
                    self.state.d.next = KeeperState::Look;
                } else if self.broken.valid.val() {
                    self.broken.ready.next = true;
                    self.qp.d.next = self.broken.qp.val();
                    self.event.d.next = KeeperEvent::Forget;
                    self.state.d.next = KeeperState::Look;
                } else if self.response.valid.val() && self.tells_roomy.val() && !self.events.q.val().all() {
                    self.response.ready.next = true;
                    self.qp.d.next = self.response.qp.val();
                    self.event.d.next = KeeperEvent::Response;
                    self.state.d.next = KeeperState::Look;
                } else if self.turns.output.valid.val()
                    && self.sends_roomy.val()
                    && !self.events.q.val().all()
                    && (self.was_new.q.val() || !self.packet.valid.val())
                {
                    self.turns.output.ready.next = true;
                    self.was_new.d.next = false;
                    self.qp.d.next = self.turns.output.data.val().qp;
                    self.event.d.next = KeeperEvent::Resend;
                    self.state.d.next = KeeperState::Look;
                } else if self.packet.valid.val() && self.sends_roomy.val() && !self.events.q.val().all() {
                    self.packet.ready.next = true;
                    self.qp.d.next = self.packet.qp.val();
                    self.event.d.next = KeeperEvent::Packet;
                    if self.packet.marker.val() {
                        self.items.input.valid.next = true;
                        self.sent.next = self.packet.val();
                    } else {
                        self.was_new.d.next = true;
                        self.state.d.next = KeeperState::Look;
                    }
                } else if self.tells_roomy.val() {
                    self.qp.d.next = self.watched.q.val();
                    self.watched.d.next = self.watched.q.val() + 1;
                    self.events.d.next = 0.into();
                    self.event.d.next = KeeperEvent::Tick;
                    self.state.d.next = KeeperState::Look;
                }
            }
            KeeperState::Look => {
                self.list.d.next = self.list_out.record.val();
                self.policy.d.next = self.policies.policy.val();
                self.fits.d.next = self.keeps.val();
                self.state.d.next = KeeperState::Decide;
                if (self.event.q.val() == KeeperEvent::Packet) && !(self.keeps.val() && self.is_current.val()) {
                    // As it is.
                    self.items.input.valid.next = true;
                    self.state.d.next = KeeperState::Choose;
                }
            }
            KeeperState::Decide => {
                self.state.d.next = KeeperState::Choose;
                match self.event.q.val() {
                    KeeperEvent::Packet => {
                        self.records.write_lanes.next = 1.into();
                        self.pages.hold.valid.next = true;
                        self.writes.next = true;
                        self.after.next.used = true;
                        self.after.next.tail = self.held.q.val().page;
                        if self.list.q.val().used {
                            self.followers.write_lanes.next = 1.into();
                        } else {
                            self.after.next.head = self.held.q.val().page;
                            self.after.next.newest = self.held.q.val().psn;
                            self.after.next.retrying = false;
                            self.after.next.retries = self.policy.q.val().retry_cnt;
                            self.after.next.rnr_retries = self.policy.q.val().rnr_retry;
                        }
                        // While packets are sent again it waits for its turn.
                        self.sends.next = !self.list.q.val().used || !self.list.q.val().resending;
                    }
                    KeeperEvent::Response => {
                        if !self.fits.q.val() {
                            self.tells.input.valid.next = true;
                        } else if self.list.q.val().used {
                            self.state.d.next = KeeperState::Act;
                        }
                    }
                    KeeperEvent::Forget => {
                        if self.list.q.val().used {
                            self.state.d.next = KeeperState::Act;
                        } else {
                            self.state.d.next = KeeperState::Conclude;
                        }
                    }
                    KeeperEvent::Resend => {
                        if self.list.q.val().used && self.list.q.val().resending && !self.list.q.val().paused {
                            self.state.d.next = KeeperState::Act;
                        } else {
                            self.writes.next = true;
                            self.after.next.queued = false;
                        }
                    }
                    KeeperEvent::Tick => {
                        if self.list.q.val().used && self.pause_over.val() {
                            self.writes.next = true;
                            self.after.next.paused = false;
                            self.after.next.queued = true;
                            self.turns.input.valid.next = !self.list.q.val().queued;
                        } else if self.list.q.val().used && self.overdue.val() {
                            if self.list.q.val().retries.any() {
                                self.writes.next = true;
                                self.after.next.retries = self.list.q.val().retries - 1;
                                self.after.next.retrying = true;
                                self.after.next.waiting = false;
                                self.after.next.resending = true;
                                self.after.next.cursor = self.list.q.val().head;
                                self.after.next.queued = true;
                                self.turns.input.valid.next = !self.list.q.val().queued;
                            } else {
                                self.state.d.next = KeeperState::Act;
                            }
                        }
                    }
                }
            }
            KeeperState::Read => {
                self.state.d.next = KeeperState::Act;
            }
            KeeperState::Act => {
                match self.event.q.val() {
                    KeeperEvent::Response => {
                        self.begun.d.next = true;
                        self.oldest.d.next = self.record.val().psn;
                        if !self.begun.q.val() && !self.awaited.val() {
                            self.state.d.next = KeeperState::Choose;
                        } else if !self.covers.val() {
                            self.state.d.next = KeeperState::Conclude;
                        } else if self.pages.roomy.val() {
                            self.pages.release.valid.next = true;
                            self.progressed.d.next = true;
                            self.list.d.next.head = self.followers.read_data.val();
                            if self.list.q.val().cursor == self.list.q.val().head {
                                self.list.d.next.cursor = self.followers.read_data.val();
                            }
                            self.state.d.next = KeeperState::Read;
                            if self.alone.val() {
                                self.list.d.next.used = false;
                                self.state.d.next = KeeperState::Conclude;
                            }
                        } else {
                            self.state.d.next = KeeperState::Read;
                        }
                    }
                    KeeperEvent::Resend => {
                        self.writes.next = true;
                        self.state.d.next = KeeperState::Choose;
                        self.turns.input.valid.next = true;
                        // What is under way is sent again when the packetizer has done with it.
                        if !self.pages.under_way.val() {
                            self.sent.next = self.record.val();
                            self.sent.next.again = !self.first_time.val();
                            self.sent.next.late = true;
                            self.sends.next = true;
                            self.after.next.cursor = self.followers.read_data.val();
                            if self.list.q.val().cursor == self.list.q.val().tail {
                                self.after.next.resending = false;
                                self.after.next.queued = false;
                                self.turns.input.valid.next = false;
                            }
                        }
                    }
                    KeeperEvent::Tick => {
                        // The last try.
                        self.tells.input.valid.next = true;
                        self.tells.input.data.next.qp = self.qp.q.val();
                        self.tells.input.data.next.psn = self.record.val().psn;
                        self.tells.input.data.next.syndrome = self.sequence_nak.val();
                        self.event.d.next = KeeperEvent::Forget;
                        self.state.d.next = KeeperState::Read;
                    }
                    KeeperEvent::Packet => {
                        self.state.d.next = KeeperState::Choose;
                    }
                    KeeperEvent::Forget => {
                        self.state.d.next = KeeperState::Read;
                        if self.pages.roomy.val() {
                            self.pages.release.valid.next = true;
                            self.list.d.next.head = self.followers.read_data.val();
                            if self.alone.val() {
                                self.state.d.next = KeeperState::Conclude;
                            }
                        }
                    }
                }
            }
            KeeperState::Conclude => {
                self.state.d.next = KeeperState::Choose;
                self.writes.next = true;
                if self.event.q.val() == KeeperEvent::Forget {
                    self.after.next.used = false;
                    self.after.next.resending = false;
                    self.after.next.waiting = false;
                    self.after.next.paused = false;
                } else {
                    self.after.next.retries = self.retries.val();
                    self.after.next.rnr_retries = self.rnr_retries.val();
                    if !self.list.q.val().used {
                        self.after.next.resending = false;
                    }
                    if self.progressed.q.val() {
                        self.after.next.retrying = false;
                        self.after.next.waiting = self.list.q.val().waiting
                            && !self.quiet.val()
                            && self.still_asked.val();
                        if self.list.q.val().waiting {
                            self.after.next.time = self.now.val();
                        }
                        if self.quiet.val() {
                            self.after.next.paused = false;
                            if self.list.q.val().used && self.list.q.val().resending {
                                self.after.next.queued = true;
                                self.turns.input.valid.next = !self.list.q.val().queued;
                            }
                        }
                    }
                    if self.goes_back.val() {
                        self.after.next.retrying = true;
                        self.after.next.waiting = false;
                        self.after.next.resending = true;
                        self.after.next.cursor = self.list.q.val().head;
                        if self.is_rnr.val() {
                            self.after.next.paused = true;
                            self.after.next.time = self.now.val() + self.pause.val();
                            if self.rnr_retries.val() != FOR_EVER {
                                self.after.next.rnr_retries = self.rnr_retries.val() - 1;
                            }
                        } else {
                            self.after.next.retries = self.retries.val() - 1;
                            self.after.next.queued = true;
                            self.turns.input.valid.next = !self.list.q.val().queued;
                        }
                    }

                    // A NAK that leads to another try acknowledges what is before it, and no more.
                    self.tells.input.valid.next =
                        self.is_ack.val() || self.fails.val() || self.progressed.q.val();
                    if !self.is_ack.val() && !self.fails.val() {
                        self.tells.input.data.next.psn = self.answer.q.val().psn - 1;
                        self.tells.input.data.next.syndrome = self.plain_ack.val();
                    }
                    if self.fails.val() {
                        self.event.d.next = KeeperEvent::Forget;
                        self.state.d.next = KeeperState::Read;
                    }
                }
            }
        }

        // A packet goes out.
        self.is_older.next = (self.sent.val().psn - self.after.val().newest).get_bit(23);
        if self.sends.val() {
            self.items.input.valid.next = true;
            self.pages.send.valid.next = true;
            if !self.is_older.val() {
                self.after.next.newest = self.sent.val().psn;
            }
            if self.sent.val().ack_req {
                self.after.next.asked = self.sent.val().psn;
                self.after.next.waiting = true;
                if !self.list.q.val().waiting {
                    self.after.next.time = self.now.val();
                }
            }
        }
        self.pages.send.page.next = self.sent.val().page;
        self.items.input.data.next = self.sent.val();

        // The list becomes what it becomes.
        self.list_in.record.next = self.after.val();
        self.lists.write_enable.next = self.writes.val();
        self.lists.write_address.next = self.qp.q.val();
        self.lists.write_data.next = self.list_in.bits.val();
        if self.select.every.val() {
            self.lists.write_enable.next = true;
            self.lists.write_address.next = self.cfg.index.val().get_bits::<QP>(0);
            self.lists.write_data.next = 0.into();
        }

        if self.rst.val() {
            self.state.d.next = KeeperState::Clear;
            self.event.d.next = KeeperEvent::Packet;
            self.sweep.d.next = 0.into();
            self.clock.d.next = 0.into();
            self.watched.d.next = 0.into();
            self.was_new.d.next = false;
            self.events.d.next = 0.into();
        }

        // What the tables are asked for the next cycle.
        self.lists.ahead.next = self.qp.d.val();
        self.policies.next_qp.next = self.qp.d.val();
        self.stamps.ahead[0].next = self.qp.d.val();
        self.error_next.next = self.qp.d.val();
    }
}
