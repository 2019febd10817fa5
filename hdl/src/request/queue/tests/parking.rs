//! Doorbells of queue pairs that are held, or whose peers are silent.

use super::*;
use drdma_abi::Layout;
use drdma_abi::register::QueuePairEntry;

/// The card's queues 5 and 6, of queue pairs 1,000 and 1,001, and 7, which is shared.
fn setup(library: &Library, seed: u64) -> Setup<'_> {
    let mut setup = Setup::new(library, seed);
    enable(&mut setup, 5, Some(1_000));
    enable(&mut setup, 6, Some(1_001));
    enable(&mut setup, 7, None);
    setup
}

fn enable(setup: &mut Setup<'_>, queue: u64, owner: Option<u32>) {
    let entry = SendQueueEntry {
        addr: queue << 20,
        log_blocks: 12,
        shared: u8::from(owner.is_none()),
        qp: owner.unwrap_or(1_000),
        enable: 1,
        ..Default::default()
    };
    for (word, data) in entry.to_bytes().chunks(4).enumerate() {
        let data = u32::from_le_bytes(data.try_into().expect("4 bytes"));
        setup.write(2, queue, word as u64, data.into());
    }
}

pub(super) fn hold(setup: &mut Setup<'_>, qp: u64, held: bool) {
    setup.bench.set("hold_qp", qp);
    setup.bench.set("hold_held", u64::from(held));
    setup.bench.set("hold_valid", 1);
    setup.step();
    setup.bench.set("hold_valid", 0);
    setup.run(3);
}

pub(super) fn silence(setup: &mut Setup<'_>, qp: u64, silent: bool) {
    setup.bench.set("silence_qp", qp);
    setup.bench.set("silence_silent", u64::from(silent));
    setup.bench.set("silence_valid", 1);
    setup.step();
    setup.bench.set("silence_valid", 0);
    setup.run(3);
}

/// Queues and positions of the blocks that came since the first `before`.
fn came(setup: &Setup<'_>, before: usize) -> Vec<(u64, u64)> {
    setup.blocks()[before..].iter().map(|block| (block.0, block.1)).collect()
}

#[test]
fn a_doorbell_of_a_held_queue_pair_waits_and_those_of_others_are_served() {
    let library = library();
    let mut setup = setup(&library, 1);
    setup.doorbell(5, 1);
    setup.run(50);
    assert_eq!(came(&setup, 0), [(5, 0)]);
    hold(&mut setup, 1_000, true);
    for position in 1..4 {
        for queue in [5, 6, 7] {
            setup.doorbell(queue, position + 1);
        }
    }
    setup.run(300);
    let others = [(6, 0), (6, 1), (7, 0), (7, 1), (6, 2), (7, 2), (6, 3), (7, 3)];
    assert_eq!(came(&setup, 1), others);
    assert_eq!(setup.bench.get("busy"), 1);
    setup.run(1_000);
    assert_eq!(came(&setup, 9), [], "it is still held");
    hold(&mut setup, 1_000, false);
    setup.run(300);
    assert_eq!(came(&setup, 9), [(5, 1), (5, 2), (5, 3)]);
    assert_eq!(setup.bench.get("busy"), 0);
}

#[test]
fn a_parked_doorbell_is_dropped_when_its_queue_is_enabled_anew() {
    let library = library();
    let mut setup = setup(&library, 2);
    hold(&mut setup, 1_000, true);
    setup.doorbell(5, 7);
    setup.run(100);
    enable(&mut setup, 5, Some(1_000));
    setup.doorbell(5, 2);
    setup.run(100);
    hold(&mut setup, 1_000, false);
    setup.run(200);
    assert_eq!(came(&setup, 0), [(5, 0), (5, 1)]);
    assert_eq!(setup.bench.get("busy"), 0);
}

#[test]
fn a_doorbell_that_finds_no_room_among_those_that_wait_is_served() {
    let library = library();
    let mut setup = setup(&library, 3);
    hold(&mut setup, 1_000, true);
    for position in 0..1_024 {
        setup.doorbell(5, position + 1);
    }
    setup.run(20_000);
    assert_eq!(came(&setup, 0), [], "there are places for 1,024");
    setup.doorbell(5, 1_100);
    setup.run(2_000);
    assert_eq!(came(&setup, 0).len(), 1_100, "it adds all of them");
    hold(&mut setup, 1_000, false);
    setup.run(20_000);
    assert_eq!(came(&setup, 0).len(), 1_100, "what waited adds nothing");
    assert_eq!(setup.bench.get("busy"), 0);
}

