//! Reads of the entries of columns: how often each block is read, and that no block serves another request.

use super::{ALL, Around, BASE, POOL, SIZE, expected, library};
use drdma_abi::work_request::{MessageLayout, Opcode};
use drdma_semantics::kinds::{Entry, Kind, Kinds, Selection};
use drdma_semantics::memory::Segments;
use drdma_semantics::partitioned::Partitioned;
use drdma_semantics::region::{Region, RowMask};
use drdma_semantics::request::{Destination, Request};
use drdma_verilated::testbench::Random;
use std::ops::Range;

/// Bytes of a block: the most that one read has.
const BLOCK: u64 = 256;
/// Host address that is a multiple of 4,096, where columns begin.
const COLUMNS: u64 = (BASE + POOL).next_multiple_of(4096);
/// Host address where lists of rows begin.
const LISTS: u64 = BASE + SIZE / 2;
/// Bytes of a value.
const VALUE: u32 = 3;

/// Columns of strings in host memory, and the lists that select their rows.
struct Strings {
    memory: Vec<u8>,
    rows: u32,
    entries: Vec<Entry>,
    columns: Vec<Range<u64>>,
    lists: u64,
}

impl Strings {
    fn new(rows: u32) -> Self {
        let mut memory = Random::new(7).bytes(POOL as usize);
        memory.resize(SIZE as usize, 0);
        Self { memory, rows, entries: Vec::new(), columns: Vec::new(), lists: LISTS }
    }

    /// Adds a column of strings, whose offsets of 2^`log` bytes begin at host address `at`.
    fn with(mut self, at: u64, log: u8) -> Self {
        let kind = Kind::Offsets { log_entry: log, data: BASE, lkey: ALL };
        self.entries.push(Entry { offset: at, lkey: ALL, kind });
        self.columns.push(at..at + (u64::from(self.rows + 1) << log));
        self.fill(0);
        self
    }

    /// Writes the offsets; that of the first row's value is `first`.
    fn fill(&mut self, first: u32) {
        for (entry, column) in self.entries.iter().zip(&self.columns) {
            let Kind::Offsets { log_entry, .. } = entry.kind else { unreachable!() };
            for row in 0..=self.rows {
                let at = (column.start - BASE + (u64::from(row) << log_entry)) as usize;
                let value = u64::from(first + VALUE * row).to_le_bytes();
                self.memory[at..at + (1 << log_entry)].copy_from_slice(&value[..1 << log_entry]);
            }
        }
    }

    fn put(&mut self, list: &[u8]) -> u64 {
        let at = self.lists;
        self.memory[(at - BASE) as usize..][..list.len()].copy_from_slice(list);
        self.lists += (list.len() as u64).next_multiple_of(64);
        at
    }

    fn request(destinations: Vec<Destination>) -> Request {
        Request {
            wr_id: 0,
            opcode: Opcode::Send,
            imm: 0,
            row_mask: RowMask::Period,
            rows_per_message: 16,
            signaled: true,
            fetch: None,
            inline: None,
            partitioned: None,
            destinations,
        }
    }

    fn destination(partition: u16, regions: Vec<Region>) -> Destination {
        Destination {
            qp: 1,
            remote_addr: 0,
            rkey: 0,
            partition,
            layout: MessageLayout::Rows,
            remote_columns: Vec::new(),
            regions,
        }
    }

    /// Request that sends each row to one of this many destinations, by random ids.
    fn by_ids(&mut self, destinations: u16) -> Request {
        let mut random = Random::new(9);
        let ids: Vec<u8> =
            (0..self.rows).map(|_| random.below(destinations.into()) as u8).collect();
        let ids = self.put(&ids);
        let to = (0..destinations).map(|partition| Self::destination(partition, Vec::new()));
        let mut request = Self::request(to.collect());
        request.partitioned = Some(Partitioned {
            ids,
            width: 1,
            rows: self.rows,
            lkey: ALL,
            columns: Vec::new(),
            entries: self.entries.clone(),
            by: None,
        });
        request
    }

