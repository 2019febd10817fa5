//! Keeps the receives that queue pairs have in use: names and regions, by queue pair.
//!
//! A queue pair has up to four in use, which are used up in the order in which they were taken. A receive of more than
//! 4 regions, or with a strided region, is in use alone.
//!
//! Name and places of a receive lie in a slot, which the receive has until it is used up. There are 4,096 slots of 4
//! places for receives of few regions, and 512 of 32 places for the others. A slot of 4 places always becomes free
//! without any peer's help: if each queue pair has one, the one that takes a further receive has had the last packet of
//! what it has in use; if none of them takes one, some queue pair has more than one, and all but the last of these are
//! used up without help. A slot of 32 places may stay with a queue pair whose peer is silent; while none is free, an
//! entry that needs one is not taken.
//!
//! Contract: what is asked for comes in the next cycle, with all that was written until then; the name of the oldest
//! receive and its first place come a cycle later, as the slot must be known. They mean nothing if there is none. A
//! place can be asked for from the cycle before the name comes on. Places are written before the name, or with it.

use super::record::*;
use super::slots::Slots;
use crate::context::{ByteTable, ConfigWrite, QP, Table, TableSelect};
use crate::primitive::{Flatten, Pack, Ram, RamStyle, Restore};
use drdma_emit::prelude::*;

/// Bits of the number of a place.
pub const PLACE: usize = 5;
/// Regions of a receive that need not be alone, at most.
pub const FEW: u64 = 4;
/// Bits of the slot of such a receive.
const FEW_SLOT: usize = 12;
/// Places in a word of its slot: all but the first one. They are contiguous, so that address and length are kept.
const FEW_LANES: usize = FEW as usize - 1;
const FEW_SPAN: usize = 96;
const FEW_WORD: usize = FEW_LANES * FEW_SPAN;
/// Places in a word of a slot of many places, and bits of each: 12 bytes of 9 bits of an UltraRAM.
const LOG_LANES: usize = 2;
const LANES: usize = 1 << LOG_LANES;
const LANE: usize = 108;
const MANY_WORD: usize = LANES * LANE;
/// Bits of the number of such a word in its slot, and of its address.
const ROW: usize = PLACE - LOG_LANES;
const IN_MANY: usize = SLOT + ROW;
const _: () = assert!(FEW == 4 && SPAN <= LANE, "the places of slots");
/// Bits that are kept of a receive: name, first place.
const KEPT: usize = NAME + SPAN;
/// Bits that are kept of a receive by its queue pair, in two bytes: slot, whether it has many regions. A queue pair has
/// those of four receives.
const HELD: usize = 16;
const HELD_BYTES: usize = 2;
const ALL_HELD: usize = 4 * HELD;
const ALL_BYTES: usize = 4 * HELD_BYTES;
const _: () = assert!(FEW_SLOT < HELD);
/// Bits of a count of receives, which wraps.
const COUNT: usize = 3;

/// Keeps receives in use. See the [module](self).
#[derive(LogicBlock, BlockDefault)]
pub struct InUse {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset; all tables are cleared after it.
    pub rst: Signal<In, Bit>,
    /// Words that the host writes into tables: no receive is in use once they are cleared.
    pub cfg: Flow<In, ConfigWrite>,
    /// The queue pair that takes a receive in the next cycle, if it does: until then no other one has a receive named.
    pub checker_qp: Signal<In, Bits<QP>>,
    /// Number of the place that is written.
    pub span_at: Signal<In, Bits<PLACE>>,
    /// The receive whose place is written has few regions.
    pub span_narrow: Signal<In, Bit>,
    /// The place that is written, of the queue pair that `checker_qp` was in the cycle before.
    pub span: Flow<In, Span>,
    /// The queue pair of `checker_qp`, one cycle before, has the receive in use from now on, under this name.
    pub named: Flow<In, Name>,
    /// The oldest receive of `cleared_qp` is used up.
    pub cleared: Signal<In, Bit>,
    /// With `cleared`: the queue pair, which was `next_qp` in the cycle before.
    pub cleared_qp: Signal<In, Bits<QP>>,

