//! Finds out how many bytes a row of a set takes in a window of the column path.

use crate::primitive::Ram;
use drdma_emit::prelude::*;

/// State of the current group while the lanes of a set are written.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct Standing {
    /// Distance from the group's first byte to the first byte of its last lane.
    pub at: Bits<8>,
    /// Bytes from the last lane's first byte to the end of the group; 255 also stands for more.
    pub rest: Bits<8>,
    /// The group spans no more than its step.
    pub fits: Bit,
    /// Step of the group in bytes; 255 also stands for more.
    pub step: Bits<8>,
    /// Sum of the steps of the groups, this one included; 2,047 if a column request cannot have these lanes.
    pub sum: Bits<11>,
    /// A lane is longer than its step.
    pub overlaps: Bit,
}

/// Sums up the steps of a set's groups, as the column path's planner forms them: a lane with the same step as the lane
/// before joins its group if the group then spans no more than that step, and no more than 127 bytes.
///
/// The lanes of a set come in order. Where an earlier set is continued after another set has begun, it is continued
/// from its second lane on, right after the first lane of the set behind it. Takes a lane a cycle, which has its effect
/// 6 cycles later. Reads deliver in the next cycle.
///
/// A column request cannot have a lane of more than 127 bytes or with a step of more than 128, nor two groups of step
/// 128: they would be two halves of one row.
///
/// # Inputs
/// `lane` (the decoder's writes), `set_read`.
///
/// # Outputs
/// `steps`, `overlaps`.
#[derive(LogicBlock, Default)]
pub struct Groups {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// The decoder writes a lane.
    pub lane_valid: Signal<In, Bit>,
    /// Set that the lane belongs to.
    pub lane_set: Signal<In, Bits<11>>,
    /// Number of the lane, 0 to 15.
    pub lane_lane: Signal<In, Bits<4>>,
    /// Host address of the lane in row 0.
    pub lane_base: Signal<In, Bits<64>>,
    /// Bytes from one row to the next.
    pub lane_step: Signal<In, Bits<64>>,
    /// Bytes of the lane in a row.
    pub lane_len: Signal<In, Bits<32>>,
    /// Number of the set to read.
    pub set_read: Signal<In, Bits<11>>,
    /// Sum of the steps of that set's groups in bytes; 2,047 if a column request cannot have its lanes.
    pub steps: Signal<Out, Bits<11>>,
    /// One of that set's lanes is longer than its step.
    pub overlaps: Signal<Out, Bit>,

    // Stage 1: the lane, and the lane before it in its set.
    valid_1: DFF<Bit>,
    set_1: DFF<Bits<11>>,
    lane_1: DFF<Bits<4>>,
    base_1: DFF<Bits<64>>,
    step_1: DFF<Bits<8>>,
    len_1: DFF<Bits<8>>,
    own_set: DFF<Bits<11>>,
    own_base: DFF<Bits<64>>,
    before_base: DFF<Bits<64>>,
    behind_base: DFF<Bits<64>>,
    is_behind: Signal<Local, Bit>,
    // Stage 2: the distance between the two lanes.
    valid_2: DFF<Bit>,
    set_2: DFF<Bits<11>>,
    first_2: DFF<Bit>,
    second_2: DFF<Bit>,
    behind_2: DFF<Bit>,
    step_2: DFF<Bits<8>>,
    len_2: DFF<Bits<8>>,
    base_2: DFF<Bits<64>>,
    other_2: DFF<Bits<64>>,
    delta: Signal<Local, Bits<64>>,
    // Stage 3: whether the distance is less than 128 bytes, up or down.
    valid_3: DFF<Bit>,
    set_3: DFF<Bits<11>>,
    first_3: DFF<Bit>,
    second_3: DFF<Bit>,
    behind_3: DFF<Bit>,
    step_3: DFF<Bits<8>>,
    len_3: DFF<Bits<8>>,
    delta_3: DFF<Bits<9>>,
    near_3: DFF<Bit>,
    /// The lane is no longer than its step.
    short_3: DFF<Bit>,
    // For a lane that joins a group of its step: how far from the group's start the lane before it may lie, if the lane
    // ends the group; how far from the group's end, if the lane starts the group.
    most_up_3: DFF<Bits<10>>,
    most_down_3: DFF<Bits<10>>,
    excess: Signal<Local, Bits<10>>,
    /// Bytes that a group may span.
    most: Signal<Local, Bits<8>>,
    distance: Signal<Local, Bits<10>>,
    // The groups so far: of the current set, of the set before it, and of an earlier set that is continued.
    own: DFF<Standing>,
    before: DFF<Standing>,
    behind: DFF<Standing>,
    held: Signal<Local, Standing>,
    at: Signal<Local, Bits<9>>,
    rest: Signal<Local, Bits<10>>,
    goes_on: Signal<Local, Bit>,
    starts: Signal<Local, Bit>,
    fits: Signal<Local, Bit>,
    joins: Signal<Local, Bit>,
    added: Signal<Local, Bits<12>>,
    sum: Signal<Local, Bits<11>>,
    after: Signal<Local, Standing>,
    // Stage 4: the sum.
    valid_4: DFF<Bit>,
    set_4: DFF<Bits<11>>,
    sum_4: DFF<Bits<12>>,
    sums: Ram<12, 1, 11>,
}

