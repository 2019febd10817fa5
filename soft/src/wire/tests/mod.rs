use std::io;

use super::*;
use drdma_abi::{roce::Transport, work_request::Opcode};
use drdma_semantics::packets::{self, Flow, MessageHead, Segment};

/// An output whose contents the test can still read.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn frame(qpn: u32, dest_qpn: u32, psn: u32) -> Vec<u8> {
    let flow = Flow {
        vlan: None,
        source_mac: 1,
        dest_mac: 2,
        tos: 0,
        ttl: drdma_abi::roce::TTL,
        source_ip: 3,
        dest_ip: 4,
        qpn,
        dest_qpn,
        pkey: 0xffff,
        qkey: 0,
        transport: Transport::Rc,
        mtu: 1024,
    };
    let head = MessageHead { opcode: Opcode::Send, imm: 0, remote_addr: 0, rkey: 0, len: 4 };
    let segment = Segment { offset: 0, len: 4, first: true, last: true };
    packets::frame(&flow, &head, &segment, psn, |_| Ok::<(), ()>(())).unwrap()
}

#[test]
fn frames_go_to_the_peer_of_their_address_and_answers_come_back() {
    let network = Network::new();
    let ids = network.add_peers([
        PeerConfig::new(Transport::Rc, 2, 4, 33, 17),
        PeerConfig { answer_delay_ns: 500, ..PeerConfig::new(Transport::Rc, 2, 4, 34, 18) },
        // A peer with the same address as the first one, for another queue pair of the card.
        PeerConfig::new(Transport::Rc, 2, 4, 33, 19),
    ]);
    network.transmit(&frame(17, 33, 5), 1000);
    network.transmit(&frame(18, 34, 6), 1000);
    network.transmit(&frame(19, 33, 7), 1000);
    assert_eq!(ids.iter().map(|id| network.messages(*id).len()).collect::<Vec<_>>(), [1, 1, 1]);
    let answered = |bytes: Vec<u8>| {
        let frame = Frame::parse(&bytes).unwrap();
        let ethernet = (frame.ethernet.source, frame.ethernet.destination);
        assert_eq!((ethernet, frame.ip.source, frame.ip.destination), ((2, 1), 4, 3));
        frame.bth.psn
    };
    assert_eq!(network.receive(999), None);
    assert_eq!(network.receive(1000).map(answered), Some(5));
    assert_eq!(network.receive(1000).map(answered), Some(7));
    assert_eq!(network.receive(1499), None);
    assert!(network.is_receiving());
    assert_eq!(network.receive(1500).map(answered), Some(6));
    assert_eq!(network.errors(), []);
}

#[test]
fn what_reaches_nobody_is_recorded() {
    let network = Network::new();
    network.transmit(&frame(17, 33, 5), 0);
    let mut damaged = frame(17, 33, 6);
    damaged[55] ^= 1;
    network.transmit(&damaged, 0);
    network.add_peer(PeerConfig::new(Transport::Rc, 2, 4, 33, 17));
    let mut longer = frame(17, 33, 7);
    longer.push(0);
    network.transmit(&longer, 0);
    let errors = network.errors();
    assert_eq!(errors[0], WireError::NoPeer { frame: 0, mac: 2, ip: 4, qpn: 33 });
    assert!(matches!(errors[1], WireError::Frame { frame: 1, error: FrameError::Icrc { .. } }));
    assert_eq!(errors[2], WireError::Trailing { frame: 2, bytes: 1 });
    assert_eq!(errors.len(), 3);
}

#[test]
fn a_lost_frame_is_captured_but_not_delivered() {
    let network = Network::new();
    let peer = network.add_peer(PeerConfig::new(Transport::Rc, 2, 4, 33, 17));
    network.keep_frames();
    network.lose_frame(1);
    for psn in 0..3 {
        network.transmit(&frame(17, 33, psn), 0);
    }
    assert_eq!(network.frames().len(), 3);
    assert_eq!(network.messages(peer).len(), 1);
    assert_eq!(
        network.errors(),
        [WireError::Peer { qpn: 33, error: PeerError::Psn { found: 2, expected: 1 } }]
    );
}

#[test]
fn the_capture_is_read_back_with_its_nanoseconds() {
    let out = Shared::default();
    let network = Network::new();
    network.capture_to(out.clone()).unwrap();
    let frames = [(frame(1, 2, 3), 1_234_567_891), (frame(4, 5, 6), 1_234_567_892)];
    for (bytes, time_ns) in &frames {
        network.transmit(bytes, *time_ns);
    }
    network.flush_capture().unwrap();
    let bytes = out.0.lock().unwrap().clone();
    assert_eq!(bytes[..4], 0xa1b2_3c4d_u32.to_le_bytes(), "nanosecond pcap");
    let read = capture::read(&bytes).unwrap();
    let expected = frames.map(|(bytes, time_ns)| CapturedFrame { time_ns, bytes });
    assert_eq!(read, expected);
    let traffic = network.traffic();
    assert_eq!((traffic.frames, traffic.frame_bytes), (2, 124));
    assert_eq!(traffic.wire_bytes, 124 + 48);
    assert_eq!((traffic.first_ns, traffic.last_ns), (1_234_567_891, 1_234_567_892));
}

#[test]
fn a_broken_capture_is_an_error_not_a_panic() {
    assert!(capture::read(&[1, 2, 3]).is_err());
    let good = include_bytes!("../../../../tests/data/rxe-good.pcap");
    assert!(capture::read(&good[..100]).is_err());
}