    /// There is a slot for a receive of few regions.
    pub few_room: Signal<Out, Bit>,
    /// There is a slot for a receive of many regions, even if the entry in the checker takes one.
    pub many_room: Signal<Out, Bit>,
    /// No entry is in the checker.
    pub settled: Signal<In, Bit>,
    /// The slot for a receive of many regions.
    pub slot: Signal<Out, Bits<SLOT>>,
    /// The queue pair that the taker asks about, for the next cycle.
    pub taker_qp: Signal<In, Bits<QP>>,
    /// The queue pair of `taker_qp` has a receive in use.
    pub taker_used: Signal<Out, Bit>,
    /// The queue pair of `taker_qp` had a receive in use in the cycle before, or one was named in that cycle.
    pub taker_had_any: Signal<Out, Bit>,
    /// The queue pair of `taker_qp` had four in use in the cycle before, or one of many regions: no further one may be
    /// named.
    pub taker_had_all: Signal<Out, Bit>,
    /// The queue pair that scatter asks about, for the next cycle.
    pub next_qp: Signal<In, Bits<QP>>,
    /// The queue pair of `next_qp` has a receive in use.
    pub used: Signal<Out, Bit>,
    /// Name of that queue pair's oldest receive, of the cycle before.
    pub name: Signals<Out, Name>,
    /// First place of the receive of `name`.
    pub first_region: Signals<Out, Span>,
    /// Number of the place that scatter asks for, for the next cycle.
    pub next_span: Signal<In, Bits<PLACE>>,
    /// The place of `next_span`, one cycle before, of the receive that was the oldest one then.
    pub region: Signals<Out, Span>,
    /// The entry of a queue pair is cleared, with all tables.
    pub wiped: Signal<Out, Bit>,
    /// With `wiped`: that queue pair.
    pub wiped_qp: Signal<Out, Bits<QP>>,

    select: TableSelect,
    unused: Signal<Local, Bits<32>>,
    /// Counts of receives that were named, for checker, taker and scatter; `alone`: the last one is alone.
    counts: [Table<COUNT, QP>; 3],
    wide: Table<1, QP>,
    /// Counts of receives that are used up, for taker and scatter.
    ends: [Table<COUNT, QP>; 2],
    /// Slots, and whether they are of many places, by the number of the receive modulo 4.
    slots: ByteTable<ALL_HELD, ALL_BYTES, QP>,
    /// Names and first places, by slot.
    #[init(Ram::new(RamStyle::Ultra))]
    few_names: Ram<KEPT, 1, FEW_SLOT>,
    many_names: Ram<KEPT, 1, SLOT>,
    few: Slots<FEW_SLOT, { FEW_SLOT + 1 }>,
    many: Slots<SLOT, { SLOT + 1 }>,
    #[init(Ram::new(RamStyle::Ultra))]
    few_spans: Ram<FEW_WORD, FEW_LANES, FEW_SLOT>,
    #[init(Ram::new(RamStyle::Ultra))]
    many_spans: Ram<MANY_WORD, LANES, IN_MANY>,
    few_data: Pack<FEW_LANES, FEW_SPAN, FEW_WORD>,
    many_data: Pack<LANES, LANE, MANY_WORD>,
    unused_places: Signal<Local, Bits<MANY_WORD>>,
    /// The place that is written, among those of its word.
    lane: Signal<Local, Bits<LANES>>,
    /// The place that was asked for, among those of its word.
    asked_lane: DFF<Bits<LOG_LANES>>,
    first: DFF<Span>,
    first_in: Flatten<Span, SPAN>,
    /// The first place was asked for; the receive has many regions.
    asks_first: DFF<Bit>,
    wide_before: DFF<Bit>,
    at: Signal<Local, Bits<HELD>>,
    /// The oldest receive's slot.
    slot_held: Signal<Local, Bits<HELD>>,
    is_wide: Signal<Local, Bit>,
    unused_held: Signal<Local, Bits<HELD>>,
    written: Signal<Local, Bits<KEPT>>,
    number: Signal<Local, Bits<2>>,
    oldest: Signal<Local, Bits<2>>,
    held: Signal<Local, Bits<COUNT>>,
    /// Taker and checker have the same queue pair.
    same_qp: DFF<Bit>,
    /// A further receive is named for that queue pair.
    further: Signal<Local, Bit>,
    had_any: DFF<Bit>,
    had_all: DFF<Bit>,
    /// Slots become free a cycle after their receives are used up.
    gives_few: DFF<Bit>,
    given_few: DFF<Bits<FEW_SLOT>>,
    gives_many: DFF<Bit>,
    given_many: DFF<Bits<SLOT>>,
    /// In the cycle before there was a slot for another receive of many regions: it goes only to the entry that the
    /// checker had then.
    had_many_room: DFF<Bit>,
    checker_at: DFF<Bits<QP>>,
    named_number: Signal<Local, Bits<COUNT>>,
    named_wide: Signal<Local, Bits<1>>,
    spent: Signal<Local, Bits<COUNT>>,
    kept: Signal<Local, Bits<KEPT>>,
    span_bits: Signal<Local, Bits<SPAN>>,
    span_in: Flatten<Span, SPAN>,
    span_out: Restore<Span, SPAN>,
    first_out: Restore<Span, SPAN>,
    name_in: Flatten<Name, NAME>,
    name_out: Restore<Name, NAME>,
}

