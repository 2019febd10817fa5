//! Windows of lists: those that are kept, and those that are asked for ahead of the walk.

use super::{
    AHEAD, Finder, FinderState, LINES_SHIFT, LIST_WINDOW, LISTS, LOG_LINES, LOG_WIDE_WINDOW,
    LOG_WINDOW, POINTER, SLOT, SLOT_SHIFT, WINDOW,
};
use drdma_emit::prelude::*;

impl<const RECORDS: usize> Finder<RECORDS> {
    /// Looks up the window of the next block, and the window that is asked for next (`run`), in every second cycle.
    #[hdl_gen]
    pub(super) fn look_up_windows(&mut self) {
        self.half.next = 0.into();
        if self.upper.val() {
            self.half.next = LISTS.into();
        }
        // Lists of consecutive destinations begin in consecutive slots; each further window has the slot before.
        self.first_slot.d.next = self.base.val() ^ self.half.val();
        if self.is_ids.val() {
            self.first_slot.d.next = self.half.val();
        }
        self.slot.next = self.first_slot.q.val() - self.window.val().get_bits::<SLOT>(0);
        self.tags.read_address[0].next = self.slot.val();
        self.tag.bits.next = self.tags.read_data[0].val();
        self.is_tagged.next = (self.tag.record.val().set == self.set.val())
            && (self.tag.record.val().window == self.window.val());
        self.hits.next =
            self.is_tagged.val() && self.present.q.val().get_bit(self.slot.val().index());
        self.is_unread.next =
            self.is_tagged.val() && self.failed.q.val().get_bit(self.slot.val().index());
        self.in_use.next = self.present.q.val() | self.failed.q.val() | self.asked.q.val();
        self.is_lost.next =
            !self.is_tagged.val() || !self.in_use.val().get_bit(self.slot.val().index());

        self.unread.d.next = self.is_unread.val() && !self.seen.q.val();
        self.lost.d.next = self.is_lost.val() && !self.seen.q.val();

        self.run_slot.next = self.first_slot.q.val() - self.run.q.val().get_bits::<SLOT>(0);
        self.tags.read_address[1].next = self.run_slot.val();
        self.run_tag.bits.next = self.tags.read_data[1].val();
        self.run_waits.d.next = self.asked.q.val().get_bit(self.run_slot.val().index());
        self.run_known.d.next = (self.run_tag.record.val().set == self.set.val())
            && (self.run_tag.record.val().window == self.run.q.val())
            && (self.asked.q.val().get_bit(self.run_slot.val().index())
                || self.present.q.val().get_bit(self.run_slot.val().index())
                || self.failed.q.val().get_bit(self.run_slot.val().index()));
        self.behind_run.next = bit_cast::<36, WINDOW>(self.run.q.val()) << LOG_WINDOW;
        self.list_rest.next = self.list_bytes.q.val() - self.behind_run.val();
        // The lead is negative if the window lies before that of the block.
        self.run_lead.next =
            self.run.q.val().get_bits::<SLOT>(0) - self.window.val().get_bits::<SLOT>(0);
        self.looks_up.next =
            (self.on.val() || self.looks.val()) && !self.asks.q.val() && !self.run_found.q.val();
        self.run_found.d.next = self.looks_up.val();
        self.run_wanted.d.next = self.has_list.val()
            && !self.replays.q.val()
            && (self.run_lead.val().get_bit(SLOT - 1) || (self.run_lead.val() <= AHEAD))
            && self.rows.q.val().any()
            && (self.behind_run.val() < self.list_bytes.q.val());
    }

