//! Reads of columns: which bytes, and whether their keys allow them.

use super::super::OFFSET;
use super::finder::RUN;
use super::{BASE, STAGES, Selection, SelectionState};
use crate::regions::entries::GRANULE_INDEX;
use crate::regions::walk::{FIRST_ELEMENT, REACH, SHORT};
use drdma_emit::prelude::*;

impl Selection {
    /// The current column: bytes of it that the packet has in this run.
    #[hdl_gen]
    pub(super) fn cut_column(&mut self) {
        self.reach.enable.next = true;
        self.reach.a.next = self.rows.q.val();
        self.reach.b.next = self.handed.width.val();
        self.span.enable.next = true;
        self.span.a.next = self.rows.q.val();
        self.span.b.next = self.handed.row_bytes.val();
        self.unused_span.next = self.span.product.val();
        self.next_base.d.next =
            self.run.q.val().base + bit_cast::<BASE, 7>(self.handed.width.val());
        self.behind.next = self.before.q.val() + bit_cast::<SHORT, 7>(self.handed.width.val());
        self.heads.next = self.first.q.val()
            && !self.headed.q.val()
            && self.handed.inside.val().any()
            && (self.index.q.val() == bit_cast::<5, 4>(self.handed.element.val()));
        self.skips.next = self.first.q.val()
            && ((self.index.q.val() < bit_cast::<5, 4>(self.handed.element.val()))
                || ((self.index.q.val() == bit_cast::<5, 4>(self.handed.element.val()))
                    && self.handed.inside.val().any()));
        self.is_last.next = self.index.q.val() + 1 == self.handed.columns.val();
        self.into_end.next = self.rest.q.val() - self.before.q.val();
        self.tail.next = 0.into();
        if self.finishes.q.val() && (self.rest.q.val() > self.before.q.val()) {
            self.tail.next = self.into_end.val();
            if self.into_end.val() > bit_cast::<SHORT, 7>(self.handed.width.val()) {
                self.tail.next = bit_cast::<SHORT, 7>(self.handed.width.val());
            }
        }
        self.head.next = bit_cast::<13, 7>(self.handed.width.val())
            - bit_cast::<13, 6>(self.handed.inside.val());
        if self.handed.bytes.val() < self.head.val() {
            self.head.next = self.handed.bytes.val();
        }
        // The bytes of a column are summed up a cycle after it was asked for: the product is still that of its run.
        self.tail_held.d.next = self.tail.val();
        self.skips_held.d.next = self.skips.val();
        self.whole.next = bit_cast::<18, 17>(self.reach.product.val())
            + bit_cast::<18, SHORT>(self.tail_held.q.val());
        self.bytes.next = self.whole.val();
        if self.skips_held.q.val() {
            // Less than a value, if the packet begins and ends in this value of the row.
            self.bytes.next = 0.into();
            if self.whole.val() > bit_cast::<18, 7>(self.handed.width.val()) {
                self.bytes.next = self.whole.val() - bit_cast::<18, 7>(self.handed.width.val());
            }
        }
        self.unused_bytes.next = self.bytes.val();
        self.granule.next = FIRST_ELEMENT.into();
    }

    /// A read is looked up in its key.
    #[hdl_gen]
    pub(super) fn look_up(&mut self) {
        self.unused_data.next = self.data.val().get_bits::<32>(64);
        self.valid[0].d.next = false;
        self.reads[0].d.next.side = false;
        self.reads[0].d.next.last = false;
        self.reads[0].d.next.failed = false;
        self.reads[0].d.next.outside = false;
        self.reads[0].d.next.offset =
            self.origin.q.val() + bit_cast::<OFFSET, SHORT>(self.before.q.val());
        self.reads[0].d.next.bytes = self.head.val();
        self.sums.d.next = false;
        self.reads[0].d.next.addr =
            self.data.val().get_bits::<64>(0) + bit_cast::<64, BASE>(self.run.q.val().base);
        self.key[0].d.next = self.data.val().get_bits::<32>(96);
        if self.skips.val() {
            self.reads[0].d.next.offset = self.origin.q.val()
                + bit_cast::<OFFSET, SHORT>(self.before.q.val())
                + bit_cast::<OFFSET, SHORT>(self.handed.row_bytes.val());
            self.reads[0].d.next.addr =
                self.data.val().get_bits::<64>(0) + bit_cast::<64, BASE>(self.next_base.q.val());
        }
        if self.heads.val() {
            self.reads[0].d.next.offset = 0.into();
            self.reads[0].d.next.addr = self.data.val().get_bits::<64>(0)
                + bit_cast::<64, BASE>(self.run.q.val().base)
                + bit_cast::<64, 6>(self.handed.inside.val());
        }

        self.back.valid.next = false;
        self.back.failed.next = self.dead.q.val();
        self.back.row.next = self.run.q.val().row;
        self.back.element.next = self.end_element.q.val();
        self.back.inside.next = self.end_inside.q.val();
        self.busy.next = false;
        for k in 0..STAGES {
            if self.valid[k].q.val() {
                self.busy.next = true;
            }
        }
    }

