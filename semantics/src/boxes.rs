//! Bounding boxes: the DMA reads that cover the fragments of a window of rows (D-RDMA section 4.1,
//! figure 9).
//!
//! Fragments of all destinations of a request are considered together. Gaps of at most
//! `merge_threshold` bytes are read through, and those within a cache line unless it is 0; a byte
//! that several destinations want is read once. Reads are cut at `max_read` bytes and at 4 KiB
//! boundaries of the address.

use crate::{
    memory::{Fault, HostMemory},
    rows::{Fragment, Units},
};

/// No DMA read crosses a multiple of this address (PCIe base specification, section 2.2.7).
pub const READ_BOUNDARY: u64 = 4096;
/// Size in bytes of a cache line: reads within one line of the host wait for each other.
const LINE: u64 = 64;
/// Number of bytes of boxes at which a window ends.
pub const WINDOW: u64 = 32 * 1024;
/// Number of fragments after which a window ends in any case, so that planning takes bounded
/// memory.
const WINDOW_FRAGMENTS: usize = 16 * 1024;

/// Parameters of forming boxes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Longest read in bytes.
    pub max_read: u32,
    /// Widest gap in bytes that is read through. Unless it is 0, all gaps between needed bytes of
    /// one cache line are read through as well.
    pub merge_threshold: u32,
    /// Number of bytes of boxes at which a window ends.
    pub window: u64,
}

impl Settings {
    /// True if the bytes from `end` to `start` are read, though none of them is needed.
    fn go_through(&self, end: u64, start: u64) -> bool {
        let threshold = u64::from(self.merge_threshold);
        start <= end.saturating_add(threshold)
            || threshold > 0 && start / LINE == end.saturating_sub(1) / LINE
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_read: drdma_abi::register::MAX_READ.reset,
            merge_threshold: drdma_abi::register::MERGE_THRESHOLD.reset,
            window: WINDOW,
        }
    }
}

/// One DMA read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BoundingBox {
    /// Address of the first byte.
    pub addr: u64,
    /// Length in bytes.
    pub len: u32,
}

/// Reads that are planned and fetched together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// The reads, in order of their addresses.
    pub boxes: Vec<BoundingBox>,
    /// Number of units of each destination that end in the window.
    pub units: Vec<u64>,
    /// Payload bytes of those units; a byte that is sent twice counts twice.
    pub payload_bytes: u64,
}

impl Window {
    /// Number of bytes that the boxes read.
    pub fn read_bytes(&self) -> u64 {
        self.boxes.iter().map(|read| u64::from(read.len)).sum()
    }
}

/// Plans a request window by window.
#[derive(Clone, Debug)]
pub struct Planner {
    settings: Settings,
    /// The destinations, and behind them the fetch rows, which are not sent to anybody.
    destinations: Vec<Ahead>,
    /// Number of destinations among these.
    sent: usize,
}

/// A destination's units, and the state of planning the next one.
#[derive(Clone, Debug)]
struct Ahead {
    units: Units,
    unit: Vec<Fragment>,
    /// Ends of the fragments of the previous unit.
    last_ends: Vec<u64>,
    /// The next unit is loaded, and planned up to byte `within` of its fragment `at`.
    ready: bool,
    at: usize,
    within: u32,
    done: bool,
}

impl Ahead {
    fn new(units: Units) -> Self {
        let (unit, last_ends) = (Vec::new(), Vec::new());
        Self { units, unit, last_ends, ready: false, at: 0, within: 0, done: false }
    }

    /// Loads the next unit, if there is one.
    fn fill<M: HostMemory + ?Sized>(&mut self, memory: &M) -> Result<(), Fault> {
        if !self.ready && !self.done {
            self.last_ends.clear();
            self.last_ends.extend(self.unit.iter().map(|f| f.addr.wrapping_add(f.len.into())));
            self.ready = self.units.next(memory, &mut self.unit)?;
            self.done = !self.ready;
            (self.at, self.within) = (0, 0);
        }
        Ok(())
    }

    /// Returns the next piece to plan, of at most `max` bytes; `None` at the unit's end.
    fn piece(&self, max: u64) -> Option<Fragment> {
        let fragment = self.unit.get(self.at)?;
        let len = u64::from(fragment.len - self.within).min(max) as u32;
        Some(Fragment { addr: fragment.addr.wrapping_add(self.within.into()), len })
    }

    /// Estimates the number of bytes that `piece` adds to the boxes: itself, and a gap that is read
    /// through.
    fn estimate(&self, piece: Fragment, settings: &Settings) -> u64 {
        let before = match self.at {
            0 => None,
            at => self.unit.get(at - 1).map(|f| f.addr.wrapping_add(f.len.into())),
        };
        let gap = [before, self.last_ends.get(self.at).copied()]
            .into_iter()
            .flatten()
            .filter(|end| *end <= piece.addr)
            .max()
            .filter(|end| settings.go_through(*end, piece.addr) && self.within == 0)
            .map(|end| piece.addr - end);
        u64::from(piece.len) + gap.unwrap_or(0)
    }

    fn advance(&mut self, piece: Fragment) {
        self.within += piece.len;
        if self.unit.get(self.at).is_some_and(|fragment| fragment.len == self.within) {
            self.at += 1;
            self.within = 0;
        }
    }
}

