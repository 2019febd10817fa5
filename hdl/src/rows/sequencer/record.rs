//! Records that the stages of the sequencer pass to each other.

use crate::request::{DEST_COUNT, DEST_INDEX};
use crate::rows::expander::Token;
use drdma_emit::prelude::*;

/// [`Item::task`]: walk the rows of a stretch of a region.
pub const WALK: u64 = 0;
/// [`Item::task`]: count the set bits of a bitmap, or check the pointers of an array. With `column` the column path
/// counts the rows of a destination: all bits of its bitmap in one item, ids in stretches of 4,096 rows.
pub const SCAN: u64 = 1;
/// [`Item::task`]: a request ends. `low` holds its status (8 bits), whether the queue pair fails with it (1 bit), and
/// the destination that failed. With `never` only a column of a WRITE by columns ends: later items wait until the
/// column path has used up everything that was read for that column.
pub const END: u64 = 2;
/// [`Item::task`], for the walker: a region of a destination is loaded. `first` is the region's place in the request,
/// `low` the address of its bitmap or pointers, `high` the bytes of a row.
pub const LOAD: u64 = 3;
/// [`Item::task`], for the walker: find out whether a message is longer than `high` bytes. `low` is the number of
/// units.
pub const CHECK: u64 = 4;
/// [`Item::task`], for the walker: emit the units. `low` is the number of units; with `never` the walker also adds up
/// the lengths of messages.
pub const UNITS: u64 = 5;
/// [`Item::task`], for the walker: bounds of the pointers of region `first`, sent before the region's [`LOAD`]. `low`,
/// `high` and `never` are as for [`SCAN`].
pub const BOUNDS: u64 = 6;
/// [`Item::task`]: a chunk of a column request begins; it has `rows` rows, the first of which is `first`.
pub const HEAD: u64 = 7;

/// One piece of work for a row source: a stretch of rows of one region of one destination.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct Item {
    /// What to do: [`WALK`], [`SCAN`], [`END`], [`LOAD`], [`CHECK`], [`UNITS`], [`BOUNDS`] or [`HEAD`].
    pub task: Bits<3>,
    /// Type of the region, a `RegionType` of the ABI.
    pub kind: Bits<2>,
    /// First row of the stretch: a bit, pointer or period of the region.
    pub first: Bits<32>,
    /// Length of the stretch in rows (bits, pointers or periods).
    pub rows: Bits<32>,
    /// The stretch is the last one of the destination's last region.
    pub last: Bit,
    /// The stretch starts a chunk, which is a good place for a new window.
    pub chunk_start: Bit,
    /// Scan of pointers: the lowest pointer that is in bounds. With `fetch`: host address of the fetch rows.
    pub low: Bits<64>,
    /// Scan of pointers: the highest pointer that is in bounds.
    pub high: Bits<64>,
    /// Scan of pointers: every pointer is out of bounds.
    pub never: Bit,
    /// The item belongs to a column request.
    pub column: Bit,
    /// The stretch is the last one of a column request's chunk.
    pub chunk_end: Bit,
    /// Bitmapped region: bytes of an id of a row, 1 or 2; 0 if the rows have bits instead.
    pub ids: Bits<2>,
    /// With `ids`: the id whose rows are selected.
    pub partition: Bits<16>,
    /// The chunk is sparse: it has any number of rows, and the column path cuts it into windows.
    pub sparse: Bit,
    /// Column request: the region has fetch rows, which are read beside the bitmap.
    pub fetch: Bit,
    /// Column request: the bitmap is read in stretches of several chunks, each with the first of its chunks. For a
    /// WRITE by columns the whole bitmap is read with the first item of the first column, or where rows are counted.
    pub kept: Bit,
    /// With `kept`: distance of `first` from the first row of the kept stretch, in units of 16 rows.
    pub phase: Bits<9>,
    /// With `kept`: the kept stretch is read with this item. For a scan of the column path: the destination's first
    /// scan.
    pub loads: Bit,
}

/// Bits of an [`Item`].
pub const ITEM_BITS: usize = 233;

/// Purpose of a read of bitmaps, ids or pointers.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct Purpose {
    /// The answer goes to the column path.
    pub column: Bit,
    /// Bytes of an id, 1 or 2, if ids are read; else 0.
    pub ids: Bits<2>,
    /// With `ids`: the id whose rows are selected.
    pub partition: Bits<16>,
    /// The read is the last one of its stretch.
    pub last: Bit,
    /// The read brings fetch rows.
    pub fetch: Bit,
    /// The read brings a stretch of a bitmap that is kept for several chunks.
    pub kept: Bit,
}

/// Bits of a [`Purpose`].
pub const PURPOSE_BITS: usize = 22;

/// Rows of a block of keys. Keys are read block by block: the values of one key, then those of the next.
pub const KEY_BLOCK: u64 = 256;

