//! Units: how they are measured, and given.

use super::super::record::{BOUNDS, CHECK, LOAD, UNITS};
use super::{Walker, WalkerState};
use crate::request::{BITMAPPED, CONTIGUOUS, POINTER_MAPPED};
use drdma_emit::prelude::*;

impl Walker {
    /// Lengths: the lane's is read, then added.
    #[hdl_gen]
    pub(super) fn measure(&mut self) {
        self.lens.write_lanes.next = 0.into();
        if self.lane_write_valid.val() {
            self.lens.write_lanes.next = 1.into();
            if self.lane_write_lane.val().get_bit(0) {
                self.lens.write_lanes.next = 2.into();
            }
        }
        self.lens.write_address.next = (bit_cast::<14, 11>(self.lane_write_set.val()) << 3)
            | bit_cast::<14, 3>(self.lane_write_lane.val().get_bits::<3>(1));
        self.lens.write_data.next = bit_cast::<64, 32>(self.lane_write_len.val())
            | (bit_cast::<64, 32>(self.lane_write_len.val()) << 32);
        self.lens.read_enable.next = true;
        self.dry_lanes.read_address[0].next = self.region.q.val();
        self.dry_lanes.write_address.next = self.region.q.val();
        self.dry_lanes.write_enable.next = false;
        self.dry_lane.next = self.dry_lanes.read_data[0].val();
        if self.dry_fresh.q.val().get_bit(self.region.q.val().index()) {
            self.dry_lane.next = 0.into();
        }
        self.dry_lanes.write_data.next = self.dry_lane.val() + 1;
        if bit_cast::<5, 4>(self.dry_lane.val()) + 1 == self.shared.record.val().lanes {
            self.dry_lanes.write_data.next = 0.into();
        }
        self.lens.read_address.next = (bit_cast::<14, 11>(self.shared.record.val().set) << 3)
            | bit_cast::<14, 3>(self.dry_lane.val().get_bits::<3>(1));
        self.second.d.next = self.dry_lane.val().get_bit(0);
        self.len.next = self.lens.read_data.val().get_bits::<32>(0);
        if self.second.q.val() {
            self.len.next = self.lens.read_data.val().get_bits::<32>(32);
        }
        self.adds.d.next = false;
        self.adds_lane.d.next = self.shared.record.val().by_lane;
        self.adds_bytes.d.next = self.info.record.val().row_bytes;
        self.sum_new.next = self.sum.q.val() + bit_cast::<37, 36>(self.adds_bytes.q.val());
        if self.adds_lane.q.val() {
            self.sum_new.next = self.sum.q.val() + bit_cast::<37, 32>(self.len.val());
        }
        if self.adds.q.val() {
            self.sum.d.next = self.sum_new.val();
        }
        if self.sum.q.val() > bit_cast::<37, 32>(self.limit.q.val()) {
            self.over.d.next = true;
            self.sum.d.next = 0.into();
        }
    }

    /// Takes the regions of a destination.
    #[hdl_gen]
    pub(super) fn take_item(&mut self) {
        self.check.d.next = self.item.val().task == CHECK;
        self.announce.d.next = self.item.val().never && (self.item.val().task == UNITS);
        self.chunk.d.next = self.item.val().chunk_start;
        self.ends.d.next = self.item.val().last;
        self.left.d.next = self.item.val().low.get_bits::<36>(0);
        self.dry_left.d.next = self.item.val().low.get_bits::<36>(0);
        self.limit.d.next = self.item.val().high.get_bits::<32>(0);
        self.over.d.next = false;
        self.sum.d.next = 0.into();
        self.region.d.next = 0.into();
        self.fresh.d.next = 0xffff.into();
        self.fresh_here.d.next = true;
        self.dry_fresh.d.next = 0xffff.into();
        self.line_ready.d.next = false;
        self.unit_left.d.next = self.shared.record.val().units;
        self.dry_unit.d.next = self.shared.record.val().units;
        if self.item_valid.val() {
            if self.item.val().task == LOAD {
                self.item_ready.next = true;
                self.infos.write_enable.next = true;
                self.contexts.write_enable.next = true;
                self.last_region.d.next = self.item.val().first.get_bits::<4>(0);
            } else if self.item.val().task == BOUNDS {
                self.item_ready.next = true;
                self.bounds.write_enable.next = true;
            } else if self.may_start.val() {
                self.item_ready.next = true;
                self.state.d.next = WalkerState::Give;
                if (self.item.val().task == CHECK) || self.item.val().never {
                    self.state.d.next = WalkerState::Dry;
                }
                if self.item.val().low.get_bits::<36>(0) == 0 {
                    self.state.d.next = WalkerState::Done;
                }
            }
        }
    }

