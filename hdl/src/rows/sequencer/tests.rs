//! The sequencer against plain Rust.

mod by_columns;
mod card;
mod check;
mod column_path;
mod columns;
mod generate;
mod key_beats;
mod partitioned;
mod pointers;
mod selector;

use super::Sequencer;
use super::reference::{Dest, Event, Region};
use crate::testing;
use card::{Card, Request};
use check::check;
use drdma_abi::completion::Status;
use drdma_abi::work_request::RegionType;
use drdma_verilated::testbench::{Beat, Bench, MonitorId, Random, STALLS};
use drdma_verilated::{Library, Word};
use generate::{random_request, spoil};

fn library() -> Library {
    testing::library("sequencer", Sequencer::default)
}

#[test]
fn tokens_are_the_rows_of_the_request() {
    let library = library();
    let mut by_ids = 0;
    for seed in (1..=18).chain([223]) {
        let mut card = Card::new(&library, seed);
        let mut random = Random::new(seed + 1000);
        let stalls = STALLS[seed as usize % STALLS.len()];
        card.bench.stall(stalls);
        card.latency = [325, 1, 40][seed as usize % 3];
        let mut requests: Vec<_> = (0..12).map(|_| random_request(&mut random)).collect();
        requests.iter_mut().for_each(|r| spoil(&mut random, r));
        by_ids += requests.iter().filter(|r| r.shared.is_some()).count();
        let mut sets = 0;
        requests.retain(|r| {
            sets += r.dests.iter().map(|d| d.regions.len()).sum::<usize>();
            sets <= 2000
        });
        let posted: Vec<_> = requests.iter_mut().map(|r| card.post(r)).collect();
        let tokens = card.finish(requests.len());
        for (i, request) in requests.iter().enumerate() {
            println!("seed {seed}, request {i}, {} tokens", tokens[i].len());
            check(&tokens[i], request, posted[i], &card);
        }
    }
    assert!(by_ids > 20, "{by_ids} partitioned requests");
}

fn region(kind: RegionType, lanes: Vec<(u64, u64, u32)>, count: u32) -> Region {
    Region {
        kind,
        addr: 0,
        count,
        lanes,
        bits: vec![true; count as usize],
        fetch: None,
        pointers: (0..u64::from(count)).map(|i| 4096 + i * 1000).collect(),
        target_addr: 0,
        target_len: 1 << 40,
        low: 0,
        high: 64,
        fails: false,
    }
}

fn dest(regions: Vec<Region>, element_mask: bool) -> Dest {
    Dest { regions, is_write: false, is_ud: false, log_mtu: 12, element_mask, units: 1 }
}

/// Runs a request at 325 cycles of latency: cycles from the first to the last token.
fn cycles(library: &Library, mut request: Request) -> (u64, u64) {
    let mut card = Card::new(library, 7);
    let posted = card.post(&mut request);
    let before = card.bench.cycles();
    let tokens = card.finish(1);
    check(&tokens[0], &request, posted, &card);
    let at = card.bench.received_at(card.tokens);
    (at[0] - before, at[at.len() - 1] - at[0])
}

fn one(dest: Dest) -> Request {
    Request { dests: vec![dest], status: (0, 0), shared: None, apart: false, column: None }
}

#[test]
fn a_request_behind_a_failed_queue_pair_is_flushed() {
    let library = library();
    let mut card = Card::new(&library, 7);
    let rows = || region(RegionType::Strided, vec![(0, 8, 8)], 4);
    let mut request = one(dest(vec![rows()], false));
    // The queue pair fails while the request waits behind one that failed.
    let mut bad = one(dest(vec![rows()], false));
    bad.status = (Status::LocalProtectionError as u8, 0);
    card.post(&mut bad);
    card.post(&mut request);
    card.post(&mut bad);
    card.bench.run(200);
    card.qp_errors.borrow_mut().insert(0);
    let tokens = card.finish(3);
    let end = |k: usize| tokens[k].last().unwrap();
    assert_eq!(end(0).u64("status"), Status::LocalProtectionError as u64);
    assert_eq!(end(0).u64("dest_end"), 1);
    assert_eq!((tokens[1].len(), end(1).u64("status")), (1, Status::WrFlushError as u64));
    assert_eq!(end(1).u64("dest_end"), 0, "the queue pair has failed already");
    assert_eq!((tokens[2].len(), end(2).u64("status")), (1, Status::WrFlushError as u64));
}

