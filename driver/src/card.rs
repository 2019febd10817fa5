//! The trait of all back ends.

use std::{sync::Arc, time::Duration};

use crate::memory::DmaMemory;

/// Error of a card.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CardError {
    /// A range of I/O virtual addresses cannot be mapped.
    #[error("cannot map {size} B at {iova:#x}: {reason}")]
    Map {
        /// First I/O virtual address of the range.
        iova: u64,
        /// Length in bytes.
        size: u64,
        /// Reason of the failure.
        reason: String,
    },
    /// Memory cannot be unmapped. The card may still reach it.
    #[error("cannot unmap what is at {iova:#x}: {reason}")]
    Unmap {
        /// First I/O virtual address of the memory.
        iova: u64,
        /// Reason of the failure.
        reason: String,
    },
    /// A register access is outside the card's register space, or not aligned to 4 bytes.
    #[error("no register at offset {offset:#x}")]
    Register {
        /// Offset in BAR2.
        offset: u32,
    },
    /// The card is still working on requests that were taken from it: memory that it may read is
    /// not given back.
    #[error("the card is still busy after {waited:.1?}")]
    Busy {
        /// Time that was waited for the card.
        waited: Duration,
    },
    /// The card, or its simulation, has stopped working.
    #[error("the card failed: {0}")]
    Failed(String),
}

/// A D-RDMA card: the operations that a real board offers to software, and nothing more.
///
/// A card that is dropped is stopped first, whatever it is doing, and then its mappings are
/// removed: no memory is freed while the card can access it.
pub trait Card: Send {
    /// Reads the 32-bit register at `offset` in BAR2.
    fn read(&mut self, offset: u32) -> Result<u32, CardError>;

    /// Writes the 32-bit register at `offset` in BAR2. Writes take effect in order; everything
    /// that the caller wrote to DMA-able memory before is visible to the card.
    fn write(&mut self, offset: u32, value: u32) -> Result<(), CardError>;

    /// Makes `memory` visible to the card at I/O virtual address `iova`, a multiple of 4096.
    /// The card keeps the memory alive until it is unmapped.
    fn map(&mut self, iova: u64, memory: &DmaMemory) -> Result<(), CardError>;

    /// Unmaps memory that was mapped by [`Card::map`]. When this returns, the card no longer
    /// accesses it.
    fn unmap(&mut self, iova: u64) -> Result<(), CardError>;

    /// Advances a simulated card's time by a few hundred cycles. A real card's time advances by
    /// itself, and this checks now and then whether the card is still present. Call it in every
    /// polling loop.
    fn progress(&mut self) -> Result<(), CardError>;

    /// Registers for threads that do not wait for each other. `None` (the default) for a card whose
    /// time advances only in calls of this trait, such as a simulated one: a card with a window
    /// works by itself, and [`progress`](Self::progress) only checks that it is present.
    fn window(&self) -> Option<Arc<dyn RegisterWindow>> {
        None
    }
}

/// Registers that several threads write at once.
pub trait RegisterWindow: Send + Sync {
    /// Writes the 32-bit register at `offset` in BAR2, as [`Card::write`] does. Writes of one thread
    /// take effect in order.
    ///
    /// # Errors
    /// There is no such register, or the card is no longer used.
    fn write(&self, offset: u32, value: u32) -> Result<(), CardError>;
}
