//! Tests of requests that are sent as they are judged.

use super::turns::{STRINGS, Table};
use super::{ALL, Around, BASE, Destination, Walked, expected, library, many};
use drdma_abi::completion::Status;
use drdma_abi::work_request::Opcode;
use drdma_semantics::kinds::{Kinds, Selection};
use drdma_semantics::memory::{HostMemory, Segments};
use drdma_semantics::region::Region;
use drdma_semantics::request::Request;
use drdma_verilated::testbench::STALLS;

/// Two columns of 8 B and nine of bits: rows of 18 B.
const FLAT: Table = Table { columns: [2, 0, 0, 0, 9], ..STRINGS };

/// Messages of WRITEs: 250 B of rows of one byte.
const WRITES: Table = Table {
    opcode: Opcode::Write,
    rows_per_message: 250,
    destinations: 4,
    of: |row| (row % 4) as u16,
    ..FLAT
};

/// Walks the request of a table: its messages, none of which has a length that is told.
fn walk(around: &mut Around<'_>, table: &Table, ud: bool) -> Walked {
    let (request, memory, _) = table.make();
    around.memory = Segments::new().with(BASE, memory);
    let expected = expected(&request, ud, &around.memory).unwrap();
    around.reads.clear();
    let walked = around.walk(&request, ud);
    assert_eq!(walked.status, (0, 0));
    for (number, (given, messages)) in walked.given.iter().zip(expected).enumerate() {
        let all: Vec<_> = messages.into_iter().map(|bytes| (0, bytes)).collect();
        let told = given.messages.iter().map(|(told, _)| *told).collect::<Vec<_>>();
        assert!(given.messages == all, "destination {number}, {told:?}");
        assert_eq!((given.ended, &given.open), (!all.is_empty(), &None));
    }
    walked
}

/// Their values need no room for all of them at once: there is room for 512. A request whose messages may be longer
/// than a packet, and whose lengths must be told, goes another way.
#[test]
fn rows_of_fixed_width_and_bits_are_sent_as_they_are_judged() {
    let library = library();
    let few: fn(u32) -> u16 = |row| (row % 97) as u16;
    let cases = [
        ("SENDs", FLAT, false),
        // Few messages begin in the first chunk of rows: there is room for the lengths of 8.
        ("WRITEs that fit a packet", Table { columns: [0, 0, 0, 0, 8], ..WRITES }, false),
        (
            "WRITEs to one destination",
            Table { destinations: 1, of: |_| 0, rows_per_message: 14, ..WRITES },
            false,
        ),
        ("datagrams", Table { rows_per_message: 7, ..FLAT }, true),
        ("SENDs of several packets", Table { rows_per_message: 100, ..FLAT }, false),
        ("one destination", Table { destinations: 1, of: |_| 0, ..FLAT }, false),
        ("few rows of one destination", Table { destinations: 1, of: few, ..FLAT }, false),
        ("few rows of three", Table { destinations: 3, of: few, ..FLAT }, false),
        ("ids of two bytes", Table { width: 2, rows: 1500, ..FLAT }, false),
        ("bits alone", Table { columns: [0, 0, 0, 0, 9], ..FLAT }, false),
        ("values alone", Table { columns: [3, 0, 0, 0, 0], ..FLAT }, false),
        ("values of more than a token", Table { columns: [10, 0, 0, 0, 1], ..FLAT }, false),
    ];
    for seed in 0..2 {
        let mut around = Around::new(&library, seed);
        for (name, table, ud) in &cases {
            println!("{name}, seed {seed}");
            let table = Table { of: table.of, ..*table };
            let walked = walk(&mut around, &table, *ud);
            let messages: usize = walked.given.iter().map(|given| given.messages.len()).sum();
            // Nothing is judged and then walked again: a row takes two tokens at most, and its turn some cycles.
            let tokens = 2 * u64::from(table.rows) + messages as u64;
            let turns = 20 * u64::from(table.destinations * 32);
            println!("{} cycles, {tokens} tokens", walked.cycles);
            assert!(seed > 0 || walked.cycles < 2 * tokens + turns + 2000, "{name}");
        }
        // Each message has 15 rows of 18 B, more than the MTU of 256 B: it is judged first.
        let table = Table { rows_per_message: 15, ..WRITES };
        table.walk(&mut around, false);
    }
}

/// Lines of bits that are asked for a block ahead are waited for if they come late; if they come soon, while tokens wait,
/// values get the lines of their own rows all the same.
#[test]
fn lines_that_come_late_or_soon_are_those_of_their_rows() {
    let library = library();
    let third: fn(u32) -> u16 = |row| (row % 3) as u16;
    for (latency, stall) in [(3000, 0), (1, 1), (1, 2), (40, 3)] {
        let mut around = Around::new(&library, 0);
        around.bench.stall(STALLS[stall % STALLS.len()]);
        around.latency = latency;
        for columns in [[2, 0, 0, 0, 9], [10, 0, 0, 0, 6]] {
            let table = Table { rows: 3500, columns, destinations: 1, of: third, ..FLAT };
            walk(&mut around, &table, false);
            let table = Table { rows: 3500, columns, destinations: 3, of: third, ..FLAT };
            walk(&mut around, &table, false);
        }
    }
}

