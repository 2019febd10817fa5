//! Regions as they are written.

use drdma_abi::work_request::MAX_ELEMENTS;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Column, Extent};

/// A place in a buffer.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Place {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The buffer's name.
    pub buffer: String,
    /// Bytes from its start.
    pub offset: u64,
}

/// An array of partition ids.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ids {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The buffer's name.
    pub buffer: String,
    /// Where the id of row 0 is.
    pub offset: u64,
    /// Bytes of an id: 1 or 2, little-endian.
    #[schemars(range(min = 1, max = 2))]
    pub width: u32,
}

/// Rows of some columns, each for the destination that names its id.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Partitioned {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The id of every row.
    pub ids: Ids,
    /// Rows.
    pub rows: u32,
    /// The values of a row, in the order sent.
    #[schemars(length(min = 1, max = MAX_ELEMENTS))]
    pub columns: Vec<Column>,
}

/// The place of row 0's bit in a bitmap.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bitmap {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The buffer's name.
    pub buffer: String,
    /// Bytes from its start.
    pub offset: u64,
    /// Its place in that byte, 0 is the least significant bit: 0 unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 7))]
    pub bit: Option<u8>,
}

/// What is sent, row by row.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Region {
    /// One run of bytes.
    Contiguous(Contiguous),
    /// A pattern, repeated.
    Strided(Strided),
    /// The rows that a bitmap selects.
    Bitmapped(Bitmapped),
    /// A pattern at every pointer.
    PointerMapped(PointerMapped),
}

/// One run of bytes, which is one row.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Contiguous {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The buffer's name.
    pub buffer: String,
    /// Where it starts.
    pub offset: u64,
    /// Bytes.
    #[schemars(range(min = 1))]
    pub len: u32,
}

/// A pattern that repeats every period; each period is a row.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Strided {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The buffer's name.
    pub buffer: String,
    /// Where the first period starts.
    pub offset: u64,
    /// Bytes from one period to the next.
    #[schemars(range(min = 1))]
    pub period: u64,
    /// Periods.
    pub count: u32,
    /// The bytes of a period, in the order sent.
    #[schemars(length(min = 1, max = MAX_ELEMENTS))]
    pub pattern: Vec<Extent>,
}

/// The rows whose bit is set, of some columns. Bit i is bit i mod 8 of byte i / 8.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bitmapped {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The bitmap.
    pub bitmap: Bitmap,
    /// Its bits.
    pub rows: u32,
    /// The values of a row, in the order sent.
    #[schemars(length(min = 1, max = MAX_ELEMENTS))]
    pub columns: Vec<Column>,
    /// A bitmap of rows that are read though they are not sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fetch_rows: Option<Place>,
}

/// A pattern at every pointer; each record is a row.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PointerMapped {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Records: pairs of a buffer's name and an offset.
    pub pointers: Vec<(String, u64)>,
    /// The bytes of a record, in the order sent.
    #[schemars(length(min = 1, max = MAX_ELEMENTS))]
    pub pattern: Vec<Extent>,
}
