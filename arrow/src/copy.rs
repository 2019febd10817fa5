//! The one place where a sender copies, and where copied bytes are counted.

use std::{collections::BTreeMap, ops::Range};

use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, ScalarBuffer};

use crate::{
    Arena, ArenaError, SendError, Why,
    layout::LENGTH_WIDTH,
    parts::{self, Bytes, INLINE, Offsets},
    selection::{Selection, Targets, for_each_row},
};

/// Copies to an arena.
#[derive(Debug)]
pub(crate) struct Copier {
    arena: Arena,
    copied: BTreeMap<Why, u64>,
}

impl Copier {
    pub fn new(arena: Arena) -> Self {
        Self { arena, copied: BTreeMap::new() }
    }

    /// Bytes that were copied, by the reason.
    pub fn into_copied(self) -> BTreeMap<Why, u64> {
        self.copied
    }

    fn count(&mut self, why: Why, bytes: usize) {
        *self.copied.entry(why).or_default() += bytes as u64;
    }

    pub fn copy(&mut self, why: Why, bytes: &[u8]) -> Result<Buffer, ArenaError> {
        self.count(why, bytes.len());
        self.arena.copy(bytes)
    }

    /// Puts new bytes into the arena, which are no copy of the batch's.
    pub fn place(&self, bytes: &[u8]) -> Result<Buffer, ArenaError> {
        self.arena.copy(bytes)
    }

    /// Copies bits to bytes, each 0 or 1.
    pub fn bits(&mut self, bits: &BooleanBuffer) -> Result<Buffer, ArenaError> {
        self.count(Why::Bits, bits.len());
        let mut block = self.arena.allocate(bits.len())?;
        let bytes = block.as_mut_slice().iter_mut();
        bytes.zip(bits.iter()).for_each(|(byte, bit)| *byte = u8::from(bit));
        Ok(block.freeze())
    }

    /// Copies bits, so that the first one begins a byte.
    pub fn align(&mut self, bits: &BooleanBuffer) -> Result<BooleanBuffer, SendError> {
        self.count(Why::Unaligned, bits.len().div_ceil(8));
        let mut block = self.arena.allocate(bits.len().div_ceil(64) * 8)?;
        let words = block.typed_mut::<u64>().iter_mut();
        words.zip(bits.bit_chunks().iter_padded()).for_each(|(to, word)| *to = word.to_le());
        Ok(BooleanBuffer::new(block.freeze(), 0, bits.len()))
    }

    /// The lengths of rows, 4 B each.
    pub fn lengths(&mut self, offsets: &Offsets, path: &str) -> Result<Buffer, SendError> {
        let rows = offsets.rows();
        self.count(Why::Offsets, 4 * rows);
        let mut block = self.arena.allocate(4 * rows)?;
        for (row, length) in block.typed_mut::<u32>().iter_mut().enumerate() {
            let len = offsets.range(row).len();
            let path = || path.to_owned();
            *length = u32::try_from(len)
                .map_err(|_| SendError::LongValue { path: path(), row, len })?
                .to_le();
        }
        Ok(block.freeze())
    }

    /// Each destination's bytes, one row behind the other: all of them together, and where each
    /// destination's are.
    pub fn gather(
        &mut self,
        bytes: &Bytes,
        selection: &Selection,
        targets: &Targets,
    ) -> Result<(Buffer, Vec<Range<usize>>), SendError> {
        // The kind of bytes is looked at once here, not for every row.
        match bytes {
            Bytes::Views { views, .. }
                if views.iter().all(|view| *view as u32 as usize <= INLINE) =>
            {
                Ok((Buffer::default(), vec![0..0; targets.partitions().len()]))
            }
            Bytes::Views { views, nulls: None, buffers } => self.gather_rows(
                |row| parts::behind(views[row], buffers),
                views.len(),
                selection,
                targets,
            ),
            _ => self.gather_rows(|row| bytes.row(row), bytes.rows(), selection, targets),
        }
    }

    /// Each destination's values whole, one row behind the other, and where each destination's are. What goes to
    /// everybody is copied once.
    pub fn gather_values(
        &mut self,
        bytes: &Bytes,
        selection: &Selection,
        targets: &Targets,
    ) -> Result<(Buffer, Vec<Range<usize>>), SendError> {
        let value = |row| bytes.value(row);
        let Selection::All = selection else {
            return self.gather_rows(value, bytes.rows(), selection, targets);
        };
        let buffer = self.concat(Why::Lengths, bytes.rows(), value)?;
        let range = 0..buffer.len();
        Ok((buffer, vec![range; targets.partitions().len()]))
    }

