//! Cycles that rows take, beside the round trips of a request.

use super::{ALL, Around, BASE, POOL, SIZE, by_bitmaps, expected, many};
use drdma_abi::work_request::{Chain, Element, MessageLayout, Opcode};
use drdma_semantics::kinds::{Entry, Kind, Kinds, Selection};
use drdma_semantics::memory::Segments;
use drdma_semantics::partitioned::Partitioned;
use drdma_semantics::region::{Region, RowMask};
use drdma_semantics::request::{Destination, Request};
use drdma_verilated::testbench::{Random, STALLS};

const ROWS: u32 = 500;
/// Cycles of a read of host memory.
const LATENCY: u64 = 300;
/// The same where rows are counted: so few that a cycle more a row is seen.
const SHORT: u64 = 40;
/// Largest number of reads that the walk waits for: the bitmap, a table, four buffers, and the first entries of two
/// walks.
const TRIPS: u64 = 8;
/// Host address of the table of four buffers.
const TABLE: u64 = BASE + POOL;

/// Columns in host memory, behind a pool of random bytes and a table of buffers there.
struct Columns {
    memory: Vec<u8>,
    entries: Vec<Entry>,
}

impl Columns {
    fn new() -> Self {
        let mut memory = Random::new(7).bytes(POOL as usize);
        let buffer = |at: u64| Element { offset: BASE + at, len: 1 << 12, lkey: ALL }.to_bytes();
        memory.extend((0..4).flat_map(|index| buffer(index << 12)));
        Self { memory, entries: Vec::new() }
    }

    /// Adds a column with the given entry for each row.
    fn with(mut self, kind: Kind, entry: impl Fn(u32) -> Vec<u8>) -> Self {
        let offset = BASE + self.memory.len() as u64;
        self.memory.extend((0..=ROWS).flat_map(entry));
        self.entries.push(Entry { offset, lkey: ALL, kind });
        self
    }

    /// Cycles of a SEND of all rows, by a bitmap, ten in a message.
    fn cycles(mut self) -> u64 {
        let bitmap = BASE + self.memory.len() as u64;
        self.memory.extend([0xff; ROWS as usize / 8 + 1]);
        self.memory.resize(SIZE as usize, 0);
        let library = many();
        let mut around = Around::new(&library, 0);
        around.bench.stall(STALLS[0]);
        around.latency = SHORT;
        around.memory = Segments::new().with(BASE, self.memory);
        let rows = Selection::Bitmap { bitmap, first: 0, rows: ROWS, lkey: ALL };
        let request = Request {
            wr_id: 0,
            opcode: Opcode::Send,
            imm: 0,
            row_mask: RowMask::Period,
            rows_per_message: 10,
            signaled: true,
            fetch: None,
            inline: None,
            partitioned: None,
            destinations: vec![Destination {
                qp: 1,
                remote_addr: 0,
                rkey: 0,
                partition: 0,
                layout: MessageLayout::Rows,
                remote_columns: Vec::new(),
                regions: vec![Region::Kinds(Kinds { rows, entries: self.entries })],
            }],
        };
        let walked = around.walk(&request, false);
        assert_eq!(walked.status, (0, 0));
        walked.cycles
    }
}

fn word(value: u32) -> [u8; 4] {
    value.to_le_bytes()
}

fn strings() -> Kind {
    Kind::Offsets { log_entry: 2, data: BASE + 64, lkey: ALL }
}

fn dictionary(width: u32) -> Kind {
    Kind::Dictionary { log_entry: 1, values: BASE + 64, width, count: 9, lkey: ALL }
}

