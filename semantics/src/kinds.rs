//! Elements with kinds: bits, values of variable length, values of a dictionary (docs/semantics.md,
//! "Kinds of columns").
//!
//! In place of the value that a plain column has in row `r`, or a plain extent at its offset, these
//! have an *entry*, which leads to the bytes that are sent.

use std::ops::Range;

use drdma_abi::{
    Layout as _,
    work_request::{
        Chain, ElementKind, ElementSource, KindElement, MAX_CHAIN, MAX_ELEMENTS, MAX_VIEW_BUFFERS,
        RegionHeader, RegionShape, RegionType, VIEW, VIEW_INLINE, shape_flags,
    },
};

use crate::{
    granules::{ShapeError, name, take, zero},
    memory::{Fault, Fragment, HostMemory},
};

/// Kind of an element: how an entry leads to bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The entry is the value.
    Fixed {
        /// Length of a value in bytes.
        width: u32,
    },
    /// The entry is a bit.
    Bits {
        /// Place of row 0's bit in the byte at the column's address.
        first: u8,
    },
    /// The entry is two offsets, between which the value lies in some data.
    Offsets {
        /// The binary logarithm of an offset's bytes: 2 or 3.
        log_entry: u8,
        /// Address of byte 0 of the data.
        data: u64,
        /// Local key of the data's memory.
        lkey: u32,
    },
    /// The entry is a view of 16 B.
    Views {
        /// Address of the table of the buffers that views point into.
        table: u64,
        /// Number of buffers.
        count: u32,
        /// Local key of the table's memory.
        lkey: u32,
    },
    /// The entry is an index into a dictionary.
    Dictionary {
        /// The binary logarithm of an index's bytes: 0 to 3.
        log_entry: u8,
        /// Address of value 0.
        values: u64,
        /// Length of a value in bytes.
        width: u32,
        /// Number of values.
        count: u32,
        /// Local key of the values' memory.
        lkey: u32,
    },
}

impl Kind {
    /// Size of an entry in bytes; 1 for a bit.
    pub fn entry_len(&self) -> u64 {
        match self {
            Self::Fixed { width } => u64::from(*width),
            Self::Bits { .. } => 1,
            Self::Offsets { log_entry, .. } => 2 << log_entry,
            Self::Views { .. } => VIEW as u64,
            Self::Dictionary { log_entry, .. } => 1 << log_entry,
        }
    }

    /// Distance in bytes from a column's entry to the next row's; 0 for bits.
    fn step(&self) -> u64 {
        match self {
            Self::Offsets { log_entry, .. } => 1 << log_entry,
            Self::Bits { .. } => 0,
            _ => self.entry_len(),
        }
    }
}

/// A column or an extent, described by its entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    /// Of a column: the address of row 0's entry. Of an extent: its offset in bytes from the start
    /// of the period or record.
    pub offset: u64,
    /// Local key of a column's entries; 0 for an extent.
    pub lkey: u32,
    /// Kind of the entries.
    pub kind: Kind,
}

impl Entry {
    /// Number of bytes that the entries of `rows` rows of a column cover; 0 for no rows.
    pub(crate) fn column_len(&self, rows: u32) -> u128 {
        let rows = u128::from(rows);
        match self.kind {
            _ if rows == 0 => 0,
            Kind::Bits { first } => (u128::from(first) + rows).div_ceil(8),
            kind => (rows - 1) * u128::from(kind.step()) + u128::from(kind.entry_len()),
        }
    }
}

/// Rows of a region with kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Selection {
    /// All periods.
    Periods {
        /// Address of the first period.
        base: u64,
        /// Distance in bytes from one period to the next.
        period: u64,
        /// Number of periods.
        count: u32,
        /// Local key of the periods' memory.
        lkey: u32,
    },
    /// The rows that a bitmap selects.
    Bitmap {
        /// Address of the byte that holds row 0's bit.
        bitmap: u64,
        /// Place of that bit in its byte, 0 to 7.
        first: u8,
        /// Number of bits.
        rows: u32,
        /// Local key of the bitmap's memory.
        lkey: u32,
    },
    /// The records at the pointers of an array.
    Pointers {
        /// Address of the first pointer.
        pointers: u64,
        /// Number of pointers.
        count: u32,
        /// Local key of the pointers' memory.
        lkey: u32,
        /// Local key of the records' memory.
        target_lkey: u32,
    },
    /// The records of chains: one at each pointer of an array, and those that it leads to.
    Chains {
        /// Address of the first pointer.
        pointers: u64,
        /// Number of pointers.
        count: u32,
        /// Local key of the pointers' memory.
        lkey: u32,
        /// Local key of the records' memory.
        target_lkey: u32,
        /// Parameters of the chains: how a record leads to the next.
        chain: Chain,
    },
}

