//! Provides payload from the frame store, 64 bytes from any byte on.
//!
//! Contract: stretches are fetched in their order, ahead of their use, up to 16 words of 64 B. `enough` says that the
//! next 64 bytes are there, or as many as the stretch still has. `take` advances by `bytes` (1 to 64); the 64 bytes
//! from the old position on are at `payload` 3 cycles with `flows` later, that of `take` included. `over` comes with
//! the last `take` of a stretch. Bytes behind the stretch's end mean nothing.

use crate::primitive::{Lutram, StreamFifo};
use crate::receive::record::{STORE, STORE_WORD};
use drdma_emit::prelude::*;

/// Bits of the number of a word that was fetched, which wraps.
const COUNT: usize = 8;
/// Words that are held.
const HELD: u64 = 16;

/// Consecutive bytes of the frame store, which may go on at its beginning.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Stretch {
    /// Byte address of the first one.
    pub ram: Bits<STORE>,
    /// Number of bytes, at least 1.
    pub bytes: Bits<13>,
}

/// Place of a stretch among the words that were fetched.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Fetched {
    /// Byte of its first word with which the stretch begins.
    pub offset: Bits<6>,
    /// Words of the stretch.
    pub words: Bits<7>,
}

/// Provides payload. See the [module](self).
#[derive(LogicBlock, BlockDefault)]
pub struct Window {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Stretches to fetch, in order.
    pub stretch: Stream<In, Stretch>,

    /// A word of the frame store is wanted.
    pub read: Signal<Out, Bit>,
    /// Number of that word.
    pub word: Signal<Out, Bits<STORE_WORD>>,
    /// The word is read in this cycle.
    pub granted: Signal<In, Bit>,
    /// The word, two cycles after it was read.
    pub data: Signal<In, Bits<512>>,

    /// There are 64 bytes, or all that the stretch still has.
    pub enough: Signal<Out, Bit>,
    /// Bytes are taken.
    pub take: Signal<In, Bit>,
    /// With `take`: number of bytes.
    pub bytes: Signal<In, Bits<7>>,
    /// With `take`: the bytes are the stretch's last ones.
    pub over: Signal<In, Bit>,
    /// The stages behind `take` advance.
    pub flows: Signal<In, Bit>,
    /// The 64 bytes from where `take` began, 3 cycles with `flows` later.
    pub payload: Signal<Out, Bits<512>>,

    // Fetching.
    next_word: DFF<Bits<STORE_WORD>>,
    left: DFF<Bits<7>>,
    issued: DFF<Bits<COUNT>>,
    coming: [DFF<Bit>; 2],
    arrived: DFF<Bits<COUNT>>,
    spans: StreamFifo<Fetched, 1, 2>,
    ending: Signal<Local, Bits<14>>,
    unused_ending: Signal<Local, Bits<14>>,
    held: Signal<Local, Bits<COUNT>>,
    words: [Lutram<512, 4, 1>; 2],

    // The stretch in use, between words `head` and `stop`.
    open: DFF<Bit>,
    offset: DFF<Bits<6>>,
    head: DFF<Bits<COUNT>>,
    stop: DFF<Bits<COUNT>>,
    ready_words: Signal<Local, Bits<COUNT>>,
    further: Signal<Local, Bits<7>>,
    loads: Signal<Local, Bit>,
    behind: Signal<Local, Bits<4>>,

    // Two words, shifted in steps that become smaller.
    low: DFF<Bits<512>>,
    high: DFF<Bits<512>>,
    shift: DFF<Bits<6>>,
    both: Signal<Local, Bits<1024>>,
    sixteens: Signal<Local, Bits<632>>,
    fours: DFF<Bits<536>>,
    ones: DFF<Bits<2>>,
    out: DFF<Bits<512>>,
}

