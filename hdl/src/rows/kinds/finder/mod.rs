//! Finds the rows of a region.

mod ahead;
mod blocks;
mod chains;
mod kernel;
mod rows;

use super::chaser::{Chaser, Linked};
use super::record::Ask;
use super::trail::Trail;
use crate::layout::kept::KeptRecord;
use crate::primitive::{Fifo, FirstSet, Flatten, Lutram, Ram, Restore};
use crate::request::SetKinds;
use crate::rows::sequencer::tables::{Bounds, SetInfo};
use crate::shell::host_read::{HostReadBeat, HostReadRequest};
use drdma_emit::prelude::*;

/// Bytes of a pointer.
const POINTER: u64 = 8;
/// Binary logarithm of the lines of 64 bytes of a list that are read at once.
const LOG_LINES: usize = 3;
const LINES_SHIFT: u64 = LOG_LINES as u64;
const LIST_WINDOW: u64 = 64 << LOG_LINES;
const LOG_WINDOW: u64 = 6 + LOG_LINES as u64;
/// Binary logarithm of the two-byte ids of a window.
const LOG_WIDE_WINDOW: u64 = LOG_WINDOW - 1;
/// Bits of the number of a window of 512 B in its list.
const WINDOW: usize = 30 - LOG_LINES;
/// Bits of the number of a slot, which keeps a window.
const SLOT: usize = 9 - LOG_LINES;
const SLOT_SHIFT: u64 = SLOT as u64;
/// Number of windows of the current list that are asked for ahead of the window that the walk is in.
const AHEAD: u64 = 16;
/// Number of destinations, the current one included, whose lists may be asked for before they are walked: half the
/// slots, so that a list of as many windows does not take their slots. The other half is for the next request.
pub const LISTS: u64 = 1 << (SLOT - 1);
/// Number of windows that are kept.
pub const SLOTS: u64 = 1 << SLOT;

/// State of the finder.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum FinderState {
    /// Finds rows in the blocks that were read.
    Flow,
    /// Asks for a record's pointer.
    Ask,
    /// Waits for the record's pointer.
    Come,
    /// The window or pointer could not be read; the finder stays in this state until the next request.
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
    /// Rows of the block before, or a record of its chain, are left in `word`.
    pub known: Bit,
    /// With `known`: the bits of the rows that are left, or the pointer of the next record.
    pub word: Bits<64>,
    /// Number of records of the chain before the next one.
    pub before: Bits<25>,
}

/// Bits of a [`Place`].
pub const PLACE_BITS: usize = <Place as Synth>::BITS;

