//! Takes receives for the messages that begin.

use super::record::{Job, JobKind};
use crate::primitive::{StreamFifo, StreamSkid};
use crate::receive::record::{Take, Taken};
use drdma_abi::completion::Status;
use drdma_emit::prelude::*;

/// Status of a receive that appends, taken for a datagram: datagrams are not appended.
const MALFORMED: u64 = Status::LocalQpOperationError as u64;

/// Steps for the oldest job.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum SupplyState {
    /// Passes the job on as soon as it has its receive, or gives up another message's receive first.
    Pass,
    /// Waits until all blocks behind have seen that the receive was given up.
    Abandoned,
    /// Asks for a receive.
    Ask,
    /// Waits for the answer.
    Await,
    /// Passes the job on.
    Resume,
}

/// Takes a receive for each job that needs one.
///
/// Contract: a job a cycle; it is passed on after 1 cycle, or with the answer to its take, which is offered after 1
/// cycle. 8 jobs wait, and their takes do not wait for each other's answers. A job that gives up another message's
/// receive is passed on twice: first as [`JobKind::Abandon`]; it asks for its own receive when that has left the
/// responder (`idle`), and no other job comes in until it has left.
///
/// # Inputs
/// `clk`, `rst`; streams `job` and `taken`; `idle`: no job is under way behind this block.
///
/// # Outputs
/// Streams `take`, `supplied`.
#[derive(LogicBlock, BlockDefault)]
pub struct Supply {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Jobs of admission, in order.
    pub job: Stream<In, Job>,
    /// Asks for receives.
    pub take: Stream<Out, Take>,
    /// Answers to the takes, in their order.
    pub taken: Stream<In, Taken>,
    /// No job is under way behind this block.
    pub idle: Signal<In, Bit>,
    /// The jobs, with the receives that were taken for them.
    pub supplied: Stream<Out, Job>,

    state: DFF<SupplyState>,
    #[init(StreamFifo::prompt())]
    jobs: StreamFifo<Job, 3, 4>,
    takes: StreamSkid<Take>,
    /// The current job gives up a receive, and is alone here.
    alone: DFF<Bit>,
    head: Signal<Local, Job>,
    /// The oldest job waits for the answer to its take.
    awaits: Signal<Local, Bit>,
    /// The oldest job is passed on when that answer comes.
    passes: Signal<Local, Bit>,
    /// The oldest job gives up another message's receive.
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

        // The oldest job is passed on.
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
