//! Frames to send, and what must become of them.

use drdma_abi::Layout as _;
use drdma_abi::register::QueuePairEntry;
use drdma_abi::roce::{Bth, ETHERTYPE_IPV4, ETHERTYPE_VLAN, Ethernet, IP_PROTOCOL_UDP};
use drdma_abi::roce::{Ipv4, Transport, UDP_PORT, Udp, VlanTag, cnp, operation};
use drdma_semantics::frame::Frame;
use drdma_semantics::icrc;
use drdma_semantics::packets::{self, Flow};
use drdma_verilated::testbench::{Beat, Random};

use super::Taken;

pub const MAC: u64 = 0x0212_3456_789a;
pub const IP: u32 = 0x0a00_0001;
/// The peer of all connections.
pub const PEER: u32 = 0x0a00_0002;
/// The queue pairs of [`frame`], for each transport: index and number.
pub const RC: (u64, u32) = (5, 0x12_3456);
pub const UC: (u64, u32) = (1000, 0x20_0457);
pub const UD: (u64, u32) = (4095, 0x30_0458);
/// A queue pair whose number has the low bits of the first one's.
pub const ALIKE: (u64, u32) = (77, 0x45_6456);
/// A queue pair in a state in which it takes no packets.
pub const IDLE: (u64, u32) = (78, 0x77_7459);

/// Entries of queue pairs that the host has written, with their indices.
pub fn queue_pairs() -> Vec<(u64, QueuePairEntry)> {
    let tagged = QueuePairEntry { vlan: 5, tagged: 1, pkey: 0x7fff, ..Default::default() };
    let plain = QueuePairEntry { vlan: 9, pkey: 0xffff, ..Default::default() };
    [
        (ALIKE, Transport::Rc, 2, tagged),
        (RC, Transport::Rc, 1, plain),
        (UC, Transport::Uc, 1, plain),
        (UD, Transport::Ud, 1, plain),
        (IDLE, Transport::Rc, 3, plain),
    ]
    .map(|((index, qpn), transport, state, entry)| {
        let transport = transport as u8;
        (index, QueuePairEntry { qpn, transport, dest_ip: PEER, state, ..entry })
    })
    .into()
}

/// The queue pair that the bytes of a frame of the card's say: a live one, and on RC and UC its peer's. A congestion
/// notification packet is for one of either of these (IBTA 1.4 annex A17.9.3).
fn owner(frame: &[u8]) -> Option<(u64, QueuePairEntry)> {
    let link = link(frame);
    let bth = Bth::decode(frame.get(link + Ipv4::SIZE + Udp::SIZE..)?.get(..Bth::SIZE)?);
    let source = Ipv4::decode(&frame[link..]).source;
    queue_pairs().into_iter().find(|(_, entry)| {
        let transports: &[Transport] = match bth.opcode >> 5 {
            0 => &[Transport::Rc],
            1 => &[Transport::Uc],
            3 => &[Transport::Ud],
            _ if bth.opcode == cnp::OPCODE => &[Transport::Rc, Transport::Uc],
            _ => return false,
        };
        let sent = transports.iter().any(|transport| entry.transport == *transport as u8);
        let peer = entry.transport == Transport::Ud as u8 || entry.dest_ip == source;
        entry.qpn == bth.dest_qp && [1, 2].contains(&entry.state) && sent && peer
    })
}

/// A frame, and the user bits of its last beat: bit 0 says that it is bad.
#[derive(Clone, Debug)]
pub struct Sent {
    pub bytes: Vec<u8>,
    pub user: u64,
}

impl Sent {
    pub fn good(bytes: Vec<u8>) -> Self {
        Self { bytes, user: 0 }
    }
}

/// Expected fate of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Host,
    /// The frame is RoCEv2 to the card's addresses, but for no queue pair: the host gets it, and it is counted.
    Left,
    /// An ACK or a NAK for its queue pair.
    Ack,
    /// A congestion notification for its queue pair.
    Notification,
    Packet,
    Dropped,
}

/// A right frame for the card.
pub fn frame(opcode: u8, vlan: Option<u16>, extended: &[u8], payload: &[u8]) -> Vec<u8> {
    let bth = Bth {
        opcode,
        solicited: payload.len() as u8 & 1,
        migration: 1,
        pkey: 0xffff,
        dest_qp: [RC, UC, RC, UD][usize::from(opcode >> 5) % 4].1,
        ack_req: opcode & 1,
        psn: 0xab_cdef,
        ..Bth::default()
    };
    assembled(&flow(vlan), bth, extended, payload)
}

pub fn flow(vlan: Option<u16>) -> Flow {
    Flow {
        source_mac: 7,
        dest_mac: MAC,
        source_ip: PEER,
        dest_ip: IP,
        tos: 0x1a,
        ttl: 61,
        vlan,
        qpn: 77,
        dest_qpn: 0,
        pkey: 0,
        qkey: 0,
        transport: Transport::Rc,
        mtu: 4096,
    }
}