/// A row takes a cycle for each group of its lanes where it is judged, and a cycle for each token where it is sent.
#[test]
fn a_row_takes_a_cycle_for_each_group_and_each_token() {
    let views = Kind::Views { table: TABLE, count: 4, lkey: ALL };
    let index = |row: u32| vec![row as u8 % 9, 0];
    let fixed = |columns: Columns| columns.with(Kind::Fixed { width: 8 }, |_| vec![7; 8]);
    let eight = |columns: Columns| (0..8).fold(columns, |columns, _| fixed(columns));
    let bit = |columns: Columns| columns.with(Kind::Bits { first: 3 }, |row| vec![row as u8]);
    let text = |columns: Columns| columns.with(strings(), |row| word(row * 30).into());
    let long = |bytes| Columns::new().with(strings(), move |row| word(row * bytes).into());
    // Name, columns, and cycles of a row that is judged and of one that is sent.
    let cases = [
        ("fixed", fixed(Columns::new()), 1, 1),
        ("eight columns of 8 B", eight(Columns::new()), 1, 1),
        ("nine columns of 8 B", fixed(eight(Columns::new())), 2, 2),
        ("bits", bit(Columns::new()), 1, 1),
        ("a dictionary of 16 B", Columns::new().with(dictionary(16), index), 1, 1),
        ("a dictionary of 90 B", Columns::new().with(dictionary(90), index), 1, 2),
        ("strings of 30 B", text(Columns::new()), 1, 1),
        (
            "views with their bytes",
            Columns::new().with(views, |_| [word(9), [5; 4], [6; 4], [7; 4]].concat()),
            1,
            1,
        ),
        (
            "views into 4 buffers",
            Columns::new().with(views, |row| [word(40), [5; 4], word(row % 4), word(row)].concat()),
            1,
            1,
        ),
        ("two strings", text(text(Columns::new())), 2, 2),
        ("four columns and a string", text(fixed(fixed(fixed(fixed(Columns::new()))))), 2, 2),
        ("strings of 60 B", long(60), 1, 1),
        ("strings of 61 B", long(61), 1, 2),
    ];
    for (name, columns, judged, given) in cases {
        let cycles = columns.cycles();
        println!("{name}: {cycles} cycles, {:.2} a row", cycles as f64 / f64::from(ROWS));
        // A message takes two more cycles.
        let rows = u64::from(ROWS);
        let most = rows * (judged + given) + 2 * (2 * rows / 10);
        assert!(cycles <= most + TRIPS * SHORT, "{name}: {cycles} cycles, {most} and round trips");
    }
}

/// Records of chains in host memory: 32 B each, behind the pool, with the pointer to the next one at the end.
struct Lists {
    /// Records of each chain.
    lengths: Vec<u64>,
    /// Extents of each record, beside its pointer.
    entries: Vec<Entry>,
}

impl Lists {
    const RECORD: u64 = 32;
    const NEXT: u64 = 24;

    /// Cycles of a SEND of all records to each of `destinations` destinations, 64 in a message.
    fn cycles(&self, library: &drdma_verilated::Library, destinations: usize) -> u64 {
        let records: u64 = self.lengths.iter().sum();
        let mut memory = Random::new(7).bytes(POOL as usize);
        let at = |record: u64| BASE + POOL + Self::RECORD * record;
        let (mut heads, mut first) = (Vec::new(), 0);
        for length in &self.lengths {
            heads.extend(if *length == 0 { 0 } else { at(first) }.to_le_bytes());
            for record in first..first + length {
                // Offsets 10 and 40, then bytes of no meaning, then the pointer.
                memory
                    .extend([10_u32.to_le_bytes(), 40_u32.to_le_bytes(), [3; 4], [4; 4]].concat());
                memory.extend([5; 8]);
                let next = if record + 1 == first + length { 0 } else { at(record + 1) };
                memory.extend(next.to_le_bytes());
            }
            first += length;
        }
        let pointers = BASE + memory.len() as u64;
        memory.extend(heads);
        assert!(memory.len() < SIZE as usize);
        memory.resize(SIZE as usize, 0);
        let mut around = Around::new(library, 0);
        around.bench.stall(STALLS[0]);
        around.latency = LATENCY;
        around.memory = Segments::new().with(BASE, memory);
        let chain = Chain { end: 0, next: Self::NEXT as u32, limit: 1000 };
        let count = self.lengths.len() as u32;
        let rows = Selection::Chains { pointers, count, lkey: ALL, target_lkey: ALL, chain };
        let region = Region::Kinds(Kinds { rows, entries: self.entries.clone() });
        let destination = Destination {
            qp: 1,
            remote_addr: 0,
            rkey: 0,
            partition: 0,
            layout: MessageLayout::Rows,
            remote_columns: Vec::new(),
            regions: vec![region],
        };
        let request = Request {
            wr_id: 0,
            opcode: Opcode::Send,
            imm: 0,
            row_mask: RowMask::Period,
            rows_per_message: 64,
            signaled: true,
            fetch: None,
            inline: None,
            partitioned: None,
            destinations: vec![destination; destinations],
        };
        let walked = around.walk(&request, false);
        assert_eq!(walked.status, (0, 0));
        for given in &walked.given {
            assert_eq!(given.messages.len() as u64, records.div_ceil(64));
        }
        walked.cycles
    }
}

