//! Finds the runs of consecutive rows that a bitmap selects.
//!
//! Contract: from a pulse `begins` on, lines of 512 bits come in their order, the first one with the byte of `row`. A
//! run for each group of rows that follow each other, but a run ends with its line at the latest; the first `skip`
//! selected rows are left out. A run takes 5 cycles and 3 for each 64 rows that it begins or ends in; 64 rows that are
//! skipped, or of which none is selected, take 3. After a line that could not be read no more runs come.

use super::BASE;
use crate::primitive::{CountOnes, FirstSet, Multiplier, StreamFifo};
use crate::regions::Side;
use drdma_emit::prelude::*;

/// Bits of a count of lines that are kept, and of runs.
const LINES: usize = 4;
const RUNS: usize = 3;
/// Bits of a count of rows of a run: a line has 512.
pub const RUN: usize = 10;
/// Stages of the multiplier.
const STAGES: usize = 4;
/// Words of 64 bits in a line.
const WORDS: u64 = 8;

/// Rows that follow each other.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct SelectedRun {
    /// Number of the first row, among all rows.
    pub row: Bits<33>,
    /// Rows of the run.
    pub rows: Bits<RUN>,
    /// Bytes of a column before the first row.
    pub base: Bits<BASE>,
}

/// Steps in which the current line is handled.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum FinderState {
    /// Waits for a line.
    Line,
    /// Takes the next 64 bits.
    Word,
    /// Looks for the next bit that begins or ends a run.
    Edge,
    /// Goes on to that bit.
    Shift,
    /// Offers the run that was found.
    Emit,
    /// A line could not be read.
    Bad,
}

/// Finds runs. See the [module](self).
///
/// # Inputs
/// `clk`, `rst`; `begins`, a pulse, with `row` and `skip`; `count`, `width`; `line`.
///
/// # Outputs
/// Stream `run`; `lines`; `idle`, `bad`, `far`.
#[derive(LogicBlock, BlockDefault)]
pub struct Finder {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Another packet begins; lines and runs that are held are dropped.
    pub begins: Signal<In, Bit>,
    /// With `begins`: row from which on runs are looked for.
    pub row: Signal<In, Bits<33>>,
    /// With `begins`: selected rows that are left out.
    pub skip: Signal<In, Bits<33>>,
    /// Rows of the bitmap.
    pub count: Signal<In, Bits<32>>,
    /// Bytes of a value of a column.
    pub width: Signal<In, Bits<7>>,
    /// Lines of the bitmap, for which there must be room.
    pub line: Flow<In, Side>,
    /// Lines that are held; there is room for 16.
    pub lines: Signal<Out, Bits<5>>,
    /// Runs.
    pub run: Stream<Out, SelectedRun>,
    /// No run comes before the next line.
    pub idle: Signal<Out, Bit>,
    /// No run comes any more, because a line could not be read.
    pub bad: Signal<Out, Bit>,
    /// There are still selected rows that must be skipped.
    pub far: Signal<Out, Bit>,

