//! The card: every block, wired in the direction of the data.
//!
//! Its ports are those of Corundum's that the card uses, under Corundum's names and with the widths
//! of a U50; [`file`] wraps it into the published module `mqnic_app_block`, which adapts them to the
//! shell's parameters. There is no logic here but what joins blocks.

use crate::shell::corundum::{
    DmaDescriptor, DmaReadStatus, DmaWriteStatus, RxBeat, TxBeat, TxCompletion,
};
use drdma_abi::roce::operation;
use drdma_emit::prelude::*;

use crate::complete::completion::Completion;
use crate::context::States;
use crate::emit::{EmitError, Emitted, emit};
use crate::layout::balance::Balance;
use crate::layout::fragments::Fragments;
use crate::layout::gather::Gather;
use crate::layout::placer::Placer;
use crate::layout::reader::Reader;
use crate::layout::segmented_memory::SegmentedMemory;
use crate::layout::windows::{ByteBeat, Ends, Merge, ReadBox, Starts, Windows};
use crate::primitive::app_block;
use crate::receive::path::ReceivePath;
use crate::request::decoder::Decoder;
use crate::request::queue::Queue;
use crate::rows::columns::Columns;
use crate::rows::expander::Expander;
use crate::rows::sequencer::Sequencer;
use crate::send::answers::Answers;
use crate::send::keeper::Keeper;
use crate::send::pacer::Pacer;
use crate::send::packetizer::Packetizer;
use crate::send::replies::Replies;
use crate::send::segmenter::Segmenter;
use crate::shell::control::Control;
use crate::shell::host_read::HostRead;
use crate::shell::host_write::HostWrite;
use crate::shell::mac::Mac;

#[cfg(test)]
mod tests;

/// Operations that have an answer.
const READ_REQUEST: u64 = operation::READ_REQUEST as u64;
const COMPARE_AND_SWAP: u64 = operation::COMPARE_AND_SWAP as u64;
const FETCH_AND_ADD: u64 = operation::FETCH_AND_ADD as u64;

/// Name of the module inside the published one.
const CORE: &str = "drdma_card";

