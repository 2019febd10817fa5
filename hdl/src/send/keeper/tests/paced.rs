//! Queue pairs that are limited send a packet, and no other one until they may.

use super::*;
use drdma_semantics::congestion;

/// Inputs and outputs of a pacer that a test plays.
#[derive(Default)]
struct Pace {
    limited: HashSet<u64>,
    /// The queue pair that was asked for in the cycle before.
    asked: u64,
    /// Packets that were reported to the pacer, in order: queue pair and units.
    told: Vec<(u64, u64)>,
    /// Queue pairs that wait for `go`.
    wait: HashSet<u64>,
}

/// A net and a pacer that a test plays.
struct Lab<'a> {
    net: Net<'a>,
    pace: Rc<RefCell<Pace>>,
    go: DriverId,
}

impl<'a> Lab<'a> {
    fn new(library: &'a Library, seed: u64, qps: &[u64], setting: &Setting) -> Self {
        let mut net = net(library, seed);
        let pace = Rc::new(RefCell::new(Pace::default()));
        let told = Rc::clone(&pace);
        net.bench.observe(move |model, _| {
            let mut pace = told.borrow_mut();
            pace.asked = model.get("limited_next");
            if model.get("paced_valid") == 1 {
                let (qp, units) = (model.get("paced_qp"), model.get("paced_units"));
                assert!(pace.wait.insert(qp), "{qp} has sent a packet though it waits");
                pace.told.push((qp, units));
            }
        });
        let go = net.bench.driver("go");
        qps.iter().for_each(|qp| net.set(*qp, setting));
        Self { net, pace, go }
    }

    fn limit(&mut self, qp: u64) {
        self.pace.borrow_mut().limited.insert(qp);
    }

    /// A cycle, as in [`Net::settle`].
    fn step(&mut self) -> Vec<(u64, u64)> {
        let limited = {
            let pace = self.pace.borrow();
            pace.limited.contains(&pace.asked)
        };
        self.net.bench.set("limited", limited);
        self.net.settle(1)
    }

    fn settle(&mut self, cycles: u64) -> Vec<(u64, u64)> {
        (0..cycles).flat_map(|_| self.step()).collect()
    }

    /// Lets a queue pair that waits go on.
    fn may(&mut self, qp: u64) {
        assert!(self.pace.borrow_mut().wait.remove(&qp), "{qp} does not wait");
        self.net.bench.send(self.go, Beat::from([("qp", qp)]));
    }

    fn waits(&self, qp: u64) -> bool {
        self.pace.borrow().wait.contains(&qp)
    }
}

#[test]
fn a_limited_queue_pair_sends_one_packet_at_a_time_and_others_go_on() {
    let library = library();
    let mut lab = Lab::new(&library, 1, &[7, 8], &KEEPS);
    lab.limit(7);
    for psn in 0..4 {
        lab.net
            .give_with(7, psn, psn == 3, |beat| beat.with("operation", 4).with("bytes", 640 * psn));
    }
    for psn in 0..20 {
        lab.net.give(8, psn, psn == 19);
    }
    let came = lab.settle(200);
    let (own, others): (Vec<_>, Vec<_>) = came.into_iter().partition(|packet| packet.0 == 7);
    assert_eq!(own, [(7, 0)]);
    assert_eq!(others, (0..20).map(|psn| (8, psn)).collect::<Vec<_>>());
    for psn in 1..4 {
        assert!(lab.settle(500).is_empty(), "packet {psn} waits");
        lab.may(7);
        assert_eq!(lab.settle(60), [(7, psn)]);
    }
    let units = (0..4).map(|k| (7, u64::from(congestion::units(640 * k)))).collect::<Vec<_>>();
    assert_eq!(lab.pace.borrow().told, units);
    // The first packet that is sent when none is kept waits as well.
    lab.net.answer(7, 3, syndrome::ACK);
    lab.settle(200);
    assert_eq!(lab.net.told(), [(7, 3, syndrome::ACK)]);
    lab.net.give(7, 4, true);
    assert!(lab.settle(300).is_empty());
    // An acknowledgement of a packet that was never sent is ignored.
    lab.net.answer(7, 4, syndrome::ACK);
    assert!(lab.settle(300).is_empty());
    assert!(lab.net.told().is_empty());
    lab.may(7);
    assert_eq!(lab.settle(60), [(7, 4)]);
    lab.net.answer(7, 4, syndrome::ACK);
    lab.may(7);
    assert!(lab.settle(300).is_empty());
    assert_eq!(lab.net.told(), [(7, 4, syndrome::ACK)]);
}

