//! Finds the rows of a region.

use super::chaser::{Chaser, Linked};
use super::trail::Trail;
use crate::primitive::{FirstSet, Flatten, Lutram, Ram, Restore};
use crate::request::{BITMAPPED, CONTIGUOUS, POINTER_MAPPED, SetKinds};
use crate::rows::sequencer::tables::{Bounds, SetInfo};
use crate::shell::host_read::{HostReadBeat, HostReadRequest};
use drdma_emit::prelude::*;

/// Bytes of a pointer.
const POINTER: u64 = 8;
/// Binary logarithm of the lines of 64 bytes of a list that are read at once.
const LOG_LINES: usize = 5;
const LINES_SHIFT: u64 = LOG_LINES as u64;
const LIST_WINDOW: u64 = 64 << LOG_LINES;
const LOG_WINDOW: u64 = 6 + LOG_LINES as u64;
/// Bits of the number of a window of 2 KiB in its list.
const WINDOW: usize = 30 - LOG_LINES;

/// State of the finder.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum FinderState {
    /// Finds rows in what was read.
    Flow,
    /// Asks for a window of a list, or for a record's pointer.
    Ask,
    /// Waits for the answer.
    Come,
    /// The window or pointer could not be read; until the next request.
    Unread,
}

/// Position of the walk over a region.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Place {
    /// Number of the next block: 64 bits or one-byte ids, 32 two-byte ids, or one pointer. In a region without a list,
    /// the next row.
    pub block: Bits<33>,
    /// Next lane, where every lane is a unit.
    pub lane: Bits<4>,
    /// Something is left of the block before, in `word`.
    pub known: Bit,
    /// With `known`: the bits of the rows that are left, or the pointer of the next record.
    pub word: Bits<64>,
    /// Number of records of the chain before the next one.
    pub before: Bits<25>,
}

/// Bits of a [`Place`].
pub const PLACE_BITS: usize = <Place as Synth>::BITS;

/// The window of a list that is kept in a slot.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
struct Tag {
    /// Set of the list.
    set: Bits<11>,
    /// Number of the window in its list.
    window: Bits<WINDOW>,
}

/// Bits of a [`Tag`].
const TAG_BITS: usize = <Tag as Synth>::BITS;

