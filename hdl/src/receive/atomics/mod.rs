//! Keeps account of the atomics that are under way, and holds back the writes that wait for them (docs/semantics.md,
//! "Receiving").
//!
//! An atomic is a read of host memory, and a write a microsecond later. Nothing else that the card writes may come
//! between, and nothing that came behind the atomic may be written before it. So every atomic has a slot from when the
//! responder accepts it until its write is in host memory, and its address is kept here. What the card writes for peers
//! passes this block in the order in which it came, the atomics' own frames among it: a write behind an atomic waits if
//! it touches the same page of 4 KiB. `send/replies` asks about the slots that it has begun to execute: an atomic waits
//! for one of the same address, a READ for one in a page that it touches. If the last one that was begun has exactly
//! the address of an atomic, its slot is given as an answer: its value is handed on, and the atomic waits for nothing.
//!
//! ```text
//! responder --operands--> slots <--ask, begun---- replies --write--> host_write
//! receives --order----> [waits] --order--> host_write --ended--> slots
//! ```
//!
//! Nothing waits for ever: a write waits only for atomics that came before it, and these wait for nothing that came
//! behind them.
//!
//! A value may be handed on because nothing can be written between the two atomics: what came before the second one has
//! passed when it is begun, while the first one was under way, and what came behind it waits for it.
//!
//! Pages are compared by 24 bits of their number: accesses a multiple of 64 GiB apart may wait without need.
//!
//! Contract: 32 slots. A slot is free again 2 cycles after `ended` or `given_up`, and `slot` is offered 3 cycles after
//! it was used. An order every 2 cycles; it is at the output a cycle later if it waits for nothing. `order.ready` comes
//! from a register. `ask_*` is answered 2 cycles later, by `before` 3 cycles later.

use crate::primitive::Lutram;
use crate::receive::record::{Operands, SLOT, SlotIndex, WriteOrder};
use drdma_emit::prelude::*;

#[cfg(test)]
mod tests;

/// Number of slots.
const SLOTS: usize = 1 << SLOT;
/// Bits of the number of a page, and of the number of a word of 8 B in its page.
const NUMBER: usize = 24;
const WORD: usize = 9;
/// Bits of the number of a byte in its page, and of the low part of an address, of which page numbers are made.
const OFFSET: usize = 12;
const NEAR: usize = OFFSET + NUMBER;
/// Bits of an address above that part.
const FAR: usize = 64 - NEAR;
/// Bits of both operands.
const BOTH: usize = 128;

/// Keeps account of atomics. See the [module](self).
#[derive(LogicBlock, BlockDefault)]
pub struct Atomics {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset of the shell or of the host.
    pub rst: Signal<In, Bit>,

    // ------------------------------------------------------------------ responder
    /// There is a free slot.
    pub has_slot: Signal<Out, Bit>,
    /// Number of the free slot; valid with `has_slot`.
    pub slot: Signal<Out, Bits<SLOT>>,
    /// An atomic is accepted, and takes the free slot; only with `has_slot`.
    pub accepted: Flow<In, Operands>,

    // ------------------------------------------------------------------ writes
    /// Orders to write for peers, with the frames of atomics among them, in their order.
    pub order: Stream<In, WriteOrder>,
    /// Orders of `order`, when they may be written.
    pub passed: Stream<Out, WriteOrder>,

    // ------------------------------------------------------------------ replies
    /// Address of the first byte that is about to be read.
    pub ask_addr: Signal<In, Bits<64>>,
    /// Bytes that are about to be read, at most 4,096.
    pub ask_bytes: Signal<In, Bits<13>>,
    /// The bytes may lie anywhere in host memory.
    pub ask_all: Signal<In, Bit>,
    /// An atomic that was begun has the address of `ask_addr` two cycles before.
    pub same_word: Signal<Out, Bit>,
    /// An atomic that was begun lies in a page of the bytes that were asked about two cycles before.
    pub same_page: Signal<Out, Bit>,
    /// The atomic that was begun last of those with the address of `ask_addr` three cycles before, if that is equal in
    /// all bits.
    pub before: Flow<Out, SlotIndex>,
    /// An atomic is begun: its bytes are being read, or handed on to it. `ask_addr` has had its address for the last
    /// three cycles.
    pub begun: Flow<In, SlotIndex>,
    /// Slot of the atomic whose operands are looked up.
    pub operands_of: Signal<In, Bits<SLOT>>,
    /// Operand of that atomic: the value that is swapped in or added.
    pub swap_or_add: Signal<Out, Bits<64>>,
    /// Operand of that atomic: the value that is compared with.
    pub compare: Signal<Out, Bits<64>>,
    /// An atomic is given up, or changes nothing: its slot is free.
    pub given_up: Flow<In, SlotIndex>,

