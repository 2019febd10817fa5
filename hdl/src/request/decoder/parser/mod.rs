//! The decoder's state machine: takes one granule a cycle, and makes every check that needs no memory region.

mod kernel;
mod state;
#[cfg(test)]
mod tests;

use super::fields::Fields;
use super::keys::{Keys, Spans};
use super::named::Named;
use super::slice::word_in_granule;
use crate::context::{QP, QUEUE};
use crate::layout::windows::FETCH_BITS;
use crate::primitive::Multiplier;
use crate::request::{
    AddressWrite, DEST_COUNT, DEST_INDEX, FunctionWrite, KeyWrite, LaneKind, Part, SetKinds,
};
use drdma_abi::receive::{AtomicOperands, ReliableOpcode};
use drdma_abi::work_request::{Element, RegionHeader, RegionShape};
use drdma_emit::prelude::*;
pub use state::DecoderState;

/// Codes of `ask`: none, READ, compare and swap, fetch and add, which are the low bits of their opcodes.
pub const ASKS: [u8; 3] = [
    ReliableOpcode::Read as u8 & 3,
    ReliableOpcode::CompareAndSwap as u8 & 3,
    ReliableOpcode::FetchAndAdd as u8 & 3,
];
/// Bytes that a READ or an atomic has in place of a payload: its operands.
pub const ASK_BYTES: u64 = AtomicOperands::SIZE as u64;
/// Bytes that represent a payload of no bytes.
const EMPTY_BYTES: u64 = 1;

/// Cycles from a destination's partition to the first one of its id.
const FIRST_STAGES: usize = 2;

/// Walks the granules of work queue entries.
///
/// Every granule takes one cycle (an element with a kind has two), but an entry's head and its first destination, or
/// its address, one together, unless the request is partitioned, or cut off there, and a payload in the entry is taken
/// whole, unless an address comes before it; a destination takes one more, a pointer-mapped region three more, a
/// contiguous one two more where it is one of several under row mask Element, an entry up to two more, a partitioned
/// one three. It stops while there is no room for a destination or a set, and before a request's first destination, or
/// the region that a partitioned request shares, until the request before has left the bounds check.
///
/// # Inputs
/// `clk`, `rst`; `granule_*` of the unpacker; `queue_*` and `qp_*`, what the tables say of `queue`
/// and `qp`; `settled`, `may_open`, `set_space`, `dest_space` of [`Requests`](super::Requests);
/// `target_done` of the bounds check.
///
/// # Outputs
/// `take`, `skip`; `open` pulse with `wr_id`, `position`, `unsignaled`; `dest_accept` pulse with what a destination
/// has; `check_*`, one bounds check; `element_*`, one lane, with `told_inline` the payload's last part; `finish` pulse
/// with the request's failure.
#[derive(LogicBlock, BlockDefault)]
pub struct Parser {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,

    /// A granule is offered.
    pub granule_valid: Signal<In, Bit>,
    /// The granule.
    pub granule_data: Signal<In, Bits<128>>,
    /// Words of 32 bits of the granule that are not 0, a bit each.
    pub granule_words: Signal<In, Bits<4>>,
    /// The granule is its block's first one.
    pub granule_first: Signal<In, Bit>,
    /// The granule is its block's last one.
    pub granule_last: Signal<In, Bit>,
    /// Queue of the granule's block.
    pub granule_queue: Signal<In, Bits<QUEUE>>,
    /// Position of the granule's block in its queue.
    pub granule_position: Signal<In, Bits<32>>,
    /// Blocks of the batch from the granule's block on.
    pub granule_remaining: Signal<In, Bits<17>>,
    /// The granule's block could not be read.
    pub granule_error: Signal<In, Bit>,
    /// The granule's block is the first one of a turn.
    pub granule_begins: Signal<In, Bit>,
    /// With `granule_parted`: which part of its message the granule's entry stands for.
    pub granule_part: Signal<In, Part>,
    /// The granule's entry is sent in parts, as its block says.
    pub granule_parted: Signal<In, Bit>,
    /// The rest of the granule's block; valid with the block's first granule.
    pub granule_rest: Signal<In, Bits<384>>,
    /// The granule is taken.
    pub take: Signal<Out, Bit>,
    /// The rest of the granule's block is dropped with it.
    pub skip: Signal<Out, Bit>,

