//! Claims about every layout, register and table at once.

use crate::{
    ABI_HASH, LAYOUTS, Layout, Order,
    completion::{Completion, Status},
    described::{AppendCompletion, AppendEnd, AppendHead, AppendTarget, KeyRegionEnd},
    layout::{get_bits, set_bits},
    receive::{
        AddressHandle, AtomicOperands, AttributesEntry, ReceiveCompletion, ReceiveHeader,
        ReceiveQueueEntry,
    },
    register::{
        BAR2_SIZE, COUNTERS, CompletionQueueEntry, MemoryRegionEntry, QueuePairEntry, REGISTERS,
        SendQueueEntry, TABLES,
    },
    roce::{
        Aeth, AtomicAckEth, AtomicEth, Bth, Deth, Ethernet, Ieth, ImmDt, Ipv4, Reth, Transport, Udp,
    },
    work_request::{
        Chain, Destination, Element, ElementKind, ElementSource, KeyType, KindElement,
        MessageLayout, Opcode, PartitionBy, PartitionFunction, PartitionKey, RegionHeader,
        RegionShape, RegionType, RemoteColumn, WqeHeader, shape_flags,
    },
};

/// Returns the bits of a field as hardware slices them: from the layout's bytes as one
/// little-endian number.
fn hardware_slice<L: Layout>(bytes: &[u8], name: &str) -> Option<u64> {
    let field = L::field(name);
    let start = field.little_bit(L::ORDER)?;
    let mut value = 0u64;
    for i in 0..field.width {
        value |= u64::from(bytes[(start + i) / 8] >> ((start + i) % 8) & 1) << i;
    }
    if L::ORDER == Order::Network && field.width > 8 {
        value = value.swap_bytes() >> (64 - field.width);
    }
    Some(value)
}

/// Whole bytes and single bits take different code paths, with the same result.
#[test]
fn a_field_of_whole_bytes_is_its_bits_one_by_one() {
    let value = 0x0123_4567_89ab_cdef_u64;
    for order in [Order::Little, Order::Network] {
        for width in (8..=64).step_by(8) {
            let (mut whole, mut single) = ([0xa5; 10], [0xa5; 10]);
            set_bits(&mut whole, order, 8, width, value);
            for bit in 0..width {
                let at = if order == Order::Little { bit } else { width - 1 - bit };
                set_bits(&mut single, order, 8 + at, 1, value >> bit & 1);
            }
            assert_eq!(whole, single, "{order:?}, {width} bits");
            let read = get_bits(&whole, order, 8, width);
            assert_eq!(read, value & u64::MAX >> (64 - width));
        }
    }
}

fn walk<L: Layout + PartialEq + core::fmt::Debug>() {
    let mut at = 0;
    for field in L::FIELDS {
        assert_eq!(field.start, at, "{}::{} starts where the last ended", L::NAME, field.name);
        assert!(!field.doc.trim().is_empty(), "{}::{} says what it is", L::NAME, field.name);
        at += field.width;
    }
    assert_eq!(at, L::SIZE * 8, "{} is filled", L::NAME);

    for field in L::FIELDS {
        let mask = u64::MAX >> (64 - field.width);
        for value in [0, 1, mask, mask ^ mask >> 1, 0x9e37_79b9_7f4a_7c15 & mask] {
            for background in [0x00, 0xff] {
                let mut bytes = vec![background; L::SIZE];
                set_bits(&mut bytes, L::ORDER, field.start, field.width, value);
                assert_eq!(get_bits(&bytes, L::ORDER, field.start, field.width), value);
                let mut again = vec![0x5a; L::SIZE];
                L::decode(&bytes).encode(&mut again);
                assert_eq!(again, bytes, "{}::{} = {value:#x}", L::NAME, field.name);
                if let Some(sliced) = hardware_slice::<L>(&bytes, field.name) {
                    assert_eq!(sliced, value, "{}::{} in hardware", L::NAME, field.name);
                }
                // Only this field has changed.
                for other in L::FIELDS.iter().filter(|other| other.name != field.name) {
                    let kept = get_bits(&bytes, L::ORDER, other.start, other.width);
                    let full = u64::MAX >> (64 - other.width);
                    assert_eq!(kept, if background == 0 { 0 } else { full });
                }
            }
        }
    }
}

