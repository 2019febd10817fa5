//! Blocks of bits, ids and pointers.

use super::{Finder, FinderState, LINES_SHIFT, LOG_LINES, LOG_WINDOW, WINDOW};
use drdma_emit::prelude::*;

impl<const RECORDS: usize> Finder<RECORDS> {
    /// Where the next block lies.
    #[hdl_gen]
    pub(super) fn find_block(&mut self) {
        self.first_row.next = self.block.q.val();
        self.line_number.next = self.block.q.val().get_bits::<30>(3);
        if self.is_ids.val() {
            self.line_number.next = self.block.q.val().get_bits::<30>(0);
        }
        if self.is_bits.val() || self.is_ids.val() {
            self.first_row.next = self.block.q.val() << 6;
        }
        if self.info.val().ids.get_bit(1) {
            self.first_row.next = self.block.q.val() << 5;
            self.last_block.d.next = self.rows.q.val() >> 5;
            self.end_mask.d.next =
                !(self.ones_64.val() << bit_cast::<6, 5>(self.rows.q.val().get_bits::<5>(0)));
        }
        self.more.next =
            (self.first_row.val() < self.rows.q.val()) && (self.first_row.val() < self.stop.val());
        self.window.next = self.line_number.val().get_bits::<WINDOW>(LOG_LINES);
        self.slot.next = self.set.val().get_bits::<4>(0) ^ self.window.val().get_bits::<4>(0);
        self.tags.read_address[0].next = self.slot.val();
        self.tag.bits.next = self.tags.read_data[0].val();
        self.hits.next = self.has.q.val().get_bit(self.slot.val().index())
            && (self.tag.record.val().set == self.set.val())
            && (self.tag.record.val().window == self.window.val());
        self.tag_new.next.set = self.set.val();
        self.tag_new.next.window = self.window.val();
        self.tag_in.record.next = self.tag_new.val();
        self.tags.write_address.next = self.slot.val();
        self.tags.write_data.next = self.tag_in.bits.val();
        self.tags.write_enable.next = false;
        self.behind_window.next = bit_cast::<36, WINDOW>(self.window.val()) << LOG_WINDOW;
        self.list_rest.next = self.list_bytes.q.val() - self.behind_window.val();
    }

    /// The block at hand, and the next one.
    #[hdl_gen]
    pub(super) fn look_at_block(&mut self) {
        self.over.next = (!self.known.q.val() && !self.links.q.val())
            || (!self.is_pointers.val() && !self.lowest.any.val());
        self.next_leaves.next = self.next_valid.q.val()
            && self.on.val()
            && (!self.chases.val() || self.chaser.head.ready.val())
            && (self.over.val() || (!self.is_pointers.val() && !self.next_word.q.val().any()));
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
            && self.hits.val()
            && (!self.read_valid.q.val() || self.read_moves.val());
        self.lines.read_enable.next = self.issues.val();
        self.lines.read_address.next = (bit_cast::<9, 4>(self.slot.val()) << LINES_SHIFT)
            | bit_cast::<9, LOG_LINES>(self.line_number.val().get_bits::<LOG_LINES>(0));
        self.lines.write_address.next = (bit_cast::<9, 4>(self.slot.val()) << LINES_SHIFT)
            | bit_cast::<9, LOG_LINES>(self.arrived.q.val());
        self.lines.write_data.next = self.line.data.val();
        self.lines.write_lanes.next = 0.into();
        self.line_now.next = self.lines.read_data.val();
    }

    /// Blocks advance.
    #[hdl_gen]
    pub(super) fn advance(&mut self) {
        if self.read_moves.val() || self.next_leaves.val() {
            self.next_valid.d.next = self.read_moves.val();
        }
        if self.read_moves.val() {
            self.next_word.d.next = self.picked.val() & self.start_mask.val();
            self.next_block.d.next = self.read_block.q.val();
        }
        if self.issues.val() || self.read_moves.val() {
            self.read_valid.d.next = self.issues.val();
        }
        if self.issues.val() {
            self.read_block.d.next = self.block.q.val();
            self.block.d.next = self.block.q.val() + 1;
        }
    }

    /// Waits for the answer.
    #[hdl_gen]
    pub(super) fn come(&mut self) {
        if self.line.valid.val() {
            self.arrived.d.next = self.arrived.q.val() + 1;
            if self.links.q.val() {
                self.known.d.next = true;
                self.word.d.next = self.line.data.val().get_bits::<64>(0);
                self.passed.d.next = self.passed.q.val() + 1;
            } else {
                self.lines.write_lanes.next = 1.into();
                self.tags.write_enable.next = self.line.last.val();
            }
            if self.line.last.val() {
                self.state.d.next = FinderState::Flow;
                if !self.links.q.val() {
                    self.has.d.next = self.has.q.val().replace_bit(self.slot.val().index(), true);
                }
            }
            if self.line.error.val() {
                self.tags.write_enable.next = false;
                self.has.d.next = self.has.q.val();
                self.state.d.next = FinderState::Unread;
            }
        }
    }
}
