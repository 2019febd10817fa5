//! The work requests of a transfer.

use drdma_abi::work_request::BLOCK;
use libdrdma::MemoryRegion;

use super::shape::{Request, Rows};

/// The requests of a size.
pub(super) struct Transfer<'m> {
    /// Its rows.
    pub rows: Rows,
    /// The memory that they lie in.
    pub tables: &'m [MemoryRegion],
    /// The same of several places in memory, which take turns.
    pub copies: Vec<Vec<Request<'m>>>,
}

impl Transfer<'_> {
    /// Requests of one transfer.
    pub fn requests(&self) -> usize {
        self.copies[0].len()
    }

    /// Blocks of a send queue that it takes at most.
    pub fn blocks(&self) -> usize {
        // The head and a destination are less than two blocks.
        let blocks = |request: &Request| {
            let regions: usize = request.regions.iter().map(|r| r.descriptor_len()).sum();
            2 + regions.div_ceil(BLOCK)
        };
        self.copies[0].iter().map(blocks).sum()
    }
}
