//! The logic of the batches. Its parts stand in files by what they do.

use super::Batches;
use drdma_emit::prelude::*;

impl Logic for Batches {
    #[hdl_gen]
    fn update(&mut self) {
        self.other.next =
            self.read.first.val() && (self.read.queue.val() != self.last_queue.q.val());
        self.reads.input.valid.next = self.read.valid.val();
        self.reads.input.data.next.read = self.read.val();
        self.reads.input.data.next.other = self.other.val();
        self.read.ready.next = self.reads.input.ready.val();
        self.few.next = !self.reads.count.val().get_bit(5)
            && !(self.reads.count.val().get_bit(4) && self.reads.count.val().get_bit(3));
        if self.read.valid.val() && self.reads.input.ready.val() {
            self.last_queue.d.next = self.read.queue.val();
        }

        self.offer();
        self.end_turn();
        self.find_parts();
        self.count_others();
        self.drop_cut();

        if self.rst.val() {
            self.busy.d.next = false;
            self.others.d.next = 0.into();
            self.wholes.d.next = 0.into();
            self.own_reads.d.next = 0.into();
            self.heard_reads.d.next = 0.into();
        }
    }
}
