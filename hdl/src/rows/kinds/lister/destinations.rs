//! Destinations of a request, and the phases of their walks.

use super::super::finder::{LISTS, SLOTS};
use super::super::record::{CHUNK, DESTINATION, GOES_ON, HEAD, PLAN, TURNS, VERDICT};
use super::{
    CHECK_LOG_CHUNK, KEPT_LOG_CHUNK, LOG_ROWS_OF_TURN, Lister, ListerPhase, ListerState,
    NEXT_REGIONS, OPERATION,
};
use crate::request::DEST_COUNT;
use drdma_emit::prelude::*;

impl<const RECORDS: usize> Lister<RECORDS> {
    /// Waits for a request.
    #[hdl_gen]
    pub(super) fn take_request(&mut self) {
        self.index.d.next = 0.into();
        self.giving.d.next = false;
        self.again.d.next = false;
        self.turns.d.next = false;
        self.plainly.d.next = false;
        self.chunk.d.next = 0.into();
        self.selected.d.next = 0.into();
        self.planned.d.next = 0.into();
        self.has_loaded.d.next = 0.into();
        self.preloads.d.next = false;
        self.failure.d.next = 0.into();
        self.scout.d.next = 0.into();
        self.is_one.d.next = false;
        self.has_more.d.next = false;
        self.for_next.d.next = false;
        self.some_columns.d.next = false;
        self.united.d.next = false;
        if self.begins.val() {
            self.has_lead.d.next = false;
            self.lead_of_all.d.next.exists = false;
            self.keeps.d.next = true;
            self.was_hopeless.d.next = self.hopeless.q.val();
            self.ahead.d.next = !self.start.val();
            self.ahead_slot.d.next = self.next_slot.val();
            self.ahead_dests.d.next = self.next_dests.val();
            self.ahead_first.d.next = self.next_first_dest.val();
            self.upper.d.next = !self.upper.q.val();
            self.has_next.d.next = false;
            self.has_early.d.next = 0.into();
            self.state.d.next = ListerState::ListRead;
            if self.has_next.q.val() {
                self.has_loaded.d.next = self.has_early.q.val();
                if !self.evicted.q.val() {
                    self.state.d.next = ListerState::DestRead;
                }
            }
        } else if self.forget.val() {
            self.has_next.d.next = false;
        }
        if self.start.val() || self.forget.val() {
            self.hopeless.d.next = false;
        }
    }

    /// Takes a destination whose list is asked for ahead of its walk.
    #[hdl_gen]
    pub(super) fn take_list(&mut self) {
        self.set.d.next = self.dest_info.val().first_set;
        self.state.d.next = ListerState::Look;
        if !self.dest_info.val().sets.any() {
            self.state.d.next = ListerState::DestRead;
        }
    }

    /// Goes on to the next list.
    #[hdl_gen]
    pub(super) fn go_on_looking(&mut self) {
        if self.finder.looked.val() {
            self.scout.d.next = self.scout_after.val();
            self.state.d.next = ListerState::List;
            if (self.scout_after.val() == LISTS) && !self.for_next.q.val() {
                self.has_more.d.next = true;
            }
            if self.is_one.q.val()
                || self.set_info.val().ids.any()
                || (self.scout_after.val() == self.scout_dests.val())
                || (self.scout_after.val() == LISTS)
            {
                self.state.d.next = ListerState::DestRead;
            }
        }
    }

    /// Reads a destination: after the lists of the next request, the first one of that request.
    #[hdl_gen]
    pub(super) fn read_destination(&mut self) {
        self.state.d.next = ListerState::Dest;
        if self.for_next.q.val() {
            self.state.d.next = ListerState::NextDest;
        }
    }

