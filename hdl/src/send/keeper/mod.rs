//! Keeps packets until they are acknowledged, and sends them again if they are lost (go-back-N;
//! docs/semantics.md, "Retransmission").
//!
//! Stands between the segmenter and the packetizer, and before completion: packets pass it on their way out,
//! acknowledgements on their way in. A packet of a queue pair that keeps ([`policy`]) stays in its page, with what its
//! headers need, in a list of its queue pair, the oldest first. An acknowledgement takes packets from the front, and
//! their pages go back ([`pages`]). A NAK of a lost packet, an RNR NAK and a timeout let the list be sent again from
//! the front. New packets meanwhile go to the list's end and are sent when their turn comes; so neither other queue
//! pairs nor the segmenter wait.
//!
//! Completion is given what counts for it: acknowledgements unchanged; of a NAK that leads to another try only what it
//! acknowledges; and when tries are used up the NAK itself, or one of syndrome 0x60 for a timeout, which gives the
//! request its status and breaks the queue pair. An acknowledgement that answers no packet that is kept is not passed
//! on. A queue pair whose tries are used up, or that got any other NAK, is *closed* until the host writes its state
//! anew; both closing and that write give its pages back. A queue pair in the error state for another reason is not
//! closed: what it has sent before is sent again until it is acknowledged.
//!
//! Packets of other queue pairs, and of those that are closed, pass as they are; their pages go back when the
//! packetizer has done with them, and their acknowledgements go to completion as they are.
//!
//! Contract: events go through a pipeline of three stages: an event is chosen in a cycle, what the tables hold of its
//! queue pair is read in the next, and it takes effect in the third. A packet, an acknowledgement that is passed on or
//! covers the oldest packet alone, a packet that is sent again, and a look at a clock take a cycle each; a `sent` item
//! goes along with an event that sends nothing. A packet or an acknowledgement may follow one of the same queue pair at
//! once, because the third stage hands the list on; other events of that queue pair are chosen a cycle later. An
//! acknowledgement is at the output 3 cycles after it was accepted, a packet after 4. An acknowledgement that covers
//! more, or has something sent again, takes 4 cycles more, and 2 for each packet that it covers; a queue pair that is
//! closed or written anew takes 4, and 2 for each packet that it has; nothing else is done meanwhile. Acknowledgements
//! go before packets; packets that are sent again take turns with new ones, queue pair by queue pair, and both wait
//! while the packetizer has four packets to send: what is lost again is sent again so much sooner. When there is
//! nothing else to do, and after every 31 events, the next queue pair's clock is looked at, so that a timeout is
//! noticed at most 4,096 idle cycles late, or about half a millisecond under full load. Nothing is accepted in the
//! 4,096 cycles after a reset. The sequence numbers that a queue pair sends follow each other without a gap.
//!
//! READs and atomics (IBTA 1.4 section 9.7.3.1, 9.4.4) are packets like the others, with these exceptions: a READ takes
//! as many sequence numbers as its answer has packets, and each of these acknowledges a part of the READ; sent again,
//! it asks for the rest ([`shorten`]). A READ or an atomic that exceeds what its queue pair may have outstanding, and a
//! fenced packet behind one without an answer, stop their list: they wait as if packets were sent again, and go on when
//! an answer was acknowledged. `receive::reads`, before this block, ensures that a READ or an atomic is acknowledged
//! only by its own answer.
//!
//! The [`pacer`](super::pacer) is notified of every packet of a queue pair that congestion notifications have limited
//! (`paced`), and no further packet of it is sent until `go`: its packets wait in the list, as behind a READ that waits
//! for an answer. Packets of other queue pairs go on.
//!
//! Time is counted in units of 256 cycles (1.024 us). The timeout of a queue pair runs from the first packet on that
//! asks for an acknowledgement, and starts anew with progress.
//!
//! Pages are not shared out: one queue pair may have all of them. But nothing new is fetched (`hold`, to
//! [`queue`](crate::request::queue)) for a queue pair that has as many pages as are free, sends again after a timeout
//! or an RNR NAK, has to pause, or has packets that wait for `go`, until that is over: so one whose peer is silent
//! leaves the others half of the pages, two leave a third of them, and so on. What was fetched before still comes. A
//! queue pair whose entry was written and of which nothing was acknowledged since is reported to
//! [`queue`](crate::request::queue) as well (`silence`), which fetches one request of it, and more only when nobody
//! else has anything.

