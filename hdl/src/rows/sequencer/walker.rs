//! Walks units of elements of several regions (row mask `Element`), element by element.

// The accessors that `LogicStruct` derives have no documentation.
#![allow(missing_docs)]

use super::record::{BOUNDS, CHECK, CONTEXT_BITS, Context, Item, LOAD, Row, UNITS};
use crate::primitive::{FirstSet, Flatten, Lutram, Ram, RamStyle, Restore};
use crate::request::{BITMAPPED, CONTIGUOUS, DEST_INDEX, POINTER_MAPPED};
use drdma_emit::prelude::hdl_gen;
use num_bigint::BigUint;
use rust_hdl_core::prelude::*;
use rust_hdl_widgets::prelude::*;

/// State of the walker.
#[derive(Clone, Copy, Debug, PartialEq, LogicState)]
pub enum WalkerState {
    /// Takes the regions of a destination.
    Idle,
    /// Adds up the length of a message without emitting it.
    Dry,
    /// Waits until the last lengths are added.
    DryEnd,
    /// Emits an element a cycle.
    Give,
    /// Finds out which line of a bitmap or of pointers is needed.
    Miss,
    /// Limits the line to what the bitmap or the pointer array has.
    Limit,
    /// Asks for the line.
    Ask,
    /// Waits for the line.
    Answer,
    /// All units are done.
    Done,
}

/// A region that is walked.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct Walked {
    /// Type of the region, a `RegionType` of the ABI.
    pub kind: Bits<2>,
    /// Host address of the bitmap or pointer array.
    pub addr: Bits<64>,
    /// Bits or pointers of the region.
    pub count: Bits<32>,
    /// Bytes of a row.
    pub row_bytes: Bits<36>,
}

/// Bits of a [`Walked`].
const WALKED_BITS: usize = 134;

/// How far the walk of a region has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct Place {
    /// Next period or pointer.
    pub row: Bits<32>,
    /// Next lane.
    pub lane: Bits<4>,
    /// Bits that are left of the bitmap's current word.
    pub bits: Bits<64>,
    /// Number of the word after the current one.
    pub word: Bits<27>,
}

/// Bits of a [`Place`].
const PLACE_BITS: usize = 127;

