//! Paces queue pairs that congestion notification packets (CNPs) have limited: keeps their rates, and says when each
//! may send its next packet (DCQCN's reaction point; docs/semantics.md, "Congestion control").
//!
//! Stands beside the [`keeper`](super::keeper), which asks whether a queue pair is limited, reports every packet that a
//! limited one sends, and sends no other packet of it until `go`.
//!
//! Contract: one event at a time: a CNP, a packet, a write of an entry by the host, or a look at a limited queue pair;
//! limited queue pairs are looked at in turns, in a ring. A look takes 4 cycles, a packet 8, a CNP 29, and a look that
//! raises a rate 27: with up to 100 limited queue pairs each is looked at as often as its periods end; with more, rates
//! are raised later. A `go` comes late by at most one round of the ring, which the next ones make up for, as long as
//! all limited queue pairs together send no more than a packet in 16 cycles. 64 CNPs wait, and further ones are
//! dropped; one packet of each queue pair may wait. CNPs of a queue pair whose entry has no ECN 1 or 2 in `tos` are
//! dropped. When the host writes a queue pair's state, its rate is the link's again; a `go` that is due still comes.
//! The tables are clear 4,096 cycles after a reset.
//!
//! Periods are compared in units of 256 cycles. That time wraps after 2^16 units; periods are at most 60,000.

use crate::context::{ConfigWrite, QP, QueuePairIndex, Table, TableSelect};
use crate::primitive::{Flatten, Multiplier, Restore, StreamFifo};
use crate::shell::control::Congestion;
use drdma_abi::Layout;
use drdma_abi::register::QueuePairEntry;
use drdma_abi::roce::cnp::{ALPHA_ONE, AT_ONE_MBPS, LINE_RATE};
use drdma_emit::prelude::*;

mod kernel;
#[cfg(test)]
mod tests;

/// Bits of a rate, in Mb/s.
const RATE: usize = 17;
/// The rate of the link, in Mb/s.
const LINE: u64 = LINE_RATE as u64;
/// Bits of an alpha; and the largest, which stands for 1.
const ALPHA: usize = 16;
const ONE: u64 = ALPHA_ONE as u64;
/// Bits of the time of 64 B, in 2^-8 cycles. A division takes a step for each.
const UNIT_TIME: usize = 19;
/// The dividend's bits above those of the quotient: less than any rate.
const DIVIDEND_HIGH: u64 = AT_ONE_MBPS as u64 >> UNIT_TIME;
/// The lower bits of the dividend, which become the quotient.
const DIVIDEND_LOW: u64 = AT_ONE_MBPS as u64 & ((1 << UNIT_TIME) - 1);
/// Bits of the doubled remainder of a division.
const REMAINDER: usize = RATE + 1;
/// Bits of a time, in 2^-8 cycles.
const TIME: usize = 32;
/// Binary digits of a fraction of a cycle.
const FRACTION: usize = 8;
/// Bits of a time in units of 256 cycles.
const PERIODS: usize = 16;
/// Bits of the length of a packet, in units of 64 B.
pub const UNITS: usize = 7;
/// Bits of a count of units of 64 B that were sent.
const SENT: usize = 18;
/// Bits of a count of raises.
const STAGE: usize = 3;
/// Binary logarithm of the time, in 2^-8 cycles, for which a queue pair that was quiet may send at once.
const BURST: usize = 12 + FRACTION;
/// Bits of the product of a rate and an alpha; and of units and their time.
const CUT: usize = RATE + ALPHA;
const PAUSE: usize = UNITS + UNIT_TIME;
/// Cycles that a multiplication takes.
const PRODUCT: u64 = 3;
/// Bits of a [`Limit`].
const LIMIT: usize = 2 * RATE + ALPHA + 2 * PERIODS + SENT + 2 * STAGE + UNIT_TIME + TIME + 2;

/// Reports that a limited queue pair sends a packet.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct PacedPacket {
    /// The queue pair.
    pub qp: Bits<QP>,
    /// Length that the packet counts as, in units of 64 B.
    pub units: Bits<UNITS>,
}

/// State of a limited queue pair.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
struct Limit {
    /// The current rate, and the target rate that it is raised towards, in Mb/s.
    rate: Bits<RATE>,
    target: Bits<RATE>,
    /// Estimate of the congestion; [`ONE`] stands for 1.
    alpha: Bits<ALPHA>,
    /// Times, in units of 256 cycles, at which the current periods of alpha and of the rate began.
    alpha_since: Bits<PERIODS>,
    rate_since: Bits<PERIODS>,
    /// Units of 64 B that were sent since the last raise by bytes.
    sent: Bits<SENT>,
    /// Raises since the last cut, by time and by bytes; each count stops at its maximum.
    time_stage: Bits<STAGE>,
    byte_stage: Bits<STAGE>,
    /// Time that 64 B take at the current rate, in 2^-8 cycles.
    unit_time: Bits<UNIT_TIME>,
    /// Time at which the next packet may be sent, in 2^-8 cycles.
    due: Bits<TIME>,
    /// The queue pair is in the ring of queue pairs whose times are examined.
    rings: Bit,
    /// The queue pair has sent a packet, and waits for a `go`.
    waits: Bit,
}

