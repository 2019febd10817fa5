//! Packets on their way out, and answers to packets of peers.

use super::super::Card;
use drdma_emit::prelude::*;

impl Card {
    /// Messages, cut into packets.
    #[hdl_gen]
    pub(super) fn wire_segmenter(&mut self) {
        self.segmenter.rst.next = self.reset.val();
        self.segmenter.payload_valid.next = self.gather.payload.valid.val();
        self.segmenter.payload_data.next = self.gather.payload.data.val();
        self.segmenter.payload_mask.next = self.gather.payload.mask.val();
        self.segmenter.payload_part_end.next = self.gather.payload.part_end.val();
        self.segmenter.payload_error.next = self.gather.payload.error.val();
        self.segmenter.payload_dest.next = self.gather.payload.dest.val();
        self.segmenter.payload_slot.next = self.gather.payload.slot.val();
        self.segmenter.payload_bytes.next = self.gather.payload.bytes.val();
        self.segmenter.payload_message_start.next = self.gather.payload.message_start.val();
        self.segmenter.payload_message_end.next = self.gather.payload.message_end.val();
        self.segmenter.payload_message_bytes.next = self.gather.payload.message_bytes.val();
        self.segmenter.payload_request_end.next = self.gather.payload.request_end.val();
        self.segmenter.payload_dest_end.next = self.gather.payload.dest_end.val();
        self.segmenter.payload_status.next = self.gather.payload.status.val();
        self.segmenter.payload_bad_dest.next = self.gather.payload.bad_dest.val();
        // Destinations that are written once more are not for the segmenter.
        self.segmenter.dest_write_valid.next =
            self.decoder.dest_write_valid.val() && !self.decoder.dest_write_again.val();
        self.segmenter.dest_write_dest.next = self.decoder.dest_write_dest.val();
        self.segmenter.dest_write_index.next = self.decoder.dest_write_index.val();
        self.segmenter.dest_write_qp.next = self.decoder.dest_write_qp.val();
        self.segmenter.dest_write_opcode.next = self.decoder.dest_write_opcode.val();
        self.segmenter.dest_write_imm.next = self.decoder.dest_write_imm.val();
        self.segmenter.dest_write_remote_addr.next = self.decoder.dest_write_remote_addr.val();
        self.segmenter.dest_write_rkey.next = self.decoder.dest_write_rkey.val();
        self.segmenter.dest_write_transport.next = self.decoder.dest_write_transport.val();
        self.segmenter.dest_write_log_mtu.next = self.decoder.dest_write_log_mtu.val();
        self.segmenter.dest_write_stamp.next = self.decoder.dest_write_stamp.val();
        self.segmenter.dest_write_ask.next = self.decoder.dest_write_ask.val();
        self.segmenter.dest_write_fenced.next = self.decoder.dest_write_fenced.val();
        self.segmenter.dest_write_solicited.next = self.decoder.dest_write_solicited.val();
        self.segmenter.dest_write_invalidates.next = self.decoder.dest_write_invalidates.val();
        self.segmenter.dest_write_empty.next = self.decoder.dest_write_empty.val();
        self.segmenter.dest_write_more.next = self.decoder.dest_write_more.val();
        self.decoder.ask_write.join(&mut self.segmenter.ask_write);
        self.decoder.part_write.join(&mut self.segmenter.part_write);
        self.decoder.address_write.join(&mut self.packetizer.address_write);
        self.segmenter.cfg_valid.next = self.control.cfg.valid.val();
        self.segmenter.cfg_table.next = self.control.cfg.table.val();
        self.segmenter.cfg_index.next = self.control.cfg.index.val();
        self.segmenter.cfg_word.next = self.control.cfg.word.val();
        self.segmenter.cfg_data.next = self.control.cfg.data.val();
        self.segmenter.qp_error.next = self.states.error[2].val();
        self.segmenter.queue_halted.next = self.states.halted[3].val();
        self.segmenter.open_valid.next =
            self.decoder.open_valid.val() && self.completion.open_ready.val();
        self.segmenter.open_slot.next = self.decoder.open_slot.val();
        self.segmenter.open_queue.next = self.decoder.open_queue.val();
        self.segmenter.page_read_enable.next = self.packetizer.page_read_enable.val();
        self.segmenter.page_read_address.next = self.packetizer.page_read_address.val();
        self.segmenter.page_free_valid.next = self.keeper.free.valid.val();
        self.segmenter.page_free_page.next = self.keeper.free.page.val();
    }

