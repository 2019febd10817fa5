//! Fetches the blocks of send queues' rings, doorbell by doorbell.
//!
//! Stands between the registers and the decoder. Doorbells of all queues wait in one FIFO. The blocks that a doorbell
//! adds to its ring, a *batch*, are read in pieces of up to 16 blocks, several ahead of the decoder. A batch is served
//! in one or more *turns*, between which other queues have theirs.
//!
//! Contract: 1,024 doorbells wait; a doorbell that adds nothing, more than its ring holds, or is for a halted queue is
//! dropped. One block leaves per cycle while its data are there (one cycle is lost a turn); a doorbell's first read is
//! requested 4 cycles after the doorbell, and one doorbell is served in 5 cycles. A turn leaves whole: a queue that
//! halts loses those of its turns that have not begun. Writing a queue's `enable` word also drops everything that was
//! rung before.
//!
//! *Turns*: a turn is the whole batch if no other queue waits or is being served; otherwise it is *limited*, to 256
//! blocks, or fewer the more others there are, down to 32. The rest of its batch goes behind the others (`rests`), and
//! is fetched from where the turn ends, although an entry may reach beyond it. The second half, [`Batches`], sees the
//! entries: it *cuts* a turn before an entry that is not whole, and also before one with which the turn would exceed
//! its share while others wait. It reports where (`cuts`), and drops all that comes of the queue up to the turn that is
//! fetched from there, a *fresh* one, which is the next one and long enough for that entry. A turn that took too long
//! is cut as well; the queue's turns are then as short as that one until its batch is over. So no entry is ever cut, a
//! queue alone is served without a break, and little is fetched twice if there are several queues. A doorbell for a
//! queue that has a rest becomes part of it.
//!
//! *Shared queues* take no turns: their requests and those of queue pairs' own queues name the same queue pairs, and
//! must stay in the order of the posts. A batch of a shared queue begins when all that was rung before it is over,
//! unless that is held, and is not cut; what is rung behind it comes behind it.
//!
//! A doorbell of a queue whose queue pair the keeper *holds* ([`Hold`]) is *parked* when its turn comes, and those of
//! others go on. Parked doorbells are tried again in turns, one after every 8 others or when there are no others. 1,024
//! are parked; if there is no room for another, it is served all the same. Doorbells are positions: one that is served
//! behind a newer one of its queue adds nothing. Shared queues are never parked, and neither is what was fetched.
//!
//! A queue pair whose peer is *silent* ([`Silence`]) is *tried*: while others wait its first turn has one entry, and
//! what is behind that is
//! *deferred*, which means parked as long as doorbells of others wait, or queue pairs whose peers are not silent have
//! rests, or blocks on their way. So one whose peer never answers costs the others an entry or a few, and queue pairs
//! that are all silent take turns like others. What is deferred still comes before what a shared queue is rung for
//! later.

use crate::context::{INDEX, QP, QUEUE, RingTable, Stamps, TableSelect};
use crate::primitive::{Flatten, PromptFifo, Ram, RamStyle, Restore, StreamFifo};
use crate::request::{PART, Part};
use drdma_emit::prelude::*;

mod batches;
mod kernel;
mod parking;
mod parts;
mod share;
#[cfg(test)]
mod tests;
mod turns;
#[cfg(test)]
mod with_host_read;

pub use batches::Batches;
use batches::CutTurn;
use parking::Parking;
pub use parking::{Hold, Silence};
use share::Share;

/// Bits of a queue's life. A doorbell is wrongly taken for one of its queue's present life if the host has written
/// `enable` 65,536 times, or a multiple of that, since it was rung.
const LIFE: usize = 16;
/// Bits of a count of blocks of an entry, or of a limited turn.
const LENGTH: usize = 13;
/// Bits of a count of turns that were fetched.
const BEHIND: usize = 6;
/// Bits of a count of the blocks that a turn may have if no entry needs more.
const PACE: usize = 9;
/// Blocks of an entry that is sent in parts.
const PART_BLOCKS: u64 = 2;
/// Blocks of a turn behind such an entry if there are no others, and their binary logarithm: another such entry, and
/// one before it.
const PROBE_BLOCKS: u64 = 4;
const LOG_PROBE: usize = PROBE_BLOCKS.ilog2() as usize;
const _: () = assert!(LOG_PROBE == 2, "the bits that a number above has");
/// Bits of the binary logarithm of a ring's blocks.
const LOG: usize = 5;
/// Bits of a [`Standing`].
const STANDING: usize = Standing::BITS;

