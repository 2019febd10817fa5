//! Plans the answers to READs, packet by packet, and to atomics.

use super::described::ReplyRead;
use super::{Broken, Plan, Waiting};
use crate::context::{ConfigWrite, QP, Stamps, TableSelect};
use crate::receive::record::{SLOT, SlotIndex};
use crate::receive::responder::keys::KEY_REGION;
use crate::receive::responder::keys::Keys;
use crate::send::REPLY_PAGE;
use drdma_abi::roce::operation;
use drdma_emit::prelude::*;

const FIRST: u64 = operation::READ_RESPONSE_FIRST as u64;
const MIDDLE: u64 = operation::READ_RESPONSE_MIDDLE as u64;
const LAST: u64 = operation::READ_RESPONSE_LAST as u64;
const ONLY: u64 = operation::READ_RESPONSE_ONLY as u64;
const ACKNOWLEDGE: u64 = operation::ACKNOWLEDGE as u64;
const ATOMIC: u64 = operation::ATOMIC_ACKNOWLEDGE as u64;
/// Cycles from a question about atomics (`ask_*`) to its answer.
const ASKED: u64 = 2;
/// Number of pages, and bits of a count of pages.
const PAGES: u64 = 1 << REPLY_PAGE;
const COUNT: usize = REPLY_PAGE + 1;

/// Steps in which the current reply is handled.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum FetcherState {
    /// Waits for a reply.
    Empty,
    /// Looks its queue pair's stamp up, and counts the first packet's bytes.
    Look,
    /// Waits until all that came before the reply is in memory, while the key of the first packet is looked up.
    Hold,
    /// Counts the bytes of the next packet.
    Cut,
    /// Looks the packet's key up: first cycle.
    Key,
    /// Looks the packet's key up: second cycle.
    Range,
    /// Looks the packet's key up: third cycle.
    End,
    /// Takes the answer to the look-up.
    Answer,
    /// Offers the packet's plan and its read.
    Plan,
}

/// Plans the packets of replies, and asks for what they hold to be read from host memory.
///
/// Contract: an acknowledgement takes 3 cycles, a READ 7 for its first packet and 6 for each further one, an atomic 7;
/// longer while there is no page, while an atomic
/// is under way where the packet reads, and while read or plan are not accepted. Read and plan of a packet are taken in
/// the same cycle. An atomic does
/// not wait for another one that `before` names, and reads nothing: its plan says whose value it gets.
///
/// # Inputs
/// `clk`, `rst`; `cfg`; stream `waiting`; `freed_valid`; `broken`: nothing more of a READ of that queue pair and stamp
/// is sent; `page_free`, `page_back`: a page
/// can be used again; `same_word`, `same_page`: the answers to `ask_*` of two cycles before; `before`: to that of three
/// cycles before.
///
/// # Outputs
/// Streams `read`, `plan`; `ask_addr`, `ask_bytes`, `ask_all`; `begun`: an atomic is begun; `busy`.
#[derive(LogicBlock, BlockDefault)]
pub struct Fetcher {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Words that the host writes into tables.
    pub cfg: Flow<In, ConfigWrite>,
    /// Replies that wait for their turn.
    pub waiting: Stream<In, Waiting>,
    /// A received frame is used up: the bytes that it wrote are in host memory.
    pub freed_valid: Signal<In, Bit>,
    /// A queue pair, with the stamp of its entry, whose READ or atomic got a NAK.
    pub broken: Flow<In, Broken>,
    /// The packetizer has sent a page.
    pub page_free: Signal<In, Bit>,
    /// A page was taken and not used.
    pub page_back: Signal<In, Bit>,
    /// Reads of host memory or of a region, one for each packet that needs one.
    pub read: Stream<Out, ReplyRead>,
    /// Plans of packets, in the order in which they leave.
    pub plan: Stream<Out, Plan>,
    /// Address of the first byte that is about to be read, as the reply names it.
    pub ask_addr: Signal<Out, Bits<64>>,
    /// Bytes that are about to be read, 0 to 4,096.
    pub ask_bytes: Signal<Out, Bits<13>>,
    /// The read is of a described key: its bytes may lie anywhere in host memory.
    pub ask_all: Signal<Out, Bit>,
    /// An atomic that is under way has the address that was asked about two cycles before.
    pub same_word: Signal<In, Bit>,
    /// An atomic that is under way lies in a page of 4 KiB that was asked about two cycles before.
    pub same_page: Signal<In, Bit>,
    /// The atomic under way that was begun last with the address that was asked about three cycles before.
    pub before: Flow<In, SlotIndex>,
    /// Slot of an atomic that is begun.
    pub begun: Flow<Out, SlotIndex>,
    /// A reply is being handled.
    pub busy: Signal<Out, Bit>,

