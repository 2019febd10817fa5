//! Separates frames for the host, which pass, from frames for the card, which go to the parser.
//!
//! A frame is the card's if it is RoCEv2 to the card's addresses and an [`Owner`] is found for it. All others are
//! passed to the host as they came; RoCEv2 to the card's addresses that is for no queue pair is counted.
//!
//! Contract: one beat a cycle. A frame for the host leaves 7 cycles later; a beat for the card is given to the parser 5
//! cycles later, and is never stalled there. The stream stops while the host does not take a frame of its own that is
//! at the output, a cycle for each queue pair whose number has the same low 12 bits as that of a frame and that is
//! found before it, and up to 6 cycles while the host changes a queue pair's number.

use drdma_abi::roce::{self, Bth, Ethernet, Ipv4, Udp, VlanTag, cnp};
use drdma_emit::prelude::*;

use super::judge::COMMON;
use crate::context::{ConfigWrite, QP};
use crate::primitive::StreamFifo;
use crate::primitive::header::{BthFields, EthernetFields, Ipv4Fields, UdpFields, VlanTagFields};
use crate::receive::owner::Owner;
use crate::shell::corundum::RxBeat;

/// Bits of a VLAN's number.
pub const VLAN: usize = 12;
/// Bits of the first beat of a frame without a tag, from the IPv4 header on. In a frame with a tag, only the first 46
/// bytes are valid.
pub const HEADERS: usize = 512 - ETHERNET;
/// Like [`HEADERS`], for a frame with a tag.
const HEADERS_TAGGED: usize = HEADERS - TAG;
/// Bits of a link header without a tag.
const ETHERNET: usize = 8 * Ethernet::SIZE;
/// Bits of an 802.1Q tag.
const TAG: usize = 8 * VlanTag::SIZE;
/// Bits of the MAC addresses in a link header.
const ADDRESSES: usize = ETHERNET - 16;
/// First bit of the UDP header behind the link header.
const UDP: usize = 8 * Ipv4::SIZE;
/// First bit of the base transport header behind the link header, and bits of that header.
const BTH_START: usize = 8 * (Ipv4::SIZE + Udp::SIZE);
const BTH: usize = 8 * Bth::SIZE;
/// Number of the last byte of the UDP header in a frame without a tag.
const LAST: usize = Ethernet::SIZE + Ipv4::SIZE + Udp::SIZE - 1;
/// Like [`LAST`], in a frame with a tag.
const LAST_TAGGED: usize = LAST + VlanTag::SIZE;
/// Numbers of the last byte of the base transport header in frames without and with a tag.
const BTH_LAST: usize = LAST + Bth::SIZE;
const BTH_LAST_TAGGED: usize = LAST_TAGGED + Bth::SIZE;
/// Bit of a beat's user field with which the MAC marks a bad frame, in the frame's last beat.
const BAD: usize = 0;
/// Opcode of a congestion notification packet.
const NOTIFICATION: u64 = cnp::OPCODE as u64;

/// A beat of a frame for the card.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct OwnBeat {
    /// Bytes of the beat as they came, the first one lowest.
    pub data: Bits<512>,
    /// Bytes of the beat that are valid, a bit each.
    pub keep: Bits<64>,
    /// The beat is the frame's first one.
    pub first: Bit,
    /// The beat is the frame's last one.
    pub last: Bit,
    /// With `last`: the MAC says that the frame is bad.
    pub bad: Bit,
    /// With `first`: the frame has a tag.
    pub tagged: Bit,
    /// With `first`: number of the frame's VLAN; 0: none.
    pub vlan: Bits<VLAN>,
    /// With `first`: bits of the beat from the IPv4 header on.
    pub headers: Bits<HEADERS>,
    /// With `first`: index of the queue pair that the frame is for.
    pub qp: Bits<QP>,
    /// With `first`: the frame is of that queue pair's partition and VLAN.
    pub member: Bit,
}

/// A beat of a frame whose owner is searched for.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
struct Looked {
    beat: RxBeat,
    /// The beat is the frame's first one.
    first: Bit,
    /// With `first`: the frame is RoCEv2 to the card's addresses; `has_tag`, `vlan`: its tag.
    mine: Bit,
    has_tag: Bit,
    vlan: Bits<VLAN>,
}

/// Separates frames. See the [module](self).
#[derive(LogicBlock, BlockDefault)]
pub struct Gate {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// The card's MAC address.
    pub mac: Signal<In, Bits<48>>,
    /// The card's IPv4 address.
    pub ip: Signal<In, Bits<32>>,
    /// Words that the host writes into tables.
    pub cfg: Flow<In, ConfigWrite>,
    /// Frames from the wire.
    pub s_axis_if_rx: AxiStream<In, RxBeat>,
    /// Frames that are not for the card, for the host.
    pub m_axis_if_rx: AxiStream<Out, RxBeat>,
    /// Beats of frames for the card.
    pub own: Flow<Out, OwnBeat>,
    /// A frame to the card's addresses is left to the host, because it is for no queue pair.
    pub count_left: Signal<Out, Bit>,

