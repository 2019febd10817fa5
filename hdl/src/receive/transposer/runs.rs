//! Computes the runs of a packet in dense columns: where each goes in host memory, and where it lies in the memory of
//! columns until then.
//!
//! Stands between the receive queues' scatter, which knows where a receive stands, and the [transposer](super). Payload
//! begins in a row
//! (at a byte of a column's value) and ends `m` rows later, where the next payload of the message begins. So a column's
//! run is `m`
//! values, and the parts of the first and the last row that the payload has.
//!
//! Contract: columns come in the order of a row, at most 16 of 1 to 64 B, all with the same fields of the payload.
//! `planned` comes 5 to 10 cycles
//! after the last one, the sooner the longer the row and the shorter the payload, or 15 later if the region ends first,
//! when the job before has all its runs. Then the next job's columns may come, while each column
//! leads to a run and to a column of the transposer, one a cycle, from the 7th cycle on.
//! Columns of which the last one is `dropped` lead to nothing.
//! Runs come before the payload is transposed. A run may have no bytes. A job's runs begin when the memory has room for
//! them: its rows of 128 B are in use until they are `freed`.

use super::{Column, PIECES};
use crate::primitive::{Lutram, Multiplier};
use crate::receive::record::{COLUMN_ROWS, PLACE, STORE};
use drdma_emit::prelude::*;

/// Bits of a count of bytes of payload, or of a packet's rows, or of both together.
const BYTES: usize = 14;
/// Bits of a count of bytes of a row.
pub const ROW: usize = 11;
/// Bits of the remainder in a step of the division: two more.
const STEP: usize = ROW + 2;
/// Bits of a count of rows of the memory of columns, of which there are 128.
const USED: usize = COLUMN_ROWS;
const ROWS: u64 = 128;
/// Stages of the multiplier.
const STAGES: usize = 3;
/// Bits of what is kept of a column: address, width, bytes of the row before it.
const KEPT: usize = 64 + 7 + ROW;

/// A column of a dense region. The fields of the payload are the same in all columns.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Target {
    /// Address in host memory of the value in the row in which the payload begins.
    pub addr: Bits<64>,
    /// Bytes of a value of the column, 1 to 64.
    pub width: Bits<7>,
    /// The column is the last one.
    pub last: Bit,
    /// With `last`: all columns are withdrawn.
    pub dropped: Bit,
    /// Of the payload: byte address in the frame store.
    pub ram: Bits<STORE>,
    /// Of the payload: bytes, 1 to 4,096.
    pub bytes: Bits<13>,
    /// Of the payload: the column in which it begins.
    pub column: Bits<4>,
    /// Of the payload: the byte of that column's value with which it begins.
    pub offset: Bits<6>,
    /// Of the payload: rows of the region from the first one on, at least 1.
    pub rows: Bits<32>,
}

/// The plan for a payload.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Planned {
    /// Bytes of the payload that go to this region.
    pub bytes: Bits<13>,
    /// Rows by which the next byte lies further than the first one.
    pub rows: Bits<13>,
    /// The column of the next byte.
    pub column: Bits<4>,
    /// The byte of that column's value.
    pub offset: Bits<6>,
    /// The region ends behind these bytes.
    pub ends: Bit,
}

/// A run of a column.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Run {
    /// Address in host memory of the run.
    pub addr: Bits<64>,
    /// Byte address in the memory of columns; the run may go on at that memory's beginning.
    pub place: Bits<PLACE>,
    /// Bytes of the run, 0 to 4,096.
    pub bytes: Bits<13>,
    /// The run is the job's last one.
    pub last: Bit,
    /// With `last`: rows of the memory of columns that the job's runs take.
    pub rows: Bits<USED>,
}

