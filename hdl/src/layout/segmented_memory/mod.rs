//! The segmented memory (D-RDMA section 4.2): 32 banks of 4 B, 1,024 rows, 128 KiB.
//!
//! The memory stands behind Corundum's data RAM port. The DMA engine writes up to 128 B a cycle in two segments of 64
//! B, and *kept* where the engine does not (see [`SegmentWrites`](super::kept::SegmentWrites)); the gather reads any
//! one word of every bank in every cycle. Byte `A` lies in bank `A[6:2]`, row `A[16:7]`; segment 0 holds banks 0 to 15,
//! segment 1 the others.
//!
//! Contract: a write is taken in any cycle and takes effect at its end. A read delivers two cycles after `read_enable`.
//! A read of a word that is being written delivers the old word.

use drdma_emit::prelude::*;

use crate::primitive::pack::Pack;
use crate::primitive::ram::Ram;

#[cfg(test)]
mod tests;

/// The segmented memory; see the [module](self).
#[derive(LogicBlock, BlockDefault)]
pub struct SegmentedMemory {
    /// Clock.
    pub clk: Signal<In, Clock>,

    // Writes of the DMA engine, and copies of what is kept, per segment.
    /// Byte enables of the two segments (2 x 64 bits).
    pub write_be: Signal<In, Bits<128>>,
    /// Row of each segment's write (2 x 10 bits).
    pub write_row: Signal<In, Bits<20>>,
    /// Data of each segment's write (2 x 512 bits).
    pub write_data: Signal<In, Bits<1024>>,
    /// Each segment is written.
    pub write_valid: Signal<In, Bits<2>>,

    // The gather's side.
    /// Row to read of each bank (32 x 10 bits).
    pub read_row: Signal<In, Bits<320>>,
    /// Banks to read, one bit each.
    pub read_enable: Signal<In, Bits<32>>,
    /// The word that each bank read, two cycles after `read_enable` (32 x 32 bits).
    pub read_data: Signal<Out, Bits<1024>>,

    banks: [Ram<32, 4, 10>; 32],
    words: Pack<32, 32, 1024>,
    read: DFF<Bits<1024>>,
}

impl Logic for SegmentedMemory {
    #[hdl_gen]
    fn update(&mut self) {
        for s in 0..2 {
            for k in 0..16 {
                self.banks[(s * 16) + k].write_lanes.next = 0.into();
                if self.write_valid.val().get_bit(s) {
                    self.banks[(s * 16) + k].write_lanes.next =
                        self.write_be.val().get_bits::<4>((s * 64) + (k * 4));
                }
                self.banks[(s * 16) + k].write_address.next =
                    self.write_row.val().get_bits::<10>(s * 10);
                self.banks[(s * 16) + k].write_data.next =
                    self.write_data.val().get_bits::<32>((s * 512) + (k * 32));
            }
        }
        for k in 0..32 {
            self.banks[k].read_enable.next = self.read_enable.val().get_bit(k);
            self.banks[k].read_address.next = self.read_row.val().get_bits::<10>(k * 10);
            self.words.parts[k].next = self.banks[k].read_data.val();
        }
        self.read.d.next = self.words.whole.val();
        self.read_data.next = self.read.q.val();
    }
}
