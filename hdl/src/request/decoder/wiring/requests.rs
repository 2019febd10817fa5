//! Requests, with their functions, keys, parts and addresses.

use super::super::Decoder;
use crate::request::CONTIGUOUS;
use drdma_abi::roce::TTL;
use drdma_emit::prelude::*;

impl Decoder {
    /// Requests.
    #[hdl_gen]
    pub(super) fn wire_requests(&mut self) {
        self.requests.slot_free_valid.next = self.slot_free_valid.val();
        self.slot_free_ready.next = self.requests.slot_free_ready.val();
        self.requests.slot_free_slot.next = self.slot_free_slot.val();
        self.requests.release_valid.next = self.release_valid.val();
        self.requests.start.next = self.parser.open.val();
        self.requests.queue.next = self.parser.queue.val();
        self.requests.wr_id.next = self.parser.wr_id.val();
        self.requests.position.next = self.parser.position.val();
        self.requests.unsignaled.next = self.parser.unsignaled.val();
        self.requests.dest_accept.next = self.parser.dest_accept.val();
        self.requests.by_columns.next = self.parser.by_columns.val();
        self.requests.later.next = self.parser.later.val();
        self.requests.column_accept.next = self.parser.column_accept.val();
        self.requests.column_dests.next = self.parser.column_dests.val();
        self.requests.columns.next = self.parser.columns.val();
        self.requests.finish.next = self.parser.finish.val();
        self.requests.failed.next = self.parser.failed.val();
        self.requests.failed_flush.next = self.parser.failed_flush.val();
        self.requests.failed_qp.next = self.parser.failed_qp.val();
        self.requests.dest_index.next = self.parser.dest.val();
        self.requests.partitioned.next = self.parser.partitioned.val();
        self.requests.region.next = self.parser.region.val();
        self.requests.sets.next = self.parser.sets.val();
        self.requests.unfit.next = self.parser.unfit.val();
        self.requests.lacking.next = self.bounds.lacking.val();
        self.requests.overlong.next = self.parser.overlong.val();
        self.requests.dests.next = self.parser.dests.val();
        self.requests.busy.next = self.bounds.busy.val();
        self.requests.fail_valid.next = self.bounds.fail_valid.val();
        self.requests.fail_region.next = self.bounds.fail_region.val();
        self.requests.fail_dest.next = self.bounds.fail_dest.val();
        self.requests.set_done.next = self.parser.element_valid.val()
            && (self.parser.element_last.val() || self.parser.element_alone.val());
        self.requests.set_told_again.next = self.parser.element_valid.val()
            && self.parser.element_last.val()
            && (self.parser.element_kind.val() != CONTIGUOUS);
        self.fetch_valid.d.next = self.parser.open.val();
        self.fetch_slot.d.next = self.requests.slot.val();
        self.fetch_plan.d.next = self.parser.fetch.val();
        self.fetch_write_valid.next = self.fetch_valid.q.val();
        self.fetch_write_slot.next = self.fetch_slot.q.val();
        self.fetch_write_plan.next = self.fetch_plan.q.val();
        self.open_valid.next = self.requests.open_valid.val();
        self.requests.open_ready.next = self.open_ready.val();
        self.open_slot.next = self.requests.open_slot.val();
        self.open_queue.next = self.requests.open_queue.val();
        self.open_wr_id.next = self.requests.open_wr_id.val();
        self.open_position.next = self.requests.open_position.val();
        self.open_unsignaled.next = self.requests.open_unsignaled.val();
        self.request_valid.next = self.requests.request_valid.val();
        self.requests.request_ready.next = self.request_ready.val();
        self.request_slot.next = self.requests.request_slot.val();
        self.request_queue.next = self.requests.request_queue.val();
        self.request_wr_id.next = self.requests.request_wr_id.val();
        self.request_dests.next = self.requests.request_dests.val();
        self.request_first_dest.next = self.requests.request_first_dest.val();
        self.request_status.next = self.requests.request_status.val();
        self.request_bad_dest.next = self.requests.request_bad_dest.val();
        self.requests.apart.next = self.apart.told.val();
        self.requests.kinds.next = self.parser.kinds.val();
        self.requests.parted.next = self.parser.parted.val();
        self.requests.part_comes.next = self.unpacker.parted.val() || self.parser.parted.val();
        self.parts_full.next = self.requests.parts_full.val();
        self.request_kinds.next = self.requests.request_kinds.val();
        self.request_apart.next = self.requests.request_apart.val();
        self.request_columns.next = self.requests.request_columns.val();
    }

