//! The decoder against plain Rust.

mod generate;
mod reference;
mod world;

use drdma_abi::Layout;
use drdma_abi::work_request::{
    BLOCK, Destination, Element, GRANULE, RegionHeader, RegionShape, RegionType, WQE_MAGIC,
    WqeHeader, flags, shape_flags,
};
use drdma_verilated::testbench::{Random, STALLS};
use generate::{Generator, SHARED, Style, card};
use reference::{Batch, Card, Request};
use std::collections::{HashSet, VecDeque};
use world::{World, library};

const SMALL: Style = Style { dests: 4, regions: 4, beyond: 0.0 };

/// Sends batches, and has everything compared with the reference.
fn compare(world: &mut World, card: &mut Card, batches: &[Batch]) -> Vec<Request> {
    let mut expected = VecDeque::new();
    for batch in batches {
        world.post(batch);
        expected.extend(card.decode(batch));
    }
    let all = expected.iter().cloned().collect();
    world.run(&mut expected);
    all
}

/// Clears all errors.
fn recover(world: &mut World, card: &mut Card) {
    card.qp_errors.clear();
    world.set_qp_errors(&card.qp_errors);
    for queue in std::mem::take(&mut card.stopped) {
        world.enable(queue);
    }
}

fn queue(random: &mut Random) -> u8 {
    loop {
        let queue = random.below(256) as u8;
        // Own queues whose queue pair can do everything, and shared ones.
        if queue >= SHARED || (queue % 3 != 2 && queue % 11 != 10 && queue % 50 != 49) {
            return queue;
        }
    }
}

#[test]
fn valid_requests_come_out_as_lane_sets() {
    let library = library();
    for (seed, stalls) in (1..).zip(STALLS) {
        let mut random = Random::new(seed);
        let mut card = card(&mut random);
        let mut world = World::new(&library, seed, &card);
        world.bench.stall(stalls);
        let mut batches = Vec::new();
        for _ in 0..120 {
            let queue = queue(&mut random);
            let mut generator = Generator { card: &card, random: &mut random, style: SMALL };
            batches.push(generator.batch(queue, 4));
        }
        let requests = compare(&mut world, &mut card, &batches);
        assert!(requests.iter().all(|r| r.status == 0), "all are valid");
        assert!(requests.len() > 200);
        let joined = requests.iter().flat_map(|r| &r.dests);
        let joined = joined.filter(|d| d.sets.len() == 1 && d.sets[0].kind == 1 && !d.element_mask);
        let joined = joined.count();
        assert!(joined > 15, "{joined} destinations whose columns become lanes of one set");
        let selected = |d: &&reference::Dest| d.sets.len() == 1 && d.sets[0].kind == 2;
        let all = requests.iter().flat_map(|r| &r.dests);
        let selected =
            all.filter(selected).filter(|d| !d.element_mask && d.sets[0].lanes.len() > 1);
        assert!(selected.count() > 5, "columns with one bitmap as well");
        let shared = requests
            .iter()
            .filter(|r| r.dests.iter().any(|d| d.sets.iter().any(|set| set.ids > 0)));
        assert!(shared.count() > 10, "and regions that all destinations share");
        let others = requests.iter().flat_map(|r| r.dests.iter().skip(1));
        let (alike, differ): (Vec<_>, Vec<_>) = others.partition(|d| d.alike);
        println!("seed {seed}: {} alike, {} not", alike.len(), differ.len());
        assert!(alike.len() > 10 && differ.len() > 10, "some are like the first, some are not");
    }
}

#[test]
fn ranges_that_reach_beyond_their_memory_are_refused() {
    let library = library();
    for seed in 1..4 {
        let mut random = Random::new(seed);
        let mut card = card(&mut random);
        let mut world = World::new(&library, seed, &card);
        world.bench.stall(STALLS[seed as usize]);
        let mut refused = 0;
        for _ in 0..60 {
            let style = Style { beyond: 0.02, ..SMALL };
            let mut batches = Vec::new();
            for _ in 0..8 {
                let queue = queue(&mut random);
                let mut generator = Generator { card: &card, random: &mut random, style };
                batches.push(generator.batch(queue, 2));
            }
            let requests = compare(&mut world, &mut card, &batches);
            refused += requests.iter().filter(|r| r.status == 4).count();
            recover(&mut world, &mut card);
        }
        assert!(refused > 60, "{refused}");
    }
}

