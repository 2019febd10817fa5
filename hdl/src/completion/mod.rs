//! Completions: which request is done, and the entries that tell the host.
//!
//! A request is opened when it is decoded, in the order of its queue. It is done when everything of
//! it was sent and, on RC, every destination's last packet was acknowledged. Done requests leave
//! their queue in order, each with one entry in the queue's completion ring.
//!
//! Two kinds of linked lists in small memories hold all state: per send queue the open requests, per
//! queue pair the packets whose acknowledgement somebody waits for. One event is handled at a time:
//! a table write of the host, a request opened, something sent, an acknowledgement, a request done,
//! and in idle cycles the clock of one queue pair.
//!
//! Contract: an event takes 1 cycle, an acknowledgement 1 cycle for every packet list entry that it
//! covers plus 1, a completion 4 cycles; `slot_free` holds all 256 slots 1,024 cycles after reset.
//! May stall at any time. A completion queue without room keeps only its own queues waiting.

use num_bigint::BigUint;
use rust_hdl_core::prelude::*;
use rust_hdl_widgets::prelude::*;

use drdma_abi::completion::Status;

use crate::primitive::fifo::Fifo;
use crate::primitive::lutram::Lutram;

mod outstanding;
mod progress;
mod rings;
mod verdict;

use outstanding::Outstanding;
use progress::Progress;
use rings::Rings;
use verdict::Verdict;

#[cfg(test)]
mod tests;

/// What the block is doing.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum CompletionState {
    /// Clears the tables.
    Clear,
    /// Waits for an event.
    Wait,
    /// Takes the acknowledged packets from a queue pair's list.
    Acknowledge,
    /// Fails what is left of a queue pair's list.
    Fail,
    /// Looks at the oldest request of a queue.
    Oldest,
    /// Writes its completion.
    Complete,
    /// Forgets a queue's open requests.
    Forget,
}

/// The block. See the [module](self).
#[derive(LogicBlock)]
pub struct Completion {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,

    // Words that the host writes to tables.
    /// A word was written.
    pub cfg_valid: Signal<In, Bit>,
    /// Its table.
    pub cfg_table: Signal<In, Bits<3>>,
    /// Its entry.
    pub cfg_index: Signal<In, Bits<10>>,
    /// Its place in the entry.
    pub cfg_word: Signal<In, Bits<4>>,
    /// The word.
    pub cfg_data: Signal<In, Bits<32>>,
    /// Units of 1,024 cycles without an acknowledgement; 0: for ever.
    pub timeout: Signal<In, Bits<32>>,

    // Requests, as they are decoded.
    /// A request is opened.
    pub open_valid: Signal<In, Bit>,
    /// It is taken.
    pub open_ready: Signal<Out, Bit>,
    /// Its slot.
    pub open_slot: Signal<In, Bits<8>>,
    /// Its queue.
    pub open_queue: Signal<In, Bits<8>>,
    /// Its name.
    pub open_wr_id: Signal<In, Bits<64>>,

    // What was sent.
    /// Something was sent.
    pub sent_valid: Signal<In, Bit>,
    /// It is taken.
    pub sent_ready: Signal<Out, Bit>,
    /// Its request.
    pub sent_slot: Signal<In, Bits<8>>,
    /// Its queue pair.
    pub sent_qp: Signal<In, Bits<8>>,
    /// 0: a packet that must be acknowledged. 1: the end of the request.
    pub sent_kind: Signal<In, Bits<2>>,
    /// The packet's sequence number.
    pub sent_psn: Signal<In, Bits<24>>,
    /// The request's status so far.
    pub sent_status: Signal<In, Bits<8>>,
    /// The destination that failed.
    pub sent_bad_dest: Signal<In, Bits<7>>,
    /// Payload bytes of the request.
    pub sent_total: Signal<In, Bits<40>>,
    /// The queue pair of that packet was written by the host since: nobody will acknowledge it.
    pub gone: Signal<In, Bit>,

    // Packets, as they are given to the packetizer.
    /// A packet is on its way.
    pub sending_valid: Signal<In, Bit>,
    /// Its queue pair.
    pub sending_qp: Signal<In, Bits<8>>,
    /// Its sequence number.
    pub sending_psn: Signal<In, Bits<24>>,

