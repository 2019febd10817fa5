//! Rows of a packet: how many, and in which lines of the bitmap.

use super::super::OFFSET;
use super::finder::RUN;
use super::{COMING, COUNT, LINES_AHEAD, LONG, Selection, SelectionState};
use crate::regions::walk::{REACH, SHORT};
use drdma_emit::prelude::*;

impl Selection {
    /// The shape of the packet's rows.
    #[hdl_gen]
    pub(super) fn measure(&mut self) {
        self.by_1.next = 0.into();
        self.by_2.next = 0.into();
        self.by_4.next = 0.into();
        self.by_8.next = 0.into();
        if self.handed.element.val().get_bit(0) {
            self.by_1.next = bit_cast::<SHORT, 7>(self.handed.width.val());
        }
        if self.handed.element.val().get_bit(1) {
            self.by_2.next = bit_cast::<SHORT, 7>(self.handed.width.val()) << 1;
        }
        if self.handed.element.val().get_bit(2) {
            self.by_4.next = bit_cast::<SHORT, 7>(self.handed.width.val()) << 2;
        }
        if self.handed.element.val().get_bit(3) {
            self.by_8.next = bit_cast::<SHORT, 7>(self.handed.width.val()) << 3;
        }
        self.low.next =
            self.start.q.val().get_bits::<2>(0) | self.handed.width.val().get_bits::<2>(0);
        self.shape.valid.next = (self.state.q.val() == SelectionState::Tell) && self.clear.val();
        self.shape.row.next = self.handed.row_bytes.val();
        self.shape.width.next = self.handed.width.val();
        self.shape.grain.next = 2.into();
        if self.low.val().get_bit(1) {
            self.shape.grain.next = 1.into();
        }
        if self.low.val().get_bit(0) {
            self.shape.grain.next = 0.into();
        }
        self.shape.turned.next = self.handed.columns.val().get_bits::<2>(0) == 0;
        self.shape.bytes.next = self.handed.bytes.val();
    }

    /// A step of the division.
    #[hdl_gen]
    pub(super) fn divide_step(&mut self) {
        self.rest_in.next = (bit_cast::<12, SHORT>(self.rest.q.val()) << 1)
            | bit_cast::<12, 1>(self.dividend.q.val().get_bits::<1>(REACH - 1));
        self.fits.next = self.rest_in.val() >= bit_cast::<12, SHORT>(self.handed.row_bytes.val());
        self.rest_out.next = self.rest_in.val();
        if self.fits.val() {
            self.rest_out.next =
                self.rest_in.val() - bit_cast::<12, SHORT>(self.handed.row_bytes.val());
        }
        self.unused_rest.next = self.rest_out.val();
    }

    /// Lines of the bitmap.
    #[hdl_gen]
    pub(super) fn ask_lines(&mut self) {
        self.begins.next = (self.state.q.val() == SelectionState::Wait)
            && self.hands.val()
            && !self.handed.continues.val();
        self.finder.begins.next = self.begins.val();
        self.finder.row.next = self.handed.row.val();
        self.finder.skip.next = self.handed.skip.val();
        self.finder.count.next = self.handed.count.val();
        self.finder.width.next = self.handed.width.val();
        self.comes.next = self.line.valid.val() && !self.stale.q.val().any();
        self.finder.line.valid.next = self.comes.val();
        self.finder.line.next = self.line.val();
        self.finder.run.ready.next = false;
        self.rows_left.next = bit_cast::<33, 32>(self.handed.count.val()) - self.asked_row.q.val();
        self.line_bytes.next = 64.into();
        if !self.rows_left.val().get_bits::<24>(9).any() {
            self.line_bytes.next =
                bit_cast::<13, 10>(self.rows_left.val().get_bits::<10>(0) + 7) >> 3;
        }
        self.held_lines.next = self.under_way.q.val()
            + self.stale.q.val()
            + bit_cast::<COUNT, 5>(self.finder.lines.val());
        self.wanted_lines.next = 1.into();
        if self.finder.far.val() || (self.handed.bytes.val() >= LONG) {
            self.wanted_lines.next = LINES_AHEAD.into();
        }
        self.more.next = !self.missed.q.val()
            && (self.asked_row.q.val() < bit_cast::<33, 32>(self.handed.count.val()));
        self.room.next = self.leaving.free.val() > COMING;
        self.wants.next =
            self.more.val() && self.room.val() && (self.held_lines.val() < self.wanted_lines.val());
        self.asks.next = false;
    }

