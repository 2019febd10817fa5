//! Packets get their numbers.

use rust_hdl_core::prelude::*;
use rust_hdl_widgets::prelude::*;

use drdma_abi::Layout;
use drdma_abi::completion::Status;
use drdma_abi::register::QueuePairEntry;
use drdma_abi::roce::{Transport, operation};
use drdma_abi::work_request::Opcode;

use super::queues::Queues;
use crate::context::{INDEX, QP, QUEUE, Stamps, Table, TableSelect};
use crate::primitive::{Lutram, PromptFifo, Ram, RamStyle};

/// Bits of an event. From bit 0: `dest` 10, `slot` 8, `message_bytes` 32, a full packet that is not
/// the message's last: `valid`, `page` 7, `bytes` 13; a message's last packet: the same; `drop`
/// (that page holds an unfinished message), `error`, `dest_end`, `request_end`, `status` 8,
/// `bad_dest` 7.
pub const EVENT: usize = 111;
/// Bits of what is known about a destination, beside its queue pair: `opcode` 2, `imm` 32, `remote_addr` 64, `rkey`
/// 32, `transport` 2, `index` 7, `stamp` 32.
const INFO: usize = 171;
/// Bits of an item of the output.
const ITEM: usize = 290;

const _: () = assert!(QP == 12, "the fields of an item stand elsewhere");

/// What the issuer does.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum IssuerState {
    /// Waits for an event.
    Waiting,
    /// Has the destination's data and reads the queue pair's.
    Loading,
    /// Gives out what the event holds, one item a cycle.
    Giving,
}

/// Turns events (pages that make packets, ends of destinations and requests) into packets with
/// sequence numbers, addresses and operations, and into `sent` items, in order.
///
/// 2 cycles an event, and one more for every item after its first; one for the end of a request that has begun. Pages of packets that must not
/// be sent go back by `drop`. Stalls when the output is full.
#[derive(LogicBlock)]
pub struct Issuer {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,

    // Events.
    /// An event is offered.
    pub event_valid: Signal<In, Bit>,
    /// It is taken.
    pub event_ready: Signal<Out, Bit>,
    /// It: see [`EVENT`].
    pub event_data: Signal<In, Bits<EVENT>>,

    // Destinations.
    /// A destination is written.
    pub dest_write_valid: Signal<In, Bit>,
    /// Which.
    pub dest_write_dest: Signal<In, Bits<10>>,
    /// Its queue pair.
    pub dest_write_qp: Signal<In, Bits<QP>>,
    /// What: see [`INFO`].
    pub dest_write_data: Signal<In, Bits<INFO>>,

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
    /// A request is opened.
    pub open_valid: Signal<In, Bit>,
    /// Its slot.
    pub open_slot: Signal<In, Bits<8>>,
    /// Its queue.
    pub open_queue: Signal<In, Bits<QUEUE>>,
    /// A destination failed: its queue pair enters the error state.
    pub set_qp_error_valid: Signal<Out, Bit>,
    /// Which.
    pub set_qp_error_index: Signal<Out, Bits<QP>>,

    // Packets and `sent` items.
    /// An item is offered.
    pub packet_valid: Signal<Out, Bit>,
    /// It is taken.
    pub packet_ready: Signal<In, Bit>,
    /// A `sent` item, not a packet.
    pub packet_marker: Signal<Out, Bit>,
    /// The page.
    pub packet_page: Signal<Out, Bits<7>>,
    /// Payload bytes.
    pub packet_bytes: Signal<Out, Bits<13>>,
    /// Queue pair.
    pub packet_qp: Signal<Out, Bits<QP>>,
    /// Operation of the BTH.
    pub packet_operation: Signal<Out, Bits<5>>,
    /// Asks for an acknowledgement.
    pub packet_ack_req: Signal<Out, Bit>,
    /// Sequence number.
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
    /// Kind of a `sent` item.
    pub packet_kind: Signal<Out, Bits<2>>,
    /// The request's status.
    pub packet_status: Signal<Out, Bits<8>>,
    /// The destination that failed.
    pub packet_bad_dest: Signal<Out, Bits<7>>,
    /// Payload bytes of the request.
    pub packet_total: Signal<Out, Bits<40>>,