    /// Takes the first destination of the next request, in place of that which was judged last.
    #[hdl_gen]
    pub(super) fn take_next(&mut self) {
        self.head.d.next = self.dest_info.val();
        self.region.d.next = 0.into();
        self.set.d.next = self.dest_info.val().first_set;
        self.lane.d.next = 0.into();
        self.state.d.next = ListerState::NextLanes;
        if (self.head.q.val().sets > NEXT_REGIONS)
            || (self.dest_info.val().sets > NEXT_REGIONS)
            || !self.dest_info.val().sets.any()
        {
            self.end_next.next = true;
        }
    }

    /// Has the lanes of a region of the next request looked at, one by one.
    #[hdl_gen]
    pub(super) fn look_at_next_lanes(&mut self) {
        self.wanted.task.next = PLAN.into();
        self.wanted.first.next = self.lane.q.val();
        self.wanted.lane.next = self.lane.q.val();
        self.wanted.unit_end.next = self.last_of_set.val();
        self.wanted.valid.next = true;
        if self.wanted.ready.val() {
            self.lane.d.next = self.lane.q.val() + 1;
            if self.last_of_set.val() {
                self.state.d.next = ListerState::NextPlanned;
            }
        }
    }

    /// Waits for the region's plan, of which only the lanes of bits are wanted.
    #[hdl_gen]
    pub(super) fn take_next_plan(&mut self) {
        self.lane.d.next = 0.into();
        self.bits_left.d.next = self.plan.val().bits;
        self.line_number.d.next = 0.into();
        if self.plan_done.val() {
            self.state.d.next = ListerState::NextRegion;
            if self.plan.val().bits.any() && self.set_info.val().count.any() {
                // The lines take the place of those of the current request, if it has any there.
                self.has_loaded.d.next =
                    self.has_loaded.q.val().replace_bit(self.slot.val().index(), false);
                self.preloads.d.next = true;
                self.state.d.next = ListerState::Bits;
            }
        }
    }

    /// Goes on to the next region of the next request's first destination.
    #[hdl_gen]
    pub(super) fn go_on_ahead(&mut self) {
        self.region.d.next = self.region.q.val() + 1;
        self.set.d.next = self.set.q.val() + 1;
        self.state.d.next = ListerState::NextLanes;
        if self.last_region.val() {
            self.end_next.next = true;
        }
    }

    /// All that is known of the next request is asked for: the current one is sent.
    #[hdl_gen]
    pub(super) fn leave_next(&mut self) {
        if self.end_next.val() {
            self.for_next.d.next = false;
            self.has_next.d.next = true;
            self.state.d.next = ListerState::DestRead;
            if self.returns.q.val() {
                self.state.d.next = ListerState::Return;
            }
        }
    }

    /// Takes the destination.
    #[hdl_gen]
    pub(super) fn take_destination(&mut self) {
        self.head.d.next = self.dest_info.val();
        self.region.d.next = 0.into();
        self.set.d.next = self.dest_info.val().first_set;
        self.fresh.d.next = 0xffff.into();
        self.units.d.next = 0.into();
        self.counted.d.next = 0.into();
        self.unequal.d.next = false;
        self.some.d.next = false;
        self.over.d.next = false;
        self.copied.d.next = 0.into();
        self.carry.d.next = 0.into();
        self.sum.d.next = 0.into();
        self.united.d.next = false;
        self.wait.d.next = 0.into();
        self.unit_bytes.d.next = 0.into();
        self.follows.d.next = false;
        self.is_alike.d.next = true;
        self.phase.d.next = ListerPhase::Check;
        self.begin_columns();
        if self.dest_info.val().column_order {
            self.some_columns.d.next = true;
        }
        self.planned_set.d.next = self.dest_info.val().first_set;
        if self.planned_set.q.val() != self.dest_info.val().first_set {
            self.planned.d.next = 0.into();
        }
        if self.giving.q.val() {
            self.phase.d.next = ListerPhase::Give;
            if self.dest_info.val().is_write && self.again.q.val() {
                self.phase.d.next = ListerPhase::Ahead;
            }
        }
        self.state.d.next = ListerState::Head;
    }