/// Chains share round trips where they are judged, and take none where they are sent.
#[test]
fn hops_of_many_chains_share_their_round_trips() {
    let library = many();
    let fixed = Entry { offset: 0, lkey: 0, kind: Kind::Fixed { width: 24 } };
    let text = Entry { offset: 0, lkey: 0, kind: strings() };
    let whatever = Entry { offset: 8, lkey: 0, kind: Kind::Fixed { width: 8 } };
    let mixed: Vec<u64> = (0..64).map(|chain| chain % 17).collect();
    // Name, lengths of chains, extents of a record, destinations, round trips one after the other, cycles of a row.
    let cases = [
        ("64 chains of 8", vec![8; 64], vec![fixed], 1, 8, 2),
        ("64 chains of 0 to 16", mixed, vec![fixed], 1, 16, 2),
        ("a chain of 200", vec![200], vec![fixed], 1, 200, 2),
        ("200 chains of 8", vec![8; 200], vec![fixed], 1, 4 * 8, 2),
        ("64 chains of 8, 3 destinations", vec![8; 64], vec![fixed], 3, 3 * 8, 3 * 2),
        // The offsets of each string are read; 64 of these reads share a round trip. A row has two tokens.
        ("64 chains of 8 with strings", vec![8; 64], vec![text, whatever], 1, 8 + 8, 4),
    ];
    for (name, lengths, entries, destinations, trips, row) in cases {
        let records: u64 = lengths.iter().sum();
        let lists = Lists { lengths, entries };
        let cycles = lists.cycles(&library, destinations);
        println!("{name}: {cycles} cycles, {:.1} round trips", cycles as f64 / LATENCY as f64);
        // The list is read first, and reads of 64 chains are issued in 128 cycles. A hop takes 12 cycles more than a
        // trip.
        let most = (trips + 2) * (LATENCY + 12) + 128 + records * row + 200;
        assert!(cycles <= most, "{name}: {cycles} cycles instead of {most}");
    }
}

/// Columns of 8 B that may be null: numbers of columns of values and of bits, in regions of 16 columns at most.
pub(super) struct Nullable {
    pub(super) values: usize,
    pub(super) bits: usize,
    pub(super) rows: u32,
    pub(super) destinations: usize,
    /// Rows are selected by ids, in one region; else by a bitmap for each destination, with values and bits in separate
    /// regions, unless they are joined.
    pub(super) by_ids: bool,
    /// Values and bits are in one region also if rows are selected by bitmaps.
    pub(super) joined: bool,
    /// Each destination has columns of bits of its own.
    pub(super) apart: bool,
    /// Cycles of a read of host memory.
    pub(super) latency: u64,
}

