//! Walks the rows of a request's regions, and asks for the groups of lanes of each row.

mod columns;
mod destinations;
mod kept;
mod kernel;
mod positions;
mod regions;
mod rows;
mod state;
mod stream;
mod turns;

use super::chaser::Linked;
use super::finder::{Finder, PLACE_BITS, Place};
use super::giver::TOTAL;
use super::record::{Ask, Lead, PLAN_BITS, Plan, Wanted};
use crate::layout::kept::KeptRecord;
use crate::primitive::{FirstSet, Flatten, Lutram, Multiplier, Ram, Restore};
use crate::request::{DEST_COUNT, DEST_INDEX, SetKinds};
use crate::rows::sequencer::tables::{Bounds, DestInfo, SetInfo};
use crate::shell::host_read::{HostReadBeat, HostReadRequest};
use columns::VALUE_COUNT;
use drdma_abi::completion::Status;
use drdma_emit::prelude::*;
pub use state::{ListerPhase, ListerState};

const PROTECTION: u64 = Status::LocalProtectionError as u64;
const OPERATION: u64 = Status::LocalQpOperationError as u64;
const LENGTH: u64 = Status::LocalLengthError as u64;
/// Largest [`Wanted::rest`].
pub const MOST_REST: u64 = 2047;
/// Bit that is set in sums of more bytes than a message can have; such sums do not change any more.
const FULL: usize = 32;

/// Rows of a region whose bits are in lines that were asked for, counted as [`Finder::at`] counts them.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
struct Loaded {
    /// Number of the region.
    region: Bits<4>,
    /// Number of rows of the region.
    count: Bits<32>,
    /// Bit of the region's first row in the first byte of its bitmap.
    first: Bits<3>,
    /// Lanes of the region that are bits.
    bits: Bits<16>,
    /// First of the rows.
    low: Bits<33>,
    /// The first row of the next block.
    high: Bits<33>,
    /// The second lines of the next block were asked for as well.
    third: Bit,
}

/// Largest number of regions of a destination whose lines of bits are asked for while another request is sent: half of
/// the four regions whose lines are kept.
const NEXT_REGIONS: u64 = 2;
/// Bits of a [`Loaded`].
const LOADED_BITS: usize = <Loaded as Synth>::BITS;
/// Binary logarithm of the rows of a block.
const LOG_BLOCK: u64 = 9;
/// Numbers of the lines that are asked for with a block; see [`LOAD`](super::record::LOAD).
const SECOND: u64 = 1;
const THIRD: u64 = 2;
/// Bit of the number of a block's rows: with so many, a round trip is longer than what they take.
const LOG_DENSE: usize = 7;

/// State of a destination's walk that is kept while other destinations have their turns.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
struct Standing {
    /// Units of the message so far.
    units: Bits<32>,
    /// The destination has had units.
    some: Bit,
    /// Bytes of the message for which no entry is asked for.
    sum: Bits<33>,
}

/// Bits of a [`Standing`].
const STANDING_BITS: usize = <Standing as Synth>::BITS;

/// What the head of a destination's turn names; see [`HEAD`](super::record::HEAD).
#[derive(Copy, Clone, Debug, PartialEq, Record)]
struct Turn {
    /// Place of the destination in the ring of destinations.
    place: Bits<10>,
    /// Binary logarithm of its path MTU.
    log_mtu: Bits<4>,
    /// Its messages are WRITEs.
    is_write: Bit,
    /// It is of type UD.
    is_ud: Bit,
    /// It has had a turn of this walk.
    goes_on: Bit,
    /// Destinations take turns.
    turns: Bit,
    /// The turn is the first one of a chunk.
    starts_chunk: Bit,
}

/// Binary logarithm of the least number of rows of a chunk where rows are sent. A chunk has 64 to 1,024 rows.
const LEAST_LOG_CHUNK: u64 = 6;
/// Number of sizes that a chunk can have.
const CHUNKS: usize = 5;
/// Binary logarithm of the most rows of a chunk if rows have bits: a block, whose lines are then asked for once.
const MOST_LOG_BITS: u64 = LOG_BLOCK;

