//! Keeps a bit for each of many entries: queue pairs in error, queues that are halted.

use drdma_emit::prelude::*;

use super::Table;

/// One bit for each of 2^`A` entries, set by a block, cleared by the host, and read by `R` blocks.
///
/// A bit is kept as two: one that only the block changes, and one that only the host changes. It is set while the two
/// differ. So each memory has one writer, nobody waits, and every reader sees a change in the next cycle. An entry that
/// is set and cleared in the same cycle is cleared.
///
/// A reader names in a cycle the entry that it wants in the next one, and then gets its bit with all changes of earlier
/// cycles. A change is written in the cycle after it, when the two bits of its entry have been read; a reader that
/// names the entry in the change's own cycle gets the change from registers.
///
/// # Inputs
/// `clk`; `set_valid`, `set_index`; `clear_valid`, `clear_index`; `wipe_valid`, with `clear_valid`: the entry is
/// cleared whatever the memories hold, as after power-up; nothing may be set in those cycles. `ahead`: the entries that
/// are wanted in the next cycle.
///
/// # Outputs
/// `flag`: the bits of the entries that `ahead` named in the cycle before. Undefined until the entry was wiped.
/// `rises`: the entry that was set in the cycle before was not set before that.
#[derive(LogicBlock, BlockDefault)]
pub struct Flags<const A: usize, const R: usize> {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// A bit is set by the block.
    pub set_valid: Signal<In, Bit>,
    /// With `set_valid`: the entry whose bit is set.
    pub set_index: Signal<In, Bits<A>>,
    /// A bit is cleared by the host.
    pub clear_valid: Signal<In, Bit>,
    /// With `clear_valid`: the entry whose bit is cleared.
    pub clear_index: Signal<In, Bits<A>>,
    /// With `clear_valid`: the entry was never written since power-up.
    pub wipe_valid: Signal<In, Bit>,
    /// Entries whose bits are wanted in the next cycle, one for each reader.
    pub ahead: [Signal<In, Bits<A>>; R],
    /// Bits of the entries that `ahead` named in the cycle before.
    pub flag: [Signal<Out, Bit>; R],
    /// A bit that was clear was set in the cycle before.
    pub rises: Signal<Out, Bit>,

    /// The change that is written in this cycle: the one of the cycle before.
    sets: DFF<Bit>,
    set_at: DFF<Bits<A>>,
    clears: DFF<Bit>,
    clear_at: DFF<Bits<A>>,
    wipes: DFF<Bit>,
    /// The entry that is set is also the one that is cleared.
    one: DFF<Bit>,
    /// What the block changes, at the entries that are set and cleared; what the host changes, at the entry that is
    /// set.
    raised_of_set: Table<1, A>,
    raised_of_clear: Table<1, A>,
    lowered_of_set: Table<1, A>,
    raised_copies: [Table<1, A>; R],
    lowered_copies: [Table<1, A>; R],
    /// The entry that a reader names is the one that is set, or cleared.
    asks_set: [DFF<Bit>; R],
    asks_clear: [DFF<Bit>; R],
    raise: Signal<Local, Bit>,
    both: Signal<Local, Bit>,
    raise_index: Signal<Local, Bits<A>>,
    raise_data: Signal<Local, Bits<1>>,
    lower_data: Signal<Local, Bits<1>>,
}

