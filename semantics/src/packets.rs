//! From messages to RoCEv2 frames: segmentation at the MTU, headers, padding and the invariant CRC
//! (IBTA 1.4 sections 9.3, 9.6 and annex A17).

use drdma_abi::{
    roce::{
        Bth, Deth, ETHERTYPE_IPV4, ETHERTYPE_VLAN, Ethernet, ICRC_SIZE, IP_PROTOCOL_UDP, Ieth,
        ImmDt, Ipv4, Reth, Transport, UDP_PORT, Udp, VlanTag, operation,
    },
    work_request::Opcode,
};

use crate::icrc;

/// Mask of packet sequence numbers and queue pair numbers, which have 24 bits.
pub const MASK_24: u32 = 0xff_ffff;

/// Fields that all packets of a queue pair have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The sender's MAC address.
    pub source_mac: u64,
    /// The receiver's MAC address.
    pub dest_mac: u64,
    /// The sender's IPv4 address.
    pub source_ip: u32,
    /// The receiver's IPv4 address.
    pub dest_ip: u32,
    /// IPv4 type of service.
    pub tos: u8,
    /// IPv4 time to live.
    pub ttl: u8,
    /// Tag control information of the frames' 802.1Q tags; `None`: no tags.
    pub vlan: Option<u16>,
    /// The sender's queue pair number.
    pub qpn: u32,
    /// The receiver's queue pair number.
    pub dest_qpn: u32,
    /// Partition key.
    pub pkey: u16,
    /// Queue key, for UD.
    pub qkey: u32,
    /// Transport of the queue pair.
    pub transport: Transport,
    /// Path MTU in bytes.
    pub mtu: u32,
}

impl Flow {
    /// UDP source port of the queue pair's packets.
    pub fn source_port(&self) -> u16 {
        source_port(self.qpn)
    }

    /// Number of the VLAN of the queue pair's frames, in both directions; 0 without tags.
    pub fn vlan_id(&self) -> u16 {
        self.vlan.unwrap_or(0) & VLAN_MASK
    }
}

/// Mask of the VLAN's number in a tag's control information.
const VLAN_MASK: u16 = 0xfff;
/// Largest number of bytes of extended headers in a packet of a message: DETH, RETH, ImmDt, IETH.
const EXTENDED: usize = Deth::SIZE + Reth::SIZE + ImmDt::SIZE + Ieth::SIZE;
/// Number of bytes of an Ethernet header in front of a tag.
const ADDRESSES: usize = 12;

/// UDP source port of a queue pair's packets.
pub fn source_port(qpn: u32) -> u16 {
    0xc000 | (qpn & 0x3fff) as u16
}

/// Fields that all packets of a message have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageHead {
    /// Opcode of the message.
    pub opcode: Opcode,
    /// Immediate data, sent if the opcode carries it.
    pub imm: u32,
    /// Remote address of a WRITE.
    pub remote_addr: u64,
    /// The remote key of a WRITE.
    pub rkey: u32,
    /// Length of the message in bytes.
    pub len: u32,
}

/// A piece of a message: the payload of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Offset of the segment in the message, in bytes.
    pub offset: u32,
    /// Length in bytes.
    pub len: u32,
    /// The segment is the first one of its message.
    pub first: bool,
    /// The segment is the last one of its message.
    pub last: bool,
}

/// Returns the segments of a message of `len` bytes: all of the MTU but the last. A message of no
/// bytes has one segment of no bytes.
pub fn segments(len: u32, mtu: u32) -> impl Iterator<Item = Segment> + Clone {
    let count = len.div_ceil(mtu).max(1);
    (0..count).map(move |i| Segment {
        offset: i * mtu,
        len: mtu.min(len - i * mtu),
        first: i == 0,
        last: i + 1 == count,
    })
}

/// Returns the low five bits of the BTH opcode of a segment.
pub fn operation_of(opcode: Opcode, segment: &Segment) -> u8 {
    match (opcode.is_write(), segment.first, segment.last, opcode.has_imm()) {
        (false, true, true, false) => operation::SEND_ONLY,
        (false, true, true, true) => operation::SEND_ONLY_IMM,
        (false, true, false, _) => operation::SEND_FIRST,
        (false, false, false, _) => operation::SEND_MIDDLE,
        (false, false, true, false) => operation::SEND_LAST,
        (false, false, true, true) => operation::SEND_LAST_IMM,
        (true, true, true, false) => operation::WRITE_ONLY,
        (true, true, true, true) => operation::WRITE_ONLY_IMM,
        (true, true, false, _) => operation::WRITE_FIRST,
        (true, false, false, _) => operation::WRITE_MIDDLE,
        (true, false, true, false) => operation::WRITE_LAST,
        (true, false, true, true) => operation::WRITE_LAST_IMM,
    }
}

