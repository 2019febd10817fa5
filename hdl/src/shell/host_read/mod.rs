//! Reads host memory for the control path: work requests for `queue`, bitmaps and pointer arrays for `sequencer`,
//! receives for `receives`, and what peers READ for `replies`.
//!
//! Stands between those four clients and the DMA engine's control port. Requests of the clients become read
//! descriptors, one client after the other. The engine writes the data into a RAM, 32 KiB a client, in any order. The
//! responses leave in the order of the requests, each once its read is complete.
//!
//! Contract: each client may give a request every two cycles, and its descriptor is at the output 2 cycles later. A
//! request of more than 512 B that begins within a cache line becomes two descriptors, and takes a cycle more. 64
//! requests and 32 KiB a client can be in flight. One beat of 64 B leaves the RAM a cycle, for one client or for
//! several in turns; the first leaves 4 cycles after its read's status. A client that does not take its responses only
//! fills its own ring. The engine's writes are always taken at once. A failed read gets all its beats, with `error`.
//!
//! A read of before a reset may complete after it, but before its tag is used again. Writes are taken and done through
//! a reset.

use crate::primitive::Ram;
use crate::shell::corundum::{DmaDescriptor, DmaReadStatus};
use drdma_emit::prelude::*;

mod client;
#[cfg(test)]
pub(crate) mod dma_engine;
pub mod shared;
#[cfg(test)]
mod tests;

pub use client::Client;

/// A read of host memory.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct HostReadRequest {
    /// Host address of the first byte.
    pub addr: Bits<64>,
    /// Bytes of the read, 1 to 4,096.
    pub bytes: Bits<13>,
}

/// A beat of 64 bytes of a read.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct HostReadBeat {
    /// Bytes that were read; byte 0 of a read's first beat is the byte at its address.
    pub data: Bits<512>,
    /// The beat is the last one of its read.
    pub last: Bit,
    /// The read failed.
    pub error: Bit,
}

/// Number of clients.
const CLIENTS: usize = 4;

/// Reader of host memory for the control path; see the [module](self).
#[derive(LogicBlock, Default)]
pub struct HostRead {
    // ------------------------------------------------------------------ clock and reset
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,

    // ------------------------------------------------------------------ client a
    /// Reads of client a, `queue`.
    pub a_req: Stream<In, HostReadRequest>,
    /// Answers to client a, in the order of its reads.
    pub a_resp: Stream<Out, HostReadBeat>,

    // ------------------------------------------------------------------ client b
    /// Reads of client b, `sequencer`.
    pub b_req: Stream<In, HostReadRequest>,
    /// Answers to client b, in the order of its reads.
    pub b_resp: Stream<Out, HostReadBeat>,

    // ------------------------------------------------------------------ client c
    /// Reads of client c, `receives` and `pieces`.
    pub c_req: Stream<In, HostReadRequest>,
    /// Answers to client c, in the order of its reads.
    pub c_resp: Stream<Out, HostReadBeat>,

    // ------------------------------------------------------------------ client d
    /// Reads of client d, `replies`.
    pub d_req: Stream<In, HostReadRequest>,
    /// Answers to client d, in the order of its reads.
    pub d_resp: Stream<Out, HostReadBeat>,

    // ------------------------------------------------------------------ DMA read descriptors
    /// DMA read descriptors. Tag bits 7 and 6 are the client, bits 5 to 0 the number of its request; bit 8 is set in
    /// the second of two.
    pub m_axis_ctrl_dma_read_desc: Stream<Out, DmaDescriptor>,
    /// Statuses of reads that have ended.
    pub s_axis_ctrl_dma_read_desc_status: Flow<In, DmaReadStatus>,

    // ------------------------------------------------------------------ RAM, write side
    /// Memory that each segment's write is for, one bit each; 0 is this one.
    pub ctrl_dma_ram_wr_cmd_sel: Signal<In, Bits<2>>,
    /// Byte enables of each segment's write (2 x 64 bits).
    pub ctrl_dma_ram_wr_cmd_be: Signal<In, Bits<128>>,
    /// Row of each segment's write (2 x 10 bits).
    pub ctrl_dma_ram_wr_cmd_addr: Signal<In, Bits<20>>,
    /// Data of each segment's write (2 x 512 bits).
    pub ctrl_dma_ram_wr_cmd_data: Signal<In, Bits<1024>>,
    /// A write of each segment is offered, one bit each.
    pub ctrl_dma_ram_wr_cmd_valid: Signal<In, Bits<2>>,
    /// Always 1 for both segments: every write is taken.
    pub ctrl_dma_ram_wr_cmd_ready: Signal<Out, Bits<2>>,
    /// The write that each segment took in the cycle before is done, one bit each.
    pub ctrl_dma_ram_wr_done: Signal<Out, Bits<2>>,

