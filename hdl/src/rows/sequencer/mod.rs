//! Walks the rows of requests for the expander: which lanes of which row come next, and where messages end.
//!
//! The sequencer stands between the decoder and the expander. It takes requests in order, and emits their rows as
//! *tokens* of up to 64 bytes. The last token of a request is its `request_end`.
//!
//! ```text
//!            tables <- lane_write, set_write, dest_write
//!              |
//! request -> plan -> items -> route -> rows -> messages -> beats -> token
//!              |               ^ |      |
//!              +---> fetch ----+ |      +-> results of scans, to plan
//!                        |     | +---> column_item, column_resp
//!                    read_req read_resp (selector: bitmaps from ids)
//! ```
//!
//! - **plan** decides what must be known before the first token (set bits of bitmaps, pointers
//!   in bounds), judges it in the order of destinations, and then cuts the destinations into
//!   stretches of rows; several destinations take turns, so that the same stretch of a table is
//!   needed by all of them at about the same time.
//! - **fetch** reads the bitmaps and pointers of stretches ahead.
//! - **keys** reads the keys of rows instead, where ids are made from them; **partitioner** turns the keys into ids, so
//!   that all later stages see ids only.
//! - **route** hands out items together with what was read for them. The rows of a *column request* (short rows, the
//!   same for all destinations) are not walked here: its items leave as `column_item`, its bitmaps as `column_resp`,
//!   and each of its chunks is one token, a *header*.
//! - **selector** turns the ids of a partitioned region into bitmaps, once for each destination. The column path gets
//!   the ids of a chunk themselves, once for all destinations.
//! - **rows** emits one row a cycle, whatever the type of the region.
//! - **walker** replaces rows where a unit has an element of several regions (row mask `Element`), or where the
//!   elements of one region differ in length and lengths are needed.
//! - **kinds** ([`crate::rows::kinds`]) walks requests with kinds of columns, once all requests before have left the
//!   sequencer.
//! - **messages** packs units into messages, separately for each destination.
//! - **beats** cuts rows of more than 64 bytes.
//!
//! Throughput: a row a cycle where a row fits a beat, otherwise a beat a cycle. A stretch of rows costs 1 or 2 cycles
//! more, and takes at least 6 with several destinations. Up to 64 stretches are planned and read ahead. A turn of a
//! column request takes 2 cycles, each of its chunks 3 more.
//!
//! Latency: 8 cycles from a request to its first token if the request is one contiguous region for one destination, not
//! longer than a packet, and about 19 for others. A read, where there is something to read, comes on top, and a scan
//! costs another one. All streams may stall at any time.

pub mod beats;
pub mod fetch;
pub mod keys;
pub mod measure;
pub mod messages;
pub mod partitioner;
pub mod plan;
pub mod record;
#[cfg(test)]
mod reference;
pub mod route;
pub mod rows;
pub mod selector;
pub mod tables;
#[cfg(test)]
mod tests;
pub mod walker;

use crate::context::{ConfigWrite, QP};
use crate::primitive::{Flatten, Join, PromptFifo, ReadySlice, Restore, Skid};
use crate::request::{DEST_COUNT, DEST_INDEX, FunctionWrite, KeyWrite, LaneKind, SetKinds};
use crate::rows::columns::record::Counted;
use crate::rows::kinds::trail::MOST_RECORDS;
use crate::rows::kinds::{Kinds, Made};
use beats::Beats;
use drdma_emit::prelude::*;
use fetch::Fetch;
use keys::Keys;
use messages::Messages;
use partitioner::Partitioner;
use plan::Plan;
use record::{CONTEXT_BITS, CUT_BITS, Context, Cut, ITEM_BITS, Item, Read, TOKEN_BITS, Token};
use route::Route;
use rows::Rows;
use selector::Selector;
use tables::{DestInfo, SetInfo, Tables};
use walker::Walker;

/// Binary logarithm of how many messages of a request with kinds have their lengths kept: one UltraRAM.
const KINDS_LENGTHS: usize = 12;
/// How many records of chains of such a request are kept: four UltraRAMs.
const KINDS_RECORDS: usize = MOST_RECORDS;

/// Bits of a unit's token with its [`Cut`].
const UNIT_BITS: usize = TOKEN_BITS + CUT_BITS;

