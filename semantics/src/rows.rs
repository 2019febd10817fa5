//! From a region to its units: rows, or elements, each a list of fragments of host memory.

mod walk;

use std::{ops::Range, sync::Arc};

use crate::{
    kinds::{self, Value, ValueError},
    memory::{CHUNK, Fault, HostMemory},
    partitioned::Partitioned,
    region::{Column, Region, RowMask},
};

pub use crate::memory::Fragment;
use walk::At;

/// Size of a pointer in bytes.
pub const POINTER: u64 = 8;

/// Memory where the bytes of a region's rows may lie: the pointers, offsets, views and indices that
/// lead to them may have changed since they were checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limit {
    /// Addresses of the records of a pointer-mapped region.
    pub records: Option<Range<u128>>,
    /// Memory that each element of a region with kinds may lead to.
    pub sources: Arc<[kinds::Source]>,
    /// Id of every row of a partitioned region with keys.
    pub ids: Option<Arc<[u16]>>,
}

/// Error of an element of a row that leads to no bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongValue {
    /// Index of the row: the period, the bit, the pointer or the id.
    pub row: u64,
    /// Index of the column or extent.
    pub element: usize,
    /// Error of the element.
    pub error: ValueError,
}

impl WrongValue {
    /// Returns the access that failed, or was refused.
    pub fn fault(&self) -> Fault {
        match &self.error {
            ValueError::Fault(fault) => *fault,
            ValueError::Outside { start, end } => {
                Fault { addr: *start as u64, len: (end - start) as usize }
            }
            _ => Fault { addr: 0, len: 0 },
        }
    }
}

/// Region or partition that a cursor walks.
#[derive(Clone, Debug)]
enum Source {
    Region(Region),
    /// The rows of a partitioned region that have the given id.
    Partition(Partitioned, u16),
}

/// Walks one region, or one partition of a region, unit by unit.
#[derive(Clone, Debug)]
pub struct Cursor {
    source: Source,
    row_mask: RowMask,
    /// Index of the next row, element or bit.
    next: u64,
    limit: Limit,
    chunk: Chunk,
    link: Option<Link>,
}

/// A position in a chain.
#[derive(Clone, Copy, Debug)]
struct Link {
    /// Pointer from the previous record.
    pointer: u64,
    /// Number of records of the chain up to there.
    before: u32,
}

/// A cached piece of a bitmap or an array of pointers or ids.
#[derive(Clone, Debug, Default)]
struct Chunk {
    /// Offset of the piece in the array, in bytes.
    start: u64,
    bytes: Vec<u8>,
}

impl Chunk {
    /// Returns the bytes from `offset` on of an array of `size` bytes at `base`; at least one.
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
    /// A cursor at the first unit of `region`.
    pub fn new(region: &Region, row_mask: RowMask) -> Self {
        Self::at(Source::Region(region.clone()), row_mask)
    }

    fn at(source: Source, row_mask: RowMask) -> Self {
        let (limit, chunk) = (Limit::default(), Chunk::default());
        Self { source, row_mask, next: 0, limit, chunk, link: None }
    }

    /// Makes the cursor refuse bytes outside `limit`.
    #[must_use]
    pub fn with_limit(mut self, limit: Limit) -> Self {
        self.limit = limit;
        self
    }

    /// Skips the next `count` rows of a region under row mask `Period`, or all that are left.
    ///
    /// # Errors
    /// [`Fault`] if a bitmap cannot be read.
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
                // The last row to be skipped is one of these eight.
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
            Source::Partition(region, _) if !region.entries.is_empty() => {
                return self.next_fragments(memory, out);
            }
            Source::Partition(region, partition) => {
                let ids = self.limit.ids.as_deref();
                let row = self.chunk.row_of(memory, region, ids, *partition, &mut self.next)?;
                let Some(row) = row else { return Ok(false) };
                out.extend(region.columns.iter().map(|column| value(column, row)));
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
                let row = self.chunk.set_bit(memory, *bitmap, rows, &mut self.next)?;
                let Some(row) = row else { return Ok(false) };
                out.extend(columns.iter().map(|column| value(column, row)));
                return Ok(true);
            }
            Region::Kinds(_) => return self.next_fragments(memory, out),
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
                    let limit = self.limit.records.as_ref();
                    if limit.is_some_and(|l| start < l.start || end > l.end) {
                        return Err(Fault { addr: start as u64, len: extent.len as usize });
                    }
                    out.push(Fragment { addr: start as u64, len: extent.len });
                }
            }
        }
        self.next += 1;
        Ok(true)
    }

    /// Like [`next`](Self::next), for regions with kinds: the bytes that the next unit's entries
    /// lead to.
    fn next_fragments<M: HostMemory + ?Sized>(
        &mut self,
        memory: &M,
        out: &mut Vec<Fragment>,
    ) -> Result<bool, Fault> {
        let mut values = Vec::new();
        let more = self.next_values(memory, &mut values).map_err(|wrong| wrong.fault())?;
        out.extend(values.into_iter().filter_map(|value| match value {
            Value::Bytes(fragment) if fragment.len > 0 => Some(fragment),
            _ => None,
        }));
        Ok(more)
    }

    /// Appends the values of the next unit to `out`; false when there is none.
    ///
    /// # Errors
    /// If a unit cannot be read, or leads to bytes outside of the limit.
    pub fn next_values<M: HostMemory + ?Sized>(
        &mut self,
        memory: &M,
        out: &mut Vec<Value>,
    ) -> Result<bool, WrongValue> {
        let row = self.next;
        let unread = |fault| WrongValue { row, element: 0, error: ValueError::Fault(fault) };
        match &self.source {
            Source::Partition(region, partition) if !region.entries.is_empty() => {
                let ids = self.limit.ids.as_deref();
                let row = self.chunk.row_of(memory, region, ids, *partition, &mut self.next);
                let Some(row) = row.map_err(unread)? else { return Ok(false) };
                columns(&region.entries, row, &self.limit, memory, out)?;
                Ok(true)
            }
            Source::Region(Region::Kinds(region)) => {
                let mut at = At {
                    row_mask: self.row_mask,
                    next: &mut self.next,
                    chunk: &mut self.chunk,
                    link: &mut self.link,
                    limit: &self.limit,
                };
                at.next_of_kinds(region, memory, out)
            }
            _ => {
                let mut fragments = Vec::new();
                let more = self.next(memory, &mut fragments).map_err(unread)?;
                out.extend(fragments.into_iter().map(Value::Bytes));
                Ok(more)
            }
        }
    }
}

