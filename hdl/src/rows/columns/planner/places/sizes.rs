//! Sizes and places of groups.

use super::{PlaceState, Places};
use drdma_emit::prelude::*;

impl Places {
    /// The size of a group is multiplied; the skew of its first word.
    #[hdl_gen]
    pub(super) fn measure(&mut self) {
        self.multiply.enable.next = true;
        self.multiply.a.next = (self.rows.q.val() - 1).get_bits::<12>(0);
        self.multiply.b.next = self.step_of.q.val();
        // 5 banks a group, or 14 with more than five lanes.
        self.bank.next =
            (bit_cast::<5, 4>(self.group.q.val()) << 2) + bit_cast::<5, 4>(self.group.q.val());
        if self.last_lane.q.val() > 4 {
            self.bank.next = (bit_cast::<5, 4>(self.group.q.val()) << 4)
                - (bit_cast::<5, 4>(self.group.q.val()) << 1);
        }
        self.skew.next = self.bank.val() - self.free.q.val().get_bits::<5>(0);
        self.bytes.next = self.multiply.product.val().get_bits::<15>(0)
            + bit_cast::<15, 9>(self.len_of.q.val())
            + bit_cast::<15, 2>(self.lo.q.val().get_bits::<2>(0))
            + 3;
        self.unused.next = (bit_cast::<7, 5>(self.multiply.product.val().get_bits::<5>(15)) << 2)
            | bit_cast::<7, 2>(self.bytes.val().get_bits::<2>(0));

        // The first row of a window lies many rows behind the first row of its stretch.
        self.by.enable.next = true;
        self.by.a.next = self.base.q.val();
        self.by.b.next =
            self.step.q.val().get_bits::<8>(self.move_next.q.val().get_bits::<4>(0).index() * 8);
        self.moving.d.next = self.moving.q.val() << 1;
        self.move_lane[0].d.next = self.move_next.q.val().get_bits::<4>(0);
        for k in 1..4 {
            self.move_lane[k].d.next = self.move_lane[k - 1].q.val();
        }
        if !self.move_next.q.val().get_bit(4) {
            self.moving.d.next = (self.moving.q.val() << 1) | 1;
            self.move_next.d.next = self.move_next.q.val() + 1;
        }
        self.moves.write_enable.next = self.moving.q.val().get_bit(3);
        self.moves.write_address.next = self.move_lane[3].q.val();
        self.moves.write_data.next = self.by.product.val();
        if self.moving.q.val().get_bit(3) {
            self.known.d.next = bit_cast::<5, 4>(self.move_lane[3].q.val()) + 1;
        }
        self.moves.read_address[0].next = self.pick.q.val();
        self.way.next = 0.into();
        if self.moved.q.val() {
            self.way.next = bit_cast::<64, 34>(self.moves.read_data[0].val()) << 6;
        }
        self.can_pick.next =
            !self.moved.q.val() || (self.known.q.val() > bit_cast::<5, 4>(self.pick.q.val()));

        self.used_bits.next = 0.into();
        for l in 0..16 {
            self.used[l].next = self.header_len.val().get_bits::<7>(l * 7).any();
            self.used_bits.next = self.used_bits.val().replace_bit(l, self.used[l].val());
        }
        self.find_last.bits.next = self.used_bits.val();
    }

    /// A lane's place is its group's, plus its distance from it.
    #[hdl_gen]
    pub(super) fn place_lanes(&mut self) {
        self.lane_places.lane_write.next = false;
        self.lane_places.lane.next = self.lane.q.val();
        self.lane_places.group.next = self.group.q.val();
        self.lane_places.group_write.next = false;
        self.lane_places.group_word.next = self.word.q.val();
        self.lane_places.group_lo.next = self.lo.q.val().get_bits::<7>(0);
        self.lane_places.starts.next = false;
        for l in 0..16 {
            self.low_addr.parts[l].next = self.addr.q.val().get_bits::<7>(l * 64);
        }
        self.lane_places.addr.next = self.low_addr.whole.val();
        self.lane_places.odd.next = self.base.q.val().get_bit(0);
        self.lane_places.len.next = self.len.q.val();
        self.lane_places.step.next = self.step.q.val();
        self.lane_places.last_lane.next = self.last_lane.q.val();
        self.lane_places.window.next = self.window.q.val();
        self.lane_places.lanes_ready.next = self.lanes_ready.val();

        // The parts of the present group.
        self.parts.write_enable.next = false;
        self.parts.write_address.next = self.held.q.val();
        self.parts.write_data.next = (bit_cast::<71, 64>(self.part_lo.q.val()) << 7)
            | bit_cast::<71, 7>(self.part_len.q.val().get_bits::<7>(0));
        self.parts.read_address[0].next = self.given.q.val();
        self.part_at.next =
            self.parts.read_data[0].val().get_bits::<7>(7) - self.lo.q.val().get_bits::<7>(0);

        self.header_ready.next = false;
        self.starts.next = false;
        self.group_valid.next = false;
        self.picks.next = false;
        self.hands.next = false;
    }

    /// Ends a group: its size is being multiplied.
    #[hdl_gen]
    pub(super) fn size(&mut self) {
        self.word.d.next = self.free.q.val() + bit_cast::<13, 5>(self.skew.val());
        self.parts.write_enable.next = true;
        self.given.d.next = 0.into();
        // A chunk begins with its first part.
        if (self.count.q.val() == 3) && (self.part.q.val().any() || !self.chunks.q.val().get_bit(1))
        {
            self.state.d.next = PlaceState::Place;
        }
    }

    /// Places the group, and emits its parts.
    #[hdl_gen]
    pub(super) fn place(&mut self) {
        self.group_valid.next = true;
        self.starts.next = !self.part.q.val().any();
        self.lane_places.group_write.next = true;
        self.free.d.next = self.word.q.val() + self.bytes.val().get_bits::<13>(2);
        self.part.d.next = self.part.q.val() + 1;
        self.given.d.next = self.given.q.val() + 1;
        if self.given.q.val() == self.held.q.val() {
            self.group.d.next = self.group.q.val() + 1;
            self.open.d.next = false;
            self.held.d.next = 0.into();
            self.state.d.next = PlaceState::Join;
            if self.closing.q.val() {
                self.ended.d.next = true;
                self.hands.next = true;
            }
        }
    }

    /// All groups are placed; waits until the lanes of the window before have been emitted.
    #[hdl_gen]
    pub(super) fn hand_over(&mut self) {
        self.hands.next = true;
    }
}
