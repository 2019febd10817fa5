//! Memory regions: memory that the card may read, and the key that says so.

use std::{ops::Range, slice, sync::Arc};

use drdma_abi::register::{MEMORY_REGIONS, MemoryRegionEntry};
use drdma_driver::{CardError, DmaMemory};

use crate::{ProtectionDomain, context::ContextInner};

/// Bits of a local key that are the table index; the others are the tag.
const INDEX_BITS: u32 = MEMORY_REGIONS.entries.ilog2();

/// Why memory was not registered or not lent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MemoryRegionError {
    /// A region of 0 bytes.
    #[error("a memory region of 0 B")]
    Empty,
    /// A range that is not inside the memory region.
    #[error("bytes {start}..{end} are outside the memory region of {len} B")]
    OutOfBounds {
        /// First byte.
        start: u64,
        /// The byte behind the last.
        end: u64,
        /// Bytes of the memory region.
        len: u64,
    },
    /// Every key is in use.
    #[error("the card has no free memory region: all {limit} are in use")]
    NoKey {
        /// Memory regions of a card.
        limit: u32,
    },
    /// The memory cannot be borrowed exclusively: another memory region or handle shares it.
    #[error("the memory of {len} B is shared with another memory region or handle")]
    Shared {
        /// Bytes of the memory region.
        len: u64,
    },
    /// The operating system gave no memory.
    #[error("cannot allocate {len} B")]
    Allocation {
        /// Bytes.
        len: usize,
        /// Why.
        source: std::io::Error,
    },
    /// The card failed.
    #[error(transparent)]
    Card(#[from] CardError),
}

/// Registered memory: `len` bytes that the card sees at [`addr`](Self::addr), under the key
/// [`lkey`](Self::lkey).
///
/// Regions borrow it, and queues that they were posted to go on borrowing it, so that it is
/// neither dropped nor lent as a slice while the card may read it. Bytes can be copied in and out
/// at any time. The card only ever reads it.
#[derive(Debug)]
pub struct MemoryRegion {
    allocation: Arc<Allocation>,
    offset: usize,
    len: usize,
    lkey: u32,
    pd: u32,
}

/// Mapped memory, shared by the memory regions that cover it.
#[derive(Debug)]
struct Allocation {
    context: Arc<ContextInner>,
    memory: DmaMemory,
    iova: u64,
    /// No handle to the memory exists outside this crate and the card.
    private: bool,
}

impl Drop for Allocation {
    fn drop(&mut self) {
        self.context.lock().retire(self.iova);
    }
}

impl MemoryRegion {
    pub(crate) fn register(
        pd: &ProtectionDomain,
        memory: &DmaMemory,
        private: bool,
    ) -> Result<Self, MemoryRegionError> {
        if memory.is_empty() {
            return Err(MemoryRegionError::Empty);
        }
        let context = pd.context.inner.clone();
        let iova = context.lock().device.map(memory)?;
        let allocation = Allocation { context, memory: memory.clone(), iova, private };
        Self::over(Arc::new(allocation), 0, memory.len(), pd.id)
    }

    /// Gives a key to bytes of an allocation.
    fn over(
        allocation: Arc<Allocation>,
        offset: usize,
        len: usize,
        pd: u32,
    ) -> Result<Self, MemoryRegionError> {
        let mut hardware = allocation.context.lock();
        let limit = hardware.memory_regions.limit();
        let index = hardware.memory_regions.take().ok_or(MemoryRegionError::NoKey { limit })?;
        let lkey = hardware.next_tag() << INDEX_BITS | index;
        let entry = MemoryRegionEntry {
            addr: allocation.iova + offset as u64,
            len: len as u64,
            lkey,
            valid: 1,
            ..Default::default()
        };
        let written = hardware.device.write_entry(MEMORY_REGIONS, index, &entry);
        if let Err(error) = written {
            hardware.memory_regions.put(index);
            return Err(error.into());
        }
        drop(hardware);
        Ok(Self { allocation, offset, len, lkey, pd })
    }

