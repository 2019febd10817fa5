//! Takes of receives, for queue pairs.

use super::super::record::PoppedKind;
use super::{OWN, PLACE, Taker, TakerState};
use crate::context::{CQ, QP, QUEUE};
use drdma_emit::prelude::*;

impl Taker {
    /// The host writes entries of queues and attributes.
    #[hdl_gen]
    pub(super) fn take_words(&mut self) {
        self.select.valid.next = self.cfg.valid.val();
        self.select.number.next = self.cfg.table.val();
        self.select.word.next = self.cfg.word.val();
        self.unused.next = self.cfg.data.val().get_bits::<6>(26);
        self.places.write_enable.next =
            self.select.receive_queue.val() && (self.cfg.word.val() == self.place_word.val());
        self.places.write_address.next = self.cfg.index.val().get_bits::<QUEUE>(0);
        self.places.write_data.next =
            bit_cast::<PLACE, CQ>(self.cfg.data.val().get_bits::<CQ>(self.cq_at.val().index()));
        if self.cfg.data.val().get_bits::<8>(self.shared_at.val().index()) == 1 {
            self.places.write_data.next = self.places.write_data.val().replace_bit(CQ, true);
        }
        // No queue pair has a queue after a reset: `data` is 0 then.
        self.owns.write_enable.next = self.select.attributes.val()
            && (self.select.every.val() || (self.cfg.word.val() == self.own_word.val()));
        self.owns.write_address.next = self.cfg.index.val().get_bits::<QP>(0);
        self.owns.write_data.next = bit_cast::<OWN, QUEUE>(
            self.cfg.data.val().get_bits::<QUEUE>(self.own_at.val().index()),
        );
        if self.cfg.data.val().get_bits::<8>(self.receives_at.val().index()) == 1 {
            self.owns.write_data.next = self.owns.write_data.val().replace_bit(QUEUE, true);
        }
    }

    /// Waits for a take, or for a receive that is given up.
    #[hdl_gen]
    pub(super) fn choose(&mut self) {
        self.goes_on.d.next = false;
        self.walks.d.next = false;
        self.flush.d.next = false;
        self.event.d.next = self.events.event.val();
        if self.events.event.valid.val() {
            self.current.d.next.qp = self.events.event.qp.val();
            if self.settled.val() {
                self.events.event.ready.next = true;
                self.state.d.next = TakerState::Find;
            }
        } else {
            self.current.d.next = self.takes.output.data.val();
            self.takes.output.ready.next = self.room.val();
            if self.takes.output.valid.val() && self.room.val() {
                self.state.d.next = TakerState::Ask;
            }
        }
    }

    /// Asks for a block, once the queue pair has no receive in use.
    #[hdl_gen]
    pub(super) fn ask(&mut self) {
        // Whether a block is asked for is known late; so the pool is told early that one may be. A take that
        // cannot
        // ask leaves the turn to other operations until it can.
        self.denied.d.next = !self.asks.val() || self.refuses.val();
        self.may_pop.next = !self.denied.q.val();
        self.pop.valid.next = self.could_ask.val() && !(self.only_alone.val() && self.in_use.val());
        if self.refuses.val() {
            self.block.d.next.kind = PoppedKind::Nothing;
            self.state.d.next = TakerState::Judge;
        } else if self.asks.val() && !self.denied.q.val() && self.pop.ready.val() {
            self.state.d.next = TakerState::Answer;
        } else if self.flush.q.val() && !self.asks.val() {
            // The host has reset the queue pair while the take waited.
            self.waiting.d.next = false;
            self.state.d.next = TakerState::Ready;
        }
    }

    /// Waits for the block.
    #[hdl_gen]
    pub(super) fn take_answer(&mut self) {
        self.block.d.next = self.popped.val();
        self.positioned.d.next =
            self.popped.data.val().get_bits::<32>(64) == self.popped.position.val();
        self.posted_all.d.next = self.blocks.val() <= self.popped.posted.val();
        self.pause.d.next = 0.into();
        if self.popped.valid.val() {
            self.waiting.d.next = false;
            self.state.d.next = TakerState::Judge;
            if self.popped.kind.val() == PoppedKind::Later {
                self.waiting.d.next = true;
            }
        }
    }
}
