//! Requests that are sent before all of their rows are judged.
//!
//! A request whose columns are bits and of fixed width has nothing to be judged but whether its lists and bits can be
//! read, and what cannot be read may end a request behind its first packets. So it is sent as it is judged, from when
//! all destinations have had a turn, or the only one has had some rows. Its values need no room for all of them at
//! once. The length of a message must not be needed before its last row: a WRITE's messages fit a packet.
//!
//! When such a request begins to be sent, the lists and lines of bits of the next request are asked for. They come
//! while it is sent. The next request is not judged ahead, because the request would then end only when that is judged.
//! A request that is judged ahead is not sent before it is judged.

use super::super::finder::LISTS;
use super::{Lister, ListerState, MOST_AHEAD};
use crate::request::BITMAPPED;
use drdma_emit::prelude::*;

/// Bit of the number of a destination's rows: as soon as it is set, the only destination has had some rows.
const LOG_SOME_ROWS: usize = 6;
/// Bits of the number of bytes of a row, and of units of a message, of a request that is sent as it is judged.
const ROW: usize = 10;
const UNITS: usize = 13;

impl<const RECORDS: usize> Lister<RECORDS> {
    /// Finds whether the rows of the current destination may be sent before they are judged; known three cycles after
    /// the destination was announced and the region's plan was made.
    #[hdl_gen]
    pub(super) fn look_at_stream(&mut self) {
        self.whole_row.d.next = bit_cast::<33, 32>(self.plan_now.val().bytes)
            + bit_cast::<33, 5>(self.bit_bytes.q.val());
        self.message.enable.next = true;
        self.message.a.next = self.head.q.val().units.get_bits::<UNITS>(0);
        self.message.b.next = self.whole_row.q.val().get_bits::<ROW>(0);
        self.fits_packet.d.next = (self.message.product.val()
            <= (bits::<23>(1) << self.head.q.val().log_mtu))
            && !self.head.q.val().units.get_bits::<19>(13).any();
        self.is_flat.next = self.keeping.val()
            && self.keeps.q.val()
            && !self.ahead.q.val()
            && self.has_room.val()
            && (self.head.q.val().sets == 1)
            && (self.set_info.val().kind == BITMAPPED)
            && (self.set_info.val().count <= MOST_AHEAD)
            && !self.plan_now.val().follows.any();
        self.suits_now.next = self.is_flat.val()
            && !self.whole_row.q.val().get_bits::<23>(10).any()
            && (self.fits_packet.q.val()
                || (!self.head.q.val().is_write && !self.head.q.val().is_ud));
        self.streams.next = self.streaming.q.val();
        self.may_look.next = !self.has_next.q.val()
            && self.next_valid.val()
            && (self.dests_now.val() <= LISTS)
            && (self.next_dests.val() <= LISTS);
        self.looks_between.next = self.may_look.val()
            && self.last_dest.val()
            && !self.finder.ran_on.val()
            && self.suits.q.val()
            && self.suits_now.val();
        self.looks_first.next =
            self.may_look.val() && self.is_flat.val() && (self.dests_now.val() == 1);
        self.is_large.next = self.was_hopeless.q.val()
            || (self.set_info.val().ids.any()
                && (bit_cast::<33, 32>(self.set_info.val().count) > self.room_for_rows.val()));
    }

    /// Begins to send the request that is judged.
    #[hdl_gen]
    pub(super) fn stream(&mut self) {
        if self.passes.val() && !self.chunk.q.val().any() {
            self.suits.d.next = self.suits.q.val() && self.suits_now.val();
            self.streaming.d.next = self.streaming.q.val()
                || (self.last_dest.val() && self.suits.q.val() && self.suits_now.val());
        } else if self.takes.val()
            && (self.dests_now.val() == 1)
            && self.counted.q.val().get_bit(LOG_SOME_ROWS)
            && self.suits_now.val()
        {
            self.streaming.d.next = true;
        }
        if !self.streaming.q.val() {
            self.dense.d.next =
                (self.selected.q.val() << 1) >= (bits::<33>(1) << self.log_chunk.q.val());
        }
        if self.streaming.q.val()
            && !self.is_sent.q.val()
            && (self.state.q.val() != ListerState::Finish)
        {
            self.send.next = true;
            self.sending.d.next = true;
            self.is_sent.d.next = true;
        }
        if self.send.val() {
            self.streamed.d.next = self.streaming.q.val();
        }
        if self.begins.val() || self.restarts.val() {
            self.streaming.d.next = false;
            self.is_sent.d.next = false;
            self.suits.d.next = true;
        }
    }

    /// Looks at the lists and bits of the next request before the walk goes on.
    #[hdl_gen]
    pub(super) fn look_ahead(&mut self) {
        self.returns.d.next = true;
        self.for_next.d.next = true;
        self.evicted.d.next = false;
        self.scout.d.next = 0.into();
        self.is_one.d.next = false;
        self.state.d.next = ListerState::ListRead;
    }

    /// Takes the destination anew, in place of the next request's, and goes on with its walk.
    #[hdl_gen]
    pub(super) fn take_back(&mut self) {
        self.head.d.next = self.dest_info.val();
        self.region.d.next = 0.into();
        self.set.d.next = self.dest_info.val().first_set;
        self.returns.d.next = false;
        self.state.d.next = ListerState::Region;
        if self.turns.q.val() {
            self.state.d.next = ListerState::GoOn;
        }
    }
}
