//! Rows of a region, and the ends of messages.

use super::super::record::{COLUMN, LOAD, MESSAGE, MOST_BYTES, VALUE};
use super::{
    FULL, LOG_DENSE, Lister, ListerPhase, ListerState, MOST_REST, PROTECTION, SECOND, THIRD,
};
use crate::request::{POINTER_MAPPED, STRIDED};
use drdma_emit::prelude::*;

impl<const RECORDS: usize> Lister<RECORDS> {
    /// Counts the bytes of a row whose entries are not asked for. Bits at its end may continue in the unit's next
    /// element.
    #[hdl_gen]
    pub(super) fn count_bytes(&mut self) {
        self.lead_bits.next = bit_cast::<5, 3>(self.carry.q.val()) + self.plan_now.val().lead;
        self.lead_bits_up.next = self.lead_bits.val() + 7;
        self.carry_new.next = self.plan_now.val().trail.get_bits::<3>(0);
        if self.plan_now.val().only_bits {
            self.carry_new.next = self.lead_bits.val().get_bits::<3>(0);
        }
        self.bit_bytes.d.next = (self.plan_now.val().inner + (self.plan_now.val().trail >> 3))
            + (self.lead_bits_up.val() >> 3);
        if self.plan_now.val().only_bits {
            self.bit_bytes.d.next = self.lead_bits.val() >> 3;
        }
        if ((!self.interleaved.val() && !self.surveys.val()) || self.last_region.val())
            && self.carry_new.val().any()
        {
            self.bit_bytes.d.next = (self.plan_now.val().inner + (self.plan_now.val().trail >> 3))
                + ((self.lead_bits_up.val() >> 3) + 1);
            if self.plan_now.val().only_bits {
                self.bit_bytes.d.next = self.lead_bits_up.val() >> 3;
            }
        }
        self.row_bytes.d.next = bit_cast::<33, 32>(self.plan_now.val().bytes)
            + bit_cast::<33, 5>(self.bit_bytes.q.val());
        if self.by_lane.val() {
            // Each lane is asked for, so that its bytes are not counted here.
            self.row_bytes.d.next = bit_cast::<33, 5>(self.bit_bytes.q.val());
        }
        if self.united.q.val() {
            self.row_bytes.d.next = self.unit_bytes.q.val();
        }
        if self.keeping.val() || self.columns.val() {
            // All groups are asked for, but for one that leads.
            self.row_bytes.d.next = 0.into();
        }
        if self.leads.val() {
            self.row_bytes.d.next = bit_cast::<33, 7>(self.lead_now.val().bytes);
        }
        self.unit_sum.next = self.unit_bytes.q.val() + self.row_bytes.q.val();
    }

    /// Asks for the current group of the current row, unless a state asks for something else.
    #[hdl_gen]
    pub(super) fn want_group(&mut self) {
        self.wanted.valid.next = self.has_row.val() && self.asks.val() && !self.lacks.val();
        self.wanted.task.next = VALUE.into();
        self.wanted.set.next = self.set.q.val();
        self.wanted.first.next = self.group.q.val();
        self.wanted.lane.next = self
            .plan_now
            .val()
            .lasts
            .get_bits::<4>(bit_cast::<6, 4>(self.group.q.val()).index() * 4);
        self.wanted.group.next = self
            .plan_now
            .val()
            .fills
            .get_bits::<7>(bit_cast::<7, 4>(self.group.q.val()).index() * 7);
        if self.by_lane.val() {
            self.wanted.first.next = self.finder.lane.val();
            self.wanted.lane.next = self.finder.lane.val();
        }
        self.wanted.row.next = self.finder.row.val();
        self.wanted.pointer.next = self.finder.pointer.val();
        self.wanted.strided.next = self.set_info.val().kind == STRIDED;
        self.wanted.period.next = self.set_kinds.val().period_or_end;
        self.wanted.apart.next = self.set_info.val().kind == POINTER_MAPPED;
        self.wanted.slot.next = self.slot.val();
        self.wanted.rest.next = self.finder.rest.val().get_bits::<11>(0);
        if self.finder.rest.val().get_bits::<22>(11).any() {
            self.wanted.rest.next = MOST_REST.into();
        }
        self.wanted.unit_end.next = !self.last_group.val()
            || (!self.interleaved.val() && !self.united.q.val())
            || self.last_region.val();
        self.wanted.early.next = self.for_next.q.val();
        self.wanted.give.next = self.phase.q.val() == ListerPhase::Give;
        self.target.next = self.head.q.val().units;
        if ((self.phase.q.val() == ListerPhase::Give) && self.message_ahead.val())
            || self.later_column.val()
        {
            self.target.next = self.measured.q.val();
        }
        self.units_new.next = self.units.q.val() + 1;
        self.complete.next = (!self.interleaved.val() || self.last_region.val())
            && (self.units_new.val() == self.target.val());
        self.sum_new.next = self.sum.q.val() + self.row_bytes.q.val();

        self.done.next = false;
        self.status.next = self.failure.q.val();
        self.bad_dest.next = 0.into();
        if self.failure.q.val().any() {
            self.bad_dest.next = self.index.q.val();
        }
    }

