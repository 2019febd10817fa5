//! Requests that say where their datagrams go, that make a key invalid, or ask for solicited events.

use super::generate::card;
use super::reference::Request;
use super::world::{World, library};
use super::{batch, compare, recover};
use drdma_abi::Layout;
use drdma_abi::receive::{AddressHandle, ReliableOpcode, request_flags};
use drdma_abi::roce::TTL;
use drdma_abi::work_request::{
    BLOCK, Destination, GRANULE, RegionHeader, WQE_MAGIC, WqeHeader, flags,
};
use drdma_verilated::testbench::Random;

/// Queues of queue pairs of these transports, and a shared one.
const RC: u8 = 3;
const UC: u8 = 4;
const UD: u8 = 5;
const SHARED: u8 = 200;

const HANDLE: AddressHandle = AddressHandle {
    dest_mac: 0x0200_0000_0ab1,
    tos: 0x67,
    ttl: 9,
    dest_ip: 0x0a00_00f7,
    dest_qpn: 0xff_fffe,
    qkey: 0x8765_4321,
    reserved: 0,
    reserved2: 0,
};

/// Contents of an entry.
#[derive(Clone)]
struct Entry {
    opcode: u8,
    flags: u8,
    qp: u8,
    address: Vec<u8>,
    payload: Vec<u8>,
    regions: Vec<RegionHeader>,
}

impl Entry {
    fn bytes(&self) -> Vec<u8> {
        let destination = Destination {
            qp: self.qp.into(),
            regions: self.regions.len() as u16,
            inline_bytes: self.payload.len() as u8,
            ..Default::default()
        };
        let mut bytes = vec![0; WqeHeader::SIZE];
        bytes.extend(&self.address);
        bytes.extend(destination.to_bytes());
        bytes.extend(self.regions.iter().flat_map(|region| region.to_bytes()));
        bytes.extend(&self.payload);
        let head = WqeHeader {
            magic: WQE_MAGIC,
            opcode: self.opcode,
            flags: self.flags,
            destinations: 1,
            granules: bytes.len().div_ceil(GRANULE) as u32,
            rows_per_message: 1,
            imm: 0x1234_5678,
            wr_id: 77,
            ..Default::default()
        };
        head.encode(&mut bytes);
        bytes.resize(bytes.len().next_multiple_of(BLOCK), 0xee);
        bytes
    }
}

/// Posts an entry and a good one behind it, compares both with the reference, and gives the first one's request.
fn post(world: &mut World, card: &mut super::Card, queue: u8, bytes: Vec<u8>) -> Request {
    let good = Entry { qp: 7, ..plain() }.bytes();
    let requests = compare(world, card, &[batch(queue, bytes), batch(7, good)]);
    assert_eq!((requests.len(), requests[1].status), (2, 0), "the other queue goes on");
    recover(world, card);
    requests[0].clone()
}

/// A SEND of no regions.
fn plain() -> Entry {
    Entry { opcode: 0, flags: 0, qp: UD, address: vec![], payload: vec![], regions: vec![] }
}

/// A datagram with an address.
fn addressed() -> Entry {
    Entry { flags: request_flags::ADDRESS, address: HANDLE.to_bytes().to_vec(), ..plain() }
}

#[test]
fn an_address_is_told_as_it_stands_in_the_entry() {
    let mut random = Random::new(20);
    let mut card = card(&mut random);
    let mut world = World::new(&library(), 20, &card);
    let memory = card.regions[1];
    let region = RegionHeader { addr: memory.addr, count: 40, lkey: memory.lkey };
    for count in [0, 1, 2, 16] {
        let entry = Entry { regions: vec![region; count], ..addressed() };
        let request = post(&mut world, &mut card, UD, entry.bytes());
        assert_eq!((request.status, request.address), (0, Some(HANDLE)), "{count} regions");
        assert_eq!(request.dests[0].sets.len(), count);
    }
    let short = AddressHandle { ttl: 0, ..HANDLE };
    let entry = Entry { address: short.to_bytes().to_vec(), ..addressed() };
    let request = post(&mut world, &mut card, UD, entry.bytes());
    assert_eq!(request.address, Some(AddressHandle { ttl: TTL, ..HANDLE }));
    // The next request of that slot has no address.
    for _ in 0..300 {
        assert_eq!(post(&mut world, &mut card, UD, plain().bytes()).address, None);
    }
}

#[test]
fn a_payload_behind_an_address_begins_in_the_middle_of_a_block() {
    let mut random = Random::new(21);
    let mut card = card(&mut random);
    let mut world = World::new(&library(), 21, &card);
    let inline = |bytes: u8| Entry {
        flags: request_flags::ADDRESS | flags::INLINE,
        payload: (0..bytes).collect(),
        ..addressed()
    };
    for bytes in [0, 1, 16, 17, 32, 33, 48, 49, 63, 64] {
        let request = post(&mut world, &mut card, UD, inline(bytes).bytes());
        assert_eq!((request.status, request.address), (0, Some(HANDLE)), "{bytes} B");
        assert_eq!(request.dests[0].sets[0].inline, Some((0..bytes).collect()));
    }
    // Each case: the fault; bytes; granule, byte, value; whether the queue pair goes to error.
    let cases: &[(&str, u8, usize, usize, u8, bool)] = &[
        ("no byte, and yet a granule of them", 8, 5, 8, 0, true),
        ("65 bytes", 64, 5, 8, 65, false),
        ("a region", 8, 4, 4, 1, false),
        ("ends before its payload", 8, 0, 8, 6, true),
        ("ends in its payload", 64, 0, 8, 9, true),
        ("goes on after its payload", 8, 0, 8, 8, true),
        ("goes on after its longest payload", 64, 0, 8, 11, true),
        ("no payload", 8, 0, 2, request_flags::ADDRESS, false),
    ];
    for (name, bytes, granule, byte, value, breaks) in cases {
        let mut entry = inline(*bytes).bytes();
        entry[granule * GRANULE + byte] = *value;
        let request = post(&mut world, &mut card, UD, entry);
        assert_eq!((request.status, request.qp_error.is_some()), (2, *breaks), "{name}");
    }
    for unread in [1, 2] {
        let mut batch = batch(UD, inline(64).bytes());
        batch.unread.insert(unread);
        let requests = compare(&mut world, &mut card, &[batch]);
        assert_eq!((requests[0].status, requests[0].qp_error), (2, None), "block {unread}");
        recover(&mut world, &mut card);
    }
}

