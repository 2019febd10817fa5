//! Beats of frames.

use super::super::judge::COMMON;
use super::super::places::LONGEST_FRAME;
use super::super::{BEAT, BYTE, FAR, LINK_LESS_ONE, LINK_TAGGED_LESS_ONE, NETWORK, Parser};
use crate::receive::record::FRAME_WORDS;
use drdma_emit::prelude::*;

impl Parser {
    /// Fields of a frame's first two beats that later beats need.
    #[hdl_gen]
    pub(super) fn keep_fields(&mut self) {
        self.here.d.next = self.gate.own.valid.val();
        self.gate.own.share(&mut self.own.d);
        self.length.received.next = self.gate.own.headers.val().get_bits::<NETWORK>(0);
        if self.gate.own.valid.val() {
            if self.index.q.val() == 0 {
                self.second.d.next = self.gate.own.data.val().get_bits::<FAR>(0);
            }
            if !self.index.q.val().all() {
                self.index.d.next = self.index.q.val() + 1;
            }
            if self.gate.own.first.val() {
                self.index.d.next = 0.into();
                self.has_tag.d.next = self.gate.own.tagged.val();
                self.vlan.d.next = self.gate.own.vlan.val();
                self.headers.d.next = self.gate.own.headers.val();
                self.admitted.d.next =
                    self.places.roomy.val() && self.packets.roomy.val() && self.acks_roomy.val();
                self.qp.d.next = self.gate.own.qp.val();
                self.member.d.next = self.gate.own.member.val();
                self.end.d.next =
                    bit_cast::<BYTE, 16>(self.length.total_length.val()) + LINK_LESS_ONE;
                if self.gate.own.tagged.val() {
                    self.end.d.next =
                        bit_cast::<BYTE, 16>(self.length.total_length.val()) + LINK_TAGGED_LESS_ONE;
                }
            }
        }
    }

    /// Words go to the store up to the end of the longest payload.
    #[hdl_gen]
    pub(super) fn store_words(&mut self) {
        self.kept.next = self.here.q.val() && self.admitted.q.val();
        self.stored.next = self.index.q.val() < LONGEST_FRAME;
        self.write.valid.next = self.kept.val() && self.stored.val();
        self.write.word.next = self.places.free.val();
        self.write.data.next = self.own.q.val().data;
        self.places.taken.next = self.kept.val() && self.stored.val();
        self.first_word.next = self.start.q.val();
        if self.own.q.val().first {
            self.first_word.next = self.places.free.val();
        }
        if self.here.q.val() {
            self.start.d.next = self.first_word.val();
        }
        self.words.next = LONGEST_FRAME.into();
        if self.stored.val() {
            self.words.next = self.index.q.val().get_bits::<FRAME_WORDS>(0) + 1;
        }
    }

    /// The end of the IPv4 packet, which may come before the frame's, or not at all.
    #[hdl_gen]
    pub(super) fn find_end(&mut self) {
        self.is_end.next = self.index.q.val() == self.end.q.val().get_bits::<BEAT>(6);
        self.whole.next = (!self.own.q.val().first && self.reached.q.val())
            || (self.is_end.val()
                && self.own.q.val().keep.get_bit(self.end.q.val().get_bits::<6>(0).index()));
        if self.here.q.val() {
            self.reached.d.next = self.whole.val();
        }
        self.integrity.beat.valid.next =
            self.kept.val() && (self.index.q.val() <= self.end.q.val().get_bits::<BEAT>(6));
        self.integrity.beat.data.next = self.own.q.val().data;
        self.integrity.beat.first.next = self.own.q.val().first;
        self.integrity.beat.tagged.next = self.has_tag.q.val();
        self.integrity.beat.last.next = self.is_end.val() || self.own.q.val().last;
        self.integrity.beat.end.next = self.end.q.val().get_bits::<4>(2);
        self.integrity.rst.next = self.reset.val();
        self.judge.headers.next = self.headers.q.val().get_bits::<COMMON>(0);
        self.judge.whole.next = self.whole.val() && !self.own.q.val().bad;
    }
}
