//! Host memory as a card sees it.

use std::collections::BTreeMap;

/// Bytes of a bitmap or an array of pointers or ids that are read at once.
pub const CHUNK: usize = 4096;

/// A run of bytes in host memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fragment {
    /// First byte.
    pub addr: u64,
    /// Bytes.
    pub len: u32,
}

/// Memory that a card could not read or write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no memory for {len} B at {addr:#x}")]
pub struct Fault {
    /// The first byte of the access.
    pub addr: u64,
    /// Bytes of the access.
    pub len: usize,
}

/// Memory that a card reads, by I/O virtual address.
pub trait HostMemory {
    /// Reads `out.len()` bytes that start at `addr`.
    ///
    /// # Errors
    /// If any of them is not there.
    fn read(&self, addr: u64, out: &mut [u8]) -> Result<(), Fault>;
}

impl<M: HostMemory + ?Sized> HostMemory for &M {
    fn read(&self, addr: u64, out: &mut [u8]) -> Result<(), Fault> {
        (**self).read(addr, out)
    }
}

/// Memory that a card writes, too.
pub trait WritableMemory: HostMemory {
    /// Writes `bytes` from `addr` on: all of them, or none.
    ///
    /// # Errors
    /// If any of them cannot be written.
    fn write(&self, addr: u64, bytes: &[u8]) -> Result<(), Fault>;
}

/// Host memory made of a few byte vectors: for planning without a card, and for tests.
#[derive(Clone, Debug, Default)]
pub struct Segments {
    segments: BTreeMap<u64, Vec<u8>>,
}

impl Segments {
    /// No memory.
    pub fn new() -> Self {
        Self::default()
    }

    /// This memory and `bytes` at `addr`. Segments must not overlap.
    #[must_use]
    pub fn with(mut self, addr: u64, bytes: impl Into<Vec<u8>>) -> Self {
        self.segments.insert(addr, bytes.into());
        self
    }
}

impl HostMemory for Segments {
    fn read(&self, addr: u64, out: &mut [u8]) -> Result<(), Fault> {
        let fault = Fault { addr, len: out.len() };
        let (start, bytes) = self.segments.range(..=addr).next_back().ok_or(fault)?;
        let from = usize::try_from(addr - start).map_err(|_| fault)?;
        let end = from.checked_add(out.len()).ok_or(fault)?;
        out.copy_from_slice(bytes.get(from..end).ok_or(fault)?);
        Ok(())
    }
}
