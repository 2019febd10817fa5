//! Executes packets: makes placings, answers and progress, and breaks queue pairs.

mod jobs;
mod kernel;
mod payload;
mod verdicts;

use super::checks::{Checks, Verdict};
use super::flights::{Failure, Fate};
use super::record::{Job, Progress, ProgressWrite};
use crate::context::{ConfigWrite, QueuePairIndex, RegionIndex};
use crate::receive::record::{
    Answer, AppendAsk, AppendSettle, AppendTaken, AppendTold, Operands, Placing, RegionAsk,
    RegionSettle, RegionTold, RegionVerdict, SLOT,
};
use drdma_abi::completion::Status;
use drdma_abi::receive::{GLOBAL_ROUTE, MAX_RD_ATOMIC, receive_flags};
use drdma_abi::roce::{Ipv4, syndrome};
use drdma_emit::prelude::*;

/// Statuses with which receives complete.
const TOO_LONG: u64 = Status::LocalLengthError as u64;
const FLUSHED: u64 = Status::WrFlushError as u64;
const INVALID: u64 = Status::RemoteInvalidRequestError as u64;
const NO_ACCESS: u64 = Status::RemoteAccessError as u64;
const MALFORMED: u64 = Status::LocalQpOperationError as u64;
const FORBIDDEN: u64 = Status::LocalProtectionError as u64;
/// Syndromes of answers.
const ACK: u64 = (syndrome::ACK | 31) as u64;
const RNR_NAK: u64 = syndrome::RNR_NAK as u64;
const NAK_INVALID: u64 = syndrome::NAK_INVALID_REQUEST as u64;
const NAK_ACCESS: u64 = syndrome::NAK_REMOTE_ACCESS as u64;
const NAK_OPERATION: u64 = syndrome::NAK_REMOTE_OPERATION as u64;
/// Flags of completions.
const ROUTE_FLAG: u64 = receive_flags::GLOBAL_ROUTE as u64;
const IMM_FLAG: u64 = receive_flags::IMM as u64;
const INVALIDATED_FLAG: u64 = receive_flags::INVALIDATED as u64;
const APPENDED_FLAG: u64 = receive_flags::APPENDED as u64;
/// Bytes of an IPv4 header, and bytes in front of it in a receive.
const IP_HEADER: u64 = Ipv4::SIZE as u64;
/// READs and atomics that are counted, at most.
const MOST: u64 = MAX_RD_ATOMIC as u64;
const UNUSED_ROUTE: u64 = (GLOBAL_ROUTE - Ipv4::SIZE) as u64;

/// Steps of a job.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum ExecutionState {
    /// There is no job.
    Empty,
    /// Asks the append regions to release the region of a message that was given up.
    Release,
    /// Waits until that is settled.
    Released,
    /// Looks its key up, and makes sums.
    Sums,
    /// Compares lengths.
    Lengths,
    /// Asks an append region for rows.
    Rows,
    /// Waits for the append region's answer.
    Told,
    /// Waits for the key's answer: first cycle.
    Bounds,
    /// Waits for the key's answer: second cycle.
    Key,
    /// Asks whether the bytes can be placed piece by piece.
    Find,
    /// Waits for that answer.
    Found,
    /// Everything is known: the first placing is made.
    Finish,
    /// Makes the second placing of a datagram, for its payload.
    Payload,
    /// Makes the key invalid here.
    Revoke,
    /// Has the key made invalid in the rest of the card.
    Tell,
    /// Puts the queue pair into the error state.
    Break,
}