    // Pages that are not sent.
    /// No other page is given back in this cycle.
    pub drop_ready: Signal<In, Bit>,
    /// A page is given back.
    pub drop_valid: Signal<Out, Bit>,
    /// Which.
    pub drop_page: Signal<Out, Bits<7>>,

    /// A request has ended.
    pub release_valid: Signal<Out, Bit>,

    // Sequence numbers: what the host wrote, and the next one.
    select: TableSelect,
    start_psns: Ram<24, 1, QP>,
    psns: Table<24, QP>,
    load: DFF<Bit>,
    load_qp: DFF<Bits<QP>>,
    psn_word: Constant<Bits<4>>,
    // Whether the host has written to the queue pair since the request was checked.
    stamps: Stamps<32, QP, 1>,
    gone: Signal<Local, Bit>,
    was_gone: DFF<Bit>,

    // The event, and what is known about its destination.
    state: DFF<IssuerState>,
    held: DFF<Bits<EVENT>>,
    dests: Ram<INFO, 1, 10>,
    /// Of each destination the queue pair, which must be known a cycle before its data.
    dest_qps: Lutram<QP, 10, 1>,
    addresses: Lutram<64, 6, 1>,
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

    // The request, and one bit for each of its destinations.
    queues: Queues,
    begun: DFF<Bit>,
    was_barred: DFF<Bit>,
    barred: Signal<Local, Bit>,
    /// Its event puts a queue pair in the error state, if it was begun.
    breaking: DFF<Bit>,
    breaking_qp: DFF<Bits<QP>>,
    drops: Signal<Local, Bit>,
    started: DFF<Bits<64>>,
    inside_message: DFF<Bits<64>>,
    flushed: DFF<Bits<64>>,
    failed: DFF<Bit>,
    fail_status: DFF<Bits<8>>,
    fail_dest: DFF<Bits<7>>,
    total: DFF<Bits<40>>,
    released: DFF<Bit>,

    // Wires.
    take: Signal<Local, Bit>,
    dest: Signal<Local, Bits<6>>,
    qp: DFF<Bits<QP>>,
    index: Signal<Local, Bits<7>>,
    reliable: Signal<Local, Bit>,
    write: Signal<Local, Bit>,
    flush: Signal<Local, Bit>,
    full: Signal<Local, Bit>,
    page: Signal<Local, Bits<7>>,
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
    final_dest: Signal<Local, Bits<7>>,
    final_total: Signal<Local, Bits<40>>,
    operation: Signal<Local, Bits<5>>,
    has_imm: Signal<Local, Bit>,
    has_reth: Signal<Local, Bit>,
    ack_req: Signal<Local, Bit>,
    message_bytes: Signal<Local, Bits<32>>,
    flags: Signal<Local, Bits<4>>,

    items: PromptFifo<ITEM, 4, 5>,
    rc: Constant<Bits<2>>,
    write_opcode: Constant<Bits<2>>,
    write_imm_opcode: Constant<Bits<2>>,
    send_imm_opcode: Constant<Bits<2>>,
    write_base: Constant<Bits<5>>,
    middle: Constant<Bits<5>>,
    last: Constant<Bits<5>>,
    only: Constant<Bits<5>>,
    protection_error: Constant<Bits<8>>,
    flush_error: Constant<Bits<8>>,
}

