//! Makes lanes and sets of elements.

use crate::request::{CONTIGUOUS, LaneKind, POINTER_MAPPED, STRIDED, SetKinds};
use drdma_emit::prelude::*;

/// Bytes of a pointer from a record to the next one.
const POINTER_BYTES: u64 = 8;

/// Turns elements into lanes, and collects what is said of a whole set.
///
/// Contract: one element a cycle, without back-pressure; `lane_write` follows its element after 2 cycles,
/// `set_write` its last element after 2 cycles. The number of the current set rises by one with each last
/// element.
///
/// The elements of a region that is *split* come twice: each alone, which makes a set of one lane, then as a
/// lane of the region's set. The sets of one lane follow that of the region, in order. Such a region is not
/// pointer-mapped.
///
/// # Inputs
/// `clk`, `rst`; `element_*` of the parser; `target_*` of the bounds check; `join_*` of the joiner.
///
/// # Outputs
/// `lane_write_*`, `set_write_*`; `set`, the number of the set that is next.
#[derive(LogicBlock, Default)]
pub struct Shaper {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,

    /// An element is given.
    pub element_valid: Signal<In, Bit>,
    /// Number of the element's lane in its set.
    pub element_lane: Signal<In, Bits<4>>,
    /// The element is the last one of its set.
    pub element_last: Signal<In, Bit>,
    /// The element is a set by itself, before it is part of the region's set: behind the region's set there are as many
    /// sets before it as its lane has lanes before it.
    pub element_alone: Signal<In, Bit>,
    /// The elements of the region's set have sets of their own behind it.
    pub element_split: Signal<In, Bit>,
    /// The lane's base is `element_base + element_offset`.
    pub element_base: Signal<In, Bits<64>>,
    /// Second part of the base: see `element_base`.
    pub element_offset: Signal<In, Bits<64>>,
    /// Bytes from a row's value to the next one's.
    pub element_step: Signal<In, Bits<64>>,
    /// Bytes of a value of the lane.
    pub element_len: Signal<In, Bits<32>>,
    /// Type of the set's region.
    pub element_kind: Signal<In, Bits<2>>,
    /// Bytes of an id at the region's address: 1 or 2; 0: there are no ids.
    pub element_ids: Signal<In, Bits<2>>,
    /// Ids are made from keys.
    pub element_made: Signal<In, Bit>,
    /// Address of the region: the bitmap, the ids or the pointer array.
    pub element_addr: Signal<In, Bits<64>>,
    /// The element is the inline payload: its base has no meaning.
    pub element_inline: Signal<In, Bit>,
    /// The region has fetch rows.
    pub element_fetch: Signal<In, Bit>,
    /// Address of the fetch rows; valid until a cycle after the element.
    pub fetch_addr: Signal<In, Bits<64>>,
    /// Number of the region's rows.
    pub element_count: Signal<In, Bits<32>>,
    /// First byte of the memory region that pointers must stay in; valid a cycle after the element.
    pub target_addr: Signal<In, Bits<64>>,
    /// Bytes of that memory region.
    pub target_len: Signal<In, Bits<64>>,

    /// Kind of the element's entries, and where their bytes lie.
    pub element_source: Signal<In, LaneKind>,
    /// Fields that only a region with kinds of columns has; valid until 2 cycles after the element.
    pub element_set: Signal<In, SetKinds>,

    /// The lane of 3 cycles before is written into a joined set, too.
    pub join_valid: Signal<In, Bit>,
    /// With `join_valid`: number of the joined set.
    pub join_set: Signal<In, Bits<11>>,
    /// With `join_valid`: number of the lane in the joined set.
    pub join_lane: Signal<In, Bits<4>>,
    /// The joined set is complete, and written.
    pub join_last: Signal<In, Bit>,
    /// With `join_last`: number of the joined set's lanes.
    pub join_lanes: Signal<In, Bits<5>>,
    /// With `join_last`: bytes of a row in all lanes.
    pub join_row_bytes: Signal<In, Bits<36>>,
    /// With `join_last`: lanes that start a beat, a bit each.
    pub join_beat_start: Signal<In, Bits<16>>,

    /// Number of the set that is next or being made.
    pub set: Signal<Out, Bits<11>>,

