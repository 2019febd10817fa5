//! Divides, a bit a cycle.

use drdma_emit::prelude::*;

/// Bits of the operands and results.
const BITS: usize = 13;
const ONE_MORE: usize = BITS + 1;

/// Divides a number of 13 bits by another one, which is not 0.
///
/// Contract: `done` is a pulse 14 cycles after `starts`; `quotient` and `remainder` are valid from then until the next
/// start.
///
/// # Inputs
/// `clk`, `rst`; `starts`; `number`, `divisor`, with `starts`.
///
/// # Outputs
/// `done`, `quotient`, `remainder`.
#[derive(LogicBlock, BlockDefault)]
pub struct Division {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// A division begins.
    pub starts: Signal<In, Bit>,
    /// With `starts`: the number that is divided.
    pub number: Signal<In, Bits<BITS>>,
    /// With `starts`: the divisor, not 0.
    pub divisor: Signal<In, Bits<BITS>>,
    /// The results are valid.
    pub done: Signal<Out, Bit>,
    /// Quotient, rounded down.
    pub quotient: Signal<Out, Bits<BITS>>,
    /// Remainder, less than the divisor.
    pub remainder: Signal<Out, Bits<BITS>>,

    /// Bits of the quotient that are still to come, and 1 more.
    left: DFF<Bits<4>>,
    by: DFF<Bits<BITS>>,
    /// The bits of the number that are still to come, above those of the quotient that have come.
    bits: DFF<Bits<BITS>>,
    rest: DFF<Bits<BITS>>,
    next_rest: Signal<Local, Bits<ONE_MORE>>,
    less: Signal<Local, Bits<BITS>>,
}

impl Logic for Division {
    #[hdl_gen]
    fn update(&mut self) {
        self.next_rest.next = (bit_cast::<ONE_MORE, BITS>(self.rest.q.val()) << 1)
            | bit_cast::<ONE_MORE, 1>(self.bits.q.val().get_bits::<1>(12));
        self.less.next = self.next_rest.val().get_bits::<BITS>(0) - self.by.q.val();
        self.done.next = self.left.q.val() == 1;
        if self.left.q.val().any() {
            self.left.d.next = self.left.q.val() - 1;
        }
        if self.left.q.val() > 1 {
            self.bits.d.next = self.bits.q.val() << 1;
            self.rest.d.next = self.next_rest.val().get_bits::<BITS>(0);
            if self.next_rest.val() >= bit_cast::<ONE_MORE, BITS>(self.by.q.val()) {
                self.bits.d.next = (self.bits.q.val() << 1) | 1;
                self.rest.d.next = self.less.val();
            }
        }
        if self.starts.val() {
            self.left.d.next = 14.into();
            self.by.d.next = self.divisor.val();
            self.bits.d.next = self.number.val();
            self.rest.d.next = 0.into();
        }
        self.quotient.next = self.bits.q.val();
        self.remainder.next = self.rest.q.val();
        if self.rst.val() {
            self.left.d.next = 0.into();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use drdma_verilated::testbench::Random;

    #[test]
    fn quotient_and_remainder_are_there_after_14_cycles() {
        let library = testing::library("append_division", Division::default);
        let (mut model, mut random) = (library.instance(1), Random::new(1));
        model.set("starts", 0);
        model.set("rst", 1);
        model.cycle();
        model.set("rst", 0);
        for _ in 0..3_000 {
            let (number, bits) = (random.below(1 << 13), 1 + random.below(13));
            let divisor = 1 + random.below((1 << bits) - 1);
            model.set("starts", 1);
            model.set("number", number);
            model.set("divisor", divisor);
            model.cycle();
            model.set("starts", 0);
            for _ in 0..13 {
                assert_eq!(model.get("done"), 0);
                model.cycle();
            }
            assert_eq!(model.get("done"), 1);
            model.cycle();
            let given = (model.get("quotient"), model.get("remainder"));
            assert_eq!(given, (number / divisor, number % divisor), "{number} / {divisor}");
        }
    }
}