    /// The value of `queue` in the next cycle.
    pub next_queue: Signal<Out, Bits<QUEUE>>,
    /// The entry's queue.
    pub queue: Signal<Out, Bits<QUEUE>>,
    /// The entry's queue is a shared one.
    pub queue_shared: Signal<In, Bit>,
    /// The entry's queue has an owner.
    pub queue_owned: Signal<In, Bit>,
    /// With `queue_owned`: the queue pair that owns the queue.
    pub queue_owner: Signal<In, Bits<QP>>,
    /// The entry's queue is halted.
    pub queue_halted: Signal<In, Bit>,
    /// The value of `qp` in the next cycle.
    pub next_qp: Signal<Out, Bits<QP>>,
    /// The destination's queue pair.
    pub qp: Signal<Out, Bits<QP>>,
    /// The destination's queue pair was made ready.
    pub qp_ready: Signal<In, Bit>,
    /// The destination's queue pair is in the error state.
    pub qp_error: Signal<In, Bit>,
    /// Transport of the destination's queue pair.
    pub qp_transport: Signal<In, Bits<2>>,
    /// Binary logarithm of that queue pair's MTU in bytes.
    pub qp_log_mtu: Signal<In, Bits<4>>,
    /// That queue pair may have READs and atomics outstanding.
    pub qp_asks: Signal<In, Bit>,

    /// The request before is settled, and if it has failed, its queue is stopped.
    pub settled: Signal<In, Bit>,
    /// A request may be opened.
    pub may_open: Signal<In, Bit>,
    /// There is room for a set.
    pub set_space: Signal<In, Bit>,
    /// There is room for a destination.
    pub dest_space: Signal<In, Bit>,
    /// There is room for the destinations of a WRITE by columns.
    pub column_space: Signal<In, Bit>,

    /// The request is opened.
    pub open: Signal<Out, Bit>,
    /// The application's name for the request.
    pub wr_id: Signal<Out, Bits<64>>,
    /// Ring position of the request's first block.
    pub position: Signal<Out, Bits<32>>,
    /// No completion is written if the request succeeds.
    pub unsignaled: Signal<Out, Bit>,
    /// A destination is accepted.
    pub dest_accept: Signal<Out, Bit>,
    /// Number of the destination's sets.
    pub dest_sets: Signal<Out, Bits<5>>,
    /// In a partitioned request: the id of the destination's rows.
    pub partition: Signal<Out, Bits<16>>,
    /// The request is partitioned: elements are those of its one set.
    pub partitioned: Signal<Out, Bit>,
    /// The request's fetch plan; means nothing if the request fails.
    pub fetch: Signal<Out, Bits<FETCH_BITS>>,
    /// Opcode of the request.
    pub opcode: Signal<Out, Bits<2>>,
    /// Immediate data of the request, or the key that a SEND with invalidate names.
    pub imm: Signal<Out, Bits<32>>,
    /// Remote address of the destination, or of its column.
    pub remote_addr: Signal<Out, Bits<64>>,
    /// Remote key of the destination, or of its column.
    pub rkey: Signal<Out, Bits<32>>,
    /// The values of the destination's messages go column by column, to one remote address if they have any; with
    /// `dest_accept`.
    pub column_order: Signal<Out, Bit>,
    /// The destination is one of a WRITE by columns; with `dest_accept`, and until the request before is settled.
    pub by_columns: Signal<Out, Bit>,
    /// With `by_columns`: the destination is not the request's first one.
    pub later: Signal<Out, Bit>,
    /// The remote address of one of the destination's columns is given.
    pub column_accept: Signal<Out, Bit>,
    /// With `column_accept`: the column is the destination's last one.
    pub column_last: Signal<Out, Bit>,
    /// Number of destinations that the request's head names.
    pub column_dests: Signal<Out, Bits<DEST_COUNT>>,
    /// Columns of a WRITE by columns; else 0.
    pub columns: Signal<Out, Bits<5>>,
    /// Transport of the destination's queue pair.
    pub transport: Signal<Out, Bits<2>>,
    /// Binary logarithm of the MTU of the destination's queue pair.
    pub log_mtu: Signal<Out, Bits<4>>,
    /// The request's row mask is `Element`.
    pub element_mask: Signal<Out, Bit>,
    /// Units of a message of the request.
    pub rows_per_message: Signal<Out, Bits<32>>,
    /// The element is the inline payload, whose last part is taken.
    pub told_inline: Signal<Out, Bit>,
    /// Granules of an inline payload that are offered, a bit each: all four of the block, or only the granule.
    pub inline_parts: Signal<Out, Bits<4>>,

