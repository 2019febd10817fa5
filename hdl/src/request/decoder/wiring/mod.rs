//! How the blocks of the decoder are wired, in the order of the data.

mod destinations;
mod entries;
mod lanes;
mod requests;

use super::Decoder;
use crate::request::{DEST_COUNT, DEST_INDEX};
use drdma_emit::prelude::*;

impl Logic for Decoder {
    #[hdl_gen]
    fn update(&mut self) {
        self.wire_unpacker();
        self.wire_parser();
        self.wire_contexts();
        self.wire_bounds();
        self.wire_lanes();
        self.wire_requests();
        self.wire_functions();
        self.wire_parts();
        self.wire_asks();
        self.wire_addresses();
        self.wire_destinations();
        if self.rst.val() {
            self.part_valid.d.next = false;
            self.piece_valid.d.next = false;
            for k in 0..3 {
                self.asked[k].d.next = false;
            }
            self.address_valid.d.next = false;
            self.inline_valid.d.next = false;
            self.fetch_valid.d.next = false;
            self.dest_valid.d.next = false;
            self.dest_joined.d.next = false;
        }
        self.dest_write_valid.next = self.dest_valid.q.val();
        self.dest_write_dest.next = self.dest_dest.q.val();
        self.dest_write_qp.next = self.dest_qp.q.val();
        self.dest_write_sets.next = self.dest_sets.q.val();
        self.dest_write_first_set.next = self.dest_first_set.q.val();
        self.dest_write_opcode.next = self.dest_opcode.q.val();
        self.dest_write_imm.next = self.dest_imm.q.val();
        self.dest_write_remote_addr.next = self.dest_remote_addr.q.val();
        self.dest_write_rkey.next = self.dest_rkey.q.val();
        self.dest_write_slot.next = self.dest_slot.q.val();
        self.dest_write_index.next = bit_cast::<DEST_COUNT, DEST_INDEX>(self.dest_index.q.val());
        self.dest_write_transport.next = self.dest_transport.q.val();
        self.dest_write_log_mtu.next = self.dest_log_mtu.q.val();
        self.dest_write_stamp.next = self.dest_stamp.q.val();
        self.dest_write_ask.next = self.dest_ask.q.val();
        self.dest_write_fenced.next = self.dest_fenced.q.val();
        self.dest_write_solicited.next = self.dest_solicited.q.val();
        self.dest_write_invalidates.next = self.dest_invalidates.q.val();
        self.dest_write_empty.next = self.dest_empty.q.val();
        self.dest_write_element_mask.next = self.dest_element_mask.q.val();
        self.dest_write_rows_per_message.next = self.dest_rows_per_message.q.val();
        self.dest_write_partition.next = self.dest_partition.q.val();
        self.dest_write_same_lanes.next = self.dest_same_lanes.q.val();
        self.dest_write_column_order.next = self.dest_column_order.q.val();
        self.dest_write_again.next = self.dest_again.q.val();
        self.dest_write_more.next = self.dest_more.q.val();
    }
}
