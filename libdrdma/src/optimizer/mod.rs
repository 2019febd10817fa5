//! Planning DMA reads in software: gap analysis and bounding boxes (D-RDMA section 4.1, figure 9).
//!
//! An [`Optimizer`] is given the [`Fragment`]s that must be fetched and forms the reads that cover
//! them, under the [`Limits`] of the device. There are two:
//!
//! | optimizer | what it does |
//! |---|---|
//! | [`Threshold`] | the card's rule: a gap is read through if it is at most a threshold wide |
//! | [`Cheapest`] | the least cost under a measured [`CostTable`], by a dynamic program |
//!
//! The card carries the rule. Its registers hold the threshold and the longest read for all
//! requests; a request can bring its own ([`FetchPlan`]), and [`FetchPlan::cheapest`] finds those
//! that suit its fragments ([`Region::fragments`](crate::Region::fragments)) best. For the rows of a
//! bitmap the program's result can be handed to the card as it is: a [`Schedule`] says of every gap whether
//! it is read through ([`Bitmapped::fetch_rows`](crate::Bitmapped::fetch_rows)).
//!
//! The card packs several rows of some requests a cycle: [`PackedRows`] says of which.
//! [`ColumnPlacement`] and [`BlockPlacement`] compute the places where the card puts what it reads,
//! and [`assembler::pace`] the number of words a cycle that are gathered from there.
//!
//! For a cost that is affine in a read's length the rule is as good as the program but for where
//! long runs are cut; `drdma calibrate` measures the table and derives the rule's threshold.
//!
//! ```
//! use libdrdma::optimizer::{Cheapest, CostTable, Fragment, Limits, Optimizer, Threshold};
//!
//! // A row of 16 B with a gap of 4 B, twice (the paper's figure 9).
//! let fragments: Vec<_> = [(0, 8), (12, 12), (28, 4)]
//!     .into_iter()
//!     .map(|(addr, len)| Fragment { addr, len })
//!     .collect();
//! // 20 ns a request and 0.07 ns a byte: any of these gaps is cheaper than a request.
//! let costs = CostTable::affine(20.0, 0.07)?;
//! let plan = Cheapest(&costs).plan(&fragments, &Limits::default())?;
//! assert_eq!((plan.reads(), plan.bytes()), (1, 32));
//! assert_eq!(plan, Threshold(costs.merge_threshold()).plan(&fragments, &Limits::default())?);
//! // A card that reads no gaps makes three reads of 24 B.
//! let apart = Threshold(0).plan(&fragments, &Limits::default())?;
//! assert_eq!((apart.reads(), apart.bytes()), (3, 24));
//! assert!(costs.plan(&apart) > costs.plan(&plan));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cheapest;
mod cost;
mod fetch_plan;
mod fragments;
mod load;
mod packed;
mod placement;
mod schedule;
mod threshold;

pub use cheapest::Cheapest;
pub use cost::{CostError, CostTable, LINE, ReadCost};
pub use fetch_plan::{FetchPlan, FetchPlanError};
use fragments::Pages;
pub use load::Load;
pub use packed::{PackedRows, rows_of_a_unit};
pub use placement::{
    BANKS, Beat, BlockPlacement, ColumnPlacement, Group, Lane, Place, PlacementError, SparseWindow,
    WORD, assembler,
};
pub use schedule::{Schedule, ScheduleError};
pub use threshold::Threshold;

/// No DMA read crosses a multiple of this address (PCIe base specification, section 2.2.7).
pub const READ_BOUNDARY: u64 = 4096;
/// Bytes of boxes that a window of the card's segmented memory holds.
pub const WINDOW: u64 = 32 * 1024;

/// A run of bytes in host memory that must be fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fragment {
    /// Address of the first byte.
    pub addr: u64,
    /// Length in bytes, at least 1.
    pub len: u64,
}

/// A DMA read. Its first and its last byte are needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BoundingBox {
    /// Address of the first byte.
    pub addr: u64,
    /// Length in bytes.
    pub len: u32,
}

/// Limits of the device's reads, besides [`READ_BOUNDARY`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Longest read in bytes, 1 to 4096.
    pub max_read: u32,
    /// Size in bytes of a window of the segmented memory, at least 1: the limit of a single read,
    /// and of all reads of a window together.
    pub window: u64,
}

impl Default for Limits {
    /// The card's values after reset.
    fn default() -> Self {
        Self { max_read: drdma_abi::register::MAX_READ.reset, window: WINDOW }
    }
}

impl Limits {
    /// The longest read that these limits leave.
    fn longest(&self) -> Result<u64, PlanError> {
        let &Self { max_read, window } = self;
        match u64::from(max_read).min(window) {
            1..=READ_BOUNDARY => Ok(u64::from(max_read).min(window)),
            _ => Err(PlanError::Limits { max_read, window }),
        }
    }
}

/// Error of planning reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The limits leave no read.
    #[error(
        "reads of at most {max_read} B in windows of {window} B: a read has 1 to 4096 B and a \
         window at least 1 B"
    )]
    Limits {
        /// Longest read in bytes.
        max_read: u32,
        /// Size of a window in bytes.
        window: u64,
    },
    /// A fragment is empty, or reaches beyond the last address.
    #[error("a fragment of {len} B at {addr:#x} is empty or goes beyond the last address")]
    Fragment {
        /// Address of the fragment.
        addr: u64,
        /// Length of the fragment in bytes.
        len: u64,
    },
}

/// Reads that cover the given fragments, in order of their addresses, in windows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    boxes: Vec<BoundingBox>,
    /// Index in `boxes` of the end of each window.
    ends: Vec<usize>,
}

impl Plan {
    /// Fills windows with boxes, in order.
    fn new(boxes: Vec<BoundingBox>, window: u64) -> Self {
        let (mut ends, mut filled) = (Vec::new(), 0);
        for (index, read) in boxes.iter().enumerate() {
            if filled + u64::from(read.len) > window {
                ends.push(index);
                filled = 0;
            }
            filled += u64::from(read.len);
        }
        if !boxes.is_empty() {
            ends.push(boxes.len());
        }
        Self { boxes, ends }
    }

    /// The reads, by address.
    pub fn boxes(&self) -> &[BoundingBox] {
        &self.boxes
    }

    /// The reads of each window.
    pub fn windows(&self) -> impl Iterator<Item = &[BoundingBox]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.boxes[start..end])
    }

    /// Number of reads.
    pub fn reads(&self) -> usize {
        self.boxes.len()
    }

    /// Number of bytes of the reads, gaps included.
    pub fn bytes(&self) -> u64 {
        self.boxes.iter().map(|read| u64::from(read.len)).sum()
    }
}

/// Forms the reads that fetch fragments.
pub trait Optimizer {
    /// Covers every byte of `fragments`, which may come in any order and overlap, by reads within
    /// `limits`. A byte is read once, even if several fragments need it.
    ///
    /// # Errors
    /// `PlanError::Limits` if the limits leave no read, or `Fragment` for a fragment that is empty
    /// or beyond the last address.
    fn plan(&self, fragments: &[Fragment], limits: &Limits) -> Result<Plan, PlanError>;
}
