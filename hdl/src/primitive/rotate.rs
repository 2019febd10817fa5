//! A byte rotation.

use rust_hdl_core::prelude::*;

/// Moves byte k of `W` = 8 * 2^`S` bits to byte `k + amount`, around the end.
///
/// Two stages: first by multiples of 2^(`S` / 2) bytes, then by what is left. One result a cycle,
/// [`LATENCY`](Self::LATENCY) cycles after its data.
///
/// # Inputs
/// `clk`, `data`, `amount`.
///
/// # Outputs
/// `result`.
#[derive(LogicBlock)]
pub struct Rotate<const W: usize, const S: usize> {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// What to rotate.
    pub data: Signal<In, Bits<W>>,
    /// By how many bytes.
    pub amount: Signal<In, Bits<S>>,
    /// The rotated bytes.
    pub result: Signal<Out, Bits<W>>,
}

impl<const W: usize, const S: usize> Rotate<W, S> {
    /// Cycles from `data` to `result`.
    pub const LATENCY: usize = 2;
}

impl<const W: usize, const S: usize> Default for Rotate<W, S> {
    fn default() -> Self {
        assert!(S > 1, "Rotate: {S} bits need no second stage");
        assert_eq!(W, 8 << S, "Rotate: {S} bits do not count the bytes of {W} bits");
        Self {
            clk: Signal::default(),
            data: Signal::default(),
            amount: Signal::default(),
            result: Signal::default(),
        }
    }
}

/// A `case` over `width` bits of `by`: `to` is `from`, of `bits` bits, moved up by `step` bits a
/// count.
fn stage(to: &str, from: &str, by: &str, width: usize, step: usize, bits: usize) -> String {
    let arms: String = (1..1_usize << width)
        .map(|n| {
            let shift = n * step;
            let (low, high) = (bits - shift - 1, bits - shift);
            format!(
                "            {width}'d{n}: {to} <= {{{from}[{low}:0], {from}[{}:{high}]}};\n",
                bits - 1
            )
        })
        .collect();
    format!("        case ({by})\n{arms}            default: {to} <= {from};\n        endcase\n")
}

impl<const W: usize, const S: usize> Logic for Rotate<W, S> {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.result.connect();
    }

    fn hdl(&self) -> Verilog {
        let low = S / 2;
        let coarse =
            stage("coarse", "data", &format!("amount[{}:{low}]", S - 1), S - low, 8 << low, W);
        let fine = stage("result", "coarse", "rest", low, 8, W);
        Verilog::Custom(format!(
            "    reg [{}:0] coarse;
    reg [{}:0] rest;
    always @(posedge clk) begin
        rest <= amount[{}:0];
{coarse}{fine}    end",
            W - 1,
            low - 1,
            low - 1
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use drdma_verilated::testbench::Random;

    #[test]
    fn every_amount_moves_every_byte() {
        let mut model = testing::library("rotate", Rotate::<512, 6>::default).instance(1);
        let mut random = Random::new(1);
        let mut before = None;
        for k in 0..300 {
            let (mut data, amount) = (random.bytes(64), k % 64);
            model.set_word("data", &data.as_slice().into());
            model.set("amount", amount as u64);
            model.cycle();
            data.rotate_right(amount);
            if let Some(before) = before.replace(data) {
                assert_eq!(model.get_word("result").to_bytes(64), before);
            }
        }
    }
}
