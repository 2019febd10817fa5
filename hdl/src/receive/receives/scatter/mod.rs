//! Cuts payload along the regions of receives, and completes them.
//!
//! Contract: a placing leads to at least one order, the last of which has its `frame_end` and its completion. A placing
//! with one order takes 5 cycles, or 4 if it needs no receive, each further order 2. A strided region that is begun
//! takes 3 more, a receive's first one 2. Each of its extents is an order of its own in every row, unless they are
//! dense columns of at most 64 B: these go to the transposer, with one order for all bytes of the placing that the
//! region takes, after 5 cycles, one for each column, and what the transposer takes to plan them. Columns of an append
//! region take 7 more. Payload that begins with bytes to skip does not go to the transposer. If a placing's bytes are
//! placed piece by piece, each piece is an order; dense columns that come in place of pieces go to the transposer, with
//! one order for all of them. The bytes of a receive that is not in use any more are not written, and nothing
//! completes; nor are bytes written for which its regions have no room. A receive that is given up completes behind the
//! placings that were there before: its turn comes when no placing waits, or after 15 of them; further placings of its
//! queue pair pass without a completion. A receive that fails halts its queue, if that is not shared, or if the entry
//! itself was malformed.

mod columns;
mod cursor;
mod kernel;
mod pieces;
mod placings;

use super::columns::{Columns, OPENING};
use super::dense::Dense;
use super::in_use::PLACE;
use super::receipts::Receipts;
use super::record::*;
use crate::context::{ConfigWrite, QP, Table};
use crate::primitive::{Flatten, Restore, StreamSkid};
use crate::receive::record::{AppendWord, PiecePlace, Placing, STORE, WriteOrder};
use crate::receive::transposer::runs::{Planned, Target};
use drdma_abi::completion::Status;
use drdma_emit::prelude::*;

/// Status of a receive that is given up.
const FLUSHED: u64 = Status::WrFlushError as u64;
/// Status of a receive whose entry is malformed.
const MALFORMED: u64 = Status::LocalQpOperationError as u64;
/// Bytes of a value that the transposer takes, at most.
const WIDEST: u64 = 64;
/// Cycles from the last column that is made to go on at a row until the first one is asked for, which may be the same.
const SOUGHT: u64 = OPENING - 2;
/// Bits of a life of a queue and a flag that says whether there is one.
const FAILURE: usize = LIFE + 1;
const LIFE_BITS: u64 = LIFE as u64;
/// Steps of scatter.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum ScatterState {
    /// Waits for a placing, or for a receive that is given up.
    Idle,
    /// Waits for the name of the queue pair's receive.
    Find,
    /// Takes the cursor of that receive.
    Load,
    /// Begins a strided region.
    Open,
    /// Makes columns of an append region go on at a row.
    Seek,
    /// Waits until all of them do.
    Sought,
    /// Gives the transposer dense extents.
    Aim,
    /// Waits for the transposer's plan.
    Plan,
    /// Cuts an order off.
    Cut,
    /// Offers the order.
    Offer,
    /// Gets a piece.
    Piece,
    /// Halts the queue of a failed receive.
    Halt,
    /// Finds out whether the queue pair that gives up still has a receive in use.
    Recount,
    /// Uses that receive up as well; if there is none, answers the giving up.
    Answer,
}

/// Cuts payload. See the [module](self).
#[derive(LogicBlock, BlockDefault)]
pub struct Scatter {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset; all tables are cleared after it.
    pub rst: Signal<In, Bit>,
    /// Words that the host writes into tables.
    pub cfg: Flow<In, ConfigWrite>,
    /// Words that the host writes to append regions.
    pub word: Flow<In, AppendWord>,
    /// Placings of the payload of packets.
    pub placing: Stream<In, Placing>,
    /// Pieces of the payload of placings that have `pieces`.
    pub piece: Stream<In, PiecePlace>,
    /// A queue pair whose receive is given up.
    pub give_up: Stream<In, GiveUp>,
    /// Answer to `give_up`: whether the queue pair had a receive in use.
    pub given_up: Flow<Out, GivenUp>,
    /// Runs of bytes to write, and orders in place of which the transposer makes runs.
    pub order: Stream<Out, WriteOrder>,
    /// Dense columns for the transposer.
    pub target: Stream<Out, Target>,
    /// Plan of the transposer for each payload.
    pub planned: Stream<In, Planned>,
    /// A queue that halts.
    pub halt: Stream<Out, Mark>,

