//! Fetches the blocks of send queues' rings, doorbell by doorbell.
//!
//! Stands between the registers and the decoder. Doorbells of all queues wait in one FIFO. The blocks that a doorbell
//! adds to
//! its ring, a *batch*, are read in pieces of up to 16 blocks, several ahead of the decoder. A batch is served in
//! one or more *turns*, between which other queues have theirs.
//!
//! Contract: 1,024 doorbells wait; a doorbell that adds nothing, more than its ring holds, or is for a
//! halted queue is dropped. One block leaves per cycle while its data are there (one cycle is lost
//! a turn); a doorbell's first read is requested 4 cycles after the doorbell, and one doorbell is
//! served in 5 cycles. A turn leaves whole: a queue that halts loses those of its turns that have not begun. Writing a
//! queue's `enable`
//! word also drops everything that was rung before.
//!
//! *Turns*: a turn is the whole batch if no other queue waits or is being served; otherwise it is *limited*, to 256
//! blocks, or fewer the more others there are, down to 32. The rest of its batch goes behind the others (`rests`), and
//! is fetched from where the turn ends, although an entry may reach beyond it. The second half,
//! [`Batches`], sees the entries: it *cuts* a turn before an entry that is not whole, and also before one with which
//! the turn
//! would exceed its share while others wait. It reports where (`cuts`), and drops all that comes of the queue up to the
//! turn
//! that is fetched from there, a *fresh* one, which is the next one and long enough for that entry. A turn that
//! took too long is cut as well; the queue's turns are then as short as that one until its batch is over.
//! So no entry is ever cut, a queue alone is served without a break, and little is fetched twice if there are several
//! queues.
//! A doorbell for a queue that has a rest becomes part of it.
//!
//! *Shared queues* take no turns: their requests and those of queue pairs' own queues name the same queue pairs, and
//! must stay in the order of the posts. A batch of a shared queue begins when all that was rung before it is over,
//! unless that
//! is held, and is not cut; what is rung behind it comes behind it.
//!
//! A doorbell of a queue whose queue pair the keeper *holds* ([`Hold`]) is *parked* when its turn comes, and those of
//! others go on. Parked
//! doorbells are tried again in turns, one after every 8 others or when there are no others. 1,024 are parked; if there
//! is no room for
//! another, it is served all the same. Doorbells are positions: one that is served behind a newer one of its queue adds
//! nothing. Shared queues are never parked, and neither is what was fetched.
//!
//! A queue pair whose peer is *silent* ([`Silence`]) is *tried*: while others wait its first turn has one entry, and
//! what is behind that is
//! *deferred*, which means parked as long as doorbells of others wait, or queue pairs whose peers are not silent have
//! rests, or blocks on their
//! way. So one whose peer never answers costs the others an entry or a few, and queue pairs that are all silent take
//! turns like others. What is deferred still comes before
//! what a shared queue is rung for later.

use crate::context::{INDEX, QP, QUEUE, Stamps, TableSelect};
use crate::primitive::{Flatten, PromptFifo, Ram, RamStyle, Restore, StreamFifo};
use crate::request::{PART, Part};
use drdma_abi::Layout;
use drdma_abi::register::SendQueueEntry;
use drdma_emit::prelude::*;

mod batches;
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

/// Number of the word of a queue's entry that has this field.
fn word_of(field: &str) -> u64 {
    (SendQueueEntry::field(field).start / 32) as u64
}

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

