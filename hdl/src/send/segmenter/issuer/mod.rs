//! Makes packets of pages, and gives them their sequence numbers.

mod kernel;
mod packets;
mod steps;
mod tables;

use crate::request::{AskWrite, DEST_COUNT, DEST_INDEX, PartWrite};
use drdma_abi::receive::ReliableOpcode;
use drdma_abi::work_request::MAX_DESTINATIONS;
use drdma_emit::prelude::*;

use drdma_abi::Layout;
use drdma_abi::completion::Status;
use drdma_abi::register::QueuePairEntry;
use drdma_abi::roce::{Transport, operation};
use drdma_abi::work_request::Opcode;

use super::queues::Queues;
use crate::context::{INDEX, QP, QUEUE, Stamps, Table, TableSelect};
use crate::primitive::{Flatten, Lutram, PromptFifo, Ram, RamStyle, Restore};
use crate::send::PAGE;
use crate::send::packetizer::Packet;

/// An event that the collector has found: pages that make packets, ends of destinations and requests.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Event {
    /// Number of the destination in the ring of destinations.
    pub dest: Bits<10>,
    /// Slot of the request.
    pub slot: Bits<8>,
    /// Bytes of the message, if it can be longer than a packet; else 0.
    pub message_bytes: Bits<32>,
    /// There is a full packet that is not the message's last one.
    pub full: Bit,
    /// The page of the full packet.
    pub full_page: Bits<PAGE>,
    /// Bytes of the full packet.
    pub full_bytes: Bits<13>,
    /// There is the message's last packet, which comes behind the full one.
    pub last: Bit,
    /// The page of the last packet.
    pub last_page: Bits<PAGE>,
    /// Bytes of the last packet.
    pub last_bytes: Bits<13>,
    /// `last_page` holds an unfinished message, which is not sent.
    pub drop: Bit,
    /// A fragment of the payload could not be read.
    pub error: Bit,
    /// The destination ends.
    pub dest_end: Bit,
    /// The request ends.
    pub request_end: Bit,
    /// The request's status; valid with `request_end`.
    pub status: Bits<8>,
    /// Index of the destination that failed; valid with a status other than 0.
    pub bad_dest: Bits<DEST_COUNT>,
}

/// Bits of an [`Event`].
pub const EVENT: usize = 90 + 2 * PAGE + DEST_COUNT;

/// Fields of a destination, beside its queue pair.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Destination {
    /// Opcode of the request: SEND or WRITE, with immediate data or without.
    pub opcode: Bits<2>,
    /// Immediate data, or the key that a SEND with invalidate names.
    pub imm: Bits<32>,
    /// Remote address of the destination's first message.
    pub remote_addr: Bits<64>,
    /// Remote key of the destination.
    pub rkey: Bits<32>,
    /// Transport of the queue pair.
    pub transport: Bits<2>,
    /// Index of the destination in its request.
    pub index: Bits<DEST_COUNT>,
    /// The stamp of the queue pair's entry that the request was checked with.
    pub stamp: Bits<32>,
    /// The request is a READ (1), a compare and swap (2) or a fetch and add (3); 0: a SEND or a WRITE.
    pub ask: Bits<2>,
    /// The destination's packets wait until the READs and atomics before them have their answers.
    pub fenced: Bit,
    /// The last packets of the destination's messages ask for a solicited event; READs and atomics ignore this.
    pub solicited: Bit,
    /// The last packets of the destination's messages make the key in `imm` invalid.
    pub invalidates: Bit,
    /// The message has no bytes: the one byte that comes stands for it, and is not sent.
    pub empty: Bit,
    /// The queue pair gets another column of the request behind this one, and a single acknowledgement for both.
    pub more: Bit,
}

/// Bits of a [`Destination`].
const DESTINATION: usize = 171 + DEST_COUNT;

/// Bits of the request of a READ or an atomic: `len` 32, `packets` 24, `log_mtu` 4.
const ASK: usize = 60;
/// Bits of which part of a message is sent: `whole` 32, `resumes`, `pauses`.
const PART_OF: usize = 34;
/// READ, as `Destination::ask` has it.
const READ: u64 = ReliableOpcode::Read as u64 & 3;

/// Bits of a [`Packet`].
const ITEM: usize = 268 + PAGE + QP + DEST_COUNT;

/// Steps of the issuer.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum IssuerState {
    /// Waits for an event.
    Waiting,
    /// Takes the destination's data, and reads the queue pair's.
    Loading,
    /// Gives out what the event holds, one item a cycle.
    Giving,
}

/// Turns [`Event`]s (pages that make packets, ends of destinations and requests) into packets with
/// sequence numbers, addresses and operations, and into `sent` items, in order.
///
/// Contract: 2 cycles an event, and one more for every item after its first; one cycle for the end of a request that
/// has begun. Pages of packets that must not be sent go back by `drop`. Stalls when the output is full.
#[derive(LogicBlock, BlockDefault)]
pub struct Issuer {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,

