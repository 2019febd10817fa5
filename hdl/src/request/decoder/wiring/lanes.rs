//! Lanes and sets, and their bounds.

use super::super::Decoder;
use crate::request::POINTER_MAPPED;
use drdma_emit::prelude::*;

impl Decoder {
    /// Bounds.
    #[hdl_gen]
    pub(super) fn wire_bounds(&mut self) {
        self.bounds.cfg_valid.next = self.select.region.val();
        self.bounds.cfg_last.next = self.select.region_valid.val();
        self.bounds.cfg_index.next = self.cfg_index.val();
        self.bounds.cfg_word.next = self.cfg_word.val();
        self.bounds.cfg_data.next = self.cfg_data.val();
        self.bounds.check_valid.next = self.parser.check_valid.val();
        self.bounds.check_long.next = self.parser.check_long.val();
        self.bounds.check_target.next = self.parser.check_target.val();
        self.bounds.check_key.next = self.parser.check_key.val();
        self.bounds.check_pd.next = self.contexts.queue_pd.val();
        self.bounds.check_base.next = self.parser.check_base.val();
        self.bounds.check_offset.next = self.parser.check_offset.val();
        self.bounds.check_span.next = self.parser.check_span.val();
        self.bounds.check_factor.next = self.parser.check_factor.val();
        self.bounds.check_step.next = self.parser.check_step.val();
        self.bounds.check_len.next = self.parser.check_len.val();
        self.bounds.check_writes.next = self.parser.check_writes.val();
        self.bounds.check_region.next = self.parser.region.val();
        self.bounds.check_dest.next = self.parser.dest.val();
        self.bounds.clear.next = self.requests.clear.val();
    }

