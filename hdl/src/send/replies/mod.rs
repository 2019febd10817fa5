//! What peers READ, their atomics, and when what is answered leaves (docs/semantics.md, "Receiving").
//!
//! Stands between [`answers`](super::answers) and the packetizer. Acknowledgements go straight on. A READ is read from
//! host memory packet by packet, and its packets are put into pages of their own, from which the packetizer reads them. An
//! atomic is a READ of 8 bytes, which are changed, written through `shell/host_write`, and kept for its repetition. What
//! comes behind a READ or an atomic of the same queue pair, acknowledgements as well, waits for it; that of other queue pairs does not,
//! but for their READs and atomics: these are begun in the order in which they came, and many are under way.
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
//! A READ begins when all frames that came before it have been used up, so that it sees what they have written. Its key is
//! looked at again with each packet. Where that does not allow it any more, or the memory is not there, a NAK
//! takes the packet's place, nothing behind it of that queue pair leaves, and the queue pair is put into error when the NAK
//! was taken. A READ or an atomic whose queue pair's entry the host has written to since is given up.
//!
//! An atomic begins when its own frame was used up, too; a READ begins when none is in
//! a page of its packet ([`atomics`](crate::receive::atomics) tells). An atomic whose address another one under way has is not read from host
//! memory: the value that the other one leaves is handed on to it. The original values of the last 16 READs and atomics of
//! each queue pair are kept; one that comes again is looked for among as many of them as the queue pair keeps.
//!
//! Contract: an atomic every 7 cycles, one that comes again in up to 36. An acknowledgement every 2 cycles, after 2. A packet of a READ takes as many cycles as it has beats of 64 B and 3,
//! at least 6, and is offered in the cycle after its last beat. 64 pages; may stall at any time. No ready
//! of an input depends on that of an output within a cycle.
//!
//! Tables are cleared by the cycles after a reset that clear all tables (`EVERY_TABLE`); nothing comes in them.

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

/// Bits of the number of a reply among those of its queue pair that have waited: more than can wait at once.
pub const NUMBER: usize = 13;

/// A packet of what a peer READs, or an acknowledgement that waited behind one.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Response {
    /// The queue pair.
    pub qp: Bits<QP>,
    /// The stamp of its entry.
    pub stamp: Bits<32>,
    /// Operation of the BTH.
    pub operation: Bits<5>,
    /// Sequence number.
    pub psn: Bits<24>,
    /// There is an AETH.
    pub has_aeth: Bit,
    /// AETH: syndrome.
    pub syndrome: Bits<8>,
    /// AETH: messages completed so far.
    pub msn: Bits<24>,
    /// Bytes of payload.
    pub bytes: Bits<13>,
    /// They are in a page.
    pub paged: Bit,
    /// Which.
    pub page: Bits<REPLY_PAGE>,
}

/// A reply that waits for its turn. Fields as in [`Answer`].
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Waiting {
    /// Its number among those of its queue pair.
    pub number: Bits<NUMBER>,
    /// See `Answer`.
    pub qp: Bits<QP>,
    /// See `Answer`.
    pub stamp: Bits<32>,
    /// See `Answer`.
    pub syndrome: Bits<8>,
    /// See `Answer`.
    pub psn: Bits<24>,
    /// See `Answer`.
    pub msn: Bits<24>,
    /// See `Answer`.
    pub reads: Bit,
    /// See `Answer`.
    pub atomic: Bit,
    /// See `Answer`.
    pub again: Bit,
    /// See `Answer`.
    pub swaps: Bit,
    /// See `Answer`.
    pub slot: Bits<SLOT>,
    /// See `Answer`.
    pub resource: Bits<RESOURCE>,
    /// See `Answer`.
    pub kept: Bits<KEPT>,
    /// See `Answer`.
    pub addr: Bits<64>,
    /// See `Answer`.
    pub rkey: Bits<32>,
    /// See `Answer`.
    pub len: Bits<32>,
    /// See `Answer`.
    pub pd: Bits<32>,
    /// See `Answer`.
    pub log_mtu: Bits<4>,
    /// See `Answer`.
    pub earlier: Bits<32>,
}

