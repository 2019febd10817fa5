//! Elements with kinds: bits, values of variable length, values of a dictionary (docs/semantics.md,
//! "Kinds of columns").
//!
//! In place of the value that a plain column has in row `r`, or a plain extent at its offset, these
//! have an *entry*, which leads to the bytes that are sent.

mod region;
mod values;

use std::ops::Range;

use drdma_abi::{
    Layout as _,
    work_request::{ElementKind, ElementSource, KindElement, MAX_ELEMENTS, MAX_VIEW_BUFFERS, VIEW},
};

use crate::granules::{ShapeError, take};
pub use region::{Kinds, Selection};
pub use values::{Buffer, Source, Value, ValueError};
pub(crate) use values::{bit, column_values, values_of};

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
    pub(super) fn step(&self) -> u64 {
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

#[cfg(test)]
#[path = "tests/kinds.rs"]
mod tests;

#[cfg(test)]
#[path = "tests/chains.rs"]
mod chains;
