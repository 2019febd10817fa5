//! Issues the reads of boxes, and reports when the data of a window have arrived.
//!
//! Takes boxes from the placer and the column path; masters the `data` read port of the DMA engine; reports to the
//! gather which windows are complete, and which parts of them could not be read.
//!
//! **Throughput.** A read a cycle while tags are free (the engine takes one in two cycles). 256 tags; statuses may come
//! in any order, one a cycle, without back-pressure.
//!
//! **Latency.** Box to descriptor 1 cycle. Last status to `window_ready` 1 cycle.
//!
//! **Back-pressure.** Any output may stall. While ranges that failed wait, no read is issued, so that the ranges of all
//! reads in flight fit their FIFO, and no window is ready.
//!
//! **Reset.** Reads of before a reset may end after it, but before their tags are used again.

use crate::layout::windows::{ReadBox, WINDOW_COUNT, WINDOW_INDEX};
use crate::primitive::{Fifo, Ram, ReadySlice};
use crate::shell::corundum::{DmaDescriptor, DmaReadStatus};
use drdma_emit::prelude::*;

#[cfg(test)]
mod tests;

/// Bits of a read's range: place, length, window.
const RANGE: usize = 30 + WINDOW_INDEX;
/// Bits of a box: address, range, end of window.
const BOX: usize = 65 + RANGE;

/// Report that all reads of a window have ended.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct WindowReady {
    /// Number of the window; windows are reported in order.
    pub window: Bits<WINDOW_INDEX>,
}

/// Report of a read that failed.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct ReadError {
    /// Window of the read.
    pub window: Bits<WINDOW_INDEX>,
    /// Address at which the part starts in the segmented memory, in bytes.
    pub ram: Bits<17>,
    /// Bytes of the part.
    pub len: Bits<13>,
}

/// Reader of boxes; see the module.
#[derive(LogicBlock, Default)]
pub struct Reader {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,

    /// Boxes to read.
    pub reads: Stream<In, ReadBox>,

    /// DMA read descriptors.
    pub m_axis_data_dma_read_desc: Stream<Out, DmaDescriptor>,
    /// Statuses of reads that have ended.
    pub s_axis_data_dma_read_desc_status: Flow<In, DmaReadStatus>,

    /// Windows whose data have arrived, in order.
    pub window_ready: Stream<Out, WindowReady>,

    /// Reads that failed, each before its window.
    pub read_error: Stream<Out, ReadError>,

    /// Number of reads that the engine took in the cycle before.
    pub count_reads: Signal<Out, Bits<16>>,
    /// Bytes of the reads that the engine took in the cycle before.
    pub count_bytes: Signal<Out, Bits<16>>,

    // A box that waits for a tag.
    boxes: ReadySlice<BOX>,
    box_bits: Signal<Local, Bits<BOX>>,
    addr: Signal<Local, Bits<64>>,
    range: Signal<Local, Bits<RANGE>>,
    empty: Signal<Local, Bit>,
    last: Signal<Local, Bit>,
    issue: Signal<Local, Bit>,
    pass: Signal<Local, Bit>,

    // The descriptor at the output.
    valid: DFF<Bit>,
    desc_addr: DFF<Bits<64>>,
    desc_range: DFF<Bits<30>>,
    desc_tag: DFF<Bits<8>>,

    counted: DFF<Bit>,
    counted_len: DFF<Bits<13>>,

    // Tags: at first each once, then as they come back.
    fresh: DFF<Bits<9>>,
    returned: Fifo<8, 8, 9>,
    has_tag: Signal<Local, Bit>,
    /// Tags of reads on the way. A status with any other tag is from before a reset.
    asked: DFF<Bits<256>>,
    tag: Signal<Local, Bits<8>>,
    /// Range and window of the read with each tag.
    in_flight: Ram<RANGE, 1, 8>,

    // A status, and one cycle later its read.
    status_tag: Signal<Local, Bits<8>>,
    ended: DFF<Bit>,
    ended_tag: DFF<Bits<8>>,
    ended_error: DFF<Bit>,
    errors: Fifo<RANGE, 8, 9>,
    calm: Signal<Local, Bit>,

