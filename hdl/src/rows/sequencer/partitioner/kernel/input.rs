//! Functions and answers that come.

use super::super::Partitioner;
use drdma_emit::prelude::*;

impl Partitioner {
    /// Takes the next function, while the one before is at work.
    #[hdl_gen]
    pub(super) fn take_function(&mut self) {
        self.function.join(&mut self.functions.input);
        self.functions.output.ready.next = !self.has_next.q.val();
        self.division.start.next = self.functions.output.valid.val() && !self.has_next.q.val();
        self.division.told.next = self.coming.q.val();
        if self.division.start.val() {
            self.has_next.d.next = true;
            self.coming.d.next = self.functions.output.data.val();
        }
    }

    /// Takes answers: those of keys, and those that pass when no ids are under way.
    #[hdl_gen]
    pub(super) fn take_answer(&mut self) {
        self.idle.next = !self.inside.q.val().any()
            && !self.has_group.q.val()
            && !self.cut.output.valid.val()
            && !self.values.busy.val();
        self.begins.next = self.input.read.val().begins && !self.begun.q.val();
        self.may_begin.next = !self.begins.val()
            || (self.idle.val() && self.has_next.q.val() && self.division.done.val());
        self.values.input.valid.next =
            self.input.valid.val() && self.input.read.val().made && self.may_begin.val();
        self.values.input.data.next = self.input.data.val();
        self.values.input.error.next = self.input.error.val();
        self.values.input.read.next = self.input.read.val();
        self.swaps.next =
            self.values.input.valid.val() && self.values.input.ready.val() && self.begins.val();
        if self.values.input.valid.val() && self.values.input.ready.val() {
            self.begun.d.next = self.input.read.val().begins && !self.input.last.val();
        }
        if self.swaps.val() {
            self.current.d.next = self.coming.q.val();
            self.reciprocals.d.next = self.division.found.val();
            self.has_next.d.next = false;
        }
    }
}
