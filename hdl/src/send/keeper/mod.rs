//! Packets that are kept until they are acknowledged, and sent again if they are lost (go-back-N;
//! docs/semantics.md, "Retransmission").
//!
//! Its place is between the segmenter and the packetizer, and before completion: packets pass it on their way
//! out, acknowledgements on their way in. A packet of a queue pair that keeps ([`policy`]) stays in its page, with
//! what its headers need, in a list of its queue pair, the oldest first. An acknowledgement takes packets from
//! the front, and their pages go back ([`pages`]). A NAK of a lost packet, an RNR NAK and a timeout let the list be sent
//! again from the front. What is new meanwhile goes to the list's end and is sent when its turn comes; so nothing of other
//! queue pairs waits, and neither does the segmenter.
//!
//! Completion is told of what counts: acknowledgements unchanged; of a NAK that leads to another try only what it
//! acknowledges; and when tries are used up the NAK itself, or one 0x60 for a timeout, which give the request
//! its status and break the queue pair. Of what is no answer to a packet that is kept it is told nothing. A queue pair
//! whose tries are used up or that is refused is *closed*, until the host writes its state anew; either gives its pages back. One in error
//! for another reason is not: what was sent before is sent again until it is acknowledged.
//!
//! Packets of other queue pairs, and of those that are closed, pass as they are; their pages go back when the packetizer has done
//! with them, and their acknowledgements go to completion as they are.
//!
//! Contract: events go through a pipeline of three stages: one is chosen in a cycle, the tables tell of its queue pair in the
//! next, it takes effect in the third. A packet, an acknowledgement that is passed on or covers the oldest packet alone, a packet
//! that is sent again, and a clock take a cycle each; a `sent` item goes along with what sends nothing. A packet or an acknowledgement may
//! follow one of the same queue pair at once, because the third stage hands the list on; other events of the queue pair of the one before
//! are chosen a cycle later. Each is at the output 3 cycles after it was accepted. An acknowledgement that covers more, or
//! has something sent again, takes 4 cycles beside, and 2 for each packet that it covers; what is closed or written anew 4, and 2 for each
//! packet that it has; nothing else is done meanwhile. Acknowledgements go before packets, packets that are sent again take turns with new
//! ones, queue pair by queue pair. When there is nothing else to do, and behind every 31 events, the next queue pair's clock is looked at,
//! so that a timeout is noticed at most 4,096 idle cycles late, or about half a millisecond under full load. Nothing is accepted in the 4,096
//! cycles after a reset. The numbers of what a queue pair sends follow each other without a gap.
//!
//! READs and atomics (IBTA 1.4 section 9.7.3.1, 9.4.4) are packets like the others, but for this: a READ takes as many numbers as its answer has packets, and each
//! of these acknowledges a part of it; sent again, it asks for the rest ([`shorten`]). One that would be more than its queue
//! pair may have outstanding, and a fenced packet behind one without an answer, stop their list: they wait as if packets were sent again, and go on
//! when an answer was acknowledged. `receive::reads`, before this block, sees to it that no acknowledgement covers a READ or an atomic but
//! its own answer.
//!
//! Of a queue pair that congestion notifications have limited the [`pacer`](super::pacer) is told of every packet that is sent (`paced`), and no
//! further one of it is sent until `go`: those wait in the list, as behind a READ that waits for an answer. Packets of other queue pairs go on.
//!
//! Time is counted in units of 256 cycles (1.024 us). A queue pair waits from the first packet on that asks for an
//! acknowledgement, anew with progress.
//!
//! Pages are not shared out: one queue pair may have all of them. But for one that has as many as are free, sends again what was
//! not acknowledged, has to pause, or has packets that wait for `go`, nothing new is fetched (`hold`, to [`queue`](crate::request::queue)) until that is over: so
//! one whose peer is silent leaves the others half of the pages, two leave a third of them, and so on. What was fetched before still comes.
//! Of one whose entry was written and of which nothing was acknowledged since, [`queue`](crate::request::queue) is told as well (`silence`):
//! it fetches one request of it, and more when nobody else has anything.

use crate::context::{ConfigWrite, QP, QueuePairIndex, Stamps, Table, TableSelect};
use crate::primitive::{Flatten, Ram, Restore, StreamFifo};
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

