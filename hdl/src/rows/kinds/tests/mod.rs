//! Compares the messages of the walk with those of the semantics, one by one.

mod around;
mod bench;
mod chaser;
mod cycles;
mod generate;
mod kept;
mod keys;
mod lines;
mod lists;
mod stream;
mod turns;

use crate::testing;
use around::{Around, Change, Dest, Walked};
use bench::WithTables;
use drdma_abi::register::MemoryRegionEntry;
use drdma_abi::roce::Transport;
use drdma_abi::work_request::{KeyType, MessageLayout, Opcode};
use drdma_semantics::checks::{Directory, QueuePair, check_contents};
use drdma_semantics::kinds::{Entry, Kind, Kinds, Selection};
use drdma_semantics::memory::Segments;
use drdma_semantics::partitioned::Partitioned;
use drdma_semantics::region::{Region, RowMask};
use drdma_semantics::request::{Destination, Request};
use drdma_verilated::Library;
use drdma_verilated::testbench::Random;
use generate::{Maker, TAIL_BYTES};
use std::collections::BTreeMap;
use std::ops::Range;

/// Host address at which memory begins.
const BASE: u64 = 0x0012_3400_0000_0ff0;
/// Number of random bytes at the beginning of memory.
const POOL: u64 = 1 << 14;
/// Bytes of memory.
const SIZE: u64 = 1 << 19;
const PD: u32 = 9;
/// Key of all memory.
const ALL: u32 = 0x0100_0003;
/// Key of memory that does not exist.
const NOWHERE: u32 = 0x0300_0005;
const LOG_MTU: u32 = 8;
/// Places of the ring of destinations.
const DESTS: u64 = 1024;

/// Records of chains that are kept: few enough that many requests have more.
const FEW_RECORDS: usize = 12;
/// Binary logarithm of twice the values that are kept of a request: few enough that some requests have more.
const FEW_VALUES: usize = 10;
/// The same, of all requests of these tests.
const MANY_VALUES: usize = 15;

fn library() -> Library {
    testing::library("kinds", WithTables::<FEW_RECORDS, FEW_VALUES>::default)
}

fn many() -> Library {
    testing::library("kinds_many", WithTables::<4000, MANY_VALUES>::default)
}

struct Memories {
    ud: bool,
}

impl Directory for Memories {
    fn memory_region(&self, lkey: u32) -> Option<MemoryRegionEntry> {
        entries().into_iter().find(|entry| entry.lkey == lkey)
    }

    fn queue_pair(&self, _: u32) -> Option<QueuePair> {
        let transport = if self.ud { Transport::Ud } else { Transport::Rc };
        Some(QueuePair { ready: true, transport, mtu: 1 << LOG_MTU, error: false, pd: PD })
    }
}

fn entries() -> Vec<MemoryRegionEntry> {
    let entry =
        |lkey, addr, len| MemoryRegionEntry { addr, len, lkey, rights: 0, pd: PD, valid: 1 };
    vec![entry(ALL, BASE, SIZE), entry(NOWHERE, BASE + SIZE, SIZE)]
}

/// Messages of each destination by the semantics, or the status and the destination that fails.
fn expected(
    request: &Request,
    ud: bool,
    memory: &Segments,
) -> Result<Vec<Vec<Vec<u8>>>, (u8, u16)> {
    let admitted = check_contents(request, PD, &Memories { ud }, memory)
        .map_err(|failure| (failure.status as u8, failure.destination))?;
    Ok((0..request.destinations.len())
        .map(|index| {
            let units = request.units(index, request.row_mask, &admitted[index].limits);
            let shape = drdma_semantics::stream::Shape {
                layout: request.destinations[index].layout,
                remote_columns: 0,
                immediate: false,
                rows_per_message: request.rows_per_message,
            };
            let mut stream = drdma_semantics::stream::MessageStream::new(units, shape);
            let mut messages = Vec::new();
            while let Some(begun) = stream.next(memory).expect("it was admitted") {
                let mut bytes = vec![0; begun.len as usize];
                stream.fill(memory, &mut bytes).expect("it was admitted");
                messages.push(bytes);
            }
            messages
        })
        .collect())
}

