//! The AXI-Lite slave: one write and one read at a time, as plain register accesses.

use drdma_emit::prelude::*;

/// Holds each access until it is said to be done, then responds.
///
/// Writes that are not of a whole aligned word are answered and otherwise ignored.
#[derive(LogicBlock, Default)]
pub struct AxiLite {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,

    // ------------------------------------------------------------------ AXI-Lite
    /// Write address.
    pub awaddr: Signal<In, Bits<24>>,
    /// A write address is offered.
    pub awvalid: Signal<In, Bit>,
    /// It is taken.
    pub awready: Signal<Out, Bit>,
    /// Write data.
    pub wdata: Signal<In, Bits<32>>,
    /// Its byte enables.
    pub wstrb: Signal<In, Bits<4>>,
    /// Write data are offered.
    pub wvalid: Signal<In, Bit>,
    /// They are taken.
    pub wready: Signal<Out, Bit>,
    /// A write response is offered.
    pub bvalid: Signal<Out, Bit>,
    /// It is taken.
    pub bready: Signal<In, Bit>,
    /// Read address.
    pub araddr: Signal<In, Bits<24>>,
    /// A read address is offered.
    pub arvalid: Signal<In, Bit>,
    /// It is taken.
    pub arready: Signal<Out, Bit>,
    /// Read data.
    pub rdata: Signal<Out, Bits<32>>,
    /// Read data are offered.
    pub rvalid: Signal<Out, Bit>,
    /// They are taken.
    pub rready: Signal<In, Bit>,

    // ------------------------------------------------------------------ accesses
    /// A write waits.
    pub write_valid: Signal<Out, Bit>,
    /// Its byte address, a multiple of 4.
    pub write_addr: Signal<Out, Bits<24>>,
    /// Its data.
    pub write_data: Signal<Out, Bits<32>>,
    /// It is done.
    pub write_done: Signal<In, Bit>,
    /// A read waits.
    pub read_valid: Signal<Out, Bit>,
    /// Its byte address.
    pub read_addr: Signal<Out, Bits<24>>,
    /// It is done, and these are its data.
    pub read_done: Signal<In, Bit>,
    /// Those data.
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
