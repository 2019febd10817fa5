//! The shell: registers and settings, reads and writes of host memory.

use super::super::Card;
use drdma_emit::prelude::*;

impl Card {
    /// Registers, settings and counters.
    #[hdl_gen]
    pub(super) fn wire_control(&mut self) {
        self.control.axil_awaddr.next = self.s_axil_app_ctrl_awaddr.val();
        self.control.axil_awvalid.next = self.s_axil_app_ctrl_awvalid.val();
        self.control.axil_wdata.next = self.s_axil_app_ctrl_wdata.val();
        self.control.axil_wstrb.next = self.s_axil_app_ctrl_wstrb.val();
        self.control.axil_wvalid.next = self.s_axil_app_ctrl_wvalid.val();
        self.control.axil_bready.next = self.s_axil_app_ctrl_bready.val();
        self.control.axil_araddr.next = self.s_axil_app_ctrl_araddr.val();
        self.control.axil_arvalid.next = self.s_axil_app_ctrl_arvalid.val();
        self.control.axil_rready.next = self.s_axil_app_ctrl_rready.val();
        if self.linger.q.val().any() {
            self.linger.d.next = self.linger.q.val() - 1;
        }
        if self.control.doorbell.valid.val()
            || self.queue.busy.val()
            || self.completion.busy.val()
            || self.control.receive_doorbell.valid.val()
            || self.receive.busy.val()
            || self.answers.reply.valid.val()
            || self.replies.busy.val()
        {
            self.linger.d.next = 127.into();
        }
        if self.reset.val() {
            self.linger.d.next = 0.into();
        }
        self.control.busy.next = self.linger.q.val().any() || self.host_write.busy.val();
        self.states.set_qp_error_a_valid.next = self.segmenter.set_qp_error_valid.val();
        self.states.set_qp_error_a_index.next = self.segmenter.set_qp_error_index.val();
        self.states.set_qp_error_b_valid.next = self.completion.set_qp_error_valid.val();
        self.states.set_qp_error_b_index.next = self.completion.set_qp_error_index.val();
        self.states.set_queue_halted_valid.next = self.completion.set_queue_halted_valid.val();
        self.states.set_queue_halted_index.next = self.completion.set_queue_halted_index.val();
        self.control.cfg.join(&mut self.states.cfg);
        self.states.rst.next = self.reset.val();
        self.states.error_next[0].next = self.decoder.error_next.val();
        self.states.error_next[1].next = self.sequencer.error_next.val();
        self.states.error_next[2].next = self.segmenter.error_next.val();
        self.states.error_next[3].next = self.control.error_next.val();
        self.states.error_next[4].next = self.receive.error_next.val();
        self.states.error_next[5].next = self.receive.holder_next.val();
        self.receive.holder_error.next = self.states.error[5].val();
        self.control.append_word.join(&mut self.receive.append_word);
        self.control.key_word.join(&mut self.replies.key_word);
        self.control.key_word.join(&mut self.receive.key_word);
        self.control.error.next = self.states.error[3].val();
        self.states.halted_next[0].next = self.queue.fetch_next.val();
        self.states.halted_next[1].next = self.queue.batch_next.val();
        self.states.halted_next[2].next = self.decoder.halted_next.val();
        self.states.halted_next[3].next = self.segmenter.halted_next.val();
        self.states.halted_next[4].next = self.control.bell_next.val();
        self.control.bell_halted.next = self.states.halted[4].val();
        self.states.halted_next[5].next = self.control.halted_next.val();
        self.control.halted.next = self.states.halted[5].val();
        self.states.enabled_next.next = self.control.bell_next.val();
        self.control.bell_enabled.next = self.states.enabled.val();
        self.control.count_1.next = self.packetizer.count_payload_bytes.val();
        self.control.count_2.next = self.packetizer.count_frame_bytes.val();
        self.control.count_3.next = self.packetizer.count_packets.val();
        self.control.count_4.next = self.reader.count_reads.val();
        self.control.count_5.next = self.reader.count_bytes.val();
        self.control.count_6.next = self.host_read.count_reads.val();
        self.control.count_7.next = self.host_read.count_bytes.val();
        self.control.count_8.next = 0.into();
        if self.completion.count_work_requests.val() {
            self.control.count_8.next = 1.into();
        }
        self.control.count_9.next = 0.into();
        if self.completion.count_acks.val() {
            self.control.count_9.next = 1.into();
        }
        self.control.count_10.next = 0.into();
        if self.placer.count_windows.val() {
            self.control.count_10.next = 1.into();
        }
        self.control.count_11.next = 0.into();
        if self.gather.count_busy.val() {
            self.control.count_11.next = 1.into();
        }
        self.control.count_12.next = 0.into();
        if self.gather.count_conflict.val() {
            self.control.count_12.next = 1.into();
        }
        self.control.count_13.next = 0.into();
        if self.gather.count_empty.val() {
            self.control.count_13.next = 1.into();
        }
        self.control.count_14.next = 0.into();
        if self.gather.count_blocked.val() {
            self.control.count_14.next = 1.into();
        }
        self.control.count_15.next = bit_cast::<16, 3>(self.receive.count_dropped.val());
        self.control.count_16.next = 0.into();
        if self.receive.count_overrun.val() {
            self.control.count_16.next = 1.into();
        }
        self.control.count_17.next = bit_cast::<16, 2>(self.receive.count_ignored.val())
            + bit_cast::<16, 1>(self.replies.count_ignored.val().into());
        self.control.count_18.next = bit_cast::<16, 1>(self.packetizer.count_notices.val().into());
        self.control.count_19.next = bit_cast::<16, 1>(self.receive.notified.valid.val().into());
        self.s_axil_app_ctrl_awready.next = self.control.axil_awready.val();
        self.s_axil_app_ctrl_wready.next = self.control.axil_wready.val();
        self.s_axil_app_ctrl_bresp.next = self.control.axil_bresp.val();
        self.s_axil_app_ctrl_bvalid.next = self.control.axil_bvalid.val();
        self.s_axil_app_ctrl_arready.next = self.control.axil_arready.val();
        self.s_axil_app_ctrl_rdata.next = self.control.axil_rdata.val();
        self.s_axil_app_ctrl_rresp.next = self.control.axil_rresp.val();
        self.s_axil_app_ctrl_rvalid.next = self.control.axil_rvalid.val();
    }