fn random_request(maker: &mut Maker<'_>) -> (Request, bool) {
    let ud = maker.random.below(6) == 0;
    let is_write = !ud && maker.random.below(2) == 0;
    let mut row_mask = RowMask::Period;
    let (mut partitioned, mut destinations) = (None, Vec::new());
    let destination = |partition, regions| Destination {
        qp: 1,
        remote_addr: 0,
        rkey: 0,
        partition,
        layout: MessageLayout::Rows,
        remote_columns: Vec::new(),
        regions,
    };
    if maker.random.below(5) == 0 {
        let (rows, mut width) = (maker.random.below(150), 1 + maker.random.below(2));
        let entries = maker.columns(rows as u32);
        let has_keys = maker.random.below(2) == 0;
        let ids: Vec<u8> = (0..rows)
            .flat_map(|_| maker.random.below(4).to_le_bytes()[..width as usize].to_vec())
            .collect();
        let mut at = maker.put_read(&ids);
        let mut by = None;
        if has_keys {
            let values: Vec<u8> =
                (0..rows).flat_map(|_| (maker.random.below(9) as u16).to_le_bytes()).collect();
            let values = maker.put_read(&values);
            by = Some(keys::by(values, KeyType::Integer, 2, [4, 400][width as usize - 1]));
            (at, width) = (BASE, 0);
        }
        partitioned = Some(Partitioned {
            ids: at,
            width,
            rows: rows as u32,
            lkey: ALL,
            columns: Vec::new(),
            entries,
            by,
        });
        destinations = (0..1 + maker.random.below(3) as u16)
            .map(|partition| destination(partition, Vec::new()))
            .collect();
    } else {
        if maker.random.below(3) == 0 {
            row_mask = RowMask::Element;
        }
        for _ in 0..1 + maker.random.below(3) {
            // Some destinations have no regions.
            let regions = if maker.random.below(15) == 0 { 0 } else { 1 + maker.random.below(3) };
            let mut units = None;
            if row_mask == RowMask::Element && regions > 1 {
                units = Some(maker.random.below(12));
            }
            let mut list: Vec<Region> = (0..regions).map(|_| maker.region(units)).collect();
            if units.is_some() && maker.random.below(15) == 0 {
                list[0] = maker.region(units.map(|units| units + 1));
            }
            // The regions have the same rows, like columns of values and of their validity.
            if units.is_some() && maker.random.below(2) == 0 {
                let rows = loop {
                    match maker.region(units) {
                        Region::Kinds(Kinds { rows: rows @ Selection::Bitmap { .. }, .. }) => {
                            break rows;
                        }
                        _ => continue,
                    }
                };
                let Selection::Bitmap { rows: count, .. } = rows else { unreachable!() };
                list.iter_mut().for_each(|region| {
                    let entries = maker.columns(count);
                    *region = Region::Kinds(Kinds { rows, entries });
                });
            }
            destinations.push(destination(0, list));
        }
    }
    for destination in &mut destinations {
        if maker.random.below(3) == 0 {
            destination.layout = MessageLayout::Columns;
        }
    }
    let opcode = if is_write { Opcode::Write } else { Opcode::Send };
    let rows_per_message = if ud { 1 } else { 1 + maker.random.below(9) as u32 };
    let request = Request {
        wr_id: 0,
        opcode,
        imm: 0,
        row_mask,
        rows_per_message,
        signaled: true,
        fetch: None,
        inline: None,
        partitioned,
        destinations,
    };
    (request, ud)
}

/// Random requests, each with whether it is for a queue pair of UD, and the host's memory.
struct Made {
    requests: Vec<(Request, bool)>,
    memory: Vec<u8>,
    hole: Option<Range<usize>>,
    named: Vec<Range<u64>>,
}

