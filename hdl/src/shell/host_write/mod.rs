//! Writes completions to host memory.
//!
//! Stands between `completion` and the DMA engine's control port. An entry waits in a small RAM
//! until the engine has read it; its descriptor goes out at once, so that entries reach the host in
//! the order in which they came.
//!
//! Contract: one entry per cycle while fewer than 32 are in flight, and while the engine takes
//! descriptors; an entry's descriptor is at the output 2 cycles after it. The RAM answers one read
//! per cycle and segment, one cycle later.
//!
//! A reset loses what the engine is reading, which makes the engine wait for ever: `rst` must be the
//! engine's own reset, not the host's soft reset.

use crate::primitive::{Lutram, Skid};
use crate::shell::corundum::{DmaDescriptor, DmaWriteStatus};
use drdma_emit::prelude::*;

#[cfg(test)]
mod tests;

/// An entry for host memory.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct HostWriteEntry {
    /// Where it goes in host memory; a multiple of 32.
    pub addr: Bits<64>,
    /// Its 32 bytes.
    pub data: Bits<256>,
}

/// See the [module](self). Entry `i` is in the low half of beat `i` of the RAM: segment `i mod 2`,
/// row `i / 2`; everything else in the RAM reads as 0.
#[derive(LogicBlock, BlockDefault)]
pub struct HostWrite {
    // ------------------------------------------------------------------ clock and reset
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,

    // ------------------------------------------------------------------ entries
    /// Entries to write.
    pub write: Stream<In, HostWriteEntry>,
    /// An entry was taken whose write was not sent yet.
    pub busy: Signal<Out, Bit>,

    // ------------------------------------------------------------------ DMA write descriptors
    /// DMA write descriptors.
    pub m_axis_ctrl_dma_write_desc: Stream<Out, DmaDescriptor>,
    /// Writes that have ended.
    pub s_axis_ctrl_dma_write_desc_status: Flow<In, DmaWriteStatus>,

    // ------------------------------------------------------------------ RAM, read side
    /// One bit a segment: which RAM.
    pub ctrl_dma_ram_rd_cmd_sel: Signal<In, Bits<2>>,
    /// 10 bits a segment: row.
    pub ctrl_dma_ram_rd_cmd_addr: Signal<In, Bits<20>>,
    /// One bit a segment.
    pub ctrl_dma_ram_rd_cmd_valid: Signal<In, Bits<2>>,
    /// One bit a segment.
    pub ctrl_dma_ram_rd_cmd_ready: Signal<Out, Bits<2>>,
    /// 512 bits a segment.
    pub ctrl_dma_ram_rd_resp_data: Signal<Out, Bits<1024>>,
    /// One bit a segment.
    pub ctrl_dma_ram_rd_resp_valid: Signal<Out, Bits<2>>,
    /// One bit a segment.
    pub ctrl_dma_ram_rd_resp_ready: Signal<In, Bits<2>>,

    // The entries in flight: numbers from `head` to `tail`; `sent` tells those that may go.
    tail: DFF<Bits<6>>,
    head: DFF<Bits<6>>,
    sent: DFF<Bits<32>>,
    taken: Signal<Local, Bits<32>>,
    ended: Signal<Local, Bits<32>>,
    #[init(Constant::new(1.into()))]
    one: Constant<Bits<32>>,
    full: Signal<Local, Bit>,
    accept: Signal<Local, Bit>,

    descriptors: Skid<69>,

    entries: [Lutram<256, 4, 1>; 2],
    known: [Signal<Local, Bit>; 2],
    responses: [Skid<256>; 2],
}

