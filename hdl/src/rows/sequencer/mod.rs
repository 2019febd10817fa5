//! Walks the rows of requests: which lanes of which row come next, and where messages end.
//!
//! The sequencer stands between the decoder and the expander. It takes requests in order, and
//! gives their rows as *tokens* of up to 64 bytes, a request's `request_end` last:
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
//! - **fetch** reads the stretches' bitmaps and pointers ahead.
//! - **keys** reads the keys of rows instead, where ids are made of them; **partitioner** makes these of what
//!   was read, so that all others see ids.
//! - **route** hands out items and what was read for them. The rows of a *column request* (short
//!   rows, the same for all destinations) are not walked here: its items leave as `column_item`, its
//!   bitmaps as `column_resp`, and of each of its chunks there is one token, a *header*.
//! - **selector** makes bitmaps of what was read of a partitioned region's ids, for each
//!   destination anew; the column path gets the ids of a chunk themselves, once for all.
//! - **rows** gives one row a cycle, whatever the region's type.
//! - **walker** takes the place of rows where a unit has an element of several regions (row mask
//!   Element), or elements of one region differ in length and lengths are needed.
//! - **kinds** ([`crate::rows::kinds`]) walks requests with kinds of columns, when nothing is on its way of those before.
//! - **messages** packs units into messages, for each destination by itself.
//! - **beats** cuts rows of more than 64 bytes.
//!
//! Throughput: a row a cycle where a row fits a beat, otherwise a beat a cycle; a stretch of rows
//! costs a cycle or 2 more, and with several destinations takes at least 6. Up to 64 stretches are
//! planned and read ahead. Latency: 8 cycles from a request to its first token if that is one contiguous
//! region for one destination, not longer than a packet, about 19 for others, and that of a read where there is something to read; a scan takes that of another read. A column request's
//! turns take 2 cycles each, a chunk of them 3 more. All streams may stall at any time.

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

/// Binary logarithm of the messages of a request with kinds whose lengths are kept: an UltraRAM.
const KINDS_LENGTHS: usize = 12;

/// A unit's token, and how to cut it.
const UNIT_BITS: usize = TOKEN_BITS + CUT_BITS;

