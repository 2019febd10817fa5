//! Batches that take turns: no entry is cut, none is lost, and none comes twice.

use super::*;
use drdma_abi::Layout;
use drdma_abi::work_request::{GRANULE, MAX_WQE_GRANULES, WqeHeader, blocks};

/// A queue that is enabled once or several times, with its lives.
#[derive(Default)]
struct Posted {
    queue: u64,
    lives: Vec<Life>,
    /// Number of the life whose blocks come.
    at: usize,
    /// The queue was halted in its last life.
    halted: bool,
    /// The queue is shared, and its turns are not cut.
    shared: bool,
}

/// Entries that were posted in a life of a queue.
struct Life {
    base: u64,
    log: u32,
    /// Blocks of each entry, and positions at which doorbells were rung.
    entries: Vec<u32>,
    rung: Vec<u32>,
    seen: u32,
    /// Number of doorbells of all queues before each of these.
    at: Vec<usize>,
}

impl Life {
    fn total(&self) -> u32 {
        self.rung.last().copied().unwrap_or(0)
    }

    /// First block of the entry that has the block `position`, and the block behind the entry.
    fn entry_of(&self, position: u32) -> (u32, u32) {
        let mut begin = 0;
        for blocks in &self.entries {
            if position < begin + blocks {
                return (begin, begin + blocks);
            }
            begin += blocks;
        }
        panic!("block {position} was not posted");
    }
}

/// Queue pair of a queue of this test.
fn owner(queue: u64) -> u64 {
    queue + 1_000
}

struct World<'a> {
    setup: Setup<'a>,
    random: Random,
    posted: Vec<Posted>,
    /// Blocks that were looked at, and the queue of the entry that has begun and not ended.
    looked: usize,
    inside: Option<u64>,
    doorbells: usize,
    /// No queue is held, halted or enabled anew in this test.
    in_order: bool,
    held: Vec<bool>,
    silent: Vec<bool>,
}

impl<'a> World<'a> {
    fn new(library: &'a Library, seed: u64, queues: usize) -> Self {
        let mut setup = Setup::new(library, seed);
        setup.bench.limit(20_000_000);
        let posted = (0..queues as u64).map(|k| Posted { queue: 3 + 7 * k, ..Default::default() });
        let random = Random::new(seed);
        let (posted, held, silent) = (posted.collect(), vec![false; queues], vec![false; queues]);
        let (looked, inside, doorbells, in_order) = (0, None, 0, false);
        Self { setup, random, posted, looked, inside, doorbells, in_order, held, silent }
    }

    /// Enables a queue as soon as all doorbells so far have arrived.
    fn enable(&mut self, k: usize, log: u32) {
        while self.setup.bench.pending(self.setup.doorbell) > 0 {
            self.step();
        }
        let of = &mut self.posted[k];
        // Each life has another ring, so that blocks of earlier lives are recognised.
        let base = (of.queue << 32) + ((of.lives.len() as u64) << 24);
        of.lives.push(Life {
            base,
            log,
            entries: Vec::new(),
            rung: Vec::new(),
            seen: 0,
            at: Vec::new(),
        });
        of.halted = false;
        let queue = of.queue;
        let entry = SendQueueEntry {
            addr: base,
            log_blocks: log as u8,
            qp: owner(queue) as u32,
            shared: of.shared.into(),
            enable: 1,
            ..Default::default()
        };
        for (word, data) in entry.to_bytes().chunks(4).enumerate() {
            let data = u32::from_le_bytes(data.try_into().expect("4 bytes"));
            for (name, value) in
                [("table", 2), ("index", queue), ("word", word as u64), ("data", data.into())]
            {
                self.setup.bench.set(format!("cfg_{name}"), value);
            }
            self.setup.bench.set("cfg_valid", 1);
            self.step();
            self.setup.bench.set("cfg_valid", 0);
            if word == 7 {
                for halted in &self.setup.halted {
                    halted.borrow_mut().remove(&queue);
                }
            }
            self.step();
        }
    }

