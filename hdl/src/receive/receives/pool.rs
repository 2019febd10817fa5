//! Keeps the blocks of receive queues that were read ahead, in a list for each queue, and the state of the queues.
//!
//! Blocks of all queues share 4,096 places of 64 B. Free places are a list, too, so that all that a queue holds is
//! given back at once when the host writes its `enable`.
//!
//! Contract: one operation starts in a cycle, in the order of the ports below; it sees all that started before it.
//! `seen` belongs to the look that was taken in the cycle before, `popped` to the pop two cycles before. A
//! pop takes two turns. A pop that `keeps` leaves the entry of a receive that appends in its queue, and finds nothing
//! if the entry has many regions and there is no
//! room for them. The host's words are accepted at once: they come at least two cycles apart, except while all
//! tables are cleared, when nothing else may be offered.

use super::record::*;
use crate::context::{ConfigWrite, QUEUE, Table, TableSelect};
use crate::primitive::{Flatten, Ram, RamStyle, Restore, StreamSkid};
use drdma_abi::Layout;
use drdma_abi::receive::ReceiveHeader;
use drdma_emit::prelude::*;

/// Bits of a [`QueueState`].
const STATE: usize = 3 * 32 + 2 * BLOCK + 2 * HELD + LIFE + 5;
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
/// while so many places are free that the planner
/// gives a queue 112 blocks.
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
    /// The taker may ask for a block in this cycle: blocks that were read wait meanwhile. Without it `pop` must not be
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

    // The pool, and each block's successor in its list, twice: for both that read it.
    #[init(Ram::new(RamStyle::Ultra))]
    blocks: Ram<STORED, 1, BLOCK>,
    links: Table<BLOCK, BLOCK>,
    free_links: Table<BLOCK, BLOCK>,
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

