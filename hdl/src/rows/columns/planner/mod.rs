//! Plans the reads of column requests: for one chunk of rows at a time, as few reads as bring the rows that any
//! destination needs.
//!
//! Takes a chunk's header from the expander, and its masks of all destinations as they pass to the scanner. Sends boxes
//! to the reader, and the lanes of each window to the addresser.
//!
//! ```text
//! header -> places -> paces -> runs -> boxes -> spans -> box
//!              |-> lane_places -> lanes
//! mark --------------> marks ---|
//! ```
//!
//! *Places* puts lanes that lie side by side into groups, gives each group its place, and cuts it into the parts that
//! are read through; *paces* turns a part's distances in bytes into rows; *marks* collects the needed rows; *runs*
//! finds stretches of them, 64 rows a cycle; *boxes* joins and cuts the stretches; *spans* makes addresses. *Lines*, in
//! runs and boxes, finds where a box is cut: at a cache line; *pages*, in runs, where 4 KiB end.
//!
//! **Throughput.** A mark a cycle. 64 rows of a part a cycle if they are empty or one run, and each further run a cycle
//! more; a box that is cut at its greatest length takes 2 cycles, or 5 if it is cut in a gap (8 where rows of a lane
//! overlap). A header takes 3 cycles a lane, 3 a group, 1 for each further part of a group and 1 more, and 3 more if
//! the last lane is a group by itself; at least 18, and at least 8 a part.
//!
//! **Latency.** `lanes` follow the header of one lane after 26 cycles. The first box follows it after 43 cycles, or the
//! chunk's last mark after 24, whichever is later (64 rows).
//!
//! **Back-pressure.** Any output may stall, also for good while others are taken. Two chunks are under way: the marks
//! of a third wait until the rows of the first are read, and the parts of its header until the last box of the first is
//! on its way. Headers and marks may come in any order.

mod apart;
mod boxes;
mod lane_places;
mod lines;
mod marks;
mod paces;
mod pages;
mod places;
mod runs;
mod spans;
#[cfg(test)]
mod tests;

use crate::layout::windows::WINDOW_INDEX;
use crate::primitive::{Fifo, Flatten, Restore, Skid};
use boxes::Boxes;
use drdma_emit::prelude::*;
use marks::Marks;
use paces::{PACE_BITS, Pace, Paces};
use places::Places;
use runs::{RUN_BITS, Run, Runs};
use spans::Spans;

/// Bits of a part of a group on its way to its pace.
const GROUP: usize = 53;
/// Bytes by which a box with gaps may be longer than the mean, in whole cache lines.
const MORE_THAN_MEAN: u64 = 64;
/// A gap of so many bytes may have no word of its own.
const MOST_UNSEEN: u64 = 3;

/// Planner of the column path; see the module.
///
/// # Inputs
/// `header`, `mark`; `max_read`, `merge_threshold`, `mean` and `planned`, which must not change while a chunk is at
/// work.
///
/// # Outputs
/// `lanes`, `box`; `sized` and `size`, before the header after the next is taken.
#[derive(LogicBlock, Default)]
pub struct Planner {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Longest box in bytes, at least 64.
    pub max_read: Signal<In, Bits<13>>,
    /// Widest gap in bytes that is read through; unless it is 0, gaps within a cache line are read through as well.
    pub merge_threshold: Signal<In, Bits<13>>,
    /// Bytes that reads should have on average: adjacent rows that are no farther apart from start to start are read
    /// together whatever `header_gap` is.
    pub mean: Signal<In, Bits<9>>,
    /// The request has a fetch plan of its own: `header_gap` does not count.
    pub planned: Signal<In, Bit>,

    /// The header of a chunk is offered.
    pub header_valid: Signal<In, Bit>,
    /// The header is taken in this cycle.
    pub header_ready: Signal<Out, Bit>,
    /// Host address of each lane in the chunk's first row (16 x 64 bits).
    pub header_addr: Signal<In, Bits<1024>>,
    /// Bytes of each lane (16 x 7 bits); 0 if the lane is not used. At least one lane is used.
    pub header_len: Signal<In, Bits<112>>,
    /// Step of each lane in bytes (16 x 8 bits), at least 1 if the lane is used.
    pub header_step: Signal<In, Bits<128>>,
    /// Rows of the window, 1 to 4,096.
    pub header_rows: Signal<In, Bits<13>>,
    /// Distance of the window's first row from the row at `header_addr`, in blocks of 64 rows.
    pub header_base: Signal<In, Bits<26>>,
    /// Window of the chunk.
    pub header_window: Signal<In, Bits<WINDOW_INDEX>>,
    /// Widest gap in bytes that is worth reading through; may change until the header is taken.
    pub header_gap: Signal<In, Bits<13>>,

