//! What the parts of `receives` hand to each other.

use crate::context::{CQ, QP, QUEUE};
use drdma_abi::described::receive_entry_flags;
use drdma_abi::receive::{MANY_RECEIVES, RECEIVE_PLACES};
use drdma_emit::prelude::*;

const _: () = assert!(RECEIVE_PLACES == 32, "places of a receive have numbers of 5 bits");

/// Bits of a block's number in the pool.
pub const BLOCK: usize = 12;
/// Bits of a number of a queue's blocks in the pool, or on their way there: up to 112.
pub const HELD: usize = 7;
/// Bits of a queue's life: how often the host has written its `enable`. A block that was asked for in an
/// earlier life is known by it, unless 65,536 of them lie between.
pub const LIFE: usize = 16;
/// Bits of a number of regions: up to 16.
pub const REGIONS: usize = 5;
/// Bits of a number of places of a receive: up to [`RECEIVE_PLACES`].
pub const PLACES: usize = 6;

/// Bits of the number of a slot for the places of a receive of many regions.
pub const SLOT: usize = 9;
const _: () = assert!(MANY_RECEIVES == 1 << SLOT, "slots have numbers of 9 bits");

/// The bit of an entry's first block that says that the receive appends.
pub const APPEND_BIT: usize = FLAGS_AT + receive_entry_flags::APPEND.trailing_zeros() as usize;
/// Where the flags of an entry's head stand.
pub const FLAGS_AT: usize = 8;

/// How a receive queue stands. Positions count blocks, modulo 2^32.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct QueueState {
    /// The host's position: what lies before it is posted.
    pub producer: Bits<32>,
    /// The next block that is read.
    pub fetched: Bits<32>,
    /// The next block that is taken.
    pub position: Bits<32>,
    /// The first and the last of the blocks in the pool, if there are any.
    pub head: Bits<BLOCK>,
    /// See `head`.
    pub tail: Bits<BLOCK>,
    /// Blocks in the pool.
    pub here: Bits<HELD>,
    /// Those, and the ones that were asked for.
    pub held: Bits<HELD>,
    /// See [`LIFE`].
    pub life: Bits<LIFE>,
    /// The host has enabled it.
    pub enabled: Bit,
    /// A receive of it has failed: nothing more is taken.
    pub halted: Bit,
    /// More is posted than was asked for: `producer` is not `fetched`.
    pub more: Bit,
    /// It waits in the planner's work list.
    pub listed: Bit,
    /// Its queue pair is broken: what is posted is flushed.
    pub flushing: Bit,
}

/// A queue, to look at.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Named {
    /// The queue.
    pub queue: Bits<QUEUE>,
}

/// What the planner has decided for a queue.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Plan {
    /// The queue.
    pub queue: Bits<QUEUE>,
    /// Its life when it was looked at. In another one, only `blocks` and the list count.
    pub life: Bits<LIFE>,
    /// What these become.
    pub producer: Bits<32>,
    /// See `producer`.
    pub fetched: Bits<32>,
    /// Blocks that are asked for.
    pub blocks: Bits<5>,
    /// What `more` becomes.
    pub more: Bit,
    /// Its turn in the work list has come: it is not listed any more.
    pub unlists: Bit,
    /// It is to be listed, if it is not.
    pub lists: Bit,
}

/// A block that was read.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Arrived {
    /// Its queue.
    pub queue: Bits<QUEUE>,
    /// The queue's life when it was asked for.
    pub life: Bits<LIFE>,
    /// 64 bytes.
    pub data: Bits<512>,
    /// It could not be read.
    pub error: Bit,
}

/// What becomes of a queue.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum MarkKind {
    /// It is halted, if it still has the same life.
    Halt,
    /// What is posted to it is flushed from now on.
    Flush,
    /// It is not.
    Calm,
}

/// A change of a queue's flags.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Mark {
    /// The queue.
    pub queue: Bits<QUEUE>,
    /// See [`MarkKind::Halt`].
    pub life: Bits<LIFE>,
    /// What changes.
    pub kind: MarkKind,
}

/// The next block of a queue is asked for.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Pop {
    /// The queue.
    pub queue: Bits<QUEUE>,
    /// It is flushed. A queue that is being flushed has blocks for nobody else, and others none for this. With the
    /// block, the queue halts.
    pub flush: Bit,
    /// It is a further block of an entry, which is there only in this life.
    pub goes_on: Bit,
    /// See `goes_on`.
    pub life: Bits<LIFE>,
    /// An entry of a receive that appends is shown, and stays.
    pub keeps: Bit,
}

/// What became of a [`Pop`].
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum PoppedKind {
    /// Nothing is posted, or the queue is halted or not enabled.
    Nothing,
    /// The block is posted, and will come.
    Later,
    /// Here it is.
    Block,
}

/// The answer to a [`Pop`].
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Popped {
    /// Whether there is a block.
    pub kind: PoppedKind,
    /// 64 bytes.
    pub data: Bits<512>,
    /// It could not be read.
    pub error: Bit,
    /// Its position in the ring.
    pub position: Bits<32>,
    /// Blocks that are posted, from it on.
    pub posted: Bits<32>,
    /// The queue's life.
    pub life: Bits<LIFE>,
}

