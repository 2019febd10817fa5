//! The card: every block, wired in the direction of the data.
//!
//! Its ports are those of Corundum's that the card uses, under Corundum's names and with the widths
//! of a U50; [`file`] wraps it into the published module `mqnic_app_block`, which adapts them to the
//! shell's parameters. There is no logic here but what joins blocks.

use drdma_emit::prelude::*;

use crate::complete::completion::Completion;
use crate::emit::{EmitError, Emitted, emit};
use crate::layout::fragments::Fragments;
use crate::layout::gather::Gather;
use crate::layout::placer::Placer;
use crate::layout::reader::Reader;
use crate::layout::segmented_memory::SegmentedMemory;
use crate::layout::windows::{BYTE_BEAT_BITS, ByteBeat, Merge, READ_BOX_BITS, ReadBox, Windows};
use crate::primitive::app_block;
use crate::receive::receiver::Receiver;
use crate::request::decoder::Decoder;
use crate::request::queue::Queue;
use crate::rows::columns::Columns;
use crate::rows::expander::Expander;
use crate::rows::sequencer::Sequencer;
use crate::send::packetizer::Packetizer;
use crate::send::segmenter::Segmenter;
use crate::shell::control::Control;
use crate::shell::host_read::HostRead;
use crate::shell::host_write::HostWrite;
use crate::shell::mac::Mac;

#[cfg(test)]
mod tests;

/// Name of the module inside the published one.
const CORE: &str = "drdma_card";

/// The card. See the [module](self).
#[derive(LogicBlock, Default)]
pub struct Card {
    /// Clock, 250 MHz.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,

    // Registers: the application's AXI-Lite port.
    /// See Corundum's `mqnic_app_block`.
    pub s_axil_app_ctrl_awaddr: Signal<In, Bits<24>>,
    /// See Corundum's `mqnic_app_block`.
    pub s_axil_app_ctrl_awvalid: Signal<In, Bit>,
    /// See Corundum's `mqnic_app_block`.
    pub s_axil_app_ctrl_awready: Signal<Out, Bit>,
    /// See Corundum's `mqnic_app_block`.
    pub s_axil_app_ctrl_wdata: Signal<In, Bits<32>>,
    /// See Corundum's `mqnic_app_block`.
    pub s_axil_app_ctrl_wstrb: Signal<In, Bits<4>>,
    /// See Corundum's `mqnic_app_block`.
    pub s_axil_app_ctrl_wvalid: Signal<In, Bit>,
    /// See Corundum's `mqnic_app_block`.
    pub s_axil_app_ctrl_wready: Signal<Out, Bit>,
    /// See Corundum's `mqnic_app_block`.
    pub s_axil_app_ctrl_bresp: Signal<Out, Bits<2>>,
    /// See Corundum's `mqnic_app_block`.
    pub s_axil_app_ctrl_bvalid: Signal<Out, Bit>,
    /// See Corundum's `mqnic_app_block`.
    pub s_axil_app_ctrl_bready: Signal<In, Bit>,
    /// See Corundum's `mqnic_app_block`.
    pub s_axil_app_ctrl_araddr: Signal<In, Bits<24>>,
    /// See Corundum's `mqnic_app_block`.
    pub s_axil_app_ctrl_arvalid: Signal<In, Bit>,
    /// See Corundum's `mqnic_app_block`.
    pub s_axil_app_ctrl_arready: Signal<Out, Bit>,
    /// See Corundum's `mqnic_app_block`.
    pub s_axil_app_ctrl_rdata: Signal<Out, Bits<32>>,
    /// See Corundum's `mqnic_app_block`.
    pub s_axil_app_ctrl_rresp: Signal<Out, Bits<2>>,
    /// See Corundum's `mqnic_app_block`.
    pub s_axil_app_ctrl_rvalid: Signal<Out, Bit>,
    /// See Corundum's `mqnic_app_block`.
    pub s_axil_app_ctrl_rready: Signal<In, Bit>,

    // Control DMA: reads.
    /// See Corundum's `mqnic_app_block`.
    pub m_axis_ctrl_dma_read_desc_dma_addr: Signal<Out, Bits<64>>,
    /// See Corundum's `mqnic_app_block`.
    pub m_axis_ctrl_dma_read_desc_ram_sel: Signal<Out, Bits<1>>,
    /// See Corundum's `mqnic_app_block`.
    pub m_axis_ctrl_dma_read_desc_ram_addr: Signal<Out, Bits<17>>,
    /// See Corundum's `mqnic_app_block`.
    pub m_axis_ctrl_dma_read_desc_len: Signal<Out, Bits<16>>,
    /// See Corundum's `mqnic_app_block`.
    pub m_axis_ctrl_dma_read_desc_tag: Signal<Out, Bits<14>>,
    /// See Corundum's `mqnic_app_block`.
    pub m_axis_ctrl_dma_read_desc_valid: Signal<Out, Bit>,
    /// See Corundum's `mqnic_app_block`.
    pub m_axis_ctrl_dma_read_desc_ready: Signal<In, Bit>,
    /// See Corundum's `mqnic_app_block`.
    pub s_axis_ctrl_dma_read_desc_status_tag: Signal<In, Bits<14>>,
    /// See Corundum's `mqnic_app_block`.
    pub s_axis_ctrl_dma_read_desc_status_error: Signal<In, Bits<4>>,
    /// See Corundum's `mqnic_app_block`.
    pub s_axis_ctrl_dma_read_desc_status_valid: Signal<In, Bit>,

    // Control DMA: the RAM that reads fill.
    /// See Corundum's `mqnic_app_block`.
    pub ctrl_dma_ram_wr_cmd_sel: Signal<In, Bits<2>>,
    /// See Corundum's `mqnic_app_block`.
    pub ctrl_dma_ram_wr_cmd_be: Signal<In, Bits<128>>,
    /// See Corundum's `mqnic_app_block`.
    pub ctrl_dma_ram_wr_cmd_addr: Signal<In, Bits<20>>,
    /// See Corundum's `mqnic_app_block`.
    pub ctrl_dma_ram_wr_cmd_data: Signal<In, Bits<1024>>,
    /// See Corundum's `mqnic_app_block`.
    pub ctrl_dma_ram_wr_cmd_valid: Signal<In, Bits<2>>,
    /// See Corundum's `mqnic_app_block`.
    pub ctrl_dma_ram_wr_cmd_ready: Signal<Out, Bits<2>>,
    /// See Corundum's `mqnic_app_block`.
    pub ctrl_dma_ram_wr_done: Signal<Out, Bits<2>>,

    // Data DMA: reads.
    /// See Corundum's `mqnic_app_block`.
    pub m_axis_data_dma_read_desc_dma_addr: Signal<Out, Bits<64>>,
    /// See Corundum's `mqnic_app_block`.
    pub m_axis_data_dma_read_desc_ram_sel: Signal<Out, Bits<1>>,
    /// See Corundum's `mqnic_app_block`.
    pub m_axis_data_dma_read_desc_ram_addr: Signal<Out, Bits<17>>,
    /// See Corundum's `mqnic_app_block`.
    pub m_axis_data_dma_read_desc_len: Signal<Out, Bits<16>>,
    /// See Corundum's `mqnic_app_block`.
    pub m_axis_data_dma_read_desc_tag: Signal<Out, Bits<14>>,
    /// See Corundum's `mqnic_app_block`.
    pub m_axis_data_dma_read_desc_valid: Signal<Out, Bit>,
    /// See Corundum's `mqnic_app_block`.
    pub m_axis_data_dma_read_desc_ready: Signal<In, Bit>,
    /// See Corundum's `mqnic_app_block`.
    pub s_axis_data_dma_read_desc_status_tag: Signal<In, Bits<14>>,
    /// See Corundum's `mqnic_app_block`.
    pub s_axis_data_dma_read_desc_status_error: Signal<In, Bits<4>>,
    /// See Corundum's `mqnic_app_block`.
    pub s_axis_data_dma_read_desc_status_valid: Signal<In, Bit>,

