//! The cheapest reads that cover needed bytes, for a price a read and a price a byte.
//!
//! No read crosses a page, so pages are covered one by one. Within a page a program over the needed bytes
//! finds the minimum over all lists of reads: which gaps are read through, and where long runs are cut.
//! For speed it may cut runs at multiples of a *grain* only; prices are lowered so that the result stays
//! below every list of reads that cuts anywhere (see [`Pages::cheapest`]).

use std::collections::HashMap;

use super::Run;

/// Bytes that no read crosses.
pub const PAGE: u64 = 4096;
/// Distance of the places where runs are cut, in pages that are not needed as a whole.
pub const GRAIN: u64 = 16;

/// Cost of a read of `len` bytes: `read + byte * len + square * len * len`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Price {
    /// Cost of a read, whatever its length.
    pub read: f64,
    /// Cost of each byte of a read.
    pub byte: f64,
    /// Cost of each byte of a read for each of its bytes.
    pub square: f64,
}

impl Price {
    /// The least cost of a read that covers `span` bytes when its ends are moved to grains.
    fn at_least(&self, span: u64, grain: u64) -> f64 {
        let sure = (span + 1).saturating_sub(grain) as f64;
        self.read + self.byte * span as f64 + self.square * sure * sure
    }
}

/// A piece of a needed run: first byte and the byte behind the last, within a page.
type Atom = (u16, u16);

/// Needed bytes by page; equal pages are counted together.
#[derive(Clone, Debug, Default)]
pub struct Pages {
    /// Atoms of a page, the grain at which its runs are cut, and how many pages look like that.
    pages: Vec<(Vec<Atom>, u64, u64)>,
    /// Number of needed bytes.
    bytes: u64,
}

/// The runs, sorted and without overlaps; runs that touch become one.
pub fn union(mut runs: Vec<Run>) -> Vec<Run> {
    runs.sort_unstable();
    let mut merged: Vec<Run> = Vec::with_capacity(runs.len());
    for run in runs {
        match merged.last_mut() {
            Some(last) if run.addr <= last.addr + last.len => {
                last.len = last.len.max(run.addr + run.len - last.addr);
            }
            _ => merged.push(run),
        }
    }
    merged
}

impl Pages {
    /// Takes needed bytes; runs may overlap and come in any order.
    pub fn new(runs: Vec<Run>) -> Self {
        Self::with_grain(runs, GRAIN)
    }

    /// Like [`new`](Self::new), but runs are cut at multiples of `grain` bytes from their start.
    pub fn with_grain(runs: Vec<Run>, grain: u64) -> Self {
        let mut found: HashMap<(Vec<Atom>, u64), u64> = HashMap::new();
        let mut bytes = 0;
        let mut open: Option<(u64, Vec<Atom>)> = None;
        let mut close = |open: Option<(u64, Vec<Atom>)>| {
            if let Some((_, runs)) = open {
                // A whole page is frequent: it is worth cutting it anywhere.
                let grain = if runs == [(0, PAGE as u16)] { 1 } else { grain };
                *found.entry((cut(&runs, grain), grain)).or_default() += 1;
            }
        };
        for run in union(runs) {
            bytes += run.len;
            let (mut start, end) = (run.addr, run.addr + run.len);
            while start < end {
                let page = start / PAGE;
                let stop = end.min((page + 1) * PAGE);
                let part = ((start - page * PAGE) as u16, (stop - page * PAGE) as u16);
                match &mut open {
                    Some((same, runs)) if *same == page => runs.push(part),
                    _ => close(open.replace((page, vec![part]))),
                }
                start = stop;
            }
        }
        close(open);
        let pages = found.into_iter().map(|((atoms, grain), count)| (atoms, grain, count));
        Self { pages: pages.collect(), bytes }
    }

