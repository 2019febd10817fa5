//! Carries out what follows from a packet: placings, answers, progress, queue pairs that break.

use super::checks::{Checks, Verdict};
use super::flights::{Failure, Fate};
use super::record::{Job, JobKind, Message, Progress, ProgressWrite};
use crate::context::{ConfigWrite, QueuePairIndex, REGION, RegionIndex};
use crate::receive::record::{
    APPEND, Answer, AppendAsk, AppendOutcome, AppendRequest, AppendSettle, AppendTaken, AppendTold,
    AppendVerdict, Operands, Placing, PlacingKind, RegionAsk, RegionSettle, RegionTold,
    RegionVerdict, SLOT,
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
/// makes a key invalid 8; any other
/// job 2, for its placing. A void job takes as long as if it were not; one that breaks its queue pair 2 more. An atomic
/// waits for a slot. A job is done, and its queue pair's progress written,
/// when its first placing is put out. May stall at any time; no ready of an output reaches that of `job` within a
/// cycle.
///
/// # Inputs
/// `clk`, `rst`; `cfg`; stream `job`; `begins`; `fate` of the job at hand; `has_slot`, `slot`; `append_told`;
/// `region_told`.
///
/// # Outputs
/// Streams `placing`, `answer`, `invalidate`, `set_qp_error`, `append_ask`, `region_ask`; `append_settle`,
/// `append_taken`, `region_settle`; `accepted`; `write`; `ended`: the job at hand is done; `fails`: a job was not
/// executed, a cycle later; `lingers`: the queue pair of the placing that is put out; `count_dropped`, `count_ignored`;
/// `idle`: there is neither a job nor a
/// placing.
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
    /// What has happened to the job at hand since it left admission.
    pub fate: Signals<In, Fate>,
    /// What is to be done with the packets' payload.
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
    /// What has become of the packet that was asked about.
    pub append_settle: Flow<Out, AppendSettle>,
    /// What becomes of a receive that appends.
    pub append_taken: Flow<Out, AppendTaken>,
    /// Asks whether bytes can be placed piece by piece.
    pub region_ask: Stream<Out, RegionAsk>,
    /// Answer to `region_ask`.
    pub region_told: Flow<In, RegionTold>,
    /// What has become of the packet that was asked about.
    pub region_settle: Flow<Out, RegionSettle>,
    /// Queue pairs that enter the error state.
    pub set_qp_error: Stream<Out, QueuePairIndex>,
    /// Progress of a queue pair.
    pub write: Flow<Out, ProgressWrite>,
    /// The job at hand is done.
    pub ended: Signal<Out, Bit>,
    /// A job was not executed in the cycle before, though its order was right.
    pub fails: Flow<Out, Failure>,
    /// The queue pair of the placing that is put out.
    pub lingers: Flow<Out, QueuePairIndex>,
    /// A packet is dropped because one before it has broken the queue pair.
    pub count_dropped: Signal<Out, Bit>,
    /// A repeated READ is not answered, or a packet is dropped because one before it will be sent again.
    pub count_ignored: Signal<Out, Bit>,
    /// Neither a job nor a placing is held.
    pub idle: Signal<Out, Bit>,

    checks: Checks,
    state: DFF<ExecutionState>,
    held: DFF<Job>,
    at: Signal<Local, Job>,
    /// Nothing of the job is done: it is stale or void.
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
    /// How far a repeated READ lies before the expected packet, in sequence numbers.
    behind: Signal<Local, Bits<24>>,

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
    // What is put out.
    placing_full: DFF<Bit>,
    placed: DFF<Placing>,
    answer_full: DFF<Bit>,
    answered: DFF<Answer>,
}

