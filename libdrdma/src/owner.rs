//! Memory that the application owns.
#![allow(unsafe_code)]

use std::sync::Arc;

use bytemuck::{NoUninit, Pod};
use drdma_driver::DmaMemory;
use memmap2::{Mmap, MmapMut};

/// Accesses of others to memory that is registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// Nobody else accesses the memory: the memory region lends it as slices, mutable or not.
    Exclusive,
    /// Others only read the memory, and nobody writes to it: the memory region lends it as a slice,
    /// and the card can only read it.
    Immutable,
    /// Others write to the memory at any time, by atomic accesses: the memory region lends no
    /// slice.
    Shared,
}

/// An owner of memory that can be registered in place
/// ([`ProtectionDomain::register`](crate::ProtectionDomain::register)): nothing is copied.
///
/// | owner | the card sees | |
/// |---|---|---|
/// | `Vec<T>`, `Box<[T]>` | the elements (not what is only reserved) | exclusive |
/// | `Arc<[T]>`, `Arc<Vec<T>>`, `&'static [T]` | the elements | immutable |
/// | `memmap2::Mmap` | the mapped bytes | immutable |
/// | `memmap2::MmapMut` | the mapped bytes | exclusive |
/// | `bytes::Bytes` (feature `bytes`) | the bytes | immutable |
/// | `bytes::BytesMut` (feature `bytes`) | the bytes (not what is only reserved) | exclusive |
/// | [`DmaMemory`] | its bytes | shared (and not given back: clones are handles of it) |
///
/// # Safety
/// [`memory`](Self::memory) returns bytes that are initialised and stay where they are until `self` is
/// dropped, wherever it is moved. As long as it is not touched otherwise than by moving and dropping
/// it, nobody else accesses them but as [`SHARING`](Self::SHARING) says. All bit patterns are valid in
/// them, unless they are immutable.
pub unsafe trait Owner: Send + Sync + 'static {
    /// Accesses of others to the bytes.
    const SHARING: Sharing;

    /// Address of the first byte, and number of bytes.
    fn memory(&mut self) -> (*mut u8, usize);
}

// SAFETY: a vector's elements stay where they are when it is moved, and it is their only owner.
unsafe impl<T: Pod + Send + Sync> Owner for Vec<T> {
    const SHARING: Sharing = Sharing::Exclusive;

    fn memory(&mut self) -> (*mut u8, usize) {
        (self.as_mut_ptr().cast(), size_of_val(self.as_slice()))
    }
}

// SAFETY: likewise. It is only asked where it lies until it is dropped.
unsafe impl<T: Pod + Send + Sync> Owner for Box<[T]> {
    const SHARING: Sharing = Sharing::Exclusive;

    fn memory(&mut self) -> (*mut u8, usize) {
        (self.as_mut_ptr().cast(), size_of_val(&**self))
    }
}

// SAFETY: what is in an `Arc` stays where it is, and is not written to while this one is there and
// nobody has it mutably; the elements have no interior mutability, being `Copy`.
unsafe impl<T: NoUninit + Send + Sync> Owner for Arc<[T]> {
    const SHARING: Sharing = Sharing::Immutable;

    fn memory(&mut self) -> (*mut u8, usize) {
        (self.as_ptr().cast_mut().cast(), size_of_val(&**self))
    }
}

// SAFETY: likewise.
unsafe impl<T: NoUninit + Send + Sync> Owner for Arc<Vec<T>> {
    const SHARING: Sharing = Sharing::Immutable;

    fn memory(&mut self) -> (*mut u8, usize) {
        (self.as_ptr().cast_mut().cast(), size_of_val(self.as_slice()))
    }
}

// SAFETY: the elements are there for ever, and nobody writes to them.
unsafe impl<T: NoUninit + Send + Sync> Owner for &'static [T] {
    const SHARING: Sharing = Sharing::Immutable;

    fn memory(&mut self) -> (*mut u8, usize) {
        (self.as_ptr().cast_mut().cast(), size_of_val(*self))
    }
}

// SAFETY: a mapping stays where it is. That nobody changes the file was promised when it was mapped.
unsafe impl Owner for Mmap {
    const SHARING: Sharing = Sharing::Immutable;

    fn memory(&mut self) -> (*mut u8, usize) {
        (self.as_ptr().cast_mut(), self.len())
    }
}

// SAFETY: likewise.
unsafe impl Owner for MmapMut {
    const SHARING: Sharing = Sharing::Exclusive;

    fn memory(&mut self) -> (*mut u8, usize) {
        (self.as_mut_ptr(), self.len())
    }
}

// SAFETY: the bytes stay where they are, and have no writer as long as this handle is there.
#[cfg(feature = "bytes")]
unsafe impl Owner for bytes::Bytes {
    const SHARING: Sharing = Sharing::Immutable;

    fn memory(&mut self) -> (*mut u8, usize) {
        (self.as_ptr().cast_mut(), self.len())
    }
}

// SAFETY: the bytes stay where they are unless it grows, and are nobody else's.
#[cfg(feature = "bytes")]
unsafe impl Owner for bytes::BytesMut {
    const SHARING: Sharing = Sharing::Exclusive;

    fn memory(&mut self) -> (*mut u8, usize) {
        (self.as_mut_ptr(), self.len())
    }
}

// SAFETY: the pages stay as long as a handle is there; handles access them by atomics alone.
unsafe impl Owner for DmaMemory {
    const SHARING: Sharing = Sharing::Shared;

    fn memory(&mut self) -> (*mut u8, usize) {
        (self.as_ptr().wrapping_add(self.offset()), self.len())
    }
}