    fn halt(&mut self, k: usize) {
        self.posted[k].halted = true;
        for halted in &self.setup.halted {
            halted.borrow_mut().insert(self.posted[k].queue);
        }
    }

    fn hold(&mut self, k: usize, held: bool) {
        if std::mem::replace(&mut self.held[k], held) == held {
            return;
        }
        self.setup.bench.set("hold_qp", owner(self.posted[k].queue));
        self.setup.bench.set("hold_held", u64::from(held));
        self.setup.bench.set("hold_valid", 1);
        self.step();
        self.setup.bench.set("hold_valid", 0);
        (0..3).for_each(|_| self.step());
    }

    fn silence(&mut self, k: usize, silent: bool) {
        if std::mem::replace(&mut self.silent[k], silent) == silent {
            return;
        }
        self.setup.bench.set("silence_qp", owner(self.posted[k].queue));
        self.setup.bench.set("silence_silent", u64::from(silent));
        self.setup.bench.set("silence_valid", 1);
        self.step();
        self.setup.bench.set("silence_valid", 0);
        (0..3).for_each(|_| self.step());
    }

    /// Blocks that a queue's ring has room for.
    fn room(&self, k: usize) -> u32 {
        let life = self.posted[k].lives.last().expect("it is enabled");
        (1 << life.log) - (life.total() - life.seen)
    }

    /// Posts entries of `lengths` blocks with one doorbell.
    fn post(&mut self, k: usize, lengths: &[u32]) {
        let of = &mut self.posted[k];
        let life = of.lives.last_mut().expect("it is enabled");
        let mut position = life.total();
        for &length in lengths {
            for index in 0..length {
                let slot = u64::from((position + index) % (1 << life.log));
                let addr = life.base + 64 * slot;
                let mut block = Random::new(addr ^ u64::from(position) << 40).bytes(64);
                if index == 0 {
                    // All lengths in granules that make as many blocks.
                    let most = (length as usize * (64 / GRANULE)).min(MAX_WQE_GRANULES);
                    let least = (length as usize - 1) * (64 / GRANULE) + 1;
                    let granules =
                        least.max(2) + self.random.below((most - least.max(2) + 1) as u64) as usize;
                    assert_eq!(blocks(granules), length as usize);
                    let at = WqeHeader::field("granules").start / 8;
                    block[at..at + 4].copy_from_slice(&(granules as u32).to_le_bytes());
                }
                self.setup.memory.insert(addr, block);
            }
            life.entries.push(length);
            position += length;
        }
        life.rung.push(position);
        life.at.push(self.doorbells);
        self.doorbells += 1;
        self.setup.doorbell(of.queue, position);
    }

    fn step(&mut self) {
        self.setup.step();
        let blocks: Vec<_> = self.setup.bench.received(self.setup.wqe)[self.looked..].to_vec();
        self.looked += blocks.len();
        for block in &blocks {
            self.look(block);
        }
        let outstanding = |of: &Posted| {
            !of.halted && of.lives.last().is_some_and(|life| life.seen < life.total())
        };
        if self.posted.iter().any(outstanding) && self.setup.bench.pending(self.setup.doorbell) == 0
        {
            let posted = self.posted.iter().filter(|of| outstanding(of));
            let missing = |of: &Posted| (of.queue, of.lives.len(), of.at, of.lives[of.at].seen);
            let missing: Vec<_> = posted.map(missing).collect();
            assert_eq!(self.setup.bench.get("busy"), 1, "{missing:?} are to come");
        }
    }

