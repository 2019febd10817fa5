//! Beats of ids.

use super::super::Partitioner;
use drdma_emit::prelude::*;

impl Partitioner {
    /// Fills a beat with ids.
    #[hdl_gen]
    pub(super) fn fill_beat(&mut self) {
        if self.made.input.ready.val() {
            self.complete.d.next = false;
        }
        if self.leaves_pipeline.val() && self.made_tag.record.val().closes {
            self.purpose.d.next = self.made_tag.record.val().purpose;
            self.failed.d.next = self.made_tag.record.val().error
                || (self.begun_beat.q.val() && self.failed.q.val());
            self.begun_beat.d.next = true;
            self.at.d.next = self.at.q.val() + 1;
            if self.made_tag.record.val().wide {
                self.at.d.next = self.at.q.val() + 2;
            }
            for k in 0..4 {
                if self.made_tag.record.val().wide {
                    if self.at.q.val().get_bits::<2>(1) == k.to_bits() {
                        self.parts[k * 2].d.next = self.wide.whole.val().get_bits::<64>(0);
                        self.parts[k * 2 + 1].d.next = self.wide.whole.val().get_bits::<64>(64);
                    }
                } else if self.at.q.val().get_bits::<2>(1) == k.to_bits() {
                    if self.at.q.val().get_bit(0) {
                        self.parts[k * 2 + 1].d.next = self.narrow.whole.val();
                    } else {
                        self.parts[k * 2].d.next = self.narrow.whole.val();
                    }
                }
            }
            if !self.at.d.val().any() || self.made_tag.record.val().purpose.last {
                self.complete.d.next = true;
                self.begun_beat.d.next = false;
                self.at.d.next = 0.into();
            }
        }
        for k in 0..8 {
            self.joined.parts[k].next = self.parts[k].q.val();
        }
        self.made.input.valid.next = self.complete.q.val();
        self.made.input.data.next.data = self.joined.whole.val();
        self.made.input.data.next.error = self.failed.q.val();
        self.made.input.data.next.purpose = self.purpose.q.val();
    }

    /// Offers ids, or an answer that passes.
    #[hdl_gen]
    pub(super) fn offer_output(&mut self) {
        self.made.output.ready.next = self.output.ready.val();
        self.passes.next = !self.input.read.val().made
            && self.idle.val()
            && !self.complete.q.val()
            && !self.made.output.valid.val();
        self.input.ready.next = self.passes.val() && self.output.ready.val();
        if self.input.read.val().made {
            self.input.ready.next = self.values.input.ready.val() && self.may_begin.val();
        }
        self.output.valid.next =
            self.made.output.valid.val() || (self.input.valid.val() && self.passes.val());
        self.output.next = self.made.output.data.val();
        if !self.made.output.valid.val() {
            self.output.data.next = self.input.data.val();
            self.output.error.next = self.input.error.val();
            self.output.purpose.next = self.input.read.val().purpose;
            self.output.purpose.next.last =
                self.input.read.val().purpose.last && self.input.last.val();
        }
    }
}
