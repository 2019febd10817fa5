//! The verbs on the soft card: messages at the other end, and errors in completions.

use std::time::Duration;

use libdrdma::network::{Behaviour, MessageKind, Network, PeerConfig, PeerId};
use libdrdma::{
    CompletionQueue, Context, Contiguous, Destination, Extent, MacAddress, Operation, Options,
    ProtectionDomain, QueuePair, QueuePairAttributes, QueuePairState, Region, RowMask,
    SharedOperation, SharedWorkRequest, Status, Strided, Transport, WorkRequest, counter,
};

const SECOND: Duration = Duration::from_secs(1);

struct Bench {
    network: Network,
    context: Context,
    pd: ProtectionDomain,
    cq: CompletionQueue,
}

impl Bench {
    fn new() -> Self {
        let network = Network::new();
        let card = libdrdma::open_on("soft:", &network).unwrap();
        let mut options = Options::new(MacAddress([2, 0, 0, 0, 0, 1]), [10, 0, 0, 1].into());
        options.ack_timeout = 4;
        let context = Context::open(card, options).unwrap();
        let pd = context.protection_domain();
        let cq = context.completion_queue().build().unwrap();
        Self { network, context, pd, cq }
    }

    /// Peer `n`, and a queue pair that is not connected to it yet.
    fn pair<'m>(&self, n: u8, transport: Transport) -> (PeerId, QueuePair<'m>) {
        let (mac, ip) = (0x0200_0000_0000 + u64::from(n), 0x0a00_0000 + u32::from(n));
        let qpn = 16 + u32::from(n);
        let mut config = PeerConfig::new(transport, mac, ip, 33, qpn);
        (config.card_mac, config.card_ip) = (Some(0x0200_0000_0001), Some(0x0a00_0001));
        (config.start_psn, config.qkey) = (Some(100), 0x77);
        let peer = self.network.add_peer(config);
        (peer, self.pd.queue_pair(&self.cq).transport(transport).qpn(qpn).build().unwrap())
    }

    /// Connects with the sequence number that the peer expects next.
    fn connected<'m>(&self, n: u8, transport: Transport) -> (PeerId, QueuePair<'m>) {
        let (peer, mut qp) = self.pair(n, transport);
        qp.connect(&attributes(n, 100)).unwrap();
        (peer, qp)
    }

    fn statuses(&self, count: usize) -> Vec<(u64, Status)> {
        let completions = self.cq.wait(count, SECOND).unwrap();
        completions.iter().map(|completion| (completion.wr_id, completion.status)).collect()
    }
}

fn attributes(n: u8, psn: u32) -> QueuePairAttributes {
    QueuePairAttributes::new()
        .path_mtu(1024)
        .dest_qpn(33)
        .dest_mac(MacAddress([2, 0, 0, 0, 0, n]))
        .dest_ip([10, 0, 0, n].into())
        .start_psn(psn)
        .qkey(0x77)
}

#[test]
fn every_transport_and_operation_arrives() {
    let bench = Bench::new();
    let mut memory = bench.pd.allocate(3000).unwrap();
    let bytes: Vec<u8> = (0..3000).map(|i| (i * 7 + i / 256) as u8).collect();
    memory.write_at(0, &bytes);
    let long = [Contiguous::new(&memory).build().unwrap()];
    let short = [Contiguous::new(&memory).len(10).build().unwrap()];
    let (remote_addr, rkey, imm) = (4096, 7, 5);
    for (n, transport) in (2..).zip(Transport::ALL) {
        let (peer, mut qp) = bench.connected(n, transport);
        let mut operations = vec![Operation::Send, Operation::SendImm(imm)];
        if transport != Transport::Ud {
            operations.push(Operation::Write { remote_addr, rkey });
            operations.push(Operation::WriteImm { remote_addr, rkey, imm });
        }
        for operation in operations {
            let regions = if transport == Transport::Ud { &short } else { &long };
            let request = WorkRequest::new(9).operation(operation).regions(regions);
            qp.post_send(&request).unwrap();
            assert_eq!(bench.statuses(1), [(9, Status::Success)]);
            let message = bench.network.messages(peer).pop().unwrap();
            assert_eq!(message.bytes, bytes[..message.bytes.len()]);
            assert_eq!(message.bytes.len(), if transport == Transport::Ud { 10 } else { 3000 });
            let (kind, expected_imm) = match operation {
                Operation::Send => (MessageKind::Send, None),
                Operation::SendImm(_) => (MessageKind::Send, Some(imm)),
                Operation::Write { .. } => (MessageKind::Write { remote_addr, rkey }, None),
                Operation::WriteImm { .. } => (MessageKind::Write { remote_addr, rkey }, Some(imm)),
            };
            assert_eq!((message.kind, message.imm), (kind, expected_imm));
        }
    }
    assert_eq!(bench.network.errors(), []);
    let counters = bench.context.counters().unwrap();
    assert_eq!(counters.get(counter::WORK_REQUESTS), 10);
    assert_eq!(counters.get(counter::PAYLOAD_BYTES), 8 * 3000 + 2 * 10);
    bench.context.clear_counters().unwrap();
    assert_eq!(bench.context.counters().unwrap().get(counter::WORK_REQUESTS), 0);
    assert_eq!(bench.context.counter(counter::WORK_REQUESTS).unwrap(), 0);
}