/// A doorbell.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
struct Doorbell {
    /// The producer's position, in blocks.
    position: Bits<32>,
    queue: Bits<QUEUE>,
}

/// A queue that has a turn, or waits for one.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
struct Waiting {
    /// Position up to which blocks were posted.
    target: Bits<32>,
    queue: Bits<QUEUE>,
    /// Life of the queue when the doorbell was rung.
    life: Bits<LIFE>,
}

/// A doorbell that is parked.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
struct Parked {
    doorbell: Waiting,
    /// The queue pair is not held, but its peer is silent.
    deferred: Bit,
    /// This is not a doorbell: the queue's message goes on in another part.
    resumes: Bit,
    /// With `resumes`: the queue pair's peer was not silent.
    heard: Bit,
}

/// A batch that is not over.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
struct Rest {
    queue: Bits<QUEUE>,
    life: Bits<LIFE>,
    /// The queue pair's peer was not silent.
    heard: Bit,
}

/// Position up to which a queue has been fetched, and the blocks of it that still wait.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
struct Standing {
    /// Position of the next block that is fetched.
    position: Bits<32>,
    /// Position of the queue's last doorbell.
    target: Bits<32>,
    /// The queue's batch is not over: its rest waits.
    queued: Bit,
    /// The queue's next turn begins where one was cut, or is its first one.
    fresh: Bit,
    /// The queue's pace: see [`Share`].
    pace: Bits<PACE>,
    /// The message of the queue's next entry was begun, and its next part is not the last one, or was not fetched yet.
    /// Then doorbells only extend the batch.
    midway: Bit,
    /// With `midway`, while the next part is parked: its beginning.
    part: Bits<PART>,
    /// With `midway`: the next part is the last one.
    last_part: Bit,
}

/// Steps of the unit that fetches.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum QueueState {
    /// Waits for a doorbell, and reads its queue's entry with it.
    Idle,
    /// Compares the doorbell with the queue's position.
    Compare,
    /// Drops the doorbell, or begins its turn and, if that is not limited, cuts its first read.
    Judge,
    /// Finds the place in the ring of the next read.
    Measure,
    /// Cuts the next read.
    Cut,
    /// Requests the read.
    Request,
    /// Stores the queue's position.
    Finish,
}

/// Fetches blocks. See the [module](self).
#[derive(LogicBlock, BlockDefault)]
pub struct Queue {
    // ------------------------------------------------------------------ clock and reset
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,

    // ------------------------------------------------------------------ doorbells
    /// A doorbell is offered.
    pub doorbell_valid: Signal<In, Bit>,
    /// The doorbell is taken in this cycle.
    pub doorbell_ready: Signal<Out, Bit>,
    /// Number of the queue.
    pub doorbell_queue: Signal<In, Bits<QUEUE>>,
    /// The producer's position, in blocks, modulo 2^32.
    pub doorbell_position: Signal<In, Bits<32>>,

    // ------------------------------------------------------------------ queue pairs that are held
    /// A queue pair is held from now on, or not any more.
    pub hold_valid: Signal<In, Bit>,
    /// With `hold_valid`: the queue pair.
    pub hold_qp: Signal<In, Bits<QP>>,
    /// With `hold_valid`: the queue pair is held.
    pub hold_held: Signal<In, Bit>,

    /// The peer of a queue pair is silent from now on, or not any more.
    pub silence_valid: Signal<In, Bit>,
    /// With `silence_valid`: the queue pair.
    pub silence_qp: Signal<In, Bits<QP>>,
    /// With `silence_valid`: the queue pair's peer is silent.
    pub silence_silent: Signal<In, Bit>,

    /// Enough parts of messages are on their way: no further part of a message that was begun may be fetched.
    pub parts_full: Signal<In, Bit>,