impl Nullable {
    /// A SEND of each row to one of the destinations, 20 rows in a message; and the host's memory.
    pub(super) fn make(&self) -> (Request, Segments) {
        let mut random = Random::new(7);
        let mut memory = random.bytes(POOL as usize);
        let (mut values, mut bits) = (Vec::new(), Vec::new());
        for _ in 0..self.values {
            let kind = Kind::Fixed { width: 8 };
            values.push(Entry { offset: BASE + memory.len() as u64, lkey: ALL, kind });
            memory.extend(random.bytes(8 * self.rows as usize));
        }
        for first in 0..self.bits * if self.apart { self.destinations } else { 1 } {
            let kind = Kind::Bits { first: first as u8 % 8 };
            bits.push(Entry { offset: BASE + memory.len() as u64, lkey: ALL, kind });
            memory.extend(random.bytes(self.rows as usize / 8 + 2));
        }
        let of: Vec<usize> =
            (0..self.rows).map(|_| random.below(self.destinations as u64) as usize).collect();
        let mut request = Request {
            wr_id: 0,
            opcode: Opcode::Send,
            imm: 0,
            row_mask: RowMask::Period,
            rows_per_message: 20,
            signaled: true,
            fetch: None,
            inline: None,
            partitioned: None,
            destinations: Vec::new(),
        };
        if self.by_ids {
            let ids = BASE + memory.len() as u64;
            memory.extend(of.iter().map(|id| *id as u8));
            values.append(&mut bits);
            request.partitioned = Some(Partitioned {
                ids,
                width: 1,
                rows: self.rows,
                lkey: ALL,
                columns: Vec::new(),
                entries: values.clone(),
                by: None,
            });
        } else if self.joined {
            values.append(&mut bits);
        } else {
            request.row_mask = RowMask::Element;
        }
        for index in 0..self.destinations {
            let mut regions = Vec::new();
            if !self.by_ids {
                let bitmap = BASE + memory.len() as u64;
                let row = |row: usize| u8::from(of.get(row) == Some(&index));
                let byte = |at: usize| (0..8).fold(0, |all, k| all | row(8 * at + k) << k);
                memory.extend((0..self.rows as usize / 8 + 1).map(byte));
                let rows = Selection::Bitmap { bitmap, first: 0, rows: self.rows, lkey: ALL };
                let own = if self.apart { index * self.bits } else { 0 };
                let bits = if self.joined { &[] } else { &bits[own..own + self.bits] };
                let columns = values.chunks(16).chain(bits.chunks(16));
                regions = columns
                    .map(|entries| Region::Kinds(Kinds { rows, entries: entries.to_vec() }))
                    .collect();
            }
            request.destinations.push(Destination {
                qp: 1,
                remote_addr: 0,
                rkey: 0,
                partition: index as u16,
                layout: MessageLayout::Rows,
                remote_columns: Vec::new(),
                regions,
            });
        }
        assert!(memory.len() < SIZE as usize);
        memory.resize(SIZE as usize, 0);
        (request, Segments::new().with(BASE, memory))
    }

    /// Cycles of so many requests of this kind, each of which is known while the one before is walked.
    fn cycles_of<const N: usize>(&self, library: &drdma_verilated::Library) -> [u64; N] {
        let (request, memory) = self.make();
        let mut around = Around::new(library, 0);
        around.bench.stall(STALLS[0]);
        around.latency = self.latency;
        around.memory = memory;
        let expected = expected(&request, false, &around.memory).unwrap();
        let places = [(); N].map(|()| around.place(&request, false));
        (0..6).for_each(|_| around.step());
        let mut following = places.iter().skip(1);
        places.map(|place| {
            around.announce_none();
            if let Some(next) = following.next() {
                around.announce(&request, *next);
            }
            let walked = around.walk_placed(&request, place);
            assert_eq!(walked.status, (0, 0));
            for (given, messages) in walked.given.iter().zip(&expected) {
                let bytes: Vec<_> = messages.iter().map(|message| (0, message.clone())).collect();
                assert!(given.messages == bytes);
            }
            walked.cycles
        })
    }

    /// Cycles of the request.
    fn cycles(&self, library: &drdma_verilated::Library) -> u64 {
        self.cycles_of::<1>(library)[0]
    }
}

/// Neighbouring lanes of bits take a cycle together, also in a region of their own.
#[test]
fn bits_of_validity_take_a_cycle_together() {
    let library = many();
    let cases = [
        (16, 16, 128, 2, false),
        (16, 1, 100, 1, false),
        (4, 3, 1000, 1, false),
        (16, 17, 500, 2, false),
        (16, 16, 3000, 4, false),
        (8, 8, 2048, 8, true),
        (8, 1, 100, 4, true),
        (4, 4, 5000, 1, true),
    ];
    for (values, bits, rows, destinations, by_ids) in cases {
        let (latency, apart) = (LATENCY, false);
        let cycles =
            Nullable { values, bits, rows, destinations, by_ids, apart, joined: false, latency };
        let cycles = cycles.cycles(&library);
        let context = format!(
            "{values} values, {bits} bits, {rows} rows, {destinations} destinations, by ids {by_ids}"
        );
        println!("{context}: {cycles} cycles, {:.2} a row", cycles as f64 / f64::from(rows));
        // A row takes a cycle for each 64 B and one for each 16 bits, where it is judged and where it is sent.
        let (rows, destinations) = (u64::from(rows), destinations as u64);
        let row = 2 * (values.div_ceil(8) + bits.div_ceil(16)) as u64;
        let words = 2 * destinations * rows.div_ceil(64);
        let messages = 4 * (rows / 20 + destinations);
        // Lines of bits: a cycle to ask for one, four to store it. Regions and their lanes are looked at twice.
        let lines = 5 * destinations * bits as u64 * (rows / 512 + 2);
        let heads = 2 * destinations * ((values + bits) as u64 + 40);
        // Lists and first lines of bits share a round trip; lines of further blocks take another one.
        let trips = if rows <= 512 { 1 } else { 2 } * LATENCY + 100;
        let most = row * rows + words + messages + lines + heads + trips;
        assert!(cycles <= most, "{context}: {cycles} cycles instead of {most}");
    }
}

