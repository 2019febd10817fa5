//! Queue pairs that break or are reset, and queues that halt.

use super::host::*;
use crate::context::QUEUE_PAIR_TABLE;
use drdma_abi::Layout;
use drdma_abi::completion::Status;
use drdma_abi::receive::ReceiveCompletion;
use drdma_abi::register::QueuePairEntry;
use drdma_semantics::receive::encode;
use drdma_semantics::region::Region;
use drdma_verilated::Library;
use drdma_verilated::testbench::{Beat, Random, STALLS};
use std::collections::VecDeque;
use std::sync::OnceLock;

const LOG: u8 = 4;

/// A host with a queue of queue pair 5 (3), a shared one (4) of 6 and 8, and receives posted to both.
fn host(seed: u64, posted: u32) -> Host<'static> {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    let mut host = Host::new(LIBRARY.get_or_init(library), seed);
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
        // The flushed receive has halted the queue.
        assert_eq!(host.take(5, 3), NONE);
        post(&mut host, 3, 3..4);
        host.settle();
        assert_eq!(host.completions(), []);
        // The queue works as before once it is enabled again and its queue pair is reset.
        host.queue(3, LOG, Some(5));
        host.queue_pair(5, if in_use { 0 } else { 2 });
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
    host.queue_pair(5, 0);
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
        // A receive is given up only once, though its queue pair is reset and breaks.
        host.queue_pair(8, 0);
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

