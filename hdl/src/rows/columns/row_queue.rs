//! The offsets of the rows that wait to be packed.

use crate::primitive::{Lutram, Pack};
use rust_hdl_core::prelude::*;
use rust_hdl_widgets::prelude::*;

/// A ring of 64 offsets in 16 banks: up to 16 are written a cycle, 16 read from any place.
///
/// Rows are written in two steps: `load` turns them to where the last ones ended, `write` stores
/// them, in a later cycle. They can be read in the cycle after. A read delivers after 2 cycles.
/// At most 48 rows may wait: a write touches 16 places whatever the number of rows.
///
/// # Inputs
/// `load`, with `load_count` and `load_offset`; `write`; `place`: the first row to read.
///
/// # Outputs
/// `offset`: the 16 rows from `place` on.
#[derive(LogicBlock)]
pub struct RowQueue {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset: the next row gets place 0.
    pub rst: Signal<In, Bit>,
    /// Takes rows.
    pub load: Signal<In, Bit>,
    /// How many.
    pub load_count: Signal<In, Bits<5>>,
    /// Their offsets, 12 bits each.
    pub load_offset: Signal<In, Bits<192>>,
    /// Stores the rows taken last.
    pub write: Signal<In, Bit>,
    /// The first row to read.
    pub place: Signal<In, Bits<6>>,
    /// The offsets of that row and of the 15 that follow it.
    pub offset: Signal<Out, Bits<192>>,

    // The place behind the last row taken; the rows taken last, turned.
    behind: DFF<Bits<6>>,
    at: DFF<Bits<6>>,
    taken: DFF<Bits<192>>,
    turned: Signal<Local, Bits<192>>,
    banks: Vec<Lutram<12, 2, 1>>,
    row: [Signal<Local, Bits<2>>; 16],
    // What was read, and the bank of its first row.
    read: Pack<16, 12, 192>,
    found: DFF<Bits<192>>,
    first: DFF<Bits<4>>,
    back: Signal<Local, Bits<192>>,
    out: DFF<Bits<192>>,
}

impl Default for RowQueue {
    fn default() -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            load: Default::default(),
            load_count: Default::default(),
            load_offset: Default::default(),
            write: Default::default(),
            place: Default::default(),
            offset: Default::default(),
            behind: Default::default(),
            at: Default::default(),
            taken: Default::default(),
            turned: Default::default(),
            row: Default::default(),
            read: Default::default(),
            found: Default::default(),
            first: Default::default(),
            back: Default::default(),
            out: Default::default(),
            banks: (0..16).map(|_| Default::default()).collect(),
        }
    }
}

impl Logic for RowQueue {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, behind, at, taken, found, first, out);

        self.turned.next = self.load_offset.val();
        if self.behind.q.val().get_bit(0) {
            self.turned.next = (self.turned.val() << 12) | (self.turned.val() >> 180);
        }
        if self.behind.q.val().get_bit(1) {
            self.turned.next = (self.turned.val() << 24) | (self.turned.val() >> 168);
        }
        if self.behind.q.val().get_bit(2) {
            self.turned.next = (self.turned.val() << 48) | (self.turned.val() >> 144);
        }
        if self.behind.q.val().get_bit(3) {
            self.turned.next = (self.turned.val() << 96) | (self.turned.val() >> 96);
        }
        if self.load.val() {
            self.at.d.next = self.behind.q.val();
            self.behind.d.next = self.behind.q.val() + bit_cast::<6, 5>(self.load_count.val());
            self.taken.d.next = self.turned.val();
        }

        for b in 0..16 {
            self.banks[b].clk.next = self.clk.val();
            self.banks[b].write_enable.next = self.write.val();
            self.banks[b].write_address.next = self.at.q.val().get_bits::<2>(4);
            self.banks[b].write_data.next = self.taken.q.val().get_bits::<12>(b * 12);
            self.row[b].next = self.place.val().get_bits::<2>(4);
        }
        // Below the first row's bank: the next line.
        for b in 0..15 {
            if self.at.q.val().get_bits::<4>(0) > b.to_bits() {
                self.banks[b].write_address.next = self.at.q.val().get_bits::<2>(4) + 1;
            }
            if self.place.val().get_bits::<4>(0) > b.to_bits() {
                self.row[b].next = self.place.val().get_bits::<2>(4) + 1;
            }
        }
        for b in 0..16 {
            self.banks[b].read_address[0].next = self.row[b].val();
            self.read.parts[b].next = self.banks[b].read_data[0].val();
        }
        self.found.d.next = self.read.whole.val();
        self.first.d.next = self.place.val().get_bits::<4>(0);

        self.back.next = self.found.q.val();
        if self.first.q.val().get_bit(0) {
            self.back.next = (self.back.val() >> 12) | (self.back.val() << 180);
        }
        if self.first.q.val().get_bit(1) {
            self.back.next = (self.back.val() >> 24) | (self.back.val() << 168);
        }
        if self.first.q.val().get_bit(2) {
            self.back.next = (self.back.val() >> 48) | (self.back.val() << 144);
        }
        if self.first.q.val().get_bit(3) {
            self.back.next = (self.back.val() >> 96) | (self.back.val() << 96);
        }
        self.out.d.next = self.back.val();
        self.offset.next = self.out.q.val();
        if self.rst.val() {
            self.behind.d.next = 0.into();
        }
    }
}
