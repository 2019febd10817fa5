//! Frames from the wire: takes the card's own, passes everything else on to the host untouched.
//!
//! Sits on Corundum's `if` receive stream. A frame belongs to the card if it is RoCEv2 (IPv4 without
//! options, UDP destination port 4791) to the card's MAC and IP addresses. Of these, acknowledgements
//! (BTH opcode 0x11) whose length and ICRC are right and whose queue pair exists, in the frame's VLAN, leave as `ack`;
//! the others are dropped and counted. A frame may have one 802.1Q tag; one without, or with VLAN 0 (a priority
//! alone), is of no VLAN. With a tag an acknowledgement has two beats.
//!
//! Contract: one beat a cycle; a frame for the host comes out 4 cycles later; an acknowledgement
//! follows after 11 cycles, and a cycle later for each queue pair that is found before its own (see
//! [`Finder`]). One is looked up in 3 cycles, and such a cycle more. It stops the stream only while 48
//! acknowledgements wait to be looked up.

use crate::context::{ConfigWrite, QP, Table, TableSelect};
use crate::shell::corundum::RxBeat;
use drdma_emit::prelude::*;
use num_bigint::BigUint;

use drdma_abi::Layout;
use drdma_abi::register::QueuePairEntry;
use drdma_abi::roce;

use crate::primitive::crc32::Crc32;
use crate::primitive::fifo::Fifo;

#[cfg(test)]
mod tests;

use crate::receive::finder::Finder;
pub use crate::receive::record::Ack;

/// Bits of a beat: data, keep, last, id, destination, user.
const BEAT: usize = 512 + 64 + 1 + 16 + 16 + 128;

/// The block. See the [module](self).
#[derive(LogicBlock, BlockDefault)]
pub struct Receiver {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,

    // Words that the host writes to tables.
    /// Words that the host writes into tables.
    pub cfg: Flow<In, ConfigWrite>,
    /// The card's MAC address.
    pub mac: Signal<In, Bits<48>>,
    /// The card's IPv4 address.
    pub ip: Signal<In, Bits<32>>,

    // Frames from the wire.
    /// Frames from the wire.
    pub s_axis_if_rx: AxiStream<In, RxBeat>,

    // Frames to the host.
    /// Frames to the host.
    pub m_axis_if_rx: AxiStream<Out, RxBeat>,

    // Acknowledgements.
    /// Acknowledgements.
    pub ack: Stream<Out, Ack>,

    /// A frame of the card's was dropped.
    pub count_dropped: Signal<Out, Bits<2>>,

    arriving: Fifo<BEAT, 2, 3>,
    leaving: Fifo<BEAT, 2, 3>,
    inside: DFF<Bit>,
    taking: DFF<Bit>,
    beat: Signal<Local, Bits<BEAT>>,
    data: Signal<Local, Bits<512>>,
    keep: Signal<Local, Bits<64>>,
    ends: Signal<Local, Bit>,
    has_tag: Signal<Local, Bit>,
    /// The beat without its tag, which is a frame's first one.
    here: Signal<Local, Bits<512>>,
    /// Its VLAN.
    vlan: Signal<Local, Bits<VLAN>>,
    /// The acknowledgement that is complete with this beat, from its IP header on.
    whole: Signal<Local, Bits<ACK>>,
    whole_vlan: Signal<Local, Bits<VLAN>>,
    /// The first beat of one with a tag, and its VLAN.
    half: DFF<Bit>,
    half_here: DFF<Bits<HALF>>,
    half_vlan: DFF<Bits<VLAN>>,
    has_ack_fields: Signal<Local, Bit>,
    is_half: Signal<Local, Bit>,
    mine: Signal<Local, Bit>,
    take: Signal<Local, Bit>,
    moves: Signal<Local, Bit>,
    is_ack: Signal<Local, Bit>,
    refused: Signal<Local, Bit>,

    #[init(Crc32::new(&VARIANT))]
    crc: Crc32<COVERED>,
    side: Fifo<SIDE, 4, 5>,
    checked: DFF<Bit>,
    wrong: DFF<Bit>,
    found_crc: DFF<Bits<32>>,
    acks: Fifo<KEPT, 6, 7>,
    finder: Finder,
    found: DFF<Bit>,
    found_qp: DFF<Bits<QP>>,
    found_psn: DFF<Bits<24>>,
    found_syndrome: DFF<Bits<8>>,
    found_vlan: DFF<Bits<VLAN>>,
    /// It is of its queue pair's VLAN: known in the cycle in which it is found, and noted then.
    belongs: Signal<Local, Bit>,
    judged: DFF<Bit>,
    foreign: Signal<Local, Bit>,
    /// The VLANs of queue pairs; 0: none.
    vlans: Table<VLAN, QP>,
    select: TableSelect,
    #[init(Constant::new((QueuePairEntry::field("vlan").start as u64 / 32).into()))]
    vlan_word: Constant<Bits<4>>,
    unknown: Signal<Local, Bit>,
    unused: Signal<Local, Bits<64>>,

