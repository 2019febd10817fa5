//! Completions: which request is done, and the entries that tell the host.
//!
//! A request is opened when it is decoded, in the order of its queue. It is done when everything of
//! it was sent and, on RC, every destination's last packet was acknowledged. Done requests leave
//! their queue in order, each with one entry in the queue's completion ring, but for unsignaled ones that succeeded.
//! One that sends a part of a message, and not the last, has an entry only if it fails; the queue has no further ones
//! then.
//!
//! A receipt of a receive gets an entry as well, in the ring that it names. Receives and sends may share a ring.
//!
//! Linked lists in small memories hold all state: for each send queue the open requests ([`Retire`]), for each queue
//! pair the packets whose acknowledgement is awaited ([`Outstanding`]). Events go through a pipeline: one is chosen in
//! a cycle; its queue pair and slot are looked up in the next; it takes effect in the third. An event that would read
//! what the event before it is about to write is not chosen in the next cycle. Rare events (table writes of the host,
//! refusals, timeouts) wait until the pipeline is empty, and have it to themselves.
//!
//! Contract: a cycle for a request that is opened, for a destination's item, and for a request's end (none for an end
//! with success right behind the item of its last destination: both are one event then). An acknowledgement takes 2,
//! and 3 for each further packet that it covers; if two of these events in a row are about the same queue pair or
//! request, up to a cycle more. A completion takes 3 cycles, for a send or for a receive, which take turns. A table
//! write takes 3 cycles, and 4 for each packet of a queue pair, or 2 for each request of a queue, that the host resets.
//! Nothing is taken in the 4,096 cycles after a reset, in which the lists are cleared. May stall at any time. A
//! completion queue without room holds up only its own queues. Receipts wait only for the lists' clearing and, for a
//! few cycles, for the restart of a completion queue; a receipt that finds no room is dropped, and its queue pair put
//! into the error state.
//!
//! Time is counted in units of 1,024 cycles. Each list of packets records when it last made progress. Whenever there is
//! nothing else to do, the next queue pair's list is examined, so that a timeout is noticed at most 4,096 idle cycles
//! late.

use crate::request::DEST_COUNT;
use drdma_emit::prelude::*;
use num_bigint::BigUint;

use drdma_abi::completion::Status;

use crate::context::{INDEX, QP, QUEUE, Table, TableSelect};
use crate::primitive::fifo::Fifo;
use crate::primitive::lutram::Lutram;
use crate::receive::record::Receipt;
use crate::send::keeper::policy::{Policies, Policy};
use crate::send::packetizer::PART_ENDS;

mod kernel;
mod outstanding;
mod progress;
mod retire;
mod rings;
mod verdict;

use outstanding::Outstanding;
use progress::Progress;
use retire::Retire;
use verdict::Verdict;

#[cfg(test)]
mod tests;

/// State of the block.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum CompletionState {
    /// Clears the tables.
    Clear,
    /// Moves events through the pipeline.
    Run,
    /// Looks up the queue pair, queue and slot of a rare event.
    Look,
    /// Lets a rare event take effect.
    Act,
    /// Examines whether the event concerns the oldest packet of a queue pair's list.
    Walk,
    /// Looks up the request of that oldest packet.
    WalkLook,
    /// Removes that packet from the list.
    WalkAct,
    /// Looks up an open request.
    ForgetLook,
    /// Forgets the open request that was looked up.
    Forget,
}

/// Kind of an event.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum CompletionEvent {
    /// The host wrote to a table.
    Written,
    /// A request is opened.
    Opened,
    /// A packet that must be acknowledged was sent.
    Packet,
    /// A request was sent.
    End,
    /// Packets of a queue pair were acknowledged.
    Acknowledge,
    /// A packet that was acknowledged belongs to a request.
    Covered,
    /// A queue pair is examined for a timeout.
    Tick,
    /// Packets of a queue pair were refused, or fail.
    Refused,
}

/// Bits of a record of a word that the host wrote.
const WRITTEN: usize = 14;

const _: () = assert!(INDEX == 12, "what the host wrote stands elsewhere");

