//! WRITEs by columns and other messages by columns, good and wrong.

use super::generate::card;
use super::reference::Card;
use super::world::{World, library};
use super::{all_kinds, batch, compare, recover};
use drdma_abi::Layout;
use drdma_abi::work_request::{
    BLOCK, Destination, Element, GRANULE, MessageLayout, Opcode, RegionHeader, RegionShape,
    RemoteColumn, WQE_MAGIC, WqeHeader, flags,
};
use drdma_verilated::testbench::Random;

/// `destinations` destinations of a strided region of 9 rows with two extents, in two messages by columns. The first
/// one's head begins at granule 2, its remote addresses at 4, its region at 6, and the second one at 10.
fn by_columns(card: &Card, destinations: u16) -> Vec<u8> {
    let (addr, lkey) = (card.regions[13].addr, card.regions[13].lkey);
    let mut bytes = vec![0; WqeHeader::SIZE];
    for qp in (0..).filter(|qp| qp % 3 != 2 && qp % 11 != 10).take(destinations.into()) {
        let head = Destination {
            qp,
            regions: 1,
            types: 1,
            message_layout: MessageLayout::Columns as u8,
            remote_columns: 2,
            ..Default::default()
        };
        bytes.extend(head.to_bytes());
        for addr in [7, 8] {
            bytes.extend(RemoteColumn { addr, rkey: 9, reserved: 0 }.to_bytes());
        }
        bytes.extend(RegionHeader { addr, count: 9, lkey }.to_bytes());
        bytes.extend(RegionShape { period: 8, elements: 2, ..Default::default() }.to_bytes());
        for (offset, len) in [(0, 4), (4, 1)] {
            bytes.extend(Element { offset, len, lkey: 0 }.to_bytes());
        }
    }
    let head = WqeHeader {
        magic: WQE_MAGIC,
        opcode: Opcode::Write as u8,
        destinations,
        granules: (bytes.len() / GRANULE) as u32,
        wr_id: 0x77,
        rows_per_message: 9,
        ..Default::default()
    };
    head.encode(&mut bytes);
    bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
    bytes
}

#[test]
fn every_malformed_write_by_columns_has_its_status() {
    let mut random = Random::new(9);
    let mut card = card(&mut random);
    let mut world = World::new(&library(), 9, &card);
    // Each case: the fault; granule, byte, value; status, destination, whether its queue pair fails.
    let cases: &[(&str, usize, usize, u8, u8, u8, bool)] = &[
        ("nothing", 0, 0, WQE_MAGIC, 0, 0, false),
        ("immediate data, which is not wrong", 0, 1, Opcode::WriteImm as u8, 0, 0, false),
        ("a SEND", 0, 1, Opcode::Send as u8, 2, 0, false),
        ("row mask Element", 0, 2, flags::ELEMENT_MASK, 2, 0, false),
        ("more rows than go in a message", 1, 8, 8, 2, 0, true),
        ("messages by rows", 3, 9, 0, 2, 0, false),
        ("a layout that there is not", 3, 9, 2, 2, 0, false),
        ("no remote addresses, and no region behind", 3, 10, 0, 2, 0, true),
        ("17 remote addresses", 3, 10, 17, 2, 0, false),
        ("a reserved byte of the head", 3, 11, 1, 2, 0, false),
        ("a reserved byte of an address", 5, 12, 1, 2, 0, false),
        ("ends in the addresses", 0, 8, 5, 2, 0, false),
        ("ends before the region", 0, 8, 6, 2, 0, true),
        ("no region", 2, 4, 0, 2, 0, false),
        ("two regions", 2, 4, 2, 2, 0, false),
        ("a contiguous region", 3, 4, 0, 2, 0, true),
        ("a pointer-mapped region", 3, 4, 3, 2, 0, true),
        ("three elements", 7, 12, 3, 2, 0, true),
        ("one element", 7, 12, 1, 2, 0, true),
        ("an extent of no bytes", 9, 8, 0, 2, 0, true),
        ("an extent beyond", 9, 7, 0x70, 4, 0, true),
        ("another number of addresses", 11, 10, 1, 2, 1, false),
        ("another layout", 11, 9, 0, 2, 1, false),
        ("the other's region beyond", 17, 7, 0x70, 4, 1, true),
        ("a queue pair that is not ready", 10, 0, 10, 2, 1, false),
        ("a queue pair twice", 10, 0, 0, 2, 1, false),
    ];
    for (name, granule, byte, value, status, dest, qp) in cases {
        let mut bytes = by_columns(&card, 2);
        bytes[granule * GRANULE + byte] = *value;
        // Another queue goes on, and its queue pair is one of those that were named.
        let batches = [batch(200, bytes), batch(3, all_kinds(&card))];
        let requests = compare(&mut world, &mut card, &batches);
        let failed = &requests[0];
        let found = (failed.status, failed.bad_dest, failed.qp_error.is_some());
        assert_eq!(found, (*status, *dest, *qp), "{name}");
        assert_eq!(requests[1].status, 0, "{name}");
        recover(&mut world, &mut card);
    }
    // The queue pair is in error; wrong addresses take precedence over that.
    card.qp_errors.insert(1);
    for (reserved, status) in [(0, 5), (1, 2)] {
        world.set_qp_errors(&card.qp_errors);
        let mut bytes = by_columns(&card, 2);
        bytes[13 * GRANULE + 12] = reserved;
        let requests = compare(&mut world, &mut card, &[batch(200, bytes)]);
        assert_eq!((requests[0].status, requests[0].bad_dest), (status, 1));
        let errors = card.qp_errors.clone();
        recover(&mut world, &mut card);
        card.qp_errors = errors;
    }
    card.qp_errors.clear();
    world.set_qp_errors(&card.qp_errors);
    // Two addresses for each of 256 queue pairs would be all that there may be; there are not as many of them here.
    let most = by_columns(&card, 150);
    assert_eq!(compare(&mut world, &mut card, &[batch(200, most)])[0].status, 0);
}

