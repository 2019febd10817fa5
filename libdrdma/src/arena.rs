//! An allocator whose memory the card reads where it lies.
#![allow(unsafe_code)]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    io,
    ptr::{self, NonNull},
    sync::atomic::{AtomicBool, AtomicPtr, Ordering},
};

use memmap2::{Advice, MmapOptions};
use talc::{ErrOnOom, Span, Talc, Talck};

/// Default size in bytes from which on blocks lie in an [`Arena`].
const THRESHOLD: usize = 32 << 10;

/// The process's allocator, with one large piece of memory for large blocks. It is registered once
/// ([`ProtectionDomain::register_arena`](crate::ProtectionDomain::register_arena)); from then on
/// every `Vec` or other [`Owner`](crate::Owner) of at least 32 KiB is registered without a mapping and
/// without a key of its own, and sent from where it lies.
///
/// Smaller blocks are the system's, and so are large ones when the arena is full.
///
/// ```
/// use libdrdma::Arena;
///
/// /// 1 GiB, of which the system gives what is used.
/// #[global_allocator]
/// static ARENA: Arena = Arena::new(1 << 30);
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # use libdrdma::{Context, Options};
/// # let options = Options::new("02:00:00:00:00:01".parse()?, [10, 0, 0, 1].into());
/// # let card = libdrdma::open("soft:")?;
/// # let context = Context::open(card, options)?;
/// let pd = context.protection_domain();
/// pd.register_arena(&ARENA)?;
///
/// let column: Vec<u64> = (0..100_000).collect();
/// assert!(ARENA.contains(&column));
/// let memory = pd.register(column)?; // no system call, no key
/// # assert!(!memory.has_own_key());
/// # Ok(()) }
/// ```
///
/// A board's IOMMU maps all of it, so that all of it is locked in memory then (`ulimit -l`). Large pages
/// are used where the kernel makes some (`transparent_hugepage`). Children of this process (`fork`) get
/// copies; kernels before 5.9 may give the parent the copies, so that the card reads what was there
/// before: there, fork only before the arena is registered, or not at all.
pub struct Arena {
    bytes: usize,
    threshold: usize,
    /// Address of the arena's first byte; null before it is reserved.
    base: AtomicPtr<u8>,
    /// Reserving the arena's memory failed.
    failed: AtomicBool,
    blocks: Talck<spin::mutex::Mutex<(), Yielding>, ErrOnOom>,
}

/// Lets other threads run while the allocator's lock is taken. A thread that spins would keep a processor from the one
/// that has the lock, for as long as a turn of the scheduler, if there are more threads than processors.
#[derive(Debug)]
struct Yielding;

impl spin::RelaxStrategy for Yielding {
    #[inline]
    fn relax() {
        std::thread::yield_now();
    }
}

impl std::fmt::Debug for Arena {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Arena").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

impl Arena {
    /// Makes an arena of `bytes` bytes, which are reserved when the first large block is allocated.
    pub const fn new(bytes: usize) -> Self {
        Self {
            bytes,
            threshold: THRESHOLD,
            base: AtomicPtr::new(ptr::null_mut()),
            failed: AtomicBool::new(false),
            blocks: Talc::new(ErrOnOom).lock(),
        }
    }

    /// Sets the size in bytes from which on blocks lie in the arena (default 32 KiB).
    #[must_use]
    pub const fn threshold(mut self, bytes: usize) -> Self {
        self.threshold = bytes;
        self
    }

    /// Size of the arena in bytes.
    pub const fn capacity(&self) -> usize {
        self.bytes
    }

    /// True if the elements lie in the arena.
    pub fn contains<T>(&self, elements: &[T]) -> bool {
        self.holds(elements.as_ptr().cast())
    }

    /// Allocates a block of the arena whatever its size, for programs that have another allocator
    /// for all other memory. Its contents are undefined; [`GlobalAlloc::dealloc`] of the arena,
    /// with the same layout, frees it.
    ///
    /// ```
    /// use std::alloc::{GlobalAlloc as _, Layout};
    ///
    /// use libdrdma::Arena;
    ///
    /// static ARENA: Arena = Arena::new(1 << 20);
    ///
    /// let layout = Layout::from_size_align(100, 64)?;
    /// let block = ARENA.block(layout).expect("some room");
    /// // SAFETY: the block has so many bytes, and is freed once, with its layout.
    /// unsafe {
    ///     block.write_bytes(0, 100);
    ///     ARENA.dealloc(block.as_ptr(), layout);
    /// }
    /// assert!(ARENA.block(Layout::from_size_align(2 << 20, 64)?).is_none(), "it is not so large");
    /// # Ok::<(), std::alloc::LayoutError>(())
    /// ```
    ///
    /// `None` if the layout has 0 bytes, the arena has no room, or the system no memory for it.
    pub fn block(&self, layout: Layout) -> Option<NonNull<u8>> {
        if layout.size() == 0 {
            return None;
        }
        self.memory().ok()?;
        // SAFETY: the size is not 0.
        unsafe { self.blocks.lock().malloc(layout) }.ok()
    }

