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
//! partitioned), and one for each granule behind it; besides, one cycle a destination, three a pointer-mapped
//! region, and up to three an entry. An inline payload takes a cycle. An entry with one, or with one contiguous region,
//! takes 4 cycles: its request leaves 3 cycles
//! after its last granule, and the next one's first region is parsed then.
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
//! payload of no bytes
//! becomes a set of one byte, which stands for it; `dest_write_empty` tells the segmenter not to send that byte.
//!
//! *Partitioned requests* are opened before their region, which becomes the one set of all
//! destinations; a failure of the region is of no destination.
//!
//! Later words of a table's entry need not follow earlier ones: each word is effective at once.

mod alike;
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
mod shaper;
mod slice;
#[cfg(test)]
mod tests;
mod unpacker;

use crate::context::{INDEX, QP, QUEUE, TableSelect};
use crate::layout::windows::FETCH_BITS;
use crate::primitive::Pack;
use crate::request::{
    AddressWrite, AskWrite, CONTIGUOUS, DEST_COUNT, DEST_INDEX, FunctionWrite, KeyWrite, LaneKind,
    POINTER_MAPPED, Part, PartWrite, PieceWrite, SetKinds,
};
use alike::Alike;
use apart::Apart;
use bounds::Bounds;
use contexts::Contexts;
use drdma_abi::roce::TTL;
use drdma_abi::work_request::Opcode;
use drdma_emit::prelude::*;
use joiner::Joiner;
use parser::Parser;
use requests::Requests;
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
    /// Which part of its message the block's entry stands for.
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
    /// The oldest request's share of the rings is given back.
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
    /// How the lane's entries lead to bytes.
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
    /// What a set with kinds of columns has beside others.
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
    pub dest_write_alike: Signal<Out, Bit>,
    /// The destination was written before: only `sets`, `element_mask`, `alike` and the fields of the request are
    /// valid, and new.
    pub dest_write_again: Signal<Out, Bit>,
    /// Of a WRITE by columns: the queue pair gets another column, as another destination behind this one.
    pub dest_write_more: Signal<Out, Bit>,

    /// Which part of a message a request sends: written for every request as it is opened, and for a part once more
    /// before its `request`.
    pub part_write: Flow<Out, PartWrite>,
    /// A region that a part of the answer to a READ or an atomic goes to; written before its request.
    pub piece_write: Flow<Out, PieceWrite>,
    /// What a READ or an atomic asks for; written before its request.
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
    alike: Alike,
    apart: Apart,
    requests: Requests,

    part_valid: DFF<Bit>,
    part: DFF<PartWrite>,
    piece_valid: DFF<Bit>,
    piece: DFF<PieceWrite>,
    /// What a READ or an atomic asks for: its bytes, rounded up to packets, and their number.
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
    dest_alike: DFF<Bit>,
    dest_partition: DFF<Bits<16>>,
    /// Number of the set of a partitioned request.
    shared_set: DFF<Bits<11>>,
    /// An element of a region of the destination's own.
    own_element: Signal<Local, Bit>,
    /// The destination's regions are one set.
    dest_joined: DFF<Bit>,
    dest_again: DFF<Bit>,
    dest_more: DFF<Bit>,
    /// The destination's place, and how far behind it the place of the next column is.
    dest_base: DFF<Bits<10>>,
    column_offset: DFF<Bits<10>>,
    #[init(Constant::new((Opcode::Write as u64).to_bits()))]
    write_opcode: Constant<Bits<2>>,
}

