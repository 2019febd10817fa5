//! Access rights of memory regions and queue pairs.

use drdma_abi::receive::rights;

bitflags::bitflags! {
    /// Rights of a memory region beside being sent from, and of a queue pair's peer
    /// (`ibv_access_flags`). A peer may do what both its queue pair and the memory region allow.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct Access: u32 {
        /// The card writes to the memory for requests of this process: receives, READs, atomics.
        const LOCAL_WRITE = rights::LOCAL_WRITE;
        /// A peer may WRITE to the memory.
        const REMOTE_WRITE = rights::REMOTE_WRITE;
        /// A peer may READ the memory.
        const REMOTE_READ = rights::REMOTE_READ;
        /// A peer may execute atomics on the memory.
        const REMOTE_ATOMIC = rights::REMOTE_ATOMIC;
    }
}

impl Access {
    /// True if the card may write to such memory.
    pub(crate) fn writes(self) -> bool {
        self.intersects(Self::LOCAL_WRITE | Self::REMOTE_WRITE | Self::REMOTE_ATOMIC)
    }
}
