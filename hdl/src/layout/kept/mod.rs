//! Keeps keys that the sequencer has read, and copies boxes that lie in them to the segmented memory, so that the same
//! bytes are not read twice.
//!
//! Stands between the boxes of both paths, behind *starts*, and the reader. Beats of keys come from the sequencer as
//! they are answered; the reader gets the boxes that are left.
//!
//! ```text
//! beat --> ranges --> ring --> copier --> segment writes --> segmented memory
//!            |                   ^  |
//! reads --> hit? ---- jobs ------+  +-- ends of windows
//!            |                      v
//!            +-----------------------> read
//! ```
//!
//! **What is kept.** The values of the first two keys of a request, each in a ring of 128 KiB, of which the last 112
//! KiB count. Reads of one key that follow each other in host memory make a *range*; any other read begins a new one.
//! Of each key the ranges of two requests are kept.
//!
//! **Why no byte is stale.** A range ends when its request is released, which is before that request completes. Until
//! it completes the host must leave its keys alone. So a box that finds a range belongs to the range's request, or to
//! one that was posted before that request had completed, and the bytes in host memory are still the ones that were
//! read. All keys of a request have been answered before its last token, and so before its release. A read that failed
//! ends its range.
//!
//! **Why no byte is overwritten before it is copied.** Bytes that a box finds lie at most 1,792 lines of 64 B behind
//! the end of a ring of 2,048. While copies wait, at most 248 lines are stored; more end their range. Boxes are not
//! looked up any more once 128 were stored, so that copies come to their end.
//!
//! **Order.** A window is complete when its last box passes. If copies wait, the box passes without its mark, and a box
//! without bytes follows when the copies that were asked for before have been written. All other boxes pass in order.
//!
//! **Throughput.** A box a cycle. A line of a ring a cycle, where the segments are free: see [`SegmentWrites`].
//!
//! **Latency.** Boxes pass in the same cycle while nothing is kept, else 3 cycles later. The first bytes of a copy are
//! offered 8 cycles after their box.
//!
//! **Back-pressure.** All streams may stall; `reads.ready` comes from a register. Beats and releases are always taken.
//! At most 11 copies wait.

mod copier;
mod ranges;
#[cfg(test)]
mod tests;
mod writes;

use super::windows::{ReadBox, WINDOW_INDEX};
use crate::primitive::{Flatten, Ram, RamStyle, ReadySlice, Restore, StreamFifo};
use copier::Copier;
use drdma_emit::prelude::*;
use ranges::Ranges;
pub use writes::SegmentWrites;

/// Bits of a [`ReadBox`].
const BOX: usize = <ReadBox as Synth>::BITS;
/// Bits of the number of a line of a ring.
const LINE: usize = 11;
/// Bits of the number of a line among those of both rings.
const LINES: usize = LINE + 1;
/// Bits of the place of a byte in a ring.
const PLACE: usize = LINE + 6;
/// Bits of the place of a byte in both rings.
const PLACES: usize = PLACE + 1;

/// Beat of 64 B of a key.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct KeyBeat {
    /// The values, from byte 0 on.
    pub data: Bits<512>,
    /// The beat is the first one of its read.
    pub first: Bit,
    /// With `first`: host address of the read.
    pub addr: Bits<64>,
    /// Bytes of the beat, 1 to 64; fewer than 64 only in the last one of its read.
    pub bytes: Bits<7>,
    /// Number of the key in its request.
    pub key: Bits<1>,
    /// Slot of the request.
    pub slot: Bits<8>,
    /// The read failed.
    pub error: Bit,
}

/// Bytes to copy from a ring to the segmented memory.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct Copy {
    /// Place of the first byte in the rings.
    pub place: Bits<PLACES>,
    /// Place of the first byte in the segmented memory.
    pub ram: Bits<17>,
    /// Number of bytes; 0 if nothing is copied.
    pub len: Bits<13>,
    /// Window of the box.
    pub window: Bits<WINDOW_INDEX>,
    /// The window is complete after the copy.
    pub window_end: Bit,
}

/// Store of keys; see the [module](self).
#[derive(LogicBlock, BlockDefault)]
pub struct KeptKeys {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset; forgets keys and copies.
    pub rst: Signal<In, Bit>,

    /// Keys that were read.
    pub beat: Flow<In, KeyBeat>,
    /// A request is released; its keys are forgotten.
    pub release_valid: Signal<In, Bit>,
    /// With `release_valid`: slot of the request.
    pub release_slot: Signal<In, Bits<8>>,

    /// Boxes of both paths.
    pub reads: Stream<In, ReadBox>,
    /// Boxes that are to be read.
    pub read: Stream<Out, ReadBox>,

    /// A write of each segment of the segmented memory is offered.
    pub copy_valid: Signal<Out, Bits<2>>,
    /// Byte enables of the two segments (2 x 64 bits).
    pub copy_be: Signal<Out, Bits<128>>,
    /// Row of each segment's write (2 x 10 bits).
    pub copy_row: Signal<Out, Bits<20>>,
    /// Data of both segments.
    pub copy_data: Signal<Out, Bits<512>>,
    /// The write of each segment is done at the end of this cycle.
    pub copied: Signal<In, Bits<2>>,

    ranges: Ranges,
    #[init(Ram::new(RamStyle::Ultra))]
    rings: Ram<512, 1, LINES>,
    copier: Copier,

    offered: Flatten<ReadBox, BOX>,
    slice: ReadySlice<BOX>,
    present: Restore<ReadBox, BOX>,
    /// Boxes pass in the same cycle.
    direct: DFF<Bit>,
    calm: Signal<Local, Bit>,
    go: Signal<Local, Bit>,
    take: Signal<Local, Bit>,

