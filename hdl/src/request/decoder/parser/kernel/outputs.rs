//! Outputs of the parser to the blocks around it.

use super::super::Parser;
use super::LONGEST_READ;
use crate::request::{DEST_COUNT, DEST_INDEX};
use drdma_emit::prelude::*;

impl Parser {
    /// Gives out the fields of the request, its destination and its element.
    #[hdl_gen]
    pub(super) fn tell(&mut self) {
        self.take.next = self.taking.val();
        self.skip.next = self.skipping.val();
        self.next_queue.next = self.head_queue.d.val();
        self.queue.next = self.head_queue.q.val();
        self.next_qp.next = self.dest_qp.d.val();
        self.pairs.asked.next = self.dest_qp.d.val();
        self.qp.next = self.dest_qp.q.val();
        self.wr_id.next = self.head_wr_id.q.val();
        self.position.next = self.head_position.q.val();
        self.unsignaled.next = self.head_unsignaled.q.val();
        self.dest_sets.next = self.dest_regions.q.val();
        if self.head_partitioned.q.val() || self.head_inline.q.val() || self.asks.val() {
            self.dest_sets.next = 1.into();
        }
        self.ask.next = self.head_ask.q.val();
        self.fenced.next = self.head_fenced.q.val();
        self.solicited.next = self.head_solicited.q.val();
        self.invalidates.next = self.head_invalidates.q.val();
        self.empty.next = self.inline_empty.val();
        self.address.next = self.head_address.q.val();
        self.piece_index.next =
            (self.dest_regions.q.val() - self.regions_left.q.val()).get_bits::<4>(0);
        self.operands.next = self.operands_read.q.val();
        self.ask_bytes.next = self.bytes.q.val().get_bits::<32>(0);
        self.check_writes.next = self.asks.val();
        self.unfit.next =
            ((self.asks.val() || self.head_invalidates.q.val() || self.head_fenced.q.val())
                && self.qp_transport.val().any())
                || (self.head_address.q.val().named && !self.qp_transport.val().get_bit(1))
                || (self.asks.val() && !self.qp_asks.val());
        self.overlong.next = self.asks.val()
            && ((self.bytes.q.val() > LONGEST_READ)
                || (self.head_ask.q.val().get_bit(1) && (self.bytes.q.val() != 8)));
        self.sets.next = self.region_index.q.val() + self.alone_sets.q.val();
        if self.asks.val() {
            self.sets.next = bit_cast::<11, 1>(self.asked.q.val().into());
        }
        self.kinds.next = self.any_kinds.q.val();
        self.element_set.next = self.special.q.val();
        self.told_inline.next = self.inline_accept.val();
        self.partition.next = self.dest_partition.q.val();
        self.partitioned.next = self.head_partitioned.q.val();
        self.fetch.next = self.head_fetch.q.val();
        self.opcode.next = self.head_opcode.q.val();
        self.imm.next = self.head_imm.q.val();
        self.by_columns.next = self.dest_by_columns.q.val();
        self.column_order.next = self.dest_column_order.q.val();
        self.later.next = self.has_dest.q.val() && (self.dest_index.q.val() != 0);
        self.column_dests.next = self.head_destinations.q.val().get_bits::<DEST_COUNT>(0);
        self.columns.next = self.request_columns.q.val();
        self.transport.next = self.qp_transport.val();
        self.log_mtu.next = self.qp_log_mtu.val();
        self.element_mask.next =
            self.head_element_mask.q.val() && !self.head_inline.q.val() && !self.asks.val();
        self.rows_per_message.next = self.head_rows.q.val();
        self.region.next = self.region_index.q.val();
        self.dest.next = self.dest_index.q.val().get_bits::<DEST_INDEX>(0);
        self.failed.next = self.fail.q.val() || !self.none_left.val();
        self.failed_flush.next = self.fail_flush.q.val();
        self.failed_qp.next = self.fail_qp.q.val() || !self.fail.q.val();
        self.dests.next = self.accepted.q.val();
    }
}