#[test]
fn corrupt_entries_fail_as_in_the_reference() {
    let library = library();
    for seed in 1..5 {
        let mut random = Random::new(seed);
        let mut card = card(&mut random);
        let mut world = World::new(&library, seed, &card);
        world.bench.stall(STALLS[seed as usize]);
        let mut statuses = [0; 6];
        for _ in 0..150 {
            let healthy = card.clone();
            card.qp_errors = (0..random.below(8)).map(|_| random.u64() as u8).collect();
            world.set_qp_errors(&card.qp_errors);
            let mut batches = Vec::new();
            for _ in 0..6 {
                let queue =
                    if random.chance(0.1) { random.u64() as u8 } else { queue(&mut random) };
                let style = Style { beyond: 0.005, ..SMALL };
                let mut generator = Generator { card: &healthy, random: &mut random, style };
                let mut batch = generator.batch(queue, 3);
                for _ in 0..random.below(4) {
                    let at = random.below(batch.bytes.len() as u64) as usize;
                    match random.below(3) {
                        0 => batch.bytes[at] ^= 1 << random.below(8),
                        1 => batch.bytes[at] = 0,
                        _ => batch.bytes[at] = random.u64() as u8,
                    }
                }
                if random.chance(0.1) {
                    batch.bytes.truncate(batch.bytes.len().div_ceil(2 * BLOCK) * BLOCK);
                }
                if random.chance(0.1) {
                    let blocks = (batch.bytes.len() / BLOCK) as u64;
                    batch.unread.insert(random.below(blocks) as usize);
                }
                batches.push(batch);
            }
            for request in compare(&mut world, &mut card, &batches) {
                statuses[usize::from(request.status)] += 1;
            }
            recover(&mut world, &mut card);
        }
        let [success, _, operation, _, protection, flush] = statuses;
        let least = success.min(operation).min(protection).min(flush);
        assert!(least >= 10, "statuses {statuses:?}");
    }
}

/// An entry of one queue pair, region by region.
fn entry(qp: u32, regions: &[(RegionType, Vec<u8>)]) -> Vec<u8> {
    let mut types = 0;
    for (index, (kind, _)) in regions.iter().enumerate() {
        types |= (*kind as u32) << (2 * index);
    }
    let count = regions.len() as u16;
    let dest = Destination { qp, regions: count, types, rkey: 7, ..Default::default() };
    let mut bytes = vec![0; 32];
    bytes.extend(dest.to_bytes());
    regions.iter().for_each(|(_, granules)| bytes.extend(granules));
    let head = WqeHeader {
        magic: WQE_MAGIC,
        destinations: 1,
        granules: (bytes.len() / GRANULE) as u32,
        wr_id: 0x1234,
        rows_per_message: 1,
        ..Default::default()
    };
    head.encode(&mut bytes);
    bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
    bytes
}

fn batch(queue: u8, bytes: Vec<u8>) -> Batch {
    Batch { queue, position: 0, bytes, unread: HashSet::new() }
}

/// A contiguous, a strided, a bitmapped and a pointer-mapped region, at granules 4, 5, 9 and 12. The
/// bitmapped one has fetch rows.
fn all_kinds(card: &Card) -> Vec<u8> {
    let entry_ = &card.regions[13];
    let (addr, lkey) = (entry_.addr, entry_.lkey);
    let header = |count| RegionHeader { addr, count, lkey }.to_bytes();
    let flagged = |period, target_lkey, elements, flags| {
        RegionShape { period, target_lkey, elements, flags }.to_bytes()
    };
    let shape = |period, target_lkey, elements| flagged(period, target_lkey, elements, 0);
    let element = |offset, len, lkey| Element { offset, len, lkey }.to_bytes();
    let strided = [header(3), shape(100, 0, 2), element(0, 4, 0), element(50, 8, 0)];
    let fetch_rows = flagged(addr, lkey, 1, shape_flags::FETCH_ROWS);
    let bitmapped = [header(9), fetch_rows, element(addr, 4, lkey)];
    let pointers = [header(5), shape(0, lkey, 1), element(16, 8, 0)];
    entry(
        3,
        &[
            (RegionType::Contiguous, header(64).to_vec()),
            (RegionType::Strided, strided.concat()),
            (RegionType::Bitmapped, bitmapped.concat()),
            (RegionType::PointerMapped, pointers.concat()),
        ],
    )
}

