//! Verdicts on frames, and what is reported of them.

use super::super::packets::{BASE, TAG};
use super::super::shape::WORDS;
use super::super::{AETH, FIRST_ANSWER, LAST_ANSWER, Parser, VERDICT};
use crate::receive::record::{STORE, STORE_WORD};
use drdma_emit::prelude::*;

impl Parser {
    /// The verdict on the frame.
    #[hdl_gen]
    pub(super) fn judge_frame(&mut self) {
        self.right.next =
            self.ended[VERDICT - 1].q.val() && self.judge.right.val() && self.integrity.right.val();
        self.for_packet.next = self.right.val()
            && !self.is_ack[VERDICT - 1].q.val()
            && !self.is_notification[VERDICT - 1].q.val();
        self.packets.headers.valid.next = self.for_packet.val();
        self.packets.headers.next = self.waiting[VERDICT - 1].q.val();
        self.packets.bytes.next = self.judge.bytes.val();
        self.packets.rst.next = self.reset.val();
        self.packets.packet.join(&mut self.packet);
        self.places.settled.valid.next = self.ended[VERDICT - 1].q.val();
        self.places.settled.right.next = self.for_packet.val();
        self.places.settled.words.next = self.waiting[VERDICT - 1].q.val().words;
        self.places.freed_valid.next = self.freed_valid.val();
        self.places.rst.next = self.reset.val();
    }

    /// An ACK or a NAK.
    #[hdl_gen]
    pub(super) fn report_ack(&mut self) {
        self.acknowledged.next = self.right.val()
            && self.is_ack[VERDICT - 1].q.val()
            && self.members[VERDICT - 1].q.val();
        self.aeth.received.next = self.waiting[VERDICT - 1].q.val().extended.get_bits::<AETH>(0);
        self.ack.valid.next = self.acknowledged.val();
        self.ack.qp.next = self.waiting[VERDICT - 1].q.val().qp;
        self.ack.psn.next = self.waiting[VERDICT - 1].q.val().psn;
        self.ack.syndrome.next = self.aeth.syndrome.val();
    }

    /// A congestion notification only says that it has come. One that has met congestion itself is not answered.
    #[hdl_gen]
    pub(super) fn report_congestion(&mut self) {
        self.notifies.next = self.right.val()
            && self.is_notification[VERDICT - 1].q.val()
            && self.members[VERDICT - 1].q.val();
        self.notified.valid.next = self.notifies.val();
        self.notified.qp.next = self.waiting[VERDICT - 1].q.val().qp;
        self.congested.valid.next = self.right.val()
            && self.waiting[VERDICT - 1].q.val().congested
            && self.members[VERDICT - 1].q.val()
            && !self.is_notification[VERDICT - 1].q.val()
            && !self.is_datagram[VERDICT - 1].q.val();
        self.congested.qp.next = self.waiting[VERDICT - 1].q.val().qp;
    }

    /// An answer to a READ or an atomic goes on as a packet, and is reported here besides.
    #[hdl_gen]
    pub(super) fn report_answer(&mut self) {
        self.settled.valid.next = self.for_packet.val();
        self.settled.answers.next = self.members[VERDICT - 1].q.val()
            && (self.waiting[VERDICT - 1].q.val().opcode >= FIRST_ANSWER)
            && (self.waiting[VERDICT - 1].q.val().opcode <= LAST_ANSWER);
        self.settled.qp.next = self.waiting[VERDICT - 1].q.val().qp;
        self.settled.operation.next = self.waiting[VERDICT - 1].q.val().opcode.get_bits::<5>(0);
        self.settled.psn.next = self.waiting[VERDICT - 1].q.val().psn;
        self.settled.bytes.next = self.judge.bytes.val();
        self.answer_offset.next =
            (bit_cast::<7, WORDS>(self.waiting[VERDICT - 1].q.val().extended_words) << 2) + BASE;
        if self.waiting[VERDICT - 1].q.val().tagged {
            self.answer_offset.next =
                (bit_cast::<7, WORDS>(self.waiting[VERDICT - 1].q.val().extended_words) << 2)
                    + (BASE + TAG);
        }
        self.settled.ram.next =
            (bit_cast::<STORE, STORE_WORD>(self.waiting[VERDICT - 1].q.val().start) << 6)
                + bit_cast::<STORE, 7>(self.answer_offset.val());
    }

    /// Counts frames that are dropped.
    #[hdl_gen]
    pub(super) fn count_losses(&mut self) {
        self.wrong.next = self.ended[VERDICT - 1].q.val()
            && !self.for_packet.val()
            && !self.acknowledged.val()
            && !self.notifies.val();
        self.overrun.next = self.here.q.val() && self.own.q.val().first && !self.admitted.q.val();
        self.count_overrun.next = self.overrun.val();
        self.count_dropped.next = 0.into();
        if self.wrong.val() {
            self.count_dropped.next = self.count_dropped.val() + 1;
        }
        if self.overrun.val() {
            self.count_dropped.next = self.count_dropped.val() + 1;
        }
    }
}