fn make(random: &mut Random) -> Made {
    let memory = random.bytes(POOL as usize);
    let mut maker = Maker { random, memory, hole: None, named: Vec::new() };
    let count = 1 + maker.random.below(3);
    let requests = (0..count).map(|_| random_request(&mut maker)).collect();
    let Maker { mut memory, hole, named, .. } = maker;
    assert!(memory.len() < (SIZE - TAIL_BYTES) as usize);
    memory.resize(SIZE as usize, 0x77);
    Made { requests, memory, hole, named }
}

fn segments(memory: &[u8], hole: Option<Range<usize>>) -> Segments {
    let hole = hole.unwrap_or(memory.len()..memory.len());
    Segments::new()
        .with(BASE, &memory[..hole.start])
        .with(BASE + hole.end as u64, &memory[hole.end..])
}

#[test]
fn messages_are_those_of_the_semantics() {
    let library = library();
    let (mut failures, mut bytes, mut by_columns) = (BTreeMap::new(), 0, 0);
    for seed in 0..9 {
        let mut around = Around::new(&library, seed);
        let mut random = Random::new(seed + 100);
        for number in 0..30 {
            let Made { requests, memory, hole, named } = make(&mut random);
            around.memory = segments(&memory, hole);
            around.named = named;
            around.behind = memory;
            for ((request, ud), walked) in requests.iter().zip(around.walk_all(&requests)) {
                let expected = expected(request, *ud, &around.memory);
                println!("seed {seed}, requests {number}: {:?}", expected.as_ref().err());
                let Some(walked) = walked else { continue };
                match expected {
                    Err(status) => {
                        *failures.entry(status.0).or_insert(0) += 1;
                        assert_eq!(walked.status, status, "seed {seed}, {number}: {request:?}");
                        let nothing = vec![Dest::default(); request.destinations.len()];
                        assert_eq!(walked.given, nothing, "seed {seed}, requests {number}");
                    }
                    Ok(messages) => {
                        assert_eq!(walked.status, (0, 0), "seed {seed}, {number}: {request:?}");
                        for (index, (dest, messages)) in
                            walked.given.iter().zip(messages).enumerate()
                        {
                            if request.destinations[index].layout == MessageLayout::Columns {
                                by_columns += messages.len();
                            }
                            assert_eq!(dest.ended, !messages.is_empty());
                            assert_eq!(dest.open, None);
                            let is_write = request.opcode.is_write();
                            let told =
                                |bytes: &Vec<u8>| if is_write { bytes.len() as u64 } else { 0 };
                            let all: Vec<_> =
                                messages.iter().map(|m| (told(m), m.clone())).collect();
                            assert_eq!(dest.messages, all, "seed {seed}, {number}: {request:?}");
                            bytes += all.iter().map(|message| message.1.len()).sum::<usize>();
                        }
                    }
                }
            }
        }
    }
    println!("{failures:?}, {bytes} bytes, {by_columns} messages by columns");
    assert!(failures.len() == 3 && bytes > 50_000, "{failures:?}, {bytes} bytes");
    assert!(by_columns > 300, "{by_columns} messages by columns");
}

