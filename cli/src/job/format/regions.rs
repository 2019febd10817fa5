//! Regions as they are written.

use drdma_abi::work_request::{MAX_CHAIN, MAX_ELEMENTS, MAX_PARTITIONS, MAX_SPLITTERS};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Column, Extent};

/// A place in a buffer.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Place {
    /// A comment, which the reader ignores.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The buffer's name.
    pub buffer: String,
    /// Offset in bytes from its start.
    pub offset: u64,
}

/// An address that a buffer holds.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pointer {
    /// A comment, which the reader ignores.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Offset of the address in the buffer in bytes. An address has 8 B.
    pub offset: u64,
    /// The place to which the address points: a buffer's name and an offset.
    pub to: (String, u64),
}

/// An array of partition ids.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ids {
    /// A comment, which the reader ignores.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The buffer's name.
    pub buffer: String,
    /// Offset of the id of row 0 in bytes.
    pub offset: u64,
    /// Size of an id: 1 or 2 B, little-endian.
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

/// Type of the values of a key.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum KeyType {
    /// Signed integers of 1, 2, 4 or 8 B (for a range also 16 B), dates and timestamps.
    Integer,
    /// Unsigned integers of 1, 2, 4, 8 or 16 B; only for a range.
    #[expect(dead_code, reason = "no example has it")]
    Unsigned,
    /// Floating-point numbers of 4 or 8 B.
    #[expect(dead_code, reason = "no example has it")]
    Float,
    /// Bits, or bytes that are 0 or not; only for murmur3.
    #[expect(dead_code, reason = "no example has it")]
    Boolean,
    /// Bytes, or text; only for murmur3.
    #[expect(dead_code, reason = "no example has it")]
    Bytes,
    /// Decimals of at most 18 digits, in integers of 16 B; only for murmur3.
    #[expect(dead_code, reason = "no example has it")]
    Decimal,
}

/// A key.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Key {
    /// A comment, which the reader ignores.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Type of the values.
    pub key_type: KeyType,
    /// Place of the values.
    pub column: Column,
    /// A bit for each row, 0 where the key is null. Without it, no key is null.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validity: Option<Bitmap>,
}

/// The values that separate the partitions of a range.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Splitters {
    /// A comment, which the reader ignores.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The buffer's name.
    pub buffer: String,
    /// Offset of the first splitter in bytes. Splitters have the type and the width of the key.
    pub offset: u64,
    /// Number of splitters. There is one partition more.
    #[schemars(range(max = MAX_SPLITTERS))]
    pub count: u32,
}

/// Partitions that the card makes from keys.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PartitionBy {
    /// A comment, which the reader ignores.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The function.
    pub function: Function,
    /// Number of partitions of murmur3. A range does not have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = MAX_PARTITIONS))]
    pub partitions: Option<u32>,
    /// Seed of murmur3 (default: 42, as in Spark). A range does not have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u32>,
    /// Splitters of a range. murmur3 has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub splitters: Option<Splitters>,
    /// Number of neighbouring partitions that have the same id (default: 1).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65535))]
    pub group: Option<u32>,
    /// The keys. A range has one.
    #[schemars(length(min = 1, max = MAX_ELEMENTS))]
    pub keys: Vec<Key>,
}

/// Rows of some columns, each for the destination that names its id. Exactly one of ids and partition_by is present.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Partitioned {
    /// A comment, which the reader ignores.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The id of every row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ids: Option<Ids>,
    /// How the card makes the id of every row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partition_by: Option<PartitionBy>,
    /// Number of rows.
    pub rows: u32,
    /// The values of a row, in the order sent.
    #[schemars(length(min = 1, max = MAX_ELEMENTS))]
    pub columns: Vec<Column>,
}

/// The place of row 0's bit in a bitmap.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bitmap {
    /// A comment, which the reader ignores.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The buffer's name.
    pub buffer: String,
    /// Offset in bytes from its start.
    pub offset: u64,
    /// Number of the bit in that byte; 0, the default, is the least significant bit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 7))]
    pub bit: Option<u8>,
}

/// Memory to send, row by row.
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
    /// A comment, which the reader ignores.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The buffer's name.
    pub buffer: String,
    /// Offset in bytes from the buffer's start.
    pub offset: u64,
    /// Bytes.
    #[schemars(range(min = 1))]
    pub len: u32,
}

/// A pattern that repeats every period; each period is a row.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Strided {
    /// A comment, which the reader ignores.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The buffer's name.
    pub buffer: String,
    /// Offset of the first period in bytes.
    pub offset: u64,
    /// Bytes from one period to the next.
    #[schemars(range(min = 1))]
    pub period: u64,
    /// Number of periods.
    pub count: u32,
    /// The bytes of a period, in the order sent.
    #[schemars(length(min = 1, max = MAX_ELEMENTS))]
    pub pattern: Vec<Extent>,
}

/// The rows whose bit is set, of some columns. Bit i is bit i mod 8 of byte i / 8.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bitmapped {
    /// A comment, which the reader ignores.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The bitmap.
    pub bitmap: Bitmap,
    /// Number of bits.
    pub rows: u32,
    /// The values of a row, in the order sent.
    #[schemars(length(min = 1, max = MAX_ELEMENTS))]
    pub columns: Vec<Column>,
    /// A bitmap of rows that the card reads although it does not send them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fetch_rows: Option<Place>,
}

/// A pattern at every pointer; each record is a row.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PointerMapped {
    /// A comment, which the reader ignores.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Records: pairs of a buffer's name and an offset.
    pub pointers: Vec<(String, u64)>,
    /// The bytes of a record, in the order sent.
    #[schemars(length(min = 1, max = MAX_ELEMENTS))]
    pub pattern: Vec<Extent>,
    /// How each record leads to the next one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chase: Option<Chase>,
}

/// Each record has a pointer to the next record, which is a row as well.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Chase {
    /// A comment, which the reader ignores.
    #[serde(rename = "$comment", skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Bytes from the start of a record to its pointer, of 8 B.
    pub next: u32,
    /// The pointer that ends a chain (default: 0).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<u64>,
    /// Largest number of records of a chain.
    #[schemars(range(min = 1, max = MAX_CHAIN))]
    pub limit: u32,
}
