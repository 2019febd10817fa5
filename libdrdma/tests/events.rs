//! Asynchronous events of one card: the reference model and the simulated hardware, a file descriptor, a card that
//! fails.

mod common;

use std::{
    convert::Infallible,
    os::fd::AsFd,
    thread,
    time::{Duration, Instant},
};

use common::Fake;
use drdma_abi::work_request::Opcode;
use drdma_semantics::packets::{self, Flow, MessageHead, segments};
use libdrdma::{
    Access, AsyncEvent, Context, MacAddress, Options, QueuePair, QueuePairAttributes,
    QueuePairState, ReceiveRequest, Transport,
    network::{Network, PeerConfig},
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

const LONG: Duration = Duration::from_secs(60);
const MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];
const PEER: [u8; 6] = [2, 0, 0, 0, 0, 2];

fn options() -> Options {
    Options::new(MacAddress(MAC), [10, 0, 0, 1].into())
}

fn attributes() -> QueuePairAttributes {
    let peer = QueuePairAttributes::new().path_mtu(1024).dest_qpn(33).dest_mac(MacAddress(PEER));
    let peer = peer.dest_ip([10, 0, 0, 2].into()).start_psn(0);
    peer.rq_psn(5).access(Access::all()).min_rnr_timer(1)
}

/// Makes a packet of the peer to that queue pair.
fn packet(qpn: u32, opcode: Opcode, psn: u32, payload: &[u8]) -> Vec<u8> {
    let flow = Flow {
        source_mac: MacAddress(PEER).to_u64(),
        dest_mac: MacAddress(MAC).to_u64(),
        source_ip: 0x0a00_0002,
        dest_ip: 0x0a00_0001,
        tos: 0,
        ttl: 64,
        vlan: None,
        qpn: 33,
        dest_qpn: qpn,
        pkey: 0xffff,
        qkey: 0,
        transport: Transport::Rc,
        mtu: 1024,
    };
    let len = payload.len() as u32;
    let head = MessageHead { opcode, imm: 0, remote_addr: 64, rkey: 0x1234_5678, len };
    let segment = segments(len, flow.mtu).next().unwrap();
    let Ok(frame) = packets::frame(&flow, &head, &segment, psn, |bytes| {
        bytes.copy_from_slice(payload);
        Ok::<(), Infallible>(())
    });
    frame
}

fn fatal(qp: &QueuePair) -> AsyncEvent {
    AsyncEvent::QueuePairFatal { queue_pair: qp.index(), qpn: qp.qpn() }
}

#[test]
fn the_hardware_and_the_model_tell_the_same() {
    for uri in ["soft:", "rtl:"] {
        let network = Network::new();
        let peer = PeerConfig::new(Transport::Rc, MacAddress(PEER).to_u64(), 0x0a00_0002, 33, 17);
        network.add_peer(peer);
        let card = drdma_sim::open(uri, network.clone()).unwrap();
        let context = Context::open(card, options()).unwrap();
        let pd = context.protection_domain();
        let cq = context.completion_queue().build().unwrap();
        let memory = pd.allocate_with(64, Access::LOCAL_WRITE).unwrap();
        let mut srq = pd.shared_receive_queue(&cq).build().unwrap();
        let regions = [libdrdma::Contiguous::new(&memory).build().unwrap()];
        for i in 0..3 {
            srq.post_recv(&ReceiveRequest::new(i).regions(&regions)).unwrap();
        }
        let mut qp = pd.queue_pair(&cq).qpn(17).shared_receive_queue(&srq).build().unwrap();
        qp.connect(&attributes()).unwrap();
        srq.arm_limit(2).unwrap();
        assert_eq!(context.poll_async_event(), None, "{uri}");
        let event = || context.wait_async_event(LONG);
        (0..2).for_each(|i| network.inject(packet(17, Opcode::Send, 5 + i, &[1; 10]), 0));
        let limit = AsyncEvent::SharedReceiveQueueLimit { queue: srq.number() };
        assert_eq!(event(), Some(limit), "{uri}");
        network.inject(packet(17, Opcode::Write, 7, &[1; 10]), 0);
        assert_eq!(event(), Some(fatal(&qp)), "{uri}");
        let (queue_pair, qpn) = (qp.index(), qp.qpn());
        let last = AsyncEvent::LastReceiveReached { queue_pair, qpn };
        assert_eq!(event(), Some(last), "{uri}");
        assert_eq!(qp.state(), QueuePairState::Error);
        assert_eq!(cq.poll().map(|completion| completion.wr_id).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(context.poll_async_event(), None, "{uri}");
    }
}

/// True if the descriptor becomes readable within that time.
fn is_readable(context: &Context, timeout: Duration) -> bool {
    let fd = context.async_event_fd().unwrap();
    let timeout =
        Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: timeout.subsec_nanos().into() };
    let mut fds = [PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::IN)];
    poll(&mut fds, Some(&timeout)).unwrap() == 1
}

#[test]
fn a_file_descriptor_is_readable_while_there_are_events() {
    let card = Fake::with_window();
    let context = Context::open(Box::new(card.clone()), options()).unwrap();
    assert!(!is_readable(&context, Duration::from_millis(30)));
    card.state().broken = true;
    // Only the context's own thread looks for events here.
    assert!(is_readable(&context, LONG));
    assert!(is_readable(&context, Duration::ZERO), "it stays so");
    let reason = "the card failed: broken".to_owned();
    assert_eq!(context.poll_async_event(), Some(AsyncEvent::DeviceFatal { reason }));
    assert!(!is_readable(&context, Duration::from_millis(30)), "it is told once");
    assert_eq!(context.poll_async_event(), None);
    // The thread ends with the last handle of the context.
    let other = context.clone();
    drop(context);
    thread::spawn(move || drop(other)).join().unwrap();
}

#[test]
fn whoever_waits_gives_up_in_time_and_hears_that_the_card_failed() {
    let card = Fake::with_window();
    let context = Context::open(Box::new(card.clone()), options()).unwrap();
    let start = Instant::now();
    assert_eq!(context.wait_async_event(Duration::from_millis(40)), None);
    assert!(start.elapsed() >= Duration::from_millis(40));
    thread::scope(|scope| {
        let waiting = scope.spawn(|| context.wait_async_event(LONG));
        thread::sleep(Duration::from_millis(5));
        card.state().broken = true;
        assert!(matches!(waiting.join().unwrap(), Some(AsyncEvent::DeviceFatal { .. })));
    });
}

#[test]
fn a_failure_that_a_call_finds_is_told_as_well() {
    let card = Fake::default();
    let context = Context::open(Box::new(card.clone()), options()).unwrap();
    card.state().broken = true;
    assert!(context.progress().is_err());
    card.state().broken = false;
    assert!(matches!(context.poll_async_event(), Some(AsyncEvent::DeviceFatal { .. })));
    assert_eq!(context.poll_async_event(), None);
}