    arriving: StreamFifo<RxBeat, 2, 3>,
    leaving: StreamFifo<RxBeat, 2, 3>,
    recognise: Recognise,
    owner: Owner,
    /// The next beat is not the first one of its frame.
    inside: DFF<Bit>,
    /// The search for owners goes on by a step, and the beats with it.
    steps: Signal<Local, Bit>,
    arrived: DFF<Bit>,
    looked: [DFF<Looked>; 2],
    looks: DFF<Bit>,
    network: Ipv4Fields,
    transport: BthFields,
    unpacked: Signal<Local, Bits<HEADERS>>,

    /// The frame of the beat before is the card's.
    owned: DFF<Bit>,
    mine: Signal<Local, Bit>,
    /// The output register is free.
    advance: Signal<Local, Bit>,
    moves: Signal<Local, Bit>,
    held: DFF<Bit>,
    beat: DFF<RxBeat>,
    is_own: DFF<Bit>,
    first: DFF<Bit>,
    has_tag: DFF<Bit>,
    vlan: DFF<Bits<VLAN>>,
    headers: DFF<Bits<HEADERS>>,
    qp: DFF<Bits<QP>>,
    member: DFF<Bit>,
    left: DFF<Bit>,
}

impl Logic for Gate {
    #[hdl_gen]
    fn update(&mut self) {
        self.s_axis_if_rx.join(&mut self.arriving.input);
        self.recognise.mac.next = self.mac.val();
        self.recognise.ip.next = self.ip.val();
        self.recognise.data.next = self.arriving.output.data.val().tdata;
        self.recognise.keep.next = self.arriving.output.data.val().tkeep;

        // A beat for the card leaves the output register a cycle after it came there.
        self.advance.next =
            !self.held.q.val() || self.is_own.q.val() || self.leaving.input.ready.val();
        self.steps.next = self.advance.val() && self.owner.settled.val();
        self.arriving.output.ready.next = self.steps.val();

        // A search takes two steps.
        self.cfg.join(&mut self.owner.cfg);
        self.owner.step.next = self.steps.val();
        self.owner.search.next = self.arriving.output.valid.val()
            && !self.inside.q.val()
            && self.recognise.mine.val()
            && self.recognise.has_base.val();
        self.owner.qpn.next = self.recognise.qpn.val();
        if self.steps.val() {
            self.arrived.d.next = self.arriving.output.valid.val();
            self.looked[0].d.next.beat = self.arriving.output.data.val();
            self.looked[0].d.next.first = !self.inside.q.val();
            self.looked[0].d.next.mine = self.recognise.mine.val() && !self.inside.q.val();
            self.looked[0].d.next.has_tag = self.recognise.has_tag.val();
            self.looked[0].d.next.vlan = self.recognise.vlan.val();
            self.looks.d.next = self.arrived.q.val();
            self.looked[1].d.next = self.looked[0].q.val();
            if self.arriving.output.valid.val() {
                self.inside.d.next = !self.arriving.output.data.val().tlast;
            }
        }

        // Headers by which the owner of the frame is found.
        self.unpacked.next = self.looked[1].q.val().beat.tdata.get_bits::<HEADERS>(ETHERNET);
        if self.looked[1].q.val().has_tag {
            self.unpacked.next = bit_cast::<HEADERS, HEADERS_TAGGED>(
                self.looked[1].q.val().beat.tdata.get_bits::<HEADERS_TAGGED>(ETHERNET + TAG),
            );
        }
        self.network.received.next = self.unpacked.val().get_bits::<UDP>(0);
        self.transport.received.next = self.unpacked.val().get_bits::<BTH>(BTH_START);
        self.owner.address.transport.next = self.transport.opcode.val().get_bits::<3>(5);
        self.owner.address.notifies.next = self.transport.opcode.val() == NOTIFICATION;
        self.owner.address.pkey.next = self.transport.pkey.val();
        self.owner.address.source_ip.next = self.network.source.val();
        self.owner.address.vlan.next = self.looked[1].q.val().vlan;
        self.mine.next = self.owned.q.val();
        if self.looked[1].q.val().first {
            self.mine.next = self.looked[1].q.val().mine && self.owner.owned.val();
        }
        self.moves.next = self.looks.q.val() && self.owner.settled.val();
        self.left.d.next = self.advance.val()
            && self.moves.val()
            && self.looked[1].q.val().mine
            && !self.owner.owned.val();
        self.count_left.next = self.left.q.val();
        if self.advance.val() {
            self.held.d.next = self.moves.val();
            self.beat.d.next = self.looked[1].q.val().beat;
            self.is_own.d.next = self.mine.val();
            self.first.d.next = self.looked[1].q.val().first;
            self.has_tag.d.next = self.looked[1].q.val().has_tag;
            self.vlan.d.next = self.looked[1].q.val().vlan;
            self.headers.d.next = self.unpacked.val();
            self.qp.d.next = self.owner.qp.val();
            self.member.d.next = self.owner.member.val();
        }
        if self.advance.val() && self.moves.val() {
            self.owned.d.next = self.mine.val();
        }

        self.leaving.input.valid.next = self.held.q.val() && !self.is_own.q.val();
        self.leaving.input.data.next = self.beat.q.val();
        self.leaving.output.join(&mut self.m_axis_if_rx);
        self.own.valid.next = self.held.q.val() && self.is_own.q.val();
        self.own.data.next = self.beat.q.val().tdata;
        self.own.keep.next = self.beat.q.val().tkeep;
        self.own.last.next = self.beat.q.val().tlast;
        self.own.bad.next = self.beat.q.val().tuser.get_bit(BAD);
        self.own.first.next = self.first.q.val();
        self.own.tagged.next = self.has_tag.q.val();
        self.own.vlan.next = self.vlan.q.val();
        self.own.headers.next = self.headers.q.val();
        self.own.qp.next = self.qp.q.val();
        self.own.member.next = self.member.q.val();

        if self.rst.val() {
            self.arrived.d.next = false;
            self.looks.d.next = false;
            self.left.d.next = false;
            self.held.d.next = false;
            self.inside.d.next = false;
        }
    }
}

