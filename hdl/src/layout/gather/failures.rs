//! Remembers failed reads: which parts of a window could not be read, and whether a beat needs any of them.
//!
//! Contract: a range is taken in any cycle. The current beat is compared with the ranges of its
//! window, one in each cycle with `step`; `all` says that the last comparison is done, three cycles
//! after the last range, and at once if there is none; `failed` is the result. 255 ranges of a
//! window are kept; with more, every beat of the window that reads anything has failed.

use crate::layout::reader::ReadError;
use crate::layout::windows::{WINDOW_COUNT, WINDOW_INDEX};
use array_init::array_init;
use drdma_emit::prelude::*;

use crate::primitive::Ram;

/// Bits of the number of a range: 255 of each window are kept.
const RANGE_INDEX: usize = WINDOW_INDEX + 8;

/// Remembers failed reads. See the [module](self).
///
/// # Inputs
/// `clk`, `rst`; `error_*`; `window`, `valid`, `ram`; `restart`, `step`, `forget`.
///
/// # Outputs
/// `all`, `failed`.
#[derive(LogicBlock, BlockDefault)]
pub struct Failures {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// A read that failed.
    pub error: Flow<In, ReadError>,
    /// Number of the window of the current beat.
    pub window: Signal<In, Bits<WINDOW_INDEX>>,
    /// Positions of the beat that have a byte, a bit each.
    pub valid: Signal<In, Bits<64>>,
    /// Places of the bytes in the segmented memory, 17 bits each.
    pub ram: Signal<In, Bits<1088>>,
    /// Another beat is current from the next cycle on.
    pub restart: Signal<In, Bit>,
    /// The beat is compared with one more range, if one is left.
    pub step: Signal<In, Bit>,
    /// The window's last beat is done: its ranges are forgotten.
    pub forget: Signal<In, Bit>,
    /// The beat was compared with all ranges of its window.
    pub all: Signal<Out, Bit>,
    /// The beat needs a byte that could not be read; valid with `all`.
    pub failed: Signal<Out, Bit>,

    ranges: Ram<30, 1, RANGE_INDEX>,
    counts: [DFF<Bits<8>>; WINDOW_COUNT],
    /// Windows with more ranges than are kept.
    flooded: DFF<Bits<WINDOW_COUNT>>,
    count: Signal<Local, Bits<8>>,
    index: Signal<Local, Bits<8>>,
    checked: DFF<Bits<8>>,
    read_valid: DFF<Bit>,
    range_valid: DFF<Bit>,
    start: DFF<Bits<18>>,
    behind: DFF<Bits<18>>,
    range_start: Signal<Local, Bits<18>>,
    hits_valid: DFF<Bit>,
    hits: DFF<Bits<64>>,
    hit: DFF<Bit>,
    place: [Signal<Local, Bits<18>>; 64],
    #[init(array_init(|k| Constant::new((1_u64 << k).to_bits())))]
    bit: [Constant<Bits<64>>; 64],
}

impl Logic for Failures {
    #[hdl_gen]
    fn update(&mut self) {
        self.count.next = 0.into();
        self.index.next = 0.into();
        for w in 0..16 {
            if self.window.val().index() == w {
                self.count.next = self.counts[w].q.val();
                if self.forget.val() {
                    self.counts[w].d.next = 0.into();
                }
            }
            if self.error.window.val().index() == w {
                self.index.next = self.counts[w].q.val();
                if self.error.valid.val() && (self.counts[w].q.val() != 255) {
                    self.counts[w].d.next = self.counts[w].q.val() + 1;
                }
            }
        }
        if self.forget.val() {
            self.flooded.d.next =
                self.flooded.q.val().replace_bit(self.window.val().index(), false);
        }
        if self.error.valid.val() && (self.index.val() == 255) {
            self.flooded.d.next =
                self.flooded.d.val().replace_bit(self.error.window.val().index(), true);
        }
        self.ranges.write_lanes.next = self.error.valid.val().into();
        self.ranges.write_address.next =
            (bit_cast::<RANGE_INDEX, WINDOW_INDEX>(self.error.window.val()) << 8)
                | bit_cast::<RANGE_INDEX, 8>(self.index.val());
        self.ranges.write_data.next = (bit_cast::<30, 17>(self.error.ram.val()) << 13)
            | bit_cast::<30, 13>(self.error.len.val());

        // The next range.
        self.ranges.read_address.next = (bit_cast::<RANGE_INDEX, WINDOW_INDEX>(self.window.val())
            << 8)
            | bit_cast::<RANGE_INDEX, 8>(self.checked.q.val());
        self.ranges.read_enable.next = true;
        self.read_valid.d.next = false;
        if self.step.val() && (self.checked.q.val() != self.count.val()) {
            self.checked.d.next = self.checked.q.val() + 1;
            self.read_valid.d.next = true;
        }
        self.range_valid.d.next = self.read_valid.q.val();
        self.range_start.next = bit_cast::<18, 17>(self.ranges.read_data.val().get_bits::<17>(13));
        self.start.d.next = self.range_start.val();
        self.behind.d.next = self.range_start.val()
            + bit_cast::<18, 13>(self.ranges.read_data.val().get_bits::<13>(0));

        // Bytes of the beat that are in the range.
        self.hits_valid.d.next = self.range_valid.q.val();
        for k in 0..64 {
            self.place[k].next = self.ram.val().get_bits::<17>(k * 17).get_bits::<18>(0);
        }
        if self.range_valid.q.val() {
            self.hits.d.next = 0.into();
            for k in 0..64 {
                if (self.place[k].val() >= self.start.q.val())
                    && (self.place[k].val() < self.behind.q.val())
                {
                    self.hits.d.next = self.hits.d.val() | self.bit[k].val();
                }
            }
        }
        if self.hits_valid.q.val() && (self.hits.q.val() & self.valid.val()).any() {
            self.hit.d.next = true;
        }
        self.all.next = (self.checked.q.val() == self.count.val())
            && !self.read_valid.q.val()
            && !self.range_valid.q.val()
            && !self.hits_valid.q.val();
        self.failed.next = self.hit.q.val()
            || (self.flooded.q.val().get_bit(self.window.val().index()) && self.valid.val().any());
        if self.restart.val() {
            self.checked.d.next = 0.into();
            self.read_valid.d.next = false;
            self.range_valid.d.next = false;
            self.hits_valid.d.next = false;
            self.hit.d.next = false;
        }

        if self.rst.val() {
            for w in 0..16 {
                self.counts[w].d.next = 0.into();
            }
            self.flooded.d.next = 0.into();
        }
    }
}
