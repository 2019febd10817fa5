//! Requests, items and acknowledgements that come as fast as they are taken.

use super::*;

/// A request that was opened.
struct Open {
    wr_id: u64,
    slot: u64,
    queue: u64,
    unsignaled: bool,
    /// Packets that were not acknowledged, as {queue pair, number}.
    waits: Vec<(u64, u64)>,
    /// Items that are still to be sent of the request: its packets, and its end.
    items: VecDeque<Beat>,
}

#[test]
fn every_request_completes_once_when_all_of_it_is_acknowledged() {
    let library = library();
    for (seed, stalls) in (1..).zip(STALLS) {
        // All queue pairs, or few, so that events are about the same ones; many or few packets a request.
        for (pairs, most) in [(1, 1), (2, 2), (8, 4)] {
            run(&library, 17 * seed + pairs, stalls, pairs, most);
        }
    }
}

fn run(library: &Library, seed: u64, stalls: (f64, f64), pairs: u64, most: u64) {
    const REQUESTS: u64 = 400;
    let mut random = Random::new(seed);
    let mut card = Card::new(library, seed, stalls);
    card.completion_queue(0, 0x1000, 12);
    (0..4).for_each(|queue| card.queue(queue, 0));
    card.bench.run(20);
    card.settle();
    let mut psn: Vec<u64> = (0..pairs).map(|_| random.below(1 << 24)).collect();
    // Requests in the order of their queues; packets by queue pair, the oldest first, that were sent.
    let mut open: VecDeque<Open> = VecDeque::new();
    let mut sent_packets: Vec<VecDeque<u64>> = vec![VecDeque::new(); pairs as usize];
    let mut expected: HashMap<u64, VecDeque<u64>> = HashMap::new();
    let mut free = std::mem::take(&mut card.free);
    let (mut opened, mut told, mut quiet, mut steps) = (0, 0, 0, 0);
    while told + quiet < REQUESTS {
        steps += 1;
        assert!(steps < 60_000, "{} requests are open, {told} were told", open.len());
        card.settle();
        free.append(&mut card.free);
        if opened < REQUESTS && card.bench.pending(card.open) == 0 && random.chance(0.5) {
            if let Some(slot) = free.pop_front() {
                let (queue, unsignaled) = (random.below(4), random.chance(0.3));
                let beat = Beat::from([
                    ("slot", slot),
                    ("queue", queue),
                    ("wr_id", opened),
                    ("unsignaled", unsignaled.into()),
                ]);
                card.bench.send(card.open, beat);
                let mut request = Open {
                    wr_id: opened,
                    slot,
                    queue,
                    unsignaled,
                    waits: Vec::new(),
                    items: VecDeque::new(),
                };
                for dest in 0..random.below(most + 1) {
                    let qp = random.below(pairs);
                    let number = &mut psn[qp as usize];
                    *number = (*number + 1) & 0xff_ffff;
                    request.waits.push((qp, *number));
                    request.items.push_back(sent(slot, qp, 0, *number, 0, dest, 0));
                }
                request.items.push_back(sent(slot, 0, 1, 0, 0, 0, opened));
                if !unsignaled {
                    expected.entry(queue).or_default().push_back(opened);
                }
                open.push_back(request);
                opened += 1;
            }
        }
        // Items in the order of requests; the packets that they are of have gone to the packetizer before.
        let ready = opened - card.bench.pending(card.open) as u64;
        card.bench.set("sending_valid", 0_u64);
        if card.bench.pending(card.sent) < 3
            && random.chance(0.9)
            && let Some(request) = open.iter_mut().find(|request| !request.items.is_empty())
            && request.wr_id < ready
        {
            let item = request.items.pop_front().unwrap();
            if item.u64("kind") == 0 {
                card.bench.set("sending_qp", item.u64("qp"));
                card.bench.set("sending_psn", item.u64("psn"));
                card.bench.set("sending_valid", 1_u64);
                sent_packets[item.u64("qp") as usize].push_back(item.u64("psn"));
            }
            card.bench.send(card.sent, item);
        } else if card.bench.pending(card.ack) == 0 && random.chance(0.7) {
            // Some packets of a queue pair at once; perhaps before the item has come.
            let qp = random.below(pairs);
            let packets = &mut sent_packets[qp as usize];
            if !packets.is_empty() {
                let count = 1 + random.below(packets.len().min(3) as u64) as usize;
                let covered: Vec<u64> = packets.drain(..count).collect();
                for request in &mut open {
                    request.waits.retain(|(pair, psn)| *pair != qp || !covered.contains(psn));
                }
                let last = *covered.last().unwrap();
                card.bench.send(card.ack, Beat::from([("qp", qp), ("psn", last), ("syndrome", 0)]));
            }
        }
        card.bench.step();
        card.settle();
        for (_, entry) in card.log.drain(..) {
            let next = expected.get_mut(&u64::from(entry.queue)).and_then(VecDeque::pop_front);
            assert_eq!((Some(entry.wr_id), entry.status), (next, OK), "queue {}", entry.queue);
            assert_eq!(entry.bytes, entry.wr_id, "the total of its end");
            let at = open.iter().position(|request| request.wr_id == entry.wr_id).unwrap();
            let request = open.remove(at).unwrap();
            assert!(request.waits.is_empty() && request.items.is_empty(), "{}", request.wr_id);
            assert!(!request.unsignaled);
            told += 1;
        }
        // An unsignaled request only gives back its slot.
        for slot in &card.free {
            if let Some(at) = open.iter().position(|r| r.slot == *slot && r.unsignaled) {
                let request = open.remove(at).unwrap();
                assert!(request.waits.is_empty() && request.items.is_empty(), "{}", request.wr_id);
                let before =
                    |other: &Open| other.queue == request.queue && other.wr_id < request.wr_id;
                assert!(!open.iter().any(before), "out of order: {}", request.wr_id);
                quiet += 1;
            }
        }
    }
    card.bench.set("sending_valid", 0_u64);
    card.bench.run(200);
    card.settle();
    assert_eq!((card.log.len(), card.bench.get("busy")), (0, 0));
}
