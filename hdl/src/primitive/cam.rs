//! A content-addressable memory.

use drdma_emit::prelude::*;

/// `N` keys of `W` bits in registers, searched in one cycle; `I` bits count to `N` - 1.
///
/// A search that is made with `enable` delivers in the next cycle; `found` holds while `enable` is low. A write or a
/// clear takes effect at the end of its cycle: a search in the same cycle does not see it.
///
/// # Inputs
/// `clk`; `enable`, `key` (the key to look for); `write_enable`, `write_index`, `write_key`; `clear` (forgets every
/// key, and wins over a write).
///
/// # Outputs
/// `found`: bit `i` is set if entry `i` holds the key.
#[derive(LogicBlock, BlockDefault)]
#[check(N <= 1 << I, "Cam: {I} bits do not count to {}", N - 1)]
pub struct Cam<const N: usize, const W: usize, const I: usize> {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// A search is made in this cycle.
    pub enable: Signal<In, Bit>,
    /// Key to look for.
    pub key: Signal<In, Bits<W>>,
    /// Entries that hold the key, one bit each.
    pub found: Signal<Out, Bits<N>>,
    /// An entry is written in this cycle.
    pub write_enable: Signal<In, Bit>,
    /// Number of the entry that is written.
    pub write_index: Signal<In, Bits<I>>,
    /// Key that is written.
    pub write_key: Signal<In, Bits<W>>,
    /// Every key is forgotten.
    pub clear: Signal<In, Bit>,
}

impl<const N: usize, const W: usize, const I: usize> Logic for Cam<N, W, I> {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.found.connect();
    }

    fn hdl(&self) -> Verilog {
        let mut matches = String::new();
        for k in 0..N {
            matches.push_str(&format!("    wire match_{k} = used[{k}] && (keys[{k}] == key);\n"));
        }
        let found: Vec<_> = (0..N).rev().map(|k| format!("match_{k}")).collect();
        Verilog::Custom(format!(
            "    reg [{word}:0] keys [0:{last}];
    reg [{last}:0] used;
{matches}    always @(posedge clk) begin
        if (write_enable) keys[write_index] <= write_key;
    end
    always @(posedge clk) begin
        if (write_enable) used[write_index] <= 1'b1;
        if (clear) used <= {N}'d0;
    end
    always @(posedge clk) begin
        if (enable) found <= {{{}}};
    end",
            found.join(", "),
            word = W - 1,
            last = N - 1
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use drdma_verilated::testbench::Random;

    #[test]
    fn a_search_finds_every_entry_with_the_key() {
        let mut model = testing::library("cam", Cam::<12, 56, 4>::default).instance(1);
        let mut random = Random::new(1);
        model.set("clear", 1);
        model.cycle();
        let mut keys = [None; 12];
        let mut expected = None;
        let base = random.below(1 << 56);
        for round in 0..6000 {
            // Keys that differ in two bits: by and by in all of them.
            let bits = [round / 50 % 56, (round / 50 + 7) % 56];
            let pick = |of: u64| base ^ (of & 1) << bits[0] ^ (of >> 1) << bits[1];
            let key = pick(random.below(4));
            let (enable, write, clear) =
                (random.chance(0.7), random.chance(0.3), random.chance(0.03));
            let (index, new) = (random.below(12), pick(random.below(4)));
            model.set("key", key);
            model.set("enable", enable.into());
            model.set("write_enable", write.into());
            model.set("write_index", index);
            model.set("write_key", new);
            model.set("clear", clear.into());
            model.cycle();
            if enable {
                let bit = |(i, k): (usize, &Option<u64>)| u64::from(*k == Some(key)) << i;
                expected = Some(keys.iter().enumerate().map(bit).sum::<u64>());
            }
            if write {
                keys[index as usize] = Some(new);
            }
            if clear {
                keys = [None; 12];
            }
            if let Some(expected) = expected {
                assert_eq!(model.get("found"), expected);
            }
        }
    }
}
