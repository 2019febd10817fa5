//! Turns records into plain bits and back: memories and FIFOs hold bits.

use drdma_emit::prelude::*;

/// Turns a record `T` into its `W` bits; the first field is lowest.
///
/// Combinational.
///
/// # Inputs
/// `record`.
///
/// # Outputs
/// `bits`.
#[derive(LogicBlock, BlockDefault)]
#[check(T::BITS == W, "Flatten: the record has {} bits, not {W}", T::BITS)]
pub struct Flatten<T: Synth, const W: usize> {
    /// Record to flatten.
    pub record: Signal<In, T>,
    /// Bits of the record, its first field lowest.
    pub bits: Signal<Out, Bits<W>>,
}

impl<T: Synth, const W: usize> Logic for Flatten<T, W> {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.bits.connect();
    }

    fn hdl(&self) -> Verilog {
        Verilog::Custom("    always @(*) bits = record;".to_owned())
    }
}

/// Turns `W` bits into the record `T`; the first field is lowest.
///
/// Combinational.
///
/// # Inputs
/// `bits`.
///
/// # Outputs
/// `record`.
#[derive(LogicBlock, BlockDefault)]
#[check(T::BITS == W, "Restore: the record has {} bits, not {W}", T::BITS)]
pub struct Restore<T: Synth, const W: usize> {
    /// Bits of the record, its first field lowest.
    pub bits: Signal<In, Bits<W>>,
    /// The record.
    pub record: Signal<Out, T>,
}

impl<T: Synth, const W: usize> Logic for Restore<T, W> {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.record.connect();
    }

    fn hdl(&self) -> Verilog {
        Verilog::Custom("    always @(*) record = bits;".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use drdma_verilated::Word;

    #[derive(Clone, Copy, Debug, PartialEq, Record)]
    struct Pair {
        low: Bits<5>,
        high: Bits<9>,
    }

    #[derive(LogicBlock, Default)]
    struct Both {
        low: Signal<In, Bits<5>>,
        high: Signal<In, Bits<9>>,
        bits: Signal<Out, Bits<14>>,
        again: Signal<Out, Bits<9>>,
        low_again: Signal<Out, Bits<5>>,
        pair: Signal<Local, Pair>,
        flatten: Flatten<Pair, 14>,
        restore: Restore<Pair, 14>,
    }

    impl Logic for Both {
        #[hdl_gen]
        fn update(&mut self) {
            self.pair.next.low = self.low.val();
            self.pair.next.high = self.high.val();
            self.flatten.record.next = self.pair.val();
            self.bits.next = self.flatten.bits.val();
            self.restore.bits.next = self.flatten.bits.val();
            self.low_again.next = self.restore.record.val().low;
            self.again.next = self.restore.record.val().high;
        }
    }

    #[test]
    fn the_first_field_is_lowest() {
        let mut model = testing::library("record", Both::default).instance(1);
        model.set("low", 0x15);
        model.set("high", 0x123);
        model.eval();
        assert_eq!(model.get_word("bits"), Word::from(0x15_u64 | 0x123 << 5));
        assert_eq!((model.get("again"), model.get("low_again")), (0x123, 0x15));
    }

    #[test]
    #[should_panic(expected = "the record has 14 bits, not 13")]
    fn widths_are_checked() {
        let _ = Flatten::<Pair, 13>::default();
    }
}
