//! Work requests as they stand in a send queue's ring (D-RDMA section 3).
//!
//! A work queue entry (WQE) is a run of 16-byte *granules* that starts on a 64-byte *block*:
//!
//! ```text
//! WqeHeader (2) { Destination (2) { region }* }*
//! region, contiguous:      RegionHeader (1)
//! region, all others:      RegionHeader (1) RegionShape (1) Element (1) * elements
//! ```
//!
//! With [`flags::PARTITIONED`] the destinations share one region, the *partitioned* one, which
//! stands in front of them; each names the rows that it gets and has no region of its own:
//!
//! ```text
//! WqeHeader (2) RegionHeader (1) RegionShape (1) Element (1) * elements { Destination (2) }*
//! ```
//!
//! With [`flags::INLINE`] the payload itself stands behind the only destination, which has no region.
//! Head and destination fill a block, and the longest payload another one. A payload of no bytes makes a message of
//! none:
//!
//! ```text
//! WqeHeader (2) Destination (2) payload (0 to 4)
//! ```
//!
//! In a WRITE by columns, the addresses of the columns stand behind the destination's head:
//!
//! ```text
//! Destination (2) RemoteColumn (1) * remote_columns { region }*
//! ```
//!
//! A region with [`shape_flags::COLUMN_KINDS`] has two granules in place of each element:
//!
//! ```text
//! RegionHeader (1) RegionShape (1) { KindElement (1) ElementSource (1) } * elements
//! ```
//!
//! With [`shape_flags::CHASE`] as well, the records of a pointer-mapped region lead to further ones:
//!
//! ```text
//! RegionHeader (1) RegionShape (1) Chain (1) { KindElement (1) ElementSource (1) } * elements
//! ```
//!
//! A partitioned region with [`shape_flags::PARTITION_BY`] has keys that the card makes partitions of, instead of
//! ids; its columns follow them, of either form:
//!
//! ```text
//! RegionHeader (1) RegionShape (1) PartitionFunction (1)
//!     { KindElement (1) ElementSource (1) PartitionKey (1) } * keys  columns
//! ```
//!
//! The rest of the last block is padding. A WQE may wrap around the end of its ring between blocks.

use crate::layout;

/// Size of a granule in bytes.
pub const GRANULE: usize = 16;
/// Size of a block in bytes: the unit of ring positions.
pub const BLOCK: usize = 64;
/// Largest number of regions of one destination.
pub const MAX_REGIONS: usize = 16;
/// Largest number of extents or columns of one region.
pub const MAX_ELEMENTS: usize = 16;
/// Largest number of destinations of one shared send queue request.
pub const MAX_DESTINATIONS: usize = 256;
/// Largest number of regions of one request, all its destinations together. Two such requests fit
/// the card's memory.
pub const MAX_REQUEST_REGIONS: usize = 1024;
/// Largest number of remote columns of a request, all its destinations together, that a card with
/// [`COLUMN_WRITES`](crate::receive::features::COLUMN_WRITES) and without
/// [`COLUMNS`](crate::receive::features::COLUMNS) takes.
pub const MAX_CARD_REMOTE_COLUMNS: usize = 512;
/// Largest length of an inline payload in bytes: a block.
pub const MAX_INLINE: usize = BLOCK;
/// Largest length of one message in bytes (IBTA 1.4 section 9.7.7.1.2: 2^31).
pub const MAX_MESSAGE: u64 = 1 << 31;
/// Limits of the longest DMA read that a request may ask for, as binary logarithms of bytes.
pub const LOG_MAX_READ: core::ops::RangeInclusive<u8> = 6..=12;
/// Widest gap in bytes that a request may have read through.
pub const MAX_MERGE_THRESHOLD: u16 = 4095;
/// First byte of a WQE.
pub const WQE_MAGIC: u8 = 0xd7;
/// Largest number of granules of one WQE.
pub const MAX_WQE_GRANULES: usize =
    2 + MAX_DESTINATIONS * 2 + MAX_REQUEST_REGIONS * (2 + MAX_ELEMENTS);

