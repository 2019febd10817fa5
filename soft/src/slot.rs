//! What holds a simulated card: the memory behind its slot, its reset, and whether it is at work.

use drdma_driver::{Card, CardError};

use crate::host::Host;

/// A simulated card with what is around it. [`Card`] is what software sees of a card; this is what a
/// program sees that puts the card somewhere and lets its time go on.
pub trait Slot: Card {
    /// The memory that the card reaches.
    fn host(&mut self) -> &mut Host;

    /// Resets the whole card, as a function-level reset does: registers, tables, everything that is
    /// under way. Memory stays mapped.
    ///
    /// # Errors
    /// The card does not answer afterwards.
    fn reset_function(&mut self) -> Result<(), CardError>;

    /// True if nothing is under way: no request, no DMA, no frame. Then nothing changes until a
    /// register is accessed or a frame arrives, however long the clock runs.
    ///
    /// # Errors
    /// The card failed.
    fn is_quiet(&mut self) -> Result<bool, CardError>;

    /// A number that changes as long as the card accesses memory or moves frames. A card that waits
    /// for an acknowledgement is not quiet, but does neither.
    fn activity(&self) -> u64;

    /// Nanoseconds of the card's time since it was made.
    fn now_ns(&self) -> u64;

    /// Frames since the last call that the card left to the NIC's own driver; they are dropped.
    fn take_host_frames(&mut self) -> u64;
}