    /// The request is a READ or an atomic: one of [`ASKS`].
    pub ask: Signal<Out, Bits<2>>,
    /// The request waits for the READs and atomics before it.
    pub fenced: Signal<Out, Bit>,
    /// The last packets of the request's messages ask for a solicited event.
    pub solicited: Signal<Out, Bit>,
    /// The request makes the remote key in `imm` invalid.
    pub invalidates: Signal<Out, Bit>,
    /// The inline payload has no bytes.
    pub empty: Signal<Out, Bit>,
    /// Where the request's datagrams go, if it names an address; `slot`, and a `ttl` of 0, are still to be filled in.
    pub address: Signal<Out, AddressWrite>,
    /// A region of a READ or an atomic; its bytes are `element_base` and `element_len`.
    pub piece_valid: Signal<Out, Bit>,
    /// With `piece_valid`: number of the region.
    pub piece_index: Signal<Out, Bits<4>>,
    /// The element stands for a READ or an atomic, which has no payload.
    pub told_ask: Signal<Out, Bit>,
    /// With `told_ask`: operands of the atomic.
    pub operands: Signal<Out, Bits<128>>,
    /// Bytes that the READ or atomic asks for; valid from `told_ask` on.
    pub ask_bytes: Signal<Out, Bits<32>>,
    /// The range that is checked is going to be written.
    pub check_writes: Signal<Out, Bit>,
    /// The queue pair cannot have such a request; valid until the request before is settled.
    pub unfit: Signal<Out, Bit>,
    /// A READ or an atomic has too many bytes, or an atomic too few; valid until the request before is settled.
    pub overlong: Signal<Out, Bit>,
    /// Number of sets of the request; valid until the request before is settled.
    pub sets: Signal<Out, Bits<11>>,

    /// A range is to be checked.
    pub check_valid: Signal<Out, Bit>,
    /// Its length is `check_factor * check_step + check_len`, else `check_span`.
    pub check_long: Signal<Out, Bit>,
    /// The target of a pointer-mapped region is to be looked up, and nothing is checked.
    pub check_target: Signal<Out, Bit>,
    /// The local key.
    pub check_key: Signal<Out, Bits<32>>,
    /// The range starts at `check_base + check_offset`.
    pub check_base: Signal<Out, Bits<64>>,
    /// Second part of the start: see `check_base`.
    pub check_offset: Signal<Out, Bits<64>>,
    /// Bytes of the range without `check_long`.
    pub check_span: Signal<Out, Bits<35>>,
    /// With `check_long`: number of steps.
    pub check_factor: Signal<Out, Bits<32>>,
    /// With `check_long`: bytes of a step.
    pub check_step: Signal<Out, Bits<64>>,
    /// With `check_long`: bytes of the rest.
    pub check_len: Signal<Out, Bits<32>>,
    /// Number of the region in the request.
    pub region: Signal<Out, Bits<11>>,
    /// Index of the destination in the request.
    pub dest: Signal<Out, Bits<DEST_INDEX>>,
    /// The look-up of a target is done.
    pub target_done: Signal<In, Bit>,