use crate::context::{ConfigWrite, QP, QueuePairIndex, Stamps, Table, TableSelect};
use crate::primitive::{Flatten, Ram, Restore, StreamFifo, StreamSkid};
use crate::request::queue::{Hold, Silence};
use crate::send::pacer::{PacedPacket, UNITS};
use crate::send::packetizer::Packet;
use crate::send::{PAGE, PAGES};
use drdma_abi::receive::{RNR_FOR_EVER, RNR_TIMERS};
use drdma_abi::roce::syndrome;
use drdma_emit::prelude::*;

mod kernel;
pub mod pages;
pub mod policy;
pub mod shorten;
#[cfg(test)]
mod tests;

use pages::{Page, PageUse};
use policy::{Policies, Policy};
use shorten::Shorten;

/// Blocks that ask whether a queue pair is closed: completion and `receive::reads`.
pub const CLOSED_READERS: usize = 2;
/// Bits of a time, in units of 256 cycles.
const TIME: usize = 36;
/// Bits of the number of a cycle in its unit of time.
const UNIT: usize = 8;
/// Binary logarithm of half of the shortest timeout (4.096 us) in units of time.
const TIMEOUT_UNIT: usize = 2;
/// Bits of a [`Packet`].
const PACKET: usize = 268 + PAGE + QP + crate::request::DEST_COUNT;
/// Bits of a [`Kept`].
const KEPT: usize = 94 + TIME + 3 * PAGE + KEPT_COUNT;
/// Bits of the count of events after which a clock is looked at in any case.
const EVENTS: usize = 5;
/// Bits of a count of packets that are kept.
const KEPT_COUNT: usize = PAGE + 1;
/// While so many packets are kept, each further one asks for an acknowledgement. So the packets that did not ask and
/// the pages of messages that are being filled are never all the pages that there are.
const PRESSED: u64 = 64;
/// While packets are to be sent again, none is passed on unless the packetizer has fewer than this.
const FEW: u64 = 4;
/// Cycles from a list's turn to its next one in `turns`.
const NEXT_TURN: u64 = 4;
/// Value of `rnr_retry` that is not counted down.
const FOR_EVER: u64 = RNR_FOR_EVER as u64;
/// Cycles in 10 us.
const TEN_US: u64 = 2500;

/// The pauses that RNR NAKs ask for, in units of time, rounded up, and one unit more for the one that has begun.
const PAUSES: [u64; 32] = {
    let mut pauses = [0; 32];
    let mut k = 0;
    while k < 32 {
        pauses[k] = (RNR_TIMERS[k] as u64 * TEN_US).div_ceil(1 << UNIT) + 1;
        k += 1;
    }
    pauses
};

/// An acknowledgement of a peer.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Response {
    /// The queue pair whose peer acknowledges.
    pub qp: Bits<QP>,
    /// Sequence number that is acknowledged, or refused by a NAK.
    pub psn: Bits<24>,
    /// Syndrome of the AETH.
    pub syndrome: Bits<8>,
}

/// The state of a queue pair and its list: packets that it has sent, or is to send, and that are not acknowledged.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Kept {
    /// The list has a packet.
    pub used: Bit,
    /// The oldest sequence number without an acknowledgement: that of the oldest packet or, if that is a READ, the next
    /// one of its answer. The numbers of the list follow from there without a gap.
    pub oldest: Bits<24>,
    /// READs and atomics that were sent and do not have all of their answer.
    pub answers: Bits<5>,
    /// Page of the oldest packet.
    pub head: Bits<PAGE>,
    /// Page of the newest packet.
    pub tail: Bits<PAGE>,
    /// Packets of the list are to be sent: again, or for the first time after having waited.
    pub resending: Bit,
    /// Page of the packet that is sent next; valid with `resending`.
    pub cursor: Bits<PAGE>,
    /// The queue pair is among those that wait for their turn to send.
    pub queued: Bit,
    /// An acknowledgement is awaited, since `time`.
    pub waiting: Bit,
    /// No packet is sent until `time`, because of an RNR NAK.
    pub paused: Bit,
    /// With `paused`, when the pause ends; else with `waiting`, since when an acknowledgement is awaited. In units of
    /// 256 cycles.
    pub time: Bits<TIME>,
    /// Last sequence number of the last packet that asked for an acknowledgement.
    pub asked: Bits<24>,
    /// Last sequence number of the newest packet that was sent.
    pub newest: Bits<24>,
    /// No packet was acknowledged since packets were sent again.
    pub retrying: Bit,
    /// With `retrying`: packets were sent again because of the peer's NAK of a lost packet.
    pub refused: Bit,
    /// Tries that are left after a timeout or a NAK of a lost packet.
    pub retries: Bits<3>,
    /// Tries that are left after an RNR NAK; 7: no limit.
    pub rnr_retries: Bits<3>,
    /// Packets in the list.
    pub count: Bits<KEPT_COUNT>,
    /// No entry is fetched for the queue pair.
    pub held: Bit,
    /// No packet was acknowledged since the queue pair's entry was written.
    pub silent: Bit,
    /// No packet is sent until the pacer's `go`.
    pub paced: Bit,
    /// The queue pair was limited when its last packet was sent.
    pub limited: Bit,
}