/// Finds the rows of a region for the lister; see the [module above](super).
///
/// With `ahead`, blocks are looked through one a cycle, ahead of the rows that are taken: a row takes a cycle then, and
/// a block with rows one more, or a pointer 2. Without `ahead`, a block is looked at only after the rows of the block
/// before were taken, so that `place` is the position of the walk when a row was taken; a row takes 2 cycles then, and
/// a block 4. 16 windows of 2 KiB of lists are kept. Each other window takes a read.
///
/// Chains are followed 64 at once with `ahead` ([`Chaser`]). With `keeps` as well, their records are kept, `RECORDS` of
/// a request at most ([`Trail`]), and from then on rows of the region are taken from there. Records that are not kept
/// take a read each without `ahead`, one after the other.
///
/// # Inputs
/// `clk`, `rst`; `clear`: a request begins; `set`, `info`, `kinds`, `bounds`, `partition` and `by_lane` of
/// the region at hand, which may change while `busy` and `on` are low; `open` with `from`; `ahead`, `keeps`; `on`: rows
/// are wanted; `halt`; `take`; `line`, `linked`.
///
/// # Outputs
/// `valid` with `row`, `at`, `rest`, `lane`, `pointer`; `bad`, in place of `valid`: the next row leads nowhere; `dry`: there
/// is no further row; `place`; streams `read`, `link_read`; `busy`.
#[derive(LogicBlock, BlockDefault)]
pub struct Finder<const RECORDS: usize> {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// A request begins.
    pub clear: Signal<In, Bit>,
    /// Lane set of the region.
    pub set: Signal<In, Bits<11>>,
    /// Entry of the set.
    pub info: Signal<In, SetInfo>,
    /// Properties of the set that only sets with kinds have.
    pub kinds: Signal<In, SetKinds>,
    /// Range of the set's valid pointers.
    pub bounds: Signal<In, Bounds>,
    /// Id whose rows are selected, where the region has ids.
    pub partition: Signal<In, Bits<16>>,
    /// Every lane of the region is a unit.
    pub by_lane: Signal<In, Bit>,
    /// The walk of the region begins or continues in this cycle.
    pub open: Signal<In, Bit>,
    /// With `open`: position from which the walk continues, unless `fresh`.
    pub from: Signal<In, Place>,
    /// With `open`: the walk begins at the region's first row.
    pub fresh: Signal<In, Bit>,
    /// Rows may be found before those before them are taken.
    pub ahead: Signal<In, Bit>,
    /// With `ahead`: records of chains are kept.
    pub keeps: Signal<In, Bit>,
    /// Rows are wanted.
    pub on: Signal<In, Bit>,
    /// No further row is wanted until `clear`.
    pub halt: Signal<In, Bit>,
    /// A row is offered.
    pub valid: Signal<Out, Bit>,
    /// The row is taken in this cycle.
    pub take: Signal<In, Bit>,
    /// Number of the row; 0 for a record behind a pointer.
    pub row: Signal<Out, Bits<32>>,
    /// With a bitmap: number of the row's bit, from the first byte on. With ids: number of the row.
    pub at: Signal<Out, Bits<33>>,
    /// Number of rows behind this one in its region.
    pub rest: Signal<Out, Bits<33>>,
    /// With `by_lane`: lane of the row.
    pub lane: Signal<Out, Bits<4>>,
    /// Pointer of the record; 0 if there is none.
    pub pointer: Signal<Out, Bits<64>>,
    /// The next row leads nowhere, or could not be read.
    pub bad: Signal<Out, Bit>,
    /// There is no further row; valid while `on`.
    pub dry: Signal<Out, Bit>,
    /// Position of the walk; valid without `ahead`.
    pub place: Signal<Out, Place>,
    /// Reads of lists, and of pointers to further records, one at a time.
    pub read: Stream<Out, HostReadRequest>,
    /// Answers of these reads.
    pub line: Flow<In, HostReadBeat>,
    /// Reads of pointers to further records, of many chains.
    pub link_read: Stream<Out, HostReadRequest>,
    /// Answers of these reads, in their order.
    pub linked: Flow<In, Linked>,
    /// A read is under way.
    pub busy: Signal<Out, Bit>,

    state: DFF<FinderState>,
    /// The region has a list: bits, ids or pointers.
    is_bits: Signal<Local, Bit>,
    is_ids: Signal<Local, Bit>,
    is_pointers: Signal<Local, Bit>,
    is_chain: Signal<Local, Bit>,
    has_list: Signal<Local, Bit>,
    /// Number of rows, or of bits of the bitmap from its first byte on; valid from the cycle after `open` on.
    rows: DFF<Bits<33>>,
    rows_new: Signal<Local, Bits<33>>,
    /// Bytes of the list; valid from the cycle after `open` on.
    list_bytes: DFF<Bits<36>>,
    /// Bits of the last block that count, a cycle later.
    end_mask: DFF<Bits<64>>,
    last_block: DFF<Bits<33>>,
    #[init(Constant::new(u64::MAX.into()))]
    ones_64: Constant<Bits<64>>,

    // The block that comes next.
    block: DFF<Bits<33>>,
    first_row: Signal<Local, Bits<33>>,
    more: Signal<Local, Bit>,
    line_number: Signal<Local, Bits<30>>,
    window: Signal<Local, Bits<WINDOW>>,
    slot: Signal<Local, Bits<4>>,
    tags: Lutram<TAG_BITS, 4, 1>,
    tag_in: Flatten<Tag, TAG_BITS>,
    tag: Restore<Tag, TAG_BITS>,
    tag_new: Signal<Local, Tag>,
    has: DFF<Bits<16>>,
    hits: Signal<Local, Bit>,
    wants: Signal<Local, Bit>,
    issues: Signal<Local, Bit>,
    lines: Ram<512, 1, 9>,
    arrived: DFF<Bits<LOG_LINES>>,
    behind_window: Signal<Local, Bits<36>>,
    list_rest: Signal<Local, Bits<36>>,
    /// The read is for a record's pointer to the next record.
    links: DFF<Bit>,
    asked_addr: DFF<Bits<64>>,
    asked_bytes: DFF<Bits<13>>,

