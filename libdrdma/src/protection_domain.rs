//! Protection domains: what belongs together.

use drdma_driver::DmaMemory;

use crate::{
    CompletionQueue, Context, MemoryRegion, MemoryRegionError, queue_pair::QueuePairBuilder,
    shared_send_queue::SharedSendQueueBuilder,
};

/// A group of memory regions and queues that may be used with one another (IBTA 1.4 section
/// 10.2.3). Clones are handles to the same domain.
#[derive(Clone, Debug)]
pub struct ProtectionDomain {
    pub(crate) context: Context,
    pub(crate) id: u32,
}

impl ProtectionDomain {
    /// Allocates `len` zero bytes that the card can read and registers them.
    ///
    /// # Errors
    /// No memory, no free key, `len` is 0, or the card failed.
    pub fn allocate(&self, len: usize) -> Result<MemoryRegion, MemoryRegionError> {
        let memory =
            DmaMemory::new(len).map_err(|source| MemoryRegionError::Allocation { len, source })?;
        MemoryRegion::register(self, &memory, true)
    }

    /// Registers memory that was allocated elsewhere (and that others may go on writing to:
    /// [`MemoryRegion::as_mut_slice`] is refused for it).
    ///
    /// # Errors
    /// No free key, the memory is empty, or the card failed.
    pub fn register(&self, memory: &DmaMemory) -> Result<MemoryRegion, MemoryRegionError> {
        MemoryRegion::register(self, memory, false)
    }

    /// Starts a queue pair whose requests complete to `cq`.
    pub fn queue_pair<'a>(&'a self, cq: &'a CompletionQueue) -> QueuePairBuilder<'a> {
        QueuePairBuilder::new(self, cq)
    }

    /// Starts a shared send queue whose requests complete to `cq` (D-RDMA section 3.3).
    pub fn shared_send_queue<'a>(&'a self, cq: &'a CompletionQueue) -> SharedSendQueueBuilder<'a> {
        SharedSendQueueBuilder::new(self, cq)
    }

    /// The context that the domain belongs to.
    pub fn context(&self) -> &Context {
        &self.context
    }
}