/// The host changes lists and entries while values are found: whatever they become, no token leaves the memory of the
/// request's keys, and no message has another length than the announced one.
#[test]
fn memory_that_changes_leads_nowhere_else() {
    let library = library();
    let mut statuses = BTreeMap::new();
    for seed in 0..9 {
        let mut around = Around::new(&library, seed);
        let mut random = Random::new(seed + 200);
        for number in 0..30 {
            let Made { requests, memory, .. } = make(&mut random);
            let mut changed = memory.clone();
            let rarity = 20 << random.below(7);
            for word in changed[POOL as usize..(SIZE - TAIL_BYTES) as usize].chunks_exact_mut(4) {
                let value = match random.below(rarity) {
                    0..=7 => random.below(4200) as u32,
                    8 => random.u64() as u32,
                    _ => continue,
                };
                word.copy_from_slice(&value.to_le_bytes());
            }
            let valid = |(request, ud): &(Request, bool)| {
                expected(request, *ud, &segments(&memory, None)).is_ok()
            };
            let requests: Vec<_> = requests.into_iter().filter(valid).collect();
            around.memory = segments(&memory, None);
            let longest = 1 << (4 + random.below(10));
            let due = around.bench.cycles() + random.below(longest);
            let every = 1 + random.below(longest);
            around.change = Some(Change { due, every, memory: segments(&changed, None) });
            let walked = around.walk_all(&requests);
            around.change = None;
            for ((request, ud), walked) in requests.iter().zip(walked) {
                let Some(Walked { status, given, .. }) = walked else { continue };
                *statuses.entry(status.0).or_insert(0) += 1;
                let context = format!("seed {seed}, request {number}, {status:?}: {request:?}");
                let is_write = request.opcode.is_write();
                for dest in given {
                    for (announced, bytes) in dest.messages.iter().chain(&dest.open) {
                        assert!(!ud || bytes.len() <= 1 << LOG_MTU, "{context}");
                        assert!(!is_write || bytes.len() as u64 <= *announced, "{context}");
                    }
                    for (announced, bytes) in &dest.messages {
                        assert!(!is_write || bytes.len() as u64 == *announced, "{context}");
                    }
                    assert!(status.0 != 0 || dest.open.is_none(), "{context}");
                    assert!(status.0 != 0 || dest.ended || dest.messages.is_empty(), "{context}");
                }
            }
        }
    }
    println!("{statuses:?}");
    assert!(statuses[&0] > 50 && statuses[&4] > 50, "{statuses:?}");
}

/// A SEND of a column of 4 B, with a bitmap of `rows` rows for each destination, at the addresses of `bitmaps`.
fn by_bitmaps(bitmaps: &[u64], rows: u32, column: Entry) -> Request {
    let region = |bitmap| {
        let rows = Selection::Bitmap { bitmap, first: 0, rows, lkey: ALL };
        Region::Kinds(Kinds { rows, entries: vec![column] })
    };
    let destination = |bitmap: &u64| Destination {
        qp: 1,
        remote_addr: 0,
        rkey: 0,
        partition: 0,
        layout: MessageLayout::Rows,
        remote_columns: Vec::new(),
        regions: vec![region(*bitmap)],
    };
    Request {
        wr_id: 0,
        opcode: Opcode::Send,
        imm: 0,
        row_mask: RowMask::Period,
        rows_per_message: 3,
        signaled: true,
        fetch: None,
        inline: None,
        partitioned: None,
        destinations: bitmaps.iter().map(destination).collect(),
    }
}

