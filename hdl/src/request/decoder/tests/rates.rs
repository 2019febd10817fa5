//! The largest requests, and the cycles that requests take.

use super::generate::{Generator, Style, card};
use super::reference::Card;
use super::world::{World, library};
use super::{batch, compare, entry, recover};
use drdma_abi::Layout;
use drdma_abi::work_request::{
    BLOCK, Destination, Element, GRANULE, RegionHeader, RegionShape, RegionType, WQE_MAGIC,
    WqeHeader,
};
use drdma_verilated::testbench::Random;
use std::collections::HashSet;

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

/// A request of destinations with these numbers of contiguous regions.
fn contiguous(card: &Card, random: &mut Random, regions: &[u16]) -> Vec<u8> {
    let mut bytes = vec![0; 32];
    for (qp, regions) in (0..).zip(regions) {
        bytes.extend(Destination { qp, regions: *regions, ..Default::default() }.to_bytes());
        let style = Style { dests: 1, regions: 0, beyond: 0.0 };
        let mut generator = Generator { card, random, style };
        bytes.extend((0..*regions).flat_map(|_| generator.region(RegionType::Contiguous)));
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
fn a_request_has_at_most_256_destinations_and_1024_regions() {
    let mut random = Random::new(17);
    let mut card = card(&mut random);
    for entry in &mut card.queue_pairs {
        (entry.state, entry.transport) = (1, 0);
    }
    card.qp_errors.clear();
    let mut world = World::new(&library(), 17, &card);
    let over = [[16; 64].as_slice(), &[0, 1]].concat();
    for (regions, expected) in [
        ([4; 256].as_slice(), (0, 0, 256)),
        ([16; 64].as_slice(), (0, 0, 64)),
        (over.as_slice(), (2, 65, 0)),
        ([1; 256].as_slice(), (0, 0, 256)),
        ([0; 257].as_slice(), (2, 0, 0)),
    ] {
        let bytes = contiguous(&card, &mut random, regions);
        let request = compare(&mut world, &mut card, &[batch(200, bytes)]).remove(0);
        assert_eq!((request.status, request.bad_dest, request.dests.len()), expected);
        recover(&mut world, &mut card);
    }
}

#[test]
fn small_requests_take_four_cycles_and_large_ones_one_a_granule() {
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
    assert_eq!(gaps, HashSet::from([4]), "cycles from request to request");
    let first_block = world.bench.sent_at(world.wqe)[0];
    let opened = world.bench.received_at(world.open)[0];
    assert_eq!(opened - first_block, 4, "cycles from the first block to the opening");
    assert_eq!(times[0] - first_block, 7, "cycles from the first block to the request");

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
    assert_eq!(gaps, HashSet::from([20]), "cycles for 20 granules");

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
    assert_eq!(gaps, HashSet::from([52 + 3 * 16 + 1]), "cycles for 52 granules");
}
