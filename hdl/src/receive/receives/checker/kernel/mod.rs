//! The logic of the checker, in the order of its stages.

mod keys;
mod pieces;
mod verdict;

use super::Checker;
use drdma_emit::prelude::*;

impl Logic for Checker {
    #[hdl_gen]
    fn update(&mut self) {
        self.write_keys();
        self.look_at_piece();
        self.take_piece();
        self.look_up_key();
        self.give_spans();
        self.find_ends();
        self.judge();
        self.answer_entry();

        if self.rst.val() {
            self.working.d.next = false;
            self.fresh.d.next = false;
            self.keyed.d.next = false;
            self.ended.d.next = false;
            self.done.d.next = false;
        }
    }
}