    /// Adds up the length of a message without emitting it.
    #[hdl_gen]
    pub(super) fn measure_row(&mut self) {
        self.adds.d.next = true;
        self.dry_lanes.write_enable.next = true;
        self.dry_fresh.d.next =
            self.dry_fresh.q.val().replace_bit(self.region.q.val().index(), false);
        self.region.d.next = self.region.q.val() + 1;
        if self.last_of_unit.val() {
            self.region.d.next = 0.into();
            self.dry_left.d.next = self.dry_left.q.val() - 1;
            self.dry_unit.d.next = self.dry_unit.q.val() - 1;
            if (self.dry_unit.q.val() == 1) || (self.dry_left.q.val() == 1) {
                self.state.d.next = WalkerState::DryEnd;
            }
        }
    }

    /// Waits until the last lengths are added.
    #[hdl_gen]
    pub(super) fn end_measurement(&mut self) {
        self.dry_unit.d.next = self.shared.record.val().units;
        if !self.adds.q.val() {
            self.state.d.next = WalkerState::Give;
            if self.check.q.val() {
                self.sum.d.next = 0.into();
                self.state.d.next = WalkerState::Dry;
                if self.over.q.val() || (self.dry_left.q.val() == 0) {
                    self.state.d.next = WalkerState::Done;
                }
            }
        }
    }

    /// Emits an element a cycle.
    #[hdl_gen]
    pub(super) fn give(&mut self) {
        if self.failed.val() {
            self.state.d.next = WalkerState::Done;
        } else if (self.info.record.val().kind == BITMAPPED) && (self.place.val().bits == 0) {
            // The next word of the bitmap.
            self.fresh_here.d.next = false;
            self.fresh.d.next = self.fresh.q.val().replace_bit(self.region.q.val().index(), false);
            if (self.place.val().word.get_bits::<3>(0) == 0) && !self.line_ready.q.val() {
                self.state.d.next = WalkerState::Miss;
                self.places.write_enable.next = true;
            } else {
                self.place_new.next.bits = self.masked.val();
                self.place_new.next.word = self.place.val().word + 1;
                self.places.write_enable.next = true;
                self.line_ready.d.next = false;
            }
        } else if (self.info.record.val().kind == POINTER_MAPPED)
            && (self.place.val().row.get_bits::<3>(0) == 0)
            && !self.line_ready.q.val()
        {
            self.state.d.next = WalkerState::Miss;
        } else {
            self.found.next = true;
            if self.info.record.val().kind == CONTIGUOUS {
                self.next_row.next.row = 0.into();
            }
            if self.info.record.val().kind == BITMAPPED {
                self.next_row.next.row = (bit_cast::<32, 27>(self.place.val().word - 1) << 6)
                    | bit_cast::<32, 6>(self.first_one.index.val());
                self.place_new.next.bits = self.place.val().bits & (self.place.val().bits - 1);
            } else if self.shared.record.val().by_lane {
                self.place_new.next.lane = self.place.val().lane + 1;
                if bit_cast::<5, 4>(self.place.val().lane) + 1 == self.shared.record.val().lanes {
                    self.place_new.next.lane = 0.into();
                    self.place_new.next.row = self.place.val().row + 1;
                }
            } else {
                self.place_new.next.row = self.place.val().row + 1;
            }
            if self.advance.val() {
                self.places.write_enable.next = true;
                self.fresh_here.d.next = self.fresh_after.val();
                self.fresh.d.next =
                    self.fresh.q.val().replace_bit(self.region.q.val().index(), false);
                self.line_ready.d.next = false;
                self.chunk.d.next = false;
                self.region.d.next = self.region_after.val();
                if self.last_of_unit.val() {
                    self.left.d.next = self.left.q.val() - 1;
                    self.unit_left.d.next = self.unit_left.q.val() - 1;
                    if self.left.q.val() == 1 {
                        self.state.d.next = WalkerState::Done;
                    } else if self.unit_left.q.val() == 1 {
                        self.unit_left.d.next = self.shared.record.val().units;
                        if self.announce.q.val() {
                            self.sum.d.next = 0.into();
                            self.state.d.next = WalkerState::Dry;
                        }
                    }
                }
            }
        }
    }

    /// Limits the line to the end of the bitmap or the pointer array.
    #[hdl_gen]
    pub(super) fn judge(&mut self) {
        if self.ask_rows.q.val() > bit_cast::<32, 10>(self.line_rows.val()) {
            self.ask_rows.d.next = bit_cast::<32, 10>(self.line_rows.val());
        }
        self.state.d.next = WalkerState::Ask;
        if self.ask_first.q.val() >= self.info.record.val().count {
            // Fewer bits than were counted: the bitmap has changed since.
            self.fails.d.next = true;
            self.state.d.next = WalkerState::Done;
        }
    }

    /// All units are done.
    #[hdl_gen]
    pub(super) fn finish(&mut self) {
        self.done.next = true;
        self.state.d.next = WalkerState::Idle;
    }
}
