//! Partitioned regions: an array of ids determines for every row of some columns the destination
//! that it goes to.

use drdma_abi::{
    Layout as _,
    work_request::{RegionHeader, RegionShape, shape_flags},
};

use crate::{
    granules::{ShapeError, take, take_header, take_listed, zero},
    keys::PartitionBy,
    kinds::{Entry, decode_entries, encode_entries},
    memory::{CHUNK, Fault, HostMemory},
    region::Column,
};

const NAME: &str = "partitioned";

/// The region that the destinations of a partitioned request share.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Partitioned {
    /// Address of the first id: row `i`'s is the little-endian number at `ids + i * width`. With
    /// keys: the address of the first splitter of a range, or 0.
    pub ids: u64,
    /// Size of an id in bytes: 1 or 2; 0 with keys.
    pub width: u64,
    /// Number of rows.
    pub rows: u32,
    /// Local key of the ids' memory, or of the splitters'.
    pub lkey: u32,
    /// Rule by which ids are made, if they are not in memory.
    pub by: Option<PartitionBy>,
    /// The values of a row, in the order sent.
    pub columns: Vec<Column>,
    /// Columns with kinds, instead of plain ones.
    pub entries: Vec<Entry>,
}

impl Partitioned {
    /// Length of a row in bytes.
    pub fn row_len(&self) -> u64 {
        self.columns.iter().map(|column| u64::from(column.width)).sum()
    }

    /// Size in bytes of the array of ids, or of splitters.
    pub fn size(&self) -> u64 {
        let (count, width) = match &self.by {
            Some(by) => by.splitters(),
            None => return u64::from(self.rows) * self.width,
        };
        u64::from(count) * u64::from(width)
    }

    /// Greatest id that fits, or that is made.
    pub fn max_id(&self) -> u16 {
        if let Some(by) = &self.by {
            return by.max_id();
        }
        if self.width == 1 { u16::from(u8::MAX) } else { u16::MAX }
    }

    /// Decodes the ids in some bytes of the array.
    pub(crate) fn decode_ids<'a>(&self, bytes: &'a [u8]) -> impl Iterator<Item = u16> + use<'a> {
        let id = |id: &[u8]| id.iter().rev().fold(0, |value, byte| value << 8 | u16::from(*byte));
        bytes.chunks_exact(self.width as usize).map(id)
    }

    /// Counts the rows of each id, indexed by the id; `made` are the ids if they are made from
    /// keys.
    ///
    /// # Errors
    /// [`Fault`] if the ids cannot be read.
    pub fn count<M: HostMemory + ?Sized>(
        &self,
        memory: &M,
        made: Option<&[u16]>,
    ) -> Result<Vec<u64>, Fault> {
        let mut counts = vec![0; usize::from(self.max_id()) + 1];
        if self.by.is_some() {
            made.unwrap_or_default().iter().for_each(|id| counts[usize::from(*id)] += 1);
            return Ok(counts);
        }
        let mut chunk = [0; CHUNK];
        let mut offset = 0;
        while offset < self.size() {
            let len = (self.size() - offset).min(CHUNK as u64);
            let bytes = &mut chunk[..len as usize];
            memory.read(self.ids.wrapping_add(offset), bytes)?;
            match self.width {
                1 => count_bytes(bytes, &mut counts),
                _ => self.decode_ids(bytes).for_each(|id| counts[usize::from(id)] += 1),
            }
            offset += len;
        }
        Ok(counts)
    }

    /// Appends the granules of the region.
    pub(crate) fn encode(&self, bytes: &mut Vec<u8>) {
        let header = RegionHeader { addr: self.ids, count: self.rows, lkey: self.lkey };
        let kinds = !self.entries.is_empty();
        let mut flags = if kinds { shape_flags::COLUMN_KINDS } else { 0 };
        if self.by.is_some() {
            flags |= shape_flags::PARTITION_BY;
        }
        let elements = if kinds { self.entries.len() } else { self.columns.len() } as u16;
        let period = self.width;
        bytes.extend(header.to_bytes());
        bytes.extend(RegionShape { period, elements, flags, target_lkey: 0 }.to_bytes());
        if let Some(by) = &self.by {
            by.encode(bytes);
        }
        encode_entries(&self.entries, bytes);
        self.columns.iter().for_each(|column| bytes.extend(column.element().to_bytes()));
    }

    /// Reads a region from the front of `granules`, and returns the bytes that follow it.
    ///
    /// # Errors
    /// [`ShapeError`] if its shape is not legal (docs/semantics.md, check 2). Its memory is not
    /// accessed.
    pub fn decode(granules: &[u8]) -> Result<(Self, &[u8]), ShapeError> {
        let mut rest = granules;
        let RegionHeader { addr, count, lkey } = take_header(&mut rest)?;
        let shape = RegionShape::decode(&take(&mut rest)?);
        let kinds = shape.flags & shape_flags::COLUMN_KINDS != 0;
        let has_keys = shape.flags & shape_flags::PARTITION_BY != 0;
        let others = shape.flags & !(shape_flags::COLUMN_KINDS | shape_flags::PARTITION_BY);
        match shape.period {
            0 if has_keys => {}
            1..=2 if !has_keys => {}
            width => return Err(ShapeError::IdWidth(width)),
        }
        zero("flags", NAME, others.into())?;
        zero("target_lkey", NAME, shape.target_lkey.into())?;
        let by = has_keys.then(|| PartitionBy::decode(&mut rest)).transpose()?;
        if let Some(by) = &by
            && by.splitters().0 == 0
        {
            zero("address of splitters", "partitioned region without any", addr)?;
            zero("key of splitters", "partitioned region without any", lkey.into())?;
        }
        let (mut columns, mut entries) = (Vec::new(), Vec::new());
        if kinds {
            entries = decode_entries(shape.elements, true, &mut rest)?;
        } else {
            let elements = take_listed(shape.elements, &mut rest)?;
            columns.extend(elements.iter().map(Column::of));
        }
        let width = shape.period;
        Ok((Self { ids: addr, width, rows: count, lkey, by, columns, entries }, rest))
    }
}

/// Adds the number of occurrences of each byte value to `counts`.
fn count_bytes(bytes: &[u8], counts: &mut [u64]) {
    // Each value has several counters, so that equal bytes need not wait for each other.
    let mut parts = [[0_u32; 256]; 4];
    let (chunks, rest) = bytes.as_chunks();
    for chunk in chunks {
        let [a, b, c, d]: [u8; 4] = *chunk;
        for (part, byte) in parts.iter_mut().zip([a, b, c, d]) {
            part[usize::from(byte)] += 1;
        }
    }
    rest.iter().for_each(|byte| parts[0][usize::from(*byte)] += 1);
    for part in &parts {
        counts.iter_mut().zip(part).for_each(|(count, more)| *count += u64::from(*more));
    }
}

#[cfg(test)]
#[path = "tests/partitioned.rs"]
mod tests;
