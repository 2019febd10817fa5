//! Failed reads: which parts of a window could not be read, and whether a beat needs any of them.
//!
//! Contract: a range is taken in any cycle. The beat at hand is compared with one range of its window in
//! each cycle with `step`; `all` tells that none is left, `failed` what came out. 255 ranges of a
//! window are kept; with more, every beat of the window that reads anything has failed.

use array_init::array_init;
use rust_hdl_core::prelude::*;
use rust_hdl_widgets::prelude::*;

use crate::primitive::lutram::Lutram;

/// The block; see the module.
///
/// # Inputs
/// `clk`, `rst`; `error_*`; `window`, `ram`, `len`; `restart`, `step`, `forget`.
///
/// # Outputs
/// `all`, `failed`.
#[derive(LogicBlock)]
pub struct Failures {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// A part of a window could not be read.
    pub error_valid: Signal<In, Bit>,
    /// The window.
    pub error_window: Signal<In, Bits<2>>,
    /// The part's start.
    pub error_ram: Signal<In, Bits<17>>,
    /// Its bytes.
    pub error_len: Signal<In, Bits<13>>,
    /// The window of the beat at hand.
    pub window: Signal<In, Bits<2>>,
    /// Its fragments' places.
    pub ram: Signal<In, Bits<272>>,
    /// Their lengths.
    pub len: Signal<In, Bits<112>>,
    /// Another beat comes.
    pub restart: Signal<In, Bit>,
    /// The beat is compared with one more range, if one is left.
    pub step: Signal<In, Bit>,
    /// The beat's window is done with.
    pub forget: Signal<In, Bit>,
    /// The beat was compared with all ranges.
    pub all: Signal<Out, Bit>,
    /// It needs what could not be read.
    pub failed: Signal<Out, Bit>,

    ranges: Lutram<30, 10, 1>,
    counts: [DFF<Bits<8>>; 4],
    /// Windows with more ranges than are kept.
    flooded: DFF<Bits<4>>,
    count: Signal<Local, Bits<8>>,
    index: Signal<Local, Bits<8>>,
    checked: DFF<Bits<8>>,
    hit: DFF<Bit>,
    hits: Signal<Local, Bit>,
    start: Signal<Local, Bits<18>>,
    behind: Signal<Local, Bits<18>>,
    rams: Signal<Local, Bits<273>>,
    lens: Signal<Local, Bits<123>>,
    fragment_start: [Signal<Local, Bits<18>>; 16],
    fragment_end: [Signal<Local, Bits<18>>; 16],
}

impl Default for Failures {
    fn default() -> Self {
        Self {
            clk: Signal::default(),
            rst: Signal::default(),
            error_valid: Signal::default(),
            error_window: Signal::default(),
            error_ram: Signal::default(),
            error_len: Signal::default(),
            window: Signal::default(),
            ram: Signal::default(),
            len: Signal::default(),
            restart: Signal::default(),
            step: Signal::default(),
            forget: Signal::default(),
            all: Signal::default(),
            failed: Signal::default(),
            ranges: Lutram::default(),
            counts: array_init(|_| DFF::default()),
            flooded: DFF::default(),
            count: Signal::default(),
            index: Signal::default(),
            checked: DFF::default(),
            hit: DFF::default(),
            hits: Signal::default(),
            start: Signal::default(),
            behind: Signal::default(),
            rams: Signal::default(),
            lens: Signal::default(),
            fragment_start: array_init(|_| Signal::default()),
            fragment_end: array_init(|_| Signal::default()),
        }
    }
}

impl Logic for Failures {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, flooded, checked, hit);
        self.count.next = 0.into();
        self.index.next = 0.into();
        for w in 0..4 {
            self.counts[w].clock.next = self.clk.val();
            self.counts[w].d.next = self.counts[w].q.val();
            if self.window.val().index() == w {
                self.count.next = self.counts[w].q.val();
                if self.forget.val() {
                    self.counts[w].d.next = 0.into();
                }
            }
            if self.error_window.val().index() == w {
                self.index.next = self.counts[w].q.val();
                if self.error_valid.val() && (self.counts[w].q.val() != 255) {
                    self.counts[w].d.next = self.counts[w].q.val() + 1;
                }
            }
        }
        if self.forget.val() {
            self.flooded.d.next =
                self.flooded.q.val().replace_bit(self.window.val().index(), false);
        }
        if self.error_valid.val() && (self.index.val() == 255) {
            self.flooded.d.next =
                self.flooded.d.val().replace_bit(self.error_window.val().index(), true);
        }
        self.ranges.clk.next = self.clk.val();
        self.ranges.write_enable.next = self.error_valid.val();
        self.ranges.write_address.next =
            (bit_cast::<10, 2>(self.error_window.val()) << 8) | bit_cast::<10, 8>(self.index.val());
        self.ranges.write_data.next = (bit_cast::<30, 17>(self.error_ram.val()) << 13)
            | bit_cast::<30, 13>(self.error_len.val());

        // The next range, and the fragments that meet it.
        self.ranges.read_address[0].next =
            (bit_cast::<10, 2>(self.window.val()) << 8) | bit_cast::<10, 8>(self.checked.q.val());
        self.start.next = bit_cast::<18, 17>(self.ranges.read_data[0].val().get_bits::<17>(13));
        self.behind.next =
            self.start.val() + bit_cast::<18, 13>(self.ranges.read_data[0].val().get_bits::<13>(0));
        self.hits.next = false;
        self.rams.next = bit_cast::<273, 272>(self.ram.val());
        self.lens.next = bit_cast::<123, 112>(self.len.val());
        for l in 0..16 {
            self.fragment_start[l].next = self.rams.val().get_bits::<18>(l * 17) & 0x1ffff;
            self.fragment_end[l].next =
                self.fragment_start[l].val() + (self.lens.val().get_bits::<18>(l * 7) & 0x7f);
            if self.len.val().get_bits::<7>(l * 7).any()
                && (self.fragment_start[l].val() < self.behind.val())
                && (self.fragment_end[l].val() > self.start.val())
            {
                self.hits.next = true;
            }
        }
        self.all.next = self.checked.q.val() == self.count.val();
        self.failed.next = self.hit.q.val()
            || (self.flooded.q.val().get_bit(self.window.val().index()) && self.len.val().any());
        if self.step.val() && !self.all.val() {
            self.checked.d.next = self.checked.q.val() + 1;
            self.hit.d.next = self.hit.q.val() || self.hits.val();
        }
        if self.restart.val() {
            self.checked.d.next = 0.into();
            self.hit.d.next = false;
        }

        if self.rst.val() {
            for w in 0..4 {
                self.counts[w].d.next = 0.into();
            }
            self.flooded.d.next = 0.into();
        }
    }
}
