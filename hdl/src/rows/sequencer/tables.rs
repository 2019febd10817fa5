//! Copies of the decoder's tables, in the form that the sequencer needs.

use super::record::{LENGTH_BITS, Length};
use crate::context::QP;
use crate::primitive::{Flatten, Lutram, Ram, Restore};
use drdma_emit::prelude::*;

mod groups;
#[cfg(test)]
mod tests;

use groups::Groups;

/// A destination, as the sequencer keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct DestInfo {
    /// Number of regions.
    pub sets: Bits<5>,
    /// Lane set of the first region.
    pub first_set: Bits<11>,
    /// The opcode carries a remote address.
    pub is_write: Bit,
    /// The transport is UD: messages must fit a packet.
    pub is_ud: Bit,
    /// Binary logarithm of the path MTU in bytes.
    pub log_mtu: Bits<4>,
    /// The row mask is `Element`.
    pub element_mask: Bit,
    /// Units of a message.
    pub units: Bits<32>,
    /// The destination has one set, strided or bitmapped, with the lanes and the count of the request's first
    /// destination.
    pub same_lanes: Bit,
    /// Id of the destination's rows, where its set has ids.
    pub partition: Bits<16>,
    /// The values of a message go column by column.
    pub column_order: Bit,
}

/// Bits of a [`DestInfo`].
pub const DEST_BITS: usize = 73;

/// A lane set, as the sequencer keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct SetInfo {
    /// Type of the region, a `RegionType` of the ABI.
    pub kind: Bits<2>,
    /// Host address of the bitmap, ids or pointer array.
    pub addr: Bits<64>,
    /// Periods, bits or pointers of the region.
    pub count: Bits<32>,
    /// Lanes of the set, 1 to 16.
    pub lanes: Bits<5>,
    /// Bytes of a row.
    pub row_bytes: Bits<36>,
    /// Bit `j` is set if lane `j` starts a new beat.
    pub starts: Bits<16>,
    /// Bytes of an id, 1 or 2; 0 if the set has no ids.
    pub ids: Bits<2>,
    /// The set has fetch rows, at the `low` of its [`Bounds`].
    pub fetch: Bit,
    /// The ids of the set are made from keys; `addr` is the address of splitters.
    pub made: Bit,
}

/// Bits of a [`SetInfo`].
pub const SET_BITS: usize = 159;

/// Range of a region's valid pointers; for a bitmapped region `low` is the address of its fetch rows.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct Bounds {
    /// Lowest pointer in bounds.
    pub low: Bits<64>,
    /// Highest pointer in bounds.
    pub high: Bits<64>,
    /// Every pointer is out of bounds.
    pub never: Bit,
}

/// Bits of [`Bounds`].
pub const BOUNDS_BITS: usize = 129;