/// How far a queue has been fetched.
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
    /// Which entry.
    pub cfg_index: Signal<In, Bits<INDEX>>,
    /// Which word of it.
    pub cfg_word: Signal<In, Bits<4>>,
    /// The word.
    pub cfg_data: Signal<In, Bits<32>>,
    /// The queue whose state is asked for in the next cycle, before it is fetched from,
    pub fetch_next: Signal<Out, Bits<QUEUE>>,
    /// and whether that of the cycle before is halted by an error.
    pub fetch_halted: Signal<In, Bit>,
    /// The same before its blocks leave.
    pub batch_next: Signal<Out, Bits<QUEUE>>,
    /// That of the cycle before is halted.
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
    /// Which part of its message the block's entry stands for.
    pub wqe_part: Signal<Out, Part>,
    /// A doorbell is not used up, or its blocks are on their way.
    pub busy: Signal<Out, Bit>,

    // Copies of the queues' entries.
    #[init(Constant::new(word_of("addr").into()))]
    word_low: Constant<Bits<4>>,
    #[init(Constant::new((word_of("addr") + 1).into()))]
    word_high: Constant<Bits<4>>,
    #[init(Constant::new(word_of("log_blocks").into()))]
    word_log: Constant<Bits<4>>,
    #[init(Constant::new((SendQueueEntry::field("log_blocks").start as u64 % 32).into()))]
    log_at: Constant<Bits<5>>,
    select: TableSelect,
    cfg_enable: Signal<Local, Bit>,
    /// Address of each queue's ring: low word, high word.
    #[init(Ram::new(RamStyle::Ultra))]
    entry_addr: Ram<64, 2, QUEUE>,
    entry_log: Ram<5, 1, QUEUE>,
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
    /// Others wait, or have blocks on their way: see the module.
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
    takes_cut: Signal<Local, Bit>,
    takes_rest: Signal<Local, Bit>,
    /// A doorbell of a shared queue waits until what was rung before it is over.
    waits: DFF<Bit>,
    waiting: DFF<Waiting>,
    /// The doorbell or rest whose turn comes next.
    next: Signal<Local, Waiting>,
    takes_waiting: Signal<Local, Bit>,
    /// That one has to wait.
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
    /// What is at work is a message's next part: its beginning, and whether it is the last one.
    resumes: DFF<Bit>,
    part: DFF<Bits<PART>>,
    last_part: DFF<Bit>,
    splits: DFF<Bit>,
    log_units: DFF<Bits<2>>,
    /// See [`Standing::midway`].
    midway: DFF<Bit>,
    /// The turn is an entry that `Batches` keeps.
    kept: DFF<Bit>,
    /// `Batches` reports the end of the turn.
    told: DFF<Bit>,
    /// What is at work begins where a turn was used up.
    used_up: DFF<Bit>,
    /// With `used_up`: that turn was the last part of a message, and the next entry may have parts as well.
    after_parts: DFF<Bit>,
    /// The turn is not all of its batch, and the rest goes behind the others.
    has_rest: DFF<Bit>,
    /// The queue's turn goes on from where the queue stands, or from where a turn was cut.
    goes_on: Signal<Local, Bit>,
    // What is known of the queue at work.
    from: Signal<Local, Bits<32>>,
    goal: Signal<Local, Bits<32>>,
    was_queued: DFF<Bit>,
    fresh: DFF<Bit>,
    /// Blocks that its rest would add.
    rest_adds: DFF<Bits<32>>,
    share: Share,
    limited: DFF<Bit>,
    limits: Signal<Local, Bit>,
    /// There are others, for whom a rest may be left.
    crowds: Signal<Local, Bit>,
    /// The batch goes on behind the entry that is kept.
    goes_beyond: Signal<Local, Bit>,
    /// The turn has only a few blocks, and its end is reported.
    probes: Signal<Local, Bit>,
    may_read: Signal<Local, Bit>,
    /// Blocks of the turn that are not fetched.
    left: DFF<Bits<17>>,
    /// What is being fetched has been cut.
    aborted: DFF<Bit>,
    blocked: DFF<Bit>,
    /// The rest goes behind the others.
    leaves_rest: Signal<Local, Bit>,
    /// The queue's standing is of its present life.
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
    /// Blocks from there to the ring's end, less one.
    behind: DFF<Bits<17>>,
    wanted: Signal<Local, Bits<17>>,
    to_end: Signal<Local, Bits<5>>,
    most: Signal<Local, Bits<5>>,
    /// Blocks of a turn with `probes`.
    few: Signal<Local, Bits<5>>,
    cut: DFF<Bits<5>>,
    cut_addr: DFF<Bits<64>>,

    // The blocks that come.
    batches: Batches,
}