    // Acknowledgements.
    /// One came.
    pub ack_valid: Signal<In, Bit>,
    /// It is taken.
    pub ack_ready: Signal<Out, Bit>,
    /// Its queue pair.
    pub ack_qp: Signal<In, Bits<8>>,
    /// Its sequence number.
    pub ack_psn: Signal<In, Bits<24>>,
    /// Its syndrome.
    pub ack_syndrome: Signal<In, Bits<8>>,

    // Slots that may be used.
    /// A slot is offered.
    pub slot_free_valid: Signal<Out, Bit>,
    /// It is taken.
    pub slot_free_ready: Signal<In, Bit>,
    /// Which.
    pub slot_free_slot: Signal<Out, Bits<8>>,

    // Entries for the host.
    /// An entry is offered.
    pub write_valid: Signal<Out, Bit>,
    /// It is taken.
    pub write_ready: Signal<In, Bit>,
    /// Where it goes.
    pub write_addr: Signal<Out, Bits<64>>,
    /// The entry.
    pub write_data: Signal<Out, Bits<256>>,

    // States that change.
    /// A queue pair fails.
    pub set_qp_error_valid: Signal<Out, Bit>,
    /// Which.
    pub set_qp_error_index: Signal<Out, Bits<8>>,
    /// A queue is halted.
    pub set_queue_halted_valid: Signal<Out, Bit>,
    /// Which.
    pub set_queue_halted_index: Signal<Out, Bits<8>>,
    /// Requests are open.
    pub busy: Signal<Out, Bit>,

    // Counters.
    /// A request was completed.
    pub count_work_requests: Signal<Out, Bit>,
    /// An acknowledgement was taken.
    pub count_acks: Signal<Out, Bit>,

    state: DFF<CompletionState>,
    step: DFF<Bits<10>>,
    open_count: DFF<Bits<9>>,

    // What the host wrote: {kind, index}; kind 0: queue pair, 1: send queue, 2: completion queue.
    events: Fifo<10, 10, 11>,
    rings: Rings,

    // Requests, by slot. Result: total 40, bad_dest 7,
    // status 8, ended, forgotten, freed.
    slots: Fifo<8, 8, 9>,
    names: Lutram<72, 8, 1>,
    results: Lutram<58, 8, 1>,
    waits: Lutram<8, 8, 1>,
    slot_next: Lutram<8, 8, 1>,
    // Queues: tail 8, head 8, used.
    queues: Lutram<17, 8, 1>,
    silent: DFF<Bits<256>>,
    progress: Progress,
    // Queue pairs whose peer refused or fell silent: nothing more will be acknowledged.
    refused_pairs: DFF<Bits<256>>,
    // The status of the next request that waits for such a peer.
    pending: Lutram<8, 8, 1>,
    done: Fifo<8, 9, 10>,

    packets: Outstanding,

    qp: DFF<Bits<8>>,
    psn: DFF<Bits<24>>,
    refused: DFF<Bit>,
    status: DFF<Bits<8>>,
    queue: DFF<Bits<8>>,
    slot: DFF<Bits<8>>,
    clock: DFF<Bits<18>>,
    ticked: DFF<Bit>,
    watched: DFF<Bits<8>>,

    quiet: DFF<Bit>,
    turn: DFF<Bit>,

    // Bits of shared buses that this block has no use for.
    unused: Signal<Local, Bits<2>>,
    // What the memories say at the current addresses.
    at_slot: Signal<Local, Bits<8>>,
    at_queue: Signal<Local, Bits<8>>,
    at_pair: Signal<Local, Bits<8>>,
    result: Signal<Local, Bits<58>>,
    waiting: Signal<Local, Bits<8>>,
    queue_used: Signal<Local, Bit>,
    queue_head: Signal<Local, Bits<8>>,
    queue_tail: Signal<Local, Bits<8>>,
    queue_rest: Signal<Local, Bits<17>>,
    since: Signal<Local, Bits<24>>,
    covered: Signal<Local, Bit>,
    pop_entry: Signal<Local, Bit>,
    pop_request: Signal<Local, Bit>,
    sent_go: Signal<Local, Bit>,
    verdict: Verdict,
    new_status: Signal<Local, Bits<8>>,
    shown: Signal<Local, Bit>,
    ended: Constant<Bits<58>>,
    forgotten: Constant<Bits<58>>,
    freed: Constant<Bits<58>>,
    queue_is_used: Constant<Bits<17>>,
    phase: Constant<Bits<256>>,
    flush: Constant<Bits<8>>,
    retry: Constant<Bits<8>>,
}

