//! Requests of the card's own queues: with the address of a datagram, solicited, or with a key that a SEND
//! invalidates.

use drdma_tests::lab::{
    self, MTU, QKEY,
    peer::{PeerQueuePair, Received},
};
use libdrdma::{
    Access, AddressHandle, Contiguous, MacAddress, MemoryRegion, Operation, QueuePair, Status,
    Transport, WorkRequest,
};

use crate::{received_by, receives::TIMEOUT};

/// Status in the words of the verbs for a key that cannot be invalidated.
const NOT_TO_INVALIDATE: &str = "remote invalid request error";

fn send<'m>(
    qp: &mut QueuePair<'m>,
    from: &'m MemoryRegion,
    at: usize,
    len: usize,
    say: impl for<'a> FnOnce(WorkRequest<'a, 'm>) -> WorkRequest<'a, 'm>,
) {
    let region = [Contiguous::new(from).offset(at as u64).len(len as u64).build().unwrap()];
    qp.post_send(&say(WorkRequest::new(0)).regions(&region)).expect("a request");
}

/// A queue pair that is connected to one of the guest's sends to three others, and to that one.
#[test]
#[ignore = "needs a guest: cargo xtask vm"]
fn datagrams_go_where_their_requests_say() {
    const EACH: usize = 12;
    let mut lab = lab::lab();
    let mut card = lab.endpoint();
    let bytes: Vec<u8> = (0..4096).map(|i| (i * 7 % 251) as u8).collect();
    let source = card.pd.register(bytes.clone()).expect("memory");
    let (mut qp, connected) = card.connect(&mut lab, Transport::Ud, Access::empty(), TIMEOUT);
    let others = [QKEY + 1, QKEY + 2, QKEY + 3].map(|qkey| (lab.peer.ud(qkey), qkey));
    let all: Vec<(PeerQueuePair, Option<u32>)> = [(connected, None)]
        .into_iter()
        .chain(others.map(|(peer, qkey)| (peer, Some(qkey))))
        .collect();
    all.iter().for_each(|(peer, _)| lab.peer.receive(peer, EACH, MTU as usize));
    let mut expected = vec![Vec::new(); all.len()];
    for k in 0..EACH * all.len() {
        let (peer, qkey) = all[k % all.len()];
        let (at, len) = (13 * k, 1 + 21 * k % MTU as usize);
        let mac = MacAddress([2, 0, 0, 0, 0, 2]);
        let handle = |qkey| AddressHandle::new(mac, [10, 0, 0, 2].into(), peer.qpn, qkey);
        send(&mut qp, &source, at, len, |request| {
            let request = qkey.map_or(request, |qkey| request.to(&handle(qkey)));
            if k % 3 == 0 { request.solicited() } else { request }
        });
        expected[k % all.len()].push(bytes[at..at + len].to_vec());
    }
    let count = EACH * all.len();
    card.serve_until("the card's requests", |card| card.completions.len() >= count);
    assert!(card.completions.iter().all(|completion| completion.status == Status::Success));
    let mut received: Vec<Received> = Vec::new();
    card.serve_until("the datagrams", |_| {
        received.extend(lab.peer.received_within(0, std::time::Duration::ZERO));
        received.len() >= count
    });
    for ((peer, _), expected) in all.iter().zip(expected) {
        let own = received_by(peer, &received);
        assert!(own.iter().all(|received| received.source_qp == Some(qp.qpn())));
        let data: Vec<_> = own.into_iter().map(|received| received.data).collect();
        assert_eq!(data, expected);
    }
}

/// SENDs and WRITEs of no bytes, with and without immediate data; a WRITE of none needs no key.
#[test]
#[ignore = "needs a guest: cargo xtask vm"]
fn messages_of_no_bytes_are_received() {
    let mut lab = lab::lab();
    let mut card = lab.endpoint();
    let (mut qp, peer) = card.connect(&mut lab, Transport::Rc, Access::empty(), TIMEOUT);
    lab.peer.receive(&peer, 4, 64);
    let operations = [
        Operation::Send,
        Operation::SendImm(7),
        Operation::Write { remote_addr: 0, rkey: 0 },
        Operation::WriteImm { remote_addr: 0, rkey: 0, imm: 8 },
    ];
    for operation in operations {
        let request = WorkRequest::new(0).operation(operation).inline(&[]);
        qp.post_send(&request).expect("a request");
    }
    qp.post_send(&WorkRequest::new(0).inline(b"five.")).expect("a request");
    card.serve_until("the card's requests", |card| card.completions.len() >= 5);
    assert!(card.completions.iter().all(|completion| completion.status == Status::Success));
    let received = received_by(&peer, &lab.peer.received(4));
    let told: Vec<_> = received.iter().map(|received| (received.bytes, received.imm)).collect();
    assert_eq!(told, [(0, None), (0, Some(7)), (0, Some(8)), (5, None)]);
}

/// Solicited SENDs arrive like others. A key of memory that a program has registered cannot be made invalid in the
/// guest: it says so of the receive, and of what came with the key it knows that much.
#[test]
#[ignore = "needs a guest: cargo xtask vm"]
fn solicited_sends_arrive_and_a_key_that_cannot_be_made_invalid_is_told() {
    let mut lab = lab::lab();
    let mut card = lab.endpoint();
    let source = card.memory(8192, 0x5a);
    let (mut qp, peer) = card.connect(&mut lab, Transport::Rc, Access::empty(), TIMEOUT);
    let target = lab.peer.memory(64);
    lab.peer.receive(&peer, 4, 8192);
    for len in [1, 3000, 8192] {
        send(&mut qp, &source, 0, len, |request| request.solicited());
    }
    card.serve_until("the card's requests", |card| card.completions.len() >= 3);
    assert!(card.completions.iter().all(|completion| completion.status == Status::Success));
    let received = received_by(&peer, &lab.peer.received(3));
    let lengths: Vec<_> = received.iter().map(|received| received.bytes).collect();
    assert_eq!(lengths, [1, 3000, 8192]);
    assert!(received.iter().all(|received| received.data.iter().all(|byte| *byte == 0x5a)));

    send(&mut qp, &source, 0, 3000, |request| request.send_invalidate(target.rkey).solicited());
    let mut received: Vec<Received> = Vec::new();
    card.serve_until("the receive", |_| {
        received.extend(lab.peer.received_within(0, std::time::Duration::ZERO));
        !received.is_empty()
    });
    assert_eq!(received[0].status, NOT_TO_INVALIDATE);
}
