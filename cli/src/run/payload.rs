//! Payload of a post, as libdrdma takes it.

use libdrdma::{PartitionedRegion, Region, RegionError};

use super::memory::Memory;
use crate::job::{self, IdWidth, Post};

/// Payload of a post.
#[derive(Debug)]
pub enum Payload {
    /// The regions of each destination.
    Regions(Vec<Vec<Region<'static>>>),
    /// Bytes that stand in the request.
    Inline(Vec<u8>),
    /// One region for all destinations, with ids of one byte.
    Bytes(PartitionedRegion<'static, u8>),
    /// One region for all destinations, with ids of two bytes.
    Words(PartitionedRegion<'static, u16>),
}

impl Payload {
    /// The payload of `post`, over the buffers in `memory`. Inline data are copied from these now.
    ///
    /// # Errors
    /// The shape is not possible; job files exclude that.
    pub fn of(post: &Post, memory: &mut Memory) -> Result<Self, RegionError> {
        if let Some(region) = &post.partitioned {
            if let Some(by) = &region.by {
                return Ok(Self::Words(memory.partitioned_by(region, by)?));
            }
            return Ok(match region.width {
                IdWidth::One => Self::Bytes(memory.partitioned(region)?),
                IdWidth::Two => Self::Words(memory.partitioned(region)?),
            });
        }
        if post.inline {
            let mut bytes = Vec::new();
            for region in post.destinations.iter().flat_map(|destination| &destination.regions) {
                if let &job::Region::Contiguous { base, len } = region {
                    bytes.extend(memory.bytes(base, len));
                }
            }
            return Ok(Self::Inline(bytes));
        }
        let mut destinations = Vec::with_capacity(post.destinations.len());
        for destination in &post.destinations {
            let regions = destination.regions.iter().map(|region| memory.region(region));
            destinations.push(regions.collect::<Result<Vec<_>, _>>()?);
        }
        Ok(Self::Regions(destinations))
    }
}