/// Blocks come once and in the order of each ring, at any times at which queue pairs are held.
#[test]
fn every_block_comes_once_whatever_is_held_or_silent_when() {
    let library = library();
    for (seed, stalls) in (10..).zip(STALLS) {
        let mut random = Random::new(seed);
        let mut setup = setup(&library, seed);
        setup.bench.stall(stalls);
        let (mut positions, mut held) = ([0_u32; 3], [false; 2]);
        for _ in 0..300 {
            let queue = random.below(3) as usize;
            positions[queue] += 1 + random.below(3) as u32;
            setup.doorbell(5 + queue as u64, positions[queue]);
            if random.chance(0.3) {
                let qp = random.below(2);
                held[qp as usize] ^= true;
                hold(&mut setup, 1_000 + qp, held[qp as usize]);
            }
            if random.chance(0.3) {
                silence(&mut setup, 1_000 + random.below(2), random.chance(0.5));
            }
            setup.run(random.below(20));
        }
        for (qp, _) in (1_000..).zip(held).filter(|(_, held)| *held) {
            hold(&mut setup, qp, false);
        }
        let total: u32 = positions.iter().sum();
        let wqe = setup.wqe;
        setup.run_until(|bench| bench.received(wqe).len() == total as usize);
        setup.run(500);
        for (queue, position) in (5..).zip(positions) {
            let of_queue = came(&setup, 0).into_iter().filter(|block| block.0 == queue);
            let expected = (0..position).map(|at| (queue, at.into()));
            assert!(of_queue.eq(expected), "queue {queue}, seed {seed}");
        }
        assert_eq!(setup.bench.get("busy"), 0);
    }
}

#[test]
fn of_a_silent_queue_pair_everything_comes_while_nobody_waits() {
    let library = library();
    let mut setup = setup(&library, 5);
    setup.latency = 250;
    silence(&mut setup, 1_000, true);
    for position in [200, 300, 310] {
        setup.doorbell(5, position);
    }
    setup.run(2_000);
    assert_eq!(came(&setup, 0).len(), 310);
    let read: u64 = setup.reads.iter().map(|(_, bytes)| bytes / 64).sum();
    assert_eq!(read, 310, "nothing is fetched twice");
}

#[test]
fn a_queue_pair_whose_peer_has_answered_goes_on_among_the_others() {
    let library = library();
    let mut setup = setup(&library, 6);
    setup.latency = 250;
    silence(&mut setup, 1_000, true);
    setup.doorbell(5, 30);
    setup.doorbell(6, 3_000);
    setup.run(700);
    silence(&mut setup, 1_000, false);
    setup.run(6_000);
    let came = came(&setup, 0);
    assert_eq!(came.len(), 3_030);
    let ends = |queue: u64| came.iter().rposition(|block| block.0 == queue).expect("blocks came");
    assert!(ends(5) + 1_000 < ends(6), "{} and {}", ends(5), ends(6));
    let again = came.iter().position(|block| *block == (5, 3)).expect("it came");
    assert!(again > 200, "{again}: it waited");
}

#[test]
fn a_shared_queue_does_not_overtake_a_silent_queue_pair() {
    let library = library();
    let mut setup = setup(&library, 7);
    setup.latency = 250;
    silence(&mut setup, 1_000, true);
    setup.doorbell(5, 30);
    setup.doorbell(6, 700);
    setup.run(400);
    setup.doorbell(7, 9);
    setup.doorbell(6, 900);
    setup.run(4_000);
    let came = came(&setup, 0);
    assert_eq!(came.len(), 939);
    let first = came.iter().position(|block| block.0 == 7).expect("it came");
    assert_eq!(came[..first].iter().filter(|block| block.0 == 5).count(), 30);
}

/// The entry that a trial fetched may never have been sent.
#[test]
fn a_silent_queue_pair_is_tried_again_though_others_wait_all_the_time() {
    let library = library();
    let mut setup = setup(&library, 8);
    setup.bench.limit(20_000_000);
    silence(&mut setup, 1_000, true);
    setup.doorbell(5, 1);
    setup.run(200);
    let wqe = setup.wqe;
    setup.bench.stall_monitor(wqe, 1.0);
    setup.doorbell(6, 40);
    setup.run(200);
    setup.doorbell(5, 9);
    let reads_of_5 =
        |setup: &Setup<'_>| setup.reads.iter().filter(|(addr, _)| *addr >> 20 == 5).count();
    setup.run(1_000_000);
    assert_eq!(reads_of_5(&setup), 1, "it waits for a term");
    setup.run(1_300_000);
    assert_eq!(reads_of_5(&setup), 2, "it is tried again");
    setup.bench.stall_monitor(wqe, 0.0);
    setup.run(500);
    assert_eq!(came(&setup, 0).len(), 49);
    // The same holds after the queue pair's entry is written anew.
    setup.bench.stall_monitor(wqe, 1.0);
    setup.doorbell(6, 80);
    setup.run(200);
    let state = QueuePairEntry::field("state").start as u64 / 32;
    let before = reads_of_5(&setup);
    setup.write(0, 1_000, state, 1);
    setup.doorbell(5, 12);
    setup.run(200);
    assert_eq!(reads_of_5(&setup), before + 1);
}