/// A buffer of frames, one behind the other. When it is reused, its bytes are not cleared before
/// they are filled.
#[derive(Clone, Debug, Default)]
pub struct FrameBuffer {
    /// Bytes of the frames, and behind them bytes of earlier use.
    bytes: Vec<u8>,
    len: usize,
}

impl FrameBuffer {
    /// An empty buffer with room for `capacity` bytes.
    pub fn with_capacity(capacity: usize) -> Self {
        Self { bytes: Vec::with_capacity(capacity), len: 0 }
    }

    /// Number of bytes of the frames.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if there is no frame.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bytes of the frames.
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Returns the bytes of the frames without copying them.
    pub fn into_vec(mut self) -> Vec<u8> {
        self.bytes.truncate(self.len);
        self.bytes
    }

    /// Appends bytes.
    pub fn extend(&mut self, bytes: &[u8]) {
        self.grow(bytes.len()).copy_from_slice(bytes);
    }

    /// Removes all bytes behind the first `len`.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    fn reserve(&mut self, more: usize) {
        self.bytes.reserve((self.len + more).saturating_sub(self.bytes.len()));
    }

    /// Appends `more` bytes of undefined contents, to be filled.
    fn grow(&mut self, more: usize) -> &mut [u8] {
        let begin = self.len;
        self.len += more;
        if self.bytes.len() < self.len {
            self.bytes.resize(self.len, 0);
        }
        &mut self.bytes[begin..self.len]
    }
}

/// Makes the frame of one segment of a message.
///
/// `fill` is given the `segment.len` payload bytes to write; the invariant CRC is computed after it.
///
/// # Errors
/// The error of `fill`; there is no frame then.
pub fn frame<E>(
    flow: &Flow,
    message: &MessageHead,
    segment: &Segment,
    psn: u32,
    fill: impl FnOnce(&mut [u8]) -> Result<(), E>,
) -> Result<Vec<u8>, E> {
    marked_frame(flow, message, segment, psn, &Marks::default(), fill)
}

/// Header fields of the last packet of a message, beside its opcode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// The receiver's completion is a solicited one.
    pub solicited: bool,
    /// The remote key that a SEND invalidates.
    pub invalidate: Option<u32>,
}

/// Like [`frame`], with marks.
///
/// # Errors
/// The error of `fill`; there is no frame then.
pub fn marked_frame<E>(
    flow: &Flow,
    message: &MessageHead,
    segment: &Segment,
    psn: u32,
    marks: &Marks,
    fill: impl FnOnce(&mut [u8]) -> Result<(), E>,
) -> Result<Vec<u8>, E> {
    let mut frame = FrameBuffer::default();
    append_frame(&mut frame, flow, message, segment, psn, marks, fill)?;
    Ok(frame.into_vec())
}

/// Like [`marked_frame`], but appends the frame to `frames`, so that the frames of a message lie
/// one behind the other.
/// # Errors
/// The error of `fill`; `frames` is unchanged then.
pub fn append_frame<E>(
    frames: &mut FrameBuffer,
    flow: &Flow,
    message: &MessageHead,
    segment: &Segment,
    psn: u32,
    marks: &Marks,
    fill: impl FnOnce(&mut [u8]) -> Result<(), E>,
) -> Result<(), E> {
    let invalidate = marks.invalidate.filter(|_| segment.last);
    let operation = match invalidate {
        Some(_) if segment.first => operation::SEND_ONLY_INVALIDATE,
        Some(_) => operation::SEND_LAST_INVALIDATE,
        None => operation_of(message.opcode, segment),
    };
    let (mut extended, mut len) = ([0; EXTENDED], 0);
    let mut push = |header: &[u8]| {
        extended[len..len + header.len()].copy_from_slice(header);
        len += header.len();
    };
    if flow.transport == Transport::Ud {
        let source_qp = flow.qpn & MASK_24;
        push(&Deth { qkey: flow.qkey, reserved: 0, source_qp }.to_bytes());
    }
    if message.opcode.is_write() && segment.first {
        let reth = Reth {
            virtual_address: message.remote_addr,
            rkey: message.rkey,
            dma_length: message.len,
        };
        push(&reth.to_bytes());
    }
    if message.opcode.has_imm() && segment.last {
        push(&ImmDt { value: message.imm }.to_bytes());
    }
    if let Some(rkey) = invalidate {
        push(&Ieth { rkey }.to_bytes());
    }
    let bth = Bth {
        opcode: flow.transport.opcode_bits() | operation,
        solicited: u8::from(marks.solicited && segment.last),
        migration: 1,
        pkey: flow.pkey,
        dest_qp: flow.dest_qpn & MASK_24,
        ack_req: u8::from(flow.transport == Transport::Rc && segment.last),
        psn: psn & MASK_24,
        ..Bth::default()
    };
    append_assembled(frames, flow, bth, &extended[..len], segment.len as usize, fill)
}