    /// A lane is given.
    pub element_valid: Signal<Out, Bit>,
    /// Number of the lane in its set.
    pub element_lane: Signal<Out, Bits<4>>,
    /// The lane is the last one of its set.
    pub element_last: Signal<Out, Bit>,
    /// The lane is given as a set by itself.
    pub element_alone: Signal<Out, Bit>,
    /// All elements of the region are given as sets by themselves as well.
    pub element_split: Signal<Out, Bit>,
    /// The lane's base is `element_base + element_offset`.
    pub element_base: Signal<Out, Bits<64>>,
    /// Second part of the base: see `element_base`.
    pub element_offset: Signal<Out, Bits<64>>,
    /// Bytes from a row's value to the next one's.
    pub element_step: Signal<Out, Bits<64>>,
    /// Bytes of a value of the lane.
    pub element_len: Signal<Out, Bits<32>>,
    /// Type of the set's region.
    pub element_kind: Signal<Out, Bits<2>>,
    /// Bytes of an id at `element_addr`: 1 or 2; 0: there are no ids.
    pub element_ids: Signal<Out, Bits<2>>,
    /// Ids are made from keys.
    pub element_made: Signal<Out, Bit>,
    /// How ids are made; the slot is still to be filled in.
    pub function_write: Flow<Out, FunctionWrite>,
    /// A key that ids are made from; the slot is still to be filled in.
    pub key_write: Flow<Out, KeyWrite>,
    /// The region has fetch rows.
    pub element_fetch: Signal<Out, Bit>,
    /// Address of the fetch rows; valid until a cycle after the element, at least.
    pub fetch_addr: Signal<Out, Bits<64>>,
    /// Address of the region: the bitmap, the ids or the pointer array.
    pub element_addr: Signal<Out, Bits<64>>,
    /// Number of the region's rows.
    pub element_count: Signal<Out, Bits<32>>,
    /// Kind of the element's entries, and where their bytes lie.
    pub element_source: Signal<Out, LaneKind>,
    /// The region has kinds of columns.
    pub element_kinds: Signal<Out, Bit>,
    /// Fields that only a region with kinds of columns has; its protection domain is still to be filled in.
    pub element_set: Signal<Out, SetKinds>,

    /// The part of a message that the request sends is known.
    pub part_told: Signal<Out, Bit>,
    /// With `part_told`: bytes of the whole message.
    pub part_whole: Signal<Out, Bits<32>>,
    /// With `part_told`: the part is not the first one.
    pub part_resumes: Signal<Out, Bit>,
    /// With `part_told`: the part is not the last one.
    pub part_pauses: Signal<Out, Bit>,
    /// The request sends a part of a message; from `part_told` until the request before is settled.
    pub parted: Signal<Out, Bit>,

    /// Some region of the request has kinds of columns, or some messages go column by column.
    pub kinds: Signal<Out, Bit>,
    /// The request has ended.
    pub finish: Signal<Out, Bit>,
    /// With `finish`: the request has failed.
    pub failed: Signal<Out, Bit>,
    /// With `failed`: the reason is a queue pair in the error state.
    pub failed_flush: Signal<Out, Bit>,
    /// With `failed`: `qp` must be put into the error state.
    pub failed_qp: Signal<Out, Bit>,
    /// Number of destinations that were accepted.
    pub dests: Signal<Out, Bits<DEST_COUNT>>,

    fields: Fields,
    /// Fields of the other granules of an entry's first block.
    rest_fields: [Fields; 3],
    state: DFF<DecoderState>,
    /// Granules of the entry that were not taken.
    left: DFF<Bits<15>>,
    /// The granule that was taken last ended its batch.
    batch_over: DFF<Bit>,
    /// The current region is the last granule of its entry, if it is contiguous.
    sole: DFF<Bit>,
    /// The entry has ended with it.
    ended: DFF<Bit>,

    head_queue: DFF<Bits<QUEUE>>,
    head_fixed_bad: DFF<Bit>,
    head_rows_bad: DFF<Bit>,
    head_count_bad: DFF<Bit>,
    head_length_bad: DFF<Bit>,
    head_opcode: DFF<Bits<2>>,
    head_element_mask: DFF<Bit>,
    head_partitioned: DFF<Bit>,
    head_fetch: DFF<Bits<FETCH_BITS>>,
    head_unsignaled: DFF<Bit>,
    head_inline: DFF<Bit>,
    /// The entry has an opcode or a flag that only a queue pair's own queue may have.
    head_own: DFF<Bit>,
    head_ask: DFF<Bits<2>>,
    head_invalidates: DFF<Bit>,
    head_fenced: DFF<Bit>,
    head_solicited: DFF<Bit>,
    head_address: DFF<AddressWrite>,
    head_address_bad: DFF<Bit>,
    asks: Signal<Local, Bit>,
    is_reliable: Signal<Local, Bit>,
    is_atomic: Signal<Local, Bit>,
    operands_read: DFF<Bits<128>>,
    bytes: DFF<Bits<36>>,
    asked: DFF<Bit>,
    inline_bad: Signal<Local, Bit>,
    whole_inline_bad: Signal<Local, Bit>,
    inline_accept: Signal<Local, Bit>,
    /// Granules of the inline payload that were taken, if it does not fill a block of its own.
    inline_taken: DFF<Bits<2>>,
    /// Granules of the inline payload.
    inline_granules: Signal<Local, Bits<3>>,
    /// The entry does not have as many granules behind the destination's head as the payload needs.
    inline_cut: DFF<Bit>,
    inline_empty: Signal<Local, Bit>,
    head_position: DFF<Bits<32>>,
    joined_for: DFF<Bit>,
    fetch_bad: Signal<Local, Bit>,
    head_destinations: DFF<Bits<16>>,
    head_granules: DFF<Bits<32>>,
    head_remaining: DFF<Bits<17>>,
    head_wr_id: DFF<Bits<64>>,
    head_rows: DFF<Bits<32>>,
    head_imm: DFF<Bits<32>>,

