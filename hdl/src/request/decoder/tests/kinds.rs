//! Regions with kinds of columns, good and wrong.

use super::generate::card;
use super::reference::{Batch, Card};
use super::world::{World, library};
use super::{batch, compare, entry, recover};
use drdma_abi::Layout;
use drdma_abi::work_request::{
    BLOCK, Chain, Destination, ElementKind, ElementSource, GRANULE, KindElement, RegionHeader,
    RegionShape, RegionType, WQE_MAGIC, WqeHeader, flags, shape_flags,
};
use drdma_verilated::testbench::{Random, STALLS};

const KINDS: u16 = shape_flags::COLUMN_KINDS;
const FIRST_5: u16 = 5 << shape_flags::FIRST_BIT_SHIFT;

/// An element: its kind, width and the logarithm of its entry's bytes, its place and key, and its source.
fn element(
    kind: ElementKind,
    (width, log_entry): (u32, u8),
    (offset, lkey): (u64, u32),
    (addr, count, key): (u64, u32, u32),
) -> Vec<u8> {
    let element = KindElement { offset, width, kind: kind as u8, log_entry, lkey };
    let source = ElementSource { addr, count, lkey: key };
    [element.to_bytes(), source.to_bytes()].concat()
}

/// A column of each kind, at an address, of one key.
pub(super) fn columns(addr: u64, lkey: u32) -> Vec<u8> {
    let at = (addr, lkey);
    let none = (0, 0, 0);
    [
        element(ElementKind::Fixed, (7, 0), at, none),
        element(ElementKind::Bits, (3, 0), at, none),
        element(ElementKind::Offsets, (0, 3), at, (0x1234_5678_9abc, 0, 0x77)),
        element(ElementKind::Views, (0, 0), at, (addr, 12, lkey)),
        element(ElementKind::Dictionary, (11, 1), at, (addr, 21, lkey)),
    ]
    .concat()
}

/// A strided, a bitmapped and a pointer-mapped region with kinds, and chains, at granules 4, 10, 22 and 26; they end
/// with the memory region, and the entry with granule 30.
fn good(card: &Card) -> Vec<u8> {
    let memory = &card.regions[13];
    let (addr, lkey) = (memory.addr, memory.lkey);
    let header = |count| RegionHeader { addr, count, lkey }.to_bytes();
    let shape = |period, target_lkey, elements, flags| {
        RegionShape { period, target_lkey, elements, flags }.to_bytes()
    };
    let of_record = (9, 0);
    let dictionary = element(ElementKind::Dictionary, (4, 0), of_record, (addr, 3, lkey));
    let offsets = element(ElementKind::Offsets, (0, 2), (0, 0), (addr + 1, 0, 0x99));
    let fixed = element(ElementKind::Fixed, (5, 0), (16, 0), (0, 0, 0));
    let chain = Chain { end: 0x5555_6666_7777_8888, next: 40, limit: 1 << 24 };
    entry(
        3,
        &[
            (
                RegionType::Strided,
                [header(3), shape(100, 0, 2, KINDS)]
                    .concat()
                    .into_iter()
                    .chain(dictionary.clone())
                    .chain(offsets)
                    .collect(),
            ),
            (
                RegionType::Bitmapped,
                [[header(90), shape(0, 0, 5, KINDS | FIRST_5)].concat(), columns(addr, lkey)]
                    .concat(),
            ),
            (
                RegionType::PointerMapped,
                [[header(5), shape(0, lkey, 1, KINDS)].concat(), dictionary].concat(),
            ),
            (
                RegionType::PointerMapped,
                [
                    header(2).to_vec(),
                    shape(0, lkey, 1, KINDS | shape_flags::CHASE).to_vec(),
                    chain.to_bytes().to_vec(),
                    fixed,
                ]
                .concat(),
            ),
        ],
    )
}

