//! DMA reads through the host that the card is simulated with.

use drdma_sim::pcie::sweep::{self, Measured, Pattern};

use crate::rig;

/// Bytes of an area that is read only once, so that reads go to memory.
pub const MEMORY: u64 = 1 << 30;
/// Bytes of an area that is read again and again, so that reads go to the cache.
pub const CACHED: u64 = 16 << 10;
/// Bytes of a cache line.
pub const LINE: u64 = 64;
/// Reads of a measurement, at least.
const READS: u64 = 8_192;

/// Sizes from 1 B to 4 KiB, each `factor` times the one before.
pub fn sizes(factor: u64) -> impl Iterator<Item = u64> {
    std::iter::successors(Some(1), move |size| Some(size * factor)).take_while(|size| *size <= 4096)
}

/// Reads of `size` bytes, each `stride` behind the one before.
pub fn measure(size: u64, stride: u64, area: u64) -> Measured {
    // The area of the cache is read once before it is measured.
    let reads = if area == CACHED { READS.max(2 * area / stride) } else { READS };
    let pattern = Pattern { size: size as usize, stride, area, reads: reads as usize };
    sweep::measure(&rig::host(), &pattern)
}
