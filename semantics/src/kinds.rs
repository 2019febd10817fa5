//! Elements that say how their bytes are found: bits, values of variable length, values of a dictionary
//! (docs/semantics.md, "Kinds of columns").
//!
//! What a plain column has in row `r`, or a plain extent at its place, is here an *entry*, which leads to the
//! bytes that are sent.

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

/// How an entry leads to bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The entry is the value.
    Fixed {
        /// Its bytes.
        width: u32,
    },
    /// The entry is a bit.
    Bits {
        /// The place of row 0's bit in the byte at the column's address.
        first: u8,
    },
    /// The entry is two offsets, between which the value lies in some data.
    Offsets {
        /// The binary logarithm of an offset's bytes: 2 or 3.
        log_entry: u8,
        /// Byte 0 of the data.
        data: u64,
        /// The key of the data's memory.
        lkey: u32,
    },
    /// The entry is a view of 16 B.
    Views {
        /// The table of the buffers that views point into.
        table: u64,
        /// Buffers.
        count: u32,
        /// The key of the table's memory.
        lkey: u32,
    },
    /// The entry is an index into a dictionary.
    Dictionary {
        /// The binary logarithm of an index's bytes: 0 to 3.
        log_entry: u8,
        /// Value 0.
        values: u64,
        /// Bytes of a value.
        width: u32,
        /// Values.
        count: u32,
        /// The key of the values' memory.
        lkey: u32,
    },
}

impl Kind {
    /// Bytes of an entry; 1 for a bit.
    pub fn entry_len(&self) -> u64 {
        match self {
            Self::Fixed { width } => u64::from(*width),
            Self::Bits { .. } => 1,
            Self::Offsets { log_entry, .. } => 2 << log_entry,
            Self::Views { .. } => VIEW as u64,
            Self::Dictionary { log_entry, .. } => 1 << log_entry,
        }
    }

    /// Bytes from a column's entry to the next row's; nothing for bits.
    fn step(&self) -> u64 {
        match self {
            Self::Offsets { log_entry, .. } => 1 << log_entry,
            Self::Bits { .. } => 0,
            _ => self.entry_len(),
        }
    }
}

/// A column or an extent, by its entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    /// Of a column: the address of row 0's entry. Of an extent: bytes from the start of the period or record.
    pub offset: u64,
    /// The key of a column's entries; 0 of an extent.
    pub lkey: u32,
    /// How they lead to bytes.
    pub kind: Kind,
}

impl Entry {
    /// Bytes that the entries of so many rows of a column cover; 0 for none.
    pub(crate) fn column_len(&self, rows: u32) -> u128 {
        let rows = u128::from(rows);
        match self.kind {
            _ if rows == 0 => 0,
            Kind::Bits { first } => (u128::from(first) + rows).div_ceil(8),
            kind => (rows - 1) * u128::from(kind.step()) + u128::from(kind.entry_len()),
        }
    }
}

/// Which rows a region with kinds has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Selection {
    /// Those of every period.
    Periods {
        /// The first period's start.
        base: u64,
        /// Bytes from one period to the next.
        period: u64,
        /// Periods.
        count: u32,
        /// The key of their memory.
        lkey: u32,
    },
    /// Those that a bitmap selects.
    Bitmap {
        /// The byte that row 0's bit lies in.
        bitmap: u64,
        /// The place of that bit in it, 0 to 7.
        first: u8,
        /// Bits.
        rows: u32,
        /// The key of their memory.
        lkey: u32,
    },
    /// Those at the pointers of an array.
    Pointers {
        /// The first pointer.
        pointers: u64,
        /// Pointers.
        count: u32,
        /// The key of the pointers' memory.
        lkey: u32,
        /// The key of the records' memory.
        target_lkey: u32,
    },
    /// Those of chains: a record at each pointer of an array, and those that it leads to.
    Chains {
        /// The first pointer.
        pointers: u64,
        /// Pointers.
        count: u32,
        /// The key of the pointers' memory.
        lkey: u32,
        /// The key of the records' memory.
        target_lkey: u32,
        /// How a record leads to the next.
        chain: Chain,
    },
}

/// A region with kinds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Kinds {
    /// Its rows.
    pub rows: Selection,
    /// What a row has, in the order sent.
    pub entries: Vec<Entry>,
}

impl Kinds {
    /// The type code that it stands under.
    pub fn region_type(&self) -> RegionType {
        match self.rows {
            Selection::Periods { .. } => RegionType::Strided,
            Selection::Bitmap { .. } => RegionType::Bitmapped,
            Selection::Pointers { .. } | Selection::Chains { .. } => RegionType::PointerMapped,
        }
    }

    /// Its rows if all of them are there, without a selection.
    pub(crate) fn is_empty(&self) -> bool {
        matches!(
            self.rows,
            Selection::Periods { count: 0, .. }
                | Selection::Bitmap { rows: 0, .. }
                | Selection::Pointers { count: 0, .. }
                | Selection::Chains { count: 0, .. }
        )
    }

    /// Appends its granules.
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

    /// Reads what follows the header of a region of that type.
    ///
    /// # Errors
    /// If its shape is not legal.
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

/// Reads so many columns or extents with kinds; `bytes` goes on behind them.
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

/// A column or an extent from its two granules.
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
    /// Its first byte.
    pub addr: u64,
    /// Its bytes.
    pub len: u32,
}

/// Where the bytes of a column or extent may lie: checked before a row is looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Source {
    /// In its entries, or in a dictionary that was checked.
    #[default]
    Checked,
    /// In some addresses.
    Data(Range<u128>),
    /// In some buffers.
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

/// Why an entry leads to no bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// It cannot be read.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// A value would end before it begins.
    #[error("a value from offset {from} to offset {to}")]
    Backwards {
        /// The first offset.
        from: u64,
        /// The second one.
        to: u64,
    },
    /// A value outside of the data's key.
    #[error("a value at {start:#x}..{end:#x}, outside of the memory of its data's key")]
    Outside {
        /// Its first byte.
        start: u128,
        /// The byte behind its last.
        end: u128,
    },
    /// A view of a buffer that is not there.
    #[error("a view of buffer {index}; there are {count}")]
    NoBuffer {
        /// The buffer.
        index: u32,
        /// Buffers.
        count: usize,
    },
    /// A view that ends behind its buffer.
    #[error("a view up to byte {end} of buffer {index}, which has {len} B")]
    BeyondBuffer {
        /// The buffer.
        index: u32,
        /// The byte behind the view's last.
        end: u64,
        /// The buffer's bytes.
        len: u32,
    },
    /// An index that no value of the dictionary has.
    #[error("index {index} in a dictionary of {count} values")]
    NoValue {
        /// The index.
        index: u64,
        /// Values.
        count: u32,
    },
    /// A chain that has more records than it may have; perhaps it has no end.
    #[error("a chain of more than {limit} records")]
    TooLong {
        /// Records that it may have.
        limit: u32,
    },
}

/// Appends the values of the entry at `addr`.
///
/// # Errors
/// If it cannot be read, or leads elsewhere than `source` allows.
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
            // A value of 4 GiB or more is longer than any message: its length need not be right.
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
/// As [`values_of`].
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

/// Bit `row` of a bitmap whose bit 0 is that of place `first` in the byte at `addr`.
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
