//! What memory and queue pairs allow.

use drdma_abi::receive::rights;

bitflags::bitflags! {
    /// What a memory region allows beside being sent from, and a queue pair its peer
    /// (`ibv_access_flags`). A peer may do what both allow.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct Access: u32 {
        /// The card writes to it for requests of this process: receives, READs, atomics.
        const LOCAL_WRITE = rights::LOCAL_WRITE;
        /// A peer may WRITE to it.
        const REMOTE_WRITE = rights::REMOTE_WRITE;
        /// A peer may READ it.
        const REMOTE_READ = rights::REMOTE_READ;
        /// A peer may execute atomics on it.
        const REMOTE_ATOMIC = rights::REMOTE_ATOMIC;
    }
}

impl Access {
    /// True if the card may write to such memory.
    pub(crate) fn writes(self) -> bool {
        self.intersects(Self::LOCAL_WRITE | Self::REMOTE_WRITE | Self::REMOTE_ATOMIC)
    }
}
