//! Boxes, from the runs to the reads.

use super::{Boxes, RunState, TAG};
use crate::layout::windows::WINDOW_INDEX;
use drdma_emit::prelude::*;

impl Boxes {
    /// Finds out how much of the present run the open box can take.
    #[hdl_gen]
    pub(super) fn measure(&mut self) {
        self.vacant.next = self.queue.free.val() > 3;
        self.near.next = self.open.q.val()
            && self.run_is_first.q.val()
            && self.run_follows.q.val()
            && self.run_block.q.val().get_bits::<4>(0).any()
            && (bit_cast::<8, 6>(self.run_from.q.val()) + 63 < self.slack.q.val());
        self.joins.next =
            self.near.val() && (bit_cast::<11, 6>(self.run_from.q.val()) < self.room.q.val());
        // Words of the run that a new box, and the open box, can take: it is known late whether the run joins.
        self.limit.next =
            bit_cast::<12, 6>(self.run_from.q.val() & 0x30) + bit_cast::<12, 11>(self.most.q.val());
        self.fresh_room.next = self.limit.val() - 64;
        self.fresh_cuts.next = !(bit_cast::<12, 6>(self.run_to.q.val()) < self.limit.val());
        self.joined_cuts.next = !(bit_cast::<11, 6>(self.run_to.q.val()) < self.room.q.val());
        self.below_fresh.from.next = 0.into();
        self.below_fresh.to.next = self.run_to.q.val();
        if self.fresh_cuts.val() {
            self.below_fresh.to.next = self.limit.val().get_bits::<6>(0) - 1;
        }
        self.below_joined.from.next = 0.into();
        self.below_joined.to.next = self.run_to.q.val();
        if self.joined_cuts.val() {
            self.below_joined.to.next = self.room.q.val().get_bits::<6>(0) - 1;
        }
        self.base.next = bits::<11>(0) - bit_cast::<11, 6>(self.run_from.q.val());
        self.cuts.next = self.fresh_cuts.val();
        self.below.next = self.below_fresh.mask.val();
        if self.joins.val() {
            self.base.next = self.before.q.val();
            self.cuts.next = self.joined_cuts.val();
            self.below.next = self.below_joined.mask.val();
        }
        self.other_ends.next = self.run_ends.q.val() & (self.run_ends.q.val() - 1);
        self.last.bits.next = self.cut_bits.q.val();

        self.find_first.bits.next = self.run_bits.q.val();
        self.find_end.bits.next = self.run_ends.q.val();
        self.next_first.bits.next = self.ends_bits.q.val();
        self.next_end.bits.next = self.ends_ends.q.val();
        self.run_free.next = !self.run_valid.q.val();
        self.to_send.next = false;
    }

