//! Records that the parts of `receives` give to each other.

use crate::context::{CQ, QP, QUEUE};
use drdma_abi::described::receive_entry_flags;
use drdma_abi::receive::{MANY_RECEIVES, RECEIVE_PLACES};
use drdma_emit::prelude::*;

const _: () = assert!(RECEIVE_PLACES == 32, "places of a receive have numbers of 5 bits");

/// Bits of the number of a block in the pool.
pub const BLOCK: usize = 12;
/// Bits of a count of a queue's blocks in the pool, or on their way there: up to 112.
pub const HELD: usize = 7;
/// Bits of a queue's life: how often the host has written its `enable`. A block that was asked for in an
/// earlier life is recognized by it, unless a multiple of 65,536 lives lie between.
pub const LIFE: usize = 16;
/// Bits of a count of regions: up to 16.
pub const REGIONS: usize = 5;
/// Bits of a count of places of a receive: up to [`RECEIVE_PLACES`].
pub const PLACES: usize = 6;

/// Bits of the number of a slot for the places of a receive of many regions.
pub const SLOT: usize = 9;
const _: () = assert!(MANY_RECEIVES == 1 << SLOT, "slots have numbers of 9 bits");

/// The bit of an entry's first block that says that the receive appends.
pub const APPEND_BIT: usize = FLAGS_AT + receive_entry_flags::APPEND.trailing_zeros() as usize;
/// First bit of the flags in an entry's head.
pub const FLAGS_AT: usize = 8;

/// State of a receive queue. Positions count blocks, modulo 2^32.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct QueueState {
    /// The host's position: the blocks before it are posted.
    pub producer: Bits<32>,
    /// Position of the next block that is taken. That of the next block that is read lies `held` further on.
    pub position: Bits<32>,
    /// First block of the queue's list in the pool; valid if `here` is not 0.
    pub head: Bits<BLOCK>,
    /// Last block of the queue's list in the pool; valid if `here` is not 0.
    pub tail: Bits<BLOCK>,
    /// Blocks in the pool.
    pub here: Bits<HELD>,
    /// Blocks in the pool, or asked for.
    pub held: Bits<HELD>,
    /// The queue's life, of [`LIFE`] bits.
    pub life: Bits<LIFE>,
    /// The host has enabled the queue.
    pub enabled: Bit,
    /// A receive of the queue has failed: no more are taken.
    pub halted: Bit,
    /// More blocks are posted than were asked for.
    pub more: Bit,
    /// The queue waits in the planner's work list.
    pub listed: Bit,
    /// The queue's queue pair is broken: receives that are posted are flushed.
    pub flushing: Bit,
}

/// Names a queue.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Named {
    /// Number of the queue.
    pub queue: Bits<QUEUE>,
}

/// The planner's decision for a queue.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Plan {
    /// Number of the queue.
    pub queue: Bits<QUEUE>,
    /// Life of the queue when it was looked at. If it is another one by now, only `blocks` and the list fields count.
    pub life: Bits<LIFE>,
    /// The new `producer` of the queue.
    pub producer: Bits<32>,
    /// Blocks that are asked for.
    pub blocks: Bits<5>,
    /// The new `more` of the queue.
    pub more: Bit,
    /// The queue's turn in the work list has come: it is not listed any more.
    pub unlists: Bit,
    /// The queue is to be listed, if it is not.
    pub lists: Bit,
}

/// A block that was read.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Arrived {
    /// The queue of the block.
    pub queue: Bits<QUEUE>,
    /// Life of the queue when the block was asked for.
    pub life: Bits<LIFE>,
    /// Bytes of the block.
    pub data: Bits<512>,
    /// The block could not be read.
    pub error: Bit,
}

/// Changes of a queue's flags.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum MarkKind {
    /// The queue halts, if it still has the same life.
    Halt,
    /// Receives that are posted to the queue are flushed from now on.
    Flush,
    /// Receives that are posted to the queue are not flushed any more.
    Calm,
}

/// A change of a queue's flags.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Mark {
    /// Number of the queue.
    pub queue: Bits<QUEUE>,
    /// Of [`MarkKind::Halt`]: life of the queue that halts.
    pub life: Bits<LIFE>,
    /// The change.
    pub kind: MarkKind,
}

/// Asks for the next block of a queue.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Pop {
    /// Number of the queue.
    pub queue: Bits<QUEUE>,
    /// The block is flushed, and the queue halts with it. A queue that is being flushed has blocks only for such pops,
    /// and another queue has none for them.
    pub flush: Bit,
    /// The block is a further one of an entry, which is there only in the life `life`.
    pub goes_on: Bit,
    /// With `goes_on`: life of the queue.
    pub life: Bits<LIFE>,
    /// The first block of a receive that appends is given, and stays in its queue.
    pub keeps: Bit,
}

/// Result of a [`Pop`].
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum PoppedKind {
    /// No block is posted, or the queue is halted or not enabled.
    Nothing,
    /// The block is posted, and has not come yet.
    Later,
    /// The block is in `data`.
    Block,
}

/// The answer to a [`Pop`].
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Popped {
    /// Result: whether there is a block.
    pub kind: PoppedKind,
    /// Bytes of the block.
    pub data: Bits<512>,
    /// The block could not be read.
    pub error: Bit,
    /// Position of the block in the ring.
    pub position: Bits<32>,
    /// Blocks that are posted, from this one on.
    pub posted: Bits<32>,
    /// Life of the queue.
    pub life: Bits<LIFE>,
}

