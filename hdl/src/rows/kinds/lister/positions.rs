//! Positions of walks in the regions of a destination.

use super::{Lister, ListerPhase, ListerState, PROTECTION};
use drdma_emit::prelude::*;

impl<const RECORDS: usize> Lister<RECORDS> {
    /// Reads the stored position of the walk in the current region.
    #[hdl_gen]
    pub(super) fn look_at_position(&mut self) {
        self.is_fresh.next = self.fresh.q.val().get_bit(self.region_index.val().index());
        self.place_index.next = self.region_index.val();
        if (self.state.q.val() == ListerState::Keep) || (self.state.q.val() == ListerState::Recall)
        {
            self.place_index.next = self.copied.q.val().get_bits::<4>(0);
        }
        self.places.read_address[0].next = self.place_index.val();
        self.places.write_address.next = self.place_index.val();
        self.places.write_enable.next = false;
        self.place_in.record.next = self.finder.place.val();
        self.places.write_data.next = self.place_in.bits.val();
        self.place_out.bits.next = self.places.read_data[0].val();
        self.kept_places.read_address[0].next = self.place_index.val();
        self.kept_places.write_address.next = self.place_index.val();
        self.kept_places.write_enable.next = false;
        self.kept_places.write_data.next = self.places.read_data[0].val();
    }

    /// Stores the position of the walk.
    #[hdl_gen]
    pub(super) fn store_place(&mut self) {
        self.places.write_enable.next = !self.finder.busy.val();
        if self.finder.bad.val() {
            self.failure.d.next = PROTECTION.into();
            self.state.d.next = ListerState::Finish;
        } else if !self.finder.busy.val() {
            self.fresh.d.next =
                self.fresh.q.val().replace_bit(self.region_index.val().index(), false);
            self.state.d.next = ListerState::Rows;
            if self.interleaved.val() {
                self.carry.d.next = self.carry_new.val();
                self.region.d.next = self.region.q.val() + 1;
                self.set.d.next = self.set.q.val() + 1;
                self.state.d.next = ListerState::Region;
                if self.last_region.val() {
                    self.carry.d.next = 0.into();
                    self.region.d.next = 0.into();
                    self.set.d.next = self.head.q.val().first_set;
                }
            }
            if (!self.interleaved.val() || self.last_region.val())
                && (self.units.q.val() == self.target.val())
            {
                self.state.d.next = ListerState::MessageEnd;
            }
        }
    }

    /// Stores the positions in all regions, one a cycle, at the beginning of a message that is measured.
    #[hdl_gen]
    pub(super) fn keep(&mut self) {
        self.kept_places.write_enable.next = true;
        self.kept_fresh.d.next = self.fresh.q.val();
        self.kept_region.d.next = self.region.q.val();
        self.copied.d.next = self.copied.q.val() + 1;
        if self.copied.q.val() + 1 == self.head.q.val().sets {
            self.state.d.next = ListerState::Region;
        }
    }

    /// Restores the positions in all regions, one a cycle, to send the message that was measured.
    #[hdl_gen]
    pub(super) fn recall(&mut self) {
        self.places.write_enable.next = true;
        self.places.write_data.next = self.kept_places.read_data[0].val();
        self.fresh.d.next = self.kept_fresh.q.val();
        self.region.d.next = self.kept_region.q.val();
        self.set.d.next = self.head.q.val().first_set + bit_cast::<11, 5>(self.kept_region.q.val());
        self.over.d.next = false;
        self.copied.d.next = self.copied.q.val() + 1;
        // The columns of a message are walked one after the other, whether it is measured or sent.
        if !self.later_column.val() {
            self.phase.d.next = ListerPhase::Give;
        }
        if self.copied.q.val() + 1 == self.head.q.val().sets {
            self.state.d.next = ListerState::Region;
        }
    }
}
