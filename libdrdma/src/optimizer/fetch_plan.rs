//! The fetch plan of a request.

use std::fmt;

use drdma_abi::work_request::{LOG_MAX_READ, MAX_MERGE_THRESHOLD};

use super::{
    CostTable, Fragment, Limits, Load, Optimizer, Pages, Plan, PlanError, READ_BOUNDARY, Threshold,
    fragments::Run,
};

/// Length in bytes from which on a contiguous region is read in reads of 256 B.
const LONG_RUN: u32 = 128 << 10;
/// Number of different thresholds of plans, from 0 to the widest gap of a plan.
const THRESHOLDS: usize = MAX_MERGE_THRESHOLD as usize + 1;

/// The longest DMA read of a request's data and the widest gap that is read through, in place of the
/// card's registers: given to a work request (`fetch_plan`), it holds for that request alone. What
/// arrives does not depend on it, only when.
///
/// ```
/// use libdrdma::optimizer::{CostTable, FetchPlan, Fragment, Limits};
///
/// // Values of 4 B every 100 B, and reads that cost 20 ns however long they are.
/// let fragments: Vec<_> = (0..1000).map(|i| Fragment { addr: 100 * i, len: 4 }).collect();
/// let costs = CostTable::affine(20.0, 0.0)?;
/// let limits = Limits { max_read: 4096, ..Limits::default() };
/// let plan = FetchPlan::cheapest(&fragments, &costs, &limits)?;
/// assert_eq!(plan.to_string(), "reads of at most 4096 B, through gaps of at most 96 B");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FetchPlan {
    log_max_read: u8,
    merge_threshold: u16,
}

/// Error of making a fetch plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FetchPlanError {
    /// The longest read is none that a request can ask for.
    #[error("reads of at most {0} B: must be a power of two, 64 to 4096")]
    MaxRead(u32),
    /// The merge threshold is none that a request can ask for.
    #[error("gaps of at most {0} B: must be 0 to {MAX_MERGE_THRESHOLD}")]
    MergeThreshold(u32),
}

impl FetchPlan {
    /// Reads of at most `max_read` bytes, through gaps of at most `merge_threshold` bytes.
    ///
    /// # Errors
    /// `max_read` is no power of two from 64 to 4096, or `merge_threshold` is above 4095.
    pub fn new(max_read: u32, merge_threshold: u32) -> Result<Self, FetchPlanError> {
        let log_max_read = max_read.checked_ilog2().map_or(0, |log| log as u8);
        if !max_read.is_power_of_two() || !LOG_MAX_READ.contains(&log_max_read) {
            return Err(FetchPlanError::MaxRead(max_read));
        }
        match u16::try_from(merge_threshold) {
            Ok(merge_threshold) if merge_threshold <= MAX_MERGE_THRESHOLD => {
                Ok(Self { log_max_read, merge_threshold })
            }
            _ => Err(FetchPlanError::MergeThreshold(merge_threshold)),
        }
    }

    /// The plan that a request to one destination has if it brings none: reads of 256 B if it is one contiguous region
    /// of at least 128 KiB. `None` for shorter ones, which leave their reads to the card's registers.
    ///
    /// A host that serves 64 reads and 16 KiB at once needs no longer reads to be busy, and each is over sooner than
    /// one of 512 B: a WRITE of 4 MiB has 1.2 % more goodput. Once the host has set `MAX_READ`
    /// ([`Options::max_read`](crate::Options), [`Context::set_max_read`](crate::Context::set_max_read)) no request gets
    /// this plan.
    #[inline]
    pub const fn of_contiguous(bytes: u32) -> Option<Self> {
        match bytes < LONG_RUN {
            true => None,
            false => Some(Self {
                log_max_read: 8,
                merge_threshold: drdma_abi::register::MERGE_THRESHOLD.reset as u16,
            }),
        }
    }

