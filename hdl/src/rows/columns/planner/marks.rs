//! Collects which rows of a chunk are needed.

use crate::primitive::Lutram;
use drdma_emit::prelude::*;

/// Keeps the marks of two chunks for [`Runs`](super::runs::Runs): one is being marked while boxes are made of the
/// other.
///
/// Takes one mark a cycle; the marks of a chunk from all turns are OR-ed. `full` rises two cycles after the chunk's
/// last mark was taken. Reads are combinational; words for which no mark came read as 0.
#[derive(LogicBlock, Default)]
pub struct Marks {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// A mark is offered.
    pub mark_valid: Signal<In, Bit>,
    /// The mark is taken in this cycle.
    pub mark_ready: Signal<Out, Bit>,
    /// Needed rows of 512, one bit each.
    pub mark_bits: Signal<In, Bits<512>>,
    /// Number of the mark in its chunk, 0 to 7.
    pub mark_word: Signal<In, Bits<3>>,
    /// For each 64 rows: number of blocks before them that are not in the window (8 x 12 bits).
    pub mark_shift: Signal<In, Bits<96>>,
    /// The mark is the first one of its chunk.
    pub mark_chunk_start: Signal<In, Bit>,
    /// The mark is the last one of its chunk.
    pub mark_chunk_end: Signal<In, Bit>,
    /// Bit `h` is set if half `h` has a whole chunk.
    pub full: Signal<Out, Bits<2>>,
    /// Bit `h`: half `h` is not needed any more.
    pub forget: Signal<In, Bits<2>>,
    /// 64 rows to read: half (1 bit), then their number in the chunk (6 bits).
    pub read_address: Signal<In, Bits<7>>,
    /// Marks of these 64 rows.
    pub read_bits: Signal<Out, Bits<64>>,
    /// Number of blocks before these 64 rows that are not in the window.
    pub read_shift: Signal<Out, Bits<12>>,

    side: DFF<Bit>,
    filled: DFF<Bits<2>>,
    /// Words that have marks of their chunk.
    written: DFF<Bits<16>>,
    held_valid: DFF<Bit>,
    held_bits: DFF<Bits<512>>,
    held_shift: DFF<Bits<96>>,
    held_address: DFF<Bits<4>>,
    held_start: DFF<Bit>,
    held_end: DFF<Bit>,
    kept: Signal<Local, Bits<16>>,
    half: Signal<Local, Bits<2>>,
    old: Signal<Local, Bits<512>>,
    store: Lutram<512, 4, 2>,
    shifts: Lutram<96, 4, 1>,
}

impl Logic for Marks {
    #[hdl_gen]
    fn update(&mut self) {
        self.mark_ready.next = !self.filled.q.val().get_bit(0);
        if self.side.q.val() {
            self.mark_ready.next = !self.filled.q.val().get_bit(1);
        }
        self.held_valid.d.next = self.mark_valid.val() && self.mark_ready.val();
        if self.mark_valid.val() && self.mark_ready.val() {
            self.held_bits.d.next = self.mark_bits.val();
            self.held_shift.d.next = self.mark_shift.val();
            self.held_address.d.next = bit_cast::<4, 3>(self.mark_word.val())
                | (bit_cast::<4, 1>(self.side.q.val().into()) << 3);
            self.held_start.d.next = self.mark_chunk_start.val();
            self.held_end.d.next = self.mark_chunk_end.val();
            self.side.d.next = self.side.q.val() ^ self.mark_chunk_end.val();
        }

        // Marks of earlier turns of the chunk stay.
        self.half.next = 1.into();
        self.kept.next = self.written.q.val();
        if self.held_address.q.val().get_bit(3) {
            self.half.next = 2.into();
            if self.held_start.q.val() {
                self.kept.next = self.written.q.val() & 0x00ff;
            }
        } else {
            if self.held_start.q.val() {
                self.kept.next = self.written.q.val() & 0xff00;
            }
        }
        self.old.next = 0.into();
        if self.kept.val().get_bit(self.held_address.q.val().index()) {
            self.old.next = self.store.read_data[0].val();
        }
        self.filled.d.next = self.filled.q.val() & !self.forget.val();
        if self.held_valid.q.val() {
            self.written.d.next =
                self.kept.val().replace_bit(self.held_address.q.val().index(), true);
            if self.held_end.q.val() {
                self.filled.d.next = (self.filled.q.val() & !self.forget.val()) | self.half.val();
            }
        }
        self.full.next = self.filled.q.val();

        self.store.write_enable.next = self.held_valid.q.val();
        self.store.write_address.next = self.held_address.q.val();
        self.store.write_data.next = self.old.val() | self.held_bits.q.val();
        self.store.read_address[0].next = self.held_address.q.val();
        self.store.read_address[1].next = self.read_address.val().get_bits::<4>(3);
        self.read_bits.next = 0.into();
        if self.written.q.val().get_bit(self.read_address.val().get_bits::<4>(3).index()) {
            self.read_bits.next = self.store.read_data[1]
                .val()
                .get_bits::<64>(self.read_address.val().get_bits::<3>(0).index() * 64);
        }

        self.shifts.write_enable.next = self.held_valid.q.val();
        self.shifts.write_address.next = self.held_address.q.val();
        self.shifts.write_data.next = self.held_shift.q.val();
        self.shifts.read_address[0].next = self.read_address.val().get_bits::<4>(3);
        self.read_shift.next = self.shifts.read_data[0]
            .val()
            .get_bits::<12>(self.read_address.val().get_bits::<3>(0).index() * 12);

        if self.rst.val() {
            self.side.d.next = false;
            self.filled.d.next = 0.into();
            self.written.d.next = 0.into();
            self.held_valid.d.next = false;
        }
    }
}
