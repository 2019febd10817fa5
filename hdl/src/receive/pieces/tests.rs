//! Where bytes go against what the semantics say: described keys and receives of every type, packets of many queue
//! pairs, any part.

use super::*;
use crate::context::REGION_TABLE;
use crate::context::testing::clear_tables;
use crate::regions::testing::*;
use crate::testing;
use drdma_abi::receive::{MANY_RECEIVES, rights};
use drdma_abi::work_request::GRANULE;
use drdma_semantics::described::{Unreachable, encode, fragments};
use drdma_semantics::memory::{Fault, HostMemory, Segments, WritableMemory};
use drdma_semantics::region::{Column, Extent, Region, RowMask};
use drdma_semantics::scatter::{Scatter, Target};
use drdma_verilated::testbench::{Beat, Bench, DriverId, MonitorId, Random, STALLS};
use drdma_verilated::{Library, Word};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

mod around;

use around::*;

fn library() -> Library {
    testing::library("pieces", Pieces::default)
}

/// The runs, value by value, of a packet of `bytes` bytes that was answered column by column.
fn values(columns: &[Beat], bytes: u64) -> Vec<(u64, u64)> {
    let of = |name: &str| columns[0].u64(name);
    for name in ["column", "bytes", "rows", "first", "offset"] {
        assert!(columns.iter().all(|column| column.u64(name) == of(name)), "{name}");
    }
    let (width, mut left, mut runs) = (of("bytes"), bytes, Vec::new());
    let (mut row, mut at, mut offset) = (0, of("first") as usize, of("offset"));
    assert!((1..=64).contains(&width) && offset < width && at < columns.len());
    while left > 0 {
        assert!(row < of("rows"), "{left} B behind the last row");
        let len = (width - offset).min(left);
        runs.push((columns[at].u64("addr").wrapping_add(row * width + offset), len));
        (left, offset, at) = (left - len, 0, at + usize::from(offset + len == width));
        if at == columns.len() {
            (at, row) = (0, row + 1);
        }
    }
    runs
}

/// The granules of a region, as an entry of a key begins with them.
fn granules(region: &Region) -> Vec<u8> {
    let mut entry = encode(region);
    let elements = usize::from(entry[28]);
    entry.truncate(GRANULE * if region.kind() as u64 == 0 { 1 } else { 2 + elements });
    entry
}

/// Regions of a receive, one of them with a bitmap or pointers, which have no more granules than there are places.
fn regions(around: &mut Around<'_>, random: &mut Random) -> Vec<Region> {
    loop {
        let regions: Vec<_> = (0..=random.below(4)).map(|_| region(random)).collect();
        let bytes: usize = regions.iter().map(|region| granules(region).len()).sum();
        let lists = |region: &Region| {
            matches!(region, Region::Bitmapped { .. } | Region::PointerMapped { .. })
        };
        if bytes > 32 * GRANULE || !regions.iter().any(lists) {
            continue;
        }
        for region in &regions {
            fill(&mut around.memory, region, random);
        }
        // The bitmap of one may lie over pointers of another.
        let memory = around.host();
        let target = Target::check(regions.clone(), RowMask::Period, PD, &Memories, &memory);
        if target.is_err() {
            continue;
        }
        return regions;
    }
}

fn start(around: &mut Around<'_>, qp: u64, random: &mut Random) -> Message {
    let longest = pick(random, [10, 900, 9_000]);
    let left = 1 + random.below(longest);
    let mut message = Message {
        qp,
        key: None,
        region: None,
        scatter: None,
        capacity: 0,
        at: 0,
        left,
        first: true,
        skip: 0,
    };
    if random.chance(0.5) {
        let regions = regions(around, random);
        around.take(qp, &regions);
        let memory = around.host();
        let target = Target::check(regions, RowMask::Period, PD, &Memories, &memory).unwrap();
        message.capacity = target.capacity as u64;
        message.scatter = Some(target.scatter());
        message.skip = if random.chance(0.3) { 20 } else { 0 };
    } else {
        let region = region(random);
        fill(&mut around.memory, &region, random);
        around.describe(qp, &encode(&region));
        message.key = Some(qp);
        let most = region.row_len() * 40;
        let latest = pick(random, [0, most, most / 2]);
        message.at = random.below(latest + 1);
        message.region = Some(region);
    }
    message
}

