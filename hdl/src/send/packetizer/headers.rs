//! Makes the headers of packets.

use super::Packet;
use super::Sending;
use super::order::WEIGHT;
use super::tagger::TAG;
use crate::context::{ConfigWrite, QP, Stamps, TableSelect};
use crate::request::{AddressWrite, DEST_COUNT};
use crate::send::PAGE;
use drdma_emit::prelude::*;
use num_bigint::BigUint;

use drdma_abi::Layout;
use drdma_abi::completion::Status;
use drdma_abi::register::QueuePairEntry;
use drdma_abi::roce::{ETHERTYPE_IPV4, IP_PROTOCOL_UDP, TTL, Transport, UDP_PORT, cnp, operation};

use crate::primitive::header::{
    BthHeader, DethHeader, EthernetHeader, ImmDtHeader, Ipv4Header, RethHeader, UdpHeader,
};
use crate::primitive::{Flatten, Pack, Ram, RamStyle, Restore};

/// Bits of the longest header: Ethernet, IPv4, UDP, BTH, RETH, ImmDt.
pub const HEADER: usize = 592;
/// The dimensions of a frame, or of what takes its place.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Frame {
    /// Number of the page that holds the payload.
    pub page: Bits<PAGE>,
    /// Beats of the frame.
    pub slots: Bits<7>,
    /// The header is longer than a beat.
    pub long: Bit,
    /// Bytes of the header beyond whole beats, 0 to 63.
    pub rotate: Bits<6>,
    /// Bytes of header and payload.
    pub end: Bits<13>,
    /// The item is a `sent` item instead of a frame: one beat, which stands in place of the header.
    pub marker: Bit,
    /// Bytes of payload.
    pub payload: Bits<13>,
    /// Bytes of the frame, with padding and ICRC.
    pub bytes: Bits<13>,
    /// The packet is dropped: no header or frame is made, and only its page is given back.
    pub dropped: Bit,
    /// The frame's 802.1Q tag, which is not in the header.
    pub tag: Bits<TAG>,
    /// The frame has no payload, and no page.
    pub bare: Bit,
    /// The page is a reply page; otherwise a payload page.
    pub responds: Bit,
    /// Beats of the frame, or one more: what the packetizer counted for it when its item was accepted.
    pub weight: Bits<WEIGHT>,
}

/// Bits of a packet in this block: `operation` 5, `ack_req`, `psn` 24, `remote_addr` 64, `rkey` 32,
/// `message_bytes` 32, `imm` 32, `has_imm`, `has_reth`, `marker`, `bytes` 13, `page`, `weight`, `bare`,
/// `again`, `late`, `responds`, `solicited`, `notifies`.
const PACKET: usize = NOTIFIES_AT + 1;
/// First bit of `weight` in these bits.
const WEIGHT_AT: usize = 206 + PAGE;
/// Bit of `bare`.
const BARE_AT: usize = WEIGHT_AT + WEIGHT;
/// Bit of `again`.
const AGAIN_AT: usize = BARE_AT + 1;
/// Bit of `late`.
const LATE_AT: usize = AGAIN_AT + 1;
/// Bit of `responds`.
const RESPONDS_AT: usize = LATE_AT + 1;
/// Bit of `solicited`.
const SOLICITED_AT: usize = RESPONDS_AT + 1;
/// Bit of `notifies`.
const NOTIFIES_AT: usize = SOLICITED_AT + 1;
/// Operations with a request that is not all in the RETH: a READ takes the sequence numbers up to its `imm`; the
/// extended header of an atomic is
/// an address and a key, which the operands follow, from the payload page.
const READ_REQUEST: u64 = operation::READ_REQUEST as u64;
const COMPARE_AND_SWAP: u64 = operation::COMPARE_AND_SWAP as u64;
const FETCH_AND_ADD: u64 = operation::FETCH_AND_ADD as u64;
/// The high bits of the opcode of a congestion notification, beside its operation; and its BECN mark.
const NOTIFICATION: u64 = (cnp::OPCODE & 0xe0) as u64;
const BECN: u64 = cnp::BECN as u64;
/// Bytes of the address and the key in an atomic's extended header.
const ATOMIC_EXTRA: u64 = 12;
/// Bits of a `sent` item below its `status`; they come in place of an address.
const SENT_LOW: usize = 50 + DEST_COUNT;
/// Bits of a `sent` item's `status` and `qp`; they come in place of a remote key.
const SENT_RKEY: usize = 8 + QP;
/// First bit of `status` in a `sent` item.
const STATUS_AT: u64 = SENT_LOW as u64;
/// First bit of `psn` in a `sent` item.
const PSN_AT: u64 = STATUS_AT + SENT_RKEY as u64;
/// Bits of a queue pair's entry that headers are made from: its first 8 words.
const ENTRY: usize = 256;

