//! Costs of DMA reads.

use serde::{Deserialize, Serialize};

use super::{Plan, READ_BOUNDARY};

/// Bytes of a cache line of the host.
pub const LINE: usize = 64;

/// The cost of reads of one length, many of them being in flight.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadCost {
    /// Bytes of the read.
    pub bytes: u32,
    /// Nanoseconds from one read to the next.
    pub ns: f64,
}

/// Error of making a cost table.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CostError {
    /// The table has no read.
    #[error("a cost table needs the cost of at least one read")]
    Empty,
    /// Lengths are not in order, or outside 1 to 4096.
    #[error(
        "reads of {bytes} B after those of {before} B: lengths must ascend, from 1 to 4096 bytes"
    )]
    Length {
        /// Length that is out of order or range.
        bytes: u32,
        /// Length before it; 0 if it is the first.
        before: u32,
    },
    /// A time is negative or not finite.
    #[error("{what} of {ns} ns: must be a number, {limits}")]
    Time {
        /// Name of the time.
        what: &'static str,
        /// Value of the time in nanoseconds.
        ns: f64,
        /// Description of the values that are possible.
        limits: &'static str,
    },
}

/// Costs of reads by their length: between the given lengths the cost is interpolated, below the
/// first it is that of the first, above the last it is extrapolated from the last two, but never
/// falls. A read that begins in the cache line where the one before it ended waits for it, which
/// costs `same_line_ns` more.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked", deny_unknown_fields)]
pub struct CostTable {
    reads: Vec<ReadCost>,
    same_line_ns: f64,
}

/// A table as it stands in a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Unchecked {
    reads: Vec<ReadCost>,
    #[serde(default)]
    same_line_ns: f64,
}

impl TryFrom<Unchecked> for CostTable {
    type Error = CostError;

    fn try_from(unchecked: Unchecked) -> Result<Self, CostError> {
        Self::new(unchecked.reads, unchecked.same_line_ns)
    }
}

impl CostTable {
    /// A table of measured costs.
    ///
    /// # Errors
    /// `CostError::Empty` without a read, `Length` for lengths that do not ascend, or `Time` for
    /// times that are negative or not finite.
    pub fn new(reads: Vec<ReadCost>, same_line_ns: f64) -> Result<Self, CostError> {
        let mut before = 0;
        for &ReadCost { bytes, ns } in &reads {
            if bytes <= before || u64::from(bytes) > READ_BOUNDARY {
                return Err(CostError::Length { bytes, before });
            }
            if !(ns.is_finite() && ns > 0.0) {
                return Err(CostError::Time { what: "a read", ns, limits: "above 0" });
            }
            before = bytes;
        }
        if !(same_line_ns.is_finite() && same_line_ns >= 0.0) {
            let ns = same_line_ns;
            return Err(CostError::Time { what: "a shared line", ns, limits: "at least 0" });
        }
        match reads.is_empty() {
            true => Err(CostError::Empty),
            false => Ok(Self { reads, same_line_ns }),
        }
    }

    /// The table of an affine cost: `request_ns` a read and `byte_ns` a byte.
    ///
    /// # Errors
    /// `CostError::Time` for times that are negative or not finite.
    pub fn affine(request_ns: f64, byte_ns: f64) -> Result<Self, CostError> {
        let last = READ_BOUNDARY as u32;
        let cost = |bytes| ReadCost { bytes, ns: request_ns + byte_ns * f64::from(bytes) };
        Self::new(vec![cost(1), cost(last)], 0.0)
    }

    /// The measured reads, by length.
    pub fn reads(&self) -> &[ReadCost] {
        &self.reads
    }

    /// Additional cost of a read that begins in the cache line where the one before it ended.
    pub fn same_line_ns(&self) -> f64 {
        self.same_line_ns
    }

    /// Cost in nanoseconds of a read of `bytes`.
    pub fn read(&self, bytes: u32) -> f64 {
        let after = self.reads.partition_point(|read| read.bytes < bytes);
        if after == 0 || self.reads.len() == 1 {
            return self.reads[0].ns;
        }
        let after = after.min(self.reads.len() - 1);
        let (from, to) = (self.reads[after - 1], self.reads[after]);
        let slope = (to.ns - from.ns) / f64::from(to.bytes - from.bytes);
        let slope = if bytes > to.bytes { slope.max(0.0) } else { slope };
        to.ns - slope * (f64::from(to.bytes) - f64::from(bytes))
    }

    /// Nanoseconds that a read at `start` waits for the one that ended before `last_end`.
    pub(super) fn shared_line(&self, last_end: Option<usize>, start: usize) -> f64 {
        match last_end {
            Some(end) if (end - 1) / LINE == start / LINE => self.same_line_ns,
            _ => 0.0,
        }
    }

    /// Cost in nanoseconds of reads in the given order, each an address and a length.
    pub fn sum(&self, reads: impl IntoIterator<Item = (u64, u32)>) -> f64 {
        let (mut ns, mut last_line) = (0.0, None);
        for (addr, len) in reads {
            ns += self.wait(&mut last_line, addr, len) + self.read(len);
        }
        ns
    }

    /// Nanoseconds that a read waits for the one that ended in the cache line `last_line`, which
    /// becomes its own.
    pub(super) fn wait(&self, last_line: &mut Option<u64>, addr: u64, len: u32) -> f64 {
        let line = |addr: u64| addr / LINE as u64;
        let waits = *last_line == Some(line(addr));
        *last_line = Some(line(addr + u64::from(len.max(1) - 1)));
        if waits { self.same_line_ns } else { 0.0 }
    }

    /// Cost in nanoseconds of a plan.
    pub fn plan(&self, plan: &Plan) -> f64 {
        self.sum(plan.boxes().iter().map(|read| (read.addr, read.len)))
    }

    /// The gap in bytes that costs as much as a request: the threshold that
    /// [`Threshold`](super::Threshold) and the card should use, 0 to 4096.
    ///
    /// A byte costs what it costs between the shortest and the longest read of the table; a request
    /// costs what the shortest read costs without its bytes. If bytes cost nothing, every gap of a
    /// page is worth reading.
    pub fn merge_threshold(&self) -> u32 {
        let (first, last) = (self.reads[0], self.reads[self.reads.len() - 1]);
        let byte = (last.ns - first.ns) / f64::from((last.bytes - first.bytes).max(1));
        let request = first.ns - byte * f64::from(first.bytes);
        if byte <= 0.0 {
            return READ_BOUNDARY as u32;
        }
        // Slightly more than the quotient, which may be a whole number except for rounding.
        (request / byte + 1e-6).clamp(0.0, READ_BOUNDARY as f64) as u32
    }
}
