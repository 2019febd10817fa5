//! Decides which blocks of receive queues are read, and when.
//!
//! A doorbell makes its queue's blocks known, and the first of them are read at once; the pool lists a queue again
//! when few of its blocks are left. A read has up to 16 blocks. The more of the pool is free, the more a queue gets:
//! 112 blocks while three quarters of the pool are free, 64 while half of it is, then 16, then 4, then 1. The last 16
//! places are for the queue that a
//! message waits for, which gets a block at a time; so no queue starves because others hold blocks and get no messages.
//!
//! Contract: 1,024 doorbells wait. A doorbell is dropped if it does not advance its queue, by up to the ring and no
//! further than what was
//! taken, or if its queue is halted or not enabled. A pass over a queue takes 9 cycles, or
//! more while the pool or `read` is busy, and makes one read; 64 reads may be under way. Doorbells and listed queues
//! take turns, each in their order.

use super::pool::MANY;
use super::record::*;
use crate::context::{ConfigWrite, QP, QUEUE, QueuePairIndex, Table, TableSelect};
use crate::primitive::{Ram, RamStyle, StreamFifo};
use crate::shell::control::Doorbell;
use crate::shell::host_read::{HostReadBeat, HostReadRequest};
use drdma_abi::Layout;
use drdma_abi::receive::ReceiveQueueEntry;
use drdma_emit::prelude::*;

/// Blocks of a read, at most.
const MOST: u64 = 16;
/// Places of the pool that are kept for the queue that a message waits for.
const RESERVE: u64 = 16;

fn word_of(field: &str) -> Constant<Bits<4>> {
    Constant::new((ReceiveQueueEntry::field(field).start as u64 / 32).into())
}

fn bit_of(field: &str) -> Constant<Bits<5>> {
    Constant::new((ReceiveQueueEntry::field(field).start as u64 % 32).into())
}

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
    #[init(word_of("addr"))]
    low_word: Constant<Bits<4>>,
    #[init(Constant::new((ReceiveQueueEntry::field("addr").start as u64 / 32 + 1).into()))]
    high_word: Constant<Bits<4>>,
    #[init(word_of("log_blocks"))]
    log_word: Constant<Bits<4>>,
    #[init(bit_of("log_blocks"))]
    log_at: Constant<Bits<5>>,
    #[init(word_of("qp"))]
    owner_word: Constant<Bits<4>>,
    #[init(Ram::new(RamStyle::Ultra))]
    rings: Ram<64, 2, QUEUE>,
    logs: Table<8, QUEUE>,
    owners: Ram<QP, 1, QUEUE>,

    // Doorbells and listed queues that wait.
    bells: StreamFifo<Doorbell, 10, 11>,
    work: StreamFifo<Named, 12, 13>,
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