/// A region with kinds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Kinds {
    /// Rows of the region.
    pub rows: Selection,
    /// Elements of a row, in the order in which they are sent.
    pub entries: Vec<Entry>,
}

impl Kinds {
    /// Type code of the region.
    pub fn region_type(&self) -> RegionType {
        match self.rows {
            Selection::Periods { .. } => RegionType::Strided,
            Selection::Bitmap { .. } => RegionType::Bitmapped,
            Selection::Pointers { .. } | Selection::Chains { .. } => RegionType::PointerMapped,
        }
    }

    /// True if the region has no rows, whatever is selected.
    pub(crate) fn is_empty(&self) -> bool {
        matches!(
            self.rows,
            Selection::Periods { count: 0, .. }
                | Selection::Bitmap { rows: 0, .. }
                | Selection::Pointers { count: 0, .. }
                | Selection::Chains { count: 0, .. }
        )
    }

    /// Appends the granules of the region.
    pub(crate) fn encode(&self, bytes: &mut Vec<u8>) {
        let flags = shape_flags::COLUMN_KINDS;
        let (header, shape) = match self.rows {
            Selection::Periods { base, period, count, lkey } => (
                RegionHeader { addr: base, count, lkey },
                RegionShape { period, flags, ..RegionShape::default() },
            ),
            Selection::Bitmap { bitmap, first, rows, lkey } => {
                let flags = flags | u16::from(first) << shape_flags::FIRST_BIT_SHIFT;
                (
                    RegionHeader { addr: bitmap, count: rows, lkey },
                    RegionShape { flags, ..RegionShape::default() },
                )
            }
            Selection::Pointers { pointers, count, lkey, target_lkey } => (
                RegionHeader { addr: pointers, count, lkey },
                RegionShape { target_lkey, flags, ..RegionShape::default() },
            ),
            Selection::Chains { pointers, count, lkey, target_lkey, .. } => {
                let flags = flags | shape_flags::CHASE;
                (
                    RegionHeader { addr: pointers, count, lkey },
                    RegionShape { target_lkey, flags, ..RegionShape::default() },
                )
            }
        };
        bytes.extend(header.to_bytes());
        let elements = self.entries.len() as u16;
        bytes.extend(RegionShape { elements, ..shape }.to_bytes());
        if let Selection::Chains { chain, .. } = self.rows {
            bytes.extend(chain.to_bytes());
        }
        encode_entries(&self.entries, bytes);
    }

