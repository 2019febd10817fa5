//! Received RoCEv2 frames, read and verified.

use std::ops::Range;

use drdma_abi::roce::{
    Aeth, AtomicAckEth, AtomicEth, Bth, Deth, ETHERTYPE_IPV4, ETHERTYPE_VLAN, Ethernet, ICRC_SIZE,
    IP_PROTOCOL_UDP, Ieth, ImmDt, Ipv4, Reth, Transport, UDP_PORT, Udp, VlanTag, cnp, ecn,
    operation,
};

use crate::icrc;

/// The low five bits of the BTH opcodes of RDMA READ.
pub mod read_operation {
    use drdma_abi::roce::operation;

    /// RDMA READ request; carries a RETH.
    pub const REQUEST: u8 = operation::READ_REQUEST;
    /// First packet of a READ response; carries an AETH.
    pub const RESPONSE_FIRST: u8 = operation::READ_RESPONSE_FIRST;
    /// Middle packet of a READ response.
    pub const RESPONSE_MIDDLE: u8 = operation::READ_RESPONSE_MIDDLE;
    /// Last packet of a READ response; carries an AETH.
    pub const RESPONSE_LAST: u8 = operation::READ_RESPONSE_LAST;
    /// The only packet of a READ response; carries an AETH.
    pub const RESPONSE_ONLY: u8 = operation::READ_RESPONSE_ONLY;
}

/// Error of a frame that is not a valid RoCEv2 frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// The frame is not IPv4; the value is its EtherType.
    #[error("EtherType {0:#06x} is not IPv4")]
    NotIpv4(u16),
    /// The frame is not UDP to the port of RoCEv2.
    #[error("IP protocol {protocol}, UDP port {port} is not RoCEv2")]
    NotRoce {
        /// IP protocol number.
        protocol: u8,
        /// UDP destination port; 0 if it is not UDP.
        port: u16,
    },
    /// The frame is too short.
    #[error("a frame of {found} B where at least {needed} B are needed")]
    Truncated {
        /// Number of bytes needed.
        needed: usize,
        /// Number of bytes in the frame.
        found: usize,
    },
    /// The IPv4 header is none that RoCEv2 allows.
    #[error("IPv4 header: {field} is {value}")]
    Ip {
        /// Name of the field.
        field: &'static str,
        /// Value of the field.
        value: u16,
    },
    /// The IPv4 header's checksum is wrong.
    #[error("IPv4 checksum {found:#06x} is wrong")]
    IpChecksum {
        /// Checksum in the header.
        found: u16,
    },
    /// The lengths of frame, IPv4 and UDP do not fit together.
    #[error("frame of {frame} B, IPv4 length {ip}, UDP length {udp} do not fit together")]
    Length {
        /// Number of bytes of the frame behind the Ethernet header and its tag.
        frame: usize,
        /// IPv4 total length.
        ip: u16,
        /// UDP length.
        udp: u16,
    },
    /// The opcode is unknown.
    #[error("BTH opcode {0:#04x} is not known")]
    Opcode(u8),
    /// The transport header version is not 0.
    #[error("transport header version {0} is not 0")]
    Version(u8),
    /// There is more padding than payload, or padding that does not end on 4 bytes.
    #[error("{pad} pad bytes in a payload of {payload} B with padding")]
    Pad {
        /// BTH pad count.
        pad: u8,
        /// Number of bytes of payload and padding.
        payload: usize,
    },
    /// The invariant CRC is wrong.
    #[error("invariant CRC {found:#010x} should be {expected:#010x}")]
    Icrc {
        /// CRC in the frame.
        found: u32,
        /// Correct CRC.
        expected: u32,
    },
}

impl FrameError {
    /// True if the frame belongs to another protocol and may be valid there.
    pub fn is_other_protocol(&self) -> bool {
        matches!(self, Self::NotIpv4(_) | Self::NotRoce { .. })
    }
}

/// A RoCEv2 frame whose lengths, checksum and invariant CRC are correct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Ethernet header; `ethertype` is that behind the tag, if there is a tag.
    pub ethernet: Ethernet,
    /// 802.1Q tag, if there is one.
    pub tag: Option<VlanTag>,
    /// IPv4 header.
    pub ip: Ipv4,
    /// UDP header.
    pub udp: Udp,
    /// Base transport header.
    pub bth: Bth,
    /// Datagram extended transport header, on UD.
    pub deth: Option<Deth>,
    /// RDMA extended transport header, on the first or only packet of a WRITE, and on READ
    /// requests.
    pub reth: Option<Reth>,
    /// ACK extended transport header, on acknowledgements and READ responses.
    pub aeth: Option<Aeth>,
    /// Atomic extended transport header, on compare and swap, and fetch and add.
    pub atomic: Option<AtomicEth>,
    /// Value before the operation, on answers to atomics.
    pub original: Option<u64>,
    /// Remote key to invalidate, on the last packet of a SEND with invalidate.
    pub invalidate: Option<u32>,
    /// Immediate data, on packets that have it.
    pub imm: Option<u32>,
    /// Payload without padding.
    pub payload: &'a [u8],
    /// Padding.
    pub padding: &'a [u8],
}