/// Steps of the keeper.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum KeeperState {
    /// Clears the tables after a reset.
    Clear,
    /// Lets events go through the pipeline.
    Run,
    /// Reads the oldest packet of a list.
    Read,
    /// Takes that packet from the list.
    Act,
    /// Updates the list when all packets that leave it have left.
    Conclude,
    /// Reads the packet of the event that waits in the pipeline again.
    Resume,
}

/// Kinds of events.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum KeeperEvent {
    /// A packet comes from the segmenter.
    Packet,
    /// An acknowledgement comes.
    Response,
    /// The host has written the queue pair's state: all that it has is given up.
    Forget,
    /// A limited queue pair may send its next packet.
    Go,
    /// The queue pair has its turn to send a packet of its list.
    Resend,
    /// The queue pair's clock is looked at.
    Tick,
    /// There is nothing but maybe a `sent` item.
    Item,
}

/// Keeps packets until they are acknowledged. See the [module](self).
#[derive(LogicBlock, BlockDefault)]
pub struct Keeper {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Words that the host writes into tables.
    pub cfg: Flow<In, ConfigWrite>,

    // Out.
    /// Packets and `sent` items of the segmenter, in order.
    pub packet: Stream<In, Packet>,
    /// Packets and `sent` items for the packetizer; with `again` what is sent again, with `late` what had to wait for
    /// its turn.
    pub item: Stream<Out, Packet>,

    // In.
    /// Acknowledgements of peers.
    pub response: Stream<In, Response>,
    /// Acknowledgements, for completion.
    pub told: Stream<Out, Response>,

    // Pages.
    /// A page that the packetizer gives back.
    pub done: Flow<In, Page>,
    /// A page that goes back to the segmenter.
    pub free: Flow<Out, Page>,

    // Queue pairs that are closed.
    /// The queue pairs whose `closed` is asked for in the next cycle, by completion and by `receive::reads`.
    pub closed_next: [Signal<In, Bits<QP>>; CLOSED_READERS],
    /// The queue pairs of `closed_next`, one cycle before, are closed.
    pub closed: [Signal<Out, Bit>; CLOSED_READERS],
    /// Whether new requests of a queue pair are to be fetched: see the [module](self).
    pub hold: Flow<Out, Hold>,
    /// Queue pairs whose peer becomes silent, or not silent: no packet was acknowledged since the entry was written.
    pub silence: Flow<Out, Silence>,

    // Queue pairs that are limited.
    /// The queue pair whose `limited` is asked for in the next cycle.
    pub limited_next: Signal<Out, Bits<QP>>,
    /// The queue pair of `limited_next`, one cycle before, is limited.
    pub limited: Signal<In, Bit>,
    /// A limited queue pair sends a packet.
    pub paced: Flow<Out, PacedPacket>,
    /// A limited queue pair may send its next packet.
    pub go: Stream<In, QueuePairIndex>,

    select: TableSelect,
    unused: Signal<Local, Bits<32>>,
    policies: Policies,
    stamps: Stamps<32, QP, 1>,
    pages: PageUse,
    /// Queue pairs whose state the host has written.
    renewed: StreamFifo<QueuePairIndex, 10, 11>,
    /// An event that waits in `early_event` and `early_qp`: one of `renewed`, or a `go`.
    early: DFF<Bit>,
    early_event: DFF<KeeperEvent>,
    early_qp: DFF<Bits<QP>>,
    early_taken: Signal<Local, Bit>,
    /// Queue pairs that are closed, for this block and for those that ask.
    quits: Table<1, QP>,
    quits_copies: [Table<1, QP>; CLOSED_READERS],
    quit: Signal<Local, Bit>,
    quit_index: Signal<Local, Bits<QP>>,
    quit_data: Signal<Local, Bits<1>>,
    /// Queue pairs that have packets of their lists to send, each at most once.
    #[init(StreamFifo::prompt())]
    turns: StreamFifo<QueuePairIndex, QP, 13>,
    /// The queue pairs whose turns are next: which event is chosen is known late.
    next_turns: StreamSkid<QueuePairIndex>,
    /// Another such queue pair, which is put into `turns` a cycle later.
    turn: DFF<Bit>,
    turn_qp: DFF<Bits<QP>>,
    #[init(StreamFifo::prompt())]
    items: StreamFifo<Packet, 4, 5>,
    /// What goes into `items`, a cycle later, because it is known late; `leaves` of the cycle before.
    item_made: DFF<Bit>,
    made: DFF<Packet>,
    has_left: DFF<Bit>,
    tells: StreamFifo<Response, 3, 4>,
    shorten: Shorten,

