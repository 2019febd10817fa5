//! Resets of the whole card by the host, at any time.

use super::*;
use crate::cards::rig::{CARD_IP, MAC, bytes, contiguous, send, to};
use drdma_abi::{
    register::{CONTROL, IP, MAC_HIGH, MAC_LOW, STATUS},
    roce::Transport,
};
use drdma_semantics::{
    region::{Column, Extent, Region},
    request::Request,
    testing::{self, BASE, CONTROL as TABLES, LKEY, SIZE},
};
use drdma_soft::{slot::Slot as _, wire::PeerId};
use drdma_verilated::testbench::Random;

/// Bits of `CONTROL`.
const ENABLE: u32 = 1;
const RESET: u32 = 2;

/// Regions that go through all parts of the card.
fn regions(random: &mut Random) -> Vec<Region> {
    let column = |offset, width| Column { base: BASE + offset, width, lkey: LKEY };
    let extent = |offset, len| Extent { offset, len };
    let all = [
        // Short rows: a column request, where these are on.
        Region::Strided {
            base: BASE + 1,
            period: 12,
            count: 900,
            lkey: LKEY,
            pattern: vec![extent(0, 4), extent(7, 3)],
        },
        Region::Bitmapped {
            bitmap: TABLES + 0x400,
            rows: 1_000,
            lkey: LKEY,
            columns: vec![column(3, 4), column(0x1000, 2), column(0x2000, 1)],
            fetch_rows: None,
        },
        contiguous(77, 9_000),
        Region::PointerMapped {
            pointers: TABLES,
            count: 100,
            lkey: LKEY,
            target_lkey: LKEY,
            pattern: vec![extent(3, 5), extent(90, 70)],
        },
    ];
    let from = random.below(4) as usize;
    all.iter().cycle().skip(from).take(3).cloned().collect()
}

/// Makes the card ready, as after opening it: queue pairs 1 (RC) and 2 (UC), and shared queue 3.
fn open(rig: &mut Rig<RtlCard>, round: u32) -> Vec<PeerId> {
    rig.set(&CONTROL, ENABLE);
    rig.set(&MAC_LOW, MAC as u32);
    rig.set(&MAC_HIGH, (MAC >> 32) as u32);
    rig.set(&IP, CARD_IP);
    rig.add_region(LKEY, BASE, SIZE);
    rig.clear_completions();
    rig.add_completion_queue(0, 4);
    rig.add_queue(3, None);
    [(1, Transport::Rc), (2, Transport::Uc)]
        .into_iter()
        .map(|(index, transport)| {
            rig.add_queue(index, Some(index));
            rig.add_queue_pair_of_round(index, transport, round)
        })
        .collect()
}

/// Requests with the queue that each is posted to, and the messages that each of the two peers must get.
type Posts = (Vec<(u32, Request)>, [Vec<Vec<u8>>; 2]);

/// Requests and the messages that they make, each for the peer of queue pair 1, then 2.
fn requests(random: &mut Random) -> Posts {
    let memory = testing::memory();
    let mut expected = [Vec::new(), Vec::new()];
    let mut all = Vec::new();
    for wr_id in 0..3 {
        let queue = 1 + random.below(3) as u32;
        let regions = regions(random);
        let rows_per_message = [1, 7, 5_000][random.below(3) as usize];
        let mut list = Vec::new();
        for qp in 1..=2_u32 {
            if queue == qp || queue == 3 {
                // Destinations that share columns.
                list.push(to(qp, regions[..1 + random.below(3) as usize].to_vec()));
            }
        }
        if queue == 3 && random.chance(0.5) {
            list[1].regions = list[0].regions.clone();
        }
        for dest in &list {
            let mask = drdma_semantics::region::RowMask::Period;
            let units = testing::units(&dest.regions, mask, &memory);
            let messages = testing::messages(&units, rows_per_message);
            expected[dest.qp as usize - 1].extend(messages);
        }
        all.push((queue, Request { rows_per_message, ..send(wr_id, list) }));
    }
    (all, expected)
}

/// Kind of a reset.
#[derive(Clone, Copy)]
enum Reset {
    /// Reset of the card alone, by its register.
    Card,
    /// Reset of the shell, which resets the card as well: a function-level reset.
    Shell,
}

