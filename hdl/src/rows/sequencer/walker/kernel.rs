//! The logic of the walker, state by state. Its parts stand in files by what they do.

use super::{Walker, WalkerState};
use crate::request::POINTER_MAPPED;
use drdma_emit::prelude::hdl_gen;
use drdma_emit::prelude::*;

impl Logic for Walker {
    #[hdl_gen]
    fn update(&mut self) {
        self.unused.next = self.item.val();

        self.look_at_region();
        self.look_at_line();
        self.measure();
        self.make_row();
        match self.state.q.val() {
            WalkerState::Idle => self.take_item(),
            WalkerState::Dry => self.measure_row(),
            WalkerState::DryEnd => self.end_measurement(),
            WalkerState::Give => self.give(),
            WalkerState::Miss => {
                self.ask_first.d.next = self.line_first.val();
                self.ask_rows.d.next = self.info.record.val().count - self.line_first.val();
                self.state.d.next = WalkerState::Limit;
            }
            WalkerState::Limit => self.judge(),
            WalkerState::Ask => {
                self.stretch_valid.next = true;
                if self.stretch_ready.val() {
                    self.state.d.next = WalkerState::Answer;
                }
            }
            WalkerState::Answer => self.take_line(),
            WalkerState::Done => self.finish(),
        }
        self.place_in.record.next = self.place_new.val();
        self.places.write_data.next = self.place_in.bits.val();

        if self.advance.val() {
            self.out_valid.d.next = self.found.val();
            self.out_outside.d.next =
                (self.info.record.val().kind == POINTER_MAPPED) && self.outside.val();
            self.out_row.d.next = self.next_row.val();
            self.out_context.d.next = self.shared.record.val();
        }
        if self.out_valid.q.val() && self.out_outside.q.val() {
            // The pointer has changed since it was checked.
            self.out_valid.d.next = false;
            self.fails.d.next = true;
            if self.state.q.val() != WalkerState::Done {
                self.state.d.next = WalkerState::Done;
            }
        }
        self.row_waits.next = self.out_valid.q.val();
        self.row_valid.next = self.out_valid.q.val() && !self.out_outside.q.val();
        self.row.next = self.out_row.q.val();
        self.row_context.next = self.out_context.q.val();

        if self.rst.val() {
            self.state.d.next = WalkerState::Idle;
            self.adds.d.next = false;
            self.fails.d.next = false;
            self.out_valid.d.next = false;
        }
    }
}