#[test]
fn every_malformed_kind_of_column_has_its_status() {
    let library = library();
    let mut random = Random::new(11);
    let mut card = card(&mut random);
    let good = good(&card);
    let mut world = World::new(&library, 11, &card);
    world.bench.stall(STALLS[1]);
    let requests = compare(&mut world, &mut card, &[batch(3, good.clone())]);
    assert_eq!(requests[0].status, 0);
    let kinds: Vec<_> = requests[0].dests[0]
        .sets
        .iter()
        .map(|set| set.lanes.iter().map(|lane| lane.source.kind).collect::<Vec<_>>())
        .collect();
    assert_eq!(kinds, [vec![4, 2], vec![0, 1, 2, 3, 4], vec![4], vec![0]]);

    // Each case: the fault; number of the granule, its byte and value; the status.
    let at = |name: &str| KindElement::field(name).start / 8;
    let (kind, log) = (KindElement::field("kind"), KindElement::field("log_entry"));
    assert_eq!((kind.start % 8, log.start), (0, kind.start + 4), "they share a byte");
    let (kind, width, key) = (kind.start / 8, at("width"), at("lkey"));
    let count = ElementSource::field("count").start / 8;
    let code = |kind: ElementKind, log: u8| kind as u8 | log << 4;
    let cases: Vec<(&str, usize, usize, u8, u8)> = vec![
        ("another kind", 12, kind, 5, 2),
        ("the last kind that there could be", 12, kind, 15, 2),
        ("bits of a record", 6, kind, code(ElementKind::Bits, 0), 2),
        ("a first bit of periods", 5, 14, (KINDS | FIRST_5) as u8, 2),
        ("chains of periods", 5, 14, (KINDS | shape_flags::CHASE) as u8, 2),
        ("fetch rows beside kinds", 11, 14, (KINDS | shape_flags::FETCH_ROWS) as u8, 2),
        ("keys beside kinds", 11, 14, (KINDS | shape_flags::PARTITION_BY) as u8, 2),
        ("a first bit without kinds", 11, 14, FIRST_5 as u8, 2),
        ("chains without kinds", 27, 14, shape_flags::CHASE as u8, 2),
        ("an extent with a key", 6, key, 1, 2),
        ("fixed of no bytes", 12, width, 0, 2),
        ("fixed that leads elsewhere", 13, count, 1, 2),
        ("fixed with a size", 12, kind, code(ElementKind::Fixed, 1), 2),
        ("a bit of another byte", 14, width, 8, 2),
        ("bits that lead elsewhere", 15, 0, 1, 2),
        ("offsets of 2 B", 16, kind, code(ElementKind::Offsets, 1), 2),
        ("offsets of 16 B", 16, kind, code(ElementKind::Offsets, 4), 2),
        ("offsets with a width", 16, width, 1, 2),
        ("offsets with a count", 17, count, 1, 2),
        ("views with a width", 18, width, 1, 2),
        ("views with a size", 18, kind, code(ElementKind::Views, 4), 2),
        ("4,108 buffers", 19, count + 1, 16, 2),
        ("values of no bytes", 20, width, 0, 2),
        ("indices of 16 B", 20, kind, code(ElementKind::Dictionary, 4), 2),
        ("entries beyond", 12, 7, 0x70, 4),
        ("entries' key", 12, key, 14, 4),
        ("a dictionary beyond", 21, 7, 0x70, 4),
        ("a dictionary's key", 21, 12, 14, 4),
        ("a table beyond", 19, 7, 0x70, 4),
        ("a table's key", 19, 12, 14, 4),
        ("a bitmap beyond", 10, 7, 0x70, 4),
        // The memory that these entries lead to is checked only when they are followed.
        ("offsets' data beyond", 17, 7, 0x70, 0),
        ("offsets' data of another key", 17, 12, 14, 0),
        ("a pointer to the next record before its extents, which is not wrong", 28, 8, 8, 0),
        ("a chain of no records", 28, 15, 0, 2),
        ("a chain of more than 2^24", 28, 12, 1, 2),
        ("ends in a chain", 0, 8, 28, 2),
        ("ends in an element", 0, 8, 30, 2),
    ];
    for (name, granule, byte, value, status) in cases {
        let mut bytes = good.clone();
        bytes[granule * GRANULE + byte] = value;
        let requests = compare(&mut world, &mut card, &[batch(3, bytes)]);
        assert_eq!(requests[0].status, status, "{name}");
        recover(&mut world, &mut card);
    }
    // An entry that ends, or cannot be read, in each of its granules behind the destination.
    let head = WqeHeader::decode(&good);
    for granules in 4..30 {
        let mut bytes = good.clone();
        WqeHeader { granules, ..head }.encode(&mut bytes);
        bytes.truncate((granules as usize).div_ceil(4) * BLOCK);
        let requests = compare(&mut world, &mut card, &[batch(3, bytes)]);
        assert_eq!((requests[0].status, requests[0].qp_error), (2, Some(3)), "{granules}");
        recover(&mut world, &mut card);
    }
    for block in 1..8 {
        let unread = Batch { unread: [block].into(), ..batch(3, good.clone()) };
        let requests = compare(&mut world, &mut card, &[unread]);
        assert_eq!((requests[0].status, requests[0].qp_error), (2, None), "block {block}");
        recover(&mut world, &mut card);
    }
}