impl Logic for Groups {
    #[hdl_gen]
    fn update(&mut self) {
        self.valid_1.d.next = self.lane_valid.val();
        self.set_1.d.next = self.lane_set.val();
        self.lane_1.d.next = self.lane_lane.val();
        self.base_1.d.next = self.lane_base.val();
        self.step_1.d.next = bit_cast::<8, 64>(self.lane_step.val());
        if self.lane_step.val().get_bits::<56>(8).any() {
            self.step_1.d.next = 255.into();
        }
        self.len_1.d.next = bit_cast::<8, 32>(self.lane_len.val());
        if self.lane_len.val().get_bits::<24>(8).any() {
            self.len_1.d.next = 255.into();
        }

        // The lane before this one in its set.
        self.is_behind.next =
            (self.lane_1.q.val() != 0) && (self.set_1.q.val() != self.own_set.q.val());
        self.other_2.d.next = self.own_base.q.val();
        if self.is_behind.val() {
            self.other_2.d.next = self.behind_base.q.val();
            if self.lane_1.q.val() == 1 {
                self.other_2.d.next = self.before_base.q.val();
            }
        }
        if self.valid_1.q.val() {
            if self.is_behind.val() {
                self.behind_base.d.next = self.base_1.q.val();
            } else {
                self.own_base.d.next = self.base_1.q.val();
            }
            if self.lane_1.q.val() == 0 {
                self.own_set.d.next = self.set_1.q.val();
                self.before_base.d.next = self.own_base.q.val();
            }
        }
        self.valid_2.d.next = self.valid_1.q.val();
        self.set_2.d.next = self.set_1.q.val();
        self.first_2.d.next = self.lane_1.q.val() == 0;
        self.second_2.d.next = self.lane_1.q.val() == 1;
        self.behind_2.d.next = self.is_behind.val();
        self.step_2.d.next = self.step_1.q.val();
        self.len_2.d.next = self.len_1.q.val();
        self.base_2.d.next = self.base_1.q.val();

        self.delta.next = self.base_2.q.val() - self.other_2.q.val();
        self.valid_3.d.next = self.valid_2.q.val();
        self.set_3.d.next = self.set_2.q.val();
        self.first_3.d.next = self.first_2.q.val();
        self.second_3.d.next = self.second_2.q.val();
        self.behind_3.d.next = self.behind_2.q.val();
        self.step_3.d.next = self.step_2.q.val();
        self.len_3.d.next = self.len_2.q.val();
        self.delta_3.d.next = self.delta.val().get_bits::<9>(0);
        self.near_3.d.next =
            !self.delta.val().get_bits::<57>(7).any() || self.delta.val().get_bits::<57>(7).all();

        self.most.next = self.step_2.q.val();
        if self.step_2.q.val().get_bit(7) {
            self.most.next = 127.into();
        }
        self.short_3.d.next = !(self.most.val() < self.len_2.q.val());
        self.distance.next = bit_cast::<10, 9>(self.delta.val().get_bits::<9>(0));
        if self.delta.val().get_bit(8) {
            self.distance.next = bit_cast::<10, 9>(self.delta.val().get_bits::<9>(0)) | 0x200;
        }
        self.excess.next =
            bit_cast::<10, 8>(self.most.val()) - bit_cast::<10, 8>(self.len_2.q.val());
        self.most_up_3.d.next = self.excess.val() - self.distance.val();
        self.most_down_3.d.next = bit_cast::<10, 8>(self.most.val()) + self.distance.val();

        // The group with this lane: from its start to the lane's end if no other lane ends later, or from the lane's
        // start to the end of the group.
        self.held.next = self.own.q.val();
        if self.behind_3.q.val() {
            self.held.next = self.behind.q.val();
            if self.second_3.q.val() {
                self.held.next = self.before.q.val();
            }
        }
        self.at.next = bit_cast::<9, 8>(self.held.val().at) + self.delta_3.q.val();
        self.rest.next =
            bit_cast::<10, 8>(self.held.val().rest) - bit_cast::<10, 9>(self.delta_3.q.val());
        if self.delta_3.q.val().get_bit(8) {
            self.rest.next = bit_cast::<10, 8>(self.held.val().rest)
                - (bit_cast::<10, 9>(self.delta_3.q.val()) | 0x200);
        }
        self.goes_on.next = !self.most_up_3.q.val().get_bit(9)
            && !(self.most_up_3.q.val() < bit_cast::<10, 8>(self.held.val().at));
        self.starts.next = !self.most_down_3.q.val().get_bit(9)
            && !(self.most_down_3.q.val() < bit_cast::<10, 8>(self.held.val().rest));
        self.fits.next = self.goes_on.val() && self.held.val().fits;
        if self.at.val().get_bit(8) {
            self.fits.next = self.starts.val() && self.short_3.q.val();
        }
        self.joins.next = !self.first_3.q.val()
            && self.near_3.q.val()
            && (self.step_3.q.val() == self.held.val().step)
            && self.fits.val();
        self.added.next =
            bit_cast::<12, 11>(self.held.val().sum) + bit_cast::<12, 8>(self.step_3.q.val());
        self.sum.next = self.held.val().sum;
        self.after.next.step = self.step_3.q.val();
        self.after.next.at = self.at.val().get_bits::<8>(0);
        self.after.next.rest = self.rest.val().get_bits::<8>(0);
        self.after.next.fits = true;
        self.after.next.overlaps = self.held.val().overlaps || !self.short_3.q.val();
        if self.at.val().get_bit(8) {
            self.after.next.at = 0.into();
        }
        if self.rest.val().get_bit(9) || (self.rest.val() < bit_cast::<10, 8>(self.len_3.q.val())) {
            self.after.next.rest = self.len_3.q.val();
        }
        if !self.joins.val() {
            self.after.next.at = 0.into();
            self.after.next.rest = self.len_3.q.val();
            self.after.next.fits = self.short_3.q.val();
            self.sum.next = self.added.val().get_bits::<11>(0);
            if self.added.val().get_bit(11)
                || self.held.val().sum.all()
                || (self.step_3.q.val() == 128)
            {
                self.sum.next = 2047.into();
            }
        }
        if self.first_3.q.val() {
            self.sum.next = bit_cast::<11, 8>(self.step_3.q.val());
            self.after.next.overlaps = !self.short_3.q.val();
        }
        if (self.step_3.q.val() > 128) || self.len_3.q.val().get_bit(7) {
            self.sum.next = 2047.into();
        }
        self.after.next.sum = self.sum.val();
        if self.valid_3.q.val() {
            if self.behind_3.q.val() {
                self.behind.d.next = self.after.val();
            } else {
                self.own.d.next = self.after.val();
            }
            if self.first_3.q.val() {
                self.before.d.next = self.own.q.val();
            }
        }
        self.valid_4.d.next = self.valid_3.q.val();
        self.set_4.d.next = self.set_3.q.val();
        self.sum_4.d.next = bit_cast::<12, 11>(self.sum.val())
            | (bit_cast::<12, 1>(self.after.val().overlaps.into()) << 11);

        self.sums.write_lanes.next = bit_cast::<1, 1>(self.valid_4.q.val().into());
        self.sums.write_address.next = self.set_4.q.val();
        self.sums.write_data.next = self.sum_4.q.val();
        self.sums.read_enable.next = true;
        self.sums.read_address.next = self.set_read.val();
        self.steps.next = self.sums.read_data.val().get_bits::<11>(0);
        self.overlaps.next = self.sums.read_data.val().get_bit(11);
    }
}
