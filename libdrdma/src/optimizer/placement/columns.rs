//! Columns of which the card packs several rows a cycle.

use std::ops::Range;

use drdma_abi::work_request::MAX_ELEMENTS;

use super::{BANKS, BEAT, Beat, Place, WORD};
use crate::optimizer::WINDOW;

/// Distance in banks between the starts of consecutive groups: with few lanes, and with many.
const SKEW: [u32; 2] = [5, 14];
/// Largest number of lanes that counts as few.
const FEW: usize = 5;
/// Widest joint span in bytes of lanes that are one group.
const MAX_SPAN: u64 = 127;
/// Largest length of a lane in bytes.
const MAX_LEN: u64 = 127;
/// Largest distance in bytes from row to row of a lane.
const MAX_STEP: u64 = 128;
/// Largest length of a row in bytes.
const MAX_ROW_BYTES: u64 = 960;
/// Bytes a row that all groups may take together: 16 rows then fit a window.
const MAX_STEPS: u64 = ROOM / 16;
/// Largest number of rows of a window.
const MAX_ROWS: u64 = 4096;
/// Bytes of a window for rows.
const ROOM: u64 = WINDOW - MAX_ELEMENTS as u64 * LOST;
/// Bytes of a window that a group may lose to its first bank, to its alignment and behind its last row.
const LOST: u64 = 132;

/// A run of bytes that every row has: a column of a bitmapped or partitioned region, or an extent of a strided
/// one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lane {
    /// Address of the lane's bytes in row 0.
    pub addr: u64,
    /// Length in bytes, at least 1.
    pub len: u64,
    /// Bytes from row to row, at least 1.
    pub step: u64,
}

impl Lane {
    /// A lane of values of `len` bytes, one behind the other.
    pub const fn dense(addr: u64, len: u64) -> Self {
        Self { addr, len, step: len }
    }

    fn end(&self) -> u64 {
        self.addr + self.len
    }
}

/// Lanes that lie in a window as they lie in host memory: consecutive ones of the same step that span no
/// more than it together, nor than 127 bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Indices of the group's lanes.
    pub lanes: Range<usize>,
    /// Address of the group's first byte in row 0.
    pub addr: u64,
    /// Bytes of a row from there to the last byte of the group.
    pub len: u64,
    /// Bytes from row to row.
    pub step: u64,
    /// Place of that first byte in the window.
    pub place: Place,
}

impl Group {
    /// Adds the next lane, if it belongs to this group.
    fn takes(&mut self, lane: &Lane) -> bool {
        let start = self.addr.min(lane.addr);
        let span = (self.addr + self.len).max(lane.end()) - start;
        let joins = lane.step == self.step && span <= self.step.min(MAX_SPAN);
        if joins {
            (self.addr, self.len, self.lanes.end) = (start, span, self.lanes.end + 1);
        }
        joins
    }

    /// The place of a byte of host memory that lies in the words which the group's `rows` touch.
    fn place(&self, addr: u64, rows: u32) -> Option<Place> {
        let word = u64::from(WORD);
        let (start, end) = (self.addr / word * word, self.end(self.addr, rows));
        let lead = self.place.offset() - (self.addr - start) as u32;
        (start..end.next_multiple_of(word)).contains(&addr).then(|| Place(lead).plus(addr - start))
    }

    /// Address or offset behind the last of `rows` rows that begin at `start`, in host memory or in
    /// the window.
    fn end(&self, start: u64, rows: u32) -> u64 {
        start + (u64::from(rows) - 1) * self.step + self.len
    }
}