/// The shape of the rows of the packet that is planned.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct RowShape {
    /// Bytes of a row,
    pub row: Bits<ROW>,
    /// Bytes of a value of a row's last column.
    pub width: Bits<7>,
    /// Columns of a row.
    pub columns: Bits<5>,
    /// Byte of the first row with which the payload begins.
    pub start: Bits<ROW>,
}

/// What [`Runs`] does with the columns of a job.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum RunsState {
    /// Takes the columns.
    Load,
    /// Divides the bytes into rows.
    Divide,
    /// Checks whether the region ends before the payload; if not, finds the column in which the payload ends.
    Compare,
    /// Counts the bytes up to the region's end.
    Clip,
    /// Offers the plan.
    Tell,
}

/// What [`Runs`] does with a job that is planned.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum CutState {
    /// There is no planned job.
    Idle,
    /// Waits for room in the memory of columns.
    Room,
    /// Makes the job's runs.
    Cut,
}

/// Computes runs. See the [module](self).
#[derive(LogicBlock, BlockDefault)]
pub struct Runs {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Columns of a region for a payload.
    pub target: Stream<In, Target>,
    /// The plan for each payload.
    pub planned: Stream<Out, Planned>,
    /// With `planned`: the shape of the payload's rows.
    pub shape: Signals<Out, RowShape>,
    /// The job's runs, in the order of columns.
    pub run: Stream<Out, Run>,
    /// The job's columns, for the transposer.
    pub column: Stream<Out, Column>,
    /// Rows of the memory of columns are free again.
    pub freed: Signal<In, Bit>,
    /// With `freed`: number of these rows.
    pub freed_rows: Signal<In, Bits<USED>>,

    state: DFF<RunsState>,
    /// The half of `kept` that columns go to.
    set: DFF<Bit>,
    /// Bytes of the row before each column.
    begins: [DFF<Bits<ROW>>; PIECES],
    /// Whether the payload reaches each column of its last row.
    reached: [Signal<Local, Bit>; PIECES],
    ending: DFF<Bits<4>>,
    /// Bytes of the row before the column in which the payload ends.
    nearest: DFF<Bits<ROW>>,
    end_offset: Signal<Local, Bits<ROW>>,
    unused_offset: Signal<Local, Bits<ROW>>,
    hands: Signal<Local, Bit>,
    /// Fields that all columns share.
    job: DFF<Target>,
    index: DFF<Bits<5>>,
    columns: DFF<Bits<5>>,
    row: DFF<Bits<ROW>>,
    pieces: DFF<Bits<9>>,
    row_next: Signal<Local, Bits<ROW>>,
    pieces_next: Signal<Local, Bits<9>>,
    rounded: Signal<Local, Bits<7>>,
    unused_rounded: Signal<Local, Bits<7>>,
    /// Byte of the first row with which the payload begins, and number of its first piece.
    start: DFF<Bits<ROW>>,
    piece: DFF<Bits<9>>,
    unused_piece: Signal<Local, Bits<9>>,

    // Division, two bits a cycle. The first pairs of bits of the quotient that must be 0, as the row's bytes or
    // the dividend's show, take no cycle.
    sum: Signal<Local, Bits<BYTES>>,
    by_row: Signal<Local, Bits<3>>,
    skipped: Signal<Local, Bits<3>>,
    dividend: DFF<Bits<BYTES>>,
    quotient: DFF<Bits<BYTES>>,
    rest: DFF<Bits<ROW>>,
    round: DFF<Bits<4>>,
    rest_in: Signal<Local, Bits<STEP>>,
    rest_out: Signal<Local, Bits<STEP>>,
    digit: Signal<Local, Bits<2>>,
    /// Two and three times the row's bytes, as they were a cycle before.
    twice: Signal<Local, Bits<STEP>>,
    thrice: DFF<Bits<STEP>>,
    unused_high: Signal<Local, Bits<STEP>>,
    ends: DFF<Bit>,
    beyond: Signal<Local, Bit>,
    /// Bytes of the payload that go to this region.
    bytes: DFF<Bits<BYTES>>,
    unused_bytes: Signal<Local, Bits<BYTES>>,
    whole: DFF<Bits<BYTES>>,
    factor: DFF<Bits<BYTES>>,

