//! Makes the headers of packets.

mod checksum;
mod contexts;
mod kernel;
mod lengths;

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
use drdma_abi::roce::{IP_PROTOCOL_UDP, cnp, operation};

use crate::primitive::header::{
    BthHeader, DethHeader, EthernetHeader, ImmDtHeader, Ipv4Header, RethHeader, UdpHeader,
};
use crate::primitive::{Flatten, Pack, Ram, RamStyle, Restore};

/// Bits of the longest header: Ethernet, IPv4, UDP, BTH, RETH, ImmDt.
pub const HEADER: usize = 592;
/// The dimensions of a frame, or of a `sent` item in its place.
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
    /// Beats of the frame, or one more: the number that the packetizer counted when its item was accepted.
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
/// extended header of an atomic is an address and a key, which the operands follow, from the payload page.
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

/// `FIXED_FRAME`, plus the 63 bytes with which a length is rounded up to beats.
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
/// An acknowledgement comes as a packet without payload (`bare`), with its AETH in place of immediate data, which are
/// as long. It belongs to no request of this card, and the request of a packet that comes late may have ended: if one
/// of these is dropped, no request fails. A congestion notification (`notifies`) comes as such a packet, too, with a
/// RETH of zeros in place of its 16 reserved bytes.
///
/// A datagram goes where its request says, if the request names an address (`address_write`, kept for every slot): then
/// MAC and IP address, type of service, time to live, queue pair number and queue key are the request's, and all else
/// is the queue pair's. Packets of other transports may be of requests that have ended, and do not use that address.
///
/// Contract: one item a cycle; its frame's dimensions come 2 cycles later, its header, if it is not dropped, 6 cycles
/// later; both must be taken. An atomic comes as a packet of 16 B, which are its operands in network order. `sending`
/// names each packet that is not dropped, a cycle after it was given, except acknowledgements and packets that are sent
/// again.
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
    /// Address of the datagrams of a request; written before its packets come.
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
