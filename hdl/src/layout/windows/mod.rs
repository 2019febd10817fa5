//! Owns the windows of the segmented memory: which path gets the next one, where it lies, and in which order the boxes
//! and bytes of windows pass. Also keeps the settings by which their reads are planned.
//!
//! Beats of the expander take one of two paths. Rows go to the placer, which opens a window when it needs one. The
//! *header* of a chunk of columns goes to the column path, which opens one or more windows with it and reports when it
//! is used up. Windows are numbered cyclically and opened in the order of the beats. So a header waits until the placer
//! has closed its window, and asks it to. Boxes and bytes of the two paths are merged in the order of windows, so that
//! all later blocks see one sequence. The end of a column request needs no window of the placer: [`Ends`] appends it to
//! the request's last window, unless that has passed already.
//!
//! A window takes as much of the memory as it needs, up to 32 KiB, so that many small ones can be in flight; see
//! [`Ring`]. Up to 16 are in use. Both paths deliver places in the window; [`Starts`] turns them into places in the
//! memory.
//!
//! A request may set how its data are fetched; otherwise the registers do. *Fetch* changes the settings of both paths
//! between requests: a beat that needs other settings waits until no window's boxes are due.
//!
//! ```text
//! beat --+--> row (placer) ----> row_box, row_bytes -------+--> box, bytes
//!        +--> header (columns) -> column_box, column_bytes +
//! ```
//!
//! **Throughput.** A beat, a box and a beat of bytes a cycle. For a change of path a header waits about 10 cycles, and
//! for a free window. A request's first beat waits a cycle unless the card was idle, and where the settings change
//! until all boxes before have left.
//!
//! **Latency.** 0 for beats, 1 cycle for boxes, 1 for bytes.
//!
//! **Back-pressure.** All streams may stall. Beats pass without a register: `beat_ready` follows `row_ready` and
//! `header_ready`, which must come from registers.

mod ends;
mod fetch;
mod merge;
mod ring;
mod starts;
#[cfg(test)]
mod tests;

pub use ends::{Ends, RequestEnd};
pub use fetch::{FETCH_BITS, Fetch};
pub use merge::{ByteBeat, Merge, ReadBox};
pub use ring::Ring;
pub use starts::Starts;

use drdma_emit::prelude::*;

/// Bits of the number of a window.
pub const WINDOW_INDEX: usize = 4;
/// Number of windows that may be in use.
pub const WINDOW_COUNT: usize = 1 << WINDOW_INDEX;

/// The windows of the segmented memory; see the module.
#[derive(LogicBlock, Default)]
pub struct Windows {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,

    /// A beat is offered; its other fields bypass this block.
    pub beat_valid: Signal<In, Bit>,
    /// The beat is taken in this cycle.
    pub beat_ready: Signal<Out, Bit>,
    /// The beat is the header of a chunk of columns.
    pub beat_column: Signal<In, Bit>,
    /// Slot of the beat's request.
    pub beat_slot: Signal<In, Bits<8>>,
    /// The beat ends its request, and has no bytes.
    pub beat_end: Signal<In, Bit>,
    /// The beat is an end that the last window of columns may carry; held for as long as the beat is offered.
    pub end_offered: Signal<Out, Bit>,
    /// The last window of columns accepts the end; otherwise it passes as a row.
    pub end_accepted: Signal<In, Bit>,
    /// Number of the window that was opened last.
    pub last_window: Signal<Out, Bits<WINDOW_INDEX>>,
    /// The beat is offered to the placer.
    pub row_valid: Signal<Out, Bit>,
    /// The placer can take the beat.
    pub row_ready: Signal<In, Bit>,
    /// The beat is offered to the column path.
    pub header_valid: Signal<Out, Bit>,
    /// The header serves in this cycle: `header_opens`, `header_last`, or both.
    pub header_ready: Signal<In, Bit>,
    /// With `header_ready`: a window is opened.
    pub header_opens: Signal<In, Bit>,
    /// With `header_ready`: the header is used up.
    pub header_last: Signal<In, Bit>,

