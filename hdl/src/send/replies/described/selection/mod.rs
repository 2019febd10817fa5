//! Reads packets of rows that a bitmap selects, of columns that all have one width.
//!
//! Selected rows that follow each other are one piece of memory in each column. So a packet becomes a read for each
//! column of each such run, and what these bring is spread over the packet's rows by the
//! [gatherer](super::gatherer), as that of dense columns is.
//!
//! ```text
//! line (512 rows) --> Finder --run--> Selection --probe--> keys --probed--> read
//! ```
//!
//! Contract: a packet takes about 25 cycles and for each of its runs 3 and 1 for each column. Lines of the bitmap are
//! read ahead: up to 12 of them if the packet has 1 KiB or more, or if its first row is still looked for; else one. See
//! [`finder`] for the rate at which runs are found. Nothing is read that its key does not have. A packet that cannot be
//! reached ends with a read of no bytes that has `failed`.

use super::OFFSET;
use super::strides::Shape;
use crate::primitive::{Multiplier, StreamFifo};
use crate::regions::entries::{GRANULE_BITS, GRANULE_INDEX};
use crate::regions::walk::{FIRST_ELEMENT, KEY, REACH, SHORT};
use crate::regions::{HandBack, Handed, Probe, Side};
use drdma_emit::prelude::*;

pub mod finder;

use finder::{Finder, RUN, SelectedRun};

/// Bits of the bytes of a column before a row.
pub const BASE: usize = 40;
/// Lines of a bitmap that are read ahead, at most, and bytes of a packet for which this is done.
const LINES_AHEAD: u64 = 12;
const LONG: u64 = 1024;
/// Rows of a line.
const LINE: u64 = 512;
/// Bits of a count of lines under way, which may be more than those that are wanted.
const COUNT: usize = 6;
/// Stages that a read passes while its key is looked up.
const STAGES: usize = KEY as usize + 1;
/// Reads that may still come into the FIFO when no more are begun.
const COMING: u64 = 8;

/// A read of host memory.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct SelectedRead {
    /// Address of the first byte.
    pub addr: Bits<64>,
    /// Bytes to read; 0 if there is nothing to read.
    pub bytes: Bits<13>,
    /// Distance from the packet's first byte to the first one that is read.
    pub offset: Bits<OFFSET>,
    /// The read is of the bitmap.
    pub side: Bit,
    /// The read is the packet's last one.
    pub last: Bit,
    /// Some of the packet's bytes cannot be reached.
    pub failed: Bit,
    /// With `failed`: the region ends before these bytes.
    pub outside: Bit,
}

/// What is done with the packet.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum SelectionState {
    /// Waits for a packet.
    Wait,
    /// Offers the shape of the packet's rows.
    Tell,
    /// Divides the packet's bytes into rows.
    Divide,
    /// Waits for a run.
    Take,
    /// Computes the bytes of the run.
    Scale,
    /// Begins a read for each column.
    Columns,
    /// Begins the read that has failed.
    Fail,
    /// Waits for the keys.
    Drain,
}

/// Reads selected rows. See the [module](self).
///
/// # Inputs
/// `clk`, `rst`; `hands`, `handed`; `probed`; `data`; `clear`; `line`.
///
/// # Outputs
/// `back`, a pulse; `probe`; `granule`; streams `shape`, `read`; `holds`.
#[derive(LogicBlock, BlockDefault)]
pub struct Selection {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// There is a packet.
    pub hands: Signal<In, Bit>,
    /// The packet; its region stays the same until another one comes that does not go on.
    pub handed: Signals<In, Handed>,
    /// What has become of the packet.
    pub back: Flow<Out, HandBack>,
    /// A range that is looked up in its key.
    pub probe: Signals<Out, Probe>,
    /// The range of 3 cycles before may be read.
    pub probed: Signal<In, Bit>,
    /// The granule of the region's entry that is wanted in the next cycle.
    pub granule: Signal<Out, Bits<GRANULE_INDEX>>,
    /// The granule that was asked for in the cycle before.
    pub data: Signal<In, Bits<GRANULE_BITS>>,
    /// All packets before have told their shapes.
    pub clear: Signal<In, Bit>,
    /// The shape of each packet's rows.
    pub shape: Stream<Out, Shape>,
    /// Reads of host memory.
    pub read: Stream<Out, SelectedRead>,
    /// There are such reads.
    pub holds: Signal<Out, Bit>,
    /// What the reads of the bitmap bring.
    pub line: Flow<In, Side>,