    // The line of the block is read.
    read_valid: DFF<Bit>,
    read_block: DFF<Bits<33>>,
    read_moves: Signal<Local, Bit>,
    line_now: Signal<Local, Bits<512>>,
    picked: Signal<Local, Bits<64>>,
    start_mask: Signal<Local, Bits<64>>,
    // The rows of the next block, while those of the block at hand are not over.
    next_valid: DFF<Bit>,
    next_word: DFF<Bits<64>>,
    next_block: DFF<Bits<33>>,
    next_leaves: Signal<Local, Bit>,
    // The block at hand: one of the rows that are left of it leaves in each cycle.
    known: DFF<Bit>,
    word: DFF<Bits<64>>,
    word_block: DFF<Bits<33>>,
    passed: DFF<Bits<25>>,
    lowest: FirstSet<64, 6>,
    found: Signal<Local, Bits<33>>,
    over: Signal<Local, Bit>,
    chain_ends: Signal<Local, Bit>,
    may_find: Signal<Local, Bit>,
    outside: Signal<Local, Bit>,

    // Chains that are followed at once, and records that were kept.
    chaser: Chaser,
    chases: Signal<Local, Bit>,
    trail: Trail<RECORDS>,
    replays: DFF<Bit>,
    /// A record was read from the trail.
    record_valid: DFF<Bit>,
    record_wanted: Signal<Local, Bit>,
    row_free: Signal<Local, Bit>,
    is_dry: Signal<Local, Bit>,

    // The row that is offered.
    row_valid: DFF<Bit>,
    row_bad: DFF<Bit>,
    row_at: DFF<Bits<33>>,
    row_lane: DFF<Bits<4>>,
    row_pointer: DFF<Bits<64>>,
    next_lane: DFF<Bits<4>>,
    last_lane: Signal<Local, Bit>,
    unused: Signal<Local, Bit>,
}

