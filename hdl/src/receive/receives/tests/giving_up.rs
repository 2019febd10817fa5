//! Queue pairs that break or are reset, and queues that halt.

use super::host::*;
use drdma_abi::completion::Status;
use drdma_abi::receive::ReceiveCompletion;
use drdma_semantics::receive::encode;
use drdma_semantics::region::Region;
use drdma_verilated::testbench::Beat;

const LOG: u8 = 4;

/// A host with a queue of queue pair 5 (3), a shared one (4) of 6 and 8, and receives posted to both.
fn host(seed: u64, posted: u32) -> Host<'static> {
    let library: &'static _ = Box::leak(Box::new(library()));
    let mut host = Host::new(library, seed);
    host.latency = 30;
    host.queue(3, LOG, Some(5));
    host.queue(4, LOG, None);
    host.attributes(5, 3, 1);
    for qp in [6, 8] {
        host.attributes(qp, 4, 1);
    }
    for queue in [3, 4] {
        post(&mut host, queue, 0..posted);
    }
    host.settle();
    host
}

fn post(host: &mut Host<'_>, queue: u16, positions: std::ops::Range<u32>) {
    for position in positions.clone() {
        let region = Region::Contiguous { addr: 0x5000, len: 64, lkey: 1 };
        host.put(queue, LOG, position, &encode(u64::from(position) + 100, &[region], position));
    }
    host.ring_doorbell(queue, positions.end);
}

fn flushed(qp: u16, queue: u16, position: u32) -> (u64, ReceiveCompletion) {
    let completion = ReceiveCompletion {
        wr_id: u64::from(position) + 100,
        receive_queue: queue,
        qp,
        receive: 1,
        opcode: 128,
        status: Status::WrFlushError as u8,
        position,
        ..Default::default()
    };
    (queue.into(), completion)
}

const NONE: (bool, u64, u64) = (false, 0, 0);
const GOOD: (bool, u64, u64) = (true, 0, 64);

#[test]
fn a_broken_queue_pair_flushes_what_it_has_in_use_or_else_its_own_oldest() {
    for in_use in [false, true] {
        let mut host = host(1, 3);
        if in_use {
            assert_eq!(host.take(5, 3), GOOD);
        }
        host.give_up(5);
        host.settle();
        assert_eq!(host.completions(), [flushed(5, 3, 0)], "in use: {in_use}");
        // That halts the queue.
        assert_eq!(host.take(5, 3), NONE);
        post(&mut host, 3, 3..4);
        host.settle();
        assert_eq!(host.completions(), []);
        // It is as before when it is enabled again, and its queue pair is reset.
        host.queue(3, LOG, Some(5));
        host.attributes(5, 3, 0);
        host.attributes(5, 3, 1);
        post(&mut host, 3, 0..2);
        assert_eq!(taken(&mut host, 5, 3), GOOD);
        assert_eq!(host.completions(), []);
    }
}

/// Takes a receive that is posted.
fn taken(host: &mut Host<'_>, qp: u64, queue: u16) -> (bool, u64, u64) {
    host.settle();
    host.take(qp, queue)
}

#[test]
fn a_receive_that_is_posted_after_the_break_is_flushed_then() {
    let mut host = host(1, 0);
    host.give_up(5);
    host.settle();
    assert_eq!(host.completions(), []);
    post(&mut host, 3, 0..2);
    host.settle();
    assert_eq!(host.completions(), [flushed(5, 3, 0)]);
    post(&mut host, 3, 2..3);
    host.settle();
    assert_eq!(host.completions(), []);
    // A queue that is enabled again is of the broken queue pair still.
    host.queue(3, LOG, Some(5));
    post(&mut host, 3, 0..1);
    host.settle();
    assert_eq!(host.completions(), [flushed(5, 3, 0)]);
    host.queue(3, LOG, Some(5));
    host.queue_pair(5);
    post(&mut host, 3, 0..1);
    host.settle();
    assert_eq!(host.completions(), []);
}

