//! Entries, and what their fields say.

use super::super::record::VALUE;
use super::{Follower, FollowerState};
use crate::request::{BITS, DICTIONARY, FIXED, VIEWS};
use drdma_abi::work_request::VIEW_INLINE;
use drdma_emit::prelude::*;

/// Largest number of bytes of a value that stand in its view.
const INLINE: u64 = VIEW_INLINE as u64;
/// Offset of these bytes in the view.
const INLINE_AT: u64 = 4;
/// Largest number of values that are followed or wait for the giver.
const MOST: u64 = 16;

impl Follower {
    /// Takes an entry, with its bytes if they were read, as long as there is room for its value.
    #[hdl_gen]
    pub(super) fn take_entry(&mut self) {
        self.flows.next = self.state.q.val() == FollowerState::Flow;
        self.must_read.next = (self.entry.task.val() == VALUE) && (self.entry.kind.val() != FIXED);
        self.accept.next = self.flows.val()
            && self.has_room.q.val()
            && self.entry.valid.val()
            && (self.answer.valid.val() || !self.must_read.val());
        self.entry.ready.next = self.flows.val()
            && self.has_room.q.val()
            && (self.answer.valid.val() || !self.must_read.val());
        self.answer.ready.next = self.accept.val() && self.must_read.val();
        self.gone.next = self.values.output.valid.val() && self.value.ready.val();
        if self.accept.val() && !self.gone.val() {
            self.inside.d.next = self.inside.q.val() + 1;
        } else if !self.accept.val() && self.gone.val() {
            self.inside.d.next = self.inside.q.val() - 1;
        }
        self.has_room.d.next = self.inside.d.val() < MOST;
        if self.flows.val() {
            self.entry_valid.d.next = self.accept.val();
            self.held.d.next = self.entry.val();
            self.held_answer.d.next = self.answer.val();
        }
    }

    /// Reads the fields of an entry.
    #[hdl_gen]
    pub(super) fn read_fields(&mut self) {
        self.index.next = self.held_answer.q.val().data.get_bits::<64>(0);
        self.second.next = self.held_answer.q.val().data.get_bits::<64>(64);
        if self.held.q.val().log_entry == 0 {
            self.index.next = bit_cast::<64, 8>(self.held_answer.q.val().data.get_bits::<8>(0));
        } else if self.held.q.val().log_entry == 1 {
            self.index.next = bit_cast::<64, 16>(self.held_answer.q.val().data.get_bits::<16>(0));
        } else if self.held.q.val().log_entry == 2 {
            self.index.next = bit_cast::<64, 32>(self.held_answer.q.val().data.get_bits::<32>(0));
            self.second.next = bit_cast::<64, 32>(self.held_answer.q.val().data.get_bits::<32>(32));
        }
        self.is_value.next = self.held.q.val().task == VALUE;
        self.in_buffer.next = self.is_value.val()
            && (self.held.q.val().kind == VIEWS)
            && (self.held_answer.q.val().data.get_bits::<32>(0) > INLINE);
        self.held.q.share(&mut self.read_new);
        self.read_new.next.at = self.held.q.val().addr;
        self.read_new.next.bytes = self.held.q.val().number;
        self.read_new.next.from = self.index.val();
        self.read_new.next.to = self.second.val();
        self.read_new.next.in_buffer = self.in_buffer.val();
        // The bits of the group's lanes.
        self.others.next = self.held.q.val().lane - self.held.q.val().first;
        self.bit_mask.next = self.all_bits.val() >> (!self.others.val());
        self.read_new.next.bits = (self.held_answer.q.val().data.get_bits::<16>(0)
            >> self.held.q.val().first)
            & self.bit_mask.val();
        self.bit_errors.next = (self.held_answer.q.val().data.get_bits::<16>(16)
            >> self.held.q.val().first)
            & self.bit_mask.val();
        if self.held.q.val().kind == FIXED {
            self.read_new.next.at = self.held.q.val().at;
            self.read_new.next.base = 0.into();
            self.read_new.next.to = self.held.q.val().addr;
        } else if self.held.q.val().kind == BITS {
            self.read_new.next.bytes = bit_cast::<32, 4>(self.others.val()) + 1;
        } else if self.held.q.val().kind == DICTIONARY {
            self.read_new.next.bytes = bit_cast::<32, 24>(self.held.q.val().width);
        } else if self.held.q.val().kind == VIEWS {
            self.read_new.next.bytes = self.held_answer.q.val().data.get_bits::<32>(0);
            self.read_new.next.from =
                bit_cast::<64, 32>(self.held_answer.q.val().data.get_bits::<32>(96));
            self.read_new.next.to =
                bit_cast::<64, 32>(self.held_answer.q.val().data.get_bits::<32>(64));
            if self.is_value.val() && !self.in_buffer.val() {
                self.read_new.next.at = self.held.q.val().at + INLINE_AT;
            }
        }
    }

    /// Entries advance, unless a buffer or a table is read first.
    #[hdl_gen]
    pub(super) fn advance(&mut self) {
        self.table_index.d.next = 0.into();
        self.found_valid.d.next = self.entry_valid.q.val();
        self.found.d.next = self.read_new.val();
        self.buffer.d.next = self.known_out.record.val().buffer;
        self.found_fails.d.next = false;
        if self.is_value.val() && (self.held.q.val().kind != FIXED) {
            self.found_fails.d.next = self.held_answer.q.val().error
                || ((self.held.q.val().kind == BITS) && self.bit_errors.val().any())
                || ((self.held.q.val().kind == DICTIONARY)
                    && (self.index.val() >= bit_cast::<64, 32>(self.held.q.val().number)))
                || (self.in_buffer.val()
                    && (self.held_answer.q.val().data.get_bits::<32>(64)
                        >= self.held.q.val().number));
        }
        if self.misses.val() {
            self.state.d.next = FollowerState::Buffer;
        }
        if self.has_table.val() {
            self.state.d.next = FollowerState::Table;
        }
    }
}
