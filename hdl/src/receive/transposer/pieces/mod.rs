//! Lists the pieces of packed rows, 16 a cycle: where each lies in the payload, and in the memory of columns.
//!
//! A value of `w` bytes is `(w + 3) / 4` pieces, of 4 bytes except the last one. The pieces of a row, and those of the
//! next rows that 16 pieces from its last one on reach, are written into a table, a column a cycle; piece `q` is in
//! bank `q mod 16`. Then 16 consecutive pieces from any one on are read in a cycle. While one table is read, the next
//! one is written.
//!
//! Contract: the columns of a job come in the order of a row, at most 16 of at most 64 B. A job takes one cycle a
//! column, one more, and then one a column until as many pieces are written as the row has, and 16 more. `begins`
//! announces that a job's pieces come next; the first ones come 3 cycles after its table is there and the job before
//! has ended. Then 16 come in a cycle, while `flows`, until `ends`.

mod kernel;

use super::{Column, PIECES};
use crate::primitive::{Lutram, Pack, Turn};
use crate::receive::record::PLACE;
use crate::receive::transposer::window::Stretch;
use drdma_emit::prelude::*;

/// Bits of the number of a piece in a row, and of the number of its entry in a bank.
const PIECE: usize = 8;
const ROW: usize = 5;
/// Bits of an entry: column 4, offset from the row's first value 7, offset in the payload modulo 64, bytes less one 2.
const ENTRY: usize = 4 + 7 + 6 + 2;

/// Steps of writing a table.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum TableState {
    /// Takes the columns.
    Load,
    /// Counts the pieces of a row.
    Count,
    /// Writes the pieces that follow the row's last one.
    Extend,
    /// The table is written.
    Ready,
}

/// 16 consecutive pieces.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Beat {
    /// Offset of each piece in the 64 bytes of payload from the first piece on, 6 bits each.
    pub from: Bits<96>,
    /// Place of each piece in the memory of columns, 14 bits each.
    pub places: Bits<224>,
    /// Bytes of each piece less one, 2 bits each.
    pub lens: Bits<32>,
    /// Bytes of payload of all 16 pieces.
    pub bytes: Bits<7>,
    /// The pieces are the first ones of a job.
    pub first: Bit,
}

/// Lists pieces. See the [module](self).
#[derive(LogicBlock, BlockDefault)]
pub struct Pieces {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Columns of jobs.
    pub column: Stream<In, Column>,
    /// The payload of each job whose columns have come.
    pub stretch: Stream<Out, Stretch>,

    /// A job begins.
    pub begins: Signal<Out, Bit>,
    /// With `begins`: bytes of the job's payload.
    pub bytes: Signal<Out, Bits<13>>,
    /// With `begins`: how many of its first bytes are not written.
    pub skip: Signal<Out, Bits<2>>,
    /// `beat` has pieces.
    pub valid: Signal<Out, Bit>,
    /// 16 consecutive pieces of the job; valid with `valid`.
    pub beat: Signals<Out, Beat>,
    /// The pieces are taken in this cycle.
    pub flows: Signal<In, Bit>,
    /// The job ends with these pieces.
    pub ends: Signal<In, Bit>,

    // Writing.
    state: DFF<TableState>,
    set: DFF<Bit>,
    /// The column that is written, the number of columns, and the number of the row.
    index: DFF<Bits<5>>,
    columns: DFF<Bits<5>>,
    times: DFF<Bits<5>>,
    /// Pieces that are written, and their bytes modulo 64.
    at: DFF<Bits<9>>,
    behind: Signal<Local, Bits<9>>,
    x: DFF<Bits<6>>,
    /// Pieces of a row.
    row_pieces: DFF<Bits<9>>,
    /// Pieces that are still to follow the row's last one.
    needed: DFF<Bits<5>>,
    /// Whole rows in 16 pieces, and pieces beyond these.
    whole: DFF<Bits<5>>,
    rest: DFF<Bits<5>>,
    widths: [DFF<Bits<7>>; PIECES],
    places: [DFF<Bits<PLACE>>; PIECES],
    /// Of each column: bytes from the first row's value to that of the row that is written.
    ahead: [DFF<Bits<7>>; PIECES],
    /// Of each column: bytes of `whole` rows.
    steps: [DFF<Bits<7>>; PIECES],
    // With 8 or 16 bits each, so that a number gives a place without multiplication.
    all_widths: Pack<PIECES, 8, 128>,
    all_ahead: Pack<PIECES, 8, 128>,
    job: DFF<Column>,
    /// The job's payload is not being fetched yet.
    announces: DFF<Bit>,

