//! The decoder: turns work queue entries into checked requests and lane sets.
//!
//! Between `queue`, which fetches the blocks of the rings, and `sequencer`, which walks the rows of
//! what is written here. It makes every check of `docs/semantics.md` that needs nothing but the
//! entry and the tables (steps 1 and 2), resolves every local key, and turns each region into a
//! *lane set*.
//!
//! ```text
//! wqe -> Unpacker -> Parser -> Shaper ------------------> lane_write, set_write
//!          granules    |  |---------------------------->  dest_write
//!           Contexts --'  '--> Bounds --> Requests ---->  open, request, error pulses
//! ```
//!
//! *Throughput*: a cycle for an entry's head with its first destination, which fill a block (two if the request is
//! partitioned), and one for each granule behind it; besides, one cycle a destination, three a pointer-mapped region,
//! and up to three an entry. An inline payload takes a cycle. An entry with one, or with one contiguous region, takes 4
//! cycles: its request leaves 3 cycles after its last granule, and the next one's first region is parsed then.
//!
//! *Latency*: `open` comes 4 cycles after an entry's first block, `request` 3 cycles after the
//! granule of a last contiguous region and 10 after the last element of another. Lanes, sets and
//! destinations are written before.
//!
//! *Back-pressure*: the parser stops while fewer than 8 sets or destinations are free, or without
//! a free slot; a request is opened when the one before has been handed on. All slots come from
//! `slot_free`, the first ones too. `wqe_ready` depends on registers only. The write ports have
//! none.
//!
//! *Failures*: the first check that fails, in the order of `docs/semantics.md`, gives `status` and `bad_dest`; the
//! request is then not executed. Its `dests` is 1 if the queue pair of that destination fails with it, as for a region
//! that failed, and 0 if only the queue does. The queue pair enters the error state behind the requests before this
//! one, in the segmenter. The rest of its turn is dropped, up to the block that begins the next one, and so is all that
//! comes of this queue until its `enable` word is written anew or, if `queue_halted` has been set for it, until that is
//! cleared. What was written of the request stays part of the rings until its release.
//!
//! *An inline payload* becomes a contiguous set as long as it is, with a lane that is `inline`: blocks that count
//! bytes count them, blocks that fetch them have nothing to fetch. `inline_write` gives the payload to the gather. A
//! payload of no bytes becomes a set of one byte, which stands for it; with `dest_write_empty` the segmenter does not
//! send that byte.
//!
//! *Partitioned requests* are opened before their region, which becomes the one set of all
//! destinations; a failure of the region is of no destination.
//!
//! Later words of a table's entry need not follow earlier ones: each word is effective at once.

mod apart;
mod bounds;
mod contexts;
pub(in crate::request) mod fields;
mod joiner;
mod keys;
mod named;
mod parser;
pub(crate) mod regions;
mod requests;
mod same_lanes;
mod shaper;
mod slice;
#[cfg(test)]
mod tests;
mod unpacker;
mod wiring;

use crate::context::{INDEX, QP, QUEUE, TableSelect};
use crate::layout::windows::FETCH_BITS;
use crate::primitive::Pack;
use crate::request::{
    AddressWrite, AskWrite, DEST_COUNT, DEST_INDEX, FunctionWrite, KeyWrite, LaneKind, Part,
    PartWrite, PieceWrite, SetKinds,
};
use apart::Apart;
use bounds::Bounds;
use contexts::Contexts;
use drdma_abi::work_request::Opcode;
use drdma_emit::prelude::*;
use joiner::Joiner;
use parser::Parser;
use requests::Requests;
use same_lanes::SameLanes;
use shaper::Shaper;
use unpacker::Unpacker;

