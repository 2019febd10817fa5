//! How far every queue pair has come: the latest packet sent and the latest one acknowledged.

use crate::primitive::Lutram;
use rust_hdl_core::prelude::*;
use rust_hdl_widgets::prelude::*;

/// Tells whether an acknowledgement is of a packet that was sent, and whether a packet was
/// acknowledged already. PSNs are compared as numbers of 24 bits, half of them ahead.
///
/// Answers in the same cycle; what is told in a cycle counts from the next.
///
/// # Inputs
/// `sending_*`: a packet goes to the packetizer. `ack_*`: an acknowledgement, taken with `acknowledge`.
/// `sent_*`: a packet that somebody asks about. `forget_*`: a queue pair begins anew.
///
/// # Outputs
/// `genuine`: the acknowledged packet was sent. `early`: the packet asked about was acknowledged.
#[derive(LogicBlock, Default)]
pub struct Progress {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// A packet is sent,
    pub sending_valid: Signal<In, Bit>,
    /// of this queue pair,
    pub sending_qp: Signal<In, Bits<8>>,
    /// with this PSN.
    pub sending_psn: Signal<In, Bits<24>>,
    /// The queue pair of an acknowledgement.
    pub ack_qp: Signal<In, Bits<8>>,
    /// Its PSN.
    pub ack_psn: Signal<In, Bits<24>>,
    /// It refuses that packet, and acknowledges those before it.
    pub ack_refuses: Signal<In, Bit>,
    /// It counts.
    pub acknowledge: Signal<In, Bit>,
    /// Its packet was sent.
    pub genuine: Signal<Out, Bit>,
    /// A queue pair,
    pub sent_qp: Signal<In, Bits<8>>,
    /// and a packet of it
    pub sent_psn: Signal<In, Bits<24>>,
    /// that was acknowledged already.
    pub early: Signal<Out, Bit>,
    /// This queue pair
    pub forget_qp: Signal<In, Bits<8>>,
    /// begins anew.
    pub forget: Signal<In, Bit>,

    sent: Lutram<24, 8, 1>,
    has_sent: DFF<Bits<256>>,
    acked: Lutram<24, 8, 2>,
    has_acked: DFF<Bits<256>>,
    is_genuine: Signal<Local, Bit>,
    newest: Signal<Local, Bits<24>>,
    ahead: Signal<Local, Bit>,
    behind: Signal<Local, Bit>,
    late: Signal<Local, Bit>,
}

impl Logic for Progress {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, has_sent, has_acked);
        self.sent.clk.next = self.clk.val();
        self.sent.write_enable.next = self.sending_valid.val();
        self.sent.write_address.next = self.sending_qp.val();
        self.sent.write_data.next = self.sending_psn.val();
        self.sent.read_address[0].next = self.ack_qp.val();
        self.ahead.next = (self.sent.read_data[0].val() - self.ack_psn.val()).get_bit(23);
        self.is_genuine.next =
            self.has_sent.q.val().get_bit(self.ack_qp.val().index()) && !self.ahead.val();
        self.genuine.next = self.is_genuine.val();

        self.newest.next = self.ack_psn.val();
        if self.ack_refuses.val() {
            self.newest.next = self.ack_psn.val() - 1;
        }
        self.acked.clk.next = self.clk.val();
        self.acked.read_address[0].next = self.ack_qp.val();
        self.behind.next = (self.newest.val() - self.acked.read_data[0].val()).get_bit(23);
        self.acked.write_address.next = self.ack_qp.val();
        self.acked.write_data.next = self.newest.val();
        self.acked.write_enable.next = self.acknowledge.val()
            && self.is_genuine.val()
            && (!self.has_acked.q.val().get_bit(self.ack_qp.val().index()) || !self.behind.val());
        self.acked.read_address[1].next = self.sent_qp.val();
        self.late.next = (self.acked.read_data[1].val() - self.sent_psn.val()).get_bit(23);
        self.early.next =
            self.has_acked.q.val().get_bit(self.sent_qp.val().index()) && !self.late.val();

        if self.acknowledge.val() && self.is_genuine.val() {
            self.has_acked.d.next =
                self.has_acked.q.val().replace_bit(self.ack_qp.val().index(), true);
        }
        if self.forget.val() {
            self.has_acked.d.next =
                self.has_acked.q.val().replace_bit(self.forget_qp.val().index(), false);
            self.has_sent.d.next =
                self.has_sent.q.val().replace_bit(self.forget_qp.val().index(), false);
        }
        if self.sending_valid.val() {
            self.has_sent.d.next =
                self.has_sent.d.val().replace_bit(self.sending_qp.val().index(), true);
        }
        if self.rst.val() {
            self.has_sent.d.next = 0.into();
            self.has_acked.d.next = 0.into();
        }
    }
}
