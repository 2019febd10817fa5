//! Turns the rows of a packet into runs of columns.
//!
//! Stands beside the receive queues' scatter. Packed rows that go to a region of dense columns (each value follows the
//! one of the row before) would take a DMA write for each value. This block reads the payload from the frame store and
//! writes it into the memory of columns, in which the values of a column follow each other; so a packet takes a DMA
//! write for each column.
//!
//! ```text
//! column --> pieces --16 pieces a cycle--> shift --> lanes, crossbar, column memory --> host_write
//!              \--stretch--> window --64 B--/                                         (its reads)
//!                  frame store --^
//! ```
//!
//! A value is cut into pieces of up to 4 bytes. In a cycle 16 consecutive pieces go to the memory's 128 banks of a
//! byte: 64 bytes if all values have a multiple of 4 bytes, 48 if they have 3, 16 if they have one. Pieces that would
//! meet in a bank take turns; up to 8 wait in each of 16 lanes. Columns should begin `128 / n` banks from each other,
//! so that columns of equal widths never meet.
//!
//! Contract: a job is the columns of a row, in their order: at most 16, of at most 64 B. Its payload is any part of
//! consecutive rows, at most 4,096 B. `done` comes when all of it is in the memory, in the order of jobs; then it may
//! be read, until its places are used again. Jobs are prepared while the ones before them are carried out: a job takes
//! about 6 cycles more than its payload, and at least one cycle for each column and for each 16 pieces of another one.

use crate::primitive::Pack;
use crate::receive::record::{PLACE, STORE, STORE_WORD};
use crate::transpose::{BYTES, LANES, PIECES, PieceBanks};
use drdma_emit::prelude::*;

mod pieces;
pub mod runs;
#[cfg(test)]
mod tests;
mod window;
pub mod writer;

use pieces::{Beat, Pieces};
use window::Window;

/// Bits of an offset in 64 bytes.
const FROM: usize = 6;
/// Pieces whose bytes are cut out of the payload together, and the number of such groups.
const GROUP: usize = 4;
const GROUPS: usize = PIECES / GROUP;
/// Bits that a group may reach, counted from the word in which it begins: its 16 bytes, and 3 before them.
const REACH: usize = (GROUP * LANES + 3) * 8;
/// Bits that this reach is chosen from, of 4, 8 or 16 words in which the group may begin.
const CHOICE_OF_4: usize = REACH + 3 * 32;
const CHOICE_OF_8: usize = REACH + 7 * 32;
const CHOICE_OF_16: usize = REACH + 15 * 32;
/// Bits of the payload, with zeros up to where the last group might reach.
const WINDOW: usize = 96 + CHOICE_OF_16;
/// Pieces that may begin before byte 3, and so have bytes that are not payload: each piece has at least a byte.
const SKIPPERS: usize = 3;

/// A column of a job. The fields of the job are the same in all of its columns.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Column {
    /// Bytes of a value of the column, 1 to 64.
    pub width: Bits<7>,
    /// Place in the memory of columns of the value in the row in which the payload begins, whether or not the payload
    /// has it.
    pub place: Bits<PLACE>,
    /// The column is the last one of the row.
    pub last: Bit,
    /// Of the job: byte address of its first piece in the frame store.
    pub ram: Bits<STORE>,
    /// Of the job: bytes of that piece that are not payload.
    pub skip: Bits<2>,
    /// Of the job: bytes of payload, with these.
    pub bytes: Bits<13>,
    /// Of the job: number of that piece in its row.
    pub piece: Bits<8>,
}

/// Transposes packets. See the [module](self).
#[derive(LogicBlock, BlockDefault)]
pub struct Transposer {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Columns of jobs.
    pub column: Stream<In, Column>,
    /// A job's payload is in the memory of columns; jobs end in order.
    pub done: Signal<Out, Bit>,

    // The frame store.
    /// A word of the frame store is wanted.
    pub store_read: Signal<Out, Bit>,
    /// Number of that word.
    pub store_word: Signal<Out, Bits<STORE_WORD>>,
    /// The word is read in this cycle.
    pub store_granted: Signal<In, Bit>,
    /// The word, two cycles after it was read.
    pub store_data: Signal<In, Bits<512>>,

    // The memory of columns.
    /// Segments of 64 B of the memory of columns that are read, a bit each.
    pub read_enable: Signal<In, Bits<2>>,
    /// Rows that are read, 7 bits for each segment.
    pub read_row: Signal<In, Bits<14>>,
    /// The rows, 512 bits for each segment, two cycles after they were asked for.
    pub read_data: Signal<Out, Bits<1024>>,