    // Tables: for each queue pair its list; for each page its packet, and the page behind it in its list.
    lists: Table<KEPT, QP>,
    list_in: Flatten<Kept, KEPT>,
    list_out: Restore<Kept, KEPT>,
    records: Ram<PACKET, 1, PAGE>,
    record_in: Flatten<Packet, PACKET>,
    record_out: Restore<Packet, PACKET>,
    followers: Ram<PAGE, 1, PAGE>,
    /// Of each page: its packet is a READ (1) or an atomic (2); else 0. Kept apart, so that the operation need not be
    /// decoded.
    kinds: Ram<2, 1, PAGE>,

    state: DFF<KeeperState>,
    runs: Signal<Local, Bit>,
    sweep: DFF<Bits<PAGE>>,
    clock: DFF<Bits<44>>,
    now: Signal<Local, Bits<TIME>>,
    watched: DFF<Bits<QP>>,
    /// A new packet was accepted after the last one that was sent again.
    was_new: DFF<Bit>,
    /// Events since a clock was looked at; when all bits are set, it is a clock's turn.
    events: DFF<Bits<EVENTS>>,
    due: Signal<Local, Bit>,
    sends_roomy: Signal<Local, Bit>,
    /// Packets that the packetizer has not given back, but for one that `has_left` just now.
    sending: DFF<Bits<KEPT_COUNT>>,
    leaves: Signal<Local, Bit>,
    /// Cycles in which the list that had its turn may come for the next one.
    recent: DFF<Bits<3>>,
    /// A list waits for its turn, or may do so soon.
    lists_wait: Signal<Local, Bit>,
    /// A list waits for its turn, while at least [`FEW`] packets are with the packetizer.
    backed_up: Signal<Local, Bit>,
    tells_roomy: Signal<Local, Bit>,
    /// Packets that are kept; `pressed`: they are at least [`PRESSED`].
    kept: DFF<Bits<KEPT_COUNT>>,
    pressed: DFF<Bit>,
    /// Pages that are not kept.
    room: DFF<Bits<KEPT_COUNT>>,
    #[init(Constant::new(PAGES.into()))]
    all_pages: Constant<Bits<KEPT_COUNT>>,
    /// The queue pair keeps at least as many packets as there are pages that are not kept.
    crowded: Signal<Local, Bit>,
    more_count: Signal<Local, Bits<KEPT_COUNT>>,
    fewer_count: Signal<Local, Bits<KEPT_COUNT>>,
    /// A list was written in the cycle before; values of `hold` and `silence` for it, then and before.
    wrote: DFF<Bit>,
    change: DFF<Hold>,
    was_held: DFF<Bit>,
    hush: DFF<Silence>,
    was_silent: DFF<Bit>,

    // The event that was chosen: what the tables hold of its queue pair is being read. If it `follows` one of the same
    // queue pair, it gets the list from that one.
    look: DFF<Bit>,
    follows: DFF<Bit>,
    /// The current event is one that an event of the same queue pair may follow at once.
    leads: Signal<Local, Bit>,
    event: DFF<KeeperEvent>,
    qp: DFF<Bits<QP>>,
    held: DFF<Packet>,
    answer: DFF<Response>,
    /// `held` is a `sent` item that goes along with the event.
    carries: DFF<Bit>,
    keeps: Signal<Local, Bit>,
    is_current: Signal<Local, Bit>,

    // The event that was chosen before: it takes effect.
    act: DFF<Bit>,
    act_event: DFF<KeeperEvent>,
    act_qp: DFF<Bits<QP>>,
    act_held: DFF<Packet>,
    act_answer: DFF<Response>,
    act_carries: DFF<Bit>,
    list: DFF<Kept>,
    policy: DFF<Policy>,
    fits: DFF<Bit>,
    is_limited: DFF<Bit>,

