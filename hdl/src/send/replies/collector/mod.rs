//! Collects bytes that were read from host memory into packets, and executes atomics.

mod kernel;

use super::described::ReplyBeat;
use super::{Broken, Left, Plan, Response};
use crate::context::{QP, QueuePairIndex, Table};
use crate::primitive::header::AtomicAckEthHeader;
use crate::primitive::{Flatten, Lutram, Ram, RamStyle, Restore};
use crate::receive::record::{Answered, KEPT, RESOURCE, SLOT, SlotIndex};
use crate::send::{REPLY_PAGE, REPLY_ROW};
use crate::shell::host_write::HostWord;
use drdma_abi::roce::{operation, syndrome};
use drdma_emit::prelude::*;

const ACKNOWLEDGE: u64 = operation::ACKNOWLEDGE as u64;
const NAK_ACCESS: u64 = syndrome::NAK_REMOTE_ACCESS as u64;
const NAK_OPERATION: u64 = syndrome::NAK_REMOTE_OPERATION as u64;
/// Bits of a stamp and a flag that says whether there is one.
const BROKEN: usize = 33;
/// Bits of a place among the original values that are kept: queue pair, and the number of the READ or atomic modulo 16.
const PLACE: usize = QP + LAST;
const LAST: usize = 4;
/// Bits of a [`Keepsake`].
const KEEPSAKE: usize = 1 + 1 + 24 + 64;
/// Bits of a word of an UltraRAM; the bits of a keepsake that do not fit take two lanes of 9 in another.
const ULTRA: usize = 72;
const REST: usize = KEEPSAKE - ULTRA;
const LANES: usize = ULTRA / 9;
/// Bits of the number of a word that holds these further bits of four keepsakes.
const REST_PLACE: usize = PLACE - 2;
const _: () = assert!(4 * REST == ULTRA);
/// Bits of the value that an atomic has left, and a flag that says whether there is one.
const VALUE: usize = 65;
/// Bytes of the payload of an atomic's answer.
const ORIGINAL: u64 = 8;

/// Record of a READ or an atomic that was answered, in case it comes again.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Keepsake {
    /// The entry is of an atomic that was executed; otherwise of a READ, or of an atomic that was given up.
    pub atomic: Bit,
    /// The atomic was a compare and swap; otherwise a fetch and add.
    pub swaps: Bit,
    /// Sequence number of the atomic.
    pub psn: Bits<24>,
    /// The 8 bytes before the atomic changed them.
    pub original: Bits<64>,
}

/// Steps in which the current packet is handled.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum CollectorState {
    /// Waits for a plan, and looks its queue pair up.
    Look,
    /// Chooses the next step, now that the state of the queue pair is known.
    Decide,
    /// Takes the packet's bytes from the host's memory.
    Beats,
    /// Takes an atomic's value from another atomic instead, which has left it.
    Hand,
    /// Computes the atomic's new value.
    Change,
    /// Writes the new value to host memory, and keeps the original one.
    Store,
    /// Reads the next of the kept originals, for an atomic that comes again.
    Seek,
    /// Compares the original that was read with the atomic.
    Found,
    /// Offers the packet, or a NAK in its place.
    Offer,
    /// Puts the queue pair into the error state.
    Break,
}

