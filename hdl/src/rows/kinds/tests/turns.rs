//! Tests of the turns that destinations of a partitioned request take.

use super::{ALL, Around, BASE, Change, POOL, SIZE, Walked, expected, many};
use drdma_abi::work_request::{Element, MessageLayout, Opcode};
use drdma_semantics::kinds::{Entry, Kind};
use drdma_semantics::memory::Segments;
use drdma_semantics::partitioned::Partitioned;
use drdma_semantics::region::{Region, RowMask};
use drdma_semantics::request::{Destination, Request};
use drdma_verilated::testbench::{Random, STALLS};

/// Cycles of a read of host memory; few enough that no walk waits because 64 reads are under way.
const LATENCY: u64 = 40;

/// A table whose rows are partitioned by ids.
pub(super) struct Table {
    pub(super) rows: u32,
    pub(super) destinations: u16,
    /// Bytes of an id.
    pub(super) width: u64,
    /// Bytes of a value of fixed width.
    pub(super) fixed: u32,
    /// Numbers of columns of fixed width, of strings, of views, of indexes of one byte, and of bits.
    pub(super) columns: [usize; 5],
    /// Largest number of bytes of a string.
    pub(super) longest: u64,
    pub(super) opcode: Opcode,
    pub(super) rows_per_message: u32,
    /// Id of a row.
    pub(super) of: fn(u32) -> u16,
}

pub(super) const STRINGS: Table = Table {
    rows: 2048,
    destinations: 8,
    width: 1,
    fixed: 8,
    columns: [4, 1, 0, 0, 0],
    longest: 60,
    opcode: Opcode::Send,
    rows_per_message: 10,
    of: |row| scattered(row) % 8,
};

/// Number of 16 bits that looks random, and depends on the row only.
fn scattered(row: u32) -> u16 {
    (row.wrapping_mul(0x9e37_79b1) >> 16) as u16
}

impl Table {
    /// Returns the request, the host's memory and the offset of the ids in it.
    pub(super) fn make(&self) -> (Request, Vec<u8>, usize) {
        let mut random = Random::new(7);
        let mut memory = random.bytes(POOL as usize);
        let rows = self.rows as usize;
        let [fixed, strings, views, indexes, bits] = self.columns;
        let mut entries = Vec::new();
        let mut put = |memory: &mut Vec<u8>, kind, bytes: Vec<u8>| {
            let offset = BASE + memory.len() as u64;
            memory.extend(bytes);
            entries.push(Entry { offset, lkey: ALL, kind });
        };
        for _ in 0..fixed {
            let bytes = random.bytes(self.fixed as usize * rows);
            put(&mut memory, Kind::Fixed { width: self.fixed }, bytes);
        }
        for _ in 0..strings {
            let data = BASE + memory.len() as u64;
            let mut ends = vec![0_u32];
            for row in 0..rows {
                ends.push(ends[row] + random.below(self.longest + 1) as u32);
            }
            let bytes = random.bytes(ends[rows] as usize);
            memory.extend(bytes);
            let bytes = ends.iter().flat_map(|end| end.to_le_bytes()).collect();
            put(&mut memory, Kind::Offsets { log_entry: 2, data, lkey: ALL }, bytes);
        }
        for _ in 0..views {
            let table = BASE + memory.len() as u64;
            let buffer =
                |at: u64| Element { offset: BASE + at, len: 1 << 12, lkey: ALL }.to_bytes();
            memory.extend((0..4).flat_map(|index| buffer(index << 12)));
            let bytes = (0..rows).flat_map(|row| {
                let len = random.below(self.longest.min(100)) as u32;
                let index = row as u32 % 4;
                [len, 0, index, random.below(3000) as u32]
            });
            let bytes = bytes.flat_map(|word| word.to_le_bytes()).collect();
            put(&mut memory, Kind::Views { table, count: 4, lkey: ALL }, bytes);
        }
        for _ in 0..indexes {
            let bytes = (0..rows).map(|row| row as u8 % 9).collect();
            let values = BASE + 64;
            let kind = Kind::Dictionary { log_entry: 0, values, width: 16, count: 9, lkey: ALL };
            put(&mut memory, kind, bytes);
        }
        for first in 0..bits {
            let bytes = random.bytes(rows / 8 + 2);
            put(&mut memory, Kind::Bits { first: first as u8 % 8 }, bytes);
        }
        let ids = memory.len();
        memory.extend(
            (0..self.rows)
                .flat_map(|row| (self.of)(row).to_le_bytes()[..self.width as usize].to_vec()),
        );
        assert!(memory.len() < SIZE as usize);
        memory.resize(SIZE as usize, 0);
        let destination = |partition| Destination {
            qp: 1,
            remote_addr: 0,
            rkey: 0,
            partition,
            layout: MessageLayout::Rows,
            remote_columns: Vec::new(),
            regions: Vec::new(),
        };
        let request = Request {
            wr_id: 0,
            opcode: self.opcode,
            imm: 0,
            row_mask: RowMask::Period,
            rows_per_message: self.rows_per_message,
            signaled: true,
            fetch: None,
            inline: None,
            partitioned: Some(Partitioned {
                ids: BASE + ids as u64,
                width: self.width,
                rows: self.rows,
                lkey: ALL,
                columns: Vec::new(),
                entries,
                by: None,
            }),
            destinations: (0..self.destinations).map(destination).collect(),
        };
        (request, memory, ids)
    }