    /// Finds the head that is asked for next: that of the current destination, or while this has rows, of the next one.
    #[hdl_gen]
    pub(super) fn look_at_head(&mut self) {
        self.turn.next.place = self.dest_at.val();
        self.turn.next.log_mtu = self.head.q.val().log_mtu;
        self.turn.next.is_write = self.head.q.val().is_write;
        self.turn.next.is_ud = self.head.q.val().is_ud;
        self.turn.next.goes_on = self.chunk.q.val().any();
        self.turn.next.turns = self.turns.q.val() || self.starts.val();
        self.turn.next.starts_chunk = self.turn.val().turns && !self.index.q.val().any();
        if self.finds.val() {
            self.turn.next.place =
                self.first_now.val() + bit_cast::<10, DEST_COUNT>(self.next_index.val());
            self.turn.next.log_mtu = self.dest_info.val().log_mtu;
            self.turn.next.is_write = self.dest_info.val().is_write;
            self.turn.next.is_ud = self.dest_info.val().is_ud;
            self.turn.next.goes_on = self.goes_on.val();
            self.turn.next.starts_chunk = self.last_dest.val();
        }
    }

    /// Asks for the head of a turn.
    #[hdl_gen]
    pub(super) fn ask_head(&mut self) {
        self.wanted.task.next = HEAD.into();
        self.wanted.set.next = bit_cast::<11, 10>(self.turn.val().place);
        self.wanted.lane.next = self.turn.val().log_mtu;
        self.wanted.first.next = bits::<4>(0)
            .replace_bit(0, self.turn.val().is_write)
            .replace_bit(GOES_ON, self.turn.val().goes_on)
            .replace_bit(TURNS, self.turn.val().turns)
            .replace_bit(CHUNK, self.turn.val().starts_chunk);
        self.wanted.unit_end.next = self.turn.val().is_ud;
        self.wanted.valid.next = true;
    }

    /// Announces the destination.
    #[hdl_gen]
    pub(super) fn announce(&mut self) {
        self.ask_head();
        if self.judging.val() && !self.turns.q.val() {
            self.keeps.d.next = self.keeps_now.val();
            self.asks_all.d.next = self.keeps_now.val();
        }
        if self.wanted.ready.val() {
            if self.starts.val() {
                self.turns.d.next = true;
                self.log_chunk.d.next = CHECK_LOG_CHUNK.into();
                if self.keeps_now.val() {
                    self.log_chunk.d.next = KEPT_LOG_CHUNK.into();
                    if (bits::<DEST_COUNT>(1) << (self.log_last.q.val() - LOG_ROWS_OF_TURN))
                        >= self.dests_now.val()
                    {
                        self.log_chunk.d.next = self.log_last.q.val();
                    }
                }
            }
            self.state.d.next = ListerState::Region;
            if !self.head.q.val().sets.any() {
                self.state.d.next = ListerState::Last;
            } else if self.turns.q.val() && (self.chunk.q.val().any() || self.index.q.val().any()) {
                // All destinations share the region, which is open since the first turn.
                self.state.d.next = ListerState::Rows;
            } else if (self.phase.q.val() == ListerPhase::Ahead) || self.columns.val() {
                self.state.d.next = ListerState::Keep;
            } else if self.joint.val() && !self.head.q.val().column_order {
                self.state.d.next = ListerState::Survey;
            }
        }
    }

