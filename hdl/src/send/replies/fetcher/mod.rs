//! Plans the answers to READs, packet by packet, and to atomics.

mod kernel;

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
/// longer while there is no page, while an atomic is under way where the packet reads, and while read or plan are not
/// accepted. Read and plan of a packet are taken in the same cycle. An atomic does not wait for another one that
/// `before` names, and reads nothing: its plan says whose value it gets.
///
/// # Inputs
/// `clk`, `rst`; `cfg`; stream `waiting`; `freed_valid`; `broken`: nothing more of a READ of that queue pair and stamp
/// is sent; `page_free`, `page_back`: a page can be used again; `same_word`, `same_page`: the answers to `ask_*` of two
/// cycles before; `before`: to that of three cycles before.
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