    // ------------------------------------------------------------------ host_write
    /// An atomic's write has left: its slot is free.
    pub ended: Flow<In, SlotIndex>,

    // The slots: an atomic was accepted; its frame has passed; its bytes are being read.
    taken: [DFF<Bit>; SLOTS],
    active: [DFF<Bit>; SLOTS],
    executing: [DFF<Bit>; SLOTS],
    pages: [DFF<Bits<NUMBER>>; SLOTS],
    words: [DFF<Bits<WORD>>; SLOTS],
    /// No atomic with the same word was begun later.
    latest: [DFF<Bit>; SLOTS],
    far: Lutram<FAR, SLOT, 1>,
    operands: Lutram<BOTH, SLOT, 1>,
    has: DFF<Bit>,
    free: DFF<Bits<SLOT>>,

    // The order that waits.
    full: DFF<Bit>,
    held: DFF<WriteOrder>,
    /// The order writes bytes; `first`, `last`: the pages that it touches.
    writes: DFF<Bit>,
    first: DFF<Bits<NUMBER>>,
    last: DFF<Bits<NUMBER>>,
    order_end: Signal<Local, Bits<NEAR>>,
    waits: Signal<Local, Bit>,
    leaves: Signal<Local, Bit>,

    // The question of `replies`.
    ask_end: Signal<Local, Bits<NEAR>>,
    ask_first: DFF<Bits<NUMBER>>,
    ask_last: DFF<Bits<NUMBER>>,
    ask_word: DFF<Bits<WORD>>,
    word_busy: DFF<Bit>,
    page_busy: DFF<Bit>,
    ask_any: DFF<Bit>,
    ask_far: [DFF<Bits<FAR>>; 2],
    has_latest: DFF<Bit>,
    latest_slot: DFF<Bits<SLOT>>,
    told: DFF<Bit>,
    told_slot: DFF<Bits<SLOT>>,
    comes: DFF<Bit>,
    come_slot: DFF<Bits<SLOT>>,
    come_addr: DFF<Bits<NEAR>>,
    unused_come: Signal<Local, Bits<NEAR>>,
    unused: Signal<Local, Operands>,
    unused_addr: Signal<Local, Bits<64>>,
    unused_end: Signal<Local, Bits<NEAR>>,
    unused_ask_end: Signal<Local, Bits<NEAR>>,
}

