//! Values of entries: where the bytes lie that are sent.

use std::ops::Range;

use drdma_abi::work_request::{VIEW, VIEW_INLINE};

use super::{Entry, Kind};
use crate::memory::{Fault, Fragment, HostMemory};

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