    #[init(Constant::new(Bits::from(BigUint::from(1_u8) << 576)))]
    last: Constant<Bits<BEAT>>,
    #[init(Constant::new(roce::UDP_PORT.to_bits()))]
    port: Constant<Bits<16>>,
    #[init(Constant::new(roce::operation::ACKNOWLEDGE.to_bits()))]
    ack_opcode: Constant<Bits<8>>,
    #[init(Constant::new(roce::IP_PROTOCOL_UDP.to_bits()))]
    udp: Constant<Bits<8>>,
    #[init(Constant::new((u64::MAX >> 2).to_bits()))]
    all_in_one: Constant<Bits<64>>,
    #[init(Constant::new(u64::MAX.to_bits()))]
    full: Constant<Bits<64>>,
}

/// Bits of a VLAN's number.
const VLAN: usize = 12;
/// Bits of an acknowledgement from its IP header on.
const ACK: usize = 384;
/// Those of them that are in the first beat of a frame with a tag.
const HALF: usize = ACK - 16;
/// Bits of an Ethernet header.
const ETHERNET: usize = 112;
/// Bits of an acknowledgement that waits for a look-up: QPN 24, PSN 24, syndrome 8, VLAN.
const KEPT: usize = 56 + VLAN;
/// The same with its ICRC.
const SIDE: usize = KEPT + 32;

/// Bits of an acknowledgement from the IP header up to the ICRC.
const HEADERS: usize = 8 * (20 + 8 + 12 + 4);
/// What the ICRC covers: 8 bytes of ones before them.
const COVERED: usize = 8 * 8 + HEADERS;

/// The bytes that the ICRC sees as ones: 8 in front, then the fields that change on the way.
const VARIANT: [usize; 15] = [0, 1, 2, 3, 4, 5, 6, 7, 9, 16, 18, 19, 34, 35, 40];