pub fn assembled(flow: &Flow, bth: Bth, extended: &[u8], payload: &[u8]) -> Vec<u8> {
    packets::assemble(flow, bth, extended, payload.len(), |out| {
        out.copy_from_slice(payload);
        Ok::<(), ()>(())
    })
    .expect("nothing fails")
}

/// Bytes of a frame's link header.
pub fn link(frame: &[u8]) -> usize {
    let tagged = frame.get(12..14) == Some(&ETHERTYPE_VLAN.to_be_bytes());
    Ethernet::SIZE + if tagged { VlanTag::SIZE } else { 0 }
}

/// Makes the IPv4 checksum right.
pub fn fix_checksum(frame: &mut [u8]) {
    let link = link(frame);
    if frame.len() < link + Ipv4::SIZE {
        return;
    }
    frame[link + 10..link + 12].fill(0);
    let sum = icrc::internet_checksum(&frame[link..link + Ipv4::SIZE]);
    frame[link + 10..link + 12].copy_from_slice(&sum.to_be_bytes());
}

/// Makes the ICRC right where the IPv4 header says that the packet ends, if it is in the frame.
pub fn fix_icrc(frame: &mut [u8]) {
    let link = link(frame);
    if frame.len() < link + Ipv4::SIZE {
        return;
    }
    let total = usize::from(u16::from_be_bytes([frame[link + 2], frame[link + 3]]));
    if total < Ipv4::SIZE + Udp::SIZE + Bth::SIZE + 4 || link + total > frame.len() {
        return;
    }
    let crc = icrc::of_packet(&frame[link..link + total]);
    frame[link + total - 4..link + total].copy_from_slice(&crc.to_le_bytes());
}

/// True if a frame is RoCEv2 to the card's addresses, even if it is wrong in other ways.
pub fn is_ours(frame: &[u8]) -> bool {
    let link = link(frame);
    if frame.len() < link + Ipv4::SIZE + Udp::SIZE {
        return false;
    }
    let ethertype = u16::from_be_bytes([frame[link - 2], frame[link - 1]]);
    let ip = Ipv4::decode(&frame[link..]);
    let udp = Udp::decode(&frame[link + Ipv4::SIZE..]);
    Ethernet::decode(frame).destination == MAC
        && ethertype == ETHERTYPE_IPV4
        && (ip.version, ip.ihl, ip.flags & !2, ip.fragment) == (4, 5, 0, 0)
        && (ip.protocol, ip.destination) == (IP_PROTOCOL_UDP, IP)
        && udp.destination_port == UDP_PORT
}

/// Returns the expected fate of a frame.
pub fn fate(sent: &Sent) -> Fate {
    if !is_ours(&sent.bytes) {
        return Fate::Host;
    }
    let Some((_, entry)) = owner(&sent.bytes) else { return Fate::Left };
    let Ok(frame) = Frame::parse_any(&sent.bytes) else { return Fate::Dropped };
    if sent.user & 1 == 1 {
        return Fate::Dropped;
    }
    let fate = match frame.bth.opcode {
        operation::ACKNOWLEDGE => Fate::Ack,
        cnp::OPCODE => Fate::Notification,
        _ => return Fate::Packet,
    };
    if is_member(&entry, &frame) { fate } else { Fate::Dropped }
}

/// True if a frame is of a queue pair's partition and VLAN.
fn is_member(entry: &QueuePairEntry, frame: &Frame<'_>) -> bool {
    let keys = [entry.pkey, frame.bth.pkey];
    let vlan = if entry.tagged == 1 { entry.vlan } else { 0 };
    let partition = (keys[0] ^ keys[1]) & 0x7fff == 0 && (keys[0] | keys[1]) & 0x8000 != 0;
    partition && frame.vlan_id() == vlan
}

/// The queue pair that a congestion notification is for.
pub fn notified(sent: &Sent) -> Option<u64> {
    (fate(sent) == Fate::Notification)
        .then(|| owner(&sent.bytes).expect("it is for a queue pair").0)
}

/// The queue pair whose peer is to be notified of the congestion that a frame has met: the ECN bits are 3 (RFC 3168),
/// and it is a packet or an acknowledgement of a connection.
pub fn congested(sent: &Sent) -> Option<u64> {
    if ![Fate::Packet, Fate::Ack].contains(&fate(sent)) {
        return None;
    }
    let (qp, entry) = owner(&sent.bytes)?;
    let frame = Frame::parse_any(&sent.bytes).ok()?;
    let connected = entry.transport != Transport::Ud as u8;
    (frame.ip.tos & 3 == 3 && connected && is_member(&entry, &frame)).then_some(qp)
}

/// Checks the fields that the block gave of an ACK against the frame.
pub fn check_ack(ack: (u64, u64, u64), sent: &[u8]) {
    let frame = Frame::parse_any(sent).expect("it is right");
    let aeth = frame.aeth.expect("an ACK has one");
    let (qp, _) = owner(sent).expect("it is for a queue pair");
    assert_eq!(ack, (qp, frame.bth.psn.into(), aeth.syndrome.into()));
}

