//! Beats that the reads bring.

use super::super::Described;
use drdma_emit::prelude::*;

impl Described {
    /// The beats of each read are packed or gathered, in their order.
    #[hdl_gen]
    pub(super) fn hand_out_beats(&mut self) {
        self.is_column.next = self.parts.output.valid.val() && self.parts.output.data.val().column;
        self.is_part.next = self.parts.output.valid.val()
            && !self.parts.output.data.val().column
            && (self.parts.output.data.val().side || !self.gatherer.holds.val());
        self.spreads.output.join(&mut self.gatherer.shape);
        self.gatherer.strip.valid.next = self.is_column.val();
        self.gatherer.strip.bytes.next = self.parts.output.data.val().bytes;
        self.gatherer.strip.offset.next = self.parts.output.data.val().offset;
        self.gatherer.strip.last.next = self.parts.output.data.val().last;
        self.gatherer.strip.failed.next = self.parts.output.data.val().failed;
        self.gatherer.strip.outside.next = self.parts.output.data.val().outside;
        self.pack.part.valid.next = self.is_part.val();
        self.pack.part.bytes.next = self.parts.output.data.val().bytes;
        self.pack.part.plain.next = self.parts.output.data.val().plain;
        self.pack.part.side.next = self.parts.output.data.val().side;
        self.pack.part.last.next = self.parts.output.data.val().last;
        self.pack.part.failed.next = self.parts.output.data.val().failed;
        self.pack.part.outside.next = self.parts.output.data.val().outside;
        self.parts.output.ready.next = self.is_part.val() && self.pack.part.ready.val();
        self.pack.beat.next = self.beat.val();
        self.pack.beat.valid.next = self.beat.valid.val() && self.is_part.val();
        self.gatherer.beat.next = self.beat.val();
        self.gatherer.beat.valid.next = self.beat.valid.val() && self.is_column.val();
        self.beat.ready.next = self.is_part.val() && self.pack.beat.ready.val();
        if self.is_column.val() {
            self.parts.output.ready.next = self.gatherer.strip.ready.val();
            self.beat.ready.next = self.gatherer.beat.ready.val();
        }
        self.walk.side.valid.next =
            self.pack.side.valid.val() && !self.parts.output.data.val().ahead;
        self.walk.side.next = self.pack.side.val();
        self.selection.line.valid.next =
            self.pack.side.valid.val() && self.parts.output.data.val().ahead;
        self.selection.line.next = self.pack.side.val();
    }

    /// If both have a beat, the packed one was asked for first.
    #[hdl_gen]
    pub(super) fn offer_beat(&mut self) {
        self.leaving.input.valid.next = self.pack.out.valid.val() || self.gatherer.out.valid.val();
        self.leaving.input.data.next = self.gatherer.out.val();
        self.gatherer.out.ready.next = self.leaving.input.ready.val() && !self.pack.out.valid.val();
        self.pack.out.ready.next = self.leaving.input.ready.val();
        if self.pack.out.valid.val() {
            self.leaving.input.data.next = self.pack.out.val();
        }
        self.leaving.output.join(&mut self.out);
    }
}
