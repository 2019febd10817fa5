//! Columns and extents as they are written, of every kind: how the entries of each row lead to its bytes.

use drdma_abi::work_request::MAX_VIEW_BUFFERS;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Bitmap, Place};

/// A part of a buffer into which views point.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ViewBuffer {
    /// A comment, which the reader ignores.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The buffer's name.
    pub buffer: String,
    /// Offset in bytes from the buffer's start.
    pub offset: u64,
    /// Bytes.
    pub len: u32,
}

/// The values of a dictionary.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DictionaryValues {
    /// A comment, which the reader ignores.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The buffer's name.
    pub buffer: String,
    /// Offset of value 0 in bytes.
    pub offset: u64,
    /// Size of a value in bytes.
    #[schemars(range(min = 1))]
    pub width: u32,
}

/// Place of the entries of a column.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct ColumnEntries {
    /// The buffer of the offsets, views or indices.
    pub buffer: String,
    /// Offset of row 0's first offset, view or index in bytes.
    pub offset: u64,
}

/// Place of the entry of an extent.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct ExtentEntry {
    /// Bytes from the start of the period or record to the first offset, the view or the index.
    pub offset: u64,
}

/// Values between offsets. Those of a column share them: row i's value is what lies in the data between the offsets i
/// and i + 1. An extent has two, one behind the other.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Varlen<Entries> {
    /// A comment, which the reader ignores.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Place of the entries.
    #[serde(flatten)]
    pub entries: Entries,
    /// Size of an offset in bytes.
    #[schemars(extend("enum" = [4, 8]))]
    pub width: u32,
    /// Place of byte 0 of the data.
    pub data: Place,
}

/// Values that views of 16 B describe: up to 12 B stand in the view, longer ones in a buffer.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Views<Entries> {
    /// A comment, which the reader ignores.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Place of the entries.
    #[serde(flatten)]
    pub entries: Entries,
    /// The parts of buffers into which views point, by index.
    #[schemars(length(max = MAX_VIEW_BUFFERS))]
    pub buffers: Vec<ViewBuffer>,
}

/// Values of a dictionary, by their indices.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Dictionary<Entries> {
    /// A comment, which the reader ignores.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Place of the entries.
    #[serde(flatten)]
    pub entries: Entries,
    /// Size of an index in bytes. Indices are little-endian.
    #[schemars(extend("enum" = [1, 2, 4, 8]))]
    pub width: u32,
    /// The values.
    pub values: DictionaryValues,
    /// Number of values.
    pub count: u32,
}

/// A column.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Column {
    /// A column of another kind than fixed width.
    Kind(KindColumn),
    /// A column of fixed width.
    Fixed(FixedColumn),
}

/// A column of another kind than fixed width.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum KindColumn {
    /// Values of variable length, by offsets.
    Varlen(Varlen<ColumnEntries>),
    /// Values of variable length, by views.
    Views(Views<ColumnEntries>),
    /// Values of a dictionary, by their indices.
    Dictionary(Dictionary<ColumnEntries>),
    /// Bits: row i's value is bit i, counted from row 0's.
    Bits(Bitmap),
}

/// The kind of plain columns and extents.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FixedKind {
    /// A column of fixed width.
    #[expect(dead_code, reason = "no example has it")]
    Fixed,
}

/// Row i's value is `width` bytes at `offset + i * width`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FixedColumn {
    /// A comment, which the reader ignores.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The kind, which may be left out.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<FixedKind>,
    /// The buffer's name.
    pub buffer: String,
    /// Offset of row 0's value in bytes.
    pub offset: u64,
    /// Size of a value in bytes.
    #[schemars(range(min = 1))]
    pub width: u32,
}

/// A part of a period or record.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Extent {
    /// An extent that leads to its bytes.
    #[expect(dead_code, reason = "no example has it")]
    Kind(KindExtent),
    /// A run of bytes.
    Fixed(FixedExtent),
}

/// An extent that leads to its bytes.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(dead_code, reason = "no example has them")]
pub(crate) enum KindExtent {
    /// Bytes of variable length, by two offsets.
    Varlen(Varlen<ExtentEntry>),
    /// Bytes of variable length, by a view of 16 B.
    Views(Views<ExtentEntry>),
    /// A value of a dictionary, by its index.
    Dictionary(Dictionary<ExtentEntry>),
}

/// A run of bytes in a pattern.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FixedExtent {
    /// A comment, which the reader ignores.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The kind, which may be left out.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<FixedKind>,
    /// Bytes from the start of the period or record.
    pub offset: u64,
    /// Bytes.
    #[schemars(range(min = 1))]
    pub len: u32,
}
