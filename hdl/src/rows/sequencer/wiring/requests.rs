//! Tables, and requests that become items.

use super::super::Sequencer;
use drdma_emit::prelude::*;

impl Sequencer {
    /// Tables.
    #[hdl_gen]
    pub(super) fn wire_tables(&mut self) {
        self.tables.lane_write_valid.next = self.lane_write_valid.val();
        self.tables.lane_write_set.next = self.lane_write_set.val();
        self.tables.lane_write_lane.next = self.lane_write_lane.val();
        self.tables.lane_write_base.next = self.lane_write_base.val();
        self.tables.lane_write_step.next = self.lane_write_step.val();
        self.tables.lane_write_len.next = self.lane_write_len.val();
        self.set_info.next.kind = self.set_write_kind.val();
        self.set_info.next.addr = self.set_write_addr.val();
        self.set_info.next.count = self.set_write_count.val();
        self.set_info.next.lanes = self.set_write_lanes.val();
        self.set_info.next.row_bytes = self.set_write_row_bytes.val();
        self.set_info.next.ids = self.set_write_ids.val();
        self.set_info.next.fetch = self.set_write_fetch.val();
        self.set_info.next.made = self.set_write_made.val();
        self.set_info.next.starts = self.set_write_beat_start.val();
        self.tables.set_write_valid.next = self.set_write_valid.val();
        self.tables.set_write_set.next = self.set_write_set.val();
        self.tables.set_write_info.next = self.set_info.val();
        self.tables.set_write_target_addr.next = self.set_write_target_addr.val();
        self.tables.set_write_target_len.next = self.set_write_target_len.val();
        self.tables.set_write_low.next = self.set_write_low.val();
        self.tables.set_write_high.next = self.set_write_high.val();
        self.dest_info.next.sets = self.dest_write_sets.val();
        self.dest_info.next.first_set = self.dest_write_first_set.val();
        self.dest_info.next.is_write = self.dest_write_opcode.val().get_bit(1);
        self.unused.next = self.dest_write_opcode.val().get_bit(0);
        self.dest_info.next.is_ud = self.dest_write_transport.val() == 2;
        self.dest_info.next.log_mtu = self.dest_write_log_mtu.val();
        self.dest_info.next.element_mask = self.dest_write_element_mask.val();
        self.dest_info.next.units = self.dest_write_rows_per_message.val();
        self.dest_info.next.same_lanes = self.dest_write_same_lanes.val();
        self.dest_info.next.column_order = self.dest_write_column_order.val();
        self.dest_info.next.partition = self.dest_write_partition.val();
        self.tables.dest_write_valid.next = self.dest_write_valid.val();
        self.tables.dest_write_dest.next = self.dest_write_dest.val();
        self.tables.dest_write_info.next = self.dest_info.val();
        self.tables.dest_write_qp.next = self.dest_write_qp.val();
        // The plan alone looks at the states of queue pairs, and at the extents of rows.
        self.tables.extent_read.next = self.plan.set_read.val();
        self.tables.qp_read.next = self.plan.dest_read.val();
        self.error_next.next = self.tables.dest_qp.val();
        self.tables.dest_read.next = self.plan.dest_read.val();
        self.tables.set_read.next = self.plan.set_read.val();
        if self.plan.kinds_busy.val() {
            self.tables.dest_read.next = self.kinds.dest_read.val();
            self.tables.set_read.next = self.kinds.set_read.val();
        }
    }

    /// Requests with kinds of columns.
    #[hdl_gen]
    pub(super) fn wire_kinds(&mut self) {
        self.cfg.join(&mut self.kinds.cfg);
        self.kinds.lane_write.valid.next = self.lane_write_valid.val();
        self.kinds.lane_write.set.next = self.lane_write_set.val();
        self.kinds.lane_write.lane.next = self.lane_write_lane.val();
        self.kinds.lane_write.base.next = self.lane_write_base.val();
        self.kinds.lane_write.step.next = self.lane_write_step.val();
        self.kinds.lane_write.len.next = self.lane_write_len.val();
        self.kinds.lane_write.inline.next = false;
        self.kinds.lane_kind.next = self.lane_write_kind.val();
        self.kinds.set_valid.next = self.set_write_valid.val();
        self.kinds.set_index.next = self.set_write_set.val();
        self.kinds.set_kinds.next = self.set_write_kinds.val();
        self.kinds.start.next = self.plan.kinds_start.val();
        self.kinds.slot.next = self.plan.kinds_slot.val();
        self.kinds.dests.next = self.plan.kinds_dests.val();
        self.kinds.first_dest.next = self.plan.kinds_first_dest.val();
        self.kinds.next_valid.next = self.plan.kinds_next.val();
        self.kinds.next_slot.next = self.request_slot.val();
        self.kinds.next_dests.next = self.request_dests.val();
        self.kinds.next_first_dest.next = self.request_first_dest.val();
        self.kinds.forget.next = self.plan.kinds_forget.val();
        self.kinds.dest_info.next = self.tables.dest_info.val();
        self.kinds.set_info.next = self.tables.set_info.val();
        self.kinds.bounds.next = self.tables.bounds.val();
        self.plan.kinds_done.next = self.kinds.done.val();
        self.plan.kinds_status.next = self.kinds.status.val();
        self.plan.kinds_bad_dest.next = self.kinds.bad_dest.val();
        self.kinds.made.join(&mut self.made);
    }

    /// Requests to items.
    #[hdl_gen]
    pub(super) fn wire_plan(&mut self) {
        self.plan.request_valid.next = self.request_valid.val();
        self.plan.request_slot.next = self.request_slot.val();
        self.plan.request_dests.next = self.request_dests.val();
        self.plan.request_first_dest.next = self.request_first_dest.val();
        self.plan.request_status.next = self.request_status.val();
        self.plan.request_bad_dest.next = self.request_bad_dest.val();
        self.plan.request_apart.next = self.request_apart.val();
        self.plan.request_kinds.next = self.request_kinds.val();
        self.plan.request_columns.next = self.request_columns.val();
        self.plan.release_valid.next = self.release_valid.val();
        self.plan.qp_error.next = self.qp_error.val();
        self.request_ready.next = self.plan.request_ready.val();
        self.plan.dest_info.next = self.tables.dest_info.val();
        self.plan.set_info.next = self.tables.set_info.val();
        self.plan.bounds.next = self.tables.bounds.val();
        self.plan.span.next = self.tables.span.val();
        self.plan.steps.next = self.tables.steps.val();
        self.plan.overlaps.next = self.tables.overlaps.val();
        self.plan.column_min_rows.next = self.column_min_rows.val();
        // A result comes from the row source or from the column path, never from both.
        self.plan.result_valid.next =
            self.rows.result_valid.val() || self.column_counted.valid.val();
        self.plan.result_set.next = self.rows.result_set.val();
        self.plan.result_count.next = self.rows.result_count.val();
        self.plan.result_bad.next = self.rows.result_bad.val();
        if self.column_counted.valid.val() {
            self.plan.result_set.next = self.column_counted.set.val();
            self.plan.result_count.next = self.column_counted.count.val();
            self.plan.result_bad.next = self.column_counted.bad.val();
        }
    }
}
