//! A network that loses packets and acknowledgements, and a peer that takes what comes in order.

use super::*;

/// Packets of each queue pair.
const PACKETS: u64 = 120;

/// State of the peer of a queue pair.
#[derive(Default)]
struct Peer {
    expected: u64,
    complained: bool,
    not_ready: bool,
}

fn run(library: &Library, seed: u64, stalls: (f64, f64), loss: f64) -> usize {
    let mut random = Random::new(seed);
    let mut net = net(library, seed);
    // Queue pairs of even index keep their packets; others do not, and none of theirs is lost.
    let qps: Vec<u64> = (0..8).map(|k| (seed * 97 + k * 511) % 4096).collect();
    for (k, qp) in qps.iter().enumerate() {
        let transport = if k == 1 { Transport::Uc } else { Transport::Rc };
        let state = u32::from(k != 3);
        let retry_cnt = if k == 5 { 0 } else { 7 };
        let rnr_retry = if k == 5 { 0 } else { 7 };
        let timeout = 1 + (k as u8) % 3;
        net.set(
            *qp,
            &Setting { transport, retry_cnt, rnr_retry, timeout, max_rd_atomic: 0, state },
        );
    }
    let keeps = |k: usize| ![1, 3, 5].contains(&k);
    let mut peers: Vec<Peer> = qps.iter().map(|_| Peer::default()).collect();
    let mut given = [0; 8];
    // Packets in the packetizer and the network: the cycle in which each ends, and the packet.
    let mut pages: VecDeque<(u64, u64)> = VecDeque::new();
    let mut answers: VecDeque<(u64, u64, u64, u8)> = VecDeque::new();
    let mut again = 0;
    let mut markers = (0_u64, 0_u64);
    for (driver, chance) in [(net.packet, stalls.0), (net.response, stalls.0)] {
        net.bench.stall_driver(driver, chance);
    }
    for monitor in [net.item, net.told] {
        net.bench.stall_monitor(monitor, stalls.1);
    }
    let mut first_seen = [0; 8];
    while peers.iter().any(|peer| peer.expected < PACKETS) || net.pages_in_use() > 0 {
        let k = random.below(8) as usize;
        if given[k] < PACKETS && net.bench.pending(net.packet) < 3 && net.free.borrow().len() > 8 {
            net.give(qps[k], given[k], random.chance(0.4) || given[k] == PACKETS - 1);
            given[k] += 1;
            if random.chance(0.2) {
                let item =
                    Beat::from([("marker", 1), ("slot", markers.0 % 256), ("total", markers.0)]);
                net.bench.send(net.packet, item);
                markers.0 += 1;
            }
        }
        net.bench.step();
        let now = net.bench.cycles();
        for beat in net.bench.take(net.item) {
            if beat.u64("marker") == 1 {
                assert_eq!(beat.u64("total"), markers.1, "items keep their order");
                markers.1 += 1;
                continue;
            }
            let (qp, psn) = (beat.u64("qp"), beat.u64("psn"));
            net.check(&beat);
            let k = qps.iter().position(|of| *of == qp).expect("one of them");
            pages.push_back((now + 1 + random.below(60), beat.u64("page")));
            assert!(!net.free.borrow().contains(&beat.u64("page")), "its page is its own");
            again += usize::from(psn < first_seen[k]);
            assert!(psn <= first_seen[k], "packets of a queue pair leave in order");
            first_seen[k] = first_seen[k].max(psn + 1);
            if keeps(k) && random.chance(loss) {
                continue;
            }
            let peer = &mut peers[k];
            if !keeps(k) {
                assert_eq!(psn, peer.expected);
                peer.expected += 1;
                continue;
            }
            let (syndrome, psn) = if psn == peer.expected && random.chance(loss / 4.0) {
                peer.not_ready = true;
                (syndrome::RNR_NAK | 1, psn)
            } else if psn == peer.expected {
                peer.expected += 1;
                (peer.complained, peer.not_ready) = (false, false);
                (syndrome::ACK | 31, psn)
            } else if psn < peer.expected {
                (syndrome::ACK | 31, peer.expected - 1)
            } else if peer.complained || peer.not_ready {
                continue;
            } else {
                peer.complained = true;
                (syndrome::NAK_PSN, peer.expected)
            };
            let asks = beat.u64("ack_req") == 1 || syndrome & syndrome::KIND_MASK != syndrome::ACK;
            if asks && !random.chance(loss) {
                answers.push_back((now + 20, qp, psn, syndrome));
            }
        }
        // The packetizer takes frames in order.
        if pages.front().is_some_and(|(at, _)| *at <= now) {
            let (_, page) = pages.pop_front().expect("one is done");
            net.bench.send(net.done, Beat::from([("page", page)]));
        }
        while answers.front().is_some_and(|(at, ..)| *at <= now) {
            let (_, qp, psn, syndrome) = answers.pop_front().expect("one is due");
            net.answer(qp, psn, syndrome);
        }
        for (qp, _, syndrome) in net.told() {
            assert_eq!(syndrome & syndrome::KIND_MASK, syndrome::ACK, "queue pair {qp} fails");
        }
    }
    net.bench.run(300);
    assert_eq!(markers.0, markers.1);
    assert_eq!(net.pages_in_use(), 0);
    again
}

#[test]
fn everything_arrives_in_order_though_packets_and_acknowledgements_are_lost() {
    let library = library();
    let mut again = 0;
    for (seed, stalls) in (1..).zip(STALLS) {
        assert_eq!(run(&library, seed, stalls, 0.0), 0, "nothing is lost, nothing is sent again");
        again += run(&library, seed + 50, stalls, 0.05);
    }
    assert!(again > 500, "{again} packets were sent again");
}
