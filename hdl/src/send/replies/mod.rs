//! Answers what peers READ and their atomics, and says when replies leave that wait behind these (docs/semantics.md,
//! "Receiving").
//!
//! Stands between [`answers`](super::answers) and the packetizer. Acknowledgements pass. A READ is read from host
//! memory packet by packet, into pages of its own, from which the packetizer takes them. An atomic is a READ of 8
//! bytes, which are changed, written through `shell/host_write`, and kept in case the atomic is repeated. What follows
//! a READ or an atomic of the same queue pair, acknowledgements included, waits for it. Replies of other queue pairs do
//! not wait, except READs and atomics: all of these are begun in the order in which they came, and many are under way
//! at once.
//!
//! ```text
//!                                     key, frames that are used up
//!                                                |
//! reply -> Turns ----- queue of 4,096 -----> Fetcher --plans--> Collector -> response
//!            \                                  \             /   | ^
//!             \-> acknowledgement                 Described ---    | pages
//!                                           read -/  \- beat       set_qp_error
//! ```
//!
//! A READ begins when all frames that came before it are used up, so that it sees what they have written. Its key is
//! checked again with each packet. If the key does not allow the READ any more, or the memory is not there, a NAK takes
//! the packet's place, nothing behind it of that queue pair leaves, and the queue pair enters the error state when the
//! NAK was taken. A READ or an atomic is given up if the host has written to its queue pair's entry since.
//!
//! An atomic begins when its own frame is used up, too. A packet of a READ is read when no atomic is under way in the
//! pages of host memory that it touches ([`atomics`](crate::receive::atomics) knows). An atomic with the address of
//! another one that is under way is not read from host memory: it gets the value that the other one leaves. The
//! original values of the last 16 READs and atomics of each queue pair are kept; one that comes again is searched for
//! among as many of them as the queue pair keeps.
//!
//! Contract: an atomic every 7 cycles, a repeated one in up to 36; an acknowledgement every 2 cycles, 2 cycles after it
//! came. A packet of a READ takes as many cycles as it has beats of 64 B and 3 more, at least 6, and is offered 2
//! cycles after its last beat. There are 64 pages. May stall at any time. No ready of an input depends on that of an
//! output within a cycle.
//!
//! Tables are cleared in the cycles after a reset that clear all tables (`EVERY_TABLE`); nothing may come meanwhile.

use crate::context::{ConfigWrite, EVERY_TABLE, QP, QueuePairIndex};
use crate::primitive::{Ram, RamStyle, StreamFifo};
use crate::receive::record::{Answer, Answered, KEPT, RESOURCE, SLOT, SlotIndex};
use crate::send::answers::Acknowledgement;
use crate::send::{REPLY_PAGE, REPLY_ROW};
use crate::shell::host_read::{HostReadBeat, HostReadRequest};
use crate::shell::host_write::HostWord;
use drdma_emit::prelude::*;

mod collector;
pub mod described;
mod fetcher;
#[cfg(test)]
mod tests;
mod turns;

use crate::regions::entries::KeyWord;
use collector::Collector;
use described::Described;
use fetcher::Fetcher;
use turns::Turns;

/// Bits of the number of a waiting reply among those of its queue pair: more numbers than replies can wait at once.
pub const NUMBER: usize = 13;

/// A packet of an answer to a READ or an atomic, or an acknowledgement that waited behind one.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Response {
    /// The queue pair that sends the packet.
    pub qp: Bits<QP>,
    /// The stamp of the queue pair's entry when the request was checked.
    pub stamp: Bits<32>,
    /// Operation of the BTH.
    pub operation: Bits<5>,
    /// Sequence number.
    pub psn: Bits<24>,
    /// The packet has an AETH.
    pub has_aeth: Bit,
    /// Syndrome of the AETH; valid with `has_aeth`.
    pub syndrome: Bits<8>,
    /// Messages completed so far, modulo 2^24, for the AETH; valid with `has_aeth`.
    pub msn: Bits<24>,
    /// Bytes of payload, 0 to 4,096.
    pub bytes: Bits<13>,
    /// The payload is in `page`; otherwise there is none.
    pub paged: Bit,
    /// The reply page that holds the payload; valid with `paged`.
    pub page: Bits<REPLY_PAGE>,
}