    fn look(&mut self, block: &Beat) {
        let (queue, position) = (block.u64("queue"), block.u64("position") as u32);
        let of = self.posted.iter_mut().find(|of| of.queue == queue).expect("it was enabled");
        // The queue goes on where it was, or begins a later life.
        let data = block.get("data").to_bytes(64);
        let is = |life: &Life| {
            let addr = life.base + 64 * u64::from(position % (1 << life.log));
            life.seen == position && self.setup.memory.get(&addr) == Some(&data)
        };
        let last = of.lives.len() - 1;
        let at = (of.at..=last).find(|at| is(&of.lives[*at]));
        of.at = at.unwrap_or_else(|| panic!("queue {queue}: block {position} is not the next one"));
        let life = &mut of.lives[of.at];
        life.seen += 1;
        let (begin, end) = life.entry_of(position);
        let upto = position + block.u64("remaining") as u32;
        assert!(life.rung.contains(&upto) && end <= upto, "{upto} of {:?}", life.rung);
        assert_eq!(block.u64("error"), 0);
        // Entries are whole, and turns begin with one.
        match self.inside {
            Some(inside) => assert_eq!(inside, queue, "an entry is interrupted"),
            None => assert_eq!(begin, position, "an entry has lost its head"),
        }
        assert!(block.u64("begins") == 0 || begin == position, "a turn begins within an entry");
        self.inside = (position + 1 < end).then_some(queue);
        // Shared queues' blocks and all others are in the order of the posts.
        let when = |life: &Life, position: u32| {
            life.at[life.rung.iter().position(|rung| position < *rung).expect("it was rung for")]
        };
        let (when_rung, is_shared) = (when(life, position), of.shared);
        let waits = |other: &&Posted| {
            let life = other.lives.last().expect("it is enabled");
            let before = || life.seen < life.total() && when(life, life.seen) < when_rung;
            other.shared != is_shared && before()
        };
        if self.in_order {
            let overtaken = self.posted.iter().find(waits).map(|other| other.queue);
            assert_eq!(overtaken, None, "queue {queue} overtakes it");
        }
    }

    /// Runs until all blocks that are not lost have come.
    fn finish(&mut self) {
        for k in 0..self.posted.len() {
            self.hold(k, false);
        }
        let missing = |of: &Posted| {
            !of.halted && of.lives.last().is_some_and(|life| life.seen < life.total())
        };
        while self.posted.iter().any(missing) {
            self.step();
        }
        (0..600).for_each(|_| self.step());
        assert_eq!(self.setup.bench.get("busy"), 0);
    }

    /// Lengths of entries that are `total` blocks at most.
    fn lengths(&mut self, total: u32) -> Vec<u32> {
        let mut lengths = Vec::new();
        let mut left = total;
        let kind = self.random.below(4);
        while left > 0 && lengths.len() < 400 {
            let length = match (kind, self.random.below(20)) {
                (0, _) => 2,
                (1, _) => 3,
                (2, 0) => 40 + self.random.below(400) as u32,
                _ => 1 + self.random.below(6) as u32,
            };
            lengths.push(length.min(left));
            left -= length.min(left);
        }
        lengths
    }
}

#[test]
fn no_entry_is_cut_or_lost_whatever_is_rung_held_halted_and_enabled_when() {
    let library = library();
    let mut doubled = 0;
    for (seed, stalls) in (1..).zip(STALLS).chain((20..).zip(STALLS)) {
        let queues = 2 + seed as usize % 9;
        let mut world = World::new(&library, seed, queues);
        world.setup.latency = world.random.below(400);
        for k in 0..queues {
            let log = [4, 6, 9, 11, 12][world.random.below(5) as usize];
            world.enable(k, log);
        }
        world.setup.bench.stall(stalls);
        for _ in 0..200 {
            let k = world.random.below(queues as u64) as usize;
            let silent = world.random.chance(0.5);
            world.silence(k, silent);
            match world.random.below(40) {
                0 => world.halt(k),
                1 | 2 => world.enable(k, 8),
                3 => {
                    let held = !world.held[k];
                    world.hold(k, held);
                }
                _ => {
                    let room = world.room(k);
                    let some = 1 + world.random.below(30) as u32;
                    let total = if world.random.chance(0.4) { room } else { room.min(some) };
                    let lengths = world.lengths(total);
                    if !lengths.is_empty() && !world.posted[k].halted {
                        world.post(k, &lengths);
                    }
                }
            }
            for _ in 0..world.random.below(200) {
                world.step();
            }
        }
        world.finish();
        let read: u64 = world.setup.reads.iter().map(|(_, bytes)| bytes / 64).sum();
        doubled += read - world.looked as u64;
    }
    assert!(doubled > 1_000, "{doubled} blocks were fetched for nothing: turns were cut");
}