    /// Reads of control structures.
    #[hdl_gen]
    pub(super) fn wire_host_read(&mut self) {
        self.host_read.rst.next = self.reset.val();
        self.host_read.a_req.valid.next = self.queue.read_req_valid.val();
        self.host_read.a_req.addr.next = self.queue.read_req_addr.val();
        self.host_read.a_req.bytes.next = self.queue.read_req_bytes.val();
        self.host_read.a_resp.ready.next = self.queue.read_resp_ready.val();
        self.host_read.b_req.valid.next = self.sequencer.read_req_valid.val();
        self.host_read.b_req.addr.next = self.sequencer.read_req_addr.val();
        self.host_read.b_req.bytes.next = self.sequencer.read_req_bytes.val();
        self.host_read.b_resp.ready.next = self.sequencer.read_resp_ready.val();
        self.host_read.m_axis_ctrl_dma_read_desc.join(&mut self.m_axis_ctrl_dma_read_desc);
        self.s_axis_ctrl_dma_read_desc_status
            .join(&mut self.host_read.s_axis_ctrl_dma_read_desc_status);
        self.host_read.ctrl_dma_ram_wr_cmd_sel.next = self.ctrl_dma_ram_wr_cmd_sel.val();
        self.host_read.ctrl_dma_ram_wr_cmd_be.next = self.ctrl_dma_ram_wr_cmd_be.val();
        self.host_read.ctrl_dma_ram_wr_cmd_addr.next = self.ctrl_dma_ram_wr_cmd_addr.val();
        self.host_read.ctrl_dma_ram_wr_cmd_data.next = self.ctrl_dma_ram_wr_cmd_data.val();
        self.host_read.ctrl_dma_ram_wr_cmd_valid.next = self.ctrl_dma_ram_wr_cmd_valid.val();
        self.ctrl_dma_ram_wr_cmd_ready.next = self.host_read.ctrl_dma_ram_wr_cmd_ready.val();
        self.ctrl_dma_ram_wr_done.next = self.host_read.ctrl_dma_ram_wr_done.val();
    }

    /// Writes of host memory.
    #[hdl_gen]
    pub(super) fn wire_host_write(&mut self) {
        self.host_write.write.valid.next = self.completion.write_valid.val();
        self.host_write.write.addr.next = self.completion.write_addr.val();
        self.host_write.write.data.next = self.completion.write_data.val();
        self.host_write.card_reset.next = self.control.soft_reset.val();
        self.host_write.receipt.join(&mut self.completion.receipt);
        self.replies.word.join(&mut self.host_write.word);
        self.host_write.m_axis_data_dma_write_desc.join(&mut self.m_axis_data_dma_write_desc);
        self.s_axis_data_dma_write_desc_status
            .join(&mut self.host_write.s_axis_data_dma_write_desc_status);
        self.host_write.data_dma_ram_rd_cmd_sel.next = self.data_dma_ram_rd_cmd_sel.val();
        self.host_write.data_dma_ram_rd_cmd_addr.next = self.data_dma_ram_rd_cmd_addr.val();
        self.host_write.data_dma_ram_rd_cmd_valid.next = self.data_dma_ram_rd_cmd_valid.val();
        self.host_write.data_dma_ram_rd_resp_ready.next = self.data_dma_ram_rd_resp_ready.val();
        self.data_dma_ram_rd_cmd_ready.next = self.host_write.data_dma_ram_rd_cmd_ready.val();
        self.data_dma_ram_rd_resp_data.next = self.host_write.data_dma_ram_rd_resp_data.val();
        self.data_dma_ram_rd_resp_valid.next = self.host_write.data_dma_ram_rd_resp_valid.val();
    }
}
