//! The second half of [`Queue`](super::Queue): remembers the reads that were requested, in order,
//! and makes blocks of what they bring.

mod blocks;
mod kernel;
mod turns;

use super::parts::Parts;
use super::turns::Turns;
use super::{BEHIND, LENGTH, LIFE, PACE};
use crate::context::{Flags, QUEUE};
use crate::primitive::{Flatten, Join, Ram, RamStyle, ReadySlice, Restore, StreamFifo};
use crate::request::{PART, Part};
use drdma_abi::Layout;
use drdma_abi::work_request::WqeHeader;
use drdma_emit::prelude::*;

/// A read that was requested, or an entry that is kept.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct QueueRead {
    /// The queue that is read.
    pub queue: Bits<QUEUE>,
    /// Life of the queue when the doorbell was rung.
    pub life: Bits<LIFE>,
    /// Position of the read's first block.
    pub position: Bits<32>,
    /// Blocks of the batch from the first block on.
    pub remaining: Bits<17>,
    /// The read is the first one of its turn.
    pub first: Bit,
    /// The turn begins where one of its queue was cut, or is its queue's first one.
    pub fresh: Bit,
    /// The turn may end within its batch.
    pub limited: Bit,
    /// With `limited`: blocks of the turn from the first block on.
    pub left: Bits<LENGTH>,
    /// The queue is shared, and its turn is never cut.
    pub shared: Bit,
    /// The turn has one entry while others wait.
    pub tries: Bit,
    /// The queue pair's peer is silent.
    pub silent: Bit,
    /// Where the message of the turn's first entry goes on, in units; 0: it was not begun.
    pub part: Bits<PART>,
    /// Messages of the queue pair are sent in parts: see [`Parts`].
    pub splits: Bit,
    /// Binary logarithm of a part's length in units: see [`Parts`].
    pub log_units: Bits<2>,
    /// The turn is that entry alone, as it is kept: no block is read.
    pub kept: Bit,
    /// The end of the turn is reported even if the turn is not cut.
    pub told: Bit,
}

/// A read whose beats are waited for.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
struct Awaited {
    read: QueueRead,
    /// The read's queue is not that of the read before.
    other: Bit,
}

/// A turn that was cut, or whose end is reported.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct CutTurn {
    /// The queue of the turn.
    pub queue: Bits<QUEUE>,
    /// Life of the queue.
    pub life: Bits<LIFE>,
    /// Position of the first block that has not left.
    pub position: Bits<32>,
    /// Blocks of the entry that was too long, or 0: see [`Turns`].
    pub length: Bits<LENGTH>,
    /// The turn took longer than its share of time.
    pub slow: Bit,
    /// Blocks of the turn.
    pub had: Bits<PACE>,
    /// Beginning of the next part of the message of the entry at `position`, in units; 0: it was not begun.
    pub part: Bits<PART>,
    /// The message's next part is its last one.
    pub last_part: Bit,
    /// The turn ended because its blocks were used up, not because it was cut.
    pub used_up: Bit,
    /// With `used_up`: the turn was the last part of a message.
    pub after_parts: Bit,
}

/// Fields that accompany a block.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
struct Beside {
    queue: Bits<QUEUE>,
    position: Bits<32>,
    remaining: Bits<17>,
    error: Bit,
    begins: Bit,
    part: Part,
}

/// Contract: up to 32 reads; one block per cycle, and one cycle more before each turn, and in a limited turn before
/// each entry.
///
/// Whether a turn leaves or is dropped is decided with its first block: it is dropped if its queue is
/// halted or was enabled anew, or if a turn of the queue was cut before, unless this one is `fresh`, that is,
/// fetched from where that one was cut. [`Turns`] says where a turn ends before it is used up; it is *cut* there,
/// and its other blocks are dropped. [`Parts`] says which entry is sent in parts: a turn ends behind one, too. Of each
/// queue the last such entry is kept, and leaves again for each further part.
#[derive(LogicBlock, BlockDefault)]
pub struct Batches {
    // ------------------------------------------------------------------ clock and reset
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,

    // ------------------------------------------------------------------ reads, as requested
    /// Reads, in the order in which they are requested.
    pub read: Stream<In, QueueRead>,
    /// More than a quarter of the places for reads are free.
    pub few: Signal<Out, Bit>,
    /// Another queue waits for the one that is being fetched from.
    pub blocked: Signal<In, Bit>,
    /// Blocks that a turn may have while others wait.
    pub limit: Signal<In, Bits<PACE>>,

    // ------------------------------------------------------------------ the queues' states
    /// The queue whose state is asked for in the next cycle.
    pub next_queue: Signal<Out, Bits<QUEUE>>,
    /// The queue of `next_queue`, one cycle before, is halted by an error.
    pub queue_halted: Signal<In, Bit>,
    /// Life of that queue.
    pub life_now: Signal<In, Bits<LIFE>>,

    /// All state of a queue is cleared, after power-up.
    pub wipe_valid: Signal<In, Bit>,
    /// With `wipe_valid`: the queue.
    pub wipe_index: Signal<In, Bits<QUEUE>>,

    // ------------------------------------------------------------------ what the reads bring
    /// A beat of a read's response is offered.
    pub resp_valid: Signal<In, Bit>,
    /// The beat is taken in this cycle.
    pub resp_ready: Signal<Out, Bit>,
    /// The 64 bytes of the beat.
    pub resp_data: Signal<In, Bits<512>>,
    /// The beat is the last one of its read.
    pub resp_last: Signal<In, Bit>,
    /// The read has failed.
    pub resp_error: Signal<In, Bit>,

