//! Decides which blocks of receive queues are read, and when.
//!
//! A doorbell makes its queue's blocks known, and the first of them are read at once; the pool lists a queue again when
//! few of its blocks are left. A read has up to 16 blocks. The more of the pool is free, the more a queue gets: 112
//! blocks while three quarters of the pool are free, 64 while half of it is, then 16, then 4, then 1. The last 16
//! places are for the queue that a message waits for, which gets a block at a time; so no queue starves because others
//! hold blocks and get no messages.
//!
//! Contract: 1,024 doorbells wait. A doorbell is dropped if it does not advance its queue, by up to the ring and no
//! further than what was taken, or if its queue is halted or not enabled. A pass over a queue takes 9 cycles, or more
//! while the pool or `read` is busy, and makes one read; 64 reads may be under way. Doorbells and listed queues take
//! turns, each in their order.

mod kernel;

use super::record::*;
use crate::context::{ConfigWrite, QP, QUEUE, QueuePairIndex, RingTable, TableSelect, word_of};
use crate::primitive::{Ram, StreamFifo};
use crate::shell::control::Doorbell;
use crate::shell::host_read::{HostReadBeat, HostReadRequest};
use drdma_abi::receive::ReceiveQueueEntry;
use drdma_emit::prelude::*;

/// Blocks of a read, at most.
const MOST: u64 = 16;
/// Places of the pool that are kept for the queue that a message waits for.
const RESERVE: u64 = 16;

/// Steps of a pass over a queue.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum PlannerState {
    /// Waits for a doorbell or a listed queue.
    Idle,
    /// Asks for the queue's state.
    Look,
    /// Gets the queue's state.
    See,
    /// Compares the doorbell with the queue's state.
    Measure,
    /// Decides whether the doorbell is dropped.
    Judge,
    /// Computes how many blocks could be read.
    Cut,
    /// Computes how many blocks are read.
    Size,
    /// Gives the pool the result.
    Commit,
    /// Asks for the blocks.
    Request,
    /// Reports that receives were posted to the queue of a broken queue pair.
    Tell,
}

/// A read that is under way.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct UnderWay {
    /// The queue whose blocks are read.
    pub queue: Bits<QUEUE>,
    /// The queue's life when the read was made.
    pub life: Bits<LIFE>,
}

/// Decides about reads. See the [module](self).
#[derive(LogicBlock, BlockDefault)]
pub struct Planner {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset; all tables are cleared after it.
    pub rst: Signal<In, Bit>,
    /// Words that the host writes into tables.
    pub cfg: Flow<In, ConfigWrite>,
    /// Doorbells.
    pub doorbell: Stream<In, Doorbell>,
    /// Queues that need further blocks.
    pub list: Flow<In, Named>,
    /// Asks for the state of a queue.
    pub look: Stream<Out, Named>,
    /// State of the queue that was looked at in the cycle before.
    pub seen: Signals<In, QueueState>,
    /// Plan for a queue.
    pub plan: Stream<Out, Plan>,
    /// Free places of the pool that no block on its way needs.
    pub unreserved: Signal<In, Bits<13>>,
    /// A message waits for a block of `waits_for`.
    pub waits: Signal<In, Bit>,
    /// With `waits`: the queue.
    pub waits_for: Signal<In, Bits<QUEUE>>,
    /// Reads of host memory.
    pub read: Stream<Out, HostReadRequest>,
    /// Bytes that the reads bring.
    pub beat: Stream<In, HostReadBeat>,
    /// Blocks that were read, for the pool.
    pub append: Stream<Out, Arrived>,
    /// Queue pairs that are broken, and to whose queue receives were posted.
    pub flush: Stream<Out, QueuePairIndex>,
    /// Doorbells or reads are not used up.
    pub busy: Signal<Out, Bit>,

    // The queues' entries.
    select: TableSelect,
    #[init(word_of::<ReceiveQueueEntry>("qp"))]
    owner_word: Constant<Bits<4>>,
    rings: RingTable<QUEUE>,
    owners: Ram<QP, 1, QUEUE>,

    // Doorbells and listed queues that wait.
    bells: StreamFifo<Doorbell, 10, 11>,
    work: StreamFifo<Named, 12, 13>,
    /// A queue that goes into `work`.
    is_listed: DFF<Bit>,
    listed: DFF<Bits<QUEUE>>,
    reads: StreamFifo<UnderWay, 6, 7>,
    /// The last pass was for a doorbell.
    bell_last: DFF<Bit>,

    // The queue of the pass.
    state: DFF<PlannerState>,
    queue: DFF<Bits<QUEUE>>,
    /// The pass is for a doorbell.
    rings_bell: DFF<Bit>,
    position: DFF<Bits<32>>,
    then: DFF<QueueState>,
    /// Position of the next block that is read, modulo the largest ring.
    fetched: DFF<Bits<17>>,
    ring: DFF<Bits<64>>,
    log: DFF<Bits<8>>,
    owner: DFF<Bits<QP>>,
    #[init(Constant::new(1.into()))]
    one: Constant<Bits<17>>,
    blocks: DFF<Bits<17>>,
    step: DFF<Bits<32>>,
    posted: DFF<Bits<32>>,
    good: DFF<Bit>,
    target: DFF<Bits<32>>,
    cap: DFF<Bits<HELD>>,
    spare: DFF<Bit>,
    wanted: DFF<Bits<17>>,
    to_end: DFF<Bits<17>>,
    room: DFF<Bits<HELD>>,
    cut: DFF<Bits<5>>,
    least: Signal<Local, Bits<17>>,
    unused_least: Signal<Local, Bits<17>>,
    /// The blocks are fewer than [`MOST`].
    few: Signal<Local, Bit>,
    ends_first: Signal<Local, Bit>,
    fills_first: Signal<Local, Bit>,
    offset: DFF<Bits<17>>,
    addr: DFF<Bits<64>>,
    tells: Signal<Local, Bit>,
}
