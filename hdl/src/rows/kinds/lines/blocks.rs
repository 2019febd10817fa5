//! The two blocks that an entry may touch: whether they are kept, and what is read of them.

use super::{BLOCK_NUMBER, Lines, PLACE};
use drdma_emit::prelude::*;

/// Offset of the last byte of a block.
const LAST: u64 = 255;

impl Lines {
    /// Finds the entry's block and the block behind.
    #[hdl_gen]
    pub(super) fn find_blocks(&mut self) {
        // The entry's block and the block behind: one of them is even, and one odd.
        self.len_less.next = self.len.q.val() - 1;
        self.last_byte.next = bit_cast::<9, 8>(self.held.q.val().at.get_bits::<8>(0))
            + bit_cast::<9, 5>(self.len_less.val());
        self.last_behind.next =
            bit_cast::<10, 9>(self.last_byte.val()) + bit_cast::<10, 8>(self.after.q.val());
        self.even.next = self.held.q.val().at.get_bits::<BLOCK_NUMBER>(9)
            + bit_cast::<BLOCK_NUMBER, 1>(self.held.q.val().at.get_bits::<1>(8));
        // Lanes whose blocks have the same lower bits are far from each other.
        self.spread.next = (bit_cast::<PLACE, 1>(self.held.q.val().lane.get_bits::<1>(0)) << 6)
            | (bit_cast::<PLACE, 1>(self.held.q.val().lane.get_bits::<1>(1)) << 5)
            | (bit_cast::<PLACE, 1>(self.held.q.val().lane.get_bits::<1>(2)) << 4)
            | (bit_cast::<PLACE, 1>(self.held.q.val().lane.get_bits::<1>(3)) << 3);
        self.to_line_end.next = !self.held.q.val().at.get_bits::<6>(0);
        self.looked_new.next.lane = self.held.q.val().lane;
        self.looked_new.next.at = self.held.q.val().at;
        self.looked_new.next.len = self.len.q.val();
        self.looked_new.next.must_read = self.must_read.q.val();
        self.looked_new.next.keeps =
            self.must_read.q.val() && self.near.q.val() && !self.is_load.q.val();
        self.looked_new.next.even = self.even.val();
        self.looked_new.next.odd = self.held.q.val().at.get_bits::<BLOCK_NUMBER>(9);
        self.looked_new.next.even_place = self.even.val().get_bits::<PLACE>(0) ^ self.spread.val();
        self.looked_new.next.odd_place =
            self.held.q.val().at.get_bits::<PLACE>(9) ^ self.spread.val();
        self.looked_new.next.crosses = self.last_byte.val().get_bit(8);
        self.looked_new.next.needs = self.last_byte.val().get_bits::<8>(0);
        self.looked_new.next.needs_second = self.last_byte.val().get_bits::<4>(0);
        if self.last_byte.val().get_bit(8) {
            self.looked_new.next.needs = LAST.into();
        }
        self.looked_new.next.first = 0.into();
        if self.held.q.val().base.get_bits::<56>(8) == self.held.q.val().at.get_bits::<56>(8) {
            self.looked_new.next.first = self.held.q.val().base.get_bits::<8>(0);
        }
        self.looked_new.next.last = self.last_behind.val().get_bits::<8>(0);
        if self.last_behind.val().get_bits::<2>(8).any() {
            self.looked_new.next.last = LAST.into();
        }
        self.looked_new.next.last_second = self.last_behind.val().get_bits::<8>(0);
        if self.last_behind.val().get_bit(9) {
            self.looked_new.next.last_second = LAST.into();
        }
        self.looked_new.next.load_after = self.to_line_end.val();
        if self.after.q.val() < bit_cast::<8, 6>(self.to_line_end.val()) {
            self.looked_new.next.load_after = self.after.q.val().get_bits::<6>(0);
        }
        self.looked_new.next.loads = self.is_load.q.val();
        self.looked_new.next.early = self.is_load.q.val() && self.is_early.q.val();
        self.looked_new.next.picks = self.picks.q.val();
        self.looked_new.next.half = self.half.q.val();
        self.looked_new.next.spot = self.spot.q.val();
        if self.moves.val() {
            self.looked_valid.d.next =
                self.held_valid.q.val() && (self.must_read.q.val() || self.picks.q.val());
            self.looked.d.next = self.looked_new.val();
        }
    }

