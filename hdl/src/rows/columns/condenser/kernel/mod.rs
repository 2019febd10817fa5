//! The logic of the condenser.

mod current;
mod kept;
mod windows;

use super::Condenser;
use drdma_emit::prelude::*;

impl Logic for Condenser {
    #[hdl_gen]
    fn update(&mut self) {
        self.measure_header();
        self.keep_or_leave();
        self.look_at_mask();
        self.take_mask();
        self.emit_block();
        self.fill_mask();
        self.offer_mask();
        self.open_windows();

        self.idle.next = !self.now_valid.q.val() && !self.full.q.val();

        if self.rst.val() {
            self.ahead.d.next = 0.into();
            self.now_valid.d.next = false;
            self.closing.d.next = false;
            self.full.d.next = false;
            self.opened.d.next = false;
        }
    }
}