impl Logic for Atomics {
    #[hdl_gen]
    fn update(&mut self) {
        self.unused.next = self.accepted.val();
        // The atomic that is accepted is known late in its cycle.
        self.comes.d.next = self.accepted.valid.val();
        self.come_slot.d.next = self.accepted.slot.val();
        self.come_addr.d.next = self.accepted.addr.val().get_bits::<NEAR>(0);
        self.unused_addr.next = self.ask_addr.val();
        self.unused_come.next = self.come_addr.q.val();

        // Orders.
        self.order_end.next = self.order.addr.val().get_bits::<NEAR>(0)
            + bit_cast::<NEAR, 13>(self.order.bytes.val())
            - 1;
        self.unused_end.next = self.order_end.val();
        self.order.ready.next = !self.full.q.val();
        if !self.full.q.val() {
            self.full.d.next = self.order.valid.val();
            self.held.d.next = self.order.val();
            self.writes.d.next = self.order.bytes.val().any();
            self.first.d.next = self.order.addr.val().get_bits::<NUMBER>(OFFSET);
            self.last.d.next = self.order_end.val().get_bits::<NUMBER>(OFFSET);
        }
        self.waits.next = false;
        for k in 0..SLOTS {
            if self.active[k].q.val()
                && ((self.pages[k].q.val() == self.first.q.val())
                    || (self.pages[k].q.val() == self.last.q.val()))
            {
                self.waits.next = self.writes.q.val();
            }
        }
        self.passed.valid.next = self.full.q.val() && !self.waits.val();
        self.passed.next = self.held.q.val();
        self.leaves.next = self.passed.valid.val() && self.passed.ready.val();
        if self.leaves.val() {
            self.full.d.next = false;
        }

        // The bytes that are about to be read.
        self.ask_end.next = self.ask_addr.val().get_bits::<NEAR>(0)
            + bit_cast::<NEAR, 13>(self.ask_bytes.val())
            - 1;
        self.unused_ask_end.next = self.ask_end.val();
        self.ask_first.d.next = self.ask_addr.val().get_bits::<NUMBER>(OFFSET);
        self.ask_last.d.next = self.ask_end.val().get_bits::<NUMBER>(OFFSET);
        self.ask_word.d.next = self.ask_addr.val().get_bits::<WORD>(3);
        self.ask_far[0].d.next = self.ask_addr.val().get_bits::<FAR>(NEAR);
        self.ask_far[1].d.next = self.ask_far[0].q.val();
        self.word_busy.d.next = false;
        self.page_busy.d.next = false;
        self.ask_any.d.next = self.ask_all.val();
        self.has_latest.d.next = false;
        self.latest_slot.d.next = 0.into();
        for k in 0..SLOTS {
            if self.executing[k].q.val() && (self.pages[k].q.val() == self.ask_first.q.val()) {
                self.page_busy.d.next = true;
                if self.words[k].q.val() == self.ask_word.q.val() {
                    self.word_busy.d.next = true;
                    if self.latest[k].q.val() {
                        self.has_latest.d.next = true;
                        self.latest_slot.d.next = k.to_bits();
                    }
                    if self.begun.valid.val() {
                        self.latest[k].d.next = false;
                    }
                }
            }
            if self.executing[k].q.val()
                && ((self.pages[k].q.val() == self.ask_last.q.val()) || self.ask_any.q.val())
            {
                self.page_busy.d.next = true;
            }
        }
        self.same_word.next = self.word_busy.q.val();
        self.same_page.next = self.page_busy.q.val();
        self.far.read_address[0].next = self.latest_slot.q.val();
        self.told.d.next =
            self.has_latest.q.val() && (self.far.read_data[0].val() == self.ask_far[1].q.val());
        self.told_slot.d.next = self.latest_slot.q.val();
        self.before.valid.next = self.told.q.val();
        self.before.slot.next = self.told_slot.q.val();

        // Slots.
        self.has.d.next = false;
        for k in 0..SLOTS {
            if !self.taken[k].q.val() {
                self.has.d.next = true;
                self.free.d.next = k.to_bits();
            }
        }
        if self.accepted.valid.val() || self.comes.q.val() {
            self.has.d.next = false;
        }
        self.has_slot.next = self.has.q.val();
        self.slot.next = self.free.q.val();
        for k in 0..SLOTS {
            if (self.ended.valid.val() && (self.ended.slot.val() == k.to_bits()))
                || (self.given_up.valid.val() && (self.given_up.slot.val() == k.to_bits()))
            {
                self.taken[k].d.next = false;
                self.active[k].d.next = false;
                self.executing[k].d.next = false;
            }
            if self.leaves.val()
                && self.held.q.val().atomic
                && (self.held.q.val().slot == k.to_bits())
            {
                self.active[k].d.next = true;
            }
            if self.begun.valid.val() && (self.begun.slot.val() == k.to_bits()) {
                self.executing[k].d.next = true;
                self.latest[k].d.next = true;
            }
            if self.comes.q.val() && (self.come_slot.q.val() == k.to_bits()) {
                self.taken[k].d.next = true;
                self.pages[k].d.next = self.come_addr.q.val().get_bits::<NUMBER>(OFFSET);
                self.words[k].d.next = self.come_addr.q.val().get_bits::<WORD>(3);
            }
        }
        self.far.write_enable.next = self.accepted.valid.val();
        self.far.write_address.next = self.accepted.slot.val();
        self.far.write_data.next = self.accepted.addr.val().get_bits::<FAR>(NEAR);
        self.operands.write_enable.next = self.accepted.valid.val();
        self.operands.write_address.next = self.accepted.slot.val();
        self.operands.write_data.next = bit_cast::<BOTH, 64>(self.accepted.swap_or_add.val())
            | (bit_cast::<BOTH, 64>(self.accepted.compare.val()) << 64);
        self.operands.read_address[0].next = self.operands_of.val();
        self.swap_or_add.next = self.operands.read_data[0].val().get_bits::<64>(0);
        self.compare.next = self.operands.read_data[0].val().get_bits::<64>(64);

        if self.rst.val() {
            self.comes.d.next = false;
            self.full.d.next = false;
            self.has.d.next = false;
            for k in 0..SLOTS {
                self.taken[k].d.next = false;
                self.active[k].d.next = false;
                self.executing[k].d.next = false;
            }
        }
    }
}
