//! A batch of rows in columns, in memory that the card can read.

use libdrdma::{
    Bitmapped, Contiguous, MemoryRegion, MemoryRegionError, ProtectionDomain, Region, RegionError,
};

use super::lineitem::{COLUMNS, Row};

/// Columns, and for each destination a bitmap of its rows.
#[derive(Debug)]
pub struct Table {
    columns: Vec<MemoryRegion>,
    bitmaps: Vec<MemoryRegion>,
}

impl Table {
    /// Makes a table with room for `rows` rows and `destinations` destinations.
    pub fn new(
        pd: &ProtectionDomain,
        rows: usize,
        destinations: usize,
    ) -> Result<Self, MemoryRegionError> {
        let columns = COLUMNS.iter().map(|(_, width)| pd.allocate_shared(width * rows));
        let bitmaps = (0..destinations).map(|_| pd.allocate_shared(rows.div_ceil(8)));
        Ok(Self {
            columns: columns.collect::<Result<_, _>>()?,
            bitmaps: bitmaps.collect::<Result<_, _>>()?,
        })
    }

    /// Puts rows into the columns.
    pub fn load(&self, rows: &[Row]) {
        let mut columns: Vec<Vec<u8>> =
            COLUMNS.iter().map(|(_, width)| Vec::with_capacity(width * rows.len())).collect();
        for row in rows {
            row.values().for_each(|(column, value)| columns[column].extend_from_slice(value));
        }
        for (region, bytes) in self.columns.iter().zip(&columns) {
            region.store_at(0, bytes);
        }
    }

    /// Writes the destinations' bitmaps.
    pub fn partition(&self, rows: &[Row], destinations: usize) {
        let mut bitmaps = vec![vec![0u8; rows.len().div_ceil(8)]; destinations];
        for (i, row) in rows.iter().enumerate() {
            bitmaps[row.destination(destinations)][i / 8] |= 1 << (i % 8);
        }
        for (region, bytes) in self.bitmaps.iter().zip(&bitmaps) {
            region.store_at(0, bytes);
        }
    }

    /// A destination's rows among the first `rows`, as one region.
    pub fn selected(&self, destination: usize, rows: usize) -> Result<Region<'_>, RegionError> {
        let region = Bitmapped::new(&self.bitmaps[destination]).rows(rows as u64);
        let columns = self.columns.iter().zip(COLUMNS);
        columns
            .fold(region, |region, (memory, (_, width))| region.column(memory, 0, width as u64))
            .build()
    }

    /// The values of one row, as a list of contiguous regions.
    pub fn values(&self, row: usize) -> Result<[Region<'_>; COLUMNS.len()], RegionError> {
        let mut values = Vec::with_capacity(COLUMNS.len());
        for (memory, (_, width)) in self.columns.iter().zip(COLUMNS) {
            let (offset, len) = ((row * width) as u64, width as u64);
            values.push(Contiguous::new(memory).offset(offset).len(len).build()?);
        }
        Ok(values.try_into().expect("one value a column"))
    }
}