#[test]
fn shared_queues_and_others_come_in_the_order_of_the_posts() {
    let library = library();
    for (seed, stalls) in (1..).zip(STALLS) {
        let mut world = World::new(&library, seed, 6);
        world.setup.latency = world.random.below(400);
        world.in_order = true;
        for k in 0..6 {
            world.posted[k].shared = k < 2;
            world.enable(k, 10);
        }
        world.setup.bench.stall(stalls);
        for _ in 0..150 {
            let k = world.random.below(6) as usize;
            let silent = world.random.chance(0.5);
            world.silence(k, silent);
            let some = 1 + world.random.below(400) as u32;
            let total = world.room(k).min(some);
            let lengths = world.lengths(total);
            if !lengths.is_empty() {
                world.post(k, &lengths);
            }
            for _ in 0..world.random.below(300) {
                world.step();
            }
        }
        world.finish();
    }
}

#[test]
fn of_sixteen_queues_that_are_rung_at_once_none_goes_on_for_more_than_32_blocks() {
    let library = library();
    let mut world = World::new(&library, 1, 16);
    world.setup.latency = 250;
    (0..16).for_each(|k| world.enable(k, 9));
    (0..16).for_each(|k| world.post(k, &[2; 256]));
    world.finish();
    let blocks = world.setup.blocks();
    let runs: Vec<_> = blocks.chunk_by(|a, b| a.0 == b.0).map(<[_]>::len).collect();
    assert!(runs.iter().take(200).all(|run| *run <= 36), "{runs:?}");
    let read: u64 = world.setup.reads.iter().map(|(_, bytes)| bytes / 64).sum();
    assert!(read < 16 * 512 + 1024, "{read} blocks were fetched");
}

#[test]
fn an_entry_that_is_longer_than_a_turn_comes_whole() {
    let library = library();
    let mut world = World::new(&library, 1, 9);
    world.setup.latency = 100;
    (0..9).for_each(|k| world.enable(k, 14));
    (0..9).for_each(|k| world.post(k, &[4737, 1, 300, 2, 2, 700, 33]));
    world.finish();
}

#[test]
fn a_queue_alone_is_not_interrupted() {
    let library = library();
    let mut world = World::new(&library, 1, 1);
    world.enable(0, 12);
    (0..8).for_each(|_| world.post(0, &[3; 170]));
    world.finish();
    let read: u64 = world.setup.reads.iter().map(|(_, bytes)| bytes / 64).sum();
    assert_eq!(read, 8 * 510, "nothing is fetched twice");
    let at = world.setup.bench.received_at(world.setup.wqe);
    assert!(at.last().unwrap() - at[0] <= 8 * 510 + 8);
}

#[test]
fn two_queues_lose_no_time() {
    let library = library();
    for length in [2, 3, 5] {
        let mut world = World::new(&library, 1, 2);
        world.setup.latency = 250;
        (0..2).for_each(|k| world.enable(k, 12));
        (0..2).for_each(|k| world.post(k, &vec![length; 1200 / length as usize]));
        world.finish();
        let at = world.setup.bench.received_at(world.setup.wqe);
        let (blocks, cycles) = (at.len() as u64, at.last().unwrap() - at[0]);
        println!("{blocks} blocks of entries of {length} in {cycles} cycles");
        assert_eq!(blocks, 2400);
        assert!(cycles < 2 * blocks, "{blocks} blocks of entries of {length} in {cycles} cycles");
    }
}

