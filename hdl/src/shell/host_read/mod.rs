//! Reads of host memory for the control path: work requests for `queue`, bitmaps and pointer arrays
//! for `sequencer`.
//!
//! Stands between those two and the DMA engine's control port. Requests of both clients become read
//! descriptors, one client after the other; the engine writes the data into a RAM, 32 KiB a client,
//! in any order; the responses go out in the order of the requests, once a read is complete.
//!
//! Contract: each client may give a request every two cycles, and its descriptor is at the output 2
//! cycles later; 64 reads and 32 KiB a client can be
//! in flight. One beat of 64 B leaves the RAM per cycle, for one client or for both in turns; the
//! first leaves 4 cycles after its read's status. A client that does not take its responses only
//! fills its own ring. The engine's writes are always taken at once. A failed read gives its beats,
//! with `error`.
//!
//! A read from before a reset may complete after it, but before its tag is used again. Writes are
//! taken and done through a reset.

use crate::primitive::Ram;
use crate::shell::corundum::{DmaDescriptor, DmaReadStatus};
use drdma_emit::prelude::*;

mod client;
#[cfg(test)]
pub(crate) mod dma_engine;
#[cfg(test)]
mod tests;

pub use client::Client;

/// A read of host memory.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct HostReadRequest {
    /// First byte in host memory.
    pub addr: Bits<64>,
    /// Bytes, 1 to 4,096.
    pub bytes: Bits<13>,
}

/// 64 bytes of a read.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct HostReadBeat {
    /// 64 bytes; byte 0 of a read's first beat is the byte at its address.
    pub data: Bits<512>,
    /// The last beat of its read.
    pub last: Bit,
    /// The read has failed.
    pub error: Bit,
}

/// See the [module](self).
#[derive(LogicBlock, Default)]
pub struct HostRead {
    // ------------------------------------------------------------------ clock and reset
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,

    // ------------------------------------------------------------------ client a
    /// Reads of client a.
    pub a_req: Stream<In, HostReadRequest>,
    /// What client a has read.
    pub a_resp: Stream<Out, HostReadBeat>,

    // ------------------------------------------------------------------ client b
    /// Reads of client b.
    pub b_req: Stream<In, HostReadRequest>,
    /// What client b has read.
    pub b_resp: Stream<Out, HostReadBeat>,

    // ------------------------------------------------------------------ DMA read descriptors
    /// DMA read descriptors: tag bit 6 is the client, bits 5 to 0 the number of its read.
    pub m_axis_ctrl_dma_read_desc: Stream<Out, DmaDescriptor>,
    /// Reads that have ended.
    pub s_axis_ctrl_dma_read_desc_status: Flow<In, DmaReadStatus>,

    // ------------------------------------------------------------------ RAM, write side
    /// One bit a segment: which RAM.
    pub ctrl_dma_ram_wr_cmd_sel: Signal<In, Bits<2>>,
    /// 64 bits a segment: byte enables.
    pub ctrl_dma_ram_wr_cmd_be: Signal<In, Bits<128>>,
    /// 10 bits a segment: row.
    pub ctrl_dma_ram_wr_cmd_addr: Signal<In, Bits<20>>,
    /// 512 bits a segment.
    pub ctrl_dma_ram_wr_cmd_data: Signal<In, Bits<1024>>,
    /// One bit a segment.
    pub ctrl_dma_ram_wr_cmd_valid: Signal<In, Bits<2>>,
    /// One bit a segment: always 1.
    pub ctrl_dma_ram_wr_cmd_ready: Signal<Out, Bits<2>>,
    /// One bit a segment: the write of the cycle before is done.
    pub ctrl_dma_ram_wr_done: Signal<Out, Bits<2>>,

    // ------------------------------------------------------------------ counters
    /// Reads issued this cycle.
    pub count_reads: Signal<Out, Bits<16>>,
    /// Bytes of those.
    pub count_bytes: Signal<Out, Bits<16>>,

    a: Client,
    b: Client,

