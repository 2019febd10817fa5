//! Cuts payload into packets: collects the bytes of each destination in pages, ends a packet at
//! the MTU and at message ends, and gives it its sequence number.
//!
//! Takes parts of beats from the assembler; a part's bytes stand at positions relative to what its
//! destination's message has so far. Every destination with an open message has one open page. A
//! full page is kept until more data or the message's end shows whether it is the last one; a beat
//! that goes beyond the MTU is split over two pages, and nothing waits for that.
//!
//! Contract: one part a cycle, also at packet cuts and between destinations; a packet is given
//! out at the earliest 5 cycles after the beat that completes it, one every 2 cycles. May stall
//! at any time: parts wait while fewer than 8 pages or 8 places for events are free. The end of a
//! request with a status takes 2 cycles more, and 2 for each message that was not finished.
//!
//! Stages: the *collector* (here) keeps {open, page, fill} of each destination, with a loop of one
//! cycle; [`pages`] moves bytes to their place and keeps them; [`issuer`] turns what the collector
//! says (an event: pages that are complete, ends of destinations and requests) into packets and
//! `sent` items. The output carries both in one stream, so that their order is kept.

use rust_hdl_core::prelude::*;
use rust_hdl_widgets::prelude::*;

use crate::context::{INDEX, QP, QUEUE};
use crate::primitive::{Fifo, FirstSet, Lutram, PromptFifo, Ram, RamStyle};

pub mod issuer;
pub mod pages;
pub mod queues;
#[cfg(test)]
pub(crate) mod tests;

use issuer::{EVENT, Issuer};
use pages::Pages;

/// Bits of a destination's state: `page` 7, `fill` 13, `message_bytes` 32.
const STATE: usize = 52;

/// The segmenter. See the [module](self).
#[derive(LogicBlock)]
pub struct Segmenter {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,

    // Payload.
    /// A part is offered.
    pub payload_valid: Signal<In, Bit>,
    /// It is taken.
    pub payload_ready: Signal<Out, Bit>,
    /// Bytes at their positions in the beat.
    pub payload_data: Signal<In, Bits<512>>,
    /// Which of them this part brings.
    pub payload_mask: Signal<In, Bits<64>>,
    /// Last part of the beat: `bytes` and the ends count.
    pub payload_part_end: Signal<In, Bit>,
    /// A fragment could not be read.
    pub payload_error: Signal<In, Bit>,
    /// Destination.
    pub payload_dest: Signal<In, Bits<10>>,
    /// Request.
    pub payload_slot: Signal<In, Bits<8>>,
    /// Payload bytes of the whole beat.
    pub payload_bytes: Signal<In, Bits<7>>,
    /// Starts a message.
    pub payload_message_start: Signal<In, Bit>,
    /// Ends a message.
    pub payload_message_end: Signal<In, Bit>,
    /// Length of the message that starts, where it can be longer than a packet.
    pub payload_message_bytes: Signal<In, Bits<32>>,
    /// Ends the request.
    pub payload_request_end: Signal<In, Bit>,
    /// Ends the destination.
    pub payload_dest_end: Signal<In, Bit>,
    /// The request's status.
    pub payload_status: Signal<In, Bits<8>>,
    /// The destination that failed.
    pub payload_bad_dest: Signal<In, Bits<7>>,