    /// Asks for windows, up to `AHEAD` ahead of the walk: one in three cycles.
    #[hdl_gen]
    pub(super) fn run_ahead(&mut self) {
        self.seen.d.next = self.hits.val() || self.seen.q.val();
        self.looked.next = self.looks.val() && self.run_found.q.val();
        if self.looks_up.val() {
            self.ask_set.d.next = self.set.val();
            self.ask_window.d.next = self.run.q.val();
            self.ask_slot.d.next = self.run_slot.val();
            self.ask_early.d.next = self.of_next.val();
            self.ask_addr.d.next = self.info.val().addr + bit_cast::<64, 36>(self.behind_run.val());
            if self.info.val().made {
                // The list lies nowhere: its ids are made from the keys of its rows.
                self.ask_addr.d.next = self.info.val().addr;
            }
            self.ask_made.d.next = self.info.val().made;
            self.ask_wide.d.next = self.info.val().ids.get_bit(1);
            self.ask_request.d.next = self.request.val();
            self.ask_bytes.d.next = LIST_WINDOW.into();
            if self.list_rest.val() < LIST_WINDOW {
                self.ask_bytes.d.next = self.list_rest.val().get_bits::<13>(0);
            }
        }
        if (self.on.val() || self.looks.val()) && self.run_found.q.val() {
            if self.run_wanted.q.val() && self.run_known.q.val() {
                self.run.d.next = self.run.q.val() + 1;
            } else if self.run_wanted.q.val() && !self.run_waits.q.val() {
                self.asks.d.next = true;
                self.ask_counts.d.next = true;
                self.looked.next = false;
            } else if !self.run_wanted.q.val()
                && self.on.val()
                && !self.seen.q.val()
                && self.lost.q.val()
                && (self.run.q.val() != self.window.val())
            {
                // Another list's window has taken the slot of the block's window, which is asked for again.
                self.run.d.next = self.window.val();
            }
        }

        // Reads of windows precede those of chains' pointers.
        self.tag_new.next.set = self.ask_set.q.val();
        self.tag_new.next.window = self.ask_window.q.val();
        self.tag_in.record.next = self.tag_new.val();
        self.tags.write_address.next = self.ask_slot.q.val();
        self.tags.write_data.next = self.tag_in.bits.val();
        self.tags.write_enable.next = false;
        self.asks_link.next = (self.state.q.val() == FinderState::Ask) && !self.asks.q.val();
        self.read.valid.next =
            (self.asks.q.val() || self.asks_link.val()) && self.under_way.in_ready.val();
        self.read.addr.next = self.ask_addr.q.val();
        self.read.bytes.next = self.ask_bytes.q.val();
        self.read.made.next = self.ask_made.q.val() && self.asks.q.val();
        self.read.wide.next = self.ask_wide.q.val();
        self.read.first.next = bit_cast::<32, WINDOW>(self.ask_window.q.val()) << LOG_WINDOW;
        if self.ask_wide.q.val() {
            self.read.first.next =
                bit_cast::<32, WINDOW>(self.ask_window.q.val()) << LOG_WIDE_WINDOW;
        }
        self.read.slot.next = self.ask_request.q.val();
        self.under_way.in_data.next = bit_cast::<7, SLOT>(self.ask_slot.q.val());
        if self.asks_link.val() {
            self.read.addr.next = self.asked_addr.q.val();
            self.read.bytes.next = POINTER.into();
            self.under_way.in_data.next = bits::<7>(1) << SLOT_SHIFT;
        }
        self.goes.next = self.read.valid.val() && self.read.ready.val();
        self.under_way.in_valid.next = self.goes.val();
        if self.goes.val() && self.asks.q.val() {
            self.tags.write_enable.next = true;
            self.asks.d.next = false;
            if self.ask_counts.q.val() {
                self.looked.next = self.looks.val();
                self.run.d.next = self.run.q.val() + 1;
            }
        }
    }

    /// Stores the windows that were read, and keeps account of those that are asked for, present or failed.
    #[hdl_gen]
    pub(super) fn take_lines(&mut self) {
        self.links_come.next = self.under_way.out_data.val().get_bit(SLOT);
        self.came_slot.next = self.under_way.out_data.val().get_bits::<SLOT>(0);
        self.under_way.out_ready.next = self.line.valid.val() && self.line.last.val();
        self.lines.write_address.next = (bit_cast::<9, SLOT>(self.came_slot.val()) << LINES_SHIFT)
            | bit_cast::<9, LOG_LINES>(self.arrived.q.val());
        self.lines.write_data.next = self.line.data.val();
        self.lines.write_lanes.next = 0.into();
        if self.line.valid.val() && !self.links_come.val() {
            self.lines.write_lanes.next = 1.into();
            self.arrived.d.next = self.arrived.q.val() + 1;
            self.torn.d.next = self.torn.q.val() || self.line.error.val();
            if self.line.last.val() {
                self.arrived.d.next = 0.into();
                self.torn.d.next = false;
            }
        }
        self.ends.next = self.line.valid.val() && !self.links_come.val() && self.line.last.val();
        self.is_torn.next = self.torn.q.val() || self.line.error.val();
        self.asked_new.next = self.asked.q.val();
        self.present_new.next = self.present.q.val();
        self.failed_new.next = self.failed.q.val();
        self.evicts.next = self.tags.write_enable.val()
            && !self.ask_early.q.val()
            && self.early.q.val().get_bit(self.ask_slot.q.val().index());
        if self.tags.write_enable.val() {
            self.asked_new.next =
                self.asked_new.val().replace_bit(self.ask_slot.q.val().index(), true);
            self.present_new.next =
                self.present_new.val().replace_bit(self.ask_slot.q.val().index(), false);
            self.failed_new.next =
                self.failed_new.val().replace_bit(self.ask_slot.q.val().index(), false);
            self.early.d.next = self
                .early
                .q
                .val()
                .replace_bit(self.ask_slot.q.val().index(), self.ask_early.q.val());
        }
        if self.forget.val() {
            self.early.d.next = 0.into();
        }
        if self.ends.val() {
            self.asked_new.next =
                self.asked_new.val().replace_bit(self.came_slot.val().index(), false);
            if self.is_torn.val() {
                self.failed_new.next =
                    self.failed_new.val().replace_bit(self.came_slot.val().index(), true);
            } else {
                self.present_new.next =
                    self.present_new.val().replace_bit(self.came_slot.val().index(), true);
            }
        }
        self.asked.d.next = self.asked_new.val();
        self.present.d.next = self.present_new.val();
        self.failed.d.next = self.failed_new.val();
        self.pending.next = self.asks.q.val() || self.under_way.count.val().any();
        self.unused_free.next = self.under_way.free.val();
    }
}
