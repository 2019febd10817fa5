//! Parts of beats: how they are taken, and where their bytes go.

use super::super::{SPARE, Segmenter};
use crate::request::DEST_INDEX;
use crate::send::{PAGE, PAGE_PAIR, PAGE_ROW, PAGES};
use drdma_emit::prelude::*;

impl Segmenter {
    /// Accepts a part if there is room for all that it may need; the stages behind never stall.
    #[hdl_gen]
    pub(super) fn accept_part(&mut self) {
        self.all_filled.next = self.filled.q.val() == PAGES;
        self.go.d.next = self.all_filled.val()
            && (self.pool.count.val() >= SPARE)
            && (self.events.free.val() >= SPARE);
        self.payload_ready.next = self.go.q.val() && !self.draining.q.val();
        self.accept.next = self.payload_valid.val() && self.go.q.val() && !self.draining.q.val();
        self.part_dest.next = self.payload_dest.val().get_bits::<DEST_INDEX>(0);
    }

    /// Place in their page of the bytes of the part that is in the collector.
    #[hdl_gen]
    pub(super) fn place_part(&mut self) {
        self.mtu.next = self.mtus.read_data.val();
        self.total.next = self.fill.q.val() + bit_cast::<13, 7>(self.bytes.q.val());
        // The MTU is a power of two, at least 256, and exceeded by at most 64 bytes: no comparison is needed, which
        // would take longer.
        self.crosses.next =
            (self.total.val() & self.mtu.val()).any() && self.total.val().get_bits::<7>(0).any();
        self.opens.next = self.valid.q.val() && !self.open.q.val() && self.bytes.q.val().any();
        self.splits.next = self.valid.q.val() && self.crosses.val() && !self.split.q.val();
        self.pool.out_ready.next = self.opens.val() || self.splits.val();
        self.this_page.next = self.pool.out_data.val();
        if self.open.q.val() {
            self.this_page.next = self.page.q.val();
        }
        self.further_page.next = self.pool.out_data.val();
        if self.split.q.val() {
            self.further_page.next = self.split_page.q.val();
        }
        if self.valid.q.val() {
            self.split.d.next = self.crosses.val() && !self.part_end.q.val();
            self.split_page.d.next = self.further_page.val();
        }
    }

    /// Writes the part's bytes to the row of the first one and to the next row; behind the MTU, to the other page.
    #[hdl_gen]
    pub(super) fn write_part(&mut self) {
        self.pages.write_data.next = self.data.q.val();
        self.pages.write_mask.next = 0.into();
        if self.valid.q.val() {
            self.pages.write_mask.next = self.mask.q.val();
        }
        self.pages.write_offset.next = self.fill.q.val().get_bits::<6>(0);
        self.row.next = self.fill.q.val().get_bits::<7>(6);
        self.row_after.next = self.row.val() + 1;
        self.pages.write_low.next = (bit_cast::<PAGE_ROW, PAGE>(self.this_page.val()) << 6)
            | bit_cast::<PAGE_ROW, 6>(self.row.val().get_bits::<6>(0));
        self.pages.write_high.next = (bit_cast::<PAGE_PAIR, PAGE>(self.this_page.val()) << 5)
            | bit_cast::<PAGE_PAIR, 5>(self.row_after.val().get_bits::<5>(1));
        if self.row.val() == self.mtu.val().get_bits::<7>(6) {
            self.pages.write_low.next = bit_cast::<PAGE_ROW, PAGE>(self.further_page.val()) << 6;
        }
        if self.row_after.val() == self.mtu.val().get_bits::<7>(6) {
            self.pages.write_high.next = bit_cast::<PAGE_PAIR, PAGE>(self.further_page.val()) << 5;
        }
    }

    /// Looks up the destination of the next part.
    #[hdl_gen]
    pub(super) fn look_up_destination(&mut self) {
        self.mtus.write_lanes.next = 0.into();
        if self.dest_write_valid.val() {
            self.mtus.write_lanes.next = 1.into();
        }
        self.mtus.write_address.next = self.dest_write_dest.val();
        self.mtus.write_data.next = self.one.val() << self.dest_write_log_mtu.val();
        self.mtus.read_enable.next = self.accept.val();
        self.mtus.read_address.next = self.payload_dest.val();
        self.states.read_address[0].next = self.part_dest.val();
        self.open_of.read_address[0].next = self.part_dest.val();
        self.was_open.next = self.open_of.read_data[0].val().any();
        self.same.next = self.current.val()
            && (self.dest.q.val().get_bits::<DEST_INDEX>(0) == self.part_dest.val());
    }

    /// Takes the next part, with the state of its destination.
    #[hdl_gen]
    pub(super) fn take_part(&mut self) {
        if self.draining.q.val() {
            // The request's end waits in the collector until no message is open.
            if self.event_request_end.val() && self.events.in_ready.val() {
                self.valid.d.next = false;
                self.draining.d.next = false;
            }
        } else {
            self.valid.d.next = self.accept.val();
        }
        if self.accept.val() {
            self.draining.d.next =
                self.payload_request_end.val() && self.payload_status.val().any();
            self.data.d.next = self.payload_data.val();
            self.mask.d.next = self.payload_mask.val();
            self.part_end.d.next = self.payload_part_end.val();
            self.error.d.next = self.payload_error.val();
            self.dest.d.next = self.payload_dest.val();
            self.slot.d.next = self.payload_slot.val();
            self.bytes.d.next = self.payload_bytes.val();
            self.message_start.d.next = self.payload_message_start.val();
            self.message_end.d.next = self.payload_message_end.val();
            self.start_bytes.d.next = self.payload_message_bytes.val();
            self.request_end.d.next = self.payload_request_end.val();
            self.dest_end.d.next = self.payload_dest_end.val();
            self.status.d.next = self.payload_status.val();
            self.bad_dest.d.next = self.payload_bad_dest.val();
            if self.same.val() {
                self.open.d.next = self.next_open.val();
                self.page.d.next = self.next_page.val();
                self.fill.d.next = self.next_fill.val();
                self.message_bytes.d.next = self.next_message_bytes.val();
                if !self.next_open.val() {
                    self.fill.d.next = 0.into();
                }
            } else {
                self.open.d.next = self.was_open.val();
                self.page.d.next = self.state_out.record.val().page;
                self.fill.d.next = self.state_out.record.val().fill;
                self.message_bytes.d.next = self.state_out.record.val().message_bytes;
                if !self.was_open.val() {
                    self.fill.d.next = 0.into();
                }
            }
        }
    }
}
