//! Records that the blocks of the column path pass to each other.

use crate::request::DEST_INDEX;
use drdma_emit::prelude::*;

/// Mask of the 512 rows of a turn that are selected.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct Mask {
    /// Bit `k` is set if row `k` of the mask is selected.
    pub bits: Bits<512>,
    /// Number of the mask in its chunk, 0 to 7: bit 0 is the row with offset 512 * `word`.
    pub word: Bits<3>,
    /// The mask is the first one of its chunk.
    pub chunk_start: Bit,
    /// The mask is the last one of its turn.
    pub turn_end: Bit,
    /// The mask is the last one of its chunk.
    pub chunk_end: Bit,
    /// The mask is the last one of its destination.
    pub last: Bit,
}

/// Bits of a [`Mask`].
pub const MASK_BITS: usize = 519;

/// Side band of a mask whose rows are only counted.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct CountTag {
    /// The mask is the first one of its turn.
    pub first: Bit,
    /// The mask is the last one of its turn.
    pub end: Bit,
    /// The mask could not be read.
    pub bad: Bit,
    /// The turn is the destination's first one.
    pub opens: Bit,
    /// The turn is the destination's last one.
    pub closes: Bit,
    /// The mask is kept.
    pub kept: Bit,
    /// Number of the mask among those of its destination, modulo 16.
    pub beat: Bits<4>,
    /// Set under which the sum is delivered: the `set` of the turn's context.
    pub set: Bits<11>,
    /// Number of the destination in the request.
    pub index: Bits<DEST_INDEX>,
}

/// Rows of a destination that were counted so far.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct Tally {
    /// Number of rows.
    pub count: Bits<32>,
    /// A read has failed.
    pub bad: Bit,
}

/// Bits of a [`Tally`].
pub const TALLY_BITS: usize = 33;

/// Number of selected rows of a destination.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct Counted {
    /// Set under which the count was asked for: the `set` of the turn's context.
    pub set: Bits<11>,
    /// Number of selected rows.
    pub count: Bits<32>,
    /// The rows could not be read.
    pub bad: Bit,
}

/// Up to 64 selected rows of a mask.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct RowGroup {
    /// Number of rows, 0 to 64.
    pub count: Bits<7>,
    /// Offsets of the rows from row 512 * `word` of the chunk, 9 bits each, ascending.
    pub offset: Bits<576>,
    /// Number of the rows' mask in its chunk, 0 to 7.
    pub word: Bits<3>,
    /// The rows are the last ones of their turn.
    pub turn_end: Bit,
    /// The rows are the last ones of their chunk.
    pub chunk_end: Bit,
    /// The rows are the last ones of their destination.
    pub last: Bit,
}

/// Bits of a [`RowGroup`].
pub const ROW_GROUP_BITS: usize = 589;

/// Side band of a piece of a mask.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct Tag {
    /// Number of the mask in its chunk, 0 to 7.
    pub word: Bits<3>,
    /// The piece is the last one of its turn.
    pub turn_end: Bit,
    /// The piece is the last one of its chunk.
    pub chunk_end: Bit,
    /// The piece is the last one of its destination.
    pub last: Bit,
}

/// Rows on their way to the packer's loop, with all fields that the loop needs.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct Entry {
    /// Number of rows, 0 to 64.
    pub count: Bits<7>,
    /// The rows are the last ones of their turn.
    pub turn_end: Bit,
    /// The rows are the last ones of their chunk.
    pub chunk_end: Bit,
    /// The rows are the last ones of their destination.
    pub last: Bit,
    /// Bytes of a row, 1 to 960.
    pub row_bytes: Bits<10>,
    /// Rows of a full beat, if rows have 1 to 3 bytes and beats end with a row; else 0.
    pub thin_rows: Bits<7>,
    /// Place of the destination in the ring of destinations.
    pub dest: Bits<10>,
    /// Number of the destination in the request.
    pub index: Bits<DEST_INDEX>,
    /// Slot of the request.
    pub slot: Bits<8>,
    /// Lane set of the region.
    pub set: Bits<11>,
    /// Low part of the rows of a message, which are `unit_near` + 128 * `unit_far`; at least 128 if `unit_far` is not
    /// 0.
    pub unit_near: Bits<9>,
    /// High part of the rows of a message; see `unit_near`.
    pub unit_far: Bits<25>,
    /// The turn is the destination's first one.
    pub first_turn: Bit,
    /// Messages need their length.
    pub measured: Bit,
    /// Number of messages that begin in the region and do not go beyond it, as in the sequencer's `Context`.
    pub full_count: Bits<32>,
    /// Bytes of each of those messages, as in the sequencer's `Context`.
    pub full_bytes: Bits<32>,
    /// Bytes of the last message that begins in the region, as in the sequencer's `Context`.
    pub tail_bytes: Bits<32>,
}

/// Progress of the messages of a destination, between its turns.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct ColumnStanding {
    /// A message has begun and is not complete.
    pub open: Bit,
    /// Low part of the rows that the message still needs: `near` + 128 * `far`, as [`Entry::unit_near`].
    pub near: Bits<9>,
    /// High part of the rows that the message still needs; see `near`.
    pub far: Bits<25>,
    /// Lane set of the region that `fulls` belongs to.
    pub set: Bits<11>,
    /// Messages of full length that are still to begin in the region.
    pub fulls: Bits<32>,
}

/// Bits of a [`ColumnStanding`].
pub const COLUMN_STANDING_BITS: usize = 78;

/// A beat without the offsets of its rows.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct BeatInfo {
    /// Byte of the first row with which the beat starts.
    pub start: Bits<10>,
    /// Bytes of the beat, 0 to 64.
    pub bytes: Bits<7>,
    /// Bytes of a row, 1 to 960.
    pub row_bytes: Bits<10>,
    /// Place of the destination in the ring of destinations.
    pub dest: Bits<10>,
    /// Slot of the request.
    pub slot: Bits<8>,
    /// The beat is the first one of a message.
    pub message_start: Bit,
    /// The beat is the last one of a message.
    pub message_end: Bit,
    /// With `message_start`: bytes of the message, where they are needed; else 0.
    pub message_bytes: Bits<32>,
    /// The beat is the last one of its destination.
    pub dest_end: Bit,
    /// The beat is the last one of its chunk.
    pub window_end: Bit,
}

/// Bits of a [`BeatInfo`].
pub const BEAT_INFO_BITS: usize = 81;
