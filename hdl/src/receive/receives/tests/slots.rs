//! More receives in use than there are slots for their places.

use super::host::*;
use drdma_abi::receive::MANY_RECEIVES;
use drdma_semantics::receive::encode;
use drdma_semantics::region::Region;
use drdma_verilated::testbench::{Beat, Random};

const SHARED: u16 = 9;
const OWN: u16 = 10;
/// The queue pair of `OWN`.
const OWNER: u64 = 4095;
const LOG: u8 = 12;

/// Receive `k`: as many regions, each in a page of its own.
fn regions(k: u64, count: u64) -> Vec<Region> {
    let addr = |region| (64 * k + region) << 12;
    (0..count)
        .map(|region| Region::Contiguous { addr: addr(region), len: 8 + region as u32, lkey: 1 })
        .collect()
}

fn capacity(count: u64) -> u64 {
    count * 8 + count * (count - 1) / 2
}

/// Posts receives of `count` regions to a queue, each behind the one before. Gives the position behind the last one.
fn post(host: &mut Host<'_>, queue: u16, receives: std::ops::Range<u64>, count: u64) {
    let mut position = 0;
    for k in receives {
        let entry = encode(k, &regions(k, count), position);
        host.put(queue, LOG, position, &entry);
        position += entry.len().div_ceil(64) as u32;
    }
    host.ring_doorbell(queue, position);
    host.settle();
}

/// A message fills the receive that a queue pair has in use, which is `k`.
fn fill(host: &mut Host<'_>, qp: u64, k: u64, count: u64) {
    let bytes = capacity(count);
    let placing = [
        ("kind", RECEIVE),
        ("qp", qp),
        ("first", 1),
        ("bytes", bytes),
        ("frame_end", 1),
        ("completes", 1),
        ("byte_len", bytes),
    ];
    host.bench.send(host.placing, Beat::from(placing));
    host.settle();
    let (runs, completions) = host.orders();
    let runs: Vec<_> = runs.iter().map(|run| (run.0, run.2)).collect();
    let expected: Vec<_> = regions(k, count)
        .iter()
        .map(|region| match region {
            Region::Contiguous { addr, len, .. } => (*addr, u64::from(*len)),
            _ => unreachable!(),
        })
        .collect();
    assert_eq!(runs, expected, "queue pair {qp}, receive {k}");
    assert_eq!(completions.len(), 1);
    assert_eq!(completions[0].1.wr_id, k);
}

fn host() -> Host<'static> {
    static LIBRARY: std::sync::OnceLock<drdma_verilated::Library> = std::sync::OnceLock::new();
    let mut host = Host::new(LIBRARY.get_or_init(library), 1);
    host.latency = 20;
    host.queue(SHARED, LOG, None);
    host.queue(OWN, LOG, Some(OWNER as u32));
    host.attributes(OWNER, OWN, 1);
    host
}

#[test]
fn a_receive_of_many_regions_waits_in_its_queue_until_there_is_room_for_it() {
    let many = MANY_RECEIVES as u64;
    let good = (true, 0, capacity(16));
    let mut host = host();
    post(&mut host, SHARED, 0..many + 2, 16);
    post(&mut host, OWN, 5000..5001, 4);
    for qp in 0..many {
        assert_eq!(host.take(qp, SHARED), good, "{qp}");
    }
    for qp in [many, many + 1] {
        assert_eq!(host.take(qp, SHARED), (false, 0, 0), "there is no room for it");
    }
    // A receive of few regions needs none of these slots.
    assert_eq!(host.take(OWNER, OWN), (true, 0, capacity(4)));
    fill(&mut host, OWNER, 5000, 4);
    // A receive that is used up makes room, and so does one that is given up.
    fill(&mut host, 77, 77, 16);
    assert_eq!(host.take(many + 1, SHARED), good);
    assert_eq!(host.take(many, SHARED), (false, 0, 0));
    host.give_up(300);
    host.settle();
    assert_eq!(host.completions().len(), 1);
    assert_eq!(host.take(many, SHARED), good);
    // Each receive still has its own regions.
    let mut left: Vec<_> =
        (0..many).filter(|qp| ![77, 300].contains(qp)).map(|qp| (qp, qp)).collect();
    left.extend([(many + 1, many), (many, many + 1)]);
    let mut random = Random::new(1);
    for _ in 0..60 {
        let (qp, k) = left.swap_remove(random.below(left.len() as u64) as usize);
        fill(&mut host, qp, k, 16);
    }
}

#[test]
fn every_queue_pair_has_a_receive_and_a_further_one_waits_for_one_that_ends() {
    let mut host = host();
    post(&mut host, SHARED, 0..OWNER, 2);
    post(&mut host, OWN, 5000..5003, 4);
    let first = |host: &mut Host<'_>, k: u64| {
        assert_eq!(host.take(OWNER, OWN), (true, 0, capacity(4)));
        fill(host, OWNER, k, 4);
    };
    first(&mut host, 5000);
    for qp in 0..OWNER {
        assert_eq!(host.take(qp, SHARED), (true, 0, capacity(2)), "{qp}");
    }
    assert_eq!(host.take(OWNER, OWN), (true, 0, capacity(4)));
    host.ask(OWNER, OWN);
    host.run(300);
    assert!(host.bench.received(host.taken).is_empty(), "no slot is left");
    let placing = [("qp", OWNER), ("completes", 1)];
    host.bench.send(host.placing, Beat::from(placing));
    host.settle();
    assert_eq!(answer(&host.bench.take(host.taken)[0]), (true, 0, capacity(4)));
    assert_eq!(host.completions()[0].1.wr_id, 5001);
    fill(&mut host, OWNER, 5002, 4);
    for qp in (0..OWNER).step_by(61) {
        fill(&mut host, qp, qp, 2);
    }
}

/// Receives that a queue pair has taken ahead of its messages are given up with it.
#[test]
fn a_reset_gives_back_all_that_a_queue_pair_has_in_use() {
    let mut host = host();
    for round in 0..20 {
        host.queue(OWN, LOG, Some(OWNER as u32));
        post(&mut host, OWN, 0..4, 2);
        for _ in 0..4 {
            assert_eq!(host.take(OWNER, OWN), (true, 0, capacity(2)), "round {round}");
        }
        host.queue_pair(OWNER, 0);
        host.attributes(OWNER, OWN, 1);
        host.settle();
        assert_eq!(host.completions(), []);
    }
    // As many receives as before can be in use: none of the 80 slots was lost, and none exists twice.
    post(&mut host, SHARED, 0..OWNER, 2);
    for qp in 0..OWNER {
        assert_eq!(host.take(qp, SHARED), (true, 0, capacity(2)), "{qp}");
    }
    for qp in (0..OWNER).step_by(61) {
        fill(&mut host, qp, qp, 2);
    }
}
