//! Parses frames from the wire: the host's pass untouched, the card's become packets.
//!
//! Stands on Corundum's `if` receive stream, in front of the responder. A frame is the card's if it is RoCEv2 to the
//! card's MAC and IPv4 addresses (IPv4 without options, no fragment, UDP destination port 4791, at most one 802.1Q tag)
//! and if there is a queue pair that it is for ([`gate`]). It is written to the frame store as it comes. With its last
//! beat its lengths, IPv4 checksum and transport version are checked ([`judge`]), and the ICRC over all of it
//! ([`integrity`]). A right frame leaves as a [`Packet`] ([`packets`]). An ACK or a NAK leaves as an [`Ack`], and a
//! congestion notification packet as a pulse (`notified`); these need no place in the store. Any other frame is dropped
//! and counted, and its words in the store are given back ([`places`]). Bytes behind the IPv4 packet are padding of
//! short frames, and are not looked at.
//!
//! ```text
//!            gate --frames of others--> host
//!             |
//!   beat ---> own ---> store
//!              |\---> integrity --\
//!              |\---> judge -------+--> right? --> packets --> responder
//!               \---> headers ----/          \--> places
//! ```
//!
//! Contract: one beat a cycle, frames back to back. A frame for the host leaves 7 cycles later, a packet 12 cycles
//! after its frame's last beat, an acknowledgement 11. No frame for the card stalls the stream, except as [`gate`]
//! says: one that begins while there is no room for the longest one in the store, while 496 packets wait, or without
//! `acks_roomy`, is dropped, and counted in `count_overrun` as well. Packets come in the order of their frames;
//! `freed_valid` must come once for each of them, in the same order, when nobody needs its frame any more. The words of
//! a frame stay as they are until then.
//!
//! `rst` is the shell's reset. `card_reset`, the host's, drops the packets, empties the store and drops the card's
//! frame that is on its way; frames for the host pass on.

use drdma_abi::roce::{Aeth, Bth, Ethernet, Ipv4, Transport, Udp, VlanTag, cnp, ecn, operation};
use drdma_emit::prelude::*;

use super::record::{Ack, FRAME_WORDS, Packet, STORE_WORD, Settled, StoreWrite};
use crate::context::{ConfigWrite, QP, QueuePairIndex};
use crate::primitive::header::{AethFields, BthFields, Ipv4Fields};
use crate::shell::corundum::RxBeat;

pub mod gate;
pub mod integrity;
pub mod judge;
mod kernel;
pub mod packets;
pub mod places;
pub mod shape;
#[cfg(test)]
mod tests;

use gate::{Gate, HEADERS, VLAN};
use integrity::Integrity;
use judge::{COMMON, Judge};
use packets::{EXTENDED, Headers, Packets};
use places::Places;

/// Cycles from a frame's last beat to the verdict on it.
const VERDICT: usize = 5;
/// Bits of the number of a beat in its frame. The longest IPv4 packet ends in beat 1,024.
const BEAT: usize = 11;
/// Bits of the number of a byte in a frame.
const BYTE: usize = BEAT + 6;
/// Bits of extended headers in the first beat: of a frame without a tag, and of one with a tag.
const NEAR: usize = HEADERS - COMMON;
const NEAR_TAGGED: usize = NEAR - 8 * VlanTag::SIZE;
/// Bits of extended headers in the second beat of a frame with a tag, at most.
const FAR: usize = EXTENDED - NEAR_TAGGED;
/// Like [`FAR`], for a frame without a tag.
const FAR_UNTAGGED: usize = EXTENDED - NEAR;
/// Bytes of the link header, less one: added to the length of the IPv4 packet, they give the number of its last byte.
const LINK_LESS_ONE: u64 = Ethernet::SIZE as u64 - 1;
/// Like [`LINK_LESS_ONE`], for a frame with a tag.
const LINK_TAGGED_LESS_ONE: u64 = LINK_LESS_ONE + VlanTag::SIZE as u64;
/// First bit of the base transport header behind the link header.
const BTH_START: usize = 8 * (Ipv4::SIZE + Udp::SIZE);
/// Bits of an IPv4 header, a base transport header and an AETH.
const NETWORK: usize = 8 * Ipv4::SIZE;
const BTH: usize = 8 * Bth::SIZE;
const AETH: usize = 8 * Aeth::SIZE;
/// The opcode of an ACK or a NAK.
const ACKNOWLEDGE: u64 = (Transport::Rc.opcode_bits() | operation::ACKNOWLEDGE) as u64;
/// Opcodes of answers to READs and atomics: from the first to the last of these, except that of an ACK between them.
const FIRST_ANSWER: u64 = (Transport::Rc.opcode_bits() | operation::READ_RESPONSE_FIRST) as u64;
const LAST_ANSWER: u64 = (Transport::Rc.opcode_bits() | operation::ATOMIC_ACKNOWLEDGE) as u64;
/// First bit of the ECN field in an IPv4 header: the low bits of its second byte.
const ECN: usize = 8;
/// ECN bits of a packet that has seen congestion.
const CONGESTED: u64 = ecn::CONGESTED as u64;
/// Opcode of a congestion notification packet.
const NOTIFICATION: u64 = cnp::OPCODE as u64;
/// The high three bits of a datagram's opcode.
const UD: u64 = (Transport::Ud.opcode_bits() >> 5) as u64;

