//! A peer's memory: 2^64 bytes, of which those that were written take room.

use std::collections::HashMap;

const PAGE: usize = 4096;

/// Memory that reads as zeros where nothing was written. Addresses wrap around.
#[derive(Clone, Debug, Default)]
pub struct SparseMemory {
    pages: HashMap<u64, Box<[u8; PAGE]>>,
}

impl SparseMemory {
    /// Zeros everywhere.
    pub fn new() -> Self {
        Self::default()
    }

    /// Writes `bytes` at `addr`.
    pub fn write(&mut self, addr: u64, bytes: &[u8]) {
        let mut at = addr;
        let mut rest = bytes;
        while !rest.is_empty() {
            let offset = (at % PAGE as u64) as usize;
            let len = rest.len().min(PAGE - offset);
            let page = self.pages.entry(at / PAGE as u64).or_insert_with(|| Box::new([0; PAGE]));
            page[offset..offset + len].copy_from_slice(&rest[..len]);
            rest = &rest[len..];
            at = at.wrapping_add(len as u64);
        }
    }

    /// Reads `len` bytes at `addr`.
    pub fn read(&self, addr: u64, len: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(len);
        let mut at = addr;
        while bytes.len() < len {
            let offset = (at % PAGE as u64) as usize;
            let part = (len - bytes.len()).min(PAGE - offset);
            match self.pages.get(&(at / PAGE as u64)) {
                Some(page) => bytes.extend_from_slice(&page[offset..offset + part]),
                None => bytes.resize(bytes.len() + part, 0),
            }
            at = at.wrapping_add(part as u64);
        }
        bytes
    }
}