    // Windows: reads on the way, and whether all boxes were seen.
    on_the_way: [DFF<Bits<9>>; WINDOW_COUNT],
    starts: [Signal<Local, Bit>; WINDOW_COUNT],
    ends: [Signal<Local, Bit>; WINDOW_COUNT],
    complete: DFF<Bits<WINDOW_COUNT>>,
    next: DFF<Bits<WINDOW_INDEX>>,
    given: DFF<Bit>,
    given_window: DFF<Bits<WINDOW_INDEX>>,
    ready: Signal<Local, Bit>,
    none: Signal<Local, Bit>,
    /// Takes the bits of a status's tag above those that the card uses.
    unused: Signal<Local, Bits<6>>,
}

impl Logic for Reader {
    #[hdl_gen]
    fn update(&mut self) {
        // A box waits: address, then the range (ram, len, window), then the end of the window.
        self.box_bits.next = bit_cast::<BOX, 64>(self.reads.addr.val())
            | (bit_cast::<BOX, 17>(self.reads.ram.val()) << 64)
            | (bit_cast::<BOX, 13>(self.reads.len.val()) << 81)
            | (bit_cast::<BOX, WINDOW_INDEX>(self.reads.window.val()) << 94)
            | (bit_cast::<BOX, 1>(self.reads.window_end.val().into()) << 98);
        self.boxes.in_valid.next = self.reads.valid.val();
        self.boxes.in_data.next = self.box_bits.val();
        self.reads.ready.next = self.boxes.in_ready.val();
        self.addr.next = self.boxes.out_data.val().get_bits::<64>(0);
        self.range.next = self.boxes.out_data.val().get_bits::<RANGE>(64);
        self.last.next = self.boxes.out_data.val().get_bit(98);
        self.empty.next = !self.range.val().get_bits::<13>(17).any();

        // A tag: at first each once, then as they come back.
        self.has_tag.next = self.fresh.q.val().get_bit(8) || self.returned.out_valid.val();
        self.tag.next = self.returned.out_data.val();
        if self.fresh.q.val().get_bit(8) {
            self.tag.next = self.fresh.q.val().get_bits::<8>(0);
        }

        // A box becomes a read when the output and a tag are free, and no failed range waits.
        self.calm.next =
            !self.errors.count.val().any() && !(self.ended.q.val() && self.ended_error.q.val());
        self.pass.next = self.boxes.out_valid.val() && self.empty.val();
        self.issue.next = self.boxes.out_valid.val()
            && !self.empty.val()
            && self.has_tag.val()
            && self.calm.val()
            && (!self.valid.q.val() || self.m_axis_data_dma_read_desc.ready.val());
        self.boxes.out_ready.next = self.pass.val() || self.issue.val();
        if self.m_axis_data_dma_read_desc.ready.val() {
            self.valid.d.next = false;
        }
        if self.issue.val() {
            self.valid.d.next = true;
            self.desc_addr.d.next = self.addr.val();
            self.desc_range.d.next = self.range.val().get_bits::<30>(0);
            self.desc_tag.d.next = self.tag.val();
        }
        self.m_axis_data_dma_read_desc.valid.next = self.valid.q.val();
        self.m_axis_data_dma_read_desc.dma_addr.next = self.desc_addr.q.val();
        self.m_axis_data_dma_read_desc.ram_sel.next = 0.into();
        self.m_axis_data_dma_read_desc.ram_addr.next = self.desc_range.q.val().get_bits::<17>(0);
        self.m_axis_data_dma_read_desc.len.next =
            bit_cast::<16, 13>(self.desc_range.q.val().get_bits::<13>(17));
        self.m_axis_data_dma_read_desc.tag.next = bit_cast::<14, 8>(self.desc_tag.q.val());
        self.counted.d.next = self.valid.q.val() && self.m_axis_data_dma_read_desc.ready.val();
        self.counted_len.d.next = self.desc_range.q.val().get_bits::<13>(17);
        self.count_reads.next = 0.into();
        self.count_bytes.next = 0.into();
        if self.counted.q.val() {
            self.count_reads.next = 1.into();
            self.count_bytes.next = bit_cast::<16, 13>(self.counted_len.q.val());
        }

        // Tags.
        self.returned.out_ready.next = self.issue.val() && !self.fresh.q.val().get_bit(8);
        if self.issue.val() && self.fresh.q.val().get_bit(8) {
            self.fresh.d.next = self.fresh.q.val() + 1;
        }
        self.in_flight.write_lanes.next = self.issue.val().into();
        self.in_flight.write_address.next = self.tag.val();
        self.in_flight.write_data.next = self.range.val();

        // A status: its read is looked up; then the tag is returned and the range passed on.
        self.status_tag.next = self.s_axis_data_dma_read_desc_status.tag.val().get_bits::<8>(0);
        self.unused.next = self.s_axis_data_dma_read_desc_status.tag.val().get_bits::<6>(8);
        self.in_flight.read_enable.next = self.s_axis_data_dma_read_desc_status.valid.val();
        self.in_flight.read_address.next = self.status_tag.val();
        self.ended.d.next = self.s_axis_data_dma_read_desc_status.valid.val()
            && self.asked.q.val().get_bit(self.status_tag.val().index());
        if self.s_axis_data_dma_read_desc_status.valid.val() {
            self.asked.d.next =
                self.asked.q.val().replace_bit(self.status_tag.val().index(), false);
        }
        if self.issue.val() {
            self.asked.d.next = self.asked.d.val().replace_bit(self.tag.val().index(), true);
        }
        self.ended_tag.d.next = self.status_tag.val();
        self.ended_error.d.next = self.s_axis_data_dma_read_desc_status.error.val().any();
        self.returned.in_valid.next = self.ended.q.val();
        self.returned.in_data.next = self.ended_tag.q.val();
        self.errors.in_valid.next = self.ended.q.val() && self.ended_error.q.val();
        self.errors.in_data.next = self.in_flight.read_data.val();
        self.errors.out_ready.next = self.read_error.ready.val();
        self.read_error.valid.next = self.errors.out_valid.val();
        self.read_error.ram.next = self.errors.out_data.val().get_bits::<17>(0);
        self.read_error.len.next = self.errors.out_data.val().get_bits::<13>(17);
        self.read_error.window.next = self.errors.out_data.val().get_bits::<WINDOW_INDEX>(30);

        // Reads on the way, by window.
        self.ready.next = false;
        self.none.next = false;
        for w in 0..16 {
            self.starts[w].next =
                self.issue.val() && (self.range.val().get_bits::<WINDOW_INDEX>(30) == w.to_bits());
            self.ends[w].next = self.ended.q.val()
                && (self.in_flight.read_data.val().get_bits::<WINDOW_INDEX>(30) == w.to_bits());
            if self.starts[w].val() && !self.ends[w].val() {
                self.on_the_way[w].d.next = self.on_the_way[w].q.val() + 1;
            }
            if self.ends[w].val() && !self.starts[w].val() {
                self.on_the_way[w].d.next = self.on_the_way[w].q.val() - 1;
            }
            if self.next.q.val() == w.to_bits() {
                self.none.next = !self.on_the_way[w].q.val().any()
                    || (self.ends[w].val() && (self.on_the_way[w].q.val() == 1));
            }
        }
        self.ready.next = self.complete.q.val().get_bit(self.next.q.val().index())
            && self.none.val()
            && self.calm.val();
        // A window that is offered stays offered, even if reads of later ones end.
        if self.window_ready.ready.val() {
            self.given.d.next = false;
        }
        if self.ready.val() && !self.given.q.val() {
            // The window is offered at once, and again until it is taken.
            self.given.d.next = !self.window_ready.ready.val();
            self.given_window.d.next = self.next.q.val();
            self.next.d.next = self.next.q.val() + 1;
            self.complete.d.next =
                self.complete.q.val().replace_bit(self.next.q.val().index(), false);
        }
        if (self.pass.val() || self.issue.val()) && self.last.val() {
            self.complete.d.next = self
                .complete
                .d
                .val()
                .replace_bit(self.range.val().get_bits::<WINDOW_INDEX>(30).index(), true);
        }
        self.window_ready.valid.next = self.given.q.val() || self.ready.val();
        self.window_ready.window.next = self.next.q.val();
        if self.given.q.val() {
            self.window_ready.window.next = self.given_window.q.val();
        }

        if self.rst.val() {
            self.valid.d.next = false;
            self.given.d.next = false;
            self.counted.d.next = false;
            self.fresh.d.next = 256.into();
            self.asked.d.next = 0.into();
            self.ended.d.next = false;
            self.complete.d.next = 0.into();
            self.next.d.next = 0.into();
            for w in 0..16 {
                self.on_the_way[w].d.next = 0.into();
            }
        }
    }
}
