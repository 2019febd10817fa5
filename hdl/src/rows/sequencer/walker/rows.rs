//! Rows of a region: the place of the walk, and the lines that are read for it.

use super::{Walker, WalkerState};
use crate::request::{BITMAPPED, POINTER_MAPPED};
use drdma_emit::prelude::*;

impl Walker {
    /// The current region.
    #[hdl_gen]
    pub(super) fn look_at_region(&mut self) {
        self.infos.read_address[0].next = self.region.q.val();
        self.infos.write_address.next = self.item.val().first.get_bits::<4>(0);
        self.info_new.next.kind = self.item.val().kind;
        self.info_new.next.addr = self.item.val().low;
        self.info_new.next.count = self.item.val().rows;
        self.info_new.next.row_bytes = self.item.val().high.get_bits::<36>(0);
        self.info_in.record.next = self.info_new.val();
        self.infos.write_data.next = self.info_in.bits.val();
        self.infos.write_enable.next = false;
        self.info.bits.next = self.infos.read_data[0].val();
        self.contexts.read_address[0].next = self.region.q.val();
        self.contexts.write_address.next = self.item.val().first.get_bits::<4>(0);
        self.shared_in.record.next = self.item_context.val();
        self.contexts.write_data.next = self.shared_in.bits.val();
        self.contexts.write_enable.next = false;
        self.shared.bits.next = self.contexts.read_data[0].val();
        self.last_of_unit.next = self.region.q.val() == self.last_region.q.val();
    }

    /// How far it has come, and its line. Whether the next region has begun is found out a cycle ahead.
    #[hdl_gen]
    pub(super) fn look_at_line(&mut self) {
        self.region_after.next = self.region.q.val() + 1;
        if self.last_of_unit.val() {
            self.region_after.next = 0.into();
        }
        self.fresh_after.next = (self.last_region.q.val() != 0)
            && self.fresh.q.val().get_bit(self.region_after.val().index());
        self.places.read_address[0].next = self.region.q.val();
        self.places.write_address.next = self.region.q.val();
        self.places.write_enable.next = false;
        self.place_out.bits.next = self.places.read_data[0].val();
        self.place.next = self.place_out.record.val();
        if self.fresh_here.q.val() {
            self.place.next.row = 0.into();
            self.place.next.lane = 0.into();
            self.place.next.bits = 0.into();
            self.place.next.word = 0.into();
        }
        self.place_new.next = self.place.val();
        self.lines.read_address[0].next = self.region.q.val();
        self.lines.write_address.next = self.region.q.val();
        self.lines.write_data.next = self.resp_data.val();
        self.lines.write_enable.next = false;
        self.line.next = self.lines.read_data[0].val();
        self.in_line.next = self.place.val().row.get_bits::<3>(0);
        if self.info.record.val().kind == BITMAPPED {
            self.in_line.next = self.place.val().word.get_bits::<3>(0);
        }
        self.word.next = self.line.val().get_bits::<64>(self.in_line.val().index() * 64);
        // The bitmap may end within its last word.
        self.last_word.next = bit_cast::<27, 32>(self.info.record.val().count >> 6);
        self.last_mask.next = !(self.ones.val() << self.info.record.val().count.get_bits::<6>(0));
        self.masked.next = self.word.val();
        if self.place.val().word == self.last_word.val() {
            self.masked.next = self.word.val() & self.last_mask.val();
        }
        if self.place.val().word > self.last_word.val() {
            self.masked.next = 0.into();
        }
        self.first_one.bits.next = self.place.val().bits;

        // The line to be read.
        self.stretch_valid.next = false;
        self.stretch_addr.next = self.info.record.val().addr;
        self.stretch_bitmap.next = self.info.record.val().kind == BITMAPPED;
        self.stretch_first.next = self.ask_first.q.val();
        self.stretch_rows.next = self.ask_rows.q.val();
        self.line_first.next = self.place.val().row;
        self.line_rows.next = 8.into();
        if self.info.record.val().kind == BITMAPPED {
            self.line_first.next = bit_cast::<32, 27>(self.place.val().word) << 6;
            self.line_rows.next = 512.into();
        }
        self.wants.next = false;
        self.fails.d.next = false;
        self.fail.next = self.fails.q.val();
        self.fail_dest.next = self.shared.record.val().index;
    }

    /// The row, and what follows it.
    #[hdl_gen]
    pub(super) fn make_row(&mut self) {
        self.advance.next = !self.out_valid.q.val() || self.row_ready.val();
        self.found.next = false;
        self.next_row.next.row = self.place.val().row;
        self.bounds.write_enable.next = false;
        self.bounds.write_address.next = self.item.val().first.get_bits::<4>(0);
        self.bounds.write_data.next = (bit_cast::<129, 64>(self.item.val().high) << 64)
            | bit_cast::<129, 64>(self.item.val().low);
        if self.item.val().never {
            self.bounds.write_data.next = self.never.val();
        }
        self.bounds.read_address[0].next = self.region.q.val();
        self.outside.next = self.bounds.read_data[0].val().get_bit(128)
            || (self.word.val() < self.bounds.read_data[0].val().get_bits::<64>(0))
            || (self.word.val() > self.bounds.read_data[0].val().get_bits::<64>(64));
        self.next_row.next.pointer = 0.into();
        if self.info.record.val().kind == POINTER_MAPPED {
            self.next_row.next.pointer = self.word.val();
        }
        self.next_row.next.lane = self.place.val().lane;
        self.next_row.next.chunk_start = self.chunk.q.val();
        self.next_row.next.empty = false;
        self.next_row.next.request_end = false;
        self.next_row.next.last =
            self.ends.q.val() && self.last_of_unit.val() && (self.left.q.val() == 1);
        self.next_row.next.status = 0.into();
        self.next_row.next.bad_dest = 0.into();
        self.next_row.next.column = false;
        self.next_row.next.rows = 0.into();
        self.next_row.next.unit_first = self.region.q.val() == 0;
        self.next_row.next.unit_last = self.last_of_unit.val();
        self.next_row.next.counted = self.announce.q.val();
        self.next_row.next.message_bytes = self.sum.q.val().get_bits::<32>(0);

        self.item_ready.next = false;
        self.busy.next = (self.state.q.val() != WalkerState::Idle)
            || self.out_valid.q.val()
            || self.fails.q.val();
        self.done.next = false;
        self.too_long.next = self.over.q.val();
    }

    /// Waits for the line.
    #[hdl_gen]
    pub(super) fn take_line(&mut self) {
        self.wants.next = true;
        if self.resp_valid.val() {
            self.lines.write_enable.next = true;
            self.line_ready.d.next = true;
            self.state.d.next = WalkerState::Give;
            if self.resp_error.val() {
                self.fails.d.next = true;
                self.state.d.next = WalkerState::Done;
            }
        }
    }
}