    // ------------------------------------------------------------------ tables
    /// The host writes a word of a table.
    pub cfg_valid: Signal<In, Bit>,
    /// Number of the table that is written; 2: send queues.
    pub cfg_table: Signal<In, Bits<3>>,
    /// Index of the entry that is written.
    pub cfg_index: Signal<In, Bits<INDEX>>,
    /// Number of the word in its entry.
    pub cfg_word: Signal<In, Bits<4>>,
    /// Value of the word.
    pub cfg_data: Signal<In, Bits<32>>,
    /// Queue that is fetched from next: `fetch_halted` is its state in the next cycle.
    pub fetch_next: Signal<Out, Bits<QUEUE>>,
    /// The queue `fetch_next` of the cycle before is halted by an error.
    pub fetch_halted: Signal<In, Bit>,
    /// Queue whose blocks leave next: `batch_halted` is its state in the next cycle.
    pub batch_next: Signal<Out, Bits<QUEUE>>,
    /// The queue `batch_next` of the cycle before is halted by an error.
    pub batch_halted: Signal<In, Bit>,

    // ------------------------------------------------------------------ host_read
    /// A read of host memory is offered.
    pub read_req_valid: Signal<Out, Bit>,
    /// The read is taken in this cycle.
    pub read_req_ready: Signal<In, Bit>,
    /// Address of the read's first byte.
    pub read_req_addr: Signal<Out, Bits<64>>,
    /// Bytes of the read.
    pub read_req_bytes: Signal<Out, Bits<13>>,
    /// A beat of a read's response is offered.
    pub read_resp_valid: Signal<In, Bit>,
    /// The beat is taken in this cycle.
    pub read_resp_ready: Signal<Out, Bit>,
    /// The 64 bytes of the beat.
    pub read_resp_data: Signal<In, Bits<512>>,
    /// The beat is the last one of its read.
    pub read_resp_last: Signal<In, Bit>,
    /// The read has failed.
    pub read_resp_error: Signal<In, Bit>,

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
    /// The block is the first one of a turn, of another queue or the next one of the same: what is missing of an
    /// entry of the turn before does not come.
    pub wqe_begins: Signal<Out, Bit>,
    /// Part of its message that the block's entry stands for.
    pub wqe_part: Signal<Out, Part>,
    /// A doorbell is not used up, or its blocks are on their way.
    pub busy: Signal<Out, Bit>,

    // Copies of the queues' entries.
    select: TableSelect,
    cfg_enable: Signal<Local, Bit>,
    rings: RingTable<QUEUE>,
    unused_log: Signal<Local, Bits<8>>,
    #[init(Ram::new(RamStyle::Ultra))]
    standings: Ram<STANDING, 1, QUEUE>,
    standing_in: Flatten<Standing, STANDING>,
    standing_out: Restore<Standing, STANDING>,
    new_standing: Signal<Local, Standing>,
    standing: Signal<Local, Standing>,
    /// Number of the last write of each queue's `enable` word: a batch of an earlier life is recognized by it.
    /// Read for doorbells, for the fetching unit, and for the batches.
    lives: Stamps<LIFE, QUEUE, 3>,