    /// Boxes leave.
    #[hdl_gen]
    pub(super) fn leave(&mut self) {
        self.sent_valid.d.next = self.to_send.val() || self.finish.val();
        self.sent_word.d.next = (bit_cast::<62, 56>(self.open_block.q.val()) << 6)
            | bit_cast::<62, 6>(self.open_from.q.val());
        self.sent_place.d.next = self.open_place.q.val();
        self.sent_to.d.next = bit_cast::<14, 13>(self.open_place.q.val());
        if self.open.q.val() {
            self.sent_to.d.next = bit_cast::<14, 13>(self.open_place.q.val())
                + bit_cast::<14, 11>(self.open_words.q.val());
        }
        self.sent_reach.d.next =
            bit_cast::<14, 13>(self.open_place.q.val()) + bit_cast::<14, 11>(self.most.q.val());
        self.sent_full.d.next = !self.finish.val() && (self.full.q.val() || self.near.val());
        self.sent_tag.d.next = bit_cast::<TAG, WINDOW_INDEX>(self.number.q.val())
            | (bit_cast::<TAG, 1>(self.finish.val().into()) << 4);

        // Neighbours in host memory are neighbours in the window.
        self.lengthens.next = self.held_valid.q.val()
            && self.held_full.q.val()
            && !(self.held_reach.q.val() < self.sent_to.q.val());
        self.queue.in_valid.next = self.held_valid.q.val()
            && (!self.held_full.q.val() || (self.sent_valid.q.val() && !self.lengthens.val()));
        if self.queue.in_valid.val() {
            self.held_valid.d.next = false;
        }
        // A box that need not wait, and finds no other before it, passes.
        self.passes.next =
            self.sent_valid.q.val() && !self.sent_full.q.val() && !self.held_valid.q.val();
        self.last_word.next = self.held_word.q.val();
        self.last_place.next = self.held_place.q.val();
        self.last_to.next = self.held_to.q.val();
        self.last_tag.next = self.held_tag.q.val();
        if self.passes.val() {
            self.queue.in_valid.next = true;
        }
        if !self.held_valid.q.val() {
            self.last_word.next = self.sent_word.q.val();
            self.last_place.next = self.sent_place.q.val();
            self.last_to.next = self.sent_to.q.val();
            self.last_tag.next = self.sent_tag.q.val();
        }
        if self.sent_valid.q.val() && !self.passes.val() {
            self.held_valid.d.next = true;
            self.held_to.d.next = self.sent_to.q.val();
            self.held_full.d.next = self.sent_full.q.val();
            self.held_tag.d.next = self.sent_tag.q.val();
            if !self.lengthens.val() {
                self.held_word.d.next = self.sent_word.q.val();
                self.held_place.d.next = self.sent_place.q.val();
                self.held_reach.d.next = self.sent_reach.q.val();
            }
        }
        self.held_words.next = self.last_to.val() - bit_cast::<14, 13>(self.last_place.val());
        self.fields.a.next = bit_cast::<64, 62>(self.last_word.val()) << 2;
        self.fields.b.next = bit_cast::<17, 13>(self.last_place.val()) << 2;
        self.fields.c.next = bit_cast::<13, 11>(self.held_words.val().get_bits::<11>(0)) << 2;
        self.fields.d.next = self.last_tag.val();
        self.queue.in_data.next = self.fields.whole.val();
        self.worth.box_valid.next = self.queue.in_valid.val();
        self.worth.box_words.next = self.held_words.val().get_bits::<11>(0);
        self.queue.out_ready.next = self.reads.ready.val();
        self.reads.valid.next = self.queue.out_valid.val();
        self.reads.addr.next = self.queue.out_data.val().get_bits::<64>(0);
        self.reads.ram.next = self.queue.out_data.val().get_bits::<17>(64);
        self.reads.len.next = self.queue.out_data.val().get_bits::<13>(81);
        self.reads.window.next = self.queue.out_data.val().get_bits::<WINDOW_INDEX>(94);
        self.reads.window_end.next = self.queue.out_data.val().get_bit(98);
    }

    /// The next run of the block is known.
    #[hdl_gen]
    pub(super) fn use_run(&mut self) {
        if self.run_valid.q.val() && (self.joins.val() || !self.open.q.val() || self.vacant.val()) {
            self.open.d.next = true;
            self.before.d.next = self.base.val() + 64;
            self.slack.d.next =
                bit_cast::<8, 6>(self.run_to.q.val()) + bit_cast::<8, 7>(self.run_gap.q.val()) + 1;
            self.open_words.d.next = self.base.val() + bit_cast::<11, 6>(self.run_to.q.val()) + 1;
            self.room.d.next = 0.into();
            if self.joins.val() {
                if self.room.q.val().get_bits::<5>(6).any() {
                    self.room.d.next = self.room.q.val() - 64;
                }
            } else {
                self.to_send.next = self.open.q.val();
                self.open_block.d.next = self.run_block.q.val();
                self.open_from.d.next = self.run_from.q.val();
                self.open_place.d.next =
                    self.run_place.q.val() + bit_cast::<13, 6>(self.run_from.q.val());
                if !self.fresh_room.val().get_bit(11) {
                    self.room.d.next = self.fresh_room.val().get_bits::<11>(0);
                }
            }
            self.full.d.next = self.cuts.val();
            self.run_is_first.d.next = false;
            self.run_bits.d.next = self.run_bits.q.val() & !self.below.val();
            if self.cuts.val() {
                self.state.d.next = RunState::Trim;
                self.cut_bits.d.next = self.run_bits.q.val() & self.below.val();
                self.before.d.next = self.base.val();
                self.room.d.next = 0.into();
            } else {
                self.run_ends.d.next = self.other_ends.val();
                if self.other_ends.val().any() {
                    self.state.d.next = RunState::Find;
                } else {
                    self.run_valid.d.next = false;
                    self.run_free.next = true;
                }
            }
        }
    }
}
