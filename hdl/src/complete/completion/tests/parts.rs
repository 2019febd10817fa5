//! Requests that send a part of a message each.

use super::*;
use crate::send::packetizer::{DESTINATION_ENDS, PART_ENDS, REQUEST_ENDS};
use std::cell::Cell;
use std::rc::Rc;

const BYTES: u64 = 300_000;

/// Opens and sends a message of queue 0 in parts, with sequence numbers from `psn` on; items come at once or one by
/// one.
fn send_parts(card: &mut Card<'_>, wr_id: u64, parts: u64, psn: u64, at_once: bool) {
    let slots: Vec<_> = (0..parts).map(|_| card.open(0, wr_id)).collect();
    for (part, slot) in (1..).zip(slots) {
        let kind = if part == parts { REQUEST_ENDS } else { PART_ENDS };
        card.sending(7, psn + part);
        card.bench.send(card.sent, sent(slot, 7, DESTINATION_ENDS, psn + part, 0, 0, 0));
        if !at_once {
            card.drain();
        }
        card.bench.send(card.sent, sent(slot, 7, kind, 0, 0, 0, BYTES));
        card.drain();
    }
}

fn counted(card: &mut Card<'_>) -> Rc<Cell<u64>> {
    let count = Rc::new(Cell::new(0));
    let seen = Rc::clone(&count);
    card.bench.observe(move |model, _| seen.set(seen.get() + model.get("count_work_requests")));
    count
}

#[test]
fn a_message_completes_once_with_its_last_part() {
    for at_once in [false, true] {
        let mut card = Card::new(&library(), 1, (0.1, 0.1));
        card.completion_queue(0, 0x1000, 6);
        card.queue(0, 0);
        let count = counted(&mut card);
        send_parts(&mut card, 4, 5, 100, at_once);
        send_parts(&mut card, 5, 1, 200, at_once);
        for psn in 101..105 {
            card.ack(7, psn, 0);
            assert_eq!(card.statuses(), [], "a part, and not the last");
        }
        assert_eq!(count.get(), 0);
        card.ack(7, 105, 0);
        let entries = card.entries();
        assert_eq!(entries.len(), 1);
        assert_eq!((entries[0].wr_id, entries[0].status, entries[0].bytes), (4, OK, BYTES));
        card.ack(7, 201, 0);
        assert_eq!(card.statuses(), [(5, OK)]);
        assert_eq!((count.get(), card.bench.get("busy")), (2, 0));
    }
}

#[test]
fn a_message_one_of_whose_parts_fails_completes_with_its_status_and_not_again() {
    for refused in 1..=4 {
        for at_once in [false, true] {
            let mut card = Card::new(&library(), 2, (0.1, 0.1));
            card.completion_queue(0, 0x1000, 6);
            card.queue(0, 0);
            let count = counted(&mut card);
            send_parts(&mut card, 4, 4, 100, at_once);
            card.ack(7, 100 + refused, 0x62);
            assert_eq!(card.statuses(), [(4, Status::RemoteAccessError as u8)]);
            card.bench.run(50);
            assert_eq!((count.get(), card.bench.get("busy")), (1, 0));
        }
    }
    // The part fails when it is sent, while parts before it are not acknowledged.
    let mut card = Card::new(&library(), 3, (0.1, 0.1));
    card.completion_queue(0, 0x1000, 6);
    card.queue(0, 0);
    let slots: Vec<_> = (0..3).map(|_| card.open(0, 4)).collect();
    card.packet(slots[0], 7, 11, 0);
    card.bench.send(card.sent, sent(slots[0], 7, PART_ENDS, 0, 0, 0, BYTES));
    card.end(slots[1], Status::LocalProtectionError as u64, 0);
    card.end(slots[2], Status::WrFlushError as u64, 0);
    assert_eq!(card.statuses(), []);
    card.ack(7, 11, 0);
    assert_eq!(card.statuses(), [(4, Status::LocalProtectionError as u8)]);
    assert_eq!(card.bench.get("busy"), 0);
}