#[test]
fn a_row_a_cycle_of_every_kind() {
    let library = library();
    let columns = || vec![(0, 8, 8), (1 << 20, 4, 4), (1 << 21, 4, 4)];
    for kind in [RegionType::Strided, RegionType::Bitmapped, RegionType::PointerMapped] {
        let (first, rest) =
            cycles(&library, one(dest(vec![region(kind, columns(), 20_000)], false)));
        println!("{kind:?}: first token after {first} cycles, then {rest}");
        assert!((20_000..20_040).contains(&rest), "{kind:?}: {rest} cycles for 20,000 rows");
        // Pointers are scanned first, eight a cycle.
        let scan = if kind == RegionType::PointerMapped { 325 + 2500 + 20 } else { 0 };
        let read = if kind == RegionType::Strided { 0 } else { 325 };
        assert!(first < 40 + scan + read, "{kind:?}: {first} cycles");
    }
}

#[test]
fn a_beat_a_cycle_of_long_rows() {
    let library = library();
    let wide = vec![(0, 4000, 1000), (1 << 20, 4000, 40), (1 << 21, 4000, 30), (1 << 22, 4000, 30)];
    let (_, rest) =
        cycles(&library, one(dest(vec![region(RegionType::Strided, wide, 300)], false)));
    assert!((300 * 18..300 * 18 + 20).contains(&rest), "{rest} cycles for 300 rows of 18 beats");
}

#[test]
fn an_element_a_cycle_of_several_regions() {
    let library = library();
    let column = |i: u64| region(RegionType::Strided, vec![(i << 20, 4, 4)], 4000);
    let (_, rest) = cycles(&library, one(dest((0..5).map(column).collect(), true)));
    assert!((20_000..20_020).contains(&rest), "{rest} cycles for 20,000 elements");
}

#[test]
fn destinations_take_turns_and_their_bitmaps_are_read_ahead() {
    let library = library();
    let mut request =
        Request { dests: Vec::new(), status: (0, 0), shared: None, apart: false, column: None };
    let mut rows = 0;
    for i in 0..64_u64 {
        let columns = vec![(0, 8, 8), (1 << 24, 8, 8), (1 << 25, 4, 4)];
        let mut region = region(RegionType::Bitmapped, columns, 16_384);
        for (row, bit) in region.bits.iter_mut().enumerate() {
            *bit = ((row as u64 * 0x9e37_79b9) >> 7) & 63 == i;
            rows += u64::from(*bit);
        }
        request.dests.push(dest(vec![region], false));
    }
    assert_eq!(rows, 16_384);
    let (_, rest) = cycles(&library, request);
    println!("64 destinations, 16,384 rows in all: {rest} cycles");
    // 32 chunks of 512 rows: 64 x 8 words of each bitmap chunk, and few cycles a turn.
    assert!(rest < 32 * 64 * 20, "{rest} cycles");
}

#[test]
fn chunks_begin_at_the_first_destination_and_fit_a_window() {
    let library = library();
    let mut card = Card::new(&library, 3);
    let columns = || vec![(0, 8, 8), (1 << 24, 8, 8), (1 << 25, 4, 4)];
    let regions = || vec![region(RegionType::Strided, columns(), 2000)];
    let dests = (0..3).map(|_| dest(regions(), false)).collect();
    let mut request = Request { dests, status: (0, 0), shared: None, apart: false, column: None };
    let posted = card.post(&mut request);
    let tokens = card.finish(1);
    check(&tokens[0], &request, posted, &card);
    let starts: Vec<_> = tokens[0].iter().filter(|t| t.u64("chunk_start") == 1).collect();
    let rows: Vec<_> = starts.iter().map(|t| t.u64("row")).collect();
    assert_eq!(rows, [0, 512, 1024, 1536], "12 KiB hold 512 rows that span 20 bytes");
    assert!(starts.iter().all(|t| t.u64("dest") == u64::from(posted.1)));
    assert!(starts.iter().all(|t| t.u64("chunk_blocks") == 512 * 20 / 256 + 3));
}

