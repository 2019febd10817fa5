//! Tests of lists whose windows lose their slots.

use super::kept::compare;
use super::turns::{STRINGS, Table};
use super::{ALL, Around, BASE, expected, many};
use drdma_abi::work_request::Opcode;
use drdma_semantics::kinds::{Kinds, Selection};
use drdma_semantics::memory::Segments;
use drdma_semantics::region::Region;
use drdma_semantics::request::Request;
use drdma_verilated::Library;
use drdma_verilated::testbench::STALLS;

/// Requests for a table's columns, each destination with a bitmap of its own, and the host's memory. `of` says which
/// of a destination's rows are selected.
fn bitmaps(
    table: &Table,
    requests: &[(u32, usize)],
    of: fn(usize, u32) -> bool,
) -> (Vec<Request>, Segments) {
    let (like, mut memory, mut at) = table.make();
    // The ids of the table are not used.
    memory[at..].fill(0);
    let entries = like.partitioned.as_ref().unwrap().entries.clone();
    let mut request = |&(rows, destinations): &(u32, usize)| {
        let destination = |index: usize| {
            let bitmap = BASE + at as u64;
            for row in (0..rows).filter(|row| of(index, *row)) {
                memory[at + row as usize / 8] |= 1 << (row % 8);
            }
            at += rows.div_ceil(8) as usize;
            let rows = Selection::Bitmap { bitmap, first: 0, rows, lkey: ALL };
            let regions = vec![Region::Kinds(Kinds { rows, entries: entries.clone() })];
            super::Destination { partition: 0, regions, ..like.destinations[0].clone() }
        };
        let destinations = (0..destinations).map(destination).collect();
        Request { partitioned: None, destinations, ..like.clone() }
    };
    let requests = requests.iter().map(&mut request).collect();
    (requests, Segments::new().with(BASE, memory))
}

/// Cycles of a read of host memory.
const LATENCY: u64 = 300;

/// Round trips that the last of the requests takes, each of which is known while the one before is walked. They are
/// found from the cycles that a longer round trip costs.
fn trips(library: &Library, requests: &[Request], memory: &Segments) -> u64 {
    let cycles = [LATENCY, 2 * LATENCY].map(|latency| {
        let mut around = Around::new(library, 0);
        around.bench.stall(STALLS[0]);
        around.latency = latency;
        around.memory = memory.clone();
        let places: Vec<_> = requests.iter().map(|request| around.place(request, false)).collect();
        (0..6).for_each(|_| around.step());
        let mut last = 0;
        for (at, request) in requests.iter().enumerate() {
            around.announce_none();
            if let Some(next) = requests.get(at + 1) {
                around.announce(next, places[at + 1]);
            }
            let walked = around.walk_placed(request, places[at]);
            assert_eq!(walked.status, (0, 0));
            last = walked.cycles;
        }
        last
    });
    println!("{cycles:?} cycles");
    (cycles[1] - cycles[0]).div_ceil(LATENCY)
}

/// More destinations than windows that are kept, and more values than are kept, so that the rows are walked twice: the
/// lists that were asked for ahead of the first walk are asked for again before the second one, all at once.
#[test]
fn lists_of_more_destinations_than_slots_are_asked_for_again() {
    const LISTS: usize = 100;
    let library = many();
    for (seed, opcode) in [(0, Opcode::Send), (1, Opcode::Write)] {
        let mut around = Around::new(&library, seed);
        let table = Table { rows: 4000, columns: [1, 2, 0, 0, 0], longest: 6, opcode, ..STRINGS };
        let selected = |index, row| row as usize % (LISTS + 1) == index;
        let (requests, memory) = bitmaps(&table, &[(4000, LISTS)], selected);
        around.memory = memory;
        let messages = expected(&requests[0], false, &around.memory).unwrap();
        compare(&around.walk(&requests[0], false), &messages, opcode);
        let trips = trips(&library, &requests, &around.memory);
        assert!(trips <= 6, "{trips} round trips");
    }
}

/// A list of more windows than half of the slots takes those of the next request, whose lists are asked for again, all
/// at once.
#[test]
fn the_next_request_gets_its_lists_though_a_long_one_took_their_slots() {
    let library = many();
    let table = Table { rows: 140_000, columns: [0, 0, 0, 1, 1], ..STRINGS };
    let selected = |index: usize, row: u32| row as usize % 17 == index;
    let (requests, memory) = bitmaps(&table, &[(140_000, 1), (3000, 16)], selected);
    for seed in 0..2 {
        let mut around = Around::new(&library, seed);
        around.memory = memory.clone();
        let places = [0, 1].map(|at| around.place(&requests[at], false));
        (0..6).for_each(|_| around.step());
        around.announce(&requests[1], places[1]);
        for (request, place) in requests.iter().zip(places) {
            let messages = expected(request, false, &around.memory).unwrap();
            compare(&around.walk_placed(request, place), &messages, request.opcode);
            around.announce_none();
        }
    }
    let trips = trips(&library, &requests, &memory);
    assert!(trips <= 6, "{trips} round trips");
}