#[test]
fn elements_are_shuffled_to_their_destinations() {
    let bench = Bench::new();
    let mut memory = bench.pd.allocate(64).unwrap();
    memory.write_at(0, b"a1A0b2B0c3C0d4D0");
    let (red_peer, red) = bench.connected(2, Transport::Rc);
    let (blue_peer, blue) = bench.connected(3, Transport::Uc);
    let column =
        |at| Strided::new(&memory).offset(at).period(4).count(2).extent(0, 1).extent(8, 1).build();
    let (letters, digits) = (column(0).unwrap(), column(1).unwrap());
    let both = [letters.clone(), digits];
    let one = [letters];
    let mut ssq = bench.pd.shared_send_queue(&bench.cq).build().unwrap();
    let destinations = [
        Destination::new(&red).remote(64, 1).regions(&both),
        Destination::new(&blue).remote(128, 2).regions(&one),
    ];
    let request = SharedWorkRequest::new(1)
        .operation(SharedOperation::Write)
        .row_mask(RowMask::Element)
        .rows_per_message(3)
        .destinations(&destinations);
    ssq.post_ssq_send(&request).unwrap();
    let completion = bench.cq.wait(1, SECOND).unwrap()[0];
    assert_eq!((completion.status, completion.bytes), (Status::Success, 12));
    assert_eq!(completion.queue, ssq.queue());
    let arrived = |peer| -> Vec<(MessageKind, Vec<u8>)> {
        let messages = bench.network.messages(peer).into_iter();
        messages.map(|message| (message.kind, message.bytes)).collect()
    };
    let write = |remote_addr, rkey| MessageKind::Write { remote_addr, rkey };
    let expected = [(write(64, 1), b"a1c3b2".to_vec()), (write(70, 1), b"d4".to_vec())];
    assert_eq!(arrived(red_peer), expected);
    let expected = [(write(128, 2), b"acb".to_vec()), (write(131, 2), b"d".to_vec())];
    assert_eq!(arrived(blue_peer), expected);
    assert_eq!(bench.network.errors(), []);
}

