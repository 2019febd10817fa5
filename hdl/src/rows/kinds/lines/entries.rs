//! Entries, from when they are taken to when they leave with their bytes.

use super::super::record::{LOAD, VALUE};
use super::Lines;
use crate::request::{BITS, FIXED, OFFSETS, VIEWS};
use drdma_abi::work_request::VIEW;
use drdma_emit::prelude::*;

/// Bytes of a view.
const VIEW_BYTES: u64 = VIEW as u64;
/// Largest number of bytes of the lane behind an entry; stands for more as well.
const MOST_AFTER: u64 = 255;
/// Largest number of values that are counted; more than can be under way.
const MOST_SINCE: u64 = 1023;
/// Largest number of entries whose answers were not taken yet.
const MOST: u64 = 512;

impl Lines {
    /// Decides whether the stages advance: all of them do together. An entry for which two blocks are read stays a
    /// cycle longer.
    #[hdl_gen]
    pub(super) fn advance(&mut self) {
        self.has_room_for_read.next =
            self.reads_out.input.ready.val() && self.is_early_read.in_ready.val();
        self.flows.next = self.has_room_for_read.val()
            && self.sources.input.ready.val()
            && self.loads.input.ready.val()
            && self.entries.input.ready.val()
            && self.has_room.q.val()
            && self.ready_to_look.q.val();
        self.both.next = self.asked_valid.q.val()
            && (self.asked.q.val().fills && self.asked.q.val().fills_second)
            && !self.second.q.val();
        self.moves.next = self.flows.val() && !self.both.val();
        self.enters.next = self.moves.val() || !self.held_valid.q.val();
        self.placed.ready.next = self.enters.val() && self.product.valid.val() && !self.holds.val();
        self.product.ready.next = self.enters.val() && self.placed.valid.val() && !self.holds.val();
    }

    /// Four lines of a lane are kept. A line of a later block takes the place of one that values before the last block
    /// may need: it waits until they have been picked. It also waits until the lines of the last block are stored that
    /// were asked for in this way: the values behind may need them.
    #[hdl_gen]
    pub(super) fn hold_lines(&mut self) {
        self.of_last.next = self.since_last.q.val();
        if self.placed.unit_end.val() {
            self.of_last.next = self.since.q.val();
        }
        self.holds.next = (self.placed.task.val() == LOAD)
            && self.placed.give.val()
            && (self.loading.q.val().any() || (self.picking.q.val() > self.of_last.val()));
    }

    /// Counts the lines of later blocks that are on their way, and the values that need lines.
    #[hdl_gen]
    pub(super) fn count_lines(&mut self) {
        self.begins_load.next = self.placed.valid.val()
            && self.placed.ready.val()
            && (self.placed.task.val() == LOAD)
            && self.placed.early.val();
        self.begins_pick.next = self.placed.valid.val()
            && self.placed.ready.val()
            && (self.placed.task.val() == VALUE)
            && (self.placed.kind.val() == BITS);
        if self.begins_load.val() && self.placed.some.val() && !self.store.stores_early.val() {
            self.loading.d.next = self.loading.q.val() + 1;
        } else if !(self.begins_load.val() && self.placed.some.val())
            && self.store.stores_early.val()
        {
            self.loading.d.next = self.loading.q.val() - 1;
        }
        if self.begins_pick.val() && !self.store.picks.val() {
            self.picking.d.next = self.picking.q.val() + 1;
        } else if !self.begins_pick.val() && self.store.picks.val() {
            self.picking.d.next = self.picking.q.val() - 1;
        }
        if self.placed.ready.val()
            && self.placed.valid.val()
            && (self.placed.task.val() == LOAD)
            && self.placed.unit_end.val()
        {
            self.since_last.d.next = self.since.q.val();
            self.since.d.next = 0.into();
        } else if self.begins_pick.val() && (self.since.q.val() != MOST_SINCE) {
            self.since.d.next = self.since.q.val() + 1;
        }
    }

