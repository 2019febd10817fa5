//! How far a box goes that is cut at a cache line.

use crate::primitive::SmallDivision;
use drdma_emit::prelude::hdl_gen;
use rust_hdl_core::prelude::*;

/// Where a box ends that starts with a row and is full: at the last 64 B of host addresses that
/// are at most the longest box behind its start.
///
/// The longest box is whole lines, so that is the longest box behind the start of the row's line.
/// How many bytes the row starts behind it follows from the row's place among 64. The row is given
/// in one cycle and the longest box from it in the next, when the limit comes; a row a cycle.
///
/// # Inputs
/// `clk`; `enable`: takes a row, of which the last one holds while it is low; `row` mod 64, and of
/// its group `lo` (address mod 64), `step`, `triple` (three times the step, mod 64). A cycle later
/// `end_row`, `end_phase` (the longest box from the row's start) and `end_step`.
///
/// # Outputs
/// `limit_row`, `limit_phase`.
#[derive(LogicBlock, Default)]
pub struct Lines {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Takes a row.
    pub enable: Signal<In, Bit>,
    /// The row, mod 64.
    pub row: Signal<In, Bits<6>>,
    /// The group's start within its line.
    pub lo: Signal<In, Bits<6>>,
    /// Bytes from row to row.
    pub step: Signal<In, Bits<8>>,
    /// Three times as many, mod 64.
    pub triple: Signal<In, Bits<6>>,
    /// The longest box from the row's start: row,
    pub end_row: Signal<In, Bits<20>>,
    /// and phase.
    pub end_phase: Signal<In, Bits<8>>,
    /// Bytes from row to row.
    pub end_step: Signal<In, Bits<8>>,
    /// The limit: row,
    pub limit_row: Signal<Out, Bits<20>>,
    /// and phase.
    pub limit_phase: Signal<Out, Bits<8>>,

    part: [Signal<Local, Bits<6>>; 3],
    divide: SmallDivision,
    rest: Signal<Local, Bits<8>>,
}

impl Logic for Lines {
    #[hdl_gen]
    fn update(&mut self) {
        // Two bits of the row at a time: 0 to 3 steps.
        for k in 0..3 {
            self.part[k].next = 0.into();
            if self.row.val().get_bits::<2>(k * 2) == 1 {
                self.part[k].next = self.step.val().get_bits::<6>(0);
            }
            if self.row.val().get_bits::<2>(k * 2) == 2 {
                self.part[k].next = self.step.val().get_bits::<6>(0) << 1;
            }
            if self.row.val().get_bits::<2>(k * 2) == 3 {
                self.part[k].next = self.triple.val();
            }
        }
        self.divide.clk.next = self.clk.val();
        self.divide.enable.next = self.enable.val();
        self.divide.number.next = self.lo.val()
            + self.part[0].val()
            + (self.part[1].val() << 2)
            + (self.part[2].val() << 4);
        self.divide.divisor.next = self.step.val();

        // Phases begin with 1.
        self.rest.next = bit_cast::<8, 6>(self.divide.remainder.val());
        self.limit_row.next = self.end_row.val() - bit_cast::<20, 6>(self.divide.quotient.val());
        self.limit_phase.next = self.end_phase.val() - self.rest.val();
        if !(self.rest.val() < self.end_phase.val()) {
            // One more is taken away: -q - 1 is !q.
            self.limit_row.next =
                self.end_row.val() + !bit_cast::<20, 6>(self.divide.quotient.val());
            self.limit_phase.next = self.end_phase.val() + self.end_step.val() - self.rest.val();
        }
    }
}