#[test]
fn a_bitmap_alone_has_no_period_and_no_target() {
    let mut random = Random::new(8);
    let mut card = card(&mut random);
    let (addr, len, lkey) = {
        let entry = &card.regions[13];
        (entry.addr, entry.len, entry.lkey)
    };
    let mut world = World::new(&library(), 8, &card);
    let rows = 8 * len as u32;
    let plain = RegionShape { elements: 1, ..Default::default() };
    let fetched = RegionShape { flags: shape_flags::FETCH_ROWS, target_lkey: lkey, ..plain };
    let cases = [
        ("nothing", rows, plain, 0),
        ("a period", rows, RegionShape { period: 1, ..plain }, 2),
        ("a target", rows, RegionShape { target_lkey: lkey, ..plain }, 2),
        ("fetch rows to the memory region's end", rows, RegionShape { period: addr, ..fetched }, 0),
        ("a bit of them behind it", rows, RegionShape { period: addr + 1, ..fetched }, 4),
        ("none of no rows", 0, RegionShape { target_lkey: lkey ^ 1 << 20, ..fetched }, 0),
    ];
    for (name, count, shape, status) in cases {
        // A memory region of 2^40 bytes for the column.
        let column = &card.regions[1];
        let region = [
            RegionHeader { addr, count, lkey }.to_bytes(),
            shape.to_bytes(),
            Element { offset: column.addr, len: 4, lkey: column.lkey }.to_bytes(),
        ];
        let bytes = entry(3, &[(RegionType::Bitmapped, region.concat())]);
        let requests = compare(&mut world, &mut card, &[batch(3, bytes)]);
        assert_eq!(requests[0].status, status, "{name}");
        recover(&mut world, &mut card);
    }
}

/// A strided region of 5 periods of 100 bytes, with 4-byte extents at these offsets.
fn strided(card: &Card, offsets: &[u64]) -> Vec<u8> {
    let (addr, lkey) = (card.regions[13].addr, card.regions[13].lkey);
    let elements = offsets.len() as u16;
    let mut bytes = RegionHeader { addr, count: 5, lkey }.to_bytes().to_vec();
    bytes.extend(RegionShape { period: 100, elements, ..Default::default() }.to_bytes());
    for &offset in offsets {
        bytes.extend(Element { offset, len: 4, lkey: 0 }.to_bytes());
    }
    bytes
}

#[test]
fn a_lane_more_or_less_makes_a_destination_differ() {
    let mut random = Random::new(9);
    let mut card = card(&mut random);
    let mut world = World::new(&library(), 9, &card);
    let lanes: [&[u64]; 3] = [&[0, 8], &[0, 8, 16], &[0]];
    // What was kept of an entry before must not be taken for the first destination's.
    let entries = [[1, 0, 1], [0, 1, 2], [2, 0, 2], [1, 1, 0]];
    for (which, alike) in entries.into_iter().zip([[1, 0, 1], [1, 0, 0], [1, 0, 1], [1, 1, 0]]) {
        let mut bytes = vec![0; 32];
        for (qp, lanes) in which.into_iter().map(|k| lanes[k]).enumerate() {
            let types = RegionType::Strided as u32;
            let head = Destination { qp: qp as u32, regions: 1, types, ..Default::default() };
            bytes.extend(head.to_bytes());
            bytes.extend(strided(&card, lanes));
        }
        let head = WqeHeader {
            magic: WQE_MAGIC,
            destinations: 3,
            granules: (bytes.len() / GRANULE) as u32,
            rows_per_message: 1,
            ..Default::default()
        };
        head.encode(&mut bytes);
        bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
        let requests = compare(&mut world, &mut card, &[batch(200, bytes)]);
        let found: Vec<_> = requests[0].dests.iter().map(|d| u8::from(d.alike)).collect();
        assert_eq!(found, alike, "lanes {which:?}");
    }
}