    // ------------------------------------------------------------------ counters
    /// Number of reads issued, a cycle later.
    pub count_reads: Signal<Out, Bits<16>>,
    /// Bytes of the reads that `count_reads` counts.
    pub count_bytes: Signal<Out, Bits<16>>,

    clients: [Client; CLIENTS],

    // The descriptor at the output.
    descriptor: DFF<Bit>,
    descriptor_addr: DFF<Bits<64>>,
    descriptor_bytes: DFF<Bits<13>>,
    descriptor_place: DFF<Bits<17>>,
    descriptor_tag: DFF<Bits<9>>,
    unused_tag: Signal<Local, Bits<6>>,
    fresh: DFF<Bit>,
    room: Signal<Local, Bit>,
    /// Client whose read is issued: the next one after the last that has a read, in cyclic order.
    issues: Signal<Local, Bit>,
    issuer: Signal<Local, Bits<2>>,
    issued_last: DFF<Bits<2>>,

    // The two segments of the RAM; the rows of each client lie behind those of the one before.
    ram: [Ram<512, 64, 10>; 2],
    accepted: DFF<Bits<2>>,

    // The client whose beat is fetched, chosen in the same way.
    fetches: Signal<Local, Bit>,
    fetcher: Signal<Local, Bits<2>>,
    fetched_last: DFF<Bits<2>>,
    row: Signal<Local, Bits<10>>,
    segment: Signal<Local, Bit>,
    fetching_segment: DFF<Bit>,
    data: Signal<Local, Bits<512>>,
}

