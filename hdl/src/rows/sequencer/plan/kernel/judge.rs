//! Judgement: pointers, numbers of elements, and lengths of messages.

use super::super::{Plan, PlanState};
use drdma_emit::prelude::*;

impl Plan {
    /// Connects the measurement of messages, and the memory of their lengths.
    #[hdl_gen]
    pub(super) fn measure_messages(&mut self) {
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
    }

    /// The most bytes that a message could have.
    #[hdl_gen]
    pub(super) fn multiply_rows(&mut self) {
        self.multiplier.enable.next = true;
        self.multiplier.a.next = self.head.q.val().units;
        self.multiplier.b.next = self.largest.q.val();
        // For destinations of the same lanes: the length of their one message, one product for each destination.
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
    }

    /// Waits until all scans have ended.
    #[hdl_gen]
    pub(super) fn await_scans(&mut self) {
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

    /// Multiplies a destination's rows, if they are one message.
    #[hdl_gen]
    pub(super) fn judge_quickly(&mut self) {
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

    /// Waits for the last products, and gives the verdict.
    #[hdl_gen]
    pub(super) fn end_quick_judgement(&mut self) {
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

    /// Takes a destination's head.
    #[hdl_gen]
    pub(super) fn judge_head(&mut self) {
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

    /// Takes the verdict on a set's pointers, and its number of elements.
    #[hdl_gen]
    pub(super) fn judge_set(&mut self) {
        if self.scan_bad.val() {
            self.bad.d.next = true;
        }
        self.first_of_dest.d.next = false;
        self.largest.d.next = self.larger.val().get_bits::<36>(0);
        self.elements_before.d.next = self.elements.val();
        if !self.first_of_dest.q.val() && (self.elements_before.q.val() != self.elements.val()) {
            self.unequal.d.next = true;
        }
        self.set.d.next = self.set.q.val() + 1;
        self.sets_left.d.next = self.sets_left.q.val() - 1;
        self.state.d.next = PlanState::JudgeSetRead;
        if self.last_set.val() {
            self.state.d.next = PlanState::JudgeEnd;
        }
    }

    /// Gives the verdict on pointers and numbers of elements.
    #[hdl_gen]
    pub(super) fn judge_elements(&mut self) {
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
        } else if self.findings_out.record.val().uneven && self.findings_out.record.val().limited {
            self.loading_check.d.next = true;
            self.loaded.d.next = 0.into();
            self.state.d.next = PlanState::LoadRead;
        } else if self.findings_out.record.val().measure && !self.findings_out.record.val().uneven {
            self.state.d.next = PlanState::MeasureRead;
            if self.shuffle.val() {
                self.sets_left.d.next = 1.into();
            }
        } else {
            self.bad_dest.d.next = 0.into();
            self.state.d.next = PlanState::JudgeNext;
        }
    }

    /// Has a set's messages measured.
    #[hdl_gen]
    pub(super) fn measure_set(&mut self) {
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

    /// Gives the verdict on lengths.
    #[hdl_gen]
    pub(super) fn judge_length(&mut self) {
        self.bad_dest.d.next = 0.into();
        self.state.d.next = PlanState::JudgeNext;
        if self.measure.too_long.val() {
            self.bad_dest.d.next = self.index.q.val();
            self.status.d.next = self.length.val();
            self.state.d.next = PlanState::Finish;
        }
    }
}
