//! Segmenter and packetizer, wired as in the card.

use crate::context::{INDEX, QP, QUEUE};
use crate::receive::notifier::Notice;
use crate::request::{AddressWrite, AskWrite, DEST_COUNT, PartWrite};
use crate::send::answers::Acknowledgement;
use crate::send::packetizer::Packetizer;
use crate::send::replies::Response;
use crate::send::segmenter::Segmenter;
use crate::testing;
use drdma_emit::prelude::*;
use drdma_verilated::Library;

/// Payload in, frames out.
#[derive(LogicBlock, Default)]
pub struct Pair {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub payload_valid: Signal<In, Bit>,
    pub payload_ready: Signal<Out, Bit>,
    pub payload_data: Signal<In, Bits<512>>,
    pub payload_mask: Signal<In, Bits<64>>,
    pub payload_part_end: Signal<In, Bit>,
    pub payload_error: Signal<In, Bit>,
    pub payload_dest: Signal<In, Bits<10>>,
    pub payload_slot: Signal<In, Bits<8>>,
    pub payload_bytes: Signal<In, Bits<7>>,
    pub payload_message_start: Signal<In, Bit>,
    pub payload_message_end: Signal<In, Bit>,
    pub payload_message_bytes: Signal<In, Bits<32>>,
    pub payload_request_end: Signal<In, Bit>,
    pub payload_dest_end: Signal<In, Bit>,
    pub payload_status: Signal<In, Bits<8>>,
    pub payload_bad_dest: Signal<In, Bits<DEST_COUNT>>,
    pub open_valid: Signal<In, Bit>,
    pub open_slot: Signal<In, Bits<8>>,
    pub open_queue: Signal<In, Bits<QUEUE>>,
    pub dest_write_valid: Signal<In, Bit>,
    pub dest_write_dest: Signal<In, Bits<10>>,
    pub dest_write_index: Signal<In, Bits<DEST_COUNT>>,
    pub dest_write_qp: Signal<In, Bits<QP>>,
    pub dest_write_opcode: Signal<In, Bits<2>>,
    pub dest_write_imm: Signal<In, Bits<32>>,
    pub dest_write_remote_addr: Signal<In, Bits<64>>,
    pub dest_write_rkey: Signal<In, Bits<32>>,
    pub dest_write_transport: Signal<In, Bits<2>>,
    pub dest_write_log_mtu: Signal<In, Bits<4>>,
    pub dest_write_stamp: Signal<In, Bits<32>>,
    pub dest_write_ask: Signal<In, Bits<2>>,
    pub dest_write_fenced: Signal<In, Bit>,
    pub dest_write_solicited: Signal<In, Bit>,
    pub dest_write_invalidates: Signal<In, Bit>,
    pub dest_write_empty: Signal<In, Bit>,
    pub dest_write_more: Signal<In, Bit>,
    pub ask_write: Flow<In, AskWrite>,
    pub part_write: Flow<In, PartWrite>,
    pub address_write: Flow<In, AddressWrite>,
    pub cfg_valid: Signal<In, Bit>,
    pub cfg_table: Signal<In, Bits<3>>,
    pub cfg_index: Signal<In, Bits<INDEX>>,
    pub cfg_word: Signal<In, Bits<4>>,
    pub cfg_data: Signal<In, Bits<32>>,
    pub error_next: Signal<Out, Bits<QP>>,
    pub qp_error: Signal<In, Bit>,
    pub halted_next: Signal<Out, Bits<QUEUE>>,
    pub queue_halted: Signal<In, Bit>,
    pub release_valid: Signal<Out, Bit>,
    pub set_qp_error_valid: Signal<Out, Bit>,
    pub set_qp_error_index: Signal<Out, Bits<QP>>,
    pub mac: Signal<In, Bits<48>>,
    pub ip: Signal<In, Bits<32>>,
    pub acknowledgement: Stream<In, Acknowledgement>,
    pub response: Stream<In, Response>,
    pub notice: Stream<In, Notice>,
    pub reply_read_data: Signal<In, Bits<512>>,
    pub tx_valid: Signal<Out, Bit>,
    pub tx_ready: Signal<In, Bit>,
    pub tx_data: Signal<Out, Bits<512>>,
    pub tx_keep: Signal<Out, Bits<64>>,
    pub tx_last: Signal<Out, Bit>,
    pub sent_valid: Signal<Out, Bit>,
    pub sent_ready: Signal<In, Bit>,
    pub sent_slot: Signal<Out, Bits<8>>,
    pub sent_qp: Signal<Out, Bits<QP>>,
    pub sent_kind: Signal<Out, Bits<2>>,
    pub sent_psn: Signal<Out, Bits<24>>,
    pub sent_status: Signal<Out, Bits<8>>,
    pub sent_bad_dest: Signal<Out, Bits<DEST_COUNT>>,
    pub sent_total: Signal<Out, Bits<40>>,
    pub gone: Signal<Out, Bit>,
    pub count_packets: Signal<Out, Bits<16>>,
    pub count_payload_bytes: Signal<Out, Bits<16>>,
    pub count_frame_bytes: Signal<Out, Bits<16>>,
    segmenter: Segmenter,
    packetizer: Packetizer,
}

