//! Packets of a reply: their keys and bytes.

use super::super::{ASKED, Fetcher, FetcherState};
use crate::context::QP;
use drdma_emit::prelude::*;

impl Fetcher {
    /// The packet's key, and whether the queue pair's entry is still the one of the reply.
    #[hdl_gen]
    pub(super) fn check_key(&mut self) {
        self.cfg.join(&mut self.keys.cfg);
        self.keys.key.next = self.at.val().rkey;
        self.keys.pd.next = self.at.val().pd;
        self.keys.addr.next = self.addr.q.val();
        self.keys.bytes.next = bit_cast::<64, 13>(self.bytes.q.val());
        self.keys.revoke_valid.next = false;
        self.keys.revoke_index.next = 0.into();
        self.allowed.d.next = self.keys.readable.val();
        if self.at.val().atomic {
            self.allowed.d.next = self.keys.changeable.val();
        }
        self.described.d.next = self.keys.described.val();
        self.region.d.next = self.keys.region.val();
        self.unused.next = self.keys.revoke_ready.val()
            || self.keys.writable.val()
            || self.keys.revocable.val()
            || self.keys.covers.val()
            || self.keys.fillable.val();
        self.select.valid.next = self.cfg.valid.val();
        self.select.number.next = self.cfg.table.val();
        self.select.word.next = self.cfg.word.val();
        self.stamps.written.next = self.select.queue_pair.val();
        self.stamps.index.next = self.cfg.index.val().get_bits::<QP>(0);
        self.stamps.ahead[0].next = self.at.val().qp;
        if (self.stamps.stamp[0].val() != self.at.val().stamp)
            || (self.broken.valid.val()
                && (self.broken.qp.val() == self.at.val().qp)
                && (self.broken.stamp.val() == self.at.val().stamp))
        {
            self.stale.d.next = true;
        }
    }

    /// Bytes of the packet, and the question whether an atomic is under way there.
    #[hdl_gen]
    pub(super) fn cut_packet(&mut self) {
        self.mtu.next = bit_cast::<13, 1>(1.into()) << self.at.val().log_mtu;
        self.cut_last.next = self.left.q.val() <= bit_cast::<32, 13>(self.mtu.val());
        self.cut_bytes.next = self.mtu.val();
        if self.cut_last.val() {
            self.cut_bytes.next = self.left.q.val().get_bits::<13>(0);
        }
        self.ask_addr.next = self.addr.q.val();
        self.ask_bytes.next = self.bytes.q.val();
        // The addresses of the bytes of a described region are not known here.
        self.ask_all.next = self.described.q.val();
        self.asked.d.next = 0.into();
        if self.state.q.val() == FetcherState::Plan {
            self.asked.d.next = self.asked.q.val();
            if self.asked.q.val() != ASKED {
                self.asked.d.next = self.asked.q.val() + 1;
            }
        }
    }

    /// What becomes of the packet.
    #[hdl_gen]
    pub(super) fn judge_packet(&mut self) {
        // Once offered, a packet is not withdrawn.
        self.drops.next = self.stale.q.val()
            && (self.at.val().reads || self.at.val().atomic)
            && !self.decided.q.val();
        self.reads.next = (self.at.val().reads || self.at.val().atomic)
            && self.bytes.q.val().any()
            && !self.drops.val();
        self.refused.next = self.reads.val() && !self.allowed.q.val() && !self.decided.q.val();
        self.paged.next = (self.reads.val() && !self.refused.val())
            || (self.at.val().atomic && self.at.val().again && !self.drops.val());
        self.hands.next = self.at.val().atomic && self.before.valid.val();
        self.from.next = self.before.slot.val();
        if self.decided.q.val() {
            self.hands.next = self.handed.q.val();
            self.from.next = self.handed_from.q.val();
        }
        self.handed.d.next = self.hands.val();
        self.handed_from.d.next = self.from.val();
        self.waits.next = self.reads.val()
            && ((self.described.q.val() && (self.asked.q.val() != ASKED))
                || (self.at.val().atomic && self.same_word.val() && !self.hands.val())
                || (self.at.val().reads && self.same_page.val()));
    }

    /// Takes a reply.
    #[hdl_gen]
    pub(super) fn take_reply(&mut self) {
        self.held.d.next = self.waiting.val();
        self.addr.d.next = self.waiting.addr.val();
        self.left.d.next = self.waiting.len.val();
        self.psn.d.next = self.waiting.psn.val();
        self.first.d.next = true;
        self.last.d.next = true;
        self.bytes.d.next = 0.into();
        if self.waiting.valid.val() {
            self.state.d.next = FetcherState::Look;
        }
    }
}