layout! {
    /// The head of a work queue entry.
    little struct WqeHeader: 32 {
        /// [`WQE_MAGIC`].
        magic: u8 = 8,
        /// An [`Opcode`].
        opcode: u8 = 8,
        /// [`flags`]; the others are 0.
        flags: u8 = 8,
        /// With [`flags::FETCH_PLAN`]: the binary logarithm of the longest DMA read of data in
        /// bytes, 6 to 12. Else 0.
        fetch_log_max_read: u8 = 8,
        /// Destinations that follow: 1 for a queue pair's own queue, 1 to 256 for a shared one.
        destinations: u16 = 16,
        /// With [`flags::FETCH_PLAN`]: gaps of at most so many bytes are read through, 0 to 4095.
        /// Else 0.
        fetch_merge_threshold: u16 = 16,
        /// Granules of the whole entry, this head included, padding not.
        granules: u32 = 32,
        /// The ring position of the entry's first block, counted in blocks since the queue was
        /// made, modulo 2^32. It distinguishes an entry from a stale one of an earlier lap.
        position: u32 = 32,
        /// The application's name for the request; its completion repeats it.
        wr_id: u64 = 64,
        /// Units packed into one message; at least 1.
        rows_per_message: u32 = 32,
        /// Immediate data, for the opcodes that carry it.
        imm: u32 = 32,
    }
}

/// Bits of [`WqeHeader::flags`].
pub mod flags {
    /// The row mask is `Element` instead of `Period`.
    pub const ELEMENT_MASK: u8 = 1 << 0;
    /// One partitioned region stands in front of the destinations, which have none. Only on a
    /// shared send queue.
    pub const PARTITIONED: u8 = 1 << 1;
    /// The request has a fetch plan ([`WqeHeader::fetch_log_max_read`],
    /// [`WqeHeader::fetch_merge_threshold`]), instead of that of the card's registers.
    ///
    /// [`WqeHeader::fetch_log_max_read`]: super::WqeHeader::fetch_log_max_read
    /// [`WqeHeader::fetch_merge_threshold`]: super::WqeHeader::fetch_merge_threshold
    pub const FETCH_PLAN: u8 = 1 << 2;
    /// The request has a completion only if it fails.
    pub const UNSIGNALED: u8 = 1 << 3;
    /// The payload stands behind the destination, instead of regions; it is one message. Only on a
    /// queue pair's own queue, and for SENDs and WRITEs.
    pub const INLINE: u8 = 1 << 4;
    /// All flags that a queue pair's own queue takes.
    pub const OWN: u8 = ELEMENT_MASK | FETCH_PLAN | UNSIGNALED | INLINE;
    /// All flags that a shared queue takes.
    pub const SHARED: u8 = ELEMENT_MASK | FETCH_PLAN | UNSIGNALED | PARTITIONED;
}

layout! {
    /// One destination of a work queue entry.
    little struct Destination: 32 {
        /// Local queue pair number.
        qp: u32 = 32,
        /// Regions that follow, 0 to 16, and at most 1,024 in the whole request; 0 in a partitioned one,
        /// and with [`flags::INLINE`].
        regions: u16 = 16,
        /// The id of the rows that it gets, in a partitioned request; at most 255 where ids have one
        /// byte. 0 in others.
        partition: u16 = 16,
        /// Where the first message of a WRITE goes.
        remote_addr: u64 = 64,
        /// The remote key of a WRITE.
        rkey: u32 = 32,
        /// Two bits a region, the first region's lowest: a [`RegionType`]; unused bits are 0.
        types: u32 = 32,
        /// With [`flags::INLINE`]: bytes of the payload that follows, 0 to [`MAX_INLINE`]; what its last
        /// granule has beyond them is padding. Else 0.
        inline_bytes: u8 = 8,
        /// A [`MessageLayout`]. 0 with [`flags::INLINE`].
        message_layout: u8 = 8,
        /// [`RemoteColumn`]s that stand between this head and its regions, in place of `remote_addr` and
        /// `rkey`: 0 to [`MAX_REMOTE_COLUMNS`]. Only in WRITEs whose messages go by columns.
        remote_columns: u8 = 8,
        /// 0.
        reserved2: u64 = 40,
    }
}

layout! {
    /// The first granule of every region. For a contiguous one it is a whole scatter-gather
    /// element, laid out as verbs have it.
    little struct RegionHeader: 16 {
        /// Contiguous, strided: the base. Bitmapped: the bitmap. Pointer-mapped: the pointer array.
        /// Partitioned: the array of ids; with [`shape_flags::PARTITION_BY`] that of splitters, or 0.
        addr: u64 = 64,
        /// Contiguous: bytes, at least 1. Strided: periods. Bitmapped: rows (bits). Pointer-mapped:
        /// pointers. Partitioned: rows (ids).
        count: u32 = 32,
        /// The local key of the memory at `addr`.
        lkey: u32 = 32,
    }
}

