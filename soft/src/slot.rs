//! Environment of a simulated card: the memory behind its slot, its reset, and whether it is
//! working.

use drdma_driver::{Card, CardError};

use crate::host::Host;

/// A simulated card in a slot. [`Card`] is the card as software sees it; this trait is for the
/// program that contains the card and advances its time.
pub trait Slot: Card {
    /// The memory that the card reaches.
    fn host(&mut self) -> &mut Host;

    /// Resets the whole card, as a function-level reset does: registers, tables, and all work in
    /// progress. Memory stays mapped.
    ///
    /// # Errors
    /// The card does not answer afterwards.
    fn reset_function(&mut self) -> Result<(), CardError>;

    /// True if no request, DMA or frame is in progress. Then nothing changes until a register is
    /// accessed or a frame arrives, however long the clock runs.
    ///
    /// # Errors
    /// The card failed.
    fn is_quiet(&mut self) -> Result<bool, CardError>;

    /// A number that changes as long as the card accesses memory or moves frames. A card that waits
    /// for an acknowledgement is not quiet, but does neither.
    fn activity(&self) -> u64;

    /// Nanoseconds of the card's time since it was made.
    fn now_ns(&self) -> u64;

    /// Number of frames since the last call that the card left to the NIC's own driver; they are
    /// dropped.
    fn take_host_frames(&mut self) -> u64;
}
