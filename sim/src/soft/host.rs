//! The memory that was mapped for the card.

use std::{cell::Cell, collections::BTreeMap};

use drdma_driver::{CardError, DmaMemory, memory::PAGE};

use crate::model::memory::{Fault, HostMemory};

/// Mapped memory by I/O virtual address. What is not mapped faults.
#[derive(Clone, Debug, Default)]
pub struct Host {
    mappings: BTreeMap<u64, DmaMemory>,
}

impl Host {
    /// Maps `memory` at `iova`.
    pub fn map(&mut self, iova: u64, memory: &DmaMemory) -> Result<(), CardError> {
        let size = memory.mapped_len() as u64;
        let fail = |reason: String| Err(CardError::Map { iova, size, reason });
        if !iova.is_multiple_of(PAGE as u64) {
            return fail(format!("the address is not a multiple of {PAGE}"));
        }
        let Some(end) = iova.checked_add(size) else {
            return fail("the addresses wrap around".into());
        };
        if let Some((at, other)) = self.mappings.range(..end).next_back()
            && at + other.mapped_len() as u64 > iova
        {
            return fail(format!("{} B at {at:#x} are mapped already", other.mapped_len()));
        }
        self.mappings.insert(iova, memory.clone());
        Ok(())
    }

    /// Takes back a mapping.
    pub fn unmap(&mut self, iova: u64) -> Result<(), CardError> {
        match self.mappings.remove(&iova) {
            Some(_) => Ok(()),
            None => Err(CardError::Map { iova, size: 0, reason: "nothing is mapped there".into() }),
        }
    }

    /// The pieces of mappings that `len` bytes at `addr` are made of, by `visit(memory, offset in
    /// it, offset in the access, bytes)`. All of them are there, or nothing is visited.
    fn pieces(
        &self,
        addr: u64,
        len: usize,
        mut visit: impl FnMut(&DmaMemory, usize, usize, usize),
    ) -> Result<(), Fault> {
        let fault = Fault { addr, len };
        for dry in [true, false] {
            let mut done = 0;
            while done < len {
                let at = addr.checked_add(done as u64).ok_or(fault)?;
                let (start, memory) = self.mappings.range(..=at).next_back().ok_or(fault)?;
                let offset = (at - start) as usize;
                let part = memory.mapped_len().saturating_sub(offset).min(len - done);
                if part == 0 {
                    return Err(fault);
                }
                if !dry {
                    visit(memory, offset, done, part);
                }
                done += part;
            }
        }
        Ok(())
    }

    /// Writes `bytes` at `addr`.
    pub fn write(&self, addr: u64, bytes: &[u8]) -> Result<(), Fault> {
        self.pieces(addr, bytes.len(), |memory, offset, at, len| {
            memory.write(offset, &bytes[at..at + len]);
        })
    }
}

impl HostMemory for Host {
    fn read(&self, addr: u64, out: &mut [u8]) -> Result<(), Fault> {
        // Nearly always, one mapping holds it all.
        if let Some((start, memory)) = self.mappings.range(..=addr).next_back()
            && let offset = (addr - start) as usize
            && out.len() <= memory.mapped_len().saturating_sub(offset)
        {
            memory.read(offset, out);
            return Ok(());
        }
        self.pieces(addr, out.len(), |memory, offset, at, len| {
            memory.read(offset, &mut out[at..at + len]);
        })
    }
}

/// Memory that counts how it is read.
#[derive(Debug)]
pub struct Counted<'a> {
    host: &'a Host,
    /// Reads.
    pub reads: Cell<u64>,
    /// Their bytes.
    pub bytes: Cell<u64>,
}

impl<'a> Counted<'a> {
    /// Nothing read yet.
    pub fn new(host: &'a Host) -> Self {
        Self { host, reads: Cell::new(0), bytes: Cell::new(0) }
    }
}

impl HostMemory for Counted<'_> {
    fn read(&self, addr: u64, out: &mut [u8]) -> Result<(), Fault> {
        self.reads.set(self.reads.get() + 1);
        self.bytes.set(self.bytes.get() + out.len() as u64);
        self.host.read(addr, out)
    }
}
