//! Finds the groups of a region's lanes, and the bytes of its rows.

use super::record::{MOST_BYTES, NO_VALUE, Plan};
use crate::primitive::Pack;
use crate::request::{BITS, FIXED, OFFSETS, VIEWS};
use drdma_emit::prelude::*;

/// Largest number of bytes of a group.
const GROUP: u64 = 64;
/// [`Plan::reach`] of records that are too long.
const FAR: u64 = 65;
/// Largest [`Plan::skip`].
const LAST_SKIP: u64 = 63;

/// The fields of a lane that decide about its group.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
struct Lane {
    /// See [`Planner::lane`].
    lane: Bits<4>,
    /// See [`Planner::kind`].
    kind: Bits<3>,
    /// See [`Planner::bytes`].
    bytes: Bits<32>,
    /// The same, but not more than [`FAR`].
    cut: Bits<7>,
    /// See [`Planner::base`].
    base: Bits<64>,
    /// See [`Planner::differs`].
    differs: Bit,
    /// See [`Planner::last`].
    last: Bit,
}

/// Makes the [`Plan`] of a region for the lister.
///
/// Takes a lane a cycle, in order; the plan is valid two cycles after the last one.
///
/// # Inputs
/// `clk`; stream of lanes: `valid`, `lane`, `kind`, `bytes`, `base`, `differs`, `last`.
///
/// # Outputs
/// `done` with `plan`.
#[derive(LogicBlock, BlockDefault)]
pub struct Planner {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// A lane is offered.
    pub valid: Signal<In, Bit>,
    /// Number of the lane, 0 to 15.
    pub lane: Signal<In, Bits<4>>,
    /// Kind of the lane's entries.
    pub kind: Signal<In, Bits<3>>,
    /// Bytes of the lane, if it has fixed width.
    pub bytes: Signal<In, Bits<32>>,
    /// Address of the lane in row 0, or its distance from a record's start.
    pub base: Signal<In, Bits<64>>,
    /// The lane is not the one of this number whose lines of bits were asked for last.
    pub differs: Signal<In, Bit>,
    /// The lane is the last one of its set.
    pub last: Signal<In, Bit>,
    /// The plan is complete.
    pub done: Signal<Out, Bit>,
    /// The plan of the region.
    pub plan: Signal<Out, Plan>,

    // The lane, a cycle after it was offered: it comes from a memory.
    is_valid: DFF<Bit>,
    now: DFF<Lane>,

    ended: DFF<Bit>,
    made: DFF<Plan>,
    was: Signal<Local, Plan>,
    is_first: Signal<Local, Bit>,
    is_fixed: Signal<Local, Bit>,
    is_bits: Signal<Local, Bit>,
    /// Bytes of the group up to this lane; more than [`GROUP`] if nothing can join it.
    fill: DFF<Bits<7>>,
    filled: Signal<Local, Bits<8>>,
    joins: Signal<Local, Bit>,
    /// Bytes from a record's start to the lane's end, at most [`FAR`].
    stop: Signal<Local, Bits<8>>,
    reach: Signal<Local, Bits<7>>,
    /// Number of bits in a row that end with this lane.
    run: DFF<Bits<5>>,
    run_before: Signal<Local, Bits<5>>,
    run_up: Signal<Local, Bits<5>>,
    run_bytes: Signal<Local, Bits<2>>,
    sum: Signal<Local, Bits<33>>,
    /// First lane of the group.
    begin: DFF<Bits<4>>,
    begin_now: Signal<Local, Bits<4>>,
    fills: [DFF<Bits<7>>; 16],
    fills_pack: Pack<16, 7, 112>,
    lasts: [DFF<Bits<4>>; 16],
    /// Number of values before the lane's own, and before each of the lanes.
    values_before: Signal<Local, Bits<6>>,
    is_pair: Signal<Local, Bit>,
    numbers: [DFF<Bits<5>>; 16],
    numbers_pack: Pack<16, 5, 80>,
    lasts_pack: Pack<16, 4, 64>,
}

