//! What the stages of the sequencer hand to each other.

// The accessors that `LogicStruct` derives have no documentation.
#![allow(missing_docs)]

use crate::request::{DEST_COUNT, DEST_INDEX};
use drdma_emit::prelude::Record;
use rust_hdl_core::prelude::*;

/// [`Item::task`]: walk the rows of a stretch of a region.
pub const WALK: u64 = 0;
/// [`Item::task`]: count the set bits of a bitmap, or check the pointers of an array. With `column` the column
/// path counts the rows of a destination: those of a bitmap at once, those with its id in stretches of 4,096 rows.
pub const SCAN: u64 = 1;
/// [`Item::task`]: a request ends. `low` are its status (8 bits), whether the queue pair fails with it
/// (1), and the destination that failed. With `never` only a column of a WRITE by columns ends: what follows waits
/// until what was read for it is used up.
pub const END: u64 = 2;
/// [`Item::task`], to the walker: a region of a destination. `first` is its place, `low` the
/// address of its bitmap or pointers, `high` the bytes of a row.
pub const LOAD: u64 = 3;
/// [`Item::task`], to the walker: is a message longer than `high`? `low` are the units.
pub const CHECK: u64 = 4;
/// [`Item::task`], to the walker: give the units. `low` are the units; with `never` the lengths of
/// messages are added up.
pub const UNITS: u64 = 5;
/// [`Item::task`], to the walker: what the pointers of region `first` must keep to, before its
/// [`LOAD`]: `low`, `high` and `never` as for [`SCAN`].
pub const BOUNDS: u64 = 6;
/// [`Item::task`]: a chunk of a column request begins, of `rows` rows from `first` on.
pub const HEAD: u64 = 7;

/// A piece of work: a stretch of rows of one region of one destination.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct Item {
    /// [`WALK`], [`SCAN`], [`END`], [`LOAD`], [`CHECK`], [`UNITS`], [`BOUNDS`] or [`HEAD`].
    pub task: Bits<3>,
    /// The region's type.
    pub kind: Bits<2>,
    /// The first row (bit, pointer, period).
    pub first: Bits<32>,
    /// Rows (bits, pointers, periods).
    pub rows: Bits<32>,
    /// The last stretch of the destination's last region.
    pub last: Bit,
    /// A good place for a new window.
    pub chunk_start: Bit,
    /// Scan: a pointer must not be lower. With `fetch`: the address of the fetch rows.
    pub low: Bits<64>,
    /// Scan: a pointer must not be higher.
    pub high: Bits<64>,
    /// Scan: no pointer is right.
    pub never: Bit,
    /// Of a column request.
    pub column: Bit,
    /// The last stretch of a column request's chunk.
    pub chunk_end: Bit,
    /// Bitmapped: bytes of an id of a row; 0: the rows have bits.
    pub ids: Bits<2>,
    /// With `ids`: the rows that have this id.
    pub partition: Bits<16>,
    /// A chunk of any number of rows, whose windows the column path cuts.
    pub sparse: Bit,
    /// Of a column request: there are fetch rows, which are read beside the bitmap.
    pub fetch: Bit,
    /// Of a column request: the bitmap is read in stretches of several chunks, with the first of each; of a WRITE by
    /// columns with the first of the first column, or where rows are counted, for all of them.
    pub kept: Bit,
    /// With `kept`: how far behind its stretch's first row `first` is, in units of 16 rows.
    pub phase: Bits<9>,
    /// With `kept`: the stretch is read with this item. A scan of the column path: the destination's first one.
    pub loads: Bit,
}

/// Bits of an [`Item`].
pub const ITEM_BITS: usize = 233;

/// What a read is for.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct Purpose {
    /// Its answer is for the column path.
    pub column: Bit,
    /// Bytes of an id, if ids are read; else 0.
    pub ids: Bits<2>,
    /// The id whose rows are wanted.
    pub partition: Bits<16>,
    /// The last read of its stretch.
    pub last: Bit,
    /// Fetch rows are read.
    pub fetch: Bit,
    /// A stretch of a bitmap that is kept for several chunks is read.
    pub kept: Bit,
}

/// Bits of a [`Purpose`].
pub const PURPOSE_BITS: usize = 22;

/// Rows of a block of keys: the values of one key after the other are read for so many.
pub const KEY_BLOCK: u64 = 256;

/// A read, and what its bytes are if ids are to be made of them.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct Read {
    /// What it is for; of keys, `ids` are the bytes of the ids that are made, and `last` stands with the stretch's last block.
    pub purpose: Purpose,
    /// Ids are made of it.
    pub made: Bit,
    /// The first read for its request.
    pub begins: Bit,
    /// Splitters of a range.
    pub splitters: Bit,
    /// Bits that say which rows of the block have a value.
    pub validity: Bit,
    /// Such bits have been read before these values.
    pub nullable: Bit,
    /// Of bits: the place of the first one in its byte.
    pub first: Bits<3>,
    /// Binary logarithm of the bytes of a value, or [`KEY_BITS`](crate::request::KEY_BITS).
    pub log_width: Bits<3>,
    /// A [`KeyType`](drdma_abi::work_request::KeyType).
    pub key_type: Bits<3>,
    /// Values of the first key.
    pub opens: Bit,
    /// Values of the last key.
    pub closes: Bit,
    /// Rows of the block, 1 to [`KEY_BLOCK`], or splitters.
    pub rows: Bits<9>,
}

