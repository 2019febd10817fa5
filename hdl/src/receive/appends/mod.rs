//! Append regions: keeps account of which of their rows are free, and whose message is on its way (docs/semantics.md,
//! "Append regions").
//!
//! Stands beside the responder, which asks about each packet of a SEND whose receive appends, and then reports what has
//! become of it.
//! `receives/scatter` places the bytes, at the row that is answered here. The meaning is that of
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
//! more if the packet has
//! more than one row; or after 4 if the region cannot be used. Then `settle` says what follows, and the next `ask` is
//! taken 2 cycles later. A `Release` is
//! answered after 3 cycles, and has no `settle`.
//!
//! A queue pair holds a region from the first packet of a message to the last. That it holds the region no longer,
//! because it is broken or was
//! reset, is noticed when another one asks. Rows that the host gives back count for packets that are asked about later.

use crate::context::{ConfigWrite, EVERY_TABLE, QP, Table};
use crate::primitive::{Flatten, Restore};
use crate::receive::record::{
    APPEND, APPEND_LIFE, AppendAsk, AppendOutcome, AppendRequest, AppendSettle, AppendTold,
    AppendVerdict, AppendWord,
};
use drdma_abi::work_request::MAX_ELEMENTS;
use drdma_emit::prelude::*;

mod coverage;
mod division;
pub mod entries;
mod given_back;
mod holders;
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

