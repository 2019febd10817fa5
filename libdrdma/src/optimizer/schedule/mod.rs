//! Schedules: which gaps of a bitmap are read through, gap by gap.

mod program;
#[cfg(test)]
mod tests;

use drdma_abi::work_request::LOG_MAX_READ;

use super::{CostTable, FetchPlan, Fragment, Limits, Load, PlanError, READ_BOUNDARY};
use program::{Lane, Prices, Program};

/// Width in bytes up to which the card reads through every gap: it reads words of 4 bytes.
const WORD_GAP: u64 = 3;
/// Number of shares of requests and bytes in the price of reads that are tried, less one.
const SHARES: u32 = 4;

/// An explicit schedule for a bitmapped region: its *fetch rows*, rows that nobody has selected and
/// that the card is to read all the same, as they lie between others
/// ([`Bitmapped::fetch_rows`](crate::Bitmapped::fetch_rows)).
///
/// A rule ([`FetchPlan`]) looks at the width of a gap and at nothing else. What a gap is worth depends
/// on more: on the 4 KiB boundaries and cache lines around it, on the reads before and behind, which may
/// be full, and on all columns at once, as these share their rows.
///
/// ```
/// use libdrdma::optimizer::{CostTable, Fragment, Limits, Schedule};
///
/// // Two columns of 4 B and 8 B. Rows 0 to 3, 5, 6 and 15 are selected.
/// let columns = [Fragment { addr: 0x1000, len: 4 }, Fragment { addr: 0x8000, len: 8 }];
/// let selected = [0b0110_1111, 0b1000_0000];
/// // 10 ns a request and 1 ns a byte: a gap of one row saves two requests for 12 B, which is worth it, and
/// // one of eight rows for 96 B, which is not.
/// let costs = CostTable::affine(10.0, 1.0)?;
/// let schedule = Schedule::cheapest(&columns, 16, &selected, &costs, &Limits::default())?;
/// assert_eq!(schedule.fetch_rows(), [0b0001_0000, 0]);
/// assert_eq!((schedule.reads(), schedule.bytes()), (4, 8 * 12));
/// // Goes into registered memory, and the region is made with `.fetch_rows(&memory, 0)`; the request gets
/// assert_eq!(schedule.plan().to_string(), "reads of at most 512 B, through gaps of at most 0 B");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    fetch_rows: Vec<u8>,
    plan: FetchPlan,
    found: Found,
}

/// The reads of a schedule.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Found {
    reads: u64,
    bytes: u64,
    load: Load,
}

/// Error of making a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScheduleError {
    /// The limits leave no read.
    #[error(transparent)]
    Limits(#[from] PlanError),
    /// There is no column.
    #[error("a schedule needs at least one column")]
    NoColumns,
    /// A column has no bytes, or reaches beyond the last address.
    #[error(
        "column {index} of {rows} values of {len} B at {addr:#x} is empty or goes beyond the last address"
    )]
    Column {
        /// Index of the column.
        index: usize,
        /// Number of rows.
        rows: u64,
        /// The address of row 0's value.
        addr: u64,
        /// Bytes of one value.
        len: u64,
    },
    /// The bitmap does not have a bit for each row.
    #[error("a bitmap of {bytes} B for {rows} rows")]
    Bitmap {
        /// Length of the bitmap in bytes.
        bytes: usize,
        /// Number of rows.
        rows: u64,
    },
}

