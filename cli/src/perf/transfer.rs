//! The work requests of a transfer.

use drdma_abi::work_request::BLOCK;
use libdrdma::MemoryRegion;

use super::shape::{Request, Rows};

/// The requests of transfers of one size.
pub(super) struct Transfer<'m> {
    /// Number of rows and messages.
    pub rows: Rows,
    /// Memory of the rows.
    pub tables: &'m [MemoryRegion],
    /// Requests of each copy in memory; the copies take turns.
    pub copies: Vec<Vec<Request<'m>>>,
}

impl Transfer<'_> {
    /// Number of requests of one transfer.
    pub fn requests(&self) -> usize {
        self.copies[0].len()
    }

    /// Blocks of a send queue that a transfer takes at most.
    pub fn blocks(&self) -> usize {
        // The head and a destination take less than two blocks.
        let blocks = |request: &Request| {
            let regions: usize = request.regions.iter().map(|r| r.descriptor_len()).sum();
            2 + regions.div_ceil(BLOCK)
        };
        self.copies[0].iter().map(blocks).sum()
    }
}
