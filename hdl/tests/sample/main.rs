//! The block of `WRITING_BLOCKS.md`: sums the lanes of a beat that its mask selects.

use crate::primitive::{Fifo, Pack, Ram};
use array_init::array_init;
use rust_hdl_core::prelude::*;
use rust_hdl_widgets::prelude::*;

mod tests;

/// What the block does next.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum SampleState {
    Idle,
    Adding,
    Sending,
}

/// A value and where it came from.
#[derive(Copy, Clone, Debug, Default, PartialEq, LogicStruct)]
pub struct SampleEntry {
    pub first: Bits<16>,
    pub lanes: Bits<4>,
}

/// Adds the selected lanes of every beat, one lane per cycle, and keeps statistics in a RAM.
///
/// Accepts a beat every 6 cycles; may stall at any time.
///
/// # Inputs
/// `clk`, `rst`; stream `s`: `s_mask`, `s_data` (4 lanes of 16 bits); `peek_address`.
///
/// # Outputs
/// Stream `m`: `m_sum`, `m_scaled`, `m_first`; `peek` (how often that mask was seen last cycle).
#[derive(LogicBlock)]
pub struct Sample<const LANES: usize> {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub s_valid: Signal<In, Bit>,
    pub s_ready: Signal<Out, Bit>,
    pub s_mask: Signal<In, Bits<4>>,
    pub s_data: Signal<In, Bits<64>>,
    pub m_valid: Signal<Out, Bit>,
    pub m_ready: Signal<In, Bit>,
    pub m_sum: Signal<Out, Bits<20>>,
    pub m_scaled: Signal<Out, Bits<64>>,
    pub m_first: Signal<Out, Bits<16>>,
    pub peek_address: Signal<In, Bits<4>>,
    pub peek: Signal<Out, Bits<8>>,
    state: DFF<SampleState>,
    entry: DFF<SampleEntry>,
    lane: DFF<Bits<3>>,
    sum: DFF<Bits<20>>,
    values: [DFF<Bits<16>>; LANES],
    seen: [DFF<Bits<8>>; 16],
    fifo: Fifo<68, 2, 3>,
    pack: Pack<LANES, 16, 64>,
    history: Ram<8, 1, 4>,
    lanes: Constant<Bits<3>>,
    chosen: Signal<Local, Bits<16>>,
    count: Signal<Local, Bits<8>>,
    done: Signal<Local, Bit>,
}

impl<const LANES: usize> Default for Sample<LANES> {
    fn default() -> Self {
        assert_eq!(LANES, 4, "Sample: {LANES} lanes");
        Self {
            clk: Signal::default(),
            rst: Signal::default(),
            s_valid: Signal::default(),
            s_ready: Signal::default(),
            s_mask: Signal::default(),
            s_data: Signal::default(),
            m_valid: Signal::default(),
            m_ready: Signal::default(),
            m_sum: Signal::default(),
            m_scaled: Signal::default(),
            m_first: Signal::default(),
            peek_address: Signal::default(),
            peek: Signal::default(),
            state: DFF::default(),
            entry: DFF::default(),
            lane: DFF::default(),
            sum: DFF::default(),
            values: array_init(|_| DFF::default()),
            seen: array_init(|_| DFF::default()),
            fifo: Fifo::default(),
            pack: Pack::default(),
            history: Ram::default(),
            lanes: Constant::new(LANES.to_bits()),
            chosen: Signal::default(),
            count: Signal::default(),
            done: Signal::default(),
        }
    }
}

impl<const LANES: usize> Logic for Sample<LANES> {
    #[hdl_gen]
    fn update(&mut self) {
        // Registers keep their value unless something below assigns `.d`.
        dff_setup!(self, clk, state, entry, lane, sum);
        for k in 0..LANES {
            self.values[k].clock.next = self.clk.val();
            self.values[k].d.next = self.values[k].q.val();
        }
        for k in 0..16 {
            self.seen[k].clock.next = self.clk.val();
            self.seen[k].d.next = self.seen[k].q.val();
        }

        // The input FIFO: mask above data.
        self.fifo.clk.next = self.clk.val();
        self.fifo.rst.next = self.rst.val();
        self.fifo.in_valid.next = self.s_valid.val();
        self.fifo.in_data.next =
            (bit_cast::<68, 4>(self.s_mask.val()) << 64) | bit_cast::<68, 64>(self.s_data.val());
        self.s_ready.next = self.fifo.in_ready.val();
        self.fifo.out_ready.next = false;

        // The lane of this cycle, zero unless the mask selects it.
        self.chosen.next = 0.into();
        if self.entry.q.val().lanes.get_bit(self.lane.q.val().index()) {
            self.chosen.next =
                self.fifo.out_data.val().get_bits::<16>(self.lane.q.val().index() * 16);
        }

        // The memory counts how often each mask was seen.
        self.history.clk.next = self.clk.val();
        self.history.write_lanes.next = 0.into();
        self.history.write_address.next = self.entry.q.val().lanes;
        self.count.next = 0.into();
        for k in 0..16 {
            if self.entry.q.val().lanes == k.to_bits() {
                self.count.next = self.seen[k].q.val() + 1;
            }
        }
        self.history.write_data.next = self.count.val();
        self.history.read_enable.next = true;
        self.history.read_address.next = self.peek_address.val();
        self.peek.next = self.history.read_data.val();

        self.done.next = self.lane.q.val() + 1 == self.lanes.val();
        self.m_valid.next = false;
        match self.state.q.val() {
            SampleState::Idle => {
                self.entry.d.next.first = self.fifo.out_data.val().get_bits::<16>(0);
                self.entry.d.next.lanes = self.fifo.out_data.val().get_bits::<4>(64);
                self.lane.d.next = 0.into();
                self.sum.d.next = 0.into();
                if self.fifo.out_valid.val() {
                    self.state.d.next = SampleState::Adding;
                }
            }
            SampleState::Adding => {
                self.sum.d.next = self.sum.q.val() + bit_cast::<20, 16>(self.chosen.val());
                self.lane.d.next = self.lane.q.val() + 1;
                for k in 0..LANES {
                    if self.lane.q.val() == k.to_bits() {
                        self.values[k].d.next = self.chosen.val() << 1;
                    }
                }
                if self.done.val() {
                    self.state.d.next = SampleState::Sending;
                    self.fifo.out_ready.next = true;
                    self.history.write_lanes.next = 1.into();
                    for k in 0..16 {
                        if self.entry.q.val().lanes == k.to_bits() {
                            self.seen[k].d.next = self.count.val();
                        }
                    }
                }
            }
            SampleState::Sending => {
                self.m_valid.next = true;
                if self.m_ready.val() {
                    self.state.d.next = SampleState::Idle;
                }
            }
        }

        for k in 0..LANES {
            self.pack.parts[k].next = self.values[k].q.val();
        }
        self.m_sum.next = self.sum.q.val();
        self.m_scaled.next = self.pack.whole.val();
        self.m_first.next = self.entry.q.val().first;

        if self.rst.val() {
            self.state.d.next = SampleState::Idle;
            for k in 0..16 {
                self.seen[k].d.next = 0.into();
            }
        }
    }
}