/// A bitmap from bit 5 on, and bits from bit 3 on, may end with their memory region, and not a bit behind it.
#[test]
fn bits_reach_to_the_end_of_their_memory() {
    let library = library();
    let mut random = Random::new(12);
    let mut card = card(&mut random);
    let mut world = World::new(&library, 12, &card);
    let memory = card.regions[13];
    let end = memory.addr + memory.len;
    for (what, first, rows, status) in [
        ("bitmap", 5_u16, 67_u32, 0),
        ("bitmap", 5, 68, 4),
        ("column", 3, 69, 0),
        ("column", 3, 70, 4),
    ] {
        let (list, column, of_list, of_column) = match what {
            "bitmap" => (end - 9, memory.addr, first, 0),
            _ => (memory.addr, end - 9, 0, first),
        };
        let flags = KINDS | of_list << shape_flags::FIRST_BIT_SHIFT;
        let shape = RegionShape { elements: 1, flags, ..Default::default() };
        let header = RegionHeader { addr: list, count: rows, lkey: memory.lkey };
        let bits = (u32::from(of_column), 0);
        let element = element(ElementKind::Bits, bits, (column, memory.lkey), (0, 0, 0));
        let region = [&header.to_bytes()[..], &shape.to_bytes()[..], &element].concat();
        let bytes = entry(3, &[(RegionType::Bitmapped, region)]);
        let requests = compare(&mut world, &mut card, &[batch(3, bytes)]);
        assert_eq!(requests[0].status, status, "{what}, {rows} rows");
        recover(&mut world, &mut card);
    }
}

#[test]
fn destinations_share_a_region_with_kinds() {
    let library = library();
    let mut random = Random::new(13);
    let mut card = card(&mut random);
    let mut world = World::new(&library, 13, &card);
    let (addr, lkey) = (card.regions[13].addr, card.regions[13].lkey);
    let mut bytes = vec![0; WqeHeader::SIZE];
    bytes.extend(RegionHeader { addr, count: 40, lkey }.to_bytes());
    let shape = RegionShape { period: 1, elements: 5, flags: KINDS, ..Default::default() };
    bytes.extend(shape.to_bytes());
    bytes.extend(columns(addr, lkey));
    for (qp, partition) in [(0, 3), (1, 4)] {
        bytes.extend(Destination { qp, partition, ..Default::default() }.to_bytes());
    }
    let head = WqeHeader {
        magic: WQE_MAGIC,
        flags: flags::PARTITIONED,
        destinations: 2,
        granules: (bytes.len() / GRANULE) as u32,
        rows_per_message: 1,
        ..Default::default()
    };
    head.encode(&mut bytes);
    bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
    let requests = compare(&mut world, &mut card, &[batch(200, bytes.clone())]);
    assert_eq!(requests[0].status, 0);
    assert!(requests[0].dests.iter().all(|dest| dest.sets[0].has_kinds()));
    // A first bit is the bitmap's, which it does not have; a column beyond its memory.
    for (granule, byte, value, status) in
        [(3, 14, (KINDS | FIRST_5) as u8, 2), (3, 0, 0, 2), (4, 7, 0x70, 4), (12, 8, 0, 2)]
    {
        let mut wrong = bytes.clone();
        wrong[granule * GRANULE + byte] = value;
        let requests = compare(&mut world, &mut card, &[batch(200, wrong)]);
        assert_eq!((requests[0].status, requests[0].qp_error), (status, None), "{granule}");
        recover(&mut world, &mut card);
    }
}