/// Sequencer of rows; see the module's documentation.
///
/// # Inputs
/// `request` stream; `lane_write`, `set_write`, `dest_write` (no back-pressure; complete before their request comes);
/// `read_resp` stream; `token_ready`; `column_min_rows`; `column_item_ready`, `column_resp_ready`, `column_idle`,
/// `column_failed`, `column_fail_index`, `column_counted`.
///
/// # Outputs
/// `request_ready`, `read_req` stream, `read_resp_ready`, `token` stream; `column_item` and
/// `column_resp` streams, `column_clear`.
#[derive(LogicBlock, Default)]
pub struct Sequencer {
    // Clock and reset.
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    // Requests.
    /// A request is offered.
    pub request_valid: Signal<In, Bit>,
    /// The sequencer takes the request in this cycle.
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
    /// The destinations have one strided set each, of one form, one behind the other in host memory.
    pub request_apart: Signal<In, Bit>,
    /// The request has kinds of columns.
    pub request_kinds: Signal<In, Bit>,
    /// Number of columns of a WRITE by columns; 0 for any other request.
    pub request_columns: Signal<In, Bits<5>>,
    /// A request has left the segmenter; requests leave in order.
    pub release_valid: Signal<In, Bit>,
    /// Queue pair whose state is wanted in the next cycle.
    pub error_next: Signal<Out, Bits<QP>>,
    /// The queue pair that `error_next` named in the cycle before is in error.
    pub qp_error: Signal<In, Bit>,
    /// Words that the host writes into tables.
    pub cfg: Flow<In, ConfigWrite>,
    // The decoder's tables.
    /// The decoder writes a lane.
    pub lane_write_valid: Signal<In, Bit>,
    /// Set that the lane belongs to.
    pub lane_write_set: Signal<In, Bits<11>>,
    /// Number of the lane, 0 to 15; the lanes of a set are written in order.
    pub lane_write_lane: Signal<In, Bits<4>>,
    /// Host address of the lane in row 0.
    pub lane_write_base: Signal<In, Bits<64>>,
    /// Bytes from one row to the next.
    pub lane_write_step: Signal<In, Bits<64>>,
    /// Bytes of the lane in a row.
    pub lane_write_len: Signal<In, Bits<32>>,
    /// How the entries of the lane lead to bytes.
    pub lane_write_kind: Signal<In, LaneKind>,
    /// The decoder writes a set.
    pub set_write_valid: Signal<In, Bit>,
    /// Number of the set.
    pub set_write_set: Signal<In, Bits<11>>,
    /// Type of the region, a `RegionType` of the ABI.
    pub set_write_kind: Signal<In, Bits<2>>,
    /// Bytes of an id at `set_write_addr`; 0 if there are no ids.
    pub set_write_ids: Signal<In, Bits<2>>,
    /// Bitmapped region: it has fetch rows.
    pub set_write_fetch: Signal<In, Bit>,
    /// Host address of the bitmap, ids or pointer array.
    pub set_write_addr: Signal<In, Bits<64>>,
    /// Periods, bits or pointers of the region; not used for a contiguous region.
    pub set_write_count: Signal<In, Bits<32>>,
    /// Lanes of the set, 1 to 16.
    pub set_write_lanes: Signal<In, Bits<5>>,
    /// Bytes of a row.
    pub set_write_row_bytes: Signal<In, Bits<36>>,
    /// Bit `j` is set if lane `j` starts a new beat.
    pub set_write_beat_start: Signal<In, Bits<16>>,
    /// Host address of the memory that pointers must stay in, or of the fetch rows.
    pub set_write_target_addr: Signal<In, Bits<64>>,
    /// Bytes of the memory that pointers must stay in.
    pub set_write_target_len: Signal<In, Bits<64>>,
    /// First byte of a record, relative to its pointer.
    pub set_write_low: Signal<In, Bits<64>>,
    /// End of a record, relative to its pointer.
    pub set_write_high: Signal<In, Bits<65>>,
    /// Further properties of a set with kinds of columns.
    pub set_write_kinds: Signal<In, SetKinds>,
    /// Ids are made from keys; `set_write_addr` is then the address of splitters.
    pub set_write_made: Signal<In, Bit>,
    /// How the ids of a request are made.
    pub function_write: Flow<In, FunctionWrite>,
    /// A key of a request.
    pub key_write: Flow<In, KeyWrite>,
    /// The decoder writes a destination.
    pub dest_write_valid: Signal<In, Bit>,
    /// Place of the destination in the ring of destinations.
    pub dest_write_dest: Signal<In, Bits<10>>,
    /// Queue pair of the destination.
    pub dest_write_qp: Signal<In, Bits<QP>>,
    /// Number of regions of the destination.
    pub dest_write_sets: Signal<In, Bits<5>>,
    /// Lane set of the destination's first region.
    pub dest_write_first_set: Signal<In, Bits<11>>,
    /// Opcode of the request.
    pub dest_write_opcode: Signal<In, Bits<2>>,
    /// Transport of the queue pair.
    pub dest_write_transport: Signal<In, Bits<2>>,
    /// Binary logarithm of the path MTU in bytes.
    pub dest_write_log_mtu: Signal<In, Bits<4>>,
    /// The row mask is `Element`.
    pub dest_write_element_mask: Signal<In, Bit>,
    /// Units of a message.
    pub dest_write_rows_per_message: Signal<In, Bits<32>>,
    /// Id of the destination's rows, where its set has ids.
    pub dest_write_partition: Signal<In, Bits<16>>,
    /// The destination has one set, with the lanes and the count of the request's first destination.
    pub dest_write_alike: Signal<In, Bit>,
    /// Least number of rows of a column request; 0 turns column requests off.
    pub column_min_rows: Signal<In, Bits<32>>,
    // Reads of bitmaps and pointer arrays.
    /// A read is offered.
    pub read_req_valid: Signal<Out, Bit>,
    /// `host_read` takes the read in this cycle.
    pub read_req_ready: Signal<In, Bit>,
    /// Host address of the read.
    pub read_req_addr: Signal<Out, Bits<64>>,
    /// Bytes of the read, 1 to 4,096.
    pub read_req_bytes: Signal<Out, Bits<13>>,
    /// A beat of 64 bytes of an answer is offered.
    pub read_resp_valid: Signal<In, Bit>,
    /// The sequencer takes the beat of the answer in this cycle.
    pub read_resp_ready: Signal<Out, Bit>,
    /// Bytes of the answer.
    pub read_resp_data: Signal<In, Bits<512>>,
    /// The beat is the last one of its read.
    pub read_resp_last: Signal<In, Bit>,
    /// The read failed.
    pub read_resp_error: Signal<In, Bit>,
    // Tokens.
    /// A token is offered.
    pub token_valid: Signal<Out, Bit>,
    /// The expander takes the token in this cycle.
    pub token_ready: Signal<In, Bit>,
    /// Lane set of the token.
    pub token_set: Signal<Out, Bits<11>>,
    /// First lane, 0 to 15.
    pub token_first: Signal<Out, Bits<4>>,
    /// Last lane, 0 to 15.
    pub token_last: Signal<Out, Bits<4>>,
    /// The token is a piece of one lane: `offset` and `bytes` say which.
    pub token_piece: Signal<Out, Bit>,
    /// With `piece`: offset of the piece in its lane, in bytes.
    pub token_offset: Signal<Out, Bits<32>>,
    /// Bytes of the beat, 0 to 64.
    pub token_bytes: Signal<Out, Bits<7>>,
    /// Number of the row in its region.
    pub token_row: Signal<Out, Bits<32>>,
    /// Pointer of the row, for a pointer-mapped region.
    pub token_pointer: Signal<Out, Bits<64>>,
    /// Place of the destination in the ring of destinations.
    pub token_dest: Signal<Out, Bits<10>>,
    /// Slot of the request.
    pub token_slot: Signal<Out, Bits<8>>,
    /// The token is the last one of its unit.
    pub token_unit_end: Signal<Out, Bit>,
    /// The token is the last one of its message.
    pub token_message_end: Signal<Out, Bit>,
    /// The token is the first one of its message.
    pub token_message_start: Signal<Out, Bit>,
    /// With `message_start`: bytes of a WRITE's message that can be longer than a packet; else 0.
    pub token_message_bytes: Signal<Out, Bits<32>>,
    /// The token is the first one of a chunk.
    pub token_chunk_start: Signal<Out, Bit>,
    /// With `chunk_start`: estimated number of 256 B blocks that the chunk needs.
    pub token_chunk_blocks: Signal<Out, Bits<8>>,
    /// The request ends; the token has no bytes.
    pub token_request_end: Signal<Out, Bit>,
    /// The token is the last one of its destination.
    pub token_dest_end: Signal<Out, Bit>,
    /// With `request_end`: status of the request.
    pub token_status: Signal<Out, Bits<8>>,
    /// With `request_end`: the destination that failed.
    pub token_bad_dest: Signal<Out, Bits<DEST_COUNT>>,
    /// The token is a header: a chunk of a column request begins with row `row`; the token has all lanes and no bytes.
    pub token_column: Signal<Out, Bit>,
    /// With `column`: rows of the chunk.
    pub token_rows: Signal<Out, Bits<13>>,
    /// Made bytes of tokens: bytes that lie nowhere in host memory.
    pub made: Stream<Out, Made>,
    // The column path.
    /// A stretch of a column request is offered.
    pub column_item_valid: Signal<Out, Bit>,
    /// The column path takes the stretch in this cycle.
    pub column_item_ready: Signal<In, Bit>,
    /// Item of the stretch.
    pub column_item_item: Signal<Out, Item>,
    /// What the rows of the stretch have in common.
    pub column_item_context: Signal<Out, Context>,
    /// A beat of 64 bytes of a bitmap or of ids is offered, in the order of the stretches.
    pub column_resp_valid: Signal<Out, Bit>,
    /// The column path takes the beat in this cycle.
    pub column_resp_ready: Signal<In, Bit>,
    /// Bytes of the bitmap or the ids.
    pub column_resp_data: Signal<Out, Bits<512>>,
    /// The read of the beat failed.
    pub column_resp_error: Signal<Out, Bit>,
    /// Bytes of an id; 0 if the beat is of a bitmap.
    pub column_resp_ids: Signal<Out, Bits<2>>,
    /// The beat holds fetch rows.
    pub column_resp_fetch: Signal<Out, Bit>,
    /// The beat is of a stretch of a bitmap that is kept for several chunks.
    pub column_resp_kept: Signal<Out, Bit>,
    /// The beat is the last one of its stretch.
    pub column_resp_last: Signal<Out, Bit>,
    /// The column path has used up all stretches that it took; low from the cycle after it takes one.
    pub column_idle: Signal<In, Bit>,
    /// A bitmap of the request could not be read; held until `column_clear`.
    pub column_failed: Signal<In, Bit>,
    /// With `column_failed`: the first destination whose bitmap could not be read.
    pub column_fail_index: Signal<In, Bits<DEST_INDEX>>,
    /// The column request ends in this cycle.
    pub column_clear: Signal<Out, Bit>,
    /// The column path has counted the rows of a destination.
    pub column_counted: Flow<In, Counted>,

