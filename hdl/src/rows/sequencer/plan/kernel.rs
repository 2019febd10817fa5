//! Logic of the plan, state by state.

use super::{Plan, PlanState};
use crate::request::{BITMAPPED, CONTIGUOUS, DEST_COUNT, DEST_INDEX, POINTER_MAPPED, STRIDED};
use crate::rows::sequencer::record::{BOUNDS, CHECK, END, HEAD, LOAD, SCAN, UNITS, WALK};
use drdma_emit::prelude::*;

/// Most rows of a destination's bitmap that the column path keeps for all columns of a WRITE by columns.
const KEPT_ROWS: u64 = crate::rows::columns::bitmaps::ROWS;

/// Rows with ids that the column path counts in one item.
const TALLY_ROWS: u64 = 4096;

impl Logic for Plan {
    #[hdl_gen]
    fn update(&mut self) {
        // The tables' answers; for a column of a WRITE, with the set of that column.
        self.here.next = self.dest_info.val();
        self.here.next.first_set =
            self.dest_info.val().first_set + bit_cast::<11, 5>(self.pass_set.q.val());
        self.mtu.d.next = bit_cast::<13, 1>(1.into()) << self.head.q.val().log_mtu;
        self.dest_at.next =
            self.first_dest.q.val() + bit_cast::<10, DEST_COUNT>(self.index.q.val());
        self.dest_read.next = self.dest_at.val();
        self.set_read.next = self.set.q.val();
        // While idle, the plan reads the next request's first destination; together with a head it reads the head's
        // set.
        if self.state.q.val() == PlanState::Idle {
            self.dest_read.next = self.request_first_dest.val();
        }
        if (self.state.q.val() == PlanState::InspectHead)
            || (self.state.q.val() == PlanState::ColumnHead)
            || (self.state.q.val() == PlanState::TallyHead)
            || (self.state.q.val() == PlanState::QuickHead)
        {
            self.set_read.next = self.here.val().first_set;
        }
        // The next destination's head is read during the last state of this one.
        if (self.state.q.val() == PlanState::Weigh)
            || (self.state.q.val() == PlanState::ColumnTurn)
            || (self.state.q.val() == PlanState::TallyTurn)
            || (self.state.q.val() == PlanState::QuickTimes)
        {
            self.dest_read.next = self.dest_at.val() + 1;
        }
        self.is_contiguous.next = self.set_info.val().kind == CONTIGUOUS;
        self.is_bitmap.next = self.set_info.val().kind == BITMAPPED;
        self.is_pointers.next = self.set_info.val().kind == POINTER_MAPPED;
        self.rows.next = self.set_info.val().count;
        if self.is_contiguous.val() {
            self.rows.next = 1.into();
        }
        self.row_span.next = bit_cast::<14, 13>(self.span.val());
        if self.is_pointers.val() {
            // Records lie anywhere: the span grows by a block of 256 B.
            self.row_span.next = bit_cast::<14, 13>(self.span.val()) + 256;
        }
        // Extents of a strided region: rows times lanes.
        for k in 0..5 {
            self.terms[k].next = 0.into();
            if self.set_info.val().lanes.get_bit(k) {
                self.terms[k].next = bit_cast::<36, 32>(self.rows.val()) << k.to_bits::<3>();
            }
        }
        self.times.d.next = ((self.terms[0].val() + self.terms[1].val())
            + (self.terms[2].val() + self.terms[3].val()))
            + self.terms[4].val();
        self.uneven_set.next = self.head.q.val().element_mask
            && (self.set_info.val().kind == STRIDED)
            && (self.set_info.val().lanes != 1);
        // The largest row or, with row mask `Element`, the largest element of all regions together.
        self.shuffle.next = self.head.q.val().element_mask && (self.head.q.val().sets > 1);
        self.larger.next = bit_cast::<37, 36>(self.largest.q.val());
        if self.shuffle.val() {
            self.larger.next = bit_cast::<37, 36>(self.largest.q.val())
                + bit_cast::<37, 36>(self.set_info.val().row_bytes);
            if self.larger.val().get_bit(36) {
                self.larger.next = self.saturated.val();
            }
        } else if self.set_info.val().row_bytes > self.largest.q.val() {
            self.larger.next = bit_cast::<37, 36>(self.set_info.val().row_bytes);
        }
        self.last_set.next = self.sets_left.q.val() == 1;
        self.last_dest.next = self.index.q.val() + 1 == self.dests.q.val();

        self.simple.next = self.single.q.val()
            && (self.head.q.val().sets == 1)
            && self.is_contiguous.val()
            && (self.set_info.val().row_bytes <= bit_cast::<36, 13>(self.mtu.q.val()));

        // What is known about destinations and sets. All columns of a WRITE have the same rows.
        self.key.next = self.set_read.val();
        if self.pass.q.val().any() {
            self.key.next = self.set.q.val() - bit_cast::<11, 5>(self.pass.q.val());
            if (self.state.q.val() == PlanState::InspectHead)
                || (self.state.q.val() == PlanState::ColumnHead)
                || (self.state.q.val() == PlanState::TallyHead)
                || (self.state.q.val() == PlanState::QuickHead)
            {
                self.key.next = self.dest_info.val().first_set + 1;
            }
        }
        if self.partitioned.q.val() {
            self.key.next = bit_cast::<11, DEST_COUNT>(self.index.q.val());
        }
        self.findings.read_address[0].next = bit_cast::<DEST_INDEX, DEST_COUNT>(self.index.q.val());
        self.findings.write_address.next = bit_cast::<DEST_INDEX, DEST_COUNT>(self.index.q.val());
        self.findings.write_data.next = self.findings_in.bits.val();
        self.findings.write_enable.next = false;
        self.findings_out.bits.next = self.findings.read_data[0].val();
        self.scanned.write_lanes.next = bit_cast::<1, 1>(self.result_valid.val().into());
        self.scanned.write_address.next = self.result_set.val();
        self.scanned_new.next.count = self.result_count.val();
        self.scanned_new.next.bad = self.result_bad.val();
        self.scanned_in.record.next = self.scanned_new.val();
        self.scanned.write_data.next = self.scanned_in.bits.val();
        self.scanned.read_enable.next = true;
        self.scanned.read_address.next = self.key.val();
        self.scanned_out.bits.next = self.scanned.read_data.val();
        self.elements.next = bit_cast::<36, 32>(self.rows.val());
        if self.is_bitmap.val() {
            self.elements.next = bit_cast::<36, 32>(self.scanned_out.record.val().count);
            if self.rows.val() == 0 {
                self.elements.next = 0.into();
            }
        }
        if (self.set_info.val().kind == STRIDED) && self.head.q.val().element_mask {
            self.elements.next = self.times.q.val();
        }
        self.scan_bad.next = self.scanned_out.record.val().bad
            && (self.rows.val() != 0)
            && (self.is_pointers.val()
                || (self.is_bitmap.val()
                    && (self.findings_out.record.val().counted
                        || (self.stored.q.val() && self.partitioned.q.val()))));

        // Measurement.
        self.measure.start.next = false;
        self.measure.units.next = self.head.q.val().units;
        self.limit.d.next = self.max_message.val();
        if self.head.q.val().is_ud {
            self.limit.d.next = bit_cast::<32, 13>(self.mtu.q.val());
        }
        self.measure.limit.next = self.limit.q.val();
        self.measure.region_valid.next = false;
        self.measure.region_set.next = self.key.val();
        self.measure.region_rows.next = self.elements.val().get_bits::<32>(0);
        self.measure.region_bytes.next = self.set_info.val().row_bytes;
        if self.shuffle.val() {
            // All regions count as one.
            self.measure.region_rows.next = self.elements_before.q.val().get_bits::<32>(0);
            self.measure.region_bytes.next = self.largest.q.val();
        }
        self.measure.finish.next = false;
        self.measured_new.next.full_count = self.measure.write_full_count.val();
        self.measured_new.next.full_bytes = self.measure.write_full_bytes.val();
        self.measured_new.next.tail_bytes = self.measure.write_tail_bytes.val();
        self.measured.write_lanes.next = bit_cast::<1, 1>(self.measure.write_valid.val().into());
        self.measured.write_address.next = self.measure.write_set.val();
        self.measured.read_enable.next = true;
        self.measured.read_address.next = self.key.val();
        self.measured_out.bits.next = self.measured.read_data.val();

        // The most bytes that a message could have.
        self.multiplier.enable.next = true;
        self.multiplier.a.next = self.head.q.val().units;
        self.multiplier.b.next = self.largest.q.val();
        // For destinations that are alike: the length of their one message, one product for each destination.
        self.quick_rows.d.next = self.rows.val();
        if self.is_bitmap.val() && (self.rows.val() != 0) {
            self.quick_rows.d.next = self.scanned_out.record.val().count;
        }
        self.quick.next = false;
        if self.state.q.val() == PlanState::QuickTimes {
            self.multiplier.a.next = self.quick_rows.q.val();
            self.multiplier.b.next = self.set_info.val().row_bytes;
        }
        self.quick_set[0].d.next = self.key.val();
        self.quick_index[0].d.next = self.index.q.val();
        for k in 0..3 {
            self.quick_set[k + 1].d.next = self.quick_set[k].q.val();
            self.quick_index[k + 1].d.next = self.quick_index[k].q.val();
        }
        self.quick_done.next = self.quick_valid.q.val().get_bit(3);
        self.quick_excess.next =
            self.multiplier.product.val() > bit_cast::<68, 32>(self.max_message.val());
        if self.quick_done.val() {
            self.measured_new.next.full_count = 0.into();
            self.measured_new.next.tail_bytes = self.multiplier.product.val().get_bits::<32>(0);
            self.measured.write_lanes.next = 1.into();
            self.measured.write_address.next = self.quick_set[3].q.val();
        }
        // Kept apart from the above: what `measure` writes must not feed its inputs, not even within one block of
        // Verilog, or an event simulator iterates between the two for ever.
        if self.quick_done.val() && self.quick_excess.val() && !self.quick_long.q.val() {
            self.quick_long.d.next = true;
            self.quick_dest.d.next = self.quick_index[3].q.val();
        }
        self.measured_in.record.next = self.measured_new.val();
        self.measured.write_data.next = self.measured_in.bits.val();
        self.beyond_mtu.d.next =
            self.multiplier.product.val() > bit_cast::<68, 13>(self.mtu.q.val());
        self.beyond_any.d.next =
            self.multiplier.product.val() > bit_cast::<68, 32>(self.max_message.val());
        self.finding.next.measure = self.beyond_any.q.val()
            || (self.beyond_mtu.q.val() && (self.head.q.val().is_ud || self.head.q.val().is_write));
        self.finding.next.announce = self.beyond_mtu.q.val() && self.head.q.val().is_write;
        self.finding.next.limited =
            self.beyond_any.q.val() || (self.beyond_mtu.q.val() && self.head.q.val().is_ud);
        self.finding.next.uneven = self.uneven.q.val();
        self.finding.next.walked =
            self.shuffle.val() || (self.uneven.q.val() && self.finding.val().measure);
        self.finding.next.counted = self.bitmaps.q.val()
            && (self.finding.val().measure
                || (self.head.q.val().element_mask && (self.head.q.val().sets > 1)));
        self.findings_in.record.next = self.finding.val();

        // Chunks.
        self.chunks.start.next = false;
        self.chunks.dest_valid.next = false;
        self.chunks.dest_alike.next = self.here.val().alike;
        self.chunks.set_valid.next = false;
        self.chunks.set_lanes.next = self.set_info.val().lanes;
        self.chunks.set_row_bytes.next = self.set_info.val().row_bytes;
        self.chunks.set_count.next = self.set_info.val().count;
        self.chunks.set_span.next = self.row_span.val();
        self.chunks.set_steps.next = self.steps.val();
        self.chunks.set_overlaps.next = self.overlaps.val();
        self.chunks.set_by_lane.next = self.uneven_set.val();
        self.chunks.set_lone_bitmap.next =
            self.single.q.val() && self.is_bitmap.val() && !self.set_info.val().ids.any();
        self.chunks.min_rows.next = self.column_min_rows.val();
        self.chunks.apart.next = self.apart.q.val();

        // Items, and what must be read for them.
        self.item_valid.next = self.has_item.q.val();
        self.item.next = self.item_out.q.val();
        self.item_context.next = self.context_out.q.val();
        self.stretch_valid.next = self.has_stretch.q.val();
        self.stretch_addr.next = self.stretch_from.q.val();
        self.stretch_first.next = self.item_out.q.val().first;
        self.stretch_rows.next = self.stretch_length.q.val();
        self.stretch_bitmap.next = self.item_out.q.val().kind == BITMAPPED;
        self.stretch_ids.next = self.item_out.q.val().ids;
        self.stretch_partition.next = self.item_out.q.val().partition;
        self.stretch_column.next = self.item_out.q.val().column;
        self.stretch_fetch.next = self.item_out.q.val().fetch;
        self.stretch_kept.next = self.item_out.q.val().kept && (self.item_out.q.val().task == WALK);
        self.stretch_fetch_addr.next = self.item_out.q.val().low;
        self.stretch_made.next = self.stretch_keys.q.val();
        self.stretch_begins.next = self.stretch_opens.q.val();
        self.stretch_slot.next = self.context_out.q.val().slot;
        if self.item_ready.val() {
            self.has_item.d.next = false;
        }
        if self.stretch_ready.val() {
            self.has_stretch.d.next = false;
        }
        self.free.next = !self.has_item.q.val() && !self.has_stretch.q.val();
        self.push.next = false;

        // The next stretch of a destination.
        self.turns.read_address[0].next = bit_cast::<DEST_INDEX, DEST_COUNT>(self.index.q.val());
        self.turns.write_address.next = bit_cast::<DEST_INDEX, DEST_COUNT>(self.index.q.val());
        self.turns.write_enable.next = false;
        self.turn_out.bits.next = self.turns.read_data[0].val();
        // A contiguous region has one row: it is left, or the region is done.
        self.rows_left.next = self.set_info.val().count - self.turn.q.val().row;
        self.rows_over.next = self.set_info.val().count <= self.turn.q.val().row;
        self.rows_none.next = self.set_info.val().count == self.turn.q.val().row;
        if self.is_contiguous.val() {
            self.rows_left.next = 1.into();
            self.rows_over.next = self.turn.q.val().row.any();
            self.rows_none.next = self.turn.q.val().row == 1;
        }
        self.turn_end.d.next =
            bit_cast::<33, 32>(self.turn.q.val().row) + bit_cast::<33, 13>(self.chunks.rows.val());
        // The column path cuts the bitmap of a single destination into windows, by blocks of 64 rows.
        self.sparse.next = self.column.q.val()
            && (self.dests.q.val() == 1)
            && self.is_bitmap.val()
            && !self.set_info.val().ids.any()
            && self.chunks.rows.val().get_bits::<7>(6).any();
        self.whole_blocks.next = self.chunks.rows.val() & 0x1fc0;
        // Other bitmaps of column requests are read in stretches of several chunks, unless they have fetch rows. A
        // WRITE by columns keeps all rows for all columns, if they are few enough.
        self.kept_whole.next =
            self.columns.q.val().any() && (self.set_info.val().count <= bits::<32>(KEPT_ROWS));
        self.ids_kept.next = self.set_info.val().ids.any()
            && self.kept_whole.val()
            && (self.stored.q.val() || self.kept_before.q.val());
        self.kept.next = self.column.q.val()
            && self.is_bitmap.val()
            && (!self.set_info.val().ids.any() || self.ids_kept.val())
            && !self.set_info.val().fetch
            && !self.sparse.val()
            && (self.kept_whole.val() || !self.chunks.rows.val().get_bits::<2>(11).any());
        self.kept_left.next = self.rows_left.val();
        if !self.kept_whole.val()
            && (self.rows_left.val() > bit_cast::<32, 13>(self.chunks.kept_rows.val()))
        {
            self.kept_left.next = bit_cast::<32, 13>(self.chunks.kept_rows.val());
        }
        self.next_phase.next = self.phase.q.val() + bit_cast::<9, 13>(self.chunks.rows.val() >> 4);
        // The one row of a contiguous region never exceeds a chunk.
        self.whole.next = self.single.q.val()
            || self.sparse.val()
            || self.is_contiguous.val()
            || (bit_cast::<33, 32>(self.set_info.val().count) <= self.turn_end.q.val());
        self.stretch.next = self.rows_left.val();
        if !self.whole.val() {
            self.stretch.next = bit_cast::<32, 13>(self.chunks.rows.val());
        }
        self.last_region.next = self.turn.q.val().region + 1 == self.head.q.val().sets;
        self.turn_new.next.region = self.turn.q.val().region;
        self.turn_new.next.row = self.turn_end.q.val().get_bits::<32>(0);
        if self.whole.val() {
            self.turn_new.next.region = self.turn.q.val().region + 1;
            self.turn_new.next.row = 0.into();
        }
        self.turn_new.next.done = self.whole.val() && self.last_region.val();

        self.next_item.next.task = WALK.into();
        self.next_item.next.kind = self.set_info.val().kind;
        self.next_item.next.first = self.turn.q.val().row;
        self.next_item.next.rows = self.stretch.val();
        self.next_item.next.last = self.whole.val() && self.last_region.val();
        self.next_item.next.chunk_start = self.turn_begins.q.val();
        self.next_item.next.low = self.bounds.val().low;
        self.next_item.next.high = self.bounds.val().high;
        self.next_item.next.never = self.bounds.val().never;
        self.next_item.next.column = self.column.q.val();
        // Destinations that are apart have chunks of their own.
        self.next_item.next.chunk_end =
            self.column.q.val() && (self.last_dest.val() || self.apart.q.val());
        self.next_item.next.ids = self.set_info.val().ids;
        if self.column.q.val() && self.ids_kept.val() {
            // The column path has these rows as bitmaps.
            self.next_item.next.ids = 0.into();
        }
        self.next_item.next.partition = self.head.q.val().partition;
        self.next_item.next.sparse = self.sparse.val();
        self.next_item.next.fetch = self.column.q.val() && self.set_info.val().fetch;
        self.next_item.next.kept = self.kept.val();
        self.next_item.next.phase = self.phase.q.val();
        self.next_item.next.loads = !self.phase.q.val().any()
            && !(self.kept_whole.val()
                && (self.kept_before.q.val()
                    || (self.stored.q.val()
                        && (self.findings_out.record.val().counted || self.partitioned.q.val()))));
        self.shared.next.set = self.set.q.val();
        self.shared.next.lanes = self.set_info.val().lanes;
        self.shared.next.starts = self.set_info.val().starts;
        self.shared.next.fits = self.set_info.val().row_bytes <= 64;
        self.shared.next.bytes = bit_cast::<10, 36>(self.set_info.val().row_bytes);
        self.shared.next.by_lane = self.head.q.val().element_mask
            && (self.set_info.val().kind == STRIDED)
            && (self.set_info.val().lanes != 1);
        self.shared.next.dest =
            self.pass_dest.q.val() + bit_cast::<10, DEST_COUNT>(self.index.q.val());
        self.shared.next.index = bit_cast::<DEST_INDEX, DEST_COUNT>(self.index.q.val());
        self.shared.next.slot = self.slot.q.val();
        self.shared.next.units = self.head.q.val().units;
        self.shared.next.chunk_blocks = self.chunks.blocks.val();
        self.shared.next.measured =
            self.findings_out.record.val().announce && !self.findings_out.record.val().uneven;
        self.shared.next.full_count = self.measured_out.record.val().full_count;
        self.shared.next.full_bytes = self.measured_out.record.val().full_bytes;
        self.shared.next.tail_bytes = self.measured_out.record.val().tail_bytes;
        self.shared.next.first_stretch = self.turn.q.val().row == 0;

        // Bits are counted in one item, ids in items of as many as the column path keeps.
        self.tally_end.d.next = bit_cast::<33, 32>(self.turn.q.val().row) + bits::<33>(TALLY_ROWS);
        self.tally_last.next = !self.set_info.val().ids.any()
            || (bit_cast::<33, 32>(self.set_info.val().count) <= self.tally_end.q.val());
        self.tallied.next = false;

        // Scans that have not ended, and whether something must be read for the item.
        self.asks.next = false;
        self.reads.next = false;
        self.passed.next = false;

        self.begins.next = false;
        self.passes.next = !self.status.q.val().any()
            && (self.pass.q.val() + 1 != self.columns.q.val())
            && self.columns.q.val().any();
        self.finished.next = false;
        self.kinds_start.next = false;
        self.kinds_busy.next = self.state.q.val() == PlanState::KindsWait;
        self.kinds_slot.next = self.slot.q.val();
        self.kinds_dests.next = self.dests.q.val();
        self.kinds_first_dest.next = self.first_dest.q.val();
        self.request_ready.next = self.state.q.val() == PlanState::Idle;
        match self.state.q.val() {
            PlanState::Idle => {
                self.slot.d.next = self.request_slot.val();
                self.dests.d.next = self.request_dests.val();
                self.first_dest.d.next = self.request_first_dest.val();
                self.columns.d.next = self.request_columns.val();
                self.pass.d.next = 0.into();
                self.pass_dest.d.next = self.request_first_dest.val();
                self.pass_set.d.next = 0.into();
                if self.request_columns.val().any() {
                    self.pass_set.d.next = 1.into();
                }
                self.all_counted.d.next = false;
                self.kept_before.d.next = false;
                self.status.d.next = self.request_status.val();
                self.bad_dest.d.next = self.request_bad_dest.val();
                self.breaks.d.next =
                    !self.request_status.val().any() || self.request_dests.val().any();
                self.single.d.next = self.request_dests.val() == 1;
                self.apart.d.next = self.request_apart.val();
                self.kinds.d.next = self.request_kinds.val();
                self.begins.next = true;
                if self.request_valid.val() {
                    self.state.d.next = PlanState::InspectHead;
                    if self.request_status.val().any() && self.request_dests.val().any() {
                        self.state.d.next = PlanState::RecallRead;
                    } else if self.request_status.val().any() || (self.request_dests.val() == 0) {
                        self.state.d.next = PlanState::Finish;
                    }
                }
            }

            PlanState::RecallRead => {
                self.state.d.next = PlanState::Recall;
            }
            PlanState::Recall => {
                // A queue pair that has failed since goes before the decoder's verdict.
                self.index.d.next = self.index.q.val() + 1;
                self.state.d.next = PlanState::RecallRead;
                if self.index.q.val() == self.bad_dest.q.val() {
                    self.state.d.next = PlanState::Finish;
                }
                if self.qp_error.val() {
                    self.status.d.next = self.flush.val();
                    self.bad_dest.d.next = self.index.q.val();
                    self.breaks.d.next = false;
                    self.state.d.next = PlanState::Finish;
                }
            }
            PlanState::InspectRead => {
                self.state.d.next = PlanState::InspectHead;
            }
            PlanState::InspectHead => {
                self.chunks.dest_valid.next = true;
                self.head.d.next = self.here.val();
                self.set.d.next = self.here.val().first_set;
                self.sets_left.d.next = self.here.val().sets;
                self.same.d.next =
                    self.here.val().alike && (self.same.q.val() || (self.index.q.val() == 0));
                self.largest.d.next = 0.into();
                self.wait.d.next = 0.into();
                if self.here.val().alike && self.same.q.val() {
                    // An alike destination has the same product as the one before, which still holds.
                    self.largest.d.next = self.largest.q.val();
                    self.wait.d.next = self.latency.val();
                }
                self.bitmaps.d.next = false;
                self.pointers.d.next = false;
                self.uneven.d.next = false;
                self.mtu.d.next = bit_cast::<13, 1>(1.into()) << self.here.val().log_mtu;
                self.state.d.next = PlanState::InspectSet;
                if self.here.val().sets == 0 {
                    self.state.d.next = PlanState::Weigh;
                }
                if self.kinds.q.val() {
                    self.index.d.next = self.index.q.val() + 1;
                    self.state.d.next = PlanState::InspectRead;
                    if self.last_dest.val() {
                        self.state.d.next = PlanState::Kinds;
                    }
                }
                // The queue pair may have failed after decoding. If it fails behind the first column, the segmenter
                // notices.
                if self.qp_error.val() && !self.pass.q.val().any() {
                    self.status.d.next = self.flush.val();
                    self.bad_dest.d.next = self.index.q.val();
                    self.breaks.d.next = false;
                    self.state.d.next = PlanState::Finish;
                }
            }
            PlanState::InspectSetRead => {
                self.state.d.next = PlanState::InspectSet;
            }
            PlanState::InspectSet => {
                self.largest.d.next = self.larger.val().get_bits::<36>(0);
                if self.uneven_set.val() {
                    self.uneven.d.next = true;
                }
                self.chunks.set_valid.next = true;
                self.partitioned.d.next = self.set_info.val().ids.any();
                if self.is_bitmap.val() {
                    self.bitmaps.d.next = true;
                }
                if self.is_pointers.val() {
                    self.pointers.d.next = true;
                }
                self.set.d.next = self.set.q.val() + 1;
                self.sets_left.d.next = self.sets_left.q.val() - 1;
                self.state.d.next = PlanState::InspectSetRead;
                if self.last_set.val() {
                    self.state.d.next = PlanState::Weigh;
                }
                if self.simple.val() {
                    // One message that fits a packet: nothing has to be found out.
                    self.next_item.next.chunk_start = false;
                    self.shared.next.measured = false;
                    self.set.d.next = self.set.q.val();
                    self.sets_left.d.next = self.sets_left.q.val();
                    self.state.d.next = PlanState::InspectSet;
                    if self.free.val() {
                        self.push.next = true;
                        self.state.d.next = PlanState::Finish;
                    }
                }
            }
            PlanState::Weigh => {
                self.wait.d.next = self.wait.q.val() + 1;
                self.set.d.next = self.head.q.val().first_set;
                self.sets_left.d.next = self.head.q.val().sets;
                if self.wait.q.val() == self.latency.val() {
                    self.findings.write_enable.next = true;
                    if self.finding.val().measure
                        || self.pointers.q.val()
                        || self.finding.val().counted
                        || (self.head.q.val().element_mask && (self.head.q.val().sets > 1))
                    {
                        self.judge.d.next = true;
                    }
                    self.counts.d.next = self.finding.val().counted;
                    if !self.finding.val().counted {
                        self.counted.d.next = false;
                    }
                    self.state.d.next = PlanState::InspectNext;
                    if self.same.q.val() && !self.last_dest.val() {
                        self.index.d.next = self.index.q.val() + 1;
                        self.state.d.next = PlanState::InspectHead;
                    }
                    // Pointers are scanned now; bits once it is known which path counts them.
                    if self.finding.val().counted && !self.all_counted.q.val() {
                        self.uncounted.d.next = true;
                    } else if self.pointers.q.val() {
                        self.index.d.next = self.index.q.val();
                        self.state.d.next = PlanState::ScanRead;
                    }
                }
            }
            PlanState::ScanRead => {
                self.state.d.next = PlanState::Scan;
            }
            PlanState::Scan => {
                self.next_item.next.task = SCAN.into();
                self.shared.next.set = self.key.val();
                self.next_item.next.rows = self.rows.val();
                self.next_item.next.first = 0.into();
                self.next_item.next.last = false;
                self.next_item.next.chunk_start = false;
                self.asks.next = (self.rows.val() != 0)
                    && (self.is_pointers.val() || (self.is_bitmap.val() && self.counts.q.val()))
                    && self.free.val();
                self.push.next = self.asks.val();
                self.reads.next = true;
                if self.free.val() {
                    self.set.d.next = self.set.q.val() + 1;
                    self.sets_left.d.next = self.sets_left.q.val() - 1;
                    self.state.d.next = PlanState::ScanRead;
                    if self.last_set.val() {
                        self.state.d.next = PlanState::InspectNext;
                        if self.counting.q.val() {
                            self.index.d.next = self.index.q.val() + 1;
                            self.state.d.next = PlanState::CountRead;
                            if self.last_dest.val() {
                                self.index.d.next = 0.into();
                                self.state.d.next = PlanState::Await;
                            }
                        }
                    }
                }
            }
            PlanState::InspectNext => {
                self.index.d.next = self.index.q.val() + 1;
                self.state.d.next = PlanState::InspectRead;
                if self.last_dest.val() {
                    self.index.d.next = 0.into();
                    self.state.d.next = PlanState::Begin;
                    if self.judge.q.val() {
                        self.state.d.next = PlanState::Await;
                    }
                    if self.uncounted.q.val()
                        || (self.columns.q.val().any() && self.partitioned.q.val())
                    {
                        self.state.d.next = PlanState::Settled;
                    }
                }
            }
            PlanState::Settled => {
                self.counting.d.next = true;
                self.state.d.next = PlanState::Begin;
                if self.judge.q.val() {
                    self.state.d.next = PlanState::Await;
                }
                // Ids are kept for all columns, whether or not their rows must be counted.
                if self.chunks.column.val()
                    && (self.uncounted.q.val()
                        || (self.partitioned.q.val()
                            && self.kept_whole.val()
                            && !self.kept_before.q.val()))
                {
                    self.judge.d.next = true;
                    self.state.d.next = PlanState::TallyRead;
                } else if self.uncounted.q.val() {
                    self.state.d.next = PlanState::CountRead;
                }
            }
            PlanState::CountRead => {
                self.state.d.next = PlanState::CountHead;
            }
            PlanState::CountHead => {
                self.head.d.next = self.here.val();
                self.set.d.next = self.here.val().first_set;
                self.sets_left.d.next = self.here.val().sets;
                self.counts.d.next = self.findings_out.record.val().counted;
                self.state.d.next = PlanState::ScanRead;
                if !self.findings_out.record.val().counted || (self.here.val().sets == 0) {
                    self.index.d.next = self.index.q.val() + 1;
                    self.state.d.next = PlanState::CountRead;
                    if self.last_dest.val() {
                        self.index.d.next = 0.into();
                        self.state.d.next = PlanState::Await;
                    }
                }
            }
            PlanState::TallyRead => {
                self.state.d.next = PlanState::TallyHead;
            }
            PlanState::TallyHead => {
                self.head.d.next = self.here.val();
                self.set.d.next = self.here.val().first_set;
                self.state.d.next = PlanState::TallyTurn;
            }
            PlanState::TallyTurn => {
                self.next_item.next.task = SCAN.into();
                self.next_item.next.column = true;
                self.shared.next.set = self.key.val();
                self.next_item.next.rows = self.rows_left.val();
                if !self.tally_last.val() {
                    self.next_item.next.rows = TALLY_ROWS.into();
                }
                self.next_item.next.last = self.tally_last.val();
                self.next_item.next.chunk_start = self.index.q.val() == 0;
                self.next_item.next.chunk_end = self.last_dest.val();
                self.next_item.next.ids = self.set_info.val().ids;
                self.next_item.next.sparse = false;
                self.next_item.next.fetch = false;
                self.next_item.next.kept = self.kept_whole.val() && !self.set_info.val().fetch;
                self.next_item.next.loads = self.turn.q.val().row == 0;
                self.tallied.next = self.is_bitmap.val()
                    && (self.findings_out.record.val().counted || self.partitioned.q.val());
                self.reads.next = true;
                self.asks.next = self.tallied.val() && self.tally_last.val() && self.free.val();
                self.push.next = self.tallied.val() && self.free.val();
                if self.free.val() || !self.tallied.val() {
                    self.index.d.next = self.index.q.val() + 1;
                    self.state.d.next = PlanState::TallyHead;
                    if self.last_dest.val() {
                        self.index.d.next = 0.into();
                        self.turn.d.next.row = self.turn.q.val().row + TALLY_ROWS;
                        self.state.d.next = PlanState::TallyRead;
                        if self.tally_last.val() {
                            self.turn.d.next.row = 0.into();
                            self.stored.d.next = self.kept_whole.val();
                            self.state.d.next = PlanState::Await;
                        }
                    }
                }
            }

            PlanState::Await => {
                self.bad.d.next = false;
                self.quick_long.d.next = false;
                self.quick_all.d.next = false;
                if self.outstanding.q.val() == 0 {
                    self.state.d.next = PlanState::JudgeRead;
                    if self.same.q.val() {
                        self.state.d.next = PlanState::QuickRead;
                    }
                }
            }
            PlanState::QuickRead => {
                self.state.d.next = PlanState::QuickHead;
            }
            PlanState::QuickHead => {
                self.head.d.next = self.here.val();
                self.set.d.next = self.here.val().first_set;
                self.state.d.next = PlanState::QuickSet;
            }
            PlanState::QuickSet => {
                self.state.d.next = PlanState::QuickTimes;
            }
            PlanState::QuickTimes => {
                self.state.d.next = PlanState::QuickEnd;
                if self.scan_bad.val() {
                    self.bad.d.next = true;
                } else if !self.findings_out.record.val().measure
                    || (!self.findings_out.record.val().uneven
                        && !self.head.q.val().is_ud
                        && (self.quick_rows.q.val() < self.head.q.val().units))
                {
                    // The destination has no more rows than one message, whose length may be needed.
                    self.quick.next = self.findings_out.record.val().measure;
                    self.index.d.next = self.index.q.val() + 1;
                    self.state.d.next = PlanState::QuickHead;
                    if self.last_dest.val() {
                        self.quick_all.d.next = true;
                        self.state.d.next = PlanState::QuickEnd;
                    }
                }
            }
            PlanState::QuickEnd => {
                if !self.quick_valid.q.val().any() {
                    self.bad_dest.d.next = 0.into();
                    if self.quick_long.q.val() {
                        self.bad_dest.d.next = self.quick_dest.q.val();
                        self.status.d.next = self.length.val();
                        self.state.d.next = PlanState::Finish;
                    } else if self.bad.q.val() {
                        // All destinations have the same ids, so the first one fails.
                        if !self.partitioned.q.val() {
                            self.bad_dest.d.next = self.index.q.val();
                        }
                        self.status.d.next = self.protection.val();
                        self.state.d.next = PlanState::Finish;
                    } else if self.quick_all.q.val() {
                        self.index.d.next = 0.into();
                        self.state.d.next = PlanState::Begin;
                    } else {
                        // This destination and those behind it are measured one after the other.
                        self.state.d.next = PlanState::JudgeRead;
                    }
                }
            }
            PlanState::JudgeRead => {
                self.state.d.next = PlanState::JudgeHead;
            }
            PlanState::JudgeHead => {
                self.head.d.next = self.here.val();
                self.set.d.next = self.here.val().first_set;
                self.sets_left.d.next = self.here.val().sets;
                self.bad.d.next = false;
                self.unequal.d.next = false;
                self.largest.d.next = 0.into();
                self.first_of_dest.d.next = true;
                self.measure.start.next = true;
                self.state.d.next = PlanState::JudgeSetRead;
                if self.here.val().sets == 0 {
                    self.state.d.next = PlanState::JudgeNext;
                }
            }
            PlanState::JudgeSetRead => {
                self.state.d.next = PlanState::JudgeTimes;
            }
            PlanState::JudgeTimes => {
                self.state.d.next = PlanState::JudgeSet;
            }
            PlanState::JudgeSet => {
                if self.scan_bad.val() {
                    self.bad.d.next = true;
                }
                self.first_of_dest.d.next = false;
                self.largest.d.next = self.larger.val().get_bits::<36>(0);
                self.elements_before.d.next = self.elements.val();
                if !self.first_of_dest.q.val()
                    && (self.elements_before.q.val() != self.elements.val())
                {
                    self.unequal.d.next = true;
                }
                self.set.d.next = self.set.q.val() + 1;
                self.sets_left.d.next = self.sets_left.q.val() - 1;
                self.state.d.next = PlanState::JudgeSetRead;
                if self.last_set.val() {
                    self.state.d.next = PlanState::JudgeEnd;
                }
            }
            PlanState::JudgeEnd => {
                self.set.d.next = self.head.q.val().first_set;
                self.sets_left.d.next = self.head.q.val().sets;
                self.bad_dest.d.next = self.index.q.val();
                if self.bad.q.val() {
                    if self.partitioned.q.val() {
                        // All destinations have the same ids, so the first one fails.
                        self.bad_dest.d.next = 0.into();
                    }
                    self.status.d.next = self.protection.val();
                    self.state.d.next = PlanState::Finish;
                } else if self.unequal.q.val() && self.head.q.val().element_mask {
                    self.status.d.next = self.operation.val();
                    self.state.d.next = PlanState::Finish;
                } else if self.findings_out.record.val().uneven
                    && self.findings_out.record.val().limited
                {
                    self.loading_check.d.next = true;
                    self.loaded.d.next = 0.into();
                    self.state.d.next = PlanState::LoadRead;
                } else if self.findings_out.record.val().measure
                    && !self.findings_out.record.val().uneven
                {
                    self.state.d.next = PlanState::MeasureRead;
                    if self.shuffle.val() {
                        self.sets_left.d.next = 1.into();
                    }
                } else {
                    self.bad_dest.d.next = 0.into();
                    self.state.d.next = PlanState::JudgeNext;
                }
            }
            PlanState::MeasureRead => {
                self.state.d.next = PlanState::MeasureTimes;
            }
            PlanState::MeasureTimes => {
                self.state.d.next = PlanState::MeasureSet;
            }
            PlanState::MeasureSet => {
                self.measure.region_valid.next = true;
                if self.measure.region_ready.val() {
                    self.set.d.next = self.set.q.val() + 1;
                    self.sets_left.d.next = self.sets_left.q.val() - 1;
                    self.state.d.next = PlanState::MeasureRead;
                    if self.last_set.val() {
                        self.state.d.next = PlanState::MeasureEnd;
                    }
                }
            }
            PlanState::MeasureEnd => {
                if self.measure.region_ready.val() {
                    self.measure.finish.next = true;
                    self.state.d.next = PlanState::JudgeLength;
                }
            }
            PlanState::JudgeLength => {
                self.bad_dest.d.next = 0.into();
                self.state.d.next = PlanState::JudgeNext;
                if self.measure.too_long.val() {
                    self.bad_dest.d.next = self.index.q.val();
                    self.status.d.next = self.length.val();
                    self.state.d.next = PlanState::Finish;
                }
            }
            PlanState::JudgeNext => {
                self.index.d.next = self.index.q.val() + 1;
                self.state.d.next = PlanState::JudgeRead;
                if self.last_dest.val() {
                    self.index.d.next = 0.into();
                    self.state.d.next = PlanState::Begin;
                }
            }

            PlanState::Begin => {
                self.turn_begins.d.next = !self.single.q.val();
                self.phase.d.next = 0.into();
                self.column.d.next = self.chunks.column.val();
                self.state.d.next = PlanState::TurnRead;
                if self.chunks.column.val() {
                    // A column request has chunks even for a single destination.
                    self.single.d.next = false;
                    self.turn_begins.d.next = true;
                    self.state.d.next = PlanState::ColumnRead;
                }
            }
            // Column requests: every destination has one set, and all have come equally far, or have ended.
            PlanState::ColumnRead => {
                self.state.d.next = PlanState::ColumnHead;
            }
            PlanState::ColumnHead => {
                self.head.d.next = self.here.val();
                self.set.d.next = self.here.val().first_set;
                self.state.d.next = PlanState::ColumnTurn;
            }
            PlanState::ColumnTurn => {
                // Destinations are apart: one with fewer rows has no more turns.
                self.passed.next = self.apart.q.val() && self.rows_over.val();
                self.push.next = self.free.val() && !self.passed.val();
                if self.turn_begins.q.val() && !self.headed.q.val() && !self.passed.val() {
                    // The header of a chunk goes before its items, by the row path.
                    self.next_item.next.task = HEAD.into();
                    // A sparse chunk has all rows of the region.
                    if self.sparse.val()
                        && (self.set_info.val().count > bit_cast::<32, 13>(self.whole_blocks.val()))
                    {
                        self.next_item.next.rows = bit_cast::<32, 13>(self.whole_blocks.val());
                    }
                    self.next_item.next.last = false;
                    self.next_item.next.chunk_start = false;
                    self.next_item.next.chunk_end = false;
                    if self.free.val() {
                        self.headed.d.next = true;
                    }
                } else {
                    self.reads.next = !self.whole.val() || !self.rows_none.val();
                    if self.free.val() || self.passed.val() {
                        self.headed.d.next = false;
                        self.turn_begins.d.next = self.apart.q.val();
                        if !self.whole.val() && !self.passed.val() {
                            self.unfinished.d.next = true;
                        }
                        self.index.d.next = self.index.q.val() + 1;
                        self.state.d.next = PlanState::ColumnHead;
                        if self.last_dest.val() {
                            self.turn.d.next.row = self.turn_end.q.val().get_bits::<32>(0);
                            self.index.d.next = 0.into();
                            self.turn_begins.d.next = true;
                            self.unfinished.d.next = false;
                            // The next chunk belongs to the same kept stretch, or is the first one of the next stretch.
                            self.phase.d.next = self.next_phase.val();
                            if !self.kept_whole.val()
                                && (self.next_phase.val()
                                    == bit_cast::<9, 13>(self.chunks.kept_rows.val() >> 4))
                            {
                                self.phase.d.next = 0.into();
                            }
                            self.state.d.next = PlanState::ColumnRead;
                            if !self.unfinished.q.val() && (self.whole.val() || self.passed.val()) {
                                self.state.d.next = PlanState::Finish;
                            }
                        }
                    }
                }
            }
            PlanState::TurnRead => {
                self.state.d.next = PlanState::TurnHead;
                if !self.first_turn.q.val() && self.turn_out.record.val().done {
                    self.state.d.next = PlanState::TurnNext;
                }
            }
            PlanState::TurnHead => {
                self.head.d.next = self.here.val();
                self.turn.d.next = self.turn_out.record.val();
                self.set.d.next = self.here.val().first_set
                    + bit_cast::<11, 5>(self.turn_out.record.val().region);
                if self.first_turn.q.val() {
                    self.turn.d.next.region = 0.into();
                    self.turn.d.next.row = 0.into();
                    self.set.d.next = self.here.val().first_set;
                }
                self.sets_left.d.next = self.here.val().sets;
                self.loading_check.d.next = false;
                self.loaded.d.next = 0.into();
                self.state.d.next = PlanState::TurnSetRead;
                if self.findings_out.record.val().walked {
                    self.state.d.next = PlanState::LoadRead;
                }
                if self.here.val().sets == 0 {
                    self.turn_new.next.done = true;
                    self.turns.write_enable.next = true;
                    self.state.d.next = PlanState::TurnNext;
                }
            }
            PlanState::TurnSetRead => {
                self.state.d.next = PlanState::TurnSet;
            }
            PlanState::TurnSet => {
                self.reads.next = !self.whole.val() || !self.rows_none.val();
                if self.free.val() {
                    self.push.next = true;
                    self.turns.write_enable.next = true;
                    self.turn.d.next = self.turn_new.val();
                    self.turn_begins.d.next = false;
                    self.state.d.next = PlanState::TurnNext;
                    if !self.whole.val() || !self.last_region.val() {
                        if self.single.q.val() {
                            self.set.d.next = self.set.q.val() + 1;
                            self.state.d.next = PlanState::TurnSetRead;
                        } else {
                            self.unfinished.d.next = true;
                        }
                    }
                }
            }
            PlanState::TurnNext => {
                self.index.d.next = self.index.q.val() + 1;
                self.state.d.next = PlanState::TurnRead;
                if self.last_dest.val() {
                    self.index.d.next = 0.into();
                    self.first_turn.d.next = false;
                    self.turn_begins.d.next = !self.single.q.val();
                    self.unfinished.d.next = false;
                    if !self.unfinished.q.val() {
                        self.state.d.next = PlanState::Finish;
                    }
                }
            }
            PlanState::LoadRead => {
                self.state.d.next = PlanState::LoadTimes;
            }
            PlanState::LoadTimes => {
                self.state.d.next = PlanState::Load;
            }
            PlanState::Load => {
                self.next_item.next.task = BOUNDS.into();
                self.next_item.next.first = bit_cast::<32, 4>(self.loaded.q.val());
                self.next_item.next.rows = 0.into();
                self.next_item.next.last = false;
                self.next_item.next.chunk_start = false;
                if self.is_pointers.val() && !self.bounds_given.q.val() {
                    if self.free.val() {
                        self.push.next = true;
                        self.bounds_given.d.next = true;
                    }
                } else if self.free.val() {
                    self.next_item.next.task = LOAD.into();
                    self.next_item.next.rows = self.rows.val();
                    self.next_item.next.low = self.set_info.val().addr;
                    self.next_item.next.high = bit_cast::<64, 36>(self.set_info.val().row_bytes);
                    self.elements_before.d.next = self.elements.val();
                    self.bounds_given.d.next = false;
                    self.push.next = true;
                    self.set.d.next = self.set.q.val() + 1;
                    self.loaded.d.next = self.loaded.q.val() + 1;
                    self.sets_left.d.next = self.sets_left.q.val() - 1;
                    self.state.d.next = PlanState::LoadRead;
                    if self.last_set.val() {
                        self.state.d.next = PlanState::LoadUnits;
                    }
                }
            }
            PlanState::LoadUnits => {
                self.next_item.next.task = UNITS.into();
                self.next_item.next.last = true;
                if self.loading_check.q.val() {
                    self.next_item.next.task = CHECK.into();
                    self.next_item.next.chunk_start = false;
                }
                self.next_item.next.low = bit_cast::<64, 36>(self.elements_before.q.val());
                self.next_item.next.high = bit_cast::<64, 32>(self.limit.q.val());
                self.next_item.next.never = self.findings_out.record.val().announce
                    && self.findings_out.record.val().uneven;
                if self.free.val() {
                    self.push.next = true;
                    self.state.d.next = PlanState::LoadWait;
                }
            }
            PlanState::LoadWait => {
                if self.walked_valid.val() {
                    if self.loading_check.q.val() {
                        self.bad_dest.d.next = 0.into();
                        self.state.d.next = PlanState::JudgeNext;
                        if self.walked_too_long.val() {
                            self.bad_dest.d.next = self.index.q.val();
                            self.status.d.next = self.length.val();
                            self.state.d.next = PlanState::Finish;
                        }
                    } else {
                        self.turn_begins.d.next = false;
                        self.turn_new.next.done = true;
                        self.turns.write_enable.next = true;
                        self.state.d.next = PlanState::TurnNext;
                    }
                }
            }
            PlanState::Kinds => {
                self.index.d.next = 0.into();
                self.kinds_start.next = self.drained.val() && self.free.val();
                if self.kinds_start.val() {
                    self.state.d.next = PlanState::KindsWait;
                }
            }
            PlanState::KindsWait => {
                if self.kinds_done.val() {
                    self.status.d.next = self.kinds_status.val();
                    self.bad_dest.d.next = self.kinds_bad_dest.val();
                    self.state.d.next = PlanState::Finish;
                }
            }
            PlanState::Finish => {
                self.next_item.next.task = END.into();
                self.next_item.next.low = bit_cast::<64, 8>(self.status.q.val())
                    | (bit_cast::<64, DEST_COUNT>(self.bad_dest.q.val()) << 9);
                if self.status.q.val().any() && self.breaks.q.val() {
                    self.next_item.next.low = bit_cast::<64, 8>(self.status.q.val())
                        | (bit_cast::<64, DEST_COUNT>(self.bad_dest.q.val()) << 9)
                        | 0x100;
                }
                self.next_item.next.rows = 0.into();
                self.next_item.next.last = false;
                self.next_item.next.chunk_start = false;
                self.next_item.next.chunk_end = false;
                self.shared.next.dest = self.first_dest.q.val();
                // Between columns the request does not end, but what was read for the column is used up.
                self.next_item.next.never = self.passes.val();
                if self.free.val() || (self.item_ready.val() && !self.has_stretch.q.val()) {
                    self.push.next = true;
                    if self.passes.val() {
                        self.begins.next = true;
                        self.pass.d.next = self.pass.q.val() + 1;
                        self.pass_set.d.next = self.pass_set.q.val() + 1;
                        self.pass_dest.d.next =
                            self.pass_dest.q.val() + bit_cast::<10, DEST_COUNT>(self.dests.q.val());
                        self.all_counted.d.next = self.all_counted.q.val() || self.counted.q.val();
                        self.kept_before.d.next = self.kept_before.q.val() || self.column.q.val();
                        self.single.d.next = self.dests.q.val() == 1;
                        self.state.d.next = PlanState::InspectRead;
                    } else {
                        self.finished.next = true;
                        self.state.d.next = PlanState::Idle;
                        if self.status.q.val().any() && self.breaks.q.val() {
                            self.state.d.next = PlanState::Settle;
                        }
                    }
                }
            }
            PlanState::Settle => {
                // Requests that were decoded behind this one must see that its queue pair has failed.
                if !self.under_way.q.val().any() {
                    self.state.d.next = PlanState::Idle;
                }
            }
        }

        self.quick_valid.d.next =
            (self.quick_valid.q.val() << 1) | bit_cast::<4, 1>(self.quick.val().into());

        // A request, or a column of it, begins.
        if self.begins.val() {
            self.index.d.next = 0.into();
            self.judge.d.next = false;
            self.partitioned.d.next = false;
            self.same.d.next = false;
            self.counted.d.next = true;
            self.uncounted.d.next = false;
            self.counting.d.next = false;
            self.stored.d.next = false;
            self.chunks.start.next = true;
            self.column.d.next = false;
            self.first_turn.d.next = true;
            self.fresh.d.next = true;
            self.turn.d.next.region = 0.into();
            self.turn.d.next.row = 0.into();
        }

        self.turn_in.record.next = self.turn_new.val();
        self.turns.write_data.next = self.turn_in.bits.val();
        if self.finished.val() && !self.release_valid.val() {
            self.under_way.d.next = self.under_way.q.val() + 1;
        }
        if !self.finished.val() && self.release_valid.val() {
            self.under_way.d.next = self.under_way.q.val() - 1;
        }
        if self.push.val() {
            self.has_item.d.next = true;
            self.item_out.d.next = self.next_item.val();
            self.context_out.d.next = self.shared.val();
            self.stretch_from.d.next = self.set_info.val().addr;
            self.stretch_length.d.next = self.next_item.val().rows;
            if self.next_item.val().kept && (self.next_item.val().task == WALK) {
                self.stretch_length.d.next = self.kept_left.val();
            }
            self.has_stretch.d.next = self.reads.val()
                && (self.is_bitmap.val() || self.is_pointers.val())
                // The column path keeps the ids of a chunk for all turns.
                && (!self.next_item.val().column
                    || !self.next_item.val().ids.any()
                    || self.next_item.val().chunk_start)
                // It also keeps a stretch of a bitmap for all chunks of the stretch.
                && (!self.next_item.val().kept
                    || self.next_item.val().loads
                    || (self.next_item.val().task == SCAN));
            self.stretch_keys.d.next = self.set_info.val().made;
            self.stretch_opens.d.next = self.fresh.q.val();
            if self.has_stretch.d.val() {
                self.fresh.d.next = false;
            }
        }
        if self.asks.val() && !self.result_valid.val() {
            self.outstanding.d.next = self.outstanding.q.val() + 1;
        } else if !self.asks.val() && self.result_valid.val() {
            self.outstanding.d.next = self.outstanding.q.val() - 1;
        }

        if self.rst.val() {
            self.state.d.next = PlanState::Idle;
            self.has_item.d.next = false;
            self.has_stretch.d.next = false;
            self.outstanding.d.next = 0.into();
            self.unfinished.d.next = false;
            self.under_way.d.next = 0.into();
            self.bounds_given.d.next = false;
            self.headed.d.next = false;
            self.quick_valid.d.next = 0.into();
        }
    }
}
