//! Headers and windows of chunks.

use super::super::Condenser;
use drdma_emit::prelude::*;

impl Condenser {
    /// What a header says of the blocks of its chunk.
    #[hdl_gen]
    pub(super) fn measure_header(&mut self) {
        self.taken.next = self.header_valid.val()
            && self.windows.out_valid.val()
            && self.windows.out_data.val().get_bit(1)
            && (!self.windows.out_data.val().get_bit(0) || self.window_ready.val());
        self.measures.merge_threshold.next = self.merge_threshold.val();
        self.measures.header_valid.next = self.header_valid.val();
        self.measures.header_len.next = self.header_len.val();
        self.measures.header_step.next = self.header_step.val();
        self.measures.header_rows.next = self.header_rows.val();
        self.measures.header_taken.next = self.taken.val();
        self.places.most.next = self.measures.most.val();
        self.places.enough.next = self.measures.enough.val();
        self.places.never.next = self.measures.never.val();
    }

    /// Windows, and the ends of headers.
    #[hdl_gen]
    pub(super) fn open_windows(&mut self) {
        self.windows.in_valid.next = false;
        self.windows.in_data.next = (bit_cast::<28, 26>(self.places.out_block.val()) << 2) | 1;
        self.used.next = false;
        if self.passes.val() && self.now_start.q.val() {
            self.windows.in_valid.next = true;
            self.windows.in_data.next = 3.into();
            self.used.next = true;
        }
        if self.placed.val() && self.places.out_opens.val() {
            self.windows.in_valid.next = true;
        }
        if self.ends.val() {
            self.windows.in_valid.next = true;
            self.windows.in_data.next = 2.into();
            self.used.next = true;
        }
        self.header_opens.next = self.windows.out_data.val().get_bit(0);
        self.header_last.next = self.windows.out_data.val().get_bit(1);
        self.window_base.next = self.windows.out_data.val().get_bits::<26>(2);
        self.window_valid.next =
            self.windows.out_valid.val() && self.header_opens.val() && self.header_valid.val();
        self.header_ready.next =
            self.windows.out_valid.val() && (!self.header_opens.val() || self.window_ready.val());
        self.windows.out_ready.next = self.header_valid.val() && self.header_ready.val();
        if self.used.val() && !self.taken.val() {
            self.ahead.d.next = self.ahead.q.val() + 1;
        }
        if self.taken.val() && !self.used.val() {
            self.ahead.d.next = self.ahead.q.val() - 1;
        }
    }
}