fn status(status: Status) -> Constant<Bits<8>> {
    Constant::new((status as u8).to_bits())
}

/// A constant with one bit set.
fn flag<const N: usize>(at: usize) -> Constant<Bits<N>> {
    Constant::new((BigUint::from(1_u8) << at).into())
}

impl Default for Completion {
    fn default() -> Self {
        Self {
            clk: Signal::default(),
            rst: Signal::default(),
            cfg_valid: Signal::default(),
            cfg_table: Signal::default(),
            cfg_index: Signal::default(),
            cfg_word: Signal::default(),
            cfg_data: Signal::default(),
            timeout: Signal::default(),
            refused_pairs: DFF::default(),
            pending: Lutram::default(),
            progress: Progress::default(),
            verdict: Verdict::default(),
            open_valid: Signal::default(),
            open_ready: Signal::default(),
            open_slot: Signal::default(),
            open_queue: Signal::default(),
            open_wr_id: Signal::default(),
            sent_valid: Signal::default(),
            sent_ready: Signal::default(),
            sent_slot: Signal::default(),
            sent_qp: Signal::default(),
            sent_kind: Signal::default(),
            sent_psn: Signal::default(),
            sent_status: Signal::default(),
            sent_bad_dest: Signal::default(),
            sent_total: Signal::default(),
            gone: Signal::default(),
            sending_valid: Signal::default(),
            sending_qp: Signal::default(),
            sending_psn: Signal::default(),
            ack_valid: Signal::default(),
            ack_ready: Signal::default(),
            ack_qp: Signal::default(),
            ack_psn: Signal::default(),
            ack_syndrome: Signal::default(),
            slot_free_valid: Signal::default(),
            slot_free_ready: Signal::default(),
            slot_free_slot: Signal::default(),
            write_valid: Signal::default(),
            write_ready: Signal::default(),
            write_addr: Signal::default(),
            write_data: Signal::default(),
            set_qp_error_valid: Signal::default(),
            set_qp_error_index: Signal::default(),
            set_queue_halted_valid: Signal::default(),
            set_queue_halted_index: Signal::default(),
            busy: Signal::default(),
            count_work_requests: Signal::default(),
            count_acks: Signal::default(),
            state: DFF::default(),
            step: DFF::default(),
            open_count: DFF::default(),
            events: Fifo::default(),
            rings: Rings::default(),
            slots: Fifo::default(),
            names: Lutram::default(),
            results: Lutram::default(),
            waits: Lutram::default(),
            slot_next: Lutram::default(),
            queues: Lutram::default(),
            silent: DFF::default(),
            done: Fifo::default(),
            packets: Outstanding::default(),
            qp: DFF::default(),
            psn: DFF::default(),
            refused: DFF::default(),
            status: DFF::default(),
            queue: DFF::default(),
            slot: DFF::default(),
            clock: DFF::default(),
            ticked: DFF::default(),
            watched: DFF::default(),
            quiet: DFF::default(),
            turn: DFF::default(),
            unused: Signal::default(),
            at_slot: Signal::default(),
            at_queue: Signal::default(),
            at_pair: Signal::default(),
            result: Signal::default(),
            waiting: Signal::default(),
            queue_used: Signal::default(),
            queue_head: Signal::default(),
            queue_tail: Signal::default(),
            queue_rest: Signal::default(),
            since: Signal::default(),
            covered: Signal::default(),
            pop_entry: Signal::default(),
            pop_request: Signal::default(),
            sent_go: Signal::default(),
            new_status: Signal::default(),
            shown: Signal::default(),
            ended: flag(55),
            forgotten: flag(56),
            freed: flag(57),
            queue_is_used: flag(16),
            phase: flag(184),
            flush: status(Status::WrFlushError),
            retry: status(Status::RetryExceeded),
        }
    }
}

