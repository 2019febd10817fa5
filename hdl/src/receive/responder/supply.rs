//! Receives for the messages that begin.

use super::record::{Job, JobKind};
use crate::context::QueuePairIndex;
use crate::receive::record::{Take, Taken};
use drdma_emit::prelude::*;

/// What is done for the job at hand.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum SupplyState {
    /// There is none.
    Empty,
    /// The receive in use is given up.
    Abandon,
    /// Until that is known outside.
    Abandoned,
    /// A receive is asked for.
    Ask,
    /// Until the answer comes.
    Await,
    /// It goes on.
    Pass,
}

/// Takes a receive for each job that needs one.
///
/// Contract: a job that needs none goes on after 1 cycle; one that does asks after 1 cycle and goes on in the cycle in
/// which the answer comes. A job that gives up another message's receive goes on twice: first as
/// [`JobKind::Abandon`]; it asks for another when that has left the responder (`idle`).
///
/// # Inputs
/// `clk`, `rst`; stream `job`; `begins`; stream `taken`; `idle`: no job is under way behind this block.
///
/// # Outputs
/// Streams `take`, `supplied`; `occupied`: the queue pair of the job at hand.
#[derive(LogicBlock, BlockDefault)]
pub struct Supply {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Jobs.
    pub job: Stream<In, Job>,
    /// A queue pair begins anew.
    pub begins: Flow<In, QueuePairIndex>,
    /// A receive is asked for.
    pub take: Stream<Out, Take>,
    /// The answer.
    pub taken: Stream<In, Taken>,
    /// No job is under way behind this block.
    pub idle: Signal<In, Bit>,
    /// The same jobs, and what receive they have.
    pub supplied: Stream<Out, Job>,
    /// The queue pair of the job at hand.
    pub occupied: Flow<Out, QueuePairIndex>,

    state: DFF<SupplyState>,
    held: DFF<Job>,
    /// As it is now.
    now: Signal<Local, Job>,
    leaves: Signal<Local, Bit>,
    stales: Signal<Local, Bit>,
    first: Signal<Local, SupplyState>,
}

impl Logic for Supply {
    #[hdl_gen]
    fn update(&mut self) {
        self.stales.next =
            self.begins.valid.val() && (self.begins.qp.val() == self.held.q.val().qp);
        self.now.next = self.held.q.val();
        if self.stales.val() {
            self.now.next.stale = true;
        }
        self.take.valid.next = self.state.q.val() == SupplyState::Ask;
        self.take.qp.next = self.held.q.val().qp;
        self.take.queue.next = self.held.q.val().queue;
        self.take.pd.next = self.held.q.val().pd;
        self.taken.ready.next =
            (self.state.q.val() == SupplyState::Await) && self.supplied.ready.val();
        self.supplied.valid.next = false;
        self.supplied.next = self.now.val();
        self.leaves.next = false;
        self.held.d.next = self.now.val();
        match self.state.q.val() {
            SupplyState::Empty => {}
            SupplyState::Abandon => {
                self.supplied.valid.next = true;
                self.supplied.next.kind = JobKind::Abandon;
                if self.supplied.ready.val() {
                    self.state.d.next = SupplyState::Abandoned;
                }
            }
            SupplyState::Abandoned => {
                if self.idle.val() {
                    self.state.d.next = SupplyState::Pass;
                    if self.held.q.val().takes {
                        self.state.d.next = SupplyState::Ask;
                    }
                }
            }
            SupplyState::Ask => {
                if self.take.ready.val() {
                    self.state.d.next = SupplyState::Await;
                }
            }
            SupplyState::Await => {
                self.supplied.valid.next = self.taken.valid.val();
                self.supplied.next.missing = !self.taken.found.val();
                self.supplied.next.taken = self.taken.found.val();
                self.supplied.next.status = 0.into();
                if self.taken.found.val() {
                    self.supplied.next.status = self.taken.status.val();
                    self.supplied.next.progress.in_use = true;
                    self.supplied.next.progress.capacity = self.taken.capacity.val();
                }
                self.leaves.next = self.taken.valid.val() && self.supplied.ready.val();
            }
            SupplyState::Pass => {
                self.supplied.valid.next = true;
                self.leaves.next = self.supplied.ready.val();
            }
        }
        self.job.ready.next = self.leaves.val() || (self.state.q.val() == SupplyState::Empty);
        self.first.next = SupplyState::Pass;
        if self.job.takes.val() {
            self.first.next = SupplyState::Ask;
        }
        if self.job.abandons.val() {
            self.first.next = SupplyState::Abandon;
        }
        if self.job.ready.val() {
            self.state.d.next = SupplyState::Empty;
            if self.job.valid.val() {
                self.state.d.next = self.first.val();
                self.held.d.next = self.job.val();
            }
        }
        self.occupied.valid.next = self.state.q.val() != SupplyState::Empty;
        self.occupied.qp.next = self.held.q.val().qp;
        if self.rst.val() {
            self.state.d.next = SupplyState::Empty;
        }
    }
}
