//! Entries of completion queues.

use super::{Retire, RetireState};
use crate::context::QUEUE;
use crate::request::DEST_COUNT;
use drdma_emit::prelude::*;

impl Retire {
    /// The entry: for a request the destination that failed, or the bytes that were sent; or a receipt.
    #[hdl_gen]
    pub(super) fn make_entry(&mut self) {
        self.write_valid.next = false;
        self.write_addr.next = self.rings.addr.val();
        self.line.next = bit_cast::<256, 64>(self.name.q.val().get_bits::<64>(0))
            | (bit_cast::<256, QUEUE>(self.name.q.val().get_bits::<QUEUE>(64)) << 128)
            | (bit_cast::<256, 8>(self.result_of.q.val().get_bits::<8>(40)) << 176)
            | (bit_cast::<256, 32>(self.mark.q.val().get_bits::<32>(0)) << 192);
        if self.failed.q.val() {
            self.line.next = self.line.val()
                | (bit_cast::<256, DEST_COUNT>(self.result_of.q.val().get_bits::<DEST_COUNT>(50))
                    << 160);
        } else {
            self.line.next = self.line.val()
                | (bit_cast::<256, 40>(self.result_of.q.val().get_bits::<40>(0)) << 64);
        }
        if self.is_receipt.q.val() {
            self.line.next = self.receipt_of.q.val().line;
        }
        self.write_data.next = self.line.val();
        if !self.rings.lap.val() {
            self.write_data.next = self.line.val() | self.phase.val();
        }
        self.overrun.next = false;
        self.overrun_qp.next = self.receipt_of.q.val().qp;
        self.rings.is_direct.next = self.is_receipt.q.val();
        self.rings.direct.next = self.receipt_of.q.val().cq;
    }

    /// The next receipt waits in a register, so that its ready does not depend on the writer's.
    #[hdl_gen]
    pub(super) fn keep_receipt(&mut self) {
        self.receipt.ready.next = !self.waits.q.val();
        if !self.waits.q.val() {
            self.waits.d.next = self.receipt.valid.val();
            self.waiting.d.next = self.receipt.val();
        }
        self.has_receipt.next = self.waits.q.val() && !self.hold_receipts.val();
        self.has_request.next = self.next.q.val() && !self.hold.val();
        if self.over.val() {
            self.state.d.next = RetireState::Idle;
            if self.has_receipt.val() && (!self.has_request.val() || !self.is_receipt.q.val()) {
                self.waits.d.next = false;
                self.state.d.next = RetireState::Receipt;
                self.is_receipt.d.next = true;
                self.receipt_of.d.next = self.waiting.q.val();
            } else if self.has_request.val() {
                self.announced.out_ready.next = true;
                self.next.d.next = self.announced.out_valid.val();
                self.next_slot.d.next = self.announced.out_data.val();
                self.state.d.next = RetireState::Find;
                self.is_receipt.d.next = false;
                self.at_slot.d.next = self.next_slot.q.val();
                self.name.d.next = self.names.read_data[0].val();
                self.mark.d.next = self.marks.read_data[0].val();
                self.result_of.d.next = self.result.val();
                self.failed.d.next = self.result.val().get_bits::<8>(40).any();
            }
        }
        self.receiving.next = (self.state.q.val() == RetireState::Receipt)
            || (self.state.q.val() == RetireState::ReceiptSettle)
            || (self.state.q.val() == RetireState::ReceiptWrite);
        self.idle.next = ((self.state.q.val() == RetireState::Idle) || self.receiving.val())
            && !self.follows.q.val();
    }

    /// Writes the request's entry.
    #[hdl_gen]
    pub(super) fn write(&mut self) {
        // The request before has left, and the one behind it was dealt with.
        if !self.follows.q.val() {
            if self.is_silent.q.val() || self.is_quiet.q.val() {
                self.retired.next = !self.is_silent.q.val() && !self.is_part.val();
                self.state.d.next = RetireState::Leave;
                self.leaves.next = !self.open.val();
            } else if self.rings.full.val() {
                // No room: the request is announced again, behind others.
                if !self.is_done.q.val() {
                    self.announced.in_valid.next = true;
                    self.announced.in_data.next = self.at_slot.q.val();
                    self.over.next = true;
                }
            } else {
                self.write_valid.next = true;
                if self.write_ready.val() {
                    self.retired.next = true;
                    self.rings.advance.next = true;
                    self.silent.write_enable.next = self.failed.q.val();
                    self.state.d.next = RetireState::Leave;
                    self.leaves.next = !self.open.val();
                }
            }
        }
    }

    /// Writes the receipt's entry.
    #[hdl_gen]
    pub(super) fn write_receipt(&mut self) {
        if self.rings.full.val() {
            self.overrun.next = true;
            self.over.next = self.overrun_ready.val();
        } else {
            self.write_valid.next = true;
            self.rings.advance.next = self.write_ready.val();
            self.over.next = self.write_ready.val();
        }
    }
}