#[test]
fn of_a_slow_turn_no_more_is_served_while_others_wait() {
    let library = library();
    let mut world = World::new(&library, 1, 3);
    world.setup.latency = 100;
    (0..3).for_each(|k| world.enable(k, 9));
    let wqe = world.setup.wqe;
    (0..3).for_each(|k| world.post(k, &[2; 24]));
    // An entry takes 1,300 cycles.
    while world.looked < 3 * 48 {
        let before = world.looked;
        world.setup.bench.stall_monitor(wqe, 0.0);
        while world.looked < before + 2 {
            world.step();
        }
        world.setup.bench.stall_monitor(wqe, 1.0);
        (0..1_300).for_each(|_| world.step());
    }
    world.setup.bench.stall_monitor(wqe, 0.0);
    world.finish();
    let blocks = world.setup.blocks();
    let runs: Vec<_> = blocks.chunk_by(|a, b| a.0 == b.0).map(<[_]>::len).collect();
    assert!(runs.iter().take(20).all(|run| *run <= 6), "{runs:?}");
}

#[test]
fn silent_queue_pairs_take_turns_like_others_while_nobody_else_has_anything() {
    let library = library();
    let run = |silent: bool| {
        let mut world = World::new(&library, 1, 4);
        world.setup.latency = 250;
        (0..4).for_each(|k| world.enable(k, 12));
        (0..4).for_each(|k| world.silence(k, silent));
        (0..4).for_each(|k| world.post(k, &[2; 400]));
        world.finish();
        let at = world.setup.bench.received_at(world.setup.wqe);
        let read: u64 = world.setup.reads.iter().map(|(_, bytes)| bytes / 64).sum();
        println!("silent {silent}: {} blocks of {read} that were fetched", at.len());
        at.last().unwrap() - at[0]
    };
    let [heard, silent] = [false, true].map(run);
    println!("{heard} cycles, and {silent} of silent ones");
    assert!(silent <= heard + heard / 4, "{silent} cycles, not {heard}");
}

#[test]
fn of_a_silent_queue_pair_one_entry_comes_until_others_are_served() {
    let library = library();
    for length in [2, 3, 40] {
        let mut world = World::new(&library, 1, 2);
        world.setup.latency = 250;
        (0..2).for_each(|k| world.enable(k, 12));
        world.silence(0, true);
        world.post(0, &[length; 15]);
        world.post(1, &[2; 350]);
        world.finish();
        let blocks = world.setup.blocks();
        let runs: Vec<_> = blocks.chunk_by(|a, b| a.0 == b.0).map(<[_]>::len).collect();
        let length = length as usize;
        assert_eq!(runs, [length, 700, 14 * length]);
    }
}

/// Sixteen queue pairs of a card that was just set up: their peers answer 1,500 cycles after the doorbells.
#[test]
fn peers_that_answer_later_than_the_next_turn_cost_no_rate() {
    let library = library();
    let run = |silent: bool| {
        let mut world = World::new(&library, 1, 16);
        world.setup.latency = 330;
        let wqe = world.setup.wqe;
        world.setup.bench.stall_monitor(wqe, 0.5);
        (0..16).for_each(|k| world.enable(k, 9));
        (0..16).for_each(|k| world.silence(k, silent));
        (0..16).for_each(|k| world.post(k, &[2; 256]));
        (0..1_500).for_each(|_| world.step());
        (0..16).for_each(|k| world.silence(k, false));
        world.finish();
        let at = world.setup.bench.received_at(wqe);
        at.last().unwrap() - at[0]
    };
    let [heard, silent] = [false, true].map(run);
    println!("{heard} cycles, and {silent} of peers that are silent at first");
    assert!(silent <= heard + heard / 20, "{silent} cycles, not {heard}");
}
