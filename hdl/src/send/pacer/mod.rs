//! The rates of queue pairs that congestion notification packets (CNPs) have limited, and when each may send its next packet (DCQCN's
//! reaction point; docs/semantics.md, "Congestion control").
//!
//! Its place is beside the [`keeper`](super::keeper): that asks whether a queue pair is limited, tells of every packet that such a one
//! sends, and sends no other one of it until `go`.
//!
//! Contract: one event at a time: a CNP, a packet, an entry that the host writes, or a look at a queue pair that is limited; these take
//! turns, in a ring. A look takes 4 cycles, a packet 8, a CNP 29, and a look
//! that raises a rate 27: so with up to 100 queue pairs that are limited each
//! is looked at as often as its periods end; rates of more of them are raised later. A `go` comes at most a round of the ring late, which
//! is made up for by the next ones, as long as all limited queue pairs together send no more than a packet in 16 cycles. 64 CNPs wait, and further ones are dropped; one packet of each queue pair may wait. Of a queue pair
//! whose entry has no ECN 1 or 2 in `tos`, CNPs are dropped. When the host writes a queue pair's state, its rate is the link's again; a `go`
//! that is due still comes. Nothing is known of a queue pair 4,096 cycles after a reset.
//!
//! Time is counted in units of 256 cycles where periods are compared, and goes round after 2^16 of them; periods are at most 60,000.

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

/// Bits of a rate in Mb/s.
const RATE: usize = 17;
/// The rate of the link.
const LINE: u64 = LINE_RATE as u64;
/// Bits of an alpha, and the largest.
const ALPHA: usize = 16;
const ONE: u64 = ALPHA_ONE as u64;
/// Bits of the time of 64 B in parts of a cycle, of which each is a step of a division.
const UNIT_TIME: usize = 19;
/// What of the dividend is less than any rate: its bits above the quotient's.
const DIVIDEND_HIGH: u64 = AT_ONE_MBPS as u64 >> UNIT_TIME;
/// Its other bits.
const DIVIDEND_LOW: u64 = AT_ONE_MBPS as u64 & ((1 << UNIT_TIME) - 1);
/// Bits of the remainder of a division, doubled.
const REMAINDER: usize = RATE + 1;
/// Bits of a time in parts of a cycle.
const TIME: usize = 32;
/// The parts of a cycle, as a power of 2.
const FRACTION: usize = 8;
/// Bits of a number of units of 256 cycles.
const PERIODS: usize = 16;
/// Bits of a number of units of 64 B that a packet has.
pub const UNITS: usize = 7;
/// Bits of the units that were sent.
const SENT: usize = 18;
/// Bits of a stage.
const STAGE: usize = 3;
/// A queue pair that has not sent for a while may send 2^this parts of a cycle's worth at once.
const BURST: usize = 12 + FRACTION;
/// Bits of a product of a rate and an alpha, and of units and their time.
const CUT: usize = RATE + ALPHA;
const PAUSE: usize = UNITS + UNIT_TIME;
/// Cycles of a multiplication.
const PRODUCT: u64 = 3;
/// Bits of a [`Limit`].
const LIMIT: usize = 2 * RATE + ALPHA + 2 * PERIODS + SENT + 2 * STAGE + UNIT_TIME + TIME + 2;

/// A packet that a limited queue pair sends.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct PacedPacket {
    /// Queue pair.
    pub qp: Bits<QP>,
    /// Units of 64 B that it is counted as.
    pub units: Bits<UNITS>,
}

/// What is known of a queue pair that is limited.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
struct Limit {
    /// The rate that it has, and the one that it goes to, in Mb/s.
    rate: Bits<RATE>,
    target: Bits<RATE>,
    /// How much congestion there is.
    alpha: Bits<ALPHA>,
    /// When the periods began that are under way.
    alpha_since: Bits<PERIODS>,
    rate_since: Bits<PERIODS>,
    /// Units of 64 B since the last raise by bytes.
    sent: Bits<SENT>,
    /// Raises since the last cut, by time and by bytes.
    time_stage: Bits<STAGE>,
    byte_stage: Bits<STAGE>,
    /// The time of 64 B at this rate.
    unit_time: Bits<UNIT_TIME>,
    /// When the next packet may be sent.
    due: Bits<TIME>,
    /// It is in the ring.
    rings: Bit,
    /// A `go` is due.
    waits: Bit,
}

/// What there is to do.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum PacerEvent {
    /// A CNP has come.
    Notified,
    /// A packet was sent.
    Packet,
    /// The host has written its state.
    Renewed,
    /// It is its turn in the ring.
    Look,
}

/// How far that is.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum PacerState {
    /// The next event is chosen.
    Choose,
    /// What is known of its queue pair is read.
    Load,
    /// It takes effect.
    Act,
    /// A product is being made.
    Multiply,
    /// The rate is cut.
    Cut,
    /// The rate goes up.
    Raise,
    /// The time of 64 B is being made.
    Divide,
    /// All of it is written.
    Store,
}

fn word(name: &str) -> Constant<Bits<4>> {
    Constant::new((QueuePairEntry::field(name).start / 32).to_bits())
}

/// Fails unless the field stands where the kernel takes it from.
fn fields_stand() -> bool {
    assert_eq!(QueuePairEntry::field("tos").start % 32, 16, "tos stands elsewhere");
    assert_eq!(AT_ONE_MBPS >> UNIT_TIME, 62, "the quotient has more bits");
    true
}

/// See the [module](self).
#[derive(LogicBlock, BlockDefault)]
#[check(fields_stand())]
pub struct Pacer {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Words that the host writes into tables.
    pub cfg: Flow<In, ConfigWrite>,
    /// What the host has set; `cnp_interval` is not used.
    pub settings: Signals<In, Congestion>,
    /// A CNP has come for a queue pair.
    pub notified: Flow<In, QueuePairIndex>,
    /// A limited queue pair sends a packet.
    pub packet: Flow<In, PacedPacket>,
    /// It may send another one.
    pub go: Stream<Out, QueuePairIndex>,
    /// The queue pair that is asked for in the next cycle.
    pub limited_next: Signal<In, Bits<QP>>,
    /// That of the cycle before is limited.
    pub limited: Signal<Out, Bit>,

    select: TableSelect,
    unused: Signal<Local, Bits<32>>,
    unused_interval: Signal<Local, Bits<16>>,
    unused_behind: Signal<Local, Bits<TIME>>,
    unused_product: Signal<Local, Bits<CUT>>,
    unused_raised: Signal<Local, Bits<18>>,
    #[init(word("tos"))]
    tos_word: Constant<Bits<4>>,
    /// Whether packets of a queue pair may be marked.
    marks: Table<1, QP>,
    may_mark: Signal<Local, Bit>,

    cnps: StreamFifo<QueuePairIndex, 6, 7>,
    packets: StreamFifo<PacedPacket, QP, 13>,
    renewed: StreamFifo<QueuePairIndex, 10, 11>,
    ring: StreamFifo<QueuePairIndex, QP, 13>,
    /// The last event was a turn of the ring.
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
    /// How long ago the next packet could have been sent; negative if it could not yet.
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