    state: DFF<SelectionState>,
    /// Byte of the first row with which the packet begins.
    start: DFF<Bits<SHORT>>,
    by_1: Signal<Local, Bits<SHORT>>,
    by_2: Signal<Local, Bits<SHORT>>,
    by_4: Signal<Local, Bits<SHORT>>,
    by_8: Signal<Local, Bits<SHORT>>,
    low: Signal<Local, Bits<2>>,

    // Rows of the packet from its first one on, and bytes of the row in which it ends.
    dividend: DFF<Bits<REACH>>,
    left: DFF<Bits<REACH>>,
    rest: DFF<Bits<SHORT>>,
    rest_in: Signal<Local, Bits<12>>,
    rest_out: Signal<Local, Bits<12>>,
    unused_rest: Signal<Local, Bits<12>>,
    fits: Signal<Local, Bit>,
    round: DFF<Bits<4>>,

    // Lines of the bitmap.
    finder: Finder,
    begins: Signal<Local, Bit>,
    asked_row: DFF<Bits<33>>,
    rows_left: Signal<Local, Bits<33>>,
    line_bytes: Signal<Local, Bits<13>>,
    /// Lines that are under way, and those of an earlier packet, which come first.
    under_way: DFF<Bits<COUNT>>,
    stale: DFF<Bits<COUNT>>,
    held_lines: Signal<Local, Bits<COUNT>>,
    wanted_lines: Signal<Local, Bits<COUNT>>,
    /// A line's key does not have it.
    missed: DFF<Bit>,
    more: Signal<Local, Bit>,
    wants: Signal<Local, Bit>,
    asks: Signal<Local, Bit>,
    comes: Signal<Local, Bit>,
    lost: Signal<Local, Bit>,

    // The run at hand.
    run: DFF<SelectedRun>,
    first: DFF<Bit>,
    /// Rows of it that the packet has whole.
    rows: DFF<Bits<RUN>>,
    /// The packet ends in the run, or right behind it.
    finishes: DFF<Bit>,
    /// Bytes of a column in these rows, and bytes of the rows.
    reach: Multiplier<RUN, 7, 17>,
    span: Multiplier<RUN, SHORT, 21>,
    unused_span: Signal<Local, Bits<21>>,
    next_base: DFF<Bits<BASE>>,
    /// Place of the run's first row in the packet.
    origin: DFF<Bits<OFFSET>>,
    room: Signal<Local, Bit>,
    // The column at hand.
    index: DFF<Bits<5>>,
    before: DFF<Bits<SHORT>>,
    behind: Signal<Local, Bits<SHORT>>,
    /// The packet begins within a value of it, and the rest of that value has its read; or has none yet.
    headed: DFF<Bit>,
    heads: Signal<Local, Bit>,
    skips: Signal<Local, Bit>,
    is_last: Signal<Local, Bit>,
    tail: Signal<Local, Bits<SHORT>>,
    into_end: Signal<Local, Bits<SHORT>>,
    head: Signal<Local, Bits<13>>,
    bytes: Signal<Local, Bits<18>>,
    whole: Signal<Local, Bits<18>>,
    unused_bytes: Signal<Local, Bits<18>>,
    end_element: DFF<Bits<4>>,
    end_inside: DFF<Bits<6>>,

    // Reads whose keys are looked up.
    valid: [DFF<Bit>; STAGES],
    reads: [DFF<SelectedRead>; STAGES],
    key: DFF<Bits<32>>,
    busy: Signal<Local, Bit>,
    checked: Signal<Local, Bit>,
    column_misses: Signal<Local, Bit>,
    /// The packet has failed.
    dead: DFF<Bit>,
    leaving: StreamFifo<SelectedRead, 5, 6>,
    unused: Signal<Local, Bits<6>>,
    unused_data: Signal<Local, Bits<32>>,
}

