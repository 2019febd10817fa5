//! Errors of making a region, and the parts of a region that they name.

use std::fmt;

use drdma_abi::work_request::{KeyType, MAX_ELEMENTS};

/// Error of making a region.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegionError {
    /// The region would cover a byte that its memory region does not have.
    #[error("{region}: byte {byte} is outside the memory region of {len} B ({part})")]
    OutOfBounds {
        /// The type of region.
        region: &'static str,
        /// Offset in the memory region of the first byte outside.
        byte: u128,
        /// Length of the memory region in bytes.
        len: u64,
        /// Part of the region that covers the byte.
        part: Part,
    },
    /// A length, width or period is 0.
    #[error("{region}: {what} is 0")]
    Zero {
        /// The type of region.
        region: &'static str,
        /// Part of the region that is 0.
        what: Part,
    },
    /// The region has no element, or more than possible.
    #[error("{region}: {given} {what}, 1 to {MAX_ELEMENTS} are possible")]
    Elements {
        /// The type of region.
        region: &'static str,
        /// Kind of element: extents or columns.
        what: &'static str,
        /// Number of elements that were given.
        given: usize,
    },
    /// A value does not fit the 32 bits that work requests have for it.
    #[error("{region}: {what} is {value}, more than {}", u32::MAX)]
    TooLarge {
        /// The type of region.
        region: &'static str,
        /// Part of the region that is too large.
        what: Part,
        /// Value that was given.
        value: u64,
    },
    /// A width has more than 24 bits, in a region whose columns have kinds.
    #[error("{region}: {what} is {value}, at most {limit} is possible")]
    TooWide {
        /// The type of region.
        region: &'static str,
        /// Part of the region that is too wide.
        what: Part,
        /// Width that was given.
        value: u64,
        /// Largest width that is possible.
        limit: u32,
    },
    /// Offsets have neither 4 nor 8 B, or indices other than 1, 2, 4 or 8 B.
    #[error("{region}: {what} is {value}, which no offset or index has")]
    EntryWidth {
        /// The type of region.
        region: &'static str,
        /// Part of the region whose entries have that width.
        what: Part,
        /// Width that was given, in bytes.
        value: u64,
    },
    /// A bit's place in its byte is above 7.
    #[error("{region}: {what} is {value}, a byte has bits 0 to 7")]
    Bit {
        /// The type of region.
        region: &'static str,
        /// Part of the region whose first bit was given.
        what: Part,
        /// Place that was given.
        value: u8,
    },
    /// An extent is of bits: only columns can be.
    #[error("{region}: {what} is of bits, which only columns can be")]
    BitExtent {
        /// The type of region.
        region: &'static str,
        /// The extent.
        what: Part,
    },
    /// A number is too small or too large.
    #[error("{region}: {what} is {value}, {least} to {most} are possible")]
    Range {
        /// The type of region.
        region: &'static str,
        /// Part of the region that the number is of.
        what: Part,
        /// Number that was given.
        value: u64,
        /// Least number that is possible.
        least: u64,
        /// Greatest number that is possible.
        most: u64,
    },
    /// A key has no partitions: its values have a width or a kind that its type does not have, or a
    /// type that the function does not take.
    #[error("{region}: key {index}, of type {key_type:?}, cannot be {values} for {function}")]
    KeyType {
        /// The type of region.
        region: &'static str,
        /// Index of the key.
        index: usize,
        /// Type of the key.
        key_type: KeyType,
        /// Description of the key's values.
        values: String,
        /// Name of the function that makes partitions.
        function: &'static str,
    },
    /// Fetch rows were given where columns have kinds, or the bitmap begins within a byte.
    #[error(
        "{region}: fetch rows are possible with columns of fixed width and a whole bitmap alone"
    )]
    FetchRows {
        /// The type of region.
        region: &'static str,
    },
    /// The region has columns with kinds, or partitions that are made from keys: only memory
    /// determines the places of its bytes.
    #[error("{region}: its bytes have no places that could be told ahead")]
    NoPlaces {
        /// The type of region.
        region: &'static str,
    },
    /// Memory that must be read was not given.
    #[error("{region}: the memory of the {what} at {addr:#x} was not given")]
    NotGiven {
        /// The type of region.
        region: &'static str,
        /// Part of the region that lies there.
        what: Part,
        /// Address of the part.
        addr: u64,
    },
    /// Pointers lead into memory whose key gives access to more than its own bytes.
    #[error(
        "{region}: the key of the {what} opens a whole arena; `MemoryRegion::alias` makes one for \
         the {what} alone"
    )]
    SharedKey {
        /// The type of region.
        region: &'static str,
        /// Part of the region that the key is of.
        what: Part,
    },
    /// Memory regions of the region belong to different protection domains.
    #[error("{region}: {what} is in another protection domain")]
    ProtectionDomain {
        /// The type of region.
        region: &'static str,
        /// Part of the region whose memory belongs to another protection domain.
        what: Part,
    },
}

