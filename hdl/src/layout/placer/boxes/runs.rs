//! Runs of words that are needed, and the gaps between them.

use super::{Boxes, RunState};
use drdma_emit::prelude::*;

impl Boxes {
    /// Settings: at least 16 words a box; gaps above 126 words are never read through.
    #[hdl_gen]
    pub(super) fn take_settings(&mut self) {
        self.most.d.next = self.max_read.val().get_bits::<11>(2) & 0x7f0;
        if !self.max_read.val().get_bits::<7>(6).any() {
            self.most.d.next = 16.into();
        }
        // The gap for the blocks that are fetched next.
        self.worth.mean.next = self.mean.val();
        self.worth.planned.next = self.planned.val();
        self.gap.d.next = self.worth.gap.val();
        if self.merge_threshold.val().get_bits::<11>(2) < bit_cast::<11, 7>(self.worth.gap.val()) {
            self.gap.d.next = self.merge_threshold.val().get_bits::<7>(2);
        }
        self.sized_gap.d.next = self.gap.q.val();
        self.unused.next = (bit_cast::<11, 6>(self.max_read.val().get_bits::<6>(0)) << 5)
            | (bit_cast::<11, 2>(self.merge_threshold.val().get_bits::<2>(0)) << 3)
            | bit_cast::<11, 3>(self.held_words.val().get_bits::<3>(11));
        self.through.d.next = self.merge_threshold.val().any();
        // A window of `reach` words is two of 2^`size`, the second `rest` words further.
        self.reach.next = self.gap.q.val() + 1;
        if self.gap.q.val().get_bit(6) {
            self.reach.next = 64.into();
        }
        self.size.d.next = 0.into();
        self.rest.d.next = 0.into();
        if self.reach.val().get_bit(6) {
            self.size.d.next = 6.into();
        } else if self.reach.val().get_bit(5) {
            self.size.d.next = 5.into();
            self.rest.d.next = bit_cast::<6, 5>(self.reach.val().get_bits::<5>(0));
        } else if self.reach.val().get_bit(4) {
            self.size.d.next = 4.into();
            self.rest.d.next = bit_cast::<6, 4>(self.reach.val().get_bits::<4>(0));
        } else if self.reach.val().get_bit(3) {
            self.size.d.next = 3.into();
            self.rest.d.next = bit_cast::<6, 3>(self.reach.val().get_bits::<3>(0));
        } else if self.reach.val().get_bit(2) {
            self.size.d.next = 2.into();
            self.rest.d.next = bit_cast::<6, 2>(self.reach.val().get_bits::<2>(0));
        } else if self.reach.val().get_bit(1) {
            self.size.d.next = 1.into();
            self.rest.d.next = bit_cast::<6, 1>(self.reach.val().get_bits::<1>(0));
        }
    }

    /// Fetch.
    #[hdl_gen]
    pub(super) fn fetch(&mut self) {
        self.window_ready.next = !self.busy.q.val();
        if !self.busy.q.val() {
            self.busy.d.next = self.window_valid.val();
            self.number.d.next = self.window.val();
            self.parity.d.next = self.window_parity.val();
            self.total.d.next = self.window_entries.val();
            self.next_entry.d.next = 0.into();
        }
        self.words_entry.next = (bit_cast::<8, 1>(self.parity.q.val().into()) << 7)
            | bit_cast::<8, 7>(self.next_entry.q.val());
        if !self.busy.q.val() {
            self.words_entry.next = bit_cast::<8, 1>(self.window_parity.val().into()) << 7;
        }
        self.list.read_address.next = self.words_entry.val();
        self.list.read_enable.next = self.words_free.val();
        if self.words_free.val() {
            // Entries without words belong to a beat that did not fit.
            self.words_valid.d.next = self.fetching.val() && self.words_any.val();
            self.words_bits.d.next = self.words.val();
            self.words_gap.d.next = self.sized_gap.q.val();
            self.words_size.d.next = self.size.q.val();
            self.words_rest.d.next = self.rest.q.val();
            if self.fetching.val() {
                self.next_entry.d.next = self.next_entry.q.val() + 1;
                if !self.busy.q.val() {
                    self.next_entry.d.next = 1.into();
                }
            }
        }
    }