    // Data DMA: the segmented memory.
    /// See Corundum's `mqnic_app_block`.
    pub data_dma_ram_wr_cmd_be: Signal<In, Bits<128>>,
    /// See Corundum's `mqnic_app_block`.
    pub data_dma_ram_wr_cmd_addr: Signal<In, Bits<20>>,
    /// See Corundum's `mqnic_app_block`.
    pub data_dma_ram_wr_cmd_data: Signal<In, Bits<1024>>,
    /// See Corundum's `mqnic_app_block`.
    pub data_dma_ram_wr_cmd_valid: Signal<In, Bits<2>>,
    /// See Corundum's `mqnic_app_block`.
    pub data_dma_ram_wr_cmd_ready: Signal<Out, Bits<2>>,
    /// See Corundum's `mqnic_app_block`.
    pub data_dma_ram_wr_done: Signal<Out, Bits<2>>,

    // Frames to the wire.
    /// See Corundum's `mqnic_app_block`.
    pub s_axis_if_tx_tdata: Signal<In, Bits<512>>,
    /// See Corundum's `mqnic_app_block`.
    pub s_axis_if_tx_tkeep: Signal<In, Bits<64>>,
    /// See Corundum's `mqnic_app_block`.
    pub s_axis_if_tx_tvalid: Signal<In, Bit>,
    /// See Corundum's `mqnic_app_block`.
    pub s_axis_if_tx_tready: Signal<Out, Bit>,
    /// See Corundum's `mqnic_app_block`.
    pub s_axis_if_tx_tlast: Signal<In, Bit>,
    /// See Corundum's `mqnic_app_block`.
    pub s_axis_if_tx_tid: Signal<In, Bits<16>>,
    /// See Corundum's `mqnic_app_block`.
    pub s_axis_if_tx_tdest: Signal<In, Bits<16>>,
    /// See Corundum's `mqnic_app_block`.
    pub s_axis_if_tx_tuser: Signal<In, Bits<32>>,
    /// See Corundum's `mqnic_app_block`.
    pub m_axis_if_tx_tdata: Signal<Out, Bits<512>>,
    /// See Corundum's `mqnic_app_block`.
    pub m_axis_if_tx_tkeep: Signal<Out, Bits<64>>,
    /// See Corundum's `mqnic_app_block`.
    pub m_axis_if_tx_tvalid: Signal<Out, Bit>,
    /// See Corundum's `mqnic_app_block`.
    pub m_axis_if_tx_tready: Signal<In, Bit>,
    /// See Corundum's `mqnic_app_block`.
    pub m_axis_if_tx_tlast: Signal<Out, Bit>,
    /// See Corundum's `mqnic_app_block`.
    pub m_axis_if_tx_tid: Signal<Out, Bits<16>>,
    /// See Corundum's `mqnic_app_block`.
    pub m_axis_if_tx_tdest: Signal<Out, Bits<16>>,
    /// See Corundum's `mqnic_app_block`.
    pub m_axis_if_tx_tuser: Signal<Out, Bits<32>>,

    // Transmit completions.
    /// See Corundum's `mqnic_app_block`.
    pub s_axis_if_tx_cpl_ts: Signal<In, Bits<96>>,
    /// See Corundum's `mqnic_app_block`.
    pub s_axis_if_tx_cpl_tag: Signal<In, Bits<16>>,
    /// See Corundum's `mqnic_app_block`.
    pub s_axis_if_tx_cpl_valid: Signal<In, Bit>,
    /// See Corundum's `mqnic_app_block`.
    pub s_axis_if_tx_cpl_ready: Signal<Out, Bit>,
    /// See Corundum's `mqnic_app_block`.
    pub m_axis_if_tx_cpl_ts: Signal<Out, Bits<96>>,
    /// See Corundum's `mqnic_app_block`.
    pub m_axis_if_tx_cpl_tag: Signal<Out, Bits<16>>,
    /// See Corundum's `mqnic_app_block`.
    pub m_axis_if_tx_cpl_valid: Signal<Out, Bit>,
    /// See Corundum's `mqnic_app_block`.
    pub m_axis_if_tx_cpl_ready: Signal<In, Bit>,

    // Frames from the wire.
    /// See Corundum's `mqnic_app_block`.
    pub s_axis_if_rx_tdata: Signal<In, Bits<512>>,
    /// See Corundum's `mqnic_app_block`.
    pub s_axis_if_rx_tkeep: Signal<In, Bits<64>>,
    /// See Corundum's `mqnic_app_block`.
    pub s_axis_if_rx_tvalid: Signal<In, Bit>,
    /// See Corundum's `mqnic_app_block`.
    pub s_axis_if_rx_tready: Signal<Out, Bit>,
    /// See Corundum's `mqnic_app_block`.
    pub s_axis_if_rx_tlast: Signal<In, Bit>,
    /// See Corundum's `mqnic_app_block`.
    pub s_axis_if_rx_tid: Signal<In, Bits<16>>,
    /// See Corundum's `mqnic_app_block`.
    pub s_axis_if_rx_tdest: Signal<In, Bits<16>>,
    /// See Corundum's `mqnic_app_block`.
    pub s_axis_if_rx_tuser: Signal<In, Bits<128>>,
    /// See Corundum's `mqnic_app_block`.
    pub m_axis_if_rx_tdata: Signal<Out, Bits<512>>,
    /// See Corundum's `mqnic_app_block`.
    pub m_axis_if_rx_tkeep: Signal<Out, Bits<64>>,
    /// See Corundum's `mqnic_app_block`.
    pub m_axis_if_rx_tvalid: Signal<Out, Bit>,
    /// See Corundum's `mqnic_app_block`.
    pub m_axis_if_rx_tready: Signal<In, Bit>,
    /// See Corundum's `mqnic_app_block`.
    pub m_axis_if_rx_tlast: Signal<Out, Bit>,
    /// See Corundum's `mqnic_app_block`.
    pub m_axis_if_rx_tid: Signal<Out, Bits<16>>,
    /// See Corundum's `mqnic_app_block`.
    pub m_axis_if_rx_tdest: Signal<Out, Bits<16>>,
    /// See Corundum's `mqnic_app_block`.
    pub m_axis_if_rx_tuser: Signal<Out, Bits<128>>,

    // Control DMA: writes.
    /// See Corundum's `mqnic_app_block`.
    pub m_axis_ctrl_dma_write_desc_dma_addr: Signal<Out, Bits<64>>,
    /// See Corundum's `mqnic_app_block`.
    pub m_axis_ctrl_dma_write_desc_ram_sel: Signal<Out, Bits<1>>,
    /// See Corundum's `mqnic_app_block`.
    pub m_axis_ctrl_dma_write_desc_ram_addr: Signal<Out, Bits<17>>,
    /// See Corundum's `mqnic_app_block`.
    pub m_axis_ctrl_dma_write_desc_len: Signal<Out, Bits<16>>,
    /// See Corundum's `mqnic_app_block`.
    pub m_axis_ctrl_dma_write_desc_tag: Signal<Out, Bits<14>>,
    /// See Corundum's `mqnic_app_block`.
    pub m_axis_ctrl_dma_write_desc_valid: Signal<Out, Bit>,
    /// See Corundum's `mqnic_app_block`.
    pub m_axis_ctrl_dma_write_desc_ready: Signal<In, Bit>,
    /// See Corundum's `mqnic_app_block`.
    pub s_axis_ctrl_dma_write_desc_status_tag: Signal<In, Bits<14>>,
    /// See Corundum's `mqnic_app_block`.
    pub s_axis_ctrl_dma_write_desc_status_valid: Signal<In, Bit>,