/// Packets that are sent again are paced as well; a pause or a refusal has its usual effect.
#[test]
fn what_is_sent_again_is_paced_alike() {
    let library = library();
    let mut lab = Lab::new(&library, 2, &[7], &KEEPS);
    for psn in 10..14 {
        lab.net.give(7, psn, true);
    }
    assert_eq!(lab.settle(100).len(), 4);
    lab.limit(7);
    lab.net.answer(7, 11, syndrome::NAK_PSN);
    assert_eq!(lab.settle(300), [(7, 11)]);
    lab.may(7);
    assert_eq!(lab.settle(300), [(7, 12)]);
    // An acknowledgement does not let it go on.
    lab.net.answer(7, 11, syndrome::ACK);
    assert!(lab.settle(300).is_empty());
    lab.may(7);
    assert_eq!(lab.settle(300), [(7, 13)]);
    // 20 us, and `go` within it.
    lab.net.answer(7, 12, syndrome::RNR_NAK | 2);
    lab.settle(100);
    lab.may(7);
    assert!(lab.settle(4_000).is_empty());
    assert_eq!(lab.settle(15_000), [(7, 12)]);
    lab.net.answer(7, 12, syndrome::NAK_REMOTE_ACCESS);
    lab.settle(300);
    assert_eq!(lab.net.pages_in_use(), 0);
    // A life of its own; the packet of the one before still has its `go`.
    lab.net.set(7, &KEEPS);
    lab.net.give(7, 50, true);
    assert!(lab.settle(300).is_empty());
    lab.may(7);
    assert_eq!(lab.settle(300), [(7, 50)]);
}

#[test]
fn a_limited_queue_pair_is_held_while_packets_wait() {
    let library = library();
    let mut lab = Lab::new(&library, 3, &[7], &KEEPS);
    let held = Rc::new(RefCell::new(Vec::new()));
    let seen = Rc::clone(&held);
    lab.net.bench.observe(move |model, _| {
        if model.get("hold_valid") == 1 {
            seen.borrow_mut().push((model.get("hold_qp"), model.get("hold_held") == 1));
        }
    });
    lab.limit(7);
    lab.net.give(7, 0, true);
    lab.settle(300);
    assert_eq!(*held.borrow(), [], "nothing waits");
    for psn in 1..4 {
        lab.net.give(7, psn, true);
    }
    lab.settle(300);
    for _ in 1..4 {
        assert_eq!(*held.borrow(), [(7, true)]);
        lab.may(7);
        lab.settle(300);
    }
    assert_eq!(held.take(), [(7, true), (7, false)]);
}

/// Random packets, acknowledgements and losses: every packet is acknowledged at last, in order, and none leaves before
/// its time.
#[test]
fn random_queue_pairs_send_everything_at_their_pace() {
    let library = library();
    for seed in 1..5 {
        let mut random = Random::new(seed);
        let qps: Vec<u64> = (0..6).map(|k| (seed * 577 + k * 683) % 4096).collect();
        let mut lab =
            Lab::new(&library, seed, &qps, &Setting { retry_cnt: 7, timeout: 2, ..KEEPS });
        let mut next: HashMap<u64, u64> = qps.iter().map(|qp| (*qp, 0)).collect();
        let mut expected = next.clone();
        let mut paced = 0;
        let mut round = 0;
        while round < 25_000 || expected != next || lab.net.pages_in_use() > 0 {
            round += 1;
            assert!(round < 400_000, "seed {seed}: {expected:?} of {next:?} have come");
            let is_over = round >= 25_000;
            let qp = qps[random.below(6) as usize];
            let given = next[&qp];
            if !is_over && random.chance(0.03) && lab.net.pages_in_use() < 300 {
                lab.net.give(qp, given, true);
                next.insert(qp, given + 1);
            }
            if random.chance(0.001) {
                let limited = &mut lab.pace.borrow_mut().limited;
                if !limited.remove(&qp) && !is_over {
                    limited.insert(qp);
                }
            }
            if lab.waits(qp) && random.chance(0.05) {
                lab.may(qp);
                paced += 1;
            }
            for (qp, psn) in lab.step() {
                // The receiver loses some.
                let due = expected[&qp];
                if psn == due && !random.chance(0.02) {
                    expected.insert(qp, due + 1);
                    lab.net.answer(qp, psn, syndrome::ACK);
                } else if psn > due {
                    lab.net.answer(qp, due, syndrome::NAK_PSN);
                } else if psn < due {
                    lab.net.answer(qp, due - 1, syndrome::ACK);
                }
            }
        }
        assert!(paced > 100, "{paced} packets were paced");
    }
}
