//! Cuts payload into packets: collects the bytes of each destination in pages, ends a packet at
//! the MTU and at the ends of messages, and gives it its sequence number.
//!
//! Takes parts of beats from the assembler; the bytes of a part stand at positions relative to what their
//! destination's message has so far. Every destination with an open message has one open page. A
//! full page is kept until more data or the message's end shows whether it is the last one. A beat
//! that goes beyond the MTU is split over two pages, without a stall.
//!
//! Contract: one part a cycle, also where packets end and between destinations. A packet is given
//! out at the earliest 5 cycles after the beat that completes it, one every 2 cycles. May stall
//! at any time: parts wait while fewer than 8 pages or 8 places for events are free; there are
//! [`PAGES`](super::PAGES) of each. The end of a request with a status takes a cycle more for each message that was not
//! finished, and if there are any, for each destination that a request may have. After a reset no part is accepted for
//! [`PAGES`](super::PAGES) cycles.
//!
//! Stages: the *collector* (`kernel`) keeps {open, page, fill} of each destination, with a loop of one
//! cycle; [`pages`] moves bytes to their place and keeps them; [`issuer`] turns the collector's
//! events (pages that are complete, ends of destinations and requests) into packets and
//! `sent` items. The output carries both in one stream, so that their order is kept.

use crate::context::{INDEX, QP, QUEUE};
use crate::request::{AskWrite, DEST_COUNT, DEST_INDEX, PartWrite};
use drdma_emit::prelude::*;

use super::packetizer::Packet;
use super::{PAGE, PAGE_ROW};
use crate::primitive::{DeepFifo, Fifo, Flatten, Lutram, Ram, Restore};

pub mod issuer;
mod kernel;
pub mod pages;
pub mod queues;
#[cfg(test)]
pub(crate) mod tests;

use issuer::{EVENT, Event, Issuer};
use pages::Pages;

/// The state of a destination's open message.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Message {
    /// The page that is being filled.
    pub page: Bits<PAGE>,
    /// Bytes in that page, up to the MTU.
    pub fill: Bits<13>,
    /// Bytes of the message, if it can be longer than a packet; else 0.
    pub message_bytes: Bits<32>,
}

/// Bits of a [`Message`].
const MESSAGE: usize = 45 + PAGE;
/// Bits of a count of [`PAGES`](super::PAGES).
const PAGE_COUNT: usize = PAGE + 1;
/// Pages and places for events that must be free for a part to be accepted: the need of the parts on their way.
const SPARE: u64 = 8;

/// Cuts payload into packets. See the [module](self).
#[derive(LogicBlock, BlockDefault)]
pub struct Segmenter {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,

    // Payload.
    /// A part of a beat is offered.
    pub payload_valid: Signal<In, Bit>,
    /// The part is taken in this cycle.
    pub payload_ready: Signal<Out, Bit>,
    /// Bytes of the part, at their positions in the beat.
    pub payload_data: Signal<In, Bits<512>>,
    /// Bytes of the beat that this part brings, a bit each.
    pub payload_mask: Signal<In, Bits<64>>,
    /// The part is the last one of its beat: `payload_bytes` and the ends are valid.
    pub payload_part_end: Signal<In, Bit>,
    /// A fragment of the part could not be read.
    pub payload_error: Signal<In, Bit>,
    /// Number of the destination in the ring of destinations.
    pub payload_dest: Signal<In, Bits<10>>,
    /// Slot of the request.
    pub payload_slot: Signal<In, Bits<8>>,
    /// Bytes of the whole beat, 0 to 64.
    pub payload_bytes: Signal<In, Bits<7>>,
    /// The beat starts a message.
    pub payload_message_start: Signal<In, Bit>,
    /// The beat ends a message.
    pub payload_message_end: Signal<In, Bit>,
    /// With `payload_message_start`: bytes of the message, if it can be longer than a packet; else 0.
    pub payload_message_bytes: Signal<In, Bits<32>>,
    /// The beat ends the request.
    pub payload_request_end: Signal<In, Bit>,
    /// The beat ends the destination.
    pub payload_dest_end: Signal<In, Bit>,
    /// The request's status; valid with `payload_request_end`.
    pub payload_status: Signal<In, Bits<8>>,
    /// Index of the destination that failed; valid with a status other than 0.
    pub payload_bad_dest: Signal<In, Bits<DEST_COUNT>>,

