//! The logic of the registers, state by state. Its parts stand in files by what they do.

mod reads;
mod writes;

use super::{APPEND_BELLS, APPENDS, Control, ControlState, ENTRY_TABLES, KEYS};
use crate::context::QUEUE;
use drdma_emit::prelude::*;

impl Logic for Control {
    #[hdl_gen]
    fn update(&mut self) {
        self.clear.next = self.rst.val() || self.settings.soft_reset.val();

        self.take_access();

        // After a reset, the tables are cleared before the host can write to them.
        self.sweep.rst.next = self.clear.val();

        // A write finds its table.
        self.place.next = self.axil.write_addr.val().get_bits::<20>(0);
        for k in 0..KEYS + 1 {
            self.hits[k].next = (self.axil.write_addr.val().get_bits::<4>(20)
                == self.sections[k].val())
                && !(self.place.val() & self.outside[k].val()).any();
        }
        self.hits_entry.next = false;
        for k in 0..ENTRY_TABLES {
            if self.hits[k].val() {
                self.hits_entry.next = true;
            }
        }
        if self.hits[APPENDS].val() || self.hits[APPEND_BELLS].val() || self.hits[KEYS].val() {
            self.hits_entry.next = true;
        }
        self.execute.next = self.axil.write_valid.val()
            && (self.state.q.val() == ControlState::Ready)
            && !(self.sweep.busy.val() && self.hits_entry.val());
        // The host does not wait for a peer's word: the word is sent when the host writes nothing.
        self.withdraws.next = self.invalidate.valid.val()
            && (self.state.q.val() == ControlState::Ready)
            && !self.axil.write_valid.val()
            && !self.sweep.busy.val()
            && !self.pause.q.val().any();
        self.invalidate.ready.next = self.withdraws.val();
        self.pause.d.next = 0.into();
        if self.pause.q.val().any() {
            self.pause.d.next = self.pause.q.val() - 1;
        }
        if self.withdraws.val() || self.execute.val() || self.sweep.busy.val() {
            self.pause.d.next = 3.into();
        }
        self.bell.next = self.place.val().get_bits::<QUEUE>(2);
        self.bell_next.next = self.bell.val();
        self.looks.d.next = true;
        self.doorbell.valid.next = false;
        self.doorbell.queue.next = self.bell.val();
        self.doorbell.position.next = self.axil.write_data.val();
        self.receive_doorbell.valid.next = false;
        self.receive_doorbell.queue.next = self.bell.val();
        self.receive_doorbell.position.next = self.axil.write_data.val();
        self.axil.write_done.next = false;
        match self.state.q.val() {
            ControlState::Ready => self.take(),
            ControlState::Settle => {
                // The register that was written may be the one that resets the card.
                self.state.d.next = ControlState::Done;
                if self.settings.soft_reset.val() {
                    self.state.d.next = ControlState::Restart;
                }
            }
            ControlState::Ring => self.ring(),
            ControlState::RingReceive => {
                self.receive_doorbell.valid.next = true;
                if self.receive_doorbell.ready.val() {
                    self.state.d.next = ControlState::Done;
                }
            }
            ControlState::Withdraw => {
                if !self.pause.q.val().any() {
                    self.state.d.next = ControlState::Ready;
                }
            }
            ControlState::Restart => {
                // The answer waits until the reset is over, so that it cannot undo the next write.
                if !self.settings.soft_reset.val() {
                    self.state.d.next = ControlState::Done;
                }
            }
            ControlState::Done => {
                self.axil.write_done.next = true;
                self.state.d.next = ControlState::Ready;
            }
        }

        self.give_words();
        self.count();
        self.look_everywhere();
        if self.rst.val() {
            self.state.d.next = ControlState::Ready;
            self.looked.d.next = false;
        }
    }
}
