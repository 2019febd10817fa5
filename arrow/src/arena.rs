//! Registered memory that arrays are made in.
#![allow(unsafe_code)]

use std::{
    alloc::{GlobalAlloc, Layout},
    panic::{RefUnwindSafe, UnwindSafe},
    ptr::NonNull,
    slice,
    sync::Arc,
};

use arrow_array::{ArrayRef, ArrowPrimitiveType, PrimitiveArray, make_array};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use arrow_data::ArrayData;
use libdrdma::ProtectionDomain;

use crate::ArenaError;

/// Alignment of blocks: a cache line, which is enough for every type of Arrow's.
pub const ALIGNMENT: usize = 64;

/// An allocator of memory that a card reads where it lies. Clones are handles of the same arena.
///
/// It gives [`Block`]s to write to, which become [`Buffer`]s and so arrays. When the last of them is
/// dropped, and no request reads them any longer, the block is free again.
///
/// ```
/// use arrow_array::{Array as _, types::Int64Type};
/// # use libdrdma::{Context, Options};
/// # let options = Options::new("02:00:00:00:00:01".parse()?, [10, 0, 0, 1].into());
/// # let card = libdrdma::open("soft:")?;
/// # let pd = Context::open(card, options)?.protection_domain();
/// let arena = drdma_arrow::Arena::new(&pd, 1 << 20)?;
/// let squares = arena.primitive::<Int64Type>(1000, |row| (row * row) as i64)?;
/// assert_eq!(squares.value(30), 900);
/// assert!(arena.contains(squares.slice(7, 3).values().inner()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Arena {
    memory: &'static libdrdma::Arena,
}

impl Arena {
    /// Makes an arena of this many bytes, registered in the domain. The system gives what of it is used; it
    /// stays reserved for ever.
    ///
    /// # Errors
    /// No memory, no free key, or the card failed.
    pub fn new(pd: &ProtectionDomain, bytes: usize) -> Result<Self, ArenaError> {
        Self::over(pd, Box::leak(Box::new(libdrdma::Arena::new(bytes))))
    }

    /// An arena that the process has anyway: the one that is its allocator, say, so that what an engine
    /// computes lies there, too. It is registered, if that was not done.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn over(
        pd: &ProtectionDomain,
        memory: &'static libdrdma::Arena,
    ) -> Result<Self, ArenaError> {
        let arena = Self { memory };
        arena.register(pd)?;
        Ok(arena)
    }

    /// Registers the arena in another domain as well: that of a second card, say.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn register(&self, pd: &ProtectionDomain) -> Result<(), ArenaError> {
        Ok(pd.register_arena(self.memory)?)
    }

    /// True if the bytes lie in the arena.
    pub fn contains(&self, bytes: &[u8]) -> bool {
        self.memory.contains(bytes)
    }

    /// Allocates this many zero bytes, at a multiple of [`ALIGNMENT`].
    ///
    /// # Errors
    /// The arena has no room.
    pub fn allocate(&self, bytes: usize) -> Result<Block, ArenaError> {
        let full = || ArenaError::Full { bytes, capacity: self.memory.capacity() };
        let layout = Layout::from_size_align(bytes.max(1), ALIGNMENT).map_err(|_| full())?;
        let start = self.memory.block(layout).ok_or_else(full)?;
        // SAFETY: the block has `layout.size()` bytes, which nothing else refers to.
        unsafe { start.write_bytes(0, layout.size()) };
        Ok(Block { memory: self.memory, start, layout, len: bytes })
    }

    /// A copy of the bytes.
    ///
    /// # Errors
    /// The arena has no room.
    pub fn copy(&self, bytes: &[u8]) -> Result<Buffer, ArenaError> {
        let mut block = self.allocate(bytes.len())?;
        block.as_mut_slice().copy_from_slice(bytes);
        Ok(block.freeze())
    }

    /// An array without nulls, whose value of each row is `value(row)`.
    ///
    /// # Errors
    /// The arena has no room.
    pub fn primitive<T: ArrowPrimitiveType>(
        &self,
        rows: usize,
        value: impl FnMut(usize) -> T::Native,
    ) -> Result<PrimitiveArray<T>, ArenaError> {
        let mut block = self.allocate(rows * size_of::<T::Native>())?;
        let values = block.typed_mut::<T::Native>();
        values.iter_mut().zip((0..rows).map(value)).for_each(|(slot, value)| *slot = value);
        Ok(PrimitiveArray::new(ScalarBuffer::new(block.freeze(), 0, rows), None))
    }

    /// A copy of an array, all of whose buffers lie in the arena: for what was made elsewhere and is sent
    /// several times.
    ///
    /// # Errors
    /// The arena has no room.
    pub fn place(&self, array: &dyn arrow_array::Array) -> Result<ArrayRef, ArenaError> {
        Ok(make_array(self.place_data(&array.to_data())?))
    }

    fn place_data(&self, data: &ArrayData) -> Result<ArrayData, ArenaError> {
        let buffers = data.buffers().iter().map(|buffer| self.copy(buffer));
        let children = data.child_data().iter().map(|child| self.place_data(child));
        let bits = |nulls: &NullBuffer| {
            let copy = self.copy(nulls.buffer())?;
            let bits = BooleanBuffer::new(copy, nulls.offset(), nulls.len());
            Ok::<_, ArenaError>(NullBuffer::new(bits))
        };
        let builder = ArrayData::builder(data.data_type().clone())
            .len(data.len())
            .offset(data.offset())
            .nulls(data.nulls().map(bits).transpose()?)
            .buffers(buffers.collect::<Result<_, _>>()?)
            .child_data(children.collect::<Result<_, _>>()?);
        // SAFETY: the bytes are those of an array's data, and aligned for every type.
        Ok(unsafe { builder.build_unchecked() })
    }
}

/// Bytes of an arena with one owner.
#[derive(Debug)]
pub struct Block {
    memory: &'static libdrdma::Arena,
    start: NonNull<u8>,
    layout: Layout,
    len: usize,
}

// SAFETY: the block owns its bytes, and the arena may be used from any thread.
unsafe impl Send for Block {}
// SAFETY: as for `Send`; through a shared borrow the bytes are only read.
unsafe impl Sync for Block {}

// A panic leaves the bytes as they are, and the arena's lock is never held where something panics.
impl RefUnwindSafe for Block {}
impl UnwindSafe for Block {}

impl Block {
    /// The bytes of the block.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: the bytes are initialised, and this block's alone.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }

    /// The bytes as values: as many whole ones as there are.
    pub fn typed_mut<T: ArrowNativeType>(&mut self) -> &mut [T] {
        const { assert!(align_of::<T>() <= ALIGNMENT) };
        let values = self.len / size_of::<T>();
        // SAFETY: the bytes are initialised, this block's alone, and aligned; native types of Arrow's have
        // a value for every bit pattern.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr().cast(), values) }
    }

    /// The bytes as a buffer, whose last handle frees them.
    pub fn freeze(self) -> Buffer {
        let (start, len) = (self.start, self.len);
        // SAFETY: the bytes are there until the block is dropped, and are not written any more.
        unsafe { Buffer::from_custom_allocation(start, len, Arc::new(self)) }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: the block was allocated there with that layout, and is not used any longer.
        unsafe { self.memory.dealloc(self.start.as_ptr(), self.layout) };
    }
}