/// The bit of a successful request's result that says that its message goes on in another part, and its bits.
const GOES_ON: usize = 50 + DEST_COUNT;
const RESULT: usize = GOES_ON + 1;

/// Completions of the card; see the [module](self).
#[derive(LogicBlock, BlockDefault)]
pub struct Completion {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,

    // Words that the host writes to tables.
    /// The host wrote a word into a table.
    pub cfg_valid: Signal<In, Bit>,
    /// Number of the word's table.
    pub cfg_table: Signal<In, Bits<3>>,
    /// Index of the word's entry.
    pub cfg_index: Signal<In, Bits<INDEX>>,
    /// Number of the word in its entry.
    pub cfg_word: Signal<In, Bits<4>>,
    /// Value that was written.
    pub cfg_data: Signal<In, Bits<32>>,
    /// Time without an acknowledgement after which requests fail, in units of 1,024 cycles; 0: none. Queue pairs with a
    /// `timeout` of their own are not concerned until the keeper has closed them.
    pub timeout: Signal<In, Bits<32>>,
    /// Queue pair whose state in the [`Keeper`](crate::send::keeper::Keeper) is wanted in the next cycle.
    pub closed_next: Signal<Out, Bits<QP>>,
    /// The keeper has closed the queue pair that `closed_next` named in the cycle before.
    pub closed: Signal<In, Bit>,

    // Requests, as they are decoded.
    /// A request that is opened is offered.
    pub open_valid: Signal<In, Bit>,
    /// The request is taken in this cycle.
    pub open_ready: Signal<Out, Bit>,
    /// Slot of the request.
    pub open_slot: Signal<In, Bits<8>>,
    /// Send queue of the request.
    pub open_queue: Signal<In, Bits<QUEUE>>,
    /// Name (`wr_id`) of the request.
    pub open_wr_id: Signal<In, Bits<64>>,
    /// Ring position of the request's first block.
    pub open_position: Signal<In, Bits<32>>,
    /// The request is unsignaled: it gets an entry only if it fails.
    pub open_unsignaled: Signal<In, Bit>,

    // Items that follow packets and requests which were sent.
    /// A `sent` item is offered.
    pub sent_valid: Signal<In, Bit>,
    /// The item is taken in this cycle.
    pub sent_ready: Signal<Out, Bit>,
    /// Slot of the item's request.
    pub sent_slot: Signal<In, Bits<8>>,
    /// Queue pair of the item.
    pub sent_qp: Signal<In, Bits<QP>>,
    /// 0: a packet that must be acknowledged. Else the end of the request; 2: its message goes on in another part.
    pub sent_kind: Signal<In, Bits<2>>,
    /// Sequence number of the packet.
    pub sent_psn: Signal<In, Bits<24>>,
    /// Status of the request so far.
    pub sent_status: Signal<In, Bits<8>>,
    /// The destination that failed or, for a packet, its destination.
    pub sent_bad_dest: Signal<In, Bits<DEST_COUNT>>,
    /// Payload bytes of the request.
    pub sent_total: Signal<In, Bits<40>>,
    /// The host has written the packet's queue pair since: the packet will not be acknowledged.
    pub gone: Signal<In, Bit>,

    // Packets, as they are given to the packetizer.
    /// A packet goes to the packetizer.
    pub sending_valid: Signal<In, Bit>,
    /// Queue pair of that packet.
    pub sending_qp: Signal<In, Bits<QP>>,
    /// Sequence number of that packet.
    pub sending_psn: Signal<In, Bits<24>>,

    // Acknowledgements.
    /// An acknowledgement is offered.
    pub ack_valid: Signal<In, Bit>,
    /// The acknowledgement is taken in this cycle.
    pub ack_ready: Signal<Out, Bit>,
    /// Queue pair of the acknowledgement.
    pub ack_qp: Signal<In, Bits<QP>>,
    /// Sequence number of the acknowledgement.
    pub ack_psn: Signal<In, Bits<24>>,
    /// Syndrome of the acknowledgement.
    pub ack_syndrome: Signal<In, Bits<8>>,