    /// Asks for the groups of rows, one a cycle.
    #[hdl_gen]
    pub(super) fn ask_rows(&mut self) {
        self.bits_left.d.next = self.plan_now.val().bits;
        self.line_number.d.next = 0.into();
        if self.is_next.val() {
            self.line_number.d.next = SECOND.into();
            if self.runs_ahead.val() && self.loaded_out.record.val().third {
                self.line_number.d.next = THIRD.into();
            }
        }
        if self.takes.val() && !self.block_rows.q.val().get_bit(LOG_DENSE) {
            self.block_rows.d.next = self.block_rows.q.val() + 1;
        }
        if self.has_row.val() && self.wanted.ready.val() && self.asks.val() && !self.lacks.val() {
            self.group.d.next = self.following.index.val();
            self.left.d.next = self.left_after.val();
            self.is_last.d.next = !self.left_after.val().any();
            if self.last_group.val() {
                self.group.d.next = self.first_group.q.val();
                self.left.d.next = self.first_left.q.val();
                self.is_last.d.next = !self.first_left.q.val().any();
            }
        }
        if self.has_row.val()
            && (self.asked.val() || !self.asks.val())
            && self.united.q.val()
            && !self.counts.val()
        {
            self.groups.d.next = self.groups_behind.val();
            self.first_group.d.next = self.first_behind.val();
            self.group.d.next = self.first_behind.val();
            self.first_left.d.next = self.left_behind.val();
            self.left.d.next = self.left_behind.val();
            self.is_last.d.next = self.is_last_behind.val();
            self.region.d.next = bit_cast::<5, 4>(self.region_behind.val());
            self.set.d.next = self.set.q.val() + 1;
            if self.last_region.val() {
                self.set.d.next = self.head.q.val().first_set;
            }
        }
        self.count_values();
        if self.lacks.val() {
            self.state.d.next = ListerState::Bits;
        } else if self.takes.val() {
            self.counted.d.next = self.counted.q.val() + 1;
            self.some.d.next = true;
            self.sum.d.next = self.sum_new.val();
            if self.sum.q.val().get_bit(FULL) {
                self.sum.d.next = self.sum.q.val();
            }
            if !self.interleaved.val() || self.last_region.val() {
                self.units.d.next = self.units_new.val();
            }
            if self.interleaved.val() || self.message_ahead.val() || self.columns.val() {
                self.state.d.next = ListerState::Place;
            } else if self.complete.val() {
                self.state.d.next = ListerState::MessageEnd;
            }
        } else if self.finder.bad.val() {
            self.failure.d.next = PROTECTION.into();
            self.state.d.next = ListerState::Finish;
        } else if self.finder.list_dry.val() && self.turns.q.val() && !self.last_chunk.val() {
            if self.settled.val() {
                self.end_turn();
            }
        } else if self.finder.dry.val() {
            self.state.d.next = ListerState::RegionEnd;
        }
    }