/// Binary logarithm of the number of rows of a chunk where rows are judged.
const CHECK_LOG_CHUNK: u64 = 9;
/// The same, at most, where their values are kept: the order of these is that of sending.
const KEPT_LOG_CHUNK: u64 = 8;
/// Largest number of rows of a region of a request that is judged while another one is sent.
const MOST_AHEAD: u64 = 1 << 16;
/// Binary logarithm of the least number of a chunk's rows for each destination: with fewer rows, turns would take
/// longer than the rows themselves.
const LOG_ROWS_OF_TURN: u64 = 2;
/// Cycles after which all that depends on the current destination is known.
const SETTLED: u64 = 3;
/// Largest number of destinations that take turns where rows are judged.
const MOST_CHECK_TURNS: u64 = 1 << (CHECK_LOG_CHUNK - LOG_ROWS_OF_TURN);

/// Lists the lanes that are wanted of each row; see the [module above](super).
///
/// A row takes a cycle for each group of its lanes that is asked for, at least one. So does a unit with an element of
/// several regions if the regions have the same rows (one list, from the same bit on); else the unit takes 3 more
/// cycles for each region. To find whether the regions have the same rows takes a destination 3 cycles for each region.
/// Where rows are judged whose values are not kept, only those groups are asked for whose entries can lead nowhere or
/// whose lengths vary: `Wanted::row` of a message has the bytes of the others. When the first walk of a destination's
/// region begins, it takes a cycle for each lane and 4 more, unless the destination before had the same region. A turn
/// of a destination takes one more cycle if it has at least as many rows as blocks of ids, and 3 at least. The first turn
/// of a request, one before which the lists of the next request are looked at, and those of the last chunk take 7, and up
/// to one for each block of ids that are all of others.
///
/// The first windows of the lists of the first 32 destinations are asked for before the first walk, in 5 cycles each,
/// and one more list at the beginning of each destination. Only the list of a destination's first region is asked for.
/// This ends at the first destination that has no list, or whose list has ids, which all destinations share. When all
/// destinations of a request are judged, those of the next request are asked for instead, if it is known by then and
/// neither request has more than 32 destinations. So are the first lines of bits of the next request's first
/// destination, if no destination of both has more than two regions: that takes a cycle for each lane, two for each
/// lane of bits, and 6 for each region.
///
/// # Inputs
/// `clk`, `rst`; `start`, `request_slot`, `dests`, `first_dest`; `next_valid`, `next_slot`, `next_dests`,
/// `next_first_dest`, `forget`; `dest_info`,
/// `set_info`, `bounds`, `set_kinds`, each a cycle after it was asked for; `plan_done` with `plan`; `refused`,
/// `refused_dest`, `too_long`, `kept`, `total`, `quiet`; `line`, `linked`; `full`, `has_room`, `room_for_rows`,
/// `least_rows`, `sent`.
///
/// # Outputs
/// `dest_read`, `set_read`; streams `wanted`, `read`, `link_read`; flow `record`; `pd`; `clears`; `streams`; `send`
/// with `marks`, `merges`, `lead`; `done` with `status`, `bad_dest`.
#[derive(LogicBlock, BlockDefault)]
pub struct Lister<const RECORDS: usize> {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// A request is to be walked.
    pub start: Signal<In, Bit>,
    /// Slot of the request.
    pub request_slot: Signal<In, Bits<8>>,
    /// Number of destinations of the request.
    pub dests: Signal<In, Bits<DEST_COUNT>>,
    /// Place of the first destination in the ring of destinations.
    pub first_dest: Signal<In, Bits<10>>,
    /// The next request is known.
    pub next_valid: Signal<In, Bit>,
    /// With `next_valid`: its slot.
    pub next_slot: Signal<In, Bits<8>>,
    /// With `next_valid`: its number of destinations.
    pub next_dests: Signal<In, Bits<DEST_COUNT>>,
    /// With `next_valid`: place of its first destination in the ring of destinations.
    pub next_first_dest: Signal<In, Bits<10>>,
    /// That request is not walked.
    pub forget: Signal<In, Bit>,
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
    /// Lanes that are wanted, and the beginnings and ends of destinations and the ends of messages.
    pub wanted: Stream<Out, Wanted>,
    /// The plan that was asked for is made.
    pub plan_done: Signal<In, Bit>,
    /// The plan.
    pub plan: Signal<In, Plan>,
    /// Reads of lists, and of pointers to further records of one chain at a time.
    pub read: Stream<Out, Ask>,
    /// Answers of these reads.
    pub line: Flow<In, HostReadBeat>,
    /// Reads of pointers to further records, of many chains, or of records with these.
    pub link_read: Stream<Out, HostReadRequest>,
    /// Answers of these reads, in their order.
    pub linked: Flow<In, Linked>,
    /// Records that were read with their pointers.
    pub record: Flow<Out, KeptRecord>,
    /// An entry leads nowhere, or a message is too long; held until the next `start`.
    pub refused: Signal<In, Bit>,
    /// With `refused`: place of the destination in the ring of destinations.
    pub refused_dest: Signal<In, Bits<10>>,
    /// With `refused`: a message is too long.
    pub too_long: Signal<In, Bit>,
    /// The lengths of all messages that were judged are kept; valid while `quiet`.
    pub kept: Signal<In, Bit>,
    /// Bytes of all messages that were judged; valid while `quiet`.
    pub total: Signal<In, Bits<TOTAL>>,
    /// Nothing is under way: no wanted lane, read, value or token.
    pub quiet: Signal<In, Bit>,
    /// Protection domain of the request's keys.
    pub pd: Signal<Out, Bits<32>>,
    /// A request begins to be judged, perhaps anew.
    pub clears: Signal<Out, Bit>,
    /// There is no room for the values of the request that is judged.
    pub full: Signal<In, Bit>,
    /// There is room for more values of the request that is judged.
    pub has_room: Signal<In, Bit>,
    /// Number of rows whose values may have room.
    pub room_for_rows: Signal<In, Bits<33>>,
    /// Least number of rows of a region whose values are kept.
    pub least_rows: Signal<In, Bits<33>>,
    /// The request that was judged is sent from what was kept of it.
    pub send: Signal<Out, Bit>,
    /// The request that is judged is sent before all of it is judged.
    pub streams: Signal<Out, Bit>,
    /// With `send`: rows are sent in chunks that fit a window of the placer.
    pub marks: Signal<Out, Bit>,
    /// With `marks`: binary logarithm of the number of chunks that such a chunk consists of.
    pub merges: Signal<Out, Bits<4>>,
    /// With `send`: the group of fixed width with which each row begins, if it was not asked for.
    pub lead: Signal<Out, Lead>,
    /// From the cycle after `send` on: all tokens have left.
    pub sent: Signal<In, Bit>,
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

