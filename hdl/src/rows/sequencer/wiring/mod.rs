//! How the blocks of the sequencer are wired, in the order of the data.

mod reads;
mod requests;
mod rows;

use super::Sequencer;
use drdma_emit::prelude::*;

impl Logic for Sequencer {
    #[hdl_gen]
    fn update(&mut self) {
        self.wire_tables();
        self.wire_kinds();
        // All items that were planned before have left, and so have all answers for them.
        self.end_planned.next = self.plan.finished.val();
        self.end_left.next = self.tokens.out_valid.val()
            && self.token.ready.val()
            && self.tokens_out.record.val().request_end;
        if self.end_planned.val() && !self.end_left.val() {
            self.ends.d.next = self.ends.q.val() + 1;
        } else if !self.end_planned.val() && self.end_left.val() {
            self.ends.d.next = self.ends.q.val() - 1;
        }
        self.plan.drained.next = !self.ends.q.val().any()
            && self.route.quiet.val()
            && !self.fetch.busy.val()
            && !self.keys.busy.val();
        if self.rst.val() {
            self.ends.d.next = 0.into();
        }

        self.wire_plan();
        self.wire_reads();
        self.wire_items();
        self.wire_keys();
        self.wire_columns();
        self.wire_messages();
        self.wire_beats();
        self.wire_tokens();
    }
}
