//! Ends of messages and destinations, and the lengths of messages.

use super::super::record::{CHUNK, GOES_ON, TURNS};
use super::{END, Giver, TOTAL};
use crate::request::DEST_INDEX;
use drdma_abi::work_request::MAX_MESSAGE;
use drdma_emit::prelude::*;

/// Largest number of bytes of a message.
const LONGEST: u64 = MAX_MESSAGE;

impl<const LENGTHS: usize> Giver<LENGTHS> {
    /// Reads the state of the destination that the head names, and names that of the one before.
    #[hdl_gen]
    pub(super) fn look_at_standing(&mut self) {
        // State of the destination before, and of the one that the head names.
        self.standing_new.next.sum = self.sum.q.val();
        self.standing_new.next.over = self.over.q.val();
        self.standing_new.next.started = self.started.q.val();
        self.standing_in.record.next = self.standing_new.val();
        self.standings.write_lanes.next = 0.into();
        self.standings.write_address.next = self.place.q.val().get_bits::<DEST_INDEX>(0);
        self.standings.write_data.next = self.standing_in.bits.val();
        self.standings.read_enable.next = true;
        self.standings.read_address.next = self.value.set.val().get_bits::<DEST_INDEX>(0);
        self.standing.bits.next = self.standings.read_data.val();
        self.numbers.write_lanes.next = 0.into();
        self.numbers.write_address.next = self.place.q.val().get_bits::<DEST_INDEX>(0);
        self.numbers.write_data.next = self.number.q.val();
        self.numbers.read_enable.next = true;
        self.numbers.read_address.next = self.value.set.val().get_bits::<DEST_INDEX>(0);
    }

    /// Ends a message.
    #[hdl_gen]
    pub(super) fn end_message(&mut self) {
        self.out_new.next.piece = false;
        self.out_new.next.first = 0.into();
        self.out_new.next.last = 0.into();
        self.out_new.next.bytes = 0.into();
        self.out_new.next.row = 0.into();
        self.out_new.next.message_end = true;
        if !self.value.give.val() {
            self.done.next = true;
            self.sum_of_all.d.next =
                self.sum_of_all.q.val() + bit_cast::<TOTAL, 34>(self.weighed.val());
            self.told.d.next = self.weighed.val().get_bits::<32>(0);
            if self.over.q.val() || self.exceeds.val() {
                self.long.d.next = true;
            }
            self.counts.next = self.is_write.q.val() && self.value.unit_end.val();
            self.lengths.write_lanes.next = bit_cast::<1, 1>(self.counts.val().into());
        } else if self.is_write.q.val()
            && !self.replays.val()
            && (self.sum.q.val() != bit_cast::<33, 32>(self.told_now.val()))
        {
            self.fails.next = true;
        } else {
            self.emits.next = self.free.val();
            self.done.next = self.free.val();
            self.counts.next = self.free.val();
        }
        if self.done.val() {
            self.sum.d.next = 0.into();
            self.over.d.next = false;
        }
    }

    /// Ends a destination.
    #[hdl_gen]
    pub(super) fn end_destination(&mut self) {
        self.out_new.next.piece = false;
        self.out_new.next.first = 0.into();
        self.out_new.next.last = 0.into();
        self.out_new.next.bytes = 0.into();
        self.out_new.next.row = 0.into();
        self.out_new.next.message_start = false;
        self.out_new.next.message_bytes = 0.into();
        self.out_new.next.dest_end = true;
        if self.is_write.q.val()
            && !self.replays.val()
            && !self.lost.q.val()
            && !self.ends_now.val()
        {
            // The destination had more messages when it was judged.
            self.fails.next = true;
        } else {
            self.emits.next = self.free.val() && self.value.unit_end.val();
            self.done.next = self.free.val();
            self.counts.next = self.free.val();
        }
    }

    /// Ends the walk that judges a destination.
    #[hdl_gen]
    pub(super) fn end_verdict(&mut self) {
        self.done.next = true;
        if self.value.unit_end.val() {
            self.counts.next = self.is_write.q.val();
            self.lengths.write_lanes.next = bit_cast::<1, 1>(self.counts.val().into());
            self.lengths.write_data.next = END.into();
            self.fails.next = self.long.q.val();
            self.broken_long.d.next = self.long.q.val();
        }
        // Values that were checked without messages leave no bytes to a message.
        self.sum.d.next = 0.into();
        self.over.d.next = false;
    }

    /// Begins a destination, or goes on with it.
    #[hdl_gen]
    pub(super) fn take_head(&mut self) {
        self.found.d.next = !self.found.q.val();
        self.done.next = self.found.q.val();
        if !self.found.q.val() {
            self.standings.write_lanes.next = bit_cast::<1, 1>(self.turning.q.val().into());
            self.numbers.write_lanes.next = bit_cast::<1, 1>(self.turning.q.val().into());
        } else {
            self.place.d.next = self.value.set.val().get_bits::<10>(0);
            self.is_write.d.next = self.value.first.val().get_bit(0);
            self.turning.d.next = self.value.first.val().get_bit(TURNS);
            if self.value.first.val().get_bit(CHUNK) && self.value.give.val() {
                self.chunk_start.d.next = true;
            }
            self.limit.d.next = LONGEST.into();
            if self.value.unit_end.val() {
                self.limit.d.next = bits::<32>(1) << self.value.lane.val();
            }
            self.sum.d.next = 0.into();
            self.over.d.next = false;
            self.started.d.next = false;
            if self.value.first.val().get_bit(GOES_ON) {
                self.sum.d.next = self.standing.record.val().sum;
                self.over.d.next = self.standing.record.val().over;
                self.started.d.next = self.standing.record.val().started;
            }
            if self.value.give.val() || self.value.first.val().get_bit(GOES_ON) {
                self.number.d.next = self.numbers.read_data.val();
            } else {
                self.numbers.write_lanes.next = 1.into();
                self.numbers.write_address.next = self.value.set.val().get_bits::<DEST_INDEX>(0);
            }
        }
    }

    /// Reads the length of the next message.
    #[hdl_gen]
    pub(super) fn read_length(&mut self) {
        // The next length is read in the next cycle.
        if self.counts.val() {
            self.number.d.next = self.number.q.val() + 1;
            if self.number.d.val() == 0 {
                self.lost.d.next = true;
            }
        }
        self.lengths.read_enable.next = true;
        self.lengths.read_address.next = self.number.d.val();
    }

    /// Begins a request.
    #[hdl_gen]
    pub(super) fn begin(&mut self) {
        self.broken.d.next = false;
        self.sum.d.next = 0.into();
        self.over.d.next = false;
        self.long.d.next = false;
        self.broken_long.d.next = false;
        self.number.d.next = 0.into();
        self.lost.d.next = false;
        self.turning.d.next = false;
        self.found.d.next = false;
        self.chunk_start.d.next = false;
        self.sum_of_all.d.next = 0.into();
        if self.replays.val() {
            self.sum_of_all.d.next = self.judged_total.val();
        }
        self.started.d.next = false;
        self.packed.d.next = 0.into();
        self.pack.d.next = 0.into();
    }
}