    /// The plan under which the card's rule fetches `fragments` in the least time by a table: of all
    /// longest reads up to that of `limits` (and 64 B in any case) and all thresholds. Time is what
    /// [`CostTable::load`] says; of plans that take the same time it is one that leaves more of the
    /// other resource.
    ///
    /// `limits.max_read` should be at most the host's maximum read request size: longer reads become
    /// several requests, which a table of costs does not tell.
    ///
    /// The card sees a window of a request at a time: `fragments` are taken in the order in which
    /// they are sent, and only those that fill a window of `limits` together are planned together.
    /// A few thousand fragments of a request are as good as all of them if the rest is like them.
    ///
    /// A page is planned for each of the distinct gaps in it, which are at most 90, as they add up
    /// to less than a page: time is proportional to the fragments times the gaps of a page, for
    /// each of up to seven longest reads.
    ///
    /// # Errors
    /// `PlanError::Limits` if the limits leave no read, or `Fragment` for a fragment that is empty
    /// or beyond the last address.
    pub fn cheapest(
        fragments: &[Fragment],
        costs: &CostTable,
        limits: &Limits,
    ) -> Result<Self, PlanError> {
        let longest = limits.longest()?;
        let windows = windows(fragments, limits.window)
            .map(Pages::of)
            .collect::<Result<Vec<_>, PlanError>>()?;
        let by_length: Vec<Load> =
            (0..=READ_BOUNDARY).map(|len| costs.read_load(len as u32)).collect();
        let mut best: Option<(Self, Load)> = None;
        for log_max_read in LOG_MAX_READ {
            if log_max_read > *LOG_MAX_READ.start() && 1 << log_max_read > longest {
                break;
            }
            let trial = Trial { costs, by_length: &by_length, max_read: 1 << log_max_read };
            let mut load = Load::default();
            for (merge_threshold, change) in (0..).zip(trial.changes(&windows)) {
                load += change;
                if best.is_none_or(|(_, least)| load.is_less_than(&least)) {
                    best = Some((Self { log_max_read, merge_threshold }, load));
                }
            }
        }
        Ok(best.expect("reads of 64 B are always tried").0)
    }

    /// The longest read in bytes.
    pub fn max_read(&self) -> u32 {
        1 << self.log_max_read
    }

    /// The widest gap in bytes that is read through.
    pub fn merge_threshold(&self) -> u32 {
        self.merge_threshold.into()
    }

    /// The fields of a work request's head.
    #[inline]
    pub(crate) fn fields(self) -> (u8, u16) {
        (self.log_max_read, self.merge_threshold)
    }
}

impl fmt::Display for FetchPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (max_read, threshold) = (self.max_read(), self.merge_threshold);
        write!(f, "reads of at most {max_read} B, through gaps of at most {threshold} B")
    }
}

/// The reads that the card makes under the plan, which are no longer than `limits` allow either.
impl Optimizer for FetchPlan {
    fn plan(&self, fragments: &[Fragment], limits: &Limits) -> Result<Plan, PlanError> {
        let limits = Limits { max_read: limits.max_read.min(self.max_read()), ..*limits };
        Threshold(self.merge_threshold()).plan(fragments, &limits)
    }
}

/// Cuts fragments into sequences that fill a window of `window` bytes together, or single fragments
/// that are larger.
fn windows(fragments: &[Fragment], window: u64) -> impl Iterator<Item = &[Fragment]> {
    let mut rest = fragments;
    std::iter::from_fn(move || {
        let mut bytes = 0u64;
        let fits = |fragment: &&Fragment| {
            bytes = bytes.saturating_add(fragment.len);
            bytes <= window
        };
        let count = rest.iter().take_while(fits).count().max(1).min(rest.len());
        let (taken, left) = rest.split_at(count);
        rest = left;
        (!taken.is_empty()).then_some(taken)
    })
}

/// The card's rule for reads of one longest length.
struct Trial<'a> {
    costs: &'a CostTable,
    by_length: &'a [Load],
    max_read: usize,
}

impl Trial<'_> {
    /// For each threshold, how its load differs from that of the one before; for 0 the load itself.
    fn changes(&self, windows: &[Pages]) -> Vec<Load> {
        let mut changes = vec![Load::default(); THRESHOLDS];
        let (mut gaps, mut reads) = (Vec::new(), Vec::new());
        for (_, runs) in windows.iter().flat_map(Pages::iter) {
            gaps.clear();
            // From 1 on gaps within a cache line are read through.
            gaps.extend([0, 1]);
            gaps.extend(runs.windows(2).map(|pair| pair[1].0 - pair[0].1));
            gaps.sort_unstable();
            gaps.dedup();
            let mut before = Load::default();
            for &gap in &gaps {
                Threshold(gap as u32).page(runs, self.max_read, &mut reads);
                let load = self.load(&reads);
                changes[gap] += load - before;
                before = load;
            }
        }
        changes
    }

    fn load(&self, reads: &[Run]) -> Load {
        let mut load = Load::default();
        let mut last_end = None;
        for &(start, end) in reads {
            load += self.by_length[end - start];
            load += Load::waiting(self.costs.shared_line(last_end, start));
            last_end = Some(end);
        }
        load
    }
}
