//! Tells whether a queue pair's context is still the one that a packet was meant for.

use drdma_emit::prelude::*;

use crate::primitive::Lutram;

/// A stamp for each queue pair: the number of the word, of all that were written to the queue pairs' table
/// since the reset, that was written to its entry last. Whoever finds another stamp than a while ago knows
/// that the host has written to the entry meanwhile. All copies in the card that are reset together agree.
///
/// Stamps are right in the cycle after the word. They repeat after 2^32 words, for whose writing the host
/// needs a minute at least.
///
/// # Inputs
/// `clk`, `rst`; `cfg_*`; `qp`, `R` queue pairs.
///
/// # Outputs
/// `stamp` of each of them, in the same cycle. Undefined until a word of the entry was written.
#[derive(LogicBlock, BlockDefault)]
pub struct Stamps<const R: usize> {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// A word of some table is written.
    pub cfg_valid: Signal<In, Bit>,
    /// The table.
    pub cfg_table: Signal<In, Bits<3>>,
    /// The entry.
    pub cfg_index: Signal<In, Bits<10>>,
    /// Queue pairs that are asked for.
    pub qp: [Signal<In, Bits<8>>; R],
    /// Their stamps.
    pub stamp: [Signal<Out, Bits<32>>; R],
    written: Signal<Local, Bit>,
    words: DFF<Bits<32>>,
    stamps: Lutram<32, 8, R>,
}

impl<const R: usize> Logic for Stamps<R> {
    #[hdl_gen]
    fn update(&mut self) {
        self.written.next = self.cfg_valid.val()
            && !self.cfg_table.val().any()
            && !self.cfg_index.val().get_bits::<2>(8).any();
        if self.written.val() {
            self.words.d.next = self.words.q.val() + 1;
        }
        self.stamps.write_enable.next = self.written.val();
        self.stamps.write_address.next = self.cfg_index.val().get_bits::<8>(0);
        self.stamps.write_data.next = self.words.q.val();
        for k in 0..R {
            self.stamps.read_address[k].next = self.qp[k].val();
            self.stamp[k].next = self.stamps.read_data[k].val();
        }
        if self.rst.val() {
            self.words.d.next = 0.into();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use drdma_verilated::testbench::Random;

    #[test]
    fn a_stamp_changes_with_every_word_of_its_entry_and_no_other() {
        let mut model = testing::library("stamps", Stamps::<2>::default).instance(1);
        let mut random = Random::new(1);
        model.set("rst", 1);
        model.cycle();
        model.set("rst", 0);
        let (mut words, mut stamps) = (0, vec![None; 256]);
        for _ in 0..5_000 {
            let valid = random.chance(0.5);
            let (table, index) = (random.below(2), random.below(300));
            model.set("cfg_valid", valid.into());
            model.set("cfg_table", table);
            model.set("cfg_index", index);
            let asked = [random.below(256), random.below(256)];
            for (k, qp) in asked.iter().enumerate() {
                model.set(format!("qp_{k}"), *qp);
            }
            model.settle();
            for (k, qp) in asked.iter().enumerate() {
                if let Some(stamp) = stamps[*qp as usize] {
                    assert_eq!(model.get(format!("stamp_{k}")), stamp);
                }
            }
            model.tick();
            if valid && table == 0 && index < 256 {
                stamps[index as usize] = Some(words);
                words += 1;
            }
        }
        assert!(words > 500);
    }
}