    // Boxes that are looked up: two cycles.
    asked: DFF<Bit>,
    asked_box: DFF<ReadBox>,
    found: DFF<Bit>,
    found_box: DFF<ReadBox>,
    hit: Signal<Local, Bit>,
    marks: Signal<Local, Bit>,
    passes: Signal<Local, Bit>,
    copies: StreamFifo<Copy, 4, 5>,
    /// Copies that were asked for and not written yet.
    waiting: DFF<Bits<5>>,
    asks: Signal<Local, Bit>,
    #[init(StreamFifo::prompt())]
    left: StreamFifo<ReadBox, 2, 3>,
}

impl Logic for KeptKeys {
    #[hdl_gen]
    fn update(&mut self) {
        self.beat.join(&mut self.ranges.beat);
        self.ranges.release_valid.next = self.release_valid.val();
        self.ranges.release_slot.next = self.release_slot.val();
        self.ranges.waits.next = self.waiting.q.val().any();
        self.rings.write_lanes.next = bit_cast::<1, 1>(self.ranges.write.val().into());
        self.rings.write_address.next = self.ranges.write_line.val();
        self.rings.write_data.next = self.ranges.write_data.val();

        // A box comes, and passes at once or is looked up.
        self.offered.record.next = self.reads.val();
        self.slice.in_valid.next = self.reads.valid.val();
        self.slice.in_data.next = self.offered.bits.val();
        self.reads.ready.next = self.slice.in_ready.val();
        self.present.bits.next = self.slice.out_data.val();
        self.go.next = (self.left.count.val() < 2)
            && (self.waiting.q.val() < 9)
            && !self.copier.ended_valid.val();
        self.take.next = self.slice.out_valid.val() && self.go.val() && !self.direct.q.val();
        self.slice.out_ready.next = self.go.val();
        if self.direct.q.val() {
            self.slice.out_ready.next = self.read.ready.val();
        }
        self.asked.d.next = self.take.val();
        self.asked_box.d.next = self.present.record.val();
        self.ranges.ask_addr.next = self.present.record.val().addr;
        self.ranges.ask_len.next = self.asked_box.q.val().len;
        self.found.d.next = self.asked.q.val();
        self.found_box.d.next = self.asked_box.q.val();

        // A box that was found is copied. The end of its window waits for the copies before it.
        self.hit.next = self.found.q.val() && self.ranges.hit.val();
        self.marks.next = self.found.q.val()
            && !self.hit.val()
            && self.found_box.q.val().window_end
            && (self.waiting.q.val().any() || self.copier.ended_valid.val());
        self.asks.next = self.hit.val() || self.marks.val();
        self.copies.input.valid.next = self.asks.val();
        self.copies.input.data.next.place = self.ranges.place.val();
        self.copies.input.data.next.ram = self.found_box.q.val().ram;
        self.copies.input.data.next.len = 0.into();
        if self.hit.val() {
            self.copies.input.data.next.len = self.found_box.q.val().len;
        }
        self.copies.input.data.next.window = self.found_box.q.val().window;
        self.copies.input.data.next.window_end = self.found_box.q.val().window_end;
        if self.asks.val() && !self.copier.done.val() {
            self.waiting.d.next = self.waiting.q.val() + 1;
        } else if self.copier.done.val() && !self.asks.val() {
            self.waiting.d.next = self.waiting.q.val() - 1;
        }
        self.copies.output.join(&mut self.copier.copy);
        self.rings.read_enable.next = self.copier.line_enable.val();
        self.rings.read_address.next = self.copier.line.val();
        self.copier.line_data.next = self.rings.read_data.val();
        self.copy_valid.next = self.copier.write_valid.val();
        self.copy_be.next = self.copier.write_be.val();
        self.copy_row.next = self.copier.write_row.val();
        self.copy_data.next = self.copier.write_data.val();
        self.copier.written.next = self.copied.val();

        // Boxes that are left, and ends of windows in the cycles between.
        self.passes.next = self.found.q.val()
            && !self.hit.val()
            && (!self.marks.val() || self.found_box.q.val().len.any());
        self.left.input.valid.next = self.passes.val();
        self.left.input.data.next = self.found_box.q.val();
        self.left.input.data.next.window_end =
            self.found_box.q.val().window_end && !self.marks.val();
        self.copier.ended_ready.next = !self.found.q.val() && self.left.input.ready.val();
        if !self.found.q.val() {
            self.left.input.valid.next = self.copier.ended_valid.val();
            self.left.input.data.next.len = 0.into();
            self.left.input.data.next.window = self.copier.ended_window.val();
            self.left.input.data.next.window_end = true;
        }
        self.read.valid.next = self.left.output.valid.val();
        self.read.next = self.left.output.data.val();
        self.left.output.ready.next = self.read.ready.val() && !self.direct.q.val();
        if self.direct.q.val() {
            self.read.valid.next = self.slice.out_valid.val();
            self.read.next = self.present.record.val();
        }

        // A box that is offered stays offered.
        self.calm.next = !self.ranges.any.val()
            && !self.take.val()
            && !self.asked.q.val()
            && !self.found.q.val()
            && !self.waiting.q.val().any()
            && !self.copier.ended_valid.val()
            && !self.left.count.val().any();
        self.direct.d.next = self.calm.val()
            || (self.direct.q.val() && self.slice.out_valid.val() && !self.read.ready.val());

        if self.rst.val() {
            self.direct.d.next = false;
            self.asked.d.next = false;
            self.found.d.next = false;
            self.waiting.d.next = 0.into();
        }
    }
}
