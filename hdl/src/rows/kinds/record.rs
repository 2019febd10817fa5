//! What the parts of the walk hand to each other.

use crate::request::LaneKind;
use drdma_emit::prelude::*;

/// Bytes of a cache line, in which entries and tables are read.
pub const LINE: u64 = 64;
/// [`Entry::task`]: the entry leads to bytes of the payload.
pub const VALUE: u64 = 0;
/// [`Entry::task`]: the buffers of its table are looked up in their keys.
pub const TABLE: u64 = 1;
/// [`Entry::task`]: a message ends.
pub const MESSAGE: u64 = 2;
/// [`Entry::task`]: the destination ends.
pub const DESTINATION: u64 = 3;
/// [`Entry::task`]: the walk has seen all that must be judged of the destination, or with [`Entry::unit_end`] low only its entries.
pub const VERDICT: u64 = 4;
/// [`Entry::task`]: a destination begins: [`Entry::set`] is its place, [`Entry::unit_end`] whether it has datagrams, and [`Entry::lane`] the binary
/// logarithm of its MTU; a WRITE's has bit 0 of [`Entry::first`].
pub const HEAD: u64 = 5;
/// [`Wanted::task`]: the lane's part in the [`Plan`] of its region; [`TABLE`] asks for that, too.
pub const PLAN: u64 = 6;

/// What is wanted of a lane in a row, before it is known where that lies.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Wanted {
    /// [`VALUE`], [`TABLE`], [`MESSAGE`], [`DESTINATION`], [`VERDICT`], [`HEAD`] or [`PLAN`].
    pub task: Bits<3>,
    /// The lane's set.
    pub set: Bits<11>,
    /// The first lane: of fixed width if it is not the only one.
    pub first: Bits<4>,
    /// The last lane.
    pub lane: Bits<4>,
    /// Bytes of several lanes.
    pub group: Bits<7>,
    /// The row; of a message that is judged: its bytes beside those of the entries that were.
    pub row: Bits<32>,
    /// The record's pointer; 0 where there is none.
    pub pointer: Bits<64>,
    /// The set is strided,
    pub strided: Bit,
    /// with so many bytes from a period to the next.
    pub period: Bits<64>,
    /// Its record stands behind a pointer.
    pub apart: Bit,
    /// Rows behind it in its set; at most 511 are counted.
    pub rest: Bits<9>,
    /// The last lane of its unit; of a message: its length is to be kept; of a destination's end: it has had units; of a [`TABLE`] or [`PLAN`]: the
    /// last lane of its set.
    pub unit_end: Bit,
    /// It is sent; else it is judged, and its bytes are counted.
    pub give: Bit,
}

/// A lane of a set, as it is kept.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Lane {
    /// Where it lies in row 0.
    pub base: Bits<64>,
    /// How its entries lead to bytes.
    pub kind: Bits<3>,
    /// See [`LaneKind`].
    pub log_entry: Bits<2>,
    /// See [`LaneKind`].
    pub width: Bits<24>,
    /// See [`LaneKind`].
    pub addr: Bits<64>,
    /// See [`LaneKind`]; of fixed width: its bytes.
    pub number: Bits<32>,
}

/// Bits of a [`Lane`].
pub const LANE_BITS: usize = <Lane as Synth>::BITS;
// Three UltraRAMs side by side.
const _: () = assert!(LANE_BITS == 64 + <LaneKind as Synth>::BITS && LANE_BITS <= 3 * 72);

/// An entry, but for the product of row and step, which is added to `start`.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Placed {
    /// See [`Wanted`].
    pub task: Bits<3>,
    /// See [`Wanted`].
    pub set: Bits<11>,
    /// See [`Wanted`].
    pub first: Bits<4>,
    /// See [`Wanted`].
    pub lane: Bits<4>,
    /// See [`Wanted`].
    pub unit_end: Bit,
    /// See [`Wanted`].
    pub give: Bit,
    /// Where the lane lies in row 0.
    pub base: Bits<64>,
    /// The same with the record's pointer, or, of a bit, with the bytes before it. Of fixed width: the pointer alone.
    pub start: Bits<64>,
    /// The place of a bit in its byte.
    pub bit: Bits<3>,
    /// See [`LaneKind`].
    pub kind: Bits<3>,
    /// See [`LaneKind`].
    pub log_entry: Bits<2>,
    /// See [`LaneKind`].
    pub width: Bits<24>,
    /// See [`LaneKind`]; of fixed width: the row.
    pub addr: Bits<64>,
    /// See [`Lane`].
    pub number: Bits<32>,
    /// The entries of the rows behind it are less than 64 bytes from each other,
    pub near: Bit,
    /// namely so many, but for bits.
    pub step: Bits<6>,
    /// See [`Wanted`].
    pub rest: Bits<9>,
}

