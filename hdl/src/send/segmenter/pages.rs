//! The memory of payload pages.

use drdma_emit::prelude::*;

use crate::primitive::{Ram, RamStyle, Rotate};
use crate::send::{PAGE_PAIR, PAGE_ROW};

/// Keeps the payload pages, of 64 rows of 64 B, in two banks of even and odd rows, so that 64 bytes of any
/// alignment are written in one cycle.
///
/// Contract: 64 B a cycle in and out. A part is written 3 cycles after it was given; a row is at
/// `read_data` 2 cycles after its address.
///
/// # Inputs
/// `clk`; the part: `write_data`, `write_mask` (0: no part), `write_offset` (the place of byte 0 in its
/// row), `write_low` (the page and row of byte 0), `write_high` (the page and pair of rows of the bytes
/// beyond that row; their row is odd if the other is even); `read_enable`, `read_address` (page and row).
///
/// # Outputs
/// `read_data`.
#[derive(LogicBlock, BlockDefault)]
pub struct Pages {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Bytes of the part.
    pub write_data: Signal<In, Bits<512>>,
    /// Bytes that are written, a bit each.
    pub write_mask: Signal<In, Bits<64>>,
    /// Place of byte 0 in its row, 0 to 63.
    pub write_offset: Signal<In, Bits<6>>,
    /// Page and row of byte 0.
    pub write_low: Signal<In, Bits<PAGE_ROW>>,
    /// Page and pair of rows of the bytes that do not fit into that row.
    pub write_high: Signal<In, Bits<PAGE_PAIR>>,
    /// A row is read.
    pub read_enable: Signal<In, Bit>,
    /// Page and row that are read.
    pub read_address: Signal<In, Bits<PAGE_ROW>>,
    /// The row, 2 cycles after it was asked for.
    pub read_data: Signal<Out, Bits<512>>,

    // Two stages that move bytes and mask to their place in the row.
    rotate: Rotate<512, 6>,
    a_mask: DFF<Bits<128>>,
    a_shift: DFF<Bits<3>>,
    a_even: DFF<Bits<PAGE_PAIR>>,
    a_odd: DFF<Bits<PAGE_PAIR>>,
    a_swap: DFF<Bit>,
    b_even_mask: DFF<Bits<64>>,
    b_odd_mask: DFF<Bits<64>>,
    b_even: DFF<Bits<PAGE_PAIR>>,
    b_odd: DFF<Bits<PAGE_PAIR>>,
    coarse: Signal<Local, Bits<6>>,
    mask: Signal<Local, Bits<128>>,

    #[init(Ram::new(RamStyle::Ultra))]
    even: Ram<512, 64, PAGE_PAIR>,
    #[init(Ram::new(RamStyle::Ultra))]
    odd: Ram<512, 64, PAGE_PAIR>,
    read_odd: DFF<Bit>,
    row: DFF<Bits<512>>,
}

impl Logic for Pages {
    #[hdl_gen]
    fn update(&mut self) {
        // Bytes and mask move by the offset, in two stages.
        self.rotate.data.next = self.write_data.val();
        self.rotate.amount.next = self.write_offset.val();
        self.coarse.next = self.write_offset.val() & 0x38;
        self.a_mask.d.next = bit_cast::<128, 64>(self.write_mask.val()) << self.coarse.val();
        self.a_shift.d.next = self.write_offset.val().get_bits::<3>(0);
        self.a_swap.d.next = self.write_low.val().get_bit(0);
        if self.write_low.val().get_bit(0) {
            self.a_odd.d.next = self.write_low.val().get_bits::<PAGE_PAIR>(1);
            self.a_even.d.next = self.write_high.val();
        } else {
            self.a_even.d.next = self.write_low.val().get_bits::<PAGE_PAIR>(1);
            self.a_odd.d.next = self.write_high.val();
        }
        self.mask.next = self.a_mask.q.val() << self.a_shift.q.val();
        self.b_even.d.next = self.a_even.q.val();
        self.b_odd.d.next = self.a_odd.q.val();
        if self.a_swap.q.val() {
            self.b_odd_mask.d.next = self.mask.val().get_bits::<64>(0);
            self.b_even_mask.d.next = self.mask.val().get_bits::<64>(64);
        } else {
            self.b_even_mask.d.next = self.mask.val().get_bits::<64>(0);
            self.b_odd_mask.d.next = self.mask.val().get_bits::<64>(64);
        }

        // Both banks get the same rotated bytes, with masks of their own.
        self.even.write_lanes.next = self.b_even_mask.q.val();
        self.even.write_address.next = self.b_even.q.val();
        self.even.write_data.next = self.rotate.result.val();
        self.odd.write_lanes.next = self.b_odd_mask.q.val();
        self.odd.write_address.next = self.b_odd.q.val();
        self.odd.write_data.next = self.rotate.result.val();

        // A row is read from one of the banks.
        self.even.read_enable.next = self.read_enable.val() && !self.read_address.val().get_bit(0);
        self.even.read_address.next = self.read_address.val().get_bits::<PAGE_PAIR>(1);
        self.odd.read_enable.next = self.read_enable.val() && self.read_address.val().get_bit(0);
        self.odd.read_address.next = self.read_address.val().get_bits::<PAGE_PAIR>(1);
        self.read_odd.d.next = self.read_address.val().get_bit(0);
        if self.read_odd.q.val() {
            self.row.d.next = self.odd.read_data.val();
        } else {
            self.row.d.next = self.even.read_data.val();
        }
        self.read_data.next = self.row.q.val();
    }
}
