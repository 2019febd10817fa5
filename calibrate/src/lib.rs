//! Measures costs of DMA reads on a device, and the merge threshold that follows.
//!
//! For each read size and each distance from one read to the next, a strided region is sent in which
//! every row is one read. Longer reads hold gaps, so that the wire, which carries only payload, does
//! not limit them. While it is sent, the card's counters are sampled; cycles by reads are the cost
//! of a read when many are in flight ([`steady`]).

mod rig;
mod steady;
mod table;

use std::{fs, io, path::Path, time::Duration};

use libdrdma::{
    Context, MemoryRegionError, ModifyError, PostError, RegionError, Status,
    optimizer::{CostError, CostTable, LINE, ReadCost},
};
use serde::{Deserialize, Serialize};

use rig::Rig;
pub use rig::{options, peer};
use steady::{Run, Sample};
pub use table::render;

/// Cycles that a simulated card should be given between two polls of its completions and counters.
pub const CYCLES_PER_LOOK: u64 = 32;

/// Lengths of reads that are measured, in bytes.
pub const SIZES: [u32; 10] = [1, 4, 16, 64, 128, 256, 512, 1024, 2048, 4096];
/// Distances from one read to the next that are measured, in bytes.
pub const STRIDES: [u32; 10] = [8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096];

/// Why a measurement failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CalibrateError {
    /// The card failed, or has no queue left.
    #[error(transparent)]
    Setup(#[from] libdrdma::Error),
    /// The memory to read was not registered.
    #[error(transparent)]
    Memory(#[from] MemoryRegionError),
    /// The queue pair was not connected.
    #[error(transparent)]
    Connect(#[from] ModifyError),
    /// A region is not possible.
    #[error(transparent)]
    Region(#[from] RegionError),
    /// A request was not posted.
    #[error(transparent)]
    Post(#[from] PostError),
    /// A request completed with an error.
    #[error("reads of {size} B every {stride} B ended with {status}")]
    Status {
        /// Bytes of a read.
        size: u32,
        /// Bytes from the start of a read to that of the next.
        stride: u32,
        /// Status of the completion.
        status: Status,
    },
    /// A request did not complete in time.
    #[error("reads of {size} B every {stride} B did not end within {} s", waited.as_secs_f64())]
    TimedOut {
        /// Bytes of a read.
        size: u32,
        /// Bytes from the start of a read to that of the next.
        stride: u32,
        /// Time that was waited.
        waited: Duration,
    },
    /// The counters do not determine the cost of a read.
    #[error(
        "reads of {size} B every {stride} B cannot be told: {samples} looks at the counters while \
         {reads} of them took {cycles} cycles"
    )]
    Counters {
        /// Bytes of a read.
        size: u32,
        /// Bytes from the start of a read to that of the next.
        stride: u32,
        /// Number of times that the counters were read.
        samples: usize,
        /// Number of reads in all.
        reads: u64,
        /// Clock cycles from the doorbell to the completion.
        cycles: u64,
    },
    /// The measurements make no table of costs.
    #[error("the measurements make no cost table: {0}")]
    Costs(#[from] CostError),
}

/// The cost of one kind of read.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Bytes that a row spans.
    pub size: u32,
    /// Bytes from the start of a row to that of the next.
    pub stride: u32,
    /// Bytes of a read as the card counted them: whole words.
    pub read_bytes: f64,
    /// Clock cycles from one read to the next.
    pub cycles: f64,
    /// Nanoseconds from one read to the next.
    pub ns: f64,
    /// Uncertainty: by how much the halves of the measurement differ, as a share.
    #[serde(default)]
    pub spread: f64,
}

impl Point {
    fn of(size: u32, stride: u32, run: &Run, ns_per_cycle: f64) -> Result<Self, CalibrateError> {
        let Sample { cycles, reads } = run.end;
        let Some(slope) = run.slope() else {
            let samples = run.samples.len();
            return Err(CalibrateError::Counters { size, stride, samples, reads, cycles });
        };
        Ok(Self {
            size,
            stride,
            read_bytes: run.read_bytes as f64 / reads as f64,
            cycles: slope.cycles,
            ns: slope.cycles * ns_per_cycle,
            spread: slope.spread,
        })
    }
}

/// Result of a calibration of a device. This is the file that `drdma run --costs` takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// The device's URI.
    pub device: String,
    /// Nanoseconds of a clock cycle of the card.
    pub ns_per_cycle: f64,
    /// The gap in bytes that costs as much as a request.
    pub merge_threshold: u32,
    /// Costs of reads.
    pub costs: CostTable,
    /// All measurements.
    pub points: Vec<Point>,
}

/// Why a file is no calibration.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file has other contents.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// The threshold is not possible for a card.
    #[error("merge_threshold is {0}: it must be 0 to 4096")]
    Threshold(u32),
}

