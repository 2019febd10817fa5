//! The plan of a chunk, byte by byte.

use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lane {
    pub addr: u64,
    pub len: u64,
    pub step: u64,
}

/// A chunk: its lanes, its rows, and which rows each turn needs.
#[derive(Clone, Debug, Default)]
pub struct Chunk {
    /// Lanes, with the addresses at which they start in the window's first row.
    pub lanes: Vec<Lane>,
    pub rows: u64,
    pub window: u64,
    pub turns: Vec<Vec<bool>>,
    /// Blocks of 64 rows of the stretch that lie before the window's first row.
    pub base: u64,
    /// For each block of the window: number of blocks before it that are left out; empty: 0 for all.
    pub shifts: Vec<u64>,
    /// The widest gap that is worth reading through; none: any.
    pub gap: Option<u64>,
}

impl Chunk {
    /// Rows of the window that some turn needs.
    pub fn needed_here(&self) -> Vec<u64> {
        (0..self.rows).filter(|&r| self.turns.iter().any(|t| t[r as usize])).collect()
    }

    fn shift(&self, row: u64) -> u64 {
        self.shifts.get(row as usize / 64).copied().unwrap_or(0)
    }

    /// The needed rows as they lie in host memory, and the distance of each from its place in the window.
    pub fn needed(&self) -> BTreeMap<u64, u64> {
        let far = |row: u64| 64 * self.shift(row);
        self.needed_here().into_iter().map(|row| (row + far(row), far(row))).collect()
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Box {
    pub addr: u64,
    pub ram: u64,
    pub len: u64,
    pub window: u64,
    pub window_end: bool,
}

/// Lanes that lie side by side, in the window as in host memory; or some of them, read as one.
#[derive(Clone, Debug)]
pub struct Group {
    pub lo: u64,
    pub len: u64,
    pub step: u64,
    pub lanes: Vec<usize>,
    /// Start and bytes of what is read as one.
    pub parts: Vec<(u64, u64)>,
    pub ram: u64,
    pub end: u64,
}

impl Group {
    /// True if a gap is read through because it begins and ends in one cache line.
    fn one_line(&self, end: u64, start: u64, line: bool) -> bool {
        line && self.step >= self.len && (end - 1) / 64 == start / 64
    }

    /// The parts, as groups of their own.
    fn split(&self, rows: u64) -> impl Iterator<Item = Group> + '_ {
        self.parts.iter().map(move |&(lo, len)| {
            let ram = self.ram + lo - self.lo;
            let end = ram + (rows - 1) * self.step + len;
            Group { lo, len, step: self.step, lanes: vec![], parts: vec![], ram, end }
        })
    }
}

/// Widest gaps that are read through.
#[derive(Clone, Copy, Debug)]
pub struct Near {
    /// Between rows, in bytes.
    pub rows: u64,
    /// Between rows next to each other that are at most `mean` bytes apart from start to start.
    pub adjacent: u64,
    pub mean: u64,
    /// The card settles the gaps: boxes of rows with gaps are cut short.
    pub settles: bool,
    /// Between lanes of a row.
    pub lanes: u64,
    /// Within a cache line.
    pub line: bool,
}

impl Near {
    /// The gaps that the setting and the balance of reads allow.
    pub fn new(threshold: u64, gap: Option<u64>, mean: u64, planned: bool) -> Self {
        let gap = gap.filter(|_| !planned);
        let rows = gap.map_or(threshold, |gap| threshold.min(gap));
        // Reads of one cache line would wait for each other.
        let lanes = rows.max(threshold.min(64));
        let settles = !planned && mean > 0;
        Self { rows, adjacent: threshold, mean, settles, lanes, line: threshold > 0 }
    }

    /// The longest box of a group.
    fn longest(&self, group: &Group, max_read: u64) -> u64 {
        let short = self.settles && group.step > group.len + 3;
        if short { max_read.min(self.mean / 64 * 64 + 64) } else { max_read }
    }

