//! The logic of the boxes. Its parts stand in files by what they do.

use super::{Boxes, RunState};
use drdma_emit::prelude::*;

impl Logic for Boxes {
    #[hdl_gen]
    fn update(&mut self) {
        self.take_settings();

        // The list of the window that is being planned, and of the one that is at work here.
        self.list.write_lanes.next = self.list_write.val().into();
        self.list.write_address.next = self.list_index.val();
        self.list.write_data.next = bit_cast::<70, 56>(self.list_block.val())
            | (bit_cast::<70, 13>(self.list_place.val()) << 56)
            | (bit_cast::<70, 1>(self.list_follows.val().into()) << 69);

        self.measure();
        match self.state.q.val() {
            RunState::Use => self.use_run(),
            RunState::Trim => {
                self.trims.d.next = true;
                self.trimmed.d.next = self.last.index.val();
                self.state.d.next = RunState::Find;
            }
            RunState::Find => {
                if self.trims.q.val() {
                    self.open_words.d.next =
                        self.before.q.val() + bit_cast::<11, 6>(self.trimmed.q.val()) + 1;
                    self.trims.d.next = false;
                }
                self.run_from.d.next = self.find_first.index.val();
                self.run_to.d.next = self.find_end.index.val();
                self.state.d.next = RunState::Use;
            }
        }

        // Stages that advance at the end of this cycle.
        self.ends_free.next = !self.ends_valid.q.val() || self.run_free.val();
        self.gaps_free.next = !self.gaps_valid.q.val() || self.ends_free.val();
        self.words_free.next = !self.words_valid.q.val() || self.gaps_free.val();
        // The first entry is fetched as the window comes.
        self.fetching.next = (self.busy.q.val() && (self.next_entry.q.val() != self.total.q.val()))
            || (!self.busy.q.val() && self.window_valid.val() && self.window_entries.val().any());

        self.fetch();
        self.find_gaps();
        self.find_ends();
        self.leave();

        if self.rst.val() {
            self.busy.d.next = false;
            self.words_valid.d.next = false;
            self.gaps_valid.d.next = false;
            self.ends_valid.d.next = false;
            self.run_valid.d.next = false;
            self.open.d.next = false;
            self.trims.d.next = false;
            self.sent_valid.d.next = false;
            self.held_valid.d.next = false;
            self.state.d.next = RunState::Use;
        }
    }
}