/// Lists and lines of bits of all destinations share round trips. Their number is found from the cycles that a longer
/// round trip costs.
#[test]
fn lists_and_bits_share_their_round_trips() {
    let library = many();
    // Columns of values and of bits, rows, destinations, by ids, whether bits are apart, and round trips in all.
    let cases = [
        (4, 0, 128, 1, false, false, 1),
        (4, 0, 128, 2, false, false, 1),
        (4, 0, 128, 16, false, false, 1),
        // More destinations than lists are asked for at once; then more than lists are kept.
        (4, 0, 256, 64, false, false, 1),
        (4, 0, 512, 100, false, false, 2),
        // Ids of 5 KB, and of more than 32 KiB, which are not kept from walk to walk.
        (1, 0, 5000, 1, true, false, 1),
        (1, 0, 35000, 1, true, false, 2),
        (16, 16, 128, 2, false, false, 1),
        (16, 16, 128, 8, false, false, 1),
        // The lines of the first destination's bits come with the lists, those of others as these are sent.
        (16, 16, 128, 2, false, true, 2),
        (8, 8, 200, 4, true, false, 1),
    ];
    for (values, bits, rows, destinations, by_ids, apart, trips) in cases {
        let cycles = [LATENCY, 2 * LATENCY].map(|latency| {
            Nullable { values, bits, rows, destinations, by_ids, apart, joined: false, latency }
                .cycles(&library)
        });
        let context = format!(
            "{values} values, {bits} bits, {rows} rows, {destinations} destinations, by ids {by_ids}, apart {apart}"
        );
        let more = cycles[1] - cycles[0];
        println!("{context}: {cycles:?} cycles, {:.2} trips", more as f64 / LATENCY as f64);
        assert!(more <= trips * LATENCY + 20, "{context}: {cycles:?}");
    }
}

/// The lists and lines of bits of a request that is known before the one before it is sent take no round trip of their
/// own.
#[test]
fn lists_and_bits_of_the_next_request_are_read_while_one_is_sent() {
    let library = many();
    // Columns of values and of bits, rows, destinations, by ids, and round trips of the second request.
    let cases = [
        (4, 0, 800, 1, false, 0),
        (4, 0, 800, 16, false, 0),
        (1, 0, 500, 1, true, 0),
        // More destinations than lists are asked for ahead.
        (4, 0, 800, 40, false, 1),
        // Bits as well, in a region of their own or beside values.
        (16, 16, 128, 2, false, 0),
        (8, 8, 500, 4, true, 0),
    ];
    for (values, bits, rows, destinations, by_ids, trips) in cases {
        let cycles = [LATENCY, 2 * LATENCY].map(|latency| {
            let apart = false;
            Nullable { values, bits, rows, destinations, by_ids, apart, joined: false, latency }
                .cycles_of::<2>(&library)[1]
        });
        let context = format!(
            "{values} values, {bits} bits, {rows} rows, {destinations} destinations, by ids {by_ids}"
        );
        let more = cycles[1].saturating_sub(cycles[0]);
        println!("{context}: {cycles:?} cycles, {:.2} trips", more as f64 / LATENCY as f64);
        assert!(more <= trips * LATENCY + 20, "{context}: {cycles:?}");
    }
}

