//! Finds the rows of a request's regions, and says what is wanted of each.

use super::record::{DESTINATION, MESSAGE, TABLE, VALUE, VERDICT, Wanted};
use crate::primitive::{FirstSet, Flatten, Lutram, Ram, Restore};
use crate::request::{BITMAPPED, CONTIGUOUS, DEST_COUNT, POINTER_MAPPED, STRIDED, SetKinds};
use crate::rows::sequencer::tables::{Bounds, DestInfo, SetInfo};
use crate::shell::host_read::{HostReadBeat, HostReadRequest};
use drdma_abi::completion::Status;
use drdma_abi::work_request::MAX_MESSAGE;
use drdma_emit::prelude::*;

const PROTECTION: u64 = Status::LocalProtectionError as u64;
const OPERATION: u64 = Status::LocalQpOperationError as u64;
const LENGTH: u64 = Status::LocalLengthError as u64;
/// Bytes of a message, at most.
const LONGEST: u64 = MAX_MESSAGE;
/// Bytes of a pointer.
const POINTER: u64 = 8;
/// Bytes of a list that are read at once: so many lines of 64.
const LOG_LINES: usize = 5;
const LINES_SHIFT: u64 = LOG_LINES as u64;
const LIST_WINDOW: u64 = 64 << LOG_LINES;
const LOG_WINDOW: u64 = 6 + LOG_LINES as u64;
/// Bits of the number of such a window in its list.
const WINDOW: usize = 30 - LOG_LINES;
/// [`Wanted::rest`], at most.
const MOST_REST: u64 = 511;

/// What the lister does.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum ListerState {
    /// No request.
    Idle,
    /// A destination is read,
    DestRead,
    /// and is there.
    Dest,
    /// A region is read,
    RegionRead,
    /// and is there: where does its walk stand?
    Region,
    /// Its tables of buffers are to be looked at, lane by lane.
    Tables,
    /// Is there a further row, and is its line of the list at hand?
    Seek,
    /// A word of the line,
    Word,
    /// or a pointer: where is its next row?
    Scan,
    /// Which row is that, if there is one?
    Pick,
    /// A record of a chain: is it one?
    Link,
    /// Does the record lie where it may?
    Bound,
    /// A row's lanes are asked for, one a cycle.
    Lanes,
    /// A record of a chain is over.
    After,
    /// Lines of a list, or a record's pointer, are asked for,
    Ask,
    /// and come.
    Come,
    /// What comes behind a row.
    Unit,
    /// The region has no more rows.
    RegionEnd,
    /// A message ends.
    MessageEnd,
    /// The destination has no more rows.
    DestEnd,
    /// It ends.
    Last,
    /// Where all regions stand is kept,
    Keep,
    /// or taken up again.
    Recall,
    /// The verdict on the destination is asked for,
    AskVerdict,
    /// and waited for.
    Verdict,
    /// The next destination, when nothing is on its way.
    Settle,
    /// The end, likewise.
    Finish,
}

/// What a walk over a destination's rows is for.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum ListerPhase {
    /// Region by region: all rows are followed and counted, and messages measured where they are of one region after the other.
    Check,
    /// Element by element: messages are measured.
    Measure,
    /// A message is measured that is sent next.
    Ahead,
    /// It is sent.
    Give,
}

/// Where the walk over a region stands.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Place {
    /// The next row, or bit of the bitmap from its first byte's least significant one.
    pub at: Bits<33>,
    /// The next lane, where every lane is a unit.
    pub lane: Bits<4>,
    /// The next record's pointer is known.
    pub linked: Bit,
    /// That pointer.
    pub pointer: Bits<64>,
    /// Records of its chain before it.
    pub before: Bits<25>,
}

/// Bits of a [`Place`].
const PLACE_BITS: usize = <Place as Synth>::BITS;