/// Keeps for the plan the destinations, the sets, the bounds of pointers, the span of a row in host memory and the sum
/// of the steps of its groups; makes the lengths of beats for the beat cutter.
///
/// A write takes effect 3 cycles later, on `steps` 6 cycles later. A read delivers in the next cycle.
///
/// # Inputs
/// `lane_write`, `set_write`, `dest_write` (the decoder's), `dest_read`, `qp_read`, `set_read`,
/// `extent_read` (entries to read).
///
/// # Outputs
/// `dest_info`, `set_info`, `bounds`, `span`, `steps`, `overlaps`; `length_*`, writes for the beat cutter.
#[derive(LogicBlock, Default)]
pub struct Tables {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// The decoder writes a lane.
    pub lane_write_valid: Signal<In, Bit>,
    /// Set that the lane belongs to.
    pub lane_write_set: Signal<In, Bits<11>>,
    /// Number of the lane, 0 to 15.
    pub lane_write_lane: Signal<In, Bits<4>>,
    /// Host address of the lane in row 0.
    pub lane_write_base: Signal<In, Bits<64>>,
    /// Bytes from one row to the next.
    pub lane_write_step: Signal<In, Bits<64>>,
    /// Bytes of the lane in a row.
    pub lane_write_len: Signal<In, Bits<32>>,
    /// The decoder writes a set.
    pub set_write_valid: Signal<In, Bit>,
    /// Number of the set.
    pub set_write_set: Signal<In, Bits<11>>,
    /// Contents of the set.
    pub set_write_info: Signal<In, SetInfo>,
    /// Host address of the memory that pointers must stay in.
    pub set_write_target_addr: Signal<In, Bits<64>>,
    /// Bytes of the memory that pointers must stay in.
    pub set_write_target_len: Signal<In, Bits<64>>,
    /// First byte of a record, relative to its pointer.
    pub set_write_low: Signal<In, Bits<64>>,
    /// End of a record, relative to its pointer.
    pub set_write_high: Signal<In, Bits<65>>,
    /// The decoder writes a destination.
    pub dest_write_valid: Signal<In, Bit>,
    /// Place of the destination in the ring of destinations.
    pub dest_write_dest: Signal<In, Bits<10>>,
    /// Contents of the destination.
    pub dest_write_info: Signal<In, DestInfo>,
    /// Queue pair of the destination.
    pub dest_write_qp: Signal<In, Bits<QP>>,
    /// Place of the destination to read.
    pub dest_read: Signal<In, Bits<10>>,
    /// Place of the destination whose queue pair is read.
    pub qp_read: Signal<In, Bits<10>>,
    /// Queue pair of the destination `qp_read`, in the same cycle.
    pub dest_qp: Signal<Out, Bits<QP>>,
    /// The destination that `dest_read` named in the cycle before.
    pub dest_info: Signal<Out, DestInfo>,
    /// Number of the set to read.
    pub set_read: Signal<In, Bits<11>>,
    /// Number of the set whose `span`, `steps` and `overlaps` are read.
    pub extent_read: Signal<In, Bits<11>>,
    /// The set that `set_read` named in the cycle before.
    pub set_info: Signal<Out, SetInfo>,
    /// Range of that set's valid pointers.
    pub bounds: Signal<Out, Bounds>,
    /// Bytes that a row of that set spans in host memory, at most 256 for each lane.
    pub span: Signal<Out, Bits<13>>,
    /// Sum of the steps of that set's groups in bytes; 2,047 if a column request cannot have its lanes.
    pub steps: Signal<Out, Bits<11>>,
    /// One of that set's lanes is longer than its step.
    pub overlaps: Signal<Out, Bit>,
    /// A length is written.
    pub length_write: Signal<Out, Bit>,
    /// Address of the length: set (11 bits), then lane (4 bits).
    pub length_address: Signal<Out, Bits<15>>,
    /// The length, a flattened [`Length`].
    pub length_data: Signal<Out, Bits<LENGTH_BITS>>,

    dests: Ram<DEST_BITS, 1, 10>,
    dest_qps: Lutram<QP, 10, 1>,
    dest_in: Flatten<DestInfo, DEST_BITS>,
    dest_out: Restore<DestInfo, DEST_BITS>,
    sets: Ram<SET_BITS, 1, 11>,
    set_in: Flatten<SetInfo, SET_BITS>,
    set_out: Restore<SetInfo, SET_BITS>,
    // Bounds: the sums in one cycle, the differences in the next.
    bound_valid: DFF<Bit>,
    bound_set: DFF<Bits<11>>,
    bound_addr: DFF<Bits<64>>,
    bound_end: DFF<Bits<65>>,
    bound_low: DFF<Bits<64>>,
    bound_high: DFF<Bits<65>>,
    bound: Signal<Local, Bounds>,
    limits: Ram<BOUNDS_BITS, 1, 11>,
    limit_in: Flatten<Bounds, BOUNDS_BITS>,
    limit_out: Restore<Bounds, BOUNDS_BITS>,
    // Extent of the lane that was written, then sums over the lanes of its set.
    lane_valid: DFF<Bit>,
    lane_set: DFF<Bits<11>>,
    lane: DFF<Bits<4>>,
    lane_len: DFF<Bits<32>>,
    lane_extent: DFF<Bits<9>>,
    sum_span: DFF<Bits<13>>,
    new_span: Signal<Local, Bits<13>>,
    sum_beat: DFF<Bits<7>>,
    // Sums of an earlier set whose lanes are continued behind those of another.
    own_set: DFF<Bits<11>>,
    before_span: DFF<Bits<13>>,
    before_beat: DFF<Bits<7>>,
    behind_span: DFF<Bits<13>>,
    behind_beat: DFF<Bits<7>>,
    behind: Signal<Local, Bit>,
    base_span: Signal<Local, Bits<13>>,
    base_beat: Signal<Local, Bits<7>>,
    new_beat: Signal<Local, Bits<7>>,
    joined: Signal<Local, Bits<8>>,
    spans: Ram<13, 1, 11>,
    groups: Groups,
    length: Signal<Local, Length>,
    length_in: Flatten<Length, LENGTH_BITS>,
}