impl InUse {
    /// Counts the receives that were named, and those that are used up.
    #[hdl_gen]
    fn count(&mut self) {
        self.checker_at.d.next = self.checker_qp.val();
        self.number.next = self.counts[0].read_data.val().get_bits::<2>(0);
        self.named_number.next = self.counts[0].read_data.val() + 1;
        self.named_wide.next = 0.into();
        if self.named.wide.val() {
            self.named_wide.next = 1.into();
        }
        self.spent.next = self.ends[1].read_data.val() + 1;
        for k in 0..3 {
            self.counts[k].write_enable.next = self.named.valid.val() || self.select.every.val();
            self.counts[k].write_address.next = self.checker_at.q.val();
            self.counts[k].write_data.next = self.named_number.val();
        }
        self.wide.write_enable.next = self.named.valid.val();
        self.wide.write_address.next = self.checker_at.q.val();
        self.wide.write_data.next = self.named_wide.val();
        for k in 0..2 {
            self.ends[k].write_enable.next = self.cleared.val() || self.select.every.val();
            self.ends[k].write_address.next = self.cleared_qp.val();
            self.ends[k].write_data.next = self.spent.val();
        }
        if self.select.every.val() {
            for k in 0..3 {
                self.counts[k].write_address.next = self.cfg.index.val().get_bits::<QP>(0);
                self.counts[k].write_data.next = 0.into();
            }
            for k in 0..2 {
                self.ends[k].write_address.next = self.cfg.index.val().get_bits::<QP>(0);
                self.ends[k].write_data.next = 0.into();
            }
        }
        self.counts[0].ahead.next = self.checker_qp.val();
        self.counts[1].ahead.next = self.taker_qp.val();
        self.counts[2].ahead.next = self.next_qp.val();
        self.wide.ahead.next = self.taker_qp.val();
        self.ends[0].ahead.next = self.taker_qp.val();
        self.ends[1].ahead.next = self.next_qp.val();
        self.held.next = self.counts[1].read_data.val() - self.ends[0].read_data.val();
        self.taker_used.next = self.counts[1].read_data.val() != self.ends[0].read_data.val();
        self.same_qp.d.next = self.taker_qp.val() == self.checker_qp.val();
        self.further.next = self.same_qp.q.val() && self.named.valid.val();
        self.had_any.d.next = self.held.val().any() || self.further.val();
        self.had_all.d.next = (self.held.val() >= 4)
            || ((self.held.val() == 3) && self.further.val())
            || (self.held.val().any() && (self.wide.read_data.val() == 1))
            || (self.named.wide.val() && self.further.val());
        self.taker_had_any.next = self.had_any.q.val();
        self.taker_had_all.next = self.had_all.q.val();
        self.used.next = self.counts[2].read_data.val() != self.ends[1].read_data.val();
        self.oldest.next = self.ends[1].read_data.val().get_bits::<2>(0);
    }

