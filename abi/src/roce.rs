//! RoCEv2 on the wire: Ethernet II, IPv4, UDP and the InfiniBand transport headers
//! (IBTA 1.4 chapter 9 and annex A17).

use crate::layout;

/// UDP destination port of RoCEv2.
pub const UDP_PORT: u16 = 4791;
/// EtherType of IPv4.
pub const ETHERTYPE_IPV4: u16 = 0x0800;
/// EtherType of an 802.1Q tag.
pub const ETHERTYPE_VLAN: u16 = 0x8100;
/// IP protocol number of UDP.
pub const IP_PROTOCOL_UDP: u8 = 17;
/// The default partition key.
pub const DEFAULT_PKEY: u16 = 0xffff;
/// Time to live of the frames that the card sends.
pub const TTL: u8 = 64;
/// Size of the invariant CRC in bytes.
pub const ICRC_SIZE: usize = 4;
/// Number of bytes on a 100 Gb/s wire beside the frame: preamble and start 8, gap 12, FCS 4.
pub const WIRE_OVERHEAD: usize = 24;
/// Path MTUs, in bytes of payload.
pub const MTUS: [u32; 5] = [256, 512, 1024, 2048, 4096];

layout! {
    /// Ethernet II header.
    network struct Ethernet: 14 {
        /// Destination MAC address.
        destination: u64 = 48,
        /// Source MAC address.
        source: u64 = 48,
        /// 0x0800 for IPv4.
        ethertype: u16 = 16,
    }
}

layout! {
    /// 802.1Q tag, between the addresses and the EtherType of an Ethernet header.
    network struct VlanTag: 4 {
        /// 0x8100.
        ethertype: u16 = 16,
        /// Priority code point.
        pcp: u8 = 3,
        /// Drop eligible indicator: 0.
        dei: u8 = 1,
        /// VLAN identifier: 1 to 4,094; 0: a priority without a VLAN.
        vid: u16 = 12,
    }
}

layout! {
    /// IPv4 header without options (RFC 791).
    network struct Ipv4: 20 {
        /// 4.
        version: u8 = 4,
        /// Header length in words: 5.
        ihl: u8 = 4,
        /// Type of service.
        tos: u8 = 8,
        /// Bytes of header and payload.
        total_length: u16 = 16,
        /// Identification: 0 (atomic datagram, RFC 6864).
        identification: u16 = 16,
        /// Flags: 2, don't fragment.
        flags: u8 = 3,
        /// Fragment offset: 0.
        fragment: u16 = 13,
        /// Time to live.
        ttl: u8 = 8,
        /// 17: UDP.
        protocol: u8 = 8,
        /// Header checksum.
        checksum: u16 = 16,
        /// Source address.
        source: u32 = 32,
        /// Destination address.
        destination: u32 = 32,
    }
}

layout! {
    /// UDP header (RFC 768).
    network struct Udp: 8 {
        /// Source port: entropy for ECMP, `0xc000 | qpn & 0x3fff`.
        source_port: u16 = 16,
        /// 4791.
        destination_port: u16 = 16,
        /// Bytes of header and payload.
        length: u16 = 16,
        /// 0: not used.
        checksum: u16 = 16,
    }
}

layout! {
    /// Base transport header.
    network struct Bth: 12 {
        /// Transport (3 bits) and operation (5 bits).
        opcode: u8 = 8,
        /// Solicited event.
        solicited: u8 = 1,
        /// Migration request: 1, migrated.
        migration: u8 = 1,
        /// Pad bytes after the payload.
        pad: u8 = 2,
        /// Transport header version: 0.
        version: u8 = 4,
        /// Partition key.
        pkey: u16 = 16,
        /// FECN, BECN and reserved bits: 0, but for BECN of a [`cnp`]; masked in the ICRC.
        resv8a: u8 = 8,
        /// Destination queue pair.
        dest_qp: u32 = 24,
        /// Acknowledge request.
        ack_req: u8 = 1,
        /// 0.
        resv7: u8 = 7,
        /// Packet sequence number.
        psn: u32 = 24,
    }
}

