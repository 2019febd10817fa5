//! Entries of queue pairs, addresses of requests, and whether an item may leave.

use super::super::order::WEIGHT;
use super::{
    AGAIN_AT, BARE_AT, Headers, LATE_AT, NOTIFIES_AT, PACKET, READ_REQUEST, RESPONDS_AT,
    SOLICITED_AT, WEIGHT_AT,
};
use crate::context::QP;
use crate::request::DEST_COUNT;
use crate::send::PAGE;
use drdma_emit::prelude::*;

impl Headers {
    /// Queue pair entries, as the host writes them.
    #[hdl_gen]
    pub(super) fn take_words(&mut self) {
        for k in 0..8 {
            self.copies.parts[k].next = self.cfg.data.val();
        }
        self.entries.write_lanes.next = 0.into();
        self.select.valid.next = self.cfg.valid.val();
        self.select.number.next = self.cfg.table.val();
        self.select.word.next = self.cfg.word.val();
        if self.select.queue_pair.val() {
            self.entries.write_lanes.next = bits::<8>(1) << self.cfg.word.val();
        }
        self.entries.write_address.next = self.cfg.index.val().get_bits::<QP>(0);
        self.entries.write_data.next = self.copies.whole.val();
    }

    /// Stage a: the item is taken, and its queue pair's entry and its request's address are read.
    #[hdl_gen]
    pub(super) fn take_item(&mut self) {
        self.addresses.read_enable.next = true;
        self.addresses.read_address.next = self.packet.slot.val();
        self.unused.next = self.packet.fenced.val();
        self.entries.read_enable.next = true;
        self.entries.read_address.next = self.packet.qp.val();
        self.address.next = self.packet.remote_addr.val();
        self.rkey.next = self.packet.rkey.val();
        self.flags.next = 0.into();
        if self.packet.has_imm.val() {
            self.flags.next = self.flags.val() | 1;
        }
        if self.packet.has_reth.val() {
            self.flags.next = self.flags.val() | 2;
        }
        if self.packet.marker.val() {
            self.flags.next = 4.into();
            self.address.next = bit_cast::<64, 40>(self.packet.total.val())
                | (bit_cast::<64, 8>(self.packet.slot.val()) << 40)
                | (bit_cast::<64, 2>(self.packet.kind.val()) << 48)
                | (bit_cast::<64, DEST_COUNT>(self.packet.bad_dest.val()) << 50);
            self.rkey.next = bit_cast::<32, 8>(self.packet.status.val())
                | (bit_cast::<32, QP>(self.packet.qp.val()) << 8);
        }
        self.packet_bits.next = bit_cast::<PACKET, 5>(self.packet.operation.val())
            | (bit_cast::<PACKET, 24>(self.packet.psn.val()) << 6)
            | (bit_cast::<PACKET, 64>(self.address.val()) << 30)
            | (bit_cast::<PACKET, 32>(self.rkey.val()) << 94)
            | (bit_cast::<PACKET, 32>(self.packet.message_bytes.val()) << 126)
            | (bit_cast::<PACKET, 32>(self.packet.imm.val()) << 158)
            | (bit_cast::<PACKET, 3>(self.flags.val()) << 190)
            | (bit_cast::<PACKET, 13>(self.packet.bytes.val()) << 193)
            | (bit_cast::<PACKET, PAGE>(self.packet.page.val()) << 206)
            | (bit_cast::<PACKET, WEIGHT>(self.weight.val()) << WEIGHT_AT as u64)
            | (bit_cast::<PACKET, 1>(self.bare.val().into()) << BARE_AT as u64)
            | (bit_cast::<PACKET, 1>(self.packet.again.val().into()) << AGAIN_AT as u64)
            | (bit_cast::<PACKET, 1>(self.packet.late.val().into()) << LATE_AT as u64)
            | (bit_cast::<PACKET, 1>(self.responds.val().into()) << RESPONDS_AT as u64)
            | (bit_cast::<PACKET, 1>(self.packet.solicited.val().into()) << SOLICITED_AT as u64)
            | (bit_cast::<PACKET, 1>(self.notifies.val().into()) << NOTIFIES_AT as u64);
        if self.packet.ack_req.val() {
            self.packet_bits.next = self.packet_bits.val() | 32;
        }
        self.a_valid.d.next = self.packet.valid.val();
        self.a_packet.d.next = self.packet_bits.val();
        self.a_qp.d.next = self.packet.qp.val();
        self.a_stamp.d.next = self.packet.total.val().get_bits::<32>(0);
        self.a_dest.d.next = self.packet.bad_dest.val();
        self.rounded.next = self.packet.bytes.val() + 3;
        self.a_padded.d.next = self.rounded.val() & 0x1ffc;
    }

    /// Whether the queue pair's entry, which was read now, is still the one of the stamp.
    #[hdl_gen]
    pub(super) fn look_at_stamp(&mut self) {
        self.stamps.written.next = self.select.queue_pair.val();
        self.stamps.index.next = self.cfg.index.val().get_bits::<QP>(0);
        self.stamps.ahead[0].next = self.packet.qp.val();
        self.stamps.ahead[1].next = self.next_sent_qp.val();
        self.gone.next = self.stamps.stamp[1].val() != self.sent_stamp.val();
        self.dropped.next = !self.a_packet.q.val().get_bit(192)
            && (self.stamps.stamp[0].val() != self.a_stamp.q.val());
        self.sending.valid.next = self.a_valid.q.val()
            && !self.a_packet.q.val().get_bit(192)
            && !self.a_packet.q.val().get_bit(BARE_AT)
            && !self.a_packet.q.val().get_bit(AGAIN_AT)
            && !self.dropped.val();
        self.sending.qp.next = self.a_qp.q.val();
        self.sending.psn.next = self.a_packet.q.val().get_bits::<24>(6);
        if self.a_packet.q.val().get_bits::<5>(0) == READ_REQUEST {
            self.sending.psn.next = self.a_packet.q.val().get_bits::<24>(158);
        }
        self.count_notices.next = self.a_valid.q.val()
            && self.a_packet.q.val().get_bit(NOTIFIES_AT)
            && !self.dropped.val();
        self.b_dropped.d.next = self.dropped.val();
        self.c_dropped.d.next = self.b_dropped.q.val();
        self.d_dropped.d.next = self.c_dropped.q.val();
        self.e_dropped.d.next = self.d_dropped.q.val();
    }

    /// The item ends a request.
    #[hdl_gen]
    pub(super) fn end_request(&mut self) {
        self.ends.next =
            self.a_packet.q.val().get_bit(192) && self.a_packet.q.val().get_bits::<2>(78).any();
        if self.a_valid.q.val() {
            if self.dropped.val()
                && !self.a_packet.q.val().get_bit(BARE_AT)
                && !self.a_packet.q.val().get_bit(LATE_AT)
            {
                self.cut.d.next = true;
                if !self.cut.q.val() {
                    self.cut_dest.d.next = self.a_dest.q.val();
                }
            }
            if self.ends.val() {
                self.cut.d.next = false;
            }
        }
    }
}