#[test]
fn every_malformed_kind_has_its_status() {
    let mut random = Random::new(7);
    let mut card = card(&mut random);
    let good = all_kinds(&card);
    let mut world = World::new(&library(), 7, &card);
    let requests = compare(&mut world, &mut card, &[batch(3, good.clone())]);
    assert_eq!(requests[0].status, 0);

    // What is wrong; granule, byte, value; status; whether the queue pair goes to error.
    let cases: &[(&str, usize, usize, u8, u8, bool)] = &[
        ("magic", 0, 0, 0xd6, 2, false),
        ("opcode", 0, 1, 4, 2, false),
        ("flags", 0, 2, 8, 2, false),
        ("a plan of fetching with reads of a byte", 0, 2, 4, 2, false),
        ("partitioned on a queue pair's own queue", 0, 2, 2, 2, false),
        ("longest read without a plan of fetching", 0, 3, 9, 2, false),
        ("two destinations on a queue pair's own queue", 0, 4, 2, 2, false),
        ("no destination", 0, 4, 0, 2, false),
        ("threshold without a plan of fetching", 0, 6, 1, 2, false),
        ("shorter than its head", 0, 8, 1, 2, false),
        ("longer than what was posted", 0, 8, 17, 2, false),
        ("longer than any entry", 0, 10, 1, 2, false),
        ("ends in its destination", 0, 8, 3, 2, false),
        ("ends in a region", 0, 8, 14, 2, true),
        ("goes on after its last destination", 0, 8, 16, 2, true),
        ("position", 0, 12, 1, 2, false),
        ("rows_per_message", 1, 8, 0, 2, false),
        ("not the owner", 2, 0, 4, 2, false),
        ("no such queue pair", 2, 1, 1, 2, false),
        ("17 regions", 2, 4, 17, 2, false),
        ("a partition in a request that is not partitioned", 2, 6, 1, 2, false),
        ("a type too many", 3, 5, 1, 2, false),
        ("destination's reserved2", 3, 15, 1, 2, false),
        ("contiguous of 0 bytes", 4, 8, 0, 2, true),
        ("a key that is not the whole key", 4, 15, 0xff, 4, true),
        ("strided key", 5, 12, 14, 4, true),
        ("period 0", 6, 0, 0, 2, true),
        ("strided with a target", 6, 8, 1, 2, true),
        ("no elements", 6, 12, 0, 2, true),
        ("17 elements", 6, 12, 17, 2, true),
        ("a flag that there is not", 6, 15, 1, 2, true),
        ("strided with fetch rows", 6, 14, 1, 2, true),
        ("extent of 0 bytes", 7, 8, 0, 2, true),
        ("extent with a key", 8, 13, 1, 2, true),
        ("extent beyond", 8, 6, 1, 4, true),
        ("period beyond", 6, 7, 0xff, 4, true),
        ("bitmap's key", 9, 12, 14, 4, true),
        ("fetch rows without their flag", 10, 14, 0, 2, true),
        ("a flag beside that of fetch rows", 10, 14, 3, 2, true),
        ("fetch rows' key", 10, 8, 14, 4, true),
        ("fetch rows beyond", 10, 7, 0xff, 4, true),
        ("column of 0 bytes", 11, 8, 0, 2, true),
        ("column's key", 11, 12, 14, 4, true),
        ("column beyond", 11, 11, 0xff, 4, true),
        ("pointers' key", 12, 12, 14, 4, true),
        ("pointers beyond", 12, 11, 0xff, 4, true),
        ("pointer-mapped with a period", 13, 0, 1, 2, true),
        ("pointer-mapped with fetch rows", 13, 14, 1, 2, true),
        ("record's extent with a key", 14, 12, 1, 2, true),
    ];
    for (name, granule, byte, value, status, qp) in cases {
        let mut bytes = good.clone();
        bytes[granule * GRANULE + byte] = *value;
        // What follows in the batch is dropped, and so is a later batch.
        bytes.extend(good.clone());
        let later = batch(3, good.clone());
        let requests = compare(&mut world, &mut card, &[batch(3, bytes), later]);
        let results: Vec<_> = requests.iter().map(|r| (r.status, r.qp_error.is_some())).collect();
        // A second good entry is in the way of "longer than what was posted".
        if *name != "longer than what was posted" {
            assert_eq!(results, [(*status, *qp)], "{name}");
        }
        recover(&mut world, &mut card);
    }
    // An unknown target is for the sequencer to refuse, when a pointer leads there.
    let mut bytes = good.clone();
    bytes[13 * GRANULE + 11] ^= 0xff;
    assert_eq!(compare(&mut world, &mut card, &[batch(3, bytes)])[0].status, 0);
    // Shape comes before memory in one region, and a region's memory before the next one's shape.
    let mut bytes = good.clone();
    bytes[7 * GRANULE + 7] = 0x70;
    bytes[8 * GRANULE + 8] = 0;
    assert_eq!(compare(&mut world, &mut card, &[batch(3, bytes)])[0].status, 2);
    recover(&mut world, &mut card);
    let mut bytes = good.clone();
    bytes[8 * GRANULE + 7] = 0x70;
    bytes[10 * GRANULE] = 1;
    assert_eq!(compare(&mut world, &mut card, &[batch(3, bytes)])[0].status, 4);
    recover(&mut world, &mut card);
    // A queue pair in error.
    card.qp_errors.insert(3);
    world.set_qp_errors(&card.qp_errors);
    assert_eq!(compare(&mut world, &mut card, &[batch(3, good.clone())])[0].status, 5);
    recover(&mut world, &mut card);
    // A queue that `control` says is halted.
    let mut halted = [0; 8];
    halted[0] = 1 << 3;
    world.bench.set("queue_halted", drdma_verilated::Word::from_words(&halted));
    card.stopped.insert(3);
    let batches = [batch(3, good.clone()), batch(200, good)];
    assert_eq!(compare(&mut world, &mut card, &batches).len(), 1);
}