impl Schedule {
    /// The schedule that takes the least time by a table, for those rows of `columns` that are
    /// `selected`. A column is given as its value of row 0; its values lie one behind the other.
    /// Bit `r mod 8` of byte `r / 8` of `selected` is that of row `r`. For several destinations
    /// that share the columns, `selected` is the union of their rows.
    ///
    /// It is a dynamic program over the runs of selected rows. A read of it lies as the card makes it:
    /// of whole words, cut at 4 KiB boundaries, and where it is too long at the last cache line. Two columns
    /// that overlap are counted apart, and so are windows that do not end with a read. Time is that of
    /// [`Load::ns`], which is no sum over reads: the program is solved for several prices of a request and
    /// of a byte, and the best of the solutions is taken, or the rule of one widest gap in all columns if
    /// that were better still.
    ///
    /// Reads are as long as is best for such rules, up to what `limits` allow (and 64 B in any case).
    ///
    /// The time it takes is proportional to the runs, times those of a page of the narrowest column
    /// (or the distinct gaps among them), times the columns. A schedule can be made for a stretch of rows at a time.
    ///
    /// # Errors
    /// `ScheduleError::Limits` if the limits leave no read, `NoColumns` without a column, `Column`
    /// for one that is empty or reaches beyond the last address, or `Bitmap` for a bitmap that is
    /// too short.
    pub fn cheapest(
        columns: &[Fragment],
        rows: u64,
        selected: &[u8],
        costs: &CostTable,
        limits: &Limits,
    ) -> Result<Self, ScheduleError> {
        let longest = limits.longest()?;
        let lanes = lanes(columns, rows)?;
        if (selected.len() as u64) < rows.div_ceil(8) {
            return Err(ScheduleError::Bitmap { bytes: selected.len(), rows });
        }
        let runs = runs(rows, selected, &lanes);
        let program = |longest| Program { lanes: &lanes, runs: &runs, longest };
        let loads: Vec<Load> = (0..=READ_BOUNDARY).map(|len| costs.read_load(len as u32)).collect();
        let mut best: Option<(Vec<bool>, u64, Found)> = None;
        let mut consider = |through: Vec<bool>, longest| {
            let found = program(longest).found(&through, &loads, costs);
            match &best {
                Some((_, _, least)) if !found.load.is_less_than(&least.load) => {}
                _ => best = Some((through, longest, found)),
            }
            best.as_ref().map_or(longest, |(_, longest, _)| *longest)
        };
        // The rules show which longest read is best.
        let log = longest.ilog2().max((*LOG_MAX_READ.start()).into());
        let mut longest = 1 << log;
        for log in (u32::from(*LOG_MAX_READ.start())..=log).rev() {
            for through in program(1 << log).rules() {
                longest = consider(through, 1 << log);
            }
        }
        for prices in prices(&loads, costs) {
            consider(program(longest).solve(&prices), longest);
        }
        let (through, longest, found) = best.expect("there are rules");
        let plan = FetchPlan::new(longest as u32, 0).expect("64 to 4096");
        let mut fetch_rows = vec![0; rows.div_ceil(8) as usize];
        for (pair, _) in runs.windows(2).zip(through).filter(|(_, through)| *through) {
            (pair[0].1..pair[1].0).for_each(|row| fetch_rows[row as usize / 8] |= 1 << (row % 8));
        }
        Ok(Self { fetch_rows, plan, found })
    }

    /// The bitmap of the fetch rows: a bit a row, as [`selected`](Self::cheapest) has them.
    pub fn fetch_rows(&self) -> &[u8] {
        &self.fetch_rows
    }

    /// The plan to post with the schedule: the card reads through no other gap.
    pub fn plan(&self) -> FetchPlan {
        self.plan
    }

    /// Number of reads that the card makes.
    pub fn reads(&self) -> u64 {
        self.found.reads
    }

    /// Number of bytes of the reads, gaps included.
    pub fn bytes(&self) -> u64 {
        self.found.bytes
    }

    /// Load of the reads by the table. It does not contain the card's reading of the fetch rows
    /// themselves, a bit a row in reads of 512 B: a schedule pays where few rows are selected, or
    /// gaps are unlike each other.
    pub fn load(&self) -> Load {
        self.found.load
    }
}

/// Checks columns: their values of all rows must have addresses.
fn lanes(columns: &[Fragment], rows: u64) -> Result<Vec<Lane>, ScheduleError> {
    if columns.is_empty() {
        return Err(ScheduleError::NoColumns);
    }
    let lane = |(index, &Fragment { addr, len }): (usize, &Fragment)| {
        let end = u128::from(addr) + u128::from(rows) * u128::from(len);
        // The words and the page behind must have addresses, too.
        match len > 0 && end < u128::from(u64::MAX - READ_BOUNDARY) {
            true => Ok(Lane { addr, width: len }),
            false => Err(ScheduleError::Column { index, rows, addr, len }),
        }
    };
    columns.iter().enumerate().map(lane).collect()
}

/// Runs of selected rows, first and end; gaps that are read through in every column, whatever the card is
/// told, do not part them.
fn runs(rows: u64, selected: &[u8], lanes: &[Lane]) -> Vec<(u64, u64)> {
    let widest = lanes.iter().map(|lane| lane.width).max().unwrap_or(1);
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for row in (0..rows).filter(|row| selected[*row as usize / 8] >> (row % 8) & 1 == 1) {
        match runs.last_mut() {
            Some(run) if (row - run.1).saturating_mul(widest) <= WORD_GAP => run.1 = row + 1,
            _ => runs.push((row, row + 1)),
        }
    }
    runs
}

/// Prices of reads, as sums over them: the time that they take without overlap, and that time mixed
/// with their use of requests or bytes, in all shares.
fn prices<'a>(loads: &'a [Load], costs: &'a CostTable) -> impl Iterator<Item = Prices> + 'a {
    let shares = (0..=SHARES).map(|share| f64::from(share) / f64::from(SHARES));
    let mixed = shares.map(|requests| (Load::APART, requests));
    std::iter::once((1.0, 0.0)).chain(mixed).map(move |(apart, requests)| {
        let price = |load: &Load| {
            let together = requests * load.requests_ns + (1.0 - requests) * load.bytes_ns;
            apart * load.apart_ns + (1.0 - apart) * together
        };
        Prices {
            by_length: loads.iter().map(price).collect(),
            same_line: price(&Load::waiting(costs.same_line_ns())),
        }
    })
}