#[test]
fn what_the_card_refuses_comes_back_as_a_status_and_the_queue_pair_recovers() {
    let bench = Bench::new();
    let memory = bench.pd.allocate(64).unwrap();
    let dead = bench.pd.allocate(64).unwrap();
    let (old_addr, old_key) = (dead.addr(), dead.lkey());
    drop(dead);
    let (addr, lkey) = (memory.addr(), memory.lkey());
    let extent = |offset, len| [Extent { offset, len }];
    let cases = [
        (Region::unchecked_contiguous(addr + 1, 64, lkey), Status::LocalProtectionError),
        (Region::unchecked_contiguous(addr - 1, 1, lkey), Status::LocalProtectionError),
        (Region::unchecked_contiguous(addr, 1, lkey ^ 1 << 31), Status::LocalProtectionError),
        (Region::unchecked_contiguous(old_addr, 1, old_key), Status::LocalProtectionError),
        (Region::unchecked_contiguous(addr, 0, lkey), Status::LocalQpOperationError),
        (
            Region::unchecked_strided(addr, lkey, 0, 1, &extent(0, 1)).unwrap(),
            Status::LocalQpOperationError,
        ),
        (
            Region::unchecked_strided(addr, lkey, 16, 5, &extent(0, 1)).unwrap(),
            Status::LocalProtectionError,
        ),
        (
            Region::unchecked_pointer_mapped(addr, lkey, 1, lkey, &extent(0, 1)).unwrap(),
            Status::LocalProtectionError,
        ),
        (Region::unchecked_bitmapped(addr, lkey, 1, &[]).unwrap(), Status::LocalQpOperationError),
    ];
    let (peer, mut qp) = bench.connected(2, Transport::Uc);
    let good = [Contiguous::new(&memory).build().unwrap()];
    for (i, (region, status)) in cases.into_iter().enumerate() {
        qp.connect(&attributes(2, 100 + i as u32)).unwrap();
        let bad = [region];
        qp.post_send(&WorkRequest::new(1).regions(&good)).unwrap();
        qp.post_send(&WorkRequest::new(2).regions(&bad)).unwrap();
        qp.post_send(&WorkRequest::new(3).regions(&good)).unwrap();
        let expected = [(1, Status::Success), (2, status), (3, Status::WrFlushError)];
        assert_eq!(bench.statuses(3), expected, "case {i}");
        assert_eq!(qp.state(), QueuePairState::Error);
        assert_eq!(bench.network.messages(peer).len(), i + 1, "nothing of a bad request is sent");
    }
    assert_eq!(bench.network.errors(), []);
}

/// The library cannot say where the memory of an unchecked region lies; the card does.
#[test]
fn the_card_refuses_memory_of_another_protection_domain() {
    let bench = Bench::new();
    let other = bench.context.protection_domain();
    let mut secret = other.allocate(64).unwrap();
    secret.write_at(0, b"secret");
    let region = [Region::unchecked_contiguous(secret.addr(), 6, secret.lkey())];
    let (peer, mut qp) = bench.connected(2, Transport::Rc);
    qp.post_send(&WorkRequest::new(1).regions(&region)).unwrap();
    assert_eq!(bench.statuses(1), [(1, Status::LocalProtectionError)]);
    assert_eq!(bench.network.messages(peer), []);
    assert_eq!(bench.network.errors(), []);
}

#[test]
fn a_peer_that_refuses_or_is_silent_is_a_status() {
    for (behaviour, status) in [
        (Behaviour::Dead, Status::RetryExceeded),
        (Behaviour::NotReady, Status::RnrRetryExceeded),
        (Behaviour::Refuse(0x62), Status::RemoteAccessError),
    ] {
        let bench = Bench::new();
        let (peer, mut qp) = bench.connected(2, Transport::Rc);
        bench.network.with_peer(peer, |peer| peer.set_behaviour(behaviour));
        let memory = bench.pd.allocate(64).unwrap();
        let alias = memory.alias(0..9).unwrap();
        let raw = [Region::unchecked_contiguous(alias.addr(), 9, alias.lkey())];
        qp.post_send(&WorkRequest::new(1).regions(&raw)).unwrap();
        qp.post_send(&WorkRequest::new(2).regions(&raw)).unwrap();
        let expected = [(1, status), (2, Status::WrFlushError)];
        assert_eq!(bench.statuses(2), expected, "{behaviour:?}");
        assert_eq!(qp.state(), QueuePairState::Error);
    }
}

#[test]
fn a_queue_pair_that_is_reset_in_flight_starts_anew() {
    let bench = Bench::new();
    let memory = bench.pd.allocate(64).unwrap();
    let region = [Contiguous::new(&memory).build().unwrap()];
    let (peer, mut qp) = bench.connected(2, Transport::Rc);
    bench.network.with_peer(peer, |peer| peer.set_behaviour(Behaviour::Dead));
    for wr_id in 0..3 {
        qp.post_send(&WorkRequest::new(wr_id).regions(&region)).unwrap();
    }
    bench.context.progress().unwrap();
    qp.connect(&attributes(2, 100)).unwrap();
    bench.network.with_peer(peer, |peer| peer.set_behaviour(Behaviour::Normal));
    qp.post_send(&WorkRequest::new(7).regions(&region)).unwrap();
    let flush = Status::WrFlushError;
    assert_eq!(bench.statuses(4), [(0, flush), (1, flush), (2, flush), (7, Status::Success)]);
    assert_eq!(qp.state(), QueuePairState::ReadyToSend);
    assert_eq!(bench.cq.outstanding(), 0);
}

