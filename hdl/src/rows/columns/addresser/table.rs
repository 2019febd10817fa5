//! The table of a window: for each byte of its rows the lane that it comes from.

use super::Addresser;
use crate::layout::windows::WINDOW_INDEX;
use drdma_emit::prelude::*;

impl Addresser {
    /// Lanes wait.
    #[hdl_gen]
    pub(super) fn take_lanes(&mut self) {
        for l in 0..16 {
            self.in_window.parts[l].next = self.lanes_place.val().get_bits::<15>(l * 17);
        }
        // Bits 15 and 16 of a place are not used: the window's number is known.
        self.unused.next = self.lanes_place.val();
        self.entry.a.next = self.in_window.whole.val();
        self.entry.b.next = self.lanes_start.val();
        self.entry.c.next = self.lanes_step.val();
        self.entry.d.next = bit_cast::<19, 5>(self.lanes_lanes.val())
            | (bit_cast::<19, 10>(self.lanes_row_bytes.val()) << 5)
            | (bit_cast::<19, WINDOW_INDEX>(self.lanes_window.val()) << 15);
        self.waiting.in_valid.next = self.lanes_valid.val();
        self.waiting.in_data.next = self.entry.whole.val();
        self.lanes_ready.next = self.waiting.in_ready.val();
        self.next_place.next = self.waiting.out_data.val().get_bits::<240>(0);
        self.next_step.next = self.waiting.out_data.val().get_bits::<128>(400);
        self.next_layout.next =
            bit_cast::<175, 160>(self.waiting.out_data.val().get_bits::<160>(240))
                | (bit_cast::<175, 15>(self.waiting.out_data.val().get_bits::<15>(528)) << 160);
        self.next_window.next = self.waiting.out_data.val().get_bits::<WINDOW_INDEX>(543);
    }

    /// The layout: for each byte its lane, its distance in the lane, and its row. A beat can take the bytes up to
    /// the one 63 behind the last of a row.
    #[hdl_gen]
    pub(super) fn lay_out(&mut self) {
        self.same.next = self.known.q.val() && (self.layout.q.val() == self.next_layout.val());
        self.last_word.next =
            ((self.layout.q.val().get_bits::<10>(165) + 62) >> 2).get_bits::<9>(0);
        self.begun_bits.next = 0.into();
        for l in 0..16 {
            self.begun[l].next = (self.number[l].val() < self.layout.q.val().get_bits::<5>(160))
                && !(self.at.q.val() < self.layout.q.val().get_bits::<10>(l * 10));
            self.begun_bits.next = self.begun_bits.val().replace_bit(l, self.begun[l].val());
        }
        self.find_lane.bits.next = self.begun_bits.val();
        self.following.next = self.at.q.val() + 1;
        self.found.d.next = self.making.q.val();
        self.found_count.d.next = self.count.q.val();
        self.found_row.d.next = self.row.q.val();
        self.found_lane.d.next = self.find_lane.index.val();
        self.found_at.d.next = self.at.q.val().get_bits::<7>(0);
        self.rest.next = self.found_at.q.val()
            - self.layout.q.val().get_bits::<7>(self.found_lane.q.val().index() * 10);
        if self.making.q.val() {
            self.count.d.next = self.count.q.val() + 1;
            self.at.d.next = self.following.val();
            if self.following.val() == self.layout.q.val().get_bits::<10>(165) {
                self.at.d.next = 0.into();
                self.row.d.next = self.row.q.val() + 1;
            }
            if (self.count.q.val().get_bits::<2>(0) == 3)
                && (self.count.q.val().get_bits::<8>(2) == self.last_word.val().get_bits::<8>(0))
            {
                self.making.d.next = false;
            }
        } else if !self.found.q.val() && self.waiting.out_valid.val() && !self.same.val() {
            self.layout.d.next = self.next_layout.val();
            self.known.d.next = true;
            self.kept.d.next = false;
            self.making.d.next = true;
            self.count.d.next = 0.into();
            self.row.d.next = 0.into();
            self.at.d.next = 0.into();
            self.words.d.next = 0.into();
        }
        self.made.next = bit_cast::<60, 45>(self.recent.q.val())
            | (bit_cast::<60, 4>(self.found_row.q.val()) << 45)
            | (bit_cast::<60, 4>(self.found_lane.q.val()) << 49)
            | (bit_cast::<60, 7>(self.rest.val()) << 53);
        self.entries.write_enable.next =
            self.found.q.val() && (self.found_count.q.val().get_bits::<2>(0) == 3);
        self.entries.write_address.next = self.found_count.q.val().get_bits::<8>(2);
        self.entries.write_data.next = self.made.val();
        if self.found.q.val() {
            self.recent.d.next = self.made.val().get_bits::<45>(15);
        }
        if self.entries.write_enable.val() {
            self.words.d.next = self.words.q.val() + 1;
        }
    }