    // Requests and destinations, from the decoder.
    /// A request is opened, before its destinations are written.
    pub open_valid: Signal<In, Bit>,
    /// Slot of the request that is opened.
    pub open_slot: Signal<In, Bits<8>>,
    /// Send queue of the request that is opened.
    pub open_queue: Signal<In, Bits<QUEUE>>,
    /// A destination of a request is written.
    pub dest_write_valid: Signal<In, Bit>,
    /// Number of the destination in the ring of destinations.
    pub dest_write_dest: Signal<In, Bits<10>>,
    /// Index of the destination in its request.
    pub dest_write_index: Signal<In, Bits<DEST_COUNT>>,
    /// Queue pair of the destination.
    pub dest_write_qp: Signal<In, Bits<QP>>,
    /// Opcode of the request: SEND or WRITE, with immediate data or without.
    pub dest_write_opcode: Signal<In, Bits<2>>,
    /// Immediate data, or the key that a SEND with invalidate names.
    pub dest_write_imm: Signal<In, Bits<32>>,
    /// Remote address of the destination's first message.
    pub dest_write_remote_addr: Signal<In, Bits<64>>,
    /// Remote key of the destination.
    pub dest_write_rkey: Signal<In, Bits<32>>,
    /// Transport of the queue pair.
    pub dest_write_transport: Signal<In, Bits<2>>,
    /// Binary logarithm of the MTU in bytes.
    pub dest_write_log_mtu: Signal<In, Bits<4>>,
    /// The stamp of the queue pair's entry that the request was checked with.
    pub dest_write_stamp: Signal<In, Bits<32>>,
    /// The request is a READ (1), a compare and swap (2) or a fetch and add (3); 0: a SEND or a WRITE.
    pub dest_write_ask: Signal<In, Bits<2>>,
    /// The destination's packets wait until the READs and atomics before them have their answers.
    pub dest_write_fenced: Signal<In, Bit>,
    /// The last packets of the destination's messages ask for a solicited event.
    pub dest_write_solicited: Signal<In, Bit>,
    /// The last packets of the destination's messages make the key in the immediate data invalid.
    pub dest_write_invalidates: Signal<In, Bit>,
    /// The message has no bytes: the one byte that comes stands for it, and is not sent.
    pub dest_write_empty: Signal<In, Bit>,
    /// The queue pair gets another column of the request, as another destination.
    pub dest_write_more: Signal<In, Bit>,
    /// Bytes that a READ or an atomic asks for, by slot.
    pub ask_write: Flow<In, AskWrite>,
    /// Part of a message that a request sends, by slot.
    pub part_write: Flow<In, PartWrite>,

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
    /// A destination failed: its queue pair enters the error state.
    pub set_qp_error_valid: Signal<Out, Bit>,
    /// Queue pair that enters the error state.
    pub set_qp_error_index: Signal<Out, Bits<QP>>,

    /// Packets and `sent` items, in order.
    pub packet: Stream<Out, Packet>,

    // Pages, for the packetizer.
    /// A row of a payload page is read.
    pub page_read_enable: Signal<In, Bit>,
    /// Page and row that are read; the row is the low 6 bits.
    pub page_read_address: Signal<In, Bits<PAGE_ROW>>,
    /// The row, two cycles after it was asked for.
    pub page_read_data: Signal<Out, Bits<512>>,
    /// A page is given back.
    pub page_free_valid: Signal<In, Bit>,
    /// The page that is given back.
    pub page_free_page: Signal<In, Bits<PAGE>>,