    /// Ends a destination.
    #[hdl_gen]
    pub(super) fn end_destination(&mut self) {
        // A verdict where rows are judged, with `unit_end` unless messages are still to be measured; else the end of
        // the destination, with `unit_end` if it has had units.
        self.wanted.task.next = DESTINATION.into();
        self.wanted.first.next = bits::<4>(0).replace_bit(0, self.some.q.val());
        self.wanted.unit_end.next = self.some.q.val();
        if self.judging.val() {
            self.wanted.task.next = VERDICT.into();
            self.wanted.unit_end.next = !self.measures_later.val();
        }
        self.wanted.valid.next = true;
        if self.wanted.ready.val() {
            self.state.d.next = ListerState::Next;
            if self.judging.val() && self.joint.val() && self.unequal.q.val() {
                self.failure.d.next = OPERATION.into();
                self.state.d.next = ListerState::Finish;
            } else if self.judging.val() && !self.wanted.unit_end.val() {
                self.phase.d.next = ListerPhase::Measure;
                self.region.d.next = 0.into();
                self.set.d.next = self.head.q.val().first_set;
                self.fresh.d.next = 0xffff.into();
                self.units.d.next = 0.into();
                self.sum.d.next = 0.into();
                self.over.d.next = false;
                self.state.d.next = ListerState::Region;
                self.begin_columns();
                if self.head.q.val().column_order {
                    self.state.d.next = ListerState::Keep;
                }
            }
        }
    }

    /// Goes on to the next destination.
    #[hdl_gen]
    pub(super) fn next_destination(&mut self) {
        self.index.d.next = self.next_index.val();
        self.region.d.next = 0.into();
        self.set.d.next = self.head.q.val().first_set;
        self.state.d.next = ListerState::DestRead;
        self.scout.d.next = self.index.q.val() + LISTS;
        self.is_one.d.next = true;
        if self.has_more.q.val() && (self.index.q.val() + LISTS < self.dests_now.val()) {
            self.state.d.next = ListerState::ListRead;
        }
        if self.last_dest.val() {
            self.index.d.next = self.index.q.val();
            self.state.d.next = ListerState::Settle;
            if self.giving.q.val() {
                self.state.d.next = ListerState::Finish;
            }
        } else if self.turns.q.val() {
            self.passes.next = true;
        }
    }

    /// All destinations are judged: waits until nothing is under way, then sends them.
    #[hdl_gen]
    pub(super) fn settle(&mut self) {
        // No regions are united where lists are looked at, whose sets have numbers of their own.
        self.united.d.next = false;
        if self.quiet.val() && self.refused.val() {
            self.state.d.next = ListerState::Finish;
        } else if self.quiet.val() && self.ahead.q.val() {
            self.state.d.next = ListerState::Judged;
        } else if self.quiet.val() && self.keeps.q.val() && !self.full.val() {
            if !self.is_sent.q.val() {
                self.send.next = true;
                self.sending.d.next = true;
            }
            self.streaming.d.next = false;
            self.is_sent.d.next = false;
            if self.turns.q.val() {
                self.log_last.d.next = self.log_kept.val();
            }
            self.state.d.next = ListerState::Idle;
        } else if self.quiet.val() && self.turns.q.val() && self.head.q.val().is_write {
            // The lengths of messages that were judged in turns are not kept otherwise.
            self.state.d.next = ListerState::Finish;
        } else if self.quiet.val() {
            self.index.d.next = 0.into();
            self.giving.d.next = true;
            self.again.d.next = !self.kept.val();
            // Destinations of a request with ids have one region, the same for all.
            self.turns.d.next = self.shares.val()
                && self.kept.val()
                && self.many.val()
                && self.fits.q.val()
                && !self.some_columns.q.val();
            self.log_chunk.d.next = self.log_new.q.val();
            self.chunk.d.next = 0.into();
            self.state.d.next = ListerState::DestRead;
            // The first windows of the first lists may not be kept any more.
            self.scout.d.next = 0.into();
            self.is_one.d.next = false;
            if self.has_more.q.val() && (self.dests_now.val() > SLOTS) {
                self.state.d.next = ListerState::ListRead;
            } else if self.next_valid.val()
                && (self.dests_now.val() <= LISTS)
                && (self.next_dests.val() <= LISTS)
            {
                self.for_next.d.next = true;
                self.evicted.d.next = false;
                self.state.d.next = ListerState::ListRead;
            }
        }
    }
}