    // The descriptor at the output.
    descriptor: DFF<Bit>,
    descriptor_addr: DFF<Bits<64>>,
    descriptor_bytes: DFF<Bits<13>>,
    descriptor_beat: DFF<Bits<10>>,
    descriptor_tag: DFF<Bits<7>>,
    fresh: DFF<Bit>,
    room: Signal<Local, Bit>,
    issue_a: Signal<Local, Bit>,
    issue_b: Signal<Local, Bit>,
    issued_b_last: DFF<Bit>,

    // The RAM's two segments; rows of client b behind those of client a.
    ram: [Ram<512, 64, 9>; 2],
    accepted: DFF<Bits<2>>,

    // The beat that is fetched.
    fetch_a: Signal<Local, Bit>,
    fetch_b: Signal<Local, Bit>,
    fetched_b_last: DFF<Bit>,
    row: Signal<Local, Bits<9>>,
    segment: Signal<Local, Bit>,
    fetching_segment: DFF<Bit>,
    data: Signal<Local, Bits<512>>,
}

impl Logic for HostRead {
    #[hdl_gen]
    fn update(&mut self) {
        self.a_req.join(&mut self.a.req);
        self.b_req.join(&mut self.b.req);

        // Reads of the clients in turns become descriptors.
        self.room.next = !self.descriptor.q.val() || self.m_axis_ctrl_dma_read_desc.ready.val();
        self.issue_a.next = self.room.val()
            && self.a.read_valid.val()
            && (!self.b.read_valid.val() || self.issued_b_last.q.val());
        self.issue_b.next = self.room.val()
            && self.b.read_valid.val()
            && (!self.a.read_valid.val() || !self.issued_b_last.q.val());
        self.a.read_take.next = self.issue_a.val();
        self.b.read_take.next = self.issue_b.val();
        self.fresh.d.next = self.issue_a.val() || self.issue_b.val();
        if self.room.val() {
            self.descriptor.d.next = self.issue_a.val() || self.issue_b.val();
            if self.issue_b.val() {
                self.descriptor_addr.d.next = self.b.read_addr.val();
                self.descriptor_bytes.d.next = self.b.read_bytes.val();
                self.descriptor_beat.d.next =
                    bit_cast::<10, 9>(self.b.read_beat.val()) | bits::<10>(512);
                self.descriptor_tag.d.next =
                    bit_cast::<7, 6>(self.b.read_index.val()) | bits::<7>(64);
            } else {
                self.descriptor_addr.d.next = self.a.read_addr.val();
                self.descriptor_bytes.d.next = self.a.read_bytes.val();
                self.descriptor_beat.d.next = bit_cast::<10, 9>(self.a.read_beat.val());
                self.descriptor_tag.d.next = bit_cast::<7, 6>(self.a.read_index.val());
            }
        }
        if self.issue_a.val() || self.issue_b.val() {
            self.issued_b_last.d.next = self.issue_b.val();
        }
        self.m_axis_ctrl_dma_read_desc.valid.next = self.descriptor.q.val();
        self.m_axis_ctrl_dma_read_desc.dma_addr.next = self.descriptor_addr.q.val();
        self.m_axis_ctrl_dma_read_desc.ram_sel.next = bits::<1>(0);
        self.m_axis_ctrl_dma_read_desc.ram_addr.next =
            bit_cast::<17, 10>(self.descriptor_beat.q.val()) << 6;
        self.m_axis_ctrl_dma_read_desc.len.next = bit_cast::<16, 13>(self.descriptor_bytes.q.val());
        self.m_axis_ctrl_dma_read_desc.tag.next = bit_cast::<14, 7>(self.descriptor_tag.q.val());
        self.count_reads.next = bit_cast::<16, 1>(self.fresh.q.val().into());
        self.count_bytes.next = bits::<16>(0);
        if self.fresh.q.val() {
            self.count_bytes.next = bit_cast::<16, 13>(self.descriptor_bytes.q.val());
        }

        // Reads that have ended.
        self.a.done_valid.next = self.s_axis_ctrl_dma_read_desc_status.valid.val()
            && !self.s_axis_ctrl_dma_read_desc_status.tag.val().get_bits::<8>(6).any();
        self.b.done_valid.next = self.s_axis_ctrl_dma_read_desc_status.valid.val()
            && (self.s_axis_ctrl_dma_read_desc_status.tag.val().get_bits::<8>(6) == 1);
        self.a.done_index.next = self.s_axis_ctrl_dma_read_desc_status.tag.val().get_bits::<6>(0);
        self.b.done_index.next = self.s_axis_ctrl_dma_read_desc_status.tag.val().get_bits::<6>(0);
        self.a.done_error.next = self.s_axis_ctrl_dma_read_desc_status.error.val().any();
        self.b.done_error.next = self.s_axis_ctrl_dma_read_desc_status.error.val().any();

        // Data come into the RAM. A reset must not lose a `done` that the engine waits for.
        self.ctrl_dma_ram_wr_cmd_ready.next = bits::<2>(3);
        self.accepted.d.next = self.ctrl_dma_ram_wr_cmd_valid.val();
        self.ctrl_dma_ram_wr_done.next = self.accepted.q.val();
        for k in 0..2 {
            self.ram[k].write_lanes.next = bits::<64>(0);
            if self.ctrl_dma_ram_wr_cmd_valid.val().get_bit(k)
                && !self.ctrl_dma_ram_wr_cmd_sel.val().get_bit(k)
                && !self.ctrl_dma_ram_wr_cmd_addr.val().get_bit(k * 10 + 9)
            {
                self.ram[k].write_lanes.next =
                    self.ctrl_dma_ram_wr_cmd_be.val().get_bits::<64>(k * 64);
            }
            self.ram[k].write_address.next =
                self.ctrl_dma_ram_wr_cmd_addr.val().get_bits::<9>(k * 10);
            self.ram[k].write_data.next =
                self.ctrl_dma_ram_wr_cmd_data.val().get_bits::<512>(k * 512);
        }

        // Beats leave it, for the clients in turns.
        self.fetch_a.next =
            self.a.fetch_valid.val() && (!self.b.fetch_valid.val() || self.fetched_b_last.q.val());
        self.fetch_b.next =
            self.b.fetch_valid.val() && (!self.a.fetch_valid.val() || !self.fetched_b_last.q.val());
        self.a.fetch_take.next = self.fetch_a.val();
        self.b.fetch_take.next = self.fetch_b.val();
        if self.fetch_b.val() {
            self.row.next =
                bit_cast::<9, 8>(self.b.fetch_beat.val().get_bits::<8>(1)) | bits::<9>(256);
            self.segment.next = self.b.fetch_beat.val().get_bit(0);
        } else {
            self.row.next = bit_cast::<9, 8>(self.a.fetch_beat.val().get_bits::<8>(1));
            self.segment.next = self.a.fetch_beat.val().get_bit(0);
        }
        if self.fetch_a.val() || self.fetch_b.val() {
            self.fetched_b_last.d.next = self.fetch_b.val();
        }
        self.fetching_segment.d.next = self.segment.val();
        self.ram[0].read_enable.next =
            (self.fetch_a.val() || self.fetch_b.val()) && !self.segment.val();
        self.ram[1].read_enable.next =
            (self.fetch_a.val() || self.fetch_b.val()) && self.segment.val();
        self.ram[0].read_address.next = self.row.val();
        self.ram[1].read_address.next = self.row.val();
        self.data.next = self.ram[0].read_data.val();
        if self.fetching_segment.q.val() {
            self.data.next = self.ram[1].read_data.val();
        }
        self.a.fetched_data.next = self.data.val();
        self.b.fetched_data.next = self.data.val();

        self.a.resp.join(&mut self.a_resp);
        self.b.resp.join(&mut self.b_resp);

        if self.rst.val() {
            self.descriptor.d.next = false;
            self.fresh.d.next = false;
            self.issued_b_last.d.next = false;
            self.fetched_b_last.d.next = false;
        }
    }
}
