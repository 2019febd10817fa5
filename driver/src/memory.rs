//! Memory that software and a card share.

use std::{
    any::Any,
    fmt,
    fs::File,
    io,
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering, fence},
    },
};

use memmap2::{Advice, MmapMut, MmapOptions, MmapRaw};

mod values;

pub use values::Ascending;

/// Size of a page in bytes: the unit in which memory is mapped for a card.
pub const PAGE: usize = 4096;

/// Size of a processor's cache line in bytes.
#[cfg(target_arch = "x86_64")]
const CACHE_LINE: usize = 64;

/// Size in bytes of a large page, for which an IOMMU keeps one entry instead of 512. Memory of at
/// least this size is made of large pages where the host has some, and gets an I/O virtual address
/// that suits them.
pub const LARGE_PAGE: usize = 1 << LARGE_PAGE_BITS;
const LARGE_PAGE_BITS: u8 = 21;

/// Whole pages that a card can be given: zeroed ones of its own ([`new`](Self::new)), or those around
/// bytes that the application owns ([`from_raw`](Self::from_raw)). Clones share the same bytes.
///
/// A card and other threads read and write it at any time, so it is never lent as a slice: bytes
/// are copied in and out with relaxed atomic accesses, which are no data races. A copy that
/// overlaps a concurrent write holds a mixture of old and new bytes.
#[derive(Clone)]
pub struct DmaMemory {
    /// Owner that keeps the bytes in place.
    owner: Arc<dyn Any + Send + Sync>,
    /// Address of the first page.
    pages: *mut u8,
    /// Range of the bytes that this process may access, also on behalf of a simulated card: bytes
    /// beside those of the application belong to somebody else.
    usable: Range<usize>,
    len: usize,
    size: usize,
    foreign: bool,
    /// This process may write to the bytes.
    writable: bool,
    card_writes: bool,
}

// SAFETY: the pages stay where they are as long as the owner, which can be sent; they are accessed by
// atomics alone.
unsafe impl Send for DmaMemory {}
// SAFETY: likewise.
unsafe impl Sync for DmaMemory {}

impl fmt::Debug for DmaMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DmaMemory")
            .field("pages", &self.pages)
            .field("len", &self.len)
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}

/// Allocates zeroed memory of at least `size` bytes: from the host's pool of large pages if it has
/// enough of them (`vm.nr_hugepages`), or else of pages that the kernel may combine.
fn allocate(size: usize) -> io::Result<MmapMut> {
    if size < LARGE_PAGE {
        return own(MmapOptions::new().len(size).map_anon()?);
    }
    if let Some(whole) = size.checked_next_multiple_of(LARGE_PAGE)
        && let Ok(mapping) = MmapOptions::new().len(whole).huge(Some(LARGE_PAGE_BITS)).map_anon()
    {
        return own(mapping);
    }
    let mapping = MmapOptions::new().len(size).map_anon()?;
    // Large pages are optional: a kernel without them uses small ones.
    let _ = mapping.advise(Advice::HugePage);
    own(mapping)
}

/// Excludes a mapping from the children of this process. If they shared its pages until one of both
/// writes, kernels before 5.9 could then give this process new pages, while the card continues with
/// the old ones.
fn own(mapping: MmapMut) -> io::Result<MmapMut> {
    mapping.advise(Advice::DontFork)?;
    Ok(mapping)
}