    /// The queue pair that is asked for in the next cycle.
    pub next_qp: Signal<Out, Bits<QP>>,
    /// The queue pair of `next_qp`, one cycle before, has a receive in use.
    pub used: Signal<In, Bit>,
    /// Name of that queue pair's oldest receive, a cycle later; valid if `used` was.
    pub name: Signals<In, Name>,
    /// First place of the receive of `name`.
    pub first_region: Signals<In, Span>,
    /// Number of the place that is asked for in the next cycle.
    pub next_span: Signal<Out, Bits<PLACE>>,
    /// The place of `next_span`, one cycle before, of the oldest receive of the queue pair of `next_qp` then.
    pub region: Signals<In, Span>,
    /// The oldest receive of `cleared_qp` is used up.
    pub cleared: Signal<Out, Bit>,
    /// With `cleared`: the queue pair.
    pub cleared_qp: Signal<Out, Bits<QP>>,
    /// The entry of a queue pair is cleared, with all tables.
    pub wiped: Signal<In, Bit>,
    /// With `wiped`: that queue pair.
    pub wiped_qp: Signal<In, Bits<QP>>,
    /// A placing or a receive that is given up is at work.
    pub busy: Signal<Out, Bit>,

    columns: Columns,
    dense: Dense,
    /// The columns that are walked are for the transposer.
    aims: DFF<Bit>,
    /// Extents that were asked for, or columns that came in place of pieces.
    aimed: DFF<Bits<5>>,
    aim_place: Signal<Local, Bits<PLACES>>,
    unused_place: Signal<Local, Bits<PLACES>>,
    extents: Signal<Local, Bits<PLACES>>,
    unused_extents: Signal<Local, Bits<PLACES>>,
    /// The order stands for runs of the transposer.
    turned: DFF<Bit>,
    /// The bytes are appended.
    appends: Signal<Local, Bit>,
    /// The append region was unchanged, a cycle before.
    intact: DFF<Bit>,
    /// Address and bytes of the region, extent or column that comes next.
    target_addr: Signal<Local, Bits<64>>,
    target_len: Signal<Local, Bits<32>>,
    /// The next place of the receive is the shape of a strided region.
    is_shape: Signal<Local, Bit>,
    /// A column's value is begun.
    begins: Signal<Local, Bit>,
    begun: DFF<Bit>,
    begun_column: DFF<Bits<4>>,
    /// The column that is made to go on at a row; `since`: cycles since the last one was.
    sought: DFF<Bits<5>>,
    since: DFF<Bits<3>>,
    placings: StreamSkid<Placing>,
    cursors: Table<CURSOR, QP>,
    /// The life of a queue pair's own queue in which a receive has failed, if one has: no other one completes in it.
    failures: Table<FAILURE, QP>,
    failure: Signal<Local, Bits<FAILURE>>,
    cursor_in: Flatten<Cursor, CURSOR>,
    cursor_out: Restore<Cursor, CURSOR>,
    state: DFF<ScatterState>,
    /// Placings that went before a receive that is given up.
    passed: DFF<Bits<4>>,
    current: DFF<Placing>,
    /// The scatter handles a receive that is given up, not a placing.
    gives_up: DFF<Bit>,
    resets: DFF<Bit>,
    /// The payload goes to a receive.
    receives: DFF<Bit>,
    /// There is a receive in use.
    present: DFF<Bit>,
    /// The queue pair had a receive in use when it gave up.
    had_one: DFF<Bit>,
    held: DFF<Name>,
    cursor: DFF<Cursor>,
    /// Bytes that are left to skip, and to write.
    skip: DFF<Bits<6>>,
    bytes: DFF<Bits<13>>,
    ram: DFF<Bits<STORE>>,
    unused_first: Signal<Local, Span>,
    // Bytes that fit into the region.
    skips: Signal<Local, Bits<6>>,
    fits: Signal<Local, Bits<13>>,
    whole: Signal<Local, Bit>,
    skips_all: Signal<Local, Bit>,
    /// Bytes of the placing that remain behind the region of the cursor.
    past_left: Signal<Local, Bits<64>>,
    /// There are further regions or extents.
    more: Signal<Local, Bit>,
    /// The cursor at the next region or extent.
    following: Signal<Local, Cursor>,
    behind_next: Signal<Local, Bits<PLACES>>,
    /// Row 0 of the append region comes next.
    wraps: Signal<Local, Bit>,
    row_next: Signal<Local, Bits<32>>,
    // The order.
    addr: DFF<Bits<64>>,
    part: DFF<Bits<13>>,
    last: DFF<Bit>,
    /// The receive is used up; it completes; it does not, because one before it has failed.
    uses_up: Signal<Local, Bit>,
    completes: Signal<Local, Bit>,
    silent: DFF<Bit>,
    /// A receive that is given up has its turn.
    has_turn: Signal<Local, Bit>,
    fails: Signal<Local, Bit>,
    receipts: Receipts,
}
