//! Errors of memory regions.

use drdma_driver::CardError;

use crate::Access;

/// Error of registering memory, lending it as a slice, or giving it back.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MemoryRegionError {
    /// The region has 0 bytes.
    #[error("a memory region of 0 B")]
    Empty,
    /// The range is not inside the memory region.
    #[error("bytes {start}..{end} are outside the memory region of {len} B")]
    OutOfBounds {
        /// First byte of the range.
        start: u64,
        /// Byte behind the last one of the range.
        end: u64,
        /// Length of the memory region in bytes.
        len: u64,
    },
    /// All keys of the card are in use.
    #[error("the card has no free memory region: all {limit} are in use")]
    NoKey {
        /// Number of memory regions of a card.
        limit: u32,
    },
    /// The card only sends.
    #[error("memory that allows {access:?}: the card does not receive")]
    Unsupported {
        /// Rights that were asked for.
        access: Access,
    },
    /// Write access was asked for memory that was registered without.
    #[error("{access:?} is not possible: the card may only read the memory")]
    ReadOnly {
        /// Rights that were asked for.
        access: Access,
    },
    /// The memory cannot be borrowed exclusively: another memory region or handle shares it.
    #[error("the memory of {len} B is shared with another memory region or handle")]
    Shared {
        /// Length of the memory region in bytes.
        len: u64,
    },
    /// The memory is immutable.
    #[error("the memory of {len} B is immutable")]
    Immutable {
        /// Length of the memory region in bytes.
        len: u64,
    },
    /// The bytes are not a whole number of values, or not aligned for them.
    #[error("{len} B at {addr:#x} are not a slice of `{name}`: {reason}")]
    View {
        /// Length of the memory region in bytes.
        len: u64,
        /// Address of the first byte in this process.
        addr: u64,
        /// The type of the values.
        name: &'static str,
        /// Description of the mismatch.
        reason: &'static str,
    },
    /// The memory region was not made from an owner of that type.
    #[error("the owner of the memory is not a `{name}`")]
    OtherOwner {
        /// The type of owner that was asked for.
        name: &'static str,
    },
    /// The operating system provided no memory.
    #[error("cannot allocate {len} B")]
    Allocation {
        /// Number of bytes asked for.
        len: usize,
        /// Error that the operating system returned.
        source: std::io::Error,
    },
    /// The bytes cannot be memory: they begin at address 0, or reach beyond the end of the address
    /// space.
    #[error("{0}")]
    Address(std::io::Error),
    /// The card failed.
    #[error(transparent)]
    Card(#[from] CardError),
}

/// Reason why `len` bytes at `addr` are no values of type `T`.
pub(super) fn misfit<T>(
    (len, addr): (usize, usize),
    error: bytemuck::PodCastError,
) -> MemoryRegionError {
    use bytemuck::PodCastError as Error;
    let reason = match error {
        Error::TargetAlignmentGreaterAndInputNotAligned => "they are not aligned",
        _ => "they are no whole number of values",
    };
    let name = std::any::type_name::<T>();
    MemoryRegionError::View { len: len as u64, addr: addr as u64, name, reason }
}
