//! Completions: which request is done, and the entries that tell the host.
//!
//! A request is opened when it is decoded, in the order of its queue. It is done when everything of
//! it was sent and, on RC, every destination's last packet was acknowledged. Done requests leave
//! their queue in order, each with one entry in the queue's completion ring.
//!
//! Two kinds of linked lists in small memories hold all state: per send queue the open requests, per
//! queue pair the packets whose acknowledgement somebody waits for. One event is handled at a time:
//! a table write of the host, a request opened, something sent, an acknowledgement, a request done,
//! and in idle cycles the clock of one queue pair. It is chosen in one cycle, which says what it is
//! about; all memories are read in the next, into registers; and in the third it takes effect.
//!
//! Contract: an event takes 3 cycles; an acknowledgement 4 for every packet list entry that it covers,
//! and 3 unless the list is empty then; a completion 8, the next one of the same queue 5; a list that
//! the host resets takes 4 for each entry, a queue 2 for each request. `slot_free` holds all 256 slots
//! 1,024 cycles after reset. May stall at any time. A completion queue without room keeps only its own
//! queues waiting.

use num_bigint::BigUint;
use rust_hdl_core::prelude::*;
use rust_hdl_widgets::prelude::*;

use drdma_abi::completion::Status;

use crate::primitive::fifo::Fifo;
use crate::primitive::lutram::Lutram;

mod kernel;
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
    /// Reads what the tables say of its queue pair, queue and slot.
    Look,
    /// Does what there is to do.
    Act,
    /// Looks whether the oldest packet of a queue pair's list is concerned.
    Walk,
    /// Reads what the tables say of that packet's request.
    WalkLook,
    /// Takes the packet from the list.
    WalkAct,
    /// Reads where a queue's oldest request is.
    Queue,
    /// Goes there.
    Oldest,
    /// Reads what the tables say of it.
    OldestLook,
    /// Decides whether it can be completed.
    OldestAct,
    /// Writes its completion.
    Complete,
    /// Reads what the tables say of an open request.
    ForgetLook,
    /// Forgets it.
    Forget,
}

/// What an event is.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum CompletionEvent {
    /// The host wrote to a table.
    Written,
    /// A request is opened.
    Opened,
    /// Something was sent.
    Sent,
    /// A request is done.
    Done,
    /// Time goes by for a queue pair.
    Tick,
    /// Packets of a queue pair were acknowledged, or fail.
    Walk,
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
    event: DFF<CompletionEvent>,
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
    silent: Lutram<1, 8, 1>,
    progress: Progress,
    // Queue pairs whose peer refused or fell silent: nothing more will be acknowledged.
    refused_pairs: Lutram<1, 8, 1>,
    // The status of the next request that waits for such a peer.
    pending: Lutram<8, 8, 1>,
    done: Fifo<8, 9, 10>,
    packets: Outstanding,

    // The event at hand.
    qp: DFF<Bits<8>>,
    psn: DFF<Bits<24>>,
    syndrome: DFF<Bits<8>>,
    refused: DFF<Bit>,
    status: DFF<Bits<8>>,
    queue: DFF<Bits<8>>,
    slot: DFF<Bits<8>>,
    written: DFF<Bits<2>>,
    quiet: DFF<Bit>,
    // The first packet of a list is looked at; the list fails.
    first: DFF<Bit>,
    failing: DFF<Bit>,
    // What was sent last finds no room: others go first.
    no_room: DFF<Bit>,
    clock: DFF<Bits<18>>,
    ticked: DFF<Bit>,
    watched: DFF<Bits<8>>,
    turn: DFF<Bit>,

    // What the memories said of `queue`, `slot` and `qp` a cycle before.
    record: DFF<Bits<17>>,
    is_silent: DFF<Bit>,
    name: DFF<Bits<72>>,
    result: DFF<Bits<58>>,
    failed: DFF<Bit>,
    waiting: DFF<Bits<8>>,
    waits_none: DFF<Bit>,
    waits_one: DFF<Bit>,
    follower: DFF<Bits<8>>,
    is_refused: DFF<Bit>,
    awaited: DFF<Bits<8>>,
    is_gone: DFF<Bit>,

    // Bits of shared buses that this block has no use for.
    unused: Signal<Local, Bits<2>>,
    queue_used: Signal<Local, Bit>,
    queue_head: Signal<Local, Bits<8>>,
    queue_tail: Signal<Local, Bits<8>>,
    queue_rest: Signal<Local, Bits<17>>,
    found_result: Signal<Local, Bits<58>>,
    found_waiting: Signal<Local, Bits<8>>,
    since: Signal<Local, Bits<24>>,
    covered: Signal<Local, Bit>,
    pop_request: Signal<Local, Bit>,
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
            event: DFF::default(),
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
            silent: Lutram::default(),
            progress: Progress::default(),
            refused_pairs: Lutram::default(),
            pending: Lutram::default(),
            done: Fifo::default(),
            packets: Outstanding::default(),
            qp: DFF::default(),
            psn: DFF::default(),
            syndrome: DFF::default(),
            refused: DFF::default(),
            status: DFF::default(),
            queue: DFF::default(),
            slot: DFF::default(),
            written: DFF::default(),
            quiet: DFF::default(),
            first: DFF::default(),
            failing: DFF::default(),
            no_room: DFF::default(),
            clock: DFF::default(),
            ticked: DFF::default(),
            watched: DFF::default(),
            turn: DFF::default(),
            record: DFF::default(),
            is_silent: DFF::default(),
            name: DFF::default(),
            result: DFF::default(),
            failed: DFF::default(),
            waiting: DFF::default(),
            waits_none: DFF::default(),
            waits_one: DFF::default(),
            follower: DFF::default(),
            is_refused: DFF::default(),
            awaited: DFF::default(),
            is_gone: DFF::default(),
            unused: Signal::default(),
            queue_used: Signal::default(),
            queue_head: Signal::default(),
            queue_tail: Signal::default(),
            queue_rest: Signal::default(),
            found_result: Signal::default(),
            found_waiting: Signal::default(),
            since: Signal::default(),
            covered: Signal::default(),
            pop_request: Signal::default(),
            verdict: Verdict::default(),
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