/// The decoder; see the [module](self).
///
/// # Inputs
/// `clk`, `rst`; stream `wqe`; `cfg_*`; `qp_error`, `queue_halted`; stream `slot_free`;
/// `release_valid`.
///
/// # Outputs
/// Write ports `lane_write`, `inline_write`, `set_write`, `dest_write`, `piece_write`, `ask_write`, `address_write`,
/// `function_write`, `key_write`; streams `open`, `request`.
#[derive(LogicBlock, BlockDefault)]
pub struct Decoder {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,

    /// A block is offered.
    pub wqe_valid: Signal<In, Bit>,
    /// The block is taken.
    pub wqe_ready: Signal<Out, Bit>,
    /// The block.
    pub wqe_data: Signal<In, Bits<512>>,
    /// Number of the queue that the block comes from.
    pub wqe_queue: Signal<In, Bits<QUEUE>>,
    /// Position of the block in the queue, in blocks.
    pub wqe_position: Signal<In, Bits<32>>,
    /// Blocks of the batch from this one on, this one included.
    pub wqe_remaining: Signal<In, Bits<17>>,
    /// The block could not be read.
    pub wqe_error: Signal<In, Bit>,
    /// The block is the first one of a turn.
    pub wqe_begins: Signal<In, Bit>,
    /// Part of its message that the block's entry stands for.
    pub wqe_part: Signal<In, Part>,
    /// Enough parts of messages are on their way to the segmenter: no further part of a message that was begun may be
    /// fetched.
    pub parts_full: Signal<Out, Bit>,

    /// A word of a table is written.
    pub cfg_valid: Signal<In, Bit>,
    /// Number of the table that is written.
    pub cfg_table: Signal<In, Bits<3>>,
    /// Entry of the table that is written.
    pub cfg_index: Signal<In, Bits<INDEX>>,
    /// The word of the entry.
    pub cfg_word: Signal<In, Bits<4>>,
    /// The word's value.
    pub cfg_data: Signal<In, Bits<32>>,
    /// The queue pair whose `qp_error` is asked for in the next cycle.
    pub error_next: Signal<Out, Bits<QP>>,
    /// The queue pair of `error_next`, one cycle before, is in the error state.
    pub qp_error: Signal<In, Bit>,
    /// The queue whose `queue_halted` is asked for in the next cycle.
    pub halted_next: Signal<Out, Bits<QUEUE>>,
    /// The queue of `halted_next`, one cycle before, is halted.
    pub queue_halted: Signal<In, Bit>,

    /// A slot is given back.
    pub slot_free_valid: Signal<In, Bit>,
    /// The slot is taken in this cycle.
    pub slot_free_ready: Signal<Out, Bit>,
    /// Number of the slot.
    pub slot_free_slot: Signal<In, Bits<8>>,
    /// Places in the rings of sets and destinations that the oldest request had are given back.
    pub release_valid: Signal<In, Bit>,

    /// A lane is written.
    pub lane_write_valid: Signal<Out, Bit>,
    /// Number of the lane's set.
    pub lane_write_set: Signal<Out, Bits<11>>,
    /// Number of the lane in its set.
    pub lane_write_lane: Signal<Out, Bits<4>>,
    /// Address of the lane's value in row 0.
    pub lane_write_base: Signal<Out, Bits<64>>,
    /// Bytes from a row's value to the next one's.
    pub lane_write_step: Signal<Out, Bits<64>>,
    /// Bytes of a value of the lane.
    pub lane_write_len: Signal<Out, Bits<32>>,
    /// The lane's bytes are those of an `inline_write`.
    pub lane_write_inline: Signal<Out, Bit>,
    /// Kind of the lane's entries, and where their bytes lie.
    pub lane_write_kind: Signal<Out, LaneKind>,

    /// An inline payload is written.
    pub inline_write_valid: Signal<Out, Bit>,
    /// Slot of the payload's request.
    pub inline_write_slot: Signal<Out, Bits<8>>,
    /// Bytes of the payload; those beyond its lane's length mean nothing.
    pub inline_write_data: Signal<Out, Bits<512>>,

