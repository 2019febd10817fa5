//! A table whose words are written in bytes, and read a cycle ahead.

use crate::primitive::{Pack, Ram, RamStyle};
use drdma_emit::prelude::*;

/// A [`Table`](super::Table) in UltraRAM, of 2^`A` words of `D` bits in `B` bytes, which are written one by one.
///
/// Several narrow tables that are read with the same address are one, each in bytes of its own. A reader gets a word as
/// [`Table`](super::Table) gives it: with every write of the cycles before, that of the cycle of `ahead` included. The
/// contents are undefined until written.
///
/// # Inputs
/// `clk`; `write_bytes` (a bit for each byte), `write_address`, `write_data`; `ahead`.
///
/// # Outputs
/// `read_data`: the word that `ahead` named in the cycle before.
#[derive(LogicBlock, BlockDefault)]
#[check(D == 8 * B, "ByteTable: {B} bytes are not {D} bits")]
pub struct ByteTable<const D: usize, const B: usize, const A: usize> {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Bytes that are written in this cycle, a bit each.
    pub write_bytes: Signal<In, Bits<B>>,
    /// Address of the word that is written.
    pub write_address: Signal<In, Bits<A>>,
    /// Value of which the bytes are written.
    pub write_data: Signal<In, Bits<D>>,
    /// Address of the word that is wanted in the next cycle.
    pub ahead: Signal<In, Bits<A>>,
    /// Word at the address that `ahead` was in the cycle before.
    pub read_data: Signal<Out, Bits<D>>,

    #[init(Ram::new(RamStyle::Ultra))]
    words: Ram<D, B, A>,
    /// The bytes that were written in the cycle in which the word was read, if it was that word.
    wrote: DFF<Bits<B>>,
    same: DFF<Bit>,
    passing: DFF<Bits<D>>,
    word: Pack<B, 8, D>,
}

impl<const D: usize, const B: usize, const A: usize> Logic for ByteTable<D, B, A> {
    #[hdl_gen]
    fn update(&mut self) {
        self.words.write_lanes.next = self.write_bytes.val();
        self.words.write_address.next = self.write_address.val();
        self.words.write_data.next = self.write_data.val();
        self.words.read_enable.next = true;
        self.words.read_address.next = self.ahead.val();
        self.wrote.d.next = self.write_bytes.val();
        self.same.d.next = self.write_address.val() == self.ahead.val();
        self.passing.d.next = self.write_data.val();
        for k in 0..B {
            self.word.parts[k].next = self.words.read_data.val().get_bits::<8>(8 * k);
            if self.wrote.q.val().get_bit(k) && self.same.q.val() {
                self.word.parts[k].next = self.passing.q.val().get_bits::<8>(8 * k);
            }
        }
        self.read_data.next = self.word.whole.val();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use drdma_verilated::testbench::Random;

    #[test]
    fn each_byte_is_as_the_cycle_before_left_it() {
        let mut model = testing::library("byte_table", ByteTable::<24, 3, 5>::default).instance(1);
        let mut random = Random::new(1);
        let (mut memory, mut written) = (vec![0_u64; 32], vec![0_u64; 32]);
        let (mut asked, mut passed) = (0, 0);
        for _ in 0..5_000 {
            let (ahead, bytes) = (random.below(32), random.below(8));
            let address = if random.chance(0.3) { ahead } else { random.below(32) };
            let data = random.below(1 << 24);
            model.set("ahead", ahead);
            model.set("write_bytes", bytes);
            model.set("write_address", address);
            model.set("write_data", data);
            model.settle();
            if written[asked as usize] == 7 {
                assert_eq!(model.get("read_data"), memory[asked as usize]);
            }
            model.tick();
            for byte in (0..3).filter(|byte| bytes >> byte & 1 == 1) {
                let mask = 0xff << (8 * byte);
                let word = &mut memory[address as usize];
                *word = *word & !mask | data & mask;
                passed += u64::from(address == ahead);
            }
            written[address as usize] |= bytes;
            asked = ahead;
        }
        assert!(written.iter().all(|bytes| *bytes == 7) && passed > 500);
    }
}