    // Control DMA: the RAM that writes empty.
    /// See Corundum's `mqnic_app_block`.
    pub ctrl_dma_ram_rd_cmd_sel: Signal<In, Bits<2>>,
    /// See Corundum's `mqnic_app_block`.
    pub ctrl_dma_ram_rd_cmd_addr: Signal<In, Bits<20>>,
    /// See Corundum's `mqnic_app_block`.
    pub ctrl_dma_ram_rd_cmd_valid: Signal<In, Bits<2>>,
    /// See Corundum's `mqnic_app_block`.
    pub ctrl_dma_ram_rd_cmd_ready: Signal<Out, Bits<2>>,
    /// See Corundum's `mqnic_app_block`.
    pub ctrl_dma_ram_rd_resp_data: Signal<Out, Bits<1024>>,
    /// See Corundum's `mqnic_app_block`.
    pub ctrl_dma_ram_rd_resp_valid: Signal<Out, Bits<2>>,
    /// See Corundum's `mqnic_app_block`.
    pub ctrl_dma_ram_rd_resp_ready: Signal<In, Bits<2>>,

    reset: Signal<Local, Bit>,
    /// Counts down from when something was at work last: an entry in the decoder, a completion on
    /// its way to the host.
    linger: DFF<Bits<7>>,
    control: Control,
    host_read: HostRead,
    queue: Queue,
    decoder: Decoder,
    sequencer: Sequencer,
    expander: Expander,
    windows: Windows,
    columns: Columns,
    placer_box: Signal<Local, ReadBox>,
    column_box: Signal<Local, ReadBox>,
    boxes: Merge<ReadBox, READ_BOX_BITS>,
    row_bytes: Signal<Local, ByteBeat>,
    column_bytes: Signal<Local, ByteBeat>,
    bytes: Merge<ByteBeat, BYTE_BEAT_BITS>,
    placer: Placer,
    reader: Reader,
    /// Copies: all are written alike, each is read by a group of the gather.
    segmented_memory: [SegmentedMemory; 4],
    fragments: Fragments,
    gather: Gather,
    segmenter: Segmenter,
    packetizer: Packetizer,
    mac: Mac,
    receiver: Receiver,
    completion: Completion,
    host_write: HostWrite,
}

