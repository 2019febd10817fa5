//! Append regions: keeps account of which of their rows are free, and whose message is on its way (docs/semantics.md,
//! "Append regions").
//!
//! Stands beside the responder, which asks about each packet of a SEND whose receive appends, and then reports what has
//! become of it. `receives/scatter` places the bytes, at the row that is answered here. The meaning is that of
//! `drdma_semantics::append`.
//!
//! ```text
//! word ----> Entries, Lives, GivenBack      cfg: memory regions --> Coverage
//! ask -----> state machine -----> told         |
//! settle ------^   |    \-- Division: rows of a packet
//!                 states    cfg, qp_error --> Holders
//! ```
//!
//! Contract: one packet at a time. `told` follows an `ask` after 16 cycles and one for each column, and after up to 14
//! more if the packet has more than one row; or after 4 if the region cannot be used. Then `settle` says what follows,
//! and the next `ask` is taken 2 cycles later. A `Release` is answered after 3 cycles, and has no `settle`.
//!
//! A queue pair holds a region from the first packet of a message to the last. That it holds the region no longer,
//! because it is broken or was reset, is noticed when another one asks. Rows that the host gives back count for packets
//! that are asked about later.

use crate::context::{ConfigWrite, QP, Table};
use crate::primitive::{Flatten, Restore};
use crate::receive::record::{
    APPEND, APPEND_LIFE, AppendAsk, AppendOutcome, AppendSettle, AppendTold, AppendVerdict,
    AppendWord,
};
use drdma_abi::work_request::MAX_ELEMENTS;
use drdma_emit::prelude::*;

mod coverage;
mod division;
pub mod entries;
mod given_back;
mod holders;
mod kernel;
pub mod lives;
#[cfg(test)]
mod tests;

use coverage::{Coverage, ROW};
use division::Division;
use entries::{AppendEntry, Entries};
use given_back::GivenBack;
use holders::{Holders, STAMP};

/// Columns of a region, at most.
const MOST_COLUMNS: u64 = MAX_ELEMENTS as u64;
/// Bits of a count of a packet's bytes.
const BYTES: usize = 13;
/// Bits of a region's number, as a receive names it, that must be 0.
const NO_REGION: usize = 32 - APPEND;
/// Bits of a count of rows, which may be one too many.
const ROWS: usize = 33;
/// Bits of a [`State`].
const STATE: usize = APPEND_LIFE + 32 + 32 + 1 + QP + STAMP + 32 + ROW;

/// State of an append region.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct State {
    /// Life of the region that the state belongs to. In another life no rows are in use, and the region has no holder.
    pub life: Bits<APPEND_LIFE>,
    /// The row that the next one becomes; while a message is on its way, that of its first row.
    pub first: Bits<32>,
    /// Rows that were appended since the region was enabled, modulo 2^32.
    pub appended: Bits<32>,
    /// A message is on its way.
    pub taken: Bit,
    /// With `taken`: the queue pair that the message is for.
    pub holder: Bits<QP>,
    /// With `taken`: the stamp of that queue pair; another one by now means that it was reset.
    pub stamp: Bits<STAMP>,
    /// With `taken`: rows that the message has begun.
    pub rows: Bits<32>,
    /// With `taken`: bytes that the last of these rows lacks.
    pub room: Bits<ROW>,
}

/// Steps of a packet.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum AppendsState {
    /// Waits for a packet.
    Idle,
    /// Takes the region's entry and state.
    Look,
    /// Takes the state of the region's holder.
    Holder,
    /// Walks the columns.
    Walk,
    /// Divides the packet's bytes by those of a row.
    Divide,
    /// Counts the rows.
    Count,
    /// Compares the rows with the free ones.
    Compare,
    /// Gives the answer.
    Tell,
    /// Waits until it is settled what follows.
    Settle,
}

/// Keeps account of append regions. See the [module](self).
#[derive(LogicBlock, BlockDefault)]
pub struct Appends {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset; all tables are cleared after it.
    pub rst: Signal<In, Bit>,
    /// Words that the host writes into tables.
    pub cfg: Flow<In, ConfigWrite>,
    /// Words that the host writes to append regions and their doorbells.
    pub word: Flow<In, AppendWord>,
    /// A packet that is to be appended, or a message that will not come.
    pub ask: Stream<In, AppendAsk>,
    /// Verdict: whether the packet can be appended.
    pub told: Flow<Out, AppendTold>,
    /// Consequence of the packet that was answered last.
    pub settle: Flow<In, AppendSettle>,
    /// The queue pair whose `qp_error` is asked for in the next cycle.
    pub error_next: Signal<Out, Bits<QP>>,
    /// The queue pair of `error_next`, one cycle before, is in the error state.
    pub qp_error: Signal<In, Bit>,

    clears: Signal<Local, Bit>,
    entries: Entries,
    given_back: GivenBack,
    holders: Holders,
    coverage: Coverage,
    division: Division,

    /// States of the regions, once for this block and once for the rows that are given back.
    states: [Table<STATE, APPEND>; 2],
    restores: [Restore<State, STATE>; 2],
    flatten: Flatten<State, STATE>,
    // The lives that the doorbells need.
    lives: lives::Lives,

    state: DFF<AppendsState>,
    asked: DFF<AppendAsk>,
    entry: DFF<AppendEntry>,
    now: DFF<State>,
    used: DFF<Bits<32>>,
    /// The queue pair receives.
    lives_on: DFF<Bit>,
    /// The stamp of the queue pair's last reset.
    stamp: DFF<Bits<STAMP>>,
    usable: Signal<Local, Bit>,
    live: Signal<Local, Bit>,
    /// Another queue pair holds the region; `holds`: this queue pair does.
    held: DFF<Bit>,
    holds: DFF<Bit>,
    /// The column that comes in the next cycle, and the number of columns.
    next_column: DFF<Bits<4>>,
    column: DFF<Bits<5>>,
    after: Signal<Local, Bits<5>>,
    walks: DFF<Bit>,
    known: DFF<Bit>,
    /// Rows of the message before the packet, and the bytes of the packet beyond the last of these.
    so_far: DFF<Bits<32>>,
    room: DFF<Bits<ROW>>,
    over: DFF<Bits<BYTES>>,
    single: Signal<Local, Bit>,
    divides: DFF<Bit>,
    quotient: Signal<Local, Bits<BYTES>>,
    remainder: Signal<Local, Bits<BYTES>>,
    rows: DFF<Bits<ROWS>>,
    free: DFF<Bits<32>>,
    verdict: DFF<AppendVerdict>,
    /// Number of the row behind the message, without the wrap and with it.
    sum: DFF<Bits<ROWS>>,
    behind: DFF<Bits<32>>,
    settles: DFF<Bit>,
    outcome: DFF<AppendOutcome>,
    wrapped: Signal<Local, Bits<32>>,
    then: Signal<Local, State>,
    writes: Signal<Local, Bit>,
}
