//! The logic of the partitioner, in the direction of the data.

mod groups;
mod input;
mod output;
mod pipeline;

use super::Partitioner;
use drdma_emit::prelude::*;

impl Logic for Partitioner {
    #[hdl_gen]
    fn update(&mut self) {
        self.take_function();
        self.take_answer();

        self.values.output.join(&mut self.cut.input);

        self.take_group();
        self.find_partition();
        self.advance();
        self.make_ids();
        self.fill_beat();
        self.offer_output();

        if self.rst.val() {
            self.has_next.d.next = false;
            self.begun.d.next = false;
            self.has_group.d.next = false;
            self.started.d.next = false;
            self.hashed.d.next = 0.into();
            self.inside.d.next = 0.into();
            self.valid.d.next = 0.into();
            self.at.d.next = 0.into();
            self.complete.d.next = false;
            self.begun_beat.d.next = false;
        }
    }
}
