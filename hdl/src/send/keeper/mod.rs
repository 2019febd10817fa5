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
//! its status and break the queue pair. Of what is no answer to a packet that is kept it is told nothing. What breaks,
//! or is written anew by the host, gives its pages back.
//!
//! Packets of other queue pairs, and of those in error, pass as they are; their pages go back when the packetizer has done
//! with them, and their acknowledgements go to completion as they are.
//!
//! Contract: a `sent` item takes a cycle, a packet 2, one that is kept 3; each is at the output as many cycles after it
//! was accepted. An acknowledgement takes 5 cycles, and 2 for each packet that it covers; a packet that is sent again 4; what
//! breaks or is written anew 4, and 2 for each packet that it has. One of these at a time. Acknowledgements go before packets, packets that are sent again take turns
//! with new ones, queue pair by queue pair. When there is nothing else to do, and behind every 15 events, the next queue pair's clock is looked at, so that a
//! timeout is noticed at most 3 * 4,096 idle cycles late, or about a millisecond under full load. Nothing is accepted in the 4,096 cycles after a reset.
//!
//! Time is counted in units of 256 cycles (1.024 us). A queue pair waits from the first packet on that asks for an
//! acknowledgement, anew with progress.

use crate::context::{ConfigWrite, QP, QueuePairIndex, Stamps, Table, TableSelect};
use crate::primitive::{Flatten, Ram, Restore, StreamFifo};
use crate::send::PAGE;
use crate::send::packetizer::Packet;
use drdma_abi::receive::{RNR_FOR_EVER, RNR_TIMERS};
use drdma_abi::roce::syndrome;
use drdma_emit::prelude::*;

mod kernel;
pub mod pages;
pub mod policy;
#[cfg(test)]
mod tests;

use pages::{Page, PageUse};
use policy::{Policies, Policy};

/// Bits of the time.
const TIME: usize = 36;
/// Bits of a cycle's number in a unit of time.
const UNIT: usize = 8;
/// Units of the shortest timeout's half, 4.096 us, as a power of two.
const TIMEOUT_UNIT: usize = 2;
/// Bits of a [`Packet`].
const PACKET: usize = 266 + PAGE + QP + crate::request::DEST_COUNT;
/// Bits of a [`Kept`].
const KEPT: usize = 60 + TIME + 3 * PAGE;
/// Bits of the number of events after which a clock is looked at whatever else there is.
const EVENTS: usize = 4;
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
    /// The oldest packet's page.
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
}

/// What is being done.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum KeeperState {
    /// Tables are cleared.
    Clear,
    /// Something to do is chosen.
    Choose,
    /// The tables tell of its queue pair.
    Look,
    /// What they told is known.
    Decide,
    /// A packet of the list is read.
    Read,
    /// It is known.
    Act,
    /// An acknowledgement has taken what it covers.
    Conclude,
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
    /// It is a queue pair's turn to send.
    Resend,
    /// A queue pair's clock is looked at.
    Tick,
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

    // Queue pairs that break.
    /// The queue pair that is asked for in the next cycle.
    pub error_next: Signal<Out, Bits<QP>>,
    /// That of the cycle before is in error.
    pub qp_error: Signal<In, Bit>,
    /// A queue pair has entered the error state.
    pub broken: Stream<In, QueuePairIndex>,

    select: TableSelect,
    unused: Signal<Local, Bits<32>>,
    policies: Policies,
    stamps: Stamps<32, QP, 1>,
    pages: PageUse,
    /// Queue pairs that the host has written anew.
    renewed: StreamFifo<QueuePairIndex, 10, 11>,
    /// Queue pairs that have something to send: each at most once.
    turns: StreamFifo<QueuePairIndex, QP, 13>,
    #[init(StreamFifo::prompt())]
    items: StreamFifo<Packet, 4, 5>,
    tells: StreamFifo<Response, 3, 4>,

    // What is kept: of each queue pair the list, of each page the packet and the page behind it.
    lists: Table<KEPT, QP>,
    list_in: Flatten<Kept, KEPT>,
    list_out: Restore<Kept, KEPT>,
    records: Ram<PACKET, 1, PAGE>,
    record_in: Flatten<Packet, PACKET>,
    record_out: Restore<Packet, PACKET>,
    followers: Ram<PAGE, 1, PAGE>,

    state: DFF<KeeperState>,
    event: DFF<KeeperEvent>,
    sweep: DFF<Bits<PAGE>>,
    clock: DFF<Bits<44>>,
    now: Signal<Local, Bits<TIME>>,
    watched: DFF<Bits<QP>>,
    /// A packet was accepted after the last one that was sent again.
    was_new: DFF<Bit>,
    /// Events since a clock was looked at; then it is that one's turn.
    events: DFF<Bits<EVENTS>>,
    sends_roomy: Signal<Local, Bit>,
    tells_roomy: Signal<Local, Bit>,

    qp: DFF<Bits<QP>>,
    held: DFF<Packet>,
    answer: DFF<Response>,
    list: DFF<Kept>,
    policy: DFF<Policy>,
    keeps: Signal<Local, Bit>,
    is_current: Signal<Local, Bit>,
    fits: DFF<Bit>,
    /// The page that is read.
    wanted: Signal<Local, Bits<PAGE>>,
    at: DFF<Bits<PAGE>>,
    record: Signal<Local, Packet>,

    // An acknowledgement.
    begun: DFF<Bit>,
    progressed: DFF<Bit>,
    oldest: DFF<Bits<24>>,
    is_ack: Signal<Local, Bit>,
    is_rnr: Signal<Local, Bit>,
    is_sequence: Signal<Local, Bit>,
    is_fatal: Signal<Local, Bit>,
    since: Signal<Local, Bits<24>>,
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

    // Time.
    age: Signal<Local, Bits<TIME>>,
    late: Signal<Local, Bits<TIME>>,
    overdue: Signal<Local, Bit>,
    left: Signal<Local, Bits<TIME>>,
    pause_over: Signal<Local, Bit>,

    /// The list as it becomes, and whether it does.
    after: Signal<Local, Kept>,
    writes: Signal<Local, Bit>,
    /// A packet goes out: it counts as sent.
    sends: Signal<Local, Bit>,
    sent: Signal<Local, Packet>,
    /// The packet of the list was not sent yet.
    first_time: Signal<Local, Bit>,
    is_older: Signal<Local, Bit>,
    #[init(Constant::new(usize::from(syndrome::NAK_PSN).to_bits()))]
    sequence_nak: Constant<Bits<8>>,
    #[init(Constant::new(usize::from(syndrome::ACK | 31).to_bits()))]
    plain_ack: Constant<Bits<8>>,
}