    /// Request with a destination for each list of rows, by bitmaps.
    fn by_bitmaps(&mut self, lists: &[&[u32]]) -> Request {
        let mut destinations = Vec::new();
        for list in lists {
            let mut bits = vec![0; self.rows as usize / 8 + 1];
            list.iter().for_each(|row| bits[*row as usize / 8] |= 1 << (row % 8));
            let bitmap = self.put(&bits);
            let rows = Selection::Bitmap { bitmap, first: 0, rows: self.rows, lkey: ALL };
            let entries = self.entries.clone();
            destinations.push(Self::destination(0, vec![Region::Kinds(Kinds { rows, entries })]));
        }
        Self::request(destinations)
    }

    /// Walks a request, and compares its messages with those of the semantics. Returns the number of reads of each
    /// block of the columns. No read leaves the columns and lists.
    fn walk(&self, around: &mut Around<'_>, request: &Request) -> Vec<u64> {
        around.memory = Segments::new().with(BASE, self.memory.clone());
        around.named = self.columns.clone();
        around.named.push(LISTS..BASE + SIZE);
        around.reads.clear();
        let messages = expected(request, false, &around.memory).unwrap();
        let walked = around.walk(request, false);
        assert_eq!(walked.status, (0, 0));
        for (given, messages) in walked.given.iter().zip(messages) {
            let told: Vec<_> = messages.into_iter().map(|message| (0, message)).collect();
            assert!(given.messages == told, "another request's bytes, or none that were asked for");
        }
        self.reads(around)
    }

    fn reads(&self, around: &Around<'_>) -> Vec<u64> {
        let mut count = Vec::new();
        for column in &self.columns {
            for block in column.start / BLOCK..=(column.end - 1) / BLOCK {
                let is_in = |read: &&Range<u64>| {
                    column.contains(&read.start) && read.start / BLOCK == block
                };
                count.push(around.reads.iter().filter(is_in).count() as u64);
            }
        }
        count
    }
}

/// All destinations and both walks share the blocks that were read, wherever the column begins.
#[test]
fn a_block_of_entries_is_read_once_a_request() {
    let library = library();
    let mut around = Around::new(&library, 0);
    for (shift, log) in [(0, 2), (64, 2), (128, 3), (0, 3)] {
        let mut strings = Strings::new(2048).with(COLUMNS + shift, log);
        let request = strings.by_ids(8);
        let reads = strings.walk(&mut around, &request);
        assert!(reads.iter().all(|reads| *reads == 1), "{shift}, {log}: {reads:?}");
    }
    // Entries over the end of the first block are read by themselves, each once in each walk, because the block was not
    // read from the beginning of a line on. There are two such entries if offsets are not at multiples of their size.
    for (shift, log, over) in [(4, 2, 1), (63, 2, 2), (200, 2, 1), (8, 3, 1), (3, 3, 2)] {
        let mut strings = Strings::new(2048).with(COLUMNS + shift, log);
        let request = strings.by_ids(8);
        let reads = strings.walk(&mut around, &request);
        assert_eq!(reads[0], 1 + 2 * over, "{shift}, {log}: {reads:?}");
        assert!(reads[1..].iter().all(|reads| *reads == 1), "{shift}, {log}: {reads:?}");
    }
}

/// Blocks of several lanes have places of their own if all fit.
#[test]
fn columns_at_like_addresses_are_kept_together() {
    let library = library();
    let mut around = Around::new(&library, 1);
    let mut strings =
        (0..4).fold(Strings::new(2048), |strings, lane| strings.with(COLUMNS + 0x1_0000 * lane, 2));
    strings.lists = COLUMNS + 0x4_8000;
    let request = strings.by_ids(8);
    let reads = strings.walk(&mut around, &request);
    // The last offset has a block of its own.
    assert_eq!(reads.len(), 4 * 33);
    assert!(reads.iter().all(|reads| *reads == 1), "{reads:?}");
}

/// A block that takes the place of another is not mistaken for it.
#[test]
fn lanes_whose_blocks_have_one_place_take_turns() {
    let library = library();
    for seed in 0..3 {
        let mut around = Around::new(&library, seed);
        // Lane 1 is 64 places of even or odd blocks from lane 0.
        let mut strings = Strings::new(300).with(COLUMNS, 2).with(COLUMNS + 64 * 2 * BLOCK, 2);
        let request = strings.by_ids(2);
        let reads = strings.walk(&mut around, &request);
        assert!(reads.iter().sum::<u64>() > 1000, "they have places of their own: {reads:?}");
    }
}

