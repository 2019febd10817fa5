//! The first message of a batch: what follows.
//!
//! | bytes | |
//! |---|---|
//! | 4 | `DRAB` |
//! | 2 | the version of this layout, 1 |
//! | 2 | 0 |
//! | 8 | the format's fingerprint |
//! | 8 | batches before this one, on the same connection |
//! | 8 a level | rows: of the batch, of each list's elements, of each dictionary's values |
//! | 8 a column of bytes | bytes; with [`Form::Kinds`](crate::Form::Kinds) rows of a message, or [`LONG`] and bytes |
//! | 1 bit a column | which columns there are: validity is left out where nothing is null |
//! | 1 bit a dictionary | whose values follow; otherwise they are those that were sent before |
//!
//! Numbers are little-endian; bits are LSB first, and begin a byte of their own.

use crate::{DecodeError, layout::Layout};

const MAGIC: [u8; 4] = *b"DRAB";
const VERSION: u16 = 1;
/// Bit of the number of a byte column with `Form::Kinds`, one of whose values is longer than a message: its lengths
/// have messages of their own, and its bytes follow, of which the other bits say how many there are.
pub(crate) const LONG: u64 = 1 << 63;
/// Bytes before what depends on the schema.
const FIXED: usize = 24;

/// Contents of a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub sequence: u64,
    /// Number of rows of each level.
    pub rows: Vec<u64>,
    /// Number of bytes of each byte column; with `Form::Kinds`, rows of one of its messages, or
    /// [`LONG`] and bytes.
    pub bytes: Vec<u64>,
    /// For each column: whether the batch has it.
    pub present: Vec<bool>,
    /// For each dictionary: whether its values follow.
    pub fresh: Vec<bool>,
}

/// Bytes of a header.
pub(crate) fn len(layout: &Layout) -> usize {
    let numbers = layout.levels.len() + layout.bytes.len();
    FIXED + 8 * numbers + layout.columns.len().div_ceil(8) + layout.dictionaries.len().div_ceil(8)
}

fn bits(flags: &[bool]) -> impl Iterator<Item = u8> {
    flags.chunks(8).map(|chunk| {
        chunk.iter().enumerate().fold(0, |byte, (i, flag)| byte | u8::from(*flag) << i)
    })
}

fn flags(bytes: &[u8], count: usize) -> Vec<bool> {
    (0..count).map(|i| bytes[i / 8] >> (i % 8) & 1 == 1).collect()
}

impl Header {
    /// The header that stands for appended rows, which come without one.
    pub fn of_rows(rows: u64) -> Self {
        let (bytes, present, fresh) = Default::default();
        Self { sequence: 0, rows: vec![rows], bytes, present, fresh }
    }

    pub fn encode(&self, fingerprint: u64) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend([0; 2]);
        bytes.extend(fingerprint.to_le_bytes());
        bytes.extend(self.sequence.to_le_bytes());
        bytes.extend(self.rows.iter().chain(&self.bytes).flat_map(|number| number.to_le_bytes()));
        bytes.extend(bits(&self.present));
        bytes.extend(bits(&self.fresh));
        bytes
    }

    pub fn decode(message: &[u8], layout: &Layout, fingerprint: u64) -> Result<Self, DecodeError> {
        let expected = len(layout);
        if message.len() != expected {
            return Err(DecodeError::HeaderLength { bytes: message.len(), expected });
        }
        let magic: [u8; 4] = message[..4].try_into().expect("4 bytes");
        let version = u16::from_le_bytes(message[4..6].try_into().expect("2 bytes"));
        if magic != MAGIC || version != VERSION {
            return Err(DecodeError::Magic { magic, version });
        }
        let number =
            |at: usize| u64::from_le_bytes(message[at..at + 8].try_into().expect("8 bytes"));
        if number(8) != fingerprint {
            return Err(DecodeError::OtherFormat { theirs: number(8), ours: fingerprint });
        }
        let (levels, columns) = (layout.levels.len(), layout.bytes.len());
        let numbers: Vec<u64> = (0..levels + columns).map(|i| number(FIXED + 8 * i)).collect();
        let at = FIXED + 8 * numbers.len();
        let behind = at + layout.columns.len().div_ceil(8);
        let present = flags(&message[at..], layout.columns.len());
        let must = layout.columns.iter().zip(&present);
        for (column, present) in must {
            if !present && !column.part.is_optional() {
                return Err(DecodeError::NoColumn { path: column.path.clone(), part: column.part });
            }
        }
        Ok(Self {
            sequence: number(16),
            rows: numbers[..levels].to_vec(),
            bytes: numbers[levels..].to_vec(),
            present,
            fresh: flags(&message[behind..], layout.dictionaries.len()),
        })
    }
}
