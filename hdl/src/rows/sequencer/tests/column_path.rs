//! A column path beside the sequencer, and what it must be given.

use super::partitioned::Shared;
use super::*;
use crate::request::DEST_INDEX;
use crate::rows::sequencer::record;
use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

/// A stretch that the column path was given, and the beats that were read for it.
struct Stretch {
    item: Word,
    context: Word,
    answers: Vec<Beat>,
    /// Beats that were read of its fetch rows.
    fetched: Vec<Beat>,
}

impl Stretch {
    /// A field of the item: its lowest bit and its width in the order of `Item`.
    fn item(&self, at: usize, width: usize) -> u64 {
        self.item.bits(at, width).to_u64()
    }

    fn context(&self, at: usize, width: usize) -> u64 {
        self.context.bits(at, width).to_u64()
    }

    fn first(&self) -> u64 {
        self.item(5, 32)
    }

    fn rows(&self) -> u64 {
        self.item(37, 32)
    }

    /// The rows of the stretch are only counted.
    fn is_scan(&self) -> bool {
        self.item(0, 3) == record::SCAN
    }

    /// The rows of a scan that are selected, of the ids that its chunk brought.
    fn selected(&self, ids: &[Beat]) -> u64 {
        let width = self.item(202, 2) as usize;
        let rows = self.rows() as usize;
        let bits = |beats: &[Beat], row: usize, width: usize| {
            let per_beat = 512 / width;
            beats[row / per_beat].get("data").bits(row % per_beat * width, width).to_u64()
        };
        let is_selected = |row: &usize| match width {
            0 => bits(&self.answers, *row, 1) == 1,
            _ => bits(ids, *row, 8 * width) == self.item(204, 16),
        };
        (0..rows).filter(is_selected).count() as u64
    }

    fn slot(&self) -> u64 {
        self.context(54 + DEST_INDEX, 8)
    }

    /// Beats that its bitmap fills.
    fn beats(&self) -> usize {
        let ids = self.item(202, 2) as usize;
        if ids > 0 {
            // The ids of the chunk's rows come with its first stretch.
            let starts = self.item(70, 1) == 1;
            return if starts { (self.rows() as usize * ids).div_ceil(64) } else { 0 };
        }
        if self.item(3, 2) != RegionType::Bitmapped as u64 {
            return 0;
        }
        match self.kept() {
            // The first chunk of a stretch brings all of it.
            Some(_) if self.loads() => self.answers.len(),
            Some(_) => 0,
            None => (self.rows() as usize).div_ceil(512),
        }
    }

    /// All answers have come.
    fn is_complete(&self) -> bool {
        if self.loads() {
            return self.answers.last().is_some_and(|beat| beat.u64("last") == 1);
        }
        self.answers.len() == self.beats()
    }

    /// First row of the item in its kept stretch, if it has one.
    fn kept(&self) -> Option<usize> {
        (self.item(222, 1) == 1 && !self.is_scan()).then(|| 16 * self.item(223, 9) as usize)
    }

    /// The item has a kept stretch, which comes with it.
    fn loads(&self) -> bool {
        self.kept().is_some() && self.item(232, 1) == 1
    }

    /// Beats that its fetch rows fill.
    fn fetch_beats(&self) -> usize {
        if self.item(221, 1) == 1 { self.beats() } else { 0 }
    }

    /// The next beat must be of its fetch rows: they come up to 8 beats ahead.
    fn fetches_next(&self) -> bool {
        let (read, beats) = (self.answers.len(), self.fetch_beats());
        self.fetched.len() < beats && self.fetched.len() < (read / 8 + 1) * 8
    }
}

