//! Cuts payload along the regions of receives, and completes them.
//!
//! Contract: a placing leads to at least one order, the last of which has its `frame_end` and its completion. A placing
//! with one order takes 4 cycles, each further order 2. A strided region that is begun takes 3 more, a receive's first
//! one 2. Each of its extents is an
//! order of its own in every row, unless they are dense columns of at most 64 B: these go to the transposer, with one
//! order for all bytes of the placing that the region takes,
//! after 5 cycles, one for each column, and what the transposer takes to plan them. Columns of an append region take 7
//! more. Payload that begins with bytes to skip
//! does not go to the transposer. If a placing's bytes are placed piece by piece, each piece is an order; dense columns
//! that come in place of pieces go to the transposer, with
//! one order for all of them. The bytes of a receive that is not in use any more are
//! not written, and nothing completes; nor are bytes written for which its regions have no room. A receive that is
//! given up completes behind the placings that were there before: its turn comes when no placing waits, or
//! after 15 of them; further placings of its queue pair pass without a completion. A receive that fails halts its
//! queue, if that is not shared, or if the entry itself was malformed.

use super::columns::{Columns, OPENING};
use super::dense::Dense;
use super::in_use::PLACE;
use super::receipts::Receipts;
use super::record::*;
use crate::context::{ConfigWrite, QP, Table};
use crate::primitive::{Flatten, Restore, StreamSkid};
use crate::receive::record::{AppendWord, PiecePlace, Placing, PlacingKind, STORE, WriteOrder};
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
/// What scatter does.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum ScatterState {
    /// Waits for a placing, or for a receive that is given up.
    Idle,
    /// Has the cursor of the queue pair's receive.
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
    /// What is to be done with the payload of packets.
    pub placing: Stream<In, Placing>,
    /// Pieces of the payload of placings that have `pieces`.
    pub piece: Stream<In, PiecePlace>,
    /// A queue pair whose receive is given up.
    pub give_up: Stream<In, GiveUp>,
    /// Whether that queue pair had a receive in use.
    pub given_up: Flow<Out, GivenUp>,
    /// Runs of bytes to write, and orders in place of which the transposer makes runs.
    pub order: Stream<Out, WriteOrder>,
    /// Dense columns for the transposer.
    pub target: Stream<Out, Target>,
    /// What the transposer plans for each payload.
    pub planned: Stream<In, Planned>,
    /// A queue that halts.
    pub halt: Stream<Out, Mark>,

    /// The queue pair that is asked for in the next cycle.
    pub next_qp: Signal<Out, Bits<QP>>,
    /// The queue pair of `next_qp`, one cycle before, has a receive in use.
    pub used: Signal<In, Bit>,
    /// Name of that queue pair's oldest receive; valid with `used`.
    pub name: Signals<In, Name>,
    /// First place of that receive; valid with `used`.
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
    /// What comes next is the shape of a strided region.
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
    /// A receive that is given up is at hand, instead of a placing.
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
    /// What is left behind the region of the cursor.
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