impl Logic for Queue {
    #[hdl_gen]
    fn update(&mut self) {
        // The host writes a send queue's entry.
        self.select.valid.next = self.cfg_valid.val();
        self.select.number.next = self.cfg_table.val();
        self.select.word.next = self.cfg_word.val();
        self.cfg_enable.next = self.select.enable.val();
        self.entry_addr.write_lanes.next = 0.into();
        if self.select.send_queue.val() && (self.cfg_word.val() == self.word_low.val()) {
            self.entry_addr.write_lanes.next = 1.into();
        }
        if self.select.send_queue.val() && (self.cfg_word.val() == self.word_high.val()) {
            self.entry_addr.write_lanes.next = 2.into();
        }
        self.entry_addr.write_address.next = self.cfg_index.val().get_bits::<QUEUE>(0);
        self.entry_addr.write_data.next = bit_cast::<64, 32>(self.cfg_data.val())
            | (bit_cast::<64, 32>(self.cfg_data.val()) << 32);
        self.entry_log.write_lanes.next = bit_cast::<1, 1>(
            (self.select.send_queue.val() && (self.cfg_word.val() == self.word_log.val())).into(),
        );
        self.entry_log.write_address.next = self.cfg_index.val().get_bits::<QUEUE>(0);
        self.entry_log.write_data.next =
            self.cfg_data.val().get_bits::<5>(self.log_at.val().index());
        self.lives.written.next = self.cfg_enable.val();
        self.lives.index.next = self.cfg_index.val().get_bits::<QUEUE>(0);

        // Doorbells wait, with the lives of their queues.
        self.doorbells.input.valid.next = self.doorbell_valid.val();
        self.doorbells.input.data.next.position = self.doorbell_position.val();
        self.doorbells.input.data.next.queue = self.doorbell_queue.val();
        self.doorbell_ready.next = self.doorbells.input.ready.val();
        self.lives.ahead[0].next = self.doorbell_queue.val();
        self.rung.d.next = self.doorbell_valid.val() && self.doorbells.input.ready.val();
        self.doorbell_lives.in_valid.next = self.rung.q.val();
        self.doorbell_lives.in_data.next = self.lives.stamp[0].val();

        // Queue pairs that are held, or silent.
        self.parking.cfg.valid.next = self.cfg_valid.val();
        self.parking.cfg.table.next = self.cfg_table.val();
        self.parking.cfg.index.next = self.cfg_index.val();
        self.parking.cfg.word.next = self.cfg_word.val();
        self.parking.cfg.data.next = self.cfg_data.val();
        self.parking.hold.valid.next = self.hold_valid.val();
        self.parking.hold.qp.next = self.hold_qp.val();
        self.parking.hold.held.next = self.hold_held.val();
        self.parking.silence.valid.next = self.silence_valid.val();
        self.parking.silence.qp.next = self.silence_qp.val();
        self.parking.silence.silent.next = self.silence_silent.val();
        self.parking.tries.next = false;
        self.parked.input.valid.next = false;
        // A message that was begun goes on if a shared queue waits for its end.
        self.is_held.next =
            self.parking.held.val() && !(self.resumes.q.val() && self.waits.q.val());
        self.defers.next = self.parking.silent.val()
            && self.parking.tried.val()
            && self.rivals.q.val()
            && !self.waits.q.val();
        self.parked.input.data.next.doorbell.target = self.target.q.val();
        self.parked.input.data.next.doorbell.queue = self.queue.q.val();
        self.parked.input.data.next.doorbell.life = self.life.q.val();
        self.parked.input.data.next.deferred = self.defers.val() && !self.is_held.val();
        self.parked.input.data.next.resumes = self.resumes.q.val();
        self.parked.input.data.next.heard = !self.parking.silent.val();
        self.parked.output.ready.next = false;
        self.takes_cut.next = self.cuts.output.valid.val();
        self.takes_rest.next = !self.cuts.output.valid.val()
            && self.rests.output.valid.val()
            && (!self.rest_before.q.val()
                || self.waits.q.val()
                || (!self.doorbells.output.valid.val() && !self.parked.output.valid.val()));
        self.must_wait.next = self.rests.output.valid.val()
            || self.cuts.output.valid.val()
            || self.deferred.q.val().any()
            || self.midways.q.val().any()
            || self.batches.own_at_work.val();
        self.takes_waiting.next = self.waits.q.val() && !self.must_wait.val();
        self.takes_parked.next = !self.takes_cut.val()
            && !self.takes_rest.val()
            && self.parked.output.valid.val()
            && ((self.waits.q.val()
                && (self.deferred.q.val().any() || self.midways.q.val().any()))
                || (!self.waits.q.val()
                    && (!self.doorbells.output.valid.val() || !self.turn.q.val().any())));

        // Batches that are not over.
        self.rests.input.valid.next = false;
        self.rests.input.data.next.queue = self.queue.q.val();
        self.rests.input.data.next.life = self.life.q.val();
        self.rests.input.data.next.heard = !self.silent.q.val();
        self.rests.output.ready.next = false;
        self.cuts.input.valid.next = self.batches.cut_turn.valid.val();
        self.cuts.input.data.next = self.batches.cut_turn.val();
        self.cuts.output.ready.next = false;
        self.blocked.d.next = (self.doorbells.output.valid.val()
            && (self.doorbells.output.data.val().queue != self.queue.q.val()))
            || (self.rests.output.valid.val()
                && (self.rests.output.data.val().queue != self.queue.q.val()));
        self.rivals.d.next = (self.doorbells.output.valid.val()
            && (self.doorbells.output.data.val().queue != self.queue.q.val()))
            || self.heard_rests.q.val().any()
            || self.heard_midways.q.val().any()
            || self.batches.heard_at_work.val();
        if self.batches.cut_turn.valid.val()
            && (self.batches.cut_turn.queue.val() == self.queue.q.val())
            && (self.batches.cut_turn.life.val() == self.life.q.val())
        {
            self.aborted.d.next = true;
        }

        // The entry of the queue that is at work in the next cycle.
        self.next.next.target = self.doorbells.output.data.val().position;
        self.next.next.queue = self.doorbells.output.data.val().queue;
        self.next.next.life = self.life.q.val();
        if self.takes_parked.val() {
            self.next.next = self.parked.output.data.val().doorbell;
        }
        if self.takes_waiting.val() {
            self.next.next = self.waiting.q.val();
        }
        if self.takes_rest.val() {
            self.next.next.queue = self.rests.output.data.val().queue;
            self.next.next.life = self.rests.output.data.val().life;
        }
        if self.takes_cut.val() {
            self.next.next.queue = self.cuts.output.data.val().queue;
            self.next.next.life = self.cuts.output.data.val().life;
        }
        self.entry.next = self.queue.q.val();
        if self.state.q.val() == QueueState::Idle {
            self.entry.next = self.next.val().queue;
        }
        self.entry_addr.read_enable.next = true;
        self.entry_addr.read_address.next = self.entry.val();
        self.entry_log.read_enable.next = true;
        self.entry_log.read_address.next = self.entry.val();
        self.standings.read_enable.next = true;
        self.standings.read_address.next = self.entry.val();
        self.standing_out.bits.next = self.standings.read_data.val();
        self.standing.next = self.standing_out.record.val();
        self.life_then.next = self.life.q.val();
        self.doorbell_lives.out_ready.next = false;
        if (self.state.q.val() == QueueState::Compare) && !self.known.q.val() {
            self.life_then.next = self.doorbell_lives.out_data.val();
            self.doorbell_lives.out_ready.next = true;
        }
        self.life.d.next = self.life_then.val();
        if self.state.q.val() == QueueState::Idle {
            self.life.d.next = self.next.val().life;
        }
        self.gone.d.next =
            (self.lives.stamp[1].val() != self.life_then.val()) || self.fetch_halted.val();

        // A queue that is enabled stands at position 0, and its first turn is fresh.
        self.standings.write_lanes.next = bit_cast::<1, 1>(self.cfg_enable.val().into());
        self.standings.write_address.next = self.cfg_index.val().get_bits::<QUEUE>(0);
        self.new_standing.next.position = 0.into();
        self.new_standing.next.target = 0.into();
        self.new_standing.next.queued = false;
        self.new_standing.next.fresh = true;
        self.new_standing.next.pace = 0.into();
        self.new_standing.next.midway = false;
        self.new_standing.next.part = 0.into();
        self.new_standing.next.last_part = false;
        self.entry_blocks.next = self.one.val() << self.entry_log.read_data.val();
        // What is known of the queue, where it goes on, and how long its turn may be.
        self.from.next = self.standing.val().position;
        self.goal.next = self.target.q.val();
        self.goes_on.next = self.is_rest.q.val() || self.is_cut.q.val() || self.resumes.q.val();
        if self.goes_on.val() {
            self.goal.next = self.standing.val().target;
        }
        if self.is_cut.q.val() {
            self.from.next = self.cut_from.q.val();
        }
        // What is deferred will have turns as well: for this queue no more is fetched than it may have then.
        self.behind_turns.next = self.rests.count.val() + self.deferred.q.val();
        self.share.rests.next = self.behind_turns.val();
        self.share.doorbells.next = self.doorbells.count.val();
        self.share.elsewhere.next = self.doorbells.output.data.val().queue != self.queue.q.val();
        self.share.behind.next = self.batches.wholes_behind.val();
        self.share.other.next = self.batches.behind.val()
            || (self.batches.reading.val() && (self.batches.queue_now.val() != self.queue.q.val()));
        self.share.judges.next = self.state.q.val() == QueueState::Compare;
        self.share.idle.next = self.standing.val().position == self.standing.val().target;
        self.share.pace.next = self.standing.val().pace;
        // A part says nothing about how long turns should be, and neither does a turn that was used up.
        self.share.is_cut.next =
            self.is_cut.q.val() && !self.resumes.q.val() && !self.used_up.q.val();
        self.share.cut_slow.next = self.cut_slow.q.val();
        self.share.cut_length.next = self.cut_length.q.val();
        self.share.cut_had.next = self.cut_had.q.val();
        self.leaves_rest.next = self.has_rest.q.val() && !self.aborted.q.val();
        self.lives_on.next = self.lives.stamp[1].val() == self.life.q.val();
        self.crowds.next = self.share.crowded.val() && self.rests.input.ready.val();
        self.goes_beyond.next = (self.difference.q.val() ^ PART_BLOCKS).any();
        // Behind a message in parts there may be another one: then what is fetched behind it would be fetched again.
        self.probes.next =
            self.used_up.q.val() && self.after_parts.q.val() && !self.share.crowded.val();
        self.limits.next = self.crowds.val()
            && !self.parking.is_shared.val()
            && (self.difference.q.val() > bit_cast::<32, LENGTH>(self.share.size.val()));

        // The next read has 16 blocks, or what is left of the ring or of the turn.
        self.wanted.next = self.left.q.val();
        if self.state.q.val() == QueueState::Judge {
            self.wanted.next = self.difference.q.val().get_bits::<17>(0);
        }
        self.to_end.next = 16.into();
        if !self.behind.q.val().get_bits::<13>(4).any() {
            self.to_end.next = self.behind.q.val().get_bits::<5>(0) + 1;
        }
        self.most.next = self.to_end.val();
        if !self.wanted.val().get_bits::<13>(4).any()
            && (self.wanted.val().get_bits::<5>(0) < self.to_end.val())
        {
            self.most.next = self.wanted.val().get_bits::<5>(0);
        }
        self.few.next = self.most.val();
        if self.most.val().get_bits::<3>(LOG_PROBE).any() {
            self.few.next = PROBE_BLOCKS.into();
        }
        self.doorbells.output.ready.next = false;
        self.read_req_valid.next = false;
        self.may_read.next = false;
        self.batches.read.valid.next = false;
        match self.state.q.val() {
            QueueState::Idle => {
                self.doorbells.output.ready.next =
                    !self.takes_cut.val() && !self.takes_rest.val() && !self.takes_parked.val();
                self.parked.output.ready.next = self.takes_parked.val();
                if self.waits.q.val() {
                    self.doorbells.output.ready.next = false;
                }
                self.rests.output.ready.next = self.takes_rest.val();
                self.cuts.output.ready.next = self.takes_cut.val();
                self.is_rest.d.next = self.takes_rest.val();
                self.is_cut.d.next = self.takes_cut.val();
                self.resumes.d.next = (self.takes_cut.val()
                    && self.cuts.output.data.val().part.any())
                    || (self.takes_parked.val() && self.parked.output.data.val().resumes);
                self.part.d.next = self.cuts.output.data.val().part;
                self.last_part.d.next = self.cuts.output.data.val().last_part;
                self.used_up.d.next = self.takes_cut.val() && self.cuts.output.data.val().used_up;
                self.after_parts.d.next = self.cuts.output.data.val().after_parts;
                self.known.d.next = self.takes_cut.val()
                    || self.takes_rest.val()
                    || self.takes_parked.val()
                    || self.waits.q.val();
                self.cut_from.d.next = self.cuts.output.data.val().position;
                self.cut_length.d.next = self.cuts.output.data.val().length;
                self.cut_slow.d.next = self.cuts.output.data.val().slow;
                self.cut_had.d.next = self.cuts.output.data.val().had;
                self.aborted.d.next = false;
                self.target.d.next = self.next.val().target;
                self.queue.d.next = self.next.val().queue;
                if self.takes_cut.val() || self.takes_rest.val() {
                    if self.takes_rest.val() && self.rests.output.data.val().heard {
                        self.heard_rests.d.next = self.heard_rests.q.val() - 1;
                    }
                    self.rest_before.d.next = self.takes_rest.val();
                    self.state.d.next = QueueState::Compare;
                } else if self.waits.q.val() && !self.takes_parked.val() {
                    if self.takes_waiting.val() {
                        self.waits.d.next = false;
                        self.state.d.next = QueueState::Compare;
                    }
                } else if self.doorbells.output.valid.val() || self.takes_parked.val() {
                    if self.takes_parked.val() && self.parked.output.data.val().deferred {
                        self.deferred.d.next = self.deferred.q.val() - 1;
                    }
                    if self.takes_parked.val() && self.parked.output.data.val().resumes {
                        self.midways.d.next = self.midways.q.val() - 1;
                        if self.parked.output.data.val().heard {
                            self.heard_midways.d.next = self.heard_midways.q.val() - 1;
                        }
                    }
                    self.rest_before.d.next = false;
                    self.turn.d.next = self.turn.q.val() + 1;
                    self.state.d.next = QueueState::Compare;
                }
            }
            QueueState::Compare => {
                self.base.d.next = self.entry_addr.read_data.val();
                self.blocks.d.next = self.entry_blocks.val();
                self.offset.d.next =
                    self.from.val().get_bits::<17>(0) & (self.entry_blocks.val() - 1);
                self.behind.d.next =
                    !self.from.val().get_bits::<17>(0) & (self.entry_blocks.val() - 1);
                self.position.d.next = self.from.val();
                self.target.d.next = self.goal.val();
                self.difference.d.next = self.goal.val() - self.from.val();
                self.rest_adds.d.next = self.standing.val().target - self.standing.val().position;
                self.was_queued.d.next = self.standing.val().queued && !self.is_rest.q.val();
                self.fresh.d.next = self.standing.val().fresh || self.is_cut.q.val();
                self.midway.d.next = self.standing.val().midway;
                if self.is_cut.q.val() {
                    self.midway.d.next = self.resumes.q.val();
                } else {
                    self.part.d.next = self.standing.val().part;
                    self.last_part.d.next = self.standing.val().last_part;
                }
                self.state.d.next = QueueState::Judge;
            }
            QueueState::Judge => {
                self.remaining.d.next = self.difference.q.val().get_bits::<17>(0);
                self.left.d.next = self.difference.q.val().get_bits::<17>(0);
                self.first.d.next = true;
                self.shared.d.next = self.parking.is_shared.val();
                self.silent.d.next = self.parking.silent.val();
                self.tries.d.next = self.parking.silent.val() && !self.parking.tried.val();
                self.limited.d.next = false;
                self.splits.d.next = self.parking.splits.val();
                self.log_units.d.next = self.parking.log_units.val();
                self.cut.d.next = self.most.val();
                self.cut_addr.d.next =
                    self.base.q.val() + (bit_cast::<64, 17>(self.offset.q.val()) << 6);
                self.kept.d.next = self.resumes.q.val();
                self.told.d.next = false;
                self.has_rest.d.next = false;
                if self.resumes.q.val() {
                    // The entry alone.
                    self.left.d.next = PART_BLOCKS.into();
                    self.cut.d.next = PART_BLOCKS.into();
                } else if self.probes.val() {
                    self.left.d.next = bit_cast::<17, 5>(self.few.val());
                    self.cut.d.next = self.few.val();
                } else if self.limits.val() {
                    self.left.d.next = bit_cast::<17, LENGTH>(self.share.size.val());
                }
                if self.gone.q.val() {
                    self.state.d.next = QueueState::Idle;
                } else if self.goes_on.val()
                    && (self.difference.q.val() > bit_cast::<32, 17>(self.blocks.q.val()))
                {
                    // More was rung for than the ring holds before what it held had been fetched for good.
                    self.difference.d.next = bit_cast::<32, 17>(self.blocks.q.val());
                    self.target.d.next =
                        self.position.q.val() + bit_cast::<32, 17>(self.blocks.q.val());
                } else if !self.difference.q.val().any()
                    || (self.difference.q.val() > bit_cast::<32, 17>(self.blocks.q.val()))
                {
                    self.state.d.next = QueueState::Idle;
                    if self.is_rest.q.val() || self.used_up.q.val() {
                        self.state.d.next = QueueState::Finish;
                    }
                } else if !self.goes_on.val() && (self.was_queued.q.val() || self.midway.q.val()) {
                    // The rest extends up to here.
                    self.state.d.next = QueueState::Idle;
                    if self.difference.q.val() > self.rest_adds.q.val() {
                        self.state.d.next = QueueState::Finish;
                    }
                } else if self.is_rest.q.val() && self.midway.q.val() {
                    // The rest ends: what is behind the message comes with its last part.
                    self.state.d.next = QueueState::Finish;
                } else if self.parking.is_shared.val() && self.must_wait.val() {
                    self.waits.d.next = true;
                    self.waiting.d.next.target = self.target.q.val();
                    self.waiting.d.next.queue = self.queue.q.val();
                    self.waiting.d.next.life = self.life.q.val();
                    self.state.d.next = QueueState::Idle;
                } else if (self.is_held.val()
                    || self.defers.val()
                    || (self.resumes.q.val() && self.parts_full.val()))
                    && self.parked.input.ready.val()
                {
                    self.parked.input.valid.next = true;
                    if self.defers.val() && !self.is_held.val() {
                        self.deferred.d.next = self.deferred.q.val() + 1;
                    }
                    if self.resumes.q.val() {
                        self.midways.d.next = self.midways.q.val() + 1;
                        if !self.parking.silent.val() {
                            self.heard_midways.d.next = self.heard_midways.q.val() + 1;
                        }
                    }
                    self.state.d.next = QueueState::Idle;
                    if self.is_rest.q.val() || self.is_cut.q.val() {
                        self.state.d.next = QueueState::Finish;
                    }
                } else if self.resumes.q.val() {
                    // Behind the last part others have their turns; if there are none, the queue goes on when that part
                    // was taken.
                    self.parking.tries.next = self.parking.silent.val();
                    self.limited.d.next = true;
                    if self.last_part.q.val() && self.crowds.val() {
                        self.midway.d.next = false;
                        self.has_rest.d.next = self.goes_beyond.val();
                    } else {
                        // If it is the last part after all, because the queue pair's packets are longer now, the queue
                        // does not wait for another.
                        self.told.d.next = true;
                    }
                    self.state.d.next = QueueState::Request;
                } else if self.probes.val() {
                    self.parking.tries.next = self.parking.silent.val();
                    self.limited.d.next = true;
                    self.told.d.next = true;
                    self.midway.d.next = true;
                    self.state.d.next = QueueState::Request;
                } else if self.limits.val() {
                    self.midway.d.next = false;
                    self.parking.tries.next = self.parking.silent.val();
                    self.limited.d.next = true;
                    self.has_rest.d.next = true;
                    self.state.d.next = QueueState::Cut;
                } else {
                    self.midway.d.next = false;
                    self.parking.tries.next = self.parking.silent.val();
                    self.state.d.next = QueueState::Request;
                }
            }
            QueueState::Measure => {
                self.offset.d.next =
                    self.position.q.val().get_bits::<17>(0) & (self.blocks.q.val() - 1);
                self.behind.d.next =
                    !self.position.q.val().get_bits::<17>(0) & (self.blocks.q.val() - 1);
                self.state.d.next = QueueState::Cut;
                if self.aborted.q.val() {
                    self.state.d.next = QueueState::Finish;
                }
            }
            QueueState::Cut => {
                self.cut.d.next = self.most.val();
                self.cut_addr.d.next =
                    self.base.q.val() + (bit_cast::<64, 17>(self.offset.q.val()) << 6);
                self.state.d.next = QueueState::Request;
            }
            QueueState::Request => {
                // A queue alone leaves a quarter of the places to others that come.
                self.may_read.next = self.batches.read.ready.val()
                    && (self.limited.q.val() || self.shared.q.val() || self.batches.few.val());
                self.read_req_valid.next = self.may_read.val() && !self.kept.q.val();
                if self.may_read.val() && (self.kept.q.val() || self.read_req_ready.val()) {
                    self.batches.read.valid.next = true;
                    self.first.d.next = false;
                    self.position.d.next =
                        self.position.q.val() + bit_cast::<32, 5>(self.cut.q.val());
                    self.remaining.d.next =
                        self.remaining.q.val() - bit_cast::<17, 5>(self.cut.q.val());
                    self.left.d.next = self.left.q.val() - bit_cast::<17, 5>(self.cut.q.val());
                    self.fresh.d.next = false;
                    if self.left.q.val() == bit_cast::<17, 5>(self.cut.q.val()) {
                        self.state.d.next = QueueState::Finish;
                    } else {
                        self.state.d.next = QueueState::Measure;
                    }
                }
            }
            QueueState::Finish => {
                // A queue that was enabled anew keeps its new position.
                if !self.cfg_enable.val() {
                    self.state.d.next = QueueState::Idle;
                    self.standings.write_lanes.next = bit_cast::<1, 1>(self.lives_on.val().into());
                    self.standings.write_address.next = self.queue.q.val();
                    self.new_standing.next.position = self.position.q.val();
                    self.new_standing.next.target = self.target.q.val();
                    self.new_standing.next.queued =
                        self.was_queued.q.val() || self.leaves_rest.val();
                    self.new_standing.next.fresh = self.fresh.q.val();
                    self.new_standing.next.pace = self.share.pace_now.val();
                    self.new_standing.next.midway = self.midway.q.val();
                    self.new_standing.next.part = self.part.q.val();
                    self.new_standing.next.last_part = self.last_part.q.val();
                    self.rests.input.valid.next =
                        self.lives_on.val() && self.leaves_rest.val() && !self.was_queued.q.val();
                    if self.lives_on.val()
                        && self.leaves_rest.val()
                        && !self.was_queued.q.val()
                        && !self.silent.q.val()
                    {
                        self.heard_rests.d.next = self.heard_rests.q.val() + 1;
                    }
                }
            }
        }
        self.standing_in.record.next = self.new_standing.val();
        self.standings.write_data.next = self.standing_in.bits.val();
        self.read_req_addr.next = self.cut_addr.q.val();
        self.read_req_bytes.next = bit_cast::<13, 5>(self.cut.q.val()) << 6;

        // The reads come back as blocks.
        self.batches.read.queue.next = self.queue.q.val();
        self.batches.read.life.next = self.life.q.val();
        self.batches.read.position.next = self.position.q.val();
        self.batches.read.remaining.next = self.remaining.q.val();
        self.batches.read.first.next = self.first.q.val();
        self.batches.read.fresh.next = self.fresh.q.val();
        self.batches.read.shared.next = self.shared.q.val();
        self.batches.read.tries.next = self.tries.q.val();
        self.batches.read.silent.next = self.silent.q.val();
        self.batches.read.part.next = 0.into();
        if self.resumes.q.val() {
            self.batches.read.part.next = self.part.q.val();
        }
        self.batches.read.splits.next = self.splits.q.val();
        self.batches.read.log_units.next = self.log_units.q.val();
        self.batches.read.kept.next = self.kept.q.val();
        self.batches.read.told.next = self.told.q.val();
        self.batches.read.limited.next = self.limited.q.val();
        self.batches.read.left.next = self.left.q.val().get_bits::<LENGTH>(0);
        self.batches.blocked.next = self.blocked.q.val();
        self.batches.limit.next = self.share.limit.val();
        self.batches.wipe_valid.next = self.select.every.val();
        self.batches.wipe_index.next = self.cfg_index.val().get_bits::<QUEUE>(0);
        self.batches.queue_halted.next = self.batch_halted.val();
        self.batch_next.next = self.batches.next_queue.val();
        self.lives.ahead[2].next = self.batches.next_queue.val();
        self.batches.life_now.next = self.lives.stamp[2].val();
        self.batches.resp_valid.next = self.read_resp_valid.val();
        self.batches.resp_data.next = self.read_resp_data.val();
        self.batches.resp_last.next = self.read_resp_last.val();
        self.batches.resp_error.next = self.read_resp_error.val();
        self.read_resp_ready.next = self.batches.resp_ready.val();
        self.wqe_valid.next = self.batches.wqe_valid.val();
        self.batches.wqe_ready.next = self.wqe_ready.val();
        self.wqe_data.next = self.batches.wqe_data.val();
        self.wqe_queue.next = self.batches.wqe_queue.val();
        self.wqe_position.next = self.batches.wqe_position.val();
        self.wqe_remaining.next = self.batches.wqe_remaining.val();
        self.wqe_error.next = self.batches.wqe_error.val();
        self.wqe_begins.next = self.batches.wqe_begins.val();
        self.wqe_part.next = self.batches.wqe_part.val();

        self.busy.next = self.doorbells.output.valid.val()
            || self.parked.count.val().any()
            || self.rests.output.valid.val()
            || self.cuts.output.valid.val()
            || self.waits.q.val()
            || (self.state.q.val() != QueueState::Idle)
            || self.batches.at_work.val();

        if self.rst.val() {
            self.state.d.next = QueueState::Idle;
            self.rung.d.next = false;
            self.turn.d.next = 0.into();
            self.waits.d.next = false;
            self.deferred.d.next = 0.into();
            self.heard_rests.d.next = 0.into();
            self.midways.d.next = 0.into();
            self.heard_midways.d.next = 0.into();
        }
        self.parking.next_queue.next = self.queue.d.val();
        self.fetch_next.next = self.queue.d.val();
        self.lives.ahead[1].next = self.queue.d.val();
    }
}
