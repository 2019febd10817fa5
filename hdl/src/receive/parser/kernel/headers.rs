//! Headers of frames.

use super::super::judge::COMMON;
use super::super::packets::EXTENDED;
use super::super::{
    ACKNOWLEDGE, BTH, BTH_START, CONGESTED, ECN, FAR, FAR_UNTAGGED, NEAR, NEAR_TAGGED, NETWORK,
    NOTIFICATION, Parser, UD, VERDICT,
};
use drdma_emit::prelude::*;

impl Parser {
    /// Fields of the headers.
    #[hdl_gen]
    pub(super) fn read_headers(&mut self) {
        self.network.received.next = self.headers.q.val().get_bits::<NETWORK>(0);
        self.bth.received.next = self.headers.q.val().get_bits::<BTH>(BTH_START);
        self.known.opcode.next = self.bth.opcode.val();
        self.known.solicited.next = self.bth.solicited.val().any();
        self.known.ack_req.next = self.bth.ack_req.val().any();
        self.known.padded.next = self.bth.pad.val().any();
        self.known.pkey.next = self.bth.pkey.val();
        self.known.qpn.next = self.bth.dest_qp.val();
        self.known.psn.next = self.bth.psn.val();
        self.known.source_ip.next = self.network.source.val();
        self.known.congested.next = self.headers.q.val().get_bits::<2>(ECN) == CONGESTED;
        self.known.vlan.next = self.vlan.q.val();
        self.known.tagged.next = self.has_tag.q.val();
        self.known.qp.next = self.qp.q.val();
        self.known.start.next = self.first_word.val();
        self.known.words.next = self.words.val();
        self.known.extended_words.next = self.judge.extended.val();
        self.known.extended.next =
            bit_cast::<EXTENDED, NEAR>(self.headers.q.val().get_bits::<NEAR>(COMMON))
                | (bit_cast::<EXTENDED, FAR_UNTAGGED>(
                    self.second.q.val().get_bits::<FAR_UNTAGGED>(0),
                ) << NEAR as u64);
        if self.has_tag.q.val() {
            self.known.extended.next = bit_cast::<EXTENDED, NEAR_TAGGED>(
                self.headers.q.val().get_bits::<NEAR_TAGGED>(COMMON),
            ) | (bit_cast::<EXTENDED, FAR>(self.second.q.val())
                << NEAR_TAGGED as u64);
        }
    }

    /// What is known of a frame waits for the verdict.
    #[hdl_gen]
    pub(super) fn await_verdict(&mut self) {
        self.ended[0].d.next = self.kept.val() && self.own.q.val().last;
        self.waiting[0].d.next = self.known.val();
        self.is_ack[0].d.next = self.bth.opcode.val() == ACKNOWLEDGE;
        self.is_notification[0].d.next = self.bth.opcode.val() == NOTIFICATION;
        self.is_datagram[0].d.next = self.bth.opcode.val().get_bits::<3>(5) == UD;
        self.members[0].d.next = self.member.q.val();
        for k in 1..VERDICT {
            self.ended[k].d.next = self.ended[k - 1].q.val();
            self.waiting[k].d.next = self.waiting[k - 1].q.val();
            self.is_ack[k].d.next = self.is_ack[k - 1].q.val();
            self.is_notification[k].d.next = self.is_notification[k - 1].q.val();
            self.is_datagram[k].d.next = self.is_datagram[k - 1].q.val();
            self.members[k].d.next = self.members[k - 1].q.val();
        }
    }
}
