//! Tests of requests that are sent from what was kept of them.

use super::cycles::Nullable;
use super::turns::{STRINGS, Table};
use super::{Around, Change, Dest, Walked, expected, many};
use drdma_abi::work_request::Opcode;
use drdma_semantics::kinds::{Entry, Kinds};
use drdma_semantics::memory::Segments;
use drdma_semantics::region::Region;
use drdma_semantics::request::Request;
use drdma_verilated::testbench::{Random, STALLS};
use std::collections::BTreeMap;

/// The host writes other offsets at any time: a request that was kept is sent as a whole, or nothing is sent of it.
#[test]
fn what_was_judged_is_sent() {
    let library = many();
    let mut random = Random::new(11);
    let mut statuses = BTreeMap::new();
    let mut around = Around::new(&library, 1);
    around.bench.stall(STALLS[0]);
    for number in 0..40 {
        let opcode = if number % 2 == 0 { Opcode::Send } else { Opcode::Write };
        // A message has 100 rows, so that the lengths of all messages are kept.
        let table = Table { rows: 600, opcode, rows_per_message: 100, ..STRINGS };
        let (request, memory, _) = table.make();
        let offsets =
            (request.partitioned.as_ref().unwrap().entries[4].offset - super::BASE) as usize;
        let mut changed = memory.clone();
        for _ in 0..1 + random.below(4) {
            let at = offsets + 4 * (1 + random.below(600) as usize);
            changed[at..at + 4].copy_from_slice(&(1_u32 << 30).to_le_bytes());
        }
        around.memory = Segments::new().with(super::BASE, memory);
        let due = around.bench.cycles() + 200 + random.below(4000);
        let memory = Segments::new().with(super::BASE, changed);
        around.change = Some(Change { due, every: 1 << 40, memory });
        let walked = around.walk(&request, false);
        around.change = None;
        *statuses.entry(walked.status.0).or_insert(0) += 1;
        for dest in &walked.given {
            if walked.status.0 == 0 {
                assert!(dest.ended && dest.open.is_none(), "{number}");
                for (announced, bytes) in &dest.messages {
                    assert!(!opcode.is_write() || bytes.len() as u64 == *announced, "{number}");
                }
            } else {
                assert_eq!(*dest, Dest::default(), "{number}: a part of the request is sent");
            }
        }
    }
    println!("{statuses:?}");
    assert!(statuses[&0] > 5 && statuses[&4] > 1, "{statuses:?}");
}

/// Cycles of two requests of which the second one is known while the first one is walked.
fn cycles_of_two(around: &mut Around<'_>, table: &Table, known: bool) -> [u64; 2] {
    let (request, memory, _) = table.make();
    around.memory = Segments::new().with(super::BASE, memory);
    let messages = expected(&request, false, &around.memory).unwrap();
    let places = [(); 2].map(|()| around.place(&request, false));
    (0..6).for_each(|_| around.step());
    if known {
        around.announce(&request, places[1]);
    }
    places.map(|place| {
        let walked = around.walk_placed(&request, place);
        around.announce_none();
        compare(&walked, &messages, table.opcode);
        walked.cycles
    })
}

/// Compares the messages that were sent with those of the semantics.
pub(super) fn compare(walked: &Walked, messages: &[Vec<Vec<u8>>], opcode: Opcode) {
    assert_eq!(walked.status, (0, 0));
    for (given, messages) in walked.given.iter().zip(messages) {
        let told = |bytes: &Vec<u8>| if opcode.is_write() { bytes.len() as u64 } else { 0 };
        let all: Vec<_> = messages.iter().map(|bytes| (told(bytes), bytes.clone())).collect();
        assert!(given.messages == all);
    }
}

