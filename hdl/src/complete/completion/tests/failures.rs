//! Refusals, silence, and what a queue forgets.

use super::*;

#[test]
fn a_refusal_fails_the_oldest_request_and_halts_its_queue_alone() {
    for (syndrome, status) in [
        (0x60, Status::RetryExceeded),
        (0x61, Status::RemoteInvalidRequestError),
        (0x62, Status::RemoteAccessError),
        (0x63, Status::RemoteOperationError),
        (0x25, Status::RnrRetryExceeded),
    ] {
        let mut card = Card::new(&library(), 1, (0.2, 0.2));
        card.completion_queue(0, 0x1000, 6);
        (0..3).for_each(|queue| card.queue(queue, 0));
        // Three requests of queue 0 on queue pair 7, one of queue 1 on the same, one elsewhere.
        let slots: Vec<_> = (0..3).map(|wr_id| card.open(0, wr_id)).collect();
        let shared = card.open(1, 10);
        let other = card.open(2, 20);
        for (k, slot) in slots.iter().enumerate() {
            card.packet(*slot, 7, (0xff_fffe + k as u64) & 0xff_ffff, 2);
            card.end(*slot, 0, 8);
        }
        card.packet(shared, 7, 5, 4);
        card.end(shared, 0, 8);
        card.packet(other, 8, 1, 0);
        card.end(other, 0, 8);
        // The second packet is refused; the first one is thereby acknowledged.
        card.ack(7, 0xff_ffff, syndrome);
        card.ack(8, 1, 0);
        let entries = card.entries();
        let of = |wr_id| entries.iter().find(|entry| entry.wr_id == wr_id).copied();
        assert_eq!(of(0).unwrap().status, OK);
        assert_eq!(of(1).unwrap().status, status as u8);
        assert_eq!((of(1).unwrap().bytes, of(1).unwrap().destination), (0, 2));
        assert_eq!(of(2), None, "a halted queue is silent");
        assert_eq!((of(10).unwrap().status, of(10).unwrap().destination), (FLUSH, 4));
        assert_eq!(of(20).unwrap().status, OK);
        card.bench.run(10);
        assert_eq!(card.bench.get("busy"), 0, "no slot is lost");
    }
}

#[test]
fn a_request_that_failed_before_completes_with_its_status_in_order() {
    let mut card = Card::new(&library(), 2, (0.0, 0.0));
    card.completion_queue(0, 0x1000, 6);
    card.queue(0, 0);
    let slots: Vec<_> = (0..3).map(|wr_id| card.open(0, wr_id)).collect();
    card.packet(slots[0], 1, 9, 0);
    card.end(slots[0], 0, 4);
    card.end(slots[1], Status::LocalProtectionError as u64, 0);
    card.end(slots[2], 0, 4);
    assert_eq!(card.statuses(), [], "the first one still waits");
    card.ack(1, 9, 0);
    assert_eq!(card.statuses(), [(0, OK), (1, Status::LocalProtectionError as u8)]);
    // A queue that is enabled again starts afresh.
    card.queue(0, 0);
    let slot = card.open(0, 7);
    card.end(slot, 0, 4);
    assert_eq!(card.statuses(), [(7, OK)]);
}

#[test]
fn requests_that_a_queue_forgot_never_complete_and_give_their_slots_back() {
    let mut card = Card::new(&library(), 3, (0.3, 0.3));
    card.completion_queue(0, 0x1000, 6);
    card.queue(0, 0);
    let slots: Vec<_> = (0..5).map(|wr_id| card.open(0, wr_id)).collect();
    // The third is acknowledged, and waits for those before it.
    let qp = |k: usize| if k == 2 { 4 } else { 3 };
    slots.iter().enumerate().for_each(|(k, slot)| card.packet(*slot, qp(k), k as u64, 0));
    slots[..4].iter().for_each(|slot| card.end(*slot, 0, 1));
    card.ack(4, 2, 0);
    card.bench.run(50);
    card.queue(0, 0);
    let slot = card.open(0, 100);
    card.end(slot, 0, 1);
    assert_eq!(card.statuses(), [(100, OK)]);
    // The host resets the queue pair: its packets will not be acknowledged.
    card.word(QUEUE_PAIRS, 3, 15, 0);
    card.end(slots[4], 0, 1);
    assert_eq!(card.statuses(), []);
    assert_eq!(card.bench.get("busy"), 0);
}

