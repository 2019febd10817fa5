use std::convert::Infallible;

use drdma_abi::work_request::Opcode;

use super::*;
use crate::wire::RemoteMemory;
use drdma_semantics::packets::{self, MessageHead, segments};

const CARD: Flow = Flow {
    vlan: None,
    source_mac: 1,
    dest_mac: 2,
    tos: 0,
    ttl: drdma_abi::roce::TTL,
    source_ip: 3,
    dest_ip: 4,
    qpn: 17,
    dest_qpn: 33,
    pkey: 0xffff,
    qkey: 0x55,
    transport: Transport::Rc,
    mtu: 256,
};

fn peer(transport: Transport) -> Peer {
    Peer::new(config(transport))
}

fn config(transport: Transport) -> PeerConfig {
    PeerConfig {
        mtu: 256,
        qkey: 0x55,
        start_psn: Some(100),
        ..PeerConfig::new(transport, 2, 4, 33, 17)
    }
}

fn packets_of(flow: &Flow, opcode: Opcode, psn: u32, message: &[u8]) -> Vec<Vec<u8>> {
    let head =
        MessageHead { opcode, imm: 9, remote_addr: 0x1ffe, rkey: 7, len: message.len() as u32 };
    segments(head.len, flow.mtu)
        .zip(psn..)
        .map(|(segment, psn)| {
            let start = segment.offset as usize;
            let Ok(frame) = packets::frame(flow, &head, &segment, psn, |out| {
                out.copy_from_slice(&message[start..start + segment.len as usize]);
                Ok::<(), Infallible>(())
            });
            frame
        })
        .collect()
}

/// Returns the frames of an answer.
fn frames(answer: Answer) -> Vec<Vec<u8>> {
    match answer {
        Answer::Nothing => Vec::new(),
        Answer::Acknowledgement(frame) => vec![frame],
        Answer::Data(frames) => frames,
    }
}

/// Passes the packets to the peer, and returns the syndromes and sequence numbers of its answers.
fn give(peer: &mut Peer, packets: &[Vec<u8>]) -> Vec<(u8, u32, u32)> {
    let answers =
        packets.iter().flat_map(|bytes| frames(peer.receive(&Frame::parse(bytes).unwrap())));
    answers
        .map(|bytes| {
            let frame = Frame::parse(&bytes).unwrap();
            assert_eq!(frame.bth.dest_qp, 17);
            let aeth = frame.aeth.unwrap();
            (aeth.syndrome, frame.bth.psn, aeth.msn)
        })
        .collect()
}

#[test]
fn messages_are_put_together_and_acknowledged_once() {
    let mut peer = peer(Transport::Rc);
    let message: Vec<u8> = (0..600).map(|i| i as u8).collect();
    let packets = packets_of(&CARD, Opcode::SendImm, 100, &message);
    assert_eq!(give(&mut peer, &packets), [(31, 102, 1)]);
    let packets = packets_of(&CARD, Opcode::Write, 103, &message);
    assert_eq!(give(&mut peer, &packets), [(31, 105, 2)]);
    assert_eq!(peer.errors(), []);
    let [send, write] = peer.messages() else { panic!("two messages") };
    assert_eq!((send.kind, send.imm, send.psn, send.packets), (MessageKind::Send, Some(9), 100, 3));
    assert_eq!(send.bytes, message);
    assert_eq!(write.kind, MessageKind::Write { remote_addr: 0x1ffe, rkey: 7 });
    assert_eq!(peer.memory().read(0x1ffe, 600), message);
    assert_eq!(peer.memory().read(0x1ffd, 1), [0]);
}

#[test]
fn a_gap_is_answered_once_with_nak_60_and_the_expected_number() {
    let mut peer = peer(Transport::Rc);
    let packets = packets_of(&CARD, Opcode::Send, 100, &[1; 900]);
    assert_eq!(give(&mut peer, &packets[..1]), []);
    assert_eq!(give(&mut peer, &packets[2..]), [(0x60, 101, 0)]);
    assert_eq!(peer.errors(), [PeerError::Psn { found: 102, expected: 101 }]);
    assert_eq!(give(&mut peer, &packets[1..]), [(31, 103, 1)]);
    assert_eq!(give(&mut peer, &packets[3..]), [(31, 103, 1)], "a duplicate is acknowledged");
    assert_eq!(peer.messages().len(), 1);
}

#[test]
fn sequence_numbers_wrap_around() {
    let mut peer = Peer::new(PeerConfig { start_psn: Some(0xffffff), ..config(Transport::Rc) });
    let packets = packets_of(&CARD, Opcode::Send, 0xffffff, &[1; 300]);
    assert_eq!(give(&mut peer, &packets), [(31, 0, 1)]);
    assert_eq!(peer.errors(), []);
}

#[test]
fn writes_out_of_bounds_or_with_a_wrong_key_are_answered_with_nak_62() {
    for (addr, len, rkey, allowed) in
        [(0x1ffe, 10, 7, true), (0x1ffe, 9, 7, false), (0x1fff, 100, 7, false), (0, 9999, 8, false)]
    {
        let writable = Some(RemoteMemory { addr, len, rkey });
        let mut peer = Peer::new(PeerConfig { writable, ..config(Transport::Rc) });
        let answers = give(&mut peer, &packets_of(&CARD, Opcode::Write, 100, &[5; 10]));
        let expected = if allowed { (31, 100, 1) } else { (0x62, 100, 0) };
        assert_eq!(answers, [expected], "{len} B at {addr:#x}, key {rkey}");
        assert_eq!(peer.errors().is_empty(), allowed);
        assert_eq!(peer.messages().len(), usize::from(allowed));
    }
}

