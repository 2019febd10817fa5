//! Walks the rows of a request's regions, and asks for what is wanted of each.

use super::chaser::Linked;
use super::finder::{Finder, PLACE_BITS, Place};
use super::record::{
    DESTINATION, HEAD, LOAD, MESSAGE, MOST_BYTES, PLAN, PLAN_BITS, Plan, TABLE, VALUE, VERDICT,
    Wanted,
};
use crate::primitive::{FirstSet, Flatten, Lutram, Restore};
use crate::request::{BITMAPPED, DEST_COUNT, POINTER_MAPPED, STRIDED, SetKinds};
use crate::rows::sequencer::tables::{Bounds, DestInfo, SetInfo};
use crate::shell::host_read::{HostReadBeat, HostReadRequest};
use drdma_abi::completion::Status;
use drdma_emit::prelude::*;

const PROTECTION: u64 = Status::LocalProtectionError as u64;
const OPERATION: u64 = Status::LocalQpOperationError as u64;
const LENGTH: u64 = Status::LocalLengthError as u64;
/// Largest [`Wanted::rest`].
pub const MOST_REST: u64 = 1023;
/// Bit that is set in sums of more bytes than a message has; from there on sums do not change.
const FULL: usize = 32;

/// State of the lister.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum ListerState {
    /// Waits for a request.
    Idle,
    /// Reads a destination.
    DestRead,
    /// Takes the destination.
    Dest,
    /// Announces the destination.
    Head,
    /// Looks at a region, one after the other, if a unit has an element of each of several: do all have the same rows?
    Survey,
    /// Takes a region: its walk begins or continues.
    Region,
    /// Has the lanes of the region looked at, one by one, and their tables of buffers.
    Lanes,
    /// Waits for the region's plan.
    Planned,
    /// Asks for the groups of rows, one a cycle.
    Rows,
    /// Has lines of bits read, for the block of the row at hand.
    Bits,
    /// Stores the position of the walk.
    Place,
    /// Ends a region that has no more rows.
    RegionEnd,
    /// Ends a message.
    MessageEnd,
    /// Ends the rows of a destination.
    DestEnd,
    /// Ends a destination.
    Last,
    /// Stores the positions in all regions.
    Keep,
    /// Restores the positions in all regions.
    Recall,
    /// Goes on to the next destination.
    Next,
    /// All destinations are judged: waits until nothing is under way, then sends them.
    Settle,
    /// Waits until nothing is under way, then ends the request.
    Finish,
}

/// Purpose of a walk over a destination's rows.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum ListerPhase {
    /// Region by region: all rows are followed and counted, and messages are measured if their regions follow one
    /// another.
    Check,
    /// Element by element: messages are measured.
    Measure,
    /// The message that is sent next is measured.
    Ahead,
    /// The message is sent.
    Give,
}

/// Rows of a region whose bits are in lines that were asked for, in numbers of a [`Finder`].
#[derive(Copy, Clone, Debug, PartialEq, Record)]
struct Loaded {
    /// Set of the region.
    set: Bits<11>,
    /// The first row.
    low: Bits<33>,
    /// The first row of the next block.
    high: Bits<33>,
}

/// Bits of a [`Loaded`].
const LOADED_BITS: usize = <Loaded as Synth>::BITS;
/// Binary logarithm of the rows of a block.
const LOG_BLOCK: u64 = 9;

/// Lists the lanes that are wanted of each row; see the [module above](super).
///
/// A row takes a cycle for each group of its lanes that is asked for, at least one. So does a unit with an element of
/// several regions if they have the same rows (one list from the same bit on); else it takes 3 more for each of these.
/// Whether they have takes a destination 3 cycles for each region. Where rows are judged, only those groups are asked for whose entries can lead
/// nowhere or whose lengths vary: `Wanted::row` of a message has the bytes of the others. A region of a destination
/// takes a cycle for each lane, and 4 more, when its first walk begins, unless the destination before had the same.
///
/// # Inputs
/// `clk`, `rst`; `start`, `dests`, `first_dest`; `dest_info`, `set_info`, `bounds`, `set_kinds`, each a cycle after it
/// was asked for; `plan_done` with `plan`; `refused`, `refused_dest`, `too_long`, `kept`, `quiet`; `line`,
/// `linked`.
///
/// # Outputs
/// `dest_read`, `set_read`; streams `wanted`, `read`, `link_read`; `pd`; `done` with `status`, `bad_dest`.
#[derive(LogicBlock, BlockDefault)]
pub struct Lister<const RECORDS: usize> {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// A request is to be walked.
    pub start: Signal<In, Bit>,
    /// Number of destinations of the request.
    pub dests: Signal<In, Bits<DEST_COUNT>>,
    /// Place of the first destination in the ring of destinations.
    pub first_dest: Signal<In, Bits<10>>,
    /// Place of the destination to read.
    pub dest_read: Signal<Out, Bits<10>>,
    /// The destination that `dest_read` named in the cycle before.
    pub dest_info: Signal<In, DestInfo>,
    /// Number of the set to read.
    pub set_read: Signal<Out, Bits<11>>,
    /// The set that `set_read` named in the cycle before.
    pub set_info: Signal<In, SetInfo>,
    /// Range of that set's valid pointers.
    pub bounds: Signal<In, Bounds>,
    /// Properties of that set that only sets with kinds have.
    pub set_kinds: Signal<In, SetKinds>,
    /// Lanes that are wanted, and the ends of messages and destinations.
    pub wanted: Stream<Out, Wanted>,
    /// The plan that was asked for is made.
    pub plan_done: Signal<In, Bit>,
    /// The plan.
    pub plan: Signal<In, Plan>,
    /// Reads of lists, and of pointers to further records, one at a time.
    pub read: Stream<Out, HostReadRequest>,
    /// Answers of these reads.
    pub line: Flow<In, HostReadBeat>,
    /// Reads of pointers to further records, of many chains.
    pub link_read: Stream<Out, HostReadRequest>,
    /// Answers of these reads, in their order.
    pub linked: Flow<In, Linked>,
    /// An entry leads nowhere, or a message is too long; held until the next `start`.
    pub refused: Signal<In, Bit>,
    /// With `refused`: place of the destination in the ring of destinations.
    pub refused_dest: Signal<In, Bits<10>>,
    /// With `refused`: a message is too long.
    pub too_long: Signal<In, Bit>,
    /// The lengths of all messages that were judged are kept; valid while `quiet`.
    pub kept: Signal<In, Bit>,
    /// Nothing is under way.
    pub quiet: Signal<In, Bit>,
    /// Protection domain of the request's keys.
    pub pd: Signal<Out, Bits<32>>,
    /// The request is over.
    pub done: Signal<Out, Bit>,
    /// With `done`: status of the request.
    pub status: Signal<Out, Bits<8>>,
    /// With `done`: the destination that failed.
    pub bad_dest: Signal<Out, Bits<DEST_COUNT>>,