    /// A lane is written.
    pub lane_write_valid: Signal<Out, Bit>,
    /// Number of the lane's set.
    pub lane_write_set: Signal<Out, Bits<11>>,
    /// Number of the lane in its set.
    pub lane_write_lane: Signal<Out, Bits<4>>,
    /// Address of the lane's value in row 0.
    pub lane_write_base: Signal<Out, Bits<64>>,
    /// Bytes from a row's value to the next one's.
    pub lane_write_step: Signal<Out, Bits<64>>,
    /// Bytes of a value of the lane.
    pub lane_write_len: Signal<Out, Bits<32>>,
    /// The lane's bytes are the inline payload.
    pub lane_write_inline: Signal<Out, Bit>,

    /// Kind of the lane's entries, and where their bytes lie.
    pub lane_write_kind: Signal<Out, LaneKind>,

    /// A set is written.
    pub set_write_valid: Signal<Out, Bit>,
    /// Number of the set.
    pub set_write_set: Signal<Out, Bits<11>>,
    /// Type of the set's region.
    pub set_write_kind: Signal<Out, Bits<2>>,
    /// Bytes of an id at `set_write_addr`: 1 or 2; 0: there are no ids.
    pub set_write_ids: Signal<Out, Bits<2>>,
    /// Ids are made from keys; the address is that of splitters.
    pub set_write_made: Signal<Out, Bit>,
    /// The region has fetch rows.
    pub set_write_fetch: Signal<Out, Bit>,
    /// Address of the bitmap, the ids or the pointer array.
    pub set_write_addr: Signal<Out, Bits<64>>,
    /// Number of rows, bits or pointers; 1 if contiguous.
    pub set_write_count: Signal<Out, Bits<32>>,
    /// Number of lanes.
    pub set_write_lanes: Signal<Out, Bits<5>>,
    /// Bytes of a row in all lanes.
    pub set_write_row_bytes: Signal<Out, Bits<36>>,
    /// Lanes that start a beat, a bit each.
    pub set_write_beat_start: Signal<Out, Bits<16>>,
    /// Pointer-mapped: address of the memory region of the records. With `set_write_fetch`: address of the fetch rows.
    pub set_write_target_addr: Signal<Out, Bits<64>>,
    /// Pointer-mapped: bytes of that memory region.
    pub set_write_target_len: Signal<Out, Bits<64>>,
    /// Pointer-mapped: first byte of a record, relative to its pointer. Bitmapped: 0.
    pub set_write_low: Signal<Out, Bits<64>>,
    /// Pointer-mapped: end of a record, relative to its pointer.
    pub set_write_high: Signal<Out, Bits<65>>,
    /// Fields that only a set with kinds of columns has.
    pub set_write_kinds: Signal<Out, SetKinds>,

    next_set: DFF<Bits<11>>,

    // Stage 1: the element.
    valid: DFF<Bit>,
    last: DFF<Bit>,
    alone: DFF<Bit>,
    lane: DFF<Bits<4>>,
    set1: DFF<Bits<11>>,
    base: DFF<Bits<64>>,
    offset: DFF<Bits<64>>,
    end: DFF<Bits<65>>,
    step: DFF<Bits<64>>,
    len: DFF<Bits<32>>,
    inline1: DFF<Bit>,
    source: DFF<LaneKind>,
    kind: DFF<Bits<2>>,
    ids: DFF<Bits<2>>,
    made: DFF<Bit>,
    fetch: DFF<Bit>,
    addr: DFF<Bits<64>>,
    count: DFF<Bits<32>>,

    // Stage 2: the lane, and the set so far.
    lane_valid: DFF<Bit>,
    set_valid: DFF<Bit>,
    alone2: DFF<Bit>,
    set2: DFF<Bits<11>>,
    lane2: DFF<Bits<4>>,
    base2: DFF<Bits<64>>,
    step2: DFF<Bits<64>>,
    len2: DFF<Bits<32>>,
    inline2: DFF<Bit>,
    source2: DFF<LaneKind>,
    special2: DFF<SetKinds>,
    /// End of a record's pointer to the next one, if it has one.
    link_end: Signal<Local, Bits<65>>,
    kind2: DFF<Bits<2>>,
    ids2: DFF<Bits<2>>,
    made2: DFF<Bit>,
    fetch2: DFF<Bit>,
    addr2: DFF<Bits<64>>,
    count2: DFF<Bits<32>>,
    lanes: DFF<Bits<5>>,
    row_bytes: DFF<Bits<36>>,
    beat_start: DFF<Bits<16>>,
    target_addr2: DFF<Bits<64>>,
    target_len2: DFF<Bits<64>>,
    low: DFF<Bits<64>>,
    high: DFF<Bits<65>>,
    /// Bytes in the last beat; 65 if a lane has more than 64.
    fill: DFF<Bits<7>>,

