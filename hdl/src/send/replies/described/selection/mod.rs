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
//! Contract: a packet takes about 27 cycles and for each of its runs 3 and 1 for each column. Lines of the bitmap are
//! read ahead: up to 12 of them if the packet has 1 KiB or more, or if its first row is still looked for; else one. See
//! [`finder`] for the rate at which runs are found. Nothing is read that its key does not have. A packet that cannot be
//! reached ends with a read of no bytes that has `failed`.

use super::OFFSET;
use super::strides::Shape;
use crate::primitive::{Multiplier, StreamFifo};
use crate::regions::entries::{GRANULE_BITS, GRANULE_INDEX};
use crate::regions::walk::{KEY, REACH, SHORT};
use crate::regions::{HandBack, Handed, Probe, Side};
use drdma_emit::prelude::*;

pub mod finder;
mod kernel;
mod reads;
mod rows;

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
/// Stages that a read passes: its bytes are summed up in the first one, and then its key is looked up.
const STAGES: usize = KEY as usize + 3;
/// Reads that may still come into the FIFO when no more are begun.
const COMING: u64 = 10;

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

/// Steps in which the packet is handled.
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
    /// A packet is handed over.
    pub hands: Signal<In, Bit>,
    /// The packet; its region stays the same until another one comes that does not go on.
    pub handed: Signals<In, Handed>,
    /// Result of the packet.
    pub back: Flow<Out, HandBack>,
    /// A range that is looked up in its key.
    pub probe: Signals<Out, Probe>,
    /// The range of 4 cycles before may be read.
    pub probed: Signal<In, Bit>,
    /// The granule of the region's entry that is wanted in the next cycle.
    pub granule: Signal<Out, Bits<GRANULE_INDEX>>,
    /// The granule that was asked for in the cycle before.
    pub data: Signal<In, Bits<GRANULE_BITS>>,
    /// The shapes of all earlier packets have left.
    pub clear: Signal<In, Bit>,
    /// The shape of each packet's rows.
    pub shape: Stream<Out, Shape>,
    /// Reads of host memory.
    pub read: Stream<Out, SelectedRead>,
    /// The block has reads that have not left yet.
    pub holds: Signal<Out, Bit>,
    /// Lines of the bitmap that reads have brought.
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
    /// A line of the bitmap is not covered by its key.
    missed: DFF<Bit>,
    more: Signal<Local, Bit>,
    wants: Signal<Local, Bit>,
    asks: Signal<Local, Bit>,
    comes: Signal<Local, Bit>,
    lost: Signal<Local, Bit>,

    // The current run.
    run: DFF<SelectedRun>,
    first: DFF<Bit>,
    /// Rows of the run that the packet has whole.
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
    // The current column.
    index: DFF<Bits<5>>,
    before: DFF<Bits<SHORT>>,
    behind: Signal<Local, Bits<SHORT>>,
    /// The packet begins within a value of it, and the rest of that value has its read; or has none yet.
    headed: DFF<Bit>,
    heads: Signal<Local, Bit>,
    skips: Signal<Local, Bit>,
    is_last: Signal<Local, Bit>,
    /// Bytes of the column in the row in which the packet ends; those of the column before.
    tail: Signal<Local, Bits<SHORT>>,
    tail_held: DFF<Bits<SHORT>>,
    skips_held: DFF<Bit>,
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
    key: [DFF<Bits<32>>; 2],
    /// The bytes of the first stage's read are those of a column in the run.
    sums: DFF<Bit>,
    busy: Signal<Local, Bit>,
    checked: Signal<Local, Bit>,
    column_misses: Signal<Local, Bit>,
    /// The packet has failed: no further reads are made for it.
    dead: DFF<Bit>,
    leaving: StreamFifo<SelectedRead, 5, 6>,
    unused: Signal<Local, Bits<6>>,
    unused_data: Signal<Local, Bits<32>>,
}
