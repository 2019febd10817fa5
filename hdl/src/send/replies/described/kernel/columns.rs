//! Packets in dense columns.

use super::super::Described;
use drdma_emit::prelude::*;

impl Described {
    /// The walk gives columns to `runs`, which accepts all of a packet's columns once it has accepted the first one.
    /// With `again`, the last one withdraws them.
    #[hdl_gen]
    pub(super) fn plan_columns(&mut self) {
        self.walk.roomy.next = self.runs.target.ready.val();
        self.runs.target.valid.next =
            self.walk.column.val() && (self.walk.step.valid.val() || self.walk.again.val());
        self.runs.target.addr.next = self.walk.step.addr.val();
        self.runs.target.width.next = self.walk.step.bytes.val().get_bits::<7>(0);
        self.runs.target.last.next = self.walk.step.last.val();
        self.runs.target.dropped.next = self.walk.again.val();
        self.runs.target.ram.next = 0.into();
        self.runs.target.bytes.next = self.bytes.q.val();
        self.runs.target.column.next = self.walk.first.val();
        self.runs.target.offset.next = self.walk.offset.val();
        self.runs.target.rows.next = self.walk.rows.val();
        self.told.next = self.runs.target.valid.val()
            && self.runs.target.ready.val()
            && self.walk.step.last.val()
            && !self.walk.again.val();
    }

    /// The shape of a packet's rows. A packet is planned and cut at once: a run has no place of its own in a memory.
    #[hdl_gen]
    pub(super) fn shape_rows(&mut self) {
        self.plan.next = self.runs.planned.val();
        self.runs.planned.ready.next =
            self.shapes.input.ready.val() && self.spreads.input.ready.val();
        self.grain.next = 2.into();
        if self.runs.shape.val().width.get_bit(1) || self.runs.shape.val().start.get_bit(1) {
            self.grain.next = 1.into();
        }
        if self.runs.shape.val().width.get_bit(0) || self.runs.shape.val().start.get_bit(0) {
            self.grain.next = 0.into();
        }
        self.shapes.input.valid.next =
            self.runs.planned.valid.val() && self.spreads.input.ready.val();
        self.shapes.input.data.next = self.runs.shape.val();
        self.spreads.input.valid.next =
            self.runs.planned.valid.val() && self.shapes.input.ready.val();
        self.spreads.input.data.next.row = self.runs.shape.val().row;
        self.spreads.input.data.next.width = self.runs.shape.val().width;
        self.spreads.input.data.next.grain = self.grain.val();
        self.spreads.input.data.next.turned = self.runs.shape.val().columns.get_bits::<2>(0) == 0;
        self.spreads.input.data.next.bytes = self.plan.val().bytes;
        // The shapes keep the order of packets: the selection waits until those in columns before are asked for.
        self.selection.clear.next = !self.jobs.q.val().any();
        self.selection.shape.ready.next = self.spreads.input.ready.val();
        if self.selection.shape.valid.val() {
            self.spreads.input.valid.next = true;
            self.spreads.input.data.next = self.selection.shape.val();
        }
        self.shapes.output.join(&mut self.column_reads.shape);
        self.runs.run.join(&mut self.column_reads.run);
        self.runs.column.join(&mut self.column_reads.column);
        // That a run is taken is known late: its rows are free a cycle later.
        self.frees.d.next = self.column_reads.run.valid.val()
            && self.column_reads.run.ready.val()
            && self.column_reads.run.last.val();
        self.freed_rows.d.next = self.column_reads.run.rows.val();
        self.runs.freed.next = self.frees.q.val();
        self.runs.freed_rows.next = self.freed_rows.q.val();
    }
}
