//! Rows of an item.

use super::super::record::{END, HEAD, SCAN};
use super::{Rows, RowsState};
use crate::request::{DEST_COUNT, POINTER_MAPPED};
use drdma_emit::prelude::*;

impl Rows {
    /// A row leaves unless its request has failed.
    #[hdl_gen]
    pub(super) fn give(&mut self) {
        self.ends.next = (self.work.q.val().task == END) && !self.work.q.val().never;
        self.found.next = false;
        self.found_bitmap.next = false;
        self.found_row.next.row = self.next.q.val();
        self.found_row.next.pointer = 0.into();
        if self.work.q.val().kind == POINTER_MAPPED {
            self.found_row.next.pointer = self.word.val();
        }
        self.found_row.next.lane = self.lane.q.val();
        self.found_row.next.chunk_start = self.chunk.q.val();
        self.found_row.next.unit_first = true;
        self.found_row.next.unit_last = true;
        self.found_row.next.counted = false;
        self.found_row.next.message_bytes = 0.into();
        self.found_row.next.empty = false;
        self.found_row.next.request_end = false;
        self.found_row.next.last = false;
        self.found_row.next.status = self.work.q.val().low.get_bits::<8>(0);
        self.found_row.next.bad_dest = self.work.q.val().low.get_bits::<DEST_COUNT>(9);
        self.found_row.next.column = false;
        self.found_row.next.rows = bit_cast::<13, 32>(self.work.q.val().rows);
        self.failing.next = false;
    }

    /// The next word or beat.
    #[hdl_gen]
    pub(super) fn go_on(&mut self) {
        if self.take_word.val() {
            self.place.d.next = self.place.q.val() + 1;
            if self.place.q.val() == 7 {
                self.take_beat.next = true;
            }
        }
        self.resp_ready.next = !self.beat_valid.q.val() || self.take_beat.val();
        if !self.beat_valid.q.val() || self.take_beat.val() {
            self.place.d.next = 0.into();
            self.beat_valid.d.next = self.resp_valid.val();
            self.beat.d.next = self.resp_data.val();
            self.beat_error.d.next = self.resp_error.val();
        }

        // The number of a bitmap's row.
        if self.advance.val() {
            if self.found.val() {
                self.chunk.d.next = false;
            }
            self.out_valid.d.next = self.found.val();
            self.out_context.d.next = self.shared.q.val();
            self.out_row.d.next = self.found_row.val();
            self.out_bitmap.d.next = self.found_bitmap.val();
        }
        self.row_valid.next = self.out_valid.q.val();
        self.row_context.next = self.out_context.q.val();
        self.row.next = self.out_row.q.val();
        self.number.next = 0.into();
        for k in 0..6 {
            self.number.next = self
                .number
                .val()
                .replace_bit(k, (self.out_row.q.val().pointer & self.numbers[k].val()).any());
        }
        if self.out_bitmap.q.val() {
            self.row.next.pointer = 0.into();
            self.row.next.row = self.out_row.q.val().row | bit_cast::<32, 6>(self.number.val());
        }
    }

    /// Contiguous or strided region: the next row follows by number.
    #[hdl_gen]
    pub(super) fn count(&mut self) {
        self.found.next = !self.failed.q.val();
        self.found_row.next.last = self.work.q.val().last && self.last_row.val();
        if self.advance.val() {
            self.lane.d.next = self.lane.q.val() + 1;
            if self.last_lane.val() {
                self.lane.d.next = 0.into();
                self.left.d.next = self.left.q.val() - 1;
                self.next.d.next = self.next.q.val() + 1;
                if self.left.q.val() == 1 {
                    self.state.d.next = RowsState::Idle;
                }
            }
        }
        if self.failed.q.val() {
            self.state.d.next = RowsState::Idle;
        }
    }

    /// Pointer-mapped region: the next row has the next pointer.
    #[hdl_gen]
    pub(super) fn give_pointers(&mut self) {
        if self.work.q.val().task == SCAN {
            // A scan takes up to eight pointers a cycle.
            if self.beat_valid.q.val() {
                self.take_beat.next = true;
                self.wrong.d.next = self.outside_all.val();
                if self.beat_error.q.val() {
                    self.bad.d.next = true;
                }
                self.left.d.next = self.left.q.val() - 8;
                if self.left.q.val() <= 8 {
                    self.state.d.next = RowsState::Result;
                }
            }
        } else if self.beat_valid.q.val() {
            // The host may have changed the pointer since it was judged.
            self.failing.next = self.beat_error.q.val()
                || self.beyond_all.val().get_bit(self.place.q.val().index());
            self.found.next = !self.failed.q.val() && !self.failing.val();
            self.found_row.next.last = self.work.q.val().last && (self.left.q.val() == 1);
            if self.advance.val() {
                self.take_word.next = true;
                self.left.d.next = self.left.q.val() - 1;
                self.next.d.next = self.next.q.val() + 1;
                if self.left.q.val() == 1 {
                    self.take_beat.next = true;
                    self.state.d.next = RowsState::Idle;
                }
            }
        }
    }

    /// Bitmapped region: the next row is the next set bit.
    #[hdl_gen]
    pub(super) fn give_bits(&mut self) {
        self.found.next = (self.bits.q.val() != 0) && !self.failed.q.val();
        self.found_bitmap.next = true;
        self.found_row.next.row = self.base.q.val();
        // The lowest set bit alone.
        self.found_row.next.pointer = self.bits.q.val() ^ self.rest.val();
        if (self.bits.q.val() == 0) || self.advance.val() {
            self.bits.d.next = self.rest.val();
            if self.bits.q.val() == 0 {
                self.bits.d.next = 0.into();
            }
            if (self.bits.q.val() == 0) || (self.rest.val() == 0) {
                if self.left.q.val() == 0 {
                    self.state.d.next = RowsState::Close;
                    if self.work.q.val().task == SCAN {
                        self.state.d.next = RowsState::Result;
                    }
                } else if self.beat_valid.q.val() {
                    self.take_word.next = true;
                    self.left.d.next = self.left.q.val() - 1;
                    self.base.d.next = self.base.q.val() + 64;
                    self.mask_first.d.next = self.ones.val();
                    self.failing.next = self.beat_error.q.val() && (self.work.q.val().task != SCAN);
                    if self.left.q.val() == 1 {
                        self.take_beat.next = true;
                    }
                    if self.work.q.val().task == SCAN {
                        self.scanned_valid.d.next = true;
                        if self.beat_error.q.val() {
                            self.bad.d.next = true;
                        }
                    } else if !self.beat_error.q.val() {
                        self.bits.d.next = self.masked.val();
                    }
                }
            }
        }
    }

    /// Emits the end that follows the last row.
    #[hdl_gen]
    pub(super) fn close(&mut self) {
        self.found_row.next.empty = true;
        self.found_row.next.request_end = self.ends.val();
        self.found_row.next.last = self.work.q.val().last
            || (self.ends.val() && (self.work.q.val().low.get_bit(8) || self.failed.q.val()));
        self.found_row.next.column = self.work.q.val().task == HEAD;
        self.found.next = (self.work.q.val().last && !self.failed.q.val())
            || (self.work.q.val().task == END)
            || (self.work.q.val().task == HEAD);
        if self.failed.q.val() {
            self.found_row.next.status = self.protection.val();
            self.found_row.next.bad_dest = self.bad_dest.q.val();
        }
        if self.advance.val() {
            self.state.d.next = RowsState::Idle;
            if self.ends.val() {
                self.failed.d.next = false;
            }
        }
    }
}
