//! From the wire to host memory, and what is answered.

use super::super::{COMPARE_AND_SWAP, Card, FETCH_AND_ADD, READ_REQUEST};
use drdma_emit::prelude::*;

impl Card {
    /// The receiver.
    #[hdl_gen]
    pub(super) fn wire_receive(&mut self) {
        self.receive.card_reset.next = self.reset.val();
        self.control.cfg.join(&mut self.receive.cfg);
        self.receive.mac.next = self.control.mac.val();
        self.receive.ip.next = self.control.ip.val();
        self.receive.cnp_interval.next = self.control.congestion.cnp_interval.val();
        self.receive.notice.join(&mut self.packetizer.notice);
        self.s_axis_if_rx.join(&mut self.receive.s_axis_if_rx);
        self.receive.m_axis_if_rx.join(&mut self.m_axis_if_rx);
        self.control.receive_doorbell.join(&mut self.receive.doorbell);
        self.receive.read.join(&mut self.host_read.c_req);
        self.host_read.c_resp.join(&mut self.receive.beat);
        self.receive.order.join(&mut self.host_write.order);
        self.receive.freed_valid.next = self.host_write.freed_valid.val();
        self.receive.store_enable.next = self.host_write.store_enable.val();
        self.receive.store_row.next = self.host_write.store_row.val();
        self.host_write.store_data.next = self.receive.store_data.val();
        self.receive.column_enable.next = self.host_write.column_enable.val();
        self.receive.column_row.next = self.host_write.column_row.val();
        self.host_write.column_data.next = self.receive.column_data.val();
        self.receive.freed_rows.next = self.host_write.freed_rows.val();
        self.receive.answer.join(&mut self.answers.answer);
        self.replies.answered.join(&mut self.receive.answered);
        self.receive.ask_addr.next = self.replies.ask_addr.val();
        self.receive.ask_bytes.next = self.replies.ask_bytes.val();
        self.receive.ask_all.next = self.replies.ask_all.val();
        self.replies.same_word.next = self.receive.same_word.val();
        self.replies.same_page.next = self.receive.same_page.val();
        self.receive.before.join(&mut self.replies.before);
        self.replies.begun.join(&mut self.receive.begun);
        self.receive.operands_of.next = self.replies.operands_of.val();
        self.replies.swap_or_add.next = self.receive.swap_or_add.val();
        self.replies.compare.next = self.receive.compare.val();
        self.replies.given_up.join(&mut self.receive.given_up);
        self.host_write.word_done.join(&mut self.receive.ended);
        self.receive.ack.ready.next = self.keeper.response.ready.val();
        self.receive.invalidate.join(&mut self.control.invalidate);
        self.receive.qp_error.next = self.states.error[4].val();
        self.receive.closed.next = self.keeper.closed[1].val();
        self.decoder.piece_write.join(&mut self.receive.piece);
    }

    /// READs and atomics, as the keeper takes them.
    #[hdl_gen]
    pub(super) fn wire_asked(&mut self) {
        self.receive.asked.valid.next = self.segmenter.packet.valid.val()
            && self.keeper.packet.ready.val()
            && !self.segmenter.packet.marker.val()
            && ((self.segmenter.packet.operation.val() == READ_REQUEST)
                || (self.segmenter.packet.operation.val() == COMPARE_AND_SWAP)
                || (self.segmenter.packet.operation.val() == FETCH_AND_ADD));
        self.receive.asked.atomic.next = self.segmenter.packet.operation.val() != READ_REQUEST;
        self.receive.asked.qp.next = self.segmenter.packet.qp.val();
        self.receive.asked.stamp.next = self.segmenter.packet.total.val().get_bits::<32>(0);
        self.receive.asked.slot.next = self.segmenter.packet.slot.val();
        self.receive.asked.psn.next = self.segmenter.packet.psn.val();
        self.receive.asked.last.next = self.segmenter.packet.psn.val();
        self.receive.asked.len.next = 8.into();
        if self.segmenter.packet.operation.val() == READ_REQUEST {
            self.receive.asked.last.next = self.segmenter.packet.imm.val().get_bits::<24>(0);
            self.receive.asked.len.next = self.segmenter.packet.message_bytes.val();
        }
        self.receive.asked.log_mtu.next = self.segmenter.packet.status.val().get_bits::<4>(0);
        self.receive.set_qp_error.join(&mut self.states.set_qp_error_c);
        self.states.broken.join(&mut self.receive.broken);
    }
}