impl Logic for Decoder {
    #[hdl_gen]
    fn update(&mut self) {
        // Blocks to granules.
        self.unpacker.wqe_valid.next = self.wqe_valid.val();
        self.wqe_ready.next = self.unpacker.wqe_ready.val();
        self.unpacker.wqe_data.next = self.wqe_data.val();
        self.unpacker.wqe_queue.next = self.wqe_queue.val();
        self.unpacker.wqe_position.next = self.wqe_position.val();
        self.unpacker.wqe_remaining.next = self.wqe_remaining.val();
        self.unpacker.wqe_error.next = self.wqe_error.val();
        self.unpacker.wqe_begins.next = self.wqe_begins.val();
        self.unpacker.wqe_part.next = self.wqe_part.val();
        self.unpacker.take.next = self.parser.take.val();
        self.unpacker.skip.next = self.parser.skip.val();

        // Granules to elements, checks, destinations and requests.
        self.parser.granule_valid.next = self.unpacker.granule_valid.val();
        self.parser.granule_data.next = self.unpacker.granule_data.val();
        self.parser.granule_first.next = self.unpacker.granule_first.val();
        self.parser.granule_last.next = self.unpacker.granule_last.val();
        self.parser.granule_queue.next = self.unpacker.granule_queue.val();
        self.parser.granule_position.next = self.unpacker.granule_position.val();
        self.parser.granule_remaining.next = self.unpacker.granule_remaining.val();
        self.parser.granule_error.next = self.unpacker.granule_error.val();
        self.parser.granule_begins.next = self.unpacker.granule_begins.val();
        self.parser.granule_part.next = self.unpacker.granule_part.val();
        self.parser.granule_parted.next = self.unpacker.granule_parted.val();
        self.parser.granule_words.next = self.unpacker.granule_words.val();
        self.parser.granule_rest.next = self.unpacker.granule_rest.val();
        self.parser.queue_shared.next = self.contexts.shared.val();
        self.parser.queue_owned.next = self.contexts.owned.val();
        self.parser.queue_owner.next = self.contexts.owner.val();
        self.parser.queue_halted.next = self.contexts.halted.val();
        self.parser.qp_ready.next = self.contexts.ready.val();
        self.parser.qp_error.next = self.qp_error.val();
        self.error_next.next = self.parser.qp.val();
        self.parser.qp_transport.next = self.contexts.transport.val();
        self.parser.qp_log_mtu.next = self.contexts.log_mtu.val();
        self.parser.qp_asks.next = self.contexts.asks.val();
        self.parser.settled.next = self.requests.settled.val();
        self.parser.may_open.next = self.requests.may_open.val();
        self.parser.set_space.next = self.requests.set_space.val();
        self.parser.dest_space.next = self.requests.dest_space.val();
        self.parser.column_space.next = self.requests.column_space.val();
        self.parser.target_done.next = self.bounds.target_done.val();

        // Queues and queue pairs.
        self.select.valid.next = self.cfg_valid.val();
        self.select.number.next = self.cfg_table.val();
        self.select.word.next = self.cfg_word.val();
        self.contexts.cfg_qp.next = self.select.queue_pair.val();
        self.contexts.cfg_attributes.next = self.select.attributes.val();
        self.contexts.cfg_queue.next = self.select.send_queue.val();
        self.contexts.cfg_enable.next = self.select.enable.val();
        self.contexts.cfg_every.next = self.select.every.val();
        self.contexts.cfg_index.next = self.cfg_index.val();
        self.contexts.cfg_word.next = self.cfg_word.val();
        self.contexts.cfg_data.next = self.cfg_data.val();
        self.contexts.queue_halted.next = self.queue_halted.val();
        self.halted_next.next = self.parser.queue.val();
        self.contexts.next_queue.next = self.parser.next_queue.val();
        self.contexts.queue.next = self.parser.queue.val();
        self.contexts.next_qp.next = self.parser.next_qp.val();
        self.contexts.stop_valid.next = self.requests.stop_valid.val();
        self.contexts.stop_queue.next = self.requests.stop_queue.val();
        self.contexts.qp.next = self.parser.qp.val();

        // Bounds.
        self.bounds.cfg_valid.next = self.select.region.val();
        self.bounds.cfg_last.next = self.select.region_valid.val();
        self.bounds.cfg_index.next = self.cfg_index.val();
        self.bounds.cfg_word.next = self.cfg_word.val();
        self.bounds.cfg_data.next = self.cfg_data.val();
        self.bounds.check_valid.next = self.parser.check_valid.val();
        self.bounds.check_long.next = self.parser.check_long.val();
        self.bounds.check_target.next = self.parser.check_target.val();
        self.bounds.check_key.next = self.parser.check_key.val();
        self.bounds.check_pd.next = self.contexts.queue_pd.val();
        self.bounds.check_base.next = self.parser.check_base.val();
        self.bounds.check_offset.next = self.parser.check_offset.val();
        self.bounds.check_span.next = self.parser.check_span.val();
        self.bounds.check_factor.next = self.parser.check_factor.val();
        self.bounds.check_step.next = self.parser.check_step.val();
        self.bounds.check_len.next = self.parser.check_len.val();
        self.bounds.check_writes.next = self.parser.check_writes.val();
        self.bounds.check_region.next = self.parser.region.val();
        self.bounds.check_dest.next = self.parser.dest.val();
        self.bounds.clear.next = self.requests.clear.val();

        // Lanes and sets.
        self.shaper.element_valid.next = self.parser.element_valid.val();
        self.shaper.element_lane.next = self.parser.element_lane.val();
        self.shaper.element_last.next = self.parser.element_last.val();
        self.shaper.element_alone.next = self.parser.element_alone.val();
        self.shaper.element_split.next = self.parser.element_split.val();
        self.shaper.element_base.next = self.parser.element_base.val();
        self.shaper.element_offset.next = self.parser.element_offset.val();
        self.shaper.element_step.next = self.parser.element_step.val();
        self.shaper.element_len.next = self.parser.element_len.val();
        self.shaper.element_kind.next = self.parser.element_kind.val();
        self.shaper.element_ids.next = self.parser.element_ids.val();
        self.shaper.element_made.next = self.parser.element_made.val();
        self.shaper.element_inline.next =
            self.parser.told_inline.val() || self.parser.told_ask.val();
        self.shaper.element_fetch.next = self.parser.element_fetch.val();
        self.shaper.fetch_addr.next = self.parser.fetch_addr.val();
        self.shaper.element_source.next = self.parser.element_source.val();
        self.shaper.element_set.next = self.parser.element_set.val();
        self.shaper.element_set.next.pd = self.contexts.queue_pd.val();
        self.shaper.element_addr.next = self.parser.element_addr.val();
        self.shaper.element_count.next = self.parser.element_count.val();
        self.shaper.target_addr.next = self.bounds.target_addr.val();
        self.shaper.target_len.next = self.bounds.target_len.val();
        self.own_element.next = self.parser.element_valid.val()
            && !self.parser.element_alone.val()
            && !self.parser.partitioned.val();
        self.joiner.dest_accept.next = self.parser.dest_accept.val();
        self.joiner.element_mask.next = self.parser.element_mask.val();
        self.joiner.sets.next = self.dest_sets.q.val();
        self.joiner.element_valid.next = self.own_element.val();
        self.joiner.element_lane.next = self.parser.element_lane.val();
        self.joiner.element_last.next = self.parser.element_last.val();
        // Regions with kinds of columns are not joined.
        self.joiner.element_kind.next = self.parser.element_kind.val();
        if self.parser.element_kinds.val() {
            self.joiner.element_kind.next = POINTER_MAPPED.into();
        }
        self.joiner.element_count.next = self.parser.element_count.val();
        self.joiner.element_addr.next = self.parser.element_addr.val();
        self.joiner.element_len.next = self.parser.element_len.val();
        self.joiner.set.next = self.shaper.set.val();
        self.shaper.join_valid.next = self.joiner.write_valid.val();
        self.shaper.join_set.next = self.joiner.write_set.val();
        self.shaper.join_lane.next = self.joiner.write_lane.val();
        self.shaper.join_last.next = self.joiner.write_last.val();
        self.shaper.join_lanes.next = self.joiner.write_lanes.val();
        self.shaper.join_row_bytes.next = self.joiner.write_row_bytes.val();
        self.shaper.join_beat_start.next = self.joiner.write_beat_start.val();
        self.alike.dest_accept.next = self.parser.dest_accept.val();
        self.alike.first.next = self.parser.dest.val() == 0;
        self.alike.sets.next = self.dest_sets.q.val();
        self.alike.element_valid.next = self.own_element.val();
        self.alike.element_last.next = self.parser.element_last.val();
        self.alike.lane_base.next = self.shaper.lane_write_base.val();
        self.alike.lane_step.next = self.shaper.lane_write_step.val();
        self.alike.lane_len.next = self.shaper.lane_write_len.val();
        self.alike.lane_kind.next = self.shaper.set_write_kind.val();
        self.alike.lane_count.next = self.shaper.set_write_count.val();
        self.apart.dest_accept.next = self.parser.dest_accept.val();
        self.apart.first.next = self.parser.dest.val() == 0;
        self.apart.sets.next = self.dest_sets.q.val();
        self.apart.element_valid.next = self.own_element.val();
        self.apart.element_last.next = self.parser.element_last.val();
        self.apart.lane_base.next = self.shaper.lane_write_base.val();
        self.apart.lane_step.next = self.shaper.lane_write_step.val();
        self.apart.lane_len.next = self.shaper.lane_write_len.val();
        self.apart.lane_kind.next = self.shaper.set_write_kind.val();
        self.apart.lane_count.next = self.shaper.set_write_count.val();
        self.lane_write_valid.next = self.shaper.lane_write_valid.val();
        self.lane_write_set.next = self.shaper.lane_write_set.val();
        self.lane_write_lane.next = self.shaper.lane_write_lane.val();
        self.lane_write_base.next = self.shaper.lane_write_base.val();
        self.lane_write_step.next = self.shaper.lane_write_step.val();
        self.lane_write_len.next = self.shaper.lane_write_len.val();
        self.lane_write_inline.next = self.shaper.lane_write_inline.val();
        self.lane_write_kind.next = self.shaper.lane_write_kind.val();
        self.set_write_kinds.next = self.shaper.set_write_kinds.val();
        self.inline_valid.d.next = self.parser.told_inline.val() || self.parser.told_ask.val();
        self.inline_slot.d.next = self.requests.slot.val();
        self.block.next = (bit_cast::<512, 384>(self.unpacker.granule_rest.val()) << 128)
            | bit_cast::<512, 128>(self.unpacker.granule_data.val());
        for k in 0..4 {
            if self.parser.inline_parts.val().get_bit(k) {
                self.inline_data[k].d.next = self.unpacker.granule_data.val();
            }
            if self.parser.inline_parts.val() == 15 {
                self.inline_data[k].d.next = self.block.val().get_bits::<128>(k * 128);
            }
            self.inline_whole.parts[k].next = self.inline_data[k].q.val();
        }
        for k in 0..8 {
            self.operands.parts[k].next = self.parser.operands.val().get_bits::<8>((7 - k) * 8);
            self.operands.parts[k + 8].next =
                self.parser.operands.val().get_bits::<8>((15 - k) * 8);
        }
        if self.parser.told_ask.val() {
            self.inline_data[0].d.next = self.operands.whole.val();
        }
        self.inline_write_valid.next = self.inline_valid.q.val();
        self.inline_write_slot.next = self.inline_slot.q.val();
        self.inline_write_data.next = self.inline_whole.whole.val();
        self.set_write_valid.next = self.shaper.set_write_valid.val();
        self.set_write_set.next = self.shaper.set_write_set.val();
        self.set_write_kind.next = self.shaper.set_write_kind.val();
        self.set_write_ids.next = self.shaper.set_write_ids.val();
        self.set_write_made.next = self.shaper.set_write_made.val();
        self.set_write_fetch.next = self.shaper.set_write_fetch.val();
        self.set_write_addr.next = self.shaper.set_write_addr.val();
        self.set_write_count.next = self.shaper.set_write_count.val();
        self.set_write_lanes.next = self.shaper.set_write_lanes.val();
        self.set_write_row_bytes.next = self.shaper.set_write_row_bytes.val();
        self.set_write_beat_start.next = self.shaper.set_write_beat_start.val();
        self.set_write_target_addr.next = self.shaper.set_write_target_addr.val();
        self.set_write_target_len.next = self.shaper.set_write_target_len.val();
        self.set_write_low.next = self.shaper.set_write_low.val();
        self.set_write_high.next = self.shaper.set_write_high.val();

        // Requests.
        self.requests.slot_free_valid.next = self.slot_free_valid.val();
        self.slot_free_ready.next = self.requests.slot_free_ready.val();
        self.requests.slot_free_slot.next = self.slot_free_slot.val();
        self.requests.release_valid.next = self.release_valid.val();
        self.requests.start.next = self.parser.open.val();
        self.requests.queue.next = self.parser.queue.val();
        self.requests.wr_id.next = self.parser.wr_id.val();
        self.requests.position.next = self.parser.position.val();
        self.requests.unsignaled.next = self.parser.unsignaled.val();
        self.requests.dest_accept.next = self.parser.dest_accept.val();
        self.requests.by_columns.next = self.parser.by_columns.val();
        self.requests.later.next = self.parser.later.val();
        self.requests.column_accept.next = self.parser.column_accept.val();
        self.requests.column_dests.next = self.parser.column_dests.val();
        self.requests.columns.next = self.parser.columns.val();
        self.requests.finish.next = self.parser.finish.val();
        self.requests.failed.next = self.parser.failed.val();
        self.requests.failed_flush.next = self.parser.failed_flush.val();
        self.requests.failed_qp.next = self.parser.failed_qp.val();
        self.requests.dest_index.next = self.parser.dest.val();
        self.requests.partitioned.next = self.parser.partitioned.val();
        self.requests.region.next = self.parser.region.val();
        self.requests.sets.next = self.parser.sets.val();
        self.requests.unfit.next = self.parser.unfit.val();
        self.requests.lacking.next = self.bounds.lacking.val();
        self.requests.overlong.next = self.parser.overlong.val();
        self.requests.dests.next = self.parser.dests.val();
        self.requests.busy.next = self.bounds.busy.val();
        self.requests.fail_valid.next = self.bounds.fail_valid.val();
        self.requests.fail_region.next = self.bounds.fail_region.val();
        self.requests.fail_dest.next = self.bounds.fail_dest.val();
        self.requests.set_done.next = self.parser.element_valid.val()
            && (self.parser.element_last.val() || self.parser.element_alone.val());
        self.requests.set_told_again.next = self.parser.element_valid.val()
            && self.parser.element_last.val()
            && (self.parser.element_kind.val() != CONTIGUOUS);
        self.fetch_valid.d.next = self.parser.open.val();
        self.fetch_slot.d.next = self.requests.slot.val();
        self.fetch_plan.d.next = self.parser.fetch.val();
        self.fetch_write_valid.next = self.fetch_valid.q.val();
        self.fetch_write_slot.next = self.fetch_slot.q.val();
        self.fetch_write_plan.next = self.fetch_plan.q.val();
        self.open_valid.next = self.requests.open_valid.val();
        self.requests.open_ready.next = self.open_ready.val();
        self.open_slot.next = self.requests.open_slot.val();
        self.open_queue.next = self.requests.open_queue.val();
        self.open_wr_id.next = self.requests.open_wr_id.val();
        self.open_position.next = self.requests.open_position.val();
        self.open_unsignaled.next = self.requests.open_unsignaled.val();
        self.request_valid.next = self.requests.request_valid.val();
        self.requests.request_ready.next = self.request_ready.val();
        self.request_slot.next = self.requests.request_slot.val();
        self.request_queue.next = self.requests.request_queue.val();
        self.request_wr_id.next = self.requests.request_wr_id.val();
        self.request_dests.next = self.requests.request_dests.val();
        self.request_first_dest.next = self.requests.request_first_dest.val();
        self.request_status.next = self.requests.request_status.val();
        self.request_bad_dest.next = self.requests.request_bad_dest.val();
        self.requests.apart.next = self.apart.told.val();
        self.requests.kinds.next = self.parser.kinds.val();
        self.requests.parted.next = self.parser.parted.val();
        self.requests.part_comes.next = self.unpacker.parted.val() || self.parser.parted.val();
        self.parts_full.next = self.requests.parts_full.val();
        self.request_kinds.next = self.requests.request_kinds.val();
        self.request_apart.next = self.requests.request_apart.val();
        self.request_columns.next = self.requests.request_columns.val();

        // What ids are made of, with the slot of the request at hand.
        self.parser.function_write.join(&mut self.function_write);
        self.function_write.slot.next = self.requests.slot.val();
        self.parser.key_write.join(&mut self.key_write);
        self.key_write.slot.next = self.requests.slot.val();

        // Parts of messages.
        self.part_valid.d.next = self.parser.open.val() || self.parser.part_told.val();
        self.part.d.next.slot = self.requests.slot.val();
        self.part.d.next.whole = 0.into();
        self.part.d.next.resumes = false;
        self.part.d.next.pauses = false;
        if self.parser.part_told.val() {
            self.part.d.next.whole = self.parser.part_whole.val();
            self.part.d.next.resumes = self.parser.part_resumes.val();
            self.part.d.next.pauses = self.parser.part_pauses.val();
        }
        self.part_write.valid.next = self.part_valid.q.val();
        self.part_write.next = self.part.q.val();

        // READs and atomics: where their bytes go, how many they are, and in how many packets they come.
        self.piece_valid.d.next = self.parser.piece_valid.val();
        self.piece.d.next.slot = self.requests.slot.val();
        self.piece.d.next.index = self.parser.piece_index.val();
        self.piece.d.next.addr = self.parser.element_base.val();
        self.piece.d.next.len = self.parser.element_len.val();
        self.piece_write.valid.next = self.piece_valid.q.val();
        self.piece_write.next = self.piece.q.val();
        self.asked[0].d.next = self.parser.told_ask.val();
        self.asked[1].d.next = self.asked[0].q.val();
        self.asked[2].d.next = self.asked[1].q.val();
        if self.parser.told_ask.val() {
            self.asked_slot.d.next = self.requests.slot.val();
            self.asked_mtu.d.next = self.parser.log_mtu.val();
            self.asked_bytes.d.next = self.parser.ask_bytes.val();
        }
        self.mtu_less_one.next = (bit_cast::<13, 1>(1.into()) << self.asked_mtu.q.val()) - 1;
        self.rounded.d.next = bit_cast::<33, 32>(self.asked_bytes.q.val())
            + bit_cast::<33, 13>(self.mtu_less_one.val());
        self.packets.d.next = (self.rounded.q.val() >> self.asked_mtu.q.val()).get_bits::<24>(0);
        if self.dest_ask.q.val().get_bit(1) || !self.asked_bytes.q.val().any() {
            self.packets.d.next = 1.into();
        }
        self.ask_write.valid.next = self.asked[2].q.val();
        self.ask_write.slot.next = self.asked_slot.q.val();
        self.ask_write.len.next = self.asked_bytes.q.val();
        self.ask_write.packets.next = self.packets.q.val();
        self.ask_write.log_mtu.next = self.asked_mtu.q.val();

        // Addresses.
        self.address_valid.d.next = self.parser.dest_accept.val();
        self.address.d.next = self.parser.address.val();
        self.address.d.next.slot = self.requests.slot.val();
        if !self.parser.address.val().ttl.any() {
            self.address.d.next.ttl = usize::from(TTL).to_bits();
        }
        self.address_write.valid.next = self.address_valid.q.val();
        self.address_write.next = self.address.q.val();

        // Destinations.
        if self.parser.open.val() {
            self.shared_set.d.next = self.shaper.set.val();
        }
        self.dest_valid.d.next = self.parser.dest_accept.val();
        self.dest_again.d.next = false;
        if self.parser.dest_accept.val() {
            self.dest_dest.d.next = self.requests.dest.val();
            self.dest_base.d.next = self.requests.dest.val();
            self.column_offset.d.next = 0.into();
            self.dest_qp.d.next = self.parser.qp.val();
            self.dest_sets.d.next = self.parser.dest_sets.val();
            self.dest_first_set.d.next = self.shaper.set.val();
            if self.parser.partitioned.val() {
                self.dest_first_set.d.next = self.shared_set.q.val();
            }
            self.dest_opcode.d.next = self.parser.opcode.val();
            self.dest_imm.d.next = self.parser.imm.val();
            self.dest_remote_addr.d.next = self.parser.remote_addr.val();
            self.dest_rkey.d.next = self.parser.rkey.val();
            self.dest_slot.d.next = self.requests.slot.val();
            self.dest_index.d.next = self.parser.dest.val();
            self.dest_transport.d.next = self.parser.transport.val();
            self.dest_log_mtu.d.next = self.parser.log_mtu.val();
            self.dest_stamp.d.next = self.contexts.stamp.val();
            self.dest_ask.d.next = self.parser.ask.val();
            self.dest_fenced.d.next = self.parser.fenced.val();
            self.dest_solicited.d.next = self.parser.solicited.val();
            self.dest_invalidates.d.next = self.parser.invalidates.val();
            self.dest_empty.d.next = self.parser.empty.val();
            self.dest_element_mask.d.next = self.parser.element_mask.val();
            self.dest_rows_per_message.d.next = self.parser.rows_per_message.val();
            self.dest_partition.d.next = self.parser.partition.val();
            self.dest_alike.d.next = self.parser.partitioned.val();
            self.dest_more.d.next = false;
        }
        if self.parser.column_accept.val() {
            self.dest_valid.d.next = true;
            self.dest_dest.d.next = self.dest_base.q.val() + self.column_offset.q.val();
            self.column_offset.d.next = self.column_offset.q.val()
                + bit_cast::<10, DEST_COUNT>(self.parser.column_dests.val());
            self.dest_remote_addr.d.next = self.parser.remote_addr.val();
            self.dest_rkey.d.next = self.parser.rkey.val();
            // Only the last column's messages carry immediate data.
            self.dest_opcode.d.next = self.write_opcode.val();
            self.dest_more.d.next = !self.parser.column_last.val();
            if self.parser.column_last.val() {
                self.dest_opcode.d.next = self.parser.opcode.val();
            }
        }
        self.dest_joined.d.next = self.joiner.joined.val();
        if self.joiner.joined.val() {
            // Written again: one set, whose rows are the units.
            self.dest_sets.d.next = 1.into();
            self.dest_element_mask.d.next = false;
        }
        if self.dest_joined.q.val() {
            self.dest_valid.d.next = true;
            self.dest_again.d.next = true;
        }
        if self.alike.told.val() {
            self.dest_valid.d.next = true;
            self.dest_again.d.next = true;
            self.dest_dest.d.next = self.dest_base.q.val();
            self.dest_alike.d.next = true;
        }
        if self.rst.val() {
            self.part_valid.d.next = false;
            self.piece_valid.d.next = false;
            for k in 0..3 {
                self.asked[k].d.next = false;
            }
            self.address_valid.d.next = false;
            self.inline_valid.d.next = false;
            self.fetch_valid.d.next = false;
            self.dest_valid.d.next = false;
            self.dest_joined.d.next = false;
        }
        self.dest_write_valid.next = self.dest_valid.q.val();
        self.dest_write_dest.next = self.dest_dest.q.val();
        self.dest_write_qp.next = self.dest_qp.q.val();
        self.dest_write_sets.next = self.dest_sets.q.val();
        self.dest_write_first_set.next = self.dest_first_set.q.val();
        self.dest_write_opcode.next = self.dest_opcode.q.val();
        self.dest_write_imm.next = self.dest_imm.q.val();
        self.dest_write_remote_addr.next = self.dest_remote_addr.q.val();
        self.dest_write_rkey.next = self.dest_rkey.q.val();
        self.dest_write_slot.next = self.dest_slot.q.val();
        self.dest_write_index.next = bit_cast::<DEST_COUNT, DEST_INDEX>(self.dest_index.q.val());
        self.dest_write_transport.next = self.dest_transport.q.val();
        self.dest_write_log_mtu.next = self.dest_log_mtu.q.val();
        self.dest_write_stamp.next = self.dest_stamp.q.val();
        self.dest_write_ask.next = self.dest_ask.q.val();
        self.dest_write_fenced.next = self.dest_fenced.q.val();
        self.dest_write_solicited.next = self.dest_solicited.q.val();
        self.dest_write_invalidates.next = self.dest_invalidates.q.val();
        self.dest_write_empty.next = self.dest_empty.q.val();
        self.dest_write_element_mask.next = self.dest_element_mask.q.val();
        self.dest_write_rows_per_message.next = self.dest_rows_per_message.q.val();
        self.dest_write_partition.next = self.dest_partition.q.val();
        self.dest_write_alike.next = self.dest_alike.q.val();
        self.dest_write_again.next = self.dest_again.q.val();
        self.dest_write_more.next = self.dest_more.q.val();
    }
}
