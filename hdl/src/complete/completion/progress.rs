//! Keeps how far every queue pair has come: the latest packet that was sent, and the latest that was acknowledged.

use crate::context::{Flags, QP, Table};
use drdma_emit::prelude::*;

/// Finds out for the completion block whether an acknowledgement belongs to a packet that was sent, and whether a
/// packet was acknowledged already. PSNs are compared as numbers of 24 bits, half of them ahead.
///
/// Contract: `next_qp` is the value of `qp` in the next cycle. The outputs belong to `qp` of the cycle before and to
/// `psn` of this cycle, which is `early_psn` of the cycle before; `acknowledge` and `forget` are for that `qp`. An
/// input of a cycle counts from the next one, and shows at the outputs from the one after that. After a reset `clear`
/// is given for every queue pair.
///
/// # Inputs
/// `sending_*`: a packet goes to the packetizer. `qp`, `psn`: the packet in question. `forget`: `qp` begins anew.
/// `acknowledge`: the packet is acknowledged, or with `refuses` those before it, if `genuine`.
///
/// # Outputs
/// `genuine`: the packet was sent. `early`: the packet was acknowledged.
#[derive(LogicBlock, BlockDefault)]
pub struct Progress {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// A packet is sent.
    pub sending_valid: Signal<In, Bit>,
    /// With `sending_valid`: queue pair of the packet.
    pub sending_qp: Signal<In, Bits<QP>>,
    /// With `sending_valid`: sequence number of the packet.
    pub sending_psn: Signal<In, Bits<24>>,
    /// Value of `qp` in the next cycle.
    pub next_qp: Signal<In, Bits<QP>>,
    /// Queue pair whose sequence numbers are compared.
    pub qp: Signal<In, Bits<QP>>,
    /// Sequence number to compare, given a cycle after `qp`.
    pub psn: Signal<In, Bits<24>>,
    /// The sequence number `psn`, given together with `qp`.
    pub early_psn: Signal<In, Bits<24>>,
    /// The packet `psn` is acknowledged.
    pub acknowledge: Signal<In, Bit>,
    /// With `acknowledge`: the packet is refused, and those before it are acknowledged.
    pub refuses: Signal<In, Bit>,
    /// The packet `psn` was sent.
    pub genuine: Signal<Out, Bit>,
    /// The packet `psn` was acknowledged before.
    pub early: Signal<Out, Bit>,
    /// The queue pair `qp` begins anew: its sequence numbers are forgotten.
    pub forget: Signal<In, Bit>,
    /// The sequence numbers of the queue pair `clear_index` are forgotten.
    pub clear: Signal<In, Bit>,
    /// With `clear`: the queue pair.
    pub clear_index: Signal<In, Bits<QP>>,

    /// Queue pair that the outputs belong to.
    shown: DFF<Bits<QP>>,
    sent: Table<24, QP>,
    has_sent: Flags<QP, 1>,
    // Sequence number, and whether there is one.
    acked: Table<25, QP>,
    last_sent: DFF<Bits<24>>,
    is_sent: DFF<Bit>,
    last_acked: DFF<Bits<25>>,
    is_early: DFF<Bit>,
    newest: Signal<Local, Bits<24>>,
    ahead: Signal<Local, Bit>,
    behind: Signal<Local, Bit>,
    late: Signal<Local, Bit>,
    #[init(Constant::new((1_usize << 24).to_bits()))]
    valid: Constant<Bits<25>>,
}

impl Logic for Progress {
    #[hdl_gen]
    fn update(&mut self) {
        self.shown.d.next = self.qp.val();
        self.sent.write_enable.next = self.sending_valid.val();
        self.sent.write_address.next = self.sending_qp.val();
        self.sent.write_data.next = self.sending_psn.val();
        self.sent.ahead.next = self.next_qp.val();
        self.last_sent.d.next = self.sent.read_data.val();
        self.has_sent.ahead[0].next = self.next_qp.val();
        self.is_sent.d.next = self.has_sent.flag[0].val();
        self.has_sent.set_valid.next = self.sending_valid.val();
        self.has_sent.set_index.next = self.sending_qp.val();
        // A packet that is sent while its queue pair begins anew belongs to the new ones.
        self.has_sent.clear_valid.next = self.clear.val()
            || (self.forget.val()
                && !(self.sending_valid.val() && (self.sending_qp.val() == self.shown.q.val())));
        self.has_sent.clear_index.next = self.shown.q.val();
        self.has_sent.wipe_valid.next = self.clear.val();
        if self.clear.val() {
            self.has_sent.clear_index.next = self.clear_index.val();
        }
        self.ahead.next = (self.last_sent.q.val() - self.psn.val()).get_bit(23);
        self.genuine.next = self.is_sent.q.val() && !self.ahead.val();

        self.acked.ahead.next = self.next_qp.val();
        self.last_acked.d.next = self.acked.read_data.val();
        self.late.next =
            (self.acked.read_data.val().get_bits::<24>(0) - self.early_psn.val()).get_bit(23);
        self.is_early.d.next = self.acked.read_data.val().get_bit(24) && !self.late.val();
        self.early.next = self.is_early.q.val();
        self.newest.next = self.psn.val();
        if self.refuses.val() {
            self.newest.next = self.psn.val() - 1;
        }
        self.behind.next =
            (self.newest.val() - self.last_acked.q.val().get_bits::<24>(0)).get_bit(23);
        self.acked.write_address.next = self.shown.q.val();
        self.acked.write_data.next = bit_cast::<25, 24>(self.newest.val()) | self.valid.val();
        self.acked.write_enable.next =
            self.acknowledge.val() && (!self.last_acked.q.val().get_bit(24) || !self.behind.val());
        if self.forget.val() {
            self.acked.write_enable.next = true;
            self.acked.write_data.next = 0.into();
        }
        if self.clear.val() {
            self.acked.write_enable.next = true;
            self.acked.write_address.next = self.clear_index.val();
            self.acked.write_data.next = 0.into();
        }
    }
}