/// Walks units that consist of one element of each of up to 16 regions, in place of the row source.
///
/// One element a cycle. Bitmaps and pointers are read in lines of 64 bytes when they are needed: a line is asked for 3
/// cycles later. Where the lengths of messages must be known and elements differ, a message is first added up, an
/// element a cycle. Items: a `LOAD` for each region, then a `CHECK` or `UNITS`.
///
/// # Inputs
/// `item` stream, `lane_write`, `may_start`, `failed`, `stretch_ready`, `resp_*`, `row_ready`.
///
/// # Outputs
/// `item_ready`, `busy`, `stretch` stream, `wants`, `fail`, `row_waits`, `row` stream, `done`, `too_long`.
#[derive(LogicBlock)]
pub struct Walker {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// An item for the walker is offered.
    pub item_valid: Signal<In, Bit>,
    /// The item is taken in this cycle.
    pub item_ready: Signal<Out, Bit>,
    /// The item.
    pub item: Signal<In, Item>,
    /// What the rows of the item have in common.
    pub item_context: Signal<In, Context>,
    /// All rows of earlier items have left the row source.
    pub may_start: Signal<In, Bit>,
    /// The walker is at work: the row source waits.
    pub busy: Signal<Out, Bit>,
    /// The request has failed: the walker emits no rows.
    pub failed: Signal<In, Bit>,
    /// The decoder writes a lane.
    pub lane_write_valid: Signal<In, Bit>,
    /// Set that the lane belongs to.
    pub lane_write_set: Signal<In, Bits<11>>,
    /// Number of the lane, 0 to 15.
    pub lane_write_lane: Signal<In, Bits<4>>,
    /// Bytes of the lane in a row.
    pub lane_write_len: Signal<In, Bits<32>>,
    /// A line that must be read is offered.
    pub stretch_valid: Signal<Out, Bit>,
    /// The line is taken to be read in this cycle.
    pub stretch_ready: Signal<In, Bit>,
    /// Host address of the bitmap or pointer array.
    pub stretch_addr: Signal<Out, Bits<64>>,
    /// First bit or pointer of the line.
    pub stretch_first: Signal<Out, Bits<32>>,
    /// Bits or pointers of the line, at most 64 bytes.
    pub stretch_rows: Signal<Out, Bits<32>>,
    /// The line is of bits, not of pointers.
    pub stretch_bitmap: Signal<Out, Bit>,
    /// The next answer is for the walker.
    pub wants: Signal<Out, Bit>,
    /// A line that was read is offered; it is always taken when `wants` is set.
    pub resp_valid: Signal<In, Bit>,
    /// The line.
    pub resp_data: Signal<In, Bits<512>>,
    /// The read failed.
    pub resp_error: Signal<In, Bit>,
    /// A read has failed, or a pointer or bitmap has changed since it was judged.
    pub fail: Signal<Out, Bit>,
    /// With `fail`: number of the destination in its request.
    pub fail_dest: Signal<Out, Bits<DEST_INDEX>>,
    /// A row is ready, which is offered unless the walk fails with it.
    pub row_waits: Signal<Out, Bit>,
    /// The row is offered.
    pub row_valid: Signal<Out, Bit>,
    /// The row is taken in this cycle.
    pub row_ready: Signal<In, Bit>,
    /// What the row has in common with others of its region.
    pub row_context: Signal<Out, Context>,
    /// The row.
    pub row: Signal<Out, Row>,
    /// All units have been emitted or checked.
    pub done: Signal<Out, Bit>,
    /// With `done` of a check: a message is longer than the limit.
    pub too_long: Signal<Out, Bit>,
    state: DFF<WalkerState>,
    check: DFF<Bit>,
    announce: DFF<Bit>,
    chunk: DFF<Bit>,
    ends: DFF<Bit>,
    // The regions of the destination.
    last_region: DFF<Bits<4>>,
    region: DFF<Bits<4>>,
    infos: Lutram<WALKED_BITS, 4, 1>,
    // Bounds of pointers: the lowest (64 bits), the highest (64), and whether all are out of bounds.
    bounds: Lutram<129, 4, 1>,
    outside: Signal<Local, Bit>,
    never: Constant<Bits<129>>,
    info_new: Signal<Local, Walked>,
    info_in: Flatten<Walked, WALKED_BITS>,
    info: Restore<Walked, WALKED_BITS>,
    contexts: Lutram<CONTEXT_BITS, 4, 1>,
    shared_in: Flatten<Context, CONTEXT_BITS>,
    shared: Restore<Context, CONTEXT_BITS>,
    last_of_unit: Signal<Local, Bit>,
    // How far each region has come, and the line that was read last for it.
    places: Lutram<PLACE_BITS, 4, 1>,
    place_in: Flatten<Place, PLACE_BITS>,
    place_out: Restore<Place, PLACE_BITS>,
    place: Signal<Local, Place>,
    place_new: Signal<Local, Place>,
    fresh: DFF<Bits<16>>,
    /// The region at hand has not begun.
    fresh_here: DFF<Bit>,
    fresh_after: Signal<Local, Bit>,
    region_after: Signal<Local, Bits<4>>,
    lines: Lutram<512, 4, 1>,
    line: Signal<Local, Bits<512>>,
    line_ready: DFF<Bit>,
    line_first: Signal<Local, Bits<32>>,
    line_rows: Signal<Local, Bits<10>>,
    ask_first: DFF<Bits<32>>,
    ask_rows: DFF<Bits<32>>,
    fails: DFF<Bit>,
    in_line: Signal<Local, Bits<3>>,
    word: Signal<Local, Bits<64>>,
    last_word: Signal<Local, Bits<27>>,
    last_mask: Signal<Local, Bits<64>>,
    masked: Signal<Local, Bits<64>>,
    ones: Constant<Bits<64>>,
    first_one: FirstSet<64, 6>,
    // Units that are left: of all, and of the message.
    left: DFF<Bits<36>>,
    unit_left: DFF<Bits<32>>,
    // Lengths of lanes, and of the message.
    lens: Ram<32, 1, 15>,
    dry_left: DFF<Bits<36>>,
    dry_unit: DFF<Bits<32>>,
    dry_lanes: Lutram<4, 4, 1>,
    dry_lane: Signal<Local, Bits<4>>,
    dry_fresh: DFF<Bits<16>>,
    adds: DFF<Bit>,
    adds_lane: DFF<Bit>,
    adds_bytes: DFF<Bits<36>>,
    sum: DFF<Bits<37>>,
    sum_new: Signal<Local, Bits<37>>,
    limit: DFF<Bits<32>>,
    over: DFF<Bit>,
    // The row that is offered.
    found: Signal<Local, Bit>,
    advance: Signal<Local, Bit>,
    next_row: Signal<Local, Row>,
    out_valid: DFF<Bit>,
    /// The row's pointer is out of its region's bounds: the row is not offered.
    out_outside: DFF<Bit>,
    out_row: DFF<Row>,
    out_context: DFF<Context>,
    /// Takes fields that items of the column path alone have.
    unused: Signal<Local, Item>,
}

