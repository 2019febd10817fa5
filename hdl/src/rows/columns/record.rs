//! What the blocks of the column path hand to each other.

// The accessors that `LogicStruct` derives have no documentation.
#![allow(missing_docs)]

use crate::request::DEST_INDEX;
use drdma_emit::prelude::Record;
use rust_hdl_core::prelude::*;

/// Which of 512 rows of a turn are selected.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct Mask {
    /// A bit a row.
    pub bits: Bits<512>,
    /// Bit 0 is the row with offset 512 * `word` in its chunk.
    pub word: Bits<3>,
    /// The first mask of a chunk.
    pub chunk_start: Bit,
    /// The last mask of a turn.
    pub turn_end: Bit,
    /// The last mask of a chunk.
    pub chunk_end: Bit,
    /// The last mask of a destination.
    pub last: Bit,
}

/// Bits of a [`Mask`].
pub const MASK_BITS: usize = 519;

/// What is known of a mask whose rows are only counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct CountTag {
    /// The first mask of a turn.
    pub first: Bit,
    /// The last mask of a turn.
    pub end: Bit,
    /// It could not be read.
    pub bad: Bit,
    /// The turn is the destination's first one.
    pub opens: Bit,
    /// The turn is the destination's last one.
    pub closes: Bit,
    /// The mask is kept.
    pub kept: Bit,
    /// Its place among the masks of its destination, modulo 16.
    pub beat: Bits<4>,
    /// Where the sum is asked for.
    pub set: Bits<11>,
    /// The destination's place in the request.
    pub index: Bits<DEST_INDEX>,
}

/// What has been counted of a destination.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct Tally {
    /// Rows.
    pub count: Bits<32>,
    /// A read has failed.
    pub bad: Bit,
}

/// Bits of a [`Tally`].
pub const TALLY_BITS: usize = 33;

/// The rows of a destination.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct Counted {
    /// Where they were asked for: the `set` of the turn's context.
    pub set: Bits<11>,
    /// Rows that are selected.
    pub count: Bits<32>,
    /// They could not be read.
    pub bad: Bit,
}

/// Up to 64 selected rows of a mask.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct RowGroup {
    /// Rows, 0 to 64.
    pub count: Bits<7>,
    /// Their offsets from row 512 * `word` of the chunk on, 9 bits each, ascending.
    pub offset: Bits<576>,
    /// As in [`Mask`].
    pub word: Bits<3>,
    /// The last rows of a turn.
    pub turn_end: Bit,
    /// The last rows of a chunk.
    pub chunk_end: Bit,
    /// The last rows of a destination.
    pub last: Bit,
}

/// Bits of a [`RowGroup`].
pub const ROW_GROUP_BITS: usize = 589;

/// What is known of a piece of a mask beside its bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct Tag {
    /// As in [`Mask`].
    pub word: Bits<3>,
    /// The last piece of a turn.
    pub turn_end: Bit,
    /// The last piece of a chunk.
    pub chunk_end: Bit,
    /// The last piece of a destination.
    pub last: Bit,
}

/// Rows on their way to the packer's loop: their number, and all that the loop needs to know.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct Entry {
    /// Rows, 0 to 64.
    pub count: Bits<7>,
    /// The last rows of a turn.
    pub turn_end: Bit,
    /// The last rows of a chunk.
    pub chunk_end: Bit,
    /// The last rows of a destination.
    pub last: Bit,
    /// Bytes of a row.
    pub row_bytes: Bits<10>,
    /// Rows of a beat that nothing cuts short, where rows have 1 to 3 bytes and beats end with a row; else 0.
    pub thin_rows: Bits<7>,
    /// The destination's place in its ring.
    pub dest: Bits<10>,
    /// The destination's place in the request.
    pub index: Bits<DEST_INDEX>,
    /// The request.
    pub slot: Bits<8>,
    /// The lane set.
    pub set: Bits<11>,
    /// Rows of a message are `unit_near` + 128 * `unit_far`; `unit_near` is at least 128 if
    /// `unit_far` is not 0.
    pub unit_near: Bits<9>,
    /// See `unit_near`.
    pub unit_far: Bits<25>,
    /// The first turn of the destination.
    pub first_turn: Bit,
    /// Messages need their length.
    pub measured: Bit,
    /// As in the sequencer's `Context`.
    pub full_count: Bits<32>,
    /// As in the sequencer's `Context`.
    pub full_bytes: Bits<32>,
    /// As in the sequencer's `Context`.
    pub tail_bytes: Bits<32>,
}

/// Where a destination stands between its turns.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct ColumnStanding {
    /// A message has begun and is not complete.
    pub open: Bit,
    /// Rows that it still needs: `near` + 128 * `far`, as [`Entry::unit_near`].
    pub near: Bits<9>,
    /// See `near`.
    pub far: Bits<25>,
    /// The region that `fulls` belongs to.
    pub set: Bits<11>,
    /// Messages of full length that are still to begin in the region.
    pub fulls: Bits<32>,
}

/// Bits of a [`ColumnStanding`].
pub const COLUMN_STANDING_BITS: usize = 78;

/// A beat but for its offsets.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct BeatInfo {
    /// Byte of the first row where the beat starts.
    pub start: Bits<10>,
    /// Bytes, 0 to 64.
    pub bytes: Bits<7>,
    /// Bytes of a row.
    pub row_bytes: Bits<10>,
    /// The destination's place in its ring.
    pub dest: Bits<10>,
    /// The request.
    pub slot: Bits<8>,
    /// First beat of a message.
    pub message_start: Bit,
    /// Last beat of a message.
    pub message_end: Bit,
    /// Bytes of the message that starts, where they are needed.
    pub message_bytes: Bits<32>,
    /// Last beat of the destination.
    pub dest_end: Bit,
    /// Last beat of the chunk.
    pub window_end: Bit,
}

/// Bits of a [`BeatInfo`].
pub const BEAT_INFO_BITS: usize = 81;
