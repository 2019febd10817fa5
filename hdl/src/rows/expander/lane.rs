//! One of the sixteen lanes of the expander.

use crate::primitive::{MultiplyAdd, Ram, RamStyle};
use drdma_emit::prelude::*;

/// Keeps one lane of every set, and computes its address: base + row * step + shift, modulo 2^64.
///
/// Fully pipelined, without back-pressure. `len` belongs to the `set_read` of 2 cycles before; `row` and `shift` are
/// given together with it, `in_row_0` a cycle before, and `addr` follows `row` after 5 cycles.
///
/// # Inputs
/// `write*` (a lane is written), `set_read`, `in_row_0`, `row`, `shift`.
///
/// # Outputs
/// `len` (low 7 bits: a longer lane is cut), `step` (low 8 bits), `addr`, `start`.
#[derive(LogicBlock, BlockDefault)]
pub struct Lane {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// The lane of a set is written.
    pub write: Signal<In, Bit>,
    /// Number of the set that is written.
    pub write_set: Signal<In, Bits<11>>,
    /// Host address of the lane in row 0.
    pub write_base: Signal<In, Bits<64>>,
    /// Bytes from one row to the next.
    pub write_step: Signal<In, Bits<64>>,
    /// Bytes of the lane in a row, low 7 bits.
    pub write_len: Signal<In, Bits<7>>,
    /// Number of the set that a token needs.
    pub set_read: Signal<In, Bits<11>>,
    /// The lane lies in row 0, whatever `row` is; given 1 cycle after `set_read`.
    pub in_row_0: Signal<In, Bit>,
    /// Number of the token's row, given 2 cycles after `set_read`.
    pub row: Signal<In, Bits<32>>,
    /// Sum of pointer and offset, given 2 cycles after `set_read`.
    pub shift: Signal<In, Bits<64>>,
    /// Bytes of the lane, valid 2 cycles after `set_read`.
    pub len: Signal<Out, Bits<7>>,
    /// Bytes from one row to the next, low 8 bits, valid 2 cycles after `set_read`.
    pub step: Signal<Out, Bits<8>>,
    /// Address of the lane in the token's row, valid 7 cycles after `set_read`.
    pub addr: Signal<Out, Bits<64>>,
    /// Address of the lane in row 0, valid 2 cycles after `set_read`.
    pub start: Signal<Out, Bits<64>>,

    // Base 64 bits, length 7. An UltraRAM is 72 bits wide: two of them replace 8.5 block RAMs.
    #[init(Ram::new(RamStyle::Ultra))]
    bases: Ram<71, 1, 11>,
    #[init(Ram::new(RamStyle::Ultra))]
    steps: Ram<64, 1, 11>,
    base: DFF<Bits<64>>,
    stride: DFF<Bits<64>>,
    bytes: DFF<Bits<7>>,
    shifted: DFF<Bits<64>>,
    address: MultiplyAdd<64, 32>,
}

impl Logic for Lane {
    #[hdl_gen]
    fn update(&mut self) {
        self.bases.write_lanes.next = bit_cast::<1, 1>(self.write.val().into());
        self.bases.write_address.next = self.write_set.val();
        self.bases.write_data.next = bit_cast::<71, 64>(self.write_base.val())
            | (bit_cast::<71, 7>(self.write_len.val()) << 64);
        self.bases.read_enable.next = true;
        self.bases.read_address.next = self.set_read.val();
        self.steps.write_lanes.next = bit_cast::<1, 1>(self.write.val().into());
        self.steps.write_address.next = self.write_set.val();
        self.steps.write_data.next = self.write_step.val();
        self.steps.read_enable.next = true;
        self.steps.read_address.next = self.set_read.val();

        self.base.d.next = self.bases.read_data.val().get_bits::<64>(0);
        self.stride.d.next = self.steps.read_data.val();
        if self.in_row_0.val() {
            self.stride.d.next = 0.into();
        }
        self.bytes.d.next = self.bases.read_data.val().get_bits::<7>(64);
        self.len.next = self.bytes.q.val();
        self.step.next = bit_cast::<8, 64>(self.stride.q.val());

        self.shifted.d.next = self.base.q.val() + self.shift.val();
        self.address.a.next = self.stride.q.val();
        self.address.b.next = self.row.val();
        self.address.c.next = self.shifted.q.val();
        self.addr.next = self.address.sum.val();
        self.start.next = self.shifted.d.val();
    }
}