    /// Reads the granules behind the header of a region of the given type.
    ///
    /// # Errors
    /// [`ShapeError`] if its shape is not legal.
    pub(crate) fn decode(
        kind: RegionType,
        header: RegionHeader,
        shape: &RegionShape,
        rest: &mut &[u8],
    ) -> Result<Self, ShapeError> {
        let RegionHeader { addr, count, lkey } = header;
        let first = shape.flags & shape_flags::FIRST_BIT;
        let mut others = shape.flags & !(shape_flags::COLUMN_KINDS | shape_flags::FIRST_BIT);
        if kind == RegionType::PointerMapped {
            others &= !shape_flags::CHASE;
        }
        let name = name(kind);
        zero("flags", name, others.into())?;
        if kind != RegionType::Bitmapped {
            zero("first bit", name, first.into())?;
        }
        if kind != RegionType::PointerMapped {
            zero("target_lkey", name, shape.target_lkey.into())?;
        }
        match kind {
            RegionType::Strided if shape.period == 0 => return Err(ShapeError::ZeroPeriod),
            RegionType::Strided => {}
            _ => zero("period", name, shape.period)?,
        }
        let rows = match kind {
            RegionType::Strided | RegionType::Contiguous => {
                Selection::Periods { base: addr, period: shape.period, count, lkey }
            }
            RegionType::Bitmapped => {
                let first = (first >> shape_flags::FIRST_BIT_SHIFT) as u8;
                Selection::Bitmap { bitmap: addr, first, rows: count, lkey }
            }
            RegionType::PointerMapped if shape.flags & shape_flags::CHASE != 0 => {
                let chain = Chain::decode(&take(rest)?);
                if !(1..=MAX_CHAIN).contains(&chain.limit) {
                    return Err(ShapeError::ChainLimit(chain.limit));
                }
                let target_lkey = shape.target_lkey;
                Selection::Chains { pointers: addr, count, lkey, target_lkey, chain }
            }
            RegionType::PointerMapped => {
                let target_lkey = shape.target_lkey;
                Selection::Pointers { pointers: addr, count, lkey, target_lkey }
            }
        };
        let are_columns = kind == RegionType::Bitmapped;
        let entries = decode_entries(shape.elements, are_columns, rest)?;
        Ok(Self { rows, entries })
    }
}

/// Appends the granules of columns or extents with kinds.
pub(crate) fn encode_entries(entries: &[Entry], bytes: &mut Vec<u8>) {
    for entry in entries {
        let mut element =
            KindElement { offset: entry.offset, lkey: entry.lkey, ..KindElement::default() };
        let mut source = ElementSource::default();
        let kind = match entry.kind {
            Kind::Fixed { width } => {
                element.width = width;
                ElementKind::Fixed
            }
            Kind::Bits { first } => {
                element.width = first.into();
                ElementKind::Bits
            }
            Kind::Offsets { log_entry, data, lkey } => {
                element.log_entry = log_entry;
                source = ElementSource { addr: data, count: 0, lkey };
                ElementKind::Offsets
            }
            Kind::Views { table, count, lkey } => {
                source = ElementSource { addr: table, count, lkey };
                ElementKind::Views
            }
            Kind::Dictionary { log_entry, values, width, count, lkey } => {
                (element.log_entry, element.width) = (log_entry, width);
                source = ElementSource { addr: values, count, lkey };
                ElementKind::Dictionary
            }
        };
        element.kind = kind as u8;
        bytes.extend(element.to_bytes());
        bytes.extend(source.to_bytes());
    }
}

/// Takes `count` columns or extents with kinds from the front of `bytes`.
pub(crate) fn decode_entries(
    elements: u16,
    are_columns: bool,
    bytes: &mut &[u8],
) -> Result<Vec<Entry>, ShapeError> {
    if elements == 0 || usize::from(elements) > MAX_ELEMENTS {
        return Err(ShapeError::Elements(elements));
    }
    let mut entries = Vec::with_capacity(elements.into());
    for index in 0..usize::from(elements) {
        let element = KindElement::decode(&take(bytes)?);
        let source = ElementSource::decode(&take(bytes)?);
        entries.push(decode_entry(index, &element, &source, are_columns)?);
    }
    Ok(entries)
}

/// Decodes a column or an extent from its two granules.
pub(crate) fn decode_entry(
    index: usize,
    element: &KindElement,
    source: &ElementSource,
    are_columns: bool,
) -> Result<Entry, ShapeError> {
    let kind = decode_kind(index, element, source, are_columns)?;
    if !are_columns && element.lkey != 0 {
        return Err(ShapeError::NotZero("an extent's lkey", "region of extents"));
    }
    Ok(Entry { offset: element.offset, lkey: element.lkey, kind })
}