/// No block that was read for one request serves another, however many requests lie between them.
#[test]
fn what_the_host_writes_between_requests_is_seen() {
    let library = library();
    let mut around = Around::new(&library, 1);
    around.bench.stall((0.0, 0.0));
    let mut first = Strings::new(2000).with(COLUMNS, 2);
    let mut other = Strings::new(2).with(COLUMNS + 0x8000, 2);
    let (all, few) = (first.by_ids(2), other.by_ids(1));
    for round in 0..3 {
        first.fill(round);
        let reads = first.walk(&mut around, &all);
        assert!(reads.iter().all(|reads| *reads == 1), "{reads:?}");
        // With 255 requests between, the number of the request comes again.
        for number in 0..255 {
            other.fill(number);
            other.walk(&mut around, &few);
        }
    }
}

/// Entries of a block that cannot be read fail; other entries do not, nor do requests before and after.
#[test]
fn entries_of_an_unreadable_block_fail() {
    let library = library();
    for seed in 0..3 {
        let mut around = Around::new(&library, seed);
        let mut strings = Strings::new(500).with(COLUMNS, 2);
        // Rows with and without bytes in block 1: the entry of row 63 ends there, that of row 127 begins there.
        let inside: [&[u32]; 5] = [&[70], &[63], &[127], &[0, 100, 400], &[63, 64]];
        let outside: [&[u32]; 3] = [&[0, 62], &[128], &[1, 62, 128, 130, 400]];
        let unreadable = (COLUMNS + BLOCK - BASE) as usize..(COLUMNS + 2 * BLOCK - BASE) as usize;
        for (number, rows) in inside.into_iter().enumerate() {
            let lists = [outside[number % 3], rows];
            let request = strings.by_bitmaps(&lists);
            strings.walk(&mut around, &request);
            around.memory = super::segments(&strings.memory, Some(unreadable.clone()));
            // The answer with an error has the valid bytes, which must not be used.
            around.behind = strings.memory.clone();
            let status = expected(&request, false, &around.memory).unwrap_err();
            let walked = around.walk(&request, false);
            assert_eq!((walked.status, status.1), (status, 1));
            let request = strings.by_bitmaps(&[outside[number % 3]]);
            let messages = expected(&request, false, &around.memory).unwrap();
            let walked = around.walk(&request, false);
            assert_eq!(walked.status, (0, 0));
            assert_eq!(walked.given[0].messages.len(), messages[0].len());
        }
    }
}

/// An entry that ends in the next block is put together, whichever of the two were read before.
#[test]
fn entries_over_the_end_of_a_block_are_put_together() {
    let library = library();
    for seed in 0..3 {
        let mut around = Around::new(&library, seed);
        for (shift, log) in [(0, 2), (64, 3), (192, 2), (8, 3), (60, 2), (3, 3), (255, 2), (1, 2)] {
            let at = COLUMNS + shift;
            let row_at = |place: u64| ((place - at - 1) >> log) as u32;
            // The row whose entry lies over the end of the first block, or of the second one.
            for over in [row_at(COLUMNS + BLOCK), row_at(COLUMNS + 2 * BLOCK)] {
                let (before, behind) = (over.saturating_sub(1), over + 2);
                let cases: [&[&[u32]]; 8] = [
                    &[&[over]],
                    &[&[before, over]],
                    &[&[behind], &[over]],
                    &[&[before], &[behind], &[over]],
                    &[&[before, over, behind]],
                    &[&[over], &[before, behind]],
                    &[&[before, behind], &[over]],
                    &[&[over, behind], &[before], &[0, over]],
                ];
                for lists in cases {
                    let mut strings = Strings::new(200).with(at, log);
                    let request = strings.by_bitmaps(lists);
                    let reads = strings.walk(&mut around, &request);
                    // As in the first test, two entries of the first block may be read by themselves in each walk.
                    let alone = if shift % 64 == 0 { 0 } else { 2 * 2 * lists.len() as u64 };
                    let context = format!("{shift}, {log}, {lists:?}: {reads:?}");
                    assert!(reads[0] <= 1 + alone, "{context}");
                    assert!(reads[1..].iter().all(|reads| *reads <= 1), "{context}");
                }
            }
        }
    }
}