/// Bits of an [`AddressWrite`].
const ADDRESS: usize = 161;

/// Sum of the words that are the same in every IPv4 header: version and length, flags, protocol.
const FIXED_SUM: u64 = 0x4500 + 0x4000 + IP_PROTOCOL_UDP as u64;

/// Bytes of the headers of every packet: Ethernet, IPv4, UDP, BTH.
const FIXED_HEADER: u64 = 14 + 20 + 8 + 12;

/// Bytes of the same headers with the ICRC.
const FIXED_FRAME: u64 = FIXED_HEADER + 4;

/// `FIXED_FRAME`, and what it takes to round up to beats.
const FIXED_ROUNDED: u64 = FIXED_FRAME + 63;

/// Bytes of the Ethernet header.
const ETHERNET_BYTES: u64 = 14;

/// Makes a packet's headers and computes the dimensions of its frame. A `sent` item passes in order, with
/// its fields (`total` 40, `slot` 8, `kind` 2, `bad_dest`, `status` 8, `qp`, `psn` 24) in place of
/// the header.
///
/// A packet is dropped if the host has written to its queue pair's entry since the stamp that the packet
/// brings (`total` 32), even in the cycle in which the entry is read: all headers are made from the entry that the
/// request was checked with. The end of the packet's request, if it was to succeed,
/// then says `wr_flush_error`, with the destination (`bad_dest`) of the first packet that was dropped.
///
/// An acknowledgement comes as a packet without payload (`bare`), with its AETH in place of immediate data, which
/// are as long. It belongs to no request of this card, and the request of a packet that comes late may have ended: if
/// one of these is
/// dropped, no request fails. A congestion notification (`notifies`) comes as such a packet, too, with a RETH of zeros
/// in place of its
/// 16 reserved bytes.
///
/// A datagram goes where its request says, if the request names an address (`address_write`, kept for every slot): then
/// MAC and IP address, type of
/// service, time to live, queue pair number and queue key are the request's, and all else is the queue pair's. Packets
/// of other transports
/// may be of requests that have ended, and do not use that address.
///
/// Contract: one item a cycle; its frame's dimensions come 2 cycles later, its header, if it is not dropped, 6
/// cycles later; both must be taken. An atomic comes as a packet of 16 B, which are its operands in network order.
/// `sending` names each packet
/// that is not dropped, a cycle after it was given, except acknowledgements and
/// packets that are sent again.
#[derive(LogicBlock, BlockDefault)]
#[check(fields_stand())]
pub struct Headers {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,

    /// An item, valid in the cycle in which it is accepted.
    pub packet: Flow<In, Packet>,
    /// The item has no page.
    pub bare: Signal<In, Bit>,
    /// The item is a congestion notification.
    pub notifies: Signal<In, Bit>,
    /// The item's page is a reply page.
    pub responds: Signal<In, Bit>,
    /// Beats that the item is counted as.
    pub weight: Signal<In, Bits<WEIGHT>>,

    /// Words that the host writes into tables.
    pub cfg: Flow<In, ConfigWrite>,
    /// The card's MAC address.
    pub mac: Signal<In, Bits<48>>,
    /// The card's IPv4 address.
    pub ip: Signal<In, Bits<32>>,
    /// Where the datagrams of a request go; written before its packets come.
    pub address_write: Flow<In, AddressWrite>,