fn decode_kind(
    index: usize,
    element: &KindElement,
    source: &ElementSource,
    are_columns: bool,
) -> Result<Kind, ShapeError> {
    let &KindElement { width, kind: code, log_entry, .. } = element;
    let &ElementSource { addr, count, lkey } = source;
    let kind = ElementKind::from_code(code).ok_or(ShapeError::Kind(index, code))?;
    let unused = |what, value: u64| match value {
        0 => Ok(()),
        value => Err(ShapeError::KindField { index, what, value }),
    };
    let in_range = |what, value: u64, range: Range<u64>| match range.contains(&value) {
        true => Ok(()),
        false => Err(ShapeError::KindField { index, what, value }),
    };
    let nowhere = || {
        unused("address of a source", addr)?;
        unused("count of a source", count.into())?;
        unused("key of a source", lkey.into())
    };
    match kind {
        ElementKind::Fixed => {
            unused("log_entry", log_entry.into())?;
            nowhere()?;
            if width == 0 {
                return Err(ShapeError::EmptyElement(index));
            }
            Ok(Kind::Fixed { width })
        }
        ElementKind::Bits => {
            if !are_columns {
                return Err(ShapeError::Kind(index, code));
            }
            unused("log_entry", log_entry.into())?;
            nowhere()?;
            in_range("first bit", width.into(), 0..8)?;
            Ok(Kind::Bits { first: width as u8 })
        }
        ElementKind::Offsets => {
            in_range("log_entry", log_entry.into(), 2..4)?;
            unused("width", width.into())?;
            unused("count of a source", count.into())?;
            Ok(Kind::Offsets { log_entry, data: addr, lkey })
        }
        ElementKind::Views => {
            unused("log_entry", log_entry.into())?;
            unused("width", width.into())?;
            in_range("number of buffers", count.into(), 0..u64::from(MAX_VIEW_BUFFERS) + 1)?;
            Ok(Kind::Views { table: addr, count, lkey })
        }
        ElementKind::Dictionary => {
            in_range("log_entry", log_entry.into(), 0..4)?;
            if width == 0 {
                return Err(ShapeError::EmptyElement(index));
            }
            Ok(Kind::Dictionary { log_entry, values: addr, width, count, lkey })
        }
    }
}

/// A buffer that views point into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// Address of the first byte.
    pub addr: u64,
    /// Length in bytes.
    pub len: u32,
}

/// Memory where the bytes of a column or extent may lie: checked before a row is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Source {
    /// The bytes lie in the entries, or in a dictionary that was checked.
    #[default]
    Checked,
    /// The bytes lie in a range of addresses.
    Data(Range<u128>),
    /// The bytes lie in these buffers.
    Buffers(Vec<Buffer>),
}

/// A value of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// Bytes of host memory, which may be none.
    Bytes(Fragment),
    /// The length of the bytes that follow: 4 B, little-endian.
    Length(u32),
    /// A bit.
    Bit(bool),
}

/// Error of an entry that leads to no bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// The entry or its value cannot be read.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// A value would end before it begins.
    #[error("a value from offset {from} to offset {to}")]
    Backwards {
        /// First offset.
        from: u64,
        /// Second offset.
        to: u64,
    },
    /// A value is outside of the memory of the data's key.
    #[error("a value at {start:#x}..{end:#x}, outside of the memory of its data's key")]
    Outside {
        /// Address of the first byte.
        start: u128,
        /// Address of the byte behind the last.
        end: u128,
    },
    /// A view names a buffer that does not exist.
    #[error("a view of buffer {index}; there are {count}")]
    NoBuffer {
        /// Index of the buffer.
        index: u32,
        /// Number of buffers.
        count: usize,
    },
    /// A view reaches beyond the end of its buffer.
    #[error("a view up to byte {end} of buffer {index}, which has {len} B")]
    BeyondBuffer {
        /// Index of the buffer.
        index: u32,
        /// Offset of the byte behind the view's last.
        end: u64,
        /// Length of the buffer in bytes.
        len: u32,
    },
    /// An index is not below the number of the dictionary's values.
    #[error("index {index} in a dictionary of {count} values")]
    NoValue {
        /// The index.
        index: u64,
        /// Number of values.
        count: u32,
    },
    /// A chain has more records than possible; perhaps it has no end.
    #[error("a chain of more than {limit} records")]
    TooLong {
        /// Largest number of records of a chain.
        limit: u32,
    },
}