/// Three destinations that share a region of 9 rows with two columns: the region is granules 2 to
/// 5, and the destinations begin at 6, 8 and 10.
fn partitioned(card: &Card, period: u64, partitions: [u16; 3]) -> Vec<u8> {
    let (addr, lkey) = (card.regions[13].addr, card.regions[13].lkey);
    let mut bytes = vec![0; WqeHeader::SIZE];
    bytes.extend(RegionHeader { addr, count: 9, lkey }.to_bytes());
    bytes.extend(RegionShape { period, elements: 2, ..Default::default() }.to_bytes());
    for len in [4, 1] {
        bytes.extend(Element { offset: addr, len, lkey }.to_bytes());
    }
    for (qp, partition) in [3, 4, 6].into_iter().zip(partitions) {
        bytes.extend(Destination { qp, partition, ..Default::default() }.to_bytes());
    }
    let head = WqeHeader {
        magic: WQE_MAGIC,
        flags: flags::PARTITIONED,
        destinations: 3,
        granules: (bytes.len() / GRANULE) as u32,
        wr_id: 0x77,
        rows_per_message: 1,
        ..Default::default()
    };
    head.encode(&mut bytes);
    bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
    bytes
}

#[test]
fn every_malformed_partitioned_request_has_its_status() {
    let mut random = Random::new(9);
    let mut card = card(&mut random);
    let mut world = World::new(&library(), 9, &card);
    // What is wrong: granule, byte, value; status, destination, whether its queue pair fails.
    let cases: &[(&str, usize, usize, u8, u8, u8, bool)] = &[
        ("nothing", 0, 0, WQE_MAGIC, 0, 0, false),
        ("row mask Element, which is not wrong", 0, 2, 3, 0, 0, false),
        ("a flag too many", 0, 2, 6, 2, 0, false),
        ("no destination", 0, 4, 0, 2, 0, false),
        ("ends in its region", 0, 8, 5, 2, 0, false),
        ("ends in a destination", 0, 8, 9, 2, 1, false),
        ("goes on after its last destination", 0, 8, 13, 2, 2, true),
        ("ids' key", 2, 15, 0xff, 4, 0, false),
        ("ids beyond", 2, 7, 0x70, 4, 0, false),
        ("ids of no bytes", 3, 0, 0, 2, 0, false),
        ("ids of 3 bytes", 3, 0, 3, 2, 0, false),
        ("ids of far more bytes", 3, 7, 1, 2, 0, false),
        ("a target", 3, 8, 1, 2, 0, false),
        ("no columns", 3, 12, 0, 2, 0, false),
        ("17 columns", 3, 12, 17, 2, 0, false),
        ("a flag of the shape", 3, 15, 1, 2, 0, false),
        ("fetch rows", 3, 14, 1, 2, 0, false),
        ("column of 0 bytes", 4, 8, 0, 2, 0, false),
        ("column's key", 5, 12, 14, 4, 0, false),
        ("column beyond", 5, 7, 0x70, 4, 0, false),
        ("a destination with a region", 6, 4, 1, 2, 0, false),
        ("a destination with a type", 7, 4, 1, 2, 0, false),
        ("a partition that ids of one byte cannot name", 8, 7, 1, 2, 1, false),
        ("a partition twice", 10, 6, 5, 2, 2, false),
        ("a queue pair twice", 10, 0, 3, 2, 2, false),
        ("no such queue pair", 8, 1, 1, 2, 1, false),
        ("a queue pair that is not ready", 8, 0, 10, 2, 1, false),
    ];
    for (name, granule, byte, value, status, dest, qp) in cases {
        let mut bytes = partitioned(&card, 1, [5, 0, 255]);
        bytes[granule * GRANULE + byte] = *value;
        if *value == 13 {
            bytes.extend([0; BLOCK]);
        }
        // Another queue goes on, and its queue pair is one of those that were named.
        let batches = [batch(200, bytes), batch(3, all_kinds(&card))];
        let requests = compare(&mut world, &mut card, &batches);
        let failed = &requests[0];
        let found = (failed.status, failed.bad_dest, failed.qp_error.is_some());
        assert_eq!(found, (*status, *dest, *qp), "{name}");
        assert_eq!(requests[1].status, 0, "{name}");
        recover(&mut world, &mut card);
    }
    // Ids of two bytes; the memory that they take; partitions that differ in one byte.
    let good = partitioned(&card, 2, [0x105, 0x205, 0x100]);
    assert_eq!(compare(&mut world, &mut card, &[batch(200, good.clone())])[0].status, 0);
    for (width, beyond) in [(1, 9), (2, 18)] {
        for (room, status) in [(beyond, 0), (beyond - 1, 4)] {
            let mut bytes = partitioned(&card, width, [5, 0, 255]);
            let entry = &card.regions[13];
            let ids = (entry.addr + entry.len).wrapping_sub(room);
            bytes[2 * GRANULE..][..8].copy_from_slice(&ids.to_le_bytes());
            let requests = compare(&mut world, &mut card, &[batch(200, bytes)]);
            assert_eq!(requests[0].status, status, "{room} B for ids of {width} B");
            recover(&mut world, &mut card);
        }
    }
    // The region's memory comes before a destination, and its whole shape before its memory.
    let mut bytes = partitioned(&card, 1, [5, 5, 5]);
    bytes[2 * GRANULE + 15] = 0xff;
    assert_eq!(compare(&mut world, &mut card, &[batch(200, bytes.clone())])[0].status, 4);
    recover(&mut world, &mut card);
    bytes[5 * GRANULE + 8] = 0;
    assert_eq!(compare(&mut world, &mut card, &[batch(200, bytes)])[0].status, 2);
    recover(&mut world, &mut card);
    // A queue pair in error, and a region that could not be read.
    card.qp_errors.insert(4);
    world.set_qp_errors(&card.qp_errors);
    let flushed = compare(&mut world, &mut card, &[batch(200, good.clone())]).remove(0);
    assert_eq!((flushed.status, flushed.bad_dest, flushed.qp_error), (5, 1, None));
    recover(&mut world, &mut card);
    let unread = Batch { unread: HashSet::from([1]), ..batch(200, good.clone()) };
    let unread = compare(&mut world, &mut card, &[unread]).remove(0);
    assert_eq!((unread.status, unread.bad_dest, unread.qp_error), (2, 0, None));
    recover(&mut world, &mut card);
    // Not on a queue pair's own queue.
    let mut own = partitioned(&card, 1, [5, 0, 255]);
    own[4] = 1;
    let own = compare(&mut world, &mut card, &[batch(3, own)]).remove(0);
    assert_eq!((own.status, own.qp_error), (2, None));
    recover(&mut world, &mut card);
    // A queue that is halted.
    let mut halted = [0; 8];
    halted[200 / 32] = 1 << (200 % 32);
    world.bench.set("queue_halted", drdma_verilated::Word::from_words(&halted));
    card.stopped.insert(200);
    let batches = [batch(200, good), batch(3, all_kinds(&card))];
    assert_eq!(compare(&mut world, &mut card, &batches).len(), 1);
}

