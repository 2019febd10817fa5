//! Partitioned requests, good and wrong.

use super::generate::card;
use super::reference::{Batch, Card};
use super::world::{World, library};
use super::{all_kinds, batch, compare, recover};
use drdma_abi::Layout;
use drdma_abi::work_request::{
    BLOCK, Destination, Element, GRANULE, RegionHeader, RegionShape, WQE_MAGIC, WqeHeader, flags,
};
use drdma_verilated::testbench::Random;
use std::collections::HashSet;

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
    // Each case: the fault; granule, byte, value; status, destination, whether its queue pair fails.
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
    // A queue pair's own queue takes no partitioned request.
    let mut own = partitioned(&card, 1, [5, 0, 255]);
    own[4] = 1;
    let own = compare(&mut world, &mut card, &[batch(3, own)]).remove(0);
    assert_eq!((own.status, own.qp_error), (2, None));
    recover(&mut world, &mut card);
    // A queue that is halted.
    world.halted.borrow_mut().insert(200);
    card.stopped.insert(200);
    let batches = [batch(200, good), batch(3, all_kinds(&card))];
    assert_eq!(compare(&mut world, &mut card, &batches).len(), 1);
}

#[test]
fn a_partition_of_256_is_told_from_all_others() {
    let mut random = Random::new(11);
    let mut card = card(&mut random);
    for (qp, entry) in card.queue_pairs.iter_mut().enumerate() {
        (entry.state, entry.transport) = (1, (qp % 3) as u8);
    }
    let mut world = World::new(&library(), 11, &card);
    for twice in [None, Some(0), Some(130), Some(254)] {
        let mut bytes = partitioned(&card, 2, [0; 3])[..6 * GRANULE].to_vec();
        let mut partitions: Vec<u16> = (0..256).map(|k| k * 0x00e1).collect();
        if let Some(place) = twice {
            partitions[255] = partitions[place];
        }
        for (qp, partition) in (0..).zip(partitions) {
            bytes.extend(Destination { qp, partition, ..Default::default() }.to_bytes());
        }
        let head = WqeHeader::decode(&bytes);
        let granules = (bytes.len() / GRANULE) as u32;
        WqeHeader { destinations: 256, granules, ..head }.encode(&mut bytes);
        bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
        let request = compare(&mut world, &mut card, &[batch(200, bytes)]).remove(0);
        let expected = if twice.is_some() { (2, 255, 0) } else { (0, 0, 256) };
        assert_eq!((request.status, request.bad_dest, request.dests.len()), expected);
        recover(&mut world, &mut card);
    }
}
