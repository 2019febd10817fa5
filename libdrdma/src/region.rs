//! Regions: what to send, described instead of listed (D-RDMA sections 3.1 and 3.3).

use std::marker::PhantomData;

use crate::MemoryRegion;

/// Why a region cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegionError {}

/// A validated region, ready to be posted any number of times. It borrows its memory regions.
#[derive(Clone, Debug)]
pub struct Region<'m> {
    memory: PhantomData<&'m MemoryRegion>,
}

/// A run of bytes relative to the start of a period or record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Bytes from the start of the period or record.
    pub offset: u64,
    /// Bytes.
    pub len: u32,
}

/// A column as the card addresses it, for [`Region::unchecked_bitmapped`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// The address of row 0's value.
    pub addr: u64,
    /// Bytes of one value.
    pub width: u32,
    /// The local key of the column's memory.
    pub lkey: u32,
}

/// Regions that libdrdma does not check: any address under any key, borrowing nothing. The card
/// checks them against the memory regions that it knows, and refuses the request with a status
/// (`docs/semantics.md`, "Checks"). What they read is what the memory holds at that time.
impl Region<'static> {
    /// One run of `len` bytes at `addr`.
    pub fn unchecked_contiguous(addr: u64, len: u32, lkey: u32) -> Self {
        let _ = (addr, len, lkey);
        todo!()
    }

    /// `count` periods of `period` bytes from `addr`.
    ///
    /// # Errors
    /// More than 16 extents.
    pub fn unchecked_strided(
        addr: u64,
        lkey: u32,
        period: u64,
        count: u32,
        pattern: &[Extent],
    ) -> Result<Self, RegionError> {
        let _ = (addr, lkey, period, count, pattern);
        todo!()
    }

    /// The rows that the `rows` bits at `bitmap` select.
    ///
    /// # Errors
    /// More than 16 columns.
    pub fn unchecked_bitmapped(
        bitmap: u64,
        lkey: u32,
        rows: u32,
        columns: &[Column],
    ) -> Result<Self, RegionError> {
        let _ = (bitmap, lkey, rows, columns);
        todo!()
    }

    /// The pattern at each of `count` pointers at `pointers`.
    ///
    /// # Errors
    /// More than 16 extents.
    pub fn unchecked_pointer_mapped(
        pointers: u64,
        lkey: u32,
        count: u32,
        target_lkey: u32,
        pattern: &[Extent],
    ) -> Result<Self, RegionError> {
        let _ = (pointers, lkey, count, target_lkey, pattern);
        todo!()
    }
}

/// Starts a contiguous region: one row of one element, a scatter-gather entry.
#[derive(Clone, Debug)]
#[must_use]
pub struct Contiguous<'m> {
    memory: &'m MemoryRegion,
}

impl<'m> Contiguous<'m> {
    /// The whole of `memory`.
    pub fn new(memory: &'m MemoryRegion) -> Self {
        Self { memory }
    }

    /// First byte, counted in the memory region (default 0).
    pub fn offset(self, offset: u64) -> Self {
        let _ = offset;
        self
    }

    /// Bytes, 1 to 2^32 - 1 (default: up to the end of the memory region).
    pub fn len(self, len: u64) -> Self {
        let _ = len;
        self
    }

    /// Checks and makes the region.
    ///
    /// # Errors
    /// Zero bytes, or bytes outside the memory region.
    pub fn build(self) -> Result<Region<'m>, RegionError> {
        todo!()
    }
}

/// Starts a strided region: a pattern of extents, repeated every period (D-RDMA section 3.1).
#[derive(Clone, Debug)]
#[must_use]
pub struct Strided<'m> {
    memory: &'m MemoryRegion,
}

impl<'m> Strided<'m> {
    /// A region of `memory`; period, count and at least one extent must follow.
    pub fn new(memory: &'m MemoryRegion) -> Self {
        Self { memory }
    }

    /// Start of the first period, counted in the memory region (default 0).
    pub fn offset(self, offset: u64) -> Self {
        let _ = offset;
        self
    }

    /// Bytes from one period to the next, at least 1.
    pub fn period(self, period: u64) -> Self {
        let _ = period;
        self
    }

    /// Periods, 0 to 2^32 - 1.
    pub fn count(self, count: u64) -> Self {
        let _ = count;
        self
    }

    /// Adds an extent to the pattern: `len` bytes, `offset` bytes into the period. Up to 16.
    pub fn extent(self, offset: u64, len: u64) -> Self {
        let _ = (offset, len);
        self
    }

    /// Checks and makes the region.
    ///
    /// # Errors
    /// A zero period, no or too many extents, an extent of 0 bytes, or a byte of any period
    /// outside the memory region.
    pub fn build(self) -> Result<Region<'m>, RegionError> {
        todo!()
    }
}

/// Starts a bitmapped region: the rows that a bitmap selects, from up to 16 columns (D-RDMA
/// section 3.3).
#[derive(Clone, Debug)]
#[must_use]
pub struct Bitmapped<'m> {
    bitmap: &'m MemoryRegion,
}

impl<'m> Bitmapped<'m> {
    /// A region whose bitmap is in `bitmap`; rows and at least one column must follow.
    pub fn new(bitmap: &'m MemoryRegion) -> Self {
        Self { bitmap }
    }

    /// The bitmap's first byte, counted in its memory region (default 0).
    pub fn offset(self, offset: u64) -> Self {
        let _ = offset;
        self
    }

    /// Rows, that is, bits of the bitmap: 0 to 2^32 - 1.
    pub fn rows(self, rows: u64) -> Self {
        let _ = rows;
        self
    }

    /// Adds a column: values of `width` bytes one behind the other, from `offset` in `memory`.
    pub fn column(self, memory: &'m MemoryRegion, offset: u64, width: u64) -> Self {
        let _ = (memory, offset, width);
        self
    }

    /// Checks and makes the region.
    ///
    /// # Errors
    /// No or too many columns, a width of 0, or a bitmap or column that ends outside its memory
    /// region.
    pub fn build(self) -> Result<Region<'m>, RegionError> {
        todo!()
    }
}

/// Starts a pointer-mapped region: a pattern of extents at every pointer of an array (D-RDMA
/// section 3.3).
#[derive(Clone, Debug)]
#[must_use]
pub struct PointerMapped<'m> {
    pointers: &'m MemoryRegion,
}

impl<'m> PointerMapped<'m> {
    /// A region whose array of 64-bit little-endian pointers is in `pointers`, pointing to records
    /// in `target` ([`MemoryRegion::addr`] plus the record's offset).
    pub fn new(pointers: &'m MemoryRegion, target: &'m MemoryRegion) -> Self {
        let _ = target;
        Self { pointers }
    }

    /// The array's first byte, counted in its memory region (default 0).
    pub fn offset(self, offset: u64) -> Self {
        let _ = offset;
        self
    }

    /// Pointers, 0 to 2^32 - 1.
    pub fn count(self, count: u64) -> Self {
        let _ = count;
        self
    }

    /// Adds an extent to the record pattern: `len` bytes, `offset` bytes behind the pointer.
    pub fn extent(self, offset: u64, len: u64) -> Self {
        let _ = (offset, len);
        self
    }

    /// Checks and makes the region. What the pointers point to is checked by the card.
    ///
    /// # Errors
    /// No or too many extents, an extent of 0 bytes or longer than the target, or an array that
    /// ends outside its memory region.
    pub fn build(self) -> Result<Region<'m>, RegionError> {
        todo!()
    }
}