/// Properties of a packet that follow from its opcode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Shape {
    reth: bool,
    aeth: bool,
    atomic: bool,
    original: bool,
    invalidate: bool,
    imm: bool,
}

/// Returns the transport of an opcode, if it is of one.
fn transport(opcode: u8) -> Option<Transport> {
    Transport::ALL.into_iter().find(|transport| transport.opcode_bits() == opcode & 0xe0)
}

/// Returns the headers that an opcode of a transport has; `None` if the operation is unknown.
fn shape(transport: Transport, opcode: u8) -> Option<Shape> {
    use operation::{
        ACKNOWLEDGE, ATOMIC_ACKNOWLEDGE, COMPARE_AND_SWAP, FETCH_AND_ADD, SEND_FIRST, SEND_LAST,
        SEND_LAST_IMM, SEND_LAST_INVALIDATE, SEND_MIDDLE, SEND_ONLY, SEND_ONLY_IMM,
        SEND_ONLY_INVALIDATE, WRITE_FIRST, WRITE_LAST, WRITE_LAST_IMM, WRITE_MIDDLE, WRITE_ONLY,
        WRITE_ONLY_IMM,
    };
    use read_operation::{REQUEST, RESPONSE_FIRST, RESPONSE_LAST, RESPONSE_MIDDLE, RESPONSE_ONLY};
    let operation = opcode & 0x1f;
    let known = match transport {
        Transport::Ud => matches!(operation, SEND_ONLY | SEND_ONLY_IMM),
        Transport::Uc => operation <= WRITE_ONLY_IMM,
        Transport::Rc => true,
    };
    let plain = Shape::default();
    let shape = match operation {
        SEND_FIRST | SEND_MIDDLE | SEND_LAST | SEND_ONLY => plain,
        WRITE_MIDDLE | WRITE_LAST | RESPONSE_MIDDLE => plain,
        SEND_LAST_IMM | SEND_ONLY_IMM | WRITE_LAST_IMM => Shape { imm: true, ..plain },
        WRITE_FIRST | WRITE_ONLY | REQUEST => Shape { reth: true, ..plain },
        WRITE_ONLY_IMM => Shape { reth: true, imm: true, ..plain },
        RESPONSE_FIRST | RESPONSE_LAST | RESPONSE_ONLY | ACKNOWLEDGE => {
            Shape { aeth: true, ..plain }
        }
        ATOMIC_ACKNOWLEDGE => Shape { aeth: true, original: true, ..plain },
        COMPARE_AND_SWAP | FETCH_AND_ADD => Shape { atomic: true, ..plain },
        SEND_LAST_INVALIDATE | SEND_ONLY_INVALIDATE => Shape { invalidate: true, ..plain },
        _ => return None,
    };
    known.then_some(shape)
}

/// Length of an EtherType in bytes.
const ETHERTYPE_BYTES: usize = 2;

/// Takes layouts from the front of a frame.
struct Reader<'a> {
    frame: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn range(&mut self, len: usize, end: usize) -> Result<Range<usize>, FrameError> {
        let needed = self.at + len;
        if needed > end {
            return Err(FrameError::Truncated { needed, found: end });
        }
        let range = self.at..needed;
        self.at = needed;
        Ok(range)
    }

    fn take<L: drdma_abi::Layout>(&mut self) -> Result<L, FrameError> {
        let range = self.range(L::SIZE, self.frame.len())?;
        Ok(L::decode(&self.frame[range]))
    }

    fn take_if<L: drdma_abi::Layout>(&mut self, there: bool) -> Result<Option<L>, FrameError> {
        if there { self.take().map(Some) } else { Ok(None) }
    }
}

impl<'a> Frame<'a> {
    /// Reads and verifies a frame, given from its Ethernet header to its invariant CRC. Bytes
    /// behind the IPv4 packet (Ethernet padding of short frames) are ignored.
    ///
    /// # Errors
    /// The first error that is found.
    pub fn parse(frame: &'a [u8]) -> Result<Self, FrameError> {
        Self::read(frame, false)
    }

    /// Like [`parse`](Self::parse), for a responder, which also answers valid frames of unknown
    /// operations: these have no headers behind the BTH.
    ///
    /// # Errors
    /// The first error that is found.
    pub fn parse_any(frame: &'a [u8]) -> Result<Self, FrameError> {
        Self::read(frame, true)
    }