    // Receives that are complete.
    /// Receipts: entries of complete receives, and where they go.
    pub receipt: Stream<In, Receipt>,

    // Slots that may be used.
    /// A free slot is offered.
    pub slot_free_valid: Signal<Out, Bit>,
    /// The slot is taken in this cycle.
    pub slot_free_ready: Signal<In, Bit>,
    /// Number of the free slot.
    pub slot_free_slot: Signal<Out, Bits<8>>,

    // Entries for the host.
    /// An entry is offered.
    pub write_valid: Signal<Out, Bit>,
    /// The entry is taken in this cycle.
    pub write_ready: Signal<In, Bit>,
    /// Host address of the entry.
    pub write_addr: Signal<Out, Bits<64>>,
    /// The 32 bytes of the entry.
    pub write_data: Signal<Out, Bits<256>>,

    // States that change.
    /// A queue pair fails.
    pub set_qp_error_valid: Signal<Out, Bit>,
    /// With `set_qp_error_valid`: the queue pair.
    pub set_qp_error_index: Signal<Out, Bits<QP>>,
    /// A queue is halted.
    pub set_queue_halted_valid: Signal<Out, Bit>,
    /// With `set_queue_halted_valid`: the queue.
    pub set_queue_halted_index: Signal<Out, Bits<QUEUE>>,
    /// Requests are open, or a receipt has no entry yet.
    pub busy: Signal<Out, Bit>,

    // Counters.
    /// A request was completed.
    pub count_work_requests: Signal<Out, Bit>,
    /// An acknowledgement was taken.
    pub count_acks: Signal<Out, Bit>,

    state: DFF<CompletionState>,
    step: DFF<Bits<INDEX>>,

    // Words that the host wrote: {kind, index}; kind 0: queue pair, 1: send queue, 2: completion queue.
    select: TableSelect,
    events: Fifo<WRITTEN, 10, 11>,
    retire: Retire,

    // Requests, by slot. Result: total 40, status 8, ended, forgotten, bad_dest, goes on. Packets that must be
    // acknowledged, and that were, modulo 256: as many at a request's end. The queue.
    results: Lutram<RESULT, 8, 2>,
    sent_counts: Lutram<8, 8, 1>,
    acked_counts: Lutram<8, 8, 1>,
    owners: Lutram<QUEUE, 8, 1>,
    progress: Progress,
    // Queue pairs whose peer refused or fell silent: no further packet will be acknowledged.
    refused_pairs: Table<1, QP>,
    // Queues and queue pairs that the host has written, and whose old requests are not dealt with yet: a failure of one
    // of these does not halt a queue that was enabled since, nor break a queue pair that was made ready.
    new_queues: Table<1, QUEUE>,
    new_pairs: Table<1, QP>,
    // Status of the next request that waits for such a queue pair's peer.
    pending: Table<8, QP>,
    packets: Outstanding,

    // The chosen event, for which the memories are read.
    look_valid: DFF<Bit>,
    event: DFF<CompletionEvent>,
    qp: DFF<Bits<QP>>,
    psn: DFF<Bits<24>>,
    slot: DFF<Bits<8>>,
    queue: DFF<Bits<QUEUE>>,
    wr_id: DFF<Bits<64>>,
    position: DFF<Bits<32>>,
    unsignaled: DFF<Bit>,
    code: DFF<Bits<8>>,
    bad_dest: DFF<Bits<DEST_COUNT>>,
    total: DFF<Bits<40>>,
    is_gone: DFF<Bit>,
    goes_on: DFF<Bit>,
    // The oldest packet of a list is looked at.
    first: DFF<Bit>,
    syndrome: DFF<Bits<8>>,
    written: DFF<Bits<2>>,

