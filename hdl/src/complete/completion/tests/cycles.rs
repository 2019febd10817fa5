//! Cycles of events and requests.

use super::*;

/// Cycles between the first and the last of what was taken since `before`.
pub fn cycles(times: &[u64], before: usize) -> u64 {
    times[times.len() - 1] - times[before]
}

#[test]
fn events_take_a_cycle_and_acknowledgements_two() {
    let mut card = Card::new(&library(), 10, (0.0, 0.0));
    card.completion_queue(0, 0x1000, 10);
    (0..64).for_each(|queue| card.queue(queue, 0));
    card.settle();
    let slots: Vec<_> = card.free.drain(..64).collect();
    for (k, slot) in (0..).zip(&slots) {
        let beat = Beat::from([("slot", *slot), ("queue", k), ("wr_id", k)]);
        card.bench.send(card.open, beat);
    }
    card.drain();
    assert_eq!(cycles(card.bench.sent_at(card.open), 0), 63, "requests opened");
    (0..64).for_each(|qp| card.sending(qp, 5));
    let before = card.bench.sent_at(card.sent).len();
    for (qp, slot) in (0..).zip(&slots) {
        card.bench.send(card.sent, sent(*slot, qp, 0, 5, 0, 0, 0));
    }
    card.drain();
    assert_eq!(cycles(card.bench.sent_at(card.sent), before), 63, "packets");
    let before = card.bench.sent_at(card.sent).len();
    for (qp, slot) in (0..).zip(&slots) {
        card.bench.send(card.sent, sent(*slot, qp, 1, 0, 0, 0, 0));
    }
    card.drain();
    assert_eq!(cycles(card.bench.sent_at(card.sent), before), 63, "ends");
    let before = card.bench.sent_at(card.ack).len();
    for qp in 0..64 {
        card.bench.send(card.ack, Beat::from([("qp", qp), ("psn", 5), ("syndrome", 0)]));
    }
    card.drain();
    // The third cycle is free for other events.
    assert_eq!(cycles(card.bench.sent_at(card.ack), before), 189, "acknowledgements");
    card.bench.run(300);
    let times = card.bench.received_at(card.write);
    assert_eq!(times.len(), 64);
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] == 3), "a completion in 3: {times:?}");
}

/// Requests of one queue and one queue pair, one after another, each with a packet, its acknowledgement and a
/// completion; acknowledgements come `behind` requests later.
fn stream(requests: u64, transport_acknowledges: bool, behind: u64) -> f64 {
    let mut card = Card::new(&library(), 11, (0.0, 0.0));
    card.completion_queue(0, 0x1000, 12);
    card.queue(0, 0);
    card.settle();
    let mut slots: VecDeque<u64> = card.free.drain(..).collect();
    let mut open = VecDeque::new();
    let (mut opened, mut acked) = (0, 0);
    let mut done = 0;
    while done < requests {
        card.settle();
        slots.append(&mut card.free);
        done += card.log.len() as u64;
        for (_, entry) in card.log.drain(..) {
            assert_eq!((entry.status, entry.bytes), (OK, 64));
        }
        if opened < requests && card.bench.pending(card.open) < 3 && !slots.is_empty() {
            let slot = slots.pop_front().unwrap();
            let beat = Beat::from([("slot", slot), ("queue", 0), ("wr_id", opened)]);
            card.bench.send(card.open, beat);
            open.push_back((opened, slot));
            opened += 1;
        }
        let first = opened - card.bench.pending(card.open) as u64;
        if card.bench.pending(card.sent) < 4
            && open.front().is_some_and(|(id, _)| *id + 4 < first || first == requests)
        {
            let (id, slot) = open.pop_front().unwrap();
            if transport_acknowledges {
                card.bench.send(card.sent, sent(slot, 3, 0, id, 0, 0, 0));
            }
            card.bench.send(card.sent, sent(slot, 3, 1, 0, 0, 0, 64));
            card.bench.set("sending_qp", 3_u64);
            card.bench.set("sending_psn", id);
            card.bench.set("sending_valid", 1_u64);
        } else {
            card.bench.set("sending_valid", 0_u64);
        }
        let sent = opened - open.len() as u64;
        if transport_acknowledges
            && card.bench.pending(card.ack) < 3
            && (acked + behind < sent || (sent == requests && acked < sent))
        {
            card.bench.send(card.ack, Beat::from([("qp", 3), ("psn", acked), ("syndrome", 0)]));
            acked += 1;
        }
        card.bench.step();
    }
    let times = card.bench.received_at(card.write);
    cycles(times, 0) as f64 / (requests - 1) as f64
}

#[test]
fn requests_of_one_queue_take_four_cycles_and_not_five_with_an_acknowledgement() {
    let unacknowledged = stream(2_000, false, 0);
    assert!(unacknowledged <= 3.5, "{unacknowledged}");
    let acknowledged = stream(2_000, true, 60);
    assert!(acknowledged <= 4.05, "{acknowledged}");
}

/// Else the decoder would stand still where packets and acknowledgements of many queue pairs leave no cycle free.
#[test]
fn a_request_is_opened_after_a_cycle_though_packets_could_use_all_of_them() {
    let mut card = Card::new(&library(), 13, (0.0, 0.0));
    card.completion_queue(0, 0x1000, 10);
    (0..64).for_each(|queue| card.queue(queue, 0));
    card.settle();
    let slots: Vec<_> = card.free.drain(..74).collect();
    let (packets, requests) = slots.split_at(64);
    let open = |slot: u64, queue: u64| Beat::from([("slot", slot), ("queue", queue)]);
    for (queue, slot) in (0..).zip(packets) {
        card.bench.send(card.open, open(*slot, queue));
    }
    card.drain();
    let (opened, before) =
        (card.bench.sent_at(card.open).len(), card.bench.sent_at(card.sent).len());
    for (qp, slot) in (0..).zip(packets) {
        card.bench.send(card.sent, sent(*slot, qp, 0, 5, 0, 0, 0));
    }
    for (queue, slot) in (0..).zip(requests) {
        card.bench.send(card.open, open(*slot, queue));
    }
    card.drain();
    assert_eq!(cycles(card.bench.sent_at(card.open), opened), 18, "ten requests, one in 2 cycles");
    assert_eq!(cycles(card.bench.sent_at(card.sent), before), 63 + 10, "packets have the others");
}