/// Who asks whether a queue pair is closed: completion and `receive::reads`.
pub const CLOSED_READERS: usize = 2;
/// Bits of the time.
const TIME: usize = 36;
/// Bits of a cycle's number in a unit of time.
const UNIT: usize = 8;
/// Units of the shortest timeout's half, 4.096 us, as a power of two.
const TIMEOUT_UNIT: usize = 2;
/// Bits of a [`Packet`].
const PACKET: usize = 268 + PAGE + QP + crate::request::DEST_COUNT;
/// Bits of a [`Kept`].
const KEPT: usize = 93 + TIME + 3 * PAGE + KEPT_COUNT;
/// Bits of the number of events after which a clock is looked at whatever else there is.
const EVENTS: usize = 5;
/// Bits that count the packets that are kept.
const KEPT_COUNT: usize = PAGE + 1;
/// While so many packets are kept, each further one asks for an acknowledgement: those that did not ask, and the pages
/// of messages that are being filled, are never all the pages that there are.
const PRESSED: u64 = 64;
/// `rnr_retry` that is not counted down.
const FOR_EVER: u64 = RNR_FOR_EVER as u64;
/// Cycles of 10 us.
const TEN_US: u64 = 2500;

/// The pauses that RNR NAKs ask for, in units of time, rounded up, and one more for the one that has begun.
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
    /// Queue pair.
    pub qp: Bits<QP>,
    /// Sequence number.
    pub psn: Bits<24>,
    /// AETH: syndrome.
    pub syndrome: Bits<8>,
}

/// What a queue pair has sent, or is to send, that is not acknowledged.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Kept {
    /// There is something.
    pub used: Bit,
    /// The oldest number without an acknowledgement: the oldest packet's or, if that is a READ, the next one of its
    /// answer. Those behind it follow without a gap.
    pub oldest: Bits<24>,
    /// READs and atomics that were sent, and have no answer, or not all of it.
    pub answers: Bits<5>,
    /// Its page.
    pub head: Bits<PAGE>,
    /// The newest one's.
    pub tail: Bits<PAGE>,
    /// Not all of it was sent, or is to be sent once only.
    pub resending: Bit,
    /// Then: the page of the packet that is sent next.
    pub cursor: Bits<PAGE>,
    /// The queue pair waits for its turn to send.
    pub queued: Bit,
    /// An acknowledgement is waited for, since `time`.
    pub waiting: Bit,
    /// Nothing is sent until `time`.
    pub paused: Bit,
    /// See `waiting` and `paused`.
    pub time: Bits<TIME>,
    /// The last packet that asked for an acknowledgement.
    pub asked: Bits<24>,
    /// The newest packet that was sent.
    pub newest: Bits<24>,
    /// Nothing was acknowledged since packets were sent again.
    pub retrying: Bit,
    /// Tries that are left.
    pub retries: Bits<3>,
    /// Those after an RNR NAK.
    pub rnr_retries: Bits<3>,
    /// How many there are.
    pub count: Bits<KEPT_COUNT>,
    /// Nothing new is fetched for the queue pair.
    pub held: Bit,
    /// Nothing was acknowledged since its entry was written.
    pub silent: Bit,
    /// Nothing is sent until the pacer's `go`.
    pub paced: Bit,
    /// The queue pair was limited when the last packet was sent.
    pub limited: Bit,
}

/// What is being done.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum KeeperState {
    /// Tables are cleared.
    Clear,
    /// Events go through the pipeline.
    Run,
    /// The oldest packet of a list is read.
    Read,
    /// It leaves the list.
    Act,
    /// What leaves the list has left it.
    Conclude,
    /// The event that waits in the pipeline has its packet read again.
    Resume,
}

/// What there is to do.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum KeeperEvent {
    /// A packet comes.
    Packet,
    /// An acknowledgement comes.
    Response,
    /// All that a queue pair has is given up.
    Forget,
    /// A limited queue pair may send its next packet.
    Go,
    /// It is a queue pair's turn to send.
    Resend,
    /// A queue pair's clock is looked at.
    Tick,
    /// A `sent` item comes, and nothing else.
    Item,
}

