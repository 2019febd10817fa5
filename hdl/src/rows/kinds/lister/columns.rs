//! Messages by columns.
//!
//! The values of a row have numbers, from 0 on: a lane is one value, or two if its values vary in length: their length,
//! and their bytes. With several elements to a unit the numbers go on from element to element. Column `n` of a message
//! has value `n` of each of its units that has one.
//!
//! A destination whose messages go by columns is judged in two walks: region by region, whether all entries lead
//! somewhere, then message by message, how long each message is. The second walk, and that in which the messages are
//! sent, take the rows of a message once for each column, and ask for one value of each row. The first time they find
//! how many units the message has, up to the rows' end. The positions in all regions are kept where the message begins,
//! and restored for each further column. No column follows one of which no unit has a further value. A message whose
//! column ends otherwise than at the units that its first column had fails the request.
//!
//! The values of such a destination are not kept, because they are not judged in the order in which they are sent, and
//! its regions are walked one by one even if all have the same rows. It takes no turns, as its messages are not divided.

use super::super::record::{BYTES, LENGTH, WHOLE};
use super::{Lister, ListerPhase, ListerState};
use drdma_emit::prelude::*;

/// Bits of a number of values of a unit.
pub(super) const VALUE_COUNT: usize = 10;

impl<const RECORDS: usize> Lister<RECORDS> {
    /// Finds the value of a row that is in the current column.
    #[hdl_gen]
    pub(super) fn look_at_column(&mut self) {
        self.columns.next =
            self.head.q.val().column_order && (self.phase.q.val() != ListerPhase::Check);
        self.later_column.next = self.columns.val() && self.column.q.val().any();
        // Number of the value in its element; beyond all values if it is in an element before. Two cycles pass at least
        // from when one of both changes until the value is asked for.
        self.number.d.next = self.column.q.val() - self.number_before.q.val();
        self.number_less.next = self.number.q.val().get_bits::<5>(0) - 1;
        self.first_found.next = 0.into();
        self.second_found.next = 0.into();
        for k in 0..16 {
            if self.plan_now.val().numbers.get_bits::<5>(5 * k)
                == self.number.q.val().get_bits::<5>(0)
            {
                self.first_found.next = self.first_found.val().replace_bit(k, true);
            }
            if self.plan_now.val().pairs.get_bit(k)
                && (self.plan_now.val().numbers.get_bits::<5>(5 * k) == self.number_less.val())
            {
                self.second_found.next = self.second_found.val().replace_bit(k, true);
            }
        }
        self.lanes_found.next = self.first_found.val() | self.second_found.val();
        if self.number.q.val() >= bit_cast::<VALUE_COUNT, 6>(self.plan_now.val().values) {
            self.lanes_found.next = 0.into();
        }
        self.lane_found.bits.next = self.lanes_found.val();

        // An element that is one lane.
        self.is_pair.next = self.plan_now.val().pairs.get_bit(self.finder.lane.val().index());
        self.element_values.next = bit_cast::<VALUE_COUNT, 6>(self.plan_now.val().values);
        if self.by_lane.val() {
            self.element_values.next = 1.into();
            if self.is_pair.val() {
                self.element_values.next = 2.into();
            }
        }
        self.has_value.next = self.groups.q.val().any();
        if self.by_lane.val() {
            self.has_value.next =
                !self.number.q.val().any() || (self.is_pair.val() && (self.number.q.val() == 1));
        }
        self.numbers_so_far.next = self.number_before.q.val() + self.element_values.val();
    }

    /// Asks for one value of a row.
    #[hdl_gen]
    pub(super) fn want_value(&mut self) {
        self.wanted.part.next = WHOLE.into();
        if self.columns.val() {
            self.wanted.lane.next = self.wanted.first.val();
            self.wanted.unit_end.next = false;
            self.wanted.part.next = self.value_part.q.val();
            if self.by_lane.val() && self.is_pair.val() {
                self.wanted.part.next = LENGTH.into();
                if self.number.q.val().any() {
                    self.wanted.part.next = BYTES.into();
                }
            }
        }
    }

    /// Takes the lane of the current region that has the value as the only group of its rows.
    #[hdl_gen]
    pub(super) fn take_value(&mut self) {
        if self.columns.val() {
            self.groups.d.next = self.lanes_found.val();
            self.first_group.d.next = self.lane_found.index.val();
            self.group.d.next = self.lane_found.index.val();
            self.first_left.d.next = 0.into();
            self.left.d.next = 0.into();
            self.is_last.d.next = true;
            self.value_part.d.next = WHOLE.into();
            if self.second_found.val().any() {
                self.value_part.d.next = BYTES.into();
            } else if (self.first_found.val() & self.plan_now.val().pairs).any() {
                self.value_part.d.next = LENGTH.into();
            }
        }
    }

    /// Counts the values of a row that is taken.
    #[hdl_gen]
    pub(super) fn count_values(&mut self) {
        if self.columns.val() && self.takes.val() {
            if self.numbers_so_far.val() > (self.column.q.val() + 1) {
                self.has_further.d.next = true;
            }
            if self.interleaved.val() {
                self.number_before.d.next = self.numbers_so_far.val();
                if self.last_region.val() {
                    self.number_before.d.next = 0.into();
                }
            }
        }
    }

    /// Ends a column, and perhaps its message.
    #[hdl_gen]
    pub(super) fn end_column(&mut self) {
        if self.columns.val() {
            self.number_before.d.next = 0.into();
            self.has_further.d.next = false;
            self.column.d.next = 0.into();
            if self.has_further.q.val() {
                self.column.d.next = self.column.q.val() + 1;
                self.phase.d.next = self.phase.q.val();
                self.state.d.next = ListerState::Recall;
            } else if (self.phase.q.val() != ListerPhase::Ahead)
                && !self.message_ahead.val()
                && !self.over.q.val()
            {
                self.state.d.next = ListerState::Keep;
            }
        }
    }

    /// Begins with the first column of a destination's first message.
    #[hdl_gen]
    pub(super) fn begin_columns(&mut self) {
        self.column.d.next = 0.into();
        self.number_before.d.next = 0.into();
        self.has_further.d.next = false;
        self.copied.d.next = 0.into();
    }
}