#[test]
fn silence_fails_a_request_after_the_timeout_only() {
    let mut card = Card::new(&library(), 5, (0.0, 0.0));
    card.completion_queue(0, 0x1000, 6);
    card.queue(0, 0);
    let slot = card.open(0, 1);
    card.packet(slot, 9, 4, 0);
    card.end(slot, 0, 1);
    card.bench.run(20_000);
    assert_eq!(card.statuses(), [], "0 waits for ever");
    card.bench.set("timeout", 40_u64);
    card.bench.run(10_000);
    assert_eq!(card.statuses(), []);
    card.bench.run(20_000);
    assert_eq!(card.statuses(), [(1, Status::RetryExceeded as u8)]);
}

#[test]
fn silence_fails_no_queue_pair_that_the_keeper_gives_up_until_it_has() {
    let library = library();
    let attributes = AttributesEntry { timeout: 3, retry_cnt: 1, state: 1, ..Default::default() };
    let pair = QueuePairEntry { transport: Transport::Rc as u8, state: 1, ..Default::default() };
    let without = AttributesEntry { timeout: 0, ..attributes };
    for (attributes, closed, fails) in
        [(attributes, 0, false), (without, 0, true), (attributes, 1, true)]
    {
        let mut card = Card::new(&library, 7, (0.0, 0.0));
        card.completion_queue(0, 0x1000, 6);
        card.queue(0, 0);
        card.table(ATTRIBUTES, 9, &attributes.to_bytes());
        card.table(QUEUE_PAIRS, 9, &pair.to_bytes());
        card.bench.set("closed", closed);
        let slot = card.open(0, 1);
        card.packet(slot, 9, 4, 0);
        card.end(slot, 0, 1);
        card.bench.set("timeout", 40_u64);
        card.bench.run(60_000);
        let expected = [(1, Status::RetryExceeded as u8)];
        assert_eq!(card.statuses(), expected[..usize::from(fails)], "{attributes:?}, {closed}");
    }
}

#[test]
fn what_is_sent_to_a_peer_that_refused_is_flushed() {
    let mut card = Card::new(&library(), 6, (0.0, 0.0));
    card.completion_queue(0, 0x1000, 6);
    (0..3).for_each(|queue| card.queue(queue, 0));
    let slots: Vec<_> = (0..2).map(|queue| card.open(queue, queue)).collect();
    card.packet(slots[0], 200, 4, 6);
    card.end(slots[0], 0, 1);
    card.ack(200, 4, 0x62);
    // This packet was on its way already.
    card.packet(slots[1], 200, 5, 6);
    card.end(slots[1], 0, 1);
    let ends: Vec<_> = card.entries().iter().map(|e| (e.wr_id, e.status, e.destination)).collect();
    assert_eq!(ends, [(0, Status::RemoteAccessError as u8, 6), (1, FLUSH, 6)]);
    // After a reset by the host, the queue pair can be used as a new one.
    card.word(QUEUE_PAIRS, 200, 15, 1);
    card.bench.run(10);
    let slot = card.open(2, 2);
    card.packet(slot, 200, 6, 0);
    card.end(slot, 0, 1);
    card.ack(200, 6, 0);
    assert_eq!(card.statuses(), [(2, OK)]);
}

#[test]
fn a_refusal_that_comes_before_the_destinations_end_fails_that_request() {
    let mut card = Card::new(&library(), 8, (0.0, 0.0));
    card.completion_queue(0, 0x1000, 6);
    (0..2).for_each(|queue| card.queue(queue, 0));
    card.word(QUEUE_PAIRS, 9, 15, 1);
    card.bench.run(10);
    let slots: Vec<_> = (0..2).map(|queue| card.open(queue, queue)).collect();
    card.sending(9, 5);
    card.ack(9, 5, 0x62);
    for slot in slots {
        card.bench.send(card.sent, sent(slot, 9, 0, 5, 0, 3, 0));
        card.drain();
        card.end(slot, 0, 8);
    }
    let status = Status::RemoteAccessError as u8;
    assert_eq!(card.statuses(), [(0, status), (1, FLUSH)]);
}

/// The request's end comes when its packet was refused long ago.
#[test]
fn a_refused_request_keeps_its_status_and_destination_until_its_end() {
    let mut card = Card::new(&library(), 8, (0.0, 0.0));
    card.completion_queue(0, 0x1000, 6);
    card.queue(0, 0);
    card.word(QUEUE_PAIRS, 9, 15, 1);
    card.bench.run(10);
    let slot = card.open(0, 7);
    card.packet(slot, 9, 5, 2);
    card.bench.run(50);
    card.ack(9, 5, 0x62);
    card.bench.run(50);
    card.end(slot, 0, 8);
    let entries = card.entries();
    let found: Vec<_> =
        entries.iter().map(|entry| (entry.wr_id, entry.status, entry.destination)).collect();
    assert_eq!(found, [(7, Status::RemoteAccessError as u8, 2)]);
}