    // Requests and destinations, from the decoder.
    /// A request is opened; before its destinations are written.
    pub open_valid: Signal<In, Bit>,
    /// Its slot.
    pub open_slot: Signal<In, Bits<8>>,
    /// Its queue.
    pub open_queue: Signal<In, Bits<QUEUE>>,
    /// A destination is written.
    pub dest_write_valid: Signal<In, Bit>,
    /// Its number.
    pub dest_write_dest: Signal<In, Bits<10>>,
    /// Its index in the request.
    pub dest_write_index: Signal<In, Bits<7>>,
    /// Queue pair.
    pub dest_write_qp: Signal<In, Bits<QP>>,
    /// Opcode.
    pub dest_write_opcode: Signal<In, Bits<2>>,
    /// Immediate data.
    pub dest_write_imm: Signal<In, Bits<32>>,
    /// Where its first message goes.
    pub dest_write_remote_addr: Signal<In, Bits<64>>,
    /// Remote key.
    pub dest_write_rkey: Signal<In, Bits<32>>,
    /// Transport.
    pub dest_write_transport: Signal<In, Bits<2>>,
    /// Binary logarithm of the MTU.
    pub dest_write_log_mtu: Signal<In, Bits<4>>,
    /// The queue pair's context that the request was checked with.
    pub dest_write_stamp: Signal<In, Bits<32>>,

    // Configuration.
    /// A word is written.
    pub cfg_valid: Signal<In, Bit>,
    /// To this table.
    pub cfg_table: Signal<In, Bits<3>>,
    /// To this entry.
    pub cfg_index: Signal<In, Bits<INDEX>>,
    /// Its word.
    pub cfg_word: Signal<In, Bits<4>>,
    /// The value.
    pub cfg_data: Signal<In, Bits<32>>,
    /// The queue pair whose state is asked for in the next cycle.
    pub error_next: Signal<Out, Bits<QP>>,
    /// That of the cycle before is in error.
    pub qp_error: Signal<In, Bit>,
    /// The queue whose state is asked for in the next cycle.
    pub halted_next: Signal<Out, Bits<QUEUE>>,
    /// That of the cycle before is halted.
    pub queue_halted: Signal<In, Bit>,
    /// A destination failed: its queue pair enters the error state.
    pub set_qp_error_valid: Signal<Out, Bit>,
    /// Which.
    pub set_qp_error_index: Signal<Out, Bits<QP>>,

    // Packets, and `sent` items in order with them (`marker`).
    /// An item is offered.
    pub packet_valid: Signal<Out, Bit>,
    /// It is taken.
    pub packet_ready: Signal<In, Bit>,
    /// A `sent` item {slot, qp, kind, psn, status, bad_dest, total}, not a packet.
    pub packet_marker: Signal<Out, Bit>,
    /// The page that holds the payload.
    pub packet_page: Signal<Out, Bits<7>>,
    /// Payload bytes.
    pub packet_bytes: Signal<Out, Bits<13>>,
    /// Queue pair.
    pub packet_qp: Signal<Out, Bits<QP>>,
    /// Operation of the BTH.
    pub packet_operation: Signal<Out, Bits<5>>,
    /// Asks for an acknowledgement.
    pub packet_ack_req: Signal<Out, Bit>,
    /// Sequence number; of a `sent` item, the one to be acknowledged.
    pub packet_psn: Signal<Out, Bits<24>>,
    /// Address of the RETH.
    pub packet_remote_addr: Signal<Out, Bits<64>>,
    /// Key of the RETH.
    pub packet_rkey: Signal<Out, Bits<32>>,
    /// Length of the RETH.
    pub packet_message_bytes: Signal<Out, Bits<32>>,
    /// Immediate data.
    pub packet_imm: Signal<Out, Bits<32>>,
    /// There are immediate data.
    pub packet_has_imm: Signal<Out, Bit>,
    /// There is a RETH.
    pub packet_has_reth: Signal<Out, Bit>,
    /// Request of a `sent` item.
    pub packet_slot: Signal<Out, Bits<8>>,
    /// 0: a destination's last packet must be acknowledged; 1: the request has ended.
    pub packet_kind: Signal<Out, Bits<2>>,
    /// The request's status.
    pub packet_status: Signal<Out, Bits<8>>,
    /// The destination that failed; of a packet and of an item of kind 0, its own.
    pub packet_bad_dest: Signal<Out, Bits<7>>,
    /// Payload bytes of a request that succeeded; of a packet and of an item of kind 0, the stamp of
    /// its queue pair's context.
    pub packet_total: Signal<Out, Bits<40>>,

