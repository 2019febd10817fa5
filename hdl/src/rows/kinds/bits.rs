//! Keeps lines of columns of bits, and picks one bit of each column in a cycle.
//!
//! Stands in the [`Lines`](super::lines::Lines). Rows are looked at in blocks of 512. A line of a column has the bits
//! of 512 rows, too, but begins at another row in each column: so a block has bits of two lines, of which the second
//! one is the first one of the next block. Four lines are kept for every column of four regions, and serve all
//! destinations with these columns: while rows of a block are picked, the second line of the next block comes. The
//! lines of the next request's first two regions come to the places that the current request does not use.
//!
//! Contract: `put` stores a line, in 1 to 4 cycles; nothing else may be asked for while `busy`. A row's bits are at the
//! output two cycles after `row` and `half`.

use super::record::Line;
use crate::primitive::{Flatten, Lutram, Pack, Restore};
use drdma_emit::prelude::*;

/// Columns of a region.
const LANES: usize = 16;
/// Bits of a word, in which lines are stored.
const WORD: usize = 128;
/// [`WORD`] as a shift amount.
const WORD_SHIFT: u64 = WORD as u64;

/// A part of a line.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
struct Word {
    /// Bits of rows, the first one lowest.
    data: Bits<WORD>,
    /// The line could not be read.
    error: Bit,
}

/// Bits of a [`Word`].
const WORD_BITS: usize = <Word as Synth>::BITS;

/// Lines of bits; see the [module](self).
///
/// # Inputs
/// `clk`, `rst`; `put` with `line`, `lane`, `half`, `skip`, `offset`, `words`; `half` and `row` of the row to pick.
///
/// # Outputs
/// `busy`; `bits` and `errors`, two cycles after `row`.
#[derive(LogicBlock, BlockDefault)]
pub struct BitLines {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// A line is stored.
    pub put: Signal<In, Bit>,
    /// The line, from the first byte that was read of it on.
    pub line: Signal<In, Line>,
    /// Lane of the column.
    pub lane: Signal<In, Bits<4>>,
    /// Place of the line, or of the row's lines: the lower bits of the region's number, then those of the line's.
    pub half: Signal<In, Bits<4>>,
    /// Bytes of the line before those that were read.
    pub skip: Signal<In, Bits<6>>,
    /// Bits before that of row 0, in its line.
    pub offset: Signal<In, Bits<9>>,
    /// Number of words that were read, less 1.
    pub words: Signal<In, Bits<2>>,
    /// Lower bits of the row's number.
    pub row: Signal<In, Bits<11>>,
    /// A line is being stored.
    pub busy: Signal<Out, Bit>,
    /// A bit of each lane.
    pub bits: Signal<Out, Bits<LANES>>,
    /// For each lane: its bit could not be read.
    pub errors: Signal<Out, Bits<LANES>>,

    // A line is stored.
    writes: DFF<Bit>,
    held: DFF<Line>,
    held_lane: DFF<Bits<4>>,
    held_half: DFF<Bits<4>>,
    at: DFF<Bits<2>>,
    left: DFF<Bits<2>>,
    word_new: Signal<Local, Word>,
    word_in: Flatten<Word, WORD_BITS>,
    store: [Lutram<WORD_BITS, 6, 1>; LANES],
    offsets: [Lutram<9, 2, 1>; LANES],
    skips: [Lutram<6, 4, 1>; LANES],

    // Bits are picked: a row's place in four lines, in what was read of one of them, and the bit there.
    slot: DFF<Bits<2>>,
    place: [DFF<Bits<11>>; LANES],
    half_now: [Signal<Local, Bits<4>>; LANES],
    inside: [Signal<Local, Bits<9>>; LANES],
    address: [DFF<Bits<6>>; LANES],
    index: [DFF<Bits<7>>; LANES],
    words_out: [Restore<Word, WORD_BITS>; LANES],
    bits_pack: Pack<LANES, 1, LANES>,
    errors_pack: Pack<LANES, 1, LANES>,
}

impl Logic for BitLines {
    #[hdl_gen]
    fn update(&mut self) {
        self.busy.next = self.writes.q.val() && self.left.q.val().any();
        self.word_new.next.data = self.held.q.val().data.get_bits::<WORD>(0);
        self.word_new.next.error = self.held.q.val().error;
        self.word_in.record.next = self.word_new.val();
        for k in 0..LANES {
            self.store[k].write_enable.next =
                self.writes.q.val() && (self.held_lane.q.val() == k.to_bits());
            self.store[k].write_address.next =
                (bit_cast::<6, 4>(self.held_half.q.val()) << 2) | bit_cast::<6, 2>(self.at.q.val());
            self.store[k].write_data.next = self.word_in.bits.val();
            // Stored in time for a row that is picked in the next cycle.
            self.offsets[k].write_enable.next = self.put.val() && (self.lane.val() == k.to_bits());
            self.offsets[k].write_address.next = self.half.val().get_bits::<2>(2);
            self.offsets[k].write_data.next = self.offset.val();
            self.skips[k].write_enable.next = self.put.val() && (self.lane.val() == k.to_bits());
            self.skips[k].write_address.next = self.half.val();
            self.skips[k].write_data.next = self.skip.val();
        }
        if self.put.val() {
            self.writes.d.next = true;
            self.held.d.next = self.line.val();
            self.held_lane.d.next = self.lane.val();
            self.held_half.d.next = self.half.val();
            self.at.d.next = 0.into();
            self.left.d.next = self.words.val();
        } else {
            self.writes.d.next = self.busy.val();
            self.held.d.next.data = self.held.q.val().data >> WORD_SHIFT;
            self.held.d.next.error = self.held.q.val().error;
            self.at.d.next = self.at.q.val() + 1;
            self.left.d.next = self.left.q.val() - 1;
        }

        self.slot.d.next = self.half.val().get_bits::<2>(2);
        for k in 0..LANES {
            self.offsets[k].read_address[0].next = self.half.val().get_bits::<2>(2);
            self.place[k].d.next =
                self.row.val() + bit_cast::<11, 9>(self.offsets[k].read_data[0].val());
            self.half_now[k].next = (bit_cast::<4, 2>(self.slot.q.val()) << 2)
                | bit_cast::<4, 2>(self.place[k].q.val().get_bits::<2>(9));
            self.skips[k].read_address[0].next = self.half_now[k].val();
            self.inside[k].next = self.place[k].q.val().get_bits::<9>(0)
                - (bit_cast::<9, 6>(self.skips[k].read_data[0].val()) << 3);
            self.address[k].d.next = (bit_cast::<6, 4>(self.half_now[k].val()) << 2)
                | bit_cast::<6, 2>(self.inside[k].val().get_bits::<2>(7));
            self.index[k].d.next = self.inside[k].val().get_bits::<7>(0);
            self.store[k].read_address[0].next = self.address[k].q.val();
            self.words_out[k].bits.next = self.store[k].read_data[0].val();
            self.bits_pack.parts[k].next = bit_cast::<1, 1>(
                self.words_out[k].record.val().data.get_bit(self.index[k].q.val().index()).into(),
            );
            self.errors_pack.parts[k].next =
                bit_cast::<1, 1>(self.words_out[k].record.val().error.into());
        }
        self.bits.next = self.bits_pack.whole.val();
        self.errors.next = self.errors_pack.whole.val();
        if self.rst.val() {
            self.writes.d.next = false;
        }
    }
}
