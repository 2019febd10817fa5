//! RoCEv2 frames, byte by byte.

use serde_json::Value;

/// One end's addresses.
#[derive(Clone, Copy, Debug)]
pub struct Endpoint {
    mac: [u8; 6],
    ip: [u8; 4],
}

impl Endpoint {
    /// Reads a job's `mac` and `ip`.
    pub fn of(mac: &Value, ip: &Value) -> Self {
        let byte = |text: &str| u8::from_str_radix(text, 16).expect("hexadecimal");
        let mac: Vec<u8> = mac.as_str().expect("a MAC").split(':').map(byte).collect();
        let ip: std::net::Ipv4Addr = ip.as_str().expect("an address").parse().expect("IPv4");
        Self { mac: mac.try_into().expect("six bytes"), ip: ip.octets() }
    }
}

/// Fields of the base transport header, and of the headers before it.
#[derive(Clone, Copy, Debug)]
pub struct Transport {
    /// The sender's queue pair.
    pub qpn: u32,
    /// The receiver's queue pair.
    pub dest_qpn: u32,
    /// The whole opcode.
    pub opcode: u8,
    /// True if an acknowledgement is asked for.
    pub ack: bool,
    /// Packet sequence number.
    pub psn: u32,
    /// The IPv4 header's type of service and time to live.
    pub service: (u8, u8),
    /// The 802.1Q tag's control information.
    pub vlan: Option<u16>,
}

/// Bytes before the base transport header, in a frame without a tag.
const BTH: usize = 14 + 20 + 8;

/// Offset of the base transport header.
fn bth(frame: &[u8]) -> usize {
    if frame[12..14] == [0x81, 0] { BTH + 4 } else { BTH }
}

/// A whole frame, without FCS. `headers` are those between the base transport header and the
/// payload.
pub fn build(
    from: &Endpoint,
    to: &Endpoint,
    transport: &Transport,
    headers: &[u8],
    payload: &[u8],
) -> Vec<u8> {
    let pad = (4 - payload.len() % 4) % 4;
    let udp_len = 8 + 12 + headers.len() + payload.len() + pad + 4;
    let mut frame = Vec::new();
    frame.extend(to.mac);
    frame.extend(from.mac);
    frame.extend([0x08, 0x00]);

    let (tos, ttl) = transport.service;
    frame.extend([0x45, tos]);
    frame.extend((20 + udp_len as u16).to_be_bytes());
    frame.extend([0, 0, 0x40, 0, ttl, 17, 0, 0]);
    frame.extend(from.ip);
    frame.extend(to.ip);
    let checksum = internet_checksum(&frame[14..34]);
    frame[24..26].copy_from_slice(&checksum.to_be_bytes());

    frame.extend((0xc000 | (transport.qpn & 0x3fff) as u16).to_be_bytes());
    frame.extend(4791u16.to_be_bytes());
    frame.extend((udp_len as u16).to_be_bytes());
    frame.extend([0, 0]);

    frame.extend([transport.opcode, 0x40 | (pad as u8) << 4, 0xff, 0xff]);
    frame.extend(transport.dest_qpn.to_be_bytes());
    frame.extend((transport.psn | u32::from(transport.ack) << 31).to_be_bytes());
    frame.extend(headers);
    frame.extend(payload);
    frame.extend(vec![0; pad]);
    frame.extend(icrc(&frame));
    if let Some(control) = transport.vlan {
        let tag = [0x8100, control].map(u16::to_be_bytes);
        frame.splice(12..12, tag.into_iter().flatten());
    }
    frame
}

fn internet_checksum(header: &[u8]) -> u16 {
    let mut sum: u32 =
        header.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// The invariant CRC of a frame without it (InfiniBand annex A17).
fn icrc(frame: &[u8]) -> [u8; 4] {
    let mut covered = vec![0xff; 8];
    covered.extend(&frame[14..]);
    let ip = 8;
    // Type of service, time to live, header checksum, UDP checksum, and the byte of FECN and BECN.
    for masked in [1, 8, 10, 11, 20 + 6, 20 + 7, 20 + 8 + 4] {
        covered[ip + masked] = 0xff;
    }
    let mut crc = u32::MAX;
    for byte in covered {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = crc >> 1 ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 };
        }
    }
    (!crc).to_le_bytes()
}

/// The queue pair that a frame is for.
pub fn dest_qpn(frame: &[u8]) -> u32 {
    let at = bth(frame);
    u32::from_be_bytes([0, frame[at + 5], frame[at + 6], frame[at + 7]])
}

/// The opcode of a frame.
pub fn opcode(frame: &[u8]) -> u8 {
    frame[bth(frame)]
}

/// The packet sequence number of a frame.
pub fn psn(frame: &[u8]) -> u32 {
    let at = bth(frame);
    u32::from_be_bytes([0, frame[at + 9], frame[at + 10], frame[at + 11]])
}

/// The payload of a frame that has `headers` bytes between base transport header and payload.
pub fn payload(frame: &[u8], headers: usize) -> &[u8] {
    let at = bth(frame);
    let pad = usize::from(frame[at + 1] >> 4 & 3);
    &frame[at + 12 + headers..frame.len() - 4 - pad]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expect::unhex;

    #[test]
    fn a_frame_carries_what_it_was_built_from() {
        let end = |n: u8| Endpoint { mac: [2, 0, 0, 0, 0, n], ip: [10, 0, 0, n] };
        let transport = Transport {
            qpn: 17,
            dest_qpn: 33,
            opcode: 4,
            ack: true,
            psn: 0xffffff,
            service: (0, 64),
            vlan: None,
        };
        let frame = build(&end(1), &end(2), &transport, &[], b"hello");
        let head = "020000000002020000000001080045000034000040004011\
                    26b70a0000010a000002c01112b700200000\
                    0470ffff0000002180ffffff";
        assert_eq!(frame[..BTH + 12], unhex(head), "{}", crate::expect::hex(&frame));
        assert_eq!(frame.len(), BTH + 12 + 8 + 4);
        assert_eq!(dest_qpn(&frame), 33);
        assert_eq!(psn(&frame), 0xffffff);
        assert_eq!(payload(&frame, 0), b"hello");
        let tagged = Transport { vlan: Some(0x6007), ..transport };
        let tagged = build(&end(1), &end(2), &tagged, &[], b"hello");
        assert_eq!(tagged[12..16], [0x81, 0, 0x60, 7]);
        assert_eq!([&tagged[..12], &tagged[16..]].concat(), frame);
        assert_eq!((dest_qpn(&tagged), psn(&tagged)), (33, 0xffffff));
        assert_eq!(payload(&tagged, 0), b"hello");
    }
}
