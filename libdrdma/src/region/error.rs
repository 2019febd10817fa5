//! Why a region cannot be, and what of it.

use std::fmt;

use drdma_abi::work_request::{KeyType, MAX_ELEMENTS};

/// Why a region cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegionError {
    /// The region would cover a byte that its memory region does not have.
    #[error("{region}: byte {byte} is outside the memory region of {len} B ({part})")]
    OutOfBounds {
        /// The type of region.
        region: &'static str,
        /// The first byte outside, counted in the memory region.
        byte: u128,
        /// Bytes of the memory region.
        len: u64,
        /// Which part of the region covers it.
        part: Part,
    },
    /// A length, width or period of 0.
    #[error("{region}: {what} is 0")]
    Zero {
        /// The type of region.
        region: &'static str,
        /// What is 0.
        what: Part,
    },
    /// No element, or more than a region can have.
    #[error("{region}: {given} {what}, 1 to {MAX_ELEMENTS} are possible")]
    Elements {
        /// The type of region.
        region: &'static str,
        /// Extents or columns.
        what: &'static str,
        /// How many were given.
        given: usize,
    },
    /// A value that does not fit the 32 bits that work requests have for it.
    #[error("{region}: {what} is {value}, more than {}", u32::MAX)]
    TooLarge {
        /// The type of region.
        region: &'static str,
        /// What is too large.
        what: Part,
        /// Its value.
        value: u64,
    },
    /// A width of more than 24 bits, in a region whose columns have kinds.
    #[error("{region}: {what} is {value}, at most {limit} is possible")]
    TooWide {
        /// The type of region.
        region: &'static str,
        /// What is too wide.
        what: Part,
        /// Its value.
        value: u64,
        /// The limit.
        limit: u32,
    },
    /// Offsets that have neither 4 nor 8 B, or indices of other than 1, 2, 4 or 8 B.
    #[error("{region}: {what} is {value}, which no offset or index has")]
    EntryWidth {
        /// The type of region.
        region: &'static str,
        /// Whose width it is.
        what: Part,
        /// Its value.
        value: u64,
    },
    /// A bit of a byte that has eight.
    #[error("{region}: {what} is {value}, a byte has bits 0 to 7")]
    Bit {
        /// The type of region.
        region: &'static str,
        /// Whose first bit it is.
        what: Part,
        /// The bit.
        value: u8,
    },
    /// Bits that lie in records: only columns can be bits.
    #[error("{region}: {what} is of bits, which only columns can be")]
    BitExtent {
        /// The type of region.
        region: &'static str,
        /// The extent.
        what: Part,
    },
    /// A number that is too small or too large.
    #[error("{region}: {what} is {value}, {least} to {most} are possible")]
    Range {
        /// The type of region.
        region: &'static str,
        /// What it is.
        what: Part,
        /// The number.
        value: u64,
        /// The least one that is possible.
        least: u64,
        /// The greatest one.
        most: u64,
    },
    /// A key of values that have no partitions: of a width or a kind that its type does not have, or of a type that the
    /// function does not take.
    #[error("{region}: key {index}, of type {key_type:?}, cannot be {values} for {function}")]
    KeyType {
        /// The type of region.
        region: &'static str,
        /// The key.
        index: usize,
        /// Its type.
        key_type: KeyType,
        /// What its values were said to be.
        values: String,
        /// The function.
        function: &'static str,
    },
    /// Fetch rows where columns have kinds, or the bitmap begins within a byte.
    #[error(
        "{region}: fetch rows are possible with columns of fixed width and a whole bitmap alone"
    )]
    FetchRows {
        /// The type of region.
        region: &'static str,
    },
    /// Columns that have kinds, or partitions that are made from keys, whose bytes only memory determines.
    #[error("{region}: its bytes have no places that could be told ahead")]
    NoPlaces {
        /// The type of region.
        region: &'static str,
    },
    /// Memory that must be looked at, but was not given.
    #[error("{region}: the memory of the {what} at {addr:#x} was not given")]
    NotGiven {
        /// The type of region.
        region: &'static str,
        /// What lies there.
        what: Part,
        /// Its address.
        addr: u64,
    },
    /// Pointers into memory whose key opens more than its own bytes.
    #[error(
        "{region}: the key of the {what} opens a whole arena; `MemoryRegion::alias` makes one for \
         the {what} alone"
    )]
    SharedKey {
        /// The type of region.
        region: &'static str,
        /// Whose key it is.
        what: Part,
    },
    /// Memory regions of different protection domains in one region.
    #[error("{region}: {what} is in another protection domain")]
    ProtectionDomain {
        /// The type of region.
        region: &'static str,
        /// What is elsewhere.
        what: Part,
    },
}

/// A part of a region, as errors name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Part {
    /// The number of bytes of a contiguous region.
    Length,
    /// The bytes of a contiguous region.
    Bytes {
        /// The first, counted in the memory region.
        offset: u64,
        /// Their number.
        len: u64,
    },
    /// The distance of periods.
    Period,
    /// Period `index` (counted from 0) of `count`.
    PeriodOf {
        /// The first period that is outside.
        index: u64,
        /// Periods of the region.
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
    /// The data that the offsets of a column or extent lead to, by its index.
    Data(usize),
    /// The dictionary of a column or extent.
    Dictionary(usize),
    /// The width of a dictionary's values.
    DictionaryWidth(usize),
    /// The number of a dictionary's values.
    DictionaryCount(usize),
    /// The table of buffers of a column or extent.
    ViewTable(usize),
    /// A buffer of a table.
    ViewBuffer(usize),
    /// The number of buffers of a table.
    ViewBuffers,
    /// The place of row 0's bit in the first byte of a column of bits.
    ColumnBit(usize),
    /// The pointer of a record to the next one.
    Next,
    /// The number of records of a chain.
    ChainLimit,
    /// A key that partitions are made from, by its index.
    Key(usize),
    /// The validity of a key.
    Validity(usize),
    /// The place of row 0's bit in the first byte of a key's validity.
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