    /// The table is filled behind the layout. Lanes wait until they have been looked up for all entries. A window
    /// whose lanes lie as those of the window before uses the same table.
    #[hdl_gen]
    pub(super) fn fill_table(&mut self) {
        self.alike.next = self.kept.q.val();
        for l in 0..16 {
            if (self.number[l].val() < self.next_layout.val().get_bits::<5>(160))
                && ((self.kept_place.q.val().get_bits::<15>(l * 15)
                    != self.next_place.val().get_bits::<15>(l * 15))
                    || (self.kept_step.q.val().get_bits::<8>(l * 8)
                        != self.next_step.val().get_bits::<8>(l * 8)))
            {
                self.alike.next = false;
            }
        }
        self.reuse.next = self.waiting.out_valid.val()
            && self.same.val()
            && self.alike.val()
            && !self.fill_done.q.val();
        self.fill.next = self.waiting.out_valid.val()
            && self.same.val()
            && !self.alike.val()
            && !self.fill_done.q.val()
            && (self.fill_word.q.val() < self.words.q.val());
        self.fill_last.next = self.fill_word.q.val() == self.last_word.val();
        if self.fill.val() {
            self.fill_word.d.next = self.fill_word.q.val() + 1;
            if self.fill_last.val() {
                self.fill_done.d.next = true;
            }
        }
        self.entries.read_address[0].next = self.fill_word.q.val().get_bits::<8>(0);
        self.read.d.next = self.entries.read_data[0].val();
        self.read_valid.d.next = self.fill.val();
        self.read_last.d.next = self.fill_last.val();
        self.read_word.d.next = self.fill_word.q.val().get_bits::<8>(0);
        for k in 0..4 {
            self.read_lanes.parts[k].next = self.read.q.val().get_bits::<4>(k * 15 + 4);
        }
        self.lane_places.enable.next = self.read_valid.q.val();
        self.lane_places.entries.next = self.next_place.val();
        self.lane_places.indices.next = self.read_lanes.whole.val();
        self.lane_steps.enable.next = self.read_valid.q.val();
        self.lane_steps.entries.next = self.next_step.val();
        self.lane_steps.indices.next = self.read_lanes.whole.val();
        self.looked.d.next = self.read.q.val();
        self.looked_valid.d.next = self.read_valid.q.val();
        self.looked_last.d.next = self.read_last.q.val();
        self.looked_word.d.next = self.read_word.q.val();
        self.waiting.out_ready.next =
            self.reuse.val() || (self.read_valid.q.val() && self.read_last.q.val());
        if self.waiting.out_ready.val() {
            self.filled_alike.d.next = self.reuse.val();
            self.kept.d.next = true;
            self.kept_place.d.next = self.next_place.val();
            self.kept_step.d.next = self.next_step.val();
            self.filled_window.d.next = self.next_window.val();
            self.filled_thin.d.next = 0.into();
            if !self.next_layout.val().get_bits::<8>(167).any() {
                self.filled_thin.d.next = self.next_layout.val().get_bits::<2>(165);
            }
        }
        for k in 0..4 {
            self.new_entries.parts[k].next =
                (self.lane_places.results.val().get_bits::<15>(k * 15)
                    + self.looked.q.val().get_bits::<7>(k * 15 + 8).get_bits::<15>(0))
                .get_bits::<27>(0)
                    | (self.lane_steps.results.val().get_bits::<8>(k * 8).get_bits::<27>(0) << 15)
                    | (self.looked.q.val().get_bits::<4>(k * 15).get_bits::<27>(0) << 23);
        }
        self.tables.write.next = self.looked_valid.q.val();
        self.tables.write_table.next = !self.table.q.val();
        self.tables.write_word.next = self.looked_word.q.val();
        self.tables.write_entries.next = self.new_entries.whole.val();
        if self.looked_valid.q.val() && self.looked_last.q.val() {
            self.filled.d.next = true;
        }
        if self.reuse.val() {
            self.filled.d.next = true;
            self.fill_done.d.next = true;
        }
    }
}
