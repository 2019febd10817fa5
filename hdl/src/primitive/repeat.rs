//! Every bit of a vector several times.

use drdma_emit::prelude::*;

/// Repeats each of `N` bits `T` times: bit `p` of `O` = `N` * `T` is bit `p / T`.
///
/// Combinational.
///
/// # Inputs
/// `bits`.
///
/// # Outputs
/// `repeated`.
#[derive(LogicBlock, BlockDefault)]
#[check(O == N * T, "Repeat: {N} bits, {T} times each, are not {O} bits")]
pub struct Repeat<const N: usize, const T: usize, const O: usize> {
    /// The bits.
    pub bits: Signal<In, Bits<N>>,
    /// Each of them `T` times.
    pub repeated: Signal<Out, Bits<O>>,
}

impl<const N: usize, const T: usize, const O: usize> Logic for Repeat<N, T, O> {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.repeated.connect();
    }

    fn hdl(&self) -> Verilog {
        let parts: Vec<_> = (0..N).rev().map(|k| format!("{{{T}{{bits[{k}]}}}}")).collect();
        Verilog::Custom(format!("    always @(*) repeated = {{{}}};", parts.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use drdma_verilated::testbench::Random;

    #[test]
    fn every_bit_is_repeated() {
        let mut model = testing::library("repeat_bits", Repeat::<5, 3, 15>::default).instance(1);
        let mut random = Random::new(1);
        for _ in 0..100 {
            let bits = random.below(1 << 5);
            model.set("bits", bits);
            model.eval();
            let repeated = (0..15).map(|p| (bits >> (p / 3) & 1) << p).sum::<u64>();
            assert_eq!(model.get("repeated"), repeated, "{bits:#x}");
        }
    }
}
