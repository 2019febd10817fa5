//! What is measured, and with which transfers.

use std::time::Duration;

use drdma_abi::roce::Transport;
use serde::Serialize;

use super::{
    PerfError,
    op::{ATOMIC_BYTES, MOST, Op},
    shape::{Layout, Rows, Shape},
};

/// Payload bytes of all copies of a transfer, unless two have more.
const COPIES: u64 = 16 << 20;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Transfers follow each other as fast as the card sends them.
    Bandwidth,
    /// Each transfer waits for the one before.
    Latency,
}

/// Whose time it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    /// The card's counter of cycles: simulated time.
    Card,
    /// The host's.
    Wall,
    /// Nobody's: a reference model, or one end of several that are not simulated together.
    None,
}

/// What to measure, and how.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Bandwidth or latency.
    pub measure: Measure,
    /// What transfers do.
    pub op: Op,
    /// READs and atomics that a queue pair has outstanding, 1 to [`OUTSTANDING`](super::op::OUTSTANDING); as many unless told.
    pub outstanding: Option<u8>,
    /// How transfers are made.
    pub shape: Shape,
    /// Bytes of the transfers, one measurement each.
    pub sizes: Vec<u64>,
    /// Queue pairs, which take turns; 1 to all that a card has, 4,096.
    pub qps: u32,
    /// Transfers that a queue pair has under way at once; those of a latency measurement are 1.
    pub depth: u32,
    /// Transfers of a measurement, by their size.
    pub iterations: Iterations,
    /// Transfers before it that are not counted.
    pub warmup: u64,
    /// How long nothing may happen.
    pub patience: Duration,
}

/// How many transfers a measurement has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Iterations {
    /// So many.
    Fixed(u64),
    /// As many as have so many bytes together, but 20 to 1,000.
    Bytes(u64),
}

impl Iterations {
    pub(super) fn of(self, size: u64) -> u64 {
        match self {
            Self::Fixed(count) => count,
            Self::Bytes(bytes) => (bytes / size).clamp(20, 1000),
        }
    }
}

impl Plan {
    /// Places in memory that transfers of a size take turns to be read from: enough for those under way,
    /// as far as memory is not wasted.
    pub(super) fn copies(&self, rows: &Rows) -> u64 {
        match self.measure {
            // Each has its own, so that what it brings can be looked at.
            Measure::Bandwidth if self.op.is_atomic() => self.under_way(),
            Measure::Bandwidth => self.under_way().min(COPIES / rows.bytes()).max(2),
            Measure::Latency => 1,
        }
    }

    /// Transfers that are under way at once.
    fn under_way(&self) -> u64 {
        u64::from(self.depth) * u64::from(self.qps)
    }

    /// Refuses what the operation is not made for.
    fn check_op(&self) -> Result<(), PerfError> {
        let Self { op, outstanding, .. } = *self;
        let Shape { layout, transport, rows_per_message, .. } = self.shape;
        if !op.is_answered() {
            return match outstanding {
                Some(outstanding) => Err(PerfError::Outstanding { op, outstanding }),
                None => Ok(()),
            };
        }
        if transport != Transport::Rc {
            return Err(PerfError::Transport { op, transport });
        }
        if op.is_atomic() {
            if layout != Layout::Contiguous {
                return Err(PerfError::AtomicRegion { op, region: layout });
            }
            if let Some(size) = self.sizes.iter().copied().find(|size| *size != ATOMIC_BYTES) {
                return Err(PerfError::AtomicSize { op, size });
            }
            let under_way = self.under_way();
            if under_way > MOST as u64 {
                return Err(PerfError::AtomicsUnderWay { under_way });
            }
        }
        match rows_per_message {
            Some(rows) => Err(PerfError::ReadRows { op, rows }),
            None => Ok(()),
        }
    }

    /// The rows of every size.
    ///
    /// # Errors
    /// A size that no transfer of that shape has; what the operation is not made for.
    pub fn rows(&self) -> Result<Vec<Rows>, PerfError> {
        self.check_op()?;
        let rows = |size: &u64| {
            self.shape.rows(*size).map_err(|source| PerfError::Shape { size: *size, source })
        };
        self.sizes.iter().map(rows).collect()
    }
}
