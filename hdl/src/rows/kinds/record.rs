//! Records that the blocks of this walk pass to each other.

use crate::request::LaneKind;
use drdma_emit::prelude::*;

/// Bytes of a cache line, in which entries and tables are read.
pub const LINE: u64 = 64;
/// [`Entry::task`]: the entry leads to bytes of the payload.
pub const VALUE: u64 = 0;
/// [`Entry::task`]: the buffers of the lane's table are looked up in their keys.
pub const TABLE: u64 = 1;
/// [`Entry::task`]: a message ends.
pub const MESSAGE: u64 = 2;
/// Bit of a [`MESSAGE`]: only a column ends, and the message goes on.
pub const COLUMN: usize = 0;
/// [`Entry::task`]: a destination ends.
pub const DESTINATION: u64 = 3;
/// [`Entry::task`]: the walk has seen everything of the destination that must be judged, or, with [`Entry::unit_end`]
/// low, only its entries.
pub const VERDICT: u64 = 4;
/// [`Entry::task`]: a destination begins, or has its turn. [`Entry::set`] is its place in the ring, [`Entry::unit_end`]
/// whether it sends datagrams, [`Entry::lane`] the binary logarithm of its MTU. [`Entry::first`] has bit 0 set for a
/// WRITE, and the bits [`GOES_ON`], [`TURNS`] and [`CHUNK`].
pub const HEAD: u64 = 5;
/// Bit of a [`HEAD`]: the destination has had a turn of this walk.
pub const GOES_ON: usize = 1;
/// Bit of a [`HEAD`]: destinations take turns.
pub const TURNS: usize = 2;
/// Bit of a [`HEAD`]: a chunk of rows begins.
pub const CHUNK: usize = 3;
/// Bytes of the rows of a chunk, at most: their blocks fit a window of the placer.
pub const CHUNK_BYTES: u64 = 3 << LOG_CHUNK_PART;
/// Binary logarithm of a third of [`CHUNK_BYTES`].
pub const LOG_CHUNK_PART: u64 = 13;
/// [`Wanted::task`]: the lane's part in the [`Plan`] of its region is needed; [`TABLE`] asks for that as well.
pub const PLAN: u64 = 6;
/// [`Entry::task`]: a line of bits is needed; [`Wanted::part`] says which: 0 for the line with the row's bit, 1 or 2
/// for the next line or the one behind, counted from the one with the bit of the first row of the row's block of 512.
pub const LOAD: u64 = 7;

/// [`Wanted::part`]: the value is wanted, with its length if that varies.
pub const WHOLE: u64 = 0;
/// [`Wanted::part`]: only the length of the value is wanted.
pub const LENGTH: u64 = 1;
/// [`Wanted::part`]: only the bytes of the value are wanted, not its length.
pub const BYTES: u64 = 2;

/// A read of host memory, or of rows whose ids are made from keys.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Ask {
    /// Host address of the first byte; with `made`, that of splitters.
    pub addr: Bits<64>,
    /// Bytes that are wanted, 1 to 4,096; with `made`, those of the ids.
    pub bytes: Bits<13>,
    /// The bytes are ids that are made from keys.
    pub made: Bit,
    /// With `made`: an id has two bytes.
    pub wide: Bit,
    /// With `made`: the row of the first id, a multiple of 256.
    pub first: Bits<32>,
    /// With `made`: slot of the request.
    pub slot: Bits<8>,
}

