//! Doorbells to work requests: rings are fetched, work queue entries decoded, checked and resolved.

pub mod decoder;
pub mod parking;
pub mod queue;

use drdma_abi::work_request::MAX_DESTINATIONS;

/// Bits of a destination's index in its request.
pub const DEST_INDEX: usize = MAX_DESTINATIONS.ilog2() as usize;
/// Bits of a number of destinations.
pub const DEST_COUNT: usize = DEST_INDEX + 1;
const _: () = assert!(MAX_DESTINATIONS == 1 << DEST_INDEX);