layout! {
    /// RDMA extended transport header.
    network struct Reth: 16 {
        /// Remote virtual address.
        virtual_address: u64 = 64,
        /// Remote key.
        rkey: u32 = 32,
        /// Bytes of the whole message.
        dma_length: u32 = 32,
    }
}

layout! {
    /// Datagram extended transport header.
    network struct Deth: 8 {
        /// Queue key.
        qkey: u32 = 32,
        /// 0.
        reserved: u8 = 8,
        /// Source queue pair.
        source_qp: u32 = 24,
    }
}

layout! {
    /// Immediate data.
    network struct ImmDt: 4 {
        /// The value.
        value: u32 = 32,
    }
}

layout! {
    /// ACK extended transport header.
    network struct Aeth: 4 {
        /// [`syndrome`].
        syndrome: u8 = 8,
        /// Message sequence number.
        msn: u32 = 24,
    }
}

layout! {
    /// Atomic extended transport header.
    network struct AtomicEth: 28 {
        /// Remote virtual address, a multiple of 8.
        virtual_address: u64 = 64,
        /// Remote key.
        rkey: u32 = 32,
        /// What a compare and swap writes; what a fetch and add adds.
        swap_or_add: u64 = 64,
        /// What a compare and swap compares with.
        compare: u64 = 64,
    }
}

layout! {
    /// Atomic acknowledge extended transport header.
    network struct AtomicAckEth: 8 {
        /// The value before the operation.
        original: u64 = 64,
    }
}

layout! {
    /// Invalidate extended transport header.
    network struct Ieth: 4 {
        /// The remote key to invalidate.
        rkey: u32 = 32,
    }
}

/// AETH syndromes (IBTA 1.4 section 9.7.5.2.1, table 45 and on).
pub mod syndrome {
    /// Top three bits of the syndrome: 000 ACK, 001 RNR NAK, 011 NAK.
    pub const KIND_MASK: u8 = 0xe0;
    /// An acknowledgement; the low five bits are credits, 31 for none given.
    pub const ACK: u8 = 0x00;
    /// Receiver not ready.
    pub const RNR_NAK: u8 = 0x20;
    /// NAK: PSN sequence error.
    pub const NAK_PSN: u8 = 0x60;
    /// NAK: invalid request.
    pub const NAK_INVALID_REQUEST: u8 = 0x61;
    /// NAK: remote access error.
    pub const NAK_REMOTE_ACCESS: u8 = 0x62;
    /// NAK: remote operational error.
    pub const NAK_REMOTE_OPERATION: u8 = 0x63;
}

/// The transport of a queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Transport {
    /// Reliable connection.
    Rc = 0,
    /// Unreliable connection.
    Uc = 1,
    /// Unreliable datagram.
    Ud = 2,
}

impl Transport {
    /// All transports, in order of their codes.
    pub const ALL: [Self; 3] = [Self::Rc, Self::Uc, Self::Ud];

    /// Returns the transport with that code.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }

    /// Top three bits of the BTH opcode, in place.
    pub const fn opcode_bits(self) -> u8 {
        match self {
            Self::Rc => 0x00,
            Self::Uc => 0x20,
            Self::Ud => 0x60,
        }
    }
}

/// Congestion notification packets, CNPs (IBTA 1.4 annex A17.9.3): a BTH with BECN and number 0, and 16 B of zeros.
pub mod cnp {
    /// Opcode of the BTH.
    pub const OPCODE: u8 = 0x81;
    /// BECN, in the byte of the BTH that the ICRC does not cover.
    pub const BECN: u8 = 0x40;
    /// Number of bytes behind the BTH.
    pub const PAYLOAD: usize = 16;

