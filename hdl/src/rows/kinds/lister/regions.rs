//! Regions of a destination, and how their rows are walked.

use super::super::record::{MOST_BYTES, PLAN, TABLE};
use super::{LOG_BLOCK, LOG_DENSE, Lister, ListerPhase, ListerState, PROTECTION};
use crate::request::{BITMAPPED, DEST_COUNT, POINTER_MAPPED, STRIDED};
use drdma_emit::prelude::*;

impl<const RECORDS: usize> Lister<RECORDS> {
    /// Properties of the current destination and region.
    #[hdl_gen]
    pub(super) fn look_at_region(&mut self) {
        self.dest_at.next = self.first_now.val() + bit_cast::<10, DEST_COUNT>(self.index.q.val());
        self.scout_after.next = self.scout.q.val() + 1;
        self.scout_dests.next = self.dests_now.val();
        self.scout_first.next = self.first_now.val();
        if self.for_next.q.val() {
            self.scout_dests.next = self.next_dests.val();
            self.scout_first.next = self.next_first_dest.val();
        }
        self.is_listed.next = self.set_info.val().ids.any()
            || (self.set_info.val().kind == BITMAPPED)
            || (self.set_info.val().kind == POINTER_MAPPED);
        self.looks.next = (self.state.q.val() == ListerState::Look)
            || (self.state.q.val() == ListerState::Looked);
        self.pd.next = self.domain.q.val();
        self.unused.next = self.head.q.val().same_lanes;
        self.judging.next = !self.giving.q.val();
        self.message_ahead.next = self.again.q.val() && self.head.q.val().is_write;
        self.joint.next = self.head.q.val().element_mask && (self.head.q.val().sets > 1);
        self.interleaved.next =
            self.joint.val() && !self.united.q.val() && (self.phase.q.val() != ListerPhase::Check);
        self.measures_later.next = ((self.joint.val() && !self.united.q.val())
            || (self.head.q.val().column_order && self.head.q.val().sets.any()))
            && (self.phase.q.val() == ListerPhase::Check);
        self.surveys.next = self.state.q.val() == ListerState::Survey;
        self.like.next = (self.set_info.val().kind == BITMAPPED)
            && self.set_info.val().count.any()
            && (!self.region.q.val().any()
                || ((self.set_info.val().addr == self.list.q.val())
                    && (self.set_info.val().count == self.list_rows.q.val())
                    && (self.set_info.val().ids == self.list_ids.q.val())
                    && (self.set_kinds.val().first == self.list_first.q.val())));
        self.last_region.next = self.region.q.val() + 1 == self.head.q.val().sets;
        self.by_lane.next = self.head.q.val().element_mask && (self.set_info.val().kind == STRIDED);
        self.region_index.next = self.region.q.val().get_bits::<4>(0);
    }

    /// Stores the region's plan when it is made, and reads that of the current region.
    #[hdl_gen]
    pub(super) fn look_at_plan(&mut self) {
        self.plan_in.record.next = self.plan.val();
        self.plans.write_address.next = self.region_index.val();
        self.plans.write_data.next = self.plan_in.bits.val();
        self.plans.write_enable.next = self.plan_done.val() && !self.for_next.q.val();
        self.plans.read_address[0].next = self.region_index.val();
        self.plan_out.bits.next = self.plans.read_data[0].val();
        self.plan_now.next = self.plan_out.record.val();
        if self.plan_done.val() && !self.for_next.q.val() {
            self.planned.d.next =
                self.planned.q.val().replace_bit(self.region_index.val().index(), true);
            self.same.d.next = self
                .same
                .q
                .val()
                .replace_bit(self.region_index.val().index(), self.plan.val().same_bits);
        }
    }

