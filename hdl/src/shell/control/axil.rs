//! The AXI-Lite slave: turns the host's accesses into plain register accesses, one write and one read at a time.

use drdma_emit::prelude::*;

/// Holds each access until it is reported as done, then responds.
///
/// Writes of less than a whole aligned word are answered and otherwise ignored.
#[derive(LogicBlock, Default)]
pub struct AxiLite {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,

    // ------------------------------------------------------------------ AXI-Lite
    /// Write address, a byte offset in BAR2.
    pub awaddr: Signal<In, Bits<24>>,
    /// A write address is offered.
    pub awvalid: Signal<In, Bit>,
    /// The write address can be taken.
    pub awready: Signal<Out, Bit>,
    /// Write data.
    pub wdata: Signal<In, Bits<32>>,
    /// Byte enables of the write data.
    pub wstrb: Signal<In, Bits<4>>,
    /// Write data are offered.
    pub wvalid: Signal<In, Bit>,
    /// The write data can be taken.
    pub wready: Signal<Out, Bit>,
    /// A write response is offered.
    pub bvalid: Signal<Out, Bit>,
    /// The write response is taken.
    pub bready: Signal<In, Bit>,
    /// Read address, a byte offset in BAR2.
    pub araddr: Signal<In, Bits<24>>,
    /// A read address is offered.
    pub arvalid: Signal<In, Bit>,
    /// The read address can be taken.
    pub arready: Signal<Out, Bit>,
    /// Read data.
    pub rdata: Signal<Out, Bits<32>>,
    /// Read data are offered.
    pub rvalid: Signal<Out, Bit>,
    /// The read data are taken.
    pub rready: Signal<In, Bit>,

    // ------------------------------------------------------------------ accesses
    /// A write waits to be done.
    pub write_valid: Signal<Out, Bit>,
    /// Byte offset of the write in BAR2, a multiple of 4.
    pub write_addr: Signal<Out, Bits<24>>,
    /// Value that is written.
    pub write_data: Signal<Out, Bits<32>>,
    /// The write is done in this cycle.
    pub write_done: Signal<In, Bit>,
    /// A read waits to be done.
    pub read_valid: Signal<Out, Bit>,
    /// Byte offset of the read in BAR2.
    pub read_addr: Signal<Out, Bits<24>>,
    /// The read is done in this cycle, with `read_data`.
    pub read_done: Signal<In, Bit>,
    /// With `read_done`: value that is read.
    pub read_data: Signal<In, Bits<32>>,

    address: DFF<Bit>,
    address_held: DFF<Bits<24>>,
    data: DFF<Bit>,
    data_held: DFF<Bits<32>>,
    whole: DFF<Bit>,
    usable: Signal<Local, Bit>,
    respond: DFF<Bit>,
    read: DFF<Bit>,
    read_held: DFF<Bits<24>>,
    answer: DFF<Bit>,
    answer_data: DFF<Bits<32>>,
}

impl Logic for AxiLite {
    #[hdl_gen]
    fn update(&mut self) {
        self.awready.next = !self.address.q.val();
        if !self.address.q.val() {
            self.address.d.next = self.awvalid.val();
            self.address_held.d.next = self.awaddr.val();
        }
        self.wready.next = !self.data.q.val();
        if !self.data.q.val() {
            self.data.d.next = self.wvalid.val();
            self.data_held.d.next = self.wdata.val();
            self.whole.d.next = self.wstrb.val().all();
        }
        self.usable.next = self.whole.q.val() && !self.address_held.q.val().get_bits::<2>(0).any();
        self.write_valid.next =
            self.address.q.val() && self.data.q.val() && !self.respond.q.val() && self.usable.val();
        self.write_addr.next = self.address_held.q.val();
        self.write_data.next = self.data_held.q.val();
        self.bvalid.next = self.respond.q.val();
        if self.respond.q.val() {
            self.respond.d.next = !self.bready.val();
        } else if self.address.q.val()
            && self.data.q.val()
            && (!self.usable.val() || self.write_done.val())
        {
            self.address.d.next = false;
            self.data.d.next = false;
            self.respond.d.next = true;
        }

        self.arready.next = !self.read.q.val();
        self.read_valid.next = self.read.q.val() && !self.answer.q.val();
        self.read_addr.next = self.read_held.q.val();
        self.rvalid.next = self.answer.q.val();
        self.rdata.next = self.answer_data.q.val();
        if !self.read.q.val() {
            self.read.d.next = self.arvalid.val();
            self.read_held.d.next = self.araddr.val();
        }
        if self.answer.q.val() {
            if self.rready.val() {
                self.answer.d.next = false;
                self.read.d.next = false;
            }
        } else if self.read.q.val() && self.read_done.val() {
            self.answer.d.next = true;
            self.answer_data.d.next = self.read_data.val();
        }

        if self.rst.val() {
            self.address.d.next = false;
            self.data.d.next = false;
            self.respond.d.next = false;
            self.read.d.next = false;
            self.answer.d.next = false;
        }
    }
}