#[test]
fn short_requests_follow_each_other_closely() {
    let library = library();
    let mut card = Card::new(&library, 5);
    let mut requests: Vec<_> = (0..100)
        .map(|_| one(dest(vec![region(RegionType::Contiguous, vec![(0, 0, 64)], 1)], false)))
        .collect();
    let posted: Vec<_> = requests.iter_mut().map(|r| card.post(r)).collect();
    let tokens = card.finish(100);
    (0..100).for_each(|i| check(&tokens[i], &requests[i], posted[i], &card));
    let at = card.bench.received_at(card.tokens);
    let each = (at[199] - at[1]) / 99;
    println!("{each} cycles a request");
    assert!(each <= 8, "{each} cycles a request");
}

#[test]
fn a_short_message_waits_for_nothing() {
    let library = library();
    let of = |bytes| region(RegionType::Contiguous, vec![(0, 0, bytes)], 1);
    let (first, end) = cycles(&library, one(dest(vec![of(64)], false)));
    assert_eq!((first, end), (8, 1), "its token, and that of the request's end");
    let (first, _) = cycles(&library, one(dest(vec![of(65)], false)));
    assert_eq!(first, 10, "a unit that is cut");
}

/// Requests with kinds of columns take another path, on which fixed columns have the same fragments.
#[test]
fn requests_with_kinds_are_walked_by_the_block_that_has_them() {
    let library = library();
    let mut card = Card::new(&library, 9);
    let of = |kind, is_write| {
        let mut region = region(kind, vec![(0, 8, 8), (1 << 20, 4, 4)], 700);
        region.bits = (0..700).map(|row| row % 3 == 1).collect();
        Dest { is_write, units: 100, ..dest(vec![region], false) }
    };
    let request = |is_write, kinds: [RegionType; 2]| Request {
        dests: kinds.map(|kind| of(kind, is_write)).into(),
        ..one(dest(Vec::new(), false))
    };
    let (strided, bitmapped) = (RegionType::Strided, RegionType::Bitmapped);
    let requests = [
        (true, request(true, [strided, bitmapped])),
        (false, request(false, [bitmapped, strided])),
        (true, request(false, [bitmapped, strided])),
    ];
    for (has_kinds, mut request) in requests {
        card.has_kinds = has_kinds;
        let before = card.read;
        let posted = card.post(&mut request);
        let tokens = card.finish(1).remove(0);
        assert!(card.read > before, "its bitmap is read");
        check_lanes(&card, &request, posted, &tokens);
    }
}

/// Tokens of a request have the lanes of its rows, in any pieces.
fn check_lanes(card: &Card<'_>, request: &Request, posted: (u8, u16), tokens: &[Beat]) {
    for (index, dest) in (0..).zip(&request.dests) {
        let place = (posted.1 + index) % 1024;
        let own = tokens.iter().filter(|token| token.u64("dest") == u64::from(place));
        let lanes = |token: &Beat| {
            let row = token.u64("row") as u32;
            (token.u64("first") as u8..=token.u64("last") as u8).map(move |lane| (lane, row))
        };
        let found: Vec<_> = own.filter(|token| token.u64("bytes") > 0).flat_map(lanes).collect();
        let fragment = |event: &Event| match *event {
            Event::Fragment { lane, row, .. } => Some((lane, row)),
            _ => None,
        };
        let expected = dest.events(card.first_sets[&place], false);
        let expected: Vec<_> = expected.iter().filter_map(fragment).collect();
        assert_eq!(found, expected, "destination {index}");
    }
    assert_eq!(tokens.last().map(|end| end.u64("status")), Some(0));
}

/// A request with kinds for two destinations, whose bitmaps select about half of `rows` rows.
fn by_bitmaps(rows: u32, seed: u64) -> Request {
    let mut random = Random::new(seed);
    let dests = [0, 1].map(|_| {
        let mut region = region(RegionType::Bitmapped, vec![(0, 8, 8), (1 << 20, 4, 4)], rows);
        region.bits = (0..rows).map(|_| random.chance(0.5)).collect();
        Dest { units: 100, ..dest(vec![region], false) }
    });
    Request { dests: dests.into(), ..one(dest(Vec::new(), false)) }
}

