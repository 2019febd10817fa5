//! One of the sixteen lanes.

use crate::primitive::{MultiplyAdd, Ram, RamStyle};
use drdma_emit::prelude::*;

/// Keeps one lane of every set, and makes its address: base + row * step + shift, modulo 2^64.
///
/// Fully pipelined, without back-pressure. `len` belongs to the `set_read` of 2 cycles before;
/// `row` and `shift` are given with it; `addr` follows them after 5 cycles.
///
/// # Inputs
/// `write*` (a lane is written), `set_read`, `row`, `shift`.
///
/// # Outputs
/// `len` (its low 7 bits: a longer lane is cut), `step` (its low 8 bits), `addr`.
#[derive(LogicBlock, BlockDefault)]
pub struct Lane {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// The lane of a set is written.
    pub write: Signal<In, Bit>,
    /// The set.
    pub write_set: Signal<In, Bits<11>>,
    /// Address of row 0.
    pub write_base: Signal<In, Bits<64>>,
    /// Bytes from a row to the next.
    pub write_step: Signal<In, Bits<64>>,
    /// Bytes, their low 7 bits.
    pub write_len: Signal<In, Bits<7>>,
    /// The set of a token.
    pub set_read: Signal<In, Bits<11>>,
    /// The token's row, 2 cycles later.
    pub row: Signal<In, Bits<32>>,
    /// What is added, 2 cycles later.
    pub shift: Signal<In, Bits<64>>,
    /// The lane's bytes, 2 cycles later.
    pub len: Signal<Out, Bits<7>>,
    /// Bytes from a row to the next, 2 cycles later.
    pub step: Signal<Out, Bits<8>>,
    /// The address, 7 cycles later.
    pub addr: Signal<Out, Bits<64>>,
    /// The address in row 0, 5 cycles before that.
    pub start: Signal<Out, Bits<64>>,

    // Base 64, length 7. An UltraRAM is 72 bits wide: two hold what 8.5 block RAMs would.
    #[init(Ram::new(RamStyle::Ultra))]
    bases: Ram<71, 1, 11>,
    #[init(Ram::new(RamStyle::Ultra))]
    steps: Ram<64, 1, 11>,
    base: DFF<Bits<64>>,
    stride: DFF<Bits<64>>,
    bytes: DFF<Bits<7>>,
    in_row_0: DFF<Bits<64>>,
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
        self.bytes.d.next = self.bases.read_data.val().get_bits::<7>(64);
        self.len.next = self.bytes.q.val();
        self.step.next = bit_cast::<8, 64>(self.stride.q.val());

        self.in_row_0.d.next = self.base.q.val() + self.shift.val();
        self.address.a.next = self.stride.q.val();
        self.address.b.next = self.row.val();
        self.address.c.next = self.in_row_0.q.val();
        self.addr.next = self.address.sum.val();
        self.start.next = self.in_row_0.d.val();
    }
}