    /// Takes the key's answer. No read follows one that has failed.
    #[hdl_gen]
    pub(super) fn judge(&mut self) {
        self.checked.next = self.valid[STAGES - 1].q.val() && !self.dead.q.val();
        self.column_misses.next = !self.reads[STAGES - 1].q.val().side
            && self.reads[STAGES - 1].q.val().bytes.any()
            && !self.probed.val();
        self.lost.next = self.valid[STAGES - 1].q.val()
            && self.reads[STAGES - 1].q.val().side
            && (self.dead.q.val() || self.missed.q.val() || !self.probed.val());
        self.leaving.input.valid.next = self.checked.val()
            && (self.reads[STAGES - 1].q.val().bytes.any() || self.reads[STAGES - 1].q.val().last)
            && !self.lost.val();
        self.leaving.input.data.next = self.reads[STAGES - 1].q.val();
        if self.column_misses.val() {
            self.leaving.input.data.next.bytes = 0.into();
            self.leaving.input.data.next.last = true;
            self.leaving.input.data.next.failed = true;
        }
        if self.checked.val() && (self.column_misses.val() || self.reads[STAGES - 1].q.val().failed)
        {
            self.dead.d.next = true;
        }
        if self.lost.val() {
            self.missed.d.next = true;
        }
        self.leaving.output.join(&mut self.read);
        self.holds.next = self.leaving.count.val().any();
        self.unused.next = bit_cast::<6, 1>(self.leaving.input.ready.val().into());
    }

    /// Begins a read for each column.
    #[hdl_gen]
    pub(super) fn ask_columns(&mut self) {
        self.granule.next = bit_cast::<GRANULE_INDEX, 5>(self.index.q.val()) + FIRST_ELEMENT;
        if self.room.val() {
            self.valid[0].d.next = true;
            self.headed.d.next = self.headed.q.val() || self.heads.val();
            self.sums.d.next = !self.heads.val();
            if !self.heads.val() {
                self.reads[0].d.next.last = self.finishes.q.val() && self.is_last.val();
                self.granule.next =
                    bit_cast::<GRANULE_INDEX, 5>(self.index.q.val()) + FIRST_ELEMENT + 1;
                self.index.d.next = self.index.q.val() + 1;
                self.before.d.next = self.behind.val();
                if (self.rest.q.val() >= self.before.q.val())
                    && (self.rest.q.val() < self.behind.val())
                {
                    self.end_element.d.next = self.index.q.val().get_bits::<4>(0);
                    self.end_inside.d.next = self.into_end.val().get_bits::<6>(0);
                }
                if self.is_last.val() {
                    self.first.d.next = false;
                    self.left.d.next =
                        self.left.q.val() - bit_cast::<REACH, RUN>(self.rows.q.val());
                    self.origin.d.next =
                        self.origin.q.val() + self.span.product.val().get_bits::<OFFSET>(0);
                    self.run.d.next.row =
                        self.run.q.val().row + bit_cast::<33, RUN>(self.rows.q.val());
                    self.run.d.next.rows = self.run.q.val().rows - self.rows.q.val();
                    self.run.d.next.base =
                        self.run.q.val().base + bit_cast::<BASE, 17>(self.reach.product.val());
                    self.state.d.next = SelectionState::Take;
                    if self.finishes.q.val() {
                        self.state.d.next = SelectionState::Drain;
                    }
                }
            }
        }
    }

    /// Waits for the keys.
    #[hdl_gen]
    pub(super) fn drain(&mut self) {
        if !self.busy.val() {
            self.back.valid.next = true;
            self.state.d.next = SelectionState::Wait;
        }
    }
}
