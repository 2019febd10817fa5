//! The logic of the places, state by state. Its parts stand in files by what they do.

use super::{PlaceState, Places};
use drdma_emit::prelude::hdl_gen;
use drdma_emit::prelude::*;

impl Logic for Places {
    #[hdl_gen]
    fn update(&mut self) {
        self.most.next = self.step_of.q.val();
        if self.step_of.q.val().get_bit(7) {
            self.most.next = 127.into();
        }
        self.from_group.lo.next = self.lo.q.val();
        self.from_group.len.next = self.len_of.q.val();
        self.from_group.lane_addr.next = self.lane_addr.q.val();
        self.from_group.lane_len.next = self.lane_len.q.val();
        self.from_group.step.next = self.most.val();
        self.from_group.threshold.next = self.threshold.val();
        self.from_part.lo.next = self.part_lo.q.val();
        self.from_part.len.next = self.part_len.q.val();
        self.from_part.lane_addr.next = self.lane_addr.q.val();
        self.from_part.lane_len.next = self.lane_len.q.val();
        self.from_part.step.next = self.most.val();
        self.from_part.threshold.next = self.threshold.val();

        self.measure();
        self.place_lanes();
        // The size of a group is known 4 cycles after its step.
        if self.count.q.val() != 3 {
            self.count.d.next = self.count.q.val() + 1;
        }
        self.ended.d.next = false;
        match self.state.q.val() {
            PlaceState::Wait => self.take_lane(),
            PlaceState::Pick => {
                self.picks.next = self.can_pick.val();
                if self.can_pick.val() {
                    self.state.d.next = PlaceState::Differ;
                }
            }
            PlaceState::Differ => {
                self.state.d.next = PlaceState::Fit;
                if !self.lane_len.q.val().any() {
                    self.lane.d.next = self.lane.q.val() + 1;
                    self.state.d.next = PlaceState::Pick;
                }
            }
            PlaceState::Fit => self.fit(),
            PlaceState::Join => self.join_group(),
            PlaceState::Size => self.size(),
            PlaceState::Place => self.place(),
            PlaceState::Hand => self.hand_over(),
        }
        if self.hands.val() {
            self.state.d.next = PlaceState::Hand;
            if self.lane_places.ready.val() {
                self.lane_places.starts.next = true;
                self.parity.d.next = !self.parity.q.val();
                self.state.d.next = PlaceState::Wait;
            }
        }
        self.next_lane();
        // All groups are placed; the window ends with the last one.
        self.sized.next = self.ended.q.val();
        self.size.next = ((bit_cast::<14, 13>(self.free.q.val()) + 31) >> 5).get_bits::<9>(0);

        if self.rst.val() {
            self.state.d.next = PlaceState::Wait;
            self.parity.d.next = false;
            self.ended.d.next = false;
            self.move_next.d.next = 16.into();
            self.moving.d.next = 0.into();
            self.chunks.d.next = 0.into();
        }
    }
}
