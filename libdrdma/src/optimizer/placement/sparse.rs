//! Windows of bitmaps that leave rows out.

use super::{ColumnPlacement, Lane, PlacementError};

/// Rows of a block: all of them are left out, or none.
const BLOCK: u64 = 64;
/// Blocks of the region that a window may span.
const MAX_SPAN: u64 = 4096;
/// If one of this many last rows of a block is needed, its last word may reach into the next block.
const TAIL: u64 = 3;

/// Rows of a bitmapped region that a window holds, if the region is for a single destination.
///
/// Blocks of 64 rows go into a window in order, until it is full or spans 4,096 of them. Between two blocks of which
/// rows are needed those without any are left out if there are so many that no read goes through them: if their
/// rows are wider than the merge threshold in every lane, and no lane's rows overlap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SparseWindow {
    rows: u32,
    /// Number of each block with needed rows, and its number in the window.
    blocks: Vec<(u64, u32)>,
}

impl SparseWindow {
    /// The windows of a region of `rows` rows. Bit `r mod 8` of byte `r / 8` of `needed` is 1 if
    /// row `r` is selected or is a fetch row
    /// ([`Bitmapped::fetch_rows`](crate::Bitmapped::fetch_rows)).
    ///
    /// ```
    /// use libdrdma::optimizer::{Lane, SparseWindow};
    ///
    /// // Rows 5 and 100,000: what lies between is left out.
    /// let mut needed = vec![0; 12_501];
    /// (needed[0], needed[12_500]) = (1 << 5, 1);
    /// let lanes = [Lane::dense(0x1000, 4)];
    /// let windows = SparseWindow::all(&lanes, 100_008, &needed, 256)?;
    /// assert_eq!(windows.len(), 1);
    /// assert_eq!((windows[0].row(5), windows[0].row(100_000)), (Some(5), Some(64 + 100_000 % 64)));
    /// assert_eq!(windows[0].row(1000), None);
    /// # Ok::<(), libdrdma::optimizer::PlacementError>(())
    /// ```
    ///
    /// # Errors
    /// The [`PlacementError`] of lanes that the card does not pack, or `Bitmap` for a bitmap that
    /// is too short.
    pub fn all(
        lanes: &[Lane],
        rows: u64,
        needed: &[u8],
        merge_threshold: u32,
    ) -> Result<Vec<Self>, PlacementError> {
        let most = ColumnPlacement::window_rows(lanes)?;
        if (needed.len() as u64) < rows.div_ceil(8) {
            return Err(PlacementError::Bitmap { bytes: needed.len(), rows });
        }
        let is_needed = |row: &u64| needed[*row as usize / 8] >> (row % 8) & 1 == 1;
        let any = |from: u64, to: u64| (from..to.min(rows)).any(|row| is_needed(&row));
        let enough = enough(lanes, merge_threshold);
        // A window consists of whole blocks, unless it has room for less than one: then the card
        // leaves out nothing.
        let most = u64::from(most);
        let most = if most < BLOCK { most } else { most / BLOCK * BLOCK };
        let rows_of_window = rows.min(most) as u32;
        let mut windows: Vec<Self> = Vec::new();
        for block in
            (0..rows.div_ceil(BLOCK)).filter(|block| any(BLOCK * block, BLOCK * (block + 1)))
        {
            let place = windows.last().and_then(|window| {
                let &(before, place) = window.blocks.last()?;
                let empty = match block - before - 1 {
                    empty if empty < enough => empty,
                    _ => u64::from(any(BLOCK * (before + 1) - TAIL, BLOCK * (before + 1))),
                };
                let place = u64::from(place) + 1 + empty;
                let fits =
                    BLOCK * place < rows_of_window.into() && block - window.blocks[0].0 < MAX_SPAN;
                fits.then_some(place as u32)
            });
            match (place, windows.last_mut()) {
                (Some(place), Some(window)) => window.blocks.push((block, place)),
                _ => windows.push(Self { rows: rows_of_window, blocks: vec![(block, 0)] }),
            }
        }
        Ok(windows)
    }

    /// Number of rows that the window has room for: those of its [`ColumnPlacement`].
    pub fn rows(&self) -> u32 {
        self.rows
    }

    /// Row of the window that holds a row of the region; `None` if its block of 64 rows is not in
    /// the window.
    pub fn row(&self, row: u64) -> Option<u32> {
        let found = self.blocks.binary_search_by_key(&(row / BLOCK), |(block, _)| *block).ok()?;
        Some(self.blocks[found].1 * BLOCK as u32 + (row % BLOCK) as u32)
    }
}

/// The least number of neighbouring blocks that are left out.
fn enough(lanes: &[Lane], merge_threshold: u32) -> u64 {
    let least = lanes.iter().map(|lane| lane.step).min().unwrap_or(1);
    match lanes.iter().any(|lane| lane.len > lane.step) {
        // More blocks than a window spans: nothing is left out.
        true => MAX_SPAN,
        false => u64::from(merge_threshold.min(4095)) / (BLOCK * least) + 1,
    }
}