    /// Queue pair of the `sent` item that is offered in the next cycle.
    pub next_sent_qp: Signal<In, Bits<QP>>,
    /// Stamp of the `sent` item that is offered in this cycle.
    pub sent_stamp: Signal<In, Bits<32>>,
    /// The host has written to the entry of that item's queue pair since its stamp.
    pub gone: Signal<Out, Bit>,
    /// A packet is sent for the first time.
    pub sending: Flow<Out, Sending>,
    /// A congestion notification is sent; a cycle after it was given.
    pub count_notices: Signal<Out, Bit>,

    /// Dimensions of a frame, 2 cycles after its item.
    pub frame: Flow<Out, Frame>,
    /// `out_header` is valid, 6 cycles after its item.
    pub header_valid: Signal<Out, Bit>,
    /// Bytes of the header, the first one lowest; or a `sent` item.
    pub out_header: Signal<Out, Bits<HEADER>>,

    // The queue pairs' entries.
    select: TableSelect,
    #[init(Ram::new(RamStyle::Ultra))]
    entries: Ram<ENTRY, 8, QP>,
    copies: Pack<8, 32, ENTRY>,
    // The addresses to which the datagrams of each request go.
    addresses: Ram<ADDRESS, 1, 8>,
    address_in: Flatten<AddressWrite, ADDRESS>,
    address_out: Restore<AddressWrite, ADDRESS>,

    // Stage a: the item is held.
    packet_bits: Signal<Local, Bits<PACKET>>,
    flags: Signal<Local, Bits<3>>,
    unused: Signal<Local, Bit>,
    address: Signal<Local, Bits<64>>,
    rkey: Signal<Local, Bits<32>>,
    a_valid: DFF<Bit>,
    a_packet: DFF<Bits<PACKET>>,
    a_qp: DFF<Bits<QP>>,
    a_stamp: DFF<Bits<32>>,
    a_dest: DFF<Bits<DEST_COUNT>>,
    a_padded: DFF<Bits<13>>,
    rounded: Signal<Local, Bits<13>>,
    stamps: Stamps<32, QP, 2>,
    dropped: Signal<Local, Bit>,
    ends: Signal<Local, Bit>,
    // A packet of the request was dropped; `cut_dest`: the destination of the first one.
    cut: DFF<Bit>,
    cut_dest: DFF<Bits<DEST_COUNT>>,
    #[init(Constant::new((BigUint::from(Status::WrFlushError as u8) << 94_u32).into()))]
    flushed: Constant<Bits<PACKET>>,
    #[init(Constant::new(unflushed().into()))]
    unflushed: Constant<Bits<PACKET>>,

    // Stage b: the item's queue pair entry, and the dimensions of its frame.
    b_valid: DFF<Bit>,
    b_dropped: DFF<Bit>,
    b_packet: DFF<Bits<PACKET>>,
    b_entry: DFF<Bits<ENTRY>>,
    b_header: DFF<Bits<7>>,
    b_end: DFF<Bits<13>>,
    b_frame: DFF<Bits<13>>,
    b_slots: DFF<Bits<7>>,
    b_addresses: DFF<Bits<20>>,
    // The request names the address.
    b_named: DFF<Bit>,
    b_address: DFF<AddressWrite>,
    b_named_addresses: DFF<Bits<20>>,
    own_sum: DFF<Bits<20>>,
    extra: Signal<Local, Bits<13>>,
    header: Signal<Local, Bits<13>>,
    destination: Signal<Local, Bits<32>>,
    named_destination: Signal<Local, Bits<32>>,

    // Stage c: lengths; the type of service and the time to live, which are part of the checksum.
    life: Signal<Local, Bits<8>>,
    service: Signal<Local, Bits<16>>,
    sum: Signal<Local, Bits<20>>,
    #[init(Constant::new(own().into()))]
    own: Constant<Bits<ENTRY>>,
    c_valid: DFF<Bit>,
    c_dropped: DFF<Bit>,
    c_packet: DFF<Bits<PACKET>>,
    c_entry: DFF<Bits<ENTRY>>,
    c_length: DFF<Bits<13>>,
    c_sum: DFF<Bits<20>>,

    // Stage d: the sum for the checksum.
    d_valid: DFF<Bit>,
    d_dropped: DFF<Bit>,
    d_packet: DFF<Bits<PACKET>>,
    d_entry: DFF<Bits<ENTRY>>,
    d_length: DFF<Bits<13>>,
    d_sum: DFF<Bits<20>>,

