//! The logic of the runs, state by state. Its parts stand in files by what they do.

use super::{CutState, Runs, RunsState, STAGES};
use drdma_emit::prelude::*;

impl Logic for Runs {
    #[hdl_gen]
    fn update(&mut self) {
        self.take_columns();
        self.divide_step();
        self.advance();
        self.begin();

        match self.state.q.val() {
            RunsState::Load => self.load(),
            RunsState::Divide => self.divide(),
            RunsState::Compare => self.compare(),
            RunsState::Clip => self.clip(),
            RunsState::Tell => {
                if self.hands.val() {
                    self.index.d.next = 0.into();
                    self.row.d.next = 0.into();
                    self.pieces.d.next = 0.into();
                    self.set.d.next = !self.set.q.val();
                    self.state.d.next = RunsState::Load;
                }
            }
        }

        self.cut_columns();
        self.share_banks();

        if self.rst.val() {
            self.state.d.next = RunsState::Load;
            self.cuts.d.next = CutState::Idle;
            self.set.d.next = false;
            self.index.d.next = 0.into();
            self.row.d.next = 0.into();
            self.pieces.d.next = 0.into();
            self.place.d.next = 0.into();
            self.used.d.next = 0.into();
            self.run_valid.d.next = false;
            self.column_valid.d.next = false;
            self.cut.d.next = false;
            self.closes.d.next = false;
            for k in 0..STAGES {
                self.coming[k].d.next = false;
            }
        }
    }
}