impl Logic for Window {
    #[hdl_gen]
    fn update(&mut self) {
        // A stretch comes.
        self.ending.next = bit_cast::<14, 6>(self.stretch.ram.val().get_bits::<6>(0))
            + bit_cast::<14, 13>(self.stretch.bytes.val())
            + 63;
        self.unused_ending.next = self.ending.val();
        self.stretch.ready.next = !self.left.q.val().any() && self.spans.input.ready.val();
        self.spans.input.valid.next = self.stretch.valid.val() && !self.left.q.val().any();
        self.spans.input.data.next.offset = self.stretch.ram.val().get_bits::<6>(0);
        self.spans.input.data.next.words = self.ending.val().get_bits::<7>(6);
        if self.stretch.valid.val() && self.stretch.ready.val() {
            self.next_word.d.next = self.stretch.ram.val().get_bits::<STORE_WORD>(6);
            self.left.d.next = self.ending.val().get_bits::<7>(6);
        }

        // The stretch's words are read while there is room.
        self.held.next = self.issued.q.val() - self.head.q.val();
        self.read.next = self.left.q.val().any() && (self.held.val() < HELD);
        self.word.next = self.next_word.q.val();
        self.coming[0].d.next = self.read.val() && self.granted.val();
        self.coming[1].d.next = self.coming[0].q.val();
        if self.read.val() && self.granted.val() {
            self.next_word.d.next = self.next_word.q.val() + 1;
            self.left.d.next = self.left.q.val() - 1;
            self.issued.d.next = self.issued.q.val() + 1;
        }
        if self.coming[1].q.val() {
            self.arrived.d.next = self.arrived.q.val() + 1;
        }
        for k in 0..2 {
            self.words[k].write_enable.next = self.coming[1].q.val();
            self.words[k].write_address.next = self.arrived.q.val().get_bits::<4>(0);
            self.words[k].write_data.next = self.data.val();
        }

        // The stretch that is in use.
        self.ready_words.next = self.arrived.q.val() - self.head.q.val();
        self.enough.next = self.open.q.val()
            && ((self.ready_words.val() >= 2) || (self.arrived.q.val() == self.stop.q.val()));
        self.further.next = bit_cast::<7, 6>(self.offset.q.val()) + self.bytes.val();
        if self.take.val() {
            self.offset.d.next = self.further.val().get_bits::<6>(0);
            if self.further.val().get_bit(6) {
                self.head.d.next = self.head.q.val() + 1;
            }
        }
        self.loads.next = !self.open.q.val() || (self.take.val() && self.over.val());
        self.spans.output.ready.next = self.loads.val();
        if self.loads.val() {
            self.open.d.next = self.spans.output.valid.val();
            self.offset.d.next = self.spans.output.data.val().offset;
            self.head.d.next = self.stop.q.val();
            if self.spans.output.valid.val() {
                self.stop.d.next =
                    self.stop.q.val() + bit_cast::<COUNT, 7>(self.spans.output.data.val().words);
            }
        }

        // Two words, of which the bytes from `offset` on are taken.
        self.words[0].read_address[0].next = self.head.q.val().get_bits::<4>(0);
        self.behind.next = self.head.q.val().get_bits::<4>(0) + 1;
        self.words[1].read_address[0].next = self.behind.val();
        self.both.next = bit_cast::<1024, 512>(self.low.q.val())
            | (bit_cast::<1024, 512>(self.high.q.val()) << 512);
        self.sixteens.next =
            self.both.val().get_bits::<632>(self.shift.q.val().get_bits::<2>(4).index() * 128);
        if self.flows.val() {
            self.low.d.next = self.words[0].read_data[0].val();
            self.high.d.next = self.words[1].read_data[0].val();
            self.shift.d.next = self.offset.q.val();
            self.fours.d.next = self
                .sixteens
                .val()
                .get_bits::<536>(self.shift.q.val().get_bits::<2>(2).index() * 32);
            self.ones.d.next = self.shift.q.val().get_bits::<2>(0);
            self.out.d.next = self.fours.q.val().get_bits::<512>(self.ones.q.val().index() * 8);
        }
        self.payload.next = self.out.q.val();

        if self.rst.val() {
            self.left.d.next = 0.into();
            self.issued.d.next = 0.into();
            self.arrived.d.next = 0.into();
            self.head.d.next = 0.into();
            self.stop.d.next = 0.into();
            self.open.d.next = false;
            self.coming[0].d.next = false;
            self.coming[1].d.next = false;
        }
    }
}