impl Logic for Card {
    #[hdl_gen]
    fn update(&mut self) {
        // The host's reset reaches everything but the registers' own port and what owes the shell an
        // answer: frames of the host, RAM reads and writes under way.
        self.reset.next = self.rst.val() || self.control.soft_reset.val();

        // control
        self.control.axil_awaddr.next = self.s_axil_app_ctrl_awaddr.val();
        self.control.axil_awvalid.next = self.s_axil_app_ctrl_awvalid.val();
        self.control.axil_wdata.next = self.s_axil_app_ctrl_wdata.val();
        self.control.axil_wstrb.next = self.s_axil_app_ctrl_wstrb.val();
        self.control.axil_wvalid.next = self.s_axil_app_ctrl_wvalid.val();
        self.control.axil_bready.next = self.s_axil_app_ctrl_bready.val();
        self.control.axil_araddr.next = self.s_axil_app_ctrl_araddr.val();
        self.control.axil_arvalid.next = self.s_axil_app_ctrl_arvalid.val();
        self.control.axil_rready.next = self.s_axil_app_ctrl_rready.val();
        self.control.doorbell_ready.next = self.queue.doorbell_ready.val();
        if self.linger.q.val().any() {
            self.linger.d.next = self.linger.q.val() - 1;
        }
        if self.control.doorbell_valid.val() || self.queue.busy.val() || self.completion.busy.val()
        {
            self.linger.d.next = 127.into();
        }
        if self.reset.val() {
            self.linger.d.next = 0.into();
        }
        self.control.busy.next = self.linger.q.val().any() || self.host_write.busy.val();
        self.control.set_qp_error_a_valid.next = self.segmenter.set_qp_error_valid.val();
        self.control.set_qp_error_a_index.next = self.segmenter.set_qp_error_index.val();
        self.control.set_qp_error_b_valid.next = self.completion.set_qp_error_valid.val();
        self.control.set_qp_error_b_index.next = self.completion.set_qp_error_index.val();
        self.control.set_queue_halted_valid.next = self.completion.set_queue_halted_valid.val();
        self.control.set_queue_halted_index.next = self.completion.set_queue_halted_index.val();
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
        self.control.count_15.next = bit_cast::<16, 2>(self.receiver.count_dropped.val());
        self.s_axil_app_ctrl_awready.next = self.control.axil_awready.val();
        self.s_axil_app_ctrl_wready.next = self.control.axil_wready.val();
        self.s_axil_app_ctrl_bresp.next = self.control.axil_bresp.val();
        self.s_axil_app_ctrl_bvalid.next = self.control.axil_bvalid.val();
        self.s_axil_app_ctrl_arready.next = self.control.axil_arready.val();
        self.s_axil_app_ctrl_rdata.next = self.control.axil_rdata.val();
        self.s_axil_app_ctrl_rresp.next = self.control.axil_rresp.val();
        self.s_axil_app_ctrl_rvalid.next = self.control.axil_rvalid.val();

        // host_read
        self.host_read.rst.next = self.reset.val();
        self.host_read.a_req_valid.next = self.queue.read_req_valid.val();
        self.host_read.a_req_addr.next = self.queue.read_req_addr.val();
        self.host_read.a_req_bytes.next = self.queue.read_req_bytes.val();
        self.host_read.a_resp_ready.next = self.queue.read_resp_ready.val();
        self.host_read.b_req_valid.next = self.sequencer.read_req_valid.val();
        self.host_read.b_req_addr.next = self.sequencer.read_req_addr.val();
        self.host_read.b_req_bytes.next = self.sequencer.read_req_bytes.val();
        self.host_read.b_resp_ready.next = self.sequencer.read_resp_ready.val();
        self.host_read.m_axis_ctrl_dma_read_desc_ready.next =
            self.m_axis_ctrl_dma_read_desc_ready.val();
        self.host_read.s_axis_ctrl_dma_read_desc_status_tag.next =
            self.s_axis_ctrl_dma_read_desc_status_tag.val();
        self.host_read.s_axis_ctrl_dma_read_desc_status_error.next =
            self.s_axis_ctrl_dma_read_desc_status_error.val();
        self.host_read.s_axis_ctrl_dma_read_desc_status_valid.next =
            self.s_axis_ctrl_dma_read_desc_status_valid.val();
        self.host_read.ctrl_dma_ram_wr_cmd_sel.next = self.ctrl_dma_ram_wr_cmd_sel.val();
        self.host_read.ctrl_dma_ram_wr_cmd_be.next = self.ctrl_dma_ram_wr_cmd_be.val();
        self.host_read.ctrl_dma_ram_wr_cmd_addr.next = self.ctrl_dma_ram_wr_cmd_addr.val();
        self.host_read.ctrl_dma_ram_wr_cmd_data.next = self.ctrl_dma_ram_wr_cmd_data.val();
        self.host_read.ctrl_dma_ram_wr_cmd_valid.next = self.ctrl_dma_ram_wr_cmd_valid.val();
        self.m_axis_ctrl_dma_read_desc_dma_addr.next =
            self.host_read.m_axis_ctrl_dma_read_desc_dma_addr.val();
        self.m_axis_ctrl_dma_read_desc_ram_sel.next =
            self.host_read.m_axis_ctrl_dma_read_desc_ram_sel.val();
        self.m_axis_ctrl_dma_read_desc_ram_addr.next =
            self.host_read.m_axis_ctrl_dma_read_desc_ram_addr.val();
        self.m_axis_ctrl_dma_read_desc_len.next =
            self.host_read.m_axis_ctrl_dma_read_desc_len.val();
        self.m_axis_ctrl_dma_read_desc_tag.next =
            self.host_read.m_axis_ctrl_dma_read_desc_tag.val();
        self.m_axis_ctrl_dma_read_desc_valid.next =
            self.host_read.m_axis_ctrl_dma_read_desc_valid.val();
        self.ctrl_dma_ram_wr_cmd_ready.next = self.host_read.ctrl_dma_ram_wr_cmd_ready.val();
        self.ctrl_dma_ram_wr_done.next = self.host_read.ctrl_dma_ram_wr_done.val();

        // queue
        self.queue.rst.next = self.reset.val();
        self.queue.doorbell_valid.next = self.control.doorbell_valid.val();
        self.queue.doorbell_queue.next = self.control.doorbell_queue.val();
        self.queue.doorbell_position.next = self.control.doorbell_position.val();
        self.queue.cfg_valid.next = self.control.cfg_valid.val();
        self.queue.cfg_table.next = self.control.cfg_table.val();
        self.queue.cfg_index.next = self.control.cfg_index.val();
        self.queue.cfg_word.next = self.control.cfg_word.val();
        self.queue.cfg_data.next = self.control.cfg_data.val();
        self.queue.queue_halted.next = self.control.queue_halted.val();
        self.queue.read_req_ready.next = self.host_read.a_req_ready.val();
        self.queue.read_resp_valid.next = self.host_read.a_resp_valid.val();
        self.queue.read_resp_data.next = self.host_read.a_resp_data.val();
        self.queue.read_resp_last.next = self.host_read.a_resp_last.val();
        self.queue.read_resp_error.next = self.host_read.a_resp_error.val();
        self.queue.wqe_ready.next = self.decoder.wqe_ready.val();

        // decoder
        self.decoder.rst.next = self.reset.val();
        self.decoder.wqe_valid.next = self.queue.wqe_valid.val();
        self.decoder.wqe_data.next = self.queue.wqe_data.val();
        self.decoder.wqe_queue.next = self.queue.wqe_queue.val();
        self.decoder.wqe_position.next = self.queue.wqe_position.val();
        self.decoder.wqe_remaining.next = self.queue.wqe_remaining.val();
        self.decoder.wqe_error.next = self.queue.wqe_error.val();
        self.decoder.cfg_valid.next = self.control.cfg_valid.val();
        self.decoder.cfg_table.next = self.control.cfg_table.val();
        self.decoder.cfg_index.next = self.control.cfg_index.val();
        self.decoder.cfg_word.next = self.control.cfg_word.val();
        self.decoder.cfg_data.next = self.control.cfg_data.val();
        self.decoder.qp_error.next = self.control.qp_error.val();
        self.decoder.queue_halted.next = self.control.queue_halted.val();
        self.decoder.slot_free_valid.next = self.completion.slot_free_valid.val();
        self.decoder.slot_free_slot.next = self.completion.slot_free_slot.val();
        self.decoder.release_valid.next = self.segmenter.release_valid.val();
        self.decoder.open_ready.next = self.completion.open_ready.val();
        self.decoder.request_ready.next = self.sequencer.request_ready.val();

        // sequencer
        self.sequencer.rst.next = self.reset.val();
        self.sequencer.request_valid.next = self.decoder.request_valid.val();
        self.sequencer.request_slot.next = self.decoder.request_slot.val();
        self.sequencer.request_dests.next = self.decoder.request_dests.val();
        self.sequencer.request_first_dest.next = self.decoder.request_first_dest.val();
        self.sequencer.request_status.next = self.decoder.request_status.val();
        self.sequencer.request_bad_dest.next = self.decoder.request_bad_dest.val();
        self.sequencer.release_valid.next = self.segmenter.release_valid.val();
        self.sequencer.qp_error.next = self.control.qp_error.val();
        self.sequencer.dest_write_qp.next = self.decoder.dest_write_qp.val();
        self.sequencer.lane_write_valid.next = self.decoder.lane_write_valid.val();
        self.sequencer.lane_write_set.next = self.decoder.lane_write_set.val();
        self.sequencer.lane_write_lane.next = self.decoder.lane_write_lane.val();
        self.sequencer.lane_write_base.next = self.decoder.lane_write_base.val();
        self.sequencer.lane_write_step.next = self.decoder.lane_write_step.val();
        self.sequencer.lane_write_len.next = self.decoder.lane_write_len.val();
        self.sequencer.set_write_valid.next = self.decoder.set_write_valid.val();
        self.sequencer.set_write_set.next = self.decoder.set_write_set.val();
        self.sequencer.set_write_kind.next = self.decoder.set_write_kind.val();
        self.sequencer.set_write_ids.next = self.decoder.set_write_ids.val();
        self.sequencer.set_write_fetch.next = self.decoder.set_write_fetch.val();
        self.sequencer.set_write_addr.next = self.decoder.set_write_addr.val();
        self.sequencer.set_write_count.next = self.decoder.set_write_count.val();
        self.sequencer.set_write_lanes.next = self.decoder.set_write_lanes.val();
        self.sequencer.set_write_row_bytes.next = self.decoder.set_write_row_bytes.val();
        self.sequencer.set_write_beat_start.next = self.decoder.set_write_beat_start.val();
        self.sequencer.set_write_target_addr.next = self.decoder.set_write_target_addr.val();
        self.sequencer.set_write_target_len.next = self.decoder.set_write_target_len.val();
        self.sequencer.set_write_low.next = self.decoder.set_write_low.val();
        self.sequencer.set_write_high.next = self.decoder.set_write_high.val();
        self.sequencer.dest_write_valid.next = self.decoder.dest_write_valid.val();
        self.sequencer.dest_write_dest.next = self.decoder.dest_write_dest.val();
        self.sequencer.dest_write_sets.next = self.decoder.dest_write_sets.val();
        self.sequencer.dest_write_first_set.next = self.decoder.dest_write_first_set.val();
        self.sequencer.dest_write_opcode.next = self.decoder.dest_write_opcode.val();
        self.sequencer.dest_write_transport.next = self.decoder.dest_write_transport.val();
        self.sequencer.dest_write_log_mtu.next = self.decoder.dest_write_log_mtu.val();
        self.sequencer.dest_write_element_mask.next = self.decoder.dest_write_element_mask.val();
        self.sequencer.dest_write_rows_per_message.next =
            self.decoder.dest_write_rows_per_message.val();
        self.sequencer.dest_write_partition.next = self.decoder.dest_write_partition.val();
        self.sequencer.dest_write_alike.next = self.decoder.dest_write_alike.val();
        self.sequencer.column_min_rows.next = self.control.column_min_rows.val();
        self.sequencer.column_item_ready.next = self.columns.item_ready.val();
        self.sequencer.column_resp_ready.next = self.columns.resp_ready.val();
        self.sequencer.column_idle.next = self.columns.idle.val();
        self.sequencer.column_failed.next = self.columns.failed.val();
        self.sequencer.column_fail_index.next = self.columns.fail_index.val();
        self.sequencer.read_req_ready.next = self.host_read.b_req_ready.val();
        self.sequencer.read_resp_valid.next = self.host_read.b_resp_valid.val();
        self.sequencer.read_resp_data.next = self.host_read.b_resp_data.val();
        self.sequencer.read_resp_last.next = self.host_read.b_resp_last.val();
        self.sequencer.read_resp_error.next = self.host_read.b_resp_error.val();
        self.sequencer.token_ready.next = self.expander.token_ready.val();

        // expander
        self.expander.rst.next = self.reset.val();
        self.expander.lane_write_valid.next = self.decoder.lane_write_valid.val();
        self.expander.lane_write_set.next = self.decoder.lane_write_set.val();
        self.expander.lane_write_lane.next = self.decoder.lane_write_lane.val();
        self.expander.lane_write_base.next = self.decoder.lane_write_base.val();
        self.expander.lane_write_step.next = self.decoder.lane_write_step.val();
        self.expander.lane_write_len.next = self.decoder.lane_write_len.val();
        self.expander.token_valid.next = self.sequencer.token_valid.val();
        self.expander.token_set.next = self.sequencer.token_set.val();
        self.expander.token_first.next = self.sequencer.token_first.val();
        self.expander.token_last.next = self.sequencer.token_last.val();
        self.expander.token_piece.next = self.sequencer.token_piece.val();
        self.expander.token_offset.next = self.sequencer.token_offset.val();
        self.expander.token_bytes.next = self.sequencer.token_bytes.val();
        self.expander.token_row.next = self.sequencer.token_row.val();
        self.expander.token_pointer.next = self.sequencer.token_pointer.val();
        self.expander.token_dest.next = self.sequencer.token_dest.val();
        self.expander.token_slot.next = self.sequencer.token_slot.val();
        self.expander.token_unit_end.next = self.sequencer.token_unit_end.val();
        self.expander.token_message_end.next = self.sequencer.token_message_end.val();
        self.expander.token_message_start.next = self.sequencer.token_message_start.val();
        self.expander.token_message_bytes.next = self.sequencer.token_message_bytes.val();
        self.expander.token_chunk_start.next = self.sequencer.token_chunk_start.val();
        self.expander.token_chunk_blocks.next = self.sequencer.token_chunk_blocks.val();
        self.expander.token_request_end.next = self.sequencer.token_request_end.val();
        self.expander.token_dest_end.next = self.sequencer.token_dest_end.val();
        self.expander.token_status.next = self.sequencer.token_status.val();
        self.expander.token_bad_dest.next = self.sequencer.token_bad_dest.val();
        self.expander.token_column.next = self.sequencer.token_column.val();
        self.expander.token_rows.next = self.sequencer.token_rows.val();
        self.expander.beat_ready.next = self.windows.beat_ready.val();

        // windows
        self.windows.rst.next = self.reset.val();
        self.windows.beat_valid.next = self.expander.beat_valid.val();
        self.windows.beat_column.next = self.expander.beat_column.val();
        self.windows.beat_slot.next = self.expander.beat_slot.val();
        self.windows.fetch_write_valid.next = self.decoder.fetch_write_valid.val();
        self.windows.fetch_write_slot.next = self.decoder.fetch_write_slot.val();
        self.windows.fetch_write_plan.next = self.decoder.fetch_write_plan.val();
        self.windows.max_read.next = self.control.max_read.val();
        self.windows.merge_threshold.next = self.control.merge_threshold.val();
        self.windows.row_ready.next = self.placer.beat_ready.val();
        self.windows.header_ready.next = self.columns.header_ready.val();
        self.windows.header_opens.next = self.columns.header_opens.val();
        self.windows.header_last.next = self.columns.header_last.val();
        self.windows.opened.next = self.placer.window_opened.val();
        self.windows.placer_busy.next = self.placer.busy.val();
        self.windows.window_free.next = self.gather.window_free.val();
        self.windows.box_end.next = self.boxes.done.val();
        self.windows.bytes_end.next = self.bytes.done.val();

        // placer
        self.placer.rst.next = self.reset.val();
        self.placer.max_read.next = self.windows.plan_max_read.val();
        self.placer.merge_threshold.next = self.windows.plan_merge_threshold.val();
        self.placer.window_granted.next = self.windows.granted.val();
        self.placer.window_number.next = self.windows.number.val();
        self.placer.flush.next = self.windows.flush.val();
        self.placer.beat_valid.next = self.windows.row_valid.val();
        self.placer.beat_addr.next = self.expander.beat_addr.val();
        self.placer.beat_len.next = self.expander.beat_len.val();
        self.placer.beat_pos.next = self.expander.beat_pos.val();
        self.placer.beat_dest.next = self.expander.beat_dest.val();
        self.placer.beat_slot.next = self.expander.beat_slot.val();
        self.placer.beat_bytes.next = self.expander.beat_bytes.val();
        self.placer.beat_unit_end.next = self.expander.beat_unit_end.val();
        self.placer.beat_message_start.next = self.expander.beat_message_start.val();
        self.placer.beat_message_end.next = self.expander.beat_message_end.val();
        self.placer.beat_message_bytes.next = self.expander.beat_message_bytes.val();
        self.placer.beat_chunk_start.next = self.expander.beat_chunk_start.val();
        self.placer.beat_chunk_blocks.next = self.expander.beat_chunk_blocks.val();
        self.placer.beat_request_end.next = self.expander.beat_request_end.val();
        self.placer.beat_dest_end.next = self.expander.beat_dest_end.val();
        self.placer.beat_status.next = self.expander.beat_status.val();
        self.placer.beat_bad_dest.next = self.expander.beat_bad_dest.val();
        self.placer.placed_ready.next = self.fragments.placed_ready.val();
        self.placer.box_ready.next = self.boxes.a_ready.val();

        // columns
        self.columns.rst.next = self.reset.val();
        self.columns.max_read.next = self.windows.plan_max_read.val();
        self.columns.merge_threshold.next = self.windows.plan_merge_threshold.val();
        self.columns.item_valid.next = self.sequencer.column_item_valid.val();
        self.columns.item.next = self.sequencer.column_item_item.val();
        self.columns.item_context.next = self.sequencer.column_item_context.val();
        self.columns.resp_valid.next = self.sequencer.column_resp_valid.val();
        self.columns.resp_data.next = self.sequencer.column_resp_data.val();
        self.columns.resp_error.next = self.sequencer.column_resp_error.val();
        self.columns.resp_ids.next = self.sequencer.column_resp_ids.val();
        self.columns.resp_last.next = self.sequencer.column_resp_last.val();
        self.columns.resp_fetch.next = self.sequencer.column_resp_fetch.val();
        self.columns.clear.next = self.sequencer.column_clear.val();
        self.columns.header_valid.next = self.windows.header_valid.val();
        self.columns.header_addr.next = self.expander.beat_addr.val();
        self.columns.header_len.next = self.expander.beat_len.val();
        self.columns.header_step.next = self.expander.beat_step.val();
        self.columns.header_rows.next = self.expander.beat_rows.val();
        self.columns.header_window.next = self.windows.number.val();
        self.columns.box_ready.next = self.boxes.b_ready.val();
        self.columns.bytes_ready.next = self.bytes.b_ready.val();

        // boxes of both paths
        self.boxes.rst.next = self.reset.val();
        self.boxes.open.next = self.windows.box_open.val();
        self.boxes.is_b.next = self.windows.box_column.val();
        self.boxes.a_valid.next = self.placer.box_valid.val();
        self.boxes.a_end.next = self.placer.box_window_end.val();
        self.placer_box.next.addr = self.placer.box_addr.val();
        self.placer_box.next.ram = self.placer.box_ram.val();
        self.placer_box.next.len = self.placer.box_len.val();
        self.placer_box.next.window = self.placer.box_window.val();
        self.placer_box.next.window_end = self.placer.box_window_end.val();
        self.boxes.a.next = self.placer_box.val();
        self.boxes.b_valid.next = self.columns.box_valid.val();
        self.boxes.b_end.next = self.columns.box_window_end.val();
        self.column_box.next.addr = self.columns.box_addr.val();
        self.column_box.next.ram = self.columns.box_ram.val();
        self.column_box.next.len = self.columns.box_len.val();
        self.column_box.next.window = self.columns.box_window.val();
        self.column_box.next.window_end = self.columns.box_window_end.val();
        self.boxes.b.next = self.column_box.val();
        self.boxes.out_ready.next = self.reader.box_ready.val();

        // reader
        self.reader.rst.next = self.reset.val();
        self.reader.box_valid.next = self.boxes.out_valid.val();
        self.reader.box_addr.next = self.boxes.out.val().addr;
        self.reader.box_ram.next = self.boxes.out.val().ram;
        self.reader.box_len.next = self.boxes.out.val().len;
        self.reader.box_window.next = self.boxes.out.val().window;
        self.reader.box_window_end.next = self.boxes.out.val().window_end;
        self.reader.m_axis_data_dma_read_desc_ready.next =
            self.m_axis_data_dma_read_desc_ready.val();
        self.reader.s_axis_data_dma_read_desc_status_tag.next =
            self.s_axis_data_dma_read_desc_status_tag.val();
        self.reader.s_axis_data_dma_read_desc_status_error.next =
            self.s_axis_data_dma_read_desc_status_error.val();
        self.reader.s_axis_data_dma_read_desc_status_valid.next =
            self.s_axis_data_dma_read_desc_status_valid.val();
        self.reader.window_ready_ready.next = self.gather.window_ready_ready.val();
        self.reader.read_error_ready.next = self.gather.read_error_ready.val();
        self.m_axis_data_dma_read_desc_dma_addr.next =
            self.reader.m_axis_data_dma_read_desc_dma_addr.val();
        self.m_axis_data_dma_read_desc_ram_sel.next =
            self.reader.m_axis_data_dma_read_desc_ram_sel.val();
        self.m_axis_data_dma_read_desc_ram_addr.next =
            self.reader.m_axis_data_dma_read_desc_ram_addr.val();
        self.m_axis_data_dma_read_desc_len.next = self.reader.m_axis_data_dma_read_desc_len.val();
        self.m_axis_data_dma_read_desc_tag.next = self.reader.m_axis_data_dma_read_desc_tag.val();
        self.m_axis_data_dma_read_desc_valid.next =
            self.reader.m_axis_data_dma_read_desc_valid.val();

        // segmented_memory
        for g in 0..4 {
            self.segmented_memory[g].data_dma_ram_wr_cmd_be.next =
                self.data_dma_ram_wr_cmd_be.val();
            self.segmented_memory[g].data_dma_ram_wr_cmd_addr.next =
                self.data_dma_ram_wr_cmd_addr.val();
            self.segmented_memory[g].data_dma_ram_wr_cmd_data.next =
                self.data_dma_ram_wr_cmd_data.val();
            self.segmented_memory[g].data_dma_ram_wr_cmd_valid.next =
                self.data_dma_ram_wr_cmd_valid.val();
            self.segmented_memory[g].read_row.next = self.gather.read_row[g].val();
            self.segmented_memory[g].read_enable.next = self.gather.read_enable[g].val();
            self.gather.read_data[g].next = self.segmented_memory[g].read_data.val();
        }
        self.data_dma_ram_wr_cmd_ready.next =
            self.segmented_memory[0].data_dma_ram_wr_cmd_ready.val();
        self.data_dma_ram_wr_done.next = self.segmented_memory[0].data_dma_ram_wr_done.val();

        // fragments
        self.fragments.rst.next = self.reset.val();
        self.fragments.placed_valid.next = self.placer.placed_valid.val();
        self.fragments.placed_ram.next = self.placer.placed_ram.val();
        self.fragments.placed_len.next = self.placer.placed_len.val();
        self.fragments.placed_pos.next = self.placer.placed_pos.val();
        self.fragments.placed_window.next = self.placer.placed_window.val();
        self.fragments.placed_window_end.next = self.placer.placed_window_end.val();
        self.fragments.placed_beat_end.next = self.placer.placed_beat_end.val();
        self.fragments.placed_dest.next = self.placer.placed_dest.val();
        self.fragments.placed_slot.next = self.placer.placed_slot.val();
        self.fragments.placed_bytes.next = self.placer.placed_bytes.val();
        self.fragments.placed_message_start.next = self.placer.placed_message_start.val();
        self.fragments.placed_message_end.next = self.placer.placed_message_end.val();
        self.fragments.placed_message_bytes.next = self.placer.placed_message_bytes.val();
        self.fragments.placed_request_end.next = self.placer.placed_request_end.val();
        self.fragments.placed_dest_end.next = self.placer.placed_dest_end.val();
        self.fragments.placed_status.next = self.placer.placed_status.val();
        self.fragments.placed_bad_dest.next = self.placer.placed_bad_dest.val();
        self.fragments.bytes_ready.next = self.bytes.a_ready.val();

        // bytes of both paths
        self.bytes.rst.next = self.reset.val();
        self.bytes.open.next = self.windows.bytes_open.val();
        self.bytes.is_b.next = self.windows.bytes_column.val();
        self.bytes.a_valid.next = self.fragments.bytes_valid.val();
        self.bytes.a_end.next = self.fragments.bytes_window_end.val();
        self.row_bytes.next.mask = self.fragments.bytes_mask.val();
        self.row_bytes.next.ram = self.fragments.bytes_ram.val();
        self.row_bytes.next.window = self.fragments.bytes_window.val();
        self.row_bytes.next.window_end = self.fragments.bytes_window_end.val();
        self.row_bytes.next.beat_end = self.fragments.bytes_beat_end.val();
        self.row_bytes.next.dest = self.fragments.bytes_dest.val();
        self.row_bytes.next.slot = self.fragments.bytes_slot.val();
        self.row_bytes.next.bytes = self.fragments.bytes_bytes.val();
        self.row_bytes.next.message_start = self.fragments.bytes_message_start.val();
        self.row_bytes.next.message_end = self.fragments.bytes_message_end.val();
        self.row_bytes.next.message_bytes = self.fragments.bytes_message_bytes.val();
        self.row_bytes.next.request_end = self.fragments.bytes_request_end.val();
        self.row_bytes.next.dest_end = self.fragments.bytes_dest_end.val();
        self.row_bytes.next.status = self.fragments.bytes_status.val();
        self.row_bytes.next.bad_dest = self.fragments.bytes_bad_dest.val();
        self.bytes.a.next = self.row_bytes.val();
        self.bytes.b_valid.next = self.columns.bytes_valid.val();
        self.bytes.b_end.next = self.columns.bytes_window_end.val();
        self.column_bytes.next.mask = self.columns.bytes_mask.val();
        self.column_bytes.next.ram = self.columns.bytes_ram.val();
        self.column_bytes.next.window = self.columns.bytes_window.val();
        self.column_bytes.next.window_end = self.columns.bytes_window_end.val();
        self.column_bytes.next.beat_end = self.columns.bytes_beat_end.val();
        self.column_bytes.next.dest = self.columns.bytes_dest.val();
        self.column_bytes.next.slot = self.columns.bytes_slot.val();
        self.column_bytes.next.bytes = self.columns.bytes_bytes.val();
        self.column_bytes.next.message_start = self.columns.bytes_message_start.val();
        self.column_bytes.next.message_end = self.columns.bytes_message_end.val();
        self.column_bytes.next.message_bytes = self.columns.bytes_message_bytes.val();
        self.column_bytes.next.request_end = self.columns.bytes_request_end.val();
        self.column_bytes.next.dest_end = self.columns.bytes_dest_end.val();
        self.column_bytes.next.status = self.columns.bytes_status.val();
        self.column_bytes.next.bad_dest = self.columns.bytes_bad_dest.val();
        self.bytes.b.next = self.column_bytes.val();
        self.bytes.out_ready.next = self.gather.bytes_ready.val();

        // gather
        self.gather.rst.next = self.reset.val();
        self.gather.words.next = self.control.assembler_words.val();
        self.gather.bytes_valid.next = self.bytes.out_valid.val();
        self.gather.bytes_mask.next = self.bytes.out.val().mask;
        self.gather.bytes_ram.next = self.bytes.out.val().ram;
        self.gather.bytes_window.next = self.bytes.out.val().window;
        self.gather.bytes_window_end.next = self.bytes.out.val().window_end;
        self.gather.bytes_beat_end.next = self.bytes.out.val().beat_end;
        self.gather.bytes_dest.next = self.bytes.out.val().dest;
        self.gather.bytes_slot.next = self.bytes.out.val().slot;
        self.gather.bytes_bytes.next = self.bytes.out.val().bytes;
        self.gather.bytes_message_start.next = self.bytes.out.val().message_start;
        self.gather.bytes_message_end.next = self.bytes.out.val().message_end;
        self.gather.bytes_message_bytes.next = self.bytes.out.val().message_bytes;
        self.gather.bytes_request_end.next = self.bytes.out.val().request_end;
        self.gather.bytes_dest_end.next = self.bytes.out.val().dest_end;
        self.gather.bytes_status.next = self.bytes.out.val().status;
        self.gather.bytes_bad_dest.next = self.bytes.out.val().bad_dest;
        self.gather.window_ready_valid.next = self.reader.window_ready_valid.val();
        self.gather.window_ready_window.next = self.reader.window_ready_window.val();
        self.gather.read_error_valid.next = self.reader.read_error_valid.val();
        self.gather.read_error_window.next = self.reader.read_error_window.val();
        self.gather.read_error_ram.next = self.reader.read_error_ram.val();
        self.gather.read_error_len.next = self.reader.read_error_len.val();
        self.gather.payload_ready.next = self.segmenter.payload_ready.val();

        // segmenter
        self.segmenter.rst.next = self.reset.val();
        self.segmenter.payload_valid.next = self.gather.payload_valid.val();
        self.segmenter.payload_data.next = self.gather.payload_data.val();
        self.segmenter.payload_mask.next = self.gather.payload_mask.val();
        self.segmenter.payload_part_end.next = self.gather.payload_part_end.val();
        self.segmenter.payload_error.next = self.gather.payload_error.val();
        self.segmenter.payload_dest.next = self.gather.payload_dest.val();
        self.segmenter.payload_slot.next = self.gather.payload_slot.val();
        self.segmenter.payload_bytes.next = self.gather.payload_bytes.val();
        self.segmenter.payload_message_start.next = self.gather.payload_message_start.val();
        self.segmenter.payload_message_end.next = self.gather.payload_message_end.val();
        self.segmenter.payload_message_bytes.next = self.gather.payload_message_bytes.val();
        self.segmenter.payload_request_end.next = self.gather.payload_request_end.val();
        self.segmenter.payload_dest_end.next = self.gather.payload_dest_end.val();
        self.segmenter.payload_status.next = self.gather.payload_status.val();
        self.segmenter.payload_bad_dest.next = self.gather.payload_bad_dest.val();
        self.segmenter.dest_write_valid.next = self.decoder.dest_write_valid.val();
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
        self.segmenter.cfg_valid.next = self.control.cfg_valid.val();
        self.segmenter.cfg_table.next = self.control.cfg_table.val();
        self.segmenter.cfg_index.next = self.control.cfg_index.val();
        self.segmenter.cfg_word.next = self.control.cfg_word.val();
        self.segmenter.cfg_data.next = self.control.cfg_data.val();
        self.segmenter.qp_error.next = self.control.qp_error.val();
        self.segmenter.packet_ready.next = self.packetizer.packet_ready.val();
        self.segmenter.page_read_enable.next = self.packetizer.page_read_enable.val();
        self.segmenter.page_read_address.next = self.packetizer.page_read_address.val();
        self.segmenter.page_free_valid.next = self.packetizer.page_free_valid.val();
        self.segmenter.page_free_page.next = self.packetizer.page_free_page.val();

        // packetizer
        self.packetizer.rst.next = self.reset.val();
        self.packetizer.packet_valid.next = self.segmenter.packet_valid.val();
        self.packetizer.packet_marker.next = self.segmenter.packet_marker.val();
        self.packetizer.packet_page.next = self.segmenter.packet_page.val();
        self.packetizer.packet_bytes.next = self.segmenter.packet_bytes.val();
        self.packetizer.packet_qp.next = self.segmenter.packet_qp.val();
        self.packetizer.packet_operation.next = self.segmenter.packet_operation.val();
        self.packetizer.packet_ack_req.next = self.segmenter.packet_ack_req.val();
        self.packetizer.packet_psn.next = self.segmenter.packet_psn.val();
        self.packetizer.packet_remote_addr.next = self.segmenter.packet_remote_addr.val();
        self.packetizer.packet_rkey.next = self.segmenter.packet_rkey.val();
        self.packetizer.packet_message_bytes.next = self.segmenter.packet_message_bytes.val();
        self.packetizer.packet_imm.next = self.segmenter.packet_imm.val();
        self.packetizer.packet_has_imm.next = self.segmenter.packet_has_imm.val();
        self.packetizer.packet_has_reth.next = self.segmenter.packet_has_reth.val();
        self.packetizer.packet_slot.next = self.segmenter.packet_slot.val();
        self.packetizer.packet_kind.next = self.segmenter.packet_kind.val();
        self.packetizer.packet_status.next = self.segmenter.packet_status.val();
        self.packetizer.packet_bad_dest.next = self.segmenter.packet_bad_dest.val();
        self.packetizer.packet_total.next = self.segmenter.packet_total.val();
        self.packetizer.page_read_data.next = self.segmenter.page_read_data.val();
        self.packetizer.cfg_valid.next = self.control.cfg_valid.val();
        self.packetizer.cfg_table.next = self.control.cfg_table.val();
        self.packetizer.cfg_index.next = self.control.cfg_index.val();
        self.packetizer.cfg_word.next = self.control.cfg_word.val();
        self.packetizer.cfg_data.next = self.control.cfg_data.val();
        self.packetizer.mac.next = self.control.mac.val();
        self.packetizer.ip.next = self.control.ip.val();
        self.packetizer.tx_ready.next = self.mac.tx_ready.val();
        self.packetizer.sent_ready.next = self.completion.sent_ready.val();

        // mac
        self.mac.s_axis_if_tx_tdata.next = self.s_axis_if_tx_tdata.val();
        self.mac.s_axis_if_tx_tkeep.next = self.s_axis_if_tx_tkeep.val();
        self.mac.s_axis_if_tx_tvalid.next = self.s_axis_if_tx_tvalid.val();
        self.mac.s_axis_if_tx_tlast.next = self.s_axis_if_tx_tlast.val();
        self.mac.s_axis_if_tx_tid.next = self.s_axis_if_tx_tid.val();
        self.mac.s_axis_if_tx_tdest.next = self.s_axis_if_tx_tdest.val();
        self.mac.s_axis_if_tx_tuser.next = self.s_axis_if_tx_tuser.val();
        self.mac.card_reset.next = self.control.soft_reset.val();
        self.mac.tx_valid.next = self.packetizer.tx_valid.val();
        self.mac.tx_data.next = self.packetizer.tx_data.val();
        self.mac.tx_keep.next = self.packetizer.tx_keep.val();
        self.mac.tx_last.next = self.packetizer.tx_last.val();
        self.mac.m_axis_if_tx_tready.next = self.m_axis_if_tx_tready.val();
        self.mac.s_axis_if_tx_cpl_ts.next = self.s_axis_if_tx_cpl_ts.val();
        self.mac.s_axis_if_tx_cpl_tag.next = self.s_axis_if_tx_cpl_tag.val();
        self.mac.s_axis_if_tx_cpl_valid.next = self.s_axis_if_tx_cpl_valid.val();
        self.mac.m_axis_if_tx_cpl_ready.next = self.m_axis_if_tx_cpl_ready.val();
        self.s_axis_if_tx_tready.next = self.mac.s_axis_if_tx_tready.val();
        self.m_axis_if_tx_tdata.next = self.mac.m_axis_if_tx_tdata.val();
        self.m_axis_if_tx_tkeep.next = self.mac.m_axis_if_tx_tkeep.val();
        self.m_axis_if_tx_tvalid.next = self.mac.m_axis_if_tx_tvalid.val();
        self.m_axis_if_tx_tlast.next = self.mac.m_axis_if_tx_tlast.val();
        self.m_axis_if_tx_tid.next = self.mac.m_axis_if_tx_tid.val();
        self.m_axis_if_tx_tdest.next = self.mac.m_axis_if_tx_tdest.val();
        self.m_axis_if_tx_tuser.next = self.mac.m_axis_if_tx_tuser.val();
        self.s_axis_if_tx_cpl_ready.next = self.mac.s_axis_if_tx_cpl_ready.val();
        self.m_axis_if_tx_cpl_ts.next = self.mac.m_axis_if_tx_cpl_ts.val();
        self.m_axis_if_tx_cpl_tag.next = self.mac.m_axis_if_tx_cpl_tag.val();
        self.m_axis_if_tx_cpl_valid.next = self.mac.m_axis_if_tx_cpl_valid.val();

        // receiver
        self.receiver.cfg_valid.next = self.control.cfg_valid.val();
        self.receiver.cfg_table.next = self.control.cfg_table.val();
        self.receiver.cfg_index.next = self.control.cfg_index.val();
        self.receiver.cfg_word.next = self.control.cfg_word.val();
        self.receiver.cfg_data.next = self.control.cfg_data.val();
        self.receiver.mac.next = self.control.mac.val();
        self.receiver.ip.next = self.control.ip.val();
        self.receiver.s_axis_if_rx_tdata.next = self.s_axis_if_rx_tdata.val();
        self.receiver.s_axis_if_rx_tkeep.next = self.s_axis_if_rx_tkeep.val();
        self.receiver.s_axis_if_rx_tvalid.next = self.s_axis_if_rx_tvalid.val();
        self.receiver.s_axis_if_rx_tlast.next = self.s_axis_if_rx_tlast.val();
        self.receiver.s_axis_if_rx_tid.next = self.s_axis_if_rx_tid.val();
        self.receiver.s_axis_if_rx_tdest.next = self.s_axis_if_rx_tdest.val();
        self.receiver.s_axis_if_rx_tuser.next = self.s_axis_if_rx_tuser.val();
        self.receiver.m_axis_if_rx_tready.next = self.m_axis_if_rx_tready.val();
        self.receiver.ack_ready.next = self.completion.ack_ready.val();
        self.s_axis_if_rx_tready.next = self.receiver.s_axis_if_rx_tready.val();
        self.m_axis_if_rx_tdata.next = self.receiver.m_axis_if_rx_tdata.val();
        self.m_axis_if_rx_tkeep.next = self.receiver.m_axis_if_rx_tkeep.val();
        self.m_axis_if_rx_tvalid.next = self.receiver.m_axis_if_rx_tvalid.val();
        self.m_axis_if_rx_tlast.next = self.receiver.m_axis_if_rx_tlast.val();
        self.m_axis_if_rx_tid.next = self.receiver.m_axis_if_rx_tid.val();
        self.m_axis_if_rx_tdest.next = self.receiver.m_axis_if_rx_tdest.val();
        self.m_axis_if_rx_tuser.next = self.receiver.m_axis_if_rx_tuser.val();

        // completion
        self.completion.rst.next = self.reset.val();
        self.completion.cfg_valid.next = self.control.cfg_valid.val();
        self.completion.cfg_table.next = self.control.cfg_table.val();
        self.completion.cfg_index.next = self.control.cfg_index.val();
        self.completion.cfg_word.next = self.control.cfg_word.val();
        self.completion.cfg_data.next = self.control.cfg_data.val();
        self.completion.timeout.next = self.control.ack_timeout.val();
        self.completion.open_valid.next = self.decoder.open_valid.val();
        self.completion.open_slot.next = self.decoder.open_slot.val();
        self.completion.open_queue.next = self.decoder.open_queue.val();
        self.completion.open_wr_id.next = self.decoder.open_wr_id.val();
        self.completion.sent_valid.next = self.packetizer.sent_valid.val();
        self.completion.sent_slot.next = self.packetizer.sent_slot.val();
        self.completion.sent_qp.next = self.packetizer.sent_qp.val();
        self.completion.sent_kind.next = self.packetizer.sent_kind.val();
        self.completion.sent_psn.next = self.packetizer.sent_psn.val();
        self.completion.sent_status.next = self.packetizer.sent_status.val();
        self.completion.sent_bad_dest.next = self.packetizer.sent_bad_dest.val();
        self.completion.sent_total.next = self.packetizer.sent_total.val();
        self.completion.gone.next = self.packetizer.gone.val();
        self.completion.sending_valid.next = self.packetizer.sending_valid.val();
        self.completion.sending_qp.next = self.packetizer.sending_qp.val();
        self.completion.sending_psn.next = self.packetizer.sending_psn.val();
        self.completion.ack_valid.next = self.receiver.ack_valid.val();
        self.completion.ack_qp.next = self.receiver.ack_qp.val();
        self.completion.ack_psn.next = self.receiver.ack_psn.val();
        self.completion.ack_syndrome.next = self.receiver.ack_syndrome.val();
        self.completion.slot_free_ready.next = self.decoder.slot_free_ready.val();
        self.completion.write_ready.next = self.host_write.write_ready.val();

        // host_write
        self.host_write.write_valid.next = self.completion.write_valid.val();
        self.host_write.write_addr.next = self.completion.write_addr.val();
        self.host_write.write_data.next = self.completion.write_data.val();
        self.host_write.m_axis_ctrl_dma_write_desc_ready.next =
            self.m_axis_ctrl_dma_write_desc_ready.val();
        self.host_write.s_axis_ctrl_dma_write_desc_status_tag.next =
            self.s_axis_ctrl_dma_write_desc_status_tag.val();
        self.host_write.s_axis_ctrl_dma_write_desc_status_valid.next =
            self.s_axis_ctrl_dma_write_desc_status_valid.val();
        self.host_write.ctrl_dma_ram_rd_cmd_sel.next = self.ctrl_dma_ram_rd_cmd_sel.val();
        self.host_write.ctrl_dma_ram_rd_cmd_addr.next = self.ctrl_dma_ram_rd_cmd_addr.val();
        self.host_write.ctrl_dma_ram_rd_cmd_valid.next = self.ctrl_dma_ram_rd_cmd_valid.val();
        self.host_write.ctrl_dma_ram_rd_resp_ready.next = self.ctrl_dma_ram_rd_resp_ready.val();
        self.m_axis_ctrl_dma_write_desc_dma_addr.next =
            self.host_write.m_axis_ctrl_dma_write_desc_dma_addr.val();
        self.m_axis_ctrl_dma_write_desc_ram_sel.next =
            self.host_write.m_axis_ctrl_dma_write_desc_ram_sel.val();
        self.m_axis_ctrl_dma_write_desc_ram_addr.next =
            self.host_write.m_axis_ctrl_dma_write_desc_ram_addr.val();
        self.m_axis_ctrl_dma_write_desc_len.next =
            self.host_write.m_axis_ctrl_dma_write_desc_len.val();
        self.m_axis_ctrl_dma_write_desc_tag.next =
            self.host_write.m_axis_ctrl_dma_write_desc_tag.val();
        self.m_axis_ctrl_dma_write_desc_valid.next =
            self.host_write.m_axis_ctrl_dma_write_desc_valid.val();
        self.ctrl_dma_ram_rd_cmd_ready.next = self.host_write.ctrl_dma_ram_rd_cmd_ready.val();
        self.ctrl_dma_ram_rd_resp_data.next = self.host_write.ctrl_dma_ram_rd_resp_data.val();
        self.ctrl_dma_ram_rd_resp_valid.next = self.host_write.ctrl_dma_ram_rd_resp_valid.val();
    }
}

/// The core as Verilog.
///
/// # Errors
/// If a block cannot be emitted, with its path and the reason.
pub fn core() -> Result<Emitted, EmitError> {
    emit(CORE, Card::default)
}

/// The text of `mqnic_app_block.v`: the published module and everything in it.
///
/// # Errors
/// As [`core`].
pub fn file() -> Result<String, EmitError> {
    Ok(app_block::file(&core()?))
}