    /// Has lines of bits read, for the block of the current row or, before the walk, for the region's first block.
    #[hdl_gen]
    pub(super) fn load_bits(&mut self) {
        // First and second lines are asked for, unless they were with the blocks before. If the block before had many
        // rows, third lines are, which are the second ones of the next block, so that no row waits for a round trip;
        // also where destinations share a region.
        self.wanted.task.next = LOAD.into();
        self.wanted.first.next = self.lowest_bits.index.val();
        self.wanted.lane.next = self.lowest_bits.index.val();
        self.wanted.part.next = self.line_number.q.val();
        self.wanted.early.next =
            self.for_next.q.val() || (self.is_next.val() && (self.line_number.q.val() == THIRD));
        self.wanted.unit_end.next = !self.has_begun.q.val();
        self.wanted.give.next = self.is_next.val()
            && (self.line_number.q.val() == THIRD)
            && (self.bits_left.q.val() == self.load_lanes.val());
        if self.preloads.q.val() {
            self.wanted.row.next = 0.into();
            self.wanted.rest.next = (self.set_info.val().count - 1).get_bits::<11>(0);
            if (self.set_info.val().count - 1).get_bits::<21>(11).any() {
                self.wanted.rest.next = MOST_REST.into();
            }
        }
        self.wanted.valid.next = self.bits_left.q.val().any();
        if self.wanted.valid.val() && self.wanted.ready.val() {
            self.has_begun.d.next = true;
            self.bits_left.d.next = self.bits_left.q.val() & (self.bits_left.q.val() - 1);
        } else if !self.wanted.valid.val() {
            self.bits_left.d.next = self.load_lanes.val();
            self.line_number.d.next = self.line_number.q.val() + 1;
            if (self.line_number.q.val() == THIRD)
                || ((self.line_number.q.val() == SECOND) && !self.has_third.val())
            {
                self.block_rows.d.next = 0.into();
                self.has_begun.d.next = false;
                self.loaded.write_enable.next = true;
                self.has_early.d.next = self
                    .has_early
                    .q
                    .val()
                    .replace_bit(self.slot.val().index(), self.for_next.q.val());
                if !self.for_next.q.val() {
                    self.has_loaded.d.next =
                        self.has_loaded.q.val().replace_bit(self.slot.val().index(), true);
                    self.same.d.next =
                        self.same.q.val().replace_bit(self.region_index.val().index(), true);
                }
                self.state.d.next = ListerState::Rows;
                self.preloads.d.next = false;
                if self.for_next.q.val() {
                    self.state.d.next = ListerState::NextRegion;
                } else if self.preloads.q.val() {
                    self.state.d.next = ListerState::Region;
                    if self.surveys_on.val() {
                        self.state.d.next = ListerState::Survey;
                    }
                }
            }
        }
    }

    /// Ends the rows of a destination.
    #[hdl_gen]
    pub(super) fn end_rows(&mut self) {
        self.over.d.next = true;
        self.state.d.next = ListerState::Last;
        if ((self.phase.q.val() == ListerPhase::Give) && self.message_ahead.val())
            || self.later_column.val()
        {
            // The message had more units when it was measured, or when its first column was walked.
            self.failure.d.next = PROTECTION.into();
            self.state.d.next = ListerState::Finish;
        } else if self.units.q.val().any() {
            self.state.d.next = ListerState::MessageEnd;
        }
    }

    /// Ends a message.
    #[hdl_gen]
    pub(super) fn end_message(&mut self) {
        self.wanted.task.next = MESSAGE.into();
        self.wanted.first.next =
            bits::<4>(0).replace_bit(COLUMN, self.columns.val() && self.has_further.q.val());
        self.wanted.row.next = self.sum.q.val().get_bits::<32>(0);
        if self.sum.q.val().get_bit(FULL) {
            self.wanted.row.next = MOST_BYTES.into();
        }
        // The length of a message that is measured again is not kept.
        self.wanted.unit_end.next = self.phase.q.val() != ListerPhase::Ahead;
        // A check of regions with rows of their own has no messages: they are measured element by element later.
        self.wanted.valid.next = !self.measures_later.val();
        self.copied.d.next = 0.into();
        if self.wanted.ready.val() || !self.wanted.valid.val() {
            self.units.d.next = 0.into();
            self.measured.d.next = self.units.q.val();
            self.sum.d.next = 0.into();
            self.state.d.next = ListerState::Rows;
            if self.phase.q.val() == ListerPhase::Ahead {
                self.state.d.next = ListerState::Recall;
            } else if self.over.q.val() {
                self.state.d.next = ListerState::Last;
            } else if self.message_ahead.val() {
                self.phase.d.next = ListerPhase::Ahead;
                self.state.d.next = ListerState::Keep;
            } else if self.interleaved.val() {
                self.state.d.next = ListerState::Region;
            }
            self.end_column();
        }
    }
}
