//! Checks whether a packet is for its queue pair, and whether it is the next one.

mod jobs;
mod kernel;
mod progress;

use super::contexts::Contexts;
use super::flights::{Failure, Fate, Flights};
use super::operation::Operation;
use super::record::{Foreseen, Job, Located, Message, PROGRESS, Progress, ProgressWrite, Settings};
use crate::context::{ConfigWrite, QP, QueuePairIndex, Stamps, Table, TableSelect};
use crate::primitive::{Flatten, Restore};
use crate::receive::record::{Answered, KEPT, RESOURCE};
use drdma_abi::receive::GLOBAL_ROUTE;
use drdma_abi::roce::{Transport, syndrome};
use drdma_emit::prelude::*;

/// Codes of the transports, and their bits in the opcode.
const RC: u64 = Transport::Rc as u64;
const UC: u64 = Transport::Uc as u64;
const UD: u64 = Transport::Ud as u64;
const RC_BITS: u64 = (Transport::Rc.opcode_bits() >> 5) as u64;
const UC_BITS: u64 = (Transport::Uc.opcode_bits() >> 5) as u64;
const UD_BITS: u64 = (Transport::Ud.opcode_bits() >> 5) as u64;
/// Syndromes: an ACK without credits, and a NAK that asks for the expected packet.
const ACK_SYNDROME: u64 = (syndrome::ACK | 31) as u64;
const NAK_PSN: u64 = syndrome::NAK_PSN as u64;
/// Bytes in front of a datagram in its receive.
const ROUTE: u64 = GLOBAL_ROUTE as u64;
/// Bytes that an atomic changes.
const ATOMIC_BYTES: u64 = 8;
/// First byte of the IPv4 header in a frame, without a tag and with one.
const HEADER: u64 = 14;
const TAGGED_HEADER: u64 = 18;

/// Steps of a packet's check.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum AdmissionState {
    /// Waits for a packet, and until those of its queue pair that it must wait for are done.
    Wait,
    /// Takes the queue pair's settings and progress, which have been read.
    Read,
    /// Decides what is to be done about the packet.
    Decide,
}

/// Checks whose packets they are, and their order; see the [module](self).
///
/// Contract: a packet in 3 cycles. A packet of a SEND or a WRITE that is the next one of an RC queue pair leaves as if
/// those under way before it were executed; the queue pair's progress with it is in the table a cycle later. If one of
/// them is not executed (`fails`), `write` has corrected the table, and those behind it are void (`fate`). Any other
/// packet, and the first one of a SEND from a shared queue, waits until those before it are done, and those behind it
/// wait too; so do packets behind a READ, an atomic, the first of several packets that take a receive, or a further one
/// that is appended. When the host makes a queue pair begin anew, or one of its packets fails, the check of its packet
/// starts again.
///
/// # Inputs
/// `clk`, `rst`; `cfg`; stream `located`; `qp_error`, of the cycle after `error_next`; `ended`: the oldest job is done;
/// `fails`; `lingers`: the queue pair of a placing that was not taken; `write`: a queue pair's progress, not in a cycle
/// with `begins`, nor in two successive cycles; `answered`.
///
/// # Outputs
/// Stream `job` (one for each packet); `fate` of the oldest one; `error_next`; `begins`; `count_dropped`,
/// `count_ignored`.
#[derive(LogicBlock, BlockDefault)]
pub struct Admission {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Words that the host writes into tables.
    pub cfg: Flow<In, ConfigWrite>,
    /// Packets, in order.
    pub located: Stream<In, Located>,
    /// The queue pair whose `qp_error` is asked for in the next cycle.
    pub error_next: Signal<Out, Bits<QP>>,
    /// The queue pair of `error_next`, one cycle before, is in the error state.
    pub qp_error: Signal<In, Bit>,
    /// The oldest job under way is done.
    pub ended: Signal<In, Bit>,
    /// A job has failed; `write` had the queue pair's progress in the cycle before.
    pub fails: Flow<In, Failure>,
    /// The queue pair of a placing that is on offer.
    pub lingers: Flow<In, QueuePairIndex>,
    /// Events that concern the oldest job since it left.
    pub fate: Signals<Out, Fate>,
    /// Progress of a queue pair, as execution leaves it.
    pub write: Flow<In, ProgressWrite>,
    /// A READ or an atomic was answered or given up, unless it was a repetition.
    pub answered: Flow<In, Answered>,
    /// Decision about each packet.
    pub job: Stream<Out, Job>,
    /// A queue pair begins anew: its jobs under way are stale.
    pub begins: Flow<Out, QueuePairIndex>,
    /// A packet was dropped because no queue pair takes it.
    pub count_dropped: Signal<Out, Bit>,
    /// A packet was dropped because its queue pair does not need it: a duplicate, one out of order, or one of a message
    /// that was given up.
    pub count_ignored: Signal<Out, Bit>,

