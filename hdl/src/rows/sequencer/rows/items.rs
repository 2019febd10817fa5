//! Items: how one begins, and which rows and words it has.

use super::super::record::{END, HEAD};
use super::{Rows, RowsState};
use crate::request::{BITMAPPED, POINTER_MAPPED};
use drdma_emit::prelude::*;

impl Rows {
    /// The item.
    #[hdl_gen]
    pub(super) fn look_at_item(&mut self) {
        self.last_lane.next = !self.shared.q.val().by_lane
            || (bit_cast::<5, 4>(self.lane.q.val()) + 1 == self.shared.q.val().lanes);
        self.last_row.next = (self.left.q.val() == 1) && self.last_lane.val();
        self.advance.next = !self.out_valid.q.val() || self.row_ready.val();
        self.load.next = (self.state.q.val() == RowsState::Idle)
            || ((self.state.q.val() == RowsState::Count)
                && self.advance.val()
                && self.last_row.val());
        self.item_ready.next = self.load.val();
        self.item_end.next = bit_cast::<33, 32>(self.item.val().first & 63)
            + bit_cast::<33, 32>(self.item.val().rows);
        self.item_words.next = (self.item_end.val() + 63).get_bits::<27>(6);

        // The beat and its words.
        self.word.next = self.beat.q.val().get_bits::<64>(self.place.q.val().index() * 64);
        self.masked.next = self.word.val() & self.mask_first.q.val();
        if self.left.q.val() == 1 {
            self.masked.next = self.word.val() & self.mask_first.q.val() & self.mask_last.q.val();
        }
        self.rest.next = self.bits.q.val() & (self.bits.q.val() - 1);
        self.take_word.next = false;
        self.take_beat.next = false;
    }

    /// The next item takes the place of one that has ended.
    #[hdl_gen]
    pub(super) fn take_item(&mut self) {
        if self.load.val() {
            self.work.d.next = self.item.val();
            self.shared.d.next = self.item_context.val();
            self.left.d.next = self.item.val().rows;
            self.next.d.next = self.item.val().first;
            self.lane.d.next = 0.into();
            self.count.d.next = 0.into();
            self.bad.d.next = false;
            self.wait.d.next = 0.into();
            self.bits.d.next = 0.into();
            self.bits_error.d.next = false;
            self.base.d.next = ((self.item.val().first >> 6) << 6) - 64;
            self.mask_first.d.next = self.ones.val() << bit_cast::<6, 32>(self.item.val().first);
            self.mask_last.d.next =
                self.ones.val() >> bit_cast::<6, 33>((self.item_end.val() ^ 63) + 1);
            if self.item_valid.val() {
                if self.item.val().chunk_start {
                    self.chunk.d.next = true;
                }
                if (self.item.val().task == END)
                    || (self.item.val().task == HEAD)
                    || (self.item.val().rows == 0)
                {
                    self.state.d.next = RowsState::Close;
                } else if self.item.val().kind == BITMAPPED {
                    self.left.d.next = bit_cast::<32, 27>(self.item_words.val());
                    self.state.d.next = RowsState::Bits;
                } else if self.item.val().kind == POINTER_MAPPED {
                    self.state.d.next = RowsState::Pointers;
                } else {
                    self.state.d.next = RowsState::Count;
                }
            }
        }
    }
}