#[test]
fn peers_can_be_dead_busy_or_unwilling() {
    let packets = packets_of(&CARD, Opcode::Send, 100, &[5; 600]);
    for (behaviour, expected) in [
        (Behaviour::Dead, vec![]),
        (Behaviour::NotReady, vec![(0x20, 100, 0)]),
        (Behaviour::Refuse(0x61), vec![(0x61, 100, 0)]),
        (Behaviour::Normal, vec![(31, 102, 1)]),
    ] {
        let mut peer = Peer::new(PeerConfig { behaviour, ..config(Transport::Rc) });
        assert_eq!(give(&mut peer, &packets), expected, "{behaviour:?}");
    }
}

#[test]
fn datagrams_and_unreliable_connections_are_not_answered() {
    for (transport, opcode) in [(Transport::Ud, Opcode::Send), (Transport::Uc, Opcode::WriteImm)] {
        let mut peer = peer(transport);
        let flow = Flow { transport, ..CARD };
        assert_eq!(give(&mut peer, &packets_of(&flow, opcode, 100, &[5; 200])), []);
        assert_eq!((peer.errors(), peer.message_count(), peer.message_bytes()), (&[][..], 1, 200));
    }
}

#[test]
fn every_field_of_a_flow_is_checked() {
    let cases = [
        ("source MAC address", Flow { source_mac: 9, ..CARD }),
        ("source IPv4 address", Flow { source_ip: 9, ..CARD }),
        ("UDP source port", Flow { qpn: 18, ..CARD }),
        ("partition key", Flow { pkey: 1, ..CARD }),
    ];
    for (name, flow) in cases {
        let card = PeerConfig { card_mac: Some(1), card_ip: Some(3), ..config(Transport::Rc) };
        let mut peer = Peer::new(card);
        give(&mut peer, &packets_of(&flow, Opcode::Send, 100, &[1; 4]));
        assert!(
            matches!(peer.errors(), [PeerError::Field { field, .. }] if *field == name),
            "{name}: {:?}",
            peer.errors()
        );
    }
    let mut peer = peer(Transport::Ud);
    let flow = Flow { transport: Transport::Ud, qkey: 0x56, ..CARD };
    give(&mut peer, &packets_of(&flow, Opcode::Send, 100, &[1; 4]));
    assert_eq!(
        peer.errors(),
        [PeerError::Field { field: "queue key", found: 0x56, expected: 0x55 }]
    );
}

#[test]
fn headers_that_no_card_sends_are_noticed() {
    let good = packets_of(&CARD, Opcode::Send, 100, &[1; 3])[0].clone();
    let bytes = [
        ("IPv4 type of service", 15, 4),
        ("IPv4 identification", 19, 1),
        ("IPv4 flags", 20, 0),
        ("IPv4 time to live", 22, 63),
        ("UDP checksum", 41, 1),
        ("solicited event", 43, 0x80 | 0x40 | 0x10),
        ("migration request", 43, 0x10),
        ("BTH reserved byte", 46, 1),
        ("BTH reserved bits", 50, 0x81),
        ("acknowledge request", 50, 0),
        ("padding", 57, 1),
    ];
    for (name, at, value) in bytes {
        let mut frame = good.clone();
        frame[at] = value;
        frame[24..26].fill(0);
        let sum = drdma_semantics::icrc::internet_checksum(&frame[14..34]);
        frame[24..26].copy_from_slice(&sum.to_be_bytes());
        let crc = drdma_semantics::icrc::of_frame(&frame);
        let end = frame.len() - 4;
        frame[end..].copy_from_slice(&crc.to_le_bytes());
        let mut peer = peer(Transport::Rc);
        give(&mut peer, &[frame]);
        assert!(
            matches!(peer.errors(), [PeerError::Field { field, .. }] if *field == name),
            "{name}: {:?}",
            peer.errors()
        );
    }
}

#[test]
fn packets_that_do_not_follow_each_other_are_noticed() {
    let long = packets_of(&CARD, Opcode::Send, 100, &[1; 600]);
    let write = packets_of(&CARD, Opcode::Write, 101, &[1; 600]);
    let mut a = peer(Transport::Rc);
    give(&mut a, &[long[0].clone(), write[0].clone()]);
    assert_eq!(a.errors(), [PeerError::Sequence { opcode: 6, state: "inside a message" }]);
    let middle = packets_of(&CARD, Opcode::Send, 99, &[1; 600])[1].clone();
    let mut b = peer(Transport::Rc);
    give(&mut b, &[middle]);
    assert_eq!(b.errors(), [PeerError::Sequence { opcode: 1, state: "outside a message" }]);
    let write = packets_of(&CARD, Opcode::Write, 100, &[1; 600]);
    let mut c = peer(Transport::Rc);
    give(&mut c, &[long[0].clone(), write[1].clone()]);
    assert_eq!(c.errors(), [PeerError::Sequence { opcode: 7, state: "in another message" }]);
}

#[test]
fn a_write_of_another_length_than_announced_is_noticed() {
    let announced = packets_of(&CARD, Opcode::Write, 100, &[1; 600]);
    let shorter = packets_of(&CARD, Opcode::Write, 100, &[1; 300]);
    let mut peer = peer(Transport::Rc);
    give(&mut peer, &[announced[0].clone(), shorter[1].clone()]);
    assert_eq!(peer.errors(), [PeerError::WriteLength { found: 300, expected: 600 }]);
}

#[test]
fn packets_are_cut_at_the_mtu() {
    let flow = Flow { mtu: 512, ..CARD };
    let mut peer = peer(Transport::Rc);
    give(&mut peer, &packets_of(&flow, Opcode::Send, 100, &[1; 600]));
    assert_eq!(peer.errors(), [PeerError::Size { opcode: 0, found: 512, mtu: 256 }]);
}