    /// Walks the request, and compares its messages with those of the semantics.
    pub(super) fn walk(&self, around: &mut Around<'_>, ud: bool) -> Walked {
        let (request, memory, _) = self.make();
        around.memory = Segments::new().with(BASE, memory);
        let expected = expected(&request, ud, &around.memory).unwrap();
        let walked = around.walk(&request, ud);
        assert_eq!(walked.status, (0, 0));
        for (number, (given, messages)) in walked.given.iter().zip(expected).enumerate() {
            let told = |bytes: &Vec<u8>| {
                if self.opcode.is_write() { bytes.len() as u64 } else { 0 }
            };
            let all: Vec<_> = messages.into_iter().map(|bytes| (told(&bytes), bytes)).collect();
            assert!(given.messages == all, "destination {number}");
            assert_eq!((given.ended, &given.open), (!all.is_empty(), &None));
        }
        walked
    }
}

/// A last destination without regions names the set behind those of its request: here another request's, with ids.
#[test]
fn a_set_of_another_request_gives_no_turns() {
    let library = many();
    let mut around = Around::new(&library, 0);
    around.next_set = 9;
    let table = Table { rows: 2, destinations: 3, of: |row| row as u16 % 3, ..STRINGS };
    table.walk(&mut around, false);
    around.next_set = 7;
    let (mut request, _, _) = table.make();
    request.partitioned = None;
    request.destinations[0].regions = vec![Region::Contiguous { addr: BASE, len: 4, lkey: ALL }];
    request.destinations[1].regions = vec![Region::Contiguous { addr: BASE, len: 1, lkey: ALL }];
    let walked = around.walk(&request, false);
    assert_eq!(walked.status, (0, 0));
    let lengths =
        walked.given.iter().map(|given| given.messages.iter().map(|(_, m)| m.len()).collect());
    assert_eq!(lengths.collect::<Vec<Vec<_>>>(), [vec![4], vec![1], vec![]]);
}