/// A part of a region, as named in errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Part {
    /// The number of bytes of a contiguous region.
    Length,
    /// The bytes of a contiguous region.
    Bytes {
        /// Offset of the first byte in the memory region.
        offset: u64,
        /// Number of bytes.
        len: u64,
    },
    /// The distance of periods.
    Period,
    /// Period `index` (counted from 0) of `count`.
    PeriodOf {
        /// Index of the first period that is outside.
        index: u64,
        /// Number of periods of the region.
        count: u64,
    },
    /// The number of periods or pointers.
    Count,
    /// The number of rows.
    Rows,
    /// An extent, by its index in the pattern.
    Extent(usize),
    /// An extent's length, by the extent's index in the pattern.
    ExtentLength(usize),
    /// A column, by its index.
    Column(usize),
    /// A column's width, by the column's index.
    ColumnWidth(usize),
    /// The bitmap.
    Bitmap,
    /// The bitmap of the fetch rows.
    FetchRows,
    /// The array of partition ids.
    Ids,
    /// The array of pointers.
    Pointers,
    /// The memory that pointers point to.
    Target,
    /// The place of row 0's bit in a bitmap's first byte.
    FirstBit,
    /// The data that the offsets of a column or extent lead to, by the index of the column or
    /// extent.
    Data(usize),
    /// The dictionary of a column or extent, by its index.
    Dictionary(usize),
    /// The width of a dictionary's values, by the index of its column or extent.
    DictionaryWidth(usize),
    /// The number of a dictionary's values, by the index of its column or extent.
    DictionaryCount(usize),
    /// The table of buffers of a column or extent, by its index.
    ViewTable(usize),
    /// A buffer of a table, by its index.
    ViewBuffer(usize),
    /// The number of buffers of a table.
    ViewBuffers,
    /// The place of row 0's bit in the first byte of a column of bits, by the column's index.
    ColumnBit(usize),
    /// The pointer of a record to the next one.
    Next,
    /// The number of records of a chain.
    ChainLimit,
    /// A key that partitions are made from, by its index.
    Key(usize),
    /// The validity of a key, by the key's index.
    Validity(usize),
    /// The place of row 0's bit in the first byte of a key's validity, by the key's index.
    ValidityBit(usize),
    /// The splitters of a range.
    Splitters,
    /// The number of a range's splitters.
    SplitterCount,
    /// The number of partitions.
    Partitions,
    /// The number of neighbouring partitions that have one id.
    Group,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length => f.write_str("length"),
            Self::Period => f.write_str("period"),
            Self::PeriodOf { index, count } => write!(f, "period {index} of {count}"),
            Self::Count => f.write_str("count"),
            Self::Rows => f.write_str("rows"),
            Self::Bytes { offset, len } => write!(f, "bytes {offset}..+{len}"),
            Self::Extent(index) => write!(f, "extent {index}"),
            Self::ExtentLength(index) => write!(f, "length of extent {index}"),
            Self::Column(index) => write!(f, "column {index}"),
            Self::ColumnWidth(index) => write!(f, "width of column {index}"),
            Self::Bitmap => f.write_str("bitmap"),
            Self::FetchRows => f.write_str("fetch rows"),
            Self::Ids => f.write_str("ids"),
            Self::Pointers => f.write_str("pointers"),
            Self::Target => f.write_str("target"),
            Self::FirstBit => f.write_str("first bit of the bitmap"),
            Self::Data(index) => write!(f, "data of element {index}"),
            Self::Dictionary(index) => write!(f, "dictionary of element {index}"),
            Self::DictionaryWidth(index) => write!(f, "width of the dictionary of element {index}"),
            Self::DictionaryCount(index) => {
                write!(f, "number of values of the dictionary of element {index}")
            }
            Self::ViewTable(index) => write!(f, "table of buffers of element {index}"),
            Self::ViewBuffer(index) => write!(f, "buffer {index}"),
            Self::ViewBuffers => f.write_str("number of buffers"),
            Self::ColumnBit(index) => write!(f, "first bit of column {index}"),
            Self::Next => f.write_str("pointer to the next record"),
            Self::ChainLimit => f.write_str("number of records of a chain"),
            Self::Key(index) => write!(f, "key {index}"),
            Self::Validity(index) => write!(f, "validity of key {index}"),
            Self::ValidityBit(index) => write!(f, "first bit of the validity of key {index}"),
            Self::Splitters => f.write_str("splitters"),
            Self::SplitterCount => f.write_str("number of splitters"),
            Self::Partitions => f.write_str("number of partitions"),
            Self::Group => f.write_str("group"),
        }
    }
}