    // The event before the chosen one, which takes effect.
    act_valid: DFF<Bit>,
    act_event: DFF<CompletionEvent>,
    act_qp: DFF<Bits<QP>>,
    act_psn: DFF<Bits<24>>,
    act_slot: DFF<Bits<8>>,
    act_queue: DFF<Bits<QUEUE>>,
    act_wr_id: DFF<Bits<64>>,
    act_position: DFF<Bits<32>>,
    act_unsignaled: DFF<Bit>,
    act_code: DFF<Bits<8>>,
    act_bad_dest: DFF<Bits<DEST_COUNT>>,
    act_total: DFF<Bits<40>>,
    act_gone: DFF<Bit>,
    act_goes_on: DFF<Bit>,
    act_first: DFF<Bit>,
    // The event is a packet with which its request ends, successfully.
    act_joined: DFF<Bit>,
    // Contents of the tables for the event's slot and queue pair.
    owner: DFF<Bits<QUEUE>>,
    result: DFF<Bits<RESULT>>,
    is_ended: DFF<Bit>,
    failed: DFF<Bit>,
    sent_count: DFF<Bits<8>>,
    acked_count: DFF<Bits<8>>,
    waits_none: DFF<Bit>,
    waits_one: DFF<Bit>,
    is_refused: DFF<Bit>,
    awaited: DFF<Bits<8>>,

    // The request of a packet that was acknowledged is to be updated, at the latest behind the next acknowledgement.
    cover: DFF<Bit>,
    cover_slot: DFF<Bits<8>>,
    // An acknowledgement may cover further packets of this queue pair.
    more: DFF<Bit>,
    more_qp: DFF<Bits<QP>>,
    more_psn: DFF<Bits<24>>,
    // The queue pair `late_qp` has waited too long for an acknowledgement.
    late: DFF<Bit>,
    late_qp: DFF<Bits<QP>>,

    // Longer events: a list is walked, or fails; `quiet`: without a completion for the host.
    refused: DFF<Bit>,
    failing: DFF<Bit>,
    quiet: DFF<Bit>,
    status: DFF<Bits<8>>,
    /// Cycle counter; a unit of time is 1,024 cycles.
    clock: DFF<Bits<42>>,
    now: Signal<Local, Bits<32>>,
    overdue: Signal<Local, Bit>,
    // Queue pairs that the keeper gives up when their peers are silent.
    policies: Policies,
    unused: Signal<Local, Policy>,
    timed: DFF<Bit>,
    /// A request that was offered in the cycle before was not opened.
    open_waits: DFF<Bit>,
    age: Signal<Local, Bits<32>>,
    watched: DFF<Bits<QP>>,

    found_result: Signal<Local, Bits<RESULT>>,
    since: Signal<Local, Bits<24>>,
    joins: Signal<Local, Bit>,
    ends: Signal<Local, Bit>,
    // A packet that will not be acknowledged, and the status with which its request ends; a packet that is awaited.
    lost: Signal<Local, Bit>,
    lost_status: Signal<Local, Bits<8>>,
    waits: Signal<Local, Bit>,
    covered: Signal<Local, Bit>,
    pops: Signal<Local, Bit>,
    acknowledging: Signal<Local, Bit>,
    look_list: Signal<Local, Bit>,
    look_slot: Signal<Local, Bit>,
    ack_fits: Signal<Local, Bit>,
    packet_fits: Signal<Local, Bit>,
    end_fits: Signal<Local, Bit>,
    refusal: Signal<Local, Bit>,
    restarts: Signal<Local, Bit>,
    halts: Signal<Local, Bit>,
    renews: Signal<Local, Bit>,
    slow: Signal<Local, Bit>,
    drained: Signal<Local, Bit>,
    verdict: Verdict,
    new_status: Signal<Local, Bits<8>>,
    #[init(flag(48))]
    ended: Constant<Bits<RESULT>>,
    #[init(flag(49))]
    forgotten: Constant<Bits<RESULT>>,
    #[init(status(Status::WrFlushError))]
    flush: Constant<Bits<8>>,
    #[init(status(Status::RetryExceeded))]
    retry: Constant<Bits<8>>,
}

fn status(status: Status) -> Constant<Bits<8>> {
    Constant::new((status as u8).to_bits())
}

/// A constant with one bit set.
fn flag<const N: usize>(at: usize) -> Constant<Bits<N>> {
    Constant::new((BigUint::from(1_u8) << at).into())
}
