//! Entries that are carried out in parts: kept, and given again for each.

use super::*;
use crate::request::{LOG_PART_UNIT, PART, PART_PACKETS};
use drdma_abi::receive::AttributesEntry;
use drdma_abi::register::QueuePairEntry;
use drdma_abi::roce::Transport;
use drdma_abi::work_request::{
    BLOCK, Destination, GRANULE, Opcode, RegionHeader, WQE_MAGIC, WqeHeader, flags,
};

/// Blocks of a ring.
const RING: u32 = 256;

/// An entry of a WRITE of regions, which are contiguous, as it stands in its ring.
fn entry(position: u32, bits: u8, regions: &[u32]) -> Vec<u8> {
    let head = WqeHeader {
        magic: WQE_MAGIC,
        opcode: Opcode::Write as u8,
        flags: bits,
        destinations: 1,
        granules: 4 + regions.len() as u32,
        position,
        rows_per_message: 1,
        ..Default::default()
    };
    let mut bytes = head.to_bytes().to_vec();
    bytes.extend(Destination { regions: regions.len() as u16, ..Default::default() }.to_bytes());
    for count in regions {
        bytes.extend(RegionHeader { addr: 0x7000, count: *count, lkey: 9 }.to_bytes());
    }
    bytes.resize(bytes.len().next_multiple_of(4 * GRANULE), 0);
    bytes
}

/// Bytes of a part where packets have this MTU.
fn part_of(log_mtu: u32) -> u32 {
    (4 << LOG_PART_UNIT).min(u32::try_from(PART_PACKETS).unwrap() << log_mtu)
}

/// A block as {position, beginning of the part, it pauses}.
type Came = (u64, u64, bool);

fn told(beat: &Beat) -> Came {
    let part = beat.u64("part");
    (beat.u64("position"), part & ((1 << PART) - 1), part >> (PART + 2) & 1 == 1)
}

/// A queue of these tests: its ring is in the memory; the blocks that must come of it are known.
struct Own {
    queue: u64,
    log_mtu: u32,
    /// The queue pair's messages are sent in parts.
    splits: bool,
    position: u32,
    expected: Vec<Came>,
}

impl Own {
    fn new(setup: &mut Setup<'_>, queue: u64, log_mtu: u32, shared: bool) -> Self {
        let qp = 1_000 + queue as u32;
        // On RC, messages are sent in parts only if lost packets are sent again.
        let (transport, retry_cnt) =
            [(Transport::Rc, 7), (Transport::Uc, 0), (Transport::Rc, 1), (Transport::Rc, 0)]
                [queue as usize % 4];
        let splits = !shared && queue % 4 != 3;
        let context = QueuePairEntry {
            log_mtu: log_mtu as u8,
            transport: transport as u8,
            state: 1,
            ..Default::default()
        };
        let attributes = AttributesEntry { retry_cnt, state: 1, ..Default::default() };
        let entry = SendQueueEntry {
            addr: queue << 20,
            log_blocks: RING.ilog2() as u8,
            shared: shared.into(),
            qp,
            enable: 1,
            ..Default::default()
        };
        for (table, index, bytes) in [
            (0, qp.into(), context.to_bytes().to_vec()),
            (4, qp.into(), attributes.to_bytes().to_vec()),
            (2, queue, entry.to_bytes().to_vec()),
        ] {
            for (word, data) in bytes.chunks(4).enumerate() {
                let data = u32::from_le_bytes(data.try_into().expect("4 bytes"));
                setup.write(table, index, word as u64, data.into());
            }
        }
        Self { queue, log_mtu, splits, position: 0, expected: Vec::new() }
    }

    /// Writes an entry into the ring.
    fn put(&mut self, setup: &mut Setup<'_>, bits: u8, regions: &[u32]) {
        let bytes = entry(self.position, bits, regions);
        for (at, block) in (self.position..).zip(bytes.chunks(BLOCK)) {
            let addr = (self.queue << 20) + u64::from(at % RING) * BLOCK as u64;
            setup.memory.insert(addr, block.to_vec());
        }
        let blocks = (bytes.len() / BLOCK) as u32;
        let inline = bits & flags::INLINE != 0;
        let parts = match regions {
            [count] if self.splits && !inline => count.div_ceil(part_of(self.log_mtu)).max(1),
            _ => 1,
        };
        for part in 0..parts {
            let first = u64::from(part * (part_of(self.log_mtu) >> LOG_PART_UNIT));
            for at in 0..blocks {
                let pauses = part + 1 < parts && at + 1 == blocks;
                self.expected.push(((self.position + at).into(), first, pauses));
            }
        }
        self.position += blocks;
    }