    /// Keeps the names of receives, with their slots and first places.
    #[hdl_gen]
    fn keep_names(&mut self) {
        if self.span.valid.val() && !self.span_at.val().any() {
            self.first.d.next.addr = self.span.addr.val();
            self.first.d.next.len = self.span.len.val();
            self.first.d.next.strided = self.span.strided.val();
            self.first.d.next.extents = self.span.extents.val();
        }
        self.first_in.record.next = self.first.q.val();
        self.name_in.record.next = self.named.val();
        self.at.next = bit_cast::<HELD, FEW_SLOT>(self.few.number.val());
        if self.named.wide.val() {
            self.at.next = bit_cast::<HELD, SLOT>(self.many.number.val())
                | (bits::<HELD>(1) << FEW_SLOT as u64);
        }
        self.slots.write_bytes.next = 0.into();
        for k in 0..4 {
            if self.named.valid.val() && (self.number.val() == k.to_bits()) {
                self.slots.write_bytes.next = bits::<ALL_BYTES>(3) << (HELD_BYTES * k) as u64;
            }
        }
        self.slots.write_address.next = self.checker_at.q.val();
        self.slots.write_data.next = bit_cast::<ALL_HELD, HELD>(self.at.val())
            | (bit_cast::<ALL_HELD, HELD>(self.at.val()) << HELD as u64)
            | (bit_cast::<ALL_HELD, HELD>(self.at.val()) << (2 * HELD) as u64)
            | (bit_cast::<ALL_HELD, HELD>(self.at.val()) << (3 * HELD) as u64);
        self.slots.ahead.next = self.next_qp.val();
        self.slot_held.next =
            self.slots.read_data.val().get_bits::<HELD>(self.oldest.val().index() * HELD);
        self.unused_held.next = self.slot_held.val();
        self.is_wide.next = self.slot_held.val().get_bit(FEW_SLOT);
        self.written.next = bit_cast::<KEPT, NAME>(self.name_in.bits.val())
            | (bit_cast::<KEPT, SPAN>(self.first_in.bits.val()) << NAME as u64);
        self.few_names.write_lanes.next =
            bit_cast::<1, 1>((self.named.valid.val() && !self.named.wide.val()).into());
        self.few_names.write_address.next = self.few.number.val();
        self.few_names.write_data.next = self.written.val();
        self.few_names.read_enable.next = true;
        self.few_names.read_address.next = self.slot_held.val().get_bits::<FEW_SLOT>(0);
        self.many_names.write_lanes.next =
            bit_cast::<1, 1>((self.named.valid.val() && self.named.wide.val()).into());
        self.many_names.write_address.next = self.many.number.val();
        self.many_names.write_data.next = self.written.val();
        self.many_names.read_enable.next = true;
        self.many_names.read_address.next = self.slot_held.val().get_bits::<SLOT>(0);
        self.wide_before.d.next = self.is_wide.val();
        self.kept.next = self.few_names.read_data.val();
        if self.wide_before.q.val() {
            self.kept.next = self.many_names.read_data.val();
        }
        self.name_out.bits.next = self.kept.val().get_bits::<NAME>(0);
        self.name.next = self.name_out.record.val();
    }

    /// The slot of the oldest receive becomes free with it.
    #[hdl_gen]
    fn free_slots(&mut self) {
        self.few.take.next = self.named.valid.val() && !self.named.wide.val();
        self.gives_few.d.next = self.cleared.val() && !self.is_wide.val();
        self.given_few.d.next = self.slot_held.val().get_bits::<FEW_SLOT>(0);
        self.few.give.next = self.gives_few.q.val();
        self.few.given.next = self.given_few.q.val();
        self.many.take.next = self.named.valid.val() && self.named.wide.val();
        self.gives_many.d.next = self.cleared.val() && self.is_wide.val();
        self.given_many.d.next = self.slot_held.val().get_bits::<SLOT>(0);
        self.many.give.next = self.gives_many.q.val();
        self.many.given.next = self.given_many.q.val();
        self.few_room.next = self.few.free.val().any();
        self.had_many_room.d.next =
            (self.many.free.val() > 1) || (self.many.free.val().any() && self.settled.val());
        self.many_room.next = self.had_many_room.q.val();
        self.slot.next = self.many.number.val();
    }