    // Pages, for the packetizer.
    /// A row is read.
    pub page_read_enable: Signal<In, Bit>,
    /// Which: page 7, row 6.
    pub page_read_address: Signal<In, Bits<13>>,
    /// That row, two cycles later.
    pub page_read_data: Signal<Out, Bits<512>>,
    /// A page is given back.
    pub page_free_valid: Signal<In, Bit>,
    /// Which.
    pub page_free_page: Signal<In, Bits<7>>,

    /// A request has left, in order.
    pub release_valid: Signal<Out, Bit>,

    // Free pages.
    pool: Fifo<7, 7, 8>,
    filled: DFF<Bits<8>>,
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
    bad_dest: DFF<Bits<7>>,
    open: DFF<Bit>,
    page: DFF<Bits<7>>,
    fill: DFF<Bits<13>>,
    message_bytes: DFF<Bits<32>>,
    accept: Signal<Local, Bit>,
    part_dest: Signal<Local, Bits<6>>,

    // All destinations' states.
    mtus: Ram<13, 1, 10>,
    states: Lutram<STATE, 6, 1>,
    open_pages: Lutram<7, 6, 1>,
    open_dests: DFF<Bits<64>>,
    same: Signal<Local, Bit>,
    next_open: Signal<Local, Bit>,
    next_page: Signal<Local, Bits<7>>,
    next_fill: Signal<Local, Bits<13>>,
    next_message_bytes: Signal<Local, Bits<32>>,

    // Where the part goes.
    one: Constant<Bits<13>>,
    mtu: Signal<Local, Bits<13>>,
    total: Signal<Local, Bits<13>>,
    crosses: Signal<Local, Bit>,
    opens: Signal<Local, Bit>,
    splits: Signal<Local, Bit>,
    split: DFF<Bit>,
    split_page: DFF<Bits<7>>,
    this_page: Signal<Local, Bits<7>>,
    further_page: Signal<Local, Bits<7>>,
    row: Signal<Local, Bits<7>>,
    row_after: Signal<Local, Bits<7>>,
    pages: Pages,

    // Events.
    events: PromptFifo<EVENT, 5, 6>,
    current: Signal<Local, Bit>,
    full_valid: Signal<Local, Bit>,
    last_valid: Signal<Local, Bit>,
    last_page: Signal<Local, Bits<7>>,
    last_bytes: Signal<Local, Bits<13>>,
    drop: Signal<Local, Bit>,
    event_error: Signal<Local, Bit>,
    event_dest_end: Signal<Local, Bit>,
    event_request_end: Signal<Local, Bit>,
    event_bits: Signal<Local, Bits<6>>,
    issuer: Issuer,

    // A request with a status may leave messages open.
    draining: DFF<Bit>,
    open_dest: FirstSet<64, 6>,
    left_any: DFF<Bit>,
    left_dest: DFF<Bits<6>>,
    left_known: DFF<Bit>,
}