layout! {
    /// The second granule of every region but a contiguous one.
    little struct RegionShape: 16 {
        /// Strided: bytes from one period to the next, at least 1. Partitioned: bytes from one id to
        /// the next, which are the bytes of an id: 1 or 2; 0 with [`shape_flags::PARTITION_BY`]. Bitmapped with
        /// [`shape_flags::FETCH_ROWS`]: the address of the fetch rows' bitmap. Others: 0.
        period: u64 = 64,
        /// Pointer-mapped: the local key of the memory that the pointers point to. Bitmapped with
        /// [`shape_flags::FETCH_ROWS`]: that of the fetch rows' bitmap. Others: 0.
        target_lkey: u32 = 32,
        /// Elements that follow, 1 to 16.
        elements: u16 = 16,
        /// [`shape_flags`]; the others are 0.
        flags: u16 = 16,
    }
}

/// Bits of [`RegionShape::flags`].
pub mod shape_flags {
    /// Bitmapped regions only: there is a second bitmap of as many rows, the *fetch rows*. The card
    /// reads as if these rows were needed as well; it does not send them.
    pub const FETCH_ROWS: u16 = 1 << 0;
    /// A [`KindElement`](super::KindElement) and an [`ElementSource`](super::ElementSource) stand in place of
    /// each element. No contiguous region has it, and none with [`FETCH_ROWS`].
    pub const COLUMN_KINDS: u16 = 1 << 1;
    /// Pointer-mapped regions with [`COLUMN_KINDS`] only: each record has a pointer to a further
    /// one. A [`Chain`](super::Chain) follows the shape.
    pub const CHASE: u16 = 1 << 2;
    /// Partitioned regions only: the card makes the partition of each row. A
    /// [`PartitionFunction`](super::PartitionFunction) follows the shape.
    pub const PARTITION_BY: u16 = 1 << 3;
    /// Bitmapped regions with [`COLUMN_KINDS`] only: three bits, the place of row 0's bit in the bitmap's first
    /// byte, 0 (the least significant) to 7.
    pub const FIRST_BIT: u16 = 7 << FIRST_BIT_SHIFT;
    /// Lowest bit of [`FIRST_BIT`].
    pub const FIRST_BIT_SHIFT: u32 = 4;
}

layout! {
    /// An extent of a strided or pointer-mapped region's pattern, or a column of a bitmapped or
    /// partitioned one.
    little struct Element: 16 {
        /// Extent: bytes from the start of the period or record. Column: the address of its row 0.
        offset: u64 = 64,
        /// Extent: bytes. Column: bytes of one value, which is also the distance to the next row's.
        /// At least 1.
        len: u32 = 32,
        /// Column: the local key of its memory. Extent: 0.
        lkey: u32 = 32,
    }
}

layout! {
    /// A column, or an extent, that says how its bytes are found: its *entry* is what a plain one's value would
    /// be, at an address of the same kind.
    little struct KindElement: 16 {
        /// As [`Element::offset`], of the entry. Bits: the address of the byte that row 0's bit lies in.
        offset: u64 = 64,
        /// Fixed: bytes of a value. Bits: the place of row 0's bit in its byte, 0 to 7. Dictionary: bytes of a
        /// value of the dictionary. Others: 0.
        width: u32 = 24,
        /// An [`ElementKind`].
        kind: u8 = 4,
        /// Offsets: the binary logarithm of the bytes of an offset, 2 or 3. Dictionary: that of the bytes of an
        /// index, 0 to 3. Others: 0.
        log_entry: u8 = 4,
        /// Column: the local key of its memory. Extent: 0.
        lkey: u32 = 32,
    }
}

layout! {
    /// Where the bytes lie that an entry leads to; all 0 where it leads nowhere.
    little struct ElementSource: 16 {
        /// Offsets: byte 0 of the data. Views: the table of buffers, one [`Element`] each (address, bytes,
        /// local key). Dictionary: value 0.
        addr: u64 = 64,
        /// Views: buffers, at most [`MAX_VIEW_BUFFERS`]. Dictionary: values. Offsets: 0.
        count: u32 = 32,
        /// The local key of the memory at `addr`.
        lkey: u32 = 32,
    }
}