#[test]
fn a_partition_of_64_is_told_from_all_others() {
    let mut random = Random::new(11);
    let mut card = card(&mut random);
    for (qp, entry) in card.queue_pairs.iter_mut().enumerate() {
        (entry.state, entry.transport) = (1, (qp % 3) as u8);
    }
    let mut world = World::new(&library(), 11, &card);
    for twice in [None, Some(0), Some(31), Some(62)] {
        let mut bytes = partitioned(&card, 2, [0; 3])[..6 * GRANULE].to_vec();
        let mut partitions: Vec<u16> = (0..64).map(|k| k * 0x0301).collect();
        if let Some(place) = twice {
            partitions[63] = partitions[place];
        }
        for (qp, partition) in (0..).zip(partitions) {
            bytes.extend(Destination { qp, partition, ..Default::default() }.to_bytes());
        }
        let head = WqeHeader::decode(&bytes);
        let granules = (bytes.len() / GRANULE) as u32;
        WqeHeader { destinations: 64, granules, ..head }.encode(&mut bytes);
        bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
        let request = compare(&mut world, &mut card, &[batch(200, bytes)]).remove(0);
        let expected = if twice.is_some() { (2, 63, 0) } else { (0, 0, 64) };
        assert_eq!((request.status, request.bad_dest, request.dests.len()), expected);
        recover(&mut world, &mut card);
    }
}