impl Logic for Planner {
    #[hdl_gen]
    fn update(&mut self) {
        self.is_valid.d.next = self.valid.val();
        self.now.d.next.lane = self.lane.val();
        self.now.d.next.kind = self.kind.val();
        self.now.d.next.bytes = self.bytes.val();
        self.now.d.next.cut = FAR.into();
        if self.bytes.val() <= GROUP {
            self.now.d.next.cut = self.bytes.val().get_bits::<7>(0);
        }
        self.now.d.next.base = self.base.val();
        self.now.d.next.differs = self.differs.val();
        self.now.d.next.last = self.last.val();
        self.is_first.next = self.now.q.val().lane == 0;
        self.is_fixed.next = self.now.q.val().kind == FIXED;
        self.is_bits.next = self.now.q.val().kind == BITS;
        self.is_pair.next = (self.now.q.val().kind == OFFSETS) || (self.now.q.val().kind == VIEWS);
        self.was.next = self.made.q.val();
        self.run_before.next = self.run.q.val();
        if self.is_first.val() {
            self.was.next.starts = 0.into();
            self.was.next.follows = 0.into();
            self.was.next.bits = 0.into();
            self.was.next.bytes = 0.into();
            self.was.next.inner = 0.into();
            self.was.next.lead = 0.into();
            self.was.next.trail = 0.into();
            self.was.next.only_bits = true;
            self.was.next.same_bits = true;
            self.was.next.pairs = 0.into();
            self.was.next.values = 0.into();
            self.was.next.reach = 0.into();
            self.was.next.skip = LAST_SKIP.into();
            self.was.next.several = false;
            self.was.next.many = false;
            self.was.next.several_followed = false;
            self.was.next.first_followed = 0.into();
            self.was.next.leads = true;
            self.run_before.next = 0.into();
        }
        self.filled.next =
            bit_cast::<8, 7>(self.fill.q.val()) + bit_cast::<8, 7>(self.now.q.val().cut);
        self.joins.next =
            self.is_fixed.val() && !self.is_first.val() && (self.filled.val() <= GROUP);
        self.stop.next = bit_cast::<8, 6>(self.now.q.val().base.get_bits::<6>(0))
            + bit_cast::<8, 7>(self.now.q.val().cut);
        self.reach.next = FAR.into();
        if self.is_fixed.val()
            && !self.now.q.val().base.get_bits::<58>(6).any()
            && (self.stop.val() < FAR)
        {
            self.reach.next = self.stop.val().get_bits::<7>(0);
        }
        // Bits that are followed by another kind fill whole bytes.
        self.run_up.next = self.run_before.val() + 7;
        self.run_bytes.next = (self.run_up.val() >> 3).get_bits::<2>(0);
        self.sum.next = bit_cast::<33, 32>(self.was.val().bytes);
        if self.is_fixed.val() {
            self.sum.next = bit_cast::<33, 32>(self.was.val().bytes)
                + bit_cast::<33, 32>(self.now.q.val().bytes);
        }
        self.begin_now.next = self.begin.q.val();
        self.values_before.next = self.was.val().values;
        self.ended.d.next = self.is_valid.q.val() && self.now.q.val().last;
        if self.is_valid.q.val() {
            self.made.d.next = self.was.val();
            self.made.d.next.values = self.values_before.val() + 1;
            if self.was.val().reach < self.reach.val() {
                self.made.d.next.reach = self.reach.val();
            }
            if self.now.q.val().base.get_bits::<6>(0) < self.was.val().skip {
                self.made.d.next.skip = self.now.q.val().base.get_bits::<6>(0);
            }
            if self.is_pair.val() {
                self.made.d.next.values = self.values_before.val() + 2;
                self.made.d.next.pairs =
                    self.was.val().pairs.replace_bit(self.now.q.val().lane.index(), true);
            }
            for k in 0..16 {
                if self.is_first.val() {
                    self.numbers[k].d.next = NO_VALUE.into();
                }
                if self.now.q.val().lane == k.to_bits() {
                    self.numbers[k].d.next = self.values_before.val().get_bits::<5>(0);
                }
            }
            self.fill.d.next = bits::<7>(GROUP) + 1;
            if self.joins.val() {
                self.fill.d.next = self.filled.val().get_bits::<7>(0);
            } else if !self.is_bits.val() || !self.run_before.val().any() {
                self.made.d.next.starts =
                    self.was.val().starts.replace_bit(self.now.q.val().lane.index(), true);
                self.begin_now.next = self.now.q.val().lane;
                self.made.d.next.several = !self.is_first.val();
                self.made.d.next.many = self.was.val().several;
                if !self.was.val().several {
                    self.made.d.next.second = self.now.q.val().lane;
                }
                // A group of fixed width leads, if it is the first one, and the only one.
                if self.is_first.val() != self.is_fixed.val() {
                    self.made.d.next.leads = false;
                }
                if self.is_fixed.val() {
                    self.fill.d.next = self.now.q.val().cut;
                }
            }
            self.begin.d.next = self.begin_now.val();
            for k in 0..16 {
                if self.begin_now.val() == k.to_bits() {
                    self.fills[k].d.next = self.fill.d.val();
                    self.lasts[k].d.next = self.now.q.val().lane;
                }
            }
            if self.is_bits.val() {
                if self.now.q.val().differs {
                    self.made.d.next.same_bits = false;
                }
                self.made.d.next.bits =
                    self.was.val().bits.replace_bit(self.now.q.val().lane.index(), true);
                self.run.d.next = self.run_before.val() + 1;
                self.made.d.next.trail = self.run_before.val() + 1;
                if self.was.val().only_bits {
                    self.made.d.next.lead = self.run_before.val() + 1;
                    self.made.d.next.trail = 0.into();
                }
            } else {
                self.run.d.next = 0.into();
                self.made.d.next.only_bits = false;
                self.made.d.next.trail = 0.into();
                if !self.is_fixed.val() {
                    self.made.d.next.follows =
                        self.was.val().follows.replace_bit(self.now.q.val().lane.index(), true);
                    self.made.d.next.several_followed = self.was.val().follows.any();
                    if !self.was.val().follows.any() {
                        self.made.d.next.first_followed = self.now.q.val().lane;
                    }
                }
                if !self.was.val().only_bits {
                    self.made.d.next.inner =
                        self.was.val().inner + bit_cast::<5, 2>(self.run_bytes.val());
                }
            }
            self.made.d.next.bytes = self.sum.val().get_bits::<32>(0);
            if self.sum.val() > MOST_BYTES {
                self.made.d.next.bytes = MOST_BYTES.into();
            }
        }
        self.done.next = self.ended.q.val();
        for k in 0..16 {
            self.fills_pack.parts[k].next = self.fills[k].q.val();
            self.lasts_pack.parts[k].next = self.lasts[k].q.val();
            self.numbers_pack.parts[k].next = self.numbers[k].q.val();
        }
        self.plan.next = self.made.q.val();
        self.plan.next.fills = self.fills_pack.whole.val();
        self.plan.next.lasts = self.lasts_pack.whole.val();
        self.plan.next.numbers = self.numbers_pack.whole.val();
        self.plan.next.leads = self.made.q.val().leads
            && self.made.q.val().several
            && (self.fills[0].q.val() <= GROUP);
    }
}