    keys: Keys,
    select: TableSelect,
    stamps: Stamps<32, QP, 1>,
    state: DFF<FetcherState>,
    held: DFF<Waiting>,
    at: Signal<Local, Waiting>,
    unused_at: Signal<Local, Waiting>,
    /// Received frames that are used up, since the reset, modulo 2^32.
    freed: DFF<Bits<32>>,
    ahead: Signal<Local, Bits<32>>,
    unused_ahead: Signal<Local, Bits<31>>,
    /// All frames that came before the reply are in memory.
    opens: DFF<Bit>,
    /// Pages that are free.
    pages: DFF<Bits<COUNT>>,
    has_page: DFF<Bit>,
    came_back: DFF<Bit>,
    // The current packet: its address and bytes, and the bytes of the READ from there on.
    addr: DFF<Bits<64>>,
    left: DFF<Bits<32>>,
    psn: DFF<Bits<24>>,
    bytes: DFF<Bits<13>>,
    first: DFF<Bit>,
    last: DFF<Bit>,
    allowed: DFF<Bit>,
    /// The packet's key is a described one, of `region`.
    described: DFF<Bit>,
    region: DFF<Bits<KEY_REGION>>,
    /// For how many cycles `ask_all` was asked: 0 to [`ASKED`].
    asked: DFF<Bits<2>>,
    /// No further packet of the current READ or atomic is to be sent.
    stale: DFF<Bit>,
    mtu: Signal<Local, Bits<13>>,
    /// The bytes of the packet that begins at `addr`, and whether it is the READ's last one.
    cut_bytes: Signal<Local, Bits<13>>,
    cut_last: Signal<Local, Bit>,
    /// The packet has bytes to read; it needs a page, for these or for an atomic's kept answer.
    reads: Signal<Local, Bit>,
    paged: Signal<Local, Bit>,
    /// The packet waits for an atomic that is under way.
    waits: Signal<Local, Bit>,
    drops: Signal<Local, Bit>,
    /// The packet is offered: decisions about it stay.
    decided: DFF<Bit>,
    /// The current atomic gets its value from another one, in slot `from`; both stay while it is on offer.
    hands: Signal<Local, Bit>,
    from: Signal<Local, Bits<SLOT>>,
    handed: DFF<Bit>,
    handed_from: DFF<Bits<SLOT>>,
    takes_page: Signal<Local, Bit>,
    refused: Signal<Local, Bit>,
    goes: Signal<Local, Bit>,
    unused: Signal<Local, Bit>,
}