    /// Number of needed bytes: no card reads fewer.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// A cost below which no list of reads of up to `longest` bytes covers every needed byte.
    ///
    /// Take any such list. Reads that overlap are shortened until they do not, and reads are shortened
    /// to needed bytes at both ends: no cost rises. Now reads touch each other only within runs. Each
    /// such place is moved down to the next multiple of the grain from the run's start: what one read
    /// loses the next one gains, so that the sum of lengths stays, a read grows by less than a grain, and
    /// reads that vanish only leave their price. The result is a list of spans of whole atoms, each of
    /// up to `longest + grain - 1` bytes, which cost no more if a span is charged the price of a read, of
    /// all its bytes, and of the square of the bytes that its read had at least: `span - grain + 1`.
    /// The program finds the minimum over all such lists. With a grain of 1 it is exact.
    pub fn cheapest(&self, price: &Price, longest: u64) -> f64 {
        let mut costs: HashMap<u64, Vec<f64>> = HashMap::new();
        let mut sum = 0.0;
        for (atoms, grain, count) in &self.pages {
            let most = longest + grain - 1;
            let costs = costs
                .entry(*grain)
                .or_insert_with(|| (0..=most).map(|span| price.at_least(span, *grain)).collect());
            sum += *count as f64 * cheapest(atoms, costs);
        }
        sum
    }
}

/// Cuts runs every `grain` bytes.
fn cut(runs: &[Atom], grain: u64) -> Vec<Atom> {
    let mut atoms = Vec::new();
    for (start, end) in runs {
        let mut at = *start;
        while at < *end {
            let next = end.min(&(at + grain as u16)).to_owned();
            atoms.push((at, next));
            at = next;
        }
    }
    atoms
}

/// The least cost of spans that cover the atoms; `costs` by the span's bytes.
fn cheapest(atoms: &[Atom], costs: &[f64]) -> f64 {
    // Least cost of the atoms from each one on.
    let mut rest = vec![0.0; atoms.len() + 1];
    for first in (0..atoms.len()).rev() {
        let mut best = f64::INFINITY;
        for (last, (_, end)) in atoms.iter().enumerate().skip(first) {
            let Some(cost) = costs.get(usize::from(end - atoms[first].0)) else { break };
            best = best.min(cost + rest[last + 1]);
        }
        rest[first] = best;
    }
    rest[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRICE: Price = Price { read: 10.0, byte: 1.0, square: 0.01 };

    fn runs(list: &[(u64, u64)]) -> Vec<Run> {
        list.iter().map(|(addr, len)| Run { addr: *addr, len: *len }).collect()
    }

    fn exact(list: &[(u64, u64)], longest: u64) -> f64 {
        Pages::with_grain(runs(list), 1).cheapest(&PRICE, longest)
    }

    #[test]
    fn gaps_are_read_through_where_that_costs_less() {
        // One read of 13 B costs less than two of 4 B.
        assert_eq!(exact(&[(0, 4), (9, 4)], 512), 10.0 + 13.0 + 1.69);
        assert_eq!(exact(&[(0, 4), (30, 4)], 512), 2.0 * (10.0 + 4.0 + 0.16));
    }

    #[test]
    fn pages_and_the_longest_read_cut() {
        assert_eq!(exact(&[(4090, 10)], 512), 2.0 * 10.0 + 10.0 + 0.36 + 0.16);
        assert_eq!(exact(&[(8, 10)], 5), 2.0 * (10.0 + 5.0 + 0.25));
    }

    #[test]
    fn overlaps_are_read_once_and_equal_pages_are_counted() {
        let twice = runs(&[(0, 4), (2, 4), (8192, 6), (8192, 6)]);
        let pages = Pages::with_grain(twice, 1);
        assert_eq!((pages.bytes(), pages.pages.len()), (12, 1));
        assert_eq!(pages.cheapest(&PRICE, 512), 2.0 * (10.0 + 6.0 + 0.36));
    }

    #[test]
    fn a_grain_lowers_the_cost_and_little() {
        let list: Vec<_> = (0..40).map(|i| (i * 100, 60 + i)).collect();
        for longest in [64, 512] {
            let fine = exact(&list, longest);
            let coarse = Pages::new(runs(&list)).cheapest(&PRICE, longest);
            assert!(coarse <= fine && coarse > 0.75 * fine, "{coarse} for {fine}");
        }
    }
}
