//! Kinds of columns: bits, values of variable length, values of a dictionary.

use std::sync::Arc;

use drdma_abi::work_request::{
    Chain, Element, ElementKind, ElementSource, KindElement, MAX_ELEMENTS, RegionHeader,
    RegionShape, RegionType, shape_flags,
};

use super::{Part, Region, RegionError, UNCHECKED, at_most};
use crate::{Features, encode::words, memory::Hold};

const NAME: &str = "region with kinds of columns";
pub(super) const MAX_WIDTH: u32 = KindColumn::MAX_WIDTH;

/// Kind of a column or extent: how its *entries* lead to its bytes, as the card addresses them; for
/// [`Region::unchecked_kinds`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// The entry is the value.
    Fixed {
        /// Length of a value in bytes, 1 to 2^24 - 1.
        width: u32,
    },
    /// The entry is a bit; only columns can be bits.
    Bits {
        /// Place of row 0's bit in the byte at the column's address: 0, the least significant, to
        /// 7.
        first: u8,
    },
    /// The entry is two offsets, between which the value lies in some data.
    Offsets {
        /// Size of an offset in bytes: 4 or 8.
        width: u8,
        /// Address of byte 0 of the data.
        data: u64,
        /// Local key of the data's memory.
        lkey: u32,
    },
    /// The entry is a view of 16 B.
    Views {
        /// Address of the table of buffers: 16 B each, an address of 8 B, a length and a local key
        /// of 4 B, little-endian.
        table: u64,
        /// Number of buffers, at most 4,096.
        count: u32,
        /// Local key of the table's memory.
        lkey: u32,
    },
    /// The entry is an index into a dictionary.
    Dictionary {
        /// Size of an index in bytes: 1, 2, 4 or 8.
        index: u8,
        /// Address of value 0.
        values: u64,
        /// Length of a value in bytes, 1 to 2^24 - 1.
        width: u32,
        /// Number of values.
        count: u32,
        /// Local key of the values' memory.
        lkey: u32,
    },
}

/// A column or an extent with a kind, as the card addresses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KindColumn {
    /// Of a column: the address of row 0's entry. Of an extent: its offset in bytes from the start
    /// of the period or record.
    pub addr: u64,
    /// The local key of a column's entries; 0 of an extent.
    pub lkey: u32,
    /// Kind of the entries.
    pub kind: ColumnKind,
}

impl KindColumn {
    /// The longest value of fixed width, in bytes, where columns or extents have kinds; its field has 24 bits.
    pub const MAX_WIDTH: u32 = (1 << 24) - 1;
}

/// The rows of a region with kinds, as the card addresses them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KindRows {
    /// The rows are all periods.
    Strided {
        /// Address of the first period.
        addr: u64,
        /// Local key of the periods' memory.
        lkey: u32,
        /// Bytes from one period to the next.
        period: u64,
        /// Number of periods.
        count: u32,
    },
    /// The rows are those that a bitmap selects.
    Bitmapped {
        /// Address of the byte that holds row 0's bit.
        bitmap: u64,
        /// Local key of the bitmap's memory.
        lkey: u32,
        /// Place of that bit in its byte, 0 to 7.
        first: u8,
        /// Number of rows, that is, of bits.
        rows: u32,
    },
    /// The rows are the records at the pointers of an array.
    PointerMapped {
        /// Address of the first pointer.
        pointers: u64,
        /// The local key of the pointers.
        lkey: u32,
        /// Number of pointers.
        count: u32,
        /// The local key of the records.
        target_lkey: u32,
    },
    /// The rows are the records at the pointers of an array, and those that these lead to.
    Chains {
        /// Address of the first pointer.
        pointers: u64,
        /// The local key of the pointers.
        lkey: u32,
        /// Number of pointers.
        count: u32,
        /// The local key of the records.
        target_lkey: u32,
        /// Bytes from the start of a record to its pointer to the next one.
        next: u32,
        /// Value of the pointer that ends a chain.
        end: u64,
        /// Largest number of records of one chain.
        limit: u32,
    },
}

/// Granules of a region with kinds, and the features that the card needs to send it.
#[derive(Clone, Debug)]
pub(super) struct Granules {
    pub words: Arc<[u64]>,
    pub needs: Features,
}

/// Fields of the shape of a region with kinds, beside its columns.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shape {
    pub period: u64,
    pub target_lkey: u32,
    /// Place of row 0's bit in a bitmap's first byte.
    pub first: u8,
    pub chain: Option<Chain>,
}

impl Granules {
    /// Makes the granules: header, shape and columns.
    pub fn new(
        header: [u64; 2],
        shape: Shape,
        columns: &[KindColumn],
    ) -> Result<Self, RegionError> {
        let Shape { period, target_lkey, first, chain } = shape;
        let mut needs = Features::empty();
        let mut flags = shape_flags::COLUMN_KINDS
            | u16::from(first) << shape_flags::FIRST_BIT_SHIFT & shape_flags::FIRST_BIT;
        if first > 0 {
            needs |= Features::BITS;
        }
        let mut behind = Vec::new();
        if let Some(Chain { end, next, limit }) = chain {
            flags |= shape_flags::CHASE;
            needs |= Features::CHASE;
            behind.extend(words!(Chain { end: end, next: next, limit: limit }));
        }
        let shape = (period, target_lkey, flags);
        Self::with(header, shape, &behind, needs, columns)
    }