    // Runs, of the job that was planned last.
    cuts: DFF<CutState>,
    cut_set: DFF<Bit>,
    cut_job: DFF<Target>,
    cut_columns: DFF<Bits<5>>,
    cut_start: DFF<Bits<ROW>>,
    cut_rest: DFF<Bits<ROW>>,
    cut_piece: DFF<Bits<9>>,
    cut_rows: DFF<Bits<BYTES>>,
    cut_payload: DFF<Bits<BYTES>>,
    kept: Lutram<KEPT, 5, 1>,
    widths: Lutram<7, 5, 1>,
    #[init(Multiplier::new(3))]
    multiplier: Multiplier<BYTES, 7, 21>,
    moves: Signal<Local, Bit>,
    issued: DFF<Bits<5>>,
    coming: [DFF<Bit>; STAGES],
    at: DFF<Bits<5>>,
    at_next: Signal<Local, Bits<5>>,
    /// What is kept of a column, a cycle before its product is there.
    looked_last: DFF<Bit>,
    looked_addr: DFF<Bits<64>>,
    looked_width: DFF<Bits<7>>,
    looked_head: DFF<Bits<7>>,
    looked_tail: DFF<Bits<7>>,
    width: Signal<Local, Bits<7>>,
    earlier: Signal<Local, Bits<ROW>>,
    /// Bytes of the first row that the run does not have, and of the last row that it has.
    into: Signal<Local, Bits<12>>,
    head: Signal<Local, Bits<7>>,
    into_end: Signal<Local, Bits<12>>,
    tail: Signal<Local, Bits<7>>,
    cut: DFF<Bit>,
    cut_last: DFF<Bit>,
    cut_addr: DFF<Bits<64>>,
    cut_width: DFF<Bits<7>>,
    cut_head: DFF<Bits<7>>,
    cut_bytes: DFF<Bits<BYTES>>,
    unused_product: Signal<Local, Bits<21>>,
    /// Where the next run may begin, in which bank it is to begin, and the banks between two runs.
    place: DFF<Bits<PLACE>>,
    bank: DFF<Bits<7>>,
    apart: DFF<Bits<7>>,
    start_row: Signal<Local, Bits<7>>,
    start_place: Signal<Local, Bits<PLACE>>,
    behind: Signal<Local, Bits<PLACE>>,
    run_valid: DFF<Bit>,
    run_held: DFF<Run>,
    /// The place behind that run, and the row in which its job began.
    run_behind: DFF<Bits<PLACE>>,
    run_row: DFF<Bits<7>>,
    column_valid: DFF<Bit>,
    column_held: DFF<Column>,

    // Room in the memory of columns.
    used: DFF<Bits<USED>>,
    first_row: DFF<Bits<7>>,
    needed: DFF<Bits<USED>>,
    /// The job has all its runs since the cycle before.
    closes: DFF<Bit>,
    taken: Signal<Local, Bits<7>>,
    rounded_up: Signal<Local, Bits<PLACE>>,
    unused_up: Signal<Local, Bits<PLACE>>,
    total: Signal<Local, Bits<9>>,
    given: Signal<Local, Bits<USED>>,
}

