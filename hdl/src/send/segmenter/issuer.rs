//! Makes packets of pages, and gives them their sequence numbers.

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
use crate::send::packetizer::{DESTINATION_ENDS, PART_ENDS, Packet, REQUEST_ENDS};

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

/// What is known of a destination, beside its queue pair.
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

/// Bits of what a READ or an atomic asks for: `len` 32, `packets` 24, `log_mtu` 4.
const ASK: usize = 60;
/// Bits of which part of a message is sent: `whole` 32, `resumes`, `pauses`.
const PART_OF: usize = 34;
/// READ, as `Destination::ask` has it.
const READ: u64 = ReliableOpcode::Read as u64 & 3;

/// Bits of a [`Packet`].
const ITEM: usize = 268 + PAGE + QP + DEST_COUNT;

/// What the issuer does.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum IssuerState {
    /// Waits for an event.
    Waiting,
    /// Has the destination's data, and reads the queue pair's.
    Loading,
    /// Gives out what the event holds, one item a cycle.
    Giving,
}

/// Turns [`Event`]s (pages that make packets, ends of destinations and requests) into packets with
/// sequence numbers, addresses and operations, and into `sent` items, in order.
///
/// Contract: 2 cycles an event, and one more for every item after its first; one cycle for the end of a request that
/// has begun. Pages of packets that must not
/// be sent go back by `drop`. Stalls when the output is full.
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
    /// What else is known of the destination.
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

    /// What a READ or an atomic asks for, by slot.
    pub ask_write: Flow<In, AskWrite>,
    /// Which part of a message a request sends, by slot.
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

    // The event at hand, and what is known of its destination.
    state: DFF<IssuerState>,
    held: DFF<Event>,
    dests: Ram<DESTINATION, 1, 10>,
    /// Queue pair of each destination, which is needed a cycle before the rest.
    dest_qps: Lutram<QP, 10, 1>,
    dest_in: Flatten<Destination, DESTINATION>,
    dest_out: Restore<Destination, DESTINATION>,
    about: Signal<Local, Destination>,
    /// What the READ or atomic in each slot asks for.
    asked: Ram<ASK, 1, 8>,
    asked_in: Signal<Local, Bits<ASK>>,
    asks: Signal<Local, Bit>,
    reads: Signal<Local, Bit>,
    /// Which part of a message the request in each slot sends.
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

    // The request at hand, with a bit for each of its destinations.
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