impl Reset {
    fn apply(self, rig: &mut Rig<RtlCard>) {
        match self {
            Self::Card => {
                rig.set(&CONTROL, RESET);
                assert_eq!(rig.reset_ends(), 0);
            }
            Self::Shell => {
                rig.card.reset_function().expect("it answers");
                assert!(rig.card.is_quiet().expect("it answers"));
                assert_eq!((rig.get(&IP), rig.reset_ends()), (0, 0));
            }
        }
    }
}

fn run(seed: u64, column_rows: u32, reset: Reset) {
    let mut random = Random::new(seed);
    let network = Network::new();
    let stall = [0.0, 0.2][random.below(2) as usize];
    let pcie = pcie::Config { seed, stall, ..pcie::Config::default() };
    let config = Config {
        pcie,
        cycles_per_progress: 1,
        column_rows: Some(column_rows),
        ..Config::default()
    };
    let mut card = RtlCard::new(config, network.clone()).expect("the card's RTL");
    let reads = card.data_reads();
    let mut rig = Rig::around(card, network);
    for round in 0..5 {
        if random.chance(0.5) {
            rig.card.mac().set_rate([5.0, 30.0][random.below(2) as usize]);
        }
        let peers = open(&mut rig, round);
        let (requests, expected) = requests(&mut random);
        for (queue, request) in &requests {
            rig.write_request(*queue, request);
        }
        (1..=3).for_each(|queue| rig.ring(queue));
        // Half of the rounds end in their first steps.
        let cycles = if random.chance(0.5) { 2_500 } else { 12_000 };
        rig.progress(random.below(cycles) as usize);
        reset.apply(&mut rig);
        if random.chance(0.2) {
            rig.progress(random.below(300) as usize);
            reset.apply(&mut rig);
        }
        assert_eq!(rig.get(&STATUS), 0, "seed {seed}, round {round}: nothing is in progress");
        let so_far: usize = peers.iter().map(|peer| rig.sent(*peer).len()).sum();
        assert_eq!(rig.network.errors(), [], "seed {seed}, round {round}");
        // Data of earlier reads arrive, and must have no effect.
        rig.progress(random.below(2_000) as usize);
        for (peer, expected) in peers.iter().zip(&expected) {
            // Queues take turns, so that messages of one peer may come in any order of requests.
            for message in rig.sent(*peer) {
                assert!(expected.contains(&message), "seed {seed}, round {round}: a wrong message");
            }
        }
        let later: usize = peers.iter().map(|peer| rig.sent(*peer).len()).sum();
        assert!(later <= so_far + 1, "seed {seed}, round {round}: the card goes on");
    }
    // After it was opened again, the card works as before.
    rig.card.mac().set_rate(100.0);
    let peers = open(&mut rig, 9);
    let (requests, expected) = requests(&mut random);
    for (queue, request) in &requests {
        rig.post(*queue, request);
        let ended = rig.run_until_completed(1);
        assert_eq!((ended[0].wr_id, ended[0].status), (request.wr_id, 0), "seed {seed}");
    }
    for (peer, expected) in peers.iter().zip(expected) {
        assert_eq!(rig.sent(*peer), expected, "seed {seed}");
    }
    reads.lock().expect("nobody panicked").clear();
    rig.post(1, &send(9, vec![to(1, vec![contiguous(5, 500)])]));
    assert_eq!(rig.run_until_completed(1)[0].status, 0);
    // After either reset reads are logged: whole words.
    let read: usize = reads.lock().expect("nobody panicked").iter().map(|read| read.len).sum();
    assert_eq!(read, 504, "seed {seed}");
    assert_eq!(rig.sent(peers[0]).last(), Some(&bytes(5, 500)));
    assert_eq!(rig.network.errors(), [], "seed {seed}");
    assert_eq!(rig.settle(), [], "seed {seed}");
}

#[test]
fn resets_at_any_moment_send_nothing_wrong_and_leave_nothing_behind() {
    (1..=2).for_each(|seed| run(seed, 0, Reset::Card));
}

#[test]
fn resets_at_any_moment_of_column_requests_leave_nothing_behind() {
    (11..=14).for_each(|seed| run(seed, 1, Reset::Card));
}

#[test]
fn resets_of_the_shell_at_any_moment_leave_nothing_behind() {
    run(21, 1, Reset::Shell);
}
