//! Records of chains.

use super::Finder;
use drdma_emit::prelude::*;

impl<const RECORDS: usize> Finder<RECORDS> {
    /// Connects the chaser and the trail.
    #[hdl_gen]
    pub(super) fn follow_chains(&mut self) {
        self.chases.next = self.is_chain.val() && self.ahead.val() && !self.replays.q.val();
        self.row_free.next = !self.row_valid.q.val() || self.take.val();
        self.chaser.clear.next = self.clear.val();
        self.chaser.halt.next = self.halt.val();
        self.chaser.mark.next = self.kinds.val().period_or_end;
        self.chaser.limit.next = self.kinds.val().limit;
        self.chaser.link.next = self.kinds.val().link;
        self.chaser.reach.next = self.reach.val();
        self.chaser.skip.next = self.skip.val();
        self.chaser.request.next = self.request.val();
        self.chaser.low.next = self.bounds.val().low;
        self.chaser.high.next = self.bounds.val().high;
        self.chaser.never.next = self.bounds.val().never;
        self.chaser.head.valid.next = self.next_valid.q.val() && self.on.val() && self.chases.val();
        self.chaser.head.pointer.next = self.next_word.q.val();
        self.chaser.linked.valid.next = self.linked.valid.val();
        self.chaser.linked.next = self.linked.val();
        self.chaser.read.join(&mut self.link_read);
        self.chaser.record.join(&mut self.record);
        self.chaser.found.ready.next = self.chases.val() && self.row_free.val();
        self.trail.clear.next = self.clear.val();
        self.trail.set.next = self.set.val();
        self.trail.opens.next = self.open.val()
            && self.is_chain.val()
            && self.ahead.val()
            && self.keeps.val()
            && !self.trail.kept.val();
        self.trail.put.next = self.chaser.found.valid.val()
            && !self.chaser.found.bad.val()
            && self.chases.val()
            && self.row_free.val();
        self.trail.pointer.next = self.chaser.found.pointer.val();
        self.trail.at.next = self.block.q.val();
        self.record_wanted.next = self.replays.q.val()
            && self.on.val()
            && self.trail.more.val()
            && ((self.ahead.val() && (!self.record_valid.q.val() || self.row_free.val()))
                || (!self.row_valid.q.val() && !self.record_valid.q.val()));
        self.trail.read.next = self.record_wanted.val();
    }

    /// Offers the next record, from the chaser or from the trail.
    #[hdl_gen]
    pub(super) fn give_record(&mut self) {
        if self.chases.val() && self.row_free.val() && self.chaser.found.valid.val() {
            self.row_valid.d.next = true;
            self.row_bad.d.next = self.chaser.found.bad.val();
            self.row_pointer.d.next = self.chaser.found.pointer.val();
        }
        if self.record_valid.q.val() && self.row_free.val() {
            self.record_valid.d.next = false;
            self.row_valid.d.next = true;
            self.row_bad.d.next = false;
            self.row_pointer.d.next = self.trail.record.val();
        }
        if self.record_wanted.val() {
            self.record_valid.d.next = true;
            self.block.d.next = self.block.q.val() + 1;
        }
    }
}
