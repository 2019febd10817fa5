//! Memory that software and a card share.

use std::{
    ptr,
    sync::Arc,
    sync::atomic::{AtomicU32, AtomicU64, Ordering, fence},
};

use memmap2::{MmapOptions, MmapRaw};

/// Bytes of a page: the unit in which memory is mapped for a card.
pub const PAGE: usize = 4096;

/// Page-aligned, zeroed memory that a card can be given. Clones share the same bytes.
///
/// A card reads and writes it at any time, so it is never lent as a slice: bytes are copied in and
/// out with accesses that the compiler neither removes nor invents.
#[derive(Clone, Debug)]
pub struct DmaMemory {
    mapping: Arc<MmapRaw>,
    len: usize,
}

impl DmaMemory {
    /// Allocates at least `len` zero bytes.
    ///
    /// # Errors
    /// What the operating system says when it has no memory.
    pub fn new(len: usize) -> std::io::Result<Self> {
        let size = len.max(1).next_multiple_of(PAGE);
        let mapping = MmapOptions::new().len(size).map_anon()?;
        Ok(Self { mapping: Arc::new(MmapRaw::from(mapping)), len })
    }

    /// Bytes that were asked for.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if no byte was asked for.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes that are mapped: whole pages.
    pub fn mapped_len(&self) -> usize {
        self.mapping.len()
    }

    /// The address at which this process sees the memory.
    pub fn as_ptr(&self) -> *mut u8 {
        self.mapping.as_mut_ptr()
    }

    fn check(&self, offset: usize, len: usize) {
        let end = offset.checked_add(len);
        assert!(
            end.is_some_and(|end| end <= self.mapped_len()),
            "bytes {offset}..+{len} are outside the memory of {} B",
            self.mapped_len()
        );
    }

    /// Copies bytes in.
    ///
    /// # Panics
    /// If they do not fit in the mapped pages.
    pub fn write(&self, offset: usize, bytes: &[u8]) {
        self.check(offset, bytes.len());
        // SAFETY: the range was checked to lie in the mapping, which lives as long as `self`; the
        // source is a Rust slice, which cannot overlap memory that is never lent as one.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), self.as_ptr().add(offset), bytes.len()) };
        fence(Ordering::Release);
    }

    /// Copies bytes out.
    ///
    /// # Panics
    /// If they are not in the mapped pages.
    pub fn read(&self, offset: usize, bytes: &mut [u8]) {
        self.check(offset, bytes.len());
        fence(Ordering::Acquire);
        // SAFETY: as in `write`, with the directions exchanged.
        unsafe {
            ptr::copy_nonoverlapping(self.as_ptr().add(offset), bytes.as_mut_ptr(), bytes.len());
        }
    }

    /// Reads an aligned 32-bit word that a card may be writing, and everything before it.
    ///
    /// # Panics
    /// If `offset` is not a multiple of 4, or outside.
    pub fn load_u32(&self, offset: usize) -> u32 {
        assert!(offset.is_multiple_of(4), "offset {offset} is not a multiple of 4");
        self.check(offset, 4);
        // SAFETY: in the mapping and aligned, as checked; every bit pattern is a valid u32.
        let word = unsafe { AtomicU32::from_ptr(self.as_ptr().add(offset).cast()) };
        u32::from_le(word.load(Ordering::Acquire))
    }

    /// Reads an aligned 64-bit word that a card may be writing, and everything before it.
    ///
    /// # Panics
    /// If `offset` is not a multiple of 8, or outside.
    pub fn load_u64(&self, offset: usize) -> u64 {
        assert!(offset.is_multiple_of(8), "offset {offset} is not a multiple of 8");
        self.check(offset, 8);
        // SAFETY: in the mapping and aligned, as checked; every bit pattern is a valid u64.
        let word = unsafe { AtomicU64::from_ptr(self.as_ptr().add(offset).cast()) };
        u64::from_le(word.load(Ordering::Acquire))
    }
}