/// Puts what was read from host memory into pages, and offers each packet to the packetizer when it is whole.
///
/// Contract: a packet takes as many cycles as it has beats of 64 B, and 3 more; pages are used in turns. A packet is
/// offered in the cycle after its last beat; the answer to an atomic 3 cycles later, once `word` was taken. A NAK takes
/// the place of what could not be read or may not be read; what follows with the same queue pair and stamp is dropped.
/// An atomic that comes again is searched for among those that are kept, the last one first, in 2 cycles each.
///
/// # Inputs
/// `clk`, `rst`; streams `plan`, `beat`; `swap_or_add`, `compare`: the operands of the atomic in slot `operands_of`;
/// `clear_valid`, `clear_qp`: clears a table entry, in a cycle without any other input.
///
/// # Outputs
/// Streams `response`, `set_qp_error`, and `word` (what an atomic writes); `given_up`: an atomic that writes nothing;
/// `write_valid`, `write_row`, `write_data`: a beat for a page; `page_unused`: the page of the current packet is free
/// again; `left`: a reply is complete or dropped; `answered`: likewise, for a READ or an atomic that was new; `broken`:
/// a NAK was taken.
#[derive(LogicBlock, BlockDefault)]
pub struct Collector {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// The entry `clear_qp` of all tables is cleared.
    pub clear_valid: Signal<In, Bit>,
    /// Queue pair of the entry that is cleared.
    pub clear_qp: Signal<In, Bits<QP>>,
    /// Packets, in the order in which they leave.
    pub plan: Stream<In, Plan>,
    /// Bytes of the packets, as the host's memory brings them.
    pub beat: Stream<In, ReplyBeat>,
    /// Packets that are complete, for the packetizer.
    pub response: Stream<Out, Response>,
    /// A row of a page is written.
    pub write_valid: Signal<Out, Bit>,
    /// Page and row that are written; the row is the low 6 bits.
    pub write_row: Signal<Out, Bits<REPLY_ROW>>,
    /// The 64 bytes that are written.
    pub write_data: Signal<Out, Bits<512>>,
    /// Slot of the current atomic, whose operands are looked up.
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
    /// An atomic that came again was not found among those that are kept: it is ignored.
    pub count_ignored: Signal<Out, Bit>,
    /// The page that was taken for the current packet is not needed.
    pub page_unused: Signal<Out, Bit>,
    /// A reply has left, or was dropped.
    pub left: Flow<Out, Left>,
    /// A queue pair whose READ or atomic got a NAK.
    pub broken: Flow<Out, Broken>,
    /// Queue pair that enters the error state.
    pub set_qp_error: Stream<Out, QueuePairIndex>,

    /// Of each queue pair: the stamp of the entry with which a NAK left.
    stamps: Table<BROKEN, QP>,
    state: DFF<CollectorState>,
    dead: Signal<Local, Bit>,
    drops: DFF<Bit>,
    /// A NAK takes the packet's place; with `unread`, because the memory could not be read.
    refuses: DFF<Bit>,
    unread: DFF<Bit>,
    page: DFF<Bits<REPLY_PAGE>>,
    row: DFF<Bits<6>>,
    paged: Signal<Local, Bit>,
    /// A beat is taken in this cycle.
    comes: Signal<Local, Bit>,
    last: Signal<Local, Bit>,

    // Atomics.
    /// The packet is of an atomic that is executed, unless a check fails.
    executes: Signal<Local, Bit>,
    original: DFF<Bits<64>>,
    changed: DFF<Bits<64>>,
    /// The current atomic changes its 8 bytes.
    writes: DFF<Bit>,
    stored: Signal<Local, Bit>,
    /// Of each slot: the value that its atomic leaves in host memory.
    values: Lutram<VALUE, SLOT, 1>,
    handed: Signal<Local, Bits<64>>,
    is_known: Signal<Local, Bit>,
    /// The current atomic is stored, and its slot belongs to this block no longer.
    written: DFF<Bit>,
    answer: AtomicAckEthHeader,
    #[init(Ram::new(RamStyle::Ultra))]
    keepsakes: Ram<ULTRA, 1, PLACE>,
    /// The bits of the keepsakes beyond the width of an UltraRAM, of four in a word.
    #[init(Ram::new(RamStyle::Ultra))]
    rests: Ram<ULTRA, LANES, REST_PLACE>,
    keepsake: Flatten<Keepsake, KEEPSAKE>,
    read_rest: DFF<Bits<2>>,
    rest: Signal<Local, Bits<REST>>,
    write_place: Signal<Local, Bits<PLACE>>,
    read_place: Signal<Local, Bits<PLACE>>,
    /// A record is written in this cycle; its place, and the record.
    keeps: DFF<Bit>,
    kept_place: DFF<Bits<PLACE>>,
    kept_bits: DFF<Bits<KEEPSAKE>>,
    known: Restore<Keepsake, KEEPSAKE>,
    /// How many of the kept originals were looked at, and the number of the next one.
    looked: DFF<Bits<KEPT>>,
    number: DFF<Bits<RESOURCE>>,
    unused_number: Signal<Local, Bits<RESOURCE>>,
    is_it: Signal<Local, Bit>,
    none: Signal<Local, Bit>,
    taken: Signal<Local, Bit>,
    done: Signal<Local, Bit>,
}