/// Short requests with a bit of validity for each value follow each other without a round trip of their own.
#[test]
fn short_requests_with_bits_follow_each_other() {
    let library = many();
    let (values, bits, rows, destinations) = (16, 16, 128, 2);
    let request = Nullable {
        values,
        bits,
        rows,
        destinations,
        by_ids: false,
        apart: false,
        joined: false,
        latency: 325,
    };
    let cycles = request.cycles_of::<3>(&library);
    println!("{cycles:?} cycles");
    // A row takes four cycles, and words, messages, regions and lanes some more. The lanes of the next request are
    // looked at as well, and its lines asked for, in two cycles each.
    let lanes = (values + bits) as u64;
    let own = 4 * 128 + 2 * 4 + 4 * 8 + 2 * 2 * (lanes + 40);
    let most = own + lanes + 2 * bits as u64 + 40;
    assert!(cycles[1..].iter().all(|cycles| *cycles <= most), "{cycles:?}, {most} expected");
}

/// A row of fixed width that bits follow takes a cycle where it is judged, and one where it is sent, if both fit a
/// token. Where ids select the rows, they are sent as they are judged.
#[test]
fn bits_are_sent_with_the_values_before_them() {
    let library = many();
    let cases = [
        (5, 5, true, 1),
        (5, 5, false, 1),
        (1, 1, true, 1),
        (7, 9, false, 1),
        (8, 8, true, 2),
        (8, 1, false, 2),
    ];
    for (values, bits, by_ids, tokens) in cases {
        let (rows, destinations, latency, apart) = (2048, 8, 325, false);
        let request =
            Nullable { values, bits, rows, destinations, by_ids, joined: true, apart, latency };
        let cycles = request.cycles_of::<3>(&library);
        println!("{values} values, {bits} bits, by ids {by_ids}: {cycles:?} cycles");
        // Messages take some cycles more, and turns of 256 rows, or the lines of bits of each destination.
        let (rows, dests) = (u64::from(rows), destinations as u64);
        let messages = rows / 20 + dests;
        let turns = 12 * dests * rows.div_ceil(256);
        let lines = dests * (5 * bits as u64 * (rows.div_ceil(512) + 1) + 40);
        let judging = rows + 3 * messages + if by_ids { turns } else { lines } + 200;
        let sending = tokens * rows + messages + 2 * 64 + 100;
        // By bitmaps the third request is judged while the second one is sent, and is then sent alone. By ids a request
        // is sent as soon as all destinations have had a turn.
        let first_turns = if by_ids { 256 + 12 * dests } else { 0 };
        let both = judging.max(sending + first_turns);
        let most = [both, if by_ids { both } else { sending }];
        assert!(cycles[1] <= most[0] && cycles[2] <= most[1], "{cycles:?}, {most:?} expected");
    }
}

/// Windows that were read ahead for a request, and lost their slots to a long list, are asked for together.
#[test]
fn windows_that_lost_their_slots_share_a_round_trip() {
    const LONG: u32 = 140_000;
    let library = many();
    let column = Entry { offset: BASE + POOL, lkey: ALL, kind: Kind::Fixed { width: 1 } };
    let bitmaps = POOL + u64::from(LONG);
    let lists: Vec<u64> = (0..16).map(|index| BASE + bitmaps + 20_000 + 64 * index).collect();
    let mut memory = vec![0; SIZE as usize];
    memory[bitmaps as usize..].iter_mut().step_by(64).for_each(|byte| *byte = 1);
    let long = by_bitmaps(&[BASE + bitmaps], LONG, column);
    let short = by_bitmaps(&lists, 100, column);
    let cycles = [LATENCY, 2 * LATENCY].map(|latency| {
        let mut around = Around::new(&library, 0);
        around.bench.stall(STALLS[0]);
        around.latency = latency;
        around.memory = Segments::new().with(BASE, memory.clone());
        let places = [&long, &short].map(|request| around.place(request, false));
        (0..6).for_each(|_| around.step());
        around.announce(&short, places[1]);
        assert_eq!(around.walk_placed(&long, places[0]).status, (0, 0));
        around.announce_none();
        let walked = around.walk_placed(&short, places[1]);
        assert_eq!(walked.status, (0, 0));
        walked.cycles
    });
    println!("{cycles:?} cycles");
    assert!(cycles[1] - cycles[0] <= LATENCY + 20, "{cycles:?}");
}
