//! Reads of bitmaps, pointers, ids and keys.

use super::super::Sequencer;
use drdma_emit::prelude::*;

impl Sequencer {
    /// Reads: stretches of keys, bitmaps, ids and pointers, one after the other.
    #[hdl_gen]
    pub(super) fn wire_reads(&mut self) {
        self.fetch.stretch_valid.next =
            self.plan.stretch_valid.val() && !self.plan.stretch_made.val() && !self.keys.busy.val();
        self.fetch.stretch_addr.next = self.plan.stretch_addr.val();
        self.fetch.stretch_first.next = self.plan.stretch_first.val();
        self.fetch.stretch_rows.next = self.plan.stretch_rows.val();
        self.fetch.stretch_bitmap.next = self.plan.stretch_bitmap.val();
        self.fetch.stretch_ids.next = self.plan.stretch_ids.val();
        self.fetch.stretch_partition.next = self.plan.stretch_partition.val();
        self.fetch.stretch_column.next = self.plan.stretch_column.val();
        self.fetch.stretch_fetch.next = self.plan.stretch_fetch.val();
        self.fetch.stretch_kept.next = self.plan.stretch_kept.val();
        self.fetch.stretch_fetch_addr.next = self.plan.stretch_fetch_addr.val();
        self.walker.stretch_ready.next = self.fetch.stretch_ready.val() && !self.keys.busy.val();
        self.plan.stretch_ready.next = self.walker.stretch_ready.val();
        if self.walker.stretch_valid.val() {
            // The walker is reading: the plan waits.
            self.fetch.stretch_valid.next = !self.keys.busy.val();
            self.fetch.stretch_addr.next = self.walker.stretch_addr.val();
            self.fetch.stretch_first.next = self.walker.stretch_first.val();
            self.fetch.stretch_rows.next = self.walker.stretch_rows.val();
            self.fetch.stretch_bitmap.next = self.walker.stretch_bitmap.val();
            self.fetch.stretch_ids.next = 0.into();
            self.fetch.stretch_partition.next = 0.into();
            self.fetch.stretch_column.next = false;
            self.fetch.stretch_fetch.next = false;
            self.fetch.stretch_kept.next = false;
            self.plan.stretch_ready.next = false;
        } else if self.plan.stretch_made.val() {
            self.plan.stretch_ready.next = self.keys.stretch.ready.val() && !self.fetch.busy.val();
        }
        self.function_write.join(&mut self.keys.function_write);
        self.key_write.join(&mut self.keys.key_write);
        self.keys.stretch.valid.next = self.plan.stretch_valid.val()
            && self.plan.stretch_made.val()
            && !self.walker.stretch_valid.val()
            && !self.fetch.busy.val();
        self.keys.stretch.slot.next = self.plan.stretch_slot.val();
        self.keys.stretch.begins.next = self.plan.stretch_begins.val();
        self.keys.stretch.addr.next = self.plan.stretch_addr.val();
        self.keys.stretch.first.next = self.plan.stretch_first.val();
        self.keys.stretch.rows.next = self.plan.stretch_rows.val();
        self.keys.stretch.ids.next = self.plan.stretch_ids.val();
        self.keys.stretch.partition.next = self.plan.stretch_partition.val();
        self.keys.stretch.column.next = self.plan.stretch_column.val();
        self.keys.function.join(&mut self.partitioner.function);
        self.route.req_valid.next = self.fetch.req_valid.val();
        self.plain_read.next.made = false;
        self.plain_read.next.begins = false;
        self.plain_read.next.splitters = false;
        self.plain_read.next.validity = false;
        self.plain_read.next.nullable = false;
        self.plain_read.next.first = 0.into();
        self.plain_read.next.log_width = 0.into();
        self.plain_read.next.key_type = 0.into();
        self.plain_read.next.opens = false;
        self.plain_read.next.closes = false;
        self.plain_read.next.rows = 0.into();
        self.plain_read.next.purpose = self.fetch.req_purpose.val();
        self.route.req_read.next = self.plain_read.val();
        self.route.req_ready.next = self.read_req_ready.val();
        self.origin.next.kept = self.keys.busy.val() && self.keys.request.kept.val();
        self.origin.next.key = self.keys.request.key.val();
        self.origin.next.slot = self.keys.request.slot.val();
        self.origin.next.addr = self.keys.request.addr.val();
        self.origin.next.tail = self.keys.request.bytes.val().get_bits::<6>(0);
        self.route.req_origin.next = self.origin.val();
        self.fetch.req_ready.next = self.route.req_taken.val();
        self.read_req_valid.next = self.route.req_offered.val();
        self.read_req_addr.next = self.fetch.req_addr.val();
        self.read_req_bytes.next = self.fetch.req_bytes.val();
        self.keys.request.ready.next = self.route.req_taken.val();
        if self.keys.busy.val() {
            self.route.req_valid.next = self.keys.request.valid.val();
            self.route.req_read.next = self.keys.request.read.val();
            self.read_req_addr.next = self.keys.request.addr.val();
            self.read_req_bytes.next = self.keys.request.bytes.val();
        }
        self.wire_reads_of_kinds();
    }