    pieces: Pieces,
    window: Window,

    // Counts by which the payload's bytes are found in the pieces.
    left: DFF<Bits<13>>,
    skip: DFF<Bits<2>>,
    fires: Signal<Local, Bit>,
    ends: Signal<Local, Bit>,
    limit: Signal<Local, Bits<7>>,
    /// Bytes from a piece's first one to the end of the payload; bit 7: the payload ends before the piece.
    rooms: [Signal<Local, Bits<8>>; PIECES],
    offsets: [Signal<Local, Bits<4>>; SKIPPERS * LANES],
    lens: [Signal<Local, Bits<3>>; PIECES],
    counts: [Signal<Local, Bit>; BYTES],
    masks_in: Pack<BYTES, 1, 64>,

    // Three stages beside those of the window.
    valid: [DFF<Bit>; 3],
    over: [DFF<Bit>; 3],
    beats: [DFF<Beat>; 3],
    masks: [DFF<Bits<64>>; 3],
    padded: Signal<Local, Bits<WINDOW>>,

    // The bytes of each piece: first those around a group, then the words around a piece, then its own.
    words_1: Signal<Local, Bits<2>>,
    words_2: Signal<Local, Bits<3>>,
    words_3: Signal<Local, Bits<4>>,
    around: [Signal<Local, Bits<REACH>>; GROUPS],
    piece_word: [Signal<Local, Bits<2>>; PIECES],
    near: [Signal<Local, Bits<56>>; PIECES],
    cut_valid: DFF<Bit>,
    cut_over: DFF<Bit>,
    cut_mask: DFF<Bits<64>>,
    cut: [DFF<Bits<32>>; PIECES],
    cut_places: [DFF<Bits<PLACE>>; PIECES],

    // Each byte in its lane.
    nth: [Signal<Local, Bits<2>>; BYTES],
    bytes_in: Pack<BYTES, 8, 512>,
    goes_in: Pack<BYTES, 1, 64>,
    places_in: Pack<PIECES, PLACE, 224>,
    flows: Signal<Local, Bit>,
    banks: PieceBanks,
}