    #[init(StreamFifo::new(crate::primitive::RamStyle::Distributed))]
    kept: StreamFifo<Side, LINES, 5>,
    state: DFF<FinderState>,
    rest: DFF<Bits<512>>,
    words: DFF<Bits<4>>,
    last_word: Signal<Local, Bit>,
    /// The current word from `place` on, and the row of its first bit.
    word: DFF<Bits<64>>,
    place: DFF<Bits<7>>,
    word_row: DFF<Bits<33>>,
    next_word: Signal<Local, Bit>,
    /// Bits of the first word that are before the first row.
    ahead: DFF<Bits<3>>,
    rows_left: Signal<Local, Bits<33>>,
    kept_bits: Signal<Local, Bits<64>>,
    below: Signal<Local, Bits<64>>,
    skip_left: DFF<Bits<33>>,
    first_set: FirstSet<64, 6>,
    count_ones: CountOnes<64, 7>,
    ones: DFF<Bits<7>>,
    step: DFF<Bits<7>>,
    moved: Signal<Local, Bits<7>>,
    // The current run.
    inside: DFF<Bit>,
    run_row: DFF<Bits<33>>,
    run_rows: DFF<Bits<RUN>>,
    drops: Signal<Local, Bit>,
    emits: Signal<Local, Bit>,
    emitted_row: Signal<Local, Bits<33>>,
    #[init(Multiplier::new(4))]
    multiplier: Multiplier<33, 7, BASE>,
    coming: [DFF<Bit>; STAGES],
    coming_row: [DFF<Bits<33>>; STAGES],
    coming_rows: [DFF<Bits<RUN>>; STAGES],
    comes: Signal<Local, Bit>,
    runs: StreamFifo<SelectedRun, RUNS, 4>,
    unused: Signal<Local, Bit>,
}