/// See the [module above](super).
///
/// One entry a cycle is asked for; a row costs a cycle besides, 2 where it has a bit or an id, 5 where it has a pointer, and 64 of its bits or ids 3 (32 of two bytes).
///
/// # Inputs
/// `clk`, `rst`; `start`, `dests`, `first_dest`; `dest_info`, `set_info`, `bounds`, `set_kinds`; `refused`, `judged`, `too_long`, `quiet`;
/// `line`.
///
/// # Outputs
/// `dest_read`, `set_read`; streams `wanted`, `read`; `dest`, `is_write`, `limit`, `pd`, of the destination at hand; `done` with `status`,
/// `bad_dest`.
#[derive(LogicBlock, BlockDefault)]
pub struct Lister {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// A request is to be walked,
    pub start: Signal<In, Bit>,
    /// which has so many destinations,
    pub dests: Signal<In, Bits<DEST_COUNT>>,
    /// from this one on.
    pub first_dest: Signal<In, Bits<10>>,
    /// The destination to read.
    pub dest_read: Signal<Out, Bits<10>>,
    /// It, a cycle later.
    pub dest_info: Signal<In, DestInfo>,
    /// The set to read.
    pub set_read: Signal<Out, Bits<11>>,
    /// It, a cycle later,
    pub set_info: Signal<In, SetInfo>,
    /// where its pointers may point,
    pub bounds: Signal<In, Bounds>,
    /// and what it has beside others.
    pub set_kinds: Signal<In, SetKinds>,
    /// What is wanted.
    pub wanted: Stream<Out, Wanted>,
    /// Reads of lists, and of pointers to further records, one at a time,
    pub read: Stream<Out, HostReadRequest>,
    /// and what comes.
    pub line: Flow<In, HostReadBeat>,
    /// Something wanted leads nowhere; until the next `start`.
    pub refused: Signal<In, Bit>,
    /// A verdict is reached:
    pub judged: Signal<In, Bit>,
    /// a message was too long.
    pub too_long: Signal<In, Bit>,
    /// Nothing is on its way.
    pub quiet: Signal<In, Bit>,
    /// The destination at hand.
    pub dest: Signal<Out, Bits<10>>,
    /// It has WRITEs.
    pub is_write: Signal<Out, Bit>,
    /// Bytes of its messages, at most.
    pub limit: Signal<Out, Bits<32>>,
    /// The protection domain of its keys.
    pub pd: Signal<Out, Bits<32>>,
    /// The request is over.
    pub done: Signal<Out, Bit>,
    /// Its status.
    pub status: Signal<Out, Bits<8>>,
    /// The destination that failed.
    pub bad_dest: Signal<Out, Bits<DEST_COUNT>>,

    state: DFF<ListerState>,
    phase: DFF<ListerPhase>,
    failure: DFF<Bits<8>>,
    /// All destinations were judged.
    giving: DFF<Bit>,
    index: DFF<Bits<DEST_COUNT>>,
    dest_at: Signal<Local, Bits<10>>,
    head: DFF<DestInfo>,
    /// Bytes of its messages, at most.
    longest: DFF<Bits<32>>,
    domain: DFF<Bits<32>>,
    region: DFF<Bits<5>>,
    set: DFF<Bits<11>>,
    /// Units have an element of each region.
    joint: Signal<Local, Bit>,
    /// And are walked so.
    interleaved: Signal<Local, Bit>,
    last_region: Signal<Local, Bit>,
    /// Every lane is a unit.
    by_lane: Signal<Local, Bit>,
    /// The region has a list: bits, ids, or pointers.
    is_bits: Signal<Local, Bit>,
    is_ids: Signal<Local, Bit>,
    is_pointers: Signal<Local, Bit>,
    is_chain: Signal<Local, Bit>,

    // Where the walk stands.
    place: DFF<Place>,
    fresh: DFF<Bits<16>>,
    places: Lutram<PLACE_BITS, 4, 1>,
    place_in: Flatten<Place, PLACE_BITS>,
    place_out: Restore<Place, PLACE_BITS>,
    /// The same at the beginning of the message at hand.
    kept: Lutram<PLACE_BITS, 4, 1>,
    kept_fresh: DFF<Bits<16>>,
    kept_region: DFF<Bits<5>>,
    copied: DFF<Bits<5>>,
    place_index: Signal<Local, Bits<4>>,

