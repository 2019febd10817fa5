//! What a queue borrows.

use std::marker::PhantomData;

use crate::MemoryRegion;

/// A marker that memory stays borrowed until it is dropped. (A `PhantomData` alone would let the
/// memory be dropped first, when both go out of scope together.)
#[derive(Debug, Default)]
pub(crate) struct Borrow<'m>(PhantomData<&'m MemoryRegion>);

impl Drop for Borrow<'_> {
    fn drop(&mut self) {}
}