impl Default for Segmenter {
    fn default() -> Self {
        Self {
            clk: Signal::default(),
            rst: Signal::default(),
            payload_valid: Signal::default(),
            payload_ready: Signal::default(),
            payload_data: Signal::default(),
            payload_mask: Signal::default(),
            payload_part_end: Signal::default(),
            payload_error: Signal::default(),
            payload_dest: Signal::default(),
            payload_slot: Signal::default(),
            payload_bytes: Signal::default(),
            payload_message_start: Signal::default(),
            payload_message_end: Signal::default(),
            payload_message_bytes: Signal::default(),
            payload_request_end: Signal::default(),
            payload_dest_end: Signal::default(),
            payload_status: Signal::default(),
            payload_bad_dest: Signal::default(),
            open_valid: Signal::default(),
            open_slot: Signal::default(),
            open_queue: Signal::default(),
            dest_write_valid: Signal::default(),
            dest_write_dest: Signal::default(),
            dest_write_index: Signal::default(),
            dest_write_qp: Signal::default(),
            dest_write_opcode: Signal::default(),
            dest_write_imm: Signal::default(),
            dest_write_remote_addr: Signal::default(),
            dest_write_rkey: Signal::default(),
            dest_write_transport: Signal::default(),
            dest_write_log_mtu: Signal::default(),
            dest_write_stamp: Signal::default(),
            cfg_valid: Signal::default(),
            cfg_table: Signal::default(),
            cfg_index: Signal::default(),
            cfg_word: Signal::default(),
            cfg_data: Signal::default(),
            error_next: Signal::default(),
            qp_error: Signal::default(),
            halted_next: Signal::default(),
            queue_halted: Signal::default(),
            set_qp_error_valid: Signal::default(),
            set_qp_error_index: Signal::default(),
            packet_valid: Signal::default(),
            packet_ready: Signal::default(),
            packet_marker: Signal::default(),
            packet_page: Signal::default(),
            packet_bytes: Signal::default(),
            packet_qp: Signal::default(),
            packet_operation: Signal::default(),
            packet_ack_req: Signal::default(),
            packet_psn: Signal::default(),
            packet_remote_addr: Signal::default(),
            packet_rkey: Signal::default(),
            packet_message_bytes: Signal::default(),
            packet_imm: Signal::default(),
            packet_has_imm: Signal::default(),
            packet_has_reth: Signal::default(),
            packet_slot: Signal::default(),
            packet_kind: Signal::default(),
            packet_status: Signal::default(),
            packet_bad_dest: Signal::default(),
            packet_total: Signal::default(),
            page_read_enable: Signal::default(),
            page_read_address: Signal::default(),
            page_read_data: Signal::default(),
            page_free_valid: Signal::default(),
            page_free_page: Signal::default(),
            release_valid: Signal::default(),
            filled: DFF::default(),
            go: DFF::default(),
            valid: DFF::default(),
            data: DFF::default(),
            mask: DFF::default(),
            part_end: DFF::default(),
            error: DFF::default(),
            dest: DFF::default(),
            slot: DFF::default(),
            bytes: DFF::default(),
            message_start: DFF::default(),
            message_end: DFF::default(),
            start_bytes: DFF::default(),
            request_end: DFF::default(),
            dest_end: DFF::default(),
            status: DFF::default(),
            bad_dest: DFF::default(),
            open: DFF::default(),
            page: DFF::default(),
            fill: DFF::default(),
            message_bytes: DFF::default(),
            accept: Signal::default(),
            part_dest: Signal::default(),
            mtus: Ram::default(),
            states: Lutram::default(),
            open_pages: Lutram::default(),
            open_dests: DFF::default(),
            same: Signal::default(),
            next_open: Signal::default(),
            next_page: Signal::default(),
            next_fill: Signal::default(),
            next_message_bytes: Signal::default(),
            mtu: Signal::default(),
            total: Signal::default(),
            crosses: Signal::default(),
            opens: Signal::default(),
            splits: Signal::default(),
            split: DFF::default(),
            split_page: DFF::default(),
            this_page: Signal::default(),
            further_page: Signal::default(),
            row: Signal::default(),
            row_after: Signal::default(),
            pages: Pages::default(),
            events: PromptFifo::default(),
            current: Signal::default(),
            full_valid: Signal::default(),
            last_valid: Signal::default(),
            last_page: Signal::default(),
            last_bytes: Signal::default(),
            drop: Signal::default(),
            event_error: Signal::default(),
            event_dest_end: Signal::default(),
            event_request_end: Signal::default(),
            event_bits: Signal::default(),
            issuer: Issuer::default(),
            draining: DFF::default(),
            open_dest: FirstSet::default(),
            left_any: DFF::default(),
            left_dest: DFF::default(),
            left_known: DFF::default(),
            pool: Fifo::new(RamStyle::Distributed),
            one: Constant::new(1.into()),
        }
    }
}

