//! Small requests: posts a second, and the latency of a lone one.
//!
//! Every run writes its requests into the rings first and rings then, once a queue. Cycles are counted from the first
//! doorbell to the last byte on the wire, and printed (`cargo test -p drdma-sim small_sends -- --nocapture`). A lone
//! request waits for two reads, of its entry and of its payload; what it takes beside them is the card's own.

use super::*;
use crate::{
    cards::rig::{send, to},
    wire::PeerConfig,
};
use drdma_abi::{
    Layout,
    completion::Completion,
    register::{
        COMPLETION_QUEUES, COUNTER_CLEAR, CompletionQueueEntry, DOORBELLS, SEND_QUEUES,
        SendQueueEntry,
    },
    roce::Transport,
};
use drdma_driver::{Card as _, DmaMemory};
use drdma_semantics::{
    region::Region,
    request::{Request, encode},
};
use drdma_verilated::testbench::Random;

const DATA: u64 = 0x1_0000_0000;
const DATA_BYTES: usize = 4 << 20;
const RINGS: u64 = 0x2_0000_0000;
const COMPLETIONS: u64 = 0x3_0000_0000;
const KEY: u32 = 3;
/// Number of queues, and their indices.
#[derive(Clone, Copy, Debug)]
struct Queues {
    count: u32,
    /// Difference between the indices of two neighbouring queues and queue pairs.
    stride: u32,
    /// Binary logarithms of the blocks of a ring, and of the entries of its completion queue.
    log_blocks: u8,
    log_completions: u8,
}

impl Queues {
    /// The first queues, with room for thousands of requests each.
    fn first(count: u32) -> Self {
        Self { count, stride: 1, log_blocks: 14, log_completions: 13 }
    }

    fn index(&self, queue: u32) -> u32 {
        queue * self.stride
    }

    fn ring_bytes(&self) -> usize {
        64 << self.log_blocks
    }

    fn completion_bytes(&self) -> usize {
        32 << self.log_completions
    }
}

/// Places of the payloads.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Payloads {
    /// Payloads lie side by side.
    Adjacent,
    /// Each payload lies in a page of its own.
    Scattered,
    /// Each payload stands in its request.
    Inline,
}

struct Bench {
    rig: Rig<RtlCard>,
    rings: DmaMemory,
    _data: DmaMemory,
    completions: DmaMemory,
    queues: Queues,
    producers: Vec<u32>,
    /// For each queue: names and bytes of its requests.
    expected: Vec<Vec<(u64, u64)>>,
}

impl Bench {
    /// Makes a card with queue pairs, each with a send queue and a completion queue of its own.
    fn new(pcie: pcie::Config, transport: Transport, queues: Queues) -> Self {
        let config = Config { pcie, cycles_per_progress: 1, ..Config::default() };
        let network = Network::new();
        let card = RtlCard::new(config, network.clone()).expect("the card's RTL");
        let mut rig = Rig::around(card, network);
        let data = DmaMemory::new(DATA_BYTES).unwrap();
        data.write(0, &Random::new(5).bytes(DATA_BYTES));
        let count = queues.count as usize;
        let rings = DmaMemory::new(count * queues.ring_bytes()).unwrap();
        let completions = DmaMemory::new(count * queues.completion_bytes()).unwrap();
        rig.card.map(DATA, &data).unwrap();
        rig.card.map(RINGS, &rings).unwrap();
        rig.card.map(COMPLETIONS, &completions).unwrap();
        rig.add_region(KEY, DATA, DATA_BYTES as u64);
        for queue in 0..queues.count {
            let index = queues.index(queue);
            let peer = PeerConfig {
                mtu: 4096,
                keep_messages: false,
                ..PeerConfig::new(transport, 2, 3, 0x100 + index, 0x200 + index)
            };
            rig.add_queue_pair_to(index, 0, peer);
            let completion_queue = CompletionQueueEntry {
                addr: COMPLETIONS + u64::from(queue) * queues.completion_bytes() as u64,
                log_entries: queues.log_completions,
                enable: 1,
                ..Default::default()
            };
            rig.write_entry(&COMPLETION_QUEUES, queue, &completion_queue);
            let entry = SendQueueEntry {
                addr: RINGS + u64::from(queue) * queues.ring_bytes() as u64,
                log_blocks: queues.log_blocks,
                shared: 0,
                qp: index,
                completion_queue: queue as u16,
                enable: 1,
                ..Default::default()
            };
            rig.write_entry(&SEND_QUEUES, index, &entry);
        }
        Self {
            rig,
            rings,
            _data: data,
            completions,
            queues,
            producers: vec![0; count],
            expected: vec![Vec::new(); count],
        }
    }

