//! Takes entries of receive queues for messages, one after the other, and gives up those of broken queue pairs.
//!
//! An entry comes from the pool block by block. The taker checks its head and shapes, and gives what they
//! describe to the checker, which checks keys. An entry whose regions are not all contiguous goes there granule by
//! granule.
//!
//! Contract: a take of a receive that is there occupies the taker for 5 cycles a block, and for 2 more for each granule
//! of an entry with strided regions. A take whose blocks are not there yet waits for them, and the planner is notified;
//! nothing overtakes it. A take of a shared queue by a queue pair whose last receive is still in use waits for its
//! completion, which must be on its way; a take of the queue pair's own queue waits until there is room among those in
//! use, and a slot for its regions. An entry of many regions for which there is no slot counts as not posted. A receive
//! that appends stays in its queue until `append_taken` says that it is used up; nothing is taken before. A receive
//! that is given up has its turn when all takes before it are answered, and before all behind it.

mod blocks;
mod entries;
mod giving_up;
mod kernel;
mod takes;

use super::events::Events;
use super::record::*;
use super::shapes::Shapes;
use crate::context::{
    CQ, ConfigWrite, QP, QUEUE, QueuePairIndex, Table, TableSelect, bit_of, word_of,
};
use crate::primitive::StreamSkid;
use crate::receive::record::{AppendTaken, Take};
use drdma_abi::described::{AppendTarget, receive_entry_flags};
use drdma_abi::receive::{
    AttributesEntry, RECEIVE_MAGIC, RECEIVE_PLACES, ReceiveHeader, ReceiveQueueEntry,
};
use drdma_abi::work_request::{GRANULE, MAX_REGIONS};
use drdma_emit::prelude::*;

/// The magic of an entry's head.
const MAGIC: u64 = RECEIVE_MAGIC as u64;
/// Magic and flags of a receive that appends, and number of its granules.
const APPEND_MAGIC: u64 = MAGIC | (receive_entry_flags::APPEND as u64) << 8;
const APPEND_GRANULES: u64 = ((ReceiveHeader::SIZE + AppendTarget::SIZE) / GRANULE) as u64;
/// Regions of an entry, at most.
const MOST_REGIONS: u64 = MAX_REGIONS as u64;
/// The upper bit of each of the 16 types: contiguous and strided regions do not have it, all others do.
const ODD_BITS: u64 = 0xaaaa_aaaa;
/// Bits of a count of granules behind a head: a header for each strided region, and one for each place.
const GRANULES: usize = 6;
/// Granules behind a head, at most.
const MOST_GRANULES: u64 = (RECEIVE_PLACES + MAX_REGIONS) as u64;
/// Regions of a receive that has few, at most.
const FEW: u64 = super::in_use::FEW;
/// Bits of a queue's completion queue, and of a flag that says whether the queue is shared.
const PLACE: usize = CQ + 1;
/// Bits of a queue pair's receive queue, and of a flag that says whether there is one.
const OWN: usize = QUEUE + 1;

/// Steps of the taker.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum TakerState {
    /// Waits for a take, or for a receive that is given up.
    Ready,
    /// Asks for a block, once the queue pair has no receive in use.
    Ask,
    /// Waits for the block.
    Answer,
    /// Waits some cycles: the block has not come yet.
    Pause,
    /// Gives the block to the checker.
    Judge,
    /// Gives the block's granules to the checker.
    Walk,
    /// Waits for the decision about a receive that appends.
    Append,
    /// Takes the receive that appends out of its queue.
    Discard,
    /// Waits until that receive is out of its queue.
    Discarded,
    /// Changes a queue's flags.
    Mark,
    /// Finds the queue of the queue pair that gives up.
    Find,
    /// Finds out whether that queue is shared.
    Place,
    /// Gives up the receive in use.
    GiveUp,
    /// Learns whether the queue pair had a receive in use.
    Told,
    /// Waits until the receive that was taken instead is in use.
    Settle,
}

/// Takes entries. See the [module](self).
#[derive(LogicBlock, BlockDefault)]
pub struct Taker {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset; all tables are cleared after it.
    pub rst: Signal<In, Bit>,
    /// Words that the host writes into tables.
    pub cfg: Flow<In, ConfigWrite>,
    /// Asks for receives for messages.
    pub take: Stream<In, Take>,
    /// There is room for the answer to a take.
    pub room: Signal<In, Bit>,
    /// Queue pairs that have entered the error state.
    pub broken: Flow<In, QueuePairIndex>,
    /// Broken queue pairs to whose queues receives were posted.
    pub posted: Stream<In, QueuePairIndex>,
    /// A block may be asked for in this cycle: no operation that has its turn after `pop` has it in this cycle.
    pub may_pop: Signal<Out, Bit>,
    /// Asks for a block.
    pub pop: Stream<Out, Pop>,
    /// The block, two cycles later.
    pub popped: Flow<In, Popped>,
    /// Changes of a queue's flags.
    pub mark: Stream<Out, Mark>,
    /// A message waits for a block of `waits_for`.
    pub waits: Signal<Out, Bit>,
    /// With `waits`: the queue.
    pub waits_for: Signal<Out, Bits<QUEUE>>,
    /// Pieces of entries, for the checker.
    pub piece: Stream<Out, Piece>,
    /// Decides about the receive that appends and was taken last.
    pub append_taken: Flow<In, AppendTaken>,
    /// The checker has no entry.
    pub settled: Signal<In, Bit>,
    /// A queue pair whose receive is given up.
    pub give_up: Stream<Out, GiveUp>,
    /// Whether that queue pair had a receive in use, some cycles later.
    pub given_up: Flow<In, GivenUp>,
    /// The queue pair whose `in_use` is asked for in the next cycle.
    pub next_qp: Signal<Out, Bits<QP>>,
    /// The queue pair of `next_qp`, one cycle before, has a receive in use.
    pub in_use: Signal<In, Bit>,
    /// The queue pair of `next_qp`, one cycle before, had a receive in use then, of those that were named until then.
    pub had_any: Signal<In, Bit>,
    /// That queue pair had as many receives in use then as it may, or one of many regions.
    pub had_all: Signal<In, Bit>,
    /// There is a slot for a receive of few regions. For one of many regions there is a slot if the pool gives its
    /// entry.
    pub few_room: Signal<In, Bit>,
    /// A take or a receive that is given up is at work.
    pub busy: Signal<Out, Bit>,