#[test]
fn every_field_of_every_layout_survives_the_round_trip_on_both_sides() {
    walk::<WqeHeader>();
    walk::<Destination>();
    walk::<RegionHeader>();
    walk::<RegionShape>();
    walk::<Element>();
    walk::<Completion>();
    walk::<QueuePairEntry>();
    walk::<MemoryRegionEntry>();
    walk::<SendQueueEntry>();
    walk::<CompletionQueueEntry>();
    walk::<Ethernet>();
    walk::<Ipv4>();
    walk::<Udp>();
    walk::<Bth>();
    walk::<Reth>();
    walk::<Deth>();
    walk::<ImmDt>();
    walk::<Aeth>();
    walk::<AtomicEth>();
    walk::<AtomicAckEth>();
    walk::<Ieth>();
    walk::<AttributesEntry>();
    walk::<ReceiveQueueEntry>();
    walk::<ReceiveHeader>();
    walk::<ReceiveCompletion>();
    walk::<AddressHandle>();
    walk::<AtomicOperands>();
    walk::<KindElement>();
    walk::<ElementSource>();
    walk::<RemoteColumn>();
    walk::<Chain>();
    walk::<PartitionFunction>();
    walk::<PartitionKey>();
    walk::<KeyRegionEnd>();
    walk::<AppendHead>();
    walk::<AppendEnd>();
    walk::<AppendTarget>();
    walk::<AppendCompletion>();
}

#[test]
fn little_layouts_put_their_first_field_first_and_its_low_byte_first() {
    let header = WqeHeader {
        magic: 0xd7,
        opcode: 2,
        flags: 1,
        fetch_log_max_read: 9,
        destinations: 0x0102,
        fetch_merge_threshold: 0x0a0b,
        granules: 0x0304_0506,
        position: 0x0708_090a,
        wr_id: 0x1112_1314_1516_1718,
        rows_per_message: 0x2122_2324,
        imm: 0x3132_3334,
    };
    assert_eq!(
        header.to_bytes(),
        [
            0xd7, 2, 1, 9, 0x02, 0x01, 0x0b, 0x0a, 0x06, 0x05, 0x04, 0x03, 0x0a, 0x09, 0x08, 0x07,
            0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11, 0x24, 0x23, 0x22, 0x21, 0x34, 0x33,
            0x32, 0x31,
        ]
    );
}

#[test]
fn network_layouts_are_what_a_capture_shows() {
    // BTH of an RC RDMA WRITE Only to queue pair 0x12, pad 1, acknowledge request, PSN 0x1000.
    let bth = Bth {
        opcode: 0x0a,
        solicited: 0,
        migration: 1,
        pad: 1,
        version: 0,
        pkey: 0xffff,
        resv8a: 0,
        dest_qp: 0x12,
        ack_req: 1,
        resv7: 0,
        psn: 0x1000,
    };
    assert_eq!(bth.to_bytes(), [0x0a, 0x50, 0xff, 0xff, 0, 0, 0, 0x12, 0x80, 0, 0x10, 0]);
    let reth = Reth { virtual_address: 0x0102_0304_0506_0708, rkey: 0x1112_1314, dma_length: 5 };
    assert_eq!(reth.to_bytes(), [1, 2, 3, 4, 5, 6, 7, 8, 0x11, 0x12, 0x13, 0x14, 0, 0, 0, 5]);
    let ip = Ipv4 { version: 4, ihl: 5, flags: 2, ttl: 64, source: 0x0a00_0001, ..Ipv4::default() };
    assert_eq!(ip.to_bytes()[..13], [0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 0, 0, 0, 10]);
}

#[test]
fn registers_counters_and_tables_do_not_overlap() {
    let registers = REGISTERS.iter().map(|r| (r.name, r.offset, 4));
    let counters = COUNTERS.iter().map(|c| (c.name, c.offset, 8));
    let tables = TABLES.iter().map(|t| (t.name, t.offset, t.entries * t.entry_size));
    let mut ranges: Vec<_> = registers.chain(counters).chain(tables).collect();
    ranges.sort_by_key(|range| range.1);
    for pair in ranges.windows(2) {
        assert!(pair[0].1 + pair[0].2 <= pair[1].1, "{} reaches into {}", pair[0].0, pair[1].0);
    }
    for (name, offset, size) in ranges {
        assert_eq!(offset % 4, 0, "{name} is aligned");
        assert!(offset + size <= BAR2_SIZE, "{name} is in BAR2");
    }
}