/// Executes jobs; see the [module](self).
///
/// Contract: a packet of a WRITE, a READ and an atomic take 5 cycles, a packet of a SEND 3, a datagram 5, a SEND that
/// makes a key invalid 8; any other job 2, for its placing. A void job takes as long as if it were not; one that breaks
/// its queue pair 2 more. An atomic waits for a slot. A job is done, and its queue pair's progress written, when its
/// first placing is put out. May stall at any time; no ready of an output reaches that of `job` within a cycle.
///
/// # Inputs
/// `clk`, `rst`; `cfg`; stream `job`; `begins`; `fate` of the current job; `has_slot`, `slot`; `append_told`;
/// `region_told`.
///
/// # Outputs
/// Streams `placing`, `answer`, `invalidate`, `set_qp_error`, `append_ask`, `region_ask`; `append_settle`,
/// `append_taken`, `region_settle`; `accepted`; `write`; `ended`: the current job is done; `fails`: a job was not
/// executed, a cycle later; `lingers`: the queue pair of the placing that is put out; `count_dropped`, `count_ignored`;
/// `idle`: there is neither a job nor a placing.
#[derive(LogicBlock, BlockDefault)]
pub struct Execution {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Words that the host writes into tables.
    pub cfg: Flow<In, ConfigWrite>,
    /// Jobs, in the order of packets.
    pub job: Stream<In, Job>,
    /// A queue pair begins anew: no job ends in this cycle.
    pub begins: Signal<In, Bit>,
    /// Events that concern the current job since it left admission.
    pub fate: Signals<In, Fate>,
    /// Placings of the packets' payload.
    pub placing: Stream<Out, Placing>,
    /// ACKs and NAKs to send, READs and atomics to answer.
    pub answer: Stream<Out, Answer>,
    /// There is a free slot for an atomic.
    pub has_slot: Signal<In, Bit>,
    /// Number of the free slot; valid with `has_slot`.
    pub slot: Signal<In, Bits<SLOT>>,
    /// An atomic that is accepted takes the free slot.
    pub accepted: Flow<Out, Operands>,
    /// Memory regions whose keys become invalid, in all copies of the table.
    pub invalidate: Stream<Out, RegionIndex>,
    /// Questions to the append regions.
    pub append_ask: Stream<Out, AppendAsk>,
    /// Answers of the append regions.
    pub append_told: Flow<In, AppendTold>,
    /// Decision about the packet that was asked about.
    pub append_settle: Flow<Out, AppendSettle>,
    /// Decision about a receive that appends.
    pub append_taken: Flow<Out, AppendTaken>,
    /// Asks whether bytes can be placed piece by piece.
    pub region_ask: Stream<Out, RegionAsk>,
    /// Answer to `region_ask`.
    pub region_told: Flow<In, RegionTold>,
    /// Decision about the packet that was asked about.
    pub region_settle: Flow<Out, RegionSettle>,
    /// Queue pairs that enter the error state.
    pub set_qp_error: Stream<Out, QueuePairIndex>,
    /// Progress of a queue pair.
    pub write: Flow<Out, ProgressWrite>,
    /// The current job is done.
    pub ended: Signal<Out, Bit>,
    /// A job was not executed in the cycle before, though its order was right.
    pub fails: Flow<Out, Failure>,
    /// The queue pair of the placing that is put out.
    pub lingers: Flow<Out, QueuePairIndex>,
    /// A packet is dropped because one before it has broken the queue pair.
    pub count_dropped: Signal<Out, Bit>,
    /// A repeated READ is not answered, a packet is dropped because one before it will be sent again, or one of UC or
    /// UD fails a check, and its message with it.
    pub count_ignored: Signal<Out, Bit>,
    /// Neither a job nor a placing is held.
    pub idle: Signal<Out, Bit>,

    checks: Checks,
    state: DFF<ExecutionState>,
    held: DFF<Job>,
    at: Signal<Local, Job>,
    /// The job has no effect: it is stale or void.
    lost: Signal<Local, Bit>,
    /// An append region was asked about the job; `told`: its answer.
    asked: DFF<Bit>,
    told: DFF<AppendTold>,
    /// The job's bytes are appended.
    appends: Signal<Local, Bit>,
    /// The job's bytes are placed piece by piece; whether they can be was asked, of a datagram's header first.
    pieces: Signal<Local, Bit>,
    sought: DFF<Bit>,
    sought_header: DFF<Bit>,
    /// The answer to that question.
    found: DFF<RegionVerdict>,
    /// The question is to be asked.
    seeks: Signal<Local, Bit>,
    of_header: Signal<Local, Bit>,
    /// The receive that was taken stays in its queue.
    returns: Signal<Local, Bit>,
    /// The step with which the job begins.
    begins_at: Signal<Local, ExecutionState>,
    failed: DFF<Bit>,
    failure: DFF<Failure>,
    unused: Signal<Local, Job>,
    /// The key has been made invalid here.
    revoked: DFF<Bit>,
    /// Frames whose last placing was taken, since the reset, modulo 2^32.
    frames: DFF<Bits<32>>,
    /// Sequence numbers that the packet takes.
    takes: Signal<Local, Bits<24>>,
    /// Distance of a repeated READ from the expected packet, in sequence numbers.
    behind: Signal<Local, Bits<24>>,
    /// All packets of the repeated READ were expected before, as known a cycle before.
    answerable: DFF<Bit>,

    verdict: Signal<Local, Verdict>,
    /// The job is a READ or an atomic that is accepted; an atomic that is.
    accepts: Signal<Local, Bit>,
    changes: Signal<Local, Bit>,
    executes: Signal<Local, Bit>,
    completes: Signal<Local, Bit>,
    status: Signal<Local, Bits<8>>,
    answers: Signal<Local, Bit>,
    syndrome: Signal<Local, Bits<8>>,
    breaks: Signal<Local, Bit>,
    writes: Signal<Local, Bit>,
    /// The queue pair's progress after the job.
    then: Signal<Local, Progress>,
    next_msn: Signal<Local, Bits<24>>,
    place: Signal<Local, Placing>,
    /// The placing of the whole payload.
    payload: Signal<Local, Placing>,
    splits: Signal<Local, Bit>,
    finishes: Signal<Local, Bit>,
    ends: Signal<Local, Bit>,
    // Outputs that wait to be taken.
    placing_full: DFF<Bit>,
    placed: DFF<Placing>,
    answer_full: DFF<Bit>,
    answered: DFF<Answer>,
}
