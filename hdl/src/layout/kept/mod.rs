//! Keeps keys and records of chains that the sequencer has read, and copies boxes that lie in them to the segmented
//! memory, so that the same bytes are not read twice.
//!
//! Stands between the boxes of both paths, behind *starts*, and the reader. Keys and records come from the sequencer as
//! they are answered; the reader gets the boxes that are left.
//!
//! ```text
//! beat ----> ranges ---> rings ----+
//! record --> records --> store ----+--> copier --> segment writes --> segmented memory
//!              |                        ^   |
//! reads ----> hit? ------- jobs --------+   +-- ends of windows
//!              |                            v
//!              +-----------------------------> read
//! ```
//!
//! **What is kept.** The values of the first two keys of a request, each in a ring of 128 KiB, of which the last 112
//! KiB count. Reads of one key that follow each other in host memory make a *range*; any other read begins a new one.
//! Of each key the ranges of two requests are kept. Of two requests with chains, 2,048 records of up to 64 B each.
//!
//! **Why no byte is stale.** What was read for a request is forgotten when that is released, which is before it
//! completes. Until it completes the host must leave its keys and records alone. So a box that finds what was read
//! belongs to that request, or to one that was posted before that request had completed, and the bytes in host memory
//! are still the ones that were read. All keys and records of a request have been answered before its last token, and
//! so before its release. A read that failed ends its range; a record that could not be read is not kept.
//!
//! **Why no byte is overwritten before it is copied.** Bytes of keys that a box finds lie at most 1,792 lines of 64 B
//! behind the end of a ring of 2,048. While copies wait, at most 248 lines are stored; more end their range. Boxes are
//! not looked up any more once 128 were stored, so that copies come to their end. Lines of records are written again
//! for another request only after a cycle in which no box was looked up and no copy waited.
//!
//! **Order.** A window is complete when its last box passes. If copies wait, the box passes without its mark, and a box
//! without bytes follows when the copies that were asked for before have been written. All other boxes pass in order.
//!
//! **Throughput.** A box a cycle. A line of a ring a cycle, where the segments are free: see [`SegmentWrites`].
//!
//! **Latency.** Boxes pass in the same cycle while nothing is kept, else 5 cycles later. The first bytes of a copy are
//! offered 10 cycles after their box.
//!
//! **Back-pressure.** All streams may stall; `reads.ready` comes from a register. Keys, records and releases are always
//! taken. At most 13 copies wait.

mod copier;
mod ranges;
mod records;
#[cfg(test)]
mod tests;
mod writes;

use super::windows::{ReadBox, WINDOW_INDEX};
use crate::primitive::{Flatten, Ram, RamStyle, ReadySlice, Restore, StreamFifo};
use copier::Copier;
use drdma_emit::prelude::*;
use ranges::Ranges;
use records::Records;
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
/// Bits of the number of a line of the store of records.
const RECORD_LINE: usize = 12;
/// Bits of the place of a byte in the store of records.
const RECORD_PLACE: usize = RECORD_LINE + 6;
/// Bits of the place of a byte in the rings or, with [`IN_RECORDS`], in the store of records.
const ANY_PLACE: usize = PLACES + 1;
/// Bit of a place that lies in the store of records.
const IN_RECORDS: usize = PLACES;
/// Bits of the number of a line in the rings or, with the highest one, in the store of records.
const ANY_LINE: usize = LINES + 1;
const _: () = assert!(RECORD_PLACE <= PLACES && RECORD_LINE <= LINES);

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

/// A record of a chain, or its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct KeptRecord {
    /// The bytes, from byte 0 on.
    pub data: Bits<512>,
    /// Host address of the first byte.
    pub addr: Bits<64>,
    /// Number of bytes, 1 to 64.
    pub bytes: Bits<7>,
    /// Bytes before the first one that is wanted.
    pub skip: Bits<6>,
    /// Slot of the request.
    pub slot: Bits<8>,
}

/// Bytes to copy to the segmented memory.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct Copy {
    /// Place of the first byte in the rings or, with the bit [`IN_RECORDS`], in the store of records.
    pub place: Bits<ANY_PLACE>,
    /// Place of the first byte in the segmented memory.
    pub ram: Bits<17>,
    /// Number of bytes; 0 if nothing is copied.
    pub len: Bits<13>,
    /// Window of the box.
    pub window: Bits<WINDOW_INDEX>,
    /// The window is complete after the copy.
    pub window_end: Bit,
}

/// Store of keys and records; see the [module](self).
#[derive(LogicBlock, BlockDefault)]
pub struct Kept {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset; forgets keys, records and copies.
    pub rst: Signal<In, Bit>,

    /// Keys that were read.
    pub beat: Flow<In, KeyBeat>,
    /// Records that were read.
    pub record: Flow<In, KeptRecord>,
    /// A request is released; its keys and records are forgotten.
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
    records: Records,
    #[init(Ram::new(RamStyle::Ultra))]
    store: Ram<512, 1, RECORD_LINE>,
    /// The line that was read last is one of the store.
    reads_store: DFF<Bit>,
    copier: Copier,

