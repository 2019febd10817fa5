//! Destinations.

use super::super::Decoder;
use crate::request::DEST_COUNT;
use drdma_emit::prelude::*;

impl Decoder {
    /// Destinations.
    #[hdl_gen]
    pub(super) fn wire_destinations(&mut self) {
        if self.parser.open.val() {
            self.shared_set.d.next = self.shaper.set.val();
        }
        self.dest_valid.d.next = self.parser.dest_accept.val();
        self.dest_again.d.next = false;
        if self.parser.dest_accept.val() {
            self.dest_dest.d.next = self.requests.dest.val();
            self.dest_base.d.next = self.requests.dest.val();
            self.column_offset.d.next = 0.into();
            self.dest_qp.d.next = self.parser.qp.val();
            self.dest_sets.d.next = self.parser.dest_sets.val();
            self.dest_first_set.d.next = self.shaper.set.val();
            if self.parser.partitioned.val() {
                self.dest_first_set.d.next = self.shared_set.q.val();
            }
            self.dest_opcode.d.next = self.parser.opcode.val();
            self.dest_imm.d.next = self.parser.imm.val();
            self.dest_remote_addr.d.next = self.parser.remote_addr.val();
            self.dest_rkey.d.next = self.parser.rkey.val();
            self.dest_slot.d.next = self.requests.slot.val();
            self.dest_index.d.next = self.parser.dest.val();
            self.dest_transport.d.next = self.parser.transport.val();
            self.dest_log_mtu.d.next = self.parser.log_mtu.val();
            self.dest_stamp.d.next = self.contexts.stamp.val();
            self.dest_ask.d.next = self.parser.ask.val();
            self.dest_fenced.d.next = self.parser.fenced.val();
            self.dest_solicited.d.next = self.parser.solicited.val();
            self.dest_invalidates.d.next = self.parser.invalidates.val();
            self.dest_empty.d.next = self.parser.empty.val();
            self.dest_element_mask.d.next = self.parser.element_mask.val();
            self.dest_rows_per_message.d.next = self.parser.rows_per_message.val();
            self.dest_partition.d.next = self.parser.partition.val();
            self.dest_same_lanes.d.next = self.parser.partitioned.val();
            self.dest_column_order.d.next = self.parser.column_order.val();
            self.dest_more.d.next = false;
        }
        if self.parser.column_accept.val() {
            self.dest_valid.d.next = true;
            self.dest_dest.d.next = self.dest_base.q.val() + self.column_offset.q.val();
            self.column_offset.d.next = self.column_offset.q.val()
                + bit_cast::<10, DEST_COUNT>(self.parser.column_dests.val());
            self.dest_remote_addr.d.next = self.parser.remote_addr.val();
            self.dest_rkey.d.next = self.parser.rkey.val();
            // Only the last column's messages carry immediate data.
            self.dest_opcode.d.next = self.write_opcode.val();
            self.dest_more.d.next = !self.parser.column_last.val();
            if self.parser.column_last.val() {
                self.dest_opcode.d.next = self.parser.opcode.val();
            }
        }
        self.dest_joined.d.next = self.joiner.joined.val();
        if self.joiner.joined.val() {
            // Written again: one set, whose rows are the units.
            self.dest_sets.d.next = 1.into();
            self.dest_element_mask.d.next = false;
        }
        if self.dest_joined.q.val() {
            self.dest_valid.d.next = true;
            self.dest_again.d.next = true;
        }
        if self.same_lanes.told.val() {
            self.dest_valid.d.next = true;
            self.dest_again.d.next = true;
            self.dest_dest.d.next = self.dest_base.q.val();
            self.dest_same_lanes.d.next = true;
        }
    }
}