impl Chunk {
    /// Returns the first row from `next` on that has the id `partition`; `next` is behind it then.
    fn row_of<M: HostMemory + ?Sized>(
        &mut self,
        memory: &M,
        region: &Partitioned,
        ids: Option<&[u16]>,
        partition: u16,
        next: &mut u64,
    ) -> Result<Option<u64>, Fault> {
        if region.by.is_some() {
            // The ids were made from keys when the request was checked.
            let left = ids.unwrap_or_default().get(*next as usize..).unwrap_or_default();
            let skip = left.iter().position(|id| *id == partition);
            *next += skip.map_or(left.len(), |skip| skip + 1) as u64;
            return Ok(skip.map(|_| *next - 1));
        }
        let width = region.width;
        while *next < u64::from(region.rows) {
            let bytes = self.at(memory, region.ids, region.size(), *next * width)?;
            match region.decode_ids(bytes).position(|id| id == partition) {
                Some(skip) => {
                    let row = *next + skip as u64;
                    *next = row + 1;
                    return Ok(Some(row));
                }
                None => *next += bytes.len() as u64 / width,
            }
        }
        Ok(None)
    }

    /// Returns the first set bit from `next` on, below `end`, of the bits at `bitmap`; `next` is
    /// behind it then.
    fn set_bit<M: HostMemory + ?Sized>(
        &mut self,
        memory: &M,
        bitmap: u64,
        end: u64,
        next: &mut u64,
    ) -> Result<Option<u64>, Fault> {
        let size = end.div_ceil(8);
        while *next < end {
            let bytes = self.at(memory, bitmap, size, *next / 8)?;
            let bits = bytes[0] >> (*next % 8);
            if bits != 0 {
                let found = *next + u64::from(bits.trailing_zeros());
                *next = found + 1;
                // Bits at and above the end are ignored.
                return Ok((found < end).then_some(found));
            }
            let skip = bytes[1..].iter().take_while(|byte| **byte == 0).count() as u64;
            *next = (*next / 8 + 1 + skip) * 8;
        }
        Ok(None)
    }
}

/// Appends the values of a row of columns.
fn columns<M: HostMemory + ?Sized>(
    entries: &[kinds::Entry],
    row: u64,
    limit: &Limit,
    memory: &M,
    out: &mut Vec<Value>,
) -> Result<(), WrongValue> {
    for (element, entry) in entries.iter().enumerate() {
        let source = limit.sources.get(element).unwrap_or(&kinds::Source::Checked);
        kinds::column_values(entry, row, source, memory, out).map_err(|error| WrongValue {
            row,
            element,
            error,
        })?;
    }
    Ok(())
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
    /// Index of the region that is walked, with row mask `Period`.
    at: usize,
}

impl Units {
    /// Units from the first one of `regions` on.
    pub fn new(regions: &[Region], row_mask: RowMask) -> Self {
        Self::with_limits(regions, row_mask, &[])
    }

    /// Units from the first one of `regions` on, with the addresses that each one's records may
    /// have.
    pub fn with_limits(regions: &[Region], row_mask: RowMask, limits: &[Limit]) -> Self {
        let limit = |i| limits.get(i).cloned().unwrap_or_default();
        let cursors = regions
            .iter()
            .enumerate()
            .map(|(i, region)| Cursor::new(region, row_mask).with_limit(limit(i)))
            .collect();
        Self { cursors, row_mask, at: 0 }
    }

    /// Units of the rows of a partition. A row is an element, so that the row mask does not matter.
    pub fn of_partition(region: &Partitioned, partition: u16, limit: Limit) -> Self {
        let row_mask = RowMask::Period;
        let cursor = Cursor::at(Source::Partition(region.clone(), partition), row_mask);
        let cursor = cursor.with_limit(limit);
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

    /// Replaces `out` by the values of the next unit; false when there is none.
    ///
    /// # Errors
    /// If a unit cannot be read, or leads to bytes outside of its limit: the region's index, and
    /// the error.
    pub fn next_values<M: HostMemory + ?Sized>(
        &mut self,
        memory: &M,
        out: &mut Vec<Value>,
    ) -> Result<bool, (usize, WrongValue)> {
        out.clear();
        match self.row_mask {
            RowMask::Period => {
                while let Some(cursor) = self.cursors.get_mut(self.at) {
                    if cursor.next_values(memory, out).map_err(|wrong| (self.at, wrong))? {
                        return Ok(true);
                    }
                    self.at += 1;
                }
                Ok(false)
            }
            RowMask::Element => {
                for (index, cursor) in self.cursors.iter_mut().enumerate() {
                    if !cursor.next_values(memory, out).map_err(|wrong| (index, wrong))? {
                        out.clear();
                        return Ok(false);
                    }
                }
                Ok(!self.cursors.is_empty())
            }
        }
    }
}

/// Counts the set bits among the first `rows` bits of the bitmap at `bitmap`.
///
/// # Errors
/// [`Fault`] if the bitmap cannot be read.
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