    offered: Flatten<ReadBox, BOX>,
    slice: ReadySlice<BOX>,
    present: Restore<ReadBox, BOX>,
    /// Boxes pass in the same cycle.
    direct: DFF<Bit>,
    calm: Signal<Local, Bit>,
    go: Signal<Local, Bit>,
    take: Signal<Local, Bit>,

    // Boxes that are looked up: two cycles among the records, and two more among the ranges as well.
    noted: DFF<Bit>,
    noted_box: DFF<ReadBox>,
    sought: DFF<Bit>,
    sought_box: DFF<ReadBox>,
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
    left: StreamFifo<ReadBox, 3, 4>,
    looks_up: Signal<Local, Bit>,
}

impl Logic for Kept {
    #[hdl_gen]
    fn update(&mut self) {
        self.beat.join(&mut self.ranges.beat);
        self.ranges.release_valid.next = self.release_valid.val();
        self.ranges.release_slot.next = self.release_slot.val();
        self.ranges.waits.next = self.waiting.q.val().any();
        self.rings.write_lanes.next = bit_cast::<1, 1>(self.ranges.write.val().into());
        self.rings.write_address.next = self.ranges.write_line.val();
        self.rings.write_data.next = self.ranges.write_data.val();
        self.record.join(&mut self.records.record);
        self.records.release_valid.next = self.release_valid.val();
        self.records.release_slot.next = self.release_slot.val();
        self.store.write_lanes.next = bit_cast::<1, 1>(self.records.write.val().into());
        self.store.write_address.next = self.records.write_line.val();
        self.store.write_data.next = self.records.write_data.val();

        // A box comes, and passes at once or is looked up.
        self.offered.record.next = self.reads.val();
        self.slice.in_valid.next = self.reads.valid.val();
        self.slice.in_data.next = self.offered.bits.val();
        self.reads.ready.next = self.slice.in_ready.val();
        self.present.bits.next = self.slice.out_data.val();
        self.go.next = (self.left.count.val() < 4)
            && (self.waiting.q.val() < 9)
            && !self.copier.ended_valid.val();
        self.take.next = self.slice.out_valid.val() && self.go.val() && !self.direct.q.val();
        self.slice.out_ready.next = self.go.val();
        if self.direct.q.val() {
            self.slice.out_ready.next = self.read.ready.val();
        }
        self.noted.d.next = self.take.val();
        self.noted_box.d.next = self.present.record.val();
        self.sought.d.next = self.noted.q.val();
        self.sought_box.d.next = self.noted_box.q.val();
        self.asked.d.next = self.sought.q.val();
        self.asked_box.d.next = self.sought_box.q.val();
        self.records.ask_word.next = self.present.record.val().addr.get_bits::<61>(3);
        self.records.seek_addr.next = self.sought_box.q.val().addr;
        self.records.seek_len.next = self.asked_box.q.val().len;
        self.ranges.ask_addr.next = self.sought_box.q.val().addr;
        self.ranges.ask_len.next = self.asked_box.q.val().len;
        self.found.d.next = self.asked.q.val();
        self.found_box.d.next = self.asked_box.q.val();

        // A box that was found is copied. The end of its window waits for the copies before it.
        self.hit.next = self.found.q.val() && (self.ranges.hit.val() || self.records.hit.val());
        self.marks.next = self.found.q.val()
            && !self.hit.val()
            && self.found_box.q.val().window_end
            && (self.waiting.q.val().any() || self.copier.ended_valid.val());
        self.asks.next = self.hit.val() || self.marks.val();
        self.copies.input.valid.next = self.asks.val();
        self.copies.input.data.next.place = bit_cast::<ANY_PLACE, PLACES>(self.ranges.place.val());
        if self.records.hit.val() {
            self.copies.input.data.next.place =
                bit_cast::<ANY_PLACE, RECORD_PLACE>(self.records.place.val())
                    .replace_bit(IN_RECORDS, true);
        }
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
        self.rings.read_address.next = self.copier.line.val().get_bits::<LINES>(0);
        self.store.read_enable.next = self.copier.line_enable.val();
        self.store.read_address.next = self.copier.line.val().get_bits::<RECORD_LINE>(0);
        if self.copier.line_enable.val() {
            self.reads_store.d.next = self.copier.line.val().get_bit(LINES);
        }
        self.copier.line_data.next = self.rings.read_data.val();
        if self.reads_store.q.val() {
            self.copier.line_data.next = self.store.read_data.val();
        }
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
        self.looks_up.next =
            self.noted.q.val() || self.sought.q.val() || self.asked.q.val() || self.found.q.val();
        self.records.busy.next = self.looks_up.val() || self.waiting.q.val().any();
        self.calm.next = !self.ranges.any.val()
            && !self.records.any.val()
            && !self.take.val()
            && !self.looks_up.val()
            && !self.waiting.q.val().any()
            && !self.copier.ended_valid.val()
            && !self.left.count.val().any();
        self.direct.d.next = self.calm.val()
            || (self.direct.q.val() && self.slice.out_valid.val() && !self.read.ready.val());

        if self.rst.val() {
            self.direct.d.next = false;
            self.noted.d.next = false;
            self.sought.d.next = false;
            self.asked.d.next = false;
            self.found.d.next = false;
            self.waiting.d.next = 0.into();
        }
    }
}
