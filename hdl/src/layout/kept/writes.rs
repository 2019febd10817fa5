//! Writes of the DMA engine and copies of keys share the segmented memory.

use crate::primitive::Pack;
use drdma_emit::prelude::*;

/// Cycles for which a copy waits before the engine has to.
const PATIENCE: u64 = 15;

/// Lets copies write in cycles in which the DMA engine does not write their segment.
///
/// The engine goes first. A copy that has waited for 16 cycles makes the engine wait for one, by `dma_ready`, which
/// comes from a register. Writes take effect at the end of their cycle; `dma_done` follows a write of the engine a
/// cycle later. The two segments are independent of each other.
#[derive(LogicBlock, Default)]
pub struct SegmentWrites {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,

    /// Byte enables of the engine's writes (2 x 64 bits).
    pub dma_be: Signal<In, Bits<128>>,
    /// Row of each segment's write (2 x 10 bits).
    pub dma_addr: Signal<In, Bits<20>>,
    /// Data of each segment's write (2 x 512 bits).
    pub dma_data: Signal<In, Bits<1024>>,
    /// A write of each segment is offered.
    pub dma_valid: Signal<In, Bits<2>>,
    /// The write of each segment is taken.
    pub dma_ready: Signal<Out, Bits<2>>,
    /// The write that each segment took in the cycle before is done.
    pub dma_done: Signal<Out, Bits<2>>,

    /// A copy to each segment is offered.
    pub copy_valid: Signal<In, Bits<2>>,
    /// Byte enables of the copies (2 x 64 bits).
    pub copy_be: Signal<In, Bits<128>>,
    /// Row of each segment's copy (2 x 10 bits).
    pub copy_row: Signal<In, Bits<20>>,
    /// Data of both segments.
    pub copy_data: Signal<In, Bits<512>>,
    /// The copy to each segment is written at the end of this cycle.
    pub copied: Signal<Out, Bits<2>>,

    /// Byte enables for the memory (2 x 64 bits).
    pub be: Signal<Out, Bits<128>>,
    /// Row of each segment's write (2 x 10 bits).
    pub row: Signal<Out, Bits<20>>,
    /// Data of each segment's write (2 x 512 bits).
    pub data: Signal<Out, Bits<1024>>,
    /// Each segment is written.
    pub valid: Signal<Out, Bits<2>>,

    held: DFF<Bits<2>>,
    taken: Signal<Local, Bits<2>>,
    done: DFF<Bits<2>>,
    waits: Signal<Local, Bits<2>>,
    waited: [DFF<Bits<4>>; 2],
    patient: Signal<Local, Bits<2>>,
    enables: Pack<2, 64, 128>,
    rows: Pack<2, 10, 20>,
    lines: Pack<2, 512, 1024>,
}

impl Logic for SegmentWrites {
    #[hdl_gen]
    fn update(&mut self) {
        self.dma_ready.next = !self.held.q.val();
        self.taken.next = self.dma_valid.val() & !self.held.q.val();
        self.done.d.next = self.taken.val();
        self.dma_done.next = self.done.q.val();
        self.copied.next = self.copy_valid.val() & !self.taken.val();
        self.waits.next = self.copy_valid.val() & self.taken.val();
        self.patient.next = 0.into();
        for s in 0..2 {
            self.waited[s].d.next = 0.into();
            if self.waits.val().get_bit(s) {
                self.waited[s].d.next = self.waited[s].q.val() + 1;
            }
            if self.waited[s].q.val() == PATIENCE {
                self.patient.next = self.patient.val().replace_bit(s, true);
            }
        }
        self.held.d.next = self.waits.val() & self.patient.val();

        self.valid.next = self.taken.val() | self.copy_valid.val();
        for s in 0..2 {
            self.enables.parts[s].next = self.copy_be.val().get_bits::<64>(s * 64);
            self.rows.parts[s].next = self.copy_row.val().get_bits::<10>(s * 10);
            self.lines.parts[s].next = self.copy_data.val();
            if self.taken.val().get_bit(s) {
                self.enables.parts[s].next = self.dma_be.val().get_bits::<64>(s * 64);
                self.rows.parts[s].next = self.dma_addr.val().get_bits::<10>(s * 10);
                self.lines.parts[s].next = self.dma_data.val().get_bits::<512>(s * 512);
            }
        }
        self.be.next = self.enables.whole.val();
        self.row.next = self.rows.whole.val();
        self.data.next = self.lines.whole.val();

        if self.rst.val() {
            self.held.d.next = 0.into();
            self.done.d.next = 0.into();
        }
    }
}