impl Default for Issuer {
    fn default() -> Self {
        let word = |name| Constant::new((QueuePairEntry::field(name).start / 32).to_bits());
        let opcode = |opcode: Opcode| Constant::new((opcode as usize).to_bits());
        let code = |code: u8| Constant::new(usize::from(code).to_bits());
        let status = |status: Status| Constant::new((status as usize).to_bits());
        Self {
            clk: Signal::default(),
            rst: Signal::default(),
            event_valid: Signal::default(),
            event_ready: Signal::default(),
            event_data: Signal::default(),
            dest_write_valid: Signal::default(),
            dest_write_dest: Signal::default(),
            dest_write_qp: Signal::default(),
            dest_write_data: Signal::default(),
            cfg_valid: Signal::default(),
            cfg_table: Signal::default(),
            cfg_index: Signal::default(),
            cfg_word: Signal::default(),
            cfg_data: Signal::default(),
            error_next: Signal::default(),
            qp_error: Signal::default(),
            halted_next: Signal::default(),
            queue_halted: Signal::default(),
            open_valid: Signal::default(),
            open_slot: Signal::default(),
            open_queue: Signal::default(),
            set_qp_error_valid: Signal::default(),
            set_qp_error_index: Signal::default(),
            refused: Signal::default(),
            only_end: Signal::default(),
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
            drop_ready: Signal::default(),
            drop_valid: Signal::default(),
            drop_page: Signal::default(),
            release_valid: Signal::default(),
            select: TableSelect::default(),
            start_psns: Ram::new(RamStyle::Ultra),
            psns: Table::default(),
            load: DFF::default(),
            load_qp: DFF::default(),
            stamps: Stamps::default(),
            gone: Signal::default(),
            was_gone: DFF::default(),
            state: DFF::default(),
            held: DFF::default(),
            dests: Ram::default(),
            dest_qps: Lutram::default(),
            addresses: Lutram::default(),
            next_psn: DFF::default(),
            address: DFF::default(),
            dropping: DFF::default(),
            has_sent: DFF::default(),
            within: DFF::default(),
            todo_full: DFF::default(),
            todo_last: DFF::default(),
            todo_dest_end: DFF::default(),
            todo_request_end: DFF::default(),
            queues: Queues::default(),
            begun: DFF::default(),
            was_barred: DFF::default(),
            barred: Signal::default(),
            breaking: DFF::default(),
            breaking_qp: DFF::default(),
            drops: Signal::default(),
            started: DFF::default(),
            inside_message: DFF::default(),
            flushed: DFF::default(),
            failed: DFF::default(),
            fail_status: DFF::default(),
            fail_dest: DFF::default(),
            total: DFF::default(),
            released: DFF::default(),
            take: Signal::default(),
            dest: Signal::default(),
            qp: DFF::default(),
            index: Signal::default(),
            reliable: Signal::default(),
            write: Signal::default(),
            flush: Signal::default(),
            full: Signal::default(),
            page: Signal::default(),
            bytes: Signal::default(),
            step: Signal::default(),
            pushed: Signal::default(),
            sends: Signal::default(),
            gives: Signal::default(),
            more: Signal::default(),
            marker: Signal::default(),
            kind: Signal::default(),
            marker_psn: Signal::default(),
            final_status: Signal::default(),
            final_dest: Signal::default(),
            final_total: Signal::default(),
            operation: Signal::default(),
            has_imm: Signal::default(),
            has_reth: Signal::default(),
            ack_req: Signal::default(),
            message_bytes: Signal::default(),
            flags: Signal::default(),
            items: PromptFifo::default(),
            psn_word: word("start_psn"),
            rc: Constant::new((Transport::Rc as usize).to_bits()),
            write_opcode: opcode(Opcode::Write),
            write_imm_opcode: opcode(Opcode::WriteImm),
            send_imm_opcode: opcode(Opcode::SendImm),
            write_base: code(operation::WRITE_FIRST),
            middle: code(operation::SEND_MIDDLE),
            last: code(operation::SEND_LAST),
            only: code(operation::SEND_ONLY),
            protection_error: status(Status::LocalProtectionError),
            flush_error: status(Status::WrFlushError),
        }
    }
}