/// The card. See the [module](self).
#[derive(LogicBlock, BlockDefault)]
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
    /// DMA reads of the control path.
    pub m_axis_ctrl_dma_read_desc: Stream<Out, DmaDescriptor>,
    /// Its reads that have ended.
    pub s_axis_ctrl_dma_read_desc_status: Flow<In, DmaReadStatus>,

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
    /// DMA reads of payload.
    pub m_axis_data_dma_read_desc: Stream<Out, DmaDescriptor>,
    /// DMA reads of payload that have ended.
    pub s_axis_data_dma_read_desc_status: Flow<In, DmaReadStatus>,

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
    /// Frames of the host.
    pub s_axis_if_tx: AxiStream<In, TxBeat>,
    /// Frames to the wire.
    pub m_axis_if_tx: AxiStream<Out, TxBeat>,

    // Transmit completions.
    /// Transmit completions from the MAC.
    pub s_axis_if_tx_cpl: Stream<In, TxCompletion>,
    /// Transmit completions to the host.
    pub m_axis_if_tx_cpl: Stream<Out, TxCompletion>,

    // Frames from the wire.
    /// Frames from the wire.
    pub s_axis_if_rx: AxiStream<In, RxBeat>,
    /// Frames to the host.
    pub m_axis_if_rx: AxiStream<Out, RxBeat>,

    // Data DMA: writes.
    /// DMA writes of payload and completions.
    pub m_axis_data_dma_write_desc: Stream<Out, DmaDescriptor>,
    /// Its writes that have ended.
    pub s_axis_data_dma_write_desc_status: Flow<In, DmaWriteStatus>,

    // Data DMA: the memories that writes empty.
    /// See Corundum's `mqnic_app_block`.
    pub data_dma_ram_rd_cmd_sel: Signal<In, Bits<2>>,
    /// See Corundum's `mqnic_app_block`.
    pub data_dma_ram_rd_cmd_addr: Signal<In, Bits<20>>,
    /// See Corundum's `mqnic_app_block`.
    pub data_dma_ram_rd_cmd_valid: Signal<In, Bits<2>>,
    /// See Corundum's `mqnic_app_block`.
    pub data_dma_ram_rd_cmd_ready: Signal<Out, Bits<2>>,
    /// See Corundum's `mqnic_app_block`.
    pub data_dma_ram_rd_resp_data: Signal<Out, Bits<1024>>,
    /// See Corundum's `mqnic_app_block`.
    pub data_dma_ram_rd_resp_valid: Signal<Out, Bits<2>>,
    /// See Corundum's `mqnic_app_block`.
    pub data_dma_ram_rd_resp_ready: Signal<In, Bits<2>>,

    reset: Signal<Local, Bit>,
    /// Counts down from when something was at work last: an entry in the decoder, a completion on
    /// its way to the host.
    linger: DFF<Bits<7>>,
    control: Control,
    states: States,
    host_read: HostRead,
    queue: Queue,
    decoder: Decoder,
    sequencer: Sequencer,
    expander: Expander,
    windows: Windows,
    balance: Balance,
    ends: Ends,
    columns: Columns,
    boxes: Merge<ReadBox>,
    bytes: Merge<ByteBeat>,
    starts: Starts,
    placer: Placer,
    reader: Reader,
    /// Copies: all are written alike, each is read by a group of the gather.
    segmented_memory: [SegmentedMemory; 4],
    fragments: Fragments,
    gather: Gather,
    segmenter: Segmenter,
    keeper: Keeper,
    pacer: Pacer,
    answers: Answers,
    replies: Replies,
    packetizer: Packetizer,
    mac: Mac,
    receive: ReceivePath,
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

        // host_read
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

        // queue
        self.queue.rst.next = self.reset.val();
        self.queue.hold_valid.next = self.keeper.hold.valid.val();
        self.queue.hold_qp.next = self.keeper.hold.qp.val();
        self.queue.hold_held.next = self.keeper.hold.held.val();
        self.queue.silence_valid.next = self.keeper.silence.valid.val();
        self.queue.silence_qp.next = self.keeper.silence.qp.val();
        self.queue.silence_silent.next = self.keeper.silence.silent.val();
        self.control.doorbell.ready.next = self.queue.doorbell_ready.val();
        self.queue.doorbell_valid.next = self.control.doorbell.valid.val();
        self.queue.doorbell_queue.next = self.control.doorbell.queue.val();
        self.queue.doorbell_position.next = self.control.doorbell.position.val();
        self.queue.cfg_valid.next = self.control.cfg.valid.val();
        self.queue.cfg_table.next = self.control.cfg.table.val();
        self.queue.cfg_index.next = self.control.cfg.index.val();
        self.queue.cfg_word.next = self.control.cfg.word.val();
        self.queue.cfg_data.next = self.control.cfg.data.val();
        self.queue.fetch_halted.next = self.states.halted[0].val();
        self.queue.batch_halted.next = self.states.halted[1].val();
        self.queue.read_req_ready.next = self.host_read.a_req.ready.val();
        self.queue.read_resp_valid.next = self.host_read.a_resp.valid.val();
        self.queue.read_resp_data.next = self.host_read.a_resp.data.val();
        self.queue.read_resp_last.next = self.host_read.a_resp.last.val();
        self.queue.read_resp_error.next = self.host_read.a_resp.error.val();
        self.queue.wqe_ready.next = self.decoder.wqe_ready.val();

        // decoder
        self.decoder.rst.next = self.reset.val();
        self.decoder.wqe_valid.next = self.queue.wqe_valid.val();
        self.decoder.wqe_data.next = self.queue.wqe_data.val();
        self.decoder.wqe_queue.next = self.queue.wqe_queue.val();
        self.decoder.wqe_position.next = self.queue.wqe_position.val();
        self.decoder.wqe_remaining.next = self.queue.wqe_remaining.val();
        self.decoder.wqe_error.next = self.queue.wqe_error.val();
        self.decoder.wqe_begins.next = self.queue.wqe_begins.val();
        self.decoder.wqe_part.next = self.queue.wqe_part.val();
        self.queue.parts_full.next = self.decoder.parts_full.val();
        self.decoder.cfg_valid.next = self.control.cfg.valid.val();
        self.decoder.cfg_table.next = self.control.cfg.table.val();
        self.decoder.cfg_index.next = self.control.cfg.index.val();
        self.decoder.cfg_word.next = self.control.cfg.word.val();
        self.decoder.cfg_data.next = self.control.cfg.data.val();
        self.decoder.qp_error.next = self.states.error[0].val();
        self.decoder.queue_halted.next = self.states.halted[2].val();
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
        self.sequencer.request_apart.next = self.decoder.request_apart.val();
        self.sequencer.request_kinds.next = self.decoder.request_kinds.val();
        self.sequencer.lane_write_kind.next = self.decoder.lane_write_kind.val();
        self.sequencer.set_write_kinds.next = self.decoder.set_write_kinds.val();
        self.control.cfg.join(&mut self.sequencer.cfg);
        self.sequencer.made.join(&mut self.gather.made);
        self.sequencer.request_columns.next = self.decoder.request_columns.val();
        self.sequencer.release_valid.next = self.segmenter.release_valid.val();
        self.sequencer.qp_error.next = self.states.error[1].val();
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
        self.sequencer.set_write_made.next = self.decoder.set_write_made.val();
        self.decoder.function_write.join(&mut self.sequencer.function_write);
        self.decoder.key_write.join(&mut self.sequencer.key_write);
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
        self.sequencer.read_req_ready.next = self.host_read.b_req.ready.val();
        self.sequencer.read_resp_valid.next = self.host_read.b_resp.valid.val();
        self.sequencer.read_resp_data.next = self.host_read.b_resp.data.val();
        self.sequencer.read_resp_last.next = self.host_read.b_resp.last.val();
        self.sequencer.read_resp_error.next = self.host_read.b_resp.error.val();
        self.sequencer.token_ready.next = self.expander.token.ready.val();

        // expander
        self.expander.rst.next = self.reset.val();
        self.expander.lane_write.valid.next = self.decoder.lane_write_valid.val();
        self.expander.lane_write.set.next = self.decoder.lane_write_set.val();
        self.expander.lane_write.lane.next = self.decoder.lane_write_lane.val();
        self.expander.lane_write.base.next = self.decoder.lane_write_base.val();
        self.expander.lane_write.step.next = self.decoder.lane_write_step.val();
        self.expander.lane_write.len.next = self.decoder.lane_write_len.val();
        self.expander.lane_write.inline.next = self.decoder.lane_write_inline.val();
        self.expander.token.valid.next = self.sequencer.token_valid.val();
        self.expander.token.set.next = self.sequencer.token_set.val();
        self.expander.token.first.next = self.sequencer.token_first.val();
        self.expander.token.last.next = self.sequencer.token_last.val();
        self.expander.token.piece.next = self.sequencer.token_piece.val();
        self.expander.token.offset.next = self.sequencer.token_offset.val();
        self.expander.token.bytes.next = self.sequencer.token_bytes.val();
        self.expander.token.row.next = self.sequencer.token_row.val();
        self.expander.token.pointer.next = self.sequencer.token_pointer.val();
        self.expander.token.dest.next = self.sequencer.token_dest.val();
        self.expander.token.slot.next = self.sequencer.token_slot.val();
        self.expander.token.unit_end.next = self.sequencer.token_unit_end.val();
        self.expander.token.message_end.next = self.sequencer.token_message_end.val();
        self.expander.token.message_start.next = self.sequencer.token_message_start.val();
        self.expander.token.message_bytes.next = self.sequencer.token_message_bytes.val();
        self.expander.token.chunk_start.next = self.sequencer.token_chunk_start.val();
        self.expander.token.chunk_blocks.next = self.sequencer.token_chunk_blocks.val();
        self.expander.token.request_end.next = self.sequencer.token_request_end.val();
        self.expander.token.dest_end.next = self.sequencer.token_dest_end.val();
        self.expander.token.status.next = self.sequencer.token_status.val();
        self.expander.token.bad_dest.next = self.sequencer.token_bad_dest.val();
        self.expander.token.column.next = self.sequencer.token_column.val();
        self.expander.token.rows.next = self.sequencer.token_rows.val();
        self.expander.beat.ready.next = self.windows.beat_ready.val();

        // windows
        self.windows.rst.next = self.reset.val();
        self.windows.beat_valid.next = self.expander.beat.valid.val();
        self.windows.beat_column.next = self.expander.beat_column.val();
        self.windows.beat_end.next =
            self.expander.beat.request_end.val() && !self.expander.beat.bytes.val().any();
        self.windows.end_accepted.next = self.ends.end_accepted.val();
        self.windows.beat_slot.next = self.expander.beat.slot.val();
        self.windows.fetch_write_valid.next = self.decoder.fetch_write_valid.val();
        self.windows.fetch_write_slot.next = self.decoder.fetch_write_slot.val();
        self.windows.fetch_write_plan.next = self.decoder.fetch_write_plan.val();
        self.windows.max_read.next = self.control.max_read.val();
        self.windows.merge_threshold.next = self.control.merge_threshold.val();
        self.windows.row_ready.next = self.placer.beat.ready.val();
        self.windows.header_ready.next = self.columns.header_ready.val();
        self.windows.header_opens.next = self.columns.header_opens.val();
        self.windows.header_last.next = self.columns.header_last.val();
        self.windows.opened.next = self.placer.window_opened.val();
        self.windows.closed.next = self.placer.window_closed.val();
        self.windows.closed_size.next = self.placer.window_size.val();
        self.windows.sized.next = self.columns.sized.val();
        self.windows.size.next = self.columns.size.val();
        self.windows.placer_busy.next = self.placer.busy.val();
        self.windows.window_free.next = self.gather.window_free.val();
        self.windows.box_end.next = self.boxes.done.val();
        self.windows.bytes_end.next = self.bytes.done.val();

        // balance
        self.balance.rst.next = self.reset.val();
        self.balance.data_valid.next = self.reader.count_reads.val().any();
        self.balance.data_bytes.next = self.reader.count_bytes.val().get_bits::<13>(0);
        self.balance.control_valid.next = self.host_read.count_reads.val().any();
        self.balance.control_bytes.next = self.host_read.count_bytes.val().get_bits::<13>(0);
        self.balance.mean.next = self.control.read_balance.val();
        self.balance.hold.next = self.windows.planned.val();

        // placer
        self.placer.rst.next = self.reset.val();
        self.placer.max_read.next = self.windows.plan_max_read.val();
        self.placer.merge_threshold.next = self.windows.plan_merge_threshold.val();
        self.placer.gap.next = self.balance.gap.val();
        if self.windows.planned.val() {
            self.placer.gap.next = 4095.into();
        }
        self.placer.window_granted.next = self.windows.granted.val();
        self.placer.window_another.next = self.windows.another.val();
        self.placer.window_number.next = self.windows.number.val();
        self.placer.flush.next = self.windows.flush.val();
        self.placer.beat.valid.next = self.windows.row_valid.val();
        self.placer.beat.next = self.expander.beat.val();
        self.placer.placed.join(&mut self.fragments.placed);

        // columns
        self.columns.rst.next = self.reset.val();
        self.columns.max_read.next = self.windows.plan_max_read.val();
        self.columns.merge_threshold.next = self.windows.plan_merge_threshold.val();
        self.columns.planned.next = self.windows.planned.val();
        self.columns.gap.next = self.balance.gap.val();
        self.columns.item_valid.next = self.sequencer.column_item_valid.val();
        self.columns.item.next = self.sequencer.column_item_item.val();
        self.columns.item_context.next = self.sequencer.column_item_context.val();
        self.columns.resp_valid.next = self.sequencer.column_resp_valid.val();
        self.columns.resp_data.next = self.sequencer.column_resp_data.val();
        self.columns.resp_error.next = self.sequencer.column_resp_error.val();
        self.columns.resp_ids.next = self.sequencer.column_resp_ids.val();
        self.columns.resp_last.next = self.sequencer.column_resp_last.val();
        self.columns.resp_fetch.next = self.sequencer.column_resp_fetch.val();
        self.columns.resp_kept.next = self.sequencer.column_resp_kept.val();
        self.columns.clear.next = self.sequencer.column_clear.val();
        self.columns.counted.join(&mut self.sequencer.column_counted);
        self.columns.header_valid.next = self.windows.header_valid.val();
        self.columns.header_addr.next = self.expander.beat.addr.val();
        self.columns.header_len.next = self.expander.beat.len.val();
        self.columns.header_step.next = self.expander.beat_step.val();
        self.columns.header_rows.next = self.expander.beat_rows.val();
        self.columns.header_window.next = self.windows.number.val();
        self.columns.box_ready.next = self.boxes.b.ready.val();
        self.columns.bytes_ready.next = self.ends.bytes.ready.val();

        // boxes of both paths
        self.boxes.rst.next = self.reset.val();
        self.boxes.open.next = self.windows.box_open.val();
        self.boxes.is_b.next = self.windows.box_column.val();
        self.placer.reads.join(&mut self.boxes.a);
        self.boxes.a_end.next = self.placer.reads.window_end.val();
        self.boxes.b.valid.next = self.columns.box_valid.val();
        self.boxes.b_end.next = self.columns.box_window_end.val();
        self.boxes.b.data.next.addr = self.columns.box_addr.val();
        self.boxes.b.data.next.ram = self.columns.box_ram.val();
        self.boxes.b.data.next.len = self.columns.box_len.val();
        self.boxes.b.data.next.window = self.columns.box_window.val();
        self.boxes.b.data.next.window_end = self.columns.box_window_end.val();

        // reader
        self.reader.rst.next = self.reset.val();
        self.boxes.out.join(&mut self.starts.reads);
        self.starts.read.join(&mut self.reader.reads);
        self.reader.m_axis_data_dma_read_desc.join(&mut self.m_axis_data_dma_read_desc);
        self.s_axis_data_dma_read_desc_status
            .join(&mut self.reader.s_axis_data_dma_read_desc_status);
        self.reader.window_ready.join(&mut self.gather.window_ready);
        self.reader.read_error.join(&mut self.gather.read_error);

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

        // ends of column requests
        self.ends.rst.next = self.reset.val();
        self.ends.opened.next = self.windows.header_valid.val()
            && self.columns.header_ready.val()
            && self.columns.header_opens.val();
        self.ends.opened_window.next = self.windows.number.val();
        self.ends.end_offered.next = self.windows.end_offered.val();
        self.ends.end_window.next = self.windows.last_window.val();
        self.ends.request.next.slot = self.expander.beat.slot.val();
        self.ends.request.next.status = self.expander.beat.status.val();
        self.ends.request.next.dest = self.expander.beat.dest.val();
        self.ends.request.next.dest_end = self.expander.beat.dest_end.val();
        self.ends.request.next.bad_dest = self.expander.beat.bad_dest.val();
        self.ends.bytes.valid.next = self.columns.bytes_valid.val();
        self.ends.bytes.mask.next = self.columns.bytes_mask.val();
        self.ends.bytes.ram.next = self.columns.bytes_ram.val();
        self.ends.bytes.window.next = self.columns.bytes_window.val();
        self.ends.bytes.window_end.next = self.columns.bytes_window_end.val();
        self.ends.bytes.beat_end.next = self.columns.bytes_beat_end.val();
        self.ends.bytes.dest.next = self.columns.bytes_dest.val();
        self.ends.bytes.slot.next = self.columns.bytes_slot.val();
        self.ends.bytes.bytes.next = self.columns.bytes_bytes.val();
        self.ends.bytes.message_start.next = self.columns.bytes_message_start.val();
        self.ends.bytes.message_end.next = self.columns.bytes_message_end.val();
        self.ends.bytes.message_bytes.next = self.columns.bytes_message_bytes.val();
        self.ends.bytes.request_end.next = self.columns.bytes_request_end.val();
        self.ends.bytes.dest_end.next = self.columns.bytes_dest_end.val();
        self.ends.bytes.status.next = self.columns.bytes_status.val();
        self.ends.bytes.bad_dest.next = self.columns.bytes_bad_dest.val();

        // bytes of both paths
        self.bytes.rst.next = self.reset.val();
        self.bytes.open.next = self.windows.bytes_open.val();
        self.bytes.is_b.next = self.windows.bytes_column.val();
        self.fragments.bytes.join(&mut self.bytes.a);
        self.bytes.a_end.next = self.fragments.bytes.window_end.val();
        self.ends.out.join(&mut self.bytes.b);
        self.bytes.b_end.next = self.ends.out.window_end.val();

        // places in the memory
        self.starts.opened.next = self.windows.opens.val();
        self.starts.number.next = self.windows.number.val();
        self.starts.start.next = self.windows.start.val();

        // gather
        self.gather.rst.next = self.reset.val();
        self.gather.words.next = self.control.assembler_words.val();
        self.bytes.out.join(&mut self.starts.bytes);
        self.starts.byte.join(&mut self.gather.bytes);
        self.gather.inline_write.valid.next = self.decoder.inline_write_valid.val();
        self.gather.inline_write.slot.next = self.decoder.inline_write_slot.val();
        self.gather.inline_write.data.next = self.decoder.inline_write_data.val();
        self.gather.payload.ready.next = self.segmenter.payload_ready.val();

        // segmenter
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
        // What is written again is not for the segmenter.
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

        // keeper: packets on their way out, acknowledgements on their way in
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

        // pacer: congestion notifications limit what the keeper sends
        self.pacer.rst.next = self.reset.val();
        self.control.cfg.join(&mut self.pacer.cfg);
        self.control.congestion.join(&mut self.pacer.settings);
        self.receive.notified.join(&mut self.pacer.notified);
        self.keeper.paced.join(&mut self.pacer.packet);
        self.pacer.go.join(&mut self.keeper.go);
        self.pacer.limited_next.next = self.keeper.limited_next.val();
        self.keeper.limited.next = self.pacer.limited.val();

        // answers
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

        // packetizer
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

        // receive: from the wire to host memory, and what is answered
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
        // READs and atomics, as the keeper takes them.
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

        // completion
        self.completion.rst.next = self.reset.val();
        self.completion.cfg_valid.next = self.control.cfg.valid.val();
        self.completion.cfg_table.next = self.control.cfg.table.val();
        self.completion.cfg_index.next = self.control.cfg.index.val();
        self.completion.cfg_word.next = self.control.cfg.word.val();
        self.completion.cfg_data.next = self.control.cfg.data.val();
        self.completion.timeout.next = self.control.ack_timeout.val();
        self.completion.closed.next = self.keeper.closed[0].val();
        self.completion.open_valid.next = self.decoder.open_valid.val();
        self.completion.open_slot.next = self.decoder.open_slot.val();
        self.completion.open_queue.next = self.decoder.open_queue.val();
        self.completion.open_wr_id.next = self.decoder.open_wr_id.val();
        self.completion.open_position.next = self.decoder.open_position.val();
        self.completion.open_unsignaled.next = self.decoder.open_unsignaled.val();
        self.completion.sent_valid.next = self.packetizer.sent.valid.val();
        self.completion.sent_slot.next = self.packetizer.sent.slot.val();
        self.completion.sent_qp.next = self.packetizer.sent.qp.val();
        self.completion.sent_kind.next = self.packetizer.sent.kind.val();
        self.completion.sent_psn.next = self.packetizer.sent.psn.val();
        self.completion.sent_status.next = self.packetizer.sent.status.val();
        self.completion.sent_bad_dest.next = self.packetizer.sent.bad_dest.val();
        self.completion.sent_total.next = self.packetizer.sent.total.val();
        self.completion.gone.next = self.packetizer.gone.val();
        self.completion.sending_valid.next = self.packetizer.sending.valid.val();
        self.completion.sending_qp.next = self.packetizer.sending.qp.val();
        self.completion.sending_psn.next = self.packetizer.sending.psn.val();
        self.completion.ack_valid.next = self.keeper.told.valid.val();
        self.completion.ack_qp.next = self.keeper.told.qp.val();
        self.completion.ack_psn.next = self.keeper.told.psn.val();
        self.completion.ack_syndrome.next = self.keeper.told.syndrome.val();
        self.completion.slot_free_ready.next = self.decoder.slot_free_ready.val();
        self.completion.write_ready.next = self.host_write.write.ready.val();

        // host_write
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