/// Takes stretches and their answers, as `columns` does.
pub struct ColumnPath {
    pub min_rows: u32,
    pub items: MonitorId,
    resp: MonitorId,
    random: Random,
    /// Answers whose stretch has not been used up; they may come before it.
    answers: VecDeque<Beat>,
    /// Stretches at work, then those that are used up.
    open: VecDeque<Stretch>,
    done: Vec<Stretch>,
    /// Cycles before the path says that it is idle.
    linger: u64,
    failed: Option<u64>,
    pub clears: Rc<Cell<u32>>,
    cleared: u32,
    /// The ids of the chunk that is being counted.
    ids: Vec<Beat>,
    /// Rows that were counted of each destination, and whether a read failed.
    tallies: BTreeMap<u64, (u64, bool)>,
    /// Counts that were not given yet: set, rows, and whether a read failed.
    counted: VecDeque<(u64, u64, bool)>,
}

impl ColumnPath {
    pub fn new(bench: &mut Bench, seed: u64) -> Self {
        let (items, resp) = (bench.monitor("column_item"), bench.monitor("column_resp"));
        let clears = Rc::new(Cell::new(0));
        let seen = clears.clone();
        bench.observe(move |model, _| {
            if model.get("column_clear") == 1 {
                assert_eq!(model.get("column_idle"), 1, "the end waits for the column path");
                seen.set(seen.get() + 1);
            }
        });
        bench.set("column_idle", 1);
        bench.set("column_min_rows", 0);
        Self {
            min_rows: 0,
            items,
            resp,
            random: Random::new(seed + 77),
            answers: VecDeque::new(),
            open: VecDeque::new(),
            done: Vec::new(),
            linger: 0,
            failed: None,
            clears,
            cleared: 0,
            ids: Vec::new(),
            tallies: BTreeMap::new(),
            counted: VecDeque::new(),
        }
    }

    /// Adds up the rows of a scan, and gives their sum with the last one.
    fn count(&mut self, stretch: &Stretch) {
        if stretch.item(202, 2) > 0 && stretch.item(70, 1) == 1 {
            self.ids = stretch.answers.clone();
        }
        let answers = if stretch.item(202, 2) > 0 { &self.ids } else { &stretch.answers };
        let fails = answers.iter().any(|beat| beat.u64("error") == 1);
        let opens = stretch.item(232, 1) == 1;
        assert_eq!(opens, stretch.first() == 0, "the first scan of a destination");
        let index = stretch.context(54, DEST_INDEX);
        let (before, failed) = if opens { (0, false) } else { self.tallies[&index] };
        let tally = (before + stretch.selected(&self.ids), failed || fails);
        self.tallies.insert(index, tally);
        if stretch.item(69, 1) == 1 {
            self.counted.push_back((stretch.context(0, 11), tally.0, tally.1));
        }
    }

    pub fn enable(&mut self, bench: &mut Bench, min_rows: u32) {
        self.min_rows = min_rows;
        bench.set("column_min_rows", min_rows);
    }

    /// Takes stretches and their answers, and gives counts, after a cycle.
    pub fn step(&mut self, bench: &mut Bench) {
        if self.cleared != self.clears.get() {
            assert!(self.open.is_empty(), "ended too early");
            self.cleared = self.clears.get();
            self.failed = None;
        }
        for beat in bench.take(self.items) {
            let (item, context) = (beat.get("item").clone(), beat.get("context").clone());
            let fetched = Vec::new();
            self.open.push_back(Stretch { item, context, answers: Vec::new(), fetched });
            self.linger = self.random.below(40);
        }
        self.answers.extend(bench.take(self.resp));
        while let Some(stretch) = self.open.front_mut() {
            if stretch.is_complete() {
                let stretch = self.open.pop_front().expect("the one at the front");
                if stretch.is_scan() {
                    self.count(&stretch);
                }
                self.done.push(stretch);
                continue;
            }
            let Some(beat) = self.answers.pop_front() else { break };
            assert_eq!(beat.u64("fetch") == 1, stretch.fetches_next());
            assert_eq!(beat.u64("kept") == 1, stretch.kept().is_some());
            if stretch.fetches_next() {
                stretch.fetched.push(beat);
                continue;
            }
            if beat.u64("error") == 1 && self.failed.is_none() && !stretch.is_scan() {
                self.failed = Some(stretch.context(54, DEST_INDEX));
            }
            stretch.answers.push(beat);
        }
        let told = self.counted.pop_front();
        bench.set("column_counted_valid", told.is_some());
        let (set, count, bad) = told.unwrap_or_default();
        bench.set("column_counted_set", set);
        bench.set("column_counted_count", count);
        bench.set("column_counted_bad", bad);
        self.linger = self.linger.saturating_sub(1);
        let idle = self.open.is_empty() && self.linger == 0;
        bench.set("column_idle", idle);
        // While the path is not idle, `column_failed` must be ignored.
        let failed = if idle { self.failed.is_some() } else { self.random.chance(0.5) };
        bench.set("column_failed", failed);
        bench.set("column_fail_index", self.failed.unwrap_or_else(|| self.random.below(64)));
    }