impl Logic for Issuer {
    #[hdl_gen]
    #[rustfmt::skip]
    fn update(&mut self) {
        dff_setup!(self, clk, begun, was_barred, breaking, breaking_qp, load, load_qp, qp, was_gone, state, held, next_psn, address, dropping, has_sent, within, todo_full, todo_last, todo_dest_end, todo_request_end, started, inside_message, flushed, failed, fail_status, fail_dest, total, released);
        self.start_psns.clk.next = self.clk.val();
        self.psns.clk.next = self.clk.val();
        self.dests.clk.next = self.clk.val();
        self.addresses.clk.next = self.clk.val();
        self.items.clk.next = self.clk.val();
        self.items.rst.next = self.rst.val();

        // The host's first sequence number is loaded when it writes the queue pair's last word.
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

        self.stamps.clk.next = self.clk.val();
        self.stamps.rst.next = self.rst.val();
        self.stamps.written.next = self.select.queue_pair.val();
        self.stamps.index.next = self.cfg_index.val().get_bits::<QP>(0);

        // Requests: one whose queue has halted by its first event is never begun.
        self.queues.clk.next = self.clk.val();
        self.queues.rst.next = self.rst.val();
        self.queues.open_valid.next = self.open_valid.val();
        self.queues.open_slot.next = self.open_slot.val();
        self.queues.open_queue.next = self.open_queue.val();
        self.queues.cfg_valid.next = self.cfg_valid.val();
        self.queues.cfg_table.next = self.cfg_table.val();
        self.queues.cfg_index.next = self.cfg_index.val();
        self.queues.cfg_word.next = self.cfg_word.val();
        self.halted_next.next = self.queues.halted_next.val();
        self.queues.queue_halted.next = self.queue_halted.val();
        self.queues.slot.next = self.event_data.val().get_bits::<8>(10);
        self.barred.next = self.was_barred.q.val();
        if !self.begun.q.val() {
            self.barred.next = self.queues.over.val();
        }

        // Destinations.
        self.dests.write_lanes.next = 0.into();
        if self.dest_write_valid.val() {
            self.dests.write_lanes.next = 1.into();
        }
        self.dests.write_address.next = self.dest_write_dest.val();
        self.dests.write_data.next = self.dest_write_data.val();
        self.dests.read_address.next = self.event_data.val().get_bits::<10>(0);
        self.dest_qps.clk.next = self.clk.val();
        self.dest_qps.write_enable.next = self.dest_write_valid.val();
        self.dest_qps.write_address.next = self.dest_write_dest.val();
        self.dest_qps.write_data.next = self.dest_write_qp.val();
        self.dest_qps.read_address[0].next = self.event_data.val().get_bits::<10>(0);

        // Loading: the destination's data have come, and the queue pair's.
        self.dest.next = self.held.q.val().get_bits::<6>(0);
        self.index.next = self.dests.read_data.val().get_bits::<7>(132);
        self.reliable.next = self.dests.read_data.val().get_bits::<2>(130) == self.rc.val();
        self.write.next = (self.dests.read_data.val().get_bits::<2>(0) == self.write_opcode.val())
            || (self.dests.read_data.val().get_bits::<2>(0) == self.write_imm_opcode.val());
        self.flush.next = false;
        self.gone.next = self.stamps.stamp[0].val() != self.dests.read_data.val().get_bits::<32>(139);
        self.was_gone.d.next = self.gone.val();
        self.addresses.read_address[0].next = self.dest.val();
        // The end of a request whose destination failed before anything of it was sent.
        self.refused.next = self.held.q.val().get_bit(94)
            && self.held.q.val().get_bit(95)
            && self.held.q.val().get_bits::<8>(96).any();
        // A context that was written since has no part in it.
        self.breaking.d.next = (self.state.q.val() == IssuerState::Loading)
            && (self.held.q.val().get_bit(93) || self.refused.val())
            && !self.gone.val();
        self.breaking_qp.d.next = self.qp.q.val();
        self.set_qp_error_valid.next = self.breaking.q.val() && !self.was_barred.q.val();
        self.set_qp_error_index.next = self.breaking_qp.q.val();
        if self.state.q.val() == IssuerState::Loading {
            self.state.d.next = IssuerState::Giving;
            self.begun.d.next = true;
            self.was_barred.d.next = self.barred.val();
            self.todo_full.d.next = self.held.q.val().get_bit(50);
            self.todo_last.d.next = self.held.q.val().get_bit(71);
            self.todo_dest_end.d.next = self.held.q.val().get_bit(94) && !self.refused.val() && self.reliable.val();
            self.todo_request_end.d.next = self.held.q.val().get_bit(95);
            self.next_psn.d.next = self.psns.read_data.val();
            self.has_sent.d.next = self.started.q.val().get_bit(self.dest.val().index());
            self.within.d.next = self.inside_message.q.val().get_bit(self.dest.val().index());
            if self.started.q.val().get_bit(self.dest.val().index()) {
                self.address.d.next = self.addresses.read_data[0].val();
            } else {
                self.address.d.next = self.dests.read_data.val().get_bits::<64>(34);
                self.within.d.next = false;
            }
            // A packet of a queue pair that is in error, or is another one by now.
            self.flush.next = (self.held.q.val().get_bit(50) || self.held.q.val().get_bit(71))
                && !self.held.q.val().get_bit(92)
                && (self.qp_error.val() || self.gone.val());
            self.dropping.d.next = self.failed.q.val()
                || self.held.q.val().get_bit(92)
                || self.held.q.val().get_bit(93)
                || self.flush.val()
                || self.flushed.q.val().get_bit(self.dest.val().index());
            if self.flush.val() {
                self.flushed.d.next = self.flushed.q.val().replace_bit(self.dest.val().index(), true);
            }
            if self.held.q.val().get_bit(93) {
                self.failed.d.next = true;
            }
            // The first failure is the one that is told.
            if !self.fail_status.q.val().any() {
                if self.held.q.val().get_bit(93) {
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
            self.page.next = self.held.q.val().get_bits::<7>(51);
            self.bytes.next = self.held.q.val().get_bits::<13>(58);
        } else {
            self.page.next = self.held.q.val().get_bits::<7>(72);
            self.bytes.next = self.held.q.val().get_bits::<13>(79);
        }
        self.marker.next = !self.todo_full.q.val() && !self.todo_last.q.val();
        self.drops.next = self.dropping.q.val() || self.was_barred.q.val();
        self.sends.next = !self.marker.val() && !self.drops.val();
        // An item that is not for the output needs no room there.
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
            && (!self.gives.val() || self.items.in_ready.val())
            && (self.marker.val() || !self.drops.val() || self.drop_ready.val());
        self.drop_valid.next = self.step.val() && !self.marker.val() && self.drops.val();
        self.pushed.next = self.step.val() && self.gives.val();

        // Its operation follows from its place in the message.
        self.has_imm.next = !self.full.val()
            && ((self.dests.read_data.val().get_bits::<2>(0) == self.send_imm_opcode.val())
                || (self.dests.read_data.val().get_bits::<2>(0) == self.write_imm_opcode.val()));
        self.has_reth.next = self.write.val() && !self.within.q.val();
        self.ack_req.next = !self.full.val() && self.reliable.val();
        self.operation.next = 0.into();
        if self.full.val() {
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
        self.message_bytes.next = self.held.q.val().get_bits::<32>(18);
        if !self.held.q.val().get_bits::<32>(18).any() {
            self.message_bytes.next = bit_cast::<32, 13>(self.bytes.val());
        }

        // What is left of the event after a step.
        self.more.next = (self.todo_full.q.val()
            && (self.todo_last.q.val() || self.todo_dest_end.q.val() || self.todo_request_end.q.val()))
            || (self.todo_last.q.val() && (self.todo_dest_end.q.val() || self.todo_request_end.q.val()))
            || (self.todo_dest_end.q.val() && self.todo_request_end.q.val());

        // The request's status, once it ends.
        self.final_status.next = self.held.q.val().get_bits::<8>(96);
        self.final_dest.next = self.held.q.val().get_bits::<7>(104);
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
        // What the host has loaded since is not for this request to count on.
        self.psns.write_enable.next = self.load.q.val()
            || (self.step.val() && self.sends.val() && !self.was_gone.q.val());
        if self.load.q.val() {
            self.psns.write_address.next = self.load_qp.q.val();
            self.psns.write_data.next = self.start_psns.read_data.val();
        } else {
            self.psns.write_address.next = self.qp.q.val();
            self.psns.write_data.next = self.next_psn.q.val() + 1;
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
                self.next_psn.d.next = self.next_psn.q.val() + 1;
                self.total.d.next = self.total.q.val() + bit_cast::<40, 13>(self.bytes.val());
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
        self.only_end.next = self.event_data.val().get_bit(95)
            && !self.event_data.val().get_bit(50)
            && !self.event_data.val().get_bit(71)
            && !self.event_data.val().get_bits::<3>(92).any()
            && !self.event_data.val().get_bits::<8>(96).any();
        self.take.next = self.event_valid.val()
            && ((self.state.q.val() == IssuerState::Waiting) || (self.step.val() && !self.more.val()));
        self.event_ready.next = (self.state.q.val() == IssuerState::Waiting) || (self.step.val() && !self.more.val());
        self.dests.read_enable.next = self.take.val();
        self.queues.read_enable.next = self.take.val();
        if self.step.val() && !self.more.val() {
            self.state.d.next = IssuerState::Waiting;
        }
        if self.take.val() {
            self.held.d.next = self.event_data.val();
            self.qp.d.next = self.dest_qps.read_data[0].val();
            self.state.d.next = IssuerState::Loading;
            // The end of a request of which something was given has nothing to load; the one before it may be ending
            // just now.
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
        self.stamps.ahead[0].next = self.qp.d.val();
        self.error_next.next = self.qp.d.val();

        // `sent` items.
        self.kind.next = 1.into();
        self.marker_psn.next = self.next_psn.q.val();
        self.final_total.next = self.total.q.val();
        if self.final_status.val().any() {
            self.final_total.next = 0.into();
        }
        if self.marker.val() {
            self.marker_psn.next = self.next_psn.q.val() - 1;
            if self.todo_dest_end.q.val() {
                self.kind.next = 0.into();
            }
        }
        if !self.marker.val() || self.todo_dest_end.q.val() {
            self.final_dest.next = self.index.val();
            self.final_total.next = bit_cast::<40, 32>(self.dests.read_data.val().get_bits::<32>(139));
        }

        // The output.
        self.flags.next = 0.into();
        if self.marker.val() {
            self.flags.next = self.flags.val() | 1;
        }
        if self.ack_req.val() {
            self.flags.next = self.flags.val() | 2;
        }
        if self.has_imm.val() {
            self.flags.next = self.flags.val() | 4;
        }
        if self.has_reth.val() {
            self.flags.next = self.flags.val() | 8;
        }
        self.items.in_valid.next = self.pushed.val();
        self.items.in_data.next = bit_cast::<ITEM, 4>(self.flags.val())
            | (bit_cast::<ITEM, 7>(self.page.val()) << 4)
            | (bit_cast::<ITEM, 13>(self.bytes.val()) << 11)
            | (bit_cast::<ITEM, QP>(self.qp.q.val()) << 24)
            | (bit_cast::<ITEM, 5>(self.operation.val()) << 36)
            | (bit_cast::<ITEM, 24>(self.marker_psn.val()) << 41)
            | (bit_cast::<ITEM, 64>(self.address.q.val()) << 65)
            | (bit_cast::<ITEM, 32>(self.dests.read_data.val().get_bits::<32>(98)) << 129)
            | (bit_cast::<ITEM, 32>(self.message_bytes.val()) << 161)
            | (bit_cast::<ITEM, 32>(self.dests.read_data.val().get_bits::<32>(2)) << 193)
            | (bit_cast::<ITEM, 8>(self.held.q.val().get_bits::<8>(10)) << 225)
            | (bit_cast::<ITEM, 2>(self.kind.val()) << 233)
            | (bit_cast::<ITEM, 8>(self.final_status.val()) << 235)
            | (bit_cast::<ITEM, 7>(self.final_dest.val()) << 243)
            | (bit_cast::<ITEM, 40>(self.final_total.val()) << 250);
        self.packet_valid.next = self.items.out_valid.val();
        self.items.out_ready.next = self.packet_ready.val();
        self.packet_marker.next = self.items.out_data.val().get_bit(0);
        self.packet_ack_req.next = self.items.out_data.val().get_bit(1);
        self.packet_has_imm.next = self.items.out_data.val().get_bit(2);
        self.packet_has_reth.next = self.items.out_data.val().get_bit(3);
        self.packet_page.next = self.items.out_data.val().get_bits::<7>(4);
        self.packet_bytes.next = self.items.out_data.val().get_bits::<13>(11);
        self.packet_qp.next = self.items.out_data.val().get_bits::<QP>(24);
        self.packet_operation.next = self.items.out_data.val().get_bits::<5>(36);
        self.packet_psn.next = self.items.out_data.val().get_bits::<24>(41);
        self.packet_remote_addr.next = self.items.out_data.val().get_bits::<64>(65);
        self.packet_rkey.next = self.items.out_data.val().get_bits::<32>(129);
        self.packet_message_bytes.next = self.items.out_data.val().get_bits::<32>(161);
        self.packet_imm.next = self.items.out_data.val().get_bits::<32>(193);
        self.packet_slot.next = self.items.out_data.val().get_bits::<8>(225);
        self.packet_kind.next = self.items.out_data.val().get_bits::<2>(233);
        self.packet_status.next = self.items.out_data.val().get_bits::<8>(235);
        self.packet_bad_dest.next = self.items.out_data.val().get_bits::<7>(243);
        self.packet_total.next = self.items.out_data.val().get_bits::<40>(250);

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