    fn holds(&self, pointer: *const u8) -> bool {
        let base = self.base.load(Ordering::Acquire);
        !base.is_null() && pointer.addr().wrapping_sub(base.addr()) < self.bytes
    }

    /// Returns the address of the arena's first byte; reserves the memory if that was not done yet.
    pub(crate) fn memory(&self) -> io::Result<*mut u8> {
        let mut blocks = self.blocks.lock();
        let base = self.base.load(Ordering::Acquire);
        if !base.is_null() {
            return Ok(base);
        }
        // No allocation may happen here: this code is the process's allocator.
        let mapping = MmapOptions::new().len(self.bytes).no_reserve_swap().map_anon()?;
        // Large pages are optional: a kernel without them uses small ones.
        let _ = mapping.advise(Advice::HugePage);
        let base = memmap2::MmapRaw::from(mapping);
        let pointer = base.as_mut_ptr();
        // The mapping is never removed.
        std::mem::forget(base);
        // SAFETY: the mapping is this allocator's alone from now on.
        let claimed = unsafe { blocks.claim(Span::from_base_size(pointer, self.bytes)) };
        if claimed.is_err() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        self.base.store(pointer, Ordering::Release);
        Ok(pointer)
    }

    /// Allocates a block of the arena; null if the arena is full, or the block is the system
    /// allocator's.
    fn allocate(&self, layout: Layout) -> *mut u8 {
        if layout.size() < self.threshold || layout.size() == 0 {
            return ptr::null_mut();
        }
        if self.base.load(Ordering::Acquire).is_null() {
            if self.failed.load(Ordering::Relaxed) {
                return ptr::null_mut();
            }
            if self.memory().is_err() {
                self.failed.store(true, Ordering::Relaxed);
                return ptr::null_mut();
            }
        }
        // SAFETY: the size is not 0.
        let block = unsafe { self.blocks.lock().malloc(layout) };
        block.map_or(ptr::null_mut(), NonNull::as_ptr)
    }
}

// SAFETY: blocks are those of one of two allocators, told apart by their addresses, and moved by
// copying; neither allocator allocates through this one.
unsafe impl GlobalAlloc for Arena {
    // SAFETY: the caller keeps to the trait's contract, which both allocators have as well.
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let block = self.allocate(layout);
        if !block.is_null() {
            return block;
        }
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    // SAFETY: likewise.
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let block = self.allocate(layout);
        if !block.is_null() {
            // SAFETY: the block has `layout.size()` bytes.
            unsafe { block.write_bytes(0, layout.size()) };
            return block;
        }
        // SAFETY: as the caller promises.
        unsafe { System.alloc_zeroed(layout) }
    }

    // SAFETY: likewise.
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if self.holds(block) {
            let block = NonNull::new(block).expect("a block");
            // SAFETY: it was allocated there with that layout.
            unsafe { self.blocks.lock().free(block, layout) };
        } else {
            // SAFETY: it was allocated there with that layout.
            unsafe { System.dealloc(block, layout) };
        }
    }

    // SAFETY: likewise.
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let in_arena = self.holds(block);
        if !in_arena && size < self.threshold {
            // SAFETY: it was allocated there with that layout.
            return unsafe { System.realloc(block, layout, size) };
        }
        if in_arena && size >= self.threshold {
            let block = NonNull::new(block).expect("a block");
            let mut blocks = self.blocks.lock();
            if size <= layout.size() {
                // SAFETY: it was allocated there with that layout, and is not larger.
                unsafe { blocks.shrink(block, layout, size) };
                return block.as_ptr();
            }
            // SAFETY: it was allocated there with that layout, and is smaller.
            if let Ok(grown) = unsafe { blocks.grow_in_place(block, layout, size) } {
                return grown.as_ptr();
            }
        }
        // SAFETY: the alignment was one before, and the caller promises that the size is possible.
        let to = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        // SAFETY: the size is not 0, as the caller promises.
        let moved = unsafe { self.alloc(to) };
        if !moved.is_null() {
            // SAFETY: both blocks have so many bytes, and are different; the old one is not used
            // any longer.
            unsafe {
                ptr::copy_nonoverlapping(block, moved, size.min(layout.size()));
                self.dealloc(block, layout);
            }
        }
        moved
    }
}
