//! A table that is read a cycle ahead.

use drdma_emit::prelude::*;

use crate::primitive::{Ram, RamStyle};

/// Suitable memory: a BRAM36 holds 4,096 words of 9 bits or 1,024 of 36, an UltraRAM 4,096 words of 72.
const fn style(bits: usize, log_words: usize) -> RamStyle {
    if bits > 9 && log_words >= 12 { RamStyle::Ultra } else { RamStyle::Block }
}

/// A memory of 2^`A` words of `D` bits, for thousands of entries, which lookup tables would not hold.
///
/// The reader names in a cycle the word that it wants in the next one. It gets the word as it is in that next cycle:
/// with every write of the cycles before, that of the cycle of `ahead` included. A reader whose address is in a
/// register connects the register's next value to `ahead`, and uses `read_data` as if the memory were asynchronous. One
/// write and one read a cycle. The contents are undefined until written.
///
/// # Inputs
/// `clk`; `write_enable`, `write_address`, `write_data`; `ahead`.
///
/// # Outputs
/// `read_data`: the word that `ahead` named in the cycle before.
#[derive(LogicBlock, BlockDefault)]
pub struct Table<const D: usize, const A: usize> {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// A word is written in this cycle.
    pub write_enable: Signal<In, Bit>,
    /// Address of the word that is written.
    pub write_address: Signal<In, Bits<A>>,
    /// Value that is written.
    pub write_data: Signal<In, Bits<D>>,
    /// Address of the word that is wanted in the next cycle.
    pub ahead: Signal<In, Bits<A>>,
    /// Word at the address that `ahead` was in the cycle before.
    pub read_data: Signal<Out, Bits<D>>,

    #[init(Ram::new(style(D, A)))]
    words: Ram<D, 1, A>,
    /// The word was written in the cycle in which it was read. Two registers, because a write is often known late.
    wrote: DFF<Bit>,
    same: DFF<Bit>,
    passing: DFF<Bits<D>>,
}

impl<const D: usize, const A: usize> Logic for Table<D, A> {
    #[hdl_gen]
    fn update(&mut self) {
        self.words.write_lanes.next = 0.into();
        if self.write_enable.val() {
            self.words.write_lanes.next = 1.into();
        }
        self.words.write_address.next = self.write_address.val();
        self.words.write_data.next = self.write_data.val();
        self.words.read_enable.next = true;
        self.words.read_address.next = self.ahead.val();
        self.wrote.d.next = self.write_enable.val();
        self.same.d.next = self.write_address.val() == self.ahead.val();
        self.passing.d.next = self.write_data.val();
        self.read_data.next = self.words.read_data.val();
        if self.wrote.q.val() && self.same.q.val() {
            self.read_data.next = self.passing.q.val();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use drdma_verilated::testbench::Random;

    #[test]
    fn a_word_is_as_the_cycle_before_left_it() {
        let mut model = testing::library("table_ahead", Table::<20, 5>::default).instance(1);
        let mut random = Random::new(1);
        let mut memory = vec![None; 32];
        let (mut asked, mut passed) = (0, 0);
        for _ in 0..5_000 {
            let (ahead, write) = (random.below(32), random.chance(0.5));
            let address = if random.chance(0.3) { ahead } else { random.below(32) };
            let data = random.below(1 << 20);
            model.set("ahead", ahead);
            model.set("write_enable", write.into());
            model.set("write_address", address);
            model.set("write_data", data);
            model.settle();
            if let Some(word) = memory[asked as usize] {
                assert_eq!(model.get("read_data"), word);
            }
            model.tick();
            if write {
                memory[address as usize] = Some(data);
                passed += u64::from(address == ahead);
            }
            asked = ahead;
        }
        assert!(memory.iter().all(Option::is_some) && passed > 500);
    }
}