/// See the [module](self).
#[derive(LogicBlock, BlockDefault)]
pub struct Keeper {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Words that the host writes into tables.
    pub cfg: Flow<In, ConfigWrite>,

    // Out.
    /// Packets and `sent` items of the segmenter.
    pub packet: Stream<In, Packet>,
    /// The same for the packetizer, and what is sent again (`again`), or had to wait for that (`late`).
    pub item: Stream<Out, Packet>,

    // In.
    /// Acknowledgements.
    pub response: Stream<In, Response>,
    /// What completion is to know of them.
    pub told: Stream<Out, Response>,

    // Pages.
    /// The packetizer gives a page back.
    pub done: Flow<In, Page>,
    /// A page goes back to the segmenter.
    pub free: Flow<Out, Page>,

    // Queue pairs that are closed.
    /// The queue pairs that are asked for in the next cycle, by completion and by `receive::reads`.
    pub closed_next: [Signal<In, Bits<QP>>; CLOSED_READERS],
    /// Those of the cycle before are closed.
    pub closed: [Signal<Out, Bit>; CLOSED_READERS],
    /// Whether a queue pair's further requests are fetched: see the [module](self).
    pub hold: Flow<Out, Hold>,
    /// Whether its peer is silent.
    pub silence: Flow<Out, Silence>,

    // Queue pairs that are limited.
    /// The queue pair that is asked for in the next cycle.
    pub limited_next: Signal<Out, Bits<QP>>,
    /// That of the cycle before is limited.
    pub limited: Signal<In, Bit>,
    /// A limited queue pair sends a packet.
    pub paced: Flow<Out, PacedPacket>,
    /// It may send another one.
    pub go: Stream<In, QueuePairIndex>,

    select: TableSelect,
    unused: Signal<Local, Bits<32>>,
    policies: Policies,
    stamps: Stamps<32, QP, 1>,
    pages: PageUse,
    /// Queue pairs that the host has written anew.
    renewed: StreamFifo<QueuePairIndex, 10, 11>,
    /// One of these, or one that may go: the next event that waits for nothing.
    early: DFF<Bit>,
    early_event: DFF<KeeperEvent>,
    early_qp: DFF<Bits<QP>>,
    early_taken: Signal<Local, Bit>,
    /// Those that are closed, for this block and for those that ask.
    quits: Table<1, QP>,
    quits_copies: [Table<1, QP>; CLOSED_READERS],
    quit: Signal<Local, Bit>,
    quit_index: Signal<Local, Bits<QP>>,
    quit_data: Signal<Local, Bits<1>>,
    /// Queue pairs that have something to send: each at most once.
    turns: StreamFifo<QueuePairIndex, QP, 13>,
    /// One more, a cycle later.
    turn: DFF<Bit>,
    turn_qp: DFF<Bits<QP>>,
    #[init(StreamFifo::prompt())]
    items: StreamFifo<Packet, 4, 5>,
    tells: StreamFifo<Response, 3, 4>,
    shorten: Shorten,

    // What is kept: of each queue pair the list, of each page the packet and the page behind it.
    lists: Table<KEPT, QP>,
    list_in: Flatten<Kept, KEPT>,
    list_out: Restore<Kept, KEPT>,
    records: Ram<PACKET, 1, PAGE>,
    record_in: Flatten<Packet, PACKET>,
    record_out: Restore<Packet, PACKET>,
    followers: Ram<PAGE, 1, PAGE>,
    /// Which packets are READs (1) or atomics (2), beside them, so that it need not be found out from the operation.
    kinds: Ram<2, 1, PAGE>,

