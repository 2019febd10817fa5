//! A job's buffers in memory that the card can read.

use libdrdma::{
    MemoryRegion, MemoryRegionError, PartitionId, PartitionedRegion, ProtectionDomain, Region,
    RegionError,
};

use crate::{
    job::{Column, Contents, Extent, Job, Partitioned, Place, Region as JobRegion},
    placement::{Placement, RecordKey, record_key},
};

/// A key that no memory region has.
const NO_KEY: u32 = u32::MAX;

/// Every buffer at its place. All of them lie in one arena, each under a key of its own; the
/// arena's key spans them all.
#[derive(Debug)]
pub struct Memory<'a> {
    job: &'a Job,
    placement: Placement,
    arena: MemoryRegion,
    /// `None` for an empty buffer: there is no memory region of 0 bytes.
    buffers: Vec<Option<MemoryRegion>>,
    pointers: MemoryRegion,
    pointers_used: usize,
}

impl<'a> Memory<'a> {
    /// Places and fills all buffers of a job.
    ///
    /// # Errors
    /// No memory or no keys, or the card failed.
    pub fn new(job: &'a Job, pd: &ProtectionDomain) -> Result<Self, MemoryRegionError> {
        let placement = Placement::of(job);
        let mut arena = pd.allocate(placement.size())?;
        for (i, buffer) in job.buffers.iter().enumerate() {
            if let Contents::Bytes(bytes) = &buffer.contents {
                arena.write_at(placement.start(i), bytes);
            }
        }
        let mut buffers = Vec::with_capacity(job.buffers.len());
        for (i, buffer) in job.buffers.iter().enumerate() {
            let start = placement.start(i);
            buffers.push(match buffer.len() {
                0 => None,
                len => Some(arena.alias(start..start + len)?),
            });
        }
        let pointers = pd.allocate((8 * placement.pointers()).max(8))?;
        Ok(Self { job, placement, arena, buffers, pointers, pointers_used: 0 })
    }

    fn addr(&self, place: Place) -> u64 {
        self.placement.addr(self.arena.addr(), place)
    }

    fn lkey(&self, buffer: usize) -> u32 {
        self.buffers[buffer].as_ref().map_or(NO_KEY, MemoryRegion::lkey)
    }

    fn columns(&self, columns: &[Column]) -> Vec<libdrdma::Column> {
        let column = |column: &Column| libdrdma::Column {
            addr: self.addr(column.base),
            width: column.width,
            lkey: self.lkey(column.base.buffer),
        };
        columns.iter().map(column).collect()
    }

    /// The partitioned region as the card is told it, whether inside its buffers or not; its ids
    /// have the width of `I`.
    ///
    /// # Errors
    /// A shape that cannot be told; job files hold none.
    pub fn partitioned<I: PartitionId>(
        &self,
        region: &Partitioned,
    ) -> Result<PartitionedRegion<'static, I>, RegionError> {
        let (ids, lkey) = (self.addr(region.ids), self.lkey(region.ids.buffer));
        PartitionedRegion::unchecked(ids, lkey, region.rows, &self.columns(&region.columns))
    }

    /// The region as the card is told it, whether inside its buffers or not.
    ///
    /// # Errors
    /// A shape that cannot be told; job files hold none.
    pub fn region(&mut self, region: &JobRegion) -> Result<Region<'static>, RegionError> {
        match region {
            &JobRegion::Contiguous { base, len } => {
                let lkey = self.lkey(base.buffer);
                Ok(Region::unchecked_contiguous(self.addr(base), len, lkey))
            }
            JobRegion::Strided { base, period, count, pattern } => Region::unchecked_strided(
                self.addr(*base),
                self.lkey(base.buffer),
                *period,
                *count,
                &extents(pattern),
            ),
            JobRegion::Bitmapped { bitmap, rows, columns, fetch_rows } => {
                let columns = self.columns(columns);
                let place = |place: Place| (self.addr(place), self.lkey(place.buffer));
                let ((addr, lkey), fetch_rows) = (place(*bitmap), fetch_rows.map(place));
                Region::unchecked_bitmapped_with(addr, lkey, *rows, &columns, fetch_rows)
            }
            JobRegion::PointerMapped { pointers, pattern } => {
                let at = self.pointers.addr() + self.pointers_used as u64;
                for &place in pointers {
                    let pointer = self.addr(place).to_le_bytes();
                    self.pointers.write_at(self.pointers_used, &pointer);
                    self.pointers_used += pointer.len();
                }
                let target = match record_key(self.job, pointers, pattern) {
                    RecordKey::Buffer(buffer) => self.lkey(buffer),
                    RecordKey::All => self.arena.lkey(),
                };
                let (lkey, count) = (self.pointers.lkey(), pointers.len() as u32);
                Region::unchecked_pointer_mapped(at, lkey, count, target, &extents(pattern))
            }
        }
    }
}

fn extents(pattern: &[Extent]) -> Vec<libdrdma::Extent> {
    pattern.iter().map(|e| libdrdma::Extent { offset: e.offset, len: e.len }).collect()
}
