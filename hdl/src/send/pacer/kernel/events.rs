//! Events of the pacer, and its tables.

use super::super::{LINE, Pacer, PacerEvent, PacerState};
use crate::context::QP;
use drdma_emit::prelude::*;

impl Pacer {
    /// Words that the host writes into tables.
    #[hdl_gen]
    pub(super) fn take_words(&mut self) {
        self.unused.next = self.cfg.data.val();
        self.unused_interval.next = self.settings.cnp_interval.val();
        self.unused_behind.next = self.behind.q.val();
        self.unused_product.next = self.cut.product.val();
        self.select.valid.next = self.cfg.valid.val();
        self.select.number.next = self.cfg.table.val();
        self.select.word.next = self.cfg.word.val();
        self.may_mark.next = (self.cfg.data.val().get_bits::<2>(16) == 1)
            || (self.cfg.data.val().get_bits::<2>(16) == 2);
        self.marks.write_enable.next =
            self.select.queue_pair.val() && (self.cfg.word.val() == self.tos_word.val());
        self.marks.write_address.next = self.cfg.index.val().get_bits::<QP>(0);
        self.marks.write_data.next = bit_cast::<1, 1>(self.may_mark.val().into());
        self.renewed.input.valid.next = self.select.state.val() && !self.select.every.val();
        self.renewed.input.data.next.qp = self.cfg.index.val().get_bits::<QP>(0);
        self.renewed.output.ready.next = false;
    }

    /// Events wait until they are chosen.
    #[hdl_gen]
    pub(super) fn queue_events(&mut self) {
        self.cnps.input.valid.next = self.notified.valid.val();
        self.cnps.input.data.next.qp = self.notified.qp.val();
        self.cnps.output.ready.next = false;
        self.packets.input.valid.next = self.packet.valid.val();
        self.packets.input.data.next = self.packet.val();
        self.packets.output.ready.next = false;
        self.ring.output.ready.next = false;
        self.ring.input.valid.next = false;
        self.ring.input.data.next.qp = self.qp.q.val();
    }

    /// The state of the current queue pair as it is read and written.
    #[hdl_gen]
    pub(super) fn access_tables(&mut self) {
        self.limits.write_enable.next = false;
        self.limits.write_address.next = self.qp.q.val();
        self.written.record.next = self.it.q.val();
        self.limits.write_data.next = self.written.bits.val();
        self.is_limited.write_enable.next = false;
        self.is_limited.write_address.next = self.qp.q.val();
        self.is_limited.write_data.next =
            bit_cast::<1, 1>((self.it.q.val().rings && (self.it.q.val().rate != LINE)).into());
        self.read.bits.next = self.limits.read_data.val();
        self.is_limited.ahead.next = self.limited_next.val();
        self.limited.next = self.is_limited.read_data.val().get_bit(0);
    }

    /// Chooses the next event: at most every other one is a turn of the ring.
    #[hdl_gen]
    pub(super) fn choose(&mut self) {
        self.units.d.next = self.packets.output.data.val().units;
        self.state.d.next = PacerState::Load;
        self.looked.d.next = false;
        if self.ring.output.valid.val() && !self.looked.q.val() {
            self.ring.output.ready.next = true;
            self.looked.d.next = true;
            self.event.d.next = PacerEvent::Look;
            self.qp.d.next = self.ring.output.data.val().qp;
        } else if self.renewed.output.valid.val() {
            self.renewed.output.ready.next = true;
            self.event.d.next = PacerEvent::Renewed;
            self.qp.d.next = self.renewed.output.data.val().qp;
        } else if self.packets.output.valid.val() {
            self.packets.output.ready.next = true;
            self.event.d.next = PacerEvent::Packet;
            self.qp.d.next = self.packets.output.data.val().qp;
        } else if self.cnps.output.valid.val() {
            self.cnps.output.ready.next = true;
            self.event.d.next = PacerEvent::Notified;
            self.qp.d.next = self.cnps.output.data.val().qp;
        } else {
            self.state.d.next = PacerState::Choose;
        }
    }
}