#[test]
fn a_queue_pair_that_goes_on_keeps_what_it_has_in_use() {
    let mut host = host(1, 2);
    host.queue_pair(6, 2);
    assert_eq!(host.take(6, 4), GOOD);
    host.attributes(6, 4, 2);
    host.queue_pair(6, 1);
    host.settle();
    assert_eq!(host.completions(), []);
    host.give_up(6);
    host.settle();
    assert_eq!(host.completions(), [flushed(6, 4, 0)]);
    // A broken queue pair is mended neither by becoming ready to send, nor by attributes.
    host.queue_pair(5, 2);
    host.give_up(5);
    host.queue_pair(5, 1);
    host.attributes(5, 3, 1);
    host.settle();
    assert_eq!(host.completions(), [flushed(5, 3, 0)]);
    host.queue(3, LOG, Some(5));
    post(&mut host, 3, 0..1);
    host.settle();
    assert_eq!(host.completions(), [flushed(5, 3, 0)]);
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

/// The pieces that were found for it are passed over.
#[test]
fn pieces_of_a_receive_that_was_flushed_are_not_written() {
    let mut host = host(1, 2);
    assert_eq!(host.take(5, 3), GOOD);
    host.give_up(5);
    host.settle();
    assert_eq!(host.completions(), [flushed(5, 3, 0)]);
    for frame in 0..2 {
        let placing = [("kind", RECEIVE), ("qp", 5), ("first", 1), ("bytes", 96), ("frame_end", 1)];
        host.bench.send(host.placing, Beat::from(placing).with("pieces", 1));
        for (addr, bytes, last) in [(0x5000, 32, 0), (0x6000, 64, 1)] {
            let piece = Beat::from([("addr", addr), ("bytes", bytes), ("last", last)]);
            host.bench.send(host.piece, piece);
        }
        host.settle();
        let (runs, completions) = host.orders();
        assert_eq!((runs.len(), runs[0].2, runs[0].3), (1, 0, true), "frame {frame}");
        assert_eq!(completions, []);
    }
}

#[test]
fn a_frame_of_which_nothing_is_written_is_given_back() {
    let mut host = host(1, 2);
    assert_eq!(host.take(5, 3), GOOD);
    for frame_end in [1, 0] {
        let placing = [("kind", NOTHING), ("qp", 5), ("ram", 99), ("frame_end", frame_end)];
        host.bench.send(host.placing, Beat::from(placing).with("words", 3));
        host.settle();
        let (runs, completions) = host.orders();
        assert_eq!((runs.len(), runs[0].2, runs[0].3), (1, 0, frame_end == 1));
        assert_eq!(completions, []);
    }
    // The receive is still there.
    let placing = [("kind", RECEIVE), ("qp", 5), ("first", 1), ("bytes", 64), ("frame_end", 1)];
    host.bench.send(host.placing, Beat::from(placing).with("completes", 1));
    host.settle();
    let (runs, completions) = host.orders();
    assert_eq!((runs.len(), runs[0].2, completions.len()), (1, 64, 1));
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

#[test]
fn what_is_posted_after_a_reset_is_not_flushed_however_shortly_before_the_break_was() {
    let state = QueuePairEntry::field("state").start as u64 / 32;
    for gap in 0..40 {
        let mut host = host(1, 0);
        for (port, value) in [
            ("cfg_table", QUEUE_PAIR_TABLE),
            ("cfg_index", 5),
            ("cfg_word", state),
            ("cfg_data", 1),
        ] {
            host.bench.set(port, value);
        }
        host.latency = gap % 7;
        for cycle in 0..=gap {
            host.bench.set("broken_valid", u64::from(cycle == 0));
            host.bench.set("broken_qp", 5);
            host.bench.set("cfg_valid", u64::from(cycle == gap));
            host.step();
        }
        host.bench.set("cfg_valid", 0);
        host.bench.set("broken_valid", 0);
        post(&mut host, 3, 0..1);
        assert_eq!(taken(&mut host, 5, 3), GOOD, "{gap}");
        assert_eq!(host.completions(), []);
    }
}

/// Some blocks are in the pool when the queue is enabled anew, others on their way.
#[test]
fn a_queue_that_is_enabled_again_starts_anew_and_gives_its_blocks_back() {
    let mut host = host(1, 0);
    let mut random = Random::new(1);
    host.latency = 60;
    for round in 0..600 {
        // In another life, entries have other names.
        let region = Region::Contiguous { addr: 0x5000, len: 64, lkey: 1 };
        let posted = 1 + random.below(1 << LOG) as u32;
        for position in 0..posted {
            host.put(3, LOG, position, &encode(round, std::slice::from_ref(&region), position));
        }
        host.ring_doorbell(3, posted);
        host.run(random.below(150));
        if round % 16 == 0 {
            assert_eq!(taken(&mut host, 5, 3), GOOD, "{round}");
            host.bench.send(host.placing, Beat::from([("qp", 5), ("completes", 1)]));
            host.settle();
            let completion = host.completions()[0].1;
            assert_eq!((completion.wr_id, completion.position), (round, 0));
        }
        host.queue(3, LOG, Some(5));
    }
    // A queue has as many blocks as ever.
    let before = host.blocks_read;
    let many = 300;
    for queue in 100..many {
        host.queue(queue, LOG, None);
        post(&mut host, queue, 0..16);
    }
    host.settle();
    let read = host.blocks_read - before;
    assert!(read >= 3_000, "{read} blocks");
}

/// Of queue pairs that break at any time, each receive that was taken completes once, and of a queue of their own
/// one more, if there is one.
#[test]
fn whenever_queue_pairs_break_no_receive_is_lost_or_completes_twice() {
    let library = library();
    let (mut flushes, mut several) = (0, 0);
    for (seed, stalls) in (1..).zip(STALLS.into_iter().cycle().take(24)) {
        let mut random = Random::new(seed);
        let mut host = Host::new(&library, seed);
        host.latency = [0, 20, 150][seed as usize % 3];
        // Queue pairs 0 to 5 have queues of their own, 6 to 11 share queue 9.
        let queue_of = |qp: usize| if qp < 6 { qp as u16 } else { 9 };
        for qp in 0..12 {
            host.queue(queue_of(qp), LOG, (qp < 6).then_some(qp as u32));
            host.attributes(qp as u64, queue_of(qp), 1);
        }
        host.settle();
        host.bench.stall(stalls);
        let mut posted = [0_u32; 10];
        // Completions of each queue, and receives of the shared queue that were found.
        let mut done: [Vec<(u32, u8)>; 10] = Default::default();
        let mut found = 0;
        // Queue pairs with queues of their own take up to four receives ahead.
        let (mut broken, mut asks, mut holds) = ([false; 12], [0; 12], [0; 12]);
        let mut asked = VecDeque::new();
        for _ in 0..500 {
            let qp = random.below(12) as usize;
            let queue = queue_of(qp);
            match random.below(6) {
                0 => {
                    let count = &mut posted[usize::from(queue)];
                    let room = done[usize::from(queue)].len() as u32 + (1 << LOG) - *count;
                    let end = *count + room.min(1 + random.below(3) as u32);
                    post(&mut host, queue, *count..end);
                    *count = end;
                }
                1 | 2 if !broken[qp] && asks[qp] + holds[qp] < if qp < 6 { 4 } else { 1 } => {
                    host.ask(qp as u64, queue);
                    asks[qp] += 1;
                    asked.push_back(qp);
                }
                3 if !broken[qp] && holds[qp] > 0 => {
                    let first = random.below(2);
                    let placing = [
                        ("kind", RECEIVE),
                        ("qp", qp as u64),
                        ("first", first),
                        ("bytes", 64 * first),
                        ("completes", 1),
                    ];
                    host.bench.send(host.placing, Beat::from(placing));
                    holds[qp] -= 1;
                }
                4 if !broken[qp] && random.chance(0.1) => {
                    // All placings of the queue pair were taken first, as its responder ensures.
                    while host.bench.pending(host.placing) > 0 {
                        host.step();
                    }
                    host.give_up(qp as u64);
                    broken[qp] = true;
                }
                _ => host.run(random.below(40)),
            }
            for taken in host.bench.take(host.taken) {
                let qp = asked.pop_front().expect("it was asked");
                asks[qp] -= 1;
                let is_found = answer(&taken).0;
                holds[qp] += i32::from(is_found);
                found += u32::from(qp >= 6 && is_found);
                several += u32::from(holds[qp] > 1);
            }
            collect(&mut host, &mut done);
        }
        for qp in 0..12 {
            if !broken[qp] {
                host.settle();
                host.give_up(qp as u64);
            }
        }
        host.settle();
        for taken in host.bench.take(host.taken) {
            let qp = asked.pop_front().expect("it was asked");
            found += u32::from(qp >= 6 && answer(&taken).0);
        }
        // A shared queue's receive that was taken behind the break is given back when the queue pair is reset.
        (6..12).for_each(|qp| host.attributes(qp, 9, 0));
        host.settle();
        collect(&mut host, &mut done);
        for queue in 0..6 {
            let (count, posted) = (done[queue].len() as u32, posted[queue]);
            let good = done[queue].iter().filter(|(_, status)| *status == 0).count() as u32;
            assert_eq!(count, posted.min(good + 1), "queue {queue} of {posted}, {seed}");
            for (k, (position, status)) in (0..).zip(&done[queue]) {
                let expected = if k < good { 0 } else { Status::WrFlushError as u8 };
                assert_eq!((*position, *status), (k, expected), "queue {queue}, {seed}");
            }
            flushes += count - good;
        }
        let mut positions: Vec<_> = done[9].iter().map(|(position, _)| *position).collect();
        positions.sort_unstable();
        assert_eq!(positions, (0..found).collect::<Vec<_>>(), "{seed}");
    }
    assert!(flushes > 60 && several > 500, "{flushes}, {several}");
}

fn collect(host: &mut Host<'_>, done: &mut [Vec<(u32, u8)>; 10]) {
    for (_, completion) in host.completions() {
        let queue = usize::from(completion.receive_queue);
        done[queue].push((completion.position, completion.status));
    }
}

/// Asks for a receive of queue 3 for queue pair 5, behind a message that may have found none.
fn follow(host: &mut Host<'_>) -> (bool, u64, u64) {
    let take = [("qp", 5_u64), ("queue", 3), ("pd", PD.into()), ("follows", 1)];
    host.bench.send(host.take, Beat::from(take));
    host.settle();
    answer(&host.bench.take(host.taken)[0])
}

#[test]
fn a_take_that_follows_one_that_found_nothing_finds_nothing() {
    let mut host = host(1, 0);
    assert_eq!(taken(&mut host, 5, 3), NONE);
    post(&mut host, 3, 0..3);
    host.settle();
    for _ in 0..3 {
        assert_eq!(follow(&mut host), NONE);
    }
    // The message that found no receive comes again, and those behind it.
    assert_eq!(taken(&mut host, 5, 3), GOOD);
    assert_eq!(follow(&mut host), GOOD);
    assert_eq!(follow(&mut host), GOOD);
    assert_eq!(follow(&mut host), NONE);
}

#[test]
fn a_receive_with_many_regions_waits_until_it_is_alone() {
    for (first, second) in [(1, 5), (5, 1), (5, 5), (4, 4), (1, 16)] {
        let mut host = host(1, 0);
        let mut position = 0;
        for (name, count) in [(1, first), (2, second)] {
            let region = |k| Region::Contiguous { addr: 0x1000 * name + 8 * k, len: 8, lkey: 1 };
            let entry = encode(name, &(0..count).map(region).collect::<Vec<_>>(), position);
            host.put(3, LOG, position, &entry);
            position += (entry.len() / 64) as u32;
        }
        host.ring_doorbell(3, position);
        host.settle();
        host.ask(5, 3);
        host.ask(5, 3);
        host.run(200);
        let fits = first <= 4 && second <= 4;
        let answers = host.bench.take(host.taken);
        assert_eq!(answers.len(), if fits { 2 } else { 1 }, "{first} and {second} regions");
        let message = |bytes: u64| {
            let first = [("kind", RECEIVE), ("qp", 5), ("first", 1), ("bytes", bytes)];
            Beat::from(first).with("completes", 1_u64)
        };
        host.bench.send(host.placing, message(8 * first));
        host.run(200);
        assert_eq!(answers.len() + host.bench.take(host.taken).len(), 2);
        host.bench.send(host.placing, message(8 * second));
        host.settle();
        let (runs, completions) = host.orders();
        let names: Vec<_> = completions.iter().map(|(_, completion)| completion.wr_id).collect();
        assert_eq!(names, [1, 2]);
        let expected = [(1, first), (2, second)].into_iter();
        let expected =
            expected.flat_map(|(name, count)| (0..count).map(move |k| 0x1000 * name + 8 * k));
        let places: Vec<_> = runs.iter().map(|run| run.0).collect();
        assert_eq!(places, expected.collect::<Vec<_>>(), "{first} and {second} regions");
    }
}
