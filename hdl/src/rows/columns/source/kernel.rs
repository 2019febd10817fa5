//! The logic of the source. Its parts stand in files by what they do.

use super::Source;
use drdma_emit::prelude::*;

impl Logic for Source {
    #[hdl_gen]
    fn update(&mut self) {
        self.step();
        self.take_answers();
        self.make_masks();
        if self.rst.val() {
            self.busy.d.next = false;
            self.raw_valid.d.next = false;
            self.has_failed.d.next = false;
        }
    }
}