    /// Gives out functions and keys of ids, with the slot of the current request.
    #[hdl_gen]
    pub(super) fn wire_functions(&mut self) {
        self.parser.function_write.join(&mut self.function_write);
        self.function_write.slot.next = self.requests.slot.val();
        self.parser.key_write.join(&mut self.key_write);
        self.key_write.slot.next = self.requests.slot.val();
    }

    /// Parts of messages.
    #[hdl_gen]
    pub(super) fn wire_parts(&mut self) {
        self.part_valid.d.next = self.parser.open.val() || self.parser.part_told.val();
        self.part.d.next.slot = self.requests.slot.val();
        self.part.d.next.whole = 0.into();
        self.part.d.next.resumes = false;
        self.part.d.next.pauses = false;
        if self.parser.part_told.val() {
            self.part.d.next.whole = self.parser.part_whole.val();
            self.part.d.next.resumes = self.parser.part_resumes.val();
            self.part.d.next.pauses = self.parser.part_pauses.val();
        }
        self.part_write.valid.next = self.part_valid.q.val();
        self.part_write.next = self.part.q.val();
    }

    /// READs and atomics: where their bytes go, how many they are, and in how many packets they come.
    #[hdl_gen]
    pub(super) fn wire_asks(&mut self) {
        self.piece_valid.d.next = self.parser.piece_valid.val();
        self.piece.d.next.slot = self.requests.slot.val();
        self.piece.d.next.index = self.parser.piece_index.val();
        self.piece.d.next.addr = self.parser.element_base.val();
        self.piece.d.next.len = self.parser.element_len.val();
        self.piece_write.valid.next = self.piece_valid.q.val();
        self.piece_write.next = self.piece.q.val();
        self.asked[0].d.next = self.parser.told_ask.val();
        self.asked[1].d.next = self.asked[0].q.val();
        self.asked[2].d.next = self.asked[1].q.val();
        if self.parser.told_ask.val() {
            self.asked_slot.d.next = self.requests.slot.val();
            self.asked_mtu.d.next = self.parser.log_mtu.val();
            self.asked_bytes.d.next = self.parser.ask_bytes.val();
        }
        self.mtu_less_one.next = (bit_cast::<13, 1>(1.into()) << self.asked_mtu.q.val()) - 1;
        self.rounded.d.next = bit_cast::<33, 32>(self.asked_bytes.q.val())
            + bit_cast::<33, 13>(self.mtu_less_one.val());
        self.packets.d.next = (self.rounded.q.val() >> self.asked_mtu.q.val()).get_bits::<24>(0);
        if self.dest_ask.q.val().get_bit(1) || !self.asked_bytes.q.val().any() {
            self.packets.d.next = 1.into();
        }
        self.ask_write.valid.next = self.asked[2].q.val();
        self.ask_write.slot.next = self.asked_slot.q.val();
        self.ask_write.len.next = self.asked_bytes.q.val();
        self.ask_write.packets.next = self.packets.q.val();
        self.ask_write.log_mtu.next = self.asked_mtu.q.val();
    }

    /// Addresses.
    #[hdl_gen]
    pub(super) fn wire_addresses(&mut self) {
        self.address_valid.d.next = self.parser.dest_accept.val();
        self.address.d.next = self.parser.address.val();
        self.address.d.next.slot = self.requests.slot.val();
        if !self.parser.address.val().ttl.any() {
            self.address.d.next.ttl = usize::from(TTL).to_bits();
        }
        self.address_write.valid.next = self.address_valid.q.val();
        self.address_write.next = self.address.q.val();
    }
}