    contexts: Contexts,
    select: TableSelect,
    stamps: Stamps<32, QP, 1>,
    unused: Signal<Local, Bits<32>>,
    progress: Table<PROGRESS, QP>,
    flatten: Flatten<Progress, PROGRESS>,
    restore: Restore<Progress, PROGRESS>,
    operation: Operation,
    /// Of each queue pair: the number of the last READ or atomic that was accepted, and of the last one that was
    /// answered.
    accepted: Table<RESOURCE, QP>,
    gone: Table<RESOURCE, QP>,
    clears: Signal<Local, Bit>,
    waiting: Signal<Local, Bits<RESOURCE>>,
    kept: Signal<Local, Bits<KEPT>>,

    state: DFF<AdmissionState>,
    flights: Flights,
    /// The packet waits until no job of its queue pair is under way.
    alone: DFF<Bit>,
    lingering: Signal<Local, Bit>,
    // A job of the queue pair is under way; `follows`: such a job takes a receive.
    shares: DFF<Bit>,
    follows: DFF<Bit>,
    /// `foreseen` holds the progress of a queue pair if the packet that left last is executed, until it is written.
    foresees: DFF<Bit>,
    foreseen: DFF<Foreseen>,
    then: Signal<Local, Progress>,
    writes: Signal<Local, Bit>,
    written_qp: Signal<Local, Bits<QP>>,
    /// `executed` holds the progress of a queue pair that execution has reported.
    executes: DFF<Bit>,
    executed: DFF<ProgressWrite>,
    /// One of the two is not in the table yet.
    waits: Signal<Local, Bit>,
    /// The foreseen progress does not hold any more.
    revokes: Signal<Local, Bit>,
    /// The packet is of a SEND or WRITE, and the next one of an RC queue pair.
    regular: Signal<Local, Bit>,
    /// The packet need not wait for those before it.
    able: Signal<Local, Bit>,
    leaves: Signal<Local, Bit>,
    // Settings and progress of the queue pair, valid in `Decide`.
    settings: DFF<Settings>,
    stamp: DFF<Bits<32>>,
    here: DFF<Progress>,
    /// Distance of the packet's sequence number from the expected one, modulo 2^24.
    ahead: DFF<Bits<24>>,
    reliable: DFF<Bit>,
    connected: DFF<Bit>,
    datagram: DFF<Bit>,
    of_pkey: DFF<Bit>,
    of_vlan: DFF<Bit>,
    of_peer: DFF<Bit>,
    of_qkey: DFF<Bit>,
    receiving: DFF<Bit>,
    /// The queue pair still has the number that the packet names.
    of_number: DFF<Bit>,
    /// As many READs and atomics wait for their answers as the queue pair may have.
    crowded: DFF<Bit>,
    resource: DFF<Bits<RESOURCE>>,

    now: Signal<Local, Progress>,
    high: Signal<Local, Bits<3>>,
    restarts: Signal<Local, Bit>,
    decides: Signal<Local, Bit>,
    known: Signal<Local, Bit>,
    counts: Signal<Local, Bit>,
    drops: Signal<Local, Bit>,
    // On UC: the message before is given up; the message that is left then; the packet continues that one.
    breaks_off: Signal<Local, Bit>,
    left: Signal<Local, Message>,
    goes_on: Signal<Local, Bit>,
    in_sequence: Signal<Local, Bit>,
    work: Signal<Local, Job>,
}