impl Calibration {
    /// Computes costs and threshold from measurements.
    ///
    /// # Errors
    /// The measurements make no table of costs.
    pub fn of(device: &str, ns_per_cycle: f64, points: Vec<Point>) -> Result<Self, CostError> {
        let costs = costs(&points)?;
        let merge_threshold = costs.merge_threshold();
        Ok(Self { device: device.to_owned(), ns_per_cycle, merge_threshold, costs, points })
    }

    /// Reads the file that `drdma calibrate` wrote.
    ///
    /// # Errors
    /// The file cannot be read, or has other contents.
    pub fn read(path: &Path) -> Result<Self, FileError> {
        let calibration: Self = serde_json::from_str(&fs::read_to_string(path)?)?;
        match calibration.merge_threshold {
            0..=4096 => Ok(calibration),
            bytes => Err(FileError::Threshold(bytes)),
        }
    }
}

/// The costs by size: the mean over distances of a cache line and more. The additional cost of the shortest reads
/// in a common line is kept apart.
fn costs(points: &[Point]) -> Result<CostTable, CostError> {
    let line = LINE as u32;
    let mut reads: Vec<(u32, f64, u32)> = Vec::new();
    for point in points.iter().filter(|point| point.stride >= line) {
        // Different sizes may be reads of the same words.
        let bytes = point.read_bytes.round() as u32;
        match reads.iter_mut().find(|read| read.0 == bytes) {
            Some((_, ns, count)) => (*ns, *count) = (*ns + point.ns, *count + 1),
            None => reads.push((bytes, point.ns, 1)),
        }
    }
    reads.sort_by_key(|read| read.0);
    let reads: Vec<ReadCost> = reads
        .into_iter()
        .map(|(bytes, ns, count)| ReadCost { bytes, ns: ns / f64::from(count) })
        .collect();
    let mut waits = Vec::new();
    if let Some(apart) = reads.first() {
        let shortest = |point: &&Point| point.read_bytes.round() as u32 == apart.bytes;
        for point in points.iter().filter(shortest).filter(|point| point.stride < line) {
            // Of the reads of a line, all but the first wait for the one before.
            let waiting = 1.0 - f64::from(point.stride) / f64::from(line);
            waits.push(((point.ns - apart.ns) / waiting).max(0.0));
        }
    }
    let same_line_ns = waits.iter().sum::<f64>() / waits.len().max(1) as f64;
    CostTable::new(reads, same_line_ns)
}

/// Sizes and distances that can be measured: each row is exactly one read of the card.
pub fn grid() -> impl Iterator<Item = (u32, u32)> {
    SIZES.into_iter().flat_map(|size| {
        // Rows that touch are cut at the longest read, which is at least 64 B.
        STRIDES
            .map(|stride| (size, stride))
            .into_iter()
            .filter(move |(_, stride)| *stride > size || *stride == size && size >= LINE as u32)
    })
}

/// Measures every point of the [`grid`] on an idle card, calling `each` before each one.
///
/// The card's longest read and merge threshold are changed while it measures.
///
/// # Errors
/// See [`CalibrateError`].
pub fn measure(
    context: &Context,
    ns_per_cycle: f64,
    patience: Duration,
    mut each: impl FnMut(usize),
) -> Result<Vec<Point>, CalibrateError> {
    let mut rig = Rig::new(context, patience)?;
    let mut points = Vec::new();
    for (done, (size, stride)) in grid().enumerate() {
        each(done);
        let run = rig.measure(size, stride)?;
        points.push(Point::of(size, stride, &run, ns_per_cycle)?);
    }
    Ok(points)
}

#[cfg(test)]
mod tests;