    /// A request has left the segmenter; requests leave in order.
    pub release_valid: Signal<Out, Bit>,
    /// With `release_valid`: slot of the request.
    pub release_slot: Signal<Out, Bits<8>>,

    // Free pages.
    pool: Fifo<PAGE, PAGE, PAGE_COUNT>,
    filled: DFF<Bits<PAGE_COUNT>>,
    all_filled: Signal<Local, Bit>,
    /// `all_filled`, a cycle later.
    is_filled: DFF<Bit>,
    go: DFF<Bit>,

    // The part in the collector, with its destination's state.
    valid: DFF<Bit>,
    data: DFF<Bits<512>>,
    mask: DFF<Bits<64>>,
    part_end: DFF<Bit>,
    error: DFF<Bit>,
    dest: DFF<Bits<10>>,
    slot: DFF<Bits<8>>,
    bytes: DFF<Bits<7>>,
    message_start: DFF<Bit>,
    message_end: DFF<Bit>,
    start_bytes: DFF<Bits<32>>,
    request_end: DFF<Bit>,
    dest_end: DFF<Bit>,
    status: DFF<Bits<8>>,
    bad_dest: DFF<Bits<DEST_COUNT>>,
    open: DFF<Bit>,
    page: DFF<Bits<PAGE>>,
    fill: DFF<Bits<13>>,
    message_bytes: DFF<Bits<32>>,
    accept: Signal<Local, Bit>,
    part_dest: Signal<Local, Bits<DEST_INDEX>>,

    // The states of all destinations, and whether each has an open message.
    mtus: Ram<13, 1, 10>,
    states: Lutram<MESSAGE, DEST_INDEX, 1>,
    state_in: Flatten<Message, MESSAGE>,
    state_out: Restore<Message, MESSAGE>,
    next_state: Signal<Local, Message>,
    open_pages: Lutram<PAGE, DEST_INDEX, 1>,
    open_of: Lutram<1, DEST_INDEX, 2>,
    open_count: DFF<Bits<DEST_COUNT>>,
    was_open: Signal<Local, Bit>,
    same: Signal<Local, Bit>,
    next_open: Signal<Local, Bit>,
    next_page: Signal<Local, Bits<PAGE>>,
    next_fill: Signal<Local, Bits<13>>,
    next_message_bytes: Signal<Local, Bits<32>>,

    // Place of the part's bytes in their page.
    #[init(Constant::new(1.into()))]
    one: Constant<Bits<13>>,
    mtu: Signal<Local, Bits<13>>,
    total: Signal<Local, Bits<13>>,
    crosses: Signal<Local, Bit>,
    opens: Signal<Local, Bit>,
    splits: Signal<Local, Bit>,
    split: DFF<Bit>,
    split_page: DFF<Bits<PAGE>>,
    this_page: Signal<Local, Bits<PAGE>>,
    further_page: Signal<Local, Bits<PAGE>>,
    row: Signal<Local, Bits<7>>,
    row_after: Signal<Local, Bits<7>>,
    pages: Pages,

    // Events: as many places as there are pages, so that packets wait only for pages.
    events: DeepFifo<EVENT, PAGE, PAGE_COUNT>,
    current: Signal<Local, Bit>,
    full_valid: Signal<Local, Bit>,
    last_valid: Signal<Local, Bit>,
    last_page: Signal<Local, Bits<PAGE>>,
    last_bytes: Signal<Local, Bits<13>>,
    drop: Signal<Local, Bit>,
    event_error: Signal<Local, Bit>,
    event_dest_end: Signal<Local, Bit>,
    event_request_end: Signal<Local, Bit>,
    found: Signal<Local, Event>,
    event_in: Flatten<Event, EVENT>,
    event_out: Restore<Event, EVENT>,
    issuer: Issuer,

    // Messages that a request with a status has left open are dropped.
    draining: DFF<Bit>,
    left_dest: DFF<Bits<DEST_INDEX>>,
}