    /// Lines under way.
    #[hdl_gen]
    pub(super) fn count_lines(&mut self) {
        self.under_way.d.next = self.under_way.q.val()
            + bit_cast::<COUNT, 1>(self.asks.val().into())
            - bit_cast::<COUNT, 1>(self.comes.val().into())
            - bit_cast::<COUNT, 1>(self.lost.val().into());
        if self.line.valid.val() && self.stale.q.val().any() {
            self.stale.d.next = self.stale.q.val() - 1;
        }
        if self.begins.val() {
            self.under_way.d.next = 0.into();
            self.stale.d.next = self.stale.q.val() + self.under_way.q.val()
                - bit_cast::<COUNT, 1>(self.line.valid.val().into());
        }
    }

    /// Waits for a packet.
    #[hdl_gen]
    pub(super) fn take_packet(&mut self) {
        self.start.d.next = self.by_1.val()
            + self.by_2.val()
            + self.by_4.val()
            + self.by_8.val()
            + bit_cast::<SHORT, 6>(self.handed.inside.val());
        self.first.d.next = true;
        self.headed.d.next = false;
        self.dead.d.next = false;
        if self.hands.val() {
            self.state.d.next = SelectionState::Tell;
        }
        if self.begins.val() {
            self.asked_row.d.next =
                self.handed.row.val() - bit_cast::<33, 3>(self.handed.row.val().get_bits::<3>(0));
            self.missed.d.next = false;
            self.run.d.next.rows = 0.into();
        }
    }

    /// Offers the shape of the packet's rows.
    #[hdl_gen]
    pub(super) fn tell(&mut self) {
        self.dividend.d.next =
            self.handed.bytes.val() + bit_cast::<REACH, SHORT>(self.start.q.val());
        self.origin.d.next = bits::<OFFSET>(0) - bit_cast::<OFFSET, SHORT>(self.start.q.val());
        self.left.d.next = 0.into();
        self.rest.d.next = 0.into();
        self.round.d.next = 0.into();
        if self.shape.valid.val() && self.shape.ready.val() {
            self.state.d.next = SelectionState::Divide;
        }
    }

    /// Divides the packet's bytes into rows.
    #[hdl_gen]
    pub(super) fn divide(&mut self) {
        self.asks.next = self.wants.val();
        self.round.d.next = self.round.q.val() + 1;
        self.dividend.d.next = self.dividend.q.val() << 1;
        self.rest.d.next = self.rest_out.val().get_bits::<SHORT>(0);
        self.left.d.next = (self.left.q.val() << 1) | bit_cast::<REACH, 1>(self.fits.val().into());
        if self.round.q.val() == REACH as u64 - 1 {
            self.state.d.next = SelectionState::Take;
        }
    }

    /// Waits for a run.
    #[hdl_gen]
    pub(super) fn take_run(&mut self) {
        self.rows.d.next = self.run.q.val().rows;
        self.finishes.d.next = (self.left.q.val() == bit_cast::<REACH, RUN>(self.run.q.val().rows))
            && !self.rest.q.val().any();
        if bit_cast::<REACH, RUN>(self.run.q.val().rows) > self.left.q.val() {
            self.rows.d.next = self.left.q.val().get_bits::<RUN>(0);
            self.finishes.d.next = true;
        }
        if self.dead.q.val() {
            self.state.d.next = SelectionState::Drain;
        } else if self.run.q.val().rows.any() {
            self.state.d.next = SelectionState::Scale;
        } else if self.finder.run.valid.val() {
            self.finder.run.ready.next = true;
            self.run.d.next = self.finder.run.val();
        } else if self.finder.bad.val()
            || (!self.more.val() && self.finder.idle.val() && !self.under_way.q.val().any())
        {
            self.state.d.next = SelectionState::Fail;
        } else {
            self.asks.next = self.wants.val();
        }
    }
}