    tables: Tables,
    set_info: Signal<Local, SetInfo>,
    dest_info: Signal<Local, DestInfo>,
    plan: Plan,
    fetch: Fetch,
    keys: Keys,
    partitioner: Partitioner,
    /// The answer at hand goes to the column path.
    for_columns: Signal<Local, Bit>,
    plain_read: Signal<Local, Read>,
    item_in: Flatten<Item, ITEM_BITS>,
    items: PromptFifo<ITEM_BITS, 6, 7>,
    item_out: Restore<Item, ITEM_BITS>,
    context_in: Flatten<Context, CONTEXT_BITS>,
    contexts: PromptFifo<CONTEXT_BITS, 6, 7>,
    context_out: Restore<Context, CONTEXT_BITS>,
    route: Route,
    answers: Skid<518>,
    selector: Selector,
    rows: Rows,
    walker: Walker,
    kinds: Kinds<KINDS_LENGTHS, KINDS_RECORDS>,
    /// Number of requests whose end is planned and whose last token has not left.
    ends: DFF<Bits<9>>,
    end_planned: Signal<Local, Bit>,
    end_left: Signal<Local, Bit>,
    messages: Messages,
    unit_in: Flatten<Token, TOKEN_BITS>,
    cut_in: Flatten<Cut, CUT_BITS>,
    unit: Join<TOKEN_BITS, CUT_BITS, UNIT_BITS>,
    /// Register slice that keeps the ready of the beat cutter out of the path of rows.
    units: ReadySlice<UNIT_BITS>,
    unit_out: Restore<Token, TOKEN_BITS>,
    cut_out: Restore<Cut, CUT_BITS>,
    beats: Beats,
    token_in: Flatten<Token, TOKEN_BITS>,
    tokens: ReadySlice<TOKEN_BITS>,
    tokens_out: Restore<Token, TOKEN_BITS>,
    /// Takes bit 0 of the opcode (with immediate data), which the sequencer does not use.
    unused: Signal<Local, Bit>,
}