    /// A set is written.
    pub set_write_valid: Signal<Out, Bit>,
    /// Number of the set.
    pub set_write_set: Signal<Out, Bits<11>>,
    /// Type of the set's region.
    pub set_write_kind: Signal<Out, Bits<2>>,
    /// Bytes of an id at `set_write_addr`: 1 or 2; 0: there are no ids.
    pub set_write_ids: Signal<Out, Bits<2>>,
    /// Ids are made from keys; the address is that of splitters.
    pub set_write_made: Signal<Out, Bit>,
    /// How a request's ids are made; written before its set.
    pub function_write: Flow<Out, FunctionWrite>,
    /// A key of a request; written before its set.
    pub key_write: Flow<Out, KeyWrite>,
    /// Bitmapped: the region has fetch rows.
    pub set_write_fetch: Signal<Out, Bit>,
    /// Address of the bitmap, the ids or the pointer array.
    pub set_write_addr: Signal<Out, Bits<64>>,
    /// Number of rows, bits or pointers; 1 if contiguous.
    pub set_write_count: Signal<Out, Bits<32>>,
    /// Number of lanes.
    pub set_write_lanes: Signal<Out, Bits<5>>,
    /// Bytes of a row in all lanes.
    pub set_write_row_bytes: Signal<Out, Bits<36>>,
    /// Lanes that start a beat, a bit each.
    pub set_write_beat_start: Signal<Out, Bits<16>>,
    /// Pointer-mapped: address of the memory region of the records. With `set_write_fetch`: address of the fetch rows.
    pub set_write_target_addr: Signal<Out, Bits<64>>,
    /// Pointer-mapped: bytes of that memory region.
    pub set_write_target_len: Signal<Out, Bits<64>>,
    /// Pointer-mapped: first byte of a record, relative to its pointer. Bitmapped: 0.
    pub set_write_low: Signal<Out, Bits<64>>,
    /// Pointer-mapped: end of a record, relative to its pointer.
    pub set_write_high: Signal<Out, Bits<65>>,
    /// Fields that only a set with kinds of columns has.
    pub set_write_kinds: Signal<Out, SetKinds>,

    /// A destination is written.
    pub dest_write_valid: Signal<Out, Bit>,
    /// Number of the destination in the ring of destinations.
    pub dest_write_dest: Signal<Out, Bits<10>>,
    /// Queue pair of the destination.
    pub dest_write_qp: Signal<Out, Bits<QP>>,
    /// Number of the destination's sets.
    pub dest_write_sets: Signal<Out, Bits<5>>,
    /// Number of the destination's first set; the others follow it.
    pub dest_write_first_set: Signal<Out, Bits<11>>,
    /// Opcode of the request: SEND or WRITE, with immediate data or without.
    pub dest_write_opcode: Signal<Out, Bits<2>>,
    /// Immediate data, or the key that a SEND with invalidate names.
    pub dest_write_imm: Signal<Out, Bits<32>>,
    /// Of a WRITE: remote address of the first message.
    pub dest_write_remote_addr: Signal<Out, Bits<64>>,
    /// Of a WRITE: remote key.
    pub dest_write_rkey: Signal<Out, Bits<32>>,
    /// Slot of the request.
    pub dest_write_slot: Signal<Out, Bits<8>>,
    /// Index of the destination in its request.
    pub dest_write_index: Signal<Out, Bits<DEST_COUNT>>,
    /// Transport of the queue pair.
    pub dest_write_transport: Signal<Out, Bits<2>>,
    /// Binary logarithm of the queue pair's MTU in bytes.
    pub dest_write_log_mtu: Signal<Out, Bits<4>>,
    /// The stamp of the queue pair's entry that the request was checked with; see `Stamps`.
    pub dest_write_stamp: Signal<Out, Bits<32>>,
    /// The request is a READ (1), a compare and swap (2) or a fetch and add (3), and the opcode is SEND; 0: neither.
    pub dest_write_ask: Signal<Out, Bits<2>>,
    /// The destination's packets wait until the READs and atomics before them have their answers.
    pub dest_write_fenced: Signal<Out, Bit>,
    /// The last packets of the destination's messages ask for a solicited event.
    pub dest_write_solicited: Signal<Out, Bit>,
    /// The destination's SENDs make the key in `imm` invalid.
    pub dest_write_invalidates: Signal<Out, Bit>,
    /// The message has no bytes: the one byte of its set stands for it, and is not sent.
    pub dest_write_empty: Signal<Out, Bit>,
    /// The row mask is `Element`; otherwise `Period`.
    pub dest_write_element_mask: Signal<Out, Bit>,
    /// Units of a message.
    pub dest_write_rows_per_message: Signal<Out, Bits<32>>,
    /// The id of the destination's rows, if its set has ids.
    pub dest_write_partition: Signal<Out, Bits<16>>,
    /// The destination has one set, strided or bitmapped, with the lanes and the count of the request's first
    /// destination; or the one set of all destinations.
    pub dest_write_same_lanes: Signal<Out, Bit>,
    /// The values of a message go column by column, to one remote address if they have any.
    pub dest_write_column_order: Signal<Out, Bit>,
    /// The destination was written before: only `sets`, `element_mask`, `same_lanes` and the fields of the request are
    /// valid, and new.
    pub dest_write_again: Signal<Out, Bit>,
    /// Of a WRITE by columns: the queue pair gets another column, as another destination behind this one.
    pub dest_write_more: Signal<Out, Bit>,

