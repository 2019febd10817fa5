//! Regions: the rows to send to a destination, and their encoding in a work queue entry.

use drdma_abi::Layout as _;
use drdma_abi::work_request::{Element, RegionHeader, RegionShape, RegionType, shape_flags};

use crate::{
    granules::{ShapeError, encode_shaped, name, take, take_elements, take_header, zero},
    kinds::Kinds,
};

/// Rule by which the units of a destination are formed from its regions (D-RDMA section 3.1 and
/// 3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RowMask {
    /// The rows of one region after another.
    Period,
    /// Element `i` of every region, for each `i`.
    Element,
}

/// A run of bytes in a strided or pointer-mapped region's pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Extent {
    /// Offset in bytes from the start of the period or record.
    pub offset: u64,
    /// Length in bytes.
    pub len: u32,
}

/// A column of a bitmapped or partitioned region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Column {
    /// Address of row 0's value.
    pub base: u64,
    /// Length of one value in bytes.
    pub width: u32,
    /// Local key of the column's memory.
    pub lkey: u32,
}

impl Column {
    pub(crate) fn element(&self) -> Element {
        Element { offset: self.base, len: self.width, lkey: self.lkey }
    }

    pub(crate) fn of(element: &Element) -> Self {
        Self { base: element.offset, width: element.len, lkey: element.lkey }
    }
}

/// Fetch rows of a bitmapped region: a second bitmap of as many rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FetchRows {
    /// Address of the bitmap's first byte.
    pub bitmap: u64,
    /// Local key of the bitmap's memory.
    pub lkey: u32,
}

/// A region: a description of bytes in host memory, row by row.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Region {
    /// One run of bytes.
    Contiguous {
        /// Address of the first byte.
        addr: u64,
        /// Length in bytes.
        len: u32,
        /// Local key of the memory.
        lkey: u32,
    },
    /// A pattern that repeats every `period` bytes.
    Strided {
        /// Address of the first period.
        base: u64,
        /// Distance in bytes from one period to the next.
        period: u64,
        /// Number of periods.
        count: u32,
        /// Local key of the memory.
        lkey: u32,
        /// Extents of a period, in the order in which they are sent.
        pattern: Vec<Extent>,
    },
    /// The rows that a bitmap selects, from some columns.
    Bitmapped {
        /// Address of the bitmap's first byte.
        bitmap: u64,
        /// Number of bits of the bitmap.
        rows: u32,
        /// Local key of the bitmap's memory.
        lkey: u32,
        /// Columns of a row, in the order in which they are sent.
        columns: Vec<Column>,
        /// Rows that are read as if they were needed as well. No packet depends on them.
        fetch_rows: Option<FetchRows>,
    },
    /// A pattern at every pointer of an array.
    PointerMapped {
        /// Address of the first pointer.
        pointers: u64,
        /// Number of pointers.
        count: u32,
        /// Local key of the pointers' memory.
        lkey: u32,
        /// Local key of the records' memory.
        target_lkey: u32,
        /// Extents of a record, in the order in which they are sent.
        pattern: Vec<Extent>,
    },
    /// Rows whose elements have kinds.
    Kinds(Kinds),
}

impl Region {
    /// Type code of the region.
    pub fn kind(&self) -> RegionType {
        match self {
            Self::Contiguous { .. } => RegionType::Contiguous,
            Self::Strided { .. } => RegionType::Strided,
            Self::Bitmapped { .. } => RegionType::Bitmapped,
            Self::PointerMapped { .. } => RegionType::PointerMapped,
            Self::Kinds(region) => region.region_type(),
        }
    }

    /// Length of a row in bytes; 0 if its elements have kinds.
    pub fn row_len(&self) -> u64 {
        match self {
            Self::Contiguous { len, .. } => u64::from(*len),
            Self::Strided { pattern, .. } | Self::PointerMapped { pattern, .. } => {
                pattern.iter().map(|extent| u64::from(extent.len)).sum()
            }
            Self::Bitmapped { columns, .. } => {
                columns.iter().map(|column| u64::from(column.width)).sum()
            }
            Self::Kinds(_) => 0,
        }
    }
}

