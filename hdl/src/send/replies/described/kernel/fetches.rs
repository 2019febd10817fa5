//! Reads of host memory.

use super::super::Described;
use drdma_emit::prelude::*;

impl Described {
    /// A step of the walk or a column becomes a read, or needs none.
    #[hdl_gen]
    pub(super) fn choose_read(&mut self) {
        self.selects.next = self.selection.holds.val();
        self.by_columns.next = self.jobs.q.val().any() && !self.selects.val();
        self.steps.next = self.walk.step.valid.val()
            && !self.walk.column.val()
            && !self.jobs.q.val().any()
            && !self.selects.val();
        self.reads.next = self.steps.val() && !self.walk.step.failed.val();
        self.fetch.addr.next = self.walk.step.addr.val();
        self.fetch.bytes.next = self.walk.step.bytes.val();
        self.parts.input.data.next.column = self.by_columns.val();
        self.parts.input.data.next.offset = self.column_reads.read.offset.val();
        self.parts.input.data.next.bytes = self.walk.step.bytes.val();
        self.parts.input.data.next.plain = self.walk.step.plain.val();
        self.parts.input.data.next.side = self.walk.step.side.val();
        self.parts.input.data.next.ahead = false;
        self.parts.input.data.next.last = self.walk.step.last.val();
        self.parts.input.data.next.failed = self.walk.step.failed.val();
        self.parts.input.data.next.outside = self.walk.step.outside.val();
        if self.by_columns.val() {
            self.reads.next =
                self.column_reads.read.valid.val() && self.column_reads.read.bytes.val().any();
            self.fetch.addr.next = self.column_reads.read.addr.val();
            self.fetch.bytes.next = self.column_reads.read.bytes.val();
            self.parts.input.data.next.bytes = self.column_reads.read.bytes.val();
            self.parts.input.data.next.last = self.column_reads.read.last.val();
            self.parts.input.data.next.plain = false;
            self.parts.input.data.next.side = false;
            self.parts.input.data.next.failed = false;
            self.parts.input.data.next.outside = false;
        }
        if self.selects.val() {
            self.reads.next =
                self.selection.read.valid.val() && self.selection.read.bytes.val().any();
            self.fetch.addr.next = self.selection.read.addr.val();
            self.fetch.bytes.next = self.selection.read.bytes.val();
            self.parts.input.data.next.column = !self.selection.read.side.val();
            self.parts.input.data.next.offset = self.selection.read.offset.val();
            self.parts.input.data.next.bytes = self.selection.read.bytes.val();
            self.parts.input.data.next.plain = false;
            self.parts.input.data.next.side = self.selection.read.side.val();
            self.parts.input.data.next.ahead = true;
            self.parts.input.data.next.last = self.selection.read.last.val();
            self.parts.input.data.next.failed = self.selection.read.failed.val();
            self.parts.input.data.next.outside = self.selection.read.outside.val();
        }
    }

    /// Asks for the read, and counts the packets in columns.
    #[hdl_gen]
    pub(super) fn ask(&mut self) {
        self.fetch.valid.next = self.reads.val() && self.parts.input.ready.val();
        self.parts.input.valid.next = (self.steps.val()
            || (self.selects.val() && self.selection.read.valid.val())
            || (self.by_columns.val() && self.column_reads.read.valid.val()))
            && (!self.reads.val() || self.fetch.ready.val());
        // These do not depend on the walk, whose step is known late.
        self.column_reads.read.ready.next = self.by_columns.val()
            && self.parts.input.ready.val()
            && (!self.column_reads.read.bytes.val().any() || self.fetch.ready.val());
        self.selection.read.ready.next = self.selects.val()
            && self.parts.input.ready.val()
            && (!self.selection.read.bytes.val().any() || self.fetch.ready.val());
        self.asked.next = self.column_reads.read.valid.val()
            && self.column_reads.read.ready.val()
            && self.column_reads.read.last.val();
        // The walk uses this ready in the same cycle: it is one expression, so that it has no glitch.
        self.walk.step.ready.next = (self.walk.column.val() && self.runs.target.ready.val())
            || (!self.walk.column.val()
                && self.parts.input.ready.val()
                && !self.jobs.q.val().any()
                && !self.selects.val()
                && (self.walk.step.failed.val() || self.fetch.ready.val()));
        if self.told.val() && !self.asked.val() {
            self.jobs.d.next = self.jobs.q.val() + 1;
        }
        if self.asked.val() && !self.told.val() {
            self.jobs.d.next = self.jobs.q.val() - 1;
        }
    }
}