/// Each destination gets its messages, however the rows of a chunk are divided among the destinations.
#[test]
fn turns_make_the_same_messages() {
    let library = many();
    let uneven: fn(u32) -> u16 = |row| (scattered(row) % 16).saturating_sub(12);
    // Name, table, whether datagrams are sent, and number of chunks.
    let cases = [
        ("eight destinations", Table { ..STRINGS }, false, 8),
        ("a row for each of 8 in turn", Table { of: |row| row as u16 % 8, ..STRINGS }, false, 8),
        ("uneven", Table { destinations: 4, of: uneven, ..STRINGS }, false, 8),
        ("datagrams", Table { rows_per_message: 1, ..STRINGS }, true, 8),
        ("messages of many chunks", Table { rows_per_message: 100, ..STRINGS }, false, 8),
        (
            "the first and the last one have no rows",
            Table { of: |row| 1 + scattered(row) % 6, ..STRINGS },
            false,
            8,
        ),
        (
            "the first chunk has all rows of one, the last chunk all of another",
            Table {
                of: |row| match row {
                    17 | 200 => 0,
                    2040 => 7,
                    _ => 1 + scattered(row) % 6,
                },
                ..STRINGS
            },
            false,
            8,
        ),
        (
            "all rows of a chunk are of one destination",
            Table { of: |row| (row / 256) as u16, ..STRINGS },
            false,
            8,
        ),
        ("rows of others", Table { destinations: 5, ..STRINGS }, false, 8),
        ("most rows of others", Table { destinations: 2, ..STRINGS }, false, 0),
        ("one destination", Table { destinations: 1, of: |_| 0, ..STRINGS }, false, 0),
        (
            "ids of two bytes",
            Table {
                width: 2,
                rows: 1000,
                destinations: 3,
                of: |row| scattered(row) % 3,
                ..STRINGS
            },
            false,
            4,
        ),
        (
            "WRITEs",
            Table {
                rows: 700,
                destinations: 3,
                opcode: Opcode::Write,
                rows_per_message: 30,
                of: |row| 2 * (scattered(row) % 8).div_ceil(8),
                ..STRINGS
            },
            false,
            0,
        ),
        (
            "WRITEs whose lengths are kept",
            Table {
                rows: 700,
                destinations: 3,
                opcode: Opcode::Write,
                rows_per_message: 70,
                of: |row| scattered(row) % 3,
                ..STRINGS
            },
            false,
            3,
        ),
        (
            "256 destinations",
            Table {
                destinations: 256,
                width: 2,
                columns: [1, 1, 0, 0, 0],
                longest: 15,
                of: |row| scattered(row) % 256,
                ..STRINGS
            },
            false,
            2,
        ),
        (
            "fewer than four rows of a chunk for each destination",
            Table {
                rows: 512,
                destinations: 256,
                longest: 200,
                of: |row| scattered(row) % 256,
                ..STRINGS
            },
            false,
            0,
        ),
        ("two strings", Table { columns: [4, 2, 0, 0, 0], ..STRINGS }, false, 16),
        (
            "four bytes of a string fit behind the group and its length",
            Table { columns: [7, 1, 0, 0, 0], ..STRINGS },
            false,
            8,
        ),
        (
            "only the length fits behind the group",
            Table { fixed: 4, columns: [15, 1, 0, 0, 0], ..STRINGS },
            false,
            8,
        ),
        ("nothing fits behind the group", Table { columns: [8, 1, 0, 0, 0], ..STRINGS }, false, 16),
        (
            "the length does not fit behind the group",
            Table { fixed: 31, columns: [2, 1, 0, 0, 0], ..STRINGS },
            false,
            16,
        ),
        ("long strings", Table { rows: 500, longest: 600, ..STRINGS }, false, 8),
        ("strings too long for turns", Table { rows: 200, longest: 1500, ..STRINGS }, false, 0),
        ("views and bits", Table { columns: [0, 0, 2, 0, 3], longest: 20, ..STRINGS }, false, 4),
        ("indexes", Table { columns: [1, 0, 0, 1, 0], ..STRINGS }, false, 2),
        ("bits", Table { columns: [0, 0, 0, 0, 5], ..STRINGS }, false, 4),
        ("columns of 8 B", Table { columns: [2, 0, 0, 0, 0], ..STRINGS }, false, 2),
    ];
    for seed in 0..2 {
        let mut around = Around::new(&library, seed);
        for (name, table, ud, chunks) in &cases {
            println!("{name}, seed {seed}");
            // The first request says how many rows fit a chunk of the second one.
            table.walk(&mut around, *ud);
            let walked = table.walk(&mut around, *ud);
            assert_eq!(walked.chunks.len(), *chunks, "{name}: {} cycles", walked.cycles);
            assert!(walked.chunks.iter().all(|blocks| *blocks <= 104), "{name}");
        }
    }
}

/// The first destination with an error decides the status, whichever error is met first and whatever it is.
#[test]
fn the_first_destination_that_fails_is_named() {
    let library = many();
    let mut statuses = std::collections::BTreeMap::new();
    let mut random = Random::new(5);
    let mut around = Around::new(&library, 0);
    for number in 0..40 {
        let ud = number % 2 == 1;
        let longest = if number % 4 == 3 { 240 } else { 40 };
        let rows_per_message = if ud { 1 } else { 10 };
        let table = Table { rows: 1300, longest, rows_per_message, ..STRINGS };
        let (request, mut memory, _) = table.make();
        let offsets = (request.partitioned.as_ref().unwrap().entries[4].offset - BASE) as usize;
        for _ in 0..random.below(4) {
            // The string of this row, and that of the next one if it is not empty, go backwards or far ahead.
            let at = offsets + 4 * (1 + random.below(1300) as usize);
            let wrong = if random.below(2) == 0 { 0_u32 } else { 1 << 30 };
            memory[at..at + 4].copy_from_slice(&wrong.to_le_bytes());
        }
        around.memory = Segments::new().with(BASE, memory);
        let expected = expected(&request, ud, &around.memory).map(|_| ());
        let walked = around.walk(&request, ud);
        let status = expected.err().unwrap_or((0, 0));
        *statuses.entry(status).or_insert(0) += 1;
        assert_eq!(walked.status, status, "{number}");
        let nothing = walked.given.iter().all(|dest| *dest == super::Dest::default());
        assert_eq!(nothing, status.0 != 0, "{number}");
    }
    println!("{statuses:?}");
    assert!(statuses.len() > 8, "{statuses:?}");
}

/// The estimated number of blocks is that of the rows' bytes, and eight more for the ends of columns.
#[test]
fn a_short_request_says_how_few_blocks_its_chunk_has() {
    let library = many();
    let mut around = Around::new(&library, 0);
    let walked = Table { rows: 64, columns: [4, 0, 0, 0, 0], ..STRINGS }.walk(&mut around, false);
    assert_eq!(walked.chunks, [64 * 32 / 256 + 8]);
}