impl Logic for Pair {
    #[hdl_gen]
    fn update(&mut self) {
        self.segmenter.payload_valid.next = self.payload_valid.val();
        self.payload_ready.next = self.segmenter.payload_ready.val();
        self.segmenter.payload_data.next = self.payload_data.val();
        self.segmenter.payload_mask.next = self.payload_mask.val();
        self.segmenter.payload_part_end.next = self.payload_part_end.val();
        self.segmenter.payload_error.next = self.payload_error.val();
        self.segmenter.payload_dest.next = self.payload_dest.val();
        self.segmenter.payload_slot.next = self.payload_slot.val();
        self.segmenter.payload_bytes.next = self.payload_bytes.val();
        self.segmenter.payload_message_start.next = self.payload_message_start.val();
        self.segmenter.payload_message_end.next = self.payload_message_end.val();
        self.segmenter.payload_message_bytes.next = self.payload_message_bytes.val();
        self.segmenter.payload_request_end.next = self.payload_request_end.val();
        self.segmenter.payload_dest_end.next = self.payload_dest_end.val();
        self.segmenter.payload_status.next = self.payload_status.val();
        self.segmenter.payload_bad_dest.next = self.payload_bad_dest.val();
        self.segmenter.dest_write_valid.next = self.dest_write_valid.val();
        self.segmenter.dest_write_dest.next = self.dest_write_dest.val();
        self.segmenter.dest_write_index.next = self.dest_write_index.val();
        self.segmenter.dest_write_qp.next = self.dest_write_qp.val();
        self.segmenter.dest_write_opcode.next = self.dest_write_opcode.val();
        self.segmenter.dest_write_imm.next = self.dest_write_imm.val();
        self.segmenter.dest_write_remote_addr.next = self.dest_write_remote_addr.val();
        self.segmenter.dest_write_rkey.next = self.dest_write_rkey.val();
        self.segmenter.dest_write_transport.next = self.dest_write_transport.val();
        self.segmenter.dest_write_log_mtu.next = self.dest_write_log_mtu.val();
        self.segmenter.dest_write_stamp.next = self.dest_write_stamp.val();
        self.segmenter.dest_write_ask.next = self.dest_write_ask.val();
        self.segmenter.dest_write_fenced.next = self.dest_write_fenced.val();
        self.segmenter.dest_write_solicited.next = self.dest_write_solicited.val();
        self.segmenter.dest_write_invalidates.next = self.dest_write_invalidates.val();
        self.segmenter.dest_write_empty.next = self.dest_write_empty.val();
        self.segmenter.dest_write_more.next = self.dest_write_more.val();
        self.ask_write.join(&mut self.segmenter.ask_write);
        self.part_write.join(&mut self.segmenter.part_write);
        self.address_write.join(&mut self.packetizer.address_write);
        self.segmenter.cfg_valid.next = self.cfg_valid.val();
        self.segmenter.cfg_table.next = self.cfg_table.val();
        self.segmenter.cfg_index.next = self.cfg_index.val();
        self.segmenter.cfg_word.next = self.cfg_word.val();
        self.segmenter.cfg_data.next = self.cfg_data.val();
        self.error_next.next = self.segmenter.error_next.val();
        self.halted_next.next = self.segmenter.halted_next.val();
        self.segmenter.qp_error.next = self.qp_error.val();
        self.segmenter.queue_halted.next = self.queue_halted.val();
        self.segmenter.open_valid.next = self.open_valid.val();
        self.segmenter.open_slot.next = self.open_slot.val();
        self.segmenter.open_queue.next = self.open_queue.val();
        self.segmenter.page_read_enable.next = self.packetizer.page_read_enable.val();
        self.segmenter.page_read_address.next = self.packetizer.page_read_address.val();
        self.segmenter.page_free_valid.next = self.packetizer.page_free_valid.val();
        self.segmenter.page_free_page.next = self.packetizer.page_free_page.val();
        self.set_qp_error_valid.next = self.segmenter.set_qp_error_valid.val();
        self.set_qp_error_index.next = self.segmenter.set_qp_error_index.val();
        self.release_valid.next = self.segmenter.release_valid.val();
        self.segmenter.packet.join(&mut self.packetizer.packet);
        self.acknowledgement.join(&mut self.packetizer.acknowledgement);
        self.response.join(&mut self.packetizer.response);
        self.notice.join(&mut self.packetizer.notice);
        self.packetizer.reply_read_data.next = self.reply_read_data.val();
        self.packetizer.page_read_data.next = self.segmenter.page_read_data.val();
        self.packetizer.cfg.valid.next = self.cfg_valid.val();
        self.packetizer.cfg.table.next = self.cfg_table.val();
        self.packetizer.cfg.index.next = self.cfg_index.val();
        self.packetizer.cfg.word.next = self.cfg_word.val();
        self.packetizer.cfg.data.next = self.cfg_data.val();
        self.packetizer.mac.next = self.mac.val();
        self.packetizer.ip.next = self.ip.val();
        self.tx_valid.next = self.packetizer.tx.valid.val();
        self.packetizer.tx.ready.next = self.tx_ready.val();
        self.tx_data.next = self.packetizer.tx.data.val();
        self.tx_keep.next = self.packetizer.tx.keep.val();
        self.tx_last.next = self.packetizer.tx.last.val();
        self.sent_valid.next = self.packetizer.sent.valid.val();
        self.packetizer.sent.ready.next = self.sent_ready.val();
        self.sent_slot.next = self.packetizer.sent.slot.val();
        self.sent_qp.next = self.packetizer.sent.qp.val();
        self.sent_kind.next = self.packetizer.sent.kind.val();
        self.sent_psn.next = self.packetizer.sent.psn.val();
        self.sent_status.next = self.packetizer.sent.status.val();
        self.sent_bad_dest.next = self.packetizer.sent.bad_dest.val();
        self.sent_total.next = self.packetizer.sent.total.val();
        self.gone.next = self.packetizer.gone.val();
        self.count_packets.next = self.packetizer.count_packets.val();
        self.count_payload_bytes.next = self.packetizer.count_payload_bytes.val();
        self.count_frame_bytes.next = self.packetizer.count_frame_bytes.val();
    }
}

pub fn library() -> Library {
    testing::library("packets", Pair::default)
}