#[test]
fn every_malformed_address_has_its_status() {
    let mut random = Random::new(22);
    let mut card = card(&mut random);
    let mut world = World::new(&library(), 22, &card);
    // Each case: the fault; granule, byte, value; whether the queue pair goes to error.
    let cases: &[(&str, usize, usize, u8, bool)] = &[
        ("25 bits of a queue pair's number", 2, 15, 1, false),
        ("reserved", 3, 4, 1, false),
        ("the last byte of reserved", 3, 7, 0x80, false),
        ("reserved2", 3, 8, 1, false),
        ("the last byte of reserved2", 3, 15, 0x80, false),
        ("ends before its address", 0, 8, 2, false),
        ("ends in its address", 0, 8, 3, false),
        ("ends behind its address", 0, 8, 4, false),
        ("ends in its destination", 0, 8, 5, false),
        ("goes on after its destination", 0, 8, 7, true),
        ("partitioned as well", 0, 2, request_flags::ADDRESS | flags::PARTITIONED, false),
        ("not the owner", 4, 0, 8, false),
    ];
    for (name, granule, byte, value, breaks) in cases {
        let mut entry = addressed().bytes();
        entry[granule * GRANULE + byte] = *value;
        let request = post(&mut world, &mut card, UD, entry);
        assert_eq!((request.status, request.qp_error.is_some()), (2, *breaks), "{name}");
        assert_eq!(request.wr_id, 77, "{name}");
    }
    // The entry is longer than the blocks that were posted: it takes none of the next batch.
    let mut entry = Entry { regions: vec![RegionHeader::default(); 6], ..addressed() }.bytes();
    entry.truncate(BLOCK);
    let request = post(&mut world, &mut card, UD, entry);
    assert_eq!((request.status, request.qp_error), (2, None));
    // A wrong address comes before the state of the queue pair, a right one does not.
    for (wrong, status) in [(true, 2), (false, 5)] {
        card.qp_errors.insert(UD);
        world.set_qp_errors(&card.qp_errors);
        let mut entry = addressed().bytes();
        entry[3 * GRANULE + 4] = u8::from(wrong);
        assert_eq!(post(&mut world, &mut card, UD, entry).status, status);
    }
}

#[test]
fn addresses_are_for_datagrams_and_keys_are_made_invalid_on_rc_alone() {
    let mut random = Random::new(23);
    let mut card = card(&mut random);
    let mut world = World::new(&library(), 23, &card);
    let invalidating = Entry { opcode: ReliableOpcode::SendInvalidate as u8, ..plain() };
    let solicited = Entry { flags: request_flags::SOLICITED, ..plain() };
    for (name, entry, queue, breaks) in [
        ("an address on RC", addressed(), RC, true),
        ("an address on UC", addressed(), UC, true),
        ("an address on a shared queue", addressed(), SHARED, false),
        ("an invalidation on UC", invalidating.clone(), UC, true),
        ("an invalidation on UD", invalidating.clone(), UD, true),
        ("an invalidation on a shared queue", invalidating.clone(), SHARED, false),
        ("a solicited request on a shared queue", solicited.clone(), SHARED, false),
    ] {
        let qp = if queue == SHARED { RC } else { queue };
        let request = post(&mut world, &mut card, queue, Entry { qp, ..entry }.bytes());
        assert_eq!((request.status, request.qp_error.is_some()), (2, breaks), "{name}");
    }
    for qp in [RC, UC, UD] {
        let request = post(&mut world, &mut card, qp, Entry { qp, ..solicited.clone() }.bytes());
        assert!(request.status == 0 && request.dests[0].solicited);
    }
    let entry = Entry { qp: RC, flags: request_flags::SOLICITED, ..invalidating };
    let dest = &post(&mut world, &mut card, RC, entry.bytes()).dests[0];
    assert_eq!((dest.opcode, dest.imm), (0, 0x1234_5678));
    assert!(dest.invalidates && dest.solicited);
}

#[test]
fn datagrams_with_an_address_take_five_cycles() {
    let mut random = Random::new(24);
    let mut card = card(&mut random);
    let mut world = World::new(&library(), 24, &card);
    world.release = 1.0;
    let memory = card.regions[1];
    let region = RegionHeader { addr: memory.addr, count: 40, lkey: memory.lkey };
    let small = Entry { regions: vec![region], ..addressed() };
    let mut bytes = Vec::new();
    for index in 0..100 {
        let mut one = small.bytes();
        one[12] = 2 * index;
        bytes.extend(one);
    }
    compare(&mut world, &mut card, &[batch(UD, bytes)]);
    let times = world.bench.received_at(world.request).to_vec();
    assert!(
        times.windows(2).all(|w| w[1] - w[0] == 5),
        "cycles from request to request: {times:?}"
    );
}
