//! Doorbells to work requests: rings are fetched, work queue entries decoded, checked and resolved.

pub mod decoder;
pub mod queue;

use drdma_abi::work_request::{MAX_DESTINATIONS, RegionType};

/// Bits of a destination's index in its request.
pub const DEST_INDEX: usize = MAX_DESTINATIONS.ilog2() as usize;
/// Bits of a number of destinations.
pub const DEST_COUNT: usize = DEST_INDEX + 1;
const _: () = assert!(MAX_DESTINATIONS == 1 << DEST_INDEX);

/// Types of regions, as requests and lane sets have them: [`RegionType`] in two bits.
pub const CONTIGUOUS: u64 = RegionType::Contiguous as u64;
/// See [`CONTIGUOUS`].
pub const STRIDED: u64 = RegionType::Strided as u64;
/// See [`CONTIGUOUS`].
pub const BITMAPPED: u64 = RegionType::Bitmapped as u64;
/// See [`CONTIGUOUS`].
pub const POINTER_MAPPED: u64 = RegionType::PointerMapped as u64;
