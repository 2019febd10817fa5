//! Turns of destinations, and the items of their rows.

use super::super::{Plan, PlanState};
use super::KEPT_ROWS;
use crate::request::{BITMAPPED, DEST_COUNT, DEST_INDEX, STRIDED};
use crate::rows::sequencer::record::{HEAD, SCAN, WALK};
use drdma_emit::prelude::*;

impl Plan {
    /// The item that is offered, and the reads that it needs.
    #[hdl_gen]
    pub(super) fn offer_item(&mut self) {
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
    }

    /// The next stretch of a destination.
    #[hdl_gen]
    pub(super) fn find_stretch(&mut self) {
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
    }

    /// The item of the next stretch, and the context of its chunk and destination.
    #[hdl_gen]
    pub(super) fn make_item(&mut self) {
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
    }

    /// Takes the size of chunks, and chooses the path.
    #[hdl_gen]
    pub(super) fn begin_turns(&mut self) {
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

    /// Emits a destination's turn in a chunk of a column request.
    #[hdl_gen]
    pub(super) fn column_turn(&mut self) {
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

    /// Takes a destination's head, and how far its turns have come.
    #[hdl_gen]
    pub(super) fn turn_head(&mut self) {
        self.head.d.next = self.here.val();
        self.turn.d.next = self.turn_out.record.val();
        self.set.d.next =
            self.here.val().first_set + bit_cast::<11, 5>(self.turn_out.record.val().region);
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

    /// Emits a stretch of a set's rows.
    #[hdl_gen]
    pub(super) fn turn_set(&mut self) {
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

    /// Goes on to the next destination, or to the next turn.
    #[hdl_gen]
    pub(super) fn turn_next(&mut self) {
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

    /// Keeps the item that was made until it is taken.
    #[hdl_gen]
    pub(super) fn push_item(&mut self) {
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
    }
}
