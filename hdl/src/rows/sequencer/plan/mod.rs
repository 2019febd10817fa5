//! Turns requests into items of work: first what must be read before the first token, then the rows, destination by
//! destination in turns.

mod chunks;
mod kernel;
pub mod state;

use super::measure::Measure;
use super::record::{Context, Item};
use super::tables::{Bounds, DestInfo, SetInfo};
use crate::primitive::{Flatten, Lutram, Multiplier, Ram, Restore};
use crate::request::{DEST_COUNT, DEST_INDEX};
use chunks::Chunks;
use drdma_emit::prelude::*;
use state::{Findings, Measured, PlanState, Scanned, TURN_BITS, Turn};

const STAGES: usize = 4;

/// Plans requests for the rest of the sequencer: reads a request's destinations and sets, asks for scans where
/// something must be known before the first token, judges their results in the order of destinations, and then emits
/// the stretches of rows to walk.
///
/// A request of one destination and one contiguous region that fits a packet takes 4 cycles, one of another single
/// region about 14, 5 of them for its stretch; scans add the time of their reads. A request of several destinations
/// gets a stretch every 6 cycles.
///
/// The stretches of a column request (see [`Chunks`]) are emitted chunk by chunk, with a [`HEAD`](super::record::HEAD)
/// item before each chunk. A bitmap for one destination is one *sparse* chunk, which the column path cuts into windows.
///
/// A WRITE by columns is worked through column by column. Each column is planned as a request of its own, with the sets
/// of one lane that the decoder has made; an [`END`](super::record::END) with `never` separates them. Rows that were
/// counted for one column are not counted again. Up to 8,192 rows with ids are counted in any case, and kept as
/// bitmaps.
///
/// The column path counts the rows of column requests, one [`SCAN`](super::record::SCAN) every 2 cycles; the row source
/// counts all others. Destinations of the same lanes that have fewer rows than a message are judged in 3 cycles each.
/// From the first other destination on, each takes 18 or more.
///
/// # Inputs
/// `request` stream, the entries that [`Tables`](super::tables::Tables) reads, `result_*` (scans), `column_min_rows`,
/// `item_ready`, `stretch_ready`.
///
/// # Outputs
/// `request_ready`, `dest_read`, `set_read`, `item` stream {`item`, `context`}, `stretch` stream (what must be read for
/// an item).
#[derive(LogicBlock, BlockDefault)]
pub struct Plan {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// A request is offered.
    pub request_valid: Signal<In, Bit>,
    /// The plan takes the request in this cycle.
    pub request_ready: Signal<Out, Bit>,
    /// Slot of the request.
    pub request_slot: Signal<In, Bits<8>>,
    /// Number of destinations; with a status: 1 if the queue pair of `bad_dest` fails, else 0.
    pub request_dests: Signal<In, Bits<DEST_COUNT>>,
    /// Place of the first destination in the ring of destinations.
    pub request_first_dest: Signal<In, Bits<10>>,
    /// Status of the request: 0, or the error with which it ends without being executed.
    pub request_status: Signal<In, Bits<8>>,
    /// With a status: the destination that failed.
    pub request_bad_dest: Signal<In, Bits<DEST_COUNT>>,
    /// The destinations have rows of one form, but none in common.
    pub request_apart: Signal<In, Bit>,
    /// The request has kinds of columns.
    pub request_kinds: Signal<In, Bit>,
    /// All requests before have left the sequencer.
    pub drained: Signal<In, Bit>,
    /// The end of a request is planned in this cycle.
    pub finished: Signal<Out, Bit>,
    /// [`Kinds`](crate::rows::kinds::Kinds) is to walk the current request, and has the tables until it is done.
    pub kinds_start: Signal<Out, Bit>,
    /// [`Kinds`](crate::rows::kinds::Kinds) is walking the current request.
    pub kinds_busy: Signal<Out, Bit>,
    /// [`Kinds`](crate::rows::kinds::Kinds) is done with its request.
    pub kinds_done: Signal<In, Bit>,
    /// With `kinds_done`: status of the request.
    pub kinds_status: Signal<In, Bits<8>>,
    /// With `kinds_done`: the destination that failed.
    pub kinds_bad_dest: Signal<In, Bits<DEST_COUNT>>,
    /// Slot of the request with kinds.
    pub kinds_slot: Signal<Out, Bits<8>>,
    /// Number of destinations of the request with kinds.
    pub kinds_dests: Signal<Out, Bits<DEST_COUNT>>,
    /// Place of that request's first destination in the ring of destinations.
    pub kinds_first_dest: Signal<Out, Bits<10>>,
    /// The request that is offered is known to [`Kinds`](crate::rows::kinds::Kinds), which walks the one before.
    pub kinds_next: Signal<Out, Bit>,
    /// The request that was known to [`Kinds`](crate::rows::kinds::Kinds) is not handed over.
    pub kinds_forget: Signal<Out, Bit>,
    /// Number of columns of a WRITE by columns; 0 for any other request.
    pub request_columns: Signal<In, Bits<5>>,
    /// A request has left the segmenter.
    pub release_valid: Signal<In, Bit>,
    /// The queue pair of the destination that was read is in error.
    pub qp_error: Signal<In, Bit>,
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
    /// Bytes that a row of that set spans in host memory.
    pub span: Signal<In, Bits<13>>,
    /// Sum of the steps of that set's groups in bytes; 2,047 if a column request cannot have its lanes.
    pub steps: Signal<In, Bits<11>>,
    /// One of that set's lanes is longer than its step.
    pub overlaps: Signal<In, Bit>,
    /// Least number of rows of a column request; 0 turns column requests off.
    pub column_min_rows: Signal<In, Bits<32>>,
    /// A scan has ended.
    pub result_valid: Signal<In, Bit>,
    /// Set that was scanned.
    pub result_set: Signal<In, Bits<11>>,
    /// Number of set bits that the scan found.
    pub result_count: Signal<In, Bits<32>>,
    /// The scan found a pointer out of bounds, or one of its reads failed.
    pub result_bad: Signal<In, Bit>,
    /// The walker is done.
    pub walked_valid: Signal<In, Bit>,
    /// With `walked_valid`: a message is too long.
    pub walked_too_long: Signal<In, Bit>,
    /// An item is offered.
    pub item_valid: Signal<Out, Bit>,
    /// The item is taken in this cycle.
    pub item_ready: Signal<In, Bit>,
    /// The item.
    pub item: Signal<Out, Item>,
    /// Context that the rows of the item share.
    pub item_context: Signal<Out, Context>,
    /// A stretch that must be read is offered.
    pub stretch_valid: Signal<Out, Bit>,
    /// The stretch is taken in this cycle.
    pub stretch_ready: Signal<In, Bit>,
    /// Host address of the bitmap, ids or pointer array.
    pub stretch_addr: Signal<Out, Bits<64>>,
    /// First bit, id or pointer of the stretch.
    pub stretch_first: Signal<Out, Bits<32>>,
    /// Bits, ids or pointers of the stretch.
    pub stretch_rows: Signal<Out, Bits<32>>,
    /// The stretch is of bits or ids, not of pointers.
    pub stretch_bitmap: Signal<Out, Bit>,
    /// Bytes of an id, 1 or 2; 0 if the stretch is of bits or pointers.
    pub stretch_ids: Signal<Out, Bits<2>>,
    /// Id whose rows are selected.
    pub stretch_partition: Signal<Out, Bits<16>>,
    /// The answer goes to the column path.
    pub stretch_column: Signal<Out, Bit>,
    /// Fetch rows are read as well.
    pub stretch_fetch: Signal<Out, Bit>,
    /// The stretch is kept for several chunks.
    pub stretch_kept: Signal<Out, Bit>,
    /// Host address of the fetch rows' first bit.
    pub stretch_fetch_addr: Signal<Out, Bits<64>>,
    /// Ids are made from the rows' keys; `stretch_addr` is the address of splitters.
    pub stretch_made: Signal<Out, Bit>,
    /// The stretch is the first one of its request.
    pub stretch_begins: Signal<Out, Bit>,
    /// Slot of the request.
    pub stretch_slot: Signal<Out, Bits<8>>,
    state: DFF<PlanState>,
    // The request.
    slot: DFF<Bits<8>>,
    dests: DFF<Bits<DEST_COUNT>>,
    first_dest: DFF<Bits<10>>,
    /// Number of columns of a WRITE by columns; 0 for any other request.
    columns: DFF<Bits<5>>,
    /// Columns that are done. The current column has its destinations from `pass_dest` on, and its sets lie `pass_set`
    /// behind those of the regions.
    pass: DFF<Bits<5>>,
    pass_dest: DFF<Bits<10>>,
    pass_set: DFF<Bits<5>>,
    /// Another column follows the current one.
    passes: Signal<Local, Bit>,
    begins: Signal<Local, Bit>,
    /// The destination that was read, with the set of the current column.
    here: Signal<Local, DestInfo>,
    /// Rows of all destinations were counted: `counted` for this column so far, `all_counted` for an earlier one.
    counted: DFF<Bit>,
    all_counted: DFF<Bit>,
    /// An earlier column went the column path, which has kept its rows.
    kept_before: DFF<Bit>,
    /// The set has few enough rows for the column path to keep its bitmap for all columns.
    kept_whole: Signal<Local, Bit>,
    /// Rows of some destinations must be counted, and have not been.
    uncounted: DFF<Bit>,
    /// All destinations are inspected, and their rows are being counted.
    counting: DFF<Bit>,
    /// The column path kept the rows of this column as it counted them.
    stored: DFF<Bit>,
    /// The column path keeps the rows of the request's ids for all columns.
    ids_kept: Signal<Local, Bit>,
    /// The column path counts the rows of this destination.
    tallied: Signal<Local, Bit>,
    /// The first row behind the stretch of rows that is being counted, unless the stretch is the last one.
    tally_end: DFF<Bits<33>>,
    tally_last: Signal<Local, Bit>,
    status: DFF<Bits<8>>,
    bad_dest: DFF<Bits<DEST_COUNT>>,
    // The queue pair fails as well.
    breaks: DFF<Bit>,
    // The walker knows the bounds of the pointers that it is to load.
    bounds_given: DFF<Bit>,
    // Requests that have not left the segmenter.
    under_way: DFF<Bits<9>>,
    #[init(Constant::new((drdma_abi::completion::Status::WrFlushError as u8).to_bits()))]
    flush: Constant<Bits<8>>,
    single: DFF<Bit>,
    /// All destinations have the same set, and the ids of its rows.
    partitioned: DFF<Bit>,
    apart: DFF<Bit>,
    kinds: DFF<Bit>,
    /// In the cycle before, all requests before this one had left.
    kinds_may_start: DFF<Bit>,
    /// The request with kinds was done in the cycle before.
    kinds_ended: DFF<Bit>,
    /// The current destination has no more turns.
    passed: Signal<Local, Bit>,
    /// Address at which findings about the set are kept: the set's number, or the destination's for a partitioned
    /// request.
    key: Signal<Local, Bits<11>>,
    // The destination and the current set.
    index: DFF<Bits<DEST_COUNT>>,
    dest_at: Signal<Local, Bits<10>>,
    head: DFF<DestInfo>,
    set: DFF<Bits<11>>,
    sets_left: DFF<Bits<5>>,
    last_set: Signal<Local, Bit>,
    last_dest: Signal<Local, Bit>,
    is_contiguous: Signal<Local, Bit>,
    is_bitmap: Signal<Local, Bit>,
    is_pointers: Signal<Local, Bit>,
    rows: Signal<Local, Bits<32>>,
    elements: Signal<Local, Bits<36>>,
    times: DFF<Bits<36>>,
    terms: [Signal<Local, Bits<36>>; 5],
    shuffle: Signal<Local, Bit>,
    larger: Signal<Local, Bits<37>>,
    #[init(Constant::new(((1_u64 << 36) - 1).to_bits()))]
    saturated: Constant<Bits<37>>,
    uneven_set: Signal<Local, Bit>,
    uneven: DFF<Bit>,
    loading_check: DFF<Bit>,
    loaded: DFF<Bits<4>>,
    row_span: Signal<Local, Bits<14>>,
    // Inspection.
    /// All destinations so far have the same lanes as the first.
    same: DFF<Bit>,
    largest: DFF<Bits<36>>,
    bitmaps: DFF<Bit>,
    pointers: DFF<Bit>,
    counts: DFF<Bit>,
    judge: DFF<Bit>,
    #[init(Multiplier::new(STAGES))]
    multiplier: Multiplier<32, 36, 68>,
    #[init(Constant::new((STAGES + 1).to_bits()))]
    latency: Constant<Bits<3>>,
    wait: DFF<Bits<3>>,
    mtu: DFF<Bits<13>>,
    /// Bytes that a message may have.
    limit: DFF<Bits<32>>,
    beyond_mtu: DFF<Bit>,
    beyond_any: DFF<Bit>,
    #[init(Constant::new(drdma_abi::work_request::MAX_MESSAGE.to_bits()))]
    max_message: Constant<Bits<32>>,
    finding: Signal<Local, Findings>,
    findings: Lutram<6, DEST_INDEX, 1>,
    findings_in: Flatten<Findings, 6>,
    findings_out: Restore<Findings, 6>,
    asks: Signal<Local, Bit>,
    /// The bitmap or the pointers of the item must be read.
    reads: Signal<Local, Bit>,
    outstanding: DFF<Bits<11>>,
    // Judgement.
    scanned: Ram<33, 1, 11>,
    scanned_new: Signal<Local, Scanned>,
    scanned_in: Flatten<Scanned, 33>,
    scanned_out: Restore<Scanned, 33>,
    scan_bad: Signal<Local, Bit>,
    bad: DFF<Bit>,
    unequal: DFF<Bit>,
    first_of_dest: DFF<Bit>,
    elements_before: DFF<Bits<36>>,
    // Quick judgement: products that are being computed, with their sets and destinations.
    quick_rows: DFF<Bits<32>>,
    quick: Signal<Local, Bit>,
    quick_valid: DFF<Bits<STAGES>>,
    quick_set: [DFF<Bits<11>>; STAGES],
    quick_index: [DFF<Bits<DEST_COUNT>>; STAGES],
    quick_done: Signal<Local, Bit>,
    quick_excess: Signal<Local, Bit>,
    /// A destination whose one message is too long was found; `quick_dest` is the first one.
    quick_long: DFF<Bit>,
    quick_dest: DFF<Bits<DEST_COUNT>>,
    /// Quick judgement has gone through all destinations.
    quick_all: DFF<Bit>,
    measure: Measure,
    measured: Ram<96, 1, 11>,
    measured_new: Signal<Local, Measured>,
    measured_in: Flatten<Measured, 96>,
    measured_out: Restore<Measured, 96>,
    #[init(Constant::new((drdma_abi::completion::Status::LocalProtectionError as u64).to_bits()))]
    protection: Constant<Bits<8>>,
    #[init(Constant::new((drdma_abi::completion::Status::LocalQpOperationError as u64).to_bits()))]
    operation: Constant<Bits<8>>,
    #[init(Constant::new((drdma_abi::completion::Status::LocalLengthError as u64).to_bits()))]
    length: Constant<Bits<8>>,
    // Turns.
    chunks: Chunks,
    column: DFF<Bit>,
    headed: DFF<Bit>,
    first_turn: DFF<Bit>,
    turn_begins: DFF<Bit>,
    unfinished: DFF<Bit>,
    turns: Lutram<TURN_BITS, DEST_INDEX, 1>,
    turn_in: Flatten<Turn, TURN_BITS>,
    turn_out: Restore<Turn, TURN_BITS>,
    turn: DFF<Turn>,
    /// The first row behind the current stretch, unless the stretch is the region's last.
    turn_end: DFF<Bits<33>>,
    turn_new: Signal<Local, Turn>,
    rows_left: Signal<Local, Bits<32>>,
    /// No rows of the region are left for this destination.
    rows_over: Signal<Local, Bit>,
    /// With `rows_over`: the turn stands right behind the region's last row.
    rows_none: Signal<Local, Bit>,
    whole: Signal<Local, Bit>,
    sparse: Signal<Local, Bit>,
    /// Rows of a window of a sparse chunk: whole blocks of 64 rows.
    whole_blocks: Signal<Local, Bits<13>>,
    stretch: Signal<Local, Bits<32>>,
    last_region: Signal<Local, Bit>,
    // The item and the stretch that are offered.
    next_item: Signal<Local, Item>,
    shared: Signal<Local, Context>,
    push: Signal<Local, Bit>,
    free: Signal<Local, Bit>,
    simple: Signal<Local, Bit>,
    has_item: DFF<Bit>,
    item_out: DFF<Item>,
    context_out: DFF<Context>,
    has_stretch: DFF<Bit>,
    stretch_from: DFF<Bits<64>>,
    stretch_length: DFF<Bits<32>>,
    stretch_keys: DFF<Bit>,
    stretch_opens: DFF<Bit>,
    /// No read was made for the request so far.
    fresh: DFF<Bit>,
    // Bitmaps that are read in stretches of several chunks: where in its stretch the chunk begins.
    kept: Signal<Local, Bit>,
    kept_left: Signal<Local, Bits<32>>,
    phase: DFF<Bits<9>>,
    next_phase: Signal<Local, Bits<9>>,
}
