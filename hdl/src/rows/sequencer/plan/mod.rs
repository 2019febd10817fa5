//! Requests become items of work: what must be read first, then the rows, destination by
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
use rust_hdl_core::prelude::*;
use rust_hdl_widgets::prelude::*;
use state::{Findings, Measured, PlanState, Scanned, TURN_BITS, Turn};

const STAGES: usize = 4;

/// Reads a request's destinations and sets, asks for scans where something must be known before
/// the first token, judges their results in the order of destinations, and then gives the
/// stretches of rows to walk.
///
/// A request of one destination and one contiguous region that fits a packet takes 4 cycles, of one
/// other region about 14, 5 of them for its stretch; scans take the time of their reads. A request of several destinations gives a
/// stretch every 6 cycles.
///
/// A column request (see [`Chunks`]) gives its stretches chunk by chunk, a [`HEAD`](super::record::HEAD)
/// item before each chunk. A
/// bitmap for one destination is one *sparse* chunk, whose windows the column path cuts.
///
/// A WRITE by columns is worked through column by column, each as a request of its own with the sets of one lane that
/// the decoder has made; between them there is an [`END`](super::record::END) with `never`. Rows that were counted for
/// one column are not counted again. Up to 8,192 rows with ids are counted in any case, and kept as bitmaps.
///
/// Rows of a column request are counted by the column path, a [`SCAN`](super::record::SCAN) every 2 cycles, all others by the row source. Destinations
/// that are alike and have fewer rows than a message are judged in 3 cycles each, from there on one takes 18 or more.
///
/// # Inputs
/// `request` stream, what [`Tables`](super::tables::Tables) reads, `result_*` (scans), `column_min_rows`,
/// `item_ready`, `stretch_ready`.
///
/// # Outputs
/// `request_ready`, `dest_read`, `set_read`, `item` stream {`item`, `context`}, `stretch` stream
/// (what must be read for an item).
#[derive(LogicBlock)]
pub struct Plan {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// A request is offered.
    pub request_valid: Signal<In, Bit>,
    /// It is taken.
    pub request_ready: Signal<Out, Bit>,
    /// Its slot.
    pub request_slot: Signal<In, Bits<8>>,
    /// Destinations.
    pub request_dests: Signal<In, Bits<DEST_COUNT>>,
    /// The first one's place.
    pub request_first_dest: Signal<In, Bits<10>>,
    /// Its status, if it is not to be executed.
    pub request_status: Signal<In, Bits<8>>,
    /// The destination that failed.
    pub request_bad_dest: Signal<In, Bits<DEST_COUNT>>,
    /// Its destinations have rows of one form, but none in common.
    pub request_apart: Signal<In, Bit>,
    /// It has kinds of columns.
    pub request_kinds: Signal<In, Bit>,
    /// Nothing is on its way of requests before.
    pub drained: Signal<In, Bit>,
    /// The end of a request is planned.
    pub finished: Signal<Out, Bit>,
    /// The request at hand is to be walked by [`Kinds`](crate::rows::kinds::Kinds), which reads the tables meanwhile.
    pub kinds_start: Signal<Out, Bit>,
    /// It does so.
    pub kinds_busy: Signal<Out, Bit>,
    /// It is done,
    pub kinds_done: Signal<In, Bit>,
    /// with this status,
    pub kinds_status: Signal<In, Bits<8>>,
    /// for this destination.
    pub kinds_bad_dest: Signal<In, Bits<DEST_COUNT>>,
    /// That request's slot,
    pub kinds_slot: Signal<Out, Bits<8>>,
    /// destinations,
    pub kinds_dests: Signal<Out, Bits<DEST_COUNT>>,
    /// and the first one's place.
    pub kinds_first_dest: Signal<Out, Bits<10>>,
    /// It is a WRITE by columns, of so many; else 0.
    pub request_columns: Signal<In, Bits<5>>,
    /// A request has left the segmenter.
    pub release_valid: Signal<In, Bit>,
    /// The queue pair of the destination that was read is in error.
    pub qp_error: Signal<In, Bit>,
    /// The destination to read.
    pub dest_read: Signal<Out, Bits<10>>,
    /// It, a cycle later.
    pub dest_info: Signal<In, DestInfo>,
    /// The set to read.
    pub set_read: Signal<Out, Bits<11>>,
    /// It, a cycle later.
    pub set_info: Signal<In, SetInfo>,
    /// Where its pointers may point.
    pub bounds: Signal<In, Bounds>,
    /// Bytes that its row spans in host memory.
    pub span: Signal<In, Bits<13>>,
    /// The sum of its groups' steps; 2,047: no lanes of a column request.
    pub steps: Signal<In, Bits<11>>,
    /// One of its lanes is longer than its step.
    pub overlaps: Signal<In, Bit>,
    /// The fewest rows of a column request; 0: there are none.
    pub column_min_rows: Signal<In, Bits<32>>,
    /// A scan has ended.
    pub result_valid: Signal<In, Bit>,
    /// The set.
    pub result_set: Signal<In, Bits<11>>,
    /// Set bits.
    pub result_count: Signal<In, Bits<32>>,
    /// A pointer is wrong, or a read failed.
    pub result_bad: Signal<In, Bit>,
    /// The walker is done.
    pub walked_valid: Signal<In, Bit>,
    /// It found a message that is too long.
    pub walked_too_long: Signal<In, Bit>,
    /// An item is offered.
    pub item_valid: Signal<Out, Bit>,
    /// It is taken.
    pub item_ready: Signal<In, Bit>,
    /// The item.
    pub item: Signal<Out, Item>,
    /// What its rows have in common.
    pub item_context: Signal<Out, Context>,
    /// Something must be read.
    pub stretch_valid: Signal<Out, Bit>,
    /// It is taken.
    pub stretch_ready: Signal<In, Bit>,
    /// The bitmap or the pointer array.
    pub stretch_addr: Signal<Out, Bits<64>>,
    /// First bit or pointer.
    pub stretch_first: Signal<Out, Bits<32>>,
    /// Bits or pointers.
    pub stretch_rows: Signal<Out, Bits<32>>,
    /// Bits or ids, not pointers.
    pub stretch_bitmap: Signal<Out, Bit>,
    /// Bytes of an id; 0: bits.
    pub stretch_ids: Signal<Out, Bits<2>>,
    /// The id that is wanted.
    pub stretch_partition: Signal<Out, Bits<16>>,
    /// The answer is for the column path.
    pub stretch_column: Signal<Out, Bit>,
    /// Fetch rows are read as well.
    pub stretch_fetch: Signal<Out, Bit>,
    /// It is kept for several chunks.
    pub stretch_kept: Signal<Out, Bit>,
    /// Their first bit's address.
    pub stretch_fetch_addr: Signal<Out, Bits<64>>,
    /// Ids are made from the rows' keys; the address is that of splitters.
    pub stretch_made: Signal<Out, Bit>,
    /// It is the first stretch of its request.
    pub stretch_begins: Signal<Out, Bit>,
    /// The request.
    pub stretch_slot: Signal<Out, Bits<8>>,
    state: DFF<PlanState>,
    // The request.
    slot: DFF<Bits<8>>,
    dests: DFF<Bits<DEST_COUNT>>,
    first_dest: DFF<Bits<10>>,
    /// A WRITE by columns: its columns; else 0.
    columns: DFF<Bits<5>>,
    /// Columns that are done; the one at hand has its destinations from `pass_dest` on, and its sets `pass_set` behind
    /// those of the regions.
    pass: DFF<Bits<5>>,
    pass_dest: DFF<Bits<10>>,
    pass_set: DFF<Bits<5>>,
    /// There is another column behind this one.
    passes: Signal<Local, Bit>,
    begins: Signal<Local, Bit>,
    /// The destination that was read, with the column's set.
    here: Signal<Local, DestInfo>,
    /// The rows of all destinations were counted for this column, so far; for an earlier one.
    counted: DFF<Bit>,
    all_counted: DFF<Bit>,
    /// An earlier column went the column path: what it has kept is there.
    kept_before: DFF<Bit>,
    /// The set has few enough rows for their bitmap to be kept for all columns.
    kept_whole: Signal<Local, Bit>,
    /// Rows of some destinations must be counted, and have not been.
    uncounted: DFF<Bit>,
    /// All destinations are inspected, and their rows are being counted.
    counting: DFF<Bit>,
    /// The rows of this column were kept as they were counted.
    stored: DFF<Bit>,
    /// The rows of the request's ids are kept for all columns.
    ids_kept: Signal<Local, Bit>,
    /// A destination's rows are counted by the column path.
    tallied: Signal<Local, Bit>,
    /// The first row behind the stretch of rows that are counted, if that is not the last one.
    tally_end: DFF<Bits<33>>,
    tally_last: Signal<Local, Bit>,
    status: DFF<Bits<8>>,
    bad_dest: DFF<Bits<DEST_COUNT>>,
    // The failure is the queue pair's too.
    breaks: DFF<Bit>,
    // The walker knows the bounds of the pointers that it is to load.
    bounds_given: DFF<Bit>,
    // Requests that have not left the segmenter.
    under_way: DFF<Bits<9>>,
    flush: Constant<Bits<8>>,
    single: DFF<Bit>,
    /// All destinations have the same set, and the ids of its rows.
    partitioned: DFF<Bit>,
    apart: DFF<Bit>,
    kinds: DFF<Bit>,
    /// The destination at hand has no more turns.
    passed: Signal<Local, Bit>,
    /// Where what is found out about the set is kept: those of a partitioned request have one set.
    key: Signal<Local, Bits<11>>,
    // The destination and the set at hand.
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
    saturated: Constant<Bits<37>>,
    uneven_set: Signal<Local, Bit>,
    uneven: DFF<Bit>,
    loading_check: DFF<Bit>,
    loaded: DFF<Bits<4>>,
    row_span: Signal<Local, Bits<14>>,
    // Inspection.
    /// All destinations so far are alike to the first.
    same: DFF<Bit>,
    largest: DFF<Bits<36>>,
    bitmaps: DFF<Bit>,
    pointers: DFF<Bit>,
    counts: DFF<Bit>,
    judge: DFF<Bit>,
    multiplier: Multiplier<32, 36, 68>,
    latency: Constant<Bits<3>>,
    wait: DFF<Bits<3>>,
    mtu: DFF<Bits<13>>,
    /// The longest that a message may be.
    limit: DFF<Bits<32>>,
    beyond_mtu: DFF<Bit>,
    beyond_any: DFF<Bit>,
    max_message: Constant<Bits<32>>,
    finding: Signal<Local, Findings>,
    findings: Lutram<6, DEST_INDEX, 1>,
    findings_in: Flatten<Findings, 6>,
    findings_out: Restore<Findings, 6>,
    asks: Signal<Local, Bit>,
    /// The item's bitmap or pointers must be read.
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
    // Quick judgement: products on their way, their sets and destinations.
    quick_rows: DFF<Bits<32>>,
    quick: Signal<Local, Bit>,
    quick_valid: DFF<Bits<STAGES>>,
    quick_set: [DFF<Bits<11>>; STAGES],
    quick_index: [DFF<Bits<DEST_COUNT>>; STAGES],
    quick_done: Signal<Local, Bit>,
    quick_excess: Signal<Local, Bit>,
    /// The first destination whose one message is too long.
    quick_long: DFF<Bit>,
    quick_dest: DFF<Bits<DEST_COUNT>>,
    /// All destinations were judged.
    quick_all: DFF<Bit>,
    measure: Measure,
    measured: Ram<96, 1, 11>,
    measured_new: Signal<Local, Measured>,
    measured_in: Flatten<Measured, 96>,
    measured_out: Restore<Measured, 96>,
    protection: Constant<Bits<8>>,
    operation: Constant<Bits<8>>,
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
    /// The first row behind its stretch, if that is not the region's last.
    turn_end: DFF<Bits<33>>,
    turn_new: Signal<Local, Turn>,
    rows_left: Signal<Local, Bits<32>>,
    /// No rows are left,
    rows_over: Signal<Local, Bit>,
    /// and the turn stands right behind the last.
    rows_none: Signal<Local, Bit>,
    whole: Signal<Local, Bit>,
    sparse: Signal<Local, Bit>,
    /// Rows of a window of whole blocks of 64.
    whole_blocks: Signal<Local, Bits<13>>,
    stretch: Signal<Local, Bits<32>>,
    last_region: Signal<Local, Bit>,
    // What goes out.
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
    /// Nothing was read for the request.
    fresh: DFF<Bit>,
    // Bitmaps that are read in stretches of several chunks: where in its stretch the chunk begins.
    kept: Signal<Local, Bit>,
    kept_left: Signal<Local, Bits<32>>,
    phase: DFF<Bits<9>>,
    next_phase: Signal<Local, Bits<9>>,
}