    fn read(frame: &'a [u8], any_operation: bool) -> Result<Self, FrameError> {
        let mut reader = Reader { frame, at: 0 };
        let mut ethernet: Ethernet = reader.take()?;
        let mut tag = None;
        if ethernet.ethertype == ETHERTYPE_VLAN {
            // The tag begins with the bytes that would be the EtherType.
            reader.at -= ETHERTYPE_BYTES;
            tag = Some(reader.take()?);
            let at = reader.range(ETHERTYPE_BYTES, frame.len())?;
            ethernet.ethertype = u16::from_be_bytes([frame[at.start], frame[at.start + 1]]);
        }
        if ethernet.ethertype != ETHERTYPE_IPV4 {
            return Err(FrameError::NotIpv4(ethernet.ethertype));
        }
        let link = reader.at;
        let ip: Ipv4 = reader.take()?;
        if ip.protocol != IP_PROTOCOL_UDP {
            return Err(FrameError::NotRoce { protocol: ip.protocol, port: 0 });
        }
        for (field, value, right) in [
            ("version", u16::from(ip.version), 4),
            ("header length", u16::from(ip.ihl), 5),
            ("fragment offset", ip.fragment, 0),
            ("flags", u16::from(ip.flags & !2), 0),
        ] {
            if value != right {
                return Err(FrameError::Ip { field, value });
            }
        }
        if icrc::internet_checksum(&frame[link..reader.at]) != 0 {
            return Err(FrameError::IpChecksum { found: ip.checksum });
        }
        let udp: Udp = reader.take()?;
        if udp.destination_port != UDP_PORT {
            return Err(FrameError::NotRoce { protocol: ip.protocol, port: udp.destination_port });
        }
        let there = frame.len() - link;
        let total = usize::from(ip.total_length);
        if total > there || usize::from(udp.length) + Ipv4::SIZE != total {
            return Err(FrameError::Length { frame: there, ip: ip.total_length, udp: udp.length });
        }
        let frame = &frame[..link + total];
        reader.frame = frame;

        let bth: Bth = reader.take()?;
        let unknown = FrameError::Opcode(bth.opcode);
        let transport = transport(bth.opcode);
        let shape = match transport {
            Some(transport) => shape(transport, bth.opcode)
                .or(any_operation.then(Shape::default))
                .ok_or(unknown)?,
            None if bth.opcode == cnp::OPCODE => Shape::default(),
            None => return Err(unknown),
        };
        if bth.version != 0 {
            return Err(FrameError::Version(bth.version));
        }
        let deth = reader.take_if(transport == Some(Transport::Ud))?;
        let reth = reader.take_if(shape.reth)?;
        let aeth = reader.take_if(shape.aeth)?;
        let atomic = reader.take_if(shape.atomic)?;
        let original: Option<AtomicAckEth> = reader.take_if(shape.original)?;
        let invalidate: Option<Ieth> = reader.take_if(shape.invalidate)?;
        let imm: Option<ImmDt> = reader.take_if(shape.imm)?;
        let end = (frame.len() - ICRC_SIZE).max(reader.at);
        if end + ICRC_SIZE > frame.len() {
            let needed = end + ICRC_SIZE;
            return Err(FrameError::Truncated { needed, found: frame.len() });
        }
        let data = &frame[reader.at..end];
        let pad = usize::from(bth.pad);
        if pad > data.len() || !data.len().is_multiple_of(4) {
            return Err(FrameError::Pad { pad: bth.pad, payload: data.len() });
        }
        let expected = icrc::of_packet(&frame[link..]);
        let found = u32::from_le_bytes(frame[end..].try_into().expect("4 bytes"));
        if found != expected {
            return Err(FrameError::Icrc { found, expected });
        }
        let (payload, padding) = data.split_at(data.len() - pad);
        let imm = imm.map(|imm| imm.value);
        Ok(Self {
            ethernet,
            tag,
            ip,
            udp,
            bth,
            deth,
            reth,
            aeth,
            atomic,
            original: original.map(|header| header.original),
            invalidate: invalidate.map(|header| header.rkey),
            imm,
            payload,
            padding,
        })
    }

    /// Number of the frame's VLAN; 0 without a tag.
    pub fn vlan_id(&self) -> u16 {
        self.tag.map_or(0, |tag| tag.vid)
    }

    /// Transport of the packet; `None` for a congestion notification packet.
    pub fn transport(&self) -> Option<Transport> {
        transport(self.bth.opcode)
    }

    /// True for a congestion notification packet.
    pub fn is_notification(&self) -> bool {
        self.bth.opcode == cnp::OPCODE
    }

    /// True if the packet was marked as having met congestion.
    pub fn is_marked(&self) -> bool {
        self.ip.tos & ecn::MASK == ecn::CONGESTED
    }

    /// The low five bits of the opcode: [`operation`].
    pub fn operation(&self) -> u8 {
        self.bth.opcode & 0x1f
    }
}

#[cfg(test)]
#[path = "tests/frame.rs"]
mod tests;