impl Logic for Scatter {
    #[hdl_gen]
    fn update(&mut self) {
        self.placing.join(&mut self.placings.input);
        self.placings.output.ready.next = false;
        self.piece.ready.next = false;
        self.given_up.valid.next = false;
        self.given_up.used.next = self.had_one.q.val();
        self.order.valid.next = false;
        self.halt.valid.next = false;
        self.halt.queue.next = self.held.q.val().queue;
        self.halt.life.next = self.held.q.val().life;
        self.halt.kind.next = MarkKind::Halt;
        self.cleared.next = false;
        self.cleared_qp.next = self.current.q.val().qp;

        self.unused_first.next = self.first_region.val();
        // Bytes that fit into the region of the cursor.
        self.skips.next = self.skip.q.val();
        self.skips_all.next = true;
        if self.cursor.q.val().left < bit_cast::<32, 6>(self.skip.q.val()) {
            self.skips_all.next = false;
            self.skips.next = self.cursor.q.val().left.get_bits::<6>(0);
        }
        self.whole.next = true;
        self.fits.next = self.bytes.q.val();
        if self.cursor.q.val().left < bit_cast::<32, 13>(self.bytes.q.val()) {
            self.whole.next = false;
            self.fits.next = self.cursor.q.val().left.get_bits::<13>(0);
        }
        self.cursor_out.bits.next = self.cursors.read_data.val();
        self.more.next =
            self.cursor.q.val().strided || (self.cursor.q.val().behind < self.held.q.val().places);

        // An append region is strided, and its columns are extents.
        self.cfg.join(&mut self.columns.cfg);
        self.word.join(&mut self.columns.word);
        self.appends.next = self.current.q.val().appends && self.receives.q.val();
        self.intact.d.next =
            self.columns.enabled.val() && (self.columns.life.val() == self.current.q.val().life);
        self.target_addr.next = self.region.addr.val();
        self.target_len.next = self.region.len.val();
        self.is_shape.next = self.region.strided.val() && !self.appends.val();
        if self.appends.val() {
            self.more.next = self.cursor.q.val().strided && self.intact.q.val();
            self.target_addr.next = self.columns.place.val();
            if !self.cursor.q.val().row.any() {
                self.target_addr.next = self.columns.base.val();
            }
            self.target_len.next = self.columns.width.val();
        }
        self.columns.opens.next = false;
        self.columns.row.next = self.cursor.q.val().row.get_bits::<32>(0);
        self.begins.next = false;
        self.begun_column.d.next = self.cursor.q.val().behind.get_bits::<4>(0);
        self.columns.begun.next = self.begun.q.val();
        self.columns.begun_region.next = self.current.q.val().region;
        self.columns.begun_column.next = self.begun_column.q.val();
        self.past_left.next =
            self.cursor.q.val().addr + bit_cast::<64, 32>(self.cursor.q.val().left);
        self.columns.behind.next = self.past_left.val();
        self.behind_next.next = self.cursor.q.val().behind + 1;
        self.row_next.next = self.cursor.q.val().row.get_bits::<32>(0) + 1;
        self.wraps.next = self.row_next.val() == self.columns.capacity.val();
        self.following.next = self.cursor.q.val();
        self.following.next.addr = self.target_addr.val();
        self.following.next.left = self.target_len.val();
        self.following.next.behind = self.behind_next.val();
        if self.cursor.q.val().strided {
            self.following.next.addr = self.target_addr.val() + self.cursor.q.val().row;
            if self.appends.val() {
                self.following.next.addr = self.target_addr.val();
            }
            if self.behind_next.val() == self.cursor.q.val().past {
                // The next row, if there is one; otherwise the next region.
                self.following.next.row = self.cursor.q.val().row + self.cursor.q.val().period;
                self.following.next.rows = self.cursor.q.val().rows - 1;
                self.following.next.strided = self.cursor.q.val().rows != 1;
                if self.cursor.q.val().rows != 1 {
                    self.following.next.behind = self.cursor.q.val().first;
                }
                if self.appends.val() && self.wraps.val() {
                    self.following.next.row = 0.into();
                }
            }
        }

        // Dense columns.
        self.dense.cursor.next = self.cursor.q.val();
        if self.current.q.val().pieces {
            self.dense.cursor.next.rows = self.piece.rows.val();
            self.dense.cursor.next.first = 0.into();
            self.dense.cursor.next.behind = bit_cast::<PLACES, 4>(self.piece.first.val());
            self.dense.cursor.next.into = self.piece.offset.val();
        }
        self.dense.appends.next = self.appends.val();
        self.dense.capacity.next = self.columns.capacity.val();
        self.dense.ram.next = self.ram.q.val();
        self.dense.bytes.next = self.bytes.q.val();
        self.dense.begins.next =
            (self.state.q.val() == ScatterState::Cut) || (self.state.q.val() == ScatterState::Load);
        self.dense.comes.next = false;
        self.dense.odd.next = false;
        self.dense.last.next = false;
        self.dense.addr.next = self.region.addr.val() + self.cursor.q.val().row;
        self.dense.width.next = self.region.len.val().get_bits::<7>(0);
        if self.appends.val() {
            self.dense.addr.next = self.columns.opened_place.val();
            self.dense.width.next = self.columns.opened_width.val();
        }
        self.dense.target.join(&mut self.target);
        self.planned.join(&mut self.dense.planned);
        self.aim_place.next = self.cursor.q.val().first + bit_cast::<PLACES, 5>(self.aimed.q.val());
        self.unused_place.next = self.aim_place.val();
        self.extents.next = self.cursor.q.val().past - self.cursor.q.val().first;
        self.unused_extents.next = self.extents.val();

        self.uses_up.next = (self.current.q.val().completes || self.current.q.val().returns)
            && self.present.q.val()
            && (!self.gives_up.q.val() || !self.resets.q.val() || self.held.q.val().shared);
        self.completes.next =
            self.uses_up.val() && !self.silent.q.val() && !self.current.q.val().returns;
        self.fails.next = self.current.q.val().status.any()
            && (!self.held.q.val().shared || (self.current.q.val().status == MALFORMED));
        self.cursors.write_enable.next = false;
        self.failure.next = bit_cast::<FAILURE, LIFE>(self.held.q.val().life)
            | (bit_cast::<FAILURE, 1>(1.into()) << LIFE_BITS);
        self.failures.write_enable.next = self.wiped.val();
        self.failures.write_address.next = self.wiped_qp.val();
        self.failures.write_data.next = 0.into();
        // This is not within the states: event simulators that run a process again for every change would alternate for
        // ever
        // between this block's and the taker's.
        self.has_turn.next = !self.placings.output.valid.val() || self.passed.q.val().all();
        self.give_up.ready.next = (self.state.q.val() == ScatterState::Idle) && self.has_turn.val();

        match self.state.q.val() {
            ScatterState::Idle => {
                self.current.d.next = self.placings.output.data.val();
                self.gives_up.d.next = false;
                if self.give_up.valid.val() && self.has_turn.val() {
                    // A completion without bytes.
                    self.passed.d.next = 0.into();
                    self.gives_up.d.next = true;
                    self.resets.d.next = self.give_up.kind.val() == GiveUpKind::Reset;
                    self.current.d.next.kind = PlacingKind::Nothing;
                    self.current.d.next.qp = self.give_up.qp.val();
                    self.current.d.next.bytes = 0.into();
                    self.current.d.next.frame_end = false;
                    self.current.d.next.completes = true;
                    self.current.d.next.status = FLUSHED.into();
                    self.current.d.next.with_imm = false;
                    self.current.d.next.appends = false;
                    self.current.d.next.returns = false;
                    self.current.d.next.pieces = false;
                    self.current.d.next.atomic = false;
                    self.state.d.next = ScatterState::Load;
                } else if self.placings.output.valid.val() {
                    self.placings.output.ready.next = true;
                    self.passed.d.next =
                        self.passed.q.val() + bit_cast::<4, 1>(self.give_up.valid.val().into());
                    self.state.d.next = ScatterState::Load;
                    if (self.placings.output.data.val().kind == PlacingKind::Nothing)
                        && !self.placings.output.data.val().completes
                        && !self.placings.output.data.val().returns
                    {
                        // An acknowledgement, or a packet that is dropped: its frame is given back.
                        self.part.d.next = 0.into();
                        self.last.d.next = true;
                        self.receives.d.next = false;
                        self.turned.d.next = false;
                        self.state.d.next = ScatterState::Offer;
                    }
                }
            }
            ScatterState::Load => {
                self.held.d.next = self.name.val();
                self.present.d.next = self.used.val();
                self.had_one.d.next = self.used.val();
                self.silent.d.next = !self.name.shared.val()
                    && self.failures.read_data.val().get_bit(LIFE)
                    && (self.failures.read_data.val().get_bits::<LIFE>(0) == self.name.life.val());
                self.receives.d.next =
                    (self.current.q.val().kind == PlacingKind::Receive) && self.used.val();
                self.ram.d.next = self.current.q.val().ram;
                self.bytes.d.next = 0.into();
                self.skip.d.next = 0.into();
                self.cursor.d.next = self.cursor_out.record.val();
                // Early, because the place behind it is asked for in this cycle. A receive's first place comes with its
                // name.
                if self.current.q.val().first {
                    self.cursor.d.next.behind = 1.into();
                    if self.current.q.val().appends {
                        self.cursor.d.next.behind = 0.into();
                    }
                }
                if self.current.q.val().kind == PlacingKind::Write {
                    self.bytes.d.next = self.current.q.val().bytes;
                    self.cursor.d.next.addr = self.current.q.val().addr;
                    self.cursor.d.next.left = 4096.into();
                }
                if (self.current.q.val().kind == PlacingKind::Receive) && self.used.val() {
                    self.bytes.d.next = self.current.q.val().bytes;
                    if self.current.q.val().first {
                        self.skip.d.next = self.current.q.val().skip;
                        self.cursor.d.next.plain = self.current.q.val().skip.any();
                        self.cursor.d.next.dense = false;
                        self.cursor.d.next.into = 0.into();
                        self.cursor.d.next.addr = self.first_region.addr.val();
                        self.cursor.d.next.left = self.first_region.len.val();
                        self.cursor.d.next.strided = false;
                        if !self.name.places.val().any() {
                            self.cursor.d.next.left = 0.into();
                        }
                    }
                }
                self.state.d.next = ScatterState::Cut;
                if (self.current.q.val().kind == PlacingKind::Receive)
                    && self.used.val()
                    && self.current.q.val().first
                    && self.name.places.val().any()
                    && self.first_region.strided.val()
                {
                    self.cursor.d.next.past =
                        bit_cast::<PLACES, 5>(self.first_region.extents.val());
                    self.state.d.next = ScatterState::Open;
                }
                if (self.current.q.val().kind == PlacingKind::Receive)
                    && self.used.val()
                    && self.current.q.val().first
                    && self.current.q.val().appends
                {
                    // As many rows follow as the region has.
                    self.cursor.d.next.left = 0.into();
                    self.cursor.d.next.strided = true;
                    self.cursor.d.next.period = 1.into();
                    self.cursor.d.next.row = bit_cast::<64, 32>(self.current.q.val().source);
                    self.cursor.d.next.rows = self.columns.capacity.val();
                    self.cursor.d.next.first = 0.into();
                    self.cursor.d.next.past = bit_cast::<PLACES, 5>(self.columns.count.val());
                    self.sought.d.next = 0.into();
                    self.aims.d.next = false;
                    self.cursor.d.next.dense = !self.current.q.val().skip.any();
                    self.state.d.next = ScatterState::Cut;
                    if self.current.q.val().skip.any() && self.current.q.val().source.any() {
                        self.state.d.next = ScatterState::Seek;
                    }
                }
                if self.current.q.val().pieces {
                    self.aimed.d.next = 0.into();
                    self.state.d.next = ScatterState::Piece;
                }
                if self.gives_up.q.val()
                    && (!self.used.val() || (self.resets.q.val() && !self.name.shared.val()))
                {
                    self.state.d.next = ScatterState::Recount;
                }
            }
            ScatterState::Open => {
                // The cursor holds the shape as if it were bytes; the place behind it is the first extent's.
                self.cursor.d.next.period = self.cursor.q.val().addr;
                self.cursor.d.next.row = 0.into();
                self.cursor.d.next.rows = self.cursor.q.val().left;
                self.cursor.d.next.first = self.cursor.q.val().behind;
                self.cursor.d.next.past = self.cursor.q.val().past + self.cursor.q.val().behind;
                self.cursor.d.next.left = 0.into();
                self.cursor.d.next.strided = self.cursor.q.val().left.any();
                self.cursor.d.next.dense = self.cursor.q.val().left.any()
                    && (self.cursor.q.val().addr <= WIDEST)
                    && !self.cursor.q.val().plain;
                self.cursor.d.next.into = 0.into();
                if !self.cursor.q.val().left.any() {
                    self.cursor.d.next.behind =
                        self.cursor.q.val().past + self.cursor.q.val().behind;
                }
                self.state.d.next = ScatterState::Cut;
            }
            ScatterState::Seek => {
                // In row 0 the values go to the columns' first bytes in any case.
                self.columns.opens.next = true;
                self.dense.odd.next = self.columns.width.val() > WIDEST;
                self.dense.comes.next = self.aims.q.val() && self.columns.opened.val();
                self.sought.d.next = self.sought.q.val() + 1;
                self.since.d.next = 0.into();
                if self.sought.d.val() == self.cursor.q.val().past.get_bits::<5>(0) {
                    self.state.d.next = ScatterState::Sought;
                }
            }
            ScatterState::Sought => {
                // All columns must go on at the row before the first one is begun.
                self.since.d.next = self.since.q.val() + 1;
                self.dense.comes.next = self.aims.q.val() && self.columns.opened.val();
                if self.since.q.val() == SOUGHT {
                    self.state.d.next = ScatterState::Cut;
                    if self.aims.q.val() {
                        self.dense.last.next = true;
                        self.dense.odd.next = !self.intact.q.val();
                        self.cursor.d.next.dense = false;
                        if self.dense.taken.val() {
                            self.cursor.d.next.dense = true;
                            self.state.d.next = ScatterState::Plan;
                        }
                    }
                }
            }
            ScatterState::Aim => {
                // An extent comes in the cycle after it was asked for.
                self.aimed.d.next = self.aimed.q.val() + 1;
                if self.aimed.q.val().any() {
                    self.dense.comes.next = true;
                    self.dense.odd.next = self.region.len.val()
                        != bit_cast::<32, 7>(self.cursor.q.val().period.get_bits::<7>(0));
                    if self.aimed.q.val() == self.extents.val().get_bits::<5>(0) {
                        self.dense.last.next = true;
                        self.cursor.d.next.dense = false;
                        self.state.d.next = ScatterState::Cut;
                        if self.dense.taken.val() {
                            self.cursor.d.next.dense = true;
                            self.state.d.next = ScatterState::Plan;
                        }
                    }
                }
            }
            ScatterState::Plan => {
                self.part.d.next = self.dense.planned_bytes.val();
                self.last.d.next = self.dense.planned_bytes.val() == self.bytes.q.val();
                if self.dense.ended.val() {
                    self.more.next = self.cursor.q.val().past < self.held.q.val().places;
                    if self.appends.val() {
                        self.more.next = self.dense.after.rows.val().any();
                    }
                    if !self.more.val() {
                        self.last.d.next = true;
                    }
                }
                if self.dense.moved.val() {
                    self.cursor.d.next = self.dense.after.val();
                    self.bytes.d.next = self.bytes.q.val() - self.dense.planned_bytes.val();
                    self.turned.d.next = true;
                    self.state.d.next = ScatterState::Offer;
                }
            }
            ScatterState::Cut => {
                self.addr.d.next = self.cursor.q.val().addr;
                self.part.d.next = 0.into();
                self.last.d.next = true;
                self.turned.d.next = false;
                self.state.d.next = ScatterState::Offer;
                if self.receives.q.val() && self.cursor.q.val().dense && self.bytes.q.val().any() {
                    // Columns for the transposer.
                    self.aims.d.next = true;
                    self.aimed.d.next = 0.into();
                    self.sought.d.next = 0.into();
                    self.state.d.next = ScatterState::Aim;
                    if self.appends.val() {
                        self.state.d.next = ScatterState::Seek;
                    }
                    if !self.dense.roomy.val() {
                        self.state.d.next = ScatterState::Cut;
                    }
                } else if self.receives.q.val()
                    && !self.cursor.q.val().left.any()
                    && (self.skip.q.val().any() || self.bytes.q.val().any())
                    && self.more.val()
                {
                    // The cursor goes to the next region or extent.
                    self.cursor.d.next = self.following.val();
                    self.begins.next = true;
                    self.state.d.next = ScatterState::Cut;
                    if self.is_shape.val() {
                        self.cursor.d.next.past = bit_cast::<PLACES, 5>(self.region.extents.val());
                        self.state.d.next = ScatterState::Open;
                    }
                } else if self.skip.q.val().any() && self.cursor.q.val().left.any() {
                    self.skip.d.next = self.skip.q.val() - self.skips.val();
                    self.cursor.d.next.addr =
                        self.cursor.q.val().addr + bit_cast::<64, 6>(self.skip.q.val());
                    if !self.skips_all.val() {
                        self.cursor.d.next.addr = self.past_left.val();
                    }
                    self.cursor.d.next.left =
                        self.cursor.q.val().left - bit_cast::<32, 6>(self.skips.val());
                    self.state.d.next = ScatterState::Cut;
                } else if self.cursor.q.val().left.any() {
                    self.part.d.next = self.fits.val();
                    self.last.d.next = self.whole.val() || !self.more.val();
                    self.bytes.d.next = self.bytes.q.val() - self.fits.val();
                    self.cursor.d.next.addr =
                        self.cursor.q.val().addr + bit_cast::<64, 13>(self.bytes.q.val());
                    if !self.whole.val() {
                        self.cursor.d.next.addr = self.past_left.val();
                    }
                    self.cursor.d.next.left =
                        self.cursor.q.val().left - bit_cast::<32, 13>(self.fits.val());
                }
            }
            ScatterState::Piece => {
                // Pieces of a receive that is not in use any more are passed over.
                self.piece.ready.next = true;
                self.addr.d.next = self.piece.addr.val();
                self.part.d.next = self.piece.bytes.val();
                self.last.d.next = self.piece.last.val();
                self.turned.d.next = false;
                if !self.receives.q.val() && (self.current.q.val().kind == PlacingKind::Receive) {
                    self.part.d.next = 0.into();
                    if self.piece.valid.val() && self.piece.last.val() {
                        self.state.d.next = ScatterState::Offer;
                    }
                } else if self.piece.column.val() {
                    // The transposer must have room for all columns before the first one goes there.
                    self.piece.ready.next = self.dense.roomy.val() || self.aimed.q.val().any();
                    self.dense.addr.next = self.piece.addr.val();
                    self.dense.width.next = self.piece.bytes.val().get_bits::<7>(0);
                    self.dense.last.next = self.piece.last.val();
                    if self.piece.valid.val() && self.piece.ready.val() {
                        self.dense.comes.next = true;
                        self.aimed.d.next = self.aimed.q.val() + 1;
                        if self.piece.last.val() {
                            self.state.d.next = ScatterState::Plan;
                        }
                    }
                } else if self.piece.valid.val() {
                    self.state.d.next = ScatterState::Offer;
                }
            }
            ScatterState::Offer => {
                self.order.valid.next = true;
                if self.order.ready.val() {
                    self.ram.d.next = self.ram.q.val() + bit_cast::<STORE, 13>(self.part.q.val());
                    self.state.d.next = ScatterState::Cut;
                    if self.current.q.val().pieces {
                        self.state.d.next = ScatterState::Piece;
                    } else if self.receives.q.val()
                        && !self.turned.q.val()
                        && !self.cursor.q.val().left.any()
                        && self.more.val()
                        && !self.is_shape.val()
                    {
                        self.cursor.d.next = self.following.val();
                        self.begins.next = true;
                    }
                    if self.last.q.val() {
                        self.cursors.write_enable.next = self.receives.q.val();
                        self.cleared.next =
                            self.uses_up.val() && (self.silent.q.val() || !self.fails.val());
                        self.state.d.next = ScatterState::Idle;
                        if self.gives_up.q.val() {
                            self.state.d.next = ScatterState::Recount;
                        }
                        if self.completes.val() && self.fails.val() {
                            self.state.d.next = ScatterState::Halt;
                        }
                    }
                }
            }
            ScatterState::Halt => {
                // The queue pair's next take will find its queue halted.
                self.halt.valid.next = true;
                if !self.held.q.val().shared {
                    self.failures.write_enable.next = true;
                    self.failures.write_address.next = self.current.q.val().qp;
                    self.failures.write_data.next = self.failure.val();
                }
                if self.halt.ready.val() {
                    self.cleared.next = true;
                    self.state.d.next = ScatterState::Idle;
                    if self.gives_up.q.val() {
                        self.state.d.next = ScatterState::Recount;
                    }
                }
            }
            ScatterState::Recount => {
                self.present.d.next = self.used.val();
                self.state.d.next = ScatterState::Answer;
            }
            ScatterState::Answer => {
                self.cleared.next = self.present.q.val();
                self.given_up.valid.next = !self.present.q.val();
                self.state.d.next = ScatterState::Idle;
                if self.present.q.val() {
                    self.state.d.next = ScatterState::Recount;
                }
            }
        }

        self.begun.d.next = self.begins.val() && self.appends.val();

        // The order.
        self.order.addr.next = self.addr.q.val();
        self.order.ram.next = self.ram.q.val();
        self.order.bytes.next = self.part.q.val();
        self.order.column.next = self.turned.q.val();
        self.order.rows.next = 0.into();
        self.order.frame_end.next = self.last.q.val() && self.current.q.val().frame_end;
        self.order.words.next = self.current.q.val().words;
        self.order.atomic.next = self.current.q.val().atomic;
        self.order.slot.next = self.current.q.val().slot;
        self.order.completes.next = self.last.q.val() && self.completes.val();
        self.receipts.placing.next = self.current.q.val();
        self.receipts.name.next = self.held.q.val();
        self.order.receipt.next = self.receipts.receipt.val();

        self.cursor_in.record.next = self.cursor.d.val();
        self.cursors.write_address.next = self.current.q.val().qp;
        self.cursors.write_data.next = self.cursor_in.bits.val();
        self.busy.next =
            self.placings.output.valid.val() || (self.state.q.val() != ScatterState::Idle);

        if self.rst.val() {
            self.state.d.next = ScatterState::Idle;
            self.passed.d.next = 0.into();
        }
        self.next_qp.next = self.current.d.val().qp;
        self.cursors.ahead.next = self.current.d.val().qp;
        self.failures.ahead.next = self.current.d.val().qp;
        // The first place with a new placing, then the one behind the cursor's.
        self.next_span.next = self.cursor.d.val().behind.get_bits::<PLACE>(0);
        self.columns.next_region.next = self.current.d.val().region;
        self.columns.next_column.next = self.cursor.d.val().behind.get_bits::<4>(0);
        if self.state.q.val() == ScatterState::Idle {
            self.next_span.next = 0.into();
            self.columns.next_column.next = 0.into();
        }
        // Columns from the first one on, each asked for a cycle ahead.
        if self.state.q.val() == ScatterState::Seek {
            self.columns.next_column.next = self.sought.d.val().get_bits::<4>(0);
        }
        if (self.state.q.val() == ScatterState::Cut) && self.cursor.q.val().dense {
            self.columns.next_column.next = 0.into();
        }
        if (self.state.q.val() == ScatterState::Aim) && !self.dense.last.val() {
            self.next_span.next = self.aim_place.val().get_bits::<PLACE>(0);
        }
    }
}