    // Values that are kept as they are judged, and a request that is judged before its start.
    /// All values that were judged so far are kept.
    keeps: DFF<Bit>,
    /// The same, with what is known of the current destination.
    keeps_now: Signal<Local, Bit>,
    /// All groups of the destination are asked for where it is judged.
    asks_all: DFF<Bit>,
    keeping: Signal<Local, Bit>,
    /// The first group of a row of the current destination, which is not asked for where values are kept.
    lead_now: Signal<Local, Lead>,
    /// That of all destinations so far, if there was one with rows.
    lead_of_all: DFF<Lead>,
    has_lead: DFF<Bit>,
    /// The first group of each row is not asked for.
    leads: Signal<Local, Bit>,
    /// Groups are asked for that are sent, or are kept to be sent.
    gives: Signal<Local, Bit>,
    /// The request that is judged has not been started.
    ahead: DFF<Bit>,
    ahead_slot: DFF<Bits<8>>,
    ahead_dests: DFF<Bits<DEST_COUNT>>,
    ahead_first: DFF<Bits<10>>,
    dests_now: Signal<Local, Bits<DEST_COUNT>>,
    first_now: Signal<Local, Bits<10>>,
    begins_ahead: Signal<Local, Bit>,
    begins: Signal<Local, Bit>,
    /// A request is sent from what was kept of it.
    sending: DFF<Bit>,
    ends_sent: Signal<Local, Bit>,
    /// The request that is judged ahead is not judged any further.
    abandons: DFF<Bit>,
    /// The next request was abandoned: it is judged when it starts, and not kept.
    hopeless: DFF<Bit>,
    /// The request that is judged was abandoned before its start.
    was_hopeless: DFF<Bit>,

