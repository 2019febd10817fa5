//! Checks that every value is where it belongs.

use std::ops::AddAssign;

use serde::Serialize;

use super::{
    receiver::{Array, LENGTH},
    table::{self, Batch, COLUMNS, Values},
};

/// Difference between a receiver's columns and the rows that were sent to it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ColumnsError {
    /// More or fewer rows arrived than were sent.
    #[error("receiver {receiver}: {found} rows arrived, {expected} were sent")]
    Rows {
        /// Number of the receiver.
        receiver: usize,
        /// Rows that arrived.
        found: usize,
        /// Rows that were sent.
        expected: usize,
    },
    /// A string is longer than any of its column.
    #[error("receiver {receiver}: {} of row {row} has {len} B, and {longest} B at most", COLUMNS[*column].0)]
    Long {
        /// Number of the receiver.
        receiver: usize,
        /// Index of the column.
        column: usize,
        /// The row, counted at this receiver.
        row: usize,
        /// The string's bytes, by its view.
        len: usize,
        /// Bytes of the longest string that the column can have.
        longest: usize,
    },
    /// A value has other bytes: a number, or the view of a string, or the bytes that the view leads to.
    #[error(
        "receiver {receiver}: {} of row {row} arrived as \"{}\" instead of \"{}\"",
        COLUMNS[*column].0, found.escape_ascii(), expected.escape_ascii()
    )]
    Value {
        /// Number of the receiver.
        receiver: usize,
        /// Index of the column.
        column: usize,
        /// The row, counted at this receiver.
        row: usize,
        /// The bytes that are there.
        found: Vec<u8>,
        /// The bytes that were sent.
        expected: Vec<u8>,
    },
}

/// Counts of what was compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Verified {
    /// Number of values, of all columns.
    pub values: u64,
    /// Number of strings among the values.
    pub strings: u64,
    /// The bytes of these strings.
    pub string_bytes: u64,
}

impl AddAssign for Verified {
    fn add_assign(&mut self, other: Self) {
        self.values += other.values;
        self.strings += other.strings;
        self.string_bytes += other.string_bytes;
    }
}

/// Checks that a receiver's arrays have the values of these rows of the batch, in this order, and no others.
pub fn arrived(
    receiver: usize,
    batch: &Batch,
    rows: &[usize],
    arrays: &[Array],
) -> Result<Verified, ColumnsError> {
    let mut verified = Verified::default();
    for (column, (values, array)) in batch.columns().iter().zip(arrays).enumerate() {
        let (_, kind) = COLUMNS[column];
        let found = match array {
            Array::Numbers(bytes) => bytes.len() / kind.width(),
            Array::Texts { views, .. } => views.len(),
        };
        let expected = rows.len();
        if found != expected {
            return Err(ColumnsError::Rows { receiver, found, expected });
        }
        let mut end = 0;
        for (row, &of) in rows.iter().enumerate() {
            let same = |found: &[u8], expected: &[u8]| match found == expected {
                true => Ok(()),
                false => {
                    let (found, expected) = (found.to_vec(), expected.to_vec());
                    Err(ColumnsError::Value { receiver, column, row, found, expected })
                }
            };
            match (values, array) {
                (Values::Numbers(sent), Array::Numbers(found)) => {
                    let at = |row: usize| row * kind.width()..(row + 1) * kind.width();
                    same(&found[at(row)], &sent[at(of)])?;
                }
                (Values::Texts(sent), Array::Texts { views, buffer }) => {
                    let text = sent[of].as_bytes();
                    same(&views[row], &table::view(text, end + LENGTH))?;
                    if !buffer.is_empty() {
                        let sent = [&(text.len() as u32).to_le_bytes(), text].concat();
                        same(&buffer[end..end + sent.len()], &sent)?;
                        end += sent.len();
                    }
                    verified.strings += 1;
                    verified.string_bytes += text.len() as u64;
                }
                _ => unreachable!("{} has two types", COLUMNS[column].0),
            }
            verified.values += 1;
        }
    }
    Ok(verified)
}
