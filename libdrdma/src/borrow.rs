//! The borrow that a queue has of the memory of posted work.

use std::marker::PhantomData;

use crate::MemoryRegion;

/// A marker that keeps memory borrowed until it is dropped. (A `PhantomData` alone would let the
/// memory be dropped first, when both go out of scope together.)
#[derive(Debug, Default)]
pub(crate) struct Borrow<'m>(PhantomData<&'m MemoryRegion>);

impl Drop for Borrow<'_> {
    fn drop(&mut self) {}
}