impl Logic for Appends {
    #[hdl_gen]
    fn update(&mut self) {
        self.clears.next = self.cfg.valid.val() && (self.cfg.table.val() == EVERY_TABLE);
        self.cfg.join(&mut self.entries.cfg);
        self.cfg.join(&mut self.given_back.cfg);
        self.cfg.join(&mut self.holders.cfg);
        self.cfg.join(&mut self.coverage.cfg);
        self.cfg.join(&mut self.lives.cfg);
        self.word.join(&mut self.entries.word);
        self.word.join(&mut self.given_back.word);
        self.word.join(&mut self.lives.word);
        self.error_next.next = self.holders.error_next.val();
        self.holders.qp_error.next = self.qp_error.val();

        self.restores[0].bits.next = self.states[0].read_data.val();
        self.restores[1].bits.next = self.states[1].read_data.val();
        self.states[1].ahead.next = self.given_back.asked.val();
        self.lives.next_region.next = self.given_back.asked.val();
        self.given_back.state.next = self.restores[1].record.val();
        self.given_back.life.next = self.lives.life.val();
        self.given_back.enabled.next = self.lives.enabled.val();

        // The region can be used.
        self.usable.next = self.entry.q.val().good
            && self.entry.q.val().capacity.any()
            && self.entry.q.val().columns.any()
            && (self.entry.q.val().columns <= MOST_COLUMNS)
            && !self.asked.q.val().number.get_bits::<NO_REGION>(APPEND).any();
        self.live.next = self.holders.lives.val()
            && self.now.q.val().taken
            && (self.now.q.val().life == self.entry.q.val().life)
            && (self.holders.stamp.val() == self.now.q.val().stamp);
        self.coverage.valid.next = self.walks.q.val();
        self.coverage.first.next = !self.column.q.val().any();
        self.after.next = self.column.q.val() + 1;
        self.coverage.last.next = self.after.val() == self.entry.q.val().columns.get_bits::<5>(0);
        self.coverage.column.next = self.entries.column.val();
        self.coverage.capacity.next = self.entry.q.val().capacity;
        self.coverage.pd.next = self.entry.q.val().pd;
        if self.coverage.done.val() {
            self.known.d.next = true;
        }

        // The packet's bytes beyond the row that the message has begun.
        if self.state.q.val() == AppendsState::Walk {
            self.over.d.next = self.asked.q.val().bytes - self.room.q.val().get_bits::<BYTES>(0);
            if self.room.q.val() >= bit_cast::<ROW, BYTES>(self.asked.q.val().bytes) {
                self.over.d.next = 0.into();
            }
        }
        self.single.next = bit_cast::<ROW, BYTES>(self.over.q.val()) < self.coverage.row.val();
        self.division.starts.next = false;
        self.division.number.next = self.over.q.val();
        self.division.divisor.next = self.coverage.row.val().get_bits::<BYTES>(0);
        self.quotient.next = 0.into();
        self.remainder.next = self.over.q.val();
        if self.divides.q.val() {
            self.quotient.next = self.division.quotient.val();
            self.remainder.next = self.division.remainder.val();
        }

        // The outcome of a packet is known late in its cycle.
        self.settles.d.next = self.settle.valid.val();
        self.outcome.d.next = self.settle.outcome.val();
        self.ask.ready.next = false;
        self.told.valid.next = false;
        self.told.verdict.next = self.verdict.q.val();
        self.told.whole.next = !self.room.q.val().any();
        self.told.first_row.next = self.now.q.val().first;
        self.told.life.next = self.entry.q.val().life;
        self.writes.next = false;
        self.then.next = self.now.q.val();
        self.then.next.life = self.entry.q.val().life;
        self.then.next.taken = false;
        self.then.next.holder = self.asked.q.val().qp;
        self.then.next.stamp = self.stamp.q.val();
        self.then.next.rows = self.rows.q.val().get_bits::<32>(0);
        self.then.next.room = self.room.q.val();
        self.wrapped.next = self.sum.q.val().get_bits::<32>(0) - self.entry.q.val().capacity;

        self.holders.next_qp.next = self.asked.q.val().qp;
        match self.state.q.val() {
            AppendsState::Idle => {
                self.ask.ready.next = true;
                self.asked.d.next = self.ask.val();
                self.holders.next_qp.next = self.ask.qp.val();
                self.known.d.next = false;
                self.walks.d.next = false;
                self.divides.d.next = false;
                self.column.d.next = 0.into();
                self.next_column.d.next = 0.into();
                if self.ask.valid.val() {
                    self.state.d.next = AppendsState::Look;
                }
            }
            AppendsState::Look => {
                self.entry.d.next = self.entries.entry.val();
                self.now.d.next = self.restores[0].record.val();
                self.used.d.next =
                    self.restores[0].record.val().appended - self.given_back.rows.val();
                self.lives_on.d.next = self.holders.lives.val();
                self.stamp.d.next = self.holders.stamp.val();
                self.holders.next_qp.next = self.restores[0].record.val().holder;
                self.state.d.next = AppendsState::Holder;
            }
            AppendsState::Holder => {
                self.held.d.next =
                    self.live.val() && (self.now.q.val().holder != self.asked.q.val().qp);
                self.holds.d.next =
                    self.live.val() && (self.now.q.val().holder == self.asked.q.val().qp);
                if self.now.q.val().life != self.entry.q.val().life {
                    self.now.d.next.first = 0.into();
                    self.now.d.next.appended = 0.into();
                    self.used.d.next = 0.into();
                }
                self.so_far.d.next = self.now.q.val().rows;
                self.room.d.next = self.now.q.val().room;
                if self.asked.q.val().first {
                    self.so_far.d.next = 0.into();
                    self.room.d.next = 0.into();
                }
                self.next_column.d.next = 1.into();
                self.verdict.d.next = AppendVerdict::Malformed;
                self.state.d.next = AppendsState::Tell;
                if self.usable.val() && (self.asked.q.val().request == AppendRequest::Rows) {
                    self.walks.d.next = true;
                    self.state.d.next = AppendsState::Walk;
                }
            }
            AppendsState::Walk => {
                self.column.d.next = self.after.val();
                self.next_column.d.next = self.next_column.q.val() + 1;
                if self.coverage.last.val() {
                    self.walks.d.next = false;
                }
                if !self.walks.q.val() {
                    // The bytes of a row are known.
                    self.state.d.next = AppendsState::Divide;
                    if !self.single.val() {
                        self.divides.d.next = true;
                        self.division.starts.next = true;
                    }
                }
            }
            AppendsState::Divide => {
                if (self.known.q.val() || self.coverage.done.val())
                    && (!self.divides.q.val() || self.division.done.val())
                {
                    self.state.d.next = AppendsState::Count;
                }
            }
            AppendsState::Count => {
                self.rows.d.next = bit_cast::<ROWS, 32>(self.so_far.q.val())
                    + bit_cast::<ROWS, BYTES>(self.quotient.val());
                if self.remainder.val().any() {
                    self.rows.d.next = bit_cast::<ROWS, 32>(self.so_far.q.val())
                        + bit_cast::<ROWS, BYTES>(self.quotient.val())
                        + 1;
                }
                self.room.d.next = 0.into();
                if self.remainder.val().any() {
                    self.room.d.next =
                        self.coverage.row.val() - bit_cast::<ROW, BYTES>(self.remainder.val());
                } else if !self.over.q.val().any() {
                    self.room.d.next =
                        self.room.q.val() - bit_cast::<ROW, BYTES>(self.asked.q.val().bytes);
                }
                self.free.d.next = self.entry.q.val().capacity - self.used.q.val();
                self.state.d.next = AppendsState::Compare;
            }
            AppendsState::Compare => {
                self.verdict.d.next = AppendVerdict::Room;
                if !self.coverage.proper.val() {
                    self.verdict.d.next = AppendVerdict::Malformed;
                } else if (self.entry.q.val().pd != self.asked.q.val().pd)
                    || !self.coverage.covered.val()
                {
                    self.verdict.d.next = AppendVerdict::Forbidden;
                } else if self.rows.q.val() > bit_cast::<ROWS, 32>(self.entry.q.val().capacity) {
                    self.verdict.d.next = AppendVerdict::TooLong;
                } else if self.held.q.val()
                    || (self.rows.q.val() > bit_cast::<ROWS, 32>(self.free.q.val()))
                {
                    self.verdict.d.next = AppendVerdict::Later;
                }
                self.sum.d.next = bit_cast::<ROWS, 32>(self.now.q.val().first) + self.rows.q.val();
                self.state.d.next = AppendsState::Tell;
            }
            AppendsState::Tell => {
                self.told.valid.next = true;
                self.behind.d.next = self.sum.q.val().get_bits::<32>(0);
                if self.sum.q.val() >= bit_cast::<ROWS, 32>(self.entry.q.val().capacity) {
                    self.behind.d.next = self.wrapped.val();
                }
                if !self.asked.q.val().first && !self.lives_on.q.val() {
                    self.told.verdict.next = AppendVerdict::Gone;
                } else if !self.asked.q.val().first && !self.holds.q.val() {
                    self.told.verdict.next = AppendVerdict::Lost;
                }
                self.state.d.next = AppendsState::Settle;
                if self.asked.q.val().request == AppendRequest::Release {
                    self.writes.next = self.holds.q.val();
                    self.state.d.next = AppendsState::Idle;
                }
            }
            AppendsState::Settle => {
                if self.settles.q.val() {
                    self.state.d.next = AppendsState::Idle;
                    match self.outcome.q.val() {
                        AppendOutcome::Stays => {}
                        AppendOutcome::Holds => {
                            self.writes.next = true;
                            self.then.next.taken = true;
                        }
                        AppendOutcome::Commits => {
                            self.writes.next = true;
                            self.then.next.first = self.behind.q.val();
                            self.then.next.appended =
                                self.now.q.val().appended + self.rows.q.val().get_bits::<32>(0);
                        }
                        AppendOutcome::Drops => {
                            self.writes.next = self.holds.q.val();
                        }
                    }
                }
            }
        }

        self.flatten.record.next = self.then.val();
        for k in 0..2 {
            self.states[k].write_enable.next = self.writes.val() || self.clears.val();
            self.states[k].write_address.next = self.asked.q.val().number.get_bits::<APPEND>(0);
            self.states[k].write_data.next = self.flatten.bits.val();
            if self.clears.val() {
                self.states[k].write_address.next = self.cfg.index.val().get_bits::<APPEND>(0);
                self.states[k].write_data.next = 0.into();
            }
        }
        self.entries.next_region.next = self.asked.d.val().number.get_bits::<APPEND>(0);
        self.states[0].ahead.next = self.asked.d.val().number.get_bits::<APPEND>(0);
        self.given_back.next_region.next = self.asked.d.val().number.get_bits::<APPEND>(0);
        self.entries.next_column.next = self.next_column.q.val();

        if self.rst.val() {
            self.state.d.next = AppendsState::Idle;
            self.known.d.next = false;
            self.settles.d.next = false;
        }
    }
}