/// A granule of a receive whose regions are not all contiguous or strided.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct ReceiveGranule {
    /// The queue pair that takes it.
    pub qp: Bits<QP>,
    /// Its slot,
    pub slot: Bits<SLOT>,
    /// and its number, behind the entry's head.
    pub index: Bits<5>,
    /// It.
    pub data: Bits<128>,
    /// The type of its region, of which it is the first granule.
    pub kind: Bits<2>,
    /// That is the last region of the receive.
    pub of_last: Bit,
}

/// What a granule of an entry is.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum GranuleKind {
    /// A contiguous region.
    Contiguous,
    /// The first granule of a region that is not contiguous.
    Header,
    /// Its second granule.
    Shape,
    /// An extent of its pattern, or a column.
    Extent,
}

/// A block of an entry that is taken, a granule of one, or that nothing was found.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Piece {
    /// The queue pair that takes it.
    pub qp: Bits<QP>,
    /// Its protection domain.
    pub pd: Bits<32>,
    /// It is taken to be flushed: nobody waits for the answer.
    pub flush: Bit,
    /// There is one.
    pub found: Bit,
    /// Something is wrong with its head or shapes, or it could not be read.
    pub malformed: Bit,
    /// It could not be read: it has no name.
    pub nameless: Bit,
    /// Its first block.
    pub starts: Bit,
    /// Its last one, as far as it matters.
    pub ends: Bit,
    /// Granules to look at, from the first one of `data` on; those of one piece are of one kind.
    pub here: Bits<3>,
    /// What they are.
    pub kind: GranuleKind,
    /// It is the last extent of its region.
    pub closes: Bit,
    /// The type of its region, if that is known from the granule,
    pub region_kind: Bits<2>,
    /// and whether that is the last one.
    pub of_last: Bit,
    /// The receive appends: `data` begins with the append region's number.
    pub appends: Bit,
    /// The granules, without the head.
    pub data: Bits<512>,
    /// What its completion will need.
    pub name: Name,
}

/// What is known of the receive that a queue pair has in use.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Name {
    /// The application's name for it.
    pub wr_id: Bits<64>,
    /// The ring position of its first block.
    pub position: Bits<32>,
    /// Its queue.
    pub queue: Bits<QUEUE>,
    /// The queue's life.
    pub life: Bits<LIFE>,
    /// The queue's completion queue.
    pub cq: Bits<CQ>,
    /// The queue is shared.
    pub shared: Bit,
    /// Places of its regions.
    pub places: Bits<PLACES>,
    /// It has many regions, or a strided one: it is in use alone.
    pub wide: Bit,
    /// It has a bitmapped or a pointer-mapped region: [`pieces`](crate::receive::pieces) knows its regions, and it has no places.
    pub pieces: Bit,
}

/// Bits of a [`Name`].
pub const NAME: usize = 64 + 32 + QUEUE + LIFE + CQ + 1 + PLACES + 2;

/// A place of a receive in use: a contiguous region; or the shape of a strided one, behind which its extents have
/// places of their own.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Span {
    /// First byte; of an extent, in the first row. Of a shape: bytes from one row to the next.
    pub addr: Bits<64>,
    /// Bytes. Of a shape: rows.
    pub len: Bits<32>,
    /// It is a shape.
    pub strided: Bit,
    /// Of a shape: extents.
    pub extents: Bits<5>,
}

/// Bits of a [`Span`].
pub const SPAN: usize = 96 + 1 + 5;

/// Why a receive is given up.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum GiveUpKind {
    /// The queue pair is broken: what it has in use, or else its own queue's oldest.
    Broken,
    /// The host has reset it or its attributes: what it has in use of a shared queue. Its own queue is not flushed any
    /// more, unless it is broken still.
    Reset,
    /// The host has made it ready: the same of its own queue.
    Ready,
    /// Something was posted to its own queue, which is flushed: that.
    Posted,
}

/// A queue pair whose receive is given up.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct GiveUp {
    /// The queue pair.
    pub qp: Bits<QP>,
    /// Why.
    pub kind: GiveUpKind,
}

/// What a [`GiveUp`] has met.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct GivenUp {
    /// It had a receive in use.
    pub used: Bit,
}

/// Where the next byte of a receive goes.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Cursor {
    /// Its address.
    pub addr: Bits<64>,
    /// Bytes of the region or extent from there on.
    pub left: Bits<32>,
    /// The place behind that one: of the next region, or of the extent that comes next.
    pub behind: Bits<PLACES>,
    /// There are further extents of a strided region.
    pub strided: Bit,
    /// Of that one: bytes from one row to the next,
    pub period: Bits<64>,
    /// and from the first one to that of the next extent. Of an append region, whose columns have a distance each: 1, and the row.
    pub row: Bits<64>,
    /// Rows that are not through, that of the next extent included.
    pub rows: Bits<32>,
    /// The first extent's place,
    pub first: Bits<PLACES>,
    /// and that behind the last one.
    pub past: Bits<PLACES>,
    /// The extents are dense columns for the transposer, as far as is known. Then the next byte is one of the place `behind`,
    pub dense: Bit,
    /// behind so many bytes of its value in the row.
    pub into: Bits<6>,
    /// No region of the receive is for the transposer.
    pub plain: Bit,
}

/// Bits of a [`Cursor`].
pub const CURSOR: usize = 96 + 1 + 64 + 64 + 32 + 3 * PLACES + 1 + 6 + 1;