/// A packet that will leave, and whose bytes are being read if it has any.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Plan {
    /// The number of its reply.
    pub number: Bits<NUMBER>,
    /// The reply's last packet.
    pub ends: Bit,
    /// The key does not allow it.
    pub refused: Bit,
    /// The READ or atomic is given up: nothing leaves.
    pub drops: Bit,
    /// It is a packet of a READ's answer.
    pub reads: Bit,
    /// See `Answer`.
    pub atomic: Bit,
    /// See `Answer`.
    pub again: Bit,
    /// See `Answer`.
    pub swaps: Bit,
    /// See `Answer`.
    pub slot: Bits<SLOT>,
    /// See `Answer`.
    pub resource: Bits<RESOURCE>,
    /// See `Answer`.
    pub kept: Bits<KEPT>,
    /// Of an atomic: its address.
    pub addr: Bits<64>,
    /// See `Response`.
    pub qp: Bits<QP>,
    /// See `Response`.
    pub stamp: Bits<32>,
    /// See `Response`.
    pub operation: Bits<5>,
    /// See `Response`.
    pub psn: Bits<24>,
    /// See `Response`.
    pub has_aeth: Bit,
    /// See `Response`.
    pub syndrome: Bits<8>,
    /// See `Response`.
    pub msn: Bits<24>,
    /// Bytes that are being read. An atomic that comes again has none, but an answer.
    pub bytes: Bits<13>,
    /// Of an atomic: nothing is read; its value is the one that another atomic has left.
    pub handed: Bit,
    /// That one's slot.
    pub from: Bits<SLOT>,
}

/// A reply that waited has left.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Left {
    /// Its queue pair.
    pub qp: Bits<QP>,
    /// Its number.
    pub number: Bits<NUMBER>,
}

/// A queue pair could not be answered: nothing with this stamp leaves any more.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Broken {
    /// The queue pair.
    pub qp: Bits<QP>,
    /// The stamp of its entry.
    pub stamp: Bits<32>,
}

/// See the [module](self).
#[derive(LogicBlock, BlockDefault)]
pub struct Replies {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Words that the host writes into tables.
    pub cfg: Flow<In, ConfigWrite>,
    /// Words that it writes of described regions.
    pub key_word: Flow<In, KeyWord>,
    /// What is answered.
    pub reply: Stream<In, Answer>,
    /// Acknowledgements that wait for nothing.
    pub acknowledgement: Stream<Out, Acknowledgement>,
    /// What peers READ, and what waited behind it.
    pub response: Stream<Out, Response>,
    /// Reads of host memory,
    pub read: Stream<Out, HostReadRequest>,
    /// and what they bring.
    pub beat: Stream<In, HostReadBeat>,
    /// Atomics are executed: the bytes that are about to be read,
    pub ask_addr: Signal<Out, Bits<64>>,
    /// so many,
    pub ask_bytes: Signal<Out, Bits<13>>,
    /// or any,
    pub ask_all: Signal<Out, Bit>,
    /// an atomic under way has that address,
    pub same_word: Signal<In, Bit>,
    /// or is in a page of theirs.
    pub same_page: Signal<In, Bit>,
    /// The last one that was begun with that address.
    pub before: Flow<In, SlotIndex>,
    /// One is begun,
    pub begun: Flow<Out, SlotIndex>,
    /// whose operands are these:
    pub operands_of: Signal<Out, Bits<SLOT>>,
    /// what is swapped in or added,
    pub swap_or_add: Signal<In, Bits<64>>,
    /// and what is compared with.
    pub compare: Signal<In, Bits<64>>,
    /// It is written,
    pub word: Stream<Out, HostWord>,
    /// or there is nothing to write.
    pub given_up: Flow<Out, SlotIndex>,
    /// A READ or an atomic was answered, or given up.
    pub answered: Flow<Out, Answered>,
    /// A frame that came is used up: what it wrote is in memory.
    pub freed_valid: Signal<In, Bit>,
    /// A row of a page is read.
    pub page_read_enable: Signal<In, Bit>,
    /// Which: page, row 6.
    pub page_read_address: Signal<In, Bits<REPLY_ROW>>,
    /// That row, two cycles later.
    pub page_read_data: Signal<Out, Bits<512>>,
    /// The page of the oldest response that has one is given back.
    pub page_free: Signal<In, Bit>,
    /// A queue pair breaks.
    pub set_qp_error: Stream<Out, QueuePairIndex>,
    /// An atomic came again that is not kept.
    pub count_ignored: Signal<Out, Bit>,
    /// Something waits.
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