    select: TableSelect,
    #[init(word_of::<ReceiveQueueEntry>("shared"))]
    place_word: Constant<Bits<4>>,
    #[init(bit_of::<ReceiveQueueEntry>("shared"))]
    shared_at: Constant<Bits<5>>,
    #[init(bit_of::<ReceiveQueueEntry>("completion_queue"))]
    cq_at: Constant<Bits<5>>,
    #[init(word_of::<AttributesEntry>("receives"))]
    own_word: Constant<Bits<4>>,
    #[init(bit_of::<AttributesEntry>("receive_queue"))]
    own_at: Constant<Bits<5>>,
    #[init(bit_of::<AttributesEntry>("receives"))]
    receives_at: Constant<Bits<5>>,
    places: Table<PLACE, QUEUE>,
    /// Of each queue pair: its last take has found no receive.
    dry: Table<1, QP>,
    owns: Table<OWN, QP>,

    takes: StreamSkid<Take>,
    events: Events,

    settles: DFF<Bit>,
    settles_returned: DFF<Bit>,
    settles_halted: DFF<Bit>,
    state: DFF<TakerState>,
    current: DFF<Take>,
    event: DFF<GiveUp>,
    /// The entry is taken to be flushed.
    flush: DFF<Bit>,
    /// A block of the entry was taken, and others follow.
    goes_on: DFF<Bit>,
    waiting: DFF<Bit>,
    /// No block could be asked for in the cycle before.
    denied: DFF<Bit>,
    pause: DFF<Bits<3>>,
    block: DFF<Popped>,
    /// That block names its own position; all blocks that its entry has, if it is a head, were posted.
    positioned: DFF<Bit>,
    posted_all: DFF<Bit>,
    /// The block has not come yet.
    is_later: Signal<Local, Bit>,
    name: DFF<Name>,
    /// Regions of the entry in further blocks.
    left: DFF<Bits<REGIONS>>,
    // An entry whose regions are not all contiguous.
    shapes: Shapes,
    /// The entry's regions are not all contiguous.
    walks: DFF<Bit>,
    /// The entry's head is malformed.
    wrong: DFF<Bit>,
    /// No granule of the entry was given to the checker.
    starts: DFF<Bit>,
    /// Granules of the entry that were not given to the checker.
    granules_left: DFF<Bits<GRANULES>>,
    /// Granules of this block that were not given to the checker.
    granules_here: DFF<Bits<3>>,
    /// The change that `mark` makes.
    kind: DFF<MarkKind>,
    /// The queue pair that gives up has a receive queue.
    has: DFF<Bit>,
    /// The queue of the queue pair that gives up is not shared.
    owned: DFF<Bit>,

    // The block that is being judged.
    head: Signal<Local, Bit>,
    blocks: Signal<Local, Bits<32>>,
    here: Signal<Local, Bits<3>>,
    behind: Signal<Local, Bits<REGIONS>>,
    granules: Signal<Local, Bits<512>>,
    empty: Signal<Local, Bit>,
    zero: [Signal<Local, Bit>; 4],
    bad: Signal<Local, Bit>,
    found: Signal<Local, Bit>,
    now: Signal<Local, Name>,
    regions: Signal<Local, Bits<REGIONS>>,
    first_of_walk: Signal<Local, Bit>,
    /// The queue pair has no receive in use.
    alone: Signal<Local, Bit>,
    /// The entry is of a receive that appends.
    appends: Signal<Local, Bit>,
    described: Signal<Local, Bit>,
    types: Signal<Local, Bits<32>>,
    /// Types of regions beyond those that the entry has.
    extra: Signal<Local, Bits<32>>,
    described_head: Signal<Local, Bit>,
    described_blocks: Signal<Local, Bits<32>>,
    /// The granule is malformed.
    walk_bad: DFF<Bit>,
    /// The granule was checked.
    looked: DFF<Bit>,
    walk_ends: Signal<Local, Bit>,
    asks: Signal<Local, Bit>,
    /// The take is of a shared queue, and waits until its queue pair has no receive in use.
    only_alone: Signal<Local, Bit>,
    /// A block may be asked for, as far as all other conditions are concerned.
    could_ask: Signal<Local, Bit>,
    /// There is room for the entry among the receives in use.
    fits: Signal<Local, Bit>,
    /// The take finds no receive, whatever is posted.
    refuses: Signal<Local, Bit>,
    unused: Signal<Local, Bits<6>>,
}
