//! The dynamic program over runs of rows.

use super::{CostTable, Found, Load, WORD_GAP};
use crate::optimizer::{LINE, READ_BOUNDARY};

/// Bytes of a word, the card's unit.
const WORD: u64 = 4;

/// A column: its values lie one behind the other.
#[derive(Clone, Copy, Debug)]
pub struct Lane {
    /// The address of row 0's value.
    pub addr: u64,
    /// Bytes of a value.
    pub width: u64,
}

impl Lane {
    /// The words of some rows, as first and end address.
    fn words(&self, (first, end): (u64, u64)) -> (u64, u64) {
        let at = |row: u64| self.addr + row * self.width;
        (at(first) / WORD * WORD, at(end).next_multiple_of(WORD))
    }
}

/// Prices of reads.
#[derive(Clone, Debug)]
pub struct Prices {
    /// Price of a read, by its length in bytes.
    pub by_length: Vec<f64>,
    /// Additional price of a read that begins in the cache line in which the one before ended.
    pub same_line: f64,
}

/// The last read of a group of runs in a column, by its start. Its end is not known before the
/// group's end is.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Open {
    start: u64,
    /// Price of the reads before it.
    closed: f64,
}

/// A group of runs that are read with all between them, from run `first` on.
struct Group {
    first: usize,
    /// Price of all reads before the group.
    before: f64,
    open: Vec<Open>,
}

impl Group {
    /// The part of the group's price that is known.
    fn known(&self) -> f64 {
        self.before + self.open.iter().map(|open| open.closed).sum::<f64>()
    }
}

/// The runs of a region's columns, and the longest read.
pub struct Program<'a> {
    pub lanes: &'a [Lane],
    /// Runs of selected rows, first and end.
    pub runs: &'a [(u64, u64)],
    pub longest: u64,
}

impl Program<'_> {
    /// For the gap behind each run but the last: whether it is read through, such that the sum of
    /// the prices is the least.
    pub fn solve(&self, prices: &Prices) -> Vec<bool> {
        let count = self.runs.len();
        // Price of the runs before each one, and the first run of the group that ends there.
        let (mut best, mut first) = (vec![0.0; count + 1], vec![0; count]);
        // Groups that may be continued.
        let mut groups: Vec<Group> = Vec::new();
        for (index, &run) in self.runs.iter().enumerate() {
            let open = self.lanes.iter().map(|lane| Open { start: lane.words(run).0, closed: 0.0 });
            let before = best[index] + self.waits(index, prices);
            groups.push(Group { first: index, before, open: open.collect() });
            best[index + 1] = f64::INFINITY;
            for group in &mut groups {
                let mut cost = group.before;
                for (lane, open) in self.lanes.iter().zip(&mut group.open) {
                    let end = lane.words(run).1;
                    self.cut(open.start, end, |cut| {
                        open.closed += prices.by_length[(cut - open.start) as usize];
                        open.start = cut;
                    });
                    cost += open.closed + prices.by_length[(end - open.start) as usize];
                }
                if cost < best[index + 1] {
                    (best[index + 1], first[index]) = (cost, group.first);
                }
            }
            // Groups whose reads continue in the same way cost the same from here on: behind the
            // end of a page all do. The cheapest one is kept.
            groups.dedup_by(|later, kept| {
                let alike = later.open.iter().zip(&kept.open).all(|(a, b)| a.start == b.start);
                if alike && later.known() < kept.known() {
                    std::mem::swap(later, kept);
                }
                alike
            });
        }
        let mut through = vec![true; count.saturating_sub(1)];
        let mut end = count;
        while end > 0 {
            end = first[end - 1];
            if end > 0 {
                through[end - 1] = false;
            }
        }
        through
    }

    /// The rules that read through gaps up to a width in rows: 0, and the width of each gap that is
    /// not wider than a page.
    pub fn rules(&self) -> impl Iterator<Item = Vec<bool>> {
        let gaps = || self.runs.windows(2).map(|pair| pair[1].0 - pair[0].1);
        let narrowest = self.lanes.iter().map(|lane| lane.width).min().unwrap_or(1);
        let narrow = gaps().filter(|gap| gap.saturating_mul(narrowest) < READ_BOUNDARY);
        let mut widths: Vec<u64> = std::iter::once(0).chain(narrow).collect();
        widths.sort_unstable();
        widths.dedup();
        widths.into_iter().map(move |widest| gaps().map(|gap| gap <= widest).collect())
    }

    /// Price of waiting for a cache line if run `index` is read apart from the runs before.
    fn waits(&self, index: usize, prices: &Prices) -> f64 {
        let Some(before) = index.checked_sub(1) else { return 0.0 };
        let line = |addr: u64| addr / LINE as u64;
        let shares = |lane: &&Lane| {
            line(lane.words(self.runs[before]).1 - 1) == line(lane.words(self.runs[index]).0)
        };
        self.lanes.iter().filter(shares).count() as f64 * prices.same_line
    }

    /// Calls `each` for every place where bytes from `start` to `end` are cut into reads.
    fn cut(&self, mut start: u64, end: u64, mut each: impl FnMut(u64)) {
        loop {
            let page = (start / READ_BOUNDARY + 1) * READ_BOUNDARY;
            let line = (start + self.longest) / LINE as u64 * LINE as u64;
            let cut = match end.min(page) - start > self.longest {
                true => line,
                false if end > page => page,
                false => return,
            };
            each(cut);
            start = cut;
        }
    }

    /// The reads that the card makes if it reads through these gaps and no others.
    pub fn found(&self, through: &[bool], loads: &[Load], costs: &CostTable) -> Found {
        let mut found = Found::default();
        for lane in self.lanes {
            let mut last_line = None;
            let mut read = |start: u64, end: u64| {
                found.reads += 1;
                found.bytes += end - start;
                found.load += loads[(end - start) as usize];
                let waits = costs.wait(&mut last_line, start, (end - start) as u32);
                found.load += Load::waiting(waits);
            };
            let mut group: Option<(u64, u64)> = None;
            for (index, &run) in self.runs.iter().enumerate() {
                group = match group {
                    Some((first, end))
                        if through[index - 1] || (run.0 - end) * lane.width <= WORD_GAP =>
                    {
                        Some((first, run.1))
                    }
                    other => {
                        other.inspect(|rows| self.reads(lane.words(*rows), &mut read));
                        Some(run)
                    }
                };
            }
            group.inspect(|rows| self.reads(lane.words(*rows), &mut read));
        }
        found
    }

    /// The reads of a stretch of bytes.
    fn reads(&self, (mut start, end): (u64, u64), read: &mut impl FnMut(u64, u64)) {
        self.cut(start, end, |cut| {
            read(start, cut);
            start = cut;
        });
        read(start, end);
    }
}