    /// Packets, kept until they are acknowledged.
    #[hdl_gen]
    pub(super) fn wire_keeper(&mut self) {
        self.keeper.rst.next = self.reset.val();
        self.control.cfg.join(&mut self.keeper.cfg);
        self.segmenter.packet.join(&mut self.keeper.packet);
        self.keeper.response.valid.next = self.receive.ack.valid.val();
        self.keeper.response.qp.next = self.receive.ack.qp.val();
        self.keeper.response.psn.next = self.receive.ack.psn.val();
        self.keeper.response.syndrome.next = self.receive.ack.syndrome.val();
        self.keeper.done.valid.next = self.packetizer.page_free_valid.val();
        self.keeper.done.page.next = self.packetizer.page_free_page.val();
        self.keeper.closed_next[0].next = self.completion.closed_next.val();
        self.keeper.closed_next[1].next = self.receive.closed_next.val();
        self.keeper.told.ready.next = self.completion.ack_ready.val();
    }

    /// Congestion notifications, which limit what the keeper sends.
    #[hdl_gen]
    pub(super) fn wire_pacer(&mut self) {
        self.pacer.rst.next = self.reset.val();
        self.control.cfg.join(&mut self.pacer.cfg);
        self.control.congestion.join(&mut self.pacer.settings);
        self.receive.notified.join(&mut self.pacer.notified);
        self.keeper.paced.join(&mut self.pacer.packet);
        self.pacer.go.join(&mut self.keeper.go);
        self.pacer.limited_next.next = self.keeper.limited_next.val();
        self.keeper.limited.next = self.pacer.limited.val();
    }

    /// Answers: acknowledgements, bytes of READs, words of atomics.
    #[hdl_gen]
    pub(super) fn wire_replies(&mut self) {
        self.answers.rst.next = self.reset.val();
        self.answers.reply.join(&mut self.replies.reply);

        // replies
        self.replies.rst.next = self.reset.val();
        self.control.cfg.join(&mut self.replies.cfg);
        self.replies.acknowledgement.join(&mut self.packetizer.acknowledgement);
        self.replies.response.join(&mut self.packetizer.response);
        self.replies.read.join(&mut self.host_read.d_req);
        self.host_read.d_resp.join(&mut self.replies.beat);
        self.replies.freed_valid.next = self.host_write.freed_valid.val();
        self.replies.page_read_enable.next = self.packetizer.reply_read_enable.val();
        self.replies.page_read_address.next = self.packetizer.reply_read_address.val();
        self.packetizer.reply_read_data.next = self.replies.page_read_data.val();
        self.replies.page_free.next = self.packetizer.reply_free.val();
        self.replies.set_qp_error.join(&mut self.states.set_qp_error_d);
    }

    /// Frames.
    #[hdl_gen]
    pub(super) fn wire_packetizer(&mut self) {
        self.packetizer.rst.next = self.reset.val();
        self.keeper.item.join(&mut self.packetizer.packet);
        self.packetizer.page_read_data.next = self.segmenter.page_read_data.val();
        self.control.cfg.join(&mut self.packetizer.cfg);
        self.packetizer.mac.next = self.control.mac.val();
        self.packetizer.ip.next = self.control.ip.val();
        self.packetizer.tx.join(&mut self.mac.tx);
        self.packetizer.sent.ready.next = self.completion.sent_ready.val();

        // mac
        self.s_axis_if_tx.join(&mut self.mac.s_axis_if_tx);
        self.mac.card_reset.next = self.control.soft_reset.val();
        self.mac.m_axis_if_tx.join(&mut self.m_axis_if_tx);
        self.s_axis_if_tx_cpl.join(&mut self.mac.s_axis_if_tx_cpl);
        self.mac.m_axis_if_tx_cpl.join(&mut self.m_axis_if_tx_cpl);
    }
}
