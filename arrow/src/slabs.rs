//! Memory that messages arrive in, and arrays stay in.
#![allow(unsafe_code)]

use std::{
    panic::{RefUnwindSafe, UnwindSafe},
    ptr::NonNull,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use arrow_buffer::Buffer;
use libdrdma::{Access, Contiguous, DmaMemory, ProtectionDomain, Region};

use crate::ReceiveError;

/// Alignment of slabs: a cache line, and enough for every type of Arrow's.
const ALIGNMENT: usize = 64;

/// Slabs: pieces of one registered memory, each for one message. A slab is free, or posted in a receive, or lent to
/// a buffer: never two of these.
#[derive(Debug)]
pub(crate) struct Slabs {
    memory: DmaMemory,
    /// Region of each slab, for its receives.
    regions: Vec<Region<'static>>,
    bytes: usize,
    stride: usize,
    free: Mutex<Vec<usize>>,
}

impl Slabs {
    pub fn new(
        pd: &ProtectionDomain,
        bytes: usize,
        count: usize,
    ) -> Result<Arc<Self>, ReceiveError> {
        let stride = bytes.next_multiple_of(ALIGNMENT);
        let bytes_in_all = stride.saturating_mul(count);
        let memory = DmaMemory::new(bytes_in_all)
            .map_err(|source| ReceiveError::Allocation { bytes: bytes_in_all, source })?;
        let region = Arc::new(pd.register_with(memory.clone(), Access::LOCAL_WRITE)?);
        let part = |slab: usize| {
            Contiguous::new(&region).offset((slab * stride) as u64).len(bytes as u64).build()
        };
        let regions = (0..count).map(part).collect::<Result<_, _>>()?;
        let free = Mutex::new((0..count).rev().collect());
        Ok(Arc::new(Self { memory, regions, bytes, stride, free }))
    }

    fn free(&self) -> MutexGuard<'_, Vec<usize>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Number of slabs that are neither posted nor lent.
    pub fn free_count(&self) -> usize {
        self.free().len()
    }

    /// Takes all free slabs into `into`, which is empty, to post them: the last one first.
    pub fn take_all(&self, into: &mut Vec<usize>) {
        debug_assert!(into.is_empty(), "its slabs would be forgotten");
        std::mem::swap(&mut *self.free(), into);
    }

    /// Gives back slabs that were not posted.
    pub fn put(&self, slabs: &[usize]) {
        self.free().extend_from_slice(slabs);
    }

    /// The region of a slab that was taken, for a receive.
    pub fn region(&self, slab: usize) -> &[Region<'static>] {
        std::slice::from_ref(&self.regions[slab])
    }

    /// The message in a slab, whose receive has completed with `len` bytes. The slab is free when the last
    /// handle of the buffer is dropped.
    ///
    /// # Safety
    /// The slab was taken and its receive has completed with success, and nothing was done with it since.
    pub unsafe fn lend(self: &Arc<Self>, slab: usize, len: usize) -> Buffer {
        assert!(len <= self.bytes, "a message of {len} B in a slab of {} B", self.bytes);
        let start = self.memory.offset() + slab * self.stride;
        let start = NonNull::new(self.memory.as_ptr().wrapping_add(start)).expect("memory");
        let lent = Arc::new(Lent { slabs: self.clone(), slab });
        // SAFETY: the bytes are initialised, and there as long as the slabs, which the buffer keeps. The card
        // does not write to them: no receive has them, and peers have no right to. No receive gets them
        // before the slab is given back, which is when the buffer is dropped.
        unsafe { Buffer::from_custom_allocation(start, len, lent) }
    }
}

/// A slab that is lent to a buffer.
struct Lent {
    slabs: Arc<Slabs>,
    slab: usize,
}

// No code sees a partly changed `Lent` after a panic.
impl RefUnwindSafe for Lent {}
impl UnwindSafe for Lent {}

impl Drop for Lent {
    fn drop(&mut self) {
        self.slabs.put(&[self.slab]);
    }
}