    fn came(&self, setup: &Setup<'_>) -> Vec<Came> {
        let beats = setup.bench.received(setup.wqe).iter();
        beats.filter(|beat| beat.u64("queue") == self.queue).map(told).collect()
    }
}

/// An entry's length: often near the end of a part.
fn any_count(random: &mut Random, log_mtu: u32) -> u32 {
    let part = part_of(log_mtu);
    match random.below(6) {
        0 => 1 + random.below(200) as u32,
        1 => part,
        2 => part + 1,
        3 => 1 + random.below(u64::from(part) * 3) as u32,
        4 => part * (1 + random.below(4) as u32) - random.below(2) as u32,
        _ => 1 + random.below(u64::from(part)) as u32,
    }
}

#[test]
fn every_part_comes_once_and_in_order_whatever_waits_when() {
    let library = library();
    for (seed, stalls) in (1..).zip(STALLS) {
        let mut random = Random::new(seed);
        let mut setup = Setup::new(&library, seed);
        setup.bench.limit(4_000_000);
        setup.latency = random.below(200);
        let mtus = [8, 9, 10, 12, 11];
        let mut queues: Vec<_> = (5..)
            .zip(mtus)
            .map(|(queue, mtu)| Own::new(&mut setup, queue, mtu, queue == 9))
            .collect();
        setup.bench.stall(stalls);
        let mut held = [false; 4];
        for _ in 0..150 {
            let own = &mut queues[random.below(5) as usize];
            let wqe = setup.wqe;
            // Blocks in the ring that were not fetched yet are not overwritten.
            let (queue, position) = (own.queue, own.position);
            setup.run_until(|bench| {
                let of_queue = |beat: &&Beat| beat.u64("queue") == queue;
                let last = bench.received(wqe).iter().rfind(of_queue);
                position - last.map_or(0, |beat| beat.u64("position") as u32) + 20 < RING
            });
            for _ in 0..=random.below(3) {
                let count = any_count(&mut random, own.log_mtu);
                match random.below(8) {
                    0 => own.put(&mut setup, 0, &[count, count, 9, 10, 11]),
                    1 => own.put(&mut setup, flags::INLINE, &[count]),
                    _ => own.put(&mut setup, flags::UNSIGNALED, &[count]),
                }
            }
            setup.doorbell(own.queue, own.position);
            let qp = random.below(4) as usize;
            if random.chance(0.2) {
                held[qp] ^= true;
                super::parking::hold(&mut setup, 1_005 + qp as u64, held[qp]);
                // A shared queue would wait for a queue pair that is held.
                if held[qp] && random.chance(0.7) {
                    setup.run(500);
                    held[qp] = false;
                    super::parking::hold(&mut setup, 1_005 + qp as u64, false);
                }
            }
            if random.chance(0.3) {
                super::parking::silence(&mut setup, 1_005 + qp as u64, random.chance(0.5));
            }
            setup.bench.set("parts_full", u64::from(random.chance(0.4)));
            setup.run(random.below(60));
        }
        setup.bench.set("parts_full", 0);
        for (qp, _) in (1_005..).zip(held).filter(|(_, held)| *held) {
            super::parking::hold(&mut setup, qp, false);
        }
        let total: usize = queues.iter().map(|own| own.expected.len()).sum();
        let wqe = setup.wqe;
        setup.run_until(|bench| bench.received(wqe).len() >= total);
        setup.run(1_000);
        for own in &queues {
            assert_eq!(own.came(&setup), own.expected, "queue {}, seed {seed}", own.queue);
        }
        assert_eq!(setup.bench.get("busy"), 0);
        let parts = queues.iter().flat_map(|own| &own.expected).filter(|came| came.2).count();
        assert!(parts > 60, "{parts} parts with one behind them");
        // Of an own queue no message is begun when a block of the shared one comes.
        let mut begun = [false; 16];
        for beat in setup.bench.received(wqe) {
            let queue = beat.u64("queue") as usize;
            begun[queue] = told(beat).2 || (begun[queue] && told(beat).0.is_multiple_of(2));
            assert!(queue != 9 || !begun.contains(&true), "seed {seed}");
        }
    }
}

