use std::convert::Infallible;

use super::*;
use crate::frame::Frame;
use drdma_abi::{Layout, roce::MTUS};
use proptest::prelude::*;

fn flow(transport: Transport, mtu: u32) -> Flow {
    Flow {
        vlan: None,
        source_mac: 0x0200_0000_0001,
        dest_mac: 0x0200_0000_0002,
        tos: 0,
        ttl: drdma_abi::roce::TTL,
        source_ip: 0x0a00_0001,
        dest_ip: 0x0a00_0002,
        qpn: 0x12,
        dest_qpn: 0x21,
        pkey: 0xffff,
        qkey: 0x1111_1111,
        transport,
        mtu,
    }
}

fn head(opcode: Opcode, len: u32) -> MessageHead {
    MessageHead { opcode, imm: 0xa1b2_c3d4, remote_addr: 0x1000, rkey: 7, len }
}

fn send(flow: &Flow, head: &MessageHead, psn: u32, message: &[u8]) -> Vec<Vec<u8>> {
    segments(head.len, flow.mtu)
        .zip(psn..)
        .map(|(segment, psn)| {
            let start = segment.offset as usize;
            let payload = &message[start..start + segment.len as usize];
            let Ok(frame) = frame(flow, head, &segment, psn, |out| {
                out.copy_from_slice(payload);
                Ok::<(), Infallible>(())
            });
            frame
        })
        .collect()
}

#[test]
fn a_message_of_the_mtu_is_one_packet_and_one_byte_more_is_two() {
    let cut = |len| segments(len, 256).map(|s| (s.offset, s.len, s.first, s.last));
    assert_eq!(cut(256).collect::<Vec<_>>(), [(0, 256, true, true)]);
    assert_eq!(cut(257).collect::<Vec<_>>(), [(0, 256, true, false), (256, 1, false, true)]);
    assert_eq!(cut(0).collect::<Vec<_>>(), [(0, 0, true, true)]);
    assert_eq!(cut(1 << 31).last(), Some(((1 << 31) - 256, 256, false, true)));
}

/// A UD SEND of "abcde" written out by hand; its CRC was computed with Python's `zlib.crc32` over
/// the masked packet.
#[test]
fn a_datagram_is_laid_out_as_the_standards_say() {
    let frame = &send(&flow(Transport::Ud, 1024), &head(Opcode::SendImm, 5), 0xfffffe, b"abcde")[0];
    let expected: [u8; 54 + 8 + 4] = [
        0x02, 0, 0, 0, 0, 0x02, 0x02, 0, 0, 0, 0, 0x01, 0x08, 0x00, // Ethernet
        0x45, 0, 0, 64, 0, 0, 0x40, 0, 64, 17, 0x26, 0xab, 10, 0, 0, 1, 10, 0, 0, 2, // IPv4
        0xc0, 0x12, 0x12, 0xb7, 0, 44, 0, 0, // UDP
        0x65, 0x70, 0xff, 0xff, 0, 0, 0, 0x21, 0, 0xff, 0xff, 0xfe, // BTH: pad 3
        0x11, 0x11, 0x11, 0x11, 0, 0, 0, 0x12, // DETH
        0xa1, 0xb2, 0xc3, 0xd4, // ImmDt
    ];
    assert_eq!(frame[..66], expected);
    assert_eq!(frame[66..74], *b"abcde\0\0\0");
    assert_eq!(frame[74..], 0xfd83_95c4_u32.to_le_bytes());
}

#[test]
fn only_the_first_packet_of_a_write_has_a_reth_and_only_the_last_immediate_data() {
    let flow = flow(Transport::Rc, 256);
    let frames = send(&flow, &head(Opcode::WriteImm, 600), 5, &[9; 600]);
    let frames: Vec<Frame<'_>> = frames.iter().map(|frame| Frame::parse(frame).unwrap()).collect();
    let opcodes: Vec<u8> = frames.iter().map(|frame| frame.bth.opcode).collect();
    assert_eq!(opcodes, [0x06, 0x07, 0x09]);
    let reth = Reth { virtual_address: 0x1000, rkey: 7, dma_length: 600 };
    assert_eq!(frames.iter().map(|f| f.reth).collect::<Vec<_>>(), [Some(reth), None, None]);
    let imm: Vec<_> = frames.iter().map(|frame| frame.imm).collect();
    assert_eq!(imm, [None, None, Some(0xa1b2_c3d4)]);
    let asks: Vec<u8> = frames.iter().map(|frame| frame.bth.ack_req).collect();
    assert_eq!(asks, [0, 0, 1]);
    assert_eq!(frames.iter().map(|frame| frame.bth.psn).collect::<Vec<_>>(), [5, 6, 7]);
}

#[test]
fn opcodes_are_those_of_table_38() {
    let cases = [
        (Transport::Rc, Opcode::Send, 100, vec![0x04]),
        (Transport::Rc, Opcode::Send, 600, vec![0x00, 0x01, 0x02]),
        (Transport::Rc, Opcode::SendImm, 100, vec![0x05]),
        (Transport::Rc, Opcode::SendImm, 300, vec![0x00, 0x03]),
        (Transport::Uc, Opcode::Write, 100, vec![0x2a]),
        (Transport::Uc, Opcode::Write, 600, vec![0x26, 0x27, 0x28]),
        (Transport::Uc, Opcode::WriteImm, 100, vec![0x2b]),
        (Transport::Ud, Opcode::Send, 100, vec![0x64]),
        (Transport::Ud, Opcode::SendImm, 100, vec![0x65]),
    ];
    for (transport, opcode, len, expected) in cases {
        let flow = flow(transport, 256);
        let frames = send(&flow, &head(opcode, len), 0, &vec![0; len as usize]);
        let opcodes: Vec<u8> =
            frames.iter().map(|frame| Bth::decode(&frame[42..]).opcode).collect();
        assert_eq!(opcodes, expected, "{transport:?} {opcode:?} of {len} B");
    }
}

#[test]
fn sequence_numbers_go_around_24_bits() {
    assert_eq!(psn_add(0xff_ffff, 1), 0);
    assert_eq!(psn_distance(0, 0xff_ffff), 1);
    assert_eq!(psn_distance(0xff_ffff, 0), -1);
    assert_eq!(psn_distance(0x7f_ffff, 0), 0x7f_ffff);
    assert_eq!(psn_distance(0x80_0000, 0), -0x80_0000);
}

proptest! {
    #[test]
    fn packets_reassemble_to_the_message(
        message in proptest::collection::vec(any::<u8>(), 1..6000),
        mtu in prop::sample::select(&MTUS[..]),
        opcode in prop::sample::select(&Opcode::ALL[..]),
        transport in prop::sample::select(vec![Transport::Rc, Transport::Uc]),
    ) {
        let flow = flow(transport, mtu);
        let frames = send(&flow, &head(opcode, message.len() as u32), 0, &message);
        let mut bytes = Vec::new();
        for (i, bytes_of_frame) in frames.iter().enumerate() {
            let frame = Frame::parse(bytes_of_frame).unwrap();
            prop_assert_eq!(frame.payload.len() == mtu as usize || i + 1 == frames.len(), true);
            prop_assert!(frame.padding.iter().all(|byte| *byte == 0));
            prop_assert_eq!(bytes_of_frame.len(), 14 + usize::from(frame.ip.total_length));
            bytes.extend_from_slice(frame.payload);
        }
        prop_assert_eq!(bytes, message);
    }
}