impl Logic for Completion {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self,
            clk,
            refused_pairs,
            state,
            step,
            open_count,
            silent,
            qp,
            psn,
            refused,
            status,
            queue,
            slot,
            clock,
            ticked,
            watched,
            quiet,
            turn
        );
        self.names.clk.next = self.clk.val();
        self.names.write_enable.next = false;
        self.results.clk.next = self.clk.val();
        self.results.write_enable.next = false;
        self.waits.clk.next = self.clk.val();
        self.waits.write_enable.next = false;
        self.slot_next.clk.next = self.clk.val();
        self.slot_next.write_enable.next = false;
        self.queues.clk.next = self.clk.val();
        self.queues.write_enable.next = false;
        self.events.clk.next = self.clk.val();
        self.events.rst.next = self.rst.val();
        self.events.in_valid.next = false;
        self.events.out_ready.next = false;
        self.slots.clk.next = self.clk.val();
        self.slots.rst.next = self.rst.val();
        self.slots.in_valid.next = false;
        self.slots.out_ready.next = false;
        self.done.clk.next = self.clk.val();
        self.done.rst.next = self.rst.val();
        self.done.in_valid.next = false;
        self.done.out_ready.next = false;
        self.rings.clk.next = self.clk.val();
        self.rings.advance.next = false;
        self.rings.restart_valid.next = false;
        self.rings.restart_index.next = self.events.out_data.val().get_bits::<6>(0);
        self.packets.clk.next = self.clk.val();
        self.packets.rst.next = self.rst.val();
        self.packets.push.next = false;
        self.packets.tick.next = false;
        self.packets.clear.next = false;
        self.packets.clear_index.next = self.step.q.val();
        self.unused.next = self.cfg_index.val().get_bits::<2>(8);
        self.open_ready.next = false;
        self.progress.clk.next = self.clk.val();
        self.progress.rst.next = self.rst.val();
        self.progress.acknowledge.next = false;
        self.progress.forget.next = false;
        self.progress.forget_qp.next = self.events.out_data.val().get_bits::<8>(0);
        self.pending.clk.next = self.clk.val();
        self.pending.write_enable.next = false;
        self.pending.write_address.next = self.qp.q.val();
        self.pending.write_data.next = self.status.q.val();
        self.pending.read_address[0].next = self.sent_qp.val();
        self.sent_ready.next = false;
        self.ack_ready.next = false;
        self.write_valid.next = false;
        self.set_qp_error_valid.next = false;
        self.set_queue_halted_valid.next = false;
        self.count_work_requests.next = false;
        self.count_acks.next = false;
        self.busy.next = self.open_count.q.val().any();
        self.slot_free_valid.next = self.slots.out_valid.val();
        self.slot_free_slot.next = self.slots.out_data.val();
        self.slots.out_ready.next = self.slot_free_ready.val();

        // The host's table writes: addresses are kept, what starts something becomes an event.
        self.rings.cfg_valid.next = self.cfg_valid.val();
        self.rings.cfg_table.next = self.cfg_table.val();
        self.rings.cfg_index.next = self.cfg_index.val().get_bits::<8>(0);
        self.rings.cfg_word.next = self.cfg_word.val();
        self.rings.cfg_data.next = self.cfg_data.val();
        self.events.in_data.next = self.cfg_index.val().get_bits::<8>(0).get_bits::<10>(0);
        if self.cfg_valid.val() {
            if (self.cfg_table.val() == 0) && (self.cfg_word.val() == 15) {
                self.events.in_valid.next = true;
            }
            if (self.cfg_table.val() == 2) && (self.cfg_word.val() == 7) {
                self.events.in_valid.next = true;
                self.events.in_data.next =
                    self.cfg_index.val().get_bits::<8>(0).get_bits::<10>(0) | 0x100;
            }
            if (self.cfg_table.val() == 3) && (self.cfg_word.val() == 7) {
                self.events.in_valid.next = true;
                self.events.in_data.next =
                    self.cfg_index.val().get_bits::<8>(0).get_bits::<10>(0) | 0x200;
            }
        }

        // What was sent and what was acknowledged. An acknowledgement of a packet that was not sent is
        // none; one may come before the destination's end does.
        self.progress.sending_valid.next = self.sending_valid.val();
        self.progress.sending_qp.next = self.sending_qp.val();
        self.progress.sending_psn.next = self.sending_psn.val();
        self.verdict.syndrome.next = self.ack_syndrome.val();
        self.progress.ack_qp.next = self.ack_qp.val();
        self.progress.ack_psn.next = self.ack_psn.val();
        self.progress.ack_refuses.next = self.verdict.refuses.val();
        self.progress.sent_qp.next = self.sent_qp.val();
        self.progress.sent_psn.next = self.sent_psn.val();

        // Which event, and which queue pair, queue and slot it is about.
        self.sent_go.next = self.sent_valid.val()
            && ((self.sent_kind.val() != 0)
                || self.packets.room.val()
                || self.gone.val()
                || self.refused_pairs.q.val().get_bit(self.sent_qp.val().index()));
        self.at_pair.next = self.qp.q.val();
        if self.state.q.val() == CompletionState::Wait {
            self.at_pair.next = self.watched.q.val();
            if self.sent_go.val() {
                self.at_pair.next = self.sent_qp.val();
            }
        }
        self.packets.qp.next = self.at_pair.val();
        self.packets.push_psn.next = self.sent_psn.val();
        self.packets.push_slot.next = self.sent_slot.val();
        self.packets.push_dest.next = self.sent_bad_dest.val();

        self.at_queue.next = self.queue.q.val();
        if self.state.q.val() == CompletionState::Wait {
            self.at_queue.next = self.open_queue.val();
            if self.events.out_valid.val() {
                self.at_queue.next = self.events.out_data.val().get_bits::<8>(0);
            }
        }
        self.queues.read_address[0].next = self.at_queue.val();
        self.queue_tail.next = self.queues.read_data[0].val().get_bits::<8>(0);
        self.queue_head.next = self.queues.read_data[0].val().get_bits::<8>(8);
        self.queue_used.next = self.queues.read_data[0].val().get_bit(16);

        self.at_slot.next = self.slot.q.val();
        match self.state.q.val() {
            CompletionState::Wait => {
                self.at_slot.next = self.done.out_data.val();
                if self.sent_go.val() {
                    self.at_slot.next = self.sent_slot.val();
                }
            }
            CompletionState::Acknowledge => {
                self.at_slot.next = self.packets.slot.val();
            }
            CompletionState::Fail => {
                self.at_slot.next = self.packets.slot.val();
            }
            CompletionState::Oldest => {
                self.at_slot.next = self.queue_head.val();
            }
            _ => {}
        }
        self.names.read_address[0].next = self.at_slot.val();
        self.results.read_address[0].next = self.at_slot.val();
        self.waits.read_address[0].next = self.at_slot.val();
        self.slot_next.read_address[0].next = self.at_slot.val();
        self.result.next = self.results.read_data[0].val();
        self.waiting.next = self.waits.read_data[0].val();

        // The completion ring of the queue at hand.
        self.rings.queue.next = self.queue.q.val();
        self.write_addr.next = self.rings.addr.val();
        self.write_data.next = bit_cast::<256, 64>(self.names.read_data[0].val().get_bits::<64>(0))
            | (bit_cast::<256, 8>(self.names.read_data[0].val().get_bits::<8>(64)) << 128)
            | (bit_cast::<256, 8>(self.result.val().get_bits::<8>(47)) << 176);
        if self.result.val().get_bits::<8>(47).any() {
            self.write_data.next = self.write_data.val()
                | (bit_cast::<256, 7>(self.result.val().get_bits::<7>(40)) << 160);
        } else {
            self.write_data.next = self.write_data.val()
                | (bit_cast::<256, 40>(self.result.val().get_bits::<40>(0)) << 64);
        }
        if !self.rings.lap.val() {
            self.write_data.next = self.write_data.val() | self.phase.val();
        }

        // Defaults of the memories' writes.
        self.names.write_address.next = self.open_slot.val();
        self.names.write_data.next = bit_cast::<72, 64>(self.open_wr_id.val())
            | (bit_cast::<72, 8>(self.open_queue.val()) << 64);
        self.results.write_address.next = self.at_slot.val();
        self.results.write_data.next = self.result.val();
        self.waits.write_address.next = self.at_slot.val();
        self.waits.write_data.next = self.waiting.val() - 1;
        self.slot_next.write_address.next = self.queue_tail.val();
        self.slot_next.write_data.next = self.open_slot.val();
        self.queues.write_address.next = self.at_queue.val();
        self.queue_rest.next = (bit_cast::<17, 8>(self.queue_head.val()) << 8)
            | bit_cast::<17, 8>(self.open_slot.val())
            | self.queue_is_used.val();
        self.queues.write_data.next = self.queue_rest.val();
        self.slots.in_data.next = self.at_slot.val();
        self.done.in_data.next = self.at_slot.val();
        self.set_qp_error_index.next = self.qp.q.val();
        self.set_queue_halted_index.next = self.names.read_data[0].val().get_bits::<8>(64);
        self.pop_entry.next = false;
        self.pop_request.next = false;

        // An acknowledgement covers a packet up to its own number, a refusal those before it.
        self.since.next = self.psn.q.val() - self.packets.psn.val();
        self.covered.next =
            !self.since.val().get_bit(23) && (!self.refused.q.val() || self.since.val().any());
        self.new_status.next = self.result.val().get_bits::<8>(47);
        if !self.new_status.val().any() {
            self.new_status.next = self.sent_status.val();
        }

        // The clock: every 1,024 cycles all queue pairs are looked at once, as there is time.
        self.clock.d.next = self.clock.q.val() + 1;
        if self.clock.q.val().get_bits::<10>(0) == 0x3ff {
            self.ticked.d.next = true;
        }

        self.shown.next = !self.result.val().get_bit(56)
            && !self.silent.q.val().get_bit(self.queue.q.val().index());

        match self.state.q.val() {
            CompletionState::Clear => {
                self.step.d.next = self.step.q.val() + 1;
                self.packets.clear.next = true;
                self.queues.write_enable.next = true;
                self.queues.write_address.next = self.step.q.val().get_bits::<8>(0);
                self.queues.write_data.next = 0.into();
                self.rings.restart_valid.next = true;
                self.rings.restart_index.next = self.step.q.val().get_bits::<6>(0);
                if self.step.q.val() < 256 {
                    self.slots.in_valid.next = true;
                    self.slots.in_data.next = self.step.q.val().get_bits::<8>(0);
                }
                if self.step.q.val() == 1023 {
                    self.state.d.next = CompletionState::Wait;
                }
            }
            CompletionState::Wait => {
                self.turn.d.next = !self.turn.q.val();
                if self.events.out_valid.val() {
                    self.events.out_ready.next = true;
                    self.queue.d.next = self.at_queue.val();
                    self.slot.d.next = self.queue_head.val();
                    self.qp.d.next = self.events.out_data.val().get_bits::<8>(0);
                    self.status.d.next = self.flush.val();
                    self.quiet.d.next = true;
                    if self.events.out_data.val().get_bits::<2>(8) == 0 {
                        self.refused_pairs.d.next = self.refused_pairs.q.val().replace_bit(
                            self.events.out_data.val().get_bits::<8>(0).index(),
                            false,
                        );
                        self.progress.forget.next = true;
                        self.state.d.next = CompletionState::Fail;
                    }
                    if self.events.out_data.val().get_bits::<2>(8) == 1 {
                        self.silent.d.next =
                            self.silent.q.val().replace_bit(self.at_queue.val().index(), false);
                        if self.queue_used.val() {
                            self.state.d.next = CompletionState::Forget;
                        }
                    }
                    if self.events.out_data.val().get_bits::<2>(8) == 2 {
                        self.rings.restart_valid.next = true;
                    }
                } else if self.open_valid.val() && !self.sent_go.val() {
                    self.open_ready.next = true;
                    self.open_count.d.next = self.open_count.q.val() + 1;
                    self.names.write_enable.next = true;
                    self.results.write_enable.next = true;
                    self.results.write_address.next = self.open_slot.val();
                    self.results.write_data.next = 0.into();
                    self.waits.write_enable.next = true;
                    self.waits.write_address.next = self.open_slot.val();
                    self.waits.write_data.next = 0.into();
                    self.queues.write_enable.next = true;
                    if self.queue_used.val() {
                        self.slot_next.write_enable.next = true;
                    } else {
                        self.queues.write_data.next =
                            self.queue_rest.val().get_bits::<8>(0).get_bits::<17>(0)
                                | (bit_cast::<17, 8>(self.open_slot.val()) << 8)
                                | self.queue_is_used.val();
                    }
                } else if self.sent_go.val() && (self.sent_kind.val() != 0) {
                    self.sent_ready.next = true;
                    self.results.write_enable.next = true;
                    self.results.write_data.next = bit_cast::<58, 40>(self.sent_total.val())
                        | (bit_cast::<58, 8>(self.new_status.val()) << 47)
                        | self.ended.val()
                        | (self.result.val() & self.forgotten.val());
                    if self.result.val().get_bits::<8>(47).any() {
                        self.results.write_data.next = self.results.write_data.val()
                            | (bit_cast::<58, 7>(self.result.val().get_bits::<7>(40)) << 40);
                    } else if self.sent_status.val().any() {
                        self.results.write_data.next = self.results.write_data.val()
                            | (bit_cast::<58, 7>(self.sent_bad_dest.val()) << 40);
                    }
                    if !self.waiting.val().any() {
                        self.done.in_valid.next = true;
                    }
                    if self.new_status.val().any() && !self.result.val().get_bit(56) {
                        self.set_queue_halted_valid.next = true;
                    }
                } else if self.sent_go.val() {
                    self.sent_ready.next = true;
                    if self.gone.val() {
                        if !self.result.val().get_bits::<8>(47).any() {
                            self.results.write_enable.next = true;
                            self.results.write_data.next = self.result.val()
                                | (bit_cast::<58, 8>(self.flush.val()) << 47)
                                | (bit_cast::<58, 7>(self.sent_bad_dest.val()) << 40);
                        }
                    } else if self.progress.early.val() {
                        // Acknowledged already.
                    } else if self.refused_pairs.q.val().get_bit(self.sent_qp.val().index()) {
                        // Nobody will acknowledge it any more.
                        if !self.result.val().get_bits::<8>(47).any() {
                            self.results.write_enable.next = true;
                            self.pending.write_enable.next = true;
                            self.pending.write_address.next = self.sent_qp.val();
                            self.pending.write_data.next = self.flush.val();
                            self.results.write_data.next = self.result.val()
                                | (bit_cast::<58, 8>(self.pending.read_data[0].val()) << 47)
                                | (bit_cast::<58, 7>(self.sent_bad_dest.val()) << 40);
                        }
                    } else {
                        self.packets.push.next = true;
                        self.waits.write_enable.next = true;
                        self.waits.write_data.next = self.waiting.val() + 1;
                    }
                } else if self.ack_valid.val() && (self.turn.q.val() || !self.done.out_valid.val())
                {
                    self.ack_ready.next = true;
                    self.count_acks.next = true;
                    self.qp.d.next = self.ack_qp.val();
                    self.psn.d.next = self.ack_psn.val();
                    self.refused.d.next = self.verdict.refuses.val();
                    self.status.d.next = self.verdict.status.val();
                    self.quiet.d.next = false;
                    self.progress.acknowledge.next = true;
                    if self.progress.genuine.val() {
                        self.state.d.next = CompletionState::Acknowledge;
                    }
                } else if self.done.out_valid.val() {
                    self.done.out_ready.next = true;
                    self.queue.d.next = self.names.read_data[0].val().get_bits::<8>(64);
                    if self.result.val().get_bit(56) {
                        // Forgotten: its queue does not know it any more. Freed once.
                        if !self.result.val().get_bit(57) {
                            self.results.write_enable.next = true;
                            self.results.write_data.next = self.result.val() | self.freed.val();
                            self.slots.in_valid.next = true;
                            self.open_count.d.next = self.open_count.q.val() - 1;
                        }
                    } else {
                        self.state.d.next = CompletionState::Oldest;
                    }
                } else if self.ticked.q.val() {
                    self.watched.d.next = self.watched.q.val() + 1;
                    if self.watched.q.val() == 255 {
                        self.ticked.d.next = false;
                    }
                    self.qp.d.next = self.watched.q.val();
                    self.status.d.next = self.retry.val();
                    self.quiet.d.next = false;
                    if self.packets.used.val() {
                        self.packets.tick.next = true;
                        if self.timeout.val().any()
                            && (bit_cast::<32, 16>(self.packets.age.val()) >= self.timeout.val())
                        {
                            self.state.d.next = CompletionState::Fail;
                        }
                    }
                }
            }
            CompletionState::Acknowledge => {
                if self.packets.used.val() && self.covered.val() {
                    self.pop_entry.next = true;
                } else if self.refused.q.val() {
                    // What it refuses may not have come to its end.
                    self.state.d.next = CompletionState::Fail;
                } else {
                    self.state.d.next = CompletionState::Wait;
                }
            }
            CompletionState::Fail => {
                self.set_qp_error_valid.next = !self.quiet.q.val();
                if !self.quiet.q.val() {
                    self.refused_pairs.d.next =
                        self.refused_pairs.q.val().replace_bit(self.qp.q.val().index(), true);
                }
                if self.packets.used.val() {
                    self.pop_entry.next = true;
                    self.results.write_enable.next = true;
                    if !self.result.val().get_bits::<8>(47).any() {
                        self.results.write_data.next = self.result.val()
                            | (bit_cast::<58, 8>(self.status.q.val()) << 47)
                            | (bit_cast::<58, 7>(self.packets.dest.val()) << 40);
                    }
                    self.set_queue_halted_valid.next =
                        !self.quiet.q.val() && !self.result.val().get_bit(56);
                    self.status.d.next = self.flush.val();
                } else {
                    self.pending.write_enable.next = true;
                    self.state.d.next = CompletionState::Wait;
                }
            }
            CompletionState::Oldest => {
                self.slot.d.next = self.queue_head.val();
                if !self.queue_used.val()
                    || !self.result.val().get_bit(55)
                    || self.waiting.val().any()
                {
                    self.state.d.next = CompletionState::Wait;
                } else if !self.shown.val() {
                    self.pop_request.next = true;
                } else if self.rings.full.val() {
                    // No room: later again, after others.
                    self.done.in_valid.next = true;
                    self.state.d.next = CompletionState::Wait;
                } else {
                    self.state.d.next = CompletionState::Complete;
                }
            }
            CompletionState::Complete => {
                self.write_valid.next = true;
                if self.write_ready.val() {
                    self.count_work_requests.next = true;
                    self.rings.advance.next = true;
                    self.pop_request.next = true;
                    if self.result.val().get_bits::<8>(47).any() {
                        self.silent.d.next =
                            self.silent.q.val().replace_bit(self.queue.q.val().index(), true);
                    }
                    self.state.d.next = CompletionState::Oldest;
                }
            }
            CompletionState::Forget => {
                self.results.write_enable.next = true;
                self.results.write_data.next = self.result.val() | self.forgotten.val();
                if self.result.val().get_bit(55) && !self.waiting.val().any() {
                    self.done.in_valid.next = true;
                }
                self.slot.d.next = self.slot_next.read_data[0].val();
                if self.slot.q.val() == self.queue_tail.val() {
                    self.queues.write_enable.next = true;
                    self.queues.write_data.next = 0.into();
                    self.state.d.next = CompletionState::Wait;
                }
            }
        }

        self.packets.pop.next = self.pop_entry.val();
        if self.pop_entry.val() {
            self.waits.write_enable.next = true;
            if (self.waiting.val() == 1) && self.result.val().get_bit(55) {
                self.done.in_valid.next = true;
            }
        }
        if self.pop_request.val() {
            self.slots.in_valid.next = true;
            self.open_count.d.next = self.open_count.q.val() - 1;
            self.queues.write_enable.next = true;
            self.queues.write_data.next = 0.into();
            if self.queue_head.val() != self.queue_tail.val() {
                self.queues.write_data.next =
                    (bit_cast::<17, 8>(self.slot_next.read_data[0].val()) << 8)
                        | bit_cast::<17, 8>(self.queue_tail.val())
                        | self.queue_is_used.val();
            }
        }

        if self.rst.val() {
            self.state.d.next = CompletionState::Clear;
            self.step.d.next = 0.into();
            self.open_count.d.next = 0.into();
            self.silent.d.next = 0.into();
            self.refused_pairs.d.next = 0.into();
            self.clock.d.next = 0.into();
            self.ticked.d.next = false;
            self.watched.d.next = 0.into();
            self.turn.d.next = false;
        }
    }
}