impl Planner {
    /// Plans the units of `destinations` together.
    pub fn new(settings: Settings, destinations: Vec<Units>) -> Self {
        let settings = Settings {
            max_read: settings.max_read.clamp(1, READ_BOUNDARY as u32),
            window: settings.window.max(1),
            ..settings
        };
        let destinations: Vec<_> = destinations.into_iter().map(Ahead::new).collect();
        Self { settings, sent: destinations.len(), destinations }
    }

    /// Plans as if these units were needed as well, although they are not sent. If reading them
    /// fails, the units up to there are planned.
    ///
    /// The model does so for any request. The card ignores fetch rows where it fetches row by row
    /// (docs/semantics.md).
    #[must_use]
    pub fn reading(mut self, fetch_rows: impl IntoIterator<Item = Units>) -> Self {
        self.destinations.extend(fetch_rows.into_iter().map(Ahead::new));
        self
    }

    /// Returns the next window; `None` when everything is planned.
    ///
    /// Units are taken in the order of their addresses, so that destinations that share memory
    /// advance through it together. A unit that does not fit in the window continues in the next,
    /// and counts where it ends.
    ///
    /// # Errors
    /// If a bitmap or a pointer cannot be read.
    pub fn next_window<M: HostMemory + ?Sized>(
        &mut self,
        memory: &M,
    ) -> Result<Option<Window>, Fault> {
        let mut window = Window { units: vec![0; self.sent], ..Window::default() };
        let mut cover = Cover::new(self.settings);
        'window: while let Some(index) = self.lowest(memory)? {
            let ahead = &mut self.destinations[index];
            while let Some(piece) = ahead.piece(self.settings.window) {
                let estimate = ahead.estimate(piece, &self.settings);
                if !cover.takes(piece, estimate) {
                    break 'window;
                }
                if index < self.sent {
                    window.payload_bytes += u64::from(piece.len);
                }
                ahead.advance(piece);
            }
            ahead.ready = false;
            if let Some(units) = window.units.get_mut(index) {
                *units += 1;
            }
        }
        window.boxes = cover.boxes();
        Ok((!window.boxes.is_empty()).then_some(window))
    }

    /// Returns the destination whose next unit begins at the lowest address. A unit that was begun
    /// keeps its place: its later fragments may lie far behind the others' first ones.
    fn lowest<M: HostMemory + ?Sized>(&mut self, memory: &M) -> Result<Option<usize>, Fault> {
        let mut lowest = None;
        for (index, ahead) in self.destinations.iter_mut().enumerate() {
            match ahead.fill(memory) {
                Err(fault) if index < self.sent => return Err(fault),
                Err(_) => ahead.done = true,
                Ok(()) => {}
            }
            if ahead.ready {
                let addr = ahead.unit.first().map_or(0, |fragment| fragment.addr);
                if lowest.is_none_or(|(low, _)| addr < low) {
                    lowest = Some((addr, index));
                }
            }
        }
        Ok(lowest.map(|(_, index)| index))
    }
}

/// The set of bytes that a window covers.
struct Cover {
    settings: Settings,
    /// Half-open intervals of addresses: first those that were joined, sorted and apart; behind
    /// them new ones in any order.
    intervals: Vec<(u64, u64)>,
    /// Number of bytes of the intervals when they were last joined, and an estimate for the new
    /// ones.
    size: u64,
    fresh: u64,
    fragments: usize,
}

impl Cover {
    fn new(settings: Settings) -> Self {
        Self { settings, intervals: Vec::new(), size: 0, fresh: 0, fragments: 0 }
    }

    /// Adds a piece if there is room for it; the first one always fits.
    fn takes(&mut self, piece: Fragment, estimate: u64) -> bool {
        let end = piece.addr.saturating_add(piece.len.into());
        if self.fragments > 0 && self.size + self.fresh + estimate > self.settings.window {
            self.join();
            let at = self.intervals.partition_point(|(start, _)| *start <= piece.addr);
            let held = at > 0 && self.intervals[at - 1].1 >= end;
            if !held && self.size + estimate > self.settings.window {
                return false;
            }
        }
        if self.fragments == WINDOW_FRAGMENTS {
            return false;
        }
        self.intervals.push((piece.addr, end));
        self.fresh += estimate;
        self.fragments += 1;
        true
    }

    /// Sorts the intervals and joins those whose gap is read through.
    fn join(&mut self) {
        if self.fresh == 0 {
            return;
        }
        let settings = self.settings;
        // The stable sort is fast on a list of which all but the end is sorted.
        self.intervals.sort();
        self.intervals.dedup_by(|next, last| {
            let joined = next.0 <= last.1 || settings.go_through(last.1, next.0);
            if joined {
                last.1 = last.1.max(next.1);
            }
            joined
        });
        self.size = self.intervals.iter().map(|(start, end)| end - start).sum();
        self.fresh = 0;
    }

    /// Cuts the intervals into reads.
    fn boxes(mut self) -> Vec<BoundingBox> {
        self.join();
        let mut boxes = Vec::new();
        for (mut addr, end) in self.intervals {
            while addr < end {
                let room = READ_BOUNDARY - addr % READ_BOUNDARY;
                let len = (end - addr).min(room).min(u64::from(self.settings.max_read));
                boxes.push(BoundingBox { addr, len: len as u32 });
                addr += len;
            }
        }
        boxes
    }
}

#[cfg(test)]
#[path = "tests/boxes.rs"]
mod tests;