    /// Finds the next region of a unit, or the first one of the next unit, and the next group of the current region.
    #[hdl_gen]
    pub(super) fn find_next_region(&mut self) {
        self.region_behind.next = self.region_index.val() + 1;
        if self.last_region.val() {
            self.region_behind.next = 0.into();
        }
        self.plans.read_address[1].next = self.region_behind.val();
        self.plan_behind.bits.next = self.plans.read_data[1].val();
        self.groups_behind.next = self.plan_behind.record.val().follows;
        self.first_behind.next = self.plan_behind.record.val().first_followed;
        self.is_last_behind.next = !self.plan_behind.record.val().several_followed;
        if self.gives.val() {
            self.groups_behind.next = self.plan_behind.record.val().starts;
            self.first_behind.next = 0.into();
            self.is_last_behind.next = !self.plan_behind.record.val().several;
        }
        self.unused_plan.next = self.plan_behind.record.val().bits.any()
            || self.plan_behind.record.val().fills.any()
            || self.plan_behind.record.val().lasts.any()
            || self.plan_behind.record.val().bytes.any()
            || self.plan_behind.record.val().inner.any()
            || self.plan_behind.record.val().lead.any()
            || self.plan_behind.record.val().trail.any()
            || self.plan_behind.record.val().only_bits
            || self.plan_behind.record.val().same_bits
            || self.plan_behind.record.val().numbers.any()
            || self.plan_behind.record.val().pairs.any()
            || self.plan_behind.record.val().values.any()
            || self.plan_behind.record.val().reach.any()
            || self.plan_behind.record.val().skip.any()
            || self.plan_behind.record.val().leads
            || self.plan_behind.record.val().second.any()
            || self.plan_behind.record.val().many
            || self.plan_now.val().same_bits;
        self.last_of_set.next =
            bit_cast::<5, 4>(self.lane.q.val()) + 1 == self.set_info.val().lanes;
        self.groups_new.next = self.plan_now.val().follows;
        self.first_new.next = self.plan_now.val().first_followed;
        self.is_last_new.next = !self.plan_now.val().several_followed;
        if self.leads.val() {
            // All groups but the first one are bits, or are followed.
            self.groups_new.next = self.plan_now.val().starts.replace_bit(0, false);
            self.first_new.next = self.plan_now.val().second;
            self.is_last_new.next = !self.plan_now.val().many;
        } else if self.gives.val() {
            self.groups_new.next = self.plan_now.val().starts;
            self.first_new.next = 0.into();
            self.is_last_new.next = !self.plan_now.val().several;
        }
        // The groups without their first one.
        self.left_new.next = self.groups_new.val().replace_bit(self.first_new.val().index(), false);
        self.left_behind.next =
            self.groups_behind.val().replace_bit(self.first_behind.val().index(), false);
        self.left_after.next = self.left.q.val() & (self.left.q.val() - 1);
        self.following.bits.next = self.left.q.val();
        self.last_group.next = self.by_lane.val() || self.is_last.q.val();
    }