    /// Checks the headers and the stretches of a request whose chunks have `rows` rows, and returns
    /// the tokens that are left.
    pub fn check(
        &self,
        tokens: &[Beat],
        request: &Request,
        posted: (u8, u16),
        card: &Card,
        rows: Option<u32>,
    ) -> Vec<Beat> {
        if request.apart && rows.is_some() {
            return self.check_apart(tokens, request, posted, card, rows.unwrap_or(1));
        }
        let is_header = |token: &&Beat| token.u64("column") == 1;
        let headers: Vec<_> = tokens.iter().filter(is_header).collect();
        let slot = u64::from(posted.0);
        // Of a WRITE by columns, only the stretches of this column's destinations.
        let of = |s: &&Stretch| {
            let behind = (s.context(44, 10) as u16).wrapping_sub(posted.1) % 1024;
            s.slot() == slot && !s.is_scan() && usize::from(behind) < request.dests.len()
        };
        let mut stretches = self.done.iter().filter(of);
        let (count, chunk) = match rows {
            Some(rows) => (request.dests[0].regions[0].count, rows),
            None => (0, 1),
        };
        // A bitmap for one destination is one chunk; the header has the number of rows of a window.
        let sparse = rows.is_some()
            && request.dests.len() == 1
            && request.shared.is_none()
            && chunk >= 64
            && request.dests[0].regions[0].kind == RegionType::Bitmapped;
        let whole = if sparse { count.max(1) } else { chunk };
        assert_eq!(
            headers.len(),
            count.div_ceil(whole) as usize,
            "headers of {count} rows by {chunk}"
        );
        for (first, header) in (0..count).step_by(whole as usize).zip(headers) {
            let length = whole.min(count - first);
            let fits = if sparse { chunk / 64 * 64 } else { chunk };
            check_header(header, (request, 0), posted, card, (first, length.min(fits)));
            for (index, dest) in request.dests.iter().enumerate() {
                let stretch = stretches.next().expect("a stretch of every destination");
                assert_eq!((stretch.first(), stretch.rows()), (first.into(), length.into()));
                let ends = [first + length == count, index == 0, index + 1 == request.dests.len()];
                // Ids of a WRITE by columns were counted, and are kept as bitmaps, if there are few enough.
                let kept_ids = request.column.is_some() && count <= 8192;
                let shared = request.shared.as_ref().filter(|_| !kept_ids);
                check_stretch(stretch, dest, ends, shared);
                if !sparse && shared.is_none() {
                    // The bits are there if they were counted on the column path, or if an earlier column went it.
                    let there = request.column.map(|earlier| {
                        let counts = dest.counts_bitmaps() && !earlier.counted;
                        earlier.packed || counts || request.shared.is_some()
                    });
                    check_kept(stretch, &dest.regions[0], chunk, there);
                }
                let partition = request.shared.as_ref().map_or(0, |s| s.partitions[index]);
                assert_eq!(stretch.item(204, 16), u64::from(partition));
                assert_eq!(stretch.item(220, 1), u64::from(sparse));
                assert_eq!(stretch.context(54, DEST_INDEX), index as u64);
                let place = (posted.1 + index as u16) % 1024;
                assert_eq!(stretch.context(44, 10), u64::from(place));
                assert_eq!(stretch.context(0, 11), u64::from(card.first_sets[&place]));
            }
        }
        assert!(stretches.next().is_none(), "stretches too many");
        tokens.iter().filter(|token| !is_header(token)).cloned().collect()
    }
}