    /// Gaps. Bit i of window k: one of the 2^k words behind word i is needed.
    #[hdl_gen]
    pub(super) fn find_gaps(&mut self) {
        self.window_0.next = self.words_bits.q.val() >> 1;
        self.window_1.next = self.window_0.val() | (self.window_0.val() >> 1);
        self.window_2.next = self.window_1.val() | (self.window_1.val() >> 2);
        self.window_3.next = self.window_2.val() | (self.window_2.val() >> 4);
        self.window_4.next = self.window_3.val() | (self.window_3.val() >> 8);
        self.window_5.next = self.window_4.val() | (self.window_4.val() >> 16);
        self.window_6.next = self.window_5.val() | (self.window_5.val() >> 32);
        for k in 0..4 {
            self.line[k].next = self.words_bits.q.val().get_bits::<16>(k * 16) >> 1;
            self.line[k].next = self.line[k].val() | (self.line[k].val() >> 1);
            self.line[k].next = self.line[k].val() | (self.line[k].val() >> 2);
            self.line[k].next = self.line[k].val() | (self.line[k].val() >> 4);
            self.line[k].next = self.line[k].val() | (self.line[k].val() >> 8);
        }
        if self.gaps_free.val() {
            self.gaps_line.d.next = 0.into();
            if self.through.q.val() {
                self.gaps_line.d.next = bit_cast::<64, 16>(self.line[0].val())
                    | (bit_cast::<64, 16>(self.line[1].val()) << 16)
                    | (bit_cast::<64, 16>(self.line[2].val()) << 32)
                    | (bit_cast::<64, 16>(self.line[3].val()) << 48);
            }
            self.gaps_valid.d.next = self.words_valid.q.val();
            self.gaps_bits.d.next = self.words_bits.q.val();
            self.gaps_entry.d.next = self.list.read_data.val();
            self.gaps_gap.d.next = self.words_gap.q.val();
            self.gaps_rest.d.next = self.words_rest.q.val();
            self.gaps_window.d.next = self.window_0.val();
            if self.words_size.q.val() == 1 {
                self.gaps_window.d.next = self.window_1.val();
            }
            if self.words_size.q.val() == 2 {
                self.gaps_window.d.next = self.window_2.val();
            }
            if self.words_size.q.val() == 3 {
                self.gaps_window.d.next = self.window_3.val();
            }
            if self.words_size.q.val() == 4 {
                self.gaps_window.d.next = self.window_4.val();
            }
            if self.words_size.q.val() == 5 {
                self.gaps_window.d.next = self.window_5.val();
            }
            if self.words_size.q.val() == 6 {
                self.gaps_window.d.next = self.window_6.val();
            }
        }
    }

    /// Ends of runs.
    #[hdl_gen]
    pub(super) fn find_ends(&mut self) {
        if self.ends_free.val() {
            self.ends_valid.d.next = self.gaps_valid.q.val();
            self.ends_bits.d.next = self.gaps_bits.q.val();
            self.ends_entry.d.next = self.gaps_entry.q.val();
            self.ends_gap.d.next = self.gaps_gap.q.val();
            self.ends_ends.d.next = self.gaps_bits.q.val()
                & !(self.gaps_line.q.val()
                    | self.gaps_window.q.val()
                    | (self.gaps_window.q.val() >> self.gaps_rest.q.val()));
        }

        // The runs of the next block.
        if self.run_free.val() && self.ends_valid.q.val() {
            self.run_valid.d.next = true;
            self.run_is_first.d.next = true;
            self.run_bits.d.next = self.ends_bits.q.val();
            self.run_ends.d.next = self.ends_ends.q.val();
            self.run_block.d.next = self.ends_entry.q.val().get_bits::<56>(0);
            self.run_place.d.next = self.ends_entry.q.val().get_bits::<13>(56);
            self.run_follows.d.next = self.ends_entry.q.val().get_bit(69);
            self.run_gap.d.next = self.ends_gap.q.val();
            self.run_from.d.next = self.next_first.index.val();
            self.run_to.d.next = self.next_end.index.val();
            self.state.d.next = RunState::Use;
        }

        // The end of the window.
        self.finish.next = self.busy.q.val()
            && !self.fetching.val()
            && !self.words_valid.q.val()
            && !self.gaps_valid.q.val()
            && !self.ends_valid.q.val()
            && !self.run_valid.q.val()
            && self.vacant.val();
        self.forget.next = 0.into();
        if self.finish.val() {
            self.busy.d.next = false;
            self.open.d.next = false;
            self.forget.next = 1.into();
            if self.parity.q.val() {
                self.forget.next = 2.into();
            }
        }
    }
}
