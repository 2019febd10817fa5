//! Turns places in windows into places in the segmented memory.

use super::{ByteBeat, ReadBox, WINDOW_INDEX};
use crate::primitive::{Lutram, Pack};
use drdma_emit::prelude::*;

/// Adds the start of the window to every place of boxes and bytes.
///
/// Windows start at a multiple of 128 B, so that a byte has the same bank in the window as in the memory, and software,
/// which predicts banks, need not know where a window starts. The start of a window is known from the cycle after its
/// opening on.
///
/// Streams pass without a register: `reads.ready` follows `read.ready`, and `bytes.ready` follows `byte.ready`, which
/// must come from registers. A box and a beat a cycle, latency 0; all streams may stall.
#[derive(LogicBlock, Default)]
pub struct Starts {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// A window is opened.
    pub opened: Signal<In, Bit>,
    /// With `opened`: number of the window.
    pub number: Signal<In, Bits<WINDOW_INDEX>>,
    /// With `opened`: start of the window in the memory, in units of 128 B.
    pub start: Signal<In, Bits<10>>,
    /// Boxes with places in their windows.
    pub reads: Stream<In, ReadBox>,
    /// Boxes of `reads`, with places in the segmented memory.
    pub read: Stream<Out, ReadBox>,
    /// Bytes with places in their windows.
    pub bytes: Stream<In, ByteBeat>,
    /// Bytes of `bytes`, with places in the segmented memory.
    pub byte: Stream<Out, ByteBeat>,

    known: Lutram<10, WINDOW_INDEX, 2>,
    read_start: Signal<Local, Bits<17>>,
    byte_start: Signal<Local, Bits<17>>,
    places: Pack<64, 17, 1088>,
}

impl Logic for Starts {
    #[hdl_gen]
    fn update(&mut self) {
        self.known.write_enable.next = self.opened.val();
        self.known.write_address.next = self.number.val();
        self.known.write_data.next = self.start.val();

        self.known.read_address[0].next = self.reads.window.val();
        self.read_start.next = bit_cast::<17, 10>(self.known.read_data[0].val()) << 7;
        self.read.valid.next = self.reads.valid.val();
        self.reads.ready.next = self.read.ready.val();
        self.read.next = self.reads.val();
        self.read.ram.next = self.reads.ram.val() + self.read_start.val();

        self.known.read_address[1].next = self.bytes.window.val();
        self.byte_start.next = bit_cast::<17, 10>(self.known.read_data[1].val()) << 7;
        self.byte.valid.next = self.bytes.valid.val();
        self.bytes.ready.next = self.byte.ready.val();
        for k in 0..64 {
            self.places.parts[k].next =
                self.bytes.ram.val().get_bits::<17>(k * 17) + self.byte_start.val();
        }
        self.byte.next = self.bytes.val();
        self.byte.ram.next = self.places.whole.val();
    }
}
