//! The logic of the taker, state by state. Its parts stand in files by what they do.

use super::super::record::{GiveUpKind, MarkKind};
use super::{Taker, TakerState};
use crate::context::{CQ, QUEUE};
use drdma_emit::prelude::*;

impl Logic for Taker {
    #[hdl_gen]
    fn update(&mut self) {
        // Known at the end of a cycle, and so used in the next one.
        self.settles.d.next = self.append_taken.valid.val();
        self.settles_returned.d.next = self.append_taken.returned.val();
        self.settles_halted.d.next = self.append_taken.halts.val();
        self.take_words();

        // Receives that are given up wait, and so do takes.
        self.cfg.join(&mut self.events.cfg);
        self.broken.join(&mut self.events.broken);
        self.posted.join(&mut self.events.posted);
        self.events.event.ready.next = false;
        self.take.join(&mut self.takes.input);
        self.takes.output.ready.next = false;

        self.read_block();
        self.look_at_types();

        // A receive of a shared queue may fail and halt the queue first; of a queue pair's own queue that is not asked.
        self.only_alone.next =
            !self.goes_on.q.val() && self.places.read_data.val().get_bit(CQ) && !self.flush.q.val();
        self.asks.next = !self.only_alone.val() || !self.in_use.val();
        self.fits.next = !self.found.val()
            || self.goes_on.q.val()
            || self.flush.q.val()
            || !self.had_any.val()
            || (!self.had_all.val() && !self.now.val().wide);
        self.check_entry();

        match self.state.q.val() {
            TakerState::Ready => self.choose(),
            TakerState::Ask => self.ask(),
            TakerState::Answer => self.take_answer(),
            TakerState::Pause => {
                self.pause.d.next = self.pause.q.val() + 1;
                if self.pause.q.val().all() {
                    self.state.d.next = TakerState::Ask;
                }
            }
            TakerState::Judge => self.judge(),
            TakerState::Append => self.append(),
            TakerState::Discard => {
                self.may_pop.next = true;
                self.pop.valid.next = true;
                if self.pop.ready.val() {
                    self.state.d.next = TakerState::Discarded;
                }
            }
            TakerState::Discarded => {
                if self.popped.valid.val() {
                    self.state.d.next = TakerState::Ready;
                }
            }
            TakerState::Walk => self.walk(),
            TakerState::Mark => self.mark(),
            TakerState::Find => {
                self.current.d.next.queue = self.owns.read_data.val().get_bits::<QUEUE>(0);
                self.has.d.next = self.owns.read_data.val().get_bit(QUEUE);
                self.state.d.next = TakerState::Place;
            }
            TakerState::Place => {
                // A shared queue has no flags for its queue pairs.
                self.owned.d.next = self.has.q.val() && !self.places.read_data.val().get_bit(CQ);
                self.state.d.next = TakerState::GiveUp;
                self.kind.d.next = MarkKind::Flush;
                match self.event.q.val().kind {
                    GiveUpKind::Broken => {
                        if !self.events.is_broken.val() {
                            self.state.d.next = TakerState::Ready;
                        } else if self.has.q.val() && !self.places.read_data.val().get_bit(CQ) {
                            self.state.d.next = TakerState::Mark;
                        }
                    }
                    GiveUpKind::Reset => {}
                    GiveUpKind::Ready => {
                        self.kind.d.next = MarkKind::Calm;
                        self.state.d.next = TakerState::Ready;
                        if self.has.q.val()
                            && !self.places.read_data.val().get_bit(CQ)
                            && !self.events.is_broken.val()
                        {
                            self.state.d.next = TakerState::Mark;
                        }
                    }
                    GiveUpKind::Posted => {
                        self.flush.d.next = true;
                        self.state.d.next = TakerState::Ask;
                    }
                }
            }
            TakerState::GiveUp => {
                self.give_up.valid.next = true;
                if self.give_up.ready.val() {
                    self.state.d.next = TakerState::Told;
                }
            }
            TakerState::Told => self.take_used(),
            TakerState::Settle => self.settle(),
        }

        self.busy.next = self.takes.output.valid.val()
            || self.events.busy.val()
            || (self.state.q.val() != TakerState::Ready);

        if self.rst.val() {
            self.state.d.next = TakerState::Ready;
            self.waiting.d.next = false;
            self.denied.d.next = false;
            self.looked.d.next = false;
        }
        self.places.ahead.next = self.current.d.val().queue;
        self.dry.ahead.next = self.current.d.val().qp;
        self.owns.ahead.next = self.current.d.val().qp;
        self.next_qp.next = self.current.d.val().qp;
        self.events.next_qp.next = self.current.d.val().qp;
    }
}