impl Logic for Pool {
    #[hdl_gen]
    fn update(&mut self) {
        // The host enables a queue, or all entries are cleared.
        self.select.valid.next = self.cfg.valid.val();
        self.select.number.next = self.cfg.table.val();
        self.select.word.next = self.cfg.word.val();

        // Choice of the operation.
        self.halt.join(&mut self.halts.input);
        self.chosen.next = PoolOperation::Rest;
        self.chosen_queue.next = self.queue.q.val();
        self.open.next = (self.operation.q.val() != PoolOperation::Pop) && !self.renews.q.val();
        self.marks.next = self.open.val() && !self.plan.valid.val();
        self.looks.next =
            self.marks.val() && !self.halts.output.valid.val() && !self.mark.valid.val();
        self.pops.next = self.looks.val() && !self.look.valid.val();
        self.plan.ready.next = self.open.val();
        self.halts.output.ready.next = self.marks.val();
        self.mark.ready.next = self.marks.val() && !self.halts.output.valid.val();
        self.look.ready.next = self.looks.val();
        self.pop.ready.next = self.pops.val();
        self.append.ready.next = self.pops.val() && !self.may_pop.val();
        if self.operation.q.val() == PoolOperation::Pop {
            self.chosen.next = PoolOperation::Give;
        } else if self.renews.q.val() {
            self.chosen.next = PoolOperation::Renew;
            self.chosen_queue.next = self.renewed.q.val();
            self.renews.d.next = false;
        } else if self.plan.valid.val() {
            self.chosen.next = PoolOperation::Plan;
            self.chosen_queue.next = self.plan.queue.val();
        } else if self.halts.output.valid.val() {
            self.chosen.next = PoolOperation::Mark;
            self.chosen_queue.next = self.halts.output.data.val().queue;
        } else if self.mark.valid.val() {
            self.chosen.next = PoolOperation::Mark;
            self.chosen_queue.next = self.mark.queue.val();
        } else if self.look.valid.val() {
            self.chosen.next = PoolOperation::Look;
            self.chosen_queue.next = self.look.queue.val();
        } else if self.append.valid.val() {
            self.chosen.next = PoolOperation::Append;
            self.chosen_queue.next = self.append.queue.val();
        }
        // `pop` comes late: the queue is looked up whether it comes or not.
        if self.pops.val() && self.may_pop.val() {
            self.chosen.next = PoolOperation::Rest;
            self.chosen_queue.next = self.pop.queue.val();
            self.asked.d.next = self.pop.val();
            if self.pop.valid.val() {
                self.chosen.next = PoolOperation::Pop;
            }
        }
        self.operation.d.next = self.chosen.val();
        self.queue.d.next = self.chosen_queue.val();
        self.wiping.d.next = self.wipes.q.val();
        self.enabling.d.next = self.enables.q.val();
        self.planned.d.next = self.plan.val();
        self.marked.d.next = self.mark.val();
        if self.halts.output.valid.val() {
            self.marked.d.next = self.halts.output.data.val();
        }
        self.arrived.d.next = self.append.val();
        self.states.ahead.next = self.chosen_queue.val();
        if self.select.receive_enable.val() {
            self.renews.d.next = true;
            self.wipes.d.next = self.select.every.val();
            self.enables.d.next = self.cfg.data.val() == 1;
            self.renewed.d.next = self.cfg.index.val().get_bits::<QUEUE>(0);
        }

        // The operation that was chosen in the cycle before is carried out.
        self.standing.bits.next = self.states.read_data.val();
        self.then.next = self.standing.record.val();
        self.states.write_enable.next = self.operation.q.val() != PoolOperation::Rest;
        self.states.write_address.next = self.queue.q.val();
        self.seen.next = self.standing.record.val();
        self.usable.next = self.standing.record.val().enabled
            && !self.standing.record.val().halted
            && (self.asked.q.val().flush == self.standing.record.val().flushing)
            && (!self.asked.q.val().goes_on
                || (self.asked.q.val().life == self.standing.record.val().life));
        self.stays.next = self.asked.q.val().keeps
            && self.blocks.read_data.val().get_bit(APPEND_BIT)
            && !self.blocks.read_data.val().get_bit(UNREAD_BIT);
        self.no_room.next = self.asked.q.val().keeps
            && self.blocks.read_data.val().get_bit(MANY_BIT)
            && !self.blocks.read_data.val().get_bit(UNREAD_BIT)
            && !self.many_room.val();
        self.popped.valid.next = false;
        self.popped.kind.next = PoppedKind::Nothing;
        self.popped.data.next = self.blocks.read_data.val().get_bits::<512>(0);
        self.popped.error.next = self.blocks.read_data.val().get_bit(UNREAD_BIT);
        self.popped.position.next = self.standing.record.val().position;
        self.popped.posted.next =
            self.standing.record.val().producer - self.standing.record.val().position;
        self.popped.life.next = self.standing.record.val().life;
        self.list.valid.next = false;
        self.list.queue.next = self.queue.q.val();
        self.link_writes.next = false;
        self.link_at.next = self.free_tail.q.val();
        self.link_to.next = self.standing.record.val().head;
        self.blocks.write_lanes.next = 0.into();
        self.given.d.next = 0.into();
        self.reserved.d.next = 0.into();
        match self.operation.q.val() {
            PoolOperation::Renew => {
                self.then.next.producer = 0.into();
                self.then.next.fetched = 0.into();
                self.then.next.position = 0.into();
                self.then.next.here = 0.into();
                self.then.next.held = 0.into();
                self.then.next.life = self.standing.record.val().life + 1;
                self.then.next.enabled = self.enabling.q.val();
                self.then.next.halted = false;
                self.then.next.more = false;
                if self.wiping.q.val() {
                    // Clearing all tables: every block is free.
                    self.then.next.life = 0.into();
                    self.then.next.listed = false;
                    self.then.next.flushing = false;
                    self.link_writes.next = true;
                    self.link_at.next = self.queue.q.val();
                    self.link_to.next = self.queue.q.val() + 1;
                } else if self.standing.record.val().here.any() {
                    self.link_writes.next = true;
                    self.free_tail.d.next = self.standing.record.val().tail;
                    self.given.d.next = self.standing.record.val().here;
                }
            }
            PoolOperation::Plan => {
                self.reserved.d.next = self.planned.q.val().blocks;
                self.then.next.listed = self.planned.q.val().lists
                    || (self.standing.record.val().listed && !self.planned.q.val().unlists);
                self.list.valid.next = self.planned.q.val().lists
                    && (self.planned.q.val().unlists || !self.standing.record.val().listed);
                if self.planned.q.val().life == self.standing.record.val().life {
                    self.then.next.producer = self.planned.q.val().producer;
                    self.then.next.fetched = self.planned.q.val().fetched;
                    self.then.next.more = self.planned.q.val().more;
                    self.then.next.held = self.standing.record.val().held
                        + bit_cast::<HELD, 5>(self.planned.q.val().blocks);
                }
            }
            PoolOperation::Mark => {
                if self.marked.q.val().kind == MarkKind::Flush {
                    self.then.next.flushing = true;
                } else if self.marked.q.val().kind == MarkKind::Calm {
                    self.then.next.flushing = false;
                } else if self.marked.q.val().life == self.standing.record.val().life {
                    self.then.next.halted = true;
                }
            }
            PoolOperation::Give => {
                self.popped.valid.next = true;
                if self.usable.val()
                    && !(self.standing.record.val().here.any() && self.no_room.val())
                {
                    if self.standing.record.val().here.any() {
                        self.popped.kind.next = PoppedKind::Block;
                        if !self.stays.val() {
                            self.then.next.head = self.links.read_data.val();
                            self.then.next.here = self.standing.record.val().here - 1;
                            self.then.next.held = self.standing.record.val().held - 1;
                            self.then.next.position = self.standing.record.val().position + 1;
                            self.then.next.halted = self.asked.q.val().flush;
                            self.link_writes.next = true;
                            self.free_tail.d.next = self.standing.record.val().head;
                            self.given.d.next = 1.into();
                            self.list.valid.next = self.standing.record.val().more
                                && !self.standing.record.val().listed
                                && (self.standing.record.val().held <= self.refill.q.val());
                        }
                    } else {
                        if self.standing.record.val().held.any() || self.standing.record.val().more
                        {
                            self.popped.kind.next = PoppedKind::Later;
                        }
                        self.list.valid.next = !self.standing.record.val().held.any()
                            && self.standing.record.val().more
                            && !self.standing.record.val().listed;
                    }
                    if self.list.valid.val() {
                        self.then.next.listed = true;
                    }
                }
            }
            PoolOperation::Append => {
                if self.arrived.q.val().life == self.standing.record.val().life {
                    self.blocks.write_lanes.next = 1.into();
                    self.free_head.d.next = self.free_links.read_data.val();
                    self.then.next.tail = self.free_head.q.val();
                    self.then.next.here = self.standing.record.val().here + 1;
                    if self.standing.record.val().here.any() {
                        self.link_writes.next = true;
                        self.link_at.next = self.standing.record.val().tail;
                        self.link_to.next = self.free_head.q.val();
                    } else {
                        self.then.next.head = self.free_head.q.val();
                    }
                } else {
                    self.given.d.next = 1.into();
                }
            }
            PoolOperation::Rest | PoolOperation::Look | PoolOperation::Pop => {}
        }
        self.changed.record.next = self.then.val();
        self.states.write_data.next = self.changed.bits.val();

        self.blocks.write_address.next = self.free_head.q.val();
        self.many.next = self.arrived.q.val().data.get_bits::<32>(TYPES_AT).any()
            || (self.arrived.q.val().data.get_bits::<REGIONS>(REGIONS_AT) > FEW);
        self.blocks.write_data.next = bit_cast::<STORED, 512>(self.arrived.q.val().data)
            | (bit_cast::<STORED, 1>(self.arrived.q.val().error.into()) << UNREAD_BIT as u64)
            | (bit_cast::<STORED, 1>(self.many.val().into()) << MANY_BIT as u64);
        self.blocks.read_enable.next = self.operation.q.val() == PoolOperation::Pop;
        self.blocks.read_address.next = self.standing.record.val().head;
        self.links.write_enable.next = self.link_writes.val();
        self.links.write_address.next = self.link_at.val();
        self.links.write_data.next = self.link_to.val();
        self.links.ahead.next = self.standing.record.val().head;
        self.free_links.write_enable.next = self.link_writes.val();
        self.free_links.write_address.next = self.link_at.val();
        self.free_links.write_data.next = self.link_to.val();

        // Blocks that are given back or reserved count a cycle later.
        self.left.d.next = (self.left.q.val() + bit_cast::<13, HELD>(self.given.q.val()))
            - bit_cast::<13, 5>(self.reserved.q.val());
        self.unreserved.next = self.left.q.val();
        self.refill.d.next = REFILL.into();
        if self.left.q.val() > MANY {
            self.refill.d.next = REFILL_OF_MANY.into();
        }

        if self.rst.val() {
            self.renews.d.next = false;
            self.operation.d.next = PoolOperation::Rest;
            self.free_head.d.next = 0.into();
            self.free_tail.d.next = 4095.into();
            self.given.d.next = 0.into();
            self.reserved.d.next = 0.into();
            self.left.d.next = 4096.into();
        }
        self.free_links.ahead.next = self.free_head.d.val();
    }
}