impl ColumnPath {
    /// Checks a request of destinations that are apart: each has chunks of its own, in turns.
    fn check_apart(
        &self,
        tokens: &[Beat],
        request: &Request,
        posted: (u8, u16),
        card: &Card,
        chunk: u32,
    ) -> Vec<Beat> {
        let is_header = |token: &&Beat| token.u64("column") == 1;
        let mut headers = tokens.iter().filter(is_header);
        let slot = u64::from(posted.0);
        // Of a WRITE by columns, only the stretches of this column's destinations.
        let of = |s: &&Stretch| {
            let behind = (s.context(44, 10) as u16).wrapping_sub(posted.1) % 1024;
            s.slot() == slot && !s.is_scan() && usize::from(behind) < request.dests.len()
        };
        let mut stretches = self.done.iter().filter(of);
        let most = request.dests.iter().map(|dest| dest.regions[0].count).max().unwrap_or(0);
        for first in (0..most).step_by(chunk as usize) {
            for (index, dest) in request.dests.iter().enumerate() {
                let count = dest.regions[0].count;
                if first >= count {
                    continue;
                }
                let length = chunk.min(count - first);
                let header = headers.next().expect("a header of every chunk");
                check_header(header, (request, index), posted, card, (first, length));
                let stretch = stretches.next().expect("a stretch of every chunk");
                assert_eq!((stretch.first(), stretch.rows()), (first.into(), length.into()));
                check_stretch(stretch, dest, [first + length == count, true, true], None);
                assert_eq!(stretch.context(54, 6), index as u64);
                let place = (posted.1 + index as u16) % 1024;
                assert_eq!(stretch.context(44, 10), u64::from(place));
                assert_eq!(stretch.context(0, 11), u64::from(card.first_sets[&place]));
            }
        }
        assert!(headers.next().is_none() && stretches.next().is_none(), "chunks too many");
        tokens.iter().filter(|token| !is_header(token)).cloned().collect()
    }
}

/// Checks that a chunk's header has the first row of the chunk in the set of a destination, and nothing else.
fn check_header(
    header: &Beat,
    (request, index): (&Request, usize),
    posted: (u8, u16),
    card: &Card,
    rows: (u32, u32),
) {
    let lanes = request.dests[index].regions[0].lanes.len() as u64;
    let set = card.first_sets[&((posted.1 + index as u16) % 1024)];
    let expected = [
        ("set", u64::from(set)),
        ("first", 0),
        ("last", lanes - 1),
        ("row", rows.0.into()),
        ("rows", rows.1.into()),
        ("slot", posted.0.into()),
    ];
    for (field, value) in expected {
        assert_eq!(header.u64(field), value, "{field} of a header");
    }
    let nothing = [
        "bytes",
        "lead",
        "piece",
        "offset",
        "pointer",
        "unit_end",
        "message_end",
        "message_start",
        "message_bytes",
        "chunk_start",
        "chunk_blocks",
        "request_end",
        "dest_end",
        "status",
        "bad_dest",
    ];
    for field in nothing {
        assert_eq!(header.u64(field), 0, "{field} of a header");
    }
}