    // Events.
    /// Events of the collector, in order.
    pub found: Stream<In, Event>,

    // Destinations.
    /// A destination of a request is written.
    pub dest_write_valid: Signal<In, Bit>,
    /// Number of the destination that is written.
    pub dest_write_dest: Signal<In, Bits<10>>,
    /// Queue pair of the destination.
    pub dest_write_qp: Signal<In, Bits<QP>>,
    /// Other fields of the destination.
    pub dest_write_data: Signal<In, Destination>,

    // Configuration.
    /// The host writes a word of a table.
    pub cfg_valid: Signal<In, Bit>,
    /// Number of the table that is written.
    pub cfg_table: Signal<In, Bits<3>>,
    /// Entry of the table that is written.
    pub cfg_index: Signal<In, Bits<INDEX>>,
    /// Word of the entry that is written.
    pub cfg_word: Signal<In, Bits<4>>,
    /// The value that is written.
    pub cfg_data: Signal<In, Bits<32>>,
    /// The queue pair whose `qp_error` is asked for in the next cycle.
    pub error_next: Signal<Out, Bits<QP>>,
    /// The queue pair of `error_next`, one cycle before, is in the error state.
    pub qp_error: Signal<In, Bit>,
    /// The queue whose `queue_halted` is asked for in the next cycle.
    pub halted_next: Signal<Out, Bits<QUEUE>>,
    /// The queue of `halted_next`, one cycle before, is halted.
    pub queue_halted: Signal<In, Bit>,
    /// A request is opened.
    pub open_valid: Signal<In, Bit>,
    /// Slot of the request that is opened.
    pub open_slot: Signal<In, Bits<8>>,
    /// Send queue of the request that is opened.
    pub open_queue: Signal<In, Bits<QUEUE>>,
    /// A destination failed: its queue pair enters the error state.
    pub set_qp_error_valid: Signal<Out, Bit>,
    /// Queue pair that enters the error state.
    pub set_qp_error_index: Signal<Out, Bits<QP>>,

    /// Bytes that a READ or an atomic asks for, by slot.
    pub ask_write: Flow<In, AskWrite>,
    /// Part of a message that a request sends, by slot.
    pub part_write: Flow<In, PartWrite>,

    /// Packets and `sent` items, in order.
    pub packet: Stream<Out, Packet>,

    // Pages that are not sent.
    /// A page can be given back in this cycle: no other one is.
    pub drop_ready: Signal<In, Bit>,
    /// A page that is not sent is given back.
    pub drop_valid: Signal<Out, Bit>,
    /// The page that is given back.
    pub drop_page: Signal<Out, Bits<PAGE>>,

    /// A request has ended; requests end in order.
    pub release_valid: Signal<Out, Bit>,
    /// With `release_valid`: slot of the request.
    pub release_slot: Signal<Out, Bits<8>>,

    // Sequence numbers: the first one, as the host wrote it, and the next one.
    select: TableSelect,
    #[init(Ram::new(RamStyle::Ultra))]
    start_psns: Ram<24, 1, QP>,
    psns: Table<24, QP>,
    load: DFF<Bit>,
    load_qp: DFF<Bits<QP>>,
    #[init(word("start_psn"))]
    psn_word: Constant<Bits<4>>,
    // Whether the host has written to the queue pair's entry since the request was checked.
    stamps: Stamps<32, QP, 1>,
    gone: Signal<Local, Bit>,
    was_gone: DFF<Bit>,

    // The current event, and the fields of its destination.
    state: DFF<IssuerState>,
    held: DFF<Event>,
    dests: Ram<DESTINATION, 1, 10>,
    /// Queue pair of each destination, which is needed a cycle before the rest.
    dest_qps: Lutram<QP, 10, 1>,
    dest_in: Flatten<Destination, DESTINATION>,
    dest_out: Restore<Destination, DESTINATION>,
    about: Signal<Local, Destination>,
    /// Bytes that the READ or atomic in each slot asks for.
    asked: Ram<ASK, 1, 8>,
    asked_in: Signal<Local, Bits<ASK>>,
    asks: Signal<Local, Bit>,
    reads: Signal<Local, Bit>,
    /// Part of a message that the request in each slot sends.
    parts: Ram<PART_OF, 1, 8>,
    part_in: Signal<Local, Bits<PART_OF>>,
    whole: Signal<Local, Bits<32>>,
    resumes: Signal<Local, Bit>,
    pauses: Signal<Local, Bit>,
    /// Of each queue pair: the message of its last packet goes on in another part.
    midways: Table<1, QP>,
    /// The host has written a word of the queue pair's entry: its unfinished message is given up.
    wipe: DFF<Bit>,
    wipe_qp: DFF<Bits<QP>>,
    /// The packet does not continue the message where its queue pair stands.
    astray: Signal<Local, Bit>,
    /// The packet is the message's last one.
    ends: Signal<Local, Bit>,
    /// Sequence numbers that the packet takes, and the same number less one.
    takes: DFF<Bits<24>>,
    takes_less_one: DFF<Bits<24>>,
    last_psn: Signal<Local, Bits<24>>,
    counted: Signal<Local, Bits<40>>,
    addresses: Lutram<64, DEST_INDEX, 1>,
    next_psn: DFF<Bits<24>>,
    address: DFF<Bits<64>>,
    dropping: DFF<Bit>,
    has_sent: DFF<Bit>,
    within: DFF<Bit>,
    todo_full: DFF<Bit>,
    todo_last: DFF<Bit>,
    todo_dest_end: DFF<Bit>,
    todo_request_end: DFF<Bit>,
    refused: Signal<Local, Bit>,
    only_end: Signal<Local, Bit>,