#[test]
fn table_entries_have_the_size_of_their_layout() {
    use crate::register::{COMPLETION_QUEUES, MEMORY_REGIONS, QUEUE_PAIRS, SEND_QUEUES};
    assert_eq!(QUEUE_PAIRS.entry_size as usize, QueuePairEntry::SIZE);
    assert_eq!(MEMORY_REGIONS.entry_size as usize, MemoryRegionEntry::SIZE);
    assert_eq!(SEND_QUEUES.entry_size as usize, SendQueueEntry::SIZE);
    assert_eq!(COMPLETION_QUEUES.entry_size as usize, CompletionQueueEntry::SIZE);
    // The word that makes an entry effective is its last one.
    assert_eq!(QueuePairEntry::field("state").start, (QueuePairEntry::SIZE - 4) * 8);
    assert_eq!(MemoryRegionEntry::field("valid").start, (MemoryRegionEntry::SIZE - 4) * 8);
    assert_eq!(SendQueueEntry::field("enable").start, (SendQueueEntry::SIZE - 4) * 8);
    assert_eq!(CompletionQueueEntry::field("enable").start, (CompletionQueueEntry::SIZE - 4) * 8);
}

#[test]
fn names_are_unique() {
    let mut names: Vec<_> = REGISTERS.iter().map(|r| r.name).collect();
    names.extend(COUNTERS.iter().map(|c| c.name));
    names.extend(TABLES.iter().map(|t| t.name));
    let total = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), total);
    for layout in LAYOUTS {
        let mut fields: Vec<_> = layout.fields.iter().map(|f| f.name).collect();
        fields.sort_unstable();
        fields.dedup();
        assert_eq!(fields.len(), layout.fields.len(), "{}", layout.name);
    }
}

/// A change of any layout, register or table changes the hash. When that is meant, this number is
/// updated together with it, and cards and software of the two sides refuse each other.
#[test]
fn the_abi_hash_changes_only_with_the_abi() {
    assert_eq!(ABI_HASH, 0xb3bf_01b6_d86f_b224, "the ABI changed: {ABI_HASH:#018x}");
}

#[test]
fn codes_round_trip() {
    for (code, opcode) in Opcode::ALL.iter().enumerate() {
        assert_eq!(*opcode as usize, code);
        assert_eq!(Opcode::from_code(code as u8), Some(*opcode));
    }
    assert_eq!(Opcode::from_code(4), None);
    for (code, kind) in RegionType::ALL.iter().enumerate() {
        assert_eq!(*kind as usize, code);
        assert_eq!(RegionType::of((code as u32) << 30, 15), *kind);
    }
    for (code, kind) in ElementKind::ALL.iter().enumerate() {
        assert_eq!(*kind as usize, code);
        assert_eq!(ElementKind::from_code(code as u8), Some(*kind));
    }
    assert_eq!(ElementKind::from_code(5), None);
    for layout in [MessageLayout::Rows, MessageLayout::Columns] {
        assert_eq!(MessageLayout::from_code(layout as u8), Some(layout));
    }
    assert_eq!(MessageLayout::from_code(2), None);
    for (code, key) in KeyType::ALL.iter().enumerate() {
        assert_eq!(*key as usize, code);
        assert_eq!(KeyType::from_code(code as u8), Some(*key));
    }
    assert_eq!(KeyType::from_code(6), None);
    for function in [PartitionBy::Murmur3, PartitionBy::Range] {
        assert_eq!(PartitionBy::from_code(function as u8), Some(function));
    }
    assert_eq!(PartitionBy::from_code(2), None);
    let flags = [
        shape_flags::FETCH_ROWS,
        shape_flags::COLUMN_KINDS,
        shape_flags::CHASE,
        shape_flags::PARTITION_BY,
        shape_flags::FIRST_BIT,
    ];
    assert_eq!(flags.iter().map(|flag| flag.count_ones()).sum::<u32>(), 7);
    assert_eq!(flags.iter().fold(0, |all, flag| all | flag), 0b111_1111);
    for (code, transport) in Transport::ALL.iter().enumerate() {
        assert_eq!(*transport as usize, code);
        assert_eq!(Transport::from_code(code as u8), Some(*transport));
    }
    for code in 0..=255 {
        match Status::from_code(code) {
            Some(status) => assert_eq!(status as u8, code),
            None => assert!(Status::ALL.iter().all(|status| *status as u8 != code)),
        }
    }
}