/// EtherType of IPv4.
const IPV4: u64 = roce::ETHERTYPE_IPV4 as u64;
/// EtherType of a tag.
const TAGGED: u64 = roce::ETHERTYPE_VLAN as u64;
/// IP protocol number of UDP.
const PROTOCOL: u64 = roce::IP_PROTOCOL_UDP as u64;
/// UDP port of RoCEv2.
const PORT: u64 = roce::UDP_PORT as u64;

/// Tells whether a first beat begins a frame that may be the card's: RoCEv2 to its MAC and IPv4 addresses, with at most
/// one 802.1Q tag. An IPv4 header with options and a fragment are the host's, whatever their bytes look like: RoCEv2
/// has neither, and only the host can put fragments together.
///
/// Combinational.
#[derive(LogicBlock, BlockDefault)]
struct Recognise {
    mac: Signal<In, Bits<48>>,
    ip: Signal<In, Bits<32>>,
    data: Signal<In, Bits<512>>,
    keep: Signal<In, Bits<64>>,
    mine: Signal<Out, Bit>,
    /// The beat has a whole base transport header.
    has_base: Signal<Out, Bit>,
    has_tag: Signal<Out, Bit>,
    vlan: Signal<Out, Bits<VLAN>>,
    /// Destination queue pair number of the base transport header.
    qpn: Signal<Out, Bits<24>>,

    link: EthernetFields,
    tag: VlanTagFields,
    network: Ipv4Fields,
    transport: UdpFields,
    base: BthFields,
    headers: Signal<Local, Bits<COMMON>>,
    ethertype: Signal<Local, Bits<16>>,
    is_roce: Signal<Local, Bit>,
    unused: Signal<Local, Bits<64>>,
    unused_data: Signal<Local, Bits<512>>,
}

impl Logic for Recognise {
    #[hdl_gen]
    fn update(&mut self) {
        self.link.received.next = self.data.val().get_bits::<ETHERNET>(0);
        self.tag.received.next = self.data.val().get_bits::<TAG>(ADDRESSES);
        self.has_tag.next = self.link.ethertype.val() == TAGGED;
        self.ethertype.next = self.link.ethertype.val();
        self.headers.next = self.data.val().get_bits::<COMMON>(ETHERNET);
        self.vlan.next = 0.into();
        if self.has_tag.val() {
            // Fields in network order.
            self.ethertype.next = (bit_cast::<16, 8>(self.data.val().get_bits::<8>(ETHERNET + 16))
                << 8)
                | bit_cast::<16, 8>(self.data.val().get_bits::<8>(ETHERNET + 24));
            self.headers.next = self.data.val().get_bits::<COMMON>(ETHERNET + TAG);
            self.vlan.next = self.tag.vid.val();
        }
        self.network.received.next = self.headers.val().get_bits::<UDP>(0);
        self.transport.received.next = self.headers.val().get_bits::<64>(UDP);
        self.base.received.next = self.headers.val().get_bits::<BTH>(BTH_START);
        self.qpn.next = self.base.dest_qp.val();
        // Of the flags only "don't fragment" may be set.
        self.is_roce.next = (self.ethertype.val() == IPV4)
            && (self.network.version.val() == 4)
            && (self.network.ihl.val() == 5)
            && ((self.network.flags.val() & 5) == 0)
            && (self.network.fragment.val() == 0)
            && (self.network.protocol.val() == PROTOCOL)
            && (self.transport.destination_port.val() == PORT)
            && ((!self.has_tag.val() && self.keep.val().get_bit(LAST))
                || self.keep.val().get_bit(LAST_TAGGED));
        self.has_base.next = (!self.has_tag.val() && self.keep.val().get_bit(BTH_LAST))
            || self.keep.val().get_bit(BTH_LAST_TAGGED);
        self.mine.next = self.is_roce.val()
            && (self.link.destination.val() == self.mac.val())
            && (self.network.destination.val() == self.ip.val());
        self.unused.next = self.keep.val();
        self.unused_data.next = self.data.val();
    }
}