/// The lists of a request with kinds are read while the one before is sent.
#[test]
fn requests_with_kinds_wait_for_no_list_behind_each_other() {
    const ROWS: u32 = 400;
    let library = library();
    let mut card = Card::new(&library, 12);
    card.has_kinds = true;
    let mut requests: Vec<_> = (0..4).map(|seed| by_bitmaps(ROWS, seed)).collect();
    let posted: Vec<_> = requests.iter_mut().map(|request| card.post(request)).collect();
    let tokens = card.finish(requests.len());
    (0..4).for_each(|i| check_lanes(&card, &requests[i], posted[i], &tokens[i]));
    let at = card.bench.received_at(card.tokens);
    let mut first = 0;
    let gaps: Vec<_> = tokens
        .iter()
        .map(|tokens| {
            first += tokens.len();
            at.get(first).map_or(0, |next| next - at[first - 1])
        })
        .collect();
    println!("{gaps:?} cycles from the end of a request to the next token");
    // Each row is judged, in a cycle.
    assert!(gaps.iter().all(|gap| *gap < u64::from(ROWS) + 200), "{gaps:?}");
}

/// A request is flushed whose lists were read while the one before was sent: another request, whose sets have the same
/// numbers, has lists of its own.
#[test]
fn lists_of_a_flushed_request_are_dropped() {
    let library = library();
    let mut card = Card::new(&library, 13);
    card.has_kinds = true;
    card.qp_errors.borrow_mut().insert(1);
    let mut first = by_bitmaps(300, 1);
    let posted = card.post(&mut first);
    let set = card.next_set;
    card.bench.set("dest_write_qp", 1_u64);
    card.post(&mut by_bitmaps(300, 2));
    card.bench.set("dest_write_qp", 0_u64);
    let tokens = card.finish(2);
    check_lanes(&card, &first, posted, &tokens[0]);
    assert_eq!(tokens[1].len(), 1);
    assert_eq!(tokens[1][0].u64("status"), Status::WrFlushError as u64);
    assert_eq!(card.read, 4 * 38, "the lists of both were read");
    card.next_set = set;
    let mut third = by_bitmaps(300, 3);
    let posted = card.post(&mut third);
    let tokens = card.finish(1);
    check_lanes(&card, &third, posted, &tokens[0]);
}

/// A request with kinds stands between two that take the column path: each gets the answers of its own reads, whatever
/// the reader was asked for last.
#[test]
fn answers_for_kinds_go_between_those_for_the_column_path() {
    let library = library();
    for fetches in [false, true] {
        let mut card = Card::new(&library, 14);
        card.columns.enable(&mut card.bench, 1);
        let by_columns = |seed| {
            let mut request = by_bitmaps(3000, seed);
            if fetches {
                let fetched = (vec![true; 3000], false);
                request.dests.iter_mut().for_each(|d| d.regions[0].fetch = Some(fetched.clone()));
            }
            assert!(request.chunk_rows(1).is_some());
            request
        };
        let mut requests = [by_columns(1), by_bitmaps(700, 2), by_columns(3)];
        let posted: Vec<_> = requests
            .iter_mut()
            .zip([false, true, false])
            .map(|(request, has_kinds)| {
                card.has_kinds = has_kinds;
                card.post(request)
            })
            .collect();
        let tokens = card.finish(requests.len());
        check(&tokens[0], &requests[0], posted[0], &card);
        check_lanes(&card, &requests[1], posted[1], &tokens[1]);
        check(&tokens[2], &requests[2], posted[2], &card);
    }
}

/// Destinations of the same lanes are judged by one product each, others by the sum over their regions.
#[test]
fn messages_that_are_too_long_fail_the_first_destination_that_has_one() {
    let library = library();
    let mut card = Card::new(&library, 11);
    let of = || {
        let rows = region(RegionType::Strided, vec![(0, 1 << 30, 1 << 30)], 3);
        Dest { is_write: true, units: 10, ..dest(vec![rows], false) }
    };
    // More bytes in a row of both regions than are counted.
    let wide = || region(RegionType::Bitmapped, vec![(0, u32::MAX.into(), u32::MAX); 16], 1);
    let widest = Dest { units: 2, ..dest(vec![wide(), wide()], true) };
    for mut request in [Request { dests: vec![of(), of(), of()], ..one(of()) }, one(widest)] {
        let posted = card.post(&mut request);
        let tokens = card.finish(1);
        check(&tokens[0], &request, posted, &card);
        let end = tokens[0].last().expect("an end");
        let length = Status::LocalLengthError as u64;
        assert_eq!((tokens[0].len(), end.u64("status"), end.u64("bad_dest")), (1, length, 0));
    }
}