impl Logic for Segmenter {
    #[hdl_gen]
    #[rustfmt::skip]
    fn update(&mut self) {
        dff_setup!(self, clk, filled, go, valid, data, mask, part_end, error, dest, slot, bytes, message_start, message_end, start_bytes, request_end, dest_end, status, bad_dest, open, page, fill, message_bytes, open_dests, split, split_page, draining, left_any, left_dest, left_known);
        self.pool.clk.next = self.clk.val();
        self.pool.rst.next = self.rst.val();
        self.mtus.clk.next = self.clk.val();
        self.states.clk.next = self.clk.val();
        self.pages.clk.next = self.clk.val();
        self.events.clk.next = self.clk.val();
        self.events.rst.next = self.rst.val();
        self.issuer.clk.next = self.clk.val();
        self.issuer.rst.next = self.rst.val();

        // A part is taken where there is room for what it may need; nothing stops after that.
        self.go.d.next = (self.pool.count.val() >= 8) && (self.events.free.val() >= 8);
        self.payload_ready.next = self.go.q.val() && !self.draining.q.val();
        self.accept.next = self.payload_valid.val() && self.go.q.val() && !self.draining.q.val();
        self.part_dest.next = self.payload_dest.val().get_bits::<6>(0);

        // Where the part in the collector goes.
        self.mtu.next = self.mtus.read_data.val();
        self.total.next = self.fill.q.val() + bit_cast::<13, 7>(self.bytes.q.val());
        // The MTU is a power of two, at least 256, and goes past by 64 bytes at most: a comparison takes longer.
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

        // Its bytes: the row of the first one, and the next row; behind the MTU is the other page.
        self.pages.write_data.next = self.data.q.val();
        self.pages.write_mask.next = 0.into();
        if self.valid.q.val() {
            self.pages.write_mask.next = self.mask.q.val();
        }
        self.pages.write_offset.next = self.fill.q.val().get_bits::<6>(0);
        self.row.next = self.fill.q.val().get_bits::<7>(6);
        self.row_after.next = self.row.val() + 1;
        self.pages.write_low.next = (bit_cast::<13, 7>(self.this_page.val()) << 6)
            | bit_cast::<13, 6>(self.row.val().get_bits::<6>(0));
        self.pages.write_high.next = (bit_cast::<12, 7>(self.this_page.val()) << 5)
            | bit_cast::<12, 5>(self.row_after.val().get_bits::<5>(1));
        if self.row.val() == self.mtu.val().get_bits::<7>(6) {
            self.pages.write_low.next = bit_cast::<13, 7>(self.further_page.val()) << 6;
        }
        if self.row_after.val() == self.mtu.val().get_bits::<7>(6) {
            self.pages.write_high.next = bit_cast::<12, 7>(self.further_page.val()) << 5;
        }

        // The state after it.
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
        self.states.write_address.next = self.dest.q.val().get_bits::<6>(0);
        self.states.write_data.next = bit_cast::<STATE, 7>(self.next_page.val())
            | (bit_cast::<STATE, 13>(self.next_fill.val()) << 7)
            | (bit_cast::<STATE, 32>(self.next_message_bytes.val()) << 20);
        if self.current.val() {
            self.open_dests.d.next = self.open_dests.q.val().replace_bit(self.dest.q.val().get_bits::<6>(0).index(), self.next_open.val());
        }

        // What it completes.
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

        // Messages that a request with a status left open go first.
        self.open_dest.bits.next = self.open_dests.q.val();
        self.open_pages.clk.next = self.clk.val();
        self.open_pages.write_enable.next = self.current.val();
        self.open_pages.write_address.next = self.dest.q.val().get_bits::<6>(0);
        self.open_pages.write_data.next = self.next_page.val();
        self.open_pages.read_address[0].next = self.left_dest.q.val();
        self.left_any.d.next = self.open_dest.any.val();
        self.left_dest.d.next = self.open_dest.index.val();
        self.left_known.d.next = !self.accept.val();
        if self.draining.q.val() && self.event_request_end.val() && (!self.left_known.q.val() || self.left_any.q.val()) {
            self.event_dest_end.next = false;
            self.event_request_end.next = false;
            if self.left_known.q.val() {
                self.drop.next = true;
                self.last_valid.next = true;
                self.last_page.next = self.open_pages.read_data[0].val();
                if self.events.in_ready.val() {
                    self.left_known.d.next = false;
                    self.open_dests.d.next = self.open_dests.q.val().replace_bit(self.left_dest.q.val().index(), false);
                }
            }
        }
        self.event_bits.next = 0.into();
        if self.full_valid.val() {
            self.event_bits.next = self.event_bits.val() | 1;
        }
        if self.last_valid.val() {
            self.event_bits.next = self.event_bits.val() | 2;
        }
        if self.drop.val() {
            self.event_bits.next = self.event_bits.val() | 4;
        }
        if self.event_error.val() {
            self.event_bits.next = self.event_bits.val() | 8;
        }
        if self.event_dest_end.val() {
            self.event_bits.next = self.event_bits.val() | 16;
        }
        if self.event_request_end.val() {
            self.event_bits.next = self.event_bits.val() | 32;
        }
        self.events.in_valid.next = self.event_bits.val().any();
        self.events.in_data.next = bit_cast::<EVENT, 10>(self.dest.q.val())
            | (bit_cast::<EVENT, 8>(self.slot.q.val()) << 10)
            | (bit_cast::<EVENT, 32>(self.next_message_bytes.val()) << 18)
            | (bit_cast::<EVENT, 1>(self.event_bits.val().get_bits::<1>(0)) << 50)
            | (bit_cast::<EVENT, 7>(self.this_page.val()) << 51)
            | (bit_cast::<EVENT, 13>(self.mtu.val()) << 58)
            | (bit_cast::<EVENT, 1>(self.event_bits.val().get_bits::<1>(1)) << 71)
            | (bit_cast::<EVENT, 7>(self.last_page.val()) << 72)
            | (bit_cast::<EVENT, 13>(self.last_bytes.val()) << 79)
            | (bit_cast::<EVENT, 4>(self.event_bits.val().get_bits::<4>(2)) << 92)
            | (bit_cast::<EVENT, 8>(self.status.q.val()) << 96)
            | (bit_cast::<EVENT, 7>(self.bad_dest.q.val()) << 104);

        // The next part, with its destination's state.
        self.mtus.write_lanes.next = 0.into();
        if self.dest_write_valid.val() {
            self.mtus.write_lanes.next = 1.into();
        }
        self.mtus.write_address.next = self.dest_write_dest.val();
        self.mtus.write_data.next = self.one.val() << self.dest_write_log_mtu.val();
        self.mtus.read_enable.next = self.accept.val();
        self.mtus.read_address.next = self.payload_dest.val();
        self.states.read_address[0].next = self.part_dest.val();
        self.same.next = self.current.val() && (self.dest.q.val().get_bits::<6>(0) == self.part_dest.val());
        if self.draining.q.val() {
            // The end of the request waits until no message is open.
            if self.event_request_end.val() && self.events.in_ready.val() {
                self.valid.d.next = false;
                self.draining.d.next = false;
            }
        } else {
            self.valid.d.next = self.accept.val();
        }
        if self.accept.val() {
            self.draining.d.next = self.payload_request_end.val() && self.payload_status.val().any();
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
                self.open.d.next = self.open_dests.q.val().get_bit(self.part_dest.val().index());
                self.page.d.next = self.states.read_data[0].val().get_bits::<7>(0);
                self.fill.d.next = self.states.read_data[0].val().get_bits::<13>(7);
                self.message_bytes.d.next = self.states.read_data[0].val().get_bits::<32>(20);
                if !self.open_dests.q.val().get_bit(self.part_dest.val().index()) {
                    self.fill.d.next = 0.into();
                }
            }
        }