#[test]
fn an_entry_is_valid_from_its_last_word_to_the_next_that_is_written() {
    let mut random = Random::new(12);
    let mut card = card(&mut random);
    let mut world = World::new(&library(), 12, &card);
    let good = all_kinds(&card);
    let status = |world: &mut World, card: &mut Card| {
        let status = compare(world, card, &[batch(3, good.clone())])[0].status;
        recover(world, card);
        status
    };
    // What the queue pairs' table has had of words so far: 16 an entry.
    let mut words = 16 * 256;
    assert_eq!(status(&mut world, &mut card), 0);
    assert_eq!(world.bench.get("dest_write_stamp"), 16 * 3 + 15);
    let queue_pair = card.queue_pairs[3];
    for word in 0..15 {
        let bytes = queue_pair.to_bytes();
        let data = u32::from_le_bytes(bytes[4 * word..][..4].try_into().expect("a word"));
        world.configure(0, 3, word as u64, data);
        card.queue_pairs[3].state = 0;
        assert_eq!(status(&mut world, &mut card), 2, "word {word}");
        card.queue_pairs[3] = queue_pair;
        world.configure(0, 3, 15, 1);
        words += 2;
        assert_eq!(status(&mut world, &mut card), 0, "word {word}");
        assert_eq!(world.bench.get("dest_write_stamp"), words - 1);
    }
    let region = card.regions[13];
    for word in 0..7 {
        let bytes = region.to_bytes();
        let data = u32::from_le_bytes(bytes[4 * word..][..4].try_into().expect("a word"));
        world.configure(1, 13, word as u64, data);
        card.regions[13].valid = 0;
        assert_eq!(status(&mut world, &mut card), 4, "word {word}");
        card.regions[13] = region;
        world.configure(1, 13, 7, 1);
        assert_eq!(status(&mut world, &mut card), 0, "word {word}");
    }
}

