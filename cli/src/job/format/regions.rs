//! Regions as they are written.

use drdma_abi::work_request::{MAX_CHAIN, MAX_ELEMENTS, MAX_PARTITIONS, MAX_SPLITTERS};
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

/// An address that a buffer holds.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pointer {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Where it is: bytes from the buffer's start; it has 8 B.
    pub offset: u64,
    /// What it is the address of: a buffer's name and an offset.
    pub to: (String, u64),
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

/// How partitions are made.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Function {
    /// Spark's Murmur3 of all keys, modulo the number of partitions.
    Murmur3,
    /// The number of splitters that are less than the only key.
    #[expect(dead_code, reason = "no example has it")]
    Range,
}

/// What the values of a key are.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum KeyType {
    /// Signed integers of 1, 2, 4 or 8 B, of a range also of 16 B; dates and timestamps.
    Integer,
    /// Unsigned integers of 1, 2, 4, 8 or 16 B, of a range alone.
    #[expect(dead_code, reason = "no example has it")]
    Unsigned,
    /// Floating-point numbers of 4 or 8 B.
    #[expect(dead_code, reason = "no example has it")]
    Float,
    /// Bits, or bytes that are 0 or not, of murmur3 alone.
    #[expect(dead_code, reason = "no example has it")]
    Boolean,
    /// Bytes, or text, of murmur3 alone.
    #[expect(dead_code, reason = "no example has it")]
    Bytes,
    /// Decimals of at most 18 digits, in integers of 16 B, of murmur3 alone.
    #[expect(dead_code, reason = "no example has it")]
    Decimal,
}

/// A key.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Key {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// What its values are.
    pub key_type: KeyType,
    /// Its values.
    pub column: Column,
    /// A bit of each row, 0 where it is null; without it, no row is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validity: Option<Bitmap>,
}

/// The values that separate the partitions of a range.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Splitters {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The buffer's name.
    pub buffer: String,
    /// Where the first one is; they have the type and the width of the key.
    pub offset: u64,
    /// How many they are; there is one partition more.
    #[schemars(range(max = MAX_SPLITTERS))]
    pub count: u32,
}

/// Partitions that the card makes from keys.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PartitionBy {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The function.
    pub function: Function,
    /// Partitions of murmur3; no range has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = MAX_PARTITIONS))]
    pub partitions: Option<u32>,
    /// The seed of murmur3: 42, which is Spark's, unless told; no range has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u32>,
    /// The splitters of a range; murmur3 has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub splitters: Option<Splitters>,
    /// Neighbouring partitions that have one id: 1 unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65535))]
    pub group: Option<u32>,
    /// The keys; a range has one.
    #[schemars(length(min = 1, max = MAX_ELEMENTS))]
    pub keys: Vec<Key>,
}

/// Rows of some columns, each for the destination that names its id. It has ids or partition_by.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Partitioned {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The id of every row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ids: Option<Ids>,
    /// How the card makes the id of every row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partition_by: Option<PartitionBy>,
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
    /// How records lead to further ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chase: Option<Chase>,
}

/// Each record has a pointer to the next one, which is a row as well.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Chase {
    /// Means nothing.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Bytes from the start of a record to its pointer, of 8 B.
    pub next: u32,
    /// The pointer that ends a chain: 0 unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<u64>,
    /// Records of a chain, at most.
    #[schemars(range(min = 1, max = MAX_CHAIN))]
    pub limit: u32,
}