    // The list.
    lines: Ram<512, 1, 9>,
    window_of: Lutram<WINDOW, 4, 1>,
    has_window: DFF<Bits<16>>,
    arrived: DFF<Bits<LOG_LINES>>,
    line_now: Signal<Local, Bits<512>>,
    /// Rows, or bits of the bitmap from its first byte on: from the cycle behind `Region` on.
    rows: DFF<Bits<33>>,
    rows_new: Signal<Local, Bits<33>>,
    word_number: Signal<Local, Bits<33>>,
    line_number: Signal<Local, Bits<30>>,
    /// Likewise.
    list_bytes: DFF<Bits<36>>,
    window: Signal<Local, Bits<WINDOW>>,
    behind_window: Signal<Local, Bits<36>>,
    list_rest: Signal<Local, Bits<36>>,
    word: DFF<Bits<64>>,
    picked: Signal<Local, Bits<64>>,
    passed: Signal<Local, Bits<6>>,
    wanted_bits: Signal<Local, Bits<64>>,
    /// The row before was of the same word.
    same_word: Signal<Local, Bit>,
    lowest: FirstSet<64, 6>,
    #[init(Constant::new(u64::MAX.into()))]
    ones_64: Constant<Bits<64>>,
    some_bit: DFF<Bit>,
    first_bit: DFF<Bits<6>>,
    found: Signal<Local, Bits<33>>,
    following: Signal<Local, Bits<33>>,
    /// What is read is a record's pointer to the next one.
    links: DFF<Bit>,
    asked_addr: DFF<Bits<64>>,
    asked_bytes: DFF<Bits<13>>,

    // Rows and messages.
    lane: DFF<Bits<4>>,
    last_lane: Signal<Local, Bit>,
    behind: Signal<Local, Bits<33>>,
    row: Signal<Local, Bits<32>>,
    counted: DFF<Bits<37>>,
    first_count: DFF<Bits<37>>,
    unequal: DFF<Bit>,
    /// Units of the message so far, and of it when it was measured.
    units: DFF<Bits<32>>,
    measured: DFF<Bits<32>>,
    target: Signal<Local, Bits<32>>,
    /// The destination has given units.
    some: DFF<Bit>,
    /// The destination has no more rows.
    over: DFF<Bit>,
    unused: Signal<Local, Bit>,
}