/// Bits of a [`Read`].
pub const READ_BITS: usize = PURPOSE_BITS + 25;

/// What an item's rows have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct Context {
    /// The region's lane set; of a scan, the place of its result.
    pub set: Bits<11>,
    /// Its lanes, 1 to 16.
    pub lanes: Bits<5>,
    /// The lanes that start a new beat.
    pub starts: Bits<16>,
    /// A row fits a beat, and has `bytes` bytes.
    pub fits: Bit,
    /// Bytes of a row that fits a beat, or is of a column request.
    pub bytes: Bits<10>,
    /// Every lane is a unit of its own (row mask Element, strided).
    pub by_lane: Bit,
    /// The destination's place in its ring.
    pub dest: Bits<10>,
    /// The destination's place in the request.
    pub index: Bits<DEST_INDEX>,
    /// The request.
    pub slot: Bits<8>,
    /// Units of a message.
    pub units: Bits<32>,
    /// Estimate of the blocks that the chunk needs.
    pub chunk_blocks: Bits<8>,
    /// Messages need their length: the three fields that follow are valid.
    pub measured: Bit,
    /// Messages that begin in this region and do not go beyond it.
    pub full_count: Bits<32>,
    /// Bytes of such a message.
    pub full_bytes: Bits<32>,
    /// Bytes of the last message that begins in this region, if it is not such a one.
    pub tail_bytes: Bits<32>,
    /// The first stretch of the destination.
    pub first_stretch: Bit,
}

/// Bits of a [`Context`].
pub const CONTEXT_BITS: usize = 200 + DEST_INDEX;

/// A row, or what follows the last one.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct Row {
    /// The row.
    pub row: Bits<32>,
    /// Pointer-mapped: its pointer.
    pub pointer: Bits<64>,
    /// The lane, where every lane is a unit.
    pub lane: Bits<4>,
    /// The first row of a chunk.
    pub chunk_start: Bit,
    /// The unit's first row.
    pub unit_first: Bit,
    /// The unit's last row.
    pub unit_last: Bit,
    /// The message's length is known here.
    pub counted: Bit,
    /// The message's length.
    pub message_bytes: Bits<32>,
    /// No row: the destination, the request or, with no other flag, a column of it ends.
    pub empty: Bit,
    /// The request ends.
    pub request_end: Bit,
    /// The destination's last unit.
    pub last: Bit,
    /// The status of a request's end.
    pub status: Bits<8>,
    /// The destination that failed.
    pub bad_dest: Bits<DEST_COUNT>,
    /// No row: a chunk of a column request begins with `row`.
    pub column: Bit,
    /// Rows of that chunk.
    pub rows: Bits<13>,
}

/// A token as the expander takes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct Token {
    /// Lane set.
    pub set: Bits<11>,
    /// First lane.
    pub first: Bits<4>,
    /// Last lane.
    pub last: Bits<4>,
    /// One lane, cut.
    pub piece: Bit,
    /// Where a cut lane's piece starts.
    pub offset: Bits<32>,
    /// Bytes of the beat.
    pub bytes: Bits<7>,
    /// Row.
    pub row: Bits<32>,
    /// Pointer.
    pub pointer: Bits<64>,
    /// Destination.
    pub dest: Bits<10>,
    /// Request.
    pub slot: Bits<8>,
    /// Last token of a unit.
    pub unit_end: Bit,
    /// Last token of a message.
    pub message_end: Bit,
    /// First token of a message.
    pub message_start: Bit,
    /// Bytes of the message, where they are needed.
    pub message_bytes: Bits<32>,
    /// First token of a chunk.
    pub chunk_start: Bit,
    /// Blocks of the chunk.
    pub chunk_blocks: Bits<8>,
    /// End of the request.
    pub request_end: Bit,
    /// Last token of the destination.
    pub dest_end: Bit,
    /// Status of the request.
    pub status: Bits<8>,
    /// Destination that failed.
    pub bad_dest: Bits<DEST_COUNT>,
    /// A header: a chunk of a column request begins with `row`; all lanes of `set` are given.
    pub column: Bit,
    /// Header: rows of the chunk.
    pub rows: Bits<13>,
}

/// Bits of a [`Token`].
pub const TOKEN_BITS: usize = 241 + DEST_COUNT;

/// How a row is cut into beats.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct Cut {
    /// The lanes that start a new beat.
    pub starts: Bits<16>,
    /// The token needs no cutting, and its bytes are known.
    pub whole: Bit,
    /// The unit is one lane, the token's first.
    pub one_lane: Bit,
}

/// Bits of a [`Cut`].
pub const CUT_BITS: usize = 18;

/// The length of a beat that ends with a certain lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct Length {
    /// Bytes of the lane.
    pub lane: Bits<32>,
    /// Bytes of the beat up to and with this lane, if that is at most 64.
    pub beat: Bits<7>,
}

/// Bits of a [`Length`].
pub const LENGTH_BITS: usize = 39;