    /// Posts SENDs, as many to each queue, and checks that every one completes, in order. Returns the cycles from the
    /// first doorbell to the last byte on the wire.
    fn run(&mut self, posts: u32, bytes: u32, payloads: Payloads) -> u64 {
        for post in 0..posts {
            let (queue, offset) = match payloads {
                Payloads::Adjacent | Payloads::Inline => {
                    (post / posts.div_ceil(self.queues.count), u64::from(post * bytes))
                }
                Payloads::Scattered => (post % self.queues.count, u64::from(post % 1024) * 4096),
            };
            let region = Region::Contiguous { addr: DATA + offset, len: bytes, lkey: KEY };
            let producer = &mut self.producers[queue as usize];
            let index = self.queues.index(queue);
            let request = match payloads {
                Payloads::Inline => Request {
                    inline: Some(vec![post as u8; bytes as usize]),
                    ..send(u64::from(post), vec![to(index, vec![])])
                },
                _ => send(u64::from(post), vec![to(index, vec![region])]),
            };
            for block in encode(&request, *producer).chunks(64) {
                let slot = (*producer % (1 << self.queues.log_blocks)) as usize;
                self.rings.write(queue as usize * self.queues.ring_bytes() + slot * 64, block);
                *producer = producer.wrapping_add(1);
            }
            self.expected[queue as usize].push((u64::from(post), u64::from(bytes)));
        }
        let rig = &mut self.rig;
        rig.set(&COUNTER_CLEAR, 1);
        let before = rig.network.traffic().frames;
        for queue in 0..self.queues.count.min(posts) {
            let doorbell = DOORBELLS.entry(self.queues.index(queue));
            rig.card.write(doorbell, self.producers[queue as usize]).unwrap();
        }
        let mut patience = 20_000 + 100 * u64::from(posts);
        while rig.network.traffic().frames - before < u64::from(posts) {
            rig.card.step();
            patience -= 1;
            assert!(patience > 0, "{} frames", rig.network.traffic().frames - before);
        }
        let cycles = rig.network.clock().span().expect("a doorbell").cycles();
        rig.settle();
        assert_eq!(rig.network.errors(), []);
        for (queue, expected) in self.expected.iter().enumerate() {
            let completed = |index: usize| {
                let mut bytes = [0; Completion::SIZE];
                let ring = queue * self.queues.completion_bytes();
                self.completions.read(ring + index * bytes.len(), &mut bytes);
                let completion = Completion::decode(&bytes);
                assert_eq!((completion.status, completion.phase), (0, 1), "queue {queue}");
                (completion.wr_id, completion.bytes)
            };
            let found: Vec<_> = (0..expected.len()).map(completed).collect();
            assert!(found == *expected, "queue {queue}");
        }
        cycles
    }
}

/// Cycles that a lone SEND of 64 B takes beside its reads: from the doorbell's arrival at the card to the last byte.
const LONE: u64 = 90;
/// Cycles of a lone SEND with inline payload, beside the read of its entry.
const LONE_INLINE: u64 = 83;

#[test]
fn small_sends_take_less_than_five_cycles_each_with_a_completion_and_seven_where_each_is_a_read() {
    let posts = 4_000;
    let mut failures = Vec::new();
    for (queues, transport) in
        [(1, Transport::Uc), (16, Transport::Uc), (1, Transport::Rc), (16, Transport::Rc)]
    {
        // Queues take turns, which costs some cycles each.
        let adjacent = if queues == 1 { 4.5 } else { 4.7 };
        for (payloads, bound, reads, alone) in [
            (Payloads::Adjacent, adjacent, 2, LONE),
            (Payloads::Scattered, 7.1, 2, LONE),
            (Payloads::Inline, 4.5, 1, LONE_INLINE),
        ] {
            let mut bench = Bench::new(pcie::Config::default(), transport, Queues::first(queues));
            let before = bench.rig.card.engine.statistics();
            let lone = bench.run(1, 64, payloads);
            let after = bench.rig.card.engine.statistics();
            assert_eq!(after.reads - before.reads, reads);
            let own = lone - (after.read_cycles - before.read_cycles);
            let what = format!("{queues} queues, {transport:?}, {payloads:?}");
            if own != alone {
                failures.push(format!("{what}: a lone SEND takes {own} cycles beside its reads"));
            }
            let cycles = bench.run(posts, 64, payloads);
            let each = (cycles - lone) as f64 / f64::from(posts - 1);
            println!("{what}: {each:.2} cycles; lone {lone}, {own} beside its reads");
            if each > bound {
                failures.push(format!("{what}: {each:.2} cycles"));
            }
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

/// The number of queues and queue pairs in the card's tables does not change its pace.
#[test]
fn small_sends_over_a_thousand_of_4096_queue_pairs_take_less_than_five_cycles_on_uc_and_on_rc() {
    let posts = 8_000;
    let spread = Queues { count: 1_000, stride: 4, log_blocks: 4, log_completions: 4 };
    for transport in [Transport::Uc, Transport::Rc] {
        let each = [Queues::first(16), spread].map(|queues| {
            let mut bench = Bench::new(pcie::Config::default(), transport, queues);
            let cycles = bench.run(posts, 64, Payloads::Adjacent);
            cycles as f64 / f64::from(posts)
        });
        println!(
            "{transport:?}: 16 queues {:.2} cycles a post, 1,000 queues {:.2}",
            each[0], each[1]
        );
        assert!(each[0] <= 4.5 && each[1] <= 5.0, "{transport:?}: {each:?}");
    }
}
