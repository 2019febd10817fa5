//! Computes the runs of a packet in dense columns: where each goes in host memory, and where it lies in the memory of
//! columns until then.
//!
//! Stands between the receive queues' scatter, which knows where a receive stands, and the [transposer](super). Payload
//! begins in a row (at a byte of a column's value) and ends `m` rows later, where the next payload of the message
//! begins. So a column's run is `m` values, and the parts of the first and the last row that the payload has.
//!
//! Contract: columns come in the order of a row, at most 16 of 1 to 64 B, all with the same fields of the payload.
//! `planned` comes 5 to 10 cycles after the last one, the sooner the longer the row and the shorter the payload, or 15
//! later if the region ends first, when the job before has all its runs. Then the next job's columns may come, while
//! each column leads to a run and to a column of the transposer, one a cycle, from the 7th cycle on. Columns of which
//! the last one is `dropped` lead to nothing. Runs come before the payload is transposed. A run may have no bytes. A
//! job's runs begin when the memory has room for them: its rows of 128 B are in use until they are `freed`.

mod banks;
mod cuts;
mod kernel;
mod rows;

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
/// Bits that are kept of a column: address, width, bytes of the row before it.
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

/// Steps of [`Runs`] for the columns of a job.
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

/// Steps of [`Runs`] for a job that is planned.
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
    /// The payload reaches the column in its last row, for each column.
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
    /// Fields of a column that are kept, a cycle before its product is there.
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