    is_first: Signal<Local, Bit>,
    /// The lane's length; 65 stands for any more.
    cut_len: Signal<Local, Bits<7>>,
    filled: Signal<Local, Bits<8>>,
    starts: Signal<Local, Bit>,
}

impl Logic for Shaper {
    #[hdl_gen]
    fn update(&mut self) {
        self.valid.d.next = self.element_valid.val();
        if self.element_valid.val() {
            self.last.d.next = self.element_last.val() || self.element_alone.val();
            self.alone.d.next = self.element_alone.val();
            self.lane.d.next = self.element_lane.val();
            self.set1.d.next = self.next_set.q.val();
            if self.element_alone.val() {
                self.lane.d.next = 0.into();
                self.set1.d.next =
                    self.next_set.q.val() + bit_cast::<11, 4>(self.element_lane.val()) + 1;
            }
            self.base.d.next = self.element_base.val();
            self.offset.d.next = self.element_offset.val();
            self.end.d.next = bit_cast::<65, 64>(self.element_offset.val())
                + bit_cast::<65, 32>(self.element_len.val());
            self.step.d.next = self.element_step.val();
            self.len.d.next = self.element_len.val();
            self.inline1.d.next = self.element_inline.val();
            self.source.d.next = self.element_source.val();
            self.kind.d.next = self.element_kind.val();
            self.ids.d.next = self.element_ids.val();
            self.made.d.next = self.element_made.val();
            self.fetch.d.next = self.element_fetch.val();
            self.addr.d.next = self.element_addr.val();
            self.count.d.next = self.element_count.val();
            if self.element_last.val() && !self.element_alone.val() {
                self.next_set.d.next = self.next_set.q.val() + 1;
                if self.element_split.val() {
                    self.next_set.d.next =
                        self.next_set.q.val() + bit_cast::<11, 4>(self.element_lane.val()) + 2;
                }
            }
        }

        self.is_first.next = self.lane.q.val() == 0;
        self.link_end.next = bit_cast::<65, 32>(self.element_set.val().link) + POINTER_BYTES;
        self.cut_len.next = 65.into();
        if self.len.q.val() <= 64 {
            self.cut_len.next = self.len.q.val().get_bits::<7>(0);
        }
        self.filled.next =
            bit_cast::<8, 7>(self.fill.q.val()) + bit_cast::<8, 7>(self.cut_len.val());
        self.starts.next = self.is_first.val() || (self.filled.val() > 64);

        self.lane_valid.d.next = self.valid.q.val();
        self.set_valid.d.next = self.valid.q.val() && self.last.q.val();
        if self.valid.q.val() {
            self.set2.d.next = self.set1.q.val();
            self.lane2.d.next = self.lane.q.val();
            self.base2.d.next = self.base.q.val() + self.offset.q.val();
            self.step2.d.next = self.step.q.val();
            self.len2.d.next = self.len.q.val();
            self.inline2.d.next = self.inline1.q.val();
            self.source2.d.next = self.source.q.val();
            self.special2.d.next = self.element_set.val();
            self.kind2.d.next = self.kind.q.val();
            self.ids2.d.next = self.ids.q.val();
            self.made2.d.next = self.made.q.val();
            self.fetch2.d.next = self.fetch.q.val();
            self.addr2.d.next = self.addr.q.val();
            self.count2.d.next = self.count.q.val();
            self.target_addr2.d.next = self.target_addr.val();
            if self.fetch.q.val() {
                self.target_addr2.d.next = self.fetch_addr.val();
            }
            self.target_len2.d.next = self.target_len.val();
            self.alone2.d.next = self.alone.q.val();
        }
        // Lanes of the set so far; a set of one lane may come between the lanes of another.
        if self.valid.q.val() && !self.alone.q.val() {
            self.lanes.d.next = bit_cast::<5, 4>(self.lane.q.val()) + 1;
            self.fill.d.next = self.cut_len.val();
            if self.is_first.val() {
                self.row_bytes.d.next = bit_cast::<36, 32>(self.len.q.val());
                self.beat_start.d.next = 1.into();
                self.low.d.next = self.offset.q.val();
                self.high.d.next = self.end.q.val();
                if self.element_set.val().chase && (self.kind.q.val() == POINTER_MAPPED) {
                    if bit_cast::<64, 32>(self.element_set.val().link) < self.offset.q.val() {
                        self.low.d.next = bit_cast::<64, 32>(self.element_set.val().link);
                    }
                    if self.link_end.val() > self.end.q.val() {
                        self.high.d.next = self.link_end.val();
                    }
                }
            } else {
                self.row_bytes.d.next =
                    self.row_bytes.q.val() + bit_cast::<36, 32>(self.len.q.val());
                if self.starts.val() {
                    self.beat_start.d.next =
                        self.beat_start.q.val().replace_bit(self.lane.q.val().index(), true);
                } else {
                    self.fill.d.next = self.filled.val().get_bits::<7>(0);
                }
                if self.offset.q.val() < self.low.q.val() {
                    self.low.d.next = self.offset.q.val();
                }
                if self.end.q.val() > self.high.q.val() {
                    self.high.d.next = self.end.q.val();
                }
            }
        }
        if self.rst.val() {
            self.next_set.d.next = 0.into();
            self.valid.d.next = false;
            self.lane_valid.d.next = false;
            self.set_valid.d.next = false;
        }

        self.set.next = self.next_set.q.val();
        self.lane_write_valid.next = self.lane_valid.q.val();
        self.lane_write_set.next = self.set2.q.val();
        self.lane_write_lane.next = self.lane2.q.val();
        self.lane_write_base.next = self.base2.q.val();
        self.lane_write_step.next = self.step2.q.val();
        self.lane_write_len.next = self.len2.q.val();
        // Lanes of joined sets lie in memory.
        self.lane_write_inline.next = self.inline2.q.val() && self.lane_valid.q.val();
        self.lane_write_kind.next = self.source2.q.val();
        self.set_write_kinds.next = self.special2.q.val();
        self.set_write_valid.next = self.set_valid.q.val();
        self.set_write_set.next = self.set2.q.val();
        self.set_write_kind.next = self.kind2.q.val();
        self.set_write_ids.next = self.ids2.q.val();
        self.set_write_made.next = self.made2.q.val();
        self.set_write_fetch.next = self.fetch2.q.val();
        self.set_write_addr.next = self.addr2.q.val();
        self.set_write_count.next = self.count2.q.val();
        self.set_write_lanes.next = self.lanes.q.val();
        self.set_write_row_bytes.next = self.row_bytes.q.val();
        self.set_write_beat_start.next = self.beat_start.q.val();
        self.set_write_target_addr.next = self.target_addr2.q.val();
        self.set_write_target_len.next = self.target_len2.q.val();
        self.set_write_low.next = self.low.q.val();
        self.set_write_high.next = self.high.q.val();
        if self.alone2.q.val() {
            self.set_write_lanes.next = 1.into();
            self.set_write_row_bytes.next = bit_cast::<36, 32>(self.len2.q.val());
            self.set_write_beat_start.next = 1.into();
            self.set_write_low.next = 0.into();
        }
        // If another lane comes in between, the set is not to be joined after all.
        if self.join_valid.val() && !self.lane_valid.q.val() {
            self.lane_write_valid.next = true;
            self.lane_write_set.next = self.join_set.val();
            self.lane_write_lane.next = self.join_lane.val();
            self.set_write_valid.next = self.join_last.val();
            self.set_write_set.next = self.join_set.val();
            if self.kind2.q.val() == CONTIGUOUS {
                // A list of contiguous regions is a row of as many extents.
                self.set_write_kind.next = STRIDED.into();
            }
            self.set_write_lanes.next = self.join_lanes.val();
            self.set_write_row_bytes.next = self.join_row_bytes.val();
            self.set_write_beat_start.next = self.join_beat_start.val();
        }
    }
}
