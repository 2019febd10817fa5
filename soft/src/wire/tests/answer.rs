use drdma_abi::roce::{AtomicEth, Reth, TTL, Transport, syndrome};
use drdma_semantics::{
    answers,
    frame::Frame,
    packets::{self, Flow, MessageHead},
};

use super::*;
use crate::wire::{
    Network, Peer, PeerConfig, RemoteMemory,
    sparse::{content, content_at},
};

const ADDR: u64 = 0x1003;
const RKEY: u32 = 7;
const CARD: Flow = Flow {
    vlan: None,
    source_mac: 1,
    dest_mac: 2,
    tos: 0,
    ttl: TTL,
    source_ip: 3,
    dest_ip: 4,
    qpn: 17,
    dest_qpn: 33,
    pkey: 0xffff,
    qkey: 0,
    transport: Transport::Rc,
    mtu: 256,
};

fn config() -> PeerConfig {
    PeerConfig {
        mtu: 256,
        start_psn: Some(100),
        readable: Some(RemoteMemory { addr: ADDR, len: 1000, rkey: RKEY }),
        ..PeerConfig::new(Transport::Rc, 2, 4, 33, 17)
    }
}

fn read(addr: u64, len: u32, rkey: u32, psn: u32) -> Vec<u8> {
    let reth = Reth { virtual_address: addr, rkey, dma_length: len };
    answers::read_request(&CARD, psn, &reth)
}

fn atomic(swap: bool, addr: u64, swap_or_add: u64, compare: u64, psn: u32) -> Vec<u8> {
    let eth = AtomicEth { virtual_address: addr, rkey: RKEY, swap_or_add, compare };
    answers::atomic_request(&CARD, psn, swap, &eth)
}

fn data(peer: &mut Peer, bytes: &[u8]) -> Vec<Vec<u8>> {
    match peer.receive(&Frame::parse(bytes).unwrap()) {
        Answer::Data(frames) => frames,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_read_is_answered_with_the_bytes_that_lie_there() {
    let mut peer = Peer::new(config());
    let frames = data(&mut peer, &read(ADDR + 4, 600, RKEY, 100));
    let frames: Vec<_> = frames.iter().map(|frame| Frame::parse(frame).unwrap()).collect();
    let found: Vec<_> = frames.iter().map(|frame| (frame.bth.psn, frame.operation())).collect();
    assert_eq!(found, [(100, 13), (101, 14), (102, 15)]);
    let bytes: Vec<u8> = frames.iter().flat_map(|frame| frame.payload.to_vec()).collect();
    let mut expected = vec![0; 600];
    content_at(ADDR + 4, &mut expected);
    assert_eq!(bytes, expected);
    assert_ne!(bytes[..8], bytes[8..16], "each word is another");
    // The READ took three sequence numbers; one of no bytes takes one.
    assert_eq!(data(&mut peer, &read(ADDR, 0, RKEY, 103)).len(), 1);
    assert_eq!(data(&mut peer, &read(ADDR, 1, RKEY, 104)).len(), 1);
    assert_eq!(peer.errors(), []);
    assert_eq!(peer.answered(), Answered { reads: 3, read_bytes: 601, atomics: 0 });
    assert_eq!(peer.message_count(), 0);
}

#[test]
fn atomics_change_the_memory_that_reads_see() {
    let mut peer = Peer::new(config());
    let at = 0x1008;
    let base = content(at);
    let mut original = |bytes: Vec<u8>| {
        let frames = data(&mut peer, &bytes);
        Frame::parse(&frames[0]).unwrap().original.unwrap()
    };
    assert_eq!(original(atomic(false, at, 5, 0, 100)), base);
    assert_eq!(original(atomic(true, at, 9, base, 101)), base.wrapping_add(5), "not swapped");
    assert_eq!(original(atomic(true, at, 9, base.wrapping_add(5), 102)), base.wrapping_add(5));
    assert_eq!(original(atomic(false, at, u64::MAX, 0, 103)), 9);
    let frames = data(&mut peer, &read(at, 16, RKEY, 104));
    let mut expected = vec![0; 16];
    content_at(at, &mut expected);
    expected[..8].copy_from_slice(&8u64.to_le_bytes());
    assert_eq!(Frame::parse(&frames[0]).unwrap().payload, expected);
    assert_eq!(peer.errors(), []);
    assert_eq!(peer.answered(), Answered { reads: 1, read_bytes: 16, atomics: 4 });
}

#[test]
fn what_no_key_opens_is_refused_and_told() {
    for (bytes, code, text) in [
        (
            read(ADDR, 1001, RKEY, 100),
            syndrome::NAK_REMOTE_ACCESS,
            "a READ of 1001 B at 0x1003 with key 0x7 is not allowed",
        ),
        (
            read(ADDR, 1, 8, 100),
            syndrome::NAK_REMOTE_ACCESS,
            "a READ of 1 B at 0x1003 with key 0x8 is not allowed",
        ),
        (
            atomic(true, 0x1000, 0, 0, 100),
            syndrome::NAK_REMOTE_ACCESS,
            "a compare and swap of 8 B at 0x1000 with key 0x7 is not allowed",
        ),
        (
            atomic(false, 0x100c, 0, 0, 100),
            syndrome::NAK_INVALID_REQUEST,
            "a fetch and add at 0x100c, which is no multiple of 8",
        ),
    ] {
        let mut peer = Peer::new(config());
        let Answer::Acknowledgement(nak) = peer.receive(&Frame::parse(&bytes).unwrap()) else {
            panic!("{text}");
        };
        assert_eq!(Frame::parse(&nak).unwrap().aeth.unwrap().syndrome, code, "{text}");
        let errors: Vec<_> = peer.errors().iter().map(ToString::to_string).collect();
        assert_eq!(errors, [text]);
        assert_eq!(peer.answered(), Answered::default());
    }
    // A peer without readable memory.
    let mut peer = Peer::new(PeerConfig { readable: None, ..config() });
    let answer = peer.receive(&Frame::parse(&read(ADDR, 1, RKEY, 100)).unwrap());
    assert_eq!((answer, peer.errors().len()), (Answer::Nothing, 1));
}

#[test]
fn data_arrive_at_the_rate_of_the_link_and_no_acknowledgement_overtakes_them() {
    let network = Network::new();
    network.add_peer(PeerConfig { readable: config().readable, ..config() });
    network.transmit(&read(ADDR, 512, RKEY, 100), 1000);
    let head = MessageHead {
        opcode: drdma_abi::work_request::Opcode::Send,
        imm: 0,
        remote_addr: 0,
        rkey: 0,
        len: 1,
    };
    let segment = packets::segments(1, CARD.mtu).next().unwrap();
    let Ok(send) = packets::frame(&CARD, &head, &segment, 102, |_| Ok::<(), Infallible>(()));
    network.transmit(&send, 1000);
    // 256 B behind headers of 58 B, an ICRC of 4 B and 24 B of preamble, gap and FCS.
    let frame_ns = |payload: f64| (payload + 58.0 + 4.0 + 24.0) * 0.08;
    let mut arrivals = Vec::new();
    while let Some(at) = network.next_arrival() {
        let frame = network.receive(at).unwrap();
        arrivals.push((at, Frame::parse(&frame).unwrap().bth.psn));
    }
    let second = (1000.0 + 2.0 * frame_ns(256.0)).ceil() as u64;
    assert_eq!(
        arrivals,
        [((1000.0 + frame_ns(256.0)).ceil() as u64, 100), (second, 101), (second, 102)]
    );
    assert_eq!(network.errors(), []);
}
