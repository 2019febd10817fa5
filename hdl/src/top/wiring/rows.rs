//! Rows of regions: the rows of requests, their addresses, and packed columns.

use super::super::Card;
use drdma_emit::prelude::*;

impl Card {
    /// The sequencer of requests.
    #[hdl_gen]
    pub(super) fn wire_sequencer(&mut self) {
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
        self.sequencer.dest_write_same_lanes.next = self.decoder.dest_write_same_lanes.val();
        self.sequencer.dest_write_column_order.next = self.decoder.dest_write_column_order.val();
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
    }

    /// Addresses of rows.
    #[hdl_gen]
    pub(super) fn wire_expander(&mut self) {
        self.expander.rst.next = self.reset.val();
        self.expander.lane_write.valid.next = self.decoder.lane_write_valid.val();
        self.expander.lane_write.set.next = self.decoder.lane_write_set.val();
        self.expander.lane_write.lane.next = self.decoder.lane_write_lane.val();
        self.expander.lane_write.base.next = self.decoder.lane_write_base.val();
        self.expander.lane_write.step.next = self.decoder.lane_write_step.val();
        self.expander.lane_write.len.next = self.decoder.lane_write_len.val();
        self.expander.lane_write.inline.next = self.decoder.lane_write_inline.val();
        self.sequencer.token.join(&mut self.expander.token);
        self.expander.beat.ready.next = self.windows.beat_ready.val();
    }

    /// Packed columns.
    #[hdl_gen]
    pub(super) fn wire_columns(&mut self) {
        self.columns.rst.next = self.reset.val();
        self.columns.max_read.next = self.windows.plan_max_read.val();
        self.columns.merge_threshold.next = self.windows.plan_merge_threshold.val();
        self.columns.planned.next = self.windows.planned.val();
        self.columns.mean.next = self.control.read_balance.val();
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
    }
}
