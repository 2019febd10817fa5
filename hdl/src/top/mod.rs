//! The card: every block, wired in the direction of the data.
//!
//! Its ports are those of Corundum's that the card uses, under Corundum's names and with the widths
//! of a U50; [`file`](fn@file) wraps it into the published module `mqnic_app_block`, which adapts them to the
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
use crate::layout::kept::{Kept, SegmentWrites};
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
mod wiring;

/// Operations of requests that have an answer.
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
    /// Statuses of DMA reads of the control path that have ended.
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
    /// Statuses of DMA reads of payload that have ended.
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
    /// Statuses of DMA writes that have ended.
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
    /// Counts down from the last cycle in which a block was at work: an entry in the decoder, a completion on
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
    kept: Kept,
    segment_writes: SegmentWrites,
    placer: Placer,
    reader: Reader,
    /// Copies with the same content: each is read by a group of the gather.
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
/// As [`core`](fn@core).
pub fn file() -> Result<String, EmitError> {
    Ok(app_block::file(&core()?))
}