impl Logic for Sequencer {
    #[hdl_gen]
    fn update(&mut self) {
        // Tables.
        self.tables.lane_write_valid.next = self.lane_write_valid.val();
        self.tables.lane_write_set.next = self.lane_write_set.val();
        self.tables.lane_write_lane.next = self.lane_write_lane.val();
        self.tables.lane_write_base.next = self.lane_write_base.val();
        self.tables.lane_write_step.next = self.lane_write_step.val();
        self.tables.lane_write_len.next = self.lane_write_len.val();
        self.set_info.next.kind = self.set_write_kind.val();
        self.set_info.next.addr = self.set_write_addr.val();
        self.set_info.next.count = self.set_write_count.val();
        self.set_info.next.lanes = self.set_write_lanes.val();
        self.set_info.next.row_bytes = self.set_write_row_bytes.val();
        self.set_info.next.ids = self.set_write_ids.val();
        self.set_info.next.fetch = self.set_write_fetch.val();
        self.set_info.next.made = self.set_write_made.val();
        self.set_info.next.starts = self.set_write_beat_start.val();
        self.tables.set_write_valid.next = self.set_write_valid.val();
        self.tables.set_write_set.next = self.set_write_set.val();
        self.tables.set_write_info.next = self.set_info.val();
        self.tables.set_write_target_addr.next = self.set_write_target_addr.val();
        self.tables.set_write_target_len.next = self.set_write_target_len.val();
        self.tables.set_write_low.next = self.set_write_low.val();
        self.tables.set_write_high.next = self.set_write_high.val();
        self.dest_info.next.sets = self.dest_write_sets.val();
        self.dest_info.next.first_set = self.dest_write_first_set.val();
        self.dest_info.next.is_write = self.dest_write_opcode.val().get_bit(1);
        self.unused.next = self.dest_write_opcode.val().get_bit(0);
        self.dest_info.next.is_ud = self.dest_write_transport.val() == 2;
        self.dest_info.next.log_mtu = self.dest_write_log_mtu.val();
        self.dest_info.next.element_mask = self.dest_write_element_mask.val();
        self.dest_info.next.units = self.dest_write_rows_per_message.val();
        self.dest_info.next.alike = self.dest_write_alike.val();
        self.dest_info.next.partition = self.dest_write_partition.val();
        self.tables.dest_write_valid.next = self.dest_write_valid.val();
        self.tables.dest_write_dest.next = self.dest_write_dest.val();
        self.tables.dest_write_info.next = self.dest_info.val();
        self.tables.dest_write_qp.next = self.dest_write_qp.val();
        self.error_next.next = self.tables.dest_qp.val();
        self.tables.dest_read.next = self.plan.dest_read.val();
        self.tables.set_read.next = self.plan.set_read.val();
        if self.plan.kinds_busy.val() {
            self.tables.dest_read.next = self.kinds.dest_read.val();
            self.tables.set_read.next = self.kinds.set_read.val();
        }

        // Requests with kinds of columns.
        self.cfg.join(&mut self.kinds.cfg);
        self.kinds.lane_write.valid.next = self.lane_write_valid.val();
        self.kinds.lane_write.set.next = self.lane_write_set.val();
        self.kinds.lane_write.lane.next = self.lane_write_lane.val();
        self.kinds.lane_write.base.next = self.lane_write_base.val();
        self.kinds.lane_write.step.next = self.lane_write_step.val();
        self.kinds.lane_write.len.next = self.lane_write_len.val();
        self.kinds.lane_write.inline.next = false;
        self.kinds.lane_kind.next = self.lane_write_kind.val();
        self.kinds.set_valid.next = self.set_write_valid.val();
        self.kinds.set_index.next = self.set_write_set.val();
        self.kinds.set_kinds.next = self.set_write_kinds.val();
        self.kinds.start.next = self.plan.kinds_start.val();
        self.kinds.slot.next = self.plan.kinds_slot.val();
        self.kinds.dests.next = self.plan.kinds_dests.val();
        self.kinds.first_dest.next = self.plan.kinds_first_dest.val();
        self.kinds.dest_info.next = self.tables.dest_info.val();
        self.kinds.set_info.next = self.tables.set_info.val();
        self.kinds.bounds.next = self.tables.bounds.val();
        self.plan.kinds_done.next = self.kinds.done.val();
        self.plan.kinds_status.next = self.kinds.status.val();
        self.plan.kinds_bad_dest.next = self.kinds.bad_dest.val();
        self.kinds.made.join(&mut self.made);
        // Everything that was planned before has left, and all that was read for it.
        self.end_planned.next = self.plan.finished.val();
        self.end_left.next = self.tokens.out_valid.val()
            && self.token_ready.val()
            && self.tokens_out.record.val().request_end;
        if self.end_planned.val() && !self.end_left.val() {
            self.ends.d.next = self.ends.q.val() + 1;
        } else if !self.end_planned.val() && self.end_left.val() {
            self.ends.d.next = self.ends.q.val() - 1;
        }
        self.plan.drained.next = !self.ends.q.val().any()
            && self.route.quiet.val()
            && !self.fetch.busy.val()
            && !self.keys.busy.val();
        if self.rst.val() {
            self.ends.d.next = 0.into();
        }

        // Requests to items.
        self.plan.request_valid.next = self.request_valid.val();
        self.plan.request_slot.next = self.request_slot.val();
        self.plan.request_dests.next = self.request_dests.val();
        self.plan.request_first_dest.next = self.request_first_dest.val();
        self.plan.request_status.next = self.request_status.val();
        self.plan.request_bad_dest.next = self.request_bad_dest.val();
        self.plan.request_apart.next = self.request_apart.val();
        self.plan.request_kinds.next = self.request_kinds.val();
        self.plan.request_columns.next = self.request_columns.val();
        self.plan.release_valid.next = self.release_valid.val();
        self.plan.qp_error.next = self.qp_error.val();
        self.request_ready.next = self.plan.request_ready.val();
        self.plan.dest_info.next = self.tables.dest_info.val();
        self.plan.set_info.next = self.tables.set_info.val();
        self.plan.bounds.next = self.tables.bounds.val();
        self.plan.span.next = self.tables.span.val();
        self.plan.steps.next = self.tables.steps.val();
        self.plan.overlaps.next = self.tables.overlaps.val();
        self.plan.column_min_rows.next = self.column_min_rows.val();
        // A result comes from the row source or from the column path, never from both.
        self.plan.result_valid.next =
            self.rows.result_valid.val() || self.column_counted.valid.val();
        self.plan.result_set.next = self.rows.result_set.val();
        self.plan.result_count.next = self.rows.result_count.val();
        self.plan.result_bad.next = self.rows.result_bad.val();
        if self.column_counted.valid.val() {
            self.plan.result_set.next = self.column_counted.set.val();
            self.plan.result_count.next = self.column_counted.count.val();
            self.plan.result_bad.next = self.column_counted.bad.val();
        }

        // Reads.
        // Keys and everything else are read one stretch after the other.
        self.fetch.stretch_valid.next =
            self.plan.stretch_valid.val() && !self.plan.stretch_made.val() && !self.keys.busy.val();
        self.fetch.stretch_addr.next = self.plan.stretch_addr.val();
        self.fetch.stretch_first.next = self.plan.stretch_first.val();
        self.fetch.stretch_rows.next = self.plan.stretch_rows.val();
        self.fetch.stretch_bitmap.next = self.plan.stretch_bitmap.val();
        self.fetch.stretch_ids.next = self.plan.stretch_ids.val();
        self.fetch.stretch_partition.next = self.plan.stretch_partition.val();
        self.fetch.stretch_column.next = self.plan.stretch_column.val();
        self.fetch.stretch_fetch.next = self.plan.stretch_fetch.val();
        self.fetch.stretch_kept.next = self.plan.stretch_kept.val();
        self.fetch.stretch_fetch_addr.next = self.plan.stretch_fetch_addr.val();
        self.walker.stretch_ready.next = self.fetch.stretch_ready.val() && !self.keys.busy.val();
        self.plan.stretch_ready.next = self.walker.stretch_ready.val();
        if self.walker.stretch_valid.val() {
            // The walker is reading: the plan waits.
            self.fetch.stretch_valid.next = !self.keys.busy.val();
            self.fetch.stretch_addr.next = self.walker.stretch_addr.val();
            self.fetch.stretch_first.next = self.walker.stretch_first.val();
            self.fetch.stretch_rows.next = self.walker.stretch_rows.val();
            self.fetch.stretch_bitmap.next = self.walker.stretch_bitmap.val();
            self.fetch.stretch_ids.next = 0.into();
            self.fetch.stretch_partition.next = 0.into();
            self.fetch.stretch_column.next = false;
            self.fetch.stretch_fetch.next = false;
            self.fetch.stretch_kept.next = false;
            self.plan.stretch_ready.next = false;
        } else if self.plan.stretch_made.val() {
            self.plan.stretch_ready.next = self.keys.stretch.ready.val() && !self.fetch.busy.val();
        }
        self.function_write.join(&mut self.keys.function_write);
        self.key_write.join(&mut self.keys.key_write);
        self.keys.stretch.valid.next = self.plan.stretch_valid.val()
            && self.plan.stretch_made.val()
            && !self.walker.stretch_valid.val()
            && !self.fetch.busy.val();
        self.keys.stretch.slot.next = self.plan.stretch_slot.val();
        self.keys.stretch.begins.next = self.plan.stretch_begins.val();
        self.keys.stretch.addr.next = self.plan.stretch_addr.val();
        self.keys.stretch.first.next = self.plan.stretch_first.val();
        self.keys.stretch.rows.next = self.plan.stretch_rows.val();
        self.keys.stretch.ids.next = self.plan.stretch_ids.val();
        self.keys.stretch.partition.next = self.plan.stretch_partition.val();
        self.keys.stretch.column.next = self.plan.stretch_column.val();
        self.keys.function.join(&mut self.partitioner.function);
        self.route.req_valid.next = self.fetch.req_valid.val();
        self.plain_read.next.made = false;
        self.plain_read.next.begins = false;
        self.plain_read.next.splitters = false;
        self.plain_read.next.validity = false;
        self.plain_read.next.nullable = false;
        self.plain_read.next.first = 0.into();
        self.plain_read.next.log_width = 0.into();
        self.plain_read.next.key_type = 0.into();
        self.plain_read.next.opens = false;
        self.plain_read.next.closes = false;
        self.plain_read.next.rows = 0.into();
        self.plain_read.next.purpose = self.fetch.req_purpose.val();
        self.route.req_read.next = self.plain_read.val();
        self.route.req_ready.next = self.read_req_ready.val();
        self.fetch.req_ready.next = self.route.req_taken.val();
        self.read_req_valid.next = self.route.req_offered.val();
        self.read_req_addr.next = self.fetch.req_addr.val();
        self.read_req_bytes.next = self.fetch.req_bytes.val();
        self.keys.request.ready.next = self.route.req_taken.val();
        if self.keys.busy.val() {
            self.route.req_valid.next = self.keys.request.valid.val();
            self.route.req_read.next = self.keys.request.read.val();
            self.read_req_addr.next = self.keys.request.addr.val();
            self.read_req_bytes.next = self.keys.request.bytes.val();
        }
        self.kinds.read.ready.next = false;
        if self.plan.kinds_busy.val() {
            self.read_req_valid.next = self.kinds.read.valid.val();
            self.read_req_addr.next = self.kinds.read.addr.val();
            self.read_req_bytes.next = self.kinds.read.bytes.val();
            self.kinds.read.ready.next = self.read_req_ready.val();
        }

        // Items wait for what is read for them; both FIFOs advance together.
        self.item_in.record.next = self.plan.item.val();
        self.context_in.record.next = self.plan.item_context.val();
        self.items.in_valid.next = self.plan.item_valid.val();
        self.items.in_data.next = self.item_in.bits.val();
        self.contexts.in_valid.next = self.plan.item_valid.val();
        self.contexts.in_data.next = self.context_in.bits.val();
        self.plan.item_ready.next = self.items.in_ready.val();
        self.item_out.bits.next = self.items.out_data.val();
        self.context_out.bits.next = self.contexts.out_data.val();
        self.route.item_valid.next = self.items.out_valid.val();
        self.route.item.next = self.item_out.record.val();
        self.items.out_ready.next = self.route.item_ready.val();
        self.contexts.out_ready.next = self.items.out_ready.val();

        // Items to rows: the row source and the walker work one after the other.
        self.route.rows_ready.next = self.rows.item_ready.val();
        self.route.walker_ready.next = self.walker.item_ready.val();
        self.route.walker_busy.next = self.walker.busy.val();
        self.rows.item_valid.next = self.route.rows_valid.val();
        self.rows.item.next = self.item_out.record.val();
        self.rows.item_context.next = self.context_out.record.val();
        self.route.resp_valid.next = self.read_resp_valid.val() && !self.plan.kinds_busy.val();
        self.route.resp_last.next = self.read_resp_last.val();
        self.read_resp_ready.next = self.route.resp_ready.val();
        self.kinds.beat.valid.next = self.read_resp_valid.val() && self.plan.kinds_busy.val();
        self.kinds.beat.data.next = self.read_resp_data.val();
        self.kinds.beat.last.next = self.read_resp_last.val();
        self.kinds.beat.error.next = self.read_resp_error.val();
        if self.plan.kinds_busy.val() {
            self.read_resp_ready.next = self.kinds.beat.ready.val();
        }
        // Keys become ids; all that follows sees ids only.
        self.partitioner.input.valid.next = self.route.told_valid.val();
        self.partitioner.input.data.next = self.read_resp_data.val();
        self.partitioner.input.error.next = self.read_resp_error.val();
        self.partitioner.input.last.next = self.read_resp_last.val();
        self.partitioner.input.read.next = self.route.resp_read.val();
        self.route.told_ready.next = self.partitioner.input.ready.val();
        self.for_columns.next = self.partitioner.output.purpose.val().column;
        self.partitioner.output.ready.next = self.selector.in_ready.val();
        if self.for_columns.val() {
            self.partitioner.output.ready.next = self.answers.in_ready.val();
        }
        self.selector.in_valid.next =
            self.partitioner.output.valid.val() && !self.for_columns.val();
        self.selector.in_data.next = self.partitioner.output.data.val();
        self.selector.in_error.next = self.partitioner.output.error.val();
        self.selector.in_purpose.next = self.partitioner.output.purpose.val();
        self.selector.out_ready.next = self.rows.resp_ready.val() || self.walker.wants.val();
        self.rows.resp_valid.next = self.selector.out_valid.val() && !self.walker.wants.val();
        self.rows.resp_data.next = self.selector.out_data.val();
        self.rows.resp_error.next = self.selector.out_error.val();
        self.rows.fail.next = self.walker.fail.val() || self.route.fail.val();
        self.rows.fail_dest.next = self.walker.fail_dest.val();
        if self.route.fail.val() {
            self.rows.fail_dest.next = self.column_fail_index.val();
        }
        self.walker.item_valid.next = self.route.walker_valid.val();
        self.walker.item.next = self.item_out.record.val();
        self.walker.item_context.next = self.context_out.record.val();
        self.walker.may_start.next = self.rows.idle.val() && !self.rows.row_valid.val();
        self.walker.failed.next = self.rows.has_failed.val();
        self.walker.lane_write_valid.next = self.lane_write_valid.val();
        self.walker.lane_write_set.next = self.lane_write_set.val();
        self.walker.lane_write_lane.next = self.lane_write_lane.val();
        self.walker.lane_write_len.next = self.lane_write_len.val();
        self.walker.resp_valid.next = self.selector.out_valid.val();
        self.walker.resp_data.next = self.selector.out_data.val();
        self.walker.resp_error.next = self.selector.out_error.val();
        self.plan.walked_valid.next = self.walker.done.val();
        self.plan.walked_too_long.next = self.walker.too_long.val();

        // Items to the column path.
        self.column_item_valid.next = self.route.column_valid.val();
        self.route.column_ready.next = self.column_item_ready.val();
        self.column_item_item.next = self.item_out.record.val();
        self.column_item_context.next = self.context_out.record.val();
        self.route.column_idle.next = self.column_idle.val();
        self.route.column_failed.next = self.column_failed.val();
        self.column_clear.next = self.route.column_clear.val();
        self.answers.in_valid.next = self.partitioner.output.valid.val() && self.for_columns.val();
        self.answers.in_data.next =
            (bit_cast::<518, 1>(self.partitioner.output.error.val().into()) << 512)
                | (bit_cast::<518, 2>(self.partitioner.output.purpose.val().ids) << 513)
                | (bit_cast::<518, 1>(self.partitioner.output.purpose.val().last.into()) << 515)
                | (bit_cast::<518, 1>(self.partitioner.output.purpose.val().fetch.into()) << 516)
                | (bit_cast::<518, 1>(self.partitioner.output.purpose.val().kept.into()) << 517)
                | bit_cast::<518, 512>(self.partitioner.output.data.val());
        self.column_resp_valid.next = self.answers.out_valid.val();
        self.column_resp_data.next = self.answers.out_data.val().get_bits::<512>(0);
        self.column_resp_error.next = self.answers.out_data.val().get_bit(512);
        self.column_resp_ids.next = self.answers.out_data.val().get_bits::<2>(513);
        self.column_resp_last.next = self.answers.out_data.val().get_bit(515);
        self.column_resp_fetch.next = self.answers.out_data.val().get_bit(516);
        self.column_resp_kept.next = self.answers.out_data.val().get_bit(517);
        self.answers.out_ready.next = self.column_resp_ready.val();

        // Rows to messages.
        self.messages.row_valid.next = self.rows.row_valid.val();
        self.messages.row_context.next = self.rows.row_context.val();
        self.messages.row.next = self.rows.row.val();
        if self.walker.row_waits.val() {
            self.messages.row_valid.next = self.walker.row_valid.val();
            self.messages.row_context.next = self.walker.row_context.val();
            self.messages.row.next = self.walker.row.val();
        }
        self.rows.row_ready.next = self.messages.row_ready.val() && !self.walker.row_waits.val();
        self.walker.row_ready.next = self.messages.row_ready.val();

        // Units to beats.
        self.beats.length_write.next = self.tables.length_write.val();
        self.beats.length_address.next = self.tables.length_address.val();
        self.beats.length_data.next = self.tables.length_data.val();
        self.unit_in.record.next = self.messages.token.val();
        self.cut_in.record.next = self.messages.token_cut.val();
        self.unit.low.next = self.unit_in.bits.val();
        self.unit.high.next = self.cut_in.bits.val();
        self.units.in_valid.next = self.messages.token_valid.val();
        self.units.in_data.next = self.unit.whole.val();
        self.messages.token_ready.next = self.units.in_ready.val();
        self.unit_out.bits.next = self.units.out_data.val().get_bits::<TOKEN_BITS>(0);
        self.cut_out.bits.next = self.units.out_data.val().get_bits::<CUT_BITS>(TOKEN_BITS);
        self.beats.in_valid.next = self.units.out_valid.val();
        self.beats.in_token.next = self.unit_out.record.val();
        self.beats.in_cut.next = self.cut_out.record.val();
        self.units.out_ready.next = self.beats.in_ready.val();

        // Tokens leave through a register slice.
        self.token_in.record.next = self.beats.token.val();
        self.tokens.in_valid.next = self.beats.token_valid.val();
        if self.plan.kinds_busy.val() {
            self.token_in.record.next = self.kinds.token.val();
            self.tokens.in_valid.next = self.kinds.token_valid.val();
        }
        self.kinds.token_ready.next = self.tokens.in_ready.val() && self.plan.kinds_busy.val();
        self.tokens.in_data.next = self.token_in.bits.val();
        self.beats.token_ready.next = self.tokens.in_ready.val() && !self.plan.kinds_busy.val();
        self.token_valid.next = self.tokens.out_valid.val();
        self.tokens.out_ready.next = self.token_ready.val();
        self.tokens_out.bits.next = self.tokens.out_data.val();
        self.token_set.next = self.tokens_out.record.val().set;
        self.token_first.next = self.tokens_out.record.val().first;
        self.token_last.next = self.tokens_out.record.val().last;
        self.token_piece.next = self.tokens_out.record.val().piece;
        self.token_offset.next = self.tokens_out.record.val().offset;
        self.token_bytes.next = self.tokens_out.record.val().bytes;
        self.token_row.next = self.tokens_out.record.val().row;
        self.token_pointer.next = self.tokens_out.record.val().pointer;
        self.token_dest.next = self.tokens_out.record.val().dest;
        self.token_slot.next = self.tokens_out.record.val().slot;
        self.token_unit_end.next = self.tokens_out.record.val().unit_end;
        self.token_message_end.next = self.tokens_out.record.val().message_end;
        self.token_message_start.next = self.tokens_out.record.val().message_start;
        self.token_message_bytes.next = self.tokens_out.record.val().message_bytes;
        self.token_chunk_start.next = self.tokens_out.record.val().chunk_start;
        self.token_chunk_blocks.next = self.tokens_out.record.val().chunk_blocks;
        self.token_request_end.next = self.tokens_out.record.val().request_end;
        self.token_dest_end.next = self.tokens_out.record.val().dest_end;
        self.token_status.next = self.tokens_out.record.val().status;
        self.token_bad_dest.next = self.tokens_out.record.val().bad_dest;
        self.token_column.next = self.tokens_out.record.val().column;
        self.token_rows.next = self.tokens_out.record.val().rows;
    }
}
