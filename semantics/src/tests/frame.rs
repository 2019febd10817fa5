use super::*;
use crate::packets;
use pcap_file::pcap::PcapReader;
use proptest::prelude::*;

/// Frames exchanged with Linux's soft-RoCE, its own answers among them.
fn recorded() -> Vec<Vec<u8>> {
    let bytes = include_bytes!("../../../tests/data/rxe-good.pcap");
    let mut reader = PcapReader::new(&bytes[..]).unwrap();
    let next = || reader.next_packet().map(|packet| packet.unwrap().data().to_vec());
    std::iter::from_fn(next).collect()
}

/// The first frame of the capture says in its payload that its invariant CRC is wrong on purpose,
/// and soft-RoCE dropped it.
#[test]
fn every_recorded_frame_verifies_but_the_one_that_was_sent_broken() {
    let frames = recorded();
    let mut good = 0;
    for (i, frame) in frames.iter().enumerate() {
        match (i, Frame::parse(frame)) {
            (0, result) => {
                let (found, expected) = (0x2947_8902, 0x2947_8903);
                assert_eq!(result, Err(FrameError::Icrc { found, expected }));
            }
            (_, Ok(_)) => good += 1,
            (_, Err(error)) => assert!(error.is_other_protocol(), "frame {i}: {error}"),
        }
    }
    assert_eq!((frames.len(), good), (22, 16));
}

#[test]
fn a_recorded_exchange_is_read_as_it_was_meant() {
    let frames = recorded();
    let write = Frame::parse(&frames[5]).unwrap();
    assert_eq!(write.transport(), Some(Transport::Rc));
    assert_eq!(write.operation(), operation::WRITE_ONLY);
    assert_eq!((write.bth.dest_qp, write.bth.psn, write.bth.ack_req), (0x12, 0x1000, 1));
    assert_eq!(write.reth.unwrap().dma_length as usize, write.payload.len());
    let ack = Frame::parse(&frames[6]).unwrap();
    assert_eq!((ack.operation(), ack.bth.psn), (operation::ACKNOWLEDGE, 0x1000));
    assert_eq!(ack.aeth.unwrap().syndrome & 0xe0, 0);
    assert_eq!(Frame::parse(&frames[17]).unwrap().aeth.unwrap().syndrome, 0x60);
    assert_eq!(Frame::parse(&frames[19]).unwrap().aeth.unwrap().syndrome, 0x62);
    let message: usize =
        frames[10..13].iter().map(|frame| Frame::parse(frame).unwrap().payload.len()).sum();
    let first = Frame::parse(&frames[10]).unwrap();
    assert_eq!(first.reth.unwrap().dma_length as usize, message);
}

/// True for bits behind the Ethernet header that no check covers: those that the invariant CRC
/// masks and that are not in the IPv4 header, which has its own checksum.
fn is_uncovered(offset: usize) -> bool {
    let (udp_checksum, resv8a) = (40..42, 46);
    udp_checksum.contains(&offset) || offset == resv8a
}

#[test]
fn flipping_any_covered_bit_of_any_recorded_frame_is_noticed() {
    for frame in recorded() {
        if Frame::parse(&frame).is_err() {
            continue;
        }
        for bit in 14 * 8..frame.len() * 8 {
            let mut flipped = frame.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let result = Frame::parse(&flipped);
            assert_eq!(result.is_ok(), is_uncovered(bit / 8), "bit {bit}: {result:?}");
        }
    }
}

#[test]
fn what_routers_change_does_not_change_the_invariant_crc() {
    let mut frame = recorded()[5].clone();
    let crc = icrc::of_frame(&frame);
    for offset in [15, 22, 24, 25, 40, 41, 46] {
        frame[offset] ^= 0x55;
        assert_eq!(icrc::of_frame(&frame), crc, "offset {offset}");
    }
    frame[16] ^= 1;
    assert_ne!(icrc::of_frame(&frame), crc);
}

#[test]
fn each_kind_of_damage_has_its_own_error() {
    let good = recorded()[5].clone();
    let damaged = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut frame = good.clone();
        change(&mut frame);
        Frame::parse(&frame).unwrap_err()
    };
    let fix_checksum = |frame: &mut Vec<u8>| {
        frame[24..26].fill(0);
        let sum = icrc::internet_checksum(&frame[14..34]);
        frame[24..26].copy_from_slice(&sum.to_be_bytes());
    };
    let fix_icrc = |frame: &mut Vec<u8>| {
        let crc = icrc::of_frame(frame);
        let at = frame.len() - 4;
        frame[at..].copy_from_slice(&crc.to_le_bytes());
    };
    assert_eq!(damaged(&|f| f[12] = 0x86), FrameError::NotIpv4(0x8600));
    assert_eq!(damaged(&|f| f[23] = 6), FrameError::NotRoce { protocol: 6, port: 0 });
    assert_eq!(damaged(&|f| f[37] = 0), FrameError::NotRoce { protocol: 17, port: 0x1200 });
    assert!(matches!(damaged(&|f| f[24] ^= 1), FrameError::IpChecksum { .. }));
    assert!(matches!(damaged(&|f| f[22] ^= 1), FrameError::IpChecksum { .. }));
    assert!(matches!(damaged(&|f| f.truncate(80)), FrameError::Length { frame: 66, .. }));
    assert!(matches!(damaged(&|f| f[39] += 4), FrameError::Length { .. }));
    assert!(matches!(damaged(&|f| f.truncate(30)), FrameError::Truncated { found: 30, .. }));
    assert!(matches!(
        damaged(&|f| {
            f[14] = 0x46;
            fix_checksum(f);
        }),
        FrameError::Ip { field: "header length", value: 6 }
    ));
    assert_eq!(damaged(&|f| f[42] = 0x1e), FrameError::Opcode(0x1e));
    assert_eq!(damaged(&|f| f[42] = 0xa0), FrameError::Opcode(0xa0));
    assert_eq!(damaged(&|f| f[43] |= 1), FrameError::Version(1));
    assert!(matches!(damaged(&|f| f[70] ^= 1), FrameError::Icrc { .. }));
    // An acknowledgement has no payload that could be padding.
    let mut ack = recorded()[6].clone();
    ack[43] |= 0x10;
    fix_icrc(&mut ack);
    assert_eq!(Frame::parse(&ack), Err(FrameError::Pad { pad: 1, payload: 0 }));
}

