//! The logic of the headers. Its parts stand in files by their stages.

use super::Headers;
use drdma_emit::prelude::*;

impl Logic for Headers {
    #[hdl_gen]
    fn update(&mut self) {
        self.take_words();

        // The addresses that requests name.
        self.address_in.record.next = self.address_write.val();
        self.addresses.write_lanes.next = 0.into();
        if self.address_write.valid.val() {
            self.addresses.write_lanes.next = 1.into();
        }
        self.addresses.write_address.next = self.address_write.slot.val();
        self.addresses.write_data.next = self.address_in.bits.val();

        self.take_item();
        self.look_at_stamp();
        self.end_request();
        self.measure();
        self.fill();
        self.sum();
        self.fold();
        self.leave();

        if self.rst.val() {
            self.a_valid.d.next = false;
            self.cut.d.next = false;
            self.b_valid.d.next = false;
            self.c_valid.d.next = false;
            self.d_valid.d.next = false;
            self.e_valid.d.next = false;
            self.f_valid.d.next = false;
        }
    }
}