    /// Takes an entry, and finds how many bytes of its lane are behind it.
    #[hdl_gen]
    pub(super) fn take_entry(&mut self) {
        // Bytes of the lane behind the entry, as far as they may be in its block or the next.
        self.rows.next = self.placed.rest.val().get_bits::<8>(0);
        if self.placed.rest.val().get_bits::<3>(8).any() {
            self.rows.next = MOST_AFTER.into();
        }
        self.shifted[0].next = bit_cast::<14, 8>(self.rows.val());
        for k in 1..6 {
            self.shifted[k].next = self.shifted[k - 1].val() << 1;
        }
        for k in 0..6 {
            self.parts[k].next = 0.into();
            if self.placed.step.val().get_bit(k) {
                self.parts[k].next = self.shifted[k].val();
            }
        }
        self.reach.next = ((self.parts[0].val() + self.parts[1].val())
            + (self.parts[2].val() + self.parts[3].val()))
            + (self.parts[4].val() + self.parts[5].val());
        self.bits_after.next = (bit_cast::<12, 11>(self.placed.rest.val())
            + bit_cast::<12, 3>(self.placed.bit.val()))
        .get_bits::<9>(3);
        if self.enters.val() {
            self.held_valid.d.next =
                self.placed.valid.val() && self.product.valid.val() && !self.holds.val();
            self.placed.share(&mut self.held.d);
            self.held.d.next.at = self.placed.start.val() + self.product.bytes.val();
            self.is_load.d.next = self.placed.task.val() == LOAD;
            self.is_early.d.next = self.placed.early.val();
            self.picks.d.next =
                (self.placed.task.val() == VALUE) && (self.placed.kind.val() == BITS);
            self.half.d.next = self.placed.half.val();
            self.spot.d.next = self.placed.spot.val();
            self.must_read.d.next = ((self.placed.task.val() == VALUE)
                && (self.placed.kind.val() != FIXED)
                && (self.placed.kind.val() != BITS))
                || ((self.placed.task.val() == LOAD) && self.placed.some.val());
            self.near.d.next = self.placed.near.val();
            self.len.d.next = bits::<5>(1) << self.placed.log_entry.val();
            self.after.d.next = self.reach.val().get_bits::<8>(0);
            if self.reach.val().get_bits::<6>(8).any() {
                self.after.d.next = MOST_AFTER.into();
            }
            if self.placed.kind.val() == BITS {
                self.after.d.next = self.bits_after.val().get_bits::<8>(0);
                if self.bits_after.val().get_bit(8) {
                    self.after.d.next = MOST_AFTER.into();
                }
            } else if self.placed.kind.val() == OFFSETS {
                self.len.d.next = bits::<5>(2) << self.placed.log_entry.val();
            } else if self.placed.kind.val() == VIEWS {
                self.len.d.next = VIEW_BYTES.into();
            }
        }
    }

    /// Keeps entries while their bytes are looked for. There is room for the answer of each.
    #[hdl_gen]
    pub(super) fn wait_for_bytes(&mut self) {
        self.entries.input.valid.next =
            self.held_valid.q.val() && self.moves.val() && !self.is_load.q.val();
        self.entries.input.data.next = self.held.q.val();
        self.entries.output.join(&mut self.entry);
        self.waits.next = self.held_valid.q.val()
            && self.moves.val()
            && ((self.must_read.q.val() && !self.is_load.q.val()) || self.picks.q.val());
        self.answered.next = self.answers.output.valid.val() && self.answer.ready.val();
        if self.waits.val() && !self.answered.val() {
            self.waiting.d.next = self.waiting.q.val() + 1;
        } else if !self.waits.val() && self.answered.val() {
            self.waiting.d.next = self.waiting.q.val() - 1;
        }
        self.has_room.d.next = self.waiting.d.val() < MOST - 1;
    }
}