    // A request that is sent before all of it is judged.
    streaming: DFF<Bit>,
    /// It is being sent.
    is_sent: DFF<Bit>,
    /// The request that is sent is, or was, such a request.
    streamed: DFF<Bit>,
    /// The rows of the destination need not be judged before they are sent, if messages are not too long.
    is_flat: Signal<Local, Bit>,
    /// The next request is to be looked at.
    may_look: Signal<Local, Bit>,
    /// It is looked at before the first destination has its next turn.
    looks_between: Signal<Local, Bit>,
    /// It is looked at before the walk of the only destination.
    looks_first: Signal<Local, Bit>,
    /// Then the walk goes on.
    returns: DFF<Bit>,
    /// The rows of all destinations before may be sent before they are judged.
    suits: DFF<Bit>,
    /// The same, with the current one.
    suits_now: Signal<Local, Bit>,
    /// At least half of the first chunk's rows are sent.
    dense: DFF<Bit>,
    /// Bytes of a row of fixed width and bits.
    whole_row: DFF<Bits<33>>,
    #[init(Multiplier::new(1))]
    message: Multiplier<13, 10, 23>,
    /// A message of the destination fits a packet.
    fits_packet: DFF<Bit>,
    /// The values of the region are kept only if they are sent as they are judged.
    is_large: Signal<Local, Bit>,
    /// Bytes of which the size of a chunk is made.
    total_now: DFF<Bits<TOTAL>>,
    may_stop: Signal<Local, Bit>,
    is_long: Signal<Local, Bit>,
    /// Something has failed where destinations are judged in turns: all are judged anew, one after the other.
    restarts: Signal<Local, Bit>,
    /// The walk has ended, and nothing of it was under way in the cycle before.
    rests: DFF<Bit>,
    /// Binary logarithm of the rows of a chunk that would have fitted the last request in turns.
    log_last: DFF<Bits<4>>,
    log_kept: Signal<Local, Bits<4>>,
    /// Destination whose list is asked for.
    scout: DFF<Bits<DEST_COUNT>>,
    scout_after: Signal<Local, Bits<DEST_COUNT>>,
    scout_dests: Signal<Local, Bits<DEST_COUNT>>,
    scout_first: Signal<Local, Bits<10>>,
    end_next: Signal<Local, Bit>,
    /// Lists of the next request are asked for.
    for_next: DFF<Bit>,
    /// Lists of the next request were asked for.
    has_next: DFF<Bit>,
    /// These lists may not be kept any more.
    evicted: DFF<Bit>,
    /// Half of the finder's slots, and of the places of lines of bits, that the request uses; the next request uses the
    /// other half.
    upper: DFF<Bit>,
    /// The half that is used in this cycle.
    upper_now: DFF<Bit>,
    /// Only one list is asked for before the next walk.
    is_one: DFF<Bit>,
    /// More destinations have lists than those that were asked for.
    has_more: DFF<Bit>,
    is_listed: Signal<Local, Bit>,
    looks: Signal<Local, Bit>,
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