    /// Which part of a message a request sends: written for every request as it is opened, and for a part once more
    /// before its `request`.
    pub part_write: Flow<Out, PartWrite>,
    /// A region that a part of the answer to a READ or an atomic goes to; written before its request.
    pub piece_write: Flow<Out, PieceWrite>,
    /// Bytes that a READ or an atomic asks for; written before its request.
    pub ask_write: Flow<Out, AskWrite>,
    /// Where the request's datagrams go, if it names an address; written for every request, with the first
    /// `dest_write`.
    pub address_write: Flow<Out, AddressWrite>,

    /// A request's fetch plan is written, or that it has none; 25 cycles or more before its
    /// `request`.
    pub fetch_write_valid: Signal<Out, Bit>,
    /// Slot of the request.
    pub fetch_write_slot: Signal<Out, Bits<8>>,
    /// The fetch plan.
    pub fetch_write_plan: Signal<Out, Bits<FETCH_BITS>>,
    /// A request was opened.
    pub open_valid: Signal<Out, Bit>,
    /// The opened request is taken in this cycle.
    pub open_ready: Signal<In, Bit>,
    /// Slot of the opened request.
    pub open_slot: Signal<Out, Bits<8>>,
    /// Send queue of the opened request.
    pub open_queue: Signal<Out, Bits<QUEUE>>,
    /// The application's name for the request.
    pub open_wr_id: Signal<Out, Bits<64>>,
    /// Ring position of the request's first block.
    pub open_position: Signal<Out, Bits<32>>,
    /// No completion is written if the request succeeds.
    pub open_unsignaled: Signal<Out, Bit>,

    /// A request is complete.
    pub request_valid: Signal<Out, Bit>,
    /// The request is taken in this cycle.
    pub request_ready: Signal<In, Bit>,
    /// Slot of the request.
    pub request_slot: Signal<Out, Bits<8>>,
    /// Send queue of the request.
    pub request_queue: Signal<Out, Bits<QUEUE>>,
    /// The application's name for the request.
    pub request_wr_id: Signal<Out, Bits<64>>,
    /// Number of the request's destinations.
    pub request_dests: Signal<Out, Bits<DEST_COUNT>>,
    /// Number of the first destination in the ring; the others follow it.
    pub request_first_dest: Signal<Out, Bits<10>>,
    /// Status of the request; 0: it is to be executed.
    pub request_status: Signal<Out, Bits<8>>,
    /// Index of the destination that failed; valid with a status other than 0.
    pub request_bad_dest: Signal<Out, Bits<DEST_COUNT>>,
    /// The destinations have one strided set each, of equal form, one behind the other in host memory.
    pub request_apart: Signal<Out, Bit>,
    /// Some region of the request has kinds of columns.
    pub request_kinds: Signal<Out, Bit>,
    /// Columns of a WRITE by columns; else 0. Destination `d` of `dests` and column `j` have the place
    /// `first_dest + j * dests + d`, and the set that is `j` + 1 behind that of the destination.
    pub request_columns: Signal<Out, Bits<5>>,