    // The current request, with a bit for each of its destinations.
    queues: Queues,
    begun: DFF<Bit>,
    was_barred: DFF<Bit>,
    barred: Signal<Local, Bit>,
    /// The event puts a queue pair into the error state, if its request was begun.
    breaking: DFF<Bit>,
    breaking_qp: DFF<Bits<QP>>,
    drops: Signal<Local, Bit>,
    started: DFF<Bits<MAX_DESTINATIONS>>,
    inside_message: DFF<Bits<MAX_DESTINATIONS>>,
    flushed: DFF<Bits<MAX_DESTINATIONS>>,
    failed: DFF<Bit>,
    fail_status: DFF<Bits<8>>,
    fail_dest: DFF<Bits<DEST_COUNT>>,
    total: DFF<Bits<40>>,
    released: DFF<Bit>,
    released_slot: DFF<Bits<8>>,

    // Wires.
    take: Signal<Local, Bit>,
    dest: Signal<Local, Bits<DEST_INDEX>>,
    qp: DFF<Bits<QP>>,
    index: Signal<Local, Bits<DEST_COUNT>>,
    reliable: Signal<Local, Bit>,
    write: Signal<Local, Bit>,
    flush: Signal<Local, Bit>,
    full: Signal<Local, Bit>,
    page: Signal<Local, Bits<PAGE>>,
    bytes: Signal<Local, Bits<13>>,
    step: Signal<Local, Bit>,
    pushed: Signal<Local, Bit>,
    sends: Signal<Local, Bit>,
    gives: Signal<Local, Bit>,
    more: Signal<Local, Bit>,
    marker: Signal<Local, Bit>,
    kind: Signal<Local, Bits<2>>,
    marker_psn: Signal<Local, Bits<24>>,
    final_status: Signal<Local, Bits<8>>,
    final_dest: Signal<Local, Bits<DEST_COUNT>>,
    final_total: Signal<Local, Bits<40>>,
    operation: Signal<Local, Bits<5>>,
    has_imm: Signal<Local, Bit>,
    has_reth: Signal<Local, Bit>,
    ack_req: Signal<Local, Bit>,
    message_bytes: Signal<Local, Bits<32>>,
    next_item: Signal<Local, Packet>,

    items: PromptFifo<ITEM, 4, 5>,
    item_in: Flatten<Packet, ITEM>,
    item_out: Restore<Packet, ITEM>,
    #[init(code(Transport::Rc as u8))]
    rc: Constant<Bits<2>>,
    #[init(code(Opcode::Write as u8))]
    write_opcode: Constant<Bits<2>>,
    #[init(code(Opcode::WriteImm as u8))]
    write_imm_opcode: Constant<Bits<2>>,
    #[init(code(Opcode::SendImm as u8))]
    send_imm_opcode: Constant<Bits<2>>,
    #[init(code(operation::WRITE_FIRST))]
    write_base: Constant<Bits<5>>,
    #[init(code(operation::SEND_MIDDLE))]
    middle: Constant<Bits<5>>,
    #[init(code(operation::SEND_LAST))]
    last: Constant<Bits<5>>,
    #[init(code(operation::SEND_ONLY))]
    only: Constant<Bits<5>>,
    #[init(code(operation::READ_REQUEST))]
    read_request: Constant<Bits<5>>,
    #[init(code(operation::COMPARE_AND_SWAP))]
    compare_and_swap: Constant<Bits<5>>,
    #[init(code(operation::FETCH_AND_ADD))]
    fetch_and_add: Constant<Bits<5>>,
    #[init(code(operation::SEND_LAST_INVALIDATE))]
    last_invalidate: Constant<Bits<5>>,
    #[init(code(operation::SEND_ONLY_INVALIDATE))]
    only_invalidate: Constant<Bits<5>>,
    #[init(code(Status::LocalProtectionError as u8))]
    protection_error: Constant<Bits<8>>,
    #[init(code(Status::WrFlushError as u8))]
    flush_error: Constant<Bits<8>>,
}

/// The number of the word of a queue pair's entry that has this field.
fn word(name: &str) -> Constant<Bits<4>> {
    Constant::new((QueuePairEntry::field(name).start / 32).to_bits())
}

/// A code, at the width of its field.
fn code<const W: usize>(code: u8) -> Constant<Bits<W>> {
    Constant::new(usize::from(code).to_bits())
}
