//! Buffers to receive into.

use std::sync::Arc;

use libdrdma::{Access, Contiguous, MemoryRegion, ReceiveRequest, Region};

use crate::{
    BufferPool, Error,
    common::{Arrived, Core, Place, Work},
};

/// Receive buffers, all of one length.
#[derive(Clone, Debug)]
pub(crate) struct Slots {
    memory: Arc<MemoryRegion>,
    /// Bytes of a slot, and from one slot to the next.
    bytes: usize,
    stride: usize,
}

impl Slots {
    /// Makes `slots` slots of `bytes` bytes, or one if that is 0.
    pub fn new(core: &Core, slots: usize, bytes: usize, access: Access) -> Result<Self, Error> {
        let memory = core.pd.allocate_with(slots.max(1) * bytes, access | Access::LOCAL_WRITE)?;
        Ok(Self { memory: Arc::new(memory), bytes, stride: bytes })
    }

    /// Slots that are the buffers of a pool, of which receives use `bytes` bytes.
    pub fn of_pool(pool: &BufferPool, bytes: usize) -> Self {
        Self { memory: pool.memory().clone(), bytes, stride: pool.stride() }
    }

    pub fn memory(&self) -> &Arc<MemoryRegion> {
        &self.memory
    }

    pub fn pinned(&self) -> u64 {
        self.memory.len() as u64
    }

    pub fn offset(&self, slot: u32) -> usize {
        slot as usize * self.stride
    }

    /// Reads a number of 8 B at offset `at` of a slot.
    pub fn number(&self, slot: u32, at: usize) -> u64 {
        let mut bytes = [0; 8];
        self.memory.read_at(self.offset(slot) + at, &mut bytes);
        u64::from_le_bytes(bytes)
    }

    pub fn region(&self, slot: u32, len: usize) -> Result<Region<'static>, Error> {
        let first = self.offset(slot) as u64;
        Ok(Contiguous::new(&self.memory).offset(first).len(len as u64).build()?)
    }

    /// Posts a receive into all of a slot, with the slot in its name.
    pub fn post(
        &self,
        slot: u32,
        peer: usize,
        post: impl FnOnce(&ReceiveRequest<'_, 'static>) -> Result<(), libdrdma::PostError>,
    ) -> Result<(), Error> {
        let regions = [self.region(slot, self.bytes)?];
        Ok(post(&ReceiveRequest::new(Work::Receive.name(peer, slot)).regions(&regions))?)
    }

    /// Rows at offset `at` of a slot.
    pub fn rows(&self, source: usize, slot: u32, at: usize, len: usize, remote: u32) -> Arrived {
        let offset = self.offset(slot) + at;
        let place = Place::Slot { slot, remote };
        Arrived { source, memory: self.memory.clone(), offset, len, place }
    }
}
