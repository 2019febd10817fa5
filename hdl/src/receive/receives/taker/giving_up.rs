//! Receives that are given up.

use super::super::record::{GiveUpKind, MarkKind};
use super::{Taker, TakerState};
use drdma_emit::prelude::*;

impl Taker {
    /// Gives the block's granules to the checker.
    #[hdl_gen]
    pub(super) fn walk(&mut self) {
        self.piece.valid.next = self.looked.q.val();
        self.kind.d.next = MarkKind::Halt;
        if self.looked.q.val() && self.piece.ready.val() {
            self.block.d.next.data = self.block.q.val().data >> 128;
            self.starts.d.next = false;
            self.granules_left.d.next = self.granules_left.q.val() - 1;
            self.granules_here.d.next = self.granules_here.q.val() - 1;
            if self.walk_bad.q.val() {
                self.state.d.next = TakerState::Mark;
            } else if self.walk_ends.val() {
                self.state.d.next = TakerState::Ready;
            } else if self.granules_here.q.val() == 1 {
                self.state.d.next = TakerState::Ask;
            }
        }
    }

    /// Changes a queue's flags.
    #[hdl_gen]
    pub(super) fn mark(&mut self) {
        self.mark.valid.next = true;
        if self.mark.ready.val() {
            self.state.d.next = TakerState::Ready;
            // The queue is flushed: its receives are taken next.
            if self.kind.q.val() == MarkKind::Flush {
                self.state.d.next = TakerState::GiveUp;
            }
        }
    }

    /// Learns whether the queue pair had a receive in use.
    #[hdl_gen]
    pub(super) fn take_used(&mut self) {
        self.kind.d.next = MarkKind::Calm;
        if self.given_up.valid.val() {
            self.flush.d.next = true;
            self.state.d.next = TakerState::Ready;
            if self.owned.q.val() {
                if self.event.q.val().kind == GiveUpKind::Reset {
                    if !self.events.is_broken.val() {
                        self.state.d.next = TakerState::Mark;
                    }
                } else if !self.given_up.used.val() && !self.flush.q.val() {
                    self.state.d.next = TakerState::Ask;
                }
            }
        }
    }

    /// Waits until the receive that was taken instead is in use.
    #[hdl_gen]
    pub(super) fn settle(&mut self) {
        // The receive that was taken to be flushed is in use now.
        if self.settled.val() {
            self.state.d.next = TakerState::Ready;
            if self.found.val() {
                self.state.d.next = TakerState::GiveUp;
            }
        }
    }
}