/// Parses frames. See the [module](self).
#[derive(LogicBlock, BlockDefault)]
pub struct Parser {
    // ------------------------------------------------------------------ clock and resets
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Synchronous reset of what belongs to the card.
    pub card_reset: Signal<In, Bit>,

    /// Words that the host writes into tables.
    pub cfg: Flow<In, ConfigWrite>,

    // ------------------------------------------------------------------ frames
    /// The card's MAC address.
    pub mac: Signal<In, Bits<48>>,
    /// The card's IPv4 address.
    pub ip: Signal<In, Bits<32>>,
    /// Frames from the wire.
    pub s_axis_if_rx: AxiStream<In, RxBeat>,
    /// Frames that are not for the card, for the host.
    pub m_axis_if_rx: AxiStream<Out, RxBeat>,

    // ------------------------------------------------------------------ packets
    /// Packets for the responder.
    pub packet: Stream<Out, Packet>,
    /// ACKs and NAKs that have come.
    pub ack: Flow<Out, Ack>,
    /// A packet went to `packet`: says whether it answers a READ or an atomic, and how.
    pub settled: Flow<Out, Settled>,
    /// A packet, an ACK or a NAK has met congestion, for this queue pair of RC or UC, in its partition and VLAN.
    pub congested: Flow<Out, QueuePairIndex>,
    /// A congestion notification packet has come for this queue pair.
    pub notified: Flow<Out, QueuePairIndex>,
    /// There is room for ACKs and NAKs.
    pub acks_roomy: Signal<In, Bit>,
    /// Words of frames for the frame store.
    pub write: Flow<Out, StoreWrite>,
    /// The oldest packet's frame is not needed any more.
    pub freed_valid: Signal<In, Bit>,

    // ------------------------------------------------------------------ counters
    /// Frames for the card that were dropped in this cycle.
    pub count_dropped: Signal<Out, Bits<2>>,
    /// A frame for the card was dropped for lack of room.
    pub count_overrun: Signal<Out, Bit>,
    /// A frame to the card's addresses was left to the host, because it is for no queue pair.
    pub count_left: Signal<Out, Bit>,

    gate: Gate,
    integrity: Integrity,
    judge: Judge,
    packets: Packets,
    places: Places,
    reset: Signal<Local, Bit>,

    // A beat of a frame for the card, and the fields of the frame's first beats.
    here: DFF<Bit>,
    own: DFF<Beat>,
    index: DFF<Bits<BEAT>>,
    has_tag: DFF<Bit>,
    vlan: DFF<Bits<VLAN>>,
    headers: DFF<Bits<HEADERS>>,
    second: DFF<Bits<FAR>>,
    admitted: DFF<Bit>,
    qp: DFF<Bits<QP>>,
    member: DFF<Bit>,
    length: Ipv4Fields,
    /// Number of the last byte of the IPv4 packet in its frame.
    end: DFF<Bits<BYTE>>,
    /// The byte `end` has come with an earlier beat.
    reached: DFF<Bit>,
    /// The frame's first word in the store.
    start: DFF<Bits<STORE_WORD>>,
    kept: Signal<Local, Bit>,
    is_end: Signal<Local, Bit>,
    whole: Signal<Local, Bit>,
    first_word: Signal<Local, Bits<STORE_WORD>>,
    stored: Signal<Local, Bit>,
    words: Signal<Local, Bits<FRAME_WORDS>>,

    // The frame's headers, until the verdict.
    network: Ipv4Fields,
    bth: BthFields,
    known: Signals<Local, Headers>,
    ended: [DFF<Bit>; VERDICT],
    waiting: [DFF<Headers>; VERDICT],
    is_ack: [DFF<Bit>; VERDICT],
    is_notification: [DFF<Bit>; VERDICT],
    is_datagram: [DFF<Bit>; VERDICT],
    members: [DFF<Bit>; VERDICT],
    aeth: AethFields,
    right: Signal<Local, Bit>,
    for_packet: Signal<Local, Bit>,
    acknowledged: Signal<Local, Bit>,
    notifies: Signal<Local, Bit>,
    answer_offset: Signal<Local, Bits<7>>,
    wrong: Signal<Local, Bit>,
    overrun: Signal<Local, Bit>,
}

/// Fields that are kept of every beat.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
struct Beat {
    data: Bits<512>,
    keep: Bits<64>,
    first: Bit,
    last: Bit,
    bad: Bit,
}