    /// The fetch plan of a request is written, before its first beat.
    pub fetch_write_valid: Signal<In, Bit>,
    /// Slot of that request.
    pub fetch_write_slot: Signal<In, Bits<8>>,
    /// The fetch plan; see [`FETCH_BITS`].
    pub fetch_write_plan: Signal<In, Bits<FETCH_BITS>>,
    /// Register `MAX_READ`: longest read in bytes.
    pub max_read: Signal<In, Bits<13>>,
    /// Register `MERGE_THRESHOLD`: widest gap in bytes that is read through.
    pub merge_threshold: Signal<In, Bits<13>>,
    /// Longest read in bytes, for the windows that are being planned.
    pub plan_max_read: Signal<Out, Bits<13>>,
    /// Widest gap in bytes that is read through, for the windows that are being planned.
    pub plan_merge_threshold: Signal<Out, Bits<13>>,
    /// The request itself sets `plan_max_read` and `plan_merge_threshold`.
    pub planned: Signal<Out, Bit>,

    /// A window may be opened, by the placer or with the next header.
    pub granted: Signal<Out, Bit>,
    /// With `granted`: number of that window.
    pub number: Signal<Out, Bits<WINDOW_INDEX>>,
    /// With `granted`: start of that window in the memory, in units of 128 B.
    pub start: Signal<Out, Bits<10>>,
    /// The placer opens the granted window.
    pub opened: Signal<In, Bit>,
    /// The placer could open another window if its own were closed.
    pub another: Signal<Out, Bit>,
    /// The placer closes its window.
    pub closed: Signal<In, Bit>,
    /// With `closed`: size of the window in units of 128 B.
    pub closed_size: Signal<In, Bits<9>>,
    /// `size` is valid: the size of the last header's window is known.
    pub sized: Signal<In, Bit>,
    /// With `sized`: size of that window in units of 128 B.
    pub size: Signal<In, Bits<9>>,
    /// A window is opened, of rows or of columns.
    pub opens: Signal<Out, Bit>,
    /// The placer has an open window, or beats without a window.
    pub placer_busy: Signal<In, Bit>,
    /// A header, or other settings, wait for the placer's window to be closed.
    pub flush: Signal<Out, Bit>,
    /// The oldest window was assembled; its memory is free.
    pub window_free: Signal<In, Bit>,

    /// The window whose boxes come next is one of columns.
    pub box_column: Signal<Out, Bit>,
    /// The window whose boxes come next was opened.
    pub box_open: Signal<Out, Bit>,
    /// All boxes of that window have passed.
    pub box_end: Signal<In, Bit>,
    /// The window whose bytes come next is one of columns.
    pub bytes_column: Signal<Out, Bit>,
    /// The window whose bytes come next was opened.
    pub bytes_open: Signal<Out, Bit>,
    /// All bytes of that window have passed.
    pub bytes_end: Signal<In, Bit>,

    /// Bit `w`: window `w` is one of columns.
    column: DFF<Bits<WINDOW_COUNT>>,
    boxed: DFF<Bits<WINDOW_INDEX>>,
    /// Number of windows whose boxes have not all passed.
    to_box: DFF<Bits<5>>,
    gathered: DFF<Bits<WINDOW_INDEX>>,
    /// Number of windows whose bytes have not all passed.
    to_gather: DFF<Bits<5>>,
    ring: Ring,
    fetch: Fetch,
    beat: Signal<Local, Bit>,
    /// Number of the window that was opened last.
    last: Signal<Local, Bits<WINDOW_INDEX>>,
    rides: Signal<Local, Bit>,
    free: Signal<Local, Bit>,
    header: Signal<Local, Bit>,
}