/// Destinations with the same columns of bits share their lines only where they have the same rows: those of fewer rows
/// lack lines that others need.
#[test]
fn destinations_share_lines_of_bits_where_their_rows_are_the_same() {
    let library = library();
    let (like, mut memory, at) = Table { rows: 700, ..FLAT }.make();
    let entries = &like.partitioned.as_ref().unwrap().entries;
    // Most rows, or those of them that are in the first block.
    for number in 0..2 {
        memory[at + 100 * number..][..100].fill(0);
        let rows = 10..[700, 510][number];
        rows.for_each(|row| memory[at + 100 * number + row / 8] |= 1 << (row % 8));
    }
    let destination = |&(list, rows, first): &(u64, u32, u8)| {
        let bitmap = BASE + at as u64 + 100 * list;
        let rows = Selection::Bitmap { bitmap, first, rows, lkey: ALL };
        let regions = vec![Region::Kinds(Kinds { rows, entries: entries.clone() })];
        Destination { partition: 0, regions, ..like.destinations[0].clone() }
    };
    let rows = [(0, 40, 0), (0, 690, 0), (0, 690, 0), (0, 40, 0), (0, 690, 0)];
    let first = [(1, 690, 3), (0, 690, 0), (1, 690, 7), (0, 690, 2)];
    let both = [(0, 40, 5), (0, 690, 5), (1, 690, 0), (0, 40, 0)];
    for (seed, lists) in [&rows[..], &first, &both].into_iter().enumerate() {
        let destinations: Vec<_> = lists.iter().map(destination).collect();
        let request = Request { partitioned: None, destinations, ..like.clone() };
        let mut around = Around::new(&library, seed as u64);
        around.memory = Segments::new().with(BASE, memory.clone());
        let messages = expected(&request, false, &around.memory).unwrap();
        let walked = around.walk(&request, false);
        assert_eq!(walked.status, (0, 0), "{lists:?}");
        for (number, (given, messages)) in walked.given.iter().zip(messages).enumerate() {
            let all: Vec<_> = messages.into_iter().map(|bytes| (0, bytes)).collect();
            assert!(given.messages == all, "{lists:?}, destination {number}");
        }
    }
}

/// The first packets need not wait until all rows are judged: a request of four times the rows begins no later.
#[test]
fn the_first_token_does_not_wait_for_the_last_row() {
    let library = many();
    let mut around = Around::new(&library, 0);
    around.bench.stall(STALLS[0]);
    let first = [2048, 8192].map(|rows| {
        let table = Table { rows, columns: [1, 0, 0, 0, 1], ..FLAT };
        let (request, memory, _) = table.make();
        around.memory = Segments::new().with(BASE, memory);
        around.first_token(&request)
    });
    println!("{first:?} cycles");
    assert!(first[1] <= first[0] + 20 && first[0] < 2 * around.latency + 600, "{first:?}");
}

/// A line of bits that cannot be read ends the request behind its first messages. What was sent is right, and the next
/// request is sent whole.
#[test]
fn bits_that_cannot_be_read_end_a_request_behind_its_first_messages() {
    let library = many();
    let mut some = 0;
    for seed in 0..6 {
        let mut around = Around::new(&library, seed);
        let table = Table { destinations: 1 + 3 * (seed % 3) as u16, ..FLAT };
        let (request, memory, _) = table.make();
        let whole = Segments::new().with(BASE, memory.clone());
        let expected = expected(&request, false, &whole).unwrap();
        // The third column of bits, from row 1,024 on, is in no memory.
        let bits = &request.partitioned.as_ref().unwrap().entries[4];
        let hole = (bits.offset - BASE) as usize + 128..(bits.offset - BASE) as usize + 200;
        around.memory = Segments::new()
            .with(BASE, memory[..hole.start].to_vec())
            .with(BASE + hole.end as u64, memory[hole.end..].to_vec());
        let mut byte = [0];
        assert!(around.memory.read(BASE + hole.start as u64, &mut byte).is_err());
        around.behind = memory.clone();
        let walked = around.walk(&request, false);
        assert_eq!(walked.status.0, Status::LocalProtectionError as u8, "seed {seed}");
        assert!(walked.status.1 < table.destinations, "seed {seed}: {:?}", walked.status);
        for (given, messages) in walked.given.iter().zip(&expected) {
            let count = given.messages.len();
            some += count;
            assert!(!given.ended && count < messages.len());
            assert!(given.messages.iter().map(|(_, bytes)| bytes).eq(&messages[..count]));
        }
        around.behind.clear();
        walk(&mut around, &table, false);
    }
    assert!(some > 100, "{some} messages before the end");
}

/// Ids that cannot be read end a request at the destination whose turn comes to them first, though the walk reads ids of
/// the next turn before the current one has ended.
#[test]
fn ids_that_cannot_be_read_end_a_request_in_the_turn_that_needs_them() {
    let library = many();
    for seed in 0..12 {
        let mut around = Around::new(&library, seed);
        // The last destination has no rows.
        let table = Table { destinations: 4, of: |row| (row % 3) as u16, ..FLAT };
        let (request, memory, ids) = table.make();
        // A chunk and a window of ids begin with row 1,024.
        let hole = ids + 1024..ids + 1100;
        around.memory = Segments::new()
            .with(BASE, memory[..hole.start].to_vec())
            .with(BASE + hole.end as u64, memory[hole.end..].to_vec());
        around.behind = memory.clone();
        let walked = around.walk(&request, false);
        assert_eq!(walked.status, (Status::LocalProtectionError as u8, 0), "seed {seed}");
        around.behind.clear();
        walk(&mut around, &table, false);
    }
}