/// Reason why rows are not packed: the card fetches and sends such a request row by row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlacementError {
    /// There is no lane, or there are more than a region can have.
    #[error("{0} lanes, 1 to {MAX_ELEMENTS} are possible")]
    Lanes(usize),
    /// A lane has no bytes or no step, or reaches beyond the last address.
    #[error(
        "lane {index} of {len} B every {step} B at {addr:#x} is empty, stands still or goes beyond the \
         last address"
    )]
    Lane {
        /// Index of the lane.
        index: usize,
        /// Address of the lane's bytes in row 0.
        addr: u64,
        /// Length in bytes.
        len: u64,
        /// Bytes from row to row.
        step: u64,
    },
    /// The rows are too long.
    #[error("rows of {0} B, at most {MAX_ROW_BYTES} B are packed")]
    RowBytes(u64),
    /// A lane is too long, or its rows are too far apart.
    #[error(
        "lane {index} of {len} B every {step} B: lanes of at most {MAX_LEN} B every {MAX_STEP} B are packed"
    )]
    Wide {
        /// Index of the lane.
        index: usize,
        /// Length in bytes.
        len: u64,
        /// Bytes from row to row.
        step: u64,
    },
    /// The extents of a period of 128 B would be two groups.
    #[error(
        "lane {index} every {MAX_STEP} B spans more than {MAX_SPAN} B with the lanes before it"
    )]
    Period {
        /// Index of the lane.
        index: usize,
    },
    /// Rows have more than 64 B, and a lane is longer than its step.
    #[error("lane {index} of {len} B every {step} B overlaps, and rows have more than {BEAT} B")]
    Overlap {
        /// Index of the lane.
        index: usize,
        /// Length in bytes.
        len: u64,
        /// Bytes from row to row.
        step: u64,
    },
    /// The lanes take too much of a window.
    #[error(
        "lanes that take {0} B a row, at most {MAX_STEPS} B are packed (lanes that are near each other \
         count once)"
    )]
    Steps(u64),
    /// The bitmap does not have a bit for each row.
    #[error("a bitmap of {bytes} B for {rows} rows")]
    Bitmap {
        /// Length of the bitmap in bytes.
        bytes: usize,
        /// Number of rows.
        rows: u64,
    },
    /// There are no rows, or more than a window takes.
    #[error("{rows} rows, a window takes 1 to {most}")]
    Rows {
        /// Number of rows that were given.
        rows: u32,
        /// Number of rows that a window takes.
        most: u32,
    },
}

/// Places of the lanes of a window, and of the rows that are packed from there.
///
/// A group starts behind the one before it, in bank 5 times its index (modulo 32), or of more than five lanes 14
/// times, as far from the start of a word as in host memory. From there on its bytes lie as in host memory, gaps
/// included.
///
/// The rows of a request are cut into windows of [`ColumnPlacement::window_rows`] rows, which all
/// destinations share, and a last one of the rest. Those of a bitmap for a single destination leave rows
/// out ([`SparseWindow`](super::SparseWindow)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnPlacement {
    lanes: Vec<Lane>,
    groups: Vec<Group>,
    rows: u32,
}

impl ColumnPlacement {
    /// The placement of a window of `rows` rows of `lanes`, in the order in which they are sent.
    ///
    /// # Errors
    /// The [`PlacementError`] of lanes that the card does not pack, or `Rows` for a number of rows
    /// that is 0 or above [`ColumnPlacement::window_rows`].
    pub fn new(lanes: &[Lane], rows: u32) -> Result<Self, PlacementError> {
        let mut groups = groups(lanes)?;
        let most = most_rows(&groups);
        if !(1..=most).contains(&rows) {
            return Err(PlacementError::Rows { rows, most });
        }
        let skew = SKEW[usize::from(lanes.len() > FEW)];
        let mut free = 0;
        for (index, group) in (0..).zip(&mut groups) {
            let bank = skew * index % BANKS;
            let word: u32 = free + (bank + BANKS - free % BANKS) % BANKS;
            group.place = Place(WORD * word).plus(group.addr % u64::from(WORD));
            free = (group.end(group.place.offset().into(), rows) as u32).div_ceil(WORD);
        }
        Ok(Self { lanes: lanes.to_vec(), groups, rows })
    }

    /// Rows of a window of these lanes, at most 4,096: a multiple of 128 where there are at least 512, of 64 where
    /// there are at least 128, else of 16. Of a sparse window whole blocks of 64 count.
    ///
    /// # Errors
    /// The [`PlacementError`] of lanes that the card does not pack.
    pub fn window_rows(lanes: &[Lane]) -> Result<u32, PlacementError> {
        Ok(most_rows(&groups(lanes)?))
    }

    /// The groups of lanes that lie together, in order.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// Number of rows of the window.
    pub fn rows(&self) -> u32 {
        self.rows
    }

    /// Bytes of the segmented memory that the window alone occupies while it is in use: a multiple
    /// of a word of all banks, or [`WINDOW`] if that is more than half of it. The next window lies
    /// behind them.
    pub fn size(&self) -> u64 {
        let end = |group: &Group| group.end(group.place.offset().into(), self.rows);
        let end = self.groups.last().map_or(0, end);
        let size = end.next_multiple_of(u64::from(BANKS * WORD));
        if size > WINDOW / 2 { WINDOW } else { size }
    }