    /// The widest gap between rows of a group.
    fn between(&self, group: &Group) -> u64 {
        let own = group.step.saturating_sub(group.len);
        let joins = group.step <= self.mean && own <= self.adjacent;
        near(self.rows).max(if joins { own } else { 0 })
    }
}

fn near(threshold: u64) -> u64 {
    threshold.clamp(3, 4095)
}

/// The stretch of two, and the gap between them.
fn joint(a: (u64, u64), b: (u64, u64)) -> ((u64, u64), i128) {
    let (a_end, b_end) = (a.0 + a.1, b.0 + b.1);
    let lo = a.0.min(b.0);
    let gap = i128::from(a.0.max(b.0)) - i128::from(a_end.min(b_end));
    ((lo, a_end.max(b_end) - lo), gap)
}

pub fn groups(chunk: &Chunk, threshold: u64) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (j, lane) in chunk.lanes.iter().enumerate().filter(|(_, lane)| lane.len > 0) {
        let own = (lane.addr, lane.len);
        if let Some(group) = groups.last_mut() {
            let ((lo, len), _) = joint((group.lo, group.len), own);
            if group.step == lane.step && len <= lane.step.min(127) {
                (group.lo, group.len) = (lo, len);
                group.lanes.push(j);
                let part = group.parts.last_mut().expect("a group has a part");
                match joint(*part, own) {
                    (both, gap) if gap <= i128::from(near(threshold)) => *part = both,
                    _ => group.parts.push(own),
                }
                continue;
            }
        }
        let Lane { addr, len, step } = *lane;
        let (lanes, parts) = (vec![j], vec![own]);
        groups.push(Group { lo: addr, len, step, lanes, parts, ram: 0, end: 0 });
    }
    let mut free = 0;
    let last = chunk.lanes.iter().rposition(|lane| lane.len > 0).unwrap_or(0);
    let skew = if last < 5 { 5 } else { 14 };
    for (g, group) in (0..).zip(&mut groups) {
        while free % 32 != skew * g % 32 {
            free += 1;
        }
        group.ram = 4 * free + group.lo % 4;
        group.end = group.ram + (chunk.rows - 1) * group.step + group.len;
        free = group.end.div_ceil(4);
        assert!(group.end.next_multiple_of(4) <= 32768, "{chunk:x?}");
    }
    groups
}

/// A stretch to read: its start and end, and whether what is read next belongs to the same
/// stretch.
#[derive(Clone, Copy, Debug)]
struct Part {
    from: u64,
    to: u64,
    goes_on: bool,
    /// Bytes by which the part lies closer to the group's start in the window than in host memory.
    closer: u64,
}

/// A group's stretches of rows without a wider gap, cut at 4 KiB and so that none is too long: at
/// the last cache line that is near enough.
fn parts(group: &Group, rows: &BTreeMap<u64, u64>, max_read: u64, most: Near) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let max_read = most.longest(group, max_read);
    let limit = |from: u64| ((from + max_read) / 64 * 64).min((from / 4096 + 1) * 4096);
    // The open part, and the end of its last row.
    let mut open: Option<(u64, u64)> = None;
    let mut closer = 0;
    for (&row, &far) in rows {
        let start = group.lo + row * group.step;
        let end = start + group.len;
        let mut from = start - start % 4;
        if let Some((begun, before)) = open {
            let through =
                start <= before + most.between(group) || group.one_line(before, start, most.line);
            let goes_on = through && closer == far * group.step;
            if goes_on && start < limit(begun) {
                from = begun;
            } else {
                parts.push(Part { from: begun, to: before.next_multiple_of(4), goes_on, closer });
            }
        }
        closer = far * group.step;
        while end > limit(from) {
            let to = limit(from);
            parts.push(Part { from, to, goes_on: true, closer });
            from = to;
        }
        open = Some((from, end));
    }
    if let Some((from, end)) = open {
        parts.push(Part { from, to: end.next_multiple_of(4), goes_on: false, closer });
    }
    parts
}

/// Puts neighbours of a stretch together that are not too long in one.
fn joined(parts: &[Part], max_read: u64) -> Vec<Part> {
    let mut joined: Vec<Part> = Vec::new();
    for &part in parts {
        match joined.last_mut() {
            Some(last)
                if last.goes_on
                    && part.to - last.from <= max_read
                    && last.from / 4096 == part.from / 4096 =>
            {
                (last.to, last.goes_on) = (part.to, part.goes_on);
            }
            _ => joined.push(part),
        }
    }
    joined
}

/// The boxes of a chunk, in order.
pub fn plan(chunk: &Chunk, max_read: u64, most: Near) -> Vec<Box> {
    let (mut boxes, rows) = (Vec::new(), chunk.needed());
    let groups = groups(chunk, most.lanes);
    for group in groups.iter().flat_map(|group| group.split(chunk.rows)) {
        let longest = most.longest(&group, max_read);
        for part in joined(&parts(&group, &rows, max_read, most), longest) {
            let offset = part.from - (group.lo - group.lo % 4) - part.closer;
            let ram = group.ram - group.lo % 4 + offset;
            let (addr, len, window) = (part.from, part.to - part.from, chunk.window);
            boxes.push(Box { addr, ram, len, window, window_end: false });
        }
    }
    match boxes.last_mut() {
        Some(last) => last.window_end = true,
        None => boxes.push(Box { addr: 0, ram: 0, len: 0, window: chunk.window, window_end: true }),
    }
    boxes
}