    // Turns of destinations, in chunks of rows that all of them have.
    turns: DFF<Bit>,
    /// Destinations are judged without turns, because some have failed.
    plainly: DFF<Bit>,
    /// The destinations of the request share the current region, whose rows have ids.
    shares: Signal<Local, Bit>,
    /// The first destination that is judged has its first turn.
    starts: Signal<Local, Bit>,
    next_index: Signal<Local, Bits<DEST_COUNT>>,
    last_dest: Signal<Local, Bit>,
    #[init(Constant::new(0x1_ffff_ffff.into()))]
    no_stop: Constant<Bits<33>>,
    /// First row of the chunk.
    chunk: DFF<Bits<33>>,
    /// First row of the next chunk, from the cycle after `chunk` is set on.
    chunk_end: DFF<Bits<33>>,
    log_chunk: DFF<Bits<4>>,
    last_chunk: Signal<Local, Bit>,
    /// The next destination has its turn.
    passes: Signal<Local, Bit>,
    /// With `passes`: the finder goes on at once.
    reopens: Signal<Local, Bit>,
    /// With `passes`: the finder has gone on, and the head of the turn was asked for.
    runs_on: Signal<Local, Bit>,
    /// The turn whose head is asked for.
    turn: Signal<Local, Turn>,
    /// Cycles since a turn passed, up to [`SETTLED`].
    since: DFF<Bits<2>>,
    /// The next destination was read, and what depends on the current one is known.
    settled: Signal<Local, Bit>,
    /// The next turn is known to the finder.
    knows_next: Signal<Local, Bit>,
    /// The next destination has had a turn in this walk.
    goes_on: Signal<Local, Bit>,
    standings: Ram<STANDING_BITS, 1, DEST_INDEX>,
    standing_in: Flatten<Standing, STANDING_BITS>,
    standing_new: Signal<Local, Standing>,
    standing: Restore<Standing, STANDING_BITS>,
    /// Number of rows that are sent.
    selected: DFF<Bits<33>>,
    /// Bytes of these rows in all if each of them filled a chunk.
    room: DFF<Bits<TOTAL>>,
    most_total: [Signal<Local, Bits<TOTAL>>; CHUNKS],
    most_dests: [Signal<Local, Bits<11>>; CHUNKS],
    many: Signal<Local, Bit>,
    fits: DFF<Bit>,
    log_new: DFF<Bits<4>>,

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
    /// Positions in the regions at the beginning of the current message.
    kept_places: Lutram<PLACE_BITS, 4, 1>,
    kept_fresh: DFF<Bits<16>>,
    kept_region: DFF<Bits<5>>,
    copied: DFF<Bits<5>>,
    place_index: Signal<Local, Bits<4>>,