    state: DFF<ListerState>,
    phase: DFF<ListerPhase>,
    failure: DFF<Bits<8>>,
    /// All destinations were judged.
    giving: DFF<Bit>,
    /// Messages of WRITEs must be measured again before they are sent.
    again: DFF<Bit>,
    index: DFF<Bits<DEST_COUNT>>,
    dest_at: Signal<Local, Bits<10>>,
    head: DFF<DestInfo>,
    domain: DFF<Bits<32>>,
    region: DFF<Bits<5>>,
    region_index: Signal<Local, Bits<4>>,
    set: DFF<Bits<11>>,
    /// A unit has an element of each region.
    joint: Signal<Local, Bit>,
    /// A unit has an element of each region, and all regions have the same rows: these are found once.
    united: DFF<Bit>,
    /// The walk goes element by element through the regions, which have rows of their own.
    interleaved: Signal<Local, Bit>,
    last_region: Signal<Local, Bit>,
    /// Every lane is a unit.
    by_lane: Signal<Local, Bit>,
    /// Messages are measured one by one before they are sent.
    message_ahead: Signal<Local, Bit>,
    judging: Signal<Local, Bit>,

    // Whether all regions have the same rows.
    wait: DFF<Bits<2>>,
    is_alike: DFF<Bit>,
    like: Signal<Local, Bit>,
    list: DFF<Bits<64>>,
    list_rows: DFF<Bits<32>>,
    list_ids: DFF<Bits<2>>,
    list_first: DFF<Bits<3>>,
    /// A region has groups that must be followed.
    follows: DFF<Bit>,
    /// Bytes of all regions' rows that need no entry.
    unit_bytes: DFF<Bits<33>>,
    unit_sum: Signal<Local, Bits<33>>,
    /// Only region 0 is asked for rows, which are only counted.
    counts: Signal<Local, Bit>,
    /// The unit goes on in the next region.
    moves_on: Signal<Local, Bit>,
    surveys: Signal<Local, Bit>,
    /// The check of the destination measures no messages.
    measures_later: Signal<Local, Bit>,

    // Position of the walk.
    finder: Finder<RECORDS>,
    opens: Signal<Local, Bit>,
    finds: Signal<Local, Bit>,
    takes: Signal<Local, Bit>,
    has_row: Signal<Local, Bit>,
    fresh: DFF<Bits<16>>,
    is_fresh: Signal<Local, Bit>,
    places: Lutram<PLACE_BITS, 4, 1>,
    place_in: Flatten<Place, PLACE_BITS>,
    place_out: Restore<Place, PLACE_BITS>,
    /// The position at the beginning of the message at hand.
    kept_places: Lutram<PLACE_BITS, 4, 1>,
    kept_fresh: DFF<Bits<16>>,
    kept_region: DFF<Bits<5>>,
    copied: DFF<Bits<5>>,
    place_index: Signal<Local, Bits<4>>,

