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
//! [`PAGES`] of each. The end of a request with a status takes a cycle more for each message that was not
//! finished, and if there are any, for each destination that a request may have. After a reset no part is accepted for
//! [`PAGES`] cycles.
//!
//! Stages: the *collector* (here) keeps {open, page, fill} of each destination, with a loop of one
//! cycle; [`pages`] moves bytes to their place and keeps them; [`issuer`] turns the collector's
//! events (pages that are complete, ends of destinations and requests) into packets and
//! `sent` items. The output carries both in one stream, so that their order is kept.

use crate::context::{INDEX, QP, QUEUE};
use crate::request::{AskWrite, DEST_COUNT, DEST_INDEX, PartWrite};
use drdma_emit::prelude::*;

use super::packetizer::Packet;
use super::{PAGE, PAGE_PAIR, PAGE_ROW, PAGES};
use crate::primitive::{DeepFifo, Fifo, Flatten, Lutram, Ram, Restore};

pub mod issuer;
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
/// Bits of a count of [`PAGES`].
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

impl Logic for Segmenter {
    #[hdl_gen]
    fn update(&mut self) {
        // A part is accepted if there is room for all that it may need; the stages behind never stall.
        self.all_filled.next = self.filled.q.val() == PAGES;
        self.go.d.next = self.all_filled.val()
            && (self.pool.count.val() >= SPARE)
            && (self.events.free.val() >= SPARE);
        self.payload_ready.next = self.go.q.val() && !self.draining.q.val();
        self.accept.next = self.payload_valid.val() && self.go.q.val() && !self.draining.q.val();
        self.part_dest.next = self.payload_dest.val().get_bits::<DEST_INDEX>(0);

        // Place in their page of the bytes of the part that is in the collector.
        self.mtu.next = self.mtus.read_data.val();
        self.total.next = self.fill.q.val() + bit_cast::<13, 7>(self.bytes.q.val());
        // The MTU is a power of two, at least 256, and exceeded by at most 64 bytes: no comparison is needed, which
        // would take longer.
        self.crosses.next =
            (self.total.val() & self.mtu.val()).any() && self.total.val().get_bits::<7>(0).any();
        self.opens.next = self.valid.q.val() && !self.open.q.val() && self.bytes.q.val().any();
        self.splits.next = self.valid.q.val() && self.crosses.val() && !self.split.q.val();
        self.pool.out_ready.next = self.opens.val() || self.splits.val();
        self.this_page.next = self.pool.out_data.val();
        if self.open.q.val() {
            self.this_page.next = self.page.q.val();
        }
        self.further_page.next = self.pool.out_data.val();
        if self.split.q.val() {
            self.further_page.next = self.split_page.q.val();
        }
        if self.valid.q.val() {
            self.split.d.next = self.crosses.val() && !self.part_end.q.val();
            self.split_page.d.next = self.further_page.val();
        }

        // The part's bytes go to the row of the first one and to the next row; behind the MTU, to the other page.
        self.pages.write_data.next = self.data.q.val();
        self.pages.write_mask.next = 0.into();
        if self.valid.q.val() {
            self.pages.write_mask.next = self.mask.q.val();
        }
        self.pages.write_offset.next = self.fill.q.val().get_bits::<6>(0);
        self.row.next = self.fill.q.val().get_bits::<7>(6);
        self.row_after.next = self.row.val() + 1;
        self.pages.write_low.next = (bit_cast::<PAGE_ROW, PAGE>(self.this_page.val()) << 6)
            | bit_cast::<PAGE_ROW, 6>(self.row.val().get_bits::<6>(0));
        self.pages.write_high.next = (bit_cast::<PAGE_PAIR, PAGE>(self.this_page.val()) << 5)
            | bit_cast::<PAGE_PAIR, 5>(self.row_after.val().get_bits::<5>(1));
        if self.row.val() == self.mtu.val().get_bits::<7>(6) {
            self.pages.write_low.next = bit_cast::<PAGE_ROW, PAGE>(self.further_page.val()) << 6;
        }
        if self.row_after.val() == self.mtu.val().get_bits::<7>(6) {
            self.pages.write_high.next = bit_cast::<PAGE_PAIR, PAGE>(self.further_page.val()) << 5;
        }

        // The destination's state after the part.
        self.next_open.next = self.open.q.val() || self.opens.val();
        self.next_page.next = self.this_page.val();
        self.next_fill.next = self.fill.q.val();
        self.next_message_bytes.next = self.message_bytes.q.val();
        if self.message_start.q.val() {
            self.next_message_bytes.next = self.start_bytes.q.val();
        }
        if self.part_end.q.val() {
            self.next_fill.next = self.total.val();
            if self.crosses.val() {
                self.next_page.next = self.further_page.val();
                self.next_fill.next = bit_cast::<13, 7>(self.total.val().get_bits::<7>(0));
            }
            if self.message_end.q.val() {
                self.next_open.next = false;
            }
        }
        self.current.next = self.valid.q.val() && !self.request_end.q.val();
        self.states.write_enable.next = self.current.val();
        self.states.write_address.next = self.dest.q.val().get_bits::<DEST_INDEX>(0);
        self.next_state.next.page = self.next_page.val();
        self.next_state.next.fill = self.next_fill.val();
        self.next_state.next.message_bytes = self.next_message_bytes.val();
        self.state_in.record.next = self.next_state.val();
        self.states.write_data.next = self.state_in.bits.val();
        self.state_out.bits.next = self.states.read_data[0].val();
        self.open_of.write_enable.next = false;
        self.open_of.write_address.next = self.dest.q.val().get_bits::<DEST_INDEX>(0);
        self.open_of.write_data.next = bit_cast::<1, 1>(self.next_open.val().into());
        if self.current.val() {
            self.open_of.write_enable.next = true;
            if self.next_open.val() && !self.open.q.val() {
                self.open_count.d.next = self.open_count.q.val() + 1;
            }
            if !self.next_open.val() && self.open.q.val() {
                self.open_count.d.next = self.open_count.q.val() - 1;
            }
        }

        // The packets that the part completes.
        self.full_valid.next = self.current.val() && self.part_end.q.val() && self.crosses.val();
        self.last_valid.next = self.current.val()
            && self.part_end.q.val()
            && self.message_end.q.val()
            && (self.open.q.val() || self.opens.val());
        self.last_page.next = self.next_page.val();
        self.last_bytes.next = self.next_fill.val();
        self.drop.next = false;
        self.event_error.next = self.current.val() && self.error.q.val();
        self.event_dest_end.next =
            self.valid.q.val() && self.part_end.q.val() && self.dest_end.q.val();
        self.event_request_end.next = self.valid.q.val() && self.request_end.q.val();

        // Before a request with a status ends, all destinations are walked, and their open messages dropped, until no
        // message is open.
        self.open_pages.write_enable.next = self.current.val();
        self.open_pages.write_address.next = self.dest.q.val().get_bits::<DEST_INDEX>(0);
        self.open_pages.write_data.next = self.next_page.val();
        self.open_pages.read_address[0].next = self.left_dest.q.val();
        self.open_of.read_address[1].next = self.left_dest.q.val();
        if self.draining.q.val() && self.event_request_end.val() && self.open_count.q.val().any() {
            self.event_dest_end.next = false;
            self.event_request_end.next = false;
            self.drop.next = self.open_of.read_data[1].val().any();
            self.last_valid.next = self.drop.val();
            self.last_page.next = self.open_pages.read_data[0].val();
            if !self.drop.val() || self.events.in_ready.val() {
                self.left_dest.d.next = self.left_dest.q.val() + 1;
            }
            if self.drop.val() && self.events.in_ready.val() {
                self.open_of.write_enable.next = true;
                self.open_of.write_address.next = self.left_dest.q.val();
                self.open_of.write_data.next = 0.into();
                self.open_count.d.next = self.open_count.q.val() - 1;
            }
        }
        self.events.in_valid.next = self.full_valid.val()
            || self.last_valid.val()
            || self.event_error.val()
            || self.event_dest_end.val()
            || self.event_request_end.val();
        self.found.next.dest = self.dest.q.val();
        self.found.next.slot = self.slot.q.val();
        self.found.next.message_bytes = self.next_message_bytes.val();
        self.found.next.full = self.full_valid.val();
        self.found.next.full_page = self.this_page.val();
        self.found.next.full_bytes = self.mtu.val();
        self.found.next.last = self.last_valid.val();
        self.found.next.last_page = self.last_page.val();
        self.found.next.last_bytes = self.last_bytes.val();
        self.found.next.drop = self.drop.val();
        self.found.next.error = self.event_error.val();
        self.found.next.dest_end = self.event_dest_end.val();
        self.found.next.request_end = self.event_request_end.val();
        self.found.next.status = self.status.q.val();
        self.found.next.bad_dest = self.bad_dest.q.val();
        self.event_in.record.next = self.found.val();
        self.events.in_data.next = self.event_in.bits.val();

        // The next part, with the state of its destination.
        self.mtus.write_lanes.next = 0.into();
        if self.dest_write_valid.val() {
            self.mtus.write_lanes.next = 1.into();
        }
        self.mtus.write_address.next = self.dest_write_dest.val();
        self.mtus.write_data.next = self.one.val() << self.dest_write_log_mtu.val();
        self.mtus.read_enable.next = self.accept.val();
        self.mtus.read_address.next = self.payload_dest.val();
        self.states.read_address[0].next = self.part_dest.val();
        self.open_of.read_address[0].next = self.part_dest.val();
        self.was_open.next = self.open_of.read_data[0].val().any();
        self.same.next = self.current.val()
            && (self.dest.q.val().get_bits::<DEST_INDEX>(0) == self.part_dest.val());
        if self.draining.q.val() {
            // The request's end waits in the collector until no message is open.
            if self.event_request_end.val() && self.events.in_ready.val() {
                self.valid.d.next = false;
                self.draining.d.next = false;
            }
        } else {
            self.valid.d.next = self.accept.val();
        }
        if self.accept.val() {
            self.draining.d.next =
                self.payload_request_end.val() && self.payload_status.val().any();
            self.data.d.next = self.payload_data.val();
            self.mask.d.next = self.payload_mask.val();
            self.part_end.d.next = self.payload_part_end.val();
            self.error.d.next = self.payload_error.val();
            self.dest.d.next = self.payload_dest.val();
            self.slot.d.next = self.payload_slot.val();
            self.bytes.d.next = self.payload_bytes.val();
            self.message_start.d.next = self.payload_message_start.val();
            self.message_end.d.next = self.payload_message_end.val();
            self.start_bytes.d.next = self.payload_message_bytes.val();
            self.request_end.d.next = self.payload_request_end.val();
            self.dest_end.d.next = self.payload_dest_end.val();
            self.status.d.next = self.payload_status.val();
            self.bad_dest.d.next = self.payload_bad_dest.val();
            if self.same.val() {
                self.open.d.next = self.next_open.val();
                self.page.d.next = self.next_page.val();
                self.fill.d.next = self.next_fill.val();
                self.message_bytes.d.next = self.next_message_bytes.val();
                if !self.next_open.val() {
                    self.fill.d.next = 0.into();
                }
            } else {
                self.open.d.next = self.was_open.val();
                self.page.d.next = self.state_out.record.val().page;
                self.fill.d.next = self.state_out.record.val().fill;
                self.message_bytes.d.next = self.state_out.record.val().message_bytes;
                if !self.was_open.val() {
                    self.fill.d.next = 0.into();
                }
            }
        }

        // Events become packets.
        self.issuer.found.valid.next = self.events.out_valid.val();
        self.event_out.bits.next = self.events.out_data.val();
        self.issuer.found.next = self.event_out.record.val();
        self.events.out_ready.next = self.issuer.found.ready.val();
        self.issuer.dest_write_valid.next = self.dest_write_valid.val();
        self.issuer.dest_write_dest.next = self.dest_write_dest.val();
        self.issuer.dest_write_qp.next = self.dest_write_qp.val();
        self.issuer.dest_write_data.next.opcode = self.dest_write_opcode.val();
        self.issuer.dest_write_data.next.imm = self.dest_write_imm.val();
        self.issuer.dest_write_data.next.remote_addr = self.dest_write_remote_addr.val();
        self.issuer.dest_write_data.next.rkey = self.dest_write_rkey.val();
        self.issuer.dest_write_data.next.transport = self.dest_write_transport.val();
        self.issuer.dest_write_data.next.index = self.dest_write_index.val();
        self.issuer.dest_write_data.next.stamp = self.dest_write_stamp.val();
        self.issuer.dest_write_data.next.ask = self.dest_write_ask.val();
        self.issuer.dest_write_data.next.fenced = self.dest_write_fenced.val();
        self.issuer.dest_write_data.next.solicited = self.dest_write_solicited.val();
        self.issuer.dest_write_data.next.invalidates = self.dest_write_invalidates.val();
        self.issuer.dest_write_data.next.empty = self.dest_write_empty.val();
        self.issuer.dest_write_data.next.more = self.dest_write_more.val();
        self.ask_write.join(&mut self.issuer.ask_write);
        self.part_write.join(&mut self.issuer.part_write);
        self.issuer.cfg_valid.next = self.cfg_valid.val();
        self.issuer.cfg_table.next = self.cfg_table.val();
        self.issuer.cfg_index.next = self.cfg_index.val();
        self.issuer.cfg_word.next = self.cfg_word.val();
        self.issuer.cfg_data.next = self.cfg_data.val();
        self.error_next.next = self.issuer.error_next.val();
        self.issuer.qp_error.next = self.qp_error.val();
        self.halted_next.next = self.issuer.halted_next.val();
        self.issuer.queue_halted.next = self.queue_halted.val();
        self.issuer.open_valid.next = self.open_valid.val();
        self.issuer.open_slot.next = self.open_slot.val();
        self.issuer.open_queue.next = self.open_queue.val();
        self.set_qp_error_valid.next = self.issuer.set_qp_error_valid.val();
        self.set_qp_error_index.next = self.issuer.set_qp_error_index.val();
        self.issuer.packet.join(&mut self.packet);
        self.release_valid.next = self.issuer.release_valid.val();

        // Pages: after a reset all are free, and no message is open; one page a cycle can come back.
        self.pages.read_enable.next = self.page_read_enable.val();
        self.pages.read_address.next = self.page_read_address.val();
        self.page_read_data.next = self.pages.read_data.val();
        self.is_filled.d.next = self.all_filled.val();
        self.issuer.drop_ready.next = self.is_filled.q.val() && !self.page_free_valid.val();
        self.pool.in_valid.next = self.page_free_valid.val() || self.issuer.drop_valid.val();
        self.pool.in_data.next = self.issuer.drop_page.val();
        if self.page_free_valid.val() {
            self.pool.in_data.next = self.page_free_page.val();
        }
        if !self.all_filled.val() {
            self.filled.d.next = self.filled.q.val() + 1;
            self.pool.in_valid.next = true;
            self.pool.in_data.next = self.filled.q.val().get_bits::<PAGE>(0);
            self.open_of.write_enable.next = true;
            self.open_of.write_address.next = self.filled.q.val().get_bits::<DEST_INDEX>(0);
            self.open_of.write_data.next = 0.into();
        }

        if self.rst.val() {
            self.filled.d.next = 0.into();
            self.is_filled.d.next = false;
            self.go.d.next = false;
            self.valid.d.next = false;
            self.open_count.d.next = 0.into();
            self.left_dest.d.next = 0.into();
            self.split.d.next = false;
            self.draining.d.next = false;
        }
    }
}