fn check_stretch(
    stretch: &Stretch,
    dest: &Dest,
    [last, starts, ends]: [bool; 3],
    shared: Option<&Shared>,
) {
    let region = &dest.regions[0];
    assert_eq!(stretch.item(0, 3), record::WALK);
    assert_eq!(stretch.item(3, 2), region.kind as u64);
    let flags = [(69, last), (70, starts), (200, true), (201, ends)];
    for (at, flag) in flags {
        assert_eq!(stretch.item(at, 1), u64::from(flag), "bit {at} of {dest:?}");
    }
    // The bits of its rows, and none of another's.
    let (first, rows) = (stretch.first() as usize, stretch.rows() as usize);
    assert_eq!(stretch.answers.len(), stretch.beats());
    let fails = stretch.answers.iter().any(|beat| beat.u64("error") == 1);
    assert_eq!(fails, stretch.beats() > 0 && region.fails);
    let width = shared.map_or(0, |s| s.width);
    assert_eq!(stretch.item(202, 2), u64::from(width));
    for (k, beat) in stretch.answers.iter().enumerate() {
        let ends = k + 1 == stretch.beats();
        assert_eq!((beat.u64("ids"), beat.u64("last") == 1), (width.into(), ends));
    }
    if let Some(shared) = shared.filter(|_| stretch.beats() > 0) {
        let width = usize::from(width);
        for row in 0..rows {
            let (beat, at) = (row * width / 64, row * width % 64);
            let id = stretch.answers[beat].get("data").bits(8 * at, 8 * width).to_u64();
            assert_eq!(id, u64::from(shared.ids[first + row]), "row {}", first + row);
        }
    }
    let given = stretch.beats() > 0 && shared.is_none() && stretch.kept().is_none();
    for row in 0..if given { rows } else { 0 } {
        let bit = stretch.answers[row / 512].get("data").bits(row % 512, 1).to_u64();
        assert_eq!(bit == 1, region.bits[first + row], "row {}", first + row);
    }
    let fetch = region.fetch.as_ref().filter(|_| shared.is_none());
    assert_eq!(stretch.item(221, 1) == 1, fetch.is_some());
    if let Some((fetch, fails)) = fetch {
        assert_eq!(stretch.fetched.len(), stretch.fetch_beats());
        assert!(stretch.fetched.iter().all(|beat| (beat.u64("error") == 1) == *fails));
        for row in 0..rows {
            let bit = stretch.fetched[row / 512].get("data").bits(row % 512, 1).to_u64();
            assert_eq!(bit == 1, fetch[first + row], "fetch row {}", first + row);
        }
    }
    // Fields that the packer needs to cut messages.
    let (units, bytes) = (u64::from(dest.units), region.row_bytes());
    assert_eq!(stretch.context(11, 5), region.lanes.len() as u64);
    assert_eq!(stretch.context(33, 10), bytes);
    assert_eq!(stretch.context(43, 1), 0, "a unit is a row");
    assert_eq!(stretch.context(62 + DEST_INDEX, 32), units);
    assert_eq!(stretch.context(102 + DEST_INDEX, 1), u64::from(dest.announces()));
    let selected = region.rows().len() as u64;
    if dest.announces() && selected > 0 {
        assert_eq!(
            stretch.context(103 + DEST_INDEX, 32),
            selected / units,
            "messages of full length"
        );
        if selected >= units {
            assert_eq!(stretch.context(135 + DEST_INDEX, 32), units * bytes);
        }
        if !selected.is_multiple_of(units) {
            assert_eq!(stretch.context(167 + DEST_INDEX, 32), selected % units * bytes);
        }
    }
}

/// Bitmaps without fetch rows are read in stretches of as many chunks as have at most 4,096 rows, those of a WRITE by columns
/// of up to 8,192 rows once for all columns, unless they are there already.
fn check_kept(stretch: &Stretch, region: &Region, chunk: u32, column: Option<bool>) {
    let column = column.filter(|_| region.count <= 8192);
    let most = if column.is_some() { 4096 } else { 2048 };
    let keeps = region.kind == RegionType::Bitmapped && region.fetch.is_none() && chunk <= most;
    let whole = if column.is_some() { 8192 } else { (4096 / chunk * chunk) as usize };
    let first = stretch.first() as usize;
    assert_eq!(stretch.kept(), keeps.then_some(first % whole));
    assert_eq!(stretch.loads(), keeps && first.is_multiple_of(whole) && column != Some(true));
    if stretch.loads() {
        let rows = whole.min(region.bits.len() - first);
        assert_eq!(stretch.answers.len(), rows.div_ceil(512));
        for row in 0..rows {
            let bit = stretch.answers[row / 512].get("data").bits(row % 512, 1).to_u64();
            assert_eq!(bit == 1, region.bits[first + row], "row {}", first + row);
        }
    }
}
