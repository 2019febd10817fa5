//! The decoder against plain Rust.

mod addresses;
mod asks;
mod by_columns;
mod functions;
mod generate;
mod kinds;
mod malformed;
mod partitioned;
mod parts;
mod rates;
mod reference;
mod world;

use drdma_abi::Layout;
use drdma_abi::register::QUEUE_PAIRS;
use drdma_abi::work_request::{
    BLOCK, Destination, Element, GRANULE, RegionHeader, RegionShape, RegionType, WQE_MAGIC,
    WqeHeader, shape_flags,
};
use drdma_verilated::testbench::{Random, STALLS};
use generate::{Generator, SHARED, Style, card};
use reference::{Batch, Card, Part, Request};
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
        // Own queues whose queue pair is ready and theirs, and shared ones.
        if queue >= SHARED || (queue % 11 != 10 && queue % 50 != 49) {
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
        for _ in 0..320 {
            let queue = queue(&mut random);
            let mut generator = Generator { card: &card, random: &mut random, style: SMALL };
            batches.push(generator.batch(queue, 4));
        }
        let requests = compare(&mut world, &mut card, &batches);
        assert!(requests.iter().all(|r| r.status == 0), "all are valid");
        assert!(requests.len() > 200);
        let inline = requests.iter().flat_map(|r| &r.dests).flat_map(|d| &d.sets);
        let inline = inline.filter(|set| set.inline.is_some()).count();
        assert!(inline > 5, "{inline} payloads in the entry");
        let addressed = requests.iter().filter(|request| request.address.is_some());
        let (within, beside): (Vec<_>, Vec<_>) =
            addressed.partition(|r| r.dests[0].sets.iter().any(|set| set.inline.is_some()));
        let found = (within.len(), beside.len());
        assert!(found.0 > 1 && found.1 > 10, "{found:?} addresses, with payloads and without");
        let dests: Vec<_> = requests.iter().flat_map(|request| &request.dests).collect();
        type Is = fn(&reference::Dest) -> bool;
        for is in [(|d| d.solicited) as Is, |d| d.invalidates, |d| d.fenced] {
            assert!(dests.iter().filter(|dest| is(dest)).count() > 2);
        }
        let in_order = dests.iter().filter(|dest| dest.column_order).count();
        assert!(in_order > 10, "{in_order} destinations whose messages go by columns");
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
        let made = requests.iter().filter_map(|r| r.function.as_ref());
        let (ranges, hashes): (Vec<_>, Vec<_>) = made.partition(|by| by.range);
        assert!(ranges.len() > 1 && hashes.len() > 1, "some of them with ids that are made");
        let others = requests.iter().flat_map(|r| r.dests.iter().skip(1));
        let (same, differ): (Vec<_>, Vec<_>) = others.partition(|d| d.same_lanes);
        println!("seed {seed}: {} have the same lanes, {} not", same.len(), differ.len());
        assert!(same.len() > 10 && differ.len() > 10, "some are like the first, some are not");
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

/// Some entries of the tables are of a domain that differs in one bit.
#[test]
fn what_is_of_another_protection_domain_fails_as_in_the_reference() {
    let library = library();
    for seed in 1..4 {
        let mut random = Random::new(seed);
        let mut card = card(&mut random);
        let mut move_some = |pd: &mut u32, share| {
            if random.chance(share) {
                *pd ^= 1 << random.below(32);
            }
        };
        card.regions.iter_mut().for_each(|entry| move_some(&mut entry.pd, 0.02));
        card.queue_pairs.iter_mut().for_each(|entry| move_some(&mut entry.pd, 0.02));
        card.queues.iter_mut().for_each(|entry| move_some(&mut entry.pd, 0.05));
        let mut world = World::new(&library, seed, &card);
        world.bench.stall(STALLS[seed as usize]);
        let mut statuses = [0; 6];
        for _ in 0..90 {
            let mut batches = Vec::new();
            for _ in 0..6 {
                let queue = queue(&mut random);
                let mut generator = Generator { card: &card, random: &mut random, style: SMALL };
                batches.push(generator.batch(queue, 3));
            }
            let requests = compare(&mut world, &mut card, &batches);
            requests.iter().for_each(|request| statuses[usize::from(request.status)] += 1);
            recover(&mut world, &mut card);
        }
        let [good, _, operation, _, protection, _] = statuses;
        assert!(good > 100 && operation > 20 && protection > 50, "{statuses:?}");
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

/// An entry of one queue pair, with these regions.
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

pub(super) fn batch(queue: u8, bytes: Vec<u8>) -> Batch {
    Batch { queue, position: 0, bytes, unread: HashSet::new(), part: Part::default() }
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

/// A strided region of 5 periods of 100 bytes, with 4-byte extents at these offsets.
fn strided(card: &Card, offsets: &[u64]) -> Vec<u8> {
    periods(card, 0, (5, 100), offsets, 4)
}

/// A strided region that begins `from` bytes behind the memory region's start, with periods of a number and length, and
/// extents of one length at these offsets.
fn periods(
    card: &Card,
    from: u64,
    (count, period): (u32, u64),
    offsets: &[u64],
    len: u32,
) -> Vec<u8> {
    let (addr, lkey) = (card.regions[13].addr + from, card.regions[13].lkey);
    let elements = offsets.len() as u16;
    let mut bytes = RegionHeader { addr, count, lkey }.to_bytes().to_vec();
    bytes.extend(RegionShape { period, elements, ..Default::default() }.to_bytes());
    for &offset in offsets {
        bytes.extend(Element { offset, len, lkey: 0 }.to_bytes());
    }
    bytes
}

/// An entry for destinations of one strided region each.
fn shared_entry(regions: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = vec![0; 32];
    for (qp, region) in (0..).zip(regions) {
        let types = RegionType::Strided as u32;
        let head = Destination { qp, regions: 1, types, ..Default::default() };
        bytes.extend(head.to_bytes());
        bytes.extend(region);
    }
    let head = WqeHeader {
        magic: WQE_MAGIC,
        destinations: regions.len() as u16,
        granules: (bytes.len() / GRANULE) as u32,
        rows_per_message: 1,
        ..Default::default()
    };
    head.encode(&mut bytes);
    bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
    bytes
}

#[test]
fn a_lane_more_or_less_makes_a_destination_differ() {
    let mut random = Random::new(9);
    let mut card = card(&mut random);
    let mut world = World::new(&library(), 9, &card);
    let lanes: [&[u64]; 3] = [&[0, 8], &[0, 8, 16], &[0]];
    // Lanes that were kept of an earlier entry must not be taken for the first destination's.
    let entries = [[1, 0, 1], [0, 1, 2], [2, 0, 2], [1, 1, 0]];
    for (which, expected) in entries.into_iter().zip([[1, 0, 1], [1, 0, 0], [1, 0, 1], [1, 1, 0]]) {
        let bytes = shared_entry(&which.map(|k| strided(&card, lanes[k])));
        let requests = compare(&mut world, &mut card, &[batch(200, bytes)]);
        let found: Vec<_> = requests[0].dests.iter().map(|d| u8::from(d.same_lanes)).collect();
        assert_eq!(found, expected, "lanes {which:?}");
    }
}

#[test]
fn destinations_are_apart_if_each_ones_lanes_lie_behind_the_rows_of_the_one_before() {
    let mut random = Random::new(10);
    let mut card = card(&mut random);
    let mut world = World::new(&library(), 10, &card);
    let ten = (10, 10);
    let two = |from, form, len| periods(&card, from, form, &[0, 5], len);
    let one = |from, form, len| periods(&card, from, form, &[0], len);
    let entries = [
        // The ranges lie one behind the other, also with other numbers of rows, and alone.
        (vec![two(0, ten, 4), two(100, (2, 10), 4), two(120, ten, 4)], true),
        (vec![two(0, (255, 1), 3), two(255, (100, 1), 3)], true),
        (vec![one(0, ten, 127)], true),
        (vec![one(0, (1, 255), 4), one(255, (1, 255), 4)], true),
        // The ranges overlap by a byte; they are in the other order; they are the same.
        (vec![two(0, ten, 4), two(99, ten, 4), two(200, ten, 4)], false),
        (vec![two(0, ten, 4), two(100, ten, 4), two(199, ten, 4)], false),
        (vec![two(100, ten, 4), two(0, ten, 4)], false),
        (vec![two(0, ten, 4), two(0, ten, 4)], false),
        // The rows have another form, or lanes of different lengths.
        (vec![two(0, ten, 4), two(100, (10, 11), 4)], false),
        (vec![two(0, ten, 4), two(100, ten, 3)], false),
        (vec![two(0, ten, 4), one(100, ten, 4)], false),
        (vec![one(0, ten, 4), two(100, ten, 4)], false),
        (vec![one(0, (1, 256), 4), one(256, (1, 256), 4)], false),
        (vec![one(0, (1, 200), 128), one(200, (1, 200), 128)], false),
    ];
    for (regions, apart) in entries {
        let requests = compare(&mut world, &mut card, &[batch(200, shared_entry(&regions))]);
        assert_eq!((requests[0].status, requests[0].apart), (0, apart), "{regions:?}");
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
    // Words that the queue pairs' table has had so far: one for each entry that cleared it, and 16.
    let mut words = u64::from(17 * QUEUE_PAIRS.entries);
    assert_eq!(status(&mut world, &mut card), 0);
    assert_eq!(world.bench.get("dest_write_stamp"), u64::from(QUEUE_PAIRS.entries) + 16 * 3 + 15);
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