    /// A mark is offered: 512 rows of a chunk.
    pub mark_valid: Signal<In, Bit>,
    /// The mark is taken in this cycle.
    pub mark_ready: Signal<Out, Bit>,
    /// Needed rows, one bit each.
    pub mark_bits: Signal<In, Bits<512>>,
    /// Number of the mark in its chunk: bit 0 is row 512 * `mark_word`.
    pub mark_word: Signal<In, Bits<3>>,
    /// For each 64 rows: number of blocks of 64 rows before them that are in host memory, but not in the window (8 x 12
    /// bits).
    pub mark_shift: Signal<In, Bits<96>>,
    /// The mark is the first one of its chunk.
    pub mark_chunk_start: Signal<In, Bit>,
    /// The mark is the last one of its chunk.
    pub mark_chunk_end: Signal<In, Bit>,

    /// The lanes of a window are offered.
    pub lanes_valid: Signal<Out, Bit>,
    /// The lanes are taken in this cycle.
    pub lanes_ready: Signal<In, Bit>,
    /// Place of each lane's first row in the window (16 x 17 bits).
    pub lanes_place: Signal<Out, Bits<272>>,
    /// Bytes of the lanes before each lane (16 x 10 bits); for lanes that are not there, the bytes of a row.
    pub lanes_start: Signal<Out, Bits<160>>,
    /// Step of each lane in bytes (16 x 8 bits).
    pub lanes_step: Signal<Out, Bits<128>>,
    /// Number of lanes, 1 to 16.
    pub lanes_lanes: Signal<Out, Bits<5>>,
    /// Bytes of a row of all lanes.
    pub lanes_row_bytes: Signal<Out, Bits<10>>,
    /// Window of the lanes.
    pub lanes_window: Signal<Out, Bits<WINDOW_INDEX>>,

    /// `size` is valid: it is known how much of the segmented memory the last header's window takes.
    pub sized: Signal<Out, Bit>,
    /// With `sized`: size of the window in units of 128 B.
    pub size: Signal<Out, Bits<9>>,

    /// A box is offered.
    pub box_valid: Signal<Out, Bit>,
    /// The box is taken in this cycle.
    pub box_ready: Signal<In, Bit>,
    /// Host address of the box.
    pub box_addr: Signal<Out, Bits<64>>,
    /// Address of the box in its window, in bytes.
    pub box_ram: Signal<Out, Bits<17>>,
    /// Bytes of the box; 0 if there is nothing to read.
    pub box_len: Signal<Out, Bits<13>>,
    /// Window of the box.
    pub box_window: Signal<Out, Bits<WINDOW_INDEX>>,
    /// The box is the last one of its window.
    pub box_window_end: Signal<Out, Bit>,

    longest: DFF<Bits<13>>,
    /// Longest box of parts with gaps between their rows.
    short_read: DFF<Bits<13>>,
    mean_read: Signal<Local, Bits<13>>,
    /// The part has gaps, and its boxes are cut short.
    is_short: Signal<Local, Bit>,
    widest: Signal<Local, Bits<13>>,
    threshold: DFF<Bits<12>>,
    most: DFF<Bits<12>>,
    /// Widest gap that two parts of a group keep together: parts are not separated within a cache line, because their
    /// reads would wait for each other.
    beside: DFF<Bits<12>>,
    through: DFF<Bit>,
    places: Places,
    /// Parts whose pace is not known yet, of up to two chunks.
    groups: Fifo<GROUP, 5, 6>,
    paces: Paces,
    pace: Flatten<Pace, PACE_BITS>,
    /// Properties of the part that *paces* is working on: number, blocks of 64 rows, whether it is the chunk's last.
    index: DFF<Bits<5>>,
    last: DFF<Bit>,
    blocks: DFF<Bits<7>>,
    /// Parts that wait for their rows, of up to two chunks.
    paced: Fifo<13, 5, 6>,
    marks: Marks,
    runs: Runs,
    run_in: Flatten<Run, RUN_BITS>,
    found: Skid<RUN_BITS>,
    run_out: Restore<Run, RUN_BITS>,
    boxes: Boxes,
    spans: Spans,
    /// Takes the bits of `max_read` that are not used.
    unused: Signal<Local, Bits<6>>,
}