#[test]
fn bytes_go_where_the_semantics_say_whatever_comes_between() {
    let library = library();
    let (mut good, mut bad, mut resumed, mut by_columns) = (0, 0, 0, 0);
    for (seed, stalls) in (1..).zip(STALLS) {
        let mut random = Random::new(seed);
        let mut around = Around::new(&library, seed, stalls);
        let mut placed: Vec<Vec<(u64, u64)>> = Vec::new();
        // Queue pairs take turns at random; the lists of one lie anywhere, while those of others stay the same.
        for _ in 0..40 {
            let peers = 1 + random.below(3);
            let mut messages: Vec<_> = Vec::new();
            let first = around.memory.clone();
            for qp in 0..peers {
                let message = start(&mut around, qp * 7, &mut random);
                messages.push(message);
            }
            // What a later one has filled may be an earlier one's: all are checked against the memory as it is now, if
            // they still are what they were.
            if peers > 1 {
                let changed = around.memory != first;
                messages.retain_mut(|message| !changed || message.key.is_some());
            }
            while !messages.is_empty() {
                let at = random.below(messages.len() as u64) as usize;
                let message = &mut messages[at];
                let most = 1 << (8 + random.below(5));
                let bytes = message.left.min(1 + random.below(most));
                let expected = message.expected(&around, bytes);
                let told = around.ask(message.beat(bytes));
                let what = message.region.clone();
                assert_eq!(
                    told,
                    expected.as_ref().err().copied().unwrap_or(Verdict::Reached),
                    "{what:?}"
                );
                // Some are not placed all the same: their queue pair has begun anew.
                let keeps = expected.is_ok() && !random.chance(0.05);
                around.settle(keeps);
                if keeps {
                    placed.extend(expected.ok());
                }
                if keeps && message.left > bytes {
                    resumed += u64::from(!message.first);
                    message.at += message.skip + bytes;
                    message.left -= bytes;
                    (message.first, message.skip) = (false, 0);
                } else {
                    messages.swap_remove(at);
                }
                *(if told == Verdict::Reached { &mut good } else { &mut bad }) += 1;
            }
        }
        for _ in 0..100_000 {
            around.step();
            if around.came.len() == placed.len() {
                break;
            }
        }
        let came: Vec<_> =
            around.came.iter().map(|packet| merged(packet.iter().copied())).collect();
        assert_eq!(came, placed, "seed {seed}");
        by_columns += around.by_columns;
        assert_eq!(around.bench.get("busy"), 0);
    }
    assert!(good > 300 && bad > 30 && resumed > 100, "{good} good, {bad} bad, {resumed} resumed");
    assert!(by_columns > 50, "{by_columns} by columns");
}

