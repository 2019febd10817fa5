//! The logic of the list of pieces.

mod beats;
mod table;

use super::{Pieces, TableState};
use drdma_emit::prelude::*;

impl Logic for Pieces {
    #[hdl_gen]
    fn update(&mut self) {
        self.look_at_column();
        self.write_pieces();
        self.keep_column();
        match self.state.q.val() {
            TableState::Load => self.take_column(),
            TableState::Count => {
                self.index.d.next = 0.into();
                self.times.d.next = 1.into();
                self.needed.d.next = 16.into();
                self.state.d.next = TableState::Extend;
            }
            TableState::Extend => self.extend(),
            TableState::Ready => {}
        }
        self.count_whole_rows();
        self.stretch.valid.next = self.announces.q.val();
        self.stretch.ram.next = self.job.q.val().ram;
        self.stretch.bytes.next = self.job.q.val().bytes;
        if self.announces.q.val() && self.stretch.ready.val() {
            self.announces.d.next = false;
        }

        self.begin();
        self.read_entries();
        self.turn_entries();
        self.place_pieces();
        self.offer_beat();
        self.change_job();

        if self.rst.val() {
            self.state.d.next = TableState::Load;
            self.index.d.next = 0.into();
            self.times.d.next = 0.into();
            self.at.d.next = 0.into();
            self.x.d.next = 0.into();
            self.announces.d.next = false;
            self.running.d.next = false;
            self.read.d.next = false;
            self.out_valid.d.next = false;
        }
    }
}