impl Logic for Transposer {
    #[hdl_gen]
    fn update(&mut self) {
        self.column.join(&mut self.pieces.column);
        self.pieces.stretch.join(&mut self.window.stretch);
        self.store_read.next = self.window.read.val();
        self.store_word.next = self.window.word.val();
        self.window.granted.next = self.store_granted.val();
        self.window.data.next = self.store_data.val();

        // Pieces and their payload are brought together.
        self.flows.next = self.banks.flows.val();
        self.fires.next = self.pieces.valid.val() && self.window.enough.val() && self.flows.val();
        self.pieces.flows.next = self.fires.val();
        self.limit.next = 64.into();
        if self.left.q.val() < 64 {
            self.limit.next = self.left.q.val().get_bits::<7>(0);
        }
        self.ends.next = self.fires.val()
            && (self.left.q.val() <= bit_cast::<13, 7>(self.pieces.beat.val().bytes));
        self.pieces.ends.next = self.ends.val();
        self.window.take.next = self.fires.val();
        self.window.bytes.next = self.pieces.beat.val().bytes;
        self.window.over.next = self.ends.val();
        self.window.flows.next = self.flows.val();
        if self.fires.val() {
            self.left.d.next = self.left.q.val() - bit_cast::<13, 7>(self.pieces.beat.val().bytes);
        }
        if self.pieces.begins.val() {
            self.left.d.next = self.pieces.bytes.val();
            self.skip.d.next = self.pieces.skip.val();
        }
        for s in 0..PIECES {
            self.lens[s].next =
                bit_cast::<3, 2>(self.pieces.beat.val().lens.get_bits::<2>(s * 2)) + 1;
            self.rooms[s].next = bit_cast::<8, 7>(self.limit.val())
                - bit_cast::<8, 6>(self.pieces.beat.val().from.get_bits::<6>(s * FROM));
            for i in 0..LANES {
                self.counts[s * LANES + i].next = !self.rooms[s].val().get_bit(7)
                    && (self.rooms[s].val().get_bits::<7>(0) > i.to_bits())
                    && (self.lens[s].val() > i.to_bits());
            }
        }
        for s in 0..SKIPPERS {
            for i in 0..LANES {
                self.offsets[s * LANES + i].next =
                    self.pieces.beat.val().from.get_bits::<4>(s * FROM);
                self.offsets[s * LANES + i].next =
                    self.offsets[s * LANES + i].val() + bit_cast::<4, 2>(i.to_bits());
                if self.pieces.beat.val().first
                    && (self.offsets[s * LANES + i].val() < bit_cast::<4, 2>(self.skip.q.val()))
                {
                    self.counts[s * LANES + i].next = false;
                }
            }
        }
        for k in 0..BYTES {
            self.masks_in.parts[k].next = self.counts[k].val().into();
        }
        if self.flows.val() {
            self.valid[0].d.next = self.fires.val();
            self.over[0].d.next = self.ends.val();
            self.beats[0].d.next = self.pieces.beat.val();
            self.masks[0].d.next = self.masks_in.whole.val();
            for k in 1..3 {
                self.valid[k].d.next = self.valid[k - 1].q.val();
                self.over[k].d.next = self.over[k - 1].q.val();
                self.beats[k].d.next = self.beats[k - 1].q.val();
                self.masks[k].d.next = self.masks[k - 1].q.val();
            }
        }

        // The bytes of each piece. Each piece has 1 to 4, so group `g` begins in one of the words `g` to `4 g`.
        self.padded.next = bit_cast::<WINDOW, 512>(self.window.payload.val());
        self.words_1.next = self.beats[2].q.val().from.get_bits::<2>(GROUP * FROM + 2) - 1;
        self.words_2.next = self.beats[2].q.val().from.get_bits::<3>(2 * GROUP * FROM + 2) - 2;
        self.words_3.next = self.beats[2].q.val().from.get_bits::<4>(3 * GROUP * FROM + 2) - 3;
        self.around[0].next = self.padded.val().get_bits::<REACH>(0);
        self.around[1].next = self
            .padded
            .val()
            .get_bits::<CHOICE_OF_4>(32)
            .get_bits::<REACH>(self.words_1.val().index() * 32);
        self.around[2].next = self
            .padded
            .val()
            .get_bits::<CHOICE_OF_8>(64)
            .get_bits::<REACH>(self.words_2.val().index() * 32);
        self.around[3].next = self
            .padded
            .val()
            .get_bits::<CHOICE_OF_16>(96)
            .get_bits::<REACH>(self.words_3.val().index() * 32);
        for g in 0..GROUPS {
            for k in 0..GROUP {
                self.piece_word[g * GROUP + k].next =
                    self.beats[2].q.val().from.get_bits::<2>((g * GROUP + k) * FROM + 2)
                        - self.beats[2].q.val().from.get_bits::<2>(g * GROUP * FROM + 2);
                self.near[g * GROUP + k].next = self.around[g]
                    .val()
                    .get_bits::<56>(self.piece_word[g * GROUP + k].val().index() * 32);
            }
        }
        if self.flows.val() {
            self.cut_valid.d.next = self.valid[2].q.val();
            self.cut_over.d.next = self.over[2].q.val();
            self.cut_mask.d.next = self.masks[2].q.val();
            for s in 0..PIECES {
                self.cut[s].d.next = self.near[s]
                    .val()
                    .get_bits::<32>(self.beats[2].q.val().from.get_bits::<2>(s * FROM).index() * 8);
                self.cut_places[s].d.next =
                    self.beats[2].q.val().places.get_bits::<PLACE>(s * PLACE);
            }
        }

        // The byte of each lane, and where it goes.
        for s in 0..PIECES {
            self.places_in.parts[s].next = self.cut_places[s].q.val();
            for l in 0..LANES {
                self.nth[s * LANES + l].next = l.to_bits();
                self.nth[s * LANES + l].next =
                    self.nth[s * LANES + l].val() - self.cut_places[s].q.val().get_bits::<2>(0);
                self.bytes_in.parts[s * LANES + l].next =
                    self.cut[s].q.val().get_bits::<8>(self.nth[s * LANES + l].val().index() * 8);
                self.goes_in.parts[s * LANES + l].next = self
                    .cut_mask
                    .q
                    .val()
                    .get_bits::<LANES>(s * LANES)
                    .get_bits::<1>(self.nth[s * LANES + l].val().index());
            }
        }

        // Pieces that would meet in a bank take turns.
        self.banks.valid.next = self.cut_valid.q.val();
        self.banks.over.next = self.cut_over.q.val();
        self.banks.bytes.next = self.bytes_in.whole.val();
        self.banks.masks.next = self.goes_in.whole.val();
        self.banks.places.next = self.places_in.whole.val();
        self.done.next = self.banks.done.val();

        self.banks.read_enable.next = self.read_enable.val();
        self.banks.read_row.next = self.read_row.val();
        self.read_data.next = self.banks.read_data.val();

        if self.rst.val() {
            self.cut_valid.d.next = false;
            for k in 0..3 {
                self.valid[k].d.next = false;
            }
        }
    }
}
