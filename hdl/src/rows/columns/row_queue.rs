//! Holds the offsets of the rows that wait to be packed.

use crate::primitive::{Lutram, Pack};
use drdma_emit::prelude::*;

/// A ring of 256 offsets in 64 banks, for the packer: up to 64 are written a cycle, and 64 read from any place.
///
/// Rows are written in two steps: `load` rotates them to the place where the last ones ended, and `write` stores them
/// in a later cycle. They can be read in the cycle after that. A read delivers after 2 cycles. At most 192 rows may
/// wait, because a write touches 64 places whatever the number of rows.
///
/// # Inputs
/// `load`, with `load_count`, `load_offset` and `load_word`; `write`; `place`: the first row to read.
///
/// # Outputs
/// `offset`: the 64 rows from `place` on.
#[derive(LogicBlock, BlockDefault)]
pub struct RowQueue {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset: the next row gets place 0.
    pub rst: Signal<In, Bit>,
    /// Rows are taken and rotated in this cycle.
    pub load: Signal<In, Bit>,
    /// Number of rows, 0 to 64.
    pub load_count: Signal<In, Bits<7>>,
    /// Offsets of the rows from row 512 * `load_word`, 9 bits each.
    pub load_offset: Signal<In, Bits<576>>,
    /// Number of the rows' mask in its chunk, 0 to 7.
    pub load_word: Signal<In, Bits<3>>,
    /// The rows that were taken last are stored in this cycle.
    pub write: Signal<In, Bit>,
    /// Place of the first row to read.
    pub place: Signal<In, Bits<8>>,
    /// Offsets of the row at `place` and of the 63 that follow it, 12 bits each.
    pub offset: Signal<Out, Bits<768>>,

    // The place behind the last row taken; the rows taken last, rotated.
    behind: DFF<Bits<8>>,
    at: DFF<Bits<8>>,
    taken: DFF<Bits<576>>,
    taken_word: DFF<Bits<3>>,
    turned: Signal<Local, Bits<576>>,
    #[init((0..64).map(|_| Default::default()).collect())]
    banks: Vec<Lutram<12, 2, 1>>,
    row: [Signal<Local, Bits<2>>; 64],
    // The rows that were read, and the bank of the first one.
    read: Pack<64, 12, 768>,
    found: DFF<Bits<768>>,
    first: DFF<Bits<6>>,
    back: Signal<Local, Bits<768>>,
    out: DFF<Bits<768>>,
}

impl Logic for RowQueue {
    #[hdl_gen]
    fn update(&mut self) {
        self.turned.next = self.load_offset.val();
        if self.behind.q.val().get_bit(0) {
            self.turned.next = (self.turned.val() << 9) | (self.turned.val() >> 567);
        }
        if self.behind.q.val().get_bit(1) {
            self.turned.next = (self.turned.val() << 18) | (self.turned.val() >> 558);
        }
        if self.behind.q.val().get_bit(2) {
            self.turned.next = (self.turned.val() << 36) | (self.turned.val() >> 540);
        }
        if self.behind.q.val().get_bit(3) {
            self.turned.next = (self.turned.val() << 72) | (self.turned.val() >> 504);
        }
        if self.behind.q.val().get_bit(4) {
            self.turned.next = (self.turned.val() << 144) | (self.turned.val() >> 432);
        }
        if self.behind.q.val().get_bit(5) {
            self.turned.next = (self.turned.val() << 288) | (self.turned.val() >> 288);
        }
        if self.load.val() {
            self.at.d.next = self.behind.q.val();
            self.behind.d.next = self.behind.q.val() + bit_cast::<8, 7>(self.load_count.val());
            self.taken.d.next = self.turned.val();
            self.taken_word.d.next = self.load_word.val();
        }

        for b in 0..64 {
            self.banks[b].write_enable.next = self.write.val();
            self.banks[b].write_address.next = self.at.q.val().get_bits::<2>(6);
            self.banks[b].write_data.next =
                self.taken.q.val().get_bits::<9>(b * 9).get_bits::<12>(0)
                    | (bit_cast::<12, 3>(self.taken_word.q.val()) << 9);
            self.row[b].next = self.place.val().get_bits::<2>(6);
        }
        // Banks below the first row's bank use the next line.
        for b in 0..63 {
            if self.at.q.val().get_bits::<6>(0) > b.to_bits() {
                self.banks[b].write_address.next = self.at.q.val().get_bits::<2>(6) + 1;
            }
            if self.place.val().get_bits::<6>(0) > b.to_bits() {
                self.row[b].next = self.place.val().get_bits::<2>(6) + 1;
            }
        }
        for b in 0..64 {
            self.banks[b].read_address[0].next = self.row[b].val();
            self.read.parts[b].next = self.banks[b].read_data[0].val();
        }
        self.found.d.next = self.read.whole.val();
        self.first.d.next = self.place.val().get_bits::<6>(0);

        self.back.next = self.found.q.val();
        if self.first.q.val().get_bit(0) {
            self.back.next = (self.back.val() >> 12) | (self.back.val() << 756);
        }
        if self.first.q.val().get_bit(1) {
            self.back.next = (self.back.val() >> 24) | (self.back.val() << 744);
        }
        if self.first.q.val().get_bit(2) {
            self.back.next = (self.back.val() >> 48) | (self.back.val() << 720);
        }
        if self.first.q.val().get_bit(3) {
            self.back.next = (self.back.val() >> 96) | (self.back.val() << 672);
        }
        if self.first.q.val().get_bit(4) {
            self.back.next = (self.back.val() >> 192) | (self.back.val() << 576);
        }
        if self.first.q.val().get_bit(5) {
            self.back.next = (self.back.val() >> 384) | (self.back.val() << 384);
        }
        self.out.d.next = self.back.val();
        self.offset.next = self.out.q.val();
        if self.rst.val() {
            self.behind.d.next = 0.into();
        }
    }
}