#[test]
fn other_queues_have_their_turns_between_parts() {
    let library = library();
    let mut setup = Setup::new(&library, 1);
    setup.latency = 100;
    let mut long = Own::new(&mut setup, 5, 12, false);
    let mut short = Own::new(&mut setup, 6, 12, false);
    long.put(&mut setup, 0, &[4 << 20]);
    setup.doorbell(5, long.position);
    for _ in 0..20 {
        short.put(&mut setup, 0, &[100]);
        setup.run(20);
        setup.doorbell(6, short.position);
    }
    let wqe = setup.wqe;
    setup.run_until(|bench| bench.received(wqe).len() == 2 * 64 + 2 * 20);
    assert_eq!((long.came(&setup), short.came(&setup)), (long.expected, short.expected));
    let last = setup.bench.received(wqe).iter().rposition(|beat| beat.u64("queue") == 6);
    assert!(last.expect("they came") < 140, "all short ones before the last parts");
    // The entry is read once.
    assert_eq!(setup.reads.iter().filter(|read| read.0 >> 20 == 5).count(), 1);
}

#[test]
fn nothing_of_a_message_comes_while_its_queue_pair_is_held_or_there_are_enough_parts() {
    let library = library();
    let mut setup = Setup::new(&library, 2);
    let mut own = Own::new(&mut setup, 5, 8, false);
    own.put(&mut setup, 0, &[100_000]);
    own.put(&mut setup, 0, &[10]);
    super::parking::hold(&mut setup, 1_005, true);
    setup.doorbell(5, 2);
    setup.run(500);
    assert_eq!(own.came(&setup), []);
    super::parking::hold(&mut setup, 1_005, false);
    setup.bench.set("parts_full", 1);
    setup.run(500);
    assert_eq!(
        own.came(&setup),
        own.expected[..2],
        "the first part of a message comes all the same"
    );
    // A doorbell for entries behind it does not begin a turn.
    setup.doorbell(5, 4);
    setup.run(500);
    assert_eq!(own.came(&setup).len(), 2);
    assert_eq!(setup.bench.get("busy"), 1);
    setup.bench.set("parts_full", 0);
    setup.run(30);
    super::parking::hold(&mut setup, 1_005, true);
    setup.run(500);
    let before = own.came(&setup).len();
    assert!(before < own.expected.len(), "{before} blocks in 30 cycles");
    setup.run(500);
    assert_eq!(own.came(&setup).len(), before);
    super::parking::hold(&mut setup, 1_005, false);
    setup.run(1_000);
    assert_eq!(own.came(&setup), own.expected);
    assert_eq!(setup.bench.get("busy"), 0);
}

#[test]
fn a_message_that_was_begun_goes_on_for_a_shared_queue_though_its_queue_pair_is_held() {
    let library = library();
    let mut setup = Setup::new(&library, 3);
    let mut own = Own::new(&mut setup, 5, 10, false);
    let mut shared = Own::new(&mut setup, 9, 10, true);
    own.put(&mut setup, 0, &[1 << 20]);
    own.put(&mut setup, 0, &[10]);
    shared.put(&mut setup, 0, &[10]);
    setup.doorbell(5, 4);
    setup.run(60);
    super::parking::hold(&mut setup, 1_005, true);
    setup.run(300);
    let begun = own.came(&setup).len();
    assert!(begun < 20, "{begun} blocks");
    setup.doorbell(9, 2);
    setup.run(2_000);
    assert_eq!(shared.came(&setup), shared.expected);
    let whole = own.came(&setup);
    assert!(whole.len() >= 32 && !whole[31].2, "the message is over, {} blocks", whole.len());
    super::parking::hold(&mut setup, 1_005, false);
    setup.run(500);
    assert_eq!(own.came(&setup), own.expected);
}

