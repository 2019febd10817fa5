//! A job's buffers in memory that the card can read.

use drdma_driver::memory::PAGE;
use libdrdma::{MemoryRegion, MemoryRegionError, ProtectionDomain, Region, RegionError};

use crate::job::{Contents, Extent, Job, Place, Region as JobRegion};

/// A key that no memory region has.
const NO_KEY: u32 = u32::MAX;

/// Every buffer at its place. All of them lie in one arena, each on pages of its own and under a
/// key of its own; the arena's key spans them all.
#[derive(Debug)]
pub struct Memory {
    arena: MemoryRegion,
    buffers: Vec<Placed>,
    pointers: MemoryRegion,
    pointers_used: usize,
}

#[derive(Debug)]
struct Placed {
    addr: u64,
    len: u64,
    /// `None` for an empty buffer: there is no memory region of 0 bytes.
    region: Option<MemoryRegion>,
}

impl Placed {
    fn lkey(&self) -> u32 {
        self.region.as_ref().map_or(NO_KEY, MemoryRegion::lkey)
    }
}

impl Memory {
    /// Places and fills all buffers of a job.
    ///
    /// # Errors
    /// No memory or no keys, or the card failed.
    pub fn new(job: &Job, pd: &ProtectionDomain) -> Result<Self, MemoryRegionError> {
        let mut starts = Vec::with_capacity(job.buffers.len());
        let mut size = 0usize;
        for buffer in &job.buffers {
            starts.push(size);
            size = size.saturating_add(buffer.len()).saturating_add(PAGE - 1) / PAGE * PAGE;
        }
        let arena = pd.allocate(size.max(1))?;
        let mut buffers = Vec::with_capacity(job.buffers.len());
        for (buffer, start) in job.buffers.iter().zip(starts) {
            if let Contents::Bytes(bytes) = &buffer.contents {
                arena.write_at(start, bytes);
            }
            let region = match buffer.len() {
                0 => None,
                len => Some(arena.alias(start..start + len)?),
            };
            let addr = arena.addr() + start as u64;
            buffers.push(Placed { addr, len: buffer.len() as u64, region });
        }
        let regions = || job.posts.iter().flat_map(|p| &p.destinations).flat_map(|d| &d.regions);
        let pointers: usize = regions()
            .map(|region| match region {
                JobRegion::PointerMapped { pointers, .. } => pointers.len(),
                _ => 0,
            })
            .sum();
        let pointers = pd.allocate((8 * pointers).max(8))?;
        Ok(Self { arena, buffers, pointers, pointers_used: 0 })
    }

    /// Where the card sees a place. One beyond all addresses becomes the last address, which no
    /// memory region reaches.
    fn addr(&self, place: Place) -> u64 {
        self.buffers[place.buffer].addr.saturating_add(place.offset)
    }

    fn lkey(&self, place: Place) -> u32 {
        self.buffers[place.buffer].lkey()
    }

    /// The region as the card is told it, whether inside its buffers or not.
    ///
    /// # Errors
    /// A shape that cannot be told; job files hold none.
    pub fn region(&mut self, region: &JobRegion) -> Result<Region<'static>, RegionError> {
        match region {
            &JobRegion::Contiguous { base, len } => {
                Ok(Region::unchecked_contiguous(self.addr(base), len, self.lkey(base)))
            }
            JobRegion::Strided { base, period, count, pattern } => Region::unchecked_strided(
                self.addr(*base),
                self.lkey(*base),
                *period,
                *count,
                &extents(pattern),
            ),
            JobRegion::Bitmapped { bitmap, rows, columns } => {
                let columns: Vec<_> = columns
                    .iter()
                    .map(|column| libdrdma::Column {
                        addr: self.addr(column.base),
                        width: column.width,
                        lkey: self.lkey(column.base),
                    })
                    .collect();
                Region::unchecked_bitmapped(self.addr(*bitmap), self.lkey(*bitmap), *rows, &columns)
            }
            JobRegion::PointerMapped { pointers, pattern } => {
                let at = self.pointers.addr() + self.pointers_used as u64;
                for &place in pointers {
                    let pointer = self.addr(place).to_le_bytes();
                    self.pointers.write_at(self.pointers_used, &pointer);
                    self.pointers_used += pointer.len();
                }
                Region::unchecked_pointer_mapped(
                    at,
                    self.pointers.lkey(),
                    pointers.len() as u32,
                    self.target_lkey(pointers, pattern),
                    &extents(pattern),
                )
            }
        }
    }

    /// The key under which records are read. Records that all lie inside their own buffers are
    /// read under that buffer's key, or the arena's if there are several. If one does not, its
    /// buffer's key is taken, with which the card refuses it.
    fn target_lkey(&self, pointers: &[Place], pattern: &[Extent]) -> u32 {
        let end = pattern.iter().map(|e| u128::from(e.offset) + u128::from(e.len)).max();
        let outside = |place: &&Place| {
            let len = u128::from(self.buffers[place.buffer].len);
            u128::from(place.offset) + end.unwrap_or(0) > len
        };
        let first = pointers.first().copied();
        match (pointers.iter().find(outside), first) {
            (Some(&outside), _) => self.lkey(outside),
            (None, Some(first)) if pointers.iter().all(|p| p.buffer == first.buffer) => {
                self.lkey(first)
            }
            _ => self.arena.lkey(),
        }
    }
}

fn extents(pattern: &[Extent]) -> Vec<libdrdma::Extent> {
    pattern.iter().map(|e| libdrdma::Extent { offset: e.offset, len: e.len }).collect()
}
