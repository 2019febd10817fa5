//! Groups: which lanes belong together.

use super::{PlaceState, Places};
use drdma_emit::prelude::*;

impl Places {
    /// The next lane.
    #[hdl_gen]
    pub(super) fn next_lane(&mut self) {
        if self.picks.val() {
            self.pick.d.next = self.pick.q.val() + 1;
            self.lane_addr.d.next =
                self.addr.q.val().get_bits::<64>(self.pick.q.val().index() * 64) + self.way.val();
            self.lane_len.d.next = self.len.q.val().get_bits::<7>(self.pick.q.val().index() * 7);
            self.lane_step.d.next = self.step.q.val().get_bits::<8>(self.pick.q.val().index() * 8);
        }
        if self.starts.val() && !self.done.val() {
            self.chunks.d.next = self.chunks.q.val() + 1;
        }
        if self.done.val() && !self.starts.val() {
            self.chunks.d.next = self.chunks.q.val() - 1;
        }

        self.group_index.next = bit_cast::<5, 4>(self.part.q.val())
            | (bit_cast::<5, 1>(self.parity.q.val().into()) << 4);
        self.group_last.next = self.closing.q.val() && (self.given.q.val() == self.held.q.val());
        self.group_lo.next = self.parts.read_data[0].val().get_bits::<64>(7);
        self.group_place.next = ((bit_cast::<15, 13>(self.word.q.val()) << 2)
            | bit_cast::<15, 2>(self.lo.q.val().get_bits::<2>(0)))
            + bit_cast::<15, 7>(self.part_at.val());
        self.group_window.next = self.window.q.val();
        self.group_len.next = self.parts.read_data[0].val().get_bits::<7>(0);
        self.group_step.next = self.step_of.q.val();
        self.group_blocks.next = (self.rows.q.val() + 63).get_bits::<7>(6);
        self.lanes_valid.next = self.lane_places.lanes_valid.val();
        self.lanes_place.next = self.lane_places.lanes_place.val();
        self.lanes_start.next = self.lane_places.lanes_start.val();
        self.lanes_step.next = self.lane_places.lanes_step.val();
        self.lanes_lanes.next = self.lane_places.lanes_lanes.val();
        self.lanes_row_bytes.next = self.lane_places.lanes_row_bytes.val();
        self.lanes_window.next = self.lane_places.lanes_window.val();
    }

    /// Waits for a header.
    #[hdl_gen]
    pub(super) fn take_lane(&mut self) {
        self.header_ready.next = true;
        self.lane.d.next = 0.into();
        self.pick.d.next = 0.into();
        self.group.d.next = 0.into();
        self.part.d.next = 0.into();
        self.held.d.next = 0.into();
        self.free.d.next = 0.into();
        self.open.d.next = false;
        self.closing.d.next = false;
        if self.header_valid.val() && self.header_ready.val() {
            self.addr.d.next = self.header_addr.val();
            self.len.d.next = self.header_len.val();
            self.step.d.next = self.header_step.val();
            self.rows.d.next = self.header_rows.val();
            self.base.d.next = self.header_base.val();
            self.moved.d.next = self.header_base.val().any();
            self.move_next.d.next = 0.into();
            self.moving.d.next = 0.into();
            self.known.d.next = 0.into();
            self.window.d.next = self.header_window.val();
            self.last_lane.d.next = self.find_last.index.val();
            self.state.d.next = PlaceState::Pick;
        }
    }

    /// Decides whether the lane joins.
    #[hdl_gen]
    pub(super) fn fit(&mut self) {
        self.lower.d.next = self.from_group.lower.val();
        self.lower_part.d.next = self.from_part.lower.val();
        self.joint.d.next = self.from_group.span.val();
        self.joint_part.d.next = self.from_part.span.val();
        self.joins.d.next = self.open.q.val()
            && self.from_group.near.val()
            && (self.lane_step.q.val() == self.step_of.q.val())
            && self.from_group.fits.val();
        self.joins_part.d.next = self.from_part.near.val() && self.from_part.follows.val();
        self.state.d.next = PlaceState::Join;
    }

    /// Lets the lane join, or begin a group.
    #[hdl_gen]
    pub(super) fn join_group(&mut self) {
        self.lane_places.lane_write.next = true;
        self.lane.d.next = self.lane.q.val() + 1;
        self.picks.next = self.can_pick.val();
        self.state.d.next = PlaceState::Pick;
        if self.can_pick.val() {
            self.state.d.next = PlaceState::Differ;
        }
        if self.lane.q.val() == self.last_lane.q.val() {
            self.closing.d.next = true;
            self.state.d.next = PlaceState::Size;
        }
        if self.joins.q.val() {
            self.len_of.d.next = self.joint.q.val();
            if self.lower.q.val() {
                self.lo.d.next = self.lane_addr.q.val();
            }
            if self.joins_part.q.val() {
                self.part_len.d.next = self.joint_part.q.val();
                if self.lower_part.q.val() {
                    self.part_lo.d.next = self.lane_addr.q.val();
                }
            } else {
                self.parts.write_enable.next = true;
                self.held.d.next = self.held.q.val() + 1;
                self.part_lo.d.next = self.lane_addr.q.val();
                self.part_len.d.next = bit_cast::<9, 7>(self.lane_len.q.val());
            }
        } else if !self.open.q.val() {
            self.open.d.next = true;
            self.lo.d.next = self.lane_addr.q.val();
            self.len_of.d.next = bit_cast::<9, 7>(self.lane_len.q.val());
            self.step_of.d.next = self.lane_step.q.val();
            self.count.d.next = 0.into();
            self.part_lo.d.next = self.lane_addr.q.val();
            self.part_len.d.next = bit_cast::<9, 7>(self.lane_len.q.val());
        } else {
            // The group before is placed first.
            self.lane.d.next = self.lane.q.val();
            self.picks.next = false;
            self.closing.d.next = false;
            self.state.d.next = PlaceState::Size;
        }
    }
}
