//! Events, which become packets.

use super::super::Segmenter;
use drdma_emit::prelude::*;

impl Segmenter {
    /// The packets that the part completes.
    #[hdl_gen]
    pub(super) fn find_packets(&mut self) {
        self.full_valid.next = self.current.val() && self.part_end.q.val() && self.crosses.val();
        self.last_valid.next = self.current.val()
            && self.part_end.q.val()
            && self.message_end.q.val()
            && (self.open.q.val() || self.opens.val());
        self.last_page.next = self.next_page.val();
        self.last_bytes.next = self.next_fill.val();
        self.drop.next = false;
        self.event_error.next = self.current.val() && self.error.q.val();
        self.event_dest_end.next =
            self.valid.q.val() && self.part_end.q.val() && self.dest_end.q.val();
        self.event_request_end.next = self.valid.q.val() && self.request_end.q.val();
    }

    /// Stores what the part completes.
    #[hdl_gen]
    pub(super) fn store_event(&mut self) {
        self.events.in_valid.next = self.full_valid.val()
            || self.last_valid.val()
            || self.event_error.val()
            || self.event_dest_end.val()
            || self.event_request_end.val();
        self.found.next.dest = self.dest.q.val();
        self.found.next.slot = self.slot.q.val();
        self.found.next.message_bytes = self.next_message_bytes.val();
        self.found.next.full = self.full_valid.val();
        self.found.next.full_page = self.this_page.val();
        self.found.next.full_bytes = self.mtu.val();
        self.found.next.last = self.last_valid.val();
        self.found.next.last_page = self.last_page.val();
        self.found.next.last_bytes = self.last_bytes.val();
        self.found.next.drop = self.drop.val();
        self.found.next.error = self.event_error.val();
        self.found.next.dest_end = self.event_dest_end.val();
        self.found.next.request_end = self.event_request_end.val();
        self.found.next.status = self.status.q.val();
        self.found.next.bad_dest = self.bad_dest.q.val();
        self.event_in.record.next = self.found.val();
        self.events.in_data.next = self.event_in.bits.val();
    }

    /// The issuer makes packets of events.
    #[hdl_gen]
    pub(super) fn connect_issuer(&mut self) {
        self.issuer.found.valid.next = self.events.out_valid.val();
        self.event_out.bits.next = self.events.out_data.val();
        self.issuer.found.next = self.event_out.record.val();
        self.events.out_ready.next = self.issuer.found.ready.val();
        self.issuer.dest_write_valid.next = self.dest_write_valid.val();
        self.issuer.dest_write_dest.next = self.dest_write_dest.val();
        self.issuer.dest_write_qp.next = self.dest_write_qp.val();
        self.issuer.dest_write_data.next.opcode = self.dest_write_opcode.val();
        self.issuer.dest_write_data.next.imm = self.dest_write_imm.val();
        self.issuer.dest_write_data.next.remote_addr = self.dest_write_remote_addr.val();
        self.issuer.dest_write_data.next.rkey = self.dest_write_rkey.val();
        self.issuer.dest_write_data.next.transport = self.dest_write_transport.val();
        self.issuer.dest_write_data.next.index = self.dest_write_index.val();
        self.issuer.dest_write_data.next.stamp = self.dest_write_stamp.val();
        self.issuer.dest_write_data.next.ask = self.dest_write_ask.val();
        self.issuer.dest_write_data.next.fenced = self.dest_write_fenced.val();
        self.issuer.dest_write_data.next.solicited = self.dest_write_solicited.val();
        self.issuer.dest_write_data.next.invalidates = self.dest_write_invalidates.val();
        self.issuer.dest_write_data.next.empty = self.dest_write_empty.val();
        self.issuer.dest_write_data.next.more = self.dest_write_more.val();
        self.ask_write.join(&mut self.issuer.ask_write);
        self.part_write.join(&mut self.issuer.part_write);
        self.issuer.cfg_valid.next = self.cfg_valid.val();
        self.issuer.cfg_table.next = self.cfg_table.val();
        self.issuer.cfg_index.next = self.cfg_index.val();
        self.issuer.cfg_word.next = self.cfg_word.val();
        self.issuer.cfg_data.next = self.cfg_data.val();
        self.error_next.next = self.issuer.error_next.val();
        self.issuer.qp_error.next = self.qp_error.val();
        self.halted_next.next = self.issuer.halted_next.val();
        self.issuer.queue_halted.next = self.queue_halted.val();
        self.issuer.open_valid.next = self.open_valid.val();
        self.issuer.open_slot.next = self.open_slot.val();
        self.issuer.open_queue.next = self.open_queue.val();
        self.set_qp_error_valid.next = self.issuer.set_qp_error_valid.val();
        self.set_qp_error_index.next = self.issuer.set_qp_error_index.val();
        self.issuer.packet.join(&mut self.packet);
        self.release_valid.next = self.issuer.release_valid.val();
        self.release_slot.next = self.issuer.release_slot.val();
    }
}