#[test]
fn a_queue_pair_that_is_reset_ends_the_shared_requests_that_wait_for_it() {
    let error = QueuePairAttributes::new().state(QueuePairState::Error);
    let reset = QueuePairAttributes::new().state(QueuePairState::Reset);
    for to in [error, reset] {
        let bench = Bench::new();
        let memory = bench.pd.allocate(64).unwrap();
        let region = [Contiguous::new(&memory).build().unwrap()];
        let (_, red) = bench.connected(2, Transport::Rc);
        let (peer, mut blue) = bench.connected(3, Transport::Rc);
        bench.network.with_peer(peer, |peer| peer.set_behaviour(Behaviour::Dead));
        let mut ssq = bench.pd.shared_send_queue(&bench.cq).build().unwrap();
        let destinations = [&red, &blue].map(|qp| Destination::new(qp).regions(&region));
        for wr_id in 1..3 {
            let request = SharedWorkRequest::new(wr_id).destinations(&destinations);
            ssq.post_ssq_send(&request).unwrap();
        }
        bench.context.progress().unwrap();
        blue.modify(&to).unwrap();
        let completions = bench.cq.wait(2, SECOND).unwrap();
        let found: Vec<_> = completions.iter().map(|c| (c.wr_id, c.status)).collect();
        assert_eq!(found, [(1, Status::WrFlushError), (2, Status::WrFlushError)]);
        assert_eq!(completions[0].destination, 1);
        assert!(ssq.is_halted());
        assert_eq!(red.state(), QueuePairState::ReadyToSend, "it goes on");
        ssq.reset().unwrap();
        let destinations = [Destination::new(&red).regions(&region)];
        ssq.post_ssq_send(&SharedWorkRequest::new(3).destinations(&destinations)).unwrap();
        assert_eq!(bench.statuses(1), [(3, Status::Success)]);
    }
}

#[test]
fn a_shared_queue_breaks_only_the_queue_pair_that_failed() {
    let bench = Bench::new();
    let memory = bench.pd.allocate(64).unwrap();
    let good = [Contiguous::new(&memory).build().unwrap()];
    let bad = [Region::unchecked_contiguous(memory.addr(), 65, memory.lkey())];
    let (red_peer, mut red) = bench.connected(2, Transport::Rc);
    let (blue_peer, blue) = bench.connected(3, Transport::Rc);
    let mut ssq = bench.pd.shared_send_queue(&bench.cq).build().unwrap();
    let broken = [Destination::new(&red).regions(&good), Destination::new(&blue).regions(&bad)];
    ssq.post_ssq_send(&SharedWorkRequest::new(1).destinations(&broken)).unwrap();
    let completion = bench.cq.wait(1, SECOND).unwrap()[0];
    assert_eq!((completion.status, completion.destination), (Status::LocalProtectionError, 1));
    assert_eq!((red.state(), blue.state()), (QueuePairState::ReadyToSend, QueuePairState::Error));
    assert!(ssq.is_halted());
    ssq.reset().unwrap();
    let fine = [Destination::new(&red).regions(&good)];
    ssq.post_ssq_send(&SharedWorkRequest::new(2).destinations(&fine)).unwrap();
    red.post_send(&WorkRequest::new(3).regions(&good)).unwrap();
    let mut statuses = bench.statuses(2);
    statuses.sort_by_key(|(wr_id, _)| *wr_id);
    assert_eq!(statuses, [(2, Status::Success), (3, Status::Success)]);
    assert_eq!(bench.network.messages(red_peer).len(), 2);
    assert_eq!(bench.network.messages(blue_peer).len(), 0);
}