/// An entry that is asked for, if it must be read.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Entry {
    /// See [`Wanted`].
    pub task: Bits<3>,
    /// See [`Wanted`].
    pub set: Bits<11>,
    /// See [`Wanted`].
    pub first: Bits<4>,
    /// See [`Wanted`].
    pub lane: Bits<4>,
    /// See [`Wanted`].
    pub unit_end: Bit,
    /// See [`Wanted`].
    pub give: Bit,
    /// Where the lane lies in row 0.
    pub base: Bits<64>,
    /// Where the entry lies; see [`Placed::start`].
    pub at: Bits<64>,
    /// The place of a bit in its byte.
    pub bit: Bits<3>,
    /// See [`LaneKind`].
    pub kind: Bits<3>,
    /// See [`LaneKind`].
    pub log_entry: Bits<2>,
    /// See [`LaneKind`].
    pub width: Bits<24>,
    /// See [`Placed`].
    pub addr: Bits<64>,
    /// See [`Lane`].
    pub number: Bits<32>,
}

/// What was read of an entry.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Answer {
    /// Up to 16 bytes.
    pub data: Bits<128>,
    /// It could not be read.
    pub error: Bit,
}

/// What was read of entries or of a table.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Line {
    /// 64 bytes.
    pub data: Bits<512>,
    /// They could not be read.
    pub error: Bit,
}

/// What an entry leads to.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Value {
    /// See [`Wanted`].
    pub task: Bits<3>,
    /// See [`Wanted`].
    pub set: Bits<11>,
    /// See [`Wanted`].
    pub first: Bits<4>,
    /// See [`Wanted`].
    pub lane: Bits<4>,
    /// See [`Wanted`].
    pub unit_end: Bit,
    /// See [`Wanted`].
    pub give: Bit,
    /// Where the value lies, from its lane's base on, or from where its lanes lie in its row.
    pub pointer: Bits<64>,
    /// Its row, if it is of fixed width; else 0.
    pub row: Bits<32>,
    /// Its bytes in host memory.
    pub bytes: Bits<32>,
    /// Those that a message has of it; none of a bit.
    pub weight: Bits<33>,
    /// Its length comes before it.
    pub has_length: Bit,
    /// It is a bit,
    pub is_bit: Bit,
    /// namely this one.
    pub bit: Bit,
    /// It, or the table of buffers, leads nowhere.
    pub fails: Bit,
}

/// How the rows of a region are walked.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Plan {
    /// Lanes that begin a group: lanes of fixed width side by side, 64 bytes together at most, or one lane.
    pub starts: Bits<16>,
    /// Groups whose entries must be followed to know whether they lead somewhere, and how long their values are.
    pub follows: Bits<16>,
    /// Of each lane: bytes of its group from the first lane to this one.
    pub fills: Bits<112>,
    /// Bytes of a row in lanes of fixed width; at most [`MOST_BYTES`].
    pub bytes: Bits<32>,
    /// Bytes of its bits, but for those at its beginning and at its end.
    pub inner: Bits<5>,
    /// Bits at the row's beginning,
    pub lead: Bits<5>,
    /// and at its end; none if it has nothing else.
    pub trail: Bits<5>,
    /// It has nothing else.
    pub only_bits: Bit,
}

/// Bits of a [`Plan`].
pub const PLAN_BITS: usize = <Plan as Synth>::BITS;
/// [`Plan::bytes`], at most: more than a message has, and so few that a further row's fit 33 bits.
pub const MOST_BYTES: u64 = 3 << 30;
