//! How the parts of the block are connected.

mod beats;
mod columns;
mod fetches;
mod walk;

use super::{Described, PARTS_COUNT};
use drdma_emit::prelude::*;

impl Logic for Described {
    #[hdl_gen]
    fn update(&mut self) {
        self.connect_entries();
        self.ask_walk();
        self.plan_columns();
        self.shape_rows();
        self.choose_read();
        self.ask();
        self.hand_out_beats();
        self.offer_beat();
        self.unused.next = self.parts.count.val()
            | self.parts.free.val()
            | self.spreads.count.val()
            | self.spreads.free.val()
            | bit_cast::<PARTS_COUNT, 3>(self.shapes.count.val())
            | bit_cast::<PARTS_COUNT, 3>(self.shapes.free.val())
            | bit_cast::<PARTS_COUNT, 1>(
                (self.plan.val().rows.any()
                    || self.plan.val().column.any()
                    || self.plan.val().offset.any()
                    || self.plan.val().ends)
                    .into(),
            );
        if self.rst.val() {
            self.jobs.d.next = 0.into();
            self.frees.d.next = false;
        }
    }
}
