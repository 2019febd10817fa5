//! Keys of the card's, and the memory that they are over.

use std::sync::Arc;

use drdma_abi::register::{MEMORY_REGIONS, MemoryRegionEntry};
use drdma_driver::DmaMemory;

use super::MemoryRegionError;
use crate::{Access, ProtectionDomain, context::ContextInner};

/// Bits of a local key that are the table index; the others are the tag.
const INDEX_BITS: u32 = MEMORY_REGIONS.entries.ilog2();

/// Mapped memory, shared by the keys that cover parts of it.
#[derive(Debug)]
pub(crate) struct Allocation {
    pub(super) context: Arc<ContextInner>,
    pub(super) memory: DmaMemory,
    pub(super) iova: u64,
}

impl Drop for Allocation {
    fn drop(&mut self) {
        self.context.lock().retire(self.iova, self.memory.clone());
    }
}

/// A key of the card's, over bytes of an allocation.
#[derive(Debug)]
pub(crate) struct Key {
    pub(super) allocation: Arc<Allocation>,
    pub(super) offset: usize,
    pub(super) len: usize,
    pub(super) lkey: u32,
    pub(super) pd: u32,
    pub(super) access: Access,
}

impl Key {
    pub(super) fn new(
        allocation: Arc<Allocation>,
        offset: usize,
        len: usize,
        pd: u32,
        access: Access,
    ) -> Result<Arc<Self>, MemoryRegionError> {
        let mut hardware = allocation.context.lock();
        let limit = hardware.memory_regions.limit();
        let tag = hardware.next_tag()?;
        let index = hardware.memory_regions.take().ok_or(MemoryRegionError::NoKey { limit })?;
        debug_assert!(tag.leading_zeros() >= INDEX_BITS, "{tag:#x} reaches out of a key");
        let lkey = tag << INDEX_BITS | index;
        let entry = MemoryRegionEntry {
            addr: allocation.iova + offset as u64,
            len: len as u64,
            lkey,
            rights: access.bits(),
            pd,
            valid: 1,
        };
        let written = hardware.device.write_entry(MEMORY_REGIONS, index, &entry);
        if let Err(error) = written {
            hardware.memory_regions.put(index);
            return Err(error.into());
        }
        drop(hardware);
        Ok(Arc::new(Self { allocation, offset, len, lkey, pd, access }))
    }

    /// Maps memory for the card, and gives it a key.
    pub fn over(
        pd: &ProtectionDomain,
        memory: DmaMemory,
        access: Access,
    ) -> Result<Arc<Self>, MemoryRegionError> {
        let context = pd.context.inner.clone();
        if !access.is_empty() && !context.receives() {
            return Err(MemoryRegionError::Unsupported { access });
        }
        let memory = if access.writes() { memory } else { memory.read_by_card() };
        let iova = context.lock().device.map(&memory)?;
        let (offset, len) = (memory.offset(), memory.len());
        let allocation = Arc::new(Allocation { context, memory, iova });
        Self::new(allocation, offset, len, pd.id, access)
    }

    /// Offset of bytes of this process in the allocation, counted from the first page; `None` if
    /// they are not inside.
    pub fn find(&self, pointer: *const u8, len: usize) -> Option<usize> {
        let offset = pointer.addr().checked_sub(self.allocation.memory.as_ptr().addr())?;
        let behind = self.offset + self.len;
        (offset >= self.offset && offset.checked_add(len)? <= behind).then_some(offset)
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        let mut hardware = self.allocation.context.lock();
        let index = self.lkey & (MEMORY_REGIONS.entries - 1);
        let invalid = MemoryRegionEntry::default();
        let result = hardware.device.write_entry(MEMORY_REGIONS, index, &invalid);
        hardware.note(result);
        hardware.memory_regions.put(index);
    }
}