impl Logic for Planner {
    #[hdl_gen]
    fn update(&mut self) {
        // Settings: a box has at most 4 KiB, in whole cache lines. A gap of 3 bytes has no word of its own.
        self.unused.next = self.max_read.val().get_bits::<6>(0);
        self.longest.d.next = self.max_read.val() & 0x1fc0;
        if !self.max_read.val().get_bits::<7>(6).any() {
            self.longest.d.next = 64.into();
        }
        if self.max_read.val().get_bit(12) {
            self.longest.d.next = 4096.into();
        }
        // Where there are gaps, boxes a little longer than the mean bring most rows for the bytes and reads in flight:
        // no gap follows their last row.
        self.mean_read.next =
            (bit_cast::<13, 3>(self.mean.val().get_bits::<3>(6)) << 6) + MORE_THAN_MEAN;
        self.short_read.d.next = self.longest.d.val();
        if self.mean_read.val() < self.longest.d.val() {
            self.short_read.d.next = self.mean_read.val();
        }
        self.is_short.next = !self.planned.val()
            && self.mean.val().any()
            && ((bit_cast::<8, 7>(self.places.group_len.val()) + MOST_UNSEEN)
                < self.places.group_step.val());
        self.widest.next = self.merge_threshold.val();
        if !self.planned.val() && (self.header_gap.val() < self.merge_threshold.val()) {
            self.widest.next = self.header_gap.val();
        }
        self.through.d.next = self.merge_threshold.val().any();
        self.most.d.next = self.merge_threshold.val().get_bits::<12>(0);
        if self.merge_threshold.val().get_bit(12) {
            self.most.d.next = 4095.into();
        }
        self.paces.most.next = self.most.q.val();
        self.paces.mean.next = self.mean.val();

        self.places.threshold.next = self.beside.q.val();
        self.places.header_valid.next = self.header_valid.val();
        self.header_ready.next = self.places.header_ready.val();
        // A header is planned with the gap that it came with.
        if self.header_ready.val() && self.header_valid.val() {
            self.threshold.d.next = self.widest.val().get_bits::<12>(0);
            if self.widest.val().get_bit(12) {
                self.threshold.d.next = 4095.into();
            } else if !self.widest.val().get_bits::<10>(2).any() {
                self.threshold.d.next = 3.into();
            }
            self.beside.d.next = self.threshold.d.val();
            if (self.widest.val() < 64) && !(self.merge_threshold.val() < 64) {
                self.beside.d.next = 64.into();
            } else if self.widest.val() < 64 {
                self.beside.d.next = self.merge_threshold.val().get_bits::<12>(0);
                if !self.merge_threshold.val().get_bits::<10>(2).any() {
                    self.beside.d.next = 3.into();
                }
            }
        }
        self.places.header_addr.next = self.header_addr.val();
        self.places.header_len.next = self.header_len.val();
        self.places.header_step.next = self.header_step.val();
        self.places.header_rows.next = self.header_rows.val();
        self.places.header_base.next = self.header_base.val();
        self.places.header_window.next = self.header_window.val();
        self.places.done.next = self.spans.done.val();
        self.places.lanes_ready.next = self.lanes_ready.val();
        self.lanes_valid.next = self.places.lanes_valid.val();
        self.lanes_place.next = self.places.lanes_place.val();
        self.lanes_start.next = self.places.lanes_start.val();
        self.lanes_step.next = self.places.lanes_step.val();
        self.lanes_lanes.next = self.places.lanes_lanes.val();
        self.lanes_row_bytes.next = self.places.lanes_row_bytes.val();
        self.lanes_window.next = self.places.lanes_window.val();
        self.sized.next = self.places.sized.val();
        self.size.next = self.places.size.val();

        self.groups.in_valid.next = self.places.group_valid.val();
        self.groups.in_data.next =
            bit_cast::<GROUP, 12>(self.places.group_lo.val().get_bits::<12>(0))
                | (bit_cast::<GROUP, 7>(self.places.group_len.val()) << 12)
                | (bit_cast::<GROUP, 8>(self.places.group_step.val()) << 19)
                | (bit_cast::<GROUP, 5>(self.places.group_index.val()) << 27)
                | (bit_cast::<GROUP, 7>(self.places.group_blocks.val()) << 32)
                | (bit_cast::<GROUP, 1>(self.places.group_last.val().into()) << 39)
                | (bit_cast::<GROUP, 12>(self.threshold.q.val()) << 40)
                | (bit_cast::<GROUP, 1>(self.is_short.val().into()) << 52);
        self.paces.max_read.next = self.longest.q.val();
        if self.groups.out_data.val().get_bit(52) {
            self.paces.max_read.next = self.short_read.q.val();
        }
        self.paces.threshold.next = self.groups.out_data.val().get_bits::<12>(40);
        self.paces.through.next = self.through.q.val();
        self.paces.group_valid.next = self.groups.out_valid.val();
        self.groups.out_ready.next = self.paces.group_ready.val();
        self.paces.group_lo.next = self.groups.out_data.val().get_bits::<12>(0);
        self.paces.group_len.next = self.groups.out_data.val().get_bits::<7>(12);
        self.paces.group_step.next = self.groups.out_data.val().get_bits::<8>(19);
        if self.paces.group_ready.val() {
            self.index.d.next = self.groups.out_data.val().get_bits::<5>(27);
            self.blocks.d.next = self.groups.out_data.val().get_bits::<7>(32);
            self.last.d.next = self.groups.out_data.val().get_bit(39);
        }
        self.pace.record.next = self.paces.pace.val();
        self.paced.in_valid.next = self.paces.pace_valid.val();
        self.paced.in_data.next = bit_cast::<13, 5>(self.index.q.val())
            | (bit_cast::<13, 7>(self.blocks.q.val()) << 5)
            | (bit_cast::<13, 1>(self.last.q.val().into()) << 12);

        self.marks.mark_valid.next = self.mark_valid.val();
        self.mark_ready.next = self.marks.mark_ready.val();
        self.marks.mark_bits.next = self.mark_bits.val();
        self.marks.mark_word.next = self.mark_word.val();
        self.marks.mark_shift.next = self.mark_shift.val();
        self.marks.mark_chunk_start.next = self.mark_chunk_start.val();
        self.marks.mark_chunk_end.next = self.mark_chunk_end.val();
        self.marks.forget.next = self.runs.marks_forget.val();
        self.marks.read_address.next = self.runs.marks_address.val();

        self.runs.group_valid.next = self.paced.out_valid.val();
        self.paced.out_ready.next = self.runs.group_ready.val();
        self.runs.group_index.next = self.paced.out_data.val().get_bits::<5>(0);
        self.runs.group_blocks.next = self.paced.out_data.val().get_bits::<7>(5);
        self.runs.group_last.next = self.paced.out_data.val().get_bit(12);
        self.runs.pace_write.next = self.paces.pace_valid.val();
        self.runs.pace_index.next = self.index.q.val();
        self.runs.pace_data.next = self.pace.bits.val();
        self.runs.marks_full.next = self.marks.full.val();
        self.runs.marks.next = self.marks.read_bits.val();
        self.runs.marks_shift.next = self.marks.read_shift.val();
        self.found.in_valid.next = self.runs.run_valid.val();
        self.run_in.record.next = self.runs.run.val();
        self.found.in_data.next = self.run_in.bits.val();
        self.found.out_ready.next = self.boxes.run_ready.val();
        self.runs.run_ready.next = self.found.in_ready.val();

        self.boxes.run_valid.next = self.found.out_valid.val();
        self.run_out.bits.next = self.found.out_data.val();
        self.boxes.run.next = self.run_out.record.val();
        self.boxes.span_ready.next = self.spans.span_ready.val();

        self.spans.max_read.next = self.longest.q.val();
        self.spans.short_read.next = self.short_read.q.val();
        self.spans.group_short.next = self.is_short.val();
        self.spans.group_write.next = self.places.group_valid.val();
        self.spans.group_index.next = self.places.group_index.val();
        self.spans.group_lo.next = self.places.group_lo.val();
        self.spans.group_place.next = self.places.group_place.val();
        self.spans.group_step.next = self.places.group_step.val();
        self.spans.group_window.next = self.places.group_window.val();
        self.spans.span_valid.next = self.boxes.span_valid.val();
        self.spans.span.next = self.boxes.span.val();
        self.spans.box_ready.next = self.box_ready.val();
        self.box_valid.next = self.spans.box_valid.val();
        self.box_addr.next = self.spans.box_addr.val();
        self.box_ram.next = self.spans.box_ram.val();
        self.box_len.next = self.spans.box_len.val();
        self.box_window.next = self.spans.box_window.val();
        self.box_window_end.next = self.spans.box_window_end.val();
    }
}