/// Between two parts, nothing of the message is under way but the report of where it goes on.
#[test]
fn a_shared_queue_does_not_overtake_a_message_in_parts_whenever_it_is_rung() {
    let library = library();
    let mut setup = Setup::new(&library, 7);
    let mut own = Own::new(&mut setup, 5, 10, false);
    let mut shared = Own::new(&mut setup, 9, 10, true);
    for distance in 1..60 {
        let before = setup.bench.received(setup.wqe).len();
        own.put(&mut setup, 0, &[3 * part_of(10)]);
        shared.put(&mut setup, 0, &[10]);
        setup.doorbell(5, own.position);
        setup.run(distance);
        setup.doorbell(9, shared.position);
        setup.run(400);
        let came = setup.bench.received(setup.wqe)[before..].iter();
        let queues: Vec<_> = came.map(|beat| beat.u64("queue")).collect();
        assert_eq!(queues, [5, 5, 5, 5, 5, 5, 9, 9], "{distance} cycles later");
    }
}

/// The entry counts as it is in the ring when its message is begun.
#[test]
fn an_entry_is_kept_until_its_last_part() {
    let library = library();
    let mut setup = Setup::new(&library, 4);
    let mut own = Own::new(&mut setup, 5, 12, false);
    own.put(&mut setup, 0, &[1 << 20]);
    setup.bench.set("parts_full", 1);
    setup.doorbell(5, 2);
    setup.run(200);
    assert_eq!(own.came(&setup), own.expected[..2]);
    let wqe = setup.wqe;
    let first: Vec<_> =
        setup.bench.received(wqe)[..2].iter().map(|beat| beat.get("data").clone()).collect();
    for (at, block) in entry(0, 0, &[70_000, 1, 2]).chunks(BLOCK).enumerate() {
        setup.memory.insert((5 << 20) + (at * BLOCK) as u64, block.to_vec());
    }
    setup.bench.set("parts_full", 0);
    setup.run(500);
    assert_eq!(own.came(&setup), own.expected);
    // Granules of the entry: four in its first block, one in its second.
    for (at, beat) in setup.bench.received(wqe).iter().enumerate() {
        let bits = if at % 2 == 0 { 512 } else { 8 * GRANULE };
        assert_eq!(beat.get("data").bits(0, bits), first[at % 2].bits(0, bits), "block {at}");
    }
}

/// Behind a message in parts there may be another one: the entries behind that one are not fetched with it.
#[test]
fn of_many_messages_in_parts_each_block_is_read_a_few_times() {
    let library = library();
    let mut setup = Setup::new(&library, 6);
    setup.latency = 350;
    let mut own = Own::new(&mut setup, 5, 12, false);
    for _ in 0..100 {
        own.put(&mut setup, 0, &[100_000]);
    }
    // With short messages the queue is as fast as without parts.
    for _ in 0..20 {
        own.put(&mut setup, 0, &[100]);
    }
    setup.doorbell(5, own.position);
    let (wqe, total) = (setup.wqe, own.expected.len());
    setup.run_until(|bench| bench.received(wqe).len() >= total);
    assert_eq!(own.came(&setup), own.expected);
    let bytes: u64 = setup.reads.iter().map(|read| read.1).sum();
    let all = u64::from(own.position) * BLOCK as u64;
    assert!(bytes < 4 * all, "{bytes} bytes are read, of {all}");
}

#[test]
fn a_queue_that_is_enabled_anew_has_no_message_begun() {
    let library = library();
    let mut setup = Setup::new(&library, 5);
    let mut own = Own::new(&mut setup, 5, 12, false);
    own.put(&mut setup, 0, &[1 << 20]);
    setup.bench.set("parts_full", 1);
    setup.doorbell(5, 2);
    setup.run(200);
    let mut own = Own::new(&mut setup, 5, 12, false);
    own.put(&mut setup, 0, &[100_000]);
    setup.doorbell(5, 2);
    setup.run(200);
    setup.bench.set("parts_full", 0);
    setup.run(500);
    assert_eq!(own.came(&setup)[2..], own.expected);
    assert_eq!(setup.bench.get("busy"), 0);
}