    /// The length of each row's value, 4 B each.
    pub fn value_lengths(&mut self, bytes: &Bytes, path: &str) -> Result<Buffer, SendError> {
        let mut lengths = Vec::with_capacity(LENGTH_WIDTH * bytes.rows());
        for row in 0..bytes.rows() {
            let len = bytes.value(row).len();
            let short = u32::try_from(len);
            let path = || path.to_owned();
            let short = short.map_err(|_| SendError::LongValue { path: path(), row, len })?;
            lengths.extend(short.to_le_bytes());
        }
        Ok(self.copy(Why::Offsets, &lengths)?)
    }

    fn gather_rows<'a>(
        &mut self,
        bytes: impl Fn(usize) -> &'a [u8],
        rows: usize,
        selection: &Selection,
        targets: &Targets,
    ) -> Result<(Buffer, Vec<Range<usize>>), SendError> {
        let mut ends = vec![0; targets.partitions().len()];
        for_each_row(selection, rows, targets, |destination, row| {
            ends[destination] += bytes(row).len();
        });
        let mut total = 0;
        let mut ranges = Vec::with_capacity(ends.len());
        for len in ends {
            ranges.push(total..total + len);
            total += len;
        }
        self.count(Why::Lengths, total);
        let mut block = self.arena.allocate(total)?;
        let to = block.as_mut_slice();
        let mut next: Vec<usize> = ranges.iter().map(|range| range.start).collect();
        for_each_row(selection, rows, targets, |destination, row| {
            let (row, at) = (bytes(row), &mut next[destination]);
            to[*at..*at + row.len()].copy_from_slice(row);
            *at += row.len();
        });
        Ok((block.freeze(), ranges))
    }

    /// The bytes of all rows, once.
    pub fn gather_all(&mut self, why: Why, bytes: &Bytes) -> Result<Buffer, SendError> {
        self.concat(why, bytes.rows(), |row| bytes.row(row))
    }

    fn concat<'a>(
        &mut self,
        why: Why,
        rows: usize,
        bytes: impl Fn(usize) -> &'a [u8],
    ) -> Result<Buffer, SendError> {
        let total = (0..rows).map(|row| bytes(row).len()).sum();
        self.count(why, total);
        let mut block = self.arena.allocate(total)?;
        let mut to = block.as_mut_slice();
        for row in (0..rows).map(bytes) {
            to[..row.len()].copy_from_slice(row);
            to = &mut to[row.len()..];
        }
        Ok(block.freeze())
    }

    /// Repeats each value as often as `elements` says of its row, to `count` values in all.
    pub fn repeat<T: ArrowNativeType>(
        &mut self,
        values: &[T],
        count: usize,
        elements: impl Fn(usize) -> usize,
    ) -> Result<ScalarBuffer<T>, SendError> {
        self.count(Why::Elements, count * size_of::<T>());
        let mut block = self.arena.allocate(count * size_of::<T>())?;
        let mut to = block.typed_mut::<T>();
        for (row, value) in values.iter().enumerate() {
            let (these, behind) = to.split_at_mut(elements(row));
            these.fill(*value);
            to = behind;
        }
        Ok(ScalarBuffer::new(block.freeze(), 0, count))
    }

    /// Repeats each bit as often as `elements` says of its row, to `count` bits in all.
    pub fn repeat_bits(
        &mut self,
        bits: &BooleanBuffer,
        count: usize,
        elements: impl Fn(usize) -> usize,
    ) -> Result<BooleanBuffer, SendError> {
        self.count(Why::Elements, count.div_ceil(8));
        let mut block = self.arena.allocate(count.div_ceil(8))?;
        let to = block.as_mut_slice();
        let mut at = 0;
        for (row, bit) in bits.iter().enumerate() {
            let behind = at + elements(row);
            if bit {
                (at..behind).for_each(|bit| to[bit / 8] |= 1 << (bit % 8));
            }
            at = behind;
        }
        Ok(BooleanBuffer::new(block.freeze(), 0, count))
    }
}