/// A lane or group of lanes that is wanted of a row, before its address is known.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Wanted {
    /// Task: [`VALUE`], [`TABLE`], [`MESSAGE`], [`DESTINATION`], [`VERDICT`], [`HEAD`], [`PLAN`] or
    /// [`LOAD`].
    pub task: Bits<3>,
    /// Lane set of the region.
    pub set: Bits<11>,
    /// First lane that is wanted. If it is not the only one, all of them have fixed width, or all are bits. Of a
    /// [`MESSAGE`], the bit [`COLUMN`].
    pub first: Bits<4>,
    /// Last lane that is wanted.
    pub lane: Bits<4>,
    /// Bytes of all lanes from `first` to `lane`, if there are several of fixed width.
    pub group: Bits<7>,
    /// Lower bits of the region's number: where its lines of bits are kept.
    pub slot: Bits<2>,
    /// Number of the row; for a message that is judged: its bytes beyond those of the entries that were asked for.
    pub row: Bits<32>,
    /// Pointer of the record; 0 if there is none.
    pub pointer: Bits<64>,
    /// The region is strided.
    pub strided: Bit,
    /// With `strided`: bytes from a period to the next.
    pub period: Bits<64>,
    /// The record lies behind a pointer.
    pub apart: Bit,
    /// Number of rows behind this one in its region; 2,047 stands for more as well.
    pub rest: Bits<11>,
    /// Bits that do not fill a byte are not continued: the unit ends, or other lanes follow. For [`MESSAGE`]: the
    /// length of the message is to be kept; for [`DESTINATION`]: the destination has had units; for [`TABLE`] and
    /// [`PLAN`]: the lane is the last one of its set; for [`LOAD`]: the line is the first one that is asked for
    /// with a block; for [`VERDICT`] and [`HEAD`]: see there.
    pub unit_end: Bit,
    /// The value is sent; otherwise it is judged, and its bytes are counted. For [`LOAD`]: the line is the first one of
    /// a later block.
    pub give: Bit,
    /// For [`LOAD`]: the line is one of a later block, or of the next request. The values behind do not wait for it.
    pub early: Bit,
    /// Part of the value that is wanted; see [`WHOLE`]. For [`LOAD`]: see there.
    pub part: Bits<2>,
}

/// A lane of a set, as it is kept.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Lane {
    /// Host address of the lane in row 0.
    pub base: Bits<64>,
    /// How the lane's entries lead to bytes: `kind` of its [`LaneKind`].
    pub kind: Bits<3>,
    /// Binary logarithm of the bytes of an offset or index; see [`LaneKind`].
    pub log_entry: Bits<2>,
    /// Dictionary: bytes of a value. Bits: position of row 0's bit in its byte. See [`LaneKind`].
    pub width: Bits<24>,
    /// Host address of the data, the table of buffers or the dictionary; see [`LaneKind`].
    pub addr: Bits<64>,
    /// Fixed width: bytes of the lane. Offsets: local key of the data. Else: number of buffers or of the dictionary's
    /// values.
    pub number: Bits<32>,
}

/// Bits of a [`Lane`].
pub const LANE_BITS: usize = <Lane as Synth>::BITS;
// Three UltraRAMs side by side.
const _: () = assert!(LANE_BITS == 64 + <LaneKind as Synth>::BITS && LANE_BITS <= 3 * 72);

/// An entry whose address still lacks the product of row and step, which is added to `start`.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Placed {
    /// Task; see [`Wanted::task`].
    pub task: Bits<3>,
    /// Lane set of the region.
    pub set: Bits<11>,
    /// First lane; see [`Wanted::first`].
    pub first: Bits<4>,
    /// Last lane; see [`Wanted::lane`].
    pub lane: Bits<4>,
    /// Bits that do not fill a byte are not continued; see [`Wanted::unit_end`].
    pub unit_end: Bit,
    /// The value is sent, not only judged.
    pub give: Bit,
    /// Number of the row.
    pub row: Bits<32>,
    /// Host address of the lane in row 0.
    pub base: Bits<64>,
    /// Address of the entry without the product: `base` plus the record's pointer; for [`LOAD`], of the first byte that
    /// is needed of the line; for fixed width, the pointer alone.
    pub start: Bits<64>,
    /// For [`LOAD`]: position of the first bit in its byte.
    pub bit: Bits<3>,
    /// For [`LOAD`]: the line has bits of rows.
    pub some: Bit,
    /// For [`LOAD`]: see [`Wanted::early`].
    pub early: Bit,
    /// For bits: where the line, or the lines of the row, are kept; see
    /// [`BitLines::half`](super::bits::BitLines::half).
    pub half: Bits<4>,
    /// For [`LOAD`]: bits before that of row 0 in its line. Else: lower bits of the row's number.
    pub spot: Bits<11>,
    /// How the entry leads to bytes: `kind` of the [`LaneKind`].
    pub kind: Bits<3>,
    /// Binary logarithm of the bytes of an offset or index; see [`LaneKind`].
    pub log_entry: Bits<2>,
    /// Dictionary: bytes of a value; see [`LaneKind`].
    pub width: Bits<24>,
    /// Host address of the data, the table of buffers or the dictionary; for fixed width, the row.
    pub addr: Bits<64>,
    /// See [`Lane::number`].
    pub number: Bits<32>,
    /// Entries of consecutive rows are less than 64 bytes apart.
    pub near: Bit,
    /// With `near`: distance of entries of consecutive rows in bytes; not used for bits.
    pub step: Bits<6>,
    /// Number of rows behind this one in its region; 2,047 stands for more as well.
    pub rest: Bits<11>,
    /// Part of the value that is wanted; see [`WHOLE`].
    pub part: Bits<2>,
}