    state: DFF<KeeperState>,
    runs: Signal<Local, Bit>,
    sweep: DFF<Bits<PAGE>>,
    clock: DFF<Bits<44>>,
    now: Signal<Local, Bits<TIME>>,
    watched: DFF<Bits<QP>>,
    /// A packet was accepted after the last one that was sent again.
    was_new: DFF<Bit>,
    /// Events since a clock was looked at; then it is that one's turn.
    events: DFF<Bits<EVENTS>>,
    due: Signal<Local, Bit>,
    sends_roomy: Signal<Local, Bit>,
    tells_roomy: Signal<Local, Bit>,
    /// Packets that are kept; many.
    kept: DFF<Bits<KEPT_COUNT>>,
    pressed: DFF<Bit>,
    /// Packets that could still be kept.
    room: DFF<Bits<KEPT_COUNT>>,
    #[init(Constant::new(PAGES.into()))]
    all_pages: Constant<Bits<KEPT_COUNT>>,
    /// The queue pair keeps as many as all together could still.
    crowded: Signal<Local, Bit>,
    more_count: Signal<Local, Bits<KEPT_COUNT>>,
    fewer_count: Signal<Local, Bits<KEPT_COUNT>>,
    /// A list was written in the cycle before: what is told of it then, and what was told before.
    wrote: DFF<Bit>,
    change: DFF<Hold>,
    was_held: DFF<Bit>,
    hush: DFF<Silence>,
    was_silent: DFF<Bit>,

    // The event that was chosen: the tables tell of its queue pair. If it `follows` one of the same queue pair, that
    // one's list is what it finds.
    look: DFF<Bit>,
    follows: DFF<Bit>,
    /// An event of the same queue pair may follow this one at once.
    leads: Signal<Local, Bit>,
    event: DFF<KeeperEvent>,
    qp: DFF<Bits<QP>>,
    held: DFF<Packet>,
    answer: DFF<Response>,
    /// `held` is a `sent` item that comes along.
    carries: DFF<Bit>,
    keeps: Signal<Local, Bit>,
    is_current: Signal<Local, Bit>,

    // The event before that one: it takes effect.
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

    // The event that takes longer, and how its list stands.
    walk_event: DFF<KeeperEvent>,
    walk_qp: DFF<Bits<QP>>,
    walk_answer: DFF<Response>,
    walk: DFF<Kept>,
    /// Its queue pair has another life that keeps.
    walk_keeps: DFF<Bit>,
    walk_retry_cnt: DFF<Bits<3>>,
    walk_rnr_retry: DFF<Bits<3>>,

    // One of the two.
    that: Signal<Local, Kept>,
    reply: Signal<Local, Response>,
    who: Signal<Local, Bits<QP>>,
    /// The page that is read.
    wanted: Signal<Local, Bits<PAGE>>,
    at: DFF<Bits<PAGE>>,
    /// The page behind it. It was written while it was read.
    follower: Signal<Local, Bits<PAGE>>,
    linked: DFF<Bit>,
    linked_page: DFF<Bits<PAGE>>,
    /// Its packet was written while it was read.
    fresh: DFF<Bit>,
    record: Signal<Local, Packet>,
    new_packet: Signal<Local, Packet>,
    // The last number of the packet of the list; it, and the new one, are READs or atomics, and wait.
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
    // An acknowledgement goes up to the end of the oldest packet, or beyond.
    is_short: Signal<Local, Bit>,
    reaches: Signal<Local, Bit>,
    ends_there: Signal<Local, Bit>,
    sent_end: Signal<Local, Bits<24>>,

    // An acknowledgement.
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

    // Time, as it was a cycle ahead.
    age: DFF<Bits<TIME>>,
    late: Signal<Local, Bits<TIME>>,
    overdue: Signal<Local, Bit>,
    left: DFF<Bits<TIME>>,
    pause_over: Signal<Local, Bit>,

    /// The list as it becomes, and whether it does.
    after: Signal<Local, Kept>,
    writes: Signal<Local, Bit>,
    /// A packet goes out: it counts as sent.
    sends: Signal<Local, Bit>,
    sent: Signal<Local, Packet>,
    /// It was one of a limited queue pair.
    tells_pacer: DFF<Bit>,
    pacer_packet: DFF<PacedPacket>,
    /// The packet of the list was not sent yet.
    first_time: Signal<Local, Bit>,
    is_older: Signal<Local, Bit>,
    answers_before: Signal<Local, Bits<5>>,
    #[init(Constant::new(usize::from(syndrome::NAK_PSN).to_bits()))]
    sequence_nak: Constant<Bits<8>>,
    #[init(Constant::new(usize::from(syndrome::ACK | 31).to_bits()))]
    plain_ack: Constant<Bits<8>>,
}
