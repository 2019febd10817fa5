//! From a region to its units: rows, or elements, each a list of fragments of host memory.

use std::ops::Range;

use crate::{
    memory::{CHUNK, Fault, HostMemory},
    partitioned::Partitioned,
    region::{Column, Region, RowMask},
};

/// Bytes of a pointer.
pub const POINTER: u64 = 8;

/// A run of bytes in host memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fragment {
    /// First byte.
    pub addr: u64,
    /// Bytes.
    pub len: u32,
}

/// What a cursor walks.
#[derive(Clone, Debug)]
enum Source {
    Region(Region),
    /// The rows of a partitioned region that have that id.
    Partition(Partitioned, u16),
}

/// Walks one region, or one partition of a region, unit by unit.
#[derive(Clone, Debug)]
pub struct Cursor {
    source: Source,
    row_mask: RowMask,
    /// The next row, element or bit.
    next: u64,
    /// Addresses that records of a pointer-mapped region may have.
    limit: Option<Range<u128>>,
    chunk: Chunk,
}

/// A piece of a bitmap or an array of pointers or ids.
#[derive(Clone, Debug, Default)]
struct Chunk {
    /// Where in the array the piece starts, in bytes.
    start: u64,
    bytes: Vec<u8>,
}

impl Chunk {
    /// The bytes from `offset` on of an array of `size` bytes at `base`; at least one.
    fn at<M: HostMemory + ?Sized>(
        &mut self,
        memory: &M,
        base: u64,
        size: u64,
        offset: u64,
    ) -> Result<&[u8], Fault> {
        let end = self.start + self.bytes.len() as u64;
        if offset < self.start || offset >= end {
            let len = (size - offset).min(CHUNK as u64) as usize;
            self.start = offset;
            self.bytes.resize(len, 0);
            if let Err(fault) = memory.read(base.wrapping_add(offset), &mut self.bytes) {
                self.bytes.clear();
                return Err(fault);
            }
        }
        Ok(&self.bytes[(offset - self.start) as usize..])
    }
}

impl Cursor {
    /// At the first unit of `region`.
    pub fn new(region: &Region, row_mask: RowMask) -> Self {
        Self::at(Source::Region(region.clone()), row_mask)
    }

    fn at(source: Source, row_mask: RowMask) -> Self {
        Self { source, row_mask, next: 0, limit: None, chunk: Chunk::default() }
    }

    /// Refuses records of a pointer-mapped region outside `limit`: the pointers may have changed
    /// since they were checked.
    #[must_use]
    pub fn with_limit(mut self, limit: Option<Range<u128>>) -> Self {
        self.limit = limit;
        self
    }

    /// Leaves out the next `count` rows of a region under row mask `Period`, or all that are left.
    ///
    /// # Errors
    /// If a bitmap cannot be read.
    pub fn skip<M: HostMemory + ?Sized>(&mut self, memory: &M, count: u64) -> Result<(), Fault> {
        let Source::Region(Region::Bitmapped { bitmap, rows, .. }) = &self.source else {
            self.next = self.next.saturating_add(count);
            return Ok(());
        };
        let (bits, mut left) = (u64::from(*rows), count);
        while left > 0 && self.next < bits {
            let bytes = self.chunk.at(memory, *bitmap, bits.div_ceil(8), self.next / 8)?;
            let within = self.next % 8;
            let ones = u64::from((bytes[0] >> within).count_ones());
            if ones < left {
                left -= ones;
                self.next += 8 - within;
            } else {
                // The last row to be left out is one of these.
                left -= u64::from(bytes[0] >> within & 1);
                self.next += 1;
            }
        }
        Ok(())
    }

