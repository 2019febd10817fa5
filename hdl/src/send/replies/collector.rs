//! Collects bytes that were read from host memory into packets, and executes atomics.

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
/// offered in the cycle after its last beat; the answer
/// to an atomic 3 cycles later, once `word` was taken. A NAK takes the place of what could not be read or may not be
/// read; what
/// follows with the same queue pair and stamp is dropped. An atomic that comes again is searched for among those that
/// are kept, the last one first, in 2 cycles each.
///
/// # Inputs
/// `clk`, `rst`; streams `plan`, `beat`; `swap_or_add`, `compare`: the operands of the atomic in slot `operands_of`;
/// `clear_valid`, `clear_qp`: clears a table
/// entry, in a cycle without any other input.
///
/// # Outputs
/// Streams `response`, `set_qp_error`, and `word` (what an atomic writes); `given_up`: an atomic that writes nothing;
/// `write_valid`, `write_row`, `write_data`: a beat for a page;
/// `page_unused`: the page of the current packet is free again; `left`: a reply is complete or dropped; `answered`:
/// likewise, for a READ
/// or an atomic that was new; `broken`: a NAK was taken.
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
    keeps: Signal<Local, Bit>,
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

impl Logic for Collector {
    #[hdl_gen]
    fn update(&mut self) {
        self.stamps.ahead.next = self.plan.qp.val();
        self.dead.next = self.stamps.read_data.val().get_bit(32)
            && (self.stamps.read_data.val().get_bits::<32>(0) == self.plan.stamp.val());

        // Bytes of READs and atomics.
        self.beat.ready.next = self.state.q.val() == CollectorState::Beats;
        self.comes.next = self.beat.ready.val() && self.beat.valid.val();
        self.write_row.next = (bit_cast::<REPLY_ROW, REPLY_PAGE>(self.page.q.val()) << 6)
            | bit_cast::<REPLY_ROW, 6>(self.row.q.val());
        self.last.next = self.comes.val() && self.beat.last.val();
        self.none.next = (self.state.q.val() == CollectorState::Seek)
            && ((self.looked.q.val() == self.plan.kept.val()) || self.drops.q.val());
        self.count_ignored.next = self.none.val() && !self.drops.q.val();
        self.handed.next = self.values.read_data[0].val().get_bits::<64>(0);
        self.is_known.next = self.values.read_data[0].val().get_bit(64);
        self.page_unused.next = (self.last.val() && (self.drops.q.val() || self.beat.error.val()))
            || ((self.state.q.val() == CollectorState::Hand)
                && (self.drops.q.val() || !self.is_known.val()))
            || self.none.val();

        // An atomic: the value that it leaves, and its answer.
        self.executes.next = self.plan.atomic.val() && !self.plan.again.val();
        self.operands_of.next = self.plan.slot.val();
        if self.state.q.val() == CollectorState::Beats {
            self.original.d.next = self.beat.data.val().get_bits::<64>(0);
        }
        if self.state.q.val() == CollectorState::Hand {
            self.original.d.next = self.handed.val();
        }
        if self.state.q.val() == CollectorState::Change {
            self.changed.d.next = self.original.q.val() + self.swap_or_add.val();
            self.writes.d.next = true;
            if self.plan.swaps.val() {
                self.changed.d.next = self.swap_or_add.val();
                self.writes.d.next = self.original.q.val() == self.compare.val();
            }
        }
        self.word.valid.next = (self.state.q.val() == CollectorState::Store) && self.writes.q.val();
        self.word.addr.next = self.plan.addr.val();
        self.word.data.next = self.changed.q.val();
        self.word.slot.next = self.plan.slot.val();
        self.stored.next = (self.state.q.val() == CollectorState::Store)
            && (!self.writes.q.val() || self.word.ready.val());
        // An atomic that is given up leaves the value that it has found.
        self.values.read_address[0].next = self.plan.from.val();
        self.values.write_address.next = self.plan.slot.val();
        self.values.write_enable.next = self.executes.val()
            && ((self.state.q.val() == CollectorState::Beats)
                || (self.state.q.val() == CollectorState::Hand)
                || ((self.state.q.val() == CollectorState::Store) && self.writes.q.val()));
        self.values.write_data.next =
            bit_cast::<VALUE, 64>(self.changed.q.val()) | (bits::<VALUE>(1) << 64);
        if self.state.q.val() == CollectorState::Beats {
            self.values.write_data.next =
                bit_cast::<VALUE, 64>(self.beat.data.val().get_bits::<64>(0))
                    | (bit_cast::<VALUE, 1>((!self.beat.error.val()).into()) << 64);
        }
        if self.state.q.val() == CollectorState::Hand {
            self.values.write_data.next = self.values.read_data[0].val();
        }
        self.answer.original.next = self.original.q.val();
        self.write_valid.next = self.comes.val()
            || ((self.state.q.val() == CollectorState::Offer) && self.plan.atomic.val());
        self.write_data.next = self.beat.data.val();
        if self.state.q.val() == CollectorState::Offer {
            self.write_data.next = bit_cast::<512, 64>(self.answer.sent.val());
        }

        // Records of the last READs and atomics, in case they come again.
        self.keepsake.record.next.atomic = self.stored.val();
        self.keepsake.record.next.swaps = self.plan.swaps.val();
        self.keepsake.record.next.psn = self.plan.psn.val();
        self.keepsake.record.next.original = self.original.q.val();
        self.write_place.next = (bit_cast::<PLACE, QP>(self.plan.qp.val()) << LAST as u64)
            | bit_cast::<PLACE, LAST>(self.plan.resource.val().get_bits::<LAST>(0));
        self.read_place.next = (bit_cast::<PLACE, QP>(self.plan.qp.val()) << LAST as u64)
            | bit_cast::<PLACE, LAST>(self.number.q.val().get_bits::<LAST>(0));
        self.keepsakes.write_address.next = self.write_place.val();
        self.keepsakes.write_data.next = self.keepsake.bits.val().get_bits::<ULTRA>(0);
        self.keepsakes.read_enable.next = true;
        self.keepsakes.read_address.next = self.read_place.val();
        self.rests.write_address.next = self.write_place.val().get_bits::<REST_PLACE>(2);
        self.rest.next = self.keepsake.bits.val().get_bits::<REST>(ULTRA);
        self.rests.write_data.next = bit_cast::<ULTRA, REST>(self.rest.val())
            | (bit_cast::<ULTRA, REST>(self.rest.val()) << REST as u64)
            | (bit_cast::<ULTRA, REST>(self.rest.val()) << (2 * REST) as u64)
            | (bit_cast::<ULTRA, REST>(self.rest.val()) << (3 * REST) as u64);
        self.rests.read_enable.next = true;
        self.rests.read_address.next = self.read_place.val().get_bits::<REST_PLACE>(2);
        self.read_rest.d.next = self.read_place.val().get_bits::<2>(0);
        self.unused_number.next = self.number.q.val();
        self.known.bits.next = bit_cast::<KEEPSAKE, ULTRA>(self.keepsakes.read_data.val());
        for k in 0..4 {
            if self.read_rest.q.val() == k.to_bits() {
                self.known.bits.next = bit_cast::<KEEPSAKE, ULTRA>(self.keepsakes.read_data.val())
                    | (bit_cast::<KEEPSAKE, REST>(
                        self.rests.read_data.val().get_bits::<REST>(k * REST),
                    ) << ULTRA as u64);
            }
        }
        self.is_it.next = self.known.record.val().atomic
            && (self.known.record.val().swaps == self.plan.swaps.val())
            && (self.known.record.val().psn == self.plan.psn.val());

        // The packet that is offered.
        self.paged.next =
            (self.plan.bytes.val().any() || self.plan.atomic.val()) && !self.refuses.q.val();
        self.response.valid.next = self.state.q.val() == CollectorState::Offer;
        self.response.qp.next = self.plan.qp.val();
        self.response.stamp.next = self.plan.stamp.val();
        self.response.operation.next = self.plan.operation.val();
        self.response.psn.next = self.plan.psn.val();
        self.response.has_aeth.next = self.plan.has_aeth.val() || self.refuses.q.val();
        self.response.syndrome.next = self.plan.syndrome.val();
        self.response.msn.next = self.plan.msn.val();
        self.response.bytes.next = self.plan.bytes.val();
        if self.plan.atomic.val() {
            self.response.bytes.next = ORIGINAL.into();
        }
        self.response.paged.next = self.paged.val();
        self.response.page.next = self.page.q.val();
        if self.refuses.q.val() {
            self.response.operation.next = ACKNOWLEDGE.into();
            self.response.bytes.next = 0.into();
            self.response.syndrome.next = NAK_ACCESS.into();
            if self.unread.q.val() {
                self.response.syndrome.next = NAK_OPERATION.into();
            }
        }
        self.taken.next =
            (self.state.q.val() == CollectorState::Offer) && self.response.ready.val();
        self.broken.valid.next = self.taken.val() && self.refuses.q.val();
        self.broken.qp.next = self.plan.qp.val();
        self.broken.stamp.next = self.plan.stamp.val();
        self.stamps.write_enable.next = self.clear_valid.val() || self.broken.valid.val();
        self.stamps.write_address.next = self.plan.qp.val();
        self.stamps.write_data.next =
            bit_cast::<BROKEN, 32>(self.plan.stamp.val()) | (bits::<BROKEN>(1) << 32);
        if self.clear_valid.val() {
            self.stamps.write_address.next = self.clear_qp.val();
            self.stamps.write_data.next = 0.into();
        }
        self.set_qp_error.valid.next = self.state.q.val() == CollectorState::Break;
        self.set_qp_error.qp.next = self.plan.qp.val();

        self.done.next = false;
        match self.state.q.val() {
            CollectorState::Look => {
                self.row.d.next = 0.into();
                self.unread.d.next = false;
                self.looked.d.next = 0.into();
                self.number.d.next = self.plan.resource.val();
                self.refuses.d.next = self.plan.refused.val();
                if self.plan.valid.val() {
                    self.state.d.next = CollectorState::Decide;
                }
            }
            CollectorState::Decide => {
                self.drops.d.next = self.dead.val();
                if self.plan.drops.val() {
                    self.done.next = true;
                } else if self.plan.handed.val() {
                    self.state.d.next = CollectorState::Hand;
                } else if self.plan.bytes.val().any() {
                    self.state.d.next = CollectorState::Beats;
                } else if self.plan.atomic.val() && self.plan.again.val() {
                    self.state.d.next = CollectorState::Seek;
                } else if self.dead.val() {
                    self.done.next = true;
                } else {
                    self.state.d.next = CollectorState::Offer;
                }
            }
            CollectorState::Beats => {
                if self.comes.val() {
                    self.row.d.next = self.row.q.val() + 1;
                }
                if self.last.val() {
                    self.refuses.d.next = self.beat.error.val();
                    self.unread.d.next = self.beat.error.val() && !self.beat.outside.val();
                    self.done.next = self.drops.q.val();
                    self.state.d.next = CollectorState::Offer;
                    if self.plan.atomic.val() && !self.beat.error.val() {
                        self.row.d.next = 0.into();
                        self.state.d.next = CollectorState::Change;
                    }
                }
            }
            CollectorState::Hand => {
                self.refuses.d.next = !self.is_known.val();
                self.unread.d.next = !self.is_known.val();
                self.done.next = self.drops.q.val();
                self.state.d.next = CollectorState::Offer;
                if self.is_known.val() {
                    self.state.d.next = CollectorState::Change;
                }
            }
            CollectorState::Change => {
                self.state.d.next = CollectorState::Store;
            }
            CollectorState::Store => {
                if self.stored.val() {
                    self.state.d.next = CollectorState::Offer;
                }
            }
            CollectorState::Seek => {
                self.done.next = self.none.val();
                self.looked.d.next = self.looked.q.val() + 1;
                self.number.d.next = self.number.q.val() - 1;
                self.state.d.next = CollectorState::Found;
            }
            CollectorState::Found => {
                self.state.d.next = CollectorState::Seek;
                if self.is_it.val() {
                    self.original.d.next = self.known.record.val().original;
                    self.state.d.next = CollectorState::Offer;
                }
            }
            CollectorState::Offer => {
                if self.taken.val() {
                    if self.refuses.q.val() {
                        self.state.d.next = CollectorState::Break;
                    } else {
                        self.done.next = true;
                        if self.paged.val() {
                            self.page.d.next = self.page.q.val() + 1;
                        }
                    }
                }
            }
            CollectorState::Break => {
                self.done.next = self.set_qp_error.ready.val();
            }
        }
        if self.done.val() {
            self.state.d.next = CollectorState::Look;
        }
        self.plan.ready.next = self.done.val();
        self.keeps.next = false;
        // A READ, or an atomic that was not executed, leaves its place empty.
        if self.stored.val()
            || (self.done.val()
                && (self.plan.reads.val() || self.plan.atomic.val())
                && !self.plan.again.val()
                && !self.written.q.val())
        {
            self.keeps.next = true;
        }
        self.keepsakes.write_lanes.next = 0.into();
        self.rests.write_lanes.next = 0.into();
        if self.keeps.val() {
            self.keepsakes.write_lanes.next = 1.into();
            self.rests.write_lanes.next = bits::<LANES>(3)
                << (bit_cast::<3, 2>(self.write_place.val().get_bits::<2>(0)) << 1);
        }
        self.left.valid.next = self.done.val()
            && (self.plan.ends.val() || (self.state.q.val() == CollectorState::Break));
        self.left.qp.next = self.plan.qp.val();
        self.left.number.next = self.plan.number.val();
        self.answered.valid.next = self.left.valid.val()
            && (self.plan.reads.val() || self.plan.atomic.val())
            && !self.plan.again.val();
        self.answered.qp.next = self.plan.qp.val();
        self.answered.resource.next = self.plan.resource.val();
        // The slot of an atomic that writes no word is given back here; that of another one is given back by the write.
        self.given_up.valid.next = self.executes.val()
            && ((self.stored.val() && !self.writes.q.val())
                || (self.done.val() && !self.written.q.val()));
        self.given_up.slot.next = self.plan.slot.val();
        if self.state.q.val() == CollectorState::Look {
            self.written.d.next = false;
        }
        if self.stored.val() {
            self.written.d.next = true;
        }
        if self.rst.val() {
            self.state.d.next = CollectorState::Look;
            self.page.d.next = 0.into();
        }
    }
}