/// The block: see the module's head.
///
/// # Inputs
/// `request` stream; `lane_write`, `set_write`, `dest_write` (no back-pressure; complete when
/// their request comes); `read_resp` stream; `token_ready`; `column_min_rows`; `column_item_ready`,
/// `column_resp_ready`, `column_idle`, `column_failed`, `column_fail_index`, `column_counted`.
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
    /// It is taken.
    pub request_ready: Signal<Out, Bit>,
    /// Its slot.
    pub request_slot: Signal<In, Bits<8>>,
    /// Destinations; with a status: 1 if the queue pair of `bad_dest` fails, else 0.
    pub request_dests: Signal<In, Bits<DEST_COUNT>>,
    /// The first one's place in the ring of destinations.
    pub request_first_dest: Signal<In, Bits<10>>,
    /// Its status, if it is not to be executed.
    pub request_status: Signal<In, Bits<8>>,
    /// The destination that failed.
    pub request_bad_dest: Signal<In, Bits<DEST_COUNT>>,
    /// Its destinations have one strided set each, of one form, one behind the other in host memory.
    pub request_apart: Signal<In, Bit>,
    /// It has kinds of columns.
    pub request_kinds: Signal<In, Bit>,
    /// It is a WRITE by columns, of so many; else 0.
    pub request_columns: Signal<In, Bits<5>>,
    /// A request has left the segmenter; requests leave in order.
    pub release_valid: Signal<In, Bit>,
    /// The queue pair whose state is asked for in the next cycle.
    pub error_next: Signal<Out, Bits<QP>>,
    /// That of the cycle before is in error.
    pub qp_error: Signal<In, Bit>,
    /// Words that the host writes into tables.
    pub cfg: Flow<In, ConfigWrite>,
    // The decoder's tables.
    /// A lane is written.
    pub lane_write_valid: Signal<In, Bit>,
    /// Its set.
    pub lane_write_set: Signal<In, Bits<11>>,
    /// The lane; lanes of a set are written in order.
    pub lane_write_lane: Signal<In, Bits<4>>,
    /// Where it lies in row 0.
    pub lane_write_base: Signal<In, Bits<64>>,
    /// Bytes from a row to the next.
    pub lane_write_step: Signal<In, Bits<64>>,
    /// Bytes.
    pub lane_write_len: Signal<In, Bits<32>>,
    /// How its entries lead to bytes.
    pub lane_write_kind: Signal<In, LaneKind>,
    /// A set is written.
    pub set_write_valid: Signal<In, Bit>,
    /// The set.
    pub set_write_set: Signal<In, Bits<11>>,
    /// The region's type.
    pub set_write_kind: Signal<In, Bits<2>>,
    /// Bytes of an id at `set_write_addr`; 0: there are none.
    pub set_write_ids: Signal<In, Bits<2>>,
    /// Bitmapped: there are fetch rows.
    pub set_write_fetch: Signal<In, Bit>,
    /// Bitmap, ids or pointer array.
    pub set_write_addr: Signal<In, Bits<64>>,
    /// Periods, bits or pointers; not looked at for a contiguous region.
    pub set_write_count: Signal<In, Bits<32>>,
    /// Lanes, 1 to 16.
    pub set_write_lanes: Signal<In, Bits<5>>,
    /// Bytes of a row.
    pub set_write_row_bytes: Signal<In, Bits<36>>,
    /// Lanes that start a new beat.
    pub set_write_beat_start: Signal<In, Bits<16>>,
    /// The memory that pointers must stay in, or the fetch rows.
    pub set_write_target_addr: Signal<In, Bits<64>>,
    /// Its bytes.
    pub set_write_target_len: Signal<In, Bits<64>>,
    /// A record's first byte, relative to its pointer.
    pub set_write_low: Signal<In, Bits<64>>,
    /// A record's end, relative to its pointer.
    pub set_write_high: Signal<In, Bits<65>>,
    /// With kinds of columns: what it has beside others.
    pub set_write_kinds: Signal<In, SetKinds>,
    /// Ids are made from keys; `set_write_addr` is that of splitters.
    pub set_write_made: Signal<In, Bit>,
    /// How the ids of a request are made.
    pub function_write: Flow<In, FunctionWrite>,
    /// A key of a request.
    pub key_write: Flow<In, KeyWrite>,
    /// A destination is written.
    pub dest_write_valid: Signal<In, Bit>,
    /// Its place.
    pub dest_write_dest: Signal<In, Bits<10>>,
    /// Its queue pair.
    pub dest_write_qp: Signal<In, Bits<QP>>,
    /// Regions.
    pub dest_write_sets: Signal<In, Bits<5>>,
    /// The first one's set.
    pub dest_write_first_set: Signal<In, Bits<11>>,
    /// The opcode.
    pub dest_write_opcode: Signal<In, Bits<2>>,
    /// The transport.
    pub dest_write_transport: Signal<In, Bits<2>>,
    /// Binary logarithm of the path MTU.
    pub dest_write_log_mtu: Signal<In, Bits<4>>,
    /// Row mask Element.
    pub dest_write_element_mask: Signal<In, Bit>,
    /// Units of a message.
    pub dest_write_rows_per_message: Signal<In, Bits<32>>,
    /// The id of its rows, where its set has ids.
    pub dest_write_partition: Signal<In, Bits<16>>,
    /// It has one set, with the lanes and the count of the request's first destination.
    pub dest_write_alike: Signal<In, Bit>,
    /// The fewest rows of a column request; 0: there are none.
    pub column_min_rows: Signal<In, Bits<32>>,
    // Reads of bitmaps and pointer arrays.
    /// A read is offered.
    pub read_req_valid: Signal<Out, Bit>,
    /// It is taken.
    pub read_req_ready: Signal<In, Bit>,
    /// Address.
    pub read_req_addr: Signal<Out, Bits<64>>,
    /// Bytes, 1 to 4,096.
    pub read_req_bytes: Signal<Out, Bits<13>>,
    /// 64 bytes of an answer are offered.
    pub read_resp_valid: Signal<In, Bit>,
    /// They are taken.
    pub read_resp_ready: Signal<Out, Bit>,
    /// The bytes.
    pub read_resp_data: Signal<In, Bits<512>>,
    /// Last of the read.
    pub read_resp_last: Signal<In, Bit>,
    /// The read failed.
    pub read_resp_error: Signal<In, Bit>,
    // Tokens.
    /// A token is offered.
    pub token_valid: Signal<Out, Bit>,
    /// It is taken.
    pub token_ready: Signal<In, Bit>,
    /// Lane set.
    pub token_set: Signal<Out, Bits<11>>,
    /// First lane.
    pub token_first: Signal<Out, Bits<4>>,
    /// Last lane.
    pub token_last: Signal<Out, Bits<4>>,
    /// One lane, cut: `offset` and `bytes` say which part.
    pub token_piece: Signal<Out, Bit>,
    /// Where the piece starts.
    pub token_offset: Signal<Out, Bits<32>>,
    /// Bytes of the beat.
    pub token_bytes: Signal<Out, Bits<7>>,
    /// Row.
    pub token_row: Signal<Out, Bits<32>>,
    /// Pointer.
    pub token_pointer: Signal<Out, Bits<64>>,
    /// Destination.
    pub token_dest: Signal<Out, Bits<10>>,
    /// Request.
    pub token_slot: Signal<Out, Bits<8>>,
    /// Last token of a unit.
    pub token_unit_end: Signal<Out, Bit>,
    /// Last token of a message.
    pub token_message_end: Signal<Out, Bit>,
    /// First token of a message.
    pub token_message_start: Signal<Out, Bit>,
    /// Bytes of a WRITE's message that can be longer than a packet.
    pub token_message_bytes: Signal<Out, Bits<32>>,
    /// First token of a chunk.
    pub token_chunk_start: Signal<Out, Bit>,
    /// Estimate of the blocks that the chunk needs.
    pub token_chunk_blocks: Signal<Out, Bits<8>>,
    /// The request ends.
    pub token_request_end: Signal<Out, Bit>,
    /// Last token of the destination.
    pub token_dest_end: Signal<Out, Bit>,
    /// The request's status.
    pub token_status: Signal<Out, Bits<8>>,
    /// The destination that failed.
    pub token_bad_dest: Signal<Out, Bits<DEST_COUNT>>,
    /// A header: a chunk of a column request begins with `row`; no bytes, all lanes.
    pub token_column: Signal<Out, Bit>,
    /// Header: rows of the chunk.
    pub token_rows: Signal<Out, Bits<13>>,
    /// Bytes of tokens that lie nowhere in host memory.
    pub made: Stream<Out, Made>,
    // The column path.
    /// A stretch of a column request is offered.
    pub column_item_valid: Signal<Out, Bit>,
    /// It is taken.
    pub column_item_ready: Signal<In, Bit>,
    /// The stretch.
    pub column_item_item: Signal<Out, Item>,
    /// What its rows have in common.
    pub column_item_context: Signal<Out, Context>,
    /// 64 bytes of a bitmap or of ids are offered, in the order of the stretches.
    pub column_resp_valid: Signal<Out, Bit>,
    /// They are taken.
    pub column_resp_ready: Signal<In, Bit>,
    /// The bytes.
    pub column_resp_data: Signal<Out, Bits<512>>,
    /// The read failed.
    pub column_resp_error: Signal<Out, Bit>,
    /// Bytes of an id; 0: they are of a bitmap.
    pub column_resp_ids: Signal<Out, Bits<2>>,
    /// They are of fetch rows.
    pub column_resp_fetch: Signal<Out, Bit>,
    /// Of a stretch of a bitmap that is kept for several chunks.
    pub column_resp_kept: Signal<Out, Bit>,
    /// The last ones of their stretch.
    pub column_resp_last: Signal<Out, Bit>,
    /// All stretches that were taken are used up; low from the cycle after one is taken.
    pub column_idle: Signal<In, Bit>,
    /// A bitmap of the request could not be read; held until `column_clear`.
    pub column_failed: Signal<In, Bit>,
    /// The first destination of which.
    pub column_fail_index: Signal<In, Bits<DEST_INDEX>>,
    /// The column request has ended.
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
    /// Answers for the column path.
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
    kinds: Kinds<KINDS_LENGTHS>,
    /// Ends of requests that were planned, and whose tokens have not left.
    ends: DFF<Bits<9>>,
    end_planned: Signal<Local, Bit>,
    end_left: Signal<Local, Bit>,
    messages: Messages,
    unit_in: Flatten<Token, TOKEN_BITS>,
    cut_in: Flatten<Cut, CUT_BITS>,
    unit: Join<TOKEN_BITS, CUT_BITS, UNIT_BITS>,
    /// So that rows need not wait for what beats becomes of them in the same cycle.
    units: ReadySlice<UNIT_BITS>,
    unit_out: Restore<Token, TOKEN_BITS>,
    cut_out: Restore<Cut, CUT_BITS>,
    beats: Beats,
    token_in: Flatten<Token, TOKEN_BITS>,
    tokens: ReadySlice<TOKEN_BITS>,
    tokens_out: Restore<Token, TOKEN_BITS>,
    /// Whether an opcode has an immediate.
    unused: Signal<Local, Bit>,
}

