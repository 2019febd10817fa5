//! Doorbells of queue pairs that are held.

use super::*;

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

fn hold(setup: &mut Setup<'_>, qp: u64, held: bool) {
    setup.bench.set("hold_qp", qp);
    setup.bench.set("hold_held", u64::from(held));
    setup.bench.set("hold_valid", 1);
    setup.step();
    setup.bench.set("hold_valid", 0);
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

/// Blocks come once and in the order of each ring, whatever is held when.
#[test]
fn every_block_comes_once_whatever_is_held_when() {
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
