//! The block of `WRITING_BLOCKS.md`: sums the lanes of a beat that its mask selects.

use drdma_emit::prelude::*;
use drdma_hdl::primitive::{Pack, Ram, StreamFifo};

mod tests;

/// Next step of the block.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
enum SampleState {
    Idle,
    Adding,
    Sending,
}

/// Lanes to add.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
struct Lanes {
    /// A bit a lane: whether it counts.
    pub mask: Bits<4>,
    /// 4 lanes of 16 bits.
    pub data: Bits<64>,
}

/// A sum.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
struct Sum {
    /// Sum of the selected lanes.
    pub sum: Bits<20>,
    /// The selected lanes, each twice its value.
    pub scaled: Bits<64>,
    /// The first lane, selected or not.
    pub first: Bits<16>,
}

/// Bits of a lane.
const LANE: usize = 16;
/// Amount that is added to a count.
const ONE: u64 = 1;

/// Adds the selected lanes of every beat, one lane per cycle, and keeps statistics in a RAM.
///
/// Accepts a beat every 6 cycles; may stall at any time.
#[derive(LogicBlock, BlockDefault)]
#[check(LANES == 4, "Sample: {LANES} lanes")]
struct Sample<const LANES: usize> {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub s: Stream<In, Lanes>,
    pub m: Stream<Out, Sum>,
    /// Mask whose count is asked for.
    pub peek_address: Signal<In, Bits<4>>,
    /// Number of times that the mask `peek_address` was seen; a cycle later.
    pub peek: Signal<Out, Bits<8>>,
    state: DFF<SampleState>,
    lane: DFF<Bits<3>>,
    sum: DFF<Bits<20>>,
    current: DFF<Lanes>,
    values: [DFF<Bits<16>>; LANES],
    seen: [DFF<Bits<8>>; 16],
    fifo: StreamFifo<Lanes, 2, 3>,
    pack: Pack<LANES, 16, 64>,
    history: Ram<8, 1, 4>,
    chosen: Signal<Local, Bits<16>>,
    count: Signal<Local, Bits<8>>,
    done: Signal<Local, Bit>,
}

impl<const LANES: usize> Logic for Sample<LANES> {
    #[hdl_gen]
    fn update(&mut self) {
        self.s.join(&mut self.fifo.input);
        self.fifo.output.ready.next = false;

        // The lane of this cycle, zero unless the mask selects it.
        self.chosen.next = 0.into();
        if self.current.q.val().mask.get_bit(self.lane.q.val().index()) {
            self.chosen.next =
                self.current.q.val().data.get_bits::<LANE>(self.lane.q.val().index() * LANE);
        }

        // The memory counts how often each mask was seen.
        self.history.write_lanes.next = 0.into();
        self.history.write_address.next = self.current.q.val().mask;
        self.count.next = 0.into();
        for k in 0..16 {
            if self.current.q.val().mask == k.to_bits() {
                self.count.next = self.seen[k].q.val() + ONE;
            }
        }
        self.history.write_data.next = self.count.val();
        self.history.read_enable.next = true;
        self.history.read_address.next = self.peek_address.val();
        self.peek.next = self.history.read_data.val();

        self.done.next = self.lane.q.val() + 1 == LANES.to_bits();
        self.m.valid.next = false;
        match self.state.q.val() {
            SampleState::Idle => {
                self.current.d.next = self.fifo.output.data.val();
                self.lane.d.next = 0.into();
                self.sum.d.next = 0.into();
                if self.fifo.output.valid.val() {
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
                    self.fifo.output.ready.next = true;
                    self.history.write_lanes.next = 1.into();
                    for k in 0..16 {
                        if self.current.q.val().mask == k.to_bits() {
                            self.seen[k].d.next = self.count.val();
                        }
                    }
                }
            }
            SampleState::Sending => {
                self.m.valid.next = true;
                if self.m.ready.val() {
                    self.state.d.next = SampleState::Idle;
                }
            }
        }

        for k in 0..LANES {
            self.pack.parts[k].next = self.values[k].q.val();
        }
        self.m.sum.next = self.sum.q.val();
        self.m.scaled.next = self.pack.whole.val();
        self.m.first.next = self.current.q.val().data.get_bits::<LANE>(0);

        if self.rst.val() {
            self.state.d.next = SampleState::Idle;
            for k in 0..16 {
                self.seen[k].d.next = 0.into();
            }
        }
    }
}