    /// Rate of the link in Mb/s, which is that of a queue pair without a limit by CNPs.
    pub const LINE_RATE: u32 = 100_000;
    /// Lowest rate that is possible, in Mb/s.
    pub const LEAST_RATE: u32 = 64;
    /// Largest value of alpha, which stands for 1.
    pub const ALPHA_ONE: u32 = (1 << 16) - 1;
    /// Time of 64 B at 1 Mb/s, in 1/256 cycles: 512 bit, and 250 million cycles a second.
    pub const AT_ONE_MBPS: u32 = (512 * 250) << 8;
}

/// Congestion marks in the two low bits of an IPv4 type of service (RFC 3168).
pub mod ecn {
    /// Mask of these two bits.
    pub const MASK: u8 = 3;
    /// The packet met congestion. 1 and 2 allow that mark, 0 does not.
    pub const CONGESTED: u8 = 3;

    /// True if a queue pair with that type of service has congestion control: its packets may be
    /// marked.
    pub const fn allows_mark(tos: u8) -> bool {
        matches!(tos & MASK, 1 | 2)
    }
}

/// The low five bits of BTH opcodes (IBTA 1.4 table 38).
pub mod operation {
    /// First packet of a SEND.
    pub const SEND_FIRST: u8 = 0x00;
    /// Middle packet of a SEND.
    pub const SEND_MIDDLE: u8 = 0x01;
    /// Last packet of a SEND.
    pub const SEND_LAST: u8 = 0x02;
    /// Last packet of a SEND with immediate.
    pub const SEND_LAST_IMM: u8 = 0x03;
    /// The only packet of a SEND.
    pub const SEND_ONLY: u8 = 0x04;
    /// The only packet of a SEND with immediate.
    pub const SEND_ONLY_IMM: u8 = 0x05;
    /// First packet of an RDMA WRITE; carries a RETH.
    pub const WRITE_FIRST: u8 = 0x06;
    /// Middle packet of an RDMA WRITE.
    pub const WRITE_MIDDLE: u8 = 0x07;
    /// Last packet of an RDMA WRITE.
    pub const WRITE_LAST: u8 = 0x08;
    /// Last packet of an RDMA WRITE with immediate.
    pub const WRITE_LAST_IMM: u8 = 0x09;
    /// The only packet of an RDMA WRITE; carries a RETH.
    pub const WRITE_ONLY: u8 = 0x0a;
    /// The only packet of an RDMA WRITE with immediate; carries a RETH.
    pub const WRITE_ONLY_IMM: u8 = 0x0b;
    /// RDMA READ request; carries a RETH.
    pub const READ_REQUEST: u8 = 0x0c;
    /// First packet of a READ response; carries an AETH.
    pub const READ_RESPONSE_FIRST: u8 = 0x0d;
    /// Middle packet of a READ response.
    pub const READ_RESPONSE_MIDDLE: u8 = 0x0e;
    /// Last packet of a READ response; carries an AETH.
    pub const READ_RESPONSE_LAST: u8 = 0x0f;
    /// The only packet of a READ response; carries an AETH.
    pub const READ_RESPONSE_ONLY: u8 = 0x10;
    /// Acknowledge; carries an AETH.
    pub const ACKNOWLEDGE: u8 = 0x11;
    /// Answer to an atomic; carries an AETH and an AtomicAckETH.
    pub const ATOMIC_ACKNOWLEDGE: u8 = 0x12;
    /// Compare and swap; carries an AtomicETH.
    pub const COMPARE_AND_SWAP: u8 = 0x13;
    /// Fetch and add; carries an AtomicETH.
    pub const FETCH_AND_ADD: u8 = 0x14;
    /// Last packet of a SEND with invalidate; carries an IETH.
    pub const SEND_LAST_INVALIDATE: u8 = 0x16;
    /// The only packet of a SEND with invalidate; carries an IETH.
    pub const SEND_ONLY_INVALIDATE: u8 = 0x17;
}