layout! {
    /// How the records of a chain lead from one to the next.
    little struct Chain: 16 {
        /// The pointer that ends a chain. It leads to no record.
        end: u64 = 64,
        /// Bytes from the start of a record to its pointer to the next one, of 8 B, little-endian.
        next: u32 = 32,
        /// Records of one chain, at most: 1 to [`MAX_CHAIN`].
        limit: u32 = 32,
    }
}

/// Largest number of records of one chain.
pub const MAX_CHAIN: u32 = 1 << 24;

layout! {
    /// How the partition of a row is made from its keys.
    little struct PartitionFunction: 16 {
        /// A [`PartitionBy`].
        function: u8 = 8,
        /// Keys that follow: 1 to [`MAX_ELEMENTS`] for a hash, 1 for a range.
        keys: u8 = 8,
        /// Neighbouring partitions that have one id, at least 1: that of partition `p` is `p / group`.
        group: u16 = 16,
        /// Partitions: 1 to [`MAX_PARTITIONS`] of a hash, 1 to [`MAX_SPLITTERS`] + 1 of a range.
        partitions: u32 = 32,
        /// Where a hash begins; 0 for a range.
        seed: u32 = 32,
        /// 0.
        reserved: u32 = 32,
    }
}

/// Largest number of partitions that a hash makes.
pub const MAX_PARTITIONS: u32 = 1 << 16;
/// Largest number of splitters, which separate the partitions of a range.
pub const MAX_SPLITTERS: u32 = 255;
/// Seed of Spark's hash partitioning.
pub const SPARK_SEED: u32 = 42;

/// Function by which partitions are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum PartitionBy {
    /// Spark's Murmur3 of all keys, modulo the number of partitions; the result is never negative.
    Murmur3 = 0,
    /// The number of splitters that are less than the key is the partition.
    Range = 1,
}

impl PartitionBy {
    /// Returns the function with that code.
    pub fn from_code(code: u8) -> Option<Self> {
        [Self::Murmur3, Self::Range].get(usize::from(code)).copied()
    }
}

layout! {
    /// What the values of a key are, and which rows have one. Its entries are those of the [`KindElement`] before
    /// it.
    little struct PartitionKey: 16 {
        /// With `has_validity`: the byte that row 0's bit lies in, of a bitmap in which 1 stands for a value and 0
        /// for null. Else 0.
        validity: u64 = 64,
        /// The local key of that memory.
        lkey: u32 = 32,
        /// A [`KeyType`].
        key_type: u8 = 8,
        /// 1 if there is such a bitmap.
        has_validity: u8 = 1,
        /// The place of row 0's bit in its byte, 0 to 7.
        first: u8 = 3,
        /// 0.
        reserved: u32 = 20,
    }
}

/// Type of the values of a key. All numbers are little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum KeyType {
    /// Signed integers of 1, 2, 4, 8 or 16 B; dates and timestamps.
    Integer = 0,
    /// Unsigned integers of 1, 2, 4, 8 or 16 B; only for a range.
    Unsigned = 1,
    /// Floating-point numbers of 4 or 8 B.
    Float = 2,
    /// Bits, or bytes that are 0 or not; only for a hash.
    Boolean = 3,
    /// Bytes, or text; only for a hash.
    Bytes = 4,
    /// Decimals of at most 18 digits, in signed integers of 16 B; only for a hash.
    Decimal = 5,
}

impl KeyType {
    /// All types, in order of their codes.
    pub const ALL: [Self; 6] =
        [Self::Integer, Self::Unsigned, Self::Float, Self::Boolean, Self::Bytes, Self::Decimal];

    /// Returns the type with that code.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }
}

/// Form of the values of a key, as far as a function depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyValues {
    /// Values of this many bytes each.
    Fixed(u64),
    /// Values of a variable number of bytes.
    Variable,
    /// Values of one bit.
    Bits,
}

impl PartitionBy {
    /// True if the function makes partitions of such keys.
    pub fn takes(self, key: KeyType, values: KeyValues) -> bool {
        use KeyValues::{Bits, Fixed, Variable};
        let is_hash = self == Self::Murmur3;
        match key {
            KeyType::Integer => {
                matches!(values, Fixed(1 | 2 | 4 | 8)) || !is_hash && values == Fixed(16)
            }
            KeyType::Unsigned => !is_hash && matches!(values, Fixed(1 | 2 | 4 | 8 | 16)),
            KeyType::Float => matches!(values, Fixed(4 | 8)),
            KeyType::Boolean => is_hash && matches!(values, Bits | Fixed(1)),
            KeyType::Bytes => is_hash && matches!(values, Fixed(_) | Variable),
            KeyType::Decimal => is_hash && values == Fixed(16),
        }
    }
}

