//! Finds where the next beat in a series of beats starts.

use crate::primitive::Select;
use drdma_emit::prelude::*;

/// For a beat of 64 bytes that starts with byte `start` of a row, gives the packer the number of rows that the beat
/// completes, how many it touches, and with which byte of a row it ends. If rows have 1 to 3 bytes, a beat takes as
/// many rows as 64 bytes hold, and ends with the last of them.
///
/// Combinational: a comparison with each multiple of the row's length, then a selection.
///
/// # Inputs
/// `start`, less than the row's length. `thin_rows`: rows of a beat if they have 1 to 3 bytes, else 0; beats then all
/// start with a row, and the other inputs are not used. `multiple[k]`: `k` + 1 times the row's length; if rows have
/// more than 64 bytes, the length for `k` = 0, and 2,047 for the others, none of which a beat completes.
///
/// # Outputs
/// `rows` (0 to 16, or `thin_rows`), `touched` (`rows`, one more if the beat ends within a row), `ends_at`, `exact`
/// (`ends_at` is 0).
#[derive(LogicBlock, BlockDefault)]
pub struct Stride {
    /// Byte of its first row with which the beat starts.
    pub start: Signal<In, Bits<10>>,
    /// Rows of a beat if rows have 1 to 3 bytes; else 0.
    pub thin_rows: Signal<In, Bits<7>>,
    /// Multiples of the row's length: `multiple[k]` is `k` + 1 times the length.
    pub multiple: [Signal<In, Bits<11>>; 16],
    /// Rows that the beat completes, 0 to 16, or `thin_rows`.
    pub rows: Signal<Out, Bits<7>>,
    /// Rows that the beat touches.
    pub touched: Signal<Out, Bits<7>>,
    /// Byte of its last row before which the beat ends; 0 if the beat ends with a row.
    pub ends_at: Signal<Out, Bits<10>>,
    /// The beat ends with a row.
    pub exact: Signal<Out, Bit>,

    lines: Signal<Local, Bits<5>>,
    reach: Signal<Local, Bits<11>>,
    // Bit k: the beat reaches k rows.
    reaches: Signal<Local, Bits<18>>,
    one: Signal<Local, Bits<17>>,
    past: Select<17, 10>,
    count: Select<17, 5>,
    #[init(array_init::array_init(|k| Constant::new(k.to_bits())))]
    counts: [Constant<Bits<5>>; 17],
}

impl Logic for Stride {
    #[hdl_gen]
    fn update(&mut self) {
        self.lines.next = bit_cast::<5, 4>(self.start.val().get_bits::<4>(6)) + 1;
        self.reach.next = (bit_cast::<11, 5>(self.lines.val()) << 6)
            | bit_cast::<11, 6>(self.start.val().get_bits::<6>(0));
        self.reaches.next = 1.into();
        for k in 0..16 {
            self.reaches.next =
                self.reaches.val().replace_bit(k + 1, self.reach.val() >= self.multiple[k].val());
        }
        self.one.next = 0.into();
        for k in 0..17 {
            self.one.next = self.one.val().replace_bit(
                k,
                self.reaches.val().get_bit(k) && !self.reaches.val().get_bit(k + 1),
            );
            self.count.values[k].next = self.counts[k].val();
        }
        self.past.choice.next = self.one.val();
        self.count.choice.next = self.one.val();
        self.past.values[0].next = self.reach.val().get_bits::<10>(0);
        for k in 0..16 {
            self.past.values[k + 1].next =
                (self.reach.val() - self.multiple[k].val()).get_bits::<6>(0).get_bits::<10>(0);
        }
        self.ends_at.next = self.past.value.val();
        self.exact.next = self.past.value.val() == 0;
        self.rows.next = bit_cast::<7, 5>(self.count.value.val());
        self.touched.next = bit_cast::<7, 5>(self.count.value.val());
        if self.past.value.val() != 0 {
            self.touched.next = bit_cast::<7, 5>(self.count.value.val()) + 1;
        }
        if self.thin_rows.val() != 0 {
            self.rows.next = self.thin_rows.val();
            self.touched.next = self.thin_rows.val();
            self.ends_at.next = 0.into();
            self.exact.next = true;
        }
    }
}
