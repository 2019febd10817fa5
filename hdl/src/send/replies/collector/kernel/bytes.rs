//! Bytes of READs and atomics.

use super::super::{Collector, CollectorState, VALUE};
use crate::send::{REPLY_PAGE, REPLY_ROW};
use drdma_emit::prelude::*;

impl Collector {
    /// Bytes of READs and atomics, as they come from host memory, and whether the page is used.
    #[hdl_gen]
    pub(super) fn accept_beats(&mut self) {
        self.beat.ready.next = self.state.q.val() == CollectorState::Beats;
        self.comes.next = self.beat.ready.val() && self.beat.valid.val();
        self.write_row.next = (bit_cast::<REPLY_ROW, REPLY_PAGE>(self.page.q.val()) << 6)
            | bit_cast::<REPLY_ROW, 6>(self.row.q.val());
        self.last.next = self.comes.val() && self.beat.last.val();
        self.none.next = (self.state.q.val() == CollectorState::Seek)
            && ((self.looked.q.val() == self.plan.kept.val()) || self.drops.q.val());
        self.count_ignored.next = self.none.val() && !self.drops.q.val();
        self.handed.next = self.values.read_data[0].val().get_bits::<64>(0);
        self.is_known.next = self.values.read_data[0].val().get_bit(64);
        self.page_unused.next = (self.last.val() && (self.drops.q.val() || self.beat.error.val()))
            || ((self.state.q.val() == CollectorState::Hand)
                && (self.drops.q.val() || !self.is_known.val()))
            || self.none.val();
    }

    /// The value that an atomic leaves, and its answer.
    #[hdl_gen]
    pub(super) fn compute_atomic(&mut self) {
        self.executes.next = self.plan.atomic.val() && !self.plan.again.val();
        self.operands_of.next = self.plan.slot.val();
        if self.state.q.val() == CollectorState::Beats {
            self.original.d.next = self.beat.data.val().get_bits::<64>(0);
        }
        if self.state.q.val() == CollectorState::Hand {
            self.original.d.next = self.handed.val();
        }
        if self.state.q.val() == CollectorState::Change {
            self.changed.d.next = self.original.q.val() + self.swap_or_add.val();
            self.writes.d.next = true;
            if self.plan.swaps.val() {
                self.changed.d.next = self.swap_or_add.val();
                self.writes.d.next = self.original.q.val() == self.compare.val();
            }
        }
        self.word.valid.next = (self.state.q.val() == CollectorState::Store) && self.writes.q.val();
        self.word.addr.next = self.plan.addr.val();
        self.word.data.next = self.changed.q.val();
        self.word.slot.next = self.plan.slot.val();
        self.stored.next = (self.state.q.val() == CollectorState::Store)
            && (!self.writes.q.val() || self.word.ready.val());
        // An atomic that is given up leaves the value that it has found.
        self.values.read_address[0].next = self.plan.from.val();
        self.values.write_address.next = self.plan.slot.val();
        self.values.write_enable.next = self.executes.val()
            && ((self.state.q.val() == CollectorState::Beats)
                || (self.state.q.val() == CollectorState::Hand)
                || ((self.state.q.val() == CollectorState::Store) && self.writes.q.val()));
        self.values.write_data.next =
            bit_cast::<VALUE, 64>(self.changed.q.val()) | (bits::<VALUE>(1) << 64);
        if self.state.q.val() == CollectorState::Beats {
            self.values.write_data.next =
                bit_cast::<VALUE, 64>(self.beat.data.val().get_bits::<64>(0))
                    | (bit_cast::<VALUE, 1>((!self.beat.error.val()).into()) << 64);
        }
        if self.state.q.val() == CollectorState::Hand {
            self.values.write_data.next = self.values.read_data[0].val();
        }
        self.answer.original.next = self.original.q.val();
        self.write_valid.next = self.comes.val()
            || ((self.state.q.val() == CollectorState::Offer) && self.plan.atomic.val());
        self.write_data.next = self.beat.data.val();
        if self.state.q.val() == CollectorState::Offer {
            self.write_data.next = bit_cast::<512, 64>(self.answer.sent.val());
        }
    }

    /// Takes the packet's bytes up to the last beat.
    #[hdl_gen]
    pub(super) fn take_beats(&mut self) {
        if self.comes.val() {
            self.row.d.next = self.row.q.val() + 1;
        }
        if self.last.val() {
            self.refuses.d.next = self.beat.error.val();
            self.unread.d.next = self.beat.error.val() && !self.beat.outside.val();
            self.done.next = self.drops.q.val();
            self.state.d.next = CollectorState::Offer;
            if self.plan.atomic.val() && !self.beat.error.val() {
                self.row.d.next = 0.into();
                self.state.d.next = CollectorState::Change;
            }
        }
    }
}