    writes: Signal<Local, Bit>,
    width: Signal<Local, Bits<7>>,
    from: Signal<Local, Bits<7>>,
    next_ahead: Signal<Local, Bits<7>>,
    rounded: Signal<Local, Bits<7>>,
    unused_rounded: Signal<Local, Bits<7>>,
    count: Signal<Local, Bits<5>>,
    short_len: Signal<Local, Bits<2>>,
    last_piece: Signal<Local, Bits<5>>,
    next_index: Signal<Local, Bits<5>>,
    nth: [Signal<Local, Bits<4>>; PIECES],
    within: [Signal<Local, Bits<6>>; PIECES],
    inverse: [Signal<Local, Bits<9>>; PIECES],
    write_sum: [Signal<Local, Bits<9>>; PIECES],
    unused_write: [Signal<Local, Bits<9>>; PIECES],
    write_row: [Signal<Local, Bits<ROW>>; PIECES],
    entry_from: [Signal<Local, Bits<7>>; PIECES],
    entry_x: [Signal<Local, Bits<6>>; PIECES],
    entry_len: [Signal<Local, Bits<2>>; PIECES],
    tables: [Lutram<ENTRY, 6, 1>; PIECES],

    // Reading.
    running: DFF<Bit>,
    starts: Signal<Local, Bit>,
    fresh: DFF<Bit>,
    reads_set: DFF<Bit>,
    q: DFF<Bits<PIECE>>,
    q_pieces: DFF<Bits<9>>,
    q_rest: DFF<Bits<5>>,
    q_next: Signal<Local, Bits<9>>,
    wraps: Signal<Local, Bit>,
    q_wrapped: Signal<Local, Bits<9>>,
    unused_wrapped: Signal<Local, Bits<9>>,
    read_sum: [Signal<Local, Bits<9>>; PIECES],
    unused_read: [Signal<Local, Bits<9>>; PIECES],
    read_row: [Signal<Local, Bits<ROW>>; PIECES],

    // The entries are there.
    read: DFF<Bit>,
    read_fresh: DFF<Bit>,
    read_wraps: DFF<Bit>,
    /// Banks from that of the first piece up to the last bank.
    read_turn: DFF<Bits<4>>,
    turn: Signal<Local, Bits<4>>,
    entries: [DFF<Bits<ENTRY>>; PIECES],
    /// The entries by banks, 32 bits each.
    by_banks: Pack<PIECES, 32, 512>,
    /// The entries, rotated so that the first piece is first.
    #[init(Turn::new(16))]
    turn_fours: Turn<512>,
    #[init(Turn::new(4))]
    turn_ones: Turn<512>,
    unused_turned: Signal<Local, Bits<512>>,
    pieces: [Signal<Local, Bits<ENTRY>>; PIECES],
    run_widths: [DFF<Bits<7>>; PIECES],
    run_steps: [DFF<Bits<7>>; PIECES],
    run_places: [DFF<Bits<PLACE>>; PIECES],
    /// Bytes by which the places advance: those of `whole` rows, and of one more.
    further: [Signal<Local, Bits<7>>; PIECES],
    strides: [Signal<Local, Bits<8>>; PIECES],
    all_places: Pack<PIECES, 16, 256>,
    all_lens: Pack<PIECES, 2, 32>,
    first_x: Signal<Local, Bits<6>>,
    last_x: Signal<Local, Bits<6>>,
    last_len: Signal<Local, Bits<2>>,
    spans: Signal<Local, Bits<6>>,
    out_from: Pack<PIECES, 6, 96>,
    out_places: Pack<PIECES, PLACE, 224>,
    shifted: [Signal<Local, Bits<6>>; PIECES],

    out_valid: DFF<Bit>,
    out: DFF<Beat>,
    moves: Signal<Local, Bit>,
}
