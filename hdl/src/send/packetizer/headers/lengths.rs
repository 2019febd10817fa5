//! Lengths of headers and frames.

use super::super::order::WEIGHT;
use super::super::tagger::TAG;
use super::{
    ATOMIC_EXTRA, BARE_AT, COMPARE_AND_SWAP, FETCH_AND_ADD, FIXED_FRAME, FIXED_HEADER,
    FIXED_ROUNDED, FIXED_SUM, Headers, PACKET, RESPONDS_AT, WEIGHT_AT,
};
use crate::request::DEST_COUNT;
use crate::send::PAGE;
use drdma_abi::roce::Transport;
use drdma_emit::prelude::*;

impl Headers {
    /// Stage b: the lengths of the extension headers, the header and the frame.
    #[hdl_gen]
    pub(super) fn measure(&mut self) {
        self.b_valid.d.next = self.a_valid.q.val();
        self.b_packet.d.next = self.a_packet.q.val();
        if self.ends.val() && self.cut.q.val() && !self.a_packet.q.val().get_bits::<8>(94).any() {
            self.b_packet.d.next = (self.a_packet.q.val() & self.unflushed.val())
                | self.flushed.val()
                | (bit_cast::<PACKET, DEST_COUNT>(self.cut_dest.q.val()) << 80);
        }
        self.b_entry.d.next = self.entries.read_data.val();
        self.extra.next = 0.into();
        if self.a_packet.q.val().get_bit(190) {
            self.extra.next = 4.into();
        }
        if self.a_packet.q.val().get_bit(191) {
            self.extra.next = self.extra.val() | 16;
        }
        if (self.a_packet.q.val().get_bits::<5>(0) == COMPARE_AND_SWAP)
            || (self.a_packet.q.val().get_bits::<5>(0) == FETCH_AND_ADD)
        {
            self.extra.next = ATOMIC_EXTRA.into();
        }
        if self.entries.read_data.val().get_bits::<2>(208) == (Transport::Ud as usize).to_bits() {
            self.extra.next = self.extra.val() | 8;
        }
        self.header.next = self.extra.val() + FIXED_HEADER;
        self.b_header.d.next = self.header.val().get_bits::<7>(0);
        self.b_end.d.next = self.header.val() + self.a_packet.q.val().get_bits::<13>(193);
        self.b_frame.d.next = self.a_padded.q.val() + (self.extra.val() + FIXED_FRAME);
        self.b_slots.d.next =
            (self.a_padded.q.val() + (self.extra.val() + FIXED_ROUNDED)).get_bits::<7>(6);
        self.destination.next = self.entries.read_data.val().get_bits::<32>(64);
        self.b_addresses.d.next = bit_cast::<20, 16>(self.destination.val().get_bits::<16>(0))
            + bit_cast::<20, 16>(self.destination.val().get_bits::<16>(16))
            + self.own_sum.q.val();
        self.address_out.bits.next = self.addresses.read_data.val();
        self.b_named.d.next = self.address_out.record.val().named
            && (self.entries.read_data.val().get_bits::<2>(208)
                == (Transport::Ud as usize).to_bits());
        self.b_address.d.next = self.address_out.record.val();
        self.named_destination.next = self.address_out.record.val().dest_ip;
        self.b_named_addresses.d.next =
            bit_cast::<20, 16>(self.named_destination.val().get_bits::<16>(0))
                + bit_cast::<20, 16>(self.named_destination.val().get_bits::<16>(16))
                + self.own_sum.q.val();
        self.own_sum.d.next = bit_cast::<20, 16>(self.ip.val().get_bits::<16>(0))
            + bit_cast::<20, 16>(self.ip.val().get_bits::<16>(16))
            + FIXED_SUM;

        // The frame's dimensions are known.
        self.frame.valid.next = self.b_valid.q.val();
        self.frame.page.next = self.b_packet.q.val().get_bits::<PAGE>(206);
        self.frame.slots.next = self.b_slots.q.val();
        self.frame.long.next = self.b_header.q.val().get_bit(6);
        self.frame.rotate.next = self.b_header.q.val().get_bits::<6>(0);
        self.frame.end.next = self.b_end.q.val();
        self.frame.marker.next = self.b_packet.q.val().get_bit(192);
        self.frame.payload.next = self.b_packet.q.val().get_bits::<13>(193);
        if (self.b_packet.q.val().get_bits::<5>(0) == COMPARE_AND_SWAP)
            || (self.b_packet.q.val().get_bits::<5>(0) == FETCH_AND_ADD)
        {
            self.frame.payload.next = 0.into();
        }
        self.frame.bytes.next = self.b_frame.q.val();
        self.frame.dropped.next = self.b_dropped.q.val() && !self.frame.marker.val();
        self.frame.tag.next = self.b_entry.q.val().get_bits::<TAG>(224);
        self.frame.bare.next = self.b_packet.q.val().get_bit(BARE_AT);
        self.frame.responds.next = self.b_packet.q.val().get_bit(RESPONDS_AT);
        self.frame.weight.next = self.b_packet.q.val().get_bits::<WEIGHT>(WEIGHT_AT);
        if self.frame.marker.val() || self.frame.dropped.val() {
            self.frame.slots.next = 1.into();
            self.frame.long.next = false;
            self.frame.rotate.next = 0.into();
            self.frame.payload.next = 0.into();
            self.frame.end.next = 0.into();
            self.frame.bytes.next = 0.into();
        }
        if self.frame.marker.val() {
            self.frame.page.next = 0.into();
            self.frame.end.next = 64.into();
            self.frame.bytes.next = 64.into();
        }
    }
}