    // How rows are walked.
    plans: Lutram<PLAN_BITS, 4, 2>,
    plan_behind: Restore<Plan, PLAN_BITS>,
    region_behind: Signal<Local, Bits<4>>,
    groups_behind: Signal<Local, Bits<16>>,
    lowest_behind: FirstSet<16, 4>,
    unused_plan: Signal<Local, Bit>,
    plan_in: Flatten<Plan, PLAN_BITS>,
    plan_out: Restore<Plan, PLAN_BITS>,
    plan_now: Signal<Local, Plan>,
    planned: DFF<Bits<16>>,
    planned_set: DFF<Bits<11>>,
    lane: DFF<Bits<4>>,
    last_of_set: Signal<Local, Bit>,
    /// Groups of a row to be asked for; the first of them, and the one at hand.
    groups: DFF<Bits<16>>,
    groups_new: Signal<Local, Bits<16>>,
    lowest: FirstSet<16, 4>,
    first_group: DFF<Bits<4>>,
    group: DFF<Bits<4>>,
    #[init(Constant::new(0xfffe.into()))]
    behind_0: Constant<Bits<16>>,
    behind: Signal<Local, Bits<16>>,
    following: FirstSet<16, 4>,
    next_start: FirstSet<16, 4>,
    last_lane: Signal<Local, Bits<4>>,
    last_group: Signal<Local, Bit>,
    asks: Signal<Local, Bit>,
    asked: Signal<Local, Bit>,
    // Lines of bits.
    slot: Signal<Local, Bits<2>>,
    loaded: Lutram<LOADED_BITS, 2, 1>,
    loaded_in: Flatten<Loaded, LOADED_BITS>,
    loaded_out: Restore<Loaded, LOADED_BITS>,
    loaded_new: Signal<Local, Loaded>,
    has_loaded: DFF<Bits<4>>,
    is_of_set: Signal<Local, Bit>,
    lacks: Signal<Local, Bit>,
    /// The row is in the block behind the one whose lines were asked for.
    is_next: Signal<Local, Bit>,
    block_end: Signal<Local, Bits<33>>,
    /// Lanes of bits that are left, and whether their second lines are asked for.
    bits_left: DFF<Bits<16>>,
    second: DFF<Bit>,
    lowest_bits: FirstSet<16, 4>,
    /// Number of the unit's bits that do not fill a byte yet.
    carry: DFF<Bits<3>>,
    carry_new: Signal<Local, Bits<3>>,
    lead: Signal<Local, Bits<5>>,
    bit_bytes: DFF<Bits<5>>,
    lead_up: Signal<Local, Bits<5>>,
    row_bytes: DFF<Bits<33>>,
    /// Bytes of the message for which no entry is asked for.
    sum: DFF<Bits<33>>,
    sum_new: Signal<Local, Bits<33>>,

    // Units and messages.
    counted: DFF<Bits<37>>,
    first_count: DFF<Bits<37>>,
    unequal: DFF<Bit>,
    /// Units of the message so far, and those that it had when it was measured.
    units: DFF<Bits<32>>,
    units_new: Signal<Local, Bits<32>>,
    measured: DFF<Bits<32>>,
    target: Signal<Local, Bits<32>>,
    complete: Signal<Local, Bit>,
    /// The destination has had units.
    some: DFF<Bit>,
    /// The destination has no more rows.
    over: DFF<Bit>,
    unused: Signal<Local, Bit>,
}