impl Logic for Windows {
    #[hdl_gen]
    fn update(&mut self) {
        self.free.next = self.ring.granted.val();
        self.granted.next = self.ring.granted.val();
        self.another.next = self.ring.another.val();
        self.number.next = self.ring.number.val();
        self.start.next = self.ring.start.val();
        self.fetch.write_valid.next = self.fetch_write_valid.val();
        self.fetch.write_slot.next = self.fetch_write_slot.val();
        self.fetch.write_plan.next = self.fetch_write_plan.val();
        self.fetch.beat_valid.next = self.beat_valid.val();
        self.fetch.beat_slot.next = self.beat_slot.val();
        self.fetch.max_read.next = self.max_read.val();
        self.fetch.merge_threshold.next = self.merge_threshold.val();
        self.fetch.drained.next = !self.placer_busy.val() && !self.to_box.q.val().any();
        self.plan_max_read.next = self.fetch.most.val();
        self.plan_merge_threshold.next = self.fetch.gap.val();
        self.planned.next = self.fetch.planned.val();
        self.beat.next = self.beat_valid.val() && self.fetch.settled.val();
        self.flush.next =
            (self.beat_valid.val() && self.beat_column.val()) || self.fetch.changes.val();
        // An end that follows a window of columns. While the placer is at work, it has a later window, or will open
        // one.
        self.last.next = self.ring.number.val() - 1;
        self.last_window.next = self.last.val();
        self.end_offered.next = self.beat.val()
            && self.beat_end.val()
            && !self.beat_column.val()
            && !self.placer_busy.val()
            && self.column.q.val().get_bit(self.last.val().index());
        self.rides.next = self.end_offered.val() && self.end_accepted.val();
        self.row_valid.next = self.beat.val() && !self.beat_column.val() && !self.rides.val();
        self.header_valid.next =
            self.beat.val() && self.beat_column.val() && self.free.val() && !self.placer_busy.val();
        self.header.next =
            self.header_valid.val() && self.header_ready.val() && self.header_opens.val();
        self.beat_ready.next =
            self.fetch.settled.val() && (self.row_ready.val() || self.rides.val());
        if self.beat_column.val() {
            self.beat_ready.next = self.fetch.settled.val()
                && self.header_ready.val()
                && self.header_last.val()
                && self.free.val()
                && !self.placer_busy.val();
        }

        self.opens.next = self.header.val() || self.opened.val();
        if self.opens.val() {
            self.column.d.next =
                self.column.q.val().replace_bit(self.ring.number.val().index(), self.header.val());
        }
        self.ring.opens.next = self.opens.val();
        self.ring.sized.next = self.closed.val() || self.sized.val();
        self.ring.size.next = self.size.val();
        if self.closed.val() {
            self.ring.size.next = self.closed_size.val();
        }
        self.ring.free.next = self.window_free.val();

        self.box_column.next = self.column.q.val().get_bit(self.boxed.q.val().index());
        self.box_open.next = self.to_box.q.val().any();
        if self.box_end.val() {
            self.boxed.d.next = self.boxed.q.val() + 1;
        }
        if self.opens.val() && !self.box_end.val() {
            self.to_box.d.next = self.to_box.q.val() + 1;
        }
        if self.box_end.val() && !self.opens.val() {
            self.to_box.d.next = self.to_box.q.val() - 1;
        }

        self.bytes_column.next = self.column.q.val().get_bit(self.gathered.q.val().index());
        self.bytes_open.next = self.to_gather.q.val().any();
        if self.bytes_end.val() {
            self.gathered.d.next = self.gathered.q.val() + 1;
        }
        if self.opens.val() && !self.bytes_end.val() {
            self.to_gather.d.next = self.to_gather.q.val() + 1;
        }
        if self.bytes_end.val() && !self.opens.val() {
            self.to_gather.d.next = self.to_gather.q.val() - 1;
        }

        if self.rst.val() {
            self.boxed.d.next = 0.into();
            self.to_box.d.next = 0.into();
            self.gathered.d.next = 0.into();
            self.to_gather.d.next = 0.into();
        }
    }
}