impl<const RECORDS: usize> Logic for Finder<RECORDS> {
    #[hdl_gen]
    fn update(&mut self) {
        self.is_ids.next = self.info.val().ids.any();
        self.is_bits.next = (self.info.val().kind == BITMAPPED) && !self.is_ids.val();
        self.is_pointers.next = self.info.val().kind == POINTER_MAPPED;
        self.is_chain.next = self.is_pointers.val() && self.kinds.val().chase;
        self.has_list.next = self.is_ids.val() || self.is_bits.val() || self.is_pointers.val();
        self.unused.next = self.info.val().fetch
            || self.info.val().made
            || self.info.val().starts.any()
            || self.info.val().row_bytes.any()
            || self.kinds.val().pd.any();

        // Chains.
        self.chases.next = self.is_chain.val() && self.ahead.val() && !self.replays.q.val();
        self.row_free.next = !self.row_valid.q.val() || self.take.val();
        self.chaser.clear.next = self.clear.val();
        self.chaser.halt.next = self.halt.val();
        self.chaser.mark.next = self.kinds.val().period_or_end;
        self.chaser.limit.next = self.kinds.val().limit;
        self.chaser.link.next = self.kinds.val().link;
        self.chaser.low.next = self.bounds.val().low;
        self.chaser.high.next = self.bounds.val().high;
        self.chaser.never.next = self.bounds.val().never;
        self.chaser.head.valid.next = self.next_valid.q.val() && self.on.val() && self.chases.val();
        self.chaser.head.pointer.next = self.next_word.q.val();
        self.chaser.linked.valid.next = self.linked.valid.val();
        self.chaser.linked.next = self.linked.val();
        self.chaser.read.join(&mut self.link_read);
        self.chaser.found.ready.next = self.chases.val() && self.row_free.val();
        self.trail.clear.next = self.clear.val();
        self.trail.set.next = self.set.val();
        self.trail.opens.next = self.open.val()
            && self.is_chain.val()
            && self.ahead.val()
            && self.keeps.val()
            && !self.trail.kept.val();
        self.trail.put.next = self.chaser.found.valid.val()
            && !self.chaser.found.bad.val()
            && self.chases.val()
            && self.row_free.val();
        self.trail.pointer.next = self.chaser.found.pointer.val();
        self.trail.at.next = self.block.q.val();
        self.record_wanted.next = self.replays.q.val()
            && self.on.val()
            && self.trail.more.val()
            && ((self.ahead.val() && (!self.record_valid.q.val() || self.row_free.val()))
                || (!self.row_valid.q.val() && !self.record_valid.q.val()));
        self.trail.read.next = self.record_wanted.val();

        // The number of rows.
        self.rows_new.next = bit_cast::<33, 32>(self.info.val().count);
        if self.info.val().kind == CONTIGUOUS {
            self.rows_new.next = 1.into();
        }
        self.list_bytes.d.next = bit_cast::<36, 33>(self.rows_new.val()) << 3;
        if self.is_bits.val() {
            self.rows_new.next = bit_cast::<33, 32>(self.info.val().count)
                + bit_cast::<33, 3>(self.kinds.val().first);
            self.list_bytes.d.next = (bit_cast::<36, 33>(self.rows_new.val()) + 7) >> 3;
        } else if self.is_ids.val() {
            self.list_bytes.d.next = bit_cast::<36, 33>(self.rows_new.val());
            if self.info.val().ids.get_bit(1) {
                self.list_bytes.d.next = bit_cast::<36, 33>(self.rows_new.val()) << 1;
            }
        }
        self.rows.d.next = self.rows_new.val();
        if (self.info.val().count == 0) && (self.info.val().kind != CONTIGUOUS) {
            self.rows.d.next = 0.into();
        }
        self.last_block.d.next = self.rows.q.val() >> 6;
        self.end_mask.d.next =
            !(self.ones_64.val() << bit_cast::<6, 6>(self.rows.q.val().get_bits::<6>(0)));

        // Where the next block lies.
        self.first_row.next = self.block.q.val();
        self.line_number.next = self.block.q.val().get_bits::<30>(3);
        if self.is_ids.val() {
            self.line_number.next = self.block.q.val().get_bits::<30>(0);
        }
        if self.is_bits.val() || self.is_ids.val() {
            self.first_row.next = self.block.q.val() << 6;
        }
        if self.info.val().ids.get_bit(1) {
            self.first_row.next = self.block.q.val() << 5;
            self.last_block.d.next = self.rows.q.val() >> 5;
            self.end_mask.d.next =
                !(self.ones_64.val() << bit_cast::<6, 5>(self.rows.q.val().get_bits::<5>(0)));
        }
        self.more.next = self.first_row.val() < self.rows.q.val();
        self.window.next = self.line_number.val().get_bits::<WINDOW>(LOG_LINES);
        self.slot.next = self.set.val().get_bits::<4>(0) ^ self.window.val().get_bits::<4>(0);
        self.tags.read_address[0].next = self.slot.val();
        self.tag.bits.next = self.tags.read_data[0].val();
        self.hits.next = self.has.q.val().get_bit(self.slot.val().index())
            && (self.tag.record.val().set == self.set.val())
            && (self.tag.record.val().window == self.window.val());
        self.tag_new.next.set = self.set.val();
        self.tag_new.next.window = self.window.val();
        self.tag_in.record.next = self.tag_new.val();
        self.tags.write_address.next = self.slot.val();
        self.tags.write_data.next = self.tag_in.bits.val();
        self.tags.write_enable.next = false;
        self.behind_window.next = bit_cast::<36, WINDOW>(self.window.val()) << LOG_WINDOW;
        self.list_rest.next = self.list_bytes.q.val() - self.behind_window.val();

        // The block at hand, and the next one.
        self.over.next = (!self.known.q.val() && !self.links.q.val())
            || (!self.is_pointers.val() && !self.lowest.any.val());
        self.next_leaves.next = self.next_valid.q.val()
            && self.on.val()
            && (!self.chases.val() || self.chaser.head.ready.val())
            && (self.over.val() || (!self.is_pointers.val() && !self.next_word.q.val().any()));
        self.read_moves.next =
            self.read_valid.q.val() && (!self.next_valid.q.val() || self.next_leaves.val());
        self.wants.next = self.on.val()
            && (self.state.q.val() == FinderState::Flow)
            && self.has_list.val()
            && !self.replays.q.val()
            && self.more.val()
            && (self.ahead.val()
                || (!self.row_valid.q.val()
                    && self.over.val()
                    && !self.read_valid.q.val()
                    && !self.next_valid.q.val()));
        self.issues.next = self.wants.val()
            && self.hits.val()
            && (!self.read_valid.q.val() || self.read_moves.val());
        self.lines.read_enable.next = self.issues.val();
        self.lines.read_address.next = (bit_cast::<9, 4>(self.slot.val()) << LINES_SHIFT)
            | bit_cast::<9, LOG_LINES>(self.line_number.val().get_bits::<LOG_LINES>(0));
        self.lines.write_address.next = (bit_cast::<9, 4>(self.slot.val()) << LINES_SHIFT)
            | bit_cast::<9, LOG_LINES>(self.arrived.q.val());
        self.lines.write_data.next = self.line.data.val();
        self.lines.write_lanes.next = 0.into();
        self.line_now.next = self.lines.read_data.val();

        // Wanted rows of a block: 64 bits, or the ids of a line compared, which are 64 or 32 rows; for pointers the
        // word itself.
        self.picked.next = self.line_now.val().get_bits::<64>(
            bit_cast::<9, 3>(self.read_block.q.val().get_bits::<3>(0)).index() * 64,
        );
        if self.is_ids.val() {
            self.picked.next = 0.into();
            for k in 0..64 {
                if self.line_now.val().get_bits::<8>(8 * k) == self.partition.val().get_bits::<8>(0)
                {
                    self.picked.next = self.picked.val().replace_bit(k, true);
                }
            }
            if self.info.val().ids.get_bit(1) {
                self.picked.next = 0.into();
                for k in 0..32 {
                    if self.line_now.val().get_bits::<16>(16 * k) == self.partition.val() {
                        self.picked.next = self.picked.val().replace_bit(k, true);
                    }
                }
            }
        }
        self.start_mask.next = self.ones_64.val();
        if self.is_bits.val() && !self.read_block.q.val().any() {
            self.start_mask.next = self.ones_64.val() << bit_cast::<6, 3>(self.kinds.val().first);
        }
        if !self.is_pointers.val() && (self.read_block.q.val() == self.last_block.q.val()) {
            self.start_mask.next = self.start_mask.val() & self.end_mask.q.val();
        }

        // Blocks advance.
        if self.read_moves.val() || self.next_leaves.val() {
            self.next_valid.d.next = self.read_moves.val();
        }
        if self.read_moves.val() {
            self.next_word.d.next = self.picked.val() & self.start_mask.val();
            self.next_block.d.next = self.read_block.q.val();
        }
        if self.issues.val() || self.read_moves.val() {
            self.read_valid.d.next = self.issues.val();
        }
        if self.issues.val() {
            self.read_block.d.next = self.block.q.val();
            self.block.d.next = self.block.q.val() + 1;
        }

        // A row leaves its block.
        self.lowest.bits.next = self.word.q.val();
        self.found.next =
            (self.word_block.q.val() << 6) | bit_cast::<33, 6>(self.lowest.index.val());
        if self.info.val().ids.get_bit(1) {
            self.found.next =
                (self.word_block.q.val() << 5) | bit_cast::<33, 6>(self.lowest.index.val());
        }
        self.chain_ends.next =
            self.is_chain.val() && (self.word.q.val() == self.kinds.val().period_or_end);
        self.outside.next = self.bounds.val().never
            || (self.word.q.val() < self.bounds.val().low)
            || (self.word.q.val() > self.bounds.val().high);
        self.last_lane.next = !self.by_lane.val()
            || (bit_cast::<5, 4>(self.next_lane.q.val()) + 1 == self.info.val().lanes);
        self.may_find.next = self.on.val()
            && !self.chases.val()
            && !self.replays.q.val()
            && (self.state.q.val() == FinderState::Flow)
            && (!self.row_valid.q.val() || (self.ahead.val() && self.take.val()));
        if self.take.val() {
            self.row_valid.d.next = false;
        }
        if self.next_leaves.val() && self.over.val() && !self.chases.val() {
            self.known.d.next = true;
            self.word.d.next = self.next_word.q.val();
            self.word_block.d.next = self.next_block.q.val();
            self.passed.d.next = 0.into();
        }
        // Records come from many chains at once, or are those that were kept.
        if self.chases.val() && self.row_free.val() && self.chaser.found.valid.val() {
            self.row_valid.d.next = true;
            self.row_bad.d.next = self.chaser.found.bad.val();
            self.row_pointer.d.next = self.chaser.found.pointer.val();
        }
        if self.record_valid.q.val() && self.row_free.val() {
            self.record_valid.d.next = false;
            self.row_valid.d.next = true;
            self.row_bad.d.next = false;
            self.row_pointer.d.next = self.trail.record.val();
        }
        if self.record_wanted.val() {
            self.record_valid.d.next = true;
            self.block.d.next = self.block.q.val() + 1;
        }
        self.read.valid.next = false;
        self.read.addr.next = self.asked_addr.q.val();
        self.read.bytes.next = self.asked_bytes.q.val();
        match self.state.q.val() {
            FinderState::Flow => {
                self.arrived.d.next = 0.into();
                self.asked_addr.d.next =
                    self.info.val().addr + bit_cast::<64, 36>(self.behind_window.val());
                self.asked_bytes.d.next = bits::<13>(1) << LOG_WINDOW;
                if self.list_rest.val() < LIST_WINDOW {
                    self.asked_bytes.d.next = self.list_rest.val().get_bits::<13>(0);
                }
                self.links.d.next = false;
                if self.wants.val() && !self.hits.val() {
                    self.state.d.next = FinderState::Ask;
                }
                if self.may_find.val() {
                    self.row_bad.d.next = false;
                    self.row_pointer.d.next = 0.into();
                    self.row_lane.d.next = self.next_lane.q.val();
                    self.row_at.d.next = self.block.q.val();
                    if !self.has_list.val() {
                        self.row_valid.d.next = self.more.val();
                        if self.more.val() {
                            self.next_lane.d.next = self.next_lane.q.val() + 1;
                            if self.last_lane.val() {
                                self.next_lane.d.next = 0.into();
                                self.block.d.next = self.block.q.val() + 1;
                            }
                        }
                    } else if !self.is_pointers.val() {
                        self.row_at.d.next = self.found.val();
                        self.row_valid.d.next = !self.over.val();
                        if !self.over.val() {
                            self.word.d.next = self.word.q.val() & (self.word.q.val() - 1);
                        }
                    } else if self.known.q.val() {
                        // See `over`: what follows a record comes after its chain has ended.
                        self.row_pointer.d.next = self.word.q.val();
                        self.row_bad.d.next = self.outside.val();
                        self.row_valid.d.next = true;
                        self.known.d.next = false;
                        if self.chain_ends.val() {
                            self.row_valid.d.next = false;
                        } else if self.is_chain.val() {
                            // If this is a record, its pointer to the next one is read.
                            self.links.d.next = true;
                            self.asked_addr.d.next =
                                self.word.q.val() + bit_cast::<64, 32>(self.kinds.val().link);
                            self.asked_bytes.d.next = POINTER.into();
                            self.state.d.next = FinderState::Ask;
                            if self.passed.q.val() == self.kinds.val().limit {
                                self.row_bad.d.next = true;
                            }
                            if self.row_bad.d.val() {
                                self.state.d.next = FinderState::Flow;
                            }
                        }
                    }
                }
            }
            FinderState::Ask => {
                self.read.valid.next = true;
                if self.read.ready.val() {
                    self.state.d.next = FinderState::Come;
                }
            }
            FinderState::Come => {
                if self.line.valid.val() {
                    self.arrived.d.next = self.arrived.q.val() + 1;
                    if self.links.q.val() {
                        self.known.d.next = true;
                        self.word.d.next = self.line.data.val().get_bits::<64>(0);
                        self.passed.d.next = self.passed.q.val() + 1;
                    } else {
                        self.lines.write_lanes.next = 1.into();
                        self.tags.write_enable.next = self.line.last.val();
                    }
                    if self.line.last.val() {
                        self.state.d.next = FinderState::Flow;
                        if !self.links.q.val() {
                            self.has.d.next =
                                self.has.q.val().replace_bit(self.slot.val().index(), true);
                        }
                    }
                    if self.line.error.val() {
                        self.tags.write_enable.next = false;
                        self.has.d.next = self.has.q.val();
                        self.state.d.next = FinderState::Unread;
                    }
                }
            }
            FinderState::Unread => {
                // Until the next request.
                self.known.d.next = false;
            }
        }

        if self.open.val() {
            self.replays.d.next = self.is_chain.val() && self.trail.kept.val();
            self.record_valid.d.next = false;
            self.row_valid.d.next = false;
            self.read_valid.d.next = false;
            self.next_valid.d.next = false;
            self.block.d.next = self.from.val().block;
            self.next_lane.d.next = self.from.val().lane;
            self.known.d.next = self.from.val().known;
            self.word.d.next = self.from.val().word;
            self.word_block.d.next = self.from.val().block - 1;
            self.passed.d.next = self.from.val().before;
            if self.fresh.val() {
                self.block.d.next = 0.into();
                self.next_lane.d.next = 0.into();
                self.known.d.next = false;
            }
        }
        if self.clear.val() {
            self.has.d.next = 0.into();
            self.row_valid.d.next = false;
            self.state.d.next = FinderState::Flow;
        }

        self.valid.next = self.row_valid.q.val() && !self.row_bad.q.val();
        self.bad.next = (self.row_valid.q.val() && self.row_bad.q.val())
            || (!self.row_valid.q.val()
                && (self.state.q.val() == FinderState::Unread)
                && (!self.chases.val()
                    || (!self.read_valid.q.val()
                        && !self.next_valid.q.val()
                        && self.chaser.empty.val())));
        self.is_dry.next = self.on.val()
            && (self.state.q.val() == FinderState::Flow)
            && !self.row_valid.q.val()
            && !self.more.val()
            && (!self.has_list.val()
                || (self.over.val() && !self.read_valid.q.val() && !self.next_valid.q.val()))
            && (!self.chases.val() || self.chaser.empty.val());
        if self.replays.q.val() {
            self.is_dry.next = self.on.val()
                && !self.row_valid.q.val()
                && !self.record_valid.q.val()
                && !self.trail.more.val();
        }
        self.dry.next = self.is_dry.val();
        self.trail.finish.next = self.is_dry.val();
        self.row.next = self.row_at.q.val().get_bits::<32>(0);
        if self.is_bits.val() {
            self.row.next =
                self.row_at.q.val().get_bits::<32>(0) - bit_cast::<32, 3>(self.kinds.val().first);
        } else if self.is_pointers.val() {
            self.row.next = 0.into();
        }
        self.at.next = self.row_at.q.val();
        self.rest.next = self.rows.q.val() - 1 - self.row_at.q.val();
        self.lane.next = self.row_lane.q.val();
        self.pointer.next = self.row_pointer.q.val();
        self.place.next.block = self.block.q.val();
        self.place.next.lane = self.next_lane.q.val();
        self.place.next.known = self.known.q.val();
        self.place.next.word = self.word.q.val();
        self.place.next.before = self.passed.q.val();
        self.busy.next = (self.state.q.val() == FinderState::Ask)
            || (self.state.q.val() == FinderState::Come)
            || self.chaser.busy.val();
        if self.rst.val() {
            self.state.d.next = FinderState::Flow;
            self.row_valid.d.next = false;
            self.read_valid.d.next = false;
            self.next_valid.d.next = false;
            self.known.d.next = false;
            self.record_valid.d.next = false;
            self.replays.d.next = false;
        }
    }
}
