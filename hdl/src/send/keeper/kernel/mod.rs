//! The logic of the keeper. Its parts stand in files by what they do.

mod answers;
mod choose;
mod events;
mod lists;
mod packets;

use drdma_abi::roce::operation;
use drdma_emit::prelude::*;

use super::{
    CLOSED_READERS, FEW, Keeper, KeeperEvent, KeeperState, PRESSED, TIME, TIMEOUT_UNIT, UNIT,
};
use crate::context::QP;
use crate::receive::reads::BAD_RESPONSE;

/// Operations that are answered.
const READ_REQUEST: u64 = operation::READ_REQUEST as u64;
const COMPARE_AND_SWAP: u64 = operation::COMPARE_AND_SWAP as u64;
const FETCH_AND_ADD: u64 = operation::FETCH_AND_ADD as u64;

/// Syndrome that stands for an answer to a READ that does not fit the READ.
const BAD: u64 = BAD_RESPONSE as u64;

/// The last queue pair, whose entries are cleared last after a reset.
const LAST: u64 = (1 << QP) - 1;

impl Logic for Keeper {
    #[hdl_gen]
    fn update(&mut self) {
        // Words that the host writes into tables.
        self.unused.next = self.cfg.data.val();
        self.cfg.join(&mut self.policies.cfg);
        self.select.valid.next = self.cfg.valid.val();
        self.select.number.next = self.cfg.table.val();
        self.select.word.next = self.cfg.word.val();
        self.stamps.written.next = self.select.queue_pair.val();
        self.stamps.index.next = self.cfg.index.val().get_bits::<QP>(0);
        self.renewed.input.valid.next = self.select.state.val() && !self.select.every.val();
        self.renewed.input.data.next.qp = self.cfg.index.val().get_bits::<QP>(0);
        self.renewed.output.ready.next = !self.early.q.val();

        // Pages.
        self.done.join(&mut self.pages.done);
        self.pages.free.join(&mut self.free);
        self.pages.hold.valid.next = false;
        self.pages.hold.page.next = self.act_held.q.val().page;
        self.pages.release.valid.next = false;
        self.pages.release.page.next = self.at.q.val();
        self.pages.send.valid.next = false;
        self.pages.wipe.valid.next = self.state.q.val() == KeeperState::Clear;
        self.pages.wipe.page.next = self.sweep.q.val();
        self.sweep.d.next = self.sweep.q.val() + 1;
        self.pressed.d.next = self.kept.q.val() >= PRESSED;
        self.room.d.next = self.all_pages.val() - self.kept.q.val();

        // Time.
        self.clock.d.next = self.clock.q.val() + 1;
        self.now.next = self.clock.q.val().get_bits::<TIME>(UNIT);
        self.late.next = self.age.q.val() >> self.policy.q.val().timeout;
        self.overdue.next = self.list.q.val().waiting
            && self.policy.q.val().timeout.any()
            && (self.late.val() >> TIMEOUT_UNIT as u64).any();
        self.pause_over.next = self.list.q.val().paused
            && (self.left.q.val().get_bit(TIME - 1) || !self.left.q.val().any());

        // Streams.
        self.sends_roomy.next = self.items.free.val() >= 5;
        self.tells_roomy.next = self.tells.free.val() >= 4;
        self.packet.ready.next = false;
        self.response.ready.next = false;
        self.next_turns.output.ready.next = false;
        self.turns.input.valid.next = self.turn.q.val();
        self.turns.input.data.next.qp = self.turn_qp.q.val();
        self.turn.d.next = false;
        self.turns.output.join(&mut self.next_turns.input);
        self.items.output.join(&mut self.shorten.item);
        self.shorten.out.join(&mut self.item);
        self.tells.output.join(&mut self.told);
        self.tells.input.valid.next = false;
        self.makes_item.next = false;
        self.sends.next = false;
        self.all_sent.next = false;
        self.leaves.next = false;
        if self.recent.q.val().any() {
            self.recent.d.next = self.recent.q.val() - 1;
        }
        self.lists_wait.next = self.next_turns.output.valid.val() || self.recent.q.val().any();
        self.backed_up.next = self.lists_wait.val()
            && ((self.sending.q.val() >= FEW)
                || (self.has_left.q.val() && (self.sending.q.val() == FEW - 1)));
        self.runs.next = self.state.q.val() == KeeperState::Run;

        // The current event: the one in the pipeline, or the one that takes longer.
        self.that.next = self.list.q.val();
        self.reply.next = self.act_answer.q.val();
        self.who.next = self.act_qp.q.val();
        if !self.runs.val() {
            self.that.next = self.walk.q.val();
            self.reply.next = self.walk_answer.q.val();
            self.who.next = self.walk_qp.q.val();
        }
        self.turn_qp.d.next = self.who.val();
        self.tells.input.data.next = self.reply.val();

        // Entries of the tables for the queue pair of the chosen event.
        self.list_out.bits.next = self.lists.read_data.val();
        self.is_current.next =
            self.stamps.stamp[0].val() == self.held.q.val().total.get_bits::<32>(0);
        self.keeps.next =
            self.policies.policy.val().keeps && !self.quits.read_data.val().get_bit(0);

        self.look_at_packet();
        self.look_at_answer();

        self.after.next = self.that.val();
        self.writes.next = false;
        self.quit.next = false;
        self.quit_index.next = self.who.val();
        self.quit_data.next = 1.into();
        self.early_taken.next = false;

        self.pass_on();

        // An event takes effect.
        if self.runs.val() && self.act.q.val() {
            // A `sent` item goes along.
            self.makes_item.next = self.act_carries.q.val();
            match self.act_event.q.val() {
                KeeperEvent::Packet => self.keep_packet(),
                KeeperEvent::Response => self.take_answer(),
                KeeperEvent::Forget => self.forget(),
                KeeperEvent::Go => self.go_on(),
                KeeperEvent::Resend => self.send_again(),
                KeeperEvent::Tick => self.watch(),
                KeeperEvent::Item => {}
            }
        }

        match self.state.q.val() {
            KeeperState::Clear => {
                if self.select.every.val() && (self.cfg.index.val() == LAST) {
                    self.state.d.next = KeeperState::Run;
                }
            }
            KeeperState::Run => {}
            KeeperState::Read => {
                self.state.d.next = KeeperState::Act;
                if (self.walk_event.q.val() != KeeperEvent::Forget) && !self.covers.val() {
                    self.state.d.next = KeeperState::Conclude;
                }
            }
            KeeperState::Act => self.release_oldest(),
            KeeperState::Conclude => self.conclude(),
            KeeperState::Resume => {
                // The event that waits in the pipeline gets its packet again.
                self.state.d.next = KeeperState::Run;
            }
        }

        self.choose();
        self.choose_early();
        self.send();
        self.hold_back();
        self.read_list();
        self.write_list();

        if self.rst.val() {
            self.state.d.next = KeeperState::Clear;
            self.event.d.next = KeeperEvent::Item;
            self.look.d.next = false;
            self.turn.d.next = false;
            self.follows.d.next = false;
            self.linked.d.next = false;
            self.fresh.d.next = false;
            self.early.d.next = false;
            self.tells_pacer.d.next = false;
            self.act.d.next = false;
            self.item_made.d.next = false;
            self.has_left.d.next = false;
            self.sweep.d.next = 0.into();
            self.kept.d.next = 0.into();
            self.sending.d.next = 0.into();
            self.recent.d.next = 0.into();
            self.pressed.d.next = false;
            self.wrote.d.next = false;
            self.clock.d.next = 0.into();
            self.watched.d.next = 0.into();
            self.was_new.d.next = false;
            self.events.d.next = 0.into();
        }

        // The tables are addressed for the next cycle.
        self.lists.ahead.next = self.qp.d.val();
        self.policies.next_qp.next = self.qp.d.val();
        self.stamps.ahead[0].next = self.qp.d.val();
        self.quits.ahead.next = self.qp.d.val();
        self.limited_next.next = self.qp.d.val();
        for k in 0..CLOSED_READERS {
            self.quits_copies[k].ahead.next = self.closed_next[k].val();
            self.closed[k].next = self.quits_copies[k].read_data.val().get_bit(0);
        }
    }
}
