//! Partitioned requests whose ids are made from keys, good and wrong.

use super::generate::card;
use super::kinds::columns;
use super::reference::{Batch, Card};
use super::world::{World, library};
use super::{all_kinds, batch, compare, recover};
use drdma_abi::Layout;
use drdma_abi::register::MemoryRegionEntry;
use drdma_abi::work_request::{
    BLOCK, Destination, Element, ElementKind, ElementSource, GRANULE, KeyType, KindElement,
    PartitionBy, PartitionFunction, PartitionKey, RegionHeader, RegionShape, WQE_MAGIC, WqeHeader,
    flags, shape_flags,
};
use drdma_verilated::testbench::{Random, STALLS};
use std::collections::HashSet;

/// The last row that a byte of a bitmap still has if the first is at bit 5: rows of all entries.
const ROWS: u32 = 19;

/// An entry for two destinations whose ids are made.
#[derive(Clone)]
struct Entry {
    header: RegionHeader,
    shape: RegionShape,
    function: PartitionFunction,
    keys: Vec<(KindElement, ElementSource, PartitionKey)>,
    partitions: [u16; 2],
    /// Layout of the second destination's messages.
    layout: u8,
}

/// A key of values from the memory region's start on, of a width in bytes; 0 stands for bits.
fn key(
    memory: &MemoryRegionEntry,
    key_type: KeyType,
    bytes: u32,
    nullable: bool,
) -> (KindElement, ElementSource, PartitionKey) {
    let MemoryRegionEntry { addr, lkey, .. } = *memory;
    let (kind, width) =
        if bytes == 0 { (ElementKind::Bits, 5) } else { (ElementKind::Fixed, bytes) };
    let element = KindElement { offset: addr, width, kind: kind as u8, lkey, log_entry: 0 };
    let mut end = PartitionKey { key_type: key_type as u8, ..Default::default() };
    if nullable {
        end = PartitionKey { validity: addr + 1, lkey, has_validity: 1, first: 5, ..end };
    }
    (element, ElementSource::default(), end)
}

/// A hash of a nullable integer and of bits.
fn hash(memory: &MemoryRegionEntry) -> Entry {
    let keys =
        vec![key(memory, KeyType::Integer, 4, true), key(memory, KeyType::Boolean, 0, false)];
    Entry {
        header: RegionHeader { count: ROWS, ..Default::default() },
        shape: RegionShape { elements: 1, flags: shape_flags::PARTITION_BY, ..Default::default() },
        function: PartitionFunction {
            function: PartitionBy::Murmur3 as u8,
            keys: keys.len() as u8,
            group: 3,
            partitions: 1000,
            seed: 42,
            reserved: 0,
        },
        keys,
        partitions: [333, 7],
        layout: 0,
    }
}

/// A range of a nullable float.
fn range(memory: &MemoryRegionEntry) -> Entry {
    let hash = hash(memory);
    let header = RegionHeader { addr: memory.addr + 3, count: ROWS, lkey: memory.lkey };
    let function = PartitionFunction {
        function: PartitionBy::Range as u8,
        keys: 1,
        group: 1,
        partitions: 10,
        seed: 0,
        reserved: 0,
    };
    let keys = vec![key(memory, KeyType::Float, 8, true)];
    Entry { header, function, keys, partitions: [9, 0], ..hash }
}

impl Entry {
    /// The entry's bytes in a queue, with a column of the memory region. The region begins at granule 2.
    fn bytes(&self, memory: &MemoryRegionEntry) -> Vec<u8> {
        let mut bytes = vec![0; WqeHeader::SIZE];
        bytes.extend(self.header.to_bytes());
        bytes.extend(self.shape.to_bytes());
        bytes.extend(self.function.to_bytes());
        for (element, source, end) in &self.keys {
            bytes.extend([element.to_bytes(), source.to_bytes(), end.to_bytes()].concat());
        }
        if self.shape.flags & shape_flags::COLUMN_KINDS != 0 {
            bytes.extend(columns(memory.addr, memory.lkey));
        } else {
            bytes.extend(Element { offset: memory.addr, len: 4, lkey: memory.lkey }.to_bytes());
        }
        let layouts = [0, self.layout];
        for ((qp, partition), message_layout) in
            [3, 4].into_iter().zip(self.partitions).zip(layouts)
        {
            let head = Destination { qp, partition, message_layout, ..Default::default() };
            bytes.extend(head.to_bytes());
        }
        let head = WqeHeader {
            magic: WQE_MAGIC,
            flags: flags::PARTITIONED,
            destinations: 2,
            granules: (bytes.len() / GRANULE) as u32,
            wr_id: 0x77,
            rows_per_message: 1,
            ..Default::default()
        };
        head.encode(&mut bytes);
        bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
        bytes
    }
}

