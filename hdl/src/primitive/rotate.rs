//! A byte rotation.

use drdma_emit::prelude::*;

/// Moves byte `k` of 64 to byte `k + amount`, modulo 64.
///
/// Two stages: first by multiples of 4 bytes, then by the rest. One result a cycle, [`LATENCY`](Self::LATENCY) cycles
/// after its data. `W` = 512, `S` = 6.
///
/// # Inputs
/// `clk`, `data`, `amount`.
///
/// # Outputs
/// `result`.
#[derive(LogicBlock, BlockDefault)]
#[check((W, S) == (512, 6), "Rotate: {W} bits and {S} are not 64 bytes")]
pub struct Rotate<const W: usize, const S: usize> {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Bytes to rotate.
    pub data: Signal<In, Bits<W>>,
    /// Number of bytes by which they are rotated.
    pub amount: Signal<In, Bits<S>>,
    /// The rotated bytes.
    pub result: Signal<Out, Bits<W>>,

    #[init(Turn::new(16))]
    by_sixteens: Turn<W>,
    #[init(Turn::new(4))]
    by_fours: Turn<W>,
    #[init(Turn::new(1))]
    by_ones: Turn<W>,
    coarse: DFF<Bits<W>>,
    rest: DFF<Bits<2>>,
    out: DFF<Bits<W>>,
}

impl<const W: usize, const S: usize> Rotate<W, S> {
    /// Cycles from `data` to `result`.
    pub const LATENCY: usize = 2;
}

impl<const W: usize, const S: usize> Logic for Rotate<W, S> {
    #[hdl_gen]
    fn update(&mut self) {
        self.by_sixteens.data.next = self.data.val();
        self.by_sixteens.count.next = self.amount.val().get_bits::<2>(4);
        self.by_fours.data.next = self.by_sixteens.result.val();
        self.by_fours.count.next = self.amount.val().get_bits::<2>(2);
        self.coarse.d.next = self.by_fours.result.val();
        self.rest.d.next = self.amount.val().get_bits::<2>(0);
        self.by_ones.data.next = self.coarse.q.val();
        self.by_ones.count.next = self.rest.q.val();
        self.out.d.next = self.by_ones.result.val();
        self.result.next = self.out.q.val();
    }
}

/// Rotates bytes up by `count` times a constant: a selection from four, a lookup table for each bit. It is a block of
/// its own so that synthesis keeps it.
///
/// Combinational.
///
/// # Inputs
/// `data`, `count`.
///
/// # Outputs
/// `result`.
#[derive(LogicBlock)]
pub struct Turn<const W: usize> {
    /// Bytes to rotate.
    pub data: Signal<In, Bits<W>>,
    /// Number of times by which they are rotated, 0 to 3.
    pub count: Signal<In, Bits<2>>,
    /// The rotated bytes.
    pub result: Signal<Out, Bits<W>>,
    _bytes: usize,
}

impl<const W: usize> Turn<W> {
    /// Rotates by multiples of `bytes`.
    ///
    /// # Panics
    /// Three times `bytes` is not less than `W` bits.
    pub fn new(bytes: usize) -> Self {
        assert!(3 * 8 * bytes < W, "Turn: 3 * {bytes} bytes are not less than {W} bits");
        Self {
            data: Signal::default(),
            count: Signal::default(),
            result: Signal::default(),
            _bytes: bytes,
        }
    }
}

impl<const W: usize> Logic for Turn<W> {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.result.connect();
    }

    fn hdl(&self) -> Verilog {
        let turned = |count: usize| {
            let by = 8 * self._bytes * count;
            format!("{{data[{}:0], data[{}:{}]}}", W - by - 1, W - 1, W - by)
        };
        Verilog::Custom(format!(
            "    always @(*) result = count[1] ? (count[0] ? {} : {}) : (count[0] ? {} : data);",
            turned(3),
            turned(2),
            turned(1)
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
