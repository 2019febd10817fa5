//! Many cards send to one: congestion control shares the link among them, and nothing is dropped.

use std::time::Duration;

use drdma_abi::{
    register::counter::{CNPS_RECEIVED, CNPS_SENT, RECEIVE_DROPPED},
    roce::Transport,
};
use drdma_fabric::{Fabric, NetworkConfig, Port, PortCounters, Time};
use libdrdma::{
    Access, CompletionQueue, Contiguous, Operation, QueuePair, QueuePairAttributes, Status,
    WorkRequest,
};

use drdma_semantics::{answers, packets::Flow};

/// Number of cards that send to the first one.
const SENDERS: usize = 8;
/// Length of a WRITE in bytes.
const BYTES: usize = 64 << 10;
/// Queue length in bytes above which frames are marked.
const MARK: u64 = 24 << 10;

fn attributes(fabric: &Fabric, to: usize, qpn: u32, ecn: u8) -> QueuePairAttributes {
    let peer = fabric.node(to);
    QueuePairAttributes::new()
        .path_mtu(4096)
        .dest_qpn(qpn)
        .dest_mac(peer.mac())
        .dest_ip(peer.ip())
        .start_psn(0)
        .rq_psn(0)
        .access(Access::REMOTE_WRITE)
        .timeout(10)
        .retry_cnt(7)
        .rnr_retry(7)
        .ecn(ecn)
}

/// Configuration of the network, with marks.
fn marking() -> NetworkConfig {
    NetworkConfig { ecn: MARK, ..NetworkConfig::default() }
}

/// Result of an incast.
struct Incast {
    /// Number of requests of each sender that had completed when the first sender had completed
    /// all.
    first: Vec<usize>,
    /// All payload, as a share of the capacity of the receiver's link in the time.
    share: f64,
    /// Counters of the receiver's link.
    link: PortCounters,
    /// Number of CNPs of the receiver.
    notifications: u64,
}