/// Bits at the beginning of a row are no group of fixed width that precedes a string.
#[test]
fn bits_before_a_string_are_sent_as_bits() {
    let library = many();
    let mut around = Around::new(&library, 0);
    for bits in 1..=3 {
        let table = Table { columns: [0, 1, 0, 0, bits], ..STRINGS };
        let (mut request, memory, _) = table.make();
        request.partitioned.as_mut().unwrap().entries.rotate_left(1);
        around.memory = Segments::new().with(super::BASE, memory);
        let messages = expected(&request, false, &around.memory).unwrap();
        compare(&around.walk(&request, false), &messages, table.opcode);
    }
}

/// Rows of all destinations begin with the same values of fixed width before bits; or those of one destination do not.
#[test]
fn destinations_whose_rows_begin_otherwise_get_their_rows() {
    let library = many();
    let mut around = Around::new(&library, 0);
    let entries = |request: &Request, index: usize| match &request.destinations[index].regions[0] {
        Region::Kinds(kinds) => kinds.entries.clone(),
        _ => unreachable!("a region with kinds"),
    };
    let change = |name: &str, entries: &[Entry]| match name {
        "none" => vec![entries.to_vec()],
        "fewer bytes" => vec![entries[1..].to_vec()],
        "bits alone" => vec![entries[3..].to_vec()],
        "bits first" => vec![[&entries[3..], &entries[..3]].concat()],
        _ => vec![entries.to_vec(), entries.to_vec()],
    };
    for name in ["none", "fewer bytes", "bits alone", "bits first", "two regions"] {
        for index in 0..3 {
            let table = Nullable {
                values: 3,
                bits: 2,
                rows: 400,
                destinations: 3,
                by_ids: false,
                joined: true,
                apart: false,
                latency: 100,
            };
            let (mut request, memory) = table.make();
            let regions = change(name, &entries(&request, index));
            let region = request.destinations[index].regions[0].clone();
            let with = |entries| match region.clone() {
                Region::Kinds(kinds) => Region::Kinds(Kinds { entries, ..kinds }),
                other => other,
            };
            request.destinations[index].regions = regions.into_iter().map(with).collect();
            around.memory = memory;
            let messages = expected(&request, false, &around.memory).unwrap();
            println!("{name}, destination {index}");
            compare(&around.walk(&request, false), &messages, request.opcode);
        }
    }
}

/// Tokens of a row of 32 B and a string of 0 to 60 B with its length, on average: a row of up to 64 B has one.
const OF_STRINGS: f64 = (29.0 + 2.0 * 32.0) / 61.0;

/// A request is judged while the one before is sent: it takes a cycle for each of its tokens, and some for each turn.
/// So does one of bits and values of fixed width, which is sent as it is judged, whether it is known or not.
#[test]
fn a_request_is_judged_while_the_one_before_is_sent() {
    let library = many();
    let mut around = Around::new(&library, 0);
    around.bench.stall(STALLS[0]);
    let cases = [
        ("SENDs", Table { ..STRINGS }, OF_STRINGS),
        ("WRITEs", Table { opcode: Opcode::Write, rows_per_message: 1000, ..STRINGS }, OF_STRINGS),
        ("bits", Table { columns: [2, 0, 0, 0, 9], ..STRINGS }, 2.0),
    ];
    for (name, table, tokens) in cases {
        let alone = cycles_of_two(&mut around, &table, false);
        let known = cycles_of_two(&mut around, &table, true);
        println!("{name}: {alone:?} cycles alone, {known:?} if the second one is known");
        // Tokens of rows, one of a message; turns of 256 rows.
        let rows = u64::from(table.rows);
        let most = (tokens * rows as f64) as u64 + rows / 10 + 8 + 4 * 8 * rows.div_ceil(256) + 100;
        assert!(known[1] <= most, "{name}: {known:?}, {most} expected");
        let has_strings = table.columns[1] == 1;
        assert!((alone[1] > most + 1000) == has_strings, "{name}: {alone:?}");
        assert!(has_strings || alone[1] <= most, "{name}: {alone:?}, {most} expected");
        // A row of values of fixed width and a string takes a cycle where it is judged.
        assert!(known[0] <= alone[0] + 100, "{name}: {known:?}, {alone:?} alone");
    }
}
