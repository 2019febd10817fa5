//! Columns of kinds, and rows whose partitions stand in memory or are made from keys.

use super::{Piece, Place};

/// A column, or several, whose entries are not the bytes that are sent.
#[derive(Clone, Debug)]
pub enum KindColumn {
    /// Text: a value lies between two offsets of 4 B, and is sent as its length, of 4 B, and its bytes.
    Text {
        /// Index of the buffer of the offsets, one more than rows.
        offsets: usize,
        /// Index of the buffer of the values.
        data: usize,
        /// Index of a buffer that the card does not read: the lengths.
        lengths: usize,
    },
    /// Columns of a bit a row, whose bits of a row follow each other when it is sent.
    Bits {
        /// Index of each column's buffer: row 0 is the lowest bit of byte 0.
        columns: Vec<usize>,
        /// Index of a buffer that the card does not read: the bits of each row, in whole bytes.
        packed: usize,
    },
}

impl KindColumn {
    /// The pieces of a row.
    pub(super) fn row(&self, row: u64, buffers: &[Vec<u8>]) -> Vec<Piece> {
        let piece = |buffer: usize, offset, len| Piece { at: Place { buffer, offset }, len };
        match self {
            Self::Text { offsets, data, lengths } => {
                let offset = |row: u64| {
                    let bytes = &buffers[*offsets][4 * row as usize..][..4];
                    u64::from(u32::from_le_bytes(bytes.try_into().expect("4 B")))
                };
                let (start, end) = (offset(row), offset(row + 1));
                vec![piece(*lengths, 4 * row, 4), piece(*data, start, end - start)]
            }
            Self::Bits { columns, packed } => {
                let len = columns.len().div_ceil(8) as u64;
                vec![piece(*packed, len * row, len)]
            }
        }
    }

    /// Bytes that the card reads of the column, beside those that are sent as they lie.
    pub(super) fn indexes(&self, rows: u64) -> Vec<Piece> {
        let whole = |buffer: usize, len| Piece { at: Place { buffer, offset: 0 }, len };
        match self {
            Self::Text { offsets, .. } => vec![whole(*offsets, 4 * (rows + 1))],
            Self::Bits { columns, .. } => {
                columns.iter().map(|column| whole(*column, rows.div_ceil(8))).collect()
            }
        }
    }

    /// Index of the buffer that the card does not read: it makes these bytes.
    pub(super) fn made(&self) -> usize {
        match self {
            Self::Text { lengths: made, .. } | Self::Bits { packed: made, .. } => *made,
        }
    }
}

/// Rows that go to the destination whose index is their id.
#[derive(Clone, Debug)]
pub struct Partitioned {
    /// The ids, one byte a row.
    pub ids: Piece,
    /// Integers of 4 or 8 B whose partitions are the ids: the card reads these instead of ids.
    pub keys: Option<Keys>,
    /// Number of destinations; rows with further ids are not sent.
    pub destinations: usize,
    /// Columns {row 0, bytes of a value}.
    pub columns: Vec<(Place, u64)>,
    /// Further columns, with kinds; every row is sent if there are any.
    pub kinds: Vec<KindColumn>,
}

/// Keys that the card makes ids of, by Murmur3.
#[derive(Clone, Copy, Debug)]
pub struct Keys {
    /// The keys of all rows.
    pub at: Piece,
    /// Bytes of a key.
    pub width: u64,
    /// Number of partitions.
    pub partitions: u64,
}

impl Partitioned {
    /// The pieces of every row of a destination, in order.
    pub(super) fn rows(&self, destination: usize, buffers: &[Vec<u8>]) -> Vec<Vec<Piece>> {
        let Piece { at, len } = self.ids;
        (0..len)
            .filter(|row| {
                usize::from(buffers[at.buffer][(at.offset + row) as usize]) == destination
            })
            .map(|row| {
                let value = |(base, width): &(Place, u64)| Piece {
                    at: Place { offset: base.offset + row * width, ..*base },
                    len: *width,
                };
                let kinds = self.kinds.iter().flat_map(|column| column.row(row, buffers));
                self.columns.iter().map(value).chain(kinds).collect()
            })
            .collect()
    }
}
