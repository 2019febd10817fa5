//! Finds where the next beat in a series of beats starts.

use crate::primitive::Select;
use drdma_emit::prelude::*;

/// Bytes of a beat.
pub const BEAT: u64 = 64;

/// For a beat of 64 bytes that starts with byte `start` of a row, gives the packer the number of rows that the beat
/// completes, how many it touches, and with which byte of a row it ends. If rows have 1 to 3 bytes, a beat takes as
/// many rows as 64 bytes hold, and ends with the last of them.
///
/// Combinational: a comparison with each multiple of the row's length, then a selection.
///
/// # Inputs
/// `reach`: `start` plus 64, where `start` is less than the row's length. `thin_rows`: rows of a beat if they have 1 to
/// 3 bytes, else 0; beats then all start with a row, and the other inputs are not used. `multiple[k]`: `k` + 1 times
/// the row's length; if rows have more than 64 bytes, the length for `k` = 0, and 2,047 for the others, none of which a
/// beat completes.
///
/// # Outputs
/// `rows` (0 to 16, or `thin_rows`), `touched` (`rows`, one more if the beat ends within a row), `next_reach` (the
/// `reach` of the beat behind this one), `exact` (the beat ends with a row, so that `next_reach` is 64).
#[derive(LogicBlock, BlockDefault)]
pub struct Stride {
    /// 64 more than the byte of its first row with which the beat starts.
    pub reach: Signal<In, Bits<11>>,
    /// Rows of a beat if rows have 1 to 3 bytes; else 0.
    pub thin_rows: Signal<In, Bits<7>>,
    /// Multiples of the row's length: `multiple[k]` is `k` + 1 times the length.
    pub multiple: [Signal<In, Bits<11>>; 16],
    /// Rows that the beat completes, 0 to 16, or `thin_rows`.
    pub rows: Signal<Out, Bits<7>>,
    /// Rows that the beat touches.
    pub touched: Signal<Out, Bits<7>>,
    /// 64 more than the byte of its last row before which the beat ends; 64 if the beat ends with a row.
    pub next_reach: Signal<Out, Bits<11>>,
    /// The beat ends with a row.
    pub exact: Signal<Out, Bit>,

    /// Bit k: the beat completes k rows at least.
    reaches: Signal<Local, Bits<18>>,
    /// Bit k: the beat has bytes behind k rows.
    exceeds: Signal<Local, Bits<17>>,
    /// Bit k: the beat completes k rows exactly.
    one: Signal<Local, Bits<17>>,
    /// Bit k: the beat touches k + 1 rows exactly.
    into: Signal<Local, Bits<16>>,
    /// Bit k: the beat ends with its row k, counted from 0.
    ends: Signal<Local, Bits<16>>,
    past: Select<17, 11>,
    count: Select<17, 5>,
    touch: Select<16, 5>,
    #[init(array_init::array_init(|k| Constant::new(k.to_bits())))]
    counts: [Constant<Bits<5>>; 17],
}

impl Logic for Stride {
    #[hdl_gen]
    fn update(&mut self) {
        self.reaches.next = 1.into();
        self.exceeds.next = 1.into();
        self.ends.next = 0.into();
        for k in 0..16 {
            self.reaches.next =
                self.reaches.val().replace_bit(k + 1, self.reach.val() >= self.multiple[k].val());
            self.exceeds.next =
                self.exceeds.val().replace_bit(k + 1, self.reach.val() > self.multiple[k].val());
            self.ends.next =
                self.ends.val().replace_bit(k, self.reach.val() == self.multiple[k].val());
        }
        self.one.next = 0.into();
        for k in 0..17 {
            self.one.next = self.one.val().replace_bit(
                k,
                self.reaches.val().get_bit(k) && !self.reaches.val().get_bit(k + 1),
            );
            self.count.values[k].next = self.counts[k].val();
        }
        self.into.next = 0.into();
        for k in 0..16 {
            self.into.next = self.into.val().replace_bit(
                k,
                self.exceeds.val().get_bit(k) && !self.exceeds.val().get_bit(k + 1),
            );
            self.touch.values[k].next = self.counts[k + 1].val();
        }
        self.past.choice.next = self.one.val();
        self.count.choice.next = self.one.val();
        self.touch.choice.next = self.into.val();
        self.past.values[0].next = self.reach.val() + BEAT;
        for k in 0..16 {
            self.past.values[k + 1].next =
                bit_cast::<11, 6>((self.reach.val() - self.multiple[k].val()).get_bits::<6>(0))
                    | BEAT;
        }
        self.next_reach.next = self.past.value.val();
        self.exact.next = self.ends.val().any();
        self.rows.next = bit_cast::<7, 5>(self.count.value.val());
        self.touched.next = bit_cast::<7, 5>(self.touch.value.val());
        if self.thin_rows.val() != 0 {
            self.rows.next = self.thin_rows.val();
            self.touched.next = self.thin_rows.val();
            self.next_reach.next = BEAT.into();
            self.exact.next = true;
        }
    }
}