    // ------------------------------------------------------------------ blocks
    /// A block is offered.
    pub wqe_valid: Signal<Out, Bit>,
    /// The block is taken in this cycle.
    pub wqe_ready: Signal<In, Bit>,
    /// The 64 bytes of the block.
    pub wqe_data: Signal<Out, Bits<512>>,
    /// Number of the block's queue.
    pub wqe_queue: Signal<Out, Bits<QUEUE>>,
    /// Position of the block in its queue, modulo 2^32.
    pub wqe_position: Signal<Out, Bits<32>>,
    /// Blocks of the batch from this one on, this one included.
    pub wqe_remaining: Signal<Out, Bits<17>>,
    /// The block could not be read.
    pub wqe_error: Signal<Out, Bit>,
    /// The block is the first one of a turn.
    pub wqe_begins: Signal<Out, Bit>,
    /// Part of its message that the block's entry stands for.
    pub wqe_part: Signal<Out, Part>,

    // ------------------------------------------------------------------ turns that are cut
    /// Turns that are cut.
    pub cut_turn: Flow<Out, CutTurn>,

    /// Blocks of queue pairs whose peers are not silent are on their way.
    pub heard_at_work: Signal<Out, Bit>,
    /// Turns that may be cut are under way.
    pub own_at_work: Signal<Out, Bit>,
    /// Turns of other queues are behind the current one.
    pub behind: Signal<Out, Bit>,
    /// Number of these turns that are whole batches.
    pub wholes_behind: Signal<Out, Bits<BEHIND>>,
    /// Blocks are being read, of `queue_now`.
    pub reading: Signal<Out, Bit>,
    /// With `reading`: the queue.
    pub queue_now: Signal<Out, Bits<QUEUE>>,
    /// Reads or their blocks are under way.
    pub at_work: Signal<Out, Bit>,

    #[init(Constant::new((WqeHeader::field("granules").start as u64).into()))]
    granules_at: Constant<Bits<9>>,
    reads: StreamFifo<Awaited, 5, 6>,
    last_queue: DFF<Bits<QUEUE>>,
    /// The read's queue is not that of the one before.
    other: Signal<Local, Bit>,
    others: DFF<Bits<BEHIND>>,
    /// Number of waiting turns that are whole batches.
    wholes: DFF<Bits<BEHIND>>,
    whole_comes: Signal<Local, Bit>,
    whole_goes: Signal<Local, Bit>,
    comes: Signal<Local, Bit>,
    goes: Signal<Local, Bit>,
    turns: Turns,
    parts: Parts,
    /// The block must wait for a cycle while its entry is examined.
    looking: Signal<Local, Bit>,
    /// The turn ends with the block that leaves.
    parted: Signal<Local, Bit>,
    /// Queues of which a turn was cut, and no fresh one has come since.
    cut_queues: Flags<QUEUE, 1>,
    load: Signal<Local, Bit>,

    // The read whose beats are next.
    busy: DFF<Bit>,
    /// That read; `position`, `remaining` and `left` are those of its next block, and `first` is set until a block of
    /// the turn was taken.
    at: DFF<QueueRead>,
    /// Blocks that the turn may have while others wait.
    most: Signal<Local, Bits<PACE>>,
    /// Number of reads of queue pairs whose peers are not silent.
    heard_reads: DFF<Bits<BEHIND>>,
    heard_comes: Signal<Local, Bit>,
    heard_goes: Signal<Local, Bit>,
    /// Number of reads of turns that may be cut.
    own_reads: DFF<Bits<BEHIND>>,
    own_comes: Signal<Local, Bit>,
    own_goes: Signal<Local, Bit>,
    /// `dropping` is valid for the turn.
    judged: DFF<Bit>,
    dropping: DFF<Bit>,
    open: Signal<Local, Bit>,
    /// The turn ends before the block that is offered.
    cut: Signal<Local, Bit>,
    leaves: Signal<Local, Bit>,
    take: Signal<Local, Bit>,
    done: Signal<Local, Bit>,

    /// Entries in parts: the first block, and the lanes of the second one that are needed.
    #[init(Ram::new(RamStyle::Ultra))]
    entries: Ram<ENTRY, ENTRY_LANES, QUEUE>,
    entry: Join<512, LANE, ENTRY>,
    /// The next block is the second one of an entry that is kept.
    second: DFF<Bit>,
    /// The block that is offered: of a read, or kept.
    offered: Signal<Local, Bit>,
    block: Signal<Local, Bits<512>>,
    unread: Signal<Local, Bit>,
    last: Signal<Local, Bit>,
    /// The block leaves in this cycle.
    left: Signal<Local, Bit>,
    /// The turn is used up with the block, and its end is reported.
    used_up: Signal<Local, Bit>,
    part: Signal<Local, Part>,
    beside: Signal<Local, Beside>,
    beside_in: Flatten<Beside, SIDE>,
    beside_out: Restore<Beside, SIDE>,
    left_block: Signal<Local, Beside>,
    merged: Join<512, SIDE, BLOCK>,
    slice: ReadySlice<BLOCK>,
}

/// Bits of what accompanies a block.
const SIDE: usize = Beside::BITS;
/// Bits of a block, with those beside it.
const BLOCK: usize = 512 + SIDE;
const _: () = assert!(BEHIND == 6, "up to 32 turns are fetched");
/// Bits of the second block of an entry in parts that are kept: a granule; the first block is kept whole.
const LANE: usize = 128;
const ENTRY: usize = 512 + LANE;
const ENTRY_LANES: usize = ENTRY / LANE;
/// The lanes of the first block, and of the second one.
const FIRST_BLOCK: u64 = 0xf;
const SECOND_BLOCK: u64 = 0x10;
const _: () = assert!(ENTRY_LANES == 5, "lanes of an entry");