/// Appends the values of the entry at `addr`.
///
/// # Errors
/// [`ValueError`] if the entry cannot be read, or leads to bytes outside of `source`.
pub(crate) fn values_of<M: HostMemory + ?Sized>(
    kind: &Kind,
    addr: u64,
    source: &Source,
    memory: &M,
    out: &mut Vec<Value>,
) -> Result<(), ValueError> {
    let number = |addr: u64, log: u8| -> Result<u64, Fault> {
        let mut bytes = [0; 8];
        memory.read(addr, &mut bytes[..1 << log])?;
        Ok(u64::from_le_bytes(bytes))
    };
    let mut variable = |fragment: Fragment| {
        out.push(Value::Length(fragment.len));
        out.push(Value::Bytes(fragment));
    };
    match *kind {
        Kind::Fixed { width } => out.push(Value::Bytes(Fragment { addr, len: width })),
        Kind::Bits { .. } => unreachable!("a bit has a row, not an address"),
        Kind::Offsets { log_entry, data, .. } => {
            let (from, to) =
                (number(addr, log_entry)?, number(addr.wrapping_add(1 << log_entry), log_entry)?);
            if to < from {
                return Err(ValueError::Backwards { from, to });
            }
            let (start, end) =
                (u128::from(data) + u128::from(from), u128::from(data) + u128::from(to));
            let allowed =
                matches!(source, Source::Data(data) if data.start <= start && end <= data.end);
            if to > from && !allowed {
                return Err(ValueError::Outside { start, end });
            }
            // A value of 4 GiB or more exceeds every message: the request fails whatever its length
            // is here.
            let len = u32::try_from(to - from).unwrap_or(u32::MAX);
            variable(Fragment { addr: start as u64, len });
        }
        Kind::Views { .. } => {
            let mut view = [0; VIEW];
            memory.read(addr, &mut view)?;
            let word = |at: usize| u32::from_le_bytes(view[at..at + 4].try_into().expect("4 B"));
            let (len, index, offset) = (word(0), word(8), word(12));
            if len <= VIEW_INLINE {
                variable(Fragment { addr: addr.wrapping_add(4), len });
                return Ok(());
            }
            let buffers = if let Source::Buffers(buffers) = source { &buffers[..] } else { &[] };
            let count = buffers.len();
            let buffer =
                buffers.get(index as usize).ok_or(ValueError::NoBuffer { index, count })?;
            let end = u64::from(offset) + u64::from(len);
            if end > buffer.len.into() {
                return Err(ValueError::BeyondBuffer { index, end, len: buffer.len });
            }
            variable(Fragment { addr: buffer.addr.wrapping_add(offset.into()), len });
        }
        Kind::Dictionary { log_entry, values, width, count, .. } => {
            let index = number(addr, log_entry)?;
            if index >= count.into() {
                return Err(ValueError::NoValue { index, count });
            }
            let addr = values.wrapping_add(index * u64::from(width));
            out.push(Value::Bytes(Fragment { addr, len: width }));
        }
    }
    Ok(())
}

/// Appends the values of a column in a row.
///
/// # Errors
/// The errors of [`values_of`].
pub(crate) fn column_values<M: HostMemory + ?Sized>(
    entry: &Entry,
    row: u64,
    source: &Source,
    memory: &M,
    out: &mut Vec<Value>,
) -> Result<(), ValueError> {
    if let Kind::Bits { first } = entry.kind {
        out.push(Value::Bit(bit(memory, entry.offset, first, row)?));
        return Ok(());
    }
    let addr = entry.offset.wrapping_add(row.wrapping_mul(entry.kind.step()));
    values_of(&entry.kind, addr, source, memory, out)
}

/// Reads bit `row` of a bitmap whose bit 0 is at place `first` of the byte at `addr`.
pub(crate) fn bit<M: HostMemory + ?Sized>(
    memory: &M,
    addr: u64,
    first: u8,
    row: u64,
) -> Result<bool, Fault> {
    let at = u64::from(first) + row;
    let mut byte = [0];
    memory.read(addr.wrapping_add(at / 8), &mut byte)?;
    Ok(byte[0] >> (at % 8) & 1 == 1)
}

#[cfg(test)]
#[path = "tests/kinds.rs"]
mod tests;

#[cfg(test)]
#[path = "tests/chains.rs"]
mod chains;
