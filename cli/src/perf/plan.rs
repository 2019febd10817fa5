//! The plan of a measurement, and the sizes of its transfers.

use std::time::Duration;

use drdma_abi::roce::Transport;
use serde::Serialize;

use super::{
    PerfError,
    op::{ATOMIC_BYTES, MOST, Op},
    shape::{Layout, Rows, Shape},
};

/// Payload bytes of all copies of a transfer, at most, unless two copies have more.
const COPIES: u64 = 16 << 20;

/// Kind of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Transfers follow each other as fast as the card sends them.
    Bandwidth,
    /// Each transfer waits for the one before.
    Latency,
}

/// Clock that times are measured by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    /// The card's counter of cycles: simulated time.
    Card,
    /// The host's clock.
    Wall,
    /// No clock: a reference model, or one end of several that are not simulated together.
    None,
}

/// A plan: what is measured, and how.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Bandwidth or latency.
    pub measure: Measure,
    /// Operation of the transfers.
    pub op: Op,
    /// READs and atomics that a queue pair has outstanding, 1 to [`OUTSTANDING`](super::op::OUTSTANDING), the default.
    pub outstanding: Option<u8>,
    /// Layout of the transfers.
    pub shape: Shape,
    /// Bytes of the transfers, one measurement each.
    pub sizes: Vec<u64>,
    /// Number of queue pairs, which take turns; 1 to all that a card has, 4,096.
    pub qps: u32,
    /// Transfers that a queue pair has under way at once; those of a latency measurement are 1.
    pub depth: u32,
    /// Number of transfers of a measurement, by their size.
    pub iterations: Iterations,
    /// Number of transfers before the measurement that are not counted.
    pub warmup: u64,
    /// Time without a packet and a completion after which the measurement fails.
    pub patience: Duration,
}

/// Number of transfers of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Iterations {
    /// This many transfers.
    Fixed(u64),
    /// As many transfers as have this many bytes together, but 20 to 1,000.
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
    /// Number of copies in memory that transfers of a size use in turns: enough for those under way, as far as memory
    /// is not wasted.
    pub(super) fn copies(&self, rows: &Rows) -> u64 {
        match self.measure {
            // Each atomic has its own copy, so that the value that it brings can be checked.
            Measure::Bandwidth if self.op.is_atomic() => self.under_way(),
            Measure::Bandwidth => self.under_way().min(COPIES / rows.bytes()).max(2),
            Measure::Latency => 1,
        }
    }

    /// Transfers that are under way at once.
    fn under_way(&self) -> u64 {
        u64::from(self.depth) * u64::from(self.qps)
    }

    /// Checks that the plan is possible for its operation.
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

    /// Numbers of rows and messages of every size.
    ///
    /// # Errors
    /// No transfer of that shape has a size, or the plan is not possible for the operation.
    pub fn rows(&self) -> Result<Vec<Rows>, PerfError> {
        self.check_op()?;
        let rows = |size: &u64| {
            self.shape.rows(*size).map_err(|source| PerfError::Shape { size: *size, source })
        };
        self.sizes.iter().map(rows).collect()
    }
}