impl Logic for Issuer {
    #[hdl_gen]
    #[rustfmt::skip]
    fn update(&mut self) {

        // The first sequence number is loaded when the host writes the last word of the queue pair's entry.
        self.select.valid.next = self.cfg_valid.val();
        self.select.number.next = self.cfg_table.val();
        self.select.word.next = self.cfg_word.val();
        self.start_psns.write_lanes.next = 0.into();
        if self.select.queue_pair.val() && (self.cfg_word.val() == self.psn_word.val()) {
            self.start_psns.write_lanes.next = 1.into();
        }
        self.start_psns.write_address.next = self.cfg_index.val().get_bits::<QP>(0);
        self.start_psns.write_data.next = (self.cfg_data.val() & 0x00ff_ffff).get_bits::<24>(0);
        self.start_psns.read_enable.next = true;
        self.start_psns.read_address.next = self.cfg_index.val().get_bits::<QP>(0);
        self.load.d.next = self.select.state.val();
        self.load_qp.d.next = self.cfg_index.val().get_bits::<QP>(0);
        self.wipe.d.next = self.select.queue_pair.val();
        self.wipe_qp.d.next = self.cfg_index.val().get_bits::<QP>(0);

        self.stamps.written.next = self.select.queue_pair.val();
        self.stamps.index.next = self.cfg_index.val().get_bits::<QP>(0);

        // Requests: a request whose queue has halted by its first event is never begun.
        self.queues.open_valid.next = self.open_valid.val();
        self.queues.open_slot.next = self.open_slot.val();
        self.queues.open_queue.next = self.open_queue.val();
        self.queues.cfg_valid.next = self.cfg_valid.val();
        self.queues.cfg_table.next = self.cfg_table.val();
        self.queues.cfg_index.next = self.cfg_index.val();
        self.queues.cfg_word.next = self.cfg_word.val();
        self.halted_next.next = self.queues.halted_next.val();
        self.queues.queue_halted.next = self.queue_halted.val();
        self.queues.slot.next = self.found.val().slot;
        self.barred.next = self.was_barred.q.val();
        if !self.begun.q.val() {
            self.barred.next = self.queues.over.val();
        }

        // What is known of destinations.
        self.dests.write_lanes.next = 0.into();
        if self.dest_write_valid.val() {
            self.dests.write_lanes.next = 1.into();
        }
        self.dests.write_address.next = self.dest_write_dest.val();
        self.dest_in.record.next = self.dest_write_data.val();
        self.dests.write_data.next = self.dest_in.bits.val();
        self.dests.read_address.next = self.found.val().dest;
        self.dest_qps.write_enable.next = self.dest_write_valid.val();
        self.dest_qps.write_address.next = self.dest_write_dest.val();
        self.dest_qps.write_data.next = self.dest_write_qp.val();
        self.dest_qps.read_address[0].next = self.found.val().dest;

        self.dest_out.bits.next = self.dests.read_data.val();
        self.about.next = self.dest_out.record.val();
        self.asked_in.next = bit_cast::<ASK, 32>(self.ask_write.len.val())
            | (bit_cast::<ASK, 24>(self.ask_write.packets.val()) << 32)
            | (bit_cast::<ASK, 4>(self.ask_write.log_mtu.val()) << 56);
        self.asked.write_lanes.next = 0.into();
        if self.ask_write.valid.val() {
            self.asked.write_lanes.next = 1.into();
        }
        self.asked.write_address.next = self.ask_write.slot.val();
        self.asked.write_data.next = self.asked_in.val();
        self.asked.read_address.next = self.found.val().slot;
        self.asks.next = self.about.val().ask.any();
        self.reads.next = self.about.val().ask == READ;

        self.part_in.next = bit_cast::<PART_OF, 32>(self.part_write.whole.val())
            | (bit_cast::<PART_OF, 1>(self.part_write.resumes.val().into()) << 32)
            | (bit_cast::<PART_OF, 1>(self.part_write.pauses.val().into()) << 33);
        self.parts.write_lanes.next = 0.into();
        if self.part_write.valid.val() {
            self.parts.write_lanes.next = 1.into();
        }
        self.parts.write_address.next = self.part_write.slot.val();
        self.parts.write_data.next = self.part_in.val();
        self.parts.read_address.next = self.found.val().slot;
        self.whole.next = self.parts.read_data.val().get_bits::<32>(0);
        self.resumes.next = self.parts.read_data.val().get_bit(32);
        self.pauses.next = self.parts.read_data.val().get_bit(33);

        // Loading: what is known of the destination has come, and what is known of its queue pair.
        self.dest.next = self.held.q.val().dest.get_bits::<DEST_INDEX>(0);
        self.index.next = self.about.val().index;
        self.reliable.next = self.about.val().transport == self.rc.val();
        self.write.next = (self.about.val().opcode == self.write_opcode.val())
            || (self.about.val().opcode == self.write_imm_opcode.val());
        self.flush.next = false;
        // A message must go on with its next part, and no other part may start behind it.
        self.astray.next = !self.started.q.val().get_bit(self.dest.val().index())
            && (self.midways.read_data.val().any() != self.resumes.val());
        self.gone.next = self.stamps.stamp[0].val() != self.about.val().stamp;
        self.was_gone.d.next = self.gone.val();
        self.addresses.read_address[0].next = self.dest.val();
        // The request ends because its destination failed before anything of it was sent.
        self.refused.next = self.held.q.val().dest_end
            && self.held.q.val().request_end
            && self.held.q.val().status.any();
        // A queue pair whose entry was written since is not put into the error state.
        self.breaking.d.next = (self.state.q.val() == IssuerState::Loading)
            && (self.held.q.val().error || self.refused.val())
            && !self.gone.val();
        self.breaking_qp.d.next = self.qp.q.val();
        self.set_qp_error_valid.next = self.breaking.q.val() && !self.was_barred.q.val();
        self.set_qp_error_index.next = self.breaking_qp.q.val();
        if self.state.q.val() == IssuerState::Loading {
            self.state.d.next = IssuerState::Giving;
            self.begun.d.next = true;
            self.was_barred.d.next = self.barred.val();
            self.todo_full.d.next = self.held.q.val().full;
            self.todo_last.d.next = self.held.q.val().last;
            self.todo_dest_end.d.next = self.held.q.val().dest_end && !self.refused.val() && self.reliable.val() && !self.about.val().more;
            self.todo_request_end.d.next = self.held.q.val().request_end;
            self.next_psn.d.next = self.psns.read_data.val();
            self.takes.d.next = 1.into();
            self.takes_less_one.d.next = 0.into();
            if self.asks.val() {
                self.takes.d.next = self.asked.read_data.val().get_bits::<24>(32);
                self.takes_less_one.d.next = self.asked.read_data.val().get_bits::<24>(32) - 1;
            }
            self.has_sent.d.next = self.started.q.val().get_bit(self.dest.val().index());
            self.within.d.next = self.inside_message.q.val().get_bit(self.dest.val().index());
            if self.started.q.val().get_bit(self.dest.val().index()) {
                self.address.d.next = self.addresses.read_data[0].val();
            } else {
                self.address.d.next = self.about.val().remote_addr;
                self.within.d.next = self.resumes.val();
            }
            // The packet is of a queue pair that is in the error state, whose entry was written since, or that stands
            // elsewhere.
            self.flush.next = (self.held.q.val().full || self.held.q.val().last)
                && !self.held.q.val().drop
                && (self.qp_error.val() || self.gone.val() || self.astray.val());
            self.dropping.d.next = self.failed.q.val()
                || self.held.q.val().drop
                || self.held.q.val().error
                || self.flush.val()
                || self.flushed.q.val().get_bit(self.dest.val().index());
            if self.flush.val() {
                self.flushed.d.next = self.flushed.q.val().replace_bit(self.dest.val().index(), true);
            }
            if self.held.q.val().error {
                self.failed.d.next = true;
            }
            // A request's status is that of its first failure.
            if !self.fail_status.q.val().any() {
                if self.held.q.val().error {
                    self.fail_status.d.next = self.protection_error.val();
                    self.fail_dest.d.next = self.index.val();
                } else if self.flush.val() {
                    self.fail_status.d.next = self.flush_error.val();
                    self.fail_dest.d.next = self.index.val();
                }
            }
        }

        // Giving: one item a cycle; the page of a full packet comes before that of the last one.
        self.full.next = self.todo_full.q.val();
        if self.full.val() {
            self.page.next = self.held.q.val().full_page;
            self.bytes.next = self.held.q.val().full_bytes;
        } else {
            self.page.next = self.held.q.val().last_page;
            self.bytes.next = self.held.q.val().last_bytes;
        }
        if self.about.val().empty {
            self.bytes.next = 0.into();
        }
        self.marker.next = !self.todo_full.q.val() && !self.todo_last.q.val();
        self.drops.next = self.dropping.q.val() || self.was_barred.q.val();
        self.sends.next = !self.marker.val() && !self.drops.val();
        // An item that does not go to the output needs no room there.
        self.gives.next = self.sends.val()
            || (self.marker.val()
                && ((self.todo_dest_end.q.val()
                    && self.reliable.val()
                    && self.has_sent.q.val()
                    && !self.drops.val())
                    || (!self.todo_dest_end.q.val() && self.todo_request_end.q.val())));
        self.drop_page.next = self.page.val();
        self.step.next = (self.state.q.val() == IssuerState::Giving)
            && !self.load.q.val()
            && !self.wipe.q.val()
            && (!self.gives.val() || self.items.in_ready.val())
            && (self.marker.val() || !self.drops.val() || self.drop_ready.val());
        self.drop_valid.next = self.step.val() && !self.marker.val() && self.drops.val();
        self.pushed.next = self.step.val() && self.gives.val();

        // The packet's operation follows from its place in the message.
        self.ends.next = !self.full.val() && !self.pauses.val();
        self.has_imm.next = self.ends.val()
            && ((self.about.val().opcode == self.send_imm_opcode.val())
                || (self.about.val().opcode == self.write_imm_opcode.val()));
        self.has_reth.next = self.write.val() && !self.within.q.val();
        self.ack_req.next = !self.full.val() && self.reliable.val();
        self.operation.next = 0.into();
        if !self.ends.val() {
            if self.within.q.val() {
                self.operation.next = self.middle.val();
            }
        } else if self.within.q.val() {
            self.operation.next = self.last.val();
        } else {
            self.operation.next = self.only.val();
        }
        if self.has_imm.val() {
            self.operation.next = self.operation.val() + 1;
        }
        if self.write.val() {
            self.operation.next = self.operation.val() + self.write_base.val();
        }
        if self.about.val().invalidates && self.ends.val() {
            self.has_imm.next = true;
            self.operation.next = self.only_invalidate.val();
            if self.within.q.val() {
                self.operation.next = self.last_invalidate.val();
            }
        }
        // A READ sends no payload; the payload of an atomic is its operands.
        if self.asks.val() {
            self.has_reth.next = true;
            self.operation.next = self.compare_and_swap.val();
            if self.about.val().ask.get_bit(0) {
                self.operation.next = self.fetch_and_add.val();
            }
        }
        if self.reads.val() {
            self.operation.next = self.read_request.val();
        }
        self.last_psn.next = self.next_psn.q.val() + self.takes_less_one.q.val();
        self.message_bytes.next = self.held.q.val().message_bytes;
        if !self.held.q.val().message_bytes.any() {
            self.message_bytes.next = bit_cast::<32, 13>(self.bytes.val());
        }
        if self.whole.val().any() {
            self.message_bytes.next = self.whole.val();
        }
        if self.reads.val() {
            self.message_bytes.next = self.asked.read_data.val().get_bits::<32>(0);
        }
        self.counted.next = bit_cast::<40, 13>(self.bytes.val());
        if self.asks.val() {
            self.counted.next =
                bit_cast::<40, 32>(self.asked.read_data.val().get_bits::<32>(0));
        }

        // Something of the event is left after this step.
        self.more.next = (self.todo_full.q.val()
            && (self.todo_last.q.val() || self.todo_dest_end.q.val() || self.todo_request_end.q.val()))
            || (self.todo_last.q.val() && (self.todo_dest_end.q.val() || self.todo_request_end.q.val()))
            || (self.todo_dest_end.q.val() && self.todo_request_end.q.val());

        // The status with which the request ends.
        self.final_status.next = self.held.q.val().status;
        self.final_dest.next = self.held.q.val().bad_dest;
        if !self.final_status.val().any() {
            self.final_status.next = self.fail_status.q.val();
            self.final_dest.next = self.fail_dest.q.val();
            if self.was_barred.q.val() {
                self.final_status.next = self.flush_error.val();
                self.final_dest.next = 0.into();
            }
        }

        // What a step changes.
        self.released.d.next = false;
        self.queues.fail.next = false;
        self.addresses.write_enable.next = self.step.val() && !self.marker.val();
        self.addresses.write_address.next = self.dest.val();
        self.addresses.write_data.next = self.address.q.val() + bit_cast::<64, 13>(self.bytes.val());
        // A sequence number that the host has loaded since is not counted on by this request.
        self.psns.write_enable.next = self.load.q.val()
            || (self.step.val() && self.sends.val() && !self.was_gone.q.val());
        if self.load.q.val() {
            self.psns.write_address.next = self.load_qp.q.val();
            self.psns.write_data.next = self.start_psns.read_data.val();
        } else {
            self.psns.write_address.next = self.qp.q.val();
            self.psns.write_data.next = self.next_psn.q.val() + self.takes.q.val();
        }
        // Whether the queue pair's message goes on behind the packet.
        self.midways.write_enable.next = self.wipe.q.val()
            || (self.step.val()
                && self.sends.val()
                && !self.full.val()
                && !self.was_gone.q.val()
                && self.whole.val().any());
        self.midways.write_address.next = self.qp.q.val();
        self.midways.write_data.next = bit_cast::<1, 1>(self.pauses.val().into());
        if self.wipe.q.val() {
            self.midways.write_address.next = self.wipe_qp.q.val();
            self.midways.write_data.next = 0.into();
        }
        if self.step.val() {
            if self.todo_full.q.val() {
                self.todo_full.d.next = false;
            } else if self.todo_last.q.val() {
                self.todo_last.d.next = false;
            } else if self.todo_dest_end.q.val() {
                self.todo_dest_end.d.next = false;
            }
            if !self.marker.val() {
                self.address.d.next = self.address.q.val() + bit_cast::<64, 13>(self.bytes.val());
                self.within.d.next = self.full.val();
                self.inside_message.d.next = self.inside_message.q.val().replace_bit(self.dest.val().index(), self.full.val());
                self.started.d.next = self.started.q.val().replace_bit(self.dest.val().index(), true);
                self.has_sent.d.next = true;
            }
            if self.sends.val() {
                self.next_psn.d.next = self.next_psn.q.val() + self.takes.q.val();
                self.total.d.next = self.total.q.val() + self.counted.val();
            }
            // A later destination of a WRITE by columns may use the same bits.
            if self.held.q.val().dest_end && !self.more.val() {
                self.started.d.next = self.started.d.val().replace_bit(self.dest.val().index(), false);
                self.flushed.d.next = self.flushed.d.val().replace_bit(self.dest.val().index(), false);
            }
            if self.marker.val() && !self.todo_dest_end.q.val() && self.todo_request_end.q.val() {
                self.todo_request_end.d.next = false;
                self.begun.d.next = false;
                self.released.d.next = true;
                self.queues.fail.next = self.final_status.val().any();
                self.started.d.next = 0.into();
                self.flushed.d.next = 0.into();
                self.inside_message.d.next = 0.into();
                self.failed.d.next = false;
                self.fail_status.d.next = 0.into();
                self.fail_dest.d.next = 0.into();
                self.total.d.next = 0.into();
            }
        }
        self.release_valid.next = self.released.q.val();

        // The next event.
        self.only_end.next = self.found.val().request_end
            && !self.found.val().full
            && !self.found.val().last
            && !self.found.val().drop
            && !self.found.val().error
            && !self.found.val().dest_end
            && !self.found.val().status.any();
        self.take.next = self.found.valid.val()
            && ((self.state.q.val() == IssuerState::Waiting) || (self.step.val() && !self.more.val()));
        self.found.ready.next = (self.state.q.val() == IssuerState::Waiting) || (self.step.val() && !self.more.val());
        self.dests.read_enable.next = self.take.val();
        self.asked.read_enable.next = self.take.val();
        self.parts.read_enable.next = self.take.val();
        self.queues.read_enable.next = self.take.val();
        if self.step.val() && !self.more.val() {
            self.state.d.next = IssuerState::Waiting;
        }
        if self.take.val() {
            self.held.d.next = self.found.val();
            self.qp.d.next = self.dest_qps.read_data[0].val();
            self.state.d.next = IssuerState::Loading;
            // The end of a request of which something was given out needs nothing to be loaded. The request before it
            // may end
            // in this same cycle.
            if self.begun.d.val() && self.only_end.val() {
                self.todo_full.d.next = false;
                self.todo_last.d.next = false;
                self.todo_dest_end.d.next = false;
                self.todo_request_end.d.next = true;
                self.state.d.next = IssuerState::Giving;
            }
        }

        // What is known of the next event's queue pair is asked for.
        self.psns.ahead.next = self.qp.d.val();
        self.midways.ahead.next = self.qp.d.val();
        self.stamps.ahead[0].next = self.qp.d.val();
        self.error_next.next = self.qp.d.val();

        // `sent` items.
        self.kind.next = REQUEST_ENDS.into();
        self.marker_psn.next = self.next_psn.q.val();
        self.final_total.next = self.total.q.val();
        if self.whole.val().any() {
            self.final_total.next = bit_cast::<40, 32>(self.whole.val());
        }
        if self.final_status.val().any() {
            self.final_total.next = 0.into();
        } else if self.pauses.val() {
            self.kind.next = PART_ENDS.into();
        }
        if self.marker.val() {
            self.marker_psn.next = self.next_psn.q.val() - 1;
            if self.todo_dest_end.q.val() {
                self.kind.next = DESTINATION_ENDS.into();
            }
        }
        if !self.marker.val() || self.todo_dest_end.q.val() {
            self.final_dest.next = self.index.val();
            self.final_total.next = bit_cast::<40, 32>(self.about.val().stamp);
        }

        // The output.
        self.next_item.next.marker = self.marker.val();
        self.next_item.next.page = self.page.val();
        self.next_item.next.bytes = self.bytes.val();
        self.next_item.next.qp = self.qp.q.val();
        self.next_item.next.operation = self.operation.val();
        self.next_item.next.ack_req = self.ack_req.val();
        self.next_item.next.psn = self.marker_psn.val();
        self.next_item.next.remote_addr = self.address.q.val();
        self.next_item.next.rkey = self.about.val().rkey;
        self.next_item.next.message_bytes = self.message_bytes.val();
        self.next_item.next.imm = self.about.val().imm;
        self.next_item.next.has_imm = self.has_imm.val();
        self.next_item.next.has_reth = self.has_reth.val();
        self.next_item.next.solicited =
            self.about.val().solicited && self.ends.val() && !self.asks.val();
        self.next_item.next.fenced = self.about.val().fenced;
        self.next_item.next.again = false;
        self.next_item.next.late = false;
        self.next_item.next.slot = self.held.q.val().slot;
        self.next_item.next.kind = self.kind.val();
        self.next_item.next.status = self.final_status.val();
        if self.reads.val() && !self.marker.val() {
            self.next_item.next.bytes = 0.into();
            self.next_item.next.imm = bit_cast::<32, 24>(self.last_psn.val());
            self.next_item.next.status =
                bit_cast::<8, 4>(self.asked.read_data.val().get_bits::<4>(56));
        }
        self.next_item.next.bad_dest = self.final_dest.val();
        self.next_item.next.total = self.final_total.val();
        self.item_in.record.next = self.next_item.val();
        self.items.in_valid.next = self.pushed.val();
        self.items.in_data.next = self.item_in.bits.val();
        self.packet.valid.next = self.items.out_valid.val();
        self.items.out_ready.next = self.packet.ready.val();
        self.item_out.bits.next = self.items.out_data.val();
        self.packet.next = self.item_out.record.val();

        if self.rst.val() {
            self.load.d.next = false;
            self.state.d.next = IssuerState::Waiting;
            self.begun.d.next = false;
            self.breaking.d.next = false;
            self.started.d.next = 0.into();
            self.inside_message.d.next = 0.into();
            self.flushed.d.next = 0.into();
            self.failed.d.next = false;
            self.fail_status.d.next = 0.into();
            self.fail_dest.d.next = 0.into();
            self.total.d.next = 0.into();
            self.released.d.next = false;
        }
    }
}
