//! A peer's memory: 2^64 bytes, of which only those that were written take space.

use std::collections::HashMap;

const PAGE: usize = 4096;
/// Number of bytes of a word of the pattern.
const WORD: usize = 8;

/// Initial value of the word at `addr / 8` of a patterned memory, eight bytes as a little-endian
/// number: a hash of its address, so that bytes of different addresses differ.
pub fn content(addr: u64) -> u64 {
    let mut value = (addr / WORD as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ value >> 31
}

/// Fills `bytes` with those of a patterned memory from `addr` on.
pub fn content_at(addr: u64, bytes: &mut [u8]) {
    let mut at = addr;
    let mut rest = bytes;
    while !rest.is_empty() {
        let word = content(at).to_le_bytes();
        let from = (at % WORD as u64) as usize;
        let len = rest.len().min(WORD - from);
        rest[..len].copy_from_slice(&word[from..from + len]);
        at = at.wrapping_add(len as u64);
        rest = &mut rest[len..];
    }
}

/// Memory that reads as zeros, or as a pattern, where nothing was written. Addresses wrap around.
#[derive(Clone, Debug, Default)]
pub struct SparseMemory {
    pages: HashMap<u64, Box<[u8; PAGE]>>,
    is_patterned: bool,
}

impl SparseMemory {
    /// Memory of zeros.
    pub fn new() -> Self {
        Self::default()
    }

    /// Memory of the pattern [`content`].
    pub fn patterned() -> Self {
        Self { is_patterned: true, ..Self::default() }
    }

    /// Fills `bytes` with the initial ones from `addr` on.
    fn untouched(&self, addr: u64, bytes: &mut [u8]) {
        match self.is_patterned {
            true => content_at(addr, bytes),
            false => bytes.fill(0),
        }
    }

    /// Writes `bytes` at `addr`.
    pub fn write(&mut self, addr: u64, bytes: &[u8]) {
        let mut at = addr;
        let mut rest = bytes;
        while !rest.is_empty() {
            let offset = (at % PAGE as u64) as usize;
            let len = rest.len().min(PAGE - offset);
            let number = at / PAGE as u64;
            if !self.pages.contains_key(&number) {
                let mut page = Box::new([0; PAGE]);
                self.untouched(number * PAGE as u64, &mut page[..]);
                self.pages.insert(number, page);
            }
            if let Some(page) = self.pages.get_mut(&number) {
                page[offset..offset + len].copy_from_slice(&rest[..len]);
            }
            rest = &rest[len..];
            at = at.wrapping_add(len as u64);
        }
    }

    /// Reads `len` bytes at `addr`.
    pub fn read(&self, addr: u64, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.read_into(addr, &mut bytes);
        bytes
    }

    /// Fills `bytes` with those from `addr` on.
    pub fn read_into(&self, addr: u64, bytes: &mut [u8]) {
        let mut at = addr;
        let mut rest = bytes;
        while !rest.is_empty() {
            let offset = (at % PAGE as u64) as usize;
            let len = rest.len().min(PAGE - offset);
            let (part, behind) = rest.split_at_mut(len);
            match self.pages.get(&(at / PAGE as u64)) {
                Some(page) => part.copy_from_slice(&page[offset..offset + len]),
                None => self.untouched(at, part),
            }
            rest = behind;
            at = at.wrapping_add(len as u64);
        }
    }
}
