//! From a wanted lane to the place of its entry.

use super::lister::MOST_REST;
use super::record::{LOAD, MESSAGE, PLAN, TABLE, VALUE};
use super::{COLUMN, Kinds, STAGES};
use crate::request::{BITS, FIXED, VIEWS};
use drdma_abi::work_request::VIEW;
use drdma_emit::prelude::*;

/// Bytes of a view.
const VIEW_BYTES: u64 = VIEW as u64;
/// Binary logarithm of the bytes of a line, and of its bits, which are the rows of a block.
const LOG_LINE: u64 = 6;
const LOG_BLOCK: u64 = LOG_LINE + 3;
/// Bits of a number of rows behind another one; the sign of such a number that may be negative.
const REST: usize = 11;
const NEGATIVE: usize = 12;
/// Largest number of entries that wait for their lanes and products.
const MOST: u64 = 32;

impl<const LENGTHS: usize, const RECORDS: usize, const VALUES: usize>
    Kinds<LENGTHS, RECORDS, VALUES>
{
    /// Reads a wanted lane, which then waits for the product of row and step.
    #[hdl_gen]
    pub(super) fn take_wanted(&mut self) {
        self.lister.wanted.ready.next = self.has_room.q.val();
        self.take.next = self.lister.wanted.valid.val() && self.has_room.q.val();
        // Counted a cycle after it was taken, so that the count is no part of the lister's paths: one more may be on its way.
        self.goes_on.next = self.fetched.q.val() && (self.wanted.q.val().task != PLAN);
        self.gone.next = self.placed.output.valid.val() && self.lines.placed.ready.val();
        if self.goes_on.val() && !self.gone.val() {
            self.on_way.d.next = self.on_way.q.val() + 1;
        } else if !self.goes_on.val() && self.gone.val() {
            self.on_way.d.next = self.on_way.q.val() - 1;
        }
        self.has_room.d.next = self.on_way.d.val() < MOST - 1;
        self.lanes.read_enable.next = true;
        self.lanes.read_address.next = (bit_cast::<15, 11>(self.lister.wanted.set.val()) << 4)
            | bit_cast::<15, 4>(self.lister.wanted.lane.val());
        self.wanted.d.next = self.lister.wanted.val();
        self.fetched.d.next = self.take.val();
        self.lane.bits.next = self.lanes.read_data.val();
    }

    /// Gives the lanes of a region to the planner, and compares lanes of bits with those that were asked for last.
    #[hdl_gen]
    pub(super) fn tell_planner(&mut self) {
        self.planner.valid.next = self.fetched.q.val()
            && ((self.wanted.q.val().task == PLAN) || (self.wanted.q.val().task == TABLE));
        self.planner.lane.next = self.wanted.q.val().lane;
        self.planner.last.next = self.wanted.q.val().unit_end;
        self.planner.kind.next = self.lane.record.val().kind;
        self.planner.bytes.next = self.lane.record.val().number;
        self.planner.base.next = self.lane.record.val().base;
        self.column.next = (bit_cast::<COLUMN, 64>(self.lane.record.val().base) << 3)
            | bit_cast::<COLUMN, 3>(self.lane.record.val().width.get_bits::<3>(0));
        self.column_at.next = (bit_cast::<6, 2>(self.wanted.q.val().slot) << 4)
            | bit_cast::<6, 4>(self.wanted.q.val().lane);
        self.columns.read_address[0].next = self.column_at.val();
        self.columns.write_address.next = self.column_at.val();
        self.columns.write_data.next = self.column.val();
        self.columns.write_enable.next = self.fetched.q.val() && (self.wanted.q.val().task == LOAD);
        self.planner.differs.next = self.columns.read_data[0].val() != self.column.val();
    }

    /// Finds the step from a row to the next. Bits are found by their lines, and values of fixed width by the expander.
    #[hdl_gen]
    pub(super) fn find_step(&mut self) {
        self.is_fixed.next = (self.lane.record.val().kind == FIXED)
            || ((self.wanted.q.val().task != VALUE)
                && (self.wanted.q.val().task != TABLE)
                && (self.wanted.q.val().task != LOAD));
        self.step.next = 0.into();
        if self.is_fixed.val() {
            self.step.next = 0.into();
        } else if self.wanted.q.val().strided {
            self.step.next = self.wanted.q.val().period;
        } else if self.lane.record.val().kind == VIEWS {
            self.step.next = VIEW_BYTES.into();
        } else if self.lane.record.val().kind != BITS {
            // The offsets of a column overlap: a row has its own and the next.
            self.step.next = bits::<64>(1) << self.lane.record.val().log_entry;
        }
    }

    /// Finds where the lane's entry lies, but for the product of row and step.
    #[hdl_gen]
    pub(super) fn place_entry(&mut self) {
        self.multiplier.enable.next = true;
        self.multiplier.a.next = self.wanted.q.val().row;
        self.multiplier.b.next = self.step.val();
        self.unused_product.next = self.multiplier.product.val();
        self.placed.input.valid.next = self.goes_on.val();
        self.multiplied[0].d.next = self.goes_on.val();
        for k in 1..STAGES {
            self.multiplied[k].d.next = self.multiplied[k - 1].q.val();
        }
        self.bit_at.next = bit_cast::<33, 32>(self.wanted.q.val().row)
            + bit_cast::<33, 3>(self.lane.record.val().width.get_bits::<3>(0));
        self.lane.record.share(&mut self.placed_new);
        self.wanted.q.share(&mut self.placed_new);
        self.placed_new.next.start = self.lane.record.val().base + self.wanted.q.val().pointer;
        if self.is_fixed.val() {
            self.placed_new.next.kind = FIXED.into();
            self.placed_new.next.start = self.wanted.q.val().pointer;
            self.placed_new.next.addr = bit_cast::<64, 32>(self.wanted.q.val().row);
            if self.wanted.q.val().task == MESSAGE {
                self.placed_new.next.number = self.wanted.q.val().row;
            } else if self.wanted.q.val().first != self.wanted.q.val().lane {
                self.placed_new.next.number = bit_cast::<32, 7>(self.wanted.q.val().group);
            }
        }
    }

    /// Finds the address of a line of bits, and the place where it is kept.
    #[hdl_gen]
    pub(super) fn place_bits(&mut self) {
        self.offset.next = (bit_cast::<9, 6>(self.lane.record.val().base.get_bits::<6>(0)) << 3)
            | bit_cast::<9, 3>(self.lane.record.val().width.get_bits::<3>(0));
        self.bit_in_line.next = bit_cast::<10, 9>(self.wanted.q.val().row.get_bits::<9>(0))
            + bit_cast::<10, 9>(self.offset.val());
        // Rows behind the first one of the line that is wanted, if it is not the row's.
        self.rest_of_next.next = bit_cast::<13, 11>(self.wanted.q.val().rest)
            + bit_cast::<13, 10>(self.bit_in_line.val())
            - (bit_cast::<13, 2>(self.wanted.q.val().part) << LOG_BLOCK);
        self.placed_new.next.bit = self.bit_at.val().get_bits::<3>(0);
        self.placed_new.next.some = !self.bit_in_line.val().get_bit(9);
        self.line_number.next = self.wanted.q.val().row.get_bits::<2>(9);
        if self.wanted.q.val().task == LOAD {
            self.line_number.next =
                self.wanted.q.val().row.get_bits::<2>(9) + self.wanted.q.val().part;
        }
        self.placed_new.next.half = (bit_cast::<4, 2>(self.wanted.q.val().slot) << 2)
            | bit_cast::<4, 2>(self.line_number.val());
        self.placed_new.next.spot = self.wanted.q.val().row.get_bits::<11>(0);
        if self.wanted.q.val().task == LOAD {
            self.placed_new.next.spot = bit_cast::<11, 9>(self.offset.val());
            self.placed_new.next.start =
                self.lane.record.val().base + bit_cast::<64, 33>(self.bit_at.val() >> 3);
            if self.wanted.q.val().part.any() {
                self.placed_new.next.start = (bit_cast::<64, 58>(
                    self.lane.record.val().base.get_bits::<58>(6)
                        + bit_cast::<58, 23>(self.wanted.q.val().row.get_bits::<23>(9)),
                ) << 6)
                    + (bit_cast::<64, 2>(self.wanted.q.val().part) << LOG_LINE);
                self.placed_new.next.bit = 0.into();
                // The line has bits of rows if the region has a row at its first bit or behind, counted as in
                // `bit_in_line`.
                self.placed_new.next.some = !self.rest_of_next.val().get_bit(NEGATIVE);
                self.placed_new.next.rest = self.rest_of_next.val().get_bits::<11>(0);
                if self.rest_of_next.val().get_bit(REST) {
                    self.placed_new.next.rest = MOST_REST.into();
                }
            }
        }
    }

    /// Gives the entry and its product to the lines.
    #[hdl_gen]
    pub(super) fn give_placed(&mut self) {
        self.placed_new.next.step = self.step.val().get_bits::<6>(0);
        // Entries that may share a line with the next one of their lane.
        self.placed_new.next.near = !self.wanted.q.val().apart
            && ((self.lane.record.val().kind == BITS)
                || (self.step.val().get_bits::<6>(0).any()
                    && !self.step.val().get_bits::<58>(6).any()));
        self.placed.input.data.next = self.placed_new.val();
        self.products.in_valid.next = self.multiplied[STAGES - 1].q.val();
        self.products.in_data.next = self.multiplier.product.val().get_bits::<64>(0);
    }
}
