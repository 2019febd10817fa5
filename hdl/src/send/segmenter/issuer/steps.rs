//! Steps: one item a cycle, and what it changes.

use super::{Issuer, IssuerState};
use crate::request::DEST_INDEX;
use drdma_emit::prelude::*;

impl Issuer {
    /// Loading: takes the fields of the destination, and the state of its queue pair.
    #[hdl_gen]
    pub(super) fn load(&mut self) {
        self.dest.next = self.held.q.val().dest.get_bits::<DEST_INDEX>(0);
        self.index.next = self.about.val().index;
        self.reliable.next = self.about.val().transport == self.rc.val();
        self.write.next = (self.about.val().opcode == self.write_opcode.val())
            || (self.about.val().opcode == self.write_imm_opcode.val());
        self.flush.next = false;
        // A message must go on with its next part, and no other part may start behind it.
        self.astray.next = !self.started.q.val().get_bit(self.dest.val().index())
            && (self.midways.read_data.val().any() != self.resumes.val());
        self.gone.next = self.stamps.stamp[0].val() != self.about.val().stamp;
        self.was_gone.d.next = self.gone.val();
        self.addresses.read_address[0].next = self.dest.val();
        // The request ends because its destination failed before any of its packets was sent.
        self.refused.next = self.held.q.val().dest_end
            && self.held.q.val().request_end
            && self.held.q.val().status.any();
        // A queue pair whose entry was written since is not put into the error state.
        self.breaking.d.next = (self.state.q.val() == IssuerState::Loading)
            && (self.held.q.val().error || self.refused.val())
            && !self.gone.val();
        self.breaking_qp.d.next = self.qp.q.val();
        self.set_qp_error_valid.next = self.breaking.q.val() && !self.was_barred.q.val();
        self.set_qp_error_index.next = self.breaking_qp.q.val();
        if self.state.q.val() == IssuerState::Loading {
            self.state.d.next = IssuerState::Giving;
            self.begun.d.next = true;
            self.was_barred.d.next = self.barred.val();
            self.todo_full.d.next = self.held.q.val().full;
            self.todo_last.d.next = self.held.q.val().last;
            self.todo_dest_end.d.next = self.held.q.val().dest_end
                && !self.refused.val()
                && self.reliable.val()
                && !self.about.val().more;
            self.todo_request_end.d.next = self.held.q.val().request_end;
            self.next_psn.d.next = self.psns.read_data.val();
            self.takes.d.next = 1.into();
            self.takes_less_one.d.next = 0.into();
            if self.asks.val() {
                self.takes.d.next = self.asked.read_data.val().get_bits::<24>(32);
                self.takes_less_one.d.next = self.asked.read_data.val().get_bits::<24>(32) - 1;
            }
            self.has_sent.d.next = self.started.q.val().get_bit(self.dest.val().index());
            self.within.d.next = self.inside_message.q.val().get_bit(self.dest.val().index());
            if self.started.q.val().get_bit(self.dest.val().index()) {
                self.address.d.next = self.addresses.read_data[0].val();
            } else {
                self.address.d.next = self.about.val().remote_addr;
                self.within.d.next = self.resumes.val();
            }
            // The packet is of a queue pair that is in the error state, whose entry was written since, or that stands
            // elsewhere.
            self.flush.next = (self.held.q.val().full || self.held.q.val().last)
                && !self.held.q.val().drop
                && (self.qp_error.val() || self.gone.val() || self.astray.val());
            self.dropping.d.next = self.failed.q.val()
                || self.held.q.val().drop
                || self.held.q.val().error
                || self.flush.val()
                || self.flushed.q.val().get_bit(self.dest.val().index());
            if self.flush.val() {
                self.flushed.d.next =
                    self.flushed.q.val().replace_bit(self.dest.val().index(), true);
            }
            if self.held.q.val().error {
                self.failed.d.next = true;
            }
            // A request's status is that of its first failure.
            if !self.fail_status.q.val().any() {
                if self.held.q.val().error {
                    self.fail_status.d.next = self.protection_error.val();
                    self.fail_dest.d.next = self.index.val();
                } else if self.flush.val() {
                    self.fail_status.d.next = self.flush_error.val();
                    self.fail_dest.d.next = self.index.val();
                }
            }
        }
    }

    /// Giving: one item a cycle; the page of a full packet comes before that of the last one.
    #[hdl_gen]
    pub(super) fn give(&mut self) {
        self.full.next = self.todo_full.q.val();
        if self.full.val() {
            self.page.next = self.held.q.val().full_page;
            self.bytes.next = self.held.q.val().full_bytes;
        } else {
            self.page.next = self.held.q.val().last_page;
            self.bytes.next = self.held.q.val().last_bytes;
        }
        if self.about.val().empty {
            self.bytes.next = 0.into();
        }
        self.marker.next = !self.todo_full.q.val() && !self.todo_last.q.val();
        self.drops.next = self.dropping.q.val() || self.was_barred.q.val();
        self.sends.next = !self.marker.val() && !self.drops.val();
        // An item that does not go to the output needs no room there.
        self.gives.next = self.sends.val()
            || (self.marker.val()
                && ((self.todo_dest_end.q.val()
                    && self.reliable.val()
                    && self.has_sent.q.val()
                    && !self.drops.val())
                    || (!self.todo_dest_end.q.val() && self.todo_request_end.q.val())));
        self.drop_page.next = self.page.val();
        self.step.next = (self.state.q.val() == IssuerState::Giving)
            && !self.load.q.val()
            && !self.wipe.q.val()
            && (!self.gives.val() || self.items.in_ready.val())
            && (self.marker.val() || !self.drops.val() || self.drop_ready.val());
        self.drop_valid.next = self.step.val() && !self.marker.val() && self.drops.val();
        self.pushed.next = self.step.val() && self.gives.val();
    }

