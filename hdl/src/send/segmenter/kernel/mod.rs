//! The logic of the collector.

mod events;
mod messages;
mod parts;

use super::Segmenter;
use crate::request::DEST_INDEX;
use crate::send::PAGE;
use drdma_emit::prelude::*;

impl Logic for Segmenter {
    #[hdl_gen]
    fn update(&mut self) {
        self.accept_part();
        self.place_part();
        self.write_part();
        self.follow_message();
        self.find_packets();
        self.drop_open_messages();
        self.store_event();
        self.look_up_destination();
        self.take_part();
        self.connect_issuer();

        // Pages: after a reset all are free, and no message is open; one page a cycle can come back.
        self.pages.read_enable.next = self.page_read_enable.val();
        self.pages.read_address.next = self.page_read_address.val();
        self.page_read_data.next = self.pages.read_data.val();
        self.is_filled.d.next = self.all_filled.val();
        self.issuer.drop_ready.next = self.is_filled.q.val() && !self.page_free_valid.val();
        self.pool.in_valid.next = self.page_free_valid.val() || self.issuer.drop_valid.val();
        self.pool.in_data.next = self.issuer.drop_page.val();
        if self.page_free_valid.val() {
            self.pool.in_data.next = self.page_free_page.val();
        }
        if !self.all_filled.val() {
            self.filled.d.next = self.filled.q.val() + 1;
            self.pool.in_valid.next = true;
            self.pool.in_data.next = self.filled.q.val().get_bits::<PAGE>(0);
            self.open_of.write_enable.next = true;
            self.open_of.write_address.next = self.filled.q.val().get_bits::<DEST_INDEX>(0);
            self.open_of.write_data.next = 0.into();
        }

        if self.rst.val() {
            self.filled.d.next = 0.into();
            self.is_filled.d.next = false;
            self.go.d.next = false;
            self.valid.d.next = false;
            self.open_count.d.next = 0.into();
            self.left_dest.d.next = 0.into();
            self.split.d.next = false;
            self.draining.d.next = false;
        }
    }
}