    /// The finder delivers the region's rows, from two cycles after it was opened. In turns it is opened as the turn
    /// passes, but with the head of a destination that follows one whose rows have ended: the region is read anew then.
    #[hdl_gen]
    pub(super) fn tell_finder(&mut self) {
        self.opens.next = (self.state.q.val() == ListerState::Region)
            || (self.turns.q.val()
                && self.last_chunk.val()
                && (self.state.q.val() == ListerState::Head));
        self.finds.next = self.state.q.val() == ListerState::Rows;
        self.finder.clear.next = self.clears.val();
        // United regions are the same to the finder but for the set's number, which is that of the first one.
        self.finder.set.next = self.set.q.val();
        self.finder.base.next =
            self.index.q.val().get_bits::<6>(0) - bit_cast::<6, 4>(self.region_index.val());
        if self.united.q.val() {
            self.finder.set.next = self.head.q.val().first_set;
            self.finder.base.next = self.index.q.val().get_bits::<6>(0);
        }
        if self.looks.val() {
            self.finder.base.next = self.scout.q.val().get_bits::<6>(0);
        }
        self.finder.upper.next = self.upper_now.q.val();
        self.finder.of_next.next = self.for_next.q.val();
        self.finder.forget.next = self.forget.val();
        if self.finder.evicts.val() {
            self.evicted.d.next = true;
        }
        self.finder.peek.next = self.state.q.val() == ListerState::Look;
        self.finder.looks.next = self.state.q.val() == ListerState::Looked;
        self.finder.request.next = self.request_slot.val();
        if self.for_next.q.val() {
            self.finder.request.next = self.next_slot.val();
        } else if self.ahead.q.val() {
            self.finder.request.next = self.ahead_slot.q.val();
        }
        self.finder.info.next = self.set_info.val();
        self.finder.kinds.next = self.set_kinds.val();
        self.finder.bounds.next = self.bounds.val();
        self.finder.reach.next = self.plan_now.val().reach;
        self.finder.skip.next = self.plan_now.val().skip;
        self.finder.partition.next = self.head.q.val().partition;
        self.finder.by_lane.next = self.by_lane.val();
        self.finder.open.next = self.opens.val();
        self.finder.from.next = self.place_out.record.val();
        self.finder.fresh.next = self.is_fresh.val();
        if self.turns.q.val() {
            // A chunk begins with a block of ids.
            self.finder.fresh.next = false;
            self.finder.from.next.lane = 0.into();
            self.finder.from.next.known = false;
            self.finder.from.next.block = self.chunk.q.val() >> 6;
            if self.set_info.val().ids.get_bit(1) {
                self.finder.from.next.block = self.chunk.q.val() >> 5;
            }
        }
        self.finder.ahead.next =
            !self.interleaved.val() && !self.message_ahead.val() && !self.columns.val();
        self.finder.keeps.next = self.judging.val();
        self.finder.on.next = self.finds.val();
        self.finder.halt.next = (self.state.q.val() == ListerState::Finish)
            || (self.state.q.val() == ListerState::Idle);
        self.has_row.next = self.finds.val() && self.finder.valid.val();
        self.asks.next = self.by_lane.val() || self.groups.q.val().any();
        if self.columns.val() {
            self.asks.next = self.has_value.val();
        }
        // Consecutive requests use different places for their first two regions.
        self.slot.next = self.region_index.val().get_bits::<2>(0);
        if self.upper_now.q.val() {
            self.slot.next = self.region_index.val().get_bits::<2>(0) ^ 2;
        }
        self.load_lanes.next = self.plan_now.val().bits;
        if self.for_next.q.val() {
            self.load_lanes.next = self.plan.val().bits;
        }
        self.loaded.read_address[0].next = self.slot.val();
        self.loaded_out.bits.next = self.loaded.read_data[0].val();
        // Destinations with the same columns of bits share their lines.
        self.is_loaded.next = self.has_loaded.q.val().get_bit(self.slot.val().index())
            && self.same.q.val().get_bit(self.region_index.val().index())
            && (self.loaded_out.record.val().region == self.region_index.val());
        self.lacks.next = self.has_row.val()
            && self.gives.val()
            && self.asks.val()
            && self.plan_now.val().bits.get_bit(self.group.q.val().index())
            && (!self.is_loaded.val()
                || (self.finder.at.val() < self.loaded_out.record.val().low)
                || (self.finder.at.val() >= self.loaded_out.record.val().high));
        self.is_next.next = self.is_loaded.val()
            && (self.finder.at.val() >= self.loaded_out.record.val().high)
            && (self.finder.at.val()
                < (self.loaded_out.record.val().high + (bits::<33>(1) << LOG_BLOCK)));
        self.runs_ahead.next = self.is_next.val()
            && self.block_rows.q.val().get_bit(LOG_DENSE)
            && !self.for_next.q.val();
        // Destinations that share a region have rows of each of its blocks.
        self.has_third.next =
            self.runs_ahead.val() || (!self.is_next.val() && self.set_info.val().ids.any());
        self.block_end.next = self.finder.at.val() + (bits::<33>(1) << LOG_BLOCK)
            - bit_cast::<33, 9>(self.finder.row.val().get_bits::<9>(0));
        self.loaded_new.next.region = self.region_index.val();
        self.loaded_new.next.count = self.set_info.val().count;
        self.loaded_new.next.first = self.set_kinds.val().first;
        self.loaded_new.next.bits = self.load_lanes.val();
        self.loaded_new.next.low = self.finder.at.val();
        self.loaded_new.next.high = self.block_end.val();
        self.loaded_new.next.third = self.has_third.val();
        if self.is_next.val() {
            self.loaded_new.next.low = self.loaded_out.record.val().high;
        }
        if self.preloads.q.val() {
            self.loaded_new.next.low = bit_cast::<33, 3>(self.set_kinds.val().first);
            if self.set_info.val().ids.any() {
                self.loaded_new.next.low = 0.into();
            }
            self.loaded_new.next.high = self.loaded_new.val().low + (bits::<33>(1) << LOG_BLOCK);
        }
        // The destination's regions are still being surveyed, before its walk begins.
        self.surveys_on.next = self.joint.val()
            && !self.head.q.val().column_order
            && self.is_alike.q.val()
            && !self.united.q.val()
            && (self.phase.q.val() != ListerPhase::Ahead);
        self.loaded_in.record.next = self.loaded_new.val();
        self.loaded.write_address.next = self.slot.val();
        self.loaded.write_data.next = self.loaded_in.bits.val();
        self.loaded.write_enable.next = false;
        self.lowest_bits.bits.next = self.bits_left.q.val();
        self.asked.next = self.wanted.ready.val() && self.last_group.val() && !self.lacks.val();
        self.moves_on.next = self.united.q.val() && !self.last_region.val() && !self.counts.val();
        self.takes.next =
            self.has_row.val() && (self.asked.val() || !self.asks.val()) && !self.moves_on.val();
        self.finder.take.next = self.takes.val();
        self.finder.read.join(&mut self.read);
        self.finder.line.valid.next = self.line.valid.val();
        self.finder.line.next = self.line.val();
        self.finder.link_read.join(&mut self.link_read);
        self.finder.record.join(&mut self.record);
        self.finder.linked.valid.next = self.linked.valid.val();
        self.finder.linked.next = self.linked.val();
    }