impl Logic for Execution {
    #[hdl_gen]
    fn update(&mut self) {
        self.at.next = self.held.q.val();
        // If the queue pair was broken by something else, what is on its way for it is dropped as well, if that is
        // noticed.
        self.lost.next = self.fate.stale.val()
            || self.fate.void.val()
            || (self.asked.q.val() && (self.told.q.val().verdict == AppendVerdict::Gone));
        self.unused.next = self.at.val();
        self.cfg.join(&mut self.checks.cfg);
        self.checks.at.next = self.at.val();
        self.checks.sample.next = self.state.q.val() == ExecutionState::Key;
        // This condition comes late, and so is not among the checks.
        self.verdict.next = self.checks.verdict.val();
        if ((self.at.val().kind != JobKind::Execute) && (self.at.val().kind != JobKind::Again))
            || self.lost.val()
        {
            self.verdict.next = Verdict::Invalid;
        }
        self.executes.next = self.at.val().kind == JobKind::Execute;
        self.appends.next = self.executes.val()
            && self.at.val().progress.appends
            && self.at.val().progress.in_use
            && !self.at.val().write
            && !self.at.val().read
            && !self.at.val().atomic
            && !self.at.val().missing
            && !self.at.val().status.any();
        self.checks.found.next = self.found.q.val();
        self.pieces.next = self.executes.val()
            && (self.checks.described.val()
                || (self.at.val().progress.pieces
                    && self.at.val().progress.in_use
                    && !self.at.val().write
                    && !self.at.val().read
                    && !self.at.val().atomic));
        self.of_header.next = self.at.val().datagram && !self.sought_header.q.val();
        self.seeks.next = self.pieces.val()
            && (self.verdict.val() == Verdict::Good)
            && (self.of_header.val() || (self.at.val().bytes.any() && !self.sought.q.val()));
        self.returns.next = false;
        self.takes.next = 1.into();
        if self.at.val().read {
            self.takes.next = self.checks.packets.val();
        }
        self.behind.next = self.at.val().progress.expected - self.at.val().psn;
        self.changes.next =
            self.executes.val() && self.at.val().atomic && (self.verdict.val() == Verdict::Good);
        self.accepts.next = self.changes.val()
            || (self.executes.val() && self.at.val().read && (self.verdict.val() == Verdict::Good));

        // What becomes of the receive, the peer and the queue pair.
        self.completes.next = false;
        self.status.next = INVALID.into();
        self.answers.next = false;
        self.syndrome.next = NAK_INVALID.into();
        self.breaks.next = false;
        self.next_msn.next = self.at.val().progress.msn;
        match self.verdict.val() {
            Verdict::Good => {
                self.status.next = 0.into();
                self.completes.next =
                    self.at.val().last && (!self.at.val().write || self.at.val().with_imm);
                self.answers.next = self.at.val().reliable
                    && (self.at.val().ack_req || self.at.val().read || self.at.val().atomic);
                self.syndrome.next = ACK.into();
                if self.at.val().last || self.at.val().read || self.at.val().atomic {
                    self.next_msn.next = self.at.val().progress.msn + 1;
                }
            }
            Verdict::Missing => {
                self.answers.next = self.at.val().reliable;
                self.syndrome.next = bit_cast::<8, 5>(self.at.val().rnr_timer) | RNR_NAK;
                // There is a receive, but the append region has no rows.
                self.returns.next = self.at.val().taken;
                self.completes.next = !self.at.val().reliable
                    && self.at.val().shared
                    && self.at.val().progress.in_use
                    && !self.at.val().taken;
            }
            Verdict::Malformed => {
                self.completes.next = true;
                self.status.next = self.at.val().status;
                if self.appends.val() {
                    self.status.next = FORBIDDEN.into();
                    if self.at.val().first
                        && (self.told.q.val().verdict == AppendVerdict::Malformed)
                    {
                        self.status.next = MALFORMED.into();
                    }
                }
                self.answers.next = self.at.val().reliable;
                self.syndrome.next = NAK_OPERATION.into();
                self.breaks.next = true;
            }
            Verdict::Invalid => {
                self.completes.next = !self.at.val().reliable
                    && self.at.val().shared
                    && self.at.val().progress.in_use;
                self.answers.next = self.at.val().reliable;
                self.breaks.next = self.at.val().reliable;
            }
            Verdict::TooLong => {
                self.completes.next = (self.at.val().reliable || self.at.val().shared)
                    && self.at.val().progress.in_use;
                self.status.next = TOO_LONG.into();
                self.answers.next = self.at.val().reliable;
                self.breaks.next = self.at.val().reliable;
            }
            Verdict::Access => {
                self.completes.next = (self.at.val().reliable || self.at.val().shared)
                    && self.at.val().progress.in_use;
                self.status.next = NO_ACCESS.into();
                self.answers.next = self.at.val().reliable;
                self.syndrome.next = NAK_ACCESS.into();
                self.breaks.next = self.at.val().reliable;
            }
            Verdict::Unreachable => {
                self.completes.next = self.at.val().progress.in_use;
                self.status.next = FORBIDDEN.into();
                self.answers.next = self.at.val().reliable;
                self.syndrome.next = NAK_OPERATION.into();
                self.breaks.next = true;
            }
            Verdict::Irrevocable => {
                self.completes.next = self.at.val().progress.in_use;
                self.breaks.next = true;
            }
        }
        self.writes.next = self.executes.val();
        match self.at.val().kind {
            JobKind::Nothing => {
                self.completes.next = false;
                self.answers.next = false;
                self.breaks.next = false;
            }
            JobKind::Answer => {
                self.completes.next = false;
                self.answers.next = true;
                self.syndrome.next = self.at.val().syndrome;
                self.breaks.next = false;
                self.writes.next = true;
            }
            JobKind::Again => {
                self.completes.next = false;
                self.answers.next = (self.verdict.val() == Verdict::Good)
                    && (self.takes.val() <= self.behind.val());
                if self.at.val().atomic {
                    self.answers.next = true;
                    self.syndrome.next = ACK.into();
                }
                self.next_msn.next = self.at.val().progress.msn;
                self.breaks.next = false;
            }
            JobKind::Forget => {
                self.completes.next = false;
                self.answers.next = false;
                self.breaks.next = false;
                self.writes.next = true;
            }
            JobKind::Abandon => {
                self.completes.next = true;
                self.answers.next = false;
                self.breaks.next = false;
            }
            JobKind::Refuse | JobKind::Execute => {}
        }
        // The host has let the queue pair begin anew, or a packet before has failed: a receive that was taken is given
        // back.
        if self.lost.val() && (self.at.val().kind != JobKind::Abandon) {
            self.completes.next = self.at.val().taken;
            self.status.next = FLUSHED.into();
            self.answers.next = false;
            self.breaks.next = false;
            self.writes.next = false;
            self.returns.next = false;
        }

        // The queue pair's progress after the job.
        self.then.next = self.at.val().progress;
        if self.executes.val() {
            self.then.next.expected = self.at.val().psn + self.takes.val();
            self.then.next.msn = self.next_msn.val();
            self.then.next.message = Message::None;
            if self.completes.val() {
                self.then.next.in_use = false;
            }
            if self.verdict.val() == Verdict::Good {
                if !self.at.val().last && !self.at.val().read && !self.at.val().atomic {
                    self.then.next.message = Message::Send;
                    if self.at.val().write {
                        self.then.next.message = Message::Write;
                    }
                }
                if self.at.val().write {
                    self.then.next.addr =
                        self.at.val().progress.addr + bit_cast::<64, 13>(self.at.val().bytes);
                    self.then.next.remaining =
                        self.at.val().progress.remaining - bit_cast::<32, 13>(self.at.val().bytes);
                } else {
                    self.then.next.len = self.checks.sum.val();
                }
            }
            if (self.verdict.val() == Verdict::Missing) && self.at.val().reliable {
                // The packet will come again: those behind it are dropped without an answer until then.
                self.then.next = self.at.val().progress;
                self.then.next.asked = true;
            }
            if self.returns.val() {
                self.then.next.in_use = false;
            }
        }

        if self.accepts.val() && (self.at.val().progress.accepted < MOST) {
            self.then.next.accepted = self.at.val().progress.accepted + 1;
        }

        // Where the payload goes: nowhere, unless all is well.
        self.payload.next.kind = PlacingKind::Nothing;
        self.payload.next.qp = self.at.val().qp;
        self.payload.next.addr = self.at.val().progress.addr;
        self.payload.next.first = false;
        self.payload.next.skip = 0.into();
        self.payload.next.ram = self.at.val().ram;
        self.payload.next.bytes = 0.into();
        self.payload.next.frame_end = self.at.val().kind != JobKind::Abandon;
        self.payload.next.words = self.at.val().words;
        self.payload.next.completes = self.completes.val();
        self.payload.next.status = self.status.val();
        self.payload.next.with_imm = false;
        self.payload.next.byte_len = 0.into();
        self.payload.next.imm = 0.into();
        self.payload.next.flags = 0.into();
        self.payload.next.source = 0.into();
        self.payload.next.appends = false;
        self.payload.next.region = self.at.val().progress.capacity.get_bits::<APPEND>(0);
        self.payload.next.life = self.told.q.val().life;
        self.payload.next.returns = self.returns.val();
        self.payload.next.pieces = false;
        self.payload.next.atomic = self.changes.val();
        self.payload.next.slot = self.slot.val();
        if self.verdict.val() == Verdict::Good {
            self.payload.next.bytes = self.at.val().bytes;
            if self.at.val().read || self.at.val().atomic {
                self.payload.next.bytes = 0.into();
            } else if !self.at.val().write {
                self.payload.next.kind = PlacingKind::Receive;
                self.payload.next.first = self.at.val().first && !self.at.val().datagram;
                self.payload.next.appends = self.appends.val();
                if self.appends.val() {
                    self.payload.next.source = self.told.q.val().first_row;
                }
            } else if self.at.val().bytes.any() {
                self.payload.next.kind = PlacingKind::Write;
            }
            self.payload.next.pieces = self.pieces.val() && self.at.val().bytes.any();
            if self.completes.val() {
                self.payload.next.with_imm = self.at.val().write;
                self.payload.next.byte_len = self.checks.sum.val();
                if self.at.val().write {
                    self.payload.next.byte_len = self.at.val().progress.len;
                }
                if self.at.val().with_imm {
                    self.payload.next.imm = self.at.val().imm;
                    self.payload.next.flags = IMM_FLAG.into();
                }
                if self.at.val().invalidates {
                    self.payload.next.imm = self.at.val().progress.rkey;
                    self.payload.next.flags = INVALIDATED_FLAG.into();
                }
                if self.at.val().datagram {
                    self.payload.next.flags = self.payload.val().flags | ROUTE_FLAG;
                    self.payload.next.source = bit_cast::<32, 24>(self.at.val().source_qp);
                }
                if self.appends.val() {
                    self.payload.next.flags = self.payload.val().flags | APPENDED_FLAG;
                }
            }
        }
        // The route of a datagram is placed before its payload.
        self.splits.next = self.at.val().datagram && (self.verdict.val() == Verdict::Good);
        self.place.next = self.payload.val();
        if self.splits.val() && (self.state.q.val() == ExecutionState::Finish) {
            self.place.next.first = true;
            self.place.next.skip = UNUSED_ROUTE.into();
            self.place.next.ram = self.at.val().header;
            self.place.next.bytes = IP_HEADER.into();
            self.place.next.frame_end = false;
            self.place.next.completes = false;
            self.place.next.pieces = self.pieces.val();
        }

        // The streams.
        self.placing.valid.next = self.placing_full.q.val();
        self.placing.next = self.placed.q.val();
        if self.placing.ready.val() {
            self.placing_full.d.next = false;
        }
        self.answer.valid.next = self.answer_full.q.val();
        self.answer.next = self.answered.q.val();
        if self.answer.ready.val() {
            self.answer_full.d.next = false;
        }
        self.checks.revoke_valid.next = self.state.q.val() == ExecutionState::Revoke;
        self.invalidate.valid.next = self.state.q.val() == ExecutionState::Tell;
        self.invalidate.region.next = self.at.val().progress.rkey.get_bits::<REGION>(0);
        // The queue pair breaks when placing and answer of the packet were taken.
        self.set_qp_error.valid.next = (self.state.q.val() == ExecutionState::Break)
            && !self.placing_full.q.val()
            && !self.answer_full.q.val();
        self.set_qp_error.qp.next = self.at.val().qp;

        // Questions to the append regions.
        self.append_ask.valid.next = (self.state.q.val() == ExecutionState::Rows)
            || (self.state.q.val() == ExecutionState::Release);
        self.append_ask.request.next = AppendRequest::Rows;
        if self.state.q.val() == ExecutionState::Release {
            self.append_ask.request.next = AppendRequest::Release;
        }
        self.append_ask.qp.next = self.at.val().qp;
        self.append_ask.pd.next = self.at.val().pd;
        self.append_ask.number.next = self.at.val().progress.capacity;
        self.append_ask.bytes.next = self.at.val().bytes;
        self.append_ask.first.next = self.at.val().first;
        // Whether the bytes can be placed piece by piece.
        self.region_ask.valid.next = self.state.q.val() == ExecutionState::Find;
        self.region_ask.receive.next = !self.at.val().write;
        self.region_ask.qp.next = self.at.val().qp;
        self.region_ask.pd.next = self.at.val().pd;
        self.region_ask.region.next = self.checks.region.val();
        self.region_ask.addr.next = self.at.val().progress.addr;
        self.region_ask.bytes.next = self.at.val().bytes;
        self.region_ask.first.next = self.at.val().first && !self.at.val().datagram;
        self.region_ask.skip.next = 0.into();
        if self.of_header.val() {
            self.region_ask.bytes.next = IP_HEADER.into();
            self.region_ask.first.next = true;
            self.region_ask.skip.next = UNUSED_ROUTE.into();
        }
        self.begins_at.next = ExecutionState::Finish;
        if (self.at.val().kind == JobKind::Execute) || (self.at.val().kind == JobKind::Again) {
            self.begins_at.next = ExecutionState::Sums;
        }

        self.finishes.next = false;
        self.ends.next = self.state.q.val() == ExecutionState::Empty;
        match self.state.q.val() {
            ExecutionState::Empty => {}
            ExecutionState::Release => {
                if self.append_ask.ready.val() {
                    self.state.d.next = ExecutionState::Released;
                }
            }
            ExecutionState::Released => {
                if self.append_told.valid.val() {
                    self.state.d.next = self.begins_at.val();
                }
            }
            ExecutionState::Sums => {
                self.state.d.next = ExecutionState::Lengths;
            }
            ExecutionState::Lengths => {
                self.state.d.next = ExecutionState::Bounds;
                if !self.at.val().write
                    && !self.at.val().read
                    && !self.at.val().atomic
                    && !self.at.val().invalidates
                {
                    self.state.d.next = ExecutionState::Finish;
                }
                if self.appends.val() && !self.lost.val() {
                    self.state.d.next = ExecutionState::Rows;
                }
            }
            ExecutionState::Rows => {
                if self.append_ask.ready.val() {
                    self.state.d.next = ExecutionState::Told;
                }
            }
            ExecutionState::Told => {
                self.told.d.next = self.append_told.val();
                if self.append_told.valid.val() {
                    self.asked.d.next = true;
                    self.state.d.next = ExecutionState::Finish;
                    if self.at.val().invalidates {
                        self.state.d.next = ExecutionState::Bounds;
                    }
                }
            }
            ExecutionState::Bounds => {
                self.state.d.next = ExecutionState::Key;
            }
            ExecutionState::Key => {
                self.state.d.next = ExecutionState::Finish;
            }
            ExecutionState::Finish => {
                if (self.verdict.val() == Verdict::Good)
                    && self.at.val().invalidates
                    && !self.revoked.q.val()
                {
                    self.state.d.next = ExecutionState::Revoke;
                } else if self.seeks.val() {
                    self.state.d.next = ExecutionState::Find;
                } else if !self.begins.val()
                    && !self.placing_full.q.val()
                    && !(self.answers.val() && self.answer_full.q.val())
                    && !(self.changes.val() && !self.has_slot.val())
                {
                    self.finishes.next = true;
                    if self.breaks.val() {
                        self.state.d.next = ExecutionState::Break;
                    } else if self.splits.val() {
                        self.state.d.next = ExecutionState::Payload;
                    } else {
                        self.ends.next = true;
                    }
                }
            }
            ExecutionState::Find => {
                if self.region_ask.ready.val() {
                    self.state.d.next = ExecutionState::Found;
                }
            }
            ExecutionState::Found => {
                if self.region_told.valid.val() {
                    self.found.d.next = self.region_told.verdict.val();
                    self.sought_header.d.next = true;
                    self.sought.d.next = !self.of_header.val();
                    self.state.d.next = ExecutionState::Finish;
                }
            }
            ExecutionState::Payload => {
                self.ends.next = !self.placing_full.q.val();
            }
            ExecutionState::Revoke => {
                if self.checks.revoke_ready.val() {
                    self.state.d.next = ExecutionState::Tell;
                }
            }
            ExecutionState::Tell => {
                if self.invalidate.ready.val() {
                    self.revoked.d.next = true;
                    self.state.d.next = ExecutionState::Finish;
                }
            }
            ExecutionState::Break => {
                if self.set_qp_error.valid.val() && self.set_qp_error.ready.val() {
                    self.state.d.next = ExecutionState::Empty;
                }
            }
        }
        if self.finishes.val()
            || ((self.state.q.val() == ExecutionState::Payload) && !self.placing_full.q.val())
        {
            self.placing_full.d.next = true;
            self.placed.d.next = self.place.val();
        }
        self.region_settle.valid.next = self.finishes.val() && self.sought_header.q.val();
        self.region_settle.placed.next = self.verdict.val() == Verdict::Good;
        self.append_settle.valid.next = self.finishes.val() && self.asked.q.val();
        self.append_settle.outcome.next = AppendOutcome::Stays;
        if self.verdict.val() == Verdict::Good {
            self.append_settle.outcome.next = AppendOutcome::Holds;
            if self.at.val().last {
                self.append_settle.outcome.next = AppendOutcome::Commits;
            }
        } else if !self.at.val().reliable && !self.lost.val() {
            self.append_settle.outcome.next = AppendOutcome::Drops;
        }
        if self.finishes.val() {
            self.asked.d.next = false;
            self.sought.d.next = false;
            self.sought_header.d.next = false;
            self.found.d.next = RegionVerdict::Reached;
        }
        self.append_taken.valid.next =
            self.finishes.val() && self.at.val().taken && self.at.val().progress.appends;
        self.append_taken.returned.next = self.returns.val();
        self.append_taken.halts.next = self.completes.val() && (self.status.val() == MALFORMED);
        if self.finishes.val() && self.answers.val() {
            self.answer_full.d.next = true;
            self.answered.d.next.qp = self.at.val().qp;
            self.answered.d.next.stamp = self.at.val().stamp;
            self.answered.d.next.syndrome = self.syndrome.val();
            self.answered.d.next.psn = self.at.val().psn;
            self.answered.d.next.msn = self.next_msn.val();
            self.answered.d.next.reads =
                self.at.val().read && (self.verdict.val() == Verdict::Good);
            self.answered.d.next.atomic = self.changes.val()
                || (self.at.val().atomic && (self.at.val().kind == JobKind::Again));
            self.answered.d.next.again = self.at.val().kind == JobKind::Again;
            self.answered.d.next.swaps = self.at.val().swaps;
            self.answered.d.next.slot = self.slot.val();
            self.answered.d.next.resource = self.at.val().resource;
            if self.accepts.val() {
                self.answered.d.next.resource = self.at.val().resource + 1;
            }
            self.answered.d.next.kept = self.at.val().kept;
            self.answered.d.next.addr = self.at.val().progress.addr;
            self.answered.d.next.rkey = self.at.val().progress.rkey;
            self.answered.d.next.len = self.at.val().progress.len;
            self.answered.d.next.pd = self.at.val().pd;
            self.answered.d.next.log_mtu = self.at.val().log_mtu;
            self.answered.d.next.earlier = self.frames.q.val();
            if self.changes.val() {
                self.answered.d.next.earlier = self.frames.q.val() + 1;
            }
        }
        self.accepted.valid.next = self.finishes.val() && self.changes.val();
        self.accepted.slot.next = self.slot.val();
        self.accepted.addr.next = self.at.val().progress.addr;
        self.accepted.swap_or_add.next = self.at.val().swap_or_add;
        self.accepted.compare.next = self.at.val().compare;
        if self.placing.valid.val() && self.placing.ready.val() && self.placed.q.val().frame_end {
            self.frames.d.next = self.frames.q.val() + 1;
        }
        self.count_dropped.next =
            self.finishes.val() && self.fate.void.val() && self.fate.broken.val();
        self.count_ignored.next = self.finishes.val()
            && (((self.at.val().kind == JobKind::Again) && !self.answers.val())
                || (self.fate.void.val() && !self.fate.broken.val()));
        // Foreseen progress is in the table already, and perhaps that of later packets.
        self.write.valid.next = self.finishes.val()
            && self.writes.val()
            && (!self.at.val().foreseen || (self.verdict.val() != Verdict::Good));
        self.failed.d.next = self.finishes.val()
            && self.executes.val()
            && !self.lost.val()
            && (self.verdict.val() != Verdict::Good);
        self.failure.d.next.qp = self.at.val().qp;
        self.failure.d.next.breaks = self.breaks.val();
        self.fails.valid.next = self.failed.q.val();
        self.fails.next = self.failure.q.val();
        self.write.qp.next = self.at.val().qp;
        self.write.progress.next = self.then.val();
        self.write.resource.next = self.at.val().resource;
        if self.accepts.val() {
            self.write.resource.next = self.at.val().resource + 1;
        }

        // Giving up another message's receive is the first half of a job.
        self.ended.next = (self.ends.val()
            && (self.state.q.val() != ExecutionState::Empty)
            && (self.at.val().kind != JobKind::Abandon))
            || ((self.state.q.val() == ExecutionState::Break)
                && self.set_qp_error.valid.val()
                && self.set_qp_error.ready.val());

        // The next job.
        self.job.ready.next = self.ends.val();
        if self.ends.val() {
            self.state.d.next = ExecutionState::Empty;
            self.revoked.d.next = false;
            if self.job.valid.val() {
                self.held.d.next = self.job.val();
                self.state.d.next = ExecutionState::Finish;
                if (self.job.kind.val() == JobKind::Execute)
                    || (self.job.kind.val() == JobKind::Again)
                {
                    self.state.d.next = ExecutionState::Sums;
                }
                if self.job.releases.val() {
                    self.state.d.next = ExecutionState::Release;
                }
            }
        }
        self.lingers.valid.next = self.placing_full.q.val();
        self.lingers.qp.next = self.placed.q.val().qp;
        self.idle.next =
            (self.state.q.val() == ExecutionState::Empty) && !self.placing_full.q.val();
        if self.rst.val() {
            self.state.d.next = ExecutionState::Empty;
            self.placing_full.d.next = false;
            self.answer_full.d.next = false;
            self.failed.d.next = false;
            self.asked.d.next = false;
            self.sought.d.next = false;
            self.sought_header.d.next = false;
            self.found.d.next = RegionVerdict::Reached;
            self.frames.d.next = 0.into();
        }
        // The answer is given to the checks a cycle ahead.
        self.checks.append.next = self.told.d.val();
    }
}