/// Sends an entry, then one of another queue, and returns the first one's status and destination. No queue pair fails.
fn told(world: &mut World, card: &mut Card, entry: Batch) -> (u8, u8) {
    let other = batch(3, all_kinds(card));
    let requests = compare(world, card, &[entry, other]);
    assert_eq!(requests[1].status, 0, "another queue goes on");
    recover(world, card);
    assert_eq!(requests[0].qp_error, None);
    (requests[0].status, requests[0].bad_dest)
}

/// Gives the region a column of each kind.
fn beside_kinds(entry: &mut Entry) {
    entry.shape.flags |= shape_flags::COLUMN_KINDS;
    entry.shape.elements = 5;
}

type Case = (&'static str, fn(&mut Entry), (u8, u8));

#[test]
fn every_malformed_function_has_its_status() {
    let mut random = Random::new(14);
    let mut card = card(&mut random);
    let memory = card.regions[13];
    let mut world = World::new(&library(), 14, &card);
    world.bench.stall(STALLS[1]);
    const GOOD: (u8, u8) = (0, 0);
    const SHAPE: (u8, u8) = (2, 0);
    const MEMORY: (u8, u8) = (4, 0);
    let of_a_hash: &[Case] = &[
        ("nothing", |_| (), GOOD),
        ("messages by columns", |e| e.layout = 1, GOOD),
        ("columns of each kind", beside_kinds, GOOD),
        (
            "columns of each kind, and a wrong key",
            |e| {
                beside_kinds(e);
                e.keys[1].2.reserved = 1;
            },
            SHAPE,
        ),
        (
            "columns of each kind, and a key of no memory",
            |e| {
                beside_kinds(e);
                e.keys[1].0.lkey ^= 1 << 20;
            },
            MEMORY,
        ),
        ("2^16 partitions", |e| e.function.partitions = 1 << 16, GOOD),
        ("more than 2^16 partitions", |e| e.function.partitions = (1 << 16) + 1, SHAPE),
        ("no partitions", |e| e.function.partitions = 0, SHAPE),
        ("another function", |e| e.function.function = 2, SHAPE),
        ("no keys", |e| e.function.keys = 0, SHAPE),
        ("17 keys", |e| e.function.keys = 17, SHAPE),
        ("partitions without ids", |e| e.function.group = 0, SHAPE),
        ("a reserved field", |e| e.function.reserved = 1 << 31, SHAPE),
        ("splitters of a hash", |e| e.header.addr = 1, SHAPE),
        ("a key of splitters of a hash", |e| e.header.lkey = 1, SHAPE),
        ("ids with bytes", |e| e.shape.period = 1, SHAPE),
        ("a target", |e| e.shape.target_lkey = 1, SHAPE),
        ("fetch rows", |e| e.shape.flags |= shape_flags::FETCH_ROWS, SHAPE),
        ("offsets", |e| e.keys[0].0.kind = ElementKind::Offsets as u8, SHAPE),
        ("a size of entries", |e| e.keys[0].0.log_entry = 1, SHAPE),
        ("values of 3 B", |e| e.keys[0].0.width = 3, SHAPE),
        ("values of 32 B", |e| e.keys[0].0.width = 32, SHAPE),
        ("values of no bytes", |e| e.keys[0].0.width = 0, SHAPE),
        ("a bit of another byte", |e| e.keys[1].0.width = 8, SHAPE),
        ("values that lead elsewhere", |e| e.keys[0].1.addr = 1 << 63, SHAPE),
        ("values that lead to a number of others", |e| e.keys[0].1.count = 1, SHAPE),
        ("values that lead to a key", |e| e.keys[1].1.lkey = 1, SHAPE),
        ("an integer of 16 B", |e| e.keys[0].0.width = 16, SHAPE),
        ("an integer of a bit", |e| e.keys[1].2.key_type = KeyType::Integer as u8, SHAPE),
        ("a hash of unsigned integers", |e| e.keys[0].2.key_type = KeyType::Unsigned as u8, SHAPE),
        ("a float", |e| e.keys[0].2.key_type = KeyType::Float as u8, GOOD),
        (
            "a float of 2 B",
            |e| (e.keys[0].0.width, e.keys[0].2.key_type) = (2, KeyType::Float as u8),
            SHAPE,
        ),
        ("a truth value of 4 B", |e| e.keys[0].2.key_type = KeyType::Boolean as u8, SHAPE),
        (
            "a truth value of 1 B",
            |e| (e.keys[0].0.width, e.keys[0].2.key_type) = (1, KeyType::Boolean as u8),
            GOOD,
        ),
        ("bytes", |e| e.keys[0].2.key_type = KeyType::Bytes as u8, SHAPE),
        ("a decimal of 4 B", |e| e.keys[0].2.key_type = KeyType::Decimal as u8, SHAPE),
        (
            "a decimal",
            |e| (e.keys[0].0.width, e.keys[0].2.key_type) = (16, KeyType::Decimal as u8),
            GOOD,
        ),
        ("another type", |e| e.keys[0].2.key_type = 6, SHAPE),
        ("another type of 8 bits", |e| e.keys[0].2.key_type = 8, SHAPE),
        ("a reserved field of a key", |e| e.keys[0].2.reserved = 1, SHAPE),
        ("no validity, but where", |e| e.keys[1].2.validity = 1 << 40, SHAPE),
        ("no validity, but a key", |e| e.keys[1].2.lkey = 1, SHAPE),
        ("no validity, but a bit", |e| e.keys[1].2.first = 1, SHAPE),
        ("values' key", |e| e.keys[0].0.lkey ^= 1 << 20, MEMORY),
        ("bits' key", |e| e.keys[1].0.lkey ^= 1 << 20, MEMORY),
        ("validity's key", |e| e.keys[0].2.lkey ^= 1 << 20, MEMORY),
        ("validity before its memory", |e| e.keys[0].2.validity -= 2, MEMORY),
        ("an id that no partition has", |e| e.partitions = [333, 334], (2, 1)),
        ("an id of the first partition that there is not", |e| e.function.group = 1, GOOD),
        ("an id twice", |e| e.partitions = [7, 7], (2, 1)),
        ("an id beyond all", |e| e.partitions[0] = u16::MAX, (2, 0)),
        ("one partition of an id more", |e| e.function.partitions = 999, (2, 0)),
        (
            "keys of no rows",
            |e| (e.header.count, e.keys[0].0.lkey, e.keys[0].2.lkey) = (0, 0, 0),
            GOOD,
        ),
        ("a wrong type of no rows", |e| (e.header.count, e.keys[0].0.width) = (0, 16), SHAPE),
    ];
    let of_a_range: &[Case] = &[
        ("nothing", |_| (), GOOD),
        ("columns of each kind", beside_kinds, GOOD),
        ("256 partitions", |e| e.function.partitions = 256, GOOD),
        ("257 partitions", |e| e.function.partitions = 257, SHAPE),
        ("no partitions", |e| e.function.partitions = 0, SHAPE),
        ("no keys", |e| e.function.keys = 0, SHAPE),
        (
            "two keys",
            |e| {
                e.function.keys = 2;
                e.keys.push(e.keys[0]);
            },
            SHAPE,
        ),
        ("a seed", |e| e.function.seed = 1 << 31, SHAPE),
        ("an integer", |e| e.keys[0].2.key_type = KeyType::Integer as u8, GOOD),
        ("an unsigned integer", |e| e.keys[0].2.key_type = KeyType::Unsigned as u8, GOOD),
        (
            "an unsigned integer of 16 B",
            |e| (e.keys[0].0.width, e.keys[0].2.key_type) = (16, KeyType::Unsigned as u8),
            SHAPE,
        ),
        (
            "a truth value",
            |e| (e.keys[0].0.width, e.keys[0].2.key_type) = (1, KeyType::Boolean as u8),
            SHAPE,
        ),
        (
            "a decimal",
            |e| (e.keys[0].0.width, e.keys[0].2.key_type) = (16, KeyType::Decimal as u8),
            SHAPE,
        ),
        ("splitters' key", |e| e.header.lkey ^= 1 << 20, MEMORY),
        ("splitters before their memory", |e| e.header.addr -= 4, MEMORY),
        ("splitters of no rows", |e| (e.header.count, e.header.lkey) = (0, 1), GOOD),
        ("an id of the first partition that there is not", |e| e.partitions[1] = 10, (2, 1)),
        (
            "splitters of one partition",
            |e| (e.function.partitions, e.partitions) = (1, [0, 1]),
            SHAPE,
        ),
        (
            "one partition for two",
            |e| {
                (e.function.partitions, e.partitions) = (1, [0, 1]);
                (e.header.addr, e.header.lkey) = (0, 0);
            },
            (2, 1),
        ),
    ];
    for (good, cases) in [(hash(&memory), of_a_hash), (range(&memory), of_a_range)] {
        for (name, edit, expected) in cases {
            let mut entry = good.clone();
            edit(&mut entry);
            let found = told(&mut world, &mut card, batch(200, entry.bytes(&memory)));
            assert_eq!(found, *expected, "{:?}: {name}", good.function);
        }
    }
    // An entry that ends, or cannot be read, in each of the granules of its function and keys.
    let bytes = hash(&memory).bytes(&memory);
    let head = WqeHeader::decode(&bytes);
    for granules in 4..12 {
        let mut bytes = bytes.clone();
        WqeHeader { granules, ..head }.encode(&mut bytes);
        bytes.truncate((granules as usize).div_ceil(4) * BLOCK);
        assert_eq!(told(&mut world, &mut card, batch(200, bytes)), SHAPE, "{granules} granules");
    }
    for block in 1..3 {
        let unread = Batch { unread: HashSet::from([block]), ..batch(200, bytes.clone()) };
        assert_eq!(told(&mut world, &mut card, unread), SHAPE, "block {block} is not read");
    }
}

/// Splitters, values, bits and validity may end with their memory region, and not a byte behind it.
#[test]
fn keys_reach_to_the_end_of_their_memory() {
    let mut random = Random::new(15);
    let mut card = card(&mut random);
    let memory = card.regions[13];
    let end = memory.addr + memory.len;
    let mut world = World::new(&library(), 15, &card);
    let rows = u64::from(ROWS);
    type Place = fn(&mut Entry) -> &mut u64;
    let cases: [(&str, Entry, Place, u64); 6] = [
        ("integers", hash(&memory), |e| &mut e.keys[0].0.offset, 4 * rows),
        ("bits 5 to 23", hash(&memory), |e| &mut e.keys[1].0.offset, 3),
        ("validity", hash(&memory), |e| &mut e.keys[0].2.validity, 3),
        ("floats", range(&memory), |e| &mut e.keys[0].0.offset, 8 * rows),
        ("their validity", range(&memory), |e| &mut e.keys[0].2.validity, 3),
        ("9 splitters", range(&memory), |e| &mut e.header.addr, 72),
    ];
    for (name, entry, place, bytes) in cases {
        for (room, status) in [(bytes, 0), (bytes - 1, 4)] {
            let mut entry = entry.clone();
            *place(&mut entry) = end - room;
            let found = told(&mut world, &mut card, batch(200, entry.bytes(&memory)));
            assert_eq!(found, (status, 0), "{name}: {room} B");
        }
        // A row more takes a byte more of bits that begin with bit 5, whose byte ends with the row before.
        let mut entry = entry.clone();
        *place(&mut entry) = end - bytes;
        entry.header.count += 1;
        let status = if name == "9 splitters" { 0 } else { 4 };
        let found = told(&mut world, &mut card, batch(200, entry.bytes(&memory)));
        assert_eq!(found, (status, 0), "{name}: a row more");
    }
}
