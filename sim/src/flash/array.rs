//! The cells of a flash; only sectors that are not blank are kept.

use std::{collections::BTreeMap, ops::Range};

/// Bytes of a sector.
pub const SECTOR: u32 = 1 << 16;

/// Cells of a flash; erased bits are ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Array {
    sectors: BTreeMap<u32, Vec<u8>>,
}

impl Array {
    /// Makes the cells of a dump that starts at address 0; bytes behind it are blank.
    pub fn from_dump(dump: &[u8]) -> Self {
        let mut array = Self::default();
        for (sector, bytes) in (0..).zip(dump.chunks(SECTOR as usize)) {
            if bytes.iter().any(|byte| *byte != 0xff) {
                for (offset, byte) in (0..).zip(bytes) {
                    *array.cell(sector * SECTOR + offset) = *byte;
                }
            }
        }
        array
    }

    /// The bytes from address 0 to the last sector that is not blank.
    pub fn dump(&self) -> Vec<u8> {
        let mut dump = vec![0xff; self.end() as usize];
        for (sector, bytes) in &self.sectors {
            let start = (sector * SECTOR) as usize;
            dump[start..start + bytes.len()].copy_from_slice(bytes);
        }
        dump
    }

    /// The end of the last sector that is not blank.
    pub fn end(&self) -> u32 {
        self.sectors.keys().next_back().map_or(0, |sector| (sector + 1) * SECTOR)
    }

    /// The byte at an address.
    pub fn byte(&self, address: u32) -> u8 {
        let sector = self.sectors.get(&(address / SECTOR));
        sector.map_or(0xff, |bytes| bytes[(address % SECTOR) as usize])
    }

    /// The bytes of a range of addresses.
    pub fn bytes(&self, range: Range<u32>) -> Vec<u8> {
        range.map(|address| self.byte(address)).collect()
    }

    /// A copy of the bytes below `end`; all others are blank.
    pub fn below(&self, end: u32) -> Self {
        let mut sectors = self.sectors.clone();
        sectors.retain(|sector, _| sector * SECTOR < end);
        if let Some(last) = sectors.get_mut(&(end / SECTOR)) {
            last[(end % SECTOR) as usize..].fill(0xff);
        }
        Self { sectors }
    }

    /// The cell of the byte at an address, to change it.
    pub fn cell(&mut self, address: u32) -> &mut u8 {
        let sector = self.sectors.entry(address / SECTOR);
        let bytes = sector.or_insert_with(|| vec![0xff; SECTOR as usize]);
        &mut bytes[(address % SECTOR) as usize]
    }

    /// Overwrites bytes, as a programmer outside of the board would.
    pub fn put(&mut self, address: u32, bytes: &[u8]) {
        for (at, byte) in (address..).zip(bytes) {
            *self.cell(at) = *byte;
        }
    }
}
