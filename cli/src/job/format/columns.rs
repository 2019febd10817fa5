//! Columns and extents as they are written, of every kind: how the entries of each row lead to its bytes.

use drdma_abi::work_request::MAX_VIEW_BUFFERS;
use schemars::JsonSchema;
use serde::Serialize;

use super::Place;

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
    Varlen(VarlenColumn),
    /// Values of variable length, by views.
    Views(ViewColumn),
    /// Values of a dictionary, by their indices.
    Dictionary(DictionaryColumn),
    /// Bits.
    Bits(BitColumn),
}

/// Row i's value is what lies in the data between the offsets i and i + 1.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct VarlenColumn {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The buffer of the offsets.
    pub buffer: String,
    /// Where row 0's first offset is.
    pub offset: u64,
    /// Bytes of an offset.
    #[schemars(extend("enum" = [4, 8]))]
    pub width: u32,
    /// Byte 0 of the data.
    pub data: Place,
}

/// Row i's value is where view i of 16 B says: up to 12 B in the view, others in a buffer.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ViewColumn {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The buffer of the views.
    pub buffer: String,
    /// Where row 0's view is.
    pub offset: u64,
    /// What views point into, by index.
    #[schemars(length(max = MAX_VIEW_BUFFERS))]
    pub buffers: Vec<ViewBuffer>,
}

/// Row i's value is that of index i in a dictionary.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DictionaryColumn {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The buffer of the indices.
    pub buffer: String,
    /// Where row 0's index is.
    pub offset: u64,
    /// Bytes of an index, little-endian.
    #[schemars(extend("enum" = [1, 2, 4, 8]))]
    pub width: u32,
    /// The values.
    pub values: DictionaryValues,
    /// How many they are.
    pub count: u32,
}

/// Row i's value is bit i, counted from row 0's.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BitColumn {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The buffer's name.
    pub buffer: String,
    /// The byte that row 0's bit is in.
    pub offset: u64,
    /// Its place in that byte, 0 is the least significant bit: 0 unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 7))]
    pub bit: Option<u8>,
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
    Varlen(VarlenExtent),
    /// Bytes of variable length, by a view of 16 B.
    Views(ViewExtent),
    /// A value of a dictionary, by its index.
    Dictionary(DictionaryExtent),
}

/// What lies in the data between two offsets, one behind the other.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct VarlenExtent {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Bytes from the start of the period or record to the first offset.
    pub offset: u64,
    /// Bytes of an offset.
    #[schemars(extend("enum" = [4, 8]))]
    pub width: u32,
    /// Byte 0 of the data.
    pub data: Place,
}

/// What a view of 16 B says.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ViewExtent {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Bytes from the start of the period or record to the view.
    pub offset: u64,
    /// What views point into, by index.
    #[schemars(length(max = MAX_VIEW_BUFFERS))]
    pub buffers: Vec<ViewBuffer>,
}

/// The value of an index in a dictionary.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DictionaryExtent {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Bytes from the start of the period or record to the index.
    pub offset: u64,
    /// Bytes of an index, little-endian.
    #[schemars(extend("enum" = [1, 2, 4, 8]))]
    pub width: u32,
    /// The values.
    pub values: DictionaryValues,
    /// How many they are.
    pub count: u32,
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