    /// Place of the first byte of a lane's value, for a row of the window; `None` if there is no
    /// such lane or row.
    pub fn place(&self, lane: usize, row: u32) -> Option<Place> {
        let group = self.groups.iter().find(|group| group.lanes.contains(&lane))?;
        let offset = u64::from(row) * group.step + self.lanes[lane].addr - group.addr;
        (row < self.rows).then(|| group.place.plus(offset))
    }

    /// Places of a byte of host memory, in the words that the lanes touch: several if it is in
    /// several groups. Addresses are those of the window's rows if the lanes' are.
    pub fn places(&self, addr: u64) -> impl Iterator<Item = Place> {
        self.groups.iter().filter_map(move |group| group.place(addr, self.rows))
    }

    /// The beats of a message with some rows of the window: full ones, or 63 B of rows of 3 B,
    /// except for the last. Rows that are not in the window are left out.
    pub fn beats(&self, rows: impl IntoIterator<Item = u32>) -> impl Iterator<Item = Beat> {
        let row_bytes: usize = self.lanes.iter().map(|lane| lane.len as usize).sum();
        let value = |lane: usize, row: u32| {
            let place = self.place(lane, row);
            (0..self.lanes[lane].len).map(move |byte| place.map(|place| place.plus(byte)))
        };
        let mut bytes = rows
            .into_iter()
            .filter(|&row| row < self.rows)
            .flat_map(move |row| (0..self.lanes.len()).flat_map(move |lane| value(lane, row)));
        // A beat of rows of 1 to 3 bytes holds whole rows.
        let size = if row_bytes < 4 { BEAT - BEAT % row_bytes.max(1) } else { BEAT };
        std::iter::from_fn(move || {
            let mut beat = [None; BEAT];
            let filled = beat.iter_mut().zip(bytes.by_ref().take(size));
            let count = filled.map(|(byte, place)| *byte = place).count();
            (count > 0).then_some(beat)
        })
    }
}

/// Puts lanes into groups, whose places are not determined yet.
fn groups(lanes: &[Lane]) -> Result<Vec<Group>, PlacementError> {
    if !(1..=MAX_ELEMENTS).contains(&lanes.len()) {
        return Err(PlacementError::Lanes(lanes.len()));
    }
    let mut groups: Vec<Group> = Vec::new();
    for (index, lane) in lanes.iter().enumerate() {
        let &Lane { addr, len, step } = lane;
        let end = u128::from(addr) + u128::from(MAX_ROWS) * u128::from(step) + u128::from(len);
        if len == 0 || step == 0 || end > u128::from(u64::MAX) {
            return Err(PlacementError::Lane { index, addr, len, step });
        }
        if len > MAX_LEN || step > MAX_STEP {
            return Err(PlacementError::Wide { index, len, step });
        }
        if !groups.last_mut().is_some_and(|group| group.takes(lane)) {
            if step == MAX_STEP && index > 0 {
                return Err(PlacementError::Period { index });
            }
            let lanes = index..index + 1;
            groups.push(Group { lanes, addr, len, step, place: Place(0) });
        }
    }
    let row_bytes = lanes.iter().map(|lane| lane.len).fold(0, u64::saturating_add);
    if row_bytes > MAX_ROW_BYTES {
        return Err(PlacementError::RowBytes(row_bytes));
    }
    let overlaps = |lane: &Lane| lane.len > lane.step;
    if let Some(index) = lanes.iter().position(overlaps).filter(|_| row_bytes > BEAT as u64) {
        let Lane { len, step, .. } = lanes[index];
        return Err(PlacementError::Overlap { index, len, step });
    }
    match steps(&groups) {
        0..=MAX_STEPS => Ok(groups),
        steps => Err(PlacementError::Steps(steps)),
    }
}

/// Bytes of a window that a row takes.
fn steps(groups: &[Group]) -> u64 {
    groups.iter().map(|group| group.step).fold(0, u64::saturating_add)
}

fn most_rows(groups: &[Group]) -> u32 {
    let most = (ROOM / steps(groups)).min(MAX_ROWS) as u32;
    match most {
        512.. => most / 128 * 128,
        128.. => most / 64 * 64,
        _ => most / 16 * 16,
    }
}