#[test]
fn a_shared_queue_loses_only_what_is_in_use_and_goes_on() {
    for resets in [false, true] {
        let mut host = host(1, 4);
        assert_eq!(host.take(6, 4), GOOD);
        assert_eq!(host.take(8, 4), GOOD);
        if resets {
            host.attributes(6, 4, 0);
        } else {
            host.give_up(6);
        }
        host.settle();
        assert_eq!(host.completions(), [flushed(6, 4, 0)], "reset: {resets}");
        assert_eq!(host.take(6, 4), GOOD);
        // Nobody has one in use twice.
        host.queue_pair(8);
        host.give_up(8);
        host.settle();
        assert_eq!(host.completions(), [flushed(8, 4, 1)]);
        let placing = [("kind", RECEIVE), ("qp", 6), ("first", 1), ("bytes", 64), ("completes", 1)];
        host.bench.send(host.placing, Beat::from(placing));
        host.settle();
        let completions = host.completions();
        assert_eq!((completions.len(), completions[0].1.position), (1, 2));
    }
}

#[test]
fn a_reset_queue_pair_leaves_its_own_receive_to_the_driver() {
    let mut host = host(1, 2);
    assert_eq!(host.take(5, 3), GOOD);
    host.attributes(5, 3, 1);
    host.settle();
    assert_eq!(host.completions(), []);
    assert_eq!(host.take(5, 3), GOOD, "it has nothing in use");
}

/// The packets were on their way when the queue pair broke.
#[test]
fn bytes_of_a_receive_that_was_flushed_are_not_written() {
    let mut host = host(1, 2);
    assert_eq!(host.take(5, 3), GOOD);
    host.give_up(5);
    host.settle();
    assert_eq!(host.completions(), [flushed(5, 3, 0)]);
    let placing = [
        ("kind", RECEIVE),
        ("qp", 5),
        ("first", 1),
        ("ram", 77),
        ("bytes", 64),
        ("frame_end", 1),
        ("words", 3),
        ("completes", 1),
    ];
    host.bench.send(host.placing, Beat::from(placing));
    host.settle();
    let (runs, completions) = host.orders();
    assert_eq!((runs.len(), runs[0].2, runs[0].3), (1, 0, true));
    assert_eq!(completions, []);
}

#[test]
fn a_receive_that_fails_halts_its_own_queue_and_a_shared_one_goes_on() {
    let status = Status::LocalLengthError as u64;
    for (qp, queue, next) in [(5, 3, NONE), (6, 4, GOOD)] {
        let mut host = host(1, 2);
        assert_eq!(host.take(qp, queue), GOOD);
        let placing = [("kind", NOTHING), ("qp", qp), ("completes", 1), ("status", status)];
        host.bench.send(host.placing, Beat::from(placing));
        host.settle();
        assert_eq!(host.completions()[0].1.status, status as u8);
        assert_eq!(host.take(qp, queue), next);
    }
}

#[test]
fn an_entry_that_cannot_be_read_has_no_name_and_halts_its_queue() {
    let mut host = host(1, 0);
    host.ring_doorbell(4, 1);
    let status = Status::LocalQpOperationError as u64;
    assert_eq!(taken(&mut host, 6, 4), (true, status, 0));
    assert_eq!(host.take(8, 4), NONE, "the queue is halted at once");
    let placing = [("kind", NOTHING), ("qp", 6), ("completes", 1), ("status", status)];
    host.bench.send(host.placing, Beat::from(placing));
    host.settle();
    let mut expected = flushed(6, 4, 0);
    (expected.1.wr_id, expected.1.status) = (0, status as u8);
    assert_eq!(host.completions(), [expected]);
}

#[test]
fn doorbells_that_do_not_advance_or_go_too_far_are_dropped() {
    let mut host = host(1, 0);
    let blocks = 1 << LOG;
    for position in [0, blocks + 1, u32::MAX] {
        post(&mut host, 3, position..position);
        assert_eq!(taken(&mut host, 5, 3), NONE, "{position}");
    }
    post(&mut host, 3, 0..blocks);
    host.settle();
    for (k, bell) in (0..blocks).zip([blocks - 1, 3, blocks + 2].into_iter().cycle()) {
        host.ring_doorbell(3, bell);
        assert_eq!(taken(&mut host, 5, 3), GOOD, "{k}");
        host.bench.send(host.placing, Beat::from([("qp", 5), ("completes", 1)]));
        host.settle();
        if k == 1 {
            break;
        }
    }
}
