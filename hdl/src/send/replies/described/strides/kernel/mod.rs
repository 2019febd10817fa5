//! The logic of the strides, stage by stage.

mod columns;
mod pieces;
mod rows;

use super::{Strides, StridesState};
use drdma_emit::prelude::*;

impl Logic for Strides {
    #[hdl_gen]
    fn update(&mut self) {
        self.look_at_shape();
        self.take_beat();
        self.move_pieces();

        self.begun.next = false;
        match self.state.q.val() {
            StridesState::Await => {
                self.index.d.next = 0.into();
                self.at.d.next = 0.into();
                self.nth.d.next = 0.into();
                self.bad.d.next = false;
                if self.shape.valid.val() && !self.same.val() {
                    self.of.d.next = self.shape.val();
                    self.state.d.next = StridesState::Prepare;
                } else if self.shape.valid.val() && self.strip.valid.val() && self.room.val() {
                    self.begun.next = true;
                    self.state.d.next = StridesState::Runs;
                }
            }
            StridesState::Prepare => self.prepare(),
            StridesState::Runs => {
                if self.packet.valid.val() {
                    self.state.d.next = StridesState::Await;
                }
            }
        }

        self.spread_bytes();
        self.place_pieces();

        if self.rst.val() {
            self.state.d.next = StridesState::Await;
            self.known.d.next = false;
            self.begun_strip.d.next = false;
            self.part.d.next = 0.into();
            self.out_valid.d.next = false;
        }
    }
}
