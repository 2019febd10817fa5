//! Contiguous regions.

use drdma_abi::work_request::RegionType;

use super::{Part, Region, RegionError, outside, positive};
use crate::MemoryRegion;

const NAME: &str = "contiguous region";

/// Starts a contiguous region: one row of one element, a scatter-gather entry.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct Contiguous<'m> {
    memory: &'m MemoryRegion,
    offset: u64,
    len: Option<u64>,
}

impl<'m> Contiguous<'m> {
    /// The whole of `memory`.
    pub fn new(memory: &'m MemoryRegion) -> Self {
        Self { memory, offset: 0, len: None }
    }

    /// First byte, counted in the memory region (default 0).
    pub fn offset(mut self, offset: u64) -> Self {
        self.offset = offset;
        self
    }

    /// Bytes, 1 to 2^32 - 1 (default: up to the end of the memory region).
    #[allow(clippy::len_without_is_empty)]
    pub fn len(mut self, len: u64) -> Self {
        self.len = Some(len);
        self
    }

    /// Checks and makes the region.
    ///
    /// # Errors
    /// Zero bytes, or bytes outside the memory region.
    pub fn build(self) -> Result<Region<'m>, RegionError> {
        let Self { memory, offset, len } = self;
        let room = (memory.len() as u64).saturating_sub(offset);
        let len = len.unwrap_or(room);
        let bytes = positive(NAME, Part::Length, len)?;
        if len > room {
            return Err(outside(NAME, offset.into(), memory, Part::Bytes { offset, len }));
        }
        let addr = memory.addr() + offset;
        Ok(Region::start(RegionType::Contiguous, memory.pd(), addr, bytes, memory.lkey()))
    }
}