impl Logic for Lister {
    #[hdl_gen]
    fn update(&mut self) {
        // The destination and the region at hand.
        self.dest_at.next = self.first_dest.val() + bit_cast::<10, DEST_COUNT>(self.index.q.val());
        self.dest_read.next = self.dest_at.val();
        self.dest.next = self.dest_at.val();
        self.is_write.next = self.head.q.val().is_write;
        self.longest.d.next = LONGEST.into();
        if self.head.q.val().is_ud {
            self.longest.d.next = bits::<32>(1) << self.head.q.val().log_mtu;
        }
        self.limit.next = self.longest.q.val();
        self.pd.next = self.domain.q.val();
        self.set_read.next = self.set.q.val();
        self.unused.next = self.head.q.val().alike
            || self.set_info.val().fetch
            || self.set_info.val().made
            || self.set_info.val().starts.any()
            || self.set_info.val().row_bytes.any();
        self.joint.next = self.head.q.val().element_mask && (self.head.q.val().sets > 1);
        self.interleaved.next = self.joint.val() && (self.phase.q.val() != ListerPhase::Check);
        self.last_region.next = self.region.q.val() + 1 == self.head.q.val().sets;
        self.by_lane.next = self.head.q.val().element_mask && (self.set_info.val().kind == STRIDED);
        self.is_ids.next = self.set_info.val().ids.any();
        self.is_bits.next = (self.set_info.val().kind == BITMAPPED) && !self.is_ids.val();
        self.is_pointers.next = self.set_info.val().kind == POINTER_MAPPED;
        self.is_chain.next = self.is_pointers.val() && self.set_kinds.val().chase;

        // Where the walk stands.
        self.place_index.next = self.region.q.val().get_bits::<4>(0);
        if (self.state.q.val() == ListerState::Keep) || (self.state.q.val() == ListerState::Recall)
        {
            self.place_index.next = self.copied.q.val().get_bits::<4>(0);
        }
        self.places.read_address[0].next = self.place_index.val();
        self.places.write_address.next = self.place_index.val();
        self.places.write_enable.next = false;
        self.place_in.record.next = self.place.q.val();
        self.places.write_data.next = self.place_in.bits.val();
        self.place_out.bits.next = self.places.read_data[0].val();
        self.kept.read_address[0].next = self.place_index.val();
        self.kept.write_address.next = self.place_index.val();
        self.kept.write_enable.next = false;
        self.kept.write_data.next = self.places.read_data[0].val();

        // The rows that there are, and where the next one's bit, id or pointer is.
        self.rows_new.next = bit_cast::<33, 32>(self.set_info.val().count);
        if self.set_info.val().kind == CONTIGUOUS {
            self.rows_new.next = 1.into();
        }
        self.list_bytes.d.next = bit_cast::<36, 33>(self.rows_new.val()) << 3;
        self.word_number.next = self.place.q.val().at;
        self.row.next = self.place.q.val().at.get_bits::<32>(0);
        if self.is_bits.val() {
            self.rows_new.next = bit_cast::<33, 32>(self.set_info.val().count)
                + bit_cast::<33, 3>(self.set_kinds.val().first);
            self.list_bytes.d.next = (bit_cast::<36, 33>(self.rows_new.val()) + 7) >> 3;
            self.word_number.next = self.place.q.val().at >> 6;
            self.row.next = self.place.q.val().at.get_bits::<32>(0)
                - bit_cast::<32, 3>(self.set_kinds.val().first);
        } else if self.is_ids.val() {
            self.list_bytes.d.next = bit_cast::<36, 33>(self.rows_new.val());
            self.word_number.next = self.place.q.val().at >> 3;
            if self.set_info.val().ids.get_bit(1) {
                self.list_bytes.d.next = bit_cast::<36, 33>(self.rows_new.val()) << 1;
                self.word_number.next = self.place.q.val().at >> 2;
            }
        }
        self.rows.d.next = self.rows_new.val();
        self.line_number.next = self.word_number.val().get_bits::<30>(3);
        self.window.next = self.line_number.val().get_bits::<WINDOW>(LOG_LINES);
        self.behind_window.next = bit_cast::<36, WINDOW>(self.window.val()) << LOG_WINDOW;
        self.list_rest.next = self.list_bytes.q.val() - self.behind_window.val();
        self.lines.read_enable.next = true;
        self.lines.read_address.next = (bit_cast::<9, 4>(self.region.q.val().get_bits::<4>(0))
            << LINES_SHIFT)
            | bit_cast::<9, LOG_LINES>(self.line_number.val().get_bits::<LOG_LINES>(0));
        self.lines.write_address.next = (bit_cast::<9, 4>(self.region.q.val().get_bits::<4>(0))
            << LINES_SHIFT)
            | bit_cast::<9, LOG_LINES>(self.arrived.q.val());
        self.lines.write_data.next = self.line.data.val();
        self.lines.write_lanes.next = 0.into();
        self.window_of.read_address[0].next = self.region.q.val().get_bits::<4>(0);
        self.window_of.write_address.next = self.region.q.val().get_bits::<4>(0);
        self.window_of.write_data.next = self.window.val();
        self.window_of.write_enable.next = false;
        self.line_now.next = self.lines.read_data.val();

        // The rows of a word that are wanted, from the next one on: 64 bits, or what a line's ids say of 64 or 32 rows.
        self.picked.next = self
            .line_now
            .val()
            .get_bits::<64>(bit_cast::<9, 3>(self.word_number.val().get_bits::<3>(0)).index() * 64);
        self.passed.next = self.place.q.val().at.get_bits::<6>(0);
        self.following.next = ((self.place.q.val().at >> 6) + 1) << 6;
        self.found.next =
            ((self.place.q.val().at >> 6) << 6) | bit_cast::<33, 6>(self.first_bit.q.val());
        if self.is_ids.val() {
            self.picked.next = 0.into();
            for k in 0..64 {
                if self.line_now.val().get_bits::<8>(8 * k)
                    == self.head.q.val().partition.get_bits::<8>(0)
                {
                    self.picked.next = self.picked.val().replace_bit(k, true);
                }
            }
            if self.set_info.val().ids.get_bit(1) {
                self.picked.next = 0.into();
                for k in 0..32 {
                    if self.line_now.val().get_bits::<16>(16 * k) == self.head.q.val().partition {
                        self.picked.next = self.picked.val().replace_bit(k, true);
                    }
                }
                self.passed.next = bit_cast::<6, 5>(self.place.q.val().at.get_bits::<5>(0));
                self.following.next = ((self.place.q.val().at >> 5) + 1) << 5;
                self.found.next =
                    ((self.place.q.val().at >> 5) << 5) | bit_cast::<33, 6>(self.first_bit.q.val());
            }
        }
        self.same_word.next = (self.is_bits.val() || self.is_ids.val()) && self.passed.val().any();
        self.wanted_bits.next = self.word.q.val() & (self.ones_64.val() << self.passed.val());
        self.lowest.bits.next = self.wanted_bits.val();
        self.some_bit.d.next = self.lowest.any.val();
        self.first_bit.d.next = self.lowest.index.val();

        // What is wanted: a lane of a row, unless a state says otherwise.
        self.last_lane.next = self.by_lane.val()
            || (bit_cast::<5, 4>(self.lane.q.val()) + 1 == self.set_info.val().lanes);
        self.wanted.valid.next = false;
        self.wanted.task.next = VALUE.into();
        self.wanted.set.next = self.set.q.val();
        self.wanted.lane.next = self.lane.q.val();
        self.wanted.row.next = self.row.val();
        self.wanted.pointer.next = 0.into();
        self.wanted.strided.next = self.set_info.val().kind == STRIDED;
        self.wanted.period.next = self.set_kinds.val().period_or_end;
        self.wanted.apart.next = self.is_pointers.val();
        self.behind.next = self.rows.q.val() - 1 - self.place.q.val().at;
        self.wanted.rest.next = self.behind.val().get_bits::<9>(0);
        if self.behind.val().get_bits::<24>(9).any() {
            self.wanted.rest.next = MOST_REST.into();
        }
        if self.is_pointers.val() {
            self.wanted.row.next = 0.into();
            self.wanted.pointer.next = self.place.q.val().pointer;
        }
        self.wanted.unit_end.next =
            self.last_lane.val() && (!self.interleaved.val() || self.last_region.val());
        self.wanted.give.next = self.phase.q.val() == ListerPhase::Give;
        self.target.next = self.head.q.val().units;
        if (self.phase.q.val() == ListerPhase::Give) && self.head.q.val().is_write {
            self.target.next = self.measured.q.val();
        }

        self.read.valid.next = false;
        self.read.addr.next = self.asked_addr.q.val();
        self.read.bytes.next = self.asked_bytes.q.val();
        self.done.next = false;
        self.status.next = self.failure.q.val();
        if self.refused.val() {
            self.status.next = PROTECTION.into();
        }
        self.bad_dest.next = 0.into();
        if self.status.val().any() {
            self.bad_dest.next = self.index.q.val();
        }
        match self.state.q.val() {
            ListerState::Idle => {
                self.index.d.next = 0.into();
                self.giving.d.next = false;
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
                self.has_window.d.next = 0.into();
                self.units.d.next = 0.into();
                self.counted.d.next = 0.into();
                self.unequal.d.next = false;
                self.some.d.next = false;
                self.over.d.next = false;
                self.copied.d.next = 0.into();
                self.state.d.next = ListerState::RegionRead;
                self.phase.d.next = ListerPhase::Check;
                if self.giving.q.val() {
                    self.phase.d.next = ListerPhase::Give;
                    if self.dest_info.val().is_write {
                        self.phase.d.next = ListerPhase::Ahead;
                        self.state.d.next = ListerState::Keep;
                    }
                }
                if !self.dest_info.val().sets.any() {
                    self.state.d.next = ListerState::Settle;
                }
            }
            ListerState::RegionRead => {
                self.lane.d.next = 0.into();
                self.state.d.next = ListerState::Region;
            }
            ListerState::Region => {
                self.domain.d.next = self.set_kinds.val().pd;
                self.place.d.next = self.place_out.record.val();
                if self.fresh.q.val().get_bit(self.region.q.val().get_bits::<4>(0).index()) {
                    self.place.d.next.at = 0.into();
                    if self.is_bits.val() {
                        self.place.d.next.at = bit_cast::<33, 3>(self.set_kinds.val().first);
                    }
                    self.place.d.next.lane = 0.into();
                    self.place.d.next.linked = false;
                }
                self.state.d.next = ListerState::Seek;
                // Once, and not again after each message.
                if (self.phase.q.val() == ListerPhase::Check)
                    && self.fresh.q.val().get_bit(self.region.q.val().get_bits::<4>(0).index())
                    && self.set_info.val().count.any()
                {
                    self.state.d.next = ListerState::Tables;
                }
            }
            ListerState::Tables => {
                self.wanted.task.next = TABLE.into();
                self.wanted.valid.next = true;
                if self.wanted.ready.val() {
                    self.lane.d.next = self.lane.q.val() + 1;
                    if bit_cast::<5, 4>(self.lane.q.val()) + 1 == self.set_info.val().lanes {
                        self.state.d.next = ListerState::Seek;
                    }
                }
            }
            ListerState::Seek => {
                self.lane.d.next = 0.into();
                if self.by_lane.val() {
                    self.lane.d.next = self.place.q.val().lane;
                }
                self.links.d.next = false;
                self.asked_addr.d.next =
                    self.set_info.val().addr + bit_cast::<64, 36>(self.behind_window.val());
                self.asked_bytes.d.next = bits::<13>(1) << LOG_WINDOW;
                if self.list_rest.val() < LIST_WINDOW {
                    self.asked_bytes.d.next = self.list_rest.val().get_bits::<13>(0);
                }
                if self.place.q.val().at >= self.rows.q.val() {
                    self.state.d.next = ListerState::RegionEnd;
                } else if self.is_chain.val() && self.place.q.val().linked {
                    self.state.d.next = ListerState::Link;
                } else if !self.is_pointers.val() && !self.is_bits.val() && !self.is_ids.val() {
                    self.state.d.next = ListerState::Lanes;
                } else if self
                    .has_window
                    .q
                    .val()
                    .get_bit(self.region.q.val().get_bits::<4>(0).index())
                    && (self.window_of.read_data[0].val() == self.window.val())
                {
                    self.state.d.next = ListerState::Word;
                } else {
                    self.state.d.next = ListerState::Ask;
                }
            }
            ListerState::Word => {
                self.word.d.next = self.picked.val();
                self.state.d.next = ListerState::Scan;
            }
            ListerState::Scan => {
                if self.is_pointers.val() {
                    self.place.d.next.pointer = self.word.q.val();
                    self.place.d.next.before = 0.into();
                    self.place.d.next.linked = self.is_chain.val();
                    self.state.d.next = ListerState::Bound;
                    if self.is_chain.val() {
                        self.state.d.next = ListerState::Link;
                    }
                } else {
                    self.state.d.next = ListerState::Pick;
                }
            }
            ListerState::Pick => {
                if self.some_bit.q.val() {
                    self.place.d.next.at = self.found.val();
                    self.state.d.next = ListerState::Lanes;
                    if self.found.val() >= self.rows.q.val() {
                        self.state.d.next = ListerState::RegionEnd;
                    }
                } else {
                    self.place.d.next.at = self.following.val();
                    self.state.d.next = ListerState::Seek;
                }
            }
            ListerState::Link => {
                self.state.d.next = ListerState::Bound;
                if self.place.q.val().pointer == self.set_kinds.val().period_or_end {
                    self.place.d.next.linked = false;
                    self.place.d.next.at = self.place.q.val().at + 1;
                    self.state.d.next = ListerState::Seek;
                } else if self.place.q.val().before == self.set_kinds.val().limit {
                    self.failure.d.next = PROTECTION.into();
                    self.state.d.next = ListerState::Finish;
                }
            }
            ListerState::Bound => {
                self.state.d.next = ListerState::Lanes;
                if self.bounds.val().never
                    || (self.place.q.val().pointer < self.bounds.val().low)
                    || (self.place.q.val().pointer > self.bounds.val().high)
                {
                    self.failure.d.next = PROTECTION.into();
                    self.state.d.next = ListerState::Finish;
                }
            }
            ListerState::Lanes => {
                self.wanted.valid.next = true;
                if self.wanted.ready.val() {
                    self.lane.d.next = self.lane.q.val() + 1;
                    if self.last_lane.val() && self.is_chain.val() {
                        self.state.d.next = ListerState::After;
                    } else if self.last_lane.val() {
                        self.state.d.next = ListerState::Unit;
                        self.place.d.next.lane = self.place.q.val().lane + 1;
                        if !self.by_lane.val()
                            || (bit_cast::<5, 4>(self.place.q.val().lane) + 1
                                == self.set_info.val().lanes)
                        {
                            self.place.d.next.lane = 0.into();
                            self.place.d.next.at = self.place.q.val().at + 1;
                        }
                    }
                }
            }
            ListerState::After => {
                self.links.d.next = true;
                self.asked_addr.d.next =
                    self.place.q.val().pointer + bit_cast::<64, 32>(self.set_kinds.val().link);
                self.asked_bytes.d.next = POINTER.into();
                self.state.d.next = ListerState::Ask;
            }
            ListerState::Ask => {
                self.arrived.d.next = 0.into();
                self.read.valid.next = true;
                if self.read.ready.val() {
                    self.state.d.next = ListerState::Come;
                }
            }
            ListerState::Come => {
                if self.line.valid.val() && self.line.error.val() {
                    self.failure.d.next = PROTECTION.into();
                    self.state.d.next = ListerState::Finish;
                } else if self.line.valid.val() && self.links.q.val() {
                    self.place.d.next.pointer = self.line.data.val().get_bits::<64>(0);
                    self.place.d.next.before = self.place.q.val().before + 1;
                    self.state.d.next = ListerState::Unit;
                } else if self.line.valid.val() {
                    self.lines.write_lanes.next = 1.into();
                    self.arrived.d.next = self.arrived.q.val() + 1;
                    if self.line.last.val() {
                        self.window_of.write_enable.next = true;
                        self.has_window.d.next = self
                            .has_window
                            .q
                            .val()
                            .replace_bit(self.region.q.val().get_bits::<4>(0).index(), true);
                        self.state.d.next = ListerState::Seek;
                    }
                }
            }
            ListerState::Unit => {
                self.places.write_enable.next = true;
                self.fresh.d.next = self
                    .fresh
                    .q
                    .val()
                    .replace_bit(self.region.q.val().get_bits::<4>(0).index(), false);
                self.state.d.next = ListerState::Seek;
                if self.phase.q.val() == ListerPhase::Check {
                    self.counted.d.next = self.counted.q.val() + 1;
                }
                self.lane.d.next = 0.into();
                if self.by_lane.val() {
                    self.lane.d.next = self.place.q.val().lane;
                }
                if self.same_word.val() {
                    self.state.d.next = ListerState::Pick;
                } else if !self.is_pointers.val()
                    && !self.is_bits.val()
                    && !self.is_ids.val()
                    && (self.place.q.val().at < self.rows.q.val())
                {
                    self.state.d.next = ListerState::Lanes;
                }
                if self.interleaved.val() {
                    self.region.d.next = self.region.q.val() + 1;
                    self.set.d.next = self.set.q.val() + 1;
                    self.state.d.next = ListerState::RegionRead;
                    if self.last_region.val() {
                        self.region.d.next = 0.into();
                        self.set.d.next = self.head.q.val().first_set;
                    }
                }
                if !self.interleaved.val() || self.last_region.val() {
                    self.units.d.next = self.units.q.val() + 1;
                    self.some.d.next = true;
                    if self.units.q.val() + 1 == self.target.val() {
                        self.state.d.next = ListerState::MessageEnd;
                    }
                }
            }
            ListerState::RegionEnd => {
                self.region.d.next = self.region.q.val() + 1;
                self.set.d.next = self.set.q.val() + 1;
                self.state.d.next = ListerState::RegionRead;
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
                        // It had as many elements as the others before.
                        self.failure.d.next = PROTECTION.into();
                        self.state.d.next = ListerState::Finish;
                    }
                } else if self.last_region.val() {
                    self.state.d.next = ListerState::DestEnd;
                }
            }
            ListerState::DestEnd => {
                self.over.d.next = true;
                self.state.d.next = ListerState::Last;
                if (self.phase.q.val() == ListerPhase::Give) && self.head.q.val().is_write {
                    // There were more units when it was measured.
                    self.failure.d.next = PROTECTION.into();
                    self.state.d.next = ListerState::Finish;
                } else if self.units.q.val().any() {
                    self.state.d.next = ListerState::MessageEnd;
                }
            }
            ListerState::MessageEnd => {
                self.wanted.task.next = MESSAGE.into();
                // What is checked element by element has no messages yet.
                self.wanted.valid.next =
                    !self.joint.val() || (self.phase.q.val() != ListerPhase::Check);
                self.copied.d.next = 0.into();
                if self.wanted.ready.val() || !self.wanted.valid.val() {
                    self.units.d.next = 0.into();
                    self.measured.d.next = self.units.q.val();
                    self.state.d.next = ListerState::RegionRead;
                    if self.phase.q.val() == ListerPhase::Ahead {
                        self.state.d.next = ListerState::Recall;
                    } else if self.over.q.val() {
                        self.state.d.next = ListerState::Last;
                    } else if (self.phase.q.val() == ListerPhase::Give)
                        && self.head.q.val().is_write
                    {
                        self.phase.d.next = ListerPhase::Ahead;
                        self.state.d.next = ListerState::Keep;
                    }
                }
            }
            ListerState::Keep => {
                self.kept.write_enable.next = true;
                self.kept_fresh.d.next = self.fresh.q.val();
                self.kept_region.d.next = self.region.q.val();
                self.copied.d.next = self.copied.q.val() + 1;
                if self.copied.q.val() + 1 == self.head.q.val().sets {
                    self.state.d.next = ListerState::RegionRead;
                }
            }
            ListerState::Recall => {
                self.places.write_enable.next = true;
                self.places.write_data.next = self.kept.read_data[0].val();
                self.fresh.d.next = self.kept_fresh.q.val();
                self.region.d.next = self.kept_region.q.val();
                self.set.d.next =
                    self.head.q.val().first_set + bit_cast::<11, 5>(self.kept_region.q.val());
                self.over.d.next = false;
                self.copied.d.next = self.copied.q.val() + 1;
                self.phase.d.next = ListerPhase::Give;
                if self.copied.q.val() + 1 == self.head.q.val().sets {
                    self.state.d.next = ListerState::RegionRead;
                }
            }
            ListerState::Last => {
                // Nothing is left of the destination.
                self.wanted.task.next = DESTINATION.into();
                self.state.d.next = ListerState::Settle;
                if !self.giving.q.val() {
                    self.state.d.next = ListerState::AskVerdict;
                } else if self.some.q.val() {
                    self.wanted.valid.next = true;
                    if !self.wanted.ready.val() {
                        self.state.d.next = ListerState::Last;
                    }
                }
            }
            ListerState::AskVerdict => {
                self.wanted.task.next = VERDICT.into();
                self.wanted.valid.next = true;
                if self.wanted.ready.val() {
                    self.state.d.next = ListerState::Verdict;
                }
            }
            ListerState::Verdict => {
                if self.judged.val() {
                    self.state.d.next = ListerState::Settle;
                    if self.unequal.q.val() && self.joint.val() {
                        self.failure.d.next = OPERATION.into();
                        self.state.d.next = ListerState::Finish;
                    } else if self.too_long.val() {
                        self.failure.d.next = LENGTH.into();
                        self.state.d.next = ListerState::Finish;
                    } else if self.joint.val() && (self.phase.q.val() == ListerPhase::Check) {
                        self.phase.d.next = ListerPhase::Measure;
                        self.region.d.next = 0.into();
                        self.set.d.next = self.head.q.val().first_set;
                        self.fresh.d.next = 0xffff.into();
                        self.units.d.next = 0.into();
                        self.over.d.next = false;
                        self.state.d.next = ListerState::RegionRead;
                    }
                }
            }
            ListerState::Settle => {
                if self.quiet.val() {
                    self.index.d.next = self.index.q.val() + 1;
                    self.state.d.next = ListerState::DestRead;
                    if self.index.q.val() + 1 == self.dests.val() {
                        self.index.d.next = 0.into();
                        self.giving.d.next = true;
                        if self.giving.q.val() {
                            self.index.d.next = self.index.q.val();
                            self.state.d.next = ListerState::Finish;
                        }
                    }
                }
            }
            ListerState::Finish => {
                if self.quiet.val() {
                    self.done.next = true;
                    self.state.d.next = ListerState::Idle;
                }
            }
        }
        // What leads nowhere ends it, between rows.
        if self.refused.val()
            && ((self.state.q.val() == ListerState::RegionRead)
                || (self.state.q.val() == ListerState::Seek)
                || (self.state.q.val() == ListerState::Verdict)
                || (self.state.q.val() == ListerState::Settle))
        {
            self.state.d.next = ListerState::Finish;
        }
        if self.rst.val() {
            self.state.d.next = ListerState::Idle;
        }
    }
}