/// The turn behind the current one, of a destination that shares the region.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct NextTurn {
    /// The turn is known, and the walk may go on with it when all blocks before `stop` were read.
    pub known: Bit,
    /// Id whose rows are selected.
    pub partition: Bits<16>,
    /// Its first block of ids.
    pub block: Bits<33>,
}

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
/// With `ahead`, blocks are looked through one a cycle, ahead of the rows that are taken: a row takes a cycle then, or a
/// pointer 2, and blocks with rows follow each other without a gap. Without `ahead`, a block is looked at only after the
/// rows of the block before were taken, so that `place` is the position of the walk when a row was taken; a row takes 2
/// cycles then, and a block 4.
///
/// 64 windows of 512 B of lists are kept. The next 16 windows of the current list are asked for, one in three cycles,
/// while rows of those before are found; a window takes a cycle beside its blocks. With `peek`, and then `looks` until
/// `looked`, the first window of another region's list is asked for ahead of its walk. All windows may be under way at
/// once. One that cannot be read counts only when the walk comes to it. Ids that are made from keys are asked for by
/// their rows, with the request's slot. With `of_next` these windows are the next
/// request's: the next `clear` keeps them, unless `forget` comes before it.
///
/// With `behind`, blocks of the next turn are read as soon as all blocks of the current one were. Its rows are offered
/// once the turn `passes`, in the next cycle if they were found by then.
///
/// Chains are followed 64 at once with `ahead` ([`Chaser`]). With `keeps` as well, their records are kept, `RECORDS` of
/// a request at most ([`Trail`]), and from then on rows of the region are taken from there. Records that are not kept
/// take a read each without `ahead`, one after the other.
///
/// # Inputs
/// `clk`, `rst`; `clear`: a request begins; `set`, `request`, `info`, `kinds`, `bounds`, `reach`, `skip`, `partition`
/// and `by_lane` of the current region, and `base` with `upper`, which may change while `busy` and `on` are low; `open`
/// with `from`; `peek`, `looks`, `of_next`; `forget`; `stop`; `behind`, `passes`; `ahead`, `keeps`; `on`: rows are
/// wanted; `halt`; `take`; `line`, `linked`.
///
/// # Outputs
/// `valid` with `row`, `at`, `rest`, `lane`, `pointer`; `bad`, in place of `valid`: the next row leads nowhere; `dry`
/// and `list_dry`: there is no further row; `ran_on`; `place`; streams `read`, `link_read`; flow `record`; `looked`; `evicts`;
/// `busy`; `pending`.
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
    /// Slot of the request.
    pub request: Signal<In, Bits<8>>,
    /// Entry of the set.
    pub info: Signal<In, SetInfo>,
    /// Properties of the set that only sets with kinds have.
    pub kinds: Signal<In, SetKinds>,
    /// Range of the set's valid pointers.
    pub bounds: Signal<In, Bounds>,
    /// Bytes of a record up to the end of its last lane; see [`Plan::reach`](super::record::Plan::reach).
    pub reach: Signal<In, Bits<7>>,
    /// Bytes of a record before its first lane; see [`Plan::skip`](super::record::Plan::skip).
    pub skip: Signal<In, Bits<6>>,
    /// Id whose rows are selected, where the region has ids.
    pub partition: Signal<In, Bits<16>>,
    /// Slot of the list's first window, unless it has ids; each other window is kept in the slot before.
    pub base: Signal<In, Bits<SLOT>>,
    /// All windows are kept half of the slots further on.
    pub upper: Signal<In, Bit>,
    /// Every lane of the region is a unit.
    pub by_lane: Signal<In, Bit>,
    /// The walk of the region begins or continues in this cycle.
    pub open: Signal<In, Bit>,
    /// With `open`: position from which the walk continues, unless `fresh`.
    pub from: Signal<In, Place>,
    /// With `open`: the walk begins at the region's first row.
    pub fresh: Signal<In, Bit>,
    /// The region is only looked at from the next cycle on, and no walk is open.
    pub peek: Signal<In, Bit>,
    /// After `peek`: the first window of the region's list is asked for.
    pub looks: Signal<In, Bit>,
    /// With `looks`: the window is asked for; or there is no list, no slot is free for the window, or it is kept
    /// already.
    pub looked: Signal<Out, Bit>,
    /// With `looks`: the region is one of the next request.
    pub of_next: Signal<In, Bit>,
    /// The next request is another one than that whose regions were looked at with `of_next`.
    pub forget: Signal<In, Bit>,
    /// A window that was asked for with `of_next` loses its slot.
    pub evicts: Signal<Out, Bit>,
    /// Row before which the walk ends, a cycle ahead; it is the first one of a block. After `ran_on`, that of the next
    /// turn.
    pub stop: Signal<In, Bits<33>>,
    /// The turn that follows, only with ids and with `ahead`. Its partition is held from `ran_on` until it passes.
    pub behind: Signal<In, NextTurn>,
    /// The next turn begins: `ran_on` is high, and the current turn has no further row.
    pub passes: Signal<In, Bit>,
    /// Blocks of the next turn are being read.
    pub ran_on: Signal<Out, Bit>,
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
    /// The same, of a region that has no chains: it comes earlier in its cycle.
    pub list_dry: Signal<Out, Bit>,
    /// Position of the walk; valid without `ahead`.
    pub place: Signal<Out, Place>,
    /// Reads of lists, and of pointers to further records.
    pub read: Stream<Out, Ask>,
    /// Answers of the reads of `read`.
    pub line: Flow<In, HostReadBeat>,
    /// Reads of pointers to further records, of many chains, or of records with these.
    pub link_read: Stream<Out, HostReadRequest>,
    /// Answers of the reads of `link_read`, in their order.
    pub linked: Flow<In, Linked>,
    /// Records that were read with their pointers.
    pub record: Flow<Out, KeptRecord>,
    /// A read of a chain is under way.
    pub busy: Signal<Out, Bit>,
    /// A read of a list is under way.
    pub pending: Signal<Out, Bit>,

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

    // The block that is read next.
    block: DFF<Bits<33>>,
    /// The block is one of the next turn; so for the other blocks, and for the row.
    block_behind: DFF<Bit>,
    /// The walk goes on with the blocks of the next turn.
    runs_on: Signal<Local, Bit>,
    /// All blocks of the turn were read.
    is_end: Signal<Local, Bit>,
    /// The next turn begins in the window of the current one.
    stays: Signal<Local, Bit>,
    /// The first block behind the region's rows; valid with `rows`.
    rows_end: DFF<Bits<33>>,
    /// The first block from `stop` on.
    stop_end: DFF<Bits<33>>,
    more: Signal<Local, Bit>,
    line_number: Signal<Local, Bits<30>>,
    window: Signal<Local, Bits<WINDOW>>,
    /// The block is the last one of its window.
    ends_window: Signal<Local, Bit>,
    wants: Signal<Local, Bit>,
    issues: Signal<Local, Bit>,
    lines: Ram<512, 1, 9>,
    /// The read is for a record's pointer to the next record.
    links: DFF<Bit>,
    asked_addr: DFF<Bits<64>>,

    // Windows by slots: a window was asked for and has not come, is present, or could not be read.
    asked: DFF<Bits<64>>,
    present: DFF<Bits<64>>,
    failed: DFF<Bits<64>>,
    asked_new: Signal<Local, Bits<64>>,
    present_new: Signal<Local, Bits<64>>,
    failed_new: Signal<Local, Bits<64>>,
    /// Slots whose windows were asked for with `of_next`.
    early: DFF<Bits<64>>,
    tags: Lutram<TAG_BITS, SLOT, 2>,
    tag_in: Flatten<Tag, TAG_BITS>,
    tag_new: Signal<Local, Tag>,
    /// Number of slots by which `upper` moves windows.
    half: Signal<Local, Bits<SLOT>>,
    /// Slot of the list's first window; valid from the cycle after `open` or `peek` on.
    first_slot: DFF<Bits<SLOT>>,
    // The window of the next block.
    slot: Signal<Local, Bits<SLOT>>,
    tag: Restore<Tag, TAG_BITS>,
    is_tagged: Signal<Local, Bit>,
    hits: Signal<Local, Bit>,
    is_unread: Signal<Local, Bit>,
    is_lost: Signal<Local, Bit>,
    /// Slots that have windows.
    in_use: Signal<Local, Bits<64>>,
    /// The window of the next block was found to be present.
    seen: DFF<Bit>,
    /// The window of the next block could not be read.
    unread: DFF<Bit>,
    /// Another list's window has taken the slot of the next block's window.
    lost: DFF<Bit>,
    // The window that is looked up, to be asked for in the next cycle if it is not kept.
    run: DFF<Bits<WINDOW>>,
    run_slot: Signal<Local, Bits<SLOT>>,
    run_tag: Restore<Tag, TAG_BITS>,
    run_waits: DFF<Bit>,
    run_known: DFF<Bit>,
    /// The window was looked up in the cycle before.
    run_found: DFF<Bit>,
    /// The window may be asked for in this cycle.
    run_wanted: DFF<Bit>,
    run_lead: Signal<Local, Bits<SLOT>>,
    looks_up: Signal<Local, Bit>,
    behind_run: Signal<Local, Bits<36>>,
    list_rest: Signal<Local, Bits<36>>,
    // The window that is asked for.
    asks: DFF<Bit>,
    /// `run` is still the window that is asked for: no other region was opened or looked at since.
    ask_counts: DFF<Bit>,
    ask_set: DFF<Bits<11>>,
    ask_window: DFF<Bits<WINDOW>>,
    ask_slot: DFF<Bits<SLOT>>,
    ask_early: DFF<Bit>,
    ask_addr: DFF<Bits<64>>,
    ask_bytes: DFF<Bits<13>>,
    ask_made: DFF<Bit>,
    ask_wide: DFF<Bit>,
    ask_request: DFF<Bits<8>>,
    asks_link: Signal<Local, Bit>,
    goes: Signal<Local, Bit>,
    // Reads under way: slot of the window, or bit 6 for a record's pointer.
    under_way: Fifo<7, 6, 7>,
    links_come: Signal<Local, Bit>,
    came_slot: Signal<Local, Bits<SLOT>>,
    arrived: DFF<Bits<LOG_LINES>>,
    torn: DFF<Bit>,
    is_torn: Signal<Local, Bit>,
    ends: Signal<Local, Bit>,
    unused_free: Signal<Local, Bits<7>>,

    // The block whose line is read.
    read_valid: DFF<Bit>,
    read_block: DFF<Bits<33>>,
    read_behind: DFF<Bit>,
    /// Id whose rows are selected in this block.
    wanted_id: Signal<Local, Bits<16>>,
    read_moves: Signal<Local, Bit>,
    line_now: Signal<Local, Bits<512>>,
    picked: Signal<Local, Bits<64>>,
    start_mask: Signal<Local, Bits<64>>,
    // The next block, whose rows wait until those of the current block have left.
    next_valid: DFF<Bit>,
    next_word: DFF<Bits<64>>,
    next_block: DFF<Bits<33>>,
    next_behind: DFF<Bit>,
    next_leaves: Signal<Local, Bit>,
    // The current block: one of its rows leaves in each cycle.
    known: DFF<Bit>,
    word: DFF<Bits<64>>,
    /// `word` has rows: kept, because much depends on it.
    has_rows: DFF<Bit>,
    word_from: Signal<Local, Bits<64>>,
    /// `word` without the next row.
    word_behind_row: Signal<Local, Bits<64>>,
    word_block: DFF<Bits<33>>,
    word_behind: DFF<Bit>,
    passed: DFF<Bits<25>>,
    lowest: FirstSet<64, 6>,
    found: Signal<Local, Bits<33>>,
    over: Signal<Local, Bit>,
    /// No row of the current block is left after this cycle; only with `ahead`, and not for pointers.
    empties: Signal<Local, Bit>,
    /// The next block becomes the current one.
    loads: Signal<Local, Bit>,
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
    is_list_dry: Signal<Local, Bit>,
    is_dry: Signal<Local, Bit>,

    // The row that is offered.
    row_valid: DFF<Bit>,
    row_bad: DFF<Bit>,
    row_behind: DFF<Bit>,
    /// A row of the current turn is offered.
    has_row: Signal<Local, Bit>,
    row_at: DFF<Bits<33>>,
    row_lane: DFF<Bits<4>>,
    row_pointer: DFF<Bits<64>>,
    next_lane: DFF<Bits<4>>,
    last_lane: Signal<Local, Bit>,
    unused: Signal<Local, Bit>,
}
