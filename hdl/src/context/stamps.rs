//! Stamps entries, to find out whether a context is still the one that a packet or request was meant for.

use drdma_emit::prelude::*;

use super::Table;

/// Keeps a stamp of `W` bits for each of 2^`A` entries: the number, among all writes since the reset, of the latest
/// write to the entry. A block that finds another stamp than before knows that the host has written to the entry
/// meanwhile. All copies in the card that are reset together agree.
///
/// A stamp is valid from the cycle after the write. Stamps repeat after 2^`W` writes; for 2^32 the host needs a minute
/// at least.
///
/// # Inputs
/// `clk`, `rst`; `written`, `index`: an entry is written; `ahead`: `R` entries whose stamps are wanted in the next
/// cycle.
///
/// # Outputs
/// `stamp` of each entry that `ahead` named in the cycle before. Undefined until the entry was written.
#[derive(LogicBlock, BlockDefault)]
pub struct Stamps<const W: usize, const A: usize, const R: usize> {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// An entry is written.
    pub written: Signal<In, Bit>,
    /// With `written`: index of the entry.
    pub index: Signal<In, Bits<A>>,
    /// Entries whose stamps are wanted in the next cycle, one for each reader.
    pub ahead: [Signal<In, Bits<A>>; R],
    /// Stamps of the entries that `ahead` named in the cycle before.
    pub stamp: [Signal<Out, Bits<W>>; R],
    writes: DFF<Bits<W>>,
    stamps: [Table<W, A>; R],
}

impl<const W: usize, const A: usize, const R: usize> Logic for Stamps<W, A, R> {
    #[hdl_gen]
    fn update(&mut self) {
        if self.written.val() {
            self.writes.d.next = self.writes.q.val() + 1;
        }
        for k in 0..R {
            self.stamps[k].write_enable.next = self.written.val();
            self.stamps[k].write_address.next = self.index.val();
            self.stamps[k].write_data.next = self.writes.q.val();
            self.stamps[k].ahead.next = self.ahead[k].val();
            self.stamp[k].next = self.stamps[k].read_data.val();
        }
        if self.rst.val() {
            self.writes.d.next = 0.into();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use drdma_verilated::testbench::Random;

    #[test]
    fn a_stamp_changes_with_every_write_of_its_entry_and_no_other() {
        let mut model = testing::library("stamps", Stamps::<32, 12, 2>::default).instance(1);
        let mut random = Random::new(1);
        model.set("rst", 1);
        model.cycle();
        model.set("rst", 0);
        let (mut writes, mut stamps) = (0, vec![None; 4096]);
        let mut asked = [0; 2];
        for round in 0..10_000 {
            // A few entries at a time, from all of the table.
            let pick = |random: &mut Random| (round / 100 * 1_031 + random.below(4) * 1_365) % 4096;
            let (written, index) = (random.chance(0.5), pick(&mut random));
            let ahead = [pick(&mut random), pick(&mut random)];
            model.set("written", written.into());
            model.set("index", index);
            for (k, ahead) in ahead.iter().enumerate() {
                model.set(format!("ahead_{k}"), *ahead);
            }
            model.settle();
            for (k, asked) in asked.iter().enumerate() {
                if let Some(stamp) = stamps[*asked as usize] {
                    assert_eq!(model.get(format!("stamp_{k}")), stamp);
                }
            }
            model.tick();
            if written {
                stamps[index as usize] = Some(writes);
                writes += 1;
            }
            asked = ahead;
        }
        assert!(writes > 4_000);
    }
}
