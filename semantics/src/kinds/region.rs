//! Regions with kinds: which rows, and which elements of a row.

use drdma_abi::{
    Layout as _,
    work_request::{Chain, MAX_CHAIN, RegionHeader, RegionShape, RegionType, shape_flags},
};

use super::{Entry, decode_entries, encode_entries};
use crate::granules::{ShapeError, name, take, zero};

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