/// Appends a region's granules.
pub(crate) fn encode_region(region: &Region, bytes: &mut Vec<u8>) {
    let extent = |extent: &Extent| Element { offset: extent.offset, len: extent.len, lkey: 0 };
    let (header, shape, elements): (_, _, Vec<Element>) = match region {
        Region::Contiguous { addr, len, lkey } => {
            bytes.extend(RegionHeader { addr: *addr, count: *len, lkey: *lkey }.to_bytes());
            return;
        }
        Region::Strided { base, period, count, lkey, pattern } => (
            RegionHeader { addr: *base, count: *count, lkey: *lkey },
            RegionShape { period: *period, ..RegionShape::default() },
            pattern.iter().map(extent).collect(),
        ),
        Region::Bitmapped { bitmap, rows, lkey, columns, fetch_rows } => (
            RegionHeader { addr: *bitmap, count: *rows, lkey: *lkey },
            fetch_rows.map_or_else(RegionShape::default, |fetch| RegionShape {
                period: fetch.bitmap,
                target_lkey: fetch.lkey,
                flags: shape_flags::FETCH_ROWS,
                ..RegionShape::default()
            }),
            columns.iter().map(Column::element).collect(),
        ),
        Region::PointerMapped { pointers, count, lkey, target_lkey, pattern } => (
            RegionHeader { addr: *pointers, count: *count, lkey: *lkey },
            RegionShape { target_lkey: *target_lkey, ..RegionShape::default() },
            pattern.iter().map(extent).collect(),
        ),
        Region::Kinds(region) => return region.encode(bytes),
    };
    encode_shaped(header, shape, &elements, bytes);
}

/// Reads a region of the given type from the front of `granules`, and returns the bytes that follow
/// it.
///
/// # Errors
/// [`ShapeError`] if its shape is not legal (docs/semantics.md, check 2b). Its memory is not
/// accessed.
pub fn decode_region(kind: RegionType, granules: &[u8]) -> Result<(Region, &[u8]), ShapeError> {
    let mut rest = granules;
    let RegionHeader { addr, count, lkey } = take_header(&mut rest)?;
    if kind == RegionType::Contiguous {
        if count == 0 {
            return Err(ShapeError::Empty);
        }
        return Ok((Region::Contiguous { addr, len: count, lkey }, rest));
    }

    let mut ahead = rest;
    let shape = RegionShape::decode(&take(&mut ahead)?);
    if shape.flags & shape_flags::COLUMN_KINDS != 0 {
        let header = RegionHeader { addr, count, lkey };
        let region = Kinds::decode(kind, header, &shape, &mut ahead)?;
        return Ok((Region::Kinds(region), ahead));
    }

    let (shape, elements) = take_elements(&mut rest, |shape| {
        if kind == RegionType::Bitmapped && shape.flags == shape_flags::FETCH_ROWS {
            return Ok(());
        }
        zero("flags", name(kind), shape.flags.into())?;
        if kind == RegionType::Strided {
            if shape.period == 0 {
                return Err(ShapeError::ZeroPeriod);
            }
        } else {
            zero("period", name(kind), shape.period)?;
        }
        match kind {
            RegionType::PointerMapped => Ok(()),
            _ => zero("target_lkey", name(kind), shape.target_lkey.into()),
        }
    })?;
    if kind != RegionType::Bitmapped {
        elements.iter().try_for_each(|e| zero("an extent's lkey", name(kind), e.lkey.into()))?;
    }

    let pattern = || elements.iter().map(|e| Extent { offset: e.offset, len: e.len }).collect();
    let region = match kind {
        RegionType::Contiguous => unreachable!("returned above"),
        RegionType::Strided => {
            Region::Strided { base: addr, period: shape.period, count, lkey, pattern: pattern() }
        }
        RegionType::Bitmapped => Region::Bitmapped {
            bitmap: addr,
            rows: count,
            lkey,
            columns: elements.iter().map(Column::of).collect(),
            fetch_rows: (shape.flags & shape_flags::FETCH_ROWS != 0)
                .then_some(FetchRows { bitmap: shape.period, lkey: shape.target_lkey }),
        },
        RegionType::PointerMapped => Region::PointerMapped {
            pointers: addr,
            count,
            lkey,
            target_lkey: shape.target_lkey,
            pattern: pattern(),
        },
    };
    Ok((region, rest))
}
