//! Cycles of packets and acknowledgements.

use super::*;

/// Cycles from the first to the last of `count` items that are taken one a cycle, and one more for each clock that is
/// examined.
fn a_cycle_each(count: u64) -> std::ops::Range<u64> {
    count - 1..count + count / 16 + 4
}

#[test]
fn items_and_packets_of_many_queue_pairs_take_a_cycle_each() {
    let library = library();
    let mut net = net(&library, 7);
    for qp in 0..16 {
        net.set(qp, &Setting { state: 0, ..KEEPS });
        net.set(100 + qp, &KEEPS);
    }
    for first in [0, 100] {
        net.bench.run(20);
        let from = net.bench.sent_at(net.packet).len();
        for k in 0..100 {
            net.give(first + k % 16, k / 16, false);
        }
        assert_eq!(net.settle(500).len(), 100);
        let sent = &net.bench.sent_at(net.packet)[from..];
        let received = &net.bench.received_at(net.item)[from..];
        assert!(sent.iter().zip(received).all(|(sent, received)| received - sent == 4));
        let taken = sent[99] - sent[0];
        assert!(a_cycle_each(100).contains(&taken), "{taken} cycles for 100 packets");
    }
    let from = net.bench.sent_at(net.packet).len();
    for _ in 0..100 {
        net.bench.send(net.packet, Beat::from([("marker", 1)]));
    }
    net.bench.run(200);
    net.bench.take(net.item);
    let at = &net.bench.sent_at(net.packet)[from..];
    assert_eq!(at[99] - at[0], 99);
    assert_eq!(net.bench.received_at(net.item)[from], at[0] + 4);
}

#[test]
fn packets_and_acknowledgements_of_one_queue_pair_take_a_cycle_each() {
    let library = library();
    let mut net = net(&library, 13);
    net.set(100, &KEEPS);
    for k in 0..100 {
        net.give(100, k, true);
    }
    assert_eq!(net.settle(300).len(), 100);
    let at = net.bench.sent_at(net.packet);
    let taken = at[99] - at[0];
    assert!(a_cycle_each(100).contains(&taken), "{taken} cycles for 100 packets");
    // New packets come while the first ones are acknowledged.
    for k in 0..100 {
        net.answer(100, k, syndrome::ACK | 31);
        net.give(100, 100 + k, true);
    }
    assert_eq!(net.settle(500).len(), 100);
    assert_eq!(net.told().len(), 100);
    let last = *net.bench.sent_at(net.packet).last().unwrap();
    let taken = last - net.bench.sent_at(net.response)[0];
    assert!(a_cycle_each(200).contains(&taken), "{taken} cycles for 100 of both");
    for k in 100..200 {
        net.answer(100, k, syndrome::ACK | 31);
    }
    net.settle(300);
    assert_eq!((net.told().len(), net.pages_in_use()), (100, 0));
}

#[test]
fn acknowledgements_of_one_packet_each_take_a_cycle_of_many_packets_two_each() {
    let library = library();
    let mut net = net(&library, 11);
    for qp in 0..16 {
        net.set(qp, &Setting { state: 0, ..KEEPS });
        net.set(100 + qp, &KEEPS);
    }
    for k in 0..96 {
        net.give(100 + k % 16, k / 16, true);
    }
    net.settle(300);
    for first in [0, 100] {
        let from = net.bench.sent_at(net.response).len();
        for k in 0..96 {
            net.answer(first + k % 16, k / 16, syndrome::ACK | 31);
        }
        net.settle(400);
        assert_eq!(net.told().len(), 96);
        let at = &net.bench.sent_at(net.response)[from..];
        let taken = at[95] - at[0];
        assert!(a_cycle_each(96).contains(&taken), "{taken} cycles for 96 acknowledgements");
    }
    assert_eq!(net.pages_in_use(), 0);
    for k in 0..60 {
        net.give(100 + k % 2, 6 + k / 2, true);
    }
    net.settle(300);
    let from = net.bench.received_at(net.told).len();
    for qp in [100, 101] {
        net.answer(qp, 35, syndrome::ACK | 31);
    }
    net.settle(400);
    let at = &net.bench.received_at(net.told)[from..];
    let taken = at[1] - at[0];
    assert!((60..66).contains(&taken), "{taken} cycles for 30 packets");
    assert_eq!(net.pages_in_use(), 0);
}