/// No byte is placed where the region's keys do not allow it, and then no other byte of its packet is placed either.
#[test]
fn what_no_key_allows_is_not_placed() {
    let library = library();
    let mut around = Around::new(&library, 1, STALLS[0]);
    let pattern = vec![Extent { offset: 4, len: 8 }];
    let pointers = |target_lkey| {
        let (pointers, pattern) = (LISTS, pattern.clone());
        Region::PointerMapped { pointers, count: 2, lkey: LIST, target_lkey, pattern }
    };
    let bitmapped = |bitmap, lkey, lkeys: [u32; 2]| {
        let columns = lkeys.map(|lkey| Column { base: BASE, width: 4, lkey }).to_vec();
        Region::Bitmapped { bitmap, rows: 100, lkey, columns, fetch_rows: None }
    };
    let (first, second) = (BASE, BASE - 5);
    let lists = (LISTS - BASE) as usize;
    around.memory[lists..][..8].copy_from_slice(&first.to_le_bytes());
    around.memory[lists + 8..][..8].copy_from_slice(&second.to_le_bytes());
    around.memory[lists] |= 3;
    let regions = [
        // The second record begins before memory; of no right, and of another protection domain.
        (pointers(ALL), Verdict::Unreachable),
        (pointers(FIXED), Verdict::Unreachable),
        (pointers(FOREIGN), Verdict::Unreachable),
        // A bitmap that no key has, and a second column that must not be written.
        (bitmapped(BASE, LIST, [ALL, ALL]), Verdict::Unreachable),
        (bitmapped(LISTS, FOREIGN, [ALL, ALL]), Verdict::Unreachable),
        (bitmapped(LISTS, LIST, [ALL, FIXED]), Verdict::Unreachable),
        (bitmapped(LISTS, LIST, [ALL, ALL]), Verdict::Reached),
    ];
    for (region, verdict) in regions {
        around.describe(3, &encode(&region));
        around.take(5, std::slice::from_ref(&region));
        for receive in [false, true] {
            let message = Message {
                qp: 5,
                key: (!receive).then_some(3),
                region: None,
                scatter: None,
                capacity: 0,
                at: 0,
                left: 0,
                first: true,
                skip: 0,
            };
            assert_eq!(around.ask(message.beat(16)), verdict, "{region:?}");
            around.settle(verdict == Verdict::Reached);
        }
    }
    (0..50).for_each(|_| around.step());
    assert_eq!(around.came.len(), 2, "{:?}", around.came);
    assert!(around.coming.is_empty());
}

/// Every byte is a piece: the pieces of one packet fit, and those of the packet behind it wait.
#[test]
fn a_packet_may_have_as_many_pieces_as_bytes() {
    let library = library();
    let mut around = Around::new(&library, 3, STALLS[0]);
    let pattern = vec![Extent { offset: 2, len: 1 }];
    let region = Region::Strided { base: BASE, period: 3, count: 9_000, lkey: ALL, pattern };
    around.describe(0, &encode(&region));
    let mut placed = Vec::new();
    for at in [0, 4096] {
        let begun = around.bench.cycles();
        let ask = Message { first: at == 0, ..Message::to_key(0, at) };
        assert_eq!(around.ask(ask.beat(4096)), Verdict::Reached);
        let cycles = around.bench.cycles() - begun;
        assert!(cycles < 16 * 4096 + 120, "{cycles} cycles for 4,096 pieces");
        around.settle(true);
        placed.extend((at..at + 4096).map(|k| (BASE + 3 * k + 2, 1)));
    }
    for _ in 0..10_000 {
        around.step();
    }
    assert_eq!(around.came.concat(), placed);
}

/// Rows that touch, of extents that touch, are one piece, however many there are.
#[test]
fn a_packet_in_rows_that_touch_is_one_piece() {
    let library = library();
    let mut around = Around::new(&library, 3, STALLS[0]);
    let pattern: Vec<_> = (0..5).map(|k| Extent { offset: 8 + 4 * k, len: 4 }).collect();
    let region = |period| {
        let pattern = pattern.clone();
        Region::Strided { base: BASE, period, count: 500, lkey: ALL, pattern }
    };
    around.describe(7, &encode(&region(20)));
    around.describe(8, &encode(&region(24)));
    let mut placed = Vec::new();
    for (at, key) in [(33, 7), (4129, 7), (8225, 7), (0, 8)] {
        let begun = around.bench.cycles();
        let ask = Message { first: at == 33 || at == 0, ..Message::to_key(key, at) };
        // Up to the last byte of the 500 rows, and three rows of the other key.
        let bytes = if key == 7 { 4096.min(10_000 - at) } else { 60 };
        assert_eq!(around.ask(ask.beat(bytes)), Verdict::Reached);
        let cycles = around.bench.cycles() - begun;
        assert!(ask.first || cycles < 25, "{cycles} cycles for a packet that goes on");
        around.settle(true);
        placed.push(match key {
            7 => vec![(BASE + 8 + at, bytes)],
            _ => {
                vec![(BASE + 8, 4), (BASE + 12, 4), (BASE + 16, 4), (BASE + 20, 4), (BASE + 24, 4)]
            }
        });
    }
    // The rows of the last region do not touch, so that each extent is a piece.
    let of_others = placed.pop().expect("four packets");
    (0..100).for_each(|_| around.step());
    assert_eq!(around.came[..3], placed);
    assert_eq!(around.came[3].len(), 15);
    assert_eq!(around.came[3][..5], of_others);
    // The last byte is there, and the one behind it is not.
    let mut ask = Message::to_key(7, 9_999);
    assert_eq!(around.ask(ask.beat(1)), Verdict::Reached);
    around.settle(true);
    ask.at = 9_998;
    assert_eq!(around.ask(ask.beat(3)), Verdict::Outside);
    around.settle(false);
}