impl<const RECORDS: usize> Logic for Lister<RECORDS> {
    #[hdl_gen]
    fn update(&mut self) {
        // The destination and the region at hand.
        self.dest_at.next = self.first_dest.val() + bit_cast::<10, DEST_COUNT>(self.index.q.val());
        self.dest_read.next = self.dest_at.val();
        self.pd.next = self.domain.q.val();
        self.unused.next = self.head.q.val().alike;
        self.judging.next = !self.giving.q.val();
        self.message_ahead.next = self.again.q.val() && self.head.q.val().is_write;
        self.joint.next = self.head.q.val().element_mask && (self.head.q.val().sets > 1);
        self.interleaved.next =
            self.joint.val() && !self.united.q.val() && (self.phase.q.val() != ListerPhase::Check);
        self.measures_later.next =
            self.joint.val() && !self.united.q.val() && (self.phase.q.val() == ListerPhase::Check);
        self.surveys.next = self.state.q.val() == ListerState::Survey;
        self.like.next = (self.set_info.val().kind == BITMAPPED)
            && self.set_info.val().count.any()
            && (!self.region.q.val().any()
                || ((self.set_info.val().addr == self.list.q.val())
                    && (self.set_info.val().count == self.list_rows.q.val())
                    && (self.set_info.val().ids == self.list_ids.q.val())
                    && (self.set_kinds.val().first == self.list_first.q.val())));
        self.counts.next = self.judging.val() && !self.follows.q.val();
        self.last_region.next = self.region.q.val() + 1 == self.head.q.val().sets;
        self.by_lane.next = self.head.q.val().element_mask && (self.set_info.val().kind == STRIDED);
        self.region_index.next = self.region.q.val().get_bits::<4>(0);

        // Position of the walk.
        self.is_fresh.next = self.fresh.q.val().get_bit(self.region_index.val().index());
        self.place_index.next = self.region_index.val();
        if (self.state.q.val() == ListerState::Keep) || (self.state.q.val() == ListerState::Recall)
        {
            self.place_index.next = self.copied.q.val().get_bits::<4>(0);
        }
        self.places.read_address[0].next = self.place_index.val();
        self.places.write_address.next = self.place_index.val();
        self.places.write_enable.next = false;
        self.place_in.record.next = self.finder.place.val();
        self.places.write_data.next = self.place_in.bits.val();
        self.place_out.bits.next = self.places.read_data[0].val();
        self.kept_places.read_address[0].next = self.place_index.val();
        self.kept_places.write_address.next = self.place_index.val();
        self.kept_places.write_enable.next = false;
        self.kept_places.write_data.next = self.places.read_data[0].val();

        // How the region's rows are walked.
        self.plan_in.record.next = self.plan.val();
        self.plans.write_address.next = self.region_index.val();
        self.plans.write_data.next = self.plan_in.bits.val();
        self.plans.write_enable.next = self.plan_done.val();
        self.plans.read_address[0].next = self.region_index.val();
        self.plan_out.bits.next = self.plans.read_data[0].val();
        self.plan_now.next = self.plan_out.record.val();
        if self.plan_done.val() {
            self.planned.d.next =
                self.planned.q.val().replace_bit(self.region_index.val().index(), true);
        }
        // The next region of a unit, or the first one of the next unit.
        self.region_behind.next = self.region_index.val() + 1;
        if self.last_region.val() {
            self.region_behind.next = 0.into();
        }
        self.plans.read_address[1].next = self.region_behind.val();
        self.plan_behind.bits.next = self.plans.read_data[1].val();
        self.groups_behind.next = self.plan_behind.record.val().follows;
        if self.phase.q.val() == ListerPhase::Give {
            self.groups_behind.next = self.plan_behind.record.val().starts;
        }
        self.lowest_behind.bits.next = self.groups_behind.val();
        self.unused_plan.next = self.plan_behind.record.val().bits.any()
            || self.plan_behind.record.val().fills.any()
            || self.plan_behind.record.val().bytes.any()
            || self.plan_behind.record.val().inner.any()
            || self.plan_behind.record.val().lead.any()
            || self.plan_behind.record.val().trail.any()
            || self.plan_behind.record.val().only_bits;
        self.last_of_set.next =
            bit_cast::<5, 4>(self.lane.q.val()) + 1 == self.set_info.val().lanes;
        self.groups_new.next = self.plan_now.val().follows;
        if self.phase.q.val() == ListerPhase::Give {
            self.groups_new.next = self.plan_now.val().starts;
        }
        self.lowest.bits.next = self.groups_new.val();
        self.behind.next = self.behind_0.val() << self.group.q.val();
        self.following.bits.next = self.groups.q.val() & self.behind.val();
        self.next_start.bits.next = self.plan_now.val().starts & self.behind.val();
        self.last_lane.next = self.next_start.index.val() - 1;
        if !self.next_start.any.val() {
            self.last_lane.next = self.set_info.val().lanes.get_bits::<4>(0) - 1;
        }
        self.last_group.next = self.by_lane.val() || !self.following.any.val();

        // Bytes of a row that need no entry. Bits that no other lane follows may continue in the unit's next element.
        self.lead.next = bit_cast::<5, 3>(self.carry.q.val()) + self.plan_now.val().lead;
        self.lead_up.next = self.lead.val() + 7;
        self.carry_new.next = self.plan_now.val().trail.get_bits::<3>(0);
        if self.plan_now.val().only_bits {
            self.carry_new.next = self.lead.val().get_bits::<3>(0);
        }
        self.bit_bytes.d.next = (self.plan_now.val().inner + (self.plan_now.val().trail >> 3))
            + (self.lead_up.val() >> 3);
        if self.plan_now.val().only_bits {
            self.bit_bytes.d.next = self.lead.val() >> 3;
        }
        if ((!self.interleaved.val() && !self.surveys.val()) || self.last_region.val())
            && self.carry_new.val().any()
        {
            self.bit_bytes.d.next = (self.plan_now.val().inner + (self.plan_now.val().trail >> 3))
                + ((self.lead_up.val() >> 3) + 1);
            if self.plan_now.val().only_bits {
                self.bit_bytes.d.next = self.lead_up.val() >> 3;
            }
        }
        self.row_bytes.d.next = bit_cast::<33, 32>(self.plan_now.val().bytes)
            + bit_cast::<33, 5>(self.bit_bytes.q.val());
        if self.by_lane.val() {
            // Each lane is asked for.
            self.row_bytes.d.next = bit_cast::<33, 5>(self.bit_bytes.q.val());
        }
        if self.united.q.val() {
            self.row_bytes.d.next = self.unit_bytes.q.val();
        }
        self.unit_sum.next = self.unit_bytes.q.val() + self.row_bytes.q.val();

        // The finder delivers the region's rows, from two cycles after it was opened.
        self.opens.next = self.state.q.val() == ListerState::Region;
        self.finds.next = self.state.q.val() == ListerState::Rows;
        self.finder.clear.next = self.start.val();
        // What it looks at of a region is alike in united ones, but for the set's number.
        self.finder.set.next = self.set.q.val();
        if self.united.q.val() {
            self.finder.set.next = self.head.q.val().first_set;
        }
        self.finder.info.next = self.set_info.val();
        self.finder.kinds.next = self.set_kinds.val();
        self.finder.bounds.next = self.bounds.val();
        self.finder.partition.next = self.head.q.val().partition;
        self.finder.by_lane.next = self.by_lane.val();
        self.finder.open.next = self.opens.val();
        self.finder.from.next = self.place_out.record.val();
        self.finder.fresh.next = self.is_fresh.val();
        self.finder.ahead.next = !self.interleaved.val() && !self.message_ahead.val();
        self.finder.keeps.next = self.judging.val();
        self.finder.on.next = self.finds.val();
        self.finder.halt.next = (self.state.q.val() == ListerState::Finish)
            || (self.state.q.val() == ListerState::Idle);
        self.has_row.next = self.finds.val() && self.finder.valid.val();
        self.asks.next = self.by_lane.val() || self.groups.q.val().any();
        self.slot.next = self.region_index.val().get_bits::<2>(0);
        self.loaded.read_address[0].next = self.slot.val();
        self.loaded_out.bits.next = self.loaded.read_data[0].val();
        self.is_of_set.next = self.has_loaded.q.val().get_bit(self.slot.val().index())
            && (self.loaded_out.record.val().set == self.set.q.val());
        self.lacks.next = self.has_row.val()
            && (self.phase.q.val() == ListerPhase::Give)
            && self.plan_now.val().bits.get_bit(self.group.q.val().index())
            && (!self.is_of_set.val()
                || (self.finder.at.val() < self.loaded_out.record.val().low)
                || (self.finder.at.val() >= self.loaded_out.record.val().high));
        self.is_next.next = self.is_of_set.val()
            && (self.finder.at.val() >= self.loaded_out.record.val().high)
            && (self.finder.at.val()
                < (self.loaded_out.record.val().high + (bits::<33>(1) << LOG_BLOCK)));
        self.block_end.next = self.finder.at.val() + (bits::<33>(1) << LOG_BLOCK)
            - bit_cast::<33, 9>(self.finder.row.val().get_bits::<9>(0));
        self.loaded_new.next.set = self.set.q.val();
        self.loaded_new.next.low = self.finder.at.val();
        self.loaded_new.next.high = self.block_end.val();
        if self.is_next.val() {
            self.loaded_new.next.low = self.loaded_out.record.val().high;
        }
        self.loaded_in.record.next = self.loaded_new.val();
        self.loaded.write_address.next = self.slot.val();
        self.loaded.write_data.next = self.loaded_in.bits.val();
        self.loaded.write_enable.next = false;
        self.lowest_bits.bits.next = self.bits_left.q.val();
        self.asked.next = self.wanted.ready.val() && self.last_group.val() && !self.lacks.val();
        self.moves_on.next = self.united.q.val() && !self.last_region.val() && !self.counts.val();
        self.takes.next =
            self.has_row.val() && (self.asked.val() || !self.asks.val()) && !self.moves_on.val();
        self.finder.take.next = self.takes.val();
        self.finder.read.join(&mut self.read);
        self.finder.line.valid.next = self.line.valid.val();
        self.finder.line.next = self.line.val();
        self.finder.link_read.join(&mut self.link_read);
        self.finder.linked.valid.next = self.linked.valid.val();
        self.finder.linked.next = self.linked.val();

        // A group of a row is wanted, unless a state says otherwise.
        self.wanted.valid.next = self.has_row.val() && self.asks.val() && !self.lacks.val();
        self.wanted.task.next = VALUE.into();
        self.wanted.set.next = self.set.q.val();
        self.wanted.first.next = self.group.q.val();
        self.wanted.lane.next = self.last_lane.val();
        self.wanted.group.next = self
            .plan_now
            .val()
            .fills
            .get_bits::<7>(bit_cast::<7, 4>(self.last_lane.val()).index() * 7);
        if self.by_lane.val() {
            self.wanted.first.next = self.finder.lane.val();
            self.wanted.lane.next = self.finder.lane.val();
        }
        self.wanted.row.next = self.finder.row.val();
        self.wanted.pointer.next = self.finder.pointer.val();
        self.wanted.strided.next = self.set_info.val().kind == STRIDED;
        self.wanted.period.next = self.set_kinds.val().period_or_end;
        self.wanted.apart.next = self.set_info.val().kind == POINTER_MAPPED;
        self.wanted.slot.next = self.slot.val();
        self.wanted.rest.next = self.finder.rest.val().get_bits::<10>(0);
        if self.finder.rest.val().get_bits::<23>(10).any() {
            self.wanted.rest.next = MOST_REST.into();
        }
        self.wanted.unit_end.next = !self.last_group.val()
            || (!self.interleaved.val() && !self.united.q.val())
            || self.last_region.val();
        self.wanted.give.next = self.phase.q.val() == ListerPhase::Give;
        self.target.next = self.head.q.val().units;
        if (self.phase.q.val() == ListerPhase::Give) && self.message_ahead.val() {
            self.target.next = self.measured.q.val();
        }
        self.units_new.next = self.units.q.val() + 1;
        self.complete.next = (!self.interleaved.val() || self.last_region.val())
            && (self.units_new.val() == self.target.val());
        self.sum_new.next = self.sum.q.val() + self.row_bytes.q.val();

        self.done.next = false;
        self.status.next = self.failure.q.val();
        self.bad_dest.next = 0.into();
        if self.failure.q.val().any() {
            self.bad_dest.next = self.index.q.val();
        }
        // A failure of what was asked for precedes what the lister found itself.
        if self.refused.val() {
            self.status.next = PROTECTION.into();
            if self.too_long.val() {
                self.status.next = LENGTH.into();
            }
            self.bad_dest.next =
                (self.refused_dest.val() - self.first_dest.val()).get_bits::<DEST_COUNT>(0);
        }

        match self.state.q.val() {
            ListerState::Idle => {
                self.index.d.next = 0.into();
                self.giving.d.next = false;
                self.again.d.next = false;
                self.planned.d.next = 0.into();
                self.has_loaded.d.next = 0.into();
                self.failure.d.next = 0.into();
                if self.start.val() {
                    self.state.d.next = ListerState::DestRead;
                }
            }
            ListerState::DestRead => {
                self.state.d.next = ListerState::Dest;
            }
            ListerState::Dest => {
                self.head.d.next = self.dest_info.val();
                self.region.d.next = 0.into();
                self.set.d.next = self.dest_info.val().first_set;
                self.fresh.d.next = 0xffff.into();
                self.units.d.next = 0.into();
                self.counted.d.next = 0.into();
                self.unequal.d.next = false;
                self.some.d.next = false;
                self.over.d.next = false;
                self.copied.d.next = 0.into();
                self.carry.d.next = 0.into();
                self.sum.d.next = 0.into();
                self.united.d.next = false;
                self.wait.d.next = 0.into();
                self.unit_bytes.d.next = 0.into();
                self.follows.d.next = false;
                self.is_alike.d.next = true;
                self.phase.d.next = ListerPhase::Check;
                self.planned_set.d.next = self.dest_info.val().first_set;
                if self.planned_set.q.val() != self.dest_info.val().first_set {
                    self.planned.d.next = 0.into();
                }
                if self.giving.q.val() {
                    self.phase.d.next = ListerPhase::Give;
                    if self.dest_info.val().is_write && self.again.q.val() {
                        self.phase.d.next = ListerPhase::Ahead;
                    }
                }
                self.state.d.next = ListerState::Head;
            }
            ListerState::Head => {
                self.wanted.task.next = HEAD.into();
                self.wanted.set.next = bit_cast::<11, 10>(self.dest_at.val());
                self.wanted.lane.next = self.head.q.val().log_mtu;
                self.wanted.first.next = bit_cast::<4, 1>(self.head.q.val().is_write.into());
                self.wanted.unit_end.next = self.head.q.val().is_ud;
                self.wanted.valid.next = true;
                if self.wanted.ready.val() {
                    self.state.d.next = ListerState::Region;
                    if !self.head.q.val().sets.any() {
                        self.state.d.next = ListerState::Last;
                    } else if self.phase.q.val() == ListerPhase::Ahead {
                        self.state.d.next = ListerState::Keep;
                    } else if self.joint.val() {
                        self.state.d.next = ListerState::Survey;
                    }
                }
            }
            ListerState::Survey => {
                // The bytes of a row are known two cycles after its plan.
                self.lane.d.next = 0.into();
                self.wait.d.next = self.wait.q.val() + 1;
                if !self.region.q.val().any() {
                    self.list.d.next = self.set_info.val().addr;
                    self.list_rows.d.next = self.set_info.val().count;
                    self.list_ids.d.next = self.set_info.val().ids;
                    self.list_first.d.next = self.set_kinds.val().first;
                }
                if !self.like.val() || !self.is_alike.q.val() {
                    // Regions are walked on their own.
                    self.carry.d.next = 0.into();
                    self.region.d.next = 0.into();
                    self.set.d.next = self.head.q.val().first_set;
                    self.is_alike.d.next = false;
                    self.state.d.next = ListerState::Region;
                } else if !self.planned.q.val().get_bit(self.region_index.val().index()) {
                    self.wait.d.next = 0.into();
                    self.domain.d.next = self.set_kinds.val().pd;
                    self.state.d.next = ListerState::Lanes;
                } else if self.wait.q.val() == 2 {
                    self.wait.d.next = 0.into();
                    self.unit_bytes.d.next = self.unit_sum.val();
                    if self.unit_sum.val() > MOST_BYTES {
                        self.unit_bytes.d.next = MOST_BYTES.into();
                    }
                    if self.plan_now.val().follows.any() {
                        self.follows.d.next = true;
                    }
                    self.carry.d.next = self.carry_new.val();
                    self.region.d.next = self.region.q.val() + 1;
                    self.set.d.next = self.set.q.val() + 1;
                    if self.last_region.val() {
                        self.united.d.next = true;
                        self.carry.d.next = 0.into();
                        self.region.d.next = 0.into();
                        self.set.d.next = self.head.q.val().first_set;
                        self.state.d.next = ListerState::Region;
                    }
                }
            }
            ListerState::Region => {
                self.domain.d.next = self.set_kinds.val().pd;
                self.lane.d.next = 0.into();
                self.groups.d.next = self.groups_new.val();
                self.first_group.d.next = self.lowest.index.val();
                self.group.d.next = self.lowest.index.val();
                self.state.d.next = ListerState::Rows;
                // The lanes are looked at once, not again after each message. A region without rows needs no plan.
                if self.set_info.val().count.any()
                    && !self.planned.q.val().get_bit(self.region_index.val().index())
                {
                    self.state.d.next = ListerState::Lanes;
                }
            }
            ListerState::Lanes => {
                self.wanted.task.next = PLAN.into();
                if self.judging.val() {
                    self.wanted.task.next = TABLE.into();
                }
                self.wanted.first.next = self.lane.q.val();
                self.wanted.lane.next = self.lane.q.val();
                self.wanted.unit_end.next = self.last_of_set.val();
                self.wanted.valid.next = true;
                if self.wanted.ready.val() {
                    self.lane.d.next = self.lane.q.val() + 1;
                    if self.last_of_set.val() {
                        self.state.d.next = ListerState::Planned;
                    }
                }
            }
            ListerState::Planned => {
                if self.planned.q.val().get_bit(self.region_index.val().index()) {
                    self.state.d.next = ListerState::Region;
                    // The walk has not begun yet.
                    if self.joint.val()
                        && self.is_alike.q.val()
                        && !self.united.q.val()
                        && (self.phase.q.val() != ListerPhase::Ahead)
                    {
                        self.state.d.next = ListerState::Survey;
                    }
                }
            }
            ListerState::Rows => {
                self.bits_left.d.next = self.plan_now.val().bits;
                self.second.d.next = false;
                if self.has_row.val()
                    && self.wanted.ready.val()
                    && self.asks.val()
                    && !self.lacks.val()
                {
                    self.group.d.next = self.following.index.val();
                    if self.last_group.val() {
                        self.group.d.next = self.first_group.q.val();
                    }
                }
                if self.has_row.val()
                    && (self.asked.val() || !self.asks.val())
                    && self.united.q.val()
                    && !self.counts.val()
                {
                    self.groups.d.next = self.groups_behind.val();
                    self.first_group.d.next = self.lowest_behind.index.val();
                    self.group.d.next = self.lowest_behind.index.val();
                    self.region.d.next = bit_cast::<5, 4>(self.region_behind.val());
                    self.set.d.next = self.set.q.val() + 1;
                    if self.last_region.val() {
                        self.set.d.next = self.head.q.val().first_set;
                    }
                }
                if self.lacks.val() {
                    self.state.d.next = ListerState::Bits;
                } else if self.takes.val() {
                    self.counted.d.next = self.counted.q.val() + 1;
                    self.some.d.next = true;
                    self.sum.d.next = self.sum_new.val();
                    if self.sum.q.val().get_bit(FULL) {
                        self.sum.d.next = self.sum.q.val();
                    }
                    if !self.interleaved.val() || self.last_region.val() {
                        self.units.d.next = self.units_new.val();
                    }
                    if self.interleaved.val() || self.message_ahead.val() {
                        self.state.d.next = ListerState::Place;
                    } else if self.complete.val() {
                        self.state.d.next = ListerState::MessageEnd;
                    }
                } else if self.finder.bad.val() {
                    self.failure.d.next = PROTECTION.into();
                    self.state.d.next = ListerState::Finish;
                } else if self.finder.dry.val() {
                    self.state.d.next = ListerState::RegionEnd;
                }
            }
            ListerState::Bits => {
                // The first lines, unless they were the second ones of the block before; then the second lines.
                self.wanted.task.next = LOAD.into();
                self.wanted.first.next = self.lowest_bits.index.val();
                self.wanted.lane.next = self.lowest_bits.index.val();
                self.wanted.unit_end.next = self.second.q.val();
                self.wanted.valid.next =
                    self.bits_left.q.val().any() && (self.second.q.val() || !self.is_next.val());
                if self.wanted.valid.val() && self.wanted.ready.val() {
                    self.bits_left.d.next = self.bits_left.q.val() & (self.bits_left.q.val() - 1);
                } else if !self.wanted.valid.val() {
                    self.bits_left.d.next = self.plan_now.val().bits;
                    self.second.d.next = true;
                    if self.second.q.val() {
                        self.loaded.write_enable.next = true;
                        self.has_loaded.d.next =
                            self.has_loaded.q.val().replace_bit(self.slot.val().index(), true);
                        self.state.d.next = ListerState::Rows;
                    }
                }
            }
            ListerState::Place => {
                self.places.write_enable.next = !self.finder.busy.val();
                if self.finder.bad.val() {
                    self.failure.d.next = PROTECTION.into();
                    self.state.d.next = ListerState::Finish;
                } else if !self.finder.busy.val() {
                    self.fresh.d.next =
                        self.fresh.q.val().replace_bit(self.region_index.val().index(), false);
                    self.state.d.next = ListerState::Rows;
                    if self.interleaved.val() {
                        self.carry.d.next = self.carry_new.val();
                        self.region.d.next = self.region.q.val() + 1;
                        self.set.d.next = self.set.q.val() + 1;
                        self.state.d.next = ListerState::Region;
                        if self.last_region.val() {
                            self.carry.d.next = 0.into();
                            self.region.d.next = 0.into();
                            self.set.d.next = self.head.q.val().first_set;
                        }
                    }
                    if (!self.interleaved.val() || self.last_region.val())
                        && (self.units.q.val() == self.target.val())
                    {
                        self.state.d.next = ListerState::MessageEnd;
                    }
                }
            }
            ListerState::RegionEnd => {
                self.region.d.next = self.region.q.val() + 1;
                self.set.d.next = self.set.q.val() + 1;
                self.state.d.next = ListerState::Region;
                self.counted.d.next = 0.into();
                self.first_count.d.next = self.counted.q.val();
                if self.region.q.val().any() {
                    self.first_count.d.next = self.first_count.q.val();
                    if self.first_count.q.val() != self.counted.q.val() {
                        self.unequal.d.next = true;
                    }
                }
                if self.interleaved.val() {
                    self.state.d.next = ListerState::DestEnd;
                    if self.region.q.val().any() {
                        // The region had as many elements as the others when it was judged.
                        self.failure.d.next = PROTECTION.into();
                        self.state.d.next = ListerState::Finish;
                    }
                } else if self.last_region.val() || self.united.q.val() {
                    self.state.d.next = ListerState::DestEnd;
                }
            }
            ListerState::DestEnd => {
                self.over.d.next = true;
                self.state.d.next = ListerState::Last;
                if (self.phase.q.val() == ListerPhase::Give) && self.message_ahead.val() {
                    // The message had more units when it was measured.
                    self.failure.d.next = PROTECTION.into();
                    self.state.d.next = ListerState::Finish;
                } else if self.units.q.val().any() {
                    self.state.d.next = ListerState::MessageEnd;
                }
            }
            ListerState::MessageEnd => {
                self.wanted.task.next = MESSAGE.into();
                self.wanted.row.next = self.sum.q.val().get_bits::<32>(0);
                if self.sum.q.val().get_bit(FULL) {
                    self.wanted.row.next = MOST_BYTES.into();
                }
                // The length of a message that is measured again is not kept.
                self.wanted.unit_end.next = self.phase.q.val() != ListerPhase::Ahead;
                // A check element by element has no messages yet.
                self.wanted.valid.next = !self.measures_later.val();
                self.copied.d.next = 0.into();
                if self.wanted.ready.val() || !self.wanted.valid.val() {
                    self.units.d.next = 0.into();
                    self.measured.d.next = self.units.q.val();
                    self.sum.d.next = 0.into();
                    self.state.d.next = ListerState::Rows;
                    if self.phase.q.val() == ListerPhase::Ahead {
                        self.state.d.next = ListerState::Recall;
                    } else if self.over.q.val() {
                        self.state.d.next = ListerState::Last;
                    } else if self.message_ahead.val() {
                        self.phase.d.next = ListerPhase::Ahead;
                        self.state.d.next = ListerState::Keep;
                    } else if self.interleaved.val() {
                        self.state.d.next = ListerState::Region;
                    }
                }
            }
            ListerState::Keep => {
                self.kept_places.write_enable.next = true;
                self.kept_fresh.d.next = self.fresh.q.val();
                self.kept_region.d.next = self.region.q.val();
                self.copied.d.next = self.copied.q.val() + 1;
                if self.copied.q.val() + 1 == self.head.q.val().sets {
                    self.state.d.next = ListerState::Region;
                }
            }
            ListerState::Recall => {
                self.places.write_enable.next = true;
                self.places.write_data.next = self.kept_places.read_data[0].val();
                self.fresh.d.next = self.kept_fresh.q.val();
                self.region.d.next = self.kept_region.q.val();
                self.set.d.next =
                    self.head.q.val().first_set + bit_cast::<11, 5>(self.kept_region.q.val());
                self.over.d.next = false;
                self.copied.d.next = self.copied.q.val() + 1;
                self.phase.d.next = ListerPhase::Give;
                if self.copied.q.val() + 1 == self.head.q.val().sets {
                    self.state.d.next = ListerState::Region;
                }
            }
            ListerState::Last => {
                // Nothing is left of the destination.
                self.wanted.task.next = DESTINATION.into();
                self.wanted.unit_end.next = self.some.q.val();
                if self.judging.val() {
                    self.wanted.task.next = VERDICT.into();
                    self.wanted.unit_end.next = !self.measures_later.val();
                }
                self.wanted.valid.next = true;
                if self.wanted.ready.val() {
                    self.state.d.next = ListerState::Next;
                    if self.judging.val() && self.joint.val() && self.unequal.q.val() {
                        self.failure.d.next = OPERATION.into();
                        self.state.d.next = ListerState::Finish;
                    } else if self.judging.val() && !self.wanted.unit_end.val() {
                        self.phase.d.next = ListerPhase::Measure;
                        self.region.d.next = 0.into();
                        self.set.d.next = self.head.q.val().first_set;
                        self.fresh.d.next = 0xffff.into();
                        self.units.d.next = 0.into();
                        self.sum.d.next = 0.into();
                        self.over.d.next = false;
                        self.state.d.next = ListerState::Region;
                    }
                }
            }
            ListerState::Next => {
                self.index.d.next = self.index.q.val() + 1;
                self.state.d.next = ListerState::DestRead;
                if self.index.q.val() + 1 == self.dests.val() {
                    self.index.d.next = self.index.q.val();
                    self.state.d.next = ListerState::Settle;
                    if self.giving.q.val() {
                        self.state.d.next = ListerState::Finish;
                    }
                }
            }
            ListerState::Settle => {
                if self.quiet.val() && self.refused.val() {
                    self.state.d.next = ListerState::Finish;
                } else if self.quiet.val() {
                    self.index.d.next = 0.into();
                    self.giving.d.next = true;
                    self.again.d.next = !self.kept.val();
                    self.state.d.next = ListerState::DestRead;
                }
            }
            ListerState::Finish => {
                if self.quiet.val() && !self.finder.busy.val() {
                    self.done.next = true;
                    self.state.d.next = ListerState::Idle;
                }
            }
        }
        // A refusal ends the walk.
        if self.refused.val()
            && ((self.state.q.val() == ListerState::Region)
                || (self.state.q.val() == ListerState::Rows)
                || (self.state.q.val() == ListerState::DestRead))
        {
            self.state.d.next = ListerState::Finish;
        }
        // A region is read in the cycle before it is needed.
        self.set_read.next = self.set.d.val();
        if self.rst.val() {
            self.state.d.next = ListerState::Idle;
        }
    }
}
