//! Entries of a queue pair's own queue that are wrong in one place.

use super::generate::card;
use super::world::{World, library};
use super::{all_kinds, batch, compare, entry, recover};
use drdma_abi::work_request::{
    BLOCK, Destination, Element, GRANULE, RegionHeader, RegionShape, RegionType, WQE_MAGIC,
    WqeHeader, flags, shape_flags,
};
use drdma_verilated::testbench::Random;

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

#[test]
fn a_payload_in_the_entry_has_its_length_and_no_regions() {
    let mut random = Random::new(9);
    let mut card = card(&mut random);
    let mut world = World::new(&library(), 9, &card);
    let good = |bytes: u8| {
        let destination = Destination { qp: 3, inline_bytes: bytes, ..Default::default() };
        let head = WqeHeader {
            magic: WQE_MAGIC,
            flags: flags::INLINE,
            destinations: 1,
            granules: 4 + u32::from(bytes).div_ceil(16),
            rows_per_message: 1,
            ..Default::default()
        };
        let mut entry = [head.to_bytes(), destination.to_bytes()].concat();
        entry.extend(0..bytes);
        entry.resize(entry.len().next_multiple_of(BLOCK), 0xee);
        entry
    };
    for bytes in [0, 1, 15, 16, 17, 48, 49, 63, 64] {
        let requests = compare(&mut world, &mut card, &[batch(3, good(bytes))]);
        assert_eq!(requests[0].status, 0, "{bytes} B");
        assert_eq!(requests[0].dests[0].sets[0].inline, Some((0..bytes).collect()));
        assert_eq!(requests[0].dests[0].empty, bytes == 0);
    }
    // Each case: the fault; bytes; granule, byte, value; whether the queue pair goes to error.
    let cases: &[(&str, u8, usize, usize, u8, bool)] = &[
        ("no byte, and yet a granule of them", 8, 3, 8, 0, true),
        ("no byte, and a region", 0, 2, 4, 1, false),
        ("goes on after no byte", 0, 0, 8, 5, true),
        ("ends before its destination does", 0, 0, 8, 3, false),
        ("65 bytes", 64, 3, 8, 65, false),
        ("more than 7 bits of them", 8, 3, 8, 129, false),
        ("a region", 8, 2, 4, 1, false),
        ("a type", 8, 3, 4, 1, false),
        ("destination's reserved2", 8, 3, 9, 1, false),
        ("partitioned as well", 8, 0, 2, 18, false),
        ("ends before its payload", 8, 0, 8, 4, true),
        ("ends in its payload", 64, 0, 8, 7, true),
        ("goes on after its payload", 8, 0, 8, 6, true),
        ("goes on after its longest payload", 64, 0, 8, 9, true),
    ];
    for (name, bytes, granule, byte, value, qp) in cases {
        let mut entry = good(*bytes);
        entry[granule * GRANULE + byte] = *value;
        entry.extend(good(64));
        let requests = compare(&mut world, &mut card, &[batch(3, entry), batch(3, good(1))]);
        let results: Vec<_> = requests.iter().map(|r| (r.status, r.qp_error.is_some())).collect();
        assert_eq!(results, [(2, *qp)], "{name}");
        recover(&mut world, &mut card);
    }
    // A block that cannot be read fails its request, but no queue pair.
    let mut unread = batch(3, good(8));
    unread.unread.insert(1);
    let requests = compare(&mut world, &mut card, &[unread]);
    assert_eq!((requests[0].status, requests[0].qp_error), (2, None));
    recover(&mut world, &mut card);
    // A shared queue takes no such entry.
    let requests = compare(&mut world, &mut card, &[batch(200, good(8))]);
    assert_eq!((requests[0].status, requests[0].qp_error), (2, None));
    recover(&mut world, &mut card);
}

#[test]
fn every_malformed_kind_has_its_status() {
    let mut random = Random::new(7);
    let mut card = card(&mut random);
    let good = all_kinds(&card);
    let mut world = World::new(&library(), 7, &card);
    let requests = compare(&mut world, &mut card, &[batch(3, good.clone())]);
    assert_eq!(requests[0].status, 0);

    // Each case: the fault; granule, byte, value; status; whether the queue pair goes to error.
    let cases: &[(&str, usize, usize, u8, u8, bool)] = &[
        ("magic", 0, 0, 0xd6, 2, false),
        ("opcode", 0, 1, 4, 2, false),
        ("flags", 0, 2, 32, 2, false),
        ("a payload in the entry and regions", 0, 2, 16, 2, false),
        ("bytes of a payload where there is none", 3, 8, 1, 2, false),
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
        // Further entries of the batch are dropped, and so is a later batch.
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
    // The queue pair is in error.
    card.qp_errors.insert(3);
    world.set_qp_errors(&card.qp_errors);
    assert_eq!(compare(&mut world, &mut card, &[batch(3, good.clone())])[0].status, 5);
    recover(&mut world, &mut card);
    // A queue that `control` reports as halted.
    world.halted.borrow_mut().insert(3);
    card.stopped.insert(3);
    let batches = [batch(3, good.clone()), batch(200, good)];
    assert_eq!(compare(&mut world, &mut card, &batches).len(), 1);
}
