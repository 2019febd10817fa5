//! Columns and extents as they are written, of every kind: how the entries of each row lead to its bytes.

use drdma_abi::work_request::MAX_VIEW_BUFFERS;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Bitmap, Place};

/// A part of a buffer that views point into.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ViewBuffer {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The buffer's name.
    pub buffer: String,
    /// Where it starts.
    pub offset: u64,
    /// Bytes.
    pub len: u32,
}

/// The values of a dictionary.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DictionaryValues {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The buffer's name.
    pub buffer: String,
    /// Where value 0 is.
    pub offset: u64,
    /// Bytes of a value.
    #[schemars(range(min = 1))]
    pub width: u32,
}

/// Where the entries of a column lie.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct ColumnEntries {
    /// The buffer of the offsets, views or indices.
    pub buffer: String,
    /// Where row 0's first offset, view or index is.
    pub offset: u64,
}

/// Where the entry of an extent lies.
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
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Where they are.
    #[serde(flatten)]
    pub entries: Entries,
    /// Bytes of an offset.
    #[schemars(extend("enum" = [4, 8]))]
    pub width: u32,
    /// Byte 0 of the data.
    pub data: Place,
}

/// Values that views of 16 B say: up to 12 B in the view, others in a buffer.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Views<Entries> {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Where they are.
    #[serde(flatten)]
    pub entries: Entries,
    /// What views point into, by index.
    #[schemars(length(max = MAX_VIEW_BUFFERS))]
    pub buffers: Vec<ViewBuffer>,
}

/// Values of a dictionary, by their indices.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Dictionary<Entries> {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Where they are.
    #[serde(flatten)]
    pub entries: Entries,
    /// Bytes of an index, little-endian.
    #[schemars(extend("enum" = [1, 2, 4, 8]))]
    pub width: u32,
    /// The values.
    pub values: DictionaryValues,
    /// How many they are.
    pub count: u32,
}

/// A column.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Column {
    /// Of another kind than fixed width.
    Kind(KindColumn),
    /// Of fixed width.
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
    /// Of fixed width.
    #[expect(dead_code, reason = "no example has it")]
    Fixed,
}

/// Row i's value is `width` bytes at `offset + i * width`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FixedColumn {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The kind, which may be left out.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<FixedKind>,
    /// The buffer's name.
    pub buffer: String,
    /// Where row 0's value is.
    pub offset: u64,
    /// Bytes of a value.
    #[schemars(range(min = 1))]
    pub width: u32,
}

/// A part of a period or record.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Extent {
    /// Of another kind than a fixed number of bytes.
    #[expect(dead_code, reason = "no example has it")]
    Kind(KindExtent),
    /// So many bytes.
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
    /// Means nothing.
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
