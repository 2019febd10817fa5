//! The logic of READs and atomics that wait for answers. Its parts stand in files by what they do.

mod answers;
mod judge;
mod lists;

use super::{Reads, ReadsState};
use crate::context::QP;
use drdma_emit::prelude::*;

impl Logic for Reads {
    #[hdl_gen]
    fn update(&mut self) {
        // Words that the host writes into tables.
        self.unused.next = self.cfg.data.val();
        self.select.valid.next = self.cfg.valid.val();
        self.select.number.next = self.cfg.table.val();
        self.select.word.next = self.cfg.word.val();
        self.stamps.written.next = self.select.queue_pair.val();
        self.stamps.index.next = self.cfg.index.val().get_bits::<QP>(0);

        self.take_packets();
        self.take_orders();

        // The keeper.
        // An answer that finishes may take a place in the cycle in which this is computed.
        self.tells_roomy.next = self.tells.free.val() >= 3;
        self.tells.output.join(&mut self.response);
        self.tells.input.valid.next = false;
        self.tells.input.data.next = self.held.q.val();
        self.ack.ready.next = false;
        self.unused_behind.next = self.done.q.val() - self.target.q.val();
        self.drained.next = !self.unused_behind.val().get_bit(15);
        self.reserved.next = (self.ack.syndrome.val().get_bits::<2>(5) == 2)
            || self.ack.syndrome.val().get_bit(7)
            || ((self.ack.syndrome.val().get_bits::<2>(5) == 3)
                && self.ack.syndrome.val().get_bits::<3>(2).any());

        self.look_at_list();
        self.end_turn();

        match self.state.q.val() {
            ReadsState::Idle => self.choose(),
            ReadsState::Look => self.look(),
            ReadsState::Head => self.take_head(),
            ReadsState::Judge => self.judge(),
            ReadsState::Cut => self.cut(),
            ReadsState::Offer => self.offer(),
        }

        self.give_order();

        if self.rst.val() {
            self.state.d.next = ReadsState::Idle;
            self.finishing.d.next = false;
            self.settles.d.next = false;
            self.offered.d.next = false;
            self.packets.d.next = 0.into();
            self.ended.d.next = 0.into();
            self.arrived.d.next = 0.into();
            self.done.d.next = 0.into();
            self.parked.d.next = false;
        }

        // The tables are addressed for the next cycle.
        self.lists.ahead.next = self.qp.d.val();
        self.stamps.ahead[0].next = self.qp.d.val();
        self.closed_next.next = self.qp.d.val();
    }
}