impl Logic for Runs {
    #[hdl_gen]
    fn update(&mut self) {
        // Columns come.
        self.target.ready.next = self.state.q.val() == RunsState::Load;
        self.rounded.next = self.target.width.val() + 3;
        self.unused_rounded.next = self.rounded.val();
        self.row_next.next = self.row.q.val() + bit_cast::<ROW, 7>(self.target.width.val());
        self.pieces_next.next =
            self.pieces.q.val() + bit_cast::<9, 5>(self.rounded.val().get_bits::<5>(2));
        self.kept.write_enable.next =
            self.target.valid.val() && (self.state.q.val() == RunsState::Load);
        self.kept.write_address.next = bit_cast::<5, 4>(self.index.q.val().get_bits::<4>(0))
            | (bit_cast::<5, 1>(self.set.q.val().into()) << 4);
        self.kept.write_data.next = bit_cast::<KEPT, 64>(self.target.addr.val())
            | (bit_cast::<KEPT, 7>(self.target.width.val()) << 64)
            | (bit_cast::<KEPT, ROW>(self.row.q.val()) << 71);
        self.widths.write_enable.next =
            self.target.valid.val() && (self.state.q.val() == RunsState::Load);
        self.widths.write_address.next = bit_cast::<5, 4>(self.index.q.val().get_bits::<4>(0))
            | (bit_cast::<5, 1>(self.set.q.val().into()) << 4);
        self.widths.write_data.next = self.target.width.val();

        // Where the division begins: the skipped part of the dividend is less than the row.
        self.sum.next = self.bytes.q.val() + bit_cast::<BYTES, ROW>(self.start.q.val());
        self.by_row.next = 0.into();
        if self.row.q.val().get_bits::<3>(8).any() {
            self.by_row.next = 4.into();
        } else if self.row.q.val().get_bits::<2>(6).any() {
            self.by_row.next = 3.into();
        } else if self.row.q.val().get_bits::<2>(4).any() {
            self.by_row.next = 2.into();
        } else if self.row.q.val().get_bits::<2>(2).any() {
            self.by_row.next = 1.into();
        }
        self.skipped.next = self.by_row.val();
        if !self.sum.val().get_bits::<2>(12).any() {
            self.skipped.next = self.by_row.val() + 1;
        }

        // A step of the division: two bits.
        self.rest_in.next = (bit_cast::<STEP, ROW>(self.rest.q.val()) << 2)
            | bit_cast::<STEP, 2>(self.dividend.q.val().get_bits::<2>(12));
        self.twice.next = bit_cast::<STEP, ROW>(self.row.q.val()) << 1;
        self.thrice.d.next = self.twice.val() + bit_cast::<STEP, ROW>(self.row.q.val());
        self.digit.next = 0.into();
        self.rest_out.next = self.rest_in.val();
        if self.rest_in.val() >= self.thrice.q.val() {
            self.digit.next = 3.into();
            self.rest_out.next = self.rest_in.val() - self.thrice.q.val();
        } else if self.rest_in.val() >= self.twice.val() {
            self.digit.next = 2.into();
            self.rest_out.next = self.rest_in.val() - self.twice.val();
        } else if self.rest_in.val() >= bit_cast::<STEP, ROW>(self.row.q.val()) {
            self.digit.next = 1.into();
            self.rest_out.next = self.rest_in.val() - bit_cast::<STEP, ROW>(self.row.q.val());
        }
        self.unused_high.next = self.rest_out.val();

        // Runs that are under way advance.
        self.run.valid.next = self.run_valid.q.val();
        self.run.next = self.run_held.q.val();
        self.column.valid.next = self.column_valid.q.val();
        self.column.next = self.column_held.q.val();
        self.moves.next = (!self.run_valid.q.val() || self.run.ready.val())
            && (!self.column_valid.q.val() || self.column.ready.val());
        if self.run.ready.val() {
            self.run_valid.d.next = false;
        }
        if self.column.ready.val() {
            self.column_valid.d.next = false;
        }
        self.widths.read_address[0].next = bit_cast::<5, 4>(self.issued.q.val().get_bits::<4>(0))
            | (bit_cast::<5, 1>(self.cut_set.q.val().into()) << 4);
        self.kept.read_address[0].next = bit_cast::<5, 4>(self.at.q.val().get_bits::<4>(0))
            | (bit_cast::<5, 1>(self.cut_set.q.val().into()) << 4);
        self.multiplier.enable.next = self.moves.val();
        self.multiplier.a.next = self.cut_rows.q.val();
        self.multiplier.b.next = self.widths.read_data[0].val();
        self.unused_product.next = self.multiplier.product.val();
        self.width.next = self.kept.read_data[0].val().get_bits::<7>(64);
        self.earlier.next = self.kept.read_data[0].val().get_bits::<ROW>(71);
        self.into.next =
            bit_cast::<12, ROW>(self.cut_start.q.val()) - bit_cast::<12, ROW>(self.earlier.val());
        self.head.next = self.width.val();
        if self.cut_start.q.val() <= self.earlier.val() {
            self.head.next = 0.into();
        } else if self.into.val() < bit_cast::<12, 7>(self.width.val()) {
            self.head.next = self.into.val().get_bits::<7>(0);
        }
        self.into_end.next =
            bit_cast::<12, ROW>(self.cut_rest.q.val()) - bit_cast::<12, ROW>(self.earlier.val());
        self.tail.next = self.width.val();
        if self.cut_rest.q.val() < self.earlier.val() {
            self.tail.next = 0.into();
        } else if self.into_end.val() < bit_cast::<12, 7>(self.width.val()) {
            self.tail.next = self.into_end.val().get_bits::<7>(0);
        }
        self.at_next.next = self.at.q.val() + 1;

        // A run begins in its bank, in this row or the next one.
        self.start_row.next = self.place.q.val().get_bits::<7>(7);
        if self.bank.q.val() < self.place.q.val().get_bits::<7>(0) {
            self.start_row.next = self.place.q.val().get_bits::<7>(7) + 1;
        }
        self.start_place.next = bit_cast::<PLACE, 7>(self.bank.q.val())
            | (bit_cast::<PLACE, 7>(self.start_row.val()) << 7);
        self.behind.next = self.start_place.val() + self.cut_bytes.q.val();
        self.rounded_up.next = self.run_behind.q.val() + 127;
        self.unused_up.next = self.rounded_up.val();
        self.taken.next = self.rounded_up.val().get_bits::<7>(7) - self.run_row.q.val();
        self.run.rows.next = bit_cast::<USED, 7>(self.taken.val());
        if self.moves.val() {
            self.issued.d.next = self.issued.q.val() + 1;
            self.coming[0].d.next = (self.cuts.q.val() == CutState::Cut)
                && (self.issued.q.val() < self.cut_columns.q.val());
            for k in 1..STAGES {
                self.coming[k].d.next = self.coming[k - 1].q.val();
            }
            self.cut.d.next = self.coming[STAGES - 1].q.val();
            self.looked_last.d.next = self.at_next.val() == self.cut_columns.q.val();
            self.looked_addr.d.next = self.kept.read_data[0].val().get_bits::<64>(0);
            self.looked_width.d.next = self.width.val();
            self.looked_head.d.next = self.head.val();
            self.looked_tail.d.next = self.tail.val();
            if self.coming[STAGES - 2].q.val() {
                self.at.d.next = self.at_next.val();
            }
            self.cut_last.d.next = self.looked_last.q.val();
            self.cut_addr.d.next = self.looked_addr.q.val();
            self.cut_width.d.next = self.looked_width.q.val();
            self.cut_head.d.next = self.looked_head.q.val();
            self.cut_bytes.d.next = self.multiplier.product.val().get_bits::<BYTES>(0)
                + bit_cast::<BYTES, 7>(self.looked_tail.q.val())
                - bit_cast::<BYTES, 7>(self.looked_head.q.val());
            if self.cut.q.val() {
                self.place.d.next = self.behind.val();
                self.bank.d.next = self.bank.q.val() + self.apart.q.val();
                self.run_valid.d.next = true;
                self.run_held.d.next.addr =
                    self.cut_addr.q.val() + bit_cast::<64, 7>(self.cut_head.q.val());
                self.run_held.d.next.place = self.start_place.val();
                self.run_held.d.next.bytes = self.cut_bytes.q.val().get_bits::<13>(0);
                self.run_held.d.next.last = self.cut_last.q.val();
                self.run_behind.d.next = self.behind.val();
                self.run_row.d.next = self.first_row.q.val();
                self.column_valid.d.next = true;
                self.column_held.d.next.width = self.cut_width.q.val();
                self.column_held.d.next.place =
                    self.start_place.val() - bit_cast::<PLACE, 7>(self.cut_head.q.val());
                self.column_held.d.next.last = self.cut_last.q.val();
                self.column_held.d.next.skip = self.cut_job.q.val().offset.get_bits::<2>(0);
                self.column_held.d.next.ram = self.cut_job.q.val().ram
                    - bit_cast::<STORE, 2>(self.cut_job.q.val().offset.get_bits::<2>(0));
                self.column_held.d.next.bytes = self.cut_payload.q.val().get_bits::<13>(0)
                    + bit_cast::<13, 2>(self.cut_job.q.val().offset.get_bits::<2>(0));
                self.column_held.d.next.piece = self.cut_piece.q.val().get_bits::<8>(0);
            }
        }
        self.unused_piece.next = self.cut_piece.q.val();
        self.unused_bytes.next = self.cut_payload.q.val();

        self.given.next = 0.into();
        if self.freed.val() {
            self.given.next = self.freed_rows.val();
        }
        self.used.d.next = self.used.q.val() - self.given.val();
        self.closes.d.next = false;
        if self.closes.q.val() {
            // The next job begins in a row of its own.
            self.place.d.next = bit_cast::<PLACE, 7>(self.rounded_up.val().get_bits::<7>(7)) << 7;
            self.used.d.next =
                self.used.q.val() - self.given.val() + bit_cast::<USED, 7>(self.taken.val());
        }
        self.total.next =
            bit_cast::<9, USED>(self.used.q.val()) + bit_cast::<9, USED>(self.needed.q.val());
        self.beyond.next = !self.job.q.val().rows.get_bits::<18>(14).any()
            && ((self.quotient.q.val() > self.job.q.val().rows.get_bits::<BYTES>(0))
                || ((self.quotient.q.val() == self.job.q.val().rows.get_bits::<BYTES>(0))
                    && self.rest.q.val().any()));
        for k in 0..PIECES {
            self.reached[k].next = self.begins[k].q.val() <= self.rest.q.val();
        }
        self.end_offset.next = self.rest.q.val() - self.nearest.q.val();
        self.unused_offset.next = self.end_offset.val();
        self.planned.valid.next =
            (self.state.q.val() == RunsState::Tell) && (self.cuts.q.val() == CutState::Idle);
        self.planned.bytes.next = self.bytes.q.val().get_bits::<13>(0);
        self.planned.rows.next = self.quotient.q.val().get_bits::<13>(0);
        self.planned.column.next = self.ending.q.val();
        self.planned.offset.next = self.end_offset.val().get_bits::<6>(0);
        self.planned.ends.next = self.ends.q.val();
        self.shape.row.next = self.row.q.val();
        self.shape.width.next = self.job.q.val().width;
        self.shape.columns.next = self.columns.q.val();
        self.shape.start.next = self.start.q.val();
        self.hands.next = self.planned.valid.val() && self.planned.ready.val();

        match self.state.q.val() {
            RunsState::Load => {
                if self.target.valid.val() {
                    self.job.d.next = self.target.val();
                    self.row.d.next = self.row_next.val();
                    self.pieces.d.next = self.pieces_next.val();
                    self.index.d.next = self.index.q.val() + 1;
                    for k in 0..PIECES {
                        if self.index.q.val() == k.to_bits() {
                            self.begins[k].d.next = self.row.q.val();
                        }
                    }
                    if self.index.q.val() == bit_cast::<5, 4>(self.target.column.val()) {
                        self.start.d.next =
                            self.row.q.val() + bit_cast::<ROW, 6>(self.target.offset.val());
                        self.piece.d.next = self.pieces.q.val()
                            + bit_cast::<9, 4>(self.target.offset.val().get_bits::<4>(2));
                    }
                    if self.target.last.val() {
                        self.columns.d.next = self.index.q.val() + 1;
                        self.bytes.d.next = bit_cast::<BYTES, 13>(self.target.bytes.val());
                        self.state.d.next = RunsState::Divide;
                        if self.target.dropped.val() {
                            self.index.d.next = 0.into();
                            self.row.d.next = 0.into();
                            self.pieces.d.next = 0.into();
                            self.state.d.next = RunsState::Load;
                        }
                    }
                }
                self.round.d.next = 0.into();
            }
            RunsState::Divide => {
                self.round.d.next = self.round.q.val() + 1;
                if self.round.q.val() == 0 {
                    self.round.d.next = bit_cast::<4, 3>(self.skipped.val()) + 1;
                    self.quotient.d.next = 0.into();
                    self.dividend.d.next = self.sum.val();
                    self.rest.d.next = 0.into();
                    if self.skipped.val() == 1 {
                        self.dividend.d.next = self.sum.val() << 2;
                        self.rest.d.next = bit_cast::<ROW, 2>(self.sum.val().get_bits::<2>(12));
                    } else if self.skipped.val() == 2 {
                        self.dividend.d.next = self.sum.val() << 4;
                        self.rest.d.next = bit_cast::<ROW, 4>(self.sum.val().get_bits::<4>(10));
                    } else if self.skipped.val() == 3 {
                        self.dividend.d.next = self.sum.val() << 6;
                        self.rest.d.next = bit_cast::<ROW, 6>(self.sum.val().get_bits::<6>(8));
                    } else if self.skipped.val() == 4 {
                        self.dividend.d.next = self.sum.val() << 8;
                        self.rest.d.next = bit_cast::<ROW, 8>(self.sum.val().get_bits::<8>(6));
                    } else if self.skipped.val() == 5 {
                        self.dividend.d.next = self.sum.val() << 10;
                        self.rest.d.next = bit_cast::<ROW, 10>(self.sum.val().get_bits::<10>(4));
                    }
                } else {
                    self.dividend.d.next = self.dividend.q.val() << 2;
                    self.rest.d.next = self.rest_out.val().get_bits::<ROW>(0);
                    self.quotient.d.next =
                        (self.quotient.q.val() << 2) | bit_cast::<BYTES, 2>(self.digit.val());
                }
                if self.round.q.val() == 7 {
                    self.state.d.next = RunsState::Compare;
                }
            }
            RunsState::Compare => {
                self.ends.d.next = self.beyond.val()
                    || ((self.job.q.val().rows.get_bits::<18>(14) == 0)
                        && (self.quotient.q.val() == self.job.q.val().rows.get_bits::<BYTES>(0)));
                self.whole.d.next = 0.into();
                self.factor.d.next = self.job.q.val().rows.get_bits::<BYTES>(0);
                self.round.d.next = 0.into();
                for k in 0..PIECES {
                    if self.reached[k].val() && (self.columns.q.val() > k.to_bits()) {
                        self.ending.d.next = k.to_bits();
                        self.nearest.d.next = self.begins[k].q.val();
                    }
                }
                self.state.d.next = RunsState::Tell;
                if self.beyond.val() {
                    self.quotient.d.next = self.job.q.val().rows.get_bits::<BYTES>(0);
                    self.rest.d.next = 0.into();
                    self.state.d.next = RunsState::Clip;
                }
            }
            RunsState::Clip => {
                // Rows times bytes, a bit a cycle; the product is less than the dividend, so nothing is lost.
                self.round.d.next = self.round.q.val() + 1;
                self.factor.d.next = self.factor.q.val() << 1;
                self.whole.d.next = self.whole.q.val() << 1;
                if self.factor.q.val().get_bit(13) {
                    self.whole.d.next =
                        (self.whole.q.val() << 1) + bit_cast::<BYTES, ROW>(self.row.q.val());
                }
                if self.round.q.val() == 14 {
                    self.bytes.d.next =
                        self.whole.q.val() - bit_cast::<BYTES, ROW>(self.start.q.val());
                    self.state.d.next = RunsState::Tell;
                }
                // The payload ends behind a row.
                self.ending.d.next = 0.into();
                self.nearest.d.next = 0.into();
            }
            RunsState::Tell => {
                if self.hands.val() {
                    self.index.d.next = 0.into();
                    self.row.d.next = 0.into();
                    self.pieces.d.next = 0.into();
                    self.set.d.next = !self.set.q.val();
                    self.state.d.next = RunsState::Load;
                }
            }
        }

        match self.cuts.q.val() {
            CutState::Idle => {
                self.cut_set.d.next = self.set.q.val();
                self.cut_job.d.next = self.job.q.val();
                self.cut_columns.d.next = self.columns.q.val();
                self.cut_start.d.next = self.start.q.val();
                self.cut_rest.d.next = self.rest.q.val();
                self.cut_piece.d.next = self.piece.q.val();
                self.cut_rows.d.next = self.quotient.q.val();
                self.cut_payload.d.next = self.bytes.q.val();
                self.needed.d.next = bit_cast::<USED, 6>(self.bytes.q.val().get_bits::<6>(7))
                    + bit_cast::<USED, 5>(self.columns.q.val())
                    + 2;
                if self.hands.val() {
                    self.cuts.d.next = CutState::Room;
                }
            }
            CutState::Room => {
                self.issued.d.next = 0.into();
                self.at.d.next = 0.into();
                self.bank.d.next = 0.into();
                self.first_row.d.next = self.place.q.val().get_bits::<7>(7);
                if (self.total.val() <= ROWS) && self.moves.val() {
                    self.cuts.d.next = CutState::Cut;
                }
            }
            CutState::Cut => {
                if self.moves.val() && self.cut.q.val() && self.cut_last.q.val() {
                    self.closes.d.next = true;
                    self.cuts.d.next = CutState::Idle;
                }
            }
        }
        // 128 banks, divided by the number of columns.
        self.apart.d.next = 8.into();
        if self.cut_columns.q.val() <= 2 {
            self.apart.d.next = 64.into();
        } else if self.cut_columns.q.val() == 3 {
            self.apart.d.next = 42.into();
        } else if self.cut_columns.q.val() == 4 {
            self.apart.d.next = 32.into();
        } else if self.cut_columns.q.val() == 5 {
            self.apart.d.next = 25.into();
        } else if self.cut_columns.q.val() == 6 {
            self.apart.d.next = 21.into();
        } else if self.cut_columns.q.val() == 7 {
            self.apart.d.next = 18.into();
        } else if self.cut_columns.q.val() == 8 {
            self.apart.d.next = 16.into();
        } else if self.cut_columns.q.val() <= 10 {
            self.apart.d.next = 12.into();
        } else if self.cut_columns.q.val() <= 12 {
            self.apart.d.next = 10.into();
        }

        if self.rst.val() {
            self.state.d.next = RunsState::Load;
            self.cuts.d.next = CutState::Idle;
            self.set.d.next = false;
            self.index.d.next = 0.into();
            self.row.d.next = 0.into();
            self.pieces.d.next = 0.into();
            self.place.d.next = 0.into();
            self.used.d.next = 0.into();
            self.run_valid.d.next = false;
            self.column_valid.d.next = false;
            self.cut.d.next = false;
            self.closes.d.next = false;
            for k in 0..STAGES {
                self.coming[k].d.next = false;
            }
        }
    }
}
