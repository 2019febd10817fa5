//! The invariant CRC of RoCEv2 (IBTA 1.4 annex A17.3.3).

use drdma_abi::roce::{Bth, Ethernet, ICRC_SIZE, Ipv4, Udp};

/// Bytes of headers in which the invariant CRC masks fields: IPv4, UDP, BTH.
const MASKED: usize = Ipv4::SIZE + Udp::SIZE + Bth::SIZE;

/// Number of bytes in front of these headers that stand for those of a link without Ethernet; all
/// their bits are 1.
const LINK: usize = 8;

/// Offsets in those headers of the bytes that routers may change: IPv4 TOS, TTL and checksum, the
/// UDP checksum, and the BTH byte of FECN and BECN.
const VARIANT: [usize; 7] = [1, 8, 10, 11, 26, 27, 32];

/// Computes the invariant CRC of `frame`, an Ethernet frame whose last four bytes are the place of
/// the CRC. On the wire it is little-endian.
///
/// # Panics
/// If the frame is shorter than its headers and the CRC.
pub fn of_frame(frame: &[u8]) -> u32 {
    of_packet(&frame[Ethernet::SIZE..])
}

/// Computes the invariant CRC of an IPv4 packet.
///
/// # Panics
/// If the packet is shorter than its headers and the CRC.
pub fn of_packet(packet: &[u8]) -> u32 {
    let ip = &packet[..packet.len() - ICRC_SIZE];
    let mut headers = [0xff; LINK + MASKED];
    headers[LINK..].copy_from_slice(&ip[..MASKED]);
    for offset in VARIANT {
        headers[LINK + offset] = 0xff;
    }
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&headers);
    hasher.update(&ip[MASKED..]);
    hasher.finalize()
}

/// Computes the Internet checksum (RFC 1071) of `bytes`; 0 over a header whose checksum is correct.
pub fn internet_checksum(bytes: &[u8]) -> u16 {
    let mut sum: u32 = 0;
    for pair in bytes.chunks(2) {
        sum += u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |low| u32::from(*low));
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}
