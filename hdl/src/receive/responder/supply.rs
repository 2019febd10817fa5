//! Receives for the messages that begin.

use super::record::{Job, JobKind};
use crate::primitive::{StreamFifo, StreamSkid};
use crate::receive::record::{Take, Taken};
use drdma_abi::completion::Status;
use drdma_emit::prelude::*;

/// No datagram is appended.
const MALFORMED: u64 = Status::LocalQpOperationError as u64;

/// What is done for the oldest job.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum SupplyState {
    /// It goes on, as soon as it has its receive, or gives up another one first.
    Pass,
    /// Until it is known outside that the receive was given up.
    Abandoned,
    /// A receive is asked for.
    Ask,
    /// Until the answer comes.
    Await,
    /// It goes on.
    Resume,
}

/// Takes a receive for each job that needs one.
///
/// Contract: a job in a cycle; it goes on after 1 cycle, or with the answer to its take, which is offered after 1 cycle. 8
/// jobs wait, and their takes do not wait for each other's answers. A job that gives up another message's receive goes on twice: first
/// as [`JobKind::Abandon`]; it asks for another when that has left the responder (`idle`), and no job comes in until it has left.
///
/// # Inputs
/// `clk`, `rst`; stream `job`; stream `taken`; `idle`: no job is under way behind this block.
///
/// # Outputs
/// Streams `take`, `supplied`.
#[derive(LogicBlock, BlockDefault)]
pub struct Supply {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Jobs.
    pub job: Stream<In, Job>,
    /// A receive is asked for.
    pub take: Stream<Out, Take>,
    /// The answer.
    pub taken: Stream<In, Taken>,
    /// No job is under way behind this block.
    pub idle: Signal<In, Bit>,
    /// The same jobs, and what receive they have.
    pub supplied: Stream<Out, Job>,

    state: DFF<SupplyState>,
    #[init(StreamFifo::prompt())]
    jobs: StreamFifo<Job, 3, 4>,
    takes: StreamSkid<Take>,
    /// A job that gives up a receive waits here.
    alone: DFF<Bit>,
    head: Signal<Local, Job>,
    /// The oldest job waits for the answer to its take.
    awaits: Signal<Local, Bit>,
    /// It goes on if that is there.
    passes: Signal<Local, Bit>,
    /// Another message's receive is given up.
    gives_up: Signal<Local, Bit>,
    offers: Signal<Local, Bit>,
}

impl Logic for Supply {
    #[hdl_gen]
    fn update(&mut self) {
        // Jobs come, and ask for their receives.
        self.job.ready.next =
            self.jobs.input.ready.val() && self.takes.input.ready.val() && !self.alone.q.val();
        self.jobs.input.valid.next =
            self.job.valid.val() && self.takes.input.ready.val() && !self.alone.q.val();
        self.jobs.input.data.next = self.job.val();
        self.takes.input.valid.next = self.job.valid.val()
            && self.jobs.input.ready.val()
            && !self.alone.q.val()
            && self.job.takes.val()
            && !self.job.abandons.val();
        self.takes.input.data.next.qp = self.job.qp.val();
        self.takes.input.data.next.queue = self.job.queue.val();
        self.takes.input.data.next.pd = self.job.pd.val();
        self.takes.input.data.next.follows = self.job.follows.val();
        if self.job.valid.val() && self.job.ready.val() && self.job.abandons.val() {
            self.alone.d.next = true;
        }
        self.takes.output.join(&mut self.take);

        // The oldest one goes on.
        self.head.next = self.jobs.output.data.val();
        self.supplied.next = self.head.val();
        self.awaits.next = self.state.q.val() == SupplyState::Await;
        self.passes.next = self.awaits.val() || (self.state.q.val() == SupplyState::Resume);
        if (self.state.q.val() == SupplyState::Pass)
            && self.jobs.output.valid.val()
            && !self.head.val().abandons
        {
            self.passes.next = true;
            self.awaits.next = self.head.val().takes;
        }
        self.gives_up.next = (self.state.q.val() == SupplyState::Pass)
            && self.jobs.output.valid.val()
            && self.head.val().abandons;
        self.offers.next = self.passes.val() && (!self.awaits.val() || self.taken.valid.val());
        self.supplied.valid.next = self.offers.val() || self.gives_up.val();
        self.taken.ready.next = self.awaits.val() && self.supplied.ready.val();
        self.jobs.output.ready.next = self.offers.val() && self.supplied.ready.val();
        if self.gives_up.val() {
            self.supplied.next.kind = JobKind::Abandon;
        }
        if self.awaits.val() {
            self.supplied.next.missing = !self.taken.found.val();
            self.supplied.next.taken = self.taken.found.val();
            self.supplied.next.status = 0.into();
            if self.taken.found.val() {
                self.supplied.next.status = self.taken.status.val();
                self.supplied.next.progress.in_use = true;
                self.supplied.next.progress.capacity = self.taken.capacity.val();
                self.supplied.next.progress.appends = self.taken.appends.val();
                self.supplied.next.progress.pieces = self.taken.pieces.val();
                if self.taken.appends.val() && self.head.val().datagram {
                    self.supplied.next.status = MALFORMED.into();
                }
            }
        }
        match self.state.q.val() {
            SupplyState::Pass => {
                if self.gives_up.val() && self.supplied.ready.val() {
                    self.state.d.next = SupplyState::Abandoned;
                }
            }
            SupplyState::Abandoned => {
                if self.idle.val() {
                    self.state.d.next = SupplyState::Resume;
                    if self.head.val().takes {
                        self.state.d.next = SupplyState::Ask;
                    }
                }
            }
            SupplyState::Ask => {
                self.takes.input.valid.next = true;
                self.takes.input.data.next.qp = self.head.val().qp;
                self.takes.input.data.next.queue = self.head.val().queue;
                self.takes.input.data.next.pd = self.head.val().pd;
                self.takes.input.data.next.follows = false;
                if self.takes.input.ready.val() {
                    self.state.d.next = SupplyState::Await;
                }
            }
            SupplyState::Await | SupplyState::Resume => {
                if self.offers.val() && self.supplied.ready.val() {
                    self.alone.d.next = false;
                    self.state.d.next = SupplyState::Pass;
                }
            }
        }
        if self.rst.val() {
            self.state.d.next = SupplyState::Pass;
            self.alone.d.next = false;
        }
    }
}
