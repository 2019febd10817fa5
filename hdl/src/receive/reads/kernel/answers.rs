//! Answers, as they come, and the orders for their bytes.

use super::super::{ACK, BAD, NAK_PSN, PIECE, Reads, ReadsState, SLOT, SPAN};
use crate::context::QP;
use drdma_emit::prelude::*;

impl Reads {
    /// Packets that come: answers wait for the orders of their frames.
    #[hdl_gen]
    pub(super) fn take_packets(&mut self) {
        self.settles.d.next = self.settled.valid.val() && self.settled.answers.val();
        self.told.d.next = self.settled.val();
        self.told_index.d.next = self.packets.q.val();
        if self.settled.valid.val() {
            self.packets.d.next = self.packets.q.val() + 1;
            if self.settled.answers.val() {
                self.arrived.d.next = self.arrived.q.val() + 1;
            }
        }
        self.stamps.ahead[1].next = self.settled.qp.val();
        self.answers.input.valid.next = self.settles.q.val();
        self.answers.input.data.next.index = self.told_index.q.val();
        self.answers.input.data.next.stamp = self.stamps.stamp[1].val();
        self.answers.input.data.next.answer = self.told.q.val();
        self.answers.output.ready.next = false;
        self.here.next = self.answers.output.data.val();
        self.unused_here.next = self.here.val().answer.answers;
        self.askings.input.valid.next = self.asked.valid.val();
        self.askings.input.data.next = self.asked.val();
        self.askings.output.ready.next = false;
        self.pieces.write_lanes.next = 0.into();
        if self.piece.valid.val() {
            self.pieces.write_lanes.next = 1.into();
        }
        self.pieces.write_address.next = (bit_cast::<PIECE, SLOT>(self.piece.slot.val()) << 4)
            | bit_cast::<PIECE, 4>(self.piece.index.val());
        self.pieces.write_data.next = bit_cast::<SPAN, 64>(self.piece.addr.val())
            | (bit_cast::<SPAN, 32>(self.piece.len.val()) << 64);
    }

    /// Orders: those that belong to no answer pass, once this is known.
    #[hdl_gen]
    pub(super) fn take_orders(&mut self) {
        self.known.next = self.answers.output.valid.val() || !self.answers.count.val().any();
        self.came.join(&mut self.orders.input);
        self.is_answer.next = self.answers.output.valid.val()
            && self.orders.output.data.val().frame_end
            && (self.here.val().index == self.ended.q.val());
        self.order.next = self.orders.output.data.val();
        // An order that is offered stays offered, even if more becomes known.
        self.passes.next = self.orders.output.valid.val()
            && (self.offered.q.val() || (self.known.val() && !self.is_answer.val()));
        self.offered.d.next = self.passes.val() && !self.order.ready.val();
        self.order.valid.next = self.passes.val();
        self.orders.output.ready.next = self.order.ready.val() && self.passes.val();
    }

    /// An answer has had its turn.
    #[hdl_gen]
    pub(super) fn end_turn(&mut self) {
        self.finishes.next = self.finishing.q.val() && (!self.good.q.val() || self.passed.val());
        if self.finishes.val() {
            self.tells.input.valid.next =
                self.good.q.val() || self.implied.q.val() || self.bad.q.val();
            self.tells.input.data.next.qp = self.qp.q.val();
            self.tells.input.data.next.psn = self.at.q.val().expected;
            self.tells.input.data.next.syndrome = ACK.into();
            if self.implied.q.val() {
                self.tells.input.data.next.syndrome = NAK_PSN.into();
            }
            if self.bad.q.val() {
                self.tells.input.data.next.syndrome = BAD.into();
            }
            if self.good.q.val() && self.live.val() {
                self.heads.write_lanes.next = 1.into();
                self.head_in.record.next.expected = self.at.q.val().expected + 1;
                if self.ends.q.val() {
                    self.lists.write_enable.next = true;
                    self.list_in.record.next = self.list_out.record.val();
                    self.list_in.record.next.head = self.followers.read_data[0].val();
                    self.list_in.record.next.used =
                        self.list_out.record.val().head != self.list_out.record.val().tail;
                }
            }
            self.done.d.next = self.done.q.val() + 1;
            self.finishing.d.next = false;
        }
        self.chooses.next = !self.finishing.q.val() || self.finishes.val();
    }

    /// The order for an answer's bytes.
    #[hdl_gen]
    pub(super) fn give_order(&mut self) {
        if self.state.q.val() == ReadsState::Offer {
            self.order.addr.next = self.addr.q.val();
            self.order.ram.next = self.ram.q.val();
            self.order.bytes.next = self.bytes.q.val();
            self.order.frame_end.next = self.last.q.val();
            if self.gives_up.q.val() {
                self.order.bytes.next = 0.into();
                self.order.frame_end.next = true;
            }
        }
        if self.orders.output.valid.val()
            && self.orders.output.ready.val()
            && self.orders.output.data.val().frame_end
        {
            self.ended.d.next = self.ended.q.val() + 1;
        }

        self.lists.write_data.next = self.list_in.bits.val();
        if self.select.every.val() {
            self.lists.write_enable.next = true;
            self.lists.write_address.next = self.cfg.index.val().get_bits::<QP>(0);
            self.lists.write_data.next = 0.into();
        }
        self.heads.write_data.next = self.head_in.bits.val();
        self.pieces.read_enable.next = true;
        self.pieces.read_address.next = (bit_cast::<PIECE, SLOT>(self.list.q.val().head) << 4)
            | bit_cast::<PIECE, 4>(self.at.d.val().piece);
        self.busy.next = self.answers.output.valid.val()
            || (self.state.q.val() != ReadsState::Idle)
            || self.finishing.q.val()
            || self.askings.output.valid.val()
            || self.settles.q.val();
    }
}