impl Logic for Finder {
    #[hdl_gen]
    fn update(&mut self) {
        self.kept.rst.next = self.rst.val() || self.begins.val();
        self.runs.rst.next = self.rst.val() || self.begins.val();
        self.kept.input.valid.next = self.line.valid.val();
        self.kept.input.data.next = self.line.val();
        self.lines.next = self.kept.count.val();
        self.kept.output.ready.next = false;

        self.first_set.bits.next = self.word.q.val();
        if self.inside.q.val() {
            self.first_set.bits.next = !self.word.q.val();
        }
        self.count_ones.bits.next = self.word.q.val();
        self.ones.d.next = self.count_ones.count.val();
        self.step.d.next = 64.into();
        if self.first_set.any.val() {
            self.step.d.next = bit_cast::<7, 6>(self.first_set.index.val());
        }
        self.moved.next = self.place.q.val() + self.step.q.val();
        self.last_word.next = self.words.q.val() == WORDS;
        self.next_word.next = false;

        // The bits of the next word that are of rows from the first one on, and of the region.
        self.rows_left.next = bit_cast::<33, 32>(self.count.val()) - self.word_row.q.val();
        self.below.next = !bits::<64>(0);
        if !self.rows_left.val().get_bits::<27>(6).any() {
            self.below.next = !(!bits::<64>(0) << self.rows_left.val().get_bits::<6>(0));
        }
        if self.rows_left.val().get_bit(32) {
            self.below.next = 0.into();
        }
        self.kept_bits.next = self.rest.q.val().get_bits::<64>(0)
            & (!bits::<64>(0) << self.ahead.q.val())
            & self.below.val();

        // A run leaves, with the bytes before it.
        self.drops.next = bit_cast::<33, RUN>(self.run_rows.q.val()) <= self.skip_left.q.val();
        self.emits.next = false;
        self.emitted_row.next = self.run_row.q.val() + self.skip_left.q.val();
        self.multiplier.enable.next = true;
        self.multiplier.a.next = self.emitted_row.val();
        self.multiplier.b.next = self.width.val();

        match self.state.q.val() {
            FinderState::Line => {
                self.words.d.next = 0.into();
                self.rest.d.next = self.kept.output.data.val().data;
                if self.kept.output.valid.val() {
                    self.kept.output.ready.next = true;
                    self.state.d.next = FinderState::Word;
                    if self.kept.output.data.val().error {
                        self.state.d.next = FinderState::Bad;
                    }
                }
            }
            FinderState::Word => {
                self.word.d.next = self.kept_bits.val();
                self.rest.d.next = self.rest.q.val() >> 64;
                self.words.d.next = self.words.q.val() + 1;
                self.ahead.d.next = 0.into();
                self.place.d.next = 0.into();
                self.state.d.next = FinderState::Edge;
            }
            FinderState::Edge => {
                self.state.d.next = FinderState::Shift;
            }
            FinderState::Shift => {
                self.place.d.next = self.moved.val();
                self.word.d.next = self.word.q.val() >> self.step.q.val();
                if !self.inside.q.val()
                    && (bit_cast::<33, 7>(self.ones.q.val()) <= self.skip_left.q.val())
                {
                    self.skip_left.d.next =
                        self.skip_left.q.val() - bit_cast::<33, 7>(self.ones.q.val());
                    self.next_word.next = true;
                } else if !self.inside.q.val() {
                    self.inside.d.next = true;
                    self.run_row.d.next =
                        self.word_row.q.val() + bit_cast::<33, 7>(self.moved.val());
                    self.run_rows.d.next = 0.into();
                    self.state.d.next = FinderState::Edge;
                } else {
                    self.run_rows.d.next =
                        self.run_rows.q.val() + bit_cast::<RUN, 7>(self.step.q.val());
                    self.state.d.next = FinderState::Emit;
                    if self.moved.val().get_bit(6) && !self.last_word.val() {
                        self.next_word.next = true;
                    }
                }
            }
            FinderState::Emit => {
                if self.drops.val() || (self.runs.free.val() > STAGES as u64) {
                    self.inside.d.next = false;
                    self.emits.next = !self.drops.val();
                    self.skip_left.d.next = 0.into();
                    if self.drops.val() {
                        self.skip_left.d.next =
                            self.skip_left.q.val() - bit_cast::<33, RUN>(self.run_rows.q.val());
                    }
                    self.state.d.next = FinderState::Edge;
                    if self.place.q.val().get_bit(6) {
                        self.next_word.next = true;
                    }
                }
            }
            FinderState::Bad => {}
        }
        if self.next_word.val() {
            self.word_row.d.next = self.word_row.q.val() + 64;
            self.state.d.next = FinderState::Word;
            if self.last_word.val() {
                self.state.d.next = FinderState::Line;
            }
        }

        self.coming[0].d.next = self.emits.val();
        self.coming_row[0].d.next = self.emitted_row.val();
        self.coming_rows[0].d.next =
            self.run_rows.q.val() - self.skip_left.q.val().get_bits::<RUN>(0);
        for k in 1..STAGES {
            self.coming[k].d.next = self.coming[k - 1].q.val();
            self.coming_row[k].d.next = self.coming_row[k - 1].q.val();
            self.coming_rows[k].d.next = self.coming_rows[k - 1].q.val();
        }
        self.runs.input.valid.next = self.coming[STAGES - 1].q.val();
        self.runs.input.data.next.row = self.coming_row[STAGES - 1].q.val();
        self.runs.input.data.next.rows = self.coming_rows[STAGES - 1].q.val();
        self.runs.input.data.next.base = self.multiplier.product.val();
        self.runs.output.join(&mut self.run);
        self.comes.next = self.runs.count.val().any();
        for k in 0..STAGES {
            if self.coming[k].q.val() {
                self.comes.next = true;
            }
        }
        self.idle.next = (self.state.q.val() == FinderState::Line)
            && !self.kept.count.val().any()
            && !self.comes.val();
        self.bad.next = (self.state.q.val() == FinderState::Bad) && !self.comes.val();
        self.far.next = self.skip_left.q.val().any();
        self.unused.next = self.kept.input.ready.val()
            || self.runs.input.ready.val()
            || self.kept.free.val().any();

        if self.begins.val() {
            self.state.d.next = FinderState::Line;
            self.inside.d.next = false;
            self.skip_left.d.next = self.skip.val();
            self.ahead.d.next = self.row.val().get_bits::<3>(0);
            self.word_row.d.next =
                self.row.val() - bit_cast::<33, 3>(self.row.val().get_bits::<3>(0));
        }
        if self.rst.val() {
            self.state.d.next = FinderState::Line;
            self.inside.d.next = false;
        }
        if self.rst.val() || self.begins.val() {
            for k in 0..STAGES {
                self.coming[k].d.next = false;
            }
        }
    }
}