    /// Finds whether the bytes of the entry are kept in its block and the block behind.
    #[hdl_gen]
    pub(super) fn look_up(&mut self) {
        self.tags[0].place.next = self.looked.q.val().even_place;
        self.tags[0].number.next = self.looked.q.val().even;
        self.tags[1].place.next = self.looked.q.val().odd_place;
        self.tags[1].number.next = self.looked.q.val().odd;
        if self.moves.val() {
            self.found_valid.d.next = self.looked_valid.q.val();
            self.found.d.next = self.looked.q.val();
        }
        for k in 0..2 {
            self.tags[k].clear.next = self.clear.val();
            self.tags[k].moves.next = self.moves.val();
            self.has_first[k].next = self.tags[k].known.val()
                && (self.tags[k].kept_first.val() <= self.found.q.val().at.get_bits::<8>(0))
                && (self.tags[k].kept_last.val() >= self.found.q.val().needs)
                && !(self.found.q.val().crosses
                    && self.tags[k].kept_first.val().get_bits::<6>(0).any());
            self.has_second[k].next = self.tags[k].known.val()
                && !self.tags[k].kept_first.val().any()
                && (self.tags[k].kept_last.val()
                    >= bit_cast::<8, 4>(self.found.q.val().needs_second));
        }
        self.is_odd.next = self.found.q.val().at.get_bit(8);
        self.hits.next = self.has_first[0].val();
        self.hits_second.next = self.has_second[1].val();
        self.kept_first.next = self.tags[0].kept_first.val();
        if self.is_odd.val() {
            self.hits.next = self.has_first[1].val();
            self.hits_second.next = self.has_second[0].val();
            self.kept_first.next = self.tags[1].kept_first.val();
        }
    }

    /// Decides which of the two blocks are read, and marks them as kept.
    #[hdl_gen]
    pub(super) fn mark_blocks(&mut self) {
        self.alone.next = self.found.q.val().must_read
            && !self.found.q.val().loads
            && (!self.found.q.val().keeps
                || (self.found.q.val().crosses
                    && self.found.q.val().first.get_bits::<6>(0).any()
                    && !self.hits.val()));
        self.fills.next = self.found.q.val().keeps && !self.alone.val() && !self.hits.val();
        self.fills_second.next = self.found.q.val().keeps
            && !self.alone.val()
            && self.found.q.val().crosses
            && !self.hits_second.val();
        self.looks.next = self.found_valid.q.val() && self.moves.val();
        for k in 0..2 {
            self.tags[k].mark.next = self.looks.val() && self.fills.val();
            self.tags[k].first.next = self.found.q.val().first;
            self.tags[k].last.next = self.found.q.val().last;
        }
        if self.is_odd.val() {
            self.tags[0].mark.next = self.looks.val() && self.fills_second.val();
            self.tags[0].first.next = 0.into();
            self.tags[0].last.next = self.found.q.val().last_second;
        } else {
            self.tags[1].mark.next = self.looks.val() && self.fills_second.val();
            self.tags[1].first.next = 0.into();
            self.tags[1].last.next = self.found.q.val().last_second;
        }
        self.ready_to_look.d.next = !self.tags[0].busy.val() && !self.tags[1].busy.val();
    }

    /// Finds what is read of the blocks.
    #[hdl_gen]
    pub(super) fn ask(&mut self) {
        self.found.q.share(&mut self.asked_new);
        self.asked_new.next.alone = self.alone.val();
        self.asked_new.next.fills = self.fills.val();
        self.asked_new.next.fills_second = self.fills_second.val();
        self.asked_new.next.addr = self.found.q.val().at;
        if self.found.q.val().keeps && !self.alone.val() {
            self.asked_new.next.addr =
                (bit_cast::<64, 56>(self.found.q.val().at.get_bits::<56>(8)) << 8)
                    | bit_cast::<64, 8>(self.found.q.val().first);
        }
        self.asked_new.next.fill_bytes = bit_cast::<9, 8>(self.found.q.val().last)
            - bit_cast::<9, 8>(self.found.q.val().first)
            + 1;
        self.asked_new.next.next_block =
            (bit_cast::<56, BLOCK_NUMBER>(self.found.q.val().odd) << 1) | 1;
        self.asked_new.next.place = bit_cast::<8, PLACE>(self.found.q.val().even_place) << 1;
        self.asked_new.next.second_place =
            (bit_cast::<8, PLACE>(self.found.q.val().odd_place) << 1) | 1;
        if self.is_odd.val() {
            self.asked_new.next.next_block =
                bit_cast::<56, BLOCK_NUMBER>(self.found.q.val().even) << 1;
            self.asked_new.next.place =
                (bit_cast::<8, PLACE>(self.found.q.val().odd_place) << 1) | 1;
            self.asked_new.next.second_place =
                bit_cast::<8, PLACE>(self.found.q.val().even_place) << 1;
        }
        self.asked_new.next.offset = self.found.q.val().at.get_bits::<8>(0);
        self.asked_new.next.first = self.found.q.val().first;
        if self.hits.val() {
            self.asked_new.next.first = self.kept_first.val();
        }
        if self.moves.val() {
            self.asked_valid.d.next = self.found_valid.q.val();
            self.asked.d.next = self.asked_new.val();
        }
    }
}
