//! States of destinations' messages.

use super::super::Segmenter;
use crate::request::DEST_INDEX;
use drdma_emit::prelude::*;

impl Segmenter {
    /// The state of the destination after the part.
    #[hdl_gen]
    pub(super) fn follow_message(&mut self) {
        self.next_open.next = self.open.q.val() || self.opens.val();
        self.next_page.next = self.this_page.val();
        self.next_fill.next = self.fill.q.val();
        self.next_message_bytes.next = self.message_bytes.q.val();
        if self.message_start.q.val() {
            self.next_message_bytes.next = self.start_bytes.q.val();
        }
        if self.part_end.q.val() {
            self.next_fill.next = self.total.val();
            if self.crosses.val() {
                self.next_page.next = self.further_page.val();
                self.next_fill.next = bit_cast::<13, 7>(self.total.val().get_bits::<7>(0));
            }
            if self.message_end.q.val() {
                self.next_open.next = false;
            }
        }
        self.current.next = self.valid.q.val() && !self.request_end.q.val();
        self.states.write_enable.next = self.current.val();
        self.states.write_address.next = self.dest.q.val().get_bits::<DEST_INDEX>(0);
        self.next_state.next.page = self.next_page.val();
        self.next_state.next.fill = self.next_fill.val();
        self.next_state.next.message_bytes = self.next_message_bytes.val();
        self.state_in.record.next = self.next_state.val();
        self.states.write_data.next = self.state_in.bits.val();
        self.state_out.bits.next = self.states.read_data[0].val();
        self.open_of.write_enable.next = false;
        self.open_of.write_address.next = self.dest.q.val().get_bits::<DEST_INDEX>(0);
        self.open_of.write_data.next = bit_cast::<1, 1>(self.next_open.val().into());
        if self.current.val() {
            self.open_of.write_enable.next = true;
            if self.next_open.val() && !self.open.q.val() {
                self.open_count.d.next = self.open_count.q.val() + 1;
            }
            if !self.next_open.val() && self.open.q.val() {
                self.open_count.d.next = self.open_count.q.val() - 1;
            }
        }
    }

    /// Before a request with a status ends, walks all destinations, and drops their open messages, until no message is
    /// open.
    #[hdl_gen]
    pub(super) fn drop_open_messages(&mut self) {
        self.open_pages.write_enable.next = self.current.val();
        self.open_pages.write_address.next = self.dest.q.val().get_bits::<DEST_INDEX>(0);
        self.open_pages.write_data.next = self.next_page.val();
        self.open_pages.read_address[0].next = self.left_dest.q.val();
        self.open_of.read_address[1].next = self.left_dest.q.val();
        if self.draining.q.val() && self.event_request_end.val() && self.open_count.q.val().any() {
            self.event_dest_end.next = false;
            self.event_request_end.next = false;
            self.drop.next = self.open_of.read_data[1].val().any();
            self.last_valid.next = self.drop.val();
            self.last_page.next = self.open_pages.read_data[0].val();
            if !self.drop.val() || self.events.in_ready.val() {
                self.left_dest.d.next = self.left_dest.q.val() + 1;
            }
            if self.drop.val() && self.events.in_ready.val() {
                self.open_of.write_enable.next = true;
                self.open_of.write_address.next = self.left_dest.q.val();
                self.open_of.write_data.next = 0.into();
                self.open_count.d.next = self.open_count.q.val() - 1;
            }
        }
    }
}