    /// The request's first destination was not checked yet.
    first: DFF<Bit>,
    dest_cut: DFF<Bit>,
    dest_fixed_bad: DFF<Bit>,
    dest_rest_bad: DFF<Bit>,
    dest_no_qp: DFF<Bit>,
    dest_qp: DFF<Bits<QP>>,
    dest_partition: DFF<Bits<16>>,
    dest_regions: DFF<Bits<5>>,
    /// Bytes of the inline payload.
    dest_bytes: DFF<Bits<7>>,
    /// The columns of the destination have remote addresses of their own.
    dest_by_columns: DFF<Bit>,
    /// The columns of the destination's messages have none, but go one after the other. Messages of contiguous regions
    /// are the same by rows, and go as these.
    dest_column_order: DFF<Bit>,
    /// Number of remote addresses behind the destination's head.
    dest_columns: DFF<Bits<5>>,
    /// `dest_by_columns` and `dest_columns` of the request's first destination; all others must have the same.
    request_by_columns: DFF<Bit>,
    request_columns: DFF<Bits<5>>,
    /// The first destination was accepted.
    has_dest: DFF<Bit>,
    /// Remote addresses of the destination from this one on.
    columns_left: DFF<Bits<5>>,
    /// Remote addresses of all destinations, with the next column of the first,
    remote: DFF<Bits<11>>,
    remote_next: Signal<Local, Bits<11>>,
    /// Remote addresses of all destinations are too many.
    remote_over: DFF<Bit>,
    columns_bad: Signal<Local, Bit>,
    layout_bad: Signal<Local, Bit>,
    whole_layout_bad: Signal<Local, Bit>,
    room: Signal<Local, Bit>,
    /// The region has more rows than a message.
    rows_over: DFF<Bit>,
    /// Elements of the region, until its first one.
    elements: DFF<Bits<5>>,
    /// Sets of one lane that were given.
    alone_sets: DFF<Bits<11>>,
    /// The element was given as a set by itself.
    alone_told: DFF<Bit>,
    splits: Signal<Local, Bit>,
    dest_remote_addr: DFF<Bits<64>>,
    dest_rkey: DFF<Bits<32>>,
    dest_types: DFF<Bits<32>>,
    dest_named: DFF<Bit>,
    /// Destinations before this one.
    dest_index: DFF<Bits<DEST_COUNT>>,
    /// Destinations that were accepted. Regions of the destinations before, and whether those of
    /// the current one are too many.
    regions: DFF<Bits<11>>,
    regions_now: Signal<Local, Bits<11>>,
    dest_over: DFF<Bit>,
    accepted: DFF<Bits<DEST_COUNT>>,
    /// Destinations from this one on.
    dests_left: DFF<Bits<DEST_COUNT>>,
    /// Queue pairs that the request has named.
    pairs: Named<QP>,
    /// Partitions that the request has named.
    partitions: Named<16>,
    /// The destination's partition was named before.
    partition_named: DFF<Bit>,
    /// The current region is the one that all destinations share.
    sharing: DFF<Bit>,
    /// Bytes of an id of the region's.
    ids: DFF<Bits<2>>,
    /// The region's ids are made from keys.
    made: DFF<Bit>,
    keys: Keys,
    has_keys: Signal<Local, Bit>,
    /// The first partition of a destination's id, which must be there.
    #[init(Multiplier::new(FIRST_STAGES))]
    first_partition: Multiplier<16, 16, 32>,
    beyond: DFF<Bit>,
    beyond_wait: DFF<Bits<2>>,

