//! The IP header's checksum, and the header that leaves.

use super::{
    BECN, ENTRY, ETHERNET_BYTES, HEADER, Headers, NOTIFICATION, NOTIFIES_AT, PSN_AT, SENT_LOW,
    SENT_RKEY, SOLICITED_AT, STATUS_AT,
};
use drdma_abi::roce::{ETHERTYPE_IPV4, IP_PROTOCOL_UDP, TTL, Transport, UDP_PORT};
use drdma_emit::prelude::*;

impl Headers {
    /// Stage c: the length of the IP packet.
    #[hdl_gen]
    pub(super) fn fill(&mut self) {
        self.c_valid.d.next = self.b_valid.q.val();
        self.c_packet.d.next = self.b_packet.q.val();
        self.c_entry.d.next = self.b_entry.q.val();
        if self.b_named.q.val() {
            self.c_entry.d.next = (self.b_entry.q.val() & self.own.val())
                | bit_cast::<ENTRY, 48>(self.b_address.q.val().dest_mac)
                | (bit_cast::<ENTRY, 8>(self.b_address.q.val().tos) << 48)
                | (bit_cast::<ENTRY, 8>(self.b_address.q.val().ttl) << 56)
                | (bit_cast::<ENTRY, 32>(self.b_address.q.val().dest_ip) << 64)
                | (bit_cast::<ENTRY, 24>(self.b_address.q.val().dest_qpn) << 128)
                | (bit_cast::<ENTRY, 32>(self.b_address.q.val().qkey) << 160);
        }
        self.c_length.d.next = self.b_frame.q.val() - ETHERNET_BYTES;
        self.life.next = self.b_entry.q.val().get_bits::<8>(56);
        if !self.life.val().any() {
            self.life.next = usize::from(TTL).to_bits();
        }
        self.service.next = bit_cast::<16, 8>(self.b_entry.q.val().get_bits::<8>(48))
            | (bit_cast::<16, 8>(self.life.val()) << 8);
        self.sum.next = self.b_addresses.q.val();
        if self.b_named.q.val() {
            self.service.next = bit_cast::<16, 8>(self.b_address.q.val().tos)
                | (bit_cast::<16, 8>(self.b_address.q.val().ttl) << 8);
            self.sum.next = self.b_named_addresses.q.val();
        }
        self.c_sum.d.next = self.sum.val() + bit_cast::<20, 16>(self.service.val());
    }

    /// Stage d: the sum of the words of the IP header.
    #[hdl_gen]
    pub(super) fn sum(&mut self) {
        self.d_valid.d.next = self.c_valid.q.val();
        self.d_packet.d.next = self.c_packet.q.val();
        self.d_entry.d.next = self.c_entry.q.val();
        self.d_length.d.next = self.c_length.q.val();
        self.d_sum.d.next = self.c_sum.q.val() + bit_cast::<20, 13>(self.c_length.q.val());
    }

