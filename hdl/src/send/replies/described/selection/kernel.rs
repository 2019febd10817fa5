//! The logic of the selection, state by state. Its parts stand in files by what they do.

use super::{LINE, STAGES, Selection, SelectionState};
use drdma_emit::prelude::*;

impl Logic for Selection {
    #[hdl_gen]
    fn update(&mut self) {
        self.measure();
        self.divide_step();
        self.ask_lines();
        self.cut_column();
        self.look_up();
        match self.state.q.val() {
            SelectionState::Wait => self.take_packet(),
            SelectionState::Tell => self.tell(),
            SelectionState::Divide => self.divide(),
            SelectionState::Take => self.take_run(),
            SelectionState::Scale => {
                self.index.d.next = 0.into();
                self.before.d.next = 0.into();
                self.state.d.next = SelectionState::Columns;
            }
            SelectionState::Columns => self.ask_columns(),
            SelectionState::Fail => {
                if self.room.val() {
                    self.valid[0].d.next = true;
                    self.reads[0].d.next.bytes = 0.into();
                    self.reads[0].d.next.last = true;
                    self.reads[0].d.next.failed = true;
                    self.reads[0].d.next.outside = !self.finder.bad.val() && !self.missed.q.val();
                    self.state.d.next = SelectionState::Drain;
                }
            }
            SelectionState::Drain => self.drain(),
        }
        if self.asks.val() {
            self.asked_row.d.next = self.asked_row.q.val() + LINE;
            self.valid[0].d.next = true;
            self.reads[0].d.next.side = true;
            self.reads[0].d.next.bytes = self.line_bytes.val();
            self.reads[0].d.next.addr =
                self.handed.bitmap.val() + bit_cast::<64, 33>(self.asked_row.q.val() >> 3);
            self.key[0].d.next = self.handed.lkey.val();
        }
        self.probe.addr.next = self.reads[1].q.val().addr;
        self.probe.bytes.next = self.reads[1].q.val().bytes;
        self.key[1].d.next = self.key[0].q.val();
        self.probe.key.next = self.key[1].q.val();
        for k in 1..STAGES {
            self.valid[k].d.next = self.valid[k - 1].q.val();
            self.reads[k].d.next = self.reads[k - 1].q.val();
        }
        if self.sums.q.val() {
            self.reads[1].d.next.bytes = self.bytes.val().get_bits::<13>(0);
        }

        self.judge();
        self.count_lines();
        if self.rst.val() {
            self.state.d.next = SelectionState::Wait;
            self.run.d.next.rows = 0.into();
            self.under_way.d.next = 0.into();
            self.stale.d.next = 0.into();
            self.dead.d.next = false;
            for k in 0..STAGES {
                self.valid[k].d.next = false;
            }
        }
    }
}