    /// Lanes and sets.
    #[hdl_gen]
    pub(super) fn wire_lanes(&mut self) {
        self.shaper.element_valid.next = self.parser.element_valid.val();
        self.shaper.element_lane.next = self.parser.element_lane.val();
        self.shaper.element_last.next = self.parser.element_last.val();
        self.shaper.element_alone.next = self.parser.element_alone.val();
        self.shaper.element_split.next = self.parser.element_split.val();
        self.shaper.element_base.next = self.parser.element_base.val();
        self.shaper.element_offset.next = self.parser.element_offset.val();
        self.shaper.element_step.next = self.parser.element_step.val();
        self.shaper.element_len.next = self.parser.element_len.val();
        self.shaper.element_kind.next = self.parser.element_kind.val();
        self.shaper.element_ids.next = self.parser.element_ids.val();
        self.shaper.element_made.next = self.parser.element_made.val();
        self.shaper.element_inline.next =
            self.parser.told_inline.val() || self.parser.told_ask.val();
        self.shaper.element_fetch.next = self.parser.element_fetch.val();
        self.shaper.fetch_addr.next = self.parser.fetch_addr.val();
        self.shaper.element_source.next = self.parser.element_source.val();
        self.shaper.element_set.next = self.parser.element_set.val();
        self.shaper.element_set.next.pd = self.contexts.queue_pd.val();
        self.shaper.element_addr.next = self.parser.element_addr.val();
        self.shaper.element_count.next = self.parser.element_count.val();
        self.shaper.target_addr.next = self.bounds.target_addr.val();
        self.shaper.target_len.next = self.bounds.target_len.val();
        self.own_element.next = self.parser.element_valid.val()
            && !self.parser.element_alone.val()
            && !self.parser.partitioned.val();
        self.joiner.dest_accept.next = self.parser.dest_accept.val();
        self.joiner.element_mask.next = self.parser.element_mask.val();
        self.joiner.sets.next = self.dest_sets.q.val();
        self.joiner.element_valid.next = self.own_element.val();
        self.joiner.element_lane.next = self.parser.element_lane.val();
        self.joiner.element_last.next = self.parser.element_last.val();
        // Regions with kinds of columns are not joined.
        self.joiner.element_kind.next = self.parser.element_kind.val();
        if self.parser.element_kinds.val() {
            self.joiner.element_kind.next = POINTER_MAPPED.into();
        }
        self.joiner.element_count.next = self.parser.element_count.val();
        self.joiner.element_addr.next = self.parser.element_addr.val();
        self.joiner.element_len.next = self.parser.element_len.val();
        self.joiner.set.next = self.shaper.set.val();
        self.shaper.join_valid.next = self.joiner.write_valid.val();
        self.shaper.join_set.next = self.joiner.write_set.val();
        self.shaper.join_lane.next = self.joiner.write_lane.val();
        self.shaper.join_last.next = self.joiner.write_last.val();
        self.shaper.join_lanes.next = self.joiner.write_lanes.val();
        self.shaper.join_row_bytes.next = self.joiner.write_row_bytes.val();
        self.shaper.join_beat_start.next = self.joiner.write_beat_start.val();
        self.same_lanes.dest_accept.next = self.parser.dest_accept.val();
        self.same_lanes.first.next = self.parser.dest.val() == 0;
        self.same_lanes.sets.next = self.dest_sets.q.val();
        self.same_lanes.element_valid.next = self.own_element.val();
        self.same_lanes.element_last.next = self.parser.element_last.val();
        self.same_lanes.lane_base.next = self.shaper.lane_write_base.val();
        self.same_lanes.lane_step.next = self.shaper.lane_write_step.val();
        self.same_lanes.lane_len.next = self.shaper.lane_write_len.val();
        self.same_lanes.lane_kind.next = self.shaper.set_write_kind.val();
        self.same_lanes.lane_count.next = self.shaper.set_write_count.val();
        self.apart.dest_accept.next = self.parser.dest_accept.val();
        self.apart.first.next = self.parser.dest.val() == 0;
        self.apart.sets.next = self.dest_sets.q.val();
        self.apart.element_valid.next = self.own_element.val();
        self.apart.element_last.next = self.parser.element_last.val();
        self.apart.lane_base.next = self.shaper.lane_write_base.val();
        self.apart.lane_step.next = self.shaper.lane_write_step.val();
        self.apart.lane_len.next = self.shaper.lane_write_len.val();
        self.apart.lane_kind.next = self.shaper.set_write_kind.val();
        self.apart.lane_count.next = self.shaper.set_write_count.val();
        self.lane_write_valid.next = self.shaper.lane_write_valid.val();
        self.lane_write_set.next = self.shaper.lane_write_set.val();
        self.lane_write_lane.next = self.shaper.lane_write_lane.val();
        self.lane_write_base.next = self.shaper.lane_write_base.val();
        self.lane_write_step.next = self.shaper.lane_write_step.val();
        self.lane_write_len.next = self.shaper.lane_write_len.val();
        self.lane_write_inline.next = self.shaper.lane_write_inline.val();
        self.lane_write_kind.next = self.shaper.lane_write_kind.val();
        self.set_write_kinds.next = self.shaper.set_write_kinds.val();
        self.inline_valid.d.next = self.parser.told_inline.val() || self.parser.told_ask.val();
        self.inline_slot.d.next = self.requests.slot.val();
        self.block.next = (bit_cast::<512, 384>(self.unpacker.granule_rest.val()) << 128)
            | bit_cast::<512, 128>(self.unpacker.granule_data.val());
        for k in 0..4 {
            if self.parser.inline_parts.val().get_bit(k) {
                self.inline_data[k].d.next = self.unpacker.granule_data.val();
            }
            if self.parser.inline_parts.val() == 15 {
                self.inline_data[k].d.next = self.block.val().get_bits::<128>(k * 128);
            }
            self.inline_whole.parts[k].next = self.inline_data[k].q.val();
        }
        for k in 0..8 {
            self.operands.parts[k].next = self.parser.operands.val().get_bits::<8>((7 - k) * 8);
            self.operands.parts[k + 8].next =
                self.parser.operands.val().get_bits::<8>((15 - k) * 8);
        }
        if self.parser.told_ask.val() {
            self.inline_data[0].d.next = self.operands.whole.val();
        }
        self.inline_write_valid.next = self.inline_valid.q.val();
        self.inline_write_slot.next = self.inline_slot.q.val();
        self.inline_write_data.next = self.inline_whole.whole.val();
        self.set_write_valid.next = self.shaper.set_write_valid.val();
        self.set_write_set.next = self.shaper.set_write_set.val();
        self.set_write_kind.next = self.shaper.set_write_kind.val();
        self.set_write_ids.next = self.shaper.set_write_ids.val();
        self.set_write_made.next = self.shaper.set_write_made.val();
        self.set_write_fetch.next = self.shaper.set_write_fetch.val();
        self.set_write_addr.next = self.shaper.set_write_addr.val();
        self.set_write_count.next = self.shaper.set_write_count.val();
        self.set_write_lanes.next = self.shaper.set_write_lanes.val();
        self.set_write_row_bytes.next = self.shaper.set_write_row_bytes.val();
        self.set_write_beat_start.next = self.shaper.set_write_beat_start.val();
        self.set_write_target_addr.next = self.shaper.set_write_target_addr.val();
        self.set_write_target_len.next = self.shaper.set_write_target_len.val();
        self.set_write_low.next = self.shaper.set_write_low.val();
        self.set_write_high.next = self.shaper.set_write_high.val();
    }
}