    // Stage e: the sum folded once; the headers.
    e_valid: DFF<Bit>,
    e_dropped: DFF<Bit>,
    e_packet: DFF<Bits<PACKET>>,
    e_entry: DFF<Bits<ENTRY>>,
    e_length: DFF<Bits<13>>,
    e_sum: DFF<Bits<17>>,
    folded: Signal<Local, Bits<16>>,
    datagram: Signal<Local, Bit>,
    e_life: Signal<Local, Bits<8>>,
    transport: Signal<Local, Bits<8>>,
    ethernet: EthernetHeader,
    ipv4: Ipv4Header,
    udp: UdpHeader,
    bth: BthHeader,
    reth: RethHeader,
    deth: DethHeader,
    imm: ImmDtHeader,
    extension: Signal<Local, Bits<160>>,
    f_valid: DFF<Bit>,
    f_header: DFF<Bits<HEADER>>,
}

/// Fails at compile time unless the fields of a queue pair's entry stand where the kernel takes them from.
fn fields_stand() -> bool {
    for (name, start, width) in [
        ("dest_mac", 0, 48),
        ("tos", 48, 8),
        ("ttl", 56, 8),
        ("dest_ip", 64, 32),
        ("qpn", 96, 24),
        ("dest_qpn", 128, 24),
        ("qkey", 160, 32),
        ("pkey", 192, 16),
        ("transport", 208, 2),
        ("vlan", 224, 16),
        ("tagged", 240, 1),
    ] {
        let field = QueuePairEntry::field(name);
        assert_eq!(field.start, start, "QueuePairEntry: {name} starts elsewhere");
        assert!(width <= field.width, "QueuePairEntry: {name} has only {} bits", field.width);
    }
    true
}

/// Bits that are the queue pair's own in the headers of a datagram whose request names an address.
fn own() -> BigUint {
    let field = |start: u32, width: u32| ((BigUint::from(1_u8) << width) - 1_u8) << start;
    field(0, ENTRY as u32) ^ field(0, 96) ^ field(128, 24) ^ field(160, 32)
}

/// All bits but those of `total`, `bad_dest` and `status` of a `sent` item.
fn unflushed() -> BigUint {
    let field = |start: u32, width: u32| ((BigUint::from(1_u8) << width) - 1_u8) << start;
    field(0, PACKET as u32) ^ field(30, 40) ^ field(80, DEST_COUNT as u32) ^ field(94, 8)
}

impl Logic for Headers {
    #[hdl_gen]
    fn update(&mut self) {
        // Queue pair entries, as the host writes them.
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

        // The addresses that requests name.
        self.address_in.record.next = self.address_write.val();
        self.addresses.write_lanes.next = 0.into();
        if self.address_write.valid.val() {
            self.addresses.write_lanes.next = 1.into();
        }
        self.addresses.write_address.next = self.address_write.slot.val();
        self.addresses.write_data.next = self.address_in.bits.val();

        // Stage a: the item is taken, and its queue pair's entry and its request's address are read.
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

        // Whether the queue pair's entry, which was read now, is still the one of the stamp.
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
        // The item ends a request.
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

        // Stage b: the lengths of the extension headers, the header and the frame.
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

        // Stage c: the length of the IP packet.
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

        // Stage d: the sum of the words of the IP header.
        self.d_valid.d.next = self.c_valid.q.val();
        self.d_packet.d.next = self.c_packet.q.val();
        self.d_entry.d.next = self.c_entry.q.val();
        self.d_length.d.next = self.c_length.q.val();
        self.d_sum.d.next = self.c_sum.q.val() + bit_cast::<20, 13>(self.c_length.q.val());

        // Stage e: carries are folded into the sum, once before this register and once behind it.
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

        // The header, or a `sent` item in its place.
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

        if self.rst.val() {
            self.a_valid.d.next = false;
            self.cut.d.next = false;
            self.b_valid.d.next = false;
            self.c_valid.d.next = false;
            self.d_valid.d.next = false;
            self.e_valid.d.next = false;
            self.f_valid.d.next = false;
        }
    }
}
