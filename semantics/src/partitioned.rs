//! Partitioned regions: one array of ids says for every row of some columns which destination gets
//! it.

use drdma_abi::{
    Layout as _,
    work_request::{RegionHeader, RegionShape, shape_flags},
};

use crate::{
    granules::{ShapeError, encode_shaped, take, take_elements, take_header, zero},
    kinds::{Entry, decode_entries, encode_entries},
    memory::{CHUNK, Fault, HostMemory},
    region::Column,
};

const NAME: &str = "partitioned";

/// The region that the destinations of a partitioned request share.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Partitioned {
    /// The first id: row `i`'s is the little-endian number at `ids + i * width`.
    pub ids: u64,
    /// Bytes of an id: 1 or 2.
    pub width: u64,
    /// Rows.
    pub rows: u32,
    /// The key of the ids' memory.
    pub lkey: u32,
    /// The values of a row, in the order sent.
    pub columns: Vec<Column>,
    /// Columns with kinds, instead of plain ones.
    pub entries: Vec<Entry>,
}

impl Partitioned {
    /// Bytes of a row.
    pub fn row_len(&self) -> u64 {
        self.columns.iter().map(|column| u64::from(column.width)).sum()
    }

    /// Bytes of the array of ids.
    pub fn size(&self) -> u64 {
        u64::from(self.rows) * self.width
    }

    /// The greatest id that fits.
    pub fn max_id(&self) -> u16 {
        if self.width == 1 { u16::from(u8::MAX) } else { u16::MAX }
    }

    /// The ids in some bytes of the array.
    pub(crate) fn decode_ids<'a>(&self, bytes: &'a [u8]) -> impl Iterator<Item = u16> + use<'a> {
        let id = |id: &[u8]| id.iter().rev().fold(0, |value, byte| value << 8 | u16::from(*byte));
        bytes.chunks_exact(self.width as usize).map(id)
    }

    /// How many rows have each id, indexed by the id.
    ///
    /// # Errors
    /// If the ids cannot be read.
    pub fn count<M: HostMemory + ?Sized>(&self, memory: &M) -> Result<Vec<u64>, Fault> {
        let mut counts = vec![0; usize::from(self.max_id()) + 1];
        let mut chunk = [0; CHUNK];
        let mut offset = 0;
        while offset < self.size() {
            let len = (self.size() - offset).min(CHUNK as u64);
            let bytes = &mut chunk[..len as usize];
            memory.read(self.ids.wrapping_add(offset), bytes)?;
            self.decode_ids(bytes).for_each(|id| counts[usize::from(id)] += 1);
            offset += len;
        }
        Ok(counts)
    }

    /// Appends its granules.
    pub(crate) fn encode(&self, bytes: &mut Vec<u8>) {
        let header = RegionHeader { addr: self.ids, count: self.rows, lkey: self.lkey };
        let shape = RegionShape { period: self.width, ..RegionShape::default() };
        if !self.entries.is_empty() {
            let elements = self.entries.len() as u16;
            let shape = RegionShape { elements, flags: shape_flags::COLUMN_KINDS, ..shape };
            bytes.extend(header.to_bytes());
            bytes.extend(shape.to_bytes());
            return encode_entries(&self.entries, bytes);
        }
        let elements: Vec<_> = self.columns.iter().map(Column::element).collect();
        encode_shaped(header, shape, &elements, bytes);
    }

    /// Reads one from the front of `granules`, and gives the bytes that follow it.
    ///
    /// # Errors
    /// If its shape is not legal (docs/semantics.md, check 2). Its memory is not looked at.
    pub fn decode(granules: &[u8]) -> Result<(Self, &[u8]), ShapeError> {
        let mut rest = granules;
        let RegionHeader { addr, count, lkey } = take_header(&mut rest)?;
        let mut ahead = rest;
        let shape = RegionShape::decode(&take(&mut ahead)?);
        let kinds = shape.flags & shape_flags::COLUMN_KINDS;
        let check = |shape: &RegionShape| {
            if !(1..=2).contains(&shape.period) {
                return Err(ShapeError::IdWidth(shape.period));
            }
            zero("flags", NAME, (shape.flags & !kinds).into())?;
            zero("target_lkey", NAME, shape.target_lkey.into())
        };
        let region = |columns, entries| Self {
            ids: addr,
            width: shape.period,
            rows: count,
            lkey,
            columns,
            entries,
        };
        if kinds != 0 {
            check(&shape)?;
            let entries = decode_entries(shape.elements, true, &mut ahead)?;
            return Ok((region(Vec::new(), entries), ahead));
        }
        let (_, elements) = take_elements(&mut rest, check)?;
        Ok((region(elements.iter().map(Column::of).collect(), Vec::new()), rest))
    }
}

#[cfg(test)]
#[path = "tests/partitioned.rs"]
mod tests;