/// Largest number of buffers that the views of a column point into.
pub const MAX_VIEW_BUFFERS: u32 = 4096;
/// Size of a view in bytes (Arrow's `Utf8View`, `BinaryView`).
pub const VIEW: usize = 16;
/// Largest length in bytes of a value that stands in its view.
pub const VIEW_INLINE: u32 = 12;

/// Kind of an element, in a region with [`shape_flags::COLUMN_KINDS`]: how its bytes are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ElementKind {
    /// The entry is the value, of a fixed width.
    Fixed = 0,
    /// The entry is a bit. Only for columns.
    Bits = 1,
    /// The entry is two offsets of data, one behind the other (Arrow's `Utf8`, `Binary` and their large forms).
    Offsets = 2,
    /// The entry is a view of 16 B (Arrow's `Utf8View`, `BinaryView`).
    Views = 3,
    /// The entry is the index of a value in a dictionary.
    Dictionary = 4,
}

impl ElementKind {
    /// All kinds, in order of their codes.
    pub const ALL: [Self; 5] =
        [Self::Fixed, Self::Bits, Self::Offsets, Self::Views, Self::Dictionary];

    /// Returns the kind with that code.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }
}

layout! {
    /// Where the values of one column go, of a WRITE by columns.
    little struct RemoteColumn: 16 {
        /// Where the first of them goes.
        addr: u64 = 64,
        /// The remote key of that memory.
        rkey: u32 = 32,
        /// 0.
        reserved: u32 = 32,
    }
}

/// Largest number of remote columns of a destination.
pub const MAX_REMOTE_COLUMNS: usize = 64;

/// Order of the values of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum MessageLayout {
    /// Values go row by row.
    #[default]
    Rows = 0,
    /// Values go column by column: the first value of each row, then the second of each, and so on.
    Columns = 1,
}

impl MessageLayout {
    /// Returns the layout with that code.
    pub fn from_code(code: u8) -> Option<Self> {
        [Self::Rows, Self::Columns].get(usize::from(code)).copied()
    }
}

/// Operation of a work request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Opcode {
    /// SEND: the message lands in the receiver's next receive buffer.
    Send = 0,
    /// SEND with immediate data.
    SendImm = 1,
    /// RDMA WRITE.
    Write = 2,
    /// RDMA WRITE with immediate data.
    WriteImm = 3,
}

impl Opcode {
    /// All opcodes, in order of their codes.
    pub const ALL: [Self; 4] = [Self::Send, Self::SendImm, Self::Write, Self::WriteImm];

    /// Returns the opcode with that code.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }

    /// True for opcodes with immediate data.
    pub fn has_imm(self) -> bool {
        matches!(self, Self::SendImm | Self::WriteImm)
    }

    /// True for opcodes with a remote address.
    pub fn is_write(self) -> bool {
        matches!(self, Self::Write | Self::WriteImm)
    }
}

/// The shape of a destination's region (D-RDMA sections 3.1 and 3.3). The partitioned region of a
/// request has no type code: [`flags::PARTITIONED`] announces it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum RegionType {
    /// One run of bytes: a scatter-gather element.
    Contiguous = 0,
    /// A pattern of extents, repeated every period.
    Strided = 1,
    /// The rows that a bitmap selects, from up to 16 columns.
    Bitmapped = 2,
    /// A pattern of extents at every pointer of an array.
    PointerMapped = 3,
}

impl RegionType {
    /// All types, in order of their codes.
    pub const ALL: [Self; 4] =
        [Self::Contiguous, Self::Strided, Self::Bitmapped, Self::PointerMapped];

    /// Returns the type of region `index` in [`Destination::types`].
    pub fn of(types: u32, index: usize) -> Self {
        Self::ALL[(types >> (2 * index) & 3) as usize]
    }
}

/// Number of blocks that a WQE of `granules` granules takes in its ring.
pub const fn blocks(granules: usize) -> usize {
    granules.div_ceil(BLOCK / GRANULE)
}