    /// Regions of the request before this one.
    region_index: DFF<Bits<11>>,
    /// Regions of the destination from this one on.
    regions_left: DFF<Bits<5>>,
    kind: DFF<Bits<2>>,
    addr: DFF<Bits<64>>,
    count: DFF<Bits<32>>,
    lkey: DFF<Bits<32>>,
    /// Bytes of the region's bitmap.
    bitmap: DFF<Bits<30>>,
    /// Bytes of the region's bitmap, and one more.
    bitmap_more: DFF<Bits<30>>,
    fetch_rows: DFF<Bit>,
    /// Period of the region, or address of the fetch rows.
    period: DFF<Bits<64>>,
    factor: DFF<Bits<32>>,
    elements_left: DFF<Bits<5>>,
    lane: DFF<Bits<4>>,
    /// The region has kinds of columns; `any_kinds`: a region of the request has, or some messages go column by column.
    has_kinds: DFF<Bit>,
    any_kinds: DFF<Bit>,
    special: DFF<SetKinds>,
    /// An element's entry: its offset, its length, and its distance from the next row's.
    entry_offset: DFF<Bits<64>>,
    entry_len: DFF<Bits<32>>,
    entry_step: DFF<Bits<32>>,
    entry_kind: DFF<Bits<4>>,
    entry_log: DFF<Bits<4>>,
    entry_width: DFF<Bits<24>>,
    /// The entry is not legal, wherever it leads to.
    entry_is_bad: DFF<Bit>,
    entry_bad: Signal<Local, Bit>,
    entry_bytes: Signal<Local, Bits<32>>,
    entry_unit: Signal<Local, Bits<32>>,
    /// Bytes from the first to the last bit of a bitmap or a column of bits.
    spans: Spans,
    spanned: Signal<Local, Bits<30>>,
    /// The current part of a message.
    part: DFF<Part>,
    /// The request sends only a part of a message.
    is_part: DFF<Bit>,
    /// Byte of the region at which the part begins, and bytes of the region from there on.
    part_offset: Signal<Local, Bits<32>>,
    part_rest: Signal<Local, Bits<32>>,
    /// Fields of the granule that are not 0, in each of the layouts that may stand there.
    #[init(word_in_granule::<RegionHeader>("count", 32))]
    region_count_word: Constant<Bits<2>>,
    region_counts: Signal<Local, Bit>,
    #[init(word_in_granule::<RegionShape>("period", 64))]
    shape_period_word: Constant<Bits<2>>,
    shape_has_period: Signal<Local, Bit>,
    #[init(word_in_granule::<RegionShape>("target_lkey", 32))]
    shape_target_word: Constant<Bits<2>>,
    shape_has_target: Signal<Local, Bit>,
    #[init(word_in_granule::<Element>("len", 32))]
    element_len_word: Constant<Bits<2>>,
    element_has_len: Signal<Local, Bit>,
    #[init(word_in_granule::<Element>("lkey", 32))]
    element_lkey_word: Constant<Bits<2>>,
    element_has_key: Signal<Local, Bit>,
    source_bad: Signal<Local, Bit>,

    fail: DFF<Bit>,
    /// The key's granule that was taken last is bad.
    key_is_bad: DFF<Bit>,
    fail_flush: DFF<Bit>,
    fail_qp: DFF<Bit>,

    /// A head and the granules behind it are read, and no more than the entry has.
    full: Signal<Local, Bit>,
    /// The head and a destination are taken at once.
    whole: Signal<Local, Bit>,
    /// The head and an address are taken at once.
    named: Signal<Local, Bit>,
    /// No granule of the entry is left.
    none_left: Signal<Local, Bit>,
    /// A granule of the entry is offered, and was read.
    good: Signal<Local, Bit>,
    /// A granule of the entry is offered, and was not read, or the entry is too short.
    broken: Signal<Local, Bit>,
    granule_kind: Signal<Local, Bits<2>>,
    blocks: Signal<Local, Bits<31>>,
    head_bad: Signal<Local, Bit>,
    dest_bad: Signal<Local, Bit>,
    dest_unfit: Signal<Local, Bit>,
    shape_bad: Signal<Local, Bit>,
    element_bad: Signal<Local, Bit>,
    taking: Signal<Local, Bit>,
    skipping: Signal<Local, Bit>,
    /// The region, or the destination, ends with the granule.
    region_done: Signal<Local, Bit>,
    dest_done: Signal<Local, Bit>,
    /// Bytes of a bitmap.
    bitmap_bytes: Signal<Local, Bits<35>>,
    has_fetch_rows: Signal<Local, Bit>,
}
