//! Receive queues: provides the receives that messages take, and says where their bytes go.
//!
//! Stands between the responder, which asks for receives and places the payload of packets, and the writer, which
//! moves it. Entries of 4,096 queues are fetched ahead into a pool; a message takes the next one, whose regions are
//! checked then; payload is cut along them.
//!
//! ```text
//! doorbell --> planner --read--> host_read --> planner --blocks--> pool --> taker --> checker --taken-->
//!     take -----------------------------------------------------------------^            |
//!     placing ----------------------------------------------------------> scatter <-- in use
//!                                                                            \--order-->
//! ```
//!
//! Contract: a take is answered 8 or more cycles later, because its blocks may still have to be read. Takes may follow
//! each other before they are answered, one in 5 cycles for each block of their entries; answers come in their order. A
//! queue pair must not ask for a receive of a shared queue while it has one in use. Of its own queue it may take
//! several, which its messages use up in the order of the takes: up to 4 are in use, and one of more than 4 regions, or
//! with a strided one, is alone; a take beyond that waits, and all behind it. A take that `follows` finds nothing if
//! the one before it of its queue pair did not. Each placing leads to one or more orders, in their order, an order in 5
//! cycles for the first one of a placing, or in 4 if it needs no receive, in 2 for others. Payload for dense columns
//! goes to the transposer, with one order.
//!
//! In a queue that is not shared, only the first receive that fails completes until the host enables the queue again:
//! further ones are used up without a completion, because the queue is halted and all behind its failed receive is the
//! driver's. `broken` names a queue pair that has entered the error state: its oldest receive in use, or else its own
//! queue's oldest one, now or when it is posted, completes with `wr_flush_error`. It is given up in its turn among
//! takes. What the host writes to the state of a queue pair or its attributes gives a shared queue's receive back;
//! 4,096 such words and broken queue pairs can wait.
//!
//! An entry's regions need up to 32 places (`drdma_abi::receive::RECEIVE_PLACES`); an entry that needs more completes
//! with `local_qp_operation_error`. If one of its regions is bitmapped or pointer-mapped, the granules of all go to
//! [`pieces`](super::pieces), which says where bytes go, piece by piece; no key is checked before that. At most 512
//! receives of more than 4 regions, or with one that is not contiguous, are in use
//! (`drdma_abi::receive::MANY_RECEIVES`): while they are, a take whose turn it is with another one finds nothing, and
//! that one stays in its queue. A receive that appends has no regions: placings say which rows of which append region
//! their bytes become. It stays in its queue until `append_taken` decides about it, and all takes wait for that.

use crate::context::{ConfigWrite, QueuePairIndex};
use crate::receive::record::{
    AppendTaken, AppendWord, PiecePlace, Placing, Take, Taken, WriteOrder,
};
use crate::receive::transposer::runs::{Planned, Target};
use crate::shell::control::Doorbell;
use crate::shell::host_read::{HostReadBeat, HostReadRequest};
use drdma_emit::prelude::*;

pub mod checker;
pub mod columns;
pub mod dense;
pub mod events;
pub mod in_use;
pub mod planner;
pub mod pool;
pub mod receipts;
pub mod record;
pub mod scatter;
pub mod shapes;
pub mod slots;
pub mod strided;
pub mod taker;
#[cfg(test)]
mod tests;

use checker::Checker;
use in_use::InUse;
use planner::Planner;
use pool::Pool;
use record::ReceiveGranule;
use scatter::Scatter;
use taker::Taker;

/// Receive queues. See the [module](self).
#[derive(LogicBlock, BlockDefault)]
pub struct Receives {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset; all tables are cleared after it.
    pub rst: Signal<In, Bit>,
    /// Words that the host writes into tables.
    pub cfg: Flow<In, ConfigWrite>,
    /// Doorbells of receive queues.
    pub doorbell: Stream<In, Doorbell>,
    /// Reads of host memory: blocks of rings.
    pub read: Stream<Out, HostReadRequest>,
    /// Bytes that the reads bring.
    pub beat: Stream<In, HostReadBeat>,
    /// Asks for receives for messages that begin.
    pub take: Stream<In, Take>,
    /// Answers to the takes, in their order.
    pub taken: Stream<Out, Taken>,
    /// Decides about the receive that appends and was taken last.
    pub append_taken: Flow<In, AppendTaken>,
    /// Words that the host writes to append regions.
    pub append_word: Flow<In, AppendWord>,
    /// Granules of receives whose regions are walked.
    pub granule: Flow<Out, ReceiveGranule>,
    /// Placings of the payload of packets.
    pub placing: Stream<In, Placing>,
    /// Pieces of the payload of placings that have `pieces`.
    pub piece: Stream<In, PiecePlace>,
    /// Runs of bytes to write, in the order of placings.
    pub order: Stream<Out, WriteOrder>,
    /// Dense columns for the transposer.
    pub target: Stream<Out, Target>,
    /// Plan of the transposer for each payload.
    pub planned: Stream<In, Planned>,
    /// Queue pairs that have entered the error state.
    pub broken: Flow<In, QueuePairIndex>,
    /// Doorbells, reads, takes or placings are not used up.
    pub busy: Signal<Out, Bit>,

