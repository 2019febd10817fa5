//! The guest's soft-RoCE READs the card's memory and executes atomics there.

use drdma_tests::{
    lab::{
        self, Lab,
        endpoint::{Endpoint, bytes},
        peer::{PeerMemory, PeerQueuePair, Post},
        relay::{Side, Trouble},
    },
    random::Random,
};
use libdrdma::{Access, MemoryRegion, Transport};

use crate::receives::{TIMEOUT, all, assert_success, finish};

/// All rights that a test may need to the counters.
const ACCESS: Access = Access::REMOTE_ATOMIC.union(Access::REMOTE_READ).union(Access::REMOTE_WRITE);

/// The counters of a card, from the first on.
fn counters(target: &MemoryRegion) -> Vec<u64> {
    bytes(target).chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect()
}

/// An atomic on counter `index` whose value before goes to 8 bytes of `back`.
fn atomic<'a>(
    op: &'a str,
    (target, index): (&MemoryRegion, usize),
    (back, at): (&'a PeerMemory, usize),
    operands: [u64; 2],
) -> Post<'a> {
    let remote_addr = target.addr() + 8 * index as u64;
    Post { remote_addr, rkey: target.rkey(), offset: 8 * at, bytes: 8, operands, ..all(op, back) }
}

/// The values that came back, in the guest's order of bytes.
fn values(lab: &mut Lab, back: &PeerMemory) -> Vec<u64> {
    let bytes = lab.peer.read(back);
    bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect()
}

#[test]
#[ignore = "needs a guest: cargo xtask vm"]
fn atomics_change_counters_and_bring_what_was_there() {
    let mut lab = lab::lab();
    let mut card = lab.endpoint();
    let target = card.memory_with(64, 0, ACCESS);
    let (_qp, peer) = card.connect(&mut lab, Transport::Rc, ACCESS, TIMEOUT);
    let back = lab.peer.memory(64);
    // Operations, and the values that they must bring.
    let steps: [(&str, usize, [u64; 2], u64); 7] = [
        ("faa", 1, [5, 0], 0),
        ("faa", 1, [u64::MAX, 0], 5),
        ("cas", 1, [4, 0x1122_3344_5566_7788], 4),
        ("cas", 1, [4, 9], 0x1122_3344_5566_7788),
        ("faa", 1, [1, 0], 0x1122_3344_5566_7788),
        ("cas", 7, [0, 3], 0),
        ("faa", 0, [u64::MAX, 0], 0),
    ];
    for (k, (op, index, operands, _)) in steps.iter().enumerate() {
        lab.peer.post(&peer, &atomic(op, (&target, *index), (&back, k), *operands));
    }
    assert_success(&finish(&mut lab, &mut card, steps.len(), 0));
    let before: Vec<_> = steps.iter().map(|step| step.3).collect();
    assert_eq!(values(&mut lab, &back)[..steps.len()], before);
    assert_eq!(counters(&target), [u64::MAX, 0x1122_3344_5566_7789, 0, 0, 0, 0, 0, 3]);
}

/// Several queue pairs add to one counter, with WRITEs and READs between: each value is seen once.
fn every_addition_counts_once(lab: &mut Lab, count: usize) {
    let mut card = lab.endpoint();
    let target = card.memory_with(4096, 0, ACCESS);
    let pairs: Vec<(_, PeerQueuePair)> =
        (0..2).map(|_| card.connect(lab, Transport::Rc, ACCESS, TIMEOUT)).collect();
    let back = lab.peer.memory(8 * count);
    let source = lab.peer.memory(700);
    lab.peer.fill(&source, 7);
    let read = lab.peer.memory(700);
    let mut requests = 0;
    for k in 0..count {
        let peer = &pairs[k % 2].1;
        lab.peer.post(peer, &atomic("faa", (&target, 3), (&back, k), [1, 0]));
        requests += 1;
        if k % 5 == 0 {
            let place = Post {
                remote_addr: target.addr() + 1000,
                rkey: target.rkey(),
                ..all("write", &source)
            };
            lab.peer.post(peer, &place);
            let place = Post { op: "read", memory: &read, ..place };
            lab.peer.post(peer, &place);
            requests += 2;
        }
    }
    assert_success(&finish_all(lab, &mut card, requests));
    let mut seen = values(lab, &back);
    seen.sort_unstable();
    assert_eq!(seen, (0..count as u64).collect::<Vec<_>>());
    assert_eq!(counters(&target)[3], count as u64);
    assert!(bytes(&target)[1000..1700].iter().all(|byte| *byte == 7));
    assert!(lab.peer.read(&read).iter().all(|byte| *byte == 7), "a READ behind its WRITE");
}

/// Waits until the requests of several queue pairs have completed, in any order.
fn finish_all(
    lab: &mut Lab,
    card: &mut Endpoint,
    requests: usize,
) -> Vec<drdma_tests::lab::peer::Posted> {
    let mut over = finish(lab, card, requests, 0);
    over.sort_by_key(|posted| posted.post);
    over
}

#[test]
#[ignore = "needs a guest: cargo xtask vm"]
fn two_queue_pairs_count_together() {
    every_addition_counts_once(&mut lab::lab(), 40);
}

#[test]
#[ignore = "needs a guest: cargo xtask vm"]
fn an_atomic_whose_answer_is_lost_is_executed_once() {
    let mut lab = lab::lab();
    lab.relay.lose(1);
    lab.relay.lose(4);
    lab.relay.lose_from(Side::Guest, 3);
    every_addition_counts_once(&mut lab, 12);
}

#[test]
#[ignore = "needs a guest: cargo xtask vm"]
fn a_bad_cable_loses_no_addition() {
    let mut lab = lab::lab();
    lab.relay.trouble(Trouble { lost: 50, overtaken: 0, random: Random::new(6) });
    every_addition_counts_once(&mut lab, 30);
}

#[test]
#[ignore = "needs a guest: cargo xtask vm"]
fn atomics_that_are_not_allowed_change_nothing() {
    // Rights of the queue pair and the memory, an offset that is no multiple of 8, and one beyond the memory.
    for (pair, memory, offset, syndrome) in [
        (Access::REMOTE_READ, ACCESS, 0, 0x61),
        (ACCESS, Access::REMOTE_READ, 0, 0x62),
        (ACCESS, ACCESS, 64, 0x62),
    ] {
        let mut lab = lab::lab();
        let mut card = lab.endpoint();
        let target = card.memory_with(64, 1, memory);
        let (_qp, peer) = card.connect(&mut lab, Transport::Rc, pair, TIMEOUT);
        let back = lab.peer.memory(8);
        let mut post = atomic("faa", (&target, 0), (&back, 0), [1, 0]);
        post.remote_addr += offset;
        lab.peer.post(&peer, &post);
        let over = finish(&mut lab, &mut card, 1, 0);
        assert_ne!(over[0].status, "success");
        let nak = lab.relay.acknowledgements_of(Side::Card).last().expect("a NAK").syndrome;
        assert_eq!(nak, syndrome);
        assert!(bytes(&target).iter().all(|byte| *byte == 1));
    }
}