    /// Like [`new`](Self::new), with the granules that follow the shape, and the features that they
    /// need. Without the flag `COLUMN_KINDS` all columns are plain.
    pub fn with(
        header: [u64; 2],
        (period, target_lkey, flags): (u64, u32, u16),
        behind: &[u64],
        needs: Features,
        columns: &[KindColumn],
    ) -> Result<Self, RegionError> {
        at_most(MAX_ELEMENTS, columns.len(), NAME, "columns")?;
        let elements = columns.len() as u16;
        let mut words = Vec::with_capacity(4 + behind.len() + 4 * columns.len());
        words.extend(header);
        words.extend(words!(RegionShape {
            period: period,
            target_lkey: target_lkey,
            elements: elements,
            flags: flags
        }));
        words.extend(behind);
        let mut needs = needs;
        for (index, column) in columns.iter().enumerate() {
            match column.kind {
                ColumnKind::Fixed { width } if flags & shape_flags::COLUMN_KINDS == 0 => {
                    let (offset, lkey) = (column.addr, column.lkey);
                    words.extend(words!(Element { offset: offset, len: width, lkey: lkey }));
                }
                _ => needs |= describe(index, column, &mut words)?,
            }
        }
        Ok(Self { words: words.into(), needs })
    }
}

/// Appends a column's granules; returns the features that the card needs for it.
pub(super) fn describe(
    index: usize,
    column: &KindColumn,
    out: &mut Vec<u64>,
) -> Result<Features, RegionError> {
    let width = |width: u32| match width {
        0..=MAX_WIDTH => Ok(width),
        _ => {
            let (what, value) = (Part::ColumnWidth(index), width.into());
            Err(RegionError::TooWide { region: NAME, what, value, limit: MAX_WIDTH })
        }
    };
    let log = |bytes: u8, allowed: &[u8]| match allowed.contains(&bytes) {
        true => Ok(bytes.ilog2()),
        false => {
            let (what, value) = (Part::ColumnWidth(index), bytes.into());
            Err(RegionError::EntryWidth { region: NAME, what, value })
        }
    };
    let none = (0, 0, 0);
    let (kind, width, log_entry, (addr, count, lkey), needs) = match column.kind {
        ColumnKind::Fixed { width: bytes } => {
            (ElementKind::Fixed, width(bytes)?, 0, none, Features::empty())
        }
        ColumnKind::Bits { first } => (ElementKind::Bits, first.into(), 0, none, Features::BITS),
        ColumnKind::Offsets { width, data, lkey } => {
            let log = log(width, &[4, 8])?;
            (ElementKind::Offsets, 0, log, (data, 0, lkey), Features::VARLEN)
        }
        ColumnKind::Views { table, count, lkey } => {
            (ElementKind::Views, 0, 0, (table, count, lkey), Features::VARLEN)
        }
        ColumnKind::Dictionary { index, values, width: bytes, count, lkey } => {
            let log = log(index, &[1, 2, 4, 8])?;
            let source = (values, count, lkey);
            (ElementKind::Dictionary, width(bytes)?, log, source, Features::VARLEN)
        }
    };
    out.extend(words!(KindElement {
        offset: column.addr,
        width: width,
        kind: kind as u8,
        log_entry: log_entry,
        lkey: column.lkey
    }));
    out.extend(words!(ElementSource { addr: addr, count: count, lkey: lkey }));
    Ok(needs)
}

impl Region<'static> {
    /// A region whose columns or extents have kinds. The card checks it, as for the other
    /// `unchecked` functions.
    ///
    /// # Errors
    /// More than 16 columns, or a width that is not possible.
    pub fn unchecked_kinds(rows: KindRows, columns: &[KindColumn]) -> Result<Self, RegionError> {
        Self::checked_kinds(rows, columns, UNCHECKED, Hold::Nothing)
    }
}

impl Region<'_> {
    /// Like [`unchecked_kinds`](Self::unchecked_kinds), of memory of protection domain `pd`, which
    /// was checked and is held.
    pub(super) fn checked_kinds(
        rows: KindRows,
        columns: &[KindColumn],
        pd: u32,
        hold: Hold,
    ) -> Result<Self, RegionError> {
        let none = Shape::default();
        let (kind, addr, count, lkey, shape) = match rows {
            KindRows::Strided { addr, lkey, period, count } => {
                (RegionType::Strided, addr, count, lkey, Shape { period, ..none })
            }
            KindRows::Bitmapped { bitmap, lkey, first, rows } => {
                (RegionType::Bitmapped, bitmap, rows, lkey, Shape { first, ..none })
            }
            KindRows::PointerMapped { pointers, lkey, count, target_lkey } => {
                let shape = Shape { target_lkey, ..none };
                (RegionType::PointerMapped, pointers, count, lkey, shape)
            }
            KindRows::Chains { pointers, lkey, count, target_lkey, next, end, limit } => {
                let chain = Some(Chain { end, next, limit });
                let shape = Shape { target_lkey, chain, ..none };
                (RegionType::PointerMapped, pointers, count, lkey, shape)
            }
        };
        let header = words!(RegionHeader { addr: addr, count: count, lkey: lkey });
        let granules = Granules::new(header, shape, columns)?;
        let mut region = Self::start(kind, pd, addr, count, lkey);
        region.kinds = Some(granules);
        region.hold = hold;
        Ok(region)
    }
}