impl Logic for HostRead {
    #[hdl_gen]
    fn update(&mut self) {
        self.a_req.join(&mut self.clients[0].req);
        self.b_req.join(&mut self.clients[1].req);
        self.c_req.join(&mut self.clients[2].req);
        self.d_req.join(&mut self.clients[3].req);

        // Reads of the clients become descriptors, in turns.
        self.room.next = !self.descriptor.q.val() || self.m_axis_ctrl_dma_read_desc.ready.val();
        self.issues.next = false;
        self.issuer.next = bits::<2>(0);
        for k in 0..CLIENTS {
            if self.clients[CLIENTS - 1 - k].read_valid.val() {
                self.issues.next = true;
                self.issuer.next = (CLIENTS - 1 - k).to_bits();
            }
        }
        for k in 0..CLIENTS - 1 {
            if self.clients[CLIENTS - 1 - k].read_valid.val()
                && (self.issued_last.q.val() < (CLIENTS - 1 - k).to_bits())
            {
                self.issuer.next = (CLIENTS - 1 - k).to_bits();
            }
        }
        self.fresh.d.next = self.room.val() && self.issues.val();
        if self.room.val() {
            self.descriptor.d.next = self.issues.val();
        }
        for k in 0..CLIENTS {
            self.clients[k].read_take.next = false;
            if self.room.val() && self.issues.val() && (self.issuer.val() == k.to_bits()) {
                self.clients[k].read_take.next = true;
                self.issued_last.d.next = self.issuer.val();
                self.descriptor_addr.d.next = self.clients[k].read_addr.val();
                self.descriptor_bytes.d.next = self.clients[k].read_bytes.val();
                self.descriptor_place.d.next =
                    bit_cast::<17, 15>(self.clients[k].read_place.val()) | (k * 32_768).to_bits();
                self.descriptor_tag.d.next =
                    (bit_cast::<9, 1>(self.clients[k].read_second.val().into()) << 8)
                        | bit_cast::<9, 6>(self.clients[k].read_index.val())
                        | (k * 64).to_bits();
            }
        }
        self.m_axis_ctrl_dma_read_desc.valid.next = self.descriptor.q.val();
        self.m_axis_ctrl_dma_read_desc.dma_addr.next = self.descriptor_addr.q.val();
        self.m_axis_ctrl_dma_read_desc.ram_sel.next = bits::<1>(0);
        self.m_axis_ctrl_dma_read_desc.ram_addr.next = self.descriptor_place.q.val();
        self.m_axis_ctrl_dma_read_desc.len.next = bit_cast::<16, 13>(self.descriptor_bytes.q.val());
        self.m_axis_ctrl_dma_read_desc.tag.next = bit_cast::<14, 9>(self.descriptor_tag.q.val());
        self.count_reads.next = bit_cast::<16, 1>(self.fresh.q.val().into());
        self.count_bytes.next = bits::<16>(0);
        if self.fresh.q.val() {
            self.count_bytes.next = bit_cast::<16, 13>(self.descriptor_bytes.q.val());
        }

        // Reads that have ended. Which of two reads it is does not matter: the last one counts.
        self.unused_tag.next = self.s_axis_ctrl_dma_read_desc_status.tag.val().get_bits::<6>(8);
        for k in 0..CLIENTS {
            self.clients[k].done_valid.next = self.s_axis_ctrl_dma_read_desc_status.valid.val()
                && (self.s_axis_ctrl_dma_read_desc_status.tag.val().get_bits::<2>(6)
                    == k.to_bits());
            self.clients[k].done_index.next =
                self.s_axis_ctrl_dma_read_desc_status.tag.val().get_bits::<6>(0);
            self.clients[k].done_error.next =
                self.s_axis_ctrl_dma_read_desc_status.error.val().any();
        }

        // Data are written into the RAM. A reset must not lose a `done` that the engine waits for.
        self.ctrl_dma_ram_wr_cmd_ready.next = bits::<2>(3);
        self.accepted.d.next = self.ctrl_dma_ram_wr_cmd_valid.val();
        self.ctrl_dma_ram_wr_done.next = self.accepted.q.val();
        for k in 0..2 {
            self.ram[k].write_lanes.next = bits::<64>(0);
            if self.ctrl_dma_ram_wr_cmd_valid.val().get_bit(k)
                && !self.ctrl_dma_ram_wr_cmd_sel.val().get_bit(k)
            {
                self.ram[k].write_lanes.next =
                    self.ctrl_dma_ram_wr_cmd_be.val().get_bits::<64>(k * 64);
            }
            self.ram[k].write_address.next =
                self.ctrl_dma_ram_wr_cmd_addr.val().get_bits::<10>(k * 10);
            self.ram[k].write_data.next =
                self.ctrl_dma_ram_wr_cmd_data.val().get_bits::<512>(k * 512);
        }

        // Beats leave the RAM, for the clients in turns.
        self.fetches.next = false;
        self.fetcher.next = bits::<2>(0);
        for k in 0..CLIENTS {
            if self.clients[CLIENTS - 1 - k].fetch_valid.val() {
                self.fetches.next = true;
                self.fetcher.next = (CLIENTS - 1 - k).to_bits();
            }
        }
        for k in 0..CLIENTS - 1 {
            if self.clients[CLIENTS - 1 - k].fetch_valid.val()
                && (self.fetched_last.q.val() < (CLIENTS - 1 - k).to_bits())
            {
                self.fetcher.next = (CLIENTS - 1 - k).to_bits();
            }
        }
        self.row.next = bits::<10>(0);
        self.segment.next = false;
        for k in 0..CLIENTS {
            self.clients[k].fetch_take.next = false;
            if self.fetches.val() && (self.fetcher.val() == k.to_bits()) {
                self.clients[k].fetch_take.next = true;
                self.fetched_last.d.next = self.fetcher.val();
                self.row.next =
                    bit_cast::<10, 8>(self.clients[k].fetch_beat.val().get_bits::<8>(1))
                        | (k * 256).to_bits();
                self.segment.next = self.clients[k].fetch_beat.val().get_bit(0);
            }
        }
        self.fetching_segment.d.next = self.segment.val();
        self.ram[0].read_enable.next = self.fetches.val() && !self.segment.val();
        self.ram[1].read_enable.next = self.fetches.val() && self.segment.val();
        self.ram[0].read_address.next = self.row.val();
        self.ram[1].read_address.next = self.row.val();
        self.data.next = self.ram[0].read_data.val();
        if self.fetching_segment.q.val() {
            self.data.next = self.ram[1].read_data.val();
        }
        for k in 0..CLIENTS {
            self.clients[k].fetched_data.next = self.data.val();
        }
        self.clients[0].resp.join(&mut self.a_resp);
        self.clients[1].resp.join(&mut self.b_resp);
        self.clients[2].resp.join(&mut self.c_resp);
        self.clients[3].resp.join(&mut self.d_resp);

        if self.rst.val() {
            self.descriptor.d.next = false;
            self.fresh.d.next = false;
            self.issued_last.d.next = bits::<2>(0);
            self.fetched_last.d.next = bits::<2>(0);
        }
    }
}
