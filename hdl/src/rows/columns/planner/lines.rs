//! Finds how far a box goes that is cut at a cache line.

use crate::primitive::SmallDivision;
use drdma_emit::prelude::*;

/// Finds for *runs* and *boxes* where a full box ends that starts with a row: at the last multiple of 64 B of host
/// addresses that is at most the longest box behind its start.
///
/// The longest box is whole lines, so this is the longest box behind the start of the row's line. The distance of the
/// row from that start follows from the row's number modulo 64. The row is given in one cycle, and the end of the
/// longest box from it in the next, together with the limit; a row a cycle.
///
/// # Inputs
/// `clk`; `enable`: a row is taken, and held while it is low; `row` modulo 64, and of its part `lo` (address modulo
/// 64), `step`, `triple` (three times the step, modulo 64). A cycle later `end_row`, `end_phase` (the end of the
/// longest box from the row's start) and `end_step`.
///
/// # Outputs
/// `limit_row`, `limit_phase`, in the cycle after the row.
#[derive(LogicBlock, Default)]
pub struct Lines {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// A row is taken in this cycle.
    pub enable: Signal<In, Bit>,
    /// Number of the row, modulo 64.
    pub row: Signal<In, Bits<6>>,
    /// Address of the part's start, modulo 64.
    pub lo: Signal<In, Bits<6>>,
    /// Step in bytes.
    pub step: Signal<In, Bits<8>>,
    /// Three times the step, modulo 64.
    pub triple: Signal<In, Bits<6>>,
    /// End of the longest box from the row's start: its row.
    pub end_row: Signal<In, Bits<20>>,
    /// End of the longest box from the row's start: its phase.
    pub end_phase: Signal<In, Bits<8>>,
    /// Step in bytes, given with `end_row`.
    pub end_step: Signal<In, Bits<8>>,
    /// Limit: its row.
    pub limit_row: Signal<Out, Bits<20>>,
    /// Limit: its phase.
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
            // One row more is subtracted: -q - 1 is !q.
            self.limit_row.next =
                self.end_row.val() + !bit_cast::<20, 6>(self.divide.quotient.val());
            self.limit_phase.next = self.end_phase.val() + self.end_step.val() - self.rest.val();
        }
    }
}