/// Two destinations of a strided region of 9 rows with two extents; the second one's messages go by columns. Their
/// heads begin at granules 2 and 8, their regions at 4 and 10.
fn messages(card: &Card) -> Vec<u8> {
    let (addr, lkey) = (card.regions[13].addr, card.regions[13].lkey);
    let mut bytes = vec![0; WqeHeader::SIZE];
    for (qp, message_layout) in [(0, 0), (1, 1)] {
        bytes.extend(
            Destination { qp, regions: 1, types: 1, message_layout, ..Default::default() }
                .to_bytes(),
        );
        bytes.extend(RegionHeader { addr, count: 9, lkey }.to_bytes());
        bytes.extend(RegionShape { period: 8, elements: 2, ..Default::default() }.to_bytes());
        for (offset, len) in [(0, 4), (4, 1)] {
            bytes.extend(Element { offset, len, lkey: 0 }.to_bytes());
        }
    }
    let head = WqeHeader {
        magic: WQE_MAGIC,
        opcode: Opcode::Send as u8,
        destinations: 2,
        granules: (bytes.len() / GRANULE) as u32,
        wr_id: 0x78,
        rows_per_message: 4,
        ..Default::default()
    };
    head.encode(&mut bytes);
    bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
    bytes
}

#[test]
fn messages_by_columns_go_to_one_address_each() {
    let mut random = Random::new(10);
    let mut card = card(&mut random);
    let mut world = World::new(&library(), 10, &card);
    // What differs; granule, byte, value; status, destination; which messages go by columns.
    type Case = (&'static str, usize, usize, u8, u8, u8, [bool; 2]);
    let cases: &[Case] = &[
        ("nothing", 0, 0, WQE_MAGIC, 0, 0, [false, true]),
        ("a WRITE", 0, 1, Opcode::Write as u8, 0, 0, [false, true]),
        ("row mask Element", 0, 2, flags::ELEMENT_MASK, 0, 0, [false, true]),
        ("both by columns", 3, 9, 1, 0, 0, [true, true]),
        ("both by rows", 9, 9, 0, 0, 0, [false, false]),
        ("a layout that there is not", 9, 9, 2, 2, 1, [false, false]),
        ("a remote address, which is not a SEND's", 9, 10, 1, 2, 1, [false, false]),
    ];
    for (name, granule, byte, value, status, dest, layouts) in cases {
        let mut bytes = messages(&card);
        bytes[granule * GRANULE + byte] = *value;
        let batches = [batch(200, bytes), batch(3, all_kinds(&card))];
        let requests = compare(&mut world, &mut card, &batches);
        assert_eq!((requests[0].status, requests[0].bad_dest), (*status, *dest), "{name}");
        let found: Vec<_> = requests[0].dests.iter().map(|dest| dest.column_order).collect();
        if *status == 0 {
            assert_eq!(found, layouts, "{name}");
        }
        assert_eq!(requests[1].status, 0, "{name}");
        recover(&mut world, &mut card);
    }
}