    /// Changes the state as the current step requires.
    #[hdl_gen]
    pub(super) fn change(&mut self) {
        self.released.d.next = false;
        self.released_slot.d.next = self.held.q.val().slot;
        self.queues.fail.next = false;
        self.addresses.write_enable.next = self.step.val() && !self.marker.val();
        self.addresses.write_address.next = self.dest.val();
        self.addresses.write_data.next =
            self.address.q.val() + bit_cast::<64, 13>(self.bytes.val());
        // A sequence number that the host has loaded since is not counted on by this request.
        self.psns.write_enable.next =
            self.load.q.val() || (self.step.val() && self.sends.val() && !self.was_gone.q.val());
        if self.load.q.val() {
            self.psns.write_address.next = self.load_qp.q.val();
            self.psns.write_data.next = self.start_psns.read_data.val();
        } else {
            self.psns.write_address.next = self.qp.q.val();
            self.psns.write_data.next = self.next_psn.q.val() + self.takes.q.val();
        }
        // The queue pair's message goes on behind the packet.
        self.midways.write_enable.next = self.wipe.q.val()
            || (self.step.val()
                && self.sends.val()
                && !self.full.val()
                && !self.was_gone.q.val()
                && self.whole.val().any());
        self.midways.write_address.next = self.qp.q.val();
        self.midways.write_data.next = bit_cast::<1, 1>(self.pauses.val().into());
        if self.wipe.q.val() {
            self.midways.write_address.next = self.wipe_qp.q.val();
            self.midways.write_data.next = 0.into();
        }
        if self.step.val() {
            if self.todo_full.q.val() {
                self.todo_full.d.next = false;
            } else if self.todo_last.q.val() {
                self.todo_last.d.next = false;
            } else if self.todo_dest_end.q.val() {
                self.todo_dest_end.d.next = false;
            }
            if !self.marker.val() {
                self.address.d.next = self.address.q.val() + bit_cast::<64, 13>(self.bytes.val());
                self.within.d.next = self.full.val();
                self.inside_message.d.next = self
                    .inside_message
                    .q
                    .val()
                    .replace_bit(self.dest.val().index(), self.full.val());
                self.started.d.next =
                    self.started.q.val().replace_bit(self.dest.val().index(), true);
                self.has_sent.d.next = true;
            }
            if self.sends.val() {
                self.next_psn.d.next = self.next_psn.q.val() + self.takes.q.val();
                self.total.d.next = self.total.q.val() + self.counted.val();
            }
            // A later destination of a WRITE by columns may use the same bits.
            if self.held.q.val().dest_end && !self.more.val() {
                self.started.d.next =
                    self.started.d.val().replace_bit(self.dest.val().index(), false);
                self.flushed.d.next =
                    self.flushed.d.val().replace_bit(self.dest.val().index(), false);
            }
            if self.marker.val() && !self.todo_dest_end.q.val() && self.todo_request_end.q.val() {
                self.todo_request_end.d.next = false;
                self.begun.d.next = false;
                self.released.d.next = true;
                self.queues.fail.next = self.final_status.val().any();
                self.started.d.next = 0.into();
                self.flushed.d.next = 0.into();
                self.inside_message.d.next = 0.into();
                self.failed.d.next = false;
                self.fail_status.d.next = 0.into();
                self.fail_dest.d.next = 0.into();
                self.total.d.next = 0.into();
            }
        }
    }

    /// The next event.
    #[hdl_gen]
    pub(super) fn take_event(&mut self) {
        self.only_end.next = self.found.val().request_end
            && !self.found.val().full
            && !self.found.val().last
            && !self.found.val().drop
            && !self.found.val().error
            && !self.found.val().dest_end
            && !self.found.val().status.any();
        self.take.next = self.found.valid.val()
            && ((self.state.q.val() == IssuerState::Waiting)
                || (self.step.val() && !self.more.val()));
        self.found.ready.next =
            (self.state.q.val() == IssuerState::Waiting) || (self.step.val() && !self.more.val());
        self.dests.read_enable.next = self.take.val();
        self.asked.read_enable.next = self.take.val();
        self.parts.read_enable.next = self.take.val();
        self.queues.read_enable.next = self.take.val();
        if self.step.val() && !self.more.val() {
            self.state.d.next = IssuerState::Waiting;
        }
        if self.take.val() {
            self.held.d.next = self.found.val();
            self.qp.d.next = self.dest_qps.read_data[0].val();
            self.state.d.next = IssuerState::Loading;
            // The end of a request of which something was given out needs nothing to be loaded. The request before it
            // may end
            // in this same cycle.
            if self.begun.d.val() && self.only_end.val() {
                self.todo_full.d.next = false;
                self.todo_last.d.next = false;
                self.todo_dest_end.d.next = false;
                self.todo_request_end.d.next = true;
                self.state.d.next = IssuerState::Giving;
            }
        }
    }
}