    // The event that takes longer, and the state of its list.
    walk_event: DFF<KeeperEvent>,
    walk_qp: DFF<Bits<QP>>,
    walk_answer: DFF<Response>,
    walk: DFF<Kept>,
    /// The queue pair was written anew, and keeps.
    walk_keeps: DFF<Bit>,
    walk_retry_cnt: DFF<Bits<3>>,
    walk_rnr_retry: DFF<Bits<3>>,

    // List, answer and queue pair of the current event: the one in the pipeline, or the one that takes longer.
    that: Signal<Local, Kept>,
    reply: Signal<Local, Response>,
    who: Signal<Local, Bits<QP>>,
    /// The page whose packet is read.
    wanted: Signal<Local, Bits<PAGE>>,
    at: DFF<Bits<PAGE>>,
    /// The page behind that page in its list; `linked`: it was written while it was read.
    follower: Signal<Local, Bits<PAGE>>,
    linked: DFF<Bit>,
    linked_page: DFF<Bits<PAGE>>,
    /// The packet of that page was written while it was read.
    fresh: DFF<Bit>,
    record: Signal<Local, Packet>,
    new_packet: Signal<Local, Packet>,
    // The last sequence number of the list's packet. That packet, and the new one, are READs or atomics, and have to
    // wait.
    record_end: Signal<Local, Bits<24>>,
    record_reads: Signal<Local, Bit>,
    record_asks: Signal<Local, Bit>,
    record_waits: Signal<Local, Bit>,
    new_reads: Signal<Local, Bit>,
    new_asks: Signal<Local, Bit>,
    asks_anew: Signal<Local, Bit>,
    new_waits: Signal<Local, Bit>,
    no_answers: Signal<Local, Bit>,
    all_answers: Signal<Local, Bit>,
    // How far an acknowledgement reaches: not to the end of the oldest packet, to its end, or beyond.
    is_short: Signal<Local, Bit>,
    reaches: Signal<Local, Bit>,
    ends_there: Signal<Local, Bit>,
    sent_end: Signal<Local, Bits<24>>,

    // Meaning of the current acknowledgement.
    progressed: DFF<Bit>,
    plain: Signal<Local, Bit>,
    is_ack: Signal<Local, Bit>,
    is_rnr: Signal<Local, Bit>,
    is_sequence: Signal<Local, Bit>,
    is_fatal: Signal<Local, Bit>,
    beyond: Signal<Local, Bit>,
    covers: Signal<Local, Bit>,
    awaited: Signal<Local, Bit>,
    alone: Signal<Local, Bit>,
    still_asked: Signal<Local, Bit>,
    unsent: Signal<Local, Bit>,
    quiet: Signal<Local, Bit>,
    retries: Signal<Local, Bits<3>>,
    rnr_retries: Signal<Local, Bits<3>>,
    blocked: Signal<Local, Bit>,
    fails: Signal<Local, Bit>,
    goes_back: Signal<Local, Bit>,
    pause: Signal<Local, Bits<TIME>>,
    pause_end: DFF<Bits<TIME>>,

    // Times, computed a cycle ahead.
    age: DFF<Bits<TIME>>,
    late: Signal<Local, Bits<TIME>>,
    overdue: Signal<Local, Bit>,
    left: DFF<Bits<TIME>>,
    pause_over: Signal<Local, Bit>,

    /// The list after the event, and whether it is written.
    after: Signal<Local, Kept>,
    writes: Signal<Local, Bit>,
    /// A packet of a queue pair that keeps is sent.
    sends: Signal<Local, Bit>,
    /// The packet of the list may be sent, unless it has to wait for an answer.
    may_go: Signal<Local, Bit>,
    /// All packets of the list are sent with this one: that is known late, and changes the list last.
    all_sent: Signal<Local, Bit>,
    makes_item: Signal<Local, Bit>,
    sent: Signal<Local, Packet>,
    /// The packet that is sent is one of a limited queue pair.
    tells_pacer: DFF<Bit>,
    pacer_packet: DFF<PacedPacket>,
    /// The packet of the list was not sent before.
    first_time: Signal<Local, Bit>,
    is_older: Signal<Local, Bit>,
    answers_before: Signal<Local, Bits<5>>,
    #[init(Constant::new(usize::from(syndrome::NAK_PSN).to_bits()))]
    sequence_nak: Constant<Bits<8>>,
    #[init(Constant::new(usize::from(syndrome::ACK | 31).to_bits()))]
    plain_ack: Constant<Bits<8>>,
}