impl Default for Plan {
    fn default() -> Self {
        use drdma_abi::completion::Status;
        Self {
            clk: Default::default(),
            rst: Default::default(),
            request_valid: Default::default(),
            request_ready: Default::default(),
            request_slot: Default::default(),
            request_dests: Default::default(),
            request_first_dest: Default::default(),
            request_status: Default::default(),
            request_bad_dest: Default::default(),
            request_apart: Default::default(),
            request_kinds: Default::default(),
            drained: Default::default(),
            kinds_start: Default::default(),
            kinds_busy: Default::default(),
            kinds_done: Default::default(),
            kinds_status: Default::default(),
            kinds_bad_dest: Default::default(),
            kinds_slot: Default::default(),
            kinds_dests: Default::default(),
            kinds_first_dest: Default::default(),
            request_columns: Default::default(),
            columns: Default::default(),
            pass: Default::default(),
            pass_dest: Default::default(),
            pass_set: Default::default(),
            passes: Default::default(),
            begins: Default::default(),
            here: Default::default(),
            counted: Default::default(),
            all_counted: Default::default(),
            kept_before: Default::default(),
            kept_whole: Default::default(),
            uncounted: Default::default(),
            counting: Default::default(),
            stored: Default::default(),
            ids_kept: Default::default(),
            tallied: Default::default(),
            tally_end: Default::default(),
            tally_last: Default::default(),
            release_valid: Default::default(),
            qp_error: Default::default(),
            dest_read: Default::default(),
            dest_info: Default::default(),
            set_read: Default::default(),
            set_info: Default::default(),
            bounds: Default::default(),
            span: Default::default(),
            steps: Default::default(),
            overlaps: Default::default(),
            column_min_rows: Default::default(),
            result_valid: Default::default(),
            result_set: Default::default(),
            result_count: Default::default(),
            result_bad: Default::default(),
            walked_valid: Default::default(),
            walked_too_long: Default::default(),
            item_valid: Default::default(),
            item_ready: Default::default(),
            item: Default::default(),
            item_context: Default::default(),
            stretch_valid: Default::default(),
            stretch_ready: Default::default(),
            stretch_addr: Default::default(),
            stretch_first: Default::default(),
            stretch_rows: Default::default(),
            stretch_bitmap: Default::default(),
            stretch_ids: Default::default(),
            stretch_partition: Default::default(),
            stretch_column: Default::default(),
            stretch_fetch: Default::default(),
            stretch_kept: Default::default(),
            stretch_fetch_addr: Default::default(),
            stretch_made: Default::default(),
            stretch_begins: Default::default(),
            stretch_slot: Default::default(),
            state: Default::default(),
            slot: Default::default(),
            dests: Default::default(),
            first_dest: Default::default(),
            status: Default::default(),
            bad_dest: Default::default(),
            breaks: Default::default(),
            bounds_given: Default::default(),
            under_way: Default::default(),
            finished: Default::default(),
            flush: Constant::new((Status::WrFlushError as u8).to_bits()),
            single: Default::default(),
            partitioned: Default::default(),
            apart: Default::default(),
            kinds: Default::default(),
            passed: Default::default(),
            key: Default::default(),
            index: Default::default(),
            dest_at: Default::default(),
            head: Default::default(),
            set: Default::default(),
            sets_left: Default::default(),
            last_set: Default::default(),
            last_dest: Default::default(),
            is_contiguous: Default::default(),
            is_bitmap: Default::default(),
            is_pointers: Default::default(),
            rows: Default::default(),
            elements: Default::default(),
            times: Default::default(),
            terms: Default::default(),
            shuffle: Default::default(),
            larger: Default::default(),
            saturated: Constant::new(((1_u64 << 36) - 1).to_bits()),
            uneven_set: Default::default(),
            uneven: Default::default(),
            loading_check: Default::default(),
            loaded: Default::default(),
            row_span: Default::default(),
            same: Default::default(),
            largest: Default::default(),
            bitmaps: Default::default(),
            pointers: Default::default(),
            counts: Default::default(),
            judge: Default::default(),
            multiplier: Multiplier::new(STAGES),
            // The product, and what it is compared with.
            latency: Constant::new((STAGES + 1).to_bits()),
            wait: Default::default(),
            mtu: Default::default(),
            limit: Default::default(),
            beyond_mtu: Default::default(),
            beyond_any: Default::default(),
            max_message: Constant::new(drdma_abi::work_request::MAX_MESSAGE.to_bits()),
            finding: Default::default(),
            findings: Default::default(),
            findings_in: Default::default(),
            findings_out: Default::default(),
            asks: Default::default(),
            reads: Default::default(),
            outstanding: Default::default(),
            scanned: Default::default(),
            scanned_new: Default::default(),
            scanned_in: Default::default(),
            scanned_out: Default::default(),
            scan_bad: Default::default(),
            bad: Default::default(),
            unequal: Default::default(),
            first_of_dest: Default::default(),
            elements_before: Default::default(),
            quick_rows: Default::default(),
            quick: Default::default(),
            quick_valid: Default::default(),
            quick_set: Default::default(),
            quick_index: Default::default(),
            quick_done: Default::default(),
            quick_excess: Default::default(),
            quick_long: Default::default(),
            quick_dest: Default::default(),
            quick_all: Default::default(),
            measure: Default::default(),
            measured: Default::default(),
            measured_new: Default::default(),
            measured_in: Default::default(),
            measured_out: Default::default(),
            protection: Constant::new((Status::LocalProtectionError as u64).to_bits()),
            operation: Constant::new((Status::LocalQpOperationError as u64).to_bits()),
            length: Constant::new((Status::LocalLengthError as u64).to_bits()),
            chunks: Default::default(),
            column: Default::default(),
            headed: Default::default(),
            first_turn: Default::default(),
            turn_begins: Default::default(),
            unfinished: Default::default(),
            turns: Default::default(),
            turn_in: Default::default(),
            turn_out: Default::default(),
            turn: Default::default(),
            turn_end: Default::default(),
            turn_new: Default::default(),
            rows_left: Default::default(),
            rows_over: Default::default(),
            rows_none: Default::default(),
            whole: Default::default(),
            sparse: Default::default(),
            whole_blocks: Default::default(),
            stretch: Default::default(),
            last_region: Default::default(),
            next_item: Default::default(),
            shared: Default::default(),
            push: Default::default(),
            free: Default::default(),
            simple: Default::default(),
            has_item: Default::default(),
            item_out: Default::default(),
            context_out: Default::default(),
            has_stretch: Default::default(),
            stretch_from: Default::default(),
            stretch_length: Default::default(),
            stretch_keys: Default::default(),
            stretch_opens: Default::default(),
            fresh: Default::default(),
            kept: Default::default(),
            kept_left: Default::default(),
            phase: Default::default(),
            next_phase: Default::default(),
        }
    }
}