/// A reply that waits for its turn: an [`Answer`] with a number.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Waiting {
    /// The number of the reply among those of its queue pair that have waited.
    pub number: Bits<NUMBER>,
    /// The queue pair.
    pub qp: Bits<QP>,
    /// The stamp of the queue pair's entry with which the packet was checked.
    pub stamp: Bits<32>,
    /// Syndrome of the AETH.
    pub syndrome: Bits<8>,
    /// Sequence number; for a READ or an atomic, that of its answer's first packet.
    pub psn: Bits<24>,
    /// Messages completed so far, modulo 2^24.
    pub msn: Bits<24>,
    /// The reply is to a READ.
    pub reads: Bit,
    /// The reply is to an atomic. If it is to neither, the fields below mean nothing.
    pub atomic: Bit,
    /// The READ or atomic was accepted before and is answered again. Of such an atomic only `resource`, `kept` and
    /// `swaps` are valid.
    pub again: Bit,
    /// The atomic is a compare and swap; otherwise a fetch and add.
    pub swaps: Bit,
    /// Slot of the atomic.
    pub slot: Bits<SLOT>,
    /// Number of the READ or atomic among those of its queue pair; of one that comes again, the number of the last one.
    pub resource: Bits<RESOURCE>,
    /// Of an atomic that comes again: how many, up to `resource`, are kept.
    pub kept: Bits<KEPT>,
    /// Address of the first byte of the READ or atomic.
    pub addr: Bits<64>,
    /// Remote key of the READ or atomic.
    pub rkey: Bits<32>,
    /// Bytes of the READ or atomic.
    pub len: Bits<32>,
    /// Protection domain of the queue pair.
    pub pd: Bits<32>,
    /// Binary logarithm of the queue pair's MTU in bytes.
    pub log_mtu: Bits<4>,
    /// Frames since the reset, modulo 2^32, that came before the READ or atomic (an atomic's own included). When so
    /// many are used up, what they wrote is in memory.
    pub earlier: Bits<32>,
}

/// A packet that will leave. If it has bytes, they are being read.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Plan {
    /// The number of the packet's reply among those of its queue pair.
    pub number: Bits<NUMBER>,
    /// The packet is the reply's last one.
    pub ends: Bit,
    /// The key does not allow the packet: a NAK takes its place.
    pub refused: Bit,
    /// The READ or atomic is given up: no packet leaves.
    pub drops: Bit,
    /// The packet is of the answer to a READ.
    pub reads: Bit,
    /// The packet is the answer to an atomic.
    pub atomic: Bit,
    /// The READ or atomic was accepted before, and is answered again.
    pub again: Bit,
    /// The atomic is a compare and swap; otherwise a fetch and add.
    pub swaps: Bit,
    /// Slot of the atomic.
    pub slot: Bits<SLOT>,
    /// Number of the READ or atomic among those of its queue pair; of one that comes again, the number of the last one.
    pub resource: Bits<RESOURCE>,
    /// Of an atomic that comes again: how many, up to `resource`, are kept.
    pub kept: Bits<KEPT>,
    /// Address of the atomic's 8 bytes.
    pub addr: Bits<64>,
    /// The queue pair that sends the packet.
    pub qp: Bits<QP>,
    /// The stamp of the queue pair's entry when the request was checked.
    pub stamp: Bits<32>,
    /// Operation of the BTH.
    pub operation: Bits<5>,
    /// Sequence number.
    pub psn: Bits<24>,
    /// The packet has an AETH.
    pub has_aeth: Bit,
    /// Syndrome of the AETH; valid with `has_aeth`.
    pub syndrome: Bits<8>,
    /// Messages completed so far, modulo 2^24, for the AETH; valid with `has_aeth`.
    pub msn: Bits<24>,
    /// Bytes that are being read, 0 to 4,096. An atomic that comes again has none, though its answer has 8.
    pub bytes: Bits<13>,
    /// The atomic makes no read: its value is the one that the atomic in slot `from` leaves.
    pub handed: Bit,
    /// Slot of the atomic whose value is handed on; valid with `handed`.
    pub from: Bits<SLOT>,
}