    // Doorbells. The life of their queue follows a cycle later.
    #[init(StreamFifo::prompt())]
    doorbells: StreamFifo<Doorbell, 10, 11>,
    rung: DFF<Bit>,
    doorbell_lives: PromptFifo<LIFE, 10, 11>,
    parking: Parking,
    /// Doorbells of queue pairs that are held, or deferred.
    parked: StreamFifo<Parked, 10, 11>,
    /// Number of deferred doorbells.
    deferred: DFF<Bits<11>>,
    /// Messages whose next part is parked, and those of peers that are not silent.
    midways: DFF<Bits<11>>,
    heard_midways: DFF<Bits<11>>,
    /// Number of batches that are not over, and of deferred ones.
    behind_turns: Signal<Local, Bits<11>>,
    /// Number of rests of queue pairs whose peers were not silent.
    heard_rests: DFF<Bits<11>>,
    /// Other queues wait, or have blocks on their way: see the module.
    rivals: DFF<Bit>,
    is_held: Signal<Local, Bit>,
    defers: Signal<Local, Bit>,
    /// The turn is the first one of a silent queue pair.
    tries: DFF<Bit>,
    silent: DFF<Bit>,
    /// Doorbells since a parked one was tried.
    turn: DFF<Bits<3>>,
    takes_parked: Signal<Local, Bit>,
    /// Batches that are not over, and turns that were cut.
    #[init(StreamFifo::prompt())]
    rests: StreamFifo<Rest, 10, 11>,
    #[init(StreamFifo::prompt())]
    cuts: StreamFifo<CutTurn, 6, 7>,
    /// A turn was cut in the cycle before: that is known late in a cycle.
    is_cutting: DFF<Bit>,
    cutting: DFF<CutTurn>,
    takes_cut: Signal<Local, Bit>,
    takes_rest: Signal<Local, Bit>,
    /// A doorbell of a shared queue waits until the batch of the doorbell before it is over.
    waits: DFF<Bit>,
    waiting: DFF<Waiting>,
    /// The doorbell or rest whose turn comes next.
    next: Signal<Local, Waiting>,
    takes_waiting: Signal<Local, Bit>,
    /// The doorbell or rest `next` has to wait.
    must_wait: Signal<Local, Bit>,
    shared: DFF<Bit>,
    /// The turn before was that of a rest.
    rest_before: DFF<Bit>,
    /// What is at work came with its life, because it is not a new doorbell; is a rest; begins where a turn was cut.
    known: DFF<Bit>,
    is_rest: DFF<Bit>,
    is_cut: DFF<Bit>,
    cut_from: DFF<Bits<32>>,
    cut_length: DFF<Bits<LENGTH>>,
    cut_slow: DFF<Bit>,
    cut_had: DFF<Bits<PACE>>,
    /// The current turn is a message's next part: its beginning, and whether it is the last one.
    resumes: DFF<Bit>,
    part: DFF<Bits<PART>>,
    last_part: DFF<Bit>,
    splits: DFF<Bit>,
    log_units: DFF<Bits<2>>,
    /// See [`Standing::midway`].
    midway: DFF<Bit>,
    /// The turn is an entry that `Batches` keeps.
    kept: DFF<Bit>,
    /// `Batches` is to report the end of the turn.
    told: DFF<Bit>,
    /// The current turn begins where an earlier turn was used up.
    used_up: DFF<Bit>,
    /// With `used_up`: that turn was the last part of a message, and the next entry may have parts as well.
    after_parts: DFF<Bit>,
    /// The turn is not all of its batch, and the rest goes behind the others.
    has_rest: DFF<Bit>,
    /// The queue's turn goes on from where the queue stands, or from where a turn was cut.
    goes_on: Signal<Local, Bit>,
    // State of the current queue.
    from: Signal<Local, Bits<32>>,
    goal: Signal<Local, Bits<32>>,
    was_queued: DFF<Bit>,
    fresh: DFF<Bit>,
    /// Blocks that the current queue's rest would add.
    rest_adds: DFF<Bits<32>>,
    share: Share,
    limited: DFF<Bit>,
    limits: Signal<Local, Bit>,
    /// Other queues wait, for which a rest may be left.
    crowds: Signal<Local, Bit>,
    /// The batch goes on behind the entry that is kept.
    goes_beyond: Signal<Local, Bit>,
    /// The turn has only a few blocks, and its end is reported.
    probes: Signal<Local, Bit>,
    may_read: Signal<Local, Bit>,
    /// Blocks of the turn that are not fetched yet.
    left: DFF<Bits<17>>,
    /// The turn that is being fetched has been cut.
    aborted: DFF<Bit>,
    blocked: DFF<Bit>,
    /// The rest of the batch is to wait behind other queues.
    leaves_rest: Signal<Local, Bit>,
    /// The queue's `Standing` belongs to its present life.
    lives_on: Signal<Local, Bit>,

    // The batch that is being fetched.
    state: DFF<QueueState>,
    queue: DFF<Bits<QUEUE>>,
    life: DFF<Bits<LIFE>>,
    life_then: Signal<Local, Bits<LIFE>>,
    target: DFF<Bits<32>>,
    base: DFF<Bits<64>>,
    position: DFF<Bits<32>>,
    difference: DFF<Bits<32>>,
    blocks: DFF<Bits<17>>,
    remaining: DFF<Bits<17>>,
    gone: DFF<Bit>,
    first: DFF<Bit>,
    #[init(Constant::new(1.into()))]
    one: Constant<Bits<17>>,
    entry_blocks: Signal<Local, Bits<17>>,
    entry: Signal<Local, Bits<QUEUE>>,
    // The next read.
    offset: DFF<Bits<17>>,
    /// Blocks from the next read's first one to the ring's end, less one.
    behind: DFF<Bits<17>>,
    wanted: Signal<Local, Bits<17>>,
    to_end: Signal<Local, Bits<5>>,
    most: Signal<Local, Bits<5>>,
    /// Blocks of a turn with `probes`.
    few: Signal<Local, Bits<5>>,
    cut: DFF<Bits<5>>,
    cut_addr: DFF<Bits<64>>,

    // The blocks that reads have brought.
    batches: Batches,
}