    // Plans of the regions: groups of lanes, and the bytes of a row.
    plans: Lutram<PLAN_BITS, 4, 2>,
    plan_behind: Restore<Plan, PLAN_BITS>,
    region_behind: Signal<Local, Bits<4>>,
    groups_behind: Signal<Local, Bits<16>>,
    first_behind: Signal<Local, Bits<4>>,
    is_last_behind: Signal<Local, Bit>,
    unused_plan: Signal<Local, Bit>,
    plan_in: Flatten<Plan, PLAN_BITS>,
    plan_out: Restore<Plan, PLAN_BITS>,
    plan_now: Signal<Local, Plan>,
    planned: DFF<Bits<16>>,
    planned_set: DFF<Bits<11>>,
    lane: DFF<Bits<4>>,
    last_of_set: Signal<Local, Bit>,
    /// Groups of a row to be asked for, each by its first lane.
    groups: DFF<Bits<16>>,
    groups_new: Signal<Local, Bits<16>>,
    first_new: Signal<Local, Bits<4>>,
    is_last_new: Signal<Local, Bit>,
    /// First of these groups.
    first_group: DFF<Bits<4>>,
    /// Current group.
    group: DFF<Bits<4>>,
    /// Groups behind the first one, and behind the current one.
    first_left: DFF<Bits<16>>,
    left: DFF<Bits<16>>,
    left_new: Signal<Local, Bits<16>>,
    left_after: Signal<Local, Bits<16>>,
    left_behind: Signal<Local, Bits<16>>,
    following: FirstSet<16, 4>,
    /// No group is behind the current one.
    is_last: DFF<Bit>,
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
    /// Places whose lines were asked for the next request.
    has_early: DFF<Bits<4>>,
    load_lanes: Signal<Local, Bits<16>>,
    /// Regions whose lanes of bits, rows and first bits are those of the lines that were asked for last.
    same: DFF<Bits<16>>,
    is_loaded: Signal<Local, Bit>,
    /// The lines of the region's first block are asked for before its walk.
    preloads: DFF<Bit>,
    /// After the region's plan: the survey of all regions continues.
    surveys_on: Signal<Local, Bit>,
    lacks: Signal<Local, Bit>,
    /// The row is in the block behind the one whose lines were asked for.
    is_next: Signal<Local, Bit>,
    block_end: Signal<Local, Bits<33>>,
    /// Lanes of bits whose lines are still to be asked for.
    bits_left: DFF<Bits<16>>,
    /// Which lines of the block are asked for; see [`LOAD`](super::record::LOAD).
    line_number: DFF<Bits<2>>,
    /// Number of rows since lines were asked for; not more than fit.
    block_rows: DFF<Bits<8>>,
    /// There were so many that the lines of further blocks are asked for a block ahead.
    runs_ahead: Signal<Local, Bit>,
    /// Third lines are asked for.
    has_third: Signal<Local, Bit>,
    /// A line of the block has been asked for.
    has_begun: DFF<Bit>,
    lowest_bits: FirstSet<16, 4>,
    /// Number of the unit's bits that do not fill a byte yet.
    carry: DFF<Bits<3>>,
    carry_new: Signal<Local, Bits<3>>,
    lead_bits: Signal<Local, Bits<5>>,
    bit_bytes: DFF<Bits<5>>,
    lead_bits_up: Signal<Local, Bits<5>>,
    row_bytes: DFF<Bits<33>>,
    /// Bytes of the message for which no entry is asked for.
    sum: DFF<Bits<33>>,
    sum_new: Signal<Local, Bits<33>>,

    // Messages by columns.
    /// The walk takes the rows of each message once for each column.
    columns: Signal<Local, Bit>,
    /// The current column is not the first one of its message.
    later_column: Signal<Local, Bit>,
    /// Number of the column in its message.
    column: DFF<Bits<VALUE_COUNT>>,
    /// Some unit has a value in a further column.
    has_further: DFF<Bit>,
    /// Number of values of the unit's elements before the current one.
    number_before: DFF<Bits<VALUE_COUNT>>,
    /// Number of the column's value in the current element, a cycle later, and the one before.
    number: DFF<Bits<VALUE_COUNT>>,
    number_less: Signal<Local, Bits<5>>,
    /// Lane of which the value is the first one, or the second one, as one bit of all lanes'.
    first_found: Signal<Local, Bits<16>>,
    second_found: Signal<Local, Bits<16>>,
    /// Lane that has the value.
    lanes_found: Signal<Local, Bits<16>>,
    lane_found: FirstSet<16, 4>,
    value_part: DFF<Bits<2>>,
    /// The element is a lane that has two values.
    is_pair: Signal<Local, Bit>,
    /// Number of values of the current element, and of the unit up to this element.
    element_values: Signal<Local, Bits<VALUE_COUNT>>,
    numbers_so_far: Signal<Local, Bits<VALUE_COUNT>>,
    /// The current element has a value in the column.
    has_value: Signal<Local, Bit>,
    /// Messages of some destination go by columns: the destinations take no turns.
    some_columns: DFF<Bit>,

    // Units and messages.
    counted: DFF<Bits<37>>,
    first_count: DFF<Bits<37>>,
    unequal: DFF<Bit>,
    /// Units of the message so far.
    units: DFF<Bits<32>>,
    units_new: Signal<Local, Bits<32>>,
    /// Units that the message had when it was measured.
    measured: DFF<Bits<32>>,
    target: Signal<Local, Bits<32>>,
    complete: Signal<Local, Bit>,
    /// The destination has had units.
    some: DFF<Bit>,
    /// The destination has no more rows.
    over: DFF<Bit>,
    unused: Signal<Local, Bit>,
}
