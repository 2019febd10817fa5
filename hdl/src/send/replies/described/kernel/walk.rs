//! What the walk of regions gets.

use super::super::Described;
use drdma_emit::prelude::*;

impl Described {
    /// Entries of regions go to the walk, or to the selection while the walk hands over to it.
    #[hdl_gen]
    pub(super) fn connect_entries(&mut self) {
        self.cfg.join(&mut self.entries.cfg);
        self.word.join(&mut self.entries.word);
        self.entries.region.next = self.walk.region.val();
        self.entries.granule.next = self.walk.granule.val();
        if self.walk.hands.val() {
            self.entries.granule.next = self.selection.granule.val();
        }
        self.selection.data.next = self.entries.data.val();
        self.selection.hands.next = self.walk.hands.val();
        self.selection.handed.next = self.walk.handed.val();
        self.walk.back.valid.next = self.selection.back.valid.val();
        self.walk.back.next = self.selection.back.val();
        self.walk.probe.next = self.selection.probe.val();
        self.selection.probed.next = self.walk.probed.val();
        self.walk.data.next = self.entries.data.val();
        self.walk.valid.next = self.entries.valid.val();
        self.cfg.join(&mut self.walk.cfg);
        self.walk.forget.next = self.word.valid.val();
    }

    /// READs are walked one after the other, for no queue pair. There are no receives here.
    #[hdl_gen]
    pub(super) fn ask_walk(&mut self) {
        self.walk.ask.valid.next = self.read.valid.val();
        self.walk.ask.addr.next = self.read.addr.val();
        self.walk.ask.bytes.next = self.read.bytes.val();
        self.walk.ask.plain.next = !self.read.described.val();
        self.walk.ask.writes.next = false;
        self.walk.ask.columns.next = true;
        if self.read.valid.val() && self.walk.ask.ready.val() {
            self.bytes.d.next = self.read.bytes.val();
        }
        self.walk.ask.receive.next = false;
        self.walk.ask.qp.next = 0.into();
        self.walk.ask.region.next = self.read.region.val();
        self.walk.ask.pd.next = self.read.pd.val();
        self.walk.ask.first.next = self.read.first.val();
        self.walk.ask.skip.next = 0.into();
        self.read.ready.next = self.walk.ask.ready.val();
        self.walk.kind.next = 0.into();
        self.walk.is_final.next = false;
        self.unused_receive.next = self.walk.receive.val();
        self.unused_qp.next = self.walk.qp.val() | self.walk.next_qp.val();
        self.walk.resume.next = self.position.q.val();
        if self.walk.ended.valid.val() {
            self.position.d.next = self.walk.ended.val();
        }
    }
}