impl Logic for HostWrite {
    #[hdl_gen]
    fn update(&mut self) {
        // An entry gets a number, goes to the RAM, and its descriptor goes out.
        self.full.next = (self.tail.q.val().get_bits::<5>(0) == self.head.q.val().get_bits::<5>(0))
            && (self.tail.q.val() != self.head.q.val());
        self.write.ready.next = !self.full.val() && self.descriptors.in_ready.val();
        self.accept.next =
            self.write.valid.val() && !self.full.val() && self.descriptors.in_ready.val();
        self.descriptors.in_valid.next = self.write.valid.val() && !self.full.val();
        self.descriptors.in_data.next = bit_cast::<69, 64>(self.write.addr.val())
            | (bit_cast::<69, 5>(self.tail.q.val().get_bits::<5>(0)) << 64);
        self.m_axis_ctrl_dma_write_desc.valid.next = self.descriptors.out_valid.val();
        self.descriptors.out_ready.next = self.m_axis_ctrl_dma_write_desc.ready.val();
        self.m_axis_ctrl_dma_write_desc.dma_addr.next =
            self.descriptors.out_data.val().get_bits::<64>(0);
        self.m_axis_ctrl_dma_write_desc.ram_sel.next = bits::<1>(0);
        self.m_axis_ctrl_dma_write_desc.ram_addr.next =
            bit_cast::<17, 5>(self.descriptors.out_data.val().get_bits::<5>(64)) << 6;
        self.m_axis_ctrl_dma_write_desc.len.next = bits::<16>(32);
        self.m_axis_ctrl_dma_write_desc.tag.next =
            bit_cast::<14, 5>(self.descriptors.out_data.val().get_bits::<5>(64));

        // Numbers are free again in order, once their writes were sent.
        self.taken.next = bits::<32>(0);
        if self.accept.val() {
            self.tail.d.next = self.tail.q.val() + 1;
            self.taken.next = self.one.val() << self.tail.q.val().get_bits::<5>(0);
        }
        self.ended.next = bits::<32>(0);
        if self.s_axis_ctrl_dma_write_desc_status.valid.val()
            && !self.s_axis_ctrl_dma_write_desc_status.tag.val().get_bits::<9>(5).any()
        {
            self.ended.next =
                self.one.val() << self.s_axis_ctrl_dma_write_desc_status.tag.val().get_bits::<5>(0);
        }
        self.sent.d.next = (self.sent.q.val() & !self.taken.val()) | self.ended.val();
        if (self.head.q.val() != self.tail.q.val())
            && self.sent.q.val().get_bit(self.head.q.val().get_bits::<5>(0).index())
        {
            self.head.d.next = self.head.q.val() + 1;
        }
        self.busy.next = self.head.q.val() != self.tail.q.val();

        // The engine reads.
        self.ctrl_dma_ram_rd_cmd_ready.next =
            bit_cast::<2, 1>(self.responses[0].in_ready.val().into())
                | (bit_cast::<2, 1>(self.responses[1].in_ready.val().into()) << 1);
        self.ctrl_dma_ram_rd_resp_valid.next =
            bit_cast::<2, 1>(self.responses[0].out_valid.val().into())
                | (bit_cast::<2, 1>(self.responses[1].out_valid.val().into()) << 1);
        self.ctrl_dma_ram_rd_resp_data.next =
            bit_cast::<1024, 256>(self.responses[0].out_data.val())
                | (bit_cast::<1024, 256>(self.responses[1].out_data.val()) << 512);
        for k in 0..2 {
            self.entries[k].write_enable.next =
                self.accept.val() && (self.tail.q.val().get_bits::<1>(0) == k.to_bits());
            self.entries[k].write_address.next = self.tail.q.val().get_bits::<4>(1);
            self.entries[k].write_data.next = self.write.data.val();
            self.entries[k].read_address[0].next =
                self.ctrl_dma_ram_rd_cmd_addr.val().get_bits::<4>(k * 10);
            self.known[k].next = !self.ctrl_dma_ram_rd_cmd_sel.val().get_bit(k)
                && !self.ctrl_dma_ram_rd_cmd_addr.val().get_bits::<6>(k * 10 + 4).any();
            self.responses[k].in_valid.next = self.ctrl_dma_ram_rd_cmd_valid.val().get_bit(k);
            self.responses[k].in_data.next = bits::<256>(0);
            if self.known[k].val() {
                self.responses[k].in_data.next = self.entries[k].read_data[0].val();
            }
            self.responses[k].out_ready.next = self.ctrl_dma_ram_rd_resp_ready.val().get_bit(k);
        }

        if self.rst.val() {
            self.tail.d.next = bits::<6>(0);
            self.head.d.next = bits::<6>(0);
        }
    }
}