impl Logic for Planner {
    #[hdl_gen]
    fn update(&mut self) {
        // The host writes a queue's entry.
        self.select.valid.next = self.cfg.valid.val();
        self.select.number.next = self.cfg.table.val();
        self.select.word.next = self.cfg.word.val();
        self.rings.write_lanes.next = 0.into();
        if self.select.receive_queue.val() && (self.cfg.word.val() == self.low_word.val()) {
            self.rings.write_lanes.next = 1.into();
        }
        if self.select.receive_queue.val() && (self.cfg.word.val() == self.high_word.val()) {
            self.rings.write_lanes.next = 2.into();
        }
        self.rings.write_address.next = self.cfg.index.val().get_bits::<QUEUE>(0);
        self.rings.write_data.next = bit_cast::<64, 32>(self.cfg.data.val())
            | (bit_cast::<64, 32>(self.cfg.data.val()) << 32);
        self.logs.write_enable.next =
            self.select.receive_queue.val() && (self.cfg.word.val() == self.log_word.val());
        self.logs.write_address.next = self.cfg.index.val().get_bits::<QUEUE>(0);
        self.logs.write_data.next = self.cfg.data.val().get_bits::<8>(self.log_at.val().index());
        self.owners.write_lanes.next = 0.into();
        if self.select.receive_queue.val() && (self.cfg.word.val() == self.owner_word.val()) {
            self.owners.write_lanes.next = 1.into();
        }
        self.owners.write_address.next = self.cfg.index.val().get_bits::<QUEUE>(0);
        self.owners.write_data.next = self.cfg.data.val().get_bits::<QP>(0);

        // Blocks that a queue may hold.
        self.cap.d.next = 0.into();
        if self.unreserved.val() > RESERVE {
            self.cap.d.next = 1.into();
        }
        if self.unreserved.val() > 512 {
            self.cap.d.next = 4.into();
        }
        if self.unreserved.val() > 1024 {
            self.cap.d.next = 16.into();
        }
        if self.unreserved.val() > 2048 {
            self.cap.d.next = 64.into();
        }
        // A read takes 350 cycles, in which a queue pair's messages take 70 receives of a block.
        if self.unreserved.val() > MANY {
            self.cap.d.next = 112.into();
        }
        self.spare.d.next = self.unreserved.val() > 1;

        self.doorbell.join(&mut self.bells.input);
        self.bells.output.ready.next = false;
        self.work.input.valid.next = self.list.valid.val();
        self.work.input.data.next.queue = self.list.queue.val();
        self.work.output.ready.next = false;
        self.look.valid.next = false;
        self.look.queue.next = self.queue.q.val();
        self.plan.valid.next = false;
        self.plan.queue.next = self.queue.q.val();
        self.plan.life.next = self.then.q.val().life;
        self.plan.producer.next = self.target.q.val();
        self.plan.fetched.next = self.then.q.val().fetched + bit_cast::<32, 5>(self.cut.q.val());
        self.plan.blocks.next = self.cut.q.val();
        self.plan.more.next = self.wanted.q.val() != bit_cast::<17, 5>(self.cut.q.val());
        // More could be read at once, were it not for the ring's end or the length of a read.
        self.plan.lists.next = self.plan.more.val()
            && self.cut.q.val().any()
            && (self.room.q.val() != bit_cast::<HELD, 5>(self.cut.q.val()));
        self.plan.unlists.next = !self.rings_bell.q.val();
        self.read.valid.next = false;
        self.read.addr.next = self.addr.q.val();
        self.read.bytes.next = bit_cast::<13, 5>(self.cut.q.val()) << 6;
        self.reads.input.valid.next = false;
        self.reads.input.data.next.queue = self.queue.q.val();
        self.reads.input.data.next.life = self.then.q.val().life;
        self.tells.next = self.good.q.val() && self.then.q.val().flushing;
        self.flush.valid.next = false;
        self.flush.qp.next = self.owner.q.val();

        self.few.next = (self.wanted.q.val() < MOST)
            || (self.to_end.q.val() < MOST)
            || (self.room.q.val() < MOST);
        self.ends_first.next = self.to_end.q.val() < self.wanted.q.val();
        self.fills_first.next = bit_cast::<17, HELD>(self.room.q.val()) < self.wanted.q.val();
        self.least.next = self.wanted.q.val();
        if self.ends_first.val() {
            self.least.next = self.to_end.q.val();
            self.fills_first.next = bit_cast::<17, HELD>(self.room.q.val()) < self.to_end.q.val();
        }
        if self.fills_first.val() {
            self.least.next = bit_cast::<17, HELD>(self.room.q.val());
        }
        self.unused_least.next = self.least.val();
        match self.state.q.val() {
            PlannerState::Idle => {
                self.rings_bell.d.next = false;
                self.queue.d.next = self.work.output.data.val().queue;
                self.position.d.next = self.bells.output.data.val().position;
                if self.bells.output.valid.val()
                    && !(self.work.output.valid.val() && self.bell_last.q.val())
                {
                    self.bells.output.ready.next = true;
                    self.rings_bell.d.next = true;
                    self.bell_last.d.next = true;
                    self.queue.d.next = self.bells.output.data.val().queue;
                    self.state.d.next = PlannerState::Look;
                } else if self.work.output.valid.val() {
                    self.work.output.ready.next = true;
                    self.bell_last.d.next = false;
                    self.state.d.next = PlannerState::Look;
                }
            }
            PlannerState::Look => {
                self.look.valid.next = true;
                if self.look.ready.val() {
                    self.state.d.next = PlannerState::See;
                }
            }
            PlannerState::See => {
                self.then.d.next = self.seen.val();
                self.ring.d.next = self.rings.read_data.val();
                self.log.d.next = self.logs.read_data.val();
                self.owner.d.next = self.owners.read_data.val();
                self.state.d.next = PlannerState::Measure;
            }
            PlannerState::Measure => {
                self.blocks.d.next = self.one.val() << self.log.q.val().get_bits::<5>(0);
                self.step.d.next = self.position.q.val() - self.then.q.val().producer;
                self.posted.d.next = self.position.q.val() - self.then.q.val().position;
                self.state.d.next = PlannerState::Judge;
            }
            PlannerState::Judge => {
                self.good.d.next = self.rings_bell.q.val()
                    && self.then.q.val().enabled
                    && !self.then.q.val().halted
                    && (self.log.q.val() <= 16)
                    && self.step.q.val().any()
                    && (self.step.q.val() <= bit_cast::<32, 17>(self.blocks.q.val()))
                    && (self.posted.q.val() <= bit_cast::<32, 17>(self.blocks.q.val()));
                self.offset.d.next =
                    self.then.q.val().fetched.get_bits::<17>(0) & (self.blocks.q.val() - 1);
                self.state.d.next = PlannerState::Cut;
            }
            PlannerState::Cut => {
                self.target.d.next = self.then.q.val().producer;
                self.wanted.d.next = self.then.q.val().producer.get_bits::<17>(0)
                    - self.then.q.val().fetched.get_bits::<17>(0);
                if self.good.q.val() {
                    self.target.d.next = self.position.q.val();
                    self.wanted.d.next = self.position.q.val().get_bits::<17>(0)
                        - self.then.q.val().fetched.get_bits::<17>(0);
                }
                self.to_end.d.next = self.blocks.q.val() - self.offset.q.val();
                self.addr.d.next =
                    self.ring.q.val() + (bit_cast::<64, 17>(self.offset.q.val()) << 6);
                self.room.d.next = 0.into();
                if self.then.q.val().enabled && !self.then.q.val().halted {
                    if self.then.q.val().held < self.cap.q.val() {
                        self.room.d.next = self.cap.q.val() - self.then.q.val().held;
                    } else if !self.then.q.val().held.any()
                        && self.waits.val()
                        && (self.waits_for.val() == self.queue.q.val())
                        && self.spare.q.val()
                    {
                        self.room.d.next = 1.into();
                    }
                }
                self.state.d.next = PlannerState::Size;
            }
            PlannerState::Size => {
                self.cut.d.next = MOST.into();
                if self.few.val() {
                    self.cut.d.next = self.least.val().get_bits::<5>(0);
                }
                self.state.d.next = PlannerState::Commit;
            }
            PlannerState::Commit => {
                self.plan.valid.next = self.reads.input.ready.val();
                if self.plan.ready.val() && self.reads.input.ready.val() {
                    self.state.d.next = PlannerState::Tell;
                    if self.cut.q.val().any() {
                        self.state.d.next = PlannerState::Request;
                    }
                }
            }
            PlannerState::Request => {
                self.read.valid.next = true;
                if self.read.ready.val() {
                    self.reads.input.valid.next = true;
                    self.state.d.next = PlannerState::Tell;
                }
            }
            PlannerState::Tell => {
                self.flush.valid.next = self.tells.val();
                if !self.tells.val() || self.flush.ready.val() {
                    self.state.d.next = PlannerState::Idle;
                }
            }
        }
        self.rings.read_enable.next = true;
        self.rings.read_address.next = self.queue.q.val();
        self.logs.ahead.next = self.queue.q.val();
        self.owners.read_enable.next = true;
        self.owners.read_address.next = self.queue.q.val();

        // Blocks that the reads bring, in their order.
        self.append.valid.next = self.beat.valid.val() && self.reads.output.valid.val();
        self.beat.ready.next = self.append.ready.val() && self.reads.output.valid.val();
        self.append.queue.next = self.reads.output.data.val().queue;
        self.append.life.next = self.reads.output.data.val().life;
        self.append.data.next = self.beat.data.val();
        self.append.error.next = self.beat.error.val();
        self.reads.output.ready.next =
            self.beat.valid.val() && self.append.ready.val() && self.beat.last.val();

        self.busy.next = self.bells.output.valid.val()
            || self.reads.output.valid.val()
            || (self.state.q.val() != PlannerState::Idle);

        if self.rst.val() {
            self.state.d.next = PlannerState::Idle;
            self.bell_last.d.next = false;
        }
    }
}