    /// Finds whether all regions of a unit have the same rows, one region after the other.
    #[hdl_gen]
    pub(super) fn survey(&mut self) {
        // The bytes of a row are known two cycles after the plan of its region.
        self.lane.d.next = 0.into();
        self.wait.d.next = self.wait.q.val() + 1;
        if !self.region.q.val().any() {
            self.list.d.next = self.set_info.val().addr;
            self.list_rows.d.next = self.set_info.val().count;
            self.list_ids.d.next = self.set_info.val().ids;
            self.list_first.d.next = self.set_kinds.val().first;
        }
        if !self.like.val() || !self.is_alike.q.val() {
            // The regions have rows of their own: they are walked one by one.
            self.carry.d.next = 0.into();
            self.region.d.next = 0.into();
            self.set.d.next = self.head.q.val().first_set;
            self.is_alike.d.next = false;
            // The units are sent element by element, in another order than their regions are judged.
            self.keeps.d.next = false;
            self.asks_all.d.next = false;
            self.state.d.next = ListerState::Region;
        } else if !self.planned.q.val().get_bit(self.region_index.val().index()) {
            self.wait.d.next = 0.into();
            self.domain.d.next = self.set_kinds.val().pd;
            self.state.d.next = ListerState::Lanes;
        } else if self.wait.q.val() == 2 {
            self.wait.d.next = 0.into();
            self.unit_bytes.d.next = self.unit_sum.val();
            if self.unit_sum.val() > MOST_BYTES {
                self.unit_bytes.d.next = MOST_BYTES.into();
            }
            if self.plan_now.val().follows.any() {
                self.follows.d.next = true;
            }
            self.carry.d.next = self.carry_new.val();
            self.region.d.next = self.region.q.val() + 1;
            self.set.d.next = self.set.q.val() + 1;
            if self.last_region.val() {
                self.united.d.next = true;
                self.carry.d.next = 0.into();
                self.region.d.next = 0.into();
                self.set.d.next = self.head.q.val().first_set;
                self.state.d.next = ListerState::Region;
            }
        }
    }