/// A granule of a receive whose regions are not all contiguous or strided.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct ReceiveGranule {
    /// The queue pair that takes the receive.
    pub qp: Bits<QP>,
    /// Slot of the receive.
    pub slot: Bits<SLOT>,
    /// Number of the granule behind the entry's head.
    pub index: Bits<5>,
    /// Bytes of the granule.
    pub data: Bits<128>,
    /// Type of the region of which this is the first granule.
    pub kind: Bits<2>,
    /// The region of the granule is the last one of the receive.
    pub of_last: Bit,
}

/// Kinds of granules of an entry.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum GranuleKind {
    /// A contiguous region.
    Contiguous,
    /// The first granule of a region that is not contiguous.
    Header,
    /// The second granule of a region that is not contiguous.
    Shape,
    /// An extent of the region's pattern, or a column.
    Extent,
}

/// A block or a granule of an entry that is taken; or reports that no receive was found.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Piece {
    /// The queue pair that takes the entry.
    pub qp: Bits<QP>,
    /// Protection domain of that queue pair.
    pub pd: Bits<32>,
    /// The entry is taken to be flushed: no message waits for the answer.
    pub flush: Bit,
    /// There is an entry.
    pub found: Bit,
    /// The entry's head or shapes are malformed, or it could not be read.
    pub malformed: Bit,
    /// The entry could not be read, and has no name.
    pub nameless: Bit,
    /// The piece has the entry's first block.
    pub starts: Bit,
    /// The piece is the entry's last one that matters.
    pub ends: Bit,
    /// Granules to check, from the first one of `data` on; those of one piece are of one kind.
    pub here: Bits<3>,
    /// Kind of these granules.
    pub kind: GranuleKind,
    /// The granule is the last extent of its region.
    pub closes: Bit,
    /// Type of the granule's region, for the first granule of a region.
    pub region_kind: Bits<2>,
    /// The granule's region is the entry's last one.
    pub of_last: Bit,
    /// The receive appends: `data` begins with the append region's number.
    pub appends: Bit,
    /// Granules, without the head.
    pub data: Bits<512>,
    /// Name of the receive, for its completion.
    pub name: Name,
}

/// Name of a receive that a queue pair has in use: the fields that its completion needs.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Name {
    /// The application's name for it.
    pub wr_id: Bits<64>,
    /// Ring position of the receive's first block.
    pub position: Bits<32>,
    /// Receive queue of the receive.
    pub queue: Bits<QUEUE>,
    /// Life of the queue when the receive was taken.
    pub life: Bits<LIFE>,
    /// Completion queue of the receive queue.
    pub cq: Bits<CQ>,
    /// The receive queue is shared.
    pub shared: Bit,
    /// Places of the receive's regions.
    pub places: Bits<PLACES>,
    /// The receive has many regions, or a strided one: it is in use alone.
    pub wide: Bit,
    /// The receive has a bitmapped or a pointer-mapped region: [`pieces`](crate::receive::pieces) knows its regions,
    /// and it has no places.
    pub pieces: Bit,
}

/// Bits of a [`Name`].
pub const NAME: usize = 64 + 32 + QUEUE + LIFE + CQ + 1 + PLACES + 2;

/// A place of a receive in use: a contiguous region, the shape of a strided one, or an extent of that shape, which
/// follows it.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Span {
    /// Address of the first byte; of an extent, in the first row. Of a shape: bytes from one row to the next.
    pub addr: Bits<64>,
    /// Bytes of the region or extent. Of a shape: rows.
    pub len: Bits<32>,
    /// The place is a shape.
    pub strided: Bit,
    /// Of a shape: extents that follow.
    pub extents: Bits<5>,
}

/// Bits of a [`Span`].
pub const SPAN: usize = 96 + 1 + 5;

/// Why a receive is given up.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum GiveUpKind {
    /// The queue pair is broken: the receive in use is given up; if there is none, the oldest one of its own queue.
    Broken,
    /// The host has reset the queue pair or its attributes: a receive of a shared queue that is in use is given up. The
    /// queue pair's own queue is not flushed any more, unless it is still broken.
    Reset,
    /// The host has made the queue pair ready: its own queue is not flushed any more.
    Ready,
    /// A receive was posted to the queue pair's own queue, which is flushed: the receive is given up.
    Posted,
}

/// Names a queue pair whose receive is given up.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct GiveUp {
    /// The queue pair.
    pub qp: Bits<QP>,
    /// Why the receive is given up.
    pub kind: GiveUpKind,
}

/// The result of a [`GiveUp`].
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct GivenUp {
    /// The queue pair had a receive in use.
    pub used: Bit,
}

/// Position of the next byte of a receive.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Cursor {
    /// Address of the next byte.
    pub addr: Bits<64>,
    /// Bytes of the region or extent from there on.
    pub left: Bits<32>,
    /// Number of the place behind that one: of the next region, or of the next extent.
    pub behind: Bits<PLACES>,
    /// There are further extents of a strided region.
    pub strided: Bit,
    /// Of a strided region: bytes from one row to the next. Of an append region, whose columns have a distance each: 1.
    pub period: Bits<64>,
    /// Of a strided region: bytes from the first row to that of the next extent. Of an append region: the row.
    pub row: Bits<64>,
    /// Rows that are not finished, that of the next extent included.
    pub rows: Bits<32>,
    /// Number of the first extent's place.
    pub first: Bits<PLACES>,
    /// Number of the place behind the last extent's.
    pub past: Bits<PLACES>,
    /// The extents are dense columns for the transposer, as far as is known. Then the next byte belongs to the place
    /// `behind`.
    pub dense: Bit,
    /// With `dense`: bytes of that place's value in the row that come before the next byte.
    pub into: Bits<6>,
    /// No region of the receive is for the transposer.
    pub plain: Bit,
}

/// Bits of a [`Cursor`].
pub const CURSOR: usize = 96 + 1 + 64 + 64 + 32 + 3 * PLACES + 1 + 6 + 1;
