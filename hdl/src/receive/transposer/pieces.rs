//! Lists the pieces of packed rows, 16 a cycle: where each lies in the payload, and in the memory of columns.
//!
//! A value of `w` bytes is `(w + 3) / 4` pieces, of 4 bytes except the last one. The pieces of a row, and those of
//! the next rows that 16 pieces from its last one on reach, are written into a table, a column a cycle; piece `q` is in
//! bank `q mod 16`. Then 16 consecutive
//! pieces from any one on are read in a cycle. While one table is read, the next one is written.
//!
//! Contract: the columns of a job come in the order of a row, at most 16 of at most 64 B. A job takes one cycle a
//! column, one more, and then one a column until
//! as many pieces are written as the row has, and 16 more. `begins` announces that a job's pieces come next; the first
//! ones come 3 cycles after its table is there and
//! the job before has ended. Then 16 come in a cycle, while `flows`, until `ends`.

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
    needed: Signal<Local, Bits<9>>,
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

impl Logic for Pieces {
    #[hdl_gen]
    fn update(&mut self) {
        // Columns come.
        self.column.ready.next = self.state.q.val() == TableState::Load;
        for k in 0..PIECES {
            self.all_widths.parts[k].next = bit_cast::<8, 7>(self.widths[k].q.val());
            self.all_ahead.parts[k].next = bit_cast::<8, 7>(self.ahead[k].q.val());
        }
        self.width.next = self.column.width.val();
        self.from.next = 0.into();
        self.writes.next = self.column.valid.val();
        if self.state.q.val() != TableState::Load {
            self.writes.next = self.state.q.val() == TableState::Extend;
            self.width.next = self
                .all_widths
                .whole
                .val()
                .get_bits::<7>(self.index.q.val().get_bits::<4>(0).index() * 8);
            self.from.next = self
                .all_ahead
                .whole
                .val()
                .get_bits::<7>(self.index.q.val().get_bits::<4>(0).index() * 8);
        }
        self.next_ahead.next = self.from.val() + self.width.val();
        self.rounded.next = self.width.val() + 3;
        self.unused_rounded.next = self.rounded.val();
        self.count.next = self.rounded.val().get_bits::<5>(2);
        self.last_piece.next = self.count.val() - 1;
        self.short_len.next = self.width.val().get_bits::<2>(0) - 1;
        self.behind.next = self.at.q.val() + bit_cast::<9, 5>(self.count.val());
        self.next_index.next = self.index.q.val() + 1;
        self.needed.next = self.row_pieces.q.val() + 16;

        // A column's pieces, each into its bank.
        for k in 0..PIECES {
            self.nth[k].next = k.to_bits();
            self.nth[k].next = self.nth[k].val() - self.at.q.val().get_bits::<4>(0);
            self.within[k].next = bit_cast::<6, 4>(self.nth[k].val()) << 2;
            // Banks in front of the first piece's have their entry in the next row.
            self.inverse[k].next = 15.into();
            self.inverse[k].next = self.inverse[k].val() - bit_cast::<9, 4>(k.to_bits());
            self.write_sum[k].next = self.at.q.val() + self.inverse[k].val();
            self.unused_write[k].next = self.write_sum[k].val();
            self.write_row[k].next = self.write_sum[k].val().get_bits::<ROW>(4);
            self.entry_from[k].next = self.from.val() + bit_cast::<7, 6>(self.within[k].val());
            self.entry_x[k].next = self.x.q.val() + self.within[k].val();
            self.entry_len[k].next = 3.into();
            if bit_cast::<5, 4>(self.nth[k].val()) == self.last_piece.val() {
                self.entry_len[k].next = self.short_len.val();
            }
            self.tables[k].write_enable.next =
                self.writes.val() && (bit_cast::<5, 4>(self.nth[k].val()) < self.count.val());
            self.tables[k].write_address.next = bit_cast::<6, ROW>(self.write_row[k].val())
                | (bit_cast::<6, 1>(self.set.q.val().into()) << 5);
            self.tables[k].write_data.next =
                bit_cast::<ENTRY, 4>(self.index.q.val().get_bits::<4>(0))
                    | (bit_cast::<ENTRY, 7>(self.entry_from[k].val()) << 4)
                    | (bit_cast::<ENTRY, 6>(self.entry_x[k].val()) << 11)
                    | (bit_cast::<ENTRY, 2>(self.entry_len[k].val()) << 17);
        }
        if self.writes.val() {
            self.at.d.next = self.behind.val();
            self.x.d.next = self.x.q.val() + self.width.val().get_bits::<6>(0);
            self.index.d.next = self.next_index.val();
        }
        for k in 0..PIECES {
            if self.writes.val() && (self.index.q.val() == k.to_bits()) {
                self.ahead[k].d.next = self.next_ahead.val();
                if self.state.q.val() == TableState::Load {
                    self.widths[k].d.next = self.column.width.val();
                    self.places[k].d.next = self.column.place.val();
                    self.steps[k].d.next = 0.into();
                } else if self.times.q.val() == self.whole.q.val() {
                    self.steps[k].d.next = self.from.val();
                }
            }
        }
        match self.state.q.val() {
            TableState::Load => {
                if self.column.valid.val() {
                    self.job.d.next = self.column.val();
                    if self.column.last.val() {
                        self.columns.d.next = self.next_index.val();
                        self.row_pieces.d.next = self.behind.val();
                        self.announces.d.next = true;
                        self.state.d.next = TableState::Count;
                    }
                }
            }
            TableState::Count => {
                self.index.d.next = 0.into();
                self.times.d.next = 1.into();
                self.state.d.next = TableState::Extend;
            }
            TableState::Extend => {
                if self.next_index.val() == self.columns.q.val() {
                    self.index.d.next = 0.into();
                    self.times.d.next = self.times.q.val() + 1;
                }
                if self.behind.val() >= self.needed.val() {
                    self.state.d.next = TableState::Ready;
                }
            }
            TableState::Ready => {}
        }
        // 16 pieces are whole rows, and some pieces more.
        self.whole.d.next = 0.into();
        self.rest.d.next = 16.into();
        if (self.row_pieces.q.val() > 8) && (self.row_pieces.q.val() <= 16) {
            self.whole.d.next = 1.into();
            self.rest.d.next = 16 - self.row_pieces.q.val().get_bits::<5>(0);
        }
        if self.row_pieces.q.val() == 1 {
            self.whole.d.next = 16.into();
            self.rest.d.next = 0.into();
        }
        if self.row_pieces.q.val() == 2 {
            self.whole.d.next = 8.into();
            self.rest.d.next = 0.into();
        }
        if self.row_pieces.q.val() == 3 {
            self.whole.d.next = 5.into();
            self.rest.d.next = 1.into();
        }
        if self.row_pieces.q.val() == 4 {
            self.whole.d.next = 4.into();
            self.rest.d.next = 0.into();
        }
        if self.row_pieces.q.val() == 5 {
            self.whole.d.next = 3.into();
            self.rest.d.next = 1.into();
        }
        if self.row_pieces.q.val() == 6 {
            self.whole.d.next = 2.into();
            self.rest.d.next = 4.into();
        }
        if self.row_pieces.q.val() == 7 {
            self.whole.d.next = 2.into();
            self.rest.d.next = 2.into();
        }
        if self.row_pieces.q.val() == 8 {
            self.whole.d.next = 2.into();
            self.rest.d.next = 0.into();
        }
        self.stretch.valid.next = self.announces.q.val();
        self.stretch.ram.next = self.job.q.val().ram;
        self.stretch.bytes.next = self.job.q.val().bytes;
        if self.announces.q.val() && self.stretch.ready.val() {
            self.announces.d.next = false;
        }

        // A table is read next.
        self.moves.next = !self.out_valid.q.val() || self.flows.val();
        self.starts.next = (self.state.q.val() == TableState::Ready) && !self.running.q.val();
        self.begins.next = self.starts.val();
        self.bytes.next = self.job.q.val().bytes;
        self.skip.next = self.job.q.val().skip;
        if self.starts.val() {
            self.state.d.next = TableState::Load;
            self.set.d.next = !self.set.q.val();
            self.index.d.next = 0.into();
            self.times.d.next = 0.into();
            self.at.d.next = 0.into();
            self.x.d.next = 0.into();
        }

        // 16 pieces, and where the next ones begin.
        self.q_next.next =
            bit_cast::<9, PIECE>(self.q.q.val()) + bit_cast::<9, 5>(self.q_rest.q.val());
        self.wraps.next = self.q_next.val() >= self.q_pieces.q.val();
        self.q_wrapped.next = self.q_next.val();
        if self.wraps.val() {
            self.q_wrapped.next = self.q_next.val() - self.q_pieces.q.val();
        }
        self.unused_wrapped.next = self.q_wrapped.val();
        for k in 0..PIECES {
            self.read_sum[k].next = bit_cast::<9, PIECE>(self.q.q.val()) + self.inverse[k].val();
            self.unused_read[k].next = self.read_sum[k].val();
            self.read_row[k].next = self.read_sum[k].val().get_bits::<ROW>(4);
            self.tables[k].read_address[0].next = bit_cast::<6, ROW>(self.read_row[k].val())
                | (bit_cast::<6, 1>(self.reads_set.q.val().into()) << 5);
        }
        self.turn.next = 0.into();
        self.turn.next = self.turn.val() - self.q.q.val().get_bits::<4>(0);
        if self.moves.val() {
            self.read.d.next = self.running.q.val();
            self.read_fresh.d.next = self.fresh.q.val();
            self.read_wraps.d.next = self.wraps.val();
            self.read_turn.d.next = self.turn.val();
            self.fresh.d.next = false;
            self.q.d.next = self.q_wrapped.val().get_bits::<PIECE>(0);
            for k in 0..PIECES {
                self.entries[k].d.next = self.tables[k].read_data[0].val();
            }
        }

        // The entries, with that of the first piece first.
        for k in 0..PIECES {
            self.by_banks.parts[k].next = bit_cast::<32, ENTRY>(self.entries[k].q.val());
        }
        self.turn_fours.data.next = self.by_banks.whole.val();
        self.turn_fours.count.next = self.read_turn.q.val().get_bits::<2>(2);
        self.turn_ones.data.next = self.turn_fours.result.val();
        self.turn_ones.count.next = self.read_turn.q.val().get_bits::<2>(0);
        self.unused_turned.next = self.turn_ones.result.val();

        // The places of the pieces.
        for k in 0..PIECES {
            self.pieces[k].next = self.turn_ones.result.val().get_bits::<ENTRY>(k * 32);
            self.all_places.parts[k].next = bit_cast::<16, PLACE>(self.run_places[k].q.val());
            self.all_lens.parts[k].next = self.pieces[k].val().get_bits::<2>(17);
        }
        self.first_x.next = self.pieces[0].val().get_bits::<6>(11);
        self.last_x.next = self.pieces[15].val().get_bits::<6>(11);
        self.last_len.next = self.pieces[15].val().get_bits::<2>(17);
        self.spans.next = self.last_x.val() - self.first_x.val();
        for k in 0..PIECES {
            self.further[k].next = 0.into();
            if self.read_wraps.q.val() {
                self.further[k].next = self.run_widths[k].q.val();
            }
            self.strides[k].next = bit_cast::<8, 7>(self.run_steps[k].q.val())
                + bit_cast::<8, 7>(self.further[k].val());
            self.shifted[k].next = self.pieces[k].val().get_bits::<6>(11) - self.first_x.val();
            self.out_from.parts[k].next = self.shifted[k].val();
            self.out_places.parts[k].next = self
                .all_places
                .whole
                .val()
                .get_bits::<PLACE>(self.pieces[k].val().get_bits::<4>(0).index() * 16)
                + bit_cast::<PLACE, 7>(self.pieces[k].val().get_bits::<7>(4));
        }
        if self.moves.val() {
            self.out_valid.d.next = self.read.q.val();
            self.out.d.next.from = self.out_from.whole.val();
            self.out.d.next.places = self.out_places.whole.val();
            self.out.d.next.lens = self.all_lens.whole.val();
            self.out.d.next.bytes =
                bit_cast::<7, 6>(self.spans.val()) + bit_cast::<7, 2>(self.last_len.val()) + 1;
            self.out.d.next.first = self.read_fresh.q.val();
            for k in 0..PIECES {
                if self.read.q.val() {
                    self.run_places[k].d.next =
                        self.run_places[k].q.val() + bit_cast::<PLACE, 8>(self.strides[k].val());
                }
            }
        }
        self.valid.next = self.out_valid.q.val();
        self.beat.next = self.out.q.val();

        if self.ends.val() {
            self.running.d.next = false;
            self.read.d.next = false;
            self.out_valid.d.next = false;
        }
        if self.starts.val() {
            self.running.d.next = true;
            self.fresh.d.next = true;
            self.reads_set.d.next = self.set.q.val();
            self.q.d.next = self.job.q.val().piece;
            self.q_pieces.d.next = self.row_pieces.q.val();
            self.q_rest.d.next = self.rest.q.val();
            for k in 0..PIECES {
                self.run_widths[k].d.next = self.widths[k].q.val();
                self.run_steps[k].d.next = self.steps[k].q.val();
                self.run_places[k].d.next = self.places[k].q.val();
            }
        }

        if self.rst.val() {
            self.state.d.next = TableState::Load;
            self.index.d.next = 0.into();
            self.times.d.next = 0.into();
            self.at.d.next = 0.into();
            self.x.d.next = 0.into();
            self.announces.d.next = false;
            self.running.d.next = false;
            self.read.d.next = false;
            self.out_valid.d.next = false;
        }
    }
}