impl Logic for Tables {
    #[hdl_gen]
    fn update(&mut self) {
        self.dest_in.record.next = self.dest_write_info.val();
        self.dests.write_lanes.next = bit_cast::<1, 1>(self.dest_write_valid.val().into());
        self.dests.write_address.next = self.dest_write_dest.val();
        self.dests.write_data.next = self.dest_in.bits.val();
        self.dests.read_enable.next = true;
        self.dests.read_address.next = self.dest_read.val();
        self.dest_out.bits.next = self.dests.read_data.val();
        self.dest_info.next = self.dest_out.record.val();
        self.dest_qps.write_enable.next = self.dest_write_valid.val();
        self.dest_qps.write_address.next = self.dest_write_dest.val();
        self.dest_qps.write_data.next = self.dest_write_qp.val();
        self.dest_qps.read_address[0].next = self.qp_read.val();
        self.dest_qp.next = self.dest_qps.read_data[0].val();

        self.set_in.record.next = self.set_write_info.val();
        self.sets.write_lanes.next = bit_cast::<1, 1>(self.set_write_valid.val().into());
        self.sets.write_address.next = self.set_write_set.val();
        self.sets.write_data.next = self.set_in.bits.val();
        self.sets.read_enable.next = true;
        self.sets.read_address.next = self.set_read.val();
        self.set_out.bits.next = self.sets.read_data.val();
        self.set_info.next = self.set_out.record.val();

        self.bound_valid.d.next = self.set_write_valid.val();
        self.bound_set.d.next = self.set_write_set.val();
        self.bound_addr.d.next = self.set_write_target_addr.val();
        self.bound_end.d.next = bit_cast::<65, 64>(self.set_write_target_addr.val())
            + bit_cast::<65, 64>(self.set_write_target_len.val());
        self.bound_low.d.next = self.set_write_low.val();
        self.bound_high.d.next = self.set_write_high.val();
        // A record has at least one byte, so the highest pointer fits 64 bits.
        self.bound.next.low = 0.into();
        if self.bound_addr.q.val() > self.bound_low.q.val() {
            self.bound.next.low = self.bound_addr.q.val() - self.bound_low.q.val();
        }
        self.bound.next.high = (self.bound_end.q.val() - self.bound_high.q.val()).get_bits::<64>(0);
        self.bound.next.never = self.bound_high.q.val() > self.bound_end.q.val();
        self.limit_in.record.next = self.bound.val();
        self.limits.write_lanes.next = bit_cast::<1, 1>(self.bound_valid.q.val().into());
        self.limits.write_address.next = self.bound_set.q.val();
        self.limits.write_data.next = self.limit_in.bits.val();
        self.limits.read_enable.next = true;
        self.limits.read_address.next = self.set_read.val();
        self.limit_out.bits.next = self.limits.read_data.val();
        self.bounds.next = self.limit_out.record.val();

        self.lane_valid.d.next = self.lane_write_valid.val();
        self.lane_set.d.next = self.lane_write_set.val();
        self.lane.d.next = self.lane_write_lane.val();
        self.lane_len.d.next = self.lane_write_len.val();
        self.lane_extent.d.next = bit_cast::<9, 64>(self.lane_write_step.val());
        if bit_cast::<64, 32>(self.lane_write_len.val()) > self.lane_write_step.val() {
            self.lane_extent.d.next = bit_cast::<9, 32>(self.lane_write_len.val());
        }
        if (self.lane_write_step.val().get_bits::<56>(8).any())
            || (self.lane_write_len.val().get_bits::<24>(8).any())
        {
            self.lane_extent.d.next = 256.into();
        }
        // The lanes of a set come in order. Where an earlier set is continued after another set has begun, it is
        // continued from its second lane on, right after the first lane of the set behind it.
        self.behind.next =
            (self.lane.q.val() != 0) && (self.lane_set.q.val() != self.own_set.q.val());
        self.base_span.next = self.sum_span.q.val();
        self.base_beat.next = self.sum_beat.q.val();
        if self.behind.val() {
            self.base_span.next = self.behind_span.q.val();
            self.base_beat.next = self.behind_beat.q.val();
            if self.lane.q.val() == 1 {
                self.base_span.next = self.before_span.q.val();
                self.base_beat.next = self.before_beat.q.val();
            }
        }
        self.new_span.next = self.base_span.val() + bit_cast::<13, 9>(self.lane_extent.q.val());
        self.joined.next = bit_cast::<8, 7>(self.base_beat.val())
            + bit_cast::<8, 7>(bit_cast::<7, 32>(self.lane_len.q.val()));
        self.new_beat.next = bit_cast::<7, 8>(self.joined.val());
        if (self.lane.q.val() == 0) || (self.joined.val() > 64) {
            self.new_beat.next = bit_cast::<7, 32>(self.lane_len.q.val());
        }
        if self.lane.q.val() == 0 {
            self.new_span.next = bit_cast::<13, 9>(self.lane_extent.q.val());
        }
        if self.lane_len.q.val() > 64 {
            // The lane is alone in its beats: the next lane starts another beat.
            self.new_beat.next = 64.into();
        }
        if self.lane_valid.q.val() && self.behind.val() {
            self.behind_span.d.next = self.new_span.val();
            self.behind_beat.d.next = self.new_beat.val();
        }
        if self.lane_valid.q.val() && !self.behind.val() {
            self.sum_span.d.next = self.new_span.val();
            self.sum_beat.d.next = self.new_beat.val();
        }
        if self.lane_valid.q.val() && (self.lane.q.val() == 0) {
            self.own_set.d.next = self.lane_set.q.val();
            self.before_span.d.next = self.sum_span.q.val();
            self.before_beat.d.next = self.sum_beat.q.val();
        }
        self.spans.write_lanes.next = bit_cast::<1, 1>(self.lane_valid.q.val().into());
        self.spans.write_address.next = self.lane_set.q.val();
        self.spans.write_data.next = self.new_span.val();
        self.spans.read_enable.next = true;
        self.spans.read_address.next = self.extent_read.val();
        self.span.next = self.spans.read_data.val();
        self.groups.lane_valid.next = self.lane_write_valid.val();
        self.groups.lane_set.next = self.lane_write_set.val();
        self.groups.lane_lane.next = self.lane_write_lane.val();
        self.groups.lane_base.next = self.lane_write_base.val();
        self.groups.lane_step.next = self.lane_write_step.val();
        self.groups.lane_len.next = self.lane_write_len.val();
        self.groups.set_read.next = self.extent_read.val();
        self.steps.next = self.groups.steps.val();
        self.overlaps.next = self.groups.overlaps.val();
        self.length.next.lane = self.lane_len.q.val();
        self.length.next.beat = self.new_beat.val();
        self.length_in.record.next = self.length.val();
        self.length_write.next = self.lane_valid.q.val();
        self.length_address.next =
            (bit_cast::<15, 11>(self.lane_set.q.val()) << 4) | bit_cast::<15, 4>(self.lane.q.val());
        self.length_data.next = self.length_in.bits.val();
    }
}