    /// Takes a region: its walk begins or continues.
    #[hdl_gen]
    pub(super) fn take_region(&mut self) {
        self.domain.d.next = self.set_kinds.val().pd;
        self.lane.d.next = 0.into();
        self.groups.d.next = self.groups_new.val();
        self.first_group.d.next = self.first_new.val();
        self.group.d.next = self.first_new.val();
        self.first_left.d.next = self.left_new.val();
        self.left.d.next = self.left_new.val();
        self.is_last.d.next = self.is_last_new.val();
        self.state.d.next = ListerState::Rows;
        self.take_value();
        // A region's plan is made once, not for each message. A region without rows needs none.
        if self.set_info.val().count.any()
            && !self.planned.q.val().get_bit(self.region_index.val().index())
        {
            self.state.d.next = ListerState::Lanes;
        } else if self.set_info.val().count.any() {
            self.compare_lead();
            if self.looks_first.val() {
                self.look_ahead();
            }
        }
    }

    /// Has the lanes of the region looked at, one by one, and their tables of buffers.
    #[hdl_gen]
    pub(super) fn look_at_lanes(&mut self) {
        self.wanted.task.next = PLAN.into();
        if self.judging.val() {
            self.wanted.task.next = TABLE.into();
        }
        self.wanted.first.next = self.lane.q.val();
        self.wanted.lane.next = self.lane.q.val();
        self.wanted.unit_end.next = self.last_of_set.val();
        self.wanted.valid.next = true;
        if self.wanted.ready.val() {
            self.lane.d.next = self.lane.q.val() + 1;
            if self.last_of_set.val() {
                self.state.d.next = ListerState::Planned;
            }
        }
    }

    /// Waits for the region's plan.
    #[hdl_gen]
    pub(super) fn take_plan(&mut self) {
        self.bits_left.d.next = self.plan_now.val().bits;
        self.line_number.d.next = 0.into();
        if self.planned.q.val().get_bit(self.region_index.val().index()) {
            self.state.d.next = ListerState::Region;
            if self.surveys_on.val() {
                self.state.d.next = ListerState::Survey;
            }
            // Found here, because the rows must know early in their cycles whether their lines are present.
            self.same.d.next = self.same.q.val().replace_bit(
                self.region_index.val().index(),
                self.same.q.val().get_bit(self.region_index.val().index())
                    && (self.loaded_out.record.val().count == self.set_info.val().count)
                    && (self.loaded_out.record.val().first == self.set_kinds.val().first)
                    && (self.loaded_out.record.val().bits == self.plan_now.val().bits),
            );
            // The lines of bits of the first block are read with the lists, before it is known whether the block has
            // rows that are wanted.
            if self.keeping.val() && self.is_large.val() && self.plan_now.val().follows.any() {
                // The values are not kept: the destination is announced anew.
                self.keeps.d.next = false;
                self.asks_all.d.next = false;
                self.turns.d.next = false;
                self.state.d.next = ListerState::DestRead;
            } else if self.judging.val()
                && self.plan_now.val().bits.any()
                && !self.has_loaded.q.val().get_bit(self.slot.val().index())
            {
                self.preloads.d.next = true;
                self.state.d.next = ListerState::Bits;
            }
        }
    }

    /// Ends a region that has no more rows.
    #[hdl_gen]
    pub(super) fn end_region(&mut self) {
        self.region.d.next = self.region.q.val() + 1;
        self.set.d.next = self.set.q.val() + 1;
        self.state.d.next = ListerState::Region;
        self.counted.d.next = 0.into();
        self.first_count.d.next = self.counted.q.val();
        if self.region.q.val().any() {
            self.first_count.d.next = self.first_count.q.val();
            if self.first_count.q.val() != self.counted.q.val() {
                self.unequal.d.next = true;
            }
        }
        if self.interleaved.val() {
            self.state.d.next = ListerState::DestEnd;
            if self.region.q.val().any() {
                // The region had as many elements as the others when it was judged.
                self.failure.d.next = PROTECTION.into();
                self.state.d.next = ListerState::Finish;
            }
        } else if self.last_region.val() || self.united.q.val() {
            self.state.d.next = ListerState::DestEnd;
        }
    }
}
