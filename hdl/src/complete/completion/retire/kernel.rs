//! The logic of the retirement, state by state. Its parts stand in files by what they do.

use super::{Retire, RetireState};
use crate::context::QUEUE;
use drdma_emit::prelude::*;

impl Logic for Retire {
    #[hdl_gen]
    fn update(&mut self) {
        self.open();

        // Requests that are done.
        self.is_done.d.next = self.done.val();
        self.is_done_slot.d.next = self.done_slot.val();
        self.announced.in_valid.next = self.is_done.q.val();
        self.announced.in_data.next = self.is_done_slot.q.val();
        self.names.read_address[0].next = self.next_slot.q.val();
        self.marks.read_address[0].next = self.next_slot.q.val();
        self.result_slot.next = self.next_slot.q.val();

        self.look_at_queue();
        self.make_entry();
        self.announce();
        match self.state.q.val() {
            RetireState::Idle => {
                self.over.next = true;
            }
            RetireState::Find => {
                self.state.d.next = RetireState::Settle;
                if self.result_of.q.val().get_bit(49) {
                    // The request's queue has forgotten it.
                    self.frees.next = true;
                    self.over.next = true;
                }
            }
            RetireState::Settle => {
                self.state.d.next = RetireState::Write;
                if !self.is_oldest.q.val() {
                    self.state.d.next = RetireState::Settle;
                    if !self.follows.q.val() {
                        self.parking.write_enable.next = true;
                        self.over.next = true;
                    }
                }
            }
            RetireState::Write => self.write(),
            RetireState::Leave => {
                self.leaves.next = !self.open.val();
            }
            RetireState::Receipt => {
                self.state.d.next = RetireState::ReceiptSettle;
            }
            RetireState::ReceiptSettle => {
                self.state.d.next = RetireState::ReceiptWrite;
            }
            RetireState::ReceiptWrite => self.write_receipt(),
        }
        self.write_lists();
        self.keep_receipt();
        self.free_slot();
        self.forget();

        // The queue of the request that is current in the next cycle.
        self.rings.next_queue.next = self.name.d.val().get_bits::<QUEUE>(64);
        self.queues[1].ahead.next = self.name.d.val().get_bits::<QUEUE>(64);
        self.silent.ahead.next = self.name.d.val().get_bits::<QUEUE>(64);
        for k in 0..3 {
            self.queues[k].write_enable.next = self.record_write.val();
            self.queues[k].write_address.next = self.record_queue.val();
            self.queues[k].write_data.next = self.record_data.val();
        }

        if self.rst.val() {
            self.state.d.next = RetireState::Idle;
            self.open_count.d.next = 0.into();
            self.is_done.d.next = false;
            self.next.d.next = false;
            self.follows.d.next = false;
            self.waits.d.next = false;
            self.is_receipt.d.next = false;
        }
    }
}