/// A list is asked for before it is known whether the walk comes to it: a list that cannot be read fails the request
/// for its own destination, and only if no earlier destination fails.
#[test]
fn a_list_that_cannot_be_read_counts_when_the_walk_comes_to_it() {
    const ROWS: u32 = 40_000;
    const BYTES: u64 = ROWS as u64 / 8;
    let library = library();
    let mut random = Random::new(5);
    let mut memory = random.bytes(POOL as usize);
    memory.resize(SIZE as usize, 0);
    // A few rows are selected by each list, which is as long as ten windows.
    let lists: Vec<u64> = (0..40).map(|index| BASE + POOL + 5008 * index).collect();
    for list in &lists {
        for _ in 0..6 {
            let at = (list - BASE + random.below(BYTES)) as usize;
            memory[at] |= 1 << random.below(8);
        }
    }
    let of = |index: u64| (lists[index as usize] - BASE) as usize;
    let values = Entry { offset: BASE + POOL, lkey: ALL, kind: Kind::Fixed { width: 4 } };
    // Some rows have indices of which the dictionary has no value.
    let dictionary = Kind::Dictionary { log_entry: 0, values: BASE, width: 4, count: 1, lkey: ALL };
    let indices = Entry { offset: BASE + POOL, lkey: ALL, kind: dictionary };
    // Bytes that cannot be read: in the first window of a list, or in a later one.
    let holes = [
        None,
        Some(of(0)..of(0) + 1000),
        Some(of(0) + 4600..of(0) + 5000),
        Some(of(1)..of(1) + 100),
        Some(of(3) + 4999..of(3) + 5000),
        Some(of(33)..of(33) + 10),
        Some(of(39) + 2000..of(39) + 2001),
    ];
    let mut statuses = BTreeMap::new();
    for seed in 0..2 {
        let mut around = Around::new(&library, seed);
        for column in [values, indices] {
            for hole in &holes {
                around.memory = segments(&memory, hole.clone());
                around.behind = memory.clone();
                let request = by_bitmaps(&lists, ROWS, column);
                let expected = expected(&request, false, &around.memory);
                let walked = around.walk(&request, false);
                *statuses.entry(walked.status).or_insert(0) += 1;
                let status = expected.as_ref().err().copied().unwrap_or((0, 0));
                assert_eq!(walked.status, status, "seed {seed}, {hole:?}");
                for (given, messages) in walked.given.iter().zip(expected.unwrap_or_default()) {
                    let bytes: Vec<_> = messages.into_iter().map(|m| (0, m)).collect();
                    assert_eq!(given.messages, bytes, "seed {seed}, {hole:?}");
                }
            }
        }
    }
    println!("{statuses:?}");
    assert!(statuses.len() >= 6, "{statuses:?}");
}

/// What was read ahead of a request serves that request only, even if another one has sets of the same numbers.
#[test]
fn what_is_read_ahead_serves_one_request() {
    const ROWS: u32 = 496;
    const BYTES: usize = ROWS as usize / 8;
    let library = library();
    let mut random = Random::new(6);
    let mut memory = random.bytes(POOL as usize);
    let lists = [0, 1, 2, 3].map(|index| BASE + POOL + 128 * index);
    memory.extend(random.bytes(lists.len() * 128));
    memory.resize(SIZE as usize, 0);
    let mut changed = memory.clone();
    changed[POOL as usize..][..lists.len() * 128].copy_from_slice(&random.bytes(lists.len() * 128));
    let bits = |list: u64| {
        let kind = Kind::Bits { first: 5 };
        Entry { offset: list + 64, lkey: ALL, kind }
    };
    let first = by_bitmaps(&lists[..2], ROWS, bits(lists[0]));
    let second = by_bitmaps(&lists[2..], ROWS, bits(lists[2]));
    let mut around = Around::new(&library, 0);
    let check = |around: &Around<'_>, walked: Walked, request: &Request| {
        assert_eq!(walked.status, (0, 0));
        let expected = expected(request, false, &around.memory).unwrap();
        for (given, messages) in walked.given.iter().zip(expected) {
            let bytes: Vec<_> = messages.into_iter().map(|message| (0, message)).collect();
            assert!(given.messages == bytes);
        }
    };
    for forgotten in [false, true] {
        around.memory = segments(&memory, None);
        let first_place = around.place(&first, false);
        let (set, dest) = (around.next_set, around.next_dest);
        let second_place = around.place(&second, false);
        (0..6).for_each(|_| around.step());
        around.announce(&second, second_place);
        around.reads.clear();
        let walked = around.walk_placed(&first, first_place);
        check(&around, walked, &first);
        let list = lists[2]..lists[2] + BYTES as u64;
        assert!(around.reads.contains(&list), "the list is read ahead");
        let line = lists[2] + 64;
        assert!(around.reads.iter().any(|read| read.contains(&line)), "and the bits");
        around.announce_none();
        if forgotten {
            around.forget();
        } else {
            around.reads.clear();
            let walked = around.walk_placed(&second, second_place);
            check(&around, walked, &second);
            assert_eq!(around.reads, [], "the lists are there");
        }
        // Other lists lie at the same addresses.
        around.memory = segments(&changed, None);
        (around.next_set, around.next_dest) = (set, dest);
        let walked = around.walk(&second, false);
        check(&around, walked, &second);
    }
}
