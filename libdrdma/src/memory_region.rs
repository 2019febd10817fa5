//! Memory regions: memory that the card may read, and the key that says so.

use std::ops::Range;

use drdma_driver::CardError;

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
/// at any time.
#[derive(Debug)]
pub struct MemoryRegion {}

impl MemoryRegion {
    /// Where the card sees the first byte (an I/O virtual address). Pointers of a
    /// [`PointerMapped`](crate::PointerMapped) region are such addresses.
    pub fn addr(&self) -> u64 {
        todo!()
    }

    /// Bytes.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        todo!()
    }

    /// The local key: a table index in the low 10 bits, a tag above.
    pub fn lkey(&self) -> u32 {
        todo!()
    }

    /// A second memory region with a key of its own over the bytes `range` of this one. The memory
    /// lives until the last of them is dropped.
    ///
    /// # Errors
    /// An empty range or one that is not inside, no free key, or the card failed.
    pub fn alias(&self, range: Range<usize>) -> Result<MemoryRegion, MemoryRegionError> {
        let _ = range;
        todo!()
    }

    /// Copies bytes in.
    ///
    /// # Panics
    /// If they do not fit.
    pub fn write_at(&self, offset: usize, bytes: &[u8]) {
        let _ = (offset, bytes);
        todo!()
    }

    /// Copies bytes out.
    ///
    /// # Panics
    /// If they are not inside.
    pub fn read_at(&self, offset: usize, bytes: &mut [u8]) {
        let _ = (offset, bytes);
        todo!()
    }

    /// The memory as a slice. That no region and no queue borrows it is checked by the compiler;
    /// that no other memory region covers the same memory, here.
    ///
    /// # Errors
    /// The memory is shared: with an [`alias`](Self::alias), or because it was
    /// [registered](crate::ProtectionDomain::register) from outside.
    pub fn as_mut_slice(&mut self) -> Result<&mut [u8], MemoryRegionError> {
        todo!()
    }
}
