//! Blocks of bits, ids and pointers.

use super::{Finder, FinderState, LINES_SHIFT, LOG_LINES, SLOT, WINDOW};
use drdma_emit::prelude::*;

impl<const RECORDS: usize> Finder<RECORDS> {
    /// Finds the window and the line of the next block, and whether it has rows.
    #[hdl_gen]
    pub(super) fn find_block(&mut self) {
        self.line_number.next = self.block.q.val().get_bits::<30>(3);
        if self.is_ids.val() {
            self.line_number.next = self.block.q.val().get_bits::<30>(0);
        }
        self.rows_end.d.next = self.rows.d.val();
        self.stop_end.d.next = self.stop.val();
        if self.is_bits.val() || self.is_ids.val() {
            self.rows_end.d.next = (self.rows.d.val() + 63) >> 6;
            self.stop_end.d.next = self.stop.val() >> 6;
        }
        if self.info.val().ids.get_bit(1) {
            self.rows_end.d.next = (self.rows.d.val() + 31) >> 5;
            self.stop_end.d.next = self.stop.val() >> 5;
            self.last_block.d.next = self.rows.q.val() >> 5;
            self.end_mask.d.next =
                !(self.ones_64.val() << bit_cast::<6, 5>(self.rows.q.val().get_bits::<5>(0)));
        }
        self.more.next = (self.block.q.val() < self.rows_end.q.val())
            && (self.block.q.val() < self.stop_end.q.val());
        self.window.next = self.line_number.val().get_bits::<WINDOW>(LOG_LINES);
        self.ends_window.next = self.block.q.val().get_bits::<6>(0) == 63;
        if self.is_ids.val() {
            self.ends_window.next = self.block.q.val().get_bits::<3>(0) == 7;
        }
    }

    /// Decides which blocks advance in this cycle, and whether the line of a further one is read.
    #[hdl_gen]
    pub(super) fn look_at_block(&mut self) {
        self.word_behind_row.next = self.word.q.val() & (self.word.q.val() - 1);
        self.over.next = (!self.known.q.val() && !self.links.q.val())
            || (!self.is_pointers.val() && !self.has_rows.q.val());
        self.may_find.next = self.on.val()
            && !self.chases.val()
            && !self.replays.q.val()
            && (self.state.q.val() == FinderState::Flow)
            && (!self.row_valid.q.val() || (self.ahead.val() && self.take.val()));
        self.empties.next = self.may_find.val()
            && self.ahead.val()
            && !self.is_pointers.val()
            && !self.word_behind_row.val().any();
        self.next_leaves.next = self.next_valid.q.val()
            && self.on.val()
            && (!self.chases.val() || self.chaser.head.ready.val())
            && (self.over.val()
                || self.empties.val()
                || (!self.is_pointers.val() && !self.next_word.q.val().any()));
        self.loads.next =
            self.next_leaves.val() && (self.over.val() || self.empties.val()) && !self.chases.val();
        self.read_moves.next =
            self.read_valid.q.val() && (!self.next_valid.q.val() || self.next_leaves.val());
        self.wants.next = self.on.val()
            && (self.state.q.val() == FinderState::Flow)
            && self.has_list.val()
            && !self.replays.q.val()
            && self.more.val()
            && (self.ahead.val()
                || (!self.row_valid.q.val()
                    && self.over.val()
                    && !self.read_valid.q.val()
                    && !self.next_valid.q.val()));
        self.issues.next = self.wants.val()
            && self.seen.q.val()
            && (!self.read_valid.q.val() || self.read_moves.val());
        self.lines.read_enable.next = self.issues.val();
        self.lines.read_address.next = (bit_cast::<9, SLOT>(self.slot.val()) << LINES_SHIFT)
            | bit_cast::<9, LOG_LINES>(self.line_number.val().get_bits::<LOG_LINES>(0));
        self.line_now.next = self.lines.read_data.val();
    }

    /// Advances the blocks that were read.
    #[hdl_gen]
    pub(super) fn advance(&mut self) {
        if self.read_moves.val() || self.next_leaves.val() {
            self.next_valid.d.next = self.read_moves.val();
        }
        if self.read_moves.val() {
            self.next_word.d.next = self.picked.val() & self.start_mask.val();
            self.next_block.d.next = self.read_block.q.val();
            self.next_behind.d.next = self.read_behind.q.val();
        }
        if self.issues.val() || self.read_moves.val() {
            self.read_valid.d.next = self.issues.val();
        }
        if self.issues.val() {
            self.read_block.d.next = self.block.q.val();
            self.read_behind.d.next = self.block_behind.q.val();
            self.block.d.next = self.block.q.val() + 1;
            if self.ends_window.val() {
                self.seen.d.next = false;
            }
        }
    }

    /// Goes on with the first block of the next turn when the last one of the current turn is read.
    #[hdl_gen]
    pub(super) fn run_on(&mut self) {
        self.is_end.next = self.block.q.val() >= self.stop_end.q.val();
        if self.issues.val() {
            self.is_end.next = self.block.q.val() + 1 == self.stop_end.q.val();
        }
        self.runs_on.next = self.on.val()
            && self.behind.val().known
            && (self.state.q.val() == FinderState::Flow)
            && !self.block_behind.q.val()
            && self.is_end.val();
        self.stays.next = self.issues.val()
            && (self.behind.val().block.get_bits::<WINDOW>(LOG_LINES) == self.window.val());
        if self.runs_on.val() {
            self.block.d.next = self.behind.val().block;
            self.block_behind.d.next = true;
            self.seen.d.next = self.stays.val();
            self.unread.d.next = false;
            self.lost.d.next = false;
        }
        if self.passes.val() {
            self.block_behind.d.next = false;
            self.read_behind.d.next = false;
            self.next_behind.d.next = false;
            self.word_behind.d.next = false;
            self.row_behind.d.next = false;
        }
        self.ran_on.next = self.block_behind.q.val();
    }

    /// Waits for a chain's pointer.
    #[hdl_gen]
    pub(super) fn come(&mut self) {
        if self.line.valid.val() && self.links_come.val() {
            self.known.d.next = true;
            self.word.d.next = self.line.data.val().get_bits::<64>(0);
            self.passed.d.next = self.passed.q.val() + 1;
            self.state.d.next = FinderState::Flow;
            if self.line.error.val() {
                self.state.d.next = FinderState::Unread;
            }
        }
    }
}