impl Default for Walker {
    fn default() -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            item_valid: Default::default(),
            item_ready: Default::default(),
            item: Default::default(),
            item_context: Default::default(),
            may_start: Default::default(),
            busy: Default::default(),
            failed: Default::default(),
            lane_write_valid: Default::default(),
            lane_write_set: Default::default(),
            lane_write_lane: Default::default(),
            lane_write_len: Default::default(),
            stretch_valid: Default::default(),
            stretch_ready: Default::default(),
            stretch_addr: Default::default(),
            stretch_first: Default::default(),
            stretch_rows: Default::default(),
            stretch_bitmap: Default::default(),
            wants: Default::default(),
            resp_valid: Default::default(),
            resp_data: Default::default(),
            resp_error: Default::default(),
            fail: Default::default(),
            fail_dest: Default::default(),
            row_waits: Default::default(),
            row_valid: Default::default(),
            row_ready: Default::default(),
            row_context: Default::default(),
            row: Default::default(),
            done: Default::default(),
            too_long: Default::default(),
            state: Default::default(),
            check: Default::default(),
            announce: Default::default(),
            chunk: Default::default(),
            ends: Default::default(),
            last_region: Default::default(),
            region: Default::default(),
            infos: Default::default(),
            bounds: Default::default(),
            outside: Default::default(),
            never: Constant::new((BigUint::from(1_u8) << 128_u32).into()),
            info_new: Default::default(),
            info_in: Default::default(),
            info: Default::default(),
            contexts: Default::default(),
            shared_in: Default::default(),
            shared: Default::default(),
            last_of_unit: Default::default(),
            places: Default::default(),
            place_in: Default::default(),
            place_out: Default::default(),
            place: Default::default(),
            place_new: Default::default(),
            fresh: Default::default(),
            fresh_here: Default::default(),
            fresh_after: Default::default(),
            region_after: Default::default(),
            lines: Default::default(),
            line: Default::default(),
            line_ready: Default::default(),
            line_first: Default::default(),
            line_rows: Default::default(),
            ask_first: Default::default(),
            ask_rows: Default::default(),
            fails: Default::default(),
            in_line: Default::default(),
            word: Default::default(),
            last_word: Default::default(),
            last_mask: Default::default(),
            masked: Default::default(),
            ones: Constant::new(u64::MAX.to_bits()),
            first_one: Default::default(),
            left: Default::default(),
            unit_left: Default::default(),
            lens: Ram::new(RamStyle::Ultra),
            dry_left: Default::default(),
            dry_unit: Default::default(),
            dry_lanes: Default::default(),
            dry_lane: Default::default(),
            dry_fresh: Default::default(),
            adds: Default::default(),
            adds_lane: Default::default(),
            adds_bytes: Default::default(),
            sum: Default::default(),
            sum_new: Default::default(),
            limit: Default::default(),
            over: Default::default(),
            found: Default::default(),
            advance: Default::default(),
            next_row: Default::default(),
            out_valid: Default::default(),
            out_outside: Default::default(),
            out_row: Default::default(),
            out_context: Default::default(),
            unused: Default::default(),
        }
    }
}

