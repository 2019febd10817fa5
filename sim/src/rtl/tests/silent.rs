//! Costs of a silent peer for the others.

use super::*;
use crate::cards::rig::{send, to};
use drdma_abi::{
    Layout,
    completion::Completion,
    receive::{AttributesEntry, QUEUE_PAIR_ATTRIBUTES},
    register::{
        COMPLETION_QUEUES, CompletionQueueEntry, DOORBELLS, QUEUE_PAIR_ERRORS, SEND_QUEUES,
        SendQueueEntry,
    },
    roce::Transport,
};
use drdma_driver::{Card as _, DmaMemory};
use drdma_semantics::{region::Region, request::encode};
use drdma_soft::wire::{Behaviour, PeerConfig};

const DATA: u64 = 0x1_0000_0000;
const RINGS: u64 = 0x2_0000_0000;
const COMPLETIONS: u64 = 0x3_0000_0000;
const KEY: u32 = 3;
/// Number of queue pairs, of which the first one may have a silent peer.
const PAIRS: u32 = 16;
/// Number of requests of each queue pair.
const ROUNDS: u32 = 80;
/// Bytes of a request of the first one, whose 640 packets are more than the card keeps, and of the others.
const LONG: u32 = 32 << 10;
const SHORT: u32 = 4 << 10;
/// Binary logarithm of a ring's blocks, and of a completion queue's entries.
const LOG: u8 = 8;
const RING_BYTES: usize = 64 << LOG;
const QUEUE_BYTES: usize = 32 << LOG;

/// `timeout`, 4.2 s: nothing is sent again here.
const LONG_TIME: u8 = 20;
/// 8.2 us, and up to a round of the clocks more.
const SOON: u8 = 1;

struct Bench {
    rig: Rig<RtlCard>,
    rings: DmaMemory,
    completions: DmaMemory,
    _data: DmaMemory,
}

impl Bench {
    /// Makes queue pairs of a card with a peer each; `first` is the behaviour of the first one.
    fn new(first: Behaviour, timeout: u8) -> Self {
        let network = Network::new();
        let config = Config { cycles_per_progress: 64, ..Config::default() };
        let card = RtlCard::new(config, network.clone()).expect("the card's RTL");
        let mut rig = Rig::around(card, network);
        let data = DmaMemory::new(LONG as usize).unwrap();
        let rings = DmaMemory::new(PAIRS as usize * RING_BYTES).unwrap();
        let completions = DmaMemory::new(PAIRS as usize * QUEUE_BYTES).unwrap();
        rig.card.map(DATA, &data).unwrap();
        rig.card.map(RINGS, &rings).unwrap();
        rig.card.map(COMPLETIONS, &completions).unwrap();
        rig.add_region(KEY, DATA, u64::from(LONG));
        for qp in 0..PAIRS {
            let attributes = AttributesEntry {
                timeout: if qp == 0 { timeout } else { LONG_TIME },
                retry_cnt: 1,
                rnr_retry: 7,
                state: 1,
                ..AttributesEntry::default()
            };
            rig.write_entry(&QUEUE_PAIR_ATTRIBUTES, qp, &attributes);
            let peer = PeerConfig {
                mtu: 4096,
                keep_messages: false,
                behaviour: if qp == 0 { first } else { Behaviour::Normal },
                ..PeerConfig::new(Transport::Rc, 2, 3, 0x100 + qp, 0x200 + qp)
            };
            rig.add_queue_pair_to(qp, 0, peer);
            let queue = CompletionQueueEntry {
                addr: COMPLETIONS + u64::from(qp) * QUEUE_BYTES as u64,
                log_entries: LOG,
                enable: 1,
                ..Default::default()
            };
            rig.write_entry(&COMPLETION_QUEUES, qp, &queue);
            let queue = SendQueueEntry {
                addr: RINGS + u64::from(qp) * RING_BYTES as u64,
                log_blocks: LOG,
                qp,
                completion_queue: qp as u16,
                enable: 1,
                ..Default::default()
            };
            rig.write_entry(&SEND_QUEUES, qp, &queue);
        }
        Self { rig, rings, completions, _data: data }
    }

    /// Posts to all in turns, with a doorbell each. Returns the cycles from the first doorbell until every request of
    /// the others has completed.
    fn run(&mut self) -> u64 {
        let mut producers = [0; PAIRS as usize];
        for round in 0..ROUNDS {
            for qp in 0..PAIRS {
                let len = if qp == 0 { LONG } else { SHORT };
                let region = Region::Contiguous { addr: DATA, len, lkey: KEY };
                let producer = &mut producers[qp as usize];
                let request = send(u64::from(round), vec![to(qp, vec![region])]);
                for block in encode(&request, *producer).chunks(64) {
                    self.rings.write(qp as usize * RING_BYTES + *producer as usize * 64, block);
                    *producer += 1;
                }
                self.rig.card.write(DOORBELLS.entry(qp), *producer).unwrap();
            }
        }
        for _ in 0..3_000 {
            if (1..PAIRS).all(|qp| self.status(qp, ROUNDS - 1) == Some(0)) {
                return self.rig.network.clock().span().expect("a doorbell").cycles();
            }
            self.rig.progress(1);
        }
        let done = |qp| (0..ROUNDS).take_while(|k| self.status(qp, *k).is_some()).count();
        panic!("completed: {:?}", (0..PAIRS).map(done).collect::<Vec<_>>());
    }

    /// The status of a queue pair's request, if it has completed.
    fn status(&self, qp: u32, request: u32) -> Option<u8> {
        let mut bytes = [0; Completion::SIZE];
        self.completions
            .read(qp as usize * QUEUE_BYTES + request as usize * bytes.len(), &mut bytes);
        let completion = Completion::decode(&bytes);
        (completion.phase == 1).then_some(completion.status)
    }
}

#[test]
fn a_silent_peer_among_16_costs_the_others_nothing() {
    let lively = Bench::new(Behaviour::Normal, LONG_TIME).run();
    for behaviour in [Behaviour::Dead, Behaviour::NotReady] {
        let mut bench = Bench::new(behaviour, LONG_TIME);
        let cycles = bench.run();
        println!("all answer: {lively} cycles; one is {behaviour:?}: {cycles}");
        assert!(cycles <= lively + lively / 50, "{behaviour:?}: {cycles} cycles, not {lively}");
        assert_eq!(bench.status(0, 0), None);
    }
}

/// Requests that waited for the queue pair when it broke are fetched then, and flushed.
#[test]
fn what_is_parked_completes_when_the_tries_are_used_up() {
    let mut bench = Bench::new(Behaviour::Dead, SOON);
    bench.run();
    for _ in 0..20_000 {
        if bench.rig.card.read(QUEUE_PAIR_ERRORS.entry(0)).unwrap() == 1 {
            break;
        }
        bench.rig.progress(1);
    }
    bench.rig.settle();
    assert_eq!(bench.status(0, 0), Some(12), "its tries are used up");
    assert_eq!(bench.rig.get(&drdma_abi::register::STATUS), 0, "nothing waits any more");
}
