//! Buffers of views.

use super::super::record::{LINE, TABLE};
use super::{BUFFER_BITS, BUFFER_INDEX, Follower, FollowerState, KEY, KNOWN};
use crate::request::VIEWS;
use drdma_abi::work_request::Element;
use drdma_emit::prelude::*;

/// Number of buffers whose entries are read at once.
const BUFFERS: u64 = 4;
const LOG_BUFFER: u64 = Element::SIZE.trailing_zeros() as u64;
/// [`BUFFER_BITS`] as a shift amount.
const BUFFER_SHIFT: u64 = BUFFER_BITS as u64;
const _: () = assert!(BUFFERS as usize * Element::SIZE == 64 && 1 << LOG_BUFFER == Element::SIZE);
/// Cycles from a range to whether a key covers it.
const KEY_CYCLES: u64 = KEY as u64;

impl Follower {
    /// Finds whether the buffer of the view is known.
    #[hdl_gen]
    pub(super) fn look_up_buffer(&mut self) {
        self.looked_at.next = self.held_answer.q.val().data.get_bits::<KNOWN>(64)
            ^ (bit_cast::<KNOWN, 4>(self.held.q.val().lane) << 2);
        self.known.read_address[0].next = self.looked_at.val();
        self.known_out.bits.next = self.known.read_data[0].val();
        self.is_known.next = self.kept.q.val().get_bit(self.looked_at.val().index())
            && (self.known_out.record.val().set == self.held.q.val().set)
            && (self.known_out.record.val().lane == self.held.q.val().lane)
            && (self.known_out.record.val().index
                == self.held_answer.q.val().data.get_bits::<BUFFER_INDEX>(64));
        self.learned_at.next = self.found.q.val().to.get_bits::<KNOWN>(0)
            ^ (bit_cast::<KNOWN, 4>(self.found.q.val().lane) << 2);
        self.known_new.next.set = self.found.q.val().set;
        self.known_new.next.lane = self.found.q.val().lane;
        self.known_new.next.index = self.found.q.val().to.get_bits::<BUFFER_INDEX>(0);
        self.known_new.next.buffer = self.line.data.val().get_bits::<BUFFER_BITS>(0);
        self.known_in.record.next = self.known_new.val();
        self.known.write_enable.next = false;
        self.known.write_address.next = self.learned_at.val();
        self.known.write_data.next = self.known_in.bits.val();
        self.misses.next = self.entry_valid.q.val()
            && self.in_buffer.val()
            && !self.is_known.val()
            && (self.held_answer.q.val().data.get_bits::<32>(64) < self.held.q.val().number);
        self.has_table.next = self.entry_valid.q.val()
            && (self.held.q.val().task == TABLE)
            && (self.held.q.val().kind == VIEWS)
            && self.held.q.val().number.any();
    }

    /// Finds which buffers of a table are read.
    #[hdl_gen]
    pub(super) fn ask_for_buffers(&mut self) {
        self.read.valid.next = false;
        self.read.addr.next = self.found.q.val().at + (self.found.q.val().to << LOG_BUFFER);
        self.read.bytes.next = bits::<13>(1) << LOG_BUFFER;
        self.table_rest.next = self.found.q.val().number - self.table_index.q.val();
        self.table_bytes.next = LINE.into();
        if self.table_rest.val() < BUFFERS {
            self.table_bytes.next = bit_cast::<13, 32>(self.table_rest.val() << LOG_BUFFER);
        }
        self.wait.d.next = self.wait.q.val() + 1;
    }

    /// Takes the buffer of a view.
    #[hdl_gen]
    pub(super) fn take_buffer(&mut self) {
        self.buffer.d.next = self.line.data.val().get_bits::<BUFFER_BITS>(0);
        if self.line.valid.val() {
            self.known.write_enable.next = true;
            self.kept.d.next = self.kept.q.val().replace_bit(self.learned_at.val().index(), true);
            if self.line.error.val() {
                self.found_fails.d.next = true;
            }
            self.state.d.next = FollowerState::Flow;
        }
    }

    /// Reads up to four buffers of a table.
    #[hdl_gen]
    pub(super) fn read_table(&mut self) {
        self.read.valid.next = true;
        self.read.addr.next =
            self.found.q.val().at + (bit_cast::<64, 32>(self.table_index.q.val()) << LOG_BUFFER);
        self.read.bytes.next = self.table_bytes.val();
        if self.read.ready.val() {
            self.state.d.next = FollowerState::TableCome;
        }
    }

    /// Takes these buffers.
    #[hdl_gen]
    pub(super) fn take_table(&mut self) {
        self.buffers.d.next = self.line.data.val();
        self.key_addr.d.next = self.line.data.val().get_bits::<64>(0);
        self.key_bytes.d.next = bit_cast::<64, 32>(self.line.data.val().get_bits::<32>(64));
        self.key.d.next = self.line.data.val().get_bits::<32>(96);
        self.wait.d.next = 0.into();
        if self.line.valid.val() {
            if self.line.error.val() {
                self.found_fails.d.next = true;
            }
            self.state.d.next = FollowerState::TableKey;
        }
    }

    /// Looks the buffers up in their keys, one by one.
    #[hdl_gen]
    pub(super) fn judge_table(&mut self) {
        self.key.d.next = self.key.q.val();
        self.key_addr.d.next = self.key_addr.q.val();
        self.key_bytes.d.next = self.key_bytes.q.val();
        if self.wait.q.val() == KEY_CYCLES {
            if !self.covered.val() {
                self.found_fails.d.next = true;
            }
            self.wait.d.next = 0.into();
            self.buffers.d.next = self.buffers.q.val() >> BUFFER_SHIFT;
            self.key_addr.d.next = self.buffers.q.val().get_bits::<64>(BUFFER_BITS);
            self.key_bytes.d.next =
                bit_cast::<64, 32>(self.buffers.q.val().get_bits::<32>(BUFFER_BITS + 64));
            self.key.d.next = self.buffers.q.val().get_bits::<32>(BUFFER_BITS + 96);
            self.table_index.d.next = self.table_index.q.val() + 1;
            if self.table_rest.val() == 1 {
                self.state.d.next = FollowerState::Flow;
            } else if self.table_index.q.val().get_bits::<2>(0) == BUFFERS - 1 {
                self.state.d.next = FollowerState::Table;
            }
        }
    }
}
