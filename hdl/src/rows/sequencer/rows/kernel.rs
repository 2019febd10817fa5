//! The logic of the rows, state by state. Its parts stand in files by what they do.

use super::{Rows, RowsState};
use crate::request::{DEST_COUNT, DEST_INDEX};
use drdma_emit::prelude::*;

impl Logic for Rows {
    #[hdl_gen]
    fn update(&mut self) {
        self.look_at_item();
        self.give();
        self.scan();

        match self.state.q.val() {
            RowsState::Idle => {}
            RowsState::Count => self.count(),
            RowsState::Pointers => self.give_pointers(),
            RowsState::Bits => self.give_bits(),
            RowsState::Close => self.close(),
            RowsState::Result => self.give_result(),
        }
        if self.fail.val() && !self.failed.q.val() {
            self.failed.d.next = true;
            self.bad_dest.d.next = bit_cast::<DEST_COUNT, DEST_INDEX>(self.fail_dest.val());
        }
        self.idle.next = self.state.q.val() == RowsState::Idle;
        self.has_failed.next = self.failed.q.val();
        if self.failing.val() {
            self.failed.d.next = true;
            if !self.failed.q.val() {
                self.bad_dest.d.next =
                    bit_cast::<DEST_COUNT, DEST_INDEX>(self.shared.q.val().index);
            }
        }

        self.go_on();
        self.take_item();

        if self.rst.val() {
            self.state.d.next = RowsState::Idle;
            self.chunk.d.next = false;
            self.beat_valid.d.next = false;
            self.place.d.next = 0.into();
            self.scanned_valid.d.next = false;
            self.wrong.d.next = 0.into();
            self.failed.d.next = false;
            self.out_valid.d.next = false;
        }
    }
}
