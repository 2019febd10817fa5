//! The logic of the scatter, state by state. Its parts stand in files by what they do.

use super::super::in_use::PLACE;
use super::super::record::{LIFE, MarkKind};
use super::{FAILURE, LIFE_BITS, MALFORMED, Scatter, ScatterState};
use drdma_emit::prelude::*;

impl Logic for Scatter {
    #[hdl_gen]
    fn update(&mut self) {
        self.placing.join(&mut self.placings.input);
        self.placings.output.ready.next = false;
        self.piece.ready.next = false;
        self.given_up.valid.next = false;
        self.given_up.used.next = self.had_one.q.val();
        self.order.valid.next = false;
        self.halt.valid.next = false;
        self.halt.queue.next = self.held.q.val().queue;
        self.halt.life.next = self.held.q.val().life;
        self.halt.kind.next = MarkKind::Halt;
        self.cleared.next = false;
        self.cleared_qp.next = self.current.q.val().qp;

        self.unused_first.next = self.first_region.val();
        self.measure();
        self.follow();
        self.look_at_columns();

        self.uses_up.next = (self.current.q.val().completes || self.current.q.val().returns)
            && self.present.q.val()
            && (!self.gives_up.q.val() || !self.resets.q.val() || self.held.q.val().shared);
        self.completes.next =
            self.uses_up.val() && !self.silent.q.val() && !self.current.q.val().returns;
        self.fails.next = self.current.q.val().status.any()
            && (!self.held.q.val().shared || (self.current.q.val().status == MALFORMED));
        self.cursors.write_enable.next = false;
        self.failure.next = bit_cast::<FAILURE, LIFE>(self.held.q.val().life)
            | (bit_cast::<FAILURE, 1>(1.into()) << LIFE_BITS);
        self.failures.write_enable.next = self.wiped.val();
        self.failures.write_address.next = self.wiped_qp.val();
        self.failures.write_data.next = 0.into();
        // This is not within the states: event simulators that run a process again for every change would alternate for
        // ever
        // between this block's and the taker's.
        self.has_turn.next = !self.placings.output.valid.val() || self.passed.q.val().all();
        self.give_up.ready.next = (self.state.q.val() == ScatterState::Idle) && self.has_turn.val();

        match self.state.q.val() {
            ScatterState::Idle => self.begin(),
            ScatterState::Find => {
                self.state.d.next = ScatterState::Load;
            }
            ScatterState::Load => self.load(),
            ScatterState::Open => self.open(),
            ScatterState::Seek => self.seek(),
            ScatterState::Sought => self.take_sought(),
            ScatterState::Aim => self.aim(),
            ScatterState::Plan => self.plan(),
            ScatterState::Cut => self.cut(),
            ScatterState::Piece => self.take_piece(),
            ScatterState::Offer => self.offer(),
            ScatterState::Halt => self.stop_queue(),
            ScatterState::Recount => {
                self.present.d.next = self.used.val();
                self.state.d.next = ScatterState::Answer;
            }
            ScatterState::Answer => self.answer(),
        }

        self.begun.d.next = self.begins.val() && self.appends.val();

        self.give_order();

        self.cursor_in.record.next = self.cursor.d.val();
        self.cursors.write_address.next = self.current.q.val().qp;
        self.cursors.write_data.next = self.cursor_in.bits.val();
        self.busy.next =
            self.placings.output.valid.val() || (self.state.q.val() != ScatterState::Idle);

        if self.rst.val() {
            self.state.d.next = ScatterState::Idle;
            self.passed.d.next = 0.into();
        }
        self.next_qp.next = self.current.d.val().qp;
        self.cursors.ahead.next = self.current.d.val().qp;
        self.failures.ahead.next = self.current.d.val().qp;
        // The first place with a new placing, then the one behind the cursor's.
        self.next_span.next = self.cursor.d.val().behind.get_bits::<PLACE>(0);
        self.columns.next_region.next = self.current.d.val().region;
        self.columns.next_column.next = self.cursor.d.val().behind.get_bits::<4>(0);
        if self.state.q.val() == ScatterState::Idle {
            self.next_span.next = 0.into();
            self.columns.next_column.next = 0.into();
        }
        // Columns from the first one on, each asked for a cycle ahead.
        if self.state.q.val() == ScatterState::Seek {
            self.columns.next_column.next = self.sought.d.val().get_bits::<4>(0);
        }
        if (self.state.q.val() == ScatterState::Cut) && self.cursor.q.val().dense {
            self.columns.next_column.next = 0.into();
        }
        if (self.state.q.val() == ScatterState::Aim) && !self.dense.last.val() {
            self.next_span.next = self.aim_place.val().get_bits::<PLACE>(0);
        }
    }
}
