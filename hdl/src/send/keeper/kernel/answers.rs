//! Acknowledgements: their meaning, and the effects of one that ends more than the oldest packet.

use super::super::{FOR_EVER, Keeper, KeeperEvent, KeeperState, PAUSES};
use super::BAD;
use drdma_abi::roce::syndrome;
use drdma_emit::prelude::*;

impl Keeper {
    /// Decodes an acknowledgement.
    #[hdl_gen]
    pub(super) fn look_at_answer(&mut self) {
        self.is_ack.next =
            self.reply.val().syndrome.get_bits::<3>(5) == usize::from(syndrome::ACK >> 5).to_bits();
        self.is_rnr.next = self.reply.val().syndrome.get_bits::<3>(5)
            == usize::from(syndrome::RNR_NAK >> 5).to_bits();
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
            && (self.is_ack.val()
                || self.is_rnr.val()
                || self.is_sequence.val()
                || self.is_fatal.val());
        self.covers.next = !(self.walk_answer.q.val().psn - self.walk.q.val().oldest).get_bit(23)
            && (self.is_ack.val() || (self.walk_answer.q.val().psn != self.walk.q.val().oldest));
        // An acknowledgement of the oldest packet alone, of a list in its normal state.
        self.plain.next = self.is_ack.val()
            && !self.list.q.val().resending
            && !self.list.q.val().paused
            && !self.fresh.q.val()
            && (self.act_answer.q.val().psn == self.list.q.val().oldest);
        // The acknowledgement does not reach the end of the oldest packet.
        self.is_short.next = (self.walk_answer.q.val().psn - self.record.val().psn).get_bit(23);
        if self.record_reads.val() {
            self.is_short.next = (self.walk_answer.q.val().psn
                - self.record.val().imm.get_bits::<24>(0))
            .get_bit(23);
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
    }

    /// Takes the oldest packet from the list, if the acknowledgement reaches its end.
    #[hdl_gen]
    pub(super) fn release_oldest(&mut self) {
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

    /// Writes the list as it is after the acknowledgement, or at its end.
    #[hdl_gen]
    pub(super) fn conclude(&mut self) {
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
                self.after.next.waiting =
                    self.walk.q.val().waiting && !self.quiet.val() && self.still_asked.val();
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

            // A NAK that leads to another try acknowledges only the packets before it.
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
}