/// An entry with its address, which is read if it must be.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Entry {
    /// Task; see [`Wanted::task`].
    pub task: Bits<3>,
    /// Lane set of the region.
    pub set: Bits<11>,
    /// First lane; see [`Wanted::first`].
    pub first: Bits<4>,
    /// Last lane; see [`Wanted::lane`].
    pub lane: Bits<4>,
    /// Bits that do not fill a byte are not continued; see [`Wanted::unit_end`].
    pub unit_end: Bit,
    /// The value is sent, not only judged.
    pub give: Bit,
    /// Number of the row.
    pub row: Bits<32>,
    /// Host address of the lane in row 0.
    pub base: Bits<64>,
    /// Host address of the entry; for fixed width, the record's pointer.
    pub at: Bits<64>,
    /// How the entry leads to bytes: `kind` of the [`LaneKind`].
    pub kind: Bits<3>,
    /// Binary logarithm of the bytes of an offset or index; see [`LaneKind`].
    pub log_entry: Bits<2>,
    /// Dictionary: bytes of a value; see [`LaneKind`].
    pub width: Bits<24>,
    /// Host address of the data, the table of buffers or the dictionary; for fixed width, the row.
    pub addr: Bits<64>,
    /// See [`Lane::number`].
    pub number: Bits<32>,
    /// Part of the value that is wanted; see [`WHOLE`].
    pub part: Bits<2>,
}

/// Bytes of an entry that was read.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Answer {
    /// Up to 16 bytes of the entry, the first one lowest. For bits: the bit of each of 16 lanes, then for each lane
    /// whether its bit could not be read.
    pub data: Bits<128>,
    /// The entry could not be read.
    pub error: Bit,
}

/// A line of entries or of a table that was read.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Line {
    /// 64 bytes, the first one lowest.
    pub data: Bits<512>,
    /// The line could not be read.
    pub error: Bit,
}

/// A value that an entry leads to.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Value {
    /// Task; see [`Wanted::task`].
    pub task: Bits<3>,
    /// Lane set of the region.
    pub set: Bits<11>,
    /// First lane; see [`Wanted::first`].
    pub first: Bits<4>,
    /// Last lane; see [`Wanted::lane`].
    pub lane: Bits<4>,
    /// Bits that do not fill a byte are not continued; see [`Wanted::unit_end`].
    pub unit_end: Bit,
    /// The value is sent, not only judged.
    pub give: Bit,
    /// Address of the value relative to its lane's base or, for fixed width, to where its lanes lie in its row.
    pub pointer: Bits<64>,
    /// Number of the row.
    pub row: Bits<32>,
    /// The value has fixed width: `pointer` does not lead to its row.
    pub is_fixed: Bit,
    /// Bytes of the value in host memory; for bits, their number.
    pub bytes: Bits<32>,
    /// Bytes of a message that the value takes; not used for bits.
    pub weight: Bits<33>,
    /// The length of the value is sent before it.
    pub has_length: Bit,
    /// With `has_length`: the length is sent without the value.
    pub alone: Bit,
    /// With `has_length` or `is_bits`, where values are replayed: the lanes before `first` stand before the value in
    /// its row, and are sent with it.
    pub leads: Bit,
    /// The value is bits.
    pub is_bits: Bit,
    /// With `is_bits`: the bits, the first one lowest; the rest is 0.
    pub bits: Bits<16>,
    // What is needed of `bytes` early in a cycle; not used for bits.
    /// The value has bytes.
    pub some: Bit,
    /// The value fits a token.
    pub short: Bit,
    /// The value fits a token behind its length and, with `leads`, the lanes before it.
    pub fits: Bit,
    /// The entry, or the table of buffers, leads nowhere.
    pub fails: Bit,
}