impl Logic for Walker {
    #[hdl_gen]
    fn update(&mut self) {
        self.unused.next = self.item.val();

        // The region at hand.
        self.infos.read_address[0].next = self.region.q.val();
        self.infos.write_address.next = self.item.val().first.get_bits::<4>(0);
        self.info_new.next.kind = self.item.val().kind;
        self.info_new.next.addr = self.item.val().low;
        self.info_new.next.count = self.item.val().rows;
        self.info_new.next.row_bytes = self.item.val().high.get_bits::<36>(0);
        self.info_in.record.next = self.info_new.val();
        self.infos.write_data.next = self.info_in.bits.val();
        self.infos.write_enable.next = false;
        self.info.bits.next = self.infos.read_data[0].val();
        self.contexts.read_address[0].next = self.region.q.val();
        self.contexts.write_address.next = self.item.val().first.get_bits::<4>(0);
        self.shared_in.record.next = self.item_context.val();
        self.contexts.write_data.next = self.shared_in.bits.val();
        self.contexts.write_enable.next = false;
        self.shared.bits.next = self.contexts.read_data[0].val();
        self.last_of_unit.next = self.region.q.val() == self.last_region.q.val();

        // How far it has come, and its line. Whether the next region has begun is found out a cycle ahead.
        self.region_after.next = self.region.q.val() + 1;
        if self.last_of_unit.val() {
            self.region_after.next = 0.into();
        }
        self.fresh_after.next = (self.last_region.q.val() != 0)
            && self.fresh.q.val().get_bit(self.region_after.val().index());
        self.places.read_address[0].next = self.region.q.val();
        self.places.write_address.next = self.region.q.val();
        self.places.write_enable.next = false;
        self.place_out.bits.next = self.places.read_data[0].val();
        self.place.next = self.place_out.record.val();
        if self.fresh_here.q.val() {
            self.place.next.row = 0.into();
            self.place.next.lane = 0.into();
            self.place.next.bits = 0.into();
            self.place.next.word = 0.into();
        }
        self.place_new.next = self.place.val();
        self.lines.read_address[0].next = self.region.q.val();
        self.lines.write_address.next = self.region.q.val();
        self.lines.write_data.next = self.resp_data.val();
        self.lines.write_enable.next = false;
        self.line.next = self.lines.read_data[0].val();
        self.in_line.next = self.place.val().row.get_bits::<3>(0);
        if self.info.record.val().kind == BITMAPPED {
            self.in_line.next = self.place.val().word.get_bits::<3>(0);
        }
        self.word.next = self.line.val().get_bits::<64>(self.in_line.val().index() * 64);
        // The bitmap may end within its last word.
        self.last_word.next = bit_cast::<27, 32>(self.info.record.val().count >> 6);
        self.last_mask.next = !(self.ones.val() << self.info.record.val().count.get_bits::<6>(0));
        self.masked.next = self.word.val();
        if self.place.val().word == self.last_word.val() {
            self.masked.next = self.word.val() & self.last_mask.val();
        }
        if self.place.val().word > self.last_word.val() {
            self.masked.next = 0.into();
        }
        self.first_one.bits.next = self.place.val().bits;

        // The line to be read.
        self.stretch_valid.next = false;
        self.stretch_addr.next = self.info.record.val().addr;
        self.stretch_bitmap.next = self.info.record.val().kind == BITMAPPED;
        self.stretch_first.next = self.ask_first.q.val();
        self.stretch_rows.next = self.ask_rows.q.val();
        self.line_first.next = self.place.val().row;
        self.line_rows.next = 8.into();
        if self.info.record.val().kind == BITMAPPED {
            self.line_first.next = bit_cast::<32, 27>(self.place.val().word) << 6;
            self.line_rows.next = 512.into();
        }
        self.wants.next = false;
        self.fails.d.next = false;
        self.fail.next = self.fails.q.val();
        self.fail_dest.next = self.shared.record.val().index;

        // Lengths: the lane's is read, then added.
        self.lens.write_lanes.next = bit_cast::<1, 1>(self.lane_write_valid.val().into());
        self.lens.write_address.next = (bit_cast::<15, 11>(self.lane_write_set.val()) << 4)
            | bit_cast::<15, 4>(self.lane_write_lane.val());
        self.lens.write_data.next = self.lane_write_len.val();
        self.lens.read_enable.next = true;
        self.dry_lanes.read_address[0].next = self.region.q.val();
        self.dry_lanes.write_address.next = self.region.q.val();
        self.dry_lanes.write_enable.next = false;
        self.dry_lane.next = self.dry_lanes.read_data[0].val();
        if self.dry_fresh.q.val().get_bit(self.region.q.val().index()) {
            self.dry_lane.next = 0.into();
        }
        self.dry_lanes.write_data.next = self.dry_lane.val() + 1;
        if bit_cast::<5, 4>(self.dry_lane.val()) + 1 == self.shared.record.val().lanes {
            self.dry_lanes.write_data.next = 0.into();
        }
        self.lens.read_address.next = (bit_cast::<15, 11>(self.shared.record.val().set) << 4)
            | bit_cast::<15, 4>(self.dry_lane.val());
        self.adds.d.next = false;
        self.adds_lane.d.next = self.shared.record.val().by_lane;
        self.adds_bytes.d.next = self.info.record.val().row_bytes;
        self.sum_new.next = self.sum.q.val() + bit_cast::<37, 36>(self.adds_bytes.q.val());
        if self.adds_lane.q.val() {
            self.sum_new.next = self.sum.q.val() + bit_cast::<37, 32>(self.lens.read_data.val());
        }
        if self.adds.q.val() {
            self.sum.d.next = self.sum_new.val();
        }
        if self.sum.q.val() > bit_cast::<37, 32>(self.limit.q.val()) {
            self.over.d.next = true;
            self.sum.d.next = 0.into();
        }

        // The row.
        self.advance.next = !self.out_valid.q.val() || self.row_ready.val();
        self.found.next = false;
        self.next_row.next.row = self.place.val().row;
        self.bounds.write_enable.next = false;
        self.bounds.write_address.next = self.item.val().first.get_bits::<4>(0);
        self.bounds.write_data.next = (bit_cast::<129, 64>(self.item.val().high) << 64)
            | bit_cast::<129, 64>(self.item.val().low);
        if self.item.val().never {
            self.bounds.write_data.next = self.never.val();
        }
        self.bounds.read_address[0].next = self.region.q.val();
        self.outside.next = self.bounds.read_data[0].val().get_bit(128)
            || (self.word.val() < self.bounds.read_data[0].val().get_bits::<64>(0))
            || (self.word.val() > self.bounds.read_data[0].val().get_bits::<64>(64));
        self.next_row.next.pointer = 0.into();
        if self.info.record.val().kind == POINTER_MAPPED {
            self.next_row.next.pointer = self.word.val();
        }
        self.next_row.next.lane = self.place.val().lane;
        self.next_row.next.chunk_start = self.chunk.q.val();
        self.next_row.next.empty = false;
        self.next_row.next.request_end = false;
        self.next_row.next.last =
            self.ends.q.val() && self.last_of_unit.val() && (self.left.q.val() == 1);
        self.next_row.next.status = 0.into();
        self.next_row.next.bad_dest = 0.into();
        self.next_row.next.column = false;
        self.next_row.next.rows = 0.into();
        self.next_row.next.unit_first = self.region.q.val() == 0;
        self.next_row.next.unit_last = self.last_of_unit.val();
        self.next_row.next.counted = self.announce.q.val();
        self.next_row.next.message_bytes = self.sum.q.val().get_bits::<32>(0);

        self.item_ready.next = false;
        self.busy.next = (self.state.q.val() != WalkerState::Idle)
            || self.out_valid.q.val()
            || self.fails.q.val();
        self.done.next = false;
        self.too_long.next = self.over.q.val();
        match self.state.q.val() {
            WalkerState::Idle => {
                self.check.d.next = self.item.val().task == CHECK;
                self.announce.d.next = self.item.val().never && (self.item.val().task == UNITS);
                self.chunk.d.next = self.item.val().chunk_start;
                self.ends.d.next = self.item.val().last;
                self.left.d.next = self.item.val().low.get_bits::<36>(0);
                self.dry_left.d.next = self.item.val().low.get_bits::<36>(0);
                self.limit.d.next = self.item.val().high.get_bits::<32>(0);
                self.over.d.next = false;
                self.sum.d.next = 0.into();
                self.region.d.next = 0.into();
                self.fresh.d.next = 0xffff.into();
                self.fresh_here.d.next = true;
                self.dry_fresh.d.next = 0xffff.into();
                self.line_ready.d.next = false;
                self.unit_left.d.next = self.shared.record.val().units;
                self.dry_unit.d.next = self.shared.record.val().units;
                if self.item_valid.val() {
                    if self.item.val().task == LOAD {
                        self.item_ready.next = true;
                        self.infos.write_enable.next = true;
                        self.contexts.write_enable.next = true;
                        self.last_region.d.next = self.item.val().first.get_bits::<4>(0);
                    } else if self.item.val().task == BOUNDS {
                        self.item_ready.next = true;
                        self.bounds.write_enable.next = true;
                    } else if self.may_start.val() {
                        self.item_ready.next = true;
                        self.state.d.next = WalkerState::Give;
                        if (self.item.val().task == CHECK) || self.item.val().never {
                            self.state.d.next = WalkerState::Dry;
                        }
                        if self.item.val().low.get_bits::<36>(0) == 0 {
                            self.state.d.next = WalkerState::Done;
                        }
                    }
                }
            }
            WalkerState::Dry => {
                self.adds.d.next = true;
                self.dry_lanes.write_enable.next = true;
                self.dry_fresh.d.next =
                    self.dry_fresh.q.val().replace_bit(self.region.q.val().index(), false);
                self.region.d.next = self.region.q.val() + 1;
                if self.last_of_unit.val() {
                    self.region.d.next = 0.into();
                    self.dry_left.d.next = self.dry_left.q.val() - 1;
                    self.dry_unit.d.next = self.dry_unit.q.val() - 1;
                    if (self.dry_unit.q.val() == 1) || (self.dry_left.q.val() == 1) {
                        self.state.d.next = WalkerState::DryEnd;
                    }
                }
            }
            WalkerState::DryEnd => {
                self.dry_unit.d.next = self.shared.record.val().units;
                if !self.adds.q.val() {
                    self.state.d.next = WalkerState::Give;
                    if self.check.q.val() {
                        self.sum.d.next = 0.into();
                        self.state.d.next = WalkerState::Dry;
                        if self.over.q.val() || (self.dry_left.q.val() == 0) {
                            self.state.d.next = WalkerState::Done;
                        }
                    }
                }
            }
            WalkerState::Give => {
                if self.failed.val() {
                    self.state.d.next = WalkerState::Done;
                } else if (self.info.record.val().kind == BITMAPPED) && (self.place.val().bits == 0)
                {
                    // The next word of the bitmap.
                    self.fresh_here.d.next = false;
                    self.fresh.d.next =
                        self.fresh.q.val().replace_bit(self.region.q.val().index(), false);
                    if (self.place.val().word.get_bits::<3>(0) == 0) && !self.line_ready.q.val() {
                        self.state.d.next = WalkerState::Miss;
                        self.places.write_enable.next = true;
                    } else {
                        self.place_new.next.bits = self.masked.val();
                        self.place_new.next.word = self.place.val().word + 1;
                        self.places.write_enable.next = true;
                        self.line_ready.d.next = false;
                    }
                } else if (self.info.record.val().kind == POINTER_MAPPED)
                    && (self.place.val().row.get_bits::<3>(0) == 0)
                    && !self.line_ready.q.val()
                {
                    self.state.d.next = WalkerState::Miss;
                } else {
                    self.found.next = true;
                    if self.info.record.val().kind == CONTIGUOUS {
                        self.next_row.next.row = 0.into();
                    }
                    if self.info.record.val().kind == BITMAPPED {
                        self.next_row.next.row = (bit_cast::<32, 27>(self.place.val().word - 1)
                            << 6)
                            | bit_cast::<32, 6>(self.first_one.index.val());
                        self.place_new.next.bits =
                            self.place.val().bits & (self.place.val().bits - 1);
                    } else if self.shared.record.val().by_lane {
                        self.place_new.next.lane = self.place.val().lane + 1;
                        if bit_cast::<5, 4>(self.place.val().lane) + 1
                            == self.shared.record.val().lanes
                        {
                            self.place_new.next.lane = 0.into();
                            self.place_new.next.row = self.place.val().row + 1;
                        }
                    } else {
                        self.place_new.next.row = self.place.val().row + 1;
                    }
                    if self.advance.val() {
                        self.places.write_enable.next = true;
                        self.fresh_here.d.next = self.fresh_after.val();
                        self.fresh.d.next =
                            self.fresh.q.val().replace_bit(self.region.q.val().index(), false);
                        self.line_ready.d.next = false;
                        self.chunk.d.next = false;
                        self.region.d.next = self.region_after.val();
                        if self.last_of_unit.val() {
                            self.left.d.next = self.left.q.val() - 1;
                            self.unit_left.d.next = self.unit_left.q.val() - 1;
                            if self.left.q.val() == 1 {
                                self.state.d.next = WalkerState::Done;
                            } else if self.unit_left.q.val() == 1 {
                                self.unit_left.d.next = self.shared.record.val().units;
                                if self.announce.q.val() {
                                    self.sum.d.next = 0.into();
                                    self.state.d.next = WalkerState::Dry;
                                }
                            }
                        }
                    }
                }
            }
            WalkerState::Miss => {
                self.ask_first.d.next = self.line_first.val();
                self.ask_rows.d.next = self.info.record.val().count - self.line_first.val();
                self.state.d.next = WalkerState::Limit;
            }
            WalkerState::Limit => {
                if self.ask_rows.q.val() > bit_cast::<32, 10>(self.line_rows.val()) {
                    self.ask_rows.d.next = bit_cast::<32, 10>(self.line_rows.val());
                }
                self.state.d.next = WalkerState::Ask;
                if self.ask_first.q.val() >= self.info.record.val().count {
                    // Fewer bits than were counted: the bitmap has changed since.
                    self.fails.d.next = true;
                    self.state.d.next = WalkerState::Done;
                }
            }
            WalkerState::Ask => {
                self.stretch_valid.next = true;
                if self.stretch_ready.val() {
                    self.state.d.next = WalkerState::Answer;
                }
            }
            WalkerState::Answer => {
                self.wants.next = true;
                if self.resp_valid.val() {
                    self.lines.write_enable.next = true;
                    self.line_ready.d.next = true;
                    self.state.d.next = WalkerState::Give;
                    if self.resp_error.val() {
                        self.fails.d.next = true;
                        self.state.d.next = WalkerState::Done;
                    }
                }
            }
            WalkerState::Done => {
                self.done.next = true;
                self.state.d.next = WalkerState::Idle;
            }
        }
        self.place_in.record.next = self.place_new.val();
        self.places.write_data.next = self.place_in.bits.val();

        if self.advance.val() {
            self.out_valid.d.next = self.found.val();
            self.out_outside.d.next =
                (self.info.record.val().kind == POINTER_MAPPED) && self.outside.val();
            self.out_row.d.next = self.next_row.val();
            self.out_context.d.next = self.shared.record.val();
        }
        if self.out_valid.q.val() && self.out_outside.q.val() {
            // The pointer has changed since it was checked.
            self.out_valid.d.next = false;
            self.fails.d.next = true;
            if self.state.q.val() != WalkerState::Done {
                self.state.d.next = WalkerState::Done;
            }
        }
        self.row_waits.next = self.out_valid.q.val();
        self.row_valid.next = self.out_valid.q.val() && !self.out_outside.q.val();
        self.row.next = self.out_row.q.val();
        self.row_context.next = self.out_context.q.val();

        if self.rst.val() {
            self.state.d.next = WalkerState::Idle;
            self.adds.d.next = false;
            self.fails.d.next = false;
            self.out_valid.d.next = false;
        }
    }
}