    /// Where the card sees the first byte (an I/O virtual address). Pointers of a
    /// [`PointerMapped`](crate::PointerMapped) region are such addresses.
    #[inline]
    pub fn addr(&self) -> u64 {
        self.allocation.iova + self.offset as u64
    }

    /// Bytes, at least 1.
    #[allow(clippy::len_without_is_empty)]
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// The local key: a table index in the low 10 bits, a tag above.
    #[inline]
    pub fn lkey(&self) -> u32 {
        self.lkey
    }

    #[inline]
    pub(crate) fn pd(&self) -> u32 {
        self.pd
    }

    /// A second memory region with a key of its own over the bytes `range` of this one. The memory
    /// lives until the last of them is dropped.
    ///
    /// # Errors
    /// An empty range or one that is not inside, no free key, or the card failed.
    pub fn alias(&self, range: Range<usize>) -> Result<MemoryRegion, MemoryRegionError> {
        let Range { start, end } = range;
        if end > self.len || start > end {
            let (start, end, len) = (start as u64, end as u64, self.len as u64);
            return Err(MemoryRegionError::OutOfBounds { start, end, len });
        }
        if start == end {
            return Err(MemoryRegionError::Empty);
        }
        Self::over(self.allocation.clone(), self.offset + start, end - start, self.pd)
    }

    /// Copies bytes in.
    ///
    /// # Panics
    /// If they do not fit.
    pub fn write_at(&self, offset: usize, bytes: &[u8]) {
        self.check(offset, bytes.len());
        self.allocation.memory.write(self.offset + offset, bytes);
    }

    /// Copies bytes out.
    ///
    /// # Panics
    /// If they are not inside.
    pub fn read_at(&self, offset: usize, bytes: &mut [u8]) {
        self.check(offset, bytes.len());
        self.allocation.memory.read(self.offset + offset, bytes);
    }

    fn check(&self, offset: usize, len: usize) {
        assert!(
            offset.checked_add(len).is_some_and(|end| end <= self.len),
            "bytes {offset}..+{len} are outside the memory region of {} B",
            self.len
        );
    }

    /// The memory as a slice. That no region and no queue borrows it is checked by the compiler;
    /// that no other memory region covers the same memory, here.
    ///
    /// # Errors
    /// The memory is shared: with an [`alias`](Self::alias), or because it was
    /// [registered](crate::ProtectionDomain::register) from outside.
    #[allow(unsafe_code)]
    pub fn as_mut_slice(&mut self) -> Result<&mut [u8], MemoryRegionError> {
        let shared = MemoryRegionError::Shared { len: self.len as u64 };
        let Some(allocation) = Arc::get_mut(&mut self.allocation).filter(|a| a.private) else {
            return Err(shared);
        };
        debug_assert!(self.offset + self.len <= allocation.memory.mapped_len());
        // SAFETY: the bytes are in the mapping, initialised and live as long as the allocation,
        // which is borrowed mutably: no other memory region refers to it, and no handle to the
        // memory exists outside (`private`) but the card's. The card only reads it: for requests
        // whose regions borrow this memory region, which the mutable borrow excludes; for those that
        // were taken from it, of which it sends nothing any longer; or for unchecked ones. It does
        // so like any device, without regard to what the process does with the memory.
        Ok(unsafe {
            slice::from_raw_parts_mut(allocation.memory.as_ptr().add(self.offset), self.len)
        })
    }
}

impl Drop for MemoryRegion {
    fn drop(&mut self) {
        let mut hardware = self.allocation.context.lock();
        let index = self.lkey & (MEMORY_REGIONS.entries - 1);
        let invalid = MemoryRegionEntry::default();
        let result = hardware.device.write_entry(MEMORY_REGIONS, index, &invalid);
        hardware.note(result);
        hardware.memory_regions.put(index);
    }
}
