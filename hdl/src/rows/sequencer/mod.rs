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
//!   sequencer. While it does, all reads are its own. Their answers pass the partitioner, which makes windows of ids.
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
pub mod key_beats;
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
mod wiring;

use crate::context::{ConfigWrite, QP};
use crate::layout::kept::{KeptRecord, KeyBeat};
use crate::primitive::{Flatten, Join, PromptFifo, ReadySlice, Restore, Skid, StreamSkid};
use crate::request::{DEST_COUNT, DEST_INDEX, FunctionWrite, KeyWrite, LaneKind, SetKinds};
use crate::rows::columns::record::Counted;
use crate::rows::expander::Token;
use crate::rows::kinds::trail::MOST_RECORDS;
use crate::rows::kinds::{Kinds, Made};
use crate::shell::host_read::HostReadBeat;
use beats::Beats;
use drdma_emit::prelude::*;
use fetch::Fetch;
use key_beats::KeyBeats;
use keys::Keys;
use messages::Messages;
use partitioner::Partitioner;
use plan::Plan;
use record::{
    CONTEXT_BITS, CUT_BITS, Context, Cut, ITEM_BITS, Item, Origin, Purpose, Read, TOKEN_BITS,
};
use route::Route;
use rows::Rows;
use selector::Selector;
use tables::{DestInfo, SetInfo, Tables};
use walker::Walker;

/// Binary logarithm of how many messages of a request with kinds have their lengths kept: one UltraRAM.
const KINDS_LENGTHS: usize = 12;
/// Number of records of chains that are kept for a request with kinds of columns: four UltraRAMs.
const KINDS_RECORDS: usize = MOST_RECORDS;
/// Binary logarithm of the values that are kept of two requests with kinds of columns: eighteen UltraRAMs.
const KINDS_VALUES: usize = 15;

/// Bits of a unit's token with its [`Cut`].
const UNIT_BITS: usize = TOKEN_BITS + CUT_BITS;

/// Sequencer of rows; see the module's documentation.
///
/// # Inputs
/// `request` stream; `lane_write`, `set_write`, `dest_write` (no back-pressure; complete before their request comes);
/// `read_resp` stream; `column_min_rows`; `column_item_ready`, `column_resp_ready`, `column_idle`,
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
    /// Kind of the lane's entries, and where their bytes lie.
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
    /// Function that makes the ids of a request.
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
    pub dest_write_same_lanes: Signal<In, Bit>,
    /// The values of a message go column by column; only of a request with `request_kinds`.
    pub dest_write_column_order: Signal<In, Bit>,
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
    /// Tokens for the expander.
    pub token: Stream<Out, Token>,
    /// Keys that were read for the column path.
    pub key_beat: Flow<Out, KeyBeat>,
    /// Records of chains that were read.
    pub record: Flow<Out, KeptRecord>,
    /// Made bytes of tokens: bytes that lie nowhere in host memory.
    pub made: Stream<Out, Made>,
    // The column path.
    /// A stretch of a column request is offered.
    pub column_item_valid: Signal<Out, Bit>,
    /// The column path takes the stretch in this cycle.
    pub column_item_ready: Signal<In, Bit>,
    /// Item of the stretch.
    pub column_item_item: Signal<Out, Item>,
    /// Context that the rows of the stretch share.
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
    origin: Signal<Local, Origin>,
    key_beats: KeyBeats,
    /// The current answer goes to the column path.
    for_columns: Signal<Local, Bit>,
    plain_read: Signal<Local, Read>,
    /// Purpose of the reads of requests with kinds.
    kinds_purpose: Signal<Local, Purpose>,
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
    kinds: Kinds<KINDS_LENGTHS, KINDS_RECORDS, KINDS_VALUES>,
    /// Cuts the path from the partitioner to what is found in the answers.
    kinds_beats: StreamSkid<HostReadBeat>,
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
