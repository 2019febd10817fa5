//! Finds the rows of a region.

mod blocks;
mod chains;
mod kernel;
mod rows;

use super::chaser::{Chaser, Linked};
use super::trail::Trail;
use crate::primitive::{FirstSet, Flatten, Lutram, Ram, Restore};
use crate::request::SetKinds;
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
/// the region at hand, which may change while `busy` and `on` are low; `open` with `from`; `stop`; `ahead`, `keeps`;
/// `on`: rows are wanted; `halt`; `take`; `line`, `linked`.
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
    /// There is no further row from this one on, which is the first one of a block.
    pub stop: Signal<In, Bits<33>>,
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