/// A read, and the meaning of its bytes where ids are made from them.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct Read {
    /// What the read is for. For keys, `ids` is the size of the ids that are made, and `last` marks the last block of a
    /// stretch.
    pub purpose: Purpose,
    /// Ids are made from the bytes.
    pub made: Bit,
    /// The read is the first one of its request.
    pub begins: Bit,
    /// The bytes are splitters of a range.
    pub splitters: Bit,
    /// The bytes are validity bits: which rows of the block have a value.
    pub validity: Bit,
    /// Validity bits of the same rows were read before these values.
    pub nullable: Bit,
    /// Bits only: position of the first bit in its byte, 0 to 7.
    pub first: Bits<3>,
    /// Binary logarithm of the bytes of a value, or [`KEY_BITS`](crate::request::KEY_BITS).
    pub log_width: Bits<3>,
    /// Type of the key, a [`KeyType`](drdma_abi::work_request::KeyType).
    pub key_type: Bits<3>,
    /// The bytes are values of the request's first key.
    pub opens: Bit,
    /// The bytes are values of the request's last key.
    pub closes: Bit,
    /// Rows of the block, 1 to [`KEY_BLOCK`]; for splitters, how many there are.
    pub rows: Bits<9>,
}

/// Bits of a [`Read`].
pub const READ_BITS: usize = PURPOSE_BITS + 25;

/// What is known of a read of a key beside its meaning, for those who keep its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct Origin {
    /// The bytes are whole values of one of the request's first two keys, for the column path.
    pub kept: Bit,
    /// With `kept`: number of the key.
    pub key: Bits<1>,
    /// Slot of the request.
    pub slot: Bits<8>,
    /// Host address of the read.
    pub addr: Bits<64>,
    /// Bytes of the last beat, modulo 64.
    pub tail: Bits<6>,
}

/// Bits of an [`Origin`].
pub const ORIGIN_BITS: usize = 80;

/// Properties that all rows of an item share.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct Context {
    /// Lane set of the region; for a scan, number of the set under which its result is kept.
    pub set: Bits<11>,
    /// Lanes of the set, 1 to 16.
    pub lanes: Bits<5>,
    /// Bit `j` is set if lane `j` starts a new beat.
    pub starts: Bits<16>,
    /// A row fits a beat: `bytes` is at most 64.
    pub fits: Bit,
    /// Bytes of a row, valid if the row fits a beat or belongs to a column request.
    pub bytes: Bits<10>,
    /// Every lane is a unit of its own (row mask `Element`, strided region).
    pub by_lane: Bit,
    /// Place of the destination in the ring of destinations.
    pub dest: Bits<10>,
    /// Number of the destination in its request.
    pub index: Bits<DEST_INDEX>,
    /// Slot of the request.
    pub slot: Bits<8>,
    /// Units of a message.
    pub units: Bits<32>,
    /// Estimated number of 256 B blocks that the chunk needs.
    pub chunk_blocks: Bits<8>,
    /// Lengths of messages are needed: `full_count`, `full_bytes` and `tail_bytes` are valid.
    pub measured: Bit,
    /// Number of messages that begin in this region and do not go beyond it.
    pub full_count: Bits<32>,
    /// Bytes of each message that `full_count` counts.
    pub full_bytes: Bits<32>,
    /// Bytes of the last message that begins in this region, if `full_count` does not count it.
    pub tail_bytes: Bits<32>,
    /// The stretch is the destination's first one.
    pub first_stretch: Bit,
}

/// Bits of a [`Context`].
pub const CONTEXT_BITS: usize = 200 + DEST_INDEX;

/// A row, or an end that follows the last row.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct Row {
    /// Number of the row in its region.
    pub row: Bits<32>,
    /// Pointer of the row, for a pointer-mapped region.
    pub pointer: Bits<64>,
    /// Lane of the unit, where every lane is a unit of its own.
    pub lane: Bits<4>,
    /// The row is the first one of a chunk.
    pub chunk_start: Bit,
    /// The row is the first one of its unit.
    pub unit_first: Bit,
    /// The row is the last one of its unit.
    pub unit_last: Bit,
    /// `message_bytes` is valid.
    pub counted: Bit,
    /// Bytes of the message that begins here.
    pub message_bytes: Bits<32>,
    /// There is no row: the destination or the request ends or, without a further flag, a column of it.
    pub empty: Bit,
    /// The request ends.
    pub request_end: Bit,
    /// The unit is the destination's last one.
    pub last: Bit,
    /// With `request_end`: status of the request.
    pub status: Bits<8>,
    /// With `request_end`: the destination that failed.
    pub bad_dest: Bits<DEST_COUNT>,
    /// There is no row: a chunk of a column request begins with row `row`.
    pub column: Bit,
    /// With `column`: rows of the chunk, up to 4,096.
    pub rows: Bits<13>,
}

/// Bits of a [`Token`].
pub const TOKEN_BITS: usize = <Token as Synth>::BITS;

/// Describes how a unit's row is cut into beats.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct Cut {
    /// Bit `j` is set if lane `j` starts a new beat.
    pub starts: Bits<16>,
    /// The token needs no cutting, and its `bytes` are known.
    pub whole: Bit,
    /// The unit consists of one lane, the token's first.
    pub one_lane: Bit,
}

/// Bits of a [`Cut`].
pub const CUT_BITS: usize = 18;

/// Length of a beat that ends with a certain lane.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct Length {
    /// Bytes of the lane.
    pub lane: Bits<32>,
    /// Bytes of the beat up to and including the lane, if they are at most 64.
    pub beat: Bits<7>,
}

/// Bits of a [`Length`].
pub const LENGTH_BITS: usize = 39;