        // Packets.
        self.issuer.event_valid.next = self.events.out_valid.val();
        self.issuer.event_data.next = self.events.out_data.val();
        self.events.out_ready.next = self.issuer.event_ready.val();
        self.issuer.dest_write_valid.next = self.dest_write_valid.val();
        self.issuer.dest_write_dest.next = self.dest_write_dest.val();
        self.issuer.dest_write_qp.next = self.dest_write_qp.val();
        self.issuer.dest_write_data.next = bit_cast::<171, 2>(self.dest_write_opcode.val())
            | (bit_cast::<171, 32>(self.dest_write_imm.val()) << 2)
            | (bit_cast::<171, 64>(self.dest_write_remote_addr.val()) << 34)
            | (bit_cast::<171, 32>(self.dest_write_rkey.val()) << 98)
            | (bit_cast::<171, 2>(self.dest_write_transport.val()) << 130)
            | (bit_cast::<171, 7>(self.dest_write_index.val()) << 132)
            | (bit_cast::<171, 32>(self.dest_write_stamp.val()) << 139);
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
        self.packet_valid.next = self.issuer.packet_valid.val();
        self.issuer.packet_ready.next = self.packet_ready.val();
        self.packet_marker.next = self.issuer.packet_marker.val();
        self.packet_page.next = self.issuer.packet_page.val();
        self.packet_bytes.next = self.issuer.packet_bytes.val();
        self.packet_qp.next = self.issuer.packet_qp.val();
        self.packet_operation.next = self.issuer.packet_operation.val();
        self.packet_ack_req.next = self.issuer.packet_ack_req.val();
        self.packet_psn.next = self.issuer.packet_psn.val();
        self.packet_remote_addr.next = self.issuer.packet_remote_addr.val();
        self.packet_rkey.next = self.issuer.packet_rkey.val();
        self.packet_message_bytes.next = self.issuer.packet_message_bytes.val();
        self.packet_imm.next = self.issuer.packet_imm.val();
        self.packet_has_imm.next = self.issuer.packet_has_imm.val();
        self.packet_has_reth.next = self.issuer.packet_has_reth.val();
        self.packet_slot.next = self.issuer.packet_slot.val();
        self.packet_kind.next = self.issuer.packet_kind.val();
        self.packet_status.next = self.issuer.packet_status.val();
        self.packet_bad_dest.next = self.issuer.packet_bad_dest.val();
        self.packet_total.next = self.issuer.packet_total.val();
        self.release_valid.next = self.issuer.release_valid.val();

        // Pages: all are free after a reset; one comes back a cycle.
        self.pages.read_enable.next = self.page_read_enable.val();
        self.pages.read_address.next = self.page_read_address.val();
        self.page_read_data.next = self.pages.read_data.val();
        self.issuer.drop_ready.next = self.filled.q.val().get_bit(7) && !self.page_free_valid.val();
        self.pool.in_valid.next = self.page_free_valid.val() || self.issuer.drop_valid.val();
        self.pool.in_data.next = self.issuer.drop_page.val();
        if self.page_free_valid.val() {
            self.pool.in_data.next = self.page_free_page.val();
        }
        if !self.filled.q.val().get_bit(7) {
            self.filled.d.next = self.filled.q.val() + 1;
            self.pool.in_valid.next = true;
            self.pool.in_data.next = self.filled.q.val().get_bits::<7>(0);
        }

        if self.rst.val() {
            self.filled.d.next = 0.into();
            self.go.d.next = false;
            self.valid.d.next = false;
            self.open_dests.d.next = 0.into();
            self.split.d.next = false;
            self.draining.d.next = false;
        }
    }
}