/// Reports that a reply that waited has left.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Left {
    /// The reply's queue pair.
    pub qp: Bits<QP>,
    /// The number of the reply among those of its queue pair.
    pub number: Bits<NUMBER>,
}

/// Reports that a NAK took the place of an answer: no further answer of the queue pair with this stamp leaves.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Broken {
    /// The queue pair.
    pub qp: Bits<QP>,
    /// The stamp of the queue pair's entry when the request was checked.
    pub stamp: Bits<32>,
}

/// Answers READs and atomics. See the [module](self).
#[derive(LogicBlock, BlockDefault)]
pub struct Replies {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Words that the host writes into tables.
    pub cfg: Flow<In, ConfigWrite>,
    /// Words that the host writes into the described regions of keys.
    pub key_word: Flow<In, KeyWord>,
    /// Replies from `answers`.
    pub reply: Stream<In, Answer>,
    /// Acknowledgements that wait for no READ or atomic.
    pub acknowledgement: Stream<Out, Acknowledgement>,
    /// Packets of answers to READs and atomics, and acknowledgements that waited behind them.
    pub response: Stream<Out, Response>,
    /// Reads of host memory.
    pub read: Stream<Out, HostReadRequest>,
    /// Bytes that the reads bring, in their order.
    pub beat: Stream<In, HostReadBeat>,
    /// Question to `atomics`: address of the first byte that is about to be read.
    pub ask_addr: Signal<Out, Bits<64>>,
    /// Question to `atomics`: bytes that are about to be read.
    pub ask_bytes: Signal<Out, Bits<13>>,
    /// Question to `atomics`: the bytes may lie anywhere in host memory.
    pub ask_all: Signal<Out, Bit>,
    /// Answer, two cycles later: an atomic that is under way has this address.
    pub same_word: Signal<In, Bit>,
    /// Answer, two cycles later: an atomic that is under way lies in a page of 4 KiB that will be read.
    pub same_page: Signal<In, Bit>,
    /// Answer, three cycles later: the atomic under way that was begun last with this address.
    pub before: Flow<In, SlotIndex>,
    /// Slot of an atomic that is begun.
    pub begun: Flow<Out, SlotIndex>,
    /// Slot of the atomic whose operands are looked up.
    pub operands_of: Signal<Out, Bits<SLOT>>,
    /// Operand of that atomic: the value that is swapped in or added.
    pub swap_or_add: Signal<In, Bits<64>>,
    /// Operand of that atomic: the value that is compared with.
    pub compare: Signal<In, Bits<64>>,
    /// Word that an atomic writes to host memory.
    pub word: Stream<Out, HostWord>,
    /// Slot of an atomic that writes nothing.
    pub given_up: Flow<Out, SlotIndex>,
    /// A READ or an atomic was answered or given up, unless it was a repetition.
    pub answered: Flow<Out, Answered>,
    /// A received frame is used up: the bytes that it wrote are in host memory.
    pub freed_valid: Signal<In, Bit>,
    /// A row of a reply page is read.
    pub page_read_enable: Signal<In, Bit>,
    /// Page and row that are read; the row is the low 6 bits.
    pub page_read_address: Signal<In, Bits<REPLY_ROW>>,
    /// The row, two cycles after it was asked for.
    pub page_read_data: Signal<Out, Bits<512>>,
    /// The page of the oldest response that has one is given back.
    pub page_free: Signal<In, Bit>,
    /// Queue pair that enters the error state.
    pub set_qp_error: Stream<Out, QueuePairIndex>,
    /// An atomic that came again was not found among those that are kept: it is ignored.
    pub count_ignored: Signal<Out, Bit>,
    /// A reply is held.
    pub busy: Signal<Out, Bit>,

