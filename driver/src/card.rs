//! The trait that every back end implements.

use std::{sync::Arc, time::Duration};

use crate::memory::DmaMemory;

/// Why a card did not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CardError {
    /// A range of I/O virtual addresses that cannot be mapped.
    #[error("cannot map {size} B at {iova:#x}: {reason}")]
    Map {
        /// First I/O virtual address.
        iova: u64,
        /// Bytes.
        size: u64,
        /// Why not.
        reason: String,
    },
    /// Memory that cannot be taken back. The card may still reach it.
    #[error("cannot unmap what is at {iova:#x}: {reason}")]
    Unmap {
        /// First I/O virtual address.
        iova: u64,
        /// Why not.
        reason: String,
    },
    /// A register access outside the card's register space, or not aligned to 4 bytes.
    #[error("no register at offset {offset:#x}")]
    Register {
        /// The offset in BAR2.
        offset: u32,
    },
    /// It goes on working on what was taken from it: memory that it may read is not given back.
    #[error("the card is still busy after {waited:.1?}")]
    Busy {
        /// How long that was waited for.
        waited: Duration,
    },
    /// The card, or what simulates it, has stopped working.
    #[error("the card failed: {0}")]
    Failed(String),
}

/// A D-RDMA card: what a real board offers to software, and nothing more.
///
/// One that is dropped is stopped first, whatever it is doing, and then what is still mapped is given
/// up: nothing that it was given goes while it can touch it.
pub trait Card: Send {
    /// Reads the 32-bit register at `offset` in BAR2.
    fn read(&mut self, offset: u32) -> Result<u32, CardError>;

    /// Writes the 32-bit register at `offset` in BAR2. Writes take effect in order; everything
    /// that the caller wrote to DMA-able memory before is visible to the card.
    fn write(&mut self, offset: u32, value: u32) -> Result<(), CardError>;

    /// Makes `memory` visible to the card at I/O virtual address `iova`, a multiple of 4096.
    /// The card keeps the memory alive until it is unmapped.
    fn map(&mut self, iova: u64, memory: &DmaMemory) -> Result<(), CardError>;

    /// Takes back what [`Card::map`] gave. When this returns, the card no longer touches it.
    fn unmap(&mut self, iova: u64) -> Result<(), CardError>;

    /// Lets a simulated card's time go on for a while (some hundred cycles). A real card's time
    /// goes on by itself, and this looks now and then whether the card is still there. Call it in
    /// every polling loop.
    fn progress(&mut self) -> Result<(), CardError>;

    /// The registers for threads that do not wait for each other. `None` (which is the default) for a
    /// card whose time goes on in calls of this trait alone, as a simulated one's: a card that has a
    /// window works by itself, and [`progress`](Self::progress) only looks whether it is there.
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
    /// There is no such register, or the card is used no longer.
    fn write(&self, offset: u32, value: u32) -> Result<(), CardError>;
}
