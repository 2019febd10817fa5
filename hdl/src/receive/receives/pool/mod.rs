//! Keeps the blocks of receive queues that were read ahead, in a list for each queue, and the state of the queues.
//!
//! Blocks of all queues share 4,096 places of 64 B. Free places are a list, too, so that all that a queue holds is
//! given back at once when the host writes its `enable`.
//!
//! Contract: one operation starts in a cycle, in the order of the ports below; it sees all that started before it.
//! `seen` belongs to the look that was taken in the cycle before, `popped` to the pop two cycles before. A pop takes
//! two turns. A block that comes waits for its turn in a register, so that one comes in two cycles at most. A pop that
//! `keeps` leaves the entry of a receive that appends in its queue, and finds nothing if the entry has many regions and
//! there is no room for them. The host's words are accepted at once: they come at least two cycles apart, except while
//! all tables are cleared, when nothing else may be offered.

mod kernel;

use super::record::*;
use crate::context::{ConfigWrite, QUEUE, Table, TableSelect};
use crate::primitive::{Flatten, Ram, RamStyle, Restore, StreamSkid};
use drdma_abi::Layout;
use drdma_abi::receive::ReceiveHeader;
use drdma_emit::prelude::*;

/// Bits of a [`QueueState`].
const STATE: usize = 2 * 32 + 2 * BLOCK + 2 * HELD + LIFE + 5;
/// Bits of a block in the pool: 64 B, whether they could not be read, and whether they have many regions if they are
/// the first block of an entry.
const STORED: usize = 514;
const UNREAD_BIT: usize = 512;
const MANY_BIT: usize = 513;
/// First bit of the number of an entry's regions in its head, and of their types.
const REGIONS_AT: usize = 16;
const TYPES_AT: usize = 96;
/// Regions of a receive that has few, at most.
const FEW: u64 = super::in_use::FEW;
/// A queue with no more blocks than this gets further ones, so that a read of 16 fits at least. The first value holds
/// while so many places are free that the planner gives a queue 112 blocks.
const REFILL_OF_MANY: u64 = 96;
const REFILL: u64 = 48;
/// Free places from which on a queue gets 112 blocks.
pub const MANY: u64 = 3072;

/// Operations on a queue.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum PoolOperation {
    /// No operation.
    Rest,
    /// The host has written the queue's `enable`.
    Renew,
    /// A plan of the planner takes effect.
    Plan,
    /// The queue's flags change.
    Mark,
    /// The planner asks for the queue's state.
    Look,
    /// The queue's first block is looked up.
    Pop,
    /// The first block is given to the taker.
    Give,
    /// A block of the queue has come.
    Append,
}

/// Keeps blocks. See the [module](self).
#[derive(LogicBlock, BlockDefault)]
#[check(ReceiveHeader::field("flags").start == FLAGS_AT)]
#[check(ReceiveHeader::field("regions").start == REGIONS_AT && ReceiveHeader::field("types").start == TYPES_AT)]
pub struct Pool {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset; all tables are cleared after it.
    pub rst: Signal<In, Bit>,
    /// Words that the host writes into tables.
    pub cfg: Flow<In, ConfigWrite>,
    /// Plans of the planner.
    pub plan: Stream<In, Plan>,
    /// Queues that halt, from scatter.
    pub halt: Stream<In, Mark>,
    /// Changes of queues' flags, from the taker.
    pub mark: Stream<In, Mark>,
    /// The planner asks for the state of a queue.
    pub look: Stream<In, Named>,
    /// State of the queue of `look`, one cycle before.
    pub seen: Signals<Out, QueueState>,
    /// The taker may ask for a block in this cycle: a block that was read waits meanwhile. Without it `pop` must not be
    /// valid.
    pub may_pop: Signal<In, Bit>,
    /// The taker asks for a block.
    pub pop: Stream<In, Pop>,
    /// There is room for a receive of many regions.
    pub many_room: Signal<In, Bit>,
    /// Answer to the pop two cycles before.
    pub popped: Flow<Out, Popped>,
    /// Blocks that were read.
    pub append: Stream<In, Arrived>,
    /// A queue that needs further blocks, and is listed now.
    pub list: Flow<Out, Named>,
    /// Places that are free and that no block on its way needs.
    pub unreserved: Signal<Out, Bits<13>>,

    // The host's word waits for its turn, for at most a cycle.
    select: TableSelect,
    renews: DFF<Bit>,
    wipes: DFF<Bit>,
    enables: DFF<Bit>,
    renewed: DFF<Bits<QUEUE>>,

    // The operation that is chosen in a cycle is carried out in the next.
    halts: StreamSkid<Mark>,
    open: Signal<Local, Bit>,
    marks: Signal<Local, Bit>,
    looks: Signal<Local, Bit>,
    pops: Signal<Local, Bit>,
    chosen: Signal<Local, PoolOperation>,
    chosen_queue: Signal<Local, Bits<QUEUE>>,
    operation: DFF<PoolOperation>,
    queue: DFF<Bits<QUEUE>>,
    wiping: DFF<Bit>,
    enabling: DFF<Bit>,
    planned: DFF<Plan>,
    marked: DFF<Mark>,
    asked: DFF<Pop>,
    /// A block that has come; `has_arrived`: it waits for its turn.
    has_arrived: DFF<Bit>,
    arrived: DFF<Arrived>,

    states: Table<STATE, QUEUE>,
    standing: Restore<QueueState, STATE>,
    changed: Flatten<QueueState, STATE>,
    then: Signal<Local, QueueState>,
    usable: Signal<Local, Bit>,
    /// The block stays in its queue.
    stays: Signal<Local, Bit>,
    /// The block's entry needs room that there is not.
    no_room: Signal<Local, Bit>,
    /// The block that comes has many regions, if it is the first one of an entry.
    many: Signal<Local, Bit>,

    // The pool, and each block's successor in its list. That of the first free place is read in every cycle but `Pop`,
    // in which that of the queue's first block is read for `Give`.
    #[init(Ram::new(RamStyle::Ultra))]
    blocks: Ram<STORED, 1, BLOCK>,
    links: Table<BLOCK, BLOCK>,
    link_writes: Signal<Local, Bit>,
    link_at: Signal<Local, Bits<BLOCK>>,
    link_to: Signal<Local, Bits<BLOCK>>,
    free_head: DFF<Bits<BLOCK>>,
    free_tail: DFF<Bits<BLOCK>>,
    given: DFF<Bits<HELD>>,
    reserved: DFF<Bits<5>>,
    left: DFF<Bits<13>>,
    refill: DFF<Bits<HELD>>,
}