impl Logic for Selection {
    #[hdl_gen]
    fn update(&mut self) {
        // The shape of the packet's rows.
        self.by_1.next = 0.into();
        self.by_2.next = 0.into();
        self.by_4.next = 0.into();
        self.by_8.next = 0.into();
        if self.handed.element.val().get_bit(0) {
            self.by_1.next = bit_cast::<SHORT, 7>(self.handed.width.val());
        }
        if self.handed.element.val().get_bit(1) {
            self.by_2.next = bit_cast::<SHORT, 7>(self.handed.width.val()) << 1;
        }
        if self.handed.element.val().get_bit(2) {
            self.by_4.next = bit_cast::<SHORT, 7>(self.handed.width.val()) << 2;
        }
        if self.handed.element.val().get_bit(3) {
            self.by_8.next = bit_cast::<SHORT, 7>(self.handed.width.val()) << 3;
        }
        self.low.next =
            self.start.q.val().get_bits::<2>(0) | self.handed.width.val().get_bits::<2>(0);
        self.shape.valid.next = (self.state.q.val() == SelectionState::Tell) && self.clear.val();
        self.shape.row.next = self.handed.row_bytes.val();
        self.shape.width.next = self.handed.width.val();
        self.shape.grain.next = 2.into();
        if self.low.val().get_bit(1) {
            self.shape.grain.next = 1.into();
        }
        if self.low.val().get_bit(0) {
            self.shape.grain.next = 0.into();
        }
        self.shape.turned.next = self.handed.columns.val().get_bits::<2>(0) == 0;
        self.shape.bytes.next = self.handed.bytes.val();

        // A step of the division.
        self.rest_in.next = (bit_cast::<12, SHORT>(self.rest.q.val()) << 1)
            | bit_cast::<12, 1>(self.dividend.q.val().get_bits::<1>(REACH - 1));
        self.fits.next = self.rest_in.val() >= bit_cast::<12, SHORT>(self.handed.row_bytes.val());
        self.rest_out.next = self.rest_in.val();
        if self.fits.val() {
            self.rest_out.next =
                self.rest_in.val() - bit_cast::<12, SHORT>(self.handed.row_bytes.val());
        }
        self.unused_rest.next = self.rest_out.val();

        // Lines of the bitmap.
        self.begins.next = (self.state.q.val() == SelectionState::Wait)
            && self.hands.val()
            && !self.handed.continues.val();
        self.finder.begins.next = self.begins.val();
        self.finder.row.next = self.handed.row.val();
        self.finder.skip.next = self.handed.skip.val();
        self.finder.count.next = self.handed.count.val();
        self.finder.width.next = self.handed.width.val();
        self.comes.next = self.line.valid.val() && !self.stale.q.val().any();
        self.finder.line.valid.next = self.comes.val();
        self.finder.line.next = self.line.val();
        self.finder.run.ready.next = false;
        self.rows_left.next = bit_cast::<33, 32>(self.handed.count.val()) - self.asked_row.q.val();
        self.line_bytes.next = 64.into();
        if !self.rows_left.val().get_bits::<24>(9).any() {
            self.line_bytes.next =
                bit_cast::<13, 10>(self.rows_left.val().get_bits::<10>(0) + 7) >> 3;
        }
        self.held_lines.next = self.under_way.q.val()
            + self.stale.q.val()
            + bit_cast::<COUNT, 5>(self.finder.lines.val());
        self.wanted_lines.next = 1.into();
        if self.finder.far.val() || (self.handed.bytes.val() >= LONG) {
            self.wanted_lines.next = LINES_AHEAD.into();
        }
        self.more.next = !self.missed.q.val()
            && (self.asked_row.q.val() < bit_cast::<33, 32>(self.handed.count.val()));
        self.room.next = self.leaving.free.val() > COMING;
        self.wants.next =
            self.more.val() && self.room.val() && (self.held_lines.val() < self.wanted_lines.val());
        self.asks.next = false;

        // The column at hand: bytes of it that the packet has in this run.
        self.reach.enable.next = true;
        self.reach.a.next = self.rows.q.val();
        self.reach.b.next = self.handed.width.val();
        self.span.enable.next = true;
        self.span.a.next = self.rows.q.val();
        self.span.b.next = self.handed.row_bytes.val();
        self.unused_span.next = self.span.product.val();
        self.next_base.d.next =
            self.run.q.val().base + bit_cast::<BASE, 7>(self.handed.width.val());
        self.behind.next = self.before.q.val() + bit_cast::<SHORT, 7>(self.handed.width.val());
        self.heads.next = self.first.q.val()
            && !self.headed.q.val()
            && self.handed.inside.val().any()
            && (self.index.q.val() == bit_cast::<5, 4>(self.handed.element.val()));
        self.skips.next = self.first.q.val()
            && ((self.index.q.val() < bit_cast::<5, 4>(self.handed.element.val()))
                || ((self.index.q.val() == bit_cast::<5, 4>(self.handed.element.val()))
                    && self.handed.inside.val().any()));
        self.is_last.next = self.index.q.val() + 1 == self.handed.columns.val();
        self.into_end.next = self.rest.q.val() - self.before.q.val();
        self.tail.next = 0.into();
        if self.finishes.q.val() && (self.rest.q.val() > self.before.q.val()) {
            self.tail.next = self.into_end.val();
            if self.into_end.val() > bit_cast::<SHORT, 7>(self.handed.width.val()) {
                self.tail.next = bit_cast::<SHORT, 7>(self.handed.width.val());
            }
        }
        self.head.next = bit_cast::<13, 7>(self.handed.width.val())
            - bit_cast::<13, 6>(self.handed.inside.val());
        if self.handed.bytes.val() < self.head.val() {
            self.head.next = self.handed.bytes.val();
        }
        self.whole.next =
            bit_cast::<18, 17>(self.reach.product.val()) + bit_cast::<18, SHORT>(self.tail.val());
        self.bytes.next = self.whole.val();
        if self.skips.val() {
            // Less than a value, if the packet begins and ends in this value of the row.
            self.bytes.next = 0.into();
            if self.whole.val() > bit_cast::<18, 7>(self.handed.width.val()) {
                self.bytes.next = self.whole.val() - bit_cast::<18, 7>(self.handed.width.val());
            }
        }
        self.unused_bytes.next = self.bytes.val();
        self.granule.next = FIRST_ELEMENT.into();

        // A read is looked up in its key.
        self.unused_data.next = self.data.val().get_bits::<32>(64);
        self.valid[0].d.next = false;
        self.reads[0].d.next.side = false;
        self.reads[0].d.next.last = false;
        self.reads[0].d.next.failed = false;
        self.reads[0].d.next.outside = false;
        self.reads[0].d.next.offset =
            self.origin.q.val() + bit_cast::<OFFSET, SHORT>(self.before.q.val());
        self.reads[0].d.next.bytes = self.bytes.val().get_bits::<13>(0);
        self.reads[0].d.next.addr =
            self.data.val().get_bits::<64>(0) + bit_cast::<64, BASE>(self.run.q.val().base);
        self.key.d.next = self.data.val().get_bits::<32>(96);
        if self.skips.val() {
            self.reads[0].d.next.offset = self.origin.q.val()
                + bit_cast::<OFFSET, SHORT>(self.before.q.val())
                + bit_cast::<OFFSET, SHORT>(self.handed.row_bytes.val());
            self.reads[0].d.next.addr =
                self.data.val().get_bits::<64>(0) + bit_cast::<64, BASE>(self.next_base.q.val());
        }
        if self.heads.val() {
            self.reads[0].d.next.offset = 0.into();
            self.reads[0].d.next.bytes = self.head.val();
            self.reads[0].d.next.addr = self.data.val().get_bits::<64>(0)
                + bit_cast::<64, BASE>(self.run.q.val().base)
                + bit_cast::<64, 6>(self.handed.inside.val());
        }

        self.back.valid.next = false;
        self.back.failed.next = self.dead.q.val();
        self.back.row.next = self.run.q.val().row;
        self.back.element.next = self.end_element.q.val();
        self.back.inside.next = self.end_inside.q.val();
        self.busy.next = false;
        for k in 0..STAGES {
            if self.valid[k].q.val() {
                self.busy.next = true;
            }
        }
        match self.state.q.val() {
            SelectionState::Wait => {
                self.start.d.next = self.by_1.val()
                    + self.by_2.val()
                    + self.by_4.val()
                    + self.by_8.val()
                    + bit_cast::<SHORT, 6>(self.handed.inside.val());
                self.first.d.next = true;
                self.headed.d.next = false;
                self.dead.d.next = false;
                if self.hands.val() {
                    self.state.d.next = SelectionState::Tell;
                }
                if self.begins.val() {
                    self.asked_row.d.next = self.handed.row.val()
                        - bit_cast::<33, 3>(self.handed.row.val().get_bits::<3>(0));
                    self.missed.d.next = false;
                    self.run.d.next.rows = 0.into();
                }
            }
            SelectionState::Tell => {
                self.dividend.d.next =
                    self.handed.bytes.val() + bit_cast::<REACH, SHORT>(self.start.q.val());
                self.origin.d.next =
                    bits::<OFFSET>(0) - bit_cast::<OFFSET, SHORT>(self.start.q.val());
                self.left.d.next = 0.into();
                self.rest.d.next = 0.into();
                self.round.d.next = 0.into();
                if self.shape.valid.val() && self.shape.ready.val() {
                    self.state.d.next = SelectionState::Divide;
                }
            }
            SelectionState::Divide => {
                self.asks.next = self.wants.val();
                self.round.d.next = self.round.q.val() + 1;
                self.dividend.d.next = self.dividend.q.val() << 1;
                self.rest.d.next = self.rest_out.val().get_bits::<SHORT>(0);
                self.left.d.next =
                    (self.left.q.val() << 1) | bit_cast::<REACH, 1>(self.fits.val().into());
                if self.round.q.val() == REACH as u64 - 1 {
                    self.state.d.next = SelectionState::Take;
                }
            }
            SelectionState::Take => {
                self.rows.d.next = self.run.q.val().rows;
                self.finishes.d.next = (self.left.q.val()
                    == bit_cast::<REACH, RUN>(self.run.q.val().rows))
                    && !self.rest.q.val().any();
                if bit_cast::<REACH, RUN>(self.run.q.val().rows) > self.left.q.val() {
                    self.rows.d.next = self.left.q.val().get_bits::<RUN>(0);
                    self.finishes.d.next = true;
                }
                if self.dead.q.val() {
                    self.state.d.next = SelectionState::Drain;
                } else if self.run.q.val().rows.any() {
                    self.state.d.next = SelectionState::Scale;
                } else if self.finder.run.valid.val() {
                    self.finder.run.ready.next = true;
                    self.run.d.next = self.finder.run.val();
                } else if self.finder.bad.val()
                    || (!self.more.val() && self.finder.idle.val() && !self.under_way.q.val().any())
                {
                    self.state.d.next = SelectionState::Fail;
                } else {
                    self.asks.next = self.wants.val();
                }
            }
            SelectionState::Scale => {
                self.index.d.next = 0.into();
                self.before.d.next = 0.into();
                self.state.d.next = SelectionState::Columns;
            }
            SelectionState::Columns => {
                self.granule.next =
                    bit_cast::<GRANULE_INDEX, 5>(self.index.q.val()) + FIRST_ELEMENT;
                if self.room.val() {
                    self.valid[0].d.next = true;
                    self.headed.d.next = self.headed.q.val() || self.heads.val();
                    if !self.heads.val() {
                        self.reads[0].d.next.last = self.finishes.q.val() && self.is_last.val();
                        self.granule.next =
                            bit_cast::<GRANULE_INDEX, 5>(self.index.q.val()) + FIRST_ELEMENT + 1;
                        self.index.d.next = self.index.q.val() + 1;
                        self.before.d.next = self.behind.val();
                        if (self.rest.q.val() >= self.before.q.val())
                            && (self.rest.q.val() < self.behind.val())
                        {
                            self.end_element.d.next = self.index.q.val().get_bits::<4>(0);
                            self.end_inside.d.next = self.into_end.val().get_bits::<6>(0);
                        }
                        if self.is_last.val() {
                            self.first.d.next = false;
                            self.left.d.next =
                                self.left.q.val() - bit_cast::<REACH, RUN>(self.rows.q.val());
                            self.origin.d.next =
                                self.origin.q.val() + self.span.product.val().get_bits::<OFFSET>(0);
                            self.run.d.next.row =
                                self.run.q.val().row + bit_cast::<33, RUN>(self.rows.q.val());
                            self.run.d.next.rows = self.run.q.val().rows - self.rows.q.val();
                            self.run.d.next.base = self.run.q.val().base
                                + bit_cast::<BASE, 17>(self.reach.product.val());
                            self.state.d.next = SelectionState::Take;
                            if self.finishes.q.val() {
                                self.state.d.next = SelectionState::Drain;
                            }
                        }
                    }
                }
            }
            SelectionState::Fail => {
                if self.room.val() {
                    self.valid[0].d.next = true;
                    self.reads[0].d.next.bytes = 0.into();
                    self.reads[0].d.next.last = true;
                    self.reads[0].d.next.failed = true;
                    self.reads[0].d.next.outside = !self.finder.bad.val() && !self.missed.q.val();
                    self.state.d.next = SelectionState::Drain;
                }
            }
            SelectionState::Drain => {
                if !self.busy.val() {
                    self.back.valid.next = true;
                    self.state.d.next = SelectionState::Wait;
                }
            }
        }
        if self.asks.val() {
            self.asked_row.d.next = self.asked_row.q.val() + LINE;
            self.valid[0].d.next = true;
            self.reads[0].d.next.side = true;
            self.reads[0].d.next.bytes = self.line_bytes.val();
            self.reads[0].d.next.addr =
                self.handed.bitmap.val() + bit_cast::<64, 33>(self.asked_row.q.val() >> 3);
            self.key.d.next = self.handed.lkey.val();
        }
        self.probe.addr.next = self.reads[0].q.val().addr;
        self.probe.bytes.next = self.reads[0].q.val().bytes;
        self.probe.key.next = self.key.q.val();
        for k in 1..STAGES {
            self.valid[k].d.next = self.valid[k - 1].q.val();
            self.reads[k].d.next = self.reads[k - 1].q.val();
        }

        // The key's answer. Nothing follows a read that has failed.
        self.checked.next = self.valid[STAGES - 1].q.val() && !self.dead.q.val();
        self.column_misses.next = !self.reads[STAGES - 1].q.val().side
            && self.reads[STAGES - 1].q.val().bytes.any()
            && !self.probed.val();
        self.lost.next = self.valid[STAGES - 1].q.val()
            && self.reads[STAGES - 1].q.val().side
            && (self.dead.q.val() || !self.probed.val());
        self.leaving.input.valid.next = self.checked.val()
            && (self.reads[STAGES - 1].q.val().bytes.any() || self.reads[STAGES - 1].q.val().last)
            && !self.lost.val();
        self.leaving.input.data.next = self.reads[STAGES - 1].q.val();
        if self.column_misses.val() {
            self.leaving.input.data.next.bytes = 0.into();
            self.leaving.input.data.next.last = true;
            self.leaving.input.data.next.failed = true;
        }
        if self.checked.val() && (self.column_misses.val() || self.reads[STAGES - 1].q.val().failed)
        {
            self.dead.d.next = true;
        }
        if self.lost.val() {
            self.missed.d.next = true;
        }
        self.leaving.output.join(&mut self.read);
        self.holds.next = self.leaving.count.val().any();
        self.unused.next = bit_cast::<6, 1>(self.leaving.input.ready.val().into());

        // Lines under way.
        self.under_way.d.next = self.under_way.q.val()
            + bit_cast::<COUNT, 1>(self.asks.val().into())
            - bit_cast::<COUNT, 1>(self.comes.val().into())
            - bit_cast::<COUNT, 1>(self.lost.val().into());
        if self.line.valid.val() && self.stale.q.val().any() {
            self.stale.d.next = self.stale.q.val() - 1;
        }
        if self.begins.val() {
            self.under_way.d.next = 0.into();
            self.stale.d.next = self.stale.q.val() + self.under_way.q.val()
                - bit_cast::<COUNT, 1>(self.line.valid.val().into());
        }
        if self.rst.val() {
            self.state.d.next = SelectionState::Wait;
            self.run.d.next.rows = 0.into();
            self.under_way.d.next = 0.into();
            self.stale.d.next = 0.into();
            self.dead.d.next = false;
            for k in 0..STAGES {
                self.valid[k].d.next = false;
            }
        }
    }
}
