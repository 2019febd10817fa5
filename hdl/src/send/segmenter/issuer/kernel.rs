//! The logic of the issuer. Its parts stand in files by what they do.

use super::{Issuer, IssuerState};
use drdma_emit::prelude::*;

impl Logic for Issuer {
    #[hdl_gen]
    fn update(&mut self) {
        self.load_numbers();
        self.look_at_queue();
        self.look_at_destination();
        self.load();
        self.give();
        self.choose_operation();

        // The event has further items after this step.
        self.more.next = (self.todo_full.q.val()
            && (self.todo_last.q.val()
                || self.todo_dest_end.q.val()
                || self.todo_request_end.q.val()))
            || (self.todo_last.q.val()
                && (self.todo_dest_end.q.val() || self.todo_request_end.q.val()))
            || (self.todo_dest_end.q.val() && self.todo_request_end.q.val());

        // The status with which the request ends.
        self.final_status.next = self.held.q.val().status;
        self.final_dest.next = self.held.q.val().bad_dest;
        if !self.final_status.val().any() {
            self.final_status.next = self.fail_status.q.val();
            self.final_dest.next = self.fail_dest.q.val();
            if self.was_barred.q.val() {
                self.final_status.next = self.flush_error.val();
                self.final_dest.next = 0.into();
            }
        }

        self.change();
        self.release_valid.next = self.released.q.val();
        self.release_slot.next = self.released_slot.q.val();

        self.take_event();

        // The tables are addressed with the next event's queue pair.
        self.psns.ahead.next = self.qp.d.val();
        self.midways.ahead.next = self.qp.d.val();
        self.stamps.ahead[0].next = self.qp.d.val();
        self.error_next.next = self.qp.d.val();

        self.mark();
        self.put_out();

        if self.rst.val() {
            self.load.d.next = false;
            self.state.d.next = IssuerState::Waiting;
            self.begun.d.next = false;
            self.breaking.d.next = false;
            self.started.d.next = 0.into();
            self.inside_message.d.next = 0.into();
            self.flushed.d.next = 0.into();
            self.failed.d.next = false;
            self.fail_status.d.next = 0.into();
            self.fail_dest.d.next = 0.into();
            self.total.d.next = 0.into();
            self.released.d.next = false;
        }
    }
}