/// Runs `senders` cards that send `requests` WRITEs each to the first one, all at once, on queue
/// pairs with these ECN bits.
fn incast(senders: usize, requests: usize, ecn: u8, network: NetworkConfig) -> Incast {
    let gbps = network.gbps as f64;
    let mut fabric = Fabric::new(network, senders + 1).unwrap();
    let pd = fabric.node(0).context().protection_domain();
    let received = fabric.node(0).context().completion_queue().build().unwrap();
    let memory: Vec<_> = (1..=senders)
        .map(|node| {
            let own = fabric.node(node).context().protection_domain();
            let mut local = own.allocate_with(BYTES, Access::empty()).unwrap();
            local.write_at(0, &[node as u8; BYTES]);
            (own, local, pd.allocate_with(BYTES, Access::REMOTE_WRITE).unwrap())
        })
        .collect();
    let mut ends: Vec<(QueuePair<'_>, CompletionQueue)> = Vec::new();
    let mut peers: Vec<QueuePair<'_>> = Vec::new();
    for (node, (own, ..)) in (1..).zip(&memory) {
        let sent = fabric.node(node).context().completion_queue().entries(1024).build().unwrap();
        let mut from = own.queue_pair(&sent).send_blocks(2048).build().unwrap();
        let mut to = pd.queue_pair(&received).build().unwrap();
        let (from_qpn, to_qpn) = (from.qpn(), to.qpn());
        from.connect(&attributes(&fabric, 0, to_qpn, ecn)).unwrap();
        to.connect(&attributes(&fabric, node, from_qpn, ecn)).unwrap();
        ends.push((from, sent));
        peers.push(to);
    }
    let start = fabric.now();
    for ((qp, _), (_, local, remote)) in ends.iter_mut().zip(&memory) {
        let regions = [Contiguous::new(local).build().unwrap()];
        let operation = Operation::Write { remote_addr: remote.addr(), rkey: remote.rkey() };
        for request in 0..requests {
            let post = WorkRequest::new(request as u64).operation(operation).regions(&regions);
            qp.post_send(&post).unwrap();
        }
    }
    let mut done = vec![0; senders];
    let mut first = None;
    while done.iter().any(|done| *done < requests) {
        for ((_, sent), done) in ends.iter().zip(&mut done) {
            for completion in sent.poll() {
                assert_eq!(completion.status, Status::Success);
                *done += 1;
            }
        }
        if first.is_none() && done.contains(&requests) {
            first = Some(done.clone());
        }
        assert!(fabric.now() - start < Duration::from_secs(1), "{done:?} requests have completed");
        if !fabric.step().unwrap() {
            fabric.advance(Duration::from_micros(10)).unwrap();
        }
    }
    let ns = (fabric.now() - start).as_nanos() as f64;
    for (node, (_, _, remote)) in (1..).zip(&memory) {
        let mut bytes = vec![0; BYTES];
        remote.read_at(0, &mut bytes);
        assert!(bytes.iter().all(|byte| *byte == node), "other bytes arrived than were sent");
    }
    Incast {
        first: first.unwrap_or(done),
        share: (senders * requests * BYTES) as f64 * 8.0 / ns / gbps,
        link: fabric.counters(0),
        notifications: fabric.node(0).context().counters().unwrap().get(CNPS_SENT),
    }
}

#[test]
fn eight_senders_share_a_link_and_nothing_is_dropped() {
    let Incast { first, share, link, notifications } = incast(SENDERS, 512, 2, marking());
    let mean = first.iter().sum::<usize>() as f64 / SENDERS as f64;
    eprintln!("{:.1} % of the link; {first:?}; {link:?}; {notifications} CNPs", 100.0 * share);
    assert_eq!(link.dropped, 0);
    assert!(share >= 0.90, "{share} of the link");
    for done in &first {
        assert!((*done as f64 - mean).abs() <= 0.15 * mean, "{first:?} requests have completed");
    }
    assert!(link.marked > 0 && notifications > 0 && notifications <= link.marked);
}

/// Other numbers of senders, shorter runs and longer links, in a switch that holds what sixteen
/// cards send before they receive CNPs.
#[test]
fn few_senders_and_many_find_their_rates_soon() {
    for (senders, requests, ns) in [
        (2, 128, 500),
        (2, 512, 2000),
        (4, 64, 500),
        (4, 256, 2000),
        (8, 32, 250),
        (8, 128, 500),
        (16, 64, 500),
        (16, 64, 2000),
    ] {
        let network = NetworkConfig { delay: Time::from_ns(ns), queue: 4 << 20, ..marking() };
        let Incast { first, share, link, .. } = incast(senders, requests, 2, network);
        let run = format!("{senders} senders, {requests} WRITEs each, links of {ns} ns");
        let longest = link.longest_queue;
        eprintln!("{run}: {:.1} % of the link, queue of {longest} B; {first:?}", 100.0 * share);
        assert_eq!(link.dropped, 0, "{run}");
        assert!(share >= 0.80, "{run}: {share} of the link");
        let mean = first.iter().sum::<usize>() as f64 / senders as f64;
        let far = |done: &usize| (*done as f64 - mean).abs() > 0.15 * mean;
        assert!(!first.iter().any(far), "{run}: {first:?} requests have completed");
    }
}

/// Congestion notifications that do not answer a mark: from the peer, from others, and to no queue
/// pair.
#[test]
fn a_notification_counts_only_from_the_peer_of_a_queue_pair() {
    let mut fabric = Fabric::new(NetworkConfig::default(), 2).unwrap();
    let ends = [0, 1].map(|node| {
        let context = fabric.node(node).context();
        let (pd, queue) =
            (context.protection_domain(), context.completion_queue().build().unwrap());
        let pair: QueuePair<'static> = pd.queue_pair(&queue).build().unwrap();
        (pd, queue, pair)
    });
    let [(_pd, _queue, mut own), (.., mut peer)] = ends;
    let (own_qpn, peer_qpn) = (own.qpn(), peer.qpn());
    own.connect(&attributes(&fabric, 1, peer_qpn, 2)).unwrap();
    peer.connect(&attributes(&fabric, 0, own_qpn, 2)).unwrap();
    let mac = |node: usize| {
        let bytes = fabric.node(node).mac().0;
        bytes.iter().fold(0, |all, byte| all << 8 | u64::from(*byte))
    };
    let right = Flow {
        source_mac: mac(1),
        dest_mac: mac(0),
        source_ip: fabric.node(1).ip().into(),
        dest_ip: fabric.node(0).ip().into(),
        tos: 2,
        ttl: 64,
        vlan: None,
        qpn: peer_qpn,
        dest_qpn: own_qpn,
        pkey: 0xffff,
        qkey: 0,
        transport: Transport::Rc,
        mtu: 4096,
    };
    let mut damaged = answers::notification(&right);
    *damaged.last_mut().unwrap() ^= 1;
    let frames = [
        answers::notification(&Flow { dest_qpn: own_qpn + 77, ..right }),
        answers::notification(&Flow { source_ip: right.source_ip + 1, ..right }),
        answers::notification(&Flow { pkey: 0x8001, ..right }),
        damaged,
        answers::notification(&right),
        // That the notification is marked itself is no reason for another one.
        answers::notification(&Flow { tos: 3, ..right }),
    ];
    for frame in frames {
        let now = Time::from_ns(fabric.now().as_nanos() as u64);
        fabric.network_mut().send(Port(1), now, frame);
        fabric.advance(Duration::from_micros(5)).unwrap();
    }
    let counters = fabric.node(0).context().counters().unwrap();
    let found = [CNPS_RECEIVED, RECEIVE_DROPPED, CNPS_SENT].map(|counter| counters.get(counter));
    assert_eq!(found, [2, 4, 0]);
}

/// The control experiment of the first test: without congestion control.
#[test]
fn without_congestion_control_nothing_is_marked_and_frames_are_dropped() {
    let Incast { link, notifications, .. } = incast(SENDERS, 32, 0, marking());
    assert!(link.dropped > 100, "{link:?}");
    assert_eq!((link.marked, notifications), (0, 0));
}