    /// Keeps the places of the receive behind its first one.
    #[hdl_gen]
    fn keep_places(&mut self) {
        self.span_in.record.next = self.span.val();
        self.lane.next = bits::<LANES>(1) << self.span_at.val().get_bits::<LOG_LANES>(0);
        self.few_spans.write_lanes.next = 0.into();
        self.many_spans.write_lanes.next = 0.into();
        if self.span.valid.val() && self.span_narrow.val() {
            self.few_spans.write_lanes.next = self.lane.val().get_bits::<FEW_LANES>(1);
        }
        if self.span.valid.val() && !self.span_narrow.val() {
            self.many_spans.write_lanes.next = self.lane.val();
        }
        for k in 0..FEW_LANES {
            self.few_data.parts[k].next = self.span_in.bits.val().get_bits::<FEW_SPAN>(0);
        }
        for k in 0..LANES {
            self.many_data.parts[k].next = bit_cast::<LANE, SPAN>(self.span_in.bits.val());
        }
        self.few_spans.write_address.next = self.few.number.val();
        self.few_spans.write_data.next = self.few_data.whole.val();
        self.few_spans.read_enable.next = true;
        self.few_spans.read_address.next = self.slot_held.val().get_bits::<FEW_SLOT>(0);
        self.many_spans.write_address.next = (bit_cast::<IN_MANY, SLOT>(self.many.number.val())
            << ROW as u64)
            | bit_cast::<IN_MANY, ROW>(self.span_at.val().get_bits::<ROW>(LOG_LANES));
        self.many_spans.write_data.next = self.many_data.whole.val();
        self.many_spans.read_enable.next = true;
        self.many_spans.read_address.next =
            (bit_cast::<IN_MANY, SLOT>(self.slot_held.val().get_bits::<SLOT>(0)) << ROW as u64)
                | bit_cast::<IN_MANY, ROW>(self.next_span.val().get_bits::<ROW>(LOG_LANES));
        self.unused_places.next = self.many_spans.read_data.val();
        self.asked_lane.d.next = self.next_span.val().get_bits::<LOG_LANES>(0);
        self.asks_first.d.next = !self.next_span.val().any();
        self.span_bits.next = 0.into();
        for k in 1..4 {
            if self.asked_lane.q.val() == k.to_bits() {
                self.span_bits.next = bit_cast::<SPAN, FEW_SPAN>(
                    self.few_spans.read_data.val().get_bits::<FEW_SPAN>((k - 1) * FEW_SPAN),
                );
            }
        }
        self.first_out.bits.next = self.kept.val().get_bits::<SPAN>(NAME);
        self.first_region.next = self.first_out.record.val();
        for k in 0..LANES {
            if self.wide_before.q.val() && (self.asked_lane.q.val() == k.to_bits()) {
                self.span_bits.next = self.many_spans.read_data.val().get_bits::<SPAN>(k * LANE);
            }
        }
        if self.asks_first.q.val() {
            self.span_bits.next = self.first_out.bits.val();
        }
        self.span_out.bits.next = self.span_bits.val();
        self.region.next = self.span_out.record.val();
    }
}

impl Logic for InUse {
    #[hdl_gen]
    fn update(&mut self) {
        self.select.valid.next = self.cfg.valid.val();
        self.select.number.next = self.cfg.table.val();
        self.select.word.next = self.cfg.word.val();
        self.unused.next = self.cfg.data.val();
        self.wiped.next = self.select.every.val();
        self.wiped_qp.next = self.cfg.index.val().get_bits::<QP>(0);

        self.count();
        self.keep_names();
        self.free_slots();
        self.keep_places();

        if self.rst.val() {
            self.gives_few.d.next = false;
            self.gives_many.d.next = false;
        }
    }
}
