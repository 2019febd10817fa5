//! The logic of the addresser. Its parts stand in files by what they do.

use super::Addresser;
use drdma_emit::prelude::hdl_gen;
use drdma_emit::prelude::*;

impl Logic for Addresser {
    #[hdl_gen]
    fn update(&mut self) {
        self.take_lanes();
        self.lay_out();
        self.fill_table();
        self.take_beat();
        self.look_up();
        self.leave();

        if self.rst.val() {
            self.known.d.next = false;
            self.kept.d.next = false;
            self.making.d.next = false;
            self.found.d.next = false;
            self.fill_word.d.next = 0.into();
            self.fill_done.d.next = false;
            self.read_valid.d.next = false;
            self.looked_valid.d.next = false;
            self.filled.d.next = false;
            self.active.d.next = false;
            self.table.d.next = false;
            self.stages.d.next = 0.into();
        }
    }
}