/// Dense columns are told one by one, and packets that go on at the link's rate; where one of them cannot be reached
/// whole, its bytes are told piece by piece.
#[test]
fn dense_columns_are_told_column_by_column() {
    let library = library();
    let mut around = Around::new(&library, 3, STALLS[0]);
    let region = |columns: u64, width: u64, count: u32, far: u64| {
        let pattern = (0..columns).map(|k| Extent {
            offset: if k + 1 == columns { far } else { k * 3_000 },
            len: width as u32,
        });
        let pattern = pattern.collect();
        Region::Strided { base: BASE, period: width, count, lkey: ALL, pattern }
    };
    let (mut expected, mut by_pieces) = (Vec::new(), 0);
    // Columns, bytes of a value, and the most cycles of a packet that goes on.
    for (columns, width, most) in [(5, 4, 30), (16, 3, 41), (3, 64, 28)] {
        let count = (9_000 / (columns * width)) as u32;
        let region = region(columns, width, count, columns * 3_000 - 3_000);
        around.describe(7, &encode(&region));
        let total = columns * width * u64::from(count);
        let mut message =
            Message { region: Some(region), left: total - 1, ..Message::to_key(7, 1) };
        while message.left > 0 {
            let bytes = message.left.min(4_096);
            let begun = around.bench.cycles();
            expected.push(message.expected(&around, bytes).expect("it fits"));
            assert_eq!(around.ask(message.beat(bytes)), Verdict::Reached);
            let cycles = around.bench.cycles() - begun;
            assert!(message.first || cycles <= most, "{cycles} cycles for {columns} columns");
            around.settle(true);
            (message.at, message.left) = (message.at + bytes, message.left - bytes);
            message.first = false;
        }
        (0..50).for_each(|_| around.step());
    }
    assert_eq!(around.by_columns, expected.len());
    // The last column ends where memory does, or a row before it ends: all rows, those without their last value, and
    // all but one of them.
    let values = |row: u64| (0..4).map(move |k| (BASE + 3_000 * k + 4 * row, 4));
    for (far, rows) in [(SIZE - 40, 10), (SIZE - 36, 9)] {
        around.describe(7, &encode(&region(5, 4, 10, far)));
        for (bytes, reaches) in [(200, 10), (197, 10), (196, 9), (180, 9)] {
            let message = Message::to_key(7, 0);
            let verdict = if reaches > rows { Verdict::Unreachable } else { Verdict::Reached };
            assert_eq!(around.ask(message.beat(bytes)), verdict, "{bytes} B of {rows} rows");
            around.settle(reaches <= rows);
            if reaches <= rows {
                let last = |row| (BASE + far + 4 * row, 4.min(bytes - 20 * row - 16));
                let runs = (0..9).flat_map(|row| values(row).chain([last(row)]));
                let rest = values(9).take(if bytes > 180 { 4 } else { 0 });
                let end = (bytes > 196).then(|| last(9));
                expected.push(merged(runs.chain(rest).chain(end)));
            }
            by_pieces += usize::from(bytes == 196 && rows == 9);
        }
    }
    (0..200).for_each(|_| around.step());
    let came: Vec<_> = around.came.iter().map(|packet| merged(packet.iter().copied())).collect();
    assert_eq!(came, expected);
    // The packet that ends before the last value, which lies beyond the memory, is answered piece by piece.
    assert_eq!((by_pieces, around.by_columns), (1, expected.len() - 1));
}