    select: TableSelect,
    unpacker: Unpacker,
    parser: Parser,
    contexts: Contexts,
    bounds: Bounds,
    shaper: Shaper,
    joiner: Joiner,
    same_lanes: SameLanes,
    apart: Apart,
    requests: Requests,

    part_valid: DFF<Bit>,
    part: DFF<PartWrite>,
    piece_valid: DFF<Bit>,
    piece: DFF<PieceWrite>,
    /// Request of a READ or an atomic: its bytes, rounded up to packets, and the number of packets.
    asked: [DFF<Bit>; 3],
    asked_slot: DFF<Bits<8>>,
    asked_mtu: DFF<Bits<4>>,
    asked_bytes: DFF<Bits<32>>,
    rounded: DFF<Bits<33>>,
    packets: DFF<Bits<24>>,
    mtu_less_one: Signal<Local, Bits<13>>,
    /// The operands of an atomic, in network order.
    operands: Pack<16, 8, 128>,
    dest_ask: DFF<Bits<2>>,
    dest_fenced: DFF<Bit>,
    dest_solicited: DFF<Bit>,
    dest_invalidates: DFF<Bit>,
    dest_empty: DFF<Bit>,
    address_valid: DFF<Bit>,
    address: DFF<AddressWrite>,
    inline_valid: DFF<Bit>,
    inline_slot: DFF<Bits<8>>,
    inline_data: [DFF<Bits<128>>; 4],
    inline_whole: Pack<4, 128, 512>,
    block: Signal<Local, Bits<512>>,
    dest_valid: DFF<Bit>,
    dest_dest: DFF<Bits<10>>,
    dest_qp: DFF<Bits<QP>>,
    dest_sets: DFF<Bits<5>>,
    dest_first_set: DFF<Bits<11>>,
    dest_opcode: DFF<Bits<2>>,
    dest_imm: DFF<Bits<32>>,
    dest_remote_addr: DFF<Bits<64>>,
    dest_rkey: DFF<Bits<32>>,
    dest_slot: DFF<Bits<8>>,
    fetch_valid: DFF<Bit>,
    fetch_slot: DFF<Bits<8>>,
    fetch_plan: DFF<Bits<FETCH_BITS>>,
    dest_index: DFF<Bits<DEST_INDEX>>,
    dest_transport: DFF<Bits<2>>,
    dest_log_mtu: DFF<Bits<4>>,
    dest_stamp: DFF<Bits<32>>,
    dest_element_mask: DFF<Bit>,
    dest_rows_per_message: DFF<Bits<32>>,
    dest_same_lanes: DFF<Bit>,
    dest_column_order: DFF<Bit>,
    dest_partition: DFF<Bits<16>>,
    /// Number of the set of a partitioned request.
    shared_set: DFF<Bits<11>>,
    /// The element belongs to a region of the destination's own, not to a shared one.
    own_element: Signal<Local, Bit>,
    /// The destination's regions are joined in one set.
    dest_joined: DFF<Bit>,
    dest_again: DFF<Bit>,
    dest_more: DFF<Bit>,
    /// The destination's place, and how far behind it the place of the next column is.
    dest_base: DFF<Bits<10>>,
    column_offset: DFF<Bits<10>>,
    #[init(Constant::new((Opcode::Write as u64).to_bits()))]
    write_opcode: Constant<Bits<2>>,
}
