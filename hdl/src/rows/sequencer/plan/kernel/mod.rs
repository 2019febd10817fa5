//! Logic of the plan, state by state.

mod inspect;
mod judge;
mod load;
mod requests;
mod turns;

use super::{Plan, PlanState};
use drdma_emit::prelude::*;

/// Most rows of a destination's bitmap that the column path keeps for all columns of a WRITE by columns.
const KEPT_ROWS: u64 = crate::rows::columns::bitmaps::ROWS;

/// Rows with ids that the column path counts in one item.
const TALLY_ROWS: u64 = 4096;

impl Logic for Plan {
    #[hdl_gen]
    fn update(&mut self) {
        self.read_tables();
        self.look_at_set();
        self.measure_messages();
        self.multiply_rows();

        // Chunks.
        self.chunks.start.next = false;
        self.chunks.dest_valid.next = false;
        self.chunks.dest_same_lanes.next = self.here.val().same_lanes;
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

        self.offer_item();
        self.find_stretch();
        self.make_item();

        // Bits are counted in one item, ids in items of as many as the column path keeps.
        self.tally_end.d.next = bit_cast::<33, 32>(self.turn.q.val().row) + bits::<33>(TALLY_ROWS);
        self.tally_last.next = !self.set_info.val().ids.any()
            || (bit_cast::<33, 32>(self.set_info.val().count) <= self.tally_end.q.val());
        self.tallied.next = false;

        // Scans that have not ended, and whether the item needs reads.
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
        self.kinds_next.next = self.kinds_busy.val()
            && self.request_valid.val()
            && self.request_kinds.val()
            && !self.request_status.val().any()
            && self.request_dests.val().any();
        // In this state the plan emits nothing, so that what has drained stays so.
        self.kinds_may_start.d.next =
            (self.state.q.val() == PlanState::Kinds) && self.drained.val() && self.free.val();
        self.kinds_forget.next = false;
        self.kinds_slot.next = self.slot.q.val();
        self.kinds_dests.next = self.dests.q.val();
        self.kinds_first_dest.next = self.first_dest.q.val();
        self.request_ready.next = self.state.q.val() == PlanState::Idle;
        match self.state.q.val() {
            PlanState::Idle => self.take_request(),

            PlanState::RecallRead => {
                self.state.d.next = PlanState::Recall;
            }
            PlanState::Recall => self.recall(),
            PlanState::InspectRead => {
                self.state.d.next = PlanState::InspectHead;
            }
            PlanState::InspectHead => self.inspect_head(),
            PlanState::InspectSetRead => {
                self.state.d.next = PlanState::InspectSet;
            }
            PlanState::InspectSet => self.inspect_set(),
            PlanState::Weigh => self.weigh(),
            PlanState::ScanRead => {
                self.state.d.next = PlanState::Scan;
            }
            PlanState::Scan => self.scan(),
            PlanState::InspectNext => self.inspect_next(),
            PlanState::Settled => self.choose_counting(),
            PlanState::CountRead => {
                self.state.d.next = PlanState::CountHead;
            }
            PlanState::CountHead => self.count_head(),
            PlanState::TallyRead => {
                self.state.d.next = PlanState::TallyHead;
            }
            PlanState::TallyHead => {
                self.head.d.next = self.here.val();
                self.set.d.next = self.here.val().first_set;
                self.state.d.next = PlanState::TallyTurn;
            }
            PlanState::TallyTurn => self.tally(),

            PlanState::Await => self.await_scans(),
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
            PlanState::QuickTimes => self.judge_quickly(),
            PlanState::QuickEnd => self.end_quick_judgement(),
            PlanState::JudgeRead => {
                self.state.d.next = PlanState::JudgeHead;
            }
            PlanState::JudgeHead => self.judge_head(),
            PlanState::JudgeSetRead => {
                self.state.d.next = PlanState::JudgeTimes;
            }
            PlanState::JudgeTimes => {
                self.state.d.next = PlanState::JudgeSet;
            }
            PlanState::JudgeSet => self.judge_set(),
            PlanState::JudgeEnd => self.judge_elements(),
            PlanState::MeasureRead => {
                self.state.d.next = PlanState::MeasureTimes;
            }
            PlanState::MeasureTimes => {
                self.state.d.next = PlanState::MeasureSet;
            }
            PlanState::MeasureSet => self.measure_set(),
            PlanState::MeasureEnd => {
                if self.measure.region_ready.val() {
                    self.measure.finish.next = true;
                    self.state.d.next = PlanState::JudgeLength;
                }
            }
            PlanState::JudgeLength => self.judge_length(),
            PlanState::JudgeNext => {
                self.index.d.next = self.index.q.val() + 1;
                self.state.d.next = PlanState::JudgeRead;
                if self.last_dest.val() {
                    self.index.d.next = 0.into();
                    self.state.d.next = PlanState::Begin;
                }
            }

            PlanState::Begin => self.begin_turns(),
            // Column requests: every destination has one set, and all have come equally far, or have ended.
            PlanState::ColumnRead => {
                self.state.d.next = PlanState::ColumnHead;
            }
            PlanState::ColumnHead => {
                self.head.d.next = self.here.val();
                self.set.d.next = self.here.val().first_set;
                self.state.d.next = PlanState::ColumnTurn;
            }
            PlanState::ColumnTurn => self.column_turn(),
            PlanState::TurnRead => {
                self.state.d.next = PlanState::TurnHead;
                if !self.first_turn.q.val() && self.turn_out.record.val().done {
                    self.state.d.next = PlanState::TurnNext;
                }
            }
            PlanState::TurnHead => self.turn_head(),
            PlanState::TurnSetRead => {
                self.state.d.next = PlanState::TurnSet;
            }
            PlanState::TurnSet => self.turn_set(),
            PlanState::TurnNext => self.turn_next(),
            PlanState::LoadRead => {
                self.state.d.next = PlanState::LoadTimes;
            }
            PlanState::LoadTimes => {
                self.state.d.next = PlanState::Load;
            }
            PlanState::Load => self.load(),
            PlanState::LoadUnits => self.load_units(),
            PlanState::LoadWait => self.await_walker(),
            PlanState::Kinds => {
                self.index.d.next = 0.into();
                self.kinds_ended.d.next = false;
                self.kinds_start.next = self.kinds_may_start.q.val();
                if self.kinds_start.val() {
                    self.state.d.next = PlanState::KindsWait;
                }
            }
            PlanState::KindsWait => {
                // The status is taken in each cycle, up to the one in which the request is done.
                self.kinds_ended.d.next = self.kinds_done.val();
                if self.kinds_ended.q.val() {
                    self.state.d.next = PlanState::Finish;
                } else {
                    self.status.d.next = self.kinds_status.val();
                    self.bad_dest.d.next = self.kinds_bad_dest.val();
                }
            }
            PlanState::Finish => self.finish(),
            PlanState::Settle => {
                // Requests that were decoded behind this one must see that its queue pair has failed.
                if !self.under_way.q.val().any() {
                    self.state.d.next = PlanState::Idle;
                }
            }
        }

        self.quick_valid.d.next =
            (self.quick_valid.q.val() << 1) | bit_cast::<4, 1>(self.quick.val().into());

        self.begin();

        self.turn_in.record.next = self.turn_new.val();
        self.turns.write_data.next = self.turn_in.bits.val();
        if self.finished.val() && !self.release_valid.val() {
            self.under_way.d.next = self.under_way.q.val() + 1;
        }
        if !self.finished.val() && self.release_valid.val() {
            self.under_way.d.next = self.under_way.q.val() - 1;
        }
        self.push_item();
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