/// The host writes other ids while the rows are walked: a message is as long as it says, or the request fails. Ids are
/// kept from walk to walk unless there are as many as in this test: the first and the last ids are then read for each
/// destination, and again when the rows are sent.
#[test]
fn ids_that_change_between_the_walks_change_no_length() {
    let library = many();
    let mut around = Around::new(&library, 1);
    around.bench.stall(STALLS[0]);
    let mut random = Random::new(3);
    let mut statuses = std::collections::BTreeMap::new();
    for number in 0..24 {
        let opcode = if number % 3 == 0 { Opcode::Send } else { Opcode::Write };
        let table = Table {
            rows: 34_000,
            destinations: 3,
            columns: [1, 0, 0, 0, 0],
            opcode,
            rows_per_message: 4000 + random.below(4000) as u32,
            of: |row| scattered(row) % 3,
            ..STRINGS
        };
        let (request, memory, ids) = table.make();
        let mut changed = memory.clone();
        for _ in 0..1 + random.below(3) {
            changed[ids + random.below(2048) as usize] = random.below(3) as u8;
        }
        around.memory = Segments::new().with(BASE, memory);
        let due = around.bench.cycles() + 300 + random.below(70_000);
        let memory = Segments::new().with(BASE, changed);
        around.change = Some(Change { due, every: 1 << 40, memory });
        let Walked { status, given, .. } = around.walk(&request, false);
        around.change = None;
        *statuses.entry(status.0).or_insert(0) += 1;
        for dest in given {
            for (announced, bytes) in &dest.messages {
                assert!(!opcode.is_write() || bytes.len() as u64 == *announced, "{number}");
            }
            if let Some((announced, bytes)) = &dest.open {
                assert!(!opcode.is_write() || bytes.len() as u64 <= *announced, "{number}");
            }
            assert!(status.0 != 0 || (dest.ended && dest.open.is_none()), "{number}");
        }
    }
    println!("{statuses:?}");
    assert!(statuses[&0] > 3 && statuses[&4] > 3, "{statuses:?}");
}

/// Cost of turns in cycles, beside the round trips of a request.
#[test]
fn a_turn_takes_few_cycles() {
    let library = many();
    let mut around = Around::new(&library, 0);
    around.bench.stall(STALLS[0]);
    around.latency = LATENCY;
    // Ids by the number of destinations; then columns, and cycles of a row that is judged plus one that is sent.
    let two: fn(u32) -> u16 = |row| scattered(row) % 2;
    let eight: fn(u32) -> u16 = |row| scattered(row) % 8;
    let many: fn(u32) -> u16 = |row| scattered(row) % 64;
    let all: fn(u32) -> u16 = |row| scattered(row) % 256;
    for (name, columns, row) in [
        ("strings and 4 x 8 B", [4, 1, 0, 0, 0], 1 + 2),
        ("views and 8 B", [1, 0, 1, 0, 0], 2 + 2),
        ("indexes and 4 x 8 B", [4, 0, 0, 1, 0], 1 + 2),
    ] {
        let mut before = None;
        for (destinations, of) in [(2, two), (8, eight), (64, many), (256, all)] {
            for rows in [512, 2048, 4096] {
                let width = 1 + u64::from(destinations == 256);
                let table = Table { rows, destinations, width, columns, of, ..STRINGS };
                let walked = table.walk(&mut around, false);
                let rows = u64::from(rows);
                // Up to 64 destinations are judged in chunks of 256 rows.
                let chunks =
                    if destinations > 64 { walked.chunks.len() as u64 } else { rows.div_ceil(256) };
                let (turns, blocks) = (chunks * u64::from(destinations), 64 / width);
                println!(
                    "{name}, {rows} rows, {destinations} destinations: {} cycles, {:.2} a row, {} chunks",
                    walked.cycles,
                    walked.cycles as f64 / rows as f64,
                    walked.chunks.len()
                );
                let destinations = u64::from(destinations);
                let words = 3 * destinations * rows.div_ceil(blocks);
                let messages = 4 * (rows / 10 + destinations);
                let heads = 2 * 20 * destinations;
                let most = row * rows + words + messages + heads + 7 * turns + 12 * LATENCY;
                assert!(walked.cycles <= most, "{} cycles instead of {most}", walked.cycles);
                // More turns of as many rows: a turn takes one cycle where rows are judged, 2 where they are sent, and
                // few for messages and blocks without rows. The blocks of views are read anew in many turns.
                if rows == 4096 && destinations <= 64 && columns[2] == 0 {
                    if let Some((fewer, cycles)) = before.replace((turns, walked.cycles)) {
                        let each = (walked.cycles - cycles) as f64 / (turns - fewer) as f64;
                        println!("{each:.2} cycles for each further turn");
                        assert!(each < 7.5, "{each} cycles");
                    }
                }
            }
        }
    }
}