/// Checks a packet against the frame that it was made of.
///
/// # Panics
/// If the packet is not that of the frame `sent`.
pub fn check(taken: &Taken, sent: &[u8]) {
    let frame = Frame::parse_any(sent).expect("it is right");
    let packet = &taken.packet;
    let mut expected = Beat::new()
        .with("opcode", frame.bth.opcode)
        .with("solicited", frame.bth.solicited)
        .with("ack_req", frame.bth.ack_req)
        .with("padded", frame.bth.pad != 0)
        .with("pkey", frame.bth.pkey)
        .with("qpn", frame.bth.dest_qp)
        .with("qp", owner(sent).expect("it is for a queue pair").0)
        .with("psn", frame.bth.psn)
        .with("source_ip", frame.ip.source)
        .with("congested", frame.ip.tos & 3 == 3)
        .with("vlan", frame.vlan_id())
        .with("tagged", frame.tag.is_some())
        .with("bytes", frame.payload.len().min(4097) as u64)
        .with("words", sent.len().div_ceil(64).min(66) as u64);
    let offset = frame.payload.as_ptr() as usize - sent.as_ptr() as usize;
    expected.set("offset", offset as u64);
    if let Some(deth) = frame.deth {
        expected.set("qkey", deth.qkey);
        expected.set("source_qp", deth.source_qp);
    }
    if let Some(reth) = frame.reth {
        expected.set("addr", reth.virtual_address);
        expected.set("rkey", reth.rkey);
        expected.set("len", reth.dma_length);
    }
    if let Some(aeth) = frame.aeth {
        expected.set("syndrome", aeth.syndrome);
        expected.set("msn", aeth.msn);
    }
    if let Some(atomic) = frame.atomic {
        expected.set("addr", atomic.virtual_address);
        expected.set("rkey", atomic.rkey);
        expected.set("swap_or_add", atomic.swap_or_add);
        expected.set("compare", atomic.compare);
    }
    if let Some(original) = frame.original {
        expected.set("compare", original);
    }
    if let Some(rkey) = frame.invalidate {
        expected.set("rkey", rkey);
    }
    if let Some(imm) = frame.imm {
        expected.set("imm", imm);
    }
    for (name, value) in expected.fields() {
        assert_eq!(packet.get(name), value, "{name} of {frame:02x?}");
    }
    let len = sent.len().min(taken.frame.len());
    assert_eq!(taken.frame[..len], sent[..len], "the frame in the store");
    if frame.payload.len() <= 4096 {
        assert!(offset + frame.payload.len() <= taken.frame.len(), "the payload is in the store");
    }
}

/// A right frame of any opcode, often of one that the card knows.
pub fn right(random: &mut Random) -> Vec<u8> {
    let payload = match random.below(100) {
        0..70 => random.below(100),
        70..94 => random.below(600),
        94..97 => 4050 + random.below(100),
        97..98 => 4090 + random.below(5000),
        _ => 0,
    };
    let opcode = match random.below(5) {
        4 if random.chance(0.2) => cnp::OPCODE,
        4 => operation::ACKNOWLEDGE,
        0 => random.u64() as u8,
        1 => random.below(0x18) as u8,
        2 => 0x20 | random.below(12) as u8,
        _ => 0x60 | (4 + random.below(2)) as u8,
    };
    let right = match opcode {
        cnp::OPCODE => [RC, UC][random.below(2) as usize],
        _ => [RC, UC, RC, UD][usize::from(opcode >> 5) % 4],
    };
    let dest_qp = match random.below(12) {
        0 => random.below(1 << 24) as u32,
        1 => [UC, UD, IDLE][random.below(3) as usize].1,
        2 => right.1 ^ 1 << random.below(24),
        3 | 4 => ALIKE.1,
        _ => right.1,
    };
    let (vlan, pkey) = if dest_qp == ALIKE.1 { (Some(5), 0xffff) } else { (None, 0x7fff) };
    let bth = Bth {
        opcode,
        solicited: random.below(2) as u8,
        migration: random.below(2) as u8,
        pkey: if random.chance(0.7) { pkey } else { random.u64() as u16 },
        resv8a: random.u64() as u8,
        dest_qp,
        ack_req: random.below(2) as u8,
        resv7: random.below(128) as u8,
        psn: random.below(1 << 24) as u32,
        ..Bth::default()
    };
    let flow = Flow {
        source_ip: if random.chance(0.9) { PEER } else { random.u64() as u32 },
        tos: random.u64() as u8 | if random.chance(0.3) { 3 } else { 0 },
        ttl: random.u64() as u8,
        vlan: match random.below(3) {
            0 => random.chance(0.5).then(|| random.u64() as u16),
            _ => vlan,
        },
        ..flow(None)
    };
    // Headers and payload are random bytes: the opcode determines where the headers end.
    let extended = 4 * random.below(8) as usize;
    let (extended, payload) = (random.bytes(extended), random.bytes(payload as usize));
    let mut frame = assembled(&flow, bth, &extended, &payload);
    match random.below(8) {
        // Padding of a short frame, or more than that.
        0 if frame.len() < 60 => frame.resize(60, 0),
        1 => frame.extend(vec![0xa5; random.below(200) as usize]),
        _ => {}
    }
    frame
}
