//! READs and atomics: their numbers, how many there may be, fences, and what is asked for again.

use super::*;
use drdma_abi::roce::operation;

const ACK: u8 = syndrome::ACK | 31;
const ADDRESS: u64 = 0xffff_f000;
const MTU: u64 = 1024;

/// A READ of `bytes` bytes, which takes as many numbers as its answer has packets.
fn read(net: &mut Net<'_>, psn: u64, bytes: u64, fenced: bool) {
    let last = (psn + bytes.div_ceil(MTU).max(1) - 1) & 0xff_ffff;
    net.give_with(7, psn, true, |beat| {
        beat.with("operation", u64::from(operation::READ_REQUEST))
            .with("remote_addr", ADDRESS)
            .with("message_bytes", bytes)
            .with("imm", last)
            .with("status", 10_u64)
            .with("fenced", fenced)
    });
}

fn atomic(net: &mut Net<'_>, psn: u64) {
    net.give_with(7, psn, true, |beat| {
        beat.with("operation", u64::from(operation::FETCH_AND_ADD)).with("fenced", 0_u64)
    });
}

fn send(net: &mut Net<'_>, psn: u64, fenced: bool) {
    net.give_with(7, psn, true, |beat| beat.with("operation", 4_u64).with("fenced", fenced));
}

/// Packets that leave in 300 cycles: number, address, length, whether it was sent before.
fn leaves(net: &mut Net<'_>) -> Vec<(u64, u64, u64, bool)> {
    let mut came = Vec::new();
    for _ in 0..300 {
        net.bench.step();
        for beat in net.bench.take(net.item) {
            net.bench.send(net.done, Beat::from([("page", beat.u64("page"))]));
            let [psn, addr, bytes] = ["psn", "remote_addr", "message_bytes"].map(|f| beat.u64(f));
            came.push((psn, addr, bytes, beat.u64("again") == 1));
        }
    }
    came
}

fn numbers(net: &mut Net<'_>) -> Vec<u64> {
    leaves(net).iter().map(|packet| packet.0).collect()
}

fn lab(library: &Library, max_rd_atomic: u8) -> Net<'_> {
    let mut net = net(library, 1);
    net.set(7, &Setting { max_rd_atomic, ..KEEPS });
    net
}

#[test]
fn a_read_is_acknowledged_by_the_packets_of_its_answer_and_asked_again_for_the_rest() {
    let library = library();
    let mut net = lab(&library, 16);
    send(&mut net, 0xff_fffe, false);
    read(&mut net, 0xff_ffff, 5 * MTU - 10, false);
    send(&mut net, 4, false);
    assert_eq!(numbers(&mut net), [0xff_fffe, 0xff_ffff, 4]);
    // An answer covers what is before it.
    net.answer(7, 0xff_ffff, ACK);
    net.answer(7, 0, ACK);
    assert!(leaves(&mut net).is_empty());
    assert_eq!(net.told(), [(7, 0xff_ffff, ACK), (7, 0, ACK)]);
    assert_eq!(net.pages_in_use(), 2);
    // Two packets have come.
    net.answer(7, 1, syndrome::NAK_PSN);
    let rest = (1, ADDRESS + 2 * MTU, 3 * MTU - 10, true);
    let came = leaves(&mut net);
    assert_eq!((came[0], came[1].0, came.len()), (rest, 4, 2));
    // Two more, then the same again.
    net.answer(7, 1, ACK);
    net.answer(7, 2, ACK);
    net.answer(7, 3, syndrome::NAK_PSN);
    let came = leaves(&mut net);
    assert_eq!((came[0], came.len()), ((3, ADDRESS + 4 * MTU, MTU - 10, true), 2));
    for psn in [3, 4] {
        net.answer(7, psn, ACK);
    }
    assert!(leaves(&mut net).is_empty());
    assert_eq!(net.told().last(), Some(&(7, 4, ACK)));
    assert_eq!(net.pages_in_use(), 0);
}

#[test]
fn no_more_reads_and_atomics_are_outstanding_than_may_be() {
    let library = library();
    let mut net = lab(&library, 2);
    read(&mut net, 10, 3 * MTU, false);
    atomic(&mut net, 13);
    send(&mut net, 14, false);
    read(&mut net, 15, 1, false);
    // Packets behind the READ wait as well.
    send(&mut net, 16, false);
    atomic(&mut net, 17);
    assert_eq!(numbers(&mut net), [10, 13, 14]);
    net.answer(7, 10, ACK);
    net.answer(7, 11, ACK);
    assert!(leaves(&mut net).is_empty());
    net.answer(7, 12, ACK);
    assert_eq!(numbers(&mut net), [15, 16]);
    net.answer(7, 13, ACK);
    assert_eq!(numbers(&mut net), [17]);
    // All packets are sent again, whatever the limit.
    net.answer(7, 14, syndrome::NAK_PSN);
    assert_eq!(numbers(&mut net), [14, 15, 16, 17]);
    net.answer(7, 15, ACK);
    net.answer(7, 17, ACK);
    assert!(leaves(&mut net).is_empty());
    assert_eq!(net.pages_in_use(), 0);
    // Another queue pair was not concerned.
    net.set(8, &KEEPS);
    net.give(8, 1, true);
    assert_eq!(numbers(&mut net), [1]);
}

#[test]
fn a_fenced_packet_waits_for_every_answer_before_it() {
    let library = library();
    let mut net = lab(&library, 16);
    send(&mut net, 1, true);
    read(&mut net, 2, 2 * MTU, true);
    atomic(&mut net, 4);
    send(&mut net, 5, true);
    send(&mut net, 6, true);
    read(&mut net, 7, 1, true);
    send(&mut net, 8, false);
    assert_eq!(numbers(&mut net), [1, 2, 4]);
    for psn in [2, 3] {
        net.answer(7, psn, ACK);
        assert!(leaves(&mut net).is_empty());
    }
    net.answer(7, 4, ACK);
    assert_eq!(numbers(&mut net), [5, 6, 7, 8]);
}

#[test]
fn an_answer_that_is_wrong_fails_its_queue_pair() {
    let library = library();
    let mut net = lab(&library, 16);
    read(&mut net, 2, 2 * MTU, false);
    assert_eq!(numbers(&mut net), [2]);
    net.answer(7, 2, crate::receive::reads::BAD_RESPONSE);
    assert!(leaves(&mut net).is_empty());
    assert_eq!(net.told(), [(7, 2, crate::receive::reads::BAD_RESPONSE)]);
    assert_eq!(net.pages_in_use(), 0);
}
