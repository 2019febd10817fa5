//! Packets, and the items that go with them.

use super::Issuer;
use crate::send::packetizer::{DESTINATION_ENDS, PART_ENDS, REQUEST_ENDS};
use drdma_emit::prelude::*;

impl Issuer {
    /// The packet's operation follows from its place in the message.
    #[hdl_gen]
    pub(super) fn choose_operation(&mut self) {
        self.ends.next = !self.full.val() && !self.pauses.val();
        self.has_imm.next = self.ends.val()
            && ((self.about.val().opcode == self.send_imm_opcode.val())
                || (self.about.val().opcode == self.write_imm_opcode.val()));
        self.has_reth.next = self.write.val() && !self.within.q.val();
        self.ack_req.next = !self.full.val() && self.reliable.val();
        self.operation.next = 0.into();
        if !self.ends.val() {
            if self.within.q.val() {
                self.operation.next = self.middle.val();
            }
        } else if self.within.q.val() {
            self.operation.next = self.last.val();
        } else {
            self.operation.next = self.only.val();
        }
        if self.has_imm.val() {
            self.operation.next = self.operation.val() + 1;
        }
        if self.write.val() {
            self.operation.next = self.operation.val() + self.write_base.val();
        }
        if self.about.val().invalidates && self.ends.val() {
            self.has_imm.next = true;
            self.operation.next = self.only_invalidate.val();
            if self.within.q.val() {
                self.operation.next = self.last_invalidate.val();
            }
        }
        // A READ sends no payload; the payload of an atomic is its operands.
        if self.asks.val() {
            self.has_reth.next = true;
            self.operation.next = self.compare_and_swap.val();
            if self.about.val().ask.get_bit(0) {
                self.operation.next = self.fetch_and_add.val();
            }
        }
        if self.reads.val() {
            self.operation.next = self.read_request.val();
        }
        self.last_psn.next = self.next_psn.q.val() + self.takes_less_one.q.val();
        self.message_bytes.next = self.held.q.val().message_bytes;
        if !self.held.q.val().message_bytes.any() {
            self.message_bytes.next = bit_cast::<32, 13>(self.bytes.val());
        }
        if self.whole.val().any() {
            self.message_bytes.next = self.whole.val();
        }
        if self.reads.val() {
            self.message_bytes.next = self.asked.read_data.val().get_bits::<32>(0);
        }
        self.counted.next = bit_cast::<40, 13>(self.bytes.val());
        if self.asks.val() {
            self.counted.next = bit_cast::<40, 32>(self.asked.read_data.val().get_bits::<32>(0));
        }
    }

    /// `sent` items.
    #[hdl_gen]
    pub(super) fn mark(&mut self) {
        self.kind.next = REQUEST_ENDS.into();
        self.marker_psn.next = self.next_psn.q.val();
        self.final_total.next = self.total.q.val();
        if self.whole.val().any() {
            self.final_total.next = bit_cast::<40, 32>(self.whole.val());
        }
        if self.final_status.val().any() {
            self.final_total.next = 0.into();
        } else if self.pauses.val() {
            self.kind.next = PART_ENDS.into();
        }
        if self.marker.val() {
            self.marker_psn.next = self.next_psn.q.val() - 1;
            if self.todo_dest_end.q.val() {
                self.kind.next = DESTINATION_ENDS.into();
            }
        }
        if !self.marker.val() || self.todo_dest_end.q.val() {
            self.final_dest.next = self.index.val();
            self.final_total.next = bit_cast::<40, 32>(self.about.val().stamp);
        }
    }

    /// The output.
    #[hdl_gen]
    pub(super) fn put_out(&mut self) {
        self.next_item.next.marker = self.marker.val();
        self.next_item.next.page = self.page.val();
        self.next_item.next.bytes = self.bytes.val();
        self.next_item.next.qp = self.qp.q.val();
        self.next_item.next.operation = self.operation.val();
        self.next_item.next.ack_req = self.ack_req.val();
        self.next_item.next.psn = self.marker_psn.val();
        self.next_item.next.remote_addr = self.address.q.val();
        self.next_item.next.rkey = self.about.val().rkey;
        self.next_item.next.message_bytes = self.message_bytes.val();
        self.next_item.next.imm = self.about.val().imm;
        self.next_item.next.has_imm = self.has_imm.val();
        self.next_item.next.has_reth = self.has_reth.val();
        self.next_item.next.solicited =
            self.about.val().solicited && self.ends.val() && !self.asks.val();
        self.next_item.next.fenced = self.about.val().fenced;
        self.next_item.next.again = false;
        self.next_item.next.late = false;
        self.next_item.next.slot = self.held.q.val().slot;
        self.next_item.next.kind = self.kind.val();
        self.next_item.next.status = self.final_status.val();
        if self.reads.val() && !self.marker.val() {
            self.next_item.next.bytes = 0.into();
            self.next_item.next.imm = bit_cast::<32, 24>(self.last_psn.val());
            self.next_item.next.status =
                bit_cast::<8, 4>(self.asked.read_data.val().get_bits::<4>(56));
        }
        self.next_item.next.bad_dest = self.final_dest.val();
        self.next_item.next.total = self.final_total.val();
        self.item_in.record.next = self.next_item.val();
        self.items.in_valid.next = self.pushed.val();
        self.items.in_data.next = self.item_in.bits.val();
        self.packet.valid.next = self.items.out_valid.val();
        self.items.out_ready.next = self.packet.ready.val();
        self.item_out.bits.next = self.items.out_data.val();
        self.packet.next = self.item_out.record.val();
    }
}