impl Logic for Fetcher {
    #[hdl_gen]
    fn update(&mut self) {
        self.at.next = self.held.q.val();
        self.unused_at.next = self.at.val();
        if self.freed_valid.val() {
            self.freed.d.next = self.freed.q.val() + 1;
        }
        self.ahead.next = self.freed.q.val() - self.at.val().earlier;
        self.unused_ahead.next = self.ahead.val().get_bits::<31>(0);
        self.opens.d.next = !self.ahead.val().get_bit(31);

        // Free pages.
        self.has_page.d.next = self.pages.q.val().any();
        self.came_back.d.next = self.page_back.val();
        if self.page_free.val() && self.came_back.q.val() {
            self.pages.d.next = self.pages.q.val() + 2;
        } else if self.page_free.val() || self.came_back.q.val() {
            self.pages.d.next = self.pages.q.val() + 1;
        }

        // The packet's key, and whether the queue pair's entry is still the one of the reply.
        self.cfg.join(&mut self.keys.cfg);
        self.keys.key.next = self.at.val().rkey;
        self.keys.pd.next = self.at.val().pd;
        self.keys.addr.next = self.addr.q.val();
        self.keys.bytes.next = bit_cast::<64, 13>(self.bytes.q.val());
        self.keys.revoke_valid.next = false;
        self.keys.revoke_index.next = 0.into();
        self.allowed.d.next = self.keys.readable.val();
        if self.at.val().atomic {
            self.allowed.d.next = self.keys.changeable.val();
        }
        self.described.d.next = self.keys.described.val();
        self.region.d.next = self.keys.region.val();
        self.unused.next = self.keys.revoke_ready.val()
            || self.keys.writable.val()
            || self.keys.revocable.val()
            || self.keys.covers.val()
            || self.keys.fillable.val();
        self.select.valid.next = self.cfg.valid.val();
        self.select.number.next = self.cfg.table.val();
        self.select.word.next = self.cfg.word.val();
        self.stamps.written.next = self.select.queue_pair.val();
        self.stamps.index.next = self.cfg.index.val().get_bits::<QP>(0);
        self.stamps.ahead[0].next = self.at.val().qp;
        if (self.stamps.stamp[0].val() != self.at.val().stamp)
            || (self.broken.valid.val()
                && (self.broken.qp.val() == self.at.val().qp)
                && (self.broken.stamp.val() == self.at.val().stamp))
        {
            self.stale.d.next = true;
        }

        // Bytes of the packet.
        self.mtu.next = bit_cast::<13, 1>(1.into()) << self.at.val().log_mtu;
        self.cut_last.next = self.left.q.val() <= bit_cast::<32, 13>(self.mtu.val());
        self.cut_bytes.next = self.mtu.val();
        if self.cut_last.val() {
            self.cut_bytes.next = self.left.q.val().get_bits::<13>(0);
        }
        self.ask_addr.next = self.addr.q.val();
        self.ask_bytes.next = self.bytes.q.val();
        // The addresses of the bytes of a described region are not known here.
        self.ask_all.next = self.described.q.val();
        self.asked.d.next = 0.into();
        if self.state.q.val() == FetcherState::Plan {
            self.asked.d.next = self.asked.q.val();
            if self.asked.q.val() != ASKED {
                self.asked.d.next = self.asked.q.val() + 1;
            }
        }
        // Once offered, a packet is not withdrawn.
        self.drops.next = self.stale.q.val()
            && (self.at.val().reads || self.at.val().atomic)
            && !self.decided.q.val();
        self.reads.next = (self.at.val().reads || self.at.val().atomic)
            && self.bytes.q.val().any()
            && !self.drops.val();
        self.refused.next = self.reads.val() && !self.allowed.q.val() && !self.decided.q.val();
        self.paged.next = (self.reads.val() && !self.refused.val())
            || (self.at.val().atomic && self.at.val().again && !self.drops.val());
        self.hands.next = self.at.val().atomic && self.before.valid.val();
        self.from.next = self.before.slot.val();
        if self.decided.q.val() {
            self.hands.next = self.handed.q.val();
            self.from.next = self.handed_from.q.val();
        }
        self.handed.d.next = self.hands.val();
        self.handed_from.d.next = self.from.val();
        self.waits.next = self.reads.val()
            && ((self.described.q.val() && (self.asked.q.val() != ASKED))
                || (self.at.val().atomic && self.same_word.val() && !self.hands.val())
                || (self.at.val().reads && self.same_page.val()));
        self.plan.drops.next = self.drops.val();
        self.plan.reads.next = self.at.val().reads;
        self.plan.atomic.next = self.at.val().atomic;
        self.plan.again.next = self.at.val().again;
        self.plan.swaps.next = self.at.val().swaps;
        self.plan.slot.next = self.at.val().slot;
        self.plan.resource.next = self.at.val().resource;
        self.plan.kept.next = self.at.val().kept;
        self.plan.addr.next = self.addr.q.val();
        self.plan.number.next = self.at.val().number;
        self.plan.ends.next = self.last.q.val() || self.refused.val() || self.drops.val();
        self.plan.refused.next = self.refused.val();
        self.plan.qp.next = self.at.val().qp;
        self.plan.stamp.next = self.at.val().stamp;
        self.plan.psn.next = self.psn.q.val();
        self.plan.syndrome.next = self.at.val().syndrome;
        self.plan.msn.next = self.at.val().msn;
        self.plan.bytes.next = 0.into();
        if self.reads.val() && !self.refused.val() {
            self.plan.bytes.next = self.bytes.q.val();
        }
        self.plan.handed.next = self.reads.val() && !self.refused.val() && self.hands.val();
        self.plan.from.next = self.from.val();
        self.plan.has_aeth.next = self.first.q.val() || self.last.q.val();
        self.plan.operation.next = ACKNOWLEDGE.into();
        if self.at.val().reads {
            self.plan.operation.next = MIDDLE.into();
            if self.first.q.val() && self.last.q.val() {
                self.plan.operation.next = ONLY.into();
            } else if self.first.q.val() {
                self.plan.operation.next = FIRST.into();
            } else if self.last.q.val() {
                self.plan.operation.next = LAST.into();
            }
        } else if self.at.val().atomic {
            self.plan.operation.next = ATOMIC.into();
        }
        self.goes.next = (self.state.q.val() == FetcherState::Plan)
            && (!self.paged.val() || (self.has_page.q.val() && !self.waits.val()));
        self.plan.valid.next = self.goes.val()
            && (!self.reads.val()
                || self.refused.val()
                || self.hands.val()
                || self.read.ready.val());
        self.read.valid.next = self.goes.val()
            && self.reads.val()
            && !self.refused.val()
            && !self.hands.val()
            && self.plan.ready.val();
        self.begun.valid.next = self.plan.valid.val()
            && self.plan.ready.val()
            && self.reads.val()
            && !self.refused.val()
            && self.at.val().atomic;
        self.begun.slot.next = self.at.val().slot;
        self.decided.d.next = self.goes.val()
            && self.reads.val()
            && !self.refused.val()
            && !(self.plan.valid.val() && self.plan.ready.val());
        self.takes_page.next = self.plan.valid.val() && self.plan.ready.val() && self.paged.val();
        self.read.addr.next = self.addr.q.val();
        self.read.bytes.next = self.bytes.q.val();
        self.read.described.next = self.described.q.val();
        self.read.region.next = self.region.q.val();
        self.read.pd.next = self.at.val().pd;
        self.read.first.next = self.first.q.val();

        self.waiting.ready.next = self.state.q.val() == FetcherState::Empty;
        self.busy.next = self.state.q.val() != FetcherState::Empty;
        match self.state.q.val() {
            FetcherState::Empty => {
                self.held.d.next = self.waiting.val();
                self.addr.d.next = self.waiting.addr.val();
                self.left.d.next = self.waiting.len.val();
                self.psn.d.next = self.waiting.psn.val();
                self.first.d.next = true;
                self.last.d.next = true;
                self.bytes.d.next = 0.into();
                if self.waiting.valid.val() {
                    self.state.d.next = FetcherState::Look;
                }
            }
            FetcherState::Look => {
                // The stamp of `held`'s queue pair comes in the next cycle.
                self.stale.d.next = false;
                if self.at.val().reads || (self.at.val().atomic && !self.at.val().again) {
                    self.last.d.next = self.cut_last.val();
                    self.bytes.d.next = self.cut_bytes.val();
                    self.state.d.next = FetcherState::Hold;
                } else {
                    self.state.d.next = FetcherState::Plan;
                }
            }
            FetcherState::Hold => {
                if self.opens.q.val() {
                    self.state.d.next = FetcherState::Range;
                }
            }
            FetcherState::Cut => {
                self.last.d.next = self.cut_last.val();
                self.bytes.d.next = self.cut_bytes.val();
                self.state.d.next = FetcherState::Key;
            }
            FetcherState::Key => {
                self.state.d.next = FetcherState::Range;
            }
            FetcherState::Range => {
                self.state.d.next = FetcherState::End;
            }
            FetcherState::End => {
                self.state.d.next = FetcherState::Answer;
            }
            FetcherState::Answer => {
                // The key's answer comes in this cycle, and is in `allowed` from the next one on.
                self.state.d.next = FetcherState::Plan;
            }
            FetcherState::Plan => {
                if self.plan.valid.val() && self.plan.ready.val() {
                    self.addr.d.next = self.addr.q.val() + bit_cast::<64, 13>(self.bytes.q.val());
                    self.left.d.next = self.left.q.val() - bit_cast::<32, 13>(self.bytes.q.val());
                    self.psn.d.next = self.psn.q.val() + 1;
                    self.first.d.next = false;
                    self.state.d.next = FetcherState::Cut;
                    if self.plan.ends.val() {
                        self.state.d.next = FetcherState::Empty;
                    }
                }
            }
        }
        if self.takes_page.val() {
            if self.page_free.val() && self.came_back.q.val() {
                self.pages.d.next = self.pages.q.val() + 1;
            } else if !self.page_free.val() && !self.came_back.q.val() {
                self.pages.d.next = self.pages.q.val() - 1;
            } else {
                self.pages.d.next = self.pages.q.val();
            }
            // Whether there is another page is known a cycle later.
            self.has_page.d.next = false;
        }
        if self.rst.val() {
            self.state.d.next = FetcherState::Empty;
            self.decided.d.next = false;
            self.pages.d.next = PAGES.into();
            self.has_page.d.next = false;
            self.came_back.d.next = false;
            self.freed.d.next = 0.into();
        }
    }
}