#[test]
fn the_largest_requests_fill_the_rings() {
    let mut random = Random::new(3);
    let mut card = card(&mut random);
    let mut world = World::new(&library(), 3, &card);
    world.release = 0.002;
    let style = Style { dests: 1, regions: 0, beyond: 0.0 };
    let mut batches = Vec::new();
    for round in 0..3 {
        let mut bytes = vec![0; 32];
        for dest in 0..64_u32 {
            let mut generator = Generator { card: &card, random: &mut random, style };
            let types = generator.random.u64() as u32;
            let qp = dest + dest / 10;
            bytes.extend(Destination { qp, regions: 16, types, ..Default::default() }.to_bytes());
            for index in 0..16 {
                let kind = RegionType::of(types, index);
                let mut granules = generator.region(kind);
                while kind != RegionType::Contiguous && granules.len() < 18 * GRANULE {
                    granules = generator.region(kind);
                }
                bytes.extend(granules);
            }
        }
        let head = WqeHeader {
            magic: WQE_MAGIC,
            destinations: 64,
            granules: (bytes.len() / GRANULE) as u32,
            wr_id: round,
            rows_per_message: 1,
            ..Default::default()
        };
        head.encode(&mut bytes);
        bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
        batches.push(batch(200, bytes));
    }
    let requests = compare(&mut world, &mut card, &batches);
    assert_eq!(
        requests.iter().map(|r| (r.status, r.dests.len())).collect::<Vec<_>>(),
        [(0, 64); 3]
    );
}

#[test]
fn small_requests_take_eight_cycles_and_large_ones_one_a_granule() {
    let mut random = Random::new(5);
    let mut card = card(&mut random);
    let mut world = World::new(&library(), 5, &card);
    world.release = 1.0;
    let (addr, lkey) = (card.regions[13].addr, card.regions[13].lkey);
    let region = RegionHeader { addr, count: 64, lkey }.to_bytes().to_vec();
    let small = entry(3, &[(RegionType::Contiguous, region.clone())]);
    let mut bytes = Vec::new();
    for index in 0..100 {
        let mut one = small.clone();
        one[12] = 2 * index;
        bytes.extend(one);
    }
    compare(&mut world, &mut card, &[batch(3, bytes)]);
    let times = world.bench.received_at(world.request).to_vec();
    let gaps: HashSet<_> = times.windows(2).map(|w| w[1] - w[0]).collect();
    assert_eq!(gaps, HashSet::from([8]), "cycles from request to request");
    let first_block = world.bench.sent_at(world.wqe)[0];
    let opened = world.bench.received_at(world.open)[0];
    assert_eq!(opened - first_block, 6, "cycles from the first block to the opening");
    assert_eq!(times[0] - first_block, 9, "cycles from the first block to the request");

    // 16 regions: head 2, destination 2, regions 16.
    let large = entry(3, &vec![(RegionType::Contiguous, region); 16]);
    let mut bytes = Vec::new();
    for index in 0..40 {
        let mut one = large.clone();
        one[12] = 5 * index;
        bytes.extend(one);
    }
    compare(&mut world, &mut card, &[batch(3, bytes)]);
    let times = &world.bench.received_at(world.request)[100..];
    let gaps: HashSet<_> = times.windows(2).map(|w| w[1] - w[0]).collect();
    assert_eq!(gaps, HashSet::from([22]), "cycles for 20 granules");

    // 16 pointer-mapped regions of one extent: three cycles more for each.
    let pointers = [
        RegionHeader { addr, count: 1, lkey }.to_bytes(),
        RegionShape { target_lkey: lkey, elements: 1, ..Default::default() }.to_bytes(),
        Element { len: 8, ..Default::default() }.to_bytes(),
    ];
    let large = entry(3, &vec![(RegionType::PointerMapped, pointers.concat()); 16]);
    let mut bytes = Vec::new();
    for index in 0..10 {
        let mut one = large.clone();
        one[12] = 13 * index;
        bytes.extend(one);
    }
    compare(&mut world, &mut card, &[batch(3, bytes)]);
    let times = &world.bench.received_at(world.request)[140..];
    let gaps: HashSet<_> = times.windows(2).map(|w| w[1] - w[0]).collect();
    assert_eq!(gaps, HashSet::from([52 + 3 * 16 + 2]), "cycles for 52 granules");
}