impl Logic for Sequencer {
    #[hdl_gen]
    fn update(&mut self) {
        self.tables.clk.next = self.clk.val();
        self.plan.clk.next = self.clk.val();
        self.plan.rst.next = self.rst.val();
        self.fetch.clk.next = self.clk.val();
        self.fetch.rst.next = self.rst.val();
        self.items.clk.next = self.clk.val();
        self.items.rst.next = self.rst.val();
        self.contexts.clk.next = self.clk.val();
        self.contexts.rst.next = self.rst.val();
        self.rows.clk.next = self.clk.val();
        self.rows.rst.next = self.rst.val();
        self.walker.clk.next = self.clk.val();
        self.walker.rst.next = self.rst.val();
        self.messages.clk.next = self.clk.val();
        self.messages.rst.next = self.rst.val();
        self.beats.clk.next = self.clk.val();
        self.beats.rst.next = self.rst.val();
        self.tokens.clk.next = self.clk.val();
        self.tokens.rst.next = self.rst.val();

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
        // What was planned before has left, and with it all that was read for it.
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
        // Either the row source has something to count, or the column path.
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
        // Keys and all else are read one stretch after the other.
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
            // While the walker reads, plan waits for it.
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
        self.route.clk.next = self.clk.val();
        self.route.rst.next = self.rst.val();
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

        // Items wait for what is read for them; both FIFOs move as one.
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

        // Items to rows: by the row source, or by the walker, one after the other.
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
        // Keys to ids; from here on there are only these.
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
        self.selector.clk.next = self.clk.val();
        self.selector.rst.next = self.rst.val();
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
        self.answers.clk.next = self.clk.val();
        self.answers.rst.next = self.rst.val();
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
        self.units.clk.next = self.clk.val();
        self.units.rst.next = self.rst.val();
        self.units.in_valid.next = self.messages.token_valid.val();
        self.units.in_data.next = self.unit.whole.val();
        self.messages.token_ready.next = self.units.in_ready.val();
        self.unit_out.bits.next = self.units.out_data.val().get_bits::<TOKEN_BITS>(0);
        self.cut_out.bits.next = self.units.out_data.val().get_bits::<CUT_BITS>(TOKEN_BITS);
        self.beats.in_valid.next = self.units.out_valid.val();
        self.beats.in_token.next = self.unit_out.record.val();
        self.beats.in_cut.next = self.cut_out.record.val();
        self.units.out_ready.next = self.beats.in_ready.val();

        // Out, through a register slice.
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