    /// Stage e: carries are folded into the sum, once before this register and once behind it.
    #[hdl_gen]
    pub(super) fn fold(&mut self) {
        self.e_valid.d.next = self.d_valid.q.val();
        self.e_packet.d.next = self.d_packet.q.val();
        self.e_entry.d.next = self.d_entry.q.val();
        self.e_length.d.next = self.d_length.q.val();
        self.e_sum.d.next = bit_cast::<17, 16>(self.d_sum.q.val().get_bits::<16>(0))
            + bit_cast::<17, 4>(self.d_sum.q.val().get_bits::<4>(16));
        self.folded.next = self.e_sum.q.val().get_bits::<16>(0)
            + bit_cast::<16, 1>(self.e_sum.q.val().get_bits::<1>(16));

        self.ethernet.destination.next = self.e_entry.q.val().get_bits::<48>(0);
        self.ethernet.source.next = self.mac.val();
        self.ethernet.ethertype.next = usize::from(ETHERTYPE_IPV4).to_bits();
        self.ipv4.version.next = 4.into();
        self.ipv4.ihl.next = 5.into();
        self.ipv4.tos.next = self.e_entry.q.val().get_bits::<8>(48);
        self.ipv4.total_length.next = bit_cast::<16, 13>(self.e_length.q.val());
        self.ipv4.identification.next = 0.into();
        self.ipv4.flags.next = 2.into();
        self.ipv4.fragment.next = 0.into();
        self.e_life.next = self.e_entry.q.val().get_bits::<8>(56);
        if !self.e_life.val().any() {
            self.e_life.next = usize::from(TTL).to_bits();
        }
        self.ipv4.ttl.next = self.e_life.val();
        self.ipv4.protocol.next = usize::from(IP_PROTOCOL_UDP).to_bits();
        self.ipv4.checksum.next = !self.folded.val();
        self.ipv4.source.next = self.ip.val();
        self.ipv4.destination.next = self.e_entry.q.val().get_bits::<32>(64);
        self.udp.source_port.next =
            bit_cast::<16, 14>(self.e_entry.q.val().get_bits::<14>(96)) | 0xc000;
        self.udp.destination_port.next = usize::from(UDP_PORT).to_bits();
        self.udp.length.next = bit_cast::<16, 13>(self.e_length.q.val()) - 20;
        self.udp.checksum.next = 0.into();
        self.datagram.next =
            self.e_entry.q.val().get_bits::<2>(208) == (Transport::Ud as usize).to_bits();
        self.transport.next = usize::from(Transport::Rc.opcode_bits()).to_bits();
        if self.e_entry.q.val().get_bits::<2>(208) == (Transport::Uc as usize).to_bits() {
            self.transport.next = usize::from(Transport::Uc.opcode_bits()).to_bits();
        }
        if self.datagram.val() {
            self.transport.next = usize::from(Transport::Ud.opcode_bits()).to_bits();
        }
        if self.e_packet.q.val().get_bit(NOTIFIES_AT) {
            self.transport.next = NOTIFICATION.into();
        }
        self.bth.opcode.next =
            self.transport.val() | bit_cast::<8, 5>(self.e_packet.q.val().get_bits::<5>(0));
        self.bth.solicited.next = self.e_packet.q.val().get_bits::<1>(SOLICITED_AT);
        self.bth.migration.next = 1.into();
        self.bth.pad.next = bits::<2>(0) - self.e_packet.q.val().get_bits::<2>(193);
        self.bth.version.next = 0.into();
        self.bth.pkey.next = self.e_entry.q.val().get_bits::<16>(192);
        self.bth.resv8a.next = 0.into();
        if self.e_packet.q.val().get_bit(NOTIFIES_AT) {
            self.bth.resv8a.next = BECN.into();
        }
        self.bth.dest_qp.next = self.e_entry.q.val().get_bits::<24>(128);
        self.bth.ack_req.next = self.e_packet.q.val().get_bits::<1>(5);
        self.bth.resv7.next = 0.into();
        self.bth.psn.next = self.e_packet.q.val().get_bits::<24>(6);
        self.reth.virtual_address.next = self.e_packet.q.val().get_bits::<64>(30);
        self.reth.rkey.next = self.e_packet.q.val().get_bits::<32>(94);
        self.reth.dma_length.next = self.e_packet.q.val().get_bits::<32>(126);
        self.deth.qkey.next = self.e_entry.q.val().get_bits::<32>(160);
        self.deth.reserved.next = 0.into();
        self.deth.source_qp.next = self.e_entry.q.val().get_bits::<24>(96);
        self.imm.value.next = self.e_packet.q.val().get_bits::<32>(158);
        self.extension.next = bit_cast::<160, 32>(self.imm.sent.val());
        if self.e_packet.q.val().get_bit(191) {
            self.extension.next = bit_cast::<160, 128>(self.reth.sent.val())
                | (bit_cast::<160, 32>(self.imm.sent.val()) << 128);
        } else if self.datagram.val() {
            self.extension.next = bit_cast::<160, 64>(self.deth.sent.val())
                | (bit_cast::<160, 32>(self.imm.sent.val()) << 64);
        }
    }

    /// The header, or a `sent` item in its place.
    #[hdl_gen]
    pub(super) fn leave(&mut self) {
        self.f_valid.d.next = self.e_valid.q.val() && !self.e_dropped.q.val();
        if self.e_packet.q.val().get_bit(192) {
            self.f_header.d.next =
                bit_cast::<HEADER, SENT_LOW>(self.e_packet.q.val().get_bits::<SENT_LOW>(30))
                    | (bit_cast::<HEADER, SENT_RKEY>(
                        self.e_packet.q.val().get_bits::<SENT_RKEY>(94),
                    ) << STATUS_AT)
                    | (bit_cast::<HEADER, 24>(self.e_packet.q.val().get_bits::<24>(6)) << PSN_AT);
        } else {
            self.f_header.d.next = bit_cast::<HEADER, 112>(self.ethernet.sent.val())
                | (bit_cast::<HEADER, 160>(self.ipv4.sent.val()) << 112)
                | (bit_cast::<HEADER, 64>(self.udp.sent.val()) << 272)
                | (bit_cast::<HEADER, 96>(self.bth.sent.val()) << 336)
                | (bit_cast::<HEADER, 160>(self.extension.val()) << 432);
        }
        self.header_valid.next = self.f_valid.q.val();
        self.out_header.next = self.f_header.q.val();
    }
}