    /// Appends the fragments of the next unit to `out`; false when there is none.
    ///
    /// # Errors
    /// If a bitmap, a pointer or an id cannot be read, or a record is outside the limit.
    pub fn next<M: HostMemory + ?Sized>(
        &mut self,
        memory: &M,
        out: &mut Vec<Fragment>,
    ) -> Result<bool, Fault> {
        let region = match &self.source {
            Source::Region(region) => region,
            Source::Partition(region, partition) => {
                let width = region.width;
                let row = loop {
                    if self.next >= u64::from(region.rows) {
                        return Ok(false);
                    }
                    let bytes =
                        self.chunk.at(memory, region.ids, region.size(), self.next * width)?;
                    match region.decode_ids(bytes).position(|id| id == *partition) {
                        Some(skip) => break self.next + skip as u64,
                        None => self.next += bytes.len() as u64 / width,
                    }
                };
                out.extend(region.columns.iter().map(|column| value(column, row)));
                self.next = row + 1;
                return Ok(true);
            }
        };
        match region {
            Region::Contiguous { addr, len, .. } => {
                if self.next > 0 {
                    return Ok(false);
                }
                out.push(Fragment { addr: *addr, len: *len });
            }
            Region::Strided { base, period, count, pattern, .. } => {
                let n = pattern.len() as u64;
                let (row, extents) = match self.row_mask {
                    RowMask::Period => (self.next, &pattern[..]),
                    RowMask::Element if n == 0 => return Ok(false),
                    RowMask::Element => {
                        let element = (self.next % n) as usize;
                        (self.next / n, &pattern[element..=element])
                    }
                };
                if row >= u64::from(*count) {
                    return Ok(false);
                }
                let start = base.wrapping_add(row.wrapping_mul(*period));
                out.extend(extents.iter().map(|extent| Fragment {
                    addr: start.wrapping_add(extent.offset),
                    len: extent.len,
                }));
            }
            Region::Bitmapped { bitmap, rows, columns, .. } => {
                let rows = u64::from(*rows);
                let size = rows.div_ceil(8);
                let row = loop {
                    if self.next >= rows {
                        return Ok(false);
                    }
                    let bytes = self.chunk.at(memory, *bitmap, size, self.next / 8)?;
                    let bits = bytes[0] >> (self.next % 8);
                    if bits != 0 {
                        break self.next + u64::from(bits.trailing_zeros());
                    }
                    let skip = bytes[1..].iter().take_while(|byte| **byte == 0).count() as u64;
                    self.next = (self.next / 8 + 1 + skip) * 8;
                };
                if row >= rows {
                    self.next = rows;
                    return Ok(false);
                }
                self.next = row;
                out.extend(columns.iter().map(|column| value(column, row)));
            }
            Region::PointerMapped { pointers, count, pattern, .. } => {
                let count = u64::from(*count);
                if self.next >= count {
                    return Ok(false);
                }
                let offset = self.next * POINTER;
                let bytes = self.chunk.at(memory, *pointers, count * POINTER, offset)?;
                let pointer = u64::from_le_bytes(bytes[..8].try_into().expect("8 bytes"));
                for extent in pattern {
                    let start = u128::from(pointer) + u128::from(extent.offset);
                    let end = start + u128::from(extent.len);
                    if self.limit.as_ref().is_some_and(|l| start < l.start || end > l.end) {
                        return Err(Fault { addr: start as u64, len: extent.len as usize });
                    }
                    out.push(Fragment { addr: start as u64, len: extent.len });
                }
            }
        }
        self.next += 1;
        Ok(true)
    }
}

/// A column's value in a row.
fn value(column: &Column, row: u64) -> Fragment {
    let offset = row.wrapping_mul(u64::from(column.width));
    Fragment { addr: column.base.wrapping_add(offset), len: column.width }
}

/// Walks the units of a destination.
#[derive(Clone, Debug)]
pub struct Units {
    cursors: Vec<Cursor>,
    row_mask: RowMask,
    /// With row mask `Period`, the region that is walked.
    at: usize,
}

impl Units {
    /// At the first unit of `regions`.
    pub fn new(regions: &[Region], row_mask: RowMask) -> Self {
        Self::with_limits(regions, row_mask, &[])
    }

    /// At the first unit of `regions`, with the addresses that each one's records may have.
    pub fn with_limits(
        regions: &[Region],
        row_mask: RowMask,
        limits: &[Option<Range<u128>>],
    ) -> Self {
        let limit = |i| limits.get(i).cloned().flatten();
        let cursors = regions
            .iter()
            .enumerate()
            .map(|(i, region)| Cursor::new(region, row_mask).with_limit(limit(i)))
            .collect();
        Self { cursors, row_mask, at: 0 }
    }

    /// At the first row of a partition. A row is an element, so that the row mask does not matter.
    pub fn of_partition(region: &Partitioned, partition: u16) -> Self {
        let row_mask = RowMask::Period;
        let cursor = Cursor::at(Source::Partition(region.clone(), partition), row_mask);
        Self { cursors: vec![cursor], row_mask, at: 0 }
    }

    /// Replaces `out` by the fragments of the next unit; false when there is none.
    ///
    /// # Errors
    /// If a bitmap, a pointer or an id cannot be read, or a record is outside its limit.
    pub fn next<M: HostMemory + ?Sized>(
        &mut self,
        memory: &M,
        out: &mut Vec<Fragment>,
    ) -> Result<bool, Fault> {
        out.clear();
        match self.row_mask {
            RowMask::Period => {
                while let Some(cursor) = self.cursors.get_mut(self.at) {
                    if cursor.next(memory, out)? {
                        return Ok(true);
                    }
                    self.at += 1;
                }
                Ok(false)
            }
            RowMask::Element => {
                for cursor in &mut self.cursors {
                    if !cursor.next(memory, out)? {
                        out.clear();
                        return Ok(false);
                    }
                }
                Ok(!self.cursors.is_empty())
            }
        }
    }
}

/// The set bits among the first `rows` bits of the bitmap at `bitmap`.
///
/// # Errors
/// If the bitmap cannot be read.
pub fn selected<M: HostMemory + ?Sized>(memory: &M, bitmap: u64, rows: u32) -> Result<u64, Fault> {
    let size = u64::from(rows).div_ceil(8);
    let mut chunk = vec![0; CHUNK.min(size as usize)];
    let (mut offset, mut total) = (0, 0);
    while offset < size {
        let len = (size - offset).min(CHUNK as u64) as usize;
        let bytes = &mut chunk[..len];
        memory.read(bitmap.wrapping_add(offset), bytes)?;
        offset += len as u64;
        if offset == size && !rows.is_multiple_of(8) {
            bytes[len - 1] &= (1 << (rows % 8)) - 1;
        }
        total += bytes.iter().map(|byte| u64::from(byte.count_ones())).sum::<u64>();
    }
    Ok(total)
}

#[cfg(test)]
#[path = "tests/rows.rs"]
mod tests;