#[test]
fn soft_roce_and_the_model_build_the_same_frame() {
    let recorded = &recorded()[5];
    let frame = Frame::parse(recorded).unwrap();
    let flow = packets::Flow {
        vlan: None,
        source_mac: frame.ethernet.source,
        dest_mac: frame.ethernet.destination,
        tos: 0,
        ttl: drdma_abi::roce::TTL,
        source_ip: frame.ip.source,
        dest_ip: frame.ip.destination,
        qpn: u32::from(frame.udp.source_port),
        dest_qpn: frame.bth.dest_qp,
        pkey: frame.bth.pkey,
        qkey: 0,
        transport: Transport::Rc,
        mtu: 1024,
    };
    let reth = frame.reth.unwrap();
    let head = packets::MessageHead {
        opcode: drdma_abi::work_request::Opcode::Write,
        imm: 0,
        remote_addr: reth.virtual_address,
        rkey: reth.rkey,
        len: reth.dma_length,
    };
    let segment = packets::segments(head.len, 1024).next().unwrap();
    let built = packets::frame(&flow, &head, &segment, frame.bth.psn, |out| {
        out.copy_from_slice(frame.payload);
        Ok::<(), ()>(())
    })
    .unwrap();
    // The recorder numbered its IPv4 packets; the card does not. The CRC covers that number.
    let end = built.len() - 4;
    for offset in
        (0..end).filter(|offset| !(18..20).contains(offset) && *offset != 24 && *offset != 25)
    {
        assert_eq!(built[offset], recorded[offset], "offset {offset}");
    }
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(
        which in 0usize..22,
        cut in 0usize..1200,
        changes in proptest::collection::vec((0usize..1200, any::<u8>()), 0..8),
    ) {
        let mut frame = recorded()[which].clone();
        frame.truncate(cut);
        for (at, value) in changes {
            if let Some(byte) = frame.get_mut(at) {
                *byte = value;
            }
        }
        // A short frame whose lengths are adjusted as well.
        let mut fitted = frame.clone();
        if fitted.len() >= 42 {
            let total = fitted.len() - 14;
            fitted[16..18].copy_from_slice(&(total as u16).to_be_bytes());
            fitted[38..40].copy_from_slice(&((total - 20) as u16).to_be_bytes());
            fitted[24..26].fill(0);
            let sum = icrc::internet_checksum(&fitted[14..34]);
            fitted[24..26].copy_from_slice(&sum.to_be_bytes());
        }
        let _ = (Frame::parse(&frame), Frame::parse(&fitted));
    }
}

/// Layout of annex A17.9.3: opcode 0x81, BECN, PSN 0, 16 B of zeros, ICRC.
#[test]
fn a_congestion_notification_packet_is_as_the_annex_says() {
    let flow = packets::Flow {
        source_mac: 0x0200_0000_0001,
        dest_mac: 0x0200_0000_0002,
        source_ip: 0x0a00_0001,
        dest_ip: 0x0a00_0002,
        tos: 0x62,
        ttl: 64,
        vlan: None,
        qpn: 17,
        dest_qpn: 0x0012_3456,
        pkey: 0xffff,
        qkey: 0,
        transport: Transport::Rc,
        mtu: 1024,
    };
    let bytes = crate::answers::notification(&flow);
    let bth = 14 + 20 + 8;
    assert_eq!(bytes.len(), bth + 12 + 16 + 4);
    assert_eq!(bytes[bth..bth + 12], [0x81, 0x40, 0xff, 0xff, 0x40, 0x12, 0x34, 0x56, 0, 0, 0, 0]);
    assert!(bytes[bth + 12..bth + 28].iter().all(|byte| *byte == 0));
    let frame = Frame::parse(&bytes).unwrap();
    assert!(frame.is_notification() && !frame.is_marked());
    assert_eq!((frame.transport(), frame.payload.len()), (None, 16));
    // Other opcodes with these three bits belong to no transport.
    for opcode in (0x80..=0x9f).filter(|opcode| *opcode != 0x81) {
        let mut other = bytes.clone();
        other[bth] = opcode;
        assert_eq!(Frame::parse_any(&other), Err(FrameError::Opcode(opcode)));
    }
}