    planner: Planner,
    pool: Pool,
    taker: Taker,
    checks: Checker,
    in_use: InUse,
    scatter: Scatter,
}

impl Logic for Receives {
    #[hdl_gen]
    fn update(&mut self) {
        self.cfg.join(&mut self.planner.cfg);
        self.cfg.join(&mut self.pool.cfg);
        self.cfg.join(&mut self.taker.cfg);
        self.cfg.join(&mut self.checks.cfg);
        self.cfg.join(&mut self.in_use.cfg);
        self.cfg.join(&mut self.scatter.cfg);
        self.append_word.join(&mut self.scatter.word);

        self.doorbell.join(&mut self.planner.doorbell);
        self.planner.read.join(&mut self.read);
        self.beat.join(&mut self.planner.beat);
        self.planner.look.join(&mut self.pool.look);
        self.planner.seen.next = self.pool.seen.val();
        self.planner.plan.join(&mut self.pool.plan);
        self.planner.append.join(&mut self.pool.append);
        self.planner.unreserved.next = self.pool.unreserved.val();
        self.pool.list.join(&mut self.planner.list);

        self.take.join(&mut self.taker.take);
        self.broken.join(&mut self.taker.broken);
        self.planner.flush.join(&mut self.taker.posted);
        self.pool.may_pop.next = self.taker.may_pop.val();
        self.taker.pop.join(&mut self.pool.pop);
        self.pool.popped.join(&mut self.taker.popped);
        self.taker.mark.join(&mut self.pool.mark);
        self.planner.waits.next = self.taker.waits.val();
        self.planner.waits_for.next = self.taker.waits_for.val();

        self.append_taken.join(&mut self.taker.append_taken);
        self.taker.piece.join(&mut self.checks.piece);
        self.taker.room.next = self.checks.room.val();
        self.taker.settled.next = self.checks.settled.val();
        self.checks.taken.join(&mut self.taken);
        self.in_use.span_at.next = self.checks.span_at.val();
        self.checks.span.join(&mut self.in_use.span);
        self.in_use.span_narrow.next = self.checks.span_narrow.val();
        self.in_use.checker_qp.next = self.checks.next_qp.val();
        self.checks.named.join(&mut self.in_use.named);
        self.in_use.taker_qp.next = self.taker.next_qp.val();
        self.taker.in_use.next = self.in_use.taker_used.val();
        self.taker.had_any.next = self.in_use.taker_had_any.val();
        self.taker.had_all.next = self.in_use.taker_had_all.val();

        self.in_use.settled.next = self.checks.settled.val();
        self.taker.few_room.next = self.in_use.few_room.val();
        self.pool.many_room.next = self.in_use.many_room.val();
        self.checks.slot.next = self.in_use.slot.val();

        self.checks.granule.join(&mut self.granule);
        self.placing.join(&mut self.scatter.placing);
        self.piece.join(&mut self.scatter.piece);
        self.scatter.order.join(&mut self.order);
        self.scatter.target.join(&mut self.target);
        self.planned.join(&mut self.scatter.planned);
        self.taker.give_up.join(&mut self.scatter.give_up);
        self.scatter.given_up.join(&mut self.taker.given_up);
        self.scatter.halt.join(&mut self.pool.halt);
        self.in_use.next_qp.next = self.scatter.next_qp.val();
        self.scatter.used.next = self.in_use.used.val();
        self.scatter.name.next = self.in_use.name.val();
        self.in_use.next_span.next = self.scatter.next_span.val();
        self.scatter.first_region.next = self.in_use.first_region.val();
        self.scatter.region.next = self.in_use.region.val();
        self.in_use.cleared.next = self.scatter.cleared.val();
        self.scatter.wiped.next = self.in_use.wiped.val();
        self.scatter.wiped_qp.next = self.in_use.wiped_qp.val();
        self.in_use.cleared_qp.next = self.scatter.cleared_qp.val();

        self.busy.next = self.planner.busy.val()
            || self.taker.busy.val()
            || !self.checks.settled.val()
            || self.scatter.busy.val();
    }
}