    /// Reads of requests with kinds of columns, which have the readers for themselves. A window of ids that are made is
    /// a stretch of keys that begins anew, because windows of two requests, with two functions, may follow one another.
    #[hdl_gen]
    fn wire_reads_of_kinds(&mut self) {
        // Nothing of what the reader asked for last counts here: that may have been for the column path.
        self.kinds_purpose.next.column = false;
        self.kinds_purpose.next.ids = 0.into();
        self.kinds_purpose.next.partition = 0.into();
        self.kinds_purpose.next.last = true;
        self.kinds_purpose.next.fetch = false;
        self.kinds_purpose.next.kept = false;
        self.kinds.read.ready.next = false;
        if self.plan.kinds_busy.val() {
            self.keys.stretch.valid.next =
                self.kinds.read.valid.val() && self.kinds.read.made.val();
            self.keys.stretch.slot.next = self.kinds.read.slot.val();
            self.keys.stretch.begins.next = true;
            self.keys.stretch.addr.next = self.kinds.read.addr.val();
            self.keys.stretch.first.next = self.kinds.read.first.val();
            self.keys.stretch.rows.next = bit_cast::<32, 13>(self.kinds.read.bytes.val());
            self.keys.stretch.ids.next = 1.into();
            if self.kinds.read.wide.val() {
                self.keys.stretch.rows.next = bit_cast::<32, 13>(self.kinds.read.bytes.val() >> 1);
                self.keys.stretch.ids.next = 2.into();
            }
            self.keys.stretch.partition.next = 0.into();
            self.keys.stretch.column.next = false;
            if self.keys.busy.val() {
                self.kinds.read.ready.next = false;
            } else {
                self.route.req_valid.next =
                    self.kinds.read.valid.val() && !self.kinds.read.made.val();
                self.route.req_read.next.purpose = self.kinds_purpose.val();
                self.read_req_addr.next = self.kinds.read.addr.val();
                self.read_req_bytes.next = self.kinds.read.bytes.val();
                self.kinds.read.ready.next = self.route.req_taken.val();
                if self.kinds.read.made.val() {
                    self.kinds.read.ready.next = self.keys.stretch.ready.val();
                }
            }
        }
    }

    /// Keys become ids; all that follows sees ids only.
    #[hdl_gen]
    pub(super) fn wire_keys(&mut self) {
        self.partitioner.input.valid.next = self.route.told_valid.val();
        self.partitioner.input.data.next = self.read_resp_data.val();
        self.partitioner.input.error.next = self.read_resp_error.val();
        self.partitioner.input.last.next = self.read_resp_last.val();
        self.partitioner.input.read.next = self.route.resp_read.val();
        self.route.told_ready.next = self.partitioner.input.ready.val();
        self.key_beats.taken.next =
            self.route.told_valid.val() && self.partitioner.input.ready.val();
        self.key_beats.data.next = self.read_resp_data.val();
        self.key_beats.last.next = self.read_resp_last.val();
        self.key_beats.error.next = self.read_resp_error.val();
        self.key_beats.origin.next = self.route.resp_origin.val();
        self.key_beats.beat.join(&mut self.key_beat);
        self.kinds.record.join(&mut self.record);
        self.for_columns.next = self.partitioner.output.purpose.val().column;
        self.kinds_beats.input.valid.next =
            self.partitioner.output.valid.val() && self.plan.kinds_busy.val();
        self.kinds_beats.input.data.next.data = self.partitioner.output.data.val();
        self.kinds_beats.input.data.next.last = self.partitioner.output.purpose.val().last;
        self.kinds_beats.input.data.next.error = self.partitioner.output.error.val();
        self.kinds_beats.output.join(&mut self.kinds.beat);
        self.partitioner.output.ready.next = self.selector.in_ready.val();
        if self.plan.kinds_busy.val() {
            self.partitioner.output.ready.next = self.kinds_beats.input.ready.val();
        } else if self.for_columns.val() {
            self.partitioner.output.ready.next = self.answers.in_ready.val();
        }
        self.selector.in_valid.next = self.partitioner.output.valid.val()
            && !self.for_columns.val()
            && !self.plan.kinds_busy.val();
        self.selector.in_data.next = self.partitioner.output.data.val();
        self.selector.in_error.next = self.partitioner.output.error.val();
        self.selector.in_purpose.next = self.partitioner.output.purpose.val();
        self.selector.out_ready.next = self.rows.resp_ready.val() || self.walker.wants.val();
        self.rows.resp_valid.next = self.selector.out_valid.val() && !self.walker.wants.val();
        self.rows.resp_data.next = self.selector.out_data.val();
        self.rows.resp_error.next = self.selector.out_error.val();
        self.rows.fail.next = self.walker.fail.val() || self.route.fail.val();
        self.rows.fail_dest.next = self.walker.fail_dest.val();
        if self.route.fail.val() {
            self.rows.fail_dest.next = self.column_fail_index.val();
        }
        self.walker.item_valid.next = self.route.walker_valid.val();
        self.walker.item.next = self.item_out.record.val();
        self.walker.item_context.next = self.context_out.record.val();
        self.walker.may_start.next = self.rows.idle.val() && !self.rows.row_valid.val();
        self.walker.failed.next = self.rows.has_failed.val();
        self.walker.lane_write_valid.next = self.lane_write_valid.val();
        self.walker.lane_write_set.next = self.lane_write_set.val();
        self.walker.lane_write_lane.next = self.lane_write_lane.val();
        self.walker.lane_write_len.next = self.lane_write_len.val();
        self.walker.resp_valid.next = self.selector.out_valid.val();
        self.walker.resp_data.next = self.selector.out_data.val();
        self.walker.resp_error.next = self.selector.out_error.val();
        self.plan.walked_valid.next = self.walker.done.val();
        self.plan.walked_too_long.next = self.walker.too_long.val();
    }
}