/// Checks the conditions that every plan must meet, in any order of its boxes.
pub fn check(chunk: &Chunk, boxes: &[Box], max_read: u64, most: Near) {
    let rows = chunk.needed();
    // Where each byte of the window comes from: lanes that overlap may have it in two parts.
    let mut used: BTreeMap<u64, u64> = BTreeMap::new();
    let mut left = boxes.iter().filter(|b| b.len > 0).copied().peekable();
    let groups = groups(chunk, most.lanes);
    for group in groups.iter().flat_map(|group| group.split(chunk.rows)) {
        let max_read = most.longest(&group, max_read);
        let base = group.ram - group.lo % 4;
        // Needed words by the rows that need them: the first and the last.
        let mut needed: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
        for &row in rows.keys() {
            let start = group.lo + row * group.step;
            for word in start / 4..=(start + group.len - 1) / 4 {
                needed.entry(word).or_insert((row, row)).1 = row;
            }
        }
        let own =
            |b: &Box| (base..group.end).contains(&b.ram) && needed.contains_key(&(b.addr / 4));
        // Two parts may need one word; the boxes of each go up.
        let mut end = 0;
        let of_group: Vec<_> = std::iter::from_fn(|| {
            let read = left.next_if(|b| own(b) && b.addr >= end)?;
            end = read.addr + read.len;
            Some(read)
        })
        .collect();
        let through = |r1: u64, r2: u64| {
            let (end, start) = (r1 * group.step + group.len, r2 * group.step);
            start.saturating_sub(end) <= most.between(&group)
                || group.one_line(group.lo + end, group.lo + start, most.line)
        };
        let mut brought = BTreeSet::new();
        for read in &of_group {
            assert!(read.len <= max_read && read.len % 4 == 0, "{read:x?}");
            assert_eq!(read.addr / 4096, (read.addr + read.len - 1) / 4096, "4 KiB: {read:x?}");
            let closer = rows[&needed[&(read.addr / 4)].0] * group.step;
            assert_eq!(
                read.addr - (group.lo - group.lo % 4),
                read.ram - base + closer,
                "{read:x?} {group:x?}"
            );
            let words = read.addr / 4..(read.addr + read.len) / 4;
            for word in words.clone() {
                assert!(brought.insert(word), "read twice: {read:x?}");
            }
            for byte in 0..read.len {
                let old = used.insert(read.ram + byte, read.addr + byte);
                assert!(old.is_none_or(|old| old == read.addr + byte), "overwritten: {read:x?}");
            }
            let inside: Vec<_> = needed.range(words.clone()).collect();
            assert_eq!(*inside.first().unwrap().0, words.start, "starts in a gap: {read:x?}");
            assert_eq!(*inside.last().unwrap().0, words.end - 1, "ends in a gap: {read:x?}");
            for pair in inside.windows(2) {
                assert!(
                    through(pair[0].1.1, pair[1].1.0.max(pair[0].1.1)),
                    "a gap too wide: {read:x?} {pair:x?}"
                );
            }
        }
        for (word, rows) in &needed {
            assert!(brought.contains(word), "word {word:#x} of {rows:?} is missing: {group:x?}");
        }
        for pair in of_group.windows(2) {
            let (a, b) = (pair[0], pair[1]);
            let last = needed[&((a.addr + a.len) / 4 - 1)].1;
            let first = needed[&(b.addr / 4)].0;
            let together = rows[&first] == rows[&last];
            let near = first <= last || (together && through(last, first));
            if near && a.addr / 4096 == b.addr / 4096 {
                assert!(b.addr + b.len - a.addr > max_read, "not merged: {a:x?} {b:x?}");
                let line = (a.addr + max_read) / 64 * 64;
                assert!(b.addr >= line, "cut too early: {a:x?} {b:x?}");
                assert!((a.addr + a.len - 1) / 64 < b.addr / 64, "one line: {a:x?} {b:x?}");
            }
        }
    }
    assert_eq!(left.next(), None, "a box of no group");
}