/// Kinds of events.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum PacerEvent {
    /// A CNP has come for the queue pair.
    Notified,
    /// The queue pair has sent a packet.
    Packet,
    /// The host has written the queue pair's state.
    Renewed,
    /// The queue pair has its turn in the ring.
    Look,
}

/// Steps in which an event is handled.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum PacerState {
    /// Chooses the next event.
    Choose,
    /// Reads what is kept of its queue pair.
    Load,
    /// Decides what the event changes.
    Act,
    /// Waits for the products.
    Multiply,
    /// Cuts the rate after a CNP, or counts a packet.
    Cut,
    /// Raises the rate.
    Raise,
    /// Divides, for the time of 64 B at the new rate.
    Divide,
    /// Writes back what is kept.
    Store,
}

fn word(name: &str) -> Constant<Bits<4>> {
    Constant::new((QueuePairEntry::field(name).start / 32).to_bits())
}

/// Fails at compile time unless the field stands where the kernel takes it from.
fn fields_stand() -> bool {
    assert_eq!(QueuePairEntry::field("tos").start % 32, 16, "tos stands elsewhere");
    assert_eq!(AT_ONE_MBPS >> UNIT_TIME, 62, "the quotient has more bits");
    true
}

/// Paces limited queue pairs. See the [module](self).
#[derive(LogicBlock, BlockDefault)]
#[check(fields_stand())]
pub struct Pacer {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Words that the host writes into tables.
    pub cfg: Flow<In, ConfigWrite>,
    /// Parameters of congestion control that the host has set; `cnp_interval` is not used here.
    pub settings: Signals<In, Congestion>,
    /// A CNP has come for this queue pair.
    pub notified: Flow<In, QueuePairIndex>,
    /// A limited queue pair sends a packet.
    pub packet: Flow<In, PacedPacket>,
    /// A queue pair that may send its next packet.
    pub go: Stream<Out, QueuePairIndex>,
    /// The queue pair whose `limited` is asked for in the next cycle.
    pub limited_next: Signal<In, Bits<QP>>,
    /// The queue pair of `limited_next`, one cycle before, is limited.
    pub limited: Signal<Out, Bit>,

    select: TableSelect,
    unused: Signal<Local, Bits<32>>,
    unused_interval: Signal<Local, Bits<16>>,
    unused_behind: Signal<Local, Bits<TIME>>,
    unused_product: Signal<Local, Bits<CUT>>,
    unused_raised: Signal<Local, Bits<18>>,
    #[init(word("tos"))]
    tos_word: Constant<Bits<4>>,
    /// For each queue pair: its packets may be marked as having met congestion.
    marks: Table<1, QP>,
    may_mark: Signal<Local, Bit>,

    cnps: StreamFifo<QueuePairIndex, 6, 7>,
    packets: StreamFifo<PacedPacket, QP, 13>,
    renewed: StreamFifo<QueuePairIndex, 10, 11>,
    ring: StreamFifo<QueuePairIndex, QP, 13>,
    /// The event before was a turn of a queue pair of the ring.
    looked: DFF<Bit>,

    state: DFF<PacerState>,
    event: DFF<PacerEvent>,
    qp: DFF<Bits<QP>>,
    units: DFF<Bits<UNITS>>,
    limits: Table<LIMIT, QP>,
    read: Restore<Limit, LIMIT>,
    written: Flatten<Limit, LIMIT>,
    is_limited: Table<1, QP>,
    it: DFF<Limit>,
    reacts: DFF<Bit>,

    // Time.
    clock: DFF<Bits<24>>,
    now: Signal<Local, Bits<TIME>>,
    period: Signal<Local, Bits<PERIODS>>,
    since_alpha: Signal<Local, Bits<PERIODS>>,
    since_rate: Signal<Local, Bits<PERIODS>>,
    /// How long ago the next packet could have been sent, in 2^-8 cycles; negative if it may not be sent yet.
    behind: DFF<Bits<TIME>>,
    is_free: DFF<Bit>,
    is_stale: DFF<Bit>,

    // Steps.
    step: DFF<Bits<5>>,
    #[init(Multiplier::new(PRODUCT as usize))]
    cut: Multiplier<RATE, ALPHA, CUT>,
    #[init(Multiplier::new(PRODUCT as usize))]
    pause: Multiplier<UNITS, UNIT_TIME, PAUSE>,
    share: Signal<Local, Bits<ALPHA>>,
    more: Signal<Local, Bits<17>>,
    left: Signal<Local, Bits<RATE>>,
    added: DFF<Bits<18>>,
    raised: Signal<Local, Bits<18>>,
    sent: Signal<Local, Bits<19>>,
    time_over: Signal<Local, Bit>,
    bytes_over: Signal<Local, Bit>,
    remainder: DFF<Bits<REMAINDER>>,
    dividend: DFF<Bits<UNIT_TIME>>,
    rest: Signal<Local, Bits<REMAINDER>>,

    going: DFF<Bit>,
    going_qp: DFF<Bits<QP>>,
}