/// Lanes of fixed width with which each row of a request begins, and of which no values are kept: from lane 0 on.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Lead {
    /// There are such lanes.
    pub exists: Bit,
    /// The last one of them. The next lane begins a group of bits, or has values that are followed.
    pub lane: Bits<4>,
    /// Bytes of all of them, 1 to 64.
    pub bytes: Bits<7>,
}

/// Groups of a region's lanes, and bytes of its rows.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Plan {
    /// Bit `j`: lane `j` begins a group, which is lanes of fixed width side by side, 64 bytes together at most, lanes
    /// of bits side by side, or one other lane.
    pub starts: Bits<16>,
    /// Bit `j`: lane `j` is bits.
    pub bits: Bits<16>,
    /// Bit `j`: the entries of the group that begins with lane `j` must be followed to know whether they lead
    /// somewhere, and how long their values are.
    pub follows: Bits<16>,
    /// For each lane that begins a group: bytes of the group, if it is several lanes of fixed width (16 x 7 bits).
    pub fills: Bits<112>,
    /// For each lane that begins a group: last lane of the group (16 x 4 bits).
    pub lasts: Bits<64>,
    /// Bytes of a row in lanes of fixed width; at most [`MOST_BYTES`].
    pub bytes: Bits<32>,
    /// Bytes that a row's bits fill, without the bits at its beginning and at its end.
    pub inner: Bits<5>,
    /// Number of bits at the row's beginning.
    pub lead: Bits<5>,
    /// Number of bits at the row's end; 0 if the row consists of bits only.
    pub trail: Bits<5>,
    /// The row consists of bits only.
    pub only_bits: Bit,
    /// Every lane of bits is the one of its number whose lines were asked for last.
    pub same_bits: Bit,
    /// For each lane: number of values of the row before the lane's own (16 x 5 bits); [`NO_VALUE`] if there is no such
    /// lane.
    pub numbers: Bits<80>,
    /// Bit `j`: lane `j` has two values: a length, and bytes.
    pub pairs: Bits<16>,
    /// Number of values of a row.
    pub values: Bits<6>,
    /// Bytes from a record's start to the end of its last lane; more than 64 if they are more, or if a lane is not of
    /// fixed width.
    pub reach: Bits<7>,
    /// Bytes from a record's start to its first byte in a lane, if `reach` is not more than 64.
    pub skip: Bits<6>,
    /// There is more than one group.
    pub several: Bit,
    /// There are more than two groups.
    pub many: Bit,
    /// With `several`: first lane of the second group.
    pub second: Bits<4>,
    /// There is more than one group that is followed.
    pub several_followed: Bit,
    /// Lane of the first group that is followed; 0 if there is none.
    pub first_followed: Bits<4>,
    /// The first group is of fixed width, and has at most 64 bytes. There are further groups, and all of these are bits
    /// or are followed.
    pub leads: Bit,
}

/// See [`Plan::numbers`]: not less than the number of a row's last value, unless 16 lanes have two values each.
pub const NO_VALUE: u64 = 31;
/// Bits of a [`Plan`].
pub const PLAN_BITS: usize = <Plan as Synth>::BITS;
/// Largest [`Plan::bytes`]: more than a message has, and so few that the bytes of one more row fit 33 bits.
pub const MOST_BYTES: u64 = 3 << 30;