impl<const A: usize, const R: usize> Logic for Flags<A, R> {
    #[hdl_gen]
    fn update(&mut self) {
        self.sets.d.next = self.set_valid.val();
        self.set_at.d.next = self.set_index.val();
        self.clears.d.next = self.clear_valid.val();
        self.clear_at.d.next = self.clear_index.val();
        self.wipes.d.next = self.wipe_valid.val();
        self.one.d.next = self.clear_index.val() == self.set_index.val();
        self.raised_of_set.ahead.next = self.set_index.val();
        self.raised_of_clear.ahead.next = self.clear_index.val();
        self.lowered_of_set.ahead.next = self.set_index.val();

        self.raise.next = self.wipes.q.val() || self.sets.q.val();
        self.both.next = self.sets.q.val() && self.one.q.val();
        self.raise_index.next = self.set_at.q.val();
        self.raise_data.next = !self.lowered_of_set.read_data.val();
        self.rises.next = self.sets.q.val()
            && !self.wipes.q.val()
            && !(self.one.q.val() && self.clears.q.val())
            && (self.raised_of_set.read_data.val() == self.lowered_of_set.read_data.val());
        // An entry that is set and cleared at once is cleared, without waiting for the bit that the clear reads.
        self.lower_data.next = self.raised_of_clear.read_data.val();
        if self.both.val() {
            self.lower_data.next = self.raise_data.val();
        }
        if self.wipes.q.val() {
            self.raise_index.next = self.clear_at.q.val();
            self.raise_data.next = 0.into();
            self.lower_data.next = 0.into();
        }
        self.raised_of_set.write_enable.next = self.raise.val();
        self.raised_of_set.write_address.next = self.raise_index.val();
        self.raised_of_set.write_data.next = self.raise_data.val();
        self.raised_of_clear.write_enable.next = self.raise.val();
        self.raised_of_clear.write_address.next = self.raise_index.val();
        self.raised_of_clear.write_data.next = self.raise_data.val();
        self.lowered_of_set.write_enable.next = self.clears.q.val();
        self.lowered_of_set.write_address.next = self.clear_at.q.val();
        self.lowered_of_set.write_data.next = self.lower_data.val();
        for k in 0..R {
            self.raised_copies[k].write_enable.next = self.raise.val();
            self.raised_copies[k].write_address.next = self.raise_index.val();
            self.raised_copies[k].write_data.next = self.raise_data.val();
            self.raised_copies[k].ahead.next = self.ahead[k].val();
            self.lowered_copies[k].write_enable.next = self.clears.q.val();
            self.lowered_copies[k].write_address.next = self.clear_at.q.val();
            self.lowered_copies[k].write_data.next = self.lower_data.val();
            self.lowered_copies[k].ahead.next = self.ahead[k].val();
            self.asks_set[k].d.next = self.ahead[k].val() == self.set_index.val();
            self.asks_clear[k].d.next = self.ahead[k].val() == self.clear_index.val();
            self.flag[k].next =
                self.raised_copies[k].read_data.val() != self.lowered_copies[k].read_data.val();
            if self.sets.q.val() && self.asks_set[k].q.val() {
                self.flag[k].next = true;
            }
            if self.clears.q.val() && self.asks_clear[k].q.val() {
                self.flag[k].next = false;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use drdma_verilated::testbench::Random;

    #[test]
    fn every_reader_sees_every_change_in_the_next_cycle() {
        const ENTRIES: u64 = 4096;
        let mut model = testing::library("flags", Flags::<12, 2>::default).instance(1);
        let mut random = Random::new(1);
        for port in ["set_valid", "clear_valid"] {
            model.set(port, 0);
        }
        model.set("wipe_valid", 1);
        model.set("clear_valid", 1);
        for index in 0..ENTRIES {
            model.set("clear_index", index);
            model.cycle();
        }
        model.set("wipe_valid", 0);
        let mut bits = vec![false; ENTRIES as usize];
        let mut asked = [0; 2];
        // Whether a bit has risen in the cycle before.
        let mut rose = false;
        let (mut both, mut seen, mut risen) = (0, 0, 0);
        for round in 0..20_000_u64 {
            // A few entries at a time, from all of the table.
            let pick =
                |random: &mut Random| (round / 100 * 1_031 + random.below(4) * 1_365) % ENTRIES;
            let (set, clear) = (random.chance(0.5), random.chance(0.4));
            let (set_index, clear_index) = (pick(&mut random), pick(&mut random));
            let ahead = [pick(&mut random), pick(&mut random)];
            model.set("set_valid", set.into());
            model.set("set_index", set_index);
            model.set("clear_valid", clear.into());
            model.set("clear_index", clear_index);
            for (k, ahead) in ahead.iter().enumerate() {
                model.set(format!("ahead_{k}"), *ahead);
            }
            model.settle();
            for (k, asked) in asked.iter().enumerate() {
                assert_eq!(model.get(format!("flag_{k}")) == 1, bits[*asked as usize], "{round}");
                seen += u64::from(bits[*asked as usize]);
            }
            assert_eq!(model.get("rises") == 1, rose, "{round}");
            model.tick();
            rose = set && !(clear && set_index == clear_index) && !bits[set_index as usize];
            risen += u64::from(rose);
            if set {
                bits[set_index as usize] = true;
            }
            if clear {
                bits[clear_index as usize] = false;
            }
            both += u64::from(set && clear && set_index == clear_index);
            asked = ahead;
        }
        assert!(both > 500 && seen > 5_000 && risen > 1_000, "{both}, {seen}, {risen}");
    }
}