impl DmaMemory {
    /// Allocates at least `len` zero bytes.
    ///
    /// # Errors
    /// The error of the operating system if it has no memory.
    pub fn new(len: usize) -> io::Result<Self> {
        let size = len.max(1).checked_next_multiple_of(PAGE).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self::of_mapping(MmapRaw::from(allocate(size)?), len, size))
    }

    fn of_mapping(mapping: MmapRaw, len: usize, size: usize) -> Self {
        Self {
            pages: mapping.as_mut_ptr(),
            owner: Arc::new(mapping),
            usable: 0..size,
            len,
            size,
            foreign: false,
            writable: true,
            card_writes: true,
        }
    }

    /// The pages around `len` bytes at `pointer`, which `owner` keeps there. A real card reaches whole
    /// pages; a simulated one reads what is beside the bytes as 0, and cannot write it.
    ///
    /// Unlike memory of [`new`](Self::new), the pages are shared with children of this process
    /// (`fork`). Kernels before 5.9 may give this process other pages then, while the card
    /// continues with the first ones.
    ///
    /// # Errors
    /// There is no byte, or bytes lie beyond the end of the address space.
    ///
    /// # Safety
    /// The bytes stay allocated, initialised and at this address until the owner is dropped. While
    /// something else reads or writes them, they are read through this (by a simulated card, say)
    /// only if nobody writes to them otherwise than by atomics or through this, and written only if
    /// nobody else accesses them so. Without `writable` they are never written through this, and may
    /// lie in pages that this process can only read.
    pub unsafe fn from_raw(
        pointer: *mut u8,
        len: usize,
        writable: bool,
        owner: Arc<dyn Any + Send + Sync>,
    ) -> io::Result<Self> {
        let lead = pointer.addr() % PAGE;
        let end = pointer.addr().checked_add(len).filter(|_| len > 0 && !pointer.is_null());
        let size = end.and_then(|end| {
            end.checked_next_multiple_of(PAGE)?;
            Some((lead + len).next_multiple_of(PAGE))
        });
        let Some(size) = size else {
            let text = format!("{len} B at {pointer:p} are no memory");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        };
        Ok(Self {
            owner,
            pages: pointer.wrapping_sub(lead),
            usable: lead..lead + len,
            len,
            size,
            foreign: true,
            writable,
            card_writes: writable,
        })
    }

    /// Makes the memory read-only for the card: an IOMMU refuses all other accesses.
    #[must_use]
    pub fn read_by_card(mut self) -> Self {
        self.card_writes = false;
        self
    }

    /// Returns a handle for the card, which cannot write if the memory is read-only for it.
    pub(crate) fn for_card(&self) -> Self {
        Self { writable: self.writable && self.card_writes, ..self.clone() }
    }

    /// True if the card may write to the memory as well as read it.
    pub fn is_written_by_card(&self) -> bool {
        self.card_writes
    }

    /// Offset of the first byte in the first page: 0 unless it is an application's own memory.
    #[inline]
    pub fn offset(&self) -> usize {
        self.usable.start
    }

    /// True for memory that the application owns ([`from_raw`](Self::from_raw)).
    pub fn is_foreign(&self) -> bool {
        self.foreign
    }

    /// Returns the owner that keeps the bytes in place.
    pub fn into_owner(self) -> Arc<dyn Any + Send + Sync> {
        self.owner
    }

    /// Maps the whole pages of a file that others map as well, for instance another process's
    /// memory. The file must not be truncated as long as this exists: an access to a truncated page
    /// ends the process.
    ///
    /// # Errors
    /// The error of the operating system: the file is not open for reading and writing, or cannot
    /// be mapped; or it is shorter than a page.
    pub fn shared(file: &File) -> io::Result<Self> {
        let bytes = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
        let size = bytes / PAGE * PAGE;
        if size == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mapping = MmapOptions::new().len(size).map_raw(file)?;
        Ok(Self::of_mapping(mapping, size, size))
    }

    /// Returns a part that shares the bytes of this memory: `len` bytes from `offset`, both
    /// multiples of [`PAGE`]. `None` if they are not, or the part is not in the mapped pages.
    #[must_use]
    pub fn part(&self, offset: usize, len: usize) -> Option<Self> {
        let end = offset.checked_add(len)?;
        let whole = offset.is_multiple_of(PAGE) && len.is_multiple_of(PAGE) && len > 0;
        let within = |at: usize| at.clamp(offset, end) - offset;
        (whole && end <= self.size).then(|| Self {
            pages: self.pages.wrapping_add(offset),
            usable: within(self.usable.start)..within(self.usable.end),
            len,
            size: len,
            ..self.clone()
        })
    }

    /// True if another handle of the same memory, or of a part of it, exists.
    pub fn is_shared(&self) -> bool {
        Arc::strong_count(&self.owner) > 1
    }

    /// Number of bytes that were asked for.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if no byte was asked for.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Number of bytes that are mapped for a card: whole pages of [`PAGE`] bytes.
    #[inline]
    pub fn mapped_len(&self) -> usize {
        self.size
    }

    /// Address of the first page in this process.
    #[inline]
    pub fn as_ptr(&self) -> *mut u8 {
        self.pages
    }

    #[inline]
    fn check(&self, offset: usize, len: usize) {
        let end = offset.checked_add(len);
        assert!(
            end.is_some_and(|end| end <= self.mapped_len()),
            "bytes {offset}..+{len} are outside the memory of {} B",
            self.mapped_len()
        );
    }

    /// Like [`check`](Self::check), for bytes that must be usable.
    #[inline]
    fn check_usable(&self, offset: usize, len: usize) {
        self.check(offset, len);
        assert!(
            self.usable.start <= offset && offset + len <= self.usable.end,
            "bytes {offset}..+{len} are beside the memory at {}..{}",
            self.usable.start,
            self.usable.end
        );
    }

    /// The byte at `offset`, which the caller has checked to be usable.
    #[inline]
    fn byte(&self, offset: usize) -> &AtomicU8 {
        debug_assert!(self.usable.contains(&offset));
        // SAFETY: usable, as long as `self` lives; a byte is always aligned.
        unsafe { AtomicU8::from_ptr(self.as_ptr().add(offset)) }
    }

    /// The aligned word at `offset`, which the caller has checked to be usable.
    #[inline]
    fn word(&self, offset: usize) -> &AtomicU64 {
        debug_assert!(offset.is_multiple_of(8) && offset + 8 <= self.usable.end);
        // SAFETY: usable, as long as `self` lives, and aligned, as the first page is; every bit
        // pattern is a valid u64.
        unsafe { AtomicU64::from_ptr(self.as_ptr().add(offset).cast()) }
    }

    /// The aligned half of a word at `offset`, which the caller has checked to be usable.
    #[inline]
    fn half(&self, offset: usize) -> &AtomicU32 {
        debug_assert!(offset.is_multiple_of(4) && offset + 4 <= self.usable.end);
        // SAFETY: usable, as long as `self` lives, and aligned, as the first page is; every bit
        // pattern is a valid u32.
        unsafe { AtomicU32::from_ptr(self.as_ptr().add(offset).cast()) }
    }

    /// Copies bytes into the memory. `offset` counts from the first page's start.
    ///
    /// # Panics
    /// If the bytes do not fit in the mapped pages, lie beside an application's memory, or cannot
    /// be written.
    pub fn write(&self, offset: usize, bytes: &[u8]) {
        self.check_usable(offset, bytes.len());
        assert!(self.writable, "the memory of {} B is read-only", self.len);
        self.copy_in(offset, bytes);
        fence(Ordering::Release);
    }

    /// Copies bytes into memory that is usable and can be written.
    #[inline]
    fn copy_in(&self, offset: usize, bytes: &[u8]) {
        let (head, rest) = bytes.split_at(bytes.len().min(offset.wrapping_neg() % 8));
        let (words, tail) = rest.as_chunks::<8>();
        let middle = offset + head.len();
        for (byte, at) in head.iter().zip(offset..) {
            self.byte(at).store(*byte, Ordering::Relaxed);
        }
        for (word, at) in words.iter().zip((middle..).step_by(8)) {
            self.word(at).store(u64::from_ne_bytes(*word), Ordering::Relaxed);
        }
        for (byte, at) in tail.iter().zip(middle + 8 * words.len()..) {
            self.byte(at).store(*byte, Ordering::Relaxed);
        }
    }

    /// Copies bytes out of the memory. `offset` counts from the first page's start; bytes beside an
    /// application's memory read as 0.
    ///
    /// # Panics
    /// If the bytes are not in the mapped pages.
    pub fn read(&self, offset: usize, bytes: &mut [u8]) {
        self.check(offset, bytes.len());
        let end = offset + bytes.len();
        if self.usable.start <= offset && end <= self.usable.end {
            return self.read_usable(offset, bytes);
        }
        bytes.fill(0);
        let (from, to) = (offset.max(self.usable.start), end.min(self.usable.end));
        if from < to {
            self.read_usable(from, &mut bytes[from - offset..to - offset]);
        }
    }

    fn read_usable(&self, offset: usize, bytes: &mut [u8]) {
        fence(Ordering::Acquire);
        self.copy_out(offset, bytes);
    }

    /// Copies usable bytes out of the memory.
    #[inline]
    fn copy_out(&self, offset: usize, bytes: &mut [u8]) {
        let (head, rest) = bytes.split_at_mut(bytes.len().min(offset.wrapping_neg() % 8));
        let middle = offset + head.len();
        let (words, tail) = rest.as_chunks_mut::<8>();
        let end = middle + 8 * words.len();
        for (byte, at) in head.iter_mut().zip(offset..) {
            *byte = self.byte(at).load(Ordering::Relaxed);
        }
        for (word, at) in words.iter_mut().zip((middle..).step_by(8)) {
            *word = self.word(at).load(Ordering::Relaxed).to_ne_bytes();
        }
        for (byte, at) in tail.iter_mut().zip(end..) {
            *byte = self.byte(at).load(Ordering::Relaxed);
        }
    }

    /// Hints to the processor that `len` bytes from `offset` on will be written soon. Bytes that
    /// are not usable are ignored.
    #[inline]
    pub fn prefetch_for_write(&self, offset: usize, len: usize) {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};
            let end = offset.saturating_add(len).min(self.usable.end);
            let start = offset.max(self.usable.start) / CACHE_LINE * CACHE_LINE;
            for at in (start..end).step_by(CACHE_LINE) {
                // SAFETY: a prefetch accesses nothing, whatever the address.
                unsafe { _mm_prefetch::<_MM_HINT_ET0>(self.pages.wrapping_add(at).cast()) };
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (offset, len);
    }

    /// Writes aligned little-endian 64-bit words, which the card may read at any time; later writes
    /// (for instance of a doorbell) become visible after them.
    ///
    /// # Panics
    /// If `offset` is not a multiple of 8, or the words do not fit in the mapped pages.
    #[inline]
    pub fn write_words(&self, offset: usize, words: &[u64]) {
        assert!(offset.is_multiple_of(8), "offset {offset} is not a multiple of 8");
        self.check_usable(offset, 8 * words.len());
        debug_assert!(self.writable);
        for (i, word) in words.iter().enumerate() {
            self.word(offset + 8 * i).store(word.to_le(), Ordering::Relaxed);
        }
        fence(Ordering::Release);
    }

    /// Reads an aligned 32-bit word that a card may be writing; later reads see all that the card
    /// wrote before it.
    ///
    /// # Panics
    /// If `offset` is not a multiple of 4, or the word is outside the memory.
    #[inline]
    pub fn load_u32(&self, offset: usize) -> u32 {
        assert!(offset.is_multiple_of(4), "offset {offset} is not a multiple of 4");
        self.check_usable(offset, 4);
        u32::from_le(self.half(offset).load(Ordering::Acquire))
    }

    /// Reads an aligned 64-bit word that a card may be writing; later reads see all that the card
    /// wrote before it.
    ///
    /// # Panics
    /// If `offset` is not a multiple of 8, or the word is outside the memory.
    #[inline]
    pub fn load_u64(&self, offset: usize) -> u64 {
        assert!(offset.is_multiple_of(8), "offset {offset} is not a multiple of 8");
        self.check_usable(offset, 8);
        u64::from_le(self.word(offset).load(Ordering::Acquire))
    }
}

#[cfg(test)]
#[path = "tests/memory.rs"]
mod tests;