impl Logic for Receiver {
    #[hdl_gen]
    fn update(&mut self) {
        self.beat.next = bit_cast::<BEAT, 512>(self.s_axis_if_rx.tdata.val())
            | (bit_cast::<BEAT, 64>(self.s_axis_if_rx.tkeep.val()) << 512)
            | (bit_cast::<BEAT, 16>(self.s_axis_if_rx.tid.val()) << 577)
            | (bit_cast::<BEAT, 16>(self.s_axis_if_rx.tdest.val()) << 593)
            | (bit_cast::<BEAT, 128>(self.s_axis_if_rx.tuser.val()) << 609);
        if self.s_axis_if_rx.tlast.val() {
            self.beat.next = self.beat.val() | self.last.val();
        }
        self.arriving.in_valid.next = self.s_axis_if_rx.tvalid.val();
        self.arriving.in_data.next = self.beat.val();
        self.s_axis_if_rx.tready.next = self.arriving.in_ready.val();

        // Whose frame it is shows in its first beat. Network order: the first byte is lowest.
        self.data.next = self.arriving.out_data.val().get_bits::<512>(0);
        self.keep.next = self.arriving.out_data.val().get_bits::<64>(512);
        self.ends.next = self.arriving.out_data.val().get_bit(576);
        self.has_tag.next = self.data.val().get_bits::<16>(96) == 0x0081;
        self.here.next = self.data.val();
        self.vlan.next = 0.into();
        if self.has_tag.val() {
            self.here.next = bit_cast::<512, 96>(self.data.val().get_bits::<96>(0))
                | (bit_cast::<512, 384>(self.data.val().get_bits::<384>(128)) << 96);
            self.vlan.next = (bit_cast::<VLAN, 4>(self.data.val().get_bits::<4>(112)) << 8)
                | bit_cast::<VLAN, 8>(self.data.val().get_bits::<8>(120));
        }
        self.mine.next = (self.here.val().get_bits::<16>(96) == 0x0008)
            && (self.here.val().get_bits::<8>(112) == 0x45)
            && (self.here.val().get_bits::<8>(184) == self.udp.val())
            && (self.here.val().get_bits::<8>(288) == self.port.val().get_bits::<8>(8))
            && (self.here.val().get_bits::<8>(296) == self.port.val().get_bits::<8>(0))
            && ((!self.has_tag.val() && self.keep.val().get_bit(41))
                || self.keep.val().get_bit(45));
        for k in 0..6 {
            if self.here.val().get_bits::<8>(k * 8) != self.mac.val().get_bits::<8>((5 - k) * 8) {
                self.mine.next = false;
            }
        }
        for k in 0..4 {
            if self.here.val().get_bits::<8>(240 + (k * 8))
                != self.ip.val().get_bits::<8>((3 - k) * 8)
            {
                self.mine.next = false;
            }
        }
        self.take.next = (self.inside.q.val() && self.taking.q.val())
            || (!self.inside.q.val() && self.mine.val());
        // 62 bytes in one beat, with the lengths of an acknowledgement, not marked bad by the MAC; or 66 in two.
        self.has_ack_fields.next = !self.inside.q.val()
            && (self.here.val().get_bits::<16>(128) == 0x3000)
            && (self.here.val().get_bits::<16>(304) == 0x1c00)
            && (self.here.val().get_bits::<8>(336) == self.ack_opcode.val())
            && (self.here.val().get_bits::<6>(344) == 0);
        self.is_half.next = self.has_ack_fields.val()
            && self.has_tag.val()
            && !self.ends.val()
            && (self.keep.val() == self.full.val());
        self.is_ack.next = self.ends.val()
            && !self.arriving.out_data.val().get_bit(609)
            && ((self.has_ack_fields.val()
                && !self.has_tag.val()
                && (self.keep.val() == self.all_in_one.val()))
                || (self.half.q.val() && (self.keep.val() == 3)));
        self.whole.next = self.here.val().get_bits::<ACK>(ETHERNET);
        self.whole_vlan.next = self.vlan.val();
        if self.half.q.val() {
            self.whole.next = bit_cast::<ACK, HALF>(self.half_here.q.val())
                | (bit_cast::<ACK, 16>(self.data.val().get_bits::<16>(0)) << HALF as u64);
            self.whole_vlan.next = self.half_vlan.q.val();
        }
        self.leaving.in_valid.next = self.arriving.out_valid.val() && !self.take.val();
        self.leaving.in_data.next = self.arriving.out_data.val();
        self.moves.next = self.arriving.out_valid.val() && self.leaving.in_ready.val();
        if self.take.val() {
            self.moves.next = self.arriving.out_valid.val() && (self.acks.free.val() > 16);
        }
        self.arriving.out_ready.next = self.moves.val();
        self.refused.next = false;
        if self.moves.val() {
            self.inside.d.next = !self.ends.val();
            self.taking.d.next = self.take.val();
            self.half.d.next = self.take.val() && self.is_half.val();
            self.half_here.d.next = self.here.val().get_bits::<HALF>(ETHERNET);
            self.half_vlan.d.next = self.vlan.val();
            self.refused.next = self.take.val()
                && (!self.inside.q.val() || self.half.q.val())
                && !self.is_half.val()
                && !self.is_ack.val();
        }
        self.m_axis_if_rx.tvalid.next = self.leaving.out_valid.val();
        self.leaving.out_ready.next = self.m_axis_if_rx.tready.val();
        self.m_axis_if_rx.tdata.next = self.leaving.out_data.val().get_bits::<512>(0);
        self.m_axis_if_rx.tkeep.next = self.leaving.out_data.val().get_bits::<64>(512);
        self.m_axis_if_rx.tlast.next = self.leaving.out_data.val().get_bit(576);
        self.m_axis_if_rx.tid.next = self.leaving.out_data.val().get_bits::<16>(577);
        self.m_axis_if_rx.tdest.next = self.leaving.out_data.val().get_bits::<16>(593);
        self.m_axis_if_rx.tuser.next = self.leaving.out_data.val().get_bits::<128>(609);

        // The ICRC of an acknowledgement; meanwhile its fields wait: QPN, PSN, syndrome, VLAN, ICRC.
        self.crc.in_valid.next = self.moves.val() && self.take.val() && self.is_ack.val();
        self.crc.in_data.next =
            bit_cast::<COVERED, HEADERS>(self.whole.val().get_bits::<HEADERS>(0)) << 64;
        self.side.in_valid.next = self.crc.in_valid.val();
        self.side.in_data.next = (bit_cast::<SIDE, 8>(self.whole.val().get_bits::<8>(264)) << 16)
            | (bit_cast::<SIDE, 8>(self.whole.val().get_bits::<8>(272)) << 8)
            | bit_cast::<SIDE, 8>(self.whole.val().get_bits::<8>(280))
            | (bit_cast::<SIDE, 8>(self.whole.val().get_bits::<8>(296)) << 40)
            | (bit_cast::<SIDE, 8>(self.whole.val().get_bits::<8>(304)) << 32)
            | (bit_cast::<SIDE, 8>(self.whole.val().get_bits::<8>(312)) << 24)
            | (bit_cast::<SIDE, 8>(self.whole.val().get_bits::<8>(320)) << 48)
            | (bit_cast::<SIDE, VLAN>(self.whole_vlan.val()) << 56)
            | (bit_cast::<SIDE, 32>(self.whole.val().get_bits::<32>(352)) << KEPT as u64);
        self.checked.d.next = self.crc.out_valid.val();
        self.found_crc.d.next = self.crc.out_crc.val();
        self.side.out_ready.next = self.checked.q.val();
        self.acks.in_data.next = self.side.out_data.val().get_bits::<KEPT>(0);
        self.acks.in_valid.next = self.checked.q.val()
            && (self.side.out_data.val().get_bits::<32>(KEPT) == self.found_crc.q.val());
        self.wrong.d.next = self.checked.q.val() && !self.acks.in_valid.val();

        // Its queue pair.
        self.cfg.join(&mut self.finder.cfg);
        self.unused.next = bit_cast::<64, 48>(self.here.val().get_bits::<48>(48))
            | (bit_cast::<64, 16>(self.here.val().get_bits::<16>(496)) << 48);
        self.finder.qpn.next = self.acks.out_data.val().get_bits::<24>(0);
        self.finder.search.next = self.acks.out_valid.val();
        self.finder.ready.next = !self.found.q.val();
        self.acks.out_ready.next = self.finder.done.val();
        self.unknown.next = self.finder.done.val() && !self.finder.hit.val();
        // While one waits to be taken, the next one is looked up.
        self.select.valid.next = self.cfg.valid.val();
        self.select.number.next = self.cfg.table.val();
        self.select.word.next = self.cfg.word.val();
        self.vlans.write_enable.next =
            self.select.queue_pair.val() && (self.cfg.word.val() == self.vlan_word.val());
        self.vlans.write_address.next = self.cfg.index.val().get_bits::<QP>(0);
        self.vlans.write_data.next = 0.into();
        if self.cfg.data.val().get_bit(16) {
            self.vlans.write_data.next = self.cfg.data.val().get_bits::<VLAN>(0);
        }
        self.belongs.next =
            self.judged.q.val() || (self.vlans.read_data.val() == self.found_vlan.q.val());
        self.foreign.next = self.found.q.val() && !self.belongs.val();
        self.ack.valid.next = self.found.q.val() && self.belongs.val();
        self.ack.qp.next = self.found_qp.q.val();
        self.ack.psn.next = self.found_psn.q.val();
        self.ack.syndrome.next = self.found_syndrome.q.val();
        self.judged.d.next = self.ack.valid.val() && !self.ack.ready.val();
        if self.ack.ready.val() || self.foreign.val() {
            self.found.d.next = false;
        }
        if self.finder.done.val() && self.finder.hit.val() {
            self.found.d.next = true;
            self.found_qp.d.next = self.finder.qp.val();
            self.found_psn.d.next = self.acks.out_data.val().get_bits::<24>(24);
            self.found_syndrome.d.next = self.acks.out_data.val().get_bits::<8>(48);
            self.found_vlan.d.next = self.acks.out_data.val().get_bits::<VLAN>(56);
        }
        self.vlans.ahead.next = self.found_qp.d.val();

        self.count_dropped.next = 0.into();
        if self.refused.val() {
            self.count_dropped.next = self.count_dropped.val() + 1;
        }
        if self.wrong.q.val() {
            self.count_dropped.next = self.count_dropped.val() + 1;
        }
        if self.unknown.val() || self.foreign.val() {
            self.count_dropped.next = self.count_dropped.val() + 1;
        }

        if self.rst.val() {
            self.inside.d.next = false;
            self.taking.d.next = false;
            self.checked.d.next = false;
            self.wrong.d.next = false;
            self.half.d.next = false;
            self.found.d.next = false;
            self.judged.d.next = false;
        }
    }
}
