//! Inputs of the completion block: words of the host, requests that are done, receipts.

use super::super::{Completion, CompletionEvent, CompletionState, WRITTEN};
use crate::context::CQ;
use drdma_emit::prelude::*;

impl Completion {
    /// Table writes of the host: addresses are kept, and words that enable or reset an entry become events.
    #[hdl_gen]
    pub(super) fn take_words(&mut self) {
        self.select.valid.next = self.cfg_valid.val();
        self.select.number.next = self.cfg_table.val();
        self.select.word.next = self.cfg_word.val();
        self.events.in_data.next = bit_cast::<WRITTEN, 12>(self.cfg_index.val());
        self.renews.next =
            (self.select.state.val() || self.select.enable.val()) && !self.select.every.val();
    }

    /// Requests that are done.
    #[hdl_gen]
    pub(super) fn take_done(&mut self) {
        self.retire.cfg_valid.next = self.cfg_valid.val();
        self.retire.cfg_table.next = self.cfg_table.val();
        self.retire.cfg_index.next = self.cfg_index.val();
        self.retire.cfg_word.next = self.cfg_word.val();
        self.retire.cfg_data.next = self.cfg_data.val();
        self.retire.open.next = false;
        self.retire.open_slot.next = self.act_slot.q.val();
        self.retire.open_queue.next = self.act_queue.q.val();
        self.retire.open_wr_id.next = self.act_wr_id.q.val();
        self.retire.open_position.next = self.act_position.q.val();
        self.retire.open_unsignaled.next = self.act_unsignaled.q.val();
        self.retire.done.next = false;
        self.retire.done_slot.next = self.act_slot.q.val();
        self.slot_free_valid.next = self.retire.slot_free_valid.val();
        self.retire.slot_free_ready.next = self.slot_free_ready.val();
        self.slot_free_slot.next = self.retire.slot_free_slot.val();
        self.write_valid.next = self.retire.write_valid.val();
        self.retire.write_ready.next = self.write_ready.val();
        self.write_addr.next = self.retire.write_addr.val();
        self.write_data.next = self.retire.write_data.val();
        self.busy.next = self.retire.busy.val();
        self.count_work_requests.next = self.retire.retired.val();
        self.retire.queue.next = self.queue.q.val();
        self.retire.slot.next = self.slot.q.val();
        self.retire.renew.next = false;
        self.retire.unpark.next = false;
        self.retire.restart.next = false;
        self.retire.restart_index.next = self.queue.q.val().get_bits::<CQ>(0);
        self.retire.clear.next = false;
        self.retire.clear_index.next = self.step.q.val();
    }

    /// Receipts: a restart of a completion queue has the rings to itself. A receipt that finds no room fails its
    /// queue pair, unless another queue pair fails in this cycle.
    #[hdl_gen]
    pub(super) fn take_receipt(&mut self) {
        self.receipt.join(&mut self.retire.receipt);
        self.restarts.next = (self.event.q.val() == CompletionEvent::Written)
            && (self.written.q.val() == 2)
            && ((self.state.q.val() == CompletionState::Look)
                || (self.state.q.val() == CompletionState::Act));
        self.retire.hold_receipts.next =
            self.restarts.val() || (self.state.q.val() == CompletionState::Clear);
        self.retire.overrun_ready.next = self.state.q.val() != CompletionState::Walk;
    }
}