/// Makes a frame of any opcode: BTH (whose pad count is set here), extended headers, payload.
///
/// # Errors
/// The error of `fill`; there is no frame then.
pub fn assemble<E>(
    flow: &Flow,
    bth: Bth,
    extended: &[u8],
    payload: usize,
    fill: impl FnOnce(&mut [u8]) -> Result<(), E>,
) -> Result<Vec<u8>, E> {
    let mut frame = FrameBuffer::default();
    append_assembled(&mut frame, flow, bth, extended, payload, fill)?;
    Ok(frame.into_vec())
}

/// Like [`assemble`], but appends the frame to `frames`, which an error of `fill` leaves unchanged.
fn append_assembled<E>(
    frames: &mut FrameBuffer,
    flow: &Flow,
    bth: Bth,
    extended: &[u8],
    payload: usize,
    fill: impl FnOnce(&mut [u8]) -> Result<(), E>,
) -> Result<(), E> {
    let pad = payload.wrapping_neg() % 4;
    let transport = Bth::SIZE + extended.len() + payload + pad + ICRC_SIZE;
    let mut ip = Ipv4 {
        version: 4,
        ihl: 5,
        total_length: (Ipv4::SIZE + Udp::SIZE + transport) as u16,
        tos: flow.tos,
        flags: 2,
        ttl: flow.ttl,
        protocol: IP_PROTOCOL_UDP,
        source: flow.source_ip,
        destination: flow.dest_ip,
        ..Ipv4::default()
    };
    ip.checksum = icrc::internet_checksum(&ip.to_bytes());
    let udp = Udp {
        source_port: flow.source_port(),
        destination_port: UDP_PORT,
        length: (Udp::SIZE + transport) as u16,
        checksum: 0,
    };
    let ethernet =
        Ethernet { destination: flow.dest_mac, source: flow.source_mac, ethertype: ETHERTYPE_IPV4 };
    let begin = frames.len();
    frames.reserve(Ethernet::SIZE + VlanTag::SIZE + Ipv4::SIZE + Udp::SIZE + transport);
    let ethernet = ethernet.to_bytes();
    frames.extend(&ethernet[..ADDRESSES]);
    if let Some(control) = flow.vlan {
        frames.extend(&ETHERTYPE_VLAN.to_be_bytes());
        frames.extend(&control.to_be_bytes());
    }
    frames.extend(&ethernet[ADDRESSES..]);
    let packet = frames.len();
    frames.extend(&ip.to_bytes());
    frames.extend(&udp.to_bytes());
    frames.extend(&Bth { pad: pad as u8, ..bth }.to_bytes());
    frames.extend(extended);
    if let Err(error) = fill(frames.grow(payload)) {
        frames.truncate(begin);
        return Err(error);
    }
    frames.grow(pad).fill(0);
    frames.grow(ICRC_SIZE);
    let bytes = &mut frames.bytes[packet..frames.len];
    let crc = icrc::of_packet(bytes);
    let at = bytes.len() - ICRC_SIZE;
    bytes[at..].copy_from_slice(&crc.to_le_bytes());
    Ok(())
}

/// Returns `psn + by`, modulo 2^24.
pub fn psn_add(psn: u32, by: u32) -> u32 {
    psn.wrapping_add(by) & MASK_24
}

/// Distance of `psn` ahead of `from`: -2^23 to 2^23 - 1.
pub fn psn_distance(psn: u32, from: u32) -> i32 {
    (psn.wrapping_sub(from) << 8) as i32 >> 8
}

#[cfg(test)]
#[path = "tests/packets.rs"]
mod tests;