    clears: Signal<Local, Bit>,
    turns: Turns,
    queue: StreamFifo<Waiting, 12, 13>,
    fetcher: Fetcher,
    plans: StreamFifo<Plan, 6, 7>,
    described: Described,
    collector: Collector,
    #[init(Ram::new(RamStyle::Ultra))]
    pages: Ram<512, 1, REPLY_ROW>,
    row: DFF<Bits<512>>,
}

impl Logic for Replies {
    #[hdl_gen]
    fn update(&mut self) {
        self.clears.next = self.cfg.valid.val() && (self.cfg.table.val() == EVERY_TABLE);
        self.turns.clear_valid.next = self.clears.val();
        self.turns.clear_qp.next = self.cfg.index.val().get_bits::<QP>(0);
        self.collector.clear_valid.next = self.clears.val();
        self.collector.clear_qp.next = self.cfg.index.val().get_bits::<QP>(0);
        self.cfg.join(&mut self.fetcher.cfg);

        self.reply.join(&mut self.turns.reply);
        self.turns.acknowledgement.join(&mut self.acknowledgement);
        self.turns.waiting.join(&mut self.queue.input);
        self.queue.output.join(&mut self.fetcher.waiting);
        self.fetcher.freed_valid.next = self.freed_valid.val();
        self.cfg.join(&mut self.described.cfg);
        self.key_word.join(&mut self.described.word);
        self.fetcher.read.join(&mut self.described.read);
        self.described.fetch.join(&mut self.read);
        self.fetcher.plan.join(&mut self.plans.input);
        self.plans.output.join(&mut self.collector.plan);
        self.beat.join(&mut self.described.beat);
        self.described.out.join(&mut self.collector.beat);
        self.collector.response.join(&mut self.response);
        self.collector.set_qp_error.join(&mut self.set_qp_error);
        self.collector.left.join(&mut self.turns.left);
        self.collector.broken.join(&mut self.turns.broken);
        self.collector.broken.join(&mut self.fetcher.broken);
        self.fetcher.page_back.next = self.collector.page_unused.val();
        self.fetcher.page_free.next = self.page_free.val();

        self.ask_addr.next = self.fetcher.ask_addr.val();
        self.ask_bytes.next = self.fetcher.ask_bytes.val();
        self.ask_all.next = self.fetcher.ask_all.val();
        self.fetcher.same_word.next = self.same_word.val();
        self.fetcher.same_page.next = self.same_page.val();
        self.before.join(&mut self.fetcher.before);
        self.fetcher.begun.join(&mut self.begun);
        self.operands_of.next = self.collector.operands_of.val();
        self.collector.swap_or_add.next = self.swap_or_add.val();
        self.collector.compare.next = self.compare.val();
        self.collector.word.join(&mut self.word);
        self.collector.given_up.join(&mut self.given_up);
        self.collector.answered.join(&mut self.answered);
        self.count_ignored.next = self.collector.count_ignored.val();

        self.pages.write_lanes.next = 0.into();
        if self.collector.write_valid.val() {
            self.pages.write_lanes.next = 1.into();
        }
        self.pages.write_address.next = self.collector.write_row.val();
        self.pages.write_data.next = self.collector.write_data.val();
        self.pages.read_enable.next = self.page_read_enable.val();
        self.pages.read_address.next = self.page_read_address.val();
        self.row.d.next = self.pages.read_data.val();
        self.page_read_data.next = self.row.q.val();

        self.busy.next = self.turns.busy.val()
            || self.fetcher.waiting.valid.val()
            || self.fetcher.busy.val()
            || self.collector.plan.valid.val();
    }
}
